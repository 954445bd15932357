"""The commands `mnemo-pg plans`: what plans there are, how they fare, and what ends them."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.chain import history
from mnemo_pg.cli.plans import Agent, Org
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, Options, client, options
from mnemo_pg.types import Plan, Scope

PlanId = Annotated[UUID, typer.Argument(metavar="ID", help="Id of a plan.")]
Note = Annotated[str | None, typer.Option("--note", help="Why; kept with the event.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")]
After = Annotated[
    UUID | None, typer.Option("--after", metavar="ID", help="The last id of the page before.")
]

plans = typer.Typer(
    no_args_is_help=True, help="List plans, see how they fare, retire, revive, invalidate."
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    plans.command("list")(list_plans)
    plans.command("show")(show)
    plans.command("history")(history)
    plans.command("outcomes")(outcomes)
    plans.command("report")(report)
    plans.command("retire")(retire)
    plans.command("revive")(revive)
    plans.command("promote")(promote)
    plans.command("invalidate")(invalidate)
    plans.command("revalidate")(revalidate)
    plans.command("duplicates")(duplicates)
    plans.command("failures")(failures)
    app.add_typer(plans, name="plans")


def _listed(chosen: Options, found: list[Any]) -> bool:
    """Print a list for machines; whether that was asked for. Exit code 1 for an empty one."""
    if chosen.json:
        output.print_json([output.fields(one) for one in found])
    elif not found:
        output.say("none")
    if not found:
        raise typer.Exit(MISS_OR_FAILURE)
    return chosen.json


def _fare(plan: Plan) -> str:
    if plan.retired:
        return "retired"
    return f"{plan.successes} of {plan.uses} worked" if plan.uses else "no report"


def list_plans(
    context: typer.Context,
    limit: Limit = 50,
    after: After = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """List the plans that the agent may read, newest first; exit code 1 for none."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.list_plans(limit=limit, after=after)
    if _listed(chosen, found):
        return
    made = output.table("plan", "standing", "fares", "scope", "owner", "made", "question")
    made.columns[0].no_wrap = True
    for one in found:
        output.row(made, one.id, f"{one.standing:.2f}", _fare(one), one.scope, one.owner_agent_id,
                   f"{one.created_at:%Y-%m-%d}", output.short(one.query))  # fmt: skip
    output.stdout().print(made)


