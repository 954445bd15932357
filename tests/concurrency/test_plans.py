"""Many sessions at once: no error, no deadlock, no plan lost and none stored twice.

Threads meet at barriers, so that every round really runs together; nothing sleeps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, wait_for_blocked
from tests.support.reuse import emptied

SESSIONS = 8
ROUNDS = 12
# Two sessions write for each of these, and every session reads as all of them.
AGENTS = ("ana", "ben", "cem", "dua")
PATIENCE = 60


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


def together(dsn: str, work: Callable[[int, psycopg.Connection, Barrier], Any]) -> list[Any]:
    """Run the work in eight sessions; what each returned, or its error."""
    barrier = Barrier(SESSIONS, timeout=PATIENCE)

    def session(number: int) -> Any:
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                return work(number, conn, barrier)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(SESSIONS) as pool:
        futures = [pool.submit(session, number) for number in range(SESSIONS)]
        errors = [error for future in futures if (error := future.exception())]
        # A broken barrier is the consequence of somebody else's error.
        for error in sorted(errors, key=lambda error: type(error).__name__ == "BrokenBarrierError"):
            raise error
        return [future.result() for future in futures]


def remember(conn: psycopg.Connection, query: str, /, **arguments: Any) -> UUID:
    """Remember a plan whose only step is its question; its id."""
    answer = row(conn, "remember_plan", **{
        "query": query, "steps": [query], "chunk_ids": [], "outcome_score": 0.9, **arguments,
    })  # fmt: skip
    assert answer["status"] == "stored"
    found = answer["id"]
    assert isinstance(found, UUID)
    return found


def replayed(conn: psycopg.Connection, query: str, agent: str, **arguments: Any) -> UUID | None:
    """The id of the plan that the agent would replay."""
    answer = row(conn, "recall_plan", query=query, agent_id=agent, **arguments)
    assert answer["steps"] is None or answer["steps"] == [answer["query"]]
    return answer["id"]


def test_eight_sessions_lose_no_plan(db: psycopg.Connection, module_dsn: str) -> None:
    """Everybody writes, recalls, shares, takes back and forgets, for own and common agents."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> dict[str, Any]:
        chooser = random.Random(number)
        me = AGENTS[number % len(AGENTS)]
        written: dict[str, Any] = {}
        for turn in range(ROUNDS):
            scope = ("private", "public", "shared", "global")[(turn + number) % 4]
            query = f"session{number} turn{turn} alpha bravo charlie"
            barrier.wait()
            plan = remember(conn, query, agent_id=me, scope=scope)
            batch = [f"session{number} turn{turn} batch{item} delta" for item in range(5)]
            stored = rows(
                conn, "remember_plans",
                plans=json.dumps([
                    {"query": one, "steps": [one], "chunk_ids": [], "outcome_score": 1,
                     "agent_id": me, "scope": scope}
                    for one in batch
                ]),
            )  # fmt: skip
            assert [one["status"] for one in stored] == ["stored"] * 5
            # What was acknowledged is there at once, for its writer and for its readers.
            assert replayed(conn, query, me) == plan
            for one, answer in zip(batch, stored, strict=True):
                assert replayed(conn, one, me) == answer["id"]
            barrier.wait()
            others = [agent for agent in AGENTS if agent != me]
            neighbour = (number + 1) % SESSIONS
            theirs = f"session{neighbour} turn{turn} alpha bravo charlie"
            seen = replayed(conn, theirs, me, similarity_threshold=1)
            if (turn + neighbour) % 4 in (1, 3):
                assert seen is not None
            elif AGENTS[neighbour % len(AGENTS)] != me:
                assert seen is None
            barrier.wait()
            # Plans that differ in two words are candidates of everybody all the time.
            rows(conn, "recall_plans", query="alpha bravo charlie", agent_id=me,
                 similarity_threshold=0.4)  # fmt: skip
            if scope in ("private", "shared"):
                rows(conn, "share", id=plan, to_agents=others, agent_id=me)
                for agent in others:
                    assert replayed(conn, query, agent) == plan
                row(conn, "unshare", id=plan, from_agents=[others[0]], agent_id=me)
                assert replayed(conn, query, others[0]) is None
            forgotten = chooser.choice(stored)["id"]
            rows(conn, "forget", ids=[forgotten], agent_id=me)
            written[query] = (plan, me)
            for one, answer in zip(batch, stored, strict=True):
                written[one] = (None if answer["id"] == forgotten else answer["id"], me)
        return written

    written = {
        query: answer
        for found in together(module_dsn, work)
        for query, answer in found.items()
    }  # fmt: skip
    assert len(written) == SESSIONS * ROUNDS * 6
    wrong = {
        query: plan
        for query, (plan, agent) in written.items()
        if replayed(db, query, agent, similarity_threshold=1) != plan
    }
    assert wrong == {}
    assert scalar(db, "SELECT count(*) FROM mnemo.plan") == len(written)
    unfit = db.execute(
        "SELECT m.id FROM mnemo.memory AS m WHERE (m.deleted_at IS NULL) <> EXISTS ("
        "  SELECT FROM mnemo.plan_signature AS s WHERE s.org_id = m.org_id AND s.plan_id = m.id)"
    ).fetchall()
    assert unfit == []


