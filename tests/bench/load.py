"""Fill the databases: plans through `remember_plans`, and tables for the alternatives."""

from __future__ import annotations

import functools
import hashlib
import time
from typing import Any, LiteralString

import psycopg
from psycopg import Connection, sql
from rich.progress import Progress, TaskID

from mnemo_pg import Mnemo
from tests.bench.store import memory_for_builds, set_state, state, timed
from tests.bench.workloads import Workload, tokens

BATCH = 1_000
DIMENSIONS = 384


def load_plans(conn: Connection[Any], workload: Workload, progress: Progress) -> None:
    """Remember the plans that are not there yet, and share what is granted.

    A batch, its grants and the count are one transaction, so that an interrupted load goes on.
    """
    done = state(conn, "plans", 0)
    if done < workload.size:
        _say(progress, f"{workload.name}: {workload.size:,} plans, {done:,} are there")
    task = progress.add_task(f"{workload.name}: plans", total=workload.size, completed=done)
    while done < workload.size:
        numbers = range(done, min(done + BATCH, workload.size))
        plans = [workload.plan(number) for number in numbers]
        with Mnemo(conn).transaction() as tx:
            begun = time.perf_counter()
            results = tx.remember_plans([plan.element for plan in plans])
            seconds = time.perf_counter() - begun
            for plan, result in zip(plans, results, strict=True):
                if plan.grantees and result.id is not None:
                    owner = {key: plan.element[key] for key in ("agent_id", "org_id")}
                    tx.share(result.id, plan.grantees, **owner)
            done = numbers.stop
            set_state(conn, "plans", done)
            set_state(conn, "load_seconds", state(conn, "load_seconds", 0) + seconds)
            set_state(conn, "last_batch_seconds", seconds)
        progress.update(task, completed=done)
    progress.remove_task(task)


def finish_plans(conn: Connection[Any], progress: Progress) -> None:
    """Vacuum as a server would have by now, and copy the plans for the scan that checks answers.

    The copy is made from the view, that is from the payloads, not from the index's own table.
    """
    if state(conn, "finished"):
        return
    with waiting(progress, "vacuum, copy for the check"):
        _vacuum(conn, "mnemo")
        with conn.transaction():
            conn.execute("""
                CREATE TABLE bench.plan AS
                SELECT p.org_id, p.id, p.owner_agent_id AS agent_id, p.scope, p.outcome_score,
                       p.created_at, p.signature_tokens AS tokens
                  FROM mnemo.plan AS p
            """)
            # Now: measuring how fast it writes leaves holes behind.
            set_state(conn, "sizes", sizes(conn, "mnemo"))
            set_state(conn, "finished", True)
        _vacuum(conn, "bench")
        conn.execute("CHECKPOINT")


def _vacuum(conn: Connection[Any], schema: str) -> None:
    for (table,) in conn.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
        (schema,),
    ).fetchall():
        conn.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(schema, table)))


# The alternatives

_TRGM_GIST: LiteralString = (
    "CREATE INDEX question_gist_idx ON bench.question USING gist (query gist_trgm_ops(siglen=64))"
)
_TRGM_GIN: LiteralString = (
    "CREATE INDEX question_gin_idx ON bench.question USING gin (query gin_trgm_ops)"
)
_HNSW: LiteralString = (
    "CREATE INDEX question_vector_idx ON bench.question_vector"
    " USING hnsw (embedding vector_cosine_ops)"
)


