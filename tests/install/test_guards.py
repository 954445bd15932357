"""What an install refuses; a refused or failed one leaves nothing, a good one nothing open."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.exc import DBAPIError

from mnemo_pg.install import install as install_through_psycopg
from tests.install import samples, snapshot
from tests.install.conftest import Install, NewDatabase
from tests.support.installs import MODES
from tests.support.server import SUPERUSER, Server

FAILURES = (psycopg.Error, RuntimeError, DBAPIError)


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


def _everything(dsn: str) -> tuple[set[str], bool, snapshot.Snapshot]:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT to_regnamespace('mnemo') IS NOT NULL").fetchone()
        assert row is not None
        there = bool(row[0])
        return snapshot.strays(dsn), there, snapshot.of(conn) if there else {}


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_is_not_utf8_is_refused(
    new_database: NewDatabase, attempt: Install, encoding: str
) -> None:
    dsn = new_database("template0", f"ENCODING '{encoding}' LOCALE 'C'")
    before = _everything(dsn)
    for mode in MODES:
        with pytest.raises(FAILURES, match=f"needs a database in UTF8, this one is in {encoding}"):
            attempt(dsn, mode)
        assert _everything(dsn) == before, mode


def test_the_refusal_of_an_encoding_names_the_remedy(new_database: NewDatabase) -> None:
    dsn = new_database("template0", "ENCODING 'LATIN1' LOCALE 'C'")
    with psycopg.connect(dsn) as conn, pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        install_through_psycopg(conn)
    assert "ENCODING 'UTF8'" in str(caught.value.diag.message_hint)


SERVERS = (
    (None, False), (0, False), (-1, False), (90624, False), (100000, False), (140000, False),
    (140018, False), (149999, False), (150000, True), (150018, True), (160000, True),
    (180006, True), (990000, True),
)  # fmt: skip


@pytest.mark.parametrize(("number", "good"), SERVERS)
def test_the_least_version_of_the_server(
    server: Server, installed: dict[str, str], number: int | None, good: bool
) -> None:
    query = "SELECT mnemo._require_server(%s::integer)"
    with psycopg.connect(server.dsn(installed["psql"])) as conn:
        if good:
            assert conn.execute(query, [number]).fetchall() == [("",)]
            return
        with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
            conn.execute(query, [number])
    assert "needs PostgreSQL 15 or newer" in str(caught.value)
    assert caught.value.diag.message_hint


def test_the_version_of_the_server_is_asked_before_anything_else_is_made(
    server: Server, installed: dict[str, str], script: Path
) -> None:
    """The call stands in the script, above the first table and every other function."""
    text = script.read_text("utf-8")
    call = text.index("mnemo._require_server(pg_catalog.current_setting('server_version_num')")
    assert call < text.index("CREATE TABLE")
    assert text.count("CREATE FUNCTION", 0, call) == 1


def test_a_strangers_schema_is_refused(
    new_database: NewDatabase, attempt: Install, roles: None
) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"CREATE SCHEMA mnemo AUTHORIZATION {samples.STRANGER}")
    before = _everything(dsn)
    for mode in MODES:
        with pytest.raises(FAILURES, match="schema mnemo exists and belongs to another role"):
            attempt(dsn, mode)
        assert _everything(dsn) == before, mode


# Whatever its kind: code, or data that an install must not sit upon.
PLANTED = {
    "table": "CREATE TABLE mnemo.x (a integer)",
    "view": "CREATE VIEW mnemo.x AS SELECT 1 AS a",
    "materialized view": "CREATE MATERIALIZED VIEW mnemo.x AS SELECT 1 AS a",
    "sequence": "CREATE SEQUENCE mnemo.x",
    "function": "CREATE FUNCTION mnemo.x() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "procedure": "CREATE PROCEDURE mnemo.x() LANGUAGE sql AS 'SELECT 1'",
    "aggregate": "CREATE AGGREGATE mnemo.x(integer) (SFUNC = int4pl, STYPE = integer)",
    "composite type": "CREATE TYPE mnemo.x AS (a integer)",
    "enum": "CREATE TYPE mnemo.x AS ENUM ('a')",
    "shell type": "CREATE TYPE mnemo.x",
    "domain": "CREATE DOMAIN mnemo.x AS integer",
    "operator": "CREATE OPERATOR mnemo.= (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text)",
    "operator family": "CREATE OPERATOR FAMILY mnemo.x USING btree",
    "collation": "CREATE COLLATION mnemo.x (LOCALE = 'C')",
    "conversion": "CREATE CONVERSION mnemo.x FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1",
    "text search configuration": "CREATE TEXT SEARCH CONFIGURATION mnemo.x (COPY = simple)",
    "text search dictionary": "CREATE TEXT SEARCH DICTIONARY mnemo.x (TEMPLATE = simple)",
    "statistics": "CREATE STATISTICS mnemo.x ON relname, relkind FROM public.t",
    "default privileges":
        "ALTER DEFAULT PRIVILEGES IN SCHEMA mnemo GRANT SELECT ON TABLES TO PUBLIC",
}  # fmt: skip


@pytest.mark.parametrize("mode", ["extension", "library"])
def test_a_schema_that_is_not_empty_is_refused(new_database: NewDatabase, mode: str) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE public.t (relname name, relkind text)")
        for kind, statement in PLANTED.items():
            conn.execute("CREATE SCHEMA mnemo")
            conn.execute(statement)
            before = snapshot.objects(conn)
            with pytest.raises(psycopg.errors.DuplicateSchema, match="is not empty") as caught:
                _by_statement(conn, mode)
            assert "mnemo.version()" in str(caught.value.diag.message_hint), kind
            assert snapshot.objects(conn) == before, kind
            conn.execute("SET client_min_messages = error; DROP SCHEMA mnemo CASCADE")


def _by_statement(conn: psycopg.Connection[tuple[object, ...]], mode: str) -> None:
    if mode == "extension":
        conn.execute("CREATE EXTENSION mnemo_pg")
    else:
        install_through_psycopg(conn)


@pytest.mark.parametrize("mode", ["extension", "library"])
def test_a_schema_that_others_may_use_is_refused(
    new_database: NewDatabase, roles: None, mode: str
) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        for privilege in ("USAGE", "CREATE", "ALL"):
            for grantee in ("PUBLIC", samples.STRANGER):
                conn.execute("CREATE SCHEMA mnemo")
                conn.execute(f"GRANT {privilege} ON SCHEMA mnemo TO {grantee}")
                before = snapshot.take(dsn)
                with pytest.raises(psycopg.errors.DuplicateSchema, match="other roles hold"):
                    _by_statement(conn, mode)
                assert snapshot.take(dsn) == before
                conn.execute("DROP SCHEMA mnemo")


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_schema_of_ones_own_is_taken(
    server: Server, installed: dict[str, str], new_database: NewDatabase, attempt: Install,
    mode: str,
) -> None:  # fmt: skip
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA mnemo")
    attempt(dsn, mode)
    baseline = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(baseline, snapshot.take(dsn)) == []


@pytest.mark.parametrize("first", MODES)
def test_a_second_install_is_refused_and_changes_nothing(
    installed: dict[str, str], new_database: NewDatabase, attempt: Install, first: str
) -> None:
    dsn = new_database(installed[first])
    before = _everything(dsn)
    for second in MODES:
        if first == second == "alembic":
            # It knows that the revision is there already.
            attempt(dsn, second)
        else:
            message = {
                ("extension", "extension"): 'extension "mnemo_pg" already exists',
                ("extension", "alembic"): "installed here with CREATE EXTENSION",
            }.get((first, second), "schema mnemo exists and is not empty")
            with pytest.raises(FAILURES, match=message):
                attempt(dsn, second)
        assert _everything(dsn) == before, second


def test_the_extension_goes_into_no_other_schema(new_database: NewDatabase) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA other")
        before = _everything(dsn)
        for schema in ("public", "other"):
            with pytest.raises(psycopg.Error, match="must be installed in schema"):
                conn.execute(f"CREATE EXTENSION mnemo_pg SCHEMA {schema}")
            assert _everything(dsn) == before


def test_the_extension_cannot_be_moved(
    installed: dict[str, str], new_database: NewDatabase
) -> None:
    with psycopg.connect(new_database(installed["extension"])) as conn:
        conn.execute("CREATE SCHEMA other")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            conn.execute("ALTER EXTENSION mnemo_pg SET SCHEMA other")


@pytest.mark.parametrize("mode", MODES)
def test_a_plain_owner_of_the_database_can_install_and_use_it(
    server: Server, roles: None, installed: dict[str, str], new_database: NewDatabase,
    attempt: Install, mode: str,
) -> None:  # fmt: skip
    dsn = new_database(options=f"OWNER {samples.OWNER}")
    as_owner = make_conninfo(dsn, user=samples.OWNER)
    attempt(dsn, mode, samples.OWNER)
    # Nothing is somebody else's, and but for the owner all is as a superuser installs it.
    baseline = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(_renamed(baseline), snapshot.take(dsn)) == []
    samples.fill(as_owner)
    assert [name for name, found in samples.rows(as_owner).items() if not found] == []
    samples.write_and_recall(dsn)


def _renamed(taken: snapshot.Snapshot) -> snapshot.Snapshot:
    """The snapshot of a superuser's install, as it must be for the plain owner."""

    def rename(value: object) -> object:
        if isinstance(value, list):
            return [rename(item) for item in value]
        if not isinstance(value, str) or "\n" in value:
            return value
        return " ".join(samples.OWNER if word == SUPERUSER else word for word in value.split(" "))

    return {
        section: {key: tuple(map(rename, entry)) for key, entry in entries.items()}
        for section, entries in taken.items()
    }


