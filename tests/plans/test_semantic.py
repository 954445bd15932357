"""Plans found by their embeddings where words find none: by the same rules, and never instead."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.bench.workloads import data_folder
from tests.support.calls import row, rows, scalar, value
from tests.support.server import Server
from tests.vectors.conftest import error, need_pgvector, vector

Connection = psycopg.Connection[Any]
MODEL = "small"
STORED, ASKED = "How do I reset my password?", "I need another passcode, please help"
NORTH = [1.0, 0.0, 0.0, 0.0]


def at(cosine: float, length: float = 1) -> str:
    """A vector with this cosine to north."""
    return vector([length * cosine, length * math.sqrt(1 - cosine**2), 0.0, 0.0])


@pytest.fixture(scope="module")
def plans(server: Server, template: str) -> Iterator[Connection]:
    """A database with a model whose distance is not the cosine, and the mode on."""
    with psycopg.connect(server.create_database("test_plan_semantic", template)) as conn:
        try:
            need_pgvector(conn)
            rows(conn, "enable_vectors", model=MODEL, dimensions=4, distance="l2")
            rows(conn, "configure", name="experience_memory", value="on")
            rows(conn, "configure", name="semantic_threshold", value="0.8")
            conn.commit()
            yield conn
        finally:
            conn.rollback()
            conn.close()
            server.drop_database("test_plan_semantic")


@pytest.fixture
def tx(plans: Connection) -> Iterator[Connection]:
    """That connection in a transaction that is rolled back after the test."""
    plans.execute("SELECT 1")
    yield plans
    plans.rollback()


def remember(conn: Connection, query: str = STORED, **more: Any) -> Any:
    """The id of a plan, near north unless it says otherwise."""
    given = {"embedding": at(1), "agent_id": "ann", "org_id": "acme", **more}
    return row(conn, "remember_plan", query=query, **{
        "steps": ["s"], "outcome_score": 0.9, "chunk_ids": [], **given,
    })["id"]  # fmt: skip


def recall(conn: Connection, query: str = ASKED, **more: Any) -> dict[str, Any]:
    """The answer to a question at cosine 0.9 from north unless it says otherwise."""
    given = {"embedding": at(0.9), "agent_id": "ann", "org_id": "acme", **more}
    return row(conn, "recall_plan", query=query, **given)


def test_near_plans_are_hits_where_words_find_none(tx: Connection) -> None:
    """With the cosine as similarity, whatever the distance of the model and the lengths."""
    id = remember(tx)
    for asked in (at(0.9), at(0.9, 50)):
        found = recall(tx, embedding=asked)
        assert (found["hit"], found["id"], found["reason"]) == (True, id, "semantic")
        assert found["similarity"] == pytest.approx(0.9, abs=1e-6)
        assert (found["candidates_considered"], found["near_miss"]) == (1, None)
    for given in ({"embedding": None}, {"embedding": at(0.7)}):
        missed = recall(tx, **given)
        assert (missed["hit"], missed["reason"]) == (False, "none_similar")
        assert missed["candidates_considered"] == 0


def test_the_threshold_counts_from_its_bound_on(tx: Connection) -> None:
    remember(tx)
    for threshold, hit in (("0.6", True), ("0.600001", False), ("0", True)):
        value(tx, "configure", name="semantic_threshold", value=threshold, org_id="acme")
        assert recall(tx, embedding="[3,4,0,0]")["hit"] == hit
    value(tx, "configure", name="semantic_threshold", value="1", org_id="acme")
    assert recall(tx, embedding="[7,0,0,0]")["similarity"] == 1


def test_words_win(tx: Connection) -> None:
    """However near another plan is; and then nobody looks at vectors."""
    near = remember(tx, "an answer about entirely other things", outcome_score=1)
    for stored, reason in ((STORED, "exact"), ("reset my old password: how?", "similar")):
        id = remember(tx, stored, embedding=at(0.81), outcome_score=0.5)
        found = recall(tx, STORED, embedding=at(1))
        assert (found["id"], found["reason"]) == (id, reason)
        assert [r["id"] for r in rows(tx, "recall_plans", query=STORED, embedding=at(1),
                                      agent_id="ann", org_id="acme")] == [id]  # fmt: skip
        rows(tx, "forget", ids=[id], agent_id="ann", org_id="acme")
    assert recall(tx, STORED, embedding=at(1))["id"] == near


def test_the_guard_holds(tx: Connection) -> None:
    """A plan that it refuses for its words is not let in for its vector, and is named."""
    refused = remember(tx, "Turn on dark mode")
    for guard in ("strict", "meaning"):
        missed = recall(tx, "Turn off dark mode", embedding=at(1), guard=guard)
        assert (missed["hit"], missed["reason"]) == (False, "guarded")
        assert missed["near_miss"]["similarity"] == 0.75
        missed = recall(tx, "Kindly switch the gloomy theme off", embedding=at(0.9), guard=guard)
        assert (missed["hit"], missed["reason"]) == (False, "guarded")
        assert missed["near_miss"]["id"] == str(refused)
        assert missed["near_miss"]["similarity"] == pytest.approx(0.9, abs=1e-6)
        assert missed["near_miss"]["differences"]
    found = recall(tx, "Kindly switch the gloomy theme off", guard="off")
    assert (found["id"], found["reason"]) == (refused, "semantic")
    # One farther that agrees answers; the values must, too.
    other = remember(tx, "Let it be dark: off", embedding=at(0.95), outcome_score=0.5)
    assert recall(tx, "Kindly switch the gloomy theme off")["id"] == other
    remember(tx, "all invoices of vendor 17", agent_id="bob")
    asked = {"query": "which bills of company 71 do we owe", "agent_id": "bob"}
    assert recall(tx, **asked)["reason"] == "guarded"
    assert recall(tx, **asked, guard="meaning")["reason"] == "semantic"
    same = "which bills of company 17 do we owe"
    assert recall(tx, same, agent_id="bob")["reason"] == "semantic"


def test_look_alikes_stay_misses_whatever_the_vector_says(tx: Connection) -> None:
    """Cosine 1 for every pair: with the guard strict each that must miss does, and the reason
    names the guard."""
    path = data_folder() / "plan_pairs.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    through = []
    for number, pair in enumerate(pairs):
        remember(tx, pair["stored"], agent_id=f"agent-{number}")
        found = recall(tx, pair["asked"], agent_id=f"agent-{number}", embedding=at(1),
                       guard="strict", similarity_threshold=1)  # fmt: skip
        if pair["expect"] == "miss":
            if found["hit"]:
                through.append(pair)
            else:
                assert found["reason"] == "guarded"
        else:
            assert found["hit"]
    assert through == []


def test_who_may_not_see_or_use_a_plan_does_not_find_it(tx: Connection) -> None:
    """The vector asked for is its very vector, and nothing is said of it."""
    private = remember(tx, context="tools-v2")
    public = remember(tx, scope="public", agent_id="bob", embedding=at(0.85))
    assert recall(tx)["id"] == public
    assert recall(tx, context="tools-v2")["id"] == private
    nothing = (False, None, "none_similar", 0, None)
    for who in (
        {"agent_id": "bob", "context": "tools-v2"}, {"org_id": "other"}, {"context": "x"},
        {"agent_id": "ann", "org_id": "acme2", "context": "tools-v2"},
    ):  # fmt: skip
        found = recall(tx, **who, embedding=at(1))
        keys = ("hit", "id", "reason", "candidates_considered", "near_miss")
        assert tuple(found[key] for key in keys) == nothing
    shared = remember(tx, agent_id="cem", scope="shared", context="s")
    asked = {"agent_id": "dan", "context": "s"}
    assert recall(tx, **asked)["hit"] is False
    rows(tx, "share", id=shared, to_agents=["dan"], permission="share", agent_id="cem",
         org_id="acme")  # fmt: skip
    assert recall(tx, **asked)["id"] == shared
    rows(tx, "delegate", to_agent="eve", ids=[shared], agent_id="dan", org_id="acme")  # fmt: skip
    assert recall(tx, **asked | {"agent_id": "eve"})["id"] == shared
    everywhere = remember(tx, org_id="other", scope="global", context="g", agent_id="zoe")
    assert recall(tx, context="g")["id"] == everywhere
    for end in ("expires_at = now()", "quarantined = true", "consolidation_state = 'archived'"):
        with tx.transaction(force_rollback=True):
            tx.execute(f"UPDATE mnemo.memory SET {end} WHERE id = %s", [public])  # type: ignore[arg-type]
            assert recall(tx)["hit"] is False
    rows(tx, "forget", ids=[public], agent_id="bob", org_id="acme")
    assert recall(tx)["hit"] is False


def test_the_order_is_that_of_words(tx: Connection) -> None:
    """The cosine first; own before global, then the outcome, then the newest."""
    expected = [
        remember(tx, "alpha", embedding=at(0.99), outcome_score=0.5),
        remember(tx, "bravo", embedding=at(0.95), outcome_score=0.9),
        remember(tx, "charlie", embedding=at(0.95), outcome_score=0.6),
        remember(tx, "delta", embedding=at(0.95), outcome_score=1, scope="global", org_id="zzz"),
        remember(tx, "echo", embedding=at(0.85)),
    ]
    remember(tx, "foxtrot", embedding=at(0.7))
    for limit in (1, 3, 5, 1000):
        found = rows(tx, "recall_plans", query=ASKED, embedding=at(1), agent_id="ann",
                     org_id="acme", limit=limit)  # fmt: skip
        assert [f["id"] for f in found] == expected[:limit]
        assert [f["rank"] for f in found] == list(range(1, len(found) + 1))
        assert {f["reason"] for f in found} == {"semantic"}


def test_bad_embeddings(tx: Connection) -> None:
    """As where memories are recalled; but nothing is looked at where the mode is off."""
    for given, sqlstate, parameter in (
        ({"embedding": "[1,2]"}, "22023", "p_embedding"),
        ({"embedding": None, "model": MODEL}, "22023", "p_model"),
        ({"embedding": at(1), "model": "no"}, "55000", "p_model"),
        ({"embedding": "[0,0,0,0]"}, "22023", "p_embedding"),
    ):
        for function in ("recall_plan", "recall_plans", "explain_recall_plan"):
            refusal = error(tx, function, query="x", **given)
            assert (refusal.sqlstate, refusal.detail) == (sqlstate, {"parameter": parameter})
    value(tx, "configure", name="experience_memory", value="off", org_id="acme")
    assert recall(tx, embedding="[1,2]")["reason"] == "disabled"


def test_without_an_embedding_nobody_looks_at_vectors(tx: Connection) -> None:
    remember(tx)
    seen = (
        "SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_xact_user_tables"
        " WHERE relname ~ '^vector'"
    )
    before = scalar(tx, seen)
    for query in (STORED, "reset my password: how", ASKED):
        recall(tx, query, embedding=None)
    assert scalar(tx, seen) == before
    recall(tx)
    assert scalar(tx, seen) > before


def test_explanations_show_the_cosine(tx: Connection) -> None:
    """Where embeddings were compared, before the plans that share words; not where words hit."""
    near = remember(tx, embedding=at(0.95))
    further = remember(tx, "how is a passcode made", embedding=at(0.9))
    refused = remember(tx, "Do not reset my password", embedding=at(1))
    worded = remember(tx, "I need help please", embedding=at(0.5))

    def explained(query: str, **more: Any) -> list[tuple[Any, ...]]:
        found = rows(tx, "explain_recall_plan", query=query, agent_id="ann", org_id="acme", **more)
        assert [f["rank"] for f in found] == list(range(1, len(found) + 1))
        return [(f["id"], f["verdict"], f["cosine"] and round(f["cosine"], 3)) for f in found]

    words = [(worded, "below_threshold", None)]
    assert explained(ASKED) == words
    assert explained(ASKED, embedding=at(1)) == [
        (refused, "guarded", 1.0), (near, "replayed", 0.95), (further, "outranked", 0.9), *words,
    ]  # fmt: skip
    assert explained("I need help please", embedding=at(1))[0] == (worded, "replayed", None)
    assert {cosine for _, _, cosine in explained(STORED, embedding=at(1))} == {None}


def test_between_two_plans_none_is_sure(tx: Connection) -> None:
    """One for other words with other steps must be the margin farther; guard and steps decide."""
    value(tx, "configure", name="semantic_margin", value="0.05")
    best = remember(tx, embedding=at(0.9))
    rival = remember(tx, "how is a passcode made", embedding=at(0.88), steps=["t"])
    asked: dict[str, Any] = {"embedding": at(1)}
    missed = recall(tx, **asked)
    assert (missed["hit"], missed["reason"]) == (False, "ambiguous")
    assert missed["near_miss"]["id"] == str(best)
    assert missed["near_miss"]["rival"]["id"] == str(rival)
    assert missed["near_miss"]["rival"]["similarity"] == pytest.approx(0.88, abs=1e-6)
    who = {"agent_id": "ann", "org_id": "acme", **asked}
    assert rows(tx, "recall_plans", query=ASKED, **who) == []
    explained = rows(tx, "explain_recall_plan", query=ASKED, **who)
    assert [(e["id"], e["verdict"]) for e in explained] == [
        (best, "ambiguous"), (rival, "ambiguous"),
    ]  # fmt: skip
    value(tx, "configure", name="semantic_margin", value="0.01", org_id="acme")
    assert recall(tx, **asked)["id"] == best
    value(tx, "configure", name="semantic_margin", value="0", org_id="acme")
    assert [r["id"] for r in rows(tx, "recall_plans", query=ASKED, **who)] == [best, rival]
    value(tx, "configure", name="semantic_margin", value=None, org_id="acme")
    rows(tx, "forget", ids=[rival], agent_id="ann", org_id="acme")
    # No rivals: the same words, the same steps, a plan that the guard refuses.
    value(tx, "configure", name="merge_plans", value="off", org_id="acme")
    remember(tx, "reset my password: how do I?", embedding=at(0.9), steps=["t"], outcome_score=0.5)
    remember(tx, "how is a passcode made", embedding=at(0.89))
    remember(tx, "do not make a passcode", embedding=at(0.9), steps=["u"])
    assert recall(tx, **asked)["id"] == best
    # Below the threshold a plan is no hit, but still a rival.
    value(tx, "configure", name="semantic_threshold", value="0.88", org_id="acme")
    remember(tx, "where is a passcode made", embedding=at(0.87), steps=["t"])
    assert recall(tx, **asked)["reason"] == "ambiguous"


def test_stale_plans_are_passed_over(tx: Connection) -> None:
    """A fresh one that is farther answers; without one the miss says which chunk changed."""
    near = remember(tx, embedding=at(0.95), chunk_ids=["kb-1"])
    fresh = remember(tx, "how is a passcode made", embedding=at(0.85), chunk_ids=["kb-2"])
    asked: dict[str, Any] = {"embedding": at(1)}
    assert recall(tx, **asked)["id"] == near
    rows(tx, "invalidate_chunks", ids=["kb-1"], org_id="acme")
    found = recall(tx, **asked)
    assert (found["id"], found["stale"]) == (fresh, False)
    found = recall(tx, **asked, stale="include")
    assert (found["id"], found["stale"], found["reason"]) == (near, True, "semantic")
    rows(tx, "forget", ids=[fresh], agent_id="ann", org_id="acme")
    missed = recall(tx, **asked)
    assert (missed["hit"], missed["stale"], missed["reason"]) == (False, True, "stale")
    assert missed["near_miss"]["id"] == str(near)
    assert missed["near_miss"]["changed_chunks"] == ["kb-1"]
    assert missed["near_miss"]["similarity"] == pytest.approx(0.95, abs=1e-6)
    explained = rows(tx, "explain_recall_plan", query=ASKED, agent_id="ann", org_id="acme", **asked)
    assert [(e["id"], e["verdict"]) for e in explained] == [(near, "stale")]


def test_retired_plans_are_passed_over(tx: Connection) -> None:
    near = remember(tx, embedding=at(0.95), outcome_score=0.5)
    value(tx, "configure", name="retire_threshold", value="0.4", org_id="acme")
    asked: dict[str, Any] = {"embedding": at(1)}
    for _ in range(3):
        rows(tx, "record_plan_outcome", id=near, success=False, agent_id="ann", org_id="acme")
    missed = recall(tx, **asked)
    assert (missed["hit"], missed["reason"]) == (False, "retired")
    assert missed["near_miss"]["id"] == str(near)
    further = remember(tx, "how is a passcode made", embedding=at(0.85), steps=["t"])
    assert recall(tx, **asked)["id"] == further
