"""Ways to run the command line, and homes for the embedded server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemo_pg.cli.app import app
from mnemo_pg.embedded import EmbeddedServer
from tests.support.server import ROOT


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)


def environment(home: Path | None = None, **more: str) -> dict[str, str]:
    """The environment of a command: no settings of whoever runs the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "MNEMO_", "FORCE_"))}
    where = {} if home is None else {"MNEMO_PG_HOME": str(home)}
    return {**kept, "PYTHONPATH": str(ROOT), **where, **more}


@pytest.fixture
def nowhere() -> Path:
    """A home in which nothing ever runs."""
    return Path("/nonexistent/mnemo_pg")


@pytest.fixture
def cli(nowhere: Path) -> Callable[..., Done]:
    """Run a command in this process."""

    def run(*arguments: str, input: bytes | str | None = None, **env: str | None) -> Done:
        quiet = {"MNEMO_PG_DSN": None, "MNEMO_PG_HOME": str(nowhere), "COLUMNS": "200"}
        found = CliRunner().invoke(app, list(arguments), input=input, env={**quiet, **env})
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return Done(found.exit_code, found.stdout, found.stderr)

    return run


@pytest.fixture
def shell(nowhere: Path) -> Callable[..., Done]:
    """Run a command as a process of its own."""

    def run(*arguments: str, home: Path | None = None, **env: str) -> Done:
        found = subprocess.run(
            [sys.executable, "-m", "mnemo_pg.cli", *arguments],
            env=environment(home or nowhere, **env), capture_output=True, text=True, check=False,
            timeout=120, cwd="/",
        )  # fmt: skip
        return Done(found.returncode, found.stdout, found.stderr)

    return run


def _new_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="mnemo-cli-", dir="/tmp"))
    # As root the server runs as another user, who has to pass through.
    home.chmod(0o755)
    return home


def _remove(home: Path) -> None:
    EmbeddedServer(home).stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home of its own."""
    made = _new_home()
    yield made
    _remove(made)


@pytest.fixture(scope="session")
def common_home() -> Iterator[Path]:
    """A home that several tests share; they leave its server running."""
    made = _new_home()
    EmbeddedServer(made).start()
    yield made
    _remove(made)
