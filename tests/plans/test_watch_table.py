"""Tables of the application that are watched: what makes plans stale, and with whose rights.

Roles are made and dropped here; the tables lie in a schema of their own that each test drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString, cast

import psycopg
import pytest
from psycopg import sql

from mnemo_pg import AsyncMnemo, Mnemo
from tests.privileges.helpers import acting, new_name, outcome, outcome_as
from tests.support.calls import refused, row, rows, scalar, value
from tests.support.installs import install
from tests.support.reuse import emptied
from tests.support.server import Server

WHO = {"agent_id": "ann", "org_id": "acme"}
SOURCE = "docs"


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    with emptied(module_dsn) as conn:
        conn.execute(
            "CREATE SCHEMA app; CREATE TABLE app.doc (id int PRIMARY KEY, body text, rev int)"
        )
        conn.execute("INSERT INTO app.doc SELECT n, 'body', 1 FROM generate_series(1, 9) AS n")
        conn.execute("SET client_min_messages = warning")
        yield conn
        conn.execute("RESET ROLE; RESET SESSION AUTHORIZATION; DROP SCHEMA app CASCADE")


def run(db: psycopg.Connection, statement: str, *given: Any) -> None:
    db.execute(cast(LiteralString, statement), given or None)


def watch(db: psycopg.Connection, table: str = "app.doc", id: str = "id", **more: Any) -> int:
    arguments = {"source": SOURCE, **WHO} | more
    return int(value(db, "watch_table", table=table, id_column=id, **arguments))


def told(db: psycopg.Connection, statement: str, *given: Any) -> list[str]:
    """The ids that a statement reports; it is rolled back."""
    db.execute("TRUNCATE mnemo.chunk_state")
    with db.transaction(force_rollback=True):
        run(db, statement, *given)
        found = db.execute("SELECT org_id, source, chunk_id FROM mnemo.chunk_state").fetchall()
    assert {(org, source) for org, source, _ in found} <= {("acme", SOURCE)}
    return sorted(id for *_, id in found)


def test_what_a_statement_reports(db: psycopg.Connection) -> None:
    """Without a version column every row that an UPDATE writes, whatever it writes."""
    assert watch(db) == 1
    for statement, expected in (
        ("INSERT INTO app.doc VALUES (10, 'x', 1)", []),
        ("UPDATE app.doc SET body = 'x' WHERE id IN (2, 3)", ["2", "3"]),
        ("UPDATE app.doc SET body = body WHERE id = 4", ["4"]),
        ("UPDATE app.doc SET body = 'x' WHERE id = 99", []),
        ("UPDATE app.doc SET id = 50 WHERE id = 5", ["5", "50"]),
        ("UPDATE app.doc SET id = id + 100 WHERE id > 7", ["108", "109", "8", "9"]),
        ("DELETE FROM app.doc WHERE id > 7", ["8", "9"]),
        ("DELETE FROM app.doc WHERE id = 99", []),
        ("INSERT INTO app.doc VALUES (1, 'y', 1), (11, 'y', 1) ON CONFLICT (id)"
         " DO UPDATE SET body = excluded.body", ["1"]),
        ("MERGE INTO app.doc AS d USING (VALUES (1, 'z'), (2, NULL), (12, 'n')) AS v(id, body)"
         " ON v.id = d.id WHEN MATCHED AND v.body IS NULL THEN DELETE"
         " WHEN MATCHED THEN UPDATE SET body = v.body"
         " WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.body, 1)", ["1", "2"]),
        # Every chunk of the source.
        ("TRUNCATE app.doc", [""]),
    ):  # fmt: skip
        assert told(db, statement) == expected, statement
    with db.cursor() as cursor, cursor.copy("COPY app.doc FROM STDIN") as copy:
        copy.write_row((20, "x", 1))
    assert scalar(db, "SELECT count(*) FROM mnemo.chunk_state") == 0


def test_a_version_column_tells_which_updates_count(db: psycopg.Connection) -> None:
    watch(db, version_column="rev")
    for statement, expected in (
        ("UPDATE app.doc SET body = 'x'", []),
        ("UPDATE app.doc SET rev = rev WHERE id < 4", []),
        ("UPDATE app.doc SET rev = CASE WHEN id < 4 THEN 2 ELSE rev END", ["1", "2", "3"]),
        ("UPDATE app.doc SET rev = NULL WHERE id = 1", ["1"]),
        ("UPDATE app.doc SET id = 50 WHERE id = 5", ["5", "50"]),
        ("DELETE FROM app.doc WHERE id = 1", ["1"]),
    ):  # fmt: skip
        assert told(db, statement) == expected, statement


def test_plans_go_stale_in_the_same_transaction(db: psycopg.Connection) -> None:
    watch(db)
    row(db, "remember_plan", query="where is the printer", steps=[], chunk_ids=["1"],
        outcome_score=1, chunk_source=SOURCE, **WHO)  # fmt: skip
    asked = {"query": "where is the printer", **WHO}
    with db.transaction(force_rollback=True):
        run(db, "UPDATE app.doc SET body = 'x' WHERE id = 1")
        assert row(db, "recall_plan", **asked)["reason"] == "stale"
    assert row(db, "recall_plan", **asked)["hit"]
    run(db, "UPDATE app.doc SET body = 'x' WHERE id = 2")
    assert row(db, "recall_plan", **asked)["hit"]
    run(db, "TRUNCATE app.doc")
    assert row(db, "recall_plan", **asked)["near_miss"]["changed_chunks"] == ["1"]
    events = rows(db, "read_events", types=["plan_stale"], **WHO)
    assert [event["changes"] for event in events] == [{"chunks": 1}, {"chunks": 1}]
    value(db, "seal")
    assert row(db, "verify_chain", **WHO)["ok"]


IDS = [
    ("bigint", "-5", "-5"), ("uuid", "0197C2F0-0000-7000-8000-000000000001",
                             "0197c2f0-0000-7000-8000-000000000001"),
    ("text", "it's {a,b} \\ \" \u6f22", "it's {a,b} \\ \" \u6f22"), ("varchar(9)", "NULL", "NULL"),
    ("numeric", "1.50", "1.50"), ("timestamptz", "2026-01-31 10:00+01", "2026-01-31 09:00:00+00"),
    ("date", "2026-01-31", "2026-01-31"), ("bytea", "\\xff00", "\\xff00"),
    ("double precision", "0.1", "0.1"), ("int[]", "{1,2}", "{1,2}"), ("app.code", "a", "a"),
    ("app.mood", "sad", "sad"), ("app.pair", '(1,"x y")', '(1,"x y")'),
    ("interval", "1 day 02:00", "1 day 02:00:00"),
]  # fmt: skip


def test_ids_of_any_type_are_their_text(db: psycopg.Connection) -> None:
    """Whatever the session has set; by the type's output, never by a cast that somebody made."""
    run(db, "CREATE DOMAIN app.code AS text; CREATE TYPE app.mood AS ENUM ('sad', 'glad');"
        " CREATE TYPE app.pair AS (n int, t text);"
        " CREATE FUNCTION app.trap(app.mood) RETURNS text LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;"
        " CREATE CAST (app.mood AS text) WITH FUNCTION app.trap(app.mood)")  # fmt: skip
    for number, (kind, given, _) in enumerate(IDS):
        run(db, f"CREATE TABLE app.t{number} (id {kind}, n int)")
        run(db, f"INSERT INTO app.t{number} VALUES (%s::{kind}, 1), (NULL, 1)", given)
        watch(db, f"app.t{number}", version_column="n")
    run(db, "SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu';"
        " SET bytea_output = 'escape'; SET extra_float_digits = -5;"
        " SET IntervalStyle = 'iso_8601';"
        " SET search_path = app")  # fmt: skip
    for number, (kind, _, shown) in enumerate(IDS):
        assert told(db, f"UPDATE app.t{number} SET n = 2") == [shown], kind
        assert told(db, f"DELETE FROM app.t{number}") == [shown], kind
    run(db, "RESET ALL; SET client_min_messages = warning")


