"""The rules of style that the catalog can check, each with an object that would break it.

A rule is a query for offenders. Rules that ask for the source text read the built script.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, LiteralString, cast

import psycopg
import pytest

from mnemo_pg.source import sql_text
from tests.support.server import Server

Connection = psycopg.Connection[Any]

NAME = "^_?[a-z][a-z0-9_]*$"
# They read no data and look at nobody.
PURE = {
    "version", "signature_tokens", "guard_tokens", "jaccard", "canonical_predicate", "stable_hash",
    "normalize_retrieval_plan", "skip_retrieval_plan", "retrieval_plan_cache_key",
}  # fmt: skip
READING = {
    "setting", "get_memories", "recall", "check_permission", "recall_plan", "recall_plans",
    "explain_recall_plan", "get_plan", "list_plans", "plan_outcomes", "export_records",
    "recall_failures", "list_failures", "duplicate_plans", "read_events", "delegations",
    "history", "quarantined", "poisoning_rules", "verify_chain", "export_chain", "chain_heads",
    "health", "retrieval_plan_result_key", "watch_statements", "plan_retrieval", "memory_map",
    "retrieve", "explain_retrieval",
}  # fmt: skip
# They are part of no parallel plan, because they look at embeddings: that may change settings.
UNSAFE = {
    "recall",
    "recall_plan",
    "recall_plans",
    "explain_recall_plan",
    "retrieval_plan_result_key",
    "recall_failures",
    "retrieve",
    "explain_retrieval",
}
WRITING = {
    "configure", "grant_access", "revoke_access", "bind_role", "unbind_role",
    "remember", "forget", "share", "unshare", "delegate", "revoke_delegation", "remember_plan",
    "remember_plans", "remember_failure", "import_records",
    "seal", "retain_events", "forget_where", "forget_subject", "sweep", "touch", "log_read",
    "update_memory", "remember_many", "release", "purge", "set_poisoning_rule",
    "remove_poisoning_rule", "enable_vectors", "disable_vectors", "refresh_models",
    "rebuild_signatures", "log_recall",
    "invalidate_chunks", "revalidate_plan", "watch_table", "unwatch_table",
    "record_plan_outcome", "retire_plan", "revive_plan", "promote_plan",
}  # fmt: skip
# Tables whose key does not start with org_id, with the reason.
WITHOUT_ORGANISATION = {
    "role_level": "roles belong to the server, their level to the database",
    "vector_model": "models belong to the database",
}
# Functions that put together SQL: GRANT and REVOKE, which take no parameters, and statements over
# each table that an export holds, of names in the catalog alone. The objects of an embedding model
# are named by a hash of its name. Triggers on tables of the application, and what they read, are
# made of names of columns and tables.
DYNAMIC = {
    "_grant_level", "_revoke_all", "_grant_all", "export_records", "_import_rows",
    "_make_vector_functions", "_drop_vector_functions", "_make_vector_table", "_make_vector_index",
    "_close_vectors", "disable_vectors", "_vector_problem", "_store_embeddings",
    "_drop_embeddings", "_embedding_page", "_import_embeddings", "_nearest_of",
    "_nearest_exactly", "_index_batch", "_near_plans_exactly",
    "watch_statements", "watch_table", "unwatch_table", "_chunk_table_changed",
}  # fmt: skip
# What parameters, results and columns are made of, for every driver to know.
API_TYPES = {
    "text", "bigint", "double precision", "boolean", "timestamp with time zone", "interval",
    "uuid", "jsonb", "bytea", "text[]", "uuid[]", "double precision[]", "bigint[]", "void",
    "regclass",
}  # fmt: skip
# numeric: sums that are the same in every order.
COLUMN_TYPES = API_TYPES | {"integer", "numeric", "bit varying", "bigint[]", "integer[]"}

FUNCTIONS = "FROM pg_proc AS p WHERE p.pronamespace = 'mnemo'::regnamespace"
TABLES = "FROM pg_class AS c WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r'"
RELATIONS = (
    "FROM pg_class AS c WHERE c.relnamespace = 'mnemo'::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
)


def rows(conn: Connection, query: str, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return conn.execute(cast(LiteralString, query), parameters or None).fetchall()


def listed(names: set[str]) -> str:
    """Names as a list in SQL."""
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"


Rule = Callable[[Connection], list[tuple[Any, ...]]]
RULES: dict[str, Rule] = {}
# What would break each rule, as SQL.
BREAKERS: dict[str, str] = {}


def rule(breaker: str) -> Callable[[Rule], Rule]:
    """Registers a rule, and SQL that breaks it."""

    def register(check: Rule) -> Rule:
        name = check.__name__
        RULES[name], BREAKERS[name] = check, breaker
        return check

    return register


PLAIN = "CREATE FUNCTION mnemo.f() RETURNS int LANGUAGE sql RETURN 1"


@rule(PLAIN)
def functions_have_comments(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        f"SELECT p.oid::regprocedure {FUNCTIONS}"
        " AND length(trim(coalesce(obj_description(p.oid, 'pg_proc'), ''))) < 10",
    )


@rule("COMMENT ON COLUMN mnemo.memory.content IS NULL")
def relations_and_columns_have_comments(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        f"SELECT c.relname, a.attname {RELATIONS.replace(' WHERE', ', pg_attribute AS a WHERE')}"
        " AND a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " AND length(trim(coalesce(col_description(c.oid, a.attnum), ''))) < 5"
        f" UNION ALL SELECT c.relname, NULL {RELATIONS}"
        " AND length(trim(coalesce(obj_description(c.oid, 'pg_class'), ''))) < 10",
    )


@rule("CREATE TYPE mnemo.t AS ENUM ('a')")
def types_have_comments(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        "SELECT t.oid::regtype FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid"
        " WHERE t.typnamespace = 'mnemo'::regnamespace AND t.typelem = 0"
        "   AND (c.oid IS NULL OR c.relkind = 'c')"
        "   AND length(trim(coalesce(obj_description(t.oid, 'pg_type'), ''))) < 10",
    )


@rule("COMMENT ON FUNCTION mnemo.get_plan(uuid, text, text) IS 'One plan. Errors: MN001.'")
def comments_name_the_error_of_access(conn: Connection) -> list[tuple[Any, ...]]:
    """Every public function that looks at the caller says 42501, or whose errors it has."""
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND left(p.proname, 1) <> '_'"
        f" AND p.proname NOT IN {listed(PURE)}"
        " AND obj_description(p.oid, 'pg_proc') !~ '42501|Errors: those of mnemo[.][a-z_]+'",
    )


@rule("COMMENT ON FUNCTION mnemo.get_plan(uuid, text, text) IS 'One plan. 42501, XY123'")
def comments_name_known_errors_only(conn: Connection) -> list[tuple[Any, ...]]:
    """Those of the API, and those of PostgreSQL that pass through it."""
    known = {
        "42501", "55000", "22023", "54000", "MN001", "MN002", "0A000", "40001", "22021", "22P05",
    }  # fmt: skip
    return [
        (name, code)
        for name, comment in rows(
            conn,
            f"SELECT p.proname, obj_description(p.oid, 'pg_proc') {FUNCTIONS}"
            " AND left(p.proname, 1) <> '_'",
        )
        for code in re.findall(r"(?<![\w.])(?=\w*\d)[0-9A-Z]{5}(?!\w)", comment)
        if code not in known
    ]


@rule("CREATE FUNCTION mnemo.f(agent_id text) RETURNS int LANGUAGE sql RETURN 1")
def parameters_start_with_p(conn: Connection) -> list[tuple[Any, ...]]:
    """And results do not."""
    return rows(
        conn,
        "SELECT p.proname, a.name FROM pg_proc AS p, unnest("
        " coalesce(p.proargnames, array_fill(''::text, ARRAY[p.pronargs::int])),"
        " coalesce(p.proargmodes, array_fill('i'::\"char\", ARRAY[p.pronargs::int])))"
        " AS a(name, mode) WHERE p.pronamespace = 'mnemo'::regnamespace"
        "   AND (a.mode IN ('i', 'b', 'v')) <> (a.name ~ '^p_[a-z][a-z0-9_]*$')",
    )


@rule("CREATE FUNCTION mnemo.setting() RETURNS int LANGUAGE sql RETURN 1")
def functions_have_no_overloads(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(conn, f"SELECT p.proname {FUNCTIONS} GROUP BY 1 HAVING count(*) > 1")


@rule("CREATE FUNCTION mnemo.f(VARIADIC p_a text[]) RETURNS int LANGUAGE sql RETURN 1")
def functions_are_not_variadic(conn: Connection) -> list[tuple[Any, ...]]:
    """Nor have INOUT parameters; nor are they procedures, aggregates, window functions."""
    return rows(
        conn,
        f"SELECT p.oid::regprocedure {FUNCTIONS}"
        " AND (p.provariadic <> 0 OR 'b' = ANY (p.proargmodes) OR p.prokind <> 'f')",
    )


@rule("CREATE FUNCTION mnemo._memory(p_a text) RETURNS int LANGUAGE sql RETURN 1")
def functions_are_not_named_like_types(conn: Connection) -> list[tuple[Any, ...]]:
    """PostgreSQL would take a call with one literal for a cast to the type."""
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND EXISTS (SELECT FROM pg_type AS t"
        " WHERE t.typname = p.proname AND t.typnamespace = p.pronamespace)",
    )


@rule("CREATE FUNCTION mnemo.get_x() RETURNS int LANGUAGE sql VOLATILE RETURN 1")
def public_functions_have_their_volatility(conn: Connection) -> list[tuple[Any, ...]]:
    """Reading is STABLE: it runs in read-only transactions and on a standby. A function that stands
    in none of the lists is an offender."""
    return rows(
        conn,
        f"SELECT p.proname, p.provolatile {FUNCTIONS} AND left(p.proname, 1) <> '_'"
        f" AND NOT (p.proname IN {listed(PURE)} AND p.provolatile = 'i'"
        f" OR p.proname IN {listed(READING)} AND p.provolatile = 's'"
        f" OR p.proname IN {listed(WRITING)} AND p.provolatile = 'v')",
    )


@rule("ALTER FUNCTION mnemo.recall_plan PARALLEL SAFE")
def who_calls_is_not_asked_in_a_parallel_worker(conn: Connection) -> list[tuple[Any, ...]]:
    """Before 15.9, 16.5 and 17.1 a worker does not know the role of SET ROLE (CVE-2024-10978).
    Functions that write are no part of a parallel plan either."""
    return rows(
        conn,
        f"SELECT p.proname, p.proparallel {FUNCTIONS} AND left(p.proname, 1) <> '_'"
        f" AND p.proparallel <> CASE WHEN p.proname IN {listed(PURE)} THEN 's'"
        f" WHEN p.provolatile = 'v' OR p.proname IN {listed(UNSAFE)} THEN 'u'"
        " ELSE 'r' END::\"char\"",
    )


@rule("CREATE FUNCTION mnemo.f(p_a integer) RETURNS int LANGUAGE sql RETURN 1")
def public_functions_use_plain_types(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        "SELECT p.proname, format_type(t.oid, NULL) FROM pg_proc AS p, unnest("
        " coalesce(p.proallargtypes, p.proargtypes::oid[]) || CASE WHEN p.proallargtypes IS NULL"
        " THEN p.prorettype END) AS t(oid)"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND left(p.proname, 1) <> '_'"
        f"   AND t.oid IS NOT NULL AND format_type(t.oid, NULL) NOT IN {listed(API_TYPES)}",
    )


@rule("CREATE FUNCTION mnemo.f() RETURNS SETOF int LANGUAGE plpgsql AS 'BEGIN RETURN; END'")
def sets_say_how_many_rows(conn: Connection) -> list[tuple[Any, ...]]:
    """The default of 1000 misleads the planner."""
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND p.proretset AND p.prorows = 1000"
        " AND p.prolang = (SELECT l.oid FROM pg_language AS l WHERE l.lanname = 'plpgsql')",
    )


@rule("CREATE FUNCTION mnemo.f(p_a text) RETURNS SETOF int LANGUAGE sql STRICT RETURN 1")
def strict_functions_are_immutable_scalars(conn: Connection) -> list[tuple[Any, ...]]:
    """STRICT keeps others from being inlined."""
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND p.proisstrict AND (p.provolatile <> 'i' OR p.proretset)",
    )


@rule(f"{PLAIN}; ALTER FUNCTION mnemo.f() SET enable_sort = off")
def planner_penalties_come_without_compilation(conn: Connection) -> list[tuple[Any, ...]]:
    """Before PostgreSQL 18 a node that is switched off and yet needed costs 1e10, and such a plan
    would be compiled at every call."""
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND p.proconfig::text LIKE '%enable_%'"
        " AND NOT p.proconfig @> '{jit=off}'",
    )


@rule(f"{PLAIN}; GRANT EXECUTE ON FUNCTION mnemo.f() TO PUBLIC")
def nothing_is_public(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        "SELECT p.oid::regprocedure::text FROM pg_proc AS p,"
        " aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND a.grantee = 0"
        " UNION ALL SELECT c.oid::regclass::text FROM pg_class AS c, aclexplode(c.relacl) AS a"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND a.grantee = 0",
    )


@rule(
    "CREATE FUNCTION mnemo.f() RETURNS int LANGUAGE plpgsql AS"
    " $$BEGIN RETURN 1; EXCEPTION WHEN OTHERS THEN RETURN 2; END$$"
)
def no_exception_is_caught_unnamed(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(conn, f"SELECT p.proname {FUNCTIONS} AND p.prosrc ~* 'when\\s+others'")


@rule(
    "CREATE FUNCTION mnemo.f(p_a text) RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE p_a; END$$"
)
def sql_is_put_together_for_privileges_only(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        f"SELECT p.proname {FUNCTIONS} AND p.prosrc ~* '\\mexecute\\M'"
        f" AND p.proname NOT IN {listed(DYNAMIC)}",
    )


@rule("CREATE FUNCTION mnemo.f() RETURNS text LANGUAGE plpgsql AS $$BEGIN RETURN 'a\\b'; END$$")
def bodies_do_not_depend_on_how_strings_are_read(conn: Connection) -> list[tuple[Any, ...]]:
    """plpgsql is read in each session anew, under its standard_conforming_strings and
    backslash_quote: no \\' in an E literal, and in a plain one only escapes of characters beyond
    ASCII, which mean the same to a regular expression and to the reader of strings."""
    literal = re.compile(r"(--[^\n]*)|([Ee]?)'((?:[^'\\]|''|\\(?s:.))*)'")
    beyond_ascii = re.compile(r"\\u(?!00[0-7])[0-9A-Fa-f]{4}|\\U000[1-9A-F][0-9A-Fa-f]{4}")
    return [
        (name, found.group(0))
        for name, source in rows(
            conn,
            f"SELECT p.proname, p.prosrc {FUNCTIONS} AND p.prolang ="
            " (SELECT l.oid FROM pg_language AS l WHERE l.lanname = 'plpgsql')",
        )
        for found in literal.finditer(source)
        if not found.group(1)
        and (
            "\\'" in found.group(3)
            if found.group(2)
            else "\\" in beyond_ascii.sub("", found.group(3))
        )
    ]


@rule(
    "CREATE FUNCTION mnemo.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
    " CREATE TRIGGER t BEFORE INSERT ON mnemo.acl EXECUTE FUNCTION mnemo.f()"
)
def there_are_no_triggers_rules_or_policies(conn: Connection) -> list[tuple[Any, ...]]:
    """Triggers misfire when the rows of an extension are restored; policies keep the planner from
    the indexes."""
    return rows(
        conn,
        "SELECT 'trigger', t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND NOT t.tgisinternal"
        " UNION ALL SELECT 'rule', r.rulename FROM pg_rewrite AS r"
        " JOIN pg_class AS c ON c.oid = r.ev_class"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND r.rulename <> '_RETURN'"
        " UNION ALL SELECT 'policy', c.relname FROM pg_class AS c"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relrowsecurity"
        " UNION ALL SELECT 'event trigger', e.evtname FROM pg_event_trigger AS e",
    )


UNIQUE_KEYS = (
    "SELECT c.relname, i.indexrelid::regclass::text AS key,"
    " ARRAY(SELECT a.attname::text FROM unnest(i.indkey[0:i.indnkeyatts - 1])"
    "       WITH ORDINALITY AS k(number, place)"
    "       JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number"
    "       ORDER BY k.place) AS columns"
    " FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid"
    " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r' AND i.indisunique"
)


@rule("CREATE TABLE mnemo.t (id uuid PRIMARY KEY)")
def every_key_starts_with_the_organisation(conn: Connection) -> list[tuple[Any, ...]]:
    """So that tables can be partitioned or distributed by it. Each table has such a key."""
    return rows(
        conn,
        f"SELECT k.relname, k.key FROM ({UNIQUE_KEYS}) AS k"
        f" WHERE k.columns[1] <> 'org_id' AND k.relname NOT IN {listed(set(WITHOUT_ORGANISATION))}"
        f" UNION ALL SELECT c.relname, 'no key' {TABLES}"
        f" AND c.relname NOT IN (SELECT k.relname FROM ({UNIQUE_KEYS}) AS k)",
    )


@rule("ALTER TABLE mnemo.role_level RENAME TO role_levels")
def the_exceptions_are_there(conn: Connection) -> list[tuple[Any, ...]]:
    """A table that is gone is no exception any more."""
    found = {name for (name,) in rows(conn, f"SELECT c.relname {TABLES}")}
    return [(name,) for name in WITHOUT_ORGANISATION if name not in found]


@rule("ALTER TABLE mnemo.acl ADD COLUMN other_org_id text")
def organisations_are_never_null(conn: Connection) -> list[tuple[Any, ...]]:
    return rows(
        conn,
        "SELECT c.relname, a.attname"
        "  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r'"
        "   AND a.attname ~ '(^|_)org_id$' AND NOT a.attnotnull",
    )


@rule(
    "CREATE TABLE mnemo.t (org_id text, memory_id uuid,"
    " FOREIGN KEY (org_id, memory_id) REFERENCES mnemo.memory (org_id, id))"
)
def foreign_keys_have_the_organisation_and_an_index(conn: Connection) -> list[tuple[Any, ...]]:
    """The index starts with the columns of the key, or a delete would read the whole table."""
    return rows(
        conn,
        """
        SELECT f.conname
          FROM pg_constraint AS f
          JOIN pg_class AS c ON c.oid = f.conrelid
         WHERE c.relnamespace = 'mnemo'::regnamespace AND f.contype = 'f'
           AND NOT (
                EXISTS (SELECT FROM pg_attribute AS a
                         WHERE a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
                           AND a.attname ~ '(^|_)org_id$')
                AND EXISTS (SELECT FROM pg_attribute AS a
                             WHERE a.attrelid = f.confrelid AND a.attnum = f.confkey[1]
                               AND a.attname = 'org_id')
                AND EXISTS (SELECT FROM pg_index AS i
                             WHERE i.indrelid = f.conrelid AND i.indpred IS NULL
                               AND (i.indkey::int2[])[0:cardinality(f.conkey) - 1] = f.conkey)
           )
        """,
    )


@rule('CREATE TABLE mnemo."Odd" (org_id text, "Name" text, PRIMARY KEY (org_id, "Name"))')
def names_are_plain(conn: Connection) -> list[tuple[Any, ...]]:
    """Functions, relations, columns, types, constraints, indexes: no quotes are ever needed."""
    return rows(
        conn,
        f"""
        SELECT x.name
          FROM (
            SELECT p.proname {FUNCTIONS}
            UNION ALL
            SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'mnemo'::regnamespace
            UNION ALL
            SELECT t.typname FROM pg_type AS t
             WHERE t.typnamespace = 'mnemo'::regnamespace AND t.typelem = 0
            UNION ALL
            SELECT a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
             WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'v', 'c')
               AND a.attnum > 0
            UNION ALL
            SELECT n.conname FROM pg_constraint AS n WHERE n.connamespace = 'mnemo'::regnamespace
          ) AS x(name)
         WHERE x.name !~ '{NAME}'
        """,
    )


@rule("ALTER TABLE mnemo.acl ADD CONSTRAINT something CHECK (true)")
def constraints_and_indexes_are_named_after_table_and_columns(
    conn: Connection,
) -> list[tuple[Any, ...]]:
    """<table>_pkey, <table>_<what>_{fkey,key,check,idx}; for keys <what> are columns of them."""
    offenders = []
    for table, name, kind, columns in rows(
        conn,
        """
        SELECT c.relname, n.conname, n.contype::text,
               ARRAY(SELECT a.attname::text FROM pg_attribute AS a
                      WHERE a.attrelid = c.oid AND a.attnum = ANY (n.conkey))
          FROM pg_constraint AS n
          JOIN pg_class AS c ON c.oid = n.conrelid
         WHERE c.relnamespace = 'mnemo'::regnamespace AND n.contype IN ('p', 'u', 'f', 'c', 'x')
         UNION ALL
        SELECT c.relname, d.relname, 'i', '{}'
          FROM pg_index AS i
          JOIN pg_class AS c ON c.oid = i.indrelid
          JOIN pg_class AS d ON d.oid = i.indexrelid
         WHERE c.relnamespace = 'mnemo'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_constraint AS n WHERE n.conindid = i.indexrelid
                              AND n.contype IN ('p', 'u', 'x'))
        """,
    ):
        ending = {"p": "pkey", "u": "key", "f": "fkey", "c": "check", "i": "idx", "x": "excl"}[kind]
        what = re.fullmatch(f"{table}_(?:([a-z0-9_]+)_)?{ending}", name)
        wanted = {"p": [None], "u": columns, "f": columns}.get(kind)
        if what is None or (wanted is not None and what[1] not in wanted):
            offenders.append((table, name))
    return offenders


@rule("CREATE INDEX memory_tags_idx ON mnemo.memory USING gin (tags)")
def gin_indexes_have_no_pending_list(conn: Connection) -> list[tuple[Any, ...]]:
    """It would be read by every recall and flushed inside somebody's call."""
    return rows(
        conn,
        "SELECT c.relname FROM pg_class AS c JOIN pg_am AS m ON m.oid = c.relam"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND m.amname = 'gin'"
        "   AND NOT coalesce(c.reloptions @> '{fastupdate=off}', false)",
    )


