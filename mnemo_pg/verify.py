"""Verify an exported chain of events, without a database: `python -m mnemo_pg.verify FILE`.

Standard library only, and one file: an auditor can copy it and run it with `python verify.py FILE`.
It recomputes every hash from docs/hash-format.md; `mnemo.export_chain` and `mnemo-pg verify
--export FILE` write what it reads. Exit codes: 0 everything holds, 1 something does not, 2 wrong
usage.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

FORMAT = "mnemo_pg chain 1"
FIRST_PREV_HASH = bytes(32)
_BIGINT = 2**63


@dataclass(slots=True)
class ChainReport:
    """What became of one chain of the file: `ok`, or the first line that is wrong, and why.

    `checked` events hold; `head` is the hash of the last of them, in hexadecimal, and `head_seq`
    its place. `reason` is a label as `verify_chain` has them, or `line_unreadable`, `line_foreign`.
    """

    org_id: str = ""
    agent_id: str = ""
    ok: bool = True
    checked: int = 0
    anchor_seq: int = 0
    head_seq: int = 0
    head: str | None = None
    reason: str | None = None
    detail: str | None = None
    line: int | None = None
    _wanted: tuple[int, str] = field(default=(0, ""), repr=False)
    _anchor: tuple[int, str | None] = field(default=(0, None), repr=False)
    _last_anchor: tuple[int, str | None] = field(default=(0, None), repr=False)
    _hash: bytes = field(default=FIRST_PREV_HASH, repr=False)

    def shown(self) -> dict[str, Any]:
        """The report as an object, what only the verifier needs left out."""
        return {name: value for name, value in asdict(self).items() if name[0] != "_"}

    def fail(self, reason: str, detail: str, line: int | None = None) -> None:
        """Keep the first thing that is wrong."""
        if self.ok:
            self.ok, self.reason, self.detail, self.line = False, reason, detail, line


class _BadLine(Exception):
    """A line is not what an export writes."""


def verify(lines: Iterable[str], heads: Iterable[str] = ()) -> list[ChainReport]:
    """Verify the chains of an export; `heads`, in hexadecimal, must each be in one of them."""
    reports: list[ChainReport] = []
    missing = {head.lower() for head in heads}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = _parse(line)
            if "format" in row:
                reports.append(_begin(row))
                missing.discard(reports[-1].head or "")
            elif not reports:
                raise _BadLine("the first line must name the chain")
            elif reports[-1].ok:
                _follow(reports[-1], row, number)
                missing.discard(reports[-1].head or "")
        except (_BadLine, UnicodeEncodeError, RecursionError) as error:
            if not reports:
                reports.append(ChainReport())
            reports[-1].fail("line_unreadable", str(error), number)
    if not reports:
        reports.append(ChainReport())
        reports[-1].fail("line_unreadable", "the file is empty")
    for report in reports:
        _end(report)
    for head in sorted(missing):
        reports[-1].fail("head_unknown", f"no event has the hash {head}")
    return reports


def _begin(row: Mapping[str, Any]) -> ChainReport:
    if row["format"] != FORMAT:
        raise _BadLine(f"format {row['format']!r} is not known; this program reads {FORMAT!r}")
    report = ChainReport(org_id=_text(row, "org_id"), agent_id=_text(row, "agent_id"))
    anchor_hash = _bytes(row, "anchor_hash")
    report.anchor_seq = report.head_seq = _whole(row, "anchor_seq")
    report._anchor = (report.anchor_seq, None if anchor_hash is None else anchor_hash.hex())
    report._hash = anchor_hash or FIRST_PREV_HASH
    head = _bytes(row, "head")
    if head is None:
        raise _BadLine("head must not be null")
    report._wanted = (_whole(row, "head_seq"), head.hex())
    report.head = None if anchor_hash is None else anchor_hash.hex()
    return report


def _follow(report: ChainReport, row: Mapping[str, Any], line: int) -> None:
    seq = _whole(row, "seq")
    if (_text(row, "org_id"), _text(row, "agent_id")) != (report.org_id, report.agent_id):
        report.fail("line_foreign", "the event is of another chain", line)
    elif seq <= report.head_seq:
        report.fail("event_extra", f"seq {seq} twice, or before the anchor", line)
    elif seq > report.head_seq + 1:
        report.fail("event_missing", f"seq {seq} follows on seq {report.head_seq}", line)
    elif _bytes(row, "prev_hash") != report._hash:
        report.fail("link_broken", f"seq {seq}", line)
    elif _bytes(row, "hash") != event_hash(row):
        report.fail("event_changed", f"seq {seq}", line)
    else:
        report._hash = event_hash(row)
        report.checked += 1
        report.head_seq, report.head = seq, report._hash.hex()
        if (seq, report.head) == report._wanted:
            report._wanted = (0, "")
        changes = row["changes"]
        if row["event_type"] == "checkpoint" and row.get("memory_id") is None:
            report._last_anchor = (_whole(changes, "anchor_seq"), _text(changes, "anchor_hash"))


def _end(report: ChainReport) -> None:
    seq, head = report._wanted
    if seq > report.head_seq:
        report.fail("tail_missing", f"the head is seq {seq}, the last event seq {report.head_seq}")
    elif (seq, head) not in ((0, ""), (report.head_seq, report._hash.hex())):
        report.fail("head_changed", f"seq {seq} has another hash than the head")
    if report.ok and report._anchor != report._last_anchor:
        report.fail("anchor_changed", f"the chain begins behind seq {report._anchor[0]},"
                    f" retention removed events up to seq {report._last_anchor[0]}")  # fmt: skip


# The encoding, docs/hash-format.md


def event_hash(row: Mapping[str, Any]) -> bytes:
    """The hash of an event, from all its other fields."""
    changes = row.get("changes")
    if not isinstance(changes, dict):
        raise _BadLine("changes must be an object")
    encoded = (
        _encoded_text(FORMAT.replace("chain", "event"))
        + _encoded_bytes(_bytes(row, "prev_hash"))
        + b"I" + struct.pack(">q", _whole(row, "seq"))
        + _encoded_uuid(row, "id")
        + _encoded_text(_text(row, "org_id"))
        + _encoded_text(_text(row, "agent_id"))
        + _encoded_text(_text(row, "event_type"))
        + _encoded_text(_text(row, "memory_org_id"))
        + (b"N" if row.get("memory_id") is None else _encoded_uuid(row, "memory_id"))
        + _encoded_text(_text(row, "actor_org_id"))
        + _encoded_text(_text(row, "actor_agent_id"))
        + b"I" + struct.pack(">q", _whole(row, "happened_at"))
        + _encoded_bytes(_bytes(row, "content_hash"))
        + b"J" + b"".join(_encoded_json(changes))
        + _encoded_bytes(_bytes(row, "note_hash"))
    )  # fmt: skip
    return hashlib.sha256(encoded).digest()


def _counted(data: bytes) -> bytes:
    return struct.pack(">q", len(data)) + data


def _encoded_text(value: str) -> bytes:
    return b"T" + _counted(value.encode())


def _encoded_bytes(value: bytes | None) -> bytes:
    return b"N" if value is None else b"B" + _counted(value)


def _encoded_uuid(row: Mapping[str, Any], name: str) -> bytes:
    try:
        return b"U" + UUID(_text(row, name)).bytes
    except ValueError:
        raise _BadLine(f"{name} must be a UUID") from None


def _encoded_json(value: Any) -> Iterator[bytes]:
    match value:
        case None:
            yield b"n"
        case bool():
            yield b"t" if value else b"f"
        case str():
            yield b"s" + _counted(value.encode())
        case int() | Decimal():
            yield b"d" + _counted(_digits(value).encode())
        case list():
            yield b"a" + struct.pack(">q", len(value))
            for item in value:
                yield from _encoded_json(item)
        case dict():
            yield b"o" + struct.pack(">q", len(value))
            for key, item in sorted((name.encode(), item) for name, item in value.items()):
                yield _counted(key)
                yield from _encoded_json(item)


def _digits(value: int | Decimal) -> str:
    if value == 0:
        return "0"
    plain = format(value, "f") if isinstance(value, Decimal) else str(value)
    return plain.rstrip("0").removesuffix(".") if "." in plain else plain


# Reading


def _parse(line: str) -> dict[str, Any]:
    try:
        row = json.loads(
            line, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise _BadLine("not a JSON object")
    return row


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("a key stands twice")
    return row


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise _BadLine(f"{name} must be a text")
    return value


def _whole(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not -_BIGINT <= value < _BIGINT:
        raise _BadLine(f"{name} must be a whole number")
    return value


def _bytes(row: Mapping[str, Any], name: str) -> bytes | None:
    value = row.get(name)
    if value is None:
        return None
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise _BadLine(f"{name} must be hexadecimal") from None


# The command


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file; `-` is standard input. What is not UTF-8 shows as a bad line."""
    if path == "-":
        yield from (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield from (line.decode("utf-8", "replace") for line in file)


def said(report: ChainReport) -> str:
    """A report for people."""
    chain = f"{report.org_id}/{report.agent_id}" if report.org_id else "file"
    if report.ok:
        behind = f", behind the anchor {report.anchor_seq}" if report.anchor_seq else ""
        return f"{chain}: {report.checked} events hold{behind}; head {report.head or 'none'}"
    where = f" at line {report.line}" if report.line is not None else ""
    return f"{chain}: BROKEN{where}: {report.reason}: {report.detail}"


def main(arguments: list[str] | None = None) -> int:
    """Run as a command; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mnemo_pg.verify",
        description="Verify an exported chain of events, without a database.",
    )
    parser.add_argument("file", help="the export; - for standard input")
    parser.add_argument(
        "--head", action="append", default=[], metavar="HEX",
        help="a head that was kept elsewhere and must be in the chain; repeat it",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, one object a chain")
    options = parser.parse_args(arguments)
    try:
        reports = verify(lines_of(options.file), options.head)
    except OSError as error:
        print(f"verify: {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    for report in reports:
        print(json.dumps(report.shown()) if options.json else said(report))
    return 0 if all(report.ok for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
