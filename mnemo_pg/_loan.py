"""Borrow a connection of a pool and give it back, whatever happens to the borrower."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg_pool import AsyncConnectionPool, ConnectionPool


class AsyncLoan:
    """A connection of the pool for the block: committed, or rolled back after an error.

    As the pool's own `connection()`, which loses the connection for good when its task is cancelled
    while it waits for its turn to give it back (psycopg_pool 3.3).
    """

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool

    async def __aenter__(self) -> AsyncConnection[Any]:
        """Take one."""
        connection: AsyncConnection[Any] = await self._pool.getconn()
        self._connection = connection
        return connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back; a cancellation that comes meanwhile is raised afterwards."""
        try:
            await self._connection.__aexit__(kind, error, traceback)
        finally:
            returning = asyncio.ensure_future(self._pool.putconn(self._connection))
            cancelled: asyncio.CancelledError | None = None
            while not returning.done():
                try:
                    await asyncio.shield(returning)
                except asyncio.CancelledError as cancellation:
                    cancelled = cancellation
            if cancelled is not None:
                raise cancelled
            returning.result()


def Loan(pool: ConnectionPool[Any]) -> AbstractContextManager[Connection[Any]]:
    """The same for threads, which nobody cancels."""
    return pool.connection()
