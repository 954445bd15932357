"""Everything that is measured for the plans of one workload at one size."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool
from rich.progress import Progress

from tests.bench import load
from tests.bench.check import check_answers
from tests.bench.measure import Times, Way, ask_all, by_kind, no_collection, rounds, summaries
from tests.bench.store import APPLICATION, Store, state
from tests.bench.ways import Client, Hnsw, Lookup, Newest, Prepared, TrgmGin, TrgmGist
from tests.bench.workloads import Question, Workload
from tests.bench.writes import measure_writes

LOW_THRESHOLDS = (0.6, 0.5, 0.4)


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. Seconds bound what a slow way may take, in a round and kind."""

    questions: int = 300
    rounds: int = 5
    seconds: float = 2.0
    checks: int = 300
    check_seconds: float = 120.0
    cold_questions: int = 50
    cold_ways: tuple[str, ...] = ("lookup", "prepared", "pg_trgm, GiST", "pg_trgm, GIN", "HNSW")
    singles: int = 300
    batches: int = 10
    batch: int = load.BATCH
    hnsw: bool = True
    keep: bool = False
    guard: str | None = None


def measure(
    store: Store, workload: Workload, options: Options, progress: Progress, *, compare: bool
) -> dict[str, Any]:
    """Load what is missing, measure, and return the figures; `compare`: the alternatives too."""
    name = store.database(workload, keep=options.keep)
    other = store.alternatives(workload) if compare else None
    report: dict[str, Any] = {
        "workload": workload.name, "about": workload.about, "plans": workload.size,
        "seed": workload.seed, "load_average": os.getloadavg(),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        conn = stack.enter_context(store.connect(name))
        load.load_plans(conn, workload, progress)
        load.finish_plans(conn, progress)
        report["load"] = _load_report(conn, workload)
        report["sizes"] = state(conn, "sizes")
        alternatives = None
        if other is not None:
            alternatives = stack.enter_context(store.connect(other))
            load.load_alternatives(alternatives, workload, progress, hnsw=options.hnsw)
            report["alternative_sizes"] = load.sizes(alternatives, "bench")
            report["build_seconds"] = {
                index: state(alternatives, index) for index in ("gist", "gin", "hnsw")
            }
        with load.waiting(progress, "choosing questions"):
            questions = choose(Prepared(conn, options.guard), workload, options.questions)
        kinds = by_kind(questions)
        with _ways(store, name, other, questions, options) as ways:
            _warm_up(ways, questions)
            task = progress.add_task("measuring", total=options.rounds * len(kinds))
            measured = rounds(
                ways, kinds, count=options.rounds, seconds=options.seconds,
                step=lambda: progress.advance(task),
            )  # fmt: skip
            progress.remove_task(task)
        report["latency"] = summaries(measured)
        with load.waiting(progress, "comparing answers with a scan"):
            report["exactness"] = check_answers(
                conn, questions, count=options.checks, seconds=options.check_seconds
            )
        if compare:
            with load.waiting(progress, "lower thresholds"):
                report["thresholds"] = _thresholds(conn, kinds, options)
    if compare:
        with load.waiting(progress, "after a restart"):
            report["restart"] = _after_restart(store, name, other, questions, options)
    with store.connect(name) as conn, load.waiting(progress, "writing"):
        report["writes"] = measure_writes(
            conn, workload, singles=options.singles, batches=options.batches, batch=options.batch
        )
    return report


def _load_report(conn: Connection[Any], workload: Workload) -> dict[str, Any]:
    seconds = state(conn, "load_seconds")
    return {
        "seconds": round(seconds, 2),
        "plans_per_second": round(workload.size / seconds),
        "last_batch_plans_per_second": round(
            ((workload.size - 1) % load.BATCH + 1) / state(conn, "last_batch_seconds")
        ),
    }


def choose(recall: Prepared, workload: Workload, count: int) -> list[Question]:
    """Up to `count` questions of each kind, those that get the answer that their kind stands for.

    An edited question may meet another plan by chance. What the guard refuses is a kind of its own.
    """
    chosen: list[Question] = []
    number: Counter[str] = Counter()
    for question in workload.questions(count + count // 2):
        kind = question.kind
        reason = recall.row(question)[12]
        if question.reason is not None and reason != question.reason:
            if reason != "guarded":
                continue
            kind = "guarded"
        group = kind.split(",")[0]
        number[group] += 1
        if number[group] <= count:
            chosen.append(
                Question(kind, question.text, question.org_id, question.agent_id, question.reason)
            )
    # A stable order of kinds, 5 tokens before 50.
    return sorted(chosen, key=lambda question: _place(workload, question.kind))


def _place(workload: Workload, kind: str) -> tuple[int, int]:
    group, _, rest = kind.partition(", ")
    number = workload.kinds.index(group) if group in workload.kinds else len(workload.kinds)
    return number, int(rest.split()[0]) if rest else 0


@contextlib.contextmanager
def _ways(
    store: Store, name: str, other: str | None, questions: Sequence[Question], options: Options
) -> Iterator[list[Way]]:
    with contextlib.ExitStack() as stack:

        def connect(database: str, user: str | None = None) -> Connection[Any]:
            return stack.enter_context(store.connect(database, user))

        dsn = store.dsn(name, APPLICATION)
        pool = stack.enter_context(
            ConnectionPool(dsn, min_size=1, max_size=1, kwargs={"autocommit": True})
        )
        ways: list[Way] = [
            Lookup(conn := connect(name), _keys(conn, 2_000)),
            Prepared(connect(name, APPLICATION), options.guard),
            Client("Mnemo", connect(name, APPLICATION), options.guard),
            Client("Mnemo, pool", pool, options.guard),
        ]
        if other is not None:
            ways += [TrgmGist(connect(other)), TrgmGin(connect(other)), Newest(connect(other))]
            if options.hnsw:
                ways.append(Hnsw(connect(other), questions))
        yield ways


def _keys(conn: Connection[Any], count: int) -> list[tuple[str, Any]]:
    rows = conn.execute(
        "SELECT org_id, id FROM bench.plan ORDER BY md5(id::text) LIMIT %s", (count,)
    )
    return [(org_id, plan_id) for org_id, plan_id in rows]


def _warm_up(ways: Sequence[Way], questions: Sequence[Question]) -> None:
    # Plans are cached after five calls, by psycopg and by PostgreSQL.
    for way in ways:
        ask_all(way, questions[:12], 1.0, Times())


def _thresholds(
    conn: Connection[Any], kinds: Mapping[str, Sequence[Question]], options: Options
) -> list[dict[str, Any]]:
    ways = [Prepared(conn, options.guard, threshold) for threshold in LOW_THRESHOLDS]
    asked = {kind: found[: options.cold_questions] for kind, found in kinds.items()}
    return summaries(rounds(ways, asked, count=2, seconds=options.seconds))


def _after_restart(
    store: Store, name: str, other: str | None, questions: Sequence[Question], options: Options
) -> list[dict[str, Any]]:
    """Each way on a server that has just started; the first call of the connection apart."""
    found = []
    for way_name in options.cold_ways:
        store.restart()
        with _ways(store, name, other, questions, options) as ways:
            way = next((way for way in ways if way.name == way_name), None)
            if way is None:
                continue
            first = Times()
            ask_all(way, questions[:1], 1.0, first)
            for kind, asked in by_kind(questions[1:]).items():
                times = Times()
                with no_collection():
                    ask_all(way, asked[: options.cold_questions], options.seconds, times)
                found.append({
                    "way": way.name, "kind": kind, "first": first.milliseconds[0],
                    **times.summary(),
                })  # fmt: skip
    return found
