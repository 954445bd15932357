"""Facets of records as terms: equal names are one term, and the lists follow every change."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import row, rows, scalar
from tests.support.reuse import emptied

NAMES = {
    "Rhea": "rhea", " RHEA ": "rhea", "rhea's": "rhea", "Rhéa": "rhea",
    "my wife": "wife", "My  Wife": "wife", "the wife": "wife", "wife": "wife", "wives": "wive",
    "a wife\n": "wife", "our\ndog": "dog",
    "the Blue Pergola": "blue pergola", "Blue-Pergola!": "blue pergola",
    "my mother-in-law": "mother in law", "boss's wife": "boss s wife", "James": "jame",
    "I": "user", "me": "user", "My": "user", "myself": "user", "the User's": "user",
    "the who": "who", "The": "the", "東京タワー": "東京タワー", "Ångström": "angstrom",
    "": None, " .!\u3000": None, "a\nb": "b",
}  # fmt: skip


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """The database of this file, empty."""
    with emptied(module_dsn) as conn:
        yield conn


def test_names_are_compared_folded(db: psycopg.Connection) -> None:
    """One form for what people call the same; a list is folded as each of its names alone."""
    folded = {name: scalar(db, "SELECT mnemo._fold_name(%s)", name) for name in NAMES}
    assert folded == NAMES
    assert scalar(db, "SELECT mnemo._fold_name(NULL)") is None
    together = scalar(
        db,
        "SELECT array_agg(nullif(btrim(n, ' '), '') ORDER BY p)"
        " FROM unnest(string_to_array(mnemo._bare_names(mnemo._fold_lines(%s)), chr(10)))"
        " WITH ORDINALITY AS u(n, p)",
        "\n".join(name.replace("\n", " ") for name in NAMES),
    )
    assert together == list(NAMES.values())


def facets(conn: psycopg.Connection, memory: UUID) -> dict[str, int]:
    """The terms of a record that are none of its words, by their texts."""
    names = ("rhea", "wife", "quiet place", "user", "bo", "rosa", "")
    texts = (
        [f"name {name}" for name in names]
        + [f"about {name}" for name in names]
        + ["attribute venue", "attribute drink"]
        + [f"pair {p} {name}" for p in ("venue", "drink") for name in names]
    )
    found = conn.execute(
        "SELECT coalesce(t.text, 'unknown'), v.weight"
        " FROM (SELECT unnest(terms) AS term, unnest(weights) AS weight FROM mnemo.term_vector"
        "        WHERE memory_id = %s) AS v"
        " LEFT JOIN (SELECT f AS text, mnemo._hash64(f) AS term FROM unnest(%s::text[]) AS f"
        "   UNION ALL SELECT s || ' + ' || w,"
        "     mnemo._own_term(mnemo._hash64('about ' || s), mnemo._hash64(w))"
        "     FROM unnest(%s::text[]) AS s,"
        "          unnest(ARRAY['venue', 'wife', 'quiet', 'place', 'x']) AS w"
        " ) AS t ON t.term = v.term"
        " WHERE NOT v.term = ANY (ARRAY(SELECT mnemo._hash64(w)"
        "   FROM mnemo.memory AS m, unnest(mnemo._terms(concat_ws(' ', m.content, m.subject,"
        "     m.predicate, array_to_string(m.entities, ' '), array_to_string(m.aliases, ' '))))"
        "     AS w WHERE m.id = %s))",
        [memory, texts, list(names), memory],
    ).fetchall()
    assert len(dict(found)) == len(found)
    return dict(found)


def listed(conn: psycopg.Connection, agent: str, facet: str, kind: str = "owner") -> list[UUID]:
    """The records in the list of an agent for a facet."""
    found = conn.execute(
        "SELECT memory_id FROM mnemo.term_posting WHERE org_id = 'default'"
        " AND key = mnemo._audience(%s, 'default', %s, NULL) # mnemo._hash64(%s) ORDER BY 1",
        [kind, agent, facet],
    ).fetchall()
    return [memory for (memory,) in found]


def test_terms_of_facets(db: psycopg.Connection) -> None:
    """Each name once with its best weight, the subject, the attribute and both; none without."""
    made = row(
        db, "remember", content="x", agent_id="ana", subject="Rhea", predicate="Venue",
        entities=["my wife", "Rhea", "I", "my", "..."], aliases=["wife", "the quiet places"],
    )["id"]  # fmt: skip
    assert facets(db, made) == {
        "name rhea": 30, "name wife": 20, "name quiet place": 20, "name user": 10,
        "about rhea": 10, "attribute venue": 10, "pair venue rhea": 10,
        "rhea + venue": 22, "rhea + wife": 55, "rhea + quiet": 25, "rhea + place": 25,
    }  # fmt: skip
    bare = row(db, "remember", content="plain words", agent_id="ana")["id"]
    assert facets(db, bare) == {}
    half = row(db, "remember", content="x", agent_id="ana", predicate="venue")["id"]
    assert facets(db, half) == {"attribute venue": 10}
    named = row(db, "remember", content="x", agent_id="ana", entities=["Bo"])["id"]
    assert facets(db, named) == {"name bo": 10}
    lengths = dict(db.execute("SELECT memory_id, length FROM mnemo.term_vector").fetchall())
    assert lengths[bare] == 2
    assert lengths[half] == 2, "x and venue: facets are no words"


def test_lists_follow_every_change(db: psycopg.Connection) -> None:
    """A change of facets, sharing, forgetting and restoring reach the lists of facets."""
    made = row(db, "remember", content="x", agent_id="ana", scope="shared", subject="rhea",
               predicate="venue")["id"]  # fmt: skip
    assert listed(db, "ana", "pair venue rhea") == [made]
    assert listed(db, "bo", "pair venue rhea", "grantee") == []
    rows(db, "share", id=made, to_agents=["bo"], agent_id="ana")
    assert listed(db, "bo", "pair venue rhea", "grantee") == [made]
    rows(db, "update_memory", id=made, changes={"subject": "Rosa"}, expected_version=1,
         agent_id="ana")  # fmt: skip
    for agent, kind in (("ana", "owner"), ("bo", "grantee")):
        assert listed(db, agent, "pair venue rhea", kind) == []
        assert listed(db, agent, "about rosa", kind) == [made]
    rows(db, "unshare", id=made, from_agents=["bo"], agent_id="ana")
    assert listed(db, "bo", "about rosa", "grantee") == []
    rows(db, "forget", ids=[made], agent_id="ana")
    assert listed(db, "ana", "about rosa") == []
    assert scalar(db, "SELECT count(*) FROM mnemo.term_posting") == 0


def test_health_sees_records_of_older_rules(db: psycopg.Connection) -> None:
    """A record whose terms were made before facets were terms is reported."""
    rows(db, "remember", content="x", agent_id="ana", subject="rhea")
    assert {r["name"]: r["ok"] for r in rows(db, "health")}["terms"]
    db.execute("UPDATE mnemo.term_vector SET rules_version = 1")
    assert not {r["name"]: r["ok"] for r in rows(db, "health")}["terms"]
