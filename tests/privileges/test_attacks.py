"""A tenant with an SQL prompt tries to read or change what is not its own."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import psycopg
import pytest

from tests.privileges.helpers import (
    AGENT,
    ORG,
    OTHER_AGENT,
    OTHER_ORG,
    Connection,
    functions,
    grant,
    new_name,
    new_role,
    new_tenant,
    outcome,
    refusal,
    remember_plan,
    rows,
    text,
    value,
)
from tests.support.calls import rows as calls_rows
from tests.support.calls import tables
from tests.support.every import Call, prepare
from tests.support.server import Server

SECRET = "the vault opens with nineteen emeralds"
SECRET_WORDS = ("vault", "nineteen", "emeralds")


@dataclass(frozen=True)
class Scene:
    """A database with a victim's records, an attacker's login, and others to become."""

    server: Server
    dbname: str
    roles: dict[str, str]
    plans: list[UUID]
    memories: list[UUID]
    delegations: list[UUID]
    calls: list[Call]  # one of every public function, good but for who calls

    def login(self, role: str = "attacker", **more: str) -> Connection:
        """An autocommit connection."""
        return self.server.connect(self.dbname, user=self.roles.get(role, role), **more)

    @property
    def ids(self) -> list[UUID]:
        return self.plans + self.memories

    def fingerprint(self) -> list[tuple[object, ...]]:
        """Every row that is the victim's or about it, to see that nothing of it changed."""
        words = "|".join((OTHER_ORG, OTHER_AGENT, *map(str, self.ids), *map(str, self.delegations)))
        with self.login("postgres") as conn:
            return sorted(
                (table, row)
                for table in tables(conn)
                for (row,) in rows(
                    conn,
                    f"SELECT t::text FROM mnemo.{table} AS t WHERE t::text ~ %s"
                    f" OR '{table}' IN ('role_level', 'role_binding', 'settings', 'vector_model')",
                    words,
                )
            )


@pytest.fixture(scope="module")
def scene(server: Server, template: str) -> Scene:
    """The victim is another agent of the same organisation, and the same agent of another one."""
    name = f"attacks_{template}"
    with psycopg.connect(server.create_database(name, template), autocommit=True) as conn:
        roles = {
            "attacker": new_tenant(conn, options="LOGIN"),
            "unbound": grant(conn, new_role(conn, "LOGIN"), "tenant"),
            "neighbour": new_tenant(conn, (ORG, OTHER_AGENT), options="LOGIN"),
            "application": grant(conn, new_role(conn, "LOGIN"), "application"),
            "admin": grant(conn, new_role(conn, "LOGIN"), "admin"),
        }
        victims = [
            (agent, org, scope)
            for agent, org in ((OTHER_AGENT, ORG), (OTHER_AGENT, OTHER_ORG), (AGENT, OTHER_ORG))
            for scope in ("private", "shared", "public")
            if (org, scope) != (ORG, "public")
        ]
        plans = [remember_plan(conn, SECRET, scope, agent, org) for agent, org, scope in victims]
        memories = [
            value(
                conn,
                "SELECT id FROM mnemo.remember(%s, %s, p_agent_id => %s, p_org_id => %s,"
                " p_tags => '{emeralds}', p_subject => 'the vault')",
                SECRET, scope, agent, org,
            )
            for agent, org, scope in victims
        ]  # fmt: skip
        delegations = [
            value(conn, "SELECT mnemo.delegate('x', p_agent_id => 'boss', p_org_id => %s)", org)
            for org in (ORG, OTHER_ORG)
        ]
        calls = prepare(conn, "third", new_name("an_application"), new_name("a_tenant"))
        conn.execute("ANALYZE")
    return Scene(server, name, roles, plans, memories, delegations, calls)


@pytest.fixture(autouse=True)
def nothing_of_the_victim_changes(scene: Scene) -> Iterator[None]:
    """Whatever a test of this file does."""
    before = scene.fingerprint()
    yield
    assert scene.fingerprint() == before


@pytest.fixture
def attacker(scene: Scene) -> Iterator[Connection]:
    """The attacker's prompt."""
    with scene.login() as conn:
        yield conn


def told(conn: Connection, query: str, *parameters: object) -> str:
    """All that a session is told about a statement: rows, notices, every field of an error."""
    heard: list[str] = []
    sent = parameters[0] if len(parameters) == 1 and isinstance(parameters[0], dict) else parameters

    def listen(note: psycopg.errors.Diagnostic) -> None:
        heard.append(f"{note.message_primary} {note.message_detail} {note.context}")

    conn.add_notice_handler(listen)
    try:
        cursor = conn.execute(text(query), sent or None)
        heard.append(str(cursor.fetchall()) if cursor.description else "")
    except psycopg.Error as error:
        d = error.diag
        heard += map(str, (d.message_primary, d.message_detail, d.message_hint, d.context,
                           d.internal_query, d.column_name, d.constraint_name))  # fmt: skip
    finally:
        conn.remove_notice_handler(listen)
    return " ".join(heard)


