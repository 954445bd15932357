"""The asynchronous client; `client.py` is generated from this file by `_sync.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from psycopg import AsyncConnection, AsyncCursor, InterfaceError
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from mnemo_pg import statements
from mnemo_pg.errors import translate
from mnemo_pg.statements import Statement

P = ParamSpec("P")
T = TypeVar("T")


def _method(
    build: Callable[P, Statement[T]], *, acting: bool = True
) -> Callable[Concatenate[AsyncMnemo, P], Coroutine[Any, Any, T]]:
    """The method that runs what `build` makes; `acting`: the client's identity holds if unnamed."""

    async def method(self: AsyncMnemo, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if acting:
            if kwargs.get("agent_id") is None:
                kwargs["agent_id"] = self.agent_id
            if kwargs.get("org_id") is None:
                kwargs["org_id"] = self.org_id
        return await self.run(build(*args, **kwargs))

    update_wrapper(method, build)
    method.__signature__ = statements.method_signature(build)  # type: ignore[attr-defined]
    return method


class AsyncMnemo:
    """mnemo_pg in one database, asynchronous.

    `source` is where to run:

    - a connection string: the first call (or `async with`) opens a pool of up to 10 connections,
      and `close()` closes it. Each call is a transaction of its own.
    - a pool of yours: each call takes a connection, commits and gives it back, errors or not.
    - a connection of yours: calls run in your transaction, or commit singly if you set autocommit.
      Nothing of it is changed, and nothing is committed. Its client encoding should be UTF8.

    `agent_id` and `org_id` say who acts in calls that name nobody; None leaves it to the role's
    binding, else to the settings `default_agent_id` and `default_org_id`. A client on a pool may be
    used by many tasks at once; one on a connection takes turns, and shares its transaction.

    Every call may raise `AccessError` (the role or the agent may not), `ArgumentError` (a bad
    value, named in `.parameter`), `LimitError` (a text, list or batch over a limit), `TypeError`
    (a value of a wrong type, before anything is sent), `NotInstalledError`, and psycopg's
    `OperationalError` when the connection fails.

        async with AsyncMnemo("postgresql:///app", agent_id="support") as m:
            await m.remember_plan("reset my password", ["open settings"], ["kb-17"], 0.9)
            plan = await m.recall_plan("my password: reset")
    """

    def __init__(
        self,
        source: str | AsyncConnection[Any] | AsyncConnectionPool[Any],
        *,
        agent_id: str | None = None,
        org_id: str | None = None,
    ) -> None:
        self.agent_id = agent_id
        self.org_id = org_id
        self._closed = False
        self._dsn: str | None = None
        if isinstance(source, str):
            self._dsn = source
            source = AsyncConnectionPool(
                source, min_size=1, max_size=10, open=False, kwargs={"autocommit": True}
            )
        elif not isinstance(source, (AsyncConnection, AsyncConnectionPool)):
            raise TypeError(
                "source must be a connection string, an AsyncConnection or an AsyncConnectionPool,"
                f" not {type(source).__name__}"
            )
        self._source = source

    async def open(self) -> None:
        """Open the pool of a client made from a connection string; the first call does it too.

        psycopg's `OperationalError` at once if the database cannot be reached.
        """
        if self._dsn is not None and isinstance(self._source, AsyncConnectionPool):
            # A pool keeps trying in the background and reports a wrong address after 30 seconds.
            await (await AsyncConnection.connect(self._dsn)).close()
            await self._source.open()

    async def close(self) -> None:
        """Close the pool that the client opened; your own connection or pool stays as it is."""
        self._closed = True
        if self._dsn is not None and isinstance(self._source, AsyncConnectionPool):
            await self._source.close()

    async def __aenter__(self) -> Self:
        """Open, as `open()`."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close, as `close()`."""
        await self.close()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        if self._closed:
            raise InterfaceError("this client is closed")
        if isinstance(self._source, AsyncConnection):
            yield self._source
            return
        if self._dsn is not None and self._source.closed:
            await self.open()
        async with self._source.connection() as connection:
            yield connection

    async def run(self, statement: Statement[T]) -> T:
        """Run a statement of `mnemo_pg.statements`: what every method does."""
        async with self._connection() as connection:
            # A cursor of our own kind, in binary: whatever factories and text adapters the
            # connection has, and its DateStyle, answers come as the types that we promise.
            cursor = AsyncCursor(connection, row_factory=dict_row)
            with translate():
                await cursor.execute(statement.sql, statement.params, binary=True)
                rows = await cursor.fetchall()
        return statement.shape(rows)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncMnemo]:
        """A client whose calls are one transaction: all hold at the end of the block, or none.

        On a connection of yours that is not in autocommit this is a savepoint: the commit stays
        yours. Nested blocks are savepoints. Only the new client is part of the transaction, and it
        ends with the block.

            async with m.transaction() as tx:
                memory = await tx.remember("the draft is approved")
                await tx.share(memory.id, ["editor"])
        """
        async with self._connection() as connection:
            if not connection.autocommit:
                # psycopg's block would commit if it were the first: begin beforehand.
                await connection.execute(statements.BEGIN)
            async with connection.transaction():
                inner = AsyncMnemo(connection, agent_id=self.agent_id, org_id=self.org_id)
                try:
                    yield inner
                finally:
                    await inner.close()

    # Administration: agent_id and org_id are whom it is about, not who acts
    version = _method(statements.version, acting=False)
    configure = _method(statements.configure, acting=False)
    setting = _method(statements.setting, acting=False)
    grant_access = _method(statements.grant_access, acting=False)
    revoke_access = _method(statements.revoke_access, acting=False)
    bind_role = _method(statements.bind_role, acting=False)
    unbind_role = _method(statements.unbind_role, acting=False)

    # Pure
    signature_tokens = _method(statements.signature_tokens, acting=False)
    guard_tokens = _method(statements.guard_tokens, acting=False)
    jaccard = _method(statements.jaccard, acting=False)
    canonical_predicate = _method(statements.canonical_predicate, acting=False)

    # Memory
    remember = _method(statements.remember)
    get_memories = _method(statements.get_memories)
    recall = _method(statements.recall)
    forget = _method(statements.forget)
    share = _method(statements.share)
    unshare = _method(statements.unshare)
    check_permission = _method(statements.check_permission)

    # Plans
    remember_plan = _method(statements.remember_plan)
    remember_plans = _method(statements.remember_plans)
    recall_plan = _method(statements.recall_plan)
    recall_plans = _method(statements.recall_plans)
    explain_recall_plan = _method(statements.explain_recall_plan)
    get_plan = _method(statements.get_plan)
    list_plans = _method(statements.list_plans)