def load_alternatives(
    conn: Connection[Any], workload: Workload, progress: Progress, *, hnsw: bool
) -> None:
    """The same questions in tables of their own, without owners and scopes, and their indexes."""
    texts = functools.cache(lambda: [workload.plan(n).query for n in range(workload.size)])
    if not state(conn, "questions"):
        with (
            waiting(progress, f"{workload.name}: questions for the alternatives"),
            timed(conn, "questions"),
        ):
            conn.execute(
                "CREATE TABLE bench.question"
                " (id integer PRIMARY KEY, query text NOT NULL, tokens text[] NOT NULL)"
            )
            copy_in: LiteralString = "COPY bench.question FROM STDIN"
            with conn.cursor().copy(copy_in) as copy:
                for number, text in enumerate(texts()):
                    copy.write_row((number, text, sorted(tokens(text))))
    _build(conn, "gist", _TRGM_GIST, progress)
    _build(conn, "gin", _TRGM_GIN, progress)
    if hnsw and not state(conn, "vectors"):
        with waiting(progress, f"{workload.name}: vectors"), timed(conn, "vectors"):
            conn.execute(
                "CREATE TABLE bench.question_vector"
                f" (id integer PRIMARY KEY, embedding vector({DIMENSIONS}) NOT NULL)"
            )
            copy_in = "COPY bench.question_vector FROM STDIN (FORMAT binary)"
            with conn.cursor().copy(copy_in) as copy:
                copy.set_types(["int4", "bytea"])
                for number, text in enumerate(texts()):
                    copy.write_row((number, vector_bytes(text)))
    if hnsw:
        _build(conn, "hnsw", _HNSW, progress)
    if not state(conn, "finished_alternatives"):
        with waiting(progress, "vacuum"):
            _vacuum(conn, "bench")
            conn.execute("CHECKPOINT")
        set_state(conn, "finished_alternatives", True)


def _build(conn: Connection[Any], name: str, statement: LiteralString, progress: Progress) -> None:
    if state(conn, name) is not None:
        return
    with waiting(progress, f"index {name}"):
        try:
            with timed(conn, name):
                _prepare_build(conn)
                conn.execute(statement)
        except psycopg.errors.DiskFull:
            # Parallel workers share memory through a folder that may be small.
            with timed(conn, name):
                _prepare_build(conn)
                conn.execute("SET LOCAL max_parallel_maintenance_workers = 0")
                conn.execute(statement)


def _prepare_build(conn: Connection[Any]) -> None:
    conn.execute(f"SET LOCAL maintenance_work_mem = '{memory_for_builds()}MB'")


def _say(progress: Progress, what: str) -> None:
    # A log has no moving bars, and some of these take minutes.
    if not progress.console.is_terminal:
        progress.console.print(f"{time.strftime('%H:%M:%S')} {what}")


def waiting(progress: Progress, what: str) -> Any:
    """A line of progress without an end in sight, for as long as the block runs."""
    return _Waiting(progress, what)


class _Waiting:
    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._what = what
        self._task: TaskID | None = None

    def __enter__(self) -> None:
        _say(self._progress, self._what)
        self._task = self._progress.add_task(self._what, total=None)

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)


# Embeddings without a model: a hashed bag of words, projected


@functools.lru_cache(maxsize=100_000)
def _direction(token: str) -> Any:
    import numpy

    seed = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8])
    return numpy.random.default_rng(seed).standard_normal(DIMENSIONS, dtype=numpy.float32)


def embed(text: str) -> Any:
    """The sum of a random direction a token, of length 1: cosine follows the share of tokens."""
    import numpy

    total = numpy.sum([_direction(token) for token in sorted(tokens(text))], axis=0)
    return total / numpy.linalg.norm(total)


def vector_bytes(text: str) -> bytes:
    """An embedding in pgvector's binary format."""
    head = DIMENSIONS.to_bytes(2) + bytes(2)
    return head + bytes(embed(text).astype(">f4").tobytes())


def vector_text(text: str) -> str:
    """An embedding in pgvector's text format."""
    return "[" + ",".join(f"{value:.6g}" for value in embed(text)) + "]"


# How large it all is


def sizes(conn: Connection[Any], schema: str) -> dict[str, dict[str, int]]:
    """Bytes of each table of a schema (with TOAST) and of each of its indexes."""
    rows = conn.execute(
        """
        SELECT c.relname, i.relname, pg_relation_size(i.oid), pg_table_size(c.oid)
          FROM pg_class AS c
          LEFT JOIN pg_index AS x ON x.indrelid = c.oid
          LEFT JOIN pg_class AS i ON i.oid = x.indexrelid
         WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'
         ORDER BY c.relname, i.relname
        """,
        (schema,),
    ).fetchall()
    found: dict[str, dict[str, int]] = {}
    for table, index, index_size, table_size in rows:
        parts = found.setdefault(table, {"table": table_size})
        if index is not None:
            parts[index] = index_size
    return found
