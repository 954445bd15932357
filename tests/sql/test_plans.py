"""Plans around their recall: what is written, how they are listed, and the settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.reuse import emptied

PLAN = {
    "query": "alpha bravo charlie delta",
    "steps": ["look", "leap"],
    "chunk_ids": ["c1"],
    "outcome_score": 0.75,
}
# Three of five tokens in common with PLAN.
NEARLY = "alpha bravo charlie echo"


@pytest.fixture
def dsn(module_dsn: str) -> str:
    """The same database for every test, emptied by `db`."""
    return module_dsn


@pytest.fixture
def db(dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database."""
    with emptied(dsn) as conn:
        # One plan for all tests, stored as often as they ask.
        conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
        yield conn


def remember(db: psycopg.Connection, **arguments: Any) -> dict[str, Any]:
    """The answer of remember_plan for PLAN with changes."""
    return row(db, "remember_plan", **{**PLAN, **arguments})


def stored(db: psycopg.Connection, **arguments: Any) -> UUID:
    """The id of a plan that must be stored."""
    answer = remember(db, **arguments)
    assert answer["status"] == "stored"
    found = answer["id"]
    assert isinstance(found, UUID)
    return found


def batch(db: psycopg.Connection, *plans: Any, **arguments: Any) -> list[dict[str, Any]]:
    """The answers of remember_plans."""
    return rows(db, "remember_plans", plans=json.dumps(plans), **arguments)


# What is written.


@pytest.mark.parametrize(
    ("score", "kept"),
    [
        (0.5, 0.5), (0.75, 0.75), (1, 1.0), (1.5, 1.0), (math.inf, 1.0), (0.1 + 0.7, 0.1 + 0.7),
        (math.nextafter(0.5, 0), None), (0, None), (-1, None), (-math.inf, None), (math.nan, None),
    ],
)  # fmt: skip
def test_the_outcome_gate(db: psycopg.Connection, score: float, kept: float | None) -> None:
    """From the success threshold on a plan is kept, above 1 as 1, never NaN; all digits stay."""
    answer = remember(db, outcome_score=score)
    assert answer["signature"] == "alpha bravo charlie delta"
    assert answer["stored"] is (kept is not None)
    assert answer["status"] == ("below_threshold" if kept is None else "stored")
    assert (answer["id"] is None) is (kept is None)
    assert row(db, "recall_plan", query=PLAN["query"])["outcome_score"] == kept
    written = db.execute("SELECT importance FROM mnemo.memory").fetchall()
    assert written == ([] if kept is None else [(kept,)])


def test_the_payload_is_what_was_given(db: psycopg.Connection) -> None:
    """The record of a plan: payload, tags, type, source, content, owner, end."""
    given = {
        "query": "Ünïcode \"quotes\" \\ and 'more'\nlines",
        "steps": ["", "first", "first", "{curly,braces}", "NULL", "null", "tab\there", "日本"],
        "chunk_ids": ["a", "a", " b ", "ID#7/ü"],
        "outcome_score": 0.875,
        "details": [None, 1, "x", [1, {"a": None}], {"tool": "sh", "n": 1.50}, True, [], {}],
        "context": "toolset:v2",
        "tags": ["t1", "t2", "t1"],
        "thread_id": "thread-9",
        "source_id": "run 7",
        "ttl": timedelta(days=2),
        "agent_id": "ana",
        "org_id": "acme",
        "scope": "public",
    }
    answer = row(db, "remember_plan", **{**given, "details": Jsonb(given["details"])})
    tokens = value(db, "signature_tokens", query=given["query"])
    assert answer["signature"] == " ".join(tokens)
    (record,) = rows(db, "get_memories", ids=[answer["id"]], agent_id="ana", org_id="acme")
    assert isinstance(record["metadata"]["experience_plan"].pop("read_at"), int)
    assert record["metadata"] == {
        "experience_plan": {
            "query": given["query"],
            "signature_tokens": tokens,
            "steps": given["steps"],
            "details": given["details"],
            "chunk_ids": given["chunk_ids"],
            "outcome_score": 0.875,
            "context": "toolset:v2",
        }
    }
    assert record["content"] == given["query"]
    assert record["tags"] == ["__experience_plan__", "t1", "t2"]
    assert (record["memory_type"], record["source_type"]) == ("procedural", "system")
    assert record["importance"] == 0.875
    assert (record["thread_id"], record["source_id"]) == ("thread-9", "run 7")
    assert (record["owner_agent_id"], record["org_id"], record["scope"]) == (
        "ana",
        "acme",
        "public",
    )
    assert record["expires_at"] - record["created_at"] == timedelta(days=2)

    recalled = row(
        db, "recall_plan", query=given["query"], agent_id="ben", org_id="acme",
        context="toolset:v2",
    )  # fmt: skip
    for name in ("query", "steps", "chunk_ids", "outcome_score", "details"):
        assert recalled[name] == given[name]


