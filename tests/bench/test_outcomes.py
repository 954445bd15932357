"""The benchmark of reports runs, and every report is counted afterwards."""

from __future__ import annotations

import pytest

from tests.bench.outcomes import SCRIPTS, measure_outcomes
from tests.support.server import Server


@pytest.mark.long
def test_it_runs(server: Server, template: str) -> None:
    """Every workload has a rate; a transaction that stays open keeps nobody from reporting."""
    server.create_database("bench_outcomes", template)
    figures = measure_outcomes(server, "bench_outcomes", seconds=1)
    server.drop_database("bench_outcomes")
    rates = figures["reports_per_second"]
    assert set(rates) == set(SCRIPTS)
    for name in ("one plan, one agent", "one plan, 32 agents"):
        assert rates[f"{name}, one held"] > rates[name] / 4
    assert figures["reports"] == figures["counted"] == figures["events"] > 100
    assert figures["sound"]
