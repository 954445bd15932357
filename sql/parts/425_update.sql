CREATE FUNCTION mnemo._change_keys() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'content', 'importance', 'tags', 'metadata', 'ttl', 'scope', 'memory_type',
    'consolidation_state', 'kind', 'subject', 'predicate', 'entities', 'aliases', 'location',
    'confidence', 'status', 'valid_from', 'valid_to', 'temporal_scope', 'embedding', 'model'
];
COMMENT ON FUNCTION mnemo._change_keys() IS
    'What mnemo.update_memory can change of a memory; of a plan tags, ttl, scope and embedding.';

CREATE FUNCTION mnemo._within(
    p_parameter text,
    p_problem mnemo._problem
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p_problem).code IS NOT NULL THEN ROW(
    (p_problem).code, p_parameter || ': ' || regexp_replace((p_problem).message, '^p_', ''),
    p_parameter, (p_problem).hint
)::mnemo._problem END;
COMMENT ON FUNCTION mnemo._within(text, mnemo._problem) IS
    'The problem of a value that was given inside a parameter; NULL for NULL.';

CREATE FUNCTION mnemo._changes_problem(
    p_changes jsonb,
    p_level text
)
RETURNS mnemo._problem
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_probe mnemo.memory := mnemo._new_record('private', 'x', 'x', NULL);
    v_problem mnemo._problem := mnemo._object_problem('p_changes', p_changes,
        mnemo._change_keys(), 'keys are ' || array_to_string(mnemo._change_keys(), ', '));
    v_key text;
BEGIN
    IF v_problem.code IS NOT NULL THEN
        RETURN CASE v_problem.parameter WHEN 'p_changes' THEN v_problem
            ELSE mnemo._within('p_changes', v_problem) END;
    ELSIF p_changes = '{}' THEN
        RETURN mnemo._argument('p_changes', 'p_changes must name at least one change',
            'keys are ' || array_to_string(mnemo._change_keys(), ', '));
    END IF;
    FOREACH v_key IN ARRAY ARRAY['content', 'importance', 'tags', 'metadata', 'scope',
        'memory_type', 'consolidation_state', 'entities', 'aliases', 'status', 'valid_from',
        'temporal_scope', 'embedding', 'model']
    LOOP
        IF p_changes -> v_key = 'null' THEN
            RETURN mnemo._argument('p_changes', 'p_changes: ' || v_key || ' must not be null',
                'leave it out, or give it a value');
        END IF;
    END LOOP;
    v_probe.content := 'x';
    v_probe.memory_type := 'episodic';
    v_probe.source_type := 'agent';
    -- Before every time that valid_to could have: the record's own is looked at later.
    v_probe.valid_from := timestamptz '0001-01-01 00:00:00+00 BC';
    v_probe := jsonb_populate_record(v_probe, p_changes);
    RETURN mnemo._within('p_changes', mnemo._first_problem(ARRAY[
        mnemo._scope_problem(p_level, v_probe.scope),
        CASE WHEN v_probe.scope = 'global' THEN
            mnemo._argument('p_scope', 'scope of a record never becomes global',
                'remember it anew with scope global')
        END,
        CASE WHEN NOT mnemo._is_live_state(v_probe.consolidation_state) THEN
            mnemo._argument('p_consolidation_state',
                'consolidation_state must be one of raw, active, pending, consolidated; got '
                    || mnemo._shown(v_probe.consolidation_state),
                'mnemo.forget takes a record out of use')
        END,
        mnemo._embedding_problem(p_changes ->> 'embedding', p_changes ->> 'model'),
        mnemo._ttl_problem((p_changes ->> 'ttl')::interval),
        mnemo._memory_problem(v_probe)
    ]));
END
$fn$;
COMMENT ON FUNCTION mnemo._changes_problem(jsonb, text) IS
    'The first problem of the changes of mnemo.update_memory, whatever the record; NULL for none.';

CREATE FUNCTION mnemo._changed(
    p_record mnemo.memory,
    p_changes jsonb,
    OUT record mnemo.memory,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_is_plan boolean := p_record.tags @> ARRAY[mnemo._reserved_tag()];
BEGIN
    IF v_is_plan THEN
        SELECT k.key INTO v_key
          FROM jsonb_object_keys(p_changes) AS k(key)
         WHERE k.key NOT IN ('tags', 'ttl', 'scope', 'embedding', 'model')
            -- What not to do is matched by words alone.
            OR k.key IN ('embedding', 'model') AND mnemo._is_failure(p_record)
         ORDER BY k.key
         LIMIT 1;
        IF FOUND THEN
            problem := mnemo._argument('p_changes',
                'p_changes: ' || v_key || ' of a plan cannot be changed',
                'remember the plan anew with mnemo.remember_plan; tags, ttl, scope and embedding can '
                'be changed');
            RETURN;
        END IF;
    END IF;
    record := jsonb_populate_record(p_record, p_changes);
    IF v_is_plan AND p_changes ? 'tags' THEN
        record.tags := ARRAY[mnemo._reserved_tag()] || record.tags;
    END IF;
    IF p_changes ? 'ttl' THEN
        record.expires_at := now() + (p_changes ->> 'ttl')::interval;
    END IF;
    IF record.scope <> p_record.scope AND p_record.scope = 'global' THEN
        problem := mnemo._argument('p_changes', 'p_changes: scope of a global record stays global',
            'remember it anew in another scope');
    ELSIF record.valid_to <= record.valid_from THEN
        problem := mnemo._argument('p_changes', 'p_changes: valid_to must be after valid_from',
            'give both, or leave valid_to out');
    END IF;
    record := mnemo._normalised(record);
END
$fn$;
COMMENT ON FUNCTION mnemo._changed(mnemo.memory, jsonb) IS
    'A record after checked changes, hashed but otherwise as it was, or the problem that they have '
    'with it.';

CREATE FUNCTION mnemo._keep_version(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_record.id := mnemo._new_id();
    p_record.nonce := uuid_send(gen_random_uuid());
    p_record.consolidation_state := 'archived';
    p_record.status := 'superseded';
    p_record.updated_at := now();
    p_record.content_hash := mnemo._content_hash(p_record);
    PERFORM mnemo._write_memories(ARRAY[p_record],
        CASE WHEN p_record.tags @> ARRAY[mnemo._reserved_tag()] THEN 'plan_write'
        ELSE 'memory_write' END, p_actor_org_id, p_actor_agent_id);
    RETURN p_record.id;
END
$fn$;
COMMENT ON FUNCTION mnemo._keep_version(mnemo.memory, text, text) IS
    'Writes a record that is about to be changed once more under an id of its own, archived, so '
    'that nothing recalls it, and returns that id.';
