-- How plans fare: every report, and per organisation that reports one running summary.

CREATE TABLE mnemo.plan_report (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    id uuid NOT NULL,
    reporter_org_id text NOT NULL,
    reporter_agent_id text NOT NULL,
    success boolean NOT NULL,
    score double precision NOT NULL,
    reported_at timestamptz NOT NULL,
    counts boolean NOT NULL,
    folded boolean NOT NULL,
    CONSTRAINT plan_report_pkey PRIMARY KEY (org_id, plan_id, id),
    CONSTRAINT plan_report_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT plan_report_score_check CHECK (score BETWEEN 0 AND 1)
);
CREATE INDEX plan_report_reporter_idx ON mnemo.plan_report
    (org_id, plan_id, reporter_org_id, reporter_agent_id, id DESC) WHERE counts;
CREATE INDEX plan_report_waiting_idx ON mnemo.plan_report (org_id, plan_id) WHERE NOT folded;
COMMENT ON TABLE mnemo.plan_report IS
    'What agents reported about plans that they replayed: one row a report, none is ever changed in '
    'what it says, and none is unique but by its id, so that nobody waits for another.';
COMMENT ON COLUMN mnemo.plan_report.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_report.plan_id IS 'Id of the plan in memory.';
COMMENT ON COLUMN mnemo.plan_report.id IS 'UUID of version 7: id of the report''s event, unless the plan was remembered again.';
COMMENT ON COLUMN mnemo.plan_report.reporter_org_id IS 'Organisation of the agent that reported.';
COMMENT ON COLUMN mnemo.plan_report.reporter_agent_id IS 'The agent that reported.';
COMMENT ON COLUMN mnemo.plan_report.success IS 'Whether the plan worked.';
COMMENT ON COLUMN mnemo.plan_report.score IS 'How well it worked, from 0 to 1.';
COMMENT ON COLUMN mnemo.plan_report.reported_at IS 'Start of the transaction that reported.';
COMMENT ON COLUMN mnemo.plan_report.counts IS
    'Whether it counts for the standing: false for what was reported before the plan was revived.';
COMMENT ON COLUMN mnemo.plan_report.folded IS
    'Whether plan_fare has it; false for a while where several transactions reported at once.';

CREATE TABLE mnemo.plan_fare (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    reporter_org_id text NOT NULL,
    uses bigint NOT NULL,
    successes bigint NOT NULL,
    failures bigint NOT NULL,
    last_id uuid NOT NULL,
    last_success boolean NOT NULL,
    last_reported_at timestamptz NOT NULL,
    agents bigint NOT NULL,
    failing bigint NOT NULL,
    score_sum numeric NOT NULL,
    standing double precision NOT NULL,
    digest bigint,
    CONSTRAINT plan_fare_pkey PRIMARY KEY (org_id, plan_id, reporter_org_id),
    CONSTRAINT plan_fare_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE
);
CREATE INDEX plan_fare_digest_idx ON mnemo.plan_fare (reporter_org_id, digest)
    WHERE digest IS NOT NULL;
COMMENT ON TABLE mnemo.plan_fare IS
    'The reports of each organisation about each plan, summed up; derived from plan_report. The row '
    'of an organisation that does not own a global plan says where the plan stands for that one.';
COMMENT ON COLUMN mnemo.plan_fare.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_fare.plan_id IS 'Id of the plan in memory.';
COMMENT ON COLUMN mnemo.plan_fare.reporter_org_id IS 'Organisation of the agents that reported.';
COMMENT ON COLUMN mnemo.plan_fare.uses IS 'How many reports there are.';
COMMENT ON COLUMN mnemo.plan_fare.successes IS 'Of these, how many say that it worked.';
COMMENT ON COLUMN mnemo.plan_fare.failures IS 'Of these, how many say that it did not.';
COMMENT ON COLUMN mnemo.plan_fare.last_id IS 'Id of the latest report.';
COMMENT ON COLUMN mnemo.plan_fare.last_success IS 'Whether the plan worked by the latest report.';
COMMENT ON COLUMN mnemo.plan_fare.last_reported_at IS 'When the latest report was made.';
COMMENT ON COLUMN mnemo.plan_fare.agents IS 'How many agents have a report that counts.';
COMMENT ON COLUMN mnemo.plan_fare.failing IS
    'Of these, how many say in their latest report that the plan did not work.';
COMMENT ON COLUMN mnemo.plan_fare.score_sum IS 'Sum of the scores of the latest report of each.';
COMMENT ON COLUMN mnemo.plan_fare.standing IS 'Where the plan stands for this organisation, 0 to 1.';
COMMENT ON COLUMN mnemo.plan_fare.digest IS
    'Hash of the plan''s signature where the organisation is not the owner''s, so that its recalls '
    'find the standing; else NULL.';

-- The planner's statistics of this column would confirm a guess after erasure.
ALTER TABLE mnemo.plan_fare ALTER COLUMN digest SET STATISTICS 0;
