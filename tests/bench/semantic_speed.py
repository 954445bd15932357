"""How fast recall by embeddings is: `python -m tests.bench.semantic_speed`.

Strategies semantic and hybrid, with an embedding, through `mnemo.recall` against SQL written by
hand over plain tables with the same rows and indexes, pgvector's iterative scan switched on for the
session. Then a filter that keeps one memory in a thousand, and what remember takes with an
embedding against a bare INSERT of row and vector.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from tests.bench.load import DIMENSIONS, vector_text
from tests.bench.measure import Times, ask_all, by_kind, rounds, summaries
from tests.bench.recall_speed import (
    AGENT,
    COLUMNS,
    HYBRID,
    LIVE,
    ORG,
    TARGETS,
    ByHand,
    Corpus,
    _ratio,
    load,
)
from tests.bench.store import Store, default_folder
from tests.bench.workloads import Question
from tests.bench.writes import _timed

MODEL = "hashed words"
RARE = "rare"

PLAIN = f"""
CREATE TABLE plain.embedding (
    org_id text, memory_id uuid, embedding vector({DIMENSIONS}), PRIMARY KEY (org_id, memory_id));
INSERT INTO plain.embedding SELECT e.org_id, e.memory_id, e.embedding::vector
  FROM mnemo._embedding_page(NULL, NULL, 100000000, false) AS e;
CREATE INDEX ON plain.embedding USING hnsw (embedding vector_cosine_ops);
CREATE TABLE plain.bare_embedding (LIKE plain.embedding INCLUDING INDEXES);
"""
SEEN = (
    "(m.agent_id = %(agent)s OR m.scope IN ('public', 'global') OR EXISTS (SELECT FROM plain.acl"
    " AS a WHERE a.org_id = m.org_id AND a.memory_id = m.id AND a.agent_id = %(agent)s))"
)
SEMANTIC = f"""
SELECT {COLUMNS}, e.embedding <=> %(embedding)s::vector AS distance
  FROM plain.embedding AS e
  JOIN plain.memory AS m ON m.org_id = e.org_id AND m.id = e.memory_id
 WHERE e.org_id IN (%(org)s, '*') AND {LIVE} AND {SEEN}
   AND (%(tags)s::text[] IS NULL OR m.tags && %(tags)s::text[])
 ORDER BY e.embedding <=> %(embedding)s::vector
 LIMIT %(limit)s
