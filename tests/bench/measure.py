"""Timing: several ways to answer the same questions, in rounds, so that noise hits all alike."""

from __future__ import annotations

import gc
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.bench.workloads import Question


class Way(Protocol):
    """One way to answer: `ask` does the whole call and says whether it found something.

    `backend` is the server's process that does the work.
    """

    name: str
    backend: int

    def ask(self, question: Question) -> bool: ...


PERCENTS = (50, 95, 99)


def percentile(values: Sequence[float], percent: int) -> float:
    """The least value that so many percent of the values do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)] if ordered else 0.0


@dataclass(slots=True)
class Times:
    """What one way took for questions of one kind, in milliseconds.

    The processor time hardly depends on what else the machine does, the elapsed time does.
    """

    milliseconds: list[float] = field(default_factory=list)
    server_cpu: list[float] = field(default_factory=list)
    client_cpu: float = 0
    hits: int = 0

    def summary(self) -> dict[str, Any]:
        """The figures of a report."""
        if not self.milliseconds:
            return {"count": 0}
        count = len(self.milliseconds)
        return {
            "count": count,
            "hits": self.hits,
            **{f"p{p}": round(percentile(self.milliseconds, p), 4) for p in PERCENTS},
            **{f"cpu_p{p}": round(percentile(self.server_cpu, p), 4) for p in PERCENTS},
            "mean": round(sum(self.milliseconds) / count, 4),
            "max": round(max(self.milliseconds), 4),
            "client_cpu": round(self.client_cpu / count, 4),
        }


Measured = dict[tuple[str, str], Times]
"""By way and kind of question."""


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection while something is timed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def by_kind(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Questions of each kind, in the order in which they come."""
    kinds: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        kinds[question.kind].append(question)
    return dict(kinds)


def rounds(
    ways: Sequence[Way],
    questions: Mapping[str, Sequence[Question]],
    *,
    count: int,
    seconds: float,
    step: Callable[[], None] = lambda: None,
) -> Measured:
    """Ask each way every question once, in `count` rounds with a share of the questions each.

    In a round and kind the ways take turns, and each begins as often as it can be arranged. A way
    that is slow asks fewer: it stops after so many seconds in a round and kind.
    """
    measured: Measured = {(way.name, kind): Times() for kind in questions for way in ways}
    with no_collection():
        for turn in range(count):
            for place, (kind, asked) in enumerate(questions.items()):
                part = asked[turn::count]
                start = (turn + place) % len(ways)
                for way in itertools.islice(itertools.cycle(ways), start, start + len(ways)):
                    ask_all(way, part, seconds, measured[way.name, kind])
                step()
    return measured


def ask_all(way: Way, questions: Sequence[Question], seconds: float, times: Times) -> None:
    """Ask one way after the other question, for so many seconds at most."""
    spent, client = server_cpu(way.backend), time.process_time()
    end = time.perf_counter() + seconds
    for question in questions:
        begun = time.perf_counter()
        times.hits += way.ask(question)
        ended = time.perf_counter()
        times.milliseconds.append((ended - begun) * 1000)
        before, spent = spent, server_cpu(way.backend)
        times.server_cpu.append(spent - before)
        if ended > end:
            break
    times.client_cpu += (time.process_time() - client) * 1000


def server_cpu(process: int) -> float:
    """Milliseconds that a process has had of a processor; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text("ascii").split()[0]) / 1e6
    except OSError:
        return 0.0


def summaries(measured: Measured) -> list[dict[str, Any]]:
    """The figures of every way and kind."""
    return [{"way": way, "kind": kind, **t.summary()} for (way, kind), t in measured.items()]
