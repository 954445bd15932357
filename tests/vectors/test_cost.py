"""What semantic recall touches beside what others hold.

An agent with few records costs what it has, whatever others have. Many records are found by the one
index of the model, in which others stand too: reading on until enough of one's own have come grows
with their share, and is bounded where sorting one's own costs less.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.calls import rows
from tests.support.server import Server
from tests.vectors.conftest import DIMENSIONS, MODEL, direction, fill, need_pgvector, vector

Connection = psycopg.Connection[Any]
OTHERS = (1_500, 6_000)
STRATEGIES = ("semantic", "hybrid")


@pytest.fixture(scope="module")
def beside(server: Server, template: str) -> Iterator[list[Connection]]:
    """The same few and many records, beside few and many of others."""
    names, conns = [], []
    try:
        for others in OTHERS:
            names.append(f"test_vector_cost_{others}")
            dsn = server.create_database(names[-1], template)
            conn = psycopg.connect(dsn, autocommit=True)
            conns.append(conn)
            need_pgvector(conn)
            rows(conn, "enable_vectors", model=MODEL, dimensions=DIMENSIONS)
            dice = random.Random(3)
            fill(conn, dice, [("private", "acme", "few", [])] * 50)
            fill(conn, dice, [("private", "acme", "many", [])] * 1_500)
            strangers = (("private", "acme", "other"), ("public", "else", "few"))
            fill(conn, dice, [(*strangers[n % 2], []) for n in range(others)])
            conn.execute("VACUUM ANALYZE")
        yield conns
    finally:
        for conn in conns:
            conn.close()
        for name in names:
            server.drop_database(name)


def blocks(conn: Connection, agent: str, strategy: str) -> int:
    """The most blocks of a few recalls in a warm session; no table is scanned."""
    dice = random.Random(4)
    most = 0
    for attempt in range(6):
        explained = conn.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM mnemo.recall(NULL,"
            " p_strategy => %s, p_embedding => %s, p_agent_id => %s, p_org_id => 'acme')",
            [strategy, vector(direction(dice)), agent], prepare=False,
        ).fetchone()  # fmt: skip
        assert explained is not None
        plan = explained[0][0]["Plan"]
        assert plan["Actual Rows"] == 10
        if attempt:
            most = max(most, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    return most


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_few_cost_what_they_are(beside: list[Connection], strategy: str) -> None:
    few, many = (blocks(conn, "few", strategy) for conn in beside)
    assert few < 1_500
    assert many < 1.3 * few


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_are_found_by_the_index(beside: list[Connection], strategy: str) -> None:
    """Far fewer blocks than a look at each of them."""
    few, many = (blocks(conn, "many", strategy) for conn in beside)
    assert few < 4_500
    # The agent's share fell from a half to a fifth, and the index is read again from its start.
    assert many < 5 * few


def test_no_table_is_scanned_and_the_index_is_read(beside: list[Connection]) -> None:
    conn = beside[-1]
    scans = (
        "SELECT (SELECT sum(seq_scan) FROM pg_stat_xact_user_tables WHERE schemaname = 'mnemo'"
        " AND (relname = 'memory' OR relname ~ '^vectors_')), (SELECT pg_stat_get_xact_numscans("
        " c.oid) FROM pg_class AS c WHERE c.relname ~ '^vectors_.{16}_embedding_idx$')"
    )
    for agent, reads in (("few", False), ("many", True)):
        with conn.transaction(force_rollback=True):
            before = conn.execute(scans).fetchone()
            rows(conn, "recall", query=None, strategy="semantic", agent_id=agent, org_id="acme",
                 embedding=vector(direction(random.Random(5))))  # fmt: skip
            after = conn.execute(scans).fetchone()
        assert before is not None
        assert after is not None
        assert after[0] == before[0]
        assert (after[1] > before[1]) == reads
