CREATE FUNCTION mnemo._admin_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['configure', 'grant_access', 'revoke_access', 'bind_role', 'unbind_role'];
COMMENT ON FUNCTION mnemo._admin_functions() IS
    'The public functions that only level admin may call; every level may call the others.';

CREATE FUNCTION mnemo._role_oid(
    p_role text
)
RETURNS oid
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = p_role);
BEGIN
    IF v_oid IS NULL THEN
        PERFORM mnemo._raise_argument('p_role',
            'p_role must be the name of an existing role; got ' || mnemo._shown(p_role),
            'create the role first: CREATE ROLE ...');
    END IF;
    RETURN v_oid;
END
$fn$;
COMMENT ON FUNCTION mnemo._role_oid(text) IS 'The number of a role; raises 22023 if there is none.';

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
        SELECT 1 AS place, 'is or can become superuser, or may create roles' AS obstacle
          FROM pg_roles AS r
         WHERE pg_has_role(p_role, r.oid, 'MEMBER') AND (r.rolsuper OR r.rolcreaterole)
        UNION ALL
        SELECT 2, 'can become the owner of schema mnemo'
         WHERE pg_has_role(p_role, mnemo._owner(), 'MEMBER')
        UNION ALL
        SELECT 3, format('can become role %I of level %s', l.role_name, l.level)
          FROM mnemo.role_level AS l
          JOIN pg_roles AS r ON r.rolname = l.role_name
         WHERE l.level <> 'tenant' AND r.oid <> p_role AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 4, format('is a member of %I', r.rolname)
          FROM pg_roles AS r
         WHERE r.rolname IN (
                'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
                'pg_write_server_files', 'pg_execute_server_program')
           AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 5, format('has CREATE on database %I', d.datname)
          FROM pg_roles AS r
          JOIN pg_database AS d ON d.datname = current_database()
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND has_database_privilege(r.oid, d.oid, 'CREATE')
        UNION ALL
        SELECT 6, format('has CREATE on schema %I', n.nspname)
          FROM pg_roles AS r
          CROSS JOIN pg_namespace AS n
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_schema_privilege(r.oid, n.oid, 'CREATE')
        UNION ALL
        SELECT 7, format('owns objects in database %I', d.datname)
          FROM pg_shdepend AS s
          JOIN pg_database AS d ON d.oid = s.dbid
         WHERE d.datname = current_database()
           AND s.deptype = 'o'
           AND s.refclassid = 'pg_authid'::regclass
           AND pg_has_role(p_role, s.refobjid, 'MEMBER')
        UNION ALL
        -- A trigger may call a function of pg_temp, where everybody may create one.
        SELECT 8, format('has TRIGGER on %I.%I', n.nspname, c.relname)
          FROM pg_roles AS r
          CROSS JOIN pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND c.relkind IN ('r', 'p', 'v', 'f')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_table_privilege(r.oid, c.oid, 'TRIGGER')
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
       AND mnemo._role_level(r.rolname) = 'tenant'
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

CREATE FUNCTION mnemo._revoke_all(
    p_role text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mnemo FROM %I', p_role);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA mnemo FROM %I', p_role);
    EXECUTE format('REVOKE ALL ON TYPE mnemo._problem, mnemo._plan_input FROM %I', p_role);
    EXECUTE format('REVOKE ALL ON SCHEMA mnemo FROM %I', p_role);
END
$fn$;
COMMENT ON FUNCTION mnemo._revoke_all(text) IS 'Takes every privilege in schema mnemo from a role.';

