"""What recall does with the guard: whom it refuses, whom it replays instead, what it says.

What the guard reads out of a text is another matter; here a number is a value and a negation a
meaning, and that is all that is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import row, rows, value, wait_until
from tests.support.reuse import emptied

GUARDS = ("strict", "meaning", "off")
# The same signature each, {list, open, orders, the, vendor} or with not.
VENDOR_17 = "list the open orders of vendor 17"
VENDOR_71 = "list the open orders of vendor 71"
NO_VENDOR = "list the open orders of no vendor"


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database."""
    with emptied(module_dsn) as conn:
        conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
        yield conn


def remember(db: psycopg.Connection, query: str, /, **arguments: Any) -> UUID:
    """Remember a plan; its id."""
    answer = row(db, "remember_plan", **{
        "query": query, "steps": ["a step"], "chunk_ids": [], "outcome_score": 0.9, **arguments,
    })  # fmt: skip
    found = answer["id"]
    assert isinstance(found, UUID)
    return found


def recall(db: psycopg.Connection, query: str, /, **arguments: Any) -> dict[str, Any]:
    """The one row of recall_plan."""
    return row(db, "recall_plan", query=query, **arguments)


def assert_refused(answer: dict[str, Any], plan: UUID, similarity: float) -> None:
    """A miss because of the guard names the plan and says what differs."""
    assert (answer["hit"], answer["reason"], answer["id"]) == (False, "guarded", None)
    near = answer["near_miss"]
    assert (near["id"], near["similarity"]) == (str(plan), similarity)
    assert near["differences"]
    assert all(isinstance(difference, str) and difference for difference in near["differences"])
    assert answer["candidates_considered"] >= 1


@pytest.mark.parametrize(
    ("stored", "asked", "allowed"),
    [
        (VENDOR_17, VENDOR_17, GUARDS),
        (VENDOR_17, "vendor 17: list the open orders", GUARDS),
        (VENDOR_17, VENDOR_71, ("meaning", "off")),
        (VENDOR_17, "list the open orders of vendor", ("meaning", "off")),
        ("list the open orders of vendor", VENDOR_17, ("meaning", "off")),
        (VENDOR_17, NO_VENDOR, ("off",)),
        (NO_VENDOR, VENDOR_17, ("off",)),
        (NO_VENDOR, "list the open orders of no vendor 17", ("meaning", "off")),
    ],
)
@pytest.mark.parametrize("scope", ["private", "shared", "public", "global"])
def test_each_guard_refuses_its_classes(
    db: psycopg.Connection, stored: str, asked: str, allowed: tuple[str, ...], scope: str
) -> None:
    """Equal sets of words: strict compares values and meaning, meaning the second, off neither."""
    plan = remember(db, stored, agent_id="ana", scope=scope)
    if scope == "shared":
        row(db, "share", id=plan, to_agents=["ben"], agent_id="ana")
    for agent in ("ana",) if scope == "private" else ("ana", "ben"):
        for guard in GUARDS:
            answer = recall(db, asked, guard=guard, agent_id=agent)
            several = rows(db, "recall_plans", query=asked, guard=guard, agent_id=agent)
            if guard in allowed:
                assert (answer["id"], answer["similarity"]) == (plan, 1.0)
                assert (answer["reason"], answer["near_miss"]) == ("exact", None)
                assert [one["id"] for one in several] == [plan]
            else:
                assert_refused(answer, plan, 1.0)
                assert near_query(answer) == stored
                assert several == []


def near_query(answer: dict[str, Any]) -> Any:
    """The question of the plan that was refused."""
    return answer["near_miss"]["query"]


@pytest.mark.parametrize("threshold", [0.8, 0.6, 0.5, 0.3])
def test_similar_plans_are_refused_as_identical_ones_are(
    db: psycopg.Connection, threshold: float
) -> None:
    """Above the floor of the keys and below it."""
    plan = remember(db, VENDOR_17)
    arguments = {"similarity_threshold": threshold}
    assert recall(db, "list the open orders 17", **arguments)["id"] == plan
    assert_refused(recall(db, "list the open orders 71", **arguments), plan, 0.8)
    assert_refused(recall(db, "list the open orders", **arguments), plan, 0.8)
    assert recall(db, "list the open orders", guard="meaning", **arguments)["id"] == plan