def keyed(agent: str | None, keys: range, **more: Any) -> list[dict[str, Any]]:
    """Elements of a batch with these idempotency keys, in this order."""
    return [
        {"query": f"question number{key:04d}", "steps": [f"question number{key:04d}"],
         "chunk_ids": [], "outcome_score": 1, "idempotency_key": f"key-{key:04d}",
         **({"agent_id": agent} if agent else {}), **more}
        for key in keys
    ]  # fmt: skip


def test_one_set_in_every_order_is_stored_once(db: psycopg.Connection, module_dsn: str) -> None:
    """Eight sessions remember the same keyed plans, each in an order of its own."""
    count = 150

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> list[dict[str, UUID]]:
        answers = []
        for turn in range(3):
            elements = keyed("ana", range(turn * count, (turn + 1) * count))
            elements.extend(keyed("ben", range(turn * count, (turn + 1) * count)))
            if number % 2:
                elements.reverse()
            elif number > 1:
                random.Random(number).shuffle(elements)
            barrier.wait()
            answer = rows(conn, "remember_plans", plans=json.dumps(elements))
            answers.append({
                f"{element['agent_id']} {element['idempotency_key']}": one["id"]
                for element, one in zip(elements, answer, strict=True)
            })  # fmt: skip
            assert {one["status"] for one in answer} <= {"stored", "repeated"}
        return answers

    first, *others = together(module_dsn, work)
    assert all(other == first for other in others)
    assert scalar(db, "SELECT count(*) FROM mnemo.plan") == 3 * 2 * count
    assert scalar(db, "SELECT count(*) FROM mnemo.event") == 3 * 2 * count


@pytest.mark.parametrize("named", ["agent_id", "org_id"])
def test_keys_are_claimed_in_one_order_however_owners_are_named(
    db: psycopg.Connection, module_dsn: str, named: str
) -> None:
    """The same owner, named in some elements and left to the defaults in others.

    Both batches hold one key, wait for a third session's, and then need the other's key: unless
    both claim in one order.
    """

    def batch(conn: psycopg.Connection, explicit: int, implicit: int) -> list[dict[str, Any]]:
        elements = [
            *keyed(None, range(explicit, explicit + 1), **{named: "default"}),
            *keyed(None, range(9, 10), **{named: "default"}),
            *keyed(None, range(implicit, implicit + 1)),
        ]
        return rows(conn, "remember_plans", plans=json.dumps(elements))

    with (
        psycopg.connect(module_dsn) as blocker,
        psycopg.connect(module_dsn, autocommit=True) as a,
        psycopg.connect(module_dsn, autocommit=True) as b,
        ThreadPoolExecutor(2) as pool,
    ):
        rows(blocker, "remember_plans", plans=json.dumps(keyed(None, range(9, 10))))
        one = pool.submit(batch, a, 1, 2)
        wait_for_blocked(db, a.info.backend_pid)
        two = pool.submit(batch, b, 2, 1)
        wait_for_blocked(db, b.info.backend_pid)
        blocker.rollback()
        answers = [one.result(PATIENCE), two.result(PATIENCE)]
    ids = [[answer["id"] for answer in rows_] for rows_ in answers]
    assert ids[0] == [ids[1][2], ids[1][1], ids[1][0]]