@pytest.mark.parametrize(
    "details", [None, [None, None], [{"tool": "x"}, 2], ["only text", ["nested", [1]]]]
)
def test_details_travel_with_the_steps(db: psycopg.Connection, details: Any) -> None:
    """One JSON value a step comes back from every function that returns a plan."""
    plan = stored(db, details=None if details is None else Jsonb(details))
    assert row(db, "recall_plan", query=PLAN["query"])["details"] == details
    assert row(db, "recall_plans", query=PLAN["query"])["details"] == details
    assert row(db, "get_plan", id=plan)["details"] == details
    assert row(db, "list_plans")["details"] == details
    assert scalar(db, "SELECT details FROM mnemo.plan") == details


def test_empty_lists_are_kept_as_empty_lists(db: psycopg.Connection) -> None:
    """A plan without steps and chunks has none, and not NULL."""
    stored(db, steps=[], chunk_ids=[], details=Jsonb([]))
    answer = row(db, "recall_plan", query=PLAN["query"])
    assert (answer["steps"], answer["chunk_ids"], answer["details"]) == ([], [], [])


def test_scope_is_private_unless_named(db: psycopg.Connection) -> None:
    """NULL means private, in a single call and in a batch."""
    plans = [stored(db, scope=None), stored(db)]
    plans += [answer["id"] for answer in batch(db, PLAN, {**PLAN, "scope": None})]
    assert [row(db, "get_plan", id=plan)["scope"] for plan in plans] == ["private"] * 4


def test_every_stored_plan_has_its_event(db: psycopg.Connection) -> None:
    """plan_write, committing to the record's hash, in the same transaction."""
    stored(db, agent_id="ana")
    batch(db, PLAN, {**PLAN, "scope": "global"}, {**PLAN, "outcome_score": 0})
    found = db.execute(
        "SELECT count(*), bool_and(e.event_type = 'plan_write' AND e.content_hash = m.content_hash)"
        "  FROM mnemo.event AS e"
        "  JOIN mnemo.memory AS m ON m.org_id = e.memory_org_id AND m.id = e.memory_id"
    ).fetchone()
    assert found == (3, True)


def test_a_plan_of_an_open_transaction_is_its_own(db: psycopg.Connection, dsn: str) -> None:
    """Recalled inside it at once, outside after the commit, never after a rollback."""
    with psycopg.connect(dsn) as writer:
        plan = stored(writer)
        assert row(writer, "recall_plan", query=PLAN["query"])["id"] == plan
        assert row(writer, "recall_plan", query=NEARLY, similarity_threshold=0.6)["id"] == plan
        assert row(db, "recall_plan", query=PLAN["query"])["id"] is None
        writer.commit()
        assert row(db, "recall_plan", query=PLAN["query"])["id"] == plan
        lost = stored(writer, outcome_score=1)
        writer.rollback()
    assert row(db, "recall_plan", query=PLAN["query"])["id"] == plan != lost


# Idempotency keys.


def test_a_key_again_gives_the_first_answer(db: psycopg.Connection) -> None:
    """Same id, signature of the first query, status repeated, nothing written."""
    first = remember(db, idempotency_key="k1")
    before = contents(db)
    again = remember(db, query="other words", steps=["other"], idempotency_key="k1")
    assert again == {**first, "status": "repeated"}
    (in_batch,) = batch(db, {**PLAN, "idempotency_key": "k1"})
    assert (in_batch["id"], in_batch["stored"], in_batch["status"]) == (
        first["id"], True, "repeated",
    )  # fmt: skip
    assert contents(db) == before


