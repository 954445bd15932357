CREATE FUNCTION mnemo._is_live(
    p_record mnemo.memory,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_record).deleted_at IS NULL
    AND NOT (p_record).quarantined
    AND mnemo._is_live_state((p_record).consolidation_state)
    AND ((p_record).expires_at IS NULL OR (p_record).expires_at > p_now);
COMMENT ON FUNCTION mnemo._is_live(mnemo.memory, timestamptz) IS
    'Whether a record counts at all: not deleted, not expired, not quarantined, in a live state.';

-- One function a way to see a record: disjoint, each led by an index, org_id compared with a
-- parameter or a constant, so that a partitioned table is read in two places at most.

CREATE FUNCTION mnemo._visible_own(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_own(text, text, timestamptz) IS
    'The agent''s own live records, global ones aside.';

CREATE FUNCTION mnemo._visible_public(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.scope = 'public' AND m.scope IN ('public', 'global')
       AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_public(text, text, timestamptz) IS
    'The live public records of the organisation''s other agents.';

CREATE FUNCTION mnemo._visible_granted(
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
       AND m.scope = 'shared' AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_granted(text, text, timestamptz) IS
    'The live shared records of other agents that the agent holds a grant on.';

CREATE FUNCTION mnemo._ways(
    p_record mnemo.memory,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (
    giver text,
    permission text,
    expires_at timestamptz,
    delegation_id uuid,
    max_depth integer
)
LANGUAGE sql STABLE PARALLEL SAFE
-- Never private records, which are their owner's alone, nor global ones, which are nobody's to give.
BEGIN ATOMIC
    SELECT d.root_agent_id, d.permission, d.expires_at, d.id, d.max_depth
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.root_agent_id = (p_record).agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND (p_record).org_id = p_org_id AND (p_record).scope IN ('shared', 'public')
       AND (d.tags IS NULL OR (p_record).tags @> d.tags)
       AND (d.memory_ids IS NULL OR (p_record).id = ANY (d.memory_ids))
    UNION ALL
    SELECT d.root_agent_id, d.permission, least(d.expires_at, a.expires_at), d.id, d.max_depth
      FROM mnemo.acl AS a
      JOIN mnemo.delegation AS d ON d.root_agent_id = a.agent_id
     WHERE a.org_id = p_org_id AND a.memory_id = (p_record).id AND a.permission = 'share'
       AND (a.expires_at IS NULL OR a.expires_at > p_now)
       AND d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND (p_record).org_id = p_org_id AND (p_record).scope IN ('shared', 'public')
       AND (d.tags IS NULL OR (p_record).tags @> d.tags)
       AND (d.memory_ids IS NULL OR (p_record).id = ANY (d.memory_ids));
END;
COMMENT ON FUNCTION mnemo._ways(mnemo.memory, text, text, timestamptz) IS
    'The delegations by which the agent holds a permission on the record now: of its owner, or of an '
    'agent that holds a grant share on it. giver: that agent, on whose right it stands.';

CREATE FUNCTION mnemo._visible_delegated(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     -- Looked up once: nothing else is read for an agent without delegations.
     WHERE EXISTS (
            SELECT FROM mnemo.delegation AS d
             WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
               AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
       AND m.org_id = p_org_id AND m.scope = 'shared' AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now)
       AND EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
               AND (a.expires_at IS NULL OR a.expires_at > p_now));
END;
COMMENT ON FUNCTION mnemo._visible_delegated(text, text, timestamptz) IS
    'The live shared records of other agents that the agent sees by a delegation and holds no grant '
    'on. To be joined by id: it looks at each record.';

CREATE FUNCTION mnemo._visible_global(
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = '*' AND m.scope = 'global' AND m.scope IN ('public', 'global')
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_global(timestamptz) IS
    'The live records of scope global.';

CREATE FUNCTION mnemo._visible(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT * FROM mnemo._visible_own(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_public(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_granted(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_delegated(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_global(p_now);
END;
COMMENT ON FUNCTION mnemo._visible(text, text, timestamptz) IS
    'Every live record that the agent of the organisation may read, each once: its own, the public '
    'ones, the shared ones granted or delegated to it, the global ones.';

CREATE FUNCTION mnemo._visible_among(
    p_ids uuid[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The fences keep these look-ups by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.*
      FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
      CROSS JOIN LATERAL (
        SELECT r.* FROM mnemo.memory AS r WHERE r.org_id = p_org_id AND r.id = t.id OFFSET 0
      ) AS m
     WHERE mnemo._is_live(m, p_now)
       AND CASE
           WHEN m.agent_id = p_agent_id OR m.scope = 'public' THEN true
           WHEN m.scope = 'shared' THEN
               EXISTS (
                    SELECT FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = m.id
                       AND a.agent_id = p_agent_id
                       AND (a.expires_at IS NULL OR a.expires_at > p_now))
               OR EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
           ELSE false END
    UNION ALL
    SELECT m.*
      FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
      CROSS JOIN LATERAL (
        SELECT r.* FROM mnemo.memory AS r WHERE r.org_id = '*' AND r.id = t.id OFFSET 0
      ) AS m
     WHERE mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_among(uuid[], text, text, timestamptz) IS
    'Those of _visible that have one of the ids, each once, looked up by key.';
