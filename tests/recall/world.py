"""A database full of memories of several owners, and a recall of it written in Python."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from tests.recall.conftest import lists_of
from tests.reference.lexical import Document, Index, Words, document
from tests.support.calls import row, scalar

AGENTS = ("ana", "bob", "a-b", "a_b")
ORGS = ("acme", "acme-corp", "solo")
LIVE_STATES = ("raw", "active", "pending", "consolidated")
VOCABULARY = (
    "coffee", "tea", "movie", "movies", "house", "user", "favourite", "the", "of", "PO-2024-0012",
    "PO-2024-0013", "v1.2.3", "foo_bar", "bar", "Café", "東京", "京都へ", "ไทย", "like", "boxes",
    "ship", "order", "Rhea", "quiet", "restaurant", "restaurants", "gym", "bike", "2024",
)  # fmt: skip


def sentence(chooser: random.Random, longest: int = 12) -> str:
    """Some words, the first ones of the vocabulary most often."""
    weights = [1 / (place + 1) for place in range(len(VOCABULARY))]
    return " ".join(chooser.choices(VOCABULARY, weights, k=chooser.randint(1, longest)))


@dataclass
class World:
    """The rows of a database, read once."""

    conn: psycopg.Connection
    records: list[dict[str, Any]]
    grants: list[dict[str, Any]]
    now: datetime
    lists: Words
    documents: dict[UUID, Document] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)

    def __post_init__(self) -> None:
        memories = [r for r in self.records if "__experience_plan__" not in r["tags"]]
        self.documents = {r["id"]: document(r, self.lists) for r in memories}
        for org in (*ORGS, "*"):
            # What was forgotten is out of the statistics, what is hidden or expired is not.
            self.indexes[org] = Index(
                [self.documents[r["id"]] for r in memories
                 if r["org_id"] == org and r["deleted_at"] is None],
                self.lists,
            )  # fmt: skip

    def visible(self, record: Mapping[str, Any], agent: str, org: str) -> bool:
        """By the definitions of the specification."""
        if (
            record["deleted_at"] is not None
            or record["quarantined"]
            or record["consolidation_state"] not in LIVE_STATES
            or (record["expires_at"] is not None and record["expires_at"] <= self.now)
            or "__experience_plan__" in record["tags"]
        ):
            return False
        if record["scope"] == "global":
            return True
        if record["org_id"] != org:
            return False
        if record["agent_id"] == agent or record["scope"] == "public":
            return True
        return record["scope"] == "shared" and any(
            (g["memory_id"], g["agent_id"]) == (record["id"], agent)
            and (g["expires_at"] is None or g["expires_at"] > self.now)
            for g in self.grants
        )

    def passing(self, agent: str, org: str, filters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What an agent may find."""
        return [r for r in self.records if self.visible(r, agent, org) and passes(r, filters)]

    def lexical(
        self, query: str, agent: str, org: str, filters: Mapping[str, Any]
    ) -> list[tuple[float, UUID, dict[str, float]]]:
        """Every record that a query finds, best first, with the parts of its score."""
        index = self.indexes[org]
        asked = index.asked(query)
        found = []
        for record in self.passing(agent, org, filters):
            parts = index.parts(asked, self.documents[record["id"]])
            if parts:
                found.append((round(sum(parts.values()), 9), record["id"], parts))
        return sorted(found, key=lambda hit: (-hit[0], -hit[1].int))

    def recent(self, agent: str, org: str, filters: Mapping[str, Any]) -> list[UUID]:
        """Everything that passes, newest first."""
        found = self.passing(agent, org, filters)
        found.sort(key=lambda r: (r["created_at"], r["id"].int), reverse=True)
        return [r["id"] for r in found]


