"""Install mnemo_pg into a database through psycopg, and find out what is installed."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import scalar_row

from mnemo_pg.source import default_version, sql_folder, sql_text, update_path

_INSTALLED = "SELECT pg_catalog.to_regprocedure('mnemo.version()') IS NOT NULL"
_VERSION = "SELECT mnemo.version()"


def install(conn: Connection[Any]) -> None:
    """Run the install script in one transaction (a savepoint inside the caller's transaction).

    Errors are the script's own: 0A000 for an unsuitable server or database, 42P06 for a schema
    `mnemo` that is in use. Nothing is changed when it fails.
    """
    with conn.transaction():
        # No parameters and no preparation: the script is many statements and contains `%`.
        conn.execute(sql_text(), prepare=False)


async def install_async(conn: AsyncConnection[Any]) -> None:
    """As `install`, on an asynchronous connection."""
    async with conn.transaction():
        await conn.execute(sql_text(), prepare=False)


def update(conn: Connection[Any]) -> list[str]:
    """Update this database to the package's version, in one transaction; the scripts that ran.

    None ran where that version is installed. Raises ValueError when mnemo_pg is not installed or no
    way leads here; otherwise the errors are the scripts': 42501 for another role than the owner,
    55000 where mnemo_pg is an extension (ALTER EXTENSION mnemo_pg UPDATE does it there).
    """
    with conn.transaction():
        installed = installed_version(conn)
        if installed is None:
            raise ValueError("mnemo_pg is not installed in this database: install it first")
        names = update_path(installed, default_version())
        for name in names:
            conn.execute((sql_folder() / name).read_bytes(), prepare=False)
    return names


def installed_version(conn: Connection[Any]) -> str | None:
    """The version installed in this database; None when mnemo_pg is not installed."""
    with conn.transaction(), conn.cursor(row_factory=scalar_row) as cursor:
        if not cursor.execute(_INSTALLED).fetchone():
            return None
        version = cursor.execute(_VERSION).fetchone()
    return str(version)
