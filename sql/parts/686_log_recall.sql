CREATE FUNCTION mnemo._recall_entry_problem(
    p_entry jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_value jsonb;
    v_most double precision;
BEGIN
    IF jsonb_typeof(p_entry) IS DISTINCT FROM 'object' THEN
        RETURN mnemo._argument('p_recalls',
            'an element must be a JSON object; got ' || coalesce(jsonb_typeof(p_entry), 'NULL'),
            'keys are reason, plan_id, similarity, asked_at and duration_ms');
    ELSIF NOT mnemo._is_label('recall_reason', p_entry ->> 'reason') THEN
        RETURN mnemo._label_problem('p_recalls', 'recall_reason', p_entry ->> 'reason');
    END IF;
    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(p_entry) AS e LOOP
        CONTINUE WHEN v_key = 'reason' OR jsonb_typeof(v_value) = 'null'
            AND v_key IN ('plan_id', 'similarity', 'asked_at', 'duration_ms');
        IF v_key = 'plan_id' THEN
            IF jsonb_typeof(v_value) <> 'string' OR (v_value #>> '{}') COLLATE "C"
                !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'
            THEN
                RETURN mnemo._argument('p_recalls',
                    'plan_id must be a UUID as a string; got ' || mnemo._shown(v_value::text),
                    'pass id as recall_plan returned it');
            END IF;
        ELSIF v_key IN ('similarity', 'duration_ms') THEN
            v_most := CASE v_key WHEN 'similarity' THEN 1 ELSE 86400000 END;
            IF NOT coalesce(CASE WHEN jsonb_typeof(v_value) = 'number'
                THEN (v_value #>> '{}')::numeric BETWEEN 0 AND v_most::numeric END, false)
            THEN
                RETURN mnemo._argument('p_recalls',
                    format('%s must be a number from 0 to %s; got %s', v_key, v_most,
                        mnemo._shown(v_value::text)),
                    'leave it out where it is not known');
            END IF;
        ELSIF v_key = 'asked_at' THEN
            IF NOT coalesce(CASE WHEN jsonb_typeof(v_value) = 'string'
                THEN mnemo._is_time(v_value #>> '{}') END, false)
            THEN
                RETURN mnemo._argument('p_recalls', 'asked_at must be a time in ISO 8601 with its '
                    'zone; got ' || mnemo._shown(v_value::text), 'such as "2026-01-31T09:00:00Z"');
            ELSIF (v_value #>> '{}')::timestamptz > clock_timestamp() + interval '1 hour' THEN
                RETURN mnemo._argument('p_recalls', 'asked_at lies in the future: '
                    || mnemo._shown(v_value::text), 'log recalls after they were made');
            END IF;
        ELSE
            RETURN mnemo._argument('p_recalls', 'unknown key ' || mnemo._shown(v_key),
                'keys are reason, plan_id, similarity, asked_at and duration_ms');
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_entry_problem(jsonb) IS
    'The problem of an element of mnemo.log_recall; NULL for none.';

CREATE FUNCTION mnemo.log_recall(
    p_recalls jsonb,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_entry record;
    v_logged bigint;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._batch_problem('p_recalls', p_recalls, 'abort'));
    FOR v_entry IN
        SELECT e.entry, e.place
          FROM jsonb_array_elements(p_recalls) WITH ORDINALITY AS e(entry, place)
    LOOP
        PERFORM mnemo._raise_placed(p.problem, v_entry.place)
           FROM (SELECT mnemo._recall_entry_problem(v_entry.entry) AS problem) AS p
          WHERE (p.problem).code IS NOT NULL;
    END LOOP;
    INSERT INTO mnemo.recall_log (
        org_id, id, agent_id, asked_at, reason, plan_id, similarity, duration_ms
    )
    SELECT v_caller.org_id, mnemo._new_id(), v_caller.agent_id,
           coalesce((e.entry ->> 'asked_at')::timestamptz, now()), e.entry ->> 'reason',
           (e.entry ->> 'plan_id')::uuid,
           round((e.entry ->> 'similarity')::numeric, 17)::double precision,
           round((e.entry ->> 'duration_ms')::numeric, 6)::double precision
      FROM jsonb_array_elements(p_recalls) AS e(entry);
    GET DIAGNOSTICS v_logged = ROW_COUNT;
    RETURN v_logged;
END
$fn$;
COMMENT ON FUNCTION mnemo.log_recall(jsonb, text, text) IS
    'Logs recalls of plans that the acting agent made, for the views mnemo.recall_stats and '
    'mnemo.plan_value: recall itself writes nothing. p_recalls: an array of up to 10,000 objects '
    'with reason (as mnemo.recall_plan returned it, required), plan_id, similarity (0 to 1), '
    'asked_at (ISO 8601 with its zone; the transaction''s start where it is left out) and '
    'duration_ms (how long the caller waited, up to a day). What was asked is not kept. Believes '
    'what it is told: plan_id is not looked up. Rows go after the setting recall_log_ttl with '
    'mnemo.sweep. Returns how many were logged: all or none. Errors: 42501 no access; 22023 bad '
    'argument, with its position; 54000 over 10,000.';

CREATE FUNCTION mnemo._sweep_recall_log(
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
    v_removed bigint;
BEGIN
    WITH RECURSIVE o AS (
        -- One look-up an organisation, however many rows it has.
        (SELECT l.org_id FROM mnemo.recall_log AS l ORDER BY l.org_id LIMIT 1)
        UNION ALL
        SELECT n.org_id
          FROM o
         CROSS JOIN LATERAL (
            SELECT l.org_id
              FROM mnemo.recall_log AS l
             WHERE l.org_id > o.org_id
             ORDER BY l.org_id
             LIMIT 1
         ) AS n
    ), old AS (
        SELECT d.org_id, d.id
          FROM o
         CROSS JOIN LATERAL (
            SELECT l.org_id, l.id
              FROM mnemo.recall_log AS l
             WHERE l.org_id = o.org_id
               AND l.asked_at <= mnemo._time_before('recall_log_ttl', o.org_id, p_now)
             ORDER BY l.asked_at
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED
         ) AS d
         LIMIT p_limit
    )
    DELETE FROM mnemo.recall_log AS l
     USING old AS d
     WHERE l.org_id = d.org_id AND l.id = d.id;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_recall_log(bigint, timestamptz) IS
    'Removes at most p_limit logged recalls older than the setting recall_log_ttl of their '
    'organisation; returns how many.';
