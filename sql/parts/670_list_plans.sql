CREATE FUNCTION mnemo.get_plan(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    scope text,
    query text,
    signature_tokens text[],
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    context text,
    tags text[],
    thread_id text,
    source_id text,
    consolidation_state text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    uses bigint,
    successes bigint,
    failures bigint,
    last_success boolean,
    last_reported_at timestamptz,
    standing double precision,
    retired boolean
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    RETURN QUERY
    SELECT p.id, p.org_id, p.origin_org_id, p.owner_agent_id, p.scope, p.query,
           p.signature_tokens, p.steps, p.details, p.chunk_ids, p.outcome_score, p.context,
           p.tags, p.thread_id, p.source_id, p.consolidation_state, p.version, p.created_at,
           p.updated_at, p.expires_at, f.uses, f.successes, f.failures, f.last_success,
           f.last_reported_at, f.standing, f.endurance < mnemo._retire_threshold(v_caller.org_id)
      FROM mnemo._held(
            v_caller.org_id, v_caller.agent_id, ARRAY[p_id], statement_timestamp()) AS h
      CROSS JOIN LATERAL mnemo._plan_of(h.org_id, h.id) AS p
      CROSS JOIN LATERAL mnemo._fare(h.org_id, h.id, v_caller.org_id, true) AS f
     WHERE p.reason IS NULL;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.get_plan(uuid, text, text) IS
    'One plan that the acting agent may read, the mode of experience memory aside. uses, successes, '
    'failures: what agents of its owner''s organisation and of the caller''s reported with '
    'mnemo.record_plan_outcome; last_success and last_reported_at are of the latest report, NULL for '
    'none; standing: what ranks it among plans of equal similarity, 0 to 1; retired: no recall of the '
    'organisation replays it. Errors: 42501 no access; MN001 unknown, gone, invisible, or no plan '
    '(what not to do is none: mnemo.list_failures); 22023 NULL.';

CREATE FUNCTION mnemo._plan_page(
    p_org_id text,
    p_agent_id text,
    p_failures boolean,
    p_before uuid,
    p_limit bigint,
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 50
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all calls: to make one costs ten times what a page does. The planner does not know
-- what share of records are plans, and is not to sort all for a page.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    -- The limit in each branch: each is read from its index only as far as it goes.
    (SELECT m.org_id, m.id
       FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
      WHERE m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures AND m.id < p_before
      ORDER BY m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.org_id, m.id
       FROM mnemo._visible_public(p_org_id, p_agent_id, p_now) AS m
      WHERE m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures AND m.id < p_before
      ORDER BY m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.org_id, m.id
       FROM mnemo._visible_granted(p_org_id, p_agent_id, p_now) AS m
      WHERE m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures AND m.id < p_before
      ORDER BY m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT o.org_id, o.id
       FROM mnemo._delegated_lists(p_org_id, p_agent_id, NULL, p_now) AS l
      CROSS JOIN LATERAL (
        (SELECT m.org_id, m.id
           FROM mnemo._visible_own(p_org_id, l.giver, p_now) AS m
          WHERE l.kind = 'owner' AND m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures
            AND m.id < p_before AND m.scope = 'shared'
            AND EXISTS (
                SELECT FROM mnemo._delegated(
                    m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.org_id, m.id
           FROM mnemo.acl AS a
          CROSS JOIN LATERAL mnemo._record(p_org_id, a.memory_id) AS m
          WHERE l.kind = 'grantee' AND a.org_id = p_org_id AND a.agent_id = l.giver
            AND a.permission = 'share' AND a.memory_id < p_before
            AND m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures AND mnemo._is_live(m, p_now)
            AND EXISTS (
                SELECT FROM mnemo._delegated(
                    m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.id DESC
          LIMIT p_limit)
      ) AS o)
    UNION ALL
    (SELECT m.org_id, m.id
       FROM mnemo._visible_global(p_now) AS m
      WHERE m.tags @> ARRAY['__experience_plan__']
        AND mnemo._is_failure(m) = p_failures AND m.id < p_before
      ORDER BY m.id DESC
      LIMIT p_limit)
    ORDER BY id DESC
    LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_page(text, text, boolean, uuid, bigint, timestamptz) IS
    'The keys of at most p_limit plans, or (p_failures) failures, that the agent may read, below an '
    'id, from the highest down.';

CREATE FUNCTION mnemo.list_plans(
    p_limit bigint DEFAULT 50,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    scope text,
    query text,
    signature_tokens text[],
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    context text,
    tags text[],
    thread_id text,
    source_id text,
    consolidation_state text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    uses bigint,
    successes bigint,
    failures bigint,
    last_success boolean,
    last_reported_at timestamptz,
    standing double precision,
    retired boolean
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_threshold double precision;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    v_threshold := mnemo._retire_threshold(v_caller.org_id);
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.id DESC), p.id, p.org_id, p.origin_org_id,
           p.owner_agent_id, p.scope, p.query, p.signature_tokens, p.steps, p.details, p.chunk_ids,
           p.outcome_score, p.context, p.tags, p.thread_id, p.source_id, p.consolidation_state,
           p.version, p.created_at, p.updated_at, p.expires_at, f.uses, f.successes, f.failures,
           f.last_success, f.last_reported_at, f.standing, f.endurance < v_threshold
      FROM mnemo._plan_page(v_caller.org_id, v_caller.agent_id, false,
            coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), p_limit,
            statement_timestamp()) AS v
      CROSS JOIN LATERAL mnemo._plan_of(v.org_id, v.id) AS p
      CROSS JOIN LATERAL mnemo._fare(v.org_id, v.id, v_caller.org_id, true) AS f
     ORDER BY v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.list_plans(bigint, uuid, text, text) IS
    'The plans that the acting agent may read, newest first (by id), the mode of experience memory '
    'aside, retired ones too, with how they fare as mnemo.get_plan. p_limit: 1 to 1000. p_after: id of the last row of the page before, NULL for the first '
    'page. Errors: 42501 no access; 22023 bad limit.';
