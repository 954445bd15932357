"""Embeddings written with records, changed, forgotten, exported; errors of vectors."""

from __future__ import annotations

import json
import random
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import row, rows, scalar, value
from tests.vectors.conftest import MODEL, error, need_pgvector

Connection = psycopg.Connection[Any]
WHO = {"agent_id": "ann", "org_id": "acme"}


def stored(conn: Connection, id: object) -> str | None:
    """The vector of a record."""
    suffix = scalar(conn, "SELECT suffix FROM mnemo.vector_model WHERE name = %s", MODEL)
    query = f"SELECT max(embedding::text) FROM mnemo.vectors_{suffix} WHERE memory_id = %s"
    return scalar(conn, query, id)


@pytest.mark.parametrize(
    ("embedding", "said"),
    [
        ("[1,2,3]", "has 3 dimensions, model 'small' has 4"),
        ("[1,2,3,4,5]", "has 5 dimensions"),
        ("[1,2,3,NaN]", "NaN"),
        ("[1,2,3,Infinity]", "infinite"),
        ("[1,2,3,-inf]", "infinite"),
        ("[1,2,3,1e39]", "out of range"),
        ("[0,0,0,-0]", "zero"),
        ("[1e-30,0,0,0]", "length"),
        ("[1e30,0,0,0]", "length"),
        ("", "finite numbers"),
        ("[]", "finite numbers"),
        ("[1,2,3,4", "finite numbers"),
        ("1,2,3,4", "finite numbers"),
        ("[1,2,3,x]", "finite numbers"),
        ("[1,,2,3]", "finite numbers"),
        ("{1,2,3,4}", "finite numbers"),
        ("[1,2,3,4]; DROP TABLE mnemo.memory", "finite numbers"),
        ("[" + "1," * 16_000 + "1]", "finite numbers"),
    ],
)
def test_vectors_that_are_none(tx: Connection, embedding: str, said: str) -> None:
    """Refused alike wherever one is given, and nothing is written."""
    for function, given in (
        ("remember", {"content": "x"}),
        ("recall", {"query": "x"}),
        ("recall", {"query": None, "strategy": "semantic"}),
    ):
        refusal = error(tx, function, embedding=embedding, **given)
        assert (refusal.sqlstate, refusal.detail) == ("22023", {"parameter": "p_embedding"})
        assert said in refusal.message
        assert refusal.hint
    element = Jsonb([{"content": "x", "embedding": embedding}])
    assert error(tx, "remember_many", records=element).sqlstate == "22023"
    (skipped,) = rows(tx, "remember_many", records=element, on_error="skip")
    assert (skipped["stored"], skipped["status"]) == (False, "failed")
    assert said in skipped["error"]
    assert scalar(tx, "SELECT count(*) FROM mnemo.memory") == 0


def test_a_text_over_the_limit(tx: Connection) -> None:
    refusal = error(tx, "remember", content="x", embedding="[1,2,3,4" + " " * 1_000_000 + "]")
    assert (refusal.sqlstate, refusal.detail) == ("54000", {"parameter": "p_embedding"})


def test_vectors_in_any_spelling_are_kept_exactly(tx: Connection) -> None:
    for spelled, kept in (
        (" [ 1 , 2,3,4 ] ", "[1,2,3,4]"),
        ("[0.1,1e-3,.5,-0.0]", "[0.1,0.001,0.5,-0]"),
        ("[0.3333333333333333,65505,3.4e14,1]", "[0.33333334,65505,3.4e+14,1]"),
    ):
        id = row(tx, "remember", content="x", embedding=spelled, **WHO)["id"]
        assert stored(tx, id) == kept


def test_once_with_a_key(tx: Connection) -> None:
    first = row(tx, "remember", content="x", embedding="[1,0,0,0]", idempotency_key="k", **WHO)
    again = row(tx, "remember", content="y", embedding="[0,1,0,0]", idempotency_key="k", **WHO)
    assert (again["id"], again["status"]) == (first["id"], "repeated")
    assert stored(tx, first["id"]) == "[1,0,0,0]"


