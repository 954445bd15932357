"""Writers never wait for each other, unless they want the same record or key."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest

from tests.support.calls import rows, scalar, wait_for_blocked
from tests.support.records import remember, remember_plan
from tests.write.conftest import many, update, whole

SESSIONS = 16
LONG = "The supplier has a new bank account. " * 30


@pytest.mark.parametrize("agents", [1, 16])
def test_long_transactions_of_sixteen(module_dsn: str, db: psycopg.Connection, agents: int) -> None:
    """All are open at once, each has written, and again, before any commits; an agent's profile is
    read on the way, and each changes a record of its own."""
    mine = [remember(db, f"m{n}", agent_id=f"agent-{n % agents}") for n in range(SESSIONS)]
    many(db, [{"content": f"n{n}"} for n in range(40)], agent_id="agent-0")
    barrier = Barrier(SESSIONS, timeout=60)

    def session(number: int) -> None:
        try:
            with psycopg.connect(module_dsn) as conn:
                # Whoever had to wait for an open transaction would wait for ever.
                conn.execute("SET lock_timeout = '10s'")
                me = {"agent_id": f"agent-{number % agents}"}
                for turn in range(3):
                    barrier.wait()
                    many(conn, [{"content": f"{number} {turn} {n}"} for n in range(5)], **me)
                    remember(conn, LONG, importance=1.0, **me)
                    remember_plan(conn, f"question {number} {turn}", **me)
                    update(conn, mine[number], {"content": f"{number} {turn}"}, **me)
                barrier.wait()
                if number % 5 == 0:
                    conn.rollback()
                else:
                    conn.commit()
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(SESSIONS) as pool:
        for future in [pool.submit(session, number) for number in range(SESSIONS)]:
            future.result()
    committed = sum(number % 5 != 0 for number in range(SESSIONS))
    assert scalar(db, "SELECT count(*) FROM mnemo.memory WHERE prev_version_id IS NULL"
                      " AND consolidation_state <> 'archived'") == (
        SESSIONS - committed + 40 + committed * 3 * 7)  # fmt: skip
    whole(db)


def test_two_agents_in_opposite_order(module_dsn: str, db: psycopg.Connection) -> None:
    barrier = Barrier(2, timeout=60)

    def session(order: list[str]) -> None:
        with psycopg.connect(module_dsn) as conn:
            conn.execute("SET lock_timeout = '10s'")
            for agent in order:
                remember(conn, "x", agent_id=agent)
                many(conn, [{"content": "y"}, {"content": "z"}], agent_id=agent)
                barrier.wait()

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(session, order) for order in (["ana", "ben"], ["ben", "ana"])]
        for future in futures:
            future.result()
    whole(db)


def test_of_two_updates_one_wins(module_dsn: str, db: psycopg.Connection) -> None:
    """The second waits for the first, and is told of the version that it did not see."""
    record = remember(db, "x", agent_id="ana")
    with psycopg.connect(module_dsn) as first, ThreadPoolExecutor(1) as pool:
        update(first, record, {"content": "first"}, expected_version=1, agent_id="ana")
        with psycopg.connect(module_dsn) as second:
            backend = second.info.backend_pid

            def late() -> Any:
                return update(second, record, {"content": "second"}, expected_version=1,
                              agent_id="ana")  # fmt: skip

            future = pool.submit(late)
            wait_for_blocked(db, backend)
            first.commit()
            error = future.exception()
    assert isinstance(error, psycopg.Error)
    assert error.sqlstate == "MN002"
    (found,) = rows(db, "get_memories", ids=[record], agent_id="ana")
    assert (found["content"], found["version"]) == ("first", 2)
    whole(db)


def test_sixteen_updates_without_a_version(module_dsn: str, db: psycopg.Connection) -> None:
    """Each is one after the other, none is lost."""
    record = remember(db, "x", agent_id="ana")
    barrier = Barrier(SESSIONS, timeout=60)

    def session(number: int) -> int:
        with psycopg.connect(module_dsn, autocommit=True) as conn:
            barrier.wait()
            return int(update(conn, record, {"content": f"c{number}"}, agent_id="ana")["version"])

    with ThreadPoolExecutor(SESSIONS) as pool:
        versions = list(pool.map(session, range(SESSIONS)))
    assert sorted(versions) == list(range(2, SESSIONS + 2))
    assert scalar(db, "SELECT count(DISTINCT content) FROM mnemo.memory") == SESSIONS + 1
    whole(db)


def test_batches_with_the_same_keys_in_any_order(module_dsn: str, db: psycopg.Connection) -> None:
    """No deadlock, and every key has one record."""
    keys = [f"k{n}" for n in range(20)]
    barrier = Barrier(8, timeout=60)

    def session(number: int) -> list[Any]:
        order = random.Random(number).sample(keys, len(keys))
        with psycopg.connect(module_dsn, autocommit=True) as conn:
            barrier.wait()
            found = many(conn, [{"content": key, "idempotency_key": key} for key in order],
                         agent_id="ana")  # fmt: skip
        return [one["id"] for _, one in sorted(zip(order, found, strict=True), key=lambda p: p[0])]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(session, range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert scalar(db, "SELECT count(*) FROM mnemo.memory") == len(keys)
    whole(db)
