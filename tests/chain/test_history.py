"""History tells the events of a record to those who may know, and nothing to others."""

from __future__ import annotations

import itertools

import psycopg

from tests.chain.conftest import change, delete_for_good, note, seal
from tests.support.calls import refused, rows
from tests.support.records import remember


def types(conn: psycopg.Connection, record: object, **who: str) -> list[str]:
    """The events, oldest first."""
    found = rows(conn, "history", id=record, **who)
    assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
    return [one["event_type"] for one in found]


def test_the_owner_sees_everything_and_for_ever(chain_db: psycopg.Connection) -> None:
    record = remember(chain_db, importance=0.2, agent_id="ana")
    rows(chain_db, "share", id=record, to_agents=["ben"], agent_id="ana")
    seal(chain_db)
    change(chain_db, record, "memory_update", "importance = 0.6")
    found = rows(chain_db, "history", id=record, agent_id="ana")
    assert [(one["event_type"], one["changes"].get("importance")) for one in found] == [
        ("memory_write", 0.2), ("memory_share", None), ("memory_update", 0.6),
    ]  # fmt: skip
    assert [one["seq"] for one in found] == [1, 2, None]
    assert [one["hash"] is None for one in found] == [False, False, True]
    delete_for_good(chain_db, record)
    assert types(chain_db, record, agent_id="ana")[-1] == "memory_delete"


def test_readers_see_it_while_they_can_read_it(chain_db: psycopg.Connection) -> None:
    record = remember(chain_db, agent_id="ana")
    with refused("MN001", "p_id"):
        types(chain_db, record, agent_id="ben")
    rows(chain_db, "share", id=record, to_agents=["ben"], agent_id="ana")
    assert types(chain_db, record, agent_id="ben") == ["memory_write", "memory_share"]
    for who in ({"agent_id": "cem"}, {"agent_id": "ana", "org_id": "acme"}):
        with refused("MN001", "p_id"):
            types(chain_db, record, **who)
    rows(chain_db, "unshare", id=record, from_agents=["ben"], agent_id="ana")
    with refused("MN001", "p_id"):
        types(chain_db, record, agent_id="ben")
    everywhere = remember(chain_db, agent_id="ana", scope="global")
    assert types(chain_db, everywhere, agent_id="zoe", org_id="acme") == ["memory_write"]
    rows(chain_db, "forget", ids=[everywhere], agent_id="ana")
    with refused("MN001", "p_id"):
        types(chain_db, everywhere, agent_id="zoe", org_id="acme")
    assert types(chain_db, everywhere, agent_id="ana") == ["memory_write", "memory_delete"]


def test_versions_come_before_the_record_that_replaced_them(chain_db: psycopg.Connection) -> None:
    """Also one that is deleted for good: its event says what it replaced."""
    versions = [remember(chain_db, f"version {number}", agent_id="ana") for number in range(3)]
    for old, new in itertools.pairwise(versions):
        change(chain_db, new, "memory_update", f"prev_version_id = '{old}', version = version + 1")
    found = rows(chain_db, "history", id=versions[2], agent_id="ana")
    assert [one["memory_id"] for one in found] == [
        versions[0], versions[1], versions[1], versions[2], versions[2],
    ]  # fmt: skip
    delete_for_good(chain_db, versions[1])
    found = rows(chain_db, "history", id=versions[2], agent_id="ana")
    assert found[0]["memory_id"] == versions[0]
    # A circle that somebody made ends.
    chain_db.execute(
        "UPDATE mnemo.memory SET prev_version_id = %s WHERE id = %s", (versions[2], versions[0])
    )
    assert rows(chain_db, "history", id=versions[2], agent_id="ana")


def test_notes_are_for_the_owner_and_administrators(chain_db: psycopg.Connection) -> None:
    record = remember(chain_db, agent_id="ana", scope="public")
    note(chain_db, record, "the customer asked for it")
    chain_db.execute("CREATE ROLE history_app")
    try:
        chain_db.execute("SELECT mnemo.grant_access('history_app', 'application')")
        for role, agent, seen in (
            ("postgres", "ben", True), ("history_app", "ana", True), ("history_app", "ben", False),
        ):  # fmt: skip
            chain_db.execute(f"SET ROLE {role}")
            found = rows(chain_db, "history", id=record, agent_id=agent)
            wanted = "the customer asked for it" if seen else None
            assert found[-1]["note"] == wanted, (role, agent)
            chain_db.execute("RESET ROLE")
    finally:
        chain_db.execute("RESET ROLE; DROP OWNED BY history_app; DROP ROLE history_app")


def test_who_reads_a_record_is_told_to_its_owner_and_administrators(
    chain_db: psycopg.Connection,
) -> None:
    """Others see their own reads alone, above all of what all organisations see."""
    record = remember(chain_db, agent_id="ana", scope="global")
    readers = ({"agent_id": "ben"}, {"agent_id": "zoe", "org_id": "acme"},
               {"agent_id": "zoe", "org_id": "other"})  # fmt: skip
    for who in readers:
        rows(chain_db, "log_read", ids=[record], **who)
    everything = ["memory_write", *["memory_read"] * 3]
    assert types(chain_db, record, agent_id="cem") == everything
    chain_db.execute("CREATE ROLE history_app")
    try:
        chain_db.execute("SELECT mnemo.grant_access('history_app', 'application')")
        chain_db.execute("SET ROLE history_app")
        assert types(chain_db, record, agent_id="ana") == everything
        assert types(chain_db, record, agent_id="cem") == ["memory_write"]
        for who in readers:
            written, read = rows(chain_db, "history", id=record, **who)
            assert written["event_type"] == "memory_write"
            assert read["actor_agent_id"] == who["agent_id"]
            assert read["actor_org_id"] == who.get("org_id", "default")
    finally:
        chain_db.execute("RESET ROLE; DROP OWNED BY history_app; DROP ROLE history_app")
