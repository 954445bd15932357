"""How good retrieval is: `python -m tests.bench.retrieval_quality`.

The corpus and the questions of the data folder (`MNEMO_DATA`), each question with the one record
that answers it: how often that is the first answer, how often among the five of `retrieve`, and the
mean reciprocal rank. Each question is asked by a plan that `plan_retrieval` made of it, and by a
plan written by hand that holds the question and nothing else; without hints, with right ones, and
with those of another fact. Embeddings of all-MiniLM-L6-v2 are added where the extra
bench-embeddings is installed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from tests.bench.recall_quality import available
from tests.bench.semantic_quality import MODEL, Embed, minilm
from tests.bench.workloads import data_folder
from tests.support.calls import scalar
from tests.support.installs import install
from tests.support.server import ROOT, Server

AGENT = "retrieval-bench"
OWN = ROOT / "tests" / "retrieval" / "everyday.json"
MADE, BY_HAND = "plan_retrieval", "question alone"

Row = dict[str, Any]
Planner = Callable[[psycopg.Connection[Any], Row], Row]


@dataclass(frozen=True)
class Quality:
    """Figures of one way over all questions."""

    way: str
    hints: str
    questions: int
    first: int
    five: int
    mrr: float


def read(name: str) -> Any:
    """A file of the data folder."""
    return json.loads((data_folder() / "retrieval" / f"{name}.json").read_text("utf-8"))


def general_questions() -> list[str]:
    """Out-of-scope questions of CLINC150: they mean nobody's memory."""
    found = json.loads((data_folder() / "clinc150.json").read_text("utf-8"))
    return [text for text, _ in found["oos_test"][:300]]


def own_questions() -> dict[str, list[Row]]:
    """The project's own questions about the corpus: paraphrases, others, unanswerable."""
    found: dict[str, list[Row]] = json.loads(OWN.read_text("utf-8"))
    return found


def element(record: Row, now: datetime) -> Row:
    """A record of the data as an element of remember_many."""
    facets = record["retrieval"]
    explicit = record["source_type"].startswith("explicit")
    made = {
        "content": record["statement"], "kind": record["kind"], "subject": facets["subject"],
        "predicate": record["predicate"], "entities": facets["entities"],
        "aliases": facets["aliases"], "tags": facets["tags"], "status": record["status"],
        "location": facets["location"], "confidence": record["confidence"],
        "temporal_scope": record["temporal_scope"],
        "source_type": "user_input" if explicit else "agent",
        "valid_from": (now - timedelta(days=record["valid_from_days_ago"], minutes=1)).isoformat(),
    }  # fmt: skip
    if record["expires_in_days"]:
        made["ttl"] = f"{record['expires_in_days']} days"
    return {key: value for key, value in made.items() if value is not None}


def load(
    conn: psycopg.Connection[Any], corpus: Sequence[Row], agent: str = AGENT
) -> dict[str, Row]:
    """Remember the records as an agent's own; which id has which of them."""
    now = datetime.now(UTC)
    made = conn.execute(
        "SELECT r.id FROM mnemo.remember_many(%s, p_agent_id => %s) AS r ORDER BY r.position",
        [Jsonb([element(record, now) for record in corpus]), agent],
    ).fetchall()
    return {str(id): record for (id,), record in zip(made, corpus, strict=True)}


def by_hand(conn: psycopg.Connection[Any], question: Row) -> Row:
    """A plan that holds the question and nothing else."""
    return {
        "turn_id": 1, "generation": 1, "requires_memory": True, "intent": "ambient",
        "lexical_queries": [question["query"]],
    }  # fmt: skip


def planned(conn: psycopg.Connection[Any], question: Row) -> Row:
    """What the planner makes of the question."""
    made: Row = scalar(
        conn, "SELECT mnemo.plan_retrieval(%s, p_agent_id => %s)", question["query"], AGENT
    )
    return made


PLANNERS: Mapping[str, Planner] = {MADE: planned, BY_HAND: by_hand}


def hinted(plan: Row, about: Row | None) -> Row:
    """The plan with the hints of a fact."""
    if about is None:
        return plan
    return plan | {"subject_hint": about["about"], "predicate_hint": about["attribute"]}


def retrieve(
    conn: psycopg.Connection[Any], plan: Row, embedding: str | None = None, agent: str = AGENT
) -> list[Row]:
    """The answer: rank, id, content, score, explanation."""
    rows = conn.execute(
        "SELECT r.rank, r.id, r.content, r.score, r.explanation"
        " FROM mnemo.retrieve(%s, p_agent_id => %s, p_embedding => %s) AS r ORDER BY r.rank",
        [Jsonb(plan), agent, embedding],
    ).fetchall()
    return [
        {"rank": rank, "id": str(id), "content": content, "score": score, "explanation": why}
        for rank, id, content, score, why in rows
    ]


def others_hints(questions: Sequence[Row], question: Row, step: int) -> Row:
    """The hints of another fact, the `step`-th such: not both the same."""
    facts = {q["probe"]: q for q in questions}
    wrong = [fact for probe, fact in facts.items() if probe != question["probe"]]
    return wrong[step % len(wrong)]


def rank_of(found: Iterable[Row], names: Mapping[str, Row], target: str) -> int:
    """The place of the right answer, 0 where it is not there."""
    return next((row["rank"] for row in found if names[row["id"]]["id"] == target), 0)


