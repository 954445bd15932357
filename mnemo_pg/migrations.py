"""What the Alembic revisions of mnemo_pg run, exactly one built script each, and what an
application's own environment needs to take them in.

A revision never reads the parts, and holds no SQL of its own, so that the three installers give
the same catalog.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from alembic import context
from alembic.operations import Operations

from mnemo_pg.source import CHECKOUT_FOLDER, PACKAGE_FOLDER, sql_text, update_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

IncludeName: TypeAlias = Callable[[str | None, Any, MutableMapping[Any, str | None]], bool]
IncludeObject: TypeAlias = Callable[[Any, str | None, Any, bool, Any], bool]


class AutogenerateFilters(TypedDict):
    """What `autogenerate_filters` gives to `context.configure`."""

    include_name: IncludeName
    include_object: IncludeObject


SCHEMA = "mnemo"
# Alembic hides the version table that it uses; this is the one of the repository's environment.
_VERSION_TABLE = "alembic_version"
_SIMPLE_DRIVERS = ("psycopg", "psycopg2")  # Drivers that send a text of many statements as it is.
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
            " ALTER EXTENSION mnemo_pg UPDATE, and mark its revisions as done:"
            " alembic stamp mnemo_pg@head"
        )
    _run_text(connection, text)


def _run_text(connection: Connection, text: str) -> None:
    """Run a text of many statements, in which neither `:name` nor `%` is a parameter."""
    driver = connection.dialect.driver
    if driver in _SIMPLE_DRIVERS:
        # For this call alone: the application's own revisions use the connection too.
        connection.exec_driver_sql(text, execution_options={"no_parameters": True})
    elif driver == "asyncpg":
        adapted: Any = connection.connection.dbapi_connection
        adapted.run_async(lambda own: own.execute(text))
    else:
        raise RuntimeError(
            f"the driver {driver} runs one statement at a time; for the migrations use"
            " postgresql+psycopg://, or run the output of alembic upgrade --sql with psql"
        )


def versions_folder() -> Path:
    """The folder of the revisions: `mnemo_pg:_alembic/versions` of an installed package, else (if
    editable) that of the checkout; for environments that are configured in Python."""
    inside = PACKAGE_FOLDER / "_alembic" / "versions"
    return inside if inside.is_dir() else CHECKOUT_FOLDER / "alembic" / "versions"


def autogenerate_filters(
    include_name: IncludeName | None = None, include_object: IncludeObject | None = None
) -> AutogenerateFilters:
    """Arguments for `context.configure`: autogenerate sees the application's own objects alone.

    Left out are schema mnemo with all that is in it, vectors included, foreign keys of yours that
    refer to it, and the version table of mnemo_pg's own environment. Your own filters hold for the
    rest.

        context.configure(..., include_schemas=True, **autogenerate_filters(include_name=mine))
    """

    def name_filter(name: str | None, kind: Any, parents: MutableMapping[Any, str | None]) -> bool:
        schema = name if kind == "schema" else parents.get("schema_name")
        if schema == SCHEMA or (kind == "table" and name == _VERSION_TABLE):
            return False
        return include_name is None or include_name(name, kind, parents)

    def object_filter(
        item: Any, name: str | None, kind: Any, reflected: bool, compare_to: Any
    ) -> bool:
        if _schema_of(item, kind) == SCHEMA:
            return False
        return include_object is None or include_object(item, name, kind, reflected, compare_to)

    return {"include_name": name_filter, "include_object": object_filter}


def _schema_of(item: Any, kind: str) -> str | None:
    """The schema of a table, or of the one that a foreign key refers to."""
    if kind == "foreign_key_constraint":
        schema, _, _ = item.elements[0].target_fullname.rpartition(".")[0].rpartition(".")
        return str(schema)
    found: str | None = getattr(item, "schema", None)
    return found


def drop_schema(op: Operations) -> None:
    """Drop schema mnemo with every plan and memory, only when told: `-x mnemo_drop=yes`."""
    if context.get_x_argument(as_dictionary=True).get("mnemo_drop") != "yes":
        raise RuntimeError(
            "this would drop schema mnemo with every memory and plan in it;"
            " if that is meant: alembic -x mnemo_drop=yes downgrade ..."
        )
    op.execute("DROP SCHEMA mnemo CASCADE")
