-- An index has lists by audience: the records of an owner, those granted to an agent. What an agent
-- sees by delegations stands in the lists of others, so it reads those too, and takes from them what
-- was delegated.

CREATE FUNCTION mnemo._failure_context(
    p_context text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Longer than a caller may name one, so that no call recalls a failure as a plan.
RETURN repeat('!', 257) || coalesce('=' || p_context, '');
COMMENT ON FUNCTION mnemo._failure_context(text) IS
    'The context in which failures of a context are matched: one that no caller can name.';

CREATE FUNCTION mnemo._audience(
    p_kind text,
    p_org_id text,
    p_agent_id text,
    p_context text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- A space cannot stand in a name, so different parts never give the same text.
RETURN mnemo._hash64(p_kind || coalesce(' ' || p_org_id, '') || coalesce(' ' || p_agent_id, ''))
    # CASE WHEN p_context IS NULL THEN 0
        WHEN length(p_context) <= 256 THEN mnemo._hash64('context ' || p_context)
        WHEN length(p_context) = 257 THEN mnemo._failure_mask()
        ELSE mnemo._hash64('context ' || substr(p_context, 259)) # mnemo._failure_mask() END;
COMMENT ON FUNCTION mnemo._audience(text, text, text, text) IS
    'The hash of those who see a plan: owner (organisation, agent), grantee (organisation, agent), '
    'public (organisation) or global; with the context mixed in, and in those of failures what sets '
    'them apart.';

CREATE FUNCTION mnemo._delegated(
    p_record mnemo.memory,
    p_list bigint,
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS TABLE (giver text)
LANGUAGE sql STABLE PARALLEL SAFE
-- A record may be in several lists and counts in one: its owner's, if that one delegated it, else
-- that of the first agent that did.
BEGIN ATOMIC
    SELECT w.giver
      FROM (
        SELECT v.giver
          FROM mnemo._ways(p_record, p_org_id, p_agent_id, p_now) AS v
         ORDER BY v.giver <> (p_record).agent_id, v.giver COLLATE "C"
         LIMIT 1
      ) AS w
     WHERE (p_record).scope = 'shared' AND (p_record).agent_id <> p_agent_id
       AND p_list = mnemo._audience(
            CASE WHEN w.giver = (p_record).agent_id THEN 'owner' ELSE 'grantee' END,
            p_org_id, w.giver, p_context)
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = (p_record).id
               AND a.agent_id = p_agent_id
               AND (a.expires_at IS NULL OR a.expires_at > p_now));
END;
COMMENT ON FUNCTION mnemo._delegated(mnemo.memory, bigint, text, text, text, timestamptz) IS
    'One row if the agent sees the record by a delegation and by nothing else, and counts it in the '
    'list of audience p_list; else none.';

CREATE FUNCTION mnemo._delegated_lists(
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS TABLE (list bigint, giver text, kind text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT mnemo._audience(k.kind, p_org_id, r.giver, p_context), r.giver, k.kind
      FROM (
        SELECT DISTINCT d.root_agent_id AS giver
          FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
      ) AS r
      CROSS JOIN LATERAL (
        SELECT 'owner' AS kind
        UNION ALL
        SELECT 'grantee' AS kind
         WHERE EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.agent_id = r.giver AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > p_now))
      ) AS k;
END;
COMMENT ON FUNCTION mnemo._delegated_lists(text, text, text, timestamptz) IS
    'The audiences of others whose lists hold what was delegated to the agent: of each giver those '
    'that it owns, and those that it may share by a grant. One look-up where there are none.';

CREATE FUNCTION mnemo._delegated_audiences(
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- Asked here too: a function that returns rows costs more to call than this look-up.
    IF NOT EXISTS (
        SELECT FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
    THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT l.list
          FROM mnemo._delegated_lists(p_org_id, p_agent_id, p_context, p_now) AS l);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegated_audiences(text, text, text, timestamptz) IS
    'The audiences of _delegated_lists; empty for none.';
