"""Sixteen writers and the sealers beside them: nobody waits, nothing is lost, the chain is whole.

A session that waits for another's transaction fails by its lock_timeout: the transactions meet at
barriers while they are open, so such a wait would never end by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import psycopg
import pytest

from tests.chain.conftest import change, delete_for_good, seal, verify
from tests.support.calls import rows, scalar, value
from tests.support.records import remember, remember_plan

SESSIONS = 16
PATIENCE = 60


@pytest.fixture
def db(chain_db: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """An emptied database; at the end no deadlock may have happened."""
    chain_db.execute("SELECT pg_stat_reset()")
    yield chain_db
    chain_db.execute("SELECT pg_stat_clear_snapshot()")
    assert scalar(
        chain_db, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ) == 0  # fmt: skip


Work = Callable[[int, psycopg.Connection, Barrier], Any]


def together(dsn: str, work: Work, sealers: int = 2) -> list[Any]:
    """The work in sixteen sessions, while others seal without a pause; what each returned."""
    barrier = Barrier(SESSIONS, timeout=PATIENCE)
    done = Event()

    def session(number: int) -> Any:
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute("SET lock_timeout = '10s'")
                return work(number, conn, barrier)
        except BaseException:
            barrier.abort()
            raise

    def sealer(number: int) -> int:
        turns = 0
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("SET lock_timeout = '10s'")
            while not done.is_set() or turns == 0:
                value(conn, "seal", limit=5 + 50 * number)
                turns += 1
        return turns

    with ThreadPoolExecutor(SESSIONS + sealers) as pool:
        sealing = [pool.submit(sealer, number) for number in range(sealers)]
        futures = [pool.submit(session, number) for number in range(SESSIONS)]
        errors = [error for future in futures if (error := future.exception())]
        done.set()
        # A broken barrier is the consequence of somebody else's error.
        for error in sorted(errors, key=lambda error: type(error).__name__ == "BrokenBarrierError"):
            raise error
        assert all(future.result() for future in sealing)
        return [future.result() for future in futures]


def whole(conn: psycopg.Connection, agents: list[str], events: int) -> None:
    """Everything is sealed once and verifies, after one more sealing."""
    seal(conn)
    checked = 0
    for agent in agents:
        answer = verify(conn, agent_id=agent)
        assert answer["ok"], (agent, answer)
        checked += answer["checked"]
    assert checked == events == scalar(conn, "SELECT count(*) FROM mnemo.event")


@pytest.mark.parametrize("agents", [1, 16])
def test_writers_on_one_agent_and_on_sixteen(
    module_dsn: str, db: psycopg.Connection, agents: int
) -> None:
    """Single writes, plans and batches, the writers sealing too."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> int:
        me = f"agent-{number % agents}"
        barrier.wait()
        for turn in range(8):
            remember(conn, f"{number} {turn}", agent_id=me)
            remember_plan(conn, f"question {number} {turn}", agent_id=me)
            conn.execute("SELECT mnemo._seal_if_many('default', %s, 256)", (me,))
        return 16

    written = sum(together(module_dsn, work))
    whole(db, [f"agent-{number}" for number in range(agents)], written)


def test_long_transactions_for_several_agents(module_dsn: str, db: psycopg.Connection) -> None:
    """All sixteen are open at once, each writes for four agents in an order of its own and seals;
    some are rolled back."""
    agents = [f"agent-{number}" for number in range(4)]

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> int:
        conn.autocommit = False
        chooser = random.Random(number)
        written = 0
        for turn in range(3):
            for agent in chooser.sample(agents, 4):
                record = remember(conn, f"{number} {turn}", agent_id=agent)
                rows(conn, "share", id=record, to_agents=["zoe"], agent_id=agent)
                # As a write that finds many: seals what is there, its own events with it.
                conn.execute("SELECT mnemo._seal_chain('default', %s, 1000)", (agent,))
            barrier.wait()
            if (number + turn) % 4 == 0:
                conn.rollback()
            else:
                conn.commit()
                written += 8
            barrier.wait()
        return written

    whole(db, agents, sum(together(module_dsn, work)))


