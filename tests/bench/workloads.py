"""What is remembered and asked: the same plans and questions for the same seed, in any order.

Every plan has a random generator of its own, seeded with its number, so that a load can go on
where it stopped and questions about any plan can be made without the others.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.server import ROOT

GENERATOR = 1
"""Raise it when the same seed begins to give other plans: databases made before are not reused."""

ORGANISATIONS = 10
AGENTS = 100
SCOPES = {"private": 0.40, "shared": 0.20, "public": 0.35, "global": 0.05}
NEAR_DUPLICATES = 20_000
LENGTHS = (5, 20, 50, 200)
_GRANTED = 0.2
_WORD = re.compile(r"[^\W_]+")
_SYLLABLES = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]


@dataclass(frozen=True, slots=True)
class NewPlan:
    """An element for `remember_plans`, and the agents that a shared plan is then granted to."""

    element: dict[str, Any]
    grantees: tuple[str, ...]

    @property
    def query(self) -> str:
        """The question that the plan answers."""
        return str(self.element["query"])


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask, by whom; `reason` is the answer for which it counts (None: any)."""

    kind: str
    text: str
    org_id: str
    agent_id: str
    reason: str | None


def tokens(text: str) -> frozenset[str]:
    """The signature of ASCII text, as the specification has it: enough for what is made here."""
    words = [word.lower() for word in _WORD.findall(text)]
    return frozenset(word for word in words if len(word) >= 3) or frozenset(words)


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of common tokens."""
    return len(a & b) / len(a | b)


def organisation(number: int) -> str:
    """The name of an organisation."""
    return f"org-{number}"


def agents_of(org: int) -> list[str]:
    """The names of its agents."""
    return [f"agent-{number:02}" for number in range(org, AGENTS, ORGANISATIONS)]


# Organisations are as unequal as customers: the first has a third of all plans.
_ORG_WEIGHTS = list(itertools.accumulate(1 / (1 + number) for number in range(ORGANISATIONS)))


class Workload:
    """Plans and questions of one kind. Subclasses say what is asked; the rest is the same."""

    name = ""
    about = ""
    kinds: tuple[str, ...] = ("exact", "near", "miss")

    def __init__(self, seed: int, size: int) -> None:
        self.seed = seed
        self.size = size

    # What subclasses say

    def text(self, number: int, rng: random.Random) -> str:
        """The question of a plan."""
        raise NotImplementedError

    def reworded(self, text: str, rng: random.Random) -> str:
        """Nearly the same question."""
        raise NotImplementedError

    def unknown(self, text: str, rng: random.Random) -> str:
        """A question that no plan answers, given one that is stored."""
        raise NotImplementedError

    def sort(self, kind: str, number: int) -> str:
        """A finer kind, for reports that tell plans apart."""
        return kind

    reasons: dict[str, str | None] = {
        "exact": "exact", "near": "similar", "miss": "none_similar",
    }  # fmt: skip

    # What they share

    def generator(self, *parts: object) -> random.Random:
        """A generator that depends on the seed and on these parts alone."""
        return random.Random(f"{self.seed}/{self.name}/{'/'.join(map(str, parts))}")

    def plan(self, number: int) -> NewPlan:
        """The plan of that number, from 0."""
        rng = self.generator("plan", number)
        text = self.text(number, rng)
        org = bisect(_ORG_WEIGHTS, rng.random() * _ORG_WEIGHTS[-1])
        agents = agents_of(org)
        owner = rng.choice(agents)
        scope = rng.choices(list(SCOPES), list(SCOPES.values()))[0]
        grantees: tuple[str, ...] = ()
        if scope == "shared" and rng.random() < _GRANTED:
            others = [agent for agent in agents if agent != owner]
            grantees = tuple(sorted(rng.sample(others, rng.randint(1, 3))))
        steps = [
            f"{rng.choice(_VERBS)} the {rng.choice(_THINGS)} of {rng.choice(_PLACES)}"
            for _ in range(rng.randint(2, 6))
        ]
        element = {
            "query": text,
            "steps": steps,
            "chunk_ids": [f"doc-{rng.randrange(10**6)}" for _ in range(rng.randint(1, 5))],
            "outcome_score": round(rng.uniform(0.5, 1), 2),
            "agent_id": owner,
            "org_id": organisation(org),
            "scope": scope,
        }
        return NewPlan(element, grantees)

    def questions(self, count: int, salt: str = "") -> Iterator[Question]:
        """About `count` questions of each kind, of agents that may see the plan they come from."""
        for kind in self.kinds:
            for turn in range(count):
                rng = self.generator("question", salt, kind, turn)
                number = rng.randrange(self.size)
                plan = self.plan(number)
                org_id, agent_id = self._asker(plan, rng)
                text = plan.query
                if kind == "near":
                    text = self.reworded(text, rng)
                elif kind != "exact":
                    text = self.unknown(text, rng)
                reason = self.reasons[kind]
                yield Question(self.sort(kind, number), text, org_id, agent_id, reason)

    def _asker(self, plan: NewPlan, rng: random.Random) -> tuple[str, str]:
        org = int(plan.element["org_id"].removeprefix("org-"))
        owner: str = plan.element["agent_id"]
        scope = plan.element["scope"]
        if scope == "global":
            org = bisect(_ORG_WEIGHTS, rng.random() * _ORG_WEIGHTS[-1])
        if scope in ("global", "public"):
            owner = rng.choice(agents_of(org))
        elif plan.grantees and rng.random() < 0.5:
            owner = rng.choice(plan.grantees)
        return organisation(org), owner


_VERBS = ("open", "read", "compare", "collect", "check", "filter", "sum up", "ask for")
_THINGS = ("table", "report", "ticket", "log", "order", "page", "contract", "entry")
_PLACES = ("the archive", "last month", "the customer", "billing", "the region", "support")


class _Edited(Workload):
    """Base questions and edits of them: 1 to 3 words replaced, added or left out."""

    def base(self, rng: random.Random) -> str:
        """A base question."""
        raise NotImplementedError

    def word(self, rng: random.Random) -> str:
        """A word as frequent as it is among the base questions."""
        raise NotImplementedError

    def text(self, number: int, rng: random.Random) -> str:
        base = self.base(rng)
        # A fifth is asked word for word by different agents.
        return base if rng.random() < 0.2 else self.edited(base, rng.randint(1, 3), rng)

    def edited(self, text: str, changes: int, rng: random.Random) -> str:
        """The text with so many words changed."""
        words = text.split()
        for _ in range(changes):
            what, at = rng.random(), rng.randrange(len(words))
            if what < 0.6:
                words[at] = self.word(rng)
            elif what < 0.8:
                words.insert(at, self.word(rng))
            elif len(words) > 3:
                del words[at]
        return " ".join(words)

    def reworded(self, text: str, rng: random.Random) -> str:
        for _ in range(50):
            found = self.edited(text, rng.randint(1, 2), rng)
            if 0.7 <= jaccard(tokens(found), tokens(text)) < 1:
                return found
        return text + " " + self.word(rng)

    def unknown(self, text: str, rng: random.Random) -> str:
        # Half of one question and half of another: every word is known, and so are many pairs.
        other = self.base(rng).split()
        words = text.split()
        return " ".join(words[: len(words) // 2] + other[len(other) // 2 :])


class Questions(_Edited):
    """Real questions of CLINC150 and edits of them."""

    name = "clinc"
    about = "questions of CLINC150, four of five with 1 to 3 words changed"

    def base(self, rng: random.Random) -> str:
        return rng.choice(clinc_questions()[0])

    def word(self, rng: random.Random) -> str:
        return rng.choice(clinc_questions()[1])

    def unknown(self, text: str, rng: random.Random) -> str:
        if rng.random() < 0.5:
            return rng.choice(clinc_questions()[2])
        return super().unknown(text, rng)


class Words(_Edited):
    """Made-up questions over a vocabulary of skewed frequencies, and edits of them."""

    name = "words"
    about = "made-up questions of 4 to 14 words, Zipf frequencies, 1 to 3 words changed"

    def base(self, rng: random.Random) -> str:
        return rng.choice(_made_up_questions(self.seed))

    def word(self, rng: random.Random) -> str:
        return vocabulary(self.seed)(rng)


class Templates(Workload):
    """Agents that ask from templates: the questions differ in one slot only."""

    name = "templates"
    about = f"templates with a slot, {NEAR_DUPLICATES:,} near-duplicates each"
    kinds = ("exact", "near", "other slot")
    reasons = {"exact": "exact", "near": None, "other slot": None}

    _OBJECTS = (
        ("unpaid invoices", "accounting"), ("open tickets", "support"),
        ("failed payments", "the bank"), ("late deliveries", "logistics"),
        ("expired contracts", "the legal team"), ("returned parts", "the warehouse"),
        ("missing receipts", "the auditors"), ("disputed charges", "the card desk"),
        ("blocked accounts", "security"), ("pending refunds", "the shop"),
    )  # fmt: skip
    _ASKED = ("list the {0} of {2} and send a summary to {1}",
              "how many {0} does {2} have according to {1} this quarter",
              "export all {0} for {2} into the shared sheet of {1}",
              "which {0} of {2} were reported to {1} most recently",
              "compare the {0} of {2} with the monthly figures from {1}")  # fmt: skip

    def text(self, number: int, rng: random.Random) -> str:
        template = rng.randrange(max(1, self.size // NEAR_DUPLICATES))
        slot = self._slot(template, rng)
        thing, place = self._OBJECTS[template % 10]
        return self._ASKED[template // 10 % 5].format(thing, place, slot)

    def _slot(self, template: int, rng: random.Random) -> str:
        match template % 5:
            case 0:
                return f"vendor {rng.randrange(10_000, 60_000)}"
            case 1:
                return vocabulary(self.seed, flat=True)(rng).title()
            case 2:
                return f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(1990, 2030)}"
            case 3:
                return f"vendor {rng.randint(1, 99)}"  # Too short for a token: one signature.
            case _:
                return f"INV{rng.randrange(10_000, 60_000)}"

    def reworded(self, text: str, rng: random.Random) -> str:
        return rng.choice(("please {}", "{} thanks", "kindly {}")).format(text)

    def unknown(self, text: str, rng: random.Random) -> str:
        # The same template with a slot that nobody has asked about: what a guard has to refuse.
        words = text.split()
        for at, word in enumerate(words):
            if any(letter.isdigit() for letter in word):
                words[at] = re.sub(r"[0-9]+", lambda found: "9" + found[0], word)
                break
            if word[0].isupper():
                words[at] = word + "escu"
                break
        return " ".join(words)


class Lengths(Workload):
    """Signatures of exactly 5, 20, 50 and 200 tokens, and edits of a tenth of their words."""

    name = "lengths"
    about = "signatures of 5, 20, 50 and 200 tokens, a quarter each"

    def sort(self, kind: str, number: int) -> str:
        return f"{kind}, {LENGTHS[number % 4]} tokens"

    def text(self, number: int, rng: random.Random) -> str:
        length = LENGTHS[number % 4]
        # Five plans come from the same words, with a tenth of them changed.
        words = self._words(
            length, self.generator("base", number % 4, rng.randrange(self.size) // 20)
        )
        return " ".join(self._changed(words, rng.randint(0, max(1, length // 10)), rng))

    def _words(self, length: int, rng: random.Random) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < length:
            found[vocabulary(self.seed)(rng)] = None
        return list(found)

    def _changed(self, words: list[str], changes: int, rng: random.Random) -> list[str]:
        words = list(words)
        for _ in range(changes):
            new = vocabulary(self.seed)(rng)
            if new not in words:
                words[rng.randrange(len(words))] = new
        return words

    def reworded(self, text: str, rng: random.Random) -> str:
        words = text.split()
        if len(words) == 5:
            return " ".join([*words, vocabulary(self.seed, flat=True)(rng)])
        return " ".join(self._changed(words, len(words) // 10, rng))

    def unknown(self, text: str, rng: random.Random) -> str:
        words = text.split()
        return " ".join(self._words(len(words), rng))


WORKLOADS: dict[str, type[Workload]] = {
    kind.name: kind for kind in (Questions, Words, Templates, Lengths)
}


# Words


@functools.cache
def vocabulary(seed: int, flat: bool = False) -> Callable[[random.Random], str]:
    """A drawer of made-up words; frequencies by Zipf's law, or `flat`."""
    rng = random.Random(f"{seed}/vocabulary")
    words: dict[str, None] = {}
    while len(words) < 20_000:
        words["".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((2, 2, 3, 3, 4))))] = None
    drawn = list(words)
    weights = list(itertools.accumulate(1 / rank for rank in range(3, len(drawn) + 3)))

    def draw(rng: random.Random) -> str:
        if flat:
            return rng.choice(drawn)
        return drawn[bisect(weights, rng.random() * weights[-1])]

    return draw


