CREATE FUNCTION mnemo._lock_plan(
    p_id uuid,
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_permission text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory := mnemo._lock_changeable(
        p_id, p_level, p_org_id, p_agent_id, p_permission);
BEGIN
    IF NOT v_record.tags @> ARRAY[mnemo._reserved_tag()] OR mnemo._is_failure(v_record) THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_plan(uuid, text, text, text, text) IS
    'Locks and returns a plan on which the agent holds a permission. Raises MN001, for a memory too, '
    'and 42501.';

CREATE FUNCTION mnemo._set_retired(
    p_plan mnemo.memory,
    p_status text,
    p_event_type text,
    p_note text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after mnemo.memory := p_plan;
BEGIN
    v_after.status := p_status;
    UPDATE mnemo.memory AS m
       SET status = p_status, updated_at = now()
     WHERE m.org_id = p_plan.org_id AND m.id = p_plan.id;
    PERFORM mnemo._write_event(v_after, p_event_type, p_actor_org_id, p_actor_agent_id,
        mnemo._bound_changes(p_plan, v_after), p_note);
    PERFORM mnemo._settle_plan(p_plan.org_id, p_plan.id);
END
$fn$;
COMMENT ON FUNCTION mnemo._set_retired(mnemo.memory, text, text, text, text, text) IS
    'Gives the record of a locked plan its status, with the event of it, and settles the plan.';

CREATE FUNCTION mnemo.retire_plan(
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
    v_plan mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id), mnemo._note_problem(p_note)]));
    v_plan := mnemo._lock_plan(
        p_id, v_caller.level, v_caller.org_id, v_caller.agent_id, 'write');
    id := p_id;
    status := 'unchanged';
    IF v_plan.status <> mnemo._by_hand() THEN
        PERFORM mnemo._set_retired(v_plan, mnemo._by_hand(), 'plan_retired', p_note,
            v_caller.org_id, v_caller.agent_id);
        status := 'retired';
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.retire_plan(uuid, text, text, text) IS
    'Retires a plan, whatever its reports say: no recall replays it until mnemo.revive_plan; it is '
    'still listed, and a recall whose hit it would have been says so. p_note: why, for its owner; '
    'goes with the plan. Writes an event plan_retired. Needs permission write. Returns the id and '
    'status retired, or unchanged for one that was retired so before. Errors: 42501 no access, '
    'permission missing, a global plan and a tenant; 22023 NULL id, blank note; 54000 note over '
    '10,000 characters; MN001 unknown, gone or invisible id, or no plan.';

CREATE FUNCTION mnemo.revive_plan(
    p_id uuid,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_plan mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id), mnemo._note_problem(p_note)]));
    v_plan := mnemo._lock_plan(
        p_id, v_caller.level, v_caller.org_id, v_caller.agent_id, 'write');
    id := p_id;
    status := 'unchanged';
    -- Whoever reports holds the row against this lock, so that all reports are there.
    PERFORM mnemo._fold_reports(v_plan.org_id, v_plan.id, NULL);
    IF mnemo._is_retired(v_plan) THEN
        UPDATE mnemo.plan_report AS r
           SET counts = false
         WHERE r.org_id = v_plan.org_id AND r.plan_id = v_plan.id AND r.counts;
        UPDATE mnemo.plan_fare AS f
           SET agents = 0, failing = 0, score_sum = 0
         WHERE f.org_id = v_plan.org_id AND f.plan_id = v_plan.id;
        PERFORM mnemo._set_retired(v_plan, 'active', 'plan_revived', p_note,
            v_caller.org_id, v_caller.agent_id);
        status := 'revived';
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.revive_plan(uuid, text, text, text) IS
    'Brings back a plan that mnemo.retire_plan or its reports retired (by the setting '
    'retire_threshold of its owner''s organisation). The standing begins anew with the original '
    'outcome score: reports made before are still counted as uses, and no longer for standing or '
    'retirement. p_note: why, for its owner. Writes an event plan_revived. Needs permission write. '
    'Returns the id and status revived, or unchanged for one that is not retired. Errors: those of '
    'mnemo.retire_plan.';
