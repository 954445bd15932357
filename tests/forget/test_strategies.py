"""mnemo.forget: what each strategy removes and keeps, on what, for whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.forget.conftest import (
    ERASING,
    STATUS,
    STRATEGIES,
    count,
    events,
    forgotten,
    memory,
    plan,
    stored,
)
from tests.support.calls import contents, refused, row, rows, scalar

SCOPES = ("private", "shared", "public", "global")
PERMISSIONS = ("read", "write", "delete", "share")
FULL: dict[str, Any] = {
    "source_id": "s", "thread_id": "t", "created_by": "c", "kind": "routine", "subject": "zoe",
    "predicate": "likes", "entities": ["e"], "aliases": ["a"], "location": "l", "confidence": 0.5,
    "tags": ["x", "y"], "metadata": {"a": [1]}, "importance": 0.1 + 0.2, "idempotency_key": "k",
    "valid_from": "1999-01-01", "valid_to": "2999-01-01", "temporal_scope": "scheduled",
}  # fmt: skip


def _gone(conn: psycopg.Connection, record: UUID, agent: str = "ana") -> None:
    """No reading function shows it."""
    assert rows(conn, "get_memories", ids=[record], agent_id=agent) == []
    for strategy in ("lexical", "hybrid", "exact", "recent"):
        query = None if strategy in ("exact", "recent") else "zanzibar"
        assert rows(conn, "recall", query=query, strategy=strategy, agent_id=agent) == []
    assert not row(conn, "recall_plan", query="zanzibar plan", agent_id=agent)["hit"]
    assert rows(conn, "list_plans", agent_id=agent) == []
    with refused("MN001"):
        row(conn, "get_plan", id=record, agent_id=agent)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["memory", "plan"])
@pytest.mark.parametrize("scope", SCOPES)
def test_nothing_recalls_it(tx: psycopg.Connection, strategy: str, kind: str, scope: str) -> None:
    """Of every scope, for the owner and for those who saw it; one event, by whom it was done."""
    if kind == "memory":
        record = memory(tx, "zanzibar", scope=scope)
        kept = memory(tx, "pemba", agent_id="dua")
    else:
        record = plan(tx, "zanzibar plan", scope=scope)
        kept = plan(tx, "pemba plan", agent_id="dua")
    if scope == "shared":
        rows(tx, "share", id=record, to_agents=["ben"], agent_id="ana")
    other = stored(tx, kept)
    assert forgotten(tx, ids=[record, record], strategy=strategy) == {record: STATUS[strategy]}
    for agent in ("ana", "ben"):
        _gone(tx, record, agent)
    (event,) = events(tx, record)[-1:]
    assert event[:2] == (
        {"redact": "memory_redact", "archive": "memory_update"}.get(strategy, "memory_delete"),
        "ana",
    )
    assert len(events(tx, record)) == 1 + (scope == "shared")
    assert (stored(tx, record) is None) == (strategy == "hard_delete")
    assert stored(tx, kept) == other
    assert count(tx, "plan_signature") == (kind == "plan")
    assert count(tx, "term_vector") == (kind == "memory")
    for table in ("plan_signature", "term_vector", "term_posting"):
        column = "plan_id" if table == "plan_signature" else "memory_id"
        assert scalar(tx, f"SELECT count(*) FROM mnemo.{table} WHERE {column} = %s", record) == 0


def test_what_soft_deletion_and_archive_change(db: psycopg.Connection) -> None:
    """Two columns each."""
    for strategy, changed in (("soft_delete", "deleted_at"), ("archive", "consolidation_state")):
        record = memory(db, "words", **FULL | {"idempotency_key": strategy})
        before = stored(db, record)
        forgotten(db, ids=[record], strategy=strategy)
        after = stored(db, record)
        assert before is not None
        assert after is not None
        assert {k for k in after if after[k] != before[k]} == {changed, "updated_at"}
        (event,) = events(db, record)
        assert set(event[2]) == {changed}
        assert count(db, "idempotency") == 1
        db.execute("DELETE FROM mnemo.idempotency")


def test_what_redaction_leaves(db: psycopg.Connection) -> None:
    """Ids, owner, labels, numbers and times of the store; the hash, and no nonce."""
    record = memory(db, "words", scope="shared", **FULL)
    rows(db, "share", id=record, to_agents=["ben"], agent_id="ana")
    rows(db, "log_read", ids=[record], query="which words", agent_id="ben")
    before = stored(db, record)
    assert before is not None
    forgotten(db, ids=[record], strategy="redact")
    after = stored(db, record)
    assert after is not None
    assert after["deleted_at"] == after["redacted_at"] == after["updated_at"] is not None
    left = {
        "org_id", "id", "origin_org_id", "agent_id", "scope", "memory_type", "importance",
        "source_type", "consolidation_state", "quarantined", "version", "prev_version_id",
        "access_count", "created_at", "last_accessed_at", "expires_at", "status", "content_hash",
    }  # fmt: skip
    assert {k: after[k] for k in left} == {k: before[k] for k in left}
    assert {k: v for k, v in after.items() if k not in left and v} == {
        "deleted_at": after["deleted_at"], "redacted_at": after["deleted_at"],
        "updated_at": after["deleted_at"], "valid_from": after["created_at"],
        "temporal_scope": "persistent",
    }  # fmt: skip
    for table in ("acl", "event_note", "idempotency", "term_vector", "term_posting", "term_change"):
        assert count(db, table) == 0, table
    # Once is enough.
    written = count(db, "event")
    assert forgotten(db, ids=[record], strategy="redact") == {record: "redacted"}
    assert count(db, "event") == written


def test_a_redacted_plan_is_still_a_plan(tx: psycopg.Connection) -> None:
    record = plan(tx, tags=["x"], context="c", details=None)
    forgotten(tx, ids=[record], strategy="redact")
    found = tx.execute(
        "SELECT id, query, signature_tokens, steps, chunk_ids, outcome_score, context, tags,"
        " signature_size, deleted_at IS NOT NULL FROM mnemo.plan"
    ).fetchall()
    assert found == [(record, None, [], [], [], None, None, [], None, True)]


def test_a_hard_deletion_leaves_a_tombstone(db: psycopg.Connection) -> None:
    record = memory(db, "words", **FULL)
    before = scalar(db, "SELECT content_hash FROM mnemo.memory")
    rows(db, "log_read", ids=[record], query="which words", agent_id="ana")
    forgotten(db, ids=[record], strategy="hard_delete")
    (tombstone,) = events(db, record)[-1:]
    assert tombstone[2] == {"hard": True}
    assert scalar(db, "SELECT content_hash FROM mnemo.event ORDER BY id DESC LIMIT 1") == before
    for table in ("memory", "event_note", "idempotency"):
        assert count(db, table) == 0
    assert [one["event_type"] for one in rows(db, "history", id=record, agent_id="ana")] == [
        "memory_write", "memory_read", "memory_delete",
    ]  # fmt: skip


# ---- who may


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("permission", [None, *PERMISSIONS])
@pytest.mark.parametrize("scope", ["shared", "public"])
def test_it_needs_delete(
    tx: psycopg.Connection, strategy: str, permission: str | None, scope: str
) -> None:
    """With less nothing changes, by whatever strategy."""
    record = memory(tx, scope=scope)
    if permission is not None:
        rows(tx, "share", id=record, to_agents=["ben"], permission=permission, agent_id="ana")
    if permission in ("delete", "share"):
        answer = forgotten(tx, agent="ben", ids=[record], strategy=strategy)
        assert answer == {record: STATUS[strategy]}
        assert events(tx, record)[-1][1] == "ben"
        return
    before = contents(tx)
    with refused("MN001" if permission is None and scope == "shared" else "42501", "p_ids") as seen:
        forgotten(tx, agent="ben", ids=[record], strategy=strategy)
    assert seen.detail is not None
    assert seen.detail["ids"] == [str(record)]
    assert contents(tx) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_or_nothing(tx: psycopg.Connection, strategy: str) -> None:
    mine = [memory(tx), plan(tx)]
    for foreign in (memory(tx, agent_id="ben"), memory(tx, org_id="acme"), uuid4()):
        before = contents(tx)
        with refused("MN001", "p_ids") as seen:
            forgotten(tx, ids=[*mine, foreign], strategy=strategy)
        assert seen.detail is not None
        assert seen.detail["ids"] == [str(foreign)]
        assert contents(tx) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("state", ["deleted", "archived", "expired", "quarantined"])
def test_what_is_hidden_its_owner_can_still_erase(
    tx: psycopg.Connection, strategy: str, state: str
) -> None:
    """And nobody else; hiding it again is no operation: MN001 as for an unknown one."""
    record = memory(tx, scope="shared", ttl="1 hour")
    rows(tx, "share", id=record, to_agents=["ben"], permission="share", agent_id="ana")
    if state in ("deleted", "archived"):
        forgotten(tx, ids=[record], strategy="archive" if state == "archived" else "soft_delete")
    else:
        with tx.transaction():
            column, value = {
                "expired": ("expires_at", "now() - interval '1 s'"),
                "quarantined": ("quarantined", "true"),
            }[state]
            tx.execute(
                "CREATE TEMP TABLE b ON COMMIT DROP AS SELECT m AS was FROM mnemo.memory AS m"
            )
            tx.execute(f"UPDATE mnemo.memory SET {column} = {value}")
            tx.execute(
                "SELECT mnemo._write_event(m, 'memory_update', 'default', 'ana',"
                " mnemo._bound_changes(b.was, m)) FROM mnemo.memory AS m, b"
            )
    for agent in ("ben", "ana"):
        if agent == "ana" and strategy in ERASING:
            assert forgotten(tx, ids=[record], strategy=strategy) == {record: STATUS[strategy]}
            row_now = stored(tx, record)
            assert row_now is None or row_now["content"] is None
            continue
        before = contents(tx)
        with refused("MN001", "p_ids"):
            forgotten(tx, agent=agent, ids=[record], strategy=strategy)
        assert contents(tx) == before


def test_what_is_removed_is_unknown(tx: psycopg.Connection) -> None:
    record = memory(tx)
    forgotten(tx, ids=[record], strategy="hard_delete")
    for strategy in STRATEGIES:
        with refused("MN001", "p_ids"):
            forgotten(tx, ids=[record], strategy=strategy)


def test_a_redacted_record_can_be_removed(tx: psycopg.Connection) -> None:
    record = plan(tx)
    for strategy in ("soft_delete", "redact", "hard_delete"):
        forgotten(tx, ids=[record], strategy=strategy)
    assert count(tx, "memory") == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_versions_go_with_the_record_that_replaced_them(
    tx: psycopg.Connection, strategy: str
) -> None:
    """Where the text is erased; a later version stays, and so do others' records."""
    first, second, third = (memory(tx, f"version {n}") for n in range(3))
    foreign = memory(tx, agent_id="ben")
    for record, before in ((third, second), (second, first), (first, foreign)):
        with tx.transaction():
            tx.execute(
                "UPDATE mnemo.memory SET prev_version_id = %s WHERE id = %s", [before, record]
            )
            tx.execute(
                "SELECT mnemo._write_event(m, 'memory_update', 'default', 'ana',"
                " jsonb_build_object('prev_version_id', %s::uuid)) FROM mnemo.memory AS m"
                " WHERE m.id = %s", [before, record],
            )  # fmt: skip
    assert forgotten(tx, ids=[second], strategy=strategy) == {second: STATUS[strategy]}
    texts = tx.execute("SELECT content FROM mnemo.memory ORDER BY id").fetchall()
    assert texts == {
        "hard_delete": [("version 2",), ("x",)],
        "redact": [(None,), (None,), ("version 2",), ("x",)],
    }.get(strategy, [("version 0",), ("version 1",), ("version 2",), ("x",)])


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "parameter", "code"),
    [
        ({"strategy": "delete"}, "p_strategy", "22023"),
        ({"strategy": None}, "p_strategy", "22023"),
        ({"strategy": "REDACT"}, "p_strategy", "22023"),
        ({"ids": []}, "p_ids", "22023"),
        ({"ids": None}, "p_ids", "22023"),
        ({"ids": [None]}, "p_ids", "22023"),
        ({"ids": [uuid4() for _ in range(10_001)]}, "p_ids", "54000"),
    ],
)
def test_bad_arguments_change_nothing(
    tx: psycopg.Connection, arguments: dict[str, Any], parameter: str, code: str
) -> None:
    record = memory(tx)
    before = contents(tx)
    with refused(code, parameter):
        forgotten(tx, **{"ids": [record], "strategy": "redact"} | arguments)
    assert contents(tx) == before


