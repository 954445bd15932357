CREATE FUNCTION mnemo._forgettable(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_strategy text,
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_own mnemo._record_key[] := ARRAY(
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
          JOIN mnemo.memory AS m ON m.org_id IN (p_org_id, '*') AND m.id = t.id
         WHERE m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
           -- What hides a record from recall does not keep its owner from erasing it.
           AND (mnemo._erases(p_strategy) OR mnemo._is_live(m, p_now))
    );
    v_rest uuid[] := ARRAY(
        SELECT u.id FROM unnest(p_ids) AS u(id)
        EXCEPT
        SELECT k.id FROM unnest(v_own) AS k(org_id, id)
    );
BEGIN
    RETURN QUERY SELECT k.org_id, k.id FROM unnest(v_own) AS k(org_id, id);
    IF cardinality(v_rest) > 0 THEN
        RETURN QUERY
        SELECT h.org_id, h.id
          FROM mnemo._held(p_org_id, p_agent_id, v_rest, p_now) AS h
         WHERE h.rank >= mnemo._permission_rank('delete');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._forgettable(text, text, uuid[], text, timestamptz) IS
    'The records among p_ids that the agent may forget by a strategy: live ones on which it holds '
    'delete; for hard_delete and redact also its own in any state, deleted, archived, expired and '
    'quarantined ones.';

CREATE FUNCTION mnemo._require_forgettable(
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_strategy text
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(f.org_id, f.id)::mnemo._record_key
          FROM mnemo._forgettable(
                p_org_id, p_agent_id, p_ids, p_strategy, clock_timestamp()) AS f
    );
    v_rest uuid[] := ARRAY(
        SELECT u.id FROM unnest(p_ids) AS u(id)
        EXCEPT
        SELECT k.id FROM unnest(v_keys) AS k(org_id, id)
    );
BEGIN
    IF cardinality(v_rest) > 0 THEN
        PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, v_rest, 'delete');
    END IF;
    IF p_level = 'tenant' AND '*' IN (SELECT k.org_id FROM unnest(v_keys) AS k(org_id, id)) THEN
        PERFORM mnemo._raise_access('a tenant may not forget a record of scope global',
            jsonb_build_object('parameter', 'p_ids'), 'use a role of level application');
    END IF;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_forgettable(text, text, text, uuid[], text) IS
    'The keys of the records that a caller may forget: all of p_ids, or '
    'it raises MN001 or 42501.';

CREATE FUNCTION mnemo._with_versions(
    p_keys mnemo._record_key[],
    p_strategy text
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    IF NOT mnemo._erases(p_strategy) THEN
        RETURN p_keys;
    END IF;
    RETURN ARRAY(
        WITH RECURSIVE version AS (
            SELECT m.org_id, m.id, m.origin_org_id, m.agent_id, m.prev_version_id
              FROM unnest(p_keys) AS k(org_id, id)
              JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
            UNION
            SELECT m.org_id, m.id, m.origin_org_id, m.agent_id, m.prev_version_id
              FROM version AS v
              JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.prev_version_id
             WHERE m.origin_org_id = v.origin_org_id AND m.agent_id = v.agent_id
        )
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM version AS v
          JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.id
         WHERE NOT (p_strategy = 'redact' AND m.redacted_at IS NOT NULL)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._with_versions(mnemo._record_key[], text) IS
    'The records that a strategy changes: where it erases, also the versions that they replaced, '
    'and not what is redacted already.';

CREATE FUNCTION mnemo._lock_keys(
    p_keys mnemo._record_key[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- One order of locks for every writer: organisation, then id.
    PERFORM FROM mnemo.memory AS m
       JOIN unnest(p_keys) AS k(org_id, id) ON k.org_id = m.org_id AND k.id = m.id
      ORDER BY m.org_id, m.id
        FOR UPDATE OF m;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_keys(mnemo._record_key[]) IS
    'Locks records in the order of all writers; waits for those who are at them.';

CREATE FUNCTION mnemo._forget_status(
    p_strategy text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_strategy WHEN 'soft_delete' THEN 'deleted' WHEN 'hard_delete' THEN 'removed'
    WHEN 'archive' THEN 'archived' WHEN 'redact' THEN 'redacted' END;
COMMENT ON FUNCTION mnemo._forget_status(text) IS 'What a strategy of forgetting makes of a record.';

CREATE FUNCTION mnemo.forget(
    p_ids uuid[],
    p_strategy text DEFAULT 'soft_delete',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_keys mnemo._record_key[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._ids_problem('p_ids', p_ids),
        mnemo._label_problem('p_strategy', 'forget_strategy', p_strategy)
    ]));
    v_keys := mnemo._require_forgettable(
        v_caller.level, v_caller.org_id, v_caller.agent_id, p_ids, p_strategy);
    PERFORM mnemo._lock_keys(mnemo._with_versions(v_keys, p_strategy));
    -- Waiting for the locks, the agent may have lost the permission, or the record.
    v_keys := mnemo._require_forgettable(
        v_caller.level, v_caller.org_id, v_caller.agent_id, p_ids, p_strategy);
    PERFORM mnemo._forget_keys(mnemo._with_versions(v_keys, p_strategy), p_strategy,
        v_caller.org_id, v_caller.agent_id);
    RETURN QUERY
    SELECT DISTINCT t.id, mnemo._forget_status(p_strategy)
      FROM unnest(p_ids) AS t(id)
     ORDER BY t.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget(uuid[], text, text, text) IS
    'Forgets records, plans or memories, so that nothing recalls them; all or nothing, with one '
    'event a record. p_strategy: soft_delete keeps the row and its text, archive too (in state '
    'archived); redact erases text, facets, tags, grants, notes, terms, idempotency keys and the '
    'nonce, and keeps the row with its hash; hard_delete removes the row and leaves the hash in an '
    'event. The last two erase the versions that a record replaced as well, and the owner can '
    'apply them to its records in any state, deleted, archived, expired and quarantined ones. '
    'Returns a row for each id with what it is now: deleted, archived, redacted, removed. Needs '
    'permission delete on each. Errors: 42501 no access, permission missing, a global record and a '
    'tenant; MN001 unknown, gone or invisible id; 22023 NULL, empty list, NULL element, unknown '
    'strategy; 54000 over 10,000.';
