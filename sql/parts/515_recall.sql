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
        CASE WHEN p_weights IS NOT NULL THEN mnemo._argument('p_weights',
            format('p_weights does not apply to strategy %s', p_strategy), 'leave it out') END,
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

CREATE FUNCTION mnemo._passes(
    p_record mnemo.memory,
    p_types text[],
    p_scope text,
    p_tags text[],
    p_tags_all boolean,
    p_min_importance double precision,
    p_thread_id text,
    p_source_types text[],
    p_since timestamptz,
    p_until timestamptz,
    p_as_of timestamptz
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_types IS NULL OR (p_record).memory_type = ANY (p_types))
    AND (p_scope IS NULL OR (p_record).scope = p_scope)
    AND (p_tags IS NULL OR CASE WHEN p_tags_all THEN (p_record).tags @> p_tags
                           ELSE (p_record).tags && p_tags END)
    AND (p_min_importance IS NULL OR (p_record).importance >= p_min_importance)
    AND (p_thread_id IS NULL OR (p_record).thread_id = p_thread_id)
    AND (p_source_types IS NULL OR (p_record).source_type = ANY (p_source_types))
    AND (p_since IS NULL OR (p_record).created_at >= p_since)
    AND (p_until IS NULL OR (p_record).created_at < p_until)
    AND (p_as_of IS NULL OR (p_record).created_at <= p_as_of);
COMMENT ON FUNCTION mnemo._passes(
    mnemo.memory, text[], text, text[], boolean, double precision, text, text[], timestamptz,
    timestamptz, timestamptz
) IS 'Whether a record passes the filters of mnemo.recall; a NULL filter lets all pass.';

CREATE FUNCTION mnemo.recall(
    p_query text,
    p_limit bigint DEFAULT 10,
    p_strategy text DEFAULT 'recent',
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
AS $fn$
DECLARE
    v_caller record;
    v_now timestamptz := statement_timestamp();
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._recall_problem(p_query, p_limit, p_strategy, p_types, p_scope, p_tags,
            p_min_importance, p_thread_id, p_source_types, p_weights)
    ]));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.created_at DESC, s.id DESC), s.id, s.content, s.agent_id,
           s.memory_type, s.scope, s.importance, s.tags, s.metadata, x.score, s.created_at,
           jsonb_build_object(
               'strategy', p_strategy,
               'age_hours', round(extract(epoch FROM v_now - s.created_at) / 3600, 3),
               'score', x.score
           )
      FROM (
        -- The limit in each branch: each is read from its index only as far as it goes.
        (SELECT m.*
           FROM mnemo._visible_own(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE NOT m.tags @> ARRAY['__experience_plan__']
            AND mnemo._passes(m, p_types, p_scope, p_tags, p_tags_all, p_min_importance,
                p_thread_id, p_source_types, p_since, p_until, p_as_of)
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.*
           FROM mnemo._visible_public(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE NOT m.tags @> ARRAY['__experience_plan__']
            AND mnemo._passes(m, p_types, p_scope, p_tags, p_tags_all, p_min_importance,
                p_thread_id, p_source_types, p_since, p_until, p_as_of)
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.*
           FROM mnemo._visible_granted(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE NOT m.tags @> ARRAY['__experience_plan__']
            AND mnemo._passes(m, p_types, p_scope, p_tags, p_tags_all, p_min_importance,
                p_thread_id, p_source_types, p_since, p_until, p_as_of)
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.*
           FROM mnemo._visible_global(v_now) AS m
          WHERE NOT m.tags @> ARRAY['__experience_plan__']
            AND mnemo._passes(m, p_types, p_scope, p_tags, p_tags_all, p_min_importance,
                p_thread_id, p_source_types, p_since, p_until, p_as_of)
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        ORDER BY created_at DESC, id DESC
        LIMIT p_limit
      ) AS s
      CROSS JOIN LATERAL (
        SELECT CASE p_strategy WHEN 'recent' THEN exp(
            -ln(2::double precision) * greatest(
                extract(epoch FROM v_now - s.created_at)::double precision, 0) / (168 * 3600)
        ) ELSE 1 END AS score
      ) AS x
     ORDER BY s.created_at DESC, s.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall(
    text, bigint, text, text[], text, text[], boolean, double precision, text, text[], timestamptz,
    timestamptz, timestamptz, text, text, jsonb, text, text
) IS
    'Memories that the acting agent may read and that pass every filter, newest first; never plans. '
    'Strategies: recent scores by age with a half-life of 168 hours, exact scores 1; neither reads '
    'the words of p_query, which may be NULL. Filters, NULL for none: memory types, scope, tags (any '
    'of them, all with p_tags_all), least importance, thread, source types, created from p_since '
    'on, before p_until, not after p_as_of. p_limit: 1 to 1000. Reads only: nothing is counted. '
    'Errors: 42501 no access; 22023 bad argument; 54000 over a limit; 55000 embedding given but '
    'not enabled.';
