"""The benchmark: `python -m tests.bench`, or `make bench`. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from mnemo_pg.embedded import EmbeddedError
from tests.bench import guard, plot, report, targets
from tests.bench.run import Options, measure
from tests.bench.store import BenchError, Store, default_folder, digest, free_gigabytes, machine
from tests.bench.workloads import WORKLOADS, data_folder, has_clinc

SIZES = (10_000, 100_000)
MILLION = 1_000_000
QUICK = Options(
    questions=20, rounds=2, seconds=0.05, checks=30, check_seconds=2, cold_questions=10,
    cold_ways=("prepared",), singles=20, batches=2, batch=200,
)  # fmt: skip


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part.replace("_", "")) for part in text.split(","))


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    add = parser.add_argument
    add("--sizes", type=_numbers, help="numbers of plans, by commas (default 10000,100000)")
    add("--million", action="store_true",
        help="1,000,000 plans too, of the first workload and of templates")  # fmt: skip
    add(
        "--quick",
        action="store_true",
        help="2,000 plans or fewer, few questions: does it still run",
    )
    add("--workloads", help=f"by commas, of {', '.join(WORKLOADS)} (default all)")
    add("--seed", type=int, default=1)
    add("--data", type=Path, default=default_folder(), help="folder of the server (%(default)s)")
    add("--shared-buffers", default="128MB", help="the server's setting (%(default)s)")
    add("--guard", help="argument p_guard of recalls (default: what the setting says)")
    add("--rounds", type=int, help="rounds in which the ways take turns (default 5)")
    add("--questions", type=int, help="questions of each kind (default 300)")
    add("--no-alternatives", action="store_true", help="measure recall and the lookup only")
    add("--no-hnsw", action="store_true", help="leave out the HNSW index, slow to build")
    add("--no-guard", action="store_true", help="leave out the evaluation of the guard")
    add("--keep", action="store_true", help="keep the databases of other versions of the SQL")
    add("--json", type=Path, help="file for the figures (default: in the folder of the server)")
    add("--plot", type=Path, help="PNG file for the plot (default: in the folder of the server)")
    return parser.parse_args(given)


def _work(arguments: argparse.Namespace, console: Console) -> list[tuple[str, int]]:
    """Which workload at which size, the first workload first: that one is compared."""
    names = arguments.workloads.split(",") if arguments.workloads else list(WORKLOADS)
    for name in names:
        if name not in WORKLOADS:
            raise BenchError(f"no workload {name!r}: there are {', '.join(WORKLOADS)}")
    if "clinc" in names and not has_clinc():
        console.print(
            f"[yellow]skipped: clinc, for there is no clinc150.json in {data_folder()}"
            " (MNEMO_DATA names the folder)[/yellow]"
        )
        names.remove("clinc")
    if arguments.quick and not arguments.sizes:
        return [(name, 500 if place else 2_000) for place, name in enumerate(names)]
    work = [(name, size) for size in arguments.sizes or SIZES for name in names]
    if arguments.million:
        largest = names if arguments.workloads else [*names[:1], *(set(names[1:]) & {"templates"})]
        work += [(name, MILLION) for name in largest]
    return list(dict.fromkeys(work))


def _options(arguments: argparse.Namespace) -> Options:
    options = QUICK if arguments.quick else Options()
    changes = {
        "rounds": arguments.rounds,
        "questions": arguments.questions,
        "guard": arguments.guard,
        "keep": arguments.keep or None,
        "hnsw": False if arguments.no_hnsw else None,
    }
    kept = {name: getattr(options, name) for name in Options.__dataclass_fields__}
    return Options(**{**kept, **{name: v for name, v in changes.items() if v is not None}})


def _facts(store: Store) -> dict[str, Any]:
    """Versions, and settings that are not what the server would have chosen."""
    with store.connect("postgres") as conn:
        version = conn.execute("SELECT version()").fetchone()
        settings = conn.execute(
            "SELECT name, current_setting(name) FROM pg_settings"
            " WHERE source NOT IN ('default', 'override', 'client') AND category NOT LIKE 'File%'"
            " AND name NOT IN ('unix_socket_directories', 'listen_addresses', 'port')"
            " ORDER BY name"
        ).fetchall()
        extensions = conn.execute(
            "SELECT name, default_version FROM pg_available_extensions"
            " WHERE name IN ('pg_trgm', 'vector')"
        ).fetchall()
    return {
        "versions": {
            "mnemo_pg": importlib.metadata.version("mnemo_pg"), "sql": digest(),
            "postgresql": version and version[0], **dict(extensions),
            "psycopg": importlib.metadata.version("psycopg"),
            "python": platform.python_version(),
        },
        "settings": dict(settings),
        "machine": machine(),
    }  # fmt: skip


def _run(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    options = _options(arguments)
    if options.hnsw and importlib.util.find_spec("numpy") is None:
        raise BenchError("the vectors need numpy: pip install '.[bench]', or leave out: --no-hnsw")
    work = _work(arguments, console)
    need = sum(size for _, size in work) * 8e-6
    if free_gigabytes(arguments.data) < need:
        raise BenchError(f"{arguments.data} needs about {need:.0f} GB: choose another --data")
    store = Store(arguments.data, arguments.shared_buffers)
    found: dict[str, Any] = {
        "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load_average": os.getloadavg(),
    }
    with store.running():
        found |= _facts(store)
        found["runs"] = []
        for name, size in work:
            compare = not arguments.no_alternatives and name == work[0][0]
            with Progress(
                SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
                MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                console=console, transient=True,
            ) as progress:  # fmt: skip
                workload = WORKLOADS[name](arguments.seed, size)
                found["runs"].append(measure(store, workload, options, progress, compare=compare))
            report.show_run(console, found["runs"][-1])
        if not arguments.no_guard:
            with console.status("the guard"), store.connect(store.scratch("guard")) as conn:
                found["guard"] = guard.evaluate(conn, with_clinc=not arguments.quick)
            report.show_guard(console, found["guard"])
            if not {"pairs", "clinc"} & found["guard"].keys():
                console.print(
                    f"[yellow]skipped: the guard's evaluation, no data in {data_folder()}[/yellow]"
                )
    found["load_average_at_end"] = os.getloadavg()
    found["targets"] = targets.assess(found["runs"], found.get("guard"))
    report.show_targets(console, found["targets"])
    return found


def _write(arguments: argparse.Namespace, found: dict[str, Any], console: Console) -> None:
    results = arguments.data / "results"
    stamp = found["begun"].replace(":", "")
    for path in (arguments.json, arguments.plot):
        if path is None:
            results.mkdir(exist_ok=True)
    json_path = arguments.json or results / f"{stamp}.json"
    json_path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    console.print(f"figures: {json_path}")
    plot_path = arguments.plot or results / f"{stamp}.png"
    if plot.draw(found["runs"], plot_path):
        console.print(f"plot: {plot_path}")
    elif importlib.util.find_spec("matplotlib") is None:
        console.print("[yellow]no plot: it needs matplotlib, pip install '.[bench]'[/yellow]")


def main(given: list[str] | None = None) -> int:
    """Run the benchmark; 1 when an answer differs from the scan's or it cannot run."""
    arguments = _arguments(given)
    # A file or a pipe has no width of its own.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    try:
        found = _run(arguments, console)
    except (BenchError, EmbeddedError) as error:
        console.print(f"[red]{error}[/red]")
        return 1
    except KeyboardInterrupt:
        console.print("stopped; what is loaded is kept for the next run")
        return 130
    _write(arguments, found, console)
    return 1 if any(run["exactness"]["differing"] for run in found["runs"]) else 0


if __name__ == "__main__":
    sys.exit(main())
