"""mnemo.remember: defaults, fields, normal forms, events, idempotency, ids, transactions."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.reference.hash import COLUMNS
from tests.support.calls import contents, refused, row, rows, scalar, value, wait_for_blocked

HOUR = timedelta(hours=1)


def _stored(conn: psycopg.Connection, record_id: UUID) -> dict[str, Any]:
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute("SELECT * FROM mnemo.memory WHERE id = %s", (record_id,)).fetchall()
    assert len(found) == 1
    return found[0]


def _events(conn: psycopg.Connection, record_id: UUID) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT * FROM mnemo.event WHERE memory_id = %s ORDER BY id", (record_id,)
        ).fetchall()


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# ---- fields


def test_defaults(tx: psycopg.Connection) -> None:
    answer = row(tx, "remember", content="hello")
    assert answer["status"] == "stored"
    record = row(tx, "get_memories", ids=[answer["id"]])
    created = record["created_at"]
    assert record == {
        "position": 1, "id": answer["id"], "org_id": "default", "origin_org_id": "default",
        "owner_agent_id": "default", "content": "hello", "memory_type": "episodic",
        "scope": "private", "importance": 0.5, "tags": [], "metadata": {}, "source_type": "agent",
        "source_id": None, "thread_id": None, "created_by": None, "consolidation_state": "raw",
        "kind": None, "subject": None, "predicate": None, "entities": [], "aliases": [],
        "location": None, "confidence": None, "status": "active", "valid_from": created,
        "valid_to": None, "temporal_scope": "persistent", "version": 1, "prev_version_id": None,
        "access_count": 0, "last_accessed_at": None, "created_at": created,
        "updated_at": created, "expires_at": None, "content_hash": answer["content_hash"],
    }  # fmt: skip
    hidden = _stored(tx, answer["id"])
    assert (hidden["quarantined"], hidden["quarantine_reason"]) == (False, None)
    assert (hidden["deleted_at"], hidden["redacted_at"]) == (None, None)
    assert abs(scalar(tx, "SELECT now()") - created) < timedelta(minutes=1)


EVERY_FIELD: dict[str, Any] = {
    "content": "  Zoë said:\n'no' \\ \U0001f680  ", "scope": "public", "memory_type": "semantic",
    "importance": 0.30000000000000004, "tags": ["b", "a", "é"],
    "metadata": {"k": [1, 2.5, None, {"d": "ü"}]}, "source_type": "tool_output",
    "source_id": "doc:17", "thread_id": "t-1", "created_by": "Ops team", "kind": "preference",
    "subject": "zoë van dijk", "predicate": "prefers", "entities": ["Tea", "tea"],
    "aliases": ["Z."], "location": "北京 / Beijing", "confidence": 0.1, "status": "superseded",
    "valid_from": datetime(1950, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "valid_to": datetime(2050, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5))),
    "temporal_scope": "scheduled",
}  # fmt: skip


def test_every_field_is_stored_and_returned(tx: psycopg.Connection) -> None:
    answer = row(tx, "remember", **EVERY_FIELD, ttl=timedelta(days=2), agent_id="a.1", org_id="o/1")
    record = row(tx, "get_memories", ids=[answer["id"]], agent_id="a.1", org_id="o/1")
    assert {name: record[name] for name in EVERY_FIELD} == EVERY_FIELD
    assert (record["org_id"], record["origin_org_id"]) == ("o/1", "o/1")
    assert record["owner_agent_id"] == "a.1"
    assert record["expires_at"] == record["created_at"] + timedelta(days=2)
    assert record["content_hash"] == answer["content_hash"]
    assert len(answer["content_hash"]) == 32


@pytest.mark.parametrize(
    ("parameter", "label_set"),
    [
        ("scope", "scope"), ("memory_type", "memory_type"), ("source_type", "source_type"),
        ("kind", "kind"), ("status", "memory_status"), ("temporal_scope", "temporal_scope"),
    ],
)  # fmt: skip
def test_every_label_can_be_written(tx: psycopg.Connection, parameter: str, label_set: str) -> None:
    labels = scalar(tx, "SELECT mnemo._labels(%s)", label_set)
    for label in labels:
        answer = row(tx, "remember", content="x", **{parameter: label})
        assert _stored(tx, answer["id"])[parameter] == label


def test_null_means_the_default_everywhere(tx: psycopg.Connection) -> None:
    names = scalar(
        tx,
        "SELECT p.proargnames[1:p.pronargs] FROM pg_proc AS p"
        " WHERE p.oid = 'mnemo.remember'::regproc",
    )
    arguments = {name.removeprefix("p_"): None for name in names}
    answer = row(tx, "remember", **arguments | {"content": "x"})
    left_out = row(tx, "remember", content="x")
    differing = {"id", "content_hash", "nonce", "created_at", "updated_at", "valid_from"}
    first, second = (_stored(tx, found["id"]) for found in (answer, left_out))
    assert {k: v for k, v in first.items() if k not in differing} == {
        k: v for k, v in second.items() if k not in differing
    }


@pytest.mark.parametrize(
    ("scope", "org_id"),
    [("private", "acme"), ("shared", "acme"), ("public", "acme"), ("global", "*")],
)
def test_global_records_live_under_the_reserved_organisation(
    tx: psycopg.Connection, scope: str, org_id: str
) -> None:
    answer = row(tx, "remember", content="x", scope=scope, org_id="acme")
    record = _stored(tx, answer["id"])
    assert (record["org_id"], record["origin_org_id"]) == (org_id, "acme")


# ---- normal forms


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("Alice", "alice"), ("  Alice \t Smith\n", "alice smith"), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("\u3000Zoë\u00a0\u2003VAN\u3000Dijk\u00a0", "zoë van dijk"), ("İ", "i\u0307"),
        ("STRASSE", "strasse"), ("Straße", "straße"), ("ДОМ", "дом"), ("_", "_"), ("10%", "10%"),
    ],
)  # fmt: skip
def test_subject_is_lower_cased_with_single_spaces(
    tx: psycopg.Connection, given: str, stored: str
) -> None:
    answer = row(tx, "remember", content="x", subject=given)
    assert _stored(tx, answer["id"])["subject"] == stored


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("works at", "works_at"),
        ("Works-At", "works_at"),
        ("__works__at__", "works_at"),
        (" lives\u00a0in ", "lives_in"),
        ("42", "42"),
        ("has é accent", "has_accent"),
    ],
)
def test_predicate_is_canonical(tx: psycopg.Connection, given: str, stored: str) -> None:
    answer = row(tx, "remember", content="x", predicate=given)
    assert _stored(tx, answer["id"])["predicate"] == stored
    assert value(tx, "canonical_predicate", text=given) == stored


@pytest.mark.parametrize("parameter", ["tags", "entities", "aliases"])
def test_lists_lose_duplicates_and_keep_their_order(tx: psycopg.Connection, parameter: str) -> None:
    """Compared exactly: case, accents and spaces make different elements."""
    given = ["b", "a", "b", "A", "a ", "é", "e\u0301", "b", "a"]
    answer = row(tx, "remember", content="x", **{parameter: given})
    assert _stored(tx, answer["id"])[parameter] == ["b", "a", "A", "a ", "é", "e\u0301"]


@pytest.mark.parametrize("parameter", ["tags", "entities", "aliases"])
@pytest.mark.parametrize("given", ["[5:5]={a}", "[0:1]={a,b}", "[-1:1]={a,b,a}"])
def test_lists_are_stored_with_subscripts_from_one(
    tx: psycopg.Connection, parameter: str, given: str
) -> None:
    answer = row(tx, "remember", content="x", **{parameter: given})
    first, lower = tx.execute(
        f"SELECT ({parameter})[1], array_lower({parameter}, 1)"  # type: ignore[arg-type]
        " FROM mnemo.memory WHERE id = %s", (answer["id"],),
    ).fetchall()[0]  # fmt: skip
    assert (first, lower) == ("a", 1)


def test_content_is_kept_as_it_is(tx: psycopg.Connection) -> None:
    """Not trimmed, not normalised; 1 MB of it, and what is blank to nobody but the eye."""
    for content in (" x\n", "e\u0301", "\u200b", "\x01", "x" * 1_048_576, "\ufeff", "\U0010ffff"):
        answer = row(tx, "remember", content=content)
        assert _stored(tx, answer["id"])["content"] == content


def test_the_limits_themselves_are_allowed(tx: psycopg.Connection) -> None:
    tags = [f"{n:03}" + "é" * 253 for n in range(100)]
    texts = dict.fromkeys(
        ("source_id", "thread_id", "created_by", "subject", "location", "idempotency_key"),
        "ß" * 256,
    )
    answer = row(
        tx, "remember", content="x", tags=tags, entities=tags, aliases=tags, **texts,
        predicate="p" * 256, agent_id="a" * 256, org_id="o" * 256, importance=1, confidence=0,
        metadata={"k": "m" * (1_048_576 - len('{"k": ""}'))}, ttl=timedelta(microseconds=1),
    )  # fmt: skip
    record = _stored(tx, answer["id"])
    assert record["tags"] == tags
    assert record["subject"] == "ß" * 256
    assert record["confidence"] == 0


# ---- expiry


@pytest.mark.parametrize(
    ("memory_type", "ttl", "lifetime"),
    [
        ("working", None, HOUR), ("working", timedelta(days=1), timedelta(days=1)),
        ("working", timedelta(seconds=1), timedelta(seconds=1)), ("episodic", None, None),
        ("semantic", None, None), ("procedural", None, None), ("episodic", HOUR, HOUR),
        (None, None, None), (None, timedelta(days=365), timedelta(days=365)),
    ],
)  # fmt: skip
def test_lifetime(
    tx: psycopg.Connection,
    memory_type: str | None,
    ttl: timedelta | None,
    lifetime: timedelta | None,
) -> None:
    answer = row(tx, "remember", content="x", memory_type=memory_type, ttl=ttl)
    record = _stored(tx, answer["id"])
    expected = None if lifetime is None else record["created_at"] + lifetime
    assert record["expires_at"] == expected


def test_an_expired_record_is_gone_to_everyone(tx: psycopg.Connection) -> None:
    answer = row(tx, "remember", content="x", scope="public", ttl=timedelta(microseconds=1))
    assert rows(tx, "get_memories", ids=[answer["id"]]) == []
    assert rows(tx, "recall", query=None) == []
    assert value(tx, "check_permission", id=answer["id"], permission="read") is False


# ---- events


def test_one_event_a_write_with_ids_labels_and_numbers_only(tx: psycopg.Connection) -> None:
    words = ("Pomegranate", "Quicksilver", "Rhododendron", "Saxophone", "Tambourine", "Umbrella",
             "Velociraptor", "Windmill", "Xylophone", "Yesterday", "Zeppelin")  # fmt: skip
    answer = row(
        tx, "remember", content=words[0], tags=[words[1]], metadata={words[2]: words[3]},
        source_id=words[4], thread_id=words[5], created_by=words[6], subject=words[7],
        predicate=words[8], entities=[words[9]], aliases=[words[10]], location=words[0],
        kind="project", scope="public", importance=0.123456789012345678, status="retracted",
        ttl=HOUR, valid_to=datetime(2099, 1, 1, tzinfo=UTC), idempotency_key=words[1],
        agent_id="alice", org_id="acme",
    )  # fmt: skip
    (event,) = _events(tx, answer["id"])
    record = _stored(tx, answer["id"])
    assert event["event_type"] == "memory_write"
    assert (event["org_id"], event["agent_id"]) == ("acme", "alice")
    assert (event["actor_org_id"], event["actor_agent_id"]) == ("acme", "alice")
    assert event["memory_org_id"] == record["org_id"]
    assert event["content_hash"] == answer["content_hash"]
    assert event["happened_at"] == record["created_at"]
    assert (event["seq"], event["prev_hash"], event["hash"]) == (None, None, None)
    assert event["changes"] == {
        "scope": "public", "importance": 0.12345678901234568, "consolidation_state": "raw",
        "quarantined": False, "expires_at": _micros(record["expires_at"]),
        "status": "retracted", "valid_to": _micros(record["valid_to"]), "version": 1,
        "prev_version_id": None, "quarantine_reason": None, "deleted_at": None,
        "redacted_at": None, "remains": None,
    }  # fmt: skip
    text = scalar(tx, "SELECT string_agg(e::text, '') FROM mnemo.event AS e").lower()
    assert [word for word in words if word.lower() in text] == []
    assert scalar(tx, "SELECT count(*) FROM mnemo.event_note") == 0


def test_the_event_binds_every_column_that_may_change(tx: psycopg.Connection) -> None:
    """memory-store.md: free are only the counters; the rest is in the hash or in the event."""
    answer = row(tx, "remember", content="x")
    (event,) = _events(tx, answer["id"])
    columns = set(_stored(tx, answer["id"]))
    free = {"access_count", "last_accessed_at", "updated_at", "content_hash"}
    # NULL at birth, set by events of their own.
    later = {"deleted_at", "redacted_at", "quarantine_reason"}
    assert columns - free - later - set(event["changes"]) == set(COLUMNS)


def test_a_global_write_is_an_event_of_its_origin(tx: psycopg.Connection) -> None:
    answer = row(tx, "remember", content="x", scope="global", agent_id="alice", org_id="acme")
    (event,) = _events(tx, answer["id"])
    assert (event["org_id"], event["agent_id"], event["memory_org_id"]) == ("acme", "alice", "*")


def test_a_refused_write_leaves_no_trace(db: psycopg.Connection) -> None:
    """Not in a transaction that goes on either: a savepoint, as drivers and plpgsql use."""
    before = contents(db)
    with db.transaction():
        for bad in ({"content": " "}, {"content": "x", "tags": ["__experience_plan__"]},
                    {"content": "x", "importance": 2, "idempotency_key": "k"}):  # fmt: skip
            with refused("22023"), db.transaction():
                row(db, "remember", **bad)
    assert contents(db) == before
    # The key of a refused write is free.
    assert row(db, "remember", content="x", idempotency_key="k")["status"] == "stored"


# ---- idempotency


def test_the_same_key_gets_the_first_answer_and_writes_nothing(tx: psycopg.Connection) -> None:
    first = row(tx, "remember", content="first", idempotency_key="k 1")
    before = contents(tx)
    for again in (
        {"content": "first"}, {"content": "other words", "scope": "public", "tags": ["x"]},
        {"content": "x", "scope": "global"}, {"content": "x", "memory_type": "working"},
    ):  # fmt: skip
        assert row(tx, "remember", **again, idempotency_key="k 1") == first | {"status": "repeated"}
    assert contents(tx) == before


def test_keys_belong_to_their_owner(tx: psycopg.Connection) -> None:
    """Organisation and agent, compared exactly like the key itself."""
    owners: list[dict[str, Any]] = [
        {}, {"agent_id": "a"}, {"agent_id": "A"}, {"agent_id": "a", "org_id": "o"},
        {"agent_id": "b", "org_id": "o"}, {"agent_id": "o", "org_id": "a"},
    ]  # fmt: skip
    keys = ("k", "K", "k ", "k%", "k_", "\u212a")
    ids = {
        row(tx, "remember", content="x", idempotency_key=key, **owner)["id"]
        for owner in owners
        for key in keys
    }
    assert len(ids) == len(owners) * len(keys)
    answers = [
        row(tx, "remember", content="x", idempotency_key=key, **owner)
        for owner in owners
        for key in keys
    ]
    assert {answer["id"] for answer in answers} == ids
    assert {answer["status"] for answer in answers} == {"repeated"}


def test_a_bad_argument_is_refused_with_a_known_key_too(tx: psycopg.Connection) -> None:
    row(tx, "remember", content="x", idempotency_key="k")
    with refused("22023", "p_content"):
        row(tx, "remember", content=" ", idempotency_key="k")


def test_the_first_answer_stays_after_the_record_is_gone(tx: psycopg.Connection) -> None:
    """A retry of an old request must not bring a forgotten memory back."""
    first = row(tx, "remember", content="x", idempotency_key="k")
    rows(tx, "forget", ids=[first["id"]])
    assert row(tx, "remember", content="x", idempotency_key="k") == first | {"status": "repeated"}
    assert rows(tx, "get_memories", ids=[first["id"]]) == []


def test_the_key_of_a_plan_is_refused(tx: psycopg.Connection) -> None:
    plan = row(tx, "remember_plan", query="how", steps=[], chunk_ids=[], outcome_score=1,
               idempotency_key="k")  # fmt: skip
    before = contents(tx)
    with refused("22023", "p_idempotency_key"):
        row(tx, "remember", content="x", idempotency_key="k")
    assert contents(tx) == before
    row(tx, "remember", content="x", idempotency_key="m")
    before = contents(tx)
    with refused("22023", "p_idempotency_key"):
        row(tx, "remember_plan", query="how", steps=[], chunk_ids=[], outcome_score=1,
            idempotency_key="m")  # fmt: skip
    assert contents(tx) == before
    again = row(tx, "remember_plan", query="other", steps=["x"], chunk_ids=[], outcome_score=1,
                idempotency_key="k")  # fmt: skip
    assert (again["id"], again["status"]) == (plan["id"], "repeated")


def test_a_key_within_one_transaction_and_one_statement(db: psycopg.Connection) -> None:
    with db.transaction():
        first = row(db, "remember", content="x", idempotency_key="k")
        assert row(db, "remember", content="y", idempotency_key="k")["id"] == first["id"]
    found = db.execute(
        "SELECT r.id, r.status FROM generate_series(1, 5) AS g"
        " CROSS JOIN LATERAL mnemo.remember('x' || g, p_idempotency_key => 's') AS r"
    ).fetchall()
    assert len({record_id for record_id, _ in found}) == 1
    assert [status for _, status in found] == ["stored"] + ["repeated"] * 4


def test_a_key_of_a_rolled_back_write_is_free(db: psycopg.Connection) -> None:
    with db.transaction(force_rollback=True):
        lost = row(db, "remember", content="x", idempotency_key="k")
    kept = row(db, "remember", content="x", idempotency_key="k")
    assert kept["status"] == "stored"
    assert kept["id"] != lost["id"]


def test_a_key_with_constraints_made_immediate(tx: psycopg.Connection) -> None:
    """Some frameworks check deferred constraints at once."""
    with tx.transaction():
        tx.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert row(tx, "remember", content="x", idempotency_key="k")["status"] == "stored"
        assert row(tx, "remember", content="x", idempotency_key="k")["status"] == "repeated"


def test_concurrent_use_of_a_key_writes_one_record(dsn: str) -> None:
    """Eight connections, one barrier, ten keys: one record a key, everyone gets its id."""
    workers, keys = 8, 10
    barrier = threading.Barrier(workers)
    answers: list[list[tuple[UUID, str]]] = [[] for _ in range(keys)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                for key in range(keys):
                    barrier.wait(60)
                    found = row(conn, "remember", content=f"from {number}",
                                idempotency_key=f"key {key}")  # fmt: skip
                    answers[key].append((found["id"], found["status"]))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for found in answers:
        assert len({record_id for record_id, _ in found}) == 1
        assert sorted(status for _, status in found) == ["repeated"] * (workers - 1) + ["stored"]
    with psycopg.connect(dsn) as conn:
        assert scalar(conn, "SELECT count(*) FROM mnemo.memory") == keys
        assert scalar(conn, "SELECT count(*) FROM mnemo.event") == keys


@pytest.mark.parametrize("commits", [True, False])
def test_a_second_writer_waits_for_the_first(
    dsn: str, db: psycopg.Connection, commits: bool
) -> None:
    """What it answers depends on how the first transaction ends, not on when it began."""
    with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as second:
        mine = row(first, "remember", content="first", idempotency_key="k")
        theirs: list[dict[str, Any]] = []
        thread = threading.Thread(
            target=lambda: theirs.append(
                row(second, "remember", content="second", idempotency_key="k")
            )
        )
        thread.start()
        wait_for_blocked(db, second.info.backend_pid)
        if commits:
            first.commit()
        else:
            first.rollback()
        thread.join()
    (answer,) = theirs
    assert answer["status"] == ("repeated" if commits else "stored")
    assert (answer["id"] == mine["id"]) == commits
    assert scalar(db, "SELECT count(*) FROM mnemo.memory") == 1


def test_repeats_of_a_key_do_not_wait_for_each_other(dsn: str, db: psycopg.Connection) -> None:
    """A repeat writes nothing, so nobody can wait for it, let alone deadlock with it."""
    keys = ("k1", "k2")
    first = {key: row(db, "remember", content="x", idempotency_key=key)["id"] for key in keys}
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as two:
        two.execute("SET lock_timeout = '3s'")
        for conn, order in ((one, keys), (two, keys[::-1]), (one, keys[::-1]), (two, keys)):
            for key in order:
                answer = row(conn, "remember", content="x", idempotency_key=key)
                assert (answer["id"], answer["status"]) == (first[key], "repeated")


def test_a_key_whose_record_is_gone_from_the_table_is_free(tx: psycopg.Connection) -> None:
    """As after a hard delete, which leaves no answer to repeat."""
    made = row(tx, "remember", content="x", idempotency_key="k")
    tx.execute("DELETE FROM mnemo.memory WHERE id = %s", (made["id"],))
    again = row(tx, "remember", content="x", idempotency_key="k")
    assert again["status"] == "stored"
    assert again["id"] != made["id"]
    assert row(tx, "remember", content="x", idempotency_key="k")["id"] == again["id"]


def test_a_key_committed_after_the_snapshot_asks_for_a_retry(
    dsn: str, db: psycopg.Connection
) -> None:
    """A repeatable-read transaction cannot see the first answer; it must not write a second one."""
    with psycopg.connect(dsn) as late:
        late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        scalar(late, "SELECT count(*) FROM mnemo.memory")
        first = row(db, "remember", content="x", idempotency_key="k")
        with pytest.raises(psycopg.errors.SerializationFailure):
            row(late, "remember", content="x", idempotency_key="k")
        late.rollback()
        assert row(late, "remember", content="x", idempotency_key="k")["id"] == first["id"]


# ---- ids


def test_ids_are_of_version_7_and_sort_by_time(db: psycopg.Connection) -> None:
    before = scalar(db, "SELECT clock_timestamp()")
    ids = [row(db, "remember", content=str(n))["id"] for n in range(200)]
    after = scalar(db, "SELECT clock_timestamp()")
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    for found in ids:
        assert found.version == 7
        assert found.variant == "specified in RFC 4122"
        milliseconds = found.int >> 80
        assert before.timestamp() * 1000 - 1 <= milliseconds <= after.timestamp() * 1000
    # 62 random bits each.
    assert len({found.int & (2**62 - 1) for found in ids}) == len(ids)


def test_ids_made_in_one_statement_are_distinct(tx: psycopg.Connection) -> None:
    made, distinct, disorder = tx.execute(
        "SELECT count(*), count(DISTINCT x.id),"
        "       count(*) FILTER (WHERE substr(x.id::text, 1, 13) < x.before)"
        "  FROM (SELECT i.id, lag(substr(i.id::text, 1, 13)) OVER (ORDER BY i.place) AS before"
        "          FROM (SELECT g AS place, mnemo._new_id() AS id"
        "                  FROM generate_series(1, 20000) AS g) AS i) AS x"
    ).fetchall()[0]  # fmt: skip
    assert (made, distinct, disorder) == (20000, 20000, 0)


# ---- transactions


def test_rollback_leaves_nothing(db: psycopg.Connection) -> None:
    kept = row(db, "remember", content="kept")
    before = contents(db)
    with db.transaction(force_rollback=True):
        made = row(db, "remember", content="x", idempotency_key="k")
        rows(db, "share", id=made["id"], to_agents=["b"])
        rows(db, "share", id=kept["id"], to_agents=["b"], permission="delete")
        row(db, "remember_plan", query="how", steps=[], chunk_ids=[], outcome_score=1)
        rows(db, "forget", ids=[kept["id"]], agent_id="b")
        value(db, "configure", name="guard", value="off")
        assert contents(db) != before
    assert contents(db) == before


def test_a_write_is_seen_by_its_own_transaction_and_by_others_after_commit(
    dsn: str, db: psycopg.Connection
) -> None:
    with psycopg.connect(dsn) as writer:
        made = row(writer, "remember", content="x", scope="public")
        assert len(rows(writer, "get_memories", ids=[made["id"]])) == 1
        assert len(rows(writer, "recall", query=None)) == 1
        assert rows(db, "get_memories", ids=[made["id"]]) == []
        writer.commit()
    assert len(rows(db, "get_memories", ids=[made["id"]], agent_id="other")) == 1


def test_get_memories_keeps_the_order_asked_for(tx: psycopg.Connection) -> None:
    """Each id once, at its first place; what is not visible leaves a gap in the positions."""
    ids = [row(tx, "remember", content=str(n))["id"] for n in range(4)]
    foreign = row(tx, "remember", content="foreign", org_id="other")["id"]
    unknown = UUID("00000000-0000-7000-8000-000000000000")
    asked = [ids[2], unknown, ids[0], foreign, ids[2], ids[3], ids[0], ids[1]]
    found = rows(tx, "get_memories", ids=asked)
    assert [(r["position"], r["id"]) for r in found] == [
        (1, ids[2]), (3, ids[0]), (6, ids[3]), (8, ids[1]),
    ]  # fmt: skip
