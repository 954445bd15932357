"""PgBouncer in transaction mode in front of a server of the tests, on a socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from tests.support.server import SUPERUSER, Server

DEADLINE = 30
SERVER_CONNECTIONS = 3


def program() -> str | None:
    """Where PgBouncer is; Debian puts it where only root's PATH looks."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@dataclass(frozen=True)
class PgBouncer:
    """A running PgBouncer."""

    folder: Path
    server: Server

    def dsn(self, dbname: str, **more: str) -> str:
        """A database through the pooler, as superuser unless `user` is given."""
        chosen = {"user": SUPERUSER, "dbname": dbname, **more}
        return make_conninfo("", host=str(self.folder), port="6432", **chosen)


@contextmanager
def pgbouncer(server: Server, users: Iterable[str] = (), forced: str = "") -> Iterator[PgBouncer]:
    """A PgBouncer for as long as the block runs.

    `users` may log in, besides the superuser. The database name `forced` leads every one of them to
    the server as that role, to the database of the same name.
    """
    found = program()
    assert found is not None, "PgBouncer is not installed"
    folder = server.folder / "pgbouncer"
    folder.mkdir()
    names = [SUPERUSER, *users, *([forced] if forced else [])]
    (folder / "users").write_text("".join(f'"{name}" ""\n' for name in names))
    place = f"host={server.folder} port=5432"
    (folder / "ini").write_text(
        f"[databases]\n"
        f"{f'forced = {place} user={forced}' if forced else ''}\n"
        f"* = {place}\n"
        f"[pgbouncer]\n"
        f"pool_mode = transaction\n"
        f"default_pool_size = {SERVER_CONNECTIONS}\n"
        f"max_client_conn = 200\n"
        f"listen_port = 6432\n"
        f"unix_socket_dir = {folder}\n"
        f"logfile = {folder}/log\n"
        f"auth_type = trust\n"
        f"auth_file = {folder}/users\n"
        f"admin_users = {SUPERUSER}\n"
    )
    server._give_away(folder)
    process = subprocess.Popen(
        [found, "-q", str(folder / "ini")],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        **server._identity,
    )  # type: ignore[call-overload]
    try:
        running = PgBouncer(folder, server)
        _wait(running, process)
        yield running
    finally:
        process.terminate()
        process.wait(DEADLINE)
        shutil.rmtree(folder)


def _wait(running: PgBouncer, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + DEADLINE
    while True:
        assert process.poll() is None, (running.folder / "log").read_text()
        try:
            psycopg.connect(running.dsn("pgbouncer"), autocommit=True).close()
        except psycopg.OperationalError:
            assert time.monotonic() < end, "PgBouncer does not answer"
        else:
            return
