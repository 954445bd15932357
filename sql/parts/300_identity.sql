CREATE FUNCTION mnemo._effective_role() RETURNS name
LANGUAGE sql STABLE PARALLEL RESTRICTED
-- Not current_user: inside a SECURITY DEFINER function that is the owner of the function. Not in a
-- parallel worker: some minor versions do not tell it the role (CVE-2024-10978).
RETURN CASE current_setting('role') WHEN 'none' THEN session_user
    ELSE current_setting('role')::name END;
COMMENT ON FUNCTION mnemo._effective_role() IS
    'The role that SET ROLE chose, else the role of the session.';

CREATE FUNCTION mnemo._owner() RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT n.nspowner FROM pg_namespace AS n WHERE n.nspname = 'mnemo');
COMMENT ON FUNCTION mnemo._owner() IS 'The role that owns the schema.';

CREATE FUNCTION mnemo._level_of(
    p_role name
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_found record;
BEGIN
    SELECT pg_has_role(p_role, n.nspowner, 'USAGE') AS as_owner, n.nspowner,
           (SELECT min(array_position(ARRAY['tenant', 'application', 'admin'], l.level))
              FROM mnemo.role_level AS l
             WHERE pg_has_role(p_role, to_regrole(quote_ident(l.role_name))::oid, 'USAGE')) AS place
      INTO v_found
      FROM pg_namespace AS n
     WHERE n.nspname = 'mnemo';
    -- A superuser has every role, and so every row.
    IF v_found.as_owner AND (
        SELECT r.rolsuper OR r.oid = v_found.nspowner FROM pg_roles AS r WHERE r.rolname = p_role)
    THEN
        RETURN 'admin';
    END IF;
    RETURN coalesce(
        (ARRAY['tenant', 'application', 'admin'])[v_found.place],
        CASE WHEN v_found.as_owner THEN 'admin' END
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._level_of(name) IS
    'The level that counts for a role: its own or an inherited row, the most restrictive where '
    'several are reached; superusers and the owner are admin; NULL for no row.';

CREATE FUNCTION mnemo._level() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_role name := mnemo._effective_role();
    v_level text := mnemo._level_of(v_role);
BEGIN
    IF v_level IS NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I has no level in mnemo_pg', v_role),
            jsonb_build_object('role', v_role),
            format('an administrator runs: SELECT mnemo.grant_access(%L, ''application'')', v_role)
        );
    ELSIF v_level = 'tenant' AND mnemo._bound_orgs(v_role) IS NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I is a tenant without a binding', v_role),
            jsonb_build_object('role', v_role),
            format('an administrator runs: SELECT mnemo.bind_role(%L, organisation)', v_role)
        );
    END IF;
    RETURN v_level;
END
$fn$;
COMMENT ON FUNCTION mnemo._level() IS
    'The level of the calling role. Raises 42501 for a role without one, and for a tenant without a '
    'binding.';