def test_many_at_once(tx: Connection) -> None:
    rows(tx, "enable_vectors", model="other", dimensions=2)
    records: list[dict[str, Any]] = [
        {"content": "text", "embedding": "[1,0,0,0]", "model": MODEL},
        {"content": "numbers", "embedding": [0, 1, 0, 0.5], "model": MODEL},
        {"content": "none"},
        {"content": "another model", "embedding": "[1,2]", "model": "other"},
        {"content": "no model", "embedding": "[1,2]"},
        {"content": "unknown model", "embedding": "[1,2]", "model": "nobody's"},
        {"content": "everyone's", "embedding": "[1,1,1,1]", "model": MODEL, "scope": "global"},
    ]
    made = rows(tx, "remember_many", records=Jsonb(records), on_error="skip", **WHO)
    assert [r["stored"] for r in made] == [True, True, True, True, False, False, True]
    assert made[4]["error"].startswith("22023")
    assert made[5]["error"].startswith("55000")
    kept = [stored(tx, r["id"]) for r in made]
    assert kept == ["[1,0,0,0]", "[0,1,0,0.5]", None, None, None, None, "[1,1,1,1]"]
    found = rows(tx, "recall", query=None, strategy="semantic", embedding="[1,2]", model="other",
                 **WHO)  # fmt: skip
    assert [r["content"] for r in found] == ["another model"]


def test_plans_have_theirs_apart(tx: Connection) -> None:
    """Written one by one, in batches and later; never below the threshold, nor twice."""
    rows(tx, "configure", name="experience_memory", value="on")
    plan = {"query": "how", "steps": ["a"], "chunk_ids": [], "outcome_score": 1, **WHO}
    for given, sqlstate, parameter in (
        ({"embedding": "[1,2]"}, "22023", "p_embedding"),
        ({"model": MODEL}, "22023", "p_model"),
        ({"embedding": "[1,2,3,4]", "model": "no"}, "55000", "p_model"),
    ):
        refusal = error(tx, "remember_plan", **plan, **given)
        assert (refusal.sqlstate, refusal.detail) == (sqlstate, {"parameter": parameter})
        assert error(tx, "remember_plans", plans=Jsonb([{**plan, **given}])).sqlstate == sqlstate
    first = row(tx, "remember_plan", **plan, embedding="[1,2,3,4]", model=MODEL)["id"]
    batch = [
        {**plan, "query": "where", "embedding": [1, 2, 3, 5]},
        {**plan, "query": "when", "idempotency_key": "k"},
        {**plan, "query": "who", "embedding": "[1,2,3,6]", "outcome_score": 0.1},
        {**plan, "query": "when", "embedding": "[1,2,3,7]", "idempotency_key": "k"},
    ]
    found = rows(tx, "remember_plans", plans=Jsonb(batch))
    assert [f["status"] for f in found] == ["stored", "stored", "below_threshold", "repeated"]
    assert kept_plans(tx) == {first: "[1,2,3,4]", found[0]["id"]: "[1,2,3,5]"}
    later = {"embedding": [1, 2, 3, 8]}
    done = row(tx, "update_memory", id=found[1]["id"], changes=later, **WHO)
    assert (done["version"], done["status"]) == (1, "updated")
    both = {"embedding": [1, 2, 3, 9], "tags": ["t"]}
    assert row(tx, "update_memory", id=first, changes=both, **WHO)["version"] == 2
    assert kept_plans(tx) == {
        first: "[1,2,3,9]", found[0]["id"]: "[1,2,3,5]", found[1]["id"]: "[1,2,3,8]",
    }  # fmt: skip
    # No memory, and gone with the plan.
    assert rows(tx, "recall", query=None, strategy="semantic", embedding="[1,2,3,4]", **WHO) == []
    rows(tx, "forget", ids=[first], strategy="redact", **WHO)
    rows(tx, "forget", ids=[found[0]["id"]], strategy="hard_delete", **WHO)
    assert kept_plans(tx) == {found[1]["id"]: "[1,2,3,8]"}