def summary(way: str, hints: str, ranks: Sequence[int]) -> Quality:
    """The figures of these ranks."""
    return Quality(
        way, hints, len(ranks), sum(rank == 1 for rank in ranks), sum(rank > 0 for rank in ranks),
        sum(1 / rank for rank in ranks if rank) / max(len(ranks), 1),
    )  # fmt: skip


def evaluate(
    conn: psycopg.Connection[Any], names: Mapping[str, Row], questions: Sequence[Row],
    vectors: Mapping[str, str] | None = None,
) -> list[Quality]:  # fmt: skip
    """Every planner with every kind of hints; with embeddings of the questions where given."""
    found = []
    for way, planner in PLANNERS.items():
        for hints in ("none", "right", "wrong"):
            ranks = []
            for number, question in enumerate(questions):
                about = {"none": None, "right": question,
                         "wrong": others_hints(questions, question, number)}[hints]  # fmt: skip
                rows = retrieve(
                    conn, hinted(planner(conn, question), about),
                    vectors[question["query"]] if vectors else None,
                )  # fmt: skip
                ranks.append(rank_of(rows, names, question["target"]))
            found.append(summary(way + (", MiniLM" if vectors else ""), hints, ranks))
    return found


def answered(conn: psycopg.Connection[Any], queries: Sequence[str], planner: Planner) -> list[str]:
    """Which of these questions, that nothing answers, got an answer."""
    return [query for query in queries if retrieve(conn, planner(conn, {"query": query}))]


def give(conn: psycopg.Connection[Any], embed: Embed) -> None:
    """An embedding for every record, of its content."""
    found = conn.execute("SELECT id, content FROM mnemo.memory ORDER BY id").fetchall()
    vectors = embed([content for _, content in found])
    conn.execute("SELECT mnemo.enable_vectors(%s, %s)", [MODEL, len(vectors[0])])
    for (id, _), vector in zip(found, vectors, strict=True):
        conn.execute("SELECT mnemo.update_memory(%s, %s, p_agent_id => %s)",
                     [id, json.dumps({"embedding": vector}), AGENT])  # fmt: skip


def show(console: Console, title: str, found: Sequence[Quality]) -> None:
    """The table."""
    table = Table(title=title)
    for column in ("plan", "hints", "questions", "first", "in five", "MRR"):
        table.add_column(column, justify="left" if column in ("plan", "hints") else "right")
    for q in found:
        table.add_row(q.way, q.hints, str(q.questions), str(q.first), str(q.five), f"{q.mrr:.3f}")
    console.print(table)


def measure(conn: psycopg.Connection[Any], embed: Embed | None) -> dict[str, Any]:
    """All tables: the given questions, our own, the unanswerable ones."""
    names = load(conn, read("corpus"))
    given, own = read("questions"), own_questions()
    nothing = [q["query"] for q in own["unanswerable"]]
    nothing += read("acceptance")["scale_cases"][
        "unanswerable_on_1200_corpus_must_return_not_found"
    ]
    found: dict[str, Any] = {
        "given": evaluate(conn, names, given),
        "own": evaluate(conn, names, own["paraphrases"]),
        "unanswerable": {way: answered(conn, nothing, plan) for way, plan in PLANNERS.items()},
        "of": len(nothing),
        "general": {
            way: len(answered(conn, general_questions(), plan)) for way, plan in PLANNERS.items()
        },
    }
    if embed is not None:
        give(conn, embed)
        for name, questions in (("given", given), ("own", own["paraphrases"])):
            texts = [q["query"] for q in questions]
            vectors = dict(zip(texts, [str(vector) for vector in embed(texts)], strict=True))
            found[name] += evaluate(conn, names, questions, vectors)
    return found


def main(given: list[str] | None = None) -> int:
    """Evaluate on a server of its own and print; 1 when fewer than plain BM25 finds are found."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.retrieval_quality")
    parser.add_argument("--no-model", action="store_true", help="no embeddings")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    if not available():
        console.print(f"[red]no retrieval/corpus.json in {data_folder()}: set MNEMO_DATA[/red]")
        return 1
    embed = None if arguments.no_model else minilm()
    with Server() as server:
        server.create_database("quality")
        if embed is not None:
            with server.connect("quality") as conn:
                conn.execute("CREATE EXTENSION vector")
        install(server, "quality", "psql")
        with server.connect("quality") as conn:
            found = measure(conn, embed)
    show(console, "the questions of the data folder", found["given"])
    show(console, "paraphrases of our own", found["own"])
    for way, wrong in found["unanswerable"].items():
        console.print(f"{way}: {len(wrong)} of {found['of']} unanswerable questions got an answer")
        for query in wrong:
            console.print(f"  {query}")
    for way, number in found["general"].items():
        console.print(f"{way}: {number} of 300 out-of-scope questions of CLINC150 got an answer")
    if embed is None:
        console.print("no embeddings: the extra bench-embeddings is not installed")
    if arguments.json:
        figures = found | {name: [dataclasses.asdict(q) for q in found[name]]
                           for name in ("given", "own")}  # fmt: skip
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    plain = sum((q["replica_lexical_rank"] or 9) <= 5 for q in read("questions"))
    return int(any(q.five < plain for q in found["given"] if q.hints == "none"))


if __name__ == "__main__":
    sys.exit(main())
