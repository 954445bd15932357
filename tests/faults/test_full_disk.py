"""A full disk, played by a small file system in memory: a clear error, and nothing half done."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemo_pg import Mnemo, UnavailableError
from tests.support.calls import scalar
from tests.support.consistency import inconsistencies
from tests.support.server import Server

SIZE, MORE = "24m", "96m"
WHO = {"agent_id": "ana", "org_id": "acme"}


def mount(*arguments: str | Path) -> None:
    """Skip where the machine does not let us."""
    done = subprocess.run(
        ["mount", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")


@pytest.fixture
def small(server: Server, template: str) -> Iterator[tuple[str, Path]]:
    """A database on a small disk of its own: connection string and mount point."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder = server.folder / "small"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder)
    try:
        server._give_away(folder)
        with server.connect() as conn:
            conn.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        dsn = server.create_database("on_small", template, "TABLESPACE small")
        yield dsn, folder
    finally:
        server.drop_database("on_small")
        with server.connect() as conn:
            # Files go when the next checkpoint has passed.
            conn.execute("CHECKPOINT")
            conn.execute("DROP TABLESPACE IF EXISTS small")
        subprocess.run(["umount", folder], check=True)


def batch(number: int) -> list[dict[str, object]]:
    """Plans with long steps that no compression shortens much."""
    return [
        {"query": f"number{number} plan{n} about subject{number}x{n}",
         "steps": [os.urandom(1500).hex()], "chunk_ids": [], "outcome_score": 1}
        for n in range(50)
    ]  # fmt: skip


def until_full(write: Callable[[int], int]) -> tuple[int, UnavailableError]:
    """Write until there is an error: how many were written, and the error."""
    done = 0
    while True:
        try:
            done += write(done)
        except UnavailableError as error:
            return done, error


def test_writes_until_the_disk_is_full(small: tuple[str, Path], server: Server) -> None:
    """The write that does not fit is refused as a whole, reads go on, and so do writes when there
    is room again."""
    dsn, folder = small
    with Mnemo(dsn, **WHO) as m, server.connect("on_small") as conn:
        kept, error = until_full(lambda done: len(m.remember_plans(batch(done))))
        assert (error.sqlstate, error.retryable, error.connection_lost) == ("53100", True, False)
        assert error.hint
        assert kept > 0

        count = "SELECT count(*) FROM mnemo.memory"
        assert scalar(conn, count) == kept
        assert inconsistencies(conn) == []
        for number in (0, kept - 50):
            assert m.recall_plan(str(batch(number)[7]["query"])).hit

        # Single writes meet the same end.
        singles, error = until_full(lambda done: bool(m.remember(json.dumps(batch(done)))))
        assert error.sqlstate == "53100"
        assert scalar(conn, count) == kept + singles
        assert inconsistencies(conn) == []

        mount("-o", f"remount,size={MORE}", folder)
        assert len(m.remember_plans(batch(kept))) == 50
        assert scalar(conn, count) == kept + singles + 50
        assert inconsistencies(conn) == []
