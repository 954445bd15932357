"""The benchmark of the chain runs, and the chain holds under it."""

from __future__ import annotations

import pytest

from tests.bench.chain import SCRIPTS, measure_chain
from tests.support.server import Server


@pytest.mark.long
def test_it_runs(server: Server, template: str) -> None:
    """Every workload has a rate, and every chain verifies afterwards."""
    server.create_database("bench_chain", template)
    figures = measure_chain(server, "bench_chain", seconds=1)
    server.drop_database("bench_chain")
    assert set(figures["transactions_per_second"]) == set(SCRIPTS)
    assert all(rate > 0 for rate in figures["transactions_per_second"].values())
    assert figures["broken"] == []
    assert figures["events"] > 100
