"""The hash of an event: docs/hash-format.md, the database, the offline verifier, the reference."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from mnemo_pg import verify as offline
from tests.chain.conftest import Life, seal
from tests.reference import hash as reference
from tests.support.calls import scalar
from tests.support.server import ROOT

DOCUMENT = (ROOT / "docs" / "hash-format.md").read_text(encoding="utf-8")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BYTES = ("prev_hash", "content_hash", "note_hash")


class Vector(NamedTuple):
    """A test vector of the document: the columns as JSON text, the encoding, the hash."""

    title: str
    fields: str
    encoding: bytes
    digest: bytes


VECTORS = [
    Vector(title, fields, bytes.fromhex(encoding), bytes.fromhex(digest))
    for title, fields, encoding, digest in re.findall(
        r"^### (Event vector \d+: .*?)\n.*?```json\n(.*?)\n```.*?"
        r"```hex\n(.*?)\n```\n\nHash: `([0-9a-f]{64})`",
        DOCUMENT,
        re.DOTALL | re.MULTILINE,
    )
]


def event(fields: dict[str, Any]) -> dict[str, Any]:
    """The columns of JSON as the reference implementation takes them."""
    found = dict(fields)
    for name in BYTES:
        found[name] = None if found[name] is None else bytes.fromhex(found[name])
    for name in ("id", "memory_id"):
        found[name] = None if found[name] is None else UUID(found[name])
    return found


def test_the_document_has_vectors() -> None:
    assert len(VECTORS) == DOCUMENT.count("\nHash: `") == 2


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.title)
def test_vector(vector: Vector, chain_db: psycopg.Connection) -> None:
    fields = json.loads(vector.fields, parse_float=Decimal)
    assert reference.encode_event(event(fields)) == vector.encoding
    assert reference.event_hash(event(fields)) == vector.digest
    assert offline.event_hash(fields) == vector.digest
    found = scalar(
        chain_db,
        "SELECT mnemo._link_hash(decode(f ->> 'prev_hash', 'hex'), (f ->> 'seq')::bigint,"
        " mnemo._event_body(jsonb_populate_record(NULL::mnemo.event, f || jsonb_build_object("
        "  'happened_at', timestamptz '1970-01-01 00:00+00'"
        "   + (f ->> 'happened_at')::bigint * interval '1 us',"
        "  'content_hash', '\\x' || (f ->> 'content_hash'),"
        "  'note_hash', '\\x' || (f ->> 'note_hash'), 'prev_hash', '\\x', 'hash', '\\x'))))"
        " FROM (SELECT %s::jsonb AS f) AS v",
        vector.fields,
    )
    assert found.hex() == vector.digest.hex()


def test_the_document_names_every_column(chain_db: psycopg.Connection) -> None:
    section = DOCUMENT.split("\n## The hash of an event\n")[1].split("\n### ")[0]
    cells = [line.split("|")[2] for line in section.splitlines() if re.match(r"\| \d+ ", line)]
    named = [name for cell in cells[1:] for name in re.findall(r"`([a-z_]+)`", cell)]
    columns = scalar(
        chain_db,
        "SELECT array_agg(attname::text) FROM pg_attribute"
        " WHERE attrelid = 'mnemo.event'::regclass AND attnum > 0 AND NOT attisdropped",
    )
    assert sorted([*named, "hash"]) == sorted(columns)


def test_stored_events_carry_their_hash(chain_db: psycopg.Connection, life: Life) -> None:
    for _ in range(150):
        life.step()
    seal(chain_db)
    with chain_db.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "SELECT e.*, e.changes::text AS text FROM mnemo.event AS e ORDER BY seq"
        ).fetchall()
    assert len(found) > 50
    for stored in found:
        stored["changes"] = json.loads(stored["text"], parse_float=Decimal)
        stored["happened_at"] = (stored["happened_at"] - EPOCH) // timedelta(microseconds=1)
        assert stored["hash"] == reference.event_hash(stored)
