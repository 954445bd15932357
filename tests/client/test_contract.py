"""The wrapper and the database agree: functions, parameters, defaults, types, columns, methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from keyword import iskeyword
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import AsyncMnemo, Mnemo, RetrievalPlan, _sync, _wire, statements, types
from mnemo_pg.errors import CODES
from mnemo_pg.retrieval import plan_json
from mnemo_pg.statements import CONVERTERS, Statement

BUILDERS: dict[str, Callable[..., Statement[Any]]] = {
    name: build
    for name, build in inspect.getmembers(statements, inspect.isfunction)
    if str(inspect.signature(build).return_annotation).startswith("Statement[")
}
# By converter: an argument that it takes, and the type that it is sent to.
CONVERSIONS: dict[Any, tuple[Any, str]] = {
    _wire.text: ("x", "text"),
    _wire.table: ("x", "regclass"),
    _wire.texts: (["x"], "text[]"),
    _wire.uuid: ("0197c2f0-0000-7000-8000-000000000001", "uuid"),
    _wire.uuids: ([], "uuid[]"),
    _wire.binary: (bytes(32), "bytea"),
    _wire.number: (0.5, "double precision"),
    _wire.integer: (1, "bigint"),
    _wire.boolean: (True, "boolean"),
    _wire.moment: (None, "timestamp with time zone"),
    _wire.interval: (None, "interval"),
    _wire.vector: ([0.5], "text"),
    _wire.json_object: ({}, "jsonb"),
    _wire.criteria: ({}, "jsonb"),
    _wire.json_list: ([], "jsonb"),
    _wire.json_lines: ([], "jsonb"),
    _wire.recalls: ([], "jsonb"),
    plan_json: ({}, "jsonb"),
}
RESULTS: dict[str, Any] = {
    "bigint": int,
    "boolean": bool,
    "bytea": bytes,
    "double precision": float,
    "text": str,
    "text[]": tuple,
    "timestamp with time zone": datetime,
    "uuid": UUID,
    "uuid[]": tuple,
    "void": None,
}
# Ids are those of records, but for these.
OTHER_TYPES = {("invalidate_chunks", "ids"): _wire.texts}
# A batch has its identity in the elements; the builder takes a default for them.
ONLY_IN_PYTHON = {"remember_plans": {"agent_id", "org_id"}}


@dataclass(frozen=True)
class Function:
    """One public function as pg_proc has it."""

    arguments: dict[str, str]
    defaults: dict[str, str]
    columns: dict[str, str]
    returns: str
    returns_set: bool


def public_functions(db: psycopg.Connection[Any]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    rows = db.execute(
        """
        SELECT p.proname, p.proretset, format_type(p.prorettype, NULL),
               array_agg(a.name ORDER BY a.n), array_agg(a.mode ORDER BY a.n),
               array_agg(format_type(a.type, NULL) ORDER BY a.n),
               array_agg(pg_get_function_arg_default(p.oid, a.n::int) ORDER BY a.n)
          FROM pg_proc AS p
          LEFT JOIN LATERAL unnest(
                p.proargnames, p.proargmodes::text[],
                coalesce(p.proallargtypes, p.proargtypes::oid[])
               ) WITH ORDINALITY AS a(name, mode, type, n) ON true
         WHERE p.pronamespace = 'mnemo'::regnamespace AND p.proname NOT LIKE '\\_%'
         GROUP BY p.oid
        """
    ).fetchall()
    for name, returns_set, returns, names, modes, kinds, defaults in rows:
        assert name not in found, f"{name} is overloaded"
        whole = list(zip(names, modes, kinds, defaults, strict=True))
        found[name] = Function(
            arguments={n: k for n, m, k, _ in whole if n and m in (None, "i")},
            defaults={n: d for n, m, _, d in whole if m in (None, "i") and d is not None},
            columns={n: k for n, m, k, _ in whole if m == "t"},
            returns=returns,
            returns_set=returns_set,
        )
    return found


@pytest.fixture
def dsn(module_dsn: str) -> str:
    """One database for all: they only read its catalog."""
    return module_dsn


@pytest.fixture
def functions(db: psycopg.Connection[Any]) -> dict[str, Function]:
    return public_functions(db)


def statement(name: str) -> Statement[Any]:
    build = BUILDERS[name]
    required = [p for p in inspect.signature(build).parameters.values() if p.default is p.empty]
    return build(
        *[CONVERSIONS[OTHER_TYPES.get((name, p.name), CONVERTERS[p.name])][0] for p in required]
    )


def record(name: str) -> type[Any] | None:
    """The dataclass that a builder's rows become."""
    hint = get_type_hints(BUILDERS[name])["return"].__args__[0]
    inner = (get_args(hint) or (hint,))[0]
    # A plan is one value of type jsonb.
    rows = is_dataclass(inner) and inner is not RetrievalPlan
    return inner if rows else None  # type: ignore[return-value]


