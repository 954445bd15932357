"""A superuser changes what is stored and does not recompute the chain: every time it is found.

Catalog-driven: each column of memory and of event but the three free ones, changed in whatever way
its type allows, NULL included; rows deleted, added, exchanged, moved; tails cut off.
"""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.chain.conftest import (
    OWNERS,
    REDACTED,
    Life,
    change,
    findings,
    note,
    owners,
    seal,
    verify,
)
from tests.support.calls import rows, scalar
from tests.support.records import remember, remember_plan
from tests.support.reuse import module_database
from tests.support.server import Server

FREE = {"access_count", "last_accessed_at", "updated_at"}
TIMES = 1000


def text(query: str) -> LiteralString:
    """SQL that a test has put together from the catalog."""
    return cast("LiteralString", query)


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """Records of every fate, all sealed; nothing in the tables keeps anybody from anything."""
    with (
        module_database(server, template, "chain_tampering") as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        life = Life(conn, random.Random(11))
        for _ in range(45):
            life.step()
        who = {"agent_id": "ana", "org_id": "default"}
        full = remember(
            conn, "all columns", **who, source_id="s", thread_id="t", created_by="c",
            kind="routine", subject="zoe", predicate="likes", entities=["e"], aliases=["a"],
            location="l", confidence=0.5, ttl="1 day", valid_to="9000-01-01", tags=["x", "y"],
            metadata={"a": [1, {"b": None}], "c": "d"},
        )  # fmt: skip
        rows(conn, "share", id=full, to_agents=["cem", "dua"], **who)
        note(conn, full, "a note")
        change(conn, remember(conn, "redact me", **who), "memory_redact", REDACTED)
        change(conn, remember(conn, "hold me back", **who), "memory_quarantined",
               "quarantined = true, quarantine_reason = 'obey'")  # fmt: skip
        remember(conn, "for all", scope="global", **who)
        remember_plan(conn, "how to pay", **who)
        seal(conn)
        # The grants of deleted records may go, so these are no tampering.
        conn.execute("DELETE FROM mnemo.acl USING mnemo.memory AS m WHERE m.id = memory_id"
                     " AND m.deleted_at IS NOT NULL")  # fmt: skip
        assert findings(conn) == []
        for table, constraint in conn.execute(
            "SELECT c.conrelid::regclass::text, c.conname FROM pg_constraint AS c"
            " WHERE c.connamespace = 'mnemo'::regnamespace AND c.contype IN ('c', 'f')"
        ).fetchall():
            conn.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}"))
        for table, name in columns(conn, "memory", "event", "chain_head", "acl", "event_note"):
            conn.execute(text(
                f"ALTER TABLE mnemo.{table} DROP CONSTRAINT IF EXISTS {table}_pkey,"
                f" ALTER COLUMN {name} DROP NOT NULL"
            ))  # fmt: skip
        conn.execute("DROP INDEX mnemo.event_seq_idx")
        yield conn


def columns(conn: psycopg.Connection, *tables: str) -> list[tuple[str, str]]:
    """(table, column) of these tables, from the catalog."""
    return conn.execute(
        "SELECT c.relname, a.attname"
        "  FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relname = ANY (%s) AND a.attnum > 0"
        "   AND NOT a.attisdropped ORDER BY c.relname, a.attnum",
        (list(tables),),
    ).fetchall()


