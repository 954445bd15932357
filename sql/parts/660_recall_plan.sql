CREATE FUNCTION mnemo._recall_plan_problem(
    p_query text,
    p_threshold double precision,
    p_guard text,
    p_context text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_query IS NULL THEN
        RETURN mnemo._argument('p_query', 'p_query must not be NULL', 'pass the question to answer');
    ELSIF (p_threshold BETWEEN
           mnemo._setting('minimum_threshold', p_org_id)::double precision AND 1) IS NOT TRUE THEN
        RETURN mnemo._argument('p_similarity_threshold',
            format('p_similarity_threshold must be from %s to 1; got %s',
                mnemo._setting('minimum_threshold', p_org_id), p_threshold),
            'leave it out for the setting similarity_threshold');
    ELSIF NOT mnemo._is_label('guard', p_guard) THEN
        RETURN mnemo._label_problem('p_guard', 'guard', p_guard);
    ELSIF p_context IS NULL AND length(p_query) <= 100000 THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(
        mnemo._texts_problem(ARRAY['p_context'], ARRAY[p_context], 256),
        mnemo._length_problem('p_query', p_query, 100000)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_plan_problem(text, double precision, text, text, text) IS
    'The first problem of the arguments of mnemo.recall_plan, settings filled in; NULL for none.';

CREATE FUNCTION mnemo._recall(
    p_query text,
    p_agent_id text,
    p_org_id text,
    p_similarity_threshold double precision,
    p_guard text,
    p_context text,
    p_limit bigint
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_threshold double precision;
    v_signature text[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._enter(p_agent_id, p_org_id);
    candidates_considered := 0;
    IF mnemo._setting('experience_memory', v_caller.org_id) <> 'on' THEN
        reason := 'disabled';
        RETURN NEXT;
        RETURN;
    END IF;
    PERFORM mnemo._check_identity(v_caller.agent_id, v_caller.org_id);
    v_threshold := coalesce(
        p_similarity_threshold,
        greatest(
            mnemo._setting('similarity_threshold', v_caller.org_id)::double precision,
            mnemo._setting('minimum_threshold', v_caller.org_id)::double precision)
    );
    PERFORM mnemo._raise_problem(mnemo._first_problem(
        mnemo._recall_plan_problem(
            p_query, v_threshold, coalesce(p_guard, mnemo._setting('guard', v_caller.org_id)),
            p_context, v_caller.org_id),
        mnemo._limit_problem(p_limit)
    ));
    v_signature := mnemo._signature_tokens(p_query);
    IF cardinality(v_signature) = 0 THEN
        reason := 'blank_query';
        RETURN NEXT;
        RETURN;
    ELSIF cardinality(v_signature) > 20000 THEN
        PERFORM mnemo._raise_limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(v_signature)),
            'shorten it');
    END IF;
    RETURN QUERY
    SELECT m.org_id, m.plan_id, m.similarity, m.considered,
           CASE WHEN m.plan_id IS NULL THEN 'none_similar'
                WHEN m.similarity = 1 THEN 'exact'
                ELSE 'similar' END,
           NULL::jsonb, m.rank
      FROM mnemo._match_plans(
            v_signature, v_threshold, p_context, p_limit, v_caller.org_id, v_caller.agent_id,
            statement_timestamp()) AS m;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall(text, text, text, double precision, text, text, bigint) IS
    'What recall_plan and recall_plans share: who calls, mode, arguments, matching. One row a hit, '
    'or one row with the reason of the miss.';

CREATE FUNCTION mnemo.recall_plan(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL
)
RETURNS TABLE (
    hit boolean,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    candidates_considered bigint,
    reason text,
    near_miss jsonb
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
    SELECT r.plan_id IS NOT NULL, r.plan_id, p.query, p.steps, p.details, p.chunk_ids,
           p.outcome_score, r.similarity, p.owner_agent_id, p.scope, p.created_at,
           r.candidates_considered, r.reason, r.near_miss
      FROM mnemo._recall(
            p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1) AS r
      LEFT JOIN mnemo._plan AS p ON p.org_id = r.org_id AND p.id = r.plan_id;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plan(text, text, text, double precision, text, text) IS
    'RECALL_PLAN: the plan to replay for p_query: the one with the highest Jaccard similarity of '
    'signatures of all live plans that the acting agent may read and that were remembered with the '
    'same p_context (NULL equals NULL only); on a tie a plan of the organisation before a global '
    'one, then the higher outcome score, the newer, the higher id. Exact: no plan is left out. '
    'Always one row. hit false leaves the plan''s columns NULL, and reason says why: none_similar '
    '(nothing reaches the threshold), disabled (experience memory is off), blank_query. '
    'candidates_considered: plans that were scored. p_similarity_threshold: NULL for the setting, '
    'else from minimum_threshold to 1. p_guard: NULL for the setting. Reads only. Errors: 42501 no '
    'access; 22023 bad argument; 54000 over a limit. After DocTrace (arXiv 2606.10921).';

CREATE FUNCTION mnemo.recall_plans(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_limit bigint DEFAULT 5
)
RETURNS TABLE (
    hit boolean,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 5
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
    SELECT true, r.plan_id, p.query, p.steps, p.details, p.chunk_ids, p.outcome_score,
           r.similarity, p.owner_agent_id, p.scope, p.created_at, r.candidates_considered,
           r.reason, r.near_miss, r.rank
      FROM mnemo._recall(
            p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, p_limit
      ) AS r
      JOIN mnemo._plan AS p ON p.org_id = r.org_id AND p.id = r.plan_id
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plans(
    text, text, text, double precision, text, text, bigint
) IS
    'The best p_limit (1 to 1000) plans for p_query, by the rules and in the order of '
    'mnemo.recall_plan; rank from 1. No rows on a miss. Reads only. Errors: those of '
    'mnemo.recall_plan.';
