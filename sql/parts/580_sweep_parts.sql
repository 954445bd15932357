-- What a sweep does, piece by piece. Nothing here waits: rows that another session has are left for
-- the next sweep, so that it can run beside any writer.

CREATE FUNCTION mnemo._organisations() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One look-up an organisation, however many records it has.
    WITH RECURSIVE o AS (
        (SELECT m.org_id FROM mnemo.memory AS m ORDER BY m.org_id LIMIT 1)
        UNION ALL
        SELECT n.org_id
          FROM o
         CROSS JOIN LATERAL (
            SELECT m.org_id
              FROM mnemo.memory AS m
             WHERE m.org_id > o.org_id
             ORDER BY m.org_id
             LIMIT 1
         ) AS n
    )
    SELECT o.org_id FROM o;
END;
COMMENT ON FUNCTION mnemo._organisations() IS
    'The organisations that have records, * for those of scope global.';

CREATE FUNCTION mnemo._sweep_expired(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(r.org_id, r.id)::mnemo._record_key
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = o.org_id AND m.expires_at IS NOT NULL AND m.expires_at <= p_now
               AND m.deleted_at IS NULL
             ORDER BY m.expires_at
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED
          ) AS r
         LIMIT p_limit
    );
BEGIN
    PERFORM mnemo._forget_batches(v_keys, 'soft_delete', 'memory_expired');
    RETURN cardinality(v_keys);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_expired(bigint, timestamptz) IS
    'Deletes, softly, at most p_limit records that have expired; returns how many.';

CREATE FUNCTION mnemo._time_before(
    p_setting text,
    p_org_id text,
    p_now timestamptz
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after text := mnemo._setting(p_setting, p_org_id);
BEGIN
    IF v_after = 'never' THEN
        RETURN '-infinity';
    END IF;
    RETURN p_now - v_after::interval;
END
$fn$;
COMMENT ON FUNCTION mnemo._time_before(text, text, timestamptz) IS
    'What is older than this time is to go, by a setting of the organisation such as purge_after.';

CREATE FUNCTION mnemo._sweep_deleted(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(r.org_id, r.id)::mnemo._record_key
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = o.org_id AND m.deleted_at IS NOT NULL AND m.redacted_at IS NULL
               AND m.deleted_at <= mnemo._time_before('purge_after', o.org_id, p_now)
             ORDER BY m.deleted_at
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED
          ) AS r
         LIMIT p_limit
    );
BEGIN
    PERFORM mnemo._forget_batches(v_keys, 'hard_delete', 'memory_expired');
    RETURN cardinality(v_keys);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_deleted(bigint, timestamptz) IS
    'Removes for good at most p_limit records that were deleted longer ago than the setting '
    'purge_after says, and leaves a tombstone of each; redacted ones stay. Returns how many.';

CREATE FUNCTION mnemo._sweep_grants(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_record mnemo.memory;
    v_agents text[];
    v_removed bigint := 0;
BEGIN
    FOR v_record IN
        SELECT r.*
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.*
              FROM (
                SELECT DISTINCT a.memory_id
                  FROM (
                    SELECT a.memory_id
                      FROM mnemo.acl AS a
                     WHERE a.org_id = o.org_id AND a.expires_at IS NOT NULL
                       AND a.expires_at <= p_now
                     ORDER BY a.expires_at
                     LIMIT p_limit
                  ) AS a
              ) AS e
              JOIN mnemo.memory AS m ON m.org_id = o.org_id AND m.id = e.memory_id
             ORDER BY m.id
               FOR UPDATE OF m SKIP LOCKED
          ) AS r
    LOOP
        EXIT WHEN v_removed >= p_limit;
        WITH removed AS (
            DELETE FROM mnemo.acl AS a
             WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
               AND a.expires_at <= p_now
            RETURNING a.agent_id
        )
        SELECT array_agg(r.agent_id ORDER BY r.agent_id) INTO v_agents FROM removed AS r;
        CONTINUE WHEN v_agents IS NULL;
        v_removed := v_removed + cardinality(v_agents);
        PERFORM mnemo._write_event(v_record, 'memory_unshare', v_record.origin_org_id,
            v_record.agent_id, jsonb_build_object('agents', to_jsonb(v_agents)));
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_grants(bigint, timestamptz) IS
    'Takes grants away that have ended, with what the indexes hold for them, and writes an event a '
    'record; at most p_limit, or all of one record more. Returns how many.';

CREATE FUNCTION mnemo._sweep_delegations(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_removed bigint;
BEGIN
    -- One that others were passed on from goes after them: they have ended too.
    DELETE FROM mnemo.delegation AS d
     WHERE (d.org_id, d.id) IN (
        SELECT e.org_id, e.id
          FROM mnemo.delegation AS e
         WHERE least(e.expires_at, e.revoked_at) IS NOT NULL
           AND least(e.expires_at, e.revoked_at) <= p_now
           AND NOT EXISTS (
                SELECT FROM mnemo.delegation AS c
                 WHERE c.org_id = e.org_id AND c.parent_id = e.id)
           AND NOT EXISTS (
                SELECT FROM mnemo.delegation AS c
                 WHERE c.org_id = e.org_id AND c.head_id = e.id)
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED
     );
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_delegations(bigint, timestamptz) IS
    'Removes at most p_limit delegations that have ended or were taken back and that nothing '
    'depends on; returns how many.';

CREATE FUNCTION mnemo._stretch(
    p_table regclass,
    p_limit bigint,
    OUT first tid,
    OUT past tid
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_pages bigint := pg_relation_size(p_table) / current_setting('block_size')::bigint;
    v_read bigint := 1 + p_limit / 50;
    v_from bigint := floor(random() * greatest(v_pages - v_read + 1, 1));
BEGIN
    first := format('(%s,0)', v_from)::tid;
    past := format('(%s,0)', v_from + v_read)::tid;
END
$fn$;
COMMENT ON FUNCTION mnemo._stretch(regclass, bigint) IS
    'Where to look at about p_limit rows of a table from a random page on, so that the cost does not '
    'grow with the table.';

CREATE FUNCTION mnemo._sweep_keys(
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET jit = off
AS $fn$
DECLARE
    v_stretch record := mnemo._stretch('mnemo.idempotency', p_limit);
    v_keys text[];
    v_removed bigint;
BEGIN
    v_keys := ARRAY(
        SELECT i.ctid::text
          FROM mnemo.idempotency AS i
         WHERE i.ctid >= v_stretch.first AND i.ctid < v_stretch.past
           AND NOT EXISTS (
                SELECT FROM mnemo.memory AS m
                 WHERE m.org_id = i.memory_org_id AND m.id = i.memory_id)
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED
    );
    -- A statement of its own: a writer may just have claimed the key for another record.
    DELETE FROM mnemo.idempotency AS i
     WHERE i.ctid = ANY (v_keys::tid[])
       AND NOT EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = i.memory_org_id AND m.id = i.memory_id);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_keys(bigint) IS
    'Looks at about p_limit idempotency keys from a random place on and removes those whose record '
    'is gone; returns how many. Forgetting removes keys with their records, so only an import can '
    'have left one.';