def assert_secret(heard: str, scene: Scene) -> None:
    """Nothing of the victim's words or ids is in it."""
    assert not [word for word in SECRET_WORDS if word in heard], heard
    assert not [record for record in scene.ids if str(record) in heard], heard


def test_the_victim_is_worth_it(scene: Scene) -> None:
    """The secret can be found by who may find it."""
    with scene.login("application") as conn:
        heard = told(
            conn, "SELECT * FROM mnemo.list_plans(p_agent_id => 'boss', p_org_id => 'acme')"
        )
    assert all(word in heard for word in SECRET_WORDS)
    assert len(scene.ids) == 16


# Becoming somebody else


@pytest.mark.parametrize("who", ["application", "admin", "neighbour", "unbound", "postgres"])
@pytest.mark.parametrize(
    "become",
    [
        "SET ROLE {0}",
        "SET LOCAL ROLE {0}",
        "SET SESSION ROLE {0}",
        "SET SESSION AUTHORIZATION {0}",
        "SELECT set_config('role', '{0}', false)",
        "SELECT set_config('session_authorization', '{0}', false)",
        "ALTER ROLE CURRENT_USER SET role = '{0}'; SET ROLE {0}",
        "GRANT {0} TO CURRENT_USER",
        "REASSIGN OWNED BY {0} TO CURRENT_USER",
        "DO $$BEGIN EXECUTE 'SET ROLE {0}'; END$$",
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET role = '{0}' RETURN 1;"
        " SELECT pg_temp.f()",
    ],
)
def test_becoming_another_role(scene: Scene, attacker: Connection, become: str, who: str) -> None:
    assert outcome(attacker, become.format(scene.roles.get(who, who))) in ("42501", "22023")
    assert outcome(attacker, "SELECT * FROM mnemo.list_plans(p_org_id => 'evil')") == "42501"


def test_the_role_setting_is_not_a_setting(scene: Scene, attacker: Connection) -> None:
    """Names that look like it change nothing, nor does a role in the connection string."""
    attacker.execute("SET mnemo.role = 'application'; SET mnemo.level = 'admin'")
    attacker.execute("SET application_name = 'postgres'; SET mnemo.saved_search_path = 'x'")
    assert outcome(attacker, "SELECT * FROM mnemo.list_plans(p_org_id => 'evil')") == "42501"
    with pytest.raises(psycopg.OperationalError):
        scene.login(options=f"-c role={scene.roles['application']}")


def test_a_pooled_session_forgets_who_it_was(scene: Scene) -> None:
    """SET ROLE tenant, RESET, and prepared statements: what counts is who calls now."""
    with scene.login("postgres") as conn:
        conn.execute("PREPARE p AS SELECT query FROM mnemo.list_plans(50, NULL, 'boss', 'evil')")
        for _ in range(6):
            assert len(rows(conn, "EXECUTE p")) == 4
        conn.execute(text(f"SET ROLE {scene.roles['attacker']}"))
        # No savepoint here: the driver forgets prepared statements when it rolls back.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("EXECUTE p")
        conn.execute("RESET ROLE")
        assert len(rows(conn, "EXECUTE p")) == 4


def test_cursors_do_not_keep_a_level(scene: Scene) -> None:
    """A cursor opened as tenant and fetched as superuser, and the other way round."""
    query = "SELECT query FROM mnemo.list_plans(50, NULL, 'boss', 'evil')"
    with scene.login("postgres") as conn, conn.transaction():
        conn.execute(text(f"SET LOCAL ROLE {scene.roles['attacker']}"))
        assert outcome(conn, f"DECLARE c CURSOR FOR {query}; FETCH ALL FROM c") == "42501"
        conn.execute("RESET ROLE")
        conn.execute(text(f"DECLARE c CURSOR FOR {query}"))
        conn.execute(text(f"SET LOCAL ROLE {scene.roles['attacker']}"))
        assert outcome(conn, "FETCH ALL FROM c") == "42501"


