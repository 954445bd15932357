CREATE FUNCTION mnemo._sweep_terms() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_org text;
    v_folded bigint := 0;
BEGIN
    FOR v_org IN
        WITH RECURSIVE o AS (
            (SELECT c.org_id FROM mnemo.term_change AS c ORDER BY c.org_id LIMIT 1)
            UNION ALL
            SELECT n.org_id
              FROM o
             CROSS JOIN LATERAL (
                SELECT c.org_id
                  FROM mnemo.term_change AS c
                 WHERE c.org_id > o.org_id
                 ORDER BY c.org_id
                 LIMIT 1
             ) AS n
        )
        SELECT o.org_id FROM o
    LOOP
        v_folded := v_folded + mnemo._compact_terms(v_org);
    END LOOP;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_terms() IS
    'Folds the changes of the term statistics of every organisation in; returns how many.';

CREATE FUNCTION mnemo._sweep_events(
    p_limit bigint,
    OUT sealed bigint,
    OUT left_over bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_before bigint := (SELECT count(*) FROM mnemo.event AS e WHERE e.seq IS NULL);
BEGIN
    left_over := mnemo.seal(p_limit);
    sealed := greatest(v_before - left_over, 0);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_events(bigint) IS
    'Seals at most p_limit events; how many, and how many are left.';

CREATE FUNCTION mnemo.sweep(
    p_limit bigint DEFAULT 1000,
    p_now timestamptz DEFAULT NULL
)
RETURNS TABLE (rank bigint, task text, done bigint, more boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 11
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_now timestamptz := coalesce(p_now, now());
    v_events record;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN (p_limit BETWEEN 1 AND 10000) IS NOT TRUE THEN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 10000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again for more')
        END,
        mnemo._time_problem('p_now', p_now)
    ]));
    PERFORM mnemo._require_fresh_snapshots();
    rank := 1;
    task := 'expired';
    done := mnemo._sweep_expired(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 2;
    task := 'evicted';
    done := mnemo._sweep_surplus(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 3;
    task := 'purged';
    done := mnemo._sweep_deleted(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 4;
    task := 'grants';
    done := mnemo._sweep_grants(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 5;
    task := 'delegations';
    done := mnemo._sweep_delegations(p_limit, least(v_now, now()));
    -- Those that they were passed on from may go now.
    more := done > 0;
    RETURN NEXT;
    rank := 6;
    task := 'idempotency_keys';
    done := mnemo._sweep_keys(p_limit) + mnemo._sweep_identities(p_limit);
    more := false;
    RETURN NEXT;
    rank := 7;
    task := 'terms';
    done := mnemo._sweep_terms();
    more := false;
    RETURN NEXT;
    rank := 8;
    task := 'outcomes';
    done := mnemo._sweep_reports(p_limit);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 9;
    task := 'recall_log';
    done := mnemo._sweep_recall_log(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 10;
    task := 'chunks';
    done := mnemo._sweep_chunks(p_limit, least(v_now, now()));
    more := false;
    RETURN NEXT;
    SELECT * INTO v_events FROM mnemo._sweep_events(p_limit * 10);
    rank := 11;
    task := 'events';
    done := v_events.sealed;
    more := v_events.left_over > 0;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.sweep(bigint, timestamptz) IS
    'The housekeeping of the store, for cron: call it until no row says more, or nothing was done. '
    'Never waits for writers: what another session has locked is left for the next call. Returns '
    'a row for each task with how many rows it took and whether more are there: expired (records '
    'past their end are deleted softly, event memory_expired), evicted '
    '(plans over the settings max_plans_per_agent and max_plans_per_org, the least valuable, are '
    'deleted softly, event plan_evicted), purged (records deleted longer ago '
    'than the setting purge_after are removed for good, with a tombstone; redacted ones stay), '
    'grants that have ended (event memory_unshare), delegations that have ended or were taken back, '
    'idempotency_keys and what told plans apart without a record (random stretches in each call), terms '
    '(changes of the term statistics folded in), outcomes (reports about plans that waited, summed '
    'up), recall_log (logged recalls older than the setting recall_log_ttl), '
    'chunks (reports of changed chunks that are older by 30 days than every plan of their organisation, '
    'folded into one for their source; a random stretch in each call), events (sealed; ten times '
    'p_limit at most). '
    'p_limit: rows of each task, 1 to 10,000. p_now: the time to go by, NULL for the clock; delegations '
    'and chunks go by the clock where it lies ahead. Level admin only. Errors: 42501 not an '
    'administrator; '
    '22023 bad p_limit or p_now; 55000 not in READ COMMITTED.';
