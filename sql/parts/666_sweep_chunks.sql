-- Changes of chunks that no plan can be stale by any more.
--
-- A change makes plans stale whose chunks were read before it. So one that is older than all plans
-- says nothing of them. It may still say something of a plan that arrives later and was made before
-- (by an import, by p_read_at long ago, by a transaction that was open all the time): therefore what
-- goes leaves the latest of its times behind, as a change of the whole source. Such a plan is then
-- stale, whatever it cites, rather than taken for fresh.

CREATE FUNCTION mnemo._oldest_plan(
    p_org_id text
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_home text;
    v_agent text;
    v_id uuid;
    v_oldest uuid;
BEGIN
    -- Two look-ups an agent, however many plans it has.
    FOREACH v_home IN ARRAY ARRAY[p_org_id, '*'] LOOP
        v_agent := '';
        LOOP
            SELECT m.agent_id INTO v_agent
              FROM mnemo.memory AS m
             WHERE m.org_id = v_home AND m.origin_org_id = p_org_id AND m.agent_id > v_agent
               AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
             ORDER BY m.agent_id
             LIMIT 1;
            EXIT WHEN NOT FOUND;
            SELECT m.id INTO v_id
              FROM mnemo.memory AS m
             WHERE m.org_id = v_home AND m.origin_org_id = p_org_id AND m.agent_id = v_agent
               AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
             ORDER BY m.id
             LIMIT 1;
            v_oldest := least(v_oldest, v_id);
        END LOOP;
    END LOOP;
    RETURN to_timestamp(
        ('x' || translate(left(v_oldest::text, 13), '-', ''))::bit(48)::bigint / 1000.0);
END
$fn$;
COMMENT ON FUNCTION mnemo._oldest_plan(text) IS
    'When the oldest plan that an agent of the organisation owns was first written, global ones and '
    'failures too, by its id; NULL for none.';

CREATE FUNCTION mnemo._sweep_chunks(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET lock_timeout = '10ms'
SET jit = off
AS $fn$
DECLARE
    v_stretch record := mnemo._stretch('mnemo.chunk_state', p_limit);
    v_folded bigint;
BEGIN
    WITH looked_at AS MATERIALIZED (
        SELECT s.org_id, s.source, s.chunk_id
          FROM mnemo.chunk_state AS s
         WHERE s.ctid >= v_stretch.first AND s.ctid < v_stretch.past AND s.chunk_id <> ''
         LIMIT p_limit
    ), horizon AS MATERIALIZED (
        -- Chunks may have been read long before their plan was written.
        SELECT o.org_id, least(p_now, mnemo._oldest_plan(o.org_id)) - interval '30 days' AS before
          FROM (SELECT DISTINCT l.org_id FROM looked_at AS l) AS o
    ), old AS MATERIALIZED (
        SELECT s.org_id, s.source, s.chunk_id
          FROM looked_at AS l
          JOIN horizon AS h ON h.org_id = l.org_id
          JOIN mnemo.chunk_state AS s
            ON s.org_id = l.org_id AND s.source = l.source AND s.chunk_id = l.chunk_id
         WHERE s.changed_at < h.before
           FOR UPDATE OF s SKIP LOCKED
    ), gone AS (
        DELETE FROM mnemo.chunk_state AS s
         USING old AS o
         WHERE s.org_id = o.org_id AND s.source = o.source AND s.chunk_id = o.chunk_id
        RETURNING s.org_id, s.source, s.changed_at
    ), folded AS (
        INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)
        SELECT g.org_id, g.source, '', 1, max(g.changed_at)
          FROM gone AS g
         GROUP BY g.org_id, g.source
         ORDER BY g.org_id, g.source
        ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE
           SET version = s.version + 1, changed_at = greatest(s.changed_at, excluded.changed_at)
    )
    SELECT count(*) INTO v_folded FROM gone AS g;
    RETURN v_folded;
EXCEPTION
    -- Somebody is just reporting a whole source.
    WHEN lock_not_available THEN
        RETURN 0;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_chunks(bigint, timestamptz) IS
    'Looks at about p_limit rows of chunk_state from a random place on and folds those that are older '
    'by 30 days than p_now and than the oldest plan of their organisation into one row for their '
    'source, as a change of the whole; returns how many.';
