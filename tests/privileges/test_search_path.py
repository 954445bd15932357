"""A hostile search_path, and other things that a session may set, change no answer.

A schema before ours on the path, and the session's temporary schema before that, hold functions,
operators, types, tables and casts by the names that our functions use. Each raises an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.privileges.helpers import (
    AGENT,
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
from tests.support.every import Call, prepare
from tests.support.installs import install
from tests.support.server import Server

PATH = "search_path=pg_catalog, mnemo, pg_temp"
# Internal functions on the way of a recall, or asked of each record of an organisation. Setting the
# path again costs each of them more than its own work, and nobody but the public functions, which
# pin it, may execute them.
CALLERS_PATH = {
    "_retrieval_plan", "_is_normal_plan", "_are_different",
    "_is_normal_window",
    "_bound_orgs", "_caller", "_digest", "_enter", "_first_problem", "_guard", "_guard_capitals",
    "_guard_read", "_identify", "_identity_problem", "_level", "_level_of", "_memory_state",
    "_names_subject",
    "_ordered_hashes", "_overrides", "_part_keys", "_plan_keys", "_prefix_keys", "_probe",
    "_probe_keys", "_probe_parts", "_raise_problem", "_recall", "_recall_call",
    "_recall_plan_problem", "_signature_tokens_wide", "_sketch",
    "_asked", "_asked_facets", "_asked_lists", "_asked_names", "_asked_words", "_assembled",
    "_folded_names", "_known_names", "_other_names", "_phrases",
    "_reachable_audiences", "_retrieval_filter", "_retrieve", "_retrieve_problem", "_reached",
    "_global_heads", "_timely", "_near", "_counts_delegated",
}  # fmt: skip
# Everything that runs with the rights of the owner. A new one is added here after a look at it: the
# level comes first, and no value of a user becomes SQL.
DEFINERS = {
    *PURE, "configure", "setting", "grant_access", "revoke_access", "bind_role", "unbind_role",
    "remember", "remember_many", "update_memory", "get_memories", "recall", "check_permission",
    "forget", "forget_where", "forget_subject", "sweep", "touch", "log_read", "history",
    "share", "unshare", "delegate", "revoke_delegation", "delegations",
    "remember_plan", "remember_plans", "recall_plan", "recall_plans", "get_plan", "list_plans",
    "remember_failure", "recall_failures", "list_failures", "duplicate_plans",
    "explain_recall_plan", "rebuild_signatures", "health",
    "record_plan_outcome", "plan_outcomes", "retire_plan", "revive_plan", "promote_plan",
    "invalidate_chunks", "revalidate_plan", "watch_statements", "_chunk_table_changed",
    "seal", "verify_chain", "export_chain", "chain_heads", "retain_events", "read_events",
    "export_records", "import_records",
    "quarantined", "release", "purge",
    "set_poisoning_rule", "remove_poisoning_rule", "poisoning_rules",
    "enable_vectors", "disable_vectors", "refresh_models",
    "retrieval_plan_result_key", "retrieve", "explain_retrieval", "plan_retrieval", "memory_map",
    "log_recall", "_is_admin", "_is_stale_for_admin",
}  # fmt: skip
# What functions may set beside the path: how queries are planned, how values become text, how long
# they wait.
FURTHER_SETTINGS = {
    "plan_cache_mode", "jit", "enable_seqscan", "enable_sort", "enable_bitmapscan",
    "enable_hashjoin", "enable_mergejoin",
    "extra_float_digits", "TimeZone", "DateStyle", "bytea_output",
    "IntervalStyle", "lock_timeout",
}  # fmt: skip


def test_definer_functions_are_those_of_the_list(tx: Connection) -> None:
    assert {
        name for (name,) in rows(
            tx, "SELECT p.proname FROM pg_proc AS p"
            " WHERE p.pronamespace = 'mnemo'::regnamespace AND p.prosecdef",
        )
    } == DEFINERS  # fmt: skip


def test_definer_and_plpgsql_functions_pin_the_path(tx: Connection) -> None:
    """Exactly ours, pg_temp last; what else they set gives no rights."""
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
        assert {setting.partition("=")[0] for setting in others} <= FURTHER_SETTINGS, name
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


def test_checks_and_indexes_call_bound_functions_alone(tx: Connection) -> None:
    """They are evaluated under the path of whoever writes, restores, or has ANALYZE run."""
    query = """
        WITH RECURSIVE used(who, oid) AS (
            SELECT d.objid, d.refobjid
              FROM pg_depend AS d
             WHERE d.refclassid = 'pg_proc'::regclass
               AND d.classid IN ('pg_constraint'::regclass, 'pg_class'::regclass,
                                 'pg_attrdef'::regclass)
             UNION
            SELECT u.who, d.refobjid
              FROM used AS u
              JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = u.oid
             WHERE d.refclassid = 'pg_proc'::regclass
        )
        SELECT DISTINCT p.proname
          FROM used AS u
          JOIN pg_proc AS p ON p.oid = u.oid
         WHERE p.pronamespace = 'mnemo'::regnamespace AND {}
    """
    assert {"_is_label", "_labels"} <= {name for (name,) in rows(tx, query.format("true"))}
    assert rows(tx, query.format("p.prosqlbody IS NULL")) == []
    tx.execute("CREATE INDEX ON mnemo.event (mnemo._sketch(ARRAY[seq], 64))")
    assert rows(tx, query.format("p.prosqlbody IS NULL")) == [("_sketch",)]


# A walk through every public function

VOID = {"grant_access", "revoke_access", "bind_role", "unbind_role"}
Answers = list[tuple[str, list[Any]]]


class Plain:
    """Answers without what is new in each run: ids become their order, hashes and times go."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}

    def __call__(self, item: Any) -> Any:
        if isinstance(item, str) and re.fullmatch(
            "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", item
        ):
            return self.ids.setdefault(item, f"id {len(self.ids)}")
        if isinstance(item, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]+[+-]\d\d:\d\d", item):
            return datetime.fromisoformat(item).timestamp()
        if isinstance(item, list):
            return [self(part) for part in item]
        if isinstance(item, dict):
            return {
                key: self(part) for key, part in item.items()
                if not key.endswith(("_at", "_from", "_hash", "_hours", "score"))
            }  # fmt: skip
        return item


