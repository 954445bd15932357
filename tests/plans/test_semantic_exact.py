"""Random plans and questions with embeddings against the definition: a look at every plan."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.reference.matching import EVERYWHERE, Grant, Plan, Reading, recall, semantic
from tests.support.calls import rows
from tests.support.server import Server
from tests.vectors.conftest import need_pgvector, vector

Connection = psycopg.Connection[Any]
ORGS, AGENTS, CONTEXTS = ("acme", "globex"), ("ann", "bob", "cem"), (None, None, "v2")
PLAIN = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india")
GUARDED = ("not", "17", "71", "on", "off", "Paris")
THRESHOLD, MARGIN = 0.98, 0.01


def words(dice: random.Random) -> str:
    """A question of a few words, with something for the guard in many."""
    return " ".join([*dice.sample(PLAIN, dice.randint(2, 3)),
                     *dice.choices(GUARDED, k=dice.choice((0, 0, 1, 2)))])  # fmt: skip


def numbers(dice: random.Random) -> tuple[float, ...]:
    """A vector whose products are exact in any precision."""
    return (*(float(dice.randint(-9, 9)) for _ in range(2)), float(dice.randint(1, 9)))


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[tuple[Connection, list[Plan], Any]]:
    """A database with random plans, and what the definition knows of them."""
    dice = random.Random(20)
    with psycopg.connect(server.create_database("test_semantic_exact", template)) as conn:
        try:
            need_pgvector(conn)
            rows(conn, "enable_vectors", model="m", dimensions=3, distance="inner_product")
            rows(conn, "configure", name="experience_memory", value="on")
            rows(conn, "configure", name="semantic_threshold", value=str(THRESHOLD))
            rows(conn, "configure", name="semantic_margin", value=str(MARGIN))
            rows(conn, "configure", name="merge_plans", value="off")
            yield conn, *made(conn, dice)
        finally:
            conn.rollback()
            conn.close()
            server.drop_database("test_semantic_exact")


def made(conn: Connection, dice: random.Random) -> tuple[list[Plan], dict[Any, Grant]]:
    """Random plans, some of them shared, ended, deleted or without a vector."""
    elements, vectors = [], []
    for _ in range(300):
        vectors.append(numbers(dice) if dice.random() < 0.9 else None)
        elements.append({
            "query": words(dice), "steps": [dice.choice("aab")], "chunk_ids": [], "outcome_score":
            dice.choice((0.6, 0.8, 1)), "agent_id": dice.choice(AGENTS), "org_id":
            dice.choice(ORGS), "scope": dice.choice(("private", "shared", "public", "global")),
            "context": dice.choice(CONTEXTS), "embedding": vectors[-1] and list(vectors[-1]),
        })  # fmt: skip
    ids = [r["id"] for r in rows(conn, "remember_plans", plans=Jsonb(elements))]
    of = dict(zip(ids, vectors, strict=True))
    grants: dict[Any, Grant] = {}
    for id, element in zip(ids, elements, strict=True):
        if element["scope"] == "shared" and dice.random() < 0.7:
            agent = dice.choice(AGENTS)
            if agent != element["agent_id"]:
                rows(conn, "share", id=id, to_agents=[agent], agent_id=element["agent_id"],
                     org_id=element["org_id"])  # fmt: skip
                grants[id, agent] = Grant()
    for id in dice.sample(ids, 15):
        conn.execute("UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [id])
    for id in dice.sample(ids, 15):
        conn.execute("UPDATE mnemo.memory SET expires_at = now() WHERE id = %s", [id])
    plans = [
        Plan(id=id, org_id=org, owner=(origin, agent), scope=scope, tokens=frozenset(tokens),
             outcome_score=score, created_at=created, expires_at=ends, quarantined=quarantined,
             context=context, query=query, vector=of[id], steps=tuple(steps),
             reading=Reading(meaning, values, frozenset(names)))
        for (id, org, origin, agent, scope, tokens, score, created, ends, quarantined, context,
             query, steps, meaning, values, names) in conn.execute(
            "SELECT p.id, p.org_id, p.origin_org_id, p.owner_agent_id, p.scope,"
            " p.signature_tokens, p.outcome_score, p.created_at, p.expires_at, p.quarantined,"
            " p.context, p.query, p.steps, g.meaning, g.vals, g.names"
            " FROM mnemo._plan AS p CROSS JOIN LATERAL mnemo._guard(p.query) AS g")
    ]  # fmt: skip
    assert len(plans) == 300
    return plans, grants


def test_hits_and_misses_are_those_of_the_definition(
    world: tuple[Connection, list[Plan], dict[tuple[UUID, str], Grant]],
) -> None:
    """Words first; then every plan in order, under each guard, and the one that was refused."""
    conn, plans, grants = world
    dice = random.Random(21)
    now = datetime.now(UTC) + timedelta(seconds=1)
    seen: Counter[str] = Counter()
    for _ in range(300):
        query, asked = words(dice), numbers(dice)
        org, agent = dice.choice(ORGS), dice.choice(AGENTS)
        guard, context = dice.choice(("off", "meaning", "strict")), dice.choice(CONTEXTS)
        limit, threshold = dice.choice((1, 3, 1000)), dice.choice((0.7, 1))
        read = conn.execute(
            "SELECT mnemo.signature_tokens(%(q)s), g.meaning, g.vals, g.names"
            " FROM mnemo._guard(%(q)s) AS g", {"q": query},
        ).fetchone()  # fmt: skip
        assert read is not None
        tokens, reading = frozenset(read[0]), Reading(read[1], read[2], frozenset(read[3]))
        own = [plan for plan in plans if plan.org_id in (org, EVERYWHERE)]
        given: dict[str, Any] = {
            "org_id": org, "agent_id": agent, "context": context, "now": now, "guard": guard,
            "reading": reading,
        }  # fmt: skip
        worded = recall(own, grants, tokens, threshold=threshold, **given)
        expected = worded
        if not worded.hits:
            expected = semantic(
                own, grants, tokens, asked, threshold=THRESHOLD, margin=MARGIN, **given
            )
        call: dict[str, Any] = {
            "query": query, "agent_id": agent, "org_id": org, "guard": guard, "context": context,
            "similarity_threshold": threshold, "embedding": vector(list(asked)),
        }  # fmt: skip
        found = rows(conn, "recall_plans", **call, limit=limit)
        assert [(f["id"], f["similarity"]) for f in found] == [
            (hit.id, hit.similarity) for hit in expected.hits[:limit]
        ]
        only = rows(conn, "recall_plan", **call)[0]
        if expected.hits:
            assert only["id"] == expected.hits[0].id
            assert only["reason"] == expected.reason
            seen[f"{expected.reason} {guard}"] += 1
        else:
            refused = worded.refused or expected.refused
            reason = "guarded" if worded.refused else expected.reason
            assert only["reason"] == reason
            near_miss = only["near_miss"] or {}
            assert near_miss.get("id") == (str(refused[0].id) if refused else None)
            rival = (near_miss.get("rival") or {}).get("id")
            assert rival == (str(refused[1].id) if reason == "ambiguous" else None)
            seen[only["reason"]] += 1
    wanted = {"semantic off": 20, "semantic meaning": 10, "semantic strict": 5, "guarded": 40,
              "none_similar": 40, "exact off": 5, "ambiguous": 20}  # fmt: skip
    assert {kind: seen[kind] for kind, least in wanted.items() if seen[kind] < least} == {}, seen
