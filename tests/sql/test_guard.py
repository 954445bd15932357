"""The guard: what it reads out of a query, what it refuses, and what it lets pass."""

from __future__ import annotations

import random

import psycopg
import pytest

from tests.reference.guard_eval import (
    GUARDS,
    OWN_PAIRS,
    Pair,
    agree,
    clinc_figures,
    data_folder,
    judge_pairs,
    read_pairs,
    read_queries,
    share_right,
)
from tests.support.calls import refused, row, rows

DATA = data_folder()
needs_data = pytest.mark.skipif(DATA is None, reason="no data folder: set MNEMO_DATA")


def tokens(tx: psycopg.Connection, query: str | None) -> dict[str, set[str]]:
    """The tokens of a query by class."""
    found: dict[str, set[str]] = {"meaning": set(), "values": set()}
    for entry in rows(tx, "guard_tokens", query=query):
        found[entry["class"]].add(entry["token"])
    return found


def agreeing(tx: psycopg.Connection, one: str, other: str) -> str:
    """The strictest guard under which two queries agree."""
    reads = read_queries(tx, [one, other])
    return next(g for g in ("strict", "meaning", "off") if agree(reads[one], reads[other], g))


@pytest.mark.parametrize(
    ("query", "meaning", "values"),
    [
        ("turn on dark mode", {"on"}, set()),
        ("turn dark mode off, please", {"off"}, set()),
        ("what is on the list of the shop", set(), set()),
        ("the invoices that weren't paid", {"not"}, set()),
        ("the unpaid invoices", {"not"}, set()),
        ("paid but not shipped", {"not shipped"}, set()),
        ("5 people prefer C++ to C#", set(), {"5", "5 people", "c++", "c#", "prefer c++", "to c#"}),
        ("over 1,000.00 EUR", {"more"}, {"1000", "eur"}),
        ("twenty five kilos", set(), {"25", "kg"}),
        ("two hundred five thousand", set(), {"205000"}),
        (
            "50GB, 20 % and $3.50",
            set(),
            {"50", "50 gb", "gb", "20", "20 %", "%", "3.50", "3.50 $", "$"},
        ),
        ("the last 7 days", set(), {"last", "7", "day"}),
        ("who is it next week", set(), {"next", "week"}),
        ("my last name", set(), {"last"}),
        ("my first name", {"first"}, {"1"}),
        ("fit it in R for NY", set(), {"r", "ny"}),
        ("is it in the US or with us", set(), {"us"}),
        ("the host 10.0.0.12 of user@x.com", set(), {"10.0.0.12", "host 10.0.0.12", "user@x.com"}),
        ("what is --max-cost in report_q1.csv", set(), {"--max-cost", "report_q1.csv"}),
        ("the case of v1.2.3", set(), {"1.2.3"}),
        ("does Alice know the parser", {"know (ascending)"}, {"alice"}),
        ("How Do I Reset My Password", set(), set()),
        ("HOW DO I RESET MY PASSWORD", set(), set()),
        ("the first of may", set(), {"1", "may"}),
        ("may I go", set(), set()),
    ],
)
def test_what_is_read(
    tx: psycopg.Connection, query: str, meaning: set[str], values: set[str]
) -> None:
    """Negation, opposites and order are meaning; amounts, names and identifiers are values."""
    found = tokens(tx, query)
    assert found["meaning"] - {"to (ascending)", "to (descending)"} == meaning
    assert found["values"] == values


def test_tokens_of_nothing(tx: psycopg.Connection) -> None:
    """NULL, blanks and a question without any such word give no rows."""
    for query in (None, "", "  ", "?!", "how do I reset my password"):
        assert rows(tx, "guard_tokens", query=query) == []


def test_tokens_are_numbered(tx: psycopg.Connection) -> None:
    """Positions count from 1 and the class is one of two."""
    found = rows(tx, "guard_tokens", query="do not send 5 kg to Alice on Monday")
    assert [entry["position"] for entry in found] == list(range(1, len(found) + 1))
    assert {entry["class"] for entry in found} == {"meaning", "values"}


