-- Plans with the very signature, of all audiences: the statements of _best_identical and
-- _identical_plans.

CREATE FUNCTION mnemo._identical_all(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_limit bigint,
    p_fresh boolean,
    p_delegating boolean
)
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.org_id, i.plan_id
      FROM (
        SELECT o.org_id, o.plan_id, o.standing, o.outcome_score, o.created_at
          FROM unnest(CASE WHEN p_delegating
                   THEN (p_call).audiences[1:3] || (p_call).audiences[5:]
                   ELSE (p_call).audiences[1:3] END) WITH ORDINALITY AS a(audience, place)
          CROSS JOIN LATERAL mnemo._identical(
                (p_call).org_id, a.audience, (p_call).signature, (p_call).digest,
                p_meaning, (p_call).context, (p_call).asked_at, p_limit,
                p_delegating AND a.place > 3, (p_call).agent_id, p_fresh, (p_call).retire,
                NULL) AS o
        UNION ALL
        SELECT g.org_id, g.plan_id, g.standing, g.outcome_score, g.created_at
          FROM mnemo._identical(
                '*', (p_call).audiences[4], (p_call).signature, (p_call).digest,
                p_meaning, (p_call).context, (p_call).asked_at, p_limit, false, NULL, p_fresh,
                (p_call).retire, NULL) AS g
      ) AS i
     ORDER BY i.org_id = '*', i.standing DESC, i.outcome_score DESC, i.created_at DESC,
              i.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical_all(
    mnemo._recall_input, bigint, bigint, boolean, boolean
) IS
    'The best live plans with the same signature, and with this meaning unless it is NULL, that the '
    'agent may read, in the order of _match_plans; retired ones aside, with p_fresh stale ones too. '
    'p_delegating, a constant: whether others delegated to the agent. To few they did, and starting the statement '
    'with the rules of delegation in it costs more than the look-ups.';

CREATE FUNCTION mnemo._identical_all_guarded(
    p_call mnemo._recall_input,
    p_guards bigint,
    p_limit bigint,
    p_fresh boolean,
    p_delegating boolean
)
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.org_id, i.plan_id
      FROM (
        SELECT o.org_id, o.plan_id, o.standing, o.outcome_score, o.created_at
          FROM unnest(CASE WHEN p_delegating
                   THEN (p_call).audiences[1:3] || (p_call).audiences[5:]
                   ELSE (p_call).audiences[1:3] END) WITH ORDINALITY AS a(audience, place)
          CROSS JOIN LATERAL mnemo._identical_guarded(
                (p_call).org_id, a.audience, (p_call).signature, (p_call).digest # p_guards,
                (p_call).context, (p_call).asked_at, p_limit, p_delegating AND a.place > 3,
                (p_call).agent_id, p_fresh, (p_call).retire, NULL) AS o
        UNION ALL
        SELECT g.org_id, g.plan_id, g.standing, g.outcome_score, g.created_at
          FROM mnemo._identical_guarded(
                '*', (p_call).audiences[4], (p_call).signature, (p_call).digest # p_guards,
                (p_call).context, (p_call).asked_at, p_limit, false, NULL, p_fresh,
                (p_call).retire, NULL) AS g
      ) AS i
     ORDER BY i.org_id = '*', i.standing DESC, i.outcome_score DESC, i.created_at DESC,
              i.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical_all_guarded(
    mnemo._recall_input, bigint, bigint, boolean, boolean
) IS
    'The best live plans with the same signature and the guard that is in p_guards that the agent '
    'may read, in the order of _match_plans; retired ones aside, with p_fresh stale ones too. '
    'p_delegating, a constant: whether others delegated to the agent. To few they did, and starting the statement '
    'with the rules of delegation in it costs more than the look-ups.';

CREATE FUNCTION mnemo._best_answers(
    p_call mnemo._recall_input,
    p_fresh boolean,
    p_delegating boolean
)
RETURNS SETOF mnemo._best_answer
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT b.id, b.content, b.steps, nullif(b.details, 'null'), b.chunk_ids, b.outcome_score,
           b.agent_id, b.scope, b.created_at,
           EXISTS (SELECT FROM mnemo._failures_for((p_call).audiences) AS f),
           CASE WHEN NOT p_fresh AND b.chunk_ids <> '{}'
                     AND (b.content = (p_call).query OR (p_call).guard = 'off')
               THEN EXISTS (
                    SELECT
                      FROM mnemo._cited_by(
                            b.org_id, b.id, b.origin_org_id, b.chunk_source, b.chunk_ids,
                            b.read_at, b.created_at, b.memory_versions) AS p
                      CROSS JOIN LATERAL mnemo._chunks_changed(
                            p.org_id, p.source, p.chunk_ids, p.since, p.then_versions,
                            (p_call).asked_at) AS c)
               ELSE false END
      FROM (SELECT) AS one
      LEFT JOIN (
        SELECT m.org_id, m.id, m.content, m.agent_id, m.scope, m.created_at, m.origin_org_id, p.*
          FROM mnemo._identical_all(p_call, NULL, 1, p_fresh, p_delegating) AS i
          CROSS JOIN LATERAL (
            SELECT k.*
              FROM mnemo.memory AS k
             WHERE k.org_id = i.org_id AND k.id = i.plan_id
            OFFSET 0
          ) AS m
          CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
            steps text[], details jsonb, chunk_ids text[], outcome_score double precision,
            chunk_source text, read_at bigint, memory_versions bigint[])
      ) AS b ON true;
END;
COMMENT ON FUNCTION mnemo._best_answers(mnemo._recall_input, boolean, boolean) IS
    'The one row of _best_identical, but for what organisations reported of global plans.';
