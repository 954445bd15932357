"""The commands forget and sweep."""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import UUID

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.memories import Time
from mnemo_pg.cli.plans import Agent, Org
from mnemo_pg.cli.session import (
    MISS_OR_FAILURE,
    USAGE,
    CommandError,
    Dsn,
    Json,
    client,
    options,
)
from mnemo_pg.client import Mnemo
from mnemo_pg.types import ForgetStrategy, MemoryType, SourceType, SweepTask

_BATCH = 1000
_ERASING = (ForgetStrategy.HARD_DELETE, ForgetStrategy.REDACT)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("forget")(forget)
    app.command("sweep")(sweep)


def forget(
    context: typer.Context,
    ids: Annotated[
        list[UUID] | None, typer.Argument(metavar="[ID]...", help="Memories or plans.")
    ] = None,
    strategy: Annotated[
        ForgetStrategy,
        typer.Option(help="soft_delete and archive keep the text, redact keeps a hash."),
    ] = ForgetStrategy.SOFT_DELETE,
    subject: Annotated[
        str | None,
        typer.Option("--subject", metavar="NAME", help="Redact all that names a data subject."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Records with one of these; repeat it.")
    ] = None,
    types: Annotated[
        list[MemoryType] | None, typer.Option("--type", help="A memory type; repeat it.")
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Of this thread.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Of this source.")] = None,
    source_types: Annotated[
        list[SourceType] | None, typer.Option("--source-type", help="A source type; repeat it.")
    ] = None,
    before: Time = None,
    agent: Agent = None,
    org: Org = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Forget memories and plans: those named, those that meet all criteria, or a data subject.

    By criteria (--tag, --type, --thread, --source, --source-type, --before) a thousand at a time,
    each thousand a transaction. --subject NAME redacts what has NAME as subject or entity, or the
    tag subject:NAME, in the whole organisation where the role may name any agent.
    """
    chosen = options(context, dsn, as_json)
    criteria: dict[str, Any] = {
        "tags": tag, "types": [str(one) for one in types or ()], "thread": thread,
        "source": source, "source_types": [str(one) for one in source_types or ()],
        "before": before,
    }  # fmt: skip
    criteria = {name: value for name, value in criteria.items() if value}
    if [bool(ids), bool(criteria), subject is not None].count(True) != 1:
        raise CommandError("name ids, or criteria such as --tag, or --subject: one of these", USAGE)
    if subject is not None and strategy != ForgetStrategy.SOFT_DELETE:
        raise CommandError("--subject always redacts: leave --strategy out", USAGE)
    if not yes and (subject is not None or strategy in _ERASING):
        _confirm()
    with client(chosen, agent_id=agent, org_id=org) as m:
        if subject is not None:
            _forget_subject(m, subject, chosen.json)
        elif criteria:
            _forget_where(m, criteria, strategy, chosen.json)
        else:
            done = m.forget(ids or [], strategy=strategy)
            _say(len(done), str(done[0].status), [str(one.id) for one in done], chosen.json)


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise CommandError("what is erased cannot be brought back: say --yes", USAGE)
    typer.confirm("what is erased cannot be brought back: go on?", abort=True)


def _say(count: int, status: str, ids: list[str], as_json: bool) -> None:
    if as_json:
        output.print_json({"forgotten": count, "status": status, "ids": ids})
    else:
        output.say(f"{count:,} {status}")


def _forget_subject(m: Mnemo, subject: str, as_json: bool) -> None:
    erased = m.forget_subject(subject)
    if as_json:
        output.print_json({str(one.kind): one.erased for one in erased})
        return
    made = output.table("erased", "")
    for one in erased:
        output.row(made, one.kind, f"{one.erased:,}")
    output.stdout().print(made)


def _forget_where(
    m: Mnemo, criteria: dict[str, Any], strategy: ForgetStrategy, as_json: bool
) -> None:
    ids: list[str] = []
    count = 0
    status = ""
    with output.stderr().status("forgetting") as progress:
        while done := m.forget_where(criteria, strategy=strategy, limit=_BATCH):
            count += len(done)
            status = str(done[0].status)
            if as_json:
                ids += [str(one.id) for one in done]
            progress.update(f"{count:,} {status}")
    _say(count, status or "forgotten", ids, as_json)


def sweep(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Do the housekeeping: expire, purge, end grants, fold statistics, seal; meant for cron.

    A thousand records at a time, each a transaction of its own, beside any writer. What others have
    locked is left for the next run; exit code 1 when that is so. Needs level admin.
    """
    chosen = options(context, dsn, as_json)
    total = dict.fromkeys(SweepTask, 0)
    with client(chosen) as m, output.stderr().status("sweeping") as progress:
        while True:
            answer = m.sweep(limit=_BATCH)
            for one in answer:
                total[SweepTask(one.task)] += one.done
            progress.update(", ".join(f"{done:,} {task}" for task, done in total.items() if done))
            left = any(one.more for one in answer)
            if not left or not any(one.done for one in answer):
                break
    if chosen.json:
        output.print_json({**{str(task): done for task, done in total.items()}, "more": left})
    else:
        made = output.table("task", "rows")
        for task, done in total.items():
            output.row(made, task, f"{done:,}")
        output.stdout().print(made)
        if left:
            output.say("more is left: another session has it")
    if left:
        raise typer.Exit(MISS_OR_FAILURE)
