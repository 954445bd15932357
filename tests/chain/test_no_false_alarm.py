"""What the functions do is no alarm: deletion, redaction, expiry, sharing, retention, dumps."""

from __future__ import annotations

import random

import psycopg
import pytest

from tests.chain.conftest import (
    OWNERS,
    REDACTED,
    Life,
    change,
    delete_for_good,
    findings,
    note,
    owners,
    seal,
    verify,
)
from tests.support.calls import refused, row, rows, scalar, value
from tests.support.records import remember, remember_plan
from tests.support.server import Server


def test_an_empty_database_verifies(chain_db: psycopg.Connection) -> None:
    answer = verify(chain_db, agent_id="nobody")
    assert answer == {
        "ok": True, "checked": 0, "unsealed": 0, "first_bad_id": None, "reason": None,
        "head": None, "detail": None, "head_seq": 0, "anchor_seq": 0, "records": 0,
    }  # fmt: skip
    seal(chain_db)
    assert rows(chain_db, "chain_heads") == []


def test_what_is_not_sealed_is_counted(chain_db: psycopg.Connection) -> None:
    for turn in range(3):
        remember(chain_db, f"m{turn}", agent_id="ana")
        remember(chain_db, f"m{turn}", agent_id="ben")
    answer = verify(chain_db, agent_id="ana")
    assert (answer["ok"], answer["checked"], answer["unsealed"], answer["records"]) == (
        True, 0, 3, 3,
    )  # fmt: skip
    assert value(chain_db, "seal", limit=2) == 4
    seal(chain_db)
    answer = verify(chain_db, agent_id="ana")
    assert (answer["ok"], answer["checked"], answer["unsealed"]) == (True, 3, 0)
    assert len(answer["head"]) == 32
    assert answer["head_seq"] == 3


def test_a_random_life_raises_no_alarm(chain_db: psycopg.Connection, life: Life) -> None:
    """Whatever is done, in whatever order, sealed or not, before and after retention."""
    done = set()
    for turn in range(400):
        done.add(life.step())
        if turn % 40 == 20:
            value(chain_db, "seal", limit=life.random.randint(1, 100))
        if turn % 80 == 60:
            before = scalar(chain_db, "SELECT max(happened_at) - interval '200 ms' FROM mnemo.event"
                            " WHERE seq IS NOT NULL")  # fmt: skip
            retained = rows(chain_db, "retain_events", before=before,
                            limit=life.random.randint(1, 50))  # fmt: skip
            assert {one["status"] for one in retained} <= {"removed"}
        if turn % 20 == 0:
            assert findings(chain_db, owners(chain_db) or OWNERS) == []
    assert len(done) >= 10
    seal(chain_db)
    assert findings(chain_db) == []
    assert scalar(chain_db, "SELECT count(*) FROM mnemo.chain_head WHERE anchor_seq > 0") > 0
    # Every record is watched over by exactly one chain.
    watched = sum(verify(chain_db, agent_id=a, org_id=o)["records"] for a, o in OWNERS)
    assert watched == scalar(chain_db, "SELECT count(*) FROM mnemo.memory")


def test_grants_that_end_or_go_with_their_record_are_no_alarm(
    chain_db: psycopg.Connection,
) -> None:
    record = remember(chain_db, agent_id="ana")
    rows(chain_db, "share", id=record, to_agents=["ben"], ttl="1 microsecond", agent_id="ana")
    rows(chain_db, "share", id=record, to_agents=["cem"], agent_id="ana")
    chain_db.execute("DELETE FROM mnemo.acl WHERE agent_id = 'ben'")
    assert findings(chain_db) == []
    rows(chain_db, "forget", ids=[record], agent_id="ana")
    chain_db.execute("DELETE FROM mnemo.acl")
    assert findings(chain_db) == []


def test_erasing_notes_is_no_alarm(chain_db: psycopg.Connection) -> None:
    record = remember(chain_db, agent_id="ana")
    note(chain_db, record, "said by the customer")
    seal(chain_db)
    chain_db.execute("DELETE FROM mnemo.event_note")
    assert findings(chain_db) == []


def test_the_free_columns_are_free(chain_db: psycopg.Connection) -> None:
    remember(chain_db, agent_id="ana")
    seal(chain_db)
    chain_db.execute(
        "UPDATE mnemo.memory SET access_count = access_count + 1, last_accessed_at = now(),"
        " updated_at = now()"
    )
    assert findings(chain_db) == []


def test_importance_is_compared_to_the_last_digit(chain_db: psycopg.Connection) -> None:
    """Whatever extra_float_digits the writer and the verifier have."""
    chain_db.execute("SET extra_float_digits = -10")
    for importance in (0.1 + 0.2, 1 / 3, 5e-324, 1 - 2**-53, 0.0, 1.0, 0.123456789012345678):
        record = remember(chain_db, importance=importance, agent_id="ana")
        change(chain_db, record, "memory_update", f"importance = {importance / 3!r}")
        assert findings(chain_db) == []
    chain_db.execute("RESET extra_float_digits")
    assert findings(chain_db) == []


def test_events_are_in_order_although_the_clock_goes_back(chain_db: psycopg.Connection) -> None:
    """The last of three changes is the last in the chain."""
    record = remember(chain_db, agent_id="ana")
    chain_db.execute("UPDATE mnemo.event SET id = 'ffffffff-ffff-7fff-bfff-fffffffffff0'")
    for importance in ("0.1", "0.2", "0.3"):
        change(chain_db, record, "memory_update", f"importance = {importance}")
    seal(chain_db)
    assert findings(chain_db) == []
    assert [one["changes"].get("importance") for one in rows(
        chain_db, "history", id=record, agent_id="ana")] == [0.5, 0.1, 0.2, 0.3]  # fmt: skip


