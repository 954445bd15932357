"""SQLAlchemy 2: the clients' own tests on its sources, and whose transaction it is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import create_async_engine

from mnemo_pg import (
    AccessError,
    ArgumentError,
    AsyncMnemo,
    Mnemo,
    NotFoundError,
    NotInstalledError,
    UnavailableError,
    UnsupportedError,
)
from tests.client.conftest import done

# The same tests as for psycopg's connections, with the fixtures of this folder.
from tests.client.test_client import (  # noqa: F401
    test_a_look_alike_is_refused_named_and_explained,
    test_administration_and_pure_functions,
    test_batch_skip,
    test_guard_tokens,
    test_memories,
    test_plans,
    test_private_plans_are_their_owners,
)
from tests.integrations.conftest import AlchemySide, url
from tests.support.calls import value
from tests.support.reuse import emptied

Db = psycopg.Connection[Any]
PLAN = ("how do I reset my password", ["open settings", "choose reset"], ["kb-17"], 0.92)
BOTH = pytest.mark.parametrize("kind", ["connection", "session"])


class Base(orm.DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    words: orm.Mapped[str]
    org_id: orm.Mapped[str | None]
    memory_id: orm.Mapped[UUID | None]


@pytest.fixture
def dsn(module_dsn: str) -> Iterator[str]:
    """The emptied database."""
    with emptied(module_dsn):
        yield module_dsn


def memories(db: Db) -> list[str]:
    return [row[0] for row in db.execute("SELECT content FROM mnemo.memory ORDER BY id")]


async def rows(source: Any, sql: str) -> list[Any]:
    return [tuple(row) for row in await done(source.execute(sa.text(sql)))]


async def remember_nothing(m: Any) -> None:
    async with m.transaction() as tx:
        await tx.remember("lost")
        await tx.remember("")


async def remember_and_raise(m: Any, error: BaseException) -> None:
    async with m.transaction() as tx:
        await tx.remember("lost")
        raise error


# Whose transaction it is


@BOTH
async def test_calls_are_part_of_the_callers_transaction(
    side: AlchemySide, db: Db, kind: str
) -> None:
    """Nothing is committed before the caller does; what the caller rolls back is gone."""
    source = await side.source(kind)
    m = side.client(source)
    await m.remember("lost")
    assert source.in_transaction()
    assert memories(db) == []
    await done(source.rollback())
    await m.remember("kept")
    # The caller's own statements see it, in the same transaction.
    assert await rows(source, "SELECT content FROM mnemo.memory") == [("kept",)]
    await m.close()
    assert memories(db) == []
    await done(source.commit())
    assert memories(db) == ["kept"]


@BOTH
async def test_in_the_callers_own_block(side: AlchemySide, db: Db, kind: str) -> None:
    source = await side.source(kind)
    if side.name == "sync":
        with source.begin():
            await side.client(source).remember("kept")
            assert memories(db) == []
    else:
        async with source.begin():
            await side.client(source).remember("kept")
            assert memories(db) == []
    assert memories(db) == ["kept"]
    assert not source.in_transaction()


@BOTH
async def test_a_block_is_a_savepoint(side: AlchemySide, db: Db, kind: str) -> None:
    """It keeps what came before, nests, and leaves the commit to the caller."""
    source = await side.source(kind)
    m = side.client(source)
    await m.remember("before")
    async with m.transaction() as tx:
        await tx.remember("inside")
        with pytest.raises(ArgumentError):
            await remember_nothing(tx)
    with pytest.raises(ZeroDivisionError):
        await remember_and_raise(m, ZeroDivisionError())
    await remember_and_raise(m, psycopg.Rollback())
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await tx.version()
    assert await rows(source, "SELECT content FROM mnemo.memory ORDER BY id") == [
        ("before",), ("inside",),
    ]  # fmt: skip
    assert memories(db) == []
    await done(source.commit())
    assert memories(db) == ["before", "inside"]


async def test_a_block_in_autocommit_is_a_transaction(side: AlchemySide, db: Db) -> None:
    m = side.client(await side.source("autocommit"))
    await m.remember("at once")
    assert memories(db) == ["at once"]
    async with m.transaction() as tx:
        await tx.remember("kept")
        with pytest.raises(ZeroDivisionError):
            await remember_and_raise(tx, ZeroDivisionError())
        assert memories(db) == ["at once"]
    with pytest.raises(ZeroDivisionError):
        await remember_and_raise(m, ZeroDivisionError())
    assert memories(db) == ["at once", "kept"]


async def test_a_block_of_a_session_takes_its_objects_along(side: AlchemySide) -> None:
    """The savepoint is the session's: what is rolled back is not in its objects either."""
    session = await side.session()
    create = "CREATE TABLE note (id integer PRIMARY KEY, words text, org_id text, memory_id uuid)"
    await done(session.execute(sa.text(create)))
    note = Note(id=1, words="as it was")
    session.add(note)
    await done(session.flush())
    async with side.client(session).transaction() as tx:
        await tx.remember("lost")
        note.words = "changed"
        await done(session.flush())
        raise psycopg.Rollback
    await done(session.refresh(note))
    assert note.words == "as it was"
    assert await side.client(session).recall("") == []


