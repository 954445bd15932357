"""remember_many: a row an element, all or nothing, or what is good."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.calls import contents, refused, row, rows, scalar
from tests.support.records import remember, remember_plan
from tests.write.conftest import HOSTILE, many, whole

FULL = {
    "content": "Ada moved to Rome", "scope": "public", "memory_type": "semantic",
    "importance": 0.75, "tags": ["a", "b", "a"], "metadata": {"n": [1, None]},
    "source_type": "human", "source_id": "s", "thread_id": "t", "created_by": "c", "ttl": "P30D",
    "kind": "identity", "subject": " Ada  L ", "predicate": "Lives in", "entities": ["Rome"],
    "aliases": ["Roma"], "location": "Rome", "confidence": 0.5, "status": "active",
    "valid_from": "2026-01-31T09:00:00.25+05:30", "valid_to": "2999-12-31T00:00Z",
    "temporal_scope": "persistent",
}  # fmt: skip


def test_an_element_is_what_remember_writes(db: psycopg.Connection) -> None:
    """Column by column, also in a session with settings of its own."""
    db.execute("SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'SQL, DMY';"
               " SET IntervalStyle = 'sql_standard'")  # fmt: skip
    for element in (FULL, {"content": "x"}, {"content": "w", "memory_type": "working"}):
        given = {key: value for key, value in element.items() if key != "metadata"}
        if "metadata" in element:
            given["metadata"] = FULL["metadata"]
        with db.transaction():
            one = row(db, "remember", **given, agent_id="ana")["id"]
            (other,) = many(db, [element], agent_id="ana")
        assert other["status"] == "stored"
        columns = "to_jsonb(m) - ARRAY['id', 'nonce', 'content_hash']"
        found = [scalar(db, f"SELECT {columns} FROM mnemo.memory AS m WHERE id = %s", record)
                 for record in (one, other["id"])]  # fmt: skip
        assert found[0] == found[1]
    whole(db)


def test_nulls_mean_defaults(db: psycopg.Connection) -> None:
    (answer,) = many(db, [dict.fromkeys(FULL) | {"content": "x"}])
    assert answer["status"] == "stored"


def test_no_elements(db: psycopg.Connection) -> None:
    before = contents(db)
    assert many(db, []) == []
    assert contents(db) == before


BAD: list[tuple[Any, str, str | None]] = [
    (5, "22023", "p_records"),
    (None, "22023", "p_records"),
    ({}, "22023", "p_content"),
    ({"content": " "}, "22023", "p_content"),
    ({"content": "x", "colour": 1}, "22023", "p_records"),
    ({"content": "x", "agent_id": "ben"}, "22023", "p_records"),
    ({"content": "x", "scope": "all"}, "22023", "p_scope"),
    ({"content": "x", "importance": 2}, "22023", "p_importance"),
    ({"content": "x", "importance": True}, "22023", "p_importance"),
    ({"content": "x", "tags": ["__experience_plan__"]}, "22023", "p_tags"),
    ({"content": "x", "tags": [["a"]]}, "22023", "p_tags"),
    ({"content": "x", "metadata": {"experience_plan": 1}}, "22023", "p_metadata"),
    ({"content": "x", "metadata": "m"}, "22023", "p_metadata"),
    ({"content": "x", "ttl": "1 fortnight"}, "22023", "p_ttl"),
    ({"content": "x", "ttl": "P2000Y"}, "22023", "p_ttl"),
    ({"content": "x", "valid_from": "0000-01-01T00:00Z"}, "22023", "p_valid_from"),
    ({"content": "x", "valid_from": "2026-13-01T00:00Z"}, "22023", "p_valid_from"),
    ({"content": "x", "valid_from": "2025-02-29T00:00Z"}, "22023", "p_valid_from"),
    ({"content": "x", "valid_from": "2025-02-28"}, "22023", "p_valid_from"),
    ({"content": "x", "valid_to": "1999-01-01T00:00Z"}, "22023", "p_valid_to"),
    ({"content": "x", "embedding": "[1]"}, "55000", "p_embedding"),
    ({"content": "x", "idempotency_key": " "}, "22023", "p_idempotency_key"),
    ({"content": "x" * 1_048_577}, "54000", "p_content"),
    ({"content": "x", "idempotency_key": "k" * 257}, "54000", "p_idempotency_key"),
    ({"content": "x", "idempotency_key": "plan"}, "22023", "p_idempotency_key"),
]


def test_abort_writes_nothing(db: psycopg.Connection) -> None:
    remember_plan(db, "how do I do it", idempotency_key="plan")
    before = contents(db)
    for element, code, parameter in BAD:
        with refused(code, parameter) as refusal:
            many(db, [{"content": "good"}, element])
        assert refusal.detail is not None
        assert refusal.detail["position"] == 2
        assert refusal.message.startswith("element 2: ")
    assert contents(db) == before


def test_skip_writes_what_is_good(db: psycopg.Connection) -> None:
    remember_plan(db, "how do I do it", idempotency_key="plan")
    elements: list[Any] = []
    for element, _, _ in BAD:
        elements += [{"content": "good"}, element]
    found = many(db, elements, on_error="skip")
    assert [one["position"] for one in found] == list(range(1, len(elements) + 1))
    for good, bad, (_, code, _) in zip(found[::2], found[1::2], BAD, strict=True):
        assert (good["stored"], good["status"], good["error"]) == (True, "stored", None)
        assert (bad["stored"], bad["status"], bad["id"]) == (False, "failed", None)
        assert bad["error"].startswith(f"{code}: "), bad
    assert scalar(db, "SELECT count(*) FROM mnemo.memory WHERE content = 'good'") == len(BAD)
    assert scalar(db, "SELECT count(*) FROM mnemo.memory") == len(BAD) + 1
    whole(db)


def test_the_call_itself_is_checked(db: psycopg.Connection) -> None:
    before = contents(db)
    for records in ({"content": "x"}, "x", None):
        with refused("22023", "p_records"):
            many(db, records)
    with refused("22023", "p_records"):
        rows(db, "remember_many", records=None)
    with refused("22023", "p_on_error"):
        many(db, [], on_error="ignore")
    with refused("54000", "p_records"):
        many(db, [{}] * 10_001)
    with refused("22023", "p_org_id"):
        many(db, [], org_id="*")
    assert contents(db) == before


def test_idempotency_keys(db: psycopg.Connection) -> None:
    """Used before, twice in a batch, and free again: the first answer holds."""
    first = remember(db, "first", idempotency_key="a", agent_id="ana")
    elements = [{"content": f"c{n}", "idempotency_key": key}
                for n, key in enumerate(("b", "a", "b", "c"))]  # fmt: skip
    found = many(db, elements, agent_id="ana")
    assert [one["status"] for one in found] == ["stored", "repeated", "repeated", "stored"]
    assert found[1]["id"] == first
    assert found[2]["id"] == found[0]["id"]
    again = many(db, elements, agent_id="ana")
    assert [one["id"] for one in again] == [one["id"] for one in found]
    assert {one["status"] for one in again} == {"repeated"}
    assert many(db, elements, agent_id="ben")[1]["status"] == "stored"
    assert scalar(db, "SELECT count(*) FROM mnemo.memory WHERE agent_id = 'ana'") == 3
    whole(db)


def test_each_element_is_screened(db: psycopg.Connection) -> None:
    found = many(db, [{"content": "fine"}, {"content": HOSTILE}], agent_id="ana")
    assert [(one["stored"], one["status"]) for one in found] == [
        (True, "stored"), (True, "quarantined"),
    ]  # fmt: skip
    visible = rows(db, "get_memories", ids=[one["id"] for one in found], agent_id="ana")
    assert [one["id"] for one in visible] == [found[0]["id"]]
    whole(db)


def test_a_tenant_writes_nothing_global(db: psycopg.Connection) -> None:
    db.execute("DROP ROLE IF EXISTS many_tenant")
    db.execute("CREATE ROLE many_tenant")
    try:
        db.execute("SELECT mnemo.grant_access('many_tenant', 'tenant')")
        db.execute("SELECT mnemo.bind_role('many_tenant', 'acme', 'ben')")
        db.execute("SET ROLE many_tenant")
        with refused("42501", "p_scope"):
            many(db, [{"content": "x", "scope": "global"}])
        found = many(db, [{"content": "x", "scope": "global"}, {"content": "y"}], on_error="skip")
        assert [one["status"] for one in found] == ["failed", "stored"]
        assert found[0]["error"].startswith("42501: ")
        with refused("42501", "p_org_id"):
            many(db, [], org_id="globex")
    finally:
        db.execute("RESET ROLE")
        db.execute("DROP OWNED BY many_tenant; DROP ROLE many_tenant")


@pytest.mark.parametrize("key", sorted(FULL))
def test_a_value_of_the_wrong_type(db: psycopg.Connection, key: str) -> None:
    wrong = {"metadata": [1], "tags": "a", "entities": "a", "aliases": "a",
             "importance": "1", "confidence": "1"}.get(key, 5)  # fmt: skip
    with refused("22023", f"p_{key}"):
        many(db, [FULL | {key: wrong}])
