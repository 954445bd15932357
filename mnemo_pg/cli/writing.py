"""The commands that write memories: remember, update, and quarantine with what it holds back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.memories import parsed_time
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
from mnemo_pg.cli.vectors import Embedding, EmbeddingModel
from mnemo_pg.client import Mnemo
from mnemo_pg.errors import VersionConflictError
from mnemo_pg.types import (
    Judged,
    Kind,
    MemoryStatus,
    MemoryType,
    PlanStatus,
    QuarantinedRecord,
    Scope,
    SourceType,
    TemporalScope,
    UpdateStatus,
)

Id = Annotated[UUID, typer.Argument(metavar="ID", help="The record.")]
Note = Annotated[str | None, typer.Option(help="Why, kept beside the event.")]
Ttl = Annotated[
    str | None, typer.Option(metavar="TIME", help="Until it expires: 90s, 15m, 12h, 30d, 4w.")
]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeat it.")]
Importance = Annotated[float | None, typer.Option(help="From 0 to 1.")]
Metadata = Annotated[
    str | None, typer.Option(metavar="JSON", help='A JSON object, such as {"order": 17}.')
]
Fact = Annotated[str | None, typer.Option(help="Facet of the fact.", rich_help_panel="Facets")]
FactKind = Annotated[Kind | None, typer.Option(rich_help_panel="Facets")]
FactStatus = Annotated[MemoryStatus | None, typer.Option(rich_help_panel="Facets")]
FactTime = Annotated[TemporalScope | None, typer.Option(rich_help_panel="Facets")]
Entities = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Another that it mentions; repeat it.", rich_help_panel="Facets"),
]
Aliases = Annotated[
    list[str] | None,
    typer.Option("--alias", help="Another name or wording; repeat it.", rich_help_panel="Facets"),
]
Confidence = Annotated[float | None, typer.Option(help="From 0 to 1.", rich_help_panel="Facets")]
Time = Annotated[
    datetime | None,
    typer.Option(parser=parsed_time, metavar="TIME", help="Of the fact.", rich_help_panel="Facets"),
]

quarantine = typer.Typer(
    no_args_is_help=True, help="Records that the rules against poisoning hold back."
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("remember")(remember)
    app.command("update")(update)
    app.add_typer(quarantine, name="quarantine")


def _metadata(text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise CommandError(f"--metadata is not JSON: {error}", USAGE) from error
    if not isinstance(found, dict):
        raise CommandError('--metadata must be a JSON object, such as {"order": 17}', USAGE)
    return found


def _text(given: str) -> str:
    return sys.stdin.read() if given == "-" else given


def remember(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to remember; - for standard input.")
    ],
    agent: Agent = None,
    org: Org = None,
    scope: Annotated[Scope | None, typer.Option(help="Who sees it. Default: private.")] = None,
    memory_type: Annotated[
        MemoryType | None, typer.Option("--type", help="Default: episodic.")
    ] = None,
    importance: Importance = None,
    tag: Tag = None,
    metadata: Metadata = None,
    source: Annotated[SourceType | None, typer.Option(help="Default: agent.")] = None,
    source_id: Annotated[str | None, typer.Option(help="Identifier of the source.")] = None,
    thread: Annotated[str | None, typer.Option(help="Conversation or run.")] = None,
    created_by: Annotated[str | None, typer.Option(help="Who is behind the agent.")] = None,
    ttl: Ttl = None,
    kind: FactKind = None,
    subject: Fact = None,
    predicate: Fact = None,
    entity: Entities = None,
    alias: Aliases = None,
    location: Fact = None,
    confidence: Confidence = None,
    status: FactStatus = None,
    valid_from: Time = None,
    valid_to: Time = None,
    temporal_scope: FactTime = None,
    embedding: Embedding = None,
    model: EmbeddingModel = None,
    key: Annotated[str | None, typer.Option("--key", help="Idempotency key: written once.")] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Remember a text as a memory of an agent.

    Exit code 1 when a rule against poisoning holds it back: it is kept then, but nothing recalls it
    before an administrator releases it.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.remember(
            _text(text),
            scope=scope,
            memory_type=memory_type,
            importance=importance,
            tags=tag,
            metadata=_metadata(metadata),
            source_type=source,
            source_id=source_id,
            thread_id=thread,
            created_by=created_by,
            ttl=None if ttl is None else parsed_duration(ttl),
            kind=kind,
            subject=subject,
            predicate=predicate,
            entities=entity,
            aliases=alias,
            location=location,
            confidence=confidence,
            status=status,
            valid_from=valid_from,
            valid_to=valid_to,
            temporal_scope=temporal_scope,
            embedding=embedding,
            model=model,
            idempotency_key=key,
        )
    if chosen.json:
        output.print_json(answer)
    else:
        output.say(f"{answer.status} {answer.id}")
    if answer.status == PlanStatus.QUARANTINED:
        raise typer.Exit(MISS_OR_FAILURE)


def update(
    context: typer.Context,
    id: Id,
    text: Annotated[
        str | None, typer.Option(help="What it says from now on; - for standard input.")
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="Only if it has this version.")
    ] = None,
    agent: Agent = None,
    org: Org = None,
    scope: Annotated[Scope | None, typer.Option(help="Needs permission share.")] = None,
    memory_type: Annotated[MemoryType | None, typer.Option("--type")] = None,
    importance: Importance = None,
    tag: Tag = None,
    metadata: Metadata = None,
    ttl: Ttl = None,
    kind: FactKind = None,
    subject: Fact = None,
    predicate: Fact = None,
    entity: Entities = None,
    alias: Aliases = None,
    location: Fact = None,
    confidence: Confidence = None,
    status: FactStatus = None,
    valid_from: Time = None,
    valid_to: Time = None,
    temporal_scope: FactTime = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="NAME",
            help="Take away what may be missing: ttl, tags, subject, location, ...; repeat it.",
        ),
    ] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Change a memory: what is named, and nothing else.

    Where its words change, what it said before is kept as an archived version; mnemo-pg history
    shows both. Of a plan only tags, ttl and scope can be changed. Exit code 1 when --version is not
    its version, or a rule against poisoning holds it back.
    """
    chosen = options(context, dsn, as_json)
    given: dict[str, Any] = {
        "content": None if text is None else _text(text),
        "scope": scope,
        "memory_type": memory_type,
        "importance": importance,
        "tags": tag,
        "metadata": _metadata(metadata),
        "ttl": None if ttl is None else parsed_duration(ttl),
        "kind": kind,
        "subject": subject,
        "predicate": predicate,
        "entities": entity,
        "aliases": alias,
        "location": location,
        "confidence": confidence,
        "status": status,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "temporal_scope": temporal_scope,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    for name in without or []:
        changes[name] = [] if name in ("tags", "entities", "aliases") else None
    if not changes:
        raise CommandError("nothing to change: see mnemo-pg update --help", USAGE)
    with client(chosen, agent_id=agent, org_id=org) as m:
        try:
            answer = m.update_memory(id, changes, expected_version=version)
        except VersionConflictError as error:
            raise CommandError(f"{error.message}; {error.hint}") from error
    if chosen.json:
        output.print_json(answer)
    else:
        output.say(f"{answer.status}, version {answer.version}")
    if answer.status == UpdateStatus.QUARANTINED:
        raise typer.Exit(MISS_OR_FAILURE)


@quarantine.command("list")
def held(
    context: typer.Context,
    agent: Agent = None,
    org: Org = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")] = 100,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """List what is held back, newest first; exit code 1 when there is nothing.

    Administrators see what the records say, and without --agent all of the organisation.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.quarantined(limit=limit)
    if chosen.json:
        output.print_json([output.fields(one) for one in found])
    elif found:
        _show(found)
    else:
        output.say("nothing is held back")
    if not found:
        raise typer.Exit(MISS_OR_FAILURE)


def _show(found: list[QuarantinedRecord]) -> None:
    made = output.table("made", "from", "held back by", "text", "id")
    for one in found:
        said = "" if one.content is None else output.short(one.content)
        output.row(
            made,
            f"{one.created_at:%Y-%m-%d %H:%M}",
            f"{one.owner_agent_id}, {'plan' if one.is_plan else one.source_type}",
            one.reason,
            said,
            one.id,
        )
    output.stdout().print(made)


def _judge(
    context: typer.Context,
    judge: Callable[[Mnemo], Judged],
    dsn: str | None,
    as_json: bool,
    agent: str | None,
    org: str | None,
) -> None:
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = judge(m)
    if chosen.json:
        output.print_json(answer)
    else:
        output.say(f"{answer.status} {answer.id}")


@quarantine.command("release")
def release(
    context: typer.Context,
    id: Id,
    note: Note = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Let a record into recall. Needs level admin; --agent names who acts, --org whose it is."""
    _judge(context, lambda m: m.release(id, note=note), dsn, as_json, agent, org)


@quarantine.command("purge")
def purge(
    context: typer.Context,
    id: Id,
    note: Note = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Delete a record for good. Needs level admin; --agent names who acts, --org whose it is."""
    _judge(context, lambda m: m.purge(id, note=note), dsn, as_json, agent, org)
