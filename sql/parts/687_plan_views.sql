CREATE FUNCTION mnemo._is_stale_for_admin(
    p_org_id text,
    p_plan_id uuid
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._is_admin() AND mnemo._is_stale(p_org_id, p_plan_id, statement_timestamp());
END
$fn$;
COMMENT ON FUNCTION mnemo._is_stale_for_admin(text, uuid) IS
    'Whether a plan is stale, for a view: administrators may execute this one. False for others.';

-- Barriers, as in the other views for administrators.
CREATE VIEW mnemo.recall_stats WITH (security_barrier) AS
SELECT l.org_id,
       date_trunc('hour', l.asked_at, 'UTC') AS hour,
       count(*) AS recalls,
       count(*) FILTER (WHERE l.reason IN ('exact', 'similar', 'semantic')) AS hits,
       count(*) FILTER (WHERE l.reason = 'exact') AS exact,
       count(*) FILTER (WHERE l.reason = 'similar') AS similar_words,
       count(*) FILTER (WHERE l.reason = 'semantic') AS semantic,
       count(*) FILTER (WHERE l.reason = 'none_similar') AS none_similar,
       count(*) FILTER (WHERE l.reason = 'guarded') AS guarded,
       count(*) FILTER (WHERE l.reason = 'stale') AS stale,
       count(*) FILTER (WHERE l.reason = 'retired') AS retired,
       count(*) FILTER (WHERE l.reason = 'ambiguous') AS ambiguous,
       count(*) FILTER (WHERE l.reason = 'disabled') AS disabled,
       count(*) FILTER (WHERE l.reason = 'blank_query') AS blank_query,
       avg(l.similarity) AS mean_similarity,
       avg(l.duration_ms) AS mean_duration_ms,
       max(l.duration_ms) AS max_duration_ms
  FROM mnemo.recall_log AS l
 WHERE mnemo._is_admin()
 GROUP BY l.org_id, date_trunc('hour', l.asked_at, 'UTC');
COMMENT ON VIEW mnemo.recall_stats IS
    'Recalls that their callers logged with mnemo.log_recall, by organisation and hour, for '
    'administrators: nobody else sees a row. Hours without recalls have no row.';
COMMENT ON COLUMN mnemo.recall_stats.org_id IS 'Organisation that asked.';
COMMENT ON COLUMN mnemo.recall_stats.hour IS 'Start of the hour, of UTC.';
COMMENT ON COLUMN mnemo.recall_stats.recalls IS 'Recalls of that hour.';
COMMENT ON COLUMN mnemo.recall_stats.hits IS 'Of these, how many returned a plan.';
COMMENT ON COLUMN mnemo.recall_stats.exact IS 'Hits with the same signature.';
COMMENT ON COLUMN mnemo.recall_stats.similar_words IS 'Hits with reason similar.';
COMMENT ON COLUMN mnemo.recall_stats.semantic IS 'Hits by an embedding.';
COMMENT ON COLUMN mnemo.recall_stats.none_similar IS 'Misses: no plan was near enough.';
COMMENT ON COLUMN mnemo.recall_stats.guarded IS 'Misses: the guard forbade the best plan.';
COMMENT ON COLUMN mnemo.recall_stats.stale IS 'Misses: what the best plan cites has changed.';
COMMENT ON COLUMN mnemo.recall_stats.retired IS 'Misses: the best plan failed too often.';
COMMENT ON COLUMN mnemo.recall_stats.ambiguous IS 'Misses: the question lay between two plans.';
COMMENT ON COLUMN mnemo.recall_stats.disabled IS 'Experience memory was off.';
COMMENT ON COLUMN mnemo.recall_stats.blank_query IS 'Nothing was asked.';
COMMENT ON COLUMN mnemo.recall_stats.mean_similarity IS
    'Mean similarity where it was logged; NULL where it never was.';
COMMENT ON COLUMN mnemo.recall_stats.mean_duration_ms IS
    'Mean time that callers waited, in milliseconds; NULL where it was never logged.';
COMMENT ON COLUMN mnemo.recall_stats.max_duration_ms IS 'The longest of these times.';

CREATE VIEW mnemo.plan_value WITH (security_barrier) AS
SELECT p.org_id,
       p.id,
       p.origin_org_id,
       p.owner_agent_id,
       p.scope,
       p.query,
       p.standing,
       p.uses,
       p.successes,
       p.failures,
       p.retired,
       mnemo._is_stale_for_admin(p.org_id, p.id) AS stale,
       coalesce(h.hits, 0) AS hits,
       greatest(p.last_reported_at, h.last_hit_at) AS last_used_at,
       p.created_at,
       p.standing * (1 + p.uses + coalesce(h.hits, 0)) AS value
  FROM mnemo.plan AS p
  LEFT JOIN (
    -- A global plan is used by all organisations, any other by its own.
    SELECT o.org_id, l.plan_id, count(*) AS hits, max(l.asked_at) AS last_hit_at
      FROM mnemo.recall_log AS l
      CROSS JOIN LATERAL (VALUES (l.org_id), ('*')) AS o(org_id)
     WHERE l.plan_id IS NOT NULL AND l.reason IN ('exact', 'similar', 'semantic')
     GROUP BY o.org_id, l.plan_id
  ) AS h ON h.org_id = p.org_id AND h.plan_id = p.id
 WHERE p.reason IS NULL AND p.deleted_at IS NULL AND NOT p.quarantined
   AND (p.expires_at IS NULL OR p.expires_at > now());
COMMENT ON VIEW mnemo.plan_value IS
    'What each plan is worth, for administrators: nobody else sees a row. Plans that are deleted, '
    'expired or held back are not in it, retired and stale ones are.';
COMMENT ON COLUMN mnemo.plan_value.org_id IS 'org_id of the plan; * for global.';
COMMENT ON COLUMN mnemo.plan_value.id IS 'Id of the plan.';
COMMENT ON COLUMN mnemo.plan_value.origin_org_id IS 'Organisation of its owner.';
COMMENT ON COLUMN mnemo.plan_value.owner_agent_id IS 'The agent that owns it.';
COMMENT ON COLUMN mnemo.plan_value.scope IS 'Who sees it.';
COMMENT ON COLUMN mnemo.plan_value.query IS 'The question that it answered.';
COMMENT ON COLUMN mnemo.plan_value.standing IS
    'Lower bound of how often it works, 0 to 1, by what its organisation reports.';
COMMENT ON COLUMN mnemo.plan_value.uses IS 'Reports of its organisation about it.';
COMMENT ON COLUMN mnemo.plan_value.successes IS 'Of these, how many say that it worked.';
COMMENT ON COLUMN mnemo.plan_value.failures IS 'Of these, how many say that it did not.';
COMMENT ON COLUMN mnemo.plan_value.retired IS 'Whether it failed too often to be replayed.';
COMMENT ON COLUMN mnemo.plan_value.stale IS 'Whether something that it cites has changed since.';
COMMENT ON COLUMN mnemo.plan_value.hits IS
    'Recalls that returned it, as far as they were logged and sweep has not removed them.';
COMMENT ON COLUMN mnemo.plan_value.last_used_at IS
    'The latest report or logged recall of it; NULL for none.';
COMMENT ON COLUMN mnemo.plan_value.created_at IS 'When it was written.';
COMMENT ON COLUMN mnemo.plan_value.value IS
    'standing times one more than its reports and hits: what is often used and works is worth most.';