# The tables and what is around them


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM mnemo.memory", "SELECT * FROM ONLY mnemo.memory TABLESAMPLE SYSTEM (100)",
        "TABLE mnemo.plan", "TABLE mnemo._plan", "TABLE mnemo.event", "TABLE mnemo.role_binding",
        "SELECT (SELECT m FROM mnemo.memory AS m LIMIT 1)", "COPY mnemo.memory TO STDOUT",
        "COPY (SELECT * FROM mnemo.memory) TO PROGRAM 'cat'", "SELECT xmin FROM mnemo.memory",
        "EXPLAIN ANALYZE SELECT * FROM mnemo.memory", "LOCK TABLE mnemo.memory",
        "CREATE TEMP TABLE loot AS SELECT * FROM mnemo.memory",
        "CREATE TEMP TABLE loot (LIKE mnemo.memory INCLUDING ALL); TABLE mnemo.memory",
        "CREATE TEMP VIEW loot AS SELECT * FROM mnemo.memory; TABLE loot",
        "CREATE TEMP TABLE heir () INHERITS (mnemo.memory)",
        "CREATE TEMP TABLE heir (org_id text, FOREIGN KEY (org_id) REFERENCES mnemo.memory)",
        "MERGE INTO mnemo.settings USING (VALUES (1)) AS v(i) ON true WHEN MATCHED THEN DELETE",
        "INSERT INTO mnemo.role_binding VALUES ('evil', current_user, NULL)",
        "INSERT INTO mnemo.role_level VALUES (current_user, 'admin') ON CONFLICT DO NOTHING",
        "UPDATE mnemo.role_level SET level = 'admin'", "DELETE FROM mnemo.acl",
        "SELECT query_to_xml('SELECT * FROM mnemo.memory', true, true, '')",
        "SELECT table_to_xml('mnemo.memory', true, true, '')",
        "SELECT ts_stat('TABLE mnemo.memory')",
        "SELECT * FROM mnemo._visible('evil', 'boss', now())", "SELECT pg_read_file('PG_VERSION')",
        "SELECT lo_import('/etc/passwd')", "SELECT pg_current_logfile()",
        "VACUUM FULL mnemo.memory", "SELECT pg_logical_slot_peek_changes('s', NULL, NULL)",
        "SELECT pg_stat_reset()",
        "SELECT * FROM pg_statistic", "SELECT * FROM pg_authid", "SELECT * FROM pg_hba_file_rules",
        "SELECT dblink('', '')", "LOAD 'auto_explain'", "CREATE STATISTICS s ON content, metadata"
        " FROM mnemo.memory", "CREATE PUBLICATION p FOR TABLE mnemo.memory", "CLUSTER mnemo.memory",
        "CREATE POLICY p ON mnemo.memory", "CREATE TRIGGER t BEFORE INSERT ON mnemo.memory"
        " EXECUTE FUNCTION suppress_redundant_updates_trigger()", "REINDEX TABLE mnemo.memory",
        "CREATE OPERATOR CLASS pg_temp.o FOR TYPE text USING btree AS OPERATOR 1 <",
        "CREATE CAST (text AS integer) WITH INOUT", "CREATE LANGUAGE plpython3u",
        "SET session_replication_role = replica", "SET session_preload_libraries = 'x'",
        "SET log_statement = 'all'",
        "SET lo_compat_privileges = on", "SET track_functions = 'all'",
    ],
)  # fmt: skip
def test_around_the_functions(scene: Scene, attacker: Connection, query: str) -> None:
    """Refused, and the refusal tells nothing."""
    error = refusal(attacker, query)
    # Some are no attack here because the server does not have what they need.
    assert error.sqlstate in ("42501", "42883", "42704", "0A000", "58P01", "42602", "25001",
                              "55000", "42P16", "42830", "25P02"), error  # fmt: skip
    assert_secret(str(error), scene)


def test_catalog_and_statistics_tell_nothing(scene: Scene, attacker: Connection) -> None:
    """The planner's statistics, other sessions' statements, comments, defaults, large objects."""
    with scene.login("application") as busy:
        busy.execute(text(f"SELECT * FROM mnemo.recall_plan('{SECRET}', 'boss', 'evil')"))
        for query in (
            "SELECT * FROM pg_stats", "SELECT * FROM pg_stats_ext",
            "SELECT * FROM pg_stat_activity", "SELECT * FROM pg_prepared_statements",
            "SELECT * FROM pg_cursors", "SELECT * FROM pg_locks",
            "SELECT * FROM pg_stat_user_tables", "SELECT * FROM pg_settings",
            "SELECT * FROM pg_description", "SELECT * FROM pg_class", "SELECT * FROM pg_constraint",
            "SELECT * FROM information_schema.columns", "SELECT * FROM pg_largeobject_metadata",
            "SELECT * FROM pg_seclabels", "SELECT * FROM pg_stat_progress_copy",
            "SELECT pg_get_viewdef('mnemo.plan')", "SELECT * FROM pg_stat_statements",
            "SELECT schema_to_xml('mnemo', true, true, '')",
            "SELECT database_to_xml(true, true, '')",
        ):  # fmt: skip
            heard = told(attacker, query)
            assert "vault" not in heard, query
            assert "nineteen" not in heard, query


def test_explain_shows_no_inside(scene: Scene, attacker: Connection) -> None:
    """A call of a public function is one node; its plan, and other rows' numbers, are inside."""
    for query in (
        "SELECT * FROM mnemo.recall_plan('vault nineteen emeralds opens')",
        "SELECT * FROM mnemo.recall('x')", "SELECT * FROM mnemo.list_plans()",
        "SELECT mnemo.check_permission('00000000-0000-7000-8000-000000000000', 'read')",
    ):  # fmt: skip
        attacker.execute("SET debug_print_plan = on; SET client_min_messages = log")
        heard = told(attacker, f"EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {query}")
        assert "Seq Scan" not in heard
        assert "Index" not in heard
        assert "plan_signature" not in heard
        for record in scene.ids:
            assert str(record) not in heard
        attacker.execute("RESET debug_print_plan; RESET client_min_messages")


