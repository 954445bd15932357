CREATE FUNCTION mnemo._limit_problem(
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_limit BETWEEN 1 AND 1000) IS NOT TRUE THEN
        RETURN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 1000; got %s', coalesce(p_limit::text, 'NULL')),
            'page through larger results');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._limit_problem(bigint) IS
    'The problem of a number of rows outside 1 to 1000, NULL included; NULL for none.';

CREATE FUNCTION mnemo.get_memories(
    p_ids uuid[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    "position" bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    content text,
    memory_type text,
    scope text,
    importance double precision,
    tags text[],
    metadata jsonb,
    source_type text,
    source_id text,
    thread_id text,
    created_by text,
    consolidation_state text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    aliases text[],
    location text,
    confidence double precision,
    status text,
    valid_from timestamptz,
    valid_to timestamptz,
    temporal_scope text,
    version bigint,
    prev_version_id uuid,
    access_count bigint,
    last_accessed_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    content_hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
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
    PERFORM mnemo._raise_problem(mnemo._ids_problem('p_ids', p_ids));
    RETURN QUERY
    SELECT t.place, m.id, m.org_id, m.origin_org_id, m.agent_id, m.content, m.memory_type, m.scope,
           m.importance, m.tags, m.metadata, m.source_type, m.source_id, m.thread_id, m.created_by,
           m.consolidation_state, m.kind, m.subject, m.predicate, m.entities, m.aliases, m.location,
           m.confidence, m.status, m.valid_from, m.valid_to, m.temporal_scope, m.version,
           m.prev_version_id, m.access_count, m.last_accessed_at, m.created_at, m.updated_at,
           m.expires_at, m.content_hash
      FROM (
        SELECT u.id, min(u.place) AS place
          FROM unnest(p_ids) WITH ORDINALITY AS u(id, place)
         GROUP BY u.id
      ) AS t
      JOIN mnemo._visible_among(
            p_ids, v_caller.org_id, v_caller.agent_id, statement_timestamp()) AS m
        ON m.id = t.id
     ORDER BY t.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.get_memories(uuid[], text, text) IS
    'The records, plans included, of these ids that the acting agent may read, each once, in the '
    'order of p_ids; position is the place in p_ids, from 1. Ids that are unknown, gone or '
    'invisible give no row. Errors: 42501 no access; 22023 NULL, empty list, NULL element; 54000 '
    'over 10,000 ids.';
