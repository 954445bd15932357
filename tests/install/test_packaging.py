"""The wheel, the source archive, an editable install and PGXS: each brings the same SQL."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import psycopg
import pytest

from mnemo_pg.source import control_path, default_version, sql_path, sql_text
from tests.install import snapshot
from tests.install.conftest import NewDatabase
from tests.support.server import ROOT, Server

# Libraries of this environment, without the packages that it only links to (such as our own).
LIBRARIES = str(Path(psycopg.__file__).resolve().parents[1])


def _run(*command: str | Path, cwd: str | Path = "/", **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def _build(source: Path, target: Path) -> tuple[Path, Path]:
    """The source archive and the wheel of a folder."""
    _run(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=source)
    (archive,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive and the wheel of this checkout."""
    return _build(ROOT, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def python(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment outside the checkout, with the wheel installed."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
         "--no-deps", "--no-index", "--disable-pip-version-check", built[1])  # fmt: skip
    return python


def test_the_wheel_holds_what_it_must(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
        assert wheel.read(f"mnemo_pg/_sql/{sql_path().name}") == sql_path().read_bytes()
        assert wheel.read("mnemo_pg/_sql/mnemo_pg.control") == control_path().read_bytes()
    revisions = {path.name for path in (ROOT / "alembic" / "versions").glob("*.py")}
    assert {f"mnemo_pg/_alembic/versions/{name}" for name in revisions} <= names
    data = {path.name for path in (ROOT / "mnemo_pg" / "demo_data").iterdir() if path.is_file()}
    assert {f"mnemo_pg/demo_data/{name}" for name in data} <= names
    assert any(name.endswith(".jsonl") for name in data)
    assert "mnemo_pg/py.typed" in names
    # Nothing that would land beside the package, and nothing left over from a run.
    assert {name.split("/")[0] for name in names} == {
        "mnemo_pg", f"mnemo_pg-{default_version()}.dist-info",
    }  # fmt: skip
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
    modules = {
        str(path.relative_to(ROOT)) for path in (ROOT / "mnemo_pg").rglob("*.py")
    }  # fmt: skip
    assert modules <= names


def test_the_metadata_of_the_wheel(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        folder = f"mnemo_pg-{default_version()}.dist-info"
        metadata = HeaderParser().parsestr(wheel.read(f"{folder}/METADATA").decode())
        assert f"{folder}/licenses/LICENSE" in wheel.namelist()
        assert b"mnemo-pg = mnemo_pg.cli:main" in wheel.read(f"{folder}/entry_points.txt")
    assert metadata["Name"] in ("mnemo_pg", "mnemo-pg")
    assert metadata["Version"] == default_version()
    assert metadata["Requires-Python"] == ">=3.11"
    needed = [name for name in metadata.get_all("Requires-Dist", []) if "extra ==" not in str(name)]
    assert len(needed) == 1
    assert str(needed[0]).startswith("psycopg[pool]")


def test_one_version_in_package_control_file_and_script(
    server: Server, installed: dict[str, str]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == default_version()
    with server.connect(installed["extension"]) as conn:
        row = conn.execute(
            "SELECT extversion, mnemo.version() FROM pg_extension WHERE extname = 'mnemo_pg'"
        ).fetchone()
    assert row == (default_version(), default_version())


def test_the_source_archive_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    _, wheel = _build(source, tmp_path / "again")
    assert wheel.read_bytes() == built[1].read_bytes()
    # It is enough to build everything that is generated, too.
    _run(sys.executable, "-m", "mnemo_pg._build", "--check", cwd=source)


def test_an_installed_wheel_finds_its_sql(python: Path) -> None:
    printed = _run(
        python, "-c",
        "import hashlib, mnemo_pg; from mnemo_pg import source\n"
        "print(mnemo_pg.__file__, source.sql_folder(), source.default_version(),"
        " hashlib.sha256(source.sql_text().encode()).hexdigest(),"
        " hashlib.sha256(source.sql_text('0.1.0').encode()).hexdigest())",
        PYTHONPATH=LIBRARIES,
    )  # fmt: skip
    package, folder, version, newest, named = printed.split()
    environment = str(python.parents[1])
    assert package.startswith(environment)
    assert folder.startswith(environment)
    assert version == default_version()
    expected = hashlib.sha256(sql_path().read_bytes()).hexdigest()
    assert newest == named == expected


def test_an_installed_wheel_brings_the_command_and_the_demo_data(python: Path) -> None:
    printed = _run(python.parent / "mnemo-pg", "--help", PYTHONPATH=LIBRARIES)
    assert "remember-plan" in printed
    lines = _run(
        python, "-c",
        "from importlib.resources import files\n"
        "print(sum(1 for path in files('mnemo_pg').joinpath('demo_data').iterdir()"
        " if path.name.endswith('.jsonl') for line in path.read_text('utf-8').splitlines()))",
        PYTHONPATH=LIBRARIES,
    )  # fmt: skip
    assert int(lines) >= 200


_HOST = """
from alembic import context
from sqlalchemy import create_engine
import os, psycopg

engine = create_engine(
    "postgresql+psycopg://", creator=lambda: psycopg.connect(os.environ["HOST_DSN"])
)
with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
"""


def test_a_host_takes_the_revisions_from_the_wheel(
    server: Server, installed: dict[str, str], new_database: NewDatabase, python: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    dsn = new_database()
    (tmp_path / "env.py").write_text(_HOST, "utf-8")
    (tmp_path / "alembic.ini").write_text(
        f"[alembic]\nscript_location = {tmp_path}\npath_separator = newline\n"
        "version_locations =\n  mnemo_pg:_alembic/versions\n",
        "utf-8",
    )
    _run(python, "-m", "alembic", "upgrade", "mnemo_pg@head", cwd=tmp_path,
         HOST_DSN=dsn, PYTHONPATH=LIBRARIES)  # fmt: skip
    by_psql = snapshot.take(server.dsn(installed["psql"]))
    assert snapshot.differences(by_psql, snapshot.take(dsn)) == []


def test_an_editable_install_finds_the_sql_of_the_checkout() -> None:
    found = _run(sys.executable, "-c", "import mnemo_pg; print(mnemo_pg.__file__)").strip()
    if Path(LIBRARIES) in Path(found).parents:
        pytest.skip("mnemo_pg is not installed as editable in this environment")
    checkout = Path(found).parents[1]
    printed = _run(
        sys.executable, "-c",
        "from mnemo_pg import source; print(source.sql_path(), source.control_path())",
    )  # fmt: skip
    assert printed.split() == [
        str(checkout / "sql" / "dist" / sql_path().name),
        str(checkout / "sql" / "mnemo_pg.control"),
    ]


def test_a_package_without_its_sql_says_so(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "mnemo_pg", tmp_path / "mnemo_pg")
    printed = subprocess.run(
        [sys.executable, "-c", "from mnemo_pg import source; source.sql_text()"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    ).stderr  # fmt: skip
    assert "FileNotFoundError" in printed
    assert "reinstall mnemo_pg" in printed


def test_pgxs_installs_control_file_and_script(server: Server, tmp_path: Path) -> None:
    program = server.bindir / "pg_config"
    if shutil.which("make") is None or not program.exists():
        pytest.skip("make or pg_config is missing")
    if not Path(_run(program, "--pgxs").strip()).exists():
        pytest.skip(f"this PostgreSQL comes without PGXS: {program}")
    before = sorted(path for path in (ROOT / "sql").rglob("*") if "__pycache__" not in path.parts)
    _run("make", "-C", ROOT / "sql", "install", f"DESTDIR={tmp_path}", f"PG_CONFIG={program}")
    folder = Path(f"{tmp_path}{_run(program, '--sharedir').strip()}") / "extension"
    names = {path.name for path in (ROOT / "sql" / "dist").glob("*.sql")} | {"mnemo_pg.control"}
    assert {path.name for path in folder.iterdir()} == names
    assert (folder / sql_path().name).read_text("utf-8") == sql_text()
    assert (folder / "mnemo_pg.control").read_bytes() == control_path().read_bytes()
    # Everything that was installed is there, and nothing was left in the checkout.
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(folder.iterdir())
    after = sorted(path for path in (ROOT / "sql").rglob("*") if "__pycache__" not in path.parts)
    assert after == before
    _run("make", "-C", ROOT / "sql", "uninstall", f"DESTDIR={tmp_path}", f"PG_CONFIG={program}")
    assert list(folder.iterdir()) == []