# Errors


@BOTH
async def test_errors_are_the_same(side: AlchemySide, kind: str) -> None:
    """The exceptions of the wrapper; SQLAlchemy's are the cause, the driver's are in there."""
    source = await side.source(kind)
    m = side.client(source)
    with pytest.raises(NotFoundError) as missing:
        await m.get_plan(UUID(int=7))
    assert missing.value.sqlstate == "MN001"
    cause = missing.value.__cause__
    assert isinstance(cause, sa.exc.DBAPIError)
    assert isinstance(cause.orig, psycopg.Error)
    await done(source.rollback())
    with pytest.raises(ArgumentError) as caught:
        await m.remember("x", importance=7)
    assert (caught.value.sqlstate, caught.value.parameter) == ("22023", "importance")
    assert caught.value.hint


@BOTH
async def test_an_error_leaves_the_transaction_to_its_owner(
    side: AlchemySide, db: Db, kind: str
) -> None:
    source = await side.source(kind)
    m = side.client(source)
    with pytest.raises(ArgumentError):
        await m.remember("")
    assert source.in_transaction()
    with pytest.raises(sa.exc.DBAPIError, match="current transaction is aborted"):
        await m.version()
    await done(source.rollback())
    await m.remember("kept")
    await done(source.commit())
    assert memories(db) == ["kept"]


async def test_no_mnemo_pg_no_access_and_the_callers_own_errors(side: AlchemySide, db: Db) -> None:
    source = await side.connect()
    m = side.client(source)

    async def fail() -> None:
        async with m.transaction():
            raises = "DO $$ BEGIN RAISE 'somebody' USING ERRCODE = '22023'; END $$"
            await done(source.exec_driver_sql(raises))

    # What the caller's own statement raises in a block stays, even if the code is one of ours.
    with pytest.raises(sa.exc.DBAPIError, match="somebody"):
        await fail()
    role = "alchemy_without_level"
    db.execute(f"CREATE ROLE {role}")
    try:
        await done(source.exec_driver_sql(f"SET LOCAL ROLE {role}"))
        with pytest.raises(AccessError, match="mnemo"):
            await m.recall("")
        await done(source.rollback())
    finally:
        db.execute(f"DROP ROLE {role}")
    await done(source.exec_driver_sql("DROP EXTENSION IF EXISTS mnemo_pg"))
    await done(source.exec_driver_sql("DROP SCHEMA IF EXISTS mnemo CASCADE"))
    with pytest.raises(NotInstalledError):
        await m.version()
    await done(source.rollback())


@BOTH
async def test_a_lost_connection(side: AlchemySide, db: Db, kind: str) -> None:
    """A typed error; SQLAlchemy notices, so that its pool does not give it out again."""
    source = await side.source(kind)
    m = side.client(source)
    await m.remember("lost")
    ((backend,),) = await rows(source, "SELECT pg_backend_pid()")
    assert value(db, "version")
    db.execute("SELECT pg_terminate_backend(%s, 10000)", (backend,))
    with pytest.raises(UnavailableError) as caught:
        await m.remember("lost too")
    assert isinstance(caught.value.__cause__, sa.exc.DBAPIError)
    assert caught.value.__cause__.connection_invalidated
    await done(source.rollback())
    await m.remember("kept")
    await done(source.commit())
    assert memories(db) == ["kept"]


