-- Nearest records among those that an agent may read. Where it sees few they are sorted exactly. Many
-- are read from the index of the model in the order of distance until enough have passed, and sorted
-- exactly where the index ends too early or is the longer way: pgvector bounds what a scan visits,
-- and an index that many organisations share has little of each.

CREATE TYPE mnemo._neighbour AS (
    org_id text,
    id uuid,
    distance double precision
);
COMMENT ON TYPE mnemo._neighbour IS 'A record and its distance from a vector.';

CREATE FUNCTION mnemo._readable(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_global_ids uuid[],
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT m.org_id, m.id
      FROM unnest(p_ids) AS u(id)
      CROSS JOIN LATERAL mnemo._record(p_org_id, u.id) AS m
     WHERE mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
       AND CASE
           WHEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id THEN true
           WHEN m.scope = 'shared' THEN EXISTS (
                SELECT
                  FROM (
                    SELECT a.expires_at
                      FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
                    OFFSET 0
                  ) AS g
                 WHERE g.expires_at IS NULL OR g.expires_at > p_now
           ) OR EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
           ELSE m.scope = 'public' END
    UNION ALL
    SELECT m.org_id, m.id
      FROM unnest(p_global_ids) AS u(id)
      CROSS JOIN LATERAL mnemo._record('*', u.id) AS m
     WHERE mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter);
END
$fn$;
COMMENT ON FUNCTION mnemo._readable(
    text, text, uuid[], uuid[], timestamptz, mnemo._recall_filter
) IS
    'The records of these ids, of the organisation and global ones, that the agent may read and '
    'that pass the filters: what _visible says, by key.';

CREATE FUNCTION mnemo._visible_ids(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    OUT ids uuid[],
    OUT global_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    SELECT array_agg(m.id) FILTER (WHERE m.org_id <> '*'),
           array_agg(m.id) FILTER (WHERE m.org_id = '*')
      INTO ids, global_ids
      FROM mnemo._visible(p_org_id, p_agent_id, p_now) AS m
     WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter);
END
$fn$;
COMMENT ON FUNCTION mnemo._visible_ids(text, text, timestamptz, mnemo._recall_filter) IS
    'Every memory that the agent may read and that passes the filters.';

CREATE FUNCTION mnemo._few_visible(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_most bigint
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- From the indexes of memory alone; those whose time has come count too.
    RETURN (
        SELECT count(*)
          FROM (
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.scope = 'public' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = '*' AND m.scope = 'global' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.acl AS a
              WHERE a.org_id = p_org_id AND a.agent_id = p_agent_id
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE EXISTS (
                    SELECT FROM mnemo.delegation AS d
                     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
                       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
                AND m.org_id = p_org_id AND m.deleted_at IS NULL
                AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            LIMIT p_most + 1
          ) AS x
    ) <= p_most;
END
$fn$;
COMMENT ON FUNCTION mnemo._few_visible(text, text, timestamptz, bigint) IS
    'Whether the agent sees p_most memories at most, plans aside. To whom something is delegated, '
    'those of the whole organisation count.';

CREATE FUNCTION mnemo._index_batch(
    p_function text,
    p_org_id text,
    p_embedding text,
    p_step bigint,
    p_breadth bigint
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- The index is read in its order, whatever the planner thinks of sorting.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_iterative text := current_setting('hnsw.iterative_scan', true);
    v_breadth text := current_setting('hnsw.ef_search', true);
    v_batch mnemo._neighbour[];
BEGIN
    -- In force for this scan. An error undoes them with all else.
    PERFORM set_config('hnsw.ef_search',
        greatest(v_breadth::integer, least(p_breadth, 1000))::text, true);
    IF v_iterative IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    END IF;
    EXECUTE format('SELECT ARRAY(SELECT ROW(n.org_id, n.memory_id, n.distance)'
        '::mnemo._neighbour FROM mnemo.%I($1, $2) AS n LIMIT $3)', p_function
    ) INTO v_batch USING p_org_id, p_embedding, p_step;
    PERFORM set_config('hnsw.ef_search', v_breadth, true);
    IF v_iterative IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', v_iterative, true);
    END IF;
    RETURN v_batch;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_batch(text, text, text, bigint, bigint) IS
    'The first p_step records that a function of a model reads from its index, hnsw.ef_search being '
    'at least p_breadth.';
