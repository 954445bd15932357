CREATE FUNCTION mnemo._best_identical(
    p_call mnemo._recall_input,
    p_fresh boolean
)
RETURNS mnemo._best_answer
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments, as planning would cost more than the look-up; good for any number of
-- plans, though it may be made while there are few. Compilation never pays.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_best mnemo._best_answer;
BEGIN
    IF cardinality(p_call.audiences) > 4 THEN
        SELECT b.* INTO v_best FROM mnemo._best_answers(p_call, p_fresh, true) AS b;
    ELSE
        SELECT b.* INTO v_best FROM mnemo._best_answers(p_call, p_fresh, false) AS b;
    END IF;
    -- No report changes the place of a plan before one of the organisation, or whether there is one.
    IF v_best.scope = 'global' THEN
        IF EXISTS (SELECT FROM mnemo._reported(p_call.org_id, p_call.digest) AS r) THEN
            SELECT p.*, v_best.warned,
                   NOT p_fresh AND (p.query = p_call.query OR p_call.guard = 'off')
                   AND mnemo._is_stale('*', p.id, p_call.asked_at)
              INTO v_best
              FROM unnest(mnemo._identical_global(p_call, 'off', NULL, NULL, 1, p_fresh))
                   AS g(plan_id)
              CROSS JOIN LATERAL mnemo._answer('*', g.plan_id) AS p;
        END IF;
    END IF;
    RETURN v_best;
END
$fn$;
COMMENT ON FUNCTION mnemo._best_identical(mnemo._recall_input, boolean) IS
    'The best plan with the same signature that the agent may read, whatever its guard, retired ones '
    'aside, with p_fresh among those that are not stale; NULL where there is none. warned: whether '
    'there are failures that the agent might have to be warned of. Where its text is the very text '
    'asked, nothing can beat it and the guard has nothing to compare; stale: that, or any with the '
    'guard off, is stale.';

CREATE FUNCTION mnemo._identical_plans(
    p_call mnemo._recall_input,
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_limit bigint,
    OUT org_ids text[],
    OUT plan_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_delegating boolean := cardinality(p_call.audiences) > 4;
    v_own integer;
BEGIN
    IF p_guard = 'strict' AND NOT v_delegating THEN
        SELECT array_agg(i.org_id), array_agg(i.plan_id) INTO org_ids, plan_ids
          FROM mnemo._identical_all_guarded(
                p_call, p_meaning # p_values, p_limit, p_call.stale = 'refuse', false) AS i;
    ELSIF p_guard = 'strict' THEN
        SELECT array_agg(i.org_id), array_agg(i.plan_id) INTO org_ids, plan_ids
          FROM mnemo._identical_all_guarded(
                p_call, p_meaning # p_values, p_limit, p_call.stale = 'refuse', true) AS i;
    ELSIF v_delegating THEN
        SELECT array_agg(i.org_id), array_agg(i.plan_id) INTO org_ids, plan_ids
          FROM mnemo._identical_all(
                p_call, CASE p_guard WHEN 'meaning' THEN p_meaning END, p_limit,
                p_call.stale = 'refuse', true) AS i;
    ELSE
        SELECT array_agg(i.org_id), array_agg(i.plan_id) INTO org_ids, plan_ids
          FROM mnemo._identical_all(
                p_call, CASE p_guard WHEN 'meaning' THEN p_meaning END, p_limit,
                p_call.stale = 'refuse', false) AS i;
    END IF;
    org_ids := coalesce(org_ids, '{}');
    plan_ids := coalesce(plan_ids, '{}');
    v_own := array_position(org_ids, '*') - 1;
    IF v_own IS NOT NULL THEN
        IF EXISTS (SELECT FROM mnemo._reported(p_call.org_id, p_call.digest) AS r) THEN
            plan_ids := plan_ids[:v_own] || mnemo._identical_global(
                p_call, p_guard, p_meaning, p_values, p_limit - v_own, p_call.stale = 'refuse');
        END IF;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._identical_plans(mnemo._recall_input, text, bigint, bigint, bigint) IS
    'The best p_limit live plans with the same signature that the agent may read and whose guard '
    'agrees, stale ones only if the call includes them, in the order of _match_plans: no other plan can beat them. A statement of its own, '
    'because starting the one of _match_plans costs more.';

CREATE FUNCTION mnemo._match_plans(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    considered bigint,
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision,
    stale boolean,
    retired boolean
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_call.signature);
    v_org_ids text[] := '{}';
    v_plan_ids uuid[] := '{}';
    v_probe record;
BEGIN
    IF p_identical THEN
        SELECT i.org_ids, i.plan_ids INTO v_org_ids, v_plan_ids
          FROM mnemo._identical_plans(
                p_call, p_call.guard, p_meaning, p_values, p_call.row_limit) AS i;
        IF cardinality(v_plan_ids) = p_call.row_limit THEN
            RETURN QUERY
            SELECT e.org_id, e.plan_id, 1::double precision, p_call.row_limit, NULL::text,
                   NULL::uuid, NULL::double precision, false, false
              FROM unnest(v_org_ids, v_plan_ids) WITH ORDINALITY AS e(org_id, plan_id, place)
             ORDER BY e.place;
            RETURN;
        END IF;
    END IF;
    v_probe := mnemo._probe(
        p_call, p_call.threshold,
        -- Other guards than strict are no part of the keys: they look at all and filter.
        CASE p_call.guard WHEN 'strict' THEN p_meaning # p_values ELSE 0 END);
    IF cardinality(p_call.audiences) > 4 THEN
        RETURN QUERY
        SELECT r.*
          FROM mnemo._ranked_plans(
                p_call, p_meaning, p_values, p_names, v_size, v_probe.keys, v_probe.sketch,
                v_probe.long_sketch, v_org_ids, v_plan_ids, true) AS r;
    ELSE
        RETURN QUERY
        SELECT r.*
          FROM mnemo._ranked_plans(
                p_call, p_meaning, p_values, p_names, v_size, v_probe.keys, v_probe.sketch,
                v_probe.long_sketch, v_org_ids, v_plan_ids, false) AS r;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._match_plans(mnemo._recall_input, bigint, bigint, text[], boolean) IS
    'The best live plans that the agent may read, written for the same context, that agree on the '
    'guard and, unless the call includes them, are not stale, '
    'with Jaccard similarity of at least the threshold to the signature: by similarity, '
    'plans of the organisation before global ones, standing, outcome score, newest, id. p_identical false: '
    'none has the same signature. considered counts the plans that were scored and stands in every '
    'row; without a hit there is one row with it and NULL, and with the best plan that is '
    'retired (retired true), else the best that the guard refused among those that its keys led to: '
    'where the guard is in the keys, _refused_plan looks for the others. stale: there is no hit because what was found is stale.';
