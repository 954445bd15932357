"""Calls that are cancelled and connections that are lost: one clear error, and nothing leaks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool

from mnemo_pg import (
    AsyncMnemo,
    ConflictError,
    Mnemo,
    MnemoError,
    RecallReason,
    TimedOutError,
    UnavailableError,
)
from mnemo_pg.statements import Statement
from tests.client.conftest import Awaited, Side, done, fetch
from tests.pools.conftest import open_work
from tests.support.calls import contents, scalar
from tests.support.consistency import inconsistencies
from tests.support.pgbouncer import PgBouncer
from tests.support.server import Server

PLAN = ("how do I reset my password", ["open settings", "choose reset"], ["kb-17"], 0.92)
DEADLINE = 30
ALL_SETTINGS = (
    "SELECT name, setting, source FROM pg_settings WHERE name !~ '^plpgsql' ORDER BY name"
)


@contextmanager
def no_events(dsn: str) -> Iterator[psycopg.Connection]:
    """No event can be written while the block runs: every write stops after half of its work."""
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE mnemo.event IN SHARE MODE")
        yield holder
        holder.rollback()


def stopped(db: psycopg.Connection, count: int = 1) -> list[int]:
    """The server processes that wait for a lock, once there are so many."""
    query = "SELECT pid FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
    for _ in range(100_000):
        found = [pid for (pid,) in db.execute(query)]
        if len(found) >= count:
            return found
    raise AssertionError(f"{found} wait, not {count}")


async def in_the_middle(
    m: Any, call: Callable[[], Awaitable[Any]], act: Callable[[], object]
) -> BaseException | None:
    """Start the call, act while it waits, and say how it ended."""

    async def run() -> BaseException | None:
        try:
            await call()
        except Exception as error:
            return error
        return None

    if isinstance(m, Awaited):
        ended: list[BaseException | None] = []
        thread = threading.Thread(target=lambda: ended.append(asyncio.run(run())))
        thread.start()
        act()
        thread.join(DEADLINE)
        return ended[0]
    task = asyncio.create_task(run())
    await asyncio.to_thread(act)
    return await asyncio.wait_for(task, DEADLINE)


async def lost_in_the_middle(
    m: Any, dsn: str, db: psycopg.Connection, act: Callable[[int], object]
) -> BaseException | None:
    """A write that has done half of its work when `act` hits its server process."""
    with no_events(dsn):
        return await in_the_middle(m, lambda: m.remember_plan(*PLAN), lambda: act(stopped(db)[0]))


# Lost connections


async def test_a_connection_that_ends_in_the_middle_of_a_write(
    side: Side, db: psycopg.Connection
) -> None:
    """A typed error, nothing written, and the next call gets another connection."""
    for source in ("dsn", "pool"):
        m = side.client(await side.source(source))
        await m.version()
        before = contents(db)
        error = await lost_in_the_middle(m, side.dsn, db, lambda pid: end(db, pid))
        assert isinstance(error, UnavailableError), source
        assert (error.sqlstate, error.retryable, error.connection_lost) == ("57P01", True, True)
        assert "idempotency key" in str(error.hint)
        assert contents(db) == before
        assert (await m.recall_plan(*PLAN[:1])).reason is RecallReason.NONE_SIMILAR
        assert open_work(db) == 0


async def test_a_transaction_whose_connection_ends(side: Side, db: psycopg.Connection) -> None:
    """None of its calls holds, whether the loss is met by a call or by the commit."""
    m = side.client(side.dsn)
    before = contents(db)
    for last_call in (True, False):
        with pytest.raises(UnavailableError) as caught:
            await lose_a_transaction(m, db, last_call)
        assert caught.value.sqlstate in ("57P01", None)
        assert contents(db) == before
        assert await m.version()
        assert open_work(db) == 0


async def lose_a_transaction(m: Any, db: psycopg.Connection, last_call: bool) -> None:
    """One whose connection ends after its first call."""
    async with m.transaction() as tx:
        await tx.remember_plan(*PLAN)
        end(db, scalar(db, "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"))
        if last_call:
            await tx.version()


async def test_a_lost_connection_of_the_caller_says_so(side: Side, db: psycopg.Connection) -> None:
    """At the call that meets the loss and at each one after it."""
    connection = await side.connect(autocommit=True)
    m = side.client(connection)
    await m.version()
    end(db, connection.info.backend_pid)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await m.version()


async def test_connections_that_ended_while_idle_are_replaced(
    side: Side, db: psycopg.Connection
) -> None:
    """No call meets them, however many there are: the client looks before it uses one."""
    pool = await side.pool()
    await done(pool.resize(4, 4))
    await done(pool.wait())
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    for source in (pool, side.dsn):
        m = side.client(source)
        for _ in range(2):
            await m.version()
            found = db.execute(f"SELECT pid FROM pg_stat_activity WHERE {others}").fetchall()
            assert found
            for (pid,) in found:
                end(db, pid)
            # psycopg's pool would be looking for half a minute.
            async with asyncio.timeout(20):
                await m.version()


def end(db: psycopg.Connection, pid: int) -> None:
    """End a server process and wait until it is gone."""
    assert scalar(db, "SELECT pg_terminate_backend(%s, 30000)", pid) is True


async def test_a_server_that_restarts() -> None:
    """Clients live on: UnavailableError while it is down, answers before and after."""
    # Nothing but the connection is looked at, so nothing is installed.
    statement = Statement("SELECT 1 AS value", {}, lambda rows: rows[0]["value"])
    async with AsyncExitStack() as stack:
        server = stack.enter_context(Server())
        dsn = server.dsn()

        def clients() -> list[Any]:
            made: list[Any] = [Awaited(Mnemo(dsn)), AsyncMnemo(dsn)]
            for m in made:
                stack.push_async_callback(m.close)
            return made

        before = clients()
        for m in before:
            assert await m.run(statement) == 1
        server.run("pg_ctl", "-D", server.data, "-m", "fast", "-w", "restart")
        for m in before:
            assert await m.run(statement) == 1
        server.run("pg_ctl", "-D", server.data, "-m", "immediate", "-w", "stop")
        meanwhile = clients()
        try:
            for m in meanwhile:
                with pytest.raises(UnavailableError):
                    await m.run(statement)
        finally:
            server.start()
        for m in before + meanwhile:
            assert await m.run(statement) == 1


# Cancelled calls


async def test_a_cancelled_task_leaves_nothing(dsn: str, db: psycopg.Connection) -> None:
    """asyncio cancels a write that waits: it is rolled back, the connection goes on."""
    before = contents(db)
    async with AsyncConnectionPool(dsn, min_size=2, max_size=2, open=False) as pool:
        for source in (pool, dsn):
            m = AsyncMnemo(source)
            await m.version()
            with no_events(dsn):
                task = asyncio.create_task(m.remember_plan(*PLAN))
                await asyncio.to_thread(stopped, db)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert contents(db) == before
            assert (await m.recall_plan(*PLAN[:1])).reason is RecallReason.NONE_SIMILAR
            await m.close()
            assert open_work(db) == 0
        assert pool.get_stats()["pool_available"] == 2


async def test_a_task_that_is_cancelled_while_it_gives_its_connection_back(dsn: str) -> None:
    """The connection is back all the same; psycopg's own `connection()` would lose it."""
    async with AsyncConnectionPool(dsn, min_size=1, max_size=1, open=False) as pool:
        m = AsyncMnemo(pool)
        await m.version()
        taken, entered = asyncio.Event(), asyncio.Event()
        take, give_back = pool.getconn, pool.putconn

        async def getconn(**options: Any) -> Any:
            connection = await take(**options)
            taken.set()
            return connection

        async def putconn(connection: Any) -> None:
            entered.set()
            await give_back(connection)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pool, "getconn", getconn)
            patch.setattr(pool, "putconn", putconn)
            task = asyncio.create_task(m.version())
            # The call takes its connection, and then somebody else is at the pool.
            await taken.wait()
            async with pool._lock:
                await entered.wait()
                task.cancel()
                for _ in range(5):
                    await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(DEADLINE):
            assert await m.version()


