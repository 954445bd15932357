"""The commands about the chain of events: seal, verify, history, retain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from mnemo_pg import verify as offline
from mnemo_pg.cli import output
from mnemo_pg.cli.plans import Agent, Org, parsed_duration
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
from mnemo_pg.types import ChainVerification, RetentionStatus

_PAGE = 10_000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("seal")(seal)
    app.command("verify")(verify)
    app.command("history")(history)
    app.command("retain")(retain)


def seal(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Link new events into their chains; meant for cron. Needs level admin.

    Nobody waits for it. Exit code 1 when events are left because another session is sealing them.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen) as m:
        left = m.seal(limit=_PAGE)
        while left:
            before, left = left, m.seal(limit=_PAGE)
            if left >= before:
                break
    if chosen.json:
        output.print_json({"left": left})
    else:
        output.say(f"{left:,} events are left" if left else "every event is sealed")
    if left:
        raise typer.Exit(MISS_OR_FAILURE)


def verify(
    context: typer.Context,
    agent: Annotated[str | None, typer.Option("--agent", help="The chain of this agent.")] = None,
    org: Annotated[str | None, typer.Option("--org", help="Of this organisation.")] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HEX", help="A head kept outside, to be in the chain."),
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option("--heads", metavar="FILE", help="Heads kept outside: an earlier --json."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the chains there, for --offline."),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option("--offline", metavar="FILE", help="Verify an exported file; no database."),
    ] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Verify chains of events and the records that they watch over; exit code 1 when one is broken.

    With --agent the chain of that agent, else every chain, of one organisation with --org; for
    every chain level admin is needed. What --json prints holds the heads: kept outside the
    database, and given back with --heads, it also finds a chain that was rewritten as a whole.
    """
    chosen = options(context, dsn, as_json)
    if head is not None and agent is None and from_file is None:
        raise CommandError("--head is the head of one chain: name it with --agent", USAGE)
    kept = {} if heads is None else _kept_heads(heads)
    if from_file is not None:
        _verify_file(from_file, [*([] if head is None else [head]), *kept.values()], chosen.json)
        return
    found: list[tuple[str | None, str, ChainVerification]] = []
    with client(chosen) as m:
        for owner_org, owner in _chains(m, agent, org, kept):
            wanted = head if head is not None else kept.get((owner_org or "", owner))
            answer = m.verify_chain(
                expected_head=None if wanted is None else _hex(wanted, "--head"),
                agent_id=owner,
                org_id=owner_org,
            )
            found.append((owner_org, owner, answer))
        if export is not None:
            _export(m, found, export)
    if chosen.json:
        output.print_json(
            [{"org_id": o, "agent_id": a, **output.fields(answer)} for o, a, answer in found]
        )
    else:
        _show(found)
    if not all(answer.ok for _, _, answer in found):
        raise typer.Exit(MISS_OR_FAILURE)


def _hex(text: str, option: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise CommandError(
            f"{option} must be hexadecimal digits; got {text[:100]!r}", USAGE
        ) from None


def _kept_heads(path: Path) -> dict[tuple[str, str], str]:
    try:
        listed = json.loads(path.read_text("utf-8"))
        if not isinstance(listed, list):
            raise TypeError("not a list")
        return {
            (one["org_id"], one["agent_id"]): one["head"]
            for one in listed
            if one["head"] is not None
        }
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}", USAGE) from error
    except (ValueError, TypeError, KeyError) as error:
        raise CommandError(
            f"{path} holds no heads: keep what mnemo-pg verify --json printed", USAGE
        ) from error


def _chains(
    m: Mnemo, agent: str | None, org: str | None, kept: dict[tuple[str, str], str]
) -> Iterator[tuple[str | None, str]]:
    if agent is not None:
        yield (org if org is not None else m.setting("default_org_id")), agent
        return
    listed = {(one.org_id, one.agent_id) for one in m.chain_heads(org_id=org)}
    # One that has a head outside and nothing inside any more is the worst of all.
    yield from sorted(listed | {pair for pair in kept if org in (None, pair[0])})