def test_a_key_belongs_to_its_owner(db: psycopg.Connection) -> None:
    """Another agent, organisation or key is another plan; the scope does not matter."""
    plans = [
        stored(db, idempotency_key="k", agent_id=agent, org_id=org, scope=scope)
        for agent, org, scope in (
            ("ana", "acme", "private"), ("ben", "acme", "public"), ("ana", "globex", "global"),
            ("ana", "default", "private"),
        )
    ]  # fmt: skip
    plans.append(stored(db, idempotency_key="K", agent_id="ana", org_id="acme"))
    assert len(set(plans)) == 5
    again = remember(db, idempotency_key="k", agent_id="ana", org_id="globex", scope="private")
    assert (again["id"], again["status"]) == (plans[2], "repeated")


def test_a_failure_does_not_use_up_its_key(db: psycopg.Connection) -> None:
    """Nothing was stored under it, so a later success is the first."""
    assert remember(db, outcome_score=0.1, idempotency_key="k")["status"] == "below_threshold"
    first = stored(db, idempotency_key="k")
    assert remember(db, idempotency_key="k")["id"] == first


def test_a_key_twice_in_one_batch_is_one_plan(db: psycopg.Connection) -> None:
    """The first of them is stored, the others are told so."""
    keyed = {**PLAN, "idempotency_key": "k"}
    answers = batch(db, keyed, PLAN, {**keyed, "query": "other words"}, keyed)
    assert [answer["status"] for answer in answers] == ["stored", "stored", "repeated", "repeated"]
    assert answers[0]["id"] == answers[2]["id"] == answers[3]["id"] != answers[1]["id"]
    assert scalar(db, "SELECT count(*) FROM mnemo.plan") == 2
    # The owner may be named or left to the defaults.
    for named in ("agent_id", "org_id"):
        unnamed = {**PLAN, "idempotency_key": f"k {named}"}
        answers = batch(db, unnamed, {**unnamed, named: "default"})
        assert [answer["status"] for answer in answers] == ["stored", "repeated"]


def test_a_key_of_a_forgotten_plan_stays_used(db: psycopg.Connection) -> None:
    """The first answer again, and nothing comes back to life."""
    first = stored(db, idempotency_key="k")
    row(db, "forget", ids=[first])
    assert remember(db, idempotency_key="k")["id"] == first
    assert row(db, "recall_plan", query=PLAN["query"])["hit"] is False


# Batches.

GOOD = {**PLAN, "query": "good question here"}
BAD = {**PLAN, "query": " "}


def test_a_batch_answers_element_by_element(db: psycopg.Connection) -> None:
    """Positions from 1, in the order given; each plan is recalled for its own caller."""
    answers = batch(
        db,
        {**PLAN, "agent_id": "ana"},
        {**PLAN, "outcome_score": 0.2},
        {**PLAN, "agent_id": "ben", "org_id": "acme", "scope": "public", "ttl": "1 day",
         "details": [1, None], "tags": ["t"], "context": "v2", "thread_id": "t",
         "source_id": "s"},
        {**PLAN, "scope": "global", "agent_id": None, "context": None, "ttl": None},
    )  # fmt: skip
    assert [answer["position"] for answer in answers] == [1, 2, 3, 4]
    assert [answer["status"] for answer in answers] == [
        "stored", "below_threshold", "stored", "stored",
    ]  # fmt: skip
    assert [answer["stored"] for answer in answers] == [True, False, True, True]
    assert [answer["error"] for answer in answers] == [None] * 4
    assert answers[1]["id"] is None
    query = PLAN["query"]
    assert row(db, "recall_plan", query=query, agent_id="ana")["id"] == answers[0]["id"]
    assert row(db, "recall_plan", query=query, agent_id="zoe")["id"] == answers[3]["id"]
    given = row(
        db, "recall_plan", query=query, agent_id="zoe", org_id="acme", context="v2"
    )  # fmt: skip
    assert (given["id"], given["details"]) == (answers[2]["id"], [1, None])


def test_an_empty_batch_does_nothing(db: psycopg.Connection) -> None:
    """No rows, nothing written."""
    before = contents(db)
    assert batch(db) == []
    assert contents(db) == before


def test_abort_writes_nothing_and_names_the_first_bad_element(db: psycopg.Connection) -> None:
    """The default: the first bad element by position raises its error."""
    before = contents(db)
    for arguments in ({}, {"on_error": "abort"}):
        with refused("22023", "p_query") as refusal:
            batch(db, GOOD, {**GOOD, "idempotency_key": "z"}, BAD, {**GOOD, "scope": "x"},
                  **arguments)  # fmt: skip
        assert refusal.detail is not None
        assert refusal.detail["position"] == 3
    assert contents(db) == before


