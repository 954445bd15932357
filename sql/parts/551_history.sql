CREATE FUNCTION mnemo._versions(
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (memory_org_id text, memory_id uuid, age bigint, owned boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 2
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_next uuid := p_id;
BEGIN
    age := 0;
    WHILE v_next IS NOT NULL AND age < 1000 LOOP
        memory_id := v_next;
        -- The owner knows what became of its records, also when they are gone.
        SELECT e.memory_org_id, true INTO memory_org_id, owned
          FROM mnemo.event AS e
         WHERE e.memory_org_id IN (p_org_id, '*') AND e.memory_id = v_next
           AND e.org_id = p_org_id AND e.agent_id = p_agent_id
         LIMIT 1;
        IF NOT FOUND THEN
            SELECT m.org_id, false INTO memory_org_id, owned
              FROM mnemo._visible_among(ARRAY[v_next], p_org_id, p_agent_id, p_now) AS m;
        END IF;
        EXIT WHEN NOT FOUND;
        RETURN NEXT;
        age := age + 1;
        v_next := coalesce(
            (SELECT m.prev_version_id
               FROM mnemo.memory AS m WHERE m.org_id = memory_org_id AND m.id = v_next),
            (SELECT (e.changes ->> 'prev_version_id')::uuid
               FROM mnemo.event AS e
              WHERE e.memory_org_id = _versions.memory_org_id AND e.memory_id = v_next
                AND e.changes ->> 'prev_version_id' IS NOT NULL
              ORDER BY e.id DESC
              LIMIT 1));
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._versions(uuid, text, text, timestamptz) IS
    'A record and those that it replaced, newest first, as far as the agent may know of them; at '
    'most 1000.';

CREATE FUNCTION mnemo.history(
    p_id uuid,
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
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.age DESC, e.seq NULLS LAST, e.id), e.id, e.org_id,
           e.agent_id, e.event_type, e.memory_org_id, e.memory_id, e.actor_org_id,
           e.actor_agent_id, e.happened_at, e.content_hash, e.changes,
           CASE WHEN v.owned OR v_caller.level = 'admin' THEN n.note END, e.seq, e.hash
      FROM mnemo._versions(p_id, v_caller.org_id, v_caller.agent_id, statement_timestamp()) AS v
      JOIN mnemo.event AS e
        ON e.memory_org_id = v.memory_org_id AND e.memory_id = v.memory_id
      LEFT JOIN mnemo.event_note AS n ON n.org_id = e.org_id AND n.event_id = e.id
     -- Who else reads a record that many see is none of a reader's business.
     WHERE v.owned OR v_caller.level = 'admin' OR e.event_type <> 'memory_read'
        AND (e.event_type <> 'plan_outcome' OR e.actor_org_id = v_caller.org_id)
        OR e.actor_org_id = v_caller.org_id AND e.actor_agent_id = v_caller.agent_id
     ORDER BY 1;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.history(uuid, text, text) IS
    'The events of a record and of the versions that it replaced, oldest first; rank from 1. For '
    'the owner also after it is deleted; for others while they can read it, without the reads that '
    'other agents logged and what other organisations reported about a plan. changes: the columns that the event set, times in microseconds since 1970 '
    'UTC. note: its free text, for the owner and administrators; NULL for none, or erased. seq and '
    'hash: its place in the chain, NULL until sealed. Events that retention removed are not there. '
    'Errors: 42501 no access; 22023 NULL; MN001 unknown or invisible record.';
