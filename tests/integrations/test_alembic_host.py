"""Alembic in an application, as docs/sqlalchemy.md sets it up: with the files of that page."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import alembic as alembic_package
import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from mnemo_pg import migrations
from mnemo_pg.source import default_version
from tests.docs.test_examples import blocks
from tests.install import snapshot
from tests.integrations.conftest import url
from tests.support.server import ROOT, Server

PAGE = (ROOT / "docs" / "sqlalchemy.md").read_text("utf-8")
FILES = {block.name: block.text for block in blocks(PAGE) if block.name}
MODELS = """
import os

from sqlalchemy import Column, Integer, MetaData, Table, Uuid
from sqlalchemy.orm import declarative_base

URL = os.environ.get("SHOP_URL")
Base = declarative_base()
Table("ticket", Base.metadata, Column("id", Integer, primary_key=True), Column("memory_id", Uuid))
"""
Alembic = Callable[..., str]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of the wheel, as an install puts them into a folder."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The application: the page's files, and models."""
    for name in ("alembic.ini", "migrations/env.py", "migrations/versions/shop_0001.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name] + "\n", "utf-8")
    (tmp_path / "models.py").write_text(MODELS, "utf-8")
    templates = Path(alembic_package.__file__).parent / "templates"
    shutil.copy(templates / "generic" / "script.py.mako", tmp_path / "migrations")
    return tmp_path


@pytest.fixture
def alembic(package: Path, shop: Path) -> Alembic:
    """The command in the application's folder, with the package from the wheel."""

    def run(dsn: str, *arguments: str, code: int = 0) -> str:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PG")},
            "PYTHONPATH": f"{package}:{shop}",
            "SHOP_URL": url(dsn).render_as_string() if dsn else "",
        }
        done = subprocess.run(
            [sys.executable, "-W", "error::sqlalchemy.exc.SAWarning", "-m", "alembic", *arguments],
            cwd=shop, env=environment, text=True, check=False,
            capture_output=True,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    return run


def tables(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as conn:
        found = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in found}


def revisions(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as conn:
        found = conn.execute("SELECT version_num FROM public.alembic_version ORDER BY 1")
        return [name for (name,) in found]


def test_the_package_is_the_wheels(package: Path) -> None:
    """The tests below would prove little on the checkout."""
    code = "import mnemo_pg.migrations as m; print(m.__file__); print(m.versions_folder())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(package)}, cwd="/",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    file, folder = done.stdout.split()
    assert Path(file).is_relative_to(package)
    assert Path(folder) == package / "mnemo_pg" / "_alembic" / "versions"
    assert migrations.versions_folder() == ROOT / "alembic" / "versions"


def test_up_autogenerate_and_down(alembic: Alembic, empty_dsn: str, shop: Path) -> None:
    """One history, in which neither side gets in the way of the other."""
    alembic(empty_dsn, "upgrade", "heads")
    assert revisions(empty_dsn) == ["shop_0001"]
    with psycopg.connect(empty_dsn) as conn:
        assert conn.execute("SELECT mnemo.version()").fetchone() == (default_version(),)
        setting = "SELECT mnemo.setting('experience_memory')"
        assert conn.execute(setting).fetchone() == ("on",)
    assert "No new upgrade operations" in alembic(empty_dsn, "check")
    models = (shop / "models.py").read_text("utf-8")
    more = 'Table("more", Base.metadata, Column("id", Integer))\n'
    (shop / "models.py").write_text(models + more, "utf-8")
    alembic(empty_dsn, "revision", "--autogenerate", "--head", "shop@head", "--rev-id", "shop_0002")
    (made,) = (shop / "migrations" / "versions").glob("shop_0002*.py")
    text = made.read_text("utf-8")
    assert re.search(r"^down_revision\b.*= ['\"]shop_0001['\"]$", text, re.MULTILINE)
    assert text.count("op.") == 2
    assert "create_table('more'" in text
    # Refused on the way: what came before it is undone too, and the memories are there.
    said = alembic(empty_dsn, "downgrade", "base", code=1)
    assert "-x mnemo_drop=yes" in said
    assert revisions(empty_dsn) == ["shop_0001"]
    assert tables(empty_dsn) == {"alembic_version", "ticket"}
    alembic(empty_dsn, "downgrade", "shop@base")
    assert revisions(empty_dsn) == ["mnemo_0001"]
    alembic(empty_dsn, "-x", "mnemo_drop=yes", "downgrade", "base")
    with psycopg.connect(empty_dsn) as conn:
        assert conn.execute("SELECT to_regnamespace('mnemo')").fetchone() == (None,)


def test_offline_equals_online(
    alembic: Alembic, empty_dsn: str, server: Server, template: str, shop: Path
) -> None:
    """The printed script through psql, against an online upgrade: catalogs and rows."""
    text = alembic("", "upgrade", "heads", "--sql")
    script = server.folder / "host.sql"
    script.write_text(text, "utf-8")
    script.chmod(0o644)
    server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, empty_dsn)
    online = server.create_database("host_online")
    try:
        alembic(online, "upgrade", "heads")
        assert snapshot.differences(snapshot.take(online), snapshot.take(empty_dsn)) == []
        assert snapshot.strays(online) == snapshot.strays(empty_dsn)
        assert revisions(online) == revisions(empty_dsn) == ["shop_0001"]
        with psycopg.connect(online) as one, psycopg.connect(empty_dsn) as two:
            rows = "SELECT name, value FROM mnemo.settings"
            assert one.execute(rows).fetchall() == two.execute(rows).fetchall() != []
    finally:
        server.drop_database("host_online")


# What autogenerate sees


@pytest.fixture
def compared(dsn: str) -> Iterator[Callable[..., list[Any]]]:
    """Compares models with the database; the differences, by their kind and name."""
    engine = sa.create_engine(url(dsn))

    def compare(metadata: sa.MetaData, warn: Any = "error", **options: Any) -> list[Any]:
        with engine.connect() as connection, warnings.catch_warnings():
            warnings.simplefilter(warn, sa.exc.SAWarning)
            context = MigrationContext.configure(connection, opts=options)
            return [(found[0], found[1].name) for found in compare_metadata(context, metadata)]

    yield compare
    engine.dispose()


def memory_stub(metadata: sa.MetaData) -> sa.Table:
    """What a model needs to name a foreign key to ours."""
    columns = (
        sa.Column("org_id", sa.Text, primary_key=True),
        sa.Column("id", sa.Uuid, primary_key=True),
    )
    return sa.Table("memory", metadata, *columns, schema="mnemo")


def referring(metadata: sa.MetaData) -> sa.Table:
    key = sa.ForeignKeyConstraint(["org", "memory"], ["mnemo.memory.org_id", "mnemo.memory.id"])
    return sa.Table("note", metadata, sa.Column("org", sa.Text), sa.Column("memory", sa.Uuid), key)


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("in_model", [True, False])
def test_autogenerate_sees_nothing_of_ours(
    compared: Callable[..., list[Any]], db: psycopg.Connection, schemas: bool, in_model: bool
) -> None:
    """Neither the schema, nor pgvector's objects, nor our environment's version table, nor a
    foreign key to ours, whether the models know of it or not."""
    available = "SELECT FROM pg_available_extensions WHERE name = 'vector'"
    if db.execute(available).fetchone():
        db.execute("CREATE SCHEMA vectors; CREATE EXTENSION vector SCHEMA vectors")
        db.execute(
            "CREATE TABLE mnemo.of_a_model (id uuid PRIMARY KEY, embedding vectors.vector(3))"
        )
        db.execute("CREATE INDEX ON mnemo.of_a_model USING hnsw (embedding vectors.vector_l2_ops)")
    else:
        db.execute("CREATE SCHEMA vectors; CREATE TABLE mnemo.of_a_model (id uuid)")
    db.execute(
        "CREATE TABLE alembic_version (version_num text); CREATE TABLE shops_own (id integer)"
    )
    db.execute(
        "CREATE TABLE note (org text, memory uuid,"
        " FOREIGN KEY (org, memory) REFERENCES mnemo.memory (org_id, id))"
    )
    metadata = sa.MetaData()
    if in_model:
        memory_stub(metadata)
        referring(metadata)
    else:
        sa.Table("note", metadata, sa.Column("org", sa.Text), sa.Column("memory", sa.Uuid))
    options = {"include_schemas": schemas, "version_table": "shop_version"}
    found = compared(metadata, **options, **migrations.autogenerate_filters())
    assert found == [("remove_table", "shops_own")]
    if schemas and not in_model:
        without = compared(metadata, warn="ignore", **options)
        assert {"memory", "alembic_version", "of_a_model"} <= {name for _, name in without}


def test_the_applications_own_filters_hold_for_the_rest(
    compared: Callable[..., list[Any]], db: psycopg.Connection
) -> None:
    db.execute("CREATE SCHEMA shop; CREATE SCHEMA other")
    for name in ("shop.seen", "shop.hidden", "shop.unwanted", "other.hidden"):
        db.execute(f"CREATE TABLE {name} (id integer)")  # type: ignore[arg-type]
    asked: list[tuple[Any, ...]] = []

    def include_name(name: str | None, kind: str, parents: Any) -> bool:
        asked.append((kind, name, dict(parents)))
        return name in (None, "shop") if kind == "schema" else name != "hidden"

    def include_object(item: Any, name: str | None, kind: str, reflected: bool, to: Any) -> bool:
        asked.append((kind, name, item))
        return name != "unwanted"

    filters = migrations.autogenerate_filters(
        include_name=include_name, include_object=include_object
    )
    assert compared(sa.MetaData(), include_schemas=True, **filters) == [("remove_table", "seen")]
    assert {("schema", "shop"), ("table", "seen"), ("table", "unwanted")} <= {
        (kind, name) for kind, name, _ in asked
    }
    assert [one for one in asked if "mnemo" in str(one)] == []


# How a revision runs


DRIVERS = ["psycopg", "psycopg2"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_later_revision_on_the_same_connection_is_as_ever(empty_dsn: str, driver: str) -> None:
    """What the script needs of the connection holds for the script alone: `%` and `:name`."""
    engine = sa.create_engine(url(empty_dsn, driver))
    with engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        migrations.run_script(operations, default_version())
        operations.execute("CREATE TABLE said AS SELECT '100%'::text AS words")
        operations.execute(sa.text("INSERT INTO said VALUES (:words)").bindparams(words="50%"))
    with psycopg.connect(empty_dsn) as conn:
        assert conn.execute("SELECT words FROM said ORDER BY 1").fetchall() == [("100%",), ("50%",)]
    engine.dispose()


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
def test_in_an_asynchronous_environment(
    empty_dsn: str, server: Server, template: str, driver: str
) -> None:
    """As `alembic init -t async` makes it; what fails later takes the script back."""

    def migrate(connection: sa.Connection) -> None:
        operations = Operations(MigrationContext.configure(connection))
        migrations.run_script(operations, default_version())

    async def run(fail: bool) -> None:
        engine = create_async_engine(url(empty_dsn, driver))
        try:
            async with engine.begin() as connection:
                await connection.run_sync(migrate)
                if fail:
                    raise ZeroDivisionError
        finally:
            await engine.dispose()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run(True))
    with psycopg.connect(empty_dsn) as conn:
        assert conn.execute("SELECT to_regnamespace('mnemo')").fetchone() == (None,)
    asyncio.run(run(False))
    if os.environ.get("MNEMO_TEST_INSTALL", "psql") != "extension":
        expected = snapshot.take(server.dsn(template))
        assert snapshot.differences(expected, snapshot.take(empty_dsn)) == []


def test_another_driver_is_refused_clearly(empty_dsn: str) -> None:
    engine = sa.create_engine(url(empty_dsn))
    engine.dialect.driver = "pg8000"
    with engine.connect() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with pytest.raises(RuntimeError, match=r"pg8000.*postgresql\+psycopg://.*--sql"):
            migrations.run_script(operations, default_version())
    engine.dispose()


# The pages' examples of tests

pytest_plugins = "pytester"


def test_the_pages_tests(
    pytester: pytest.Pytester, shop: Path, package: Path, server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """On a server that is named, with the application's migrations in the template."""
    for path in shop.rglob("*"):
        if path.is_file():
            target = pytester.path / path.relative_to(shop)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (pytester.path / "conftest.py").write_text(FILES["conftest.py"])
    (pytester.path / "test_shop.py").write_text(
        FILES["test_shop.py"] + "\n\n\ndef test_migrated(mnemo_dsn):\n"
        "    with create_engine(mnemo_dsn.replace('postgresql:', 'postgresql+psycopg:')).connect()"
        " as connection:\n"
        "        assert connection.execute(text('SELECT count(*) FROM ticket')).scalar() == 0\n"
    )
    for name in os.environ:
        if name.startswith(("PG", "MNEMO_", "PYTEST_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SHOP_TEST_SERVER", server.dsn())
    monkeypatch.setenv("PYTHONPATH", f"{package}:{pytester.path}")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)


def test_the_pages_other_server(pytester: pytest.Pytester) -> None:
    """Both of its fixtures are made; and the plugin can be left out."""
    (pytester.path / "conftest.py").write_text(FILES["conftest_postgresql.py"])
    pytester.makepyfile("def test_it(postgresql_proc, mnemo_server, mnemo): ...")
    result = pytester.runpytest_subprocess("--setup-plan")
    result.stdout.fnmatch_lines(["*SETUP    S postgresql_proc*", "*SETUP    S mnemo_server*"])
    (pytester.path / "conftest.py").unlink()
    pytester.makepyfile("def test_it(mnemo): ...")
    result = pytester.runpytest_subprocess("-p", "no:mnemo_pg", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*fixture 'mnemo' not found*")
