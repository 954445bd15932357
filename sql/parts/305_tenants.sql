CREATE FUNCTION mnemo._is_temporary(
    p_catalog oid,
    p_object oid
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT
          FROM pg_namespace AS n
         WHERE n.nspname ~ '^pg_(toast_)?temp_'
           AND n.oid = CASE p_catalog
                WHEN 'pg_class'::regclass THEN
                    (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = p_object)
                WHEN 'pg_proc'::regclass THEN
                    (SELECT p.pronamespace FROM pg_proc AS p WHERE p.oid = p_object)
                WHEN 'pg_type'::regclass THEN
                    (SELECT t.typnamespace FROM pg_type AS t WHERE t.oid = p_object)
               END
    );
END;
COMMENT ON FUNCTION mnemo._is_temporary(oid, oid) IS
    'Whether a table, function or type lives in a session''s temporary schema, where only that '
    'session meets it.';

CREATE FUNCTION mnemo._tenant_obstacle(
    p_role oid
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
-- Who can create objects could plant code that runs in somebody else's connection; who can become
-- another role is not bound at all. So each role that this one can SET ROLE to is looked at.
BEGIN ATOMIC
    SELECT x.obstacle
      FROM (
        SELECT 1 AS place,
               'is or can become superuser, may create roles, or may replicate'::text AS obstacle
          FROM pg_roles AS r
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication)
        UNION ALL
        SELECT 2 AS place, 'can become the owner of schema mnemo'::text AS obstacle
         WHERE pg_has_role(p_role, mnemo._owner(), 'MEMBER')
        UNION ALL
        SELECT 3 AS place, format('can become role %I of level %s', l.role_name, l.level) AS obstacle
          FROM mnemo.role_level AS l
          JOIN pg_roles AS r ON r.rolname = l.role_name
         WHERE l.level <> 'tenant' AND r.oid <> p_role AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 4 AS place, format('is a member of %I', r.rolname) AS obstacle
          FROM pg_roles AS r
         WHERE r.rolname IN (
                'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
                'pg_write_server_files', 'pg_execute_server_program',
                -- The texts of other sessions' statements hold their plans.
                'pg_monitor', 'pg_read_all_stats')
           AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 5 AS place, format('has CREATE on database %I', d.datname) AS obstacle
          FROM pg_roles AS r
          JOIN pg_database AS d ON d.datname = current_database()
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND has_database_privilege(r.oid, d.oid, 'CREATE')
        UNION ALL
        SELECT 6 AS place, format('has CREATE on schema %I', n.nspname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_namespace AS n
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_schema_privilege(r.oid, n.oid, 'CREATE')
        UNION ALL
        SELECT 7 AS place, format('owns objects in database %I', d.datname) AS obstacle
          FROM pg_shdepend AS s
          JOIN pg_database AS d ON d.oid = s.dbid
         WHERE d.datname = current_database()
           AND s.deptype = 'o'
           AND s.refclassid = 'pg_authid'::regclass
           AND pg_has_role(p_role, s.refobjid, 'MEMBER')
           AND NOT mnemo._is_temporary(s.classid, s.objid)
        UNION ALL
        -- A trigger may call a function of pg_temp, where everybody may create one.
        SELECT 8 AS place, format('has TRIGGER on %I.%I', n.nspname, c.relname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND c.relkind IN ('r', 'p', 'v', 'f')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_table_privilege(r.oid, c.oid, 'TRIGGER')
        UNION ALL
        SELECT 9 AS place, format('has privileges on %I.%I', n.nspname, c.relname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND n.nspname = 'mnemo' AND c.relkind IN ('r', 'v')
           AND (has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
                OR has_table_privilege(r.oid, c.oid, 'DELETE, TRUNCATE'))
      ) AS x
     ORDER BY x.place, x.obstacle
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._tenant_obstacle(oid) IS
    'Why a role must not be a tenant: it could act outside its binding; NULL when nothing speaks '
    'against it.';

CREATE FUNCTION mnemo._check_tenants(
    p_role oid
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_role text;
    v_obstacle text;
BEGIN
    SELECT r.rolname, mnemo._tenant_obstacle(r.oid) INTO v_role, v_obstacle
      FROM pg_roles AS r
     WHERE NOT r.rolsuper
       AND pg_has_role(r.oid, p_role, 'MEMBER')
       AND mnemo._level_of(r.rolname) = 'tenant'
       AND mnemo._tenant_obstacle(r.oid) IS NOT NULL
     LIMIT 1;
    IF v_role IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I cannot be a tenant: it %s', v_role, v_obstacle),
            jsonb_build_object('role', v_role, 'obstacle', v_obstacle),
            'revoke that privilege, membership or ownership first'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_tenants(oid) IS
    'Raises 42501 if the role, or a member of it, is of level tenant, by itself or by inheritance, '
    'and could act outside its binding.';
