"""Commands on memories: recall."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.plans import Agent, Org
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, options
from mnemo_pg.cli.vectors import Embedding, EmbeddingModel
from mnemo_pg.types import MemoryType, RecalledMemory, RecallStrategy, Scope, SourceType


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("recall")(recall)


def parsed_time(text: str) -> datetime:
    """A time of the command line, of UTC when it names no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"no time: {text!r}; write 2026-01-31 or 2026-01-31T09:30+02:00"
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def parsed_weight(text: str) -> tuple[str, float]:
    """A lane and its weight, as lane=number."""
    lane, _, number = text.partition("=")
    try:
        return lane, float(number)
    except ValueError:
        raise typer.BadParameter(f"no weight: {text!r}; write lexical=1") from None


Time = Annotated[
    datetime | None,
    typer.Option(parser=parsed_time, metavar="TIME", help="2026-01-31, or with a time of day."),
]


def recall(
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="Words to look for.")
    ] = None,
    strategy: Annotated[
        RecallStrategy, typer.Option(help="How memories are found and ordered.")
    ] = RecallStrategy.HYBRID,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")] = 10,
    agent: Agent = None,
    org: Org = None,
    types: Annotated[
        list[MemoryType] | None, typer.Option("--type", help="A memory type; repeat it.")
    ] = None,
    scope: Annotated[Scope | None, typer.Option(help="This scope only.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeat it.")] = None,
    all_tags: Annotated[
        bool, typer.Option("--all-tags", help="Every --tag, not one of them.")
    ] = False,
    source: Annotated[
        list[SourceType] | None, typer.Option("--source", help="A source type; repeat it.")
    ] = None,
    thread: Annotated[str | None, typer.Option(help="This thread only.")] = None,
    min_importance: Annotated[
        float | None, typer.Option("--min-importance", help="Least importance, 0 to 1.")
    ] = None,
    since: Time = None,
    until: Time = None,
    as_of: Time = None,
    embedding: Embedding = None,
    model: EmbeddingModel = None,
    weight: Annotated[
        list[Any] | None,
        typer.Option(
            parser=parsed_weight,
            metavar="LANE=NUMBER",
            help="Weight of a lane of strategy hybrid: lexical, semantic, recency; repeat it.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts of each score.")
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Recall memories, best first; exit code 1 when there is none.

    Only those that the acting agent may read. --since is inclusive, --until exclusive; --as-of
    leaves out what was written later.
    """  # fmt: skip
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.recall(
            query, limit=limit, strategy=strategy, types=types, scope=scope, tags=tag,
            tags_all=all_tags or None, min_importance=min_importance, thread_id=thread,
            source_types=source, since=since, until=until, as_of=as_of,
            weights=dict(weight) if weight else None, embedding=embedding, model=model,
        )  # fmt: skip
    if chosen.json:
        output.print_json([output.fields(memory) for memory in found])
    elif found:
        show(found, explain=explain)
    else:
        output.say("nothing found")
    if not found:
        raise typer.Exit(MISS_OR_FAILURE)


def show(found: list[RecalledMemory], *, explain: bool) -> None:
    """Memories, for people."""
    columns = ["", "score", "memory", "from", "made", "id"] + (["because"] if explain else [])
    made = output.table(*columns)
    for memory in found:
        cells = [
            memory.rank, f"{memory.score:.4g}", output.short(memory.content),
            f"{memory.owner_agent_id}, {memory.scope}", f"{memory.created_at:%Y-%m-%d %H:%M}",
            memory.id,
        ]  # fmt: skip
        output.row(made, *cells, *([parts(memory.explanation)] if explain else []))
    output.stdout().print(made)


def parts(explanation: dict[str, Any]) -> str:
    """The parts of a score in one line, the largest first."""

    def listed(numbers: dict[str, float]) -> str:
        ordered = sorted(numbers.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {number:.3g}" for name, number in ordered)

    if "terms" in explanation:
        return listed(explanation["terms"])
    if "similarity" in explanation:
        return f"similarity {explanation['similarity']:.4g}"
    if "lanes" not in explanation:
        return f"{explanation['age_hours']:g} hours old"
    said = []
    for name, lane in sorted(explanation["lanes"].items()):
        why = f": {listed(lane['terms'])}" if "terms" in lane else ""
        said.append(f"{name} rank {lane['rank']}, {lane['contribution']:.4g}{why}")
    return "; ".join(said)
