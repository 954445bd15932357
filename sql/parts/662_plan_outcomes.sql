CREATE FUNCTION mnemo.record_plan_outcome(
    p_id uuid,
    p_success boolean,
    p_score double precision DEFAULT NULL,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    id uuid,
    uses bigint,
    successes bigint,
    failures bigint,
    standing double precision,
    retired boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        CASE WHEN p_success IS NULL THEN mnemo._argument('p_success', 'p_success must not be NULL',
            'pass whether the plan worked') END,
        mnemo._fraction_problem('p_score', p_score),
        mnemo._note_problem(p_note)
    ]));
    v_plan := mnemo._require_plan(p_id, v_caller.org_id, v_caller.agent_id);
    PERFORM mnemo._write_report(v_plan, p_success, coalesce(p_score, p_success::integer), p_note,
        v_caller.org_id, v_caller.agent_id);
    RETURN QUERY
    SELECT p_id, f.uses, f.successes, f.failures, f.standing,
           f.endurance < mnemo._retire_threshold(v_caller.org_id)
      FROM mnemo._fare(v_plan.org_id, v_plan.id, v_caller.org_id, false) AS f;
END
$fn$;
COMMENT ON FUNCTION mnemo.record_plan_outcome(
    uuid, boolean, double precision, text, text, text
) IS
    'Reports how the replay of a plan went: whether it worked, how well (p_score from 0 to 1; NULL: 1 '
    'or 0 by p_success), and a note for its owner. Every report is kept, with an event plan_outcome '
    'in the chain of the plan''s owner. Of each agent the latest report counts: with the original '
    'outcome score they give the standing, the lower bound of Wilson (1927) for the share of '
    'successes, which ranks among plans of equal similarity; below the setting retire_threshold the '
    'plan is retired, if the latest report of its owner or of two agents is a failure (of the owner, '
    'failures in a row count each). On a global plan of another organisation a report counts for '
    'the ranking of the reporter''s organisation alone, and the note is not kept. Never waits for '
    'others that report on the same plan: what they leave, the next report or mnemo.sweep sums up. '
    'Works whatever the mode of experience memory. Returns the plan''s summary, without what is not '
    'summed up yet (mnemo.get_plan has that too). Any agent that may read the plan may report. Errors: '
    '42501 no access; 22023 NULL, p_score outside 0 to 1 or NaN, blank note; 54000 note over 10,000 '
    'characters; MN001 unknown, gone or invisible id, or no plan.';

CREATE FUNCTION mnemo.plan_outcomes(
    p_id uuid,
    p_limit bigint DEFAULT 50,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    agent_id text,
    success boolean,
    score double precision,
    note text,
    counts boolean,
    reported_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_plan mnemo._plan;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id), mnemo._limit_problem(p_limit)]));
    SELECT p.* INTO v_plan
      FROM mnemo._held(
            v_caller.org_id, v_caller.agent_id, ARRAY[p_id], statement_timestamp()) AS h
      CROSS JOIN LATERAL mnemo._plan_of(h.org_id, h.id) AS p;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY r.id DESC), r.id, r.reporter_agent_id, r.success, r.score,
           CASE WHEN v_caller.level = 'admin' OR r.reporter_agent_id = v_caller.agent_id
                OR v_plan.owner_agent_id = v_caller.agent_id THEN n.note END,
           r.counts AND NOT EXISTS (
                SELECT FROM mnemo.plan_report AS l
                 WHERE l.org_id = r.org_id AND l.plan_id = r.plan_id
                   AND l.reporter_org_id = r.reporter_org_id
                   AND l.reporter_agent_id = r.reporter_agent_id AND l.counts AND l.id > r.id),
           r.reported_at
      FROM (
        SELECT k.*
          FROM mnemo.plan_report AS k
         WHERE k.org_id = v_plan.org_id AND k.plan_id = v_plan.id
           AND k.id < coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
           AND k.reporter_org_id = v_caller.org_id
         ORDER BY k.id DESC
         LIMIT p_limit
      ) AS r
      LEFT JOIN mnemo.event_note AS n
        ON n.org_id = v_plan.origin_org_id AND n.event_id = r.id
     ORDER BY r.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.plan_outcomes(uuid, bigint, uuid, text, text) IS
    'What the agents of the caller''s organisation reported about a plan that the acting agent may '
    'read, newest first: success, score, note (for the owner, the reporter and administrators; NULL '
    'for none), and counts: whether it is the latest of its agent since the plan was revived, which '
    'the standing is made of. p_limit: 1 to 1000. p_after: id of the last row of the page before. '
    'Errors: 42501 no access; 22023 NULL id, bad limit; MN001 unknown, gone or invisible id, or no '
    'plan.';
