-- Retention: old sealed events go, up to an anchor. What they say about records that are still
-- there is said again by new events at the end of the chain, and so stays protected by it.

CREATE FUNCTION mnemo._retention_end(
    p_org_id text,
    p_agent_id text,
    p_before timestamptz,
    p_limit bigint
)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT max(e.seq) FILTER (WHERE e.happened_at < p_before AND NOT e.later)
      FROM (
        SELECT e.seq, e.happened_at,
               -- A transaction that began early may be sealed late.
               coalesce(bool_or(e.happened_at >= p_before) OVER (ORDER BY e.seq), false) AS later
          FROM (
            SELECT e.seq, e.happened_at
              FROM mnemo.event AS e
             WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NOT NULL
             ORDER BY e.seq
             LIMIT p_limit
          ) AS e
      ) AS e;
END;
COMMENT ON FUNCTION mnemo._retention_end(text, text, timestamptz, bigint) IS
    'seq of the last event that may go: with all before it it happened before the time, and they '
    'are at most p_limit; NULL for none.';

CREATE FUNCTION mnemo._carried(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS TABLE (memory_org_id text, memory_id uuid, seq bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.memory_org_id, e.memory_id, min(e.seq)
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq <= p_until
       AND mnemo._is_base_event(e)
       AND EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = e.memory_org_id AND m.id = e.memory_id)
       AND NOT EXISTS (
            SELECT FROM mnemo.event AS l
             WHERE l.memory_org_id = e.memory_org_id AND l.memory_id = e.memory_id
               AND l.org_id = p_org_id AND mnemo._is_base_event(l)
               AND (l.seq IS NULL OR l.seq > p_until))
     GROUP BY e.memory_org_id, e.memory_id;
END;
COMMENT ON FUNCTION mnemo._carried(text, text, bigint) IS
    'The records that would lose their last base event with the events of a chain up to a seq.';

CREATE FUNCTION mnemo._states_finding(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row record;
    v_finding mnemo._finding;
BEGIN
    FOR v_row IN
        SELECT m AS record, s.is_written, s.is_deleted, s.content_hash, s.state
          FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
          JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id
          LEFT JOIN mnemo._event_states(p_org_id, p_agent_id) AS s
            ON s.memory_org_id = m.org_id AND s.memory_id = m.id
         ORDER BY m.id
    LOOP
        v_finding := mnemo._record_finding(v_row.record, v_row.is_written, v_row.is_deleted,
            v_row.content_hash, v_row.state);
        EXIT WHEN v_finding.reason IS NOT NULL;
    END LOOP;
    RETURN v_finding;
END
$fn$;
COMMENT ON FUNCTION mnemo._states_finding(text, text, bigint) IS
    'The first of the records to be carried over that is not as its events say.';

CREATE FUNCTION mnemo._carry_over(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_written bigint;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT p_org_id, mnemo._next_event_id(m.org_id, m.id), p_agent_id, 'checkpoint', m.org_id, m.id,
           p_org_id, p_agent_id, now(), m.content_hash,
           mnemo._bound_state(m) || jsonb_build_object('checkpoint', true, 'grants', coalesce((
               SELECT jsonb_object_agg(a.agent_id, jsonb_build_object(
                          'permission', a.permission, 'granted_by', a.granted_by,
                          'granted_at', mnemo._micros(a.granted_at),
                          'expires_at', mnemo._micros(a.expires_at)))
                 FROM mnemo.acl AS a
                WHERE a.org_id = m.org_id AND a.memory_id = m.id
           ), '{}'))
      FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
      JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    RETURN v_written;
END
$fn$;
COMMENT ON FUNCTION mnemo._carry_over(text, text, bigint) IS
    'Writes a checkpoint for each record that would lose its base event, with its columns and its '
    'grants; returns how many.';

CREATE FUNCTION mnemo._lock_carried(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_locked uuid[];
    v_busy bigint;
BEGIN
    SELECT array_agg(l.id) INTO v_locked
      FROM (
        SELECT m.id
          FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
          JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id
         ORDER BY m.org_id, m.id
           FOR UPDATE OF m SKIP LOCKED
      ) AS l;
    SELECT min(c.seq) INTO v_busy
      FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
     WHERE c.memory_id <> ALL (coalesce(v_locked, '{}'));
    RETURN coalesce(v_busy - 1, p_until);
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_carried(text, text, bigint) IS
    'Locks the records to be carried over, without waiting, and returns the seq up to which all '
    'are locked.';