async def test_a_cancelled_transaction_leaves_nothing(dsn: str, db: psycopg.Connection) -> None:
    """What it had done before is rolled back too."""
    before = contents(db)

    async def work(m: AsyncMnemo) -> None:
        async with m.transaction() as tx:
            await tx.remember("a memory")
            entered.set()
            await asyncio.Event().wait()

    async with AsyncMnemo(dsn) as m:
        entered = asyncio.Event()
        task = asyncio.create_task(work(m))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await m.version()
        assert contents(db) == before
        assert open_work(db) == 0


async def test_a_call_that_somebody_cancels(side: Side, db: psycopg.Connection) -> None:
    """By the connection's own cancel, or by pg_cancel_backend: one error for both."""
    connection = await side.connect(autocommit=True)
    m = side.client(connection)
    before = contents(db)
    for cancel in (
        lambda pid: connection.cancel(),
        lambda pid: db.execute("SELECT pg_cancel_backend(%s)", [pid]),
    ):
        error = await lost_in_the_middle(m, side.dsn, db, cancel)
        assert isinstance(error, TimedOutError)
        assert (error.sqlstate, error.retryable) == ("57014", False)
        assert contents(db) == before
        assert connection.info.transaction_status == TransactionStatus.IDLE
        assert await m.version()


