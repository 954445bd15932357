"""Generate the synchronous client from the asynchronous one, by replacing words.

`python -m mnemo_pg._build` writes the result. Where a broken client.py keeps the package from being
imported, `python -P mnemo_pg/_sync.py` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PATHS = {
    FOLDER / "aclient.py": FOLDER / "client.py",
    FOLDER / "areplay.py": FOLDER / "replay.py",
    FOLDER / "atransfer.py": FOLDER / "transfer.py",
}
"""Each source and the file generated from it."""

RULES = (
    (r"\A.*", '"""The synchronous side: made from its twin by _sync.py, do not edit."""'),
    (r"\bmnemo_pg\.a(client|replay)\b", r"mnemo_pg.\1"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait \((.+)\)\.", r"\1."),
    (r"\bawait ", ""),
    (r"\bCoroutine\[Any, Any, (\w+)\]", r"\1"),
    (
        r"\bAsyncIterator, Callable, Coroutine, Mapping, Sequence$",
        "Callable, Iterator, Mapping, Sequence",
    ),
    (r"\bAsyncIterator, Callable$", "Callable, Iterator"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\b(an )?Async(?=[A-Z])", lambda found: "a " if found[1] else ""),
    (r", asynchronous\.", "."),
    (r"\btasks\b", "threads"),
)


def generate(source: str) -> str:
    """The synchronous text of an asynchronous one."""
    for pattern, replacement in RULES:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def outputs() -> dict[Path, str]:
    """Every generated file and the text that it must have."""
    return {target: generate(source.read_text("utf-8")) for source, target in PATHS.items()}


if __name__ == "__main__":
    for path, text in outputs().items():
        path.write_text(text, "utf-8")
