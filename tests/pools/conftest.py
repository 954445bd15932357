"""Both clients, directly and behind PgBouncer, and what they must leave behind: nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import psycopg
import pytest

from tests.client.conftest import Side
from tests.support.calls import scalar
from tests.support.pgbouncer import PgBouncer, pgbouncer, program
from tests.support.server import Server

ROLES = ("pool_app", "pool_acme", "pool_globex", "pool_none")

_OPEN = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND backend_type = 'client backend' AND (state <> 'idle' OR xact_start IS NOT NULL)
"""


def open_work(db: psycopg.Connection) -> int:
    """How many sessions of the database, this one aside, are in a call or a transaction and stay
    so: a pool may just be making itself whole."""
    end = time.monotonic() + 5
    while (found := int(scalar(db, _OPEN))) and time.monotonic() < end:
        pass
    return found


@pytest.fixture(scope="module")
def bouncer(server: Server) -> Iterator[PgBouncer]:
    """PgBouncer in transaction mode; its database `forced` leads everyone in as pool_app."""
    if program() is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    with pgbouncer(server, ROLES, forced="pool_app") as running:
        yield running


@pytest.fixture(params=["sync", "async"])
async def pooled(
    request: pytest.FixtureRequest, bouncer: PgBouncer, db: psycopg.Connection
) -> AsyncIterator[Side]:
    """Either kind of client on a fresh database, behind PgBouncer."""
    async with AsyncExitStack() as stack:
        yield Side(request.param, bouncer.dsn(db.info.dbname), stack)


@pytest.fixture(params=["sync", "async"])
async def side(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[Side]:
    """Either kind of client on a fresh database, directly."""
    async with AsyncExitStack() as stack:
        yield Side(request.param, dsn, stack)