@rule("ALTER TABLE mnemo.acl ADD COLUMN note varchar(10)")
def columns_have_plain_types(conn: Connection) -> list[tuple[Any, ...]]:
    """Limits of text are CHECKs; times have a zone; no sequences, generated or identity columns."""
    return rows(
        conn,
        "SELECT c.relname, a.attname"
        "  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'v')"
        "   AND a.attnum > 0 AND NOT a.attisdropped"
        f"   AND (format_type(a.atttypid, a.atttypmod) NOT IN {listed(COLUMN_TYPES)}"
        "        OR a.attidentity <> '' OR a.attgenerated <> '')"
        " UNION ALL SELECT c.relname, 'sequence' FROM pg_class AS c"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'S'",
    )


@rule("ALTER TABLE mnemo.acl ADD COLUMN happened_at bigint")
def times_are_named_at(conn: Connection) -> list[tuple[Any, ...]]:
    """And only times are."""
    return rows(
        conn,
        "SELECT c.relname, a.attname"
        "  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r' AND a.attnum > 0"
        "   AND NOT a.attisdropped AND a.attname NOT IN ('valid_from', 'valid_to')"
        "   AND (a.attname ~ '_at$') <> (a.atttypid = 'timestamptz'::regtype)",
    )


@rule("ALTER TABLE mnemo.memory DROP CONSTRAINT memory_metadata_check")
def json_columns_are_objects(conn: Connection) -> list[tuple[Any, ...]]:
    """NOT NULL, and a CHECK says so."""
    return rows(
        conn,
        """
        SELECT c.relname, a.attname
          FROM pg_class AS c
          JOIN pg_attribute AS a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
           AND NOT a.attisdropped AND a.atttypid IN ('jsonb'::regtype, 'json'::regtype)
           AND NOT (a.attnotnull AND EXISTS (
                SELECT FROM pg_constraint AS n
                 WHERE n.conrelid = c.oid AND n.contype = 'c' AND n.conkey = ARRAY[a.attnum]
                   AND pg_get_constraintdef(n.oid) LIKE '%jsonb_typeof(%) = ''object''%'))
        """,
    )


