"""The command line `mnemo-pg`. Its libraries come with the extra `cli` and are imported late."""

from __future__ import annotations

import os
import sys

_EXTRA = frozenset({"typer", "rich"})


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from mnemo_pg.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        print(
            f"mnemo-pg: the command line needs {error.name}: pip install 'mnemo_pg[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    run()
