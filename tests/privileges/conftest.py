"""A database with a role of every level, and one for tests that roll back what they did."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tests.privileges.helpers import (
    ACTORS,
    AGENT,
    ORG,
    Cast,
    Connection,
    grant,
    new_name,
    new_role,
)
from tests.support.every import prepare
from tests.support.installs import install
from tests.support.server import Server

_transactions = itertools.count(1)


@pytest.fixture(scope="session")
def cast_of_roles(server: Server) -> Cast:
    """A database installed by an owner who is no superuser, with every level and some rows."""
    roles = {actor: new_name(actor) for actor in ACTORS}
    roles["superuser"] = "postgres"
    pooler = new_name("pooler")
    with server.connect() as conn:
        for actor, role in roles.items():
            if actor != "superuser":
                new_role(conn, "LOGIN", role)
        new_role(
            conn,
            "LOGIN NOINHERIT IN ROLE " + ", ".join(r for r in roles.values() if r != "postgres"),
            pooler,
        )
        dbname = new_name("db")
        server.create_database(dbname, options=f"OWNER {roles['owner']}")
    install(server, dbname, "psql", user=roles["owner"])
    with server.connect(dbname, user=roles["owner"]) as conn:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        grant(conn, roles["application"], "application")
        grant(conn, roles["tenant"], "tenant", (ORG, AGENT))
        grant(conn, roles["unbound"], "tenant")
        grant(conn, roles["admin"], "admin")
    with server.connect(dbname) as conn:
        calls = prepare(conn, AGENT, new_name("an_application"), new_name("a_tenant"))
    return Cast(server, dbname, roles, pooler, {call.function: call for call in calls})


@pytest.fixture(scope="session")
def shared_dsn(server: Server, template: str) -> str:
    """One database for all tests that roll back what they did."""
    return server.create_database(new_name("db"), template)


@pytest.fixture
def tx(shared_dsn: str) -> Iterator[Connection]:
    """A superuser's connection in a transaction that is rolled back in the end."""
    if next(_transactions) % 100 == 0:
        # What was rolled back leaves dead rows in the catalog, and nothing else removes them here.
        with psycopg.connect(shared_dsn, autocommit=True) as conn:
            conn.execute("VACUUM pg_proc, pg_shdepend, pg_depend, pg_authid, pg_type, pg_class")
    with psycopg.connect(shared_dsn) as conn, conn.transaction(force_rollback=True):
        yield conn