def test_a_key_is_free_again_after_erasure(tx: psycopg.Connection) -> None:
    """What it answered is gone: the same write makes a new record."""
    first = row(tx, "remember", content="a", agent_id="ana", idempotency_key="key")
    forgotten(tx, ids=[first["id"]], strategy="redact")
    again = row(tx, "remember", content="a", agent_id="ana", idempotency_key="key")
    assert again["status"] == "stored"
    assert again["id"] != first["id"]


def test_ten_thousand_at_once(db: psycopg.Connection) -> None:
    """In one call and in time that grows with them, not faster."""
    db.execute(
        "SELECT mnemo._write_memories(array_agg(x.record), 'memory_write') FROM ("
        " SELECT mnemo._normalised(jsonb_populate_record(mnemo._new_record('private', 'default',"
        "  'ana', NULL), jsonb_build_object('content', 'text ' || n, 'memory_type', 'episodic',"
        "  'source_type', 'agent'))) AS record FROM generate_series(1, 2000) AS n) AS x"
    )
    ids = [one for (one,) in db.execute("SELECT id FROM mnemo.memory")]
    db.execute("SET statement_timeout = '60s'")
    assert set(forgotten(db, ids=ids, strategy="redact").values()) == {"redacted"}
    assert count(db, "term_vector") == 0
    assert scalar(db, "SELECT sum(records) FROM mnemo.term_total") == 0
    assert count(db, "term_frequency") == 0


def test_a_tenant_forgets_no_global_record(db: psycopg.Connection, module_dsn: str) -> None:
    """Of its own agent neither; redact and hard_delete too."""
    record = memory(db, scope="global")
    db.execute("CREATE ROLE forget_tenant LOGIN")
    try:
        db.execute("SELECT mnemo.grant_access('forget_tenant', 'tenant')")
        db.execute("SELECT mnemo.bind_role('forget_tenant', 'default', 'ana')")
        with psycopg.connect(module_dsn, user="forget_tenant", autocommit=True) as tenant:
            before = contents(db)
            for strategy in STRATEGIES:
                with refused("42501", "p_ids"):
                    rows(tenant, "forget", ids=[record], strategy=strategy)
            assert contents(db) == before
            own = row(tenant, "remember", content="mine", ttl=timedelta(hours=1))["id"]
            assert rows(tenant, "forget", ids=[own], strategy="hard_delete")
    finally:
        db.execute("DROP OWNED BY forget_tenant; DROP ROLE forget_tenant")