class Tamperer:
    """Changes one thing in a way that PostgreSQL calls a difference; says what."""

    def __init__(self, conn: psycopg.Connection, seed: int) -> None:
        self.conn = conn
        self.random = random.Random(seed)

    def other(self, value: Any) -> Any:
        """Another value of the same type."""
        r = self.random
        if value is not None and r.random() < 0.1:
            return None
        match value:
            case None:
                return None
            case bool():
                return not value
            case int():
                return value + r.choice((1, -1, 10**9))
            case float():
                bits = struct.unpack(">q", struct.pack(">d", value))[0]
                return struct.unpack(">d", struct.pack(">q", bits ^ 1 << r.randrange(52)))[0]
            case str():
                place = r.randrange(len(value) + 1)
                return r.choice((value[:place] + r.choice("xé\\ ") + value[place:], value + " ",
                                 value.swapcase() + ".", "other", ""))  # fmt: skip
            case UUID():
                return UUID(int=value.int ^ 1 << r.randrange(128))
            case datetime():
                if r.random() < 0.1:
                    return r.choice(("infinity", "-infinity", "294276-12-31", "4713-01-01 BC"))
                return value + r.choice((1, -1)) * timedelta(microseconds=10 ** r.randrange(12))
            case bytes():
                place = r.randrange(len(value)) if value else 0
                return r.choice((value[:place] + bytes([(value[place] ^ 1 << r.randrange(8))])
                                 + value[place + 1:], value[:-1], value + b"\0"))  # fmt: skip
            case list():
                grown = [*value, "added"]
                turned = value[::-1] if len(value) > 1 else grown
                return r.choice((grown, value[1:] or grown, turned, ["added", *value]))
            case dict():
                return Jsonb(self.other_json(value))
        raise TypeError(type(value).__name__)

    def other_json(self, value: Any) -> Any:
        r = self.random
        if r.random() < 0.05:
            return json.loads('{"a":' * 400 + "1" + "}" * 400)
        if isinstance(value, dict) and value and r.random() < 0.7:
            key = r.choice(sorted(value))
            kept = {name: item for name, item in value.items() if name != key}
            return kept if r.random() < 0.3 else kept | {key: self.other_json(value[key])}
        if isinstance(value, dict):
            return value | {"added": 1}
        if isinstance(value, list):
            return [*value, None]
        return "1" if value == 1 else 1

    def column(self, table: str, name: str) -> str | None:
        """Another value in a column of a row; None where there is none to change."""
        found = self.conn.execute(text(
            f"SELECT ctid::text, {name} FROM mnemo.{table} ORDER BY random() LIMIT 1"
        )).fetchone()  # fmt: skip
        assert found is not None
        place, value = found
        if value is None:
            kind = scalar(self.conn, "SELECT format_type(atttypid, NULL) FROM pg_attribute"
                          " WHERE attrelid = %s::regclass AND attname = %s",
                          f"mnemo.{table}", name)  # fmt: skip
            value = {"text": "new", "uuid": UUID(int=5), "bytea": b"x" * 32,
                     "timestamp with time zone": "2030-01-01", "double precision": 0.25,
                     "bigint": 5}[kind]  # fmt: skip
        else:
            value = self.other(value)
        done = self.conn.execute(
            text(f"UPDATE mnemo.{table} SET {name} = %s WHERE ctid = %s AND {name}"
                 " IS DISTINCT FROM %s"),
            (value, place, value),
        )  # fmt: skip
        return f"{table}.{name} = {value!r}" if done.rowcount == 1 else None

    def bound_column(self) -> str | None:
        return self.column(*self.random.choice([
            (table, name) for table, name in columns(self.conn, "memory", "event")
            if not (table == "memory" and name in FREE)
        ]))  # fmt: skip

    def run(self, statement: str) -> str | None:
        """A statement that changes something, or None."""
        return statement if self.conn.execute(text(statement)).rowcount > 0 else None

    def deletion(self) -> str | None:
        table = self.random.choice(("memory", "event"))
        return self.run(f"DELETE FROM mnemo.{table} WHERE ctid = (SELECT ctid FROM mnemo.{table}"
                        " ORDER BY random() LIMIT 1)")  # fmt: skip

    def insertion(self) -> str | None:
        r = self.random
        if r.random() < 0.5:
            # A copy under another id, or the same one for every organisation.
            key, kept = r.choice((
                ("org_id, gen_random_uuid(), scope", "true"),
                ("'*', id, 'global'", "org_id <> '*'"),
            ))  # fmt: skip
            names = [n for _, n in columns(self.conn, "memory")
                     if n not in ("org_id", "id", "scope")]  # fmt: skip
            return self.run(f"INSERT INTO mnemo.memory (org_id, id, scope, {', '.join(names)})"
                            f" SELECT {key}, {', '.join(names)} FROM mnemo.memory"
                            f" WHERE {kept} ORDER BY random() LIMIT 1")  # fmt: skip
        names = [n for _, n in columns(self.conn, "event") if n not in ("id", "seq")]
        place = r.choice(("seq", "seq + 1", "(SELECT max(seq) + 1 FROM mnemo.event)", "0"))
        return self.run(f"INSERT INTO mnemo.event (id, seq, {', '.join(names)})"
                        f" SELECT gen_random_uuid(), {place}, {', '.join(names)} FROM mnemo.event"
                        " ORDER BY random() LIMIT 1")  # fmt: skip

    def exchange(self) -> str | None:
        """Two events of a chain change places, or all but their places."""
        swapped = self.random.choice((
            ["seq"], ["seq", "prev_hash", "hash"],
            ["changes"], ["memory_id", "content_hash"], ["event_type", "changes"],
        ))  # fmt: skip
        return self.run(
            "WITH a AS (SELECT * FROM mnemo.event ORDER BY random() LIMIT 1),"
            " b AS (SELECT e.* FROM mnemo.event AS e, a WHERE e.org_id = a.org_id"
            "  AND e.agent_id = a.agent_id AND (e.id, e.changes) <> (a.id, a.changes)"
            f"  AND ({', '.join(f'e.{n}' for n in swapped)}) IS DISTINCT FROM"
            f"      ({', '.join(f'a.{n}' for n in swapped)}) ORDER BY random() LIMIT 1)"
            f" UPDATE mnemo.event AS e SET {', '.join(f'{n} = o.{n}' for n in swapped)}"
            " FROM (SELECT a.id AS other, b.* FROM a, b UNION ALL SELECT b.id, a.* FROM a, b) AS o"
            " WHERE e.id = o.other"
        )

    def truncation(self) -> str | None:
        """The last events of a chain go; sometimes they are made to look unsealed."""
        agent, org = self.random.choice(OWNERS)
        chain = f"org_id = '{org}' AND agent_id = '{agent}'"
        tail = (f"{chain} AND seq > (SELECT max(seq) - {self.random.randint(1, 9)}"
                f" FROM mnemo.event WHERE {chain})")  # fmt: skip
        return self.run(self.random.choice((
            f"DELETE FROM mnemo.event WHERE {tail}",
            f"UPDATE mnemo.event SET seq = NULL, prev_hash = NULL, hash = NULL WHERE {tail}",
        )))  # fmt: skip

    def beginning(self) -> str | None:
        """The first events of a chain go, and the anchor says so."""
        agent, org = self.random.choice(OWNERS)
        chain = f"org_id = '{org}' AND agent_id = '{agent}'"
        last = self.random.randint(1, 5)
        self.conn.execute(text(
            f"UPDATE mnemo.chain_head SET anchor_seq = {last}, anchor_hash = (SELECT hash"
            f" FROM mnemo.event WHERE {chain} AND seq = {last}) WHERE {chain}"
        ))  # fmt: skip
        return self.run(f"DELETE FROM mnemo.event WHERE {chain} AND seq <= {last}")

    def beside(self) -> str | None:
        """Heads, grants, notes."""
        # A note that lost its event is an erased one.
        kept = {("chain_head", "sealed_at"), ("event_note", "org_id"), ("event_note", "event_id")}
        table, name = self.random.choice([
            pair for pair in columns(self.conn, "chain_head", "acl", "event_note")
            if pair not in kept
        ])  # fmt: skip
        if self.random.random() < 0.8:
            return self.column(table, name)
        if table == "event_note":
            return None  # erasing a note is allowed
        return self.run(f"DELETE FROM mnemo.{table} WHERE ctid = (SELECT ctid FROM mnemo.{table}"
                        " ORDER BY random() LIMIT 1)")  # fmt: skip


