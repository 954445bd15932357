-- Reports are written without waiting for anybody, and summed up by whoever finds nobody at it.

CREATE FUNCTION mnemo._settle_plan(
    p_org_id text,
    p_plan_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    WITH plan AS MATERIALIZED (
        SELECT m.origin_org_id,
               mnemo._observation(m.importance) + coalesce(f.score_sum, 0) AS total,
               1 + coalesce(f.agents, 0) AS observations, d.standing, d.endurance, m.importance,
               m.created_at, m.expires_at
          FROM mnemo.memory AS m
          LEFT JOIN mnemo.plan_fare AS f
            ON f.org_id = m.org_id AND f.plan_id = m.id AND f.reporter_org_id = m.origin_org_id
          CROSS JOIN LATERAL mnemo._derived_standing(m) AS d
         WHERE m.org_id = p_org_id AND m.id = p_plan_id
    ), settled AS (
        UPDATE mnemo.plan_signature AS s
           SET standing = p.standing, endurance = p.endurance, outcome_score = p.importance,
               created_at = p.created_at,
               -- A grant's row ends with the grant, see _index_plan.
               expires_at = CASE WHEN s.grantee_agent_id IS NULL THEN p.expires_at
                   ELSE s.expires_at END
          FROM plan AS p
         WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id
           AND NOT (s.standing = p.standing AND s.endurance = p.endurance
                    AND s.outcome_score = p.importance AND s.created_at = p.created_at
                    AND (s.grantee_agent_id IS NOT NULL
                         OR s.expires_at IS NOT DISTINCT FROM p.expires_at))
    )
    UPDATE mnemo.plan_fare AS f
       SET standing = n.standing, digest = n.digest
      FROM (
        SELECT g.reporter_org_id,
               CASE WHEN g.reporter_org_id = p.origin_org_id THEN p.standing
               ELSE mnemo._wilson(p.total + g.score_sum, p.observations + g.agents) END AS standing,
               CASE WHEN g.reporter_org_id <> p.origin_org_id THEN (
                   SELECT s.digest
                     FROM mnemo.plan_signature AS s
                    WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id
                      AND s.grantee_agent_id IS NULL) END AS digest
          FROM plan AS p
          CROSS JOIN mnemo.plan_fare AS g
         WHERE g.org_id = p_org_id AND g.plan_id = p_plan_id
      ) AS n
     WHERE f.org_id = p_org_id AND f.plan_id = p_plan_id
       AND f.reporter_org_id = n.reporter_org_id
       AND (f.standing <> n.standing OR f.digest IS DISTINCT FROM n.digest);
END
$fn$;
COMMENT ON FUNCTION mnemo._settle_plan(text, uuid) IS
    'Puts what follows from the record and the sums in plan_fare where recall looks for it: standing, '
    'endurance, outcome score, time and end into plan_signature, and where the plan stands for other organisations into plan_fare.';

CREATE FUNCTION mnemo._fold_reports(
    p_org_id text,
    p_plan_id uuid,
    p_new uuid
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_delta record;
    v_folded bigint := 0;
BEGIN
    FOR v_delta IN SELECT d.* FROM mnemo._report_deltas(p_org_id, p_plan_id, p_new) AS d LOOP
        INSERT INTO mnemo.plan_fare AS f (
            org_id, plan_id, reporter_org_id, uses, successes, failures, last_id, last_success,
            last_reported_at, agents, failing, score_sum, standing
        )
        VALUES (
            p_org_id, p_plan_id, v_delta.reporter_org_id, v_delta.uses, v_delta.successes,
            v_delta.uses - v_delta.successes, v_delta.last_id, v_delta.last_success,
            v_delta.last_reported_at, v_delta.agents, v_delta.failing, v_delta.score_sum, 0
        )
        ON CONFLICT ON CONSTRAINT plan_fare_pkey DO UPDATE
           SET uses = f.uses + excluded.uses,
               successes = f.successes + excluded.successes,
               failures = f.failures + excluded.failures,
               last_id = greatest(f.last_id, excluded.last_id),
               last_success = CASE WHEN excluded.last_id > f.last_id
                   THEN excluded.last_success ELSE f.last_success END,
               last_reported_at = CASE WHEN excluded.last_id > f.last_id
                   THEN excluded.last_reported_at ELSE f.last_reported_at END,
               agents = f.agents + excluded.agents,
               failing = f.failing + excluded.failing,
               score_sum = f.score_sum + excluded.score_sum;
        IF v_delta.ids <> ARRAY[p_new] THEN
            UPDATE mnemo.plan_report AS r
               SET folded = true
             WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id AND r.id = ANY (v_delta.ids)
               AND NOT r.folded;
        END IF;
        v_folded := v_folded + cardinality(v_delta.ids);
    END LOOP;
    PERFORM mnemo._settle_plan(p_org_id, p_plan_id);
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_reports(text, uuid, uuid) IS
    'Adds the reports about a plan that wait, and p_new (NULL for none), to its summary, and settles '
    'what follows; how many there were. The caller holds _may_fold or has the plan''s row locked.';

CREATE FUNCTION mnemo._may_fold(
    p_org_id text,
    p_plan_id uuid
)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- Nobody waits: what another transaction is summing up is left to it, and what it does not see
    -- yet to the next. Under a snapshot of the whole transaction, rows that another has changed
    -- would be an error. A lock on a row has no limit a transaction, as advisory ones have.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN false;
    END IF;
    PERFORM
       FROM mnemo.plan_signature AS s
      WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id AND s.grantee_agent_id IS NULL
        FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND OR EXISTS (
        SELECT FROM mnemo.plan_signature AS s
         WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id AND s.grantee_agent_id IS NULL)
    THEN
        RETURN FOUND;
    END IF;
    -- One that is not live has no such row, and gets none while the caller holds its record.
    PERFORM
       FROM mnemo.memory AS m
      WHERE m.org_id = p_org_id AND m.id = p_plan_id
        FOR NO KEY UPDATE SKIP LOCKED;
    RETURN FOUND;
END
$fn$;
COMMENT ON FUNCTION mnemo._may_fold(text, uuid) IS
    'Whether this transaction, until its end, is the one that sums up the reports about a plan whose '
    'record it holds for key share: it locks its row of plan_signature, or its record where there '
    'is none. Never waits.';

CREATE FUNCTION mnemo._refold_plan(
    p_org_id text,
    p_plan_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    DELETE FROM mnemo.plan_fare AS f WHERE f.org_id = p_org_id AND f.plan_id = p_plan_id;
    UPDATE mnemo.plan_report AS r
       SET folded = false
     WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id AND r.folded;
    PERFORM mnemo._fold_reports(p_org_id, p_plan_id, NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo._refold_plan(text, uuid) IS
    'Makes the summary of a plan anew from all its reports. The caller has the plan''s row locked.';

CREATE FUNCTION mnemo._fold_imported(
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_plan record;
BEGIN
    FOR v_plan IN
        SELECT i.org_id, i.plan_id, array_agg(i.id) AS ids
          FROM unnest(p_rows) AS u(item)
          CROSS JOIN LATERAL jsonb_to_record(u.item) AS i(org_id text, plan_id uuid, id uuid)
         GROUP BY i.org_id, i.plan_id
         ORDER BY i.org_id, i.plan_id
    LOOP
        PERFORM FROM mnemo.memory AS m
          WHERE m.org_id = v_plan.org_id AND m.id = v_plan.plan_id
            FOR UPDATE;
        UPDATE mnemo.plan_report AS r
           SET folded = false
         WHERE r.org_id = v_plan.org_id AND r.plan_id = v_plan.plan_id
           AND r.id = ANY (v_plan.ids);
        PERFORM mnemo._fold_reports(v_plan.org_id, v_plan.plan_id, NULL);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_imported(jsonb[]) IS
    'Sums up rows of plan_report that have just been imported, whatever the file says of that.';

CREATE FUNCTION mnemo._faulty_fares()
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT DISTINCT coalesce(f.org_id, s.org_id), coalesce(f.plan_id, s.plan_id)
      FROM (
        SELECT r.org_id, r.plan_id, r.reporter_org_id, sum(r.uses)::bigint AS uses,
               sum(r.successes)::bigint AS successes,
               count(*) FILTER (WHERE r.success IS NOT NULL) AS agents,
               count(*) FILTER (WHERE NOT r.success) AS failing,
               coalesce(sum(mnemo._observation(r.score)), 0) AS score_sum
          FROM (
            SELECT p.org_id, p.plan_id, p.reporter_org_id, count(*) AS uses,
                   count(*) FILTER (WHERE p.success) AS successes,
                   (array_agg(p.success ORDER BY p.id DESC) FILTER (WHERE p.counts))[1] AS success,
                   (array_agg(p.score ORDER BY p.id DESC) FILTER (WHERE p.counts))[1] AS score
              FROM mnemo.plan_report AS p
             WHERE p.folded
             GROUP BY p.org_id, p.plan_id, p.reporter_org_id, p.reporter_agent_id
          ) AS r
         GROUP BY r.org_id, r.plan_id, r.reporter_org_id
      ) AS s
      FULL JOIN mnemo.plan_fare AS f
        ON f.org_id = s.org_id AND f.plan_id = s.plan_id
       AND f.reporter_org_id = s.reporter_org_id
     WHERE NOT coalesce(f.uses = s.uses AND f.successes = s.successes AND f.agents = s.agents
            AND f.failures = s.uses - s.successes AND f.failing = s.failing
            AND f.score_sum = s.score_sum, false);
END;
COMMENT ON FUNCTION mnemo._faulty_fares() IS
    'The plans whose summary is not what their reports say, those that wait aside. Reads every '
    'report.';
