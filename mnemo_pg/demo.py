"""The loop of experience memory on realistic data: remember, recall, who sees what, retrieve.

It works in an organisation of its own, `demo`. Every plan carries an idempotency key, so running it
again finds everything in place and gives the same answers; nothing is stored twice.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from uuid import UUID

from mnemo_pg.client import Mnemo
from mnemo_pg.types import ExplanationVerdict, PlanExplanation, PlanMatch

ORG = "demo"
# A plan that only its owner sees, and a colleague who would like to see it.
_PRIVATE_PLAN = "it-022"
_COLLEAGUE = "analyst"
_MEMORY = (
    "The laptop of the reception desk gets stuck on the BitLocker recovery screen every spring"
)
# What an agent of the help desk knows about people, and what it is asked then.
_KNOWING = "helpdesk-1"
_FACTS: tuple[dict[str, Any], ...] = (
    {
        "content": "Marta Lindqvist wants to be called, and reads no mail.",
        "kind": "communication_style",
        "subject": "marta",
        "predicate": "contact_preference",
        "entities": ["Marta Lindqvist"],
        "aliases": ["the head of reception"],
    },
    {
        "content": "Marta Lindqvist works from Malmo on Fridays.",
        "kind": "routine",
        "subject": "marta",
        "predicate": "work_location",
        "entities": ["Marta Lindqvist", "Malmo"],
    },
    {
        "content": "Jonas Weber keeps the spare laptops in room 2.14.",
        "kind": "routine",
        "subject": "jonas",
        "predicate": "storage_place",
        "entities": ["Jonas Weber"],
    },
    {
        "content": "Jonas Weber is allergic to peanuts.",
        "kind": "identity",
        "subject": "jonas",
        "predicate": "food_allergy",
        "entities": ["Jonas Weber"],
    },
)
_ASKED = (
    "For the employee portal, how do I reset my password?",
    "How does the head of reception like to be contacted?",
    "Where are the spare laptops?",
    "What does Jonas play in the band?",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one kind of call, each with its round trip."""

    calls: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings by which the demo's organisation recalls and keeps plans."""

    similarity_threshold: str | None
    success_threshold: str | None
    guard: str | None


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of the plans, by status, and how long the calls took."""

    statuses: dict[str, int]
    timing: Timing


@dataclass(frozen=True, slots=True)
class Answer:
    """A question of the data set and what came back; `plan` and `source_id` name keys of plans.

    `refused` is the most similar plan that the guard refused, looked up for look-alikes only.
    """

    query: str
    agent_id: str
    expect: str
    source_id: str | None
    reason: str
    needs_guard: bool
    match: PlanMatch
    plan: str | None
    refused: PlanExplanation | None

    @property
    def right(self) -> bool:
        """Whether it is the plan that was meant, or a miss where one was meant."""
        return self.plan == self.source_id and self.match.hit == (self.expect == "hit")


@dataclass(frozen=True, slots=True)
class Sharing:
    """One private plan, asked for by its owner and by a colleague."""

    query: str
    owner: str
    colleague: str
    owner_hits: bool
    colleague_hits: bool
    colleague_considered: int
    after_sharing: bool
    after_taking_back: bool


@dataclass(frozen=True, slots=True)
class OrdinaryRecall:
    """What ordinary recall returns in an organisation full of plans."""

    contents: list[str]
    plans_among_them: int


@dataclass(frozen=True, slots=True)
class Loop:
    """A question that a plan answers, or what memory knows: `source` says which.

    `steps` are those of the plan, `facts` what was retrieved, `topics` and `names` what was looked
    for.
    """

    query: str
    source: str
    steps: list[str]
    names: list[str]
    topics: list[str]
    facts: list[str]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The questions of the loop, and what a language model would be shown of the memory."""

    agent_id: str
    loops: list[Loop]
    memory_map: list[str]


