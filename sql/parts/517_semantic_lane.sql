CREATE FUNCTION mnemo._nearest_of(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_ids uuid[],
    p_global_ids uuid[],
    p_limit bigint
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    v_found mnemo._neighbour[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(ROW(n.org_id, n.memory_id, n.distance)::mnemo._neighbour)'
        '  FROM ('
        '    SELECT $1 AS org_id, d.memory_id, d.distance FROM mnemo.%1$I($1, $2, $4) AS d'
        '    UNION ALL'
        '    SELECT ''*'', d.memory_id, d.distance FROM mnemo.%1$I(''*'', $3, $4) AS d'
        '     ORDER BY distance, memory_id DESC LIMIT $5'
        '  ) AS n',
        '_vector_distances_' || p_model.suffix
    ) INTO v_found USING p_org_id, p_ids, p_global_ids, p_embedding, p_limit;
    RETURN v_found;
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_of(
    mnemo.vector_model, text, text, uuid[], uuid[], bigint
) IS 'The nearest p_limit of these records that have a vector, exactly.';

CREATE FUNCTION mnemo._nearest_exactly(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_few boolean
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_ids uuid[];
    v_global_ids uuid[];
    v_most bigint := 10000;
BEGIN
    IF NOT p_few THEN
        -- Many memories, but maybe few of them with a vector of this model.
        EXECUTE format(
            'SELECT ARRAY(SELECT e.memory_id FROM mnemo.%1$I AS e WHERE e.org_id = $1 LIMIT $2),'
            ' ARRAY(SELECT e.memory_id FROM mnemo.%1$I AS e WHERE e.org_id = ''*'' LIMIT $2)',
            'vectors_' || p_model.suffix
        ) INTO v_ids, v_global_ids USING p_org_id, v_most;
    END IF;
    IF p_few OR cardinality(v_ids) = v_most OR cardinality(v_global_ids) = v_most THEN
        SELECT v.ids, v.global_ids INTO v_ids, v_global_ids
          FROM mnemo._visible_ids(p_org_id, p_agent_id, p_now, p_filter) AS v;
    ELSE
        SELECT array_agg(r.id) FILTER (WHERE r.org_id <> '*'),
               array_agg(r.id) FILTER (WHERE r.org_id = '*')
          INTO v_ids, v_global_ids
          FROM mnemo._readable(p_org_id, p_agent_id, v_ids, v_global_ids, p_now, p_filter) AS r;
    END IF;
    RETURN mnemo._nearest_of(p_model, p_embedding, p_org_id, v_ids, v_global_ids, p_limit);
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_exactly(
    mnemo.vector_model, text, text, text, timestamptz, mnemo._recall_filter, bigint, boolean
) IS
    'The nearest p_limit records that the agent may read and that pass the filters, by a look at '
    'each. p_few: whether the agent sees few memories.';

CREATE FUNCTION mnemo._nearest_by_index(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_total double precision
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET jit = off
AS $fn$
DECLARE
    v_batch mnemo._neighbour[];
    v_found mnemo._neighbour[];
    v_step bigint := 2 * p_limit;
    v_share double precision;
BEGIN
    LOOP
        v_batch := mnemo._index_batch('_vector_nearest_' || p_model.suffix, p_org_id, p_embedding,
            v_step, p_limit);
        v_found := ARRAY(
            SELECT b
              FROM unnest(v_batch) AS b
              JOIN mnemo._readable(p_org_id, p_agent_id,
                    ARRAY(SELECT o.id FROM unnest(v_batch) AS o WHERE o.org_id <> '*'),
                    ARRAY(SELECT o.id FROM unnest(v_batch) AS o WHERE o.org_id = '*'),
                    p_now, p_filter) AS r ON r.id = b.id AND r.org_id = b.org_id
        );
        -- Measured: the index takes 50 times as long for a record as a look at each in turn, and a
        -- distance there 5 times. So where those that must still come cost more than all.
        v_share := greatest(cardinality(v_found), 0.5) / v_step;
        EXIT WHEN cardinality(v_found) >= p_limit OR cardinality(v_batch) < v_step
            OR 50 * p_limit / v_share > p_total * (1 + 5 * v_share);
        -- Anew, and so far that it will probably do.
        v_step := greatest(2 * v_step, least(16 * v_step, 1.5 * p_limit / v_share));
    END LOOP;
    RETURN CASE WHEN cardinality(v_found) >= p_limit THEN v_found END;
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_by_index(
    mnemo.vector_model, text, text, text, timestamptz, mnemo._recall_filter, bigint,
    double precision
) IS
    'At least p_limit near records in no order, from the index as far as it is worth reading; NULL '
    'where that is fewer, for the index then does not know what else there is.';

CREATE FUNCTION mnemo._semantic_lane(
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (
    rank bigint,
    org_id text,
    id uuid,
    similarity double precision,
    distance double precision
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model := mnemo._model_of(p_model);
    v_total double precision := coalesce((
        SELECT greatest(c.reltuples, 0)
          FROM pg_class AS c WHERE c.oid = to_regclass('mnemo.vectors_' || v_model.suffix)
    ), 0);
    -- Sorting n records against reading on until p_limit of total have come by: even at the root.
    v_few boolean := mnemo._few_visible(p_org_id, p_agent_id, p_now,
        least(greatest(1000, sqrt(p_limit * v_total)), 20000)::bigint);
    v_found mnemo._neighbour[];
BEGIN
    IF NOT v_few AND to_regclass(format('mnemo.vectors_%s_embedding_idx', v_model.suffix))
            IS NOT NULL
    THEN
        v_found := mnemo._nearest_by_index(v_model, p_embedding, p_org_id, p_agent_id, p_now,
            p_filter, p_limit, v_total);
    END IF;
    IF v_found IS NULL THEN
        v_found := mnemo._nearest_exactly(v_model, p_embedding, p_org_id, p_agent_id, p_now,
            p_filter, p_limit, v_few);
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.similarity DESC, s.id DESC), s.org_id, s.id, s.similarity,
           s.distance
      FROM (
        SELECT f.org_id, f.id, f.distance, mnemo._round_score(CASE v_model.distance
                   WHEN 'cosine' THEN 1 - f.distance
                   WHEN 'l2' THEN 1 / (1 + f.distance)
                   ELSE -f.distance END) AS similarity
          FROM unnest(v_found) AS f
      ) AS s
     ORDER BY s.similarity DESC, s.id DESC
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._semantic_lane(
    text, text, text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The nearest p_limit records by their embeddings: similarity is 1 - distance for cosine, '
    '1 / (1 + distance) for l2, the product for inner_product; equals newest id first. As many as '
    'asked for, wherever so many are visible and have one.';
