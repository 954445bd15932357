"""Commands for administrators: health, rebuild, stats."""

from __future__ import annotations

import typer
from psycopg.rows import dict_row

from mnemo_pg.cli import output
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, connected, options

_STATS = (
    "SELECT org_id, agents, memories, plans, quarantined, expired, deleted, grants, events,"
    " unsealed_events, first_written_at, last_written_at FROM mnemo.stats ORDER BY org_id"
)
_BATCH = 1_000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("health")(health)
    app.command("rebuild")(rebuild)
    app.command("stats")(stats)


def health(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Check the installation: roles, derived data, upkeep. Exit code 1 when something is wrong.

    Reads every record and changes nothing. Needs level admin.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen) as m:
        checks = m.health()
    if chosen.json:
        output.print_json([output.fields(check) for check in checks])
    else:
        table = output.table("check", "", "detail")
        for check in checks:
            output.row(table, check.name, "ok" if check.ok else "look", check.detail)
        output.stdout().print(table)
    if not all(check.ok for check in checks):
        raise typer.Exit(MISS_OR_FAILURE)


def rebuild(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Derive anew what plans are matched on, where it is faulty (see health). Needs level admin."""
    chosen = options(context, dsn, as_json)
    calls = 0
    with client(chosen) as m:
        while m.rebuild_signatures(limit=_BATCH):
            calls += 1
            if not chosen.json:
                output.say(f"{calls * _BATCH:,} plans rebuilt")
    if chosen.json:
        output.print_json({"left": 0})
    else:
        output.say("every plan can be matched as its payload says")


def stats(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Show how much each organisation holds, counted now. Needs level admin.

    The view `mnemo.agent_stats` has the same for each agent.
    """
    chosen = options(context, dsn, as_json)
    with connected(chosen) as conn, conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(_STATS).fetchall()
    if chosen.json:
        output.print_json(rows)
        return
    table = output.table(*(name.replace("_", " ") for name in rows[0])) if rows else None
    if table is None:
        output.say("nothing is stored")
        return
    for row in rows:
        output.row(table, *(_shown(value) for value in row.values()))
    output.stdout().print(table)


def _shown(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
