"""Servers and databases for the tests.

`MNEMO_TEST_PG` names the server's major version (default 18), or `MNEMO_TEST_PG_BIN` the folder of
its programs, and `MNEMO_TEST_INSTALL` how the database of most tests is installed: psql (default),
extension or alembic. Each test gets a clone of one installed database.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.installs import install, offer_extension
from tests.support.reuse import module_database
from tests.support.server import Server, in_memory

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server of this test session."""
    with Server(place=in_memory()) as running:
        offer_extension(running)
        yield running


@pytest.fixture(scope="session")
def template(server: Server) -> str:
    """A database with mnemo_pg installed and experience memory on, to clone from."""
    name = "template_mnemo"
    server.create_database(name)
    install(server, name, os.environ.get("MNEMO_TEST_INSTALL", "psql"))
    with server.connect(name) as conn:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    return name


@pytest.fixture
def dsn(server: Server, template: str) -> Iterator[str]:
    """A fresh database with mnemo_pg installed and experience memory on, as superuser."""
    name = f"test_{next(_numbers)}"
    yield server.create_database(name, template)
    server.drop_database(name)


@pytest.fixture(scope="module")
def module_dsn(server: Server, template: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """As `dsn`, one for all tests of a file, which empty it by `emptied`."""
    with module_database(
        server, template, f"{request.path.parent.name}_{request.path.stem}"
    ) as dsn:
        yield dsn


@pytest.fixture
def empty_dsn(server: Server) -> Iterator[str]:
    """A fresh database without mnemo_pg, as superuser."""
    name = f"test_{next(_numbers)}"
    yield server.create_database(name)
    server.drop_database(name)


@pytest.fixture
def db(dsn: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to the database of `dsn`."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn
