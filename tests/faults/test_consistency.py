"""The look for halves sees each kind of them; other tests of this folder rest on it."""

from __future__ import annotations

import psycopg

from tests.support.calls import row, rows
from tests.support.consistency import inconsistencies

WHO = {"agent_id": "ana", "org_id": "acme"}
PLAN = "(SELECT id FROM mnemo.memory WHERE content = 'a plan to keep')"
HALVES = {
    "record without its first event": f"DELETE FROM mnemo.event WHERE memory_id = {PLAN}"
    " AND event_type = 'plan_write'",
    "event without its record": "DELETE FROM mnemo.memory WHERE content = 'a memory'",
    "deleted record without the event": "UPDATE mnemo.memory SET deleted_at = now()"
    " WHERE content = 'a memory'",
    "record that an event deleted and that is there": "UPDATE mnemo.memory SET deleted_at = NULL",
    "plan without its signature row": f"DELETE FROM mnemo.plan_signature WHERE plan_id = {PLAN}"
    " AND grantee_agent_id IS NULL",
    "signature row without its plan": "UPDATE mnemo.memory SET deleted_at = now()"
    f" WHERE id = {PLAN}",
    "signature row that differs from its plan": "UPDATE mnemo.plan_signature"
    " SET signature = signature[2:], size = size - 1 WHERE grantee_agent_id IS NULL",
    "grant without its signature row": "DELETE FROM mnemo.plan_signature"
    " WHERE grantee_agent_id IS NOT NULL",
    "signature row without its grant": "DELETE FROM mnemo.acl",
    "grant without the event": "DELETE FROM mnemo.event WHERE event_type = 'memory_share'",
    "idempotency key without its record": "UPDATE mnemo.idempotency"
    " SET memory_id = '018f0000-0000-7000-8000-000000000000'",
}


def test_each_kind_is_seen(db: psycopg.Connection) -> None:
    """A whole store has none; one that is broken on purpose has that one."""
    plan = row(db, "remember_plan", query="a plan to keep", steps=["a"], chunk_ids=[],
               outcome_score=1, scope="shared", idempotency_key="k", **WHO)["id"]  # fmt: skip
    rows(db, "share", id=plan, to_agents=["ben"], **WHO)
    row(db, "remember", content="a memory", **WHO)
    gone = row(db, "remember", content="a memory to forget", **WHO)["id"]
    rows(db, "forget", ids=[gone], **WHO)
    assert inconsistencies(db) == []
    for kind, breaking in HALVES.items():
        with db.transaction(force_rollback=True):
            db.execute(breaking)
            assert kind in {found for found, _, _ in inconsistencies(db)}
    assert inconsistencies(db) == []
