-- What a retrieval plan may hold. A plan comes from applications and from language models: each
-- field is checked before anything is made of it.

CREATE FUNCTION mnemo._retrieval_fields()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
    "plan_id": "", "turn_id": null, "generation": null, "requires_memory": null, "confidence": 1,
    "intent": "none", "entities": [], "topics": [], "predicates": [], "lexical_queries": [],
    "scopes": [], "kind_filter": [], "subject_hint": "", "predicate_hint": "", "temporal": null,
    "source_transcript_hash": "", "warnings": []
}'::jsonb;
COMMENT ON FUNCTION mnemo._retrieval_fields() IS
    'The fields of a retrieval plan with what a missing one is checked as: null where it is '
    'required or follows from others.';

CREATE FUNCTION mnemo._retrieval_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'plan_id', 'turn_id', 'generation', 'requires_memory', 'confidence', 'intent', 'entities',
    'topics', 'predicates', 'lexical_queries', 'scopes', 'kind_filter', 'subject_hint',
    'predicate_hint', 'temporal', 'source_transcript_hash', 'warnings'
];
COMMENT ON FUNCTION mnemo._retrieval_names() IS 'The names of the fields of a retrieval plan.';

CREATE FUNCTION mnemo._instant(
    p_text text
)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_time timestamptz;
BEGIN
    IF mnemo._is_time(p_text) THEN
        v_time := p_text::timestamptz;
        IF v_time >= timestamptz '0001-01-01 00:00:00+00'
            AND v_time < timestamptz '10000-01-01 00:00:00+00'
        THEN
            RETURN v_time;
        END IF;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._instant(text) IS
    'A time in ISO 8601 with its offset, years 1 to 9999 in UTC; NULL for any other text. The '
    'same in every session.';

CREATE FUNCTION mnemo._instant_text(
    p_time timestamptz
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Through timestamp without time zone: only there is the text the same in every session.
RETURN to_char(p_time AT TIME ZONE 'UTC',
    CASE WHEN mnemo._micros(p_time) % 1000000 = 0 THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"'
        ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END);
COMMENT ON FUNCTION mnemo._instant_text(timestamptz) IS
    'A time as 2026-01-31T09:00:00Z, with six decimals of a second unless they are zero.';

CREATE FUNCTION mnemo._plan_leaves(
    p_plan jsonb
)
RETURNS TABLE (place bigint, path text, value jsonb, expected text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50
BEGIN ATOMIC
    WITH field AS (
        SELECT f.place, f.name, '$.' || f.name AS path, p_plan -> f.name AS value, f.expected,
               f.part
          FROM (VALUES
            (1, 'plan_id', 'text', NULL),
            (2, 'turn_id', 'integer', NULL),
            (3, 'generation', 'integer', NULL),
            (4, 'requires_memory', 'boolean?', NULL),
            (5, 'confidence', 'number', NULL),
            (6, 'intent', 'retrieval_intent', NULL),
            (7, 'entities', 'array', 'object'),
            (8, 'topics', 'array', 'query'),
            (9, 'predicates', 'array', 'text'),
            (10, 'lexical_queries', 'array', 'query'),
            (11, 'scopes', 'array', 'kind'),
            (12, 'kind_filter', 'array', 'kind'),
            (13, 'subject_hint', 'text', NULL),
            (14, 'predicate_hint', 'text', NULL),
            (15, 'temporal', 'object?', NULL),
            (16, 'source_transcript_hash', 'text', NULL),
            (17, 'warnings', 'array', 'query')
          ) AS f(place, name, expected, part)
    ), element AS (
        SELECT f.place, e.place AS number, f.path || '[' || e.place - 1 || ']' AS path, e.value,
               f.part AS expected
          FROM field AS f
          CROSS JOIN LATERAL jsonb_array_elements(
                CASE WHEN jsonb_typeof(f.value) = 'array' THEN f.value ELSE '[]' END
               ) WITH ORDINALITY AS e(value, place)
         WHERE f.expected = 'array'
    )
    SELECT row_number() OVER (ORDER BY l.field, l.number, l.part) AS place,
           l.path, l.value, l.expected
      FROM (
        SELECT f.place AS field, 0::bigint AS number, 0 AS part, f.path, f.value, f.expected
          FROM field AS f
        UNION ALL
        SELECT e.place AS field, e.number, 0 AS part, e.path, e.value, e.expected
          FROM element AS e
        UNION ALL
        SELECT e.place AS field, e.number, k.part, e.path || '.' || k.name AS path,
               e.value -> k.name AS value, k.expected
          FROM element AS e
          CROSS JOIN (VALUES (1, 'surface', 'text'), (2, 'canonical', 'text?'))
            AS k(part, name, expected)
         WHERE e.expected = 'object' AND jsonb_typeof(e.value) = 'object'
        UNION ALL
        SELECT f.place AS field, 0::bigint AS number, k.part, f.path || '.' || k.name AS path,
               f.value -> k.name AS value, k.expected
          FROM field AS f
          CROSS JOIN (VALUES (1, 'after', 'time?'), (2, 'before', 'time?'), (3, 'label', 'text?'))
            AS k(part, name, expected)
         WHERE f.name = 'temporal' AND jsonb_typeof(f.value) = 'object'
      ) AS l;
END;
COMMENT ON FUNCTION mnemo._plan_leaves(jsonb) IS
    'Every value of a retrieval plan that has a type of its own, with its JSON path, in the order '
    'of the fields. expected: a type of mnemo._leaf_problem; with ? the value may be missing.';
