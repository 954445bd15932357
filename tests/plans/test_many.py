"""Masses of plans beside those that matter: what a recall touches stays the same.

The masses are copies of rows that the functions have written, with new ids: the same tables and
indexes in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import psycopg
import pytest

from tests.plans.test_explain import (
    AGENT,
    MOST_EXACT_BLOCKS,
    ORG,
    Cost,
    Questions,
    asked,
    assert_bounded,
    database,
    recall,
    store,
    visible,
)
from tests.support.calls import row
from tests.support.server import Server

MASS = 50_000
OFTEN = "where does the monthly report of the northern branch go"


def copies(conn: psycopg.Connection, plan: UUID, count: int) -> None:
    """So many more plans like this one, each with an id and an outcome of its own."""
    columns = {
        table: ", ".join(
            f"c.{name}"
            for (name,) in conn.execute(
                "SELECT attname FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
                " ORDER BY attnum",
                [f"mnemo.{table}"],
            )
        )
        for table in ("memory", "plan_signature")
    }
    conn.execute(
        "CREATE TEMP TABLE new_plan AS"
        " SELECT gen_random_uuid() AS id, 0.5 + (n %% 400) / 1000.0 AS score"
        "   FROM generate_series(1, %s) AS n",
        [count],
    )
    for table, key, score in (
        ("memory", "id", "importance"), ("plan_signature", "plan_id", "outcome_score"),
    ):  # fmt: skip
        chosen = columns[table].replace(f"c.{key}", "n.id", 1).replace(f"c.{score}", "n.score", 1)
        conn.execute(
            f"INSERT INTO mnemo.{table} SELECT {chosen}"  # type: ignore[arg-type]
            f"  FROM mnemo.{table} AS c CROSS JOIN new_plan AS n WHERE c.{key} = %s",
            [plan],
        )
    conn.execute("DROP TABLE new_plan")


@dataclass(frozen=True)
class Crowded:
    """A database before and after the masses."""

    dsn: str
    queries: dict[str, list[str]]
    alone: dict[str, Cost]


@pytest.fixture(scope="module")
def crowded(server: Server, template: str) -> Iterator[Crowded]:
    """2,000 visible plans; then 1,000 agents' private ones, 50,000 of one signature, 50,000
    shared ones that the caller has no grant on.
    """
    plans = visible(Questions(7), 2_000)
    queries = asked(plans)
    with (
        database(server, template, "explain_many") as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        store(conn, plans)
        recall(conn, "a first question to warm up", 0.7)
        alone = assert_bounded(conn, queries)
        questions = Questions(8)
        store(conn, [
            {"query": questions.make(), "org_id": ORG, "agent_id": f"one-of-many-{number % 1_000}",
             "scope": "private"}
            for number in range(3_000)
        ])  # fmt: skip
        for query, scope in ((OFTEN, "public"), (queries["exact"][0], "shared")):
            plan = row(
                conn, "remember_plan", query=query, steps=["s"], chunk_ids=[], outcome_score=0.95,
                agent_id="somebody", org_id=ORG, scope=scope,
            )["id"]  # fmt: skip
            copies(conn, plan, MASS)
        yield Crowded(dsn, queries, alone)


@pytest.mark.parametrize("statistics", ["SELECT", "ANALYZE"])
@pytest.mark.parametrize("mode", ["auto", "force_custom_plan", "force_generic_plan"])
def test_a_recall_does_not_notice_the_masses(crowded: Crowded, statistics: str, mode: str) -> None:
    """Private plans of a thousand agents, fifty thousand shared ones: not a row is read."""
    with psycopg.connect(crowded.dsn, autocommit=True) as conn:
        conn.execute(statistics)  # type: ignore[arg-type]
        conn.execute(f"SET plan_cache_mode = {mode}")  # type: ignore[arg-type]
        recall(conn, "a first question to warm up", 0.7)
        for kind, cost in assert_bounded(conn, crowded.queries).items():
            assert cost.rows <= crowded.alone[kind].rows * 1.2 + 10, kind
            # An index of more levels is descended by a block more for each key.
            assert cost.blocks <= crowded.alone[kind].blocks * 1.6 + 20, kind


@pytest.mark.parametrize("guard", ["strict", "meaning", "off"])
def test_a_signature_of_a_hundred_thousand_plans_is_one_look_up(
    crowded: Crowded, guard: str
) -> None:
    """All visible, all the very question: the best of them is read."""
    with psycopg.connect(crowded.dsn, autocommit=True) as conn:
        for query in (OFTEN, OFTEN.title() + "?"):
            recall(conn, query, 0.7, guard)
            cost = recall(conn, query, 0.7, guard)
            assert cost.scans == {}
            assert cost.rows <= 16, cost
            assert cost.blocks <= MOST_EXACT_BLOCKS, cost
        found = row(conn, "recall_plan", query=OFTEN, agent_id=AGENT, org_id=ORG, guard=guard)
        assert (found["reason"], found["outcome_score"]) == ("exact", 0.95)
