"""A server that keeps what it has acknowledged, and its sudden end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psycopg

from tests.support.server import SETTINGS, Server

# A commit is in the hands of the operating system before it is acknowledged. That outlives the
# processes; writing through to the disk would matter for the end of the machine alone.
DURABLE = (
    *(setting for setting in SETTINGS if not setting.startswith("synchronous_commit")),
    "synchronous_commit=on",
)
DEADLINE = 60


def kill(server: Server) -> None:
    """SIGKILL for the postmaster and all of its processes; return when none is left."""
    lock = server.data / "postmaster.pid"
    postmaster = int(lock.read_text().split()[0])
    # Stopped first, it starts no new process and notices no death.
    os.kill(postmaster, signal.SIGSTOP)
    family = [*_children(postmaster), postmaster]
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + DEADLINE
    while any(_runs(pid) for pid in family):
        assert time.monotonic() < end, "a server process outlived SIGKILL"
    # Where nobody collects orphans, as in a container without an init, the dead postmaster keeps
    # its number, and the next one would take it for a running server.
    if Path(f"/proc/{postmaster}").exists():
        lock.unlink()
        (server.folder / ".s.PGSQL.5432.lock").unlink()


def restart(server: Server) -> None:
    """Start a killed server: it recovers first."""
    server.start(DURABLE)


def other_backend(conn: psycopg.Connection) -> int:
    """The server process of the only other client of this database, once it is there."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        # A transaction would see the same sessions each time.
        conn.execute("SELECT pg_stat_clear_snapshot()")
        found = conn.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
        if len(found) == 1:
            return int(found[0][0])
    raise AssertionError("no other client, or more than one")


def _stat(pid: int) -> list[str]:
    # The name in parentheses may contain spaces.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if int(_stat(int(folder.name))[1]) == parent:
                    found.append(int(folder.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def _runs(pid: int) -> bool:
    try:
        return _stat(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
