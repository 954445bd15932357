"""The import: every kind of bad line, constant memory, all or nothing, and again."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemo_pg import Mnemo
from mnemo_pg.importer import LONGEST_LINE, Importer, LineError, parse_duration
from tests.cli.conftest import Done

Run = Callable[..., Done]


def plan(number: int, **more: Any) -> bytes:
    record = {"query": f"question number {number}", "steps": ["look"], "chunk_ids": ["c"],
              "outcome_score": 0.9, **more}  # fmt: skip
    return json.dumps(record).encode()


def memory(text: str, **more: Any) -> bytes:
    return json.dumps({"content": text, **more}).encode()


GOOD = plan(0)
BAD: dict[str, tuple[bytes, str]] = {
    "no JSON": (b'{"query": ', "not JSON: Expecting value"),
    "text": (b"hello", "not JSON"),
    "blank": (b"", "blank line"),
    "spaces": (b" \t ", "blank line"),
    "an array": (b"[1]", "a line is a JSON object, this one is an array"),
    "null": (b"null", "this one is null"),
    "a number": (b"17", "this one is a number"),
    "neither": (b'{"q": "x"}', "neither a plan (query, steps) nor a memory (content)"),
    "both": (memory("x", query="y", steps=[]), "not both"),
    "not UTF-8": (b'{"content": "\xff"}', "not UTF-8: byte 14"),
    "NUL": (plan(1, steps=["a\0b"]), "steps[0] contains U+0000"),
    "NUL in a key": (b'{"content": "x", "metadata": {"a\\u0000": 1}}', "U+0000"),
    "lone surrogate": (b'{"content": "\\ud800"}', "U+D800"),
    "NaN": (b'{"content": "x", "importance": NaN}', "NaN is no JSON number"),
    "1e999": (plan(1).replace(b"0.9", b"1e999"), "outcome_score is inf"),
    "deep": (b'{"content": "x", "metadata": ' + b"[" * 100_000, "nested too deeply"),
    "deep and whole": (
        b'{"content": "x", "metadata": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
        "nested too deeply",
    ),
    "steps missing": (b'{"query": "x", "chunk_ids": [], "outcome_score": 1}', "steps"),
    "steps text": (plan(1, steps="look"), "steps must be"),
    "step null": (plan(1, steps=[None]), "steps"),
    "score text": (plan(1, outcome_score="high"), "outcome_score"),
    "score missing": (b'{"query": "x", "steps": [], "chunk_ids": []}', "outcome_score"),
    "blank query": (plan(1, query=" "), "query"),
    "scope": (plan(1, scope="secret"), "scope"),
    "agent": (plan(1, agent_id="no spaces"), "agent_id"),
    "organisation": (plan(1, org_id="*"), "org_id"),
    "unknown key": (plan(1, colour="red"), "colour"),
    "ttl": (plan(1, ttl="soon"), "ttl"),
    "too many steps": (plan(1, steps=["x"] * 1001), "1000"),
    "long query": (plan(1, query="x" * 100_001), "100000"),
    "content blank": (memory(" "), "content"),
    "content number": (b'{"content": 5}', "content must be a str"),
    "tags text": (memory("x", tags="a"), "tags must be a list"),
    "importance": (memory("x", importance=7), "importance"),
    "metadata": (memory("x", metadata=[1]), "metadata must be a mapping"),
    "reserved tag": (memory("x", tags=["__experience_plan__"]), "__experience_plan__"),
    "memory key": (memory("x", colour="red"), "unknown key 'colour'"),
    "time": (memory("x", valid_from="yesterday"), "valid_from is not a time"),
    "naive time": (memory("x", valid_from="2026-01-31T09:00:00"), "no time zone"),
    "memory ttl": (memory("x", ttl="3 months"), "not a duration"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_named_and_the_others_are_stored(
    cli: Run, dsn: str, db: psycopg.Connection, kind: str
) -> None:
    line, said = BAD[kind]
    done = cli("import", "-", "--dsn", dsn, input=b"\n".join([GOOD, line, memory("kept")]) + b"\n")
    assert done.code == 1
    assert "Traceback" not in done.err
    lines = done.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("mnemo-pg: line 2: ")
    assert said in lines[0]
    assert db.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (2,)


def test_a_thousand_lines_with_bad_ones_of_each_kind(
    cli: Run, dsn: str, db: psycopg.Connection, tmp_path: Path
) -> None:
    lines = [plan(number) if number % 3 else memory(f"fact {number}") for number in range(1000)]
    where = {17 * (index + 1): line for index, (line, _) in enumerate(BAD.values())}
    for position, line in where.items():
        lines[position] = line
    lines[999] = plan(999, outcome_score=0.1)
    file = tmp_path / "mixed.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))  # No end of line after the last.
    done = cli("import", str(file), "--dsn", dsn, "--json")
    assert done.code == 1
    assert done.err == ""
    *errors, summary = [json.loads(line) for line in done.out.splitlines()]
    assert [error["line"] for error in errors] == [position + 1 for position in where]
    assert summary["lines"] == 1000
    assert summary["failed"] == len(where)
    assert summary["plans"]["below_threshold"] == 1
    stored = summary["plans"]["stored"] + summary["memories"]["stored"]
    assert stored == 1000 - len(where) - 1
    assert db.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (stored,)


def test_a_line_that_is_too_long_to_be_held(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    long = memory("x" * (LONGEST_LINE + 10))
    done = cli("import", "-", "--dsn", dsn, input=b"\n".join([long, GOOD, long]))
    assert done.code == 1
    said = [line.partition(": ")[2] for line in done.err.splitlines()]
    assert said == [f"line {n}: longer than {LONGEST_LINE:,} bytes" for n in (1, 3)]
    assert db.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (1,)


def test_everything_a_line_may_say_arrives(cli: Run, dsn: str) -> None:
    full = memory("Ada moved", scope="public", memory_type="semantic", importance=0.8, tags=["t"],
                  metadata={"a": [1, None, "ü"]}, source_type="import", source_id="s",
                  thread_id="th", created_by="me", ttl="2 weeks", kind="identity", subject="Ada",
                  predicate="lives in", entities=["Paris"], aliases=["A."], location="Paris",
                  confidence=0.5, status="active", valid_from="2026-01-31T09:00:00Z",
                  valid_to="2027-01-31T09:00:00+01:00", temporal_scope="persistent",
                  idempotency_key="k", agent_id="bot", org_id="acme")  # fmt: skip
    plain = plan(1, ttl="7 days", details=[{"n": 1.5}], context="v2", thread_id="th",
                 source_id="s", tags=["t"], agent_id="bot", org_id="acme", scope="public",
                 idempotency_key="p")  # fmt: skip
    with Mnemo(dsn, agent_id="bot", org_id="acme") as m:
        m.configure("experience_memory", "on", org_id="acme")
        assert cli("import", "-", "--dsn", dsn, input=full + b"\n" + plain).code == 0
        found = m.get_memories([m.recall(None)[0].id])[0]
        assert (found.content, found.scope, found.metadata) == (
            "Ada moved", "public", {"a": [1, None, "ü"]},
        )  # fmt: skip
        assert found.valid_to is not None
        assert found.valid_to.isoformat() == "2027-01-31T08:00:00+00:00"
        assert found.expires_at is not None
        assert (found.expires_at - found.created_at).days == 14
        kept = m.list_plans()[0]
        assert (kept.details, kept.context, kept.tags) == ([{"n": 1.5}], "v2", ("t",))


def test_options_hold_for_lines_that_name_none(cli: Run, dsn: str) -> None:
    lines = b"\n".join([plan(1), memory("one"), plan(2, agent_id="own", scope="private")])
    options = ("--agent", "bot", "--org", "acme", "--scope", "public")
    assert cli("import", "-", *options, "--dsn", dsn, input=lines).code == 0
    with Mnemo(dsn, agent_id="bot", org_id="acme") as m:
        assert [p.query for p in m.list_plans()] == ["question number 1"]
        assert m.recall(None)[0].scope == "public"
        assert len(m.list_plans(agent_id="own")) == 2


def test_abort_stores_nothing_at_all(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    lines = [plan(number) for number in range(1200)]
    lines[1100] = b"{"
    done = cli("import", "-", "--abort", "--dsn", dsn, input=b"\n".join(lines))
    assert done.code == 1
    assert done.out == ""
    assert "line 1101: not JSON" in done.err
    assert "nothing was stored" in done.err
    assert db.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (0,)
    lines[1100] = plan(1100)
    assert cli("import", "-", "--abort", "--dsn", dsn, input=b"\n".join(lines)).code == 0
    assert db.execute("SELECT count(*) FROM mnemo.memory").fetchone() == (1200,)


def test_once_stores_nothing_twice(cli: Run, dsn: str) -> None:
    lines = b"\n".join([plan(1), plan(2), memory("one")])
    assert cli("import", "-", "--once", "--dsn", dsn, input=lines).code == 0
    again = cli("import", "-", "--once", "--dsn", dsn, "--json", input=lines + b"\n" + plan(3)).json
    assert again["plans"] == {"repeated": 2, "stored": 1}
    assert again["memories"] == {"repeated": 1}
    without = cli("import", "-", "--dsn", dsn, "--json", input=lines).json
    assert without["plans"] == {"merged": 2}


def test_mode_off_stops_plans_with_one_line(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    db.execute("SELECT mnemo.configure('experience_memory', 'off')")
    done = cli("import", "-", "--dsn", dsn, input=b"\n".join([plan(1), plan(2)]))
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert "configure('experience_memory', 'on')" in done.err


def test_an_empty_file_is_no_failure(cli: Run, dsn: str) -> None:
    assert cli("import", "-", "--dsn", dsn, "--json", input=b"").json["lines"] == 0


def test_the_summary_for_people(cli: Run, dsn: str) -> None:
    shown = cli("import", "-", "--dsn", dsn, input=b"\n".join([plan(1), memory("x"), b"{"]))
    assert shown.code == 1
    for part in ("plans stored", "memories stored", "bad lines", "lines a second"):
        assert part in shown.out


@pytest.mark.parametrize("file", ["/nonexistent.jsonl", "/"])
def test_a_file_that_cannot_be_read(cli: Run, file: str) -> None:
    done = cli("import", file)
    assert done.code == 1
    assert done.err.startswith(f"mnemo-pg: cannot read {file}: ")
    assert len(done.err.splitlines()) == 1


def test_import_then_recall(shell: Run, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(plan(1, query="How do I reset my password?") + b"\n")
    assert shell("import", str(file), "--dsn", dsn).code == 0
    found = shell("recall-plan", "password reset: how?", "--dsn", dsn)
    assert found.code == 0
    assert "1. look" in found.out


class Endless(io.RawIOBase):
    """A file of many lines that is nowhere at once."""

    def __init__(self, lines: int) -> None:
        self._left = lines

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line."""
        if self._left == 0:
            return b""
        self._left -= 1
        return plan(self._left, outcome_score=0.1) + b"\n"


def test_memory_does_not_grow_with_the_file(dsn: str) -> None:
    peaks = []
    errors: list[LineError] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for lines in (1500, 6000):
            tracemalloc.start()
            summary = Importer(Mnemo(connection)).run(Endless(lines), errors.append)  # type: ignore[arg-type]
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert summary.lines == lines
    assert errors == []
    assert peaks[1] < peaks[0] * 1.2


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90s", timedelta(seconds=90)),
        ("30 min", timedelta(minutes=30)),
        ("1.5h", timedelta(hours=1.5)),
        ("7 Days", timedelta(days=7)),
        ("1w 2d", timedelta(days=9)),
    ],
)
def test_durations(text: str, meant: timedelta) -> None:
    assert parse_duration(text) == meant


@pytest.mark.parametrize("text", ["", " ", "7", "d", "7 months", "-1d", "7d x", "1 sx"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)
