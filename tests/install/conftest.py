"""Installed databases of each kind to clone from, and databases made on the spot."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.config import CommandLine, Config
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemo_pg.source import sql_path
from tests.install import samples
from tests.support.installs import MODES, install
from tests.support.server import ROOT, SUPERUSER, Server

_numbers = itertools.count(1)

NewDatabase = Callable[..., str]
Alembic = Callable[..., str]
Install = Callable[..., None]


def create_roles(server: Server) -> None:
    """The roles that the samples grant levels to."""
    with server.connect() as conn:
        for role in samples.ROLES:
            conn.execute(f"CREATE ROLE {role} LOGIN")


@pytest.fixture(scope="session")
def roles(server: Server) -> None:
    """The roles exist."""
    create_roles(server)


@pytest.fixture(scope="session")
def installed(server: Server) -> dict[str, str]:
    """One database installed in each way: mode -> name."""
    for mode in MODES:
        server.create_database(f"installed_{mode}")
        install(server, f"installed_{mode}", mode)
    return {mode: f"installed_{mode}" for mode in MODES}


@pytest.fixture(scope="session")
def filled(server: Server, installed: dict[str, str], roles: None) -> dict[str, str]:
    """The same with sample rows in every table: mode -> name. Not to be changed."""
    for mode, template in installed.items():
        samples.fill(server.create_database(f"filled_{mode}", template))
    return {mode: f"filled_{mode}" for mode in installed}


@pytest.fixture(scope="session")
def script(server: Server) -> Path:
    """The install script where the server's user can read it."""
    path = server.folder / "install.sql"
    path.write_bytes(sql_path().read_bytes())
    path.chmod(0o644)
    return path


@pytest.fixture
def alembic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Alembic:
    """Runs the alembic command inside this process; gives what it printed.

    Errors of the database come as SQLAlchemy's, those of the command as RuntimeError.
    """

    def run(dsn: str | None, *arguments: str, configuration: Path = ROOT / "pyproject.toml") -> str:
        if dsn is None:
            monkeypatch.delenv("MNEMO_PG_DSN", raising=False)
        else:
            monkeypatch.setenv("MNEMO_PG_DSN", dsn)
        command = CommandLine()
        options = command.parser.parse_args(arguments)
        printed = io.StringIO()
        config = Config(
            None if configuration.suffix == ".toml" else configuration,
            toml_file=configuration if configuration.suffix == ".toml" else None,
            output_buffer=printed, stdout=printed, cmd_opts=options,
        )  # fmt: skip
        try:
            command.run_cmd(config, options)
        except SystemExit as error:
            raise RuntimeError(f"{error.code} {''.join(capsys.readouterr())}") from error
        return printed.getvalue()

    return run


@pytest.fixture
def attempt(server: Server, alembic: Alembic) -> Install:
    """Installs as a user in one way; Alembic inside this process, which is quicker."""

    def run(dsn: str, mode: str, user: str = SUPERUSER) -> None:
        if mode == "alembic":
            alembic(make_conninfo(dsn, user=user), "upgrade", "head")
        else:
            install(server, str(conninfo_to_dict(dsn)["dbname"]), mode, user)

    return run


@pytest.fixture
def new_database(server: Server) -> Iterator[NewDatabase]:
    """Creates databases (as `Server.create_database` does), which go at the end of the test."""
    names: list[str] = []

    def create(template: str | None = None, options: str = "") -> str:
        names.append(f"install_{next(_numbers)}")
        return server.create_database(names[-1], template, options)

    yield create
    for name in names:
        server.drop_database(name)
