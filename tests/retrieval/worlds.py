"""Random stores of facts and random plans."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.support.calls import rows

AGENTS, ORGS = ("ana", "bob", "cy"), ("acme", "other")
PEOPLE = ("user", "rhea", "tanvi", "Priya Rao", None)
ALIASES = {"rhea": ["my wife", "wife"], "tanvi": ["my sister"], "Priya Rao": ["my boss", "sister"]}
PREDICATES = (
    "venue_preference",
    "beverage_preference",
    "food_allergy",
    "errand",
    "possession",
    None,
)
KINDS = ("preference", "relationship_preference", "episodic", "identity", "commitment", None)
THINGS = (
    "coffee", "flat white", "tea", "quiet restaurant", "restaurant", "dinner", "climbing gym",
    "sesame", "allergic", "gift", "watch", "bike", "hair salon", "dry cleaning", "cake", "Goa trip",
    "office", "tickets", "cat", "東京", "PO-2024-0012",
)  # fmt: skip
FILLERS = ("the user", "my", "usual", "favourite", "place", "always", "likes", "with friends", "is")
NOW = datetime(2031, 5, 4, 12, tzinfo=UTC)


def sentence(r: random.Random, longest: int = 4) -> str:
    """Some things, persons and words that say little."""
    names = [p for p in PEOPLE if p] + ["Rhea's", "my wife", "my sister", "she", "me"]
    pool = [*THINGS, *THINGS, *names, *FILLERS]
    return " ".join(r.choice(pool) for _ in range(r.randint(1, longest)))


def record(r: random.Random, now: datetime) -> dict[str, Any]:
    """A record as remember_many takes it."""
    made: dict[str, Any] = {"content": f"{sentence(r, 6)} {r.randrange(10)}"}
    if r.random() < 0.1:
        made["content"] += " x" * r.choice((300, 900, 1100))
    subject = r.choice(PEOPLE)
    if subject:
        made["subject"] = subject
        made["entities"] = r.choice(([], [subject], [subject, *ALIASES.get(subject, ["me", "I"])]))
    if r.random() < 0.2:
        made["entities"] = [r.choice(("Rhea", "Tanvi", "the cat"))]
    if r.random() < 0.3:
        made["aliases"] = [sentence(r, 2)]
    if r.random() < 0.6:
        made["tags"] = r.sample(THINGS, r.randint(1, 3))
    for name, values in (("predicate", PREDICATES), ("kind", KINDS)):
        if (value := r.choice(values)) is not None:
            made[name] = value
    if r.random() < 0.7:
        made["confidence"] = r.choice((0.2, 0.5, 0.9, 1.0))
    made["status"] = r.choice(("active",) * 8 + ("superseded", "retracted"))
    made["source_type"] = r.choice(("agent", "human", "user_input", "import"))
    made["valid_from"] = (now - timedelta(days=r.choice((-3, 0, 1, 5, 40, 4000)))).isoformat()
    if r.random() < 0.2:
        made["valid_to"] = (now + timedelta(days=r.choice((1, 30)))).isoformat()
    if r.random() < 0.1:
        made["ttl"] = "1 hour"
    if r.random() < 0.1:
        made["thread_id"] = "t"
    made["scope"] = r.choice(("private", "private", "shared", "public", "global"))
    return made


def fill(conn: psycopg.Connection, seed: int, number: int) -> random.Random:
    """A store of facts of every scope and state; the times are around those of the server."""
    r = random.Random(seed)
    now = conn.execute("SELECT statement_timestamp()").fetchone()[0]  # type: ignore[index]
    for org in ORGS:
        for agent in AGENTS:
            made = [record(r, now) for _ in range(number)]
            for each in made:
                each.pop("valid_to", None) if each["valid_from"] > now.isoformat() else None
            found = conn.execute(
                "SELECT id FROM mnemo.remember_many(%s, p_agent_id => %s, p_org_id => %s)",
                [Jsonb(made), agent, org],
            ).fetchall()
            for (memory,), one in zip(found, made, strict=True):
                if one["scope"] == "shared" and r.random() < 0.6:
                    rows(conn, "share", id=memory, agent_id=agent, org_id=org,
                         to_agents=[a for a in AGENTS if a != agent][: r.randint(1, 2)],
                         ttl=r.choice((None, timedelta(hours=1))))  # fmt: skip
                if r.random() < 0.04:
                    rows(conn, "forget", ids=[memory], agent_id=agent, org_id=org)
                elif r.random() < 0.04:
                    conn.execute(
                        "UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [memory]
                    )
    return r


def plans(r: random.Random, number: int, now: datetime) -> Iterator[dict[str, Any]]:
    """Plans of all kinds."""
    for turn in range(number):
        queries = [sentence(r, 5) for _ in range(r.choice((0, 1, 1, 2, 3)))]
        plan: dict[str, Any] = {
            "turn_id": turn, "generation": 0,
            "intent": r.choice(("ambient", "explicit_recall", "personal_recommendation")),
            "lexical_queries": queries,
            "entities": [
                {"surface": r.choice(("Rhea", "my wife", "me", "Tanvi", "nobody")),
                 "canonical": r.choice((None, None, "rhea", "user"))}
                for _ in range(r.choice((0, 0, 1, 2)))
            ],
        }  # fmt: skip
        if r.random() < 0.4:
            plan["topics"] = r.sample(THINGS, r.randint(1, 3))
        if r.random() < 0.3:
            plan["predicates"] = r.sample(PREDICATES[:-1], r.randint(1, 2))
        if r.random() < 0.3:
            plan["subject_hint"] = r.choice(
                ("rhea", "my wife", "user", "Tanvi", "sister", "nobody")
            )
        if r.random() < 0.3:
            plan["predicate_hint"] = r.choice(PREDICATES[:-1])
        if r.random() < 0.2:
            plan["scopes"] = r.sample(KINDS[:-1], 2)
        if r.random() < 0.2:
            plan["kind_filter"] = r.sample(KINDS[:-1], r.randint(1, 2))
        if r.random() < 0.3:
            days = sorted(r.sample((0.5, 2, 6, 50, 5000), 2), reverse=True)
            ends = [(now - timedelta(days=d)).isoformat() for d in days]
            plan["temporal"] = {"after": ends[0], "before": r.choice((None, ends[1]))}
        yield plan
