"""mnemo.sweep: what it does to what, within which bounds; touch and log_read."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from mnemo_pg import Mnemo
from mnemo_pg.types import ErasedKind, SweepTask, TouchStatus
from tests.forget.conftest import count, events, forgotten, memory, plan, stored
from tests.support.calls import contents, refused, row, rows, scalar, value

YEAR = "1 year"
PERMISSIONS = ("read", "write", "delete", "share")


def _sweep(conn: psycopg.Connection, **arguments: Any) -> dict[str, int]:
    """What one sweep did, by task; what it did not do is not there."""
    found = rows(conn, "sweep", **arguments)
    assert [one["task"] for one in found] == scalar(conn, "SELECT mnemo._labels('sweep_task')")
    assert [one["rank"] for one in found] == list(range(1, 12))
    return {one["task"]: one["done"] for one in found if one["done"]}


def _in(conn: psycopg.Connection, interval: str) -> Any:
    return scalar(conn, "SELECT now() + %s::interval", interval)


# ---- records


def test_an_empty_store_has_nothing_to_sweep(db: psycopg.Connection) -> None:
    assert _sweep(db) == {}
    assert not any(one["more"] for one in rows(db, "sweep"))


@pytest.mark.parametrize("kind", ["memory", "plan"])
@pytest.mark.parametrize("scope", ["private", "public", "global"])
def test_expired_records_are_deleted(tx: psycopg.Connection, kind: str, scope: str) -> None:
    """With an event, out of every index; others stay, and one that is deleted is not deleted
    again."""
    make = memory if kind == "memory" else plan
    expired = make(tx, ttl="1 hour", scope=scope, agent_id="ben")
    kept = [make(tx, ttl="3 hours"), make(tx)]
    deleted = make(tx, ttl="1 hour")
    forgotten(tx, ids=[deleted])
    before = [stored(tx, one) for one in kept]
    _sweep(tx)
    assert _sweep(tx, now=_in(tx, "2 hours")) == {"expired": 1, "events": 1} | (
        {"terms": 1} if kind == "memory" else {}
    )
    ((event_type, actor, changes),) = events(tx, expired)
    assert (event_type, actor, set(changes)) == ("memory_expired", "ben", {"deleted_at"})
    after = stored(tx, expired)
    assert after is not None
    assert after["content"] is not None
    assert [stored(tx, one) for one in kept] == before
    assert count(tx, "plan_signature" if kind == "plan" else "term_vector") == 2
    assert _sweep(tx, now=_in(tx, "2 hours")) == {}


def test_working_memory_goes(tx: psycopg.Connection) -> None:
    record = memory(tx, memory_type="working")
    assert "expired" not in _sweep(tx)
    assert _sweep(tx, now=_in(tx, "61 minutes"))["expired"] == 1
    assert _sweep(tx, now=_in(tx, "31 days 2 hours"))["purged"] == 1
    assert stored(tx, record) is None
    assert [one[:1] for one in events(tx, record)] == [("memory_expired",), ("memory_expired",)]
    assert events(tx, record)[-1][2] == {"hard": True}


def test_purging_goes_by_the_setting_of_the_organisation(db: psycopg.Connection) -> None:
    """Redacted records stay: they are the evidence."""
    orgs = ("default", "acme", "globex")
    ids = {org: memory(db, org_id=org) for org in orgs}
    everyone = memory(db, scope="global")
    redacted = memory(db)
    for org, record in ids.items():
        forgotten(db, ids=[record], org_id=org)
    forgotten(db, ids=[everyone])
    forgotten(db, ids=[redacted], strategy="redact")
    db.execute("SELECT mnemo.configure('purge_after', 'never', 'acme')")
    db.execute("SELECT mnemo.configure('purge_after', '2 hours', 'globex')")
    assert "purged" not in _sweep(db, now=_in(db, "119 minutes"))
    assert _sweep(db, now=_in(db, "121 minutes"))["purged"] == 1
    assert stored(db, ids["globex"]) is None
    assert "purged" not in _sweep(db, now=_in(db, "29 days"))
    assert _sweep(db, now=_in(db, "31 days"))["purged"] == 2
    assert stored(db, ids["default"]) is None
    assert stored(db, everyone) is None
    db.execute("SELECT mnemo.configure('purge_after', '0 days')")
    assert "purged" not in _sweep(db, now=_in(db, YEAR))
    assert {one for (one,) in db.execute("SELECT id FROM mnemo.memory")} == {ids["acme"], redacted}


@pytest.mark.parametrize(
    "value_",
    ["", "30", "30 day", "1 month", "-1 days", "1.5 days", "Never", "1 days ", "1000000000 days"],
)
def test_bad_times_to_purge(tx: psycopg.Connection, value_: str) -> None:
    with refused("22023", "p_value"):
        value(tx, "configure", name="purge_after", value=value_)


# ---- grants, delegations, keys, statistics, events


@pytest.mark.parametrize("kind", ["memory", "plan"])
def test_ended_grants_go(tx: psycopg.Connection, kind: str) -> None:
    """With what the indexes hold for them, and an event; others on the same record stay."""
    record = (memory if kind == "memory" else plan)(tx, "zanzibar", scope="shared")
    rows(tx, "share", id=record, to_agents=["ben", "cem"], ttl="1 hour", agent_id="ana")
    rows(tx, "share", id=record, to_agents=["dua"], agent_id="ana")
    index = "plan_signature" if kind == "plan" else "term_posting"
    before = count(tx, index)
    assert _sweep(tx, now=_in(tx, "2 hours"))["grants"] == 2
    assert count(tx, index) == before // 2
    assert events(tx, record)[-1] == ("memory_unshare", "ana", {"agents": ["ben", "cem"]})
    assert scalar(tx, "SELECT agent_id FROM mnemo.acl") == "dua"
    assert _sweep(tx, now=_in(tx, "2 hours")).get("grants") is None


def test_ended_delegations_go(db: psycopg.Connection) -> None:
    """Once nothing depends on them, and never before their time by the clock."""
    made = []
    for parent, ends, revoked in ((None, "-1 h", None), (0, "-1 h", None), (1, None, "-1 h"),
                                  (None, None, None), (None, "1 h", None)):  # fmt: skip
        made.append(uuid4())
        db.execute(
            "INSERT INTO mnemo.delegation (org_id, id, from_agent_id, to_agent_id, permission,"
            " max_depth, parent_id, created_at, expires_at, revoked_at, root_agent_id)"
            " VALUES ('default', %s, 'ana', 'ben', 'read', 1, %s, now(), now() + %s::interval,"
            " now() + %s::interval, 'ana')",
            [made[-1], None if parent is None else made[parent], ends, revoked],
        )
    done = [_sweep(db, now=_in(db, YEAR)).get("delegations", 0) for _ in range(4)]
    assert done == [1, 1, 1, 0]
    left = {one for (one,) in db.execute("SELECT id FROM mnemo.delegation")}
    assert left == set(made[3:])


def test_keys_without_a_record_go(db: psycopg.Connection) -> None:
    for n in range(5):
        memory(db, idempotency_key=f"k{n}")
    db.execute(
        "UPDATE mnemo.idempotency SET memory_id = gen_random_uuid() WHERE key IN ('k1','k3')"
    )
    assert _sweep(db)["idempotency_keys"] == 2
    found = db.execute("SELECT key FROM mnemo.idempotency ORDER BY key").fetchall()
    assert found == [("k0",), ("k2",), ("k4",)]


def test_statistics_are_folded_in_and_events_sealed(tx: psycopg.Connection) -> None:
    for org in ("default", "acme"):
        for n in range(3):
            memory(tx, f"word{n}", org_id=org)
    memory(tx, "everyone", scope="global")
    assert _sweep(tx) == {"terms": 7, "events": 7}
    assert count(tx, "term_change") == 0
    assert scalar(tx, "SELECT count(*) FROM mnemo.event WHERE seq IS NULL") == 0


def test_a_call_is_bounded(db: psycopg.Connection) -> None:
    """At most p_limit of each task, and more says that there are; calls go on to the end."""
    for n in range(7):
        org = f"org{n % 3}"
        memory(db, ttl="1 hour", org_id=org)
        old = memory(db, org_id=org)
        forgotten(db, ids=[old], org_id=org)
        shared = memory(db, org_id=org)
        rows(db, "share", id=shared, to_agents=["ben"], ttl="1 hour", agent_id="ana", org_id=org)
    later = _in(db, "40 days")
    done: list[dict[str, int]] = []
    more = True
    while more:
        found = rows(db, "sweep", limit=3, now=later)
        more = any(one["more"] for one in found)
        done.append({one["task"]: one["done"] for one in found})
        assert len(done) < 10
    for task in ("expired", "purged", "grants"):
        assert all(one[task] <= 3 for one in done)
    # What expires by a clock put forward is purged by it as well.
    assert [sum(one[t] for one in done) for t in ("expired", "purged", "grants")] == [7, 14, 7]
    assert count(db, "memory") == 7


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [({"limit": n}, "p_limit") for n in (0, -1, 10_001, None)]
    + [({"now": n}, "p_now") for n in ("infinity", "-infinity", "20000-01-01")],
)
def test_bad_arguments_change_nothing(
    tx: psycopg.Connection, arguments: dict[str, Any], parameter: str
) -> None:
    memory(tx, ttl="1 microsecond")
    before = contents(tx)
    with refused("22023", parameter):
        _sweep(tx, **arguments)
    assert contents(tx) == before


def test_it_needs_fresh_snapshots(db: psycopg.Connection, module_dsn: str) -> None:
    with psycopg.connect(module_dsn) as conn:
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with refused("55000"):
            rows(conn, "sweep")


# ---- touch and log_read


def _used(conn: psycopg.Connection, record: UUID) -> tuple[int, bool]:
    found = conn.execute(
        "SELECT access_count, last_accessed_at IS NOT NULL FROM mnemo.memory WHERE id = %s",
        [record],
    ).fetchone()
    assert found is not None
    return found[0], found[1]


def test_a_touch_counts_a_use(tx: psycopg.Connection) -> None:
    """Of memories and plans, once a call; nothing else changes and no event is written."""
    used, unused = [memory(tx), plan(tx)], memory(tx)
    before = [stored(tx, one) for one in used]
    for n in (1, 2):
        found = rows(tx, "touch", ids=[*used, used[0]], agent_id="ana")
        assert found == [{"id": one, "status": "touched"} for one in sorted(used)]
        assert [_used(tx, one) for one in used] == [(n, True)] * 2
    free = {"access_count": 0, "last_accessed_at": None}
    assert [(stored(tx, one) or {}) | free for one in used] == before
    assert _used(tx, unused) == (0, False)
    assert count(tx, "event") == 3


@pytest.mark.parametrize("function", ["touch", "log_read"])
def test_reading_is_enough_to_report_it(db: psycopg.Connection, function: str) -> None:
    """And needed: what cannot be read is unknown, and then nothing is written."""
    readable = [memory(db, scope=s) for s in ("public", "global")]
    readable.append(memory(db, scope="shared"))
    rows(db, "share", id=readable[-1], to_agents=["ben"], agent_id="ana")
    assert len(rows(db, function, ids=readable, agent_id="ben")) == 3
    for hidden in (memory(db), memory(db, scope="shared"), uuid4(), memory(db, org_id="acme")):
        before = contents(db)
        with refused("MN001", "p_ids"):
            rows(db, function, ids=[*readable, hidden], agent_id="ben")
        assert contents(db) == before
    for bad in ([], None, [None]):
        with refused("22023", "p_ids"):
            rows(db, function, ids=bad, agent_id="ben")


def test_a_read_is_an_event_of_the_owners_chain(tx: psycopg.Connection) -> None:
    record = memory(tx, scope="public")
    for query in ("what was said", None):
        (answer,) = rows(tx, "log_read", ids=[record, record], query=query, agent_id="ben")
        (event,) = rows(tx, "history", id=record, agent_id="ana")[-1:]
        assert answer == {"id": record, "event_id": event["id"]}
        assert (event["event_type"], event["agent_id"], event["actor_agent_id"]) == (
            "memory_read", "ana", "ben",
        )  # fmt: skip
        assert (event["note"], event["changes"]) == (query, {})
    for bad in (" ", ""):
        with refused("22023", "p_query"):
            rows(tx, "log_read", ids=[record], query=bad, agent_id="ben")
    with refused("54000", "p_query"):
        rows(tx, "log_read", ids=[record], query="x" * 100_001, agent_id="ben")


def test_what_was_asked_stays_in_the_organisation(tx: psycopg.Connection) -> None:
    """A reader elsewhere does not tell the owner of a global record what it looked for."""
    record = memory(tx, scope="global")
    rows(tx, "log_read", ids=[record], query="our secret plan", agent_id="eve", org_id="acme")
    assert count(tx, "event_note") == 0
    (event,) = rows(tx, "history", id=record, agent_id="ana")[-1:]
    assert (event["actor_org_id"], event["note"]) == ("acme", None)


def test_the_answers_are_typed(db: psycopg.Connection) -> None:
    record = memory(db, subject="zoe")
    m = Mnemo(db, agent_id="ana")
    assert m.touch([record])[0].status is TouchStatus.TOUCHED
    assert m.log_read([record], query="who")[0].id == record
    assert [(one.kind, one.erased) for one in m.forget_subject("Zoe")][:2] == [
        (ErasedKind.MEMORIES, 1), (ErasedKind.PLANS, 0),
    ]  # fmt: skip
    assert [one.task for one in m.sweep(limit=10)] == list(SweepTask)
    assert row(db, "verify_chain", agent_id="ana")["ok"]
