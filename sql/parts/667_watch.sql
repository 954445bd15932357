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

CREATE FUNCTION mnemo._watched_ids(
    p_update boolean,
    p_id_column text,
    p_version_column text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT p_update THEN
        format('SELECT concat(o.%1$I) AS id FROM mnemo_old AS o', p_id_column)
    WHEN p_version_column = '' THEN
        format('SELECT concat(o.%1$I) AS id FROM mnemo_old AS o'
            ' UNION SELECT concat(n.%1$I) FROM mnemo_new AS n', p_id_column)
    ELSE
        -- No key tells which row became which: what stands on one side only has changed.
        format('SELECT d.id FROM ('
            '(SELECT concat(o.%1$I) AS id, o.%2$I IS NULL, concat(o.%2$I) FROM mnemo_old AS o'
            ' EXCEPT ALL SELECT concat(n.%1$I), n.%2$I IS NULL, concat(n.%2$I) FROM mnemo_new AS n)'
            ' UNION ALL'
            ' (SELECT concat(n.%1$I), n.%2$I IS NULL, concat(n.%2$I) FROM mnemo_new AS n'
            ' EXCEPT ALL SELECT concat(o.%1$I), o.%2$I IS NULL, concat(o.%2$I) FROM mnemo_old AS o)'
            ') AS d', p_id_column, p_version_column)
END;
COMMENT ON FUNCTION mnemo._watched_ids(boolean, text, text) IS
    'The query for the ids of the rows that a statement changed, by its transition tables: made of '
    'the names of columns alone.';

CREATE FUNCTION mnemo._chunk_table_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- Ids must be written as in every other session.
SET DateStyle = 'ISO'
SET TimeZone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
SET jit = off
AS $fn$
DECLARE
    v_id_column text := TG_ARGV[0];
    v_version_column text := TG_ARGV[1];
    v_ids text := 'SELECT '''' AS id';
    v_chunks bigint;
BEGIN
    IF NOT mnemo._may_watch(TG_RELID) THEN
        PERFORM mnemo._raise_access(
            format('table %s is watched, and its owner has no level in mnemo_pg', TG_RELID::regclass),
            jsonb_build_object('table', TG_RELID::regclass),
            'grant its owner level application, or drop the triggers mnemo_watch_...');
    ELSIF TG_OP <> 'TRUNCATE' THEN
        IF (SELECT count(*) FROM pg_attribute AS a
             WHERE a.attrelid = TG_RELID AND NOT a.attisdropped
               AND a.attname IN (v_id_column, v_version_column))
           < (CASE WHEN v_version_column IN ('', v_id_column) THEN 1 ELSE 2 END)
        THEN
            PERFORM mnemo._raise_argument('p_id_column',
                format('table %s is watched by a column that it does not have any more',
                    TG_RELID::regclass),
                'call mnemo.watch_table again with the new name, or mnemo.unwatch_table');
        END IF;
        v_ids := mnemo._watched_ids(TG_OP = 'UPDATE', v_id_column, v_version_column);
    END IF;
    EXECUTE format(
        'INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)'
        ' SELECT $1, $2, i.id, 1, clock_timestamp()'
        ' FROM (SELECT DISTINCT mnemo._chunk_key(t.id) COLLATE "C" AS id FROM (%s) AS t'
        ' WHERE t.id <> '''' OR $3) AS i ORDER BY i.id'
        ' ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE'
        ' SET version = s.version + 1, changed_at = greatest(s.changed_at, clock_timestamp())', v_ids)
    USING TG_ARGV[3], TG_ARGV[2], TG_OP = 'TRUNCATE';
    GET DIAGNOSTICS v_chunks = ROW_COUNT;
    IF v_chunks > 0 THEN
        PERFORM mnemo._write_stale_event(TG_ARGV[3], TG_ARGV[4], v_chunks, NULL);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._chunk_table_changed() IS
    'The function of the triggers that mnemo.watch_table makes; arguments: id column, version column '
    'or empty, source, organisation, agent. Reports the ids that a statement changed or removed, a '
    'TRUNCATE as the whole source, with one event. Levels application and admin may use it in '
    'triggers.';

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
    p_version_column text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table record;
    v_missing text;
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
    ELSIF p_id_column IS NULL THEN
        RETURN mnemo._argument('p_id_column', 'p_id_column must not be NULL',
            'name the column whose values plans cite as chunk ids');
    END IF;
    SELECT n.parameter INTO v_missing
      FROM (VALUES ('p_id_column', p_id_column), ('p_version_column', p_version_column))
           AS n(parameter, name)
     WHERE n.name IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_attribute AS a
             WHERE a.attrelid = p_table AND a.attname = n.name AND a.attnum > 0
               AND NOT a.attisdropped)
     ORDER BY n.parameter
     LIMIT 1;
    IF v_missing IS NOT NULL THEN
        RETURN mnemo._argument(v_missing,
            format('%s must be a column of %s; got %s', v_missing, p_table, mnemo._shown(
                CASE v_missing WHEN 'p_id_column' THEN p_id_column ELSE p_version_column END)),
            'names of columns are compared exactly, without quotes');
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
COMMENT ON FUNCTION mnemo._watch_problem(regclass, text, text) IS
    'The first problem of what is to be watched; NULL for none.';