def test_skip_stores_the_good_and_reports_the_bad(db: psycopg.Connection) -> None:
    """One bad element never loses the others."""
    elements: list[tuple[Any, str]] = [
        (GOOD, ""),
        (BAD, "22023: "),
        ({**GOOD, "steps": ["a", None]}, "22023: "),
        ({**GOOD, "scope": "everyone"}, "22023: "),
        ({**GOOD, "org_id": "*"}, "22023: "),
        ({**GOOD, "steps": ["s"] * 1001}, "54000: "),
        ({**GOOD, "unknown": 1}, "22023: "),
        ("no object", "22023: "),
        (None, "22023: "),
        ({}, "22023: "),
        ({**GOOD, "steps": [["a"]]}, "22023: "),
        ({**GOOD, "outcome_score": "0.9"}, "22023: "),
        ({**GOOD, "ttl": "soon"}, "22023: "),
        ({**GOOD, "ttl": "-1 day"}, "22023: "),
        ({**GOOD, "details": [1]}, "22023: "),
        ({**GOOD, "tags": ["__experience_plan__"]}, "22023: "),
        (GOOD, ""),
    ]
    answers = batch(db, *(element for element, _ in elements), on_error="skip")
    assert [answer["position"] for answer in answers] == list(range(1, len(elements) + 1))
    for answer, (element, error) in zip(answers, elements, strict=True):
        assert answer["status"] == ("failed" if error else "stored"), element
        assert (answer["error"] or "").startswith(error), element
        assert (answer["id"] is None) is bool(error)
        assert answer["stored"] is not bool(error)
    assert len(rows(db, "recall_plans", query=GOOD["query"])) == 2


def test_a_batch_obeys_the_mode_of_each_organisation(db: psycopg.Connection) -> None:
    """Elements for an organisation with the mode off fail, the others are stored."""
    value(db, "configure", name="experience_memory", value="off", org_id="acme")
    first, second = batch(db, {**PLAN, "org_id": "acme"}, PLAN, on_error="skip")
    assert (first["status"], first["error"][:7]) == ("failed", "55000: ")
    assert second["status"] == "stored"


def test_a_batch_of_ten_thousand(db: psycopg.Connection) -> None:
    """The limit itself is allowed; one more is refused."""
    elements = [{**PLAN, "query": f"question number{number}"} for number in range(10_000)]
    answers = batch(db, *elements)
    assert {answer["status"] for answer in answers} == {"stored"}
    assert len({answer["id"] for answer in answers}) == 10_000
    assert row(db, "recall_plan", query="question number7777")["id"] == answers[7777]["id"]
    with refused("54000", "p_plans"):
        batch(db, *elements, PLAN)


# One row, always.


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"query": "alpha bravo charlie delta"}, "exact"),
        ({"query": NEARLY, "similarity_threshold": 0.6}, "similar"),
        ({"query": NEARLY}, "none_similar"),
        ({"query": "unrelated"}, "none_similar"),
        ({"query": "alpha bravo charlie delta", "agent_id": "zoe"}, "none_similar"),
        ({"query": "alpha bravo charlie delta", "org_id": "nowhere"}, "none_similar"),
        ({"query": "alpha bravo charlie delta", "context": "other"}, "none_similar"),
        ({"query": ""}, "blank_query"),
        ({"query": " \t\n\u3000\u00a0\u2028"}, "blank_query"),
    ],
)
def test_recall_plan_is_one_row(
    db: psycopg.Connection, arguments: dict[str, Any], reason: str
) -> None:
    """Hit or miss, with the reason; recall_plans has rows for a hit only."""
    stored(db)
    hit = reason in ("exact", "similar")
    answer = row(db, "recall_plan", **arguments)
    assert (answer["hit"], answer["reason"]) == (hit, reason)
    assert (answer["id"] is not None) is hit
    assert answer["candidates_considered"] >= hit
    several = rows(db, "recall_plans", **arguments)
    assert len(several) == int(hit)
    for found in several:
        assert found.pop("rank") == 1
        assert found == answer


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "alpha bravo charlie delta"}, {"query": None}, {"query": ""},
        {"query": "x" * 100_001}, {"query": "x", "similarity_threshold": 7},
        {"query": "x", "similarity_threshold": math.nan}, {"query": "x", "guard": "no such guard"},
        {"query": "x", "context": ""}, {"query": "x", "agent_id": "not valid"},
        {"query": "x", "org_id": "*"}, {"query": "x", "org_id": ""},
    ],
    ids=str,
)  # fmt: skip
def test_disabled_whatever_the_arguments(db: psycopg.Connection, arguments: dict[str, Any]) -> None:
    """With the mode off there is no error, only the answer."""
    stored(db)
    value(db, "configure", name="experience_memory", value="off")
    answer = row(db, "recall_plan", **arguments)
    assert (answer["hit"], answer["reason"], answer["candidates_considered"]) == (
        False, "disabled", 0,
    )  # fmt: skip
    assert rows(db, "recall_plans", **arguments) == []


