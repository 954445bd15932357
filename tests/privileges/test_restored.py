"""Dumps that lost privileges or rows: nobody gains anything, and grant_access repairs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psycopg
import pytest

from tests.privileges.helpers import (
    PURE,
    Connection,
    acting,
    call,
    functions,
    grant,
    new_name,
    new_role,
    outcome,
    remember_plan,
    rows,
    text,
)
from tests.support.installs import install
from tests.support.server import Server

LEVELS: dict[str, list[tuple[str, str | None]]] = {
    "application": [],
    "tenant": [("acme", "bot")],
    "admin": [],
}
RECALL = "SELECT * FROM mnemo.recall_plan('how do I reset the password', 'bot', 'acme') WHERE hit"


@dataclass
class Source:
    """A database to dump, with a role of each level."""

    server: Server
    dbname: str
    roles: dict[str, str]

    def dump(self, *options: str) -> Path:
        """pg_dump into a file of the server's folder."""
        path = self.server.folder / f"{new_name('dump')}.sql"
        self.server.run("pg_dump", *options, "-f", path, self.server.dsn(self.dbname))
        return path

    @cached_property
    def before(self) -> dict[str, dict[str, str]]:
        """What the levels may here."""
        with self.server.connect(self.dbname) as conn:
            return self.may(conn)

    def may(self, conn: Connection) -> dict[str, dict[str, str]]:
        """What each level gets for a harmless call of every public function."""
        found: dict[str, dict[str, str]] = {}
        called = [f for f in functions(conn) if f.public]
        # One session for all: each would have to compile the functions again.
        with psycopg.connect(self.server.dsn(conn.info.dbname), autocommit=True) as session:
            for level, role in self.roles.items():
                with acting(session, role, "SET SESSION AUTHORIZATION"):
                    found[level] = {f.name: outcome(session, call(f)) for f in called}
        return found


@pytest.fixture(scope="module", params=["psql", "extension"])
def source(server: Server, request: pytest.FixtureRequest) -> Source:
    """An installed database with levels, bindings and a plan."""
    name = new_name("db")
    server.create_database(name)
    install(server, name, request.param)
    roles = {level: new_name(level) for level in LEVELS}
    with server.connect(name) as conn:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        remember_plan(conn)
        for level, role in roles.items():
            grant(conn, new_role(conn, "LOGIN", role), level, *LEVELS[level])
    return Source(server, name, roles)


Restore = Callable[[Path], Connection]


@pytest.fixture
def restore(server: Server) -> Iterator[Restore]:
    """Restores a dump into a new database; a superuser's connection to it."""
    opened: list[Connection] = []

    def run(path: Path) -> Connection:
        name = new_name("db")
        server.create_database(name)
        server.run("psql", "-X", "-q", "-o", "/dev/null", "-f", path, server.dsn(name))
        opened.append(server.connect(name))
        return opened[-1]

    yield run
    for conn in opened:
        name = conn.info.dbname
        conn.close()
        server.drop_database(name)


def acl(conn: Connection) -> list[tuple[str, str]]:
    """Who may execute and read what."""
    return rows(
        conn,
        "SELECT p.oid::regprocedure::text, a.grantee::regrole::text"
        " FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a"
        " WHERE p.pronamespace = 'mnemo'::regnamespace"
        " UNION ALL SELECT c.oid::regclass::text || ' ' || a.privilege_type,"
        " a.grantee::regrole::text"
        " FROM pg_class AS c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS a"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'v')"
        " ORDER BY 1, 2",
    )


def repair(conn: Connection, source: Source) -> None:
    """What an administrator does after such a restore."""
    for level, role in source.roles.items():
        grant(conn, role, level, *LEVELS[level])


def assert_all_works(conn: Connection, source: Source) -> None:
    """As in the database that was dumped."""
    assert source.may(conn) == source.before
    with source.server.connect(source.dbname) as original:
        assert acl(conn) == acl(original)


def assert_nothing_works(found: dict[str, str], without: Set[str] = frozenset()) -> None:
    """42501 for every function, `without` aside."""
    assert {name for name, code in found.items() if code != "42501"} <= without


