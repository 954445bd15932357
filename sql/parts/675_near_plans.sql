-- Plans near a question by their embeddings: for questions that words do not answer. What words ask of
-- a plan (who may see it, context, life, guard) is asked of these too, by the same functions.

CREATE FUNCTION mnemo._few_plans(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_most bigint
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- From the indexes of memory alone; those whose time has come count too.
    RETURN (
        SELECT count(*)
          FROM (
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.scope = 'public' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = '*' AND m.scope = 'global' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.acl AS a
              WHERE a.org_id = p_org_id AND a.agent_id = p_agent_id
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE EXISTS (
                    SELECT FROM mnemo.delegation AS d
                     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
                       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
                AND m.org_id = p_org_id AND m.deleted_at IS NULL
                AND m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            LIMIT p_most + 1
          ) AS x
    ) <= p_most;
END
$fn$;
COMMENT ON FUNCTION mnemo._few_plans(text, text, timestamptz, bigint) IS
    'Whether the agent sees p_most plans at most. To whom something is delegated, those of the whole '
    'organisation count.';

CREATE FUNCTION mnemo._visible_plan_ids(
    p_call mnemo._recall_input,
    OUT ids uuid[],
    OUT global_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    SELECT array_agg(m.id) FILTER (WHERE m.org_id <> '*'),
           array_agg(m.id) FILTER (WHERE m.org_id = '*')
      INTO ids, global_ids
      FROM mnemo._visible(p_call.org_id, p_call.agent_id, p_call.asked_at) AS m
     WHERE m.tags @> ARRAY['__experience_plan__'];
END
$fn$;
COMMENT ON FUNCTION mnemo._visible_plan_ids(mnemo._recall_input) IS
    'Every plan that the agent may read, of whatever context.';

CREATE FUNCTION mnemo._guarded_plan_ids(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    OUT ids uuid[],
    OUT global_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    -- The keys of every size that there is.
    v_probe record := mnemo._probe(p_call, 0.00001, p_meaning # p_values);
BEGIN
    SELECT array_agg(s.plan_id) FILTER (WHERE s.org_id <> '*'),
           array_agg(s.plan_id) FILTER (WHERE s.org_id = '*')
      INTO ids, global_ids
      FROM (
        SELECT k.* FROM mnemo.plan_signature AS k WHERE k.keys && v_probe.keys OFFSET 0
      ) AS s
     WHERE (s.org_id = p_call.org_id OR s.org_id = '*') AND s.audience = ANY (p_call.audiences)
       AND s.guard_meaning = p_meaning AND s.guard_values = p_values;
END
$fn$;
COMMENT ON FUNCTION mnemo._guarded_plan_ids(mnemo._recall_input, bigint, bigint) IS
    'The plans of the caller''s audiences with this guard, which is not the empty one.';

CREATE TYPE mnemo._near_plan AS (
    org_id text,
    plan_id uuid,
    similarity double precision,
    against text,
    standing double precision,
    outcome_score double precision,
    created_at timestamptz
);
COMMENT ON TYPE mnemo._near_plan IS
    'A plan near a question, its cosine, and what speaks against it: guarded, retired, stale where the '
    'call refuses that, or NULL.';

CREATE FUNCTION mnemo._judged_plans(
    p_call mnemo._recall_input,
    p_near mnemo._neighbour[],
    p_meaning bigint,
    p_values bigint,
    p_names text[]
)
RETURNS SETOF mnemo._near_plan
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT s.org_id, s.plan_id, n.similarity,
           CASE WHEN NOT mnemo._agrees(
                    s, p_call.guard, p_meaning, p_values, p_names, p_call.signature) THEN 'guarded'
                WHEN s.endurance < p_call.retire THEN 'retired'
                WHEN p_call.stale = 'refuse'
                     AND mnemo._is_stale(s.org_id, s.plan_id, p_call.asked_at) THEN 'stale' END,
           f.standing,
           s.outcome_score, s.created_at
      FROM (
        SELECT DISTINCT u.org_id, u.id, mnemo._round_score(1 - u.distance) AS similarity
          FROM unnest(p_near) AS u
         WHERE mnemo._round_score(1 - u.distance)
               >= p_call.semantic_threshold - p_call.semantic_margin
      ) AS n
      CROSS JOIN LATERAL (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.org_id = n.org_id AND k.plan_id = n.id AND k.audience = ANY (p_call.audiences)
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts(
            s.org_id, s.plan_id, p_call.asked_at, s.audience = ANY (p_call.audiences[5:]),
            s.audience, p_call.agent_id, p_call.context)
      CROSS JOIN LATERAL mnemo._standing_for(
            s.org_id, s.plan_id, s.standing, p_call.org_id) AS f
     WHERE s.context IS NOT DISTINCT FROM p_call.context
       AND (s.expires_at IS NULL OR s.expires_at > p_call.asked_at);
END
$fn$;
COMMENT ON FUNCTION mnemo._judged_plans(
    mnemo._recall_input, mnemo._neighbour[], bigint, bigint, text[]
) IS
    'Those of these plans that are not more than semantic_margin below semantic_threshold and that '
    'recall may look at: live, of the caller''s audiences and context.';
