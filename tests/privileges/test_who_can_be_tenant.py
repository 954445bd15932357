"""Who is refused level tenant: roles that could act outside a binding, or plant code."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.privileges.helpers import (
    OTHER_AGENT,
    OTHER_ORG,
    Connection,
    acting,
    grant,
    new_name,
    new_role,
    new_tenant,
    outcome,
    refusal,
    remember_plan,
    rows,
    text,
    value,
)
from tests.support.server import Server

TENANT = "SELECT mnemo.grant_access(%s, 'tenant')"

# What a role must not have, as SQL that gives it; {0} is the role.
RIGHTS = {
    "createrole": "ALTER ROLE {0} CREATEROLE",
    "replication": "ALTER ROLE {0} REPLICATION",
    "create on the database": "GRANT CREATE ON DATABASE {db} TO {0}",
    "create on public": "GRANT CREATE ON SCHEMA public TO {0}",
    "create on another schema": "CREATE SCHEMA s; GRANT CREATE ON SCHEMA s TO {0}",
    "create on schema mnemo": "GRANT CREATE ON SCHEMA mnemo TO {0}",
    "owns a schema": "CREATE SCHEMA s AUTHORIZATION {0}",
    "owns a table": "CREATE TABLE public.t (); ALTER TABLE public.t OWNER TO {0}",
    "owns a view": "CREATE VIEW public.v AS SELECT 1; ALTER VIEW public.v OWNER TO {0}",
    "owns a sequence": "CREATE SEQUENCE public.q; ALTER SEQUENCE public.q OWNER TO {0}",
    "owns a function": "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql RETURN 1;"
    " ALTER FUNCTION public.f() OWNER TO {0}",
    "owns a type": "CREATE TYPE public.y AS (i int); ALTER TYPE public.y OWNER TO {0}",
    "owns a domain": "CREATE DOMAIN public.d AS int; ALTER DOMAIN public.d OWNER TO {0}",
    "owns an operator": "CREATE OPERATOR public.@@@@ (PROCEDURE = int4pl, LEFTARG = int,"
    " RIGHTARG = int); ALTER OPERATOR public.@@@@ (int, int) OWNER TO {0}",
    "owns the database": "ALTER DATABASE {db} OWNER TO {0}",
    "trigger on a table": "CREATE TABLE public.t (); GRANT TRIGGER ON public.t TO {0}",
    "trigger on a view": "CREATE VIEW public.v AS SELECT 1; GRANT TRIGGER ON public.v TO {0}",
    "all on a table": "CREATE TABLE public.t (); GRANT ALL ON public.t TO {0}",
    "pg_read_all_data": "GRANT pg_read_all_data TO {0}",
    "pg_write_all_data": "GRANT pg_write_all_data TO {0}",
    "pg_read_server_files": "GRANT pg_read_server_files TO {0}",
    "pg_write_server_files": "GRANT pg_write_server_files TO {0}",
    "pg_execute_server_program": "GRANT pg_execute_server_program TO {0}",
    "pg_read_all_stats": "GRANT pg_read_all_stats TO {0}",
    "pg_monitor": "GRANT pg_monitor TO {0}",
    "member of a superuser": "GRANT postgres TO {0}",
    "member of an application": "GRANT {application} TO {0}",
    "member of an administrator": "GRANT {admin} TO {0}",
    "member of the owner": "ALTER SCHEMA mnemo OWNER TO {nobody}; GRANT {nobody} TO {0}",
}
# grant_access begins with taking away what the role itself was granted on our schema.
TAKEN_AWAY = {"create on schema mnemo"}
# By everybody's rights.
PUBLIC_RIGHTS = {
    "create on public": "GRANT CREATE ON SCHEMA public TO PUBLIC",
    "create on the database": "GRANT CREATE ON DATABASE {db} TO PUBLIC",
    "trigger": "CREATE TABLE public.t (); GRANT TRIGGER ON public.t TO PUBLIC",
}
# What does no harm.
HARMLESS = {
    "nothing": "SELECT 1",
    "login": "ALTER ROLE {0} LOGIN",
    "noinherit": "ALTER ROLE {0} NOINHERIT",
    "createdb": "ALTER ROLE {0} CREATEDB",
    "temporary": "GRANT TEMPORARY ON DATABASE {db} TO {0}",
    "connect": "GRANT CONNECT ON DATABASE {db} TO {0}",
    "usage": "GRANT USAGE ON SCHEMA public TO {0}",
    "reads and writes a table": "CREATE TABLE public.t ();"
    " GRANT SELECT, INSERT, UPDATE, DELETE ON public.t TO {0}",
    "member of nobody": "GRANT {nobody} TO {0}",
    "member of a tenant": "GRANT {tenant} TO {0}",
    "its members do not matter": "GRANT {0} TO {application}",
    "pg_signal_backend": "GRANT pg_signal_backend TO {0}",
    "rights on tables of its own level": "GRANT SELECT ON mnemo.plan TO {0}",
}


@pytest.fixture(scope="module")
def others(shared_dsn: str) -> dict[str, str]:
    """Roles to be a member of."""
    with psycopg.connect(shared_dsn, autocommit=True) as conn:
        return {
            "db": conn.info.dbname,
            "nobody": new_role(conn),
            "application": grant(conn, new_role(conn, "NOINHERIT"), "application"),
            "admin": grant(conn, new_role(conn), "admin"),
            "tenant": new_tenant(conn),
        }


def give(conn: Connection, rights: str, role: str, others: dict[str, str]) -> None:
    """Run the SQL of RIGHTS."""
    conn.execute(text(rights.format(role, **others)))


def refused(conn: Connection, query: str, *parameters: object) -> psycopg.Error:
    """An error 42501 that names the tenant and what speaks against it."""
    error = refusal(conn, query, *parameters)
    assert error.sqlstate == "42501", error
    detail = json.loads(error.diag.message_detail or "")
    assert detail.keys() == {"role", "obstacle"}
    assert detail["obstacle"] in (error.diag.message_primary or "")
    return error


@pytest.mark.parametrize("how", ["itself", "inherits", "may become"])
@pytest.mark.parametrize("right", RIGHTS)
def test_refused(tx: Connection, others: dict[str, str], right: str, how: str) -> None:
    """Whether the role has the right itself, inherits it, or could SET ROLE to who has it."""
    role = holder = new_role(tx)
    if how == "itself" and right in TAKEN_AWAY:
        give(tx, RIGHTS[right], holder, others)
        assert outcome(tx, TENANT, role) == "ok"
        return
    if how != "itself":
        holder = new_role(tx)
        role = new_role(tx, f"{'NOINHERIT' if how == 'may become' else ''} IN ROLE {holder}")
    give(tx, RIGHTS[right], holder, others)
    error = refused(tx, TENANT, role)
    assert role in (error.diag.message_primary or "")
    assert not rows(tx, "SELECT FROM mnemo.role_level WHERE role_name = %s", role)


@pytest.mark.parametrize("right", PUBLIC_RIGHTS)
def test_refused_by_what_everybody_may(tx: Connection, others: dict[str, str], right: str) -> None:
    """Such as CREATE on schema public, which everybody had before PostgreSQL 15."""
    give(tx, PUBLIC_RIGHTS[right], "", others)
    refused(tx, TENANT, new_role(tx))


@pytest.mark.parametrize("right", RIGHTS)
def test_a_role_that_gained_it_later_is_refused_more_bindings(
    tx: Connection, others: dict[str, str], right: str
) -> None:
    """bind_role and a second grant_access look again."""
    role = new_tenant(tx)
    give(tx, RIGHTS[right], role, others)
    refused(tx, "SELECT mnemo.bind_role(%s, 'evil')", role)
    if right not in TAKEN_AWAY:
        refused(tx, TENANT, role)
    assert value(tx, "SELECT count(*) FROM mnemo.role_binding WHERE role_name = %s", role) == 1


@pytest.mark.parametrize("right", HARMLESS)
def test_not_refused(tx: Connection, others: dict[str, str], right: str) -> None:
    role = new_role(tx)
    give(tx, HARMLESS[right], role, others)
    assert outcome(tx, TENANT, role) == "ok"


@pytest.mark.parametrize(
    "privilege", ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "SELECT (content)"]
)
@pytest.mark.parametrize("to", ["group", "PUBLIC"])
def test_refused_by_privileges_on_our_tables(tx: Connection, privilege: str, to: str) -> None:
    """Held through another role; grant_access takes away the role's own and those of PUBLIC."""
    group = new_role(tx)
    role = new_role(tx, f"IN ROLE {group}")
    tx.execute(text(f"GRANT {privilege} ON mnemo.memory TO {group if to == 'group' else to}"))
    if to == "group":
        refused(tx, TENANT, role)
    else:
        grant(tx, role, "tenant")
        assert not value(
            tx, "SELECT has_any_column_privilege(%s, 'mnemo.memory', 'SELECT, INSERT, UPDATE')"
            " OR has_table_privilege(%s, 'mnemo.memory', 'DELETE, TRUNCATE')", role, role,
        )  # fmt: skip


