CREATE FUNCTION mnemo._explain_candidates(
    p_call mnemo._recall_input,
    p_least double precision
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    similarity double precision,
    outcome_score double precision,
    shared_tokens text[],
    only_asked text[],
    only_stored text[],
    guard_differences text[],
    state text,
    threshold double precision,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 20
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_probe record := mnemo._probe(p_call, p_least, 0);
    v_read record := mnemo._guard(p_call.query);
BEGIN
    RETURN QUERY
    WITH candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.signature, s.outcome_score, s.created_at,
               s.endurance < p_call.retire AS retired,
               f.standing,
               mnemo._agrees(s, p_call.guard, v_read.meaning, v_read.vals, v_read.names,
                   p_call.signature) AS agrees
          FROM mnemo._similar(
                v_probe.keys, p_call.org_id, p_call.audiences, p_call.context, p_call.asked_at,
                v_probe.sketch, v_probe.long_sketch, cardinality(p_call.signature), p_least) AS s
          CROSS JOIN LATERAL mnemo._counts(
                s.org_id, s.plan_id, p_call.asked_at, s.audience = ANY (p_call.audiences[5:]),
                s.audience, p_call.agent_id, p_call.context)
          CROSS JOIN LATERAL mnemo._standing_for(
                s.org_id, s.plan_id, s.standing, p_call.org_id) AS f
    ), scored AS (
        SELECT c.*, mnemo._jaccard(c.signature, p_call.signature) AS similarity FROM candidate AS c
    ), ranked AS (
        SELECT s.*,
               s.agrees AND NOT s.retired AND s.similarity >= p_call.threshold AS fits,
               s.agrees AND NOT s.retired AND s.similarity >= p_call.threshold AND p_call.stale = 'refuse'
               AND mnemo._is_stale(s.org_id, s.plan_id, p_call.asked_at) AS stale,
               row_number() OVER (
                   ORDER BY s.similarity DESC, s.org_id = '*', s.standing DESC,
                            s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
               ) AS place
          FROM scored AS s
         WHERE s.similarity >= p_least
    ), nearest AS (
        -- What is replayed is always shown, however many were refused before it.
        SELECT r.*
          FROM ranked AS r
         WHERE r.place <= 20 OR r.place = (
                SELECT min(f.place) FROM ranked AS f WHERE f.fits AND NOT f.stale)
    ), judged AS (
        SELECT n.*, m.content, m.consolidation_state,
               mnemo._guard_differences(p_call.query, m.content, p_call.guard) AS differences
          FROM nearest AS n
          JOIN mnemo.memory AS m ON m.org_id = n.org_id AND m.id = n.plan_id
    )
    SELECT o.place, o.plan_id, o.content, o.similarity, o.outcome_score,
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token = ANY (p_call.signature)),
           ARRAY(SELECT t.token FROM unnest(p_call.signature) AS t(token)
                  WHERE t.token <> ALL (o.signature)),
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token <> ALL (p_call.signature)),
           o.differences, o.consolidation_state, p_call.threshold,
           CASE WHEN o.similarity < p_call.threshold THEN 'below_threshold'
                WHEN NOT o.agrees THEN 'guarded'
                WHEN o.retired THEN 'retired'
                WHEN o.stale THEN 'stale'
                WHEN o.place = min(o.place) FILTER (WHERE o.fits AND NOT o.stale) OVER ()
                THEN 'replayed'
                ELSE 'outranked' END
      FROM judged AS o
     ORDER BY o.place;
END
$fn$;
COMMENT ON FUNCTION mnemo._explain_candidates(mnemo._recall_input, double precision) IS
    'The 20 nearest live plans that the agent may read, from similarity p_least on, and the one that '
    'is replayed, each with its verdict.';

CREATE FUNCTION mnemo.explain_recall_plan(
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
    rank bigint,
    id uuid,
    query text,
    similarity double precision,
    outcome_score double precision,
    shared_tokens text[],
    only_asked text[],
    only_stored text[],
    guard_differences text[],
    state text,
    threshold double precision,
    verdict text,
    cosine double precision
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 20
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1,
        p_stale, p_embedding, p_model);
BEGIN
    IF v_call.reason IS NULL THEN
        RETURN QUERY
        WITH words AS MATERIALIZED (
            SELECT e.*
              FROM mnemo._explain_candidates(v_call, least(v_call.threshold, v_call.minimum)) AS e
        ), near AS MATERIALIZED (
            -- Where words find a plan nobody looks at vectors.
            SELECT n.*
              FROM mnemo._explain_near(v_call) AS n
             WHERE v_call.embedding IS NOT NULL
               AND NOT EXISTS (SELECT FROM words AS w WHERE w.verdict = 'replayed')
        )
        SELECT n.* FROM near AS n
        UNION ALL
        SELECT row_number() OVER (ORDER BY w.rank) + (SELECT count(*) FROM near), w.id, w.query,
               w.similarity, w.outcome_score, w.shared_tokens, w.only_asked, w.only_stored,
               w.guard_differences, w.state, w.threshold, w.verdict, NULL
          FROM words AS w
         WHERE w.id <> ALL (ARRAY(SELECT n.id FROM near AS n))
         ORDER BY 1;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    threshold := v_call.threshold;
    verdict := coalesce(v_call.reason, 'none_similar');
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.explain_recall_plan(
    text, text, text, double precision, text, text, text, text, text
) IS
    'Why mnemo.recall_plan answers as it does: the up to 20 nearest live plans that the acting agent '
    'may read and that have the same context, from minimum_threshold on, and the one that is '
    'replayed if it comes later, best first. shared_tokens, '
    'only_asked and only_stored compare the signatures; guard_differences says in words what the '
    'guard holds against the plan; state is its consolidation state. verdict: replayed (what '
    'recall_plan returns), outranked (a better one is there), guarded, stale (a chunk that it cites '
    'changed; not with p_stale include), retired, below_threshold. Where words give no hit and p_embedding is '
    'given, the plans that it finds come first, with their cosine, which is NULL else. Without any '
    'candidate one row with id NULL and the verdict none_similar, disabled or blank_query. Reads '
    'only; slower than recall_plan, because it looks far below the threshold. Errors: those of '
    'mnemo.recall_plan.';
