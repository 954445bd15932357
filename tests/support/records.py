"""Records written in one line, for tests that are about something else."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

from tests.support.calls import row


def remember(conn: psycopg.Connection, content: str = "x", **arguments: Any) -> UUID:
    """The id of a new memory."""
    found = row(conn, "remember", content=content, **arguments)["id"]
    assert isinstance(found, UUID)
    return found


def remember_plan(conn: psycopg.Connection, query: str, **arguments: Any) -> UUID:
    """The id of a new plan."""
    found = row(conn, "remember_plan", **{
        "query": query, "steps": ["look", "answer"], "chunk_ids": ["c1"], "outcome_score": 0.9,
        **arguments,
    })["id"]  # fmt: skip
    assert isinstance(found, UUID)
    return found
