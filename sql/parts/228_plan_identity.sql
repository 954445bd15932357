CREATE TABLE mnemo.plan_identity (
    org_id text NOT NULL,
    digest uuid NOT NULL,
    plan_ids uuid[] NOT NULL,
    times bigint NOT NULL DEFAULT 1,
    CONSTRAINT plan_identity_pkey PRIMARY KEY (org_id, digest),
    CONSTRAINT plan_identity_plan_ids_check CHECK (cardinality(plan_ids) >= 1),
    CONSTRAINT plan_identity_times_check CHECK (times >= 1)
);
-- The planner's statistics of what is made of people's words would confirm a guess after erasure.
ALTER TABLE mnemo.plan_identity
    ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN plan_ids SET STATISTICS 0;
COMMENT ON TABLE mnemo.plan_identity IS
    'One row for each plan that an owner holds, by what makes it the same plan: it is locked by '
    'whoever remembers that plan, so that two never write it twice. Derived.';
COMMENT ON COLUMN mnemo.plan_identity.org_id IS 'org_id of the plans; * for global ones.';
COMMENT ON COLUMN mnemo.plan_identity.digest IS
    'Hash of owner, signature, guard and context, of a failure also of its steps; see _identity_of.';
COMMENT ON COLUMN mnemo.plan_identity.plan_ids IS
    'The plans that are this one, each scope having its own; some may have ended meanwhile.';
COMMENT ON COLUMN mnemo.plan_identity.times IS
    'How often a call claimed it that remembers the plan, from 1, since the row was made.';
