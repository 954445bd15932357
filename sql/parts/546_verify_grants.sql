CREATE FUNCTION mnemo._event_grants(
    p_org_id text,
    p_agent_id text
)
RETURNS TABLE (
    memory_id uuid,
    grantee text,
    permission text,
    granted_by text,
    granted_at jsonb,
    expires_at jsonb
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH said AS (
        SELECT e.memory_id, e.seq, e.id, a.agent AS grantee, e.event_type = 'memory_share' AS given,
               e.changes ->> 'permission' AS permission, e.actor_agent_id AS granted_by,
               to_jsonb(mnemo._event_micros(e.happened_at)) AS granted_at,
               nullif(e.changes -> 'expires_at', 'null') AS expires_at
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_array_elements_text(
            CASE jsonb_typeof(e.changes -> 'agents') WHEN 'array' THEN e.changes -> 'agents'
            ELSE '[]' END) AS a(agent)
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type IN ('memory_share', 'memory_unshare')
        UNION ALL
        SELECT e.memory_id, e.seq, e.id, g.key, true, g.value ->> 'permission',
               g.value ->> 'granted_by', g.value -> 'granted_at',
               nullif(g.value -> 'expires_at', 'null')
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_each(
            CASE jsonb_typeof(e.changes -> 'grants') WHEN 'object' THEN e.changes -> 'grants'
            ELSE '{}' END) AS g
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type = 'checkpoint'
    ), latest AS (
        SELECT DISTINCT ON (s.memory_id, s.grantee) s.*
          FROM said AS s
         ORDER BY s.memory_id, s.grantee, s.seq DESC NULLS FIRST, s.id DESC
    )
    SELECT l.memory_id, l.grantee, l.permission, l.granted_by, l.granted_at, l.expires_at
      FROM latest AS l
     WHERE l.given;
END;
COMMENT ON FUNCTION mnemo._event_grants(text, text) IS
    'The grants on the records of a chain that its events say; times in microseconds.';

CREATE FUNCTION mnemo._grants_finding(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS mnemo._finding
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH held AS (
        SELECT a.*
          FROM mnemo._owned(p_org_id, p_agent_id) AS m
          JOIN mnemo.acl AS a ON a.org_id = m.org_id AND a.memory_id = m.id
    )
    SELECT ROW(
               coalesce(a.memory_id, g.memory_id),
               CASE WHEN g.memory_id IS NULL THEN 'grant_without_event'
               WHEN a.memory_id IS NULL THEN 'grant_missing' ELSE 'grant_changed' END,
               coalesce(a.agent_id, g.grantee)
           )::mnemo._finding
      FROM held AS a
      FULL JOIN mnemo._event_grants(p_org_id, p_agent_id) AS g
        ON g.memory_id = a.memory_id AND g.grantee = a.agent_id
     WHERE CASE WHEN g.memory_id IS NULL THEN true
           -- What has ended, or is on a deleted record, may have been cleared away.
           WHEN a.memory_id IS NULL THEN
               (g.expires_at IS NULL OR g.expires_at > to_jsonb(mnemo._micros(p_now)))
               AND EXISTS (
                   SELECT FROM mnemo.memory AS m
                    WHERE m.org_id = p_org_id AND m.id = g.memory_id AND m.deleted_at IS NULL)
           ELSE a.permission IS DISTINCT FROM g.permission
               OR a.granted_by IS DISTINCT FROM g.granted_by
               OR to_jsonb(mnemo._event_micros(a.granted_at)) IS DISTINCT FROM g.granted_at
               OR to_jsonb(mnemo._event_micros(a.expires_at)) IS DISTINCT FROM g.expires_at
           END
     ORDER BY coalesce(a.memory_id, g.memory_id), coalesce(a.agent_id, g.grantee)
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._grants_finding(text, text, timestamptz) IS
    'The first grant on a record of the owner that differs from what the events say: '
    'grant_without_event, grant_missing, grant_changed; detail names the agent that holds it.';
