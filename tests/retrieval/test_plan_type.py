"""Retrieval plans as values: checked, in normal form, with their keys."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.reference import retrieval_plan as oracle
from tests.support.calls import refused, row, scalar, value
from tests.support.server import Server

BASE: dict[str, Any] = {"turn_id": 1, "generation": 0}
KINDS = (
    "identity", "preference", "location_preference", "relationship", "relationship_preference",
    "routine", "commitment", "project", "episodic", "communication_style", "staged_pattern",
)  # fmt: skip
INTENTS = (
    "none", "explicit_recall", "personal_recommendation", "prior_event_reference",
    "relationship_reference", "comparison", "ambient",
)  # fmt: skip
MOST = 2**63 - 1


@pytest.fixture(scope="module")
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """The database of this file; nothing is written to it."""
    with psycopg.connect(module_dsn, autocommit=True) as conn:
        yield conn


def normal(conn: psycopg.Connection, **fields: Any) -> dict[str, Any]:
    """The normal form of a plan, which a second pass must leave alone."""
    found = value(conn, "normalize_retrieval_plan", plan=BASE | fields)
    assert value(conn, "normalize_retrieval_plan", plan=found) == found
    return found


def test_hashes(db: psycopg.Connection) -> None:
    """The vectors, and FNV-1a for texts of every sort; NULL stays NULL."""
    for text, digest in (
        ("", "cbf29ce484222325"),
        ("hello", "a430d84680aabd0b"),
        ("what is the capital of France", "05ed79fc8d282fde"),
    ):
        assert scalar(db, "SELECT mnemo.stable_hash(%s)", text) == digest
    source = random.Random(5)
    texts = ["".join(chr(source.choice((source.randrange(1, 128), source.randrange(1, 0xD800),
             source.randrange(0x10000, 0x110000)))) for _ in range(source.randrange(60)))
             for _ in range(300)]  # fmt: skip
    found = db.execute(
        "SELECT array_agg(mnemo.stable_hash(t) ORDER BY n) FROM unnest(%s::text[])"
        " WITH ORDINALITY AS u(t, n)", [[*texts, "\\", "\\x41", "é" * 100_000, "x" * 1_048_576]],
    ).fetchone()  # fmt: skip
    assert found is not None
    wanted = [*texts, "\\", "\\x41", "é" * 100_000, "x" * 1_048_576]
    assert found[0] == [oracle.stable_hash(text) for text in wanted]
    assert scalar(db, "SELECT mnemo.stable_hash(NULL)") is None
    with refused("54000", "p_text"):
        value(db, "stable_hash", text="é" * 524_289)


def test_predicates(db: psycopg.Connection) -> None:
    for text, canonical in (
        (" dietary--identity ", "dietary_identity"), ("Works At", "works_at"), ("", ""),
        ("_-_", ""), ("a1B2", "a1b2"), ("café", "caf"), ("\u3000x\u00a0y", "x_y"), ("\u212a", ""),
    ):  # fmt: skip
        assert value(db, "canonical_predicate", text=text) == canonical
        assert oracle.canonical_predicate(text) == canonical


def test_every_cap_applies(db: psycopg.Connection) -> None:
    plan = normal(
        db,
        lexical_queries=[f"query {n}" for n in range(5)],
        entities=[{"surface": f"entity {n}"} for n in range(9)],
        topics=[f"topic {n}" for n in range(20)],
        predicates=[f"predicate {n}" for n in range(9)],
        scopes=["preference"] * 9,
        confidence=1.2,
        intent="ambient",
    )
    assert plan["lexical_queries"] == ["query 0", "query 1", "query 2"]
    assert [entity["surface"] for entity in plan["entities"]] == [f"entity {n}" for n in range(5)]
    assert plan["topics"] == [f"topic {n}" for n in range(8)]
    assert plan["predicates"] == [f"predicate_{n}" for n in range(5)]
    assert plan["scopes"] == ["preference"]
    assert plan["confidence"] == 1
    assert normal(db, scopes=KINDS)["scopes"] == list(KINDS[:5])
    assert normal(db, kind_filter=[*KINDS, *KINDS])["kind_filter"] == list(KINDS)


def test_a_long_query_is_cut_to_16_terms(db: psycopg.Connection) -> None:
    """Before duplicates are looked for, so that a second pass finds nothing more."""
    words = [f"w{n}" for n in range(40)]
    assert normal(db, lexical_queries=[" ".join(words)])["lexical_queries"] == [
        " ".join(words[:16])
    ]
    queries = [" \u3000".join(words[:n]) for n in (17, 18, 16, 15)] + ["B", "b", "c", "d"]
    assert normal(db, lexical_queries=queries)["lexical_queries"] == [
        " ".join(words[:16]), " ".join(words[:15]), "B",
    ]  # fmt: skip


def test_blanks_and_duplicates_go(db: psycopg.Connection) -> None:
    blanks = ["", " ", "\u00a0", "\u3000\t\n"]
    plan = normal(
        db,
        lexical_queries=["quiet restaurant", *blanks, "Quiet Restaurant", " quiet\u2003restaurant"],
        topics=["food", *blanks, "FOOD", "\u3000Food "],
        entities=[
            *({"surface": blank, "canonical": "x"} for blank in blanks),
            {"surface": "Rhea", "canonical": "rhea"}, {"surface": "RHEA", "canonical": "Rhea"},
            {"surface": "Rhea"}, {"surface": "rhea", "canonical": " "},
        ],
        predicates=["likes", "Likes!", *blanks, "-", "owns", "likes"],
        scopes=["routine", "project", "routine"],
        subject_hint="\u3000", predicate_hint=" - ", plan_id=" ", source_transcript_hash="\n",
    )  # fmt: skip
    assert plan["lexical_queries"] == ["quiet restaurant"]
    assert plan["topics"] == ["food"]
    assert plan["entities"] == [
        {"surface": "Rhea", "canonical": "rhea"}, {"surface": "Rhea", "canonical": None},
    ]  # fmt: skip
    assert plan["predicates"] == ["likes", "owns"]
    assert plan["scopes"] == ["routine", "project"]
    assert plan["subject_hint"] is None
    assert plan["predicate_hint"] is None
    assert plan["plan_id"].startswith("pln_")
    assert plan["source_transcript_hash"] == oracle.NO_TEXT


def test_equal_but_for_case_or_composition(db: psycopg.Connection) -> None:
    """As signatures see it, in any script; the first one stays as it was written."""
    for first, *others in (
        ("Straße", "STRAßE"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("İ", "i\u0307"), ("ĳ", "Ĳ"),
        ("Cafe\u0301", "café", "CAFÉ"), ("क\u093c", "\u0958"), ("Ⓐ", "ⓐ"),
    ):  # fmt: skip
        assert normal(db, topics=[first, *others])["topics"] == [first]
    kept = ["ss", "ß", "ı", "I", "\u0130", "é", "e", "e\u0301\u0316"]
    assert normal(db, topics=kept)["topics"] == kept


def test_a_plan_with_nothing_to_search_for_cannot_require_memory(db: psycopg.Connection) -> None:
    for fields in ({"lexical_queries": [" "]}, {"entities": [{"surface": ""}]}, {}):
        plan = normal(db, requires_memory=True, intent="comparison", topics=["food"], **fields)
        assert plan["requires_memory"] is False
        assert plan["intent"] == "none"
        assert plan["topics"] == ["food"]


def test_requires_memory_follows_the_intent_unless_it_is_given(db: psycopg.Connection) -> None:
    for intent in INTENTS:
        assert normal(db, lexical_queries=["x"], intent=intent)["requires_memory"] == (
            intent != "none"
        )
        for given in (True, False):
            plan = normal(db, entities=[{"surface": "x"}], intent=intent, requires_memory=given)
            assert plan["requires_memory"] is given
            assert plan["intent"] == intent


def test_a_skip_plan_requires_nothing(db: psycopg.Connection) -> None:
    plan = value(db, "skip_retrieval_plan", transcript="hello", turn_id=MOST, generation=7)
    assert plan == normal(db, turn_id=MOST, generation=7, source_transcript_hash="a430d84680aabd0b")
    assert plan["requires_memory"] is False
    assert plan["confidence"] == 1
    assert plan["intent"] == "none"
    lists = ("entities", "topics", "predicates", "lexical_queries", "scopes", "kind_filter")
    assert [plan[name] for name in lists] == [[]] * 6
    good = {"transcript": "x", "turn_id": 0, "generation": 0}
    for name in ("transcript", "turn_id", "generation"):
        with refused("22023", f"p_{name}"):
            value(db, "skip_retrieval_plan", **(good | {name: None}))
    with refused("22023", "p_generation"):
        value(db, "skip_retrieval_plan", transcript="", turn_id=0, generation=-1)
    with refused("54000", "p_transcript"):
        value(db, "skip_retrieval_plan", transcript="x" * 1_048_577, turn_id=0, generation=0)


def test_what_is_missing_has_its_default(db: psycopg.Connection) -> None:
    """Every field is there, null counts as missing, and the id follows from turn and transcript."""
    plan = normal(db)
    assert plan == oracle.normal(BASE) | {"warnings": []}
    assert plan == normal(db, **dict.fromkeys(set(plan) - set(BASE)))
    assert len(plan["plan_id"]) == 16
    others = [normal(db, **change)["plan_id"] for change in (
        {"turn_id": 2}, {"generation": 1}, {"source_transcript_hash": "x"})]  # fmt: skip
    assert len({plan["plan_id"], *others}) == 4
    assert normal(db, plan_id="mine")["plan_id"] == "mine"


def test_unknown_fields_are_dropped_and_named(db: psycopg.Connection) -> None:
    plan = normal(
        db, colour="red", Topics=None, **{"a b": 1}, warnings=["said before"],
        entities=[{"surface": "x"}, {"surface": "y", "age": 3}],
        temporal={"until": 1, "label": "z"},
    )  # fmt: skip
    assert plan["warnings"] == [
        "said before", "unknown field $.\"a b\" was dropped", "unknown field $.Topics was dropped",
        "unknown field $.colour was dropped", "unknown field $.entities[1].age was dropped",
        "unknown field $.temporal.until was dropped",
    ]  # fmt: skip
    assert set(plan) == set(normal(db))
    many = normal(db, **{f"f{n}": n for n in range(10_000)}, warnings=["w", " ", "w", "x" * 300])
    assert len(many["warnings"]) == 16
    assert many["warnings"][:2] == ["w", "x" * 200]
    assert many["warnings"][-1] == "9987 more warnings were dropped"


def test_predicates_of_which_nothing_is_left_are_named(db: psycopg.Connection) -> None:
    """An attribute is ASCII: one in another script says so before it vanishes, once."""
    dropped = "has no ASCII letter or digit and was dropped:"
    plan = normal(
        db, predicates=["food allergy", "过敏", " ", "!", "过敏"],
        predicate_hint="住址", warnings=["said before"], colour="red",
    )  # fmt: skip
    assert plan["predicates"] == ["food_allergy"]
    assert plan["predicate_hint"] is None
    assert plan["warnings"] == [
        "said before", "unknown field $.colour was dropped",
        f'$.predicates[1] {dropped} "过敏"', f'$.predicates[3] {dropped} "!"',
        f'$.predicates[4] {dropped} "过敏"', f'$.predicate_hint {dropped} "住址"',
    ]  # fmt: skip
    assert value(db, "normalize_retrieval_plan", plan=plan) == plan
    for plain in ({"predicates": [" ", ""]}, {"predicate_hint": " "}, {"predicates": ["é1"]}):
        assert normal(db, **plain)["warnings"] == []


def test_warnings_about_long_names_are_normal(db: psycopg.Connection) -> None:
    """Escapes may make a name of 100 characters six times as long."""
    for name in ('"' * 100, "\x01" * 100, "\\" * 99 + " ", "😀" * 100, "é" * 200):
        plan = normal(
            db, **{name: 1}, predicates=[name, "?" * 90], entities=[{"surface": "x", name: 1}]
        )
        assert len(plan["warnings"]) == 4
        assert max(map(len, plan["warnings"])) <= 200


def test_times_are_read_alike_in_every_session(module_dsn: str, db: psycopg.Connection) -> None:
    times = {
        "2026-01-31T09:00:00Z": "2026-01-31T09:00:00Z",
        "2026-01-31 09:00+05:30": "2026-01-31T03:30:00Z",
        "2026-01-31T09:00:00.5-0800": "2026-01-31T17:00:00.500000Z",
        "2026-03-29T02:30:00+01": "2026-03-29T01:30:00Z",
        "2024-02-29T23:59:59.999999+00:00": "2024-02-29T23:59:59.999999Z",
        "0001-01-01T00:00:00Z": "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z": "9999-12-31T23:59:59Z",
    }
    fields = {"confidence": 0.1234567890123456, "turn_id": 10**15}
    expected = [normal(db, temporal={"after": given}, **fields) for given in times]
    assert [plan["temporal"]["after"] for plan in expected] == list(times.values())
    with psycopg.connect(module_dsn, autocommit=True) as other:
        for setting in ("DateStyle = 'German, DMY'", "TimeZone = 'Asia/Kolkata'",
                        "extra_float_digits = -15", "lc_numeric = 'C'",
                        "IntervalStyle = 'sql_standard'"):  # fmt: skip
            other.execute(f"SET {setting}")  # type: ignore[arg-type]
        for given, plan in zip(times, expected, strict=True):
            assert normal(other, temporal={"after": given}, **fields) == plan
            assert value(other, "retrieval_plan_result_key", plan=plan, limit=5) == value(
                db, "retrieval_plan_result_key", plan=plan, limit=5
            )
    window = {"after": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z", "label": " Jan "}
    assert normal(db, temporal=window)["temporal"] == window | {"label": "Jan"}
    assert normal(db, temporal={"label": " "})["temporal"] is None
    assert normal(db, temporal={"label": "soon"})["temporal"] == {
        "after": None, "before": None, "label": "soon",
    }  # fmt: skip


def test_confidence_is_a_double(db: psycopg.Connection) -> None:
    """What JSON makes of it in Python and here is one number, and it is clamped."""
    source = random.Random(3)
    numbers = [source.random() for _ in range(300)] + [2.0**-n for n in range(1, 1075)]
    for found, number in db.execute(
        "SELECT mnemo.normalize_retrieval_plan(jsonb_build_object('turn_id', 0, 'generation', 0,"
        " 'confidence', c::numeric)) ->> 'confidence', c FROM unnest(%s::text[]) AS u(c)",
        [[repr(number) for number in numbers]],
    ):
        assert float(found) == float(number)
        assert json.loads(found) == json.loads(repr(float(number)))
    for given, clamped in ((-1, 0), (0, 0), (1e300, 1), (1e-400, 0), ("-0.0", 0), (7, 1)):
        text = '{"turn_id": 0, "generation": 0, "confidence": %s}' % given  # noqa: UP031
        plan = scalar(db, "SELECT mnemo.normalize_retrieval_plan(%s::jsonb)", text)
        assert plan["confidence"] == clamped


# What is wrong, and the JSON path that the error must name.
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({name: bad}, f"$.{name}")
      for name in ("turn_id", "generation")
      for bad in (-1, 1.5, MOST + 1, 1e30, "1", True, None, [], {}, "NaN", "Infinity")),
    *(({"confidence": bad}, "$.confidence") for bad in ("0.5", "NaN", "Infinity", True, [], {})),
    *(({"requires_memory": bad}, "$.requires_memory") for bad in ("true", 1, 0, [], {})),
    *(({"intent": bad}, "$.intent") for bad in ("", "Ambient", "ambient ", "x", 1, [], {}, True)),
    *(({name: bad}, f"$.{name}")
      for name in ("plan_id", "subject_hint", "predicate_hint", "source_transcript_hash")
      for bad in (1, True, [], {}, ["x"])),
    *(({name: bad}, f"$.{name}")
      for name in ("topics", "predicates", "lexical_queries", "scopes", "kind_filter", "warnings",
                   "entities")
      for bad in ("x", 1, True, {})),
    *(({name: ["identity", bad]}, f"$.{name}[1]")
      for name in ("topics", "predicates", "lexical_queries", "scopes", "kind_filter", "warnings")
      for bad in (1, None, True, [], ["identity"], {})),
    *(({name: ["identity", bad]}, f"$.{name}[1]")
      for name in ("scopes", "kind_filter") for bad in ("", "Identity", "identity ", "profile")),
    *(({"entities": [{"surface": "x"}, bad]}, "$.entities[1]") for bad in ("x", 1, None, [], True)),
    *(({"entities": [{"surface": "x"}, bad]}, "$.entities[1].surface")
      for bad in ({}, {"surface": None}, {"surface": 1}, {"canonical": "x"}, {"surface": []})),
    ({"entities": [{"surface": "x", "canonical": 1}]}, "$.entities[0].canonical"),
    *(({"temporal": bad}, "$.temporal") for bad in ("yesterday", 1, [], True)),
    *(({"temporal": {name: bad}}, f"$.temporal.{name}")
      for name in ("after", "before")
      for bad in ("", "yesterday", "now", "infinity", "2026-01-31", "2026-01-31T09:00:00",
                  "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-31T25:00:00Z",
                  "31.01.2026 09:00:00Z", "2026-01-31T09:00:00 Europe/Berlin",
                  "2026-01-31T09:00:00Z BC", "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01",
                  "0001-01-01T00:00:00+01", "0000-01-01T00:00:00Z", 1769850000, True, [], {})),
    ({"temporal": {"label": 1}}, "$.temporal.label"),
    ({"temporal": {"after": "2026-01-02T00:00:00Z", "before": "2026-01-01T00:00:00Z"}},
     "$.temporal.before"),
    ({"temporal": {"after": "2026-01-01T01:00:00+01", "before": "2026-01-01T00:00:00Z"}},
     "$.temporal.before"),
]  # fmt: skip
LARGE: list[tuple[dict[str, Any], str]] = [
    *(({name: "x" * 257}, f"$.{name}")
      for name in ("plan_id", "subject_hint", "predicate_hint", "source_transcript_hash")),
    ({"entities": [{"surface": "é" * 257}]}, "$.entities[0].surface"),
    ({"entities": [{"surface": "x", "canonical": "y" * 257}]}, "$.entities[0].canonical"),
    ({"predicates": ["x", "y" * 257]}, "$.predicates[1]"),
    ({"temporal": {"label": "x" * 257}}, "$.temporal.label"),
    ({"topics": ["x" * 100_001]}, "$.topics[0]"),
    ({"lexical_queries": ["x", "x" * 100_001]}, "$.lexical_queries[1]"),
    *(({name: ["project"] * 10_001}, f"$.{name}")
      for name in ("topics", "predicates", "lexical_queries", "scopes", "kind_filter", "warnings")),
    ({"entities": [{"surface": "x"}] * 10_001}, "$.entities"),
    ({"colour": "x" * 1_048_577}, "$"),
]  # fmt: skip


def test_what_is_wrong_is_refused_with_its_path(db: psycopg.Connection) -> None:
    """And every label that there is, where one is unknown."""
    for fields, path in WRONG:
        with refused("22023", "p_plan") as refusal:
            value(db, "normalize_retrieval_plan", plan=BASE | fields)
        assert refusal.detail is not None
        assert refusal.detail["path"] == path, fields
        assert path in refusal.message
        if path == "$.intent" and isinstance(fields["intent"], str):
            assert ", ".join(INTENTS) in refusal.message
        if path in ("$.scopes[1]", "$.kind_filter[1]") and "profile" in str(fields):
            assert ", ".join(KINDS) in refusal.message
    for given in (None, "null", "[]", "1", '"x"', "true"):
        with refused("22023", "p_plan") as refusal:
            scalar(db, "SELECT mnemo.normalize_retrieval_plan(%s::jsonb)", given)
        assert refusal.detail == {"parameter": "p_plan", "path": "$"}
    with refused("22023", "p_plan") as refusal:
        scalar(db, "SELECT mnemo.normalize_retrieval_plan('{}')")
    assert "$.turn_id" in refusal.message
    for whole in ("1.0", "1e0", "1000e-3", "-0.0"):
        text = f'{{"turn_id": {whole}, "generation": 9223372036854775807.000}}'
        plan = scalar(db, "SELECT mnemo.normalize_retrieval_plan(%s::jsonb)::text", text)
        assert f'"turn_id": {int(float(whole))},' in plan
        assert f'"generation": {MOST},' in plan


def test_what_is_too_large_is_refused_with_its_path(db: psycopg.Connection) -> None:
    for fields, path in LARGE:
        with refused("54000", "p_plan") as refusal:
            value(db, "normalize_retrieval_plan", plan=BASE | fields)
        assert refusal.detail is not None
        assert refusal.detail["path"] == path
    # A wrong type comes first.
    with refused("22023", "p_plan"):
        value(db, "normalize_retrieval_plan", plan=BASE | LARGE[0][0] | {"warnings": 1})
    # The largest that is allowed.
    kept = normal(
        db, plan_id="x" * 256, topics=["x" * 100_000, "y"], predicates=["z" * 256] * 3_000,
        entities=[{"surface": "é" * 256, "canonical": "c" * 256}],
    )  # fmt: skip
    assert [len(topic) for topic in kept["topics"]] == [100_000, 1]


class Random:
    """Random plans, right ones and hostile ones."""

    WORDS = ("food", "Food", "FOOD", "quiet", "Quiet restaurant", "rhea", "Rhéa", "Rhe\u0301a",
             "ÉCLAIR", "éclair", "東京", "a\u0316\u0301", "\u0301", "🚀", "'; DROP", "\\", '"', "|",
             "NaN", "null", "ΑΒΓ", "αβγ", "x" * 300)  # fmt: skip
    BLANKS = ("", " ", "\t", "\u00a0", "\u3000", "\n\u2003")

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)

    def text(self) -> str:
        words = self.source.choices((*self.WORDS, *self.BLANKS), k=self.source.randrange(4))
        return self.source.choice((" ", "", "\u3000")).join(words)

    def short(self) -> str:
        return self.text()[:200]

    def many(self, make: Any, most: int) -> list[Any]:
        return [make() for _ in range(self.source.choice((0, 0, 1, 1, 2, 3, most)))]

    def kind(self) -> str:
        return self.source.choice(KINDS)

    def entity(self) -> dict[str, Any]:
        found: dict[str, Any] = {"surface": self.short()}
        if self.source.random() < 0.6:
            found["canonical"] = self.source.choice((None, self.short()))
        return found

    def time(self) -> str:
        moment = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(
            seconds=self.source.randrange(2_000_000_000),
            microseconds=self.source.choice((0, self.source.randrange(1_000_000))),
        )
        return moment.isoformat()

    def window(self) -> dict[str, Any]:
        after, before = sorted((self.time(), self.time()))
        full = {"after": after, "before": before, "label": self.short()}
        return {name: each for name, each in full.items() if self.source.random() < 0.7}

    def right(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "plan_id": self.short(),
            "requires_memory": self.source.random() < 0.5,
            "confidence": self.source.choice((0, 1, 1.5, -2, self.source.random())),
            "intent": self.source.choice(INTENTS),
            "entities": self.many(self.entity, 40),
            "topics": self.many(self.text, 60),
            "predicates": self.many(self.short, 20),
            "lexical_queries": self.many(lambda: " ".join(self.many(self.text, 30)), 6),
            "scopes": self.many(self.kind, 20),
            "kind_filter": self.many(self.kind, 20),
            "subject_hint": self.short(),
            "predicate_hint": self.short(),
            "temporal": self.window(),
            "source_transcript_hash": self.short(),
        }
        chosen = {
            name: each if self.source.random() < 0.95 else None
            for name, each in fields.items() if self.source.random() < 0.7
        }  # fmt: skip
        return chosen | {
            "turn_id": self.source.choice((0, 1, 1.0, MOST, self.source.randrange(MOST))),
            "generation": self.source.randrange(5),
        }

    def hostile(self, plan: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """A plan with something in it that is wrong, or unknown; whether it is wrong."""
        if self.source.random() < 0.5:
            names = {self.text() or "x": self.source.choice((1, None, "x", [])) for _ in range(3)}
            return plan | names, False
        fields, _ = self.source.choice(WRONG)
        return plan | fields, True


def test_ten_thousand_random_plans(db: psycopg.Connection) -> None:
    """Normal forms are those of the description, a second pass changes nothing, and whatever is
    wrong is found, by the quick look and by the long one."""
    made = Random(2026)
    plans: list[dict[str, Any]] = [made.right() for _ in range(6_000)]
    both = [made.hostile(made.right()) for _ in range(3_990)]
    vast = [
        made.right() | {"topics": [f"{made.text()} {n}" for n in range(10_000)]} for _ in range(3)
    ]
    vast += [made.right() | {"entities": [made.entity() for _ in range(5_000)]} for _ in range(3)]
    vast += [made.right() | {"topics": ["Same"] * 10_000, "scopes": ["project"] * 10_000}
             for _ in range(4)]  # fmt: skip
    whole = [(plan, False) for plan in (*plans, *vast)] + both
    assert len(whole) == 10_000
    db.execute("CREATE TEMP TABLE given (number integer, plan jsonb, wrong boolean)")
    with db.cursor().copy("COPY given FROM STDIN") as copy:
        for number, (plan, wrong) in enumerate(whole):
            copy.write_row((number, Jsonb(plan), wrong))
    db.execute("""
        CREATE TEMP TABLE passed AS
        SELECT g.number, g.plan, g.wrong, mnemo.normalize_retrieval_plan(g.plan) AS once
          FROM given AS g WHERE NOT g.wrong
    """)
    assert scalar(
        db, "SELECT count(*) FROM passed WHERE mnemo.normalize_retrieval_plan(once) <> once"
    ) == 0  # fmt: skip
    # Nothing that is wrong passes for plain, and nothing that is right is found to be wrong.
    assert scalar(db, """
        SELECT count(*)
          FROM given AS g
          CROSS JOIN LATERAL (SELECT mnemo._retrieval_fields() || jsonb_strip_nulls(g.plan) AS all)
            AS f
         WHERE g.wrong AND (mnemo._plan_is_plain(f.all)
               OR (mnemo._retrieval_problem(f.all)).code IS DISTINCT FROM '22023')
            OR NOT g.wrong AND g.number % 20 = 0
               AND (mnemo._retrieval_problem(f.all)).code IS NOT NULL
    """) == 0  # fmt: skip
    for number, once in db.execute("SELECT number, once FROM passed").fetchall():
        expected = oracle.normal(whole[number][0])
        assert {name: each for name, each in once.items() if name != "warnings"} == expected


def changed(source: random.Random, plan: dict[str, Any]) -> dict[str, Any]:
    """A plan in normal form with something in it that may not be."""
    name = source.choice([*plan, "unknown"])
    given = plan.get(name)
    if isinstance(given, list):
        first = given[:1]
        if first and isinstance(first[0], str):
            first = [first[0].upper()]
        other = source.choice((
            "", " ", "a ", " b", "a  b", "a b", "A", "a", "[", "]", ", ", "x_", "_y", "a__b", "é",
            "a-b", "identity", "project", {"surface": "a", "canonical": "b"},
            {"surface": "A", "canonical": "B"}, {"surface": "a"},
            {"surface": " ", "canonical": None}, {"surface": "}, {", "canonical": None}, 1, None,
        ))  # fmt: skip
        new: Any = source.choice(([*given, *first], [*given, other], [other], given[1:]))
    elif isinstance(given, str):
        new = source.choice((f"{given} ", f" {given}", "", given.upper(), "a  b", "A-b", 1, None))
    elif isinstance(given, dict):
        changes: tuple[dict[str, Any], ...] = (
            {"label": " x"}, {"x": 1}, {"after": None}, {"before": "1900-01-01T00:00:00Z"},
        )  # fmt: skip
        new = source.choice((*(given | change for change in changes), {"label": "x"}))
    else:
        new = source.choice((1.0, 0.0, -1, 0.5, 1e-5, 1 / 3, True, False, "x", [], {}, None))
    return plan | {name: new}


def test_what_is_taken_for_normal_is(db: psycopg.Connection) -> None:
    """A plan that is passed on at a glance is what the long way would have made of it."""
    made, source = Random(11), random.Random(11)
    made.WORDS = ("food", "quiet", "x y", "[", "}, {", "]", '"', "b", "a", "A", ",", "cd", "e")
    made.BLANKS = (" ", "")
    db.execute("CREATE TEMP TABLE maybe (plan jsonb)")
    with db.cursor().copy("COPY maybe FROM STDIN") as copy:
        for _ in range(500):
            copy.write_row((Jsonb(made.right()),))
    normal_ones = [
        plan for (plan,) in db.execute("SELECT mnemo._normal_plan(plan) FROM maybe").fetchall()
    ]
    with db.cursor().copy("COPY maybe FROM STDIN") as copy:
        for plan in normal_ones:
            copy.write_row((Jsonb(plan),))
        for _ in range(10_000):
            copy.write_row((Jsonb(changed(source, source.choice(normal_ones))),))
    seen, wrong = db.execute("""
        SELECT count(*), count(*) FILTER (WHERE mnemo._normal_plan(plan)::text <> plan::text)
          FROM maybe WHERE mnemo._is_normal_plan(plan)
    """).fetchall()[0]
    assert wrong == 0
    assert seen > 300


def test_cache_keys(db: psycopg.Connection) -> None:
    def key(**fields: Any) -> str:
        return value(db, "retrieval_plan_cache_key", plan=BASE | fields)

    two = ["quiet restaurant", "wife preference"]
    assert key(lexical_queries=two) == "faf4a6ad8eedf0e4"
    assert key(lexical_queries=two[::-1]) == "faf4a6ad8eedf0e4"
    assert key(lexical_queries=["loud restaurant"]) == "da2d217987e9bc78"
    rhea = {"surface": "Rhea", "canonical": "rhea"}
    assert key(
        lexical_queries=["rhea restaurant"], entities=[rhea], scopes=["relationship"]
    ) == "df4a34656a56ec71"  # fmt: skip
    labels = ("profile", "preferences", "preferences", "relationships", "relationships", "routines",
              "commitments", "projects", "episodes", "communication", "staged")  # fmt: skip
    for kind, label in zip(KINDS, labels, strict=True):
        assert key(scopes=[kind]) == oracle.stable_hash(label)
    # Sorted by bytes, whatever the collation says.
    assert key(lexical_queries=["é", "y", "Z"]) == oracle.stable_hash("Z|y|é")
    assert key() == oracle.NO_TEXT
    assert key(kind_filter=["project"], subject_hint="x", topics=["y"]) == oracle.NO_TEXT
    with refused("22023", "p_plan"):
        key(topics=1)


def test_a_result_key_covers_what_changes_the_result(db: psycopg.Connection) -> None:
    """Two plans that a cache key cannot tell apart have different ones, and so has who asks."""
    given: dict[str, Any] = {
        "plan": BASE | {"lexical_queries": ["x", "y"], "intent": "ambient"}, "limit": 5,
    }  # fmt: skip

    def key(changes: dict[str, Any] | None = None, **arguments: Any) -> str:
        plan = given["plan"] | (changes or {})
        return value(db, "retrieval_plan_result_key", **(given | {"plan": plan} | arguments))

    first = key()
    assert len(first) == 64
    assert first == key(agent_id="default", org_id="default", temporal="prefer")
    # What only says where a plan came from.
    for same in ({"turn_id": 9}, {"generation": 9}, {"plan_id": "z"}, {"confidence": 0.1},
                 {"source_transcript_hash": "z"}, {"warnings": ["z"]}, {"unknown": 1},
                 {"lexical_queries": ["x ", "y", "X"]}):  # fmt: skip
        assert key(same) == first
    different = [
        key(change) for change in (
            {"lexical_queries": ["x"]}, {"entities": [{"surface": "x"}]},
            {"entities": [{"surface": "x", "canonical": "x"}]}, {"topics": ["x"]},
            {"predicates": ["x"]}, {"scopes": ["project"]}, {"kind_filter": ["project"]},
            {"subject_hint": "x"}, {"predicate_hint": "x"}, {"intent": "explicit_recall"},
            {"requires_memory": False}, {"temporal": {"after": "2026-01-01T00:00:00Z"}},
            {"temporal": {"before": "2026-01-01T00:00:00Z"}},
        )
    ] + [key(limit=6), key(agent_id="ana"), key(org_id="acme"), key(temporal="filter")]  # fmt: skip
    assert len({first, *different}) == 1 + len(different)
    for arguments, parameter in (
        ({"limit": 0}, "p_limit"), ({"limit": None}, "p_limit"), ({"limit": 1001}, "p_limit"),
        ({"temporal": "x"}, "p_temporal"), ({"temporal": None}, "p_temporal"),
        ({"agent_id": "a b"}, "p_agent_id"), ({"org_id": "*"}, "p_org_id"),
    ):  # fmt: skip
        with refused("22023", parameter):
            key(**arguments)
    with refused("55000", "p_embedding"):
        key(embedding="[1]")
    with refused("22023", "p_plan"):
        key({"topics": 1})


def test_a_tenant_has_the_keys_of_its_binding(server: Server, module_dsn: str) -> None:
    """The organisation and agent that it is bound to, and no other's; no level, no key."""
    plan = BASE | {"lexical_queries": ["x"]}
    with psycopg.connect(module_dsn, autocommit=True) as conn:
        for name in ("key_tenant", "key_nobody"):
            conn.execute(f"CREATE ROLE {name}")  # type: ignore[arg-type]
        conn.execute("SELECT mnemo.grant_access('key_tenant', 'tenant')")
        conn.execute("SELECT mnemo.bind_role('key_tenant', 'acme', 'ana')")
        bound = value(conn, "retrieval_plan_result_key", plan=plan, limit=5, agent_id="ana",
                      org_id="acme")  # fmt: skip
        conn.execute("SET ROLE key_tenant")
        assert value(conn, "retrieval_plan_result_key", plan=plan, limit=5) == bound
        for who in ({"agent_id": "ben"}, {"org_id": "other"}):
            with refused("42501"):
                row(conn, "retrieval_plan_result_key", plan=plan, limit=0, **who)
        conn.execute("SET ROLE key_nobody")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            row(conn, "retrieval_plan_result_key", plan=plan, limit=5)
        conn.execute("RESET ROLE")
        for name in ("key_tenant", "key_nobody"):
            conn.execute(f"DROP OWNED BY {name}")  # type: ignore[arg-type]
            conn.execute(f"DROP ROLE {name}")  # type: ignore[arg-type]


def test_a_hostile_plan_takes_bounded_time(db: psycopg.Connection) -> None:
    """The whole of a plan is looked at once: four times as much takes about four times as long."""

    def cost(count: int) -> float:
        topics = [f"\u0301e\u0316 {n}" for n in range(count)]
        entities = [{"surface": "É", "canonical": "X"}] * count
        begin = scalar(db, "SELECT clock_timestamp()")
        normal(db, topics=topics, entities=entities, predicates=["P"] * count)
        return (scalar(db, "SELECT clock_timestamp()") - begin).total_seconds()

    cost(100)
    assert min(cost(8_000) for _ in range(3)) < 12 * min(cost(2_000) for _ in range(3))