def test_code_of_the_attacker_does_not_run_inside(scene: Scene, attacker: Connection) -> None:
    """Leaky functions, operators and domains on the way in or out see what comes out anyway."""
    attacker.execute(
        """
        CREATE FUNCTION pg_temp.leak(p text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
        AS $$BEGIN RAISE NOTICE 'leaked %', p; RETURN true; END$$;
        CREATE DOMAIN pg_temp.spy AS text CHECK (pg_temp.leak(VALUE));
        CREATE OPERATOR pg_temp.<<< (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
        """
    )
    queries = [
        "SELECT * FROM {} AS x WHERE pg_temp.leak(x::text)",
        "SELECT * FROM (VALUES (1)) AS v LEFT JOIN {} AS x ON pg_temp.leak(x::text)",
        "SELECT x::text::pg_temp.spy FROM {} AS x",
        "SELECT * FROM {} AS x ORDER BY pg_temp.leak(x::text)",
        "SELECT count(*) FILTER (WHERE pg_temp.leak(x::text)) FROM {} AS x",
    ]
    for source in (
        "mnemo.recall('vault')", "mnemo.list_plans()",
        "mnemo.recall_plans('the vault opens with emeralds'::pg_temp.spy, p_guard => 'off')",
        "mnemo.recall_plan('the vault opens with emeralds'::pg_temp.spy, p_guard => 'off')",
        "mnemo.explain_recall_plan('the vault opens with')",
        f"mnemo.get_memories('{{{scene.memories[0]}}}')",
    ):  # fmt: skip
        for query in queries:
            heard = told(attacker, query.format(source))
            assert "nineteen" not in heard, (source, query)
            assert not [i for i in scene.ids if f"leaked ({i}" in heard]


def test_the_view_of_a_former_administrator_leaks_nothing(scene: Scene) -> None:
    """SELECT without the level: neither rows nor what a cheap function in a join would see."""
    with scene.login("postgres") as conn:
        role = grant(conn, new_role(conn, "LOGIN"), "admin")
        conn.execute("DELETE FROM mnemo.role_level WHERE role_name = %s", (role,))
    try:
        with scene.login(role) as former:
            former.execute(
                "CREATE FUNCTION pg_temp.leak(p text) RETURNS boolean LANGUAGE plpgsql"
                " COST 0.0000001 AS $$BEGIN RAISE NOTICE 'leaked %', p; RETURN true; END$$"
            )
            for query in (
                "SELECT * FROM mnemo.plan WHERE pg_temp.leak(query)",
                "SELECT x.* FROM (VALUES (1)) AS v"
                " LEFT JOIN mnemo.plan AS x ON pg_temp.leak(x.query)",
                "SELECT (SELECT count(*) FROM mnemo.plan AS x WHERE pg_temp.leak(x.query || v.i))"
                " FROM (VALUES ('a'), ('b')) AS v(i)",
                "SELECT * FROM mnemo.plan AS a FULL JOIN mnemo.plan AS b ON pg_temp.leak(a.query)"
                " AND a.id = b.id",
                "SELECT pg_temp.leak(query) FROM mnemo.plan",
                "SELECT * FROM mnemo.agent_stats WHERE pg_temp.leak(agent_id || org_id)",
                "SELECT * FROM mnemo.stats WHERE pg_temp.leak(org_id || agents)",
                "SELECT s.* FROM (VALUES (1)) AS v"
                " LEFT JOIN mnemo.stats AS s ON pg_temp.leak(s.org_id)",
            ):
                heard = told(former, query)
                assert_secret(heard, scene)
                assert "leaked" not in heard, query
    finally:
        with scene.login("postgres") as conn:
            conn.execute(text(f"DROP OWNED BY {role}"))


# Through the functions


def test_ids_of_others_open_nothing(scene: Scene, attacker: Connection) -> None:
    """Reading, sharing with oneself, taking grants away, deleting; also as a batch."""
    for record in scene.ids:
        shown = f"'{record}'::uuid"
        for query in (
            f"SELECT * FROM mnemo.get_memories(ARRAY[{shown}])",
            f"SELECT * FROM mnemo.get_plan({shown})",
            f"SELECT * FROM mnemo.share({shown}, ARRAY['bot'], 'share')",
            f"SELECT * FROM mnemo.share({shown}, ARRAY['x'], 'read', '1 day', 'bot', 'acme')",
            f"SELECT * FROM mnemo.unshare({shown}, ARRAY['boss'])",
            f"SELECT * FROM mnemo.forget(ARRAY[{shown}])",
            f"SELECT * FROM mnemo.list_plans(100, {shown})",
        ):
            heard = told(attacker, query).replace(str(record), "")
            assert_secret(heard, scene)
        for permission in ("read", "write", "delete", "share"):
            assert not value(
                attacker, f"SELECT mnemo.check_permission({shown}, '{permission}')"
            )  # fmt: skip
    many = ", ".join(f"'{record}'::uuid" for record in scene.ids)
    assert rows(attacker, f"SELECT * FROM mnemo.get_memories(ARRAY[{many}])") == []


