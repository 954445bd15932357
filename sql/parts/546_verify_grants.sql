CREATE FUNCTION mnemo._event_grants(
    p_org_id text,
    p_agent_id text
)
RETURNS TABLE (
    memory_id uuid,
    grantee text,
    permission text,
    granted_by text,
    granted_micros bigint,
    expires_micros bigint
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH said AS (
        SELECT e.memory_id, e.seq, e.id, a.agent AS grantee, e.event_type = 'memory_share' AS given,
               e.changes ->> 'permission' AS permission, e.actor_agent_id AS granted_by,
               mnemo._micros(e.happened_at) AS granted_micros,
               (e.changes ->> 'expires_at')::bigint AS expires_micros
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_array_elements_text(e.changes -> 'agents') AS a(agent)
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type IN ('memory_share', 'memory_unshare')
        UNION ALL
        SELECT e.memory_id, e.seq, e.id, g.key, true, g.value ->> 'permission',
               g.value ->> 'granted_by', (g.value ->> 'granted_at')::bigint,
               (g.value ->> 'expires_at')::bigint
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_each(e.changes -> 'grants') AS g
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type = 'checkpoint'
    ), latest AS (
        SELECT DISTINCT ON (s.memory_id, s.grantee) s.*
          FROM said AS s
         ORDER BY s.memory_id, s.grantee, s.seq DESC NULLS FIRST, s.id DESC
    )
    SELECT l.memory_id, l.grantee, l.permission, l.granted_by, l.granted_micros, l.expires_micros
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
               (g.expires_micros IS NULL OR g.expires_micros > mnemo._micros(p_now))
               AND EXISTS (
                   SELECT FROM mnemo.memory AS m
                    WHERE m.org_id = p_org_id AND m.id = g.memory_id AND m.deleted_at IS NULL)
           ELSE (a.permission, a.granted_by, mnemo._micros(a.granted_at),
                   mnemo._micros(a.expires_at))
               IS DISTINCT FROM
               (g.permission, g.granted_by, g.granted_micros, g.expires_micros)
           END
     ORDER BY coalesce(a.memory_id, g.memory_id), coalesce(a.agent_id, g.grantee)
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._grants_finding(text, text, timestamptz) IS
    'The first grant on a record of the owner that differs from what the events say: '
    'grant_without_event, grant_missing, grant_changed; detail names the agent that holds it.';
