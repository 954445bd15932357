"""Roles of every level, and ways to act as one of them.

Most tests work in one transaction of a superuser and roll it back, roles included: SET SESSION
AUTHORIZATION stands for a login there. What needs real logins uses a `Cast`, a database whose
owner is no superuser.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.support.every import Call
from tests.support.server import Server

_numbers = itertools.count(1)

# Every kind of caller. The value says how the role is made.
ACTORS = (
    "nobody",  # no level, no privilege
    "application",
    "tenant",  # bound to agent bot of organisation acme
    "unbound",  # level tenant without a binding
    "admin",
    "owner",  # owns the schema, no superuser
    "superuser",
)
ORG, AGENT = "acme", "bot"
OTHER_ORG, OTHER_AGENT = "evil", "boss"

Connection = psycopg.Connection[Any]


def text(query: str) -> LiteralString:
    """SQL that a test has put together from its own constants and the catalog."""
    return cast(LiteralString, query)


def rows(conn: Connection, query: str, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return conn.execute(text(query), parameters or None).fetchall()


def value(conn: Connection, query: str, *parameters: object) -> Any:
    """The only value of a query."""
    ((only,),) = rows(conn, query, *parameters)
    return only


def outcome(conn: Connection, query: str, *parameters: object) -> str:
    """`ok` or the SQLSTATE; what the statement did is undone."""
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(text(query), parameters or None)
    except psycopg.Error as error:
        return str(error.sqlstate)
    return "ok"


def refusal(conn: Connection, query: str, *parameters: object) -> psycopg.Error:
    """The error of a statement that must fail."""
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(text(query), parameters or None)
    return caught.value


@contextmanager
def acting(conn: Connection, role: str, how: str = "SET ROLE") -> Iterator[None]:
    """Be `role` for a while, by SET ROLE or by SET SESSION AUTHORIZATION."""
    conn.execute(sql.SQL(text(how + " {}")).format(sql.Identifier(role)))
    try:
        yield
    finally:
        conn.execute("RESET ROLE; RESET SESSION AUTHORIZATION")


def outcome_as(
    conn: Connection, role: str, query: str, *parameters: object, how: str = "SET ROLE"
) -> str:
    """`outcome` of a statement as another role."""
    with acting(conn, role, how):
        return outcome(conn, query, *parameters)


def rows_as(conn: Connection, role: str, query: str, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of a query as another role."""
    with acting(conn, role):
        return rows(conn, query, *parameters)


def new_name(prefix: str = "r") -> str:
    """A role name that no other test uses: roles belong to the whole server."""
    return f"{prefix}_{next(_numbers)}"


def new_role(conn: Connection, options: str = "", name: str | None = None) -> str:
    """CREATE ROLE; its name."""
    name = name or new_name()
    conn.execute(sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(name), sql.SQL(text(options))))
    return name


def grant(conn: Connection, role: str, level: str, *bindings: tuple[str, str | None]) -> str:
    """grant_access and bind_role; the role."""
    conn.execute("SELECT mnemo.grant_access(%s, %s)", (role, level))
    for org_id, agent_id in bindings:
        conn.execute("SELECT mnemo.bind_role(%s, %s, %s)", (role, org_id, agent_id))
    return role


def new_tenant(
    conn: Connection, *bindings: tuple[str, str | None], options: str = "", name: str | None = None
) -> str:
    """A role of level tenant with these bindings; (acme, bot) when none is given."""
    return grant(
        conn, new_role(conn, options, name), "tenant", *(bindings or ((ORG, AGENT),))
    )  # fmt: skip


def remember_plan(
    conn: Connection,
    query: str = "how do I reset the password",
    scope: str = "private",
    agent_id: str = AGENT,
    org_id: str = ORG,
) -> UUID:
    """A stored plan's id."""
    return cast(
        UUID,
        value(
            conn,
            "SELECT id FROM mnemo.remember_plan(%s, ARRAY['a step'], ARRAY['a chunk'], 0.9,"
            " p_agent_id => %s, p_scope => %s, p_org_id => %s)",
            query, agent_id, scope, org_id,
        ),
    )  # fmt: skip


