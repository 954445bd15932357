-- Most plans that are executed are in normal form already: mnemo.plan_retrieval and a client made
-- them. To see that costs a quarter of making it again. Whatever is not seen at a glance is not
-- taken for normal: texts other than ASCII, quotes, backslashes, control characters, long plans.

CREATE FUNCTION mnemo._is_neat(
    p_text text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_text <> '' AND btrim(p_text, ' ') = p_text AND length(p_text) <= 256;
COMMENT ON FUNCTION mnemo._is_neat(text) IS
    'Whether a text of printable ASCII is trimmed, not empty, and of at most 256 characters.';

CREATE FUNCTION mnemo._are_different(
    p_texts text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN cardinality(tsvector_to_array(array_to_tsvector(p_texts))) = cardinality(p_texts);
COMMENT ON FUNCTION mnemo._are_different(text[]) IS
    'Whether texts, none of them empty or of more than 2047 bytes, are all different.';

CREATE FUNCTION mnemo._are_different_objects(
    p_list jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_texts text[] := string_to_array(lower(btrim(p_list::text, '[{}]') COLLATE "C"), '}, {');
BEGIN
    RETURN CASE WHEN cardinality(v_texts) = jsonb_array_length(p_list) THEN
        mnemo._are_different(v_texts) ELSE false END;
END
$fn$;
COMMENT ON FUNCTION mnemo._are_different_objects(jsonb) IS
    'Whether the objects of a list, none of them empty or nested, are all different ignoring the '
    'case of ASCII; false where braces inside of them make that hard to see.';

CREATE FUNCTION mnemo._are_neat(
    p_list jsonb,
    p_most integer
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_list text := p_list::text;
    -- The elements hold no quote, so this is where each of them ends.
    v_texts text[] := string_to_array(
        lower(substr(v_list, 3, greatest(length(v_list) - 4, 0)) COLLATE "C"), '", "');
    v_joined text := '|' || array_to_string(v_texts, '|') || '|';
BEGIN
    RETURN CASE
        WHEN v_list = '[]' THEN true
        WHEN cardinality(v_texts) > p_most OR strpos(v_joined, '| ') > 0
            OR strpos(v_joined, ' |') > 0 OR strpos(v_joined, '||') > 0
            OR strpos(v_joined, '  ') > 0 THEN false
        WHEN cardinality(v_texts) = 1 THEN true
        ELSE mnemo._are_different(v_texts)
    END;
END
$fn$;
COMMENT ON FUNCTION mnemo._are_neat(jsonb, integer) IS
    'Whether the texts of a list are at most p_most, trimmed, not blank, with single spaces inside, '
    'and different ignoring case. For texts of ASCII characters that JSON does not escape.';

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
    IF (octet_length(v_text) <= 2000 AND octet_length(v_text) = char_length(v_text)
        AND strpos(v_text, E'\\') = 0
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
            && $.topics.type() == "array" && !exists($.topics[*] ? (@.type() != "string"))
            && $.lexical_queries.type() == "array"
            && !exists($.lexical_queries[*] ? (@.type() != "string"))
            && $.predicates.type() == "array" && !exists($.predicates[*] ? (@.type() != "string"))
            && $.warnings.type() == "array" && $.warnings.size() == 0
            && $.entities.type() == "array" && $.entities.size() <= 5
            && !exists($.entities[*] ? ((@.surface.type() == "string") is unknown
                || @.surface.type() != "string" || (@.canonical == null) is unknown
                || @.canonical.type() != "string" && @.canonical != null
                || @.surface == "" || @.surface starts with " "
                || @.canonical == "" || @.canonical starts with " "))
            && !exists($.entities[*].keyvalue() ? (@.key != "surface" && @.key != "canonical"))'
    ) IS NOT TRUE THEN
        RETURN false;
    END IF;
    RETURN p_plan - mnemo._retrieval_names() = '{}'
        AND mnemo._is_label('retrieval_intent', p_plan ->> 'intent')
        AND mnemo._are_kinds(p_plan -> 'scopes') AND mnemo._are_kinds(p_plan -> 'kind_filter')
        -- Whole numbers as such, and a fraction of few digits without a zero at the end.
        AND strpos((p_plan ->> 'turn_id') || (p_plan ->> 'generation'), '.') = 0
        AND length(p_plan ->> 'confidence') <= 17
        AND trim_scale((p_plan ->> 'confidence')::numeric)::text = p_plan ->> 'confidence'
        AND mnemo._is_neat(p_plan ->> 'plan_id')
        AND mnemo._is_neat(p_plan ->> 'source_transcript_hash')
        AND coalesce(mnemo._is_neat(p_plan ->> 'subject_hint'), true)
        AND coalesce(p_plan ->> 'predicate_hint' <> ''
            AND mnemo._canonical_predicate(p_plan ->> 'predicate_hint')
                = p_plan ->> 'predicate_hint', true)
        AND length(p_plan ->> 'predicate_hint') <= 256 IS NOT FALSE
        AND mnemo._are_neat(p_plan -> 'topics', 8)
        AND mnemo._are_neat(p_plan -> 'lexical_queries', 3)
        -- All queries together have no more words than one may have.
        AND length(p_plan ->> 'lexical_queries')
            - length(replace(p_plan ->> 'lexical_queries', ' ', '')) <= 15
        AND mnemo._are_neat(p_plan -> 'scopes', 5)
        AND mnemo._are_neat(p_plan -> 'kind_filter', 11)
        AND mnemo._are_neat(p_plan -> 'predicates', 5)
        AND length(p_plan ->> 'predicates') <= 256
        AND (p_plan ->> 'predicates') COLLATE "C"
            ~ '^[[](("[a-z0-9]+(_[a-z0-9]+)*")(, "[a-z0-9]+(_[a-z0-9]+)*")*)?[]]$'
        AND length(p_plan ->> 'entities') <= 256
        AND (jsonb_array_length(p_plan -> 'entities') < 2
            OR mnemo._are_different_objects(p_plan -> 'entities'))
        AND (p_plan -> 'temporal' = 'null' OR mnemo._is_normal_window(p_plan -> 'temporal'));
END
$fn$;
COMMENT ON FUNCTION mnemo._is_normal_plan(jsonb) IS
    'Whether a retrieval plan is in normal form, as far as can be seen at a glance: true for sure; '
    'NULL or false for what has to be looked at.';
