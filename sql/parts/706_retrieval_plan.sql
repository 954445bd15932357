CREATE FUNCTION mnemo._checked_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb;
    v_problem mnemo._problem;
BEGIN
    IF jsonb_typeof(p_plan) IS DISTINCT FROM 'object' THEN
        v_problem := mnemo._argument('$',
            'p_plan must be a JSON object; got ' || coalesce(jsonb_typeof(p_plan), 'NULL'),
            'at least {"turn_id": 0, "generation": 0}; mnemo.plan_retrieval makes one of a text');
    ELSIF octet_length(p_plan::text) > 1048576 THEN
        v_problem := mnemo._limit('$',
            format('p_plan has %s bytes, at most 1048576 are allowed', octet_length(p_plan::text)),
            'no more than 5 entities, 8 topics and 3 queries are used');
    ELSE
        v_plan := mnemo._retrieval_fields() || jsonb_strip_nulls(p_plan);
        IF mnemo._plan_is_plain(v_plan) THEN
            RETURN v_plan;
        END IF;
        v_problem := mnemo._retrieval_problem(v_plan);
    END IF;
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise(v_problem.code,
            CASE WHEN v_problem.parameter = '$' THEN '' ELSE 'p_plan: ' END || v_problem.message,
            jsonb_build_object('parameter', 'p_plan', 'path', v_problem.parameter),
            v_problem.hint);
    END IF;
    RETURN v_plan;
END
$fn$;
COMMENT ON FUNCTION mnemo._checked_plan(jsonb) IS
    'A retrieval plan with every field there, checked. Raises 22023 or 54000 with the JSON path '
    'of what is wrong in DETAIL.';

CREATE FUNCTION mnemo._normal_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb := mnemo._checked_plan(p_plan);
    v_turn bigint := (v_plan ->> 'turn_id')::numeric;
    v_generation bigint := (v_plan ->> 'generation')::numeric;
    v_hash text := coalesce(nullif(mnemo._trim(v_plan ->> 'source_transcript_hash'), ''),
        mnemo._stable_hash(''));
    v_entities jsonb := mnemo._plan_entities(v_plan -> 'entities', 5);
    v_queries jsonb := mnemo._plan_texts(v_plan -> 'lexical_queries', 'query', 3);
    v_searches boolean := v_entities <> '[]' OR v_queries <> '[]';
    v_intent text := CASE WHEN v_searches THEN v_plan ->> 'intent' ELSE 'none' END;
BEGIN
    RETURN jsonb_build_object(
        'plan_id', coalesce(nullif(mnemo._trim(v_plan ->> 'plan_id'), ''),
            'pln_' || left(encode(sha256(mnemo._utf8(
                format('%s:%s:%s', v_turn, v_generation, v_hash))), 'hex'), 12)),
        'turn_id', v_turn,
        'generation', v_generation,
        'requires_memory',
            v_searches AND coalesce((v_plan ->> 'requires_memory')::boolean, v_intent <> 'none'),
        'confidence', mnemo._plan_confidence((v_plan ->> 'confidence')::numeric),
        'intent', v_intent,
        'entities', v_entities,
        'topics', mnemo._plan_texts(v_plan -> 'topics', 'topic', 8),
        'predicates', mnemo._plan_texts(v_plan -> 'predicates', 'predicate', 5),
        'lexical_queries', v_queries,
        'scopes', mnemo._plan_texts(v_plan -> 'scopes', 'label', 5),
        'kind_filter', mnemo._plan_texts(v_plan -> 'kind_filter', 'label', 11),
        'subject_hint', nullif(mnemo._trim(v_plan ->> 'subject_hint'), ''),
        'predicate_hint', nullif(mnemo._canonical_predicate(v_plan ->> 'predicate_hint'), ''),
        'temporal', mnemo._plan_window(v_plan -> 'temporal'),
        'source_transcript_hash', v_hash,
        'warnings', mnemo._plan_warnings(v_plan -> 'warnings', p_plan)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._normal_plan(jsonb) IS
    'A retrieval plan checked and made into its normal form.';

CREATE FUNCTION mnemo._retrieval_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF mnemo._is_normal_plan(p_plan) THEN
        RETURN p_plan;
    END IF;
    RETURN mnemo._normal_plan(p_plan);
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieval_plan(jsonb) IS
    'A retrieval plan in normal form, as mnemo.normalize_retrieval_plan gives it.';
