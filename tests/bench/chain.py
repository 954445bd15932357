"""Writers beside each other and the chain of their events, against bare inserts of the same rows.

`python -m tests.bench.chain` runs it alone, on a server of its own. Sixteen connections of pgbench
write for one agent and for sixteen, in short transactions, in long ones, and for several agents in
one, while a sealer runs without a pause; then everything is sealed and verified, and timed.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.support.installs import install
from tests.support.server import Server

SESSIONS = 16
AGENTS = 16
_LONG = "100 ms"

# By name: what one transaction does, and whose chain it writes to.
_REMEMBER = (
    "SELECT 1 FROM mnemo.remember('a note of this length is usual', p_agent_id => {agent});\n"
)
SCRIPTS = {
    "bare INSERT": "{insert}",
    "bare INSERT of record and event": "BEGIN;\n{insert}{event}COMMIT;\n",
    "remember, one agent": _REMEMBER.format(agent="'agent-0'"),
    "remember, 16 agents": _REMEMBER.format(agent="'agent-' || :client_id"),
    "remember for 4 agents, in any order": "".join(
        f"\\set a{turn} random(0, 15)\n" for turn in range(4)
    )
    + "BEGIN;\n"
    + "".join(_REMEMBER.format(agent=f"'agent-' || :a{turn}") for turn in range(4))
    + "COMMIT;\n",
    "bare INSERT, held 100 ms": f"BEGIN;\n{{insert}}\\sleep {_LONG}\nCOMMIT;\n",
    "remember, one agent, held 100 ms": "BEGIN;\n"
    + _REMEMBER.format(agent="'agent-0'")
    + f"\\sleep {_LONG}\nCOMMIT;\n",
}


def measure_chain(server: Server, dbname: str, *, seconds: int = 5) -> dict[str, Any]:
    """The figures of one run in an installed database, whose records are removed before it."""
    dsn = server.dsn(dbname)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("TRUNCATE mnemo.memory, mnemo.event, mnemo.chain_head CASCADE")
        inserts = _bare_tables(conn)
        rates = {}
        for name, script in SCRIPTS.items():
            text = script.replace("{insert}", inserts[0]).replace("{event}", inserts[1])
            with _Sealer(dsn):
                rates[name] = pgbench(server, dsn, text, seconds)
        return {
            "sessions": SESSIONS,
            "seconds": seconds,
            "transactions_per_second": rates,
            **_sealing_and_verifying(conn),
        }


def _bare_tables(conn: psycopg.Connection[Any]) -> tuple[str, str]:
    """Plain copies of the two tables, and INSERTs of a record and its event into them."""
    conn.execute("SELECT mnemo.remember('a note of this length is usual', p_agent_id => 'agent-0')")
    conn.execute("DROP SCHEMA IF EXISTS bench_chain CASCADE")
    conn.execute("CREATE SCHEMA bench_chain")
    found = []
    for table in ("memory", "event"):
        conn.execute(sql.SQL(
            "CREATE TABLE bench_chain.{0} (LIKE mnemo.{0}, PRIMARY KEY (org_id, id))"
        ).format(sql.Identifier(table)))  # fmt: skip
        with conn.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(
                sql.SQL("SELECT * FROM mnemo.{}").format(sql.Identifier(table))
            ).fetchone()
        assert row is not None
        values = [_value(name, value).as_string(conn) for name, value in row.items()]
        found.append(
            f"INSERT INTO bench_chain.{table} ({', '.join(row)}) VALUES ({', '.join(values)});\n"
        )
    return found[0], found[1]


def _value(name: str, value: Any) -> sql.Composable:
    if name == "id":
        return sql.SQL("gen_random_uuid()")
    if isinstance(value, datetime):
        # pgbench would take the colons of a literal for variables.
        return sql.SQL("now()")
    return sql.Literal(Jsonb(value) if isinstance(value, dict) else value)


def pgbench(server: Server, dsn: str, script: str, seconds: int, sessions: int = SESSIONS) -> float:
    """Transactions a second of so many connections; none may fail."""
    with tempfile.NamedTemporaryFile("w", dir=server.folder, suffix=".sql") as file:
        file.write(script)
        file.flush()
        Path(file.name).chmod(0o644)
        printed = server.run(
            "pgbench", "-n", "-M", "prepared", "-c", str(sessions), "-j", "2", "-T", str(seconds),
            "-f", file.name, dsn,
        )  # fmt: skip
    found = re.search(r"tps = ([\d.]+) \(without", printed)
    if found is None or "number of failed transactions: 0 " not in printed:
        raise RuntimeError(f"pgbench: {printed}")
    return round(float(found[1]), 1)


class _Sealer:
    """Seals without a pause while the block runs."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._done = Event()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as conn:
            while not self._done.wait(0.05):
                conn.execute("SELECT mnemo.seal(1000)")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _sealing_and_verifying(conn: psycopg.Connection[Any]) -> dict[str, Any]:
    """What the sealer left; then everything is sealed anew and verified, each timed."""
    counts = "SELECT count(*) FILTER (WHERE seq IS NULL), count(*) FROM mnemo.event"
    unsealed, events = conn.execute(counts).fetchone() or (0, 0)
    conn.execute("TRUNCATE mnemo.chain_head")
    conn.execute("UPDATE mnemo.event SET seq = NULL, prev_hash = NULL, hash = NULL")
    conn.execute("VACUUM ANALYZE mnemo.event, mnemo.memory")
    started = time.perf_counter()
    left = 1
    while left:
        (left,) = conn.execute("SELECT mnemo.seal(10000)").fetchone() or (0,)
    sealing = time.perf_counter() - started
    started = time.perf_counter()
    broken = conn.execute(
        "SELECT h.agent_id, v.reason FROM mnemo.chain_heads() AS h,"
        " LATERAL mnemo.verify_chain(NULL, h.agent_id, h.org_id) AS v WHERE NOT v.ok"
    ).fetchall()
    verifying = time.perf_counter() - started
    return {
        "events": events,
        "not_sealed_at_the_end": unsealed,
        "sealed_per_second": round(events / sealing),
        "verified_per_second": round(events / verifying),
        "broken": broken,
    }


def main() -> None:
    """Run on a server of its own, with its normal durability, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.chain", description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of each workload (%(default)s)")
    given = parser.parse_args()
    settings = ("listen_addresses=", "port=5432", "max_connections=60", "shared_buffers=128MB")
    with Server(settings=settings) as server:
        server.create_database("bench_chain")
        install(server, "bench_chain", "psql")
        print(json.dumps(measure_chain(server, "bench_chain", seconds=given.seconds), indent=2))


if __name__ == "__main__":
    main()