def test_ids_that_are_filled_up_with_blanks(db: psycopg.Connection) -> None:
    """Programs read them with the blanks, and SQL that makes text of them without: both are it."""
    run(db, "CREATE DOMAIN app.short AS char(4); CREATE DOMAIN app.shorter AS app.short")
    for number, kind in enumerate(("char(4)", "app.shorter", "varchar(4)")):
        run(db, f"CREATE TABLE app.c{number} (id {kind}, n int); INSERT INTO app.c{number}"
            " VALUES ('ab', 1), ('abcd', 1), ('', 1), ('x ', 2)")  # fmt: skip
        for version in (None, "n"):
            watch(db, f"app.c{number}", version_column=version)
            told_ids = told(db, f"UPDATE app.c{number} SET n = n + 1 WHERE n < 9")
            assert {"ab", "abcd"} <= set(told_ids)
            assert ("ab  " in told_ids) == (number < 2)
            assert ("x" in told_ids) == (number < 2)
            # None of them stands for the whole source.
            assert "" not in told_ids


def test_ids_that_a_collation_takes_for_equal(db: psycopg.Connection) -> None:
    """They are two ids; and a version that differs by its case is another version."""
    try:
        run(db, "CREATE COLLATION app.any_case"
            " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")  # fmt: skip
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("the server has no ICU")
    run(db, "CREATE TABLE app.ci (id text COLLATE app.any_case, v text COLLATE app.any_case);"
        " INSERT INTO app.ci VALUES ('ab', 'x'), ('AB', 'x'), ('c', 'x')")  # fmt: skip
    for version in (None, "v"):
        watch(db, "app.ci", version_column=version)
        assert told(db, "UPDATE app.ci SET v = 'y' WHERE id = 'ab'") == ["AB", "ab"]
        assert told(db, "UPDATE app.ci SET v = 'X' WHERE id = 'c'") == ["c"]
        assert told(db, "UPDATE app.ci SET id = 'C' WHERE id = 'c'") == ["C", "c"]
        assert told(db, "DELETE FROM app.ci") == ["AB", "ab", "c"]


