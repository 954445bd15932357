CREATE FUNCTION mnemo._recall(
    p_call mnemo._recall_input,
    p_identical boolean
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1
AS $fn$
DECLARE
    v_read record := mnemo._guard(p_call.query);
    v_match record;
    v_near record;
    v_refused record;
BEGIN
    rank := 0;
    FOR v_match IN
        SELECT m.*
          FROM mnemo._match_plans(
                p_call, v_read.meaning, v_read.vals, v_read.names, p_identical) AS m
    LOOP
        org_id := v_match.org_id;
        plan_id := v_match.plan_id;
        similarity := v_match.similarity;
        candidates_considered := v_match.considered;
        rank := rank + 1;
        IF plan_id IS NOT NULL THEN
            stale := p_call.stale = 'include'
                AND mnemo._is_stale(org_id, plan_id, p_call.asked_at);
            reason := CASE WHEN similarity = 1 THEN 'exact' ELSE 'similar' END;
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF p_call.embedding IS NOT NULL THEN
            FOR v_near IN
                SELECT s.*
                  FROM mnemo._semantic_plans(p_call, v_read.meaning, v_read.vals, v_read.names) AS s
            LOOP
                candidates_considered := v_match.considered + v_near.considered;
                EXIT WHEN v_near.plan_id IS NULL;
                org_id := v_near.org_id;
                plan_id := v_near.plan_id;
                similarity := v_near.similarity;
                reason := v_near.reason;
                stale := p_call.stale = 'include'
                    AND mnemo._is_stale(org_id, plan_id, p_call.asked_at);
                RETURN NEXT;
                rank := rank + 1;
            END LOOP;
            IF plan_id IS NOT NULL THEN
                RETURN;
            END IF;
        END IF;
        reason := 'none_similar';
        stale := false;
        IF v_match.stale OR p_identical AND p_call.stale = 'refuse' THEN
            SELECT s.* INTO v_refused
              FROM mnemo._stale_plan(p_call, v_read.meaning, v_read.vals, v_read.names,
                    p_identical, v_match.stale) AS s;
            IF v_refused.plan_id IS NOT NULL THEN
                reason := 'stale';
                stale := true;
                candidates_considered := greatest(candidates_considered, 1);
                near_miss := mnemo._stale_near_miss(v_refused.org_id, v_refused.plan_id,
                    v_refused.similarity, p_call.asked_at);
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;
        v_refused := v_match;
        -- Where the guard is in the keys, they led to few of the plans that it refuses.
        IF v_match.retired IS NOT TRUE AND p_call.guard = 'strict'
            AND v_read.meaning # v_read.vals <> 0
        THEN
            SELECT r.* INTO v_refused
              FROM mnemo._refused_plan(
                    p_call, v_read.meaning, v_read.vals, v_read.names, p_identical) AS r;
            candidates_considered := greatest(candidates_considered, v_refused.considered);
        END IF;
        IF v_refused.refused_plan_id IS NOT NULL THEN
            reason := CASE WHEN v_match.retired THEN 'retired' ELSE 'guarded' END;
            near_miss := mnemo._near_miss(v_refused.refused_org_id, v_refused.refused_plan_id,
                v_refused.refused_similarity, p_call.query, p_call.guard);
        ELSIF p_call.embedding IS NOT NULL THEN
            reason := v_near.reason;
            near_miss := v_near.near_miss;
            stale := reason = 'stale';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall(mnemo._recall_input, boolean) IS
    'What recall_plan and recall_plans share. One row a hit, or one row with the reason of the miss. '
    'p_identical false: no plan has the same signature.';