def test_the_limit_of_characters(tx: psycopg.Connection) -> None:
    """100,000 characters are read, one more is refused."""
    assert rows(tx, "guard_tokens", query="x" * 100_000) == []
    with refused("54000", "p_query"):
        rows(tx, "guard_tokens", query="x" * 100_001)


def test_the_version(tx: psycopg.Connection) -> None:
    """Stored with each guard."""
    assert tx.execute("SELECT mnemo._guard_version()").fetchone() == (1,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("enable the mode", "activate the mode"),
        ("turn the mode on", "enable the mode"),
        ("switch off the mode", "deactivate the mode"),
        ("list what is not paid", "list what isn't paid"),
        ("list what isnt paid", "list what isn’t paid"),
        ("the limit is 1,000", "the limit is 1000.00"),
        ("five of them", "5 of them"),
        ("at 9 am", "at 9am"),
        ("50 percent", "50%"),
        ("$100", "100 dollars"),
        ("€ 5", "5 euros"),
        ("issue #421", "issue 421"),
        ("version 1.2.3", "v1.2.3"),
        ("the contract with Acme", "the contract with acme"),
        ("list the AI papers", "list the ai papers"),
        ("this year, when is it due?", "when is it due this year"),
        ("from Paris to Rome on the first of may", "on the first of may from Paris to Rome"),
        ("open it and read it", "read it and open it"),
        ("Alice's tasks", "tasks of Alice"),
        ("the 7-day report", "the 7 day report"),
        ("compare A with B", "compare B with A"),
        ("compared to Python, is Rust hard", "is Rust hard compared to Python"),
        ("a draft", "Draft it"),
        ("before the meeting send it to Anna", "send it to Anna before the meeting"),
        ("instead of butter use oil", "use oil instead of butter"),
        ("12 месяцев", "12 месяцев"),
        ("１２ ファイル", "12 ファイル"),
    ],
)
def test_the_same_in_other_words(tx: psycopg.Connection, one: str, other: str) -> None:
    """Synonyms, spellings of numbers, word order and capitals do not separate two queries."""
    assert agreeing(tx, one, other) == "strict"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("enable the mode", "disable the mode"),
        ("it is on the way, turn it on", "it is on the way, turn it off"),
        ("with milk and without sugar", "with sugar and without milk"),
        ("enable A and disable B for the gateway", "disable A and enable B for the gateway"),
        ("from Oslo to Bergen", "from Bergen to Oslo"),
        ("from account 17 to account 71", "from account 71 to account 17"),
        ("from service alpha to service beta", "from service beta to service alpha"),
        ("does Alice report to Bob", "does Bob report to Alice"),
        ("does Acme owe Globex", "does Globex owe Acme"),
        ("is a cat older than a dog", "is a dog older than a cat"),
        ("use oil instead of butter", "use butter instead of oil"),
        ("instead of butter use oil", "instead of oil use butter"),
        ("replace commas with dots", "replace dots with commas"),
        ("at least two", "at most two"),
        ("over 100", "under 100"),
        ("prices above the limit", "prices below the limit"),
        ("the previous page", "the next page"),
        ("is it mutable", "is it immutable"),
        ("what is inedible", "what is edible"),
        ("welche sind bezahlt", "welche sind nicht bezahlt"),
        ("schalte das Licht ein", "schalte das Licht aus"),
        ("activer le mode", "désactiver le mode"),
        ("clientes con deuda", "clientes sin deuda"),
    ],
)
def test_other_meaning(tx: psycopg.Connection, one: str, other: str) -> None:
    """Negation, opposites and order separate two queries under either guard."""
    assert agreeing(tx, one, other) == "off"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vendor 17", "vendor 71"),
        ("vendor 17 invoice 71", "vendor 71 invoice 17"),
        ("10 apples and 5 pears", "5 apples and 10 pears"),
        ("python 3.1", "python 3.10"),
        ("the degrees are -5", "the degrees are 5"),
        ("a leak in C++", "a leak in C#"),
        ("the password for Alice", "the password for Bob"),
        ("the password for alice", "the password for Bob"),
        ("export it as PDF", "export it as CSV"),
        ("50 GB", "50 TB"),
        ("5 seconds", "5 minutes"),
        ("due this week", "due last week"),
        ("on Tuesday", "on Thursday"),
        ("at 9 am", "at 9 pm"),
        ("plan B", "plan C"),
        ("run tests before builds", "run builds before tests"),
        ("the type I error", "the type II error"),
        ("flag --max-cost", "flag --max-heads"),
        ("PO-2024-0012", "PO-2024-0021"),
        ("第12条", "第22条"),
        ("am Montag", "am Dienstag"),
        ("lundi", "mardi"),
    ],
)
def test_other_values(tx: psycopg.Connection, one: str, other: str) -> None:
    """Numbers, names, identifiers, units and times separate two queries under strict only."""
    assert agreeing(tx, one, other) == "meaning"


