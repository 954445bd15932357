CREATE FUNCTION mnemo._admin_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'configure', 'grant_access', 'revoke_access', 'bind_role', 'unbind_role',
    'export_records', 'import_records', 'read_events', 'seal', 'retain_events', 'chain_heads',
    'sweep',
    'health', 'rebuild_signatures', 'enable_vectors', 'disable_vectors', 'refresh_models',
    'release', 'purge', 'set_poisoning_rule', 'remove_poisoning_rule', 'poisoning_rules'
];
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

CREATE FUNCTION mnemo._revoke_all(
    p_role text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type name;
BEGIN
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mnemo FROM %I CASCADE', p_role);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA mnemo FROM %I CASCADE', p_role);
    EXECUTE format('REVOKE ALL ON SCHEMA mnemo FROM %I CASCADE', p_role);
    -- Not the row types of tables: a dump never carries their privileges.
    FOR v_type IN
        SELECT t.typname
          FROM pg_type AS t
          JOIN pg_namespace AS n ON n.oid = t.typnamespace
          JOIN pg_class AS c ON c.oid = t.typrelid
         WHERE n.nspname = 'mnemo' AND c.relkind = 'c'
    LOOP
        EXECUTE format('REVOKE ALL ON TYPE mnemo.%I FROM %I CASCADE', v_type, p_role);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._revoke_all(text) IS 'Takes every privilege in schema mnemo from a role, or from PUBLIC (public).';

CREATE FUNCTION mnemo._grant_level(
    p_role text,
    p_level text,
    p_kept text[] DEFAULT '{}'
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_object text;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA mnemo TO %I', p_role);
    FOR v_object IN
        SELECT format('EXECUTE ON FUNCTION %I.%I(%s)',
                   n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
          FROM pg_proc AS p
          JOIN pg_namespace AS n ON n.oid = p.pronamespace
         WHERE n.nspname = 'mnemo'
           AND CASE WHEN p.proname IN ('_is_admin', '_is_stale_for_admin') THEN p_level = 'admin'
                WHEN p.proname = '_chunk_table_changed' THEN p_level <> 'tenant'
                WHEN left(p.proname, 1) = '_' THEN false
                ELSE p_level = 'admin' OR p.proname <> ALL (mnemo._admin_functions()) END
           AND 'function' || p.oid <> ALL (p_kept)
        UNION ALL
        SELECT format('SELECT ON %I.%I', n.nspname, c.relname)
          FROM pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'mnemo' AND c.relname IN ('plan', 'stats', 'agent_stats', 'recall_stats', 'plan_value')
           AND p_level = 'admin'
           AND 'table' || c.oid <> ALL (p_kept)
         ORDER BY 1
    LOOP
        EXECUTE format('GRANT %s TO %I', v_object, p_role);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._grant_level(text, text, text[]) IS
    'Gives a role the privileges of a level. p_kept: objects to leave as they are, each as function '
    'or table and its number; an update leaves what was there before.';

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
    -- A dump restored without privileges leaves functions open to PUBLIC.
    PERFORM mnemo._revoke_all('public');
    PERFORM mnemo._revoke_all(p_role);
    PERFORM mnemo._check_tenants(v_oid);
    PERFORM mnemo._grant_level(p_role, p_level);
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