def show(
    context: typer.Context,
    plan: PlanId,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show a plan: its question, steps and chunks, and how it fares."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.get_plan(plan)
    if chosen.json:
        output.print_json(found)
        return
    last = found.last_reported_at
    told = "" if last is None else f", last {last:%Y-%m-%d %H:%M}: " + (
        "worked" if found.last_success else "did not"
    )  # fmt: skip
    output.stdout().print(
        output.facts(
            [
                ("query", found.query),
                ("plan", f"{found.id}, version {found.version}"),
                ("owner", f"{found.owner_agent_id} ({found.origin_org_id}), {found.scope}"),
                ("fares", f"standing {found.standing:.2f}, {_fare(found)}{told}"),
                ("score", f"{found.outcome_score:g}"),
                ("context", found.context or ""),
                ("made", f"{found.created_at:%Y-%m-%d %H:%M}"),
                ("ends", "" if found.expires_at is None else f"{found.expires_at:%Y-%m-%d %H:%M}"),
                ("chunks", ", ".join(found.chunk_ids)),
            ]
        )
    )
    for number, step in enumerate(found.steps, start=1):
        output.say(f"  {number}. {step}")


def outcomes(
    context: typer.Context,
    plan: PlanId,
    limit: Limit = 50,
    after: After = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show what agents of the organisation reported about a plan, newest first."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.plan_outcomes(plan, limit=limit, after=after)
    if _listed(chosen, found):
        return
    made = output.table("when", "agent", "", "score", "counts", "note")
    for one in found:
        output.row(made, f"{one.reported_at:%Y-%m-%d %H:%M}", one.agent_id,
                   "worked" if one.success else "failed", f"{one.score:g}",
                   "yes" if one.counts else "no", output.short(one.note or ""))  # fmt: skip
    output.stdout().print(made)


def report(
    context: typer.Context,
    plan: PlanId,
    worked: Annotated[bool, typer.Option("--worked/--failed", help="How the replay went.")],
    score: Annotated[
        float | None, typer.Option("--score", help="How well, 0 to 1. Default: 1 or 0.")
    ] = None,
    note: Note = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Report how the replay of a plan went."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.record_plan_outcome(plan, worked, score=score, note=note)
    if chosen.json:
        output.print_json(found)
        return
    retired = ", retired" if found.retired else ""
    output.say(f"{found.successes} of {found.uses} worked, standing {found.standing:.2f}{retired}")


def _said(chosen: Options, answer: Any, text: str) -> None:
    if chosen.json:
        output.print_json(answer)
    else:
        output.say(text)


def retire(
    context: typer.Context,
    plan: PlanId,
    note: Note = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Replay a plan no more; it stays listed and can be revived. Needs permission write."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.retire_plan(plan, note=note)
    _said(chosen, answer, str(answer.status))


def revive(
    context: typer.Context,
    plan: PlanId,
    note: Note = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Replay a retired plan again; earlier reports count no more. Needs permission write."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.revive_plan(plan, note=note)
    _said(chosen, answer, str(answer.status))


def promote(
    context: typer.Context,
    plan: PlanId,
    scope: Annotated[Scope, typer.Option("--scope", help="Who may see it from now on.")],
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Let more agents replay a plan: shared or public."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.promote_plan(plan, scope)
    _said(chosen, answer, f"{answer.status}: {answer.scope}")


def invalidate(
    context: typer.Context,
    chunk: Annotated[list[str], typer.Argument(metavar="CHUNK...", help="Ids of chunks.")],
    source: Annotated[str, typer.Option("--source", help="Where the ids come from.")] = "",
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why; kept with the event.")
    ] = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Say that chunks changed or went: plans that cite one of them are stale from now on."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.invalidate_chunks(chunk, source=source, reason=reason)
    of = f" of source {answer.source}" if answer.source else ""
    chunks = "the chunk" if answer.chunks == 1 else f"any of {answer.chunks:,} chunks"
    _said(chosen, answer, f"plans that cite {chunks}{of} are stale")


def revalidate(
    context: typer.Context,
    plan: PlanId,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Say that a stale plan is right all the same. Needs permission write."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        answer = m.revalidate_plan(plan)
    _said(chosen, answer, "fresh again" if answer.was_stale else "it was not stale")


def duplicates(
    context: typer.Context,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Least similarity. Default: the setting.")
    ] = None,
    limit: Limit = 100,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """List pairs of the agent's own plans that are like each other; exit code 1 for none."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.duplicate_plans(threshold=threshold, limit=limit)
    if _listed(chosen, found):
        return
    made = output.table("similarity", "plan", "question", "like", "its question", "guard")
    for one in found:
        output.row(made, f"{one.similarity:.2f}", one.id, output.short(one.query), one.other_id,
                   output.short(one.other_query),
                   output.short("; ".join(one.guard_differences)))  # fmt: skip
    output.stdout().print(made)


def failures(
    context: typer.Context,
    limit: Limit = 50,
    after: After = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """List what not to do, newest first; exit code 1 for none."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        found = m.list_failures(limit=limit, after=after)
    if _listed(chosen, found):
        return
    made = output.table("id", "scope", "owner", "made", "question", "why")
    for one in found:
        output.row(made, one.id, one.scope, one.owner_agent_id, f"{one.created_at:%Y-%m-%d}",
                   output.short(one.query), output.short(one.reason))  # fmt: skip
    output.stdout().print(made)
