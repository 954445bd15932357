"""One database a module, emptied before each test, and records of every kind to forget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import row, rows, scalar
from tests.support.reuse import emptied

STRATEGIES = ("soft_delete", "hard_delete", "archive", "redact")
STATUS = dict(zip(STRATEGIES, ("deleted", "removed", "archived", "redacted"), strict=True))
ERASING = ("hard_delete", "redact")


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database of the module; every chain verifies at the end."""
    with emptied(module_dsn) as conn:
        yield conn
        verified(conn)
    with emptied(module_dsn):
        pass


@pytest.fixture(scope="module")
def session(module_dsn: str) -> Iterator[psycopg.Connection]:
    """One connection a module: the functions of a fresh session are compiled anew."""
    with emptied(module_dsn) as conn:
        # Every plan a record of its own, with the same words as often as not.
        conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
    with psycopg.connect(module_dsn) as conn:
        yield conn


@pytest.fixture
def tx(session: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A transaction on the empty database of the module; every chain verifies at the end."""
    session.execute("SELECT 1")
    yield session
    verified(session)
    session.rollback()


def memory(conn: psycopg.Connection, content: str = "x", **arguments: Any) -> UUID:
    """The id of a new memory of ana."""
    found = row(conn, "remember", **{"content": content, "agent_id": "ana"} | arguments)["id"]
    assert isinstance(found, UUID)
    return found


def plan(conn: psycopg.Connection, query: str = "how to pay", **arguments: Any) -> UUID:
    """The id of a new plan of ana."""
    found = row(conn, "remember_plan", **{
        "query": query, "steps": ["look", "answer"], "chunk_ids": ["c1"], "outcome_score": 1,
        "agent_id": "ana",
    } | arguments)["id"]  # fmt: skip
    assert isinstance(found, UUID)
    return found


def stored(conn: psycopg.Connection, record: UUID) -> dict[str, Any] | None:
    """The row of a record."""
    found = conn.execute(
        "SELECT to_jsonb(m) FROM mnemo.memory AS m WHERE m.id = %s", [record]
    ).fetchall()
    return found[0][0] if found else None


def events(conn: psycopg.Connection, record: UUID) -> list[tuple[Any, ...]]:
    """Type, actor and changes of the events of a record but the first."""
    return conn.execute(
        "SELECT e.event_type, e.actor_agent_id, e.changes FROM mnemo.event AS e"
        " WHERE e.memory_id = %s ORDER BY e.id OFFSET 1", [record]
    ).fetchall()  # fmt: skip


def verified(conn: psycopg.Connection) -> None:
    """No chain raises an alarm, sealed or not."""
    owners = conn.execute("SELECT DISTINCT e.agent_id, e.org_id FROM mnemo.event AS e").fetchall()
    for sealed in (False, True):
        if sealed:
            conn.execute("SELECT mnemo.seal()")
        for agent, org in owners:
            answer = row(conn, "verify_chain", agent_id=agent, org_id=org)
            assert answer["ok"], (answer["reason"], answer["detail"])
            assert not sealed or answer["unsealed"] == 0


def count(conn: psycopg.Connection, table: str) -> int:
    """The rows of a table."""
    return int(scalar(conn, f"SELECT count(*) FROM mnemo.{table}"))


def forgotten(
    conn: psycopg.Connection, function: str = "forget", agent: str = "ana", **arguments: Any
) -> dict[UUID, str]:
    """Ids and statuses of what was forgotten."""
    found = rows(conn, function, agent_id=agent, **arguments)
    answer = {one["id"]: one["status"] for one in found}
    assert len(answer) == len(found)
    return answer
