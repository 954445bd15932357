"""Find the built SQL of mnemo_pg, in an installed wheel or in a checkout."""

from __future__ import annotations

import re
from pathlib import Path

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
