"""Package a release for PGXN and for pg_tle, from the built scripts.

`python -m mnemo_pg._package FOLDER` writes into FOLDER, for version V:
`mnemo_pg-V.zip`, a distribution that PGXN takes and `make install` installs;
`mnemo_pg-V.pgtle.sql`, which registers the extension with pg_tle where no files can be put on the
server; and one `mnemo_pg-A--V.pgtle.sql` for each update to V. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from pathlib import Path

from mnemo_pg.source import CHECKOUT_FOLDER, control_path, default_version, script_versions

# The quotes that pg_tle and the registration put around a script.
_TAG = "$_pgtle_$"
_QUOTES = re.compile(r"\$_pgtle_\w*\$")
# The earliest time that a zip can hold.
_TIME = (1980, 1, 1, 0, 0, 0)


def comment() -> str:
    """What the control file says that the extension is."""
    found = re.search(r"^comment = '([^']+)'$", control_path().read_text("utf-8"), re.M)
    if found is None:
        raise ValueError(f"{control_path()} has no comment")
    return found[1]


def meta(version: str) -> str:
    """META.json of the distribution, PGXN Meta Spec 1.0.0."""
    content = {
        "name": "mnemo_pg",
        "abstract": comment(),
        "description": "The memory of AI agents in PostgreSQL: plans that worked are remembered"
        " and recalled by one ranked query. SQL and PL/pgSQL only.",
        "version": version,
        "release_status": "stable",
        "maintainer": ["mnemo_pg maintainers"],
        "license": "apache_2_0",
        "tags": ["agent", "memory", "plan cache", "similarity", "ai"],
        "provides": {
            "mnemo_pg": {
                "abstract": comment(),
                "file": f"sql/mnemo_pg--{version}.sql",
                "docfile": "README.md",
                "version": version,
            }
        },
        "prereqs": {"runtime": {"requires": {"PostgreSQL": "15.0.0", "plpgsql": 0}}},
        "meta-spec": {"version": "1.0.0"},
        "generated_by": "python -m mnemo_pg._package",
    }
    return json.dumps(content, indent=2) + "\n"


def distribution(checkout: Path, version: str) -> dict[str, bytes]:
    """The files of the distribution, by their path in it."""
    makefile = (checkout / "sql" / "Makefile").read_text("ascii")
    if "dist/*.sql" not in makefile:
        raise ValueError("sql/Makefile does not say DATA = $(wildcard dist/*.sql)")
    files = {
        "META.json": meta(version).encode(),
        "Makefile": makefile.replace("dist/*.sql", "sql/*.sql").encode(),
        "mnemo_pg.control": (checkout / "sql" / "mnemo_pg.control").read_bytes(),
    }
    for path in sorted((checkout / "sql" / "dist").glob("*.sql")):
        files[f"sql/{path.name}"] = path.read_bytes()
    for name in ("README.md", "CHANGELOG.md", "LICENSE"):
        files[name] = (checkout / name).read_bytes()
    for path in sorted((checkout / "docs").iterdir()):
        if path.is_file():
            files[f"docs/{path.name}"] = path.read_bytes()
    return files


def write_zip(target: Path, folder: str, files: dict[str, bytes]) -> None:
    """A zip with every file below one folder; times and order do not change its bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _TIME)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])


def _quoted(name: str, text: str) -> str:
    if found := _QUOTES.search(text):
        raise ValueError(f"{name} contains {found[0]}, with which pg_tle quotes a script")
    return f"{_TAG}{text}{_TAG}"


def pgtle_install(version: str, text: str) -> str:
    """The statement that registers the extension with pg_tle."""
    return (
        f"-- Registers mnemo_pg {version} with pg_tle; then: CREATE EXTENSION mnemo_pg;\n"
        f"SELECT pgtle.install_extension(\n    'mnemo_pg', '{version}', '{comment()}',\n"
        f"{_quoted(f'mnemo_pg--{version}.sql', text)}\n);\n"
    )


def pgtle_update(start: str, version: str, text: str) -> str:
    """The statements that register an update with pg_tle and make its version the default."""
    return (
        f"-- Registers the update of mnemo_pg {start} to {version} with pg_tle; then:"
        " ALTER EXTENSION mnemo_pg UPDATE;\n"
        f"SELECT pgtle.install_update_path(\n    'mnemo_pg', '{start}', '{version}',\n"
        f"{_quoted(f'mnemo_pg--{start}--{version}.sql', text)}\n);\n"
        f"SELECT pgtle.set_default_version('mnemo_pg', '{version}');\n"
    )


def write(target: Path, checkout: Path, version: str) -> list[Path]:
    """Write everything for `version` into the folder `target`; the files."""
    target.mkdir(parents=True, exist_ok=True)
    zipped = target / f"mnemo_pg-{version}.zip"
    write_zip(zipped, f"mnemo_pg-{version}", distribution(checkout, version))
    written = [zipped]
    for path in sorted((checkout / "sql" / "dist").glob("*.sql")):
        start, end = script_versions(path.name)
        if end != version:
            continue
        text = path.read_text("ascii")
        name, content = (
            (f"mnemo_pg-{version}.pgtle.sql", pgtle_install(version, text)) if start is None
            else (f"mnemo_pg-{start}--{version}.pgtle.sql", pgtle_update(start, version, text))
        )  # fmt: skip
        written.append(target / name)
        written[-1].write_bytes(content.encode())
    return written


def main(arguments: list[str] | None = None) -> int:
    """Write the files and name them."""
    parser = argparse.ArgumentParser(prog="python -m mnemo_pg._package", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    for path in write(parser.parse_args(arguments).folder, CHECKOUT_FOLDER, default_version()):
        print(f"wrote: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
