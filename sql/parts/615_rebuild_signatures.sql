CREATE FUNCTION mnemo._faulty_signatures()
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT m.org_id, m.id
      FROM mnemo.memory AS m
      LEFT JOIN mnemo.plan_signature AS s
        ON s.org_id = m.org_id AND s.plan_id = m.id AND s.grantee_agent_id IS NULL
      LEFT JOIN LATERAL mnemo._derived_standing(m) AS f ON true
     WHERE m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
       AND mnemo._is_live(m, now())
       AND (s.plan_id IS NULL
            OR s.signature_version <> mnemo._signature_version()
            OR s.guard_version <> mnemo._guard_version()
            OR s.audience <> mnemo._plan_audience(m, s.context)
            OR s.outcome_score <> m.importance
            OR s.standing <> f.standing OR s.endurance <> f.endurance
            OR s.created_at <> m.created_at
            OR s.expires_at IS DISTINCT FROM m.expires_at
            OR s.context IS DISTINCT FROM mnemo._match_context(m)
            OR to_jsonb(s.signature) <> mnemo._payload(m) -> 'signature_tokens')
    UNION ALL
    -- The end of a plan's time is no fault: recall looks at the clock, and sweep clears up.
    SELECT s.org_id, s.plan_id
      FROM mnemo.plan_signature AS s
      JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
     WHERE s.grantee_agent_id IS NULL AND NOT mnemo._is_live(m, '-infinity');
END;
COMMENT ON FUNCTION mnemo._faulty_signatures() IS
    'The plans whose own plan_signature row is missing, differs from the payload, the standing or '
    'was made by other rules, and the rows of plans that do not live. Reads every plan.';

CREATE FUNCTION mnemo.rebuild_signatures(
    p_limit bigint DEFAULT 1000
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan record;
    v_record mnemo.memory;
    v_found bigint := 0;
BEGIN
    PERFORM mnemo._require_admin();
    IF (p_limit BETWEEN 1 AND 100000) IS NOT TRUE THEN
        PERFORM mnemo._raise_argument('p_limit',
            format('p_limit must be from 1 to 100000; got %s', coalesce(p_limit::text, 'NULL')),
            'it is the number of plans to rebuild in this call');
    END IF;
    -- Before the first lock on a record: see 607.
    PERFORM mnemo._join_identities(ARRAY(
        SELECT m
          FROM (SELECT f.* FROM mnemo._faulty_signatures() AS f
                 ORDER BY f.org_id, f.plan_id LIMIT p_limit) AS f
          JOIN mnemo.memory AS m ON m.org_id = f.org_id AND m.id = f.plan_id
    ));
    FOR v_plan IN
        SELECT f.org_id, f.plan_id, count(*) OVER () AS found
          FROM (
            SELECT s.org_id, s.plan_id FROM mnemo._faulty_signatures() AS s
            UNION
            SELECT r.org_id, r.plan_id FROM mnemo._faulty_fares() AS r
          ) AS f
         ORDER BY f.org_id, f.plan_id
         LIMIT p_limit
    LOOP
        v_found := v_plan.found;
        SELECT m.* INTO v_record
          FROM mnemo.memory AS m WHERE m.org_id = v_plan.org_id AND m.id = v_plan.plan_id
           FOR UPDATE;
        IF FOUND THEN
            PERFORM mnemo._refold_plan(v_record.org_id, v_record.id);
            PERFORM mnemo._reindex_plan(v_record);
        END IF;
    END LOOP;
    RETURN greatest(v_found - p_limit, 0);
END
$fn$;
COMMENT ON FUNCTION mnemo.rebuild_signatures(bigint) IS
    'Derives anew what recall_plan matches on, from the payload and the reports of each plan, where '
    'it is missing, differs or was made by other rules: at most p_limit plans (1 to 100,000) in a call, in the '
    'order of organisation and id, each locked until the transaction ends. Returns how many are '
    'left: call it until that is 0. Reads every plan. Level admin only. Errors: 42501 not an '
    'administrator; 22023 bad argument.';
