"""Both clients on every kind of source: the loop, who acts, batches, transactions, clean-up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import psycopg_pool
import pytest
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row

from mnemo_pg import (
    ArgumentError,
    AsyncMnemo,
    BatchResult,
    ConsolidationState,
    ExplanationVerdict,
    Guard,
    GuardClass,
    LimitError,
    Mnemo,
    NewPlan,
    NotFoundError,
    Permission,
    PlanExplanation,
    PlanStatus,
    ReadOnlyError,
    RecallReason,
    Scope,
    UnavailableError,
)
from mnemo_pg.statements import Statement
from tests.client.conftest import Awaited, Side, done, fetch

Db = psycopg.Connection[Any]
PLAN = ("how do I reset my password", ["open settings", "choose reset"], ["kb-17"], 0.92)


def raw(sql: LiteralString) -> Statement[Any]:
    return Statement(sql, {}, lambda rows: rows[0]["value"])


# The loop


async def test_plans(m: Any) -> None:
    assert not await m.recall_plan(PLAN[0])
    stored = await m.remember_plan(*PLAN, details=[{"click": 1}, None], tags=["help"])
    assert stored.stored
    assert stored.status is PlanStatus.STORED
    assert isinstance(stored.id, UUID)

    match = await m.recall_plan("Password reset \u2014 how do I? My...")
    assert match
    assert match.id == stored.id
    assert match.steps == ("open settings", "choose reset")
    assert match.details == [{"click": 1}, None]
    assert match.chunk_ids == ("kb-17",)
    assert match.outcome_score == 0.92
    assert match.similarity == 1.0
    assert match.scope is Scope.PRIVATE
    assert match.reason in set(RecallReason)
    assert match.created_at.tzinfo is UTC
    assert match.rank is None

    assert [(plan.id, plan.rank) for plan in await m.recall_plans(PLAN[0])] == [(stored.id, 1)]
    assert await m.recall_plans("what is the capital of france") == []
    miss = await m.recall_plan("what is the capital of france")
    assert not miss
    assert (miss.reason, miss.steps) == (RecallReason.NONE_SIMILAR, ())

    plan = await m.get_plan(stored.id)
    assert plan.query == PLAN[0]
    assert plan.tags == ("help",)
    assert " ".join(plan.signature_tokens) == stored.signature
    assert plan.consolidation_state in set(ConsolidationState)
    assert plan.rank is None
    assert [(plan.id, plan.rank) for plan in await m.list_plans()] == [(stored.id, 1)]
    assert await m.list_plans(after=stored.id) == []

    weak = await m.remember_plan("something else entirely", [], [], 0.3)
    assert (weak.stored, weak.id, weak.status) == (False, None, PlanStatus.BELOW_THRESHOLD)
    assert [gone.id for gone in await m.forget([stored.id])] == [stored.id]
    assert not await m.recall_plan(PLAN[0])


async def test_merging_and_warning(m: Any) -> None:
    stored = await m.remember_plan("Turn on dark mode", ["set theme"], [], 0.8)
    again = await m.remember_plan("dark mode: turn on", ["press the switch"], [], 0.9)
    assert (again.id, again.status) == (stored.id, PlanStatus.MERGED)
    await m.remember_plan("Turn on the dark mode", ["set theme"], [], 0.9)
    (pair,) = await m.duplicate_plans(threshold=0.7)
    assert (pair.other_id, pair.similarity, pair.guard_differences) == (stored.id, 0.75, ())
    assert await m.duplicate_plans(after=pair.id, after_other=pair.other_id) == []

    failed = await m.remember_failure("Turn on dark mode", ["edit the file"], "it is read-only")
    match = await m.recall_plan("turn on dark mode")
    assert match.steps == ("press the switch",)
    assert [(one["id"], one["reason"]) for one in match.warnings] == [
        (str(failed.id), "it is read-only")
    ]
    assert (await m.recall_plan("turn off dark mode")).warnings is None
    (known,) = await m.recall_failures("turn on dark mode")
    assert (known.id, known.steps, known.similarity) == (failed.id, ("edit the file",), 1.0)
    (listed,) = await m.list_failures()
    assert (listed.id, listed.reason, listed.rank) == (failed.id, "it is read-only", 1)


async def test_a_look_alike_is_refused_named_and_explained(m: Any) -> None:
    stored = await m.remember_plan("Turn on dark mode", ["set theme"], [], 0.9)
    other = await m.remember_plan("Turn on the dark mode now", ["set theme"], [], 0.8)
    miss = await m.recall_plan("Turn off dark mode")
    assert not miss
    assert miss.reason is RecallReason.GUARDED
    assert miss.near_miss == {
        "id": str(stored.id),
        "query": "Turn on dark mode",
        "similarity": 0.75,
        "differences": ["asked has off, stored has on"],
    }
    assert (await m.get_plan(miss.near_miss["id"])).steps == ("set theme",)

    first, second = await m.explain_recall_plan("Turn off dark mode")
    assert first == PlanExplanation(
        rank=1,
        id=stored.id,
        query="Turn on dark mode",
        similarity=0.75,
        outcome_score=0.9,
        shared_tokens=("dark", "mode", "turn"),
        only_asked=("off",),
        only_stored=(),
        guard_differences=("asked has off, stored has on",),
        state=ConsolidationState.RAW,
        threshold=0.7,
        verdict=ExplanationVerdict.GUARDED,
        cosine=None,
    )
    assert isinstance(first.verdict, ExplanationVerdict)
    assert isinstance(first.state, ConsolidationState)
    assert (second.id, second.verdict) == (other.id, ExplanationVerdict.BELOW_THRESHOLD)

    rules = {"guard": Guard.OFF, "similarity_threshold": 0.5}
    assert (await m.recall_plan("Turn off dark mode", **rules)).id == stored.id
    verdicts = [one.verdict for one in await m.explain_recall_plan("Turn off dark mode", **rules)]
    assert verdicts == [ExplanationVerdict.REPLAYED, ExplanationVerdict.OUTRANKED]

    (nothing,) = await m.explain_recall_plan("what is the capital of france")
    assert nothing.verdict is ExplanationVerdict.NONE_SIMILAR
    assert (nothing.rank, nothing.id, nothing.shared_tokens) == (None, None, ())
    (blank,) = await m.explain_recall_plan(" ")
    assert blank.verdict is ExplanationVerdict.BLANK_QUERY


async def test_guard_tokens(m: Any) -> None:
    tokens = await m.guard_tokens("do not pay invoice 17")
    assert [(one.token, one.guard_class) for one in tokens] == [
        ("not", GuardClass.MEANING),
        ("17", GuardClass.VALUES),
    ]
    assert [one.position for one in tokens] == [1, 2]
    assert all(isinstance(one.guard_class, GuardClass) for one in tokens)
    assert await m.guard_tokens("reset my password") == []
    assert await m.guard_tokens(None) == []
    with pytest.raises(LimitError) as caught:
        await m.guard_tokens("x" * 100_001)
    assert caught.value.parameter == "query"


async def test_memories(m: Any) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    given: dict[str, Any] = {
        "scope": Scope.PRIVATE,
        "memory_type": "semantic",
        "importance": 0.25,
        "tags": ("travel", "ada"),
        "metadata": {"seat": {"side": "window", "rows": [1, 2.5, None, True]}},
        "source_type": "human",
        "source_id": "mail-1",
        "thread_id": "t-1",
        "created_by": "ada",
        "kind": "preference",
        "subject": "ada",
        "predicate": "seat",
        "entities": ("airline",),
        "aliases": ("seat choice",),
        "location": "Oslo",
        "confidence": 0.75,
        "status": "active",
        "valid_from": since,
        "valid_to": datetime(2100, 1, 1, tzinfo=UTC),
        "temporal_scope": "persistent",
    }
    stored = await m.remember("Ada prefers window seats", ttl=timedelta(days=30), **given)
    assert stored.status is PlanStatus.STORED
    assert len(stored.content_hash) == 32

    (memory,) = await m.get_memories([uuid4(), str(stored.id)])
    assert memory.position == 2
    assert memory.content == "Ada prefers window seats"
    assert memory.content_hash == stored.content_hash
    assert {name: getattr(memory, name) for name in given} == given
    assert memory.expires_at - memory.created_at == timedelta(days=30)
    assert (memory.version, memory.prev_version_id, memory.last_accessed_at) == (1, None, None)

    filters = {"tags": ["ada", "nobody"], "types": ["semantic"], "since": memory.created_at}
    (found,) = await m.recall("seat", **filters)
    assert (found.id, found.rank, found.content) == (stored.id, 1, memory.content)
    assert found.metadata == given["metadata"]
    assert found.memory_type == "semantic"
    assert await m.recall("seat", tags=["ada", "nobody"], tags_all=True) == []
    assert await m.recall("seat", until=since) == []

    (grant,) = await m.share(stored.id, ["bob"], permission="write", ttl=timedelta(hours=1))
    assert (grant.agent_id, grant.permission) == ("bob", Permission.WRITE)
    assert grant.expires_at.tzinfo is UTC
    assert await m.check_permission(stored.id, Permission.READ, agent_id="bob")
    assert not await m.check_permission(stored.id, Permission.DELETE, agent_id="bob")
    assert [found.id for found in await m.recall("seat", agent_id="bob")] == [stored.id]
    answers = await m.unshare(stored.id, ["bob", "eve"])
    assert {(answer.agent_id, answer.status) for answer in answers} == {
        ("bob", "removed"),
        ("eve", "absent"),
    }
    assert not await m.check_permission(stored.id, "read", agent_id="bob")
    (gone,) = await m.forget([stored.id])
    assert (gone.id, gone.status) == (stored.id, "deleted")
    assert await m.get_memories([stored.id]) == []


async def test_administration_and_pure_functions(m: Any, db: Db) -> None:
    assert (await m.version()).count(".") == 2
    assert await m.configure("success_threshold", "0.6") == "0.6"
    assert await m.setting("success_threshold") == "0.6"
    assert await m.configure("success_threshold", None) == "0.5"
    assert await m.signature_tokens("Reset my PASSWORD?") == ("password", "reset")
    assert await m.jaccard(["a", "b"], ("b", "c")) == 1 / 3
    assert await m.canonical_predicate(" dietary--identity ") == "dietary_identity"
    role = f"client_test_{uuid4().hex}"
    db.execute(f"CREATE ROLE {role}")
    try:
        async with m.transaction() as tx:
            assert await tx.grant_access(role, "tenant") is None
            assert await tx.bind_role(role, "acme") is None
            assert await tx.unbind_role(role, "acme") is None
            assert await tx.revoke_access(role) is None
            raise psycopg.Rollback
    finally:
        db.execute(f"DROP ROLE {role}")


# Who acts


async def test_private_plans_are_their_owners(m: Any) -> None:
    await m.remember_plan(*PLAN, agent_id="alice")
    miss = await m.recall_plan(PLAN[0], agent_id="bob")
    assert (miss.hit, miss.candidates_considered) == (False, 0)
    assert (await m.recall_plan(PLAN[0], agent_id="alice")).owner_agent_id == "alice"
    assert not await m.recall_plan(PLAN[0], agent_id="alice", org_id="elsewhere")
    public = await m.remember_plan(*PLAN, agent_id="alice", scope=Scope.PUBLIC)
    assert (await m.recall_plan(PLAN[0], agent_id="bob")).id == public.id


async def test_the_clients_identity_holds_where_none_is_named(side: Side) -> None:
    connection = await side.connect()
    ada = side.client(connection, agent_id="ada", org_id="acme")
    stored = await ada.remember("x")
    (memory,) = await ada.get_memories([stored.id])
    assert (memory.owner_agent_id, memory.org_id) == ("ada", "acme")
    named = await ada.remember("x", agent_id="bob")
    (memory,) = await ada.get_memories([named.id], agent_id="bob")
    assert (memory.owner_agent_id, memory.org_id) == ("bob", "acme")
    results = await ada.remember_plans(
        [NewPlan(query="q one", steps=[], chunk_ids=[], outcome_score=1)]
    )
    assert (await ada.get_plan(results[0].id)).owner_agent_id == "ada"
    async with ada.transaction() as tx:
        assert (await tx.get_plan(results[0].id)).org_id == "acme"
    # A setting without an organisation is the database's, whoever sets it.
    await ada.configure("success_threshold", "0.9")
    assert await side.client(connection).setting("success_threshold") == "0.9"


# Batches


def plans() -> list[Any]:
    good = {"steps": ["s"], "chunk_ids": [], "outcome_score": 0.9, "scope": "public"}
    return [
        {"query": "first good question", **good},
        {"query": "  ", **good},
        {"query": "a question with a \0", **good},
        NewPlan(
            query="last good question", steps=["s"], chunk_ids=[], outcome_score=1, ttl=timedelta(1)
        ),
        {"query": "weak", **good, "outcome_score": 0.1},
    ]


async def test_batch_skip(m: Any) -> None:
    results = await m.remember_plans(plans(), on_error="skip")
    assert all(isinstance(result, BatchResult) for result in results)
    assert [(r.position, r.stored, r.status) for r in results] == [
        (1, True, PlanStatus.STORED),
        (2, False, PlanStatus.FAILED),
        (3, False, PlanStatus.FAILED),
        (4, True, PlanStatus.STORED),
        (5, False, PlanStatus.BELOW_THRESHOLD),
    ]
    assert [result.error is None for result in results] == [True, False, False, True, True]
    assert results[1].error.startswith("22023: ")
    assert "query" in results[1].error
    assert results[2].error.startswith("22023: plans[2].query contains U+0000")
    listed = {plan.id: plan for plan in await m.list_plans()}
    assert set(listed) == {results[0].id, results[3].id}
    kept = listed[results[3].id]
    assert kept.expires_at - kept.created_at == timedelta(days=1)


async def test_batch_of_nothing_but_refused_elements(m: Any) -> None:
    results = await m.remember_plans(["a", "b"], on_error="skip")
    assert [result.status for result in results] == [PlanStatus.FAILED] * 2


async def test_batch_abort(side: Side) -> None:
    m = side.client(side.dsn)
    with pytest.raises(ArgumentError) as caught:
        await m.remember_plans(plans()[:2])
    assert "query" in str(caught.value.parameter)
    with pytest.raises(ArgumentError) as caught:
        await m.remember_plans([plans()[0], plans()[2]])
    assert caught.value.parameter == "plans[1].query"
    assert await m.list_plans() == []
    assert len(await m.remember_plans([plans()[0], plans()[3]])) == 2


# Transactions


async def remember_and_fail(m: Any) -> None:
    async with m.transaction() as tx:
        await tx.remember("lost")
        raise ZeroDivisionError


async def test_transaction_commits_or_rolls_back(side: Side, db: Db) -> None:
    for name in ("dsn", "pool", "autocommit"):
        m = side.client(await side.source(name))
        async with m.transaction() as tx:
            kept = await tx.remember("kept")
            with pytest.raises(ZeroDivisionError):
                await remember_and_fail(tx)
            assert db.execute("SELECT FROM mnemo.memory").fetchall() == []
        with pytest.raises(psycopg.InterfaceError, match="closed"):
            await tx.version()
        with pytest.raises(ZeroDivisionError):
            await remember_and_fail(m)
        async with m.transaction() as tx:
            await tx.remember("lost")
            raise psycopg.Rollback
        assert db.execute("SELECT id FROM mnemo.memory").fetchall() == [(kept.id,)]
        await m.forget([kept.id])
        db.execute("DELETE FROM mnemo.memory")


async def test_transaction_on_a_callers_connection_is_a_savepoint(side: Side, db: Db) -> None:
    connection = await side.connect()
    m = side.client(connection)
    async with m.transaction() as tx:
        await tx.remember("one")
    assert connection.info.transaction_status == TransactionStatus.INTRANS
    with pytest.raises(ZeroDivisionError):
        await remember_and_fail(m)
    assert [hit.content for hit in await m.recall("")] == ["one"]
    assert db.execute("SELECT FROM mnemo.memory").fetchall() == []
    await done(connection.rollback())
    assert await m.recall("") == []


# A caller's connection


async def test_nothing_of_a_callers_connection_changes(side: Side, db: Db) -> None:
    settings = "SELECT name, setting FROM pg_settings WHERE name NOT LIKE '%.%' ORDER BY name"
    for autocommit in (False, True):
        connection = await side.connect(row_factory=namedtuple_row, autocommit=autocommit)
        await done(connection.execute("SET search_path = pg_temp; SET TimeZone = 'Asia/Kolkata'"))
        await done(connection.commit())
        before = await fetch(connection, settings)
        await done(connection.commit())
        factories = connection.row_factory, connection.cursor_factory
        async with side.client(connection, agent_id="ada") as m:
            await m.remember_plan(*PLAN)
            assert await m.recall_plan(PLAN[0])
        status = connection.info.transaction_status
        assert status == (TransactionStatus.IDLE if autocommit else TransactionStatus.INTRANS)
        assert connection.autocommit is autocommit
        assert (connection.row_factory, connection.cursor_factory) == factories
        assert await fetch(connection, settings) == before
        await done(connection.rollback())
        stored = db.execute("SELECT count(*) FROM mnemo.memory").fetchone()
        assert stored == (int(autocommit),)
        await done(connection.close())


async def test_an_error_leaves_the_transaction_to_its_owner(side: Side) -> None:
    connection = await side.connect()
    m = side.client(connection)
    with pytest.raises(ArgumentError):
        await m.remember("")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        await m.version()
    await done(connection.rollback())
    assert await m.version()


class TextAsBytes(psycopg.adapt.Loader):
    """Somebody's own idea of what text and jsonb are."""

    def load(self, data: Any) -> bytes:
        return bytes(data)


