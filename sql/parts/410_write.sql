CREATE FUNCTION mnemo._write_memories(
    p_records mnemo.memory[],
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    INSERT INTO mnemo.memory SELECT r.* FROM unnest(p_records) AS r;
    -- Plans have no terms, and an earlier version is never recalled.
    IF p_event_type <> 'plan_write' AND p_records[1].consolidation_state <> 'archived' THEN
        PERFORM mnemo._index_terms(p_records);
    END IF;
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT r.origin_org_id, mnemo._new_id(), r.agent_id, p_event_type, r.org_id, r.id,
           coalesce(p_actor_org_id, r.origin_org_id), coalesce(p_actor_agent_id, r.agent_id),
           now(), r.content_hash, mnemo._bound_state(r)
      FROM unnest(p_records) AS r;
    FOREACH v_record IN ARRAY p_records LOOP
        IF v_record.quarantined THEN
            PERFORM mnemo._write_quarantined(v_record,
                coalesce(p_actor_org_id, v_record.origin_org_id),
                coalesce(p_actor_agent_id, v_record.agent_id));
        END IF;
    END LOOP;
    IF cardinality(p_records) = 1 THEN
        PERFORM mnemo._seal_if_many(v_record.origin_org_id, v_record.agent_id, 1);
        RETURN;
    END IF;
    PERFORM mnemo._seal_owners(array_agg(r.origin_org_id), array_agg(r.agent_id))
       FROM unnest(p_records) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo._write_memories(mnemo.memory[], text, text, text) IS
    'Writes complete records, live or archived ones, and the events of each, the owner acting where '
    'no actor is named. The only way a record comes into being, but for import.';

CREATE FUNCTION mnemo._write_event(
    p_record mnemo.memory,
    p_event_type text,
    p_actor_org_id text,
    p_actor_agent_id text,
    p_changes jsonb,
    p_note text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_id uuid := mnemo._next_event_id(p_record.org_id, p_record.id);
    v_salt bytea := CASE WHEN p_note IS NOT NULL THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes, note_hash
    )
    VALUES (
        p_record.origin_org_id, v_id, p_record.agent_id, p_event_type,
        p_record.org_id, p_record.id, p_actor_org_id, p_actor_agent_id, now(),
        p_record.content_hash, p_changes, mnemo._note_hash(v_salt, p_note)
    );
    IF p_note IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_record.origin_org_id, v_id, v_salt, p_note);
    END IF;
    PERFORM mnemo._seal_if_many(p_record.origin_org_id, p_record.agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_event(mnemo.memory, text, text, text, jsonb, text) IS
    'Writes the event of a change to a record; p_changes holds the columns that it set, as labels, '
    'numbers and microseconds only, p_note free text that can be erased.';

CREATE FUNCTION mnemo._write_quarantined(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._write_event(
        p_record, 'memory_quarantined', p_actor_org_id, p_actor_agent_id,
        jsonb_build_object('quarantined', true, 'quarantine_reason', mnemo._reason_hash(p_record),
            'rules', string_to_array(regexp_replace(
                p_record.quarantine_reason, ' [0-9.]+', '', 'g'), ', '))
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._write_quarantined(mnemo.memory, text, text) IS
    'Writes the event of a record that the rules of poisoning hold back, with their names.';

CREATE FUNCTION mnemo._raise_busy_key() RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise('40001', 'p_idempotency_key was used by a concurrent transaction',
    jsonb_build_object('parameter', 'p_idempotency_key'), 'retry the transaction');
COMMENT ON FUNCTION mnemo._raise_busy_key() IS
    'Raises 40001: the key was used by a transaction that this one cannot see.';

CREATE FUNCTION mnemo._first_record(
    p_record mnemo.memory,
    p_key text,
    p_pending mnemo.memory[]
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key mnemo.idempotency;
    v_first mnemo.memory;
BEGIN
    INSERT INTO mnemo.idempotency AS i (org_id, agent_id, key, memory_org_id, memory_id)
    VALUES (p_record.origin_org_id, p_record.agent_id, p_key, p_record.org_id, p_record.id)
    ON CONFLICT (org_id, agent_id, key) DO NOTHING;
    IF FOUND THEN
        RETURN p_record;
    END IF;
    -- Statements of their own: the claim may have waited for the transaction that wrote the key.
    SELECT * INTO v_key
      FROM mnemo.idempotency AS i
     WHERE i.org_id = p_record.origin_org_id AND i.agent_id = p_record.agent_id AND i.key = p_key;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_busy_key();
    END IF;
    SELECT * INTO v_first
      FROM mnemo.memory AS m WHERE m.org_id = v_key.memory_org_id AND m.id = v_key.memory_id;
    IF NOT FOUND THEN
        SELECT * INTO v_first FROM unnest(p_pending) AS r WHERE r.id = v_key.memory_id;
    END IF;
    IF NOT FOUND THEN
        UPDATE mnemo.idempotency AS i
           SET memory_org_id = p_record.org_id, memory_id = p_record.id
         WHERE i.org_id = v_key.org_id AND i.agent_id = v_key.agent_id AND i.key = v_key.key
           AND i.memory_id = v_key.memory_id;
        IF NOT FOUND THEN
            PERFORM mnemo._raise_busy_key();
        END IF;
        RETURN p_record;
    END IF;
    RETURN v_first;
END
$fn$;
COMMENT ON FUNCTION mnemo._first_record(mnemo.memory, text, mnemo.memory[]) IS
    'Claims an idempotency key of the owner for a record about to be written: returns that record, '
    'or the one that holds the key. p_pending: records of the same call that are not written yet. '
    'Waits for a transaction that is just using the same key; raises 40001 when that one is outside '
    'the snapshot.';

CREATE FUNCTION mnemo._scope_problem(
    p_level text,
    p_scope text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Access comes before arguments, so this before anything else about the call.
    IF p_scope = 'global' AND p_level = 'tenant' THEN
        RETURN mnemo._access('a tenant may not write scope global', 'p_scope',
            'use scope public, or a role of level application');
    ELSIF NOT mnemo._is_label('scope', coalesce(p_scope, 'private')) THEN
        RETURN mnemo._label_problem('p_scope', 'scope', p_scope);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._scope_problem(text, text) IS
    'The problem of a scope to write: global by a tenant, an unknown label; NULL for none.';

CREATE FUNCTION mnemo._tags_problem(
    p_tags text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._list_problem('p_tags', p_tags, 100, 256, 'tags'),
        CASE WHEN p_tags @> ARRAY[mnemo._reserved_tag()] THEN mnemo._argument('p_tags',
            'p_tags must not contain the reserved tag ' || mnemo._reserved_tag(),
            'plans are written with mnemo.remember_plan') END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._tags_problem(text[]) IS
    'The problem of a caller''s tags: over 100, longer than 256 characters, NULL or blank elements, '
    'the reserved tag; NULL for none.';

CREATE FUNCTION mnemo._distinct(
    p_list text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF cardinality(p_list) <= 1 THEN
        RETURN ARRAY(SELECT unnest(p_list));
    END IF;
    RETURN ARRAY(
        SELECT t.item
          FROM unnest(p_list) WITH ORDINALITY AS t(item, place)
         GROUP BY t.item
         ORDER BY min(t.place)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._distinct(text[]) IS 'The list without duplicates, the first of each kept, with subscripts from 1.';
