"""The build: one text from the same parts, and every part fit for every installer."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pglast
import pytest

from mnemo_pg import _build
from mnemo_pg.source import default_version, sql_path, sql_text
from tests.support.server import ROOT

PARTS = {"000_first.sql": "SELECT 1;\n", "220_memory.sql": "SELECT '@mnemo_version@';\n"}

Edit = Callable[[Path], object]


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    """A copy of the folder sql/, to edit; beside it the page that is made from it."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "reference.md", tmp_path / "docs")
    return Path(shutil.copytree(ROOT / "sql", tmp_path / "sql"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of the same kind with two short parts."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "manifest.txt").write_text("# in order\n\n" + "\n".join(PARTS) + "\n")
    for name, text in PARTS.items():
        (tmp_path / "parts" / name).write_text(text)
    return tmp_path


def _check(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mnemo_pg._build", *arguments],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("program", [("-m", "mnemo_pg._build"), ("sql/unicode.py",)])
def test_every_committed_generated_file_is_up_to_date(program: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, *program, "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_same_parts_give_the_same_bytes(sql: Path) -> None:
    version = default_version()
    first = _build.build_sql(sql, version)
    # Another order of the folder's entries, and other times of change.
    parts = list((sql / "parts").iterdir())
    random.Random(1).shuffle(parts)
    for number, path in enumerate(parts):
        text = path.read_bytes()
        path.unlink()
        path.write_bytes(text)
        os.utime(path, (number, number))
    assert _build.build_sql(sql, version) == first == sql_text()


def test_locale_time_zone_and_folder_do_not_change_the_bytes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sql", tmp_path / "sql")
    shutil.copytree(ROOT / "mnemo_pg", tmp_path / "mnemo_pg")
    built = tmp_path / "sql" / "dist" / sql_path().name
    built.unlink()
    done = _check(tmp_path, LC_ALL="C", TZ="Asia/Tokyo", PYTHONHASHSEED="7", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert built.read_bytes() == sql_path().read_bytes()
    assert _check(tmp_path, "--check").returncode == 0


def test_the_script_is_ascii_without_a_trace_of_where_it_was_built() -> None:
    raw = sql_path().read_bytes()
    assert raw.isascii()
    assert b"\r" not in raw
    assert b"\t" not in raw
    assert b"@mnemo_version@" not in raw
    assert str(ROOT).encode() not in raw
    assert raw.endswith(b"\n")


def test_the_parts_stand_in_the_order_of_the_manifest() -> None:
    listed = _build.manifest(ROOT / "sql")
    assert listed == sorted(listed)
    text = sql_text()
    places = [text.index(f"\n-- part: {name}\n") for name in listed]
    assert places == sorted(places)


# Each edit of the copy, and what the builder must say.
FAULTS: dict[str, tuple[Edit, str]] = {
    "an unlisted part": (
        lambda folder: (folder / "parts/999_new.sql").write_text("SELECT 1;\n"),
        r"parts that manifest.txt does not list: 999_new.sql",
    ),
    "a missing part": (
        lambda folder: (folder / "parts/220_memory.sql").unlink(),
        r"manifest.txt lists parts that are not there: 220_memory.sql",
    ),
    "a part listed twice": (
        lambda folder: _add(folder / "manifest.txt", "220_memory.sql\n"),
        r"manifest.txt lists a part twice",
    ),
    "a file of an editor": (
        lambda folder: (folder / "parts/220_memory.sql~").write_text("x\n"),
        r"does not list: 220_memory.sql~",
    ),
    "not ASCII": (
        lambda folder: _add(folder / "parts/220_memory.sql", "-- caf\u00e9\n"),
        r"220_memory.sql is not ASCII",
    ),
    "a byte order mark": (
        lambda folder: (folder / "parts/220_memory.sql").write_bytes(b"\xef\xbb\xbfSELECT 1;\n"),
        r"220_memory.sql is not ASCII",
    ),
    "a tab": (
        lambda folder: _add(folder / "parts/220_memory.sql", "\tSELECT 1;\n"),
        r"220_memory.sql contains a tab",
    ),
    "CRLF": (
        lambda folder: (folder / "parts/220_memory.sql").write_bytes(b"SELECT 1;\r\n"),
        r"220_memory.sql contains a carriage return",
    ),
    "a NUL": (
        lambda folder: _add(folder / "parts/220_memory.sql", "-- \x00\n"),
        r"220_memory.sql contains the control character",
    ),
    "no line feed at the end": (
        lambda folder: _add(folder / "parts/220_memory.sql", "SELECT 1;"),
        r"220_memory.sql does not end with a line feed",
    ),
    "301 lines": (
        lambda folder: (folder / "parts/220_memory.sql").write_text("SELECT 1;\n" * 301),
        r"220_memory.sql has 301 lines, at most 300",
    ),
    "a psql command": (
        lambda folder: _write(folder, "SELECT 1;\n\\echo done\n"),
        r"220_memory.sql:2 has a psql command",
    ),
    "an indented psql command": (
        lambda folder: _write(folder, "  \\set ON_ERROR_STOP on\n"),
        r"220_memory.sql:1 has a psql command",
    ),
    "a psql command behind SQL": (
        lambda folder: _write(folder, "SELECT $$ it's $$;\n\nSELECT 'DROP TABLE x' \\gexec\n"),
        r"220_memory.sql:3 has a psql command",
    ),
    "a psql variable": (
        lambda folder: _write(folder, "SELECT :name;\n"),
        r"220_memory.sql:1 has a psql variable",
    ),
    "a quoted psql variable": (
        lambda folder: _write(folder, "SELECT :'name';\n"),
        r"220_memory.sql:1 has a psql variable",
    ),
    "an open quote": (
        lambda folder: _write(folder, "SELECT 1;\nSELECT 'x;\n"),
        r"220_memory.sql:2 has an open quote",
    ),
    "a character beyond ASCII where the script is read": (
        lambda folder: _write(folder, "SELECT 1;\nSELECT E'\\u1680';\n"),
        r"220_memory.sql:2 names a character beyond ASCII",
    ),
    "the same as a quoted identifier": (
        lambda folder: _write(folder, 'SELECT 1 AS U&"\\00E9";\n'),
        r"220_memory.sql:1 names a character beyond ASCII",
    ),
}


def _add(path: Path, text: str) -> None:
    path.write_bytes(path.read_bytes() + text.encode())


def _write(folder: Path, text: str) -> None:
    (folder / "parts/220_memory.sql").write_text(text)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_builder_refuses(small: Path, fault: str) -> None:
    edit, message = FAULTS[fault]
    assert "SELECT '1.2.3';" in _build.build_sql(small, "1.2.3")
    edit(small)
    with pytest.raises(_build.BuildError, match=message):
        _build.build_sql(small, "1.2.3")


GOOD = (
    "SELECT 'a\\b', E'it\\'s \\\\', \"a\\b\", $$ \\echo $$, $x$ :y $$ ' $x$; -- \\echo :x '\n",
    "/* it's \\echo :x */ SELECT 1::int, E'\\n\\u0041', ARRAY[1, 2][1:2], 'it''s';\n",
    "SELECT p_x => 1, regexp_match('x', E'[\\\\u1680]');\n",
    "DO $do$ BEGIN PERFORM E'\\u1680'; END $do$;\n",
    "SELECT 1;\n" * 300,
)


@pytest.mark.parametrize("text", GOOD, ids=range(len(GOOD)))
def test_the_builder_takes_what_every_installer_can_run(small: Path, text: str) -> None:
    _write(small, text)
    assert text in _build.build_sql(small, "0.1.0")


def test_check_finds_an_edited_script_and_writes_nothing(
    sql: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_build, "SQL_FOLDER", sql)
    monkeypatch.setattr(_build, "CHECKOUT_FOLDER", sql.parent)
    built = sql / "dist" / sql_path().name
    assert _build.main(["--check"]) == 0
    for edited in (built.read_bytes() + b"\n", b"", built.read_bytes().replace(b"\n", b"\r\n")):
        built.write_bytes(edited)
        capsys.readouterr()
        assert _build.main(["--check"]) == 1
        assert capsys.readouterr().out == f"out of date: sql/dist/{built.name}\n"
        assert built.read_bytes() == edited
    built.unlink()
    assert _build.main(["--check"]) == 1
    assert not built.exists()
    assert _build.main([]) == 0
    assert built.read_bytes() == sql_path().read_bytes()
    assert _build.main(["--check"]) == 0


def test_check_finds_a_changed_part(
    sql: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_build, "SQL_FOLDER", sql)
    monkeypatch.setattr(_build, "CHECKOUT_FOLDER", sql.parent)
    _add(sql / "parts/220_memory.sql", "-- new\n")
    assert _build.main(["--check"]) == 1
    assert "out of date: sql/dist" in capsys.readouterr().out
    _add(sql / "parts/220_memory.sql", "\\echo\n")
    assert _build.main(["--check"]) == 1
    assert "build: 220_memory.sql" in capsys.readouterr().err


def test_a_second_parser_reads_the_script() -> None:
    """The grammar of PostgreSQL as a library, statement by statement."""
    statements = pglast.parse_sql(sql_text())
    assert len(statements) > 300
    kinds = {type(statement.stmt).__name__ for statement in statements}
    # No seed rows, no roles, no transaction of its own, nothing but definitions.
    assert kinds == {
        "AlterTableStmt", "CommentStmt", "CompositeTypeStmt", "CreateFunctionStmt", "CreateStmt",
        "DoStmt", "IndexStmt", "ViewStmt",
    }  # fmt: skip
    replacing = [
        statement.stmt for statement in statements if getattr(statement.stmt, "replace", False)
    ]
    # A function that somebody planted beforehand would stay his.
    assert replacing == []


def test_each_part_holds_whole_statements() -> None:
    for name in _build.manifest(ROOT / "sql"):
        pglast.parse_sql((ROOT / "sql" / "parts" / name).read_text("ascii"))
