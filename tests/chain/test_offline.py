"""An exported chain verifies without a database, and nothing of it can be changed unnoticed."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemo_pg import verify as offline
from tests.chain.conftest import Life, seal, verify
from tests.support.calls import rows, scalar
from tests.support.records import remember

SCRIPT = Path(offline.__file__)


def export(conn: psycopg.Connection, page: int = 7, **who: Any) -> list[str]:
    """The lines of a chain, page by page."""
    lines: list[str] = []
    after = None
    while found := rows(conn, "export_chain", after_seq=after, limit=page, **who):
        lines += [one["line"] for one in found]
        after = found[-1]["seq"]
    return lines


@pytest.fixture
def exported(chain_db: psycopg.Connection, life: Life) -> list[str]:
    """A chain of every kind of event, partly removed by retention."""
    for _ in range(120):
        life.step()
    seal(chain_db)
    before = scalar(chain_db, "SELECT happened_at FROM mnemo.event WHERE agent_id = 'ben'"
                    " AND seq = 6")  # fmt: skip
    assert rows(chain_db, "retain_events", before=before)
    for _ in range(40):
        life.step()
    seal(chain_db)
    return export(chain_db, agent_id="ben")


def test_an_export_verifies(chain_db: psycopg.Connection, exported: list[str]) -> None:
    answer = verify(chain_db, agent_id="ben")
    assert answer["anchor_seq"] > 0
    (report,) = offline.verify(exported, [answer["head"].hex()])
    assert report.ok, report
    assert (report.checked, report.head_seq, report.anchor_seq, report.head) == (
        answer["checked"], answer["head_seq"], answer["anchor_seq"], answer["head"].hex(),
    )  # fmt: skip
    # Several chains in one file, one of them never touched by retention.
    others = export(chain_db, 1000, agent_id="ana", org_id="acme")
    assert [one.ok for one in offline.verify([*exported, "\n", *others])] == [True, True]


def test_nothing_sealed_gives_nothing(chain_db: psycopg.Connection) -> None:
    remember(chain_db, agent_id="ana")
    assert rows(chain_db, "export_chain", agent_id="ana") == []
    (report,) = offline.verify([])
    assert (report.ok, report.reason) == (False, "line_unreadable")


def test_a_chain_that_grows_during_the_export(chain_db: psycopg.Connection) -> None:
    """Later events are more than the first line names, and they hold too."""
    remember(chain_db, agent_id="ana")
    seal(chain_db)
    lines = [one["line"] for one in rows(chain_db, "export_chain", agent_id="ana")]
    remember(chain_db, agent_id="ana")
    seal(chain_db)
    lines += [one["line"] for one in rows(chain_db, "export_chain", after_seq=1, agent_id="ana")]
    (report,) = offline.verify(lines)
    assert (report.ok, report.checked) == (True, 2)


def _tamper(lines: list[str], chooser: random.Random) -> tuple[str, list[str]]:
    changed = list(lines)
    place = chooser.randrange(len(lines))
    way = chooser.choice(("value", "value", "value", "remove", "repeat", "swap", "cut"))
    if way == "value":
        row = json.loads(changed[place])
        name = chooser.choice(sorted(row))
        old = row[name]
        row[name] = {
            dict: lambda: {**old, "importance": 0.75, "x": 1},
            int: lambda: old + 1,
            str: lambda: chooser.choice((old[:-1] + ("0" if old[-1:] != "0" else "1"), "", None)),
            type(None): lambda: chooser.choice(("00" * 32, 5, {})),
        }[type(old)]()
        changed[place] = json.dumps(row)
    elif way == "remove":
        del changed[place]
    elif way == "repeat":
        changed.insert(place, changed[place])
    elif way == "swap":
        other = (place + 1) % len(changed)
        changed[place], changed[other] = changed[other], changed[place]
    else:
        del changed[chooser.randrange(1, len(changed)) :]
    return way, changed


def test_every_tampering_is_found(exported: list[str]) -> None:
    chooser = random.Random(4)
    ways: Counter[str] = Counter()
    for _ in range(600):
        way, changed = _tamper(exported, chooser)
        if way == "repeat" and changed[0] == changed[1]:
            continue  # the first line twice names a chain of no events, see below
        ways[way] += 1
        reports = offline.verify(changed)
        assert not all(report.ok for report in reports), (way, changed)
    assert len(ways) == 5
    assert all(report.ok for report in offline.verify(exported))


def test_a_chain_that_is_named_and_does_not_follow(exported: list[str]) -> None:
    reports = offline.verify([exported[0], *exported])
    assert [report.reason for report in reports] == ["tail_missing", None]


def test_another_spelling_of_the_same_json_verifies(exported: list[str]) -> None:
    spelled = [json.dumps(json.loads(line), indent=None, sort_keys=True) for line in exported]
    assert [report.ok for report in offline.verify(spelled)] == [True]


@pytest.mark.parametrize(
    "line",
    ["", "x", "[]", "1", "null", '{"seq": 1}', "{" * 5000, "[" * 100_000, '{"a": NaN}',
     '{"format": "mnemo_pg chain 9"}', '{"format": 1}', '{"seq": 1, "seq": 2}', "\x00", "\ufffd",
     '{"seq": 1e400}', '{"org_id": "\\ud800"}', '{"changes": []}'],
)  # fmt: skip
def test_lines_that_are_none(exported: list[str], line: str) -> None:
    """An answer and no exception, wherever they stand."""
    for lines in ([line], [line, *exported], [*exported, line], [*exported[:2], line]):
        reports = offline.verify(lines)
        assert reports
        if line:
            assert not all(report.ok for report in reports)


def test_the_command(exported: list[str], tmp_path: Path) -> None:
    """With the standard library alone, and nothing of the package but the file."""
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("\n".join(exported) + "\n", "utf-8")
    bad.write_text("\n".join(exported[:-1]), "utf-8")
    copied = tmp_path / "verify.py"
    copied.write_bytes(SCRIPT.read_bytes())

    def run(*arguments: str | Path, source: str = "") -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", copied, *arguments],
            input=source, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    code, printed, _ = run(good)
    assert code == 0
    assert printed.startswith("default/ben: ")
    assert " events hold, behind the anchor " in printed
    code, printed, _ = run("--json", bad)
    assert code == 1
    assert json.loads(printed)["reason"] == "tail_missing"
    head = json.loads(exported[0])["head"]
    assert run(good, "--head", head.upper())[0] == 0
    assert run(good, "--head", "00" * 32)[0] == 1
    assert run("-", source=good.read_text("utf-8"))[0] == 0
    code, _, problem = run(tmp_path / "none")
    assert code == 2
    assert "No such file" in problem
    assert run()[0] == 2


def test_the_module_runs_as_a_command(
    exported: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "chain.jsonl"
    path.write_bytes("\n".join(exported).encode())
    assert offline.main([str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["ok"], shown["agent_id"]) == (True, "ben")
    assert not [name for name in shown if name[0] == "_"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert offline.main(["-"]) == 1
    assert capsys.readouterr().out.startswith("file: BROKEN at line 1: line_unreadable")
