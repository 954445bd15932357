"""Recall by words gives what a scan of everything gives: records, order, scores and their parts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.recall.world import AGENTS, ORGS, World, build, sentence, some_filters
from tests.support.calls import refused, row, rows, scalar, value
from tests.support.server import Server


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[World]:
    """400 records; the tests only read them."""
    dsn = server.create_database("test_lexical_world", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield build(conn, seed=7, number=400)
    server.drop_database("test_lexical_world")


def _queries(chooser: random.Random) -> str:
    return chooser.choice(
        (sentence(chooser, 2), sentence(chooser, 5), sentence(chooser, 30), "coffee nosuchword",
         "user favourite", "the of", "nosuchword")
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_equals_a_scan(world: World, seed: int) -> None:
    """1,000 queries: any agent, organisation, filters and limit."""
    r = random.Random(seed)
    with world.conn.transaction():
        for _ in range(250):
            agent, org, query = r.choice(AGENTS), r.choice(ORGS), _queries(r)
            filters, limit = some_filters(r), r.choice((1, 3, 10, 1000))
            found = rows(world.conn, "recall", query=query, strategy="lexical", limit=limit,
                         agent_id=agent, org_id=org, **filters)  # fmt: skip
            expected = world.lexical(query, agent, org, filters)[:limit]
            case = (query, agent, org, filters, limit)
            assert [f["id"] for f in found] == [hit[1] for hit in expected], case
            for place, (seen, (score, _, parts)) in enumerate(
                zip(found, expected, strict=True), start=1
            ):
                assert seen["rank"] == place
                assert seen["score"] == pytest.approx(score, abs=1e-9)
                explanation = seen["explanation"]
                assert explanation["strategy"] == "lexical"
                assert explanation["score"] == seen["score"]
                assert explanation["terms"] == pytest.approx(parts)
                assert abs(sum(explanation["terms"].values()) - seen["score"]) <= 1e-9


PASS = """
WITH asked AS (
    SELECT array_agg(q.term ORDER BY q.place) AS terms,
           array_agg(q.admits ORDER BY q.place) AS admits,
           array_agg(q.idf ORDER BY q.place) AS idfs, max(q.average_length) AS average
      FROM mnemo._query_terms(%(query)s, %(org)s) AS q
)
SELECT l.complete, l.id, l.score
  FROM asked AS a, mnemo._lexical_pass(a.terms, a.admits, a.idfs, a.average, %(org)s, %(agent)s,
      statement_timestamp(), %(filter)s::mnemo._recall_filter, %(limit)s, %(cap)s) AS l
 WHERE a.terms IS NOT NULL