def test_recall_plans_ranks_from_one(db: psycopg.Connection) -> None:
    """Best first; every row says its own reason and one count."""
    exact = stored(db)
    near = stored(db, query=NEARLY)
    far = stored(db, query="alpha bravo")
    found = rows(db, "recall_plans", query=PLAN["query"], similarity_threshold=0.5)
    assert [(one["rank"], one["id"], one["similarity"], one["reason"], one["hit"])
            for one in found] == [
        (1, exact, 1.0, "exact", True),
        (2, near, 0.6, "similar", True),
        (3, far, 0.5, "similar", True),
    ]  # fmt: skip
    assert {one["candidates_considered"] for one in found} == {3}
    limited = rows(db, "recall_plans", query=PLAN["query"], similarity_threshold=0.5, limit=2)
    assert [one["id"] for one in limited] == [exact, near]


def test_recall_plans_returns_five_unless_told(db: psycopg.Connection) -> None:
    """And up to 1,000."""
    batch(db, *[PLAN] * 7, *[{**PLAN, "query": NEARLY}] * 1000)
    assert len(rows(db, "recall_plans", query=PLAN["query"])) == 5
    found = rows(db, "recall_plans", query=PLAN["query"], similarity_threshold=0.6, limit=1000)
    assert len(found) == 1000
    assert [one["similarity"] for one in found] == [1.0] * 7 + [0.6] * 993
    with refused("22023", "p_limit"):
        rows(db, "recall_plans", query=PLAN["query"], limit=1001)


# Reading changes nothing.


def test_recall_writes_nothing(db: psycopg.Connection) -> None:
    """Neither counts nor events: reads are reads."""
    plan = stored(db)
    before = contents(db)
    row(db, "recall_plan", query=PLAN["query"])
    row(db, "recall_plan", query="unrelated")
    rows(db, "recall_plans", query=NEARLY, similarity_threshold=0.5)
    row(db, "get_plan", id=plan)
    rows(db, "list_plans")
    rows(db, "recall", query=PLAN["query"])
    assert contents(db) == before


def test_reads_work_in_a_read_only_transaction(db: psycopg.Connection) -> None:
    """Writes there give 25006."""
    plan = stored(db)
    db.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    assert row(db, "recall_plan", query=PLAN["query"])["id"] == plan
    assert row(db, "recall_plan", query=NEARLY, similarity_threshold=0.5)["id"] == plan
    assert row(db, "recall_plan", query="unrelated")["hit"] is False
    assert len(rows(db, "recall_plans", query=PLAN["query"])) == 1
    assert row(db, "get_plan", id=plan)["id"] == plan
    assert len(rows(db, "list_plans")) == 1
    assert len(rows(db, "get_memories", ids=[plan])) == 1
    assert rows(db, "recall", query=PLAN["query"]) == []
    assert value(db, "check_permission", id=plan, permission="share") is True
    assert value(db, "setting", name="experience_memory") == "on"
    for call in (lambda: remember(db), lambda: row(db, "forget", ids=[plan])):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            call()


