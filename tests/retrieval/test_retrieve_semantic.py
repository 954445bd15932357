"""The ranking by embeddings: what it adds, what it weighs, and that every filter holds in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import refused, row, rows
from tests.support.server import Server
from tests.vectors.conftest import need_pgvector


@pytest.fixture(scope="module")
def common(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """A database with one model of two dimensions, in which the tests commit nothing."""
    with psycopg.connect(server.create_database("retrieval_semantic", template)) as conn:
        try:
            need_pgvector(conn)
            row(conn, "enable_vectors", model="m", dimensions=2)
            conn.commit()
            yield conn
        finally:
            conn.rollback()
            conn.close()
            server.drop_database("retrieval_semantic")


@pytest.fixture
def db(common: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """That connection in a transaction that is rolled back after the test."""
    common.execute("SELECT 1")
    yield common
    common.rollback()


def remember(conn: psycopg.Connection, content: str, embedding: str | None, **more: Any) -> UUID:
    """The id of a record of ana's with an embedding."""
    given = {"embedding": embedding, "model": "m"} if embedding else {}
    made: UUID = row(conn, "remember", content=content, agent_id="ana", **given, **more)["id"]
    return made


def ask(conn: psycopg.Connection, query: str, **more: Any) -> list[dict[str, Any]]:
    """What a plan with the embedding [1, 0] finds."""
    plan = {"turn_id": 0, "generation": 0, "intent": "ambient", "lexical_queries": [query]}
    return rows(conn, "retrieve", plan=plan | more, agent_id="ana", embedding="[1,0]")


def test_near_records_need_no_words(db: psycopg.Connection) -> None:
    """From the bound on; those that are farther answer nothing by being near."""
    near = remember(db, "the cat sleeps", "[0.9,0.1]")
    half = remember(db, "the sofa is grey", "[0.6,0.7]")
    remember(db, "the roof leaks", "[0.1,0.9]")
    remember(db, "no vector at all", None)
    found = ask(db, "felines")
    assert [r["id"] for r in found] == [near, half]
    # Nothing is found by words, so the weight is whole: 2.
    told = found[0]["explanation"]
    assert told["rankings"] == {
        "semantic": {"rank": 1, "contribution": pytest.approx(2 / 61, abs=1e-12)}
    }
    assert told["score"] == pytest.approx(2 / 61, abs=1e-9)


def test_words_that_answer_outweigh_nearness(db: psycopg.Connection) -> None:
    """The better the best record answers, the less the semantic ranking weighs."""
    answer = remember(db, "my cat likes tuna", "[0.5,0.8]", tags=["cat", "tuna"])
    near = remember(db, "something else", "[1,0]")
    found = ask(db, "tuna cat")
    assert [r["id"] for r in found] == [answer, near]
    told = {r["id"]: r["explanation"]["rankings"] for r in found}
    assert told[near]["semantic"] == {"rank": 1, "contribution": 0}
    assert found[0]["explanation"]["evidence"] == 1
    assert told[answer]["query_1"]["rank"] == 1


def test_filters_hold_in_it(db: psycopg.Connection) -> None:
    """Kinds, the hard window, status and validity: whatever is nearest."""
    kept = remember(db, "the cat sleeps", "[0.9,0.1]", kind="routine",
                    valid_from="2026-01-02T00:00:00Z")  # fmt: skip
    remember(db, "the dog barks", "[1,0]", kind="identity", valid_from="2020-01-02T00:00:00Z")
    remember(db, "the bird sang", "[1,0]", kind="routine", status="superseded")
    remember(db, "the fish swims", "[1,0]", kind="routine", valid_from="2999-01-01T00:00:00Z")
    assert [r["id"] for r in ask(db, "animals", kind_filter=["routine"])] == [kept]
    window = {"after": "2025-01-01T00:00:00Z"}
    plan = {"turn_id": 0, "generation": 0, "intent": "ambient", "lexical_queries": ["animals"],
            "temporal": window}  # fmt: skip
    hard = rows(db, "retrieve", plan=plan, agent_id="ana", embedding="[1,0]", temporal="filter")
    assert [r["id"] for r in hard] == [kept]
    soft = ask(db, "animals", temporal=window)
    assert len(soft) == 2
    assert "time" in next(r for r in soft if r["id"] == kept)["explanation"]["rankings"]
    assert rows(db, "retrieve", plan=plan, agent_id="bob", embedding="[1,0]") == []


def test_hints_copy_it(db: psycopg.Connection) -> None:
    """What matches the hints has a second rank by nearness."""
    liked = remember(db, "tuna", "[0.6,0.6]", subject="rhea", predicate="food")
    remember(db, "salmon", "[1,0]")
    found = ask(db, "felines", subject_hint="rhea", predicate_hint="food")
    told = {r["id"]: r["explanation"] for r in found}[liked]
    assert told["rankings"]["semantic"]["rank"] == 2
    assert told["rankings"]["semantic_hinted"]["rank"] == 1
    assert told["hints"] == {"subject": True, "predicate": True}


def test_embeddings_that_do_not_fit(db: psycopg.Connection) -> None:
    """Refused before anything is read."""
    plan = {"turn_id": 0, "generation": 0, "intent": "ambient", "lexical_queries": ["x"]}
    cases = (("[1,2,3]", "m", "22023"), ("[1]", None, "22023"), ("x", "m", "22023"),
             ("[1,0]", "unknown", "55000"))  # fmt: skip
    for embedding, model, code in cases:
        with refused(code):
            rows(db, "retrieve", plan=plan, agent_id="ana", embedding=embedding, model=model)
