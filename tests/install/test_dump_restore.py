"""A dump and its restore keep every row, every answer and every privilege, however installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.install import samples, snapshot
from tests.install.conftest import NewDatabase, create_roles
from tests.support.installs import MODES, install, offer_extension, run_alembic
from tests.support.server import SUPERUSER, Server, wheel_programs

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


def _dump(server: Server, dbname: str, form: str, *options: str) -> Path:
    path = server.folder / f"dump_{dbname}.{form}"
    printed = server.run("pg_dump", f"-F{form}", "-f", path, *options, server.dsn(dbname))
    # The one warning there is: delegations refer to each other, and the foreign keys of an
    # extension are there before its rows. One COPY loads them all the same.
    assert not printed or "circular foreign-key constraints" in printed.splitlines()[0]
    assert len(printed.splitlines()) in (0, 4)
    return path


def _restore(server: Server, path: Path, dsn: str, *options: str) -> None:
    """Into an existing database; the first error ends it."""
    if path.suffix == ".p":
        server.run("psql", "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-f", path, dsn)
    else:
        assert server.run("pg_restore", "--exit-on-error", "-d", dsn, *options, path) == ""


class Expected(NamedTuple):
    """What a database must say after the restore."""

    rows: dict[str, list[str]]
    answers: dict[tuple[str, str, str], Any]
    catalog: snapshot.Snapshot

    @classmethod
    def of(cls, dsn: str) -> Expected:
        return cls(samples.rows(dsn), samples.answers(dsn), snapshot.take(dsn))

    def check(self, dsn: str, catalog: bool = True) -> None:
        """Compare a restored database with it, then see that writing works."""
        assert samples.rows(dsn) == self.rows
        assert samples.answers(dsn) == self.answers
        if catalog:
            assert snapshot.differences(self.catalog, snapshot.take(dsn)) == []
        samples.write_and_recall(dsn)


@pytest.fixture(scope="module")
def expected(server: Server, filled: dict[str, str]) -> dict[str, Expected]:
    """What the filled databases say: mode -> everything."""
    return {mode: Expected.of(server.dsn(name)) for mode, name in filled.items()}


def test_the_samples_cover_every_table_and_answer(expected: dict[str, Expected]) -> None:
    answers = expected["psql"].answers
    assert [name for name, found in expected["psql"].rows.items() if not found] == []
    reasons = {
        answer[0][12]
        for (_, statement, _), answer in answers.items()
        if "recall_plan(" in statement and isinstance(answer, list)
    }
    assert reasons >= {"exact", "similar", "none_similar", "blank_query"}
    # Levels answer differently, so a lost level or binding would show.
    by_role: dict[str, list[object]] = {}
    for (role, _, _), answer in answers.items():
        by_role.setdefault(role, []).append(answer)
    assert "42501" in by_role[samples.TENANT]
    assert set(map(str, by_role[samples.STRANGER])) == {"42501"}
    assert len({str(found) for found in by_role.values()}) == len(by_role)


@pytest.mark.parametrize(
    ("mode", "form"),
    [(mode, "c") for mode in MODES] + [("extension", "p"), ("psql", "p")],
)
def test_dump_and_restore(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str, form: str,
) -> None:  # fmt: skip
    target = new_database()
    _restore(server, _dump(server, filled[mode], form), target)
    expected[mode].check(target)
    if mode == "alembic" and form == "c":
        # The revision came with the dump: nothing is left to do.
        assert "mnemo_0001" in run_alembic(target, "current")
        run_alembic(target, "upgrade", "head")


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_restore_by_two_jobs_from_a_folder(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    target = new_database()
    if mode == "extension":
        # The extension's foreign keys are there before the rows, which two jobs load in any order.
        with server.connect() as conn:
            conn.execute(f"ALTER DATABASE {_name(target)} SET session_replication_role = replica")
    _restore(server, _dump(server, filled[mode], "d"), target, "--jobs=2")
    with server.connect() as conn:
        conn.execute(f"ALTER DATABASE {_name(target)} RESET ALL")
    expected[mode].check(target)


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_rows_alone_go_into_a_fresh_install(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    installed: dict[str, str], new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    target = new_database(installed[mode])
    _restore(server, _dump(server, filled[mode], "c", "--data-only"), target)
    assert samples.rows(target) == expected[mode].rows
    with psycopg.connect(target, autocommit=True) as conn:
        # Privileges are no rows; the levels say whom to grant them to again.
        conn.execute("SELECT mnemo.grant_access(role_name, level) FROM mnemo.role_level")
    assert samples.answers(target) == expected[mode].answers


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_schema_alone_restores_an_empty_working_install(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    target = new_database()
    _restore(server, _dump(server, filled[mode], "p", "--schema-only"), target)
    assert set(map(len, samples.rows(target).values())) == {0}
    assert snapshot.differences(expected[mode].catalog, snapshot.take(target)) == []
    with psycopg.connect(target, autocommit=True) as conn:
        # EXECUTE came with the dump, the rows that give a level did not: nothing is open.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            samples.write_and_recall(target)
        conn.execute("SELECT mnemo.grant_access(%s, 'application')", [samples.APPLICATION])
        conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    samples.write_and_recall(target)


# For pg_dump; an extension is left out of a dump that names only the schema.
ONE_SCHEMA = {
    "extension": ("--schema=mnemo", "--extension=mnemo_pg"),
    "alembic": ("--schema=mnemo",),
    "psql": ("--schema=mnemo",),
}


@pytest.mark.parametrize("mode", MODES)
def test_one_schema_alone(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    source = new_database(filled[mode])
    with psycopg.connect(source, autocommit=True) as conn:
        conn.execute("CREATE TABLE public.not_asked_for AS SELECT id FROM mnemo.memory")
    target = new_database()
    _restore(server, _dump(server, _name(source), "c", *ONE_SCHEMA[mode]), target)
    expected[mode].check(target)
    with psycopg.connect(target) as conn:
        assert conn.execute("SELECT to_regclass('public.not_asked_for')").fetchone() == (None,)


def test_the_schema_of_an_extension_is_not_in_a_dump_that_names_the_schema_only(
    server: Server, filled: dict[str, str], new_database: NewDatabase
) -> None:
    target = new_database()
    _restore(server, _dump(server, filled["extension"], "p", "--schema=mnemo"), target)
    with psycopg.connect(target) as conn:
        assert conn.execute("SELECT to_regclass('mnemo.memory')").fetchone() == (None,)


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_pgvector_in_a_schema_of_its_own(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    """Tables of the application with vectors that refer to memories come along."""
    source = new_database(filled[mode])
    with psycopg.connect(source, autocommit=True) as conn:
        if not conn.execute(
            "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        ).fetchone():
            pytest.skip("this server has no pgvector")
        conn.execute(
            "CREATE SCHEMA app; CREATE SCHEMA types; CREATE EXTENSION vector SCHEMA types;"
            " CREATE TABLE app.embedding (org_id text, id uuid, embedding types.vector(3),"
            " PRIMARY KEY (org_id, id), FOREIGN KEY (org_id, id) REFERENCES mnemo.memory);"
            " CREATE INDEX ON app.embedding USING hnsw (embedding types.vector_l2_ops);"
            " INSERT INTO app.embedding SELECT org_id, id, '[1,2,3]' FROM mnemo.memory"
        )
    for options in ((), ("--schema-only",)):
        target = new_database()
        _restore(server, _dump(server, _name(source), "c", *options), target)
        nearest = (
            "SELECT count(*) FROM app.embedding AS e JOIN mnemo.memory AS m USING (org_id, id)"
            " WHERE e.embedding OPERATOR(types.<->) '[1,2,3]' = 0"
        )
        with psycopg.connect(target) as conn:
            found = conn.execute(nearest).fetchone()
        if options:
            assert found == (0,)
            assert snapshot.differences(expected[mode].catalog, snapshot.take(target)) == []
        else:
            assert found == (len(expected[mode].rows["memory"]),)
            expected[mode].check(target)


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_restore_where_the_defaults_of_the_session_differ(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase, mode: str,
) -> None:  # fmt: skip
    target = new_database()
    with psycopg.connect(target, autocommit=True) as conn:
        for setting in (
            "search_path = ''",
            "TimeZone = 'Pacific/Chatham'",
            "DateStyle = 'German, DMY'",
            "IntervalStyle = 'sql_standard'",
            "extra_float_digits = -5",
            "bytea_output = 'escape'",
            "default_text_search_config = 'simple'",
            "standard_conforming_strings = off",
            "escape_string_warning = off",
            "transform_null_equals = on",
            "array_nulls = off",
            "default_transaction_isolation = 'repeatable read'",
            "client_encoding = 'LATIN1'",
            "check_function_bodies = off",
        ):
            conn.execute(f"ALTER DATABASE {_name(target)} SET {setting}")
    _restore(server, _dump(server, filled[mode], "p"), target)
    expected[mode].check(target)


def test_a_locale_and_an_encoding_of_the_dump_do_not_matter(
    server: Server, filled: dict[str, str], expected: dict[str, Expected],
    new_database: NewDatabase,
) -> None:  # fmt: skip
    target = new_database("template0", "LOCALE 'C' ENCODING 'UTF8'")
    _restore(server, _dump(server, filled["psql"], "p", "--encoding=SQL_ASCII"), target)
    expected["psql"].check(target)


@pytest.fixture(scope="module")
def owned(server: Server, roles: None) -> dict[str, tuple[Path, Expected]]:
    """Dumps of a plain owner's installs, and what they hold: mode -> both."""
    found = {}
    for mode in ("extension", "psql"):
        name = f"owned_{mode}"
        dsn = server.create_database(name, options=f"OWNER {samples.OWNER}")
        install(server, name, mode, user=samples.OWNER)
        samples.fill(dsn)
        found[mode] = _dump(server, name, "c"), Expected.of(dsn)
    return found


