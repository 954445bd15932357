"""mnemo.log_recall and the views recall_stats and plan_value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import refused, row, rows, scalar, value
from tests.support.reuse import emptied

STEPS = ["look it up"]


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    with emptied(module_dsn) as conn:
        yield conn


def log(conn: psycopg.Connection, *entries: Any, **who: Any) -> int:
    logged: int = value(conn, "log_recall", recalls=Jsonb(list(entries)), **who)
    return logged


def plan(conn: psycopg.Connection, query: str, **more: Any) -> Any:
    return row(
        conn, "remember_plan", query=query, steps=STEPS, chunk_ids=[], outcome_score=0.9, **more
    )["id"]


def test_hours_count_by_reason(db: psycopg.Connection) -> None:
    reasons = scalar(db, "SELECT mnemo._labels('recall_reason')")
    at = "2026-02-03T10:59:59+02:00"
    entries = [
        {"reason": reason, "asked_at": at, "similarity": place / 10, "duration_ms": place}
        for place, reason in enumerate(reasons)
    ]
    assert log(db, *entries, org_id="acme") == len(reasons)
    assert log(db, {"reason": "exact", "asked_at": "2026-02-03T09:00:00Z"}, org_id="acme") == 1
    assert log(db, {"reason": "stale", "asked_at": at}, org_id="globex") == 1
    names = [c.name for c in db.execute("SELECT * FROM mnemo.recall_stats").description or []]
    found = [
        dict(zip(names, one, strict=True))
        for one in db.execute("SELECT * FROM mnemo.recall_stats ORDER BY org_id, hour")
    ]
    assert [(one["org_id"], one["hour"].hour, one["recalls"]) for one in found] == [
        ("acme", 8, len(reasons)), ("acme", 9, 1), ("globex", 8, 1),
    ]  # fmt: skip
    columns = {"similar_words" if reason == "similar" else reason for reason in reasons}
    assert {name: found[0][name] for name in columns} == dict.fromkeys(columns, 1)
    assert found[0]["hits"] == 3
    assert found[0]["mean_similarity"] == pytest.approx(
        sum(range(len(reasons))) / 10 / len(reasons)
    )
    assert found[0]["max_duration_ms"] == len(reasons) - 1
    assert found[1]["mean_similarity"] is None


def test_the_value_of_plans(db: psycopg.Connection) -> None:
    used = plan(db, "restart the mail queue", org_id="acme", agent_id="ada", scope="public")
    idle = plan(
        db,
        "rotate the signing keys",
        org_id="acme",
        agent_id="ada",
    )
    shared = plan(db, "read the on-call roster", org_id="acme", agent_id="ada", scope="global")
    gone = plan(db, "forget me", org_id="acme", agent_id="ada")
    rows(db, "forget", ids=[gone], agent_id="ada", org_id="acme")
    for org in ("acme", "acme", "globex"):
        log(db, *({"reason": "exact", "plan_id": str(one)} for one in (used, shared)), org_id=org)
    # The plan that was nearest is not one that was returned.
    log(db, {"reason": "stale", "plan_id": str(used)}, org_id="acme")
    rows(db, "record_plan_outcome", id=used, success=True, agent_id="bob", org_id="acme")
    found = {
        one[0]: one[1:]
        for one in db.execute(
            "SELECT id, hits, uses, stale, retired, last_used_at IS NULL, value = standing *"
            " (1 + hits + uses) FROM mnemo.plan_value"
        )
    }
    assert found == {
        used: (2, 1, False, False, False, True),
        idle: (0, 0, False, False, True, True),
        shared: (3, 0, False, False, False, True),
    }


def test_a_stale_plan_shows_as_such(db: psycopg.Connection) -> None:
    row(db, "remember_plan", query="price of coal", steps=STEPS, chunk_ids=["c1"], outcome_score=1)
    assert scalar(db, "SELECT stale FROM mnemo.plan_value") is False
    rows(db, "invalidate_chunks", ids=["c1"])
    assert scalar(db, "SELECT stale FROM mnemo.plan_value") is True


def test_sweep_keeps_what_the_setting_says(db: psycopg.Connection) -> None:
    db.execute("SELECT mnemo.configure('recall_log_ttl', 'never', 'acme')")
    db.execute("SELECT mnemo.configure('recall_log_ttl', '2 hours', 'globex')")
    for org in ("acme", "globex", "initech"):
        log(db, {"reason": "exact"}, {"reason": "stale"}, org_id=org)
    db.execute("SELECT mnemo.sweep(p_limit => 1, p_now => now() + interval '3 hours')")
    left = "SELECT org_id, count(*) FROM mnemo.recall_log GROUP BY org_id ORDER BY org_id"
    assert db.execute(left).fetchall() == [("acme", 2), ("globex", 1), ("initech", 2)]
    done = db.execute(
        "SELECT done FROM mnemo.sweep(p_now => now() + interval '91 days')"
        " WHERE task = 'recall_log'"
    ).fetchone()
    assert done == (3,)
    assert db.execute(left).fetchall() == [("acme", 2)]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("exact", "must be a JSON object; got string"),
        ({}, "must be one of"),
        ({"reason": "hit"}, "got 'hit'"),
        ({"reason": "exact", "query": "x"}, "unknown key 'query'"),
        ({"reason": "exact", "plan_id": "x"}, "plan_id must be a UUID"),
        ({"reason": "exact", "plan_id": 7}, "plan_id must be a UUID"),
        ({"reason": "exact", "similarity": 1.01}, "similarity must be a number from 0 to 1"),
        ({"reason": "exact", "similarity": "1"}, "similarity must be a number"),
        ({"reason": "exact", "duration_ms": -1}, "duration_ms must be a number from 0"),
        ({"reason": "exact", "asked_at": "yesterday"}, "asked_at must be a time"),
        ({"reason": "exact", "asked_at": 0}, "asked_at must be a time"),
        ({"reason": "exact", "asked_at": "9999-01-01T00:00:00Z"}, "asked_at lies in the future"),
    ],
)
def test_bad_entries(db: psycopg.Connection, entry: Any, said: str) -> None:
    with refused("22023") as found:
        log(db, {"reason": "exact"}, entry)
    assert said in found.message
    assert "element 2" in found.message
    assert scalar(db, "SELECT count(*) FROM mnemo.recall_log") == 0


def test_numbers_too_small_for_a_double_are_zero(db: psycopg.Connection) -> None:
    """JSON has numbers of any size, and bad input is ours to name: these are good."""
    entries = '[{"reason": "exact", "similarity": 1e-400, "duration_ms": 1e-320}]'
    assert value(db, "log_recall", recalls=entries) == 1
    logged = db.execute("SELECT similarity, duration_ms FROM mnemo.recall_log").fetchone()
    assert logged == (0, 0)


def test_bad_batches(db: psycopg.Connection) -> None:
    for recalls in (None, Jsonb({"reason": "exact"}), Jsonb("exact")):
        with refused("22023"):
            value(db, "log_recall", recalls=recalls)
    with refused("54000"):
        log(db, *({"reason": "exact"} for _ in range(10_001)))
    assert log(db) == 0
    assert log(db, *({"reason": "exact", "plan_id": None} for _ in range(10_000))) == 10_000


def test_only_administrators_see_a_row(db: psycopg.Connection) -> None:
    plan(db, "restart the mail queue")
    log(db, {"reason": "exact", "plan_id": str(uuid4())})
    role = f"reader_{uuid4().hex[:8]}"
    with db.transaction(force_rollback=True):
        db.execute(f"CREATE ROLE {role}")
        db.execute("SELECT mnemo.grant_access(%s, 'application')", (role,))
        db.execute(f"GRANT SELECT ON mnemo.recall_stats, mnemo.plan_value TO {role}")
        db.execute(f"GRANT EXECUTE ON FUNCTION mnemo._is_admin() TO {role}")
        db.execute(f"SET LOCAL ROLE {role}")
        assert log(db, {"reason": "exact"}) == 1
        for view in ("recall_stats", "plan_value"):
            assert scalar(db, f"SELECT count(*) FROM mnemo.{view}") == 0
