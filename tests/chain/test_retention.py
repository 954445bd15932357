"""Retention removes old events and leaves a chain that verifies and still finds every tampering."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.chain.conftest import change, delete_for_good, findings, seal, verify
from tests.support.calls import rows, scalar
from tests.support.records import remember, remember_plan


def now(conn: psycopg.Connection) -> Any:
    """The server's clock."""
    return scalar(conn, "SELECT clock_timestamp()")


def retain(conn: psycopg.Connection, before: Any, **arguments: Any) -> list[dict[str, Any]]:
    """Until nothing is removed any more; all rows."""
    found = []
    while answer := rows(conn, "retain_events", before=before, **arguments):
        found += answer
        if {one["status"] for one in answer} == {"broken"}:
            break
    return found


def test_old_events_go_and_their_records_stay_verified(chain_db: psycopg.Connection) -> None:
    who = {"agent_id": "ana"}
    kept = remember(chain_db, "kept", importance=0.1, **who)
    plan = remember_plan(chain_db, "how to pay", **who)
    rows(chain_db, "share", id=kept, to_agents=["ben"], ttl="1 day", **who)
    gone = remember(chain_db, "gone", **who)
    delete_for_good(chain_db, gone)
    change(chain_db, kept, "memory_update", "importance = 0.4")
    seal(chain_db)
    old_head = verify(chain_db, **who)["head"]
    before = now(chain_db)
    later = remember(chain_db, "later", **who)
    seal(chain_db)
    head = verify(chain_db, **who)["head"]

    (answer,) = retain(chain_db, before)
    assert (answer["status"], answer["removed"], answer["carried"], answer["anchor_seq"]) == (
        "removed", 6, 2, 6,
    )  # fmt: skip
    assert answer["anchor_hash"] == old_head
    left = chain_db.execute(
        "SELECT seq, event_type, memory_id FROM mnemo.event ORDER BY seq"
    ).fetchall()
    assert left[0] == (7, "memory_write", later)
    assert sorted(left[1:3], key=str) == sorted(
        [(left[1][0], "checkpoint", left[1][2]), (left[2][0], "checkpoint", left[2][2])], key=str
    )
    assert {left[1][2], left[2][2]} == {kept, plan}
    assert left[3] == (10, "checkpoint", None)
    found = verify(chain_db, **who)
    assert (found["ok"], found["checked"], found["records"], found["anchor_seq"]) == (True, 4, 3, 6)
    # The anchor and what follows are known heads; what came before the anchor cannot be told.
    for known in (old_head, head, found["head"]):
        assert verify(chain_db, expected_head=known, **who)["ok"]

    for tampering in (
        "UPDATE mnemo.memory SET importance = 0.5 WHERE content = 'kept'",
        "UPDATE mnemo.memory SET content = 'other' WHERE content = 'kept'",
        "UPDATE mnemo.acl SET permission = 'share'",
        "UPDATE mnemo.acl SET expires_at = NULL",
        "DELETE FROM mnemo.acl",
        "DELETE FROM mnemo.memory WHERE content = 'kept'",
        "UPDATE mnemo.chain_head SET anchor_seq = 5",
        "UPDATE mnemo.chain_head SET anchor_seq = 0, anchor_hash = NULL",
        "DELETE FROM mnemo.event WHERE seq = 7",
        "DELETE FROM mnemo.event WHERE seq = 10",
        "DELETE FROM mnemo.event WHERE event_type = 'checkpoint' AND memory_id IS NOT NULL",
    ):
        with chain_db.transaction(force_rollback=True):
            chain_db.execute(tampering)
            assert findings(chain_db), tampering


def test_a_beginning_that_somebody_cut_off_is_found(chain_db: psycopg.Connection) -> None:
    """Also where every record of it was deleted for good."""
    for _ in range(3):
        delete_for_good(chain_db, remember(chain_db, agent_id="ana"))
    remember(chain_db, agent_id="ana")
    seal(chain_db)
    chain_db.execute(
        "UPDATE mnemo.chain_head SET anchor_seq = 6, anchor_hash = (SELECT hash FROM mnemo.event"
        " WHERE seq = 6)"
    )
    chain_db.execute("DELETE FROM mnemo.event WHERE seq <= 6")
    assert [found[3] for found in findings(chain_db)] == ["anchor_changed"]


