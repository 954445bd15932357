"""The content hash of a record, written from docs/hash-format.md alone.

A record is a mapping of column names to Python values: text as str, lists of text as lists, times
as whole microseconds since 1970-01-01 00:00:00 UTC, bytes as bytes, the id as UUID, NULL as None.
JSON numbers must be int or Decimal, because a float has lost digits that the hash covers.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

TEXTS_BEFORE = ("org_id", "origin_org_id", "agent_id", "memory_type", "content")
TEXTS_BETWEEN = (
    "source_type", "source_id", "thread_id", "created_by", "kind", "subject", "predicate",
)  # fmt: skip
COLUMNS = (
    "nonce", "id", *TEXTS_BEFORE, "tags", "metadata", *TEXTS_BETWEEN, "entities", "aliases",
    "location", "confidence", "valid_from", "temporal_scope", "created_at",
)  # fmt: skip


def count(number: int) -> bytes:
    """A length or a number of elements."""
    return struct.pack(">q", number)


def text(value: str | None) -> bytes:
    """A text or NULL."""
    if value is None:
        return b"N"
    data = value.encode()
    return b"T" + count(len(data)) + data


def texts(values: Sequence[str]) -> bytes:
    """A list of texts."""
    return b"L" + count(len(values)) + b"".join(text(value) for value in values)


def binary(value: bytes) -> bytes:
    """Bytes."""
    return b"B" + count(len(value)) + value


def identifier(value: UUID) -> bytes:
    """A UUID."""
    return b"U" + value.bytes


def time(value: int | None) -> bytes:
    """A time in microseconds, or NULL."""
    return b"N" if value is None else b"I" + struct.pack(">q", value)


def double(value: float | None) -> bytes:
    """A double or NULL."""
    return b"N" if value is None else b"F" + struct.pack(">d", 0.0 if value == 0 else value)


def digits(value: int | Decimal) -> str:
    """A JSON number: all its digits, no exponent, no zeros at the end of the fraction."""
    if value == 0:
        return "0"
    plain = format(Decimal(value), "f")
    return plain.rstrip("0").removesuffix(".") if "." in plain else plain


def json_value(value: Any) -> bytes:
    """A JSON value; iterative, for JSON nests deeper than Python recurses."""
    done = bytearray()
    pending = [value]
    while pending:
        item = pending.pop()
        match item:
            case bytes():
                done += item
            case None:
                done += b"n"
            case bool():
                done += b"t" if item else b"f"
            case str():
                data = item.encode()
                done += b"s" + count(len(data)) + data
            case int() | Decimal():
                data = digits(item).encode()
                done += b"d" + count(len(data)) + data
            case list():
                done += b"a" + count(len(item))
                pending += reversed(item)
            case dict():
                done += b"o" + count(len(item))
                keys = sorted(((key.encode(), element) for key, element in item.items()),
                              key=lambda pair: pair[0])  # fmt: skip
                for key, element in reversed(keys):
                    pending += [element, count(len(key)) + key]
            case _:
                raise TypeError(f"no JSON value: {item!r}")
    return bytes(done)


def encode(record: Mapping[str, Any]) -> bytes:
    """The canonical encoding of a record."""
    return b"".join([
        text("mnemo_pg memory 1"),
        binary(record["nonce"]),
        identifier(record["id"]),
        *(text(record[name]) for name in TEXTS_BEFORE),
        texts(record["tags"]),
        b"J" + json_value(record["metadata"]),
        *(text(record[name]) for name in TEXTS_BETWEEN),
        texts(record["entities"]),
        texts(record["aliases"]),
        text(record["location"]),
        double(record["confidence"]),
        time(record["valid_from"]),
        text(record["temporal_scope"]),
        time(record["created_at"]),
    ])  # fmt: skip


def content_hash(record: Mapping[str, Any]) -> bytes:
    """SHA-256 over the canonical encoding."""
    return hashlib.sha256(encode(record)).digest()


# Events


def optional_binary(value: bytes | None) -> bytes:
    """Bytes or NULL."""
    return b"N" if value is None else binary(value)


def encode_event(event: Mapping[str, Any]) -> bytes:
    """The canonical encoding of a sealed event; as for records, times in microseconds."""
    return b"".join([
        text("mnemo_pg event 1"),
        binary(event["prev_hash"]),
        time(event["seq"]),
        identifier(event["id"]),
        text(event["org_id"]),
        text(event["agent_id"]),
        text(event["event_type"]),
        text(event["memory_org_id"]),
        b"N" if event["memory_id"] is None else identifier(event["memory_id"]),
        text(event["actor_org_id"]),
        text(event["actor_agent_id"]),
        time(event["happened_at"]),
        optional_binary(event["content_hash"]),
        b"J" + json_value(event["changes"]),
        optional_binary(event["note_hash"]),
    ])  # fmt: skip


def event_hash(event: Mapping[str, Any]) -> bytes:
    """SHA-256 over the canonical encoding of an event."""
    return hashlib.sha256(encode_event(event)).digest()
