"""kill -9 of the whole server: what was acknowledged is there, and nothing is half done."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import Mnemo, UnavailableError
from tests.support.calls import scalar, wait_for_blocked
from tests.support.consistency import inconsistencies
from tests.support.crash import kill, other_backend, restart
from tests.support.server import Server

WRITERS = 8
WHO = {"agent_id": "ana", "org_id": "acme"}


def question(worker: int, number: int, turn: int = 0) -> str:
    """One that no other is like."""
    return f"topic{worker} question{number} of turn{turn} about subject{worker}x{number}x{turn}"


class Writers:
    """Eight threads that write and note what was acknowledged; `reached` is called at a count."""

    def __init__(self, dsn: str, turn: int, at: int, reached: Callable[[], None]) -> None:
        self.plans: dict[UUID, str] = {}
        self.shared: set[UUID] = set()
        self.forgotten: set[UUID] = set()
        self.memories: set[UUID] = set()
        self.batches: list[list[UUID]] = []
        self.errors: list[BaseException] = []
        self.turn = turn
        self._dsn = dsn
        self._at = at
        self._count = 0
        self._reached = reached
        self._lock = threading.Lock()

    def run(self) -> None:
        """Write until the server is gone."""
        threads = [threading.Thread(target=self._work, args=[n]) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _acknowledged(self) -> None:
        with self._lock:
            self._count += 1
            now = self._count == self._at
        if now:
            self._reached()

    def _work(self, worker: int) -> None:
        with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
            m = Mnemo(connection, **WHO)
            try:
                for number in range(100_000):
                    self._write(m, worker, number)
            except BaseException as error:
                self.errors.append(error)

    def _write(self, m: Mnemo, worker: int, number: int) -> None:
        asked = question(worker, number, self.turn)
        plan = m.remember_plan(asked, ["a"], [], 0.9, scope="shared", idempotency_key=asked)
        assert plan.id is not None
        self.plans[plan.id] = asked
        self._acknowledged()
        if number % 3 == 0:
            m.share(plan.id, ["ben", "cem"])
            self.shared.add(plan.id)
            self._acknowledged()
        if number % 4 == 0:
            m.forget([plan.id])
            self.forgotten.add(plan.id)
            self._acknowledged()
        if number % 5 == 0:
            self.memories.add(m.remember(f"memory of {asked}").id)
            self._acknowledged()
        if number % 7 == 0:
            records = [
                {"query": f"{asked} part{part}", "steps": [], "chunk_ids": [], "outcome_score": 1}
                for part in range(20)
            ]
            self.batches.append([UUID(str(r.id)) for r in m.remember_plans(records)])
            self._acknowledged()


def check(dsn: str, writers: Writers) -> None:
    """Everything acknowledged is there, and nothing is half done."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert inconsistencies(conn) == []
        there = {id for (id,) in conn.execute("SELECT id FROM mnemo.memory")}
        deleted = {
            id for (id,) in conn.execute("SELECT id FROM mnemo.memory WHERE deleted_at IS NOT NULL")
        }
        granted = {id for (id,) in conn.execute("SELECT memory_id FROM mnemo.acl")}
        assert writers.plans.keys() | writers.memories <= there
        assert writers.forgotten <= deleted
        assert writers.shared <= granted
        for batch in writers.batches:
            assert set(batch) <= there
        parts = conn.execute(
            "SELECT count(*) FROM mnemo.memory WHERE content LIKE '% part%'"
            " GROUP BY regexp_replace(content, ' part.*', '')"
        )
        assert {count for (count,) in parts} <= {20}
        assert {type(error) for error in writers.errors} == {UnavailableError}
    with Mnemo(dsn, **WHO) as m:
        kept = [id for id in writers.plans if id not in deleted]
        for id in kept[-20:]:
            assert m.recall_plan(writers.plans[id]).id == id
        # The store goes on: a write that was lost can be made again by its key.
        for worker in range(WRITERS):
            asked = question(worker, 0, writers.turn)
            assert m.remember_plan(asked, ["a"], [], 0.9, idempotency_key=asked).stored


def kill_while_writing(server: Server, name: str, at: int, turn: int = 0) -> None:
    """Once."""
    writers = Writers(server.dsn(name), turn, at, lambda: kill(server))
    writers.run()
    assert len(writers.errors) == WRITERS
    restart(server)
    check(server.dsn(name), writers)