@rule("INSERT INTO mnemo.settings VALUES ('*', 'guard', 'off')")
def the_install_writes_no_rows(conn: Connection) -> list[tuple[Any, ...]]:
    """Rows of an install would be lost or doubled by dumps."""
    found = []
    for (table,) in rows(conn, f"SELECT c.relname {TABLES}"):
        ((count,),) = rows(conn, f"SELECT count(*) FROM mnemo.{table}")
        if count:
            found.append((table, count))
    return found


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def catalog_dsn(server: Server, template: str) -> str:
    """A database as an install leaves it."""
    dsn = server.create_database(f"catalog_{next(_numbers)}", template)
    with psycopg.connect(dsn) as conn:
        # The template of the tests has experience memory on.
        conn.execute("DELETE FROM mnemo.settings")
    return dsn


@pytest.fixture
def catalog(catalog_dsn: str) -> Iterator[Connection]:
    """A connection whose changes are rolled back."""
    with psycopg.connect(catalog_dsn) as conn, conn.transaction(force_rollback=True):
        yield conn


@pytest.mark.parametrize("name", RULES)
def test_rule(catalog: Connection, name: str) -> None:
    """Nobody offends against it."""
    assert RULES[name](catalog) == []


@pytest.mark.parametrize("name", RULES)
def test_the_rule_finds_who_offends(catalog: Connection, name: str) -> None:
    """A rule that could not fail would say nothing."""
    before = RULES[name](catalog)
    catalog.execute(cast(LiteralString, BREAKERS[name]))
    assert len(RULES[name](catalog)) > len(before)


