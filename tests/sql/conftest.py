"""A transaction for tests that need no database of their own: cheaper than a clone."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.server import Server


@pytest.fixture(scope="session")
def common_dsn(server: Server, template: str) -> Iterator[str]:
    """A database with mnemo_pg installed and experience memory on; nothing is committed to it."""
    yield server.create_database("test_common", template)
    server.drop_database("test_common")


@pytest.fixture
def tx(common_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection in a transaction that is rolled back after the test."""
    with psycopg.connect(common_dsn) as conn:
        conn.execute("SELECT 1")
        yield conn
        conn.rollback()
