"""One set of tests for both clients: the synchronous side is awaited too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable
from typing import Any

import psycopg
import psycopg_pool
import pytest

from mnemo_pg import AsyncMnemo, Mnemo


async def done(value: Any) -> Any:
    """The value, awaited if it must be."""
    return await value if isawaitable(value) else value


async def fetch(connection: Any, sql: str) -> Any:
    """All rows, from a connection of either kind."""
    cursor = await done(connection.execute(sql))
    return await done(cursor.fetchall())


class Awaited:
    """A synchronous client behind the interface of the asynchronous one."""

    def __init__(self, client: Mnemo) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.client, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call

    async def __aenter__(self) -> Awaited:
        return Awaited(self.client.__enter__())

    async def __aexit__(self, *error: Any) -> None:
        self.client.__exit__(*error)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Awaited]:
        with self.client.transaction() as inner:
            yield Awaited(inner)


class Side:
    """One kind of client with its kinds of source, all closed at the end of the test."""

    def __init__(self, name: str, dsn: str, stack: AsyncExitStack) -> None:
        self.name = name
        self.dsn = dsn
        self._stack = stack
        self._sync = name == "sync"

    def client(self, source: Any, **who: Any) -> Any:
        client = Awaited(Mnemo(source, **who)) if self._sync else AsyncMnemo(source, **who)
        self._stack.push_async_callback(client.close)
        return client

    async def connect(self, **options: Any) -> Any:
        kind: Any = psycopg.Connection if self._sync else psycopg.AsyncConnection
        connection = await done(kind.connect(self.dsn, **options))
        self._stack.push_async_callback(lambda: done(connection.close()))
        return connection

    async def pool(self, **options: Any) -> Any:
        names = psycopg_pool.ConnectionPool, psycopg_pool.AsyncConnectionPool
        kind: Any = names[0 if self._sync else 1]
        pool = kind(self.dsn, open=False, min_size=1, max_size=1, timeout=5, **options)
        await done(pool.open())
        self._stack.push_async_callback(lambda: done(pool.close()))
        return pool

    async def source(self, name: str) -> Any:
        """A source by name: dsn, pool, connection, autocommit."""
        if name == "dsn":
            return self.dsn
        if name == "pool":
            return await self.pool()
        return await self.connect(autocommit=name == "autocommit")


@pytest.fixture(params=["sync", "async"])
async def side(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[Side]:
    """Either kind of client, on a fresh database."""
    async with AsyncExitStack() as stack:
        yield Side(request.param, dsn, stack)


@pytest.fixture(params=["dsn", "pool", "connection", "autocommit"])
async def m(request: pytest.FixtureRequest, side: Side) -> Any:
    """A client of either kind on each kind of source."""
    return side.client(await side.source(request.param))
