-- Most plans that are executed are in normal form already: mnemo.plan_retrieval and a client made
-- them. To see that costs a part of making it again. Whatever is not seen at a glance is not taken
-- for normal: texts other than ASCII, quotes, backslashes, control characters, long plans.

CREATE FUNCTION mnemo._are_different(
    p_list jsonb,
    p_between text
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_list text := p_list::text;
    v_parts text[] := string_to_array(
        lower(substr(v_list, 3, length(v_list) - 4) COLLATE "C"), p_between);
BEGIN
    RETURN cardinality(v_parts) = jsonb_array_length(p_list)
        AND cardinality(tsvector_to_array(array_to_tsvector(v_parts))) = cardinality(v_parts);
END
$fn$;
COMMENT ON FUNCTION mnemo._are_different(jsonb, text) IS
    'Whether the two or more elements of a list are all different, ignoring the case of ASCII: '
    'texts, none of them empty, with p_between ", " and its quotes, or objects with }, { between '
    'them. False where what is between them is in them, too.';

CREATE FUNCTION mnemo._is_normal_window(
    p_temporal jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN jsonb_typeof(p_temporal) = 'object' AND p_temporal ?& '{after,before,label}'
        AND mnemo._is_window(jsonb_strip_nulls(p_temporal))
        AND mnemo._plan_window(p_temporal) = p_temporal;
END
$fn$;
COMMENT ON FUNCTION mnemo._is_normal_window(jsonb) IS
    'Whether this is a time window as plans in normal form have it. NULL or false for all else.';

CREATE FUNCTION mnemo._is_normal_plan(
    p_plan jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_text text := p_plan::text;
BEGIN
    -- No text is empty, begins or ends with a space, or has two of them: a quote that opens or
    -- closes a text has other neighbours.
    IF (octet_length(v_text) <= 2000 AND octet_length(v_text) = char_length(v_text)
        AND strpos(v_text, E'\\') = 0 AND strpos(v_text, '""') = 0 AND strpos(v_text, '  ') = 0
        AND strpos(v_text, '" ') = 0 AND strpos(v_text, ' ",') = 0 AND strpos(v_text, ' "]') = 0
        AND strpos(v_text, ' "}') = 0
        AND p_plan @@ 'strict
            $.turn_id >= 0 && $.turn_id <= 9223372036854775807 && $.turn_id % 1 == 0
            && $.generation >= 0 && $.generation <= 9223372036854775807 && $.generation % 1 == 0
            && $.confidence >= 0 && $.confidence <= 1 && $.intent.type() == "string"
            && ($.requires_memory == false && $.intent == "none"
                || $.requires_memory.type() == "boolean"
                    && ($.lexical_queries.size() > 0 || $.entities.size() > 0))
            && $.plan_id.type() == "string" && $.source_transcript_hash.type() == "string"
            && ($.subject_hint == null || $.subject_hint.type() == "string")
            && ($.predicate_hint == null || $.predicate_hint.type() == "string")
            && $.topics.type() == "array" && $.topics.size() <= 8
            && !exists($.topics[*] ? (@.type() != "string"))
            && $.lexical_queries.type() == "array" && $.lexical_queries.size() <= 3
            && !exists($.lexical_queries[*] ? (@.type() != "string"))
            && $.predicates.type() == "array" && $.predicates.size() <= 5
            && !exists($.predicates[*] ? (@.type() != "string"))
            && $.warnings.type() == "array" && $.warnings.size() == 0 && $.scopes.size() <= 5
            && $.entities.type() == "array" && $.entities.size() <= 5
            && !exists($.entities[*] ? ((@.surface.type() == "string") is unknown
                || @.surface.type() != "string" || (@.canonical == null) is unknown
                || @.canonical.type() != "string" && @.canonical != null))
            && !exists($.entities[*].keyvalue() ? (@.key != "surface" && @.key != "canonical"))'
    ) IS NOT TRUE THEN
        RETURN false;
    END IF;
    RETURN p_plan - mnemo._retrieval_names() = '{}'
        AND mnemo._is_label('retrieval_intent', p_plan ->> 'intent')
        AND (p_plan -> 'scopes' = '[]' OR mnemo._are_kinds(p_plan -> 'scopes'))
        AND (p_plan -> 'kind_filter' = '[]' OR mnemo._are_kinds(p_plan -> 'kind_filter'))
        -- Whole numbers as such, and a fraction of few digits without a zero at the end.
        AND strpos((p_plan ->> 'turn_id') || (p_plan ->> 'generation'), '.') = 0
        AND length(p_plan ->> 'confidence') <= 17
        AND trim_scale((p_plan ->> 'confidence')::numeric)::text = p_plan ->> 'confidence'
        -- All queries together have no more words than one may have.
        AND length(p_plan ->> 'lexical_queries')
            - length(replace(p_plan ->> 'lexical_queries', ' ', '')) <= 15
        AND greatest(length(p_plan ->> 'plan_id'), length(p_plan ->> 'source_transcript_hash'),
            length(p_plan ->> 'subject_hint'), length(p_plan ->> 'predicate_hint'),
            length(p_plan ->> 'predicates'), length(p_plan ->> 'entities')) <= 256
        AND concat(p_plan ->> 'predicates', ', ', p_plan -> 'predicate_hint') COLLATE "C"
            ~ '^[[](("[a-z0-9]+(_[a-z0-9]+)*")(, "[a-z0-9]+(_[a-z0-9]+)*")*)?[]]'
                ', (null|"[a-z0-9]+(_[a-z0-9]+)*")$'
        AND (jsonb_array_length(p_plan -> 'topics') < 2
            OR mnemo._are_different(p_plan -> 'topics', '", "'))
        AND (jsonb_array_length(p_plan -> 'lexical_queries') < 2
            OR mnemo._are_different(p_plan -> 'lexical_queries', '", "'))
        AND (jsonb_array_length(p_plan -> 'predicates') < 2
            OR mnemo._are_different(p_plan -> 'predicates', '", "'))
        AND (jsonb_array_length(p_plan -> 'scopes') < 2
            OR mnemo._are_different(p_plan -> 'scopes', '", "'))
        AND (jsonb_array_length(p_plan -> 'kind_filter') < 2
            OR mnemo._are_different(p_plan -> 'kind_filter', '", "'))
        AND (jsonb_array_length(p_plan -> 'entities') < 2
            OR mnemo._are_different(p_plan -> 'entities', '}, {'))
        AND (p_plan -> 'temporal' = 'null' OR mnemo._is_normal_window(p_plan -> 'temporal'));
END
$fn$;
COMMENT ON FUNCTION mnemo._is_normal_plan(jsonb) IS
    'Whether a retrieval plan is in normal form, as far as can be seen at a glance: true for '
    'sure; NULL or false for what has to be looked at.';
