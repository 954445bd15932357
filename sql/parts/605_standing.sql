-- Where a plan stands: what its reports and its original outcome say together, as one number.

CREATE FUNCTION mnemo._observation(
    p_score double precision
)
RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Exact sums: the same for every order of the reports.
RETURN round(p_score::numeric, 17);
COMMENT ON FUNCTION mnemo._observation(double precision) IS
    'A score as it is summed up: to 15 significant digits, 17 after the point.';

CREATE FUNCTION mnemo._wilson(
    p_sum numeric,
    p_count bigint
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Thirty digits, so that rounding never turns two plans round.
RETURN ((p_sum + 1.9208
         - 1.96 * sqrt(round(p_sum * (p_count - p_sum) / p_count + 0.9604, 30)))
        / (p_count + 3.8416))::double precision;
COMMENT ON FUNCTION mnemo._wilson(numeric, bigint) IS
    'The lower bound of the share of successes behind p_count observations with the sum p_sum, at '
    '95 % (z = 1.96): the score interval of Wilson (J. Am. Stat. Assoc. 22, 1927). One observation '
    'alone gives an order by its score.';

CREATE FUNCTION mnemo._by_hand() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'retracted';
COMMENT ON FUNCTION mnemo._by_hand() IS
    'The status of the record of a plan that mnemo.retire_plan retired.';

CREATE FUNCTION mnemo._endurance(
    p_status text,
    p_sum numeric,
    p_count bigint,
    p_failing bigint,
    p_run bigint
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_status = mnemo._by_hand() THEN -1
    WHEN p_run > 0 OR p_failing > 1 THEN mnemo._wilson(p_sum, p_count + greatest(p_run - 1, 0))
    ELSE 'infinity'
END;
COMMENT ON FUNCTION mnemo._endurance(text, numeric, bigint, bigint, bigint) IS
    'A plan is retired where the setting retire_threshold is above this: the standing, in which the '
    'failures that the owner reported in a row (p_run) count each; infinity unless the latest '
    'report of the owner, or of two agents (p_failing), is a failure, for one agent alone retires '
    'only what is its own; -1 when it was retired by hand. p_sum, p_count: observations of the '
    'owner''s organisation and the original outcome.';

CREATE FUNCTION mnemo._failing_run(
    p_org_id text,
    p_plan_id uuid,
    p_owner_org_id text,
    p_owner_agent_id text
)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN (
        SELECT count(*)
          FROM (
            SELECT bool_or(l.success) OVER (ORDER BY l.id DESC) AS ended
              FROM (
                SELECT r.id, r.success
                  FROM mnemo.plan_report AS r
                 WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id
                   AND r.reporter_org_id = p_owner_org_id
                   AND r.reporter_agent_id = p_owner_agent_id AND r.counts
                 ORDER BY r.id DESC
                 LIMIT 100
              ) AS l
          ) AS o
         WHERE NOT o.ended
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._failing_run(text, uuid, text, text) IS
    'How many failures the owner of a plan has reported since its last success, at most 100.';

CREATE FUNCTION mnemo._report_deltas(
    p_org_id text,
    p_plan_id uuid,
    p_new uuid
)
RETURNS TABLE (
    reporter_org_id text,
    ids uuid[],
    uses bigint,
    successes bigint,
    last_id uuid,
    last_success boolean,
    last_reported_at timestamptz,
    agents bigint,
    failing bigint,
    score_sum numeric
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT r.* FROM mnemo.plan_report AS r
         WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id AND NOT r.folded
        UNION ALL
        SELECT r.* FROM mnemo.plan_report AS r
         WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id AND r.id = p_new AND r.folded
    ), latest AS (
        SELECT DISTINCT ON (w.reporter_org_id, w.reporter_agent_id) w.*
          FROM waiting AS w
         WHERE w.counts
         ORDER BY w.reporter_org_id, w.reporter_agent_id, w.id DESC
    ), changed AS (
        SELECT l.reporter_org_id, count(*) FILTER (WHERE o.id IS NULL) AS agents,
               sum((NOT l.success)::integer - coalesce((NOT o.success)::integer, 0)) AS failing,
               sum(mnemo._observation(l.score) - coalesce(mnemo._observation(o.score), 0))
                   AS score_sum
          FROM latest AS l
          LEFT JOIN LATERAL (
            SELECT r.id, r.success, r.score
              FROM mnemo.plan_report AS r
             WHERE r.org_id = p_org_id AND r.plan_id = p_plan_id
               AND r.reporter_org_id = l.reporter_org_id
               AND r.reporter_agent_id = l.reporter_agent_id AND r.counts
               AND r.folded AND r.id IS DISTINCT FROM p_new
             ORDER BY r.id DESC
             LIMIT 1
          ) AS o ON true
         WHERE o.id IS NULL OR o.id < l.id
         GROUP BY l.reporter_org_id
    )
    SELECT t.reporter_org_id, t.ids, t.uses, t.successes, t.last_id, t.last_success,
           t.last_reported_at, coalesce(c.agents, 0), coalesce(c.failing, 0)::bigint,
           coalesce(c.score_sum, 0)
      FROM (
        SELECT w.reporter_org_id, array_agg(w.id) AS ids, count(*) AS uses,
               count(*) FILTER (WHERE w.success) AS successes,
               (array_agg(w.id ORDER BY w.id DESC))[1] AS last_id,
               (array_agg(w.success ORDER BY w.id DESC))[1] AS last_success,
               (array_agg(w.reported_at ORDER BY w.id DESC))[1] AS last_reported_at
          FROM waiting AS w
         GROUP BY w.reporter_org_id
      ) AS t
      LEFT JOIN changed AS c ON c.reporter_org_id = t.reporter_org_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._report_deltas(text, uuid, uuid) IS
    'What the reports about a plan that plan_fare has not (those that wait, and p_new, which is to '
    'be NULL for none) add to it, a row for each organisation that reported.';

CREATE FUNCTION mnemo._fare(
    p_org_id text,
    p_plan_id uuid,
    p_seen_by text,
    p_waiting boolean
)
RETURNS TABLE (
    uses bigint,
    successes bigint,
    failures bigint,
    last_success boolean,
    last_reported_at timestamptz,
    standing double precision,
    endurance double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT t.uses, t.successes, t.uses - t.successes, t.last_success, t.last_reported_at,
           mnemo._wilson(mnemo._observation(m.importance) + t.score_sum, 1 + t.agents),
           mnemo._endurance(m.status, mnemo._observation(m.importance) + t.own_score_sum,
               1 + t.own_agents, t.own_failing,
               CASE WHEN t.own_failing > 0 THEN mnemo._failing_run(
                   m.org_id, m.id, m.origin_org_id, m.agent_id) ELSE 0 END)
      FROM mnemo.memory AS m
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(f.uses), 0)::bigint AS uses,
               coalesce(sum(f.successes), 0)::bigint AS successes,
               (array_agg(f.last_success ORDER BY f.last_id DESC))[1] AS last_success,
               (array_agg(f.last_reported_at ORDER BY f.last_id DESC))[1] AS last_reported_at,
               coalesce(sum(f.agents), 0)::bigint AS agents,
               coalesce(sum(f.score_sum), 0) AS score_sum,
               coalesce(sum(f.agents) FILTER (WHERE f.own), 0)::bigint AS own_agents,
               coalesce(sum(f.failing) FILTER (WHERE f.own), 0)::bigint AS own_failing,
               coalesce(sum(f.score_sum) FILTER (WHERE f.own), 0) AS own_score_sum
          FROM (
            SELECT s.*, s.reporter_org_id = m.origin_org_id AS own
              FROM (
                SELECT a.reporter_org_id, a.uses, a.successes, a.last_id, a.last_success,
                       a.last_reported_at, a.agents, a.failing, a.score_sum
                  FROM mnemo.plan_fare AS a
                 WHERE a.org_id = p_org_id AND a.plan_id = p_plan_id
                   AND a.reporter_org_id IN (m.origin_org_id, p_seen_by)
                UNION ALL
                SELECT d.reporter_org_id, d.uses, d.successes, d.last_id, d.last_success,
                       d.last_reported_at, d.agents, d.failing, d.score_sum
                  FROM mnemo._report_deltas(p_org_id, p_plan_id, NULL) AS d
                 WHERE p_waiting AND d.reporter_org_id IN (m.origin_org_id, p_seen_by)
              ) AS s
          ) AS f
      ) AS t
     WHERE m.org_id = p_org_id AND m.id = p_plan_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._fare(text, uuid, text, boolean) IS
    'How a plan fares, as the organisation p_seen_by counts it: by the reports of the owner''s '
    'organisation and its own; p_waiting: those that wait included. endurance: see _endurance.';

CREATE FUNCTION mnemo._derived_standing(
    p_record mnemo.memory
)
RETURNS TABLE (standing double precision, endurance double precision)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT mnemo._wilson(
               mnemo._observation((p_record).importance) + coalesce(f.score_sum, 0),
               1 + coalesce(f.agents, 0)),
           mnemo._endurance(
               (p_record).status,
               mnemo._observation((p_record).importance) + coalesce(f.score_sum, 0),
               1 + coalesce(f.agents, 0), coalesce(f.failing, 0),
               CASE WHEN f.failing > 0 THEN mnemo._failing_run(
                   (p_record).org_id, (p_record).id, (p_record).origin_org_id,
                   (p_record).agent_id) ELSE 0 END)
      FROM (SELECT) AS one
      LEFT JOIN mnemo.plan_fare AS f
        ON f.org_id = (p_record).org_id AND f.plan_id = (p_record).id
       AND f.reporter_org_id = (p_record).origin_org_id;
END;
COMMENT ON FUNCTION mnemo._derived_standing(mnemo.memory) IS
    'What plan_signature must hold of a plan by its outcome score, its status and the summary of its '
    'reports.';

CREATE FUNCTION mnemo._is_retired(
    p_record mnemo.memory
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN coalesce(mnemo._endurance_of(p_record.org_id, p_record.id)
        < mnemo._retire_threshold(p_record.origin_org_id), false);
END
$fn$;
COMMENT ON FUNCTION mnemo._is_retired(mnemo.memory) IS
    'Whether a live plan is retired by the setting of its owner''s organisation.';

CREATE FUNCTION mnemo._standing_for(
    p_org_id text,
    p_plan_id uuid,
    p_standing double precision,
    p_asking_org_id text
)
RETURNS TABLE (standing double precision)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT CASE WHEN p_org_id = '*' THEN coalesce((
               SELECT f.standing
                 FROM mnemo.plan_fare AS f
                WHERE f.org_id = '*' AND f.plan_id = p_plan_id
                  AND f.reporter_org_id = p_asking_org_id), p_standing)
           ELSE p_standing END AS standing;
END;
COMMENT ON FUNCTION mnemo._standing_for(text, uuid, double precision, text) IS
    'Where a plan stands for an organisation: a global one by what that one reported on it, else '
    'where plan_signature says (p_standing).';