def test_a_merged_plan_has_the_embedding_of_its_question(tx: Connection) -> None:
    """A question that stays keeps it or takes the newer, another one brings its own or none."""
    rows(tx, "configure", name="experience_memory", value="on")

    def again(query: str, score: float, embedding: str | None = None) -> dict[Any, str]:
        answer = row(tx, "remember_plan", query=query, steps=[], chunk_ids=[], outcome_score=score,
                     embedding=embedding, **WHO)  # fmt: skip
        assert answer["status"] in ("stored", "merged")
        return {"id": answer["id"], "status": answer["status"]}

    plan = again("reset the badge", 0.7, "[1,2,3,4]")["id"]
    assert again("the badge: reset", 0.6, "[1,2,3,5]")["status"] == "merged"
    assert kept_plans(tx) == {plan: "[1,2,3,4]"}
    again("reset the badge", 0.6, "[1,2,3,6]")
    assert kept_plans(tx) == {plan: "[1,2,3,6]"}
    again("the badge: reset", 0.8)
    assert kept_plans(tx) == {}
    again("reset the badge!", 0.9, "[1,2,3,7]")
    assert kept_plans(tx) == {plan: "[1,2,3,7]"}
    base = {"steps": [], "chunk_ids": [], **WHO}
    found = rows(tx, "remember_plans", plans=Jsonb([
        {**base, "query": "badge: reset the", "outcome_score": 0.95, "embedding": [1, 2, 3, 8]},
        {**base, "query": "a new one", "outcome_score": 0.8, "embedding": [1, 2, 3, 9]},
        {**base, "query": "new: a one", "outcome_score": 0.7, "embedding": [1, 2, 4, 1]},
        {**base, "query": "a new one", "outcome_score": 0.6, "embedding": [1, 2, 4, 2]},
    ]))  # fmt: skip
    assert kept_plans(tx) == {plan: "[1,2,3,8]", found[1]["id"]: "[1,2,4,2]"}


def kept_plans(conn: Connection) -> dict[Any, str]:
    """The vectors of plans; none of them lies among those of memories."""
    suffix = scalar(conn, "SELECT suffix FROM mnemo.vector_model WHERE name = %s", MODEL)
    found = conn.execute(
        f"SELECT memory_id, embedding::text FROM mnemo.vectors_{suffix}_plans"  # type: ignore[arg-type]
    ).fetchall()
    ids = [id for id, _ in found]
    assert [stored(conn, id) for id in ids] == [None] * len(ids)
    return dict(found)


def test_updates(tx: Connection) -> None:
    """Another content has no embedding until it is given one; other changes leave it."""
    id = row(tx, "remember", content="x", embedding="[1,0,0,0]", **WHO)["id"]

    def update(**changes: Any) -> tuple[int, str]:
        done = row(tx, "update_memory", id=id, changes=changes, **WHO)
        return done["version"], done["status"]

    assert update(tags=["a"]) == (2, "updated")
    assert stored(tx, id) == "[1,0,0,0]"
    events = scalar(tx, "SELECT count(*) FROM mnemo.event")
    assert update(embedding="[0,1,0,0]", model=MODEL) == (2, "updated")
    assert stored(tx, id) == "[0,1,0,0]"
    assert scalar(tx, "SELECT count(*) FROM mnemo.event") == events
    assert update(content="y") == (3, "updated")
    assert stored(tx, id) is None
    assert update(content="z", embedding=[0, 0, 1, 0]) == (4, "updated")
    assert stored(tx, id) == "[0,0,1,0]"
    for changes in ({"embedding": "[1]"}, {"embedding": None}, {"model": MODEL}):
        assert error(tx, "update_memory", id=id, changes=changes, **WHO).sqlstate == "22023"
    refusal = error(
        tx, "update_memory", id=id, changes={"embedding": "[1]", "model": "nobody's"}, **WHO
    )
    assert (refusal.sqlstate, refusal.detail) == ("55000", {"parameter": "p_changes"})
    versions = scalar(tx, "SELECT count(*) FROM mnemo.memory WHERE id <> %s", id)
    found = rows(tx, "recall", query=None, strategy="semantic", embedding="[0,1,0,0]", **WHO)
    assert (versions, [r["content"] for r in found]) == (3, ["z"])


@pytest.mark.parametrize("strategy", ["redact", "hard_delete", "soft_delete", "archive"])
def test_forgotten_records(tx: Connection, strategy: str) -> None:
    rows(tx, "enable_vectors", model="other", dimensions=2)
    id = row(tx, "remember", content="x", embedding="[1,0,0,0]", model=MODEL, **WHO)["id"]
    rows(tx, "update_memory", id=id, changes={"embedding": "[1,2]", "model": "other"}, **WHO)
    rows(tx, "forget", ids=[id], strategy=strategy, **WHO)
    assert (stored(tx, id) is None) == (strategy in ("redact", "hard_delete"))
    assert scalar(tx, "SELECT count(*) FROM mnemo._embedding_page(NULL, NULL, 100, false)") == (
        0 if strategy in ("redact", "hard_delete") else 2
    )
    for given in (
        {"model": MODEL, "embedding": "[1,0,0,0]"},
        {"model": "other", "embedding": "[1,2]"},
    ):
        assert rows(tx, "recall", query=None, strategy="semantic", **given, **WHO) == []


