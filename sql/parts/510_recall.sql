CREATE FUNCTION mnemo._limit_problem(
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_limit BETWEEN 1 AND 1000) IS NOT TRUE THEN
        RETURN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 1000; got %s', coalesce(p_limit::text, 'NULL')),
            'page through larger results');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._limit_problem(bigint) IS
    'The problem of a number of rows outside 1 to 1000, NULL included; NULL for none.';

CREATE FUNCTION mnemo.get_memories(
    p_ids uuid[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    "position" bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    content text,
    memory_type text,
    scope text,
    importance double precision,
    tags text[],
    metadata jsonb,
    source_type text,
    source_id text,
    thread_id text,
    created_by text,
    consolidation_state text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    aliases text[],
    location text,
    confidence double precision,
    status text,
    valid_from timestamptz,
    valid_to timestamptz,
    temporal_scope text,
    version bigint,
    prev_version_id uuid,
    access_count bigint,
    last_accessed_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    content_hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._ids_problem('p_ids', p_ids));
    RETURN QUERY
    SELECT t.place, m.id, m.org_id, m.origin_org_id, m.agent_id, m.content, m.memory_type, m.scope,
           m.importance, m.tags, m.metadata, m.source_type, m.source_id, m.thread_id, m.created_by,
           m.consolidation_state, m.kind, m.subject, m.predicate, m.entities, m.aliases, m.location,
           m.confidence, m.status, m.valid_from, m.valid_to, m.temporal_scope, m.version,
           m.prev_version_id, m.access_count, m.last_accessed_at, m.created_at, m.updated_at,
           m.expires_at, m.content_hash
      FROM (
        SELECT u.id, min(u.place) AS place
          FROM unnest(p_ids) WITH ORDINALITY AS u(id, place)
         GROUP BY u.id
      ) AS t
      JOIN mnemo._visible(v_caller.org_id, v_caller.agent_id, statement_timestamp()) AS m
        ON m.id = t.id AND m.id = ANY (p_ids)
     ORDER BY t.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.get_memories(uuid[], text, text) IS
    'The records, plans included, of these ids that the acting agent may read, each once, in the '
    'order of p_ids; position is the place in p_ids, from 1. Ids that are unknown, gone or '
    'invisible give no row. Errors: 42501 no access; 22023 NULL, empty list, NULL element; 54000 '
    'over 10,000 ids.';

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
    IF length(p_query) > 100000 THEN
        RETURN mnemo._limit('p_query',
            format('p_query has %s characters, at most 100000 are allowed', length(p_query)),
            'shorten it');
    ELSIF NOT mnemo._is_label('recall_strategy', p_strategy) THEN
        RETURN mnemo._label_problem('p_strategy', 'recall_strategy', p_strategy);
    ELSIF p_scope IS NOT NULL AND NOT mnemo._is_label('scope', p_scope) THEN
        RETURN mnemo._label_problem('p_scope', 'scope', p_scope);
    ELSIF p_weights IS NOT NULL THEN
        RETURN mnemo._argument('p_weights',
            format('p_weights does not apply to strategy %s', p_strategy), 'leave it out');
    END IF;
    RETURN coalesce(
        mnemo._limit_problem(p_limit),
        mnemo._label_list_problem('p_types', 'memory_type', p_types),
        mnemo._list_problem('p_tags', p_tags, 100, 256, 'tags'),
        mnemo._fraction_problem('p_min_importance', p_min_importance),
        mnemo._texts_problem(ARRAY['p_thread_id'], ARRAY[p_thread_id], 256),
        mnemo._label_list_problem('p_source_types', 'source_type', p_source_types)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_problem(
    text, bigint, text, text[], text, text[], double precision, text, text[], jsonb
) IS 'The first problem of the arguments of mnemo.recall; NULL for none.';

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
    PERFORM mnemo._raise_problem(coalesce(
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._recall_problem(p_query, p_limit, p_strategy, p_types, p_scope, p_tags,
            p_min_importance, p_thread_id, p_source_types, p_weights)
    ));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.created_at DESC, s.id DESC), s.id, s.content, s.agent_id,
           s.memory_type, s.scope, s.importance, s.tags, s.metadata, x.score, s.created_at,
           jsonb_build_object(
               'strategy', p_strategy,
               'age_hours', round(extract(epoch FROM v_now - s.created_at) / 3600, 3),
               'score', x.score
           )
      FROM (
        SELECT m.*
          FROM mnemo._visible(v_caller.org_id, v_caller.agent_id, v_now) AS m
         WHERE NOT m.tags @> ARRAY['__experience_plan__']
           AND (p_types IS NULL OR m.memory_type = ANY (p_types))
           AND (p_scope IS NULL OR m.scope = p_scope)
           AND (p_tags IS NULL OR CASE WHEN p_tags_all THEN m.tags @> p_tags
                                  ELSE m.tags && p_tags END)
           AND (p_min_importance IS NULL OR m.importance >= p_min_importance)
           AND (p_thread_id IS NULL OR m.thread_id = p_thread_id)
           AND (p_source_types IS NULL OR m.source_type = ANY (p_source_types))
           AND (p_since IS NULL OR m.created_at >= p_since)
           AND (p_until IS NULL OR m.created_at < p_until)
           AND (p_as_of IS NULL OR m.created_at <= p_as_of)
         ORDER BY m.created_at DESC, m.id DESC
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
