CREATE FUNCTION mnemo._failure_mask() RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Any number; an index has it in its expression, and calls no function that readers of views may not.
RETURN '-8980380045044314140'::bigint;
COMMENT ON FUNCTION mnemo._failure_mask() IS
    'What turns the audiences of a context into those of the failures of that context, by XOR.';

CREATE TABLE mnemo.plan_signature (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    audience bigint NOT NULL,
    context text,
    signature text[] NOT NULL,
    size integer NOT NULL,
    digest bigint NOT NULL,
    sketch bit varying NOT NULL,
    keys bigint[] NOT NULL,
    guard_meaning bigint NOT NULL,
    guard_values bigint NOT NULL,
    guard_names text[] NOT NULL,
    outcome_score double precision NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    grantee_agent_id text,
    signature_version integer NOT NULL,
    guard_version integer NOT NULL,
    standing double precision NOT NULL,
    endurance double precision NOT NULL,
    CONSTRAINT plan_signature_pkey PRIMARY KEY (org_id, plan_id, audience),
    CONSTRAINT plan_signature_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT plan_signature_size_check CHECK (size = cardinality(signature) AND size >= 1)
);
-- Each look-up has one condition that one index alone can serve: the audience, and with it the
-- organisation, is mixed into it. So no statistics can lead the planner elsewhere.
CREATE INDEX plan_signature_digest_idx ON mnemo.plan_signature
    ((audience # digest), standing DESC, outcome_score DESC, created_at DESC, plan_id DESC);
CREATE INDEX plan_signature_guard_idx ON mnemo.plan_signature
    ((audience # digest # guard_meaning # guard_values), standing DESC, outcome_score DESC,
     created_at DESC, plan_id DESC);
-- A pending list would be searched row by row by every recall and flushed inside somebody's call.
CREATE INDEX plan_signature_keys_idx ON mnemo.plan_signature USING gin (keys)
    WITH (fastupdate = off);
-- Failures, see _failure_context: few, so that asking whether there are any costs next to nothing.
CREATE INDEX plan_signature_failure_idx ON mnemo.plan_signature
    ((audience # '-8980380045044314140'::bigint)) WHERE length(context) > 256;
COMMENT ON TABLE mnemo.plan_signature IS
    'What recall matches on: one row for each live plan and audience, derived from the payload in '
    'memory.metadata. A grant adds a row for its agent, so that a caller always probes the same '
    'few audiences however many plans others hold.';
COMMENT ON COLUMN mnemo.plan_signature.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_signature.plan_id IS 'Id of the plan in memory.';
COMMENT ON COLUMN mnemo.plan_signature.audience IS
    'Hash of who can see the row (owner, grantee, organisation or everyone) and of the context.';
COMMENT ON COLUMN mnemo.plan_signature.context IS
    'What the plan depends on; NULL for nothing. Of what not to do a text of its own, longer than '
    'any that a caller can name.';
COMMENT ON COLUMN mnemo.plan_signature.signature IS 'Sorted tokens of the query.';
COMMENT ON COLUMN mnemo.plan_signature.size IS 'Number of tokens.';
COMMENT ON COLUMN mnemo.plan_signature.digest IS 'Hash of the signature.';
COMMENT ON COLUMN mnemo.plan_signature.sketch IS
    'Bitmap of the tokens'' hashes: a cheap test before scoring.';
COMMENT ON COLUMN mnemo.plan_signature.keys IS 'Lookup keys of the prefix, see _plan_keys.';
COMMENT ON COLUMN mnemo.plan_signature.guard_meaning IS
    'Digest of what the guard reads as meaning; 0 for nothing.';
COMMENT ON COLUMN mnemo.plan_signature.guard_values IS
    'Digest of the values that the guard reads, names aside; 0 for nothing.';
COMMENT ON COLUMN mnemo.plan_signature.guard_names IS 'Names that the guard reads, in lower case.';
COMMENT ON COLUMN mnemo.plan_signature.guard_version IS 'Version of the guard''s rules and lists.';
COMMENT ON COLUMN mnemo.plan_signature.outcome_score IS 'Outcome score of the plan, 0 to 1.';
COMMENT ON COLUMN mnemo.plan_signature.created_at IS 'When the plan was written.';
COMMENT ON COLUMN mnemo.plan_signature.expires_at IS
    'Until when the row counts: the end of the plan or of the grant, whichever is first; NULL for '
    'no end.';
COMMENT ON COLUMN mnemo.plan_signature.grantee_agent_id IS
    'Agent that the row was added for by a grant; NULL for the plan''s own audience.';
COMMENT ON COLUMN mnemo.plan_signature.standing IS
    'Where the plan stands by its outcome score and reports, see _wilson; ranks before the score.';
COMMENT ON COLUMN mnemo.plan_signature.endurance IS
    'Retired where the setting retire_threshold is above it, see _endurance.';
COMMENT ON COLUMN mnemo.plan_signature.signature_version IS 'Version of the signature rules.';

-- The planner's statistics of what is made of people's words would confirm a guess after erasure.
ALTER TABLE mnemo.plan_signature
    ALTER COLUMN context SET STATISTICS 0,
    ALTER COLUMN signature SET STATISTICS 0,
    ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN sketch SET STATISTICS 0,
    ALTER COLUMN keys SET STATISTICS 0,
    ALTER COLUMN guard_meaning SET STATISTICS 0,
    ALTER COLUMN guard_values SET STATISTICS 0,
    ALTER COLUMN guard_names SET STATISTICS 0;
ALTER INDEX mnemo.plan_signature_digest_idx ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX mnemo.plan_signature_guard_idx ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX mnemo.plan_signature_failure_idx ALTER COLUMN 1 SET STATISTICS 0;