def test_a_whole_dump_works_at_once(source: Source, restore: Restore) -> None:
    conn = restore(source.dump())
    assert_all_works(conn, source)
    with psycopg.connect(conn.info.dsn, user=source.roles["tenant"]) as tenant:
        assert len(rows(tenant, RECALL)) == 1


@pytest.mark.parametrize(
    "options", [["-x"], ["-x", "--schema-only"], ["-x", "--exclude-table-data=mnemo.role_*"]]
)
def test_without_privileges_nobody_may_anything(
    source: Source, restore: Restore, options: list[str]
) -> None:
    """The rows alone give nothing. grant_access repairs the privileges, PUBLIC's included."""
    conn = restore(source.dump(*options))
    for found in source.may(conn).values():
        assert_nothing_works(found)
    for level, role in source.roles.items():
        assert rows(conn, "SELECT FROM mnemo.role_level WHERE role_name = %s", role) == (
            [()] if options == ["-x"] else []
        ), level
    repair(conn, source)
    if "--schema-only" in options:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    assert_all_works(conn, source)


@pytest.mark.parametrize("options", [["--schema-only"], ["--exclude-table-data=mnemo.role_level"]])
def test_without_rows_nobody_may_anything(
    source: Source, restore: Restore, options: list[str]
) -> None:
    """EXECUTE alone gives nothing but the functions without data; the view shows nothing."""
    conn = restore(source.dump(*options))
    for level, found in source.may(conn).items():
        assert_nothing_works(found, PURE)
        with psycopg.connect(conn.info.dsn, user=source.roles[level], autocommit=True) as login:
            assert outcome(login, "SELECT * FROM mnemo.memory") == "42501"
            for view in ("plan", "stats", "agent_stats", "recall_stats", "plan_value"):
                if level == "admin":
                    assert rows(login, f"SELECT * FROM mnemo.{view}") == []
                else:
                    assert outcome(login, f"SELECT * FROM mnemo.{view}") == "42501"
    repair(conn, source)
    if "--schema-only" in options:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    assert_all_works(conn, source)


def test_without_bindings_tenants_may_nothing(source: Source, restore: Restore) -> None:
    """A level alone gives a tenant nothing; the others keep what they had."""
    conn = restore(source.dump("--exclude-table-data=mnemo.role_binding"))
    found = source.may(conn)
    assert_nothing_works(found["tenant"], PURE)
    assert found["application"] == source.before["application"]
    assert found["admin"] == source.before["admin"]
    repair(conn, source)
    assert_all_works(conn, source)


def test_where_the_roles_are_missing_namesakes_gain_nothing(
    source: Source, restore: Restore
) -> None:
    """A dump restored on another server, where roles of these names come later."""
    path = source.dump()
    with source.server.connect() as conn:
        for role in source.roles.values():
            conn.execute(text(f"ALTER ROLE {role} RENAME TO {role}_away"))
    try:
        target = restore(path)
        for role in source.roles.values():
            new_role(target, "LOGIN", role)
        for found in source.may(target).values():
            assert_nothing_works(found)
        repair(target, source)
        found = source.may(target)
        assert found["application"]["list_plans"] == found["tenant"]["list_plans"] == "ok"
        assert found["tenant"]["configure"] == "42501"
        for role in source.roles.values():
            target.execute(text(f"DROP OWNED BY {role}; DROP ROLE {role}"))
    finally:
        with source.server.connect() as conn:
            for role in source.roles.values():
                conn.execute(text(f"ALTER ROLE {role}_away RENAME TO {role}"))


def test_a_restore_by_another_owner_keeps_the_levels(source: Source, server: Server) -> None:
    """pg_dump -O: whoever restores owns the schema; the former owner is nobody there."""
    name, owner = new_name("db"), new_name("owner")
    with server.connect() as conn:
        new_role(conn, "LOGIN", owner)
    server.create_database(name, options=f"OWNER {owner}")
    path = source.dump("-O")
    server.run("psql", "-X", "-q", "-o", "/dev/null", "-f", path, server.dsn(name, user=owner))
    with server.connect(name, user=owner) as conn:
        assert outcome(conn, "SELECT mnemo.configure('guard', 'off')") == "ok"
        assert source.may(conn) == source.before
    server.drop_database(name)
