CREATE FUNCTION mnemo._match_plans(
    p_signature text[],
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
    rank bigint
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: planning would cost more than the look-up. Compilation never pays.
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_signature);
    v_digest bigint := mnemo._hash64(array_to_string(p_signature, ' '));
    v_audiences bigint[] := ARRAY[
        mnemo._audience('owner', p_org_id, p_agent_id, p_context),
        mnemo._audience('public', p_org_id, NULL, p_context),
        mnemo._audience('grantee', p_org_id, p_agent_id, p_context)
    ];
    v_global bigint := mnemo._audience('global', NULL, NULL, p_context);
    -- The share of both sizes that the overlap must reach, a little lower: see _probe_keys.
    v_share double precision := (p_threshold - 1e-9) / (1 + p_threshold - 1e-9);
    v_least integer := ceil((p_threshold - 1e-9) * v_size);
    v_most integer := least(floor(v_size / (p_threshold - 1e-9)), 20000);
BEGIN
    RETURN QUERY
    WITH exact AS MATERIALIZED (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at
          FROM unnest(v_audiences) AS a(audience)
          CROSS JOIN LATERAL (
            SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at
              FROM mnemo.plan_signature AS s
              JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
             WHERE s.org_id = p_org_id AND m.org_id = p_org_id
               AND s.audience = a.audience AND s.digest = v_digest
               AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
               AND (s.expires_at IS NULL OR s.expires_at > p_now)
               AND mnemo._is_live(m, p_now)
             ORDER BY s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
             LIMIT p_limit
          ) AS e
         UNION ALL
        (SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at
           FROM mnemo.plan_signature AS s
           JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
          WHERE s.org_id = '*' AND m.org_id = '*'
            AND s.audience = v_global AND s.digest = v_digest
            AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
            AND (s.expires_at IS NULL OR s.expires_at > p_now)
            AND mnemo._is_live(m, p_now)
          ORDER BY s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
          LIMIT p_limit)
    ), probe AS MATERIALIZED (
        -- No row once identical plans fill the answer: nothing can beat them.
        SELECT mnemo._probe_keys(h.hashes, p_threshold, v_audiences) AS keys,
               mnemo._probe_keys(h.hashes, p_threshold, ARRAY[v_global]) AS global_keys,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(1)) AS sketch,
               mnemo._sketch(h.hashes, mnemo._sketch_bits(33)) AS long_sketch
          FROM (SELECT mnemo._ordered_hashes(p_signature) AS hashes OFFSET 0) AS h
         WHERE (SELECT count(*) FROM exact) < p_limit
    ), candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.signature, s.size, s.outcome_score, s.created_at
          FROM probe AS p
          JOIN mnemo.plan_signature AS s ON s.keys && p.keys
          JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
         WHERE s.org_id = p_org_id AND m.org_id = p_org_id AND mnemo._is_live(m, p_now)
           AND s.audience = ANY (v_audiences)
           AND s.context IS NOT DISTINCT FROM p_context
           AND (s.expires_at IS NULL OR s.expires_at > p_now)
           AND mnemo._may_reach(s.sketch, s.size, p.sketch, p.long_sketch, v_size, v_share)
           AND s.size BETWEEN v_least AND v_most
           AND NOT (s.digest = v_digest AND s.signature = p_signature)
         UNION ALL
        SELECT s.org_id, s.plan_id, s.signature, s.size, s.outcome_score, s.created_at
          FROM probe AS p
          JOIN mnemo.plan_signature AS s ON s.keys && p.global_keys
          JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
         WHERE s.org_id = '*' AND m.org_id = '*' AND mnemo._is_live(m, p_now)
           AND s.audience = v_global
           AND s.context IS NOT DISTINCT FROM p_context
           AND (s.expires_at IS NULL OR s.expires_at > p_now)
           AND mnemo._may_reach(s.sketch, s.size, p.sketch, p.long_sketch, v_size, v_share)
           AND s.size BETWEEN v_least AND v_most
           AND NOT (s.digest = v_digest AND s.signature = p_signature)
    ), overlap AS (
        SELECT c.org_id, c.plan_id, count(*) AS shared
          FROM candidate AS c
          CROSS JOIN LATERAL unnest(c.signature) AS t(token)
          JOIN unnest(p_signature) AS q(token) ON q.token = t.token
         GROUP BY c.org_id, c.plan_id
    ), scored AS (
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at,
               o.shared::double precision / (c.size + v_size - o.shared) AS similarity
          FROM candidate AS c
          JOIN overlap AS o ON o.org_id = c.org_id AND o.plan_id = c.plan_id
         WHERE o.shared::double precision / (c.size + v_size - o.shared) >= p_threshold
    ), found AS (
        SELECT e.org_id, e.plan_id, e.outcome_score, e.created_at,
               1::double precision AS similarity
          FROM exact AS e
         UNION ALL
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at, c.similarity
          FROM scored AS c
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
        SELECT least((SELECT count(*) FROM exact), p_limit) + (SELECT count(*) FROM candidate)
            AS considered
    )
    SELECT b.org_id, b.plan_id, b.similarity, n.considered, b.rank
      FROM counted AS n
      LEFT JOIN best AS b ON true
     ORDER BY b.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo._match_plans(
    text[], double precision, text, bigint, text, text, timestamptz
) IS
    'The best p_limit live plans that the agent may read, written for the same context, with '
    'Jaccard similarity of at least p_threshold to the signature: by similarity, plans of the '
    'organisation before global ones, outcome score, newest, id. considered counts the plans that '
    'were scored and stands in every row; without a hit there is one row with it and NULL.';

CREATE FUNCTION mnemo._may_reach(
    p_sketch bit varying,
    p_size integer,
    p_query_sketch bit varying,
    p_query_long_sketch bit varying,
    p_query_size integer,
    p_share double precision
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The widths of the two sketches follow from the plan's size, see _sketch_bits.
RETURN CASE WHEN p_size <= 32 THEN
    bit_count(p_sketch & ~p_query_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
ELSE
    bit_count(p_sketch & ~p_query_long_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_long_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
END;
COMMENT ON FUNCTION mnemo._may_reach(
    bit varying, integer, bit varying, bit varying, integer, double precision
) IS
    'Whether the sketches allow the overlap of p_share of both sizes; true for every pair that '
    'reaches it.';
