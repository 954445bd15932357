-- Every error of the API is made here, so that code, DETAIL and HINT have one form. A rule that
-- serves both single calls and batches returns a problem; single calls raise it, batches report it.

CREATE TYPE mnemo._problem AS (
    code text,
    message text,
    parameter text,
    hint text
);
COMMENT ON TYPE mnemo._problem IS
    'An error that was found and not raised yet: SQLSTATE, message, parameter (as p_name), remedy.';

CREATE FUNCTION mnemo._raise(
    p_sqlstate text,
    p_message text,
    p_detail jsonb DEFAULT NULL,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = p_sqlstate,
        MESSAGE = p_message,
        DETAIL = coalesce(p_detail, '{}')::text,
        HINT = coalesce(p_hint, 'the comment on the function gives the allowed values');
END
$fn$;
COMMENT ON FUNCTION mnemo._raise(text, text, jsonb, text) IS
    'Raises p_sqlstate with p_message; DETAIL is the JSON object p_detail, HINT the remedy. '
    'Volatile, so that no planner folds a call away or makes it early.';

CREATE FUNCTION mnemo._argument(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('22023', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._argument(text, text, text) IS 'The problem 22023: a bad argument.';

CREATE FUNCTION mnemo._limit(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('54000', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._limit(text, text, text) IS 'The problem 54000: over a limit.';

CREATE FUNCTION mnemo._raise_problem(
    p_problem mnemo._problem
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise(
            p_problem.code,
            p_problem.message,
            jsonb_strip_nulls(jsonb_build_object('parameter', p_problem.parameter)),
            p_problem.hint
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._raise_problem(mnemo._problem) IS
    'Raises a problem; DETAIL is {"parameter": ...}. Does nothing for NULL.';

CREATE FUNCTION mnemo._first_problem(
    p_problems mnemo._problem[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_problem mnemo._problem;
    v_limit mnemo._problem;
BEGIN
    FOREACH v_problem IN ARRAY p_problems LOOP
        IF v_problem.code <> '54000' THEN
            RETURN v_problem;
        ELSIF v_limit.code IS NULL AND v_problem.code IS NOT NULL THEN
            v_limit := v_problem;
        END IF;
    END LOOP;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._first_problem(mnemo._problem[]) IS
    'The first problem, limits (54000) after all others; NULL when there is none.';

CREATE FUNCTION mnemo._access(
    p_message text,
    p_parameter text,
    p_hint text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('42501', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._access(text, text, text) IS
    'The problem 42501: the role or the acting agent may not do this.';

CREATE FUNCTION mnemo._raise_argument(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._argument(p_parameter, p_message, p_hint));
COMMENT ON FUNCTION mnemo._raise_argument(text, text, text) IS
    'Raises 22023 for a bad argument; DETAIL is {"parameter": p_parameter}.';

CREATE FUNCTION mnemo._raise_limit(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._limit(p_parameter, p_message, p_hint));
COMMENT ON FUNCTION mnemo._raise_limit(text, text, text) IS
    'Raises 54000 for an argument over a limit; DETAIL is {"parameter": p_parameter}.';

CREATE FUNCTION mnemo._raise_not_found(
    p_parameter text,
    p_ids uuid[]
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise(
    'MN001',
    p_parameter || ': no such record for this agent: ' || array_to_string(p_ids[1:10], ', '),
    jsonb_build_object('parameter', p_parameter, 'ids', to_jsonb(p_ids)),
    'the record does not exist, belongs to another organisation, is gone, or is not visible'
);
COMMENT ON FUNCTION mnemo._raise_not_found(text, uuid[]) IS
    'Raises MN001. Unknown, foreign and invisible records get the same answer on purpose; DETAIL '
    'carries the ids that the caller gave.';

CREATE FUNCTION mnemo._raise_access(
    p_message text,
    p_detail jsonb DEFAULT NULL,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise('42501', p_message, p_detail, p_hint);
COMMENT ON FUNCTION mnemo._raise_access(text, jsonb, text) IS
    'Raises 42501: the role or the acting agent may not do this.';
