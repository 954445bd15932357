CREATE FUNCTION mnemo._new_id() RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_micros bigint := date_part('epoch', clock_timestamp()) * 1000000;
BEGIN
    -- Version 7 of RFC 9562 with its optional 12 bits of sub-millisecond time, so that ids made
    -- one after another sort by time. One text for all servers: only PostgreSQL 18 has uuidv7().
    RETURN (
        lpad(to_hex((v_micros / 1000) << 16 | 28672 | (v_micros % 1000) * 4096 / 1000), 16, '0')
        || substr(gen_random_uuid()::text, 20)
    )::uuid;
END
$fn$;
COMMENT ON FUNCTION mnemo._new_id() IS 'A new UUID of version 7 (RFC 9562): sorts by time.';

CREATE FUNCTION mnemo._utf8(
    p_text text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- convert_to() is not immutable; the database is UTF-8 by rule, so the bytes are there already.
RETURN replace(p_text, E'\\', E'\\\\')::bytea;
COMMENT ON FUNCTION mnemo._utf8(text) IS 'The UTF-8 bytes of a text.';

CREATE FUNCTION mnemo._hash64(
    p_text text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substring(sha256(mnemo._utf8(p_text)) FROM 1 FOR 8), 'hex'))
    ::bit(64)::bigint;
COMMENT ON FUNCTION mnemo._hash64(text) IS
    'The first 64 bits of SHA-256 over the UTF-8 bytes, big-endian, as a signed number: the same on '
    'every server, unlike hashtext. NULL for NULL.';

CREATE FUNCTION mnemo._micros(
    p_time timestamptz
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Through timestamp without time zone: only there is extract() immutable.
RETURN (extract(epoch FROM p_time AT TIME ZONE 'UTC') * 1000000)::bigint;
COMMENT ON FUNCTION mnemo._micros(timestamptz) IS
    'Microseconds since 1970-01-01 00:00:00 UTC; independent of TimeZone and DateStyle.';

CREATE FUNCTION mnemo._shown(
    p_value text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    quote_literal(left(p_value, 100)) || CASE WHEN length(p_value) > 100 THEN '...' ELSE '' END,
    'NULL'
);
COMMENT ON FUNCTION mnemo._shown(text) IS
    'A value as error messages show it: quoted, at most 100 characters; NULL as the word.';

CREATE FUNCTION mnemo._length_problem(
    p_parameter text,
    p_value text,
    p_longest integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF length(p_value) > p_longest THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s characters, at most %s are allowed',
                p_parameter, length(p_value), p_longest),
            'shorten it');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._length_problem(text, text, integer) IS
    'The problem of a text of more than p_longest characters; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._list_problem(
    p_parameter text,
    p_list text[],
    p_most integer,
    p_longest integer,
    p_what text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_limit mnemo._problem;
    v_item text;
    v_place integer := 0;
BEGIN
    IF p_list IS NULL OR cardinality(p_list) = 0 THEN
        RETURN NULL;
    END IF;
    IF array_ndims(p_list) > 1 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must be a list of one dimension',
            'pass one flat array');
    END IF;
    -- Not by subscript: the first one need not be 1.
    FOREACH v_item IN ARRAY p_list LOOP
        v_place := v_place + 1;
        IF v_item IS NULL THEN
            RETURN mnemo._argument(p_parameter,
                format('%s has a NULL at position %s', p_parameter, v_place),
                'leave the element out or give it a value');
        ELSIF p_longest IS NOT NULL AND mnemo._is_blank(v_item) THEN
            RETURN mnemo._argument(p_parameter,
                format('%s[%s] must not be blank', p_parameter, v_place),
                'leave the element out or give it a value');
        ELSIF length(v_item) > p_longest THEN
            v_limit := mnemo._limit(p_parameter,
                format('%s[%s] has %s characters, at most %s are allowed',
                    p_parameter, v_place, length(v_item), p_longest),
                'shorten it');
        END IF;
    END LOOP;
    IF cardinality(p_list) > p_most THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s %s, at most %s are allowed',
                p_parameter, cardinality(p_list), p_what, p_most),
            'keep the list shorter');
    END IF;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._list_problem(text, text[], integer, integer, text) IS
    'The problem of a list: NULL elements, several dimensions, more than p_most elements, or, '
    'where p_longest is given, a blank element or one of more characters. A NULL list has none.';

