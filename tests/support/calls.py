"""Calls of the public functions by name, for tests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb


def rows(conn: psycopg.Connection, function: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of mnemo.<function>, arguments named without p_; a dict is sent as jsonb.

    Inside a transaction the call has a savepoint, so that the transaction outlives an error.
    """
    statement = sql.SQL("SELECT * FROM mnemo.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier("p_" + name), sql.Placeholder(name))
            for name in arguments
        ),
    )
    values = {
        name: Jsonb(value) if isinstance(value, dict) else value
        for name, value in arguments.items()
    }
    inside = conn.info.transaction_status == TransactionStatus.INTRANS
    with (
        conn.transaction() if inside else nullcontext(),
        conn.cursor(row_factory=dict_row) as cursor,
    ):
        return cursor.execute(statement, values).fetchall()


def row(conn: psycopg.Connection, function: str, /, **arguments: Any) -> dict[str, Any]:
    """The only row of mnemo.<function>."""
    found = rows(conn, function, **arguments)
    assert len(found) == 1, found
    return found[0]


def value(conn: psycopg.Connection, function: str, /, **arguments: Any) -> Any:
    """The only value of mnemo.<function>."""
    (only,) = row(conn, function, **arguments).values()
    return only


def scalar(conn: psycopg.Connection, statement: str, *arguments: Any) -> Any:
    """The only value of a statement."""
    found = conn.execute(statement, arguments or None).fetchall()  # type: ignore[arg-type]
    assert len(found) == 1, found
    assert len(found[0]) == 1, found
    return found[0][0]


@dataclass
class Refusal:
    """An error of the API, taken apart."""

    sqlstate: str = ""
    message: str = ""
    detail: dict[str, Any] | None = None
    hint: str = ""


@contextmanager
def refused(sqlstate: str, parameter: str | None = None) -> Iterator[Refusal]:
    """The block must raise this error, with a message, a JSON object as DETAIL, and a HINT."""
    refusal = Refusal()
    try:
        yield refusal
    except psycopg.Error as error:
        diagnosis = error.diag
        seen = f"{diagnosis.sqlstate}: {diagnosis.message_primary} {diagnosis.message_detail}"
        assert diagnosis.sqlstate == sqlstate, seen
        refusal.sqlstate = sqlstate
        refusal.message = diagnosis.message_primary or ""
        refusal.detail = json.loads(diagnosis.message_detail or "null")
        refusal.hint = diagnosis.message_hint or ""
        assert refusal.message, seen
        assert isinstance(refusal.detail, dict), seen
        assert refusal.hint, seen
        if parameter is not None:
            assert refusal.detail.get("parameter") == parameter, seen
        return
    raise AssertionError(f"expected {sqlstate}, no error was raised")


def tables(conn: psycopg.Connection) -> Sequence[str]:
    """The tables of schema mnemo."""
    found = conn.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'mnemo'::regnamespace"
        " AND c.relkind IN ('r', 'p') ORDER BY 1"
    ).fetchall()
    return [name for (name,) in found]


def contents(conn: psycopg.Connection) -> dict[str, tuple[int, str]]:
    """Number of rows and a digest of them, for every table of schema mnemo."""
    statement = sql.SQL(" UNION ALL ").join(
        sql.SQL(
            "SELECT {}, count(*), coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '')"
            " FROM mnemo.{} AS t"
        ).format(sql.Literal(name), sql.Identifier(name))
        for name in tables(conn)
    )
    return {name: (number, digest) for name, number, digest in conn.execute(statement)}


def wait_for_blocked(conn: psycopg.Connection, backend: int, seconds: float = 30) -> None:
    """Return once another backend waits for a lock."""
    end = time.monotonic() + seconds
    while not scalar(conn, "SELECT cardinality(pg_blocking_pids(%s)) > 0", backend):
        assert time.monotonic() < end, f"backend {backend} never waited for a lock"


def vacuum(conn: psycopg.Connection, table: str) -> None:
    """Every page of a table of the schema seen by all, which a snapshot elsewhere can put off."""
    end = time.monotonic() + 60
    name = sql.SQL("mnemo.{}").format(sql.Identifier(table))
    while True:
        conn.execute(sql.SQL("VACUUM (ANALYZE, DISABLE_PAGE_SKIPPING) {}").format(name))
        whole = "SELECT relallvisible >= relpages FROM pg_class WHERE oid = %s::regclass"
        if scalar(conn, whole, f"mnemo.{table}"):
            return
        assert time.monotonic() < end, "something keeps an old snapshot"


def wait_until(conn: psycopg.Connection, moment: Any) -> None:
    """Return once the server's clock has passed the moment."""
    assert moment is not None
    while not scalar(conn, "SELECT clock_timestamp() > %s", moment):
        pass
