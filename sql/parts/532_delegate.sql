CREATE FUNCTION mnemo._delegation_problem(
    p_to_agent text,
    p_permission text,
    p_ids uuid[],
    p_tag text,
    p_max_depth bigint,
    p_ttl interval,
    p_agent_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._identifier_problem('p_to_agent', p_to_agent),
        CASE WHEN p_to_agent = p_agent_id THEN
            mnemo._argument('p_to_agent', 'p_to_agent is the acting agent',
                'an agent needs no delegation for what it has')
        END,
        mnemo._label_problem('p_permission', 'permission', p_permission),
        CASE WHEN p_ids IS NOT NULL THEN mnemo._ids_problem('p_ids', p_ids) END,
        CASE WHEN p_ids IS NOT NULL AND p_tag IS NOT NULL THEN
            mnemo._argument('p_tag', 'p_ids and p_tag exclude each other',
                'name records or a tag, or leave both out for everything')
        END,
        mnemo._texts_problem(ARRAY['p_tag'], ARRAY[p_tag], 256),
        CASE WHEN (p_max_depth BETWEEN 0 AND 10) IS NOT TRUE THEN
            mnemo._argument('p_max_depth',
                format('p_max_depth must be from 0 to 10; got %s',
                    coalesce(p_max_depth::text, 'NULL')),
                'pass how many times it may be passed on, 0 for never')
        END,
        mnemo._ttl_problem(p_ttl),
        CASE WHEN cardinality(p_ids) > 1000 THEN
            mnemo._limit('p_ids',
                format('p_ids has %s ids, at most 1000 are allowed', cardinality(p_ids)),
                'delegate a tag')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegation_problem(text, text, uuid[], text, bigint, interval, text) IS
    'The first problem of the arguments of mnemo.delegate; NULL for none.';

CREATE FUNCTION mnemo._lock_delegable(
    p_ids uuid[],
    p_permission text,
    p_org_id text,
    p_agent_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_refused uuid[];
BEGIN
    PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, p_ids, 'read');
    PERFORM FROM mnemo.memory AS m
      WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
      ORDER BY m.org_id, m.id
        FOR UPDATE;
    -- Waiting for the locks, the agent may have lost sight of one.
    PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, p_ids, 'read');
    IF EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = '*' AND m.id = ANY (p_ids)) THEN
        PERFORM mnemo._raise_argument('p_ids', 'p_ids contains a global record: every agent reads it',
            'delegations are for records of one organisation');
    END IF;
    SELECT array_agg(m.id ORDER BY m.id) INTO v_refused
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
       AND m.agent_id <> p_agent_id
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
               AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > clock_timestamp()))
       AND NOT EXISTS (
            SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, clock_timestamp()) AS w
             WHERE w.max_depth >= 1
               AND mnemo._permission_rank(w.permission) >= mnemo._permission_rank(p_permission));
    IF v_refused IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('agent %s may not delegate permission %s on %s', p_agent_id, p_permission,
                array_to_string(v_refused[1:10], ', ')),
            jsonb_build_object('parameter', 'p_ids', 'ids', to_jsonb(v_refused)),
            'ask the owner for permission share, or for a delegation with a greater p_max_depth');
    END IF;
    RETURN QUERY
    SELECT m.* FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
     ORDER BY m.id;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_delegable(uuid[], text, text, text) IS
    'Locks and returns records that the agent may delegate with this permission: it owns them, holds '
    'a grant share, or a delegation that may be passed on. Raises MN001, 42501, or 22023 for a '
    'global record.';

CREATE FUNCTION mnemo._pass_on(
    p_head mnemo.delegation,
    p_records mnemo.memory[]
)
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_received record;
    v_parents uuid[] := '{}';
