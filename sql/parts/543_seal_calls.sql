CREATE FUNCTION mnemo._unsealed_chains() RETURNS TABLE (org_id text, agent_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One look-up a chain, however many events it has.
    WITH RECURSIVE c AS (
        (SELECT e.org_id, e.agent_id
           FROM mnemo.event AS e
          WHERE e.seq IS NULL
          ORDER BY e.org_id, e.agent_id
          LIMIT 1)
        UNION ALL
        SELECT n.org_id, n.agent_id
          FROM c
         CROSS JOIN LATERAL (
            SELECT e.org_id, e.agent_id
              FROM mnemo.event AS e
             WHERE e.seq IS NULL AND (e.org_id, e.agent_id) > (c.org_id, c.agent_id)
             ORDER BY e.org_id, e.agent_id
             LIMIT 1
         ) AS n
    )
    SELECT c.org_id, c.agent_id FROM c;
END;
COMMENT ON FUNCTION mnemo._unsealed_chains() IS 'The chains that have events which are not sealed.';

CREATE FUNCTION mnemo._most_problem(
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_limit BETWEEN 1 AND 1000000) IS NOT TRUE THEN
        RETURN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 1000000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again for more');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._most_problem(bigint) IS
    'The problem of a number of events outside 1 to 1,000,000, NULL included; NULL for none.';

CREATE FUNCTION mnemo._require_fresh_snapshots() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF NOT mnemo._seals_here() THEN
        PERFORM mnemo._raise('55000',
            'events cannot be sealed or removed in a transaction of isolation level '
                || upper(current_setting('transaction_isolation')),
            jsonb_build_object('transaction_isolation', current_setting('transaction_isolation')),
            'call it in a transaction of level READ COMMITTED');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_fresh_snapshots() IS
    'Raises 55000 in a transaction that keeps its first snapshot.';

CREATE FUNCTION mnemo.seal(
    p_limit bigint DEFAULT 10000
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_chain record;
    v_rest bigint := p_limit;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._most_problem(p_limit));
    PERFORM mnemo._require_fresh_snapshots();
    -- Who waits longest comes first, so that a busy chain does not keep others from being sealed.
    FOR v_chain IN
        SELECT c.org_id, c.agent_id
          FROM mnemo._unsealed_chains() AS c
          LEFT JOIN mnemo.chain_head AS h ON h.org_id = c.org_id AND h.agent_id = c.agent_id
         ORDER BY h.sealed_at NULLS FIRST, c.org_id, c.agent_id
    LOOP
        EXIT WHEN v_rest <= 0;
        v_rest := v_rest - mnemo._seal_chain(v_chain.org_id, v_chain.agent_id, v_rest);
    END LOOP;
    RETURN (SELECT count(*) FROM mnemo.event AS e WHERE e.seq IS NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo.seal(bigint) IS
    'Links events that are committed and not sealed yet into their chains, at most p_limit (1 to '
    '1,000,000) in a call, and returns how many are left. Never waits, and no writer waits for it; '
    'a chain that another session is sealing is left to that one. Level admin only. Errors: 42501 '
    'not an administrator; 22023 bad p_limit; 55000 not in READ COMMITTED.';
