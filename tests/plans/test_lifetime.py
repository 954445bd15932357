"""How long plans stay: their default end, caps with eviction, and wider scopes with provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import Mnemo
from mnemo_pg.types import PromoteStatus, Scope
from tests.plans.test_outcomes import HOME, QUESTION, assert_sound, got, plan, recalled, report
from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.reuse import emptied


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database."""
    with emptied(module_dsn) as conn:
        yield conn


def evicted(conn: psycopg.Connection, **more: Any) -> int:
    """How many plans a sweep evicts."""
    (found,) = [one["done"] for one in rows(conn, "sweep", **more) if one["task"] == "evicted"]
    assert isinstance(found, int)
    return found


def held(conn: psycopg.Connection) -> set[UUID]:
    return {id for (id,) in conn.execute("SELECT id FROM mnemo.plan WHERE deleted_at IS NULL")}


# ---- the end


def test_plans_without_an_end_get_that_of_the_setting(db: psycopg.Connection) -> None:
    """Per organisation; p_ttl goes before it, and memories have none of it."""
    value(db, "configure", name="plan_ttl", value="7 days", org_id=HOME)
    for query, more, length in (
        ("the first", {}, timedelta(days=7)), ("the second", {"ttl": "1 hour"}, timedelta(hours=1)),
        ("the third", {"org_id": "globex"}, None),
    ):  # fmt: skip
        found = got(db, plan(db, query, **more), more.get("org_id", HOME))
        assert found["expires_at"] == (None if length is None else found["created_at"] + length)
    element = {"query": "the fourth", "steps": [], "chunk_ids": [], "outcome_score": 1,
               "agent_id": "ana", "org_id": HOME}  # fmt: skip
    batch = rows(db, "remember_plans", plans=json.dumps([element]))
    found = got(db, batch[0]["id"])
    assert found["expires_at"] - found["created_at"] == timedelta(days=7)
    memory = row(db, "remember", content="no plan", agent_id="ana", org_id=HOME)["id"]
    assert scalar(db, "SELECT expires_at FROM mnemo.memory WHERE id = %s", memory) is None
    value(db, "configure", name="plan_ttl", value="none", org_id=HOME)
    assert got(db, plan(db, "the fifth"))["expires_at"] is None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("plan_ttl", ("none", "1 minutes", "999999 days"), ("0 days", "never", "1 week", "")),
        ("max_plans_per_agent", ("none", "1", "999999999"), ("0", "-1", "1.5", "", "many")),
        ("max_plans_per_org", ("none", "1", "999999999"), ("0", "-1", "1.5", "", "many")),
        ("retire_threshold", ("0", "0.05", "1"), ("-0.1", "1.1", "", "NaN")),
    ],
)  # fmt: skip
def test_values_of_the_settings(
    db: psycopg.Connection, name: str, good: tuple[str, ...], bad: tuple[str, ...]
) -> None:
    for one in good:
        assert value(db, "configure", name=name, value=one) == one
    before = contents(db)
    for one in bad:
        with refused("22023", "p_value"):
            value(db, "configure", name=name, value=one)
    assert contents(db) == before


# ---- caps


def test_the_least_valuable_plans_go(db: psycopg.Connection) -> None:
    """Retired ones first, then the lowest standing, then the longest unused; at most p_limit."""
    made = {
        name: plan(db, f"{QUESTION} {name}", outcome_score=score)
        for name, score in (
            ("oldest", 0.8), ("retired", 1), ("failing", 0.8), ("used", 0.7), ("poor", 0.7),
            ("touched", 0.7), ("newest", 0.8),
        )
    }  # fmt: skip
    report(db, made["failing"], False, "ben")
    report(db, made["used"], True, "ben")
    rows(db, "touch", ids=[made["touched"]], agent_id="ben", org_id=HOME)
    row(db, "retire_plan", id=made["retired"], agent_id="ana", org_id=HOME)
    assert evicted(db) == 0
    value(db, "configure", name="max_plans_per_agent", value="6", org_id=HOME)
    going = ["retired", "failing", "poor", "touched", "oldest", "newest"]
    for most, limit, gone in ((6, 1000, 1), (3, 1, 1), (3, 1000, 2), (1, 1000, 2), (1, 1000, 0)):
        value(db, "configure", name="max_plans_per_agent", value=str(most), org_id=HOME)
        assert evicted(db, limit=limit) == gone
        for name in going[:gone]:
            id = made.pop(name)
            last = rows(db, "history", id=id, agent_id="ana", org_id=HOME)[-1]
            assert (last["event_type"], last["actor_agent_id"]) == ("plan_evicted", "ana")
        going = going[gone:]
        assert held(db) == set(made.values())
    assert set(made) == {"used"}
    assert_sound(db)


def test_caps_count_each_owner_and_the_organisation(db: psycopg.Connection) -> None:
    """Live plans alone, global ones with their owner's; other organisations keep theirs."""
    mine = [plan(db, f"mine {number}", scope=scope)
            for number, scope in enumerate(("private", "public", "global"))]  # fmt: skip
    bens = [plan(db, f"of ben {number}", agent_id="ben") for number in range(2)]
    others = [plan(db, f"elsewhere {number}", org_id="globex") for number in range(3)]
    gone = plan(db, "gone")
    rows(db, "forget", ids=[gone], agent_id="ana", org_id=HOME)
    value(db, "configure", name="max_plans_per_agent", value="2", org_id=HOME)
    value(db, "configure", name="max_plans_per_org", value="3", org_id=HOME)
    assert evicted(db) == 2
    # The oldest of ana's three, then the oldest that the organisation has.
    assert held(db) == {*mine[2:], *bens, *others}
    assert evicted(db) == 0
    value(db, "configure", name="max_plans_per_agent", value="1")
    assert evicted(db) == 2
    assert held(db) == {mine[2], *bens, others[2]}
    value(db, "configure", name="max_plans_per_agent", value="1", org_id=HOME)
    assert evicted(db) == 1
    assert held(db) == {mine[2], bens[1], others[2]}


