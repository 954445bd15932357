"""Chains to verify: records of every kind and fate, written by the functions that there are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, value
from tests.support.records import remember, remember_plan
from tests.support.reuse import emptied

OWNERS = (("ana", "default"), ("ben", "default"), ("ana", "acme"))


@pytest.fixture
def chain_db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database of the module."""
    with emptied(module_dsn) as conn:
        yield conn


def verify(conn: psycopg.Connection, **arguments: Any) -> dict[str, Any]:
    """The row of verify_chain."""
    return row(conn, "verify_chain", **arguments)


def owners(conn: psycopg.Connection) -> list[tuple[str, str]]:
    """(agent, organisation) of everybody who owns a record or a chain."""
    return conn.execute(
        "SELECT agent_id, origin_org_id FROM mnemo.memory UNION SELECT agent_id, org_id"
        " FROM mnemo.event UNION SELECT agent_id, org_id FROM mnemo.chain_head ORDER BY 1, 2"
    ).fetchall()


# One statement: a thousand tamperings ask it.
FINDINGS = """
    SELECT o.agent_id, o.org_id, (v.finding).*
      FROM unnest(%s::text[], %s::text[]) AS o(agent_id, org_id)
     CROSS JOIN LATERAL mnemo._verify(o.org_id, o.agent_id, NULL, now()) AS v
     WHERE (v.finding).reason IS NOT NULL
"""


def findings(
    conn: psycopg.Connection, whom: list[tuple[str, str]] | tuple[tuple[str, str], ...] = OWNERS
) -> list[tuple[Any, ...]]:
    """What is wrong with the chains of these owners."""
    agents, organisations = map(list, zip(*whom, strict=True))
    return conn.execute(FINDINGS, (agents, organisations)).fetchall()


def change(conn: psycopg.Connection, record: UUID, event_type: str, assignments: str) -> None:
    """A change of a record with its event, as every function makes it."""
    with conn.transaction():
        conn.execute(
            "CREATE TEMP TABLE before ON COMMIT DROP AS"
            " SELECT m AS record FROM mnemo.memory AS m WHERE m.id = %s FOR UPDATE",
            (record,),
        )
        conn.execute(f"UPDATE mnemo.memory SET {assignments} WHERE id = %s", (record,))
        conn.execute(
            "INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id, memory_id,"
            " actor_org_id, actor_agent_id, happened_at, content_hash, changes)"
            " SELECT m.origin_org_id, mnemo._next_event_id(m.org_id, m.id), m.agent_id, %s,"
            "        m.org_id, m.id, m.origin_org_id, m.agent_id, now(), m.content_hash,"
            "        mnemo._bound_changes(b.record, m)"
            "   FROM before AS b JOIN mnemo.memory AS m ON m.id = (b.record).id",
            (event_type,),
        )


REDACTED = (
    "content = NULL, metadata = '{}', nonce = NULL, tags = '{}', subject = NULL, predicate = NULL,"
    " entities = '{}', aliases = '{}', location = NULL, quarantined = false, source_id = NULL,"
    " thread_id = NULL, created_by = NULL,"
    " quarantine_reason = NULL, deleted_at = now(), redacted_at = now()"
)


def delete_for_good(conn: psycopg.Connection, record: UUID) -> None:
    """The record goes, a tombstone stays."""
    with conn.transaction():
        conn.execute(
            "INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id, memory_id,"
            " actor_org_id, actor_agent_id, happened_at, content_hash, changes)"
            " SELECT m.origin_org_id, mnemo._next_event_id(m.org_id, m.id), m.agent_id,"
            "        'memory_delete', m.org_id, m.id, m.origin_org_id, m.agent_id, now(),"
            "        m.content_hash, '{\"hard\": true}' FROM mnemo.memory AS m WHERE m.id = %s",
            (record,),
        )
        conn.execute("DELETE FROM mnemo.memory WHERE id = %s", (record,))


