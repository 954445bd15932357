"""What memory is about, in two lines: counted as retrieval would find it, bounded, cheap."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import refused, rows, scalar, vacuum, value
from tests.support.records import remember, remember_plan
from tests.support.reuse import emptied

AGENT, ORG = "ana", "acme"
WHO = {"agent_id": AGENT, "org_id": ORG}


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """The database of this file, empty."""
    with emptied(module_dsn) as conn:
        yield conn


def store(conn: psycopg.Connection, records: list[dict[str, Any]], **who: Any) -> None:
    """Records of the agent, in batches."""
    for start in range(0, len(records), 5000):
        batch = [{"content": "x", **record} for record in records[start : start + 5000]]
        rows(conn, "remember_many", records=Jsonb(batch), **{**WHO, **who})


def map_of(conn: psycopg.Connection, **arguments: Any) -> str:
    """The map of the agent's memory."""
    found = value(conn, "memory_map", **{**WHO, **arguments})
    assert isinstance(found, str)
    return found


def test_two_lines_most_frequent_first(db: psycopg.Connection) -> None:
    assert map_of(db) == ""
    store(db, [{}])
    assert map_of(db) == ""
    store(db, [{"predicate": "errand"}])
    assert map_of(db) == "attribute: errand (1)"
    store(db, [{"subject": "Zoë", "predicate": "birthday"}, {"subject": "user"}])
    store(
        db, [{"subject": "user", "predicate": "birthday"}, {"subject": "Rhea", "entities": ["z"]}]
    )
    store(db, [{"subject": "ana b", "aliases": ["never shown"], "predicate": "Food Allergy"}])
    assert map_of(db) == (
        "about: user (2), ana b (1), rhea (1), zoë (1)\n"
        "attribute: birthday (2), errand (1), food_allergy (1)"
    )
    assert map_of(db, limit=3) == (
        "about: user (2), ana b (1), rhea (1), and 1 more\n"
        "attribute: birthday (2), errand (1), food_allergy (1)"
    )
    assert map_of(db, limit=1) == "about: user (2), and 3 more\nattribute: birthday (2), and 2 more"
    assert map_of(db, limit=1000) == map_of(db)
    for bad in (None, 0, -1, 1001):
        with refused("22023", "p_limit"):
            map_of(db, limit=bad)


def test_only_what_retrieval_could_give(db: psycopg.Connection) -> None:
    """Neither plans nor what is not live, active, valid and visible."""
    giver = {"agent_id": "ben", "org_id": ORG}
    for name, facets in {
        "own": {}, "superseded": {"status": "superseded"}, "retracted": {"status": "retracted"},
        "future": {"valid_from": "9000-01-01T00:00Z"}, "ended": {
            "valid_from": "2001-01-01T00:00Z", "valid_to": "2002-01-01T00:00Z"},
        "valid": {"valid_from": "2001-01-01T00:00Z", "valid_to": "9000-01-01T00:00Z"},
        "expired": {}, "deleted": {}, "quarantined": {}, "archived": {}, "lasting": {
            "ttl": "1 hour"},
        "strangers": giver, "ungranted": {**giver, "scope": "shared"},
        "granted": {**giver, "scope": "shared"}, "delegated": {**giver, "scope": "shared"},
        "public": {**giver, "scope": "public"}, "own public": {"scope": "public"},
        "global": {"org_id": "other", "scope": "global"},
        "foreign": {"org_id": "other", "scope": "public"},
    }.items():  # fmt: skip
        made = remember(db, "x", **{**WHO, "subject": name, "predicate": name, **facets})
        if name == "granted":
            rows(db, "share", id=made, to_agents=[AGENT], **giver)
        elif name == "delegated":
            rows(db, "delegate", to_agent=AGENT, ids=[made], **giver)
    for name, change in (
        ("expired", "expires_at = now()"), ("deleted", "deleted_at = now()"),
        ("quarantined", "quarantined = true"), ("archived", "consolidation_state = 'archived'"),
    ):  # fmt: skip
        db.execute(f"UPDATE mnemo.memory SET {change} WHERE subject = '{name}'")  # type: ignore[arg-type]
    remember_plan(db, "a plan", **WHO)
    seen = ["delegated", "global", "granted", "lasting", "own", "own public", "public", "valid"]
    assert map_of(db) == (
        "about: " + ", ".join(f"{name} (1)" for name in seen) + "\n"
        "attribute: " + ", ".join(f"{name.replace(' ', '_')} (1)" for name in seen)
    )
    assert map_of(db, agent_id="cem") == (
        "about: global (1), own public (1), public (1)\n"
        "attribute: global (1), own_public (1), public (1)"
    )
    assert map_of(db, org_id="third") == "about: global (1)\nattribute: global (1)"


