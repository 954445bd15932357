"""mnemo.recall, get_memories and check_permission: filters, order, limits, visibility."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.server import Server

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LIVE_STATES = ("raw", "active", "pending", "consolidated")
PERMISSIONS = ("read", "write", "delete", "share")


def _age(conn: psycopg.Connection, record_id: UUID, age: timedelta) -> None:
    conn.execute("UPDATE mnemo.memory SET created_at = now() - %s WHERE id = %s", (age, record_id))


def _found(conn: psycopg.Connection, **arguments: Any) -> list[UUID]:
    return [found["id"] for found in rows(conn, "recall", **{"query": None} | arguments)]


# ---- what a row says


def test_a_row_carries_the_record(tx: psycopg.Connection) -> None:
    made = row(
        tx, "remember", content="Zoë likes tea", scope="public", memory_type="semantic",
        importance=0.7, tags=["b", "a"], metadata={"k": [1]}, agent_id="alice",
    )  # fmt: skip
    (found,) = rows(tx, "recall", query="anything", agent_id="bob")
    record = row(tx, "get_memories", ids=[made["id"]], agent_id="bob")
    names = ("id", "content", "owner_agent_id", "memory_type", "scope", "importance", "tags",
             "metadata", "created_at")  # fmt: skip
    assert {name: found[name] for name in names} == {name: record[name] for name in names}
    assert found["rank"] == 1
    assert found["owner_agent_id"] == "alice"


@pytest.mark.parametrize("age_hours", [0.5, 24, 168, 336, 24 * 365])
def test_the_score_of_recent_halves_every_168_hours(
    tx: psycopg.Connection, age_hours: float
) -> None:
    made = row(tx, "remember", content="x")
    _age(tx, made["id"], timedelta(hours=age_hours))
    (found,) = rows(tx, "recall", query=None, strategy="recent")
    assert found["score"] == pytest.approx(0.5 ** (age_hours / 168), rel=1e-3)
    assert found["explanation"]["strategy"] == "recent"
    assert found["explanation"]["age_hours"] == pytest.approx(age_hours, abs=0.01)
    assert found["explanation"]["score"] == pytest.approx(found["score"])


def test_exact_scores_one(tx: psycopg.Connection) -> None:
    made = row(tx, "remember", content="x")
    _age(tx, made["id"], 100 * DAY)
    (found,) = rows(tx, "recall", query="no word of it", strategy="exact")
    assert found["score"] == 1
    assert found["explanation"]["strategy"] == "exact"
    assert found["explanation"]["score"] == 1


@pytest.mark.parametrize("query", [None, "", "\u3000", "x", "no such word", "%", "x" * 100_000])
@pytest.mark.parametrize("strategy", ["exact", "recent"])
def test_these_strategies_do_not_read_the_query(
    tx: psycopg.Connection, query: str | None, strategy: str
) -> None:
    made = row(tx, "remember", content="x")
    assert _found(tx, query=query, strategy=strategy) == [made["id"]]


# ---- order and limits


def test_newest_first_then_the_higher_id(tx: psycopg.Connection) -> None:
    """Ages in a mixed order, two of the same age."""
    ages = [5, 1, 3, 3, 2, 9]
    ids = [row(tx, "remember", content=str(age))["id"] for age in ages]
    for record_id, age in zip(ids, ages, strict=True):
        _age(tx, record_id, timedelta(hours=age))
    expected = [ids[1], ids[4], *sorted((ids[2], ids[3]), reverse=True), ids[0], ids[5]]
    for strategy in ("exact", "recent"):
        found = rows(tx, "recall", query=None, strategy=strategy)
        assert [r["id"] for r in found] == expected
        assert [r["rank"] for r in found] == [1, 2, 3, 4, 5, 6]
        for limit in (1, 3, 6, 1000):
            assert _found(tx, limit=limit, strategy=strategy) == expected[:limit]


def test_the_default_limit_is_ten_and_the_strategy_hybrid(tx: psycopg.Connection) -> None:
    for n in range(12):
        row(tx, "remember", content=str(n))
    found = rows(tx, "recall", query=None)
    assert len(found) == 10
    assert {r["explanation"]["strategy"] for r in found} == {"hybrid"}


def test_filters_come_before_the_limit(tx: psycopg.Connection) -> None:
    """Old matches behind many newer records that do not match, or that are not visible."""
    wanted = row(tx, "remember", content="old", tags=["t"], scope="public")
    _age(tx, wanted["id"], 50 * DAY)
    for n in range(30):
        row(tx, "remember", content=str(n), tags=["u"])
        row(tx, "remember", content=str(n), tags=["t"], agent_id="other")
    assert _found(tx, limit=1, tags=["t"]) == [wanted["id"]]
    assert _found(tx, limit=1, agent_id="third") == [wanted["id"]]


# ---- filters, each alone


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"types": ["episodic"]}, "a c"), ({"types": ["semantic", "procedural"]}, "b d"),
        ({"types": []}, ""), ({"types": ["working"]}, ""),
        ({"scope": "private"}, "a b"), ({"scope": "public"}, "c"), ({"scope": "global"}, "d"),
        ({"scope": "shared"}, ""), ({"tags": ["x"]}, "a b"), ({"tags": ["x", "y"]}, "a b c"),
        ({"tags": ["x", "y"], "tags_all": True}, "b"), ({"tags": ["X"]}, ""),
        ({"tags": ["x", "y"], "tags_all": False}, "a b c"), ({"tags": ["x "]}, ""),
        ({"tags": []}, ""), ({"tags": [], "tags_all": True}, "a b c d"),
        ({"tags": ["x", "x"], "tags_all": True}, "a b"), ({"tags_all": True}, "a b c d"),
        ({"min_importance": 0.5}, "b c d"), ({"min_importance": 0.50001}, "c d"),
        ({"min_importance": 0}, "a b c d"), ({"min_importance": 1}, "d"),
        ({"thread_id": "t1"}, "a"), ({"thread_id": "T1"}, ""), ({"thread_id": "t%"}, "b"),
        ({"thread_id": "t_"}, ""), ({"source_types": ["agent"]}, "a b"),
        ({"source_types": ["human", "import"]}, "c d"), ({"source_types": ["system"]}, ""),
        ({}, "a b c d"),
    ],
)  # fmt: skip
def test_each_filter(tx: psycopg.Connection, arguments: dict[str, Any], expected: str) -> None:
    records: dict[str, dict[str, Any]] = {
        "a": {"importance": 0.1, "tags": ["x"], "thread_id": "t1"},
        "b": {"memory_type": "semantic", "tags": ["x", "y"], "thread_id": "t%"},
        "c": {"scope": "public", "tags": ["y"], "importance": 0.9, "source_type": "human"},
        "d": {"scope": "global", "memory_type": "procedural", "importance": 1,
              "source_type": "import"},
    }  # fmt: skip
    ids = {row(tx, "remember", content=n, **fields)["id"]: n for n, fields in records.items()}
    for strategy in ("exact", "recent"):
        found = _found(tx, strategy=strategy, **arguments)
        assert sorted(ids[record_id] for record_id in found) == expected.split()


def test_times(tx: psycopg.Connection) -> None:
    """since is inclusive, until exclusive, as_of inclusive; infinite ones bound nothing."""
    made = row(tx, "remember", content="x")
    created = scalar(tx, "SELECT created_at FROM mnemo.memory WHERE id = %s", made["id"])
    tick = timedelta(microseconds=1)
    for arguments, visible in (
        ({"since": created}, True), ({"since": created + tick}, False),
        ({"until": created}, False), ({"until": created + tick}, True),
        ({"as_of": created}, True), ({"as_of": created - tick}, False),
        ({"since": created, "until": created + tick, "as_of": created}, True),
        ({"since": created + tick, "until": created}, False),
        ({"since": "-infinity", "until": "infinity", "as_of": "infinity"}, True),
        ({"since": "infinity"}, False), ({"until": "-infinity"}, False),
    ):  # fmt: skip
        assert (_found(tx, **arguments) == [made["id"]]) == visible, arguments


# ---- filters combined, against a definition in Python


class World(NamedTuple):
    """A database full of records of several owners, and its rows."""

    conn: psycopg.Connection
    records: list[dict[str, Any]]
    grants: list[dict[str, Any]]


AGENTS = ("alice", "bob", "a_b", "a-b")
ORGS = ("acme", "acme-corp")


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[World]:
    """300 records of every scope and fate; the tests only read them."""
    r = random.Random(7)
    dsn = server.create_database("test_recall_world", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        with conn.transaction():
            for number in range(300):
                agent_id, org_id = r.choice(AGENTS), r.choice(ORGS)
                made = row(
                    conn, "remember", content=str(number), agent_id=agent_id, org_id=org_id,
                    scope=r.choice(("private", "shared", "shared", "public", "global")),
                    memory_type=r.choice(("episodic", "semantic", "procedural", "working")),
                    importance=r.choice((0, 0.25, 0.5, 0.75, 1)),
                    tags=r.sample(["x", "y", "z", "é"], r.randrange(4)),
                    source_type=r.choice(("agent", "human", "import")),
                    thread_id=r.choice((None, "t1", "t2")),
                )  # fmt: skip
                if r.random() < 0.6 and scalar(
                    conn, "SELECT scope <> 'global' FROM mnemo.memory WHERE id = %s", made["id"]
                ):
                    # As a former share of a record that changed its scope since may leave it.
                    for other in r.sample([a for a in AGENTS if a != agent_id], r.randrange(1, 3)):
                        conn.execute(
                            "INSERT INTO mnemo.acl VALUES (%s, %s, %s, %s, %s, now(), %s)",
                            (org_id, made["id"], other, r.choice(PERMISSIONS), agent_id,
                             r.choice((None, None, datetime(2000, 1, 1, tzinfo=UTC),
                                       datetime(2100, 1, 1, tzinfo=UTC)))),
                        )  # fmt: skip
                row(conn, "remember_plan", query=f"plan {number}", steps=[], chunk_ids=[],
                    outcome_score=1, agent_id=agent_id, org_id=org_id, scope="public",
                    tags=["x"])  # fmt: skip
            conn.execute(
                """
                UPDATE mnemo.memory AS m
                   SET created_at = now() - (x.n % 40) * interval '6 hours',
                       deleted_at = CASE WHEN x.n % 7 = 0 THEN now() END,
                       quarantined = x.n % 11 = 0,
                       consolidation_state = (ARRAY['raw', 'active', 'pending', 'consolidated',
                           'raw', 'active', 'raw', 'archived', 'forgotten'])[1 + x.n % 9],
                       expires_at = CASE x.n % 5 WHEN 0 THEN now() - interval '1 hour'
                                                 WHEN 1 THEN now() + interval '1 day' END
                  FROM (SELECT id, row_number() OVER (ORDER BY id) AS n
                          FROM mnemo.memory WHERE NOT tags @> '{__experience_plan__}') AS x
                 WHERE m.id = x.id
                """
            )
        with conn.cursor(row_factory=dict_row) as cursor:
            records = cursor.execute("SELECT * FROM mnemo.memory").fetchall()
            grants = cursor.execute("SELECT * FROM mnemo.acl").fetchall()
        yield World(conn, records, grants)
    server.drop_database("test_recall_world")


def _held(world: World, record: dict[str, Any], agent_id: str, org_id: str) -> str | None:
    """The highest permission of an agent on a record, by the definitions of the specification."""
    now = datetime.now(UTC)
    if (
        record["deleted_at"] is not None
        or record["quarantined"]
        or record["consolidation_state"] not in LIVE_STATES
        or (record["expires_at"] is not None and record["expires_at"] <= now)
    ):
        return None
    if (record["origin_org_id"], record["agent_id"]) == (org_id, agent_id):
        return "share"
    granted = [
        grant["permission"]
        for grant in world.grants
        if (grant["org_id"], grant["memory_id"], grant["agent_id"])
        == (org_id, record["id"], agent_id)
        and (grant["expires_at"] is None or grant["expires_at"] > now)
    ]
    if record["scope"] == "global":
        return "read"
    if record["org_id"] != org_id or record["scope"] == "private":
        return None
    if record["scope"] == "public":
        return granted[0] if granted else "read"
    return granted[0] if granted else None


def _passes(record: dict[str, Any], arguments: dict[str, Any]) -> bool:
    tags, wanted = set(record["tags"]), arguments.get("tags")
    return (
        "__experience_plan__" not in tags
        and (arguments.get("types") is None or record["memory_type"] in arguments["types"])
        and arguments.get("scope") in (None, record["scope"])
        and (
            wanted is None
            or (set(wanted) <= tags if arguments.get("tags_all") else bool(set(wanted) & tags))
        )
        and record["importance"] >= arguments.get("min_importance", 0)
        and arguments.get("thread_id") in (None, record["thread_id"])
        and (
            arguments.get("source_types") is None
            or record["source_type"] in arguments["source_types"]
        )
        and record["created_at"] >= arguments.get("since", record["created_at"])
        and record["created_at"] < arguments.get("until", record["created_at"] + HOUR)
        and record["created_at"] <= arguments.get("as_of", record["created_at"])
    )


def _some_filters(r: random.Random) -> dict[str, Any]:
    def moment() -> datetime:
        return datetime.now(UTC) - r.random() * 12 * DAY

    every: dict[str, Any] = {
        "types": r.sample(["episodic", "semantic", "procedural", "working"], r.randrange(1, 4)),
        "scope": r.choice(["private", "shared", "public", "global"]),
        "tags": r.sample(["x", "y", "z", "é", "none"], r.randrange(1, 4)),
        "tags_all": r.choice([True, False]),
        "min_importance": r.choice([0.1, 0.25, 0.5, 0.9]),
        "thread_id": r.choice(["t1", "t2", "t3"]),
        "source_types": r.sample(["agent", "human", "import"], 2),
        "since": moment(), "until": moment(), "as_of": moment(),
    }  # fmt: skip
    return {name: every[name] for name in r.sample(sorted(every), r.randrange(5))}


@pytest.mark.parametrize("seed", range(4))
def test_recall_equals_its_definition(world: World, seed: int) -> None:
    r = random.Random(seed)
    hits = 0
    for _ in range(60):
        agent_id, org_id = r.choice((*AGENTS, "nobody")), r.choice((*ORGS, "acme-cor"))
        arguments = _some_filters(r)
        limit = r.choice((1, 5, 50, 1000))
        expected = sorted(
            (
                (record["created_at"], record["id"])
                for record in world.records
                if _held(world, record, agent_id, org_id) and _passes(record, arguments)
            ),
            reverse=True,
        )[:limit]
        who = {"agent_id": agent_id, "org_id": org_id}
        strategy = r.choice(("exact", "recent"))
        found = rows(
            world.conn, "recall", query=None, limit=limit, strategy=strategy, **who, **arguments
        )
        assert [(f["created_at"], f["id"]) for f in found] == expected, (arguments, agent_id)
        assert [f["rank"] for f in found] == list(range(1, len(expected) + 1))
        hits += len(found)
    assert hits > 300


def test_permissions_and_get_memories_equal_their_definition(world: World) -> None:
    """Every record, every agent of every organisation: plans included."""
    r = random.Random(5)
    sample = r.sample(world.records, 120)
    for org_id in ORGS:
        for agent_id in (*AGENTS, "nobody"):
            held = {record["id"]: _held(world, record, agent_id, org_id) for record in sample}
            found = rows(world.conn, "get_memories", ids=list(held), agent_id=agent_id,
                         org_id=org_id)  # fmt: skip
            assert [f["id"] for f in found] == [i for i, permission in held.items() if permission]
            answers = world.conn.execute(
                "SELECT t.id, ARRAY(SELECT mnemo.check_permission(t.id, p.permission, %s, %s)"
                "                     FROM unnest(%s::text[]) WITH ORDINALITY AS p(permission, n)"
                "                    ORDER BY p.n)"
                "  FROM unnest(%s::uuid[]) AS t(id)",
                (agent_id, org_id, list(PERMISSIONS), list(held)),
            ).fetchall()
            for record_id, allowed in answers:
                permission = held[record_id]
                rank = PERMISSIONS.index(permission) + 1 if permission else 0
                assert allowed == [n < rank for n in range(4)], (record_id, agent_id, permission)


# ---- visibility, one row a case


@pytest.mark.parametrize(
    ("scope", "viewer", "visible"),
    [
        (scope, viewer, viewer == ("alice", "acme") or shown)
        for scope, viewers in {
            "private": {}, "shared": {},
            "public": {("bob", "acme")},
            "global": {("bob", "acme"), ("alice", "acme-corp"), ("bob", "other"),
                       ("Alice", "acme"), ("alice", "Acme")},
        }.items()
        for viewer in (("alice", "acme"), ("bob", "acme"), ("alice", "acme-corp"),
                       ("bob", "other"), ("Alice", "acme"), ("alice", "Acme"))
        for shown in [viewer in viewers or (scope == "public" and viewer == ("Alice", "acme"))]
    ],
)  # fmt: skip
def test_scope(tx: psycopg.Connection, scope: str, viewer: tuple[str, str], visible: bool) -> None:
    made = row(tx, "remember", content="x", scope=scope, agent_id="alice", org_id="acme")
    agent_id, org_id = viewer
    expected = [made["id"]] if visible else []
    assert _found(tx, agent_id=agent_id, org_id=org_id) == expected
    found = rows(tx, "get_memories", ids=[made["id"]], agent_id=agent_id, org_id=org_id)
    assert [f["id"] for f in found] == expected
    assert value(tx, "check_permission", id=made["id"], permission="read", agent_id=agent_id,
                 org_id=org_id) is visible  # fmt: skip


@pytest.mark.parametrize("scope", ["private", "shared", "public", "global"])
@pytest.mark.parametrize(
    "fate",
    [
        "deleted_at = now()", "quarantined = true", "consolidation_state = 'archived'",
        "consolidation_state = 'forgotten'", "expires_at = now() - interval '1 microsecond'",
        "expires_at = now()",
    ],
)  # fmt: skip
def test_what_is_not_live_is_gone_even_to_its_owner(
    tx: psycopg.Connection, scope: str, fate: str
) -> None:
    made = row(tx, "remember", content="x", scope=scope)
    if scope == "shared":
        rows(tx, "share", id=made["id"], to_agents=["bob"], permission="share")
    assert _found(tx) == [made["id"]]
    tx.execute(f"UPDATE mnemo.memory SET {fate}")  # type: ignore[arg-type]
    for agent_id in ("default", "bob"):
        assert _found(tx, agent_id=agent_id) == []
        assert rows(tx, "get_memories", ids=[made["id"]], agent_id=agent_id) == []
        for permission in PERMISSIONS:
            assert not value(tx, "check_permission", id=made["id"], permission=permission,
                             agent_id=agent_id)  # fmt: skip
        with refused("MN001", "p_ids"):
            rows(tx, "forget", ids=[made["id"]], agent_id=agent_id)
        with refused("MN001", "p_id"):
            rows(tx, "share", id=made["id"], to_agents=["carol"], agent_id=agent_id)


@pytest.mark.parametrize("state", LIVE_STATES)
@pytest.mark.parametrize("status", ["active", "superseded", "retracted"])
def test_live_states_are_recalled(tx: psycopg.Connection, state: str, status: str) -> None:
    made = row(tx, "remember", content="x", status=status)
    tx.execute("UPDATE mnemo.memory SET consolidation_state = %s", (state,))
    assert [f["id"] for f in rows(tx, "get_memories", ids=[made["id"]])] == [made["id"]]


def test_the_end_of_a_record_is_exclusive(tx: psycopg.Connection) -> None:
    """Seen until the microsecond before it expires."""
    made = row(tx, "remember", content="x", ttl=HOUR)
    for offset, visible in (("-1 microsecond", True), ("0", False), ("1 microsecond", False)):
        seen = scalar(
            tx,
            "SELECT count(*) FROM mnemo._visible('default', 'default',"
            "   (SELECT expires_at FROM mnemo.memory) + %s::interval)",
            offset,
        )
        assert (seen == 1) == visible, offset
    assert _found(tx) == [made["id"]]


def test_plans_are_never_recalled(tx: psycopg.Connection) -> None:
    """A memory of the same words is; no filter finds a plan either, the reserved tag included."""
    memory = row(tx, "remember", content="how do I reset my password", memory_type="procedural",
                 source_type="system", scope="public")  # fmt: skip
    for scope in ("private", "shared", "public", "global"):
        row(tx, "remember_plan", query="how do I reset my password", steps=["a"], chunk_ids=["c"],
            outcome_score=1, scope=scope, tags=["x"], thread_id="t")  # fmt: skip
    for strategy in ("exact", "recent"):
        assert _found(tx, query="how do I reset my password", strategy=strategy) == [memory["id"]]
        for filters in ({"tags": ["x"]}, {"thread_id": "t"}, {"tags": ["__experience_plan__"]},
                        {"min_importance": 0.9}, {"scope": "shared"}):  # fmt: skip
            assert _found(tx, strategy=strategy, **filters) == []
        found = _found(tx, strategy=strategy, types=["procedural"], source_types=["system"])
        assert found == [memory["id"]]
    value(tx, "configure", name="experience_memory", value="off")
    assert _found(tx) == [memory["id"]]


# ---- reads are reads

READS = ("get_memories", "recall", "check_permission", "setting", "recall_plan", "recall_plans",
         "explain_recall_plan", "get_plan", "list_plans")  # fmt: skip


@pytest.mark.parametrize("function", READS)
def test_reads_are_stable(tx: psycopg.Connection, function: str) -> None:
    assert scalar(
        tx, "SELECT p.provolatile FROM pg_proc AS p WHERE p.oid = ('mnemo.' || %s)::regproc",
        function,
    ) == "s"  # fmt: skip


def test_reads_work_in_a_read_only_transaction_and_write_nothing(
    dsn: str, db: psycopg.Connection
) -> None:
    memory = row(db, "remember", content="x")["id"]
    plan = row(db, "remember_plan", query="how to pay", steps=["a"], chunk_ids=[],
               outcome_score=1)["id"]  # fmt: skip
    before = contents(db)
    calls: dict[str, dict[str, Any]] = {
        "get_memories": {"ids": [memory]}, "recall": {"query": "x"},
        "check_permission": {"id": memory, "permission": "share"}, "setting": {"name": "guard"},
        "recall_plan": {"query": "how to pay"}, "recall_plans": {"query": "how to pay"},
        "explain_recall_plan": {"query": "how to pay"}, "get_plan": {"id": plan}, "list_plans": {},
    }  # fmt: skip
    assert sorted(calls) == sorted(READS)
    with psycopg.connect(dsn) as reader:
        reader.read_only = True
        for function, arguments in calls.items():
            assert len(rows(reader, function, **arguments)) == 1, function
        with refused("MN001"):
            rows(reader, "get_plan", id=memory)
    assert contents(db) == before
    record = row(db, "get_memories", ids=[memory])
    assert (record["access_count"], record["last_accessed_at"]) == (0, None)


def test_recall_sees_what_was_there_when_its_statement_began(tx: psycopg.Connection) -> None:
    """As any STABLE function: not the writes of its own statement."""
    found = tx.execute(
        "WITH made AS MATERIALIZED (SELECT r.id FROM mnemo.remember('x') AS r)"
        " SELECT (SELECT count(*) FROM made), (SELECT count(*) FROM mnemo.recall(NULL))"
    ).fetchone()
    assert found == (1, 0)
    assert len(_found(tx)) == 1
