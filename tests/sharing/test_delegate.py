"""mnemo.delegate, revoke_delegation, delegations: arguments, limits, attacks, races, cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.plans.test_explain import measure
from tests.support.calls import contents, refused, row, rows, scalar, value, wait_for_blocked
from tests.support.reuse import emptied

HOUR = timedelta(hours=1)
UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")
QUERY = "settle the quarterly invoices of the lemon supplier"


@pytest.fixture
def conn(module_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with emptied(module_dsn) as connection:
        yield connection


def memory(conn: psycopg.Connection[Any], agent: str = "ana", **fields: Any) -> UUID:
    found = row(conn, "remember", **{"content": "x", "scope": "shared", "agent_id": agent} | fields)
    assert isinstance(found["id"], UUID)
    return found["id"]


def delegated(conn: psycopg.Connection[Any], giver: str, to: str, **fields: Any) -> UUID:
    found = value(conn, "delegate", to_agent=to, agent_id=giver, **fields)
    assert isinstance(found, UUID)
    return found


def sees(conn: psycopg.Connection[Any], agent: str, *ids: UUID, **who: Any) -> list[bool]:
    found = {r["id"] for r in rows(conn, "get_memories", ids=list(ids), agent_id=agent, **who)}
    return [id in found for id in ids]


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "code", "parameter"),
    [
        ({"to_agent": None}, "22023", "p_to_agent"),
        ({"to_agent": "not one"}, "22023", "p_to_agent"),
        ({"to_agent": "ana"}, "22023", "p_to_agent"),
        ({"permission": "own"}, "22023", "p_permission"),
        ({"permission": None}, "22023", "p_permission"),
        ({"ids": []}, "22023", "p_ids"),
        ({"ids": [None]}, "22023", "p_ids"),
        ({"ids": [UNKNOWN]}, "MN001", "p_ids"),
        ({"ids": [UNKNOWN], "tag": "t"}, "22023", "p_tag"),
        ({"ids": [UNKNOWN] * 1001}, "54000", "p_ids"),
        ({"tag": " \u3000"}, "22023", "p_tag"),
        ({"tag": "x" * 257}, "54000", "p_tag"),
        ({"max_depth": -1}, "22023", "p_max_depth"),
        ({"max_depth": 11}, "22023", "p_max_depth"),
        ({"max_depth": None}, "22023", "p_max_depth"),
        ({"ttl": timedelta(0)}, "22023", "p_ttl"),
        ({"org_id": "*"}, "22023", None),
    ],
)
def test_bad_arguments_write_nothing(
    conn: psycopg.Connection[Any], arguments: dict[str, Any], code: str, parameter: str | None
) -> None:
    before = contents(conn)
    with refused(code, parameter):
        rows(conn, "delegate", **{"to_agent": "ben", "agent_id": "ana"} | arguments)
    assert contents(conn) == before


def test_only_what_one_may_give(conn: psycopg.Connection[Any]) -> None:
    """Not on what one only reads, nor on global records; all ids or none."""
    mine, others = memory(conn), memory(conn, "cem", scope="public")
    everyones = memory(conn, "ana", scope="global")
    read = memory(conn, "cem")
    rows(conn, "share", id=read, to_agents=["ana"], permission="delete", agent_id="cem")
    for ids, code in (([mine, others], "42501"), ([mine, read], "42501"), ([everyones], "22023")):
        with refused(code, "p_ids"):
            delegated(conn, "ana", "ben", ids=ids)
    assert scalar(conn, "SELECT count(*) FROM mnemo.delegation") == 0
    delegated(conn, "ana", "ben", permission="share")
    assert sees(conn, "ben", mine, read) == [True, False]
    assert value(conn, "check_permission", id=others, permission="write", agent_id="ben") is False
    assert (
        value(conn, "check_permission", id=everyones, permission="write", agent_id="ben") is False
    )


def test_private_records_are_their_owners_unless_named(conn: psycopg.Connection[Any]) -> None:
    one, two = (memory(conn, scope="private", tags=["t"]) for _ in range(2))
    delegated(conn, "ana", "ben", permission="share")
    delegated(conn, "ana", "ben", tag="t")
    assert sees(conn, "ben", one, two) == [False, False]
    delegated(conn, "ana", "ben", ids=[one])
    assert sees(conn, "ben", one, two) == [True, False]
    assert rows(conn, "get_memories", ids=[one], agent_id="ana")[0]["scope"] == "shared"
    last = rows(conn, "history", id=one, agent_id="ana")[-1]
    assert (last["event_type"], last["changes"]) == ("memory_update", {"scope": "shared"})


def test_what_a_delegated_permission_allows(conn: psycopg.Connection[Any]) -> None:
    """delete forgets, share shares until the delegation ends; history is there to read."""
    kept, gone = memory(conn), memory(conn)
    given = delegated(conn, "ana", "ben", permission="share", ids=[kept], ttl=HOUR)
    delegated(conn, "ana", "cem", permission="delete")
    (grant,) = rows(conn, "share", id=kept, to_agents=["dua"], agent_id="ben")
    ends = {d["id"]: d["expires_at"] for d in rows(conn, "delegations", agent_id="ben")}
    assert grant["expires_at"] == ends[given]
    assert rows(conn, "forget", ids=[gone], agent_id="cem")[0]["status"] == "deleted"
    with refused("42501", "p_id"):
        rows(conn, "share", id=kept, to_agents=["eli"], agent_id="cem")
    assert [h["actor_agent_id"] for h in rows(conn, "history", id=kept, agent_id="cem")] == [
        "ana", "ben",
    ]  # fmt: skip
    value(conn, "revoke_delegation", id=given, agent_id="ana")
    # A grant is a grant: it is taken back by itself.
    assert sees(conn, "ben", kept) == [False]
    assert sees(conn, "dua", kept) == [True]


def test_later_records_count_and_a_lost_right_does_not(conn: psycopg.Connection[Any]) -> None:
    lent = memory(conn, "cem", tags=["t"])
    rows(conn, "share", id=lent, to_agents=["ana"], permission="share", agent_id="cem")
    delegated(conn, "ana", "ben", tag="t")
    later = memory(conn, tags=["t", "u"])
    assert sees(conn, "ben", lent, later) == [True, True]
    rows(conn, "share", id=lent, to_agents=["ana"], permission="delete", agent_id="cem")
    assert sees(conn, "ben", lent, later) == [False, True]
    assert sees(conn, "ana", lent) == [True]


def test_both_are_events_of_the_giver(conn: psycopg.Connection[Any]) -> None:
    """Without words: a tag is a note, which can be erased."""
    given = delegated(conn, "ana", "ben", tag="subject:Ann", max_depth=1)
    onward = delegated(conn, "ben", "cem")
    value(conn, "revoke_delegation", id=given, agent_id="ben")
    events = conn.execute(
        "SELECT e.agent_id, e.actor_agent_id, e.event_type, e.changes ->> 'delegation', n.note"
        "  FROM mnemo.event AS e LEFT JOIN mnemo.event_note AS n"
        "    ON n.org_id = e.org_id AND n.event_id = e.id ORDER BY e.id"
    ).fetchall()
    assert events == [
        ("ana", "ana", "memory_share", str(given), "subject:Ann"),
        ("ben", "ben", "memory_share", str(onward), None),
        ("ana", "ben", "memory_unshare", str(given), None),
        ("ben", "ben", "memory_unshare", str(onward), None),
    ]
    assert value(conn, "seal") == 0
    for agent in ("ana", "ben"):
        assert row(conn, "verify_chain", agent_id=agent)["ok"]


# ---- chains


def test_depth_permission_and_end_only_shrink(conn: psycopg.Connection[Any]) -> None:
    record = memory(conn, tags=["t"])
    delegated(conn, "ana", "a1", permission="delete", max_depth=2, ttl=2 * HOUR)
    delegated(conn, "a1", "a2", permission="share", max_depth=10)
    delegated(conn, "a2", "a3", permission="share", tag="t", max_depth=10, ttl=HOUR)
    delegated(conn, "a3", "a4", permission="share", max_depth=10)
    assert [sees(conn, f"a{n}", record)[0] for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert [
        value(conn, "check_permission", id=record, permission=permission, agent_id="a3")
        for permission in ("delete", "share")
    ] == [True, False]
    ends = conn.execute(
        "SELECT max_depth, extract(epoch FROM expires_at - created_at) / 3600 BETWEEN 0.99 AND 2"
        "  FROM mnemo.delegation WHERE root_agent_id = 'ana' ORDER BY id"
    ).fetchall()
    assert ends == [(2, True), (1, True), (0, True)]
    with refused("42501", "p_ids"):
        delegated(conn, "a3", "a4", ids=[record])
    with refused("42501", "p_ids"):
        delegated(conn, "a2", "a4", ids=[record], permission="share")


def test_revoking_takes_the_chain_below_and_nothing_else(conn: psycopg.Connection[Any]) -> None:
    hers, his = memory(conn), memory(conn, "ben")
    first = delegated(conn, "ana", "ben", max_depth=5)
    second = delegated(conn, "ben", "cem", max_depth=5)
    delegated(conn, "cem", "dua")
    delegated(conn, "ana", "eli", max_depth=1)
    delegated(conn, "eli", "dua")
    assert sees(conn, "dua", hers, his) == [True, True]
    assert value(conn, "revoke_delegation", id=first, agent_id="ana") == 3
    assert value(conn, "revoke_delegation", id=first, agent_id="ana") == 0
    # What ben has himself is still passed on; dua has the rest from eli.
    assert sees(conn, "cem", hers, his) == [False, True]
    assert sees(conn, "dua", hers, his) == [True, True]
    assert value(conn, "revoke_delegation", id=second, agent_id="cem") == 2
    assert sees(conn, "dua", hers, his) == [True, False]


def test_circles_open_nothing(conn: psycopg.Connection[Any]) -> None:
    """Handing each other everything, with every permission, gives nobody more than once."""
    ids = {agent: memory(conn, agent) for agent in ("ana", "ben", "cem")}
    hidden = memory(conn, "dua")
    given = [
        delegated(conn, giver, to, permission=permission, max_depth=10)
        for _ in range(3)
        for giver, to, permission in (
            ("ana", "ben", "read"), ("ben", "cem", "share"), ("cem", "ana", "share"),
        )
    ]  # fmt: skip
    for agent in ids:
        assert sees(conn, agent, hidden) == [False]
    assert not value(conn, "check_permission", id=ids["ana"], permission="write", agent_id="cem")
    for delegation in given:
        value(conn, "revoke_delegation", id=delegation, agent_id=_giver(conn, delegation))
    for agent, own in ids.items():
        assert sees(conn, agent, *ids.values()) == [id == own for id in ids.values()]


def _giver(conn: psycopg.Connection[Any], delegation: UUID) -> str:
    found = scalar(conn, "SELECT from_agent_id FROM mnemo.delegation WHERE id = %s", delegation)
    assert isinstance(found, str)
    return found


def test_deep_chains_end_and_are_cheap(conn: psycopg.Connection[Any]) -> None:
    """Ten times passed on, and not once more; the last of them pays as the first."""
    record = memory(conn)
    delegated(conn, "ana", "c0", max_depth=10)
    for number in range(12):
        delegated(conn, f"c{number}", f"c{number + 1}", max_depth=10)
    assert [sees(conn, f"c{n}", record)[0] for n in (0, 9, 10, 11, 12)] == [
        True, True, True, False, False,
    ]  # fmt: skip
    costs = []
    for agent in ("c0", "c10"):
        call = "mnemo.get_memories(ARRAY[%s]::uuid[], %s)"
        measure(conn, call, record, agent)
        costs.append(measure(conn, call, record, agent).blocks)
    assert abs(costs[0] - costs[1]) <= 10, costs
    first = rows(conn, "delegations", agent_id="ana")[0]["id"]
    assert value(conn, "revoke_delegation", id=first, agent_id="ana") == 11


# ---- others' organisations, strangers, roles


def test_nothing_crosses_organisations(conn: psycopg.Connection[Any]) -> None:
    """Neither records nor delegations of an agent of the same name elsewhere."""
    here, there = memory(conn), memory(conn, org_id="globex")
    given = delegated(conn, "ana", "ben", permission="share", max_depth=3)
    assert sees(conn, "ben", here, there) == [True, False]
    assert sees(conn, "ben", here, there, org_id="globex") == [False, False]
    with refused("MN001", "p_ids"):
        delegated(conn, "ana", "ben", ids=[there])
    with refused("MN001", "p_id"):
        value(conn, "revoke_delegation", id=given, agent_id="ana", org_id="globex")
    with refused("MN001", "p_id"):
        value(conn, "revoke_delegation", id=given, agent_id="cem")
    assert rows(conn, "delegations", agent_id="ana", org_id="globex") == []
    assert rows(conn, "delegations", agent_id="cem") == []
    # A row of what is passed on is no delegation of its own.
    delegated(conn, "ben", "cem")
    part = scalar(conn, "SELECT id FROM mnemo.delegation WHERE head_id IS NOT NULL")
    with refused("MN001", "p_id"):
        value(conn, "revoke_delegation", id=part, agent_id="ben")


def test_a_tenant_delegates_as_itself_only(conn: psycopg.Connection[Any]) -> None:
    record = memory(conn, org_id="acme")
    role = "sharing_tenant"
    conn.execute(f"CREATE ROLE {role}")
    try:
        conn.execute("SELECT mnemo.grant_access(%s, 'tenant')", [role])
        conn.execute("SELECT mnemo.bind_role(%s, 'acme', 'eve')", [role])
        conn.execute(f"SET ROLE {role}")
        for who in ({"agent_id": "ana"}, {"org_id": "default"}):
            with refused("42501"):
                rows(conn, "delegate", to_agent="ben", **who)
            with refused("42501"):
                rows(conn, "delegations", **who)
            with refused("42501"):
                rows(conn, "revoke_delegation", id=UNKNOWN, **who)
        with refused("MN001", "p_ids"):
            rows(conn, "delegate", to_agent="ben", ids=[record])
        # All that it has is nothing.
        rows(conn, "delegate", to_agent="ben", permission="share", max_depth=10)
        conn.execute("RESET ROLE")
        assert sees(conn, "ben", record, org_id="acme") == [False]
        (given,) = rows(conn, "delegations", agent_id="ben", org_id="acme")
        assert given["from_agent_id"] == "eve"
    finally:
        conn.execute("RESET ROLE")
        conn.execute("SELECT mnemo.revoke_access(%s)", [role])
        conn.execute(f"DROP ROLE {role}")


def test_the_table_refuses_forged_rows(conn: psycopg.Connection[Any]) -> None:
    """A parent of another organisation or of nowhere, a delegation to oneself, a loose tag."""
    given = delegated(conn, "ana", "ben", org_id="acme")
    row_of = (
        "INSERT INTO mnemo.delegation (org_id, id, from_agent_id, to_agent_id, permission,"
        " parent_id, max_depth, created_at, root_agent_id, tag, tags)"
        " VALUES (%s, gen_random_uuid(), %s, %s, 'share', %s, 0, now(), %s, %s, %s)"
    )
    for values in (
        ("globex", "ben", "cem", given, "ana", None, None),
        ("acme", "ben", "cem", UNKNOWN, "ana", None, None),
        ("acme", "ben", "ben", None, "ana", None, None),
        ("acme", "ana", "ben", None, "ben", None, None),
        ("acme", "ana", "ben", None, "ana", "t", None),
        ("acme", "ana", "ben", None, "ana", "t", ["u"]),
    ):
        with pytest.raises(psycopg.errors.IntegrityError):
            conn.execute(row_of, values)


# ---- limits and cost


def test_limits_bound_what_an_agent_holds(conn: psycopg.Connection[Any]) -> None:
    """100 of one agent, of 100 agents, 1000 in all; the holder can give back."""
    first = delegated(conn, "ana", "ben", tag="t0")
    for number in range(1, 100):
        delegated(conn, "ana", "ben", tag=f"t{number}")
    with refused("54000", "p_to_agent"):
        delegated(conn, "ana", "ben", tag="one more")
    value(conn, "revoke_delegation", id=first, agent_id="ben")
    delegated(conn, "ana", "ben", tag="one more")
    for number in range(99):
        delegated(conn, f"agent-{number}", "ben")
    with refused("54000", "p_to_agent"):
        delegated(conn, "agent-99", "ben")
    for number in range(9):
        for tag in range(99):
            if (
                scalar(conn, "SELECT count(*) FROM mnemo.delegation WHERE revoked_at IS NULL")
                < 1000
            ):
                delegated(conn, f"agent-{number}", "ben", tag=f"t{tag}")
    with refused("54000", "p_to_agent"):
        delegated(conn, "agent-50", "ben", tag="t")


def test_cost_of_delegations(conn: psycopg.Connection[Any]) -> None:
    """An agent without any pays nothing for those of others; one that holds 1000 pays for them, not
    for the records behind them; thousands of revoked and of expired ones cost nothing."""
    plan = row(
        conn, "remember_plan", query=QUERY, steps=["s"], chunk_ids=[], outcome_score=1,
        scope="shared", agent_id="agent-7",
    )["id"]  # fmt: skip
    record = memory(conn, "agent-7", content="the lemon supplier", tags=["t7"])
    conn.execute(
        "INSERT INTO mnemo.delegation (org_id, id, from_agent_id, to_agent_id, permission,"
        " max_depth, created_at, root_agent_id, tag, tags, revoked_at, expires_at)"
        " SELECT 'default', mnemo._new_id(), 'agent-' || n % 100, 'ben', 'read', 0, now(),"
        "        'agent-' || n % 100, 't' || n / 100, ARRAY['t' || n / 100],"
        "        CASE WHEN n >= 1000 AND n % 2 = 0 THEN now() END,"
        "        CASE WHEN n >= 1000 AND n % 2 = 1 THEN now() END"
        "   FROM generate_series(0, 5999) AS n"
    )
    delegated(conn, "agent-7", "cem")
    conn.execute("ANALYZE mnemo.delegation")
    calls = {
        "get": ("mnemo.get_memories(ARRAY[%s]::uuid[], %s)", (record,)),
        "check": ("mnemo.check_permission(%s, 'read', %s)", (record,)),
        "plan": ("mnemo.recall_plan(%s, %s)", (QUERY,)),
        "similar": ("mnemo.recall_plan(%s, %s)", (QUERY + " again",)),
        "words": ("mnemo.recall(%s, p_strategy => 'lexical', p_agent_id => %s)", ("lemon",)),
        "list": ("mnemo.list_plans(%s, NULL, %s)", (10,)),
    }
    cost: dict[tuple[str, str], int] = {}
    for name, (call, arguments) in calls.items():
        for agent in ("nobody", "cem", "ben"):
            for _ in range(7):
                found = measure(conn, call, *arguments, agent)
            cost[name, agent] = found.blocks
    assert sees(conn, "cem", record, plan) == [True, True]
    for name in calls:
        assert cost[name, "nobody"] <= 200, cost
        assert cost[name, "cem"] <= cost[name, "nobody"] + 120, cost
        assert cost[name, "ben"] <= 12_000, cost
    assert cost["get", "ben"] <= 100, cost


# ---- races


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_what_is_passed_on_while_it_is_revoked_ends(
    module_dsn: str, conn: psycopg.Connection[Any], level: str
) -> None:
    """Whichever is first, the chain below is gone; an old snapshot fails instead of missing it."""
    record = memory(conn)
    first = delegated(conn, "ana", "ben", max_depth=3)
    seen: list[str | None] = []

    with psycopg.connect(module_dsn) as giver, psycopg.connect(module_dsn) as taker:
        taker.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
        taker.commit()
        scalar(taker, "SELECT count(*) FROM mnemo.delegation")
        delegated(giver, "ben", "cem")

        def revoke() -> None:
            try:
                taker.execute("SELECT mnemo.revoke_delegation(%s, 'ana')", [first])
                taker.commit()
                seen.append(None)
            except psycopg.Error as error:
                taker.rollback()
                seen.append(error.sqlstate)

        thread = threading.Thread(target=revoke)
        thread.start()
        wait_for_blocked(conn, taker.info.backend_pid)
        giver.commit()
        thread.join()
        if level == "REPEATABLE READ":
            assert seen == ["40001"]
            seen.clear()
            revoke()
    assert seen == [None]
    assert sees(conn, "cem", record) == [False]
    assert scalar(conn, "SELECT count(*) FROM mnemo.delegation WHERE root_agent_id = 'ana'"
                        " AND revoked_at IS NULL") == 0  # fmt: skip


def test_nothing_is_passed_on_that_is_just_revoked(
    module_dsn: str, conn: psycopg.Connection[Any]
) -> None:
    record = memory(conn)
    first = delegated(conn, "ana", "ben", max_depth=3)
    with psycopg.connect(module_dsn) as taker, psycopg.connect(module_dsn) as giver:
        taker.execute("SELECT mnemo.revoke_delegation(%s, 'ana')", [first])

        def pass_on() -> None:
            delegated(giver, "ben", "cem")
            giver.commit()

        thread = threading.Thread(target=pass_on)
        thread.start()
        wait_for_blocked(conn, giver.info.backend_pid)
        taker.commit()
        thread.join()
    assert sees(conn, "cem", record) == [False]