CREATE FUNCTION mnemo._identify(
    p_level text,
    p_agent_id text,
    p_org_id text,
    OUT org_id text,
    OUT agent_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_bound record;
BEGIN
    IF p_level = 'tenant' THEN
        SELECT * INTO v_bound FROM mnemo._bound(mnemo._effective_role(), p_agent_id, p_org_id);
        org_id := v_bound.org_id;
        agent_id := v_bound.agent_id;
        problem := v_bound.problem;
    ELSE
        org_id := coalesce(p_org_id, mnemo._setting('default_org_id', NULL));
        agent_id := coalesce(p_agent_id, mnemo._setting('default_agent_id', org_id));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._identify(text, text, text) IS
    'The acting organisation and agent with binding and defaults filled in, their form not yet '
    'checked; problem 42501 for a tenant outside its binding.';

CREATE FUNCTION mnemo._bound_orgs(
    p_role name
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT b.org_id)
          FROM mnemo.role_binding AS b
          JOIN pg_roles AS g ON g.rolname = b.role_name
         WHERE pg_has_role(p_role, g.oid, 'USAGE')
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_orgs(name) IS
    'The organisations that a role is bound to, by itself or by inheritance; NULL for none.';

CREATE FUNCTION mnemo._bound_org(
    p_role name,
    p_org_id text,
    OUT org_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_orgs text[] := mnemo._bound_orgs(p_role);
BEGIN
    org_id := coalesce(p_org_id, v_orgs[1]);
    IF p_org_id IS NULL AND cardinality(v_orgs) > 1 THEN
        problem := mnemo._argument('p_org_id',
            format('p_org_id must be named: role %I is bound to %s organisations',
                p_role, cardinality(v_orgs)),
            'name the organisation that you act in');
    ELSIF (org_id = ANY (v_orgs)) IS NOT TRUE THEN
        problem := mnemo._access(
            format('role %I is not bound to organisation %s', p_role, mnemo._shown(p_org_id)),
            'p_org_id', 'leave p_org_id out, or have an administrator bind the role');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_org(name, text) IS
    'The organisation that a tenant acts in: the named one if it is bound to it, its only one where '
    'unnamed. Problem 42501 outside the bindings, 22023 where several fit and none is named.';

CREATE FUNCTION mnemo._bound(
    p_role name,
    p_agent_id text,
    p_org_id text,
    OUT org_id text,
    OUT agent_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_org record;
    v_agents text[];
    v_any boolean;
BEGIN
    SELECT * INTO v_org FROM mnemo._bound_org(p_role, p_org_id);
    org_id := v_org.org_id;
    problem := v_org.problem;
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(DISTINCT b.agent_id) FILTER (WHERE b.agent_id IS NOT NULL),
           bool_or(b.agent_id IS NULL)
      INTO v_agents, v_any
      FROM mnemo.role_binding AS b
      JOIN pg_roles AS g ON g.rolname = b.role_name
     WHERE pg_has_role(p_role, g.oid, 'USAGE') AND b.org_id = _bound.org_id;
    IF v_any THEN
        agent_id := coalesce(p_agent_id, mnemo._setting('default_agent_id', org_id));
        RETURN;
    END IF;
    agent_id := coalesce(p_agent_id, v_agents[1]);
    IF p_agent_id IS NULL AND cardinality(v_agents) > 1 THEN
        problem := mnemo._argument('p_agent_id',
            format('p_agent_id must be named: role %I is bound to %s agents',
                p_role, cardinality(v_agents)),
            'name the agent that you act as');
    ELSIF agent_id <> ALL (v_agents) THEN
        problem := mnemo._access(
            format('role %I is not bound to agent %s', p_role, mnemo._shown(p_agent_id)),
            'p_agent_id', 'leave p_agent_id out, or have an administrator bind the role');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._bound(name, text, text) IS
    'The organisation and agent that a tenant acts for: those named if its bindings allow them, '
    'those of its only binding where unnamed. Problem 42501 outside the bindings, 22023 where '
    'several fit and none is named.';

CREATE FUNCTION mnemo._enter(
    p_agent_id text,
    p_org_id text,
    OUT level text,
    OUT org_id text,
    OUT agent_id text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_identity record;
BEGIN
    level := mnemo._level();
    v_identity := mnemo._identify(level, p_agent_id, p_org_id);
    IF (v_identity.problem).code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_identity.problem);
    END IF;
    org_id := v_identity.org_id;
    agent_id := v_identity.agent_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._enter(text, text) IS
    'Who calls: level, organisation and agent, their form not yet checked. Raises 42501 for a role '
    'without a level and for a tenant outside its binding.';

CREATE FUNCTION mnemo._identity_problem(
    p_agent_id text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF NOT mnemo._is_identifier(p_org_id) THEN
        RETURN mnemo._identifier_problem('p_org_id', p_org_id);
    ELSIF NOT mnemo._is_identifier(p_agent_id) THEN
        RETURN mnemo._identifier_problem('p_agent_id', p_agent_id);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._identity_problem(text, text) IS
    'The problem of an ill-formed agent or organisation (the reserved * included); NULL for none.';

CREATE FUNCTION mnemo._check_identity(
    p_agent_id text,
    p_org_id text
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._identity_problem(p_agent_id, p_org_id));
COMMENT ON FUNCTION mnemo._check_identity(text, text) IS
    'Raises 22023 unless both are well formed; the reserved organisation * is not.';

CREATE FUNCTION mnemo._caller(
    p_agent_id text,
    p_org_id text,
    OUT level text,
    OUT org_id text,
    OUT agent_id text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
BEGIN
    SELECT e.level, e.org_id, e.agent_id INTO level, org_id, agent_id
      FROM mnemo._enter(p_agent_id, p_org_id) AS e;
    PERFORM mnemo._check_identity(agent_id, org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo._caller(text, text) IS
    'Who calls, as _enter gives it, with the form of both names checked (22023).';

CREATE FUNCTION mnemo._require_admin() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._level_of(mnemo._effective_role()) IS DISTINCT FROM 'admin' THEN
        PERFORM mnemo._raise_access(
            format('role %I is not an administrator of mnemo_pg', mnemo._effective_role()),
            jsonb_build_object('role', mnemo._effective_role()),
            'ask the owner of schema mnemo or a role of level admin'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_admin() IS 'Raises 42501 unless the caller has level admin.';