def test_who_commits_late_is_sealed_late(module_dsn: str, db: psycopg.Connection) -> None:
    """No gap is left for it, nothing changes its place, nothing is lost."""
    with psycopg.connect(module_dsn) as early:
        first = remember(early, "written first", agent_id="ana")
        later = [remember(db, f"{number}", agent_id="ana") for number in range(3)]
        seal(db)
        head = verify(db, agent_id="ana")
        assert (head["ok"], head["head_seq"]) == (True, 3)
        early.commit()
        remember(db, "last", agent_id="ana")
        seal(db)
    assert verify(db, agent_id="ana", expected_head=head["head"])["ok"]
    order = db.execute("SELECT memory_id FROM mnemo.event ORDER BY seq").fetchall()
    assert [found for (found,) in order][:4] == [*later, first]


def test_a_chain_in_somebody_elses_hands_is_left_alone(
    module_dsn: str, db: psycopg.Connection
) -> None:
    """Also one that is just being made, and also by a writer."""
    for turn in range(2):
        remember(db, f"a{turn}", agent_id="ana")
        remember(db, f"b{turn}", agent_id="ben")
        with psycopg.connect(module_dsn) as other:
            scalar(other, "SELECT mnemo._seal_chain('default', 'ana', 1000)")
            db.execute("SET lock_timeout = '1s'")
            assert value(db, "seal") == 1 + turn
            remember(db, f"c{turn}", agent_id="ana")
            assert scalar(db, "SELECT mnemo._seal_chain('default', 'ana', 1000)") == 0
            now = scalar(db, "SELECT clock_timestamp()")
            retained = rows(db, "retain_events", before=now)
            assert [one["agent_id"] for one in retained] == ["ben"]
            other.commit()
    seal(db)
    for agent in ("ana", "ben"):
        assert verify(db, agent_id=agent)["ok"]


def test_a_writer_seals_where_many_wait(db: psycopg.Connection) -> None:
    """1,024 of them at least, and then 1,024."""
    count = "SELECT count(*) FROM mnemo.event WHERE seq IS NULL"
    db.execute(
        "SELECT count(*) FROM generate_series(1, 1000) AS i,"
        " LATERAL mnemo.remember('m' || i, p_agent_id => 'ana') AS r"
    )
    before = scalar(db, count)
    db.execute("SELECT mnemo._seal_if_many('default', 'ana', 256)")
    assert scalar(db, count) == before
    db.execute(
        "SELECT count(*) FROM generate_series(1, 100) AS i,"
        " LATERAL mnemo.remember('n' || i, p_agent_id => 'ana') AS r"
    )
    db.execute("SELECT mnemo._seal_if_many('default', 'ana', 256)")
    assert scalar(db, count) <= 100
    db.execute("SELECT mnemo._seal_if_many('default', 'ana', 256)")
    assert verify(db, agent_id="ana")["ok"]


def test_retention_beside_writers(module_dsn: str, db: psycopg.Connection) -> None:
    """Records change, are shared and deleted while events go and are carried over."""
    for number in range(60):
        remember(db, f"m{number}", agent_id="ana")
    seal(db)

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> int:
        chooser = random.Random(number)
        place = (number * 3,)
        mine = [found for (found,) in conn.execute(
            "SELECT id FROM mnemo.memory ORDER BY id OFFSET %s LIMIT 3", place)]  # fmt: skip
        barrier.wait()
        removed = 0
        for _ in range(6):
            if number < 3:
                retained = rows(conn, "retain_events", limit=chooser.randint(1, 20),
                                before=scalar(conn, "SELECT clock_timestamp()"))  # fmt: skip
                assert {one["status"] for one in retained} <= {"removed"}
                removed += sum(one["removed"] for one in retained)
            elif len(mine) > 1 and chooser.random() < 0.3:
                delete_for_good(conn, mine.pop())
            elif chooser.random() < 0.5:
                change(conn, mine[0], "memory_update", f"importance = {chooser.random()!r}")
            else:
                rows(conn, "share", id=mine[0], to_agents=["zoe"], agent_id="ana")
        return removed

    assert sum(together(module_dsn, work)) > 0
    seal(db)
    answer = verify(db, agent_id="ana")
    assert answer["ok"], answer
    assert answer["anchor_seq"] > 0
