"""The reader of events: every filter against the same question in Python, pages, both clients."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from mnemo_pg import AsyncMnemo, EventType, Mnemo
from tests.export.rows import fill
from tests.support.calls import row, rows
from tests.support.server import Server

FIELDS = ("id, org_id, agent_id, event_type, memory_org_id, memory_id, actor_org_id,"
          " actor_agent_id, happened_at, content_hash, changes, seq, hash")  # fmt: skip


@pytest.fixture(scope="module")
def log(server: Server, template: str) -> Any:
    """A database whose events happened at many times, and the events as they are stored."""
    dsn = server.create_database("events", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        fill(conn, random.Random(11), 40)
        conn.execute(
            "UPDATE mnemo.event AS e SET happened_at = timestamptz '2026-01-01 00:00:00+00'"
            " + s.n * interval '1 hour' FROM (SELECT id, row_number() OVER (ORDER BY id) AS n"
            " FROM mnemo.event) AS s WHERE s.id = e.id"
        )
        stored = conn.execute(
            f"SELECT {FIELDS}, (SELECT n.note FROM mnemo.event_note AS n WHERE n.org_id = e.org_id"
            " AND n.event_id = e.id) AS note FROM mnemo.event AS e ORDER BY id DESC"
        )
        names = [column.name for column in stored.description or ()]
        yield conn, [dict(zip(names, found, strict=True)) for found in stored]
    server.drop_database("events")


def test_every_filter(log: Any) -> None:
    """Alone and together, random ones; the order is newest first."""
    conn, stored = log
    dice = random.Random(5)
    found_any = 0
    for _ in range(150):
        event = dice.choice(stored)
        given: dict[str, Any] = {"org_id": dice.choice(("acme", event["org_id"]))}
        if dice.random() < 0.4:
            given["agent_id"] = event["agent_id"]
        if dice.random() < 0.4:
            given["types"] = [*dice.sample(list(EventType), 3), event["event_type"]]
        if dice.random() < 0.3:
            given["memory_id"] = event["memory_id"]
        if dice.random() < 0.4:
            given["since"] = event["happened_at"] - timedelta(hours=dice.randint(0, 20))
        if dice.random() < 0.4:
            given["until"] = event["happened_at"] + timedelta(hours=dice.randint(1, 20))
        if dice.random() < 0.3:
            given["after"] = dice.choice(stored)["id"]
        wanted = [
            e for e in stored
            if e["org_id"] == given["org_id"]
            and e["agent_id"] == given.get("agent_id", e["agent_id"])
            and e["event_type"] in given.get("types", [e["event_type"]])
            and e["memory_id"] == given.get("memory_id", e["memory_id"])
            and e["happened_at"] >= given.get("since", e["happened_at"])
            and e["happened_at"] < given.get("until", datetime.max.replace(tzinfo=UTC))
            and ("after" not in given or e["id"] < given["after"])
        ]  # fmt: skip
        found = rows(conn, "read_events", limit=1000, **given)
        assert [{k: v for k, v in r.items() if k != "rank"} for r in found] == wanted
        assert [r["rank"] for r in found] == list(range(1, len(found) + 1))
        found_any += bool(found)
    assert found_any > 100


async def test_both_clients_page_through_all(log: Any) -> None:
    conn, stored = log
    wanted = [e["id"] for e in stored if e["org_id"] == "acme"]
    with Mnemo(conn, org_id="someone-else") as m:
        one = m.read_events(org_id="acme", limit=1000)
    found: list[Any] = []
    async with AsyncMnemo(conn.info.dsn) as am:
        while page := await am.read_events(
            org_id="acme", limit=7, after=found[-1].id if found else None
        ):
            found += page
    assert [event.id for event in found] == [event.id for event in one] == wanted
    assert {type(event.event_type) for event in one} == {EventType}
    assert {event.happened_at.tzinfo for event in one} == {UTC}
    assert any(event.note for event in one)
    assert not all(event.note for event in one)


def test_the_default_organisation(source: psycopg.Connection[Any]) -> None:
    """Unnamed, it is the one of the settings."""
    row(source, "remember", content="here")
    there = row(source, "remember", content="there", org_id="acme")["id"]
    rows(source, "configure", name="default_org_id", value="acme")
    assert [r["memory_id"] for r in rows(source, "read_events")] == [there]


def test_global_records_are_found_by_id(source: psycopg.Connection[Any]) -> None:
    """In the log of the organisation that wrote them."""
    id = row(source, "remember", content="g", scope="global", org_id="acme")["id"]
    (event,) = rows(source, "read_events", memory_id=id, org_id="acme")
    assert (event["memory_org_id"], event["org_id"]) == ("*", "acme")
    assert rows(source, "read_events", memory_id=id) == []


def test_pages_read_an_index(source: psycopg.Connection[Any]) -> None:
    """Whatever others have written, and in a log without statistics."""
    source.execute(
        "INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id, memory_id,"
        " actor_org_id, actor_agent_id, happened_at, changes) SELECT 'o' || i % 5, mnemo._new_id(),"
        " 'a', 'memory_write', 'o', mnemo._new_id(), 'o', 'a', now(), '{}'"
        " FROM generate_series(1, 20000) AS i"
    )
    with source.transaction():
        rows(source, "read_events", org_id="o3", limit=20)
        rows(source, "read_events", org_id="o3", limit=20, agent_id="a", types=["memory_write"])
        id = rows(source, "read_events", org_id="o3", limit=1)[0]["memory_id"]
        rows(source, "read_events", org_id="o3", memory_id=id)
        ((fetched, scans),) = source.execute(
            "SELECT sum(idx_tup_fetch) FILTER (WHERE relname = 'event'), sum(seq_tup_read)"
            " FROM pg_stat_xact_user_tables WHERE schemaname = 'mnemo'"
        ).fetchall()
    assert scans < 10
    assert fetched <= 100
