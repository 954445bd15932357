CREATE FUNCTION mnemo._recall_plan_problem(
    p_query text,
    p_threshold double precision,
    p_minimum double precision,
    p_guard text,
    p_context text,
    p_stale text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_query IS NULL THEN
        RETURN mnemo._argument('p_query', 'p_query must not be NULL', 'pass the question to answer');
    ELSIF (p_threshold BETWEEN p_minimum AND 1) IS NOT TRUE THEN
        RETURN mnemo._argument('p_similarity_threshold',
            format('p_similarity_threshold must be from %s to 1; got %s', p_minimum, p_threshold),
            'leave it out for the setting similarity_threshold');
    ELSIF NOT mnemo._is_label('guard', p_guard) THEN
        RETURN mnemo._label_problem('p_guard', 'guard', p_guard);
    ELSIF p_stale NOT IN ('refuse', 'include') THEN
        RETURN mnemo._label_problem('p_stale', 'stale_mode', p_stale);
    ELSIF p_context IS NULL AND length(p_query) <= 100000 THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._texts_problem(ARRAY['p_context'], ARRAY[p_context], 256),
        mnemo._length_problem('p_query', p_query, 100000)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_plan_problem(
    text, double precision, double precision, text, text, text
) IS
    'The first problem of the arguments of mnemo.recall_plan, settings filled in; p_minimum is the '
    'least threshold allowed. NULL for none.';

CREATE FUNCTION mnemo._recall_call(
    p_query text,
    p_agent_id text,
    p_org_id text,
    p_similarity_threshold double precision,
    p_guard text,
    p_context text,
    p_limit bigint,
    p_stale text,
    p_embedding text,
    p_model text
)
RETURNS mnemo._recall_input
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
AS $fn$
DECLARE
    v_who record := mnemo._enter(p_agent_id, p_org_id);
    v_settings jsonb := mnemo._overrides(v_who.org_id);
    v_call mnemo._recall_input;
    v_problem mnemo._problem;
BEGIN
    IF mnemo._setting_in(v_settings, 'experience_memory') <> 'on' THEN
        v_call.reason := 'disabled';
        RETURN v_call;
    END IF;
    v_call.minimum := mnemo._setting_in(v_settings, 'minimum_threshold');
    v_call.threshold := coalesce(
        p_similarity_threshold,
        greatest(mnemo._setting_in(v_settings, 'similarity_threshold')::double precision,
            v_call.minimum)
    );
    v_call.guard := coalesce(p_guard, mnemo._setting_in(v_settings, 'guard'));
    v_call.stale := coalesce(p_stale, 'refuse');
    v_problem := coalesce(
        mnemo._identity_problem(v_who.agent_id, v_who.org_id),
        mnemo._recall_plan_problem(
            p_query, v_call.threshold, v_call.minimum, v_call.guard, p_context, v_call.stale),
        mnemo._limit_problem(p_limit)
    );
    IF v_problem.code IS NULL AND (p_embedding IS NOT NULL OR p_model IS NOT NULL) THEN
        v_problem := mnemo._embedding_problem(p_embedding, p_model);
        v_call.semantic_threshold := mnemo._setting_in(v_settings, 'semantic_threshold');
        v_call.semantic_margin := mnemo._setting_in(v_settings, 'semantic_margin');
    END IF;
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_call.signature := mnemo._signature_tokens(p_query);
    IF cardinality(v_call.signature) = 0 THEN
        v_call.reason := 'blank_query';
        RETURN v_call;
    ELSIF cardinality(v_call.signature) > 20000 THEN
        PERFORM mnemo._raise_limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(v_call.signature)),
            'shorten it');
    END IF;
    RETURN ROW(
        p_query, v_call.signature, mnemo._digest(v_call.signature),
        mnemo._audiences(v_who.org_id, v_who.agent_id, p_context)
        || mnemo._delegated_audiences(
            v_who.org_id, v_who.agent_id, p_context, statement_timestamp()),
        p_context, v_call.guard, v_call.threshold, v_call.minimum, p_limit, v_who.org_id, v_who.agent_id,
        statement_timestamp(), NULL, v_call.stale, p_embedding, p_model,
        v_call.semantic_threshold,
        mnemo._setting_in(v_settings, 'retire_threshold')::double precision,
        v_call.semantic_margin
    )::mnemo._recall_input;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_call(
    text, text, text, double precision, text, text, bigint, text, text, text
) IS
    'A call of recall_plan and its kin: who calls, mode, arguments with the settings filled in and '
    'checked.';

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

CREATE FUNCTION mnemo._stale_near_miss(
    p_org_id text,
    p_plan_id uuid,
    p_similarity double precision,
    p_now timestamptz
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
                   'differences', '[]'::jsonb,
                   'changed_chunks', mnemo._changed_chunks(p_org_id, p_plan_id, p_now, 10)
               )
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.id = p_plan_id
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._stale_near_miss(text, uuid, double precision, timestamptz) IS
    'A plan that would have been the hit but is stale, as recall_plan shows it: as _near_miss, with '
    'no differences, and up to ten of its chunks that changed.';
