CREATE FUNCTION mnemo._element_problem(
    p_element jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_value jsonb;
    v_type text;
BEGIN
    IF jsonb_typeof(p_element) IS DISTINCT FROM 'object' THEN
        RETURN mnemo._argument('p_plans',
            'an element must be a JSON object; got ' || coalesce(jsonb_typeof(p_element), 'NULL'),
            'keys are the parameters of mnemo.remember_plan without p_');
    END IF;
    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(p_element) AS e LOOP
        v_type := jsonb_typeof(v_value);
        CONTINUE WHEN v_type = 'null' OR v_key = 'details'
            OR v_key = 'embedding' AND v_type = 'array';
        IF v_key IN ('steps', 'chunk_ids', 'tags') THEN
            IF v_type <> 'array'
               OR v_value @? 'strict $[*] ? (@.type() != "string" && @.type() != "null")'
            THEN
                RETURN mnemo._argument('p_' || v_key, v_key || ' must be an array of strings',
                    'quote the elements');
            END IF;
        ELSIF v_key = 'outcome_score' THEN
            IF v_type <> 'number' THEN
                RETURN mnemo._argument('p_outcome_score', 'outcome_score must be a number; got '
                    || v_type, 'JSON has no NaN and no infinity');
            ELSIF abs((v_value #>> '{}')::numeric) NOT BETWEEN 1e-300 AND 1e300
                  AND (v_value #>> '{}')::numeric <> 0 THEN
                RETURN mnemo._argument('p_outcome_score',
                    'outcome_score is outside the range of double precision', 'use 0 to 1');
            END IF;
        ELSIF v_key = 'ttl' THEN
            IF v_type <> 'string' OR NOT mnemo._is_interval(v_value #>> '{}') THEN
                RETURN mnemo._argument('p_ttl', 'ttl must be an interval as text; got '
                    || mnemo._shown(v_value::text), 'such as "30 days", "PT1H30M" or "12:00:00"');
            END IF;
        ELSIF v_key = 'read_at' THEN
            IF v_type <> 'string' OR NOT mnemo._is_time(v_value #>> '{}') THEN
                RETURN mnemo._argument('p_read_at', 'read_at must be a time in ISO 8601 with its '
                    'zone; got ' || mnemo._shown(v_value::text), 'such as "2026-01-31T09:00:00Z"');
            END IF;
        ELSIF v_key IN ('query', 'agent_id', 'scope', 'org_id', 'context', 'thread_id', 'source_id',
                        'embedding', 'model', 'idempotency_key', 'chunk_source') THEN
            IF v_type <> 'string' THEN
                RETURN mnemo._argument('p_' || v_key, v_key || ' must be a string; got ' || v_type,
                    'quote the value');
            END IF;
        ELSE
            RETURN mnemo._argument('p_plans', 'unknown key ' || mnemo._shown(v_key),
                'keys are the parameters of mnemo.remember_plan without p_');
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._element_problem(jsonb) IS
    'The problem of an element that cannot be read as the arguments of mnemo.remember_plan: no '
    'object, an unknown key, a value of the wrong type; NULL for none.';

CREATE FUNCTION mnemo._is_interval(
    p_text text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Checked beforehand, because a failed cast could only be caught in a subtransaction.
RETURN p_text COLLATE "C" ~ (
    '^P(?=.)([0-9]{1,6}Y)?([0-9]{1,6}M)?([0-9]{1,6}W)?([0-9]{1,6}D)?'
    '(T(?=.)([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}([.][0-9]{1,6})?S)?)?$'
    '|^(?=.)([0-9]{1,6} years?( |$))?([0-9]{1,6} months?( |$))?([0-9]{1,6} weeks?( |$))?'
    '([0-9]{1,6} days?( |$))?'
    '(([0-9]{1,6} hours?( |$))?([0-9]{1,6} minutes?( |$))?([0-9]{1,6} seconds?)?'
    '|[0-9]{1,6}:[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)$'
);
COMMENT ON FUNCTION mnemo._is_interval(text) IS
    'Whether a text is a duration in ISO 8601 (P1DT12H) or in words, from years down to seconds, '
    'with hours also as hh:mm:ss (2 days 12:00:00).';

CREATE FUNCTION mnemo._plan_input_of(
    p_element jsonb,
    p_level text,
    p_known jsonb,
    OUT input mnemo._plan_input,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_identity record;
    v_overrides jsonb;
    v_scope_problem mnemo._problem := mnemo._scope_problem(p_level, p_element ->> 'scope');
BEGIN
    -- Access and mode come before the form of the element.
    SELECT * INTO v_identity
      FROM mnemo._identify(p_level, p_element ->> 'agent_id', p_element ->> 'org_id');
    problem := v_identity.problem;
    IF problem.code IS NULL AND v_scope_problem.code = '42501' THEN
        problem := v_scope_problem;
    ELSIF problem.code IS NULL THEN
        v_overrides := coalesce(
            p_known -> v_identity.org_id, mnemo._overrides(v_identity.org_id));
        problem := coalesce(
            mnemo._mode_problem(v_identity.org_id, v_overrides), mnemo._element_problem(p_element)
        );
    END IF;
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    input := jsonb_populate_record(NULL::mnemo._plan_input, p_element);
    input.details := nullif(input.details, 'null');
    input.agent_id := v_identity.agent_id;
    input.org_id := v_identity.org_id;
    input.overrides := v_overrides;
    input.scope := coalesce(input.scope, 'private');
    problem := mnemo._plan_problem(input, p_level);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_input_of(jsonb, text, jsonb) IS
    'An element of a batch as the arguments of mnemo.remember_plan, agent and organisation filled '
    'in, or its problem. p_known: settings read before, by organisation.';

CREATE FUNCTION mnemo.remember_plans(
    p_plans jsonb,
    p_on_error text DEFAULT 'abort'
)
RETURNS TABLE ("position" bigint, id uuid, stored boolean, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_level text := mnemo._level();
    v_element record;
    v_read record;
    v_inputs mnemo._plan_input[] := '{}';
    v_places bigint[] := '{}';
    v_failed bigint[] := '{}';
    v_errors text[] := '{}';
    v_input mnemo._plan_input;
    v_claims text[] := '{}';
    v_known jsonb := '{}';
    v_order bigint[];
BEGIN
    PERFORM mnemo._raise_problem(mnemo._batch_problem('p_plans', p_plans, p_on_error));
    FOR v_element IN
        SELECT e.value, e.place
          FROM jsonb_array_elements(p_plans) WITH ORDINALITY AS e(value, place)
    LOOP
        v_read := mnemo._plan_input_of(v_element.value, v_level, v_known);
        IF (v_read.problem).code IS NULL THEN
            v_input := v_read.input;
            IF NOT v_known ? v_input.org_id THEN
                v_known := v_known || jsonb_build_object(v_input.org_id, v_input.overrides);
            END IF;
            v_inputs := v_inputs || v_input;
            v_places := v_places || v_element.place;
            v_claims := v_claims || concat_ws(
                ' ', v_input.org_id, v_input.agent_id, v_input.idempotency_key);
        ELSIF p_on_error = 'abort' THEN
            PERFORM mnemo._raise_placed(v_read.problem, v_element.place);
        ELSE
            v_failed := v_failed || v_element.place;
            v_errors := v_errors || ((v_read.problem).code || ': ' || (v_read.problem).message);
        END IF;
    END LOOP;
    -- Callers with the same keys in any order claim them in one order.
    v_order := ARRAY(
        SELECT c.number
          FROM unnest(v_claims) WITH ORDINALITY AS c(claim, number)
         ORDER BY c.claim COLLATE "C", c.number
    );
    v_inputs := ARRAY(SELECT v_inputs[o.number] FROM unnest(v_order) AS o(number));
    v_places := ARRAY(SELECT v_places[o.number] FROM unnest(v_order) AS o(number));
    RETURN QUERY
    SELECT r.place, r.id, r.stored, r.status, r.error
      FROM (
        SELECT s.place, s.id, s.stored, s.status, s.error
          FROM mnemo._store_plans(v_inputs, v_places, p_on_error) AS s
        UNION ALL
        SELECT f.place, NULL, false, 'failed', f.error
          FROM unnest(v_failed, v_errors) AS f(place, error)
      ) AS r
     ORDER BY r.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_plans(jsonb, text) IS
    'REMEMBER_PLAN for up to 10,000 plans in one call: an array of objects whose keys are the '
    'parameters of mnemo.remember_plan without p_ (embedding also as an array of numbers). One row an element, position from 1. p_on_error '
    'abort: the first bad element raises its error and nothing is written; skip: bad elements are '
    'reported with status failed and the error as SQLSTATE: message, the others are stored. '
    'Errors: those of mnemo.remember_plan; 22023 no array, unknown key; 54000 over 10,000.';