def test_a_column_that_is_not_stored_cannot_be_watched(db: psycopg.Connection) -> None:
    """The server does not give it to triggers: every change would fail."""
    run(db, "CREATE TABLE app.made (n int, v int, id text GENERATED ALWAYS AS (n::text) STORED)")
    watch(db, "app.made")
    if db.info.server_version < 180000:
        return
    run(db, "CREATE TABLE app.virtual (n int, v int, id int GENERATED ALWAYS AS (n + 1) VIRTUAL)")
    for more in (
        {"id": "id"},
        {"id": "n", "version_column": "id"},
        {"id": "n", "org_column": "id"},
    ):
        with refused("22023", f"p_{[*more][-1].removesuffix('_column')}_column"):
            watch(db, "app.virtual", **more)
    watch(db, "app.virtual", "n")
    run(db, "INSERT INTO app.virtual VALUES (1, 1)")
    assert told(db, "UPDATE app.virtual SET v = 2") == ["1"]


OWNED = """CREATE TABLE app.owned (id int, tenant text, n int);
    INSERT INTO app.owned VALUES (1, 'acme', 1), (1, 'globex', 1), (2, 'acme', 1), (3, 'globex', 1),
        (4, NULL, 1), (5, '', 1), (6, '*', 1), (7, 'no such name!', 1), (NULL, 'acme', 1)"""


def by_org(db: psycopg.Connection, statement: str) -> set[tuple[str, str]]:
    """What a statement reports, by organisation; then it is taken back."""
    with db.transaction(force_rollback=True):
        db.execute("TRUNCATE mnemo.chunk_state")
        run(db, statement)
        return set(db.execute("SELECT org_id, chunk_id FROM mnemo.chunk_state").fetchall())