def test_the_setting_holds_where_no_guard_is_named(db: psycopg.Connection) -> None:
    """strict unless configured; an organisation may have its own; the argument wins."""
    for org in ("acme", "globex"):
        remember(db, VENDOR_17, org_id=org)
    assert value(db, "setting", name="guard") == "strict"
    assert recall(db, VENDOR_71, org_id="acme")["reason"] == "guarded"
    value(db, "configure", name="guard", value="meaning", org_id="acme")
    assert recall(db, VENDOR_71, org_id="acme")["reason"] == "exact"
    assert recall(db, NO_VENDOR, org_id="acme")["reason"] == "guarded"
    assert recall(db, VENDOR_71, org_id="globex")["reason"] == "guarded"
    value(db, "configure", name="guard", value="off")
    assert recall(db, NO_VENDOR, org_id="globex")["reason"] == "exact"
    assert recall(db, NO_VENDOR, org_id="acme")["reason"] == "guarded"
    assert recall(db, VENDOR_71, org_id="globex", guard="strict")["reason"] == "guarded"


def test_the_best_that_agrees_is_replayed(db: psycopg.Connection) -> None:
    """Refused plans step aside, however similar, good and new they are."""
    fits = remember(db, "please list the open orders of vendor 17 kindly", outcome_score=0.5)
    refused = [remember(db, VENDOR_71, outcome_score=1) for _ in range(3)]
    answer = recall(db, VENDOR_17, similarity_threshold=0.6)
    assert (answer["id"], answer["reason"], answer["near_miss"]) == (fits, "similar", None)
    found = rows(db, "recall_plans", query=VENDOR_17, similarity_threshold=0.6)
    assert [one["id"] for one in found] == [fits]
    assert recall(db, VENDOR_17, guard="off")["id"] == refused[-1]


def test_the_best_refused_plan_is_named(db: psycopg.Connection) -> None:
    """By the order of hits: similarity, own organisation, outcome, newest, id."""
    remember(db, "list the open orders of vendor 71 again", outcome_score=1)
    remember(db, VENDOR_71, scope="global", outcome_score=1)
    best = remember(db, VENDOR_71, outcome_score=0.8)
    remember(db, VENDOR_71, outcome_score=0.7)
    assert_refused(recall(db, VENDOR_17), best, 1.0)


def test_what_is_invisible_is_not_named(db: psycopg.Connection) -> None:
    """A plan that the caller may not see, or that does not count, is no near miss either."""
    remember(db, VENDOR_71, agent_id="ben")
    remember(db, VENDOR_71, agent_id="ben", scope="shared")
    remember(db, VENDOR_71, org_id="acme", scope="public")
    remember(db, VENDOR_71, agent_id="ana", context="v2")
    forgotten = remember(db, VENDOR_71, agent_id="ana")
    row(db, "forget", ids=[forgotten], agent_id="ana")
    for column, new in (
        ("quarantined", "true"),
        ("consolidation_state", "'archived'"),
        ("expires_at", "now() - interval '1 second'"),
    ):
        plan = remember(db, VENDOR_71, agent_id="ana", scope="public")
        db.execute(f"UPDATE mnemo.memory SET {column} = {new} WHERE id = %s", [plan])  # type: ignore[arg-type]
    ended = remember(db, VENDOR_71, agent_id="ben")
    grant = row(db, "share", id=ended, to_agents=["ana"], ttl="1 microsecond", agent_id="ben")
    wait_until(db, grant["expires_at"])
    for query in (VENDOR_17, "list the open orders 17"):
        answer = recall(db, query, agent_id="ana")
        assert (answer["reason"], answer["near_miss"]) == ("none_similar", None)
        assert answer["candidates_considered"] == 0
        (explained,) = rows(db, "explain_recall_plan", query=query, agent_id="ana")
        assert (explained["id"], explained["verdict"]) == (None, "none_similar")


