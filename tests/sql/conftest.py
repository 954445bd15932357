"""A transaction for tests that need no database of their own: cheaper than a clone."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.server import Server


@pytest.fixture(scope="session")
def common(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """A connection to a database of its own, in which nothing is committed.

    One for all tests, because the functions of a fresh session are compiled anew.
    """
    with psycopg.connect(server.create_database("test_common", template)) as conn:
        yield conn
    server.drop_database("test_common")


@pytest.fixture
def tx(common: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection in a transaction that is rolled back after the test."""
    common.execute("SELECT 1")
    yield common
    common.rollback()