def test_chains_know_nothing_of_embeddings(tx: Connection) -> None:
    """Theirs is the record; what was derived from it may come and go."""
    id = row(tx, "remember", content="x", **WHO)["id"]
    rows(tx, "update_memory", id=id, changes={"embedding": "[1,0,0,0]"}, **WHO)
    assert row(tx, "verify_chain", **WHO)["ok"]
    assert value(tx, "disable_vectors", model=MODEL) == 1
    assert row(tx, "verify_chain", **WHO)["ok"]


def test_statistics_keep_no_vector(db: Connection) -> None:
    """Before PostgreSQL 17 a session that made an index does not see its statistics target."""
    need_pgvector(db)
    rows(db, "enable_vectors", model="small", dimensions=4)
    rows(db, "enable_vectors", model="wide", dimensions=2100)
    db.commit()
    dice = random.Random(1)
    with psycopg.connect(db.info.dsn) as conn:
        for number in range(20):
            for model, dimensions in (("small", 4), ("wide", 2100)):
                embedding = str([dice.random() for _ in range(dimensions)])
                row(conn, "remember", content=f"{number}", model=model, embedding=embedding)
        conn.execute("ANALYZE")
        # Of the columns with vectors, and of indexes over what is made of them.
        assert conn.execute(
            "SELECT tablename, attname FROM pg_stats WHERE tablename ~ '^vectors_'"
            " AND attname NOT IN ('org_id', 'memory_id')"
        ).fetchall() == []  # fmt: skip


def test_an_export_carries_them(tx: Connection) -> None:
    """Line by line; where a model is enabled otherwise, its lines are errors."""
    rows(tx, "remember", content="x", embedding="[0.1,1e-7,3,4]", **WHO)
    rows(tx, "remember", content="y", embedding="[1,1,3,4]", agent_id="zoe", org_id="other",
         scope="global")  # fmt: skip
    rows(tx, "remember", content="z", embedding="[2,1,3,4]", agent_id="zoe", org_id="other")
    rows(tx, "configure", name="experience_memory", value="on")
    plan = row(tx, "remember_plan", query="q", steps=[], chunk_ids=[], outcome_score=1,
               embedding="[3,1,3,4]", **WHO)["id"]  # fmt: skip
    lines = [json.loads(r["record"]) for r in rows(tx, "export_records")]
    kept = [line["row"] for line in lines if line["table"] == "embedding"]
    assert [(k["model"], k["org_id"], k["embedding"]) for k in kept] == [
        (MODEL, "*", "[1,1,3,4]"),
        (MODEL, "acme", "[0.1,1e-07,3,4]"),
        (MODEL, "acme", "[3,1,3,4]"),
        (MODEL, "other", "[2,1,3,4]"),
    ]  # fmt: skip
    one = [json.loads(r["record"]) for r in rows(tx, "export_records", org_id="other")]
    assert [line["row"]["embedding"] for line in one if line["table"] == "embedding"] == [
        "[2,1,3,4]", "[1,1,3,4]",
    ]  # fmt: skip
    states = {r["status"] for r in rows(tx, "import_records", records=Jsonb(lines))}
    assert states == {"header", "present"}
    value(tx, "disable_vectors", model=MODEL)
    states = {r["status"] for r in rows(tx, "import_records", records=Jsonb(lines))}
    assert states == {"header", "present", "imported"}
    assert kept_plans(tx) == {plan: "[3,1,3,4]"}
    assert [json.loads(r["record"]) for r in rows(tx, "export_records")] == lines
    value(tx, "disable_vectors", model=MODEL)
    rows(tx, "enable_vectors", model=MODEL, dimensions=3)
    found = rows(tx, "import_records", records=Jsonb(lines), on_error="skip")
    failed = [r["record"] for r in found if r["status"] == "failed"]
    assert [name.split()[0] for name in failed] == ["vector_model", *["embedding"] * 4]
