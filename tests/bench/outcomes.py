"""Reports of outcomes from many connections: on one plan, on many, with one transaction held open.

`python -m tests.bench.outcomes` runs it alone, on a server of its own. Thirty-two connections of
pgbench report on one plan as one agent, as thirty-two, and on a thousand plans, with and without a
transaction that has reported on the plan and stays open; beside them bare inserts of the two rows
that a report is.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from typing import Any

import psycopg

from tests.bench.chain import pgbench
from tests.support.installs import install
from tests.support.server import Server

SESSIONS = 32
PLANS = 1000

_REPORT = (
    "SELECT 1 FROM mnemo.record_plan_outcome({plan}, random() < 0.8, p_agent_id => {agent});\n"
)
# By name: what one transaction does, and whether another has reported on the plan and stays open.
SCRIPTS = {
    "bare INSERT of event and report": ("{insert}", False),
    "one plan, one agent": (_REPORT.format(plan="'{one}'", agent="'ana'"), False),
    "one plan, one agent, one held": (_REPORT.format(plan="'{one}'", agent="'ana'"), True),
    "one plan, 32 agents": (_REPORT.format(plan="'{one}'", agent="'a-' || :client_id"), False),
    "one plan, 32 agents, one held": (
        _REPORT.format(plan="'{one}'", agent="'a-' || :client_id"), True,
    ),
    "1,000 plans, 32 agents": (
        f"\\set n random(1, {PLANS})\n"
        + _REPORT.format(plan="(SELECT b.id FROM bench_plan AS b WHERE b.n = :n)",
                         agent="'a-' || :client_id"),
        False,
    ),
}  # fmt: skip
_INSERT = (
    "BEGIN;\nINSERT INTO bench_event SELECT org_id, gen_random_uuid(), agent_id, event_type,"
    " memory_org_id, memory_id, actor_org_id, actor_agent_id, now(), content_hash, changes,"
    " note_hash, seq, prev_hash, hash FROM bench_one_event;\n"
    "INSERT INTO bench_report SELECT org_id, plan_id, gen_random_uuid(), reporter_org_id,"
    " reporter_agent_id, success, score, now(), counts, folded FROM bench_one_report;\nCOMMIT;\n"
)


def measure_outcomes(server: Server, dbname: str, *, seconds: int = 5) -> dict[str, Any]:
    """The figures of one run in an installed, empty database; every report must be counted."""
    dsn = server.dsn(dbname)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        one = _fill(conn)
        rates = {}
        for name, (script, held) in SCRIPTS.items():
            with ExitStack() as stack:
                if held:
                    other = stack.enter_context(psycopg.connect(dsn))
                    other.execute(
                        "SELECT FROM mnemo.record_plan_outcome(%s, true, p_agent_id => 'x')", [one]
                    )
                text = script.replace("{insert}", _INSERT).replace("{one}", one)
                rates[name] = pgbench(server, dsn, text, seconds, SESSIONS)
        waiting = conn.execute("SELECT count(*) FROM mnemo.plan_report WHERE NOT folded").fetchone()
        conn.execute("SELECT FROM mnemo.sweep()")
        counted = conn.execute(
            "SELECT (SELECT count(*) FROM mnemo.plan_report), (SELECT sum(uses)::bigint"
            " FROM mnemo.plan_fare), (SELECT count(*) FROM mnemo.event"
            " WHERE event_type = 'plan_outcome')"
        ).fetchone()
        sound = conn.execute(
            "SELECT bool_and(ok) FROM mnemo.health() WHERE name IN ('outcomes', 'plan_signatures')"
        ).fetchone()
    assert waiting is not None
    assert counted is not None
    assert sound is not None
    return {
        "sessions": SESSIONS,
        "seconds": seconds,
        "reports_per_second": rates,
        "waiting_at_the_end": waiting[0],
        "reports": counted[0],
        "counted": counted[1],
        "events": counted[2],
        "sound": sound[0],
    }


def _fill(conn: psycopg.Connection[Any]) -> str:
    """A thousand plans, and tables for bare inserts with our indexes; the id of one plan."""
    conn.execute(
        "CREATE TABLE bench_plan AS SELECT n, (SELECT r.id FROM mnemo.remember_plan("
        "     'question number ' || n || ' of the benchmark', ARRAY['s'], '{}', 0.9, 'ana',"
        "     'public') AS r) AS id"
        f"  FROM generate_series(1, {PLANS}) AS n"
    )
    conn.execute("CREATE UNIQUE INDEX ON bench_plan (n)")
    row = conn.execute("SELECT id::text FROM bench_plan WHERE n = 1").fetchone()
    assert row is not None
    conn.execute("SELECT FROM mnemo.record_plan_outcome(%s, true, p_agent_id => 'first')", [row[0]])
    for table, name in (("event", "event"), ("plan_report", "report")):
        conn.execute(
            f"CREATE TABLE bench_{name} (LIKE mnemo.{table} INCLUDING INDEXES);"  # type: ignore[arg-type]
            f"CREATE TABLE bench_one_{name} AS SELECT * FROM mnemo.{table}"
            + (" WHERE event_type = 'plan_outcome'" if name == "event" else "")
        )
    return str(row[0])


def main() -> None:
    """Run on a server of its own, with its normal durability, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.outcomes", description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of each workload (%(default)s)")
    given = parser.parse_args()
    settings = ("listen_addresses=", "port=5432", "max_connections=60", "shared_buffers=128MB")
    with Server(settings=settings) as server:
        server.create_database("bench_outcomes")
        install(server, "bench_outcomes", "psql")
        print(
            json.dumps(measure_outcomes(server, "bench_outcomes", seconds=given.seconds), indent=2)
        )


if __name__ == "__main__":
    main()
