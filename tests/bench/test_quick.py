"""The benchmark runs."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemo_pg.embedded import EmbeddedServer
from tests.bench import targets
from tests.bench.workloads import WORKLOADS, has_clinc
from tests.support.server import ROOT

own_server = pytest.mark.skipif(
    {"MNEMO_TEST_PG", "MNEMO_TEST_PG_BIN"} & os.environ.keys() != set(),
    reason="the benchmark brings a server of its own",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that the server's user can reach, also as root."""
    made = Path(tempfile.mkdtemp(prefix="mnemo-bench-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    EmbeddedServer(made).stop()
    shutil.rmtree(made, ignore_errors=True)


def run(folder: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    """What `--quick` prints, and its figures."""
    figures = folder / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--data", folder, "--json", figures,
         *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(figures.read_text("utf-8"))


@own_server
def test_quick(folder: Path) -> None:
    """Every workload, way and report; answers equal a scan's; the next run loads nothing."""
    picture = folder / "plot.png"
    printed, found = run(folder, "--plot", str(picture))
    expected = {name for name in WORKLOADS if name != "clinc" or has_clinc()}
    assert {entry["workload"] for entry in found["runs"]} == expected
    assert ("skipped: clinc" in printed) == (not has_clinc())
    for entry in found["runs"]:
        assert entry["exactness"]["checked"] > 0
        assert entry["exactness"]["differing"] == []
        assert all(times["count"] > 0 for times in entry["latency"])
        assert all(times["p50"] <= times["p95"] <= times["p99"] for times in entry["latency"])
        exact = [t for t in entry["latency"] if t["kind"].startswith("exact")]
        assert all(t["hits"] == t["count"] for t in exact if t["way"] in targets.RECALL_WAYS)
        assert entry["sizes"]["plan_signature"]["plan_signature_keys_idx"] > 0
        assert entry["writes"]["single"]["remember_plan"]["count"] > 0
        assert entry["writes"]["batch"]["plans_per_second"] > 0
    compared = found["runs"][0]
    ways = {times["way"] for times in compared["latency"]}
    assert {"lookup", *targets.RECALL_WAYS, *targets.ALTERNATIVES} <= ways
    assert {times["way"] for times in compared["thresholds"]} == {
        "threshold 0.6", "threshold 0.5", "threshold 0.4",
    }  # fmt: skip
    assert found["settings"]["shared_buffers"] == "128MB"
    assert found["targets"]
    if importlib.util.find_spec("matplotlib"):
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert not EmbeddedServer(folder).running()

    only = ("--workloads", "templates", "--sizes", "500", "--no-alternatives", "--no-guard")
    _, again = run(folder, *only)
    (before,) = (entry for entry in found["runs"] if entry["workload"] == "templates")
    rebuilt = again["versions"]["sql"] != found["versions"]["sql"]
    assert again["runs"][0]["load"] == before["load"] or rebuilt


@own_server
def test_the_data_stay_out_of_the_checkout(folder: Path) -> None:
    """Whatever the option says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--data", ROOT / "bench-data"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "lies in the checkout" in done.stdout
    assert not (ROOT / "bench-data").exists()
