"""Build update scripts, and keep what is released as it is.

An update script is: the transaction's part, the checks of `sql/updates/prelude.sql`, the changes
of tables and types written by hand in `sql/updates/mnemo_pg--A--B.sql`, every function, view and
comment of the parts with CREATE OR REPLACE, the privileges of `sql/updates/grants.sql`, and the
postlude. So no function can be forgotten, and an updated database equals a fresh one.

`sql/released.txt` names the released files with their digests; the build never changes those.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from mnemo_pg._build import BuildError, bare, build_sql, manifest, part_text
from mnemo_pg.source import script_versions, update_path

# Parts that an update runs as they are, and that others stand in for.
_FIRST, _LAST = "000_begin.sql", "990_postlude.sql"
_INSTALL_ONLY = ("900_grants.sql",)

_REPLACED = {("CREATE", "FUNCTION"), ("CREATE", "VIEW")}
# What the hand-written part of an update has to bring, and what only a first install does.
_LEFT_OUT = {
    ("CREATE", "TABLE"), ("CREATE", "INDEX"), ("CREATE", "UNIQUE"), ("CREATE", "TYPE"),
    ("CREATE", "DOMAIN"), ("CREATE", "SEQUENCE"), ("ALTER", "TABLE"), ("ALTER", "INDEX"), ("DO",),
}  # fmt: skip


def statements(name: str, text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The statements of a part with the first two words of each; a lone word for DO."""
    plain = bare(text)
    start, inside = 0, False
    for token in re.finditer(r"\bBEGIN ATOMIC\b|^END\b|;", plain, re.MULTILINE):
        if token[0] != ";":
            inside = token[0] != "END"
        elif not inside:
            words = tuple(plain[start : token.start()].split(maxsplit=2)[:2])
            yield words[:1] if words[0] == "DO" else words, text[start : token.end()].strip("\n")
            start = token.end()
    if plain[start:].strip() or inside:
        raise BuildError(f"{name} ends inside a statement")


def replacing(name: str, text: str) -> str:
    """Of one part, what an update runs again: functions and views replaced, comments."""
    kept = []
    for words, statement in statements(name, text):
        if words in _REPLACED:
            at = bare(statement).index("CREATE ")
            kept.append(f"{statement[:at]}CREATE OR REPLACE {statement[at + 7 :]}\n")
        elif words == ("COMMENT", "ON"):
            kept.append(f"{statement}\n")
        elif words not in _LEFT_OUT:
            raise BuildError(
                f"{name} has {' '.join(words)}: say in mnemo_pg/_updates.py whether an update"
                " replaces it or sql/updates brings it"
            )
    return "".join(kept)


def build_update(folder: Path, start: str, version: str) -> str:
    """The script that updates `start` to `version`."""
    pieces = [
        f"-- mnemo_pg {start} to {version}: built by python -m mnemo_pg._build; do not edit.\n"
        "-- Run by ALTER EXTENSION mnemo_pg UPDATE, by Alembic, or by psql -1 -f (one"
        " transaction).\n"
    ]

    def add(kind: str, path: Path, text: str) -> None:
        if text:
            pieces.append(f"\n-- {kind}: {path.name}\n{text}")

    def whole(kind: str, path: Path) -> None:
        add(kind, path, part_text(path))

    updates, parts = folder / "updates", folder / "parts"
    whole("part", parts / _FIRST)
    whole("update", updates / "prelude.sql")
    whole("update", updates / f"mnemo_pg--{start}--{version}.sql")
    for name in manifest(folder):
        if name not in (_FIRST, _LAST, *_INSTALL_ONLY):
            add("part", parts / name, replacing(name, part_text(parts / name)))
    whole("update", updates / "grants.sql")
    whole("part", parts / _LAST)
    text = "".join(pieces)
    return text.replace("@mnemo_version@", version).replace("@mnemo_from@", start)


def released(folder: Path) -> dict[str, str]:
    """The released files of sql/dist and their SHA-256."""
    found = {}
    for line in (folder / "released.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            digest, name = line.split()
            found[name] = digest
    return found


def scripts(folder: Path, version: str) -> dict[str, str]:
    """The scripts of `version` by name: its install script and every update that leads to it.

    Raises BuildError when one would differ from what is released, when a released file is missing
    or changed, when a file has no source, or when a released version has no way to this one.
    """
    built = {f"mnemo_pg--{version}.sql": build_sql(folder, version)}
    for path in sorted((folder / "updates").glob("mnemo_pg--*.sql")):
        start, end = script_versions(path.name)
        if end == version and start is not None:
            built[path.name] = build_update(folder, start, version)
    frozen = released(folder)
    for name, text in built.items():
        if name in frozen and digest(text.encode()) != frozen[name]:
            raise BuildError(
                f"{name} is released and stays as it is: raise default_version in"
                " sql/mnemo_pg.control and version in pyproject.toml, and bring the change in"
                f" sql/updates/mnemo_pg--{version}--NEW.sql"
            )
    _check_dist(folder, built, frozen)
    return built


def _check_dist(folder: Path, built: dict[str, str], frozen: dict[str, str]) -> None:
    present = {path.name: path for path in (folder / "dist").glob("*.sql")}
    for name, expected in frozen.items():
        if name not in built and (
            name not in present or digest(present[name].read_bytes()) != expected
        ):
            raise BuildError(f"sql/dist/{name} is released: bring it back as it was")
    if strays := sorted(present.keys() - built.keys() - frozen.keys()):
        raise BuildError(
            f"sql/dist has files that neither the parts nor sql/released.txt make: {strays}"
        )
    names = frozen.keys() | built.keys()
    (version,) = (end for start, end in map(script_versions, built) if start is None)
    for start, end in map(script_versions, frozen):
        if start is None:
            try:
                update_path(end, version, names)
            except ValueError as error:
                raise BuildError(f"{error}; write sql/updates/mnemo_pg--A--B.sql") from error


def release(folder: Path, version: str) -> list[str]:
    """Write the digests of the scripts of `version` into released.txt; the names that are new."""
    frozen = released(folder)
    new = {
        name: digest(text.encode())
        for name, text in scripts(folder, version).items()
        if name not in frozen
    }
    with (folder / "released.txt").open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{new[name]}  {name}\n" for name in sorted(new))
    return sorted(new)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal, as sha256sum prints it."""
    return hashlib.sha256(content).hexdigest()
