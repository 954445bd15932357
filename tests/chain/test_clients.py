"""Both clients seal, verify, tell the history, export and retain."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from mnemo_pg import ArgumentError, AsyncMnemo, ChainReason, Mnemo, NotFoundError, StateError
from mnemo_pg import verify as offline
from mnemo_pg.types import EventType


async def _of(value: Any) -> Any:
    """The answer of a call of either client."""
    return await value if inspect.isawaitable(value) else value


@pytest.mark.parametrize("kind", [Mnemo, AsyncMnemo])
async def test_the_whole_of_it(module_dsn: str, chain_db: psycopg.Connection, kind: Any) -> None:
    m = kind(module_dsn, agent_id="ana")
    memory = await _of(m.remember("a note", importance=0.25))
    assert await _of(m.seal(limit=5)) == 0
    first = await _of(m.verify_chain())
    assert (first.ok, first.checked, first.reason, first.head_seq) == (True, 1, None, 1)
    assert (await _of(m.verify_chain(expected_head=bytearray(first.head)))).ok
    wrong = await _of(m.verify_chain(expected_head=b"x" * 32))
    assert wrong.reason is ChainReason.HEAD_UNKNOWN
    with pytest.raises(TypeError):
        await _of(m.verify_chain(expected_head=first.head.hex()))
    (event,) = await _of(m.history(memory.id))
    assert (event.event_type, event.changes["importance"]) == (EventType.MEMORY_WRITE, 0.25)
    assert event.happened_at.tzinfo is UTC
    with pytest.raises(NotFoundError):
        await _of(m.history(memory.id, agent_id="ben"))
    (head,) = await _of(m.chain_heads())
    assert (head.agent_id, head.head, head.unsealed) == ("ana", first.head, 0)
    lines = [one.line for one in await _of(m.export_chain())]
    (report,) = offline.verify(lines, [first.head.hex()])
    assert report.ok
    (retained,) = await _of(m.retain_events(datetime.now(UTC)))
    assert (retained.status, retained.removed, retained.carried) == ("removed", 1, 1)
    assert (await _of(m.verify_chain(expected_head=first.head))).ok
    await _of(m.close())


def test_errors(module_dsn: str, chain_db: psycopg.Connection) -> None:
    with psycopg.connect(module_dsn) as conn:
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(StateError):
            Mnemo(conn).seal()
    with Mnemo(module_dsn) as m, pytest.raises(ArgumentError):
        m.export_chain(limit=10_001)
