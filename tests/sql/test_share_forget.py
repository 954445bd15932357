"""mnemo.share, unshare, check_permission, forget: levels, ends, who may, plans, races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.calls import (
    contents,
    refused,
    row,
    rows,
    scalar,
    value,
    wait_for_blocked,
    wait_until,
)

HOUR = timedelta(hours=1)
PERMISSIONS = ("read", "write", "delete", "share")
UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")
SHORT = timedelta(milliseconds=1)


def _memory(conn: psycopg.Connection, agent_id: str = "alice", **fields: Any) -> UUID:
    made = row(conn, "remember", **{"content": "x", "agent_id": agent_id} | fields)
    assert isinstance(made["id"], UUID)
    return made["id"]


def _plan(conn: psycopg.Connection, agent_id: str = "alice", **fields: Any) -> UUID:
    made = row(
        conn, "remember_plan",
        **{"query": "reset the work password", "steps": ["a"], "chunk_ids": [], "outcome_score": 1,
           "agent_id": agent_id} | fields,
    )  # fmt: skip
    assert isinstance(made["id"], UUID)
    return made["id"]


def _held(conn: psycopg.Connection, record_id: UUID, agent_id: str, **who: Any) -> list[str]:
    """The permissions that check_permission confirms."""
    return [
        permission
        for permission in PERMISSIONS
        if value(conn, "check_permission", id=record_id, permission=permission, agent_id=agent_id,
                 **who)
    ]  # fmt: skip


def _events(conn: psycopg.Connection, record_id: UUID, event_type: str) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT * FROM mnemo.event WHERE memory_id = %s AND event_type = %s ORDER BY id",
            (record_id, event_type),
        ).fetchall()


def _micros(conn: psycopg.Connection, moment: datetime | None) -> int | None:
    found = scalar(conn, "SELECT mnemo._micros(%s::timestamptz)", moment)
    assert found is None or isinstance(found, int)
    return found


def _recalled(conn: psycopg.Connection, agent_id: str, **who: Any) -> UUID | None:
    """The plan found by the same words and, by another path, by similar ones."""
    same, similar = (
        row(conn, "recall_plan", query=query, agent_id=agent_id, **who)
        for query in ("Work password: the reset?", "reset the work password again")
    )
    assert same["id"] == similar["id"]
    for found in (same, similar):
        assert found["hit"] or found["candidates_considered"] == 0
    assert same["id"] is None or isinstance(same["id"], UUID)
    return same["id"]


# ---- share: levels


@pytest.mark.parametrize("level", range(4))
def test_a_grant_covers_all_permissions_below_it(tx: psycopg.Connection, level: int) -> None:
    record_id = _memory(tx)
    (grant,) = rows(tx, "share", id=record_id, to_agents=["bob"], permission=PERMISSIONS[level],
                    agent_id="alice")  # fmt: skip
    assert grant == {"agent_id": "bob", "permission": PERMISSIONS[level], "expires_at": None}
    assert _held(tx, record_id, "bob") == list(PERMISSIONS[: level + 1])
    assert _held(tx, record_id, "alice") == list(PERMISSIONS)
    assert _held(tx, record_id, "carol") == []
    assert _held(tx, record_id, "bob", org_id="acme") == []
    assert _held(tx, record_id, "Bob") == []


@pytest.mark.parametrize("level", [None, 0, 1, 2, 3])
def test_what_each_permission_allows(tx: psycopg.Connection, level: int | None) -> None:
    """Reading needs read, forgetting delete, granting and taking back share: no more, no less."""
    record_id = _memory(tx, scope="shared")
    if level is not None:
        rows(tx, "share", id=record_id, to_agents=["bob"], permission=PERMISSIONS[level],
             agent_id="alice")  # fmt: skip
    who = {"agent_id": "bob"}
    seen = level is not None
    assert [r["id"] for r in rows(tx, "get_memories", ids=[record_id], **who)] == (
        [record_id] if seen else []
    )
    refusal = "42501" if seen else "MN001"
    calls: list[tuple[int, str, dict[str, Any], str]] = [
        (3, "share", {"id": record_id, "to_agents": ["carol"]}, "p_id"),
        (3, "unshare", {"id": record_id, "from_agents": ["carol"]}, "p_id"),
        (2, "forget", {"ids": [record_id]}, "p_ids"),
    ]
    for needed, function, arguments, parameter in calls:
        if seen and level is not None and level >= needed:
            assert len(rows(tx, function, **arguments, **who)) == 1
        else:
            before = contents(tx)
            with refused(refusal, parameter) as refusal_seen:
                rows(tx, function, **arguments, **who)
            assert refusal_seen.detail is not None
            assert refusal_seen.detail["ids"] == [str(record_id)]
            assert contents(tx) == before


@pytest.mark.parametrize("function", ["share", "unshare", "forget"])
@pytest.mark.parametrize("scope", ["public", "global"])
def test_a_scope_gives_read_and_nothing_else(
    tx: psycopg.Connection, function: str, scope: str
) -> None:
    record_id = _memory(tx, scope=scope)
    assert _held(tx, record_id, "bob") == ["read"]
    arguments: dict[str, Any] = {
        "share": {"id": record_id, "to_agents": ["carol"]},
        "unshare": {"id": record_id, "from_agents": ["carol"]},
        "forget": {"ids": [record_id]},
    }[function]
    with refused("42501", "p_ids" if function == "forget" else "p_id"):
        rows(tx, function, **arguments, agent_id="bob")


def test_unknown_foreign_gone_and_invisible_get_one_answer(tx: psycopg.Connection) -> None:
    """Nobody learns from an error what exists."""
    gone = _memory(tx, "bob")
    rows(tx, "forget", ids=[gone], agent_id="bob")
    expired = _memory(tx, "bob", ttl=timedelta(microseconds=1))
    cases = (UNKNOWN, _memory(tx, "bob", org_id="acme"), _memory(tx), gone, expired)
    calls: list[tuple[str, Callable[[UUID], dict[str, Any]]]] = [
        ("share", lambda i: {"id": i, "to_agents": ["carol"]}),
        ("unshare", lambda i: {"id": i, "from_agents": ["carol"]}),
        ("forget", lambda i: {"ids": [i]}),
        ("get_plan", lambda i: {"id": i}),
    ]
    for function, arguments in calls:
        answers = set()
        for record_id in cases:
            with refused("MN001") as seen:
                rows(tx, function, **arguments(record_id), agent_id="bob")
            assert seen.detail is not None
            assert seen.detail["ids"] == [str(record_id)]
            answers.add((seen.message.replace(str(record_id), "ID"), seen.hint))
        assert len(answers) == 1, function


# ---- share: what it does


def test_a_private_record_becomes_shared(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    rows(tx, "share", id=record_id, to_agents=["bob"], agent_id="alice")
    record = row(tx, "get_memories", ids=[record_id], agent_id="bob")
    assert record["scope"] == "shared"
    rows(tx, "unshare", id=record_id, from_agents=["bob"], agent_id="alice")
    record = row(tx, "get_memories", ids=[record_id], agent_id="alice")
    assert record["scope"] == "shared"
    assert rows(tx, "get_memories", ids=[record_id], agent_id="bob") == []


@pytest.mark.parametrize("scope", ["shared", "public"])
def test_other_scopes_stay(tx: psycopg.Connection, scope: str) -> None:
    """On a public record a grant adds what its scope does not give."""
    record_id = _memory(tx, scope=scope)
    rows(tx, "share", id=record_id, to_agents=["bob"], permission="delete", agent_id="alice")
    assert row(tx, "get_memories", ids=[record_id], agent_id="bob")["scope"] == scope
    assert _held(tx, record_id, "bob") == ["read", "write", "delete"]
    rows(tx, "unshare", id=record_id, from_agents=["bob"], agent_id="alice")
    assert _held(tx, record_id, "bob") == (["read"] if scope == "public" else [])


def test_a_global_record_has_no_grants(tx: psycopg.Connection) -> None:
    """Grants are for records of one organisation; its owner too is told so."""
    record_id = _memory(tx, scope="global")
    before = contents(tx)
    with refused("22023", "p_id"):
        rows(tx, "share", id=record_id, to_agents=["bob"], agent_id="alice")
    with refused("22023", "p_id"):
        rows(tx, "unshare", id=record_id, from_agents=["bob"], agent_id="alice")
    assert contents(tx) == before


def test_a_share_is_one_event(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    grants = rows(tx, "share", id=record_id, to_agents=["carol", "bob", "carol"],
                  permission="write", ttl=HOUR, agent_id="alice")  # fmt: skip
    end = scalar(tx, "SELECT now() + interval '1 hour'")
    assert grants == [
        {"agent_id": agent, "permission": "write", "expires_at": end} for agent in ("bob", "carol")
    ]
    (event,) = _events(tx, record_id, "memory_share")
    assert (event["actor_org_id"], event["actor_agent_id"]) == ("default", "alice")
    assert (event["org_id"], event["agent_id"]) == ("default", "alice")
    assert sorted(set(event["changes"].pop("agents"))) == ["bob", "carol"]
    assert event["changes"] == {
        "scope": "shared", "permission": "write", "expires_at": _micros(tx, end),
    }  # fmt: skip
    record_hash = scalar(tx, "SELECT content_hash FROM mnemo.memory WHERE id = %s", record_id)
    assert event["content_hash"] == record_hash


def test_a_new_grant_replaces_the_old_one(tx: psycopg.Connection) -> None:
    """Up, down, with an end and without one."""
    record_id = _memory(tx)
    for permission, ttl in (("read", None), ("share", HOUR), ("write", None), ("read", HOUR)):
        rows(tx, "share", id=record_id, to_agents=["bob"], permission=permission, ttl=ttl,
             agent_id="alice")  # fmt: skip
        assert _held(tx, record_id, "bob")[-1] == permission
        assert scalar(tx, "SELECT expires_at IS NOT NULL FROM mnemo.acl") == (ttl is not None)
    assert len(_events(tx, record_id, "memory_share")) == 4


def test_grants_of_others_stay(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    rows(tx, "share", id=record_id, to_agents=["bob"], permission="delete", agent_id="alice")
    rows(tx, "share", id=record_id, to_agents=["carol"], agent_id="alice")
    rows(tx, "unshare", id=record_id, from_agents=["carol"], agent_id="alice")
    assert _held(tx, record_id, "bob") == ["read", "write", "delete"]


def test_unshare_says_what_it_did(tx: psycopg.Connection) -> None:
    """One event for what was removed, none for nothing."""
    record_id = _memory(tx)
    rows(tx, "share", id=record_id, to_agents=["bob", "carol"], agent_id="alice")
    answer = rows(tx, "unshare", id=record_id, from_agents=["dave", "carol", "dave", "bob"],
                  agent_id="alice")  # fmt: skip
    assert answer == [
        {"agent_id": "bob", "status": "removed"}, {"agent_id": "carol", "status": "removed"},
        {"agent_id": "dave", "status": "absent"},
    ]  # fmt: skip
    (event,) = _events(tx, record_id, "memory_unshare")
    assert event["changes"] == {"agents": ["bob", "carol"]}
    before = contents(tx)
    answer = rows(tx, "unshare", id=record_id, from_agents=["bob"], agent_id="alice")
    assert answer == [{"agent_id": "bob", "status": "absent"}]
    assert contents(tx) == before


# ---- share: nobody grants more than they hold


def test_a_grantee_with_share_passes_it_on(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    rows(tx, "share", id=record_id, to_agents=["bob"], permission="share", agent_id="alice")
    rows(tx, "share", id=record_id, to_agents=["carol"], permission="share", agent_id="bob")
    assert _held(tx, record_id, "carol") == list(PERMISSIONS)
    (_, event) = _events(tx, record_id, "memory_share")
    assert (event["agent_id"], event["actor_agent_id"]) == ("alice", "bob")
    granted_by = scalar(tx, "SELECT granted_by FROM mnemo.acl WHERE agent_id = 'carol'")
    assert granted_by == "bob"


def test_what_a_grantee_gives_ends_with_its_own_grant(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    (own,) = rows(tx, "share", id=record_id, to_agents=["bob"], permission="share", ttl=HOUR,
                  agent_id="alice")  # fmt: skip
    for ttl in (None, 2 * HOUR):
        (grant,) = rows(tx, "share", id=record_id, to_agents=["carol"], permission="share",
                        ttl=ttl, agent_id="bob")  # fmt: skip
        assert grant["expires_at"] == own["expires_at"]
    (grant,) = rows(tx, "share", id=record_id, to_agents=["carol"], ttl=HOUR / 2, agent_id="bob")
    assert grant["expires_at"] == own["expires_at"] - HOUR / 2
    (event, *_) = _events(tx, record_id, "memory_share")[1:]
    assert event["changes"]["expires_at"] == _micros(tx, own["expires_at"])


def test_a_grantee_cannot_renew_itself(tx: psycopg.Connection) -> None:
    """Neither directly nor through an accomplice."""
    record_id = _memory(tx)
    (own,) = rows(tx, "share", id=record_id, to_agents=["bob"], permission="share", ttl=HOUR,
                  agent_id="alice")  # fmt: skip
    with refused("22023", "p_to_agents"):
        rows(tx, "share", id=record_id, to_agents=["bob"], permission="share", agent_id="bob")
    rows(tx, "share", id=record_id, to_agents=["carol"], permission="share", agent_id="bob")
    (grant,) = rows(tx, "share", id=record_id, to_agents=["bob"], permission="share",
                    agent_id="carol")  # fmt: skip
    assert grant["expires_at"] == own["expires_at"]


def test_the_owner_needs_no_grant(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    for acting in ("alice", "bob"):
        with refused("22023", "p_to_agents"):
            rows(tx, "share", id=record_id, to_agents=["bob", "alice"], agent_id="alice")
        rows(tx, "share", id=record_id, to_agents=["bob"], permission="share", agent_id="alice")
        with refused("22023", "p_to_agents"):
            rows(tx, "share", id=record_id, to_agents=["alice"], permission="read",
                 agent_id=acting)  # fmt: skip
    assert _held(tx, record_id, "alice") == list(PERMISSIONS)


# ---- ends of grants


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_grant_ends(db: psycopg.Connection, permission: str) -> None:
    """Held until its end, exclusive; then it is as if it had never been given."""
    record_id = _memory(db)
    (grant,) = rows(db, "share", id=record_id, to_agents=["bob"], permission=permission, ttl=SHORT,
                    agent_id="alice")  # fmt: skip
    for offset, held in (("-1 microsecond", True), ("0", False), ("1 microsecond", False)):
        found = db.execute(
            "SELECT h.rank FROM mnemo._held('default', 'bob', ARRAY[%s::uuid],"
            " %s::timestamptz + %s::interval) AS h",
            (record_id, grant["expires_at"], offset),
        ).fetchall()
        assert found == ([(PERMISSIONS.index(permission) + 1,)] if held else []), offset
    wait_until(db, grant["expires_at"])
    assert _held(db, record_id, "bob") == []
    assert rows(db, "get_memories", ids=[record_id], agent_id="bob") == []
    assert rows(db, "recall", query=None, agent_id="bob") == []
    with refused("MN001", "p_ids"):
        rows(db, "forget", ids=[record_id], agent_id="bob")
    assert _held(db, record_id, "alice") == list(PERMISSIONS)


def test_an_ended_grant_on_a_public_record_leaves_its_scope(db: psycopg.Connection) -> None:
    record_id = _memory(db, scope="public")
    (grant,) = rows(db, "share", id=record_id, to_agents=["bob"], permission="share", ttl=SHORT,
                    agent_id="alice")  # fmt: skip
    wait_until(db, grant["expires_at"])
    assert _held(db, record_id, "bob") == ["read"]
    with refused("42501", "p_id"):
        rows(db, "share", id=record_id, to_agents=["carol"], agent_id="bob")


def test_an_ended_grant_can_be_given_again(db: psycopg.Connection) -> None:
    record_id = _plan(db)
    for ttl in (SHORT, SHORT, None):
        (grant,) = rows(db, "share", id=record_id, to_agents=["bob"], ttl=ttl, agent_id="alice")
        if ttl is not None:
            wait_until(db, grant["expires_at"])
        assert (_recalled(db, "bob") == record_id) == (ttl is None)
        assert (_held(db, record_id, "bob") == ["read"]) == (ttl is None)


# ---- forget


@pytest.mark.parametrize("scope", ["private", "shared", "public", "global"])
def test_forget_deletes_softly(tx: psycopg.Connection, scope: str) -> None:
    """The row stays, nobody sees it, one event says so."""
    record_id = _memory(tx, scope=scope)
    other_id = _memory(tx, scope=scope)
    assert rows(tx, "forget", ids=[record_id], agent_id="alice") == [
        {"id": record_id, "status": "deleted"}
    ]
    found = tx.execute(
        "SELECT deleted_at = now(), updated_at = now(), content, org_id FROM mnemo.memory"
        " WHERE id = %s", (record_id,),
    ).fetchone()  # fmt: skip
    assert found == (True, True, "x", "*" if scope == "global" else "default")
    (event,) = _events(tx, record_id, "memory_delete")
    assert event["changes"] == {"deleted_at": _micros(tx, scalar(tx, "SELECT now()"))}
    assert (event["actor_agent_id"], event["memory_org_id"]) == ("alice", found[3])
    for agent_id in ("alice", "bob"):
        assert rows(tx, "get_memories", ids=[record_id], agent_id=agent_id) == []
        assert _held(tx, record_id, agent_id) == []
    assert [r["id"] for r in rows(tx, "recall", query=None, agent_id="alice")] == [other_id]


def test_forgetting_twice_is_not_found(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    rows(tx, "forget", ids=[record_id], agent_id="alice")
    before = contents(tx)
    with refused("MN001", "p_ids"):
        rows(tx, "forget", ids=[record_id], agent_id="alice")
    assert contents(tx) == before


def test_forget_takes_each_id_once(tx: psycopg.Connection) -> None:
    first, second = _memory(tx), _plan(tx)
    answer = rows(tx, "forget", ids=[second, first, second, first], agent_id="alice")
    assert sorted(r["id"] for r in answer) == sorted((first, second))
    assert {r["status"] for r in answer} == {"deleted"}
    assert len(_events(tx, first, "memory_delete")) == 1
    assert len(_events(tx, second, "memory_delete")) == 1


@pytest.mark.parametrize("bad", ["unknown", "foreign", "invisible", "read only", "gone"])
def test_forget_is_all_or_nothing(tx: psycopg.Connection, bad: str) -> None:
    mine = [_memory(tx, "bob") for _ in range(3)]
    gone = _memory(tx, "bob")
    rows(tx, "forget", ids=[gone], agent_id="bob")
    others = {
        "unknown": UNKNOWN, "foreign": _memory(tx, "bob", org_id="acme"), "invisible": _memory(tx),
        "read only": _memory(tx, scope="public"), "gone": gone,
    }  # fmt: skip
    before = contents(tx)
    with refused("42501" if bad == "read only" else "MN001", "p_ids") as seen:
        rows(tx, "forget", ids=[*mine[:2], others[bad], mine[2]], agent_id="bob")
    assert seen.detail is not None
    assert seen.detail["ids"] == [str(others[bad])]
    assert contents(tx) == before


def test_not_found_comes_before_refused(tx: psycopg.Connection) -> None:
    """A mixture of ids must not tell which of the unknown ones exist."""
    with refused("MN001", "p_ids") as seen:
        rows(tx, "forget", ids=[_memory(tx, scope="public"), UNKNOWN], agent_id="bob")
    assert seen.detail is not None
    assert seen.detail["ids"] == [str(UNKNOWN)]


def test_who_may_forget_a_global_record(tx: psycopg.Connection) -> None:
    """Its owner in its origin organisation; the agent of the same name elsewhere owns nothing."""
    record_id = _memory(tx, scope="global", org_id="acme")
    for who in ({"agent_id": "alice", "org_id": "other"}, {"agent_id": "bob", "org_id": "acme"}):
        with refused("42501", "p_ids"):
            rows(tx, "forget", ids=[record_id], **who)
    rows(tx, "forget", ids=[record_id], agent_id="alice", org_id="acme")
    (event,) = _events(tx, record_id, "memory_delete")
    assert (event["org_id"], event["actor_org_id"]) == ("acme", "acme")


def test_the_chain_of_a_deletion_is_the_owners(tx: psycopg.Connection) -> None:
    record_id = _memory(tx)
    rows(tx, "share", id=record_id, to_agents=["bob"], permission="delete", agent_id="alice")
    rows(tx, "forget", ids=[record_id], agent_id="bob")
    (event,) = _events(tx, record_id, "memory_delete")
    assert (event["agent_id"], event["actor_agent_id"]) == ("alice", "bob")


def test_ten_thousand_ids_at_once(tx: psycopg.Connection) -> None:
    """The limit itself is allowed."""
    ids = [
        found
        for (found,) in tx.execute(
            "SELECT r.id FROM generate_series(1, 300) AS g"
            " CROSS JOIN LATERAL mnemo.remember('x' || g) AS r"
        )
    ]
    assert len(rows(tx, "get_memories", ids=ids * 33)) == 300
    answer = rows(tx, "forget", ids=[*(ids * 33), *ids[:100]])
    assert [r["id"] for r in answer] == sorted(ids)
    assert scalar(tx, "SELECT count(*) FROM mnemo.memory WHERE deleted_at IS NULL") == 0


# ---- plans follow


def test_recall_plan_follows_share_and_unshare(tx: psycopg.Connection) -> None:
    plan_id = _plan(tx)
    assert _recalled(tx, "alice") == plan_id
    assert _recalled(tx, "bob") is None
    for permission in PERMISSIONS:
        rows(tx, "share", id=plan_id, to_agents=["bob", "carol"], permission=permission,
             agent_id="alice")  # fmt: skip
        assert _recalled(tx, "bob") == plan_id
        assert _recalled(tx, "bob", org_id="acme") is None
        assert _recalled(tx, "dave") is None
    rows(tx, "unshare", id=plan_id, from_agents=["bob"], agent_id="alice")
    assert _recalled(tx, "bob") is None
    assert _recalled(tx, "carol") == plan_id
    assert _recalled(tx, "alice") == plan_id
    assert [p["id"] for p in rows(tx, "list_plans", agent_id="carol")] == [plan_id]
    assert rows(tx, "list_plans", agent_id="bob") == []
    assert row(tx, "get_plan", id=plan_id, agent_id="carol")["scope"] == "shared"
    with refused("MN001", "p_id"):
        rows(tx, "get_plan", id=plan_id, agent_id="bob")


def test_recall_plan_follows_forget(tx: psycopg.Connection) -> None:
    """By its owner and by a grantee; the derived rows go too."""
    for scope in ("private", "shared", "public", "global"):
        for acting in ("alice", "bob") if scope != "global" else ("alice",):
            plan_id = _plan(tx, scope=scope)
            if scope != "global":
                rows(tx, "share", id=plan_id, to_agents=["bob"], permission="delete",
                     agent_id="alice")  # fmt: skip
            assert _recalled(tx, "alice") == plan_id
            assert _recalled(tx, "bob") == plan_id
            rows(tx, "forget", ids=[plan_id], agent_id=acting)
            assert _recalled(tx, "alice") is None
            assert _recalled(tx, "bob") is None
            assert scalar(tx, "SELECT count(*) FROM mnemo.plan_signature") == 0


def test_recall_plan_follows_the_end_of_a_grant(db: psycopg.Connection) -> None:
    plan_id = _plan(db)
    (grant,) = rows(db, "share", id=plan_id, to_agents=["bob"], ttl=SHORT, agent_id="alice")
    wait_until(db, grant["expires_at"])
    assert _recalled(db, "bob") is None
    assert _recalled(db, "alice") == plan_id


def test_a_grant_does_not_outlive_the_plan(db: psycopg.Connection) -> None:
    ttl = timedelta(milliseconds=30)
    plan_id = _plan(db, ttl=ttl)
    end = scalar(db, "SELECT expires_at FROM mnemo.memory WHERE id = %s", plan_id)
    try:
        rows(db, "share", id=plan_id, to_agents=["bob"], agent_id="alice")
    except psycopg.DatabaseError as error:  # the machine was slower than the plan's life
        if error.sqlstate != "MN001":
            raise
    wait_until(db, end)
    assert _recalled(db, "bob") is None
    assert _recalled(db, "alice") is None


def test_a_grant_on_a_memory_shows_no_plan(tx: psycopg.Connection) -> None:
    """One grant opens one record."""
    _plan(tx)
    memory_id = _memory(tx)
    rows(tx, "share", id=memory_id, to_agents=["bob"], permission="share", agent_id="alice")
    assert _recalled(tx, "bob") is None
    assert [r["id"] for r in rows(tx, "recall", query=None, agent_id="bob")] == [memory_id]


# ---- races


def _both(first: Callable[[], None], second: Callable[[], None]) -> list[str | None]:
    """Run two calls at the same moment; the SQLSTATE of each, None for success."""
    barrier = threading.Barrier(2)
    outcome: list[str | None] = [None, None]

    def work(place: int, call: Callable[[], None]) -> None:
        barrier.wait(60)
        try:
            call()
        except psycopg.Error as error:
            outcome[place] = error.sqlstate or str(error)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome


def test_forgetting_overlapping_sets_in_opposite_order_never_deadlocks(
    dsn: str, db: psycopg.Connection
) -> None:
    """Locks are taken in one order: one call deletes all of its set, the other finds it gone."""
    with (
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as two,
    ):
        for turn in range(15):
            ids = [
                found
                for (found,) in db.execute(
                    "SELECT r.id FROM generate_series(1, 60) AS g CROSS JOIN LATERAL"
                    " mnemo.remember('x', CASE g % 2 WHEN 0 THEN 'global' END) AS r"
                )
            ]
            ids += [_plan(db, "default", query=f"reset {n} of {turn}") for n in range(4)]
            sets = (ids[turn % 5 :], list(reversed(ids[: len(ids) - turn % 3])))
            outcome = _both(
                lambda chosen=sets[0]: rows(one, "forget", ids=chosen),  # type: ignore[misc]
                lambda chosen=sets[1]: rows(two, "forget", ids=chosen),  # type: ignore[misc]
            )
            assert sorted(outcome, key=str) == ["MN001", None]
            winner = sets[outcome.index(None)]
            gone = db.execute(
                "SELECT m.id FROM mnemo.memory AS m WHERE m.id = ANY (%s)"
                " AND m.deleted_at IS NOT NULL", (ids,),
            ).fetchall()  # fmt: skip
            assert sorted(found for (found,) in gone) == sorted(winner)
            assert scalar(
                db,
                "SELECT count(*) FROM mnemo.event WHERE event_type = 'memory_delete'"
                " AND memory_id = ANY (%s)", ids,
            ) == len(winner)  # fmt: skip


def test_locks_are_taken_in_one_order_whatever_way_the_rows_are_read(
    dsn: str, db: psycopg.Connection
) -> None:
    """One caller reads the table, the other an index; both are stopped half-way by a third."""
    first, middle = _memory(db), _memory(db)
    last = _memory(db, scope="global")  # its organisation sorts before that of the others
    outcome: dict[str, str | None] = {}

    def late(name: str, conn: psycopg.Connection) -> None:
        try:
            rows(conn, "forget", ids=[first, middle, last], agent_id="alice")
            outcome[name] = None
        except psycopg.Error as error:
            outcome[name] = error.sqlstate

    with (
        psycopg.connect(dsn) as third,
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as two,
    ):
        one.execute("SET enable_indexscan = off")
        one.execute("SET enable_bitmapscan = off")
        two.execute("SET enable_seqscan = off")
        third.execute("SELECT FROM mnemo.memory WHERE id = %s FOR UPDATE", (middle,))
        threads = []
        for name, conn in (("one", one), ("two", two)):
            threads.append(threading.Thread(target=late, args=(name, conn)))
            threads[-1].start()
            wait_for_blocked(db, conn.info.backend_pid)
        third.rollback()
        for thread in threads:
            thread.join()
    assert outcome == {"one": None, "two": "MN001"}


def test_forgetting_in_transactions_never_deadlocks_within_a_call(
    dsn: str, db: psycopg.Connection
) -> None:
    """The second caller waits for the first and then sees what it did."""
    ids = [_memory(db) for _ in range(6)]
    with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as second:
        rows(first, "forget", ids=[ids[3], ids[1]], agent_id="alice")
        seen: list[str | None] = []

        def late() -> None:
            try:
                rows(second, "forget", ids=list(reversed(ids)), agent_id="alice")
                seen.append(None)
            except psycopg.Error as error:
                seen.append(error.sqlstate)

        thread = threading.Thread(target=late)
        thread.start()
        wait_for_blocked(db, second.info.backend_pid)
        first.commit()
        thread.join()
    assert seen == ["MN001"]
    assert len(rows(db, "get_memories", ids=ids, agent_id="alice")) == 4


def test_sharing_and_forgetting_the_same_plans_never_deadlocks(
    dsn: str, db: psycopg.Connection
) -> None:
    """Whatever order they come in, a forgotten plan is recalled by nobody."""
    with (
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as two,
    ):
        for _ in range(15):
            plan_id = _plan(db)
            outcome = _both(
                lambda chosen=plan_id: rows(  # type: ignore[misc]
                    one, "share", id=chosen, to_agents=["bob", "carol"], agent_id="alice"
                ),
                lambda chosen=plan_id: rows(  # type: ignore[misc]
                    two, "forget", ids=[chosen], agent_id="alice"
                ),
            )
            assert outcome[0] in (None, "MN001")
            assert outcome[1] is None
            assert scalar(db, "SELECT count(*) FROM mnemo.plan_signature") == 0
            assert _recalled(db, "bob") is None


def test_concurrent_shares_of_a_record_add_up(dsn: str, db: psycopg.Connection) -> None:
    plan_id = _plan(db)
    with (
        psycopg.connect(dsn, autocommit=True) as one,
        psycopg.connect(dsn, autocommit=True) as two,
    ):
        for turn in range(10):
            agents = ([f"a{turn}", f"b{turn}", "z"], ["z", f"c{turn}", f"a{turn}"])
            outcome = _both(
                lambda to=agents[0]: rows(  # type: ignore[misc]
                    one, "share", id=plan_id, to_agents=to, agent_id="alice"
                ),
                lambda to=agents[1]: rows(  # type: ignore[misc]
                    two, "share", id=plan_id, to_agents=to, agent_id="alice"
                ),
            )
            assert outcome == [None, None]
            for agent_id in {*agents[0], *agents[1]}:
                assert _recalled(db, agent_id) == plan_id


@pytest.mark.parametrize(
    ("permission", "function", "arguments"),
    [
        ("share", "share", {"to_agents": ["carol"], "permission": "share"}),
        ("share", "share", {"to_agents": ["bob", "carol"]}),
        ("share", "unshare", {"from_agents": ["carol"]}),
        ("delete", "forget", {}),
    ],
)
def test_a_permission_taken_while_waiting_is_gone(
    dsn: str, db: psycopg.Connection, permission: str, function: str, arguments: dict[str, Any]
) -> None:
    """Who waits for a lock acts with the permissions it has afterwards."""
    record_id = _memory(db)
    rows(db, "share", id=record_id, to_agents=["bob"], permission=permission, agent_id="alice")
    target: dict[str, Any] = {"ids": [record_id]} if function == "forget" else {"id": record_id}
    seen: list[str | None] = []
    with psycopg.connect(dsn) as owner, psycopg.connect(dsn, autocommit=True) as grantee:
        rows(owner, "unshare", id=record_id, from_agents=["bob"], agent_id="alice")

        def late() -> None:
            try:
                rows(grantee, function, **target, **arguments, agent_id="bob")
                seen.append(None)
            except psycopg.Error as error:
                seen.append(error.sqlstate)

        thread = threading.Thread(target=late)
        thread.start()
        wait_for_blocked(db, grantee.info.backend_pid)
        owner.commit()
        thread.join()
    assert seen == ["MN001"]
    assert scalar(db, "SELECT count(*) FROM mnemo.acl") == 0
    assert len(rows(db, "get_memories", ids=[record_id], agent_id="alice")) == 1
