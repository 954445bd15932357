-- Sealing: events get their place and hash after they were committed, so that writers never wait
-- for each other. The row of chain_head is the lock of a chain; who does not get it goes on.

CREATE FUNCTION mnemo._lock_chain(
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo.chain_head
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.chain_head;
BEGIN
    SELECT h.* INTO v_head
      FROM mnemo.chain_head AS h
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
       FOR NO KEY UPDATE SKIP LOCKED;
    IF v_head.org_id IS NOT NULL OR EXISTS (
        SELECT FROM mnemo.chain_head AS h WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
    ) THEN
        RETURN v_head;
    END IF;
    -- Two that make the same row would wait for each other; the key, not this lock, keeps it one.
    IF NOT pg_try_advisory_xact_lock(mnemo._hash64(
        'mnemo_pg chain ' || p_org_id || ' ' || p_agent_id))
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO mnemo.chain_head AS h (org_id, agent_id, seq, hash, sealed_at)
    VALUES (p_org_id, p_agent_id, 0, mnemo._first_prev_hash(), now())
    ON CONFLICT (org_id, agent_id) DO NOTHING
    RETURNING h.* INTO v_head;
    RETURN v_head;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_chain(text, text) IS
    'Locks the head of a chain and returns it, made if there is none; NULL at once while another '
    'session has it.';

CREATE FUNCTION mnemo._seal_chain(
    p_org_id text,
    p_agent_id text,
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- Statistics from before a rush of writes would have the table read from end to end.
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_head mnemo.chain_head := mnemo._lock_chain(p_org_id, p_agent_id);
    v_event record;
    v_ids uuid[] := '{}';
    v_hashes bytea[] := '{}';
    v_hash bytea := v_head.hash;
    v_seq bigint := v_head.seq;
BEGIN
    IF v_head.org_id IS NULL THEN
        RETURN 0;
    END IF;
    -- A statement of its own: it sees what the sealer before has sealed.
    FOR v_event IN
        SELECT e.id, mnemo._event_body(e) AS body
          FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NULL
         ORDER BY e.id
         LIMIT p_limit
    LOOP
        v_seq := v_seq + 1;
        v_hash := mnemo._link_hash(v_hash, v_seq, v_event.body);
        v_ids := v_ids || v_event.id;
        v_hashes := v_hashes || v_hash;
    END LOOP;
    IF v_seq > v_head.seq THEN
        UPDATE mnemo.event AS e
           SET seq = v_head.seq + s.place, prev_hash = s.prev_hash, hash = s.hash
          FROM (
            SELECT u.id, u.hash, u.place,
                   lag(u.hash, 1, v_head.hash) OVER (ORDER BY u.place) AS prev_hash
              FROM unnest(v_ids, v_hashes) WITH ORDINALITY AS u(id, hash, place)
          ) AS s
         WHERE e.org_id = p_org_id AND e.id = s.id;
        UPDATE mnemo.chain_head AS h
           SET seq = v_seq, hash = v_hash, sealed_at = now()
         WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    END IF;
    RETURN v_seq - v_head.seq;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_chain(text, text, bigint) IS
    'Seals at most p_limit events of a chain (NULL: all), in the order of their ids, and returns '
    'how many: 0 too while another session seals it. In READ COMMITTED only.';

CREATE FUNCTION mnemo._seals_here() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted');
COMMENT ON FUNCTION mnemo._seals_here() IS
    'Whether this transaction may seal: one that keeps its first snapshot could miss an event that '
    'comes before one of its own.';

CREATE FUNCTION mnemo._first_id_at(
    p_time timestamptz
)
RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (lpad(to_hex(mnemo._micros(p_time) / 1000), 12, '0') || repeat('0', 20))::uuid;
COMMENT ON FUNCTION mnemo._first_id_at(timestamptz) IS
    'A number before every id of version 7 made at that time or later, to the millisecond.';

CREATE FUNCTION mnemo._seal_if_many(
    p_org_id text,
    p_agent_id text,
    p_written bigint
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    -- At most this many are sealed by one call, four times as many as are written between calls.
    v_many CONSTANT bigint := 1024;
BEGIN
    IF random() * 256 >= p_written OR NOT mnemo._seals_here() THEN
        RETURN;
    END IF;
    -- No further back than the last sealing: behind it are the index entries of sealed events.
    IF EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NULL
           AND e.id >= coalesce((
                SELECT mnemo._first_id_at(h.sealed_at - interval '1 minute')
                  FROM mnemo.chain_head AS h
                 WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
               ), '00000000-0000-0000-0000-000000000000')
        OFFSET v_many - 1
    ) THEN
        PERFORM mnemo._seal_chain(p_org_id, p_agent_id, v_many);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_if_many(text, text, bigint) IS
    'Called by a write after p_written events of a chain: about once in 256 events it looks '
    'whether 1024 or more are not sealed, and if so seals 1024, unless another session is at it.';

CREATE FUNCTION mnemo._seal_owners(
    p_org_ids text[],
    p_agent_ids text[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_owner record;
BEGIN
    FOR v_owner IN
        SELECT o.org_id, o.agent_id, count(*) AS events
          FROM unnest(p_org_ids, p_agent_ids) AS o(org_id, agent_id)
         GROUP BY o.org_id, o.agent_id
         ORDER BY o.org_id, o.agent_id
    LOOP
        PERFORM mnemo._seal_if_many(v_owner.org_id, v_owner.agent_id, v_owner.events);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_owners(text[], text[]) IS
    'As _seal_if_many, after a write of one event for each element, organisation and agent of its '
    'chain.';