def test_other_drivers_and_databases(dsn: str) -> None:
    for engine in (sa.create_engine(url(dsn, "psycopg2")), sa.create_engine("sqlite://")):
        with engine.connect() as connection, orm.Session(engine) as session:
            for source in (connection, session):
                with pytest.raises(UnsupportedError, match="psycopg 3") as caught:
                    Mnemo(source).version()
                assert f"{engine.dialect.name}+{engine.dialect.driver}" in str(caught.value)
                assert caught.value.parameter == "source"
                assert "postgresql+psycopg://" in str(caught.value.hint)
                with pytest.raises(UnsupportedError), Mnemo(source).transaction():
                    pass
        engine.dispose()


async def test_another_asynchronous_driver(dsn: str) -> None:
    engine = create_async_engine(url(dsn, "asyncpg"))
    async with engine.connect() as connection:
        with pytest.raises(UnsupportedError, match=r"psycopg 3.*postgresql\+asyncpg"):
            await AsyncMnemo(connection).version()
        with pytest.raises(UnsupportedError):
            async with AsyncMnemo(connection).transaction():
                pass
    await engine.dispose()


async def test_not_a_source(dsn: str) -> None:
    """An engine, and the other client's kind."""
    engine = sa.create_engine(url(dsn))
    other = create_async_engine(url(dsn))
    with engine.connect() as connection:
        for source in (engine, other, other.connect()):
            with pytest.raises(TypeError, match=f"Session of SQLAlchemy.*{type(source).__name__}"):
                Mnemo(source)  # type: ignore[arg-type]
        for wrong in (engine, other, connection):
            with pytest.raises(TypeError, match=f"Session of SQLAlchemy.*{type(wrong).__name__}"):
                AsyncMnemo(wrong)  # type: ignore[arg-type]


# A caller's connection


class TextAsBytes(psycopg.adapt.Loader):
    """Somebody's own idea of what text is."""

    def load(self, data: Any) -> bytes:
        return bytes(data)


async def test_answers_do_not_depend_on_the_connection(side: AlchemySide) -> None:
    """Nor on its settings, nor on loaders that somebody registered for text."""
    answers = []
    options: dict[str, Any]
    for options in (
        {},
        {"connect_args": {"options": "-c DateStyle=German -c extra_float_digits=-10"}},
        {"connect_args": {"options": "-c bytea_output=escape -c TimeZone=Asia/Kolkata"}},
        {"connect_args": {"prepare_threshold": 0}},
        {"connect_args": {"prepare_threshold": None}},
    ):
        connection = await side.connect(**options)
        driver = (
            connection.connection.driver_connection
            if side.name == "sync"
            else (await connection.get_raw_connection()).driver_connection
        )
        driver.adapters.register_loader("uuid", TextAsBytes)
        driver.adapters.register_loader("timestamptz", TextAsBytes)
        m = side.client(connection)
        memory = await m.remember("x", importance=1 / 3, metadata={"a": [1, 0.1, None]})
        (kept,) = await m.get_memories([memory.id])
        answers.append((type(memory.id), kept.created_at.tzinfo, kept.importance, kept.metadata))
        assert kept.content_hash == memory.content_hash
        await done(connection.rollback())
    assert len(set(map(repr, answers))) == 1
    assert answers[0][2] == 1 / 3
    assert answers[0][3] == {"a": [1, 0.1, None]}


async def test_nothing_of_a_callers_connection_changes(side: AlchemySide) -> None:
    settings = "SELECT name, setting FROM pg_settings WHERE name NOT LIKE '%.%' ORDER BY name"
    connection = await side.connect()
    before = await rows(connection, settings)
    raw = connection.connection if side.name == "sync" else await connection.get_raw_connection()
    driver = raw.driver_connection
    factories = driver.row_factory, driver.cursor_factory
    m = side.client(connection)
    await m.remember_plan(*PLAN)
    with pytest.raises(ArgumentError):
        await remember_nothing(m)
    assert (driver.row_factory, driver.cursor_factory) == factories
    assert await rows(connection, settings) == before
    # Text as before: SQLAlchemy's own statements have cursors of their own kind.
    cursor = (await done(connection.exec_driver_sql("SELECT 1"))).cursor
    assert cursor is None or "mnemo" not in type(cursor).__module__


