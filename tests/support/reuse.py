"""One database for the tests of a module, emptied before each: cheaper than a clone a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests.support.calls import tables
from tests.support.server import Server


@contextmanager
def module_database(server: Server, template: str, name: str) -> Iterator[str]:
    """A clone of the template for as long as the block runs; its connection string."""
    dsn = server.create_database(name, template)
    try:
        yield dsn
    finally:
        server.drop_database(name)


@contextmanager
def emptied(dsn: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection; every table is empty and experience memory is on."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            sql.SQL("TRUNCATE {}").format(
                sql.SQL(", ").join(sql.Identifier("mnemo", table) for table in tables(conn))
            )
        )
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
        yield conn
