"""From this version to a throw-away next one: an updated database equals a fresh one, and keeps
rows, answers, privileges, levels, bindings and settings, however it was installed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sqlalchemy.exc import DBAPIError

from mnemo_pg import source
from mnemo_pg.install import installed_version, update
from tests.install import samples, snapshot
from tests.install.conftest import Alembic, NewDatabase
from tests.install.next_release import NEXT, THIS, NextRelease
from tests.support.calls import scalar, tables, wait_for_blocked
from tests.support.installs import MODES
from tests.support.server import SUPERUSER, Server

FAILURES = (psycopg.Error, RuntimeError, DBAPIError)
UPDATE = f"mnemo_pg--{THIS}--{NEXT}.sql"
REGRANT = "SELECT mnemo.grant_access(role_name, level) FROM mnemo.role_level"


@pytest.fixture(scope="module")
def release(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NextRelease]:
    """The next version, offered to the server."""
    found = NextRelease(server, tmp_path_factory.mktemp("next"))
    yield found
    found.withdraw()


@pytest.fixture(autouse=True)
def _scripts(release: NextRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "sql_folder", lambda: release.dist)


@pytest.fixture
def fresh(release: NextRelease, new_database: NewDatabase, alembic: Alembic) -> snapshot.Snapshot:
    """The catalog of a fresh install of the next version by psql."""
    dsn = new_database()
    release.install(dsn, "psql", alembic)
    return snapshot.take(dsn)


Rows = dict[str, list[tuple[object, ...]]]


def _columns(dsn: str) -> dict[str, list[str]]:
    with psycopg.connect(dsn) as conn:
        return {
            name: [row[0] for row in conn.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = ('mnemo.' || %s)::regclass"
                " AND attnum > 0 AND NOT attisdropped ORDER BY attnum", [name])]
            for name in tables(conn)
        }  # fmt: skip


def _rows(dsn: str, columns: dict[str, list[str]]) -> Rows:
    with psycopg.connect(dsn) as conn:
        return {
            name: sorted(
                conn.execute(
                    sql.SQL("SELECT {} FROM mnemo.{}").format(
                        sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(column))
                                           for column in names),
                        sql.Identifier(name),
                    )
                ).fetchall(), key=str)
            for name, names in columns.items()
        }  # fmt: skip


def _answers(dsn: str) -> dict[tuple[str, str, str], object]:
    """What the samples' calls answer, but for the version."""
    return {
        key: answer for key, answer in samples.answers(dsn).items() if "version()" not in key[1]
    }


def _differences(dsn: str, fresh: snapshot.Snapshot) -> list[str]:
    """From a fresh install, without what the samples granted."""
    taken = snapshot.take(dsn)
    for section in ("schema", "relation", "function"):
        for key, entry in taken[section].items():
            taken[section][key] = tuple(
                [grant for grant in value if "install_" not in grant]
                if isinstance(value, list) else value for value in entry
            )  # fmt: skip
    return snapshot.differences(fresh, taken)


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_install_becomes_what_a_fresh_one_is(
    release: NextRelease, fresh: snapshot.Snapshot, installed: dict[str, str],
    new_database: NewDatabase, alembic: Alembic, mode: str,
) -> None:  # fmt: skip
    updated = new_database(installed[mode])
    release.update(updated, mode, alembic)
    assert snapshot.differences(fresh, snapshot.take(updated)) == []
    if mode != "psql":
        # And so does the other way's fresh install; Alembic's is the whole history.
        other = new_database()
        release.install(other, mode, alembic)
        assert snapshot.differences(fresh, snapshot.take(other)) == []
    with psycopg.connect(updated) as conn:
        assert installed_version(conn) == NEXT


