"""Bring plans and memories in from JSON lines: one object a line, any number of lines.

A plan has the parameters of `remember_plan` as its keys, a memory those of `remember`. What is
looked at here is whether a line is JSON that PostgreSQL can hold; what may be stored is decided by
the database. Bad lines are reported with their number and stop nothing, unless asked to.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import IO, Any, NamedTuple, NoReturn

from mnemo_pg import _wire, statements
from mnemo_pg.client import Mnemo
from mnemo_pg.errors import (
    AccessError,
    ArgumentError,
    ConflictError,
    LimitError,
    MnemoError,
    StateError,
    TimedOutError,
    UnavailableError,
)

LONGEST_LINE = 8_000_000
"""Bytes. A payload may have 1 MB, and JSON may write one byte as six."""

_BATCH_LINES = 500
_BATCH_BYTES = 4_000_000
_MEMORY_KEYS = frozenset(inspect.signature(statements.remember).parameters)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)(?![a-z])\s*"
)


class LineError(NamedTuple):
    """A line that was not stored, and why."""

    line: int
    error: str


class ImportAborted(Exception):
    """A bad line ended an import that was to be all or nothing; nothing was stored."""

    def __init__(self, error: LineError) -> None:
        super().__init__(f"line {error.line}: {error.error}")
        self.error = error


class ImportBroken(Exception):
    """The connection or the server failed on the way. What was committed before stays.

    Of the lines behind `stored_to`, those of one batch may be stored too: a lost connection does
    not say whether its commit arrived.
    """

    def __init__(self, stored_to: int) -> None:
        super().__init__(f"lines up to {stored_to} are done")
        self.stored_to = stored_to


@dataclass(slots=True)
class Summary:
    """How many lines there were, and what became of them: counts by status."""

    lines: int = 0
    plans: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    failed: int = 0


class _Entry(NamedTuple):
    line: int
    record: dict[str, Any] | None
    error: str | None = None

    @property
    def is_memory(self) -> bool:
        return self.record is not None and "content" in self.record


def parse_duration(text: str) -> timedelta:
    """`90s`, `30 min`, `12h`, `7 days`, `1w 2d`; ValueError for anything else."""
    given = text.strip().lower()
    position, seconds = 0, 0.0
    while found := _DURATION.match(given, position):
        seconds += float(found[1]) * _UNITS[found[2][0]]
        position = found.end()
    if not given or position != len(given):
        raise ValueError(f"not a duration: {text!r}; write it as 90s, 30m, 12h, 7d or 2w")
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError(f"a duration that is too long: {text!r}") from None


class Importer:
    """One import through a client; see `run`.

    `agent_id`, `org_id` and `scope` hold for lines that name none. `abort` makes it all or nothing.
    `once` gives lines without an idempotency key one made of their content, so that the same file
    can be imported again after an interruption without storing anything twice.
    """

    def __init__(
        self,
        client: Mnemo,
        *,
        agent_id: str | None = None,
        org_id: str | None = None,
        scope: str | None = None,
        abort: bool = False,
        once: bool = False,
    ) -> None:
        self._client = client
        named = {"agent_id": agent_id, "org_id": org_id, "scope": scope}
        self._defaults = {key: value for key, value in named.items() if value is not None}
        self._abort = abort
        self._once = once

    def run(
        self,
        source: IO[bytes],
        on_error: Callable[[LineError], None],
        on_bytes: Callable[[int], None] = lambda count: None,
    ) -> Summary:
        """Store every line of the file; memory use does not depend on its length.

        `on_error` is told of bad lines in their order, `on_bytes` how much was read.
        `ImportAborted` and `ImportBroken` as they say; `StateError` and others of `MnemoError` for
        what is no fault of a line.
        """
        if not self._abort:
            return self._run(self._client, source, on_error, on_bytes)
        with self._client.transaction() as transaction:
            return self._run(transaction, source, on_error, on_bytes)

    def _run(
        self,
        client: Mnemo,
        source: IO[bytes],
        on_error: Callable[[LineError], None],
        on_bytes: Callable[[int], None],
    ) -> Summary:
        summary = Summary()
        for batch in self._batches(source, on_bytes):
            try:
                errors = self._store(client, batch, summary)
            except (UnavailableError, TimedOutError, ConflictError) as error:
                raise ImportBroken(0 if self._abort else summary.lines) from error
            for bad in errors:
                if self._abort:
                    raise ImportAborted(bad)
                on_error(bad)
            summary.failed += len(errors)
            summary.lines += len(batch)
        return summary

    # Reading

    def _batches(
        self, source: IO[bytes], on_bytes: Callable[[int], None]
    ) -> Iterator[list[_Entry]]:
        batch: list[_Entry] = []
        held = 0
        for number, line in enumerate(_lines(source, on_bytes), start=1):
            batch.append(self._entry(number, line))
            held += len(line or b"")
            if len(batch) >= _BATCH_LINES or held >= _BATCH_BYTES:
                yield batch
                batch, held = [], 0
        if batch:
            yield batch

    def _entry(self, number: int, line: bytes | None) -> _Entry:
        if line is None:
            return _Entry(number, None, f"longer than {LONGEST_LINE:,} bytes")
        try:
            record = _parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
        except RecursionError:
            return _Entry(number, None, "nested too deeply")
        except ValueError as error:
            return _Entry(number, None, str(error))
        except ArgumentError as error:
            return _Entry(number, None, error.message)
        if self._once and record.get("idempotency_key") is None:
            text = json.dumps(record, sort_keys=True, ensure_ascii=False)
            record["idempotency_key"] = "import:" + hashlib.sha256(text.encode()).hexdigest()
        for key, value in self._defaults.items():
            if record.get(key) is None:
                record[key] = value
        return _Entry(number, record)

    # Storing

    def _store(self, client: Mnemo, batch: list[_Entry], summary: Summary) -> list[LineError]:
        errors = [LineError(entry.line, entry.error) for entry in batch if entry.error]
        plans = [entry for entry in batch if entry.record and not entry.is_memory]
        memories = [entry for entry in batch if entry.is_memory]
        # One transaction a batch: an interrupted one is repeated as a whole.
        with client.transaction() as transaction:
            if plans:
                answers = transaction.remember_plans(
                    [entry.record for entry in plans if entry.record], on_error="skip"
                )
                for entry, answer in zip(plans, answers, strict=True):
                    if answer.error is None:
                        summary.plans[str(answer.status)] += 1
                    elif answer.error.startswith(f"{StateError.sqlstate}:"):
                        # Switched off: no line is at fault, and the error alone has its remedy.
                        transaction.remember_plans([entry.record or {}])
                    else:
                        # The wrapper counts elements of the batch, the reader counts lines.
                        text = re.sub(r"\bplans\[\d+\]\.?", "", answer.error)
                        errors.append(LineError(entry.line, text.removeprefix("22023: ")))
            for entry in memories:
                try:
                    with transaction.transaction() as savepoint:
                        status = savepoint.remember(**_memory_arguments(entry.record or {})).status
                except (AccessError, ArgumentError, LimitError) as error:
                    errors.append(LineError(entry.line, _said(error)))
                except (TypeError, ValueError) as error:
                    errors.append(LineError(entry.line, str(error)))
                else:
                    summary.memories[str(status)] += 1
        return sorted(errors)


def _lines(source: IO[bytes], on_bytes: Callable[[int], None]) -> Iterator[bytes | None]:
    """The lines without their ends; None for one that is too long to be held."""
    while line := source.readline(LONGEST_LINE + 1):
        on_bytes(len(line))
        if len(line) <= LONGEST_LINE:
            yield line.rstrip(b"\r\n")
            continue
        while line and not line.endswith(b"\n"):
            line = source.readline(1_000_000)
            on_bytes(len(line))
        yield None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is no JSON number")


def _parse(line: bytes) -> dict[str, Any]:
    if not line.strip():
        raise ValueError("blank line")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte {error.start + 1}") from None
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(record, dict):
        raise ValueError(f"a line is a JSON object, this one is {_json_kind(record)}")
    if "content" in record and ("steps" in record or "query" in record):
        raise ValueError("a line is a plan (query, steps) or a memory (content), not both")
    if {"table", "row"} <= record.keys():
        raise ValueError("a line of an export: bring it in with mnemo-pg restore")
    if not record.keys() & {"content", "query", "steps"}:
        raise ValueError("neither a plan (query, steps) nor a memory (content)")
    for key, value in record.items():
        _wire.text("a key", key)
        _wire.plain(key, value)
    return record


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {list: "an array", str: "a string", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _memory_arguments(record: dict[str, Any]) -> dict[str, Any]:
    """The line's values as `remember` takes them: JSON has no times and no intervals."""
    unknown = sorted(record.keys() - _MEMORY_KEYS)
    if unknown:
        raise ValueError(
            f"unknown key {unknown[0]!r}; a memory has the parameters of remember as its keys"
        )
    arguments = dict(record)
    if isinstance(record.get("ttl"), str):
        arguments["ttl"] = parse_duration(record["ttl"])
    for name in ("valid_from", "valid_to"):
        if isinstance(record.get(name), str):
            try:
                arguments[name] = datetime.fromisoformat(record[name])
            except ValueError:
                raise ValueError(
                    f"{name} is not a time: {record[name]!r}; write it as 2026-01-31T09:00:00Z"
                ) from None
    return arguments


def _said(error: MnemoError) -> str:
    code = "" if error.sqlstate == ArgumentError.sqlstate else f"{error.sqlstate}: "
    return code + error.message