def foreign(scene: Scene) -> dict[str, UUID]:
    """Ids of the victim: records of every scope in both organisations, delegations, an event."""
    with scene.login("postgres") as conn:
        event = value(
            conn, "SELECT id FROM mnemo.event WHERE memory_id = %s LIMIT 1", scene.memories[0]
        )
    return (
        {f"memory {n}": record for n, record in enumerate(scene.memories)}
        | {f"plan {n}": record for n, record in enumerate(scene.plans[::3])}
        | {f"delegation {n}": record for n, record in enumerate(scene.delegations)}
        | {"event": event}
    )


def with_ids(scene: Scene, conn: Connection) -> Iterator[tuple[Call, str, bool]]:
    """Every public function that takes ids, with the parameter, and whether it is a list."""
    kinds = {f.name: f.parameters for f in functions(conn)}
    for call in scene.calls:
        for parameter, kind in kinds[call.function].items():
            if kind in ("uuid", "uuid[]"):
                yield call, parameter.removeprefix("p_"), kind == "uuid[]"


@pytest.mark.parametrize("who", ["attacker", "application", "application as the attacker"])
def test_ids_of_others_answer_as_unknown_ones(scene: Scene, who: str) -> None:
    """Every public function, every id of the victim: the same words as for an id of nobody."""
    identity = {"agent_id": AGENT, "org_id": ORG} if " as " in who else {}
    asked, unknown = 0, UUID("00000000-0000-7000-8000-000000000000")
    with scene.login(who.split()[0]) as conn:
        for call, parameter, many in with_ids(scene, conn):
            given = nameless(call) | (identity if "agent_id" in call.arguments else {})
            heard = {
                name: shape(undone(conn, call, given | {parameter: [record] if many else record}))
                .replace(str(record), "")
                for name, record in {"unknown": unknown, **foreign(scene)}.items()
            }  # fmt: skip
            for name, answer in heard.items():
                assert answer == heard["unknown"], (call.function, name)
            asked += len(heard)
    assert asked > 200


def nameless(call: Call) -> dict[str, object]:
    """The arguments of a call but for who acts."""
    return {n: v for n, v in call.arguments.items() if n not in ("agent_id", "org_id")}


def undone(conn: Connection, call: Call, given: dict[str, object]) -> str:
    """`told` of a call in named notation; what it did is undone."""
    marks = ", ".join(f"p_{name} => %({name})s" for name in given)
    with conn.transaction(force_rollback=True):
        return told(conn, f"SELECT * FROM mnemo.{call.function}({marks})", given)


def shape(heard: str) -> str:
    """What was told, without ids and times that each call makes anew."""
    return re.sub(r"UUID\('[0-9a-f-]+'\)|datetime\([^)]*\)", "new", heard)


def test_no_call_takes_anything_of_others(scene: Scene, attacker: Connection) -> None:
    """Every public function by its good arguments, as whoever the login is, and by criteria that
    the victim's records meet. The fixture looks at what is left of those."""
    strategies = ("soft_delete", "archive", "redact", "hard_delete")
    criteria = ({"tags": ["emeralds"]}, {"types": ["episodic", "procedural"]},
                {"before": "9999-01-01"})  # fmt: skip
    for login in ("attacker", "application"):
        with scene.login(login) as conn:
            for strategy, which in itertools.product(strategies, criteria):
                assert calls_rows(conn, "forget_where", criteria=which, strategy=strategy) == []
            for call in scene.calls:
                assert_secret(undone(conn, call, nameless(call)), scene)
    for subject in ("the vault", " The  VAULT", "emeralds"):
        erased = calls_rows(attacker, "forget_subject", subject=subject)
        assert {row["erased"] for row in erased} == {0}
    with scene.login("application") as conn, conn.transaction(force_rollback=True):
        # An application may erase a person in the organisation that it names, and in no other.
        erased = calls_rows(conn, "forget_subject", subject="the vault", org_id=ORG)
        assert erased[0]["erased"] == 2
        assert calls_rows(conn, "forget_subject", subject="the vault")[0]["erased"] == 0


def test_ids_cannot_be_guessed_by_the_page(scene: Scene, attacker: Connection) -> None:
    """list_plans after any id, known or not, shows the own ones only."""
    mine = {
        value(attacker, "SELECT id FROM mnemo.remember_plan(%s, ARRAY['s'], '{}', 1)", f"mine {i}")
        for i in range(3)
    }
    after = [None, UUID(int=0), UUID(int=2**128 - 1), *scene.plans]
    for start in after:
        found = rows(attacker, "SELECT id FROM mnemo.list_plans(1000, %s)", start)
        assert {record for (record,) in found} <= mine
    assert len(rows(attacker, "SELECT id FROM mnemo.list_plans(1000)")) == 3
    attacker.execute("SELECT * FROM mnemo.forget(%s)", (list(mine),))