@pytest.mark.parametrize("mode", MODES)
def test_everything_that_was_stored_and_granted_survives(
    server: Server, release: NextRelease, fresh: snapshot.Snapshot, filled: dict[str, str],
    new_database: NewDatabase, alembic: Alembic, mode: str,
) -> None:  # fmt: skip
    dsn = new_database(filled[mode])
    with psycopg.connect(dsn, autocommit=True) as conn:
        # A privilege of the DBA's own, default privileges that would open what is new.
        conn.execute(
            f"GRANT EXECUTE ON FUNCTION mnemo.version() TO {samples.STRANGER};"
            f" ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO {samples.STRANGER};"
            f" ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {samples.STRANGER}"
        )
    columns = _columns(dsn)
    before = _rows(dsn, columns), _answers(dsn)
    release.update(dsn, mode, alembic)
    assert _differences(dsn, fresh) == []
    assert (_rows(dsn, columns), _answers(dsn)) == before
    samples.write_and_recall(dsn)

    def may(role: str, function: str) -> bool:
        with psycopg.connect(dsn) as conn:
            return bool(scalar(conn, "SELECT has_function_privilege(%s, %s, 'EXECUTE')",
                               role, function))  # fmt: skip

    new = "mnemo.count_extra(text)"
    changed = "mnemo.bind_role(text, text, text, text)"
    if mode == "extension":
        # Granted by the script it would count as the extension's own and be lost in a dump.
        assert not may(samples.APPLICATION, new)
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(REGRANT)
    assert may(samples.APPLICATION, new)
    assert may(samples.TENANT, new)
    assert may(samples.ADMIN, changed)
    assert not may(samples.APPLICATION, changed)
    assert not may(samples.STRANGER, new)
    assert may(samples.STRANGER, "mnemo.version()")
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert not scalar(conn, "SELECT has_table_privilege(%s, 'mnemo.extra', 'SELECT')",
                          samples.STRANGER)  # fmt: skip

    # A dump carries the rows of new tables and columns, and the new privileges.
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("INSERT INTO mnemo.extra VALUES ('acme', gen_random_uuid())")
        conn.execute("UPDATE mnemo.settings SET reason = 'told so'")
        conn.execute(
            f"ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM {samples.STRANGER}"
            f"; ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM {samples.STRANGER}"
        )
        conn.execute(REGRANT)
    stored = _rows(dsn, _columns(dsn))
    path = server.folder / f"updated_{mode}"
    server.run("pg_dump", "-Fc", "-f", path, dsn)
    copy = new_database()
    if mode == "extension":
        with psycopg.connect(copy, autocommit=True) as conn:
            # A dump names no version; the control file of this one stays as it is.
            conn.execute(f"CREATE EXTENSION mnemo_pg VERSION '{NEXT}'")
    server.run("pg_restore", "--exit-on-error", "-d", copy, path)
    assert _rows(copy, _columns(copy)) == stored
    assert snapshot.differences(snapshot.take(dsn), snapshot.take(copy)) == []


def test_what_replacing_keeps_and_what_it_sets(
    release: NextRelease, installed: dict[str, str], roles: None, new_database: NewDatabase,
    alembic: Alembic,
) -> None:  # fmt: skip
    """CREATE OR REPLACE keeps owner and privileges; attributes, settings and comments are ours."""
    dsn = new_database(installed["psql"])
    function = "mnemo._setting(text, text)"
    look = (
        "SELECT p.proconfig, p.procost, p.provolatile, obj_description(p.oid, 'pg_proc'),"
        " p.proacl::text, p.oid FROM pg_proc AS p WHERE p.oid = %s::regprocedure"
    )
    with psycopg.connect(dsn, autocommit=True) as conn:
        before = conn.execute(look, [function]).fetchone()
        conn.execute(
            f"ALTER FUNCTION {function} SET work_mem = '1MB';"
            f" ALTER FUNCTION {function} VOLATILE COST 7;"
            f" COMMENT ON FUNCTION {function} IS 'ours';"
            f" GRANT EXECUTE ON FUNCTION {function} TO {samples.STRANGER};"
            f" COMMENT ON TABLE mnemo.settings IS 'ours'"
        )
        changed = conn.execute(look, [function]).fetchone()
        release.update(dsn, "psql", alembic)
        after = conn.execute(look, [function]).fetchone()
        assert before is not None
        assert changed is not None
        assert after is not None
        assert changed[:4] != before[:4]
        assert after[:4] == before[:4]
        assert after[4:] == changed[4:]
        assert scalar(conn, "SELECT obj_description('mnemo.settings'::regclass)") != "ours"


