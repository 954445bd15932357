"""Mnemo.replay: what is reported when its block ends; recalls that the client logs."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from mnemo_pg import ArgumentError, AsyncMnemo, Mnemo, NotFoundError, RecallReason
from tests.client.conftest import Side, fetch

PLAN = ("how do I reset my password", ["open settings", "choose reset"], ["kb-17"], 0.92)
OTHER = "when is the office open"


class Block:
    """The block of replay of either client, entered and left by hand."""

    def __init__(self, side: Side, query: str, **arguments: Any) -> None:
        self._sync = side.name == "sync"
        client = side.client(side.dsn)
        self.run: Any = (client.client if self._sync else client).replay(query, **arguments)

    async def begin(self) -> Any:
        return self.run.__enter__() if self._sync else await self.run.__aenter__()

    async def end(self, error: BaseException | None = None) -> None:
        told = (None if error is None else type(error), error, None)
        if self._sync:
            self.run.__exit__(*told)
        else:
            await self.run.__aexit__(*told)


async def stored(side: Side) -> Any:
    return (await side.client(side.dsn).remember_plan(*PLAN)).id


async def reports(side: Side) -> list[tuple[bool, float, str | None]]:
    match = await side.client(side.dsn).recall_plan(PLAN[0], stale="include")
    assert match.id is not None
    found = await side.client(side.dsn).plan_outcomes(match.id)
    return [(one.success, one.score, one.note) for one in reversed(found)]


async def test_a_block_that_ends_well_is_a_success(side: Side) -> None:
    plan = await stored(side)
    block = Block(side, PLAN[0])
    run = await block.begin()
    assert (run.hit, run.plan.id, run.steps, run.warnings) == (True, plan, tuple(PLAN[1]), [])
    assert run.outcome is None
    await block.end()
    assert (run.outcome.uses, run.outcome.successes) == (1, 1)
    assert await reports(side) == [(True, 1.0, None)]


async def test_an_exception_is_a_failure_and_goes_on(side: Side) -> None:
    await stored(side)
    if side.name == "sync":
        with Mnemo(side.dsn) as m, pytest.raises(ValueError, match="secret"), m.replay(PLAN[0]):
            raise ValueError("secret")
    else:
        async with AsyncMnemo(side.dsn) as m:
            with pytest.raises(ValueError, match="secret"):
                async with m.replay(PLAN[0]):
                    raise ValueError("secret")
    assert await reports(side) == [(False, 0.0, "ValueError")]


async def test_what_stops_a_program_says_nothing(side: Side) -> None:
    await stored(side)
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
        block = Block(side, PLAN[0])
        run = await block.begin()
        run.remember(["never"])
        await block.end(kind())
        assert (run.outcome, run.stored) == (None, None)
    assert await reports(side) == []


async def test_what_was_said_before_a_program_stops_counts(side: Side) -> None:
    await stored(side)
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
        for say in (lambda run: run.success(0.8, "done"), lambda run: run.ignore()):
            block = Block(side, PLAN[0])
            run = await block.begin()
            say(run)
            run.remember(["never"])
            await block.end(kind())
            assert run.stored is None
    assert await reports(side) == [(True, 0.8, "done")] * 4


async def test_one_object_may_serve_several_blocks(side: Side) -> None:
    """One after the other: each begins with nothing said."""
    await stored(side)
    block = Block(side, PLAN[0])
    for say in (
        lambda run: (run.failure("slow"), run.remember(["another way"], outcome_score=0.5)),
        lambda run: run.ignore(),
        lambda run: None,
    ):
        run = await block.begin()
        assert (run.outcome, run.stored) == (None, None)
        say(run)
        await block.end()
    assert run.stored is None
    assert [one for one in await reports(side) if one[0]][-1] == (True, 1.0, None)
    assert len(await reports(side)) == 3


async def test_what_was_found_is_stored_though_the_report_fails(side: Side) -> None:
    """Such as when somebody forgot the plan meanwhile."""
    plan = await stored(side)
    block = Block(side, PLAN[0])
    run = await block.begin()
    await side.client(side.dsn).forget([plan])
    run.remember(["another way"])
    with pytest.raises(NotFoundError):
        await block.end()
    assert run.stored.stored
    assert (await side.client(side.dsn).recall_plan(PLAN[0])).id == run.stored.id != plan


async def test_what_the_block_says_counts(side: Side) -> None:
    """The last word does, also against how the block ends."""
    await stored(side)
    for say, error in (
        (lambda run: (run.failure("slow"), run.success(0.7, "in the end")), ValueError()),
        (lambda run: run.failure("wrong page", score=0.2), None),
        (lambda run: (run.success(), run.ignore()), None),
        (lambda run: run.ignore(), ValueError()),
        (lambda run: (run.ignore(), run.failure()), None),
    ):
        block = Block(side, PLAN[0])
        say(await block.begin())
        await block.end(error)
    assert await reports(side) == [
        (True, 0.7, "in the end"), (False, 0.2, "wrong page"), (False, 0.0, None),
    ]  # fmt: skip


async def test_a_miss_stores_what_was_found(side: Side) -> None:
    block = Block(side, PLAN[0], context="tools 2", agent_id="ada")
    run = await block.begin()
    assert (run.hit, run.plan, run.steps) == (False, None, ())
    assert run.match.reason is RecallReason.NONE_SIMILAR
    run.remember(iter(PLAN[1]), iter(PLAN[2]), 0.8, tags=["found"])
    assert run.stored is None
    await block.end()
    assert run.stored.stored
    assert run.outcome is None
    found = await side.client(side.dsn).recall_plan(PLAN[0], context="tools 2", agent_id="ada")
    assert (found.id, found.steps, found.chunk_ids, found.outcome_score) == (
        run.stored.id, tuple(PLAN[1]), tuple(PLAN[2]), 0.8,
    )  # fmt: skip


async def test_a_failed_block_stores_nothing(side: Side) -> None:
    block = Block(side, PLAN[0])
    run = await block.begin()
    run.remember(PLAN[1])
    await block.end(ValueError())
    assert run.stored is None
    assert not (await side.client(side.dsn).recall_plan(PLAN[0])).hit


async def test_an_error_in_reporting(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    """It is raised after a block that ended well, and logged after one that did not."""
    await stored(side)
    block = Block(side, PLAN[0])
    (await block.begin()).success(score=7)
    with pytest.raises(ArgumentError):
        await block.end()
    block = Block(side, PLAN[0])
    (await block.begin()).failure(score=7)
    with caplog.at_level(logging.WARNING, "mnemo_pg"):
        await block.end(ValueError())
    assert [record.name for record in caplog.records] == ["mnemo_pg"]
    assert await reports(side) == []


async def test_it_has_no_match_before_it_begins(side: Side) -> None:
    block = Block(side, PLAN[0])
    with pytest.raises(RuntimeError, match="with statement"):
        _ = block.run.hit


async def test_what_not_to_do(side: Side) -> None:
    await side.client(side.dsn).remember_failure(PLAN[0], ["mail it"], "mail is not safe")
    run = await Block(side, PLAN[0]).begin()
    assert [one["reason"] for one in run.warnings] == ["mail is not safe"]


# Recalls that the client logs


async def logged(side: Side) -> list[tuple[Any, ...]]:
    connection = await side.connect(autocommit=True)
    return await fetch(  # type: ignore[no-any-return]
        connection,
        "SELECT agent_id, reason, plan_id IS NOT NULL, similarity, duration_ms > 0"
        " FROM mnemo.recall_log ORDER BY id",
    )


@pytest.mark.parametrize("kind", ["dsn", "pool", "connection"])
async def test_recalls_are_logged(side: Side, kind: str) -> None:
    await stored(side)
    m = side.client(await side.source(kind), agent_id="ada", log_recalls=True)
    await m.recall_plan(PLAN[0], agent_id="default")
    await m.recall_plan(OTHER)
    if kind != "connection":
        with suppress(ArgumentError):
            await m.recall_plan(PLAN[0], similarity_threshold=7)
    assert await logged(side) == []
    if kind == "connection":
        # Part of the caller's transaction, as all that is done on a connection of its own.
        assert await m.flush_recalls() == 2
        assert await logged(side) == []
        return
    await m.close()
    assert await logged(side) == [
        ("default", "exact", True, 1.0, True), ("ada", "none_similar", False, None, True),
    ]  # fmt: skip


async def test_a_hundred_are_written_at_once(side: Side) -> None:
    m = side.client(side.dsn, log_recalls=True)
    for _ in range(99):
        await m.recall_plan(OTHER)
    assert await logged(side) == []
    await m.recall_plan(OTHER)
    assert len(await logged(side)) == 100


async def test_an_error_in_logging_is_nobodys_error(
    side: Side, caplog: pytest.LogCaptureFixture
) -> None:
    m = side.client(side.dsn, log_recalls=True)
    with psycopg.connect(side.dsn, autocommit=True) as owner:
        owner.execute("ALTER TABLE mnemo.recall_log RENAME TO elsewhere")
    with caplog.at_level(logging.WARNING, "mnemo_pg"):
        for _ in range(100):
            await m.recall_plan(OTHER)
    assert len(caplog.records) == 1
    await m.close()


async def test_nothing_is_logged_unless_asked_for(side: Side) -> None:
    m = side.client(side.dsn)
    await m.recall_plan(OTHER)
    assert await m.flush_recalls() == 0
    await m.close()
    assert await logged(side) == []
