"""What a retrieval touches: look-ups by key, flat in what others have and in the agent's own.

Times depend on the machine, blocks do not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.retrieval.worlds import NOW, THINGS, record
from tests.support.server import Server

OWN, OTHERS = 300, (300, 2_400)
WATCHED = ("memory", "acl", "term_vector", "term_posting", "term_frequency", "term_total")
# Forty records that are scored, thrice (list, record, terms), and the heads of some lists; a block
# for each entry before a vacuum.
MOST_BLOCKS = 2_500

PLANS: tuple[dict[str, Any], ...] = (
    {
        "lexical_queries": ["rhea quiet restaurant dinner", "quiet restaurant dinner", "rhea"],
        "topics": ["quiet", "restaurant", "dinner"],
        "entities": [{"surface": "my wife", "canonical": "rhea"}],
    },
    {"lexical_queries": ["where does my wife like to eat"], "subject_hint": "rhea",
     "predicate_hint": "venue_preference"},
    {"lexical_queries": ["coffee"], "predicate_hint": "beverage_preference",
     "kind_filter": ["preference"]},
    {"lexical_queries": ["what does nobody know", "the user"]},
)  # fmt: skip


def write(conn: psycopg.Connection, dice: random.Random, agent: str, number: int, org: str) -> None:
    """Random facts of an agent."""
    made = []
    for _ in range(number):
        one = record(dice, NOW.replace(year=2020))
        one["scope"] = dice.choice(("private", "private", "public", "shared"))
        one["status"] = "active"
        one.pop("valid_to", None)
        one["content"] = f"{' '.join(dice.sample(THINGS, 3))} word{dice.randrange(500)}"
        made.append(one)
    conn.execute("SELECT count(*) FROM mnemo.remember_many(%s, p_agent_id => %s, p_org_id => %s)",
                 [Jsonb(made), agent, org])  # fmt: skip


@pytest.fixture(scope="module")
def dsns(server: Server, template: str) -> Iterator[list[str]]:
    """Two databases: the agent's records are the same, those of others are few or many."""
    names = [f"retrieval_cost_{others}" for others in OTHERS]
    for name, others in zip(names, OTHERS, strict=True):
        with psycopg.connect(server.create_database(name, template), autocommit=True) as conn:
            write(conn, random.Random(1), "ana", OWN, "acme")
            for n in range(4):
                write(conn, random.Random(n + 2), f"agent{n}", others // 4, f"org{n % 2}")
    yield [server.dsn(name) for name in names]
    for name in names:
        server.drop_database(name)


def measure(
    conn: psycopg.Connection, agent: str, org: str, function: str = "retrieve"
) -> list[int]:
    """The blocks of each plan, all statements inside included; no table is scanned."""

    def scans() -> list[tuple[str, int]]:
        return conn.execute(
            "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'mnemo'"
            " AND relname = ANY (%s) ORDER BY 1", [list(WATCHED)],
        ).fetchall()  # fmt: skip

    blocks = []
    for plan in (PLANS[0], *PLANS):
        with conn.transaction(force_rollback=True):
            before = scans()
            told = conn.execute(
                f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM mnemo.{function}(%s,"
                " p_agent_id => %s, p_org_id => %s)",
                [Jsonb({"turn_id": 0, "generation": 0, "intent": "ambient"} | plan), agent, org],
                prepare=False,
            ).fetchone()  # type: ignore[call-overload]
            assert scans() == before
        assert told is not None
        blocks.append(told[0][0]["Plan"]["Shared Hit Blocks"]
                      + told[0][0]["Plan"]["Shared Read Blocks"])  # fmt: skip
    # The first one read the catalog too.
    return blocks[1:]


def test_flat_in_what_others_have(dsns: list[str]) -> None:
    """Eight times their records: the same blocks, whether the planner has statistics or not."""
    costs = []
    for dsn in dsns:
        with psycopg.connect(dsn, autocommit=True) as conn:
            costs.append(measure(conn, "ana", "acme"))
            with conn.transaction(force_rollback=True):
                conn.execute("ANALYZE")
                conn.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                costs.append(measure(conn, "ana", "acme"))
    assert max(map(max, costs)) <= MOST_BLOCKS
    for cost in costs[1:]:
        for few, many in zip(costs[0], cost, strict=True):
            assert many <= 1.2 * few + 30


def test_nearly_flat_in_the_own_records(dsns: list[str]) -> None:
    """Of long lists the heads are read, of the records that they name the best are scored."""
    costs = []
    for own in (800, 3_200):
        with psycopg.connect(dsns[0], autocommit=True) as conn:
            write(conn, random.Random(own), "cy", own, f"cy{own}")
            conn.execute("VACUUM mnemo.term_posting")
            costs.append(measure(conn, "cy", f"cy{own}"))
    for few, many in zip(*costs, strict=True):
        assert many <= 1.5 * few + 50


def test_what_delegation_and_grants_cost(dsns: list[str]) -> None:
    """An agent that sees by grants and by a delegation reads lists, not records."""
    with psycopg.connect(dsns[0], autocommit=True) as conn:
        conn.execute(
            "SELECT count(*) FROM mnemo.memory AS m, LATERAL mnemo.share(m.id, '{bob}',"
            " p_agent_id => 'ana', p_org_id => 'acme') WHERE m.scope = 'shared'"
            " AND m.agent_id = 'ana' AND m.org_id = 'acme'"
        )
        conn.execute(
            "SELECT mnemo.delegate('dan', 'read', p_agent_id => 'ana', p_org_id => 'acme')"
        )
        for agent in ("bob", "dan"):
            assert max(measure(conn, agent, "acme")) <= 2 * MOST_BLOCKS
        assert max(measure(conn, "ana", "acme", "explain_retrieval")) <= 3 * MOST_BLOCKS


def test_a_query_of_one_endless_word_costs_no_more_than_a_long_one(dsns: list[str]) -> None:
    """Sixteen words may be megabytes, and many words to the index: the first part is looked at."""

    def seconds(words: int) -> float:
        endless = "-".join(f"w{number}" for number in range(words))
        plan = Jsonb({"turn_id": 0, "generation": 0, "intent": "ambient", "topics": [endless],
                      "lexical_queries": [endless, endless.replace("-", "/")]})  # fmt: skip
        begin, found, end = conn.execute(
            "SELECT clock_timestamp(), (SELECT count(*) FROM mnemo.retrieve(%s,"
            " p_agent_id => 'ana', p_org_id => 'acme')), clock_timestamp()", [plan]
        ).fetchone()  # type: ignore[misc]  # fmt: skip
        assert found == 0
        return (end - begin).total_seconds()

    with psycopg.connect(dsns[0], autocommit=True) as conn:
        seconds(10)
        assert min(seconds(12_000) for _ in range(2)) < 6 * min(seconds(1_000) for _ in range(3))