def test_a_key_waits_for_the_session_that_uses_it(db: psycopg.Connection, module_dsn: str) -> None:
    """Committed: the other answer is the same plan. Rolled back: the other stores its own."""
    for commit in (True, False):
        with (
            psycopg.connect(module_dsn) as first,
            psycopg.connect(module_dsn, autocommit=True) as second,
            ThreadPoolExecutor(1) as pool,
        ):
            arguments = {
                "query": f"one and only {commit}", "steps": ["one and only"], "chunk_ids": [],
                "outcome_score": 1, "idempotency_key": f"key {commit}",
            }  # fmt: skip
            before = row(first, "remember_plan", **arguments)

            later = pool.submit(row, second, "remember_plan", **arguments)
            wait_for_blocked(db, second.info.backend_pid)
            if commit:
                first.commit()
            else:
                first.rollback()
            answer = later.result(PATIENCE)
        assert answer["status"] == ("repeated" if commit else "stored")
        assert (answer["id"] == before["id"]) is commit


def test_a_snapshot_recalls_what_it_saw(db: psycopg.Connection, module_dsn: str) -> None:
    """Inside REPEATABLE READ plans neither appear nor disappear, and a key in use says retry."""
    plans = {name: remember(db, f"plan {name} of ana", agent_id="ana") for name in ("one", "two")}
    row(db, "share", id=plans["two"], to_agents=["ben"], agent_id="ana")
    with psycopg.connect(module_dsn) as snapshot:
        snapshot.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert replayed(snapshot, "plan one of ana", "ana") == plans["one"]
        new = remember(db, "plan three of ana", agent_id="ana", idempotency_key="k")
        row(db, "forget", ids=[plans["one"]], agent_id="ana")
        row(db, "unshare", id=plans["two"], from_agents=["ben"], agent_id="ana")
        exact = {"similarity_threshold": 1}
        for name, agent, seen_before, seen_now in (
            ("one", "ana", plans["one"], None),
            ("two", "ben", plans["two"], None),
            ("three", "ana", None, new),
        ):
            query = f"plan {name} of ana"
            assert replayed(snapshot, query, agent, **exact) == seen_before
            assert replayed(db, query, agent, **exact) == seen_now
        with pytest.raises(psycopg.errors.SerializationFailure):
            remember(snapshot, "plan three of ana", agent_id="ana", idempotency_key="k")
        snapshot.rollback()
        assert replayed(snapshot, "plan three of ana", "ana", **exact) == new
        again = row(
            snapshot, "remember_plan", query="other", steps=[], chunk_ids=[], outcome_score=1,
            agent_id="ana", idempotency_key="k",
        )  # fmt: skip
        assert (again["id"], again["status"]) == (new, "repeated")


