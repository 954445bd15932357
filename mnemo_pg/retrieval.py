"""What a turn of a conversation wants from memory, as typed objects.

They hold what the database checks and normalises (`Mnemo.normalize_plan`), and know no rule of it:
a field that is None is left to the database. `to_jsonb` and `from_jsonb` lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from types import UnionType
from typing import Any, Self, TypeVar

from psycopg.types.json import Jsonb

from mnemo_pg import _wire
from mnemo_pg.errors import ArgumentError
from mnemo_pg.types import Kind, PlanMatch, RetrievalIntent, RetrievedMemory

L = TypeVar("L", Kind, RetrievalIntent)


@dataclass(frozen=True, slots=True)
class RetrievalEntity:
    """Somebody or something that the turn is about: as the text has it, and as memory knows it.

    RetrievalEntity("Rhea")
    RetrievalEntity.resolved("my wife", "rhea")
    """

    surface: str
    canonical: str | None = None

    @classmethod
    def resolved(cls, surface: str, canonical: str) -> Self:
        """An entity of which is known what memory calls it."""
        return cls(surface, canonical)

    @property
    def forms(self) -> tuple[str, ...]:
        """The surface, then the canonical form if there is one."""
        return (self.surface,) if self.canonical is None else (self.surface, self.canonical)

    @classmethod
    def from_jsonb(cls, value: Mapping[str, Any], path: str = "entity") -> Self:
        """An entity of a plan."""
        return cls(
            _wire.text(f"{path}.surface", value.get("surface")),
            _optional_text(f"{path}.canonical", value.get("canonical")),
        )

    def to_jsonb(self) -> dict[str, Any]:
        """As a plan has it."""
        return {"surface": self.surface, "canonical": self.canonical}


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalWindow:
    """When what is looked for became valid: from `after` on, and before `before`.

    Datetimes have a time zone. `label` says in words what the window stands for.
    """

    after: datetime | None = None
    before: datetime | None = None
    label: str | None = None

    @classmethod
    def from_jsonb(cls, value: Mapping[str, Any], path: str = "temporal") -> Self:
        """The window of a plan, its times in UTC."""
        return cls(
            after=_time(f"{path}.after", value.get("after")),
            before=_time(f"{path}.before", value.get("before")),
            label=_optional_text(f"{path}.label", value.get("label")),
        )

    def to_jsonb(self) -> dict[str, Any]:
        """As a plan has it, its times in UTC."""
        return {
            "after": _time_text("temporal.after", self.after),
            "before": _time_text("temporal.before", self.before),
            "label": self.label,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """What a turn wants from memory.

    `turn_id` and `generation` number the turns and the plans of a turn. `entities`, `topics`,
    `predicates`, `lexical_queries` (run one by one, results fused), `scopes` (kinds) and the hints
    say what to look for, and exclude nothing; `kind_filter` does. With `intent` none nothing is
    searched: `RetrievalPlan.search` makes plans that do. `plan_id`, `requires_memory` and
    `source_transcript_hash` None are found by the database. `warnings` name what it dropped.
    """

    turn_id: int
    generation: int
    plan_id: str | None = None
    requires_memory: bool | None = None
    confidence: float = 1.0
    intent: RetrievalIntent | str = RetrievalIntent.NONE
    entities: tuple[RetrievalEntity, ...] = ()
    topics: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    lexical_queries: tuple[str, ...] = ()
    scopes: tuple[Kind | str, ...] = ()
    kind_filter: tuple[Kind | str, ...] = ()
    subject_hint: str | None = None
    predicate_hint: str | None = None
    temporal: TemporalWindow | None = None
    source_transcript_hash: str | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Make tuples of what was given as lists, so that equal plans are equal."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default == () and not isinstance(value, tuple):
                listed = tuple(_wire.elements(field.name, value, "elements"))
                object.__setattr__(self, field.name, listed)

    @classmethod
    def search(
        cls,
        *lexical_queries: str,
        turn_id: int = 0,
        generation: int = 0,
        intent: RetrievalIntent | str = RetrievalIntent.AMBIENT,
        entities: Iterable[RetrievalEntity | str] = (),
        topics: Iterable[str] = (),
        predicates: Iterable[str] = (),
        scopes: Iterable[Kind | str] = (),
        kind_filter: Iterable[Kind | str] = (),
        subject_hint: str | None = None,
        predicate_hint: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        label: str | None = None,
        confidence: float = 1.0,
    ) -> Self:
        """A plan that searches.

        RetrievalPlan.search("quiet restaurant", subject_hint="rhea", kind_filter=[Kind.PREFERENCE])
        """
        window = TemporalWindow(after=after, before=before, label=label)
        return cls(
            turn_id=turn_id,
            generation=generation,
            requires_memory=True,
            confidence=confidence,
            intent=intent,
            entities=tuple(
                RetrievalEntity(each) if isinstance(each, str) else each
                for each in _instances("entities", RetrievalEntity | str, entities)
            ),
            topics=_texts("topics", topics),
            predicates=_texts("predicates", predicates),
            lexical_queries=_texts("lexical_queries", lexical_queries),
            scopes=_labels("scopes", Kind, scopes),
            kind_filter=_labels("kind_filter", Kind, kind_filter),
            subject_hint=subject_hint,
            predicate_hint=predicate_hint,
            temporal=None if window == TemporalWindow() else window,
        )

    @property
    def entity_forms(self) -> tuple[str, ...]:
        """Every form of every entity, in their order."""
        return tuple(form for entity in self.entities for form in entity.forms)

    def is_stale(self, current: int) -> bool:
        """Whether a plan of this generation, a later one, has come after it."""
        return self.generation < current

    @classmethod
    def from_jsonb(cls, value: Mapping[str, Any]) -> Self:
        """A plan as the database gives it; `TypeError` for a value of another type.

        A plan from elsewhere, such as a language model, goes through `Mnemo.normalize_plan`.
        """
        given = {name: each for name, each in _mapping("plan", value).items() if each is not None}
        found: dict[str, Any] = {
            name: convert(name, given[name])
            for name, convert in _CONVERTERS.items()
            if name in given
        }
        if missing := [name for name in ("turn_id", "generation") if name not in found]:
            raise ArgumentError(
                f"the plan has no {missing[0]}", parameter=missing[0], hint="number them from 0"
            )
        return cls(**found)

    def to_jsonb(self) -> dict[str, Any]:
        """The plan as the database takes it, ready for `json.dumps`."""
        found: dict[str, Any] = {
            "turn_id": self.turn_id,
            "generation": self.generation,
            "confidence": _number(self.confidence),
            "intent": _wire.text("intent", self.intent),
            "entities": [
                entity.to_jsonb()
                for entity in _instances("entities", RetrievalEntity, self.entities)
            ],
            "topics": list(self.topics),
            "predicates": list(self.predicates),
            "lexical_queries": list(self.lexical_queries),
            "scopes": list(_texts("scopes", self.scopes)),
            "kind_filter": list(_texts("kind_filter", self.kind_filter)),
            "subject_hint": self.subject_hint,
            "predicate_hint": self.predicate_hint,
            "temporal": None
            if self.temporal is None
            else _instance("temporal", TemporalWindow, self.temporal).to_jsonb(),
            "warnings": list(self.warnings),
        }
        for name in ("plan_id", "requires_memory", "source_transcript_hash"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found


class AnswerSource(StrEnum):
    """What `recall_or_retrieve` answered with: a plan to replay, facts, or nothing."""

    PLAN = "plan"
    MEMORIES = "memories"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnswer:
    """The answer of `recall_or_retrieve`: true in a condition when there is something.

    `match` is the plan to replay, or says why there is none. Then `plan` is what was retrieved by,
    and `memories` what was found, best first.
    """

    match: PlanMatch
    plan: RetrievalPlan | None = None
    memories: tuple[RetrievedMemory, ...] = ()

    @property
    def source(self) -> AnswerSource:
        """Which of the two it is."""
        if self.match.hit:
            return AnswerSource.PLAN
        return AnswerSource.MEMORIES if self.memories else AnswerSource.NOTHING

    def __bool__(self) -> bool:
        """Whether there is a plan or a memory."""
        return self.source is not AnswerSource.NOTHING


def plan_json(name: str, value: object) -> Jsonb:
    """A plan, or a mapping that is to become one, as a JSON object."""
    if isinstance(value, RetrievalPlan):
        value = value.to_jsonb()
    return _wire.jsonb(name, _instance(name, RetrievalPlan | Mapping, value))


def _instance(name: str, wanted: type | UnionType, value: object) -> Any:
    if not isinstance(value, wanted):
        kinds = wanted.__args__ if isinstance(wanted, UnionType) else (wanted,)
        one_of = " or ".join(f"a {kind.__name__}" for kind in kinds)
        raise TypeError(f"{name} must be {one_of}, not {type(value).__name__}")
    return value


def _instances(name: str, wanted: type | UnionType, value: object) -> list[Any]:
    return [
        _instance(f"{name}[{index}]", wanted, item)
        for index, item in enumerate(_wire.elements(name, value, "entities"))
    ]


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, not {type(value).__name__}")
    return value


def _number(value: float) -> float:
    # 1 and not 1.0, as the database writes it: what it sees to be normal it does not make again.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _optional_text(name: str, value: object) -> str | None:
    return None if value is None else _wire.text(name, value)


def _texts(name: str, value: object) -> tuple[str, ...]:
    return tuple(
        _wire.text(f"{name}[{index}]", item)
        for index, item in enumerate(_wire.elements(name, value, "str"))
    )


def _label(labels: type[L], value: str) -> L | str:
    # A newer database may know more labels than this version.
    return labels(value) if value in list(labels) else value


def _labels(name: str, labels: type[L], value: object) -> tuple[L | str, ...]:
    return tuple(_label(labels, text) for text in _texts(name, value))


def _time(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    text = _wire.text(name, value)
    try:
        return _utc(name, datetime.fromisoformat(text))
    except ValueError:
        raise ArgumentError(
            f"{name} is not a time in ISO 8601: {text[:100]!r}",
            parameter=name,
            hint="such as 2026-01-31T09:00:00Z",
        ) from None


def _time_text(name: str, value: datetime | None) -> str | None:
    if value is None:
        return None
    return _utc(name, value).isoformat().replace("+00:00", "Z")


def _utc(name: str, value: datetime) -> datetime:
    try:
        return _wire.moment(name, value).astimezone(UTC)
    except OverflowError:
        raise ArgumentError(
            f"{name} is outside of the years 1 to 9999 in UTC: {value.isoformat()}",
            parameter=name,
            hint="leave it out for a window that is open there",
        ) from None


_CONVERTERS: dict[str, Any] = {
    "turn_id": _wire.integer,
    "generation": _wire.integer,
    "plan_id": _wire.text,
    "requires_memory": _wire.boolean,
    "confidence": _wire.number,
    "intent": lambda name, value: _label(RetrievalIntent, _wire.text(name, value)),
    "entities": lambda name, value: tuple(
        RetrievalEntity.from_jsonb(_mapping(f"{name}[{index}]", item), f"{name}[{index}]")
        for index, item in enumerate(_wire.elements(name, value, "entities"))
    ),
    "topics": _texts,
    "predicates": _texts,
    "lexical_queries": _texts,
    "scopes": lambda name, value: _labels(name, Kind, value),
    "kind_filter": lambda name, value: _labels(name, Kind, value),
    "subject_hint": _wire.text,
    "predicate_hint": _wire.text,
    "temporal": lambda name, value: TemporalWindow.from_jsonb(_mapping(name, value), name),
    "source_transcript_hash": _wire.text,
    "warnings": _texts,
}