def test_each_public_function_has_a_builder_and_a_method(functions: dict[str, Function]) -> None:
    assert set(BUILDERS) == set(functions)
    for client in (Mnemo, AsyncMnemo):
        assert set(BUILDERS) <= set(vars(client))


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_parameters(name: str, functions: dict[str, Function], db: psycopg.Connection[Any]) -> None:
    function, made = functions[name], statement(name)
    parameters = dict(inspect.signature(BUILDERS[name]).parameters)
    for extra in ONLY_IN_PYTHON.get(name, ()):
        del parameters[extra]

    assert [f"p_{key}" for key in parameters] == list(function.arguments)
    assert set(made.params) == set(function.arguments)
    notation = re.findall(r"(\w+) => %\((\w+)\)s", made.sql)
    assert [a for a, b in notation if a == b] == list(function.arguments)
    assert made.sql.count("%") == len(notation)
    assert f" mnemo.{name}(" in made.sql

    for key, parameter in parameters.items():
        kind = function.arguments[f"p_{key}"]
        assert CONVERSIONS[OTHER_TYPES.get((name, key), CONVERTERS[key])][1] == kind, key
        if parameter.default is parameter.empty:
            assert f"p_{key}" not in function.defaults
            assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        else:
            row = db.execute(f"SELECT {function.defaults[f'p_{key}']}::{kind}").fetchone()
            assert row is not None
            if function.defaults[f"p_{key}"] == "now()":
                row = (None,)  # a time of the call, which NULL stands for
            assert parameter.default == row[0], key
            assert type(parameter.default) is type(row[0]) or isinstance(parameter.default, StrEnum)
            assert parameter.kind is parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_results(name: str, functions: dict[str, Function]) -> None:
    function, kind = functions[name], record(name)
    selected = re.match(r"SELECT (.+?) FROM mnemo", statement(name).sql)
    hint = get_type_hints(BUILDERS[name])["return"].__args__[0]
    if kind is None:
        assert not function.returns_set
        assert selected is None
        assert function.columns == {}
        check_type(function.returns, hint, name)
        return
    assert selected is not None
    # A column named like a keyword of Python has an alias, and only such a one.
    pairs = [column.split(" AS ") for column in selected[1].split(", ")]
    assert all(iskeyword(pair[0]) == (len(pair) == 2) for pair in pairs)
    columns = [pair[0] for pair in pairs]
    assert sorted(columns) == sorted(function.columns)
    optional = {"rank"} - set(columns)
    assert {field.name for field in fields(kind)} - optional == {pair[-1] for pair in pairs}
    hints = get_type_hints(kind)
    for pair in pairs:
        check_type(function.columns[pair[0]], hints[pair[-1]], pair[-1])
    assert (" ORDER BY " in statement(name).sql) == bool({"rank", "position"} & set(columns))


def check_type(database: str, python: Any, name: str) -> None:
    """That a result's annotation covers what the driver makes of the type."""
    kinds = get_args(python) if get_origin(python) is UnionType else (python,)
    if database == "jsonb":
        assert set(kinds) & {Any, dict[str, Any], list[Any], RetrievalPlan}, name
        return
    plain = {get_origin(kind) or kind for kind in kinds} - {type(None)}
    if wanted := RESULTS[database]:
        assert wanted in plain, name
    else:
        assert plain == set(), name
    for kind in plain - {wanted}:
        assert database == "text", name
        assert issubclass(kind, StrEnum), name


def test_the_methods_have_the_builders_signatures_and_docs() -> None:
    for client in (Mnemo, AsyncMnemo):
        for name, build in BUILDERS.items():
            method = getattr(client, name)
            ours, theirs = inspect.signature(method), inspect.signature(build)
            assert list(ours.parameters)[1:] == list(theirs.parameters)
            assert f"Statement[{ours.return_annotation}]" == theirs.return_annotation
            assert method.__doc__ == build.__doc__
            assert inspect.iscoroutinefunction(method) == (client is AsyncMnemo)


def test_everything_public_says_what_it_is() -> None:
    public = [*BUILDERS.values(), Mnemo, AsyncMnemo, *CODES.values()]
    public += [v for v in vars(types).values() if getattr(v, "__module__", "") == types.__name__]
    public += [v for c in (Mnemo, AsyncMnemo) for k, v in vars(c).items() if k[0] != "_"]
    for thing in public:
        doc = inspect.getdoc(thing)
        assert doc, thing
        assert not doc.startswith(f"{getattr(thing, '__name__', '')}("), thing


@pytest.mark.parametrize("path", _sync.PATHS.values(), ids=lambda path: path.name)
def test_the_synchronous_client_is_generated(path: Path) -> None:
    assert path.read_text("utf-8") == _sync.outputs()[path]
    assert not re.search("async|await", path.read_text("utf-8"), re.IGNORECASE)


def test_every_code_that_the_database_raises_has_an_exception(db: psycopg.Connection[Any]) -> None:
    sources = db.execute(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'mnemo'::regnamespace"
        " AND prokind = 'f'"
    ).fetchall()
    text = "\n".join(source for (source,) in sources)
    raised = set(re.findall(r"'(42501|55000|22023|54000|0A000|MN\d{3})'", text))
    assert raised <= set(CODES)
    assert {"42501", "55000", "22023", "54000", "MN001"} <= raised
