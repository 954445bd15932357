CREATE FUNCTION mnemo._claim_keys(
    p_records mnemo.memory[],
    p_keys text[],
    p_places bigint[],
    p_on_error text
)
RETURNS TABLE (number bigint, id uuid, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_claim record;
    v_first mnemo.memory;
    v_problem mnemo._problem := mnemo._argument('p_idempotency_key',
        'p_idempotency_key was used for a plan', 'use another key');
    v_last text;
    v_pending mnemo.memory[];
BEGIN
    -- Callers with the same keys in any order claim them in one order.
    FOR v_claim IN
        SELECT c.key, c.number
          FROM unnest(p_keys) WITH ORDINALITY AS c(key, number)
         WHERE c.key IS NOT NULL
         ORDER BY c.key COLLATE "C", c.number
    LOOP
        number := v_claim.number;
        id := NULL;
        error := NULL;
        IF v_claim.key IS DISTINCT FROM v_last THEN
            v_pending := ARRAY[p_records[number]];
        END IF;
        v_first := mnemo._first_record(p_records[number], v_claim.key, v_pending);
        v_last := v_claim.key;
        IF v_first.tags @> ARRAY[mnemo._reserved_tag()] THEN
            IF p_on_error = 'abort' THEN
                PERFORM mnemo._raise_placed(v_problem, p_places[number]);
            END IF;
            status := 'failed';
            error := v_problem.code || ': ' || v_problem.message;
            RETURN NEXT;
        ELSIF v_first.id <> p_records[number].id THEN
            id := v_first.id;
            status := 'repeated';
            RETURN NEXT;
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._claim_keys(mnemo.memory[], text[], bigint[], text) IS
    'Claims the idempotency keys of records of one owner that are about to be written. A row for '
    'each that is not to be written, by its number: repeated with the id that has the key, or '
    'failed where that is a plan (with p_on_error abort an error).';

CREATE FUNCTION mnemo.remember_many(
    p_records jsonb,
    p_on_error text DEFAULT 'abort',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE ("position" bigint, id uuid, stored boolean, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_base mnemo.memory;
    v_element record;
    v_read record;
    v_records mnemo.memory[] := '{}';
    v_places bigint[] := '{}';
    v_keys text[] := '{}';
    v_ids uuid[] := '{}';
    v_statuses text[] := '{}';
    v_errors text[] := '{}';
    v_claim record;
    v_free mnemo.memory[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._batch_problem('p_records', p_records, p_on_error));
    v_base := mnemo._new_record('private', v_caller.org_id, v_caller.agent_id, NULL);
    v_base.memory_type := 'episodic';
    v_base.source_type := 'agent';
    FOR v_element IN
        SELECT e.value, e.place
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(value, place)
    LOOP
        v_read := mnemo._record_of(v_element.value, v_base, v_caller.level);
        IF (v_read.problem).code IS NULL THEN
            v_records := array_append(v_records, v_read.record);
            v_places := array_append(v_places, v_element.place);
            v_keys := array_append(v_keys, v_element.value ->> 'idempotency_key');
            v_ids := array_append(v_ids, (v_read.record).id);
            v_statuses := array_append(v_statuses,
                CASE WHEN (v_read.record).quarantined THEN 'quarantined' ELSE 'stored' END);
            v_errors := array_append(v_errors, NULL);
        ELSIF p_on_error = 'abort' THEN
            PERFORM mnemo._raise_placed(v_read.problem, v_element.place);
        ELSE
            v_ids := array_append(v_ids, NULL);
            v_statuses := array_append(v_statuses, 'failed');
            v_errors := array_append(v_errors,
                (v_read.problem).code || ': ' || (v_read.problem).message);
        END IF;
    END LOOP;
    v_free := v_records;
    IF array_remove(v_keys, NULL) <> '{}' THEN
        FOR v_claim IN
            SELECT c.* FROM mnemo._claim_keys(v_records, v_keys, v_places, p_on_error) AS c
        LOOP
            v_ids[v_places[v_claim.number]] := v_claim.id;
            v_statuses[v_places[v_claim.number]] := v_claim.status;
            v_errors[v_places[v_claim.number]] := v_claim.error;
        END LOOP;
        v_free := '{}';
        FOR v_number IN 1..cardinality(v_records) LOOP
            IF v_statuses[v_places[v_number]] IN ('stored', 'quarantined') THEN
                v_free := array_append(v_free, v_records[v_number]);
            END IF;
        END LOOP;
    END IF;
    IF cardinality(v_free) > 0 THEN
        PERFORM mnemo._write_memories(v_free, 'memory_write');
        PERFORM mnemo._store_embeddings(array_agg(e.value ->> 'embedding'),
                   array_agg(e.value ->> 'model'), array_agg(r.org_id), array_agg(r.id))
           FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(value, place)
           JOIN unnest(v_free) AS r ON r.id = v_ids[e.place]
          WHERE e.value ->> 'embedding' IS NOT NULL
         HAVING count(*) > 0;
    END IF;
    RETURN QUERY
    SELECT a.place, a.id, a.status <> 'failed', a.status, a.error
      FROM unnest(v_ids, v_statuses, v_errors) WITH ORDINALITY AS a(id, status, error, place)
     ORDER BY a.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_many(jsonb, text, text, text) IS
    'Writes up to 10,000 memories of the acting agent in one call: an array of objects whose keys '
    'are the parameters of mnemo.remember without p_, times in ISO 8601 with their zone. One row an '
    'element, position from 1, status stored, quarantined, repeated or failed. p_on_error abort: '
    'the first bad element raises its error and nothing is written; skip: bad elements are '
    'reported with status failed and the error as SQLSTATE: message, the others are stored. '
    'Errors: those of mnemo.remember; 22023 no array, unknown key; 54000 over 10,000.';
