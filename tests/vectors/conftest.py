"""Databases with pgvector in a schema of its own and models enabled; skipped without pgvector."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.calls import Refusal, rows, scalar
from tests.support.server import Server

MODEL, DIMENSIONS = "small", 4

# Records as the functions write them, with a vector each; what others hold is what costs.
BULK = """
WITH made AS (
    INSERT INTO mnemo.memory
    SELECT (r.record).*
      FROM (
        SELECT jsonb_populate_record(
                   mnemo._new_record(u.scope, u.org, u.agent, NULL),
                   jsonb_build_object('content', 'memory ' || u.number, 'memory_type', 'semantic',
                       'source_type', 'agent', 'tags', u.tags, 'content_hash', '\\x00')) AS record
          FROM unnest(%s::text[], %s::text[], %s::text[], %s::jsonb[]) WITH ORDINALITY
               AS u(scope, org, agent, tags, number)
      ) AS r
    RETURNING org_id, id
), placed AS (
    SELECT array_agg(m.org_id) AS orgs, array_agg(m.id) AS ids FROM made AS m
)
SELECT p.orgs, p.ids FROM placed AS p
"""


def need_pgvector(conn: psycopg.Connection[Any], schema: str = "types") -> None:
    """Create pgvector in a schema of that name, or skip the test."""
    if not scalar(conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this server has no pgvector")
    conn.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")  # type: ignore[arg-type]
    conn.execute(f"CREATE EXTENSION vector SCHEMA {schema}")  # type: ignore[arg-type]


def vector(numbers: list[float]) -> str:
    """Numbers as the API takes them."""
    return f"[{','.join(map(repr, numbers))}]"


def direction(dice: random.Random, dimensions: int = DIMENSIONS) -> list[float]:
    """A random direction, of any length."""
    return [dice.gauss(0, 1) for _ in range(dimensions)]


def fill(
    conn: psycopg.Connection[Any],
    dice: random.Random,
    owners: list[tuple[str, str, str, list[str]]],
    dimensions: int = DIMENSIONS,
    model: str = MODEL,
) -> list[tuple[str, Any, list[float]]]:
    """A record for each scope, organisation, agent and tags; keys and vectors."""
    made = []
    for start in range(0, len(owners), 5000):
        batch = owners[start : start + 5000]
        found = conn.execute(
            BULK, [*(list(column) for column in list(zip(*batch, strict=True))[:3]),
                   [json.dumps(tags) for *_, tags in batch]],
        ).fetchone()  # fmt: skip
        assert found is not None
        orgs, ids = found
        vectors = [direction(dice, dimensions) for _ in ids]
        conn.execute(
            "SELECT mnemo._store_embeddings(%s, %s, %s, %s)",
            [[vector(v) for v in vectors], [model] * len(ids), orgs, ids],
        )
        made += list(zip(orgs, ids, vectors, strict=True))
    return made


@pytest.fixture(scope="module")
def vectors(server: Server, template: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database of the module's own with one model, in which nothing is committed
    by the tests that take `tx`."""
    with psycopg.connect(server.create_database("test_vectors", template)) as conn:
        try:
            need_pgvector(conn)
            conn.execute("SELECT mnemo.enable_vectors(%s, %s)", [MODEL, DIMENSIONS])
            conn.commit()
            yield conn
        finally:
            conn.rollback()
            conn.close()
            server.drop_database("test_vectors")


@pytest.fixture
def tx(vectors: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
    """That connection in a transaction that is rolled back after the test."""
    vectors.execute("SELECT 1")
    yield vectors
    vectors.rollback()


def error(conn: psycopg.Connection[Any], function: str, /, **arguments: Any) -> Refusal:
    """The error that a call raises."""
    try:
        rows(conn, function, **arguments)
    except psycopg.Error as raised:
        refusal = Refusal(raised.sqlstate or "", raised.diag.message_primary or "")
        refusal.detail = json.loads(raised.diag.message_detail or "null")
        refusal.hint = raised.diag.message_hint or ""
        return refusal
    raise AssertionError(f"{function} raised nothing")
