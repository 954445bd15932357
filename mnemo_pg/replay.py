"""The synchronous side: made from its twin by _sync.py, do not edit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mnemo_pg.types import PlanFare, PlanMatch, RememberedPlan

if TYPE_CHECKING:
    from mnemo_pg.client import Mnemo

_log = logging.getLogger("mnemo_pg")


@dataclass(frozen=True, slots=True)
class _Verdict:
    success: bool
    score: float | None = None
    note: str | None = None


class Replay:
    """The block of `Mnemo.replay`: what was recalled, and what to report when it ends.

    A block that ends well is a success of the plan, one that ends by an exception a failure, with
    the exception's type as the note (not its message, which may hold what is nobody's business).
    KeyboardInterrupt, cancellation and their kind say nothing about the plan and report nothing.
    `success`, `failure` and `ignore` say otherwise however the block ends, the last call counts. On
    a miss nothing is reported; `remember` stores the plan that was found instead, if the block ends
    well.

    An exception of the block goes on whatever happens: where reporting fails too, that is logged
    under the name `mnemo_pg`. After a block that ended well such an error is raised, once the plan
    that was found is stored.
    """

    def __init__(
        self,
        mnemo: Mnemo,
        query: str,
        recalled: Mapping[str, Any],
        who: Mapping[str, Any],
    ) -> None:
        self.query = query
        self.outcome: PlanFare | None = None
        """What `record_plan_outcome` answered; None until the block has ended, and for none."""
        self.stored: RememberedPlan | None = None
        """What `remember_plan` answered; None until the block has ended, and for none."""
        self._mnemo = mnemo
        self._recalled = recalled
        self._who = who
        self._match: PlanMatch | None = None
        self._begin()

    def _begin(self) -> None:
        self.outcome = self.stored = None
        self._told: _Verdict | None = None
        self._ignored = False
        self._found: dict[str, Any] | None = None

    @property
    def match(self) -> PlanMatch:
        """The answer of `recall_plan`, hit or miss."""
        if self._match is None:
            raise RuntimeError("the block of replay has not begun: use it in a with statement")
        return self._match

    @property
    def hit(self) -> bool:
        """Whether there is a plan to replay."""
        return self.match.hit

    @property
    def plan(self) -> PlanMatch | None:
        """The plan to replay; None on a miss."""
        return self.match if self.match.hit else None

    @property
    def steps(self) -> tuple[str, ...]:
        """Its steps; none on a miss."""
        return self.match.steps

    @property
    def warnings(self) -> list[Any]:
        """What not to do, on hits and misses; as `PlanMatch.warnings`, empty for none."""
        return self.match.warnings or []

    def success(self, score: float | None = None, note: str | None = None) -> None:
        """The plan worked, with this score (0 to 1; None: 1), however the block ends."""
        self._ignored = False
        self._told = _Verdict(True, score, note)

    def failure(self, note: str | None = None, score: float | None = None) -> None:
        """The plan did not work, with this score (0 to 1; None: 0), however the block ends."""
        self._ignored = False
        self._told = _Verdict(False, score, note)

    def ignore(self) -> None:
        """Report nothing: what happened says nothing about the plan."""
        self._ignored = True

    def remember(
        self,
        steps: Iterable[str],
        chunk_ids: Iterable[str] = (),
        outcome_score: float = 1.0,
        **more: Any,
    ) -> None:
        """Store this plan for the query when the block ends well, in the context of the recall.

        `more`: further arguments of `remember_plan`. After a hit it is stored beside the plan that
        was replayed, or merged into it, by the rules of `remember_plan`.
        """
        self._found = {
            "context": self._recalled.get("context"),
            "embedding": self._recalled.get("embedding"),
            "model": self._recalled.get("model"),
            **more,
            "steps": list(steps),
            "chunk_ids": list(chunk_ids),
            "outcome_score": outcome_score,
        }

    def __enter__(self) -> Self:
        """Recall."""
        # What was said in an earlier block says nothing about this one.
        self._begin()
        self._match = self._mnemo.recall_plan(self.query, **self._recalled, **self._who)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Report and store."""
        if kind is None:
            try:
                self._report(self._told or _Verdict(True))
            finally:
                if self._found is not None:
                    arguments = {**self._found, **self._who}
                    self.stored = self._mnemo.remember_plan(self.query, **arguments)
        elif self._told is not None or issubclass(kind, Exception):
            try:
                self._report(self._told or _Verdict(False, note=kind.__qualname__))
            except Exception:
                _log.warning("could not report how plan %s went", self.match.id, exc_info=True)

    def _report(self, verdict: _Verdict) -> None:
        if self._match is None or self._match.id is None or self._ignored:
            return
        self.outcome = self._mnemo.record_plan_outcome(
            self._match.id, verdict.success, score=verdict.score, note=verdict.note, **self._who
        )
