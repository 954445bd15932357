CREATE FUNCTION mnemo._explain_candidates(
    p_query text,
    p_signature text[],
    p_guard text,
    p_threshold double precision,
    p_least double precision,
    p_context text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
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
    v_hashes bigint[] := mnemo._ordered_hashes(p_signature);
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, p_context);
    v_global bigint := mnemo._audience('global', NULL, NULL, p_context);
    v_sketch bit varying := mnemo._sketch(v_hashes, mnemo._sketch_bits(1));
    v_long_sketch bit varying := mnemo._sketch(v_hashes, mnemo._sketch_bits(33));
    v_read record;
BEGIN
    SELECT g.meaning, g.vals, g.names INTO v_read FROM mnemo._guard(p_query) AS g;
    RETURN QUERY
    WITH candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.signature, s.outcome_score, s.created_at,
               mnemo._agrees(s, p_guard, v_read.meaning, v_read.vals, v_read.names,
                   p_signature) AS agrees
          FROM mnemo._similar(
                p_org_id, v_audiences, mnemo._probe_keys(v_hashes, p_least, v_audiences),
                p_context, p_now, v_sketch, v_long_sketch, cardinality(p_signature), p_least) AS s
        UNION ALL
        SELECT s.org_id, s.plan_id, s.signature, s.outcome_score, s.created_at,
               mnemo._agrees(s, p_guard, v_read.meaning, v_read.vals, v_read.names,
                   p_signature) AS agrees
          FROM mnemo._similar(
                '*', ARRAY[v_global], mnemo._probe_keys(v_hashes, p_least, ARRAY[v_global]),
                p_context, p_now, v_sketch, v_long_sketch, cardinality(p_signature), p_least) AS s
    ), scored AS (
        SELECT c.*, mnemo._jaccard(c.signature, p_signature) AS similarity FROM candidate AS c
    ), ranked AS (
        SELECT s.*,
               s.agrees AND s.similarity >= p_threshold AS fits,
               row_number() OVER (
                   ORDER BY s.similarity DESC, s.org_id = '*', s.outcome_score DESC,
                            s.created_at DESC, s.plan_id DESC
               ) AS place
          FROM scored AS s
         WHERE s.similarity >= p_least
    ), nearest AS (
        -- What is replayed is always shown, however many were refused before it.
        SELECT r.*
          FROM ranked AS r
         WHERE r.place <= 20 OR r.place = (SELECT min(f.place) FROM ranked AS f WHERE f.fits)
    ), judged AS (
        SELECT n.*, m.content, m.consolidation_state,
               mnemo._guard_differences(p_query, m.content, p_guard) AS differences
          FROM nearest AS n
          JOIN mnemo.memory AS m ON m.org_id = n.org_id AND m.id = n.plan_id
    )
    SELECT o.place, o.plan_id, o.content, o.similarity, o.outcome_score,
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token = ANY (p_signature)),
           ARRAY(SELECT t.token FROM unnest(p_signature) AS t(token)
                  WHERE t.token <> ALL (o.signature)),
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token <> ALL (p_signature)),
           o.differences, o.consolidation_state, p_threshold,
           CASE WHEN o.similarity < p_threshold THEN 'below_threshold'
                WHEN NOT o.fits THEN 'guarded'
                WHEN o.place = min(o.place) FILTER (WHERE o.fits) OVER () THEN 'replayed'
                ELSE 'outranked' END
      FROM judged AS o
     ORDER BY o.place;
END
$fn$;
COMMENT ON FUNCTION mnemo._explain_candidates(
    text, text[], text, double precision, double precision, text, text, text, timestamptz
) IS
    'The 20 nearest live plans that the agent may read, from similarity p_least on, and the one that '
    'is replayed, each with its verdict.';

CREATE FUNCTION mnemo.explain_recall_plan(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL
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
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 20
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call record;
BEGIN
    SELECT * INTO v_call
      FROM mnemo._recall_call(
            p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1);
    IF v_call.reason IS NULL THEN
        RETURN QUERY
        SELECT e.*
          FROM mnemo._explain_candidates(
                p_query, v_call.signature, v_call.guard, v_call.threshold,
                least(v_call.threshold,
                    mnemo._setting('minimum_threshold', v_call.org_id)::double precision),
                p_context, v_call.org_id, v_call.agent_id, statement_timestamp()) AS e;
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
    text, text, text, double precision, text, text
) IS
    'Why mnemo.recall_plan answers as it does: the up to 20 nearest live plans that the acting agent '
    'may read and that have the same context, from minimum_threshold on, and the one that is '
    'replayed if it comes later, best first. shared_tokens, '
    'only_asked and only_stored compare the signatures; guard_differences says in words what the '
    'guard holds against the plan; state is its consolidation state. verdict: replayed (what '
    'recall_plan returns), outranked (a better one is there), guarded, below_threshold. Without any '
    'candidate one row with id NULL and the verdict none_similar, disabled or blank_query. Reads '
    'only; slower than recall_plan, because it looks far below the threshold. Errors: those of '
    'mnemo.recall_plan.';
