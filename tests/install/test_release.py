"""What the builder promises about versions: released scripts stay; each version has a way on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pglast
import pytest

from mnemo_pg import _build, _updates
from mnemo_pg.source import script_versions, update_path
from tests.install.next_release import NEXT, THIS, build, source
from tests.support.server import ROOT

INSTALL, UPDATE = f"mnemo_pg--{THIS}.sql", f"mnemo_pg--{THIS}--{NEXT}.sql"


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    """A folder sql/ where this version is released and the next one is being written."""
    return source(tmp_path)


def test_statements_are_those_of_the_grammar() -> None:
    """Another splitter, PostgreSQL's own, cuts every part at the same places."""
    for name in _build.manifest(ROOT / "sql"):
        text = (ROOT / "sql" / "parts" / name).read_text("ascii")
        ours = [_code(statement) for _, statement in _updates.statements(name, text)]
        assert ours == [_code(statement + ";") for statement in pglast.split(text)], name


def _code(statement: str) -> str:
    return "".join(re.sub(r"^\s*(--[^\n]*\n\s*)*", "", statement).split())


def test_an_update_runs_every_function_view_and_comment(tmp_path: Path) -> None:
    text = (build(tmp_path) / UPDATE).read_text("ascii")
    statements = [statement.stmt for statement in pglast.parse_sql(text)]
    kinds = [type(statement).__name__ for statement in statements]
    fresh = [
        type(statement.stmt).__name__
        for statement in pglast.parse_sql(
            (tmp_path / "sql/dist" / f"mnemo_pg--{NEXT}.sql").read_text()
        )
    ]
    for kind in ("CreateFunctionStmt", "ViewStmt", "CommentStmt"):
        assert kinds.count(kind) == fresh.count(kind) > 1
    assert all(
        statement.replace for statement in statements
        if type(statement).__name__ in ("CreateFunctionStmt", "ViewStmt")
    )  # fmt: skip
    # Tables come from the hand-written part alone.
    assert kinds.count("CreateStmt") == 1
    assert "@mnemo" not in text
    assert text.isascii()
    assert _updates.build_update(tmp_path / "sql", THIS, NEXT) == text


def test_a_kind_of_statement_that_is_new_is_not_forgotten() -> None:
    with pytest.raises(_build.BuildError, match=r"x\.sql has CREATE AGGREGATE: say in"):
        _updates.replacing(
            "x.sql", "-- a CREATE TABLE\nCREATE AGGREGATE a (integer) (SFUNC = b);\n"
        )
    with pytest.raises(_build.BuildError, match=r"x\.sql ends inside a statement"):
        _updates.replacing("x.sql", "COMMENT ON TABLE a IS 'b';\nSELECT 1\n")


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text("ascii") + text, "ascii")


FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a part changed after its release": (
        THIS, lambda sql: None, f"{INSTALL} is released and stays as it is: raise default_version",
    ),
    "a released script edited": (
        NEXT, lambda sql: _append(sql / "dist" / INSTALL, "-- more\n"),
        f"sql/dist/{INSTALL} is released: bring it back as it was",
    ),
    "a released script lost": (
        NEXT, lambda sql: (sql / "dist" / INSTALL).unlink(),
        f"sql/dist/{INSTALL} is released: bring it back as it was",
    ),
    "no way from what is released": (
        NEXT, lambda sql: (sql / "updates" / UPDATE).unlink(),
        f"no update script leads from mnemo_pg {THIS} to {NEXT}",
    ),
    "a script from nowhere": (
        NEXT, lambda sql: (sql / "dist" / "mnemo_pg--0.0.1.sql").write_text("SELECT 1;\n"),
        r"neither the parts nor sql/released.txt make: \['mnemo_pg--0.0.1.sql'\]",
    ),
    "an update that breaks a rule of parts": (
        NEXT, lambda sql: _append(sql / "updates" / UPDATE, "\\echo\n"),
        f"{UPDATE}:.* has a psql command",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_builder_refuses(sql: Path, fault: str) -> None:
    version, edit, message = FAULTS[fault]
    assert set(_updates.scripts(sql, NEXT)) == {f"mnemo_pg--{NEXT}.sql", UPDATE}
    edit(sql)
    with pytest.raises(_build.BuildError, match=message):
        _updates.scripts(sql, version)


def test_a_release_is_listed_once(
    sql: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_build, "SQL_FOLDER", sql)
    monkeypatch.setattr(_build, "CHECKOUT_FOLDER", sql.parent)
    monkeypatch.setattr(_build, "default_version", lambda: NEXT)
    monkeypatch.setattr("mnemo_pg._sync.outputs", dict)
    assert _build.main(["--release"]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if "mnemo_pg--" in line]
    assert printed == [
        f"released: {UPDATE}", f"released: mnemo_pg--{NEXT}.sql",
        f"wrote: sql/dist/mnemo_pg--{NEXT}.sql", f"wrote: sql/dist/{UPDATE}",
    ]  # fmt: skip
    listed = _updates.released(sql)
    assert set(listed) == {INSTALL, UPDATE, f"mnemo_pg--{NEXT}.sql"}
    assert _updates.release(sql, NEXT) == []
    assert _build.main(["--check"]) == 0
    _append(sql / "parts/895_extra.sql", "-- after the release\n")
    assert _build.main(["--check"]) == 1
    assert "is released and stays as it is" in capsys.readouterr().err


def test_the_shortest_way_is_taken() -> None:
    names = [
        "mnemo_pg--1.sql", "mnemo_pg--1--2.sql", "mnemo_pg--2--3.sql", "mnemo_pg--3--4.sql",
        "mnemo_pg--2--4.sql", "mnemo_pg--4--2.sql",
    ]  # fmt: skip
    assert update_path("1", "4", names) == ["mnemo_pg--1--2.sql", "mnemo_pg--2--4.sql"]
    assert update_path("4", "4", names) == []
    with pytest.raises(ValueError, match="no update script leads from mnemo_pg 4 to 1"):
        update_path("4", "1", names)
    assert script_versions("mnemo_pg--0.1.0--0.2.0.sql") == ("0.1.0", "0.2.0")
    assert script_versions("mnemo_pg--0.1.0.sql") == (None, "0.1.0")
    with pytest.raises(ValueError, match="is no script of mnemo_pg"):
        script_versions("mnemo_pg.control")
