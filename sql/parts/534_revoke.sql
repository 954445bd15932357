CREATE FUNCTION mnemo._end_chain(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo.delegation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_level uuid[];
BEGIN
    PERFORM FROM mnemo.delegation AS d
      WHERE d.org_id = p_org_id AND (d.id = p_id OR d.head_id = p_id) AND d.revoked_at IS NULL
      ORDER BY d.id
        FOR UPDATE;
    v_level := ARRAY(
        SELECT d.id
          FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND (d.id = p_id OR d.head_id = p_id)
           AND d.revoked_at IS NULL
    );
    -- Whoever passes a row on writes it first: once it is locked here, what was passed on from it is
    -- there to see, and nothing more can be.
    WHILE v_level <> '{}' LOOP
        RETURN QUERY
        UPDATE mnemo.delegation AS d
           SET revoked_at = now()
         WHERE d.org_id = p_org_id AND d.id = ANY (v_level)
        RETURNING d.*;
        PERFORM FROM mnemo.delegation AS d
          WHERE d.org_id = p_org_id AND d.parent_id = ANY (v_level) AND d.revoked_at IS NULL
          ORDER BY d.id
            FOR UPDATE;
        v_level := ARRAY(
            SELECT d.id
              FROM mnemo.delegation AS d
             WHERE d.org_id = p_org_id AND d.parent_id = ANY (v_level) AND d.revoked_at IS NULL
        );
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._end_chain(text, uuid) IS
    'Ends a delegation and all that was passed on from it, level by level; returns the rows.';

CREATE FUNCTION mnemo.revoke_delegation(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_ended mnemo.delegation[];
    v_head record;
    v_count bigint := 0;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    IF NOT EXISTS (
        SELECT FROM mnemo.delegation AS d
         WHERE d.org_id = v_caller.org_id AND d.id = p_id AND d.head_id IS NULL
           AND v_caller.agent_id IN (d.from_agent_id, d.to_agent_id))
    THEN
        PERFORM mnemo._raise('MN001', 'p_id: no such delegation for this agent: ' || p_id,
            jsonb_build_object('parameter', 'p_id', 'ids', jsonb_build_array(p_id)),
            'mnemo.delegations lists those that the agent gave or holds');
    END IF;
    v_ended := ARRAY(SELECT e FROM mnemo._end_chain(v_caller.org_id, p_id) AS e);
    FOR v_head IN
        SELECT h AS row, h.id = p_id AS named, jsonb_agg(e.id ORDER BY e.id) AS rows
          FROM unnest(v_ended) AS e
          JOIN mnemo.delegation AS h
            ON h.org_id = v_caller.org_id AND h.id = coalesce(e.head_id, e.id)
         GROUP BY h.org_id, h.id
         ORDER BY h.id
    LOOP
        v_count := v_count + 1;
        PERFORM mnemo._delegation_event(v_head.row, 'memory_unshare', v_caller.agent_id,
            CASE WHEN v_head.named THEN '{}'
            ELSE jsonb_build_object('because', p_id, 'rows', v_head.rows) END);
    END LOOP;
    RETURN v_count;
END
$fn$;
COMMENT ON FUNCTION mnemo.revoke_delegation(uuid, text, text) IS
    'Ends a delegation that the acting agent gave or holds, and with it all that was passed on from '
    'it, down the chain. Delegations further down keep what does not come from it. Grants that were '
    'made by share meanwhile stay until unshare. Returns how many delegations lost something, 0 if '
    'it had been revoked before. Errors: 42501 no access; MN001 unknown delegation, or of others; '
    '22023 NULL.';
