"""The command import."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Annotated

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from mnemo_pg.cli import output
from mnemo_pg.cli.plans import Agent, Org
from mnemo_pg.cli.session import MISS_OR_FAILURE, CommandError, Dsn, Json, Options, client, options
from mnemo_pg.errors import UnavailableError
from mnemo_pg.importer import ImportAborted, ImportBroken, Importer, LineError, Summary
from mnemo_pg.types import Scope


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("import")(import_file)


def import_file(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines; - for standard input.")],
    agent: Agent = None,
    org: Org = None,
    scope: Annotated[
        Scope | None, typer.Option(help="Scope of lines that name none. Default: private.")
    ] = None,
    abort: Annotated[
        bool, typer.Option("--abort", help="Stop at the first bad line and store nothing at all.")
    ] = False,
    once: Annotated[
        bool,
        typer.Option("--once", help="Skip lines that an earlier import with --once has stored."),
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Import plans and memories in your own words from JSON lines.

    A line is an object: a plan has the parameters of remember_plan as its keys (query, steps,
    chunk_ids, outcome_score, ...), a memory those of remember (content, ...). Bad lines are
    reported with their number and the others stored; then the exit code is 1. With --json each bad
    line is one JSON object, and the last object is the summary. What mnemo-pg export wrote comes
    back by mnemo-pg restore.
    """
    chosen = options(context, dsn, as_json)
    started = time.monotonic()

    with (
        opened(file) as (source, size),
        client(chosen) as m,
        progress("import", size) as advance,
    ):
        job = Importer(m, agent_id=agent, org_id=org, scope=scope, abort=abort, once=once)
        try:
            summary = job.run(source, reporter(chosen), advance)
        except ImportAborted as error:
            raise CommandError(f"{error}; nothing was stored") from error
        except ImportBroken as error:
            raise CommandError(_broken(error, abort=abort, once=once)) from error
    seconds = time.monotonic() - started
    if chosen.json:
        output.print_json(_document(summary, seconds))
    else:
        _show(summary, seconds)
    if summary.failed:
        raise typer.Exit(MISS_OR_FAILURE)


def _broken(error: ImportBroken, *, abort: bool, once: bool) -> str:
    cause = error.__cause__
    lost = isinstance(cause, UnavailableError) and cause.connection_lost
    # A commit may have arrived whose answer did not.
    rest = "later ones may not be" if lost else "later ones are not"
    done = "nothing is stored in part" if abort else f"{error}, {rest}"
    again = "" if once else " (with --once nothing is stored twice)"
    return f"{'the connection was lost' if lost else cause}: {done}; import again{again}"


def reporter(chosen: Options) -> Callable[[LineError], None]:
    """What to do with a bad line: a line for people, an object for machines."""

    def report(bad: LineError) -> None:
        if chosen.json:
            output.print_json(bad._asdict())
        else:
            output.fail(f"line {bad.line}: {bad.error}")

    return report


@contextmanager
def opened(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """The bytes of a file or of standard input, and their number where that is known."""
    if file == "-":
        yield sys.stdin.buffer, None
        return
    try:
        source = open(file, "rb")  # noqa: SIM115  closed below, errors of the block are not ours
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from error
    with source:
        size = os.fstat(source.fileno()).st_size
        yield source, size or None


@contextmanager
def progress(
    what: str, size: int | None, *, counted: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, told how many bytes were read, or how many things were done."""
    console = output.stderr()
    done = MofNCompleteColumn() if counted else DownloadColumn()
    columns = (TextColumn(what), BarColumn(), done, TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(what, total=size)
        yield lambda count: bar.advance(task, count)


def _document(summary: Summary, seconds: float) -> dict[str, object]:
    return {
        "lines": summary.lines,
        "plans": dict(summary.plans),
        "memories": dict(summary.memories),
        "failed": summary.failed,
        "seconds": round(seconds, 3),
    }


def _show(summary: Summary, seconds: float) -> None:
    made = output.table("", "lines")
    for kind, counts in (("plans", summary.plans), ("memories", summary.memories)):
        for status, count in sorted(counts.items()):
            output.row(made, f"{kind} {status.replace('_', ' ')}", f"{count:,}")
    output.row(made, "bad lines", f"{summary.failed:,}")
    output.row(made, "all", f"{summary.lines:,}")
    output.stdout().print(made)
    rate = summary.lines / seconds if seconds > 0 else 0
    output.say(f"{seconds:.1f} s, {rate:,.0f} lines a second")
