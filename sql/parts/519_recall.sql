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
    p_weights jsonb,
    p_embedding text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Most calls, which need not ask for each argument.
    IF (p_strategy = 'hybrid' OR p_strategy IN ('recent', 'exact') AND p_embedding IS NULL
            OR p_strategy = 'semantic' AND p_embedding IS NOT NULL
            OR p_strategy = 'lexical' AND p_embedding IS NULL AND NOT mnemo._is_blank(p_query))
        AND p_limit BETWEEN 1 AND 1000 AND p_types IS NULL AND p_scope IS NULL AND p_tags IS NULL
        AND p_min_importance IS NULL AND p_thread_id IS NULL AND p_source_types IS NULL
        AND p_weights IS NULL AND coalesce(octet_length(p_query), 0) <= 100000
    THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._label_problem('p_strategy', 'recall_strategy', p_strategy),
        CASE WHEN p_scope IS NOT NULL THEN mnemo._label_problem('p_scope', 'scope', p_scope) END,
        mnemo._weights_problem(p_strategy, p_weights, p_embedding),
        CASE WHEN p_strategy = 'semantic' AND p_embedding IS NULL THEN
            mnemo._argument('p_embedding', 'p_embedding must not be NULL for strategy semantic',
                'pass the embedding of the question, or use another strategy')
        WHEN p_strategy IN ('lexical', 'exact', 'recent') AND p_embedding IS NOT NULL THEN
            mnemo._argument('p_embedding',
                format('p_embedding does not apply to strategy %s', p_strategy),
                'leave it out, or use strategy semantic or hybrid')
        END,
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
    text, bigint, text, text[], text, text[], double precision, text, text[], jsonb, text
) IS 'The first problem of the arguments of mnemo.recall; NULL for none.';

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
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
-- The semantic lane changes settings for its scan, which no parallel plan allows.
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_caller record;
    v_problem mnemo._problem;
    v_filter mnemo._recall_filter;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_embedding IS NOT NULL OR p_model IS NOT NULL THEN
        PERFORM mnemo._raise_problem(mnemo._embedding_problem(p_embedding, p_model));
    END IF;
    v_problem := mnemo._recall_problem(p_query, p_limit, p_strategy, p_types, p_scope, p_tags,
        p_min_importance, p_thread_id, p_source_types, p_weights, p_embedding);
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_filter := ROW(p_types, p_scope, p_tags, p_tags_all, p_min_importance, p_thread_id,
        p_source_types, p_since, p_until, p_as_of, NULL, NULL, NULL, NULL);
    IF p_strategy IN ('recent', 'exact') THEN
        RETURN QUERY
        SELECT row_number() OVER (ORDER BY m.created_at DESC, m.id DESC), m.id, m.content,
               m.agent_id, m.memory_type, m.scope, m.importance, m.tags, m.metadata, x.score,
               m.created_at,
               jsonb_build_object('strategy', p_strategy,
                   'age_hours', mnemo._hours(m.created_at, statement_timestamp()),
                   'score', x.score)
          FROM mnemo._newest(v_caller.org_id, v_caller.agent_id, statement_timestamp(), v_filter,
                p_limit) AS m
          CROSS JOIN LATERAL (
            SELECT CASE p_strategy WHEN 'recent'
                   THEN mnemo._recency(mnemo._hours(m.created_at, statement_timestamp()))
                   ELSE 1 END AS score
          ) AS x;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT r.rank, r.id, m.content, m.agent_id, m.memory_type, m.scope, m.importance, m.tags,
           m.metadata, r.score, m.created_at, r.explanation
      FROM mnemo._ranked(
            p_query, p_limit, p_strategy, coalesce(p_weights, '{}'), p_embedding, p_model,
            v_caller.org_id, v_caller.agent_id, statement_timestamp(), v_filter) AS r
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
    '168 hours; exact is recent with score 1; semantic by p_embedding, the embedding of the question '
    'in a model that mnemo.enable_vectors made (p_model NULL: the only one), score: the similarity; '
    'hybrid, the default, adds weight / (60 + rank) over the best 50 (p_limit if more) of the lanes '
    'lexical, semantic (if there is an embedding) and recency, weights by p_weights, such as '
    '{"lexical": 1, "semantic": 1, "recency": 0.02}, its default. lexical needs words; hybrid '
    'without words and embedding is recent; the others do not read p_query. Filters, NULL for none: memory types, scope, tags (any '
    'of them, all with p_tags_all), least importance, thread, source types, created from p_since '
    'on, before p_until, not after p_as_of. p_limit: 1 to 1000. explanation: the parts of the score. '
    'Reads only: nothing is counted. Errors: 42501 no access; 22023 bad argument, a vector '
    'that does not fit the model; 54000 over a limit; 55000 embedding given but not enabled.';
