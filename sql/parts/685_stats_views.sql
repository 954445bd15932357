-- Barriers, or a cheap function of the reader's would be run before the level is looked at. A view
-- calls functions with its reader's privileges, so what mnemo._is_live says is written out here.
CREATE VIEW mnemo.agent_stats WITH (security_barrier) AS
SELECT r.org_id,
       r.origin_org_id,
       r.agent_id,
       count(*) FILTER (WHERE r.is_live AND NOT r.is_plan) AS memories,
       count(*) FILTER (WHERE r.is_live AND r.is_plan AND NOT r.is_failure) AS plans,
       count(*) FILTER (WHERE r.quarantined AND r.deleted_at IS NULL) AS quarantined,
       count(*) FILTER (WHERE r.deleted_at IS NULL AND r.expires_at <= now()) AS expired,
       count(*) FILTER (WHERE r.deleted_at IS NOT NULL) AS deleted,
       min(r.created_at) AS first_written_at,
       max(r.created_at) AS last_written_at,
       count(*) FILTER (WHERE r.is_live AND r.is_failure) AS remembered_failures
  FROM (
    SELECT m.org_id, m.origin_org_id, m.agent_id, m.quarantined, m.deleted_at, m.expires_at,
           m.created_at,
           m.tags @> ARRAY['__experience_plan__'] AS is_plan,
           coalesce(m.metadata -> 'experience_plan' ? 'reason', false) AS is_failure,
           m.deleted_at IS NULL AND NOT m.quarantined
               AND m.consolidation_state IN ('raw', 'active', 'pending', 'consolidated')
               AND (m.expires_at IS NULL OR m.expires_at > now()) AS is_live
      FROM mnemo.memory AS m
  ) AS r
 WHERE mnemo._is_admin()
 GROUP BY r.org_id, r.origin_org_id, r.agent_id;
COMMENT ON VIEW mnemo.agent_stats IS
    'How many records each agent holds, counted when asked, for administrators: nobody else sees a '
    'row. Global records stand under org_id *.';
COMMENT ON COLUMN mnemo.agent_stats.org_id IS 'Organisation that sees the records; * for global.';
COMMENT ON COLUMN mnemo.agent_stats.origin_org_id IS 'Organisation of the agent.';
COMMENT ON COLUMN mnemo.agent_stats.agent_id IS 'The agent that owns them.';
COMMENT ON COLUMN mnemo.agent_stats.memories IS 'Live records that are no plans.';
COMMENT ON COLUMN mnemo.agent_stats.plans IS 'Live plans.';
COMMENT ON COLUMN mnemo.agent_stats.quarantined IS 'Records held back, plans included.';
COMMENT ON COLUMN mnemo.agent_stats.expired IS 'Records past their time that sweep has not met.';
COMMENT ON COLUMN mnemo.agent_stats.deleted IS 'Records that are softly deleted or redacted.';
COMMENT ON COLUMN mnemo.agent_stats.first_written_at IS 'When the oldest was written.';
COMMENT ON COLUMN mnemo.agent_stats.last_written_at IS 'When the newest was written.';
COMMENT ON COLUMN mnemo.agent_stats.remembered_failures IS 'Live records of what not to do.';

CREATE VIEW mnemo.stats WITH (security_barrier) AS
SELECT a.org_id,
       count(*) AS agents,
       sum(a.memories)::bigint AS memories,
       sum(a.plans)::bigint AS plans,
       sum(a.quarantined)::bigint AS quarantined,
       sum(a.expired)::bigint AS expired,
       sum(a.deleted)::bigint AS deleted,
       (SELECT count(*) FROM mnemo.acl AS g WHERE g.org_id = a.org_id) AS grants,
       (SELECT count(*) FROM mnemo.event AS e WHERE e.org_id = a.org_id) AS events,
       (SELECT count(*) FROM mnemo.event AS e WHERE e.org_id = a.org_id AND e.seq IS NULL)
           AS unsealed_events,
       min(a.first_written_at) AS first_written_at,
       max(a.last_written_at) AS last_written_at,
       sum(a.remembered_failures)::bigint AS remembered_failures
  FROM mnemo.agent_stats AS a
 GROUP BY a.org_id;
COMMENT ON VIEW mnemo.stats IS
    'How much each organisation holds, counted when asked, for administrators: nobody else sees a '
    'row. Global records stand under org_id *; their events under the organisation that wrote them.';
COMMENT ON COLUMN mnemo.stats.org_id IS 'The organisation; * for global records.';
COMMENT ON COLUMN mnemo.stats.agents IS 'Agents that own at least one record, deleted ones included.';
COMMENT ON COLUMN mnemo.stats.memories IS 'Live records that are no plans.';
COMMENT ON COLUMN mnemo.stats.plans IS 'Live plans.';
COMMENT ON COLUMN mnemo.stats.quarantined IS 'Records held back, plans included.';
COMMENT ON COLUMN mnemo.stats.expired IS 'Records past their time that sweep has not met.';
COMMENT ON COLUMN mnemo.stats.deleted IS 'Records that are softly deleted or redacted.';
COMMENT ON COLUMN mnemo.stats.grants IS 'Grants on records of the organisation.';
COMMENT ON COLUMN mnemo.stats.events IS 'Events of its agents.';
COMMENT ON COLUMN mnemo.stats.unsealed_events IS 'Of these, how many no chain holds yet.';
COMMENT ON COLUMN mnemo.stats.first_written_at IS 'When the oldest record was written.';
COMMENT ON COLUMN mnemo.stats.last_written_at IS 'When the newest record was written.';
COMMENT ON COLUMN mnemo.stats.remembered_failures IS 'Live records of what not to do.';