async def test_timeouts_in_the_middle(side: Side, db: psycopg.Connection) -> None:
    """statement_timeout and lock_timeout, set for the connections as an application would."""
    before = contents(db)
    for name, code, retryable in (
        ("statement_timeout", "57014", False), ("lock_timeout", "55P03", True),
    ):  # fmt: skip
        m = side.client(side.dsn + f" options='-c {name}=300'")
        with no_events(side.dsn), pytest.raises(TimedOutError) as caught:
            await m.remember_plan(*PLAN)
        assert (caught.value.sqlstate, caught.value.retryable) == (code, retryable)
        assert contents(db) == before
        assert await m.version()
        await m.close()


async def test_no_connection_is_free_in_time(side: Side) -> None:
    """A pool that is used up: the same kind of error as no connection at all."""
    pool = await side.pool()
    m = side.client(pool)
    async with m.transaction():
        pool.timeout = 0.05
        with pytest.raises(UnavailableError) as caught:
            await m.version()
        pool.timeout = DEADLINE
    assert caught.value.retryable
    assert await m.version()


async def test_a_deadlock(side: Side, db: psycopg.Connection) -> None:
    """Two transactions in each other's way: one gets ConflictError, and holds once repeated."""
    m = side.client(side.dsn)
    ids = [(await m.remember(f"memory {number}")).id for number in range(2)]
    forget = "SELECT mnemo.forget(ARRAY[%s::uuid])"
    soon = "SELECT set_config('deadlock_timeout', '20ms', true) AS value"

    async def work(between: Callable[[], object]) -> None:
        async with m.transaction() as tx:
            await tx.run(Statement(soon, {}, len))
            await tx.forget([ids[0]])
            between()
            await tx.forget([ids[1]])

    with psycopg.connect(side.dsn) as other:
        other.execute("SET deadlock_timeout = '100s'")
        other.execute(forget, [ids[1]])
        crossing = threading.Thread(target=other.execute, args=[forget, [ids[0]]])

        def cross() -> None:
            crossing.start()
            stopped(db)

        with pytest.raises(ConflictError) as caught:
            await work(cross)
        assert (caught.value.sqlstate, caught.value.retryable) == ("40P01", True)
        crossing.join(DEADLINE)
        other.rollback()
    await work(lambda: None)
    assert await m.get_memories(ids) == []
    assert inconsistencies(db) == []


# Nothing is left behind


async def test_calls_change_no_setting(side: Side) -> None:
    """Neither those that succeed nor those that fail in the middle: functions set a search_path and
    planner settings for themselves."""
    connection = await side.connect(autocommit=True)
    await done(connection.execute("SET lock_timeout = '50ms'"))
    m = side.client(connection)
    before = await fetch(connection, ALL_SETTINGS)
    await m.remember_plan(*PLAN)
    await m.recall_plan(*PLAN[:1])
    await m.explain_recall_plan(*PLAN[:1])
    with pytest.raises(MnemoError):
        await m.recall_plan(*PLAN[:1], guard="none")
    with no_events(side.dsn), pytest.raises(TimedOutError):
        await m.remember_plan(*PLAN)
    async with m.transaction() as tx:
        await tx.recall("")
    assert await fetch(connection, ALL_SETTINGS) == before


async def test_behind_a_pooler(bouncer: PgBouncer, dsn: str, db: psycopg.Connection) -> None:
    """The same losses and cancellations through PgBouncer."""
    before = contents(db)
    async with AsyncMnemo(bouncer.dsn(db.info.dbname)) as m:
        await m.version()
        error = await lost_in_the_middle(m, dsn, db, lambda pid: end(db, pid))
        assert isinstance(error, UnavailableError)
        assert await m.version()
        with no_events(dsn):
            task = asyncio.create_task(m.remember_plan(*PLAN))
            await asyncio.to_thread(stopped, db)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await m.version()
        assert contents(db) == before
        assert open_work(db) == 0
