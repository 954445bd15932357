CREATE FUNCTION mnemo.list_failures(
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
    steps text[],
    details jsonb,
    chunk_ids text[],
    reason text,
    context text,
    tags text[],
    thread_id text,
    source_id text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.id DESC), p.id, p.org_id, p.origin_org_id,
           p.owner_agent_id, p.scope, p.query, p.steps, p.details, p.chunk_ids, p.reason,
           p.context, p.tags, p.thread_id, p.source_id, p.version, p.created_at, p.updated_at,
           p.expires_at
      FROM mnemo._plan_page(v_caller.org_id, v_caller.agent_id, true,
            coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), p_limit,
            statement_timestamp()) AS v
      CROSS JOIN LATERAL mnemo._plan_of(v.org_id, v.id) AS p
     ORDER BY v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.list_failures(bigint, uuid, text, text) IS
    'What not to do that the acting agent may read, as mnemo.remember_failure stored it, newest first '
    '(by id), the mode of experience memory aside. p_limit: 1 to 1000. p_after: id of the last row '
    'of the page before, NULL for the first page. Errors: 42501 no access; 22023 bad limit.';
