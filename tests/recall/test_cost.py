"""What a recall touches: index look-ups, flat in what other agents and organisations have.

Times depend on the machine, blocks do not. Autovacuum is off on the test server, so that each test
decides whether the planner has statistics.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from tests.support.calls import vacuum
from tests.support.server import Server

ORG, AGENT = "acme", "ana"
OWN = 400
OTHERS = (400, 2_400)
STRATEGIES = ("lexical", "hybrid", "recent", "exact")
WATCHED = ("memory", "acl", "term_vector", "term_posting", "term_frequency", "term_total")

# The records of the answer and the heads of some lists; a block for each entry before a vacuum.
MOST_BLOCKS = {"lexical": 2500, "hybrid": 3500, "recent": 500, "exact": 500}
GROWTH = 1.3

WRITE = """
SELECT mnemo._write_memories(array_agg(x.record), 'memory_write')
  FROM (
    SELECT mnemo._normalised(jsonb_populate_record(
               mnemo._new_record(u.scope, u.org, u.agent, NULL),
               jsonb_build_object('content', u.content, 'memory_type', 'semantic',
                   'source_type', 'agent', 'created_at', now() - random() * interval '90 days')
           )) AS record
      FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS u(content, scope, org, agent)
  ) AS x
"""


class Texts:
    """A seeded source of sentences; every second one has the word common."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        self.words = [f"word{number}" for number in range(800)]
        self.weights = [1 / (rank + 5) for rank in range(len(self.words))]

    def make(self) -> str:
        """One sentence."""
        drawn = self.chooser.choices(self.words, self.weights, k=self.chooser.randint(4, 14))
        return " ".join(drawn + ["common"] * self.chooser.randrange(2))


def write(conn: psycopg.Connection, texts: Texts, owners: list[tuple[str, str, str]]) -> None:
    """A record for each scope, organisation and agent."""
    for start in range(0, len(owners), 1000):
        batch = owners[start : start + 1000]
        scopes, orgs, agents = map(list, zip(*batch, strict=True))
        conn.execute(WRITE, [[texts.make() for _ in batch], scopes, orgs, agents])


@dataclass(frozen=True)
class Cost:
    """Blocks of one call, and the watched tables that it scanned."""

    blocks: int
    scans: dict[str, int]


def measure(conn: psycopg.Connection, query: str, strategy: str, agent: str = AGENT) -> Cost:
    """The cost of one recall, all statements inside it included."""

    def scans() -> dict[str, int]:
        return dict(
            conn.execute(
                "SELECT relname, seq_scan FROM pg_stat_xact_user_tables"
                " WHERE schemaname = 'mnemo' AND relname = ANY (%s)", [list(WATCHED)],
            ).fetchall()
        )  # fmt: skip

    with conn.transaction(force_rollback=True):
        before = scans()
        explained = conn.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM mnemo.recall(%s,"
            " p_strategy => %s, p_agent_id => %s, p_org_id => %s)",
            [query, strategy, agent, ORG],
            prepare=False,
        ).fetchone()
        after = scans()
    assert explained is not None
    plan = explained[0][0]["Plan"]
    return Cost(
        plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        {name: after[name] - before[name] for name in after if after[name] > before[name]},
    )


def highest(conn: psycopg.Connection, strategy: str, agent: str = AGENT) -> Cost:
    """The highest of a few calls in a session that is warm."""
    measure(conn, "word1 word2", strategy, agent)
    queries = ("word3", "word700", "word300 word4 word5", "word20 common", "absent word9", "common")
    found = [measure(conn, query, strategy, agent) for query in queries]
    return Cost(max(c.blocks for c in found), {k: v for c in found for k, v in c.scans.items()})


@pytest.fixture(scope="module")
def dsns(server: Server, template: str) -> Iterator[list[str]]:
    """Two databases: the caller's records are the same, those of others are few or many."""
    names = []
    for others in OTHERS:
        name = f"test_cost_{others}"
        names.append(name)
        dsn = server.create_database(name, template)
        with psycopg.connect(dsn, autocommit=True) as conn:
            texts = Texts(7)
            write(conn, texts, [(("private", "public", "global")[n % 3], ORG, AGENT)
                                for n in range(OWN)])  # fmt: skip
            conn.execute(
                "SELECT count(*) FROM mnemo.memory AS m, LATERAL mnemo.share(m.id, '{bob}',"
                " p_agent_id => %s, p_org_id => %s) WHERE m.scope = 'private'"
                "   AND get_byte(uuid_send(m.id), 15) < 128", [AGENT, ORG],
            )  # fmt: skip
            write(conn, texts, [("private", (ORG, "other")[n % 2], f"agent{n % 5}")
                                for n in range(others)])  # fmt: skip
            write(conn, texts, [("public", "other", "zed")] * (others // 4))
    yield [server.dsn(name) for name in names]
    for name in names:
        server.drop_database(name)


@pytest.mark.parametrize("agent", [AGENT, "bob"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_flat_in_what_others_have(dsns: list[str], strategy: str, agent: str) -> None:
    """Six times their records; the caller's own are the same, or granted to it by another."""
    costs = []
    for dsn in dsns:
        with psycopg.connect(dsn, autocommit=True) as conn:
            costs.append(highest(conn, strategy, agent))
    assert all(cost.scans == {} for cost in costs)
    assert all(cost.blocks <= MOST_BLOCKS[strategy] for cost in costs)
    assert costs[1].blocks <= GROWTH * costs[0].blocks + 30


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_with_statistics(dsns: list[str], strategy: str) -> None:
    """ANALYZE leads the planner nowhere else; nor do custom plans."""
    with psycopg.connect(dsns[1], autocommit=True) as conn, conn.transaction(force_rollback=True):
        conn.execute("ANALYZE")
        conn.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        cost = highest(conn, strategy)
    assert cost.scans == {}
    assert cost.blocks <= MOST_BLOCKS[strategy]


def test_a_common_word_costs_no_scan_of_its_records(dsns: list[str]) -> None:
    """Half of an agent's records have it; the head of its list is enough, alone and with others."""
    blocks = {}
    for own in (2_200, 6_600):
        with psycopg.connect(dsns[0], autocommit=True) as conn:
            write(conn, Texts(own), [("private", ORG, "owner" + str(own))] * own)
            vacuum(conn, "term_posting")
            measure(conn, "word1", "lexical", f"owner{own}")
            blocks[own] = [
                measure(conn, query, "lexical", f"owner{own}").blocks
                for query in ("common", "common word790", "word799 common word798")
            ]
    assert all(b <= MOST_BLOCKS["lexical"] for b in blocks[6_600])
    for small, large in zip(blocks[2_200], blocks[6_600], strict=True):
        assert large <= 1.6 * small + 50
