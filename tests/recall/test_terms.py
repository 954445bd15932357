"""The terms of texts: the examples of the specification, and many texts against Python."""

from __future__ import annotations

import random
from collections import Counter

import psycopg
import pytest

from tests.recall.conftest import lists_of
from tests.reference.lexical import document, singular, terms
from tests.support.calls import row, scalar

EXAMPLES = {
    "Ship PO-2024-0012 today": "ship po-2024-0012 po 2024 0012 today",
    "v1.2.3 is out": "v1.2.3 v1 2 3 is out",
    "call foo_bar()": "call foo_bar foo bar",
    "poseidon-1234": "poseidon-1234 poseidon 1234",
    "see -1234 or --x": "see 1234 or x",
    "a.b@c.com": "a.b@c.com a b c com",
    "well-known and/or": "well known and or",
    "It ended.Then": "it ended.then ended then",
    "it ended. Then": "it ended then",
    "movies, a movie": "movy movy a",
    "boxes box caches cache buses bus": "box box cach cach bus bus",
    "heroes hero shoes shoe toes toe": "hero hero sho sho toe toe",
    "class classes glass status analysis": "class class glass status analysis",
    "restaurants gas it's": "restaurant gas it s",
    "Café ÅNGSTRÖM naïve": "cafe angstrom naive",
    "cafe\u0301": "cafe",
    "東京タワー": "東京 京タ タワ ワー",
    "山": "山",
    "iPhone手机2台": "iphone 手机 台 2",
    "ภาษาไทย": "ภา าษ ษา าไ ไท ทย",
    "한국어 서울": "한국어 서울",
    "ΟΔΟΣ": "οδος",
    "": "", "...": "", "\u3000": "", "!-?": "",
}  # fmt: skip


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples(tx: psycopg.Connection, text: str) -> None:
    """Both definitions give what the rules say."""
    expected = Counter(EXAMPLES[text].split())
    assert Counter(scalar(tx, "SELECT mnemo._terms(%s)", text)) == expected
    assert terms(text) == expected


def test_null_has_no_terms(tx: psycopg.Connection) -> None:
    assert scalar(tx, "SELECT mnemo._terms(NULL)") == []


ALPHABETS = (
    "abes -_.:/@#129", "abcdefghiklmnoprstuvwxyz    ies", "éàÅßŁøŽ aeis-1._", "東京タワー々ab 1-",
    "ไทยกขคภาษา ab1", "한국어 서울ㄱab", "\u0301\u0e31ae \u11a7가", "ΣσςΑ İıI aB.",
    "🙂\u200bab\t\n .",
)  # fmt: skip


def _texts(number: int) -> list[str]:
    r = random.Random(11)
    drawn = []
    for _ in range(number):
        letters = "".join(r.sample(ALPHABETS, r.choice((1, 1, 2))))
        drawn.append("".join(r.choices(letters, k=r.choice((3, 8, 20, 60)))))
    drawn += [
        "".join(chr(r.choice((r.randrange(1, 0xD800), r.randrange(0xE000, 0x110000))))
                for _ in range(12))
        for _ in range(number // 4)
    ]  # fmt: skip
    return drawn


def test_random_texts(tx: psycopg.Connection) -> None:
    """Thousands of texts of many scripts have the terms that Python finds."""
    texts = _texts(3000)
    found = tx.execute(
        "SELECT mnemo._terms(t.text) FROM unnest(%s::text[]) WITH ORDINALITY AS t(text, place)"
        " ORDER BY t.place",
        [texts],
    ).fetchall()
    for text, (seen,) in zip(texts, found, strict=True):
        assert Counter(seen) == terms(text), ascii(text)


def test_listed_words_are_folded_and_in_one_list(tx: psycopg.Connection) -> None:
    """Else a list would name a word that no text can have."""
    lists = lists_of(tx)
    assert len(lists.stop) > 80
    assert len(lists.weak) > 80
    assert not lists.stop & lists.weak  # type: ignore[operator]
    for word in (*lists.stop, *lists.weak):
        assert singular(word) == word
        assert list(terms(word)) == [word]


def test_a_record_is_weighted_by_field(tx: psycopg.Connection) -> None:
    """As the specification weighs them; the number of words counts every field once."""
    fields = {
        "content": "The tea and the tea house", "subject": "Tea", "predicate": "tea_order",
        "entities": ["Tea", "Ann"], "aliases": ["green tea"], "tags": ["tea", "x y"],
        "location": "tea house",
    }  # fmt: skip
    made = row(tx, "remember", **fields)
    stored = row(tx, "get_memories", ids=[made["id"]])
    expected = document(stored, lists_of(tx))
    assert expected.weights["tea"] == pytest.approx(2 + 3 + 3 + 2.5 + 2.2 + 2 + 1.5)
    seen = tx.execute(
        "SELECT v.terms, v.weights, v.length FROM mnemo.term_vector AS v WHERE v.memory_id = %s",
        [made["id"]],
    ).fetchone()
    assert seen is not None
    hashes = {
        scalar(tx, "SELECT mnemo._hash64(%s)", term): round(10 * weight)
        for term, weight in expected.weights.items()
    } | {
        scalar(tx, "SELECT mnemo._hash64(%s)", facet): weight
        for facet, weight in {
            "name tea": 30, "name green tea": 20, "name ann": 10, "about tea": 10,
            "attribute tea_order": 10, "pair tea_order tea": 10,
        }.items()
    } | {
        scalar(
            tx, "SELECT mnemo._own_term(mnemo._hash64('about tea'), mnemo._hash64(%s))", word
        ): round(10 * expected.weights[word])
        for word in ("tea", "order", "tea_order", "green", "x", "y")
    }  # fmt: skip
    assert dict(zip(seen[0], seen[1], strict=True)) == hashes
    assert seen[2] == expected.length


@pytest.mark.parametrize("setting", ["lc_messages = 'C'", "standard_conforming_strings = off",
                                     "backslash_quote = off"])  # fmt: skip
def test_terms_do_not_depend_on_settings(tx: psycopg.Connection, setting: str) -> None:
    tx.execute(f"SET LOCAL {setting}")  # type: ignore[arg-type]
    assert scalar(tx, "SELECT mnemo._terms('Café PO-1 boxes')") == [
        "cafe",
        "po",
        "1",
        "box",
        "po-1",
    ]


def test_plans_have_no_terms(tx: psycopg.Connection) -> None:
    row(tx, "remember_plan", query="how to pay", steps=["a"], chunk_ids=[], outcome_score=1)
    for table in ("term_vector", "term_posting", "term_change"):
        assert scalar(tx, f"SELECT count(*) FROM mnemo.{table}") == 0


def test_a_long_record_keeps_its_heaviest_terms(tx: psycopg.Connection) -> None:
    """At most 20,000, so that one record cannot fill the index."""
    text = " ".join(f"w{n}" for n in range(25_000)) + " twice twice"
    made = row(tx, "remember", content=text, subject="heavy")
    # Two more for the facets: the name and what it is about.
    assert scalar(tx, "SELECT cardinality(terms) FROM mnemo.term_vector") == 20_002
    for word in ("heavy", "twice"):
        found = row(tx, "recall", query=word, strategy="lexical")
        assert found["id"] == made["id"]