@pytest.mark.parametrize("options", ["ADMIN TRUE", "SET TRUE", "INHERIT TRUE"])
def test_refused_by_a_membership_of_any_kind(
    tx: Connection, others: dict[str, str], options: str
) -> None:
    """From PostgreSQL 16 on a membership may allow one thing alone; who administrates it can give
    itself the rest."""
    if tx.info.server_version < 160000:
        pytest.skip("memberships have no options before PostgreSQL 16")
    role = new_role(tx)
    chosen = {"ADMIN": "FALSE", "SET": "FALSE", "INHERIT": "FALSE"}
    chosen |= dict([options.split()])
    tx.execute(
        text(
            f"GRANT {others['application']} TO {role} WITH "
            + ", ".join(f"{option} {state}" for option, state in chosen.items())
        )
    )
    refused(tx, TENANT, role)


# The other way round: the roles above a tenant


@pytest.mark.parametrize("level", ["application", "admin"])
@pytest.mark.parametrize("options", ["", "NOINHERIT"])
def test_a_role_above_a_tenant_gets_no_other_level(
    tx: Connection, level: str, options: str
) -> None:
    """The tenant could become it."""
    above = new_role(tx)
    between = new_role(tx, f"{options} IN ROLE {above}")
    tenant = new_tenant(tx, options=f"{options} IN ROLE {between}")
    for role in (above, between):
        error = refused(tx, "SELECT mnemo.grant_access(%s, %s)", role, level)
        assert tenant in (error.diag.message_primary or "")
    assert not rows(tx, "SELECT FROM mnemo.role_level WHERE role_name = ANY (%s)", [above, between])
    assert not value(tx, "SELECT has_schema_privilege(%s, 'mnemo', 'USAGE')", above)
    grant(tx, tenant, "application")
    grant(tx, above, level)


