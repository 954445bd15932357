"""The parts of the benchmark do what they say."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.bench import targets
from tests.bench.measure import by_kind, percentile, rounds
from tests.bench.workloads import (
    LENGTHS,
    WORKLOADS,
    Lengths,
    Question,
    Templates,
    Words,
    jaccard,
    tokens,
)


@pytest.mark.parametrize("name", ["words", "templates", "lengths"])
def test_the_same_seed_gives_the_same_plans(name: str) -> None:
    """In any order; another seed gives others."""
    first, second, other = (WORKLOADS[name](seed, 1_000) for seed in (1, 1, 2))
    numbers = list(range(50))
    forwards = [first.plan(number) for number in numbers]
    backwards = [second.plan(number) for number in reversed(numbers)]
    assert forwards == backwards[::-1]
    assert list(first.questions(5)) == list(second.questions(5))
    assert [other.plan(number).query for number in numbers] != [plan.query for plan in forwards]


def test_lengths_are_what_they_say() -> None:
    """Exactly so many tokens a plan, a quarter each."""
    workload = Lengths(1, 1_000)
    for number in range(40):
        assert len(tokens(workload.plan(number).query)) == LENGTHS[number % 4]


def test_near_questions_are_near() -> None:
    """A reworded question reaches the threshold and is not the same."""
    workload = Words(1, 1_000)
    rng = random.Random(1)
    for number in range(200):
        text = workload.plan(number).query
        assert 0.7 <= jaccard(tokens(workload.reworded(text, rng)), tokens(text)) < 1


def test_templates_are_near_duplicates() -> None:
    """Two plans of one template pass for each other by words alone, and so does a new slot."""
    workload = Templates(1, 2_000)
    texts = [workload.plan(number).query for number in range(50)]
    for text in texts:
        assert jaccard(tokens(texts[0]), tokens(text)) >= 0.7
        unknown = workload.unknown(text, random.Random(1))
        assert unknown not in texts
        assert jaccard(tokens(unknown), tokens(text)) >= 0.7


def test_percentiles() -> None:
    """The least value that so large a share does not exceed."""
    hundred = [float(number) for number in range(100, 0, -1)]
    assert [percentile(hundred, percent) for percent in (50, 95, 99)] == [50, 95, 99]
    assert percentile([7.0], 99) == 7
    assert percentile([1.0, 2.0], 50) == 1
    assert percentile([], 50) == 0


class _Recorder:
    def __init__(self, name: str, log: list[tuple[str, str]]) -> None:
        self.name = name
        self.backend = 0
        self._log = log

    def ask(self, question: Question) -> bool:
        self._log.append((self.name, question.text))
        return True


def test_ways_take_turns() -> None:
    """Each way asks every question once, and each is first as often as the other."""
    log: list[tuple[str, str]] = []
    ways = [_Recorder(name, log) for name in ("a", "b")]
    questions = by_kind([Question("kind", str(number), "o", "a", None) for number in range(8)])
    measured = rounds(ways, questions, count=4, seconds=10)
    assert sorted(log) == sorted((name, str(n)) for name in ("a", "b") for n in range(8))
    assert [name for name, _ in log[::4]] == ["a", "b", "a", "b"]
    assert measured["a", "kind"].hits == 8


def _figures(plans: int, milliseconds: float) -> dict[str, Any]:
    ways = {"lookup": 0.1, "Mnemo": milliseconds, "prepared": milliseconds, "HNSW": 5.0}
    latency = [
        {"way": way, "kind": kind, "p50": value, "p99": value, "cpu_p50": value, "cpu_p99": value}
        for way, value in ways.items()
        for kind in ("exact", "near")
    ]
    single = {
        "remember_plan": {"p50": 4.0, "cpu_p50": 3.0},
        "bare INSERT": {"p50": 1.0, "cpu_p50": 1.0},
    }
    batch = {"plans_per_second": 4_000, "plans_per_cpu_second": 6_000}
    writes = {"single": single, "batch": batch}
    return {"plans": plans, "latency": latency, "thresholds": [], "writes": writes,
            "load": {"plans_per_second": 1}}  # fmt: skip


@pytest.mark.parametrize(("milliseconds", "met"), [(0.3, True), (2.1, False)])
def test_targets(milliseconds: float, met: bool) -> None:
    """Ratios to the lookup of the same run, judged where the run is large enough."""
    runs = [_figures(10_000, 0.25), _figures(1_000_000, milliseconds)]
    found = {entry["target"]: entry for entry in targets.assess(runs, None)}
    assert found["Mnemo: exact repeat p50, times the lookup"]["met"] is met
    assert found["Mnemo: any question p50, times the lookup's p50"]["met"] is met
    assert found["Mnemo: growth of p50"]["met"] is met
    assert found["Mnemo: growth of p50"]["cpu"] == pytest.approx(milliseconds / 0.25)
    assert found["Mnemo: p50, times HNSW"]["met"] is True
    assert found["batch, plans a second"]["met"] is False
    assert found["remember_plan p50, times a bare INSERT"]["met"] is True
    small = targets.assess(runs[:1], None)
    assert {entry["met"] for entry in small if "any question" in entry["target"]} == {None}
