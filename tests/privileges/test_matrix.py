"""Who may do what: every object of schema mnemo against every kind of caller.

The rules stand here once; the catalog says which objects there are. A public function without a
rule fails.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.privileges.helpers import (
    ACTORS,
    PURE,
    Cast,
    Connection,
    Function,
    acting,
    call,
    functions,
    outcome,
    rows,
    text,
    value,
)

# PURE: everybody with a level. Level admin, the owner, superusers:
ADMINISTRATION = {
    "configure", "grant_access", "revoke_access", "bind_role", "unbind_role", "export_records",
    "import_records", "read_events", "seal", "retain_events", "chain_heads", "sweep",
    "release", "purge", "set_poisoning_rule", "remove_poisoning_rule", "poisoning_rules",
    "enable_vectors", "disable_vectors", "refresh_models", "health", "rebuild_signatures",
}  # fmt: skip
# Level application and admin; tenants inside their binding.
DATA = {
    "setting", "remember", "get_memories", "recall", "forget", "share", "unshare",
    "check_permission", "remember_plan", "remember_plans", "recall_plan", "recall_plans",
    "remember_failure", "recall_failures", "list_failures", "duplicate_plans",
    "get_plan", "list_plans", "explain_recall_plan", "history", "verify_chain", "export_chain",
    "forget_where", "forget_subject", "touch", "log_read", "revalidate_plan",
    "watch_statements", "unwatch_table", "log_recall", "record_plan_outcome", "plan_outcomes",
    "retire_plan", "revive_plan", "promote_plan", "retrieval_plan_result_key", "plan_retrieval",
    "retrieve", "explain_retrieval", "memory_map",
    "remember_many", "update_memory", "quarantined", "delegate", "revoke_delegation", "delegations",
}  # fmt: skip
# The same, but for tenants that are bound to one agent: what it says counts for the plans of all.
ORGANISATION = {"invalidate_chunks"}
# With the rights of the caller, who must own the table: here a superuser's.
TABLE = {"watch_table"}
RULES = (
    dict.fromkeys(PURE, "pure")
    | dict.fromkeys(ORGANISATION, "organisation")
    | dict.fromkeys(TABLE, "table")
    | dict.fromkeys(ADMINISTRATION, "administration")
    | dict.fromkeys(DATA, "data")
)

# A view calls functions with the rights of who reads it: this one stands in those of VIEWS.
IN_VIEWS = {"_is_admin", "_is_stale_for_admin"}
# The owner of a table names it in triggers.
IN_TRIGGERS = {"_chunk_table_changed"}
# What administrators read.
VIEWS = {
    "mnemo.plan", "mnemo.stats", "mnemo.agent_stats", "mnemo.recall_stats", "mnemo.plan_value",
}  # fmt: skip

# Who holds EXECUTE, and for whom a call succeeds. Internal functions: the owner alone.
EXECUTE = {
    "pure": {"application", "tenant", "unbound", "admin", "owner", "superuser"},
    "data": {"application", "tenant", "unbound", "admin", "owner", "superuser"},
    "administration": {"admin", "owner", "superuser"},
    "internal": {"owner", "superuser"},
    "in a view": {"admin", "owner", "superuser"},
    "in a trigger": {"application", "admin", "owner", "superuser"},
}
EXECUTE["organisation"] = EXECUTE["table"] = EXECUTE["data"]
SUCCESS = {
    "pure": EXECUTE["pure"],
    "data": EXECUTE["data"] - {"unbound"},
    "organisation": EXECUTE["data"] - {"tenant", "unbound"},
    "table": {"superuser"},
    "administration": EXECUTE["administration"],
}


@pytest.fixture(scope="module")
def superuser(cast_of_roles: Cast) -> Connection:
    """Privileges are looked up, not tried, over this connection."""
    return cast_of_roles.connect()


def kind_of(function: Function) -> str:
    """The rule for a function."""
    if function.public:
        return RULES[function.name]
    if function.name in IN_TRIGGERS:
        return "in a trigger"
    return "in a view" if function.name in IN_VIEWS else "internal"


def privilege(conn: Connection, kind: str, role: str, thing: str, which: str) -> bool:
    """has_..._privilege of a role."""
    return bool(value(conn, f"SELECT has_{kind}_privilege(%s, %s, %s)", role, thing, which))


def relations(conn: Connection) -> list[tuple[str, str]]:
    """Tables, views, sequences and the like, with their kind."""
    return rows(
        conn,
        "SELECT c.oid::regclass::text, c.relkind::text FROM pg_class AS c"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c')",
    )


def test_every_public_function_has_a_rule(superuser: Connection) -> None:
    assert {f.name for f in functions(superuser) if f.public} == set(RULES)


@pytest.mark.parametrize("actor", ACTORS)
def test_execute_on_functions(cast_of_roles: Cast, superuser: Connection, actor: str) -> None:
    """EXECUTE is held by exactly those whom the rules name, on internal functions by nobody."""
    role = cast_of_roles.roles[actor]
    held = {
        f.identity for f in functions(superuser)
        if privilege(superuser, "function", role, f.identity, "EXECUTE")
    }  # fmt: skip
    assert held == {
        f.identity for f in functions(superuser)
        if actor in EXECUTE[kind_of(f)]
    }  # fmt: skip


@pytest.mark.parametrize(
    "actor", [actor for actor in ACTORS if actor not in ("owner", "superuser")]
)
def test_tables_are_closed(cast_of_roles: Cast, superuser: Connection, actor: str) -> None:
    """No privilege on any table or view, but for reading three views as administrator."""
    role = cast_of_roles.roles[actor]
    privileges = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
    if superuser.info.server_version >= 170000:
        privileges.append("MAINTAIN")
    held = set()
    for relation, kind in relations(superuser):
        assert kind in ("r", "v"), f"no rule for {relation} of kind {kind}"
        held |= {
            (relation, which) for which in privileges
            if privilege(superuser, "table", role, relation, which)
        } | {
            (relation, which) for which in ("SELECT", "INSERT", "UPDATE", "REFERENCES")
            if privilege(superuser, "any_column", role, relation, which)
        }  # fmt: skip
    assert held == ({(view, "SELECT") for view in VIEWS} if actor == "admin" else set())


@pytest.mark.parametrize(
    "actor", [actor for actor in ACTORS if actor not in ("owner", "superuser")]
)
def test_schema_and_types(cast_of_roles: Cast, superuser: Connection, actor: str) -> None:
    """USAGE on the schema with a level only, CREATE never; the types of the schema are closed."""
    role = cast_of_roles.roles[actor]
    assert privilege(superuser, "schema", role, "mnemo", "USAGE") == (actor != "nobody")
    assert not privilege(superuser, "schema", role, "mnemo", "CREATE")
    # Privileges on row types of tables are in no dump, and those on arrays follow the elements.
    types = rows(
        superuser,
        "SELECT t.oid::regtype::text FROM pg_type AS t"
        " LEFT JOIN pg_class AS c ON c.oid = t.typrelid"
        " WHERE t.typnamespace = 'mnemo'::regnamespace AND t.typelem = 0"
        "   AND (c.oid IS NULL OR c.relkind = 'c')",
    )
    assert types
    for (name,) in types:
        assert not privilege(superuser, "type", role, name, "USAGE"), name


def test_nothing_is_public(superuser: Connection) -> None:
    """PUBLIC holds nothing: a role without a level inherits nothing."""
    assert not rows(
        superuser,
        """
        SELECT 'function', p.oid::regprocedure::text
          FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
         WHERE p.pronamespace = 'mnemo'::regnamespace AND a.grantee = 0
         UNION ALL
        SELECT 'relation', c.oid::regclass::text
          FROM pg_class AS c, aclexplode(c.relacl) AS a
         WHERE c.relnamespace = 'mnemo'::regnamespace AND a.grantee = 0
         UNION ALL
        SELECT 'schema', n.nspname::text
          FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
         WHERE n.nspname = 'mnemo' AND a.grantee = 0
        """,
    )


def test_no_privilege_can_be_passed_on(superuser: Connection) -> None:
    """grant_access gives nothing with GRANT OPTION."""
    assert not rows(
        superuser,
        """
        SELECT p.oid::regprocedure, a.grantee::regrole
          FROM pg_proc AS p, aclexplode(p.proacl) AS a
         WHERE p.pronamespace = 'mnemo'::regnamespace AND a.grantee <> p.proowner AND a.is_grantable
        """,
    )


def expected(function: Function, actor: str) -> str:
    return "ok" if actor in SUCCESS[RULES.get(function.name, "administration")] else "42501"


def outcomes(conn: Connection, cast_of_roles: Cast, called: list[Function]) -> dict[str, str]:
    """`ok` or the SQLSTATE of each, called so that it works for whoever may; all is undone."""
    return {f.name: outcome_of(conn, cast_of_roles, f) for f in called}


def outcome_of(conn: Connection, cast_of_roles: Cast, function: Function) -> str:
    if function.name not in cast_of_roles.calls:
        # Without pgvector on the server: the level is looked at first all the same.
        code = outcome(conn, call(function))
        return "ok" if code in ("0A000", "55000") else code
    try:
        with conn.transaction(force_rollback=True):
            cast_of_roles.calls[function.name].run(conn)
    except psycopg.Error as error:
        return str(error.sqlstate)
    return "ok"


def test_all_but_vectors_are_called_so_that_they_work(
    cast_of_roles: Cast, superuser: Connection
) -> None:
    """What is missing in tests/support/every.py is missing for a reason."""
    public = {f.name for f in functions(superuser) if f.public}
    assert public - set(cast_of_roles.calls) <= {"enable_vectors", "disable_vectors"}


@pytest.mark.parametrize("actor", ACTORS)
def test_calls_after_a_login(cast_of_roles: Cast, superuser: Connection, actor: str) -> None:
    """Every public function is called: it works for those whom the rules name, else 42501."""
    called = [f for f in functions(superuser) if f.public]
    with cast_of_roles.connect(actor) as conn:
        assert outcomes(conn, cast_of_roles, called) == {f.name: expected(f, actor) for f in called}


@pytest.mark.parametrize("login", ["superuser", "pooler"])
def test_calls_after_set_role(cast_of_roles: Cast, superuser: Connection, login: str) -> None:
    """After SET ROLE the chosen role counts, whoever logged in: no more, no less. All roles take
    their turns in one session, as in a pool."""
    called = [f for f in functions(superuser) if f.public]
    name = cast_of_roles.pooler if login == "pooler" else login
    with cast_of_roles.connect(name) as conn:
        for actor in ACTORS:
            if actor != "superuser":
                with acting(conn, cast_of_roles.roles[actor]):
                    assert outcomes(conn, cast_of_roles, called) == {
                        f.name: expected(f, actor) for f in called
                    }


def test_a_login_without_level_stays_without(cast_of_roles: Cast, superuser: Connection) -> None:
    """A member of roles of every level that inherits from none has no level of its own."""
    called = [f for f in functions(superuser) if f.public]
    with cast_of_roles.connect(cast_of_roles.pooler) as conn:
        assert set(outcomes(conn, cast_of_roles, called).values()) == {"42501"}


@pytest.mark.parametrize("actor", ["nobody", "application", "tenant", "admin"])
def test_internal_functions_cannot_be_called(
    cast_of_roles: Cast, superuser: Connection, actor: str
) -> None:
    """Real calls of internal functions end in 42501, whatever they would do with NULLs."""
    with cast_of_roles.connect(actor) as conn:
        for function in functions(superuser):
            if kind_of(function) == "internal":
                nulls = ", ".join(f"NULL::{kind}" for kind in function.parameters.values())
                assert outcome(conn, f"SELECT mnemo.{function.name}({nulls})") == "42501", function


@pytest.mark.parametrize("actor", ["nobody", "application", "tenant", "unbound", "admin"])
def test_tables_cannot_be_touched(cast_of_roles: Cast, superuser: Connection, actor: str) -> None:
    """Real statements on every table and view."""
    with cast_of_roles.connect(actor) as conn:
        for relation, kind in relations(superuser):
            statements = [
                f"SELECT FROM {relation}", f"SELECT * FROM {relation}", f"DELETE FROM {relation}",
                f"TRUNCATE {relation}", f"LOCK TABLE {relation}", f"COPY {relation} TO STDOUT",
                f"ALTER TABLE {relation} OWNER TO CURRENT_USER", f"DROP TABLE {relation}",
                f"INSERT INTO {relation} DEFAULT VALUES",
                f"CREATE INDEX ON {relation} ((1))",
                f"CREATE TEMP VIEW spy AS SELECT * FROM {relation}; SELECT * FROM spy",
            ]  # fmt: skip
            if kind == "v":
                statements = [
                    f"SELECT * FROM {relation}", f"DELETE FROM {relation}",
                    f"UPDATE {relation} SET org_id = 'acme'",
                    f"INSERT INTO {relation} (org_id) VALUES ('acme')",
                ]  # fmt: skip
                if relation in VIEWS and actor == "admin":
                    assert outcome(conn, statements.pop(0)) == "ok", relation
            for statement in statements:
                code = outcome(conn, statement)
                # A view that counts cannot be written to, whoever tries.
                assert code == "42501" or (kind == "v" and code == "55000"), (statement, code)


def test_a_new_public_function_would_be_noticed(tx: Connection) -> None:
    """What these tests rest on: the catalog lists a function that nobody has a rule for."""
    tx.execute(text("CREATE FUNCTION mnemo.brand_new() RETURNS int LANGUAGE sql RETURN 1"))
    assert {f.name for f in functions(tx) if f.public} - set(RULES) == {"brand_new"}


def test_the_database_works_with_an_owner_who_is_no_superuser(cast_of_roles: Cast) -> None:
    """The functions run with the rights of the owner, who needs no more."""
    with cast_of_roles.connect("owner") as conn:
        assert value(conn, "SELECT current_setting('is_superuser')") == "off"
        owners = rows(
            conn,
            "SELECT DISTINCT p.proowner::regrole::text FROM pg_proc AS p"
            " WHERE p.pronamespace = 'mnemo'::regnamespace",
        )
    assert owners == [(cast_of_roles.roles["owner"],)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege), cast_of_roles.connect("nobody") as c:
        c.execute("SELECT mnemo.version()")
