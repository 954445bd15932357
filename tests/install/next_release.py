"""A throw-away next version of mnemo_pg: every kind of change that a release can bring."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemo_pg import _updates
from mnemo_pg.source import default_version
from tests.install.conftest import Alembic
from tests.support.installs import extension_folder, install
from tests.support.server import ROOT, SUPERUSER, Server

# Of this process alone: the servers of one version share a folder of extensions.
THIS, NEXT = default_version(), f"0.1.{10000 + os.getpid()}"

NEW_PART = """\
CREATE TABLE mnemo.extra (
    org_id text NOT NULL,
    id uuid NOT NULL,
    CONSTRAINT extra_pkey PRIMARY KEY (org_id, id)
);
COMMENT ON TABLE mnemo.extra IS 'New.';

CREATE FUNCTION mnemo.count_extra(
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = pg_catalog, mnemo, pg_temp
BEGIN ATOMIC
    SELECT CASE WHEN count(*) >= 0 THEN count(*) END FROM mnemo.extra;
END;
COMMENT ON FUNCTION mnemo.count_extra(text) IS 'New; for every level.';
"""

DELTA = """\
ALTER TABLE mnemo.settings ADD COLUMN reason text;
ALTER TABLE mnemo.settings
    ADD CONSTRAINT settings_reason_check CHECK (char_length(reason) <= 100);
CREATE INDEX settings_updated_at_idx ON mnemo.settings (updated_at);
CREATE TABLE mnemo.extra (
    org_id text NOT NULL,
    id uuid NOT NULL,
    CONSTRAINT extra_pkey PRIMARY KEY (org_id, id)
);
DROP FUNCTION mnemo.bind_role(text, text, text);
DROP FUNCTION mnemo.unbind_role(text, text, text);
"""


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("ascii")
    assert text.count(old) == 1, (path.name, old)
    path.write_text(text.replace(old, new), "ascii")


def source(folder: Path) -> Path:
    """A copy of sql/ in which this version is released and the next one is written, not built."""
    sql = Path(shutil.copytree(ROOT / "sql", folder / "sql"))
    _updates.release(sql, THIS)
    parts = sql / "parts"
    settings = parts / "200_settings.sql"
    _edit(
        settings,
        "    updated_at timestamptz NOT NULL DEFAULT now(),\n    CONSTRAINT settings_pkey",
        "    updated_at timestamptz NOT NULL DEFAULT now(),\n    reason text,\n"
        "    CONSTRAINT settings_reason_check CHECK (char_length(reason) <= 100),\n"
        "    CONSTRAINT settings_pkey",
    )
    _edit(
        settings,
        "COMMENT ON COLUMN mnemo.settings.updated_at IS 'When it was last set.';\n",
        "COMMENT ON COLUMN mnemo.settings.updated_at IS 'The time of the last change.';\n"
        "COMMENT ON COLUMN mnemo.settings.reason IS 'Why.';\n"
        "CREATE INDEX settings_updated_at_idx ON mnemo.settings (updated_at);\n",
    )
    roles = parts / "310_roles_admin.sql"
    text = roles.read_text("ascii")
    text = text.replace(
        "CREATE FUNCTION mnemo.bind_role(\n    p_role text,\n    p_org_id text,\n"
        "    p_agent_id text DEFAULT NULL\n",
        "CREATE FUNCTION mnemo.bind_role(\n    p_role text,\n    p_org_id text,\n"
        "    p_agent_id text DEFAULT NULL,\n    p_reason text DEFAULT NULL\n",
    ).replace("mnemo.bind_role(text, text, text) IS", "mnemo.bind_role(text, text, text, text) IS")
    text = re.sub(r"CREATE FUNCTION mnemo\.unbind_role\(.*", "", text, flags=re.DOTALL)
    roles.write_text(text, "ascii")
    (parts / "895_extra.sql").write_text(NEW_PART, "ascii")
    _edit(sql / "manifest.txt", "900_grants.sql\n", "895_extra.sql\n900_grants.sql\n")
    (sql / "updates" / f"mnemo_pg--{THIS}--{NEXT}.sql").write_text(DELTA, "ascii")
    return sql


def build(folder: Path) -> Path:
    """The folder of built scripts of both versions."""
    sql = source(folder)
    for name, text in _updates.scripts(sql, NEXT).items():
        (sql / "dist" / name).write_text(text, "ascii")
    revisions = shutil.copytree(ROOT / "alembic", folder / "alembic") / "versions"
    text = (revisions / "mnemo_0001.py").read_text("utf-8")
    for old, new in (
        ('revision = "mnemo_0001"', 'revision = "mnemo_0002"'),
        ("down_revision = None", 'down_revision = "mnemo_0001"'),
        ('branch_labels = ("mnemo_pg",)', "branch_labels = None"),
        ("run_script(op, ", f'run_update(op, "{THIS}", '),
        ("import drop_schema, run_script", "import drop_schema, run_update"),
        (f'"{THIS}")', f'"{NEXT}")'),
    ):
        assert old in text, old
        text = text.replace(old, new)
    (revisions / "mnemo_0002.py").write_text(text, "utf-8")
    (folder / "alembic.ini").write_text(
        f"[alembic]\nscript_location = {folder}/alembic\npath_separator = newline\n", "utf-8"
    )
    folder.chmod(0o755)
    return sql / "dist"


class NextRelease:
    """The next version, built, and offered to a server; `update` and `install` in each way."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.dist = server, folder, build(folder)
        self.offered = []
        for path in self.dist.glob(f"mnemo_pg--*{NEXT}.sql"):
            target = extension_folder(server) / path.name
            shutil.copy(path, target)
            target.chmod(0o644)
            self.offered.append(target)

    def withdraw(self) -> None:
        """Take the scripts away from the server."""
        for path in self.offered:
            path.unlink(missing_ok=True)

    def script(self, name: str) -> Path:
        """A script where the server's user can read it."""
        path = self.server.folder / name
        shutil.copy(self.dist / name, path)
        path.chmod(0o644)
        return path

    def psql(self, dsn: str, name: str, *options: str) -> str:
        """Run a script as documented; what psql printed."""
        return self.server.run("psql", "-X", "-q", *options, "-f", self.script(name), dsn)

    def install(self, dsn: str, mode: str, alembic: Alembic, user: str = SUPERUSER) -> None:
        """Install the next version afresh: its script, or for Alembic all revisions."""
        dsn = make_conninfo(dsn, user=user)
        if mode == "extension":
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute(f"CREATE EXTENSION mnemo_pg VERSION '{NEXT}'")
        elif mode == "psql":
            self.psql(dsn, f"mnemo_pg--{NEXT}.sql", "-1", "-v", "ON_ERROR_STOP=1")
        else:
            self._revisions(dsn, alembic)

    def update(self, dsn: str, mode: str, alembic: Alembic, user: str = SUPERUSER) -> None:
        """Update a database from this version."""
        dsn = make_conninfo(dsn, user=user)
        if mode == "extension":
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute(f"ALTER EXTENSION mnemo_pg UPDATE TO '{NEXT}'")
        elif mode == "psql":
            self.psql(dsn, f"mnemo_pg--{THIS}--{NEXT}.sql", "-1", "-v", "ON_ERROR_STOP=1")
        else:
            self._revisions(dsn, alembic)

    def _revisions(self, dsn: str, alembic: Alembic) -> None:
        alembic(dsn, "upgrade", "head", configuration=self.folder / "alembic.ini")

    def install_this(self, dsn: str, mode: str, user: str) -> None:
        """Install this version as a role."""
        install(self.server, str(conninfo_to_dict(dsn)["dbname"]), mode, user=user)
