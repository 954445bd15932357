"""What plans that go stale cost: reporting chunks, recalling plans that cite them, watched tables.

`python -m tests.bench.sources` runs it alone, on a server of its own, with 20,000 plans; `--plans`
and `--million` for more, which are copies of those with other owners. The plans cite five chunks
each. Exact repeats of plans with no, five, a hundred and ten thousand chunks are asked by turns,
before and after 10,000 chunks are reported. Times are processor time of the server's process, in
milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any, LiteralString, cast

import psycopg
from psycopg.types.json import Jsonb

from tests.bench.measure import no_collection, percentile, server_cpu
from tests.support.installs import install
from tests.support.server import Server

CHUNKS = 10_000
CITED = {0: "nowhere", 5: "somewhere", 100: "elsewhere", 10_000: "everywhere"}
REMEMBERED = 20_000
ROWS = 100_000
_ORG, _AGENT = "acme", "ana"
_WORDS = [c + v + d for c in "bdfgklmnprst" for v in "aeiou" for d in "klmnrst"]


def measure_sources(
    server: Server, dbname: str, *, plans: int = 20_000, rows: int = ROWS, asked: int = 300
) -> dict[str, Any]:
    """The figures of one run in an installed, empty database."""
    with psycopg.connect(server.dsn(dbname), autocommit=True) as conn:
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        _load(conn, min(plans, REMEMBERED))
        copies = _multiply(conn, plans)
        for count, word in CITED.items():
            _remember(conn, f"what is cited {word}", [f"own {n}" for n in range(count)])
        conn.execute("ANALYZE")
        chunks = [f"chunk {n}" for n in range(min(CHUNKS, plans))]
        before = _repeats(conn, asked)
        reported = [_cost(conn, lambda: _report(conn, chunks)) for _ in range(2)]
        after = _repeats(conn, asked)
        conn.execute("SELECT FROM mnemo.invalidate_chunks(ARRAY['own 4'], p_org_id => %s)", [_ORG])
        stale = _repeats(conn, asked)
        return {
            "plans": min(plans, REMEMBERED) + copies,
            "chunks reported at once": len(chunks),
            "reporting them, ms": reported[0],
            "again, ms": reported[1],
            "exact repeat by chunks cited, ms": before,
            "after the report, ms": after,
            "once stale (a miss), ms": {n: stale[n] for n in CITED if n},
            **_tables(conn, rows),
        }


def _run(conn: psycopg.Connection[Any], statement: str, *given: Any) -> Any:
    return conn.execute(cast(LiteralString, statement), given or None)


def _cost(conn: psycopg.Connection[Any], what: Callable[[], object]) -> float:
    begun = server_cpu(conn.info.backend_pid)
    what()
    return round(server_cpu(conn.info.backend_pid) - begun, 3)


def _load(conn: psycopg.Connection[Any], plans: int) -> None:
    """Random questions of four to nine words, all different plans, five chunks each."""
    chooser = random.Random(1)
    for start in range(0, plans, 5_000):
        batch = [
            {"query": " ".join([f"n{number}", *chooser.choices(_WORDS, k=chooser.randint(4, 9))]),
             "steps": ["look", "answer"], "outcome_score": 0.9, "org_id": _ORG, "scope": "public",
             "agent_id": f"agent-{number % 100}",
             "chunk_ids": [f"chunk {chooser.randrange(plans)}" for _ in range(5)]}
            for number in range(start, min(plans, start + 5_000))
        ]  # fmt: skip
        conn.execute("SELECT count(*) FROM mnemo.remember_plans(%s)", [Jsonb(batch)])


def _multiply(conn: psycopg.Connection[Any], plans: int) -> int:
    """Copies of the plans, private ones of other agents, as rows: as good for what recall reads."""
    replaced = {
        "memory": {"id": "n.id", "agent_id": "n.agent", "scope": "'private'"},
        "plan_signature": {
            "plan_id": "n.id", "audience": "n.audience",
            "keys": "ARRAY(SELECT k # c.audience # n.audience FROM unnest(c.keys) AS k)",
        },
    }  # fmt: skip
    made = 0
    _run(
        conn, "CREATE TEMP TABLE base AS SELECT plan_id, org_id, context FROM mnemo.plan_signature"
    )
    for turn in range(1, -(-plans // REMEMBERED)):
        _run(conn, "DROP TABLE IF EXISTS pg_temp.new; CREATE TEMP TABLE new AS SELECT b.plan_id,"
             f" gen_random_uuid() AS id, 'copier-{turn}' AS agent,"
             f" mnemo._audience('owner', b.org_id, 'copier-{turn}', b.context) AS audience"
             " FROM base AS b")  # fmt: skip
        for table, key in (("memory", "id"), ("plan_signature", "plan_id")):
            names = _run(
                conn,
                "SELECT attname::text FROM pg_attribute WHERE attrelid = %s::regclass"
                " AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                f"mnemo.{table}",
            ).fetchall()
            chosen = ", ".join(replaced[table].get(name, f"c.{name}") for (name,) in names)
            made += _run(conn, f"INSERT INTO mnemo.{table} SELECT {chosen} FROM mnemo.{table} AS c"
                         f" JOIN pg_temp.new AS n ON n.plan_id = c.{key}").rowcount  # fmt: skip
    return made // 2


def _remember(conn: psycopg.Connection[Any], query: str, chunks: list[str]) -> None:
    conn.execute("SELECT FROM mnemo.remember_plan(%s, '{a}', %s, 0.9, %s, 'private', %s)",
                 [query, chunks, _AGENT, _ORG])  # fmt: skip


def _report(conn: psycopg.Connection[Any], chunks: list[str]) -> None:
    conn.execute("SELECT FROM mnemo.invalidate_chunks(%s, p_org_id => %s)", [chunks, _ORG])


def _repeats(conn: psycopg.Connection[Any], asked: int) -> dict[int, float]:
    """The median cost of an exact repeat, by the number of chunks that the plan cites."""
    found: dict[int, list[float]] = {count: [] for count in CITED}

    def ask(count: int) -> None:
        query = f"what is cited {CITED[count]}"
        conn.execute(
            "SELECT hit FROM mnemo.recall_plan(%s, %s, %s)", [query, _AGENT, _ORG], prepare=True
        )

    with no_collection():
        # The largest by itself: after it the caches of the processor hold nothing else.
        for group in ([count for count in CITED if count < 10_000], [10_000]):
            for turn in range(-5, asked):
                for count in group:
                    spent = _cost(conn, partial(ask, count))
                    if turn >= 0:
                        found[count].append(spent)
    return {count: round(percentile(times, 50), 3) for count, times in found.items()}


def _tables(conn: psycopg.Connection[Any], rows: int) -> dict[str, Any]:
    """The same statements on a table that is watched in different ways and on one that is not."""
    found: dict[str, Any] = {"rows of the table": rows}
    _run(conn, "CREATE SCHEMA app")
    ways = {
        "not watched": "",
        "watched": "'id', p_source => 's1'",
        "watched by version": "'id', 'rev', 's2'",
    }
    for name, arguments in ways.items():
        _run(conn, "CREATE TABLE app.doc (id bigint PRIMARY KEY, body text, rev int, seen int)")
        if arguments:
            _run(conn, f"SELECT mnemo.watch_table('app.doc', {arguments})")
        filled = (
            "INSERT INTO app.doc SELECT n, repeat('x', 200), 1, 0"
            f" FROM generate_series(1, {rows}) AS n"
        )
        costs = {"INSERT of all": _cost(conn, lambda s=filled: _run(conn, s))}  # type: ignore[misc]
        for label, statement in (
            ("UPDATE of all, another version", "UPDATE app.doc SET rev = rev + 1"),
            ("the same once more", "UPDATE app.doc SET rev = rev + 1"),
            ("UPDATE of all, the same version", "UPDATE app.doc SET seen = 1"),
        ):
            _run(conn, "VACUUM app.doc")
            costs[label] = _cost(conn, lambda s=statement: _run(conn, s))  # type: ignore[misc]
        one = [
            _cost(conn, lambda n=n: conn.execute(  # type: ignore[misc]
                "UPDATE app.doc SET rev = rev + 1 WHERE id = %s", [n], prepare=True))
            for n in range(1, 300)
        ]  # fmt: skip
        costs["UPDATE of one row"] = round(percentile(one[50:], 50), 3)
        costs["TRUNCATE"] = _cost(conn, lambda: _run(conn, "TRUNCATE app.doc"))
        found[f"{name}, ms"] = costs
        _run(conn, "DROP TABLE app.doc")
    _run(conn, "DROP SCHEMA app")
    return found


def main() -> None:
    """Run on a server of its own, with its normal durability, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sources", description=__doc__)
    parser.add_argument("--plans", type=int, default=20_000, help="number of plans (%(default)s)")
    parser.add_argument("--million", action="store_true", help="1,000,000 plans")
    given = parser.parse_args()
    settings = ("listen_addresses=", "port=5432", "max_connections=20", "shared_buffers=128MB",
                "max_wal_size=8GB")  # fmt: skip
    with Server(settings=settings) as server:
        server.create_database("bench_sources")
        install(server, "bench_sources", "psql")
        plans = 1_000_000 if given.million else given.plans
        print(json.dumps(measure_sources(server, "bench_sources", plans=plans), indent=2))


if __name__ == "__main__":
    main()
