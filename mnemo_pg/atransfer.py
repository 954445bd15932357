"""Everything stored, out of a database and into another; transfer.py is made from this file."""

# An export is lines of JSON: ids, hashes, nonces, times and all else as it is, so that export,
# import and export again give the same lines. Both need level admin. Plans and memories of
# somebody's own, in the words of remember_plan and remember, are what importer.py brings in.

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import IO

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from mnemo_pg import statements
from mnemo_pg._lines import BATCH_LINES, Batch, TransferSummary, batches, end_line
from mnemo_pg.aclient import AsyncMnemo
from mnemo_pg.errors import ArgumentError, UnavailableError
from mnemo_pg.importer import ImportAborted, ImportBroken, LineError
from mnemo_pg.types import OnError

__all__ = ["TransferSummary", "export_lines", "import_lines"]


@asynccontextmanager
async def _snapshot(client: AsyncMnemo) -> AsyncIterator[AsyncMnemo]:
    async with client._connection() as connection:
        if (
            not isinstance(connection, AsyncConnection)
            or connection.info.transaction_status != TransactionStatus.IDLE
        ):
            yield client
            return
        async with connection.transaction():
            await connection.execute(statements.SNAPSHOT, prepare=False)
            yield AsyncMnemo(connection, prepare=client._prepare)


async def export_lines(
    client: AsyncMnemo,
    *,
    org_id: str | None = None,
    roles: bool = False,
) -> AsyncIterator[str]:
    """The lines of an export without their line ends: a header, what is stored, an end line.

    `org_id` None exports all organisations, else that one with the global records that it wrote;
    `roles` adds levels and bindings of roles. All lines are one state of the database: they are
    read in one REPEATABLE READ transaction, on a connection of yours that is in a transaction, or
    that is SQLAlchemy's, in yours. Few lines are held at a time.

        with open("acme.jsonl", "w", encoding="utf-8", newline="\\n") as file:
            async for line in export_lines(m, org_id="acme"):
                file.write(line + "\\n")
    """
    count, last = 0, None
    async with _snapshot(client) as snapshot:
        while page := await snapshot.export_records(
            org_id=org_id, last=last, limit=BATCH_LINES, roles=roles
        ):
            last = page[-1].record
            count += len(page)
            for line in page:
                yield line.record
    yield end_line(count)


async def import_lines(
    client: AsyncMnemo,
    source: IO[bytes],
    on_error: Callable[[LineError], None],
    on_bytes: Callable[[int], None] = lambda count: None,
    *,
    abort: bool = False,
) -> TransferSummary:
    """Write the lines of an export, read from a file; what is there already is left alone.

    `on_error` is told of bad lines in their order, and the others are written, batch by batch, each
    a transaction: after an interruption the same file can be imported again. `abort` makes it all
    or nothing: a bad line, or an end line that is missing, raises `ImportAborted`. `ImportBroken`
    when the connection fails. `on_bytes` is told how much was read.
    """
    if not abort:
        return await _import(client, source, on_error, on_bytes, OnError.SKIP)
    async with client.transaction() as transaction:
        summary = await _import(transaction, source, on_error, on_bytes, OnError.ABORT)
        if not summary.complete:
            raise ImportAborted(LineError(summary.lines, "the export is cut off here"))
        return summary


async def _import(
    client: AsyncMnemo,
    source: IO[bytes],
    on_error: Callable[[LineError], None],
    on_bytes: Callable[[int], None],
    mode: OnError,
) -> TransferSummary:
    summary = TransferSummary()
    for batch in batches(source, on_bytes):
        if batch.bad and mode == OnError.ABORT:
            raise ImportAborted(batch.bad[0])
        try:
            bad = sorted(batch.bad + await _write(client, batch, mode, summary))
        except UnavailableError as error:
            raise ImportBroken(0 if mode == OnError.ABORT else summary.lines) from error
        for line in bad:
            on_error(line)
        summary.failed += len(bad)
        summary.complete = batch.end == batch.last - 1
        summary.lines = batch.last
    return summary


async def _write(
    client: AsyncMnemo,
    batch: Batch,
    mode: OnError,
    summary: TransferSummary,
) -> list[LineError]:
    if not batch.lines:
        return []
    try:
        answers = await client.import_records([text for _, text in batch.lines], on_error=mode)
    except ArgumentError as error:
        position = error.detail.get("position")
        if not isinstance(position, int):
            raise
        said = error.message.removeprefix(f"element {position}: ")
        raise ImportAborted(LineError(batch.number(position), said)) from error
    summary.add(answers)
    return [
        LineError(batch.number(answer.position), answer.error.removeprefix("22023: "))
        for answer in answers
        if answer.error is not None
    ]
