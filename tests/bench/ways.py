"""The ways that are compared. Each is one object on a connection of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection
from psycopg_pool import ConnectionPool

from mnemo_pg import Mnemo
from tests.bench.load import vector_text
from tests.bench.workloads import Question, jaccard, tokens

THRESHOLD = 0.7
# Two sets of equal size with Jaccard 0.7 share 0.82 of their words, which is their cosine.
COSINE = 0.82

RECALL: LiteralString = (
    "SELECT hit, id, query, steps, details, chunk_ids, outcome_score, similarity, owner_agent_id,"
    " scope, created_at, candidates_considered, reason, near_miss"
    " FROM mnemo.recall_plan(%s, %s, %s, %s, %s)"
)


class Client:
    """`Mnemo.recall_plan`, on a connection or on a pool."""

    def __init__(
        self, name: str, source: Connection[Any] | ConnectionPool[Any], guard: str | None
    ) -> None:
        self.name = name
        self._mnemo = Mnemo(source)
        self._guard = guard
        if isinstance(source, Connection):
            self.backend = source.info.backend_pid
        else:
            with source.connection() as conn:
                self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        match = self._mnemo.recall_plan(
            question.text,
            agent_id=question.agent_id,
            org_id=question.org_id,
            guard=self._guard,
        )
        return match.hit


class Prepared:
    """The same call as a prepared statement."""

    def __init__(
        self, conn: Connection[Any], guard: str | None, threshold: float | None = None
    ) -> None:
        self.name = "prepared" if threshold is None else f"threshold {threshold}"
        self._conn = conn
        self.backend = conn.info.backend_pid
        self._guard = guard
        self._threshold = threshold

    def row(self, question: Question) -> tuple[Any, ...]:
        """The one row of an answer."""
        values = (
            question.text, question.agent_id, question.org_id, self._threshold, self._guard,
        )  # fmt: skip
        row = self._conn.execute(RECALL, values, prepare=True, binary=True).fetchone()
        assert row is not None
        return tuple(row)

    def ask(self, question: Question) -> bool:
        return bool(self.row(question)[0])


class Lookup:
    """One row of `mnemo.memory` by its primary key, prepared: the floor."""

    name = "lookup"

    def __init__(self, conn: Connection[Any], keys: Sequence[tuple[str, Any]]) -> None:
        self._conn = conn
        self.backend = conn.info.backend_pid
        self._keys = itertools.cycle(keys)

    def ask(self, question: Question) -> bool:
        found: LiteralString = (
            "SELECT id, content, importance, created_at"
            " FROM mnemo.memory WHERE org_id = %s AND id = %s"
        )
        row = self._conn.execute(found, next(self._keys), prepare=True, binary=True).fetchone()
        return row is not None


class TrgmGist:
    """The nearest by pg_trgm's distance, from a GiST index."""

    name = "pg_trgm, GiST"

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        found: LiteralString = (
            "SELECT id, query, query <-> %(q)s FROM bench.question ORDER BY query <-> %(q)s LIMIT 1"
        )
        row = self._conn.execute(found, {"q": question.text}, prepare=True).fetchone()
        return row is not None and row[2] <= 1 - THRESHOLD


class TrgmGin:
    """The most similar above the threshold by pg_trgm, from a GIN index."""

    name = "pg_trgm, GIN"

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self.backend = conn.info.backend_pid
        conn.execute(f"SET pg_trgm.similarity_threshold = {THRESHOLD}")

    def ask(self, question: Question) -> bool:
        found: LiteralString = (
            "SELECT id, query, similarity(query, %(q)s) FROM bench.question"
            " WHERE query %% %(q)s ORDER BY 3 DESC LIMIT 1"
        )
        row = self._conn.execute(found, {"q": question.text}, prepare=True).fetchone()
        return row is not None


class Hnsw:
    """The nearest by pgvector's cosine distance, from an HNSW index.

    The embedding is made beforehand: a model would take longer than all of this.
    """

    name = "HNSW"

    def __init__(self, conn: Connection[Any], questions: Sequence[Question]) -> None:
        self._conn = conn
        self.backend = conn.info.backend_pid
        self._vectors = {question.text: vector_text(question.text) for question in questions}

    def ask(self, question: Question) -> bool:
        found: LiteralString = (
            "SELECT q.id, q.query, v.distance FROM ("
            " SELECT id, embedding <=> %(v)s::vector AS distance FROM bench.question_vector"
            " ORDER BY embedding <=> %(v)s::vector LIMIT 1"
            ") AS v JOIN bench.question AS q ON q.id = v.id"
        )
        vector = {"v": self._vectors[question.text]}
        row = self._conn.execute(found, vector, prepare=True).fetchone()
        return row is not None and row[2] <= 1 - COSINE


class Newest:
    """The newest 1,000 rows, scored in Python: blind to all that is older."""

    name = "newest 1,000 in Python"

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        found: LiteralString = (
            "SELECT id, query, tokens FROM bench.question ORDER BY id DESC LIMIT 1000"
        )
        asked = tokens(question.text)
        rows = self._conn.execute(found, prepare=True, binary=True).fetchall()
        return max(jaccard(asked, frozenset(stored)) for _, _, stored in rows) >= THRESHOLD
