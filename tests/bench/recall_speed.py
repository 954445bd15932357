"""How fast recall and remember are: `python -m tests.bench.recall_speed`.

Each lane through `mnemo.recall` against SQL written by hand over plain tables that hold the same
rows with the same indexes: no check of who calls, no explanation, the question taken apart by the
client beforehand. `remember` against a bare INSERT of the same row. All ways take turns on one
server.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from tests.bench.measure import Times, ask_all, by_kind, no_collection, rounds, summaries
from tests.bench.store import Store, default_folder
from tests.bench.workloads import Question
from tests.bench.writes import _timed

ORG, AGENT = "bench", "agent-0"
TARGETS = {"recall": 1.5, "remember": 5.0}
WORDS, BATCH = 20_000, 2_000

LOAD = """
SELECT mnemo._write_memories(array_agg(x.record), 'memory_write')
  FROM (
    SELECT mnemo._normalised(jsonb_populate_record(
               mnemo._new_record(u.scope, %s, u.agent, NULL),
               jsonb_build_object('content', u.content, 'subject', u.subject,
                   'tags', jsonb_build_array(u.tag), 'memory_type', 'semantic',
                   'source_type', 'agent', 'created_at', now() - u.age * interval '1 hour')
           )) AS record
      FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::float8[])
           AS u(content, subject, tag, scope, agent, age)
  ) AS x
"""

PLAIN = """
CREATE SCHEMA IF NOT EXISTS plain;
CREATE TABLE plain.memory (LIKE mnemo.memory INCLUDING INDEXES);
INSERT INTO plain.memory SELECT * FROM mnemo.memory;
CREATE TABLE plain.posting (LIKE mnemo.term_posting INCLUDING INDEXES);
INSERT INTO plain.posting SELECT * FROM mnemo.term_posting;
CREATE TABLE plain.frequency (LIKE mnemo.term_frequency INCLUDING INDEXES);
INSERT INTO plain.frequency SELECT * FROM mnemo.term_frequency;
CREATE TABLE plain.acl (LIKE mnemo.acl INCLUDING INDEXES);
INSERT INTO plain.acl SELECT * FROM mnemo.acl;
CREATE TABLE plain.total AS SELECT * FROM mnemo.term_total;
"""

COLUMNS = (
    "m.id, m.content, m.agent_id, m.memory_type, m.scope, m.importance, m.tags, m.metadata,"
    " m.created_at"
)
LIVE = (
    "m.deleted_at IS NULL AND NOT m.quarantined AND m.consolidation_state IN ('raw', 'active',"
    " 'pending', 'consolidated') AND (m.expires_at IS NULL OR m.expires_at > now())"
    " AND NOT m.tags @> '{__experience_plan__}'"
)
RECENT = f"""
(SELECT {COLUMNS} FROM plain.memory AS m WHERE m.org_id = %(org)s AND m.origin_org_id = %(org)s
    AND m.agent_id = %(agent)s AND {LIVE} ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s)
UNION ALL
(SELECT {COLUMNS} FROM plain.memory AS m WHERE m.org_id = %(org)s AND m.scope = 'public'
    AND m.scope IN ('public', 'global') AND m.agent_id <> %(agent)s AND {LIVE}
  ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s)
UNION ALL
(SELECT {COLUMNS} FROM plain.acl AS a JOIN plain.memory AS m ON m.org_id = a.org_id
    AND m.id = a.memory_id WHERE a.org_id = %(org)s AND a.agent_id = %(agent)s
    AND m.scope = 'shared' AND {LIVE} ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s)
UNION ALL
(SELECT {COLUMNS} FROM plain.memory AS m WHERE m.org_id = '*' AND m.scope = 'global'
    AND m.scope IN ('public', 'global') AND {LIVE} ORDER BY m.created_at DESC, m.id DESC
  LIMIT %(limit)s)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s
