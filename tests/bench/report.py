"""The report for people: tables on the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.targets import floor, missed_by


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _size(value: int) -> str:
    return f"{value / 2**20:,.1f} MB"


def _title(run: dict[str, Any]) -> str:
    return f"{run['workload']}, {run['plans']:,} plans"


def show_run(console: Console, run: dict[str, Any]) -> None:
    """What was measured for one workload at one size."""
    console.print()
    console.rule(f"[bold]{_title(run)}[/bold]: {run['about']}")
    base, cpu = floor(run), floor(run, "cpu_p50")
    table = Table(
        title="milliseconds a call; cpu: the server's, p50; client: its own, mean;"
        " x: times the lookup",
        title_justify="left",
    )
    for head in ("question", "way"):
        table.add_column(head, no_wrap=True)
    for head in ("calls", "hits", "p50", "p95", "p99", "p50 x", "p99 x", "cpu", "cpu x", "client"):
        table.add_column(head, justify="right")
    last = None
    for entry in run["latency"]:
        if not entry["count"]:
            continue
        if last not in (None, entry["kind"]):
            table.add_section()
        table.add_row(
            entry["kind"] if entry["kind"] != last else "",
            entry["way"],
            str(entry["count"]),
            "" if entry["way"] == "lookup" else str(entry["hits"]),
            *(_milliseconds(entry[name]) for name in ("p50", "p95", "p99")),
            *(f"{entry[name] / base:.1f}" for name in ("p50", "p99")),
            _milliseconds(entry["cpu_p50"] or None),
            f"{entry['cpu_p50'] / cpu:.1f}" if cpu else "",
            _milliseconds(entry["client_cpu"]),
        )
        last = entry["kind"]
    console.print(table)
    for name, title in (
        ("thresholds", "lower thresholds, prepared"),
        ("restart", "after a restart: empty shared buffers"),
    ):
        if name in run:
            console.print(_plain(title, run[name], base))
    _show_sizes(console, run)
    _show_writes(console, run)
    check = run["exactness"]
    verdict = "all equal" if not check["differing"] else f"{len(check['differing'])} DIFFER"
    console.print(
        f"{check['checked']} answers ({check['hits']} hits) compared with a scan: {verdict}"
    )


def _plain(title: str, entries: list[dict[str, Any]], base: float) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("way")
    table.add_column("question")
    names = [name for name in ("first", "p50", "p95", "p99") if any(name in e for e in entries)]
    for head in ("calls", "hits", *names, "p50 x"):
        table.add_column(head, justify="right")
    for entry in entries:
        if entry["count"]:
            table.add_row(
                entry["way"], entry["kind"], str(entry["count"]), str(entry["hits"]),
                *(_milliseconds(entry.get(name)) for name in names),
                f"{entry['p50'] / base:.1f}",
            )  # fmt: skip
    return table


def _show_sizes(console: Console, run: dict[str, Any]) -> None:
    table = Table(title="size", title_justify="left")
    for head in ("table or index", "MB", "bytes a plan"):
        table.add_column(head, justify="right" if head != "table or index" else "left")
    groups = [(name, parts) for name, parts in run["sizes"].items() if sum(parts.values()) > 2**17]
    groups += [(name, parts) for name, parts in run.get("alternative_sizes", {}).items()
               if name != "state"]  # fmt: skip
    for name, parts in groups:
        table.add_section()
        for part, value in parts.items():
            shown = name if part == "table" else f"  {part}"
            table.add_row(shown, _size(value), f"{value / run['plans']:,.0f}")
    console.print(table)
    if "build_seconds" in run:
        built = ", ".join(f"{name} {s} s" for name, s in run["build_seconds"].items() if s)
        console.print(f"built in: {built}")


def _show_writes(console: Console, run: dict[str, Any]) -> None:
    single = run["writes"]["single"]
    base = single["bare INSERT"]["p50"]
    table = Table(title="writing one row a transaction, milliseconds", title_justify="left")
    table.add_column("what")
    for head in ("calls", "p50", "p95", "p99", "p50 x", "cpu"):
        table.add_column(head, justify="right")
    for name, entry in single.items():
        table.add_row(
            name, str(entry["count"]),
            *(_milliseconds(entry[p]) for p in ("p50", "p95", "p99")),
            f"{entry['p50'] / base:.1f}", _milliseconds(entry["cpu_p50"] or None),
        )  # fmt: skip
    console.print(table)
    batch, loaded = run["writes"]["batch"], run["load"]
    per_cpu = batch["plans_per_cpu_second"]
    console.print(
        f"batches of {batch['plans_a_call']:,}: {batch['plans_per_second']:,} plans a second"
        + (f" ({per_cpu:,} a second of the server's cpu)" if per_cpu else "")
        + f"; the load: {loaded['plans_per_second']:,}"
    )


def show_guard(console: Console, guard: dict[str, Any]) -> None:
    """The evaluation of the guard, by category."""
    if "pairs" in guard:
        table = Table(title="pairs of questions: right / all", title_justify="left")
        table.add_column("category")
        for name in guard["guards"]:
            table.add_column(name, justify="right")
        first = next(iter(guard["pairs"].values()))
        for category in first["categories"]:
            found = [guard["pairs"][name]["categories"][category] for name in guard["guards"]]
            table.add_row(category, *(f"{f['right']} / {f['right'] + f['wrong']}" for f in found))
        table.add_section()
        for expected in ("miss", "hit"):
            table.add_row(
                f"all that must {expected}",
                *(f"{guard['pairs'][name][expected]:.1%}" for name in guard["guards"]),
            )
        console.print(table)
    if "clinc" in guard:
        table = Table(title="CLINC150: train remembered, test asked at 0.7", title_justify="left")
        for head in ("guard", "hits", "same intent", "out of scope hits"):
            table.add_column(head, justify="right" if head != "guard" else "left")
        for name, found in guard["clinc"].items():
            table.add_row(
                name, *(f"{found[key]:.1%}" for key in ("hits", "precision", "out_of_scope_hits"))
            )
        console.print(table)


def show_targets(console: Console, targets: list[dict[str, Any]]) -> None:
    """Met, missed (by what factor), or not told by this run."""
    table = Table(title="targets", title_justify="left")
    for head in ("target", "value", "by cpu", "limit", "met", "where"):
        table.add_column(head, justify="left" if head in ("target", "met", "where") else "right")
    for target in targets:
        value = target["value"]
        met = {True: "[green]yes[/green]", False: "[red]no[/red]", None: "not at this size"}
        shown = met[target["met"]]
        if (by := missed_by(target)) is not None:
            shown += f", by a factor of {by:.2f}"
        sign = "<=" if target["at"] == "most" else ">="
        table.add_row(
            target["target"],
            *("" if found is None else f"{found:,.4g}" for found in (value, target["cpu"])),
            f"{sign} {target['limit']:,}",
            shown,
            target["note"],
        )  # fmt: skip
    console.print()
    console.print(table)