async def test_answers_do_not_depend_on_the_connection(side: Side) -> None:
    answers = []
    kinds: Any = psycopg.RawCursor, psycopg.ClientCursor
    if side.name == "async":
        kinds = psycopg.AsyncRawCursor, psycopg.AsyncClientCursor
    options: dict[str, Any]
    for options in (
        {},
        {"cursor_factory": kinds[0], "prepare_threshold": 0},
        {"cursor_factory": kinds[1], "prepare_threshold": None},
        {"options": "-c DateStyle=German -c IntervalStyle=sql_standard -c TimeZone=Asia/Kolkata"},
        {"options": "-c bytea_output=escape -c extra_float_digits=-10 -c search_path=''"},
        {"adapters": ["text", "jsonb", "uuid", "timestamptz", "float8", "bool"]},
    ):
        adapters = options.pop("adapters", [])
        connection = await side.connect(**options)
        for kind in adapters:
            connection.adapters.register_loader(kind, TextAsBytes)
        m = side.client(connection)
        stored = await m.remember(
            "x", metadata={"a": [1]}, importance=1 / 3, ttl=timedelta(hours=30), tags=["t"]
        )
        (memory,) = await m.get_memories([stored.id])
        kept = memory.expires_at - memory.created_at
        hash_ok = memory.content_hash == stored.content_hash
        answers.append((kept, hash_ok, memory.importance, memory.metadata, memory.tags))
        assert memory.created_at.tzinfo is UTC
        assert await m.check_permission(memory.id, "read") is True
        await done(connection.close())
    assert answers == [(timedelta(hours=30), True, 1 / 3, {"a": [1]}, ("t",))] * len(answers)


