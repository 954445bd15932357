"""docs/operating.md: what it says about locks is what a server does."""

from __future__ import annotations

import re

import psycopg
import pytest

from tests.docs.test_docs import rows as cells
from tests.docs.test_docs import section
from tests.support import every

# Weakest first. Who only reads holds the first.
MODES = (
    "AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock",
    "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock",
)  # fmt: skip
LOCKS = """
    SELECT l.locktype, c.relname, l.mode
      FROM pg_locks AS l
      LEFT JOIN pg_class AS c ON c.oid = l.relation AND l.locktype = 'relation'
     WHERE l.pid = pg_backend_pid()
       AND (l.locktype = 'advisory'
            OR c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r')
"""


# They are run like a migration, as the page says.
MAKES_OBJECTS = {"enable_vectors", "disable_vectors", "refresh_models"}


def held(db: psycopg.Connection, call: every.Call) -> dict[str, str]:
    """The strongest mode that a call holds on each table until the transaction ends."""
    found: dict[str, str] = {}
    with db.transaction(force_rollback=True):
        call.run(db)
        for kind, table, mode in db.execute(LOCKS):
            name = table if kind == "relation" else "advisory"
            if name.startswith("vectors_"):
                continue  # of a model, there where the server has pgvector
            found[name] = max(found.get(name, mode), mode, key=MODES.index)
    return found


def told() -> dict[str, dict[str, str]]:
    """The table of the page, a function a key."""
    found = {}
    for functions, write, lock, advisory in cells(
        section("operating.md", "What each function locks")
    ):
        locks = dict.fromkeys(re.findall(r"`(\w+)`", write), "RowExclusiveLock")
        locks |= dict.fromkeys(re.findall(r"`(\w+)`", lock), "RowShareLock")
        if advisory != "":
            locks["advisory"] = "ExclusiveLock"
        for function in re.findall(r"`(\w+)`", functions):
            found[function] = locks
    return found


@pytest.fixture
def calls(db: psycopg.Connection) -> list[every.Call]:
    """A call of every public function that does something."""
    made = every.prepare(db)
    yield made
    every.drop_roles(db)


def test_locks(db: psycopg.Connection, calls: list[every.Call]) -> None:
    """Every function is called; those that hold more than the locks of readers stand in the table,
    with the tables that they write and those of which they lock rows."""
    seen = {}
    for call in calls:
        if call.function in MAKES_OBJECTS:
            continue
        locks = {name: mode for name, mode in held(db, call).items() if mode != "AccessShareLock"}
        if locks:
            seen[call.function] = locks
    assert {mode for locks in seen.values() for mode in locks.values()} <= {
        "RowExclusiveLock", "RowShareLock", "ExclusiveLock",
    }  # fmt: skip
    assert told() == seen, "\n".join(line(name, locks) for name, locks in sorted(seen.items()))


def line(function: str, locks: dict[str, str]) -> str:
    """A row of the table, to be taken into the page."""
    names = {
        mode: ", ".join(f"`{n}`" for n, m in sorted(locks.items()) if m == mode and n != "advisory")
        for mode in ("RowExclusiveLock", "RowShareLock")
    }
    return (
        f"| `{function}` | {names['RowExclusiveLock']} | {names['RowShareLock']} |"
        f" {'yes' if 'advisory' in locks else ''} |"
    )


def test_reading_functions_write_nothing(db: psycopg.Connection, calls: list[every.Call]) -> None:
    """Whatever is STABLE or IMMUTABLE takes the weakest lock only."""
    for call in calls:
        if not call.volatile:
            assert set(held(db, call).values()) <= {"AccessShareLock"}, call.function
