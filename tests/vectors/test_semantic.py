"""Semantic recall against a full comparison: visibility, filters, limits, ties, explanations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, value
from tests.support.server import Server
from tests.vectors.conftest import DIMENSIONS, MODEL, direction, error, fill, need_pgvector, vector

Connection = psycopg.Connection[Any]
Record = tuple[str, Any, list[float]]

# How a model measures, and what recall shows of it.
SIMILARITIES: dict[str, Callable[[list[float], list[float]], float]] = {
    "cosine": lambda a, b: _product(a, b) / math.hypot(*a) / math.hypot(*b),
    "l2": lambda a, b: 1 / (1 + math.dist(a, b)),
    "inner_product": lambda a, b: _product(a, b),
}


def _product(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def recall(conn: Connection, embedding: list[float], **more: Any) -> list[dict[str, Any]]:
    """Semantic recall by ann of acme unless told otherwise."""
    who = {"agent_id": "ann", "org_id": "acme", "strategy": "semantic", "query": None}
    return rows(conn, "recall", embedding=vector(embedding), **{**who, **more})


@pytest.mark.parametrize("distance", SIMILARITIES)
def test_every_distance(tx: Connection, distance: str) -> None:
    dice = random.Random(1)
    rows(tx, "enable_vectors", model="second", dimensions=3, distance=distance)
    made = fill(tx, dice, [("private", "acme", "ann", [])] * 40, 3, "second")
    asked = direction(dice, 3)
    found = recall(tx, asked, model="second", limit=40)
    similar = SIMILARITIES[distance]
    wanted = sorted(((similar(asked, v), id) for _, id, v in made), reverse=True)
    assert [r["id"] for r in found] == [id for _, id in wanted]
    for r, (score, _) in zip(found, wanted, strict=True):
        assert r["score"] == pytest.approx(score, abs=1e-6)
        assert r["score"] == r["explanation"]["score"] == r["explanation"]["similarity"]


def test_equals_are_newest_first(tx: Connection) -> None:
    ids = [row(tx, "remember", content=f"{n}", embedding=vector([1, n % 2, 0, 0]), agent_id="ann",
               org_id="acme")["id"] for n in range(6)]  # fmt: skip
    found = [r["id"] for r in recall(tx, [1, 0, 0, 0])]
    assert found == [ids[4], ids[2], ids[0], ids[5], ids[3], ids[1]]


def test_records_without_a_vector_of_the_model_are_not_found(tx: Connection) -> None:
    row(tx, "remember", content="none", agent_id="ann", org_id="acme")
    rows(tx, "enable_vectors", model="second", dimensions=DIMENSIONS)
    row(tx, "remember", content="of the second", agent_id="ann", org_id="acme", model="second",
        embedding="[1,1,1,1]")  # fmt: skip
    assert recall(tx, [1, 1, 1, 1], model=MODEL) == []
    assert [r["content"] for r in recall(tx, [1, 1, 1, 1], model="second")] == ["of the second"]


@dataclass(frozen=True)
class World:
    """A database of many records, and what ann of acme may read of them."""

    conn: Connection
    visible: list[Record]
    tags: dict[Any, list[str]]

    def nearest(self, asked: list[float], tag: str | None = None) -> list[Any]:
        """Every visible record, nearest first."""
        return [
            id
            for _, id in sorted(
                ((SIMILARITIES["cosine"](asked, v), id) for _, id, v in self.visible
                 if tag is None or tag in self.tags[id]), reverse=True)
        ]  # fmt: skip


def build(conn: Connection, number: int, others: int, seed: int = 5) -> World:
    """`number` records that ann can read, three quarters hers, one in a thousand rare; `others`
    around them that nobody may show to her."""
    dice = random.Random(seed)
    need_pgvector(conn)
    rows(conn, "enable_vectors", model=MODEL, dimensions=DIMENSIONS)
    kinds = (("private", "acme", "ann"), ("public", "acme", "bob"), ("private", "acme", "ann"),
             ("public", "acme", "ann"))  # fmt: skip
    strange = (("private", "acme", "bob"), ("public", "other", "ann"), ("private", "other", "ann"),
               ("shared", "acme", "bob"))  # fmt: skip
    owners = [(*kinds[n % 4], ["rare"] if n % 1000 == 0 else ["common"]) for n in range(number)]
    owners += [("global", "other", "zoe", ["common"])] * 3
    visible = fill(conn, dice, owners)
    tags = {id: owner[3] for (_, id, _), owner in zip(visible, owners, strict=True)}
    hidden = [(*strange[n % 4], ["rare"]) for n in range(others)]
    shared = [r for r, o in zip(fill(conn, dice, hidden), hidden, strict=True) if o[0] == "shared"]
    for _, id, _ in shared[:5]:
        rows(conn, "share", id=id, to_agents=["ann"], agent_id="bob", org_id="acme")
    visible += shared[:5]
    tags |= {id: ["rare"] for _, id, _ in shared[:5]}
    plan = "SELECT mnemo.configure('experience_memory', 'on')"
    conn.execute(plan)  # type: ignore[arg-type]
    for state in ("quarantined = true", "consolidation_state = 'archived'", "deleted_at = now()",
                  "expires_at = now() - interval '1 minute'"):  # fmt: skip
        _, id, _ = visible.pop()
        conn.execute(f"UPDATE mnemo.memory SET {state} WHERE id = %s", [id])  # type: ignore[arg-type]
    conn.commit()
    conn.autocommit = True
    conn.execute("VACUUM ANALYZE")
    return World(conn, visible, tags)


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[World]:
    """So many that the index is read, and not all are sorted."""
    with psycopg.connect(server.create_database("test_semantic", template)) as conn:
        try:
            yield build(conn, 2_500, 2_500)
        finally:
            conn.close()
            server.drop_database("test_semantic")


def exactly(conn: Connection, asked: list[float], limit: int, **filters: Any) -> list[Any]:
    """What the exact way finds: the index is missing for this call."""
    with conn.transaction(force_rollback=True):
        conn.execute("DO $$ BEGIN EXECUTE 'DROP INDEX mnemo.vectors_' || (SELECT suffix FROM"
                     " mnemo.vector_model) || '_embedding_idx'; END $$")  # fmt: skip
        return [r["id"] for r in recall(conn, asked, limit=limit, **filters)]


def test_the_exact_way_is_a_full_comparison(world: World) -> None:
    dice = random.Random(2)
    for limit in (1, 10, 100):
        asked = direction(dice)
        assert exactly(world.conn, asked, limit) == world.nearest(asked)[:limit]
        assert (
            exactly(world.conn, asked, limit, tags=["rare"])
            == (world.nearest(asked, "rare")[:limit])
        )


def test_the_index_finds_nearly_all_and_nothing_strange(world: World) -> None:
    dice = random.Random(3)
    hits = asked_for = 0
    for limit in (1, 10, 50, 200):
        for _ in range(8):
            asked = direction(dice)
            wanted = world.nearest(asked)
            found = [r["id"] for r in recall(world.conn, asked, limit=limit)]
            assert len(set(found)) == limit
            assert set(found) <= set(wanted)
            hits += len(set(found) & set(wanted[:limit]))
            asked_for += limit
    assert hits / asked_for > 0.97


@pytest.mark.parametrize("limit", [1, 5, 9, 20])
def test_a_rare_filter_gives_the_limit_or_all(world: World, limit: int) -> None:
    dice = random.Random(limit)
    for _ in range(5):
        asked = direction(dice)
        wanted = world.nearest(asked, "rare")
        found = [r["id"] for r in recall(world.conn, asked, limit=limit, tags=["rare"])]
        assert len(found) == min(limit, len(wanted))
        assert set(found) <= set(wanted)


def test_an_agent_with_few_records_among_many(world: World) -> None:
    """Exactly, however many others hold."""
    dice = random.Random(8)
    made = fill(world.conn, dice, [("private", "acme", "few", [])] * 30)
    asked = direction(dice)
    public = [r for r in world.visible if scalar(
        world.conn, "SELECT scope IN ('public', 'global') FROM mnemo.memory WHERE id = %s", r[1])
    ]  # fmt: skip
    wanted = sorted(
        ((SIMILARITIES["cosine"](asked, v), id) for _, id, v in made + public), reverse=True
    )
    found = recall(world.conn, asked, agent_id="few", limit=50)
    assert len(found) == 50
    assert {r["id"] for r in found} <= {id for _, id in wanted}
    private = recall(world.conn, asked, agent_id="few", limit=50, scope="private")
    own = {id for _, id, _ in made}
    assert [r["id"] for r in private] == [id for _, id in wanted if id in own]


def test_delegated_records(world: World) -> None:
    dice = random.Random(9)
    made = fill(world.conn, dice, [("shared", "acme", "giver", ["trip"])] * 20)
    asked = direction(dice)
    wanted = {id for _, id, _ in made}
    mine = {"agent_id": "taker", "tags": ["trip"], "limit": 30}
    assert recall(world.conn, asked, **mine) == []
    given = value(world.conn, "delegate", to_agent="taker", tag="trip", permission="read",
                  agent_id="giver", org_id="acme")  # fmt: skip
    assert {r["id"] for r in recall(world.conn, asked, **mine)} == wanted
    rows(world.conn, "revoke_delegation", id=given, agent_id="giver", org_id="acme")
    assert recall(world.conn, asked, **mine) == []


def test_every_filter_holds_in_the_lane(world: World) -> None:
    dice = random.Random(4)
    moment = scalar(world.conn, "SELECT now()")
    for filters in ({"types": ["episodic"]}, {"min_importance": 0.9}, {"thread_id": "t"},
                    {"source_types": ["human"]}, {"since": moment}, {"tags": ["rare", "common"],
                    "tags_all": True}):  # fmt: skip
        assert recall(world.conn, direction(dice), **filters) == []
    for filters in ({"types": ["semantic"]}, {"scope": "public"}, {"until": moment},
                    {"as_of": moment}, {"source_types": ["agent"]}):  # fmt: skip
        assert len(recall(world.conn, direction(dice), **filters)) == 10


def test_settings_are_as_they_were(world: World) -> None:
    names = ("hnsw.iterative_scan", "hnsw.ef_search", "enable_sort", "enable_seqscan")
    dice = random.Random(6)
    with psycopg.connect(world.conn.info.dsn) as conn:
        conn.execute("SET hnsw.ef_search = 77; SET LOCAL hnsw.iterative_scan = 'strict_order'")
        before = [scalar(conn, "SELECT current_setting(%s)", name) for name in names]
        for limit in (1, 100, 1000):
            assert len(recall(conn, direction(dice), limit=limit)) == limit
            found = [scalar(conn, "SELECT current_setting(%s)", name) for name in names]
            assert found == before
        conn.commit()
        assert scalar(conn, "SELECT current_setting('hnsw.iterative_scan')") == "off"
        conn.execute("SET statement_timeout = '1ms'")
        many = [vector(direction(dice)) for _ in range(1000)]
        with pytest.raises(psycopg.errors.QueryCanceled), conn.transaction():
            conn.execute("SELECT count(*) FROM unnest(%s::text[]) AS v, mnemo.recall(NULL, 1000,"
                         " 'semantic', p_embedding => v, p_agent_id => 'ann', p_org_id => 'acme')",
                         [many])  # fmt: skip
        conn.execute("SET statement_timeout = 0")
        assert scalar(conn, "SELECT current_setting('hnsw.ef_search')") == "77"


def test_in_a_read_only_transaction_and_beside_a_parallel_scan(world: World) -> None:
    asked = vector(direction(random.Random(7)))
    with psycopg.connect(world.conn.info.dsn) as conn:
        conn.read_only = True
        conn.execute("SET debug_parallel_query = on" if conn.info.server_version >= 160000
                     else "SET force_parallel_mode = on")  # fmt: skip
        conn.execute("SET parallel_setup_cost = 0")
        count = scalar(
            conn, "SELECT count(*) FROM pg_class, mnemo.recall(NULL, 5, 'semantic', p_embedding =>"
            " %s, p_agent_id => 'ann', p_org_id => 'acme')", asked)  # fmt: skip
        assert count == 5 * scalar(conn, "SELECT count(*) FROM pg_class")


def test_hybrid_adds_up(world: World) -> None:
    dice = random.Random(10)
    asked = direction(dice)
    for n in range(3):
        row(world.conn, "remember", content=f"zebra {n}", embedding=vector(direction(dice)),
            agent_id="ann", org_id="acme")  # fmt: skip
    found = rows(world.conn, "recall", query="zebra", embedding=vector(asked),
                 agent_id="ann", org_id="acme", limit=80)  # fmt: skip
    assert len(found) == 80
    semantic = [r["id"] for r in recall(world.conn, asked, limit=80)]
    seen = set()
    for r in found:
        lanes = r["explanation"]["lanes"]
        seen |= set(lanes)
        for lane in lanes.values():
            assert lane["contribution"] == pytest.approx(lane["weight"] / (60 + lane["rank"]))
        assert r["score"] == pytest.approx(
            sum(lane["contribution"] for lane in lanes.values()), abs=1e-9
        )
        if "semantic" in lanes:
            assert semantic[lanes["semantic"]["rank"] - 1] == r["id"]
            assert lanes["semantic"]["similarity"] == pytest.approx(
                1 - lanes["semantic"]["distance"], abs=1e-9
            )
    assert seen == {"lexical", "semantic", "recency"}
    alone = rows(
        world.conn,
        "recall",
        query=None,
        embedding=vector(asked),
        agent_id="ann",
        org_id="acme",
        weights={"semantic": 2, "lexical": 0, "recency": 0},
        limit=80,
    )
    assert [r["id"] for r in alone] == semantic


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"strategy": "semantic"}, "p_embedding"),
        ({"strategy": "lexical", "query": "x", "embedding": "[1,1,1,1]"}, "p_embedding"),
        ({"strategy": "exact", "embedding": "[1,1,1,1]"}, "p_embedding"),
        ({"strategy": "recent", "embedding": "[1,1,1,1]"}, "p_embedding"),
        ({"weights": {"semantic": 1}}, "p_weights"),
        ({"weights": {"lexical": 0, "recency": 0}}, "p_weights"),
        ({"strategy": "semantic", "weights": {"semantic": 1}, "embedding": "[1,1,1,1]"},
         "p_weights"),
        ({"strategy": "semantic", "embedding": "[1,1,1]"}, "p_embedding"),
        ({"strategy": "semantic", "embedding": "[0,0,0,0]"}, "p_embedding"),
        ({"embedding": "[1,1,1,NaN]"}, "p_embedding"),
        ({"model": MODEL}, "p_model"),
    ],
)  # fmt: skip
def test_bad_arguments(tx: Connection, given: dict[str, Any], parameter: str) -> None:
    refusal = error(tx, "recall", **{"query": None, **given})
    assert (refusal.sqlstate, refusal.detail) == ("22023", {"parameter": parameter})


@pytest.mark.long
def test_one_in_a_thousand_of_fifty_thousand(server: Server, template: str) -> None:
    """A filter that keeps 0.1 % gives the limit, wherever so many are visible."""
    with psycopg.connect(server.create_database("test_fifty", template)) as conn:
        try:
            world = build(conn, 50_000, 2_000)
            dice = random.Random(11)
            for limit in (1, 10, 50, 60):
                for _ in range(10):
                    asked = direction(dice)
                    wanted = world.nearest(asked, "rare")
                    found = [r["id"] for r in recall(conn, asked, limit=limit, tags=["rare"])]
                    assert len(found) == min(limit, len(wanted))
                    assert set(found) <= set(wanted)
        finally:
            conn.close()
            server.drop_database("test_fifty")
