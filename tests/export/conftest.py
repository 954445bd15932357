"""Two databases, a client of either kind, and rows of every sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Done, cli, nowhere
from tests.support.calls import contents
from tests.support.server import Server

__all__ = ["Done", "cli", "nowhere"]

_numbers = itertools.count(1)

# How the sums are spread over these tables depends on who wrote when.
STATISTICS = ("term_total", "term_frequency", "term_change")


def stored(conn: psycopg.Connection[Any]) -> dict[str, Any]:
    """What each table holds, and what the statistics of terms add up to."""
    found: dict[str, Any] = {k: v for k, v in contents(conn).items() if k not in STATISTICS}
    found["statistics"] = conn.execute(
        "SELECT org_id, NULL AS term, sum(records), sum(length) FROM (SELECT org_id, records,"
        " length FROM mnemo.term_total UNION ALL SELECT org_id, records, length FROM"
        " mnemo.term_change) AS t GROUP BY 1 HAVING sum(records) <> 0 UNION ALL SELECT org_id,"
        " term, sum(n), NULL FROM (SELECT org_id, term, records AS n FROM mnemo.term_frequency"
        " UNION ALL SELECT c.org_id, u.term, u.n FROM mnemo.term_change AS c,"
        " unnest(c.terms, c.counts) AS u(term, n)) AS f"
        " GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2"
    ).fetchall()
    return found


@pytest.fixture
def bare(server: Server, template: str) -> Iterator[Callable[[], str]]:
    """Makes databases with mnemo_pg and nothing in them; their connection strings."""
    made = []

    def make() -> str:
        name = f"bare_{next(_numbers)}"
        made.append(name)
        dsn = server.create_database(name, template)
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("TRUNCATE mnemo.settings")
            available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
            if conn.execute(available).fetchone() == (1,):
                conn.execute("CREATE EXTENSION vector")
        return dsn

    yield make
    for name in made:
        server.drop_database(name)


@pytest.fixture
def source(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection to a database to export from."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn
