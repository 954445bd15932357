CREATE FUNCTION mnemo._lane_weights()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{"lexical": 1, "recency": 0.02}'::jsonb;
COMMENT ON FUNCTION mnemo._lane_weights() IS
    'The lanes of strategy hybrid and their default weights.';

CREATE FUNCTION mnemo._weights_problem(
    p_strategy text,
    p_weights jsonb
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
                'the lanes are lexical and recency');
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
COMMENT ON FUNCTION mnemo._weights_problem(text, jsonb) IS
    'The problem of the weights of lanes: another strategy than hybrid, no object, an unknown lane, a '
    'weight that is no number from 0 to 1000, nothing above 0; NULL for none.';

CREATE FUNCTION mnemo._recall_problem(
    p_query text,
    p_limit bigint,
    p_strategy text,
    p_types text[],
    p_scope text,
    p_tags text[],
    p_min_importance double precision,
    p_thread_id text,
    p_source_types text[],
    p_weights jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._label_problem('p_strategy', 'recall_strategy', p_strategy),
        CASE WHEN p_scope IS NOT NULL THEN mnemo._label_problem('p_scope', 'scope', p_scope) END,
        mnemo._weights_problem(p_strategy, p_weights),
        CASE WHEN p_strategy = 'lexical' AND mnemo._is_blank(p_query) IS NOT FALSE THEN
            mnemo._argument('p_query',
                'p_query must not be NULL or blank for strategy lexical; got '
                    || mnemo._shown(p_query),
                'pass the words to look for, or use strategy recent or exact')
        END,
        mnemo._limit_problem(p_limit),
        mnemo._label_list_problem('p_types', 'memory_type', p_types),
        mnemo._list_problem('p_tags', p_tags, 100, 256, 'tags'),
        mnemo._fraction_problem('p_min_importance', p_min_importance),
        mnemo._texts_problem(ARRAY['p_thread_id'], ARRAY[p_thread_id], 256),
        mnemo._label_list_problem('p_source_types', 'source_type', p_source_types),
        mnemo._length_problem('p_query', p_query, 100000)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_problem(
    text, bigint, text, text[], text, text[], double precision, text, text[], jsonb
) IS 'The first problem of the arguments of mnemo.recall; NULL for none.';

CREATE FUNCTION mnemo._fused(
    p_query text,
    p_limit bigint,
    p_depth bigint,
    p_weights jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_lexical double precision := p_weights -> 'lexical';
    v_recency double precision := p_weights -> 'recency';
BEGIN
    RETURN QUERY
    WITH lane AS MATERIALIZED (
        SELECT 'lexical' AS name, v_lexical AS weight, l.rank, l.org_id, l.id,
               jsonb_build_object('score', l.score, 'terms', l.parts) AS more
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_lexical > 0
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
    text, bigint, bigint, jsonb, text, text, timestamptz, mnemo._recall_filter
) IS
    'Weighted reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009): the sum of '
    'weight / (60 + rank) over the best p_depth of each lane. A lane is a ranking of records that '
    'the agent may read and that pass the filters; one of weight 0 is not read.';

CREATE FUNCTION mnemo._ranked(
    p_query text,
    p_limit bigint,
    p_strategy text,
    p_weights jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
BEGIN
    IF p_strategy = 'lexical' THEN
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, l.score,
               jsonb_build_object('strategy', 'lexical', 'score', l.score, 'terms', l.parts)
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l;
    ELSIF p_strategy = 'hybrid' THEN
        RETURN QUERY
        SELECT f.rank, f.org_id, f.id, f.score, f.explanation
          FROM mnemo._fused(
                p_query, p_limit, greatest(p_limit, 50), mnemo._lane_weights() || p_weights,
                p_org_id, p_agent_id, p_now, p_filter) AS f;
    ELSE
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, x.score,
               jsonb_build_object('strategy', p_strategy,
                   'age_hours', round(l.age_hours::numeric, 3), 'score', x.score)
          FROM mnemo._recent_lane(p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l
          CROSS JOIN LATERAL (
            SELECT CASE p_strategy WHEN 'recent' THEN l.score ELSE 1 END AS score
          ) AS x;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._ranked(
    text, bigint, text, jsonb, text, text, timestamptz, mnemo._recall_filter
) IS 'The records that mnemo.recall returns, ranked, by its strategies.';

CREATE FUNCTION mnemo.recall(
    p_query text,
    p_limit bigint DEFAULT 10,
    p_strategy text DEFAULT 'hybrid',
    p_types text[] DEFAULT NULL,
    p_scope text DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_tags_all boolean DEFAULT NULL,
    p_min_importance double precision DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_source_types text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL,
    p_until timestamptz DEFAULT NULL,
    p_as_of timestamptz DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_weights jsonb DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    owner_agent_id text,
    memory_type text,
    scope text,
    importance double precision,
    tags text[],
    metadata jsonb,
    score double precision,
    created_at timestamptz,
    explanation jsonb
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._recall_problem(p_query, p_limit, p_strategy, p_types, p_scope, p_tags,
            p_min_importance, p_thread_id, p_source_types, p_weights)
    ]));
    RETURN QUERY
    SELECT r.rank, r.id, m.content, m.agent_id, m.memory_type, m.scope, m.importance, m.tags,
           m.metadata, r.score, m.created_at, r.explanation
      FROM mnemo._ranked(
            p_query, p_limit, p_strategy, coalesce(p_weights, '{}'), v_caller.org_id,
            v_caller.agent_id, statement_timestamp(),
            ROW(p_types, p_scope, p_tags, p_tags_all, p_min_importance, p_thread_id,
                p_source_types, p_since, p_until, p_as_of)::mnemo._recall_filter
      ) AS r
      CROSS JOIN LATERAL (
        (SELECT o.* FROM mnemo.memory AS o
          WHERE o.org_id = v_caller.org_id AND o.id = r.id AND r.org_id <> '*' OFFSET 0)
        UNION ALL
        (SELECT o.* FROM mnemo.memory AS o
          WHERE o.org_id = '*' AND o.id = r.id AND r.org_id = '*' OFFSET 0)
      ) AS m
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall(
    text, bigint, text, text[], text, text[], boolean, double precision, text, text[], timestamptz,
    timestamptz, timestamptz, text, text, jsonb, text, text
) IS
    'Memories that the acting agent may read and that pass every filter, best first; never plans. '
    'Strategies: lexical ranks by the words of p_query (BM25 over content, subject, entities, '
    'aliases, predicate, tags and location), equals newest first; recent by age with a half-life of '
    '168 hours; exact is recent with score 1; hybrid, the default, adds weight / (60 + rank) over '
    'the best 50 (p_limit if more) of the lanes lexical and recency, weights by p_weights, such as '
    '{"lexical": 1, "recency": 0.02}, its default. lexical needs words; hybrid without words is '
    'recent; the others do not read p_query. Filters, NULL for none: memory types, scope, tags (any '
    'of them, all with p_tags_all), least importance, thread, source types, created from p_since '
    'on, before p_until, not after p_as_of. p_limit: 1 to 1000. explanation: the parts of the score. '
    'Reads only: nothing is counted. Errors: 42501 no access; 22023 bad argument; 54000 over a '
    'limit; 55000 embedding given but not enabled.';
