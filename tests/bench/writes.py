"""Write rates: one plan, a batch, and a bare INSERT of the same row."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from mnemo_pg import Mnemo
from tests.bench.measure import Times, no_collection, server_cpu
from tests.bench.workloads import Workload

ORG = "bench-writes"
"""Whose plans these are; they are removed afterwards."""

_COPIES = {
    "bare INSERT": "LIKE mnemo.memory, PRIMARY KEY (org_id, id)",
    "INSERT with the checks and indexes": "LIKE mnemo.memory INCLUDING CONSTRAINTS"
    " INCLUDING INDEXES",
}


def measure_writes(
    conn: Connection[Any], workload: Workload, *, singles: int, batches: int, batch: int
) -> dict[str, Any]:
    """One plan a transaction against a bare INSERT of the same row; then batches of plans.

    The plain tables start empty. Everything runs on one connection, in autocommit.
    """
    remove_writes(conn)
    mnemo = Mnemo(conn)
    elements = _elements(workload)
    times: dict[str, Times] = {"remember_plan": Times(), **{name: Times() for name in _COPIES}}
    inserts: dict[str, sql.Composed] = {}
    for number, (name, definition) in enumerate(_COPIES.items()):
        table = sql.Identifier("bench", f"copy_{number}")
        conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        conn.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(definition)))
        inserts[name] = sql.SQL("INSERT INTO {} VALUES ({})").format(
            table, sql.SQL(", ").join(sql.Placeholder() * _columns(conn))
        )
    with no_collection():
        # The first calls prepare statements and fill the connection's caches.
        for turn in range(-10, singles):
            element = next(elements)
            with _timed(conn, times["remember_plan"], keep=turn >= 0):
                plan_id = mnemo.remember_plan(**element).id
            values = _row(conn, plan_id)
            for name in itertools.islice(itertools.cycle(inserts), turn % 2, turn % 2 + 2):
                with _timed(conn, times[name], keep=turn >= 0):
                    conn.execute(inserts[name], values, prepare=True)
        spent = Times()
        for _ in range(batches):
            plans = list(itertools.islice(elements, batch))
            with _timed(conn, spent):
                mnemo.remember_plans(plans)
    remove_writes(conn)
    seconds, cpu = sum(spent.milliseconds) / 1000, sum(spent.server_cpu) / 1000
    return {
        "single": {name: found.summary() for name, found in times.items()},
        "batch": {
            "plans": batches * batch,
            "plans_a_call": batch,
            "seconds": round(seconds, 4),
            "plans_per_second": round(batches * batch / seconds),
            "plans_per_cpu_second": round(batches * batch / cpu) if cpu else None,
        },
    }


@contextmanager
def _timed(conn: Connection[Any], times: Times, *, keep: bool = True) -> Iterator[None]:
    before = server_cpu(conn.info.backend_pid)
    begun = time.perf_counter()
    yield
    elapsed = time.perf_counter() - begun
    if keep:
        times.milliseconds.append(elapsed * 1000)
        times.server_cpu.append(server_cpu(conn.info.backend_pid) - before)


def _row(conn: Connection[Any], plan_id: Any) -> list[Any]:
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            "SELECT * FROM mnemo.memory WHERE org_id = %s AND id = %s", (ORG, plan_id)
        ).fetchone()
    assert row is not None
    return list((row | {"metadata": Jsonb(row["metadata"])}).values())


def remove_writes(conn: Connection[Any]) -> None:
    """Remove what an earlier measurement wrote, and the dead rows with it."""
    if conn.execute("SELECT FROM mnemo.memory WHERE org_id = %s LIMIT 1", (ORG,)).fetchone():
        conn.execute("DELETE FROM mnemo.event WHERE memory_org_id = %s", (ORG,))
        conn.execute("DELETE FROM mnemo.memory WHERE org_id = %s", (ORG,))
        conn.execute("VACUUM mnemo.memory, mnemo.plan_signature, mnemo.event")


def _elements(workload: Workload) -> Any:
    rng = random.Random(workload.seed)
    for number in itertools.count(workload.size):
        element = workload.plan(number).element
        if element["scope"] == "global":
            # Those would not lie in the organisation that is cleaned up.
            element["scope"] = "public"
        element["org_id"] = ORG
        element["agent_id"] = f"agent-{rng.randrange(10)}"
        yield element


def _columns(conn: Connection[Any]) -> int:
    row = conn.execute(
        "SELECT count(*) FROM pg_attribute"
        " WHERE attrelid = 'mnemo.memory'::regclass AND attnum > 0 AND NOT attisdropped"
    ).fetchone()
    assert row is not None
    return int(row[0])