BEGIN
    FOR v_received IN
        SELECT d.*, CASE WHEN p_head.memory_ids IS NULL THEN d.memory_ids ELSE c.ids END AS ids
          FROM mnemo.delegation AS d
          LEFT JOIN (
            SELECT w.delegation_id, array_agg(r.id ORDER BY r.id) AS ids
              FROM unnest(p_records) AS r
              CROSS JOIN LATERAL mnemo._ways(
                    r, p_head.org_id, p_head.from_agent_id, clock_timestamp()) AS w
             GROUP BY w.delegation_id
          ) AS c ON c.delegation_id = d.id
         WHERE d.org_id = p_head.org_id AND d.to_agent_id = p_head.from_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > clock_timestamp()
           AND d.max_depth >= 1
           -- To give back what an agent has itself opens nothing.
           AND d.root_agent_id <> p_head.to_agent_id AND d.from_agent_id <> p_head.to_agent_id
           AND (p_head.memory_ids IS NULL OR c.ids IS NOT NULL)
         ORDER BY d.id
    LOOP
        -- Written, not only locked, so that whoever revokes it in a snapshot from before fails
        -- (40001) instead of leaving behind what it does not see.
        UPDATE mnemo.delegation AS d
           SET max_depth = d.max_depth
         WHERE d.org_id = v_received.org_id AND d.id = v_received.id AND d.revoked_at IS NULL;
        CONTINUE WHEN NOT FOUND;
        INSERT INTO mnemo.delegation (
            org_id, id, from_agent_id, to_agent_id, permission, memory_ids, tag, parent_id,
            max_depth, created_at, expires_at, head_id, root_agent_id, tags
        )
        VALUES (
            p_head.org_id, mnemo._new_id(), p_head.from_agent_id, p_head.to_agent_id,
            (mnemo._labels('permission'))[least(mnemo._permission_rank(p_head.permission),
                mnemo._permission_rank(v_received.permission))],
            v_received.ids, p_head.tag, v_received.id,
            least(p_head.max_depth, v_received.max_depth - 1), p_head.created_at,
            least(p_head.expires_at, v_received.expires_at), p_head.id, v_received.root_agent_id,
            CASE WHEN p_head.tag = ANY (v_received.tags) THEN v_received.tags
            ELSE nullif(coalesce(v_received.tags, '{}') || coalesce(p_head.tags, '{}'), '{}') END
        );
        v_parents := v_parents || v_received.id;
    END LOOP;
    RETURN v_parents;
END
$fn$;
COMMENT ON FUNCTION mnemo._pass_on(mnemo.delegation, mnemo.memory[]) IS
    'Writes a row for each delegation that the giver holds and may pass on: for no more records, not '
    'for longer, with no higher permission, one time less. p_records: those of p_head.memory_ids. '
    'Returns the ids of what is passed on.';

CREATE FUNCTION mnemo._check_received(
    p_head mnemo.delegation
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_held record;
BEGIN
    SELECT count(*) AS parts, count(DISTINCT d.root_agent_id) AS givers,
           count(*) FILTER (
               WHERE d.from_agent_id = p_head.from_agent_id AND d.head_id IS NULL) AS direct
      INTO v_held
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_head.org_id AND d.to_agent_id = p_head.to_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > clock_timestamp();
    IF v_held.direct > 100 THEN
        PERFORM mnemo._raise_limit('p_to_agent',
            format('agent %s holds 100 delegations of agent %s, more are not allowed',
                p_head.to_agent_id, p_head.from_agent_id),
            'revoke some, or delegate a tag instead of single records');
    ELSIF v_held.givers > 100 OR v_held.parts > 1000 THEN
        PERFORM mnemo._raise_limit('p_to_agent',
            format('agent %s would hold %s delegations on the rights of %s agents, at most 1000 of '
                '100 are allowed, those passed on included', p_head.to_agent_id, v_held.parts,
                v_held.givers),
            'have some of them revoked: the agent can give them back by revoke_delegation');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_received(mnemo.delegation) IS
    'Raises 54000 if an agent, a new delegation included, holds more than its recalls can read: over '
    '1000 rows, over 100 agents on whose rights they stand, over 100 of one giver.';

CREATE FUNCTION mnemo._delegation_event(
    p_head mnemo.delegation,
    p_event_type text,
    p_actor_agent_id text,
    p_changes jsonb
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_id uuid := mnemo._new_id();
    v_salt bytea := CASE WHEN p_head.tag IS NOT NULL AND p_event_type = 'memory_share'
        THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, actor_org_id, actor_agent_id, happened_at,
        changes, note_hash
    )
    VALUES (
        p_head.org_id, v_id, p_head.from_agent_id, p_event_type, p_head.org_id, p_head.org_id,
        p_actor_agent_id, now(), jsonb_build_object('delegation', p_head.id) || p_changes,
        CASE WHEN v_salt IS NOT NULL THEN mnemo._note_hash(v_salt, p_head.tag) END
    );
    -- A tag may name a person, so it must be erasable.
    IF v_salt IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_head.org_id, v_id, v_salt, p_head.tag);
    END IF;
    PERFORM mnemo._seal_if_many(p_head.org_id, p_head.from_agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegation_event(mnemo.delegation, text, text, jsonb) IS
    'Writes the event of a delegation, or of its end, into the chain of the giver; about no record. '
    'The tag is its note.';
