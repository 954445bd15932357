"""Commands for administrators: health, rebuild, stats."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import typer
from psycopg.rows import dict_row

from mnemo_pg.cli import output
from mnemo_pg.cli.plans import parsed_duration
from mnemo_pg.cli.session import MISS_OR_FAILURE, Dsn, Json, client, connected, options

_STATS = (
    "SELECT org_id, agents, memories, plans, quarantined, expired, deleted, grants, events,"
    " unsealed_events, first_written_at, last_written_at FROM mnemo.stats ORDER BY org_id"
)
_MISSES = (
    "none_similar", "guarded", "stale", "retired", "ambiguous", "disabled", "blank_query",
)  # fmt: skip
_RECALLS = """
SELECT org_id, date_trunc('day', hour, 'UTC') AS day, sum(recalls)::bigint AS recalls,
       sum(hits)::bigint AS hits, sum(none_similar)::bigint AS none_similar,
       sum(guarded)::bigint AS guarded, sum(stale)::bigint AS stale,
       sum(retired)::bigint AS retired, sum(ambiguous)::bigint AS ambiguous,
       sum(disabled)::bigint AS disabled, sum(blank_query)::bigint AS blank_query,
       max(max_duration_ms) AS max_duration_ms
  FROM mnemo.recall_stats
 WHERE hour >= now() - %(since)s
 GROUP BY org_id, day
 ORDER BY org_id, day
"""
_PLANS = (
    "SELECT org_id, owner_agent_id AS owner, id, value, standing, uses, hits, retired, stale,"
    " last_used_at, query FROM mnemo.plan_value"
)
_VALUABLE = f"{_PLANS} WHERE NOT retired ORDER BY value DESC, id LIMIT %(top)s"
_STALE = f"{_PLANS} WHERE stale ORDER BY coalesce(last_used_at, created_at), id LIMIT %(top)s"
# How many characters the longest bar has.
_BAR = 30
_BATCH = 1_000
_WEEK = timedelta(days=7)
# Times before that are none of the database's.
_EVER = timedelta(days=1_000_000)


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


def stats(
    context: typer.Context,
    since: Annotated[
        timedelta | None,
        typer.Option(
            "--since",
            parser=parsed_duration,
            metavar="DURATION",
            help="Logged recalls of the last 12h, 7d (default), 4w.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, max=1000, help="So many plans in each list.")
    ] = 5,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show what organisations hold, what recalls found, and which plans are worth most.

    Counted now; recalls as far as they were logged (log_recall). The most valuable plans are often
    used and work; after them those that are stale, the longest unused first. Needs level admin.
    """  # fmt: skip
    chosen = options(context, dsn, as_json)
    with connected(chosen) as conn, conn.cursor(row_factory=dict_row) as cursor:
        found = {
            "organisations": cursor.execute(_STATS).fetchall(),
            "recalls": cursor.execute(
                _RECALLS, {"since": _WEEK if since is None else min(since, _EVER)}
            ).fetchall(),
            "most_valuable": cursor.execute(_VALUABLE, {"top": top}).fetchall(),
            "stale": cursor.execute(_STALE, {"top": top}).fetchall(),
        }
    if chosen.json:
        output.print_json(found)
        return
    if not found["organisations"] and not found["recalls"]:
        output.say("nothing is stored")
        return
    if found["organisations"]:
        _show_rows("what is stored", found["organisations"])
    if found["recalls"]:
        output.say("")
        _show_recalls(found["recalls"])
    for title, name in (("most valuable plans", "most_valuable"), ("stale plans", "stale")):
        if found[name]:
            output.say("")
            _show_rows(title, found[name])


def _show_rows(title: str, rows: list[dict[str, Any]]) -> None:
    table = output.table(*(name.replace("_", " ") for name in rows[0]), title=title)
    for row in rows:
        output.row(table, *(_shown(value) for value in row.values()))
    output.stdout().print(table)


def _show_recalls(rows: list[dict[str, Any]]) -> None:
    """Hits and misses by day, with a bar, and the reasons of the misses."""
    most = max(row["recalls"] for row in rows)
    table = output.table("organisation", "day", "recalls", "hits", "", "misses", title="recalls")
    for row in rows:
        hits = round(_BAR * row["hits"] / most)
        misses = round(_BAR * row["recalls"] / most) - hits
        why = {name: row[name] for name in _MISSES if row[name]}
        reasons = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in why.items())
        share = f"{row['hits']:,} ({row['hits'] / row['recalls']:.0%})"
        output.row(table, row["org_id"], f"{row['day']:%Y-%m-%d}", f"{row['recalls']:,}", share,
                   "#" * hits + "." * misses, reasons)  # fmt: skip
    output.stdout().print(table)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return output.short(value)
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
