"""The targets, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FULL_SIZE = 1_000_000
RECALL_WAYS = ("Mnemo", "prepared")
ALTERNATIVES = ("pg_trgm, GiST", "pg_trgm, GIN", "HNSW", "newest 1,000 in Python")


def figure(run: dict[str, Any], way: str, kind: str, name: str) -> float | None:
    """One figure of a run's latencies."""
    for entry in run["latency"]:
        if (entry["way"], entry["kind"]) == (way, kind):
            value = entry.get(name)
            return None if value is None else float(value)
    return None


def kinds(run: dict[str, Any]) -> list[str]:
    """The kinds of question of a run."""
    return list(dict.fromkeys(entry["kind"] for entry in run["latency"]))


def floor(run: dict[str, Any], name: str = "p50") -> float:
    """A figure of the lookup by primary key: its median over the kinds, which play no part."""
    found = [figure(run, "lookup", kind, name) for kind in kinds(run)]
    known = sorted(value for value in found if value is not None)
    return known[len(known) // 2]


def assess(runs: list[dict[str, Any]], guard: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Each target: limit, value, whether it is met; `met` None: this run does not tell."""
    compared = [run for run in runs if "thresholds" in run]
    found: list[dict[str, Any]] = []
    if compared:
        for way in RECALL_WAYS:
            found += _latency(compared, way)
        found += _writes(max(compared, key=lambda run: run["plans"]))
    if guard:
        found += _guard(guard)
    return found


def missed_by(target: dict[str, Any]) -> float | None:
    """By what factor a target is missed; None when it is met or not told."""
    if target["met"] is not False or not target["value"]:
        return None
    ratio = target["value"] / target["limit"]
    return float(ratio if target["at"] == "most" else 1 / ratio)


def _target(
    name: str,
    value: float | None,
    limit: float,
    *,
    least: bool = False,
    tells: bool = True,
    note: str = "",
    cpu: float | None = None,
) -> dict[str, Any]:
    met = None if value is None else (value >= limit if least else value <= limit)
    return {
        "target": name,
        "value": value if value is None else round(value, 3),
        "cpu": cpu if cpu is None else round(cpu, 3),
        "limit": limit,
        "at": "least" if least else "most",
        "met": met if tells else None,
        "note": note,
    }


def _latency(runs: list[dict[str, Any]], way: str) -> Iterator[dict[str, Any]]:
    """By the clock, which decides, and by the server's processor time beside it."""
    by_cpu = {name: value for name, value, *_ in _ratios(runs, way, "cpu_")}
    # The client's share is what counts there.
    by_cpu.pop(f"{way}: p50, times {ALTERNATIVES[-1]}", None)
    for name, value, limit, tells, note in _ratios(runs, way, ""):
        yield _target(name, value, limit, tells=tells, note=note, cpu=by_cpu.get(name))


def _ratios(
    runs: list[dict[str, Any]], way: str, prefix: str
) -> Iterator[tuple[str, float, float, bool, str]]:
    """Name, value, limit, whether runs of this size tell, and where the value comes from."""
    large = max(runs, key=lambda run: run["plans"])
    small = min(runs, key=lambda run: run["plans"])
    full = large["plans"] >= FULL_SIZE
    size = f"{large['plans']:,} plans"
    base = floor(large, f"{prefix}p50")
    if not base:
        return

    def ratios(name: str, other: str, run: dict[str, Any]) -> list[tuple[float, str]]:
        """Each kind's figure over the same figure of another way or of another run."""
        return [
            (ours / theirs, kind)
            for kind in kinds(large)
            if (ours := figure(large, way, kind, f"{prefix}{name}")) is not None
            and (theirs := figure(run, other, kind, f"{prefix}{name}"))
        ]

    exact = figure(large, way, "exact", f"{prefix}p50")
    if exact is not None:
        yield f"{way}: exact repeat p50, times the lookup", exact / base, 3, True, size
    for name, limit in (("p50", 20), ("p99", 150)):
        found = [(figure(large, way, kind, f"{prefix}{name}") or 0, kind) for kind in kinds(large)]
        value, kind = max(found)
        label = f"{way}: any question {name}, times the lookup's p50"
        yield label, value / base, limit, full, f"{size}, {kind}"
    if large is not small and (growth := ratios("p50", way, small)):
        value, kind = max(growth)
        note = f"{small['plans']:,} to {large['plans']:,} plans, {kind}"
        yield f"{way}: growth of p50", value, 4, full and small["plans"] <= 10_000, note
    for other in ALTERNATIVES:
        if compared := ratios("p50", other, large):
            value, kind = max(compared)
            yield f"{way}: p50, times {other}", value, 1, full, f"{size}, {kind}"


def _writes(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    batch, single = run["writes"]["batch"], run["writes"]["single"]
    ours, bare = single["remember_plan"], single["bare INSERT"]
    size = f"{run['plans']:,} plans"
    yield _target(
        "batch, plans a second", batch["plans_per_second"], 5_000, least=True,
        cpu=batch["plans_per_cpu_second"],
        note=f"{size}, loaded at {run['load']['plans_per_second']:,}",
    )  # fmt: skip
    yield _target(
        "remember_plan p50, times a bare INSERT", ours["p50"] / bare["p50"], 5, note=size,
        cpu=ours["cpu_p50"] / bare["cpu_p50"] if bare["cpu_p50"] else None,
    )  # fmt: skip


def _guard(guard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    strict = guard.get("pairs", {}).get("strict")
    if strict:
        yield _target("strict: miss pairs that miss", strict["miss"], 0.95, least=True)
        yield _target("strict: hit pairs that hit", strict["hit"], 0.95, least=True)
    data = guard.get("clinc", {})
    if "meaning" in data:
        off, meaning = data["off"], data["meaning"]
        yield _target(
            "meaning: share of plain hits kept", meaning["hits"] / off["hits"], 0.9, least=True
        )
        yield _target("meaning: precision", meaning["precision"], round(off["precision"], 4),
                      least=True)  # fmt: skip
    if "strict" in data:
        kept = data["strict"]["hits"] / data["off"]["hits"]
        yield _target("strict: share of plain hits kept", kept, 0.7, least=True)
