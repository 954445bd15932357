DO $postlude$
DECLARE
    v_table pg_catalog.regclass;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'mnemo_pg') THEN
        -- Without this a dump leaves an extension's rows out.
        FOR v_table IN
            SELECT c.oid
              FROM pg_catalog.pg_class AS c
              JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
              JOIN pg_catalog.pg_depend AS d ON d.objid = c.oid AND d.deptype = 'e'
               AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
             WHERE n.nspname = 'mnemo' AND c.relkind IN ('r', 'S')
             ORDER BY c.relname
        LOOP
            PERFORM pg_catalog.pg_extension_config_dump(v_table, '');
        END LOOP;
    END IF;
    PERFORM pg_catalog.set_config(
        'search_path', pg_catalog.current_setting('mnemo.saved_search_path'), true
    );
END
$postlude$;
