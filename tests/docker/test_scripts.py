"""The steps of the containers, run one after the other on servers of the test: make the secrets,
set up the primary, install, follow as a standby, pool. Passwords count: nobody is trusted here."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mnemo_pg import Mnemo
from tests.support.calls import scalar
from tests.support.installs import offer_extension
from tests.support.pgbouncer import program
from tests.support.server import ROOT, SETTINGS, SUPERUSER, Server

DEADLINE = 60
QUERY = "Where is the key of the archive?"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Containers:
    """A primary as the image's entrypoint leaves it, and what the scripts see of a container."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.folder = server.folder
        self.port = _free_port()
        self.lib = Path(shutil.copytree(ROOT / "docker", self.folder / "lib",
                                        ignore=shutil.ignore_patterns("secrets")))  # fmt: skip
        self.secrets = self.folder / "secrets"
        self.settings = (
            *(one for one in SETTINGS if not one.startswith(("listen_addresses", "port"))),
            "listen_addresses=127.0.0.1", f"port={self.port}",
        )  # fmt: skip
        server._give_away(self.lib)
        server.create_database("app")
        server.run("pg_ctl", "-D", server.data, "-m", "fast", "-w", "stop")
        # As the image: local is trusted for its own set-up, the network is not.
        (server.data / "pg_hba.conf").write_text(
            "local all all trust\nhost all all all scram-sha-256\n"
        )
        server.start(self.settings)

    def environment(self, **more: str) -> dict[str, str]:
        """Variables as compose.yml gives them."""
        files = {
            f"MNEMO_{name.upper()}_PASSWORD_FILE": str(self.secrets / f"{name}_password")
            for name in ("admin", "app", "replication")
        }
        return {
            "PATH": f"{self.server.bindir}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "MNEMO_LIB": str(self.lib), "MNEMO_PRIVATE": str(self.folder / "private"),
            "POSTGRES_DB": "app", "POSTGRES_USER": SUPERUSER, "PGPORT": str(self.port),
            "MNEMO_PRIMARY_HOST": "127.0.0.1", "MNEMO_PRIMARY_PORT": str(self.port),
            **files, **more,
        }  # fmt: skip

    def run(self, script: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, as the server's user."""
        return subprocess.run(
            [self.lib / script, *arguments], env=self.environment(**more), cwd=self.folder,
            capture_output=True, text=True, check=False, **self.server._identity,
        )  # type: ignore[call-overload]  # fmt: skip

    @contextmanager
    def running(self, script: str, *arguments: str, **more: str) -> Iterator[None]:
        """A script that becomes a server, for as long as the block runs."""
        with (self.folder / f"{script}.log").open("w") as log:
            process = subprocess.Popen(
                [self.lib / script, *arguments], env=self.environment(**more), cwd=self.folder,
                stdout=log, stderr=log, **self.server._identity,
            )  # type: ignore[call-overload]  # fmt: skip
        try:
            yield
        finally:
            # As the image's STOPSIGNAL: PostgreSQL ends sessions instead of waiting for them.
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE)

    def password(self, name: str) -> str:
        """A password of make-secrets.sh."""
        return (self.secrets / f"{name}_password").read_text("ascii")

    def dsn(self, user: str, password: str, port: int | None = None, dbname: str = "app") -> str:
        """By TCP, where a password is asked for."""
        return make_conninfo(host="127.0.0.1", port=str(port or self.port), user=user,
                             password=password, dbname=dbname)  # fmt: skip

    def app(self, port: int | None = None, dbname: str = "app") -> str:
        """The application's connection string."""
        return self.dsn("mnemo_app", self.password("app"), port, dbname)


@pytest.fixture(scope="module")
def containers() -> Iterator[Containers]:
    """Everything up to the install."""
    with Server() as server:
        offer_extension(server)
        found = Containers(server)
        made = found.run("make-secrets.sh", str(found.secrets))
        assert made.returncode == 0, made.stderr
        primary = found.run("primary.sh", PGHOST=str(server.folder), PGDATA=str(server.data))
        assert (primary.returncode, primary.stdout) == (0, ""), primary.stderr
        installed = found.run("install.sh", PGHOST="127.0.0.1")
        assert installed.returncode == 0, installed.stderr
        assert "mnemo_pg 0.1.0" in installed.stdout
        yield found


