"""What forget_where and a sweep touch: what the agent has and what is due, nothing of others."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.forget.conftest import memory
from tests.support.calls import rows, scalar
from tests.support.reuse import module_database
from tests.support.server import Server

OTHERS = (500, 5_000)
OWN = 200
WATCHED = ["memory", "acl", "event", "term_vector", "term_posting", "plan_signature", "idempotency"]
GROWTH = 1.5

WRITE = """
SELECT mnemo._write_memories(array_agg(x.record), 'memory_write')
  FROM (
    SELECT mnemo._normalised(jsonb_populate_record(
               mnemo._new_record('public', %(org)s, %(agent)s, interval '1 year'),
               jsonb_build_object('content', 'text ' || n, 'memory_type', 'semantic',
                   'source_type', 'agent', 'tags', ARRAY['t' || n %% 10], 'thread_id', 'th'))
           ) AS record
      FROM generate_series(1, %(count)s) AS n
  ) AS x
"""


@pytest.fixture(scope="module")
def stores(server: Server, template: str) -> Iterator[list[psycopg.Connection]]:
    """Two databases: what the caller has is the same, others have few or many records."""
    with (
        module_database(server, template, "forget_cost_few") as few,
        module_database(server, template, "forget_cost_many") as many,
        psycopg.connect(few, autocommit=True) as one,
        psycopg.connect(many, autocommit=True) as two,
    ):
        for conn, others in zip((one, two), OTHERS, strict=True):
            conn.execute(WRITE, {"org": "acme", "agent": "ana", "count": OWN})
            for org in ("acme", "globex"):
                conn.execute(WRITE, {"org": org, "agent": "ben", "count": others})
            # Others' grants and deleted records, which are not due yet.
            conn.execute(
                "SELECT count(*) FROM (SELECT id FROM mnemo.memory WHERE agent_id = 'ben'"
                " AND org_id = 'acme' LIMIT %s) AS m, LATERAL mnemo.share(m.id, '{cem}',"
                " p_ttl => interval '1 year', p_agent_id => 'ben', p_org_id => 'acme')",
                [others // 10],
            )
            rows(conn, "forget_where", criteria={"tags": ["t9"]}, agent_id="ben", org_id="globex")
            while any(one["more"] for one in rows(conn, "sweep", limit=10_000)):
                pass
            conn.execute("VACUUM ANALYZE")
        yield [one, two]


def _cost(conn: psycopg.Connection, call: str) -> tuple[int, int]:
    """Blocks of a call, which is taken back, and rows that it read by sequential scans."""

    def scanned() -> int:
        return int(scalar(
            conn, "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_xact_user_tables"
            " WHERE schemaname = 'mnemo' AND relname = ANY (%s)", WATCHED))  # fmt: skip

    with conn.transaction(force_rollback=True):
        before = scanned()
        found = conn.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM mnemo.{call}", prepare=False
        ).fetchone()
        assert found is not None
        top = found[0][0]["Plan"]
        return top["Shared Hit Blocks"] + top["Shared Read Blocks"], scanned() - before


def _costs(stores: list[psycopg.Connection], call: str) -> tuple[int, int]:
    """Blocks in the small store and in the large one, in warm sessions."""
    found = []
    for conn in stores:
        _cost(conn, call)
        blocks, scanned = _cost(conn, call)
        assert scanned == 0, call
        found.append(blocks)
    return found[0], found[1]


@pytest.mark.parametrize("strategy", ["soft_delete", "redact", "hard_delete"])
def test_forget_where_is_flat_in_others_records(
    stores: list[psycopg.Connection], strategy: str
) -> None:
    few, many = _costs(
        stores, f"""forget_where('{{"tags": ["t1"]}}', '{strategy}', 'ana', 'acme')"""
    )
    assert many <= few * GROWTH, (few, many)
    # Each of the twenty records: its row, its events, its terms, and their entries in indexes.
    assert many <= 400 + 20 * 250, many


def test_a_sweep_without_work_is_flat(stores: list[psycopg.Connection]) -> None:
    few, many = _costs(stores, "sweep()")
    assert many <= few * GROWTH + 20, (few, many)
    assert many <= 400, many


def test_a_sweep_costs_what_is_due(stores: list[psycopg.Connection]) -> None:
    for conn in stores:
        for _ in range(20):
            memory(conn, ttl="1 microsecond", org_id="acme")
    few, many = _costs(stores, "sweep()")
    assert many <= few * GROWTH, (few, many)
    assert many <= 1000 + 20 * 250, many
