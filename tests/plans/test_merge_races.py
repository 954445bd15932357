"""The same plans remembered by many sessions at once: one record each, and never a deadlock.

Real connections that meet at barriers; nothing sleeps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, wait_for_blocked
from tests.support.reuse import emptied

PATIENCE = 120
PLANS = [f"plan {word} of the northern branch" for word in ("one", "two", "three", "four")]


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database; at the end no deadlock may have happened."""
    with emptied(module_dsn) as conn:
        conn.execute("SELECT pg_stat_reset()")
        yield conn
        conn.execute("SELECT pg_stat_clear_snapshot()")
        assert scalar(
            conn, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ) == 0  # fmt: skip


def together(
    dsn: str, sessions: int, work: Callable[[int, psycopg.Connection, Barrier], Any]
) -> list[Any]:
    """Run the work in so many sessions; what each returned, or the first error."""
    barrier = Barrier(sessions, timeout=PATIENCE)

    def session(number: int) -> Any:
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                return work(number, conn, barrier)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(sessions) as pool:
        futures = [pool.submit(session, number) for number in range(sessions)]
        errors = [error for future in futures if (error := future.exception())]
        for error in sorted(errors, key=lambda error: type(error).__name__ == "BrokenBarrierError"):
            raise error
        return [future.result() for future in futures]


def batch(conn: psycopg.Connection, plans: list[str], **more: Any) -> list[dict[str, Any]]:
    """Remember plans of one agent in one call, in this order."""
    elements = [
        {"query": plan, "steps": [plan], "chunk_ids": [], "outcome_score": 0.9, "agent_id": "ana",
         **more}
        for plan in plans
    ]  # fmt: skip
    return rows(conn, "remember_plans", plans=json.dumps(elements))


def opposite_orders(db: psycopg.Connection, dsn: str, iterations: int) -> None:
    """Two sessions store the same plans in opposite order, and forget them by turns."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> None:
        chooser = random.Random(number)
        for turn in range(iterations):
            plans = PLANS if number else PLANS[::-1]
            # New ones in every third turn, so that rows are made as well as met.
            name = f" {turn}" if turn % 3 == 0 else ""
            barrier.wait()
            answers = batch(conn, [plan + name for plan in plans])
            assert {answer["status"] for answer in answers} <= {"stored", "merged"}
            if chooser.random() < 0.2:
                try:
                    rows(
                        conn,
                        "forget",
                        ids=[answer["id"] for answer in answers],
                        agent_id="ana",
                        strategy=chooser.choice(["soft_delete", "hard_delete", "redact"]),
                    )
                except psycopg.DatabaseError as error:
                    # The other was first.
                    if error.sqlstate != "MN001":
                        raise

    together(dsn, 2, work)
    doubles = db.execute(
        "SELECT content FROM mnemo.memory AS m WHERE mnemo._is_live(m, now())"
        " GROUP BY content HAVING count(*) > 1"
    ).fetchall()
    assert doubles == []


def test_batches_in_opposite_order_do_not_deadlock(db: psycopg.Connection, module_dsn: str) -> None:
    """Each claims its plans in one order, whatever the order of the batch."""
    opposite_orders(db, module_dsn, 200)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_opposite_batches_do_not_deadlock(
    db: psycopg.Connection, module_dsn: str
) -> None:
    """The same for as long as it takes to meet in every way."""
    opposite_orders(db, module_dsn, 10_000)


def test_single_writes_of_one_plan_make_one_record(db: psycopg.Connection, module_dsn: str) -> None:
    """One stores it, the others are merged into that one; every outcome is counted."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> list[tuple[Any, str]]:
        found = []
        for turn in range(25):
            barrier.wait()
            answer = row(
                conn, "remember_plan", query=f"{PLANS[0]} {turn}", steps=[str(number)],
                chunk_ids=[], outcome_score=(60 + number) / 100, agent_id="ana",
            )  # fmt: skip
            found.append((answer["id"], answer["status"]))
        return found

    for answers in zip(*together(module_dsn, 8, work), strict=True):
        assert len({plan for plan, _ in answers}) == 1
        assert sorted(status for _, status in answers) == ["merged"] * 7 + ["stored"]
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_signature") == 25
    # The best outcome's steps, whoever came last.
    assert db.execute(
        "SELECT DISTINCT steps, outcome_score FROM mnemo.plan WHERE consolidation_state = 'raw'"
    ).fetchall() == [(["7"], 0.67)]
    counted = scalar(
        db, "SELECT sum(jsonb_array_length(changes -> 'observed')) FROM mnemo.event"
        " WHERE event_type = 'plan_merged'"
    )  # fmt: skip
    assert counted == 25 * 7


