-- What forgetting does to records whose rows the caller has locked.

CREATE TYPE mnemo._record_key AS (
    org_id text,
    id uuid
);
COMMENT ON TYPE mnemo._record_key IS 'The key of a record in mnemo.memory.';

CREATE TYPE mnemo._forget_counts AS (
    memories bigint,
    plans bigint,
    grants bigint,
    notes bigint,
    terms bigint,
    signatures bigint,
    idempotency_keys bigint
);
COMMENT ON TYPE mnemo._forget_counts IS
    'How many rows went with forgotten records, by what they are.';

CREATE FUNCTION mnemo._erases(
    p_strategy text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_strategy IN ('hard_delete', 'redact');
COMMENT ON FUNCTION mnemo._erases(text) IS
    'Whether a strategy of forgetting takes the text away, and does not only hide it.';

CREATE FUNCTION mnemo._redacted(
    p_record mnemo.memory,
    p_now timestamptz
)
RETURNS mnemo.memory
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_record.content := NULL;
    p_record.metadata := '{}';
    -- What kind of record it was stays.
    p_record.tags := CASE WHEN p_record.tags @> ARRAY[mnemo._reserved_tag()]
        THEN ARRAY[mnemo._reserved_tag()] ELSE '{}' END;
    p_record.source_id := NULL;
    p_record.thread_id := NULL;
    p_record.created_by := NULL;
    p_record.quarantine_reason := NULL;
    p_record.kind := NULL;
    p_record.subject := NULL;
    p_record.predicate := NULL;
    p_record.entities := '{}';
    p_record.aliases := '{}';
    p_record.location := NULL;
    p_record.confidence := NULL;
    p_record.valid_from := p_record.created_at;
    p_record.valid_to := NULL;
    p_record.temporal_scope := 'persistent';
    p_record.nonce := NULL;
    p_record.deleted_at := coalesce(p_record.deleted_at, p_now);
    p_record.redacted_at := p_now;
    p_record.updated_at := p_now;
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._redacted(mnemo.memory, timestamptz) IS
    'What redaction leaves of a record: ids, owner, scope, labels, numbers, times of the store, and '
    'content_hash.';

CREATE FUNCTION mnemo._forget_beside(
    p_org_id text,
    p_ids uuid[],
    OUT grants bigint,
    OUT notes bigint,
    OUT idempotency_keys bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    DELETE FROM mnemo.acl AS a WHERE a.org_id = p_org_id AND a.memory_id = ANY (p_ids);
    GET DIAGNOSTICS grants = ROW_COUNT;
    DELETE FROM mnemo.event_note AS n
     USING mnemo.event AS e
     WHERE e.memory_org_id = p_org_id AND e.memory_id = ANY (p_ids)
       AND n.org_id = e.org_id AND n.event_id = e.id;
    GET DIAGNOSTICS notes = ROW_COUNT;
    -- A key is the caller's text too.
    DELETE FROM mnemo.idempotency AS i
     WHERE i.memory_org_id = p_org_id AND i.memory_id = ANY (p_ids);
    GET DIAGNOSTICS idempotency_keys = ROW_COUNT;
    DELETE FROM mnemo.plan_report AS r WHERE r.org_id = p_org_id AND r.plan_id = ANY (p_ids);
    DELETE FROM mnemo.plan_fare AS f WHERE f.org_id = p_org_id AND f.plan_id = ANY (p_ids);
    PERFORM mnemo._drop_embeddings(p_org_id, p_ids);
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_beside(text, uuid[]) IS
    'Removes what other tables hold of people''s words about records: grants, notes of their events, '
    'idempotency keys; embeddings; reports about plans.';

CREATE FUNCTION mnemo._write_forget_events(
    p_org_id text,
    p_ids uuid[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT m.origin_org_id, mnemo._next_event_id(m.org_id, m.id), m.agent_id, p_event_type,
           m.org_id, m.id, coalesce(p_actor_org_id, m.origin_org_id),
           coalesce(p_actor_agent_id, m.agent_id), now(), m.content_hash,
           CASE p_strategy
               WHEN 'hard_delete' THEN jsonb_build_object('hard', true)
               WHEN 'soft_delete' THEN jsonb_build_object('deleted_at', mnemo._micros(now()))
               WHEN 'archive' THEN jsonb_build_object('consolidation_state', 'archived')
               ELSE mnemo._bound_changes(m, mnemo._redacted(m, now()))
           END
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
     ORDER BY m.id;
    PERFORM mnemo._seal_owners(array_agg(m.origin_org_id), array_agg(m.agent_id))
       FROM mnemo.memory AS m
      WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_forget_events(text, uuid[], text, text, text, text) IS
    'Writes an event for each record about to be forgotten, with the columns that the strategy will '
    'set; without an actor the owner acts.';

CREATE FUNCTION mnemo._forget_records(
    p_org_id text,
    p_ids uuid[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_counts mnemo._forget_counts := ROW(0, 0, 0, 0, 0, 0, 0);
BEGIN
    SELECT count(*) FILTER (WHERE NOT m.tags @> ARRAY[mnemo._reserved_tag()]),
           count(*) FILTER (WHERE m.tags @> ARRAY[mnemo._reserved_tag()])
      INTO v_counts.memories, v_counts.plans
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    v_counts.terms := (
        SELECT count(*)
          FROM mnemo.term_vector AS v WHERE v.org_id = p_org_id AND v.memory_id = ANY (p_ids));
    PERFORM mnemo._write_forget_events(
        p_org_id, p_ids, p_strategy, p_event_type, p_actor_org_id, p_actor_agent_id);
    PERFORM mnemo._unindex_terms(p_org_id, p_ids);
    IF v_counts.plans > 0 THEN
        PERFORM mnemo._leave_identities(p_org_id, p_ids);
    END IF;
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = ANY (p_ids);
    GET DIAGNOSTICS v_counts.signatures = ROW_COUNT;
    IF mnemo._erases(p_strategy) THEN
        SELECT b.grants, b.notes, b.idempotency_keys
          INTO v_counts.grants, v_counts.notes, v_counts.idempotency_keys
          FROM mnemo._forget_beside(p_org_id, p_ids) AS b;
    END IF;
    IF p_strategy = 'hard_delete' THEN
        DELETE FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    ELSIF p_strategy = 'redact' THEN
        UPDATE mnemo.memory AS m
           SET (content, metadata, tags, source_id, thread_id, created_by, quarantine_reason, kind,
                subject, predicate, entities, aliases, location, confidence, valid_from, valid_to,
                temporal_scope, nonce, deleted_at, redacted_at, updated_at) = (
                SELECT r.content, r.metadata, r.tags, r.source_id, r.thread_id, r.created_by,
                       r.quarantine_reason, r.kind, r.subject, r.predicate, r.entities, r.aliases,
                       r.location, r.confidence, r.valid_from, r.valid_to, r.temporal_scope,
                       r.nonce, r.deleted_at, r.redacted_at, r.updated_at
                  FROM mnemo._redacted(m, now()) AS r)
         WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    ELSE
        UPDATE mnemo.memory AS m
           SET deleted_at = CASE p_strategy WHEN 'soft_delete' THEN now() ELSE m.deleted_at END,
               consolidation_state = CASE p_strategy WHEN 'archive' THEN 'archived'
                   ELSE m.consolidation_state END,
               updated_at = now()
         WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    END IF;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_records(text, uuid[], text, text, text, text) IS
    'Forgets records of one org_id, whose rows the caller has locked, by a strategy: event, terms, '
    'signatures, what else there is of them, the row. Every way in which a record is deleted, '
    'expired or purged goes through here. Without an actor the owner acts. For some thousand '
    'records at most.';

CREATE FUNCTION mnemo._forget_batches(
    p_keys mnemo._record_key[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_batch record;
    v_done mnemo._forget_counts;
    v_counts mnemo._forget_counts := ROW(0, 0, 0, 0, 0, 0, 0);
BEGIN
    FOR v_batch IN
        SELECT k.org_id, array_agg(k.id ORDER BY k.id) AS ids
          FROM (
            SELECT u.org_id, u.id,
                   (row_number() OVER (PARTITION BY u.org_id ORDER BY u.id) - 1) / 1000 AS place
              FROM unnest(p_keys) AS u(org_id, id)
          ) AS k
         GROUP BY k.org_id, k.place
         ORDER BY k.org_id, k.place
    LOOP
        v_done := mnemo._forget_records(v_batch.org_id, v_batch.ids, p_strategy, p_event_type,
            p_actor_org_id, p_actor_agent_id);
        v_counts := ROW(
            v_counts.memories + v_done.memories, v_counts.plans + v_done.plans,
            v_counts.grants + v_done.grants, v_counts.notes + v_done.notes,
            v_counts.terms + v_done.terms, v_counts.signatures + v_done.signatures,
            v_counts.idempotency_keys + v_done.idempotency_keys);
    END LOOP;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_batches(mnemo._record_key[], text, text, text, text) IS
    'Forgets records whose rows the caller has locked, a thousand at a time, with events of one '
    'type. Without an actor the owner acts.';

CREATE FUNCTION mnemo._forget_keys(
    p_keys mnemo._record_key[],
    p_strategy text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_counts mnemo._forget_counts := mnemo._forget_batches(
        p_keys, p_strategy,
        CASE p_strategy WHEN 'archive' THEN 'memory_update' WHEN 'redact' THEN 'memory_redact'
            ELSE 'memory_delete' END,
        p_actor_org_id, p_actor_agent_id);
BEGIN
    IF mnemo._erases(p_strategy) THEN
        -- What is not folded in yet holds the terms of those that came and went.
        PERFORM mnemo._compact_terms(o.org_id)
           FROM (SELECT DISTINCT u.org_id FROM unnest(p_keys) AS u(org_id, id)) AS o;
    END IF;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_keys(mnemo._record_key[], text, text, text) IS
    'Forgets records whose rows the caller has locked, at the word of an agent; where it erases, '
    'the statistics of terms are folded in too.';
