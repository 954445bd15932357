"""Forgetting and sweeping beside writers: nobody waits who need not, nothing is forgotten twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import psycopg
import pytest

from tests.forget.conftest import count, events, forgotten, memory, plan, stored
from tests.support.calls import rows, scalar, wait_for_blocked

AGENTS = ("ana", "ben", "cem")
ROUNDS = 12
PATIENCE = 60


@contextmanager
def _held(dsn: str, work: Callable[[psycopg.Connection], object]) -> Iterator[psycopg.Connection]:
    """A session that has done something and not committed it; the block may do so."""
    with psycopg.connect(dsn) as conn:
        work(conn)
        yield conn
        conn.rollback()


def _waiting(
    db: psycopg.Connection, dsn: str, work: Callable[[psycopg.Connection], Any],
    then: Callable[[], object],
) -> Any:  # fmt: skip
    """The outcome of a call that waits for another session until `then` lets it go."""
    with psycopg.connect(dsn, autocommit=True) as conn, ThreadPoolExecutor(1) as pool:
        answer: Future[Any] = pool.submit(work, conn)
        wait_for_blocked(db, conn.info.backend_pid)
        then()
        try:
            return answer.result(timeout=PATIENCE)
        except psycopg.Error as error:
            return error.sqlstate


def _impatient(dsn: str) -> psycopg.Connection:
    conn = psycopg.connect(dsn, autocommit=True)
    conn.execute("SET lock_timeout = '1ms'")
    return conn


def test_sweeps_beside_writers(db: psycopg.Connection, module_dsn: str) -> None:
    """No error, no deadlock, every chain intact, and at last everything is swept."""
    barrier = Barrier(6, timeout=PATIENCE)
    db.execute("SELECT mnemo.configure('purge_after', '0 days')")
    db.execute("SELECT pg_stat_reset()")

    def writer(number: int, conn: psycopg.Connection) -> None:
        dice = random.Random(number)
        own = []
        for _ in range(ROUNDS):
            barrier.wait()
            agent = AGENTS[number % 3]
            for make in (memory, plan):
                ttl = dice.choice((None, "1 microsecond", "1 hour"))
                record = make(conn, f"how to pay {dice.random()}", agent_id=agent, ttl=ttl,
                              scope="shared")  # fmt: skip
                if ttl is None:
                    own.append(record)
            if own:
                rows(conn, "share", id=own[-1], to_agents=["dua"], ttl="1 microsecond",
                     agent_id=agent)  # fmt: skip
            if own and dice.random() < 0.4:
                strategy = dice.choice(("soft_delete", "redact", "hard_delete"))
                forgotten(conn, ids=[own.pop()], agent=agent, strategy=strategy)
            if own:
                rows(conn, "touch", ids=own, agent_id=agent)

    def sweeper(number: int, conn: psycopg.Connection) -> None:
        conn.execute("SET lock_timeout = '5s'")
        for _ in range(ROUNDS):
            barrier.wait()
            rows(conn, "sweep", limit=3 + number)

    def session(number: int) -> None:
        try:
            with psycopg.connect(module_dsn, autocommit=True) as conn:
                (writer if number < 4 else sweeper)(number, conn)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(session, range(6)))
    for _ in range(100):
        if not any(one["more"] for one in rows(db, "sweep")):
            break
    db.execute("SELECT pg_stat_clear_snapshot()")
    assert scalar(
        db, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ) == 0  # fmt: skip
    assert scalar(
        db, "SELECT count(*) FROM mnemo.memory WHERE expires_at <= now()"
        " AND redacted_at IS NULL OR deleted_at IS NOT NULL AND redacted_at IS NULL"
    ) == 0  # fmt: skip
    assert count(db, "acl") == 0
    assert count(db, "term_change") == 0
    live = "WHERE m.deleted_at IS NULL AND {} m.tags @> '{{__experience_plan__}}'"
    for table, which in (("term_vector", "NOT"), ("plan_signature", "")):
        assert count(db, table) == scalar(
            db, "SELECT count(*) FROM mnemo.memory AS m " + live.format(which)
        )


def test_a_sweep_waits_for_nobody(db: psycopg.Connection, module_dsn: str) -> None:
    """What a writer has is left, all else is done, and the next sweep finds it."""
    busy, free = (memory(db, ttl="1 microsecond") for _ in range(2))
    shared = [memory(db, scope="shared") for _ in range(2)]
    for one in shared:
        rows(db, "share", id=one, to_agents=["ben"], ttl="1 microsecond", agent_id="ana")
    lock = "SELECT FROM mnemo.memory WHERE id = ANY (%s) FOR UPDATE"
    with _held(module_dsn, lambda conn: conn.execute(lock, [[busy, shared[0]]])):
        with _impatient(module_dsn) as conn:
            done = {one["task"]: one["done"] for one in rows(conn, "sweep")}
        assert (done["expired"], done["grants"]) == (1, 1)
        assert events(db, free)[-1][0] == "memory_expired"
        assert events(db, busy) == []
    done = {one["task"]: one["done"] for one in rows(db, "sweep")}
    assert (done["expired"], done["grants"]) == (1, 1)


def test_a_touch_waits_for_nobody(db: psycopg.Connection, module_dsn: str) -> None:
    hot, cold = memory(db), memory(db)
    with (
        _held(module_dsn, lambda conn: rows(conn, "touch", ids=[hot], agent_id="ana")),
        _impatient(module_dsn) as conn,
    ):
        found = {one["id"]: one["status"] for one in
                 rows(conn, "touch", ids=[hot, cold], agent_id="ana")}  # fmt: skip
        # Logging a read does not wait for it either.
        assert len(rows(conn, "log_read", ids=[hot], agent_id="ana")) == 1
    assert found == {hot: "busy", cold: "touched"}


@pytest.mark.parametrize("strategy", ["soft_delete", "redact", "hard_delete"])
def test_what_another_forgets_meanwhile(
    db: psycopg.Connection, module_dsn: str, strategy: str
) -> None:
    """forget_where waits, looks again, and leaves it to the other: one event, not two."""
    first, second = memory(db, tags=["t"]), memory(db, tags=["t"])
    with _held(module_dsn, lambda conn: forgotten(conn, ids=[first], strategy=strategy)) as other:
        answer = _waiting(
            db, module_dsn,
            lambda conn: forgotten(conn, "forget_where", criteria={"tags": ["t"]}),
            other.commit,
        )  # fmt: skip
    assert answer == {second: "deleted"}
    assert len(events(db, first)) == 1


def test_who_stops_meeting_the_criteria_stays(db: psycopg.Connection, module_dsn: str) -> None:
    """A grant that is taken back while forget_where waits counts no more."""
    record = memory(db, tags=["t"], scope="shared")
    rows(db, "share", id=record, to_agents=["ben"], permission="delete", agent_id="ana")
    with _held(
        module_dsn,
        lambda conn: rows(conn, "unshare", id=record, from_agents=["ben"], agent_id="ana"),
    ) as other:
        answer = _waiting(
            db, module_dsn,
            lambda conn: forgotten(conn, "forget_where", "ben", criteria={"tags": ["t"]}),
            other.commit,
        )  # fmt: skip
    assert answer == {}
    assert (stored(db, record) or {})["deleted_at"] is None


def test_no_note_slips_in_behind_an_erasure(db: psycopg.Connection, module_dsn: str) -> None:
    """Whichever comes first."""

    def log(conn: psycopg.Connection) -> Any:
        return rows(conn, "log_read", ids=[record], query="secret", agent_id="ana")

    def erase(conn: psycopg.Connection) -> Any:
        return forgotten(conn, ids=[record], strategy="redact")

    record = memory(db)
    with _held(module_dsn, log) as other:
        assert _waiting(db, module_dsn, erase, other.commit) == {record: "redacted"}
    record = memory(db)
    with _held(module_dsn, erase) as other:
        assert _waiting(db, module_dsn, log, other.commit) == "MN001"
    assert count(db, "event_note") == 0
