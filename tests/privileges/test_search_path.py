"""A hostile search_path, and other things that a session may set, change no answer.

A schema before ours on the path, and the session's temporary schema before that, hold functions,
operators, types, tables and casts by the names that our functions use. Each raises an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.privileges.helpers import (
    PURE,
    Connection,
    functions,
    grant,
    new_name,
    new_role,
    new_tenant,
    refusal,
    rows,
    text,
)
from tests.privileges.hostile import BITES, HOSTILE_PATH, lay_traps, used_names
from tests.support.installs import install
from tests.support.server import Server

PATH = "search_path=pg_catalog, mnemo, pg_temp"
# Internal functions on the way of a recall. Setting the path again costs each of them more than its
# own work, and nobody but the public functions, which pin it, may execute them.
CALLERS_PATH = set(
    """
    _bound_orgs _caller _digest _enter _first_problem _guard _guard_capitals _guard_read _identify
    _identity_problem _level _level_of _limit_problem _ordered_hashes _overrides _plan_keys
    _prefix_keys _probe _probe_keys _raise_problem _recall _recall_call _recall_plan_problem
    _signature_tokens_wide _sketch
    """.split()
)
# Everything that runs with the rights of the owner. A new one is added here after a look at it.
DEFINERS = {
    *PURE, "configure", "setting", "grant_access", "revoke_access", "bind_role", "unbind_role",
    "remember", "get_memories", "recall", "forget", "share", "unshare", "check_permission",
    "remember_plan", "remember_plans", "recall_plan", "recall_plans", "get_plan", "list_plans",
    "explain_recall_plan",
    "_is_admin",
}  # fmt: skip
# What internal functions may set beside the path: how matching is planned, how numbers become text.
FURTHER_SETTINGS = {"plan_cache_mode", "enable_seqscan", "enable_sort", "jit", "extra_float_digits"}


def test_definer_functions_are_those_of_the_list(tx: Connection) -> None:
    assert {
        name for (name,) in rows(
            tx, "SELECT p.proname FROM pg_proc AS p"
            " WHERE p.pronamespace = 'mnemo'::regnamespace AND p.prosecdef",
        )
    } == DEFINERS  # fmt: skip


def test_definer_and_plpgsql_functions_pin_the_path(tx: Connection) -> None:
    """Exactly ours, pg_temp last; public functions set nothing else."""
    unpinned = set()
    for name, (path, *others), definer in rows(
        tx,
        "SELECT p.proname, coalesce(p.proconfig, '{NULL}'), p.prosecdef FROM pg_proc AS p"
        " JOIN pg_language AS l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'mnemo'::regnamespace"
        "   AND (p.prosecdef OR l.lanname <> 'sql' OR p.proconfig IS NOT NULL)",
    ):
        if path is None and not definer:
            unpinned.add(name)
            continue
        assert path == PATH, name
        allowed = FURTHER_SETTINGS if name.startswith("_") else set()
        assert {setting.partition("=")[0] for setting in others} <= allowed, name
    assert unpinned == CALLERS_PATH


def test_sql_functions_are_bound_when_they_are_made(tx: Connection) -> None:
    """SQL-standard bodies: no text that is read again under somebody's path."""
    assert not rows(
        tx,
        "SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND l.lanname = 'sql'"
        "   AND p.prosqlbody IS NULL",
    )
    assert rows(
        tx,
        "SELECT DISTINCT l.lanname::text FROM pg_proc AS p JOIN pg_language AS l"
        " ON l.oid = p.prolang WHERE p.pronamespace = 'mnemo'::regnamespace ORDER BY 1",
    ) == [("plpgsql",), ("sql",)]


# A walk through every public function

VOID = {"grant_access", "revoke_access", "bind_role", "unbind_role"}


def walk(conn: Connection, admin: bool) -> Iterator[tuple[str, list[Any]]]:
    """Calls of public functions, each with its answer; ids and times are made the same."""
    ids: dict[str, str] = {}

    def plain(item: Any) -> Any:
        if isinstance(item, str) and re.fullmatch(
            "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", item
        ):
            return ids.setdefault(item, f"id {len(ids)}")
        if isinstance(item, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]+[+-]\d\d:\d\d", item):
            return datetime.fromisoformat(item).timestamp()
        if isinstance(item, list):
            return [plain(part) for part in item]
        if isinstance(item, dict):
            return {
                key: plain(part) for key, part in item.items()
                if not key.endswith(("_at", "_from", "_hash", "_hours", "score"))
            }  # fmt: skip
        return item

    def call(function: str, arguments: str, *values: object) -> list[Any]:
        # JSON has one form of dates and numbers, whatever the session has set.
        shown = "'{}'" if function in VOID else "pg_catalog.to_jsonb(x)::pg_catalog.text"
        try:
            with conn.transaction():
                answer = rows(
                    conn, f"SELECT {shown} FROM mnemo.{function}({arguments}) AS x", *values
                )
        except psycopg.Error as error:
            seen.append((function, ["error", error.sqlstate, error.diag.message_primary]))
            return []
        shown_rows = [json.loads(row) for (row,) in answer]
        seen.append((function, plain(shown_rows)))
        return shown_rows

    seen: list[tuple[str, list[Any]]] = []
    call("version", "")
    call("signature_tokens", "'How do I reset the Password? ΣΑΣ 汇率换算 Ünï'")
    call("guard_tokens", "'do not pay invoice 17 of Acme Ltd on 2024-01-02'")
    call("jaccard", "ARRAY['a', 'b', 'c'], ARRAY['b', 'c', 'd']")
    call("canonical_predicate", "'  Lives In '")
    call("setting", "'similarity_threshold'")
    call("setting", "'no such setting'")
    who = "p_agent_id => 'bot', p_org_id => 'acme'"
    memory = call(
        "remember",
        "'The house has a secret', 'private', 'semantic', 0.7, ARRAY['t1', 't2', 't1'],"
        " '{\"a\": [1, 2.50, \"x\"]}', 'human', 's', 'th', 'me', '2 days', 'preference',"
        " '  The House', 'Has A', ARRAY['secret'], ARRAY['home'], 'here', 0.9, 'active',"
        " '2026-01-02 03:04:05.678901+00', '2126-01-02 03:04:05.678901+00',"
        " 'persistent', NULL, NULL, 'key 1', " + who,
    )
    call("remember", "'The house has a secret', p_idempotency_key => 'key 1', " + who)
    call("remember", "'  ', " + who)
    call("remember", "'x', p_tags => ARRAY[NULL], " + who)
    call("remember", "'x', p_ttl => '-1 day', " + who)
    plan = call(
        "remember_plan",
        "'how do I reset the password', ARRAY['ask', 'send'], ARRAY['c1'], 0.9,"
        " p_details => '[{\"x\": 1}, null]', p_ttl => '1 day', p_tags => ARRAY['login'],"
        " p_idempotency_key => 'key 2', " + who,
    )
    call("remember_plan", "'x', ARRAY[NULL], '{}', 1, " + who)
    call("remember_plan", "'x', '{}', '{}', 'NaN', " + who)
    call(
        "remember_plans",
        '\'[{"query": "where are my invoices of last year", "steps": ["a"], "chunk_ids":'
        ' ["c"], "outcome_score": 1, "ttl": "P1D", "agent_id": "bot", "org_id":'
        ' "acme"}, {"query": " "}]\', \'skip\'',
    )
    if memory and plan:
        memory_id, plan_id = memory[0]["id"], plan[0]["id"]
        call("get_memories", "ARRAY[%s, %s]::pg_catalog.uuid[], " + who, plan_id, memory_id)
        call("get_plan", "%s, " + who, plan_id)
        call("check_permission", "%s, 'delete', " + who, memory_id)
        call("share", "%s, ARRAY['ann', 'bea'], 'write', '1 hour', " + who, plan_id)
        call("unshare", "%s, ARRAY['ann', 'cyd'], " + who, plan_id)
        call("share", "%s, ARRAY['no one'], " + who, plan_id)
        call("get_plan", "'00000000-0000-7000-8000-000000000000', " + who)
    call("list_plans", "10, NULL, " + who)
    call("recall", "NULL, 10, 'recent', ARRAY['semantic'], 'private', ARRAY['t1'], " + who)
    call("recall", "'x', 0, " + who)
    call("recall_plan", "'The password: how do I reset it?', 'bot', 'acme', 0.5")
    call("recall_plan", "'how do I reset the password', 'bot', 'acme'")
    call("recall_plan", "'nothing of the kind', 'bot', 'acme'")
    call("recall_plan", "'x', 'bot', 'acme', 'NaN'")
    call("explain_recall_plan", "'how do I not reset the password', 'bot', 'acme'")
    call("recall_plans", "'where are the invoices of last year', 'bot', 'acme', 0.4, p_limit => 3")
    if memory:
        call("forget", "ARRAY[%s]::pg_catalog.uuid[], 'soft_delete', " + who, memory[0]["id"])
    call("forget", "NULL, " + who)
    if admin:
        call("configure", "'guard', 'off'")
        call("configure", "'similarity_threshold', '0.75', 'acme'")
        call("configure", "'similarity_threshold', '7'")
        call("grant_access", "'walked', 'tenant'")
        call("grant_access", "'walked', 'application'")
        call("bind_role", "'walked', 'acme', 'bot'")
        call("unbind_role", "'walked', 'acme', 'bot'")
        call("unbind_role", "'walked', 'acme', 'bot'")
        call("revoke_access", "'walked'")
        call("grant_access", "'no such role', 'tenant'")
    yield from seen


