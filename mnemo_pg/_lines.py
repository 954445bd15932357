"""What export and import of lines share: reading a file in batches, counting, the end line.

An export ends with a line that says how many are before it, so that a file which was cut off is not
taken for a whole one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from mnemo_pg import _wire
from mnemo_pg.errors import ArgumentError
from mnemo_pg.importer import LineError
from mnemo_pg.types import ImportedRecord

LONGEST_LINE = 32_000_000
"""Bytes. Content and metadata may have 1 MB each, and JSON may write one byte as six."""

BATCH_LINES = 1000
_BATCH_BYTES = 4_000_000


@dataclass(slots=True)
class TransferSummary:
    """How many lines an import read, and what became of them.

    `tables` counts the lines written by table, `present` those that were there already, `failed`
    those that were refused. `complete`: the end line was there, and its number of lines is right.
    """

    lines: int = 0
    imported: int = 0
    present: int = 0
    failed: int = 0
    tables: Counter[str] = field(default_factory=Counter)
    complete: bool = False

    def add(self, answers: list[ImportedRecord]) -> None:
        """Count what became of a batch; failed lines are counted where they are reported."""
        for answer in answers:
            if answer.status == "imported":
                self.imported += 1
                self.tables[answer.record.partition(" ")[0]] += 1
            elif answer.status == "present":
                self.present += 1


@dataclass(slots=True)
class Batch:
    """Lines with their numbers, those that are no lines of an export, and the end line's count."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    bad: list[LineError] = field(default_factory=list)
    size: int = 0
    last: int = 0
    end: int | None = None

    def number(self, position: int) -> int:
        """The line that an answer of the database is about; positions count from 1."""
        return self.lines[position - 1][0]


def end_line(lines: int) -> str:
    """The last line of an export of so many lines."""
    return json.dumps({"table": "end", "row": {"lines": lines}})


def _end(text: str) -> int | None:
    if not text.startswith('{"table": "end"'):
        return None
    try:
        count = json.loads(text)["row"]["lines"]
    except (ValueError, KeyError, TypeError):
        return None
    return count if isinstance(count, int) else None


def batches(source: IO[bytes], on_bytes: Callable[[int], None]) -> Iterator[Batch]:
    """The lines of a file, checked for what PostgreSQL could not even read; memory use does not
    depend on their number."""
    batch, number = Batch(), 0
    while raw := source.readline(LONGEST_LINE + 1):
        number += 1
        size = len(raw)
        if size > LONGEST_LINE:
            batch.bad.append(LineError(number, f"longer than {LONGEST_LINE:,} bytes"))
            while raw and not raw.endswith(b"\n"):
                raw = source.readline(1_000_000)
                size += len(raw)
        else:
            _take(batch, number, raw)
        on_bytes(size)
        batch.size += size
        batch.last = number
        if len(batch.lines) >= BATCH_LINES or batch.size >= _BATCH_BYTES or batch.end is not None:
            yield batch
            batch = Batch()
    if batch.lines or batch.bad:
        yield batch


def _take(batch: Batch, number: int, raw: bytes) -> None:
    try:
        text = raw.decode().rstrip("\r\n")
        if (end := _end(text)) is not None:
            batch.end = end
        else:
            batch.lines.append((number, _wire.json_line("the line", text)))
    except UnicodeDecodeError as error:
        batch.bad.append(LineError(number, f"not UTF-8: byte {error.start + 1}"))
    except ArgumentError as error:
        batch.bad.append(LineError(number, error.message))
