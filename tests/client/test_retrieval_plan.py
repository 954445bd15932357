"""Retrieval plans as Python has them: values that lose nothing, and the calls on them."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
import pytest

from mnemo_pg import (
    ArgumentError,
    Kind,
    LimitError,
    RetrievalEntity,
    RetrievalIntent,
    RetrievalPlan,
    TemporalWindow,
)
from tests.client.conftest import Side
from tests.retrieval.test_plan_type import Random

BERLIN = timezone(timedelta(hours=2))
WHOLE = RetrievalPlan(
    plan_id="pln_1",
    turn_id=2**63 - 1,
    generation=3,
    requires_memory=True,
    confidence=0.8444218515250481,
    intent=RetrievalIntent.COMPARISON,
    entities=(RetrievalEntity.resolved("my wife", "rhea"), RetrievalEntity("Café")),
    topics=("quiet", "東京"),
    predicates=("venue_preference",),
    lexical_queries=("quiet restaurant",),
    scopes=(Kind.PREFERENCE, Kind.ROUTINE),
    kind_filter=(Kind.IDENTITY,),
    subject_hint="rhea",
    predicate_hint="venue_preference",
    temporal=TemporalWindow(
        after=datetime(2026, 1, 31, 9, 0, 0, 250, BERLIN),
        before=datetime(2026, 2, 1, tzinfo=UTC),
        label="last week",
    ),
    source_transcript_hash="a430d84680aabd0b",
    warnings=("unknown field $.x was dropped",),
)


@pytest.fixture(params=["sync", "async"])
async def m(request: pytest.FixtureRequest, module_dsn: str) -> Any:
    """A client of either kind; nothing is written."""
    async with AsyncExitStack() as stack:
        yield Side(request.param, module_dsn, stack).client(module_dsn)


@pytest.fixture(scope="module")
def db(module_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(module_dsn, autocommit=True) as conn:
        yield conn


def test_forms() -> None:
    """Of an entity the surface, then the canonical form; of a plan those of all, in order."""
    assert RetrievalEntity("Rhea").forms == ("Rhea",)
    assert RetrievalEntity.resolved("my wife", "rhea").forms == ("my wife", "rhea")
    assert WHOLE.entity_forms == ("my wife", "rhea", "Café")
    assert RetrievalPlan(turn_id=0, generation=0).entity_forms == ()


def test_a_later_generation_makes_a_plan_stale() -> None:
    assert [WHOLE.is_stale(current) for current in (0, 2, 3, 4, 2**63 - 1)] == [
        False, False, False, True, True,
    ]  # fmt: skip


def test_a_plan_is_a_value() -> None:
    """It cannot be changed, equal ones are equal, lists become tuples, and it can be pickled."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        WHOLE.topics = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(WHOLE)) == WHOLE
    assert hash(dataclasses.replace(WHOLE)) == hash(WHOLE)
    listed = RetrievalPlan(turn_id=0, generation=0, topics=["a"], scopes=["project"])  # type: ignore[arg-type]
    assert listed == RetrievalPlan(turn_id=0, generation=0, topics=("a",), scopes=(Kind.PROJECT,))
    with pytest.raises(TypeError, match="topics must be a list"):
        RetrievalPlan(turn_id=0, generation=0, topics="abc")  # type: ignore[arg-type]