# The text of the script


def headers() -> list[tuple[str, str]]:
    """Name and header (up to the body) of every function in the script, also of one that it puts
    together."""
    return re.findall(
        r"^\s*'?CREATE FUNCTION mnemo\.(\w+)(.*?)(?=^AS \$|^RETURN\b|^BEGIN ATOMIC|'?RETURN )",
        sql_text(), re.S | re.M,
    )  # fmt: skip


def test_headers_are_found(catalog: Connection) -> None:
    assert sorted(name for name, _ in headers()) == sorted(
        name for (name,) in rows(catalog, f"SELECT p.proname {FUNCTIONS}")
    )


@pytest.mark.parametrize(
    "clause",
    [r"\b(IMMUTABLE|STABLE|VOLATILE)\b", r"\bPARALLEL (SAFE|RESTRICTED|UNSAFE)\b",
     r"\bLANGUAGE (sql|plpgsql)\b", r"\bRETURNS\b|\bOUT\b"],
)  # fmt: skip
def test_functions_state_it(clause: str) -> None:
    """Volatility and the rest are never left to the default."""
    assert [name for name, header in headers() if not re.search(clause, header)] == []


def test_a_first_install_replaces_nothing() -> None:
    """A function of a stranger would stay his under CREATE OR REPLACE. A bracket begins a query."""
    assert not re.search(r"\bOR\s+REPLACE\b|\bIF\s+NOT\s+EXISTS\b(?!\s*\()", sql_text(), re.I)


def test_every_object_is_created_in_the_schema() -> None:
    """Nothing depends on where the path leads."""
    created = re.findall(
        r"^\s*CREATE (?:UNIQUE )?(?:TABLE|VIEW|TYPE|FUNCTION|DOMAIN|SEQUENCE)\s+(\S+)",
        sql_text(), re.M,
    )  # fmt: skip
    assert len(created) > 100
    assert [name for name in created if not name.startswith("mnemo.")] == []
    on = re.findall(r"CREATE (?:UNIQUE )?INDEX \w+\s+ON (\S+)", sql_text())
    assert [name for name in on if not name.startswith("mnemo.")] == []


def test_comments_follow_what_they_are_about() -> None:
    """Each function's comment stands directly below it."""
    found = re.findall(r"^(CREATE|COMMENT ON) FUNCTION mnemo\.(\w+)", sql_text(), re.M)
    for (verb, name), following in itertools.pairwise(found):
        if verb == "CREATE":
            assert following == ("COMMENT ON", name)
