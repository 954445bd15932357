CREATE FUNCTION mnemo._stable_hash(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_bytes bytea := mnemo._utf8(p_text);
    -- The halves of the offset cbf29ce484222325: a product of 64 bits would overflow a bigint. The
    -- prime is 2^40 + 435, so a multiplication is a shift and a small product.
    v_high bigint := 3421674724;
    v_low bigint := 2216829733;
BEGIN
    FOR v_place IN 0 .. octet_length(v_bytes) - 1 LOOP
        v_low := v_low # get_byte(v_bytes, v_place);
        v_high := (v_high * 435 + (v_low << 8) + (v_low * 435 >> 32)) & 4294967295;
        v_low := v_low * 435 & 4294967295;
    END LOOP;
    RETURN lpad(to_hex(v_high), 8, '0') || lpad(to_hex(v_low), 8, '0');
END
$fn$;
COMMENT ON FUNCTION mnemo._stable_hash(text) IS
    'As stable_hash, without its limit. The text must not be NULL.';

CREATE FUNCTION mnemo.stable_hash(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_text IS NULL THEN
        RETURN NULL;
    ELSIF octet_length(p_text) > 1048576 THEN
        PERFORM mnemo._raise_limit('p_text',
            format('p_text has %s bytes, at most 1048576 are allowed', octet_length(p_text)),
            'hash the part that matters');
    END IF;
    RETURN mnemo._stable_hash(p_text);
END
$fn$;
COMMENT ON FUNCTION mnemo.stable_hash(text) IS
    'The 64-bit FNV-1a hash of the UTF-8 bytes of a text, as 16 hexadecimal digits in lower case: '
    'the same everywhere, short, and not safe against somebody who looks for two texts with one '
    'hash. NULL gives NULL. Raises 54000 above 1,048,576 bytes. Source: Fowler, Noll and Vo, '
    'draft-eastlake-fnv.';
