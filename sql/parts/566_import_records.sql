CREATE FUNCTION mnemo._import_singly(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_number integer;
BEGIN
    FOR v_number IN 1 .. cardinality(p_rows) LOOP
        place := v_number;
        BEGIN
            SELECT r.status, r.error INTO status, error
              FROM mnemo._import_rows(p_table, p_rows[v_number : v_number]) AS r;
        EXCEPTION
            WHEN data_exception OR integrity_constraint_violation OR insufficient_privilege
                OR program_limit_exceeded
            THEN
                status := 'failed';
                error := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_singly(text, jsonb[]) IS
    '_import_rows one by one, so that a row which a type or a constraint refuses stops no other.';

CREATE FUNCTION mnemo._import_table(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    BEGIN
        RETURN QUERY SELECT r.* FROM mnemo._import_rows(p_table, p_rows) AS r;
        RETURN;
    EXCEPTION
        WHEN data_exception OR integrity_constraint_violation OR insufficient_privilege
            OR program_limit_exceeded
        THEN
            NULL;
    END;
    RETURN QUERY SELECT r.* FROM mnemo._import_singly(p_table, p_rows) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_table(text, jsonb[]) IS
    '_import_rows as a set, and one by one where that fails.';

CREATE FUNCTION mnemo.import_records(
    p_records jsonb,
    p_on_error text DEFAULT 'abort'
)
RETURNS TABLE ("position" bigint, record text, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_states text[];
    v_errors text[];
    v_hints text[];
    v_bad bigint;
    v_found record;
    v_table record;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(
        mnemo._batch_problem('p_records', p_records, p_on_error, 'lines of an export'));
    SELECT array_agg(CASE WHEN (p.problem).code IS NOT NULL THEN 'failed' END ORDER BY p.place),
           array_agg((p.problem).message ORDER BY p.place),
           array_agg((p.problem).hint ORDER BY p.place)
      INTO v_states, v_errors, v_hints
      FROM (
        SELECT e.place, mnemo._line_problem(e.line) AS problem
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
        OFFSET 0
      ) AS p;
    FOR v_table IN
        SELECT s.table_name, array_agg(e.line -> 'row' ORDER BY e.place) AS items,
               array_agg(e.place ORDER BY e.place) AS places
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
          JOIN mnemo._export_sections() AS s ON s.table_name = e.line ->> 'table' AND NOT s.global
         WHERE v_states[e.place] IS NULL
         GROUP BY s.place, s.table_name
         ORDER BY s.place
    LOOP
        FOR v_found IN SELECT * FROM mnemo._import_table(v_table.table_name, v_table.items) LOOP
            v_states[v_table.places[v_found.place]] := v_found.status;
            IF v_found.error IS NOT NULL THEN
                v_errors[v_table.places[v_found.place]] := mnemo._line_name(
                    v_table.table_name, v_table.items[v_found.place]) || ': ' || v_found.error;
            END IF;
        END LOOP;
    END LOOP;
    v_bad := array_position(v_states, 'failed');
    IF v_bad IS NOT NULL AND p_on_error = 'abort' THEN
        PERFORM mnemo._raise_placed(
            mnemo._argument('p_records', v_errors[v_bad], v_hints[v_bad]), v_bad);
    END IF;
    RETURN QUERY
    SELECT e.place, mnemo._line_name(e.line ->> 'table', e.line -> 'row'),
           coalesce(v_states[e.place], 'header'), '22023: ' || v_errors[e.place]
      FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
     ORDER BY e.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.import_records(jsonb, text) IS
    'Writes up to 10,000 lines of an export as they are, ids, hashes, nonces and times kept, with '
    'no event for it; signatures and terms are derived anew. A line that was changed, or whose '
    'content_hash is not the hash of its record, is refused. One row a line, position from 1: '
    'record (table and key), status imported, present (the same is there: nothing is written), '
    'header, or failed with the error as SQLSTATE: message. p_on_error abort: the first bad line '
    'raises its error and nothing is written; skip: the others are written. A record that is '
    'there with another hash, an event, grant or setting that differs, is an error. Levels and '
    'bindings are given as mnemo.grant_access and mnemo.bind_role do. Level admin only. Errors: '
    '42501 not an administrator; 22023 bad line, no array, unknown p_on_error; 54000 over 10,000.';