def test_a_superuser_can_install_in_the_name_of_a_plain_owner(
    roles: None, new_database: NewDatabase
) -> None:
    dsn = new_database(options=f"OWNER {samples.OWNER}")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"SET ROLE {samples.OWNER}")
        install_through_psycopg(conn)
    owners = {entry[11] for entry in snapshot.take(dsn)["function"].values()}
    assert owners == {samples.OWNER}


def test_who_may_not_create_in_the_database_cannot_install(
    roles: None, new_database: NewDatabase, attempt: Install
) -> None:
    dsn = new_database()
    before = _everything(dsn)
    for mode in MODES:
        with pytest.raises(FAILURES, match="permission denied"):
            attempt(dsn, mode, samples.OWNER)
        assert _everything(dsn) == before, mode


@pytest.mark.parametrize("options", [(), ("-v", "ON_ERROR_STOP=1")], ids=["go on", "stop"])
@pytest.mark.parametrize("before", ["nothing", "empty", "stranger", "installed"])
def test_psql_without_one_transaction_fails_and_leaves_nothing(
    server: Server, installed: dict[str, str], new_database: NewDatabase, script: Path,
    roles: None, before: str, options: tuple[str, ...],
) -> None:  # fmt: skip
    """Nothing anywhere, not even where psql goes on after the refusal."""
    dsn = new_database(installed["psql"] if before == "installed" else None)
    with psycopg.connect(dsn, autocommit=True) as conn:
        if before in ("empty", "stranger"):
            conn.execute("CREATE SCHEMA mnemo")
        if before == "stranger":
            conn.execute(f"ALTER SCHEMA mnemo OWNER TO {samples.STRANGER}")
    found = _everything(dsn)
    try:
        printed = server.run("psql", "-X", "-q", *options, "-f", script, dsn)
    except RuntimeError as error:
        printed = str(error)
    else:
        # Without ON_ERROR_STOP psql goes on after an error, and ends with success.
        assert not options
    assert "ERROR:  mnemo_pg needs one transaction" in printed
    assert "psql -X -1" in printed.partition("HINT:")[2].splitlines()[0]
    assert _everything(dsn) == found


