"""Levels: what gives a role one, what takes it away, which one counts."""

from __future__ import annotations

import pytest

from tests.privileges.helpers import (
    OTHER_AGENT,
    OTHER_ORG,
    PURE,
    Cast,
    Connection,
    acting,
    call,
    functions,
    grant,
    new_name,
    new_role,
    new_tenant,
    outcome,
    outcome_as,
    refusal,
    remember_plan,
    rows,
    text,
    value,
)
from tests.support.server import Server

# Only level admin may call the first; only application and admin may name any organisation.
CONFIGURE = "SELECT mnemo.configure('guard', 'off')"
ELSEWHERE = (
    f"SELECT * FROM mnemo.list_plans(p_agent_id => '{OTHER_AGENT}', p_org_id => '{OTHER_ORG}')"
)
ANY_CALL = "SELECT * FROM mnemo.list_plans()"
# Which of the three calls each level may make. The bindings of a tenant do not matter here.
MAY = {
    None: ("42501", "42501", "42501"),
    "tenant": ("ok", "42501", "42501"),
    "application": ("ok", "ok", "42501"),
    "admin": ("ok", "ok", "ok"),
}
HOWS = ("SET ROLE", "SET SESSION AUTHORIZATION")


def may(conn: Connection, role: str, how: str = "SET ROLE") -> tuple[str, ...]:
    """What a role may call: to be compared with MAY."""
    with acting(conn, role, how):
        return tuple(outcome(conn, query) for query in (ANY_CALL, ELSEWHERE, CONFIGURE))


def with_level(conn: Connection, level: str, options: str = "") -> str:
    """A role of a level; a tenant is bound to acme."""
    role = new_role(conn, options)
    return grant(conn, role, level, *([("acme", "bot")] if level == "tenant" else []))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("level", [level for level in MAY if level])
def test_a_level_of_its_own(tx: Connection, level: str, how: str) -> None:
    assert may(tx, with_level(tx, level), how) == MAY[level]


@pytest.mark.parametrize("level", [level for level in MAY if level])
def test_a_level_is_inherited(tx: Connection, level: str) -> None:
    """Also over several memberships."""
    middle = new_role(tx, f"IN ROLE {with_level(tx, level)}")
    assert may(tx, new_role(tx, f"IN ROLE {middle}")) == MAY[level]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("level", [level for level in MAY if level])