"""  # fmt: skip
NAMES = ("types", "scope", "tags", "tags_all", "min_importance", "thread_id", "source_types",
         "since", "until", "as_of", "kinds", "holds_at", "valid_since", "valid_until")  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_pass_that_calls_itself_complete_is(world: World, seed: int) -> None:
    """However few entries it read, of lists that are longer."""
    r = random.Random(100 + seed)
    complete = incomplete = 0
    for _ in range(250):
        agent, org, query = r.choice(AGENTS), r.choice(ORGS[:2]), _queries(r)
        filters, limit = some_filters(r), r.choice((1, 2, 5))
        asked = {"query": query, "org": org, "agent": agent, "limit": limit,
                 "cap": r.choice((1, 2, 5, 20)),
                 "filter": tuple(filters.get(name) for name in NAMES)}  # fmt: skip
        found = world.conn.execute(PASS, asked).fetchall()
        if not found or not found[0][0]:
            incomplete += 1
            continue
        complete += 1
        expected = [(hit[1], pytest.approx(hit[0], abs=1e-9))
                    for hit in world.lexical(query, agent, org, filters)[:limit]]  # fmt: skip
        assert [hit[1:] for hit in found if hit[1] is not None] == expected, asked
    assert complete > 50
    assert incomplete > 50


def test_ties_across_lists(tx: psycopg.Connection) -> None:
    """Equals are for the newer, also where it stands unread behind another in a longer list."""
    own = row(tx, "remember", content="kestrel", agent_id="ana")["id"]
    others = [
        row(tx, "remember", content="kestrel", agent_id="bob", scope="public")["id"]
        for _ in range(3)
    ]
    newest = [*others[::-1], own]
    for limit in (1, 2, 3, 4):
        for cap in (1, 2, 3, None):
            found = tx.execute(
                PASS,
                {"query": "kestrel", "org": "default", "agent": "ana", "limit": limit, "cap": cap,
                 "filter": (None,) * len(NAMES)},
            ).fetchall()  # fmt: skip
            if found[0][0]:
                assert [hit[1] for hit in found] == newest[:limit], (limit, cap)
            else:
                assert (limit, cap) in {(2, 1), (3, 1), (3, 2), (4, 1), (4, 2)}


def test_identifiers(tx: psycopg.Connection) -> None:
    """Whole before in parts; one that was not asked for is behind."""
    texts = ("PO-2024-0012 came", "PO-2024-0013 came", "2024 was fine", "0012 alone")
    ids = {text: row(tx, "remember", content=text)["id"] for text in texts}
    found = [f["id"] for f in rows(tx, "recall", query="po-2024-0012", strategy="lexical")]
    assert found[0] == ids["PO-2024-0012 came"]
    assert set(found) == set(ids.values())
    for query in ("poseidon-1234", "-1234"):
        assert rows(tx, "recall", query=query, strategy="lexical") == []


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("我们去东京吃饭", "东京"), ("東京タワーへ行く", "タワー"), ("เขาชอบชาเย็น", "ชาเย็น"),
     ("서울에서 커피를", "서울에서"), ("Das Café schließt", "cafe"), ("three boxes", "box")],
)  # fmt: skip
def test_languages(tx: psycopg.Connection, stored: str, asked: str) -> None:
    made = row(tx, "remember", content=stored)
    row(tx, "remember", content="something else entirely")
    found = rows(tx, "recall", query=asked, strategy="lexical")
    assert [f["id"] for f in found] == [made["id"]]


def test_weak_words_rank_and_never_admit(tx: psycopg.Connection) -> None:
    first = row(tx, "remember", content="tea for the user")
    second = row(tx, "remember", content="tea for the cat")
    third = row(tx, "remember", content="user like user")
    for query in ("user", "user like", "the of"):
        assert rows(tx, "recall", query=query, strategy="lexical") == []
    found = [f["id"] for f in rows(tx, "recall", query="user tea", strategy="lexical")]
    assert found == [first["id"], second["id"]]
    assert third["id"] not in found


def test_a_field_weighs_more_than_content(tx: psycopg.Connection) -> None:
    """Records of equal length: subject, aliases, predicate, tags, location, content."""
    made = [
        row(tx, "remember", content="one two three four five" if place < 5 else
            "one two three four five kestrel", **fields)["id"]
        for place, fields in enumerate((
            {"subject": "kestrel"}, {"aliases": ["kestrel"]}, {"predicate": "kestrel"},
            {"tags": ["kestrel"]}, {"location": "kestrel"}, {},
        ))
    ]  # fmt: skip
    found = rows(tx, "recall", query="kestrel", strategy="lexical")
    assert [f["id"] for f in found] == made


def test_many_words_are_cut_to_the_rarest(tx: psycopg.Connection) -> None:
    """64 of them: a page of text as a query costs no more."""
    made = row(tx, "remember", content="rareword")
    for _ in range(3):
        row(tx, "remember", content=" ".join(f"w{n}" for n in range(200)))
    query = " ".join(f"w{n}" for n in range(200)) + " rareword"
    found = rows(tx, "recall", query=query, strategy="lexical")
    assert made["id"] in {f["id"] for f in found}
    assert max(len(f["explanation"]["terms"]) for f in found) == 63


@pytest.mark.parametrize("query", [None, "", " ", "\u3000\t"])
def test_words_are_needed(tx: psycopg.Connection, query: str | None) -> None:
    with refused("22023", "p_query"):
        rows(tx, "recall", query=query, strategy="lexical")


def test_nobody_is_found_by_what_is_gone(tx: psycopg.Connection) -> None:
    """Forgotten, unshared, of another organisation."""
    mine = row(tx, "remember", content="kestrel one", agent_id="ana")
    theirs = row(tx, "remember", content="kestrel two", agent_id="bob")

    def seen() -> list[Any]:
        return [f["id"] for f in rows(tx, "recall", query="kestrel", strategy="lexical",
                                      agent_id="ana")]  # fmt: skip

    assert seen() == [mine["id"]]
    row(tx, "share", id=theirs["id"], to_agents=["ana"], agent_id="bob")
    assert set(seen()) == {mine["id"], theirs["id"]}
    row(tx, "unshare", id=theirs["id"], from_agents=["ana"], agent_id="bob")
    assert seen() == [mine["id"]]
    row(tx, "forget", ids=[mine["id"]], agent_id="ana")
    assert seen() == []
    assert rows(tx, "recall", query="kestrel", strategy="lexical", agent_id="bob",
                org_id="elsewhere") == []  # fmt: skip


def test_other_organisations_do_not_show_in_scores(tx: psycopg.Connection) -> None:
    row(tx, "remember", content="kestrel here", org_id="acme")
    row(tx, "remember", content="another", org_id="acme")

    def score() -> float:
        return row(tx, "recall", query="kestrel", strategy="lexical", org_id="acme")["score"]

    before = score()
    for scope in ("private", "public", "global"):
        row(tx, "remember", content="a kestrel elsewhere", org_id="other", scope=scope)
    found = rows(tx, "recall", query="kestrel", strategy="lexical", org_id="acme")
    assert len(found) == 2
    assert before in {f["score"] for f in found}


def test_taking_records_out_leaves_nothing(tx: psycopg.Connection) -> None:
    """No row names them, and no statistics of a word that nobody else has."""
    kept = row(tx, "remember", content="shared word")
    gone = row(tx, "remember", content="shared secretword", subject="secretsubject")
    row(tx, "share", id=gone["id"], to_agents=["bob"])
    value(tx, "_unindex_terms", org_id="default", ids=[gone["id"], gone["id"]])
    value(tx, "_compact_terms", org_id="default")
    for table in ("term_vector", "term_posting"):
        ids = tx.execute(f"SELECT DISTINCT memory_id FROM mnemo.{table}").fetchall()
        assert ids == [(kept["id"],)]
    left = {t for (t,) in tx.execute("SELECT term FROM mnemo.term_frequency").fetchall()}
    assert left == {scalar(tx, "SELECT mnemo._hash64(%s)", word) for word in ("shared", "word")}
    assert scalar(tx, "SELECT count(*) FROM mnemo.term_change") == 0
    value(tx, "_unindex_terms", org_id="default", ids=[gone["id"]])
    assert scalar(tx, "SELECT count(*) FROM mnemo.term_change") == 0


def test_the_planner_keeps_no_words(db: psycopg.Connection) -> None:
    """Its statistics would outlive their erasure."""
    for n in range(30):
        row(db, "remember", content=f"secretword {n}", subject="secretsubject")
    value(db, "_compact_terms", org_id="default")
    db.execute("ANALYZE")
    kept = db.execute(
        "SELECT tablename, attname FROM pg_stats WHERE schemaname = 'mnemo'"
        " AND tablename LIKE 'term%%' AND attname IN ('terms', 'weights', 'key', 'term', 'counts')"
    ).fetchall()
    assert kept == []
