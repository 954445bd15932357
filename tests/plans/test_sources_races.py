"""Reports of chunks from several connections at once, and how little of them a recall reads."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString, cast

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import row, rows, scalar, value
from tests.support.reuse import emptied

WHO = {"agent_id": "ann", "org_id": "acme"}


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    with emptied(module_dsn) as conn:
        yield conn


@pytest.mark.parametrize("times", [60, pytest.param(5_000, marks=pytest.mark.long)])
def test_opposite_orders_do_not_deadlock(
    db: psycopg.Connection, module_dsn: str, times: int
) -> None:
    """Nor do new ids among known ones, repetitions, or a table that reports in its own order."""
    db.execute("CREATE TABLE chunk (id text PRIMARY KEY, n int)")
    db.execute("INSERT INTO chunk SELECT 'c' || n, 0 FROM generate_series(0, 39) AS n")
    value(db, "watch_table", table="chunk", id_column="id", **WHO)
    ready = threading.Barrier(3)

    def report(number: int) -> int:
        chooser = random.Random(number)
        done = 0
        with psycopg.connect(module_dsn, autocommit=True) as conn:
            ready.wait()
            for turn in range(times):
                ids = [f"c{n}" for n in range(40)] + [f"t{turn}-{n}" for n in range(5)]
                chooser.shuffle(ids)
                if number == 2:
                    order = "ASC" if turn % 2 else "DESC"
                    conn.execute(cast(LiteralString, "UPDATE chunk SET n = n + 1 WHERE id IN"
                                      f" (SELECT id FROM chunk ORDER BY id {order})"))  # fmt: skip
                else:
                    row(conn, "invalidate_chunks", ids=ids[:: 1 - 2 * number] + ids[:3], **WHO)
                done += 1
        return done

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(report, range(3))) == [times] * 3
    assert (
        scalar(db, "SELECT min(version) FROM mnemo.chunk_state WHERE chunk_id ~ '^c'") == 3 * times
    )
    assert (
        scalar(db, "SELECT count(*) FROM mnemo.event WHERE event_type = 'plan_stale'") == 3 * times
    )
    db.execute("DROP TABLE chunk")


def calls(conn: psycopg.Connection, statement: str, *given: Any) -> int:
    """How often a statement asked whether a plan is stale."""
    with conn.transaction():
        conn.execute("SET LOCAL track_functions = 'all'")
        before = _counted(conn)
        conn.execute(cast(LiteralString, statement), given or None)
        return _counted(conn) - before


def _counted(conn: psycopg.Connection) -> int:
    return int(scalar(conn, "SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions"
                      " WHERE funcname = '_is_stale'"))  # fmt: skip


def test_recall_looks_at_the_chunks_of_the_best_alone(db: psycopg.Connection) -> None:
    """Not at all for a plan without chunks that is asked by its text; one with chunks is looked at
    by the statement that finds it."""
    value(db, "configure", name="merge_plans", value="off")
    words = [c + v + "lk" for c in "bdfgkmpr" for v in "aeiou"]
    elements = [
        {"query": f"where do I find the manual of the large {word}", "steps": [], "scope": "public",
         "chunk_ids": ["c1", f"c {word}"], "outcome_score": 0.9, **WHO}
        for word in words for _ in range(5)
    ]  # fmt: skip
    rows(db, "remember_plans", plans=Jsonb(elements))
    row(
        db, "remember_plan", query="who has the key", steps=[], chunk_ids=[], outcome_score=1, **WHO
    )
    asked = "SELECT FROM mnemo.recall_plan(%s, 'bob', 'acme')"
    assert calls(db, "SELECT FROM mnemo.recall_plan('who has the key', 'ann', 'acme')") == 0
    assert calls(db, asked, elements[0]["query"]) == 0
    assert calls(db, asked, "where do I find the manual of the large printer") == 1
    rows(db, "invalidate_chunks", ids=[f"c {words[0]}", f"c {words[1]}"], **WHO)
    # Ten of two hundred are stale: at most those come before one that is not.
    near = calls(db, asked, "where do I find the manual of the large printer")
    assert 1 <= near <= 11
    assert calls(db, asked, elements[-1]["query"]) == 0