def asked(
    conn: psycopg.Connection, void: bool, call: str, values: Any, undo: bool = False
) -> list[Any]:
    """The rows of a call as JSON, which has one form of dates and numbers, whatever the session has
    set; or its error."""
    shown = "'{}'" if void else "pg_catalog.to_jsonb(x)::pg_catalog.text"
    try:
        with conn.transaction(force_rollback=undo):
            found = conn.execute(text(f"SELECT {shown} FROM mnemo.{call} AS x"), values).fetchall()
    except psycopg.Error as error:
        return ["error", error.sqlstate, error.diag.message_primary]
    return [json.loads(row) for (row,) in found]


def walk(conn: Connection, admin: bool, calls: list[Call]) -> Answers:
    """The answers of every public function: first of those that `steps` calls, one after the other,
    then, each alone, of the others; what is new in each run is made the same."""
    with conn.transaction(force_rollback=True):
        seen = steps(conn, admin)
    called = {function for function, _ in seen}
    for call in calls:
        if call.function not in called:
            given = ", ".join(f"p_{name} => %({name})s" for name in call.arguments)
            values = call.arguments or None
            found = asked(conn, call.void, f"{call.function}({given})", values, undo=True)
            seen.append((call.function, Plain()(found)))
    return seen


def steps(conn: Connection, admin: bool) -> Answers:
    """Calls of public functions that build on each other, each with its answer."""
    plain = Plain()

    def call(function: str, arguments: str, *values: object) -> list[Any]:
        found = asked(conn, function in VOID, f"{function}({arguments})", values or None)
        seen.append((function, found if found[:1] == ["error"] else plain(found)))
        return [] if found[:1] == ["error"] else found

    seen: Answers = []
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
    return seen


