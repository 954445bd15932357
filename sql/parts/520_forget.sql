CREATE FUNCTION mnemo.forget(
    p_ids uuid[],
    p_strategy text DEFAULT 'soft_delete',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._ids_problem('p_ids', p_ids),
        mnemo._label_problem('p_strategy', 'forget_strategy', p_strategy)
    ]));
    PERFORM mnemo._require_permission(
        'p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'delete'
    );
    -- One order of locks for every writer: organisation, then id.
    PERFORM FROM mnemo.memory AS m
      WHERE m.org_id IN (v_caller.org_id, '*') AND m.id = ANY (p_ids)
      ORDER BY m.org_id, m.id
        FOR UPDATE;
    -- Waiting for the locks, the agent may have lost the permission, or the record.
    PERFORM mnemo._require_permission(
        'p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'delete'
    );
    IF v_caller.level = 'tenant' AND EXISTS (
        SELECT FROM mnemo.memory AS m WHERE m.org_id = '*' AND m.id = ANY (p_ids)
    ) THEN
        PERFORM mnemo._raise_access('a tenant may not delete a record of scope global',
            jsonb_build_object('parameter', 'p_ids'), 'use a role of level application');
    END IF;
    FOR v_record IN
        SELECT m.*
          FROM mnemo.memory AS m
         WHERE m.org_id IN (v_caller.org_id, '*') AND m.id = ANY (p_ids)
    LOOP
        UPDATE mnemo.memory AS m
           SET deleted_at = now(), updated_at = now()
         WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
        PERFORM mnemo._write_event(
            v_record, 'memory_delete', v_caller.org_id, v_caller.agent_id,
            jsonb_build_object('deleted_at', mnemo._micros(now()))
        );
        PERFORM mnemo._unindex_terms(v_record.org_id, ARRAY[v_record.id]);
        DELETE FROM mnemo.plan_signature AS s
         WHERE s.org_id = v_record.org_id AND s.plan_id = v_record.id;
    END LOOP;
    RETURN QUERY SELECT DISTINCT t.id, 'deleted' FROM unnest(p_ids) AS t(id) ORDER BY t.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget(uuid[], text, text, text) IS
    'Deletes records, plans or memories, so that nothing recalls them; soft_delete keeps the row. '
    'All or nothing, with one event a record. Returns a row for each id, status deleted. Needs '
    'permission delete on each. Errors: 42501 no access, permission missing; MN001 unknown, gone '
    'or invisible id; 22023 NULL, empty list, NULL element, unknown strategy; 54000 over 10,000.';