@functools.cache
def _made_up_questions(seed: int) -> Sequence[str]:
    rng = random.Random(f"{seed}/questions")
    draw = vocabulary(seed)
    return [
        " ".join(draw(rng) for _ in range(round(rng.triangular(4, 14, 8)))) for _ in range(20_000)
    ]


# Data from outside


def data_folder() -> Path:
    """Where third-party data lies: `MNEMO_DATA`, else beside the checkout. May not exist."""
    return Path(os.environ.get("MNEMO_DATA") or ROOT.parent / "shared" / "data")


def has_clinc() -> bool:
    """Whether CLINC150 is there."""
    return (data_folder() / "clinc150.json").is_file()


@functools.cache
def clinc() -> dict[str, list[tuple[str, str]]]:
    """CLINC150: lists of text and intent."""
    found = json.loads((data_folder() / "clinc150.json").read_text("utf-8"))
    return {name: [(text, intent) for text, intent in rows] for name, rows in found.items()}


@functools.cache
def clinc_questions() -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Questions to remember, their words as often as they occur, and questions out of scope."""
    data = clinc()
    remembered = [text for part in ("train", "val", "test") for text, _ in data[part]]
    words = [word for text in remembered for word in text.split()]
    return remembered, words, [text for text, _ in data["oos_test"]]
