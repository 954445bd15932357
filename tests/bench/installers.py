"""How long each installer takes: `python -m tests.bench.installers`."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from tests.support.installs import MODES, install, offer_extension
from tests.support.server import Server


def once(server: Server, mode: str, name: str) -> float:
    """Seconds of one installation, with the start of the program that does it."""
    dsn = server.create_database(name)
    started = time.perf_counter()
    if mode == "mnemo-pg init":
        subprocess.run(
            [sys.executable, "-m", "mnemo_pg.cli", "init", "--dsn", dsn],
            check=True, capture_output=True,
        )  # fmt: skip
    else:
        install(server, name, mode)
    seconds = time.perf_counter() - started
    server.drop_database(name)
    return seconds


def main() -> int:
    """Print the median of some runs of each, in turn."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.installers", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    modes = (*MODES, "mnemo-pg init")
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    with Server() as server:
        offer_extension(server)
        for run in range(options.runs):
            for mode in modes:
                times[mode].append(once(server, mode, f"run_{run}"))
    for mode, seconds in times.items():
        print(f"{mode:<14} median {statistics.median(seconds):.2f} s, best {min(seconds):.2f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
