"""The commands put together, and what happens to an error that one of them raises."""

from __future__ import annotations

import inspect
import os
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from typing import Annotated, Any

# typer forces colours in some CI systems, also into files and pipes.
if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
    os.environ.setdefault("_TYPER_FORCE_DISABLE_TERMINAL", "1")

import typer
from typer.core import TyperGroup

from mnemo_pg.cli import (
    admin,
    chain,
    demo,
    forgetting,
    load,
    memories,
    output,
    plan_life,
    plans,
    retrieving,
    sharing,
    transfer,
    tune,
    upkeep,
    vectors,
    writing,
)
from mnemo_pg.cli.session import Dsn, Json, Options, explain, options
from mnemo_pg.source import default_version


class _Group(TyperGroup):
    """Turns known errors into a line and an exit code; all else keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise  # typer ends quietly
        except Exception as error:
            explained = explain(error)
            if explained is None:
                raise
            output.fail(explained[0])
            if isinstance(error, OSError):
                # What could not be written would be tried again when the process ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(explained[1]) from error


app = typer.Typer(
    name="mnemo-pg",
    cls=_Group,
    help="Remember the plans that worked, and recall them, in PostgreSQL.",
    epilog="Exit codes: 0 done or found, 1 not found or failed, 2 wrong usage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        _show_version(Options())
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    dsn: Dsn = None,
    as_json: Json = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="As the command version."
        ),
    ] = False,
) -> None:
    """Options that may stand before the command or after it."""
    context.obj = Options(dsn=dsn, json=as_json)


@app.command()
def version(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Show the version of this package and of the SQL that it installs."""
    _show_version(options(context, dsn, as_json))


def _show_version(chosen: Options) -> None:
    try:
        package = package_version("mnemo_pg")
    except PackageNotFoundError:
        package = "run from a folder, not installed"
    known = {"package": package, "sql": default_version()}
    if chosen.json:
        output.print_json(known)
    else:
        output.say(f"mnemo_pg {known['package']}; installs SQL {known['sql']}")


for module in (
    admin, upkeep, plans, memories, retrieving, writing, sharing, load, transfer, forgetting, chain,
    vectors, plan_life, tune, demo,
):  # fmt: skip
    module.register(app)


def _fill_help(commands: typer.Typer) -> None:
    """Give every command its docstring as help, a line a paragraph: the terminal says how wide."""
    for command in commands.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _fill_help(group.typer_instance)


_fill_help(app)


def run() -> None:
    """Run with the arguments of the process and end it with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets an escape instead of a failure.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    app(prog_name="mnemo-pg")
