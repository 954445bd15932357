"""Convert arguments to what the driver sends, and refuse what would not arrive as it was meant.

No rule of the memory store is here. Refused are only values that PostgreSQL cannot hold (U+0000,
lone surrogates, NaN inside JSON), that would be read as something else (datetimes without a time
zone, a str as a list, True as 1), or that the driver would send as another type. All else goes
through, and the database answers.

Each converter takes the name to show in errors and a value that is not None.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Any, NoReturn
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemo_pg.errors import ArgumentError

dumps = partial(json.dumps, allow_nan=False, ensure_ascii=False)
_BIGINT = 2**63  # bigint and the microseconds of an interval go from -_BIGINT to _BIGINT - 1
_DIGITS = 14_000  # bits: Python writes no integer of more than 4,300 digits


def _refuse(name: str, problem: str, hint: str) -> NoReturn:
    raise ArgumentError(f"{name} {problem}", parameter=name, hint=hint)


def _wrong_type(name: str, wanted: str, value: object) -> NoReturn:
    raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def text(name: str, value: object) -> str:
    """A str or a member of an enum of strings; no U+0000, no lone surrogates."""
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str):
        _wrong_type(name, "a str", value)
    if "\0" in value:
        _refuse(name, "contains U+0000, which PostgreSQL cannot hold", "remove the character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            code = ord(value[error.start])
            _refuse(
                name,
                f"contains U+{code:04X} (a lone surrogate) at index {error.start}",
                "decode the text with errors='replace'",
            )
    return value


def table(name: str, value: object) -> str:
    """The name of a table as in SQL: a str."""
    return text(name, value)


def uuid(name: str, value: object) -> UUID:
    """A UUID, or a str that spells one."""
    if isinstance(value, UUID):
        return value
    if not isinstance(value, str):
        _wrong_type(name, "a UUID or a str", value)
    try:
        return UUID(value)
    except ValueError:
        _refuse(name, f"is not a UUID: {value[:100]!r}", "pass an id that a call returned")


def elements(name: str, value: object, of: str) -> Iterable[object]:
    """The elements of a list of any kind; a str, bytes or a mapping is none."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        _wrong_type(name, f"a list of {of}", value)
    return value


def texts(name: str, value: object) -> list[str | None]:
    """A list of str; None elements go through, for the database to refuse."""
    return [
        None if item is None else text(f"{name}[{index}]", item)
        for index, item in enumerate(elements(name, value, "str"))
    ]


def uuids(name: str, value: object) -> list[UUID | None]:
    """A list of ids; None elements go through, for the database to refuse."""
    return [
        None if item is None else uuid(f"{name}[{index}]", item)
        for index, item in enumerate(elements(name, value, "UUID"))
    ]