CREATE FUNCTION mnemo._label_list_problem(
    p_parameter text,
    p_set text,
    p_list text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._list_problem(p_parameter, p_list, 10000, NULL, 'labels');
    v_item text;
BEGIN
    IF p_list IS NULL OR v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    END IF;
    FOREACH v_item IN ARRAY p_list LOOP
        IF NOT mnemo._is_label(p_set, v_item) THEN
            RETURN mnemo._label_problem(p_parameter, p_set, v_item);
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._label_list_problem(text, text, text[]) IS
    'The problem of a list with an element that is no label of the closed set; NULL for none.';

CREATE FUNCTION mnemo._texts_problem(
    p_parameters text[],
    p_values text[],
    p_longest integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_value text;
    v_limit mnemo._problem;
    v_position integer := 0;
BEGIN
    FOREACH v_value IN ARRAY p_values LOOP
        v_position := v_position + 1;
        CONTINUE WHEN v_value IS NULL;
        IF mnemo._is_blank(v_value) THEN
            RETURN mnemo._argument(
                p_parameters[v_position],
                p_parameters[v_position] || ' must not be blank',
                'leave it out or give it a value'
            );
        END IF;
        IF length(v_value) > p_longest AND v_limit.code IS NULL THEN
            v_limit := mnemo._length_problem(p_parameters[v_position], v_value, p_longest);
        END IF;
    END LOOP;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._texts_problem(text[], text[], integer) IS
    'The problem of the first of several optional texts that is blank or over p_longest '
    'characters; p_parameters names them. A NULL text has none.';

CREATE FUNCTION mnemo._fraction_problem(
    p_parameter text,
    p_value double precision
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN NOT coalesce(p_value BETWEEN 0 AND 1, true) THEN mnemo._argument(
    p_parameter,
    p_parameter || ' must be a number from 0 to 1; got ' || p_value::text,
    'scale the value into [0, 1]'
) END;
COMMENT ON FUNCTION mnemo._fraction_problem(text, double precision) IS
    'The problem of an optional number outside [0, 1], NaN included. NULL has none.';

CREATE FUNCTION mnemo._ttl_problem(
    p_ttl interval
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_ttl <= interval '0' THEN mnemo._argument(
        'p_ttl', 'p_ttl must be longer than zero', 'leave it out for a record that does not expire')
    WHEN p_ttl > interval '1000 years' THEN mnemo._argument(
        'p_ttl', 'p_ttl must be at most 1000 years',
        'leave it out for a record that does not expire')
END;
COMMENT ON FUNCTION mnemo._ttl_problem(interval) IS
    'The problem of a time to live that is not positive or over 1000 years. NULL has none.';

CREATE FUNCTION mnemo._time_problem(
    p_parameter text,
    p_time timestamptz
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Microseconds since 1970 must fit 64 bits, and infinity is no time of a fact.
    IF p_time >= timestamptz '10000-01-01 00:00:00+00' OR NOT isfinite(p_time) THEN
        RETURN mnemo._argument(p_parameter,
            p_parameter || ' must be a finite time before the year 10000',
            'leave it out where there is no such time');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._time_problem(text, timestamptz) IS
    'The problem of a time that is infinite or too far away; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._depth_problem(
    p_parameter text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_value @? '$.**{101}' THEN
        RETURN mnemo._limit(p_parameter,
            p_parameter || ' is nested deeper than 100 levels, at most 100 are allowed',
            'flatten it, or store it as text');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._depth_problem(text, jsonb) IS
    'The problem of JSON nested deeper than 100 levels; NULL for none.';