def test_a_merge_waits_for_the_writer_and_for_no_other(
    db: psycopg.Connection, module_dsn: str
) -> None:
    """An open transaction holds its own plan only; when it fails the waiting one is the first."""
    with (
        psycopg.connect(module_dsn) as first,
        psycopg.connect(module_dsn, autocommit=True) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        batch(first, PLANS[:1])
        assert batch(second, PLANS[1:2])[0]["status"] == "stored"
        assert batch(second, PLANS[:1], agent_id="ben")[0]["status"] == "stored"
        assert batch(second, PLANS[:1], scope="global")[0]["status"] == "stored"
        waiting = pool.submit(batch, second, PLANS[:1])
        wait_for_blocked(db, second.info.backend_pid)
        first.rollback()
        assert waiting.result(PATIENCE)[0]["status"] == "stored"
        batch(first, PLANS[2:3])
        waiting = pool.submit(batch, second, PLANS[2:3])
        wait_for_blocked(db, second.info.backend_pid)
        first.commit()
        assert waiting.result(PATIENCE)[0]["status"] == "merged"


def test_a_merge_meets_a_plan_that_is_just_forgotten(
    db: psycopg.Connection, module_dsn: str
) -> None:
    """The merge has the plan's key and waits for its record; forgetting waits for nobody."""
    for strategy in ("soft_delete", "archive", "redact", "hard_delete"):
        plan = batch(db, [strategy])[0]["id"]
        with (
            psycopg.connect(module_dsn) as first,
            psycopg.connect(module_dsn, autocommit=True) as second,
            ThreadPoolExecutor(1) as pool,
        ):
            first.execute("SELECT FROM mnemo.memory WHERE id = %s FOR UPDATE", [plan])
            waiting = pool.submit(batch, second, [strategy])
            wait_for_blocked(db, second.info.backend_pid)
            rows(first, "forget", ids=[plan], strategy=strategy, agent_id="ana")
            first.commit()
            again = waiting.result(PATIENCE)[0]
        assert (again["status"], again["id"] == plan) == ("stored", False)
        held = db.execute("SELECT plan_ids FROM mnemo.plan_identity").fetchall()
        assert [again["id"]] in [ids for (ids,) in held]
        assert all(plan not in ids for (ids,) in held)


def test_what_a_failed_merge_leaves_is_swept(db: psycopg.Connection, module_dsn: str) -> None:
    """The plan was erased while another held its key, and that one did not store anything."""
    plan = batch(db, ["gone"])[0]["id"]
    with (
        psycopg.connect(module_dsn) as first,
        psycopg.connect(module_dsn, autocommit=True) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        first.execute("SELECT FROM mnemo.memory WHERE id = %s FOR UPDATE", [plan])
        waiting = pool.submit(batch, second, ["gone"])
        wait_for_blocked(db, second.info.backend_pid)
        rows(first, "forget", ids=[plan], strategy="hard_delete", agent_id="ana")
        db.execute("SELECT pg_cancel_backend(%s)", [second.info.backend_pid])
        with pytest.raises(psycopg.errors.QueryCanceled):
            waiting.result(PATIENCE)
        first.commit()
    assert scalar(db, "SELECT plan_ids FROM mnemo.plan_identity") == [plan]
    kept = batch(db, ["kept"])[0]["id"]
    rows(db, "sweep")
    assert scalar(db, "SELECT plan_ids FROM mnemo.plan_identity") == [kept]
