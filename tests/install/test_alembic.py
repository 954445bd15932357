"""The Alembic installer: one revision a release, in this repository and in a host's own history."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from psycopg.conninfo import conninfo_to_dict

from mnemo_pg import migrations
from mnemo_pg.source import default_version, sql_path
from tests.install import samples, snapshot
from tests.install.conftest import Alembic, NewDatabase
from tests.support.installs import run_alembic
from tests.support.server import ROOT, Server

VERSIONS = ROOT / "alembic" / "versions"


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


def _revisions(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as conn:
        rows = conn.execute("SELECT version_num FROM public.alembic_version").fetchall()
        return sorted(row[0] for row in rows)


def test_upgrade_from_the_root_of_the_repository(new_database: NewDatabase) -> None:
    dsn = new_database()
    run_alembic(dsn, "upgrade", "head")
    assert _revisions(dsn) == ["mnemo_0001"]
    assert samples.rows(dsn)["memory"] == []
    # Again is no error and does nothing.
    run_alembic(dsn, "upgrade", "head")


def test_the_history_is_one_labelled_branch(alembic: Alembic) -> None:
    assert "mnemo_0001 (mnemo_pg) (head)" in alembic(None, "heads")
    assert len(alembic(None, "heads").splitlines()) == 1
    assert "<base> -> mnemo_0001" in alembic(None, "history")


def test_each_revision_runs_one_built_script_and_holds_no_sql() -> None:
    named = {}
    for path in VERSIONS.glob("*.py"):
        text = path.read_text("utf-8")
        (version,) = re.findall(r'run_script\(op, "([^"]+)"\)', text)
        named[path.stem] = version
        assert sql_path(version).is_file()
        assert not re.search(r"op\.(?!get)|execute|CREATE|ALTER", text), path.name
    assert default_version() in named.values()
    # With an __init__.py here, `import alembic` would find this folder and not the library.
    assert list((ROOT / "alembic").rglob("__init__.py")) == []


def test_without_a_connection_string_one_clear_line(alembic: Alembic) -> None:
    with pytest.raises(RuntimeError, match="set MNEMO_PG_DSN to the connection string"):
        alembic(None, "upgrade", "head")


def test_the_label_names_the_newest_revision(new_database: NewDatabase, alembic: Alembic) -> None:
    dsn = new_database()
    alembic(dsn, "upgrade", "mnemo_pg@head")
    assert _revisions(dsn) == ["mnemo_0001"]
    assert "mnemo_0001 (head)" in alembic(dsn, "current")


def test_offline_output_installs_the_same(
    server: Server, installed: dict[str, str], new_database: NewDatabase, alembic: Alembic
) -> None:
    printed = alembic(None, "upgrade", "head", "--sql")
    # Once as it is: no `%` doubled, no `:name` replaced.
    assert printed.count(sql_path().read_text("utf-8").strip()) == 1
    dsn = new_database()
    script = server.folder / "offline.sql"
    script.write_text(printed, "utf-8")
    script.chmod(0o644)
    server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, dsn)
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []
    assert _revisions(dsn) == ["mnemo_0001"]
    assert "mnemo_0001 (head)" in alembic(dsn, "current")


def test_an_extension_install_is_refused_and_can_be_stamped(
    installed: dict[str, str], new_database: NewDatabase, alembic: Alembic
) -> None:
    dsn = new_database(installed["extension"])
    with pytest.raises(RuntimeError, match="ALTER EXTENSION mnemo_pg UPDATE") as caught:
        alembic(dsn, "upgrade", "head")
    assert "alembic stamp mnemo_pg@head" in str(caught.value)
    alembic(dsn, "stamp", "mnemo_pg@head")
    alembic(dsn, "upgrade", "head")
    assert _revisions(dsn) == ["mnemo_0001"]
    # Not even when told: DROP EXTENSION is the way there.
    with pytest.raises(sqlalchemy.exc.DBAPIError, match="extension mnemo_pg requires it"):
        alembic(dsn, "-x", "mnemo_drop=yes", "downgrade", "base")
    assert samples.rows(dsn)["memory"] == []


def test_downgrade_refuses_unless_told(
    filled: dict[str, str], new_database: NewDatabase, alembic: Alembic
) -> None:
    dsn = new_database(filled["alembic"])
    before = samples.rows(dsn)
    for told in ((), ("-x", "mnemo_drop=no"), ("-x", "mnemo_drop"), ("-x", "x=y")):
        with pytest.raises(RuntimeError, match="-x mnemo_drop=yes"):
            alembic(dsn, *told, "downgrade", "base")
        assert samples.rows(dsn) == before
        assert _revisions(dsn) == ["mnemo_0001"]


def test_downgrade_drops_the_schema_when_told_and_a_new_upgrade_works(
    filled: dict[str, str], new_database: NewDatabase, alembic: Alembic
) -> None:
    dsn = new_database(filled["alembic"])
    alembic(dsn, "-x", "mnemo_drop=yes", "downgrade", "base")
    assert _revisions(dsn) == []
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT to_regnamespace('mnemo')").fetchone() == (None,)
    alembic(dsn, "upgrade", "head")
    assert samples.rows(dsn)["memory"] == []


def test_an_offline_downgrade_refuses_unless_told(alembic: Alembic) -> None:
    with pytest.raises(RuntimeError, match="-x mnemo_drop=yes"):
        alembic(None, "downgrade", "mnemo_0001:base", "--sql")
    printed = alembic(None, "-x", "mnemo_drop=yes", "downgrade", "mnemo_0001:base", "--sql")
    assert "DROP SCHEMA mnemo CASCADE;" in printed


_HOST_REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "host_0001"
down_revision = None
branch_labels = ("host",)
depends_on = "mnemo_0001"


def upgrade() -> None:
    path = op.get_bind().exec_driver_sql("SHOW search_path").scalar()
    op.create_table("orders", sa.Column("search_path", sa.Text))
    op.bulk_insert(sa.table("orders", sa.column("search_path")), [{"search_path": path}])


def downgrade() -> None:
    op.drop_table("orders")
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """An application with its own migrations that takes in ours; its configuration file."""
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "host_0001.py").write_text(_HOST_REVISION, "utf-8")
    for name in ("env.py", "script.py.mako"):
        shutil.copy(ROOT / "alembic" / name, tmp_path)
    configuration = tmp_path / "alembic.ini"
    configuration.write_text(
        f"[alembic]\nscript_location = {tmp_path}\npath_separator = newline\n"
        f"version_locations =\n  {tmp_path / 'versions'}\n  {VERSIONS}\n",
        "utf-8",
    )
    return configuration


@pytest.mark.parametrize("path", ["public", '"$user", app, public', "app"])
def test_a_hosts_later_revision_finds_its_own_path(
    new_database: NewDatabase, alembic: Alembic, host: Path, path: str
) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA app")
        conn.execute(f"ALTER DATABASE {_name(dsn)} SET search_path = {path}")
    alembic(dsn, "upgrade", "heads", configuration=host)
    with psycopg.connect(dsn) as conn:
        # Unqualified, as the application sees them.
        assert conn.execute("SELECT search_path FROM orders").fetchall() == [(path,)]
        rows = conn.execute("SELECT version_num FROM alembic_version ORDER BY 1").fetchall()
        assert rows == [("host_0001",)]
        expected = "public" if path == "public" else "app"
        row = conn.execute(
            "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'orders'::regclass"
        ).fetchone()
        assert row == (expected,)
        assert conn.execute("SELECT mnemo.version()").fetchone() == (default_version(),)


def test_a_host_can_go_back_by_its_own_revisions_and_keep_ours(
    new_database: NewDatabase, alembic: Alembic, host: Path
) -> None:
    dsn = new_database()
    alembic(dsn, "upgrade", "heads", configuration=host)
    alembic(dsn, "downgrade", "host@base", configuration=host)
    assert _revisions(dsn) == ["mnemo_0001"]
    assert samples.rows(dsn)["memory"] == []


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "SERIALIZABLE", "AUTOCOMMIT"])
def test_an_engine_of_the_host_at_any_isolation(
    server: Server, installed: dict[str, str], new_database: NewDatabase, isolation: str
) -> None:
    dsn = new_database()
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), isolation_level=isolation
    )
    with engine.begin() as connection:
        migrations.run_script(Operations(MigrationContext.configure(connection)), "0.1.0")
        assert connection.exec_driver_sql("SHOW search_path").scalar() == '"$user", public'
    engine.dispose()
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []
