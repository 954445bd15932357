"""What the commands print: tables for people, JSON for machines, one clear line for failures."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Control characters, and those that reverse or hide text: a stored plan must not drive a terminal.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


def clean(value: object) -> str:
    """The text with everything made visible that a terminal would obey."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value))


def short(text: str, most: int = 200) -> str:
    """One line for a text of any length: a question may have 100,000 characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def stdout() -> Console:
    """Where answers go. Made anew each time: tests and pipes exchange the stream."""
    # A file or a pipe has no width; 80 columns would fold most cells.
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(highlight=False, width=wide)


def stderr() -> Console:
    """Where progress and explanations go while standard output is for machines."""
    return Console(stderr=True, highlight=False)


def say(text: str, *, style: str = "") -> None:
    """A line of an answer, printed as it is."""
    stdout().print(Text(clean(text), style=style), soft_wrap=not sys.stdout.isatty())


def note(text: str) -> None:
    """What was noticed on the way, on standard error."""
    print(f"mnemo-pg: note: {clean(text)}", file=sys.stderr)


def fail(text: str) -> None:
    """A failure, with its remedy, on standard error."""
    print(f"mnemo-pg: {clean(text)}", file=sys.stderr)


def _encode(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"no JSON for {type(value).__name__}")


def fields(record: Any) -> dict[str, Any]:
    """A result of the wrapper as an object."""
    return dataclasses.asdict(record)


def as_json(value: Any) -> str:
    """One line of JSON; results of the wrapper become objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = fields(value)
    # Pipes of some systems cannot carry what the text holds; escapes they can.
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not unicode, default=_encode)


def print_json(value: Any) -> None:
    """The document of a command with --json."""
    print(as_json(value))


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table whose cells fold rather than lose text; ids stay whole where there is room."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    wide = stdout().width >= 100
    for column in columns:
        # An id is there to be copied; in a narrow terminal it would leave the others no room.
        whole = wide and column in ("id", "plan", "record")
        made.add_column(column, overflow="fold", no_wrap=whole, header_style="bold")
    return made


def row(into: Table, *cells: object, style: str | None = None) -> None:
    """Add a row; text from the database is never read as markup."""
    into.add_row(
        *(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in cells), style=style
    )


def facts(pairs: Iterable[tuple[str, object]]) -> Table:
    """Names and values below each other."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        made.add_row(name, Text(clean(value)))
    return made
