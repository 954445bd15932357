DO $checks$
DECLARE
    v_schema pg_catalog.oid := pg_catalog.to_regnamespace('mnemo');
    v_caller pg_catalog.oid := pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER));
    v_owner pg_catalog.oid;
    v_stranger text;
BEGIN
    IF pg_catalog.to_regprocedure('mnemo.version()') IS NULL THEN
        RAISE EXCEPTION 'mnemo_pg is not installed in this database'
            USING ERRCODE = '55000', HINT = 'install it: mnemo_pg--@mnemo_version@.sql';
    END IF;
    IF EXISTS (
        SELECT FROM pg_catalog.pg_extension AS e
         WHERE e.extname = 'mnemo_pg' AND e.extversion <> '@mnemo_version@'
    ) THEN
        RAISE EXCEPTION 'mnemo_pg is an extension in this database'
            USING ERRCODE = '55000', HINT = 'ALTER EXTENSION mnemo_pg UPDATE';
    END IF;
    SELECT n.nspowner INTO STRICT v_owner FROM pg_catalog.pg_namespace AS n WHERE n.oid = v_schema;
    -- What is made anew must belong to the owner, and what a stranger planted would run as theirs.
    IF v_owner <> v_caller THEN
        RAISE EXCEPTION 'role % does not own schema mnemo', CURRENT_USER
            USING ERRCODE = '42501',
                HINT = 'update as its owner: SET ROLE ' || v_owner::pg_catalog.regrole::text;
    END IF;
    SELECT o.identity INTO v_stranger
      FROM (
        SELECT 'pg_catalog.pg_class'::pg_catalog.regclass AS catalog, c.oid
          FROM pg_catalog.pg_class AS c
         WHERE c.relnamespace = v_schema AND c.relowner <> v_owner
         UNION ALL
        SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass AS catalog, p.oid
          FROM pg_catalog.pg_proc AS p
         WHERE p.pronamespace = v_schema AND p.proowner <> v_owner
         UNION ALL
        SELECT 'pg_catalog.pg_type'::pg_catalog.regclass AS catalog, t.oid
          FROM pg_catalog.pg_type AS t
         WHERE t.typnamespace = v_schema AND t.typowner <> v_owner
      ) AS x
     CROSS JOIN pg_catalog.pg_identify_object(x.catalog, x.oid, 0) AS o
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% belongs to another role than schema mnemo', v_stranger
            USING ERRCODE = '42501', HINT = 'give it to the owner of the schema, or drop it';
    END IF;
    SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::text END
      INTO v_stranger
      FROM pg_catalog.pg_namespace AS n
     CROSS JOIN pg_catalog.aclexplode(n.nspacl) AS a
     WHERE n.oid = v_schema AND a.privilege_type = 'CREATE' AND a.grantee <> v_owner
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'role % may create objects in schema mnemo', v_stranger
            USING ERRCODE = '42501', HINT = 'REVOKE CREATE ON SCHEMA mnemo FROM ' || v_stranger;
    END IF;
    -- Every call reads this table first: those that run come to their end before anything else is
    -- locked, and later ones wait. So does a second update, which then finds the first one's version.
    LOCK TABLE mnemo.role_level IN ACCESS EXCLUSIVE MODE;
    IF mnemo.version() <> '@mnemo_from@' THEN
        RAISE EXCEPTION 'this script updates mnemo_pg @mnemo_from@; version % is installed',
            mnemo.version()
            USING ERRCODE = '55000', HINT = 'run the scripts mnemo_pg--FROM--TO.sql in their order';
    END IF;
    -- The privileges of what is there stay as they are; those of anything new are set at the end.
    PERFORM pg_catalog.set_config('mnemo.before_update', (
        SELECT pg_catalog.string_agg(x.object, ' ')
          FROM (
            SELECT 'function' || p.oid AS object
              FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = v_schema
             UNION ALL
            SELECT 'table' || c.oid AS object
              FROM pg_catalog.pg_class AS c WHERE c.relnamespace = v_schema
          ) AS x
    ), true);
END
$checks$;