def _export(m: Mnemo, found: list[tuple[str | None, str, ChainVerification]], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for org, agent, _ in found:
                after = None
                while lines := m.export_chain(
                    after_seq=after, limit=_PAGE, agent_id=agent, org_id=org
                ):
                    file.writelines(f"{one.line}\n" for one in lines)
                    after = lines[-1].seq
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def _verify_file(path: Path, heads: list[str], as_json: bool) -> None:
    try:
        reports = offline.verify(offline.lines_of(str(path)), heads)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}", USAGE) from error
    if as_json:
        output.print_json([report.shown() for report in reports])
    else:
        for report in reports:
            output.say(offline.said(report))
    if not all(report.ok for report in reports):
        raise typer.Exit(MISS_OR_FAILURE)


def _show(found: list[tuple[str | None, str, ChainVerification]]) -> None:
    if not found:
        output.say("there are no chains")
        return
    made = output.table("chain", "result", "events", "records", "unsealed", "head")
    for org, agent, answer in found:
        result = "ok" if answer.ok else f"BROKEN: {_said(answer)}"
        head = "" if answer.head is None else f"{answer.head_seq}: {answer.head.hex()}"
        output.row(made, f"{org}/{agent}", result, answer.checked, answer.records,
                   answer.unsealed, head)  # fmt: skip
    output.stdout().print(made)


def _said(answer: ChainVerification) -> str:
    parts = [str(answer.reason), answer.detail, answer.first_bad_id]
    return ", ".join(str(part) for part in parts if part is not None)


def history(
    context: typer.Context,
    record: Annotated[UUID, typer.Argument(metavar="ID", help="Id of a memory or a plan.")],
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show the events of a record and of the versions that it replaced, oldest first."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.history(record)
    if chosen.json:
        output.print_json([output.fields(one) for one in found])
        return
    made = output.table("when", "event", "actor", "changes", "note", "seq")
    for one in found:
        changes = ", ".join(f"{k} {json.dumps(v, ensure_ascii=False)}"
                            for k, v in one.changes.items() if v is not None)  # fmt: skip
        output.row(made, f"{one.happened_at:%Y-%m-%d %H:%M:%S}", one.event_type,
                   one.actor_agent_id, changes, one.note or "",
                   "" if one.seq is None else one.seq)  # fmt: skip
    output.stdout().print(made)


def retain(
    context: typer.Context,
    older_than: Annotated[
        timedelta,
        typer.Option(
            "--older-than", parser=parsed_duration, metavar="DURATION",
            help="Events older than this go: 365d, 52w.",
        ),
    ],
    org: Annotated[str | None, typer.Option("--org", help="Of one organisation only.")] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Remove old sealed events; chains keep an anchor and verify on. Needs level admin.

    Exit code 1 when a chain does not verify: it is left as it is.
    """
    chosen = options(context, dsn, as_json)
    before = datetime.now(UTC) - older_than
    removed = carried = 0
    broken: dict[tuple[str, str], Any] = {}
    with client(chosen) as m:
        while True:
            answers = m.retain_events(before, limit=_PAGE, org_id=org)
            done = [one for one in answers if one.status == RetentionStatus.REMOVED]
            broken |= {(one.org_id, one.agent_id): one for one in answers if one not in done}
            removed += sum(one.removed for one in done)
            carried += sum(one.carried for one in done)
            if not done:
                break
    if chosen.json:
        output.print_json({
            "removed": removed, "carried": carried,
            "broken": [output.fields(one) for one in broken.values()],
        })  # fmt: skip
    else:
        output.say(f"{removed:,} events removed, {carried:,} records carried over")
        for (owner_org, owner), one in sorted(broken.items()):
            output.say(f"{owner_org}/{owner} is BROKEN and left as it is: {one.reason}")
    if broken:
        raise typer.Exit(MISS_OR_FAILURE)