def every_query() -> list[tuple[str, str]]:
    """Pairs of all kinds, and each with an unrelated one."""
    pairs = read_pairs(OWN_PAIRS)
    shuffled = random.Random(7).sample(pairs, len(pairs))
    return [(p.stored, p.asked) for p in pairs] + [
        (p.stored, q.asked) for p, q in zip(pairs, shuffled, strict=True)
    ]


def test_differences_are_those_compared(tx: psycopg.Connection) -> None:
    """Differences in words exist exactly when the stored digests and names disagree."""
    cases = every_query()
    reads = read_queries(tx, (query for case in cases for query in case))
    for stored, asked in cases:
        for guard in ("off", *GUARDS):
            said = tx.execute(
                "SELECT mnemo._guard_differences(%s, %s, %s)", (asked, stored, guard)
            ).fetchone()
            assert said is not None
            assert (said[0] == []) == agree(reads[stored], reads[asked], guard), (stored, asked)


def test_differences_in_words(tx: psycopg.Connection) -> None:
    """What the one asked has and what the stored one has."""
    said = tx.execute(
        "SELECT mnemo._guard_differences('turn off the lamp', 'turn on the lamp', 'strict')"
    ).fetchone()
    assert said == (["asked has off, stored has on"],)


def hostile() -> dict[str, str]:
    """Queries that nobody asks."""
    chance = random.Random(11)
    words = ["to", "from", "on", "off", "not", "more", "than", "5", "Alice", "bob", "last", "week"]
    return {
        "punctuation": "?!.,;: " * 14_000,
        "one long word": "x" * 50_000,
        "one long number": "1" * 100_000,
        "many words": " ".join(chance.choice(words) for _ in range(22_000))[:100_000],
        "negations": "not " * 25_000,
        "names": "Älice " * 16_000,
        "names that differ": " ".join(f"Zq{chance.random():.9f}Y Ab" for _ in range(6_000)),
        "order": "from a to b " * 8_000,
        "preferences": "prefer over " * 8_000,
        "emoji": "🚀 " * 50_000,
        "right to left": "إعادة تعيين كلمة المرور ٣ " * 3_800,
        "marks": "\u0301\u0323" * 50_000,
        "without spaces": "外币汇率换算不12" * 10_000,
        "quotes": "'" * 100_000,
        "hyphens": "ab-" * 33_000,
        "numbers": "nine hundred million " * 4_700,
        "lines": "a\nb\n" * 25_000,
        "backslashes": "\\" * 100_000,
        "capitals": "STRASSE ß ſ İ " * 7_000,
    }


@pytest.mark.parametrize("name", sorted(hostile()))
def test_hostile_queries(tx: psycopg.Connection, name: str) -> None:
    """Anything of 100,000 characters is read within bounds, and agrees with itself."""
    query = hostile()[name]
    tx.execute("SET LOCAL statement_timeout = '20s'")
    read = read_queries(tx, [query])[query]
    assert read.names <= read.tokens