def test_recall_tells_nothing_about_others(scene: Scene, attacker: Connection) -> None:
    """Neither a hit nor a count nor a near miss, whatever the threshold, guard and context."""
    asked = ["the vault opens with nineteen emeralds", "vault opens nineteen", "emeralds"]
    for query, threshold, guard in itertools.product(asked, ("0.3", "0.7", "1"), ("off", "strict")):
        if outcome(attacker, f"SELECT * FROM mnemo.recall_plan('x', p_guard => '{guard}')") != "ok":
            continue
        arguments = f"'{query}', p_similarity_threshold => {threshold}, p_guard => '{guard}'"
        assert rows(
            attacker, "SELECT hit, reason, candidates_considered, near_miss"
            f" FROM mnemo.recall_plan({arguments})",
        ) == [(False, "none_similar", 0, None)]  # fmt: skip
        assert rows(attacker, f"SELECT * FROM mnemo.recall_plans({arguments})") == []
        assert rows(
            attacker, f"SELECT id, verdict FROM mnemo.explain_recall_plan({arguments})"
        ) == [(None, "none_similar")]  # fmt: skip


def test_vectors_of_others_are_not_near(scene: Scene, attacker: Connection) -> None:
    """The very vector of the victim's records, exactly and by the index, finds nothing of them."""
    if not any(call.function == "enable_vectors" for call in scene.calls):
        pytest.skip("this server has no pgvector")
    asked = {"query": None, "strategy": "semantic", "embedding": "[3,1,2]", "model": "to stay"}
    victim = {"agent_id": OTHER_AGENT, "org_id": ORG}
    with scene.login("postgres") as conn, conn.transaction(force_rollback=True):
        for record in scene.memories + scene.plans:
            org_id, agent_id = rows(
                conn, "SELECT org_id, agent_id FROM mnemo.memory WHERE id = %s", record
            )[0]
            changes = {"embedding": "[3,1,2]", "model": "to stay"}
            calls_rows(conn, "update_memory", id=record, changes=changes, org_id=org_id,
                       agent_id=agent_id)  # fmt: skip
        assert len(calls_rows(conn, "recall", **asked, **victim)) == 2
        plan = {"query": "other words", "guard": "off", "embedding": "[3,1,2]", "model": "to stay"}
        assert calls_rows(conn, "recall_plan", **plan, **victim)[0]["reason"] == "semantic"
        conn.execute(text(f"SET SESSION AUTHORIZATION {scene.roles['attacker']}"))
        assert calls_rows(conn, "recall", **asked) == []
        assert calls_rows(conn, "recall", **asked | {"strategy": "hybrid", "query": SECRET}) == []
        missed = calls_rows(conn, "recall_plan", **plan)[0]
        assert (missed["hit"], missed["reason"], missed["near_miss"]) == (
            False, "none_similar", None,
        )  # fmt: skip
        assert missed["candidates_considered"] == 0
        conn.execute("RESET SESSION AUTHORIZATION")


def test_batches_write_for_nobody_else(scene: Scene, attacker: Connection) -> None:
    """Identity in odd places: twice, in another case, nested, as a number, as NULL."""
    element = '{"query": "q", "steps": ["s"], "chunk_ids": [], "outcome_score": 1, %s}'
    for identity in (
        '"agent_id": "boss"', '"org_id": "evil"', '"agent_id": "boss", "agent_id": "boss"',
        '"agent_id": "bot", "agent_id": "boss"', '"AGENT_ID": "boss"', '"p_agent_id": "boss"',
        '"agent_id": ["boss"]', '"agent_id": {"x": "boss"}', '"org_id": 5', '"owner": "boss"',
        '"agent_id ": "boss"', '"\\u0061gent_id": "boss"', '"org_id": "acme\\u200b"',
        '"id": "00000000-0000-7000-8000-000000000000"', '"metadata": {"agent_id": "boss"}',
        '"scope": "global"', '"origin_org_id": "evil"', '"created_at": "2020-01-01"',
    ):  # fmt: skip
        for way in ("abort", "skip"):
            heard = told(
                attacker, "SELECT status FROM mnemo.remember_plans(%s, %s)",
                f"[{element % identity}]", way,
            )  # fmt: skip
            assert "stored" not in heard, identity
    with scene.login("postgres") as conn:
        assert value(conn, "SELECT count(*) FROM mnemo.memory WHERE content = 'q'") == 0
    # What is left out or NULL is the binding.
    for identity in ('"agent_id": null', '"org_id": null', '"agent_id": "bot", "org_id": "acme"'):
        ((_, record, *_),) = rows(
            attacker, "SELECT * FROM mnemo.remember_plans(%s)", f"[{element % identity}]"
        )  # fmt: skip
        owner = rows(
            attacker, "SELECT org_id, origin_org_id, owner_agent_id FROM mnemo.get_plan(%s)", record
        )
        assert owner == [(ORG, ORG, AGENT)]
        attacker.execute("SELECT * FROM mnemo.forget(%s)", ([record],))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, status FROM mnemo.remember(%s, p_idempotency_key => 'the key')",
        "SELECT id, status FROM mnemo.remember_many(jsonb_build_array(jsonb_build_object("
        "'content', %s::text, 'idempotency_key', 'the key')))",
        "SELECT id, status FROM mnemo.remember_plan(%s, ARRAY['s'], '{}', 1,"
        " p_idempotency_key => 'the key')",
    ],
)
def test_idempotency_keys_of_others_say_nothing(scene: Scene, query: str) -> None:
    """The same key of another agent: no collision, no wait, no answer of theirs."""
    with (
        scene.login("neighbour") as neighbour,
        scene.login() as attacker,
        neighbour.transaction(force_rollback=True),
    ):
        # The neighbour's transaction stays open: a shared key would make the attacker wait.
        ((theirs, _),) = rows(neighbour, query, "theirs")
        attacker.execute("SET lock_timeout = '2s'; SET statement_timeout = '5s'")
        with attacker.transaction(force_rollback=True):
            ((mine, status),) = rows(attacker, query, "mine")
            assert status == "stored"
            assert mine != theirs