@pytest.mark.parametrize("version", [None, "n"])
def test_a_column_says_whose_chunk_it_is(db: psycopg.Connection, version: str | None) -> None:
    """One table for the chunks of many organisations: each has its own, and an event of its own."""
    run(db, OWNED)
    watch(db, "app.owned", version_column=version, org_column="tenant")
    changed = "UPDATE app.owned SET n = n + 1"
    acme, globex = {("acme", "1"), ("acme", "2")}, {("globex", "1"), ("globex", "3")}
    for statement, expected in (
        (changed, acme | globex),
        (f"{changed} WHERE id = 1 AND tenant = 'acme'", {("acme", "1")}),
        ("DELETE FROM app.owned", acme | globex),
        ("DELETE FROM app.owned WHERE id > 2", {("globex", "3")}),
        # It leaves one and comes to the other; the version is no other.
        ("UPDATE app.owned SET tenant = 'acme' WHERE id = 3", {("acme", "3"), ("globex", "3")}),
        ("UPDATE app.owned SET tenant = 'acme' WHERE id = 4", {("acme", "4")}),
        ("UPDATE app.owned SET tenant = NULL WHERE id = 2", {("acme", "2")}),
        ("UPDATE app.owned SET n = n + 1 WHERE id > 3", set()),
    ):  # fmt: skip
        assert by_org(db, statement) == expected, statement
    for org, scope in (("acme", "private"), ("globex", "private"), ("initech", "global")):
        row(db, "remember_plan", query="where is the printer", steps=[], chunk_ids=["1"],
            outcome_score=1, chunk_source=SOURCE, scope=scope, agent_id="ann",
            org_id=org)  # fmt: skip
    run(db, f"{changed} WHERE tenant = 'globex'")
    asked = {"query": "where is the printer", "agent_id": "ann"}
    assert row(db, "recall_plan", org_id="globex", **asked)["scope"] == "global"
    assert row(db, "recall_plan", org_id="acme", **asked)["scope"] == "private"
    assert by_org(db, "TRUNCATE app.owned") == {("acme", ""), ("globex", ""), ("initech", "")}
    events = db.execute(
        "SELECT org_id, agent_id, changes FROM mnemo.event WHERE event_type = 'plan_stale'"
    ).fetchall()
    assert events == [("globex", WHO["agent_id"], {"chunks": 2})]
    value(db, "seal")
    for org in ("acme", "globex", "initech"):
        for agent in {"ann", WHO["agent_id"]}:
            assert row(db, "verify_chain", agent_id=agent, org_id=org)["ok"]
    run(db, "ALTER TABLE app.owned RENAME COLUMN tenant TO org")
    with refused("22023", "p_id_column"):
        run(db, changed)


def test_hostile_names(db: psycopg.Connection) -> None:
    """Of schema, table, columns and source: all is quoted, and taken exactly."""
    names = ['"; DROP TABLE app.doc; --', "it's", "a\\b", "Ünï %I %s $1", "select", "mnemo_old"]
    for name in names:
        made = sql.SQL("CREATE TABLE app.{0} ({0} text, {1} int)").format(
            sql.Identifier(name), sql.Identifier(name + " v")
        )
        db.execute(made)
        table = sql.Identifier("app", name).as_string(db)
        source = name[:10]
        watch(db, table, name, version_column=name + " v", source=source)
        db.execute(sql.SQL("INSERT INTO {} VALUES ('x', 1)").format(sql.Identifier("app", name)))
        db.execute(sql.SQL("UPDATE {} SET {} = 2").format(
            sql.Identifier("app", name), sql.Identifier(name + " v")))  # fmt: skip
        assert scalar(db, "SELECT count(*) FROM mnemo.chunk_state WHERE source = %s"
                      " AND chunk_id = 'x'", source) == 1  # fmt: skip
        assert value(db, "unwatch_table", table=table) == 3
    assert scalar(db, "SELECT count(*) FROM app.doc") == 9


def test_partitions_and_inheritance(db: psycopg.Connection) -> None:
    """A statement on the parent, on a part, and one that moves rows between parts."""
    run(db, "CREATE TABLE app.p (id int, part int, v int) PARTITION BY LIST (part);"
        " CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES IN (1);"
        " CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES IN (2, 3) PARTITION BY LIST (part);"
        " CREATE TABLE app.p3 PARTITION OF app.p2 FOR VALUES IN (2);"
        " INSERT INTO app.p VALUES (1, 1, 0), (2, 2, 0);"
        " CREATE TABLE app.parent (id int, v int); CREATE TABLE app.child () INHERITS (app.parent);"
        " INSERT INTO app.child VALUES (3, 0)")  # fmt: skip
    assert watch(db, "app.p", version_column="v") == 4
    assert watch(db, "app.parent", version_column="v") == 2
    for statement, expected in (
        ("UPDATE app.p SET v = 1", ["1", "2"]),
        ("UPDATE app.p1 SET v = 1", ["1"]),
        ("UPDATE app.p3 SET v = 1", ["2"]),
        ("UPDATE app.p SET part = 2 WHERE id = 1", []),
        ("UPDATE app.p SET part = 2, v = 1 WHERE id = 1", ["1"]),
        ("DELETE FROM app.p2", ["2"]),
        ("TRUNCATE app.p3", [""]),
        ("UPDATE app.parent SET v = 1", ["3"]),
        ("UPDATE app.child SET v = 1", ["3"]),
    ):
        assert told(db, statement) == expected, statement
    run(db, "CREATE TABLE app.p4 PARTITION OF app.p2 FOR VALUES IN (3); "
        " INSERT INTO app.p VALUES (4, 3, 0)")  # fmt: skip
    assert told(db, "UPDATE app.p4 SET v = 1") == []
    assert watch(db, "app.p", version_column="v") == 5
    assert told(db, "UPDATE app.p4 SET v = 1") == ["4"]
    assert value(db, "unwatch_table", table="app.p") == 15
    assert told(db, "UPDATE app.p SET v = 7") == []


