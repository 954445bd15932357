CREATE TYPE mnemo._recall_filter AS (
    types text[],
    scope text,
    tags text[],
    tags_all boolean,
    min_importance double precision,
    thread_id text,
    source_types text[],
    since timestamptz,
    until timestamptz,
    as_of timestamptz,
    kinds text[],
    holds_at timestamptz,
    valid_since timestamptz,
    valid_until timestamptz
);
COMMENT ON TYPE mnemo._recall_filter IS
    'The filters of mnemo.recall and mnemo.retrieve; a NULL lets all records pass. holds_at: facts '
    'that hold at that time, neither superseded nor retracted.';

CREATE FUNCTION mnemo._passes(
    p_record mnemo.memory,
    p_filter mnemo._recall_filter
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN NOT (p_record).tags @> ARRAY['__experience_plan__']
    AND ((p_filter).types IS NULL OR (p_record).memory_type = ANY ((p_filter).types))
    AND ((p_filter).scope IS NULL OR (p_record).scope = (p_filter).scope)
    AND ((p_filter).tags IS NULL
        OR CASE WHEN (p_filter).tags_all THEN (p_record).tags @> (p_filter).tags
           ELSE (p_record).tags && (p_filter).tags END)
    AND ((p_filter).min_importance IS NULL
        OR (p_record).importance >= (p_filter).min_importance)
    AND ((p_filter).thread_id IS NULL OR (p_record).thread_id = (p_filter).thread_id)
    AND ((p_filter).source_types IS NULL
        OR (p_record).source_type = ANY ((p_filter).source_types))
    AND ((p_filter).since IS NULL OR (p_record).created_at >= (p_filter).since)
    AND ((p_filter).until IS NULL OR (p_record).created_at < (p_filter).until)
    AND ((p_filter).as_of IS NULL OR (p_record).created_at <= (p_filter).as_of)
    AND ((p_filter).kinds IS NULL OR (p_record).kind = ANY ((p_filter).kinds))
    AND ((p_filter).holds_at IS NULL
        OR (p_record).status = 'active' AND (p_record).valid_from <= (p_filter).holds_at
            AND ((p_record).valid_to IS NULL OR (p_record).valid_to > (p_filter).holds_at))
    AND ((p_filter).valid_since IS NULL OR (p_record).valid_from >= (p_filter).valid_since)
    AND ((p_filter).valid_until IS NULL OR (p_record).valid_from < (p_filter).valid_until);
COMMENT ON FUNCTION mnemo._passes(mnemo.memory, mnemo._recall_filter) IS
    'Whether a record is no plan and passes the filters.';

CREATE FUNCTION mnemo._record(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The fence keeps this a look-up by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.* FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = p_id OFFSET 0;
END;
COMMENT ON FUNCTION mnemo._record(text, uuid) IS 'The record with this key, in any state.';

CREATE FUNCTION mnemo._counts_delegated(
    p_record mnemo.memory,
    p_list bigint,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
-- Apart, so that nobody pays for it to whom nothing is delegated.
AS $fn$
BEGIN
    RETURN EXISTS (
        SELECT FROM mnemo._delegated(p_record, p_list, p_org_id, p_agent_id, NULL, p_now));
END
$fn$;
COMMENT ON FUNCTION mnemo._counts_delegated(mnemo.memory, bigint, text, text, timestamptz) IS
    'Whether _delegated gives a row.';

CREATE FUNCTION mnemo._recallable_record(
    p_audience bigint,
    p_list bigint,
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- What _visible says, for one record: which way the agent sees it is known, and a look-up by key.
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo._record(p_org_id, p_id) AS m
     WHERE p_audience <> 4 AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
       AND CASE p_audience
           WHEN 1 THEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                   AND m.scope <> 'public'
           WHEN 2 THEN m.scope = 'public'
           WHEN 3 THEN m.scope = 'shared' AND m.agent_id <> p_agent_id AND EXISTS (
                SELECT
                  FROM (
                    SELECT a.expires_at
                      FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = p_id AND a.agent_id = p_agent_id
                    OFFSET 0
                  ) AS g
                 WHERE g.expires_at IS NULL OR g.expires_at > p_now
           )
           ELSE mnemo._counts_delegated(m, p_list, p_org_id, p_agent_id, p_now)
           END
    UNION ALL
    SELECT m.*
      FROM mnemo._record('*', p_id) AS m
     WHERE p_audience = 4 AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter);
END;
COMMENT ON FUNCTION mnemo._recallable_record(
    bigint, bigint, uuid, text, text, timestamptz, mnemo._recall_filter
) IS
    'The record, if one that a list of the term index names is one that the agent may read, passes '
    'the filters, and belongs to that list''s audience: 1 the owner, 2 the organisation, 3 a '
    'grantee, 4 everyone, from 5 on those of agents that delegated, p_list being the hash of that '
    'audience. So a record counts in one list only, and what an index still names counts in none.';

CREATE FUNCTION mnemo._recallable(
    p_audience bigint,
    p_list bigint,
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.id
      FROM mnemo._recallable_record(
            p_audience, p_list, p_id, p_org_id, p_agent_id, p_now, p_filter) AS m;
END;
COMMENT ON FUNCTION mnemo._recallable(
    bigint, bigint, uuid, text, text, timestamptz, mnemo._recall_filter
) IS 'One row if _recallable_record gives one.';