@dataclass(frozen=True)
class Stage:
    """A database with the traps, connection strings by level, a call of every public function."""

    logins: dict[str, str]
    calls: list[Call]

    def connect(self, level: str) -> Connection:
        """An autocommit connection."""
        return psycopg.connect(self.logins[level], autocommit=True)

    def walk(self, conn: Connection, level: str, settings: str = "SELECT 1") -> Answers:
        """The answers in a session, under these settings; everything is rolled back."""
        with conn.transaction(force_rollback=True):
            conn.execute(text(settings))
            return walk(conn, is_admin(level), self.calls)

    def answers(self, level: str, settings: str) -> Answers:
        """The answers of a fresh session, whose functions are first compiled under the settings."""
        with self.connect(level) as conn:
            return self.walk(conn, level, settings)


@pytest.fixture(scope="module")
def stage(server: Server, template: str) -> Stage:
    """The traps lie in a schema that everybody may use."""
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
        calls = prepare(conn, AGENT, new_name("an_application"), new_name("a_tenant"))
        conn.execute("CREATE SCHEMA hostile; GRANT USAGE ON SCHEMA hostile TO PUBLIC")
        assert lay_traps(conn, "hostile", used_names(conn)) > 400
        conn.execute(
            "CREATE TYPE hostile.thing AS (i pg_catalog.int4);"
            " CREATE CAST (hostile.thing AS pg_catalog.text) WITH INOUT AS IMPLICIT;"
            " CREATE CAST (hostile.thing AS pg_catalog.jsonb) WITH INOUT AS IMPLICIT"
        )
    logins = {level: server.dsn(name, user=role) for level, role in roles.items()}
    return Stage({"superuser": dsn} | logins, calls)


LEVELS = ["superuser", "admin", "application", "tenant"]
Clean = Callable[[str], Answers]


@pytest.fixture(scope="module")
def clean(stage: Stage) -> Clean:
    """The answers of a session that has set nothing, for a level."""

    @cache
    def seen(level: str) -> Answers:
        return stage.answers(level, "SELECT 1")

    return seen


def is_admin(level: str) -> bool:
    return level in ("superuser", "admin")


def test_the_walk_calls_every_public_function(stage: Stage, clean: Clean) -> None:
    """And most calls succeed, so that there is something to compare."""
    seen = clean("superuser")
    with stage.connect("superuser") as conn:
        public = {f.name for f in functions(conn) if f.public}
    without_pgvector = {"enable_vectors", "disable_vectors"} - {c.function for c in stage.calls}
    assert {name for name, _ in seen} == public - without_pgvector
    failed = [answer[1] for _, answer in seen if answer and answer[0] == "error"]
    assert set(failed) == {"22023", "MN001"}
    assert len(failed) < len(seen) / 3
    with stage.connect("superuser") as conn, conn.transaction(force_rollback=True):
        alone = {name for name, _ in seen} - {name for name, _ in steps(conn, admin=True)}
    assert len(alone) > 25
    assert {name for name, answer in seen if name in alone and answer[:1] == ["error"]} == set()


def test_the_traps_bite(stage: Stage) -> None:
    """Under the path a function that does not pin it runs into them."""
    with stage.connect("superuser") as conn:
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
def test_a_hostile_schema_changes_no_answer(stage: Stage, clean: Clean, level: str) -> None:
    """For every public function, in a session that calls it first under the hostile path."""
    assert stage.answers(level, HOSTILE_PATH) == clean(level)


@pytest.mark.parametrize("level", ["superuser", "tenant"])
def test_a_hostile_temporary_schema_changes_no_answer(
    stage: Stage, clean: Clean, level: str
) -> None:
    """pg_temp is searched first for tables and types even where the path does not name it. A trap
    laid halfway through a session catches no function that ran before either."""
    expected = clean(level)
    with stage.connect(level) as conn:
        assert lay_traps(conn, "pg_temp", used_names(conn)) > 400
        for settings in (HOSTILE_PATH, "SET search_path = public", "SET search_path = ''"):
            assert stage.walk(conn, level, settings) == expected, settings
    with stage.connect(level) as conn:
        assert stage.walk(conn, level) == expected
        lay_traps(conn, "pg_temp", used_names(conn))
        assert stage.walk(conn, level, HOSTILE_PATH) == expected