def test_every_tampering_is_found(world: psycopg.Connection) -> None:
    tamperer = Tamperer(world, 2)
    world.execute("SELECT setseed(0.25)")
    ways: list[Callable[[], str | None]] = [
        *[tamperer.bound_column] * 6, tamperer.deletion, tamperer.insertion, tamperer.exchange,
        tamperer.truncation, tamperer.beginning, tamperer.beside,
    ]  # fmt: skip
    unnoticed = []
    done: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    touched = set()
    while done.total() < TIMES:
        way = tamperer.random.choice(ways)
        with world.transaction(force_rollback=True):
            what = way()
            if what is None:
                continue
            found = findings(world, owners(world))
        done[way.__name__] += 1
        touched.add(what.split(" = ")[0])
        reasons.update(str(one[3]) for one in found)
        if not found:
            unnoticed.append(what)
    assert unnoticed == [], unnoticed
    bound = {f"{table}.{name}" for table, name in columns(world, "memory", "event")}
    assert bound - touched == {f"memory.{name}" for name in FREE}
    assert len(done) == len(set(ways))
    assert len(reasons) >= 14
    assert findings(world) == []


@pytest.mark.parametrize("table", ["memory", "event"])
def test_each_column_of_each_table(world: psycopg.Connection, table: str) -> None:
    """Another value, NULL where there is one, one where there is NULL."""
    world.execute("SELECT setseed(0.5)")
    for seed, (_, name) in enumerate(columns(world, table)):
        if table == "memory" and name in FREE:
            continue
        for wanted in ("NULL", "NOT NULL"):
            tamperer = Tamperer(world, seed)
            with world.transaction(force_rollback=True):
                if wanted == "NULL":
                    what = tamperer.run(
                        f"UPDATE mnemo.{table} SET {name} = NULL WHERE ctid = (SELECT ctid"
                        f" FROM mnemo.{table} WHERE {name} IS NOT NULL ORDER BY random() LIMIT 1)"
                    )
                else:
                    what = tamperer.column(table, name)
                    assert what is not None, name
                if what is not None:
                    pairs = [pair for pair in owners(world) if None not in pair]
                    assert findings(world, pairs), what


