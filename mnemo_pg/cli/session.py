"""Where to connect, and how failures become one line with the remedy and an exit code."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemo_pg.cli import output
from mnemo_pg.client import Mnemo
from mnemo_pg.embedded import EmbeddedError, EmbeddedServer
from mnemo_pg.errors import (
    AccessError,
    ArgumentError,
    LimitError,
    MnemoError,
    NotInstalledError,
    UnavailableError,
    from_database,
)
from mnemo_pg.install import installed_version
from mnemo_pg.source import default_version

MISS_OR_FAILURE = 1
USAGE = 2
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        help="Database to use. Default: MNEMO_PG_DSN, else the embedded server.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class CommandError(Exception):
    """A failure that the command explains in its own words."""

    def __init__(self, message: str, code: int = MISS_OR_FAILURE) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Options:
    """The options that every command has, given before it or after it."""

    dsn: str | None = None
    json: bool = False

    @property
    def given_dsn(self) -> str | None:
        """The DSN of the command line or the environment; None: the embedded server."""
        return self.dsn if self.dsn is not None else os.environ.get("MNEMO_PG_DSN") or None


def options(context: typer.Context, dsn: str | None, json: bool) -> Options:
    """Join what stands after the command with what stood before it."""
    before = context.obj if isinstance(context.obj, Options) else Options()
    return Options(dsn=before.dsn if dsn is None else dsn, json=before.json or json)


def start_embedded(server: EmbeddedServer) -> str:
    """Start the embedded server, saying so when that takes a moment."""
    if server.running():
        return server.start()
    with output.stderr().status(f"starting the embedded server in {server.home}"):
        return server.start()


def place(dsn: str) -> str:
    """A DSN for people: where it leads, without secrets."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        return "the given DSN"
    host = str(parts.get("host") or os.environ.get("PGHOST") or "the default socket")
    port = f":{parts['port']}" if parts.get("port") and not host.startswith("/") else ""
    database = parts.get("dbname") or os.environ.get("PGDATABASE")
    return f"{database} on {host}{port}" if database else f"{host}{port}"


def connect(dsn: str) -> psycopg.Connection[Any]:
    """A connection of which every call is a transaction of its own."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        # The parser's message repeats the text, and with it the password.
        raise CommandError(
            "the DSN cannot be read; write it as postgresql://user@host:5432/database"
            ' (no "+driver") or "host=... dbname=..."',
            USAGE,
        ) from error
    if not parts.get("connect_timeout") and "PGCONNECT_TIMEOUT" not in os.environ:
        dsn = make_conninfo(dsn, connect_timeout=10)
    try:
        # Prepared statements would be lost behind a pooler.
        return psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
    except psycopg.OperationalError as error:
        raise CommandError(
            f"cannot connect to {place(dsn)}: {_first_line(error)};"
            " is the server up, and is the DSN (--dsn or MNEMO_PG_DSN) right?"
        ) from error


def check_version(connection: psycopg.Connection[Any]) -> str:
    """The installed version, if this package can talk to it."""
    installed = installed_version(connection)
    known = default_version()
    database = connection.info.dbname
    if installed is None:
        raise CommandError(
            f"mnemo_pg is not installed in database {database}: run mnemo-pg init"
            " (with the same DSN), or CREATE EXTENSION mnemo_pg"
        )
    if installed != known:
        if _order(installed) < _order(known):
            remedy = "update the database: ALTER EXTENSION mnemo_pg UPDATE, or alembic upgrade head"
        else:
            remedy = "update the package: pip install --upgrade mnemo_pg"
        raise CommandError(
            f"database {database} has mnemo_pg {installed}, this package is for {known}: {remedy}"
        )
    return installed


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@contextmanager
def connected(chosen: Options) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the chosen database, the embedded one if none was named."""
    dsn = chosen.given_dsn
    if dsn is None:
        dsn = start_embedded(EmbeddedServer())
    with connect(dsn) as connection:
        yield connection


@contextmanager
def client(
    chosen: Options, *, agent_id: str | None = None, org_id: str | None = None
) -> Iterator[Mnemo]:
    """A client of the chosen database, after a look at its version."""
    with connected(chosen) as connection:
        check_version(connection)
        yield Mnemo(connection, agent_id=agent_id, org_id=org_id)


def explain(error: Exception) -> tuple[str, int] | None:
    """What to print for an error, and the exit code; None: a fault of ours, with its traceback."""
    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"cannot write: {error.strerror}", MISS_OR_FAILURE
    if isinstance(error, EmbeddedError):
        return str(error), MISS_OR_FAILURE
    if isinstance(error, psycopg.Error):
        known = from_database(error)
        if known is None:
            code = f"the database says {error.sqlstate}: " if error.sqlstate else ""
            return code + (error.diag.message_primary or _first_line(error)), MISS_OR_FAILURE
        error = known
    if isinstance(error, UnavailableError) and error.connection_lost:
        return (
            f"the connection was lost: {_first_line(error)};"
            " what the answer does not show may not have been done, run the command again"
        ), MISS_OR_FAILURE
    if isinstance(error, MnemoError):
        text = error.message
        if isinstance(error, AccessError) and not error.hint:
            text += (
                "; an administrator can allow it: SELECT mnemo.grant_access('role', 'application')"
            )
        elif isinstance(error, NotInstalledError) or error.hint:
            text += f"; {error.hint}"
        usage = isinstance(error, (ArgumentError, LimitError))
        return text, USAGE if usage else MISS_OR_FAILURE
    return None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # Where a name has several addresses, the first line only says that a list follows.
    several = len(lines) > 1 and lines[0].rstrip().endswith(":")
    line = (lines[1] if several else lines[0]).strip(" -")
    return line.removeprefix("connection failed: ").removeprefix("connection is bad: ")