@pytest.mark.parametrize("level", ["application", "admin"])
@pytest.mark.parametrize("inherit", ["INHERIT", "NOINHERIT"])
def test_a_tenant_by_inheritance_is_looked_at_too(tx: Connection, level: str, inherit: str) -> None:
    """A member of a tenant and of an application is a tenant that could become an application."""
    high, low = new_role(tx), new_role(tx)
    new_role(tx, f"IN ROLE {low}, {new_role(tx, f'{inherit} IN ROLE {high}')}")
    grant(tx, high, level)
    refused(tx, TENANT, low)
    grant(tx, high, "tenant")
    grant(tx, low, "tenant")
    refused(tx, "SELECT mnemo.grant_access(%s, %s)", high, level)


@pytest.mark.parametrize("right", [right for right in RIGHTS if not right.startswith("member")])
def test_rights_of_a_tenant_by_inheritance_are_looked_at_too(
    tx: Connection, others: dict[str, str], right: str
) -> None:
    group = new_role(tx)
    give(tx, RIGHTS[right], new_role(tx, f"IN ROLE {group}"), others)
    refused(tx, TENANT, group)


def test_members_that_are_no_tenants_are_not_looked_at(tx: Connection) -> None:
    """Superusers, and poolers that may become tenants and inherit nothing."""
    group = new_role(tx)
    application = grant(tx, new_role(tx), "application")
    new_role(tx, f"SUPERUSER IN ROLE {group}")
    pooler = new_role(tx, f"NOINHERIT LOGIN IN ROLE {group}, {application}")
    tx.execute(text(f"CREATE SCHEMA s AUTHORIZATION {pooler}"))
    grant(tx, group, "tenant", ("acme", "bot"))
    grant(tx, application, "application")


def test_a_superuser_with_a_row_holds_nobody_up(tx: Connection) -> None:
    """A tenant that was made a superuser counts as administrator."""
    role = new_tenant(tx)
    tx.execute(text(f"ALTER ROLE {role} SUPERUSER"))
    grant(tx, new_role(tx), "application")
    new_tenant(tx)


