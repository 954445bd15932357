CREATE FUNCTION mnemo._duplicates_of(
    p_plan mnemo.plan_signature,
    p_org_id text,
    p_agent_id text,
    p_threshold double precision,
    p_before uuid,
    p_limit bigint,
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid, similarity double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_call mnemo._recall_input;
    v_probe record;
BEGIN
    v_call.signature := p_plan.signature;
    v_call.audiences := ARRAY[
        mnemo._audience('owner', p_org_id, p_agent_id, p_plan.context),
        mnemo._audience('public', p_org_id, NULL, p_plan.context),
        mnemo._audience('global', NULL, NULL, p_plan.context)
    ];
    v_probe := mnemo._probe(v_call, p_threshold, 0);
    RETURN QUERY
    SELECT c.org_id, c.plan_id, c.similarity
      FROM (
        SELECT s.org_id, s.plan_id,
               t.shared::double precision / (s.size + p_plan.size - t.shared) AS similarity
          FROM mnemo._similar(
                v_probe.keys, p_org_id, v_call.audiences, p_plan.context, p_now, v_probe.sketch,
                v_probe.long_sketch, p_plan.size, p_threshold) AS s
          CROSS JOIN LATERAL (
            SELECT mnemo._shared_tokens(s.signature, p_plan.signature) AS shared OFFSET 0
          ) AS t
         WHERE s.plan_id < p_before
      ) AS c
      CROSS JOIN LATERAL (
        SELECT m.id
          FROM mnemo.memory AS m
         WHERE m.org_id = c.org_id AND m.id = c.plan_id AND m.origin_org_id = p_org_id
           AND m.agent_id = p_agent_id AND mnemo._is_live(m, p_now)
        OFFSET 0
      ) AS o
     WHERE c.similarity >= p_threshold
     ORDER BY c.plan_id DESC
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._duplicates_of(
    mnemo.plan_signature, text, text, double precision, uuid, bigint, timestamptz
) IS
    'The live plans of an agent for the same context with an id below p_before that are like one of '
    'its plans, the newest first, at most p_limit: by the keys of recall, never plan by plan.';

CREATE FUNCTION mnemo._own_plans(
    p_org_id text,
    p_agent_id text,
    p_from uuid,
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT p.org_id, p.id
      FROM (
        (SELECT m.org_id, m.id
           FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
          WHERE m.tags @> ARRAY['__experience_plan__'] AND NOT mnemo._is_failure(m)
            AND m.id <= p_from
          ORDER BY m.id DESC)
        UNION ALL
        (SELECT m.org_id, m.id
           FROM mnemo.memory AS m
          WHERE m.org_id = '*' AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
            AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now)
            AND m.tags @> ARRAY['__experience_plan__'] AND NOT mnemo._is_failure(m)
            AND m.id <= p_from
          ORDER BY m.id DESC)
      ) AS p
     ORDER BY p.id DESC;
END;
COMMENT ON FUNCTION mnemo._own_plans(text, text, uuid, timestamptz) IS
    'The live plans that an agent owns, global ones too, from an id on, the newest first.';

CREATE FUNCTION mnemo.duplicate_plans(
    p_threshold double precision DEFAULT NULL,
    p_limit bigint DEFAULT 100,
    p_after uuid DEFAULT NULL,
    p_after_other uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    outcome_score double precision,
    other_id uuid,
    other_query text,
    other_outcome_score double precision,
    similarity double precision,
    context text,
    guard_differences text[]
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- The plans one after the other from their index, so that a page ends as soon as it is full.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_settings jsonb;
    v_guard text;
    v_now timestamptz := statement_timestamp();
    v_own record;
    v_other record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_settings := mnemo._overrides(v_caller.org_id);
    v_guard := mnemo._setting_in(v_settings, 'guard');
    PERFORM mnemo._raise_problem(mnemo._duplicates_problem(
        p_threshold, mnemo._setting_in(v_settings, 'minimum_threshold')::double precision,
        p_limit, p_after, p_after_other));
    p_threshold := coalesce(p_threshold, greatest(
        mnemo._setting_in(v_settings, 'similarity_threshold')::double precision,
        mnemo._setting_in(v_settings, 'minimum_threshold')::double precision));
    rank := 0;
    FOR v_own IN
        SELECT s AS plan, m.content, m.importance
          FROM mnemo._own_plans(v_caller.org_id, v_caller.agent_id,
                coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), v_now) AS o
          JOIN mnemo.memory AS m ON m.org_id = o.org_id AND m.id = o.id
          JOIN mnemo.plan_signature AS s
            ON s.org_id = o.org_id AND s.plan_id = o.id AND s.grantee_agent_id IS NULL
         ORDER BY o.id DESC
    LOOP
        id := (v_own.plan).plan_id;
        query := v_own.content;
        outcome_score := v_own.importance;
        context := (v_own.plan).context;
        FOR v_other IN
            SELECT d.id, d.similarity, m.content, m.importance
              FROM mnemo._duplicates_of(v_own.plan, v_caller.org_id, v_caller.agent_id,
                    p_threshold, CASE id WHEN p_after THEN p_after_other ELSE id END,
                    p_limit - rank, v_now) AS d
              JOIN mnemo.memory AS m ON m.org_id = d.org_id AND m.id = d.id
             ORDER BY d.id DESC
        LOOP
            rank := rank + 1;
            other_id := v_other.id;
            other_query := v_other.content;
            other_outcome_score := v_other.importance;
            similarity := v_other.similarity;
            guard_differences := mnemo._guard_differences(query, other_query, v_guard);
            RETURN NEXT;
        END LOOP;
        EXIT WHEN rank >= p_limit;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.duplicate_plans(
    double precision, bigint, uuid, uuid, text, text
) IS
    'Pairs of the acting agent''s own live plans that are like each other: the same context, and a '
    'similarity of at least p_threshold (NULL: the setting similarity_threshold; from '
    'minimum_threshold to 1), each pair once, other_id being the older. guard_differences: what the '
    'guard of the organisation holds against taking one for the other, in words; empty where it '
    'agrees. In the order of id and other_id, the newest first, the mode of experience memory aside. '
    'Found by the index of recall, a look for each plan. p_limit: 1 to 1000. p_after and '
    'p_after_other: id and other_id of the last row of the page before, NULL for the first page. '
    'Errors: 42501 no access; 22023 bad threshold or limit, one of the two ids without the other.';

CREATE FUNCTION mnemo._duplicates_problem(
    p_threshold double precision,
    p_minimum double precision,
    p_limit bigint,
    p_after uuid,
    p_after_other uuid
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_threshold BETWEEN p_minimum AND 1) IS FALSE THEN
        RETURN mnemo._argument('p_threshold',
            format('p_threshold must be from %s to 1; got %s', p_minimum, p_threshold),
            'leave it out for the setting similarity_threshold');
    ELSIF (p_after IS NULL) <> (p_after_other IS NULL) THEN
        RETURN mnemo._argument(
            CASE WHEN p_after IS NULL THEN 'p_after' ELSE 'p_after_other' END,
            'p_after and p_after_other must be given together',
            'pass id and other_id of the last row of the page before');
    END IF;
    RETURN mnemo._limit_problem(p_limit);
END
$fn$;
COMMENT ON FUNCTION mnemo._duplicates_problem(
    double precision, double precision, bigint, uuid, uuid
) IS
    'The first problem of the arguments of mnemo.duplicate_plans; NULL for none.';
