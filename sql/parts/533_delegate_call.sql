CREATE FUNCTION mnemo._open_private(
    p_records mnemo.memory[],
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    FOREACH v_record IN ARRAY p_records LOOP
        CONTINUE WHEN v_record.scope <> 'private';
        UPDATE mnemo.memory AS m
           SET scope = 'shared', updated_at = now()
         WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
        v_record.scope := 'shared';
        PERFORM mnemo._write_event(v_record, 'memory_update', p_actor_org_id, p_actor_agent_id,
            jsonb_build_object('scope', 'shared'));
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._open_private(mnemo.memory[], text, text) IS
    'Makes those of the records that are private shared, with an event each. They are locked.';

CREATE FUNCTION mnemo.delegate(
    p_to_agent text,
    p_permission text DEFAULT 'read',
    p_ids uuid[] DEFAULT NULL,
    p_tag text DEFAULT NULL,
    p_max_depth bigint DEFAULT 0,
    p_ttl interval DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_records mnemo.memory[] := '{}';
    v_head mnemo.delegation;
    v_parents uuid[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._delegation_problem(
        p_to_agent, p_permission, p_ids, p_tag, p_max_depth, p_ttl, v_caller.agent_id));
    IF p_ids IS NOT NULL THEN
        v_records := ARRAY(
            SELECT m
              FROM mnemo._lock_delegable(
                    p_ids, p_permission, v_caller.org_id, v_caller.agent_id) AS m);
    END IF;
    v_head.org_id := v_caller.org_id;
    v_head.id := mnemo._new_id();
    v_head.from_agent_id := v_caller.agent_id;
    v_head.to_agent_id := p_to_agent;
    v_head.permission := p_permission;
    v_head.tag := p_tag;
    v_head.tags := CASE WHEN p_tag IS NOT NULL THEN ARRAY[p_tag] END;
    v_head.max_depth := p_max_depth;
    v_head.created_at := now();
    v_head.expires_at := now() + p_ttl;
    v_head.root_agent_id := v_caller.agent_id;
    v_head.memory_ids := CASE WHEN p_ids IS NOT NULL
        THEN ARRAY(SELECT r.id FROM unnest(v_records) AS r ORDER BY r.id) END;
    INSERT INTO mnemo.delegation SELECT (v_head).*;
    v_parents := mnemo._pass_on(v_head, v_records);
    PERFORM mnemo._check_received(v_head);
    PERFORM mnemo._open_private(v_records, v_caller.org_id, v_caller.agent_id);
    PERFORM mnemo._delegation_event(v_head, 'memory_share', v_caller.agent_id,
        jsonb_build_object('agent', p_to_agent, 'permission', p_permission,
            'ids', to_jsonb(v_head.memory_ids), 'max_depth', p_max_depth,
            'until', mnemo._micros(v_head.expires_at), 'passes_on', to_jsonb(v_parents)));
    RETURN v_head.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.delegate(text, text, uuid[], text, bigint, interval, text, text) IS
    'Hands a permission (read, write, delete, share; each covers those before it) on to an agent of '
    'the same organisation: on the records p_ids (1 to 1000), on all with tag p_tag, or, both NULL, '
    'on all; plans and memories. Always limited to shared and public records that the acting agent '
    'owns or holds a grant share on, looked at in each read: later ones count too, a lost right does '
    'not. Private records stay their owner''s, but those named in p_ids become shared. What the '
    'agent holds by delegations that may be passed on is passed on too, with no higher permission, '
    'not for longer and one time less. p_max_depth, 0 to 10: how many times the agent may pass it '
    'on. p_ttl: until it ends, NULL for no end. Returns the id for revoke_delegation. Errors: 42501 '
    'no access, a record that the agent may not give; MN001 unknown, gone or invisible record; '
    '22023 bad argument, the acting agent itself, ids and tag, a global record; 54000 over 1000 ids, '
    'an agent that would hold over 1000 delegations, of over 100 agents, or over 100 of this one.';
