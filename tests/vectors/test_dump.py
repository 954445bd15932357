"""Models survive dump and restore, with pgvector in a schema of its own, in each installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, value
from tests.support.installs import MODES, install, offer_extension
from tests.support.server import Server
from tests.vectors.conftest import need_pgvector

Connection = psycopg.Connection[Any]
MODELS = (("cosine of 3", 3, "cosine"), ("l2 of 2500", 2500, "l2"), ('"q"', 4100, "cosine"))


@pytest.fixture
def new_database(server: Server) -> Iterator[Callable[[str], str]]:
    """Makes empty databases that are gone after the test."""
    made = []

    def make(name: str) -> str:
        made.append(name)
        return server.create_database(name)

    yield make
    for name in made:
        server.drop_database(name)


def definitions(conn: Connection) -> list[Any]:
    """What was made for the models, as the catalog spells it."""
    return conn.execute(
        "SELECT pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'), p.proacl::text"
        "  FROM pg_proc AS p WHERE p.proname ~ '^_vector_.*_[0-9a-f]{16}$'"
        " UNION ALL SELECT pg_get_indexdef(i.indexrelid), NULL, NULL FROM pg_index AS i"
        "  WHERE i.indrelid::regclass::text ~ '^mnemo[.]vectors_'"
        " UNION ALL SELECT pg_get_constraintdef(c.oid), c.conrelid::regclass::text, NULL"
        "  FROM pg_constraint AS c WHERE c.conrelid::regclass::text ~ '^mnemo[.]vectors_'"
        " UNION ALL SELECT c.oid::regclass::text, obj_description(c.oid, 'pg_class'),"
        "  c.relacl::text FROM pg_class AS c WHERE c.relname ~ '^vectors_' AND c.relkind = 'r'"
        " ORDER BY 1, 2"
    ).fetchall()


def answers(conn: Connection) -> list[Any]:
    """What each model finds."""
    return [
        [(r["content"], r["score"]) for r in rows(conn, "recall", query=None, model=name,
                                                  strategy="semantic", embedding=ask(size, 9))]
        + [(r["query"], r["similarity"]) for r in rows(conn, "recall_plans", query="x", guard="off",
                                                       model=name, embedding=ask(size, 9))]
        for name, size, _ in MODELS
    ]  # fmt: skip


def ask(dimensions: int, number: float) -> str:
    """A vector for each number."""
    return str([1.0, number / 10, *[0.001] * (dimensions - 2)])


@pytest.mark.parametrize(("mode", "form"), zip(MODES, "cpc", strict=True))
def test_round_trip(
    server: Server, new_database: Callable[[str], str], mode: str, form: str
) -> None:
    source = new_database(f"vectors_from_{mode}")
    with psycopg.connect(source, autocommit=True) as conn:
        need_pgvector(conn, "of_vectors")
        if mode == "extension":
            offer_extension(server)
        install(server, f"vectors_from_{mode}", mode)
        rows(conn, "configure", name="experience_memory", value="on")
        for name, dimensions, distance in MODELS:
            rows(conn, "enable_vectors", model=name, dimensions=dimensions, distance=distance)
            for number in range(3):
                row(conn, "remember", content=f"{name} {number}", model=name,
                    embedding=ask(dimensions, number))  # fmt: skip
            row(conn, "remember_plan", query=f"how {name}", steps=[], chunk_ids=[],
                outcome_score=1, model=name, embedding=ask(dimensions, 9))  # fmt: skip
        made, found = definitions(conn), answers(conn)
        assert [len(answer) for answer in found] == [4, 4, 4]
    path = server.folder / f"vectors_{mode}.{form}"
    server.run("pg_dump", f"-F{form}", "-f", path, source)
    target = new_database(f"vectors_to_{mode}")
    if form == "c":
        server.run("pg_restore", "--exit-on-error", "-d", target, path)
    else:
        server.run("psql", "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-f", path,
                   target)  # fmt: skip
    with psycopg.connect(target, autocommit=True) as conn:
        assert definitions(conn) == made
        assert answers(conn) == found
        row(conn, "remember", content="new", model=MODELS[0][0], embedding=ask(3, 9))
        assert answers(conn)[0][0][0] == "new"
        assert value(conn, "refresh_models") == 3
        assert definitions(conn) == made
        id = scalar(conn, "SELECT id FROM mnemo.memory WHERE content = 'new'")
        rows(conn, "forget", ids=[id], strategy="hard_delete")
        assert answers(conn) == found