"""
LEXICAL = f"""
SELECT {COLUMNS}, s.score
  FROM (
    SELECT p.memory_id, sum(q.idf * 2.2 * p.weight / (p.weight + 3 - 9 * p.shortness / q.average))
               AS score
      FROM (
        SELECT a.audience # u.term AS key, t.length::float8 / t.records AS average,
               ln(1 + (t.records - coalesce(f.records, 0) + 0.5) / (coalesce(f.records, 0) + 0.5))
                   ::float8 AS idf
          FROM unnest(%(terms)s::bigint[]) AS u(term)
          CROSS JOIN unnest(%(audiences)s::bigint[]) AS a(audience)
          JOIN plain.total AS t ON t.org_id = %(org)s
          LEFT JOIN plain.frequency AS f ON f.org_id = %(org)s AND f.term = u.term
      ) AS q
      JOIN plain.posting AS p ON p.org_id IN (%(org)s, '*') AND p.key = q.key
     GROUP BY p.memory_id
     -- Best first, so that only as many records are looked up as are shown.
     ORDER BY score DESC, p.memory_id DESC
    OFFSET 0
  ) AS s
  CROSS JOIN LATERAL (
    SELECT * FROM plain.memory AS m WHERE m.org_id IN (%(org)s, '*') AND m.id = s.memory_id
    OFFSET 0
  ) AS m
 WHERE {LIVE} AND (m.agent_id = %(agent)s OR m.scope IN ('public', 'global') OR EXISTS (
    SELECT FROM plain.acl AS a WHERE a.org_id = m.org_id AND a.memory_id = m.id
       AND a.agent_id = %(agent)s))
 ORDER BY s.score DESC, s.memory_id DESC
 LIMIT %(limit)s
"""
HYBRID = f"""
WITH lexical AS (
    SELECT l.id, row_number() OVER (ORDER BY l.score DESC, l.id DESC) AS rank FROM ({LEXICAL}) AS l
), recency AS (
    SELECT r.id, row_number() OVER (ORDER BY r.created_at DESC, r.id DESC) AS rank
      FROM ({RECENT}) AS r
)
SELECT {COLUMNS}, f.score
  FROM (
    SELECT u.id, sum(u.part) AS score
      FROM (
        SELECT l.id, 1.0 / (60 + l.rank) AS part FROM lexical AS l
        UNION ALL
        SELECT r.id, 0.02 / (60 + r.rank) FROM recency AS r
      ) AS u
     GROUP BY u.id
     ORDER BY score DESC, u.id DESC
     LIMIT 10
  ) AS f
  JOIN plain.memory AS m ON m.org_id IN (%(org)s, '*') AND m.id = f.id
 ORDER BY f.score DESC, m.id DESC
"""
BY_HAND = {"lexical": LEXICAL, "hybrid": HYBRID, "recent": RECENT, "exact": RECENT}


class Corpus:
    """Records and questions whose words are as uneven as those of a language, by a seed."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        syllables = [first + last for first in "bcdfghklmnprstvz" for last in "aeiou"]
        self.words = [
            "".join(self.chooser.choices(syllables, k=self.chooser.choice((2, 2, 3, 3, 4))))
            for _ in range(WORDS)
        ]
        self.weights = [1 / (rank + 10) for rank in range(WORDS)]

    def text(self, least: int, most: int) -> str:
        """A number of words."""
        number = self.chooser.randint(least, most)
        return " ".join(self.chooser.choices(self.words, self.weights, k=number))

    def rows(self, number: int) -> list[tuple[Any, ...]]:
        """Content, subject, tag, scope, agent and age of as many records."""
        return [
            (
                self.text(5, 25), self.chooser.choice(self.words),
                f"t{self.chooser.randrange(999)}",
                self.chooser.choices(("private", "shared", "public"), (6, 1, 3))[0],
                f"agent-{self.chooser.choice((0, 0, 0, 0, *range(1, 5)))}",
                self.chooser.uniform(0, 8760),
            )
            for _ in range(number)
        ]  # fmt: skip

    def questions(self, number: int) -> list[Question]:
        """Of each kind: words as they come, rare ones, common ones, one common one."""
        kinds = {
            "as they come": lambda: self.text(2, 6),
            "rare words": lambda: " ".join(self.chooser.sample(self.words[4000:], 4)),
            "common words": lambda: " ".join(self.chooser.sample(self.words[:8], 2)),
            "one common word": lambda: self.chooser.choice(self.words[:8]),
        }
        return [
            Question(kind, make(), ORG, AGENT, None)
            for kind, make in kinds.items()
            for _ in range(number)
        ]


