-- Records as JSON objects: elements of mnemo.remember_many, changes of mnemo.update_memory.

CREATE FUNCTION mnemo._is_time(
    p_text text
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_year integer;
BEGIN
    -- Checked beforehand, because a failed cast could only be caught in a subtransaction.
    IF coalesce(p_text COLLATE "C" !~ (
        '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[T ]([01][0-9]|2[0-3]):[0-5][0-9]'
        '(:[0-5][0-9]([.][0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)$'), true)
    THEN
        RETURN false;
    END IF;
    v_year := left(p_text, 4)::integer;
    RETURN v_year > 0 AND substr(p_text, 9, 2)::integer <= CASE
        WHEN substr(p_text, 6, 2) IN ('04', '06', '09', '11') THEN 30
        WHEN substr(p_text, 6, 2) <> '02' THEN 31
        WHEN v_year % 4 = 0 AND (v_year % 100 <> 0 OR v_year % 400 = 0) THEN 29
        ELSE 28
    END;
END
$fn$;
COMMENT ON FUNCTION mnemo._is_time(text) IS
    'Whether a text is a time in ISO 8601 with its zone, such as 2026-01-31T09:00:00Z or '
    '2026-01-31 09:00+05:30, which every session reads alike. False for NULL.';

CREATE FUNCTION mnemo._value_problem(
    p_key text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type text := jsonb_typeof(p_value);
BEGIN
    IF v_type = 'null' OR p_key = 'metadata' OR p_key = 'embedding' AND v_type = 'array' THEN
        RETURN NULL;
    ELSIF p_key IN ('tags', 'entities', 'aliases') THEN
        IF v_type <> 'array'
            OR p_value @? 'strict $[*] ? (@.type() != "string" && @.type() != "null")'
        THEN
            RETURN mnemo._argument('p_' || p_key, p_key || ' must be an array of strings',
                'quote the elements');
        END IF;
    ELSIF p_key IN ('importance', 'confidence') THEN
        IF v_type <> 'number' THEN
            RETURN mnemo._argument('p_' || p_key, p_key || ' must be a number; got ' || v_type,
                'JSON has no NaN and no infinity');
        ELSIF abs((p_value #>> '{}')::numeric) NOT BETWEEN 1e-300 AND 1e300
            AND (p_value #>> '{}')::numeric <> 0
        THEN
            RETURN mnemo._argument('p_' || p_key,
                p_key || ' is outside the range of double precision', 'use 0 to 1');
        END IF;
    ELSIF v_type <> 'string' THEN
        RETURN mnemo._argument('p_' || p_key, p_key || ' must be a string; got ' || v_type,
            'quote the value');
    ELSIF p_key = 'ttl' THEN
        IF NOT mnemo._is_interval(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_ttl', 'ttl must be an interval as text; got '
                || mnemo._shown(p_value::text), 'such as "30 days", "PT1H30M" or "12:00:00"');
        END IF;
    ELSIF p_key IN ('valid_from', 'valid_to') THEN
        IF NOT mnemo._is_time(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_' || p_key,
                p_key || ' must be a time in ISO 8601 with its zone; got '
                    || mnemo._shown(p_value::text),
                'such as "2026-01-31T09:00:00Z"');
        END IF;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._value_problem(text, jsonb) IS
    'The problem of a JSON value that is not of the type of the parameter of mnemo.remember with '
    'this name; NULL, for null too, for none.';

CREATE FUNCTION mnemo._object_problem(
    p_parameter text,
    p_object jsonb,
    p_keys text[],
    p_hint text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_value jsonb;
    v_problem mnemo._problem;
BEGIN
    IF jsonb_typeof(p_object) IS DISTINCT FROM 'object' THEN
        RETURN mnemo._argument(p_parameter,
            CASE p_parameter WHEN 'p_records' THEN 'an element' ELSE p_parameter END
                || ' must be a JSON object; got ' || coalesce(jsonb_typeof(p_object), 'NULL'),
            p_hint);
    END IF;
    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(p_object) AS e LOOP
        IF v_key <> ALL (p_keys) THEN
            RETURN mnemo._argument(p_parameter,
                CASE p_parameter WHEN 'p_records' THEN '' ELSE p_parameter || ': ' END
                    || 'unknown key ' || mnemo._shown(v_key),
                p_hint);
        END IF;
        v_problem := mnemo._value_problem(v_key, v_value);
        IF v_problem.code IS NOT NULL THEN
            RETURN v_problem;
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._object_problem(text, jsonb, text[], text) IS
    'The problem of a record as JSON: no object, a key that is not among p_keys, a value of the '
    'wrong type; NULL for none.';

CREATE FUNCTION mnemo._record_keys() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'content', 'scope', 'memory_type', 'importance', 'tags', 'metadata', 'source_type', 'source_id',
    'thread_id', 'created_by', 'ttl', 'kind', 'subject', 'predicate', 'entities', 'aliases',
    'location', 'confidence', 'status', 'valid_from', 'valid_to', 'temporal_scope', 'embedding',
    'model', 'idempotency_key'
];
COMMENT ON FUNCTION mnemo._record_keys() IS
    'The keys of an element of mnemo.remember_many: the parameters of mnemo.remember without p_.';

CREATE FUNCTION mnemo._record_of(
    p_element jsonb,
    p_base mnemo.memory,
    p_level text,
    OUT record mnemo.memory,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_element jsonb := p_element;
    v_ttl interval;
BEGIN
    problem := coalesce(
        -- Access before the form of the element.
        CASE WHEN p_level = 'tenant' THEN
            nullif(mnemo._scope_problem(p_level, p_element ->> 'scope'),
                mnemo._scope_problem('admin', p_element ->> 'scope'))
        END,
        mnemo._object_problem('p_records', p_element, mnemo._record_keys(),
            'keys are the parameters of mnemo.remember without p_')
    );
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    IF v_element @? '$.* ? (@ == null)' THEN
        -- As with NULL, the default holds.
        SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO v_element
          FROM jsonb_each(v_element) AS e
         WHERE e.value <> 'null';
    END IF;
    record := jsonb_populate_record(p_base, v_element);
    record.id := mnemo._new_id();
    record.nonce := uuid_send(gen_random_uuid());
    IF record.scope = 'global' THEN
        record.org_id := '*';
    END IF;
    v_ttl := coalesce((v_element ->> 'ttl')::interval, mnemo._default_ttl(record.memory_type));
    problem := mnemo._first_problem(ARRAY[
        mnemo._scope_problem(p_level, record.scope),
        mnemo._embedding_problem(v_element ->> 'embedding', v_element ->> 'model'),
        mnemo._ttl_problem(v_ttl),
        mnemo._texts_problem(
            ARRAY['p_idempotency_key'], ARRAY[v_element ->> 'idempotency_key'], 256),
        mnemo._memory_problem(record)
    ]);
    IF problem.code IS NULL THEN
        record.expires_at := now() + v_ttl;
        record := mnemo._screen(mnemo._normalised(record));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_of(jsonb, mnemo.memory, text) IS
    'An element of mnemo.remember_many as the record to write, screened, or its problem. p_base: a '
    'record of the owner with every default set.';

CREATE FUNCTION mnemo._batch_problem(
    p_parameter text,
    p_elements jsonb,
    p_on_error text,
    p_of text DEFAULT 'objects'
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_elements) IS DISTINCT FROM 'array' THEN
        RETURN mnemo._argument(p_parameter,
            p_parameter || ' must be a JSON array; got '
                || coalesce(jsonb_typeof(p_elements), 'NULL'),
            'pass an array of ' || p_of);
    ELSIF NOT mnemo._is_label('on_error', p_on_error) THEN
        RETURN mnemo._label_problem('p_on_error', 'on_error', p_on_error);
    ELSIF jsonb_array_length(p_elements) > 10000 THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s elements, at most 10000 are allowed', p_parameter,
                jsonb_array_length(p_elements)),
            'split the batch');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._batch_problem(text, jsonb, text, text) IS
    'The problem of a batch: no array, an unknown p_on_error, over 10,000 elements; NULL for none. '
    'p_of: what the array is of, in words.';
