"""What planning a retrieval reads: as much for a large store as for a small one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import rows, scalar
from tests.support.server import Server

AGENT, ORG = "ana", "acme"
TEXTS = (
    "find a quiet restaurant for my wife", "what is the capital of France",
    "how did that noisy dinner with person7 and person8 go last week, and what about my errand",
    " ".join(f"word{number}" for number in range(200)),
)  # fmt: skip
# A look-up touches two or three blocks of an index; a text of twelve words asks for about 150.
MOST_BLOCKS = (900, 900, 3000, 24_000)
WATCHED = ("memory", "term_posting", "acl", "delegation")


def fill(conn: psycopg.Connection, own: int, others: int) -> None:
    """Records of the agent about people, and the like of other agents and organisations."""
    chooser = random.Random(own)

    def record(number: int) -> dict[str, Any]:
        name = "user" if number % 2 else f"person{chooser.randrange(50)}"
        return {
            "content": f"{name} likes word{chooser.randrange(500)} at dinner", "subject": name,
            "entities": ["me", "my"] if name == "user" else [name, "my friend"],
            "predicate": f"attribute_{chooser.randrange(16)}",
        }  # fmt: skip

    owners = [(AGENT, ORG)] * own
    owners += [("ben", ORG) if number % 2 else (AGENT, "other") for number in range(others)]
    for owner in sorted(set(owners)):
        records = [record(number) for number in range(owners.count(owner))]
        rows(conn, "remember_many", records=Jsonb(records), agent_id=owner[0], org_id=owner[1])
    rows(conn, "remember_many", agent_id=AGENT, org_id=ORG, records=Jsonb([
        {"content": "Rhea is a person", "subject": "rhea", "aliases": ["my wife"]},
        {"content": "an errand", "subject": "user", "predicate": "errand"},
    ]))  # fmt: skip


@pytest.fixture(scope="module")
def sizes(server: Server, template: str) -> Iterator[list[psycopg.Connection]]:
    """A small and a large store, in which the same names are known."""
    made = []
    for own, others in ((100, 50), (1_000, 300)):
        name = f"test_planner_cost_{own}"
        conn = psycopg.connect(server.create_database(name, template), autocommit=True)
        fill(conn, own, others)
        conn.execute("VACUUM ANALYZE")
        made.append(conn)
    yield made
    for conn in made:
        name = conn.info.dbname
        conn.close()
        server.drop_database(name)


def blocks(conn: psycopg.Connection, text: str) -> int:
    """Blocks that a plan of the text touches in a warm session."""
    for _ in range(3):
        explained = scalar(
            conn,
            "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)"
            " SELECT mnemo.plan_retrieval(%s, %s, %s)", text, AGENT, ORG,
        )  # fmt: skip
    plan = explained[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_flat_in_the_size_of_the_store(sizes: list[psycopg.Connection], number: int) -> None:
    small, large = (blocks(conn, TEXTS[number]) for conn in sizes)
    # An index of ten times the size is a level deeper.
    assert large <= 1.7 * small
    assert large <= MOST_BLOCKS[number]


def test_no_table_is_scanned(sizes: list[psycopg.Connection]) -> None:
    for conn in sizes:
        for text in TEXTS:
            with conn.transaction():
                conn.execute("SELECT mnemo.plan_retrieval(%s, %s, %s)", [text, AGENT, ORG])
                found = conn.execute(
                    "SELECT relname FROM pg_stat_xact_user_tables WHERE schemaname = 'mnemo'"
                    " AND relname = ANY (%s) AND seq_scan > 0", [list(WATCHED)],
                ).fetchall()  # fmt: skip
            assert found == []