async def test_reads_in_a_read_only_transaction(side: Side) -> None:
    connection = await side.connect(options="-c default_transaction_read_only=on")
    m = side.client(connection)
    assert (await m.recall_plan(PLAN[0])).reason is RecallReason.NONE_SIMILAR
    assert await m.recall("x") == []
    with pytest.raises(ReadOnlyError):
        await m.remember_plan(*PLAN)


# Pools and connection strings


async def test_a_pool_of_one_is_not_used_up(side: Side) -> None:
    pool = await side.pool()
    m = side.client(pool)
    for _ in range(3):
        with pytest.raises(ArgumentError):
            await m.remember("")
        with pytest.raises(TypeError):
            await m.remember(1)
        with pytest.raises(NotFoundError):
            await m.get_plan(uuid4())
        with pytest.raises(psycopg.errors.DivisionByZero):
            await m.run(raw("SELECT 1 / 0 AS value"))
        with pytest.raises(ZeroDivisionError):
            await remember_and_fail(m)
        assert await m.recall("") == []
    assert pool.get_stats()["pool_available"] == 1
    await m.close()
    assert not pool.closed
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await m.version()


async def test_cancellation_gives_the_connection_back(dsn: str) -> None:
    async with psycopg_pool.AsyncConnectionPool(dsn, min_size=1, max_size=1, timeout=5) as pool:
        m = AsyncMnemo(pool)
        for _ in range(3):
            sleeping = asyncio.create_task(m.run(raw("SELECT pg_sleep(60) AS value")))
            await asyncio.sleep(0.1)
            sleeping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sleeping
            assert await m.version()

        async def remember_and_sleep() -> None:
            async with m.transaction() as tx:
                await tx.remember("lost")
                await tx.run(raw("SELECT pg_sleep(60) AS value"))

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(remember_and_sleep(), 0.3)
        assert await m.recall("") == []
        assert pool.get_stats()["pool_available"] == 1


