"""The benchmark of stale plans runs, small, and what no noise of a machine changes holds."""

from __future__ import annotations

import pytest

from tests.bench.sources import CITED, measure_sources
from tests.support.server import Server


@pytest.mark.long
def test_it_runs(server: Server, template: str) -> None:
    server.create_database("bench_sources", template)
    figures = measure_sources(server, "bench_sources", plans=2_000, rows=5_000, asked=40)
    server.drop_database("bench_sources")
    repeats = figures["after the report, ms"]
    assert set(repeats) == set(CITED)
    # Five chunks are a small part of a recall, and ten thousand no end of it.
    assert repeats[5] < 1.6 * repeats[0]
    assert repeats[10_000] < 200
    assert figures["reporting them, ms"] < 5_000
    plain, watched = figures["not watched, ms"], figures["watched by version, ms"]
    assert watched["INSERT of all"] < 2 * plain["INSERT of all"]
