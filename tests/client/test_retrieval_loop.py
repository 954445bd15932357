"""The loop from Python: plan a retrieval, retrieve, explain; replay a plan, else retrieve."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemo_pg import (
    AnswerSource,
    ArgumentError,
    Kind,
    RecallReason,
    RetrievalIntent,
    RetrievalPlan,
    RetrievalTemporal,
    RetrievalVerdict,
    RetrievedMemory,
    StateError,
)
from tests.support.reuse import emptied

PLACE = "Rhea's favourite restaurant is Fennelmark."
ALLERGY = "The user is allergic to sesame."
TRIP = "The user went to Lisbon by train."
MARCH = datetime(2026, 3, 5, tzinfo=UTC)


@pytest.fixture
def dsn(module_dsn: str) -> Iterator[str]:
    """The emptied database of the file."""
    with emptied(module_dsn):
        yield module_dsn


async def remember(m: Any, **who: str) -> dict[str, UUID]:
    """Three facts."""
    facts: list[dict[str, Any]] = [
        {"content": PLACE, "kind": "relationship_preference", "subject": "rhea",
         "predicate": "venue_preference", "entities": ["Rhea"], "aliases": ["my wife"]},
        {"content": ALLERGY, "kind": "identity", "subject": "user", "predicate": "food_allergy"},
        {"content": TRIP, "kind": "episodic", "subject": "user", "predicate": "trip",
         "valid_from": MARCH},
    ]  # fmt: skip
    return {fact["content"]: (await m.remember(**fact, **who)).id for fact in facts}


async def test_plan_and_retrieve(m: Any) -> None:
    ids = await remember(m)
    plan = await m.plan_retrieval("Where does my wife like to eat?", turn_id=7, generation=1)
    assert isinstance(plan, RetrievalPlan)
    assert (plan.turn_id, plan.generation) == (7, 1)
    assert isinstance(plan.intent, RetrievalIntent)
    assert plan.entity_forms == ("my wife", "rhea")
    assert plan == await m.normalize_plan(plan)

    found = await m.retrieve(plan)
    assert isinstance(found[0], RetrievedMemory)
    assert (found[0].rank, found[0].id, found[0].content) == (1, ids[PLACE], PLACE)
    assert found[0].kind is Kind.RELATIONSHIP_PREFERENCE
    assert (found[0].subject, found[0].predicate) == ("rhea", "venue_preference")
    assert found[0].entities == ("Rhea",)
    assert found[0].valid_from is not None
    assert found[0].valid_from.tzinfo is UTC
    rankings = found[0].explanation["rankings"]
    total = sum(each["contribution"] for each in rankings.values())
    for factor in found[0].explanation["boosts"].values():
        total *= factor
    assert total == pytest.approx(found[0].score, abs=1e-9)
    # As JSON, too, and nothing for a plan that wants nothing.
    assert await m.retrieve(plan.to_jsonb()) == found
    assert await m.retrieve(await m.skip_plan("", 0, 0)) == []


async def test_arguments_arrive(m: Any) -> None:
    await remember(m)
    plan = RetrievalPlan.search("Lisbon", before=MARCH)
    assert [one.content for one in await m.retrieve(plan)] == [TRIP]
    assert await m.retrieve(plan, temporal=RetrievalTemporal.FILTER) == []
    compared = await m.explain_retrieval(plan, temporal="filter")
    assert {one.content: one.verdict for one in compared}[TRIP] is RetrievalVerdict.TIME_WINDOW
    assert compared[0].score is None
    both = RetrievalPlan.search("Lisbon train", "sesame allergic")
    assert len(await m.retrieve(both)) == 2
    assert len(await m.retrieve(both, limit=1)) == 1
    assert await m.retrieve(both, agent_id="somebody") == []
    assert await m.retrieve(both, org_id="elsewhere") == []
    now = datetime(2026, 3, 12, 12, tzinfo=UTC)
    window = (await m.plan_retrieval("what happened yesterday in Lisbon", now=now)).temporal
    assert window.after == datetime(2026, 3, 11, tzinfo=UTC)
    assert window.before == datetime(2026, 3, 12, tzinfo=UTC)
    with pytest.raises(ArgumentError) as caught:
        await m.retrieve(both, limit=0)
    assert caught.value.parameter == "limit"


async def test_memory_map(m: Any) -> None:
    assert await m.memory_map() == ""
    await remember(m)
    assert (await m.memory_map()).splitlines() == [
        "about: user (2), rhea (1)",
        "attribute: food_allergy (1), trip (1), venue_preference (1)",
    ]
    assert "and 1 more" in await m.memory_map(limit=1)
    assert await m.memory_map(agent_id="somebody") == ""


async def test_recall_or_retrieve(m: Any) -> None:
    """A plan that fits is replayed; else what memory knows; else nothing, with the reason."""
    await remember(m)
    query = "Where does my wife like to eat?"
    answer = await m.recall_or_retrieve(query, turn_id=3)
    assert answer
    assert answer.source is AnswerSource.MEMORIES
    assert not answer.match
    assert answer.match.reason is RecallReason.NONE_SIMILAR
    assert answer.plan == await m.plan_retrieval(query, turn_id=3)
    assert list(answer.memories) == await m.retrieve(answer.plan)
    assert answer.memories[0].content == PLACE

    cited = [str(answer.memories[0].id)]
    stored = await m.remember_plan(query, ["look up venue_preference of rhea"], cited, 0.9)
    again = await m.recall_or_retrieve("Where does my wife like to eat, please?")
    assert again.source is AnswerSource.PLAN
    assert again.match == await m.recall_plan("Where does my wife like to eat, please?")
    assert again.match.id == stored.id
    assert again.match.chunk_ids == tuple(cited)
    assert again.plan is None
    assert again.memories == ()

    # Arguments of both halves.
    other = await m.recall_or_retrieve(query, context="other tools", limit=1)
    assert other.source is AnswerSource.MEMORIES
    strict = await m.recall_or_retrieve("Where does my wife eat?", similarity_threshold=1)
    assert strict.source is AnswerSource.MEMORIES
    nothing = await m.recall_or_retrieve("which zebra sleeps")
    assert nothing.source is AnswerSource.NOTHING
    assert not nothing
    assert nothing.plan.requires_memory
    assert (await m.recall_or_retrieve(query, agent_id="somebody")).source is AnswerSource.NOTHING


async def test_with_a_plan_of_ones_own(m: Any) -> None:
    """A plan, or the JSON of one, in the place of the planner's."""
    await remember(m)
    plan = RetrievalPlan.search("sesame allergic", turn_id=1)
    for given in (plan, plan.to_jsonb() | {"mood": "hungry"}):
        answer = await m.recall_or_retrieve("what must I not eat?", plan=given)
        assert [memory.content for memory in answer.memories] == [ALLERGY]
        assert isinstance(answer.plan, RetrievalPlan)
        assert answer.plan.turn_id == 1
    assert answer.plan.warnings == ("unknown field $.mood was dropped",)
    with pytest.raises(ArgumentError):
        await m.recall_or_retrieve("x", plan={"turn_id": "one"})


async def test_an_embedding_that_is_not_enabled(m: Any) -> None:
    with pytest.raises(StateError):
        await m.recall_or_retrieve("x", embedding=[1.0], model="none")


async def test_without_experience_memory_it_retrieves(m: Any) -> None:
    await remember(m)
    await m.configure("experience_memory", "off")
    answer = await m.recall_or_retrieve("what am I allergic to?")
    assert answer.match.reason is RecallReason.DISABLED
    assert answer.memories[0].content == ALLERGY
