"""Every example of README.md and docs/ does what the page shows.

A page is one story: its blocks run in their order, on one fresh database named `app` with mnemo_pg
installed. What a block is, its language says:

- `sql` goes through psql, a session a block. A `text` block behind it is what psql prints; without
  one the block must run without an error.
- `python` is executed, with the names of the blocks before it. A `text` block behind it is what it
  prints; without one it must print nothing.
- `console` holds commands, behind a dollar sign, each followed by what it prints.
- `jsonl NAME` is a file of that name, there for the commands after it.
- `sh`, `text` and others are only read.

Ids, times and rates of this run are not those of the page: they are compared as such.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from tests.support.server import ROOT, Server

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
DATABASE = "app"
NEEDED = ("sql", "alembic", "pyproject.toml")

_VARYING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(\+\d\d)?"), "<time>"),
    (re.compile(r"[\d.]+ s, [\d,]+ lines a second"), "<rate>"),
)
_SHORT_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,5})?\+\d\d")
_WIDTH = re.compile(r"(?<=[ -])[ -]+|^ +", re.MULTILINE)
_FENCE = re.compile(r"^```(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its fence, its language and name, its text."""

    line: int
    language: str
    name: str
    text: str


@dataclass(frozen=True)
class Example:
    """A block that runs, and the text block right behind it, if there is one."""

    block: Block
    shown: str | None


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    start, info = 0, ""
    held: list[str] | None = None
    for number, line in enumerate(page.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence is None:
            if held is not None:
                held.append(line)
        elif held is None:
            start, info, held = number, fence[1].strip(), []
        else:
            language, _, name = info.partition(" ")
            found.append(Block(start, language, name, "\n".join(held)))
            held = None
    assert held is None, f"the block of line {start} has no end"
    return found


def examples(page: str) -> list[Example]:
    """The blocks that do something, each with the output that the page shows."""
    lines = page.splitlines()
    found = blocks(page)
    made = []
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.language not in ("sql", "python", "console", "jsonl"):
            continue
        shown = None
        if following is not None and following.language == "text":
            between = lines[block.line + block.text.count("\n") + 2 : following.line - 1]
            if not any(line.strip() for line in between):
                shown = following.text
        made.append(Example(block, shown))
    return made


def stable(text: str, narrow: bool = False) -> list[str]:
    """The lines of an output with what varies from run to run replaced, blank lines at the ends and
    spaces at line ends removed; with `narrow` runs of spaces and of dashes shortened to one."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    if narrow:
        text = _WIDTH.sub("", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


def difference(shown: str, seen: str) -> str | None:
    """What is wrong with the page; None when it shows what was seen."""
    # A table is as wide as its times, and microseconds that end in a zero are printed without it.
    narrow = bool(_SHORT_TIME.search(seen))
    expected, found = stable(shown, narrow), stable(seen, narrow)
    if expected == found:
        return None
    return "\n".join(difflib.unified_diff(expected, found, "page", "seen", lineterm=""))


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output under it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line.removeprefix("$ ")], []))
        elif found and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            assert found, f"a console block begins with a command, not with: {line}"
            found[-1][1].append(line)
    return [("\n".join(command), "\n".join(output)) for command, output in found]


@dataclass
class Stage:
    """Where a page runs: a folder and the variables that lead every client to its database."""

    folder: Path
    environment: dict[str, str]
    names: dict[str, object] = field(default_factory=dict)

    def run(self, command: list[str], stdin: str = "") -> tuple[int, str]:
        """Run a program; its exit code and what it printed, errors in place."""
        done = subprocess.run(
            command, input=stdin, cwd=self.folder, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stdout

    def sql(self, example: Example) -> str | None:
        """Through psql. CONTEXT lines name places in the functions and are left out."""
        command = ["psql", "-X", "-v", "SHOW_CONTEXT=never"]
        _, seen = self.run(command, example.block.text)
        if example.shown is not None:
            return difference(example.shown, seen)
        return seen if re.search(r"^(ERROR|FATAL|psql): ", seen, re.MULTILINE) else None

    def python(self, example: Example) -> str | None:
        """In this process."""
        printed = io.StringIO()
        code = compile(example.block.text, "example", "exec", dont_inherit=True)
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
        except Exception:
            return printed.getvalue() + traceback.format_exc(limit=-2)
        return difference(example.shown or "", printed.getvalue())

    def console(self, example: Example) -> str | None:
        """Through a shell, command by command; one that shows nothing must print nothing and
        succeed."""
        for command, shown in commands(example.block.text):
            code, seen = self.run(["bash", "-c", command])
            wrong = difference(shown, seen)
            if wrong is None and code != 0 and not shown:
                wrong = f"exit code {code}"
            if wrong is not None:
                return f"$ {command}\n{wrong}"
        return None

    def jsonl(self, example: Example) -> str | None:
        """A file for the commands that follow."""
        (self.folder / example.block.name).write_text(example.block.text + "\n", "utf-8")
        return None


def faults(page: str, stage: Stage) -> list[str]:
    """Run a page; what does not do as it says, with the line of the block."""
    found = []
    for example in examples(page):
        run: Callable[[Example], str | None] = getattr(stage, example.block.language)
        wrong = run(example)
        if wrong is not None:
            found.append(f"line {example.block.line}:\n{wrong}")
    return found


@pytest.fixture
def stage(
    server: Server, template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """A fresh database `app`; databases and roles that a page makes are gone after it."""
    with server.connect() as conn:
        databases = {name for (name,) in conn.execute("SELECT datname FROM pg_database")}
        roles = {name for (name,) in conn.execute("SELECT rolname FROM pg_roles")}
    server.create_database(DATABASE, template)
    for name in NEEDED:
        (tmp_path / name).symlink_to(ROOT / name)
    dsn = make_conninfo("", host=str(server.folder), user="postgres", dbname=DATABASE)
    for name in os.environ:
        if name.startswith(("PG", "MNEMO_")):
            monkeypatch.delenv(name)
    for name, value in {
        "PATH": f"{server.bindir}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PGHOST": str(server.folder),
        "PGUSER": "postgres",
        "PGDATABASE": DATABASE,
        "MNEMO_PG_DSN": dsn,
        "MNEMO_PG_HOME": "/nonexistent/mnemo_pg",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "80",
    }.items():
        monkeypatch.setenv(name, value)
    yield Stage(tmp_path, dict(os.environ))
    with server.connect() as conn:
        for (name,) in conn.execute("SELECT datname FROM pg_database").fetchall():
            if name not in databases:
                server.drop_database(name)
        for (name,) in conn.execute("SELECT rolname FROM pg_roles").fetchall():
            if name not in roles:
                conn.execute(f'DROP ROLE "{name}"')


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_examples_do_what_the_page_shows(page: Path, stage: Stage, server: Server) -> None:
    """Each page, from top to bottom."""
    if page.name == "vectors.md":
        with server.connect() as conn:
            available = "SELECT FROM pg_available_extensions WHERE name = 'vector'"
            if conn.execute(available).fetchone() is None:
                pytest.skip("this server has no pgvector")
    found = faults(page.read_text("utf-8"), stage)
    assert not found, f"{page.name}\n" + "\n\n".join(found)


def test_a_time_may_end_in_zeros() -> None:
    """Neither its digits nor the width of its column are those of the page."""
    page = " n |              at\n---+-------------------------------\n 1 | "
    time = "2026-12-07 15:20:02"
    shown, seen = f"{page}{time}.123456+00", f"{page.replace('-----', '----', 1)}{time}.12345+00"
    assert difference(shown, seen.replace("   at", "  at")) is None
    assert difference(shown, seen.replace(" 1 ", " 2 ")) is not None
    assert difference(shown, shown.replace("   at", "  at")) is not None


WRONG = {
    "sql output": "sql\nSELECT 1 AS n;\n{}\n\n{}text\n n\n---\n 2\n(1 row)",
    "sql error": "sql\nSELECT mnemo.recall_plan(NULL);",
    "python output": "python\nprint(1)\n{}\n\n{}text\n2",
    "python silent": "python\nprint(1)",
    "python error": "python\nraise ValueError",
    "console output": "console\n$ echo 1\n2",
    "console failure": "console\n$ false",
}


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_example_is_noticed(page: str, stage: Stage) -> None:
    """The runner sees each way in which a page can be wrong."""
    fenced = ("{}" + page + "\n{}").replace("{}", "```")
    assert len(faults(fenced, stage)) == 1


def test_what_varies_is_compared_by_its_kind() -> None:
    """Ids, times and rates count as equal, anything else does not."""
    first = "01a22c09-7fec-740c-830e-0616d7227dd9 at 2026-11-30 10:39, 0.0 s, 64 lines a second  "
    other = "01a22c09-ffff-740c-830e-0616d7227ddf at 2027-01-01 08:00, 1.5 s, 1,064 lines a second"
    assert difference(first, other) is None
    assert difference(first, other.replace("at", "on")) is not None
