CREATE TABLE mnemo.chunk_state (
    org_id text NOT NULL,
    source text COLLATE "C" NOT NULL,
    chunk_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT chunk_state_pkey PRIMARY KEY (org_id, source, chunk_id),
    CONSTRAINT chunk_state_version_check CHECK (version >= 1)
);
-- A chunk that changes again is updated in place: no index has the time.
ALTER TABLE mnemo.chunk_state SET (fillfactor = 80);
COMMENT ON TABLE mnemo.chunk_state IS
    'The chunks that changed: a plan that is older than the change of a chunk that it cites is '
    'stale. One row a chunk that ever changed, whatever the number of plans that cite it, and none '
    'for the others. Those that no plan is older than are folded into one for their source.';
COMMENT ON COLUMN mnemo.chunk_state.org_id IS 'Organisation of the chunk, and of the plans that it makes stale.';
COMMENT ON COLUMN mnemo.chunk_state.source IS
    'Where the id comes from, such as a table or a wiki; empty where nobody said.';
COMMENT ON COLUMN mnemo.chunk_state.chunk_id IS
    'Id of the chunk, one of over 1,000 bytes as sha256: and its hash; empty for every chunk of the '
    'source.';
COMMENT ON COLUMN mnemo.chunk_state.version IS 'Counts the changes since the row was made, from 1.';
COMMENT ON COLUMN mnemo.chunk_state.changed_at IS
    'When the last change was reported, by the clock and not the start of the transaction.';

CREATE TABLE mnemo.plan_check (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    checked_at timestamptz NOT NULL,
    memory_versions bigint[],
    CONSTRAINT plan_check_pkey PRIMARY KEY (org_id, plan_id),
    CONSTRAINT plan_check_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE mnemo.plan_check IS
    'Plans that somebody found to be right after a chunk that they cite had changed.';
COMMENT ON COLUMN mnemo.plan_check.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_check.plan_id IS 'Id of the plan.';
COMMENT ON COLUMN mnemo.plan_check.checked_at IS 'Changes before that do not count any more.';
COMMENT ON COLUMN mnemo.plan_check.memory_versions IS
    'For each chunk id of the plan the state of the memory with that id at that time, as in the '
    'payload of the plan; NULL where it cites no memories.';

-- The planner's statistics would keep the ids after their erasure.
ALTER TABLE mnemo.chunk_state
    ALTER COLUMN source SET STATISTICS 0,
    ALTER COLUMN chunk_id SET STATISTICS 0;
