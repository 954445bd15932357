"""retrieve and explain_retrieval beside a definition in Python: equal rows, ranks and reasons."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.retrieval.oracle import Plan, Store
from tests.retrieval.worlds import AGENTS, ORGS, fill, plans
from tests.support.calls import scalar
from tests.support.reuse import emptied


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """The database of this file, empty."""
    with emptied(module_dsn) as conn:
        yield conn


def run(conn: psycopg.Connection, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of `_retrieve`, which takes the time."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT * FROM mnemo._retrieve(%(plan)s, %(agent)s, %(org)s, %(limit)s, %(temporal)s,"
            " NULL, NULL, %(now)s, %(all)s)", arguments,
        ).fetchall()  # fmt: skip


def adds_up(row: dict[str, Any]) -> None:
    """The parts of a score are the score."""
    told = row["explanation"]
    assert told["score"] == row["score"]
    if row["score"] is None:
        assert told["rankings"] == {}
        return
    total = sum(part["contribution"] for part in told["rankings"].values())
    assert abs(total - told["fused"]) <= 1e-12
    for boost in told["boosts"].values():
        total *= boost
    # A score has nine decimals.
    assert abs(total - row["score"]) <= 0.6e-9


def compare(conn: psycopg.Connection, seed: int, number: int, size: int) -> Counter[str]:
    """Random plans over a random store; how often each verdict came."""
    r = fill(conn, seed, size)
    now = scalar(conn, "SELECT statement_timestamp()")
    conn.execute("SET plan_cache_mode = force_generic_plan")
    store = Store(conn)
    seen: Counter[str] = Counter()
    for plan in plans(r, number, now):
        normal = scalar(conn, "SELECT mnemo._retrieval_plan(%s)", Jsonb(plan))
        agent, org = r.choice(AGENTS), r.choice(ORGS)
        limit, hard = r.choice((1, 3, 5, 5, 30)), r.random() < 0.3
        at = now + r.choice((timedelta(), timedelta(hours=2), timedelta(days=2)))
        expected = Plan(store, normal, org, agent, at, limit, hard).run()
        asked = {"plan": Jsonb(plan), "agent": agent, "org": org, "limit": limit, "now": at,
                 "temporal": "filter" if hard else "prefer"}  # fmt: skip
        found = run(conn, all=True, **asked)
        scored = [row for row in found if row["verdict"] in VERDICTS]
        assert [(x["id"], x["verdict"]) for x in scored] == [
            (a.record["id"], a.verdict) for a in expected
        ], plan
        for row, answer in zip(scored, expected, strict=True):
            adds_up(row)
            assert row["score"] == pytest.approx(answer.score, abs=1e-9)
            assert {n: x["rank"] for n, x in row["explanation"]["rankings"].items()} == {
                n: rank for n, (rank, _) in answer.rankings.items()
            }
        returned = run(conn, all=False, **asked)
        assert [x["id"] for x in returned] == [
            a.record["id"] for a in expected if a.verdict == "returned"
        ]
        assert [x["place"] for x in returned] == list(range(1, len(returned) + 1))
        unfit(store, normal, found, agent, org, at, hard)
        seen.update(x["verdict"] for x in found)
        seen["none"] += not found
    return seen


VERDICTS = ("returned", "limit", "per_predicate", "budget", "weak_evidence")


def unfit(
    store: Store, plan: Any, found: list[dict[str, Any]], agent: str, org: str, at: Any, hard: bool
) -> None:
    """What explain_retrieval shows beside: readable, with the reason that keeps it out."""
    judge = Plan(store, plan, org, agent, at, 5, hard)
    visible = {r["id"]: r for p, records in judge.lists.items() for r in records
               if judge.readable(p, r)}  # fmt: skip
    others = [row for row in found if row["verdict"] not in VERDICTS]
    assert len(others) <= 20
    for row in others:
        assert row["verdict"] == judge.unfit(visible[row["id"]])
        assert row["score"] is None


def test_random_plans(db: psycopg.Connection) -> None:
    """Hundreds of plans over small stores give what Python gives, row by row."""
    seen = compare(db, 1, 150, 30)
    assert set(seen) >= {*VERDICTS, "superseded", "retracted", "not_yet_valid", "kind_filter",
                         "time_window", "none"}  # fmt: skip


def test_random_plans_of_more_than_is_read(db: psycopg.Connection) -> None:
    """The same where lists are longer than what is read of them."""
    assert compare(db, 2, 25, 250)["returned"] > 50


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 16))
def test_thousands_of_random_plans(db: psycopg.Connection, seed: int) -> None:
    """Over stores of many sizes."""
    r = random.Random(seed)
    assert compare(db, seed, 1000, r.choice((5, 40, 120)))["returned"] > 300


def test_a_note_without_facets_answers_the_user(db: psycopg.Connection) -> None:
    """What is about nobody may be the user's; what names somebody else is not."""
    notes = [
        {"content": "The gym locker code is 4471."},
        {"content": "The gym locker code is 9020.", "entities": ["Rhea"]},
        {"content": "The user has a bike.", "subject": "user", "predicate": "possession"},
        {"content": "The spare key is under the flowerpot."},
    ]
    db.execute("SELECT mnemo.remember_many(%s, p_agent_id => 'ana')", [Jsonb(notes)])
    for question, answer in (
        ("What is the code of my gym locker?", "The gym locker code is 4471."),
        ("Where is the spare key?", "The spare key is under the flowerpot."),
        ("What is the code of Rhea's gym locker?", "The gym locker code is 9020."),
    ):
        found = db.execute(
            "SELECT content FROM mnemo.retrieve(mnemo.plan_retrieval(%s, 'ana'), 'ana')"
            " ORDER BY rank", [question],
        ).fetchall()  # fmt: skip
        assert found[0] == (answer,), question
    assert ("The gym locker code is 9020.",) not in db.execute(
        "SELECT content FROM mnemo.retrieve("
        "mnemo.plan_retrieval('What is the code of my gym locker?', 'ana'), 'ana')"
    ).fetchall()