def test_psql_in_one_transaction_without_stopping_leaves_nothing_after_an_error(
    server: Server, new_database: NewDatabase, script: Path
) -> None:
    dsn = new_database("template0", "ENCODING 'SQL_ASCII' LOCALE 'C'")
    before = _everything(dsn)
    assert "ERROR" in server.run("psql", "-X", "-q", "-1", "-f", script, dsn)
    assert _everything(dsn) == before


# Late in the script, when nearly everything is there.
_ALARM = """
CREATE FUNCTION public.alarm() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_regproc('mnemo.recall_plans') IS NOT NULL THEN
        RAISE EXCEPTION 'alarm';
    END IF;
END $$;
CREATE EVENT TRIGGER alarm ON ddl_command_end EXECUTE FUNCTION public.alarm();
"""


@pytest.mark.parametrize("mode", MODES)
def test_an_install_that_fails_late_leaves_nothing(
    new_database: NewDatabase, attempt: Install, mode: str
) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_ALARM)
        before = _everything(dsn)
        with pytest.raises(FAILURES, match="alarm"):
            attempt(dsn, mode)
        assert _everything(dsn) == before
        conn.execute("DROP EVENT TRIGGER alarm")
        attempt(dsn, mode)


def test_of_two_installs_at_once_one_wins(new_database: NewDatabase) -> None:
    dsn = new_database()
    found: list[BaseException | None] = []

    def second(conn: psycopg.Connection[tuple[object, ...]]) -> None:
        try:
            install_through_psycopg(conn)
            found.append(None)
        except psycopg.Error as error:
            found.append(error)

    with (
        psycopg.connect(dsn) as one,
        psycopg.connect(dsn) as other,
        psycopg.connect(dsn, autocommit=True) as watcher,
    ):
        one.execute("SELECT")
        install_through_psycopg(one)
        thread = threading.Thread(target=second, args=[other])
        thread.start()
        waits = "SELECT cardinality(pg_blocking_pids(%s)) > 0"
        while watcher.execute(waits, [other.info.backend_pid]).fetchone() == (False,):
            assert thread.is_alive(), found
        one.commit()
        thread.join()
        other.rollback()
    (error,) = found
    assert isinstance(error, psycopg.errors.UniqueViolation | psycopg.errors.DuplicateSchema)
    samples.rows(dsn)


