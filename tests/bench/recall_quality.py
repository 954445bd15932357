"""How good recall by words is: `python -m tests.bench.recall_quality`.

The corpus and the questions of the data folder (`MNEMO_DATA`), each question with the one record
that answers it: how often that is among the first 1, 5 and 10, and the mean reciprocal rank. Beside
it the package rank-bm25 over the same tokens, of all fields and of the content alone.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from tests.bench.workloads import data_folder
from tests.support.calls import scalar
from tests.support.installs import install, offer_extension
from tests.support.server import Server

FOLDER = "retrieval"
DEPTH = 100
FIELDS = ("subject", "entities", "aliases", "predicate", "tags", "location", "statement")
SEEDS = 5


@dataclass(frozen=True)
class Quality:
    """Figures of one way over all questions."""

    way: str
    first: float
    five: float
    ten: float
    mrr: float


def available() -> bool:
    """Whether the data are there."""
    return (data_folder() / FOLDER / "corpus.json").is_file()


def _read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (data_folder() / FOLDER / f"{name}.json").read_text("utf-8")
    )
    return found


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    facets = record["retrieval"]
    return {
        "subject": facets["subject"], "entities": facets["entities"],
        "aliases": facets["aliases"], "predicate": record["predicate"], "tags": facets["tags"],
        "location": facets["location"], "statement": record["statement"],
    }  # fmt: skip


def load(conn: psycopg.Connection, corpus: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Remember the active records; which of them has which id in the corpus."""
    names = {}
    with conn.transaction():
        for record in corpus:
            fields = _fields(record)
            made = scalar(
                conn,
                "SELECT r.id FROM mnemo.remember(%s, p_subject => %s, p_entities => %s,"
                " p_aliases => %s, p_predicate => %s, p_tags => %s, p_location => %s,"
                " p_kind => %s) AS r",
                fields["statement"], fields["subject"], fields["entities"], fields["aliases"],
                fields["predicate"], fields["tags"], fields["location"], record["kind"],
            )  # fmt: skip
            names[str(made)] = record["id"]
    return names


def _summary(way: str, ranks: Sequence[int | None]) -> Quality:
    def among(most: int) -> float:
        return sum(rank is not None and rank <= most for rank in ranks) / len(ranks)

    mrr = sum(1 / rank for rank in ranks if rank) / len(ranks)
    return Quality(way, among(1), among(5), among(10), mrr)


def _rank(found: Sequence[str], target: str) -> int | None:
    return found.index(target) + 1 if target in found else None


def _recalls(
    conn: psycopg.Connection, names: dict[str, str], strategy: str, weights: str | None
) -> Callable[[str], list[str]]:
    def ask(query: str) -> list[str]:
        rows = conn.execute(
            "SELECT r.id FROM mnemo.recall(%s, p_limit => %s, p_strategy => %s,"
            " p_weights => %s) AS r ORDER BY r.rank",
            [query, DEPTH, strategy, weights],
        ).fetchall()
        return [names[str(record)] for (record,) in rows]

    return ask


def _tokens(conn: psycopg.Connection, text: str) -> list[str]:
    found: list[str] = scalar(
        conn,
        "SELECT array(SELECT u.term FROM unnest(mnemo._terms(%s)) AS u(term)"
        " WHERE u.term <> ALL (mnemo._stop_words()))",
        text,
    )
    return found


def _bm25(
    conn: psycopg.Connection, corpus: Sequence[dict[str, Any]], fields: Sequence[str]
) -> Callable[[str], list[str]]:
    from rank_bm25 import BM25Okapi

    texts = []
    for record in corpus:
        values = [_fields(record)[field] for field in fields]
        texts.append(" ".join(" ".join(v) if isinstance(v, list) else v or "" for v in values))
    model = BM25Okapi([_tokens(conn, text) for text in texts], k1=1.2, b=0.75)

    def ask(query: str) -> list[str]:
        scores = model.get_scores(_tokens(conn, query))
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], -place))
        return [str(corpus[place]["id"]) for place in order[:DEPTH] if scores[place] > 0]

    return ask


def _age(conn: psycopg.Connection, seed: int) -> None:
    """Ages by chance, of up to a year: what is asked for is neither new nor old."""
    ids = [i for (i,) in conn.execute("SELECT id FROM mnemo.memory ORDER BY id").fetchall()]
    chooser = random.Random(seed)
    conn.execute(
        "UPDATE mnemo.memory AS m SET created_at = now() - u.days * interval '1 day'"
        " FROM unnest(%s::uuid[], %s::float8[]) AS u(id, days) WHERE m.id = u.id",
        [ids, [chooser.uniform(0, 365) for _ in ids]],
    )


def evaluate(conn: psycopg.Connection, seeds: int = SEEDS) -> list[Quality]:
    """Every way over every question, with so many draws of ages."""
    corpus = [record for record in _read("corpus") if record["status"] == "active"]
    questions = [(q["query"], q["target"]) for q in (*_read("probes"), *_read("questions"))]
    names = load(conn, corpus)
    hybrids: dict[str, tuple[str, str | None]] = {
        "hybrid": ("hybrid", None),
        "hybrid, recency 0.1": ("hybrid", '{"recency": 0.1}'),
        "hybrid, recency 0.3": ("hybrid", '{"recency": 0.3}'),
        "hybrid, equal weights": ("hybrid", '{"recency": 1}'),
        "recent": ("recent", None),
    }

    def ranks(ask: Callable[[str], list[str]]) -> list[int | None]:
        return [_rank(ask(query), target) for query, target in questions]

    found = [
        _summary("lexical", ranks(_recalls(conn, names, "lexical", None))),
        _summary("rank-bm25, all fields", ranks(_bm25(conn, corpus, FIELDS))),
        _summary("rank-bm25, content", ranks(_bm25(conn, corpus, ("statement",)))),
    ]
    aged: dict[str, list[int | None]] = {way: [] for way in hybrids}
    for seed in range(seeds):
        _age(conn, seed)
        for way, (strategy, weights) in hybrids.items():
            aged[way] += ranks(_recalls(conn, names, strategy, weights))
    return found + [_summary(way, seen) for way, seen in aged.items()]


def show(console: Console, found: Sequence[Quality], questions: int) -> None:
    """The table."""
    table = Table(
        title=f"{questions} questions, one right record each; ages by chance, {SEEDS} times"
    )
    for column in ("way", "first", "recall@5", "recall@10", "MRR"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for q in found:
        table.add_row(q.way, f"{q.first:.3f}", f"{q.five:.3f}", f"{q.ten:.3f}", f"{q.mrr:.3f}")
    console.print(table)


def main() -> int:
    """Evaluate on a server of its own and print the table; 1 when recall is worse."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    if not available():
        console.print(f"[red]no {FOLDER}/corpus.json in {data_folder()}: set MNEMO_DATA[/red]")
        return 1
    with Server() as server:
        offer_extension(server)
        server.create_database("quality")
        install(server, "quality", "psql")
        with server.connect("quality") as conn:
            found = evaluate(conn)
    show(console, found, len(_read("probes")) + len(_read("questions")))
    by_way = {q.way: q for q in found}
    ours, theirs = by_way["lexical"], by_way["rank-bm25, all fields"]
    return int(ours.five < theirs.five or ours.ten < theirs.ten)


if __name__ == "__main__":
    sys.exit(main())
