-- The statement of _match_plans.

CREATE FUNCTION mnemo._ranked_plans(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_size integer,
    p_keys bigint[],
    p_sketch bit varying,
    p_long_sketch bit varying,
    p_org_ids text[],
    p_plan_ids uuid[],
    p_delegating boolean
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
LANGUAGE sql STABLE PARALLEL SAFE ROWS 5
BEGIN ATOMIC
    WITH candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.size, s.standing, s.outcome_score, s.created_at, g.agrees,
               s.endurance < (p_call).retire AS retired,
               mnemo._shared_tokens(s.signature, (p_call).signature) AS shared
          FROM mnemo._similar(
                p_keys, (p_call).org_id, (p_call).audiences, (p_call).context, (p_call).asked_at,
                p_sketch, p_long_sketch, p_size, (p_call).threshold) AS s
          CROSS JOIN LATERAL mnemo._counts(
                s.org_id, s.plan_id, (p_call).asked_at,
                p_delegating AND s.audience = ANY ((p_call).audiences[5:]), s.audience,
                (p_call).agent_id, (p_call).context)
          CROSS JOIN LATERAL (
            SELECT mnemo._agrees(s, (p_call).guard, p_meaning, p_values, p_names,
                       (p_call).signature) AS agrees
          ) AS g
         WHERE NOT (g.agrees AND s.digest = (p_call).digest AND s.signature = (p_call).signature
                    AND s.endurance >= (p_call).retire)
    ), reached AS MATERIALIZED (
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at, c.agrees, c.retired,
               f.standing,
               c.shared::double precision / (c.size + p_size - c.shared) AS similarity
          FROM candidate AS c
          CROSS JOIN LATERAL mnemo._standing_for(
                c.org_id, c.plan_id, c.standing, (p_call).org_id) AS f
         WHERE c.shared::double precision / (c.size + p_size - c.shared) >= (p_call).threshold
    ), found AS (
        SELECT e.org_id, e.plan_id, 1::double precision AS similarity, e.place,
               e.org_id = '*' AS is_global, NULL AS standing, NULL AS outcome_score,
               NULL AS created_at
          FROM unnest(p_org_ids, p_plan_ids) WITH ORDINALITY AS e(org_id, plan_id, place)
        UNION ALL
        SELECT r.org_id, r.plan_id, r.similarity, NULL AS place, r.org_id = '*', r.standing,
               r.outcome_score, r.created_at
          FROM reached AS r
         WHERE r.agrees AND NOT r.retired
    ), best AS (
        SELECT f.*
          FROM (
            -- In order behind a fence, so that only the chunks of those that would win are looked
            -- at.
            SELECT o.*
              FROM found AS o
             ORDER BY o.similarity DESC, o.place, o.is_global, o.standing DESC,
                      o.outcome_score DESC, o.created_at DESC, o.plan_id DESC
            OFFSET 0
          ) AS f
         WHERE (p_call).stale = 'include' OR f.place IS NOT NULL
            OR NOT mnemo._is_stale(f.org_id, f.plan_id, (p_call).asked_at)
         ORDER BY f.similarity DESC, f.place, f.is_global, f.standing DESC,
                  f.outcome_score DESC, f.created_at DESC, f.plan_id DESC
         LIMIT (p_call).row_limit
    ), refused AS (
        -- A retired plan would have been the hit; one that the guard refuses would not.
        SELECT r.org_id, r.plan_id, r.similarity, r.retired
          FROM reached AS r
         WHERE r.agrees = r.retired AND cardinality(p_plan_ids) = 0
           AND NOT EXISTS (SELECT FROM reached AS o WHERE o.agrees AND NOT o.retired)
         ORDER BY r.retired DESC, r.similarity DESC, r.org_id = '*', r.standing DESC,
                  r.outcome_score DESC, r.created_at DESC, r.plan_id DESC
         LIMIT 1
    )
    SELECT b.org_id, b.plan_id, b.similarity,
           cardinality(p_plan_ids)
           + (SELECT count(*) FROM candidate AS c WHERE c.agrees AND NOT c.retired)
           + CASE WHEN r.plan_id IS NULL THEN 0 ELSE 1 END,
           r.org_id, r.plan_id, r.similarity,
           b.plan_id IS NULL AND EXISTS (
                SELECT FROM reached AS o WHERE o.agrees AND NOT o.retired),
           r.retired
      -- At least one row.
      FROM (SELECT) AS one
      LEFT JOIN best AS b ON true
      LEFT JOIN refused AS r ON true
     ORDER BY b.similarity DESC, b.place, b.is_global, b.standing DESC, b.outcome_score DESC,
              b.created_at DESC, b.plan_id DESC;
END;
COMMENT ON FUNCTION mnemo._ranked_plans(
    mnemo._recall_input, bigint, bigint, text[], integer, bigint[], bit varying, bit varying,
    text[], uuid[], boolean
) IS
    'The rows of _match_plans, given what _probe says and the plans of _identical_plans; '
    'p_size: tokens in the signature; p_delegating: as for _identical_all.';
