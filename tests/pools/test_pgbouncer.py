"""Behind PgBouncer in transaction mode each transaction may meet another server connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql

from mnemo_pg import AccessError, Mnemo, UnavailableError, UnsupportedError
from mnemo_pg.cli.session import Options, client
from tests.client.conftest import Awaited, Side, done
from tests.pools.conftest import ROLES, open_work
from tests.support.calls import row, scalar, value
from tests.support.pgbouncer import SERVER_CONNECTIONS, PgBouncer
from tests.support.server import Server

PLAN = ("how do I reset my password", ["open settings", "choose reset"], ["kb-17"], 0.92)
ENOUGH = 6
"""Calls after which psycopg has prepared a statement."""


@contextmanager
def occupied(dsn: str) -> Iterator[None]:
    """Somebody else's transaction holds the server connection that was used last."""
    with psycopg.connect(dsn) as other:
        other.execute("SELECT 1")
        yield
        other.rollback()


async def call_on_two_servers(m: Any, dsn: str) -> None:
    """The same call until it is prepared, on each of the few connections that a pool may have by
    then, and once more on another server connection."""
    for _ in range(4 * ENOUGH):
        await m.recall_plan(*PLAN[:1])
    with occupied(dsn):
        await m.recall_plan(*PLAN[:1])


async def test_prepared_statements_are_lost_and_the_error_has_the_remedy(pooled: Side) -> None:
    """What psycopg does unless told otherwise."""
    m = pooled.client(await pooled.connect(autocommit=True))
    with pytest.raises(UnsupportedError) as caught:
        await call_on_two_servers(m, pooled.dsn)
    assert caught.value.sqlstate == "26000"
    assert "prepare=False" in str(caught.value.hint)


@pytest.mark.parametrize("source", ["autocommit", "connection", "pool"])
async def test_a_client_that_prepares_nothing_is_at_home(pooled: Side, source: str) -> None:
    """On connections and pools of the caller, whose settings stay as they are."""
    given = await pooled.source(source)
    m = pooled.client(given, prepare=False)
    if source == "connection":
        for _ in range(2):
            for _ in range(ENOUGH):
                await m.remember_plan(*PLAN)
                await m.recall_plan(*PLAN[:1])
                await done(given.commit())
            with occupied(pooled.dsn):
                assert (await m.recall_plan(*PLAN[:1])).hit
                await done(given.commit())
    else:
        await call_on_two_servers(m, pooled.dsn)
        async with m.transaction() as tx:
            await tx.remember_plan(*PLAN)
            assert (await tx.recall_plan(*PLAN[:1])).hit
    if source != "pool":
        assert given.prepare_threshold == 5


async def test_transactions_prepare_nothing_either(pooled: Side) -> None:
    """Not even the statement that begins one."""
    m = pooled.client(await pooled.pool(), prepare=False)
    for _ in range(ENOUGH):
        async with m.transaction() as tx:
            await tx.version()
    with occupied(pooled.dsn):
        async with m.transaction() as tx:
            await tx.version()


async def test_a_connection_string_needs_no_option(pooled: Side, db: psycopg.Connection) -> None:
    """The client notices the pooler by itself."""
    m = pooled.client(pooled.dsn)
    await call_on_two_servers(m, pooled.dsn)
    async with m.transaction() as tx:
        await tx.remember_plan(*PLAN)
    assert (await m.recall_plan(*PLAN[:1])).hit
    assert open_work(db) == 0


def test_the_command_line_needs_no_option(bouncer: PgBouncer, db: psycopg.Connection) -> None:
    """Its connection prepares nothing: an import makes many calls."""
    dsn = bouncer.dsn(db.info.dbname)
    with client(Options(dsn=dsn)) as m:
        for _ in range(ENOUGH):
            m.recall_plan(*PLAN[:1])
        with occupied(dsn):
            m.recall_plan(*PLAN[:1])


async def test_without_a_pooler_calls_are_prepared(side: Side) -> None:
    """Directly nothing is given up, unless the caller wishes."""
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'mnemo[.]recall_plan'"
    for wish, expected in ((None, 1), (True, 1), (False, 0)):
        m = side.client(side.dsn, prepare=wish)
        async with m.transaction() as tx:
            for _ in range(ENOUGH):
                await tx.recall_plan(*PLAN[:1])
            connection = (tx.client if isinstance(tx, Awaited) else tx)._source
            found = await done((await done(connection.execute(prepared))).fetchone())
            assert found == (expected,), wish


