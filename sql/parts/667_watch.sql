-- Tables of the application's own that are watched: triggers there report what changed.
--
-- The trigger's function runs with the rights of the owner of schema mnemo, so that whoever may
-- change the table need not have any here. What it does is fixed by the trigger, which only the
-- table's owner, or who was given TRIGGER, can make, and only with a level: see _may_watch. Values of
-- the table are read by the output functions of their types, which are the server's own, and never
-- by a cast, which could be somebody's.

CREATE FUNCTION mnemo._may_watch(
    p_table oid
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN coalesce(mnemo._level_of((
    SELECT r.rolname
      FROM pg_class AS c
      JOIN pg_roles AS r ON r.oid = c.relowner
     WHERE c.oid = p_table)) IN ('application', 'admin'), false);
COMMENT ON FUNCTION mnemo._may_watch(oid) IS
    'Whether the owner of the table may speak for any organisation, as levels application and admin.';

CREATE FUNCTION mnemo._watched_row(
    p_alias text,
    p_id_column text,
    p_org_column text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Compared byte by byte, whatever the column's own collation takes for equal.
RETURN format('concat(%I.%I) COLLATE "C" AS id', p_alias, p_id_column)
    || CASE WHEN p_org_column = '' THEN ''
       ELSE format(', concat(%I.%I) COLLATE "C" AS org', p_alias, p_org_column) END;
COMMENT ON FUNCTION mnemo._watched_row(text, text, text) IS
    'Which chunk a row of a watched table is: the column id of a query, and org where a column of the '
    'table says it.';

CREATE FUNCTION mnemo._watched_ids(
    p_update boolean,
    p_id_column text,
    p_version_column text,
    p_org_column text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT p_update THEN
        format('SELECT %s FROM mnemo_old AS o',
            mnemo._watched_row('o', p_id_column, p_org_column))
    WHEN p_version_column = '' THEN
        format('SELECT %s FROM mnemo_old AS o UNION SELECT %s FROM mnemo_new AS n',
            mnemo._watched_row('o', p_id_column, p_org_column),
            mnemo._watched_row('n', p_id_column, p_org_column))
    ELSE
        -- No key tells which row became which: what stands on one side only has changed.
        format('SELECT d.* FROM ('
            '(SELECT %1$s FROM mnemo_old AS o EXCEPT ALL SELECT %2$s FROM mnemo_new AS n)'
            ' UNION ALL'
            ' (SELECT %2$s FROM mnemo_new AS n EXCEPT ALL SELECT %1$s FROM mnemo_old AS o)'
            ') AS d',
            mnemo._watched_row('o', p_id_column, p_org_column)
                || format(', o.%1$I IS NULL, concat(o.%1$I) COLLATE "C"', p_version_column),
            mnemo._watched_row('n', p_id_column, p_org_column)
                || format(', n.%1$I IS NULL, concat(n.%1$I) COLLATE "C"', p_version_column))
END;
COMMENT ON FUNCTION mnemo._watched_ids(boolean, text, text, text) IS
    'The query for the chunks (see _watched_row) of the rows that a statement changed, by its '
    'transition tables: made of the names of columns alone.';

CREATE FUNCTION mnemo._is_padded(
    p_table oid,
    p_column text
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE t(type) AS (
        SELECT a.atttypid FROM pg_attribute AS a
         WHERE a.attrelid = p_table AND a.attname = p_column
        UNION ALL
        SELECT y.typbasetype FROM t JOIN pg_type AS y ON y.oid = t.type WHERE y.typtype = 'd'
    )
    SELECT EXISTS (SELECT FROM t WHERE t.type = 'bpchar'::regtype) AS padded;
END;
COMMENT ON FUNCTION mnemo._is_padded(oid, text) IS
    'Whether a column is of type char(n), or a domain over it: its values are filled up with blanks, '
    'and lose them where they become text.';

CREATE FUNCTION mnemo._watched_report(
    p_ids text,
    p_padded boolean,
    p_org text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format(
    'WITH told AS ('
    ' INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)'
    ' SELECT i.org, $2, i.id, 1, clock_timestamp()'
    ' FROM (SELECT DISTINCT %s AS org, mnemo._chunk_key(k.id) COLLATE "C" AS id'
    ' FROM (%s) AS t CROSS JOIN LATERAL (%s) AS k(id)) AS i ORDER BY i.org, i.id'
    ' ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE'
    ' SET version = s.version + 1, changed_at = greatest(s.changed_at, clock_timestamp())'
    ' RETURNING s.org_id)'
    ' SELECT t.org_id, count(*) AS chunks FROM told AS t GROUP BY t.org_id ORDER BY t.org_id',
    p_org, p_ids,
    -- As the column shows it, and as it is once it has become text.
    CASE WHEN p_padded
        THEN 'VALUES (t.id), (coalesce(nullif(rtrim(t.id, '' ''), ''''), t.id))'
        ELSE 'SELECT t.id' END);
COMMENT ON FUNCTION mnemo._watched_report(text, boolean, text) IS
    'The statement that reports the chunks of a query (p_ids, see _watched_ids) of source $2 and '
    'counts them by organisation. p_org: the expression for that, by the query or $1.';

CREATE FUNCTION mnemo._chunk_table_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- Ids must be written as in every other session.
SET DateStyle = 'ISO'
SET IntervalStyle = 'postgres'
SET TimeZone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
SET jit = off
AS $fn$
DECLARE
    v_id_column text := TG_ARGV[0];
    v_version_column text := TG_ARGV[1];
    v_org_column text := coalesce(TG_ARGV[5], '');
    v_ids text;
    v_org record;
BEGIN
    IF NOT mnemo._may_watch(TG_RELID) THEN
        PERFORM mnemo._raise_access(
            format('table %s is watched, and its owner has no level in mnemo_pg', TG_RELID::regclass),
            jsonb_build_object('table', TG_RELID::regclass),
            'grant its owner level application, or drop the triggers mnemo_watch_...');
    ELSIF TG_OP = 'TRUNCATE' THEN
        v_ids := CASE WHEN v_org_column = '' THEN 'SELECT '''' AS id'
            ELSE 'SELECT '''' AS id, p.org_id AS org FROM mnemo._plan_owners() AS p' END;
    ELSIF EXISTS (
        SELECT FROM unnest(ARRAY[v_id_column, v_version_column, v_org_column]) AS c(name)
         WHERE c.name <> '' AND NOT EXISTS (
                SELECT FROM pg_attribute AS a
                 WHERE a.attrelid = TG_RELID AND NOT a.attisdropped AND a.attname = c.name))
    THEN
        PERFORM mnemo._raise_argument('p_id_column',
            format('table %s is watched by a column that it does not have any more',
                TG_RELID::regclass),
            'call mnemo.watch_table again with the new name, or mnemo.unwatch_table');
    ELSE
        -- What is no name of an organisation owns no plans.
        v_ids := format('SELECT w.* FROM (%s) AS w WHERE w.id <> ''''', mnemo._watched_ids(
                TG_OP = 'UPDATE', v_id_column, v_version_column, v_org_column))
            || CASE WHEN v_org_column <> '' THEN ' AND mnemo._is_identifier(w.org)' ELSE '' END;
    END IF;
    -- Here, as only the trigger's own function sees the transition tables.
    FOR v_org IN EXECUTE mnemo._watched_report(
        v_ids, mnemo._is_padded(TG_RELID, v_id_column),
        CASE WHEN v_org_column = '' THEN '$1' ELSE 't.org' END)
    USING TG_ARGV[3], TG_ARGV[2]
    LOOP
        PERFORM mnemo._write_stale_event(v_org.org_id, TG_ARGV[4], v_org.chunks, NULL);
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._chunk_table_changed() IS
    'The function of the triggers that mnemo.watch_table makes; arguments: id column, version column '
    'or empty, source, organisation, agent, and the column that says the organisation, if there is '
    'one. Reports the ids that a statement changed or removed, a TRUNCATE as the whole source, with '
    'one event an organisation. Levels application and admin may use it in triggers.';

CREATE FUNCTION mnemo._descendants(
    p_table oid
)
RETURNS TABLE (relid oid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE found(relid) AS (
        SELECT p_table
         UNION
        SELECT i.inhrelid FROM found AS f JOIN pg_inherits AS i ON i.inhparent = f.relid
    )
    SELECT f.relid FROM found AS f;
END;
COMMENT ON FUNCTION mnemo._descendants(oid) IS
    'A table, its partitions and the tables that inherit from it.';

CREATE FUNCTION mnemo._watch_problem(
    p_table regclass,
    p_id_column text,
    p_version_column text,
    p_org_column text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table record;
    v_missing record;
BEGIN
    SELECT c.relkind, c.relnamespace = 'mnemo'::regnamespace AS ours,
           pg_get_userbyid(c.relowner) AS owner
      INTO v_table
      FROM pg_class AS c WHERE c.oid = p_table;
    IF NOT FOUND OR v_table.relkind NOT IN ('r', 'p') OR v_table.ours THEN
        RETURN mnemo._argument('p_table',
            'p_table must be a table of the application; got ' || coalesce(p_table::text, 'NULL'),
            'name the table that holds the chunks, with its schema');
    ELSIF NOT mnemo._may_watch(p_table) THEN
        RETURN mnemo._access(
            format('the owner of table %s, %I, has neither level application nor admin',
                p_table, v_table.owner),
            'p_table', format('an administrator runs: SELECT mnemo.grant_access(%L, ''application'')',
                v_table.owner));
    END IF;
    SELECT n.* INTO v_missing
      FROM (VALUES ('p_id_column', p_id_column), ('p_version_column', p_version_column),
                   ('p_org_column', p_org_column)) AS n(parameter, name)
     WHERE n.name IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_attribute AS a
             WHERE a.attrelid = p_table AND a.attname = n.name AND a.attnum > 0
               AND NOT a.attisdropped AND a.attgenerated <> 'v')
     LIMIT 1;
    IF FOUND THEN
        RETURN mnemo._argument(v_missing.parameter,
            format('%s must be a column of %s; got %s', v_missing.parameter, p_table,
                CASE v_missing.name WHEN '' THEN 'no name' ELSE mnemo._shown(v_missing.name) END),
            'names of columns are compared exactly, without quotes; a generated column must be '
            'STORED');
    ELSIF EXISTS (
        SELECT FROM mnemo._descendants(p_table) AS d
          JOIN pg_class AS c ON c.oid = d.relid
         WHERE c.relkind = 'f'
    ) THEN
        RETURN mnemo._argument('p_table',
            format('p_table has foreign tables below it: %s', p_table),
            'PostgreSQL keeps no record of what changes in them; call mnemo.invalidate_chunks');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._watch_problem(regclass, text, text, text) IS
    'The first problem of what is to be watched; NULL for none.';
