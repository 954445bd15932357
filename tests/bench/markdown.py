"""The figures of a run as a section of docs/benchmarks.md: python -m tests.bench.markdown FILE."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.targets import figure, floor, kinds, missed_by

_SHOWN = ("p50", "p95", "p99", "cpu_p50")


def render(found: dict[str, Any]) -> str:
    """The section, from the JSON of a run."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    machine, versions = found["machine"], found["versions"]
    load = (found["load_average"][0], found["load_average_at_end"][0])
    yield "## Figures of a run"
    yield ""
    buffers = found["settings"].get("shared_buffers", "128MB")
    yield from textwrap.wrap(
        f"Of {found['begun'][:10]}, on {machine['cores']} cores"
        f" ({machine.get('processor', 'unknown')}) with {machine.get('memory_gb', '?')} GB:"
        f" PostgreSQL {str(versions['postgresql']).split()[1]},"
        f" pgvector {versions.get('vector', '-')}, shared_buffers {buffers},"
        f" Python {versions['python']}, psycopg {versions['psycopg']}. The load average was"
        f" {load[0]:.1f} at the start and {load[1]:.1f} at the end; what is above the number of"
        " cores is other work, and lengthens every call by the clock, long ones the most."
        " Milliseconds; in brackets times the lookup; `cpu` is the server's processor time, p50.",
        width=104,
    )
    compared = [run for run in found["runs"] if "thresholds" in run]
    largest = max((run["plans"] for run in found["runs"] if run not in compared), default=0)
    for run in found["runs"]:
        if run in compared or run["plans"] == largest:
            yield ""
            yield from _latency(run, brief=run not in compared)
    if compared:
        yield ""
        yield from _below(max(compared, key=lambda run: run["plans"]))
    yield ""
    yield from _writes(found["runs"])
    yield ""
    yield from _targets(found["targets"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _shown(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _latency(run: dict[str, Any], *, brief: bool) -> Iterator[str]:
    base, cpu = floor(run), floor(run, "cpu_p50")
    ways = list(dict.fromkeys(entry["way"] for entry in run["latency"]))
    rows = [["any", "lookup", *(f"{_shown(floor(run, name))}" for name in _SHOWN)]]
    for kind in kinds(run):
        for way in ways:
            if way in ("lookup", "Mnemo, pool") or figure(run, way, kind, "p50") is None:
                continue
            if brief and way != "Mnemo":
                continue
            cells = [f"{_shown(figure(run, way, kind, name) or 0)}" for name in _SHOWN]
            cells[0] += f" ({(figure(run, way, kind, 'p50') or 0) / base:.1f})"
            if cpu:
                cells[3] += f" ({(figure(run, way, kind, 'cpu_p50') or 0) / cpu:.1f})"
            rows.append([kind, way, *cells])
    yield f"**{run['workload']}, {run['plans']:,} plans**"
    yield ""
    yield from _table(["question", "way", "p50", "p95", "p99", "cpu"], rows)


def _below(run: dict[str, Any]) -> Iterator[str]:
    yield f"Lower thresholds, prepared, {run['workload']}, {run['plans']:,} plans:"
    yield ""
    yield from _table(
        ["threshold", "question", "p50", "p95", "p99"],
        (
            [e["way"].split()[1], e["kind"], *(_shown(e[name]) for name in ("p50", "p95", "p99"))]
            for e in run["thresholds"]
            if e["count"]
        ),
    )


def _writes(runs: list[dict[str, Any]]) -> Iterator[str]:
    rows = []
    for run in runs:
        single, batch = run["writes"]["single"], run["writes"]["batch"]
        parts = run["sizes"]["plan_signature"]
        rows.append([
            run["workload"], f"{run['plans']:,}",
            *(_shown(single[name]["p50"]) for name in ("remember_plan", "bare INSERT")),
            f"{batch['plans_per_second']:,}", f"{batch['plans_per_cpu_second'] or 0:,}",
            *(f"{size / 2**20:,.0f} MB" for size in (
                sum(sum(table.values()) for table in run["sizes"].values()),
                sum(parts.values()), parts["plan_signature_keys_idx"],
            )),
        ])  # fmt: skip
    head = ["workload", "plans", "one plan, p50", "bare INSERT, p50", "batch, plans/s",
            "per cpu second", "all tables", "matching table", "of it keys"]  # fmt: skip
    yield from _table(head, rows)


def _targets(targets: list[dict[str, Any]]) -> Iterator[str]:
    met = {True: "yes", False: "no", None: "not at this size"}
    rows = []
    for target in targets:
        shown = met[target["met"]]
        if (by := missed_by(target)) is not None:
            shown += f", by a factor of {by:.2f}"
        values = ["" if v is None else f"{v:,.4g}" for v in (target["value"], target["cpu"])]
        sign = "at most" if target["at"] == "most" else "at least"
        rows.append([target["target"], *values, f"{sign} {target['limit']:,}", shown,
                     target["note"]])  # fmt: skip
    yield from _table(["target", "value", "by cpu", "limit", "met", "where"], rows)


if __name__ == "__main__":
    print(render(json.loads(Path(sys.argv[1]).read_text("utf-8"))), end="")