def number(name: str, value: object) -> float:
    """A float or an int; NaN and infinities go through, for the database to answer."""
    if isinstance(value, bool) or not isinstance(value, Real):
        _wrong_type(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        _refuse(name, "is too large for double precision", "pass a smaller number")


def integer(name: str, value: object) -> int:
    """An int that bigint holds."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        _wrong_type(name, "an int", value)
    whole = int(value)
    if not -_BIGINT <= whole < _BIGINT:
        _refuse(name, "is too large for bigint", "pass a smaller number")
    return whole


def boolean(name: str, value: object) -> bool:
    """True or False; nothing that is merely truthy."""
    if not isinstance(value, bool):
        _wrong_type(name, "a bool", value)
    return value


def moment(name: str, value: object) -> datetime:
    """A datetime with a time zone."""
    if not isinstance(value, datetime):
        _wrong_type(name, "a datetime", value)
    if value.utcoffset() is None:
        _refuse(
            name,
            "has no time zone, so the server would read it in its own",
            "use datetime.now(UTC) or .replace(tzinfo=...)",
        )
    return value


def interval(name: str, value: object) -> str:
    """A timedelta as ISO 8601 seconds: 24 hours stay 24 hours when clocks change."""
    if not isinstance(value, timedelta):
        _wrong_type(name, "a timedelta", value)
    micros = value // timedelta(microseconds=1)
    if not -_BIGINT <= micros < _BIGINT:
        _refuse(name, "is too long for an interval", "pass a shorter time")
    seconds, rest = divmod(abs(micros), 1_000_000)
    return f"PT{'-' if micros < 0 else ''}{seconds}.{rest:06d}S"


def binary(name: str, value: object) -> bytes:
    """Bytes of any kind; no str, whose bytes nobody has named."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        _wrong_type(name, "bytes", value)
    return bytes(value)


def vector(name: str, value: object) -> str:
    """Numbers as the text `[0.1,0.2]`."""
    items = enumerate(elements(name, value, "numbers"))
    return f"[{','.join(repr(number(f'{name}[{index}]', item)) for index, item in items)}]"


def plain(path: str, value: object) -> Any:
    """A copy that is nothing but JSON; the path names the element at fault."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _DIGITS:
            _refuse(path, "is a number of thousands of digits", "pass it as a str")
        return value
    if isinstance(value, str):
        return text(path, value)
    if isinstance(value, float):
        if not isfinite(value):
            _refuse(path, f"is {value}, which JSON cannot hold", "use null or a str")
        return value
    if isinstance(value, Mapping):
        return {
            text(f"{path}.{key!a}", key): plain(f"{path}.{key}", item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(f"{path}[{index}]", item) for index, item in enumerate(value)]
    _wrong_type(path, "JSON (dict, list, str, int, float, bool or None)", value)


def jsonb(name: str, value: object) -> Jsonb:
    """Anything that is JSON; no NaN, no U+0000 and no lone surrogates at any depth."""
    try:
        return Jsonb(plain(name, value), dumps=dumps)
    except RecursionError:
        _refuse(name, "is nested too deeply", "flatten it")


def json_object(name: str, value: object) -> Jsonb:
    """A mapping, as a JSON object."""
    if not isinstance(value, Mapping):
        _wrong_type(name, "a mapping", value)
    return jsonb(name, value)


def criteria(name: str, value: object) -> Jsonb:
    """A mapping as a JSON object; datetimes with a time zone become ISO 8601, tuples arrays."""
    if not isinstance(value, Mapping):
        _wrong_type(name, "a mapping", value)
    return jsonb(
        name,
        {
            key: moment(f"{name}[{key!r}]", item).isoformat()
            if isinstance(item, datetime)
            else list(item)
            if isinstance(item, (tuple, set, frozenset))
            else item
            for key, item in value.items()
        },
    )


def json_list(name: str, value: object) -> Jsonb:
    """A list, as a JSON array."""
    elements(name, value, "JSON values")
    return jsonb(name, value)


def recalls(name: str, value: object) -> Jsonb:
    """Mappings as a JSON array; a UUID becomes text, a datetime with a time zone ISO 8601."""
    entries = []
    for index, entry in enumerate(elements(name, value, "mappings")):
        path = f"{name}[{index}]"
        if not isinstance(entry, Mapping):
            _wrong_type(path, "a mapping", entry)
        entries.append(
            {
                key: str(item)
                if isinstance(item, UUID)
                else moment(f"{path}.{key}", item).isoformat()
                if isinstance(item, datetime)
                else item
                for key, item in entry.items()
            }
        )
    return jsonb(name, entries)


def json_line(name: str, value: object) -> str:
    """A str that spells a JSON object in which nothing is that PostgreSQL cannot hold."""
    line = text(name, value)
    try:
        # Numbers stay text: a line may hold more digits than a float or an int takes here.
        parsed = json.loads(line, parse_int=str, parse_float=str, parse_constant=_no_number)
    except RecursionError:
        _refuse(name, "is nested too deeply", "pass a line as an export gave it")
    except ValueError as error:
        _refuse(name, f"is not JSON: {error}", "pass a line as an export gave it")
    if not isinstance(parsed, dict):
        _refuse(name, "is no JSON object", "pass a line as an export gave it")
    if "\\u" in line:
        plain(name, parsed)
    return line


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def json_lines(name: str, value: object) -> Jsonb:
    """A list of texts of JSON objects, as a JSON array that has their text unchanged."""
    lines = [
        json_line(f"{name}[{index}]", item)
        for index, item in enumerate(elements(name, value, "str"))
    ]
    return Jsonb(lines, dumps=lambda given: f"[{','.join(given)}]")