def test_the_views_keep_their_meaning(stage: Stage) -> None:
    """Those for administrators, read under the hostile path."""
    with stage.connect("admin") as conn, conn.transaction(force_rollback=True):
        conn.execute(text(HOSTILE_PATH))
        steps(conn, admin=False)
        queries = rows(conn, "SELECT query, signature_tokens, steps, chunk_ids FROM mnemo.plan")
        shown = rows(
            conn,
            "SELECT s.plans, a.plans FROM mnemo.stats AS s JOIN mnemo.agent_stats AS a"
            " ON a.org_id OPERATOR(pg_catalog.=) s.org_id"
            " WHERE a.agent_id OPERATOR(pg_catalog.=) 'bot'",
        )
    assert sorted(query for query, *_ in queries) == [
        "how do I reset my password", "how do I reset the password",
        "where are my invoices of last year",
    ]  # fmt: skip
    assert ["ask", "send"] in [steps for _, _, steps, _ in queries]
    assert shown == [(3, 3)]


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
def test_settings_of_the_session_change_no_answer(stage: Stage, clean: Clean, group: str) -> None:
    settings = "; ".join(f"SET {setting}" for setting in SESSION_SETTINGS[group])
    seen = stage.answers("superuser", settings)
    for (name, answer), (_, expected) in zip(seen, clean("superuser"), strict=True):
        # What health writes for people quotes names as the session wants it.
        quotes = '"' if name == "health" else "no quotes"
        assert str(answer).replace(quotes, "") == str(expected).replace(quotes, ""), name


def test_shortened_numbers_are_only_shown(stage: Stage, clean: Clean) -> None:
    """extra_float_digits is about what the server writes to the client; nothing is stored or
    compared in that form."""
    seen = stage.answers("superuser", "SET extra_float_digits = -15")
    for (name, answer), (_, expected) in zip(seen, clean("superuser"), strict=True):
        numbers = r"\d+\.\d+(e-?\d+)?"
        assert re.sub(numbers, "?", str(answer)) == re.sub(numbers, "?", str(expected)), name


@pytest.mark.parametrize(("level", "login"), [("application", ""), ("tenant", "superuser")])
def test_a_parallel_worker_knows_who_calls(
    stage: Stage, clean: Clean, level: str, login: str
) -> None:
    """With every query in a worker where PostgreSQL allows it, after a login and after SET ROLE."""
    with stage.connect("superuser") as conn:
        version = conn.info.server_version
    settings = f"SET {'debug_parallel_query' if version >= 160000 else 'force_parallel_mode'} = on"
    if login:
        settings += f"; SET ROLE {conninfo_to_dict(stage.logins[level])['user']}"
    with stage.connect(login or level) as conn:
        assert stage.walk(conn, level, settings) == clean(level)


@pytest.mark.parametrize("mode", ["psql", "extension"])
def test_an_install_under_a_hostile_path_is_the_same(
    server: Server, stage: Stage, mode: str
) -> None:
    """The path of the database leads to the traps first; every function is bound as ever."""
    definitions = (
        "SELECT p.oid::pg_catalog.regprocedure::pg_catalog.text,"
        " pg_catalog.pg_get_functiondef(p.oid)"
        " FROM pg_catalog.pg_proc AS p WHERE p.pronamespace OPERATOR(pg_catalog.=)"
        " 'mnemo'::pg_catalog.regnamespace"
    )
    with stage.connect("superuser") as conn:
        expected, names = sorted(rows(conn, definitions)), used_names(conn)
    # Those of the models that are enabled there are made later.
    expected = [one for one in expected if not re.search(r"_vector_[a-z]+_[0-9a-f]{16}", one[0])]
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