CREATE FUNCTION mnemo.grant_access(
    p_role text,
    p_level text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid;
    v_function text;
BEGIN
    PERFORM mnemo._require_admin();
    v_oid := mnemo._role_oid(p_role);
    PERFORM mnemo._check_label('p_level', 'level', p_level);
    IF v_oid = mnemo._owner() OR (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = v_oid) THEN
        PERFORM mnemo._raise_argument('p_role',
            format('role %I is a superuser or the owner and always counts as admin', p_role),
            'grant a level to the role that the application logs in with');
    END IF;
    INSERT INTO mnemo.role_level AS l (role_name, level)
    VALUES (p_role, p_level)
    ON CONFLICT (role_name) DO UPDATE SET level = excluded.level, granted_at = now();
    PERFORM mnemo._check_tenants(v_oid);
    PERFORM mnemo._revoke_all(p_role);
    EXECUTE format('GRANT USAGE ON SCHEMA mnemo TO %I', p_role);
    FOR v_function IN
        SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
          FROM pg_proc AS p
          JOIN pg_namespace AS n ON n.oid = p.pronamespace
         WHERE n.nspname = 'mnemo'
           AND left(p.proname, 1) <> '_'
           AND (p_level = 'admin' OR p.proname <> ALL (mnemo._admin_functions()))
         ORDER BY 1
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_function, p_role);
    END LOOP;
    IF p_level = 'admin' THEN
        EXECUTE format('GRANT SELECT ON mnemo.plan TO %I', p_role);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.grant_access(text, text) IS
    'Gives a role a level: application (may name any agent and organisation), tenant (only what '
    'bind_role binds it to) or admin. Replaces the level it had. Level admin only. Errors: 42501 '
    'not an administrator, or a role that could act outside its binding would be a tenant; 22023 '
    'unknown role or level, a superuser, the owner.';

CREATE FUNCTION mnemo.revoke_access(
    p_role text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_role IS NULL OR NOT EXISTS (
        SELECT FROM mnemo.role_level AS l WHERE l.role_name = p_role
    ) THEN
        PERFORM mnemo._role_oid(p_role);
    END IF;
    DELETE FROM mnemo.role_level AS l WHERE l.role_name = p_role;
    DELETE FROM mnemo.role_binding AS b WHERE b.role_name = p_role;
    -- The role may be gone already; its rows must be removable all the same.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = p_role AND r.oid <> mnemo._owner()) THEN
        PERFORM mnemo._revoke_all(p_role);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.revoke_access(text) IS
    'Takes level, bindings and privileges from a role; works for a dropped role too. Level admin '
    'only. Errors: 42501 not an administrator; 22023 unknown role.';

CREATE FUNCTION mnemo.bind_role(
    p_role text,
    p_org_id text,
    p_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid;
BEGIN
    PERFORM mnemo._require_admin();
    v_oid := mnemo._role_oid(p_role);
    PERFORM mnemo._check_identity(coalesce(p_agent_id, 'any'), p_org_id);
    INSERT INTO mnemo.role_binding (org_id, role_name, agent_id)
    VALUES (p_org_id, p_role, p_agent_id)
    ON CONFLICT (org_id, role_name, agent_id) DO NOTHING;
    PERFORM mnemo._check_tenants(v_oid);
END
$fn$;
COMMENT ON FUNCTION mnemo.bind_role(text, text, text) IS
    'Binds a role to an organisation and to one agent, or to any agent when p_agent_id is NULL. '
    'Counts for level tenant; several bindings add up. Level admin only. Errors: 42501 not an '
    'administrator, or a tenant could act outside its binding; 22023 unknown role, ill-formed name.';

CREATE FUNCTION mnemo.unbind_role(
    p_role text,
    p_org_id text,
    p_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._check_identity(coalesce(p_agent_id, 'any'), p_org_id);
    DELETE FROM mnemo.role_binding AS b
     WHERE b.org_id = p_org_id AND b.role_name = p_role
       AND b.agent_id IS NOT DISTINCT FROM p_agent_id;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_argument('p_role',
            format('there is no such binding of role %s', mnemo._shown(p_role)),
            'name role, organisation and agent as bind_role was given them');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.unbind_role(text, text, text) IS
    'Takes back exactly one binding made by bind_role. Level admin only. Errors: 42501 not an '
    'administrator; 22023 no such binding, ill-formed name.';
