-- Whether a record was poisoned is for a person to say, so none of this is for agents: an agent that
-- has been taken over, or the application that runs it, must not let its own record through.

CREATE FUNCTION mnemo._lock_quarantined(
    p_id uuid,
    p_note text,
    p_org_id text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._texts_problem(ARRAY['p_note'], ARRAY[p_note], 10000)
    ]));
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id AND m.origin_org_id = p_org_id
       AND m.quarantined AND m.deleted_at IS NULL
       FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM mnemo._raise('MN001', 'p_id: no such record in quarantine: ' || p_id,
            jsonb_build_object('parameter', 'p_id', 'ids', jsonb_build_array(p_id)),
            'mnemo.quarantined lists those of an organisation');
    END IF;
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_quarantined(uuid, text, text) IS
    'Checks the arguments of mnemo.release and mnemo.purge, locks and returns the record. Raises '
    'MN001 unless it is one of the organisation that is held back.';

CREATE FUNCTION mnemo.release(
    p_id uuid,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_before mnemo.memory;
    v_after mnemo.memory;
BEGIN
    PERFORM mnemo._require_admin();
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_before := mnemo._lock_quarantined(p_id, p_note, v_caller.org_id);
    v_after := v_before;
    v_after.quarantined := false;
    v_after.quarantine_reason := NULL;
    UPDATE mnemo.memory AS m
       SET quarantined = false, quarantine_reason = NULL, updated_at = now()
     WHERE m.org_id = v_before.org_id AND m.id = v_before.id;
    PERFORM mnemo._write_event(v_after, 'memory_released', v_caller.org_id, v_caller.agent_id,
        mnemo._bound_changes(v_before, v_after), p_note);
    PERFORM mnemo._index_change(v_after);
    RETURN QUERY SELECT v_after.id, 'released';
END
$fn$;
COMMENT ON FUNCTION mnemo.release(uuid, text, text, text) IS
    'Lets a record, plan or memory, that a rule against poisoning held back into recall, with the '
    'event memory_released. p_note: why, up to 10,000 characters, kept beside the event and '
    'erasable; NULL for none. p_agent_id names who acts in the event, p_org_id the organisation '
    'that wrote the record. Returns id and status released. Level admin only. Errors: 42501 not an '
    'administrator; MN001 not in quarantine; 22023 NULL id, blank note; 54000 over a limit.';

CREATE FUNCTION mnemo.purge(
    p_id uuid,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_admin();
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_record := mnemo._lock_quarantined(p_id, p_note, v_caller.org_id);
    PERFORM mnemo._forget_beside(v_record.org_id, ARRAY[v_record.id]);
    PERFORM mnemo._write_event(v_record, 'memory_delete', v_caller.org_id, v_caller.agent_id,
        '{"hard": true, "purged": true}', p_note);
    PERFORM mnemo._unindex_terms(v_record.org_id, ARRAY[v_record.id]);
    DELETE FROM mnemo.memory AS m WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
    RETURN QUERY SELECT v_record.id, 'purged';
END
$fn$;
COMMENT ON FUNCTION mnemo.purge(uuid, text, text, text) IS
    'Deletes a record, plan or memory, that a rule against poisoning held back, for good: its row, '
    'terms, grants, notes and idempotency key go, its events and the hash of what it said stay, with the '
    'event memory_delete. What it said before it was changed is left. p_note: why, up to 10,000 '
    'characters, kept beside the event and erasable; NULL for none. p_agent_id names who acts in '
    'the event, p_org_id the organisation that wrote the record. Returns id and status purged. '
    'Level admin only. Errors: 42501 not an administrator; MN001 not in quarantine; 22023 NULL id, '
    'blank note; 54000 over a limit.';
