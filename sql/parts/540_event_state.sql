-- What events say about a record: the columns that may change, as labels, numbers and microseconds.

CREATE FUNCTION mnemo._event_micros(
    p_time timestamptz
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_time >= timestamptz '294247-01-01 00:00:00+00' THEN 9223372036854775807
    WHEN p_time = timestamptz '-infinity' THEN (-9223372036854775808)::bigint
    ELSE mnemo._micros(p_time)
END;
COMMENT ON FUNCTION mnemo._event_micros(timestamptz) IS
    'Microseconds since 1970 as _micros; the ends of the range for infinite times, which no '
    'function writes and a verifier may meet.';

CREATE FUNCTION mnemo._reason_hash(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(
    sha256(coalesce((p_record).nonce, '') || mnemo._utf8((p_record).quarantine_reason)), 'hex');
COMMENT ON FUNCTION mnemo._reason_hash(mnemo.memory) IS
    'Hexadecimal SHA-256 over the nonce and quarantine_reason: what events carry of that text; '
    'NULL for none.';

CREATE FUNCTION mnemo._remains_hash(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Its own nonce, if it has one: there must be none.
    p_record.nonce := coalesce(p_record.nonce, '');
    RETURN encode(mnemo._content_hash(p_record), 'hex');
END
$fn$;
COMMENT ON FUNCTION mnemo._remains_hash(mnemo.memory) IS
    'Hexadecimal SHA-256 over what redaction left of a record: the encoding of content_hash with a '
    'nonce of no bytes.';

CREATE FUNCTION mnemo._bound_state(
    p_record mnemo.memory
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'scope', (p_record).scope,
    'importance', (p_record).importance,
    'consolidation_state', (p_record).consolidation_state,
    'quarantined', (p_record).quarantined,
    'quarantine_reason', CASE WHEN (p_record).quarantine_reason IS NOT NULL
        THEN mnemo._reason_hash(p_record) END,
    'status', (p_record).status,
    'version', (p_record).version,
    'prev_version_id', (p_record).prev_version_id,
    'expires_at', mnemo._event_micros((p_record).expires_at),
    'deleted_at', mnemo._event_micros((p_record).deleted_at),
    'redacted_at', mnemo._event_micros((p_record).redacted_at),
    'valid_to', mnemo._event_micros((p_record).valid_to),
    'remains', CASE WHEN (p_record).redacted_at IS NOT NULL
        THEN mnemo._remains_hash(p_record) END
);
COMMENT ON FUNCTION mnemo._bound_state(mnemo.memory) IS
    'All columns of a record that may change, as events carry them. The caller has set '
    'extra_float_digits to 1.';

CREATE FUNCTION mnemo._bound_changes(
    p_before mnemo.memory,
    p_after mnemo.memory
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_before jsonb := mnemo._bound_state(p_before);
BEGIN
    RETURN coalesce((
        SELECT jsonb_object_agg(s.key, s.value)
          FROM jsonb_each(mnemo._bound_state(p_after)) AS s
         WHERE s.value <> v_before -> s.key
    ), '{}');
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_changes(mnemo.memory, mnemo.memory) IS
    'What an event about the change from one state of a record to the other carries in changes.';

CREATE FUNCTION mnemo._note_hash(
    p_salt bytea,
    p_note text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(p_salt || mnemo._utf8(p_note));
COMMENT ON FUNCTION mnemo._note_hash(bytea, text) IS
    'SHA-256 over the salt and the UTF-8 bytes of a note: note_hash of its event.';

CREATE FUNCTION mnemo._next_event_id(
    p_memory_org_id text,
    p_memory_id uuid
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_new uuid := mnemo._new_id();
    v_last uuid;
    v_half text;
BEGIN
    SELECT e.id INTO v_last
      FROM mnemo.event AS e
     WHERE e.memory_org_id = p_memory_org_id AND e.memory_id = p_memory_id
     ORDER BY e.id DESC
     LIMIT 1;
    IF v_last IS NULL OR v_last < v_new THEN
        RETURN v_new;
    END IF;
    -- The clock went back, or stood still: the next number after the last event.
    v_half := right(replace(v_last::text, '-', ''), 14);
    RETURN (left(replace(v_last::text, '-', ''), 18)
        || lpad(to_hex((('x' || v_half)::bit(56)::bigint + 1) & x'ffffffffffffff'::bigint), 14, '0')
    )::uuid;
END
$fn$;
COMMENT ON FUNCTION mnemo._next_event_id(text, uuid) IS
    'The id of a new event about a record whose row the caller has locked: after the ids of the '
    'events about it so far, whatever the clock does, for sealing takes events in the order of '
    'ids.';
