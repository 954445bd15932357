CREATE FUNCTION mnemo._any_org_problem(
    p_level text,
    p_org_column text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_level = 'tenant' AND p_org_column IS NOT NULL THEN
    mnemo._access('a tenant cannot speak for the organisations that a column names', 'p_org_column',
        'leave it out, or use a role of level application')
END;
COMMENT ON FUNCTION mnemo._any_org_problem(text, text) IS
    'The problem 42501 of a tenant that watches a table for any organisation; NULL for none.';

CREATE FUNCTION mnemo.watch_statements(
    p_table regclass,
    p_id_column text DEFAULT NULL,
    p_version_column text DEFAULT NULL,
    p_source text DEFAULT '',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_org_column text DEFAULT NULL
)
RETURNS TABLE (rank bigint, statement text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 3
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_id_column IS NOT NULL THEN
        PERFORM mnemo._raise_problem(coalesce(
            mnemo._whole_org_problem(v_caller.level, v_caller.org_id),
            mnemo._any_org_problem(v_caller.level, p_org_column),
            mnemo._first_problem(ARRAY[
                mnemo._watch_problem(p_table, p_id_column, p_version_column, p_org_column),
                mnemo._source_problem('p_source', p_source)
            ])
        ));
    ELSIF p_table IS NULL THEN
        PERFORM mnemo._raise_argument('p_table', 'p_table must not be NULL',
            'name the table that holds the chunks, with its schema');
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.place, s.relid::regclass::text, s.statement), s.statement
      FROM (
        SELECT 1 AS place, d.relid,
               format('DROP TRIGGER %I ON %s', t.tgname, d.relid::regclass) AS statement
          FROM mnemo._descendants(p_table) AS d
          JOIN pg_trigger AS t ON t.tgrelid = d.relid
          JOIN pg_proc AS p ON p.oid = t.tgfoid
         WHERE p.pronamespace = 'mnemo'::regnamespace AND p.proname = '_chunk_table_changed'
        UNION ALL
        SELECT 2, d.relid,
               format('CREATE TRIGGER mnemo_watch_%s AFTER %s ON %s%s FOR EACH STATEMENT'
                       ' EXECUTE FUNCTION mnemo._chunk_table_changed(%L, %L, %L, %L, %L%s)',
                   lower(e.event), e.event, d.relid::regclass, e.tables, p_id_column,
                   coalesce(p_version_column, ''), coalesce(p_source, ''), v_caller.org_id,
                   v_caller.agent_id, ', ' || quote_literal(p_org_column))
          FROM mnemo._descendants(p_table) AS d
          CROSS JOIN (VALUES
            ('UPDATE', ' REFERENCING OLD TABLE AS mnemo_old NEW TABLE AS mnemo_new'),
            ('DELETE', ' REFERENCING OLD TABLE AS mnemo_old'),
            ('TRUNCATE', '')
          ) AS e(event, tables)
         WHERE p_id_column IS NOT NULL
      ) AS s
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.watch_statements(regclass, text, text, text, text, text, text) IS
    'The statements that mnemo.watch_table runs for these arguments, and with p_id_column NULL those '
    'of mnemo.unwatch_table, in their order: to read them before, or to put them into a migration. '
    'Reads only. Errors: those of mnemo.watch_table.';

CREATE FUNCTION mnemo.watch_table(
    p_table regclass,
    p_id_column text,
    p_version_column text DEFAULT NULL,
    p_source text DEFAULT '',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_org_column text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_statement text;
    v_count bigint := 0;
BEGIN
    -- With the rights of the caller: triggers belong to the owner of the table.
    FOR v_statement IN
        SELECT s.statement
          FROM mnemo.watch_statements(p_table, coalesce(p_id_column, ''), p_version_column,
                p_source, p_agent_id, p_org_id, p_org_column) AS s
         ORDER BY s.rank
    LOOP
        EXECUTE v_statement;
        v_count := v_count + (v_statement LIKE 'CREATE %')::integer;
    END LOOP;
    -- Three triggers a table.
    RETURN v_count / 3;
END
$fn$;
COMMENT ON FUNCTION mnemo.watch_table(regclass, text, text, text, text, text, text) IS
    'Watches a table of the application that holds chunks: from now on UPDATE and DELETE there make '
    'the plans stale that cite the rows, in the same transaction. p_id_column: whose values, as '
    'text, plans cite as chunk ids; rows where it is NULL or empty do not count. p_version_column: '
    'an update counts only if it changes this or the id; NULL: every update counts. TRUNCATE makes '
    'all plans of the source stale. INSERT and COPY cost nothing. p_source: the source of the ids, '
    'best one of its own for each table. Makes three triggers a table, for partitions and tables '
    'that inherit too, those that are there already; replaces an earlier watch. To be run by the '
    'owner of the table, who needs level application or admin; whoever changes the table needs '
    'nothing. p_agent_id, p_org_id: whose plans, and who acts in the events. p_org_column: where one '
    'table holds the chunks of many organisations, the column that names whose each is, instead of '
    'p_org_id; rows where it is NULL or no name of an organisation count for nobody, and TRUNCATE '
    'for every organisation that has plans; not for tenants. Returns the number of tables. Errors: '
    '42501 no access, not the owner; 22023 no table of the application, no such column; 54000 over a '
    'limit.';

CREATE FUNCTION mnemo.unwatch_table(
    p_table regclass,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_statement text;
    v_count bigint := 0;
BEGIN
    FOR v_statement IN
        SELECT s.statement
          FROM mnemo.watch_statements(
                p_table, p_agent_id => p_agent_id, p_org_id => p_org_id) AS s
         ORDER BY s.rank
    LOOP
        EXECUTE v_statement;
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END
$fn$;
COMMENT ON FUNCTION mnemo.unwatch_table(regclass, text, text) IS
    'Ends what mnemo.watch_table began, for the table, its partitions and the tables that inherit '
    'from it; what is stale stays so. To be run by the owner of the table. Returns the number of '
    'triggers dropped, 0 for a table that was not watched. Errors: 42501 no access, not the owner; '
    '22023 NULL.';