def remember(
    conn: Connection,
    content: str = "the secret of the house",
    scope: str = "private",
    agent_id: str = AGENT,
    org_id: str = ORG,
) -> UUID:
    """A stored memory's id."""
    return cast(
        UUID,
        value(
            conn,
            "SELECT id FROM mnemo.remember(%s, %s, p_agent_id => %s, p_org_id => %s)",
            content, scope, agent_id, org_id,
        ),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of schema mnemo, as the catalog has it."""

    name: str
    identity: str  # as has_function_privilege takes it
    parameters: dict[str, str]  # name to type, without results
    required: tuple[str, ...]

    @property
    def public(self) -> bool:
        return not self.name.startswith("_")


def functions(conn: Connection) -> list[Function]:
    """Every function of schema mnemo."""
    return [
        Function(
            name=name, identity=identity, parameters=dict(zip(names, types, strict=True)),
            required=tuple(names[: len(names) - defaults]),
        )
        for name, identity, names, types, defaults in rows(
            conn,
            """
            SELECT p.proname, p.oid::regprocedure::text,
                   coalesce(p.proargnames[1:p.pronargs], '{}'),
                   ARRAY(SELECT format_type(t.oid, NULL)
                           FROM unnest(p.proargtypes) WITH ORDINALITY AS t(oid, place)
                          ORDER BY t.place),
                   p.pronargdefaults
              FROM pg_proc AS p
             WHERE p.pronamespace = 'mnemo'::regnamespace
             ORDER BY p.proname
            """,
        )
    ]  # fmt: skip


# They read no data and answer before anybody is looked at: EXECUTE is all they ask for.
PURE = {
    "version", "signature_tokens", "guard_tokens", "jaccard", "canonical_predicate", "stable_hash",
    "normalize_retrieval_plan", "skip_retrieval_plan", "retrieval_plan_cache_key",
}  # fmt: skip

# Harmless values for a call, by parameter and by type.
HARMLESS_PARAMETERS = {
    "p_name": "'success_threshold'",
    "p_value": "'0.6'",
    "p_level": "'application'",
    "p_permission": "'read'",
    "p_plan": """'{"turn_id": 1, "generation": 0}'""",
    "p_plans": "'[]'",
    "p_criteria": """'{"tags": ["some"]}'""",
    "p_records": "'[]'",
    "p_agent_id": f"'{AGENT}'",
    "p_org_id": f"'{ORG}'",
}
HARMLESS_TYPES = {
    "text": "'some harmless words'",
    "text[]": "ARRAY['some', 'words']",
    "double precision": "0.5",
    "bigint": "1",
    "jsonb": "'{}'",
    "boolean": "true",
    "interval": "'1 hour'",
    "timestamp with time zone": "now()",
    "uuid": "'00000000-0000-7000-8000-000000000000'",
    "uuid[]": "ARRAY['00000000-0000-7000-8000-000000000000'::uuid]",
    "regclass": "'pg_class'::regclass",
}


def call(function: Function, **given: str) -> str:
    """SQL that calls a public function with harmless arguments; `given` has others, as SQL."""
    arguments = {
        name: HARMLESS_PARAMETERS.get(name) or HARMLESS_TYPES[function.parameters[name]]
        for name in function.required
    }
    arguments |= {name: sql for name, sql in given.items() if name in function.parameters}
    return f"SELECT * FROM mnemo.{function.name}({named(arguments)})"


def named(arguments: dict[str, str]) -> str:
    """Arguments in named notation."""
    return ", ".join(f"{name} => {argument}" for name, argument in arguments.items())


@dataclass(frozen=True)
class Cast:
    """A database with a role for every kind of caller."""

    server: Server
    dbname: str
    roles: dict[str, str]
    pooler: str  # may SET ROLE to every role but the superuser, and inherits nothing
    calls: dict[str, Call]  # one that works, of every public function that the server can run

    def connect(self, actor: str = "superuser") -> Connection:
        """An autocommit connection, logged in as an actor."""
        return self.server.connect(self.dbname, user=self.roles.get(actor, actor))
