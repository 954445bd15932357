"""The commands export, restore and events."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, cast
from uuid import UUID

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mnemo_pg.cli import output
from mnemo_pg.cli.load import opened, progress, reporter
from mnemo_pg.cli.session import (
    MISS_OR_FAILURE,
    USAGE,
    CommandError,
    Dsn,
    Json,
    Options,
    check_version,
    client,
    connected,
    options,
)
from mnemo_pg.client import Mnemo
from mnemo_pg.importer import ImportAborted, ImportBroken
from mnemo_pg.transfer import TransferSummary, export_lines, import_lines
from mnemo_pg.types import Event, EventType

_ROWS = "SELECT sum(greatest(reltuples, 0))::bigint FROM pg_class WHERE oid IN"
_ABOUT = (
    f"{_ROWS} ('mnemo.memory'::regclass, 'mnemo.event'::regclass, 'mnemo.acl'::regclass,"
    " 'mnemo.idempotency'::regclass)"
)
_PAGE = 1000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("export")(export)
    app.command("restore")(restore)
    app.command("events")(events)


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to write; - for the output.")],
    org: Annotated[
        str | None,
        typer.Option("--org", help="One organisation, with the global records that it wrote."),
    ] = None,
    roles: Annotated[
        bool, typer.Option("--roles", help="Also the levels and bindings of database roles.")
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Export everything that is stored, loss-free, for mnemo-pg restore.

    All organisations, or one: records with ids, hashes and times, plans, deleted and quarantined
    ones, grants, delegations, the log of events, settings. One state of the database, in lines of
    JSON. Needs level admin. Without FILE being -, the file appears when it is complete. --json
    prints a summary.
    """
    chosen = options(context, dsn, as_json)
    if chosen.json and file == "-":
        raise CommandError("--json prints a summary: name a FILE to export to", USAGE)
    started = time.monotonic()
    with connected(chosen) as connection:
        check_version(connection)
        row = connection.execute(_ABOUT).fetchone()
        about = row[0] if row and org is None else None
        lines = cast(
            Generator[str, None, None], export_lines(Mnemo(connection), org_id=org, roles=roles)
        )
        # Closed here, inside of the connection, also when nobody reads on: its transaction ends.
        with closing(lines), _written(file) as sink, _counted(about) as counted:
            count, size = _write(lines, sink, counted)
    seconds = time.monotonic() - started
    if chosen.json:
        output.print_json(
            {"file": file, "lines": count, "bytes": size, "seconds": round(seconds, 3)}
        )
    elif file != "-":
        output.say(f"{count:,} lines, {size:,} bytes in {file}; {_rate(count, seconds)}")


