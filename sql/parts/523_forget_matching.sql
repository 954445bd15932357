-- What forget_where and forget_subject find.

CREATE FUNCTION mnemo._granted_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.acl AS a
      JOIN mnemo.memory AS m ON m.org_id = a.org_id AND m.id = a.memory_id
     WHERE a.org_id = p_org_id AND m.org_id = p_org_id AND a.agent_id = p_agent_id
       AND (a.expires_at IS NULL OR a.expires_at > p_now)
       AND mnemo._permission_rank(a.permission) >= mnemo._permission_rank('delete')
       AND m.scope IN ('shared', 'public') AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._granted_to_delete(text, text, timestamptz) IS
    'The live records of other agents that a grant lets the agent delete.';

CREATE FUNCTION mnemo._deleting_givers(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (agent_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT d.root_agent_id
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND mnemo._permission_rank(d.permission) >= mnemo._permission_rank('delete');
END;
COMMENT ON FUNCTION mnemo._deleting_givers(text, text, timestamptz) IS
    'The agents on whose rights the agent holds delete by delegations.';

CREATE FUNCTION mnemo._delegated_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM (
        -- One branch an index.
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.memory AS o ON o.agent_id = g.agent_id
         WHERE o.org_id = p_org_id AND o.origin_org_id = p_org_id AND o.deleted_at IS NULL
           AND NOT o.tags @> ARRAY['__experience_plan__']
        UNION ALL
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.memory AS o ON o.agent_id = g.agent_id
         WHERE o.org_id = p_org_id AND o.origin_org_id = p_org_id AND o.deleted_at IS NULL
           AND o.tags @> ARRAY['__experience_plan__']
        UNION ALL
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.acl AS a ON a.agent_id = g.agent_id
          JOIN mnemo.memory AS o ON o.id = a.memory_id
         WHERE a.org_id = p_org_id AND o.org_id = p_org_id AND a.permission = 'share'
           AND o.deleted_at IS NULL
      ) AS m
     WHERE m.agent_id <> p_agent_id AND mnemo._is_live(m, p_now)
       AND EXISTS (
            SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now) AS w
             WHERE mnemo._permission_rank(w.permission) >= mnemo._permission_rank('delete'));
END;
COMMENT ON FUNCTION mnemo._delegated_to_delete(text, text, timestamptz) IS
    'The live records of other agents that a delegation lets the agent delete; one may come twice.';

CREATE FUNCTION mnemo._others_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT * FROM mnemo._granted_to_delete(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._delegated_to_delete(p_org_id, p_agent_id, p_now);
END;
COMMENT ON FUNCTION mnemo._others_to_delete(text, text, timestamptz) IS
    'The live records of other agents that the agent may delete, some twice.';

CREATE FUNCTION mnemo._originated(
    p_org_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One branch an index.
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NULL
       AND NOT m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NULL
       AND m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._originated(text) IS
    'All records that an organisation wrote, whoever owns them, in any state.';

CREATE FUNCTION mnemo._matching(
    p_org_id text,
    p_agent_id text,
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_limit bigint,
    p_now timestamptz
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    IF p_whole THEN
        RETURN ARRAY(
            SELECT ROW(m.org_id, m.id)::mnemo._record_key
              FROM mnemo._originated(p_org_id) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
        );
    ELSIF mnemo._erases(p_strategy) THEN
        RETURN ARRAY(
            SELECT ROW(f.org_id, f.id)::mnemo._record_key
              FROM (
                SELECT m.org_id, m.id
                  FROM mnemo._owned(p_org_id, p_agent_id) AS m
                 WHERE mnemo._meets(m, p_criteria, p_strategy)
                UNION ALL
                SELECT m.org_id, m.id
                  FROM mnemo._others_to_delete(p_org_id, p_agent_id, p_now) AS m
                 WHERE mnemo._meets(m, p_criteria, p_strategy)
              ) AS f
             LIMIT p_limit
        );
    END IF;
    RETURN ARRAY(
        SELECT ROW(f.org_id, f.id)::mnemo._record_key
          FROM (
            SELECT m.org_id, m.id
              FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
            UNION ALL
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = '*' AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
               AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now)
               AND mnemo._meets(m, p_criteria, p_strategy)
            UNION ALL
            SELECT m.org_id, m.id
              FROM mnemo._others_to_delete(p_org_id, p_agent_id, p_now) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
          ) AS f
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._matching(
    text, text, mnemo._forget_criteria, text, boolean, bigint, timestamptz
) IS
    'The records that meet the criteria and that the agent may forget by the strategy, at most '
    'p_limit (NULL: all), some twice; with p_whole all that the organisation wrote.';
