"""The commands: their answers, their exit codes, and one clear line for everything that fails."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from mnemo_pg import ArgumentError, Mnemo
from mnemo_pg.cli import output
from mnemo_pg.source import default_version
from tests.cli.conftest import Done, environment

Run = Callable[..., Done]
PLAN = ("remember-plan", "How do I reset my password?", "--step", "open settings", "--score", "0.9")


def complaint(done: Done, code: int = 1) -> str:
    """The one line on standard error of a command that failed, without a traceback."""
    assert done.code == code, (done.out, done.err)
    assert done.out == ""
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("mnemo-pg: ")
    return lines[0]


# What the commands answer


def test_remember_and_recall(cli: Run, dsn: str) -> None:
    stored = cli(*PLAN, "--step", "click reset", "--chunk", "kb-1", "--dsn", dsn)
    assert stored.code == 0
    assert "signature: how password reset" in stored.out
    found = cli("recall-plan", "password reset - how?", "--dsn", dsn)
    assert found.code == 0
    for part in ("similarity 1.00 (exact)", "1. open settings", "2. click reset", "kb-1"):
        assert part in found.out
    missed = cli("recall-plan", "capital of France", "--dsn", dsn)
    assert missed.code == 1
    assert missed.out.startswith("miss (none_similar)")


def test_every_option_of_remember_plan_arrives(cli: Run, dsn: str) -> None:
    options = ("--agent", "bot", "--org", "acme", "--scope", "public", "--context", "tools-v2",
               "--ttl", "7d", "--tag", "a", "--tag", "b", "--details", '[{"x": 1}]')  # fmt: skip
    answer = cli("--json", "--dsn", dsn, *PLAN, *options).json
    assert answer["status"] == "stored"
    with Mnemo(dsn, agent_id="bot", org_id="acme") as m:
        m.configure("experience_memory", "on")
        plan = m.get_plan(answer["id"])
    assert (plan.scope, plan.context, plan.details) == ("public", "tools-v2", [{"x": 1}])
    assert set(plan.tags) == {"a", "b"}
    assert plan.expires_at is not None
    assert (plan.expires_at - plan.created_at).days == 7
    who = ("--agent", "other", "--org", "acme", "--dsn", dsn)
    assert cli("recall-plan", "reset my password, how do I", *who).code == 1
    assert cli("recall-plan", "how reset password", "--context", "tools-v2", *who).code == 0


def test_json_is_one_document_and_nothing_else(cli: Run, dsn: str) -> None:
    assert cli(*PLAN, "--dsn", dsn, "--json").json["stored"] is True
    hit = cli("recall-plan", "how reset password", "--dsn", dsn, "--json")
    assert hit.err == ""
    assert (hit.json["hit"], hit.json["steps"]) == (True, ["open settings"])
    missed = cli("recall-plan", "capital of France", "--dsn", dsn, "--json")
    assert (missed.code, missed.json["reason"]) == (1, "none_similar")
    several = cli("recall-plan", "how reset password", "--limit", "3", "--dsn", dsn, "--json")
    assert [plan["rank"] for plan in several.json] == [1]
    none = cli("recall-plan", "capital of France", "--limit", "3", "--dsn", dsn, "--json")
    assert (none.code, none.json) == (1, [])


@pytest.fixture
def modes(cli: Run, dsn: str) -> str:
    """A database with plans for dark mode: on, on in other words, and one about something else."""
    for query in ("Turn on dark mode", "Turn on the dark mode now", "Feed the office cat"):
        done = cli("remember-plan", query, "--step", "x", "--score", "0.9", "--dsn", dsn)
        assert done.code == 0
    return dsn


def test_a_guarded_miss_says_in_one_line_what_was_refused_and_why(cli: Run, modes: str) -> None:
    missed = cli("recall-plan", "Turn off dark mode", "--dsn", modes)
    assert missed.code == 1
    (line,) = missed.out.splitlines()
    assert re.fullmatch(
        r'miss \(guarded\): "Turn on dark mode" \(similarity 0\.75\) is refused:'
        r" asked has off, stored has on; plan [0-9a-f-]{36}",
        line,
    )


@pytest.mark.parametrize(("guard", "code"), [("strict", 1), ("meaning", 1), ("off", 0)])
def test_the_guard_can_be_chosen(cli: Run, modes: str, guard: str, code: int) -> None:
    for more in ((), ("--limit", "3"), ("--explain",)):
        done = cli("recall-plan", "Turn off dark mode", "--guard", guard, *more, "--dsn", modes)
        assert done.code == code, (more, done.out)


def test_explain_shows_a_table(cli: Run, modes: str) -> None:
    hit = cli("recall-plan", "turn on dark mode", "--explain", "--dsn", modes)
    assert hit.code == 0
    needs, head, *found = hit.out.splitlines()
    assert needs == "a replay needs a similarity of 0.7"
    assert head.split() == ["similarity", "verdict", "stored", "only", "asked", "only", "stored",
                            "guard"]  # fmt: skip
    assert [line.split()[:3] for line in found] == [
        ["1", "1.00", "replayed"],
        ["2", "0.60", "below_threshold"],
    ]
    assert found[1].split()[-2:] == ["now", "the"]
    refused = cli("recall-plan", "turn off dark mode", "--explain", "--dsn", modes)
    assert refused.code == 1
    assert re.search(
        r"1 +0\.75 +guarded +Turn on dark mode +off +asked has off, stored has on", refused.out
    )


def test_explain_prints_the_rows_as_json(cli: Run, modes: str) -> None:
    done = cli("recall-plan", "Turn off dark mode", "--explain", "--dsn", modes, "--json")
    assert (done.code, done.err) == (1, "")
    assert [(row["rank"], row["query"], row["verdict"]) for row in done.json] == [
        (1, "Turn on dark mode", "guarded"),
        (2, "Turn on the dark mode now", "below_threshold"),
    ]
    first = done.json[0]
    assert (first["similarity"], first["threshold"]) == (0.75, 0.7)
    assert first["shared_tokens"] == ["dark", "mode", "turn"]
    assert (first["only_asked"], first["only_stored"]) == (["off"], [])
    assert first["guard_differences"] == ["asked has off, stored has on"]


@pytest.mark.parametrize(
    ("query", "more", "reason"),
    [
        ("capital of France", (), "none_similar"),
        (" ", (), "blank_query"),
        ("x", ("--org", "quiet"), "disabled"),
    ],
)
def test_explain_without_anything_to_compare(
    cli: Run, modes: str, query: str, more: tuple[str, ...], reason: str
) -> None:
    with Mnemo(modes) as m:
        m.configure("experience_memory", "off", org_id="quiet")
    shown = cli("recall-plan", query, "--explain", *more, "--dsn", modes)
    assert shown.code == 1
    assert shown.out.startswith(f"nothing to compare ({reason}): ")
    rows = cli("recall-plan", query, "--explain", *more, "--dsn", modes, "--json").json
    assert [(row["rank"], row["id"], row["verdict"]) for row in rows] == [(None, None, reason)]


def test_long_and_ugly_questions_are_shown_in_one_line(cli: Run, dsn: str) -> None:
    ugly = "pay\tinvoice 17\n\x1b[31m" + " ".join(f"word{n}" for n in range(500))
    cli("remember-plan", ugly, "--step", "x", "--score", "0.9", "--dsn", dsn)
    missed = cli("recall-plan", ugly.replace("17", "71"), "--dsn", dsn)
    (line,) = missed.out.splitlines()
    assert "\\u001b[31m" in line
    assert len(line) < 800
    shown = cli("recall-plan", ugly.replace("17", "71"), "--explain", "--dsn", dsn)
    assert "guarded" in shown.out
    assert "\x1b" not in shown.out
    assert len(shown.out.splitlines()) < 40


def test_a_plan_below_the_threshold_is_not_kept_and_that_is_said(cli: Run, dsn: str) -> None:
    done = cli("remember-plan", "a question", "--step", "x", "--score", "0.3", "--dsn", dsn)
    assert done.code == 0
    assert "not kept" in done.out


def test_init_installs_once_and_says_so(cli: Run, empty_dsn: str) -> None:
    first = cli("init", "--dsn", empty_dsn)
    assert first.code == 0
    assert "installed in" in first.out
    assert "experience memory is off: mnemo-pg init --experience-memory on" in first.out
    second = cli("init", "--dsn", empty_dsn, "--experience-memory", "on", "--json")
    assert second.json == {
        "version": default_version(), "installed_now": False, "experience_memory": "on",
    }  # fmt: skip
    third = cli("init", "--dsn", empty_dsn)
    assert "installed already" in third.out
    assert "experience memory is on" in third.out
    assert cli("init", "--dsn", empty_dsn, "--experience-memory", "off", "--json").json[
        "experience_memory"
    ] == "off"  # fmt: skip


def test_status_counts_plans_and_memories_apart(cli: Run, dsn: str) -> None:
    cli(*PLAN, "--dsn", dsn)
    with Mnemo(dsn) as m:
        m.remember("one")
        m.forget([m.remember("two").id])
        m.remember("three", org_id="other")
    status = cli("status", "--dsn", dsn, "--json").json
    assert (status["plans"], status["memories"]) == (1, 2)
    assert status["installed"] == status["package"] == default_version()
    assert status["settings"]["experience_memory"] == "on"
    with pytest.raises(ArgumentError) as caught, Mnemo(dsn) as m:
        m.configure("no_such_setting", "1")
    assert list(status["settings"]) == re.split(", | or ", caught.value.hint or "")
    shown = cli("status", "--dsn", dsn)
    assert shown.code == 0
    assert "PostgreSQL" in shown.out


def test_status_of_a_role_that_may_not_count(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    role = f"app_{db.info.dbname}"
    db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    try:
        db.execute("SELECT mnemo.grant_access(%s, 'application')", (role,))
        status = cli("status", "--dsn", f"{dsn} user={role}", "--json").json
        assert status["role"] == role
        assert status["plans"] is None
        assert status["settings"]["guard"]
    finally:
        db.execute("SELECT mnemo.revoke_access(%s)", (role,))
        db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_version_needs_no_database(cli: Run) -> None:
    assert cli("version", "--json").json["sql"] == default_version()
    assert default_version() in cli("version").out
    assert cli("--version").out == cli("version").out


@pytest.mark.parametrize("place", ["before", "after", "environment"])
def test_where_the_dsn_may_stand(cli: Run, dsn: str, place: str) -> None:
    arguments = {
        "before": ("--dsn", dsn, "--json", "status"),
        "after": ("status", "--json", "--dsn", dsn),
        "environment": ("status", "--json"),
    }[place]
    env = {"MNEMO_PG_DSN": dsn} if place == "environment" else {}
    assert cli(*arguments, **env).json["database"] in dsn


def test_the_command_line_wins_over_the_environment(cli: Run, dsn: str) -> None:
    assert cli("--dsn", dsn, "status", MNEMO_PG_DSN="host=/nonexistent").code == 0
    assert cli("status", "--dsn", dsn, MNEMO_PG_DSN="host=/nonexistent").code == 0


def test_as_a_process(shell: Run, dsn: str) -> None:
    done = shell("recall-plan", "anything at all", "--json", "--dsn", dsn)
    assert (done.code, done.json["hit"], done.err) == (1, False, "")


def test_stored_text_cannot_drive_the_terminal(cli: Run, dsn: str) -> None:
    evil = "clear \x1b[2J the [red]screen[/red] \u202edne"
    cli("remember-plan", evil, "--step", "\x1b]0;owned\x07 [bold]x", "--score", "1", "--dsn", dsn)
    found = cli("recall-plan", evil, "--dsn", dsn)
    assert found.code == 0
    assert not re.search("[\x1b\x07\u202e]", found.out)
    assert r"\u001b[2J" in found.out
    assert "[red]screen[/red]" in found.out
    assert "[bold]x" in found.out


def test_no_colours_outside_a_terminal(shell: Run, dsn: str) -> None:
    shell(*PLAN, "--dsn", dsn)
    for command in (("--help",), ("recall-plan", "how reset password", "--dsn", dsn), ("no",)):
        done = shell(*command, GITHUB_ACTIONS="true", TERM="xterm-256color")
        assert "\x1b" not in done.out + done.err


def test_text_that_the_terminal_cannot_show(shell: Run, dsn: str) -> None:
    shell("remember-plan", "外币汇率换算", "--step", "汇率", "--score", "1", "--dsn", dsn)
    plain = {"PYTHONIOENCODING": "ascii"}
    assert "\\u6c47" in shell("recall-plan", "外币汇率换算", "--dsn", dsn, **plain).out
    found = shell("recall-plan", "外币汇率换算", "--dsn", dsn, "--json", **plain)
    assert found.json["steps"] == ["汇率"]


# The embedded server


def test_the_embedded_server_serves_where_no_dsn_is_given(shell: Run, home: Path) -> None:
    assert "is not running: mnemo-pg init" in complaint(shell("status", home=home))
    first = shell("init", home=home)
    assert first.code == 0
    assert str(home) in first.out
    assert "experience memory is on" in first.out
    assert shell(*PLAN, home=home).code == 0
    assert shell("recall-plan", "how reset password", home=home).code == 0
    status = shell("status", "--json", home=home).json
    assert (status["plans"], status["home"]) == (1, str(home))
    with Mnemo(status["dsn"]) as m:
        assert m.version() == status["installed"]
    asked = shell("psql", "--", "-Atc", "SELECT count(*) FROM mnemo.plan", home=home)
    assert asked.out == "1\n"
    assert shell("stop", home=home).out.strip().endswith("stopped")
    again = shell("stop", "--json", home=home)
    assert (again.code, again.json["stopped"]) == (0, False)
    # Any command starts it again.
    assert shell("recall-plan", "how reset password", home=home).code == 0


def test_psql_passes_its_exit_code_and_hides_the_password(shell: Run, dsn: str) -> None:
    done = shell("psql", "--dsn", f"{dsn} password=secret", "--", "-Atc", "SELECT 1/0")
    assert done.code == 1
    assert "division by zero" in done.err
    own_command_line = r"\! tr '\\0' ' ' < /proc/$PPID/cmdline"
    listed = shell("psql", "--dsn", f"{dsn} password=hunter2", "--", "-c", own_command_line)
    assert "dbname" in listed.out
    assert "hunter2" not in listed.out


# What fails


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("host=/nonexistent dbname=app", "cannot connect to app on /nonexistent"),
        ("postgresql://u:hunter2@localhost:1/app", "cannot connect to app on localhost:1"),
        ("postgresql://u:hunter2@no-such-host.invalid/app", "cannot connect to app on no-such"),
        ("postgresql+psycopg://u:hunter2@h/app", "the DSN cannot be read"),
        ("nonsense", "the DSN cannot be read"),
    ],
)
def test_a_wrong_dsn(cli: Run, dsn: str, said: str) -> None:
    for command in (("status",), ("init",), ("recall-plan", "x"), ("demo",), ("psql",)):
        done = cli(*command, "--dsn", dsn)
        line = complaint(done, done.code)
        assert done.code in (1, 2)
        assert said in line
        assert "--dsn" in line or "postgresql://" in line
        assert "hunter2" not in line


def test_a_missing_database(cli: Run, dsn: str) -> None:
    assert "does not exist" in complaint(cli("status", "--dsn", f"{dsn} dbname=nothing_here"))


def test_a_missing_install(cli: Run, empty_dsn: str) -> None:
    for command in (("recall-plan", "x"), PLAN, ("import", "-"), ("demo",)):
        line = complaint(cli(*command, "--dsn", empty_dsn))
        assert "mnemo_pg is not installed" in line
        assert "mnemo-pg init" in line
    status = cli("status", "--dsn", empty_dsn)
    assert status.code == 1
    assert "not installed" in status.out


@pytest.mark.parametrize(
    ("version", "said"), [("0.0.1", "update the database"), ("9.0", "pip install --upgrade")]
)
def test_a_schema_of_another_version(
    cli: Run, dsn: str, db: psycopg.Connection, version: str, said: str
) -> None:
    db.execute(f"CREATE OR REPLACE FUNCTION mnemo.version() RETURNS text LANGUAGE sql IMMUTABLE "
               f"RETURN '{version}'")  # fmt: skip  # type: ignore[arg-type]
    for command in (("recall-plan", "x"), ("init",), ("demo",)):
        line = complaint(cli(*command, "--dsn", dsn))
        assert said in line
        assert version in line
    assert f'"installed": "{version}"' in cli("status", "--dsn", dsn, "--json").out


def test_a_role_without_access(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    role = f"nobody_{db.info.dbname}"
    db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    try:
        line = complaint(cli("recall-plan", "x", "--dsn", f"{dsn} user={role}"))
        assert "permission denied" in line
        assert "grant_access" in line
    finally:
        db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_what_only_an_administrator_may(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    role = f"plain_{db.info.dbname}"
    db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    try:
        db.execute("SELECT mnemo.grant_access(%s, 'application')", (role,))
        done = cli("init", "--experience-memory", "off", "--dsn", f"{dsn} user={role}")
        assert "grant_access" in complaint(done)
    finally:
        db.execute("SELECT mnemo.revoke_access(%s)", (role,))
        db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_a_schema_of_somebody_else(cli: Run, empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA mnemo; CREATE TABLE mnemo.mine ()")
    assert "schema mnemo" in complaint(cli("init", "--dsn", empty_dsn))


def test_mode_off(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    db.execute("SELECT mnemo.configure('experience_memory', 'off')")
    assert "configure('experience_memory', 'on')" in complaint(cli(*PLAN, "--dsn", dsn))
    missed = cli("recall-plan", "x", "--dsn", dsn)
    assert missed.code == 1
    assert "mnemo-pg init --experience-memory on" in missed.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("remember-plan", "  ", "--step", "x", "--score", "1"),
        ("remember-plan", "x", "--step", "y", "--score", "1", "--agent", "no spaces"),
        ("recall-plan", "x", "--threshold", "1.5"),
        ("recall-plan", "x", "--threshold", "nan"),
        ("recall-plan", "x", "--org", "*"),
        ("recall-plan", "x", "--limit", "99999999999999999999"),
    ],
)
def test_bad_values_are_wrong_usage(cli: Run, dsn: str, arguments: tuple[str, ...]) -> None:
    complaint(cli(*arguments, "--dsn", dsn), code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-command",),
        ("recall-plan",),
        ("remember-plan", "x", "--score", "1"),
        ("remember-plan", "x", "--step", "y", "--score", "high"),
        (*PLAN, "--scope", "secret"),
        (*PLAN, "--ttl", "soon"),
        (*PLAN, "--ttl", "3 months"),
        (*PLAN, "--details", "{"),
        (*PLAN, "--details", "{}"),
        ("recall-plan", "x", "--limit", "0"),
        ("recall-plan", "x", "--limit", "2", "--explain"),
        ("recall-plan", "x", "--guard", "loose"),
        ("init", "--experience-memory", "maybe"),
    ],
)
def test_wrong_usage_needs_no_database(cli: Run, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err


def test_stop_leaves_other_servers_alone(cli: Run, dsn: str) -> None:
    assert "embedded server only" in complaint(cli("stop", "--dsn", dsn))


def test_without_the_extra(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    done = subprocess.run([sys.executable, "-m", "mnemo_pg.cli", "version"],
                          env=env, capture_output=True, text=True, check=False)  # fmt: skip
    line = complaint(Done(done.returncode, done.stdout, done.stderr))
    assert "pip install 'mnemo_pg[cli]'" in line


class Relay:
    """Stands between a command and the server, and breaks the connection when told to."""

    def __init__(self, dsn: str) -> None:
        parts = psycopg.conninfo.conninfo_to_dict(dsn)
        self._target = f"{parts['host']}/.s.PGSQL.{parts.get('port') or 5432}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.dsn = f"host=127.0.0.1 port={port} user=postgres dbname={parts['dbname']}"
        self.bytes_up = 0
        self.cut_after: int | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        client = self._listener.accept()[0]
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._target)
        for source, target, up in ((client, server, True), (server, client, False)):
            threading.Thread(target=self._pump, args=(source, target, up), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, up: bool) -> None:
        while data := self._read(source):
            if up:
                self.bytes_up += len(data)
                if self.cut_after is not None and self.bytes_up > self.cut_after:
                    break
            try:
                target.sendall(data)
            except OSError:
                break
        for end in (source, target):
            end.close()

    @staticmethod
    def _read(source: socket.socket) -> bytes:
        try:
            return source.recv(65536)
        except OSError:
            return b""


def test_a_connection_that_is_lost_in_the_middle(cli: Run, dsn: str) -> None:
    relay = Relay(dsn)
    relay.cut_after = 600
    line = complaint(cli(*PLAN, "--dsn", relay.dsn))
    assert "the connection was lost" in line
    assert "run the command again" in line


def test_an_import_that_is_cut_off_says_how_far_it_came(cli: Run, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "plans.jsonl"
    plan = {"steps": ["x" * 300], "chunk_ids": [], "outcome_score": 1}
    file.write_text("".join(json.dumps({"query": f"q {n}", **plan}) + "\n" for n in range(2000)))
    relay = Relay(dsn)
    relay.cut_after = 500_000
    done = cli("import", str(file), "--once", "--dsn", relay.dsn)
    found = re.search(r"connection was lost: lines up to (\d+) are done", complaint(done))
    assert found is not None
    reached = int(found[1])
    assert 0 < reached < 2000
    again = cli("import", str(file), "--once", "--dsn", dsn, "--json").json
    assert again["plans"] == {"repeated": reached, "stored": 2000 - reached}


def test_ctrl_c_ends_quietly(dsn: str, nowhere: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "mnemo_pg.cli", "import", str(pipe), "--dsn", dsn],
        env=environment(nowhere), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # What a shell starts in the background is told to ignore it, and passes that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    with open(pipe, "w"):  # It has opened its end too, so it is in the middle of its work.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")


def test_a_reader_that_goes_away_is_no_failure_to_talk_about(dsn: str, nowhere: Path) -> None:
    command = [sys.executable, "-m", "mnemo_pg.cli", "demo", "--dsn", dsn]
    process = subprocess.Popen(command, env=environment(nowhere), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1


def test_what_cannot_be_written_is_said_in_a_line(dsn: str, nowhere: Path) -> None:
    """A full disk, an output that is closed, a reader of an export that goes away."""

    def run(command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-c", command.replace("mnemo-pg", f"{sys.executable} -m mnemo_pg.cli")],
            env=environment(nowhere, MNEMO_PG_DSN=dsn, PYTHONUNBUFFERED=""), capture_output=True,
            text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stderr

    full = (1, "mnemo-pg: cannot write: No space left on device\n")
    assert run("mnemo-pg version > /dev/full") == full
    assert run("mnemo-pg export - > /dev/full") == full
    assert run("mnemo-pg version >&-") == (0, "")
    with Mnemo(dsn) as m:
        m.remember_many([{"content": f"{number} {'x' * 1000}"} for number in range(300)])
    assert run("mnemo-pg export - | head -n 1 > /dev/null") == (0, "")


def test_json_of_what_the_wrapper_returns() -> None:
    odd: Any = {"bytes": b"\x01", "tuple": ("a",)}
    assert json.loads(output.as_json(odd)) == {"bytes": "01", "tuple": ["a"]}
    with pytest.raises(TypeError):
        output.as_json(object())