@pytest.mark.parametrize(
    ("mode", "restorer"),
    [
        ("extension", "owner"),
        ("extension", "superuser"),
        ("extension", "role"),
        ("psql", "owner"),
        ("psql", "superuser"),
    ],
)
def test_the_install_of_a_plain_owner_is_restored(
    server: Server, owned: dict[str, tuple[Path, Expected]], new_database: NewDatabase,
    mode: str, restorer: str,
) -> None:  # fmt: skip
    """By that owner, by a superuser, or by a superuser in the name of that owner (--role)."""
    path, expected = owned[mode]
    target = new_database(options=f"OWNER {samples.OWNER}")
    if restorer == "owner":
        _restore(server, path, make_conninfo(target, user=samples.OWNER))
    elif restorer == "role":
        _restore(server, path, target, f"--role={samples.OWNER}")
    else:
        _restore(server, path, target)
    # A dump names no owner of an extension: it is whoever restores.
    owner = SUPERUSER if (mode, restorer) == ("extension", "superuser") else samples.OWNER
    taken = snapshot.take(target)
    assert {entry[0] for entry in taken["schema"].values()} == {owner}
    assert {entry[11] for entry in taken["function"].values()} == {owner}
    expected.check(target, catalog=owner == samples.OWNER)


def test_tables_beside_the_extension_are_dumped_and_block_its_drop(
    server: Server, filled: dict[str, str], new_database: NewDatabase
) -> None:
    """What a function adds to schema mnemo later is no member of the extension."""
    source = new_database(filled["extension"])
    with psycopg.connect(source, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE mnemo.added (org_id text, id uuid, PRIMARY KEY (org_id, id),"
            " FOREIGN KEY (org_id, id) REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE)"
        )
        conn.execute("INSERT INTO mnemo.added SELECT org_id, id FROM mnemo.memory")
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            conn.execute("DROP EXTENSION mnemo_pg")
        count = "SELECT count(*) FROM mnemo.added"
        expected = conn.execute(count).fetchone()
    target = new_database()
    _restore(server, _dump(server, _name(source), "c"), target)
    with psycopg.connect(target) as conn:
        assert conn.execute(count).fetchone() == expected


def test_dropping_the_extension_takes_everything_and_a_new_one_can_come(
    server: Server, filled: dict[str, str], installed: dict[str, str], new_database: NewDatabase
) -> None:
    dsn = new_database(filled["extension"])
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP EXTENSION mnemo_pg")
        assert conn.execute("SELECT to_regnamespace('mnemo')").fetchone() == (None,)
        conn.execute("CREATE EXTENSION mnemo_pg")
    fresh = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(fresh, snapshot.take(dsn)) == []


@pytest.fixture(scope="module")
def old_and_new(server: Server) -> Iterator[tuple[Server, Server]]:
    """A PostgreSQL 15 and an 18; one of them is the server of this test session."""
    other = wheel_programs() if server.version_num < 180000 else DEBIAN_15
    if not (other / "initdb").exists():
        pytest.skip(f"no second server at {other}")
    with Server(other) as second:
        try:
            offer_extension(second)
        except OSError as error:
            pytest.skip(f"the extension folder of the second server cannot be written: {error}")
        create_roles(second)
        pair = sorted((server, second), key=lambda one: one.version_num)
        if pair[0].version_num // 10000 == pair[1].version_num // 10000:
            pytest.skip("both servers have the same version")
        yield pair[0], pair[1]


@pytest.fixture(scope="module")
def old_databases(old_and_new: tuple[Server, Server], roles: None) -> dict[str, Expected]:
    """What the filled databases on the older server say: mode -> everything."""
    old, new = old_and_new
    found = {}
    for mode in ("extension", "psql"):
        source = old.create_database(f"old_{mode}")
        install(old, f"old_{mode}", mode)
        samples.fill(source)
        found[mode] = Expected.of(source)
        new.create_database(f"fresh_{mode}")
        install(new, f"fresh_{mode}", mode)
    return found


@pytest.mark.parametrize("part", ["whole", "one schema", "no rows"])
@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_a_major_upgrade_by_dump(
    old_and_new: tuple[Server, Server], old_databases: dict[str, Expected], mode: str, part: str
) -> None:
    old, new = old_and_new
    path = new.folder / f"upgrade_{mode}_{part}"
    options = {"whole": (), "one schema": ONE_SCHEMA[mode], "no rows": ("--schema-only",)}[part]
    # As documented by PostgreSQL: the programs of the newer version, on the older server.
    new.run("pg_dump", "-Fc", "-f", path, *options, old.dsn(f"old_{mode}"))
    name = f"new_{mode}_{part}"
    target = new.create_database(name)
    _restore(new, path, target)
    if part == "no rows":
        assert set(map(len, samples.rows(target).values())) == {0}
    else:
        old_databases[mode].check(target, catalog=False)
    _assert_fresh(target, new.dsn(f"fresh_{mode}"))
    new.drop_database(name)


def _assert_fresh(upgraded: str, fresh: str) -> None:
    """The catalog is that of a fresh install, but for what the samples granted."""
    taken = snapshot.take(upgraded), snapshot.take(fresh)
    for entries in (
        one[section] for one in taken for section in ("schema", "relation", "function")
    ):
        for key, entry in entries.items():
            entries[key] = tuple(
                [grant for grant in value if "install_" not in grant]
                if isinstance(value, list) else value for value in entry
            )  # fmt: skip
    assert snapshot.differences(*taken) == []


def test_a_major_upgrade_in_place(
    server: Server, old_and_new: tuple[Server, Server], roles: None
) -> None:
    """pg_upgrade takes over every kind of install."""
    old, new = old_and_new
    if old is server:
        pytest.skip(
            "the older server is that of this session; the session on the newer one does it"
        )
    expected = {}
    for mode in ("extension", "psql"):
        source = old.create_database(f"kept_{mode}")
        install(old, f"kept_{mode}", mode)
        samples.fill(source)
        expected[mode] = Expected.of(source)
    data = new.folder / "upgraded"
    new.run("initdb", "-D", data, "-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8",
            "--auth=trust", "--no-sync", "--no-data-checksums")  # fmt: skip
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write(f"extension_control_path = '{new.folder / 'share'}:$system'\nfsync = off\n")
    old.run("pg_ctl", "-D", old.data, "-m", "fast", "-w", "stop")
    try:
        new.run("pg_upgrade", "-b", old.bindir, "-B", new.bindir, "-d", old.data, "-D", data,
                "-U", SUPERUSER, "-s", new.folder, "--no-sync")  # fmt: skip
    finally:
        old.start()
    new.run("pg_ctl", "-D", data, "-w", "-l", new.folder / "upgraded.log",
            "-o", f"-k {new.folder} -p 5433 -c listen_addresses=", "start")  # fmt: skip
    try:
        for mode, before in expected.items():
            target = new.dsn(f"kept_{mode}", port="5433")
            fresh = new.create_database(f"fresh_in_place_{mode}")
            install(new, f"fresh_in_place_{mode}", mode)
            _assert_fresh(target, fresh)
            before.check(target, catalog=False)
    finally:
        new.run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