def test_a_sweep_with_nothing_to_evict_looks_at_no_plan(db: psycopg.Connection) -> None:
    """It counts them, by an index: else each sweep would read every plan."""
    for number in range(4):
        plan(db, f"question {number}", agent_id="ben" if number else "ana")
    read = "SELECT pg_stat_get_xact_numscans('mnemo.plan_signature_pkey'::regclass)"
    with db.transaction():
        for most, gone, looks in ((3, 0, False), (2, 1, True), (2, 0, False)):
            value(db, "configure", name="max_plans_per_agent", value=str(most), org_id=HOME)
            before = scalar(db, read)
            assert scalar(db, "SELECT mnemo._sweep_surplus(100, now())") == gone
            assert (scalar(db, read) > before) == looks


def test_failures_are_counted_apart(db: psycopg.Connection) -> None:
    """They have no score: counted together, all of them would go before any plan."""
    plans = [plan(db, f"question {number}", scope="private") for number in range(3)]
    failures = [
        row(db, "remember_failure", query=f"question {number}", steps=["guess"], reason="wrong",
            agent_id="ana", org_id=HOME)["id"]
        for number in range(3)
    ]  # fmt: skip
    value(db, "configure", name="max_plans_per_agent", value="2", org_id=HOME)
    assert evicted(db) == 2
    assert held(db) == {*plans[1:], *failures[1:]}
    value(db, "configure", name="max_plans_per_agent", value="none", org_id=HOME)
    value(db, "configure", name="max_plans_per_org", value="1", org_id=HOME)
    assert evicted(db, limit=1) == 1
    assert evicted(db) == 1
    assert held(db) == {plans[2], failures[2]}


def test_a_plan_that_somebody_changes_is_left_for_the_next_sweep(db: psycopg.Connection) -> None:
    made = [plan(db, f"question {number}", scope="global") for number in range(3)]
    value(db, "configure", name="max_plans_per_org", value="1", org_id=HOME)
    with psycopg.connect(db.info.dsn) as other:
        rows(other, "retire_plan", id=made[0], agent_id="ana", org_id=HOME)
        assert evicted(db) == 1
    assert evicted(db) == 1
    assert held(db) == {made[2]}


# ---- promotion


def test_a_scope_is_widened_with_its_provenance(db: psycopg.Connection) -> None:
    """private, shared, public: its id, reports and grants stay, and recall follows."""
    made = plan(db, scope="private")
    report(db, made, True)
    assert not recalled(db)["hit"]
    for scope, before in (("shared", "private"), ("public", "shared")):
        answer = row(db, "promote_plan", id=made, scope=scope, agent_id="ana", org_id=HOME)
        assert answer == {"id": made, "scope": scope, "status": "promoted"}
        again = row(db, "promote_plan", id=made, scope=scope, agent_id="ana", org_id=HOME)
        assert again["status"] == "unchanged"
        last = rows(db, "history", id=made, agent_id="ana", org_id=HOME)[-1]
        assert last["event_type"] == "plan_promoted"
        assert last["changes"] == {"scope": scope, "promoted_from": before}
        if scope == "shared":
            rows(db, "share", id=made, to_agents=["ben"], agent_id="ana", org_id=HOME)
            assert [recalled(db, agent)["hit"] for agent in ("ben", "cem")] == [True, False]
    assert recalled(db)["id"] == made
    assert got(db, made)["uses"] == 1
    provenance = scalar(db, "SELECT metadata -> 'promoted' FROM mnemo.memory WHERE id = %s", made)
    assert [(one["from"], one["to"], one["by"]) for one in provenance] == [
        ("private", "shared", "ana"), ("shared", "public", "ana"),
    ]  # fmt: skip
    assert all(one["at"].endswith("Z") for one in provenance)
    # The same plan again, with a better outcome, is another version of the same record.
    again = plan(db, scope="public", outcome_score=1, steps=["another way"])
    assert again == made
    kept = scalar(db, "SELECT metadata -> 'promoted' FROM mnemo.memory WHERE id = %s", made)
    assert kept == provenance
    assert_sound(db)


def test_a_promotion_never_narrows_and_never_reaches_everybody(db: psycopg.Connection) -> None:
    made, wide = plan(db), plan(db, "a question of all", scope="global")
    before = contents(db)
    for id, scope in (
        (made, "shared"), (made, "private"), (made, "global"), (made, None), (made, "Public"),
        (wide, "public"), (wide, "shared"),
    ):  # fmt: skip
        with refused("22023", "p_scope"):
            row(db, "promote_plan", id=id, scope=scope, agent_id="ana", org_id=HOME)
    with refused("22023", "p_id"):
        row(db, "promote_plan", id=None, scope="public", agent_id="ana", org_id=HOME)
    assert contents(db) == before


def test_the_client_promotes(db: psycopg.Connection) -> None:
    made = plan(db, scope="private")
    with Mnemo(db.info.dsn, agent_id="ana", org_id=HOME) as m:
        promoted = m.promote_plan(made, Scope.PUBLIC)
    assert (promoted.scope, promoted.status) == (Scope.PUBLIC, PromoteStatus.PROMOTED)
