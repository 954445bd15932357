CREATE FUNCTION mnemo._still_matching(
    p_org_id text,
    p_agent_id text,
    p_keys mnemo._record_key[],
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_now timestamptz
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM (SELECT DISTINCT u.org_id, u.id FROM unnest(p_keys) AS u(org_id, id)) AS k
          JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
         WHERE mnemo._meets(m, p_criteria, p_strategy)
           AND (p_whole OR (m.org_id, m.id) IN (
                SELECT f.org_id, f.id
                  FROM mnemo._forgettable(p_org_id, p_agent_id,
                      ARRAY(SELECT u.id FROM unnest(p_keys) AS u(org_id, id)),
                      p_strategy, p_now) AS f))
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._still_matching(
    text, text, mnemo._record_key[], mnemo._forget_criteria, text, boolean, timestamptz
) IS
    'Those of the records, now locked, of which what _matching found is still true.';

CREATE FUNCTION mnemo._lock_matching(
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_limit bigint
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := mnemo._matching(p_org_id, p_agent_id, p_criteria, p_strategy,
        p_whole, p_limit, clock_timestamp());
BEGIN
    -- A tenant changes nothing that other organisations see.
    v_keys := ARRAY(
        SELECT ROW(k.org_id, k.id)::mnemo._record_key
          FROM unnest(v_keys) AS k(org_id, id)
         WHERE p_level <> 'tenant' OR k.org_id <> '*'
    );
    PERFORM mnemo._lock_keys(mnemo._with_versions(v_keys, p_strategy));
    RETURN mnemo._with_versions(
        mnemo._still_matching(p_org_id, p_agent_id, v_keys, p_criteria, p_strategy, p_whole,
            clock_timestamp()),
        p_strategy);
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_matching(
    text, text, text, mnemo._forget_criteria, text, boolean, bigint
) IS
    'Locks and returns what is to be forgotten, where it erases with the versions that were '
    'replaced.';

CREATE FUNCTION mnemo.forget_where(
    p_criteria jsonb,
    p_strategy text DEFAULT 'soft_delete',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_keys mnemo._record_key[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._criteria_problem(p_criteria),
        mnemo._label_problem('p_strategy', 'forget_strategy', p_strategy),
        CASE WHEN p_limit IS NOT NULL THEN mnemo._most_problem(p_limit) END
    ]));
    v_keys := mnemo._lock_matching(v_caller.level, v_caller.org_id, v_caller.agent_id,
        mnemo._criteria(p_criteria), p_strategy, false, p_limit);
    PERFORM mnemo._forget_keys(v_keys, p_strategy, v_caller.org_id, v_caller.agent_id);
    RETURN QUERY
    SELECT k.id, mnemo._forget_status(p_strategy)
      FROM unnest(v_keys) AS k(org_id, id)
     ORDER BY k.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget_where(jsonb, text, text, text, bigint) IS
    'Forgets all records, memories and plans, that meet every criterion and on which the acting '
    'agent holds delete; others are left alone without an error. p_criteria: an object with at '
    'least one of tags (array; any of them), types (memory types), thread (thread_id), source '
    '(source_id), source_types, before (created before this time: ISO 8601 with zone, or a date). '
    'p_strategy as mnemo.forget: soft_delete and archive take live records, redact and '
    'hard_delete also the agent''s own that are deleted, archived, expired or quarantined, and '
    'replaced versions. p_limit: at most so many records that meet the criteria (1 to 1,000,000), '
    'call again until no row comes; NULL: all in this call. Returns a row for each record '
    'forgotten, by id: deleted, archived, redacted, removed. All or nothing. Errors: 42501 no '
    'access; 22023 no criterion, unknown criterion, bad value, unknown strategy, bad p_limit; '
    '54000 over 100 tags, a tag or name over 256 characters.';
