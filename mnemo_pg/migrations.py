"""What the Alembic revisions of mnemo_pg run: exactly one built script each.

A revision never reads the parts, and holds no SQL of its own, so that the three installers give
the same catalog.
"""

from __future__ import annotations

from alembic import context
from alembic.operations import Operations

from mnemo_pg.source import sql_text, update_text

_IS_EXTENSION = "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'mnemo_pg')"


def run_script(op: Operations, version: str) -> None:
    """Run the install script of `version`, online or into the output of `--sql`.

    Raises RuntimeError when mnemo_pg is installed as an extension: then ALTER EXTENSION updates it.
    """
    _run(op, sql_text(version))


def run_update(op: Operations, start: str, version: str) -> None:
    """Run the script that updates `start` to `version`; as `run_script` otherwise."""
    _run(op, update_text(start, version))


def _run(op: Operations, text: str) -> None:
    migration = op.get_context()
    if migration.as_sql:
        migration.impl.static_output(text)
        return
    connection = op.get_bind()
    if connection.exec_driver_sql(_IS_EXTENSION).scalar():
        raise RuntimeError(
            "mnemo_pg is installed here with CREATE EXTENSION; update it with"
            " ALTER EXTENSION mnemo_pg UPDATE, and mark this revision as done: alembic stamp"
        )
    # Neither `:name` nor `%` in the script is a parameter.
    connection.execution_options(no_parameters=True).exec_driver_sql(text)


def drop_schema(op: Operations) -> None:
    """Drop schema mnemo with every plan and memory, only when told: `-x mnemo_drop=yes`."""
    if context.get_x_argument(as_dictionary=True).get("mnemo_drop") != "yes":
        raise RuntimeError(
            "this would drop schema mnemo with every memory and plan in it;"
            " if that is meant: alembic -x mnemo_drop=yes downgrade ..."
        )
    op.execute("DROP SCHEMA mnemo CASCADE")