async def test_a_client_closes_what_it_opened(side: Side, db: Db) -> None:
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    before = db.execute(others).fetchone()
    async with side.client(side.dsn) as m:
        await m.remember("kept")
        assert db.execute(others).fetchone() != before
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await m.version()
    await m.close()
    for _ in range(100):
        if db.execute(others).fetchone() == before:
            break
        await asyncio.sleep(0.05)
    assert db.execute(others).fetchone() == before
    assert db.execute("SELECT content FROM mnemo.memory").fetchall() == [("kept",)]

    unused = side.client(side.dsn)
    await unused.close()
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await unused.version()


async def test_a_wrong_address_is_reported_at_once(side: Side) -> None:
    wrong_kinds = (UnavailableError, psycopg.ProgrammingError)
    for wrong in ("postgresql://127.0.0.1:1/x", "host=/nonexistent dbname=x", "no such=thing"):
        m = side.client(wrong)
        async with asyncio.timeout(10):
            with pytest.raises(wrong_kinds):
                await m.version()
            with pytest.raises(wrong_kinds):
                async with m:
                    pass


@pytest.mark.parametrize("source", [None, 1, b"postgresql:///x", object()])
def test_other_sources_are_refused(source: Any) -> None:
    for kind in (Mnemo, AsyncMnemo):
        with pytest.raises(TypeError, match="source must be a connection string"):
            kind(source)


async def test_each_client_wants_connections_of_its_kind(side: Side) -> None:
    other: Callable[[Any], Any] = AsyncMnemo if side.name == "sync" else Mnemo
    with pytest.raises(TypeError, match="source must be"):
        other(await side.connect())
    with pytest.raises(TypeError, match="source must be"):
        other(await side.pool())


async def test_many_at_once(side: Side) -> None:
    m = side.client(side.dsn)
    found: list[bool] = []

    async def work(number: int) -> None:
        query = f"question number {number} about topic{number}"
        for _ in range(5):
            await m.remember_plan(query, [f"step {number}"], [], 0.9)
            match = await m.recall_plan(query)
            found.append(match.steps == (f"step {number}",))

    if isinstance(m, Awaited):
        threads = [threading.Thread(target=asyncio.run, args=[work(n)]) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        await asyncio.gather(*[work(number) for number in range(12)])
    assert found == [True] * 60