def test_a_waiting_call_shows_nothing_of_what_it_waits_for(scene: Scene) -> None:
    """Locks on others' rows are not taken before the permission is known, by no function."""
    records = foreign(scene)
    with scene.login("postgres") as owner, owner.transaction(force_rollback=True):
        for table in ("memory", "acl", "event", "delegation", "plan_signature", "event_note"):
            owner.execute(text(f"SELECT FROM mnemo.{table} FOR UPDATE"))
        with scene.login() as attacker:
            attacker.execute("SET lock_timeout = '1ms'")
            for call, parameter, many in with_ids(scene, attacker):
                for name, record in records.items():
                    given = nameless(call) | {parameter: [record] if many else record}
                    heard = undone(attacker, call, given)
                    assert "lock timeout" not in heard, (call.function, name)
            for criteria in ('{"tags": ["emeralds"]}', '{"before": "9999-01-01"}'):
                assert rows(attacker, "SELECT * FROM mnemo.forget_where(%s)", criteria) == []
            assert (
                rows(attacker, "SELECT * FROM mnemo.forget_subject('the vault') WHERE erased > 0")
                == []
            )


def test_grants_do_not_cross_organisations(scene: Scene) -> None:
    """An agent of the same name elsewhere is somebody else, also for shares."""
    with scene.login("postgres") as conn, conn.transaction(force_rollback=True):
        for record in scene.ids:
            org, agent, scope = rows(
                conn, "SELECT org_id, agent_id, scope FROM mnemo.memory WHERE id = %s", record
            )[0]
            if org == OTHER_ORG and agent == OTHER_AGENT and scope != "public":
                conn.execute(
                    "SELECT * FROM mnemo.share(%s, ARRAY['bot'], 'share', NULL, %s, %s)",
                    (record, agent, org),
                )
        conn.execute(text(f"SET SESSION AUTHORIZATION {scene.roles['attacker']}"))
        assert rows(conn, "SELECT * FROM mnemo.get_memories(%s)", scene.ids) == []
        assert rows(conn, f"SELECT * FROM mnemo.recall_plans('{SECRET}')") == []
        assert rows(conn, "SELECT * FROM mnemo.list_plans()") == []
        conn.execute("RESET SESSION AUTHORIZATION")


def test_permissions_do_not_grow(scene: Scene) -> None:
    """Who may read may not pass it on; who may share passes on to its own organisation only, and
    cannot make a record public or its own."""
    with scene.login("postgres") as conn, conn.transaction(force_rollback=True):
        record = remember_plan(conn, "a question to share", agent_id=OTHER_AGENT)
        third = new_tenant(conn, (ORG, "third"))
        attacker = scene.roles["attacker"]

        def share(permission: str) -> None:
            conn.execute(
                "SELECT * FROM mnemo.share(%s, ARRAY['bot'], %s, NULL, 'boss', 'acme')",
                (record, permission),
            )

        def as_role(role: str, query: str) -> str:
            conn.execute(text(f"SET ROLE {role}"))
            code = outcome(conn, query.format(f"'{record}'"))
            conn.execute("RESET ROLE")
            return code

        for permission, may_share, may_forget in (
            ("read", "42501", "42501"), ("write", "42501", "42501"),
            ("delete", "42501", "ok"), ("share", "ok", "ok"), ("read", "42501", "42501"),
        ):  # fmt: skip
            share(permission)
            assert as_role(attacker, "SELECT * FROM mnemo.get_plan({})") == "ok"
            for query in (
                "SELECT * FROM mnemo.share({}, ARRAY['third'], 'read')",
                "SELECT * FROM mnemo.unshare({}, ARRAY['third'])",
            ):
                assert as_role(attacker, query) == may_share, (permission, query)
            # Nobody changes the grant that it holds itself.
            query = "SELECT * FROM mnemo.share({}, ARRAY['bot'], 'share')"
            assert as_role(attacker, query) != "ok" or permission == "share"
            assert as_role(attacker, "SELECT * FROM mnemo.forget(ARRAY[{}]::uuid[])") == may_forget
            assert as_role(third, "SELECT * FROM mnemo.get_plan({})") == "MN001"
        conn.execute("SELECT * FROM mnemo.unshare(%s, ARRAY['bot'], 'boss', 'acme')", (record,))
        for query in (
            "SELECT * FROM mnemo.get_plan({})", "SELECT * FROM mnemo.share({}, ARRAY['third'])",
        ):  # fmt: skip
            assert as_role(attacker, query) == "MN001"