def test_a_refusal_is_found_behind_many_that_are_not_similar(db: psycopg.Connection) -> None:
    """Hundreds of candidates just below the threshold do not hide the one above it."""

    def words(name: str, count: int) -> list[str]:
        return [f"{name}{letter}{other}{third}" for letter in "abcdefghij" for other in "abcdefghij"
                for third in "abc"][:count]  # fmt: skip

    common = words("common", 300)
    plans = [
        {"query": " ".join([*common[:240], *words(f"own{chr(97 + number // 26)}"
                                                   f"{chr(97 + number % 26)}", 60)]),
         "steps": [], "chunk_ids": [], "outcome_score": 1}
        for number in range(250)
    ]  # fmt: skip
    rows(db, "remember_plans", plans=json.dumps(plans))
    refused = remember(db, " ".join([*common[:270], *words("other", 30)]))
    answer = recall(db, " ".join([*common, "17"]))
    assert_refused(answer, refused, 270 / 330)


def test_one_of_a_thousand_of_a_template_is_found(db: psycopg.Connection) -> None:
    """Near-duplicates that differ in a number: each question finds its own plan only."""
    plans = [
        {"query": f"list the open orders of vendor {number} please", "steps": [], "chunk_ids": [],
         "outcome_score": 1, "scope": ("private", "public", "global")[number % 3]}
        for number in range(1000)
    ]  # fmt: skip
    ids = [answer["id"] for answer in rows(db, "remember_plans", plans=json.dumps(plans))]
    for number in (0, 17, 71, 999):
        exact = recall(db, f"list the open orders of vendor {number} please")
        assert (exact["id"], exact["candidates_considered"]) == (ids[number], 1)
        near = recall(db, f"list the open orders of vendor {number} now please")
        assert (near["id"], near["reason"]) == (ids[number], "similar")
    missing = recall(db, "list the open orders of vendor 1000 please")
    assert (missing["reason"], missing["near_miss"]["similarity"]) == ("guarded", 6 / 7)


# The explanation.


def test_an_explanation_says_what_recall_has_done(db: psycopg.Connection) -> None:
    """Every visible neighbour with tokens, differences and verdict, best first."""
    refused = remember(db, VENDOR_71, agent_id="ben", scope="public")
    best = remember(db, "list open orders of vendor 17 please", outcome_score=0.8)
    second = remember(db, "list open orders of vendor 17 please", outcome_score=0.7)
    far = remember(db, "vendor 17 list")
    remember(db, VENDOR_17, agent_id="ben")
    found = rows(db, "explain_recall_plan", query=VENDOR_17, similarity_threshold=0.6)
    assert [(one["rank"], one["id"], one["verdict"]) for one in found] == [
        (1, refused, "guarded"), (2, best, "replayed"), (3, second, "outranked"),
        (4, far, "below_threshold"),
    ]  # fmt: skip
    assert found[1]["shared_tokens"] == ["list", "open", "orders", "vendor"]
    assert (found[1]["only_asked"], found[1]["only_stored"]) == (["the"], ["please"])
    assert [one["threshold"] for one in found] == [0.6] * 4
    assert {one["state"] for one in found} == {"raw"}
    assert [bool(one["guard_differences"]) for one in found[:3]] == [True, False, False]
    assert "17" in found[0]["guard_differences"][0]
    assert "71" in found[0]["guard_differences"][0]
    assert recall(db, VENDOR_17, similarity_threshold=0.6)["id"] == best


def test_an_explanation_always_shows_the_plan_that_is_replayed(db: psycopg.Connection) -> None:
    """However many better ones the guard refuses."""
    fits = remember(db, "please list the open orders of vendor 17 kindly")
    for _ in range(30):
        remember(db, VENDOR_71)
    answer = recall(db, VENDOR_17, similarity_threshold=0.6)
    assert answer["id"] == fits
    found = rows(db, "explain_recall_plan", query=VENDOR_17, similarity_threshold=0.6)
    assert [one["id"] for one in found if one["verdict"] == "replayed"] == [fits]


@pytest.mark.parametrize(
    ("query", "mode", "verdict"),
    [
        ("anything", "on", "none_similar"),
        (" ", "on", "blank_query"),
        (VENDOR_17, "off", "disabled"),
    ],
)
def test_an_explanation_of_nothing_is_one_row(
    db: psycopg.Connection, query: str, mode: str, verdict: str
) -> None:
    """With the verdict, and nothing else."""
    remember(db, VENDOR_17)
    value(db, "configure", name="experience_memory", value=mode)
    only = row(db, "explain_recall_plan", query=query)
    assert (only["id"], only["verdict"]) == (None, verdict)
