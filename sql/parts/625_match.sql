CREATE FUNCTION mnemo._best_identical(
    p_signature text[],
    p_guarded_digest bigint,
    p_context text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, p_context);
BEGIN
    RETURN QUERY
    SELECT e.org_id, e.plan_id
      FROM unnest(v_audiences) AS a(audience)
      CROSS JOIN LATERAL mnemo._identical_guarded(
            p_org_id, a.audience, p_signature, p_guarded_digest, p_context, p_now, 1) AS e
     ORDER BY e.outcome_score DESC, e.created_at DESC, e.plan_id DESC
     LIMIT 1;
END
$fn$;
COMMENT ON FUNCTION mnemo._best_identical(text[], bigint, text, text, text, timestamptz) IS
    'The plan of the organisation that no other can beat: the same signature and guard, the best '
    'outcome. No row where there is none. A statement of its own, because starting the one of '
    '_match_plans costs more than these look-ups.';

CREATE FUNCTION mnemo._match_plans(
    p_signature text[],
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_threshold double precision,
    p_context text,
    p_limit bigint,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    considered bigint,
    rank bigint,
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments, as planning would cost more than the look-up; good for any number of
-- plans, though it may be made while there are few. Compilation never pays.
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
    -- What the guard adds to digest and keys; other guards than strict look at all and filter.
    v_mix bigint := CASE p_guard WHEN 'strict' THEN p_meaning # p_values ELSE 0 END;
    v_strict boolean := p_guard = 'strict';
    v_meaning bigint := CASE p_guard WHEN 'meaning' THEN p_meaning END;
BEGIN
    IF p_limit = 1 AND v_strict THEN
        RETURN QUERY
        SELECT i.org_id, i.plan_id, 1::double precision, 1::bigint, 1::bigint, NULL::text, NULL::uuid,
               NULL::double precision
          FROM mnemo._best_identical(
                p_signature, v_digest # v_mix, p_context, p_org_id, p_agent_id, p_now) AS i;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
    WITH exact AS MATERIALIZED (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM unnest(v_audiences) AS a(audience)
          CROSS JOIN LATERAL mnemo._identical_guarded(
                p_org_id, a.audience, p_signature, v_digest # v_mix, p_context, p_now, p_limit) AS e
         WHERE v_strict
        UNION ALL
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM mnemo._identical_guarded(
                '*', v_global, p_signature, v_digest # v_mix, p_context, p_now, p_limit) AS e
         WHERE v_strict
        UNION ALL
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM unnest(v_audiences) AS a(audience)
          CROSS JOIN LATERAL mnemo._identical(
                p_org_id, a.audience, p_signature, v_digest, v_meaning, p_context, p_now,
                p_limit) AS e
         WHERE NOT v_strict
        UNION ALL
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM mnemo._identical(
                '*', v_global, p_signature, v_digest, v_meaning, p_context, p_now, p_limit) AS e
         WHERE NOT v_strict
    ), probe AS MATERIALIZED (
        -- No row once identical plans fill the answer: nothing can beat them.
        SELECT mnemo._probe_keys(h.hashes, p_threshold,
                   ARRAY(SELECT a.audience # v_mix FROM unnest(v_audiences) AS a(audience))
               ) AS keys,
               mnemo._probe_keys(h.hashes, p_threshold, ARRAY[v_global # v_mix]) AS global_keys,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(1)) AS sketch,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(33)) AS long_sketch
          FROM (SELECT mnemo._ordered_hashes(p_signature) AS hashes OFFSET 0) AS h
         WHERE (SELECT count(*) FROM exact) < p_limit
    ), candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.signature, s.size, s.outcome_score, s.created_at, g.agrees
          FROM probe AS p
          CROSS JOIN LATERAL mnemo._similar(
                p_org_id, v_audiences, p.keys, p_context, p_now, p.sketch,
                p.long_sketch, v_size, p_threshold) AS s
          CROSS JOIN LATERAL (
            SELECT mnemo._agrees(s, p_guard, p_meaning, p_values, p_names, p_signature) AS agrees
          ) AS g
         WHERE NOT (g.agrees AND s.digest = v_digest AND s.signature = p_signature)
        UNION ALL
        SELECT s.org_id, s.plan_id, s.signature, s.size, s.outcome_score, s.created_at, g.agrees
          FROM probe AS p
          CROSS JOIN LATERAL mnemo._similar(
                '*', ARRAY[v_global], p.global_keys, p_context, p_now, p.sketch,
                p.long_sketch, v_size, p_threshold) AS s
          CROSS JOIN LATERAL (
            SELECT mnemo._agrees(s, p_guard, p_meaning, p_values, p_names, p_signature) AS agrees
          ) AS g
         WHERE NOT (g.agrees AND s.digest = v_digest AND s.signature = p_signature)
    ), overlap AS (
        SELECT c.org_id, c.plan_id, count(*) AS shared
          FROM candidate AS c
          CROSS JOIN LATERAL unnest(c.signature) AS t(token)
          JOIN unnest(p_signature) AS q(token) ON q.token = t.token
         GROUP BY c.org_id, c.plan_id
    ), reached AS MATERIALIZED (
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at, c.agrees,
               o.shared::double precision / (c.size + v_size - o.shared) AS similarity
          FROM candidate AS c
          JOIN overlap AS o ON o.org_id = c.org_id AND o.plan_id = c.plan_id
         WHERE o.shared::double precision / (c.size + v_size - o.shared) >= p_threshold
    ), found AS (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at,
               1::double precision AS similarity
          FROM exact AS e
        UNION ALL
        SELECT r.org_id, r.plan_id, r.outcome_score, r.created_at, r.similarity
          FROM reached AS r
         WHERE r.agrees
    ), refused AS (
        SELECT r.org_id, r.plan_id, r.similarity
          FROM reached AS r
         WHERE NOT r.agrees AND NOT EXISTS (SELECT FROM found)
         ORDER BY r.similarity DESC, r.org_id = '*', r.outcome_score DESC, r.created_at DESC,
                  r.plan_id DESC
         LIMIT 1
    ), best AS (
        SELECT f.org_id, f.plan_id, f.similarity,
               row_number() OVER (
                   ORDER BY f.similarity DESC, f.org_id = '*', f.outcome_score DESC,
                            f.created_at DESC, f.plan_id DESC
               ) AS rank
          FROM found AS f
         ORDER BY rank
         LIMIT p_limit
    ), counted AS (
        SELECT least((SELECT count(*) FROM exact), p_limit)
               + (SELECT count(*) FROM candidate AS c WHERE c.agrees)
               + (SELECT count(*) FROM refused) AS considered
    )
    SELECT b.org_id, b.plan_id, b.similarity, n.considered, b.rank, r.org_id, r.plan_id,
           r.similarity
      FROM counted AS n
      LEFT JOIN best AS b ON true
      LEFT JOIN refused AS r ON true
     ORDER BY b.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo._match_plans(
    text[], text, bigint, bigint, text[], double precision, text, bigint, text, text, timestamptz
) IS
    'The best p_limit live plans that the agent may read, written for the same context, that agree '
    'on the guard, with Jaccard similarity of at least p_threshold to the signature: by similarity, '
    'plans of the organisation before global ones, outcome score, newest, id. considered counts the '
    'plans that were scored and stands in every row; without a hit there is one row with it and '
    'NULL, and with the best plan that the guard refused among those that its keys led to: where '
    'the guard is in the keys, _refused_plan looks for the others.';
