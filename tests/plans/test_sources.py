"""A plan goes stale when a chunk that it cites changes: what counts, for whom, since when.

What recall makes of many plans is compared with its definition in tests/sql/test_brute_force.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mnemo_pg import AsyncMnemo, Mnemo, NewPlan, RecallReason, StaleMode
from tests.privileges.helpers import acting, new_name
from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.reuse import emptied

ASKED = "how do I reset my password"
WHO = {"agent_id": "ann", "org_id": "acme"}


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    with emptied(module_dsn) as conn:
        yield conn


def plan(db: psycopg.Connection, *chunks: str, query: str = ASKED, **more: Any) -> UUID:
    """The id of a plan that cites these chunks."""
    arguments: dict[str, Any] = {"steps": ["do"], "outcome_score": 0.9, **WHO} | more
    return row(db, "remember_plan", query=query, chunk_ids=list(chunks), **arguments)["id"]


def recalled(db: psycopg.Connection, query: str = ASKED, **more: Any) -> dict[str, Any]:
    return row(db, "recall_plan", query=query, **(WHO | more))


def found(db: psycopg.Connection, query: str = ASKED, **more: Any) -> tuple[UUID | None, str, bool]:
    """Id, reason and whether stale."""
    answer = recalled(db, query, **more)
    assert answer["hit"] == (answer["id"] is not None)
    return answer["id"], answer["reason"], answer["stale"]


def changed(db: psycopg.Connection, *chunks: str, **more: Any) -> int:
    return int(row(db, "invalidate_chunks", ids=list(chunks), **(WHO | more))["chunks"])


WORDINGS = pytest.mark.parametrize(
    ("query", "reason"),
    [(ASKED, "exact"), ("my password: how to reset?", "exact"), (f"{ASKED} please", "similar")],
)


@WORDINGS
def test_a_stale_plan_is_passed_over_and_named(
    db: psycopg.Connection, query: str, reason: str
) -> None:
    """By the very text, by the same words, by similar ones."""
    one = plan(db, "c1", "c2", "c3")
    assert found(db, query) == (one, reason, False)
    assert changed(db, "c9") == 1
    assert found(db, query) == (one, reason, False)
    assert changed(db, "c3", "c1", "c3") == 2
    answer = recalled(db, query)
    assert (answer["hit"], answer["reason"], answer["stale"]) == (False, "stale", True)
    near = answer["near_miss"]
    assert (near["id"], near["query"], near["changed_chunks"]) == (str(one), ASKED, ["c1", "c3"])
    assert near["differences"] == []
    assert near["similarity"] == (1 if reason == "exact" else 0.75)
    assert rows(db, "recall_plans", query=query, **WHO) == []
    assert found(db, query, stale="include") == (one, reason, True)
    (listed,) = rows(db, "recall_plans", query=query, stale="include", **WHO)
    assert (listed["id"], listed["stale"]) == (one, True)


@WORDINGS
def test_the_next_best_fresh_plan_is_replayed(
    db: psycopg.Connection, query: str, reason: str
) -> None:
    """However many stale ones would have come before it."""
    value(db, "configure", name="merge_plans", value="off")
    worst = plan(db, "c9", outcome_score=0.6)
    without = plan(db, outcome_score=0.5, query=f"{ASKED} please")
    for score in (0.7, 0.8, 0.95):
        plan(db, "c1", outcome_score=score)
    changed(db, "c1")
    assert found(db, query) == (
        (without, "exact", False) if query.endswith("please") else (worst, reason, False)
    )
    changed(db, "c9")
    assert found(db, query)[0] == without
    answers = rows(db, "recall_plans", query=query, stale="include", **WHO)
    assert [answer["stale"] for answer in answers].count(True) == 4


def test_explain_gives_the_verdict(db: psycopg.Connection) -> None:
    plan(db, "c1")
    changed(db, "c1")
    for mode, verdict in (("refuse", "stale"), ("include", "replayed")):
        (line,) = rows(db, "explain_recall_plan", query=ASKED, stale=mode, **WHO)
        assert line["verdict"] == verdict


def test_the_guard_refuses_before_staleness_is_looked_at(db: psycopg.Connection) -> None:
    """A plan that would not have been the hit is no reason for a miss."""
    plan(db, "c1", query="invoices of vendor 17")
    changed(db, "c1")
    assert found(db, "invoices of vendor 71")[1] == "guarded"
    assert found(db, "invoices of vendor 17")[1] == "stale"


def test_a_chunk_is_an_organisation_a_source_and_an_id(db: psycopg.Connection) -> None:
    """The same id elsewhere is another chunk, compared exactly."""
    one = plan(db, "c1", chunk_source="wiki")
    for more in (
        {}, {"source": "wiki2"}, {"source": "Wiki"}, {"source": "wiki "}, {"source": "wik"},
        {"source": "wiki", "org_id": "acme-corp"}, {"org_id": "other"},
    ):  # fmt: skip
        assert changed(db, "c1", **more) == 1
    for other in ("C1", "c1 ", "c", "c11", "c%", "*"):
        changed(db, other, source="wiki")
    assert found(db) == (one, "exact", False)
    changed(db, "c1", source="wiki", agent_id="bob")
    assert found(db)[1] == "stale"


def test_the_source_without_a_name(db: psycopg.Connection) -> None:
    """Left out, NULL and empty are one."""
    for given, reported in ((None, ""), ("", None), (None, None)):
        with db.transaction(force_rollback=True):
            plan(db, "c1", chunk_source=given)
            assert row(db, "invalidate_chunks", ids=["c1"], source=reported, **WHO)["source"] == ""
            assert found(db)[1] == "stale"


def test_ids_of_any_length_and_script(db: psycopg.Connection) -> None:
    """Long ones are kept as a hash; near_miss names them as the plan has them."""
    ids = ["x" * 1000, "x" * 1001, "é" * 600, "x" * 50_000, "'; DROP", "\\", "{a,b}", "NULL", "漢"]
    for id in ids:
        with db.transaction(force_rollback=True):
            one = plan(db, *ids)
            assert found(db)[0] == one
            assert changed(db, id) == 1
            assert recalled(db)["near_miss"]["changed_chunks"] == [id]
            assert changed(db, id) == 1
            assert scalar(db, "SELECT version FROM mnemo.chunk_state") == 2


def test_a_global_plan_goes_with_the_chunks_of_its_organisation(db: psycopg.Connection) -> None:
    """For everybody; chunks of those who only see it are other chunks."""
    one = plan(db, "c1", scope="global")
    elsewhere = {"agent_id": "zoe", "org_id": "elsewhere"}
    changed(db, "c1", **elsewhere)
    assert found(db, **elsewhere) == (one, "exact", False)
    changed(db, "c1")
    assert found(db, **elsewhere)[1] == found(db)[1] == "stale"
    assert found(db, stale="include", **elsewhere) == (one, "exact", True)


def test_since_when_a_change_counts(db: psycopg.Connection) -> None:
    """Since the chunks were read; by the clock, so that one transaction can do it all."""
    changed(db, "c1")
    first = plan(db, "c1")
    assert found(db)[0] == first
    before = scalar(db, "SELECT clock_timestamp()")
    changed(db, "c2")
    plan(db, "c2", query="where is the printer", read_at=before)
    assert found(db, "where is the printer")[1] == "stale"
    plan(db, "c2", query="where is the scanner")
    assert found(db, "where is the scanner")[1] == "exact"
    # A time to come would make it immune.
    plan(db, "c2", query="where is the kitchen", read_at=before + timedelta(days=1))
    changed(db, "c2")
    assert found(db, "where is the kitchen")[1] == "stale"
    with db.transaction():
        changed(db, "c1")
        assert found(db)[1] == "stale"
        again = plan(db, "c1", outcome_score=0.5)
        assert found(db) == (again, "exact", False)
        changed(db, "c1")
        assert found(db)[1] == "stale"
        assert row(db, "revalidate_plan", id=again, **WHO)["was_stale"] is True
        assert found(db)[1] == "exact"


def test_what_is_rolled_back_makes_nothing_stale(db: psycopg.Connection, module_dsn: str) -> None:
    """And nobody else sees a report before it is committed."""
    one = plan(db, "c1")
    with psycopg.connect(module_dsn) as other:
        changed(other, "c1")
        assert found(db)[0] == one
        other.rollback()
        changed(other, "c1")
        other.commit()
    assert found(db)[1] == "stale"


def test_revalidating(db: psycopg.Connection) -> None:
    """By whoever has write; the changes up to then, and no later one."""
    one = plan(db, "c1", "c2", scope="shared")
    changed(db, "c1")
    rows(db, "share", id=one, to_agents=["bob"], permission="read", **WHO)
    bob = {"agent_id": "bob", "org_id": "acme"}
    with refused("42501", "p_id"):
        row(db, "revalidate_plan", id=one, **bob)
    with refused("MN001", "p_id"):
        row(db, "revalidate_plan", id=one, agent_id="cyd", org_id="acme")
    rows(db, "share", id=one, to_agents=["bob"], permission="write", **WHO)
    assert row(db, "revalidate_plan", id=one, **bob) == {"id": one, "was_stale": True}
    assert found(db) == (one, "exact", False)
    state = contents(db)
    assert row(db, "revalidate_plan", id=one, **WHO) == {"id": one, "was_stale": False}
    assert contents(db) == state
    changed(db, "c2")
    assert found(db)[1] == "stale"
    assert row(db, "revalidate_plan", id=one, **WHO)["was_stale"] is True
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_check") == 1
    memory = row(db, "remember", content="no plan", **WHO)["id"]
    with refused("MN001", "p_id"):
        row(db, "revalidate_plan", id=memory, **WHO)
    rows(db, "forget", ids=[one], strategy="hard_delete", **WHO)
    assert scalar(db, "SELECT count(*) FROM mnemo.plan_check") == 0


def test_remembering_anew_makes_fresh(db: psycopg.Connection) -> None:
    """Merged into the record that is there, whatever its score was."""
    one = plan(db, "c1", outcome_score=0.95)
    changed(db, "c1")
    again = row(db, "remember_plan", query=ASKED, steps=["new"], chunk_ids=["c1"],
                outcome_score=0.6, **WHO)  # fmt: skip
    assert (again["id"], again["status"]) == (one, "merged")
    answer = recalled(db)
    assert (answer["id"], answer["steps"], answer["stale"]) == (one, ["new"], False)


# ---- memories as chunks


@pytest.fixture
def memory(db: psycopg.Connection) -> UUID:
    return row(db, "remember", content="the help desk resets passwords", **WHO)["id"]


def _update(changes: dict[str, Any]) -> Any:
    return lambda db, id: row(db, "update_memory", id=id, changes=Jsonb(changes), **WHO)


def _forget(strategy: str) -> Any:
    return lambda db, id: rows(db, "forget", ids=[id], strategy=strategy, **WHO)


CHANGES = {
    "content": _update({"content": "the robot resets passwords"}),
    "superseded": _update({"status": "superseded"}),
    "retracted": _update({"status": "retracted"}),
    **{name: _forget(name) for name in ("soft_delete", "hard_delete", "archive", "redact")},
    "expired": lambda db, id: db.execute(
        "UPDATE mnemo.memory SET expires_at = now() WHERE id = %s", [id]
    ),
    "held back": lambda db, id: db.execute(
        "UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [id]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", [None, "wiki"])
def test_a_plan_follows_the_memories_that_it_cites(
    db: psycopg.Connection, memory: UUID, change: str, source: str | None
) -> None:
    """Whatever the source of its other chunks; found to be right again, it follows on."""
    one = plan(db, "c1", str(memory), chunk_source=source)
    other = plan(db, "c1", query="where is the printer")
    assert found(db)[0] == one
    CHANGES[change](db, memory)
    answer = recalled(db)
    assert (answer["reason"], answer["stale"]) == ("stale", True)
    assert answer["near_miss"]["changed_chunks"] == [str(memory)]
    assert found(db, "where is the printer")[0] == other
    assert row(db, "revalidate_plan", id=one, **WHO)["was_stale"] is True
    assert found(db) == (one, "exact", False)
    if change == "content":
        _forget("hard_delete")(db, memory)
        assert found(db)[1] == "stale"


def test_what_does_not_change_a_memory_is_no_change(db: psycopg.Connection, memory: UUID) -> None:
    one = plan(db, str(memory).upper())
    rows(db, "touch", ids=[memory], **WHO)
    rows(db, "share", id=memory, to_agents=["bob"], **WHO)
    rows(db, "log_read", ids=[memory], **WHO)
    assert found(db) == (one, "exact", False)
    before = scalar(db, "SELECT clock_timestamp()")
    CHANGES["content"](db, memory)
    later = plan(db, str(memory), query="where is the printer")
    assert found(db, "where is the printer")[0] == later
    plan(db, str(memory), query="where is the scanner", read_at=before)
    assert found(db, "where is the scanner")[1] == "stale"


def test_a_memory_that_the_owner_cannot_see_is_none(db: psycopg.Connection, memory: UUID) -> None:
    """So that nobody learns by a plan of its own what becomes of it; nor across organisations."""
    strangers = [{"agent_id": "bob", "org_id": "acme"}, {"agent_id": "ann", "org_id": "other"}]
    plans = [
        plan(db, str(memory), scope=scope, **who)
        for who, scope in zip(strangers, ("private", "global"), strict=True)
    ]
    before = [recalled(db, **who) for who in strangers]
    CHANGES["content"](db, memory)
    _forget("hard_delete")(db, memory)
    assert [recalled(db, **who) for who in strangers] == before
    assert [answer["id"] for answer in before] == plans
    assert scalar(db, "SELECT count(*) FROM mnemo.memory"
                  " WHERE metadata::text ~ 'memory_versions'") == 0  # fmt: skip


@pytest.mark.parametrize("scope", ["shared", "public", "global"])
def test_a_memory_that_the_owner_sees_through_others(db: psycopg.Connection, scope: str) -> None:
    memory = row(db, "remember", content="the help desk resets passwords", scope=scope, **WHO)["id"]
    bob = {"agent_id": "bob", "org_id": "acme"}
    if scope == "shared":
        rows(db, "share", id=memory, to_agents=["bob"], **WHO)
    plan(db, str(memory), **bob)
    CHANGES["content"](db, memory)
    assert found(db, **bob)[1] == "stale"


# ---- who may say what


def test_who_may_report(db: psycopg.Connection) -> None:
    """Tenants that are bound to the whole organisation, and in that alone: they hold write on every
    plan there; one that is bound to an agent does not."""
    one, two = new_name("single"), new_name("whole")
    for role in (one, two):
        db.execute(f'CREATE ROLE "{role}"')  # type: ignore[arg-type]
        value(db, "grant_access", role=role, level="tenant")
    value(db, "bind_role", role=one, org_id="acme", agent_id="ann")
    value(db, "bind_role", role=two, org_id="acme")
    plan(db, "c1", scope="public")
    state = contents(db)
    with acting(db, one):
        for arguments in ({"ids": ["c1"]}, {"ids": None}, {"ids": ["c1"], "org_id": "other"}):
            with refused("42501", "p_org_id"):
                row(db, "invalidate_chunks", **arguments)
    with acting(db, two), refused("42501", "p_org_id"):
        row(db, "invalidate_chunks", ids=["c1"], org_id="other")
    assert contents(db) == state
    with acting(db, two):
        assert row(db, "invalidate_chunks", ids=["c1"])["chunks"] == 1
    assert found(db)[1] == "stale"
    for role in (one, two):
        db.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')  # type: ignore[arg-type]


def test_bad_reports_write_nothing(db: psycopg.Connection) -> None:
    plan(db, "c1")
    state = contents(db)
    for ids in (None, [None], ["c1", None], [["c1"]], [""], ["c1", " "], ["\u3000"]):
        with refused("22023", "p_ids"):
            row(db, "invalidate_chunks", ids=ids, **WHO)
    with refused("54000", "p_ids"):
        row(db, "invalidate_chunks", ids=["c1"] * 10_001, **WHO)
    for parameter, code, bad in (
        ("source", "22023", " "), ("source", "54000", "x" * 257), ("reason", "22023", ""),
        ("reason", "54000", "x" * 10_001), ("agent_id", "22023", "a b"), ("org_id", "22023", "*"),
    ):  # fmt: skip
        with refused(code, f"p_{parameter}"):
            row(db, "invalidate_chunks", **{"ids": ["c1"], **WHO, parameter: bad})
    for bad in ("", "x", "Refuse", "refuse ", "exclude"):
        for function in ("recall_plan", "recall_plans", "explain_recall_plan"):
            with refused("22023", "p_stale"):
                rows(db, function, query=ASKED, stale=bad)
    with refused("22023", "p_chunk_source"):
        plan(db, "c1", chunk_source="\u3000")
    with refused("54000", "p_chunk_source"):
        plan(db, "c1", chunk_source="x" * 257)
    for moment in ("infinity", "-infinity", "10000-01-01"):
        with refused("22023", "p_read_at"):
            plan(db, "c1", read_at=moment)
    assert contents(db) == state
    assert changed(db) == 0
    assert contents(db) == state


def test_one_event_a_call(db: psycopg.Connection) -> None:
    """Whatever the number of chunks, without their ids; the reason is a note."""
    one = plan(db, "secret-chunk")
    assert changed(db, *(f"chunk {n}" for n in range(10_000)), reason="a reindex") == 10_000
    assert changed(db, "secret-chunk") == 1
    row(db, "revalidate_plan", id=one, **WHO)
    events = rows(db, "read_events", types=["plan_stale", "plan_revalidated"], **WHO)
    assert [(e["event_type"], e["changes"], e["note"], e["memory_id"]) for e in events[::-1]] == [
        ("plan_stale", {"chunks": 10_000}, "a reindex", None),
        ("plan_stale", {"chunks": 1}, None, None),
        ("plan_revalidated", {}, None, one),
    ]
    assert [e["event_type"] for e in rows(db, "history", id=one, **WHO)] == [
        "plan_write", "plan_revalidated",
    ]  # fmt: skip
    for _ in range(2):
        verified = row(db, "verify_chain", **WHO)
        assert (verified["ok"], verified["first_bad_id"]) == (True, None)
        value(db, "seal")


def test_a_batch_says_it_too(db: psycopg.Connection) -> None:
    changed(db, "c1", source="wiki")
    element = {"steps": [], "chunk_ids": ["c1"], "outcome_score": 1, "chunk_source": "wiki", **WHO}
    answers = rows(
        db, "remember_plans", on_error="skip", plans=Jsonb([
            {**element, "query": "where is the printer", "read_at": "2026-01-31T09:00:00Z"},
            {**element, "query": "where is the scanner"},
            {**element, "query": "where is the kitchen", "read_at": "yesterday"},
            {**element, "query": "where is the garden", "chunk_source": 5},
        ])
    )  # fmt: skip
    assert [(a["status"], (a["error"] or "")[:5]) for a in answers] == [
        ("stored", ""), ("stored", ""), ("failed", "22023"), ("failed", "22023"),
    ]  # fmt: skip
    assert found(db, "where is the printer")[1] == "stale"
    assert found(db, "where is the scanner")[1] == "exact"


# ---- Python


def test_the_synchronous_client(db: psycopg.Connection, module_dsn: str) -> None:
    with Mnemo(module_dsn, agent_id="ann", org_id="acme") as m:
        before = m.remember_plan(ASKED, ["do"], ["c1"], 0.9, chunk_source="wiki").id
        assert before
        told = m.invalidate_chunks(["c1", "c1", "c2"], source="wiki", reason="rewritten")
        assert (told.source, told.chunks) == ("wiki", 2)
        miss = m.recall_plan(ASKED)
        assert (miss.hit, miss.reason, miss.stale) == (False, RecallReason.STALE, True)
        assert miss.near_miss
        assert miss.near_miss["changed_chunks"] == ["c1"]
        assert m.recall_plan(ASKED, stale=StaleMode.INCLUDE).stale
        assert m.revalidate_plan(before).was_stale
        assert not m.recall_plan(ASKED).stale
        moment = scalar(db, "SELECT now() - interval '1 hour'")
        m.remember_plans([
            NewPlan(query="where is the printer", steps=["go"], chunk_ids=["c2"], outcome_score=1,
                    chunk_source="wiki", read_at=moment)
        ])  # fmt: skip
        assert m.recall_plan("where is the printer").reason is RecallReason.STALE


async def test_the_asynchronous_client(db: psycopg.Connection, module_dsn: str) -> None:
    async with AsyncMnemo(module_dsn, agent_id="ann", org_id="acme") as m:
        plan_id = (await m.remember_plan(ASKED, ["do"], ["c1"], 0.9)).id
        assert plan_id
        assert (await m.invalidate_chunks(["c1"])).chunks == 1
        assert (await m.recall_plan(ASKED)).reason is RecallReason.STALE
        assert (await m.revalidate_plan(plan_id)).was_stale
        assert (await m.recall_plan(ASKED)).hit
