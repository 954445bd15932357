CREATE FUNCTION mnemo._lane_weights()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{"lexical": 1, "semantic": 1, "recency": 0.02}'::jsonb;
COMMENT ON FUNCTION mnemo._lane_weights() IS
    'The lanes of strategy hybrid and their default weights.';

CREATE FUNCTION mnemo._weights_problem(
    p_strategy text,
    p_weights jsonb,
    p_embedding text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_lane record;
    v_sum numeric := 0;
BEGIN
    IF p_weights IS NULL THEN
        RETURN NULL;
    ELSIF p_strategy <> 'hybrid' THEN
        RETURN mnemo._argument('p_weights',
            format('p_weights does not apply to strategy %s', p_strategy),
            'leave it out, or use strategy hybrid');
    ELSIF jsonb_typeof(p_weights) <> 'object' THEN
        RETURN mnemo._argument('p_weights',
            'p_weights must be a JSON object; got ' || jsonb_typeof(p_weights),
            'pass lanes and their weights: {"lexical": 1, "recency": 0.1}');
    END IF;
    FOR v_lane IN
        SELECT e.key, e.value FROM jsonb_each(mnemo._lane_weights() || p_weights) AS e
    LOOP
        IF NOT mnemo._lane_weights() ? v_lane.key THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights has the unknown lane %s', mnemo._shown(v_lane.key)),
                'the lanes are lexical, semantic and recency');
        ELSIF jsonb_typeof(v_lane.value) <> 'number' THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights: the weight of %s must be a number; got %s', v_lane.key,
                    jsonb_typeof(v_lane.value)),
                'pass a number from 0 to 1000, 0 to leave the lane out');
        ELSIF NOT v_lane.value::numeric BETWEEN 0 AND 1000 THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights: the weight of %s must be from 0 to 1000; got %s', v_lane.key,
                    left(v_lane.value::text, 100)),
                'pass a number from 0 to 1000, 0 to leave the lane out');
        ELSIF v_lane.key = 'semantic' AND p_embedding IS NULL THEN
            IF p_weights ? 'semantic' AND v_lane.value::numeric > 0 THEN
                RETURN mnemo._argument('p_weights',
                    'p_weights has the lane semantic, and there is no p_embedding',
                    'pass the embedding of the question, or leave the lane out');
            END IF;
            CONTINUE;
        END IF;
        v_sum := v_sum + v_lane.value::numeric;
    END LOOP;
    IF v_sum = 0 THEN
        RETURN mnemo._argument('p_weights', 'p_weights must give a lane a weight above 0',
            'leave p_weights out for the default');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._weights_problem(text, jsonb, text) IS
    'The problem of the weights of lanes: another strategy than hybrid, no object, an unknown lane, a '
    'weight that is no number from 0 to 1000, the lane semantic without an embedding, nothing above '
    '0; NULL for none.';

CREATE FUNCTION mnemo._fused(
    p_query text,
    p_limit bigint,
    p_depth bigint,
    p_weights jsonb,
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_lexical double precision := p_weights -> 'lexical';
    v_recency double precision := p_weights -> 'recency';
    v_semantic double precision := CASE WHEN p_embedding IS NULL THEN 0
        ELSE (p_weights -> 'semantic')::double precision END;
BEGIN
    RETURN QUERY
    WITH lane AS MATERIALIZED (
        SELECT 'lexical' AS name, v_lexical AS weight, l.rank, l.org_id, l.id,
               jsonb_build_object('score', l.score, 'terms', l.parts) AS more
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_lexical > 0
        UNION ALL
        SELECT 'semantic', v_semantic, l.rank, l.org_id, l.id,
               jsonb_build_object('similarity', l.similarity, 'distance', l.distance)
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_semantic > 0
        UNION ALL
        SELECT 'recency', v_recency, l.rank, l.org_id, l.id,
               jsonb_build_object('score', l.score, 'age_hours', l.age_hours)
          FROM mnemo._recent_lane(p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_recency > 0
    ), fused AS (
        SELECT l.org_id, l.id, sum(l.weight / (60 + l.rank)) AS score,
               jsonb_object_agg(l.name, jsonb_build_object(
                   'rank', l.rank, 'weight', l.weight, 'contribution', l.weight / (60 + l.rank)
               ) || l.more) AS lanes
          FROM lane AS l
         GROUP BY l.org_id, l.id
    )
    SELECT row_number() OVER (ORDER BY f.score DESC, f.id DESC), f.org_id, f.id, f.score,
           jsonb_build_object('strategy', 'hybrid', 'score', f.score, 'k', 60, 'lanes', f.lanes)
      FROM fused AS f
     ORDER BY f.score DESC, f.id DESC
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._fused(
    text, bigint, bigint, jsonb, text, text, text, text, timestamptz, mnemo._recall_filter
) IS
    'Weighted reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009): the sum of '
    'weight / (60 + rank) over the best p_depth of each lane. A lane is a ranking of records that '
    'the agent may read and that pass the filters; one of weight 0 is not read.';

CREATE FUNCTION mnemo._ranked(
    p_query text,
    p_limit bigint,
    p_strategy text,
    p_weights jsonb,
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
BEGIN
    IF p_strategy = 'lexical' THEN
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, l.score,
               jsonb_build_object('strategy', 'lexical', 'score', l.score, 'terms', l.parts)
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l;
    ELSIF p_strategy = 'semantic' THEN
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, l.similarity,
               jsonb_build_object('strategy', 'semantic', 'score', l.similarity,
                   'similarity', l.similarity, 'distance', l.distance)
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l;
    ELSE
        RETURN QUERY
        SELECT f.rank, f.org_id, f.id, f.score, f.explanation
          FROM mnemo._fused(
                p_query, p_limit, greatest(p_limit, 50), mnemo._lane_weights() || p_weights,
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter) AS f;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._ranked(
    text, bigint, text, jsonb, text, text, text, text, timestamptz, mnemo._recall_filter
) IS 'The records that strategy lexical, semantic or hybrid of mnemo.recall returns, ranked.';
