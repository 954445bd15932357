CREATE FUNCTION mnemo._refused_plan(
    p_signature text[],
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_threshold double precision,
    p_context text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
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
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_signature);
    v_digest bigint := mnemo._hash64(array_to_string(p_signature, ' '));
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, p_context);
    v_global bigint := mnemo._audience('global', NULL, NULL, p_context);
BEGIN
    RETURN QUERY
    WITH exact AS MATERIALIZED (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM unnest(v_audiences) AS a(audience)
          CROSS JOIN LATERAL mnemo._identical(
                p_org_id, a.audience, p_signature, v_digest, NULL, p_context, p_now, 1) AS e
        UNION ALL
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM mnemo._identical(
                '*', v_global, p_signature, v_digest, NULL, p_context, p_now, 1) AS e
    ), probe AS MATERIALIZED (
        SELECT mnemo._probe_keys(h.hashes, p_threshold, v_audiences) AS keys,
               mnemo._probe_keys(h.hashes, p_threshold, ARRAY[v_global]) AS global_keys,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(1)) AS sketch,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(33)) AS long_sketch
          FROM (SELECT mnemo._ordered_hashes(p_signature) AS hashes OFFSET 0) AS h
         WHERE NOT EXISTS (SELECT FROM exact)
    ), candidate AS MATERIALIZED (
        -- Thousands of plans made from one template may be refused; the reason needs one. The test
        -- of similarity stands before the limit, so that others cannot crowd it out.
        (SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at,
                mnemo._jaccard(s.signature, p_signature) AS similarity
           FROM probe AS p
           CROSS JOIN LATERAL mnemo._similar(
                p_org_id, v_audiences, p.keys, p_context, p_now, p.sketch,
                p.long_sketch, v_size, p_threshold) AS s
          WHERE NOT mnemo._agrees(s, p_guard, p_meaning, p_values, p_names, p_signature)
            AND mnemo._jaccard(s.signature, p_signature) >= p_threshold
          LIMIT 200)
        UNION ALL
        (SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at,
                mnemo._jaccard(s.signature, p_signature) AS similarity
           FROM probe AS p
           CROSS JOIN LATERAL mnemo._similar(
                '*', ARRAY[v_global], p.global_keys, p_context, p_now, p.sketch,
                p.long_sketch, v_size, p_threshold) AS s
          WHERE NOT mnemo._agrees(s, p_guard, p_meaning, p_values, p_names, p_signature)
            AND mnemo._jaccard(s.signature, p_signature) >= p_threshold
          LIMIT 200)
    ), found AS (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at,
               1::double precision AS similarity
          FROM exact AS e
        UNION ALL
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at, c.similarity
          FROM candidate AS c
    )
    SELECT f.org_id, f.plan_id, f.similarity, count(*) OVER ()
      FROM found AS f
     ORDER BY f.similarity DESC, f.org_id = '*', f.outcome_score DESC, f.created_at DESC,
              f.plan_id DESC
     LIMIT 1;
END
$fn$;
COMMENT ON FUNCTION mnemo._refused_plan(
    text[], text, bigint, bigint, text[], double precision, text, text, text, timestamptz
) IS
    'For a miss: the best plan that reaches the threshold and that the guard refuses, no row where '
    'there is none. Identical signatures first; of similar ones it looks at the first 200 of the '
    'organisation and of the global plans, so with more it need not be the very best.';
