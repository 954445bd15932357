CREATE FUNCTION mnemo._leaf_problem(
    p_path text,
    p_value jsonb,
    p_expected text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type text := coalesce(jsonb_typeof(p_value), 'null');
    v_text text := p_value #>> '{}';
    v_kind text := rtrim(p_expected, '?');
BEGIN
    IF v_type = 'null' AND v_kind <> p_expected THEN
        RETURN NULL;
    ELSIF v_type <> (CASE
        WHEN v_kind IN ('number', 'boolean', 'array', 'object') THEN v_kind
        WHEN v_kind = 'integer' THEN 'number'
        ELSE 'string' END)
    THEN
        RETURN mnemo._argument(p_path,
            format('%s must be %s; got %s', p_path,
                CASE v_kind
                    WHEN 'integer' THEN 'an integer from 0 to 9223372036854775807'
                    WHEN 'number' THEN 'a number'
                    WHEN 'boolean' THEN 'true or false'
                    WHEN 'array' THEN 'an array'
                    WHEN 'object' THEN 'an object'
                    WHEN 'time' THEN 'a time in ISO 8601 with its offset from UTC, as a string'
                    ELSE 'a string' END,
                CASE WHEN v_type IN ('null', 'array', 'object') THEN v_type
                    ELSE v_type || ' ' || mnemo._shown(p_value::text) END),
            CASE WHEN p_path IN ('$.turn_id', '$.generation')
                THEN 'number the turns of a conversation and the plans of a turn from 0'
                ELSE 'leave the field out for its default' END);
    ELSIF v_kind = 'integer' THEN
        IF v_text::numeric NOT BETWEEN 0 AND 9223372036854775807 OR v_text::numeric % 1 <> 0 THEN
            RETURN mnemo._argument(p_path,
                format('%s must be an integer from 0 to 9223372036854775807; got %s', p_path,
                    left(v_text, 100)),
                'number the turns of a conversation and the plans of a turn from 0');
        END IF;
    ELSIF v_kind IN ('kind', 'retrieval_intent') THEN
        RETURN mnemo._label_problem(p_path, v_kind, v_text);
    ELSIF v_kind = 'time' AND mnemo._instant(v_text) IS NULL THEN
        RETURN mnemo._argument(p_path,
            format('%s must be a time in ISO 8601 with its offset from UTC; got %s', p_path,
                mnemo._shown(v_text)),
            'such as 2026-01-31T09:00:00Z or 2026-01-31T09:00:00+05:30');
    ELSIF v_kind = 'text' THEN
        RETURN mnemo._length_problem(p_path, v_text, 256);
    ELSIF v_kind = 'query' THEN
        RETURN mnemo._length_problem(p_path, v_text, 100000);
    ELSIF v_kind = 'array' AND jsonb_array_length(p_value) > 10000 THEN
        RETURN mnemo._limit(p_path,
            format('%s has %s elements, at most 10000 are allowed', p_path,
                jsonb_array_length(p_value)),
            'send the first ones');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._leaf_problem(text, jsonb, text) IS
    'The problem of a value of a retrieval plan that is not what is expected there: integer, '
    'number, boolean, array, object, time, text (256 characters), query (100,000), or a label of '
    'the closed set named; with ? it may be missing. NULL for none. The parameter of the problem '
    'is the path.';

CREATE FUNCTION mnemo._retrieval_problem(
    p_plan jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_leaf record;
    v_problem mnemo._problem;
    v_limit mnemo._problem;
BEGIN
    FOR v_leaf IN SELECT l.* FROM mnemo._plan_leaves(p_plan) AS l ORDER BY l.place LOOP
        v_problem := mnemo._leaf_problem(v_leaf.path, v_leaf.value, v_leaf.expected);
        IF v_problem.code = '22023' THEN
            RETURN v_problem;
        ELSIF v_limit.code IS NULL THEN
            v_limit := v_problem;
        END IF;
    END LOOP;
    IF mnemo._instant(p_plan #>> '{temporal,after}')
        >= mnemo._instant(p_plan #>> '{temporal,before}')
    THEN
        RETURN mnemo._argument('$.temporal.before',
            '$.temporal.before must be later than $.temporal.after',
            'the window holds after, and ends before before');
    END IF;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieval_problem(jsonb) IS
    'The first problem of a retrieval plan, an object with every field there, by the order of its '
    'fields, limits last; NULL for none. The parameter of the problem is the JSON path.';

CREATE FUNCTION mnemo._are_kinds(
    p_list jsonb
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_typeof(p_list) = 'array' AND p_list <@ array_to_json(mnemo._labels('kind'))::jsonb;
COMMENT ON FUNCTION mnemo._are_kinds(jsonb) IS 'Whether this is an array of nothing but kinds.';

CREATE FUNCTION mnemo._is_window(
    p_temporal jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after timestamptz := mnemo._instant(p_temporal ->> 'after');
    v_before timestamptz := mnemo._instant(p_temporal ->> 'before');
BEGIN
    RETURN jsonb_typeof(p_temporal) = 'object'
        AND NOT p_temporal @? 'lax $.* ? (@.type() != "string")'
        AND (v_after IS NOT NULL OR NOT p_temporal ? 'after')
        AND (v_before IS NOT NULL OR NOT p_temporal ? 'before')
        AND coalesce(v_after < v_before, true)
        AND coalesce(length(p_temporal ->> 'label') <= 256, true);
END
$fn$;
COMMENT ON FUNCTION mnemo._is_window(jsonb) IS
    'Whether this is a time window of a retrieval plan without fault, and no other type in it.';

CREATE FUNCTION mnemo._are_short(
    p_plan jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT max(length(s.value #>> '{}')) <= 256
          FROM jsonb_path_query(jsonb_build_array(p_plan -> 'predicates', p_plan -> 'entities'),
            'lax $[*][*].** ? (@.type() == "string")') AS s(value)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._are_short(jsonb) IS
    'Whether every predicate and every form of an entity of a retrieval plan has at most 256 '
    'characters.';

CREATE FUNCTION mnemo._plan_is_plain(
    p_plan jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- What nearly all plans are, in few looks at the whole. Others are looked at value by value.
    RETURN p_plan @@ 'strict
            $.turn_id >= 0 && $.turn_id <= 9223372036854775807 && $.turn_id % 1 == 0
            && $.generation >= 0 && $.generation <= 9223372036854775807 && $.generation % 1 == 0
            && ($.requires_memory.type() == "boolean" || $.requires_memory == null)
            && $.confidence.type() == "number" && $.intent.type() == "string"
            && $.plan_id.type() == "string" && $.source_transcript_hash.type() == "string"
            && $.subject_hint.type() == "string" && $.predicate_hint.type() == "string"
            && $.topics.type() == "array" && !exists($.topics[*] ? (@.type() != "string"))
            && $.lexical_queries.type() == "array"
            && !exists($.lexical_queries[*] ? (@.type() != "string"))
            && $.predicates.type() == "array" && !exists($.predicates[*] ? (@.type() != "string"))
            && $.warnings.type() == "array" && !exists($.warnings[*] ? (@.type() != "string"))
            && $.entities.type() == "array"
            && !exists($.entities[*] ? ((@.surface.type() == "string") is unknown
                || @.surface.type() != "string" || @.canonical.type() != "string"))'
        AND mnemo._is_label('retrieval_intent', p_plan ->> 'intent')
        AND mnemo._are_kinds(p_plan -> 'scopes') AND mnemo._are_kinds(p_plan -> 'kind_filter')
        AND (p_plan -> 'temporal' = 'null' OR mnemo._is_window(p_plan -> 'temporal'))
        AND greatest(length(p_plan ->> 'plan_id'), length(p_plan ->> 'source_transcript_hash'),
            length(p_plan ->> 'subject_hint'), length(p_plan ->> 'predicate_hint')) <= 256
        AND (length(p_plan ->> 'predicates') <= 256 AND length(p_plan ->> 'entities') <= 256
            OR mnemo._are_short(p_plan))
        -- Too short for a topic that is too long, or a list.
        AND length(p_plan::text) <= 20000;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_is_plain(jsonb) IS
    'Whether a retrieval plan, an object with every field there, has no problem for sure: false '
    'or NULL says that mnemo._retrieval_problem has to look.';