def passes(record: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """The filters of recall, one after the other."""
    f = filters.get
    tags, asked = set(record["tags"]), f("tags")
    return (
        (f("types") is None or record["memory_type"] in filters["types"])
        and (f("scope") is None or record["scope"] == f("scope"))
        and (asked is None or (tags >= set(asked) if f("tags_all") else bool(tags & set(asked))))
        and (f("min_importance") is None or record["importance"] >= filters["min_importance"])
        and (f("thread_id") is None or record["thread_id"] == f("thread_id"))
        and (f("source_types") is None or record["source_type"] in filters["source_types"])
        and (f("since") is None or record["created_at"] >= filters["since"])
        and (f("until") is None or record["created_at"] < filters["until"])
        and (f("as_of") is None or record["created_at"] <= filters["as_of"])
    )


def build(conn: psycopg.Connection, seed: int, number: int) -> World:
    """Records of every scope and fate, written, shared and forgotten through the functions."""
    r = random.Random(seed)
    with conn.transaction():
        for place in range(number):
            agent, org = r.choice(AGENTS), r.choice(ORGS[:2])
            scope = r.choice(("private", "private", "shared", "public", "public", "global"))
            made = row(
                conn, "remember", content=sentence(r), agent_id=agent, org_id=org, scope=scope,
                memory_type=r.choice(("episodic", "semantic", "working")),
                importance=r.choice((0.0, 0.5, 1.0)),
                tags=r.sample(["x", "tea", "gym"], r.randrange(3)),
                source_type=r.choice(("agent", "human")), thread_id=r.choice((None, "t1", "t2")),
                subject=r.choice((None, "Rhea", "user")), predicate=r.choice((None, "tea_order")),
                entities=r.choice(([], ["Bob", "coffee"])), aliases=r.choice(([], ["quiet tea"])),
                location=r.choice((None, None, "京都へ")),
            )  # fmt: skip
            if scope in ("private", "shared") and r.random() < 0.5:
                others = r.sample([a for a in AGENTS if a != agent], r.randrange(1, 4))
                row_count = {"id": made["id"], "agent_id": agent, "org_id": org}
                conn.execute(
                    "SELECT mnemo.share(%(id)s, %(to)s, p_ttl => %(ttl)s, p_agent_id =>"
                    " %(agent_id)s, p_org_id => %(org_id)s)",
                    row_count | {"to": others, "ttl": r.choice((None, timedelta(days=1)))},
                )
                if r.random() < 0.3:
                    conn.execute(
                        "SELECT mnemo.unshare(%(id)s, %(from)s, p_agent_id => %(agent_id)s,"
                        " p_org_id => %(org_id)s)",
                        row_count | {"from": others[:1]},
                    )
            if r.random() < 0.08:
                row(conn, "forget", ids=[made["id"]], agent_id=agent, org_id=org)
            if place % 10 == 0:
                row(conn, "remember_plan", query=sentence(r), steps=[], chunk_ids=[],
                    outcome_score=1, agent_id=agent, org_id=org, scope="public")  # fmt: skip
    conn.execute(
        """
        UPDATE mnemo.memory AS m
           SET created_at = now() - (x.n % 40) * interval '6 hours',
               quarantined = x.n % 13 = 0,
               consolidation_state = (ARRAY['raw', 'active', 'pending', 'consolidated', 'raw',
                   'active', 'raw', 'archived', 'forgotten'])[1 + x.n % 9],
               expires_at = CASE x.n % 7 WHEN 0 THEN now() - interval '1 hour'
                                         WHEN 1 THEN now() + interval '1 day' END
          FROM (SELECT id, row_number() OVER (ORDER BY id) AS n
                  FROM mnemo.memory WHERE NOT tags @> '{__experience_plan__}') AS x
         WHERE m.id = x.id
        """
    )
    conn.execute(
        "UPDATE mnemo.acl AS a SET expires_at = now() - interval '1 minute'"
        " WHERE a.expires_at IS NOT NULL AND get_byte(uuid_send(a.memory_id), 15) < 128"
    )
    return read(conn)


def read(conn: psycopg.Connection) -> World:
    """The rows as they are now."""
    with conn.cursor(row_factory=dict_row) as cursor:
        records = cursor.execute("SELECT * FROM mnemo.memory").fetchall()
        grants = cursor.execute("SELECT * FROM mnemo.acl").fetchall()
    now = scalar(conn, "SELECT clock_timestamp()")
    return World(conn, records, grants, now, lists_of(conn))


def some_filters(chooser: random.Random) -> dict[str, Any]:
    """Filters as a caller might combine them; mostly none."""
    now = datetime.now(UTC)
    all_of_them: Sequence[tuple[str, Sequence[Any]]] = (
        ("types", (["episodic"], ["semantic", "working"], [])),
        ("scope", ("private", "shared", "public", "global")),
        ("tags", (["x"], ["tea", "gym"], [])), ("tags_all", (True, False)),
        ("min_importance", (0.5, 1.0)), ("thread_id", ("t1", "t9")),
        ("source_types", (["human"],)), ("since", (now - timedelta(days=5),)),
        ("until", (now - timedelta(days=2),)), ("as_of", (now - timedelta(days=1),)),
    )  # fmt: skip
    number = chooser.choice((0, 0, 0, 1, 1, 2, 3))
    return {name: chooser.choice(values) for name, values in chooser.sample(all_of_them, number)}
