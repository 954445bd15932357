CREATE FUNCTION mnemo._lock_changeable(
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
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], p_permission);
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id
       FOR UPDATE;
    -- Waiting for the lock, the agent may have lost the permission, or the record.
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], p_permission);
    IF p_level = 'tenant' AND v_record.org_id = '*' THEN
        PERFORM mnemo._raise_access('a tenant may not change a record of scope global',
            jsonb_build_object('parameter', 'p_id'), 'use a role of level application');
    END IF;
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_changeable(uuid, text, text, text, text) IS
    'Locks and returns a record on which the agent holds a permission. Raises MN001, 42501.';

CREATE FUNCTION mnemo._store_change(
    p_before mnemo.memory,
    p_after mnemo.memory,
    p_keys text[],
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    UPDATE mnemo.memory AS m
       SET scope = p_after.scope, memory_type = p_after.memory_type, content = p_after.content,
           importance = p_after.importance, tags = p_after.tags, metadata = p_after.metadata,
           consolidation_state = p_after.consolidation_state,
           quarantined = p_after.quarantined, quarantine_reason = p_after.quarantine_reason,
           version = p_after.version, prev_version_id = p_after.prev_version_id,
           created_at = p_after.created_at, updated_at = now(), expires_at = p_after.expires_at,
           kind = p_after.kind, subject = p_after.subject, predicate = p_after.predicate,
           entities = p_after.entities, aliases = p_after.aliases, location = p_after.location,
           confidence = p_after.confidence, status = p_after.status,
           valid_from = p_after.valid_from, valid_to = p_after.valid_to,
           temporal_scope = p_after.temporal_scope, content_hash = p_after.content_hash
     WHERE m.org_id = p_before.org_id AND m.id = p_before.id;
    PERFORM mnemo._write_event(p_after, 'memory_update', p_actor_org_id, p_actor_agent_id,
        mnemo._bound_changes(p_before, p_after) || jsonb_build_object('columns', p_keys));
    IF p_after.quarantined THEN
        PERFORM mnemo._write_quarantined(p_after, p_actor_org_id, p_actor_agent_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_change(mnemo.memory, mnemo.memory, text[], text, text) IS
    'Writes the state of a locked record after a change, and the events of it.';

CREATE FUNCTION mnemo._end_grants(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_agents text[];
BEGIN
    WITH gone AS (
        DELETE FROM mnemo.acl AS a
         WHERE a.org_id = p_record.org_id AND a.memory_id = p_record.id
        RETURNING a.agent_id
    )
    SELECT array_agg(g.agent_id ORDER BY g.agent_id) INTO v_agents FROM gone AS g;
    IF v_agents IS NOT NULL THEN
        PERFORM mnemo._write_event(p_record, 'memory_unshare', p_actor_org_id, p_actor_agent_id,
            jsonb_build_object('agents', to_jsonb(v_agents)));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._end_grants(mnemo.memory, text, text) IS
    'Takes all grants on a record back, with the event of it.';

CREATE FUNCTION mnemo._index_change(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_record.tags @> ARRAY[mnemo._reserved_tag()] THEN
        PERFORM mnemo._reindex_plan(p_record);
    ELSE
        PERFORM mnemo._reindex_terms(ARRAY[p_record]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_change(mnemo.memory) IS
    'Derives anew what recall finds a changed record by, plan or memory, grants included.';

CREATE FUNCTION mnemo.update_memory(
    p_id uuid,
    p_changes jsonb,
    p_expected_version bigint DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, version bigint, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_before mnemo.memory;
    v_after mnemo.memory;
    v_changed record;
    v_keys text[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        CASE WHEN p_expected_version < 1 THEN
            mnemo._argument('p_expected_version',
                'p_expected_version must be 1 or more; got ' || p_expected_version,
                'pass the version that you read, or leave it out')
        END,
        mnemo._changes_problem(p_changes, v_caller.level)
    ]));
    v_before := mnemo._lock_changeable(p_id, v_caller.level, v_caller.org_id, v_caller.agent_id,
        CASE WHEN p_changes ? 'scope' THEN 'share' ELSE 'write' END);
    IF v_before.version <> p_expected_version THEN
        PERFORM mnemo._raise('MN002',
            format('p_id has version %s, not %s: somebody changed it', v_before.version,
                p_expected_version),
            jsonb_build_object('parameter', 'p_expected_version', 'ids', jsonb_build_array(p_id),
                'version', v_before.version),
            'read the record again, and decide on what it says now');
    END IF;
    v_changed := mnemo._changed(v_before, p_changes);
    PERFORM mnemo._raise_problem(v_changed.problem);
    v_after := v_changed.record;
    IF v_after IS NOT DISTINCT FROM v_before THEN
        PERFORM mnemo._store_embedding(
            p_changes ->> 'embedding', p_changes ->> 'model', v_before.org_id, v_before.id,
            v_before.tags @> ARRAY[mnemo._reserved_tag()]);
        RETURN QUERY
        SELECT v_before.id, v_before.version,
               CASE WHEN p_changes ? 'embedding' THEN 'updated' ELSE 'unchanged' END;
        RETURN;
    END IF;
    v_after.version := v_before.version + 1;
    IF v_after.content_hash <> v_before.content_hash THEN
        v_after.prev_version_id := mnemo._keep_version(v_before, v_caller.org_id,
            v_caller.agent_id);
        v_after.created_at := now();
        v_after.content_hash := mnemo._content_hash(v_after);
        v_after := mnemo._screen(v_after);
    END IF;
    v_keys := ARRAY(SELECT k.key FROM jsonb_object_keys(p_changes) AS k(key) ORDER BY k.key);
    PERFORM mnemo._store_change(v_before, v_after, v_keys, v_caller.org_id, v_caller.agent_id);
    IF v_after.scope = 'private' AND v_before.scope <> 'private' THEN
        PERFORM mnemo._end_grants(v_after, v_caller.org_id, v_caller.agent_id);
    END IF;
    PERFORM mnemo._index_change(v_after);
    IF v_after.content <> v_before.content THEN
        PERFORM mnemo._drop_embeddings(v_after.org_id, ARRAY[v_after.id]);
    END IF;
    PERFORM mnemo._store_embedding(
        p_changes ->> 'embedding', p_changes ->> 'model', v_after.org_id, v_after.id,
        v_after.tags @> ARRAY[mnemo._reserved_tag()]);
    RETURN QUERY
    SELECT v_after.id, v_after.version,
           CASE WHEN v_after.quarantined THEN 'quarantined' ELSE 'updated' END;
END
$fn$;
COMMENT ON FUNCTION mnemo.update_memory(uuid, jsonb, bigint, text, text) IS
    'Changes a record of which p_changes names the new values by key: content, importance, tags, '
    'metadata (as a whole), memory_type, consolidation_state (a live one), kind, subject, '
    'predicate, entities, aliases, location, confidence, status, valid_from, valid_to, '
    'temporal_scope, ttl (from now; null: for ever), scope (never from or to global; private ends '
    'all grants), embedding, model; of a plan tags, ttl, scope and embedding. The record keeps its id, owner, source and grants; '
    'version grows by one. Where its words change, created_at becomes now and what it said before '
    'is kept as an archived record, prev_version_id, which nothing recalls. Another content ends its '
    'embeddings; embedding (with model) gives it one, alone without a new version or event, so that '
    'old records can be given embeddings of a new model. p_expected_version: '
    'change it only if it has this version. Needs permission write, for scope share. Returns id, '
    'version, and status updated, unchanged (nothing would differ, nothing is written) or '
    'quarantined. Errors: 42501 no access, permission missing; MN001 unknown, gone or invisible '
    'record; MN002 another version; 22023 bad argument, reserved tag or key; 54000 over a limit; 55000 '
    'embedding given but not enabled.';
