CREATE FUNCTION mnemo.touch(
    p_ids uuid[],
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
    v_keys mnemo._record_key[];
    v_touched uuid[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._ids_problem('p_ids', p_ids));
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    v_keys := ARRAY(
        SELECT ROW(h.org_id, h.id)::mnemo._record_key
          FROM mnemo._held(v_caller.org_id, v_caller.agent_id, p_ids, clock_timestamp()) AS h
    );
    -- A counter is not worth waiting for: a row that another transaction has is passed over.
    WITH free AS MATERIALIZED (
        SELECT m.org_id, m.id
          FROM unnest(v_keys) AS k(org_id, id)
          JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
         ORDER BY m.org_id, m.id
           FOR NO KEY UPDATE OF m SKIP LOCKED
    ), touched AS (
        UPDATE mnemo.memory AS m
           SET access_count = m.access_count + 1, last_accessed_at = now()
          FROM free AS f
         WHERE m.org_id = f.org_id AND m.id = f.id
        RETURNING m.id
    )
    SELECT array_agg(t.id) INTO v_touched FROM touched AS t;
    RETURN QUERY
    SELECT DISTINCT u.id, CASE WHEN u.id = ANY (v_touched) THEN 'touched' ELSE 'busy' END
      FROM unnest(p_ids) AS u(id)
     ORDER BY u.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.touch(uuid[], text, text) IS
    'Counts a use of records, memories or plans, that the acting agent may read: access_count grows '
    'by 1 and last_accessed_at becomes now, each once in a call; no event, and updated_at stays. '
    'Never waits: a record that another transaction is just touching or changing is left as it is, '
    'so access_count may fall short of the number of calls. Returns a row for each id: touched, or '
    'busy. All or nothing before that: one id that cannot be read, and none is counted. Errors: '
    '42501 no access; MN001 unknown, gone or invisible id; 22023 NULL, empty list, NULL element; '
    '54000 over 10,000.';

CREATE FUNCTION mnemo.log_read(
    p_ids uuid[],
    p_query text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, event_id uuid)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record record;
    v_salt bytea;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._ids_problem('p_ids', p_ids),
        mnemo._texts_problem(ARRAY['p_query'], ARRAY[p_query], 100000)
    ]));
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    -- Held against erasure only: a note written behind it would stay.
    PERFORM FROM mnemo.memory AS m
      WHERE m.org_id IN (v_caller.org_id, '*') AND m.id = ANY (p_ids)
      ORDER BY m.org_id, m.id
        FOR KEY SHARE;
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    FOR v_record IN
        SELECT m.org_id, m.id, m.origin_org_id, m.agent_id
          FROM mnemo._held(v_caller.org_id, v_caller.agent_id, p_ids, clock_timestamp()) AS h
          JOIN mnemo.memory AS m ON m.org_id = h.org_id AND m.id = h.id
         ORDER BY m.id
    LOOP
        id := v_record.id;
        event_id := mnemo._new_id();
        -- What was asked stays within the organisation that asked.
        v_salt := CASE WHEN v_record.origin_org_id = v_caller.org_id AND p_query IS NOT NULL
            THEN uuid_send(gen_random_uuid()) END;
        -- No hash of the record: it may be changing just now, and this event says nothing of it.
        INSERT INTO mnemo.event (
            org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id,
            actor_agent_id, happened_at, content_hash, changes, note_hash
        )
        VALUES (
            v_record.origin_org_id, event_id, v_record.agent_id, 'memory_read', v_record.org_id, id,
            v_caller.org_id, v_caller.agent_id, now(), NULL, '{}',
            mnemo._note_hash(v_salt, p_query)
        );
        IF v_salt IS NOT NULL THEN
            INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
            VALUES (v_record.origin_org_id, log_read.event_id, v_salt, p_query);
        END IF;
        PERFORM mnemo._seal_if_many(v_record.origin_org_id, v_record.agent_id, 1);
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.log_read(uuid[], text, text, text) IS
    'Writes an event memory_read for each of these records, memories or plans, that the acting agent '
    'may read: recall itself writes nothing. The event is in the chain of the record''s owner. '
    'p_query: what was asked, kept beside the event as a note that the owner and administrators '
    'see in history and that goes when the record is erased; NULL for none; not kept for global '
    'records of other organisations. Returns the id of each record and of its event, all or '
    'nothing. Errors: 42501 no access; MN001 unknown, gone or invisible id; 22023 NULL, empty '
    'list, NULL element, blank p_query; 54000 over 10,000 ids or a query over 100,000 characters.';