@pytest.mark.parametrize("mode", MODES)
def test_only_the_owner_updates(
    server: Server, release: NextRelease, new_database: NewDatabase, roles: None,
    alembic: Alembic, mode: str,
) -> None:  # fmt: skip
    """A superuser who is not the owner would own what is new; as that role it works."""
    dsn = new_database(options=f"OWNER {samples.OWNER}")
    if mode == "alembic":
        alembic(make_conninfo(dsn, user=samples.OWNER), "upgrade", "head")
    else:
        release.install_this(dsn, mode, samples.OWNER)
    before = snapshot.take(dsn)
    with pytest.raises(FAILURES, match=f"{SUPERUSER} does not own schema mnemo"):
        release.update(dsn, mode, alembic)
    assert snapshot.differences(before, snapshot.take(dsn)) == []
    release.update(dsn, mode, alembic, user=samples.OWNER)
    fresh = new_database(options=f"OWNER {samples.OWNER}")
    release.install(fresh, mode, alembic, user=samples.OWNER)
    assert snapshot.differences(snapshot.take(fresh), snapshot.take(dsn)) == []


@contextmanager
def _refused(dsn: str, sqlstate: str, message: str) -> Iterator[None]:
    before = snapshot.take(dsn)
    with pytest.raises(psycopg.Error, match=message) as caught:
        yield
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
    assert snapshot.differences(before, snapshot.take(dsn)) == []


