"""Exceptions by SQLSTATE. What the database says stays the cause (`__cause__`) of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import PoolClosed


class MnemoError(Exception):
    """An error that mnemo_pg raised on purpose; `str()` gives its message.

    `sqlstate` is the code of `CODES` or `SERVER_CODES`; `parameter` the argument at fault under its
    Python name, with the path to the element where there is one (`query`, `steps[3]`), None when
    none is; `detail` what the error carries besides, such as `ids`; `hint` the remedy, or None.
    `retryable` says whether the same call, or the same transaction as a whole, may succeed when it
    is made again and nothing else changes.
    """

    sqlstate: str | None = None
    retryable: bool = False

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
    """The server, database or driver does not fit: version, encoding, no pgvector, not psycopg."""

    sqlstate = "0A000"


class NotInstalledError(MnemoError):
    """The database has no mnemo_pg, or one that is older than this wrapper."""

    sqlstate = "3F000"


class UnavailableError(MnemoError):
    """The connection failed or was lost, or the server has no room: retryable.

    `sqlstate` is None where the driver alone noticed. Where the connection was lost on the way
    (`connection_lost`), a write may have been committed: only one with an idempotency key can be
    made again safely. A full disk and the like have kept nothing.
    """

    retryable = True

    @property
    def connection_lost(self) -> bool:
        """Whether there is no connection any more, or never was; False: the server has no room."""
        return self.sqlstate is None or self.sqlstate[:2] not in ("53", "58")


class TimedOutError(MnemoError):
    """Cancelled by a timeout or by somebody; nothing was kept.

    Retryable where a lock was waited for (55P03), and not where the statement took too long or was
    cancelled on purpose (57014): one code stands for both.
    """

    def __init__(self, message: str, **rest: Any) -> None:
        super().__init__(message, **rest)
        self.retryable = self.sqlstate == "55P03"


class ConflictError(MnemoError):
    """A concurrent transaction was in the way; nothing was kept: run the whole one again."""

    retryable = True


class ReadOnlyError(MnemoError):
    """A write on a standby server or in a read-only transaction."""

    sqlstate = "25006"


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

_LOST = (
    "call again on a new connection; a write that was on its way may have been committed, so give"
    " writes an idempotency key"
)
_FULL = "nothing was kept: free or add the resource that the message names, and call again"
_PREPARED = (
    "a pooler in transaction mode loses prepared statements: pass prepare=False to the client, or"
    " connect with prepare_threshold=None"
)
_SERVERS_OWN: dict[type[MnemoError], dict[str, tuple[str, ...]]] = {
    UnavailableError: {
        _LOST: (
            "08000", "08001", "08003", "08004", "08006", "08007", "08P01",
            "25P03", "25P04", "57P01", "57P02", "57P03", "57P04", "57P05",
        ),
        _FULL: ("53000", "53100", "53200", "53300", "53400", "58030"),
    },
    TimedOutError: {
        "nothing was kept: statement_timeout ended the call or somebody cancelled it": ("57014",),
        "nothing was kept: another transaction holds the lock, call again": ("55P03",),
    },
    ConflictError: {
        "nothing was kept: run the whole transaction again": ("40001", "40P01"),
    },
    ReadOnlyError: {
        "write on the primary server, in a transaction that is not read-only"
        " (see default_transaction_read_only); what only reads runs here": ("25006",),
    },
    UnsupportedError: {_PREPARED: ("26000", "42P05")},
}  # fmt: skip
_SERVER_HINTS = {
    code: hint for hints in _SERVERS_OWN.values() for hint, codes in hints.items() for code in codes
}
SERVER_CODES: dict[str, type[MnemoError]] = {
    code: kind for kind, hints in _SERVERS_OWN.items() for codes in hints.values() for code in codes
}
"""The SQLSTATEs of PostgreSQL itself that have an exception: what may happen to any call."""

_MISSING = frozenset({"3F000", "42883", "42P01"})  # no such schema, function, relation


def _driver_failed(error: psycopg.Error) -> bool:
    """Whether the connection failed without a word of the server."""
    # A closed pool is the caller's doing, and no new call helps.
    return (
        isinstance(error, psycopg.OperationalError)
        and error.sqlstate is None
        and not isinstance(error, PoolClosed)
    )


def from_database(error: psycopg.Error) -> MnemoError | None:
    """The exception for a database error; None when it is none of ours to explain."""
    message = error.diag.message_primary or str(error)
    if _driver_failed(error):
        return UnavailableError(message, hint=_LOST)
    # Messages are translated by the server, the names in them are not.
    if error.sqlstate in _MISSING and "mnemo" in message:
        return NotInstalledError(
            f"mnemo_pg is not installed in this database, or is too old: {message}",
            sqlstate=error.sqlstate,
            hint="run `mnemo-pg init`, or CREATE EXTENSION mnemo_pg; if it is there, update it",
        )
    code = error.sqlstate or ""
    kind = CODES.get(code) or SERVER_CODES.get(code)
    if kind is None:
        return None
    try:
        detail = json.loads(error.diag.message_detail or "")
    except ValueError:
        detail = None
    if not isinstance(detail, dict):
        detail = {}
    hint = error.diag.message_hint or _SERVER_HINTS.get(code)
    if hint is None and kind is AccessError:  # PostgreSQL's own refusal comes without one
        hint = "an administrator gives access by SELECT mnemo.grant_access('<role>', 'application')"
    parameter = detail.get("parameter")
    return kind(
        message,
        sqlstate=code,
        parameter=parameter.removeprefix("p_") if isinstance(parameter, str) else None,
        detail=detail,
        hint=hint,
    )


@contextmanager
def translate(foreign: Sequence[BaseException] = ()) -> Iterator[None]:
    """Turn the database's errors into ours; those that are not ours pass unchanged, and `foreign`,
    what the caller's own code raised within."""
    try:
        yield
    except Exception as error:
        said = getattr(error, "orig", error)  # SQLAlchemy wraps what the driver raises.
        if error in foreign or not isinstance(said, psycopg.Error):
            raise
        ours = from_database(said)
        if ours is None:
            raise
        raise ours from error
