"""Calls of many tasks while somebody cancels, times out and ends them at random: whoever repeats
what is retryable comes through, and nothing is lost, doubled, half done or left behind."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import MnemoError, NotFoundError
from tests.client.conftest import Awaited, Side, done
from tests.pools.conftest import open_work
from tests.support.calls import scalar
from tests.support.consistency import inconsistencies

WORKERS = 6
ATTEMPTS = 200
_VICTIM = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
       AND backend_type = 'client backend'
     ORDER BY random() LIMIT 1
"""


class Saboteur(threading.Thread):
    """Cancels or ends a random busy server process, as many times as it may: on a slow machine no
    call would come through if it never ended."""

    def __init__(self, dsn: str, seed: int, most: int) -> None:
        super().__init__()
        self.hits = 0
        self._most = most
        self.enough = threading.Event()
        self._dsn = dsn
        self._chance = random.Random(seed)

    def run(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as db:
            while self.hits < self._most and not self.enough.wait(self._chance.uniform(0, 0.05)):
                end = self._chance.choice(["pg_cancel_backend", "pg_terminate_backend"])
                self.hits += len(db.execute(f"SELECT {end}(pid) FROM ({_VICTIM}) AS v").fetchall())


class Worker:
    """Writes through a shared client, each write again until it is acknowledged."""

    def __init__(self, m: Any, number: int, cancel: bool) -> None:
        self.failures = 0
        self.kept: dict[UUID, str] = {}
        self.gone: set[UUID] = set()
        self._m = m
        self._number = number
        self._cancel = cancel
        self._chance = random.Random(number)

    async def again(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """The answer of the first attempt that has one."""
        for attempt in range(ATTEMPTS):
            # Asyncio's cancellation, at a moment that comes later each time.
            moment = self._chance.uniform(0, 0.02 * (attempt + 1)) if self._cancel else None
            try:
                async with asyncio.timeout(moment):
                    return await call()
            except TimeoutError:
                self.failures += 1
            except MnemoError as error:
                # A cancelled call is not worth repeating in general; here we know who did it.
                if not error.retryable and error.sqlstate != "57014":
                    raise
                self.failures += 1
        raise AssertionError("no attempt came through")

    async def work(self, turns: int) -> None:
        """Plans, grants and deletions, each a call or a transaction of its own."""
        for turn in range(turns):
            asked = f"worker{self._number} asks{turn} about subject{self._number}x{turn}"
            plan = await self.again(lambda asked=asked: self._m.remember_plan(
                asked, ["a"], [], 0.9, agent_id="ana", scope="shared", idempotency_key=asked
            ))  # fmt: skip
            self.kept[plan.id] = asked
            await self.again(lambda id=plan.id, asked=asked: self._transaction(id, asked))
            match = await self.again(lambda asked=asked: self._m.recall_plan(asked, agent_id="ben"))
            assert match.id == plan.id
            if turn % 3 == 0:
                await self.again(lambda id=plan.id: self._forget(id))
                self.gone.add(plan.id)

    async def _transaction(self, id: UUID, asked: str) -> None:
        async with self._m.transaction() as tx:
            await tx.share(id, ["ben"], agent_id="ana")
            await tx.remember(asked, agent_id="ana", idempotency_key=f"memory {asked}")

    async def _forget(self, id: UUID) -> None:
        try:
            await self._m.forget([id], agent_id="ana")
        except NotFoundError:
            # A lost answer to an attempt that did it.
            assert self.failures


async def sabotage(m: Any, dsn: str, db: psycopg.Connection, turns: int) -> None:
    """Run the workers under the saboteur, and look at what they left."""
    threads = isinstance(m, Awaited)
    workers = [Worker(m, number, cancel=not threads) for number in range(WORKERS)]
    saboteur = Saboteur(dsn, turns, most=4 * WORKERS * turns)
    saboteur.start()
    try:
        if threads:
            await asyncio.gather(*(
                asyncio.to_thread(asyncio.run, worker.work(turns)) for worker in workers
            ))  # fmt: skip
        else:
            await asyncio.gather(*(worker.work(turns) for worker in workers))
    finally:
        saboteur.enough.set()
        saboteur.join()
    assert saboteur.hits > 0
    assert sum(worker.failures for worker in workers) > 0
    assert open_work(db) == 0
    assert inconsistencies(db) == []
    there = dict(
        db.execute("SELECT id, content FROM mnemo.memory WHERE memory_type = 'procedural'")
    )
    assert there == {id: asked for worker in workers for id, asked in worker.kept.items()}
    deleted = {
        id for (id,) in db.execute("SELECT id FROM mnemo.memory WHERE deleted_at IS NOT NULL")
    }
    assert deleted == {id for worker in workers for id in worker.gone}
    count = "SELECT count(*) FROM mnemo.memory WHERE memory_type <> 'procedural'"
    assert scalar(db, count) == WORKERS * turns


@pytest.mark.parametrize("turns", [2, pytest.param(100, marks=pytest.mark.long)])
async def test_directly(side: Side, db: psycopg.Connection, turns: int) -> None:
    """On a pool of the caller, which is whole afterwards."""
    pool = await side.pool()
    await done(pool.resize(2, 4))
    await sabotage(side.client(pool), side.dsn, db, turns)
    # All of its connections can be had at once, so none is lost.
    held = [await done(pool.getconn(30)) for _ in range(pool.max_size)]
    for connection in held:
        await done(pool.putconn(connection))
    assert pool.get_stats().get("requests_waiting", 0) == 0


@pytest.mark.parametrize("turns", [2, pytest.param(100, marks=pytest.mark.long)])
async def test_behind_pgbouncer(pooled: Side, dsn: str, db: psycopg.Connection, turns: int) -> None:
    """On the client's own pool."""
    await sabotage(pooled.client(pooled.dsn), dsn, db, turns)
