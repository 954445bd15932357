CREATE FUNCTION mnemo.delegations(
    p_limit bigint DEFAULT 50,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    direction text,
    status text,
    from_agent_id text,
    to_agent_id text,
    permission text,
    memory_ids uuid[],
    tag text,
    max_depth bigint,
    passes_on bigint,
    passed_on bigint,
    created_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_now timestamptz := statement_timestamp();
    v_before uuid := coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.id DESC), v.id,
           CASE WHEN v.from_agent_id = v_caller.agent_id THEN 'given' ELSE 'received' END,
           CASE WHEN v.revoked_at IS NOT NULL THEN 'revoked'
                WHEN v.expires_at <= v_now THEN 'expired' ELSE 'active' END,
           v.from_agent_id, v.to_agent_id, v.permission, v.memory_ids, v.tag, v.max_depth::bigint,
           (SELECT count(*)
              FROM mnemo.delegation AS c
             WHERE c.org_id = v_caller.org_id AND c.head_id = v.id AND c.revoked_at IS NULL
               AND coalesce(c.expires_at, 'infinity') > v_now),
           (SELECT count(DISTINCT c.head_id)
              FROM mnemo.delegation AS p
              JOIN mnemo.delegation AS c ON c.parent_id = p.id
             WHERE p.org_id = v_caller.org_id AND c.org_id = v_caller.org_id
               AND (p.id = v.id OR p.head_id = v.id) AND c.revoked_at IS NULL
               AND coalesce(c.expires_at, 'infinity') > v_now),
           v.created_at, v.expires_at, v.revoked_at
      FROM (
        -- The limit in each branch: each is read from its index only as far as it goes.
        (SELECT d.*
           FROM mnemo.delegation AS d
          WHERE d.org_id = v_caller.org_id AND d.from_agent_id = v_caller.agent_id
            AND d.head_id IS NULL AND d.id < v_before
          ORDER BY d.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT d.*
           FROM mnemo.delegation AS d
          WHERE d.org_id = v_caller.org_id AND d.to_agent_id = v_caller.agent_id
            AND d.head_id IS NULL AND d.id < v_before
          ORDER BY d.id DESC
          LIMIT p_limit)
        ORDER BY id DESC
        LIMIT p_limit
      ) AS v
     ORDER BY v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.delegations(bigint, uuid, text, text) IS
    'The delegations that the acting agent gave or received, newest first, those that have ended '
    'until sweep removes them. direction: given or received; status: active, expired, revoked. '
    'memory_ids and tag: what was delegated, both NULL for all. passes_on: how many delegations of '
    'others it passes on now; passed_on: in how many later ones it is passed on now. p_limit: 1 to '
    '1000. p_after: id of the last row of the page before, NULL for the first page. Errors: 42501 no '
    'access; 22023 bad limit.';
