"""The three installers give one catalog, and leave no trace outside schema mnemo."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from mnemo_pg.install import install as install_through_psycopg
from mnemo_pg.install import install_async, installed_version
from mnemo_pg.source import default_version
from tests.install import snapshot
from tests.install.conftest import Install, NewDatabase
from tests.support.installs import MODES
from tests.support.server import Server

# What a way of installing keeps outside the schema: its own record of what was installed.
OWN_RECORD = {
    "extension": {"extension mnemo_pg"},
    "psql": set[str](),
    "alembic": {
        "table public.alembic_version",
        "type public.alembic_version",
        "type public.alembic_version[]",
        "index public.alembic_version_pkc",
        "table constraint alembic_version_pkc on public.alembic_version",
    },
}


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "psql"])
def test_an_installer_gives_the_catalog_of_psql(
    server: Server, installed: dict[str, str], mode: str
) -> None:
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(by_psql, snapshot.take(server.dsn(installed[mode]))) == []


def test_the_snapshot_is_not_empty(server: Server, installed: dict[str, str]) -> None:
    taken = snapshot.take(server.dsn(installed["psql"]))
    counts = {section: len(entries) for section, entries in taken.items()}
    assert counts["relation"] >= 12
    assert counts["function"] >= 100
    assert counts["comment"] >= counts["function"]
    assert counts["trigger"] == counts["policy"] == 0


async def test_the_installers_of_the_library_give_the_catalog_of_psql(
    server: Server, installed: dict[str, str], new_database: NewDatabase
) -> None:
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    dsn = new_database()
    with psycopg.connect(dsn) as conn:
        assert installed_version(conn) is None
        install_through_psycopg(conn)
        assert installed_version(conn) == default_version()
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []
    dsn = new_database()
    async with await psycopg.AsyncConnection.connect(dsn) as aconn:
        await install_async(aconn)
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []


@pytest.mark.parametrize("mode", MODES)
def test_an_install_leaves_nothing_outside_the_schema(
    new_database: NewDatabase, attempt: Install, mode: str
) -> None:
    dsn = new_database()
    before = snapshot.strays(dsn)
    attempt(dsn, mode)
    made = snapshot.strays(dsn) - before
    # PostgreSQL 18 lists NOT NULL as a constraint.
    assert {name for name in made if "_not_null on " not in name} == OWN_RECORD[mode]
    assert before <= snapshot.strays(dsn)


# Each change that a snapshot must notice, on its own.
CHANGES = (
    "ALTER TABLE mnemo.memory ALTER COLUMN content SET STATISTICS 10",
    "ALTER TABLE mnemo.memory ALTER COLUMN content SET STORAGE EXTERNAL",
    "ALTER TABLE mnemo.memory ALTER COLUMN content SET NOT NULL",
    "ALTER TABLE mnemo.memory ALTER COLUMN importance SET DEFAULT 0.5",
    "ALTER TABLE mnemo.role_level ALTER COLUMN granted_at TYPE timestamptz(3)",
    "ALTER TABLE mnemo.acl ADD COLUMN note text",
    "ALTER TABLE mnemo.memory DROP CONSTRAINT memory_importance_check",
    "ALTER TABLE mnemo.acl ALTER CONSTRAINT acl_memory_id_fkey DEFERRABLE",
    "ALTER TABLE mnemo.memory SET (fillfactor = 90)",
    "ALTER TABLE mnemo.settings SET UNLOGGED",
    "ALTER TABLE mnemo.memory ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE mnemo.memory CLUSTER ON memory_pkey",
    "ALTER INDEX mnemo.plan_signature_keys_idx SET (fastupdate = on)",
    "DROP INDEX mnemo.memory_expires_at_idx",
    "CREATE INDEX memory_extra_idx ON mnemo.memory (kind)",
    "CREATE POLICY p ON mnemo.memory USING (true)",
    "CREATE TRIGGER t BEFORE UPDATE ON mnemo.memory FOR EACH ROW"
    " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE RULE r AS ON UPDATE TO mnemo.memory DO ALSO SELECT 1",
    "CREATE STATISTICS mnemo.s ON org_id, agent_id FROM mnemo.memory",
    "CREATE SEQUENCE mnemo.s",
    "CREATE TYPE mnemo.t AS ENUM ('a')",
    "CREATE OPERATOR mnemo.=== (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)",
    "ALTER FUNCTION mnemo.version() VOLATILE",
    "ALTER FUNCTION mnemo.version() STRICT",
    "ALTER FUNCTION mnemo.version() SECURITY INVOKER",
    "ALTER FUNCTION mnemo.version() SET search_path = pg_catalog",
    "ALTER FUNCTION mnemo.version() PARALLEL UNSAFE",
    "ALTER FUNCTION mnemo.version() COST 7",
    "ALTER FUNCTION mnemo.version() LEAKPROOF",
    "ALTER FUNCTION mnemo.version() OWNER TO install_owner",
    "GRANT EXECUTE ON FUNCTION mnemo.version() TO PUBLIC",
    "GRANT SELECT ON mnemo.plan TO install_owner",
    "GRANT SELECT (content) ON mnemo.memory TO install_owner",
    "GRANT USAGE ON SCHEMA mnemo TO PUBLIC",
    "GRANT USAGE ON TYPE mnemo._problem TO PUBLIC",
    "ALTER SCHEMA mnemo OWNER TO install_owner",
    "ALTER TABLE mnemo.memory OWNER TO install_owner",
    "COMMENT ON SCHEMA mnemo IS 'other'",
    "COMMENT ON COLUMN mnemo.memory.content IS 'other'",
    "COMMENT ON CONSTRAINT memory_pkey ON mnemo.memory IS 'other'",
    "COMMENT ON INDEX mnemo.memory_owner_idx IS 'other'",
    "COMMENT ON FUNCTION mnemo.version() IS NULL",
)


@pytest.mark.parametrize("change", CHANGES)
def test_the_snapshot_notices(
    server: Server, installed: dict[str, str], roles: None, change: str
) -> None:
    dsn = server.dsn(installed["psql"])
    with psycopg.connect(dsn) as conn:
        before = snapshot.of(conn)
        conn.execute(change)
        assert snapshot.differences(before, snapshot.of(conn)) != []
        conn.rollback()


def test_the_snapshot_does_not_depend_on_the_session(
    server: Server, installed: dict[str, str], new_database: NewDatabase
) -> None:
    dsn = new_database(installed["psql"])
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {_name(dsn)} SET search_path = mnemo, public")
    original = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(original, snapshot.take(dsn)) == []


PATHS = ('"$user", public', "", "public, pg_catalog", "mnemo, pg_temp", '"odd ""name", public')


@pytest.mark.parametrize("outer", [False, True], ids=["own transaction", "caller's transaction"])
def test_every_setting_of_the_installing_connection_is_back(
    new_database: NewDatabase, outer: bool
) -> None:
    settings = "SELECT name, setting FROM pg_settings ORDER BY name"
    with psycopg.connect(new_database(), autocommit=True) as conn:
        # Loading plpgsql adds its own settings.
        conn.execute("SET client_min_messages = error; DO 'BEGIN END'")
        for path in PATHS:
            conn.execute("SELECT set_config('search_path', %s, false)", [path])
            before = conn.execute(settings).fetchall()
            with conn.transaction() if outer else nullcontext():
                inside = conn.execute(settings).fetchall()
                install_through_psycopg(conn)
                assert conn.execute(settings).fetchall() == inside
            assert conn.execute(settings).fetchall() == before
            conn.execute("DROP SCHEMA mnemo CASCADE")


@pytest.mark.parametrize("mode", ["extension", "psql"])
def test_the_path_of_a_longer_transaction_is_back(
    server: Server, new_database: NewDatabase, script: Path, mode: str
) -> None:
    dsn = new_database()
    if mode == "psql":
        printed = server.run(
            "psql", "-X", "-q", "-A", "-t", "-1", "-v", "ON_ERROR_STOP=1",
            "-c", "SET search_path = pg_catalog, public", "-f", script,
            "-c", "SHOW search_path", dsn,
        )  # fmt: skip
        assert printed.strip().splitlines()[-1] == "pg_catalog, public"
        return
    with psycopg.connect(dsn) as conn:
        conn.execute("SET search_path = pg_catalog, public")
        conn.execute("CREATE EXTENSION mnemo_pg")
        row = conn.execute("SHOW search_path").fetchone()
        assert row == ("pg_catalog, public",)


def test_a_failed_install_inside_a_callers_transaction_leaves_it_usable(
    new_database: NewDatabase,
) -> None:
    with psycopg.connect(new_database()) as conn:
        conn.execute("CREATE TABLE public.mine (x integer)")
        conn.execute("SET LOCAL search_path = public, pg_temp")
        conn.execute("CREATE SCHEMA mnemo CREATE TABLE t (x integer)")
        with pytest.raises(psycopg.errors.DuplicateSchema):
            install_through_psycopg(conn)
        assert conn.execute("SHOW search_path").fetchone() == ("public, pg_temp",)
        assert conn.execute("SELECT count(*) FROM mine").fetchone() == (0,)
