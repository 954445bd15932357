CREATE FUNCTION mnemo._near_plans_by_index(
    p_call mnemo._recall_input,
    p_model mnemo.vector_model,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_total double precision,
    OUT near mnemo._neighbour[],
    OUT complete boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_step bigint := 2 * p_call.row_limit + 8;
    v_last double precision;
    v_best double precision;
    v_worst double precision;
    v_found bigint;
    v_share double precision;
BEGIN
    LOOP
        near := mnemo._index_batch('_vector_plannearest_' || p_model.suffix, p_call.org_id,
            p_call.embedding, v_step, p_call.row_limit);
        SELECT mnemo._round_score(1 - max(n.distance)) INTO v_last FROM unnest(near) AS n;
        SELECT count(*), max(j.similarity), min(j.similarity)
          INTO v_found, v_best, v_worst
          FROM (
            SELECT o.similarity
              FROM mnemo._judged_plans(p_call, near, p_meaning, p_values, p_names) AS o
             WHERE o.against IS NULL AND o.similarity >= p_call.semantic_threshold
             ORDER BY o.similarity DESC
             LIMIT p_call.row_limit
          ) AS j;
        -- What comes after is too far, or farther than enough hits and than their rivals. Among
        -- equals others may win; but one question may have been remembered very often.
        complete := coalesce(
            v_last < p_call.semantic_threshold - p_call.semantic_margin
            OR v_found = p_call.row_limit
               AND (v_last < least(v_worst, v_best - p_call.semantic_margin) OR v_step >= 500),
            false);
        v_share := greatest(v_found, 0.5) / v_step;
        -- As _nearest_by_index weighs it.
        EXIT WHEN complete OR cardinality(near) < v_step
            OR v_found < p_call.row_limit
               AND 50 * p_call.row_limit / v_share > p_total * (1 + 5 * v_share);
        v_step := 4 * v_step;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._near_plans_by_index(
    mnemo._recall_input, mnemo.vector_model, bigint, bigint, text[], double precision
) IS
    'The plans nearest to the question, those of others too, from the index as far as it is worth '
    'reading. complete: no hit is missing, as far as an approximate index knows.';

CREATE FUNCTION mnemo._near_plans_exactly(
    p_call mnemo._recall_input,
    p_model mnemo.vector_model,
    p_meaning bigint,
    p_values bigint,
    p_few boolean
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
    v_ids record;
    v_near mnemo._neighbour[];
BEGIN
    -- Thousands of plans made from one template are near, and few of them have the values asked for.
    IF NOT p_few AND p_call.guard = 'strict' AND p_meaning # p_values <> 0 THEN
        v_ids := mnemo._guarded_plan_ids(p_call, p_meaning, p_values);
    ELSE
        v_ids := mnemo._visible_plan_ids(p_call);
    END IF;
    EXECUTE format(
        'SELECT array_agg(ROW(n.org_id, n.memory_id, n.distance)::mnemo._neighbour)'
        '  FROM ('
        '    SELECT $1 AS org_id, d.memory_id, d.distance FROM mnemo.%1$I($1, $2, $4) AS d'
        '    UNION ALL'
        '    SELECT ''*'', d.memory_id, d.distance FROM mnemo.%1$I(''*'', $3, $4) AS d'
        '  ) AS n'
        ' WHERE mnemo._round_score(1 - n.distance) >= $5',
        '_vector_plandistances_' || p_model.suffix
    ) INTO v_near USING p_call.org_id, v_ids.ids, v_ids.global_ids, p_call.embedding,
        p_call.semantic_threshold - p_call.semantic_margin;
    RETURN v_near;
END
$fn$;
COMMENT ON FUNCTION mnemo._near_plans_exactly(
    mnemo._recall_input, mnemo.vector_model, bigint, bigint, boolean
) IS
    'Every plan near enough that the agent may read, by a look at each; of many, with guard strict '
    'and something in it, those alone that have the same. p_few: the agent sees few.';

CREATE FUNCTION mnemo._near_plans(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[]
)
RETURNS SETOF mnemo._near_plan
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model := mnemo._model_of(p_call.model);
    v_total double precision := coalesce((
        SELECT greatest(c.reltuples, 0)
          FROM pg_class AS c
         WHERE c.oid = to_regclass('mnemo.' || mnemo._vector_table(v_model, true))
    ), 0);
    v_few boolean := mnemo._few_plans(p_call.org_id, p_call.agent_id, p_call.asked_at,
        least(greatest(1000, sqrt(p_call.row_limit * v_total)), 20000)::bigint);
    v_near mnemo._neighbour[] := '{}';
    v_complete boolean := false;
BEGIN
    IF NOT v_few AND to_regclass(
            format('mnemo.%s_embedding_idx', mnemo._vector_table(v_model, true))) IS NOT NULL
    THEN
        SELECT i.near, i.complete INTO v_near, v_complete
          FROM mnemo._near_plans_by_index(
                p_call, v_model, p_meaning, p_values, p_names, v_total) AS i;
    END IF;
    IF NOT v_complete THEN
        v_near := v_near
            || mnemo._near_plans_exactly(p_call, v_model, p_meaning, p_values, v_few);
    END IF;
    RETURN QUERY
    SELECT j.* FROM mnemo._judged_plans(p_call, v_near, p_meaning, p_values, p_names) AS j;
END
$fn$;
COMMENT ON FUNCTION mnemo._near_plans(mnemo._recall_input, bigint, bigint, text[]) IS
    'What _judged_plans says of the plans near the question: the best hits are among them. Exact '
    'where the agent sees few plans, or where the index ends too early.';
