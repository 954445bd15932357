"""The three ways to install mnemo_pg, for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg

from mnemo_pg.source import control_path, sql_path
from tests.support.server import ROOT, Server

MODES = ("extension", "alembic", "psql")


def extension_folder(server: Server) -> Path:
    """Where the server finds the extension's files once `offer_extension` was called."""
    if server.version_num >= 180000:
        return server.folder / "share" / "extension"
    return server.share_folder()


def offer_extension(server: Server) -> None:
    """Make the control file and the script known to the server."""
    if server.version_num >= 180000:
        # The server's user may not be able to read the checkout.
        folder = extension_folder(server)
        folder.mkdir(parents=True, exist_ok=True)
        for path in (control_path(), sql_path()):
            shutil.copy(path, folder)
            (folder / path.name).chmod(0o644)
        for path in (folder.parent, folder):
            path.chmod(0o755)
        with server.connect() as conn:
            conn.execute(
                f"ALTER SYSTEM SET extension_control_path = '{folder.parent}:$system'"  # type: ignore[arg-type]
            )
            conn.execute("SELECT pg_reload_conf()")
        return
    # One folder for all servers of this version: another run may be reading it.
    for path in (control_path(), sql_path()):
        target = extension_folder(server) / path.name
        if not target.is_file() or target.read_bytes() != path.read_bytes():
            partial = target.with_name(f".{path.name}.{os.getpid()}")
            shutil.copy(path, partial)
            partial.chmod(0o644)
            partial.replace(target)


def install(server: Server, dbname: str, mode: str, user: str = "postgres") -> None:
    """Install mnemo_pg into a database; raises RuntimeError or psycopg.Error on failure."""
    if mode == "extension":
        with psycopg.connect(server.dsn(dbname, user=user), autocommit=True) as conn:
            conn.execute("CREATE EXTENSION mnemo_pg")
    elif mode == "alembic":
        run_alembic(server.dsn(dbname, user=user), "upgrade", "head")
    elif mode == "psql":
        script = server.folder / sql_path().name
        shutil.copy(sql_path(), script)
        script.chmod(0o644)
        server.run("psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", script,
                   server.dsn(dbname, user=user))  # fmt: skip
    else:
        raise ValueError(mode)


def run_alembic(dsn: str, *arguments: str, folder: Path = ROOT) -> str:
    """Run the alembic command of this repository against a database; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=folder, env={**os.environ, "MNEMO_PG_DSN": dsn},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"alembic failed:\n{done.stdout}{done.stderr}")
    return done.stdout
