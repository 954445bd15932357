"""Commands on single plans: remember-plan and recall-plan."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, options
from mnemo_pg.cli.vectors import Embedding, EmbeddingModel
from mnemo_pg.importer import parse_duration
from mnemo_pg.types import (
    ExplanationVerdict,
    Guard,
    PlanExplanation,
    PlanMatch,
    PlanStatus,
    RecallReason,
    Scope,
)

Agent = Annotated[str | None, typer.Option("--agent", help="Acting agent.")]
Org = Annotated[str | None, typer.Option("--org", help="Its organisation.")]
Context = Annotated[
    str | None,
    typer.Option("--context", help="What the plan depends on (a tool set, a model version)."),
]

_REASONS = {
    RecallReason.NONE_SIMILAR: "no visible plan is similar enough",
    RecallReason.GUARDED: "a similar plan differs in something that decides the question",
    RecallReason.STALE: "a plan would do, but a chunk that it cites changed",
    RecallReason.DISABLED: (
        "experience memory is off; turn it on: mnemo-pg init --experience-memory on"
    ),
    RecallReason.BLANK_QUERY: "the query is blank",
}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("remember-plan")(remember_plan)
    app.command("recall-plan")(recall_plan)


def parsed_duration(text: str) -> timedelta:
    """A duration of the command line."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _details(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--details") from None
    if not isinstance(value, list):
        raise typer.BadParameter(
            "must be a JSON array with one value a step", param_hint="--details"
        )
    return value


