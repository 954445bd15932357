"""SQLAlchemy's four kinds of source, in the place of the clients' own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sa_asyncio

from tests.client.conftest import Side, done


def url(dsn: str, driver: str = "psycopg") -> sa.URL:
    """The same database for SQLAlchemy."""
    given = conninfo_to_dict(dsn)
    return sa.URL.create(
        f"postgresql+{driver}", username=str(given["user"]), database=str(given["dbname"]),
        query={"host": str(given["host"]), "port": str(given["port"])},
    )  # fmt: skip


class AlchemySide(Side):
    """One kind of client with SQLAlchemy's sources, all closed at the end of the test."""

    async def engine(self, driver: str = "psycopg", **options: Any) -> Any:
        kind: Any = sa.create_engine if self._sync else sa_asyncio.create_async_engine
        engine = kind(url(self.dsn, driver), **options)
        self._stack.push_async_callback(lambda: done(engine.dispose()))
        return engine

    async def connect(self, **options: Any) -> Any:
        """An open `Connection`, or `AsyncConnection`."""
        connection = (await self.engine(**options)).connect()
        if not self._sync:
            await connection.start()
        self._stack.push_async_callback(lambda: done(connection.close()))
        return connection

    async def session(self, **options: Any) -> Any:
        """A `Session`, or `AsyncSession`."""
        kind: Any = orm.Session if self._sync else sa_asyncio.AsyncSession
        session = kind(await self.engine(**options))
        self._stack.push_async_callback(lambda: done(session.close()))
        return session

    async def source(self, name: str) -> Any:
        """A source by name: connection, session, autocommit, registry."""
        if name == "session":
            return await self.session()
        if name == "registry":
            session = await self.session()
            if self._sync:
                return orm.scoped_session(lambda: session)
            return sa_asyncio.async_scoped_session(lambda: session, lambda: "one")  # type: ignore[arg-type, return-value]
        if name == "autocommit":
            return await self.connect(isolation_level="AUTOCOMMIT")
        return await self.connect()


@pytest.fixture(params=["sync", "async"])
async def side(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[AlchemySide]:
    """Either kind of client, on a fresh database."""
    async with AsyncExitStack() as stack:
        yield AlchemySide(request.param, dsn, stack)


@pytest.fixture(params=["connection", "session", "autocommit", "registry"])
async def m(request: pytest.FixtureRequest, side: AlchemySide) -> Any:
    """A client of either kind on each kind of source."""
    return side.client(await side.source(request.param))