def test_noinherit_members_have_no_level_before_set_role(
    tx: Connection, level: str, how: str
) -> None:
    group = with_level(tx, level)
    role = new_role(tx, f"NOINHERIT IN ROLE {group}")
    assert may(tx, role, how) == MAY[None]
    tx.execute(text(f"SET SESSION AUTHORIZATION {role}"))
    tx.execute(text(f"SET ROLE {group}"))
    assert outcome(tx, ANY_CALL) == "ok"
    assert outcome(tx, CONFIGURE) == MAY[level][2]
    tx.execute("RESET SESSION AUTHORIZATION")


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("application", "admin", "application"),
        ("admin", "application", "application"),
        ("tenant", "tenant", "tenant"),
        ("application", "application", "application"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_the_most_restrictive_level_wins(
    tx: Connection, first: str, second: str, counts: str, own: bool
) -> None:
    """Of a level of its own and an inherited one, as of two inherited ones."""
    if own:
        role = new_role(tx, f"IN ROLE {with_level(tx, first)}")
        grant(tx, role, second, *([("acme", "bot")] if second == "tenant" else []))
    else:
        role = new_role(tx, f"IN ROLE {with_level(tx, first)}, {with_level(tx, second)}")
    assert may(tx, role) == MAY[counts]


@pytest.mark.parametrize("other", ["application", "admin"])
@pytest.mark.parametrize("own", [True, False])
def test_a_tenant_that_gained_another_level_stays_a_tenant(
    tx: Connection, other: str, own: bool
) -> None:
    """Memberships given after grant_access escape its check; the tenant's level still counts."""
    tenant, group = new_tenant(tx), with_level(tx, other)
    role = tenant if own else new_role(tx, f"IN ROLE {tenant}")
    tx.execute(text(f"GRANT {group} TO {role}"))
    assert may(tx, role) == MAY["tenant"]


def test_members_of_the_owner_are_administrators(cast_of_roles: Cast) -> None:
    """They inherit his rights anyway; a lower level of their own counts all the same."""
    owner = cast_of_roles.roles["owner"]
    with cast_of_roles.connect() as conn, conn.transaction(force_rollback=True):
        for how in HOWS:
            assert may(conn, owner, how) == MAY["admin"]
        assert may(conn, new_role(conn, f"NOINHERIT IN ROLE {owner}")) == MAY[None]
        member = new_role(conn, f"IN ROLE {owner}")
        assert may(conn, member) == MAY["admin"]
        grant(conn, member, "application")
        assert may(conn, member) == MAY["application"]


def test_superusers_are_administrators_whatever_their_row_says(tx: Connection) -> None:
    role = new_tenant(tx)
    tx.execute(text(f"ALTER ROLE {role} SUPERUSER"))
    assert may(tx, role) == MAY["admin"]


@pytest.mark.parametrize("how", HOWS)
def test_a_superuser_who_becomes_a_tenant_is_one(tx: Connection, how: str) -> None:
    plan_id = remember_plan(tx, agent_id=OTHER_AGENT, org_id=OTHER_ORG)
    role = new_tenant(tx)
    assert outcome(tx, ELSEWHERE) == "ok"
    assert may(tx, role, how) == MAY["tenant"]
    with acting(tx, role, how):
        assert refusal(tx, "SELECT * FROM mnemo.get_plan(%s)", plan_id).sqlstate == "MN001"


@pytest.mark.parametrize("level", ["application", "admin", "superuser"])
def test_an_applications_definer_function_changes_nothing(tx: Connection, level: str) -> None:
    """It runs with the rights of its owner; who is meant stays the caller."""
    owner = "postgres" if level == "superuser" else with_level(tx, level)
    tx.execute(
        text(
            f"""
            CREATE SCHEMA app AUTHORIZATION {owner};
            CREATE FUNCTION app.elsewhere() RETURNS bigint LANGUAGE sql SECURITY DEFINER
            BEGIN ATOMIC SELECT count(*) FROM ({ELSEWHERE}) AS x; END;
            CREATE FUNCTION app.configure() RETURNS text LANGUAGE sql SECURITY DEFINER
            BEGIN ATOMIC {CONFIGURE}; END;
            ALTER FUNCTION app.elsewhere() OWNER TO {owner};
            ALTER FUNCTION app.configure() OWNER TO {owner};
            GRANT USAGE ON SCHEMA app TO PUBLIC;
            """
        )
    )
    assert outcome_as(tx, owner, "SELECT app.elsewhere()") == "ok"
    tenant, nobody, application = new_tenant(tx), new_role(tx), with_level(tx, "application")
    for how in HOWS:
        for role in (tenant, nobody):
            assert outcome_as(tx, role, "SELECT app.elsewhere()", how=how) == "42501"
            assert outcome_as(tx, role, "SELECT app.configure()", how=how) == "42501"
        assert outcome_as(tx, application, "SELECT app.elsewhere()", how=how) == "ok"
        assert outcome_as(tx, application, "SELECT app.configure()", how=how) == "42501"


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_a_level_without_execute_is_refused(tx: Connection, level: str) -> None:
    """As after a restore without privileges."""
    role = with_level(tx, level)
    tx.execute(text(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mnemo FROM {role}"))
    for function in functions(tx):
        if function.public:
            assert outcome_as(tx, role, call(function)) == "42501", function.name


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_execute_without_a_level_is_refused(tx: Connection, level: str) -> None:
    """As after a restore without rows: every function that looks at data asks for the row."""
    role = with_level(tx, level)
    tx.execute("DELETE FROM mnemo.role_level WHERE role_name = %s", (role,))
    for function in functions(tx):
        if function.public and function.name not in PURE:
            assert outcome_as(tx, role, call(function)) == "42501", function.name


def test_execute_on_everything_without_a_level_is_refused(tx: Connection) -> None:
    """Somebody who grants EXECUTE by hand gives no level with it."""
    role = new_role(tx)
    tx.execute(
        text(
            f"GRANT USAGE ON SCHEMA mnemo TO {role};"
            f" GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {role}"
        )
    )
    assert may(tx, role) == MAY[None]
    assert outcome_as(tx, role, "SELECT * FROM mnemo._visible('evil', 'boss', now())") == "42501"


def test_execute_on_everything_does_not_raise_a_level(tx: Connection) -> None:
    """Level tenant with EXECUTE on all functions, internal ones too, reads no table and no other
    organisation."""
    remember_plan(tx, agent_id=OTHER_AGENT, org_id=OTHER_ORG)
    role = new_tenant(tx)
    tx.execute(text(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {role}"))
    assert may(tx, role) == MAY["tenant"]
    for function in functions(tx):
        if function.public and function.parameters.keys() & {"p_role", "p_value"}:
            assert outcome_as(tx, role, call(function)) == "42501", function.name
    for query in (
        "SELECT * FROM mnemo._visible('evil', 'boss', now())",
        "SELECT * FROM mnemo._held('evil', 'boss', '{}', now())",
        "SELECT mnemo._setting('guard', 'evil')",
        "SELECT mnemo._revoke_all('postgres')",
    ):
        assert outcome_as(tx, role, query) == "42501", query


def test_inherited_execute_needs_an_inherited_level_and_the_other_way_round(tx: Connection) -> None:
    """EXECUTE from one role and the row from another are enough together, neither is alone."""
    by_execute = new_role(tx)
    tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {by_execute}"))
    tx.execute(text(f"GRANT EXECUTE ON FUNCTION mnemo.list_plans TO {by_execute}"))
    by_row = with_level(tx, "application")
    tx.execute(text(f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mnemo FROM {by_row}"))
    assert outcome_as(tx, by_execute, ANY_CALL) == "42501"
    assert outcome_as(tx, by_row, ANY_CALL) == "42501"
    both = new_role(tx, f"IN ROLE {by_execute}, {by_row}")
    assert outcome_as(tx, both, ANY_CALL) == "ok"


# grant_access and revoke_access


def test_granting_twice_changes_nothing(tx: Connection) -> None:
    role = with_level(tx, "application")
    before = rows(tx, "SELECT p.oid, p.proacl::text FROM pg_proc AS p ORDER BY 1")
    grant(tx, role, "application")
    assert rows(tx, "SELECT p.oid, p.proacl::text FROM pg_proc AS p ORDER BY 1") == before
    assert rows(tx, "SELECT level FROM mnemo.role_level WHERE role_name = %s", role) == [
        ("application",)
    ]


@pytest.mark.parametrize("first", ["application", "tenant", "admin"])
@pytest.mark.parametrize("second", ["application", "tenant", "admin"])
def test_a_new_level_replaces_the_old_one(tx: Connection, first: str, second: str) -> None:
    """Lowering takes EXECUTE and the view away."""
    role = with_level(tx, first)
    grant(tx, role, second)
    if second == "tenant":
        tx.execute("SELECT mnemo.bind_role(%s, 'acme', 'bot')", (role,))
    assert may(tx, role) == MAY[second]
    admin = second == "admin"
    for privilege in (
        "has_function_privilege(%s, 'mnemo.configure(text, text, text)', 'EXECUTE')",
        "has_function_privilege(%s, 'mnemo.grant_access(text, text)', 'EXECUTE')",
        "has_table_privilege(%s, 'mnemo.plan', 'SELECT')",
    ):
        assert value(tx, f"SELECT {privilege}", role) == admin


def test_granting_repairs_what_was_given_by_hand(tx: Connection) -> None:
    """Privileges beyond the level go, also on tables and columns."""
    role = with_level(tx, "application")
    tx.execute(
        text(
            f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {role};"
            f" GRANT ALL ON ALL TABLES IN SCHEMA mnemo TO {role};"
            f" GRANT SELECT (content) ON mnemo.memory TO {role};"
            f" GRANT CREATE ON SCHEMA mnemo TO {role}"
        )
    )
    grant(tx, role, "application")
    for query in (
        "SELECT content FROM mnemo.memory", "SELECT * FROM mnemo.plan", CONFIGURE,
        "SELECT mnemo._hash64('x')", "CREATE TABLE mnemo.x ()",
    ):  # fmt: skip
        assert outcome_as(tx, role, query) == "42501", query


def test_granting_closes_functions_that_a_restore_left_to_public(tx: Connection) -> None:
    """A dump without privileges restores functions with EXECUTE for PUBLIC."""
    tx.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO PUBLIC")
    role = with_level(tx, "tenant")
    assert outcome_as(tx, role, "SELECT mnemo._hash64('x')") == "42501"
    tx.execute("SELECT mnemo.revoke_access(%s)", (role,))
    assert not value(
        tx, "SELECT has_function_privilege(%s, 'mnemo.list_plans(bigint, uuid, text, text)',"
        " 'EXECUTE')", role,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_revoking_takes_everything(tx: Connection, level: str) -> None:
    role = with_level(tx, level)
    tx.execute("SELECT mnemo.revoke_access(%s)", (role,))
    assert may(tx, role) == MAY[None]
    assert not value(tx, "SELECT has_schema_privilege(%s, 'mnemo', 'USAGE')", role)
    assert not value(tx, "SELECT has_table_privilege(%s, 'mnemo.plan', 'SELECT')", role)
    assert not rows(
        tx,
        "SELECT role_name FROM mnemo.role_level WHERE role_name = %s"
        " UNION ALL SELECT role_name FROM mnemo.role_binding WHERE role_name = %s",
        role, role,
    )  # fmt: skip
    tx.execute(text(f"DROP ROLE {role}"))


@pytest.mark.parametrize("function", ["SELECT mnemo.revoke_access(%s)", "tenant", "application"])
def test_privileges_that_were_passed_on_go_too(tx: Connection, function: str) -> None:
    """A privilege WITH GRANT OPTION in other hands does not hold up the administration."""
    first, second = with_level(tx, "application"), new_role(tx)
    tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {first} WITH GRANT OPTION"))
    with acting(tx, first):
        tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {second}"))
    if function in ("tenant", "application"):
        grant(tx, first, function)
    else:
        tx.execute(text(function), (first,))
    assert not value(tx, "SELECT has_schema_privilege(%s, 'mnemo', 'USAGE')", second)


def test_revoking_from_a_dropped_role_removes_its_rows(tx: Connection) -> None:
    role = with_level(tx, "tenant")
    tx.execute(text(f"DROP OWNED BY {role}; DROP ROLE {role}"))
    tx.execute("SELECT mnemo.revoke_access(%s)", (role,))
    assert not rows(tx, "SELECT FROM mnemo.role_level WHERE role_name = %s", role)
    assert not rows(tx, "SELECT FROM mnemo.role_binding WHERE role_name = %s", role)
    assert refusal(tx, "SELECT mnemo.revoke_access(%s)", role).sqlstate == "22023"


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_a_new_role_of_a_dropped_name_may_do_nothing(tx: Connection, level: str) -> None:
    """The row is still there, EXECUTE is not."""
    role = with_level(tx, level)
    tx.execute(text(f"DROP OWNED BY {role}; DROP ROLE {role}; CREATE ROLE {role}"))
    assert may(tx, role) == MAY[None]


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_a_renamed_role_may_do_nothing(tx: Connection, level: str) -> None:
    """EXECUTE went with it, the row did not."""
    role, other = with_level(tx, level), new_name()
    tx.execute(text(f"ALTER ROLE {role} RENAME TO {other}"))
    assert may(tx, other) == MAY[None]
    grant(tx, other, level, *([("acme", "bot")] if level == "tenant" else []))
    assert may(tx, other) == MAY[level]


def test_a_role_renamed_or_dropped_while_it_is_set_may_do_nothing(server: Server, dsn: str) -> None:
    """The session knows only the name that SET ROLE was given."""
    with server.connect(dsn.split("dbname=")[1].split()[0]) as admin, server.connect(
        admin.info.dbname
    ) as session:  # fmt: skip
        first, second = with_level(admin, "admin"), with_level(admin, "admin")
        session.execute(text(f"SET ROLE {first}"))
        admin.execute(text(f"ALTER ROLE {first} RENAME TO {new_name()}"))
        assert outcome(session, CONFIGURE) != "ok"
        session.execute(text(f"RESET ROLE; SET ROLE {second}"))
        admin.execute(text(f"DROP OWNED BY {second}; DROP ROLE {second}"))
        assert outcome(session, CONFIGURE) != "ok"


ODD_NAMES = [
    "with space", "Upper", 'double"quote', "single'quote", "per%cent", "100%s", "%I", "a.b", "_",
    "$1", "; DROP SCHEMA mnemo; --", "current_user", "session_user", "user", "mnemo", "public role",
    "x" * 63, "ünïcode", "back\\slash", "\u3000", "-", "1",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_role_names_that_need_quotes(tx: Connection, name: str) -> None:
    """Every administration function takes them, and errors name them."""
    role = new_tenant(tx, name=name)
    for how in HOWS:
        assert may(tx, role, how) == MAY["tenant"]
    with acting(tx, role):
        error = refusal(tx, ELSEWHERE)
    assert error.diag.message_primary is not None
    assert value(tx, "SELECT quote_ident(%s)", name) in error.diag.message_primary
    tx.execute("SELECT mnemo.unbind_role(%s, 'acme', 'bot')", (role,))
    assert outcome_as(tx, role, ANY_CALL) == "42501"
    tx.execute("SELECT mnemo.revoke_access(%s)", (role,))
    assert may(tx, role) == MAY[None]


@pytest.mark.parametrize(
    "name", ["public", "PUBLIC", "none", "", " ", "no such role", "%", "x" * 64, None,
             "current_user", "session_user", "postgres "],
)  # fmt: skip
@pytest.mark.parametrize(
    "query",
    [
        "SELECT mnemo.grant_access(%s, 'application')",
        "SELECT mnemo.grant_access(%s, 'tenant')",
        "SELECT mnemo.revoke_access(%s)",
        "SELECT mnemo.bind_role(%s, 'acme')",
        "SELECT mnemo.unbind_role(%s, 'acme')",
    ],
)
def test_names_of_no_role_are_refused(tx: Connection, query: str, name: str | None) -> None:
    """PUBLIC is no role: nobody gets everybody access."""
    error = refusal(tx, query, name)
    assert error.sqlstate == "22023"
    assert error.diag.message_detail == '{"parameter": "p_role"}'


@pytest.mark.parametrize("level", ["application", "tenant", "admin"])
def test_owner_and_superusers_get_no_level(tx: Connection, level: str) -> None:
    """They count as admin anyway; a row would promise something else."""
    owner = new_role(tx)
    tx.execute(text(f"ALTER SCHEMA mnemo OWNER TO {owner}"))
    for role in (owner, new_role(tx, "SUPERUSER"), "postgres"):
        assert refusal(tx, "SELECT mnemo.grant_access(%s, %s)", role, level).sqlstate == "22023"
    assert not rows(tx, "SELECT FROM mnemo.role_level WHERE role_name = %s", owner)


@pytest.mark.parametrize("level", ["Tenant", "ADMIN", "", " ", "owner", "superuser", "%", None])
def test_unknown_levels_are_refused(tx: Connection, level: str | None) -> None:
    role = new_role(tx)
    error = refusal(tx, "SELECT mnemo.grant_access(%s, %s)", role, level)
    assert error.sqlstate == "22023"
    assert error.diag.message_detail == '{"parameter": "p_level"}'
    assert may(tx, role) == MAY[None]


@pytest.mark.parametrize("level", [None, "application", "tenant"])
def test_nobody_raises_a_level_but_an_administrator(tx: Connection, level: str | None) -> None:
    """Access is checked before the arguments: 42501 for good and for bad ones."""
    role = with_level(tx, level) if level else new_role(tx)
    tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {role}"))
    tx.execute(text(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {role}"))
    for query in (
        f"SELECT mnemo.grant_access('{role}', 'admin')",
        f"SELECT mnemo.bind_role('{role}', 'evil')",
        f"SELECT mnemo.unbind_role('{role}', 'acme', 'bot')",
        f"SELECT mnemo.revoke_access('{role}')",
        "SELECT mnemo.grant_access(NULL, NULL)",
        "SELECT mnemo.grant_access('no such role', 'no such level')",
        "SELECT mnemo.bind_role(NULL, NULL)",
        "SELECT mnemo.unbind_role(NULL, '*')",
        "SELECT mnemo.revoke_access(NULL)",
        "SELECT mnemo.configure(NULL, NULL)",
        "SELECT mnemo.configure('guard', 'off', '*')",
    ):
        assert outcome_as(tx, role, query) == "42501", query


def test_an_administrator_administrates(tx: Connection) -> None:
    """Level admin is enough for it, without owning anything."""
    admin, role = with_level(tx, "admin"), new_role(tx)
    with acting(tx, admin):
        tx.execute(text(f"SELECT mnemo.grant_access('{role}', 'tenant')"))
        tx.execute(text(f"SELECT mnemo.bind_role('{role}', 'acme')"))
    assert may(tx, role)[0] == "ok"
    with acting(tx, admin):
        tx.execute(text(f"SELECT mnemo.revoke_access('{role}')"))
    assert may(tx, role) == MAY[None]


def test_errors_of_access_have_their_form(tx: Connection) -> None:
    """DETAIL is a JSON object, HINT names the remedy."""
    role, unbound = new_role(tx), grant(tx, new_role(tx), "tenant")
    tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {role}"))
    tx.execute(text(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {role}"))
    with acting(tx, role):
        error = refusal(tx, ANY_CALL)
    assert error.diag.message_primary == f"role {role} has no level in mnemo_pg"
    assert error.diag.message_detail == f'{{"role": "{role}"}}'
    assert "mnemo.grant_access" in (error.diag.message_hint or "")
    with acting(tx, unbound):
        error = refusal(tx, ANY_CALL)
    assert (error.diag.message_detail or "").startswith("{")
    assert "mnemo.bind_role" in (error.diag.message_hint or "")
