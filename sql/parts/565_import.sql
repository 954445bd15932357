CREATE FUNCTION mnemo._line_name(
    p_table text,
    p_row jsonb
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN coalesce(
        p_table || (
            SELECT ' ' || string_agg(left(p_row ->> substring(k.key FROM 't[.]([a-z_]+)'), 256), '/'
                                     ORDER BY k.place)
              FROM mnemo._export_sections() AS s
              CROSS JOIN LATERAL unnest(s.keys) WITH ORDINALITY AS k(key, place)
             WHERE s.table_name = p_table AND NOT s.global
        ),
        'a line'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._line_name(text, jsonb) IS
    'A line of an export as errors name it: its table and key.';

CREATE FUNCTION mnemo._line_problem(
    p_line jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table text := p_line ->> 'table';
    v_row jsonb := p_line -> 'row';
    v_hint text := 'import the file as mnemo.export_records gave it';
    v_columns text[];
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_line) IS DISTINCT FROM 'object'
        OR jsonb_typeof(v_row) IS DISTINCT FROM 'object'
        OR jsonb_typeof(p_line -> 'table') IS DISTINCT FROM 'string'
        OR jsonb_typeof(p_line -> 'sum') IS DISTINCT FROM 'string'
    THEN
        RETURN mnemo._argument('p_records',
            'an element must be an object with table, row and sum', v_hint);
    ELSIF v_table = 'export' THEN
        IF v_row -> 'format' <> '1' THEN
            RETURN mnemo._argument('p_records',
                format('format %s of the export is not known here, only 1 is',
                    left(v_row ->> 'format', 100)),
                'import it with the version of mnemo_pg that wrote it, then upgrade');
        END IF;
    ELSE
        v_columns := ARRAY(
            SELECT a.attname::text
              FROM pg_attribute AS a
             WHERE a.attrelid = to_regclass(format('mnemo.%I', v_table))
               AND a.attnum > 0 AND NOT a.attisdropped
               AND v_table IN (SELECT s.table_name FROM mnemo._export_sections() AS s)
        );
        IF v_columns = '{}' THEN
            RETURN mnemo._argument('p_records',
                'table must be one that an export holds; got ' || mnemo._shown(v_table), v_hint);
        ELSIF NOT v_row ?& v_columns OR v_row - v_columns <> '{}' THEN
            v_wrong := 'its row has not exactly the columns that this version has';
            v_hint := 'import it with the version of mnemo_pg that wrote it, then upgrade';
        END IF;
    END IF;
    IF v_wrong IS NULL AND mnemo._line_sum(v_table, v_row) <> p_line ->> 'sum' THEN
        v_wrong := 'it was changed after the export';
    END IF;
    RETURN CASE WHEN v_wrong IS NOT NULL THEN
        mnemo._argument('p_records', mnemo._line_name(v_table, v_row) || ': ' || v_wrong, v_hint)
    END;
END
$fn$;
COMMENT ON FUNCTION mnemo._line_problem(jsonb) IS
    'The problem of a line of an export before its values are looked at: form, table, columns, '
    'sum; NULL for none.';

CREATE FUNCTION mnemo._import_roles(
    p_table text,
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row jsonb;
BEGIN
    -- By the functions of administration: a row without its privileges would count for nothing, and
    -- a tenant must be no threat in this database either.
    FOREACH v_row IN ARRAY p_rows LOOP
        IF p_table = 'role_level' THEN
            PERFORM mnemo.grant_access(v_row ->> 'role_name', v_row ->> 'level');
            UPDATE mnemo.role_level AS l SET granted_at = (v_row ->> 'granted_at')::timestamptz
             WHERE l.role_name = v_row ->> 'role_name';
        ELSE
            PERFORM mnemo.bind_role(
                v_row ->> 'role_name', v_row ->> 'org_id', v_row ->> 'agent_id');
            UPDATE mnemo.role_binding AS b SET bound_at = (v_row ->> 'bound_at')::timestamptz
             WHERE b.role_name = v_row ->> 'role_name' AND b.org_id = v_row ->> 'org_id'
               AND b.agent_id IS NOT DISTINCT FROM v_row ->> 'agent_id';
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_roles(text, jsonb[]) IS
    'Gives roles the levels or bindings of an export, with the privileges that belong to them.';

CREATE FUNCTION mnemo._derive(
    p_table text,
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_records mnemo.memory[];
BEGIN
    IF p_table = 'memory' THEN
        v_records := ARRAY(
            SELECT r
              FROM unnest(p_rows) AS u(item)
              CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.memory, u.item) AS r
             WHERE r.deleted_at IS NULL
        );
        PERFORM mnemo._index_terms(v_records);
        v_records := ARRAY(
            SELECT r FROM unnest(v_records) AS r WHERE r.tags @> ARRAY[mnemo._reserved_tag()]
        );
        PERFORM mnemo._index_new_plans(v_records);
        PERFORM mnemo._join_identities(v_records);
    ELSIF p_table = 'acl' THEN
        PERFORM mnemo._index_plan(g.org_id, g.id), mnemo._index_grants(g.org_id, g.id)
           FROM (
            SELECT DISTINCT u.item ->> 'org_id' AS org_id, (u.item ->> 'memory_id')::uuid AS id
              FROM unnest(p_rows) AS u(item)
           ) AS g;
    ELSIF p_table = 'plan_report' THEN
        PERFORM mnemo._fold_imported(p_rows);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._derive(text, jsonb[]) IS
    'Makes the rows of other tables (plan_signature, plan_fare, term_vector and its kin) that follow from rows '
    'just imported.';

CREATE FUNCTION mnemo._import_rows(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON of rows that are there must look as in an export.
SET timezone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
-- Look-ups by key, whatever the statistics of a table that is being filled say.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    v_section mnemo._export_section;
    v_errors text[];
    v_states text[];
    v_new jsonb[];
BEGIN
    IF p_table = 'embedding' THEN
        RETURN QUERY SELECT e.place, e.status, e.error FROM mnemo._import_embeddings(p_rows) AS e;
        RETURN;
    END IF;
    SELECT s.* INTO v_section
      FROM mnemo._export_sections() AS s WHERE s.table_name = p_table AND NOT s.global;
    EXECUTE format(
        'SELECT array_agg(x.error ORDER BY x.place), array_agg(x.state ORDER BY x.place)'
        '  FROM ('
        '    SELECT u.place, (%2$s)::text AS error,'
        '           CASE WHEN e IS NULL THEN ''imported'' WHEN %3$s THEN ''present'' END AS state'
        '      FROM unnest($1) WITH ORDINALITY AS u(item, place)'
        '      CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.%1$I, u.item) AS r'
        '      LEFT JOIN mnemo.%1$I AS e ON (%4$s) = (%5$s)'
        '  ) AS x',
        p_table, coalesce(v_section.wrong, 'NULL'), v_section.same,
        replace(array_to_string(v_section.keys, ', '), 't.', 'e.'),
        replace(array_to_string(v_section.keys, ', '), 't.', 'r.')
    ) INTO v_errors, v_states USING p_rows;
    v_new := ARRAY(
        SELECT u.item
          FROM unnest(p_rows, v_states, v_errors) WITH ORDINALITY AS u(item, state, error, place)
         WHERE u.state = 'imported' AND u.error IS NULL
         ORDER BY u.place
    );
    IF cardinality(v_new) > 0 AND p_table IN ('role_level', 'role_binding') THEN
        PERFORM mnemo._import_roles(p_table, v_new);
    ELSIF cardinality(v_new) > 0 AND p_table = 'vector_model' THEN
        PERFORM mnemo._import_models(v_new);
    ELSIF cardinality(v_new) > 0 THEN
        EXECUTE format(
            'INSERT INTO mnemo.%1$I SELECT r.* FROM unnest($1) WITH ORDINALITY AS u(item, place)'
            ' CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.%1$I, u.item) AS r'
            ' ORDER BY u.place', p_table
        ) USING v_new;
        PERFORM mnemo._derive(p_table, v_new);
    END IF;
    RETURN QUERY
    SELECT u.place, CASE WHEN u.error IS NULL THEN coalesce(u.state, 'failed') ELSE 'failed' END,
           coalesce(u.error,
               CASE WHEN u.state IS NULL THEN 'another one with this key is there' END)
      FROM unnest(v_states, v_errors) WITH ORDINALITY AS u(state, error, place);
END
$fn$;
COMMENT ON FUNCTION mnemo._import_rows(text, jsonb[]) IS
    'Writes rows of one table that are not there: for each whether it was imported or was present, '
    'or why it cannot be. Raises what constraints and types refuse.';
