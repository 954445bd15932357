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


def _target(
    name: str, value: float | None, limit: float, *, least: bool = False, tells: bool = True,
    note: str = "",
) -> dict[str, Any]:  # fmt: skip
    met = None if value is None else (value >= limit if least else value <= limit)
    return {
        "target": name,
        "value": value if value is None else round(value, 3),
        "limit": limit,
        "at": "least" if least else "most",
        "met": met if tells else None,
        "note": note,
    }


def _latency(runs: list[dict[str, Any]], way: str) -> Iterator[dict[str, Any]]:
    large = max(runs, key=lambda run: run["plans"])
    small = min(runs, key=lambda run: run["plans"])
    full = large["plans"] >= FULL_SIZE
    size = f"{large['plans']:,} plans"
    base = floor(large)
    exact = figure(large, way, "exact", "p50")
    yield _target(
        f"{way}: exact repeat p50, times the lookup", exact and exact / base, 3, note=size
    )
    for name, limit in (("p50", 20), ("p99", 150)):
        worst, kind = max(((figure(large, way, kind, name) or 0), kind) for kind in kinds(large))
        yield _target(
            f"{way}: any question {name}, times the lookup's p50", worst / base, limit,
            tells=full, note=f"{size}, {kind}",
        )  # fmt: skip
    growth = [
        ((figure(large, way, kind, "p50") or 0) / (figure(small, way, kind, "p50") or 1), kind)
        for kind in kinds(small)
        if kind in kinds(large)
    ]
    if large is not small:
        value, kind = max(growth)
        yield _target(
            f"{way}: growth of p50", value, 4, tells=full and small["plans"] <= 10_000,
            note=f"{small['plans']:,} to {large['plans']:,} plans, {kind}",
        )  # fmt: skip
    for other in ALTERNATIVES:
        ratios = [
            (ours / theirs, kind)
            for kind in kinds(large)
            if (ours := figure(large, way, kind, "p50")) is not None
            and (theirs := figure(large, other, kind, "p50")) is not None
        ]
        if ratios:
            value, kind = max(ratios)
            yield _target(
                f"{way}: p50, times {other}", value, 1, tells=full, note=f"{size}, {kind}"
            )


def _writes(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    single = run["writes"]["single"]
    size = f"{run['plans']:,} plans"
    yield _target(
        "batch, plans a second", run["writes"]["batch"]["plans_per_second"], 5_000, least=True,
        note=f"{size}, loaded at {run['load']['plans_per_second']:,}",
    )  # fmt: skip
    yield _target(
        "remember_plan p50, times a bare INSERT",
        single["remember_plan"]["p50"] / single["bare INSERT"]["p50"], 5, note=size,
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