def restore(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File of mnemo-pg export; - for the input.")
    ],
    abort: Annotated[
        bool, typer.Option("--abort", help="Stop at the first bad line and write nothing at all.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a file without the end of its export.")
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Bring an export of mnemo-pg export into this database, empty or not.

    Everything is written as it was: ids, hashes, times. What is there already is left alone, so the
    same file may be restored again. Lines that were changed, or that differ from what is there, are
    reported with their number and record, and the others written; then the exit code is 1. So it is
    when the file was cut off. Needs level admin. For plans and memories in your own words use
    mnemo-pg import.
    """
    chosen = options(context, dsn, as_json)
    if abort and partial:
        raise CommandError("--abort and --partial exclude each other", USAGE)
    started = time.monotonic()

    with (
        opened(file) as (source, size),
        client(chosen) as m,
        progress("restore", size) as advance,
    ):
        try:
            summary = import_lines(m, source, reporter(chosen), advance, abort=abort)
        except ImportAborted as error:
            raise CommandError(f"{error}; nothing was written") from error
        except ImportBroken as error:
            rest = "nothing was written" if abort else f"{error}, later ones are not"
            raise CommandError(
                f"the connection was lost: {rest}; restore again, nothing is written twice"
            ) from error
    _finish(chosen, summary, time.monotonic() - started, partial)


def _finish(chosen: Options, summary: TransferSummary, seconds: float, partial: bool) -> None:
    if chosen.json:
        output.print_json({
            "lines": summary.lines,
            "imported": summary.imported,
            "present": summary.present,
            "failed": summary.failed,
            "tables": dict(summary.tables),
            "complete": summary.complete,
            "seconds": round(seconds, 3),
        })  # fmt: skip
    else:
        made = output.table("", "lines")
        for table, count in summary.tables.items():
            output.row(made, f"{table} imported", f"{count:,}")
        output.row(made, "there already", f"{summary.present:,}")
        output.row(made, "bad lines", f"{summary.failed:,}")
        output.row(made, "all", f"{summary.lines:,}")
        output.stdout().print(made)
        output.say(_rate(summary.lines, seconds))
    if not summary.complete and not partial:
        output.fail(
            "the file is not a whole export: its end is missing or counts other lines;"
            " export again, or accept it with --partial"
        )
    if summary.failed or not (summary.complete or partial):
        raise typer.Exit(MISS_OR_FAILURE)


def events(
    context: typer.Context,
    org: Annotated[
        str | None, typer.Option("--org", help="Organisation. Default: the default one.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Owner of the records.")] = None,
    types: Annotated[
        list[EventType] | None, typer.Option("--type", help="Type of event; may be repeated.")
    ] = None,
    memory: Annotated[UUID | None, typer.Option("--id", help="Record or plan.")] = None,
    since: Annotated[datetime | None, typer.Option(help="From then on, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Before then, in UTC.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 50,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show the log of changes of an organisation, newest first. Needs level admin.

    With --json a line of JSON each. Exit code 1 when there is none.
    """
    chosen = options(context, dsn, as_json)
    shown = 0
    made = output.table("when", "event", "record", "owner", "by", "changes")
    with client(chosen) as m:
        after: UUID | None = None
        while shown < limit:
            page = m.read_events(
                types=types, memory_id=memory, since=_utc(since), until=_utc(until),
                limit=min(limit - shown, _PAGE), after=after, agent_id=agent, org_id=org,
            )  # fmt: skip
            for event in page:
                if chosen.json:
                    output.print_json(event)
                else:
                    output.row(made, *_cells(event))
            shown += len(page)
            if len(page) < _PAGE:
                break
            after = page[-1].id
    if not chosen.json and shown:
        output.stdout().print(made)
    if not shown:
        if not chosen.json:
            output.say("no event")
        raise typer.Exit(MISS_OR_FAILURE)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _cells(event: Event) -> list[str]:
    changes = ", ".join(
        f"{name} {value}" for name, value in event.changes.items() if value is not None
    )
    return [
        f"{event.happened_at:%Y-%m-%d %H:%M:%S}",
        event.event_type,
        str(event.memory_id or ""),
        f"{event.org_id}/{event.agent_id}",
        f"{event.actor_org_id}/{event.actor_agent_id}",
        output.short(f"{changes}; {event.note}" if event.note else changes),
    ]


def _rate(lines: int, seconds: float) -> str:
    return f"{seconds:.1f} s, {lines / seconds if seconds > 0 else 0:,.0f} lines a second"


def _write(lines: Iterator[str], sink: IO[bytes], counted: Progress) -> tuple[int, int]:
    count = size = 0
    for line in lines:
        data = line.encode() + b"\n"
        sink.write(data)
        size += len(data)
        count += 1
        if count % _PAGE == 0:
            counted.advance(counted.task_ids[0], _PAGE)
    return count, size


@contextmanager
def _written(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # Under another name until it is whole; what was there before stays until then.
    partial = Path(f"{file}.{os.getpid()}.partial")
    try:
        # Everybody's memories are in it.
        sink = os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}") from error
    try:
        with sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        partial.replace(file)
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _counted(about: int | None) -> Iterator[Progress]:
    console = output.stderr()
    columns = (TextColumn("export"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        bar.add_task("export", total=about or None)
        yield bar