def test_a_record_can_come_back_by_a_new_writing(chain_db: psycopg.Connection) -> None:
    """As an import does it after a deletion for good."""
    record = remember(chain_db, agent_id="ana")
    chain_db.execute("CREATE TEMP TABLE kept AS SELECT * FROM mnemo.memory")
    delete_for_good(chain_db, record)
    assert findings(chain_db) == []
    chain_db.execute("INSERT INTO mnemo.memory SELECT * FROM kept")
    assert [found[3] for found in findings(chain_db)] == ["record_after_deletion"]
    chain_db.execute(
        "INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id, memory_id,"
        " actor_org_id, actor_agent_id, happened_at, content_hash, changes)"
        " SELECT 'default', mnemo._next_event_id(m.org_id, m.id), 'ana', 'memory_write', m.org_id,"
        "        m.id, 'default', 'ana', now(), m.content_hash, mnemo._bound_state(m)"
        "   FROM mnemo.memory AS m"
    )
    assert findings(chain_db) == []


def test_sealing_needs_fresh_snapshots(module_dsn: str, chain_db: psycopg.Connection) -> None:
    remember(chain_db, agent_id="ana")
    for level in (psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE):
        with psycopg.connect(module_dsn) as conn:
            conn.isolation_level = level
            with refused("55000"):
                value(conn, "seal")
            conn.rollback()
            with refused("55000"):
                rows(conn, "retain_events", before="2020-01-01")
            conn.rollback()
            # A write goes on without sealing.
            conn.execute("SELECT mnemo._seal_if_many('default', 'ana', 1000000)")


@pytest.mark.parametrize("form", ["c", "p"])
def test_a_dump_and_its_restore_verify(
    server: Server, chain_db: psycopg.Connection, life: Life, form: str
) -> None:
    """Under other settings too: the heads are the same, and the chain goes on."""
    for _ in range(60):
        life.step()
    seal(chain_db)
    for _ in range(10):
        life.step()
    head = verify(chain_db, agent_id="ana")["head"]
    source = scalar(chain_db, "SELECT current_database()")
    path = server.folder / f"chain_dump.{form}"
    server.run("pg_dump", f"-F{form}", "-f", path, server.dsn(source))
    dsn = server.create_database(f"restored_{form}")
    if form == "p":
        server.run("psql", "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-f", path, dsn)
    else:
        server.run("pg_restore", "--exit-on-error", "-d", dsn, path)
    with psycopg.connect(dsn, autocommit=True) as restored:
        restored.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'")
        restored.execute("SET extra_float_digits = -5; SET bytea_output = 'escape'")
        assert findings(restored) == []
        seal(restored)
        assert verify(restored, agent_id="ana", expected_head=head)["ok"]
        remember(restored, agent_id="ana")
        seal(restored)
        assert verify(restored, agent_id="ana", expected_head=head)["ok"]
    server.drop_database(f"restored_{form}")


def test_redaction_leaves_a_record_that_verifies(chain_db: psycopg.Connection) -> None:
    record = remember(chain_db, "Zoe's secret", agent_id="ana", thread_id="t1", importance=0.7)
    hash_before = scalar(chain_db, "SELECT content_hash FROM mnemo.memory")
    change(chain_db, record, "memory_redact", REDACTED)
    seal(chain_db)
    assert findings(chain_db) == []
    assert scalar(chain_db, "SELECT content_hash FROM mnemo.memory") == hash_before
    # What redaction left is still bound.
    for tampering in ("source_type = 'human'", "memory_type = 'semantic'", "importance = 0.8",
                      "redacted_at = now() + interval '1 s'", "kind = 'project'",
                      "created_at = created_at + interval '1 us'",
                      "tags = '{__experience_plan__}'"):  # fmt: skip
        with chain_db.transaction(force_rollback=True):
            chain_db.execute(f"UPDATE mnemo.memory SET {tampering}")
            assert [found[3] for found in findings(chain_db)] == ["column_changed"], tampering


def test_random_ids_after_the_last_one(chain_db: psycopg.Connection) -> None:
    """The number after any id, with its carries, is a greater id."""
    generator = random.Random(3)
    for _ in range(200):
        tail = "f" * generator.randint(0, 14)
        last = f"{generator.getrandbits(128) | 1 << 127:032x}"[: 32 - len(tail)] + tail
        if last[18:] == "f" * 14:
            continue
        with chain_db.transaction(force_rollback=True):
            remember(chain_db, agent_id="ana")
            chain_db.execute("UPDATE mnemo.event SET id = %s", (last,))
            following = scalar(chain_db, "SELECT mnemo._next_event_id(memory_org_id, memory_id)"
                               " FROM mnemo.event")  # fmt: skip
            assert following.int == int(last, 16) + 1


def test_plans_are_memories(chain_db: psycopg.Connection) -> None:
    plan = remember_plan(chain_db, "how to pay", agent_id="ana")
    seal(chain_db)
    assert row(chain_db, "verify_chain", agent_id="ana")["records"] == 1
    with chain_db.transaction(force_rollback=True):
        chain_db.execute(
            "UPDATE mnemo.memory SET metadata = jsonb_set(metadata,"
            " '{experience_plan,steps,0}', '\"send the money elsewhere\"')"
        )
        found = findings(chain_db)
        assert [(one[2], one[3]) for one in found] == [(plan, "content_changed")]
