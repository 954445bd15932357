"""Commands on retrieval plans: retrieve and memory-map."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.memories import Time
from mnemo_pg.cli.plans import Agent, Org
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, options
from mnemo_pg.cli.vectors import Embedding, EmbeddingModel
from mnemo_pg.retrieval import RetrievalPlan, TemporalWindow
from mnemo_pg.types import (
    Kind,
    RetrievalExplanation,
    RetrievalTemporal,
    RetrievalVerdict,
    RetrievedMemory,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("retrieve")(retrieve)
    app.command("memory-map")(memory_map)


def retrieve(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was said or asked.")],
    about: Annotated[
        str | None, typer.Option(metavar="WHOM", help="Hint: whom or what it is about.")
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(metavar="NAME", help="Hint: what of it, such as food_allergy.")
    ] = None,
    kind: Annotated[
        list[Kind] | None,
        typer.Option(
            "--kind", metavar="KIND", help=f"This kind only; repeat it. One of: {', '.join(Kind)}."
        ),
    ] = None,
    since: Time = None,
    until: Time = None,
    temporal: Annotated[
        RetrievalTemporal | None,
        typer.Option(
            help="Put what lies in the time first, or leave the rest out."
            " Default: filter with --since or --until, else prefer."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")] = 5,
    agent: Agent = None,
    org: Org = None,
    embedding: Embedding = None,
    model: EmbeddingModel = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the plan, the parts of each score, near misses.")
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Retrieve what memory knows about a text; exit code 1 when it knows nothing.

    The text becomes a retrieval plan. Hints put first what they match and leave nothing out; --kind
    does. --since is inclusive, --until exclusive, of when something became valid.
    """
    chosen = options(context, dsn, as_json)
    if temporal is None:
        bounded = since is not None or until is not None
        temporal = RetrievalTemporal.FILTER if bounded else RetrievalTemporal.PREFER
    rules: dict[str, Any] = {
        "limit": limit, "temporal": temporal, "embedding": embedding, "model": model,
    }  # fmt: skip
    with client(chosen, agent_id=agent, org_id=org) as m:
        plan = m.normalize_plan(
            completed(
                m.plan_retrieval(text),
                text,
                subject_hint=about,
                predicate_hint=attribute,
                kind_filter=tuple(kind) if kind else None,
                temporal=window(since, until),
            )
        )
        for warning in plan.warnings:
            output.note(warning.removeprefix("$."))
        compared = m.explain_retrieval(plan, **rules) if explain else []
        found = [] if explain else m.retrieve(plan, **rules)
    answered = any(one.verdict == RetrievalVerdict.RETURNED for one in compared) or bool(found)
    if chosen.json:
        output.print_json([output.fields(one) for one in (compared if explain else found)])
    elif explain:
        show_plan(plan)
        show_compared(compared)
    elif found:
        show_found(found)
    elif plan.requires_memory:
        output.say("nothing found")
    else:
        output.say("nothing to look for: no topic and no known name in it")
    if not answered:
        raise typer.Exit(MISS_OR_FAILURE)


def window(since: datetime | None, until: datetime | None) -> TemporalWindow | None:
    """The time of the options."""
    if since is None and until is None:
        return None
    return TemporalWindow(after=since, before=until)


def completed(plan: RetrievalPlan, text: str, **given: Any) -> RetrievalPlan:
    """The plan of a text with what the options say instead; whoever says something searches."""
    fields = {name: value for name, value in given.items() if value is not None}
    if fields and not plan.requires_memory:
        plan = RetrievalPlan.search(text)
    return replace(plan, **fields)


def memory_map(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Names a line at most.")] = 40,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show whom and what memory is about, most frequent first; exit code 1 when it is empty.

    The two lines are made for a language model, which names hints better when it has seen them.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        shown = m.memory_map(limit=limit)
    if chosen.json:
        output.print_json({"memory_map": shown})
    else:
        output.say(shown or "nothing is remembered with a subject or an attribute")
    if not shown:
        raise typer.Exit(MISS_OR_FAILURE)


def show_found(found: list[RetrievedMemory]) -> None:
    """Facts, for people."""
    made = output.table("", "score", "memory")
    for one in found:
        output.row(made, one.rank, f"{one.score:.4f}", said(one, str(one.id)))
    output.stdout().print(made)


def said(one: RetrievedMemory | RetrievalExplanation, more: str) -> str:
    """What a memory says, what it is about, and what else there is, a line each: the lines of a
    narrow terminal are long enough for an id."""
    since = "" if one.valid_from is None else f"{one.valid_from:%Y-%m-%d}"
    facets = {"about": one.subject, "attribute": one.predicate, "kind": one.kind, "since": since}
    named = ", ".join(f"{name} {value}" for name, value in facets.items() if value)
    return "\n".join(filter(None, (output.short(one.content), named, more)))


def show_plan(plan: RetrievalPlan) -> None:
    """What is looked for, for people: what the plan says and no more."""
    times = plan.temporal or TemporalWindow()
    shown = {
        "intent": f"{plan.intent}, confidence {plan.confidence:g}",
        "names": ", ".join(" = ".join(entity.forms) for entity in plan.entities),
        "topics": ", ".join(plan.topics),
        "queries": " | ".join(plan.lexical_queries),
        "attributes": ", ".join(plan.predicates),
        "kinds": ", ".join(plan.scopes),
        "only kinds": ", ".join(plan.kind_filter),
        "about": plan.subject_hint,
        "attribute": plan.predicate_hint,
        "time": times.label,
        "from": times.after,
        "before": times.before,
    }
    output.stdout().print(output.facts((name, value) for name, value in shown.items() if value))


def show_compared(compared: list[RetrievalExplanation]) -> None:
    """What was returned and what fell, for people."""
    if not compared:
        output.say("nothing comes near")
        return
    made = output.table("", "score", "verdict", "memory")
    for one in compared:
        score = "" if one.score is None else f"{one.score:.4f}"
        output.row(made, one.rank, score, one.verdict, said(one, parts(one.explanation)))
    output.stdout().print(made)


def parts(explanation: dict[str, Any] | None) -> str:
    """The parts of a score in one line: contributions, the largest first, then factors."""
    given = explanation or {}
    rankings = sorted(
        given.get("rankings", {}).items(), key=lambda item: -item[1]["contribution"]
    )  # fmt: skip
    listed = [f"{name} rank {one['rank']}, {one['contribution']:.4f}" for name, one in rankings]
    listed += [f"{name} x{by:.3g}" for name, by in given.get("boosts", {}).items() if by != 1]
    return "; ".join(listed)
