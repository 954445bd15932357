"""Exceptions by SQLSTATE. What the database says stays the cause (`__cause__`) of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


class MnemoError(Exception):
    """An error that mnemo_pg raised on purpose; `str()` gives its message.

    `sqlstate` is the code of the table in `CODES`; `parameter` the argument at fault under its
    Python name, with the path to the element where there is one (`query`, `steps[3]`), None when
    none is; `detail` what the error carries besides, such as `ids`; `hint` the remedy, or None.
    """

    sqlstate: str | None = None

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str | None = None,
        parameter: str | None = None,
        detail: dict[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate or type(self).sqlstate
        self.parameter = parameter
        self.detail = detail or {}
        self.hint = hint


class AccessError(MnemoError):
    """The role has no level, is bound elsewhere, or the agent may see the record but not this."""

    sqlstate = "42501"


class StateError(MnemoError):
    """Switched off: experience memory, or embeddings for this model. The hint turns it on."""

    sqlstate = "55000"


class ArgumentError(MnemoError):
    """A bad argument: blank, NULL where required, out of range, an unknown label, not storable."""

    sqlstate = "22023"


class LimitError(MnemoError):
    """Over a limit on length or number; the message names the limit."""

    sqlstate = "54000"


class NotFoundError(MnemoError):
    """Unknown, of another organisation, or not visible to the agent: one answer for all three."""

    sqlstate = "MN001"


class VersionConflictError(MnemoError):
    """Somebody else changed the record after it was read."""

    sqlstate = "MN002"


class UnsupportedError(MnemoError):
    """The server or database does not fit: its version, its encoding, or pgvector is missing."""

    sqlstate = "0A000"


class NotInstalledError(MnemoError):
    """The database has no mnemo_pg, or one that is older than this wrapper."""

    sqlstate = "3F000"


_KINDS: tuple[type[MnemoError], ...] = (
    AccessError,
    StateError,
    ArgumentError,
    LimitError,
    NotFoundError,
    VersionConflictError,
    UnsupportedError,
)
CODES: dict[str, type[MnemoError]] = {str(kind.sqlstate): kind for kind in _KINDS}
"""Every SQLSTATE that the SQL API raises on purpose, and its exception."""

_MISSING = frozenset({"3F000", "42883", "42P01"})  # no such schema, function, relation


def from_database(error: psycopg.Error) -> MnemoError | None:
    """The exception for a database error; None when it is none of ours to explain."""
    message = error.diag.message_primary or str(error)
    # Messages are translated by the server, the names in them are not.
    if error.sqlstate in _MISSING and "mnemo" in message:
        return NotInstalledError(
            f"mnemo_pg is not installed in this database, or is too old: {message}",
            sqlstate=error.sqlstate,
            hint="run `mnemo-pg init`, or CREATE EXTENSION mnemo_pg; if it is there, update it",
        )
    kind = CODES.get(error.sqlstate or "")
    if kind is None:
        return None
    try:
        detail = json.loads(error.diag.message_detail or "")
    except ValueError:
        detail = None
    if not isinstance(detail, dict):
        detail = {}
    hint = error.diag.message_hint
    if hint is None and kind is AccessError:  # PostgreSQL's own refusal comes without one
        hint = "an administrator gives access by SELECT mnemo.grant_access('<role>', 'application')"
    parameter = detail.get("parameter")
    return kind(
        message,
        parameter=parameter.removeprefix("p_") if isinstance(parameter, str) else None,
        detail=detail,
        hint=hint,
    )


@contextmanager
def translate() -> Iterator[None]:
    """Turn the database's errors into ours; all that are not ours pass unchanged."""
    try:
        yield
    except psycopg.Error as error:
        ours = from_database(error)
        if ours is None:
            raise
        raise ours from error
