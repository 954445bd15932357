-- The hash of an event, byte by byte in docs/hash-format.md.

CREATE FUNCTION mnemo._first_prev_hash() RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN decode(repeat('00', 32), 'hex');
COMMENT ON FUNCTION mnemo._first_prev_hash() IS
    'prev_hash of the first event of a chain: 32 bytes of zero.';

CREATE FUNCTION mnemo._event_body(
    p_event mnemo.event
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\x55'::bytea || uuid_send((p_event).id)
    || mnemo._bytes_of_text((p_event).org_id)
    || mnemo._bytes_of_text((p_event).agent_id)
    || mnemo._bytes_of_text((p_event).event_type)
    || mnemo._bytes_of_text((p_event).memory_org_id)
    || coalesce(E'\\x55'::bytea || uuid_send((p_event).memory_id), E'\\x4e'::bytea)
    || mnemo._bytes_of_text((p_event).actor_org_id)
    || mnemo._bytes_of_text((p_event).actor_agent_id)
    || mnemo._bytes_of_time((p_event).happened_at)
    || coalesce(E'\\x42'::bytea || int8send(octet_length((p_event).content_hash))
        || (p_event).content_hash, E'\\x4e'::bytea)
    || E'\\x4a'::bytea || mnemo._bytes_of_json((p_event).changes)
    || coalesce(E'\\x42'::bytea || int8send(octet_length((p_event).note_hash))
        || (p_event).note_hash, E'\\x4e'::bytea);
COMMENT ON FUNCTION mnemo._event_body(mnemo.event) IS
    'The part of an event''s encoding that is known before it is sealed: every column but seq, '
    'prev_hash and hash.';

CREATE FUNCTION mnemo._link_hash(
    p_prev_hash bytea,
    p_seq bigint,
    p_body bytea
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(
    -- T, 16, mnemo_pg event 1; B, 32.
    E'\\x5400000000000000106d6e656d6f5f7067206576656e742031420000000000000020'::bytea
    || p_prev_hash || E'\\x49'::bytea || int8send(p_seq) || p_body
);
COMMENT ON FUNCTION mnemo._link_hash(bytea, bigint, bytea) IS
    'The hash of an event: SHA-256 over name and version of the format, the hash of the event '
    'before, the place in the chain, and the body.';
