"""The asynchronous client; `client.py` is generated from this file by `_sync.py`."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import update_wrapper
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from psycopg import AsyncConnection, AsyncCursor, InterfaceError, OperationalError
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from mnemo_pg import statements
from mnemo_pg._loan import AsyncLoan
from mnemo_pg._sqlalchemy import AsyncAlchemy
from mnemo_pg.errors import translate
from mnemo_pg.retrieval import MemoryAnswer, RetrievalPlan
from mnemo_pg.statements import Statement
from mnemo_pg.types import Guard, PlanMatch, RetrievalTemporal, StaleMode

if TYPE_CHECKING:
    from mnemo_pg._sqlalchemy import AsyncSQLAlchemySource
    from mnemo_pg.areplay import AsyncReplay

P = ParamSpec("P")
T = TypeVar("T")

_Recall = tuple[str | None, str | None, dict[str, Any]]
_log = logging.getLogger("mnemo_pg")

# Recalls that are written together, and that wait at most.
_TOGETHER = 100
_WAITING = 10_000


def _method(
    build: Callable[P, Statement[T]], *, acting: bool = True
) -> Callable[Concatenate[AsyncMnemo, P], Coroutine[Any, Any, T]]:
    """The method that runs what `build` makes; `acting`: the client's identity holds if unnamed."""

    async def method(self: AsyncMnemo, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if acting:
            if kwargs.get("agent_id") is None:
                kwargs["agent_id"] = self.agent_id
            if kwargs.get("org_id") is None:
                kwargs["org_id"] = self.org_id
        began = perf_counter()
        answer = await self.run(build(*args, **kwargs))
        if isinstance(answer, PlanMatch):
            await self._log_recall(answer, perf_counter() - began, kwargs)
        return answer

    update_wrapper(method, build)
    method.__signature__ = statements.method_signature(build)  # type: ignore[attr-defined]
    return method


def _ended(connection: AsyncConnection[Any]) -> bool:
    """Whether the server has ended the connection, found out without asking the server."""
    try:
        # Reads what has arrived and never waits: first a farewell, then the end.
        for _ in range(2):
            connection.pgconn.consume_input()
    except OperationalError:
        return True
    return False


async def _suit_pooler(connection: AsyncConnection[Any]) -> None:
    """Prepare no statements behind a pooler, which may give each transaction another server.

    A pooler shows itself by a process id that is not the server's.
    """
    cursor = await connection.execute(statements.BACKEND)
    row = await cursor.fetchone()
    if row is None or row[0] != connection.info.backend_pid:
        connection.prepare_threshold = None


class AsyncMnemo:
    """mnemo_pg in one database, asynchronous.

    `source` is where to run:

    - a connection string: the first call (or `async with`) opens a pool of up to 10 connections,
      and `close()` closes it. Each call is a transaction of its own.
    - a pool of yours: each call takes a connection, commits and gives it back, errors or not.
      In either pool connections that the server has ended are replaced before they are used.
    - a connection of yours: calls run in your transaction, or commit singly if you set autocommit.
      Nothing of it is changed, and nothing is committed. Its client encoding should be UTF8.
    - an AsyncConnection or AsyncSession of SQLAlchemy on psycopg 3: the same, in its transaction.

    `agent_id` and `org_id` say who acts in calls that name nobody; None leaves it to the role's
    binding, else to the settings `default_agent_id` and `default_org_id`. A client on a pool may be
    used by many tasks at once; one on a connection takes turns, and shares its transaction.

    `prepare` says whether calls may become prepared statements, which a pooler in transaction mode
    such as PgBouncer before 1.21 loses. False: never. True: as psycopg does it, after five calls.
    None: on a connection or pool of yours as its `prepare_threshold` says, and in a pool of the
    client's own never behind a pooler, which it finds out by itself.

    `log_recalls` collects what `recall_plan` answered and writes it by `log_recall`, for the views
    `recall_stats` and `plan_value`: every 100 recalls, by `flush_recalls()` and when the client is
    closed. On a connection of yours only `flush_recalls()` writes, as it would be part of your
    transaction. At most the last 10,000 recalls wait; an error in writing them is logged under the
    name `mnemo_pg`, and they are lost.

    Every call may raise `AccessError` (the role or the agent may not), `ArgumentError` (a bad
    value, named in `.parameter`), `LimitError` (a text, list or batch over a limit), `TypeError`
    (a value of a wrong type, before anything is sent), `NotInstalledError`, and what happens to
    connections: `UnavailableError`, `TimedOutError`, `ConflictError`, `ReadOnlyError` (see
    `.retryable`).

        async with AsyncMnemo("postgresql:///app", agent_id="support") as m:
            await m.remember_plan("reset my password", ["open settings"], ["kb-17"], 0.9)
            plan = await m.recall_plan("my password: reset")
    """

    def __init__(
        self,
        source: str | AsyncConnection[Any] | AsyncConnectionPool[Any] | AsyncSQLAlchemySource,
        *,
        agent_id: str | None = None,
        org_id: str | None = None,
        prepare: bool | None = None,
        log_recalls: bool = False,
    ) -> None:
        self.agent_id = agent_id
        self.org_id = org_id
        # psycopg's True would prepare at once: a statement used once is not worth it.
        self._prepare = False if prepare is False else None
        self._recalls: deque[_Recall] | None = deque(maxlen=_WAITING) if log_recalls else None
        self._closed = False
        self._dsn: str | None = None
        self._source: AsyncConnection[Any] | AsyncConnectionPool[Any] | AsyncAlchemy
        if isinstance(source, str):
            self._dsn = source
            self._source = AsyncConnectionPool(
                source,
                min_size=1,
                max_size=10,
                open=False,
                kwargs={"autocommit": True},
                configure=_suit_pooler if prepare is None else None,
            )
        elif isinstance(source, (AsyncConnection, AsyncConnectionPool)):
            self._source = source
        elif lent := AsyncAlchemy.of(source):
            self._source = lent
        else:
            raise TypeError(
                "source must be a connection string, an AsyncConnection or an AsyncConnectionPool,"
                " or an AsyncConnection or AsyncSession of SQLAlchemy,"
                f" not {type(source).__name__}"
            )

    async def open(self) -> None:
        """Open the pool of a client made from a connection string; the first call does it too.

        `UnavailableError` at once if the database cannot be reached.
        """
        if self._dsn is not None and isinstance(self._source, AsyncConnectionPool):
            # A pool keeps trying in the background and reports a wrong address after 30 seconds.
            with translate():
                await (await AsyncConnection.connect(self._dsn)).close()
            await self._source.open()

    async def close(self) -> None:
        """Close the pool that the client opened; your own connection or pool stays as it is."""
        if isinstance(self._source, AsyncConnectionPool) and not self._closed:
            await self._flush_quietly()
        self._closed = True
        if self._dsn is not None and isinstance(self._source, AsyncConnectionPool):
            await self._source.close()

    async def __aenter__(self) -> Self:
        """Open, as `open()`."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close, as `close()`."""
        await self.close()

    async def flush_recalls(self) -> int:
        """Write the recalls that `log_recalls` has collected; how many."""
        waiting = self._recalls
        logged = 0
        while waiting:
            batch: dict[tuple[str | None, str | None], list[dict[str, Any]]] = {}
            for _ in range(min(len(waiting), _WAITING)):
                agent_id, org_id, entry = waiting.popleft()
                batch.setdefault((agent_id, org_id), []).append(entry)
            for (agent_id, org_id), entries in batch.items():
                logged += await self.log_recall(entries, agent_id=agent_id, org_id=org_id)
        return logged

    async def _flush_quietly(self) -> None:
        try:
            await self.flush_recalls()
        except Exception:
            _log.warning("could not log recalls", exc_info=True)

    async def _log_recall(self, match: PlanMatch, took: float, who: Mapping[str, Any]) -> None:
        """Note an answer of `recall_plan`; write what has been noted when that is enough."""
        if self._recalls is None:
            return
        entry = {
            "reason": str(match.reason),
            "plan_id": match.id,
            "similarity": match.similarity,
            "asked_at": datetime.now(UTC),
            "duration_ms": took * 1000,
        }
        self._recalls.append((who.get("agent_id"), who.get("org_id"), entry))
        if len(self._recalls) >= _TOGETHER and isinstance(self._source, AsyncConnectionPool):
            await self._flush_quietly()

    @asynccontextmanager
    async def _connection(
        self,
        foreign: Sequence[BaseException] = (),
    ) -> AsyncIterator[AsyncConnection[Any] | AsyncAlchemy]:
        if self._closed:
            raise InterfaceError("this client is closed")
        # Also around the pool's part: it may find no connection, and it commits in the end.
        with translate(foreign):
            if not isinstance(self._source, AsyncConnectionPool):
                yield self._source
                return
            if self._dsn is not None and self._source.closed:
                await self.open()
            while True:
                # A check of the pool's own waits ever longer from one ended connection to the next.
                async with AsyncLoan(self._source) as connection:
                    if not _ended(connection):
                        yield connection
                        return

    async def run(self, statement: Statement[T]) -> T:
        """Run a statement of `mnemo_pg.statements`: what every method does."""
        async with self._connection() as connection:
            if isinstance(connection, AsyncAlchemy):
                return statement.shape(await connection.rows(statement, self._prepare))
            # A cursor of our own kind, in binary: whatever factories and text adapters the
            # connection has, and its DateStyle, answers come as the types that we promise.
            cursor = AsyncCursor(connection, row_factory=dict_row)
            call = statement.sql, statement.params
            await cursor.execute(*call, prepare=self._prepare, binary=True)
            rows = await cursor.fetchall()
        return statement.shape(rows)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncMnemo]:
        """A client whose calls are one transaction: all hold at the end of the block, or none.

        On a connection of yours that is not in autocommit this is a savepoint: the commit stays
        yours. Nested blocks are savepoints. Only the new client is part of the transaction, and it
        ends with the block.

            async with m.transaction() as tx:
                memory = await tx.remember("the draft is approved")
                await tx.share(memory.id, ["editor"])
        """
        foreign: list[BaseException] = []
        async with self._connection(foreign) as connection:
            if isinstance(connection, AsyncConnection) and not connection.autocommit:
                # psycopg's block would commit if it were the first: begin beforehand.
                await connection.execute(statements.BEGIN, prepare=False)
            async with connection.transaction():
                same = connection.source if isinstance(connection, AsyncAlchemy) else connection
                inner = AsyncMnemo(same, prepare=self._prepare)
                inner.agent_id, inner.org_id = self.agent_id, self.org_id
                inner._recalls = self._recalls
                try:
                    yield inner
                except BaseException as error:
                    foreign.append(error)
                    raise
                finally:
                    await inner.close()

    # Administration: agent_id and org_id are whom it is about, not who acts
    version = _method(statements.version, acting=False)
    configure = _method(statements.configure, acting=False)
    setting = _method(statements.setting, acting=False)
    grant_access = _method(statements.grant_access, acting=False)
    revoke_access = _method(statements.revoke_access, acting=False)
    bind_role = _method(statements.bind_role, acting=False)
    unbind_role = _method(statements.unbind_role, acting=False)
    export_records = _method(statements.export_records, acting=False)
    import_records = _method(statements.import_records, acting=False)
    read_events = _method(statements.read_events, acting=False)
    health = _method(statements.health, acting=False)
    rebuild_signatures = _method(statements.rebuild_signatures, acting=False)
    enable_vectors = _method(statements.enable_vectors, acting=False)
    disable_vectors = _method(statements.disable_vectors, acting=False)
    refresh_models = _method(statements.refresh_models, acting=False)
    seal = _method(statements.seal, acting=False)
    sweep = _method(statements.sweep, acting=False)
    chain_heads = _method(statements.chain_heads, acting=False)
    retain_events = _method(statements.retain_events, acting=False)
    set_poisoning_rule = _method(statements.set_poisoning_rule, acting=False)
    remove_poisoning_rule = _method(statements.remove_poisoning_rule, acting=False)
    poisoning_rules = _method(statements.poisoning_rules, acting=False)

    # Pure
    signature_tokens = _method(statements.signature_tokens, acting=False)
    guard_tokens = _method(statements.guard_tokens, acting=False)
    jaccard = _method(statements.jaccard, acting=False)
    canonical_predicate = _method(statements.canonical_predicate, acting=False)
    stable_hash = _method(statements.stable_hash, acting=False)

    # Memory
    remember = _method(statements.remember)
    remember_many = _method(statements.remember_many)
    update_memory = _method(statements.update_memory)
    get_memories = _method(statements.get_memories)
    recall = _method(statements.recall)
    forget = _method(statements.forget)
    forget_where = _method(statements.forget_where)
    forget_subject = _method(statements.forget_subject)
    touch = _method(statements.touch)
    log_read = _method(statements.log_read)
    share = _method(statements.share)
    unshare = _method(statements.unshare)
    delegate = _method(statements.delegate)
    revoke_delegation = _method(statements.revoke_delegation)
    delegations = _method(statements.delegations)
    check_permission = _method(statements.check_permission)
    history = _method(statements.history)
    verify_chain = _method(statements.verify_chain)
    export_chain = _method(statements.export_chain)
    quarantined = _method(statements.quarantined)
    release = _method(statements.release)
    purge = _method(statements.purge)

    # Plans
    remember_plan = _method(statements.remember_plan)
    remember_plans = _method(statements.remember_plans)
    recall_plan = _method(statements.recall_plan)
    recall_plans = _method(statements.recall_plans)
    duplicate_plans = _method(statements.duplicate_plans)
    remember_failure = _method(statements.remember_failure)
    recall_failures = _method(statements.recall_failures)
    list_failures = _method(statements.list_failures)
    explain_recall_plan = _method(statements.explain_recall_plan)
    get_plan = _method(statements.get_plan)
    list_plans = _method(statements.list_plans)
    record_plan_outcome = _method(statements.record_plan_outcome)
    plan_outcomes = _method(statements.plan_outcomes)
    log_recall = _method(statements.log_recall)
    retire_plan = _method(statements.retire_plan)
    revive_plan = _method(statements.revive_plan)
    promote_plan = _method(statements.promote_plan)
    invalidate_chunks = _method(statements.invalidate_chunks)
    revalidate_plan = _method(statements.revalidate_plan)
    watch_table = _method(statements.watch_table)
    unwatch_table = _method(statements.unwatch_table)
    watch_statements = _method(statements.watch_statements)

    # Retrieval plans, with the short names that go with `RetrievalPlan`
    normalize_retrieval_plan = _method(statements.normalize_retrieval_plan, acting=False)
    normalize_plan = normalize_retrieval_plan
    skip_retrieval_plan = _method(statements.skip_retrieval_plan, acting=False)
    skip_plan = skip_retrieval_plan
    retrieval_plan_cache_key = _method(statements.retrieval_plan_cache_key, acting=False)
    cache_key = retrieval_plan_cache_key
    retrieval_plan_result_key = _method(statements.retrieval_plan_result_key)
    result_key = retrieval_plan_result_key
    plan_retrieval = _method(statements.plan_retrieval)
    retrieve = _method(statements.retrieve)
    explain_retrieval = _method(statements.explain_retrieval)
    memory_map = _method(statements.memory_map)

    def replay(
        self,
        query: str,
        *,
        similarity_threshold: float | None = None,
        guard: Guard | str | None = None,
        context: str | None = None,
        stale: StaleMode | str = StaleMode.REFUSE,
        embedding: Sequence[float] | None = None,
        model: str | None = None,
        agent_id: str | None = None,
        org_id: str | None = None,
    ) -> AsyncReplay:
        """Recall a plan for a block that replays it, and report how it went when the block ends.

        The arguments are those of `recall_plan`. Ended well is a success, ended by an exception a
        failure, unless the block says otherwise; see `AsyncReplay`.

            async with m.replay("reset my password") as run:
                if run.hit:
                    carry_out(run.steps)
                else:
                    run.remember(find_out(), outcome_score=0.9)
        """
        from mnemo_pg.areplay import AsyncReplay

        recalled = {
            "similarity_threshold": similarity_threshold,
            "guard": guard,
            "context": context,
            "stale": stale,
            "embedding": embedding,
            "model": model,
        }
        return AsyncReplay(self, query, recalled, {"agent_id": agent_id, "org_id": org_id})

    async def recall_or_retrieve(
        self,
        query: str,
        *,
        plan: RetrievalPlan | Mapping[str, Any] | None = None,
        similarity_threshold: float | None = None,
        guard: Guard | str | None = None,
        context: str | None = None,
        stale: StaleMode | str = StaleMode.REFUSE,
        turn_id: int = 0,
        generation: int = 0,
        limit: int = 5,
        temporal: RetrievalTemporal | str = RetrievalTemporal.PREFER,
        embedding: Sequence[float] | None = None,
        model: str | None = None,
        agent_id: str | None = None,
        org_id: str | None = None,
    ) -> MemoryAnswer:
        """A plan to replay if one fits the query, else what memory knows: one answer says which.

        `recall_plan` with the query, `similarity_threshold`, `guard`, `context` and `stale`; on a
        miss `retrieve` with the other arguments, by `plan`, or by the one that `plan_retrieval`
        makes of the query; both with `embedding` and `model`. With experience memory off it
        retrieves.

            answer = await m.recall_or_retrieve("where does Rhea like to eat?")
            if answer.source is AnswerSource.PLAN:
                replay(answer.match.steps)
        """
        match = await self.recall_plan(
            query,
            similarity_threshold=similarity_threshold,
            guard=guard,
            context=context,
            stale=stale,
            embedding=embedding,
            model=model,
            agent_id=agent_id,
            org_id=org_id,
        )
        if match.hit:
            return MemoryAnswer(match=match)
        if plan is None:
            plan = await self.plan_retrieval(
                query, turn_id=turn_id, generation=generation, agent_id=agent_id, org_id=org_id
            )
        elif not isinstance(plan, RetrievalPlan):
            plan = await self.normalize_plan(plan)
        found = await self.retrieve(
            plan,
            limit=limit,
            temporal=temporal,
            embedding=embedding,
            model=model,
            agent_id=agent_id,
            org_id=org_id,
        )
        return MemoryAnswer(match=match, plan=plan, memories=tuple(found))
