CREATE FUNCTION mnemo._refused_ranked(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_size integer,
    p_keys bigint[],
    p_sketch bit varying,
    p_long_sketch bit varying,
    p_delegating boolean
)
RETURNS TABLE (
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision,
    considered bigint
)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT c.org_id, c.plan_id, c.similarity, count(*) OVER ()
      FROM (
        -- Thousands of plans made from one template may be refused; the reason needs one. So key by
        -- key, up to a limit; the test of similarity stands before it, so that others cannot crowd
        -- it out.
        SELECT DISTINCT r.org_id, r.plan_id, r.standing, r.outcome_score, r.created_at,
               r.similarity
          FROM (
            SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at,
                   f.standing,
                   t.shared::double precision / (s.size + p_size - t.shared) AS similarity
              FROM unnest(p_keys) AS k(key)
              CROSS JOIN LATERAL mnemo._similar(
                    ARRAY[k.key], (p_call).org_id, (p_call).audiences, (p_call).context,
                    (p_call).asked_at, p_sketch, p_long_sketch, p_size,
                    (p_call).threshold) AS s
              CROSS JOIN LATERAL (
                SELECT mnemo._shared_tokens(s.signature, (p_call).signature) AS shared OFFSET 0
              ) AS t
              CROSS JOIN LATERAL mnemo._standing_for(
                    s.org_id, s.plan_id, s.standing, (p_call).org_id) AS f
             WHERE NOT mnemo._agrees(
                    s, (p_call).guard, p_meaning, p_values, p_names, (p_call).signature)
               AND s.endurance >= (p_call).retire
               AND t.shared::double precision / (s.size + p_size - t.shared) >= (p_call).threshold
               -- What others did not delegate must not crowd it out either.
               AND (NOT p_delegating OR s.audience <> ALL ((p_call).audiences[5:]) OR EXISTS (
                    SELECT FROM mnemo._counts(
                        s.org_id, s.plan_id, (p_call).asked_at, true, s.audience, (p_call).agent_id,
                        (p_call).context)))
             LIMIT 200
          ) AS r
      ) AS c
      CROSS JOIN LATERAL mnemo._counts(
            c.org_id, c.plan_id, (p_call).asked_at, false, NULL, NULL, NULL)
     ORDER BY c.similarity DESC, c.org_id = '*', c.standing DESC, c.outcome_score DESC,
              c.created_at DESC, c.plan_id DESC
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._refused_ranked(
    mnemo._recall_input, bigint, bigint, text[], integer, bigint[], bit varying, bit varying,
    boolean
) IS
    'The row of _refused_plan for similar plans, given what _probe says for the plain keys; p_size: '
    'tokens in the signature; p_delegating: as for _identical_all.';

CREATE FUNCTION mnemo._refused_plan(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean
)
RETURNS TABLE (
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision,
    considered bigint
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_call.signature);
    v_probe record;
BEGIN
    IF p_identical THEN
        -- What the guard refuses it refuses stale or not.
        p_call.stale := 'include';
        RETURN QUERY
        SELECT i.org_ids[1], i.plan_ids[1], 1::double precision, 1::bigint
          FROM mnemo._identical_plans(p_call, 'off', NULL, NULL, 1) AS i
         WHERE cardinality(i.plan_ids) = 1;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    v_probe := mnemo._probe(p_call, p_call.threshold, 0);
    IF cardinality(p_call.audiences) > 4 THEN
        RETURN QUERY
        SELECT r.*
          FROM mnemo._refused_ranked(
                p_call, p_meaning, p_values, p_names, v_size, v_probe.keys, v_probe.sketch,
                v_probe.long_sketch, true) AS r;
    ELSE
        RETURN QUERY
        SELECT r.*
          FROM mnemo._refused_ranked(
                p_call, p_meaning, p_values, p_names, v_size, v_probe.keys, v_probe.sketch,
                v_probe.long_sketch, false) AS r;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._refused_plan(mnemo._recall_input, bigint, bigint, text[], boolean) IS
    'For a miss: the best plan that reaches the threshold and that the guard refuses, retired ones '
    'aside, no row where there is none. Identical signatures first, unless p_identical says that there is none; of '
    'similar ones it looks at the first 200, so with more it need not be the very best.';

CREATE FUNCTION mnemo._stale_plan(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean,
    p_similar boolean,
    OUT org_id text,
    OUT plan_id uuid,
    OUT similarity double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_call.stale := 'include';
    p_call.row_limit := 1;
    IF p_identical THEN
        SELECT i.org_ids[1], i.plan_ids[1], 1 INTO org_id, plan_id, similarity
          FROM mnemo._identical_plans(p_call, p_call.guard, p_meaning, p_values, 1) AS i;
    END IF;
    IF plan_id IS NULL AND p_similar THEN
        SELECT m.org_id, m.plan_id, m.similarity INTO org_id, plan_id, similarity
          FROM mnemo._match_plans(p_call, p_meaning, p_values, p_names, false) AS m;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._stale_plan(
    mnemo._recall_input, bigint, bigint, text[], boolean, boolean
) IS
    'For a miss: the plan that would be the hit if stale ones counted; NULL where there is none. '
    'p_identical, p_similar: where it can be.';