def test_there_and_back() -> None:
    """Nothing is lost on the way through JSON, of whole plans and of the least ones."""
    for plan in (WHOLE, RetrievalPlan(turn_id=0, generation=0), RetrievalPlan.search("x")):
        assert RetrievalPlan.from_jsonb(json.loads(json.dumps(plan.to_jsonb()))) == plan
    back = RetrievalPlan.from_jsonb(WHOLE.to_jsonb())
    assert isinstance(back.intent, RetrievalIntent)
    assert all(isinstance(kind, Kind) for kind in (*back.scopes, *back.kind_filter))
    assert back.temporal is not None
    assert back.temporal.after is not None
    assert back.temporal.after.tzinfo is UTC
    # What a newer database may say.
    newer = WHOLE.to_jsonb() | {"intent": "telepathy", "scopes": ["dream"], "mood": 1}
    assert RetrievalPlan.from_jsonb(newer).intent == "telepathy"
    assert RetrievalPlan.from_jsonb(newer).scopes == ("dream",)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"turn_id": "1"}, TypeError, "turn_id"),
        ({"turn_id": None}, ArgumentError, "turn_id"),
        ({"generation": True}, TypeError, "generation"),
        ({"confidence": "NaN"}, TypeError, "confidence"),
        ({"requires_memory": 1}, TypeError, "requires_memory"),
        ({"topics": "abc"}, TypeError, "topics"),
        ({"topics": ["a", 1]}, TypeError, r"topics\[1\]"),
        ({"entities": ["a"]}, TypeError, r"entities\[0\]"),
        ({"entities": [{"canonical": "a"}]}, TypeError, r"entities\[0\].surface"),
        ({"temporal": "now"}, TypeError, "temporal"),
        ({"temporal": {"after": "now"}}, ArgumentError, "temporal.after"),
        ({"temporal": {"after": "2026-01-31T09:00:00"}}, ArgumentError, "no time zone"),
    ],
    ids=str,
)
def test_what_is_no_plan(change: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        RetrievalPlan.from_jsonb(WHOLE.to_jsonb() | change)
    with pytest.raises(TypeError, match="plan must be a mapping"):
        RetrievalPlan.from_jsonb("x")  # type: ignore[arg-type]


def test_a_time_without_zone_is_refused_before_it_is_sent() -> None:
    plan = RetrievalPlan.search("x", after=datetime(2026, 1, 31))
    with pytest.raises(ArgumentError, match=r"temporal\.after has no time zone"):
        plan.to_jsonb()


def test_search_builds_a_plan() -> None:
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    plan = RetrievalPlan.search(
        "quiet restaurant",
        "restaurant",
        entities=["Rhea", RetrievalEntity.resolved("my wife", "rhea")],
        topics=iter(["quiet"]),
        scopes=["preference"],
        kind_filter=[Kind.ROUTINE],
        subject_hint="rhea",
        after=moment,
        turn_id=4,
    )
    assert plan == RetrievalPlan(
        turn_id=4,
        generation=0,
        requires_memory=True,
        intent=RetrievalIntent.AMBIENT,
        lexical_queries=("quiet restaurant", "restaurant"),
        entities=(RetrievalEntity("Rhea"), RetrievalEntity("my wife", "rhea")),
        topics=("quiet",),
        scopes=(Kind.PREFERENCE,),
        kind_filter=(Kind.ROUTINE,),
        subject_hint="rhea",
        temporal=TemporalWindow(after=moment),
    )
    assert RetrievalPlan.search("x").temporal is None


def test_what_is_no_value_of_a_field_is_named() -> None:
    """Also what Python would take letter by letter, or trip over later."""
    for made, said in (
        (lambda: RetrievalPlan.search("x", entities="Rhea"), "entities must be a list"),
        (lambda: RetrievalPlan.search("x", entities=["a", ("b", "c")]), r"entities\[1\] must be a"),  # type: ignore[list-item]
        (lambda: RetrievalPlan.search(["a", "b"]), r"lexical_queries\[0\] must be a str"),  # type: ignore[arg-type]
        (lambda: RetrievalPlan(turn_id=0, generation=0, entities=["a"]).to_jsonb(),  # type: ignore[arg-type]
         r"entities\[0\] must be a RetrievalEntity, not str"),
        (lambda: RetrievalPlan(turn_id=0, generation=0, temporal={}).to_jsonb(),  # type: ignore[arg-type]
         "temporal must be a TemporalWindow, not dict"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=said):
            made()


def test_times_that_utc_does_not_have_are_refused() -> None:
    first = datetime(1, 1, 1, tzinfo=BERLIN)
    with pytest.raises(ArgumentError, match="years 1 to 9999") as caught:
        RetrievalPlan.search("x", after=first).to_jsonb()
    assert caught.value.parameter == "temporal.after"
    given = {"turn_id": 0, "generation": 0, "temporal": {"before": first.isoformat()}}
    with pytest.raises(ArgumentError, match="years 1 to 9999"):
        RetrievalPlan.from_jsonb(given)


async def test_normal_plans_are_equal_to_the_databases(m: Any, db: psycopg.Connection[Any]) -> None:
    """What comes back as a plan goes out again as exactly the jsonb that the database made."""
    made = Random(7)
    for given in (WHOLE.to_jsonb(), {"turn_id": 1.0, "generation": 0, "colour": 1},
                  *(made.right() for _ in range(100))):  # fmt: skip
        plan = await m.normalize_plan(given)
        row = db.execute(
            "SELECT mnemo.normalize_retrieval_plan(%s), mnemo.normalize_retrieval_plan(%s)::text"
            " = %s::jsonb::text",
            [json.dumps(given), json.dumps(given), json.dumps(plan.to_jsonb())],
        ).fetchone()
        assert row == (plan.to_jsonb(), True)
        assert RetrievalPlan.from_jsonb(plan.to_jsonb()) == plan
        assert await m.normalize_plan(plan) == plan
        assert await m.normalize_retrieval_plan(plan) == plan
    assert await m.normalize_plan(WHOLE) == WHOLE


async def test_what_is_left_open_the_database_finds(m: Any) -> None:
    plan = await m.normalize_plan(RetrievalPlan(turn_id=1, generation=0))
    assert plan.plan_id is not None
    assert plan.requires_memory is False
    assert plan.source_transcript_hash == await m.stable_hash("") == "cbf29ce484222325"
    assert plan == await m.skip_plan("", 1, 0)
    assert (await m.normalize_plan(RetrievalPlan.search("x"))).requires_memory is True


async def test_keys(m: Any) -> None:
    plan = RetrievalPlan.search(
        "rhea restaurant",
        entities=[RetrievalEntity.resolved("Rhea", "rhea")],
        scopes=[Kind.RELATIONSHIP],
    )
    assert await m.cache_key(plan) == "df4a34656a56ec71"
    first = await m.result_key(plan, 5)
    assert first == await m.result_key(plan.to_jsonb(), 5, agent_id="default")
    for other in ({"limit": 6}, {"limit": 5, "agent_id": "ana"}, {"limit": 5, "org_id": "acme"}):
        assert await m.result_key(plan, **other) != first


async def test_errors_name_the_json_path(m: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        await m.normalize_plan({"turn_id": 1, "generation": 0, "entities": [{"surface": 5}]})
    assert caught.value.parameter == "plan"
    assert caught.value.detail["path"] == "$.entities[0].surface"
    with pytest.raises(LimitError):
        await m.normalize_plan(RetrievalPlan.search("x" * 100_001))
    with pytest.raises(TypeError, match="plan must be a RetrievalPlan or a Mapping, not str"):
        await m.normalize_plan("x")
    with pytest.raises(ArgumentError, match=r"U\+0000"):
        await m.normalize_plan(RetrievalPlan.search("a\0b"))
