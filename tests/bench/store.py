"""The server of the benchmark and its databases, kept for the next run.

One server in one folder, from the wheel, with its normal durability. A database with plans is
named for workload, size, seed and SQL; one with the alternatives for workload, size and seed, as
they do not depend on the SQL. Each says in `bench.state` how far it has come.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from mnemo_pg.embedded import EmbeddedServer
from mnemo_pg.source import sql_text
from tests.bench.workloads import GENERATOR, Workload
from tests.support.server import ROOT

APPLICATION = "bench_application"


class BenchError(RuntimeError):
    """The benchmark cannot run. The text says what to do."""


def default_folder() -> Path:
    """Below the user's cache folder; for root one that the server's user can reach."""
    if os.geteuid() == 0:
        return Path("/var/cache/mnemo_pg/bench")
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "mnemo_pg" / "bench"


@functools.cache
def script() -> str:
    """The SQL under test: read once, whatever becomes of the file while the benchmark runs."""
    return sql_text()


def digest() -> str:
    """What stands in a database's name for the SQL that is installed in it."""
    return hashlib.sha256(script().encode()).hexdigest()[:10]


class Store:
    """The server of one folder. Starts with `shared_buffers`, all else as `initdb` leaves it."""

    def __init__(self, folder: Path, shared_buffers: str) -> None:
        self.folder = folder.expanduser().absolute()
        if self.folder.is_relative_to(ROOT):
            raise BenchError(f"{self.folder} lies in the checkout; choose another --data")
        self.server = EmbeddedServer(self.folder)
        self._shared_buffers = shared_buffers

    @contextmanager
    def running(self) -> Iterator[Store]:
        """The server, for as long as the block runs; one benchmark at a time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "in-use", "a", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BenchError(
                    f"another benchmark uses {self.folder}: wait for it, or choose another --data"
                ) from None
            try:
                self.server.start()
                self._set_buffers()
                yield self
            finally:
                self.server.stop()

    def _set_buffers(self) -> None:
        with self.connect("postgres") as conn:
            row = conn.execute(
                "SELECT pg_size_bytes(current_setting('shared_buffers')) = pg_size_bytes(%s)",
                (self._shared_buffers,),
            ).fetchone()
            if row == (True,):
                return
            conn.execute(
                sql.SQL("ALTER SYSTEM SET shared_buffers = {}").format(self._shared_buffers)
            )
        self.restart()

    def restart(self) -> None:
        """Stop and start: shared buffers are empty then."""
        self.server.stop()
        self.server.start()

    def dsn(self, database: str, user: str | None = None) -> str:
        """The connection string of a database, for its owner or another user."""
        return make_conninfo(self.server.dsn, dbname=database, user=user)

    def connect(self, database: str, user: str | None = None) -> Connection[Any]:
        """An autocommit connection."""
        return psycopg.connect(self.dsn(database, user), autocommit=True)

    # Databases

    def database(self, workload: Workload, *, keep: bool) -> str:
        """The database with mnemo_pg for the plans of a workload; made when it is not there.

        Those of the same workload with other SQL are dropped first, unless they are to be kept.
        """
        name = f"{_stem(workload)}_sql_{digest()}"
        found = self._databases()
        if not keep:
            for old in sorted(found):
                same = old.startswith((f"{_stem(workload)}_sql_", "installed_sql_"))
                if same and not old.endswith(digest()):
                    self._drop(old)
        if name not in found:
            self._create(name, template=self._installed())
        return name

    def _installed(self) -> str:
        """An empty database with mnemo_pg, to copy."""
        name = f"installed_sql_{digest()}"
        if name not in self._databases():
            partial = "installing"
            self._drop(partial)
            self._create(partial)
            with self.connect(partial) as conn, conn.transaction():
                conn.execute(script(), prepare=False)
                conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
                _grant(conn)
                _create_state(conn)
            with self.connect("postgres") as conn:
                conn.execute(
                    sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
                        sql.Identifier(partial), sql.Identifier(name)
                    )
                )
        return name

    def alternatives(self, workload: Workload) -> str:
        """The database of the other ways to find a question; made when it is not there."""
        name = f"{_stem(workload)}_alternatives"
        if name not in self._databases():
            self._create(name)
        with self.connect(name) as conn, conn.transaction():
            conn.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
            _create_state(conn)
        return name

    def scratch(self, name: str) -> str:
        """An empty database with mnemo_pg, made anew."""
        self._drop(name)
        self._create(name, template=self._installed())
        return name

    def _databases(self) -> set[str]:
        with self.connect("postgres") as conn:
            return {name for (name,) in conn.execute("SELECT datname FROM pg_database")}

    def _create(self, name: str, template: str = "template1") -> None:
        with self.connect("postgres") as conn:
            conn.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )

    def _drop(self, name: str) -> None:
        with self.connect("postgres") as conn:
            conn.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )


def _stem(workload: Workload) -> str:
    return f"g{GENERATOR}_{workload.name}_{workload.size}_{workload.seed}"


# What a database says about itself


def _grant(conn: Connection[Any]) -> None:
    """Let the role of level application in, that recalls and remembers as services do."""
    found = conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APPLICATION,)).fetchone()
    if found is None:
        conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(APPLICATION)))
    conn.execute("SELECT mnemo.grant_access(%s, 'application')", (APPLICATION,))


def _create_state(conn: Connection[Any]) -> None:
    conn.execute("SET LOCAL client_min_messages = warning")
    conn.execute("CREATE SCHEMA IF NOT EXISTS bench")
    conn.execute(
        "CREATE TABLE IF NOT EXISTS bench.state (name text PRIMARY KEY, value jsonb NOT NULL)"
    )


def state(conn: Connection[Any], name: str, default: Any = None) -> Any:
    """A value that the database keeps; `default` when it has none."""
    row = conn.execute("SELECT value FROM bench.state WHERE name = %s", (name,)).fetchone()
    return default if row is None else row[0]


def set_state(conn: Connection[Any], name: str, value: Any) -> None:
    """Keep a value, in the caller's transaction."""
    conn.execute(
        "INSERT INTO bench.state VALUES (%s, %s)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, Jsonb(value)),
    )


@contextmanager
def timed(conn: Connection[Any], name: str) -> Iterator[None]:
    """Run the block in a transaction and keep its seconds under that name."""
    with conn.transaction():
        begun = time.perf_counter()
        yield
        set_state(conn, name, round(time.perf_counter() - begun, 3))


# The machine


def machine() -> dict[str, Any]:
    """What kind of machine this is: numbers and the processor's model, no names."""
    found: dict[str, Any] = {"cores": os.cpu_count(), "system": sys.platform}
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists() and (model := re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text())):
        found["processor"] = model[1]
    if meminfo.exists() and (total := re.search(r"MemTotal:\s*(\d+)", meminfo.read_text())):
        found["memory_gb"] = round(int(total[1]) / 2**20, 1)
    return found


def memory_for_builds() -> int:
    """Megabytes for building an index: a quarter of the memory, 4 GB at most."""
    total = float(machine().get("memory_gb", 4))
    return int(min(4096, max(256, total * 256)))


def free_gigabytes(folder: Path) -> float:
    """Free space where the folder is or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free / 2**30