@pytest.mark.parametrize(
    "query", ["a-b'c", "O'Brien’s", "Ça", "İstanbul ΣΊΣΥΦΟΣ", "$", "'s", "n't"]
)
def test_odd_words(tx: psycopg.Connection, query: str) -> None:
    """A query agrees with itself whatever it is made of."""
    query = f"when did the {query} arrive"
    read = read_queries(tx, [query])[query]
    assert read.names <= read.tokens


def test_settings_of_a_session_do_not_matter(tx: psycopg.Connection) -> None:
    """The same guard however a session reads literals and whatever its path is."""
    query = "don't move 5 kg from Zürich to Genève\\now, C++"
    before = tx.execute("SELECT mnemo._guard(%s)", (query,)).fetchone()
    tx.execute("SET LOCAL standard_conforming_strings = off")
    tx.execute("SET LOCAL search_path = ''")
    assert tx.execute("SELECT mnemo._guard(%s)", (query,)).fetchone() == before


def report(wrong: list[Pair]) -> str:
    """The pairs that came out wrong, for the failure message."""
    return "\n".join(f"{p.category}: {p.stored} | {p.asked}" for p in wrong)


def check_pairs(tx: psycopg.Connection, pairs: list[Pair]) -> None:
    """At least 95 of 100 pairs of either expectation come out right."""
    verdicts = judge_pairs(tx, pairs)
    wrong = report([verdict.pair for verdict in verdicts if not verdict.right])
    assert share_right(verdicts, "miss") >= 0.95, wrong
    assert share_right(verdicts, "hit") >= 0.95, wrong


def test_own_pairs(tx: psycopg.Connection) -> None:
    """Pairs of every kind in several languages."""
    check_pairs(tx, read_pairs(OWN_PAIRS))


@needs_data
def test_plan_pairs(tx: psycopg.Connection) -> None:
    """The pairs of the data folder, all of them 0.7 or more alike."""
    assert DATA is not None
    check_pairs(tx, read_pairs(DATA / "plan_pairs.jsonl"))


@needs_data
def test_clinc(tx: psycopg.Connection) -> None:
    """On requests labelled by intent alone the guards keep most hits and lose no precision."""
    assert DATA is not None
    plain, meaning, strict = clinc_figures(tx, DATA)
    assert meaning.hits >= 0.9 * plain.hits
    assert meaning.precision >= plain.precision
    assert strict.hits >= 0.7 * plain.hits
    assert strict.precision >= plain.precision
    assert strict.out_of_scope_hits <= meaning.out_of_scope_hits <= plain.out_of_scope_hits


@pytest.mark.parametrize("guard", ["off", *GUARDS])
def test_the_promised_replay(tx: psycopg.Connection, guard: str) -> None:
    """A rephrased question replays the plan, another question does not, with every guard."""
    stored = row(
        tx, "remember_plan", query="how do I reset my password", steps=["a"], chunk_ids=["c"],
        outcome_score=0.92,
    )  # fmt: skip
    for query in ("Password reset — how to?", "reset my password, how do I"):
        found = row(tx, "recall_plan", query=query, guard=guard)
        assert (found["hit"], found["id"]) == (True, stored["id"])
    assert not row(tx, "recall_plan", query="what is the capital of france", guard=guard)["hit"]


@pytest.mark.parametrize("pair", read_pairs(OWN_PAIRS)[::12], ids=lambda pair: pair.stored[:40])
def test_recall_follows_the_guard(tx: psycopg.Connection, pair: Pair) -> None:
    """recall_plan answers as the guard says, and says so."""
    row(
        tx, "remember_plan", query=pair.stored, steps=["a"], chunk_ids=["c"], outcome_score=0.9,
    )  # fmt: skip
    assert row(tx, "recall_plan", query=pair.asked, guard="off")["hit"]
    found = row(tx, "recall_plan", query=pair.asked)
    assert found["hit"] == (pair.expect == "hit")
    assert found["hit"] or found["reason"] == "guarded"