@pytest.mark.parametrize(
    "settings",
    [
        "SET jit = on; SET jit_above_cost = 0",
        "SET enable_indexscan = off; SET enable_bitmapscan = off",
        "SET plan_cache_mode = force_custom_plan",
        "SET search_path = ''",
        "SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu'; SET IntervalStyle = 'iso_8601'",
        "SET extra_float_digits = -15",
        "SET standard_conforming_strings = off; SET backslash_quote = on",
        "SET array_nulls = off",
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
        " SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0",
    ],
)
def test_a_session_setting_does_not_change_the_answer(
    db: psycopg.Connection, settings: str
) -> None:
    """Whatever the caller's session prefers, the same plan is stored and found."""
    far = stored(db, query="alpha bravo", outcome_score=1)
    db.execute(settings)  # type: ignore[arg-type]
    plan = stored(db, outcome_score=0.812345678901234)
    ended = stored(db, outcome_score=1, ttl=timedelta(microseconds=1))
    assert ended != plan
    best = scalar(db, "SELECT r.id FROM mnemo.recall_plan(%s::text) AS r", PLAN["query"])
    assert best == plan
    found = db.execute(
        "SELECT r.id, r.similarity, r.outcome_score = 0.812345678901234"
        "  FROM mnemo.recall_plans(%s::text, p_similarity_threshold => 0.4) AS r",
        [NEARLY],
    ).fetchall()
    assert found == [(plan, 0.6, True), (far, 0.5, False)]
    db.execute("RESET ALL")
    assert row(db, "recall_plan", query=PLAN["query"])["outcome_score"] == 0.812345678901234


def test_recall_in_a_parallel_worker(db: psycopg.Connection) -> None:
    """recall_plan may be asked for a table of questions by a parallel query."""
    plan = stored(db, scope="public")
    name = "debug_parallel_query" if db.info.server_version >= 160000 else "force_parallel_mode"
    db.execute(f"SET {name} = on")  # type: ignore[arg-type]
    assert row(db, "recall_plan", query=PLAN["query"])["id"] == plan
    assert row(db, "recall_plan", query=NEARLY, similarity_threshold=0.5)["id"] == plan


# Lists, single plans, the view.


def test_list_plans_pages_through_everything_once(db: psycopg.Connection) -> None:
    """Newest first by id; the pages together are the whole list, whatever their size."""
    with db.transaction():
        mine = [stored(db, agent_id="ana", context=context) for context in (None, "v2", None)]
    public = stored(db, agent_id="ben", scope="public")
    granted = stored(db, agent_id="ben")
    row(db, "share", id=granted, to_agents=["ana"], agent_id="ben")
    everyones = stored(db, agent_id="zoe", org_id="acme", scope="global")
    stored(db, agent_id="ben")
    stored(db, agent_id="ana", org_id="acme")
    forgotten = stored(db, agent_id="ana")
    row(db, "forget", ids=[forgotten], agent_id="ana")
    row(db, "remember", content="a memory", agent_id="ana")
    expected = sorted([*mine, public, granted, everyones], reverse=True)

    listed = rows(db, "list_plans", agent_id="ana")
    assert [plan["id"] for plan in listed] == expected
    assert [plan["rank"] for plan in listed] == list(range(1, 7))
    for size in (1, 2, 4, 6, 7):
        seen: list[UUID] = []
        while True:
            after = {"after": seen[-1]} if seen else {}
            page = rows(db, "list_plans", limit=size, agent_id="ana", **after)
            assert [plan["rank"] for plan in page] == list(range(1, len(page) + 1))
            seen += [plan["id"] for plan in page]
            if len(page) < size:
                break
        assert seen == expected
    # The place holds although the plan at it is gone, and newer plans do not move the rest.
    row(db, "forget", ids=[expected[2]], agent_id=listed[2]["owner_agent_id"],
        org_id=listed[2]["origin_org_id"])  # fmt: skip
    stored(db, agent_id="ana")
    page = rows(db, "list_plans", after=expected[2], agent_id="ana")
    assert [plan["id"] for plan in page] == expected[3:]


def test_list_plans_is_limited_to_fifty_unless_told(db: psycopg.Connection) -> None:
    """And to 1,000 at most."""
    batch(db, *[PLAN] * 60)
    assert len(rows(db, "list_plans")) == 50
    assert len(rows(db, "list_plans", limit=1000)) == 60
    for limit in (0, -1, 1001, None):
        with refused("22023", "p_limit"):
            rows(db, "list_plans", limit=limit)