def remember_plan(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question that was answered.")],
    step: Annotated[list[str], typer.Option("--step", help="A step; repeat it, in order.")],
    score: Annotated[float, typer.Option("--score", help="How well it went, 0 to 1.")],
    chunk: Annotated[
        list[str] | None, typer.Option("--chunk", help="Id of a chunk that was used; repeat it.")
    ] = None,
    agent: Agent = None,
    org: Org = None,
    scope: Annotated[Scope, typer.Option(help="Who may see it.")] = Scope.PRIVATE,
    plan_context: Context = None,
    ttl: Annotated[
        timedelta | None,
        typer.Option(
            parser=parsed_duration, metavar="DURATION", help="Forget it after 12h, 7d, 2w."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeat it.")] = None,
    details: Annotated[
        str | None, typer.Option(metavar="JSON", help="A JSON array, one value a step.")
    ] = None,
    embedding: Embedding = None,
    model: EmbeddingModel = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Remember a plan that worked.

    Below the success threshold nothing is kept, and that is said; it is no failure.
    """
    chosen = options(context, dsn, as_json)
    values = _details(details)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.remember_plan(
            query,
            step,
            chunk or [],
            score,
            scope=scope,
            context=plan_context,
            ttl=ttl,
            tags=tag,
            details=values,
            embedding=embedding,
            model=model,
        )
    if chosen.json:
        output.print_json(answer)
        return
    said = {
        PlanStatus.STORED: f"stored {answer.id}",
        PlanStatus.REPEATED: f"stored before as {answer.id}",
        PlanStatus.BELOW_THRESHOLD: f"not kept: score {score:g} is below the success threshold",
        PlanStatus.QUARANTINED: f"held back as {answer.id} until an administrator releases it",
    }
    output.say(said.get(PlanStatus(answer.status), str(answer.status)))
    output.say(f"signature: {answer.signature}")


def recall_plan(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question to find a plan for.")],
    agent: Agent = None,
    org: Org = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Least similarity. Default: the database's setting."),
    ] = None,
    plan_context: Context = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Show the best N plans.", metavar="N")
    ] = None,
    guard: Annotated[
        Guard | None,
        typer.Option(help="Differences that forbid a replay. Default: the database's setting."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the nearest plans, each with its verdict.")
    ] = False,
    embedding: Embedding = None,
    model: EmbeddingModel = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Recall the best plan for a question; exit code 1 when there is none.

    --json prints an array with --limit (empty on a miss) and with --explain.
    """
    chosen = options(context, dsn, as_json)
    if explain and limit is not None:
        raise typer.BadParameter("--explain shows all that was compared", param_hint="--limit")
    rules: dict[str, Any] = {
        "similarity_threshold": threshold,
        "guard": guard,
        "context": plan_context,
        "embedding": embedding,
        "model": model,
    }
    if explain:
        with client(chosen, agent_id=agent, org_id=org) as m:
            compared = m.explain_recall_plan(query, **rules)
        if chosen.json:
            output.print_json([output.fields(one) for one in compared])
        else:
            show_explanations(compared)
        if not any(one.verdict == ExplanationVerdict.REPLAYED for one in compared):
            raise typer.Exit(MISS_OR_FAILURE)
        return
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = [] if limit is None else m.recall_plans(query, limit=limit, **rules)
        # A miss of several has no reason of its own.
        best = found[0] if found else m.recall_plan(query, **rules)
        if limit is None and best.hit:
            found = [best]
    if chosen.json:
        output.print_json(best if limit is None else [output.fields(match) for match in found])
    elif found:
        for position, match in enumerate(found):
            if position:
                output.say("")
            show_plan(match)
    else:
        show_miss(best)
    if not found:
        raise typer.Exit(MISS_OR_FAILURE)


def show_plan(match: PlanMatch) -> None:
    """A hit, for people."""
    console = output.stdout()
    rank = f"{match.rank}. " if match.rank is not None else ""
    made = f"{match.created_at:%Y-%m-%d %H:%M}" if match.created_at is not None else ""
    pairs: list[tuple[str, object]] = [
        (f"{rank}hit", f"similarity {match.similarity:.2f} ({match.reason})"),
        ("query", match.query),
        ("plan", match.id),
        ("from", f"{match.owner_agent_id}, {match.scope}, score {match.outcome_score:g}, {made}"),
        ("chunks", ", ".join(match.chunk_ids)),
    ]
    console.print(output.facts(pairs))
    for number, step in enumerate(match.steps, start=1):
        output.say(f"  {number}. {step}")
        if match.details is not None and number <= len(match.details):
            output.say(f"     {json.dumps(match.details[number - 1], ensure_ascii=False)}")


def show_miss(match: PlanMatch) -> None:
    """A miss with its reason, for people."""
    why = _REASONS.get(RecallReason(match.reason), str(match.reason))
    if match.stale and (near := match.near_miss):
        why = (
            f'"{output.short(near["query"])}" (similarity {near["similarity"]:.2f}) cites what'
            f" changed: {output.short(', '.join(near['changed_chunks']))}; plan {near['id']}"
        )
    elif match.reason == RecallReason.RETIRED and (near := match.near_miss):
        why = (
            f'"{output.short(near["query"])}" (similarity {near["similarity"]:.2f}) is retired;'
            f" plan {near['id']}"
        )
    elif match.reason == RecallReason.AMBIGUOUS and (near := match.near_miss):
        why = (
            f'"{output.short(near["query"])}" (cosine {near["similarity"]:.2f}) and'
            f' "{output.short(near["rival"]["query"])}" ({near["rival"]["similarity"]:.2f}) are'
            f" about as near; plans {near['id']} and {near['rival']['id']}"
        )
    elif near := match.near_miss:
        differences = "; ".join(near["differences"])
        why = (
            f'"{output.short(near["query"])}" (similarity {near["similarity"]:.2f}) is refused:'
            f" {output.short(differences)}; plan {near['id']}"
        )
    output.say(f"miss ({match.reason}): {why}")


def show_explanations(compared: list[PlanExplanation]) -> None:
    """Which plans were compared and what came of it, for people."""
    if compared[0].id is None:
        reason = RecallReason(compared[0].verdict)
        why = {**_REASONS, RecallReason.NONE_SIMILAR: "no visible plan comes near"}[reason]
        output.say(f"nothing to compare ({reason}): {why}")
        return
    output.say(f"a replay needs a similarity of {compared[0].threshold:g}")
    made = output.table("", "similarity", "verdict", "stored", "only asked", "only stored", "guard")
    for one in compared:
        output.row(
            made,
            one.rank,
            f"{one.similarity:.2f}" + (f" (cosine {one.cosine:.2f})" if one.cosine else ""),
            one.verdict,
            output.short(one.query or ""),
            output.short(" ".join(one.only_asked)),
            output.short(" ".join(one.only_stored)),
            output.short("; ".join(one.guard_differences)),
        )
    output.stdout().print(made)
