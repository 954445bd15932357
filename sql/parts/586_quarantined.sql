CREATE FUNCTION mnemo.quarantined(
    p_limit bigint DEFAULT 100,
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
    memory_type text,
    scope text,
    source_type text,
    is_plan boolean,
    reason text,
    content text,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    expires_at timestamptz,
    content_hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_is_admin boolean;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    v_is_admin := v_caller.level = 'admin';
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY q.id DESC), q.*
      FROM (
        SELECT m.id, m.org_id, m.origin_org_id, m.agent_id, m.memory_type, m.scope,
               m.source_type, m.tags @> ARRAY[mnemo._reserved_tag()], m.quarantine_reason,
               CASE WHEN v_is_admin THEN m.content END,
               CASE WHEN v_is_admin THEN m.metadata END,
               m.version, m.created_at, m.expires_at, m.content_hash
          FROM mnemo.memory AS m
         WHERE m.org_id IN (v_caller.org_id, '*') AND m.origin_org_id = v_caller.org_id
           AND m.quarantined AND m.deleted_at IS NULL
           AND (m.agent_id = v_caller.agent_id OR v_is_admin AND p_agent_id IS NULL)
           AND (p_after IS NULL OR m.id < p_after)
         ORDER BY m.id DESC
         LIMIT p_limit
      ) AS q
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.quarantined(bigint, uuid, text, text) IS
    'The records, plans included, that the rules against poisoning hold back, newest first: those '
    'of the acting agent; for administrators who name no agent all of the organisation. reason: '
    'the rules that it hit, with their weights. content and metadata are shown to administrators '
    'alone, NULL to others, so that no agent reads what was held back from it. p_limit: 1 to 1000 '
    'rows; p_after: the last id of the page before. Errors: 42501 no access; 22023 bad argument.';
