"""Recall by words finds no less than a known implementation of BM25 over the same tokens."""

from __future__ import annotations

import psycopg
import pytest

from tests.bench import recall_quality


@pytest.mark.skipif(
    not recall_quality.available(), reason="the data folder is not there (MNEMO_DATA)"
)
def test_not_worse_than_rank_bm25_and_hybrid_not_worse_than_its_lanes(
    db: psycopg.Connection,
) -> None:
    """The published corpus and questions: among the first five, and among the first ten."""
    pytest.importorskip("rank_bm25")
    found = {quality.way: quality for quality in recall_quality.evaluate(db, seeds=1)}
    known = found["rank-bm25, all fields"]
    assert known.five > 0.5
    for way in ("lexical", "hybrid"):
        assert found[way].five >= known.five
        assert found[way].ten >= known.ten
    lanes = (found["lexical"], found["recent"])
    assert found["hybrid"].five >= max(lane.five for lane in lanes)
    assert found["hybrid"].ten >= max(lane.ten for lane in lanes)
    assert found["hybrid"].mrr >= max(lane.mrr for lane in lanes) - 0.005