def _run(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(source.update_text(THIS, NEXT), prepare=False)


REFUSED: dict[str, tuple[str, str, str]] = {
    "a function of a stranger": (
        f"CREATE FUNCTION mnemo.planted() RETURNS void LANGUAGE sql AS '';"
        f" ALTER FUNCTION mnemo.planted() OWNER TO {samples.STRANGER}",
        "42501", r"mnemo\.planted\(\) belongs to another role",
    ),
    "a table of a stranger": (
        f"CREATE TABLE mnemo.planted (x integer); ALTER TABLE mnemo.planted OWNER TO"
        f" {samples.STRANGER}",
        "42501", r"mnemo\.planted.* belongs to another role",
    ),
    "a role that may create": (
        f"GRANT CREATE ON SCHEMA mnemo TO {samples.STRANGER}",
        "42501", f"role {samples.STRANGER} may create objects in schema mnemo",
    ),
    "everybody may create": (
        "GRANT CREATE ON SCHEMA mnemo TO PUBLIC",
        "42501", "role PUBLIC may create objects in schema mnemo",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_an_update_is_refused(
    installed: dict[str, str], roles: None, new_database: NewDatabase, fault: str
) -> None:
    dsn = new_database(installed["psql"])
    statement, sqlstate, message = REFUSED[fault]
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement)
    with _refused(dsn, sqlstate, message):
        _run(dsn)


def test_an_update_needs_its_start_and_its_way(
    installed: dict[str, str], new_database: NewDatabase
) -> None:
    dsn = new_database(installed["psql"])
    _run(dsn)
    with _refused(dsn, "55000", f"updates mnemo_pg {THIS}; version {NEXT} is installed"):
        _run(dsn)
    dsn = new_database(installed["extension"])
    with _refused(dsn, "55000", "is an extension in this database"):
        _run(dsn)
    with psycopg.connect(new_database()) as conn, pytest.raises(psycopg.Error) as caught:
        conn.execute(source.update_text(THIS, NEXT), prepare=False)
    assert (caught.value.sqlstate, caught.value.diag.message_hint) == (
        "55000", f"install it: mnemo_pg--{NEXT}.sql",
    )  # fmt: skip


def test_without_one_transaction_nothing_is_changed(
    release: NextRelease, installed: dict[str, str], new_database: NewDatabase
) -> None:
    dsn = new_database(installed["psql"])
    before = snapshot.take(dsn)
    printed = release.psql(dsn, UPDATE)
    assert "ERROR:  mnemo_pg needs one transaction" in printed
    assert snapshot.differences(before, snapshot.take(dsn)) == []


def test_a_second_update_waits_and_finds_it_done(
    installed: dict[str, str], new_database: NewDatabase
) -> None:
    dsn = new_database(installed["psql"])
    failed: list[psycopg.Error] = []
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        backend = second.info.backend_pid

        def run() -> None:
            try:
                second.execute(source.update_text(THIS, NEXT), prepare=False)
            except psycopg.Error as error:
                failed.append(error)

        first.execute(source.update_text(THIS, NEXT), prepare=False)
        thread = threading.Thread(target=run)
        thread.start()
        with psycopg.connect(dsn, autocommit=True) as watcher:
            wait_for_blocked(watcher, backend)
        first.commit()
        thread.join()
    assert [error.sqlstate for error in failed] == ["55000"]
    with psycopg.connect(dsn) as conn:
        assert installed_version(conn) == NEXT


def test_the_session_is_as_before(installed: dict[str, str], new_database: NewDatabase) -> None:
    settings = "SELECT name, setting FROM pg_settings ORDER BY name"
    with psycopg.connect(new_database(installed["psql"]), autocommit=True) as conn:
        conn.execute("SET search_path = public, pg_catalog; SET client_min_messages = error;"
                     " DO 'BEGIN END'")  # fmt: skip
        before = conn.execute(settings).fetchall()
        with conn.transaction():
            conn.execute(source.update_text(THIS, NEXT), prepare=False)
        assert conn.execute(settings).fetchall() == before


def test_a_table_that_is_no_member_stays(
    release: NextRelease, filled: dict[str, str], new_database: NewDatabase, alembic: Alembic
) -> None:
    dsn = new_database(filled["extension"])
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE mnemo.added AS SELECT org_id, id FROM mnemo.memory")
        before = scalar(conn, "SELECT count(*) FROM mnemo.added")
        release.update(dsn, "extension", alembic)
        assert scalar(conn, "SELECT count(*) FROM mnemo.added") == before > 0


def test_a_warning_says_how_to_grant_what_is_new(
    filled: dict[str, str], new_database: NewDatabase
) -> None:
    said: list[str] = []
    with psycopg.connect(new_database(filled["extension"]), autocommit=True) as conn:
        conn.add_notice_handler(lambda diagnosis: said.append(diagnosis.message_primary or ""))
        conn.execute(f"ALTER EXTENSION mnemo_pg UPDATE TO '{NEXT}'")
    assert [line for line in said if REGRANT in line]


def test_the_library_updates_along_the_way(
    release: NextRelease, fresh: snapshot.Snapshot, installed: dict[str, str],
    new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("mnemo_pg.install.default_version", lambda: NEXT)
    monkeypatch.setattr("mnemo_pg.install.sql_folder", lambda: release.dist)
    dsn = new_database(installed["psql"])
    with psycopg.connect(dsn) as conn:
        assert update(conn) == [UPDATE]
        assert update(conn) == []
    assert snapshot.differences(fresh, snapshot.take(dsn)) == []
    with psycopg.connect(new_database()) as conn, pytest.raises(ValueError, match="not installed"):
        update(conn)


def test_the_server_finds_the_way(server: Server, release: NextRelease) -> None:
    with server.connect() as conn:
        assert (THIS, NEXT, f"{THIS}--{NEXT}") in conn.execute(
            "SELECT * FROM pg_extension_update_paths('mnemo_pg')"
        ).fetchall()
