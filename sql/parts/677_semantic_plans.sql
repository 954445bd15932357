CREATE FUNCTION mnemo._rival(
    p_call mnemo._recall_input,
    p_plans mnemo._near_plan[],
    p_best mnemo._near_plan
)
RETURNS mnemo._near_plan
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_payload jsonb := (
        SELECT mnemo._payload(m) FROM mnemo._record(p_best.org_id, p_best.plan_id) AS m
    );
    v_rival mnemo._near_plan;
BEGIN
    SELECT n.* INTO v_rival
      FROM unnest(p_plans) AS n
      CROSS JOIN LATERAL mnemo._record(n.org_id, n.plan_id) AS m
     WHERE n.against IS NULL
       AND n.similarity > p_best.similarity - p_call.semantic_margin
       AND mnemo._payload(m) -> 'steps' <> v_payload -> 'steps'
       -- Of the same words with other steps the outcome decides.
       AND mnemo._payload(m) -> 'signature_tokens' <> v_payload -> 'signature_tokens'
     ORDER BY n.similarity DESC, n.org_id = '*', n.standing DESC, n.outcome_score DESC,
              n.created_at DESC, n.plan_id DESC
     LIMIT 1;
    RETURN v_rival;
END
$fn$;
COMMENT ON FUNCTION mnemo._rival(mnemo._recall_input, mnemo._near_plan[], mnemo._near_plan) IS
    'The nearest plan for another question with other steps that is within semantic_margin of the '
    'best: the question lies between them, and neither is sure. NULL for none.';

CREATE FUNCTION mnemo._rival_near_miss(
    p_best mnemo._near_plan,
    p_rival mnemo._near_plan,
    p_query text
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._near_miss(p_best.org_id, p_best.plan_id, p_best.similarity, p_query, 'off')
        || jsonb_build_object('rival', mnemo._near_miss(
            p_rival.org_id, p_rival.plan_id, p_rival.similarity, p_query, 'off') - 'differences');
END
$fn$;
COMMENT ON FUNCTION mnemo._rival_near_miss(mnemo._near_plan, mnemo._near_plan, text) IS
    'Two plans between which a question lies, as recall_plan shows them: the nearer one, and in '
    'rival the other.';

CREATE FUNCTION mnemo._semantic_plans(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[]
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    considered bigint,
    reason text,
    near_miss jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- In the order of _match_plans; those that something speaks against come last, and first of them
    -- what would have been the hit.
    v_plans mnemo._near_plan[] := ARRAY(
        SELECT n
          FROM mnemo._near_plans(p_call, p_meaning, p_values, p_names) AS n
         ORDER BY array_position(ARRAY['stale', 'retired', 'guarded'], n.against) NULLS FIRST,
                  n.similarity DESC, n.org_id = '*', n.standing DESC, n.outcome_score DESC,
                  n.created_at DESC, n.plan_id DESC
    );
    v_best mnemo._near_plan := v_plans[1];
    v_rival mnemo._near_plan;
BEGIN
    considered := cardinality(v_plans);
    reason := 'none_similar';
    IF v_best.similarity >= p_call.semantic_threshold AND v_best.against IS NULL THEN
        v_rival := mnemo._rival(p_call, v_plans, v_best);
        IF v_rival.plan_id IS NULL THEN
            RETURN QUERY
            SELECT p.org_id, p.plan_id, p.similarity, considered, 'semantic'::text, NULL::jsonb
              FROM unnest(v_plans) WITH ORDINALITY AS p
             WHERE p.against IS NULL AND p.similarity >= p_call.semantic_threshold
             ORDER BY p.ordinality
             LIMIT p_call.row_limit;
            RETURN;
        END IF;
        reason := 'ambiguous';
        near_miss := mnemo._rival_near_miss(v_best, v_rival, p_call.query);
    ELSE
        SELECT p.* INTO v_best
          FROM unnest(v_plans) WITH ORDINALITY AS p
         WHERE p.against IS NOT NULL AND p.similarity >= p_call.semantic_threshold
         ORDER BY p.ordinality
         LIMIT 1;
        reason := coalesce(v_best.against, reason);
        near_miss := CASE WHEN reason = 'stale' THEN mnemo._stale_near_miss(
                v_best.org_id, v_best.plan_id, v_best.similarity, p_call.asked_at)
            ELSE mnemo._near_miss(v_best.org_id, v_best.plan_id, v_best.similarity,
                p_call.query, p_call.guard) END;
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo._semantic_plans(mnemo._recall_input, bigint, bigint, text[]) IS
    'The best plans by embeddings, for questions that words do not answer: similarity is the cosine, '
    'at least semantic_threshold; the order is that of _match_plans. Without a hit one row with the '
    'reason and the plan that it speaks of. Either all or none: where the best has a rival there is '
    'no hit.';