def test_listeners_see_the_statements(dsn: str) -> None:
    """Whatever watches an engine, such as its echo and tracing; and its own statements are text."""
    engine = sa.create_engine(url(dsn))
    seen: list[tuple[str, Any]] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def before(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        seen.append((statement, parameters))
        if "recall_plan" in statement:
            # By now the connection makes cursors as it always did.
            assert connection.connection.driver_connection.cursor_factory is psycopg.Cursor
            assert connection.exec_driver_sql("SELECT now()").scalar_one().tzinfo

    with engine.connect() as connection:
        Mnemo(connection, agent_id="ada").recall_plan("anything")
    assert [parameters["p_agent_id"] for text, parameters in seen if "mnemo." in text] == ["ada"]
    engine.dispose()


def test_prepare_is_heeded(dsn: str) -> None:
    engine = sa.create_engine(url(dsn))
    with engine.connect() as connection:
        names = sa.text("SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'version'")
        for prepare, expected in ((False, 0), (None, 1)):
            for _ in range(7):
                Mnemo(connection, prepare=prepare).version()
            assert connection.execute(names).scalar_one() == expected
    engine.dispose()


def test_a_factory_of_rows_does_not_matter(dsn: str) -> None:
    """SQLAlchemy itself reads rows by position."""
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.row_factory = dict_row
        assert Mnemo(connection).version()
    engine.dispose()


async def test_sessions_of_tasks(dsn: str) -> None:
    """One session a task, each in its own transaction."""
    engine = create_async_engine(url(dsn), pool_size=4)

    async def work(number: int) -> int:
        async with engine.connect() as connection:
            m = AsyncMnemo(connection, agent_id=f"agent-{number}")
            for _ in range(3):
                await m.remember(f"of {number}")
            found = await m.recall("")
            await connection.commit()
            return len([hit for hit in found if hit.content == f"of {number}"])

    assert await asyncio.gather(*map(work, range(8))) == [3] * 8
    await engine.dispose()


def test_nobody_needs_sqlalchemy() -> None:
    """The package neither imports it nor needs it."""
    code = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import mnemo_pg\n"
        "try: mnemo_pg.Mnemo(object())\n"
        "except TypeError as error: print(error)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "not object" in printed


# Models that refer to memories, as docs/sqlalchemy.md says


def test_a_foreign_key_of_the_owners(dsn: str, db: Db) -> None:
    """No level may refer to our table. The owner can make the key; then no privilege is needed to
    insert, the other organisation's id is refused, and what is forgotten is still referred to."""
    names = [f"alchemy_{level}" for level in ("application", "tenant", "admin")]
    for name in names:
        db.execute(f"CREATE ROLE {name}")  # type: ignore[arg-type]
        db.execute("SELECT mnemo.grant_access(%s, %s)", (name, name.removeprefix("alchemy_")))
        may = "SELECT has_any_column_privilege(%s, 'mnemo.memory', 'REFERENCES')"
        assert db.execute(may, (name,)).fetchone() == (False,)
    engine = sa.create_engine(url(dsn))
    try:
        with engine.begin() as connection:
            backend = names[0]
            Base.metadata.create_all(connection)
            connection.exec_driver_sql(f"ALTER TABLE note OWNER TO {backend}")
            connection.exec_driver_sql(
                "ALTER TABLE note ADD FOREIGN KEY (org_id, memory_id)"
                " REFERENCES mnemo.memory (org_id, id)"
            )
        with orm.Session(engine) as session:
            session.execute(sa.text(f"SET LOCAL ROLE {backend}"))
            m = Mnemo(session, agent_id="ada", org_id="acme")
            kept = m.remember("to be referred to")
            session.add(Note(id=1, words="x", org_id="acme", memory_id=kept.id))
            session.flush()
            with pytest.raises(sa.exc.IntegrityError), session.begin_nested():
                session.add(Note(id=2, words="x", org_id="other", memory_id=kept.id))
            m.forget([kept.id])
            assert m.get_memories([kept.id]) == []
            session.commit()
        with orm.Session(engine) as session:
            assert session.scalars(sa.select(Note.memory_id)).all() == [kept.id]
    finally:
        engine.dispose()
        db.execute("DROP TABLE IF EXISTS note")
        for name in names:
            db.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")  # type: ignore[arg-type]
