"""Many connections report on one plan: nobody waits for another, and every report is counted.

Real connections that meet at barriers; nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.plans.test_merge_races import together
from tests.plans.test_outcomes import HOME, QUESTION, assert_sound, got, plan, recalled, report
from tests.support.calls import row, rows, scalar, wait_for_blocked
from tests.support.reuse import emptied

SESSIONS = 32
TURNS = 4
# Whoever waits for another is refused instead.
IMPATIENT = "SET lock_timeout = '5s'"


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database."""
    with emptied(module_dsn) as conn:
        yield conn


def crowd(dsn: str, made: UUID, agent: Callable[[int], str], begin: str = "BEGIN") -> None:
    """So many sessions, each with a transaction open at the same time, report by turns."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> None:
        conn.execute(IMPATIENT)
        for turn in range(TURNS):
            barrier.wait()
            conn.execute(begin)  # type: ignore[arg-type]
            report(conn, made, turn % 2 == 1, agent(number))
            # All have reported, and none has committed.
            barrier.wait()
            conn.execute("COMMIT")

    together(dsn, SESSIONS, work)


@pytest.mark.parametrize("agent", ["ana", "agent-{}"])
@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_open_transactions_report_beside_each_other(
    db: psycopg.Connection, agent: str, level: str
) -> None:
    """Thirty-two of them on one plan, by one agent and by as many, without a lock to wait for."""
    made = plan(db)
    crowd(db.info.dsn, made, agent.format, f"BEGIN ISOLATION LEVEL {level}")
    found = got(db, made)
    assert found["uses"] == SESSIONS * TURNS
    assert found["successes"] == found["failures"] == SESSIONS * TURNS // 2
    assert found["last_success"] is True
    assert rows(db, "health")
    rows(db, "sweep")
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_report WHERE NOT folded") == 0
    swept = got(db, made)
    assert swept == found
    assert scalar(db, "SELECT standing FROM mnemo.plan_signature") == found["standing"]
    assert len(rows(db, "plan_outcomes", id=made, limit=1000, agent_id="ana", org_id=HOME)) == (
        SESSIONS * TURNS
    )
    assert_sound(db)


def test_the_next_report_counts_what_waits(db: psycopg.Connection) -> None:
    """A transaction that stays open keeps the sum to itself: what others say meanwhile waits."""
    made = plan(db)
    with psycopg.connect(db.info.dsn) as held:
        report(held, made, False, "ben")
        db.execute(IMPATIENT)
        report(db, made, False, "cem")
        report(db, made, False, "dua")
        assert recalled(db)["hit"]
        assert got(db, made)["failures"] == 2
        held.commit()
    assert got(db, made)["retired"]
    # By the next report, or by a sweep.
    report(db, made, False, "eve")
    assert recalled(db)["reason"] == "retired"
    assert_sound(db)


def test_a_transaction_may_report_on_any_number_of_plans(db: psycopg.Connection) -> None:
    """What keeps others from summing up is no entry of the server's lock table, which can fill."""
    made = [plan(db, f"{QUESTION} number {number}") for number in range(20)]
    held = []
    with db.transaction():
        for id in made:
            report(db, id, False, "ben")
            held.append(scalar(db, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"
                               " AND locktype <> 'relation'"))  # fmt: skip
        with psycopg.connect(db.info.dsn, autocommit=True) as other:
            other.execute(IMPATIENT)
            report(other, made[0], False, "cem")
            assert scalar(other, "SELECT count(*) FROM mnemo.plan_report WHERE NOT folded") == 1
    assert held[-1] <= held[1]
    report(db, made[0], True, "ben")
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_report WHERE NOT folded") == 0
    assert_sound(db)


def test_what_waits_is_summed_up_for_a_deleted_plan_too(db: psycopg.Connection) -> None:
    """Else it would stand in the way of what waits for others."""
    made = plan(db)
    db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    report(db, made, False, "ben")
    db.execute("COMMIT")
    rows(db, "forget", ids=[made], agent_id="ana", org_id=HOME)
    rows(db, "sweep")
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_report WHERE NOT folded") == 0
    assert_sound(db)


def test_nobody_folds_twice(db: psycopg.Connection) -> None:
    """Sweeps, reports and revivals beside each other: the sums are those of the reports."""
    made = [plan(db, f"{QUESTION} number {number}", scope="global") for number in range(3)]

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> None:
        barrier.wait()
        for turn in range(12):
            id = made[(number + turn) % 3]
            if number == 0:
                rows(conn, "sweep")
            elif number == 1:
                row(conn, "retire_plan", id=id, agent_id="ana", org_id=HOME)
                row(conn, "revive_plan", id=id, agent_id="ana", org_id=HOME)
            else:
                report(conn, id, turn % 3 > 0, f"agent-{number % 4}",
                       org_id=HOME if number % 2 else "globex")  # fmt: skip

    together(db.info.dsn, 10, work)
    rows(db, "sweep")
    assert scalar(db, "SELECT sum(uses) FROM mnemo.plan_fare") == 8 * 12
    assert_sound(db)


def test_a_report_does_not_outlive_its_plan(db: psycopg.Connection) -> None:
    """Erasing waits for reports under way, and they for it: then the plan is not there."""
    made = plan(db)
    with (
        psycopg.connect(db.info.dsn) as reporter,
        psycopg.connect(db.info.dsn) as eraser,
        ThreadPoolExecutor(2) as pool,
    ):
        report(reporter, made, True, "ben", note="a secret")
        erased = pool.submit(
            rows, eraser, "forget", ids=[made], strategy="redact", agent_id="ana", org_id=HOME
        )
        wait_for_blocked(db, eraser.info.backend_pid)
        reporter.commit()
        erased.result()

        def late() -> Any:
            with pytest.raises(psycopg.Error) as caught:
                report(reporter, made, True, "ben", note="a secret")
            return caught.value.sqlstate

        told = pool.submit(late)
        wait_for_blocked(db, reporter.info.backend_pid)
        eraser.commit()
        assert told.result() == "MN001"
    for table in ("plan_report", "plan_fare", "event_note"):
        assert scalar(db, f"SELECT count(*) FROM mnemo.{table}") == 0
    assert_sound(db)
