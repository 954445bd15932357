"""Many plans with embeddings: the index, what it cannot know, and memories beside them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import row, rows, scalar
from tests.support.server import Server
from tests.vectors.conftest import direction, fill, need_pgvector, vector

Connection = psycopg.Connection[Any]
MODEL, DIMENSIONS = "m", 16
MANY = 1_100  # more than 1,000 are looked up in the index


def near(dice: random.Random, cosine: float, to: list[float]) -> list[float]:
    """A random direction with this cosine to another."""
    other = direction(dice, DIMENSIONS)
    length = math.hypot(*to)
    along = sum(a * b for a, b in zip(other, to, strict=True)) / length**2
    across = [a - along * b for a, b in zip(other, to, strict=True)]
    size = math.hypot(*across)
    sine = math.sqrt(1 - cosine**2)
    return [cosine * b / length + sine * a / size for a, b in zip(across, to, strict=True)]


def remember(conn: Connection, org: str, plans: list[tuple[str, list[float]]]) -> list[Any]:
    """The ids of public plans with these questions and vectors."""
    elements = [
        {"query": query, "steps": [], "chunk_ids": [], "outcome_score": 1, "scope": "public",
         "agent_id": "ann", "org_id": org, "embedding": numbers}
        for query, numbers in plans
    ]  # fmt: skip
    return [r["id"] for r in rows(conn, "remember_plans", plans=Jsonb(elements))]


def recall(conn: Connection, org: str, query: str, asked: list[float], **more: Any) -> Any:
    return row(conn, "recall_plan", query=query, agent_id="bob", org_id=org,
               embedding=vector(asked), **more)  # fmt: skip


def names(dice: random.Random, count: int) -> list[str]:
    """So many questions without a word in common."""
    return [f"plan {''.join(dice.choices('bcdfgklm', k=9))}" for _ in range(count)]


@pytest.fixture(scope="module")
def crowd(server: Server, template: str) -> Iterator[Connection]:
    """An organisation with more plans than are compared one by one, and another."""
    dsn = server.create_database("test_semantic_many", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        try:
            need_pgvector(conn)
            rows(conn, "enable_vectors", model=MODEL, dimensions=DIMENSIONS)
            rows(conn, "configure", name="experience_memory", value="on")
            rows(conn, "configure", name="semantic_threshold", value="0.8")
            dice = random.Random(5)
            for org, count in (("acme", MANY), ("others", 300)):
                remember(conn, org, [(name, direction(dice, DIMENSIONS))
                                     for name in names(dice, count)])  # fmt: skip
            conn.execute("VACUUM ANALYZE")
            yield conn
        finally:
            conn.close()
            server.drop_database("test_semantic_many")


def test_the_index_finds_the_nearest(crowd: Connection) -> None:
    """As a look at each does, but for what an approximate index misses."""
    dice = random.Random(6)
    vectors = "mnemo.vectors_" + scalar(crowd, "SELECT suffix FROM mnemo.vector_model") + "_plans"
    stored = crowd.execute(
        f"SELECT embedding::text::jsonb FROM {vectors} WHERE org_id = 'acme'"  # type: ignore[arg-type]
    ).fetchall()
    scans = (
        "SELECT pg_stat_get_xact_numscans(c.oid) FROM pg_class AS c"
        " WHERE c.relname ~ '_plans_embedding_idx$'"
    )
    right, hits = 0, 0
    with crowd.transaction():
        for number in range(60):
            asked = near(dice, (0.75, 0.85, 0.95)[number % 3], dice.choice(stored)[0])
            nearest = crowd.execute(
                f"SELECT memory_id, 1 - (embedding OPERATOR(types.<=>) %s::types.vector)"  # type: ignore[arg-type]
                f" FROM {vectors} WHERE org_id = 'acme' ORDER BY 2 DESC LIMIT 1",
                [vector(asked)],
            ).fetchone()
            assert nearest is not None
            found = recall(crowd, "acme", "zzz question", asked)
            assert found["reason"] in ("semantic", "none_similar")
            assert not (found["hit"] and nearest[1] < 0.8)
            hits += nearest[1] >= 0.8
            right += found["hit"] and found["id"] == nearest[0]
        assert scalar(crowd, scans) >= 60
    assert hits > 20
    assert right >= 0.95 * hits


def test_plans_of_others_and_those_refused_do_not_crowd_it_out(crowd: Connection) -> None:
    """All that is near is another's or refused, but for the farthest."""
    dice = random.Random(7)
    to = direction(dice, DIMENSIONS)
    with crowd.transaction(force_rollback=True):
        remember(crowd, "others", [(n, near(dice, 0.99, to)) for n in names(dice, 100)])
        remember(crowd, "acme", [(f"{n} not", near(dice, 0.97, to)) for n in names(dice, 100)])
        row(crowd, "remember_plan", query="plan of zed", steps=[], chunk_ids=[], outcome_score=1,
            agent_id="zed", org_id="acme", embedding=vector(to))  # fmt: skip
        (id,) = remember(crowd, "acme", [("plan zzzz", near(dice, 0.9, to))])
        found = recall(crowd, "acme", "some question", to)
        assert (found["id"], found["reason"]) == (id, "semantic")
        rows(crowd, "forget", ids=[id], agent_id="ann", org_id="acme")
        assert recall(crowd, "acme", "some question", to)["reason"] == "guarded"


