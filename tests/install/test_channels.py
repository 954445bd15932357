"""PGXN's archive and pg_tle's registration: other ways to the same scripts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from mnemo_pg import _package
from mnemo_pg.source import control_path, default_version, sql_path, sql_text
from tests.install import snapshot
from tests.install.conftest import NewDatabase
from tests.install.next_release import NEXT, THIS, build
from tests.support.server import DEBIAN, ROOT, Server, wheel_programs

VERSION = default_version()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything of this version."""
    folder = tmp_path_factory.mktemp("dist")
    _package.write(folder, ROOT, VERSION)
    return folder


@pytest.fixture(scope="module")
def unpacked(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the zip unpacks to."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(written / f"mnemo_pg-{VERSION}.zip") as archive:
        archive.extractall(folder)
    (only,) = folder.iterdir()
    return only


def test_the_same_input_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    again = _package.write(tmp_path, ROOT, VERSION)
    assert {path.name for path in again} == {path.name for path in written.iterdir()}
    for path in again:
        assert path.read_bytes() == (written / path.name).read_bytes()


def test_the_archive_is_what_pgxn_asks_for(unpacked: Path) -> None:
    """The required keys of the PGXN Meta Spec 1.0.0, and files that are there."""
    assert unpacked.name == f"mnemo_pg-{VERSION}"
    meta = json.loads((unpacked / "META.json").read_text("utf-8"))
    required = {
        "name", "version", "abstract", "maintainer", "license", "provides", "meta-spec",
    }  # fmt: skip
    assert required <= meta.keys()
    assert meta["meta-spec"]["version"] == "1.0.0"
    assert (meta["name"], meta["version"], meta["license"]) == ("mnemo_pg", VERSION, "apache_2_0")
    # A term of the specification: at least two characters, none that a path could not hold.
    assert re.fullmatch(r"[^\s/\\\x00-\x1f]{2,}", meta["name"])
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", meta["version"])
    assert meta["release_status"] in ("stable", "testing", "unstable")
    assert all(meta["maintainer"])
    provided = meta["provides"]["mnemo_pg"]
    assert provided["version"] == VERSION
    for key in ("file", "docfile"):
        assert (unpacked / provided[key]).is_file()
    assert provided["abstract"] == meta["abstract"] == _package.comment()
    assert meta["abstract"] in control_path().read_text("utf-8")
    assert (unpacked / "sql" / sql_path().name).read_bytes() == sql_path().read_bytes()
    # What the pages link to is there too.
    for page in [unpacked / "README.md", *(unpacked / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            inside = (page.parent / link).resolve().relative_to(unpacked.resolve())
            if (ROOT / inside).exists() and inside.name != "CONTRIBUTING.md":
                assert (unpacked / inside).exists(), (page.name, link)


def _pgxs() -> Path | None:
    """A pg_config whose server brings PGXS: of the wheel for 16, or of Debian's -dev package."""
    candidates = [DEBIAN / "15" / "bin" / "pg_config"]
    with suppress(RuntimeError):
        candidates.insert(0, wheel_programs(16) / "pg_config")
    for program in filter(Path.exists, candidates):
        found = subprocess.run(
            [program, "--pgxs"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if Path(found).exists():
            return program
    return None


def test_the_unpacked_archive_is_installed_by_make(unpacked: Path, tmp_path: Path) -> None:
    program = _pgxs()
    if program is None or shutil.which("make") is None:
        pytest.skip("make or PGXS is missing: pip install '.[servers]' brings the latter")
    for target in ("all", "install"):
        done = subprocess.run(
            ["make", target, f"PG_CONFIG={program}", f"DESTDIR={tmp_path}"], cwd=unpacked,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    shared = subprocess.run(
        [program, "--sharedir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = Path(f"{tmp_path}{shared}") / "extension"
    assert (folder / "mnemo_pg.control").read_bytes() == control_path().read_bytes()
    assert (folder / sql_path().name).read_bytes() == sql_path().read_bytes()
    scripts = {path.name for path in (unpacked / "sql").iterdir()} | {"mnemo_pg.control"}
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == scripts


# pg_tle's own functions, with their parameters; these only write down what they were told.
PGTLE = """
CREATE SCHEMA pgtle;
CREATE TABLE pgtle.told (call text, name text, version text, fromvers text, description text,
                         ext text, requires text[]);
CREATE FUNCTION pgtle.install_extension(name text, version text, description text, ext text,
    requires text[] DEFAULT NULL, schema text DEFAULT NULL)
RETURNS boolean LANGUAGE sql BEGIN ATOMIC
    INSERT INTO pgtle.told VALUES ('install', $1, $2, NULL, $3, $4, $5); SELECT true;
END;
CREATE FUNCTION pgtle.install_update_path(name text, fromvers text, tovers text, ext text)
RETURNS boolean LANGUAGE sql BEGIN ATOMIC
    INSERT INTO pgtle.told VALUES ('update', $1, $3, $2, NULL, $4, NULL); SELECT true;
END;
CREATE FUNCTION pgtle.set_default_version(name text, version text)
RETURNS boolean LANGUAGE sql BEGIN ATOMIC
    INSERT INTO pgtle.told VALUES ('default', $1, $2); SELECT true;
END;
"""


def _tell(server: Server, dsn: str, path: Path) -> list[tuple[str | None, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        if not conn.execute("SELECT to_regnamespace('pgtle')::oid").fetchone()[0]:  # type: ignore[index]
            conn.execute(PGTLE)
        conn.execute("TRUNCATE pgtle.told")
        copy = server.folder / path.name
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o644)
        server.run("psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null",
                   "-f", copy, dsn)  # fmt: skip
        return conn.execute(
            "SELECT call, name, version, fromvers, description, ext FROM pgtle.told"
        ).fetchall()


def test_pg_tle_is_told_the_same_script(
    server: Server, installed: dict[str, str], new_database: NewDatabase, written: Path
) -> None:
    dsn = new_database()
    told = _tell(server, dsn, written / f"mnemo_pg-{VERSION}.pgtle.sql")
    assert told == [("install", "mnemo_pg", VERSION, None, _package.comment(), sql_text())]
    with psycopg.connect(dsn) as conn:
        conn.execute(str(told[0][5]), prepare=False)
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []


def test_pg_tle_is_told_of_an_update(
    server: Server, installed: dict[str, str], new_database: NewDatabase, tmp_path: Path
) -> None:
    """What it recorded, run one after the other in one transaction, gives the next version."""
    dist = build(tmp_path)
    for name in ("README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    files = {path.name: path for path in _package.write(tmp_path / "out", tmp_path, NEXT)}
    assert set(files) == {
        f"mnemo_pg-{NEXT}.zip", f"mnemo_pg-{NEXT}.pgtle.sql", f"mnemo_pg-{THIS}--{NEXT}.pgtle.sql",
    }  # fmt: skip
    with zipfile.ZipFile(files[f"mnemo_pg-{NEXT}.zip"]) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist() if "/sql/" in name}
    assert names == {path.name for path in dist.iterdir()}
    fresh = new_database()
    told = _tell(server, fresh, files[f"mnemo_pg-{NEXT}.pgtle.sql"])
    with psycopg.connect(fresh) as conn:
        conn.execute(str(told[0][5]), prepare=False)
    dsn = new_database(installed["psql"])
    told = _tell(server, dsn, files[f"mnemo_pg-{THIS}--{NEXT}.pgtle.sql"])
    assert [row[:4] for row in told] == [
        ("update", "mnemo_pg", NEXT, THIS), ("default", "mnemo_pg", NEXT, None),
    ]  # fmt: skip
    with psycopg.connect(dsn) as conn:
        conn.execute(str(told[0][5]), prepare=False)
    assert snapshot.differences(snapshot.take(fresh), snapshot.take(dsn)) == []
    # As PostgreSQL itself goes from an old script to a new version.
    chained = new_database()
    with psycopg.connect(chained) as conn:
        conn.execute((dist / f"mnemo_pg--{THIS}.sql").read_bytes(), prepare=False)
        conn.execute(str(told[0][5]), prepare=False)
    assert snapshot.differences(snapshot.take(fresh), snapshot.take(chained)) == []


def test_a_script_that_pg_tle_could_not_quote_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mnemo_pg--1\.sql contains \$_pgtle_i\$"):
        _package.pgtle_install("1", "SELECT $_pgtle_i$x$_pgtle_i$;\n")
