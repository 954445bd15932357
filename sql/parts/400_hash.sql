-- The encoding of docs/hash-format.md: a letter for the type, lengths as 64-bit big-endian numbers,
-- nothing that depends on a session or a server.

CREATE FUNCTION mnemo._bytes_of_text(
    p_text text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_text IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x54'::bytea || int8send(octet_length(p_text)) || mnemo._utf8(p_text) END;
COMMENT ON FUNCTION mnemo._bytes_of_text(text) IS 'T, length, UTF-8 bytes; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_list(
    p_list text[]
)
RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item text;
    v_bytes bytea := E'\\x4c'::bytea || int8send(cardinality(p_list));
BEGIN
    FOREACH v_item IN ARRAY p_list LOOP
        v_bytes := v_bytes || mnemo._bytes_of_text(v_item);
    END LOOP;
    RETURN v_bytes;
END
$fn$;
COMMENT ON FUNCTION mnemo._bytes_of_list(text[]) IS
    'L, number of elements, each as a text; for lists of at most some hundred elements.';

CREATE FUNCTION mnemo._bytes_of_time(
    p_time timestamptz
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_time IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x49'::bytea || int8send(mnemo._micros(p_time)) END;
COMMENT ON FUNCTION mnemo._bytes_of_time(timestamptz) IS
    'I, microseconds since 1970-01-01 UTC as 64 bits; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_float(
    p_number double precision
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Adding zero turns the negative zero into the positive one.
RETURN CASE WHEN p_number IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x46'::bytea || float8send(p_number + 0.0::double precision) END;
COMMENT ON FUNCTION mnemo._bytes_of_float(double precision) IS
    'F, the IEEE 754 double, big-endian; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_scalar(
    p_value jsonb
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(p_value)
    WHEN 'string' THEN
        E'\\x73'::bytea || int8send(octet_length(p_value #>> '{}')) || mnemo._utf8(p_value #>> '{}')
    WHEN 'number' THEN
        E'\\x64'::bytea || int8send(octet_length(trim_scale((p_value #>> '{}')::numeric)::text))
        || mnemo._utf8(trim_scale((p_value #>> '{}')::numeric)::text)
    WHEN 'null' THEN E'\\x6e'::bytea
    WHEN 'boolean' THEN CASE WHEN p_value = 'true' THEN E'\\x74'::bytea ELSE E'\\x66'::bytea END
    WHEN 'array' THEN CASE WHEN p_value = '[]' THEN E'\\x610000000000000000'::bytea END
    WHEN 'object' THEN CASE WHEN p_value = '{}' THEN E'\\x6f0000000000000000'::bytea END
END;
COMMENT ON FUNCTION mnemo._bytes_of_scalar(jsonb) IS
    's and length and UTF-8 bytes for a string, d and length and plain decimal digits without '
    'trailing zeros for a number, n, t, f; empty arrays and objects too; NULL for others.';

CREATE FUNCTION mnemo._bytes_of_json(
    p_value jsonb
)
RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    CASE jsonb_typeof(p_value)
    WHEN 'object' THEN
        RETURN E'\\x6f'::bytea || (
            SELECT int8send(count(*)) || coalesce(string_agg(
                       int8send(octet_length(e.key)) || mnemo._utf8(e.key)
                       || coalesce(
                           mnemo._bytes_of_scalar(e.value),
                           -- Lists of scalars, most of a plan, are done here without a call, in
                           -- the order in which the function gives them.
                           CASE WHEN jsonb_typeof(e.value) = 'array'
                                 AND NOT e.value @?
                                     'strict $[*] ? (@.type() == "object" || @.type() == "array")'
                           THEN E'\\x61'::bytea || (
                               SELECT int8send(count(*)) || coalesce(string_agg(
                                          mnemo._bytes_of_scalar(i.value), ''::bytea), '')
                                 FROM jsonb_array_elements(e.value) AS i(value)
                           ) ELSE mnemo._bytes_of_json(e.value) END),
                       ''::bytea ORDER BY e.key COLLATE "C"), '')
              FROM jsonb_each(p_value) AS e
        );
    WHEN 'array' THEN
        RETURN E'\\x61'::bytea || (
            SELECT int8send(count(*)) || coalesce(string_agg(
                       coalesce(mnemo._bytes_of_scalar(e.value), mnemo._bytes_of_json(e.value)),
                       ''::bytea ORDER BY e.place), '')
              FROM jsonb_array_elements(p_value) WITH ORDINALITY AS e(value, place)
        );
    ELSE
        RETURN mnemo._bytes_of_scalar(p_value);
    END CASE;
END
$fn$;
COMMENT ON FUNCTION mnemo._bytes_of_json(jsonb) IS
    'o, number of keys, then length and bytes of each key and its value in byte order of the keys; '
    'a, number of elements, each element; scalars as _bytes_of_scalar.';

CREATE FUNCTION mnemo._content_hash(
    p_record mnemo.memory
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(
    mnemo._bytes_of_text('mnemo_pg memory 1')
    || E'\\x42'::bytea || int8send(octet_length((p_record).nonce)) || (p_record).nonce
    || E'\\x55'::bytea || uuid_send((p_record).id)
    || mnemo._bytes_of_text((p_record).org_id)
    || mnemo._bytes_of_text((p_record).origin_org_id)
    || mnemo._bytes_of_text((p_record).agent_id)
    || mnemo._bytes_of_text((p_record).memory_type)
    || mnemo._bytes_of_text((p_record).content)
    || mnemo._bytes_of_list((p_record).tags)
    || E'\\x4a'::bytea || coalesce(
        mnemo._bytes_of_scalar((p_record).metadata), mnemo._bytes_of_json((p_record).metadata))
    || mnemo._bytes_of_text((p_record).source_type)
    || mnemo._bytes_of_text((p_record).source_id)
    || mnemo._bytes_of_text((p_record).thread_id)
    || mnemo._bytes_of_text((p_record).created_by)
    || mnemo._bytes_of_text((p_record).kind)
    || mnemo._bytes_of_text((p_record).subject)
    || mnemo._bytes_of_text((p_record).predicate)
    || mnemo._bytes_of_list((p_record).entities)
    || mnemo._bytes_of_list((p_record).aliases)
    || mnemo._bytes_of_text((p_record).location)
    || mnemo._bytes_of_float((p_record).confidence)
    || mnemo._bytes_of_time((p_record).valid_from)
    || mnemo._bytes_of_text((p_record).temporal_scope)
    || mnemo._bytes_of_time((p_record).created_at)
);
COMMENT ON FUNCTION mnemo._content_hash(mnemo.memory) IS
    'SHA-256 (FIPS 180-4) over what identifies the record, as docs/hash-format.md gives it byte by '
    'byte. Not in it: what may change later (scope, importance, state, quarantine, expiry, '
    'deletion, status, valid_to), which events bind, and the counters. NULL without a nonce.';