"""
BOTH = HYBRID.replace(
    "SELECT r.id, 0.02 / (60 + r.rank) FROM recency AS r",
    "SELECT r.id, 0.02 / (60 + r.rank) FROM recency AS r UNION ALL"
    " SELECT s.id, 1.0 / (60 + s.rank) FROM semantic AS s",
).replace(
    "WITH lexical AS",
    "WITH semantic AS (SELECT l.id, row_number() OVER (ORDER BY l.distance, l.id DESC) AS rank"
    f" FROM ({SEMANTIC}) AS l), lexical AS",
)
STATEMENTS = {"semantic": SEMANTIC, "hybrid": BOTH, RARE: SEMANTIC}


class Recall:
    """The public function."""

    def __init__(self, conn: psycopg.Connection[Any], lane: str, vectors: dict[str, str]) -> None:
        self.name, self.conn, self.backend = "mnemo.recall", conn, conn.info.backend_pid
        self.strategy = "semantic" if lane == RARE else lane
        self.tags = [RARE] if lane == RARE else None
        self.vectors = vectors

    def ask(self, question: Question) -> bool:
        """One call."""
        return bool(
            self.conn.execute(
                "SELECT * FROM mnemo.recall(%s, p_strategy => %s, p_tags => %s, p_embedding => %s,"
                " p_agent_id => %s, p_org_id => %s)",
                (question.text, self.strategy, self.tags, self.vectors[question.text],
                 question.agent_id, question.org_id), prepare=True,
            ).fetchall()
        )  # fmt: skip


class Hand(ByHand):
    """The statement of somebody who knows the tables and pgvector."""

    def __init__(
        self, conn: psycopg.Connection[Any], lane: str, questions: Sequence[Question],
        vectors: dict[str, str],
    ) -> None:  # fmt: skip
        super().__init__(conn, "hybrid", questions)
        self.statement, self.vectors = STATEMENTS[lane], vectors
        self.limit = 50 if lane == "hybrid" else 10
        self.tags = [RARE] if lane == RARE else None
        conn.execute("SET hnsw.iterative_scan = 'relaxed_order'")
        # A plan for each call: with the vector at hand the planner takes the index.
        conn.execute("SET plan_cache_mode = force_custom_plan")

    def ask(self, question: Question) -> bool:
        """One statement."""
        return bool(
            self.conn.execute(
                self.statement,  # type: ignore[arg-type]
                {"terms": self.terms[question.text], "audiences": self.audiences, "org": ORG,
                 "agent": AGENT, "limit": self.limit, "tags": self.tags,
                 "embedding": self.vectors[question.text]},
                prepare=True,
            ).fetchall()
        )  # fmt: skip


def give(conn: psycopg.Connection[Any]) -> None:
    """An embedding for every memory, in both places."""
    conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    conn.execute("SELECT mnemo.enable_vectors(%s, %s)", [MODEL, DIMENSIONS])
    # As docs/vectors.md says about bulk loads: the index is built when all is there.
    conn.execute("SET maintenance_work_mem = '1GB'")
    conn.execute("DO $$ BEGIN EXECUTE 'DROP INDEX mnemo.vectors_' || (SELECT suffix FROM"
                 " mnemo.vector_model) || '_embedding_idx'; END $$")  # fmt: skip
    conn.execute("UPDATE mnemo.memory SET tags = tags || %s WHERE id IN (SELECT id FROM"
                 " mnemo.memory ORDER BY md5(id::text) LIMIT (SELECT count(*) / 1000 FROM"
                 " mnemo.memory))", [[RARE]])  # fmt: skip
    conn.execute("UPDATE plain.memory AS p SET tags = m.tags FROM mnemo.memory AS m"
                 " WHERE m.org_id = p.org_id AND m.id = p.id AND m.tags <> p.tags")  # fmt: skip
    found = conn.execute("SELECT org_id, id, content FROM mnemo.memory").fetchall()
    for start in range(0, len(found), 1000):
        orgs, ids, contents = map(list, zip(*found[start : start + 1000], strict=True))
        conn.execute(
            "SELECT mnemo._store_embeddings(%s, %s, %s, %s)",
            [[vector_text(c) for c in contents], [MODEL] * len(ids), orgs, ids],
        )
    conn.execute("SELECT mnemo.refresh_models()")
    conn.execute(PLAIN)  # type: ignore[arg-type]
    conn.execute("VACUUM ANALYZE")


def writes(conn: psycopg.Connection[Any], corpus: Corpus, number: int) -> dict[str, Times]:
    """One record a transaction, with its vector."""
    conn.execute("CREATE TABLE IF NOT EXISTS plain.bare (LIKE mnemo.memory,"
                 " PRIMARY KEY (org_id, id))")  # fmt: skip
    times = {"remember": Times(), "bare": Times()}
    for turn in range(-10, number):
        content, *_ = corpus.rows(1)[0]
        vector = vector_text(content)
        with _timed(conn, times["remember"], keep=turn >= 0):
            made = conn.execute(
                "SELECT * FROM mnemo.remember(%s, p_embedding => %s, p_agent_id => %s,"
                " p_org_id => %s)", (content, vector, AGENT, ORG), prepare=True,
            ).fetchone()  # fmt: skip
        assert made is not None
        row = conn.execute(
            "SELECT m::text FROM mnemo.memory AS m WHERE org_id = %s AND id = %s", (ORG, made[0])
        ).fetchone()
        assert row is not None
        with _timed(conn, times["bare"], keep=turn >= 0):
            conn.execute(
                "WITH r AS (INSERT INTO plain.bare SELECT (%s::mnemo.memory).*"
                " RETURNING org_id, id) INSERT INTO plain.bare_embedding SELECT org_id, id,"
                " %s::vector FROM r", (row[0], vector), prepare=True,
            )  # fmt: skip
    return times


def measure(store: Store, size: int, questions: int, singles: int, console: Console) -> None:
    """Everything at one size, and its table."""
    database = store.scratch(f"semantic_{size}")
    corpus = Corpus(1)
    asked = [q for q in corpus.questions(questions) if q.kind in ("as they come", "rare words")]
    vectors = {q.text: vector_text(q.text) for q in asked}
    with store.connect(database) as conn:
        load(conn, corpus, size)
        give(conn)
    table = Table(title=f"{size:,} memories, {DIMENSIONS} dimensions: milliseconds")
    for column in ("lane", "question", "p50", "by hand", "ratio", "p99", "by hand", "ratio"):
        table.add_column(column, justify="left" if column in ("lane", "question") else "right")
    for lane in STATEMENTS:
        with store.connect(database) as ours, store.connect(database) as theirs:
            ways = [Recall(ours, lane, vectors), Hand(theirs, lane, asked, vectors)]
            for way in ways:
                ask_all(way, asked[:10], 4.0, Times())
            rows = list(summaries(rounds(ways, by_kind(asked), count=4, seconds=10.0)))
        figures = {(r["kind"], r["way"]): r for r in rows}
        for kind in by_kind(asked):
            mine, other = figures[kind, "mnemo.recall"], figures[kind, "by hand"]
            cells = [
                text
                for name in ("p50", "p99")
                for text in (f"{mine[name]:.2f}", f"{other[name]:.2f}",
                             _ratio(mine[name], other[name], TARGETS["recall"]))
            ]  # fmt: skip
            table.add_row(lane, kind, *cells)
    console.print(table)
    with store.connect(database) as conn:
        spent = {name: each.summary() for name, each in writes(conn, corpus, singles).items()}
    ratio = _ratio(spent["remember"]["p50"], spent["bare"]["p50"], TARGETS["remember"])
    console.print(
        f"remember with an embedding: p50 {spent['remember']['p50']:.2f} ms, bare INSERTs"
        f" {spent['bare']['p50']:.2f} ({ratio} times)"
    )


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.semantic_speed")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of memories, by commas")
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--singles", type=int, default=200, help="records that are remembered")
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of the server")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    store = Store(arguments.data, "256MB")
    with store.running():
        for size in map(int, arguments.sizes.split(",")):
            measure(store, size, arguments.questions, arguments.singles, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
