"""What goes out: conversions, and refusals before anything is sent. No database needed."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import pickle
import types
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from mnemo_pg import (
    ArgumentError,
    BatchResult,
    NewPlan,
    OnError,
    PlanMatch,
    PlanStatus,
    Scope,
    statements,
)

ID = "0197c2f0-0000-7000-8000-000000000001"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAN = math.nan


class Colour(str, enum.Enum):  # noqa: UP042
    """A str-mixin enum, whose str() is not its value."""

    RED = "red"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("query", "caf\u00e9 \U0001f680", "caf\u00e9 \U0001f680"),
        ("query", "", ""),
        ("scope", Scope.PUBLIC, "public"),
        ("scope", "nonsense", "nonsense"),
        ("content", Colour.RED, "red"),
        ("tags", ("a", Scope.PUBLIC), ["a", "public"]),
        ("tags", [], []),
        ("steps", (word for word in ["a", "b"]), ["a", "b"]),
        ("steps", ["a", None], ["a", None]),
        ("id", ID, UUID(ID)),
        ("ids", [ID, UUID(ID), None], [UUID(ID), UUID(ID), None]),
        ("importance", 1, 1.0),
        ("outcome_score", math.inf, math.inf),
        ("limit", 2**63 - 1, 2**63 - 1),
        ("limit", -1, -1),
        ("tags_all", False, False),
        ("since", NOW, NOW),
        ("ttl", timedelta(days=1), "PT86400.000000S"),
        ("ttl", timedelta(microseconds=-1), "PT-0.000001S"),
        ("ttl", timedelta(days=-1, milliseconds=500), "PT-86399.500000S"),
        ("ttl", timedelta(days=365_000, microseconds=1), "PT31536000000.000001S"),
        ("embedding", [0.1, 1, 1e-7, NAN], "[0.1,1.0,1e-07,nan]"),
        ("embedding", (), "[]"),
    ],
)
def test_conversions(name: str, given: Any, sent: Any) -> None:
    result = statements.CONVERTERS[name](name, given)
    assert result == sent
    assert type(result) is type(sent)


def test_nan_is_left_to_the_database() -> None:
    params = statements.recall_plan("q", similarity_threshold=NAN).params
    assert math.isnan(params["p_similarity_threshold"])


@pytest.mark.parametrize(
    ("name", "given", "parameter", "says"),
    [
        ("query", "a\0b", "query", "U+0000"),
        ("query", "a\ud800b", "query", "U+D800"),
        ("scope", "\0", "scope", "U+0000"),
        ("steps", ["a", "b", "c", "d\0"], "steps[3]", "U+0000"),
        ("tags", ["\udfff"], "tags[0]", "U+DFFF"),
        ("metadata", {"a": {"b": [1, 2, "\0"]}}, "metadata.a.b[2]", "U+0000"),
        ("metadata", {"a": "\ud900"}, "metadata.a", "U+D900"),
        ("metadata", {"a": {"k\0": 1}}, "metadata.a.'k\\x00'", "U+0000"),
        ("metadata", {"a": [NAN]}, "metadata.a[0]", "nan"),
        ("metadata", {"a": -math.inf}, "metadata.a", "-inf"),
        ("metadata", {"deep": nested(100_000)}, "metadata", "nested"),
        ("metadata", {"a": -(10**4300)}, "metadata.a", "digits"),
        ("details", [{"x": math.inf}], "details[0].x", "inf"),
        ("id", "not-an-id", "id", "not a UUID"),
        ("id", "", "id", "not a UUID"),
        ("ids", [ID, "x" * 1000], "ids[1]", "not a UUID"),
        ("limit", 2**63, "limit", "bigint"),
        ("limit", -(2**63) - 1, "limit", "bigint"),
        ("importance", 10**400, "importance", "double precision"),
        ("embedding", [0, 10**400], "embedding[1]", "double precision"),
        ("since", datetime(2026, 3, 1), "since", "no time zone"),
        ("ttl", timedelta.max, "ttl", "too long"),
        ("ttl", timedelta.min, "ttl", "too long"),
    ],
)
def test_refused_values(name: str, given: Any, parameter: str, says: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        statements.CONVERTERS[name](name, given)
    error = caught.value
    assert error.parameter == parameter
    assert error.sqlstate == "22023"
    assert error.hint
    assert str(error).startswith(parameter)
    assert says in str(error)
    str(error).encode()  # an error message must be printable


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("query", 1, "query must be a str, not int"),
        ("query", b"a", "query must be a str, not bytes"),
        ("steps", "abc", "steps must be a list of str, not str"),
        ("steps", b"abc", "steps must be a list of str, not bytes"),
        ("steps", {"a": 1}, "steps must be a list of str, not dict"),
        ("steps", 1, "steps must be a list of str, not int"),
        ("steps", ["a", 1], r"steps\[1\] must be a str, not int"),
        ("ids", ID, "ids must be a list of UUID, not str"),
        ("id", 1, "id must be a UUID or a str, not int"),
        ("importance", True, "importance must be a number, not bool"),
        ("importance", "0.5", "importance must be a number, not str"),
        ("limit", True, "limit must be an int, not bool"),
        ("limit", 10.0, "limit must be an int, not float"),
        ("tags_all", 1, "tags_all must be a bool, not int"),
        ("since", date(2026, 3, 1), "since must be a datetime, not date"),
        ("since", "2026-03-01", "since must be a datetime, not str"),
        ("ttl", 3600, "ttl must be a timedelta, not int"),
        ("embedding", [True], r"embedding\[0\] must be a number, not bool"),
        ("embedding", "[1]", "embedding must be a list of numbers, not str"),
        ("metadata", [1], "metadata must be a mapping, not list"),
        ("metadata", {"a": NOW}, "metadata.a must be JSON"),
        ("metadata", {1: "a"}, r"metadata\.1 must be a str, not int"),
        ("metadata", {"a": {1, 2}}, "metadata.a must be JSON"),
        ("details", "abc", "details must be a list of JSON values, not str"),
        ("details", {"a": 1}, "details must be a list of JSON values, not dict"),
    ],
)
def test_refused_types(name: str, given: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        statements.CONVERTERS[name](name, given)


def test_the_longest_number_in_json() -> None:
    sent = statements.CONVERTERS["metadata"]("metadata", {"a": 2**14_000 - 1})
    assert len(sent.dumps(sent.obj)) > 4_000


def test_json_is_copied_and_written_plainly() -> None:
    metadata = {"a": types.MappingProxyType({"b": ("\u00e9", Scope.PUBLIC, 1, 0.5, True, None)})}
    sent = statements.remember("x", metadata=metadata).params["p_metadata"]
    assert isinstance(sent, Jsonb)
    assert sent.obj == {"a": {"b": ["\u00e9", "public", 1, 0.5, True, None]}}
    assert sent.dumps is not None
    assert sent.dumps(sent.obj) == '{"a": {"b": ["\u00e9", "public", 1, 0.5, true, null]}}'


def test_none_is_null_everywhere() -> None:
    params = statements.remember("x").params
    assert {name for name, value in params.items() if value is not None} == {"p_content"}


def batch(*plans: Any, **options: Any) -> Any:
    return statements.remember_plans(plans, **options).params["p_plans"].obj


def test_batch_elements() -> None:
    plan = NewPlan(
        query="q",
        steps=("a",),
        chunk_ids=[],
        outcome_score=1,
        scope=Scope.PUBLIC,
        ttl=timedelta(hours=1),
        embedding=[1, 2],
        details=[{"k": (1,)}],
    )
    expected = {
        "query": "q",
        "steps": ["a"],
        "chunk_ids": [],
        "outcome_score": 1.0,
        "scope": "public",
        "ttl": "PT3600.000000S",
        "embedding": "[1.0,2.0]",
        "details": [{"k": [1]}],
    }
    assert batch(plan) == [expected]
    given = {key: value for key, value in dataclasses.asdict(plan).items() if value is not None}
    assert batch(given) == [expected]
    # Lines of a JSON file: text forms go through, and unknown keys are the database's to judge.
    line = {"query": "q", "ttl": "1 day", "embedding": "[1]", "outcome_score": "x", "colour": [1]}
    assert batch(line) == [line]
    assert json.loads(json.dumps(batch(plan, line))) == [expected, line]


def test_batch_identity() -> None:
    who = {"agent_id": "a", "org_id": "o"}
    assert batch({"query": "q"}, {"agent_id": "b", "org_id": None}, **who) == [
        {"query": "q", **who},
        {"agent_id": "b", "org_id": "o"},
    ]


BAD_PLANS = [
    ({"query": "a\0"}, ArgumentError, "plans[1].query contains U+0000"),
    ({"steps": ["a", "\0"]}, ArgumentError, "plans[1].steps[1] contains U+0000"),
    ({"details": [{"a": "\0"}]}, ArgumentError, "plans[1].details[0].a contains U+0000"),
    ({"outcome_score": NAN}, ArgumentError, "plans[1].outcome_score is nan"),
    ({"colour": "\ud800"}, ArgumentError, "plans[1].colour contains U+D800"),
    ({"col\0": 1}, ArgumentError, "plans[1].'col\\x00' contains U+0000"),
    ({"ttl": timedelta.max}, ArgumentError, "plans[1].ttl is too long"),
    ({"steps": "abc"}, TypeError, "plans[1].steps must be a list of str, not str"),
    ({"outcome_score": True}, TypeError, "plans[1].outcome_score must be a number, not bool"),
    ({"details": {"a": 1}}, TypeError, "plans[1].details must be a list of JSON values"),
    ("a plan", TypeError, "plans[1] must be a mapping or a NewPlan, not str"),
    (None, TypeError, "plans[1] must be a mapping or a NewPlan, not NoneType"),
]


@pytest.mark.parametrize(("bad", "kind", "says"), BAD_PLANS)
def test_batch_refuses_or_skips(bad: Any, kind: type[Exception], says: str) -> None:
    good = {"query": "q"}
    with pytest.raises(kind) as caught:
        batch(good, bad)
    assert str(caught.value).startswith(says)
    statement = statements.remember_plans([good, bad], on_error=OnError.SKIP)
    assert statement.params["p_plans"].obj == [good, None]
    # The database finds the null; the answer says what was there in its place.
    row: dict[str, Any] = {
        "position": 1,
        "id": UUID(ID),
        "stored": True,
        "status": "stored",
        "error": None,
    }
    null = {**row, "position": 2, "id": None, "stored": False, "status": "failed", "error": "?"}
    stored, failed = statement.shape([row, null])
    assert stored == BatchResult(**row)
    assert failed.status is PlanStatus.FAILED
    assert failed.error is not None
    assert failed.error.startswith(f"22023: {says}")


MATCH = {field.name: None for field in dataclasses.fields(PlanMatch) if field.name != "rank"}


def test_answers_have_their_types() -> None:
    zone = timezone(timedelta(hours=2))
    hit = {
        **MATCH,
        "hit": True,
        "steps": ["a"],
        "chunk_ids": [],
        "scope": "public",
        "created_at": NOW.astimezone(zone),
        "reason": "similar",
    }
    match = statements.recall_plan("q").shape([hit])
    assert match
    assert (match.steps, match.chunk_ids) == (("a",), ())
    assert match.scope is Scope.PUBLIC
    assert match.created_at == NOW
    assert match.created_at.tzinfo is UTC
    assert hit["steps"] == ["a"]  # the rows are not changed
    with pytest.raises(dataclasses.FrozenInstanceError):
        match.hit = False  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(match)) == match


def test_a_miss_is_false_and_empty() -> None:
    miss = statements.recall_plan("q").shape([{**MATCH, "hit": False, "reason": "disabled"}])
    assert not miss
    assert (miss.id, miss.scope, miss.steps, miss.chunk_ids) == (None, None, (), ())


def test_an_unknown_label_stays_text() -> None:
    row = {**MATCH, "hit": False, "scope": "galactic", "reason": "new_reason"}
    match = statements.recall_plan("q").shape([row])
    assert (match.scope, match.reason) == ("galactic", "new_reason")
    assert type(match.reason) is str