def test_sessions_share_and_take_back_the_same_plan(
    db: psycopg.Connection, module_dsn: str
) -> None:
    """Whoever is last decides; grants and what recall sees never differ."""
    plan = remember(db, "a plan for many", agent_id="ana")
    rows(db, "share", id=plan, to_agents=["dua"], permission="share", agent_id="ana")

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> None:
        chooser = random.Random(number)
        me = ("ana", "dua")[number % 2]
        for _ in range(ROUNDS * 2):
            agents = chooser.sample(["ben", "cem", "eve", "fay"], chooser.randint(1, 3))
            barrier.wait()
            if chooser.random() < 0.5:
                rows(conn, "share", id=plan, to_agents=agents, agent_id=me)
            else:
                rows(conn, "unshare", id=plan, from_agents=agents, agent_id=me)

    together(module_dsn, work)
    granted = {
        agent for (agent,) in db.execute("SELECT agent_id FROM mnemo.acl WHERE permission = 'read'")
    }
    seeing = {
        agent
        for agent in ("ben", "cem", "eve", "fay")
        if replayed(db, "a plan for many", agent) == plan
    }
    assert seeing == granted
    assert replayed(db, "a plan for many", "ana") == replayed(db, "a plan for many", "dua") == plan


def unless_gone(conn: psycopg.Connection, function: str, /, **arguments: Any) -> int:
    """The number of rows of a call; 0 if a record is not there any more."""
    try:
        return len(rows(conn, function, **arguments))
    except psycopg.Error as error:
        if error.sqlstate != "MN001":
            raise
        return 0


def test_forgetting_while_others_share(db: psycopg.Connection, module_dsn: str) -> None:
    """A plan is forgotten once; whoever comes too late learns that it is not there."""

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> int:
        forgotten = 0
        for plan in plans:
            barrier.wait()
            if number % 2:
                unless_gone(conn, "share", id=plan, to_agents=[f"agent-{number}"], agent_id="ana")
            else:
                forgotten += unless_gone(conn, "forget", ids=[plan], agent_id="ana")
        return forgotten

    plans = [remember(db, f"plan number{turn} here", agent_id="ana") for turn in range(ROUNDS)]
    counts = together(module_dsn, work)
    assert sum(counts) == ROUNDS
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_signature") == 0
    for turn in range(ROUNDS):
        for agent in ("ana", "agent-1", "agent-3"):
            assert replayed(db, f"plan number{turn} here", agent, similarity_threshold=1) is None
    assert scalar(
        db, "SELECT count(*) FROM mnemo.event WHERE event_type = 'memory_delete'"
    ) == ROUNDS  # fmt: skip


def test_lists_of_records_are_locked_in_one_order(db: psycopg.Connection, module_dsn: str) -> None:
    """Sessions that forget overlapping lists in opposite order do not block each other for good."""
    plans = [remember(db, f"plan number{item} here") for item in range(200)]

    def work(number: int, conn: psycopg.Connection, barrier: Barrier) -> int:
        mine = plans if number % 2 else plans[::-1]
        barrier.wait()
        return unless_gone(conn, "forget", ids=mine)

    assert sorted(together(module_dsn, work)) == [0] * (SESSIONS - 1) + [200]


def test_a_permission_lost_while_waiting_is_lost(db: psycopg.Connection, module_dsn: str) -> None:
    """Who waits for the owner's transaction obeys what it has decided."""
    for function, arguments in (
        ("share", {"to_agents": ["cem"]}),
        ("unshare", {"from_agents": ["dua"]}),
        ("forget", {}),
    ):
        plan = remember(db, f"a plan to {function}", agent_id="ana")
        rows(db, "share", id=plan, to_agents=["dua"], agent_id="ana")
        rows(db, "share", id=plan, to_agents=["ben"], permission="share", agent_id="ana")
        named = {"ids": [plan]} if function == "forget" else {"id": plan}
        with (
            psycopg.connect(module_dsn) as owner,
            psycopg.connect(module_dsn, autocommit=True) as other,
            ThreadPoolExecutor(1) as pool,
        ):
            row(owner, "unshare", id=plan, from_agents=["ben"], agent_id="ana")

            later = pool.submit(unless_gone, other, function, **named, **arguments, agent_id="ben")
            wait_for_blocked(db, other.info.backend_pid)
            owner.commit()
            assert later.result(PATIENCE) == 0
        assert replayed(db, f"a plan to {function}", "dua") == plan
        assert replayed(db, f"a plan to {function}", "cem") is None