def test_get_plan_list_plans_and_the_view_agree(db: psycopg.Connection) -> None:
    """All columns of a plan, the same from each."""
    plan = stored(
        db, agent_id="ana", org_id="acme", scope="public", details=Jsonb([{"a": 1}, None]),
        context="v2", tags=["x", "y"], thread_id="t", source_id="s", ttl=timedelta(hours=1),
    )  # fmt: skip
    got = row(db, "get_plan", id=plan, agent_id="ben", org_id="acme")
    assert {name: got[name] for name in got if not name.endswith("_at")} == {
        "id": plan,
        "org_id": "acme",
        "origin_org_id": "acme",
        "owner_agent_id": "ana",
        "scope": "public",
        "query": PLAN["query"],
        "signature_tokens": ["alpha", "bravo", "charlie", "delta"],
        "steps": PLAN["steps"],
        "details": [{"a": 1}, None],
        "chunk_ids": PLAN["chunk_ids"],
        "outcome_score": 0.75,
        "context": "v2",
        "tags": ["x", "y"],
        "thread_id": "t",
        "source_id": "s",
        "consolidation_state": "raw",
        "version": 1,
        "uses": 0,
        "successes": 0,
        "failures": 0,
        "last_success": None,
        "standing": got["standing"],
        "retired": False,
    }
    assert got["last_reported_at"] is None
    assert got["created_at"] == got["updated_at"] == got["expires_at"] - timedelta(hours=1)
    listed = row(db, "list_plans", agent_id="ben", org_id="acme")
    assert listed.pop("rank") == 1
    assert listed == got
    viewed = db.cursor(row_factory=psycopg.rows.dict_row).execute(
        "SELECT * FROM mnemo.plan"
    ).fetchone()  # fmt: skip
    assert viewed is not None
    assert {name: viewed[name] for name in got} == got
    more = {name: viewed[name] for name in viewed if name not in got}
    assert len(more.pop("content_hash")) == 32
    assert more == {
        "signature_size": 4, "quarantined": False, "deleted_at": None, "reason": None,
    }  # fmt: skip


def test_get_plan_gives_one_answer_for_all_that_is_not_there(db: psycopg.Connection) -> None:
    """Unknown, of another organisation, private, forgotten, and a memory: MN001."""
    unknown = UUID("01890000-0000-7000-8000-000000000000")
    foreign = stored(db, org_id="acme", scope="public")
    private = stored(db, agent_id="ana")
    forgotten = stored(db)
    row(db, "forget", ids=[forgotten])
    memory = row(db, "remember", content="a memory")["id"]
    seen = set()
    for plan in (unknown, foreign, private, forgotten, memory):
        with refused("MN001", "p_id") as refusal:
            row(db, "get_plan", id=plan)
        assert refusal.detail == {"parameter": "p_id", "ids": [str(plan)]}
        seen.add((refusal.message.replace(str(plan), ""), refusal.hint))
    assert len(seen) == 1


def test_plans_can_be_read_with_the_mode_off(db: psycopg.Connection) -> None:
    """Turning experience memory off stops replay and writing, not looking."""
    plan = stored(db)
    value(db, "configure", name="experience_memory", value="off")
    assert row(db, "get_plan", id=plan)["id"] == plan
    assert [one["id"] for one in rows(db, "list_plans")] == [plan]
    assert row(db, "forget", ids=[plan])["status"] == "deleted"