async def test_many_agents_share_few_server_connections(
    pooled: Side, db: psycopg.Connection
) -> None:
    """One client for all: each call answers for the agent that it names."""
    m = pooled.client(pooled.dsn)
    found: list[bool] = []

    async def work(number: int) -> None:
        who = {"agent_id": f"agent{number}", "org_id": f"org{number % 3}"}
        await m.remember_plan(PLAN[0], [f"step {number}"], [], 0.9, **who)
        for _ in range(8):
            match = await m.recall_plan(PLAN[0], **who)
            found.append(match.steps == (f"step {number}",))
        async with m.transaction() as tx:
            memory = await tx.remember(f"of {number}", **who)
            found.append([r.id for r in await tx.recall("", strategy="exact", **who)] != [])
            found.append(await tx.check_permission(memory.id, "share", **who))

    if isinstance(m, Awaited):
        threads = [threading.Thread(target=asyncio.run, args=[work(n)]) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        await asyncio.gather(*[work(number) for number in range(12)])
    assert found == [True] * (12 * 10)
    assert open_work(db) == 0
    backends = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    assert scalar(db, backends) <= SERVER_CONNECTIONS + 1


async def test_startup_parameters_that_pgbouncer_refuses(pooled: Side) -> None:
    """`options` in a connection string is one of them."""
    m = pooled.client(pooled.dsn + " options='-c statement_timeout=1s'")
    with pytest.raises(UnavailableError, match="startup parameter"):
        await m.version()


# Who calls


@pytest.fixture
def roles(server: Server, db: psycopg.Connection) -> Iterator[None]:
    """An application role, and a tenant role each for acme and globex that it may become."""
    for role in ROLES:
        db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    db.execute("SELECT mnemo.grant_access('pool_app', 'application')")
    for org in ("acme", "globex"):
        db.execute("SELECT mnemo.grant_access(%s, 'tenant')", [f"pool_{org}"])
        db.execute("SELECT mnemo.bind_role(%s, %s, 'bot')", [f"pool_{org}", org])
    yield
    # PgBouncer's connections hold no role, but the grants in the database do.
    db.execute(sql.SQL("DROP OWNED BY {}").format(sql.SQL(", ").join(map(sql.Identifier, ROLES))))
    db.execute(sql.SQL("DROP ROLE {}").format(sql.SQL(", ").join(map(sql.Identifier, ROLES))))


@pytest.mark.usefixtures("roles")
def test_the_login_role_counts(bouncer: PgBouncer, db: psycopg.Connection) -> None:
    """PgBouncer keeps a pool a role, so each tenant is bound to its own."""
    dbname = db.info.dbname
    for org in ("acme", "globex"):
        with Mnemo(bouncer.dsn(dbname, user=f"pool_{org}")) as m:
            m.remember_plan(PLAN[0], [org], [], 0.9)
    for org in ("acme", "globex", "acme"):
        with Mnemo(bouncer.dsn(dbname, user=f"pool_{org}")) as m:
            assert m.recall_plan(PLAN[0]).steps == (org,)
            with pytest.raises(AccessError):
                m.recall_plan(PLAN[0], org_id="globex" if org == "acme" else "acme")
    with Mnemo(bouncer.dsn(dbname, user="pool_none")) as m, pytest.raises(AccessError):
        m.recall_plan(PLAN[0])


def test_a_role_that_pgbouncer_forces_counts_for_everyone(
    server: Server, template: str, bouncer: PgBouncer
) -> None:
    """Whoever logs in at the pooler: what the server sees is what holds."""
    server.create_database("forced", template)
    try:
        with server.connect("forced") as admin:
            admin.execute("CREATE ROLE pool_app LOGIN")
            admin.execute("SELECT mnemo.grant_access('pool_app', 'application')")
        with Mnemo(bouncer.dsn("forced", user="pool_acme")) as m:
            m.remember_plan(*PLAN, agent_id="ann", org_id="acme")
            m.remember_plan(*PLAN, agent_id="bob", org_id="globex")
            with pytest.raises(AccessError):
                m.configure("guard", "off")
    finally:
        server.drop_database("forced")
        with server.connect() as admin:
            admin.execute("DROP ROLE pool_app")


@pytest.mark.usefixtures("roles")
def test_set_role_outside_a_transaction_meets_the_next_client(
    bouncer: PgBouncer, db: psycopg.Connection
) -> None:
    """SET ROLE stays on the server connection, whoever gets it next; SET LOCAL ROLE ends with the
    transaction. So the pages allow tenants on a shared pool the second alone."""
    dsn = bouncer.dsn(db.info.dbname)
    plan = row(db, "remember_plan", query=PLAN[0], steps=[], chunk_ids=[], outcome_score=1,
               agent_id="bot", org_id="acme")["id"]  # fmt: skip
    who = "SELECT current_setting('role')"
    with psycopg.connect(dsn, autocommit=True) as first, Mnemo(dsn) as m:
        with first.transaction():
            first.execute("SET LOCAL ROLE pool_acme")
            assert value(first, "check_permission", id=plan, permission="share") is True
        with psycopg.connect(dsn, autocommit=True) as second:
            assert scalar(second, who) == "none"
        first.execute("SET ROLE pool_acme")
        with psycopg.connect(dsn, autocommit=True) as second:
            assert scalar(second, who) == "pool_acme"
        with pytest.raises(AccessError):
            m.recall_plan(PLAN[0], org_id="globex")
        first.execute("RESET ROLE")
