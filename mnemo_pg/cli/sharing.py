"""The commands about sharing: share, unshare, delegate, delegations, revoke-delegation."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.plans import Agent, Org, parsed_duration
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, options
from mnemo_pg.types import Delegation, DelegationDirection, DelegationStatus, Permission

Record = Annotated[UUID, typer.Argument(metavar="ID", help="A memory or a plan.")]
Allowed = Annotated[Permission, typer.Option(help="Each covers those before it.")]
Ttl = Annotated[
    timedelta | None,
    typer.Option(parser=parsed_duration, metavar="DURATION", help="It ends after 12h, 7d, 2w."),
]
_PAGE = 1000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("share")(share)
    app.command("unshare")(unshare)
    app.command("delegate")(delegate)
    app.command("delegations")(delegations)
    app.command("revoke-delegation")(revoke_delegation)


def share(
    context: typer.Context,
    record: Record,
    to: Annotated[list[str], typer.Argument(metavar="AGENT...", help="Whom to give it.")],
    permission: Allowed = Permission.READ,
    ttl: Ttl = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Give agents of the organisation a permission on a record; a private one becomes shared."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        grants = m.share(record, to, permission=permission, ttl=ttl)
    if chosen.json:
        output.print_json([output.fields(grant) for grant in grants])
        return
    for grant in grants:
        output.say(f"{grant.agent_id} may {grant.permission}{_until(grant.expires_at)}")


def unshare(
    context: typer.Context,
    record: Record,
    others: Annotated[list[str], typer.Argument(metavar="AGENT...", help="Whom to take it from.")],
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Take grants on a record back; exit code 1 when none of the agents had one."""
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        taken = m.unshare(record, others)
    if chosen.json:
        output.print_json([output.fields(one) for one in taken])
    else:
        for one in taken:
            output.say(f"{one.agent_id}: {one.status}")
    if not any(one.status == "removed" for one in taken):
        raise typer.Exit(MISS_OR_FAILURE)


def delegate(
    context: typer.Context,
    to: Annotated[str, typer.Argument(metavar="AGENT", help="Whom to give it.")],
    ids: Annotated[
        list[UUID] | None, typer.Argument(metavar="[ID]...", help="On these records only.")
    ] = None,
    permission: Allowed = Permission.READ,
    tag: Annotated[str | None, typer.Option("--tag", help="On records with this tag.")] = None,
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", help="How many times it may be passed on.")
    ] = 0,
    ttl: Ttl = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Hand a permission on: on records, on a tag, or on all that the acting agent may share.

    Private records stay private, but those that are named become shared. Prints the id for
    revoke-delegation.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        made = m.delegate(
            to, permission=permission, ids=ids or None, tag=tag, max_depth=depth, ttl=ttl
        )
    if chosen.json:
        output.print_json({"id": made})
    else:
        output.say(f"delegated: {made}")


def delegations(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that have ended too.")] = False,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show what the agent delegated and what was delegated to it; exit code 1 when nothing is."""
    chosen = options(context, dsn, as_json)
    found: list[Delegation] = []
    with client(chosen, agent_id=agent, org_id=org) as m:
        page = m.delegations(limit=_PAGE)
        while page:
            found += [d for d in page if every or d.status == DelegationStatus.ACTIVE]
            page = m.delegations(limit=_PAGE, after=page[-1].id) if len(page) == _PAGE else []
    if chosen.json:
        output.print_json([output.fields(one) for one in found])
    elif found:
        _show(found)
    else:
        output.say("no delegations")
    if not found:
        raise typer.Exit(MISS_OR_FAILURE)


def revoke_delegation(
    context: typer.Context,
    delegation: Annotated[UUID, typer.Argument(metavar="ID", help="As delegations shows it.")],
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """End a delegation that the agent gave or holds, and all that was passed on from it.

    Exit code 1 when it had been revoked before.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen, agent_id=agent, org_id=org) as m:
        ended = m.revoke_delegation(delegation)
    if chosen.json:
        output.print_json({"ended": ended})
    else:
        output.say(f"ended {ended:,}, those passed on included" if ended else "already revoked")
    if not ended:
        raise typer.Exit(MISS_OR_FAILURE)


def _until(ends: datetime | None) -> str:
    return "" if ends is None else f" until {ends:%Y-%m-%d %H:%M} UTC"


def _show(found: list[Delegation]) -> None:
    """Delegations, for people."""
    made = output.table("", "agent", "may", "what", "depth", "until", "id")
    for one in found:
        given = one.direction == DelegationDirection.GIVEN
        what = f"{len(one.memory_ids)} records" if one.memory_ids else f"tag {one.tag}"
        ends = "" if one.expires_at is None else f"{one.expires_at:%Y-%m-%d %H:%M}"
        output.row(
            made, "to" if given else "from", one.to_agent_id if given else one.from_agent_id,
            one.permission, what if one.memory_ids or one.tag else "all", one.max_depth,
            ends if one.status == DelegationStatus.ACTIVE else one.status, one.id,
        )  # fmt: skip
    output.stdout().print(made)
