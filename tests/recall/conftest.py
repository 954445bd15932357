"""A transaction for tests that need no database of their own, and the words that the rules know."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.reference.lexical import Words
from tests.support.calls import scalar
from tests.support.server import Server


@pytest.fixture(scope="module")
def common(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """A connection to a database of the module's own, in which nothing is committed."""
    with psycopg.connect(server.create_database("test_recall_words", template)) as conn:
        yield conn
    server.drop_database("test_recall_words")


@pytest.fixture
def tx(common: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection in a transaction that is rolled back after the test."""
    common.execute("SELECT 1")
    yield common
    common.rollback()


def lists_of(conn: psycopg.Connection) -> Words:
    """The lists of words in the database."""
    return Words(
        frozenset(scalar(conn, "SELECT mnemo._stop_words()")),
        frozenset(scalar(conn, "SELECT mnemo._weak_words()")),
    )
