"""Installs that meet, and an update while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from mnemo_pg import Mnemo, MnemoError
from mnemo_pg.source import sql_text
from tests.install import next_release
from tests.support.calls import row, scalar
from tests.support.consistency import inconsistencies
from tests.support.installs import MODES, install
from tests.support.server import Server

WRITERS = 8
WHO = {"agent_id": "ana", "org_id": "acme"}
GROWING = ("memory", "plan_identity", "event", "acl", "idempotency")
_OBJECTS = """
    SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = 'mnemo'::regnamespace),
           (SELECT count(*) FROM pg_class WHERE relnamespace = 'mnemo'::regnamespace)
"""


def waits(conn: psycopg.Connection) -> None:
    """Return once another session waits for this one."""
    while not scalar(
        conn,
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() ="
        " ANY (pg_blocking_pids(pid))",
    ):
        pass


@pytest.mark.parametrize("first_holds", [True, False], ids=["commits", "rolls-back"])
@pytest.mark.parametrize("mode", MODES)
def test_two_installs_at_once(server: Server, empty_dsn: str, mode: str, first_holds: bool) -> None:
    """The second waits for the first: it gets one error when that one holds, else it goes on.
    Either way the database has one whole install."""
    errors: list[Exception] = []

    def second() -> None:
        try:
            install(server, str(conninfo_to_dict(empty_dsn)["dbname"]), mode)
        except (psycopg.Error, RuntimeError) as error:
            errors.append(error)

    with psycopg.connect(empty_dsn) as first:
        if mode == "extension":
            first.execute("CREATE EXTENSION mnemo_pg")
        else:
            first.execute(sql_text(), prepare=False)
        whole = first.execute(_OBJECTS).fetchone()
        thread = threading.Thread(target=second)
        thread.start()
        waits(first)
        if first_holds:
            first.commit()
        else:
            first.rollback()
        thread.join()
    assert len(errors) == int(first_holds)
    if first_holds:
        # The key that both wanted, which PostgreSQL itself found taken.
        assert "already exists" in str(errors[0]) or "duplicate key" in str(errors[0])
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        assert conn.execute(_OBJECTS).fetchone() == whole
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        answer = row(conn, "remember_plan", query="does it work", steps=["yes"], chunk_ids=[],
                     outcome_score=1)  # fmt: skip
        assert answer["stored"]
        assert inconsistencies(conn) == []


class Writer(threading.Thread):
    """Writes single calls and transactions until told to end, and makes retryable ones again."""

    def __init__(self, dsn: str, number: int) -> None:
        super().__init__()
        self.number = number
        self.stored: list[Any] = []
        self.failures: list[MnemoError | psycopg.Error] = []
        self.enough = threading.Event()
        self.begun = threading.Event()
        self._dsn = dsn

    def run(self) -> None:
        with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
            m = Mnemo(connection, **WHO)
            turn = 0
            while not self.enough.is_set() or turn < 5:
                asked = f"writer{self.number} asks{turn} about subject{self.number}x{turn}"
                try:
                    self._write(m, asked)
                except (MnemoError, psycopg.Error) as error:
                    self.failures.append(error)
                    if not getattr(error, "retryable", False):
                        return
                else:
                    turn += 1
                self.begun.set()

    def _write(self, m: Mnemo, asked: str) -> None:
        key = {"idempotency_key": asked}
        plan = m.remember_plan(asked, ["a"], [], 0.9, scope="shared", **key)
        assert m.recall_plan(asked).id == plan.id
        with m.transaction() as tx:
            tx.share(plan.id, ["ben"])
            tx.remember(f"of {asked}", idempotency_key=f"memory {asked}")
        self.stored.append(plan.id)


@pytest.fixture
def update(tmp_path: Path) -> Iterator[Callable[[psycopg.Connection], None]]:
    """Update a database to a throw-away next version, in which tables of every write grow too."""
    name = f"mnemo_pg--{next_release.THIS}--{next_release.NEXT}.sql"
    script = (next_release.build(tmp_path) / name).read_text()
    first = "ALTER TABLE mnemo.settings ADD COLUMN reason text;"
    assert first in script
    more = "".join(f"ALTER TABLE mnemo.{table} ADD COLUMN more text;\n" for table in GROWING)
    script = script.replace(first, more + first)

    def run(conn: psycopg.Connection) -> None:
        # Tables that calls hold are locked one after the other: the update may be the one that
        # PostgreSQL stops, and then nothing of it is there.
        for _ in range(20):
            try:
                with conn.transaction():
                    conn.execute(script.encode(), prepare=False)
            except psycopg.errors.DeadlockDetected:
                assert scalar(conn, "SELECT mnemo.version()") == next_release.THIS
            else:
                return
        raise AssertionError("the update never came through")

    return run


def test_an_update_while_others_write(
    server: Server, dsn: str, db: psycopg.Connection, update: Callable[[psycopg.Connection], None]
) -> None:
    """Sessions that wrote before go on afterwards: none of their calls fails for good, all that
    was acknowledged is there, and nothing is half done."""
    if scalar(db, "SELECT count(*) FROM pg_extension WHERE extname = 'mnemo_pg'"):
        # The update is run as a script, which is not for extensions.
        db.execute("DROP EXTENSION mnemo_pg")
        install(server, db.info.dbname, "psql")
        db.execute("SELECT mnemo.configure('experience_memory', 'on')")
    writers = [Writer(dsn, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for writer in writers:
            writer.begun.wait(60)
        update(db)
    finally:
        for writer in writers:
            writer.enough.set()
        for writer in writers:
            writer.join()
    assert scalar(db, "SELECT mnemo.version()") == next_release.NEXT
    for writer in writers:
        assert [repr(e) for e in writer.failures if not getattr(e, "retryable", False)] == []
        assert len(writer.stored) >= 5
    stored = {id for (id,) in db.execute("SELECT id FROM mnemo.memory")}
    assert {id for writer in writers for id in writer.stored} <= stored
    assert inconsistencies(db) == []