ODD = 'Install "odd" Role'


@pytest.fixture(scope="module")
def odd_role(server: Server) -> str:
    """A role whose name needs quotes; the name as SQL."""
    quoted = '"' + ODD.replace('"', '""') + '"'
    with server.connect() as conn:
        conn.execute(f"CREATE ROLE {quoted}")
    return quoted


@pytest.mark.parametrize("mode", MODES)
def test_default_privileges_of_the_installing_role_open_nothing(
    server: Server, installed: dict[str, str], new_database: NewDatabase, attempt: Install,
    odd_role: str, roles: None, mode: str,
) -> None:  # fmt: skip
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        for kind in ("FUNCTIONS", "TABLES", "SEQUENCES", "TYPES", "SCHEMAS"):
            for grantee in ("PUBLIC", odd_role, f"{samples.STRANGER} WITH GRANT OPTION"):
                conn.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {kind} TO {grantee}")
        attempt(dsn, mode)
    baseline = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(baseline, snapshot.take(dsn)) == []


_HOSTILE = """
CREATE SCHEMA evil;
CREATE FUNCTION evil.shout(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR evil.= (FUNCTION = evil.shout, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR evil.~ (FUNCTION = evil.shout, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION evil.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 7';
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''epoch''';
CREATE FUNCTION evil.jsonb_typeof(jsonb) RETURNS text LANGUAGE sql AS 'SELECT text ''object''';
CREATE FUNCTION evil.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (VALUE <> 'x');
CREATE TABLE evil.pg_roles (rolname name, oid oid, rolsuper boolean, rolcreaterole boolean);
CREATE TABLE evil.memory (org_id text);
"""


@pytest.mark.parametrize("mode", MODES)
def test_the_callers_path_decides_no_name(
    server: Server, installed: dict[str, str], new_database: NewDatabase, attempt: Install,
    mode: str,
) -> None:  # fmt: skip
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_HOSTILE)
        conn.execute(f"ALTER DATABASE {_name(dsn)} SET search_path = evil, pg_catalog, public")
    attempt(dsn, mode)
    baseline = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(baseline, snapshot.take(dsn)) == []
    with psycopg.connect(dsn) as conn:
        conn.execute("SET LOCAL search_path = pg_catalog")
        used = conn.execute(
            "SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend"
            " WHERE (refclassid, refobjid) IN ("
            "   SELECT d.classid, d.objid FROM pg_depend AS d"
            "    WHERE d.refclassid = 'pg_namespace'::regclass"
            "      AND d.refobjid = 'evil'::regnamespace)"
            "   AND pg_describe_object(classid, objid, objsubid) ~ 'mnemo'"
        ).fetchall()
    assert used == []