def test_plans_of_one_template_differ_in_their_values(crowd: Connection) -> None:
    """With the guard strict the one with the value asked for is found among all the others."""
    dice = random.Random(8)
    to = direction(dice, DIMENSIONS)
    with crowd.transaction(force_rollback=True):
        ids = remember(crowd, "acme", [(f"all invoices of vendor {n}", near(dice, 0.9, to))
                                       for n in range(1000, 1200)])  # fmt: skip
        for number in (1000, 1100, 1199):
            found = recall(crowd, "acme", f"which bills has company {number}", to)
            assert (found["id"], found["reason"]) == (ids[number - 1000], "semantic")
        assert recall(crowd, "acme", "which bills has company 99", to)["reason"] == "guarded"


def test_one_question_remembered_very_often_costs_no_look_at_each(crowd: Connection) -> None:
    """Copies of one plan, all equally near: enough of them are compared."""
    dice = random.Random(9)
    to = direction(dice, DIMENSIONS)
    suffix = scalar(crowd, "SELECT suffix FROM mnemo.vector_model")
    copies = 5_000
    with crowd.transaction(force_rollback=True):
        (id,) = remember(crowd, "acme", [("plan zzzz", to)])
        crowd.execute("CREATE TEMP TABLE new AS SELECT gen_random_uuid() AS id"
                      f" FROM generate_series(1, {copies})")  # fmt: skip
        for table, key in (("memory", "id"), ("plan_signature", "plan_id"),
                           (f"vectors_{suffix}_plans", "memory_id")):  # fmt: skip
            crowd.execute(
                f"INSERT INTO mnemo.{table} SELECT (jsonb_populate_record(t, jsonb_build_object("  # type: ignore[arg-type]
                f"'{key}', new.id))).* FROM mnemo.{table} AS t, new WHERE t.{key} = %s",
                [id],
            )
        found = recall(crowd, "acme", "some question", to)
        assert (found["hit"], found["similarity"]) == (True, 1)
        assert found["candidates_considered"] < copies / 2


def test_plans_cost_the_recall_of_memories_nothing(crowd: Connection) -> None:
    """However near they are: not a block more, and not a memory less."""
    dice = random.Random(10)
    to = direction(dice, DIMENSIONS)

    def blocks() -> int:
        for _ in range(3):
            explained = crowd.execute(
                "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM mnemo.recall(NULL,"
                " p_strategy => 'semantic', p_embedding => %s, p_agent_id => 'mem',"
                " p_org_id => 'acme')", [vector(to)], prepare=False,
            ).fetchone()  # fmt: skip
        assert explained is not None
        plan = explained[0][0]["Plan"]
        assert plan["Actual Rows"] == 10
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    with crowd.transaction(force_rollback=True):
        fill(crowd, dice, [("private", "acme", "mem", [])] * MANY, DIMENSIONS, MODEL)
        before = blocks()
        remember(crowd, "acme", [(n, near(dice, 0.99, to)) for n in names(dice, 200)])
        assert blocks() < 1.1 * before
