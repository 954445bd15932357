CREATE FUNCTION mnemo._agents_problem(
    p_parameter text,
    p_agents text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_agent text;
BEGIN
    IF p_agents IS NULL OR cardinality(p_agents) = 0 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must name at least one agent',
            'pass the agents as an array');
    ELSIF array_ndims(p_agents) = 1 THEN
        FOREACH v_agent IN ARRAY p_agents LOOP
            IF NOT mnemo._is_identifier(v_agent) AND v_agent IS NOT NULL THEN
                RETURN mnemo._identifier_problem(p_parameter, v_agent);
            END IF;
        END LOOP;
    END IF;
    RETURN mnemo._list_problem(p_parameter, p_agents, 10000, NULL, 'agents');
END
$fn$;
COMMENT ON FUNCTION mnemo._agents_problem(text, text[]) IS
    'The problem of a list of agents: NULL, empty, NULL or ill-formed elements, over 10,000; NULL '
    'for none.';

CREATE FUNCTION mnemo._lock_shareable(
    p_id uuid,
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'share');
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = p_id AND m.deleted_at IS NULL
       FOR UPDATE;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = '*' AND m.id = p_id) THEN
            PERFORM mnemo._raise_argument('p_id', 'p_id is a global record: every agent reads it',
                'grants are for records of one organisation');
        END IF;
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    -- Waiting for the lock, the agent may have lost the permission.
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'share');
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_shareable(uuid, text, text) IS
    'Locks and returns a record of the organisation that the agent may share. Raises MN001, 42501, '
    'or 22023 for a global record.';

CREATE FUNCTION mnemo._share_end(
    p_record mnemo.memory,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT nullif(max(coalesce(r.expires_at, 'infinity')), 'infinity')
          FROM (
            SELECT NULL::timestamptz AS expires_at
             WHERE p_record.origin_org_id = p_org_id AND p_record.agent_id = p_agent_id
            UNION ALL
            SELECT a.expires_at
              FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = p_record.id
               AND a.agent_id = p_agent_id AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > p_now)
            UNION ALL
            SELECT w.expires_at
              FROM mnemo._ways(p_record, p_org_id, p_agent_id, p_now) AS w
             WHERE w.permission = 'share'
          ) AS r
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._share_end(mnemo.memory, text, text, timestamptz) IS
    'Until when the agent may share the record: the latest end of its rights to; NULL for no end.';

CREATE FUNCTION mnemo.share(
    p_id uuid,
    p_to_agents text[],
    p_permission text DEFAULT 'read',
    p_ttl interval DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (agent_id text, permission text, expires_at timestamptz)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_expires_at timestamptz;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._agents_problem('p_to_agents', p_to_agents),
        mnemo._ttl_problem(p_ttl),
        mnemo._label_problem('p_permission', 'permission', p_permission)
    ]));
    v_record := mnemo._lock_shareable(p_id, v_caller.org_id, v_caller.agent_id);
    IF v_record.agent_id = ANY (p_to_agents) THEN
        PERFORM mnemo._raise_argument('p_to_agents',
            format('p_to_agents contains the owner %s, who holds every permission',
                v_record.agent_id),
            'leave the owner out');
    ELSIF v_caller.agent_id = ANY (p_to_agents) THEN
        PERFORM mnemo._raise_argument('p_to_agents', 'p_to_agents contains the acting agent',
            'nobody widens a grant of its own');
    END IF;
    -- Nobody gives for longer than it holds.
    v_expires_at := least(now() + p_ttl,
        mnemo._share_end(v_record, v_caller.org_id, v_caller.agent_id, clock_timestamp()));
    IF v_record.scope = 'private' THEN
        UPDATE mnemo.memory AS m
           SET scope = 'shared', updated_at = now()
         WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
        v_record.scope := 'shared';
    END IF;
    INSERT INTO mnemo.acl AS a (
        org_id, memory_id, agent_id, permission, granted_by, granted_at, expires_at
    )
    SELECT v_record.org_id, v_record.id, t.agent, p_permission, v_caller.agent_id, now(),
           v_expires_at
      FROM (SELECT DISTINCT u.agent FROM unnest(p_to_agents) AS u(agent)) AS t
     ORDER BY t.agent
    ON CONFLICT ON CONSTRAINT acl_pkey DO UPDATE
       SET permission = excluded.permission, granted_by = excluded.granted_by,
           granted_at = excluded.granted_at, expires_at = excluded.expires_at;
    PERFORM mnemo._write_event(
        v_record, 'memory_share', v_caller.org_id, v_caller.agent_id,
        jsonb_build_object('scope', v_record.scope, 'agents', to_jsonb(p_to_agents),
            'permission', p_permission, 'expires_at', mnemo._micros(v_expires_at))
    );
    PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
    PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    RETURN QUERY
    SELECT a.agent_id, a.permission, a.expires_at
      FROM mnemo.acl AS a
     WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
       AND a.agent_id = ANY (p_to_agents)
     ORDER BY a.agent_id;
END
$fn$;
COMMENT ON FUNCTION mnemo.share(uuid, text[], text, interval, text, text) IS
    'Grants agents of the same organisation a permission (read, write, delete, share; each covers '
    'those before it) on a record, plan or memory, replacing the grant each had; a private record '
    'becomes shared. p_ttl: until the grant ends, NULL for no end; it ends with the giver''s own '
    'right to share at the latest. Needs permission share. Returns the grants. Errors: 42501 no access, '
    'permission missing; MN001 unknown, gone or invisible record; 22023 bad argument, the owner or '
    'the acting agent among the agents, a global record; 54000 over 10,000.';

CREATE FUNCTION mnemo.unshare(
    p_id uuid,
    p_from_agents text[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (agent_id text, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_removed text[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._agents_problem('p_from_agents', p_from_agents)
    ]));
    v_record := mnemo._lock_shareable(p_id, v_caller.org_id, v_caller.agent_id);
    WITH removed AS (
        DELETE FROM mnemo.acl AS a
         WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
           AND a.agent_id = ANY (p_from_agents)
        RETURNING a.agent_id
    )
    SELECT array_agg(r.agent_id ORDER BY r.agent_id) INTO v_removed FROM removed AS r;
    IF v_removed IS NOT NULL THEN
        PERFORM mnemo._write_event(
            v_record, 'memory_unshare', v_caller.org_id, v_caller.agent_id,
            jsonb_build_object('agents', to_jsonb(v_removed))
        );
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END IF;
    RETURN QUERY
    SELECT t.agent, CASE WHEN t.agent = ANY (v_removed) THEN 'removed' ELSE 'absent' END
      FROM (SELECT DISTINCT u.agent FROM unnest(p_from_agents) AS u(agent)) AS t
     ORDER BY t.agent;
END
$fn$;
COMMENT ON FUNCTION mnemo.unshare(uuid, text[], text, text) IS
    'Takes grants on a record back; the record keeps its scope. Needs permission share. Returns a '
    'row for each agent: removed, or absent where there was no grant. Errors: 42501 no access, '
    'permission missing; MN001 unknown, gone or invisible record; 22023 bad argument, a global '
    'record; 54000 over 10,000.';
