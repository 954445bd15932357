"""Fusion of lanes, weights, as_of, and what every strategy refuses."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.recall.world import AGENTS, ORGS, World, build, sentence, some_filters
from tests.support.calls import refused, row, rows, scalar
from tests.support.server import Server

DEFAULT = {"lexical": 1.0, "recency": 0.02}


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[World]:
    """250 records; the tests only read them."""
    dsn = server.create_database("test_hybrid_world", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield build(conn, seed=8, number=250)
    server.drop_database("test_hybrid_world")


def _fused(
    lanes: dict[str, list[UUID]], weights: dict[str, float], limit: int
) -> list[tuple[UUID, dict[str, tuple[int, float]]]]:
    """Weighted reciprocal ranks of the best 50 of each lane, or of as many as are asked for."""
    parts: dict[UUID, dict[str, tuple[int, float]]] = {}
    for name, lane in lanes.items():
        if weights[name] > 0:
            for rank, record in enumerate(lane[: max(limit, 50)], start=1):
                parts.setdefault(record, {})[name] = (rank, weights[name] / (60 + rank))
    ranked = sorted(
        parts.items(), key=lambda item: (sum(p for _, p in item[1].values()), item[0].int),
        reverse=True,
    )  # fmt: skip
    return ranked[:limit]


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_fusion_of_both_lanes(world: World, seed: int) -> None:
    """Order, scores, each lane's rank and contribution."""
    r = random.Random(seed)
    with world.conn.transaction():
        for _ in range(200):
            agent, org = r.choice(AGENTS), r.choice(ORGS)
            query = r.choice((sentence(r, 4), sentence(r, 2), None, " ", "nosuchword"))
            filters, limit = some_filters(r), r.choice((1, 5, 10, 60))
            given = r.choice((None, {}, {"recency": 1}, {"lexical": 0}, {"recency": 0},
                              {"lexical": 0.3, "recency": 2.5}))  # fmt: skip
            weights = DEFAULT | (given or {})
            lexical = [] if query is None else world.lexical(query, agent, org, filters)
            expected = _fused(
                {"lexical": [hit[1] for hit in lexical],
                 "recency": world.recent(agent, org, filters)},
                weights, limit,
            )  # fmt: skip
            found = rows(world.conn, "recall", query=query, limit=limit, weights=given,
                         agent_id=agent, org_id=org, **filters)  # fmt: skip
            assert [f["rank"] for f in found] == list(range(1, len(found) + 1))
            assert [f["id"] for f in found] == [item[0] for item in expected], (query, given)
            for seen, (_, parts) in zip(found, expected, strict=True):
                lanes = seen["explanation"]["lanes"]
                assert {n: (lane["rank"], lane["contribution"]) for n, lane in lanes.items()} == {
                    name: (rank, pytest.approx(part)) for name, (rank, part) in parts.items()
                }  # fmt: skip
                total = sum(lane["contribution"] for lane in lanes.values())
                assert abs(total - seen["score"]) <= 1e-9
                assert seen["explanation"]["score"] == seen["score"]
                for name, lane in lanes.items():
                    assert lane["weight"] == weights[name]
                    assert lane["contribution"] == pytest.approx(
                        lane["weight"] / (60 + lane["rank"])
                    )
                if "lexical" in lanes:
                    terms = lanes["lexical"]["terms"]
                    assert abs(sum(terms.values()) - lanes["lexical"]["score"]) <= 1e-9
                if "recency" in lanes:
                    age = lanes["recency"]["age_hours"]
                    assert lanes["recency"]["score"] == pytest.approx(
                        math.exp(-math.log(2) * age / 168)
                    )


@pytest.mark.parametrize("strategy", ["lexical", "hybrid", "recent", "exact"])
def test_as_of_never_widens(world: World, strategy: str) -> None:
    """At any time there is nothing that is not there now, and nothing younger."""
    r = random.Random(3)
    for days in (0.2, 1, 3, 8, 20):
        query, agent = sentence(r, 4), r.choice(AGENTS)
        as_of = world.now - timedelta(days=days)
        arguments: dict[str, Any] = {"query": query, "strategy": strategy, "limit": 1000,
                                     "agent_id": agent, "org_id": "acme"}  # fmt: skip
        now = {f["id"] for f in rows(world.conn, "recall", **arguments)}
        then = rows(world.conn, "recall", as_of=as_of, **arguments)
        created = {rec["id"]: rec["created_at"] for rec in world.records}
        assert {f["id"] for f in then} == {i for i in now if created[i] <= as_of}


@pytest.mark.parametrize("strategy", ["lexical", "hybrid", "recent", "exact"])
def test_a_longer_answer_starts_with_the_shorter(world: World, strategy: str) -> None:
    for limit in (1, 2, 7):
        asked = {"query": "coffee tea order", "strategy": strategy, "agent_id": "ana",
                 "org_id": "acme"}  # fmt: skip
        longer = [f["id"] for f in rows(world.conn, "recall", limit=50, **asked)]
        shorter = [f["id"] for f in rows(world.conn, "recall", limit=limit, **asked)]
        assert shorter == longer[:limit]


@pytest.mark.parametrize(
    "weights",
    ["[1]", "1", '"x"', "null", '{"lexical": -1}', '{"lexical": 1001}', '{"lexical": "1"}',
     '{"lexical": null}', '{"lexical": 0, "recency": 0}', '{"recency": 1e400}', '{"tags": 1}',
     '{"semantic": 1}', '{"Lexical": 1}', '{"": 1}', '{"lexical": [1]}'],
)  # fmt: skip
def test_bad_weights(tx: psycopg.Connection, weights: str) -> None:
    """Each is refused, with the parameter and a remedy."""
    with refused("22023", "p_weights"), tx.transaction():
        tx.execute("SELECT * FROM mnemo.recall('x', p_weights => %s::jsonb)", [weights])


@pytest.mark.parametrize("strategy", ["lexical", "recent", "exact"])
def test_weights_are_for_hybrid(tx: psycopg.Connection, strategy: str) -> None:
    with refused("22023", "p_weights"):
        rows(tx, "recall", query="x", strategy=strategy, weights={"lexical": 1})


@pytest.mark.parametrize("strategy", ["Semantic", "Lexical", "", None, "bm25"])
def test_unknown_strategies(tx: psycopg.Connection, strategy: str | None) -> None:
    with refused("22023", "p_strategy"):
        rows(tx, "recall", query="x", strategy=strategy)


@pytest.mark.parametrize("digits", [-15, 0, 3])
def test_explanations_do_not_depend_on_settings(tx: psycopg.Connection, digits: int) -> None:
    """Digits of JSON numbers come from a setting of the session."""
    row(tx, "remember", content="kestrel")
    row(tx, "remember", content="kestrel and a long tail of words")
    tx.execute(f"SET LOCAL extra_float_digits = {digits}")  # type: ignore[arg-type]
    wrong = scalar(
        tx,
        "SELECT count(*) FROM mnemo.recall('kestrel', p_strategy => 'lexical') AS r"
        " WHERE abs(r.score - (SELECT sum(e.value::float8) FROM jsonb_each_text("
        "   r.explanation -> 'terms') AS e)) > 1e-9",
    )
    assert wrong == 0
