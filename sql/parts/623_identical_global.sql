CREATE FUNCTION mnemo._reported(
    p_seen_by text,
    p_digest bigint
)
RETURNS TABLE (plan_id uuid, standing double precision)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT f.plan_id, f.standing
      FROM mnemo.plan_fare AS f
     WHERE f.reporter_org_id = p_seen_by AND f.digest = p_digest AND f.digest IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._reported(text, bigint) IS
    'The global plans of other organisations with a signature of this digest that an organisation '
    'has reported on, and where they stand for it: one look at an index that has those alone.';

CREATE FUNCTION mnemo._identical_reported(
    p_seen_by text,
    p_audience bigint,
    p_signature text[],
    p_digest bigint,
    p_meaning bigint,
    p_values bigint,
    p_context text,
    p_now timestamptz,
    p_fresh boolean,
    p_retire double precision
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    standing double precision,
    outcome_score double precision,
    created_at timestamptz
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.org_id, s.plan_id, f.standing, s.outcome_score, s.created_at
      FROM (
        SELECT r.plan_id, r.standing FROM mnemo._reported(p_seen_by, p_digest) AS r OFFSET 0
      ) AS f
      CROSS JOIN LATERAL (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.org_id = '*' AND k.plan_id = f.plan_id AND k.audience = p_audience
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts('*', s.plan_id, p_now, false, NULL, NULL, NULL) AS c
     WHERE (p_meaning IS NULL OR s.guard_meaning = p_meaning)
       AND (p_values IS NULL OR s.guard_values = p_values)
       AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now) AND s.endurance >= p_retire
       -- By the id of _counts: only what counts is worth the look.
       AND (NOT p_fresh OR NOT mnemo._is_stale('*', c.id, p_now));
END;
COMMENT ON FUNCTION mnemo._identical_reported(
    text, bigint, text[], bigint, bigint, bigint, text, timestamptz, boolean, double precision
) IS
    'The live global plans with this signature that an organisation other than their owner''s has '
    'reported on, with where they stand for it; with this meaning and these values unless NULL; p_fresh: '
    'no stale ones.';

CREATE FUNCTION mnemo._identical_global(
    p_call mnemo._recall_input,
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_limit bigint,
    p_fresh boolean
)
RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT i.plan_id
          FROM (
            SELECT g.plan_id, g.standing, g.outcome_score, g.created_at
              FROM mnemo._identical_guarded(
                    '*', p_call.audiences[4], p_call.signature,
                    p_call.digest # p_meaning # p_values, p_call.context, p_call.asked_at,
                    p_limit, false, NULL, p_fresh, p_call.retire, p_call.org_id) AS g
             WHERE p_guard = 'strict'
            UNION ALL
            SELECT g.plan_id, g.standing, g.outcome_score, g.created_at
              FROM mnemo._identical(
                    '*', p_call.audiences[4], p_call.signature, p_call.digest,
                    CASE p_guard WHEN 'meaning' THEN p_meaning END, p_call.context,
                    p_call.asked_at, p_limit, false, NULL, p_fresh, p_call.retire,
                    p_call.org_id) AS g
             WHERE p_guard <> 'strict'
            UNION ALL
            SELECT r.plan_id, r.standing, r.outcome_score, r.created_at
              FROM mnemo._identical_reported(
                    p_call.org_id, p_call.audiences[4], p_call.signature, p_call.digest,
                    CASE WHEN p_guard <> 'off' THEN p_meaning END,
                    CASE p_guard WHEN 'strict' THEN p_values END,
                    p_call.context, p_call.asked_at, p_fresh, p_call.retire) AS r
          ) AS i
         ORDER BY i.standing DESC, i.outcome_score DESC, i.created_at DESC, i.plan_id DESC
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._identical_global(
    mnemo._recall_input, text, bigint, bigint, bigint, boolean
) IS
    'The best p_limit live global plans with the same signature whose guard agrees, in the order in '
    'which they stand for the organisation that asks: what it reported itself counts.';