def load(conn: psycopg.Connection[Any], corpus: Corpus, size: int) -> None:
    """The records, and the plain tables beside them."""
    for start in range(0, size, BATCH):
        columns = zip(*corpus.rows(min(BATCH, size - start)), strict=True)
        conn.execute(LOAD, [ORG, *map(list, columns)])
    for org in (ORG, "*"):
        conn.execute("SELECT mnemo._compact_terms(%s)", [org])
    conn.execute(PLAIN)
    conn.execute("VACUUM ANALYZE")


class Recall:
    """The public function."""

    def __init__(self, conn: psycopg.Connection[Any], strategy: str) -> None:
        self.name, self.strategy, self.conn = "mnemo.recall", strategy, conn
        self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        """One call."""
        return bool(
            self.conn.execute(
                "SELECT * FROM mnemo.recall(%s, p_strategy => %s, p_agent_id => %s,"
                " p_org_id => %s)",
                (question.text, self.strategy, question.agent_id, question.org_id),
                prepare=True,
            ).fetchall()
        )


class ByHand:
    """The statement of somebody who knows the tables."""

    def __init__(
        self, conn: psycopg.Connection[Any], strategy: str, questions: Sequence[Question]
    ) -> None:
        self.name, self.conn, self.backend = "by hand", conn, conn.info.backend_pid
        self.statement = BY_HAND[strategy]
        self.limit = 50 if strategy == "hybrid" else 10
        self.terms = {
            q.text: conn.execute(
                "SELECT array(SELECT DISTINCT mnemo._hash64(u.term)"
                " FROM unnest(mnemo._terms(%s)) AS u(term))", [q.text],
            ).fetchone()[0]  # type: ignore[index]
            for q in questions
        }  # fmt: skip
        found = conn.execute(
            "SELECT mnemo._audience('owner', %(o)s, %(a)s, NULL),"
            " mnemo._audience('public', %(o)s, NULL, NULL),"
            " mnemo._audience('grantee', %(o)s, %(a)s, NULL),"
            " mnemo._audience('global', NULL, NULL, NULL)", {"o": ORG, "a": AGENT},
        ).fetchone()  # fmt: skip
        self.audiences = list(found or ())
        conn.execute("SET jit = off")

    def ask(self, question: Question) -> bool:
        """One statement."""
        return bool(
            self.conn.execute(
                self.statement,  # type: ignore[arg-type]
                {"terms": self.terms[question.text], "audiences": self.audiences, "org": ORG,
                 "agent": AGENT, "limit": self.limit},
                prepare=True,
            ).fetchall()
        )  # fmt: skip


