"""A server to kill, with databases that have mnemo_pg."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.support.crash import DURABLE
from tests.support.installs import install
from tests.support.server import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def durable() -> Iterator[Server]:
    """A server that keeps what it has acknowledged; its database `mnemo` is there to clone."""
    with Server(settings=DURABLE) as running:
        running.create_database("mnemo")
        install(running, "mnemo", "psql")
        with running.connect("mnemo") as conn:
            conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        yield running


@pytest.fixture
def store(durable: Server) -> Iterator[str]:
    """The name of a fresh database on that server."""
    name = f"store_{next(_numbers)}"
    durable.create_database(name, "mnemo")
    yield name
    durable.drop_database(name)
