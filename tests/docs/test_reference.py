"""docs/reference.md says what the catalog of an installed database says."""

from __future__ import annotations

import re

import psycopg
import pytest

from mnemo_pg import _reference
from mnemo_pg._reference import Schema
from tests.support.server import ROOT

PAGE = (ROOT / "docs" / _reference.PAGE).read_text("utf-8")


@pytest.fixture(scope="module")
def schema() -> Schema:
    """The schema as the generator reads it."""
    return _reference.read(ROOT / "sql" / "parts")


def declared(db: psycopg.Connection, text: str) -> list[tuple[str, str, str | None]]:
    """Name, type as the catalog spells it, default, of parameters or columns."""
    found = []
    for item in re.split(r", (?=\"?p_|\"?[a-z_]+\"? [a-z])", text) if text else []:
        name, _, rest = item.partition(" ")
        kind, _, default = rest.partition(" DEFAULT ")
        row = db.execute("SELECT format_type(%s::regtype, NULL)", (kind,)).fetchone()
        assert row is not None
        found.append((name.strip('"'), row[0], default or None))
    return found


def test_the_page_is_up_to_date(schema: Schema) -> None:
    assert _reference.page(schema) == PAGE


def test_functions(db: psycopg.Connection, schema: Schema) -> None:
    """Each public function, with the names, types and order of what goes in and comes out."""
    rows = db.execute(
        """
        SELECT p.proname, obj_description(p.oid, 'pg_proc'), p.provolatile,
               array_agg(a.name ORDER BY a.n)
                   FILTER (WHERE a.name IS NOT NULL AND a.mode IS DISTINCT FROM 't'),
               array_agg(format_type(a.type, NULL) ORDER BY a.n)
                   FILTER (WHERE a.name IS NOT NULL AND a.mode IS DISTINCT FROM 't'),
               array_agg(pg_get_function_arg_default(p.oid, a.n::int) ORDER BY a.n)
                   FILTER (WHERE a.name IS NOT NULL AND a.mode IS DISTINCT FROM 't'),
               array_agg(a.name ORDER BY a.n) FILTER (WHERE a.mode = 't'),
               array_agg(format_type(a.type, NULL) ORDER BY a.n) FILTER (WHERE a.mode = 't'),
               format_type(p.prorettype, NULL), p.proname = ANY (mnemo._admin_functions())
          FROM pg_proc AS p
          LEFT JOIN LATERAL unnest(
                p.proargnames, p.proargmodes::text[], coalesce(p.proallargtypes, p.proargtypes)
               ) WITH ORDINALITY AS a(name, mode, type, n) ON a.name IS NOT NULL
         WHERE p.pronamespace = 'mnemo'::regnamespace AND left(p.proname, 1) <> '_'
         GROUP BY p.oid
        """
    ).fetchall()
    assert {row[0] for row in rows} == set(schema.functions)
    for name, comment, volatility, names, kinds, defaults, outs, out_kinds, returns, admin in rows:
        function = schema.functions[name]
        assert function.comment == comment
        assert function.volatility[0].lower() == volatility
        parameters = declared(db, function.parameters)
        assert [one for one, _, _ in parameters] == (names or [])
        assert [kind for _, kind, _ in parameters] == (kinds or [])
        for (parameter, kind, default), known in zip(parameters, defaults or [], strict=True):
            assert (default is None) == (known is None), (name, parameter)
            if default is not None:
                same = db.execute(f"SELECT ({default})::{kind} IS NOT DISTINCT FROM {known}")  # type: ignore[arg-type]
                assert same.fetchone() == (True,), (name, parameter)
        if outs:
            columns = declared(db, function.returns.removeprefix("TABLE (").rstrip(")"))
            assert [(one, kind) for one, kind, _ in columns] == list(
                zip(outs, out_kinds, strict=True)
            )
        else:
            plain = function.returns.removeprefix("SETOF ")
            assert declared(db, f"x {plain}")[0][1] == returns
        shown = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
        assert shown is not None
        assert ("Level: admin" in shown[1]) == admin


def test_tables(db: psycopg.Connection, schema: Schema) -> None:
    """Each table and the view, each column with type and comment, in the order of the catalog."""
    rows = db.execute(
        "SELECT c.relname, c.relkind, obj_description(c.oid, 'pg_class'), a.attname,"
        "       format_type(a.atttypid, NULL), a.attnotnull, col_description(c.oid, a.attnum)"
        "  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        "   AND NOT a.attisdropped"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'v')"
        "   AND left(c.relname, 1) <> '_' ORDER BY c.relname, a.attnum"
    ).fetchall()
    assert {row[0] for row in rows} == {name for name in schema.relations if name[0] != "_"}
    order: dict[str, list[str]] = {}
    for table, kind, comment, column, type_, filled, meaning in rows:
        relation = schema.relations[table]
        order.setdefault(table, []).append(column)
        assert relation.comment == comment
        shown, said = relation.columns[column]
        assert said == meaning
        if kind == "r":
            bare = shown.removesuffix(", not null")
            assert declared(db, f"x {bare}")[0][1] == type_, (table, column)
            keyed = re.search(r"PRIMARY KEY", shown) is None
            assert ("not null" in shown) == filled or not keyed, (table, column)
    for table, columns in order.items():
        assert list(schema.relations[table].columns) == columns
