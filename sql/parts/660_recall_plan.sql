CREATE FUNCTION mnemo.recall_plan(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_stale text DEFAULT 'refuse',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
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
    stale boolean,
    warnings jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1,
        p_stale, p_embedding, p_model);
    v_same mnemo._best_answer;
    v_identical boolean;
BEGIN
    stale := false;
    IF v_call.reason IS NOT NULL THEN
        hit := false;
        candidates_considered := 0;
        reason := v_call.reason;
        RETURN NEXT;
        RETURN;
    END IF;
    v_same := mnemo._best_identical(v_call, false);
    v_identical := v_same.id IS NOT NULL;
    IF v_same.warned AND mnemo._may_warn(v_call) THEN
        warnings := mnemo._warnings(v_call);
    END IF;
    IF v_same.stale THEN
        IF v_call.stale = 'refuse' THEN
            v_same := mnemo._best_identical(v_call, true);
        ELSE
            stale := true;
        END IF;
    END IF;
    IF v_same.query = p_query OR v_call.guard = 'off' AND v_same.id IS NOT NULL THEN
        RETURN QUERY
        SELECT true, v_same.id, v_same.query, v_same.steps, v_same.details, v_same.chunk_ids,
               v_same.outcome_score, 1::double precision, v_same.owner_agent_id, v_same.scope,
               v_same.created_at, 1::bigint, 'exact'::text, NULL::jsonb, stale,
               warnings;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT r.plan_id IS NOT NULL, r.plan_id, p.query, p.steps, p.details, p.chunk_ids,
           p.outcome_score, r.similarity, p.owner_agent_id, p.scope, p.created_at,
           r.candidates_considered, r.reason, r.near_miss, r.stale, warnings
      FROM mnemo._recall(v_call, v_identical) AS r
      LEFT JOIN LATERAL mnemo._answer_of(r.org_id, r.plan_id) AS p ON true;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plan(
    text, text, text, double precision, text, text, text, text, text
) IS
    'RECALL_PLAN: the plan to replay for p_query: the one with the highest Jaccard similarity of '
    'signatures of all live plans that the acting agent may read and that were remembered with the '
    'same p_context (NULL equals NULL only); on a tie a plan of the organisation before a global '
    'one, then the higher standing (mnemo.record_plan_outcome), outcome score, the newer, the higher '
    'id. Exact: no plan is left out. '
    'p_guard, NULL for the setting, refuses look-alikes: strict compares meaning (negation, '
    'opposites, order) and values (numbers, names, identifiers, units, times), meaning the first '
    'only, off nothing; mnemo.guard_tokens shows what it reads. Always one row. hit false leaves '
    'the plan''s columns NULL, and reason says why: none_similar (nothing reaches the threshold), '
    'guarded (near_miss names a plan that does and the differences that forbid it), stale (the plans '
    'that would do cite a chunk that changed since: near_miss names the best and up to ten of the '
    'chunks), retired (those that would do are: near_miss names the best), disabled (experience memory '
    'is off), blank_query. p_stale: refuse passes stale plans '
    'over, include lets them win like others; stale says that the hit, or the near miss, is one. '
    'warnings: what not to do, on hits and misses: up to three failures that match p_query as plans '
    'do, objects with id, query, steps, reason, similarity, created_at; NULL for none. '
    'p_embedding, made of p_query by p_model (NULL: the only one): where words give no hit, the plan '
    'with the nearest embedding is one from the setting semantic_threshold on, under the same guard, '
    'context and visibility; its reason is semantic, its similarity the cosine. '
    'candidates_considered: plans that were scored. p_similarity_threshold: NULL for the setting, '
    'else from minimum_threshold to 1. Reads only. Errors: 42501 no access; 22023 bad argument; 54000 '
    'over a limit; 55000 embedding given but not enabled. After DocTrace (arXiv 2606.10921).';

CREATE FUNCTION mnemo.recall_plans(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_stale text DEFAULT 'refuse',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
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
    rank bigint,
    stale boolean,
    warnings jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, p_limit,
        p_stale, p_embedding, p_model);
    v_warned boolean;
BEGIN
    IF v_call.reason IS NOT NULL THEN
        RETURN;
    END IF;
    v_warned := mnemo._may_warn(v_call);
    RETURN QUERY
    SELECT true, r.plan_id, p.query, p.steps, p.details, p.chunk_ids, p.outcome_score,
           r.similarity, p.owner_agent_id, p.scope, p.created_at, r.candidates_considered,
           r.reason, r.near_miss, r.rank, r.stale,
           CASE WHEN r.rank = 1 AND v_warned THEN mnemo._warnings(v_call) END
      FROM mnemo._recall(v_call, true) AS r
      CROSS JOIN LATERAL mnemo._answer_of(r.org_id, r.plan_id) AS p
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plans(
    text, text, text, double precision, text, text, bigint, text, text, text
) IS
    'The best p_limit (1 to 1000) plans for p_query, by the rules and in the order of '
    'mnemo.recall_plan; rank from 1; warnings stand in the first row. No rows on a miss. Reads only. Errors: those of '
    'mnemo.recall_plan.';