def test_an_unsuitable_tenant_holds_nobody_else_up(tx: Connection) -> None:
    """And can be lowered to nothing, or made what it could become anyway."""
    role = new_tenant(tx)
    tx.execute(text(f"CREATE SCHEMA s AUTHORIZATION {role}"))
    grant(tx, new_role(tx), "application")
    new_tenant(tx)
    assert outcome(tx, "SELECT mnemo.unbind_role(%s, 'acme', 'bot')", role) == "ok"
    assert outcome(tx, "SELECT mnemo.revoke_access(%s)", role) == "ok"
    assert outcome(tx, "SELECT mnemo.grant_access(%s, 'application')", role) == "ok"


def test_temporary_objects_do_not_hold_up_the_administration(server: Server, dsn: str) -> None:
    """They live in the tenant's session alone."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        role = new_tenant(admin, options="LOGIN")
        with server.connect(admin.info.dbname, user=role) as session:
            session.execute(
                "CREATE TEMP TABLE t (i int PRIMARY KEY); CREATE TEMP VIEW v AS SELECT 1;"
                " CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql RETURN 1;"
                " CREATE TYPE pg_temp.y AS (i int); CREATE TEMP SEQUENCE q"
            )
            assert outcome(admin, "SELECT mnemo.bind_role(%s, 'evil')", role) == "ok"
            assert outcome(admin, TENANT, role) == "ok"


# The attacks that the refusals prevent


def test_a_trigger_would_borrow_the_identity_of_who_writes(server: Server, dsn: str) -> None:
    """Why TRIGGER is refused: were it granted, code of the tenant ran as the application."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        remember_plan(admin, "their secret question", agent_id=OTHER_AGENT, org_id=OTHER_ORG)
        application = grant(admin, new_role(admin, "LOGIN"), "application")
        tenant = new_tenant(admin, options="LOGIN")
        admin.execute("CREATE TABLE public.jobs (i int)")
        admin.execute(text(f"GRANT INSERT ON public.jobs TO {application}"))
        admin.execute(text(f"GRANT TRIGGER ON public.jobs TO {tenant}"))
        with server.connect(admin.info.dbname, user=tenant) as attacker:
            attacker.execute(
                """
                CREATE FUNCTION pg_temp.spy() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION 'spied: %',
                        (SELECT query FROM mnemo.list_plans(p_agent_id => 'boss',
                                                            p_org_id => 'evil'));
                END $$;
                CREATE TRIGGER spy BEFORE INSERT ON public.jobs
                    FOR EACH ROW EXECUTE FUNCTION pg_temp.spy()
                """
            )
            with server.connect(admin.info.dbname, user=application) as victim:
                error = refusal(victim, "INSERT INTO public.jobs VALUES (1)")
        assert error.diag.message_primary == "spied: their secret question"
        # So it is refused, and an administrator who binds the role again learns of it.
        refused(admin, "SELECT mnemo.bind_role(%s, 'acme', 'third')", tenant)


def test_a_tenant_cannot_give_itself_what_is_refused(tx: Connection) -> None:
    """With the rights that it has it gains none of the others."""
    tenant, application = new_tenant(tx), grant(tx, new_role(tx), "application")
    with acting(tx, tenant, "SET SESSION AUTHORIZATION"):
        for attempt in (
            f"CREATE SCHEMA {new_name()}", "CREATE TABLE public.t ()", "CREATE TABLE mnemo.t ()",
            f"CREATE ROLE {new_name()}", f"GRANT {application} TO {tenant}",
            f"ALTER ROLE {tenant} CREATEROLE", f"ALTER ROLE {tenant} SUPERUSER",
            f"ALTER ROLE {tenant} RENAME TO {new_name()}", "CREATE EXTENSION pg_trgm",
            f"GRANT {tenant} TO {application}", f"DROP ROLE {application}",
            "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql RETURN 1",
            "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION pg_temp.f()",
            "ALTER SCHEMA mnemo RENAME TO other", "DROP SCHEMA mnemo CASCADE",
            "COMMENT ON SCHEMA mnemo IS ''", "ALTER FUNCTION mnemo.version() SECURITY INVOKER",
            "CREATE RULE r AS ON SELECT TO mnemo.plan DO INSTEAD NOTHING",
        ):  # fmt: skip
            assert outcome(tx, attempt) in ("42501", "42883", "42704", "0A000"), attempt
        # A GRANT without the right to it is a warning in PostgreSQL, and changes nothing.
        tx.execute("GRANT EXECUTE ON FUNCTION mnemo.version() TO PUBLIC")
    assert not value(tx, "SELECT has_function_privilege('public', 'mnemo.version()', 'EXECUTE')")