def note(conn: psycopg.Connection, record: UUID, text: str) -> None:
    """An event with free text beside it."""
    with conn.transaction():
        conn.execute(
            "WITH e AS (INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id,"
            "  memory_id, actor_org_id, actor_agent_id, happened_at, content_hash, changes,"
            "  note_hash) SELECT m.origin_org_id, mnemo._next_event_id(m.org_id, m.id), m.agent_id,"
            "  'memory_read', m.org_id, m.id, m.origin_org_id, 'reader', now(), m.content_hash,"
            "  '{}', mnemo._note_hash('\\x00010203', %s) FROM mnemo.memory AS m WHERE m.id = %s"
            "  RETURNING org_id, id) INSERT INTO mnemo.event_note (org_id, event_id, salt, note)"
            " SELECT e.org_id, e.id, '\\x00010203', %s FROM e",
            (text, record, text),
        )


@dataclass
class Life:
    """Random doings of a few agents, each as the functions do it."""

    conn: psycopg.Connection
    random: random.Random

    def _some(self) -> tuple[UUID, dict[str, str]] | None:
        found = self.conn.execute(
            "SELECT m.id, m.agent_id, m.origin_org_id FROM mnemo.memory AS m"
            " WHERE m.org_id <> '*' AND mnemo._is_live(m, clock_timestamp()) ORDER BY m.id"
        ).fetchall()
        if not found:
            return None
        record, agent, org = self.random.choice(found)
        return record, {"agent_id": agent, "org_id": org}

    def step(self) -> str:
        """One thing happens; its name."""
        r = self.random
        agent, org = r.choice(OWNERS)
        who = {"agent_id": agent, "org_id": org}
        name = r.choice(("write", "write", "plan", "share", "unshare", "change", "note", "forget",
                         "forget", "redact", "expire", "delete", "quarantine"))  # fmt: skip
        if name == "write":
            remember(self.conn, f"memory {r.random()}", importance=r.random(),
                     scope=r.choice(("private", "shared", "public", "global")),
                     ttl=r.choice((None, "1 day", "1 hour")), tags=["a", "b"],
                     metadata={"n": r.random()}, **who)  # fmt: skip
            return name
        if name == "plan":
            remember_plan(self.conn, f"question {r.random()}", outcome_score=1 - r.random() / 3,
                          scope=r.choice(("private", "shared", "public")), **who)  # fmt: skip
            return name
        some = self._some()
        if some is None:
            return "nothing"
        record, who = some
        if name in ("share", "unshare"):
            agents = r.sample(["cem", "dua", "eve"], r.randint(1, 3))
            named = {"to_agents": agents, "permission": r.choice(("read", "write", "share"))}
            if name == "share":
                rows(self.conn, "share", id=record, ttl=r.choice((None, "1 hour")), **named, **who)
            else:
                rows(self.conn, "unshare", id=record, from_agents=agents, **who)
        elif name == "forget":
            # Whatever strategies this version has.
            strategies = scalar(self.conn, "SELECT mnemo._labels('forget_strategy')")
            rows(self.conn, "forget", ids=[record], strategy=r.choice(strategies), **who)
        elif name == "change":
            change(self.conn, record, "memory_update", r.choice((
                f"importance = {r.random()!r}", "status = 'superseded', valid_to = '9000-01-01'",
                "consolidation_state = 'active'", "expires_at = now() + interval '2 days'",
            )))  # fmt: skip
        elif name == "redact" and not self._is_plan(record):
            change(self.conn, record, "memory_redact", REDACTED)
        elif name == "expire":
            change(self.conn, record, "memory_expired", "deleted_at = now()")
        elif name == "quarantine":
            change(self.conn, record, "memory_quarantined",
                   "quarantined = true, quarantine_reason = 'it says: obey'")  # fmt: skip
        elif name == "delete":
            delete_for_good(self.conn, record)
        elif name == "note":
            note(self.conn, record, f"because {r.random()}")
        return name

    def _is_plan(self, record: UUID) -> bool:
        return bool(scalar(self.conn, "SELECT tags @> '{__experience_plan__}'"
                           " FROM mnemo.memory WHERE id = %s", record))  # fmt: skip


@pytest.fixture
def life(chain_db: psycopg.Connection) -> Life:
    """Always the same random doings."""
    return Life(chain_db, random.Random(5))


def seal(conn: psycopg.Connection) -> None:
    """Nothing is left unsealed."""
    assert value(conn, "seal") == 0