def test_unbinding_works_in_the_middle_of_a_session(scene: Scene) -> None:
    """The next statement of an open session, even of an open transaction, is refused."""
    with scene.login("postgres") as admin:
        role = new_tenant(admin, options="LOGIN")
        try:
            with scene.login(role) as session, session.transaction():
                assert outcome(session, "SELECT * FROM mnemo.list_plans()") == "ok"
                admin.execute("SELECT mnemo.unbind_role(%s, 'acme', 'bot')", (role,))
                assert outcome(session, "SELECT * FROM mnemo.list_plans()") == "42501"
                admin.execute("SELECT mnemo.revoke_access(%s)", (role,))
                assert outcome(session, "SELECT * FROM mnemo.list_plans()") == "42501"
        finally:
            admin.execute(text(f"DROP ROLE {role}"))


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_revoking_works_in_an_open_transaction(scene: Scene, level: str) -> None:
    """Whatever snapshot it reads: EXECUTE is looked up anew."""
    with scene.login("postgres") as admin:
        role = new_tenant(admin, options="LOGIN")
        with scene.login(role) as session:
            session.execute(text(f"BEGIN ISOLATION LEVEL {level}"))
            session.execute("SELECT * FROM mnemo.list_plans()")
            admin.execute("SELECT mnemo.revoke_access(%s)", (role,))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute("SELECT * FROM mnemo.remember('too late')")
        admin.execute(text(f"DROP ROLE {role}"))


def test_hot_calls_of_many_tenants_do_not_mix(scene: Scene) -> None:
    """Two sessions recall and store at the same time; each sees its own."""
    errors: list[str] = []

    def work(role: str, agent: str) -> None:
        with scene.login(role) as conn, conn.transaction(force_rollback=True):
            for number in range(20):
                conn.execute(
                    "SELECT * FROM mnemo.remember_plan(%s, ARRAY['s'], '{}', 1)",
                    (f"shared wording number {number}",),
                )
                owners = rows(
                    conn, "SELECT DISTINCT owner_agent_id FROM mnemo.recall_plans("
                    "'shared wording number', p_similarity_threshold => 0.5, p_guard => 'off')",
                )  # fmt: skip
                if owners != [(agent,)]:
                    errors.append(f"{role} saw {owners}")

    threads = [
        threading.Thread(target=work, args=("attacker", AGENT)),
        threading.Thread(target=work, args=("neighbour", OTHER_AGENT)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_no_call_of_any_function_with_odd_arguments_leaks(
    scene: Scene, attacker: Connection
) -> None:
    """Every public function, with the victim's ids, names and words as every argument they fit."""
    words = [SECRET, "boss", "evil", "%", "' OR true --", "acme", str(scene.ids[0])]
    for function in functions(attacker):
        if not function.public:
            continue
        for parameter, kind in function.parameters.items():
            if kind == "text":
                values = [psycopg.sql.quote(word) for word in words]
            elif kind == "uuid":
                values = [f"'{record}'" for record in scene.ids[:3]]
            elif kind in ("text[]", "uuid[]"):
                values = [f"ARRAY['{record}']::{kind}" for record in scene.ids[:3]]
            else:
                continue
            for given in values:
                required = dict.fromkeys(function.required, "NULL") | {parameter: given}
                arguments = ", ".join(f"{name} => {item}" for name, item in required.items())
                with attacker.transaction(force_rollback=True):
                    heard = told(attacker, f"SELECT * FROM mnemo.{function.name}({arguments})")
                if "emeralds" in given:
                    # Echoes of the own words tell nothing.
                    heard = "" if "emeralds" in heard and function.name in ECHOES else heard
                for record in scene.ids:
                    if str(record) not in given:
                        assert str(record) not in heard, (function.name, given)
                if "emeralds" not in given:
                    assert "emeralds" not in heard, (function.name, given)


# They answer with the words that they were given.
ECHOES = {"signature_tokens", "guard_tokens", "remember_plan", "canonical_predicate"}
