"""Run statements where SQLAlchemy 2 keeps its connections: in a `Connection` or a `Session`.

Statements go through SQLAlchemy, so that its transactions, logging, events and detection of lost
connections see them. Nothing here imports it: without it nobody has such an object.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import psycopg
from psycopg.rows import tuple_row

from mnemo_pg.errors import UnsupportedError
from mnemo_pg.statements import Rows, Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    SQLAlchemySource: TypeAlias = Connection | Session | scoped_session[Any]
    AsyncSQLAlchemySource: TypeAlias = AsyncConnection | AsyncSession | async_scoped_session[Any]

Driver: TypeAlias = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class _Cursor(psycopg.Cursor[Any]):
    """SQLAlchemy gives a cursor nothing but text and parameters; this one asks for binary."""

    prepare: bool | None = None

    def execute(self, query: Any, params: Any = None, **_: Any) -> Self:
        return super().execute(query, params, prepare=self.prepare, binary=True)


class _AsyncCursor(psycopg.AsyncCursor[Any]):
    """The same, asynchronous."""

    prepare: bool | None = None

    async def execute(self, query: Any, params: Any = None, **_: Any) -> Self:
        return await super().execute(query, params, prepare=self.prepare, binary=True)


def _is_any_of(source: object, *names: str) -> bool:
    """Whether it is an instance of one of these classes, of modules that are there already."""
    kinds = []
    for module, _, name in (name.rpartition(".") for name in names):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    return isinstance(source, tuple(kinds))


def _session(source: Any) -> Any:
    """The session itself where a registry of sessions, one a thread or task, stands for it."""
    return source.registry() if hasattr(source, "registry") else source


def _connection(source: Connection | Session) -> Connection:
    """The connection, begun as SQLAlchemy begins it."""
    made: Any = source
    begun: Connection = made if hasattr(made, "exec_driver_sql") else made.connection()
    return begun


def _driver(connection: Connection) -> Driver:
    """psycopg's connection under it; `UnsupportedError` for another driver."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, (psycopg.Connection, psycopg.AsyncConnection)):
        dialect = connection.dialect
        raise UnsupportedError(
            f"mnemo_pg runs on psycopg 3, this connection on {dialect.name}+{dialect.driver}",
            parameter="source",
            hint="make the engine with a URL that begins with postgresql+psycopg://",
        )
    return driver


@contextmanager
def _next_cursor(driver: Driver, prepare: bool | None) -> Iterator[None]:
    """Make the next cursor of the connection, and only that, one of ours.

    In binary and with plain rows: whatever factories and text adapters the connection has, and its
    DateStyle, answers come as the types that we promise.
    """
    usual: Any = driver.cursor_factory
    kind = _Cursor if isinstance(driver, psycopg.Connection) else _AsyncCursor

    def once(connection: Any, **_: object) -> Any:
        driver.cursor_factory = usual
        cursor: Any = kind(connection, row_factory=tuple_row)
        cursor.prepare = prepare
        return cursor

    driver.cursor_factory = once  # type: ignore[assignment]
    try:
        yield
    finally:
        driver.cursor_factory = usual


def _rows(source: Connection | Session, statement: Statement[Any], prepare: bool | None) -> Rows:
    connection = _connection(source)
    with _next_cursor(_driver(connection), prepare):
        result = connection.exec_driver_sql(statement.sql, dict(statement.params))
    return [dict(row) for row in result.mappings()]


@contextmanager
def _rolled_back() -> Iterator[None]:
    """Take psycopg's `Rollback` for what it means in its own blocks."""
    try:
        yield
    except psycopg.Rollback as order:
        if order.transaction is not None:
            raise


class Alchemy:
    """Calls in a `Connection` or `Session`, in whatever transaction it is in."""

    def __init__(self, source: SQLAlchemySource) -> None:
        self.source = source

    @classmethod
    def of(cls, source: Any) -> Self | None:
        """None for anything that is not SQLAlchemy's."""
        names = "sqlalchemy.engine.Connection", "sqlalchemy.orm.Session"
        found = _is_any_of(source, *names, "sqlalchemy.orm.scoped_session")
        return cls(source) if found else None

    def rows(self, statement: Statement[Any], prepare: bool | None) -> Rows:
        """What the statement gives."""
        return _rows(_session(self.source), statement, prepare)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A savepoint; a transaction where the connection is in AUTOCOMMIT."""
        source = _session(self.source)
        driver: Any = _driver(_connection(source))
        with _rolled_back(), driver.transaction() if driver.autocommit else source.begin_nested():
            yield


class AsyncAlchemy:
    """Calls in an `AsyncConnection` or `AsyncSession`, in whatever transaction it is in."""

    def __init__(self, source: AsyncSQLAlchemySource) -> None:
        self.source = source

    @classmethod
    def of(cls, source: Any) -> Self | None:
        """None for anything that is not SQLAlchemy's."""
        kinds = "AsyncConnection", "AsyncSession", "async_scoped_session"
        found = _is_any_of(source, *(f"sqlalchemy.ext.asyncio.{kind}" for kind in kinds))
        return cls(source) if found else None

    async def rows(self, statement: Statement[Any], prepare: bool | None) -> Rows:
        """What the statement gives."""
        run = partial(_rows, statement=statement, prepare=prepare)
        found: Rows = await _session(self.source).run_sync(run)
        return found

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A savepoint; a transaction where the connection is in AUTOCOMMIT."""
        source = _session(self.source)
        driver: Any = await source.run_sync(lambda own: _driver(_connection(own)))
        block = driver.transaction() if driver.autocommit else source.begin_nested()
        with _rolled_back():
            async with block:
                yield