def test_writes_of_eight_connections(durable: Server, store: str) -> None:
    """Plans, batches, memories, grants and deletions at once."""
    kill_while_writing(durable, store, 150)


@pytest.mark.long
def test_writes_of_eight_connections_again_and_again(durable: Server, store: str) -> None:
    """At another moment each time, on the same store, which recovers every time."""
    moments = random.Random(4)
    for turn in range(25):
        kill_while_writing(durable, store, moments.randint(20, 1500), turn)


def stopper(dsn: str) -> closing[psycopg.Connection]:
    """A connection that will hold a lock and die with the server."""
    return closing(psycopg.connect(dsn))


def test_a_batch_in_the_middle(durable: Server, store: str) -> None:
    """Killed when its records are written and their events are not."""
    dsn = durable.dsn(store)
    plans = [
        {"query": question(0, n), "steps": [], "chunk_ids": [], "outcome_score": 1}
        for n in range(200)
    ]
    errors: list[BaseException] = []

    with closing(psycopg.connect(dsn, autocommit=True)) as connection, stopper(dsn) as holder:
        m = Mnemo(connection, **WHO)
        first = m.remember_plans(plans[:100])

        def second() -> None:
            try:
                m.remember_plans(plans[100:])
            except BaseException as error:
                errors.append(error)

        holder.execute("LOCK TABLE mnemo.event IN SHARE MODE")
        thread = threading.Thread(target=second)
        thread.start()
        wait_for_blocked(holder, connection.info.backend_pid)
        kill(durable)
        thread.join()
    assert [type(error) for error in errors] == [UnavailableError]
    restart(durable)
    with psycopg.connect(dsn, autocommit=True) as conn:
        ids = {id for (id,) in conn.execute("SELECT id FROM mnemo.memory")}
        assert ids == {result.id for result in first}
        assert inconsistencies(conn) == []


def lines(count: int) -> str:
    """A file to import: plans, and a memory in every tenth line."""
    made: list[dict[str, Any]] = []
    for n in range(count):
        if n % 10 == 9:
            made.append({"content": f"memory {n}"})
        else:
            made.append({"query": question(1, n), "steps": ["s"], "chunk_ids": [],
                         "outcome_score": 0.9})  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in made)


def start_import(dsn: str, file: Path, *options: str) -> subprocess.Popen[str]:
    """The command line's import, as a process."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "MNEMO_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "mnemo_pg.cli", "import", str(file), "--agent", "ana",
         "--org", "acme", "--json", *options],
        env={**clean, "MNEMO_PG_DSN": dsn}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("options", [["--once"], ["--once", "--abort"]])
def test_an_import_in_the_middle(
    durable: Server, store: str, tmp_path: Path, options: list[str]
) -> None:
    """What it says to be done is done; the same command again brings the rest, nothing twice."""
    dsn = durable.dsn(store)
    file = tmp_path / "plans.jsonl"
    total = 1100
    file.write_text(lines(total))
    stop = "LOCK TABLE mnemo.event IN SHARE MODE"
    with stopper(dsn) as holder:
        if "--abort" in options:
            holder.execute(stop)
        running = start_import(dsn, file, *options)
        if "--abort" not in options:
            while not scalar(holder, "SELECT EXISTS (SELECT FROM mnemo.memory)"):
                pass
            # Comes behind the batch that is being written, and before the next one.
            holder.execute(stop)
        wait_for_blocked(holder, other_backend(holder))
        kill(durable)
    _, said = running.communicate()
    assert running.returncode == 1
    assert "the connection was lost" in said
    restart(durable)
    with durable.connect(store) as conn:
        done = scalar(conn, "SELECT count(*) FROM mnemo.memory")
        if "--abort" in options:
            assert "nothing is stored in part" in said
            assert done == 0
        else:
            assert f"lines up to {done} are done" in said
            assert done in (500, 1000)
        assert inconsistencies(conn) == []
        again = start_import(dsn, file, *options)
        answer, said = again.communicate()
        assert (again.returncode, said) == (0, "")
        assert json.loads(answer)["plans"]["stored"] == (total - done) * 9 // 10
        assert scalar(conn, "SELECT count(*) FROM mnemo.memory") == total
        assert inconsistencies(conn) == []
