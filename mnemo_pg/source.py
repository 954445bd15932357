"""Find the built SQL of mnemo_pg, in an installed wheel or in a checkout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_SCRIPT = re.compile(r"mnemo_pg--(?:([\w.]+)--)?([\w.]+)\.sql")

PACKAGE_FOLDER = Path(__file__).resolve().parent
CHECKOUT_FOLDER = PACKAGE_FOLDER.parent


def sql_folder() -> Path:
    """The folder of the built scripts: inside the wheel, else in the checkout (if editable)."""
    for folder in (PACKAGE_FOLDER / "_sql", CHECKOUT_FOLDER / "sql" / "dist"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"mnemo_pg's SQL is neither in the package nor in a checkout beside it ({PACKAGE_FOLDER});"
        " reinstall mnemo_pg"
    )


def control_path() -> Path:
    """The extension's control file."""
    inside = sql_folder() / "mnemo_pg.control"
    return inside if inside.is_file() else CHECKOUT_FOLDER / "sql" / "mnemo_pg.control"


def default_version() -> str:
    """The version that `default_version` of the control file names."""
    found = re.search(r"^default_version = '([^']+)'$", control_path().read_text("utf-8"), re.M)
    if found is None:
        raise ValueError(f"{control_path()} names no default_version")
    return found.group(1)


def sql_path(version: str | None = None) -> Path:
    """The install script of `version` (the default version when None)."""
    return sql_folder() / f"mnemo_pg--{version or default_version()}.sql"


def sql_text(version: str | None = None) -> str:
    """The text of the install script of `version` (the default version when None)."""
    return sql_path(version).read_text("utf-8")


def script_versions(name: str) -> tuple[str | None, str]:
    """The versions in a script's name: (None, version) to install, (from, to) to update."""
    found = _SCRIPT.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name} is no script of mnemo_pg: mnemo_pg--VERSION.sql or mnemo_pg--FROM--TO.sql"
        )
    return found[1], found[2]


def update_path(start: str, end: str, names: Iterable[str] | None = None) -> list[str]:
    """The update scripts, in order and as few as possible, that lead from one version to another.

    `names` are the scripts to choose from (those of this package when None). Raises ValueError
    when no way leads there.
    """
    if names is None:
        names = [path.name for path in sql_folder().glob("mnemo_pg--*--*.sql")]
    steps = sorted((name, *script_versions(name)) for name in names)
    ways: dict[str, list[str]] = {start: []}
    pending = [start]
    for version in pending:
        for name, source, target in steps:
            if source == version and target not in ways:
                ways[target] = [*ways[version], name]
                pending.append(target)
    if end not in ways:
        raise ValueError(f"no update script leads from mnemo_pg {start} to {end}")
    return ways[end]


def update_text(start: str, end: str) -> str:
    """The text of the script that updates `start` to `end` in one step."""
    return (sql_folder() / f"mnemo_pg--{start}--{end}.sql").read_text("utf-8")