def data(name: str) -> list[dict[str, Any]]:
    """The objects of `plans.jsonl` or `questions.jsonl`."""
    text = (files("mnemo_pg") / "demo_data" / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def percentiles(seconds: Sequence[float]) -> Timing:
    """Nearest-rank percentiles."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return round(ordered[math.ceil(share * len(ordered)) - 1] * 1000, 3)

    return Timing(len(ordered), at(0.5), at(0.95))


class Demo:
    """The parts of the demo, to be called in the order in which they stand here."""

    def __init__(self, client: Mnemo) -> None:
        self._client = client
        self._plans = data("plans.jsonl")
        self._ids: dict[str, UUID] = {}

    @property
    def plans(self) -> int:
        """How many plans there are to remember."""
        return len(self._plans)

    def turn_on(self) -> Rules:
        """Experience memory on, for this organisation only."""
        if self._client.setting("experience_memory", org_id=ORG) != "on":
            self._client.configure("experience_memory", "on", org_id=ORG)
        names = ("similarity_threshold", "success_threshold", "guard")
        return Rules(**{name: self._client.setting(name, org_id=ORG) for name in names})

    def remember(self, on_plan: Callable[[], None]) -> Stored:
        """Remember every plan, one call each."""
        statuses: Counter[str] = Counter()
        seconds = []
        for plan in self._plans:
            started = time.perf_counter()
            answer = self._client.remember_plan(
                **plan, org_id=ORG, idempotency_key=f"demo:{plan['source_id']}"
            )
            seconds.append(time.perf_counter() - started)
            statuses[str(answer.status)] += 1
            if answer.id is not None:
                self._ids[plan["source_id"]] = answer.id
            on_plan()
        return Stored(dict(statuses), percentiles(seconds))

    def ask(self) -> tuple[list[Answer], Timing]:
        """Ask every question of the data set."""
        keys = {id: key for key, id in self._ids.items()}
        answers = []
        seconds = []
        for question in data("questions.jsonl"):
            started = time.perf_counter()
            match = self._client.recall_plan(
                question["query"], agent_id=question["agent_id"], org_id=ORG
            )
            seconds.append(time.perf_counter() - started)
            plan = keys.get(match.id) if match.id is not None else None
            refused = self._refused(question) if question["needs_guard"] else None
            answers.append(Answer(**question, match=match, plan=plan, refused=refused))
        return answers, percentiles(seconds)

    def _refused(self, question: dict[str, Any]) -> PlanExplanation | None:
        compared = self._client.explain_recall_plan(
            question["query"], agent_id=question["agent_id"], org_id=ORG
        )
        guarded = (one for one in compared if one.verdict == ExplanationVerdict.GUARDED)
        return next(guarded, None)

    def share(self) -> Sharing:
        """A private plan: its owner, a colleague, shared with him, and taken back."""
        plan = next(plan for plan in self._plans if plan["source_id"] == _PRIVATE_PLAN)
        id, owner = self._ids[_PRIVATE_PLAN], plan["agent_id"]

        def asks(agent: str) -> PlanMatch:
            return self._client.recall_plan(plan["query"], agent_id=agent, org_id=ORG)

        # A grant that an interrupted run left behind.
        self._client.unshare(id, [_COLLEAGUE], agent_id=owner, org_id=ORG)
        before = asks(_COLLEAGUE)
        self._client.share(id, [_COLLEAGUE], agent_id=owner, org_id=ORG)
        shared = asks(_COLLEAGUE)
        self._client.unshare(id, [_COLLEAGUE], agent_id=owner, org_id=ORG)
        return Sharing(
            query=plan["query"],
            owner=owner,
            colleague=_COLLEAGUE,
            owner_hits=asks(owner).id == id,
            colleague_hits=before.hit,
            colleague_considered=before.candidates_considered,
            after_sharing=shared.id == id,
            after_taking_back=asks(_COLLEAGUE).hit,
        )

    def recall_memories(self) -> OrdinaryRecall:
        """An ordinary memory is found by ordinary recall; plans never are."""
        self._client.remember(
            _MEMORY,
            scope="public",
            agent_id="helpdesk-1",
            org_id=ORG,
            idempotency_key="demo:memory",
        )
        found = self._client.recall(None, limit=100, agent_id=_COLLEAGUE, org_id=ORG)
        plans = set(self._ids.values())
        return OrdinaryRecall(
            contents=[memory.content for memory in found],
            plans_among_them=sum(memory.id in plans for memory in found),
        )

    def retrieve(self) -> Knowledge:
        """Facts in memory, and questions: a plan is replayed, else what is known is retrieved."""
        for number, fact in enumerate(_FACTS, start=1):
            self._client.remember(
                **fact, agent_id=_KNOWING, org_id=ORG, idempotency_key=f"demo:fact-{number}"
            )
        loops = []
        for query in _ASKED:
            answer = self._client.recall_or_retrieve(query, agent_id=_KNOWING, org_id=ORG)
            plan = answer.plan
            loops.append(
                Loop(
                    query=query,
                    source=answer.source,
                    steps=list(answer.match.steps),
                    names=[] if plan is None else [each.forms[-1] for each in plan.entities],
                    topics=[] if plan is None else list(plan.topics),
                    facts=[memory.content for memory in answer.memories],
                )
            )
        shown = self._client.memory_map(agent_id=_KNOWING, org_id=ORG)
        return Knowledge(_KNOWING, loops, shown.splitlines())
