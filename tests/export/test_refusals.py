"""What import refuses, and that it names the line and the record."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from mnemo_pg import Mnemo
from mnemo_pg.importer import ImportAborted, LineError
from mnemo_pg.transfer import TransferSummary, export_lines, import_lines
from tests.export.rows import fill
from tests.support.calls import contents, refused, row, rows, value
from tests.support.server import Server


@pytest.fixture(scope="module")
def lines(server: Server, template: str) -> Any:
    """The lines of an export with rows of every sort."""
    dsn = server.create_database("refusals", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        fill(conn, random.Random(7), 18)
    with Mnemo(dsn) as m:
        yield list(export_lines(m))
    server.drop_database("refusals")


@pytest.fixture
def target(bare: Callable[[], str]) -> Any:
    """An autocommit connection to an empty database."""
    with psycopg.connect(bare(), autocommit=True) as conn:
        yield conn


def brought(
    conn: psycopg.Connection[Any], lines: list[str], **options: Any
) -> tuple[TransferSummary, list[LineError]]:
    """Import lines; what became of them, and the bad ones."""
    bad: list[LineError] = []
    source = io.BytesIO("".join(f"{line}\n" for line in lines).encode(errors="surrogatepass"))
    return import_lines(Mnemo(conn), source, bad.append, **options), bad


def taken(line: str) -> Any:
    """A line apart, numbers as they are written."""
    return json.loads(line, parse_float=str)


def signed(conn: psycopg.Connection[Any], table: str, changed: dict[str, Any]) -> str:
    """A line with a sum that is right, as somebody makes it who knows how."""
    text = json.dumps(changed, ensure_ascii=False)
    ((line,),) = conn.execute("SELECT mnemo._export_line(%s, %s::jsonb)", (table, text)).fetchall()
    return str(line)


def other(column: Any) -> Any:
    """Another value of the same JSON type."""
    if isinstance(column, bool):
        return not column
    if isinstance(column, int):
        return column + 1
    if isinstance(column, str):
        changed = re.sub(r"\w", lambda found: "5" if found[0] != "5" else "6", column, count=1)
        return changed if changed != column else column + "5"
    return ["x"] if column is None or column == [] else None


def test_a_changed_line_is_refused(target: psycopg.Connection[Any], lines: list[str]) -> None:
    """In any column of any table, by its number and record; all others are written."""
    parsed = [json.loads(line) for line in lines]
    tables = {entry["table"] for entry in parsed} - {"export", "end"}
    dice = random.Random(3)
    for table in sorted(tables):
        number = dice.choice([n for n, entry in enumerate(parsed) if entry["table"] == table])
        columns = parsed[number]["row"]
        batch = []
        for column in columns:
            changed = json.loads(lines[number])
            changed["row"][column] = other(columns[column])
            assert changed["row"][column] != columns[column]
            batch.append(json.dumps(changed))
        before = contents(target)
        summary, bad = brought(target, batch)
        assert [error.line for error in bad] == list(range(1, len(batch) + 1))
        for error in bad:
            assert error.error.startswith(f"{table} ")
            assert error.error.endswith("it was changed after the export")
        names = ("id", "memory_id", "plan_id", "event_id", "chunk_id", "name", "key")
        keys = {columns[name] for name in names if name in columns}
        found = any(str(key) in error.error for error in bad for key in keys)
        assert found or table in ("chain_head", "chunk_state")
        assert contents(target) == before
        assert (summary.imported, summary.failed) == (0, len(batch))


def test_a_changed_record_is_refused_though_its_sum_is_right(
    target: psycopg.Connection[Any], lines: list[str]
) -> None:
    """Whatever the content hash covers."""
    number = next(n for n, line in enumerate(lines) if '"table": "memory"' in line
                  and '"redacted_at": null' in line and "experience_plan" not in line)  # fmt: skip
    whole = json.loads(lines[number])["row"]
    covered = {
        "id": "01a00000-0000-7000-8000-000000000000", "agent_id": "other", "content": "other",
        "tags": ["other"], "metadata": {"a": 1}, "source_type": "human", "source_id": "other",
        "thread_id": "other", "created_by": "other", "kind": "identity", "subject": "other",
        "predicate": "other", "entities": ["other"], "aliases": ["other"], "location": "other",
        "confidence": "0.25", "valid_from": "2000-01-01T00:00:00.000001+00:00",
        "created_at": "2000-01-01T00:00:00.000001+00:00", "memory_type": "working",
        "temporal_scope": "recent_history", "nonce": "\\x00112233445566778899aabbccddeeff",
        "content_hash": "\\x00",
    }  # fmt: skip
    batch = [signed(target, "memory", {**whole, name: given}) for name, given in covered.items()]
    _, bad = brought(target, batch)
    assert [error.line for error in bad] == list(range(1, len(batch) + 1))
    assert {error.error.partition(": ")[2] for error in bad} == {
        "content_hash is not the hash of this record"
    }
    assert value(target, "version")
    assert contents(target)["memory"][0] == 0


def test_what_differs_from_what_is_there_is_refused(
    target: psycopg.Connection[Any], lines: list[str]
) -> None:
    """One line of each table, changed by somebody who makes the sum right."""
    brought(target, lines)
    before = contents(target)
    changes: dict[str, dict[str, Any]] = {
        "settings": {"name": "guard", "value": "off"},
        "acl": {"permission": "share"},
        "delegation": {"permission": "delete"},
        "event": {"event_type": "memory_read"},
        "event_note": {"note": "something else"},
        "chain_head": {"hash": "\\x00"},
        "idempotency": {"memory_id": "01a00000-0000-7000-8000-000000000000"},
    }
    batch = []
    for table, change in changes.items():
        found = [json.loads(line)["row"] for line in lines if f'"table": "{table}"' in line]
        if table == "settings":
            found = [entry for entry in found if entry["name"] == "guard"]
        batch.append(signed(target, table, {**found[0], **change}))
    summary, bad = brought(target, batch)
    assert [(e.line, e.error.partition(": ")[2]) for e in bad] == [
        (number, "another one with this key is there") for number in range(1, len(batch) + 1)
    ]
    assert summary.imported == 0
    assert contents(target) == before


def test_a_record_rewritten_since_is_another(
    target: psycopg.Connection[Any], lines: list[str]
) -> None:
    """The same id with another hash is an error, whichever of both is right."""
    brought(target, lines)
    target.execute(
        "UPDATE mnemo.memory AS m SET content = 'rewritten' WHERE redacted_at IS NULL;"
        "UPDATE mnemo.memory AS m SET content_hash = mnemo._content_hash(m)"
        " WHERE redacted_at IS NULL"
    )
    summary, bad = brought(target, lines)
    changed = [n for n, line in enumerate(lines, 1) if '"table": "memory"' in line
               and '"redacted_at": null' in line]  # fmt: skip
    assert [error.line for error in bad] == changed
    assert summary.present == len(lines) - 2 - len(changed)


def test_what_happened_since_does_not_matter(
    target: psycopg.Connection[Any], bare: Callable[[], str]
) -> None:
    """Records that were deleted, erased or used after the export count as there, and stay so."""
    ids = [
        row(target, "remember", content=f"c {n}", idempotency_key=f"k{n}")["id"] for n in range(3)
    ]
    with Mnemo(target) as m:
        lines = list(export_lines(m))
    rows(target, "forget", ids=[ids[0]])
    target.execute(
        "UPDATE mnemo.memory SET redacted_at = now(), deleted_at = now(), content = NULL,"
        " nonce = NULL WHERE id = %s", (ids[1],)
    )  # fmt: skip
    before = contents(target)
    summary, bad = brought(target, lines)
    assert (bad, summary.imported, summary.present) == ([], 0, len(lines) - 2)
    assert contents(target) == before


def test_types_and_constraints_stop_no_other_line(
    target: psycopg.Connection[Any], lines: list[str]
) -> None:
    """With a sum that is right: values that are none, rows that refer to nothing."""
    number = next(n for n, line in enumerate(lines) if '"table": "acl"' in line)
    grant = json.loads(lines[number])["row"]
    nobody = "01a00000-0000-7000-8000-000000000000"
    wrong = [
        {**grant, "granted_at": "yesterday-ish"}, {**grant, "memory_id": "no uuid"},
        {**grant, "permission": "everything"}, {**grant, "memory_id": nobody},
        {**grant, "agent_id": None}, {**grant, "agent_id": ["a"]},
        {**grant, "expires_at": "99999999-01-01T00:00:00+00:00"},
    ]  # fmt: skip
    batch = [*lines[:-1], *(signed(target, "acl", entry) for entry in wrong), lines[-1]]
    summary, bad = brought(target, batch)
    assert [error.line for error in bad] == [len(lines) + n for n in range(len(wrong))]
    assert summary.imported == len(lines) - 2
    for given, short in ((batch, "acl"), (batch[:5] + batch[-3:-1], "acl")):
        with pytest.raises(ImportAborted, match=short):
            brought(target, given, abort=True)


MORE = {"column": 1}
BAD = {
    "not JSON": "{",
    "no object": "[1]",
    "no number": '{"table": "memory", "row": {"a": NaN}, "sum": ""}',
    "U+0000": '{"table": "memory", "row": {"a": "\\u0000"}, "sum": ""}',
    "a lone surrogate": '{"table": "memory", "row": {"a": "\\ud800"}, "sum": ""}',
    "no UTF-8": "\udcff",
    "nested": '{"table": ' + "[" * 100_000,
    "another table": '{"table": "pg_authid", "row": {}, "sum": ""}',
    "a derived table": '{"table": "plan_signature", "row": {}, "sum": ""}',
    "no table": '{"row": {}, "sum": ""}',
    "another format": '{"table": "export", "row": {"format": 99}, "sum": ""}',
    "blank": " ",
    "a memory of mnemo-pg import": '{"content": "x"}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_a_line_that_is_none(target: psycopg.Connection[Any], lines: list[str], line: str) -> None:
    """It is named, and loses no other; with abort nothing is written."""
    batch = [*lines[:3], line, *lines[3:6]]
    before = contents(target)
    with pytest.raises(ImportAborted) as caught:
        brought(target, batch, abort=True)
    assert caught.value.error.line == 4
    assert contents(target) == before
    summary, bad = brought(target, batch)
    assert [error.line for error in bad] == [4]
    assert (summary.imported, summary.complete) == (5, False)


def test_columns_of_another_version(target: psycopg.Connection[Any], lines: list[str]) -> None:
    """More or fewer columns than there are would be lost or invented."""
    table, whole = "settings", json.loads(lines[1])["row"]
    less = {name: given for name, given in whole.items() if name != "updated_at"}
    for changed in ({**whole, **MORE}, less):
        _, bad = brought(target, [signed(target, table, changed)])
        assert "has not exactly the columns" in bad[0].error


def test_a_file_that_was_cut_off(target: psycopg.Connection[Any], lines: list[str]) -> None:
    """Or that lost lines, or went on after its end."""
    before = contents(target)
    # One that no other line refers to.
    parsed = [json.loads(line) for line in lines]
    noted = {line["row"]["event_id"] for line in parsed if line.get("table") == "event_note"}
    lost = next(
        n for n, line in enumerate(parsed)
        if line.get("table") == "event" and line["row"]["id"] not in noted
    )  # fmt: skip
    for wrong in (lines[:-1], lines[:lost] + lines[lost + 1 :], [*lines, lines[1]],
                  [lines[0], *lines], []):  # fmt: skip
        with pytest.raises(ImportAborted, match="cut off"):
            brought(target, wrong, abort=True)
        assert contents(target) == before
    for wrong in (lines[:-1], lines[:lost] + lines[lost + 1 :], [*lines, lines[1]]):
        assert not brought(target, wrong)[0].complete
    assert brought(target, lines, abort=True)[0].complete


def test_sql_alone(target: psycopg.Connection[Any], lines: list[str]) -> None:
    """psql users get the same: statuses, the first bad element, nothing written on abort."""
    good = f"[{', '.join(lines[:4])}]"
    changed = lines[2].replace('"sum": "', '"sum": "0')
    with refused("22023", "p_records") as error:
        rows(target, "import_records", records=f"[{lines[0]}, {lines[1]}, {changed}]")
    assert error.message.startswith("element 3: settings ")
    assert error.detail is not None
    assert error.detail["position"] == 3
    assert contents(target)["settings"][0] == 0
    found = rows(target, "import_records", records=good)
    assert [r["status"] for r in found] == ["header", "imported", "imported", "imported"]
    found = rows(target, "import_records", records=f"[{lines[1]}, {lines[1]}, {changed}, 1]",
                 on_error="skip")  # fmt: skip
    assert [r["status"] for r in found] == ["present", "present", "failed", "failed"]
    assert [bool(r["error"]) for r in found] == [False, False, True, True]


def test_the_same_line_twice_in_a_batch(target: psycopg.Connection[Any], lines: list[str]) -> None:
    """The first is written, the second is there."""
    summary, bad = brought(target, [line for line in lines[:-1] for _ in range(2)])
    assert (summary.imported, summary.present, bad) == (len(lines) - 2, len(lines) - 2, [])


def test_the_sum_is_documented(lines: list[str]) -> None:
    """SHA-256 over the table's name, a space and the row as the line spells it, 128 bits of it."""
    for line in lines[:-1]:
        entry = json.loads(line)
        text = line.removeprefix(f'{{"table": "{entry["table"]}", "row": ')
        text = text.removesuffix(f', "sum": "{entry["sum"]}"}}')
        assert hashlib.sha256(f"{entry['table']} {text}".encode()).hexdigest()[:32] == entry["sum"]
