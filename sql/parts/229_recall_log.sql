-- What callers log of recalls that they made: recall itself writes nothing. No words are kept here, so
-- there is nothing to erase; sweep removes rows after the time that the setting recall_log_ttl gives.

CREATE TABLE mnemo.recall_log (
    org_id text NOT NULL,
    id uuid NOT NULL,
    agent_id text NOT NULL,
    asked_at timestamptz NOT NULL,
    reason text NOT NULL,
    plan_id uuid,
    similarity double precision,
    duration_ms double precision,
    CONSTRAINT recall_log_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT recall_log_reason_check CHECK (mnemo._is_label('recall_reason', reason)),
    CONSTRAINT recall_log_similarity_check CHECK (similarity BETWEEN 0 AND 1),
    CONSTRAINT recall_log_duration_check CHECK (duration_ms BETWEEN 0 AND 86400000)
);
CREATE INDEX recall_log_asked_at_idx ON mnemo.recall_log (org_id, asked_at);
CREATE INDEX recall_log_plan_id_idx ON mnemo.recall_log (org_id, plan_id) WHERE plan_id IS NOT NULL;
COMMENT ON TABLE mnemo.recall_log IS
    'Recalls of plans that their callers logged: one row each, none is changed.';
COMMENT ON COLUMN mnemo.recall_log.org_id IS 'Organisation of the agent that asked.';
COMMENT ON COLUMN mnemo.recall_log.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.recall_log.agent_id IS 'The agent that asked.';
COMMENT ON COLUMN mnemo.recall_log.asked_at IS 'When it asked, as its caller says.';
COMMENT ON COLUMN mnemo.recall_log.reason IS 'reason of the answer: a hit or why there was none.';
COMMENT ON COLUMN mnemo.recall_log.plan_id IS
    'The plan that was returned, which may be gone since; NULL for a miss or where it was not said.';
COMMENT ON COLUMN mnemo.recall_log.similarity IS 'Its similarity, 0 to 1; NULL as plan_id.';
COMMENT ON COLUMN mnemo.recall_log.duration_ms IS
    'How long the caller waited for the answer, in milliseconds; NULL where it was not said.';