def answers(dsn: str, settings: str, admin: bool) -> list[tuple[str, list[Any]]]:
    """The answers of a fresh session with these settings, as its functions are first compiled under
    them; everything is rolled back."""
    with psycopg.connect(dsn) as conn, conn.transaction(force_rollback=True):
        conn.execute(text(settings))
        return list(walk(conn, admin))


@pytest.fixture(scope="module")
def logins(server: Server, template: str) -> dict[str, str]:
    """Connection strings of a superuser and of each level, in a database with the traps."""
    name = new_name("db")
    dsn = server.create_database(name, template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        if not rows(conn, "SELECT FROM pg_roles WHERE rolname = 'walked'"):
            new_role(conn, name="walked")
        roles = {
            "application": grant(conn, new_role(conn, "LOGIN"), "application"),
            "tenant": new_tenant(conn, options="LOGIN"),
            "admin": grant(conn, new_role(conn, "LOGIN"), "admin"),
        }
        conn.execute("CREATE SCHEMA hostile; GRANT USAGE ON SCHEMA hostile TO PUBLIC")
        assert lay_traps(conn, "hostile", used_names(conn)) > 400
        conn.execute(
            "CREATE TYPE hostile.thing AS (i pg_catalog.int4);"
            " CREATE CAST (hostile.thing AS pg_catalog.text) WITH INOUT AS IMPLICIT;"
            " CREATE CAST (hostile.thing AS pg_catalog.jsonb) WITH INOUT AS IMPLICIT"
        )
    return {"superuser": dsn} | {
        level: server.dsn(name, user=role) for level, role in roles.items()
    }


LEVELS = ["superuser", "admin", "application", "tenant"]
Clean = Callable[[str], list[tuple[str, list[Any]]]]


@pytest.fixture(scope="module")
def clean(logins: dict[str, str]) -> Clean:
    """The answers of a session that has set nothing, for a level."""

    @cache
    def seen(level: str) -> list[tuple[str, list[Any]]]:
        return answers(logins[level], "SELECT 1", is_admin(level))

    return seen


def is_admin(level: str) -> bool:
    return level in ("superuser", "admin")


def test_the_walk_calls_every_public_function(logins: dict[str, str], clean: Clean) -> None:
    """And most calls succeed, so that there is something to compare."""
    seen = clean("superuser")
    with psycopg.connect(logins["superuser"]) as conn:
        public = {f.name for f in functions(conn) if f.public}
    assert {name for name, _ in seen} == public
    failed = [answer[1] for _, answer in seen if answer and answer[0] == "error"]
    assert set(failed) == {"22023", "MN001"}
    assert len(failed) < len(seen) / 3


def test_the_traps_bite(logins: dict[str, str]) -> None:
    """Under the path a function that does not pin it runs into them."""
    with psycopg.connect(logins["superuser"], autocommit=True) as conn:
        conn.execute(text(HOSTILE_PATH))
        for query in (
            "SELECT length('x'::pg_catalog.text)", "SELECT 1 = 1", "SELECT now()",
            "SELECT 'x' || 'y'::pg_catalog.text", "SELECT format('x')",
            "SELECT '{}'::pg_catalog.jsonb -> 'a'",
        ):  # fmt: skip
            assert BITES in str(refusal(conn, query)), query
        assert refusal(conn, "SELECT 1::text").sqlstate == "23514"
        assert refusal(conn, "SELECT role_name FROM role_level").sqlstate == "42703"
        conn.execute(
            "CREATE FUNCTION pg_temp.unpinned() RETURNS pg_catalog.bool LANGUAGE plpgsql AS"
            " 'BEGIN RETURN 1 = 1; END'"
        )
        assert BITES in str(refusal(conn, "SELECT pg_temp.unpinned()"))


@pytest.mark.parametrize("level", LEVELS)
def test_a_hostile_schema_changes_no_answer(
    logins: dict[str, str], clean: Clean, level: str
) -> None:
    """For every public function, in a session that calls it first under the hostile path."""
    assert answers(logins[level], HOSTILE_PATH, is_admin(level)) == clean(level)


@pytest.mark.parametrize("level", ["superuser", "tenant"])
def test_a_hostile_temporary_schema_changes_no_answer(
    logins: dict[str, str], clean: Clean, level: str
) -> None:
    """pg_temp is searched first for tables and types even where the path does not name it. A trap
    laid halfway through a session catches no function that ran before either."""
    admin, expected = is_admin(level), clean(level)
    with psycopg.connect(logins[level], autocommit=True) as conn:
        assert lay_traps(conn, "pg_temp", used_names(conn)) > 400
        for settings in (HOSTILE_PATH, "SET search_path = public", "SET search_path = ''"):
            with conn.transaction(force_rollback=True):
                conn.execute(text(settings))
                assert list(walk(conn, admin)) == expected, settings
    with psycopg.connect(logins[level], autocommit=True) as conn:
        with conn.transaction(force_rollback=True):
            assert list(walk(conn, admin)) == expected
        lay_traps(conn, "pg_temp", used_names(conn))
        with conn.transaction(force_rollback=True):
            conn.execute(text(HOSTILE_PATH))
            assert list(walk(conn, admin)) == expected


def test_the_view_keeps_its_meaning(logins: dict[str, str]) -> None:
    """mnemo.plan read under the hostile path."""
    with psycopg.connect(logins["admin"]) as conn, conn.transaction(force_rollback=True):
        conn.execute(text(HOSTILE_PATH))
        list(walk(conn, admin=False))
        queries = rows(conn, "SELECT query, signature_tokens, steps, chunk_ids FROM mnemo.plan")
    assert sorted(query for query, *_ in queries) == [
        "how do I reset the password", "where are my invoices of last year",
    ]  # fmt: skip
    assert ["ask", "send"] in [steps for _, _, steps, _ in queries]


# What every role may set for itself.
SESSION_SETTINGS = {
    "how words are read": [
        "plpgsql.extra_errors = 'all'", "plpgsql.extra_warnings = 'all'",
        "plpgsql.variable_conflict = 'use_variable'", "array_nulls = off",
        "transform_null_equals = on", "backslash_quote = off", "standard_conforming_strings = off",
        "default_text_search_config = 'german'", "xmloption = document",
        "quote_all_identifiers = on", "check_function_bodies = off",
    ],
    "how values are shown": [
        "DateStyle = 'German, DMY'", "IntervalStyle = 'sql_standard'", "bytea_output = 'escape'",
        "TimeZone = 'Asia/Kathmandu'", "lc_numeric = 'C'", "lc_monetary = 'C'",
        # A backslash can be the second byte of a character there.
        "client_encoding = 'GB18030'",
    ],
    "how queries are planned": [
        "enable_seqscan = off", "enable_bitmapscan = off", "enable_hashjoin = off",
        "enable_memoize = off", "join_collapse_limit = 1", "from_collapse_limit = 1",
        "geqo_threshold = 2", "work_mem = '64kB'", "gin_fuzzy_search_limit = 1",
        "plan_cache_mode = force_generic_plan", "jit = off", "row_security = off",
        "constraint_exclusion = on", "cursor_tuple_fraction = 0.01",
    ],
    "how queries are planned otherwise": [
        "jit = off", "enable_indexscan = off", "enable_nestloop = off", "enable_mergejoin = off",
        "enable_sort = off", "enable_material = off", "plan_cache_mode = force_custom_plan",
        "default_transaction_deferrable = on", "default_transaction_isolation = 'serializable'",
    ],
}  # fmt: skip


@pytest.mark.parametrize("group", SESSION_SETTINGS)
def test_settings_of_the_session_change_no_answer(
    logins: dict[str, str], clean: Clean, group: str
) -> None:
    settings = "; ".join(f"SET {setting}" for setting in SESSION_SETTINGS[group])
    assert answers(logins["superuser"], settings, admin=True) == clean("superuser")


def test_shortened_numbers_are_only_shown(logins: dict[str, str], clean: Clean) -> None:
    """extra_float_digits is about what the server writes to the client; nothing is stored or
    compared in that form."""
    seen = answers(logins["superuser"], "SET extra_float_digits = -15", admin=True)
    for (name, answer), (_, expected) in zip(seen, clean("superuser"), strict=True):
        numbers = r"\d+\.\d+(e-?\d+)?"
        assert re.sub(numbers, "?", str(answer)) == re.sub(numbers, "?", str(expected)), name


@pytest.mark.parametrize(("level", "login"), [("application", ""), ("tenant", "superuser")])
def test_a_parallel_worker_knows_who_calls(
    logins: dict[str, str], clean: Clean, level: str, login: str
) -> None:
    """With every query in a worker where PostgreSQL allows it, after a login and after SET ROLE."""
    with psycopg.connect(logins["superuser"]) as conn:
        version = conn.info.server_version
    settings = f"SET {'debug_parallel_query' if version >= 160000 else 'force_parallel_mode'} = on"
    if login:
        settings += f"; SET ROLE {conninfo_to_dict(logins[level])['user']}"
    assert answers(logins[login or level], settings, admin=False) == clean(level)


@pytest.mark.parametrize("mode", ["psql", "extension"])
def test_an_install_under_a_hostile_path_is_the_same(
    server: Server, logins: dict[str, str], mode: str
) -> None:
    """The path of the database leads to the traps first; every function is bound as ever."""
    definitions = (
        "SELECT p.oid::pg_catalog.regprocedure::pg_catalog.text,"
        " pg_catalog.pg_get_functiondef(p.oid)"
        " FROM pg_catalog.pg_proc AS p WHERE p.pronamespace OPERATOR(pg_catalog.=)"
        " 'mnemo'::pg_catalog.regnamespace"
    )
    with psycopg.connect(logins["superuser"]) as conn:
        expected, names = sorted(rows(conn, definitions)), used_names(conn)
    name = new_name("db")
    dsn = server.create_database(name)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA hostile")
        assert lay_traps(conn, "hostile", names) > 400
        conn.execute(text(f"ALTER DATABASE {name} SET search_path = hostile, pg_catalog, public"))
    install(server, name, mode)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET search_path = pg_catalog")
        assert sorted(rows(conn, definitions)) == expected
