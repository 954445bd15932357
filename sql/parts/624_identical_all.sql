-- Plans with the very signature, of all audiences: statements of _best_identical and _identical_plans.

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
                p_meaning, (p_call).context, (p_call).asked_at, p_limit, p_delegating AND a.place > 3,
                (p_call).agent_id, p_fresh, (p_call).retire, NULL) AS o
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
    'The best live plans with the same signature that the agent may read, and with this meaning unless it is NULL, '
    'in the order of _match_plans; retired ones aside, p_fresh: and stale ones. p_delegating, a '
    'constant: whether others delegated to the agent. Few did, and to start the statement with '
    'their rules in it costs more than all the rest of it.';

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
    'The best live plans with the same signature that the agent may read, and the guard that is in p_guards, '
    'in the order of _match_plans; retired ones aside, p_fresh: and stale ones. p_delegating, a '
    'constant: whether others delegated to the agent. Few did, and to start the statement with '
    'their rules in it costs more than all the rest of it.';