def test_erased_and_changed_names_are_gone(db: psycopg.Connection) -> None:
    made = remember(db, "x", subject="rhea", predicate="venue", **WHO)
    rows(db, "update_memory", id=made, changes={"subject": "priya"}, **WHO)
    assert map_of(db) == "about: priya (1)\nattribute: venue (1)"
    rows(db, "forget", ids=[made], strategy="redact", **WHO)
    assert map_of(db) == ""


@pytest.mark.parametrize("limit", [1, 2, 40, 60])
def test_bounded_whatever_the_names(db: psycopg.Connection, limit: int) -> None:
    """At most 1,160 characters, above a limit of 40 29 a value, but one value each; what one line
    leaves of its half is the other's; every value that is not shown is counted."""
    chooser = random.Random(limit)
    for longest_subject, longest_predicate in ((256, 256), (256, 6), (6, 256), (9, 11)):
        with db.transaction(force_rollback=True):
            store(db, [
                {
                    "subject": f"{number} {'ü' * chooser.randint(1, longest_subject - 5)}",
                    "predicate": f"p{number}{'x' * chooser.randint(0, longest_predicate - 5)}",
                }
                for number in range(3 * limit)
            ] * 2)  # fmt: skip
            made = map_of(db, limit=limit)
            assert len(made) <= max(29 * limit, 29 * 40) + 1
            about, attribute = made.split("\n")
            for line, column in ((about, "subject"), (attribute, "predicate")):
                shown = line.split(": ", 1)[1].split(", ")
                more = 0
                if shown[-1].startswith("and "):
                    more = int(shown.pop().split()[1])
                assert 1 <= len(shown) <= limit
                assert max(len(text.rsplit(" (", 1)[0]) for text in shown) <= 40
                assert len(shown) + more == scalar(
                    db,
                    f"SELECT count(DISTINCT {column}) FROM mnemo.memory",  # type: ignore[arg-type]
                )
            if limit == 40 and longest_subject == 9:
                assert about.count("(") == attribute.count("(") == 40


def test_names_are_cut_to_forty_characters(db: psycopg.Connection) -> None:
    store(db, [{"subject": "é" * 40}, {"subject": "é" * 41}, {"subject": "a" * 256}])
    assert map_of(db) == f"about: {'a' * 37}... (1), {'é' * 40} (1), {'é' * 37}... (1)"


USUAL = """
INSERT INTO mnemo.memory
SELECT r.*
  FROM mnemo.memory AS m, generate_series(1, %(number)s) AS n,
       LATERAL jsonb_populate_record(m, jsonb_build_object(
            'id', gen_random_uuid(), 'org_id', %(org)s::text, 'origin_org_id', %(org)s::text,
            'agent_id', %(agent)s::text, 'scope', %(scope)s::text,
            'content', repeat('a fact ', 20), 'predicate', 'usual_attribute_' || n %% 16,
            'subject', CASE WHEN n %% 2 = 0 THEN 'user' ELSE 'person' || n / 2 %% 41 END)) AS r
 WHERE m.content = 'the first'
"""


def usual(conn: psycopg.Connection, number: int, agent: str, org: str = ORG, scope: str = "private",
          ) -> None:  # fmt: skip
    """Records as an assistant of one user keeps them: 42 subjects, 16 attributes."""
    conn.execute(USUAL, {"number": number, "agent": agent, "org": org, "scope": scope})


def blocks(conn: psycopg.Connection, agent: str = AGENT) -> int:
    """Blocks that one call touches, in a warm session."""
    for _ in range(2):
        explained = scalar(
            conn,
            "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)"
            " SELECT mnemo.memory_map(40, %s, %s)", agent, ORG,
        )  # fmt: skip
    plan = explained[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_small_and_bounded_at_sixteen_thousand_records(db: psycopg.Connection) -> None:
    """Below 300 tokens, from the index alone, flat in what others have."""
    remember(db, "the first", agent_id="nobody", org_id=ORG)
    usual(db, 8_000, AGENT)
    vacuum(db, "memory")
    alone = blocks(db)
    usual(db, 8_000, AGENT)
    for number in range(4):
        usual(db, 2_000, f"other{number}")
        usual(db, 2_000, AGENT, f"other{number}", "public")
    vacuum(db, "memory")
    made = map_of(db)
    assert len(made) / 4 < 300
    assert made.startswith("about: user (8000), person0 (19")
    assert made.split("\n")[0].endswith(", and 2 more")
    assert made.count("usual_attribute") == 16
    many = blocks(db)
    counts = (
        "SELECT pg_stat_get_xact_tuples_fetched('mnemo.memory'::regclass)"
        " + pg_stat_get_xact_tuples_returned('mnemo.memory'::regclass)"
    )
    with db.transaction():
        # They hold what earlier statements read, too, until the server's statistics have it.
        before = scalar(db, counts)
        map_of(db)
        read = scalar(db, counts) - before
    assert read == 0, "the heap is not read"
    # Twice the own records, as many of others beside them.
    assert many <= 2.2 * alone
    assert many < 500