def test_carrying_over_again_and_again(chain_db: psycopg.Connection) -> None:
    """The checkpoints of one retention are the old events of the next."""
    record = remember(chain_db, importance=0.3, agent_id="ana")
    rows(chain_db, "share", id=record, to_agents=["ben", "cem"], agent_id="ana")
    for turn in range(4):
        rows(chain_db, "unshare", id=record, from_agents=["cem"], agent_id="ana")
        change(chain_db, record, "memory_update", f"importance = 0.{turn + 1}")
        seal(chain_db)
        assert sum(one["carried"] for one in retain(chain_db, now(chain_db), limit=3)) >= 1
        assert findings(chain_db) == []
        assert scalar(chain_db, "SELECT count(*) FROM mnemo.event") <= 4
    answer = rows(chain_db, "history", id=record, agent_id="ana")
    assert [one["event_type"] for one in answer][-1] == "checkpoint"
    assert answer[-1]["changes"]["importance"] == 0.4
    assert set(answer[-1]["changes"]["grants"]) == {"ben"}


def test_only_what_is_old_enough_and_sealed_goes(chain_db: psycopg.Connection) -> None:
    """One that began early and was sealed late keeps what comes after it in place."""
    first = remember(chain_db, agent_id="ana")
    seal(chain_db)
    before = now(chain_db)
    remember(chain_db, agent_id="ana")
    seal(chain_db)
    # As if its transaction had begun before the other.
    remember(chain_db, agent_id="ben", org_id="acme")
    assert [one["removed"] for one in retain(chain_db, before)] == [1]
    assert scalar(chain_db, "SELECT min(seq) FROM mnemo.event WHERE agent_id = 'ana'") == 2
    assert retain(chain_db, before) == []
    assert [one["event_type"] for one in rows(
        chain_db, "history", id=first, agent_id="ana")] == ["checkpoint"]  # fmt: skip
    assert retain(chain_db, now(chain_db), org_id="acme") == []
    seal(chain_db)
    assert [one["org_id"] for one in retain(chain_db, now(chain_db), org_id="acme")] == ["acme"]


@pytest.mark.parametrize(
    ("tampering", "reason"),
    [
        ("UPDATE mnemo.memory SET importance = 0.9 WHERE content = 'm1'", "column_changed"),
        ("UPDATE mnemo.memory SET content = 'forged' WHERE content = 'm1'", "content_changed"),
        ("UPDATE mnemo.event SET changes = '{}' WHERE seq = 2", "event_changed"),
        ("DELETE FROM mnemo.event WHERE seq = 2", "event_missing"),
    ],
)
def test_a_broken_chain_is_left_alone(
    chain_db: psycopg.Connection, tampering: str, reason: str
) -> None:
    """What somebody forged must not be carried over as the truth; other chains go on."""
    for number in range(3):
        remember(chain_db, f"m{number}", agent_id="ana")
        remember(chain_db, f"m of ben {number}", agent_id="ben")
    seal(chain_db)
    chain_db.execute(tampering + " AND agent_id = 'ana'")  # type: ignore[operator]
    before = scalar(chain_db, "SELECT count(*) FROM mnemo.event WHERE agent_id = 'ana'")
    answer = {one["agent_id"]: one for one in rows(chain_db, "retain_events",
                                                   before=now(chain_db))}  # fmt: skip
    assert (answer["ana"]["status"], answer["ana"]["reason"], answer["ana"]["removed"]) == (
        "broken", reason, 0,
    )  # fmt: skip
    assert answer["ben"]["status"] == "removed"
    assert scalar(chain_db, "SELECT count(*) FROM mnemo.event WHERE agent_id = 'ana'") == before
    assert verify(chain_db, agent_id="ana")["reason"] == reason


def test_records_in_use_wait_for_the_next_call(
    module_dsn: str, chain_db: psycopg.Connection
) -> None:
    """Retention waits for nobody: it goes as far as it can."""
    records = [remember(chain_db, f"m{number}", agent_id="ana") for number in range(4)]
    seal(chain_db)
    chain_db.execute("SET lock_timeout = '2s'")
    before = now(chain_db)
    with psycopg.connect(module_dsn) as other:
        rows(other, "share", id=records[2], to_agents=["ben"], agent_id="ana")
        assert [one["anchor_seq"] for one in retain(chain_db, before)] == [2]
        other.commit()
    assert findings(chain_db) == []
    seal(chain_db)
    assert [one["anchor_seq"] for one in retain(chain_db, before)] == [4]
    assert findings(chain_db) == []
