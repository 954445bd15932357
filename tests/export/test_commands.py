"""mnemo-pg export, restore and events: files, exit codes, what is printed."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemo_pg import transfer
from tests.cli.conftest import Done
from tests.export.conftest import stored
from tests.support.calls import contents, row

Cli = Callable[..., Done]


@pytest.fixture
def filled(source: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A few records in two organisations."""
    for org in ("acme", "globex"):
        row(source, "remember", content=f"a memory of {org}", org_id=org, agent_id="bot")
        row(source, "remember_plan", query=f"How do I call {org}?", steps=["call"], chunk_ids=[],
            outcome_score=1, org_id=org)  # fmt: skip
    return source


def test_out_and_in(
    filled: psycopg.Connection[Any], bare: Callable[[], str], tmp_path: Path, cli: Cli
) -> None:
    file, target = tmp_path / "all.jsonl", bare()
    done = cli("export", str(file), "--dsn", filled.info.dsn, "--json")
    assert (done.code, done.json["lines"]) == (0, 11)
    assert done.json["bytes"] == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    done = cli("restore", str(file), "--dsn", target, "--abort")
    assert done.code == 0
    assert "memory imported" in done.out
    done = cli("restore", str(file), "--dsn", target, "--json")
    assert done.code == 0
    assert {k: done.json[k] for k in ("imported", "present", "failed", "complete", "lines")} == {
        "imported": 0, "present": 9, "failed": 0, "complete": True, "lines": 11,
    }  # fmt: skip
    with psycopg.connect(target) as conn:
        assert stored(conn) == stored(filled)
    assert list(tmp_path.iterdir()) == [file]


def test_through_a_pipe(filled: psycopg.Connection[Any], bare: Callable[[], str], cli: Cli) -> None:
    target = bare()
    out = cli("export", "-", "--org", "acme", "--dsn", filled.info.dsn)
    assert out.code == 0
    assert len(out.out.splitlines()) == 6
    assert "globex" not in out.out
    done = cli("restore", "-", "--dsn", target, input=out.out)
    assert done.code == 0
    assert cli("export", "-", "--org", "acme", "--dsn", target).out == out.out
    done = cli("restore", "-", "--dsn", target, input="".join(out.out.splitlines(True)[:3]))
    assert done.code == 1
    assert "not a whole export" in done.err
    done = cli(
        "restore", "-", "--partial", "--dsn", target, input="".join(out.out.splitlines(True)[:3])
    )
    assert done.code == 0


def test_bad_lines_are_named(
    filled: psycopg.Connection[Any], bare: Callable[[], str], cli: Cli
) -> None:
    target = bare()
    text = cli("export", "-", "--dsn", filled.info.dsn).out.replace("a memory of acme", "changed")
    done = cli("restore", "-", "--dsn", target, "--abort", input=text)
    assert done.code == 1
    assert done.err.startswith("mnemo-pg: line 3: memory acme/")
    assert "nothing was written" in done.err
    with psycopg.connect(target) as conn:
        assert contents(conn)["settings"][0] == 0
    done = cli("restore", "-", "--dsn", target, "--json", input=text)
    assert done.code == 1
    bad, summary = map(json.loads, done.out.splitlines())
    assert bad["line"] == 3
    assert bad["error"].startswith("memory acme/")
    # The record is missing, and its event says what it was.
    assert (summary["imported"], summary["failed"]) == (8, 1)


def test_wrong_use(filled: psycopg.Connection[Any], tmp_path: Path, cli: Cli) -> None:
    dsn = filled.info.dsn
    assert cli("export", "-", "--json", "--dsn", dsn).code == 2
    assert cli("export", str(tmp_path / "none" / "x"), "--dsn", dsn).code == 1
    assert cli("export", str(tmp_path / "x"), "--org", "*", "--dsn", dsn).code == 2
    assert list(tmp_path.iterdir()) == []
    assert cli("restore", str(tmp_path / "none"), "--dsn", dsn).code == 1
    assert cli("restore", "-", "--abort", "--partial", "--dsn", dsn, input="").code == 2
    assert cli("events", "--type", "nonsense", "--dsn", dsn).code == 2
    done = cli("import", "-", "--dsn", dsn, input=cli("export", "-", "--dsn", dsn).out)
    assert "mnemo-pg restore" in done.err


def test_an_export_that_fails_leaves_what_was_there(
    filled: psycopg.Connection[Any], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "export"
    file.write_text("yesterday's")

    def broken(*_: Any, **__: Any) -> Any:
        yield "{}"
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr("mnemo_pg.cli.transfer.export_lines", broken)
    assert cli("export", str(file), "--dsn", filled.info.dsn).code == 1
    assert file.read_text() == "yesterday's"
    assert list(tmp_path.iterdir()) == [file]


def test_an_interrupted_restore_goes_on(
    filled: psycopg.Connection[Any], bare: Callable[[], str], tmp_path: Path, cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The connection is lost after a batch: the same command ends the work."""
    monkeypatch.setattr("mnemo_pg._lines.BATCH_LINES", 4)
    file, target = tmp_path / "export", bare()
    assert cli("export", str(file), "--dsn", filled.info.dsn).code == 0
    whole = transfer._write  # type: ignore[attr-defined]
    calls = []

    def write(client: Any, *rest: Any) -> Any:
        calls.append(client)
        if len(calls) == 2:
            with psycopg.connect(filled.info.dsn, autocommit=True) as conn:
                conn.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    (psycopg.conninfo.conninfo_to_dict(target)["dbname"],),
                )
        return whole(client, *rest)

    monkeypatch.setattr(transfer, "_write", write)
    done = cli("restore", str(file), "--dsn", target)
    assert done.code == 1
    assert "lines up to 4 are done" in done.err
    done = cli("restore", str(file), "--dsn", target, "--json")
    assert done.code == 0
    assert done.json["present"] == 3
    with psycopg.connect(target) as conn:
        assert stored(conn) == stored(filled)


def test_events(filled: psycopg.Connection[Any], cli: Cli) -> None:
    dsn = filled.info.dsn
    done = cli("events", "--org", "acme", "--dsn", dsn)
    assert done.code == 0
    assert [word for word in ("plan_write", "memory_write") if word in done.out] != []
    done = cli("events", "--org", "acme", "--type", "plan_write", "--json", "--dsn", dsn)
    (event,) = map(json.loads, done.out.splitlines())
    assert event["event_type"] == "plan_write"
    done = cli("events", "--org", "acme", "--id", event["memory_id"], "--since", "2020-01-01",
               "--limit", "1", "--json", "--dsn", dsn)  # fmt: skip
    assert json.loads(done.out)["id"] == event["id"]
    done = cli("events", "--org", "acme", "--until", "2020-01-01", "--dsn", dsn)
    assert (done.code, done.out.strip()) == (1, "no event")
