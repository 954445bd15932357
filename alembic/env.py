"""Alembic environment of this repository: `MNEMO_PG_DSN=... alembic upgrade head`."""

from __future__ import annotations

import os

import psycopg
from alembic import context
from sqlalchemy import create_engine, pool


def run_offline() -> None:
    """Print the SQL instead of running it."""
    context.configure(dialect_name="postgresql", literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()


def run_online() -> None:
    """Run the revisions in the database that MNEMO_PG_DSN names."""
    dsn = os.environ.get("MNEMO_PG_DSN")
    if not dsn:
        raise SystemExit("set MNEMO_PG_DSN to the connection string of the database to migrate")
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(dsn, client_encoding="UTF8"),
        poolclass=pool.NullPool,
    )
    with engine.connect() as connection:
        context.configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()


if context.is_offline_mode():
    run_offline()
else:
    run_online()
