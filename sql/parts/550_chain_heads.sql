CREATE FUNCTION mnemo.chain_heads(
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    org_id text,
    agent_id text,
    head_seq bigint,
    head bytea,
    anchor_seq bigint,
    sealed_at timestamptz,
    unsealed bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF NOT mnemo._is_identifier(coalesce(p_org_id, 'default')) THEN
        PERFORM mnemo._raise_problem(mnemo._identifier_problem('p_org_id', p_org_id));
    END IF;
    RETURN QUERY
    WITH u AS (
        SELECT e.org_id, e.agent_id, count(*) AS number
          FROM mnemo.event AS e
         WHERE e.seq IS NULL AND (p_org_id IS NULL OR e.org_id = p_org_id)
         GROUP BY e.org_id, e.agent_id
    ), k AS (
        SELECT u.org_id, u.agent_id FROM u
        UNION
        SELECT h.org_id, h.agent_id
          FROM mnemo.chain_head AS h
         WHERE p_org_id IS NULL OR h.org_id = p_org_id
        UNION
        -- An owner whose whole chain was taken away must not be overlooked.
        SELECT m.origin_org_id, m.agent_id
          FROM mnemo.memory AS m
         WHERE p_org_id IS NULL OR m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
    )
    SELECT k.org_id, k.agent_id, coalesce(h.seq, 0), h.hash, coalesce(h.anchor_seq, 0),
           h.sealed_at, coalesce(u.number, 0)
      FROM k
      LEFT JOIN mnemo.chain_head AS h ON h.org_id = k.org_id AND h.agent_id = k.agent_id
      LEFT JOIN u ON u.org_id = k.org_id AND u.agent_id = k.agent_id
     ORDER BY k.org_id COLLATE "C", k.agent_id COLLATE "C";
END
$fn$;
COMMENT ON FUNCTION mnemo.chain_heads(text) IS
    'Every chain of one organisation or (NULL) of all, and every owner of a record: the place and '
    'hash of its last sealed event, to keep outside; the place of the last event that retention '
    'removed, 0 for none; when it was last sealed; how many events are not sealed. A chain that '
    'was never sealed has head_seq 0 and NULL head and sealed_at. Level admin only. Errors: 42501 '
    'not an administrator; 22023 bad p_org_id.';
