"""Build what is generated: install and update scripts from the parts, and the synchronous client.

`python -m mnemo_pg._build` writes, `python -m mnemo_pg._build --check` compares and exits with 1
when a file is out of date. `--release` names the scripts of this version in sql/released.txt: from
then on they never change. The same input gives the same bytes: no dates, hosts or versions of tools
enter the output.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

from mnemo_pg.source import CHECKOUT_FOLDER, default_version

SQL_FOLDER = CHECKOUT_FOLDER / "sql"
PART_LINES = 300

# What psql and PostgreSQL read as one piece, so that nothing inside it can be a psql command.
_QUOTED = re.compile(
    r"""--[^\n]* | /\*.*?\*/
      | (?P<escapes> (?<!\w) (?: E(?:'(?:[^'\\]|\\.|'')*'\s*)+ | U&'[^']*' | U&"[^"]*" ) )
      | '[^']*' | "[^"]*" | (?P<tag> (?<!\w) \$\w*\$ ) .*? (?P=tag)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:u|U|\+)?([0-9A-Fa-f]{4,8})|\\.", re.DOTALL)


class BuildError(Exception):
    """A part or the manifest breaks a rule of the build."""


def manifest(folder: Path) -> list[str]:
    """The part names in order; every part listed once, every listed part there."""
    listed = [
        line.strip()
        for line in (folder / "manifest.txt").read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    present = {path.name for path in (folder / "parts").iterdir()}
    if len(set(listed)) != len(listed):
        raise BuildError("manifest.txt lists a part twice")
    if missing := sorted(set(listed) - present):
        raise BuildError(f"manifest.txt lists parts that are not there: {', '.join(missing)}")
    if unlisted := sorted(present - set(listed)):
        raise BuildError(f"parts that manifest.txt does not list: {', '.join(unlisted)}")
    return listed


def part_text(path: Path) -> str:
    """The text of one part, after checking that every installer can run it."""
    raw = path.read_bytes()
    if not raw.isascii():
        raise BuildError(f"{path.name} is not ASCII: a client's encoding could change it")
    for forbidden, what in ((b"\r", "a carriage return"), (b"\t", "a tab")):
        if forbidden in raw:
            raise BuildError(f"{path.name} contains {what}")
    if found := re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", raw):
        raise BuildError(f"{path.name} contains the control character {found[0]!r}")
    if not raw.endswith(b"\n"):
        raise BuildError(f"{path.name} does not end with a line feed")
    text = raw.decode("ascii")
    if (lines := text.count("\n")) > PART_LINES:
        raise BuildError(f"{path.name} has {lines} lines, at most {PART_LINES} are allowed")
    check_literals(path.name, text)
    return text


def bare(text: str) -> str:
    """The text with blanks for comments and `_` for everything in quotes, at the same places."""
    return _QUOTED.sub(
        lambda quoted: re.sub(r"[^\n]", " " if quoted[0][0] in "-/" else "_", quoted[0]), text
    )


def check_literals(name: str, text: str) -> None:
    """Refuse what psql would not pass on, and what hides the script's own errors."""
    for quoted in _QUOTED.finditer(text):
        for escape in _ESCAPE.finditer(quoted["escapes"] or ""):
            # Where the whole script is read before its first statement runs, a database in
            # another encoding would fail on the character and never reach the prelude's refusal.
            if escape[1] and int(escape[1], 16) > 0x7F:
                line = text.count("\n", 0, quoted.start() + escape.start()) + 1
                raise BuildError(
                    f"{name}:{line} names a character beyond ASCII outside a function's body:"
                    " use chr(), or move it into a body in dollar quotes"
                )
    for found in re.finditer(r"\\|(?<!:):(?=[A-Za-z_'\"])|['\"]", bare(text)):
        line = text.count("\n", 0, found.start()) + 1
        what = {"\\": "a psql command", ":": "a psql variable"}.get(found[0], "an open quote")
        raise BuildError(f"{name}:{line} has {what}: only SQL may stand in a part")


def build_sql(folder: Path, version: str) -> str:
    """The install script of `version`: the parts in the order of the manifest."""
    pieces = [
        f"-- mnemo_pg {version}: built from sql/parts by python -m mnemo_pg._build; do not edit.\n"
        "-- Run by CREATE EXTENSION mnemo_pg, by Alembic, or by psql -1 -f (one transaction).\n"
    ]
    for name in manifest(folder):
        pieces.append(f"\n-- part: {name}\n")
        pieces.append(part_text(folder / "parts" / name).replace("@mnemo_version@", version))
    return "".join(pieces)


def outputs() -> dict[Path, str]:
    """Every generated file and the text that it must have."""
    updates = importlib.import_module("mnemo_pg._updates")
    scripts: dict[str, str] = updates.scripts(SQL_FOLDER, default_version())
    files = {SQL_FOLDER / "dist" / name: text for name, text in scripts.items()}
    files.update(importlib.import_module("mnemo_pg._sync").outputs())
    files.update(importlib.import_module("mnemo_pg._reference").outputs(CHECKOUT_FOLDER))
    return files


def main(arguments: list[str] | None = None) -> int:
    """Write or check the generated files; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mnemo_pg._build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    parser.add_argument("--release", action="store_true", help="keep this version's scripts as is")
    options = parser.parse_args(arguments)
    stale = []
    try:
        if options.release:
            updates = importlib.import_module("mnemo_pg._updates")
            for name in updates.release(SQL_FOLDER, default_version()):
                print(f"released: {name}")
        for path, text in outputs().items():
            if path.is_file() and path.read_bytes() == text.encode():
                continue
            stale.append(path)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode())
    except BuildError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    for path in stale:
        print(f"{'out of date' if options.check else 'wrote'}: {path.relative_to(CHECKOUT_FOLDER)}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
