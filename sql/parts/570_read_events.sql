CREATE FUNCTION mnemo._events_problem(
    p_org_id text,
    p_agent_id text,
    p_types text[],
    p_since timestamptz,
    p_until timestamptz,
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._identifier_problem('p_org_id', p_org_id),
        CASE WHEN p_agent_id IS NOT NULL THEN
            mnemo._identifier_problem('p_agent_id', p_agent_id)
        END,
        mnemo._label_list_problem('p_types', 'event_type', p_types),
        CASE WHEN p_until <= p_since THEN
            mnemo._argument('p_until', 'p_until must be after p_since', 'leave one of them out')
        END,
        mnemo._limit_problem(p_limit)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._events_problem(
    text, text, text[], timestamptz, timestamptz, bigint
) IS 'The first problem of the arguments of mnemo.read_events; NULL for none.';

CREATE FUNCTION mnemo.read_events(
    p_types text[] DEFAULT NULL,
    p_memory_id uuid DEFAULT NULL,
    p_since timestamptz DEFAULT NULL,
    p_until timestamptz DEFAULT NULL,
    p_limit bigint DEFAULT 100,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    agent_id text,
    event_type text,
    memory_org_id text,
    memory_id uuid,
    actor_org_id text,
    actor_agent_id text,
    happened_at timestamptz,
    content_hash bytea,
    changes jsonb,
    note text,
    seq bigint,
    hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- A page is read from the end of the key, also where no statistics say how long the log is.
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    p_org_id := coalesce(p_org_id, mnemo._setting('default_org_id', NULL));
    PERFORM mnemo._raise_problem(
        mnemo._events_problem(p_org_id, p_agent_id, p_types, p_since, p_until, p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY e.id DESC), e.id, e.org_id, e.agent_id, e.event_type,
           e.memory_org_id, e.memory_id, e.actor_org_id, e.actor_agent_id, e.happened_at,
           e.content_hash, e.changes, n.note, e.seq, e.hash
      FROM (
        (SELECT v.*
           FROM mnemo.event AS v
          WHERE p_memory_id IS NULL
            AND v.org_id = p_org_id
            AND v.id < coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            AND (p_agent_id IS NULL OR v.agent_id = p_agent_id)
            AND (p_types IS NULL OR v.event_type = ANY (p_types))
            AND (p_since IS NULL OR v.happened_at >= p_since)
            AND (p_until IS NULL OR v.happened_at < p_until)
          ORDER BY v.id DESC
          LIMIT p_limit)
        UNION ALL
        -- A record has few events: they are found first and sorted then.
        (SELECT v.*
           FROM (
            SELECT m.*
              FROM mnemo.event AS m
             WHERE m.memory_org_id IN (p_org_id, '*') AND m.memory_id = p_memory_id
            OFFSET 0
           ) AS v
          WHERE v.org_id = p_org_id
            AND (p_after IS NULL OR v.id < p_after)
            AND (p_agent_id IS NULL OR v.agent_id = p_agent_id)
            AND (p_types IS NULL OR v.event_type = ANY (p_types))
            AND (p_since IS NULL OR v.happened_at >= p_since)
            AND (p_until IS NULL OR v.happened_at < p_until)
          ORDER BY v.id DESC
          LIMIT p_limit)
      ) AS e
      LEFT JOIN mnemo.event_note AS n ON n.org_id = e.org_id AND n.event_id = e.id
     ORDER BY e.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.read_events(
    text[], uuid, timestamptz, timestamptz, bigint, uuid, text, text
) IS
    'The events of one organisation, newest first, with their notes; rank counts from 1. p_org_id: '
    'the organisation of the owners, NULL the setting default_org_id. NULL elsewhere is no filter: '
    'p_types any of these event types, p_memory_id the record, p_since (inclusive) and p_until '
    '(exclusive) the start of the transaction that acted, p_agent_id the owner. p_limit: 1 to 1000 '
    'rows; p_after: the last id of the page before. note is NULL where none was given or where it '
    'was erased; seq and hash are NULL until the event is sealed. Level admin only. Errors: 42501 '
    'not an administrator; 22023 ill-formed name, unknown event type, p_until not after p_since, '
    'p_limit not from 1 to 1000.';