def test_the_view_shows_plans_that_nobody_recalls(db: psycopg.Connection) -> None:
    """Deleted, expired, in quarantine, of every organisation; no memories."""
    plans = [stored(db, org_id=org) for org in ("acme", "globex", "default")]
    ended = stored(db, ttl=timedelta(microseconds=1))
    row(db, "forget", ids=[plans[2]])
    db.execute("UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [plans[0]])
    row(db, "remember", content="a memory")
    seen = db.execute(
        "SELECT id, quarantined, deleted_at IS NOT NULL, expires_at IS NOT NULL FROM mnemo.plan"
    ).fetchall()
    assert set(seen) == {
        (plans[0], True, False, False),
        (plans[1], False, False, False),
        (plans[2], False, True, False),
        (ended, False, False, True),
    }


# Settings.


def test_the_mode_is_off_unless_configured(db: psycopg.Connection) -> None:
    """Per database, with an override for an organisation in either direction."""
    value(db, "configure", name="experience_memory", value=None)
    assert value(db, "setting", name="experience_memory") == "off"
    with refused("55000"):
        remember(db)
    value(db, "configure", name="experience_memory", value="on", org_id="acme")
    plan = stored(db, org_id="acme")
    assert row(db, "recall_plan", query=PLAN["query"], org_id="acme")["id"] == plan
    assert row(db, "recall_plan", query=PLAN["query"])["reason"] == "disabled"
    with refused("55000"):
        remember(db)
    value(db, "configure", name="experience_memory", value="on")
    value(db, "configure", name="experience_memory", value="off", org_id="acme")
    assert row(db, "recall_plan", query=PLAN["query"], org_id="acme")["reason"] == "disabled"
    stored(db)
    value(db, "configure", name="experience_memory", value=None, org_id="acme")
    assert row(db, "recall_plan", query=PLAN["query"], org_id="acme")["id"] == plan


def test_an_organisation_has_its_own_similarity_threshold(db: psycopg.Connection) -> None:
    """It holds where no threshold is given; an argument wins over it."""
    for org in ("acme", "globex"):
        stored(db, org_id=org)
    value(db, "configure", name="similarity_threshold", value="0.6", org_id="acme")
    assert row(db, "recall_plan", query=NEARLY, org_id="acme")["similarity"] == 0.6
    assert row(db, "recall_plan", query=NEARLY, org_id="globex")["hit"] is False
    assert row(db, "recall_plan", query=NEARLY, org_id="acme",
               similarity_threshold=0.61)["hit"] is False  # fmt: skip
    value(db, "configure", name="similarity_threshold", value="0.5")
    assert row(db, "recall_plan", query=NEARLY, org_id="globex")["hit"] is True
    value(db, "configure", name="similarity_threshold", value="0.9", org_id="acme")
    assert row(db, "recall_plan", query=NEARLY, org_id="acme")["hit"] is False


def test_an_organisation_has_its_own_minimum_threshold(db: psycopg.Connection) -> None:
    """A call may not ask for less; less than 0.3 only where configured."""
    for org in ("acme", "globex"):
        stored(db, org_id=org)
    query = "alpha xray yankee zulu"
    with refused("22023", "p_similarity_threshold"):
        row(db, "recall_plan", query=query, org_id="acme", similarity_threshold=0.1)
    value(db, "configure", name="minimum_threshold", value="0.1", org_id="acme")
    answer = row(db, "recall_plan", query=query, org_id="acme", similarity_threshold=0.1)
    assert answer["similarity"] == 1 / 7
    with refused("22023", "p_similarity_threshold"):
        row(db, "recall_plan", query=query, org_id="globex", similarity_threshold=0.1)
    value(db, "configure", name="minimum_threshold", value="0.65", org_id="acme")
    with refused("22023", "p_similarity_threshold"):
        row(db, "recall_plan", query=query, org_id="acme", similarity_threshold=0.6)


@pytest.mark.parametrize("minimum", ["0.000001", "0.01", "0.05"])
def test_a_very_low_threshold_is_a_scan_and_still_right(
    db: psycopg.Connection, minimum: str
) -> None:
    """Where an administrator allows it, a plan that shares one token of many is found."""
    value(db, "configure", name="minimum_threshold", value=minimum)
    long = stored(db, query=" ".join(["alpha", *(f"word{number}" for number in range(19))]))
    asked = {"similarity_threshold": float(minimum), "guard": "off"}
    answer = row(db, "recall_plan", query="alpha", **asked)
    assert (answer["id"], answer["similarity"]) == (long, 0.05)
    assert (
        row(db, "recall_plan", query="strange", similarity_threshold=float(minimum))["id"] is None
    )


def test_an_organisation_has_its_own_success_threshold(db: psycopg.Connection) -> None:
    """In single calls and in batches."""
    value(db, "configure", name="success_threshold", value="0.9", org_id="acme")
    assert remember(db, org_id="acme")["status"] == "below_threshold"
    assert remember(db, org_id="acme", outcome_score=0.9)["status"] == "stored"
    assert remember(db)["status"] == "stored"
    answers = batch(db, {**PLAN, "org_id": "acme"}, PLAN)
    assert [answer["status"] for answer in answers] == ["below_threshold", "stored"]


def test_unnamed_callers_are_the_configured_ones(db: psycopg.Connection) -> None:
    """default_agent_id and default_org_id hold on writes and on reads alike."""
    value(db, "configure", name="default_org_id", value="acme")
    value(db, "configure", name="default_agent_id", value="bot")
    plan = stored(db)
    got = row(db, "get_plan", id=plan, agent_id="bot", org_id="acme")
    assert (got["owner_agent_id"], got["org_id"]) == ("bot", "acme")
    assert row(db, "recall_plan", query=PLAN["query"])["id"] == plan
    (in_batch,) = batch(db, PLAN)
    assert row(db, "recall_plan", query=PLAN["query"], agent_id="bot",
               org_id="acme")["id"] == in_batch["id"]  # fmt: skip
    assert row(db, "recall_plan", query=PLAN["query"], org_id="default")["hit"] is False
