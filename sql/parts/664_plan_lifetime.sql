CREATE FUNCTION mnemo.promote_plan(
    p_id uuid,
    p_scope text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, scope text, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_before mnemo.memory;
    v_after mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        CASE WHEN (p_scope IN ('shared', 'public')) IS NOT TRUE THEN mnemo._argument('p_scope',
            'p_scope must be shared or public; got ' || coalesce(mnemo._shown(p_scope), 'NULL'),
            'a plan for every organisation is remembered anew with scope global') END
    ]));
    v_before := mnemo._lock_plan(
        p_id, v_caller.level, v_caller.org_id, v_caller.agent_id, 'share');
    id := p_id;
    scope := v_before.scope;
    status := 'unchanged';
    IF v_before.scope <> p_scope THEN
        IF array_position(mnemo._labels('scope'), v_before.scope)
            > array_position(mnemo._labels('scope'), p_scope)
        THEN
            PERFORM mnemo._raise_argument('p_scope',
                format('p_id has scope %s, which is wider than %s', v_before.scope, p_scope),
                'a promotion only widens; mnemo.update_memory can narrow a scope');
        END IF;
        v_after := v_before;
        v_after.scope := p_scope;
        v_after.metadata := v_before.metadata || jsonb_build_object('promoted',
            coalesce(v_before.metadata -> 'promoted', '[]') || jsonb_build_array(jsonb_build_object(
                'from', v_before.scope, 'to', p_scope, 'by', v_caller.agent_id,
                'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))));
        v_after.content_hash := mnemo._content_hash(v_after);
        UPDATE mnemo.memory AS m
           SET scope = v_after.scope, metadata = v_after.metadata,
               content_hash = v_after.content_hash, updated_at = now()
         WHERE m.org_id = v_before.org_id AND m.id = v_before.id;
        PERFORM mnemo._write_event(v_after, 'plan_promoted', v_caller.org_id, v_caller.agent_id,
            mnemo._bound_changes(v_before, v_after)
            || jsonb_build_object('promoted_from', v_before.scope));
        PERFORM mnemo._reindex_plan(v_after);
        scope := p_scope;
        status := 'promoted';
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.promote_plan(uuid, text, text, text) IS
    'Widens who may replay a plan: private to shared or public, shared to public; never back, and '
    'never to global, which is another record. Its id, reports and grants stay. Where it came from is '
    'added to the list promoted in its metadata (from, to, by, at in UTC), and an event '
    'plan_promoted is written. Needs permission share, as any change of a scope. Returns id, scope '
    'and status promoted, or unchanged for one that has the scope. Errors: 42501 no access, '
    'permission missing, a global plan and a tenant; 22023 NULL id, p_scope not shared or public or '
    'narrower than the plan''s; MN001 unknown, gone or invisible id, or no plan.';

CREATE FUNCTION mnemo._plan_owners() RETURNS TABLE (org_id text, agent_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One look-up an owner, however many plans it has.
    WITH RECURSIVE o AS (
        (SELECT m.org_id AS home, m.origin_org_id, m.agent_id
           FROM mnemo.memory AS m
          WHERE m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
          ORDER BY m.org_id, m.origin_org_id, m.agent_id
          LIMIT 1)
        UNION ALL
        SELECT n.org_id, n.origin_org_id, n.agent_id
          FROM o
         CROSS JOIN LATERAL (
            SELECT m.org_id, m.origin_org_id, m.agent_id
              FROM mnemo.memory AS m
             WHERE m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
               AND (m.org_id, m.origin_org_id, m.agent_id)
                   > (o.home, o.origin_org_id, o.agent_id)
             ORDER BY m.org_id, m.origin_org_id, m.agent_id
             LIMIT 1
         ) AS n
    )
    SELECT DISTINCT o.origin_org_id, o.agent_id FROM o;
END;
COMMENT ON FUNCTION mnemo._plan_owners() IS 'The agents that own plans, global ones included.';

CREATE FUNCTION mnemo._more_plans(
    p_org_id text,
    p_agent_id text,
    p_most bigint
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- The index of an agent where one is given.
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN (
        SELECT count(*)
          FROM (
            SELECT
              FROM mnemo.memory AS m
             WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
               AND (p_agent_id IS NULL OR m.agent_id = p_agent_id)
               AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
             LIMIT p_most + 1
          ) AS p
    ) > p_most;
END
$fn$;
COMMENT ON FUNCTION mnemo._more_plans(text, text, bigint) IS
    'Whether an agent (NULL: an organisation) has over p_most plans and failures together, those '
    'that have expired too: by an index alone, so that a sweep with nothing to evict costs little.';

CREATE FUNCTION mnemo._surplus_plans(
    p_org_id text,
    p_agent_id text,
    p_most text,
    p_limit bigint,
    p_now timestamptz
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_threshold double precision := mnemo._retire_threshold(p_org_id);
BEGIN
    IF p_most = 'none' OR NOT mnemo._more_plans(p_org_id, p_agent_id, p_most::bigint) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT ROW(h.org_id, h.id)::mnemo._record_key
          FROM (
            SELECT m.org_id, m.id, r.retired, s.standing, u.used_at,
                   row_number() OVER (
                       PARTITION BY mnemo._is_failure(m)
                       ORDER BY r.retired DESC, s.standing, u.used_at, m.id) AS place,
                   count(*) OVER (PARTITION BY mnemo._is_failure(m)) AS held
              FROM mnemo.memory AS m
              JOIN mnemo.plan_signature AS s
                ON s.org_id = m.org_id AND s.plan_id = m.id AND s.grantee_agent_id IS NULL
              LEFT JOIN mnemo.plan_fare AS f
                ON f.org_id = m.org_id AND f.plan_id = m.id
               AND f.reporter_org_id = m.origin_org_id
              CROSS JOIN LATERAL (
                SELECT s.endurance < v_threshold AS retired OFFSET 0
              ) AS r
              CROSS JOIN LATERAL (
                SELECT greatest(m.created_at, m.last_accessed_at, f.last_reported_at) AS used_at
                OFFSET 0
              ) AS u
             WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
               AND (p_agent_id IS NULL OR m.agent_id = p_agent_id)
               AND m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
               AND mnemo._is_live(m, p_now)
          ) AS h
         WHERE h.place <= h.held - p_most::bigint
         ORDER BY h.retired DESC, h.standing, h.used_at, h.id
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._surplus_plans(text, text, text, bigint, timestamptz) IS
    'The least valuable live plans of an agent (NULL: of an organisation) over the number p_most '
    '(none: no limit), at most p_limit: retired ones first, then by standing, then those that were '
    'written, touched and reported on longest ago, then by id. Failures are counted apart, or all '
    'of them would go before any plan.';

CREATE FUNCTION mnemo._sweep_surplus(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_owner record;
    v_keys mnemo._record_key[];
    v_evicted bigint := 0;
BEGIN
    IF NOT EXISTS (
        SELECT FROM mnemo.settings AS s
         WHERE s.name IN ('max_plans_per_agent', 'max_plans_per_org') AND s.value <> 'none')
    THEN
        RETURN 0;
    END IF;
    FOR v_owner IN
        SELECT o.org_id, o.agent_id FROM mnemo._plan_owners() AS o
         UNION ALL
        SELECT DISTINCT o.org_id, NULL FROM mnemo._plan_owners() AS o
         ORDER BY org_id, agent_id
    LOOP
        EXIT WHEN v_evicted >= p_limit;
        v_keys := mnemo._surplus_plans(v_owner.org_id, v_owner.agent_id,
            mnemo._setting(CASE WHEN v_owner.agent_id IS NULL THEN 'max_plans_per_org'
                ELSE 'max_plans_per_agent' END, v_owner.org_id),
            p_limit - v_evicted, p_now);
        v_keys := ARRAY(
            SELECT ROW(m.org_id, m.id)::mnemo._record_key
              FROM unnest(v_keys) AS k(org_id, id)
              JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
             WHERE m.deleted_at IS NULL
             ORDER BY m.org_id, m.id
               FOR UPDATE OF m SKIP LOCKED
        );
        PERFORM mnemo._forget_batches(v_keys, 'soft_delete', 'plan_evicted');
        v_evicted := v_evicted + cardinality(v_keys);
    END LOOP;
    RETURN v_evicted;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_surplus(bigint, timestamptz) IS
    'Deletes, softly, at most p_limit plans that are too many by the settings max_plans_per_agent '
    'and max_plans_per_org, the least valuable first; returns how many.';

CREATE FUNCTION mnemo._sweep_reports(
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_plan mnemo.memory;
    v_folded bigint := 0;
BEGIN
    FOR v_plan IN
        SELECT m.*
          FROM (
            SELECT DISTINCT r.org_id, r.plan_id
              FROM (
                SELECT w.org_id, w.plan_id
                  FROM mnemo.plan_report AS w
                 WHERE NOT w.folded
                 ORDER BY w.org_id, w.plan_id
                 LIMIT p_limit
              ) AS r
          ) AS p
          JOIN mnemo.memory AS m ON m.org_id = p.org_id AND m.id = p.plan_id
         ORDER BY m.org_id, m.id
           FOR KEY SHARE OF m SKIP LOCKED
    LOOP
        IF mnemo._may_fold(v_plan.org_id, v_plan.id) THEN
            v_folded := v_folded + mnemo._count_reports(
                v_plan, NULL, v_plan.origin_org_id, v_plan.agent_id);
        END IF;
    END LOOP;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_reports(bigint) IS
    'Sums up reports about plans that wait: all of the plans that have the first p_limit. Returns '
    'how many.';
