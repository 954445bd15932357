"""A schema full of traps: everything that our functions use, by the same names, and it bites."""

from __future__ import annotations

import re
from typing import NamedTuple

from psycopg import errors

from tests.privileges.helpers import Connection, rows, text

BITES = "hostile: this must not run"
# First on the path are the session's own temporary schema and a stranger's.
HOSTILE_PATH = "SET search_path = pg_temp, hostile, pg_catalog, mnemo, public"

# Types of the arguments of the traps.
TYPES = (
    "text", "name", "integer", "bigint", "oid", "double precision", "numeric", "boolean", "uuid",
    "jsonb", "bytea", "interval", "timestamp with time zone", "bit varying", "bit", "text[]",
    "bigint[]", "uuid[]", "anyarray", "anyelement", "anycompatible", "anycompatiblearray",
    "\"any\"", "regclass", "jsonpath", "tsvector", "timestamp without time zone", "smallint",
    "character", "name[]", "real", "aclitem[]", "record",
)  # fmt: skip


class Used(NamedTuple):
    """Names that our functions use."""

    functions: set[str]
    tables: set[str]


CATALOGS = {
    "pg_roles", "pg_proc", "pg_class", "pg_namespace", "pg_type", "pg_database", "pg_shdepend",
    "pg_depend", "pg_extension", "pg_index", "pg_attribute", "pg_settings", "pg_locks",
    "pg_available_extensions",
}  # fmt: skip


def used_names(conn: Connection) -> Used:
    """Words that stand before a bracket in our functions; our tables, views and types, and the
    catalogs that ours read."""
    words: set[str] = set()
    for (definition,) in rows(
        conn,
        "SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p"
        " WHERE p.pronamespace = 'mnemo'::regnamespace",
    ):
        words.update(re.findall(r"\b([a-z_0-9]+)\s*\(", definition))
    relations = rows(
        conn,
        "SELECT c.relname FROM pg_class AS c"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'v', 'c')",
    )
    return Used(words, CATALOGS | {name for (name,) in relations})


def traps(conn: Connection, schema: str, names: Used) -> list[str]:
    """Statements that lay the traps: functions of these names, operators, types, tables."""
    statements = []
    types = "(" + ", ".join(f"'{kind}'" for kind in TYPES) + ")"
    named = "(" + ", ".join(f"'{word}'" for word in sorted(names.functions)) + ")"
    signatures: set[str] = set()
    for name, arguments, result, many in rows(
        conn,
        f"""
        SELECT p.proname,
               ARRAY(SELECT format_type(t.oid, NULL)
                       FROM unnest(p.proargtypes) WITH ORDINALITY AS t(oid, place)
                      ORDER BY t.place),
               format_type(p.prorettype, NULL), p.proretset
          FROM pg_proc AS p
         WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN {named}
           AND p.provariadic = 0
           AND NOT EXISTS (
                SELECT FROM unnest(p.proargtypes) AS t(oid)
                 WHERE format_type(t.oid, NULL) NOT IN {types})
         ORDER BY 1, 2
        """,
    ):
        arguments = [a.replace('"any"', "anyelement") for a in arguments]
        signature = f'{schema}."{name}"({", ".join(arguments)})'
        if signature not in signatures:
            signatures.add(signature)
            statements.append(
                f"CREATE FUNCTION {signature} RETURNS {'SETOF ' if many else ''}{result}"
                f" LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''{BITES}''; END'"
            )
    for name, left, right, result in rows(
        conn,
        f"""
        SELECT o.oprname, format_type(o.oprleft, NULL), format_type(o.oprright, NULL),
               format_type(o.oprresult, NULL)
          FROM pg_operator AS o
         WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0
           AND format_type(o.oprleft, NULL) IN {types}
           AND format_type(o.oprright, NULL) IN {types}
           AND o.oprname IN ('=', '<>', '<', '>', '<=', '>=', '||', '~', '!~', '@>', '<@', '&&',
                             '#>>', '#>', '->', '->>', '?', '+', '-', '*', '/', '#', '&', '@?',
                             '>>', '<<', '%', '~~', '!~~')
         ORDER BY 1, 2, 3
        """,
    ):
        number = len(statements)
        statements.append(
            f"CREATE FUNCTION {schema}.operator_{number}({left}, {right}) RETURNS {result}"
            f" LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''{BITES}''; END'"
        )
        statements.append(
            f"CREATE OPERATOR {schema}.{name} (LEFTARG = {left}, RIGHTARG = {right},"
            f" PROCEDURE = {schema}.operator_{number})"
        )
    # The types come last: the statements above mean the true ones.
    for kind in ("text", "uuid", "jsonb", "int8", "float8", "bool", "timestamptz", "interval",
                 "name", "oid", "bytea", "regclass", "numeric", "int4"):  # fmt: skip
        statements.append(
            f"CREATE DOMAIN {schema}.{kind} AS pg_catalog.int2 CHECK (VALUE IS NULL AND false)"
        )
    # A table is a type, too.
    for table in sorted(names.tables):
        statements.append(f"CREATE TABLE {schema}.{table} (trap pg_catalog.int4)")
    return statements


def lay_traps(conn: Connection, schema: str, names: Used) -> int:
    """Run them; how many there are. Not every signature can be had outside pg_catalog."""
    laid = 0
    for statement in traps(conn, schema, names):
        try:
            with conn.transaction():
                conn.execute(text(statement))
                laid += 1
        except (errors.InvalidFunctionDefinition, errors.FeatureNotSupported,
                errors.InvalidObjectDefinition, errors.SyntaxError):  # fmt: skip
            continue
    return laid