def lanes(store: Store, database: str, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Figures of each lane, kind and way."""
    for strategy in BY_HAND:
        asked = by_kind(questions)
        if strategy in ("recent", "exact"):
            asked = {"any": [q for q in questions if q.kind == "as they come"]}
        with store.connect(database) as ours, store.connect(database) as theirs:
            ways = [Recall(ours, strategy), ByHand(theirs, strategy, questions)]
            for way in ways:
                ask_all(way, questions[:10], 2.0, Times())
            for row in summaries(rounds(ways, asked, count=4, seconds=10.0)):
                yield {"lane": strategy, **row}


def writes(conn: psycopg.Connection[Any], corpus: Corpus, number: int) -> dict[str, Any]:
    """One record a transaction: remember, and a bare INSERT of the row that it made."""
    conn.execute(
        "CREATE TABLE plain.bare (LIKE mnemo.memory, PRIMARY KEY (org_id, id));"
        "CREATE TABLE plain.indexed (LIKE mnemo.memory INCLUDING INDEXES INCLUDING CONSTRAINTS)"
    )
    times = {"remember": Times(), "bare": Times(), "indexed": Times()}
    with no_collection():
        for turn in range(-10, number):
            content, subject, tag, scope, agent, _ = corpus.rows(1)[0]
            with _timed(conn, times["remember"], keep=turn >= 0):
                made = conn.execute(
                    "SELECT * FROM mnemo.remember(%s, p_subject => %s, p_tags => %s, p_scope => %s,"
                    " p_agent_id => %s, p_org_id => %s)",
                    (content, subject, [tag], scope, agent, ORG), prepare=True,
                ).fetchone()  # fmt: skip
            assert made is not None
            with conn.cursor(row_factory=dict_row) as cursor:
                row = cursor.execute(
                    "SELECT * FROM mnemo.memory WHERE org_id = %s AND id = %s", (ORG, made[0])
                ).fetchone()
            assert row is not None
            values = list((row | {"metadata": Jsonb(row["metadata"])}).values())
            for table in ("bare", "indexed"):
                insert = sql.SQL("INSERT INTO {} VALUES ({})").format(
                    sql.Identifier("plain", table),
                    sql.SQL(", ").join(sql.Placeholder() * len(values)),
                )
                with _timed(conn, times[table], keep=turn >= 0):
                    conn.execute(insert, values, prepare=True)
    return {name: spent.summary() for name, spent in times.items()}


def measure(store: Store, size: int, questions: int, singles: int) -> dict[str, Any]:
    """Everything at one size."""
    database = store.scratch(f"recall_{size}")
    corpus = Corpus(1)
    with store.connect(database) as conn:
        load(conn, corpus, size)
        sizes = dict(
            conn.execute(
                "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class AS c"
                " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind = 'r'"
                " AND c.relname ~ '^(memory|term_.*)$'"
            ).fetchall()
        )
    found = list(lanes(store, database, corpus.questions(questions)))
    with store.connect(database) as conn:
        return {"size": size, "lanes": found, "bytes": sizes,
                "writes": writes(conn, corpus, singles)}  # fmt: skip


def _ratio(ours: float, theirs: float, target: float | None = None) -> str:
    text = f"{ours / theirs:.2f}" if theirs else "-"
    return f"[red]{text}[/red]" if target and theirs and ours / theirs > target else text


def show(console: Console, found: dict[str, Any]) -> None:
    """The tables of one size."""
    table = Table(title=f"{found['size']:,} memories: recall, milliseconds and times by hand")
    heads = ("lane", "question", "p50", "by hand", "ratio", "p99", "by hand", "ratio", "CPU p50",
             "by hand", "ratio")  # fmt: skip
    for place, column in enumerate(heads):
        table.add_column(column, justify="left" if place < 2 else "right")
    rows = {(r["lane"], r["kind"], r["way"]): r for r in found["lanes"]}
    for (lane, kind, way), ours in rows.items():
        if way == "by hand":
            continue
        theirs = rows[lane, kind, "by hand"]
        cells = [
            text
            for figure in ("p50", "p99", "cpu_p50")
            for text in (
                f"{ours[figure]:.2f}", f"{theirs[figure]:.2f}",
                _ratio(ours[figure], theirs[figure], TARGETS["recall"]),
            )
        ]  # fmt: skip
        table.add_row(lane, kind, *cells)
    console.print(table)
    w = found["writes"]
    target = TARGETS["remember"]
    figures = {
        (way, figure): w[way][figure]
        for way in ("bare", "indexed")
        for figure in ("p50", "cpu_p50")
    }
    times = {
        key: f"{theirs:.2f} ({_ratio(w['remember'][key[1]], theirs, target)} times)"
        for key, theirs in figures.items()
    }
    console.print(
        f"remember: p50 {w['remember']['p50']:.2f} ms, bare INSERT {times['bare', 'p50']}, with"
        f" checks and indexes {times['indexed', 'p50']}; CPU {w['remember']['cpu_p50']:.2f},"
        f" {times['bare', 'cpu_p50']}, {times['indexed', 'cpu_p50']}"
    )
    megabytes = {name: round(size / 2**20, 1) for name, size in sorted(found["bytes"].items())}
    console.print(f"MB: {megabytes}")


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall_speed", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000", help="numbers of memories, by commas")
    parser.add_argument("--questions", type=int, default=150, help="of each kind")
    parser.add_argument("--singles", type=int, default=300, help="records that are remembered")
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of the server")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)
    store = Store(arguments.data, "128MB")
    with store.running():
        for size in map(int, arguments.sizes.split(",")):
            show(console, measure(store, size, arguments.questions, arguments.singles))
    return 0


if __name__ == "__main__":
    sys.exit(main())
