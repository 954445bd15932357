"""Both clients and the command line, from a model to a memory or a plan found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from mnemo_pg import (
    ArgumentError,
    AsyncMnemo,
    Mnemo,
    NewMemory,
    NewPlan,
    RecallReason,
    RecallStrategy,
    StateError,
    UnsupportedError,
    VectorDistance,
)
from tests.cli.conftest import Done, cli, nowhere
from tests.vectors.conftest import need_pgvector

__all__ = ["cli", "nowhere"]


@pytest.fixture
def vdsn(dsn: str) -> str:
    """A database with pgvector, and no model."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        need_pgvector(conn)
    return dsn


def test_sync(vdsn: str) -> None:
    with Mnemo(vdsn, agent_id="ann") as m:
        with pytest.raises(StateError):
            m.remember("x", embedding=[1, 2])
        m.enable_vectors("m", 2, distance=VectorDistance.L2)
        m.enable_vectors("m", 2, distance="l2")
        id = m.remember("near", embedding=[1, 2.5]).id
        m.remember_many(
            [NewMemory(content="far", embedding=[9, 9], model="m"), NewMemory(content="none")]
        )
        found = m.recall(None, strategy=RecallStrategy.SEMANTIC, embedding=(1, 2), model="m")
        assert [memory.content for memory in found] == ["near", "far"]
        assert found[0].score == pytest.approx(1 / 1.5)
        m.update_memory(id, {"embedding": [20, 20]})
        found = m.recall(None, strategy="semantic", embedding=[1, 2])
        assert [memory.content for memory in found] == ["far", "near"]
        with pytest.raises(ArgumentError, match="3 dimensions"):
            m.recall(None, strategy="semantic", embedding=[1, 2, 3])
        with pytest.raises(ArgumentError, match="finite"):
            m.remember("x", embedding=[1, float("nan")])
        assert m.refresh_models() == 1
        assert m.disable_vectors("m") == 2


async def test_async(vdsn: str) -> None:
    async with AsyncMnemo(vdsn, agent_id="ann") as m:
        await m.enable_vectors("m", 2)
        await m.remember("near", embedding=[1, 2.5])
        found = await m.recall("near", embedding=[1, 2], weights={"semantic": 2})
        assert set(found[0].explanation["lanes"]) == {"lexical", "semantic", "recency"}
        assert await m.refresh_models() == 1
        assert await m.disable_vectors("m") == 1


QUERY, ASKED = "How do I reset my password?", "I need another passcode"


def test_plans_sync(vdsn: str) -> None:
    with Mnemo(vdsn, agent_id="ann") as m:
        m.configure("experience_memory", "on")
        with pytest.raises(StateError):
            m.remember_plan(QUERY, ["find"], [], 1, embedding=[1, 2])
        with pytest.raises(StateError):
            m.recall_plan(ASKED, embedding=[1, 2])
        m.enable_vectors("m", 2, distance="l2")
        id = m.remember_plan(QUERY, ["find"], [], 1, embedding=[1, 0], model="m").id
        m.remember_plans(
            [
                NewPlan(
                    query="Print a label",
                    steps=["x"],
                    chunk_ids=[],
                    outcome_score=1,
                    embedding=(0, 1),
                )
            ]
        )
        found = m.recall_plan(ASKED, embedding=(3, 1), model="m")
        assert (found.hit, found.id, found.reason) == (True, id, RecallReason.SEMANTIC)
        assert found.similarity == pytest.approx(3 / 10**0.5)
        assert [p.id for p in m.recall_plans(ASKED, embedding=[3, 1])] == [id]
        assert not m.recall_plan(ASKED)
        between = m.recall_plan(ASKED, embedding=[1, 1])
        assert between.reason == RecallReason.NONE_SIMILAR
        m.configure("semantic_threshold", "0.7")
        between = m.recall_plan(ASKED, embedding=[1, 1])
        assert between.reason == RecallReason.AMBIGUOUS
        assert between.near_miss is not None
        assert {between.near_miss["query"], between.near_miss["rival"]["query"]} == {
            QUERY,
            "Print a label",
        }
        explained = m.explain_recall_plan(ASKED, embedding=[1, 1])
        assert {(one.verdict, round(one.cosine or 0, 3)) for one in explained} == {
            ("ambiguous", 0.707)
        }
        assert m.explain_recall_plan(QUERY, embedding=[1, 1])[0].cosine is None


async def test_plans_async(vdsn: str) -> None:
    async with AsyncMnemo(vdsn, agent_id="ann") as m:
        await m.configure("experience_memory", "on")
        await m.enable_vectors("m", 2)
        id = (await m.remember_plan(QUERY, ["find"], [], 1, embedding=[1, 0])).id
        found = await m.recall_plan(ASKED, embedding=[3, 1])
        assert (found.id, found.reason) == (id, "semantic")
        assert found.similarity == pytest.approx(3 / 10**0.5)


def test_without_pgvector(dsn: str) -> None:
    with Mnemo(dsn) as m, pytest.raises(UnsupportedError, match="pgvector"):
        m.enable_vectors("m", 2)


def test_commands(cli: Callable[..., Done], vdsn: str) -> None:
    def run(*arguments: str) -> Done:
        return cli(*arguments, "--dsn", vdsn)

    assert run("enable-vectors", "m", "2", "--distance", "inner_product").code == 0
    done = run("enable-vectors", "m", "3")
    assert (done.code, "enabled with 2 dimensions" in done.err) == (2, True)
    assert run("remember", "near", "--embedding", "[1, 2]", "--model", "m").code == 0
    assert run("remember", "none").code == 0
    recall: tuple[Any, ...] = ("recall", "--strategy", "semantic", "--embedding", "[1,1]")
    found = run(*recall, "--json").json
    assert [(r["content"], r["score"]) for r in found] == [("near", 3)]
    assert "similarity 3" in run(*recall, "--explain").out
    done = run("recall", "--strategy", "semantic", "--embedding", "1;2")
    assert (done.code, "no vector" in done.err) == (2, True)
    assert json.loads(run("refresh-models", "--json").out) == {"models": 1}
    assert run("disable-vectors", "m").code == 2
    assert run("disable-vectors", "m", "--yes").out == "dropped 1 vectors of m\n"
    assert run("disable-vectors", "m", "--yes").code == 1


def test_plan_commands(cli: Callable[..., Done], vdsn: str) -> None:
    def run(*arguments: str) -> Done:
        return cli(*arguments, "--dsn", vdsn)

    assert run("init", "--experience-memory", "on").code == 0
    assert run("enable-vectors", "m", "2").code == 0
    for query, step, embedding in ((QUERY, "find", "[1,0]"), ("Print a label", "x", "[0,1]")):
        done = run("remember-plan", query, "--step", step, "--score", "1", "--embedding", embedding)
        assert done.code == 0, done.err
    found = run("recall-plan", ASKED, "--embedding", "[3,1]", "--json").json
    assert (found["query"], found["reason"]) == (QUERY, "semantic")
    assert "similarity 0.95 (semantic)" in run("recall-plan", ASKED, "--embedding", "[3,1]").out
    explained = run("recall-plan", ASKED, "--embedding", "[3,1]", "--explain").out
    assert "(cosine 0.95)" in " ".join(explained.split())
    with psycopg.connect(vdsn, autocommit=True) as conn:
        conn.execute("SELECT mnemo.configure('semantic_threshold', '0.7')")
    done = run("recall-plan", ASKED, "--embedding", "[1,1]")
    assert (done.code, "about as near" in done.out) == (1, True)