def _wait(dsn: str) -> psycopg.Connection:
    end = time.monotonic() + DEADLINE
    while True:
        try:
            return psycopg.connect(dsn, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise


def test_secrets_are_made_once_and_lie_in_a_closed_folder(containers: Containers) -> None:
    names = {"superuser", "admin", "app", "replication"}
    before = {name: containers.password(name) for name in names}
    assert len(set(before.values())) == len(names)
    assert all(len(password) == 48 for password in before.values())
    assert containers.run("make-secrets.sh", str(containers.secrets)).stdout == ""
    assert {name: containers.password(name) for name in names} == before
    assert stat.S_IMODE(containers.secrets.stat().st_mode) == 0o700
    assert {path.name for path in containers.secrets.iterdir()} == {
        f"{name}_password" for name in names
    }


def test_each_role_can_do_what_it_is_for_and_no_more(containers: Containers) -> None:
    with psycopg.connect(containers.app(), autocommit=True) as conn:
        m = Mnemo(conn, agent_id="support")
        assert m.remember_plan(QUERY, ["ask the porter"], [], 0.9).stored
        assert m.recall_plan(QUERY).hit
        for statement in (
            "SELECT count(*) FROM mnemo.memory",
            "SELECT mnemo.configure('guard', 'off')",
            "CREATE TABLE public.mine (x integer)",
            "CREATE SCHEMA mine",
            "SET ROLE mnemo_owner",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement)  # type: ignore[call-overload]
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(containers.dsn("mnemo_replication", containers.password("replication")))
    admin = containers.dsn("mnemo_admin", containers.password("admin"))
    with psycopg.connect(admin, autocommit=True) as conn:
        # Not by inheritance: only after SET ROLE.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("SELECT count(*) FROM mnemo.memory")
        conn.execute("SET ROLE mnemo_owner")
        assert scalar(conn, "SELECT count(*) FROM mnemo.memory") >= 1
        owners = conn.execute(
            "SELECT DISTINCT proowner::regrole::text FROM pg_proc"
            " WHERE pronamespace = 'mnemo'::regnamespace"
        ).fetchall()
        assert owners == [("mnemo_owner",)]
        assert conn.execute(
            "SELECT rolname, rolsuper, rolcanlogin FROM pg_roles WHERE rolname LIKE 'mnemo%'"
            " ORDER BY 1"
        ).fetchall() == [
            ("mnemo_admin", False, True), ("mnemo_app", False, True),
            ("mnemo_owner", False, False), ("mnemo_replication", False, True),
        ]  # fmt: skip


@pytest.mark.parametrize("user", ["mnemo_app", "mnemo_admin", "mnemo_replication", SUPERUSER])
def test_nobody_gets_in_without_the_password(containers: Containers, user: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(containers.dsn(user, "guessed"))
    with containers.server.connect(port=str(containers.port)) as conn:
        kinds = conn.execute(
            "SELECT DISTINCT left(rolpassword, 13) FROM pg_authid WHERE rolname LIKE 'mnemo%'"
            " AND rolpassword IS NOT NULL"
        ).fetchall()
    assert kinds == [("SCRAM-SHA-256",)]


def test_an_install_again_changes_nothing_that_was_set(containers: Containers) -> None:
    admin = containers.dsn("mnemo_admin", containers.password("admin"))
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute("SET ROLE mnemo_owner; SELECT mnemo.configure('guard', 'off');"
                     " SELECT mnemo.configure('experience_memory', 'off')")  # fmt: skip
        again = containers.run("install.sh", PGHOST="127.0.0.1")
        assert again.returncode == 0, again.stderr
        assert scalar(conn, "SELECT mnemo.setting('guard')") == "off"
        assert scalar(conn, "SELECT mnemo.setting('experience_memory')") == "off"
        conn.execute("SELECT mnemo.configure('guard', NULL);"
                     " SELECT mnemo.configure('experience_memory', 'on')")  # fmt: skip
    with psycopg.connect(containers.app()) as conn:
        assert scalar(conn, "SELECT mnemo.version()")


@pytest.mark.parametrize(("script", "variable"), [
    ("primary.sh", "MNEMO_APP_PASSWORD_FILE"), ("install.sh", "MNEMO_ADMIN_PASSWORD_FILE"),
    ("standby.sh", "MNEMO_REPLICATION_PASSWORD_FILE"), ("pgbouncer.sh", "MNEMO_APP_PASSWORD_FILE"),
])  # fmt: skip
@pytest.mark.parametrize("content", [None, "", "/nowhere"], ids=["unset", "empty", "missing"])
def test_without_a_secret_one_clear_line_and_nothing_done(
    containers: Containers, script: str, variable: str, content: str | None
) -> None:
    where = content or ""
    if content == "":
        empty = containers.folder / "empty"
        empty.write_text("")
        where = str(empty)
    # Where nothing answers: the script must not come that far.
    done = containers.run(script, **{variable: where, "PGHOST": "/nowhere", "PGDATA": "/nowhere"})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mnemo: {variable}")


def test_the_standby_and_the_pooler_serve_the_application(containers: Containers) -> None:
    standby_port, pool_port = _free_port(), _free_port()
    options = [f"-c{one}" for one in containers.settings if not one.startswith("port")]
    data = containers.folder / "standby" / "data"
    with ExitStack() as stack:
        stack.enter_context(containers.running(
            "standby.sh", *options, f"-cport={standby_port}", "-k", str(containers.folder),
            PGDATA=str(data), MNEMO_PRIVATE=str(containers.folder / "private_standby"),
        ))  # fmt: skip
        standby = stack.enter_context(_wait(containers.app(standby_port)))
        assert scalar(standby, "SELECT pg_is_in_recovery()")
        assert Mnemo(standby, agent_id="support").recall_plan(QUERY).hit
        # It streams: what is written now arrives.
        with psycopg.connect(containers.app(), autocommit=True) as conn:
            Mnemo(conn, agent_id="support").remember_plan("Who has the badge?", ["look"], [], 0.9)
        end = time.monotonic() + DEADLINE
        while not Mnemo(standby, agent_id="support").recall_plan("Who has the badge?").hit:
            assert time.monotonic() < end, "the standby does not follow"
        with containers.server.connect(port=str(containers.port)) as conn:
            assert conn.execute(
                "SELECT slot_name, active FROM pg_replication_slots"
            ).fetchall() == [("standby", True)]
        # The password is in a file for its user alone, and not among the data.
        conf = (data / "postgresql.auto.conf").read_text("utf-8")
        assert "passfile" in conf
        assert containers.password("replication") not in conf
        if program() is None:
            pytest.skip("PgBouncer is not installed; the standby was tested")
        stack.enter_context(containers.running(
            "pgbouncer.sh", MNEMO_LISTEN_PORT=str(pool_port), MNEMO_PGBOUNCER=str(program()),
            MNEMO_STANDBY_HOST="127.0.0.1", MNEMO_STANDBY_PORT=str(standby_port),
        ))  # fmt: skip
        for dbname, recovering in (("app", False), ("app_read", True)):
            conn = stack.enter_context(_wait(containers.app(pool_port, dbname)))
            conn.prepare_threshold = None
            assert scalar(conn, "SELECT pg_is_in_recovery()") is recovering
            assert Mnemo(conn, agent_id="support").recall_plan(QUERY).hit
        users = containers.folder / "private" / "users.txt"
        assert stat.S_IMODE(users.stat().st_mode) == 0o600
        assert stat.S_IMODE(users.parent.stat().st_mode) == 0o700
        for user in ("mnemo_app", "mnemo_admin", SUPERUSER):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(containers.dsn(user, "guessed", pool_port))
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(containers.dsn("mnemo_admin", containers.password("admin"), pool_port))
