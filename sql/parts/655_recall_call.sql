CREATE FUNCTION mnemo._recall_plan_problem(
    p_query text,
    p_threshold double precision,
    p_guard text,
    p_context text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_query IS NULL THEN
        RETURN mnemo._argument('p_query', 'p_query must not be NULL', 'pass the question to answer');
    ELSIF (p_threshold BETWEEN
           mnemo._setting('minimum_threshold', p_org_id)::double precision AND 1) IS NOT TRUE THEN
        RETURN mnemo._argument('p_similarity_threshold',
            format('p_similarity_threshold must be from %s to 1; got %s',
                mnemo._setting('minimum_threshold', p_org_id), p_threshold),
            'leave it out for the setting similarity_threshold');
    ELSIF NOT mnemo._is_label('guard', p_guard) THEN
        RETURN mnemo._label_problem('p_guard', 'guard', p_guard);
    ELSIF p_context IS NULL AND length(p_query) <= 100000 THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._texts_problem(ARRAY['p_context'], ARRAY[p_context], 256),
        mnemo._length_problem('p_query', p_query, 100000)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_plan_problem(text, double precision, text, text, text) IS
    'The first problem of the arguments of mnemo.recall_plan, settings filled in; NULL for none.';

CREATE FUNCTION mnemo._near_miss(
    p_org_id text,
    p_plan_id uuid,
    p_similarity double precision,
    p_query text,
    p_guard text
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
                   'id', m.id,
                   'query', m.content,
                   'similarity', p_similarity,
                   'differences', mnemo._guard_differences(p_query, m.content, p_guard)
               )
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.id = p_plan_id
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._near_miss(text, uuid, double precision, text, text) IS
    'A plan that the guard refused, as recall_plan shows it: id, query, similarity, and the '
    'differences in words.';

CREATE FUNCTION mnemo._recall_call(
    p_query text,
    p_agent_id text,
    p_org_id text,
    p_similarity_threshold double precision,
    p_guard text,
    p_context text,
    p_limit bigint,
    OUT org_id text,
    OUT agent_id text,
    OUT threshold double precision,
    OUT guard text,
    OUT signature text[],
    OUT reason text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    SELECT e.org_id, e.agent_id INTO org_id, agent_id FROM mnemo._enter(p_agent_id, p_org_id) AS e;
    IF mnemo._setting('experience_memory', org_id) <> 'on' THEN
        reason := 'disabled';
        RETURN;
    END IF;
    PERFORM mnemo._check_identity(agent_id, org_id);
    threshold := coalesce(
        p_similarity_threshold,
        greatest(
            mnemo._setting('similarity_threshold', org_id)::double precision,
            mnemo._setting('minimum_threshold', org_id)::double precision)
    );
    guard := coalesce(p_guard, mnemo._setting('guard', org_id));
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._recall_plan_problem(p_query, threshold, guard, p_context, org_id),
        mnemo._limit_problem(p_limit)
    ]));
    signature := mnemo._signature_tokens(p_query);
    IF cardinality(signature) = 0 THEN
        reason := 'blank_query';
    ELSIF cardinality(signature) > 20000 THEN
        PERFORM mnemo._raise_limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(signature)),
            'shorten it');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_call(
    text, text, text, double precision, text, text, bigint
) IS
    'A call of recall_plan and its kin: who calls, mode, arguments with the settings filled in and '
    'checked. reason is disabled or blank_query where there is nothing to match, else NULL.';

CREATE FUNCTION mnemo._recall(
    p_query text,
    p_agent_id text,
    p_org_id text,
    p_similarity_threshold double precision,
    p_guard text,
    p_context text,
    p_limit bigint
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call record;
    v_read record;
    v_match record;
    v_refused record;
BEGIN
    SELECT * INTO v_call
      FROM mnemo._recall_call(
            p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, p_limit);
    IF v_call.reason IS NOT NULL THEN
        candidates_considered := 0;
        reason := v_call.reason;
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT g.meaning, g.vals, g.names INTO v_read FROM mnemo._guard(p_query) AS g;
    FOR v_match IN
        SELECT m.*
          FROM mnemo._match_plans(
                v_call.signature, v_call.guard, v_read.meaning, v_read.vals, v_read.names,
                v_call.threshold, p_context, p_limit, v_call.org_id, v_call.agent_id,
                statement_timestamp()) AS m
    LOOP
        org_id := v_match.org_id;
        plan_id := v_match.plan_id;
        similarity := v_match.similarity;
        candidates_considered := v_match.considered;
        rank := v_match.rank;
        IF plan_id IS NOT NULL THEN
            reason := CASE WHEN similarity = 1 THEN 'exact' ELSE 'similar' END;
            RETURN NEXT;
            CONTINUE;
        END IF;
        reason := 'none_similar';
        v_refused := v_match;
        -- Where the guard is in the keys, they led to few of the plans that it refuses.
        IF v_call.guard = 'strict' AND v_read.meaning # v_read.vals <> 0 THEN
            SELECT r.* INTO v_refused
              FROM mnemo._refused_plan(
                    v_call.signature, v_call.guard, v_read.meaning, v_read.vals, v_read.names,
                    v_call.threshold, p_context, v_call.org_id, v_call.agent_id,
                    statement_timestamp()) AS r;
            candidates_considered := greatest(candidates_considered, v_refused.considered);
        END IF;
        IF v_refused.refused_plan_id IS NOT NULL THEN
            reason := 'guarded';
            near_miss := mnemo._near_miss(v_refused.refused_org_id, v_refused.refused_plan_id,
                v_refused.refused_similarity, p_query, v_call.guard);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall(text, text, text, double precision, text, text, bigint) IS
    'What recall_plan and recall_plans share. One row a hit, or one row with the reason of the '
    'miss.';

