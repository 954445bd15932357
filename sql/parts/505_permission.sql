CREATE FUNCTION mnemo._permission_rank(
    p_permission text
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_position(mnemo._labels('permission'), p_permission);
COMMENT ON FUNCTION mnemo._permission_rank(text) IS
    'Place of a permission, from read 1 to share 4; NULL for no permission.';

CREATE FUNCTION mnemo._held(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid, rank integer)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.org_id, m.id,
           CASE WHEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                THEN mnemo._permission_rank('share')
                ELSE greatest(
                    mnemo._permission_rank('read'), mnemo._permission_rank(a.permission),
                    CASE WHEN EXISTS (
                        SELECT FROM mnemo.delegation AS d
                         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
                           AND d.revoked_at IS NULL
                           AND coalesce(d.expires_at, 'infinity') > p_now)
                    THEN (
                        SELECT max(mnemo._permission_rank(w.permission))
                          FROM mnemo._ways(m, p_org_id, p_agent_id, p_now) AS w)
                    END)
           END
      FROM mnemo._visible_among(p_ids, p_org_id, p_agent_id, p_now) AS m
      LEFT JOIN mnemo.acl AS a
        ON a.org_id = p_org_id AND m.org_id = p_org_id AND a.memory_id = m.id
       AND a.agent_id = p_agent_id
       AND (a.expires_at IS NULL OR a.expires_at > p_now);
END;
COMMENT ON FUNCTION mnemo._held(text, text, uuid[], timestamptz) IS
    'The records among p_ids that the agent may read, with the rank of the highest permission that '
    'it holds on each: the owner has all, a grant or a delegation covers those below it.';

CREATE FUNCTION mnemo._ids_problem(
    p_parameter text,
    p_ids uuid[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_ids IS NULL OR cardinality(p_ids) = 0 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must name at least one record',
            'pass the ids that remember or recall returned');
    END IF;
    RETURN mnemo._list_problem(p_parameter, p_ids::text[], 10000, NULL, 'ids');
END
$fn$;
COMMENT ON FUNCTION mnemo._ids_problem(text, uuid[]) IS
    'The problem of a list of ids: NULL, empty, NULL elements, over 10,000; NULL for none.';

CREATE FUNCTION mnemo._id_problem(
    p_id uuid
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_id IS NULL THEN mnemo._argument('p_id', 'p_id must not be NULL',
    'pass the id that remember, remember_plan or a recall returned') END;
COMMENT ON FUNCTION mnemo._id_problem(uuid) IS 'The problem of an id that is NULL; NULL for none.';

CREATE FUNCTION mnemo._require_permission(
    p_parameter text,
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_permission text
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_missing uuid[];
    v_refused uuid[];
BEGIN
    SELECT array_agg(t.id) FILTER (WHERE h.id IS NULL),
           array_agg(t.id) FILTER (WHERE h.rank < mnemo._permission_rank(p_permission))
      INTO v_missing, v_refused
      FROM unnest(p_ids) AS t(id)
      LEFT JOIN mnemo._held(p_org_id, p_agent_id, p_ids, clock_timestamp()) AS h
        ON h.id = t.id;
    IF v_missing IS NOT NULL THEN
        PERFORM mnemo._raise_not_found(p_parameter, v_missing);
    ELSIF v_refused IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('agent %s lacks permission %s on %s',
                p_agent_id, p_permission, array_to_string(v_refused[1:10], ', ')),
            jsonb_build_object('parameter', p_parameter, 'ids', to_jsonb(v_refused)),
            'ask the owner to share or delegate the record with that permission'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_permission(text, text, text, uuid[], text) IS
    'Raises MN001 if the agent cannot see one of the records, 42501 if it can see all and lacks the '
    'permission on one.';

CREATE FUNCTION mnemo.check_permission(
    p_id uuid,
    p_permission text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
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
    PERFORM mnemo._check_label('p_permission', 'permission', p_permission);
    RETURN EXISTS (
        SELECT
          FROM mnemo._held(
                v_caller.org_id, v_caller.agent_id, ARRAY[p_id], statement_timestamp()) AS h
         WHERE h.rank >= mnemo._permission_rank(p_permission)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo.check_permission(uuid, text, text, text) IS
    'Whether the acting agent holds a permission (read, write, delete, share; each covers those '
    'before it) on a record, plan or memory: as owner, by a grant, by a delegation, or to read by its '
    'scope. False for records that are unknown, gone or invisible. Errors: 42501 no access; 22023 '
    'NULL id, unknown permission.';