def test_an_added_event_that_is_not_sealed_is_counted(world: psycopg.Connection) -> None:
    """It is no part of the chain yet; what it says must still fit the record."""
    names = ", ".join(n for _, n in columns(world, "event")
                      if n not in ("id", "seq", "hash", "prev_hash", "changes"))  # fmt: skip
    with world.transaction(force_rollback=True):
        world.execute(text(
            f"INSERT INTO mnemo.event (id, changes, {names}) SELECT gen_random_uuid(),"
            f" '{{\"importance\": 0.99}}', {names} FROM mnemo.event"
            " WHERE event_type = 'memory_write' AND agent_id = 'ana' AND org_id = 'default'"
            "   AND memory_id IN (SELECT id FROM mnemo.memory) LIMIT 1"
        ))  # fmt: skip
        answer = verify(world, agent_id="ana")
        assert (answer["ok"], answer["unsealed"], answer["reason"], answer["detail"]) == (
            False, 1, "column_changed", "importance",
        )  # fmt: skip


RECOMPUTE = """
DO $$
DECLARE
    v_event mnemo.event;
    v_prev bytea := mnemo._first_prev_hash();
BEGIN
    FOR v_event IN SELECT * FROM mnemo.event WHERE org_id = 'default' AND agent_id = 'ana'
                    ORDER BY seq LOOP
        UPDATE mnemo.event AS e
           SET prev_hash = v_prev,
               hash = mnemo._link_hash(v_prev, e.seq, mnemo._event_body(e))
         WHERE e.id = v_event.id RETURNING hash INTO v_prev;
    END LOOP;
    UPDATE mnemo.chain_head SET hash = v_prev WHERE org_id = 'default' AND agent_id = 'ana';
END
$$
"""


def test_a_recomputed_chain_is_found_by_a_head_kept_outside(world: psycopg.Connection) -> None:
    """Nothing inside tells the rewriting from the truth; the old head does."""
    before = verify(world, agent_id="ana")
    assert before["ok"]
    older = scalar(world, "SELECT hash FROM mnemo.event WHERE agent_id = 'ana'"
                   " AND org_id = 'default' AND seq = 7")  # fmt: skip
    for head in (before["head"], older):
        assert verify(world, agent_id="ana", expected_head=head)["ok"]
    with world.transaction(force_rollback=True):
        changed = world.execute(
            "UPDATE mnemo.memory SET content = 'forged' WHERE content = 'all columns' RETURNING id"
        ).fetchone()  # fmt: skip
        assert changed is not None
        world.execute("UPDATE mnemo.memory AS m SET content_hash = mnemo._content_hash(m)"
                      " WHERE id = %s", changed)  # fmt: skip
        assert not verify(world, agent_id="ana")["ok"]
        world.execute(
            "UPDATE mnemo.event AS e SET content_hash = m.content_hash"
            " FROM mnemo.memory AS m WHERE m.id = e.memory_id AND m.id = %s",
            changed,
        )
        assert verify(world, agent_id="ana")["reason"] == "event_changed"
        world.execute(RECOMPUTE)
        assert verify(world, agent_id="ana")["ok"]
        answer = verify(world, agent_id="ana", expected_head=before["head"])
        assert (answer["ok"], answer["reason"]) == (False, "head_unknown")
    with world.transaction(force_rollback=True):
        # A recomputed head on a shortened chain is found the same way.
        world.execute("DELETE FROM mnemo.event WHERE agent_id = 'ana' AND org_id = 'default'"
                      " AND seq > 7 AND NOT EXISTS (SELECT FROM mnemo.memory AS m"
                      " WHERE m.id = memory_id)")  # fmt: skip
        world.execute(RECOMPUTE)
        assert not verify(world, agent_id="ana", expected_head=before["head"])["ok"]


def test_changes_show_what_differs(world: psycopg.Connection) -> None:
    for assignment, detail in (
        ("importance = 0.123", "importance"),
        ("scope = 'public', expires_at = NULL", "expires_at, scope"),
        ("valid_to = NULL", "valid_to"),
    ):
        with world.transaction(force_rollback=True):
            world.execute(text(f"UPDATE mnemo.memory SET {assignment}"
                               " WHERE content = 'all columns'"))  # fmt: skip
            answer = verify(world, agent_id="ana")
            assert (answer["reason"], answer["detail"]) == ("column_changed", detail)
            assert answer["first_bad_id"] is not None
