-- What forget_where and forget_subject look for.

CREATE TYPE mnemo._forget_criteria AS (
    tags text[],
    types text[],
    thread text,
    source text,
    source_types text[],
    before timestamptz,
    subject text
);
COMMENT ON TYPE mnemo._forget_criteria IS
    'What a record must meet to be forgotten; a NULL lets all pass. subject: a data subject, '
    'normalised.';

CREATE FUNCTION mnemo._data_subject(
    p_subject text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._lower(mnemo._squeeze(p_subject));
COMMENT ON FUNCTION mnemo._data_subject(text) IS
    'A name as subjects are stored: lower case, single spaces.';

CREATE FUNCTION mnemo._names_subject(
    p_record_subject text,
    p_entities text[],
    p_tags text[],
    p_subject text
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN coalesce(p_record_subject = p_subject, false)
        OR (p_entities <> '{}' AND EXISTS (
            SELECT FROM unnest(p_entities) AS e(name)
             WHERE mnemo._data_subject(e.name) = p_subject))
        OR (p_tags <> '{}' AND EXISTS (
            SELECT FROM unnest(p_tags) AS t(tag)
             WHERE mnemo._data_subject(t.tag) = 'subject:' || p_subject));
END
$fn$;
COMMENT ON FUNCTION mnemo._names_subject(text, text[], text[], text) IS
    'Whether a record''s subject, an entity, or a tag subject:name is this data subject (normalised), '
    'case and spaces aside.';

CREATE FUNCTION mnemo._meets(
    p_record mnemo.memory,
    p_criteria mnemo._forget_criteria,
    p_strategy text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_strategy = 'hard_delete' OR (p_record).redacted_at IS NULL)
    AND ((p_criteria).tags IS NULL OR (p_record).tags && (p_criteria).tags)
    AND ((p_criteria).types IS NULL OR (p_record).memory_type = ANY ((p_criteria).types))
    AND ((p_criteria).thread IS NULL OR (p_record).thread_id = (p_criteria).thread)
    AND ((p_criteria).source IS NULL OR (p_record).source_id = (p_criteria).source)
    AND ((p_criteria).source_types IS NULL
        OR (p_record).source_type = ANY ((p_criteria).source_types))
    AND ((p_criteria).before IS NULL OR (p_record).created_at < (p_criteria).before)
    AND ((p_criteria).subject IS NULL
        OR mnemo._names_subject((p_record).subject, (p_record).entities, (p_record).tags,
            (p_criteria).subject));
COMMENT ON FUNCTION mnemo._meets(mnemo.memory, mnemo._forget_criteria, text) IS
    'Whether a record meets all criteria and the strategy has something to do to it.';

CREATE FUNCTION mnemo._criteria_time(
    p_text text
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
AS $fn$
BEGIN
    IF p_text COLLATE "C" ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
        '([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?$'
    THEN
        RETURN p_text::timestamptz;
    END IF;
    RETURN NULL;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format
    OR invalid_time_zone_displacement_value THEN
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria_time(text) IS
    'A time in ISO 8601, with its zone, or a date, which begins in UTC; NULL for any other text.';

CREATE FUNCTION mnemo._criterion_problem(
    p_key text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_list text[];
    v_problem mnemo._problem;
BEGIN
    IF p_key IN ('thread', 'source', 'before') THEN
        IF jsonb_typeof(p_value) <> 'string' OR mnemo._is_blank(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_criteria',
                format('p_criteria: %s must be a text that is not blank', p_key),
                'leave the criterion out or give it a value');
        ELSIF p_key = 'before' AND mnemo._criteria_time(p_value #>> '{}') IS NULL THEN
            RETURN mnemo._argument('p_criteria',
                'p_criteria: before must be a time with its zone; got '
                    || mnemo._shown(p_value #>> '{}'),
                'write it as 2026-01-31T12:00:00Z, or a date, which begins in UTC');
        END IF;
        RETURN mnemo._length_problem('p_criteria', p_value #>> '{}', 256);
    ELSIF p_key NOT IN ('tags', 'types', 'source_types') THEN
        RETURN mnemo._argument('p_criteria',
            'p_criteria: there is no criterion ' || mnemo._shown(p_key),
            'tags, types, thread, source, source_types or before');
    ELSIF jsonb_typeof(p_value) <> 'array' OR p_value = '[]'
        OR p_value @? 'strict $[*] ? (@.type() != "string")'
    THEN
        RETURN mnemo._argument('p_criteria',
            format('p_criteria: %s must be an array of texts with at least one', p_key),
            'leave the criterion out or give it a value');
    END IF;
    v_list := mnemo._text_list(p_value);
    v_problem := CASE p_key
        WHEN 'tags' THEN mnemo._list_problem('p_criteria', v_list, 100, 256, 'tags')
        WHEN 'types' THEN mnemo._label_list_problem('p_criteria', 'memory_type', v_list)
        ELSE mnemo._label_list_problem('p_criteria', 'source_type', v_list) END;
    RETURN v_problem;
END
$fn$;
COMMENT ON FUNCTION mnemo._criterion_problem(text, jsonb) IS
    'The problem of one criterion of forget_where; NULL for none.';

CREATE FUNCTION mnemo._criteria_problem(
    p_criteria jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_criteria) IS DISTINCT FROM 'object' OR p_criteria = '{}' THEN
        RETURN mnemo._argument('p_criteria',
            'p_criteria must be a JSON object with at least one criterion; got '
                || mnemo._shown(p_criteria::text),
            'tags, types, thread, source, source_types or before');
    END IF;
    RETURN mnemo._first_problem(ARRAY(
        SELECT mnemo._criterion_problem(c.key, c.value) FROM jsonb_each(p_criteria) AS c
    ));
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria_problem(jsonb) IS
    'The first problem of the criteria of forget_where: no object, none, unknown, bad value; NULL '
    'for none.';

CREATE FUNCTION mnemo._criteria(
    p_criteria jsonb
)
RETURNS mnemo._forget_criteria
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ROW(
        CASE WHEN p_criteria ? 'tags' THEN mnemo._text_list(p_criteria -> 'tags') END,
        CASE WHEN p_criteria ? 'types' THEN mnemo._text_list(p_criteria -> 'types') END,
        p_criteria ->> 'thread',
        p_criteria ->> 'source',
        CASE WHEN p_criteria ? 'source_types'
            THEN mnemo._text_list(p_criteria -> 'source_types') END,
        mnemo._criteria_time(p_criteria ->> 'before'),
        NULL
    )::mnemo._forget_criteria;
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria(jsonb) IS 'Criteria that have no problem, with their types.';
