-- The lists of a retrieval plan in normal form. Each ends as soon as it is full, so that a list of
-- ten thousand costs little more than one of ten.

CREATE FUNCTION mnemo._caseless(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text COLLATE "C")
    ELSE mnemo._lower_wide(mnemo._pin(p_text))
END;
COMMENT ON FUNCTION mnemo._caseless(text) IS
    'What two texts have in common that differ in nothing but case or in how characters are '
    'composed.';

CREATE FUNCTION mnemo._plan_texts(
    p_list jsonb,
    p_form text,
    p_most integer
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item text;
    v_key text;
    v_keys text[] := '{}';
    v_items text[] := '{}';
BEGIN
    IF p_list = '[]' THEN
        RETURN p_list;
    END IF;
    FOR v_item IN SELECT e.value FROM jsonb_array_elements_text(p_list) AS e(value) LOOP
        v_item := CASE p_form
            WHEN 'topic' THEN mnemo._trim(v_item)
            WHEN 'query' THEN array_to_string(
                (string_to_array(mnemo._squeeze(v_item), ' '))[:16], ' ')
            WHEN 'predicate' THEN mnemo._canonical_predicate(v_item)
            ELSE v_item END;
        v_key := CASE WHEN p_form IN ('topic', 'query') THEN mnemo._caseless(v_item)
            ELSE v_item END;
        IF v_item <> '' AND v_key <> ALL (v_keys) THEN
            v_keys := v_keys || v_key;
            v_items := v_items || v_item;
            EXIT WHEN cardinality(v_items) = p_most;
        END IF;
    END LOOP;
    RETURN array_to_json(v_items);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_texts(jsonb, text, integer) IS
    'A list of a retrieval plan in the form topic (trimmed), query (its first 16 words with a '
    'space between), predicate (canonical) or label: without blanks, without duplicates ignoring '
    'case, the first p_most.';

CREATE FUNCTION mnemo._plan_entities(
    p_list jsonb,
    p_most integer
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item jsonb;
    v_surface text;
    v_canonical text;
    v_key text;
    v_keys text[] := '{}';
    v_items jsonb := '[]';
BEGIN
    IF p_list = '[]' THEN
        RETURN p_list;
    END IF;
    FOR v_item IN SELECT e.value FROM jsonb_array_elements(p_list) AS e(value) LOOP
        v_surface := v_item ->> 'surface';
        CONTINUE WHEN mnemo._is_blank(v_surface);
        v_canonical := CASE WHEN NOT mnemo._is_blank(v_item ->> 'canonical') THEN
            v_item ->> 'canonical' END;
        v_key := json_build_array(
            mnemo._caseless(v_surface), mnemo._caseless(v_canonical))::text;
        CONTINUE WHEN v_key = ANY (v_keys);
        v_keys := v_keys || v_key;
        v_items := v_items
            || jsonb_build_object('surface', v_surface, 'canonical', v_canonical);
        EXIT WHEN cardinality(v_keys) = p_most;
    END LOOP;
    RETURN v_items;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_entities(jsonb, integer) IS
    'The entities of a retrieval plan without those whose surface is blank, a blank canonical '
    'form as null, without duplicates ignoring case, the first p_most.';

CREATE FUNCTION mnemo._plan_window(
    p_temporal jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after text := mnemo._instant_text(mnemo._instant(p_temporal ->> 'after'));
    v_before text := mnemo._instant_text(mnemo._instant(p_temporal ->> 'before'));
    v_label text := nullif(mnemo._trim(p_temporal ->> 'label'), '');
BEGIN
    RETURN CASE WHEN coalesce(v_after, v_before, v_label) IS NOT NULL THEN
        jsonb_build_object('after', v_after, 'before', v_before, 'label', v_label) END;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_window(jsonb) IS
    'The time window of a retrieval plan with its times in UTC; NULL when it says nothing.';

CREATE FUNCTION mnemo._plan_confidence(
    p_confidence numeric
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    -- As a double, which is what it comes back as from any client. Less than any is zero.
    RETURN to_jsonb(CASE WHEN p_confidence < 5e-324 THEN 0 ELSE least(p_confidence, 1) END
        ::double precision);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_confidence(numeric) IS
    'The confidence of a retrieval plan, clamped to [0, 1].';

CREATE FUNCTION mnemo._unknown_fields(
    p_plan jsonb
)
RETURNS TABLE (place bigint, path text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT row_number() OVER (ORDER BY u.part, u.number, u.place) AS place,
           u.path || CASE
               WHEN u.name COLLATE "C" ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$' THEN '.' || u.name
               ELSE '.' || to_json(left(u.name, 100))::text END AS path
      FROM (
        SELECT 1 AS part, 0::bigint AS number, k.place, '$' AS path, k.name
          FROM jsonb_object_keys(p_plan) WITH ORDINALITY AS k(name, place)
         WHERE k.name <> ALL (mnemo._retrieval_names())
        UNION ALL
        SELECT 2 AS part, e.place AS number, k.place, '$.entities[' || e.place - 1 || ']' AS path,
               k.name
          FROM jsonb_path_query(p_plan, 'lax $.entities[*] ? (@ != null)')
               WITH ORDINALITY AS e(value, place)
          CROSS JOIN LATERAL jsonb_object_keys(e.value) WITH ORDINALITY AS k(name, place)
         WHERE k.name NOT IN ('surface', 'canonical')
        UNION ALL
        SELECT 3 AS part, 0::bigint AS number, k.place, '$.temporal' AS path, k.name
          FROM jsonb_path_query(p_plan, 'lax $.temporal ? (@ != null)') AS t(value)
          CROSS JOIN LATERAL jsonb_object_keys(t.value) WITH ORDINALITY AS k(name, place)
         WHERE k.name NOT IN ('after', 'before', 'label')
      ) AS u;
END;
COMMENT ON FUNCTION mnemo._unknown_fields(jsonb) IS
    'The JSON paths of what a retrieval plan holds beside its fields.';

CREATE FUNCTION mnemo._nameless_predicates(
    p_plan jsonb
)
RETURNS TABLE (place bigint, path text, name text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT g.place, g.path, mnemo._trim(g.name) AS name
      FROM (
        SELECT e.place, '$.predicates[' || e.place - 1 || ']' AS path, e.value #>> '{}' AS name
          FROM jsonb_path_query(p_plan, 'lax $.predicates[*]') WITH ORDINALITY AS e(value, place)
        UNION ALL
        SELECT 1000000 AS place, '$.predicate_hint' AS path, p_plan ->> 'predicate_hint' AS name
      ) AS g
     WHERE mnemo._canonical_predicate(g.name) = '' AND NOT mnemo._is_blank(g.name);
END;
COMMENT ON FUNCTION mnemo._nameless_predicates(jsonb) IS
    'The predicates and the predicate hint of a retrieval plan that have no ASCII letter or digit, '
    'of which nothing is left in canonical form: place and JSON path of each. Blank ones say '
    'nothing and are not among them.';

CREATE FUNCTION mnemo._plan_warnings(
    p_given jsonb,
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_warnings text[];
BEGIN
    IF p_given = '[]' AND p_plan - mnemo._retrieval_names() = '{}'
        AND NOT p_plan @? 'lax $.entities[*].keyvalue()
            ? (@.key != "surface" && @.key != "canonical")'
        AND NOT p_plan @? 'lax $.temporal ? (@ != null).keyvalue()
            ? (@.key != "after" && @.key != "before" && @.key != "label")'
        AND NOT p_plan @? 'lax $.predicates[*] ? (!(@ like_regex "[A-Za-z0-9]"))'
        AND NOT p_plan @? 'lax $.predicate_hint ? (!(@ like_regex "[A-Za-z0-9]"))'
    THEN
        RETURN p_given;
    END IF;
    SELECT coalesce(array_agg(w.warning ORDER BY w.place), '{}') INTO v_warnings
      FROM (
        SELECT c.warning, min(a.place) AS place
          FROM (
            SELECT g.warning, g.place
              FROM jsonb_array_elements_text(p_given) WITH ORDINALITY AS g(warning, place)
            UNION ALL
            SELECT 'unknown field ' || u.path || ' was dropped' AS warning,
                   1000000 + u.place AS place
              FROM mnemo._unknown_fields(p_plan) AS u
            UNION ALL
            SELECT d.path || ' has no ASCII letter or digit and was dropped: '
                   || to_json(left(d.name, 100))::text, 2000000 + d.place
              FROM mnemo._nameless_predicates(p_plan) AS d
          ) AS a
          -- Those about names too: escapes make a name of 100 characters longer than the rest.
          CROSS JOIN LATERAL (SELECT mnemo._trim(left(mnemo._trim(a.warning), 200)) AS warning) AS c
         WHERE c.warning <> ''
         GROUP BY c.warning
      ) AS w;
    IF cardinality(v_warnings) > 16 THEN
        v_warnings := v_warnings[:15]
            || format('%s more warnings were dropped', cardinality(v_warnings) - 15);
    END IF;
    RETURN array_to_json(v_warnings);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_warnings(jsonb, jsonb) IS
    'The warnings that a retrieval plan came with and those about its unknown fields and about '
    'predicates that canonical form leaves nothing of: at most 16, of at most 200 characters.';
