DO $version$
BEGIN
    PERFORM mnemo._require_server(pg_catalog.current_setting('server_version_num')::integer);
END
$version$;

-- What is new is closed to everybody, whatever the default privileges of the owner are, and then
-- opened to the roles whose level has it.
DO $grants$
DECLARE
    v_schema pg_catalog.oid := 'mnemo'::pg_catalog.regnamespace;
    v_before text[] := pg_catalog.string_to_array(
        pg_catalog.current_setting('mnemo.before_update'), ' ');
    v_statement text;
    v_role text;
    v_level text;
BEGIN
    FOR v_statement IN
        SELECT pg_catalog.format('REVOKE ALL ON %s FROM %s CASCADE', x.object,
                    coalesce(pg_catalog.quote_ident(r.rolname), 'PUBLIC'))
          FROM (
            SELECT 'FUNCTION ' || p.oid::pg_catalog.regprocedure::text AS object, p.proowner AS owner,
                   coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) AS acl
              FROM pg_catalog.pg_proc AS p
             WHERE p.pronamespace = v_schema AND 'function' || p.oid <> ALL (v_before)
             UNION ALL
            SELECT 'TABLE ' || c.oid::pg_catalog.regclass::text AS object, c.relowner AS owner,
                   c.relacl AS acl
              FROM pg_catalog.pg_class AS c
             WHERE c.relnamespace = v_schema AND 'table' || c.oid <> ALL (v_before)
               AND c.relkind IN ('r', 'p', 'v')
             UNION ALL
            SELECT 'TYPE ' || t.oid::pg_catalog.regtype::text AS object, t.typowner AS owner,
                   coalesce(t.typacl, pg_catalog.acldefault('T', t.typowner)) AS acl
              FROM pg_catalog.pg_type AS t
              JOIN pg_catalog.pg_class AS c ON c.oid = t.typrelid
             WHERE t.typnamespace = v_schema AND c.relkind = 'c'
               AND 'table' || c.oid <> ALL (v_before)
          ) AS x
         CROSS JOIN pg_catalog.aclexplode(x.acl) AS a
          LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE a.grantee <> x.owner
         GROUP BY x.object, r.rolname
    LOOP
        EXECUTE v_statement;
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'mnemo_pg') THEN
        -- A grant made here would count as the extension's own, and be missing from dumps.
        IF EXISTS (SELECT FROM mnemo.role_level) AND EXISTS (
            SELECT FROM pg_catalog.pg_proc AS p
             WHERE p.pronamespace = v_schema AND pg_catalog.left(p.proname, 1) <> '_'
               AND 'function' || p.oid <> ALL (v_before)
        ) THEN
            RAISE WARNING 'give new functions to the roles that have a level: '
                'SELECT mnemo.grant_access(role_name, level) FROM mnemo.role_level';
        END IF;
        RETURN;
    END IF;
    FOR v_role, v_level IN
        SELECT l.role_name, l.level
          FROM mnemo.role_level AS l
          JOIN pg_catalog.pg_roles AS r ON r.rolname = l.role_name
    LOOP
        PERFORM mnemo._grant_level(v_role, v_level, v_before);
    END LOOP;
END
$grants$;