def test_cascades_are_seen(db: psycopg.Connection) -> None:
    run(db, "CREATE TABLE app.part (id text PRIMARY KEY, doc int REFERENCES app.doc"
        " ON DELETE CASCADE ON UPDATE CASCADE);"
        " INSERT INTO app.part VALUES ('1a', 1), ('1b', 1), ('2a', 2)")  # fmt: skip
    watch(db, "app.part")
    assert told(db, "DELETE FROM app.doc WHERE id = 1") == ["1a", "1b"]
    assert told(db, "UPDATE app.doc SET id = 77 WHERE id = 2") == ["2a"]
    assert told(db, "TRUNCATE app.doc CASCADE") == [""]


def test_watching_again_and_no_more(db: psycopg.Connection) -> None:
    """The later watch is the one that holds; the end of it is the end of all."""
    watch(db, source="other", version_column="rev", org_id="elsewhere")
    assert watch(db) == 1
    assert told(db, "UPDATE app.doc SET body = 'x' WHERE id = 1") == ["1"]
    assert scalar(db, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.doc'::regclass") == 3
    statements = rows(db, "watch_statements", table="app.doc")
    assert value(db, "unwatch_table", table="app.doc") == 3
    assert value(db, "unwatch_table", table="app.doc") == 0
    assert told(db, "UPDATE app.doc SET body = 'x' WHERE id = 1") == []
    assert [s["statement"].split()[0] for s in statements] == ["DROP"] * 3
    made = rows(db, "watch_statements", table="app.doc", id_column="id", source=SOURCE, **WHO)
    for statement in made:
        run(db, statement["statement"].replace("%", "%%"))
    assert told(db, "UPDATE app.doc SET body = 'x' WHERE id = 1") == ["1"]


def test_a_column_that_is_gone_is_said_so(db: psycopg.Connection) -> None:
    """Rather than letting plans be replayed that nobody watches."""
    watch(db, version_column="rev")
    run(db, "ALTER TABLE app.doc RENAME COLUMN rev TO revision")
    with refused("22023", "p_id_column"):
        run(db, "UPDATE app.doc SET body = 'x'")
    watch(db, version_column="revision")
    assert told(db, "UPDATE app.doc SET revision = 2 WHERE id = 1") == ["1"]
    run(db, "ALTER TABLE app.doc RENAME TO paper; ALTER TABLE app.paper ALTER id TYPE text")
    assert told(db, "DELETE FROM app.paper WHERE id = '3'") == ["3"]


def test_bad_arguments(db: psycopg.Connection) -> None:
    run(
        db, "CREATE VIEW app.v AS SELECT * FROM app.doc; CREATE MATERIALIZED VIEW app.m AS SELECT 1"
    )
    for table in (None, "app.v", "app.m", "mnemo.memory", "app.doc_pkey"):
        with refused("22023", "p_table"):
            watch(db, cast(str, table))
    with refused("22023", "p_table"):
        value(db, "unwatch_table", table=None)
    for column in ("nothing", "", "ID", "ctid", '"id"', None, "tableoid"):
        with refused("22023", "p_id_column"):
            watch(db, id=cast(str, column))
        if column is not None:
            for other in ("version_column", "org_column"):
                with refused("22023", f"p_{other}"):
                    watch(db, **{other: column})
    with refused("22023", "p_source"):
        watch(db, source=" ")
    with refused("54000", "p_source"):
        watch(db, source="x" * 257)
    for parameter, bad in (("agent_id", "a b"), ("org_id", "*")):
        with refused("22023", f"p_{parameter}"):
            watch(db, **{parameter: bad})
    assert scalar(db, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.doc'::regclass") == 0


@pytest.fixture
def roles(db: psycopg.Connection) -> Iterator[dict[str, str]]:
    """The owner of app.doc with level application, one who may write it, a tenant."""
    made = {name: new_name(name) for name in ("app_owner", "writer", "tenant", "nobody")}
    for role in made.values():
        run(db, f'CREATE ROLE "{role}"')
    value(db, "grant_access", role=made["app_owner"], level="application")
    value(db, "grant_access", role=made["tenant"], level="tenant")
    value(db, "bind_role", role=made["tenant"], org_id="acme")
    run(db, f'ALTER TABLE app.doc OWNER TO "{made["app_owner"]}"')
    run(db, f'GRANT USAGE ON SCHEMA app TO PUBLIC; GRANT ALL ON app.doc TO "{made["writer"]}"')
    yield made
    for role in made.values():
        run(db, f'DROP OWNED BY "{role}" CASCADE; DROP ROLE "{role}"')


def test_the_owner_watches_and_anybody_changes(
    db: psycopg.Connection, roles: dict[str, str]
) -> None:
    """Who changes the table needs nothing here, and gains nothing."""
    with acting(db, roles["app_owner"]):
        watch(db)
    with acting(db, roles["writer"]):
        run(db, "UPDATE app.doc SET body = 'x' WHERE id = 1; DELETE FROM app.doc WHERE id = 2")
        assert outcome(db, "SELECT * FROM mnemo.chunk_state") == "42501"
        assert outcome(db, "SELECT mnemo.invalidate_chunks('{a}')") == "42501"
    assert scalar(db, "SELECT array_agg(chunk_id ORDER BY 1) FROM mnemo.chunk_state") == ["1", "2"]
    call = "SELECT mnemo.watch_table('app.doc', 'id', p_org_id => 'acme')"
    for name in ("writer", "tenant", "nobody"):
        assert outcome_as(db, roles[name], call) == "42501", name
    # A tenant may see the statements for its organisation, and for no other.
    call = "SELECT mnemo.watch_statements('app.doc', 'id', p_org_id => 'acme'{})"
    assert outcome_as(db, roles["tenant"], call.format("")) == "ok"
    for more in (", p_org_column => 'body'", ", p_org_column => 'nothing'"):
        assert outcome_as(db, roles["tenant"], call.format(more)) == "42501"
    # A table of somebody without a level.
    run(db, f'ALTER TABLE app.doc OWNER TO "{roles["writer"]}"')
    with acting(db, roles["app_owner"]), refused("42501", "p_table"):
        watch(db)
    with refused("42501"):
        run(db, "UPDATE app.doc SET body = 'y' WHERE id = 1")


def test_triggers_of_ones_own_making_gain_nothing(
    db: psycopg.Connection, roles: dict[str, str]
) -> None:
    """Neither without EXECUTE, nor after a restore that left everything to PUBLIC: a table's owner
    must have a level, and tenants have no tables."""
    trigger = (
        "CREATE TRIGGER planted AFTER DELETE ON app.mine REFERENCING OLD TABLE AS mnemo_old"
        " FOR EACH STATEMENT EXECUTE FUNCTION"
        " mnemo._chunk_table_changed('id', '', 'docs', 'acme', 'ann')"
    )
    for name in ("nobody", "tenant"):
        run(db, f'CREATE TABLE app.mine (id text); ALTER TABLE app.mine OWNER TO "{roles[name]}";'
            f' GRANT USAGE ON SCHEMA mnemo TO "{roles[name]}"')  # fmt: skip
        assert outcome_as(db, roles[name], trigger) == "42501", name
        with db.transaction(force_rollback=True):
            run(db, "GRANT EXECUTE ON FUNCTION mnemo._chunk_table_changed() TO PUBLIC")
            with acting(db, roles[name]):
                run(db, trigger)
                run(db, "INSERT INTO app.mine VALUES ('1')")
                assert outcome(db, "DELETE FROM app.mine") == "42501", name
        run(db, "DROP TABLE app.mine")
    assert outcome(db, "SELECT mnemo._chunk_table_changed()") == "0A000"


def test_no_code_of_a_table_runs_with_our_rights(
    db: psycopg.Connection, roles: dict[str, str]
) -> None:
    """Neither casts nor operators nor functions of the owner of the table, on any path."""
    with acting(db, roles["app_owner"]):
        watch(db)
    owner = roles["app_owner"]
    run(db, f'CREATE SCHEMA trap AUTHORIZATION "{owner}"')
    with acting(db, owner):
        run(db, "CREATE FUNCTION trap.concat(int) RETURNS text LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$;"
            " CREATE TABLE trap.mnemo_old (id text); CREATE FUNCTION trap.no(text, text)"
            " RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran'; END $$;"
            " CREATE OPERATOR trap.<>"
            " (FUNCTION = trap.no, LEFTARG = text, RIGHTARG = text)")  # fmt: skip
        run(db, "SET search_path = trap, pg_temp, app, pg_catalog")
        assert value_of(db, "DELETE FROM app.doc WHERE id = 1 RETURNING id") == 1
        run(db, "RESET search_path")
    assert scalar(db, "SELECT chunk_id FROM mnemo.chunk_state") == "1"
    run(db, "DROP SCHEMA trap CASCADE")


def value_of(db: psycopg.Connection, statement: str) -> Any:
    found = db.execute(cast(LiteralString, statement)).fetchone()
    assert found
    return found[0]


@pytest.mark.parametrize("mode", ["psql", "extension"])
def test_a_dump_brings_the_watch_back(server: Server, mode: str) -> None:
    """The function is there before the trigger; loading the rows reports nothing."""
    names = [new_name("db"), new_name("db")]
    for name in names:
        server.create_database(name)
    install(server, names[0], mode)
    with server.connect(names[0]) as db:
        value(db, "configure", name="experience_memory", value="on")
        run(db, "CREATE SCHEMA app; CREATE TABLE app.\"it's\" (id int, v int);"
            " INSERT INTO app.\"it's\" VALUES (1, 1), (2, 1)")  # fmt: skip
        watch(db, 'app."it\'s"', version_column="v")
        for id in ("1", "2"):
            row(db, "remember_plan", query=f"where is number {id}", steps=[], chunk_ids=[id],
                outcome_score=1, chunk_source=SOURCE, **WHO)  # fmt: skip
        run(db, 'UPDATE app."it\'s" SET v = 2 WHERE id = 1')
    dump = server.folder / f"{names[0]}.dump"
    server.run("pg_dump", "-Fc", "-f", dump, server.dsn(names[0]))
    server.run("pg_restore", "--exit-on-error", "-d", server.dsn(names[1]), dump)
    with server.connect(names[1]) as db:
        reasons = [row(db, "recall_plan", query=f"where is number {id}", **WHO)["reason"]
                   for id in (1, 2)]  # fmt: skip
        assert reasons == ["stale", "exact"]
        run(db, 'UPDATE app."it\'s" SET v = 2 WHERE id = 2')
        assert row(db, "recall_plan", query="where is number 2", **WHO)["reason"] == "stale"
        assert value(db, "unwatch_table", table='app."it\'s"') == 3
    for name in names:
        server.drop_database(name)


async def test_both_clients(db: psycopg.Connection, module_dsn: str) -> None:
    with Mnemo(module_dsn, agent_id="ann", org_id="acme") as m:
        assert m.watch_table("app.doc", "id", version_column="rev", source=SOURCE) == 1
        shown = m.watch_statements("app.doc", id_column="id")
        assert [line.rank for line in shown] == [1, 2, 3, 4, 5, 6]
        assert told(db, "UPDATE app.doc SET rev = 2 WHERE id = 1") == ["1"]
        assert m.unwatch_table("app.doc") == 3
    async with AsyncMnemo(module_dsn, agent_id="ann", org_id="acme") as m:
        assert await m.watch_table("app.doc", "id", source=SOURCE) == 1
        assert told(db, "UPDATE app.doc SET body = 'x' WHERE id = 1") == ["1"]
        assert await m.unwatch_table("app.doc") == 3
