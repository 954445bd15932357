CREATE TYPE mnemo._plan_input AS (
    query text,
    steps text[],
    chunk_ids text[],
    outcome_score double precision,
    agent_id text,
    scope text,
    org_id text,
    details jsonb,
    context text,
    ttl interval,
    thread_id text,
    source_id text,
    tags text[],
    embedding text,
    model text,
    idempotency_key text,
    overrides jsonb,
    chunk_source text,
    read_at timestamptz,
    reason text
);
COMMENT ON TYPE mnemo._plan_input IS
    'The arguments of mnemo.remember_plan, one plan, and the settings of its organisation as '
    '_overrides gives them; reason: why it failed, for what not to do, else NULL.';

CREATE FUNCTION mnemo._mode_problem(
    p_org_id text,
    p_overrides jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._setting_in(p_overrides, 'experience_memory') <> 'on' THEN
        RETURN ROW('55000',
            format('experience memory is off for organisation %s', mnemo._shown(p_org_id)),
            NULL, 'SELECT mnemo.configure(''experience_memory'', ''on'')')::mnemo._problem;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._mode_problem(text, jsonb) IS
    'The problem 55000 of an organisation whose experience memory is off by its settings; NULL when '
    'it is on.';

CREATE FUNCTION mnemo._plan_problem(
    p_input mnemo._plan_input,
    p_level text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._scope_problem(p_level, p_input.scope);
BEGIN
    IF v_problem.code = '42501' THEN
        RETURN v_problem;
    END IF;
    v_problem := coalesce(
        mnemo._mode_problem(p_input.org_id, p_input.overrides),
        mnemo._identity_problem(p_input.agent_id, p_input.org_id)
    );
    IF v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    END IF;
    v_problem := mnemo._first_problem(ARRAY[
        CASE WHEN p_input.query IS NULL OR mnemo._is_blank(p_input.query) THEN
            mnemo._argument('p_query', 'p_query must not be NULL or blank',
                'pass the question that the plan answered')
        END,
        CASE WHEN p_input.steps IS NULL THEN
            mnemo._argument('p_steps', 'p_steps must not be NULL', 'pass the steps as an array')
        END,
        CASE WHEN p_input.chunk_ids IS NULL THEN
            mnemo._argument('p_chunk_ids', 'p_chunk_ids must not be NULL',
                'pass an empty array for a plan that used no chunks')
        END,
        CASE WHEN p_input.outcome_score IS NULL THEN
            mnemo._argument('p_outcome_score', 'p_outcome_score must not be NULL',
                'pass how well the plan worked, from 0 to 1')
        END,
        mnemo._embedding_problem(p_input.embedding, p_input.model),
        mnemo._list_problem('p_steps', p_input.steps, 1000, NULL, 'steps'),
        mnemo._list_problem('p_chunk_ids', p_input.chunk_ids, 10000, NULL, 'chunk ids'),
        mnemo._scope_problem(p_level, p_input.scope),
        mnemo._ttl_problem(p_input.ttl),
        mnemo._tags_problem(p_input.tags),
        mnemo._texts_problem(
            ARRAY['p_context', 'p_thread_id', 'p_source_id', 'p_idempotency_key'],
            ARRAY[p_input.context, p_input.thread_id, p_input.source_id, p_input.idempotency_key],
            256
        ),
        mnemo._details_problem(p_input.details, cardinality(p_input.steps)),
        mnemo._source_problem('p_chunk_source', p_input.chunk_source),
        mnemo._time_problem('p_read_at', p_input.read_at),
        mnemo._length_problem('p_query', p_input.query, 100000)
    ]);
    -- Only what is sound and not huge is worth building.
    RETURN coalesce(v_problem, mnemo._payload_problem(p_input));
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_problem(mnemo._plan_input, text) IS
    'The first problem of a plan to write by a caller of level p_level; agent and organisation are '
    'filled in already. NULL for none. The outcome gate is no problem.';

CREATE FUNCTION mnemo._details_problem(
    p_details jsonb,
    p_steps integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_details IS NULL THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_details) <> 'array' THEN
        RETURN mnemo._argument('p_details',
            'p_details must be a JSON array; got ' || jsonb_typeof(p_details),
            'pass one JSON value for each step');
    ELSIF jsonb_array_length(p_details) <> p_steps THEN
        RETURN mnemo._argument('p_details',
            format('p_details has %s values for %s steps', jsonb_array_length(p_details), p_steps),
            'pass one JSON value for each step, null where a step has none');
    END IF;
    RETURN mnemo._depth_problem('p_details', p_details);
END
$fn$;
COMMENT ON FUNCTION mnemo._details_problem(jsonb, integer) IS
    'The problem of details that are no array of one value a step, or too deep; NULL for none.';

CREATE FUNCTION mnemo._payload_problem(
    p_input mnemo._plan_input
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_tokens text[];
    v_bytes bigint;
BEGIN
    -- 20,001 tokens need more bytes than that, and JSON writes a byte as six at most: the query,
    -- its tokens, which repeat a character of it twice at most, and the rest stay below 1 MB.
    IF octet_length(p_input::text) <= 60000 THEN
        RETURN NULL;
    END IF;
    v_tokens := mnemo._signature_tokens(p_input.query);
    IF cardinality(v_tokens) > 20000 THEN
        RETURN mnemo._limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(v_tokens)),
            'shorten it');
    END IF;
    v_bytes := octet_length(mnemo._plan_payload(p_input, v_tokens, 1)::text);
    IF v_bytes > 1048576 THEN
        RETURN mnemo._limit('p_steps',
            format('p_query, p_steps, p_details and p_chunk_ids have %s bytes as JSON together, '
                'at most 1048576 (1 MB) are allowed', v_bytes),
            'keep large values outside and store their identifiers');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._payload_problem(mnemo._plan_input) IS
    'The problem of a plan over 20,000 signature tokens or 1 MB as JSON text; NULL for none.';

CREATE FUNCTION mnemo._plan_payload(
    p_input mnemo._plan_input,
    p_tokens text[],
    p_outcome_score double precision
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN jsonb_build_object(
        'query', p_input.query,
        'signature_tokens', p_tokens,
        'steps', p_input.steps,
        'details', p_input.details,
        'chunk_ids', p_input.chunk_ids,
        'outcome_score', p_outcome_score,
        'context', p_input.context
    ) || CASE WHEN p_input.chunk_source <> '' THEN
        jsonb_build_object('chunk_source', p_input.chunk_source) ELSE '{}' END
    || CASE WHEN p_input.read_at IS NOT NULL THEN
        jsonb_build_object('read_at', mnemo._micros(p_input.read_at)) ELSE '{}' END
    || CASE WHEN p_input.reason IS NOT NULL THEN
        jsonb_build_object('reason', p_input.reason) ELSE '{}' END;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_payload(mnemo._plan_input, text[], double precision) IS
    'The payload of a plan, as it stands in metadata under experience_plan.';
