"""What the wrapper adds to plain psycopg: `python -m tests.bench.wrapper`.

Both ask the same questions of `recall_plan` on connections of the same kind, call by call in turn,
so that whatever else the machine does meets both. Plain means the wrapper's own SQL through
`connection.execute` and the row as psycopg gives it, a tuple.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import psycopg

from mnemo_pg import AsyncMnemo, Mnemo, statements
from tests.support.installs import install
from tests.support.server import Server

QUESTION = "How do I reset the password of account number {}, please?"
TARGET = 0.10


def load(conn: psycopg.Connection[Any], plans: int) -> None:
    """Plans, of which each question finds one."""
    conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    conn.execute(
        "SELECT count(*) FROM generate_series(1, %s::int) AS i CROSS JOIN LATERAL"
        " mnemo.remember_plan('How do I reset the password of account number ' || i || ', please?',"
        " ARRAY['find the account', 'send a link', 'tell the user'], ARRAY['kb-1', 'kb-2'], 0.9)",
        (plans,),
    )
    conn.execute("ANALYZE")


def timed(call: Callable[[str], Any], question: str) -> float:
    """Seconds of a call."""
    started = time.perf_counter()
    call(question)
    return time.perf_counter() - started


def report(name: str, plain: list[float], wrapped: list[float]) -> float:
    """Prints both medians; by how much the second is longer."""
    a, b = statistics.median(plain), statistics.median(wrapped)
    share = b / a - 1
    print(f"{name:<14} plain {a * 1e6:7.1f} us   wrapper {b * 1e6:7.1f} us   {share:+.1%}"
          f"   ({(b - a) * 1e6:+.1f} us)")  # fmt: skip
    return share


def synchronous(dsn: str, questions: list[str]) -> float:
    """On two connections in autocommit."""
    with psycopg.connect(dsn, autocommit=True) as one, psycopg.connect(dsn, autocommit=True) as two:
        m = Mnemo(two)
        sql = statements.recall_plan("x").sql
        base = statements.recall_plan("x").params

        def plain(question: str) -> Any:
            return one.execute(sql, {**base, "p_query": question}).fetchone()

        plain_times: list[float] = []
        wrapped_times: list[float] = []
        for number, question in enumerate(questions):
            pair = [(plain, plain_times), (m.recall_plan, wrapped_times)]
            for call, times in pair if number % 2 else reversed(pair):
                times.append(timed(call, question))
        return report("recall_plan", plain_times, wrapped_times)


async def asynchronous(dsn: str, questions: list[str]) -> float:
    """The same, awaited."""
    connect = psycopg.AsyncConnection.connect
    async with (
        await connect(dsn, autocommit=True) as one,
        await connect(dsn, autocommit=True) as two,
    ):
        m = AsyncMnemo(two)
        sql = statements.recall_plan("x").sql
        base = statements.recall_plan("x").params
        plain_times: list[float] = []
        wrapped_times: list[float] = []

        async def plain(question: str) -> None:
            started = time.perf_counter()
            cursor = await one.execute(sql, {**base, "p_query": question})
            await cursor.fetchone()
            plain_times.append(time.perf_counter() - started)

        async def wrapped(question: str) -> None:
            started = time.perf_counter()
            await m.recall_plan(question)
            wrapped_times.append(time.perf_counter() - started)

        for number, question in enumerate(questions):
            for call in (plain, wrapped) if number % 2 else (wrapped, plain):
                await call(question)
        return report("async", plain_times, wrapped_times)


def main() -> int:
    """Measure on a server of its own; 1 when the target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.wrapper", description=__doc__)
    parser.add_argument("--plans", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=3000)
    options = parser.parse_args()
    with Server() as server:
        server.create_database("bench")
        install(server, "bench", "psql")
        with server.connect("bench") as conn:
            load(conn, options.plans)
        questions = [QUESTION.format(1 + n % options.plans) for n in range(options.calls)]
        gc.disable()
        shares = [
            synchronous(server.dsn("bench"), questions),
            asyncio.run(asynchronous(server.dsn("bench"), questions)),
        ]
    print(f"target: at most {TARGET:+.0%}")
    return int(max(shares) > TARGET)


if __name__ == "__main__":
    raise SystemExit(main())
