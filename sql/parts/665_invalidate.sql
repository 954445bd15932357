CREATE FUNCTION mnemo._whole_org_problem(
    p_level text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_role name := mnemo._effective_role();
BEGIN
    IF p_level = 'tenant' AND NOT EXISTS (
        SELECT
          FROM mnemo.role_binding AS b
          JOIN pg_roles AS g ON g.rolname = b.role_name
         WHERE pg_has_role(v_role, g.oid, 'USAGE') AND b.org_id = p_org_id AND b.agent_id IS NULL
    ) THEN
        RETURN mnemo._access(
            format('role %I is bound to single agents of organisation %s, and what it says of '
                'chunks counts for the plans of all', v_role, p_org_id),
            'p_org_id', 'bind the role to the organisation, or use a role of level application');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._whole_org_problem(text, text) IS
    'The problem 42501 of a tenant that is not bound to the organisation as a whole, so that it does '
    'not hold write on every plan there; NULL for none.';

CREATE FUNCTION mnemo._write_stale_event(
    p_org_id text,
    p_agent_id text,
    p_chunks bigint,
    p_reason text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_id uuid := mnemo._new_id();
    v_salt bytea := CASE WHEN p_reason IS NOT NULL THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes, note_hash
    )
    VALUES (
        p_org_id, v_id, p_agent_id, 'plan_stale', p_org_id, NULL, p_org_id, p_agent_id, now(),
        NULL, jsonb_build_object('chunks', p_chunks), mnemo._note_hash(v_salt, p_reason)
    );
    IF p_reason IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_org_id, v_id, v_salt, p_reason);
    END IF;
    PERFORM mnemo._seal_if_many(p_org_id, p_agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_stale_event(text, text, bigint, text) IS
    'Writes the event of p_chunks chunks that changed, in the chain of the agent that says so: one '
    'for all, about no record. The reason is a note, which can be erased.';

CREATE FUNCTION mnemo.invalidate_chunks(
    p_ids text[],
    p_source text DEFAULT '',
    p_reason text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (source text, chunks bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._whole_org_problem(v_caller.level, v_caller.org_id));
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_ids IS NULL THEN
            mnemo._argument('p_ids', 'p_ids must not be NULL', 'pass the ids as an array')
        END,
        mnemo._list_problem('p_ids', p_ids, 10000, 1048576, 'chunk ids'),
        mnemo._source_problem('p_source', p_source),
        mnemo._texts_problem(ARRAY['p_reason'], ARRAY[p_reason], 10000)
    ]));
    source := coalesce(p_source, '');
    -- In one order, so that callers with the same ids in any order wait for each other and no more.
    INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)
    SELECT v_caller.org_id, invalidate_chunks.source, i.id, 1, clock_timestamp()
      FROM (
        SELECT DISTINCT mnemo._chunk_key(t.id) COLLATE "C" AS id FROM unnest(p_ids) AS t(id)
      ) AS i
     ORDER BY i.id
    ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE
       SET version = s.version + 1, changed_at = greatest(s.changed_at, clock_timestamp());
    GET DIAGNOSTICS chunks = ROW_COUNT;
    IF chunks > 0 THEN
        PERFORM mnemo._write_stale_event(
            v_caller.org_id, v_caller.agent_id, chunks, p_reason);
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.invalidate_chunks(text[], text, text, text, text) IS
    'Says that chunks changed or went: plans of the organisation that cite one of them and were '
    'remembered before are stale from now on, also global ones that it wrote. p_ids: up to 10,000 '
    'ids; unknown ones count as well. p_source: where the ids come from, as p_chunk_source of '
    'mnemo.remember_plan; the same id of another source, or of another organisation, is another '
    'chunk. Writes a row a chunk and one event, plan_stale, in the caller''s transaction, whatever '
    'the number of plans; the same again does no harm. p_reason: why, up to 10,000 characters, kept '
    'beside the event and erasable; NULL for none. Returns source and chunks, how many different '
    'ids were given. A tenant must be bound to the organisation, not to an agent of it. Errors: '
    '42501 no access; 22023 bad argument, NULL or blank id; 54000 over a limit.';

CREATE FUNCTION mnemo.revalidate_plan(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, was_stale boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    v_plan := mnemo._lock_changeable(
        p_id, v_caller.level, v_caller.org_id, v_caller.agent_id, 'write');
    IF NOT v_plan.tags @> ARRAY[mnemo._reserved_tag()] THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    id := p_id;
    was_stale := mnemo._is_stale(v_plan.org_id, p_id, clock_timestamp());
    IF was_stale THEN
        INSERT INTO mnemo.plan_check AS c (org_id, plan_id, checked_at, memory_versions)
        SELECT v_plan.org_id, p_id, clock_timestamp(),
               CASE WHEN p.then_versions IS NOT NULL THEN
                   mnemo._memory_states(
                       p.org_id, p.chunk_ids, p.then_versions, clock_timestamp()) END
          FROM mnemo._cited(v_plan.org_id, p_id) AS p
        ON CONFLICT ON CONSTRAINT plan_check_pkey DO UPDATE
           SET checked_at = excluded.checked_at, memory_versions = excluded.memory_versions;
        PERFORM mnemo._write_event(v_plan, 'plan_revalidated', v_caller.org_id,
            v_caller.agent_id, '{}');
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.revalidate_plan(uuid, text, text) IS
    'Says that a plan is right although chunks that it cites changed: the changes up to now do not '
    'make it stale any more, later ones do. Needs permission write on it. Writes an event, '
    'plan_revalidated, and nothing where the plan is not stale. Returns id and was_stale. Errors: '
    '42501 no access, permission missing, a global plan and a tenant; MN001 unknown, gone or '
    'invisible, or no plan; 22023 NULL.';
