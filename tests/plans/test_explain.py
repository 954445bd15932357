"""What a recall touches: index look-ups of a constant size, however many plans there are.

Times depend on the machine, blocks and rows do not. Autovacuum is off on the test server, so that
each test decides whether the planner has statistics.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from tests.support.calls import row, rows
from tests.support.server import Server

ORG, AGENT = "acme", "ana"
SIZES = (5_000, 20_000)
WATCHED = ("memory", "plan_signature")

# At thresholds that the keys cover: a query of 13 words probes more keys at a lower one. Each key
# costs the descent of an index, whether plans have it or not.
MOST_BLOCKS = {0.85: 400, 0.7: 600, 0.6: 1000}
MOST_ROWS = 500
# An identical signature is one look-up in each of four audiences.
MOST_EXACT_BLOCKS = 100


@dataclass(frozen=True)
class Cost:
    """What one call has touched."""

    blocks: int
    rows: int
    scans: dict[str, int]


def touched(conn: psycopg.Connection) -> dict[str, tuple[int, int]]:
    """Sequential scans and rows read of the watched tables in this session so far."""
    return {
        name: (scans, read)
        for name, scans, read in conn.execute(
            "SELECT relname, seq_scan, seq_tup_read + coalesce(idx_tup_fetch, 0)"
            "  FROM pg_stat_xact_user_tables WHERE schemaname = 'mnemo' AND relname = ANY (%s)",
            [list(WATCHED)],
        )
    }


def measure(conn: psycopg.Connection, call: str, *arguments: object) -> Cost:
    """Run a call, all statements inside it included."""
    with conn.transaction(force_rollback=True):
        before = touched(conn)
        explained = conn.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM {call}",  # type: ignore[arg-type]
            arguments,
            prepare=False,
        ).fetchone()
        after = touched(conn)
    assert explained is not None
    plan = explained[0][0]["Plan"]
    return Cost(
        blocks=plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        rows=sum(after[name][1] - before[name][1] for name in WATCHED),
        scans={
            name: after[name][0] - before[name][0]
            for name in WATCHED
            if after[name][0] > before[name][0]
        },
    )


def recall(conn: psycopg.Connection, query: str, threshold: float, guard: str = "strict") -> Cost:
    """The cost of one recall_plan of the caller."""
    return measure(
        conn, "mnemo.recall_plan(%s, %s, %s, %s, %s)", query, AGENT, ORG, threshold, guard
    )  # fmt: skip


class Questions:
    """A seeded source of questions whose words are as uneven as those of a language."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        syllables = [first + last for first in "bcdfghklmnprstvz" for last in "aeiou"]
        self.words = [
            "".join(self.chooser.choices(syllables, k=self.chooser.choice((2, 2, 3, 3, 4, 5))))
            for _ in range(3000)
        ]
        self.weights = [1 / (rank + 5) for rank in range(len(self.words))]

    def make(self) -> str:
        """One question of four to twelve words."""
        return " ".join(
            self.chooser.choices(self.words, self.weights, k=self.chooser.randint(4, 12))
        )


def store(conn: psycopg.Connection, plans: Sequence[dict[str, object]]) -> None:
    """Remember plans, steps and score filled in."""
    for start in range(0, len(plans), 10_000):
        conn.execute(
            "SELECT count(*) FROM mnemo.remember_plans(%s::jsonb)",
            [
                json.dumps([
                    {"steps": ["s"], "chunk_ids": [], "outcome_score": 0.9, **plan}
                    for plan in plans[start : start + 10_000]
                ])
            ],
        )  # fmt: skip


def visible(questions: Questions, count: int) -> list[dict[str, object]]:
    """Plans that the caller sees: its own, those of its organisation, everyone's."""
    return [
        {
            "query": questions.make(),
            "org_id": ORG if scope != "global" else "elsewhere",
            "agent_id": AGENT if scope == "private" else f"agent-{number % 7}",
            "scope": scope,
        }
        for number in range(count)
        for scope in [("private", "public", "public", "global")[number % 4]]
    ]


def asked(plans: Sequence[dict[str, object]]) -> dict[str, list[str]]:
    """Questions of each kind near plans that are there: as many of each."""
    chooser = random.Random(99)
    known = [str(plan["query"]) for plan in chooser.sample(list(plans), 10)]
    return {
        "exact": known,
        "near": [f"{query} zzz" for query in known],
        "miss": [
            " ".join(word + "x" * (place % 2) for place, word in enumerate(query.split()))
            for query in known
        ],
    }


@dataclass(frozen=True)
class Filled:
    """A database with plans and questions to them."""

    dsn: str
    count: int
    queries: dict[str, list[str]]


@contextmanager
def database(server: Server, template: str, name: str) -> Iterator[str]:
    """A clone of the template for as long as the block runs."""
    dsn = server.create_database(name, template)
    try:
        yield dsn
    finally:
        server.drop_database(name)


@pytest.fixture(scope="module", params=SIZES)
def filled(request: pytest.FixtureRequest, server: Server, template: str) -> Iterator[Filled]:
    """Databases of two sizes whose plans the caller all sees; never analyzed."""
    count = request.param
    plans = visible(Questions(7), count)
    with database(server, template, f"explain_{count}") as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            store(conn, plans)
        yield Filled(dsn, count, asked(plans))


@pytest.fixture
def session(filled: Filled) -> Iterator[psycopg.Connection]:
    """A session that has recalled once, so that the catalogs are read."""
    with psycopg.connect(filled.dsn, autocommit=True) as conn:
        recall(conn, "a first question to warm up", 0.7)
        yield conn


def assert_bounded(conn: psycopg.Connection, queries: dict[str, list[str]]) -> dict[str, Cost]:
    """Every kind of recall within its bound and without a sequential scan; the worst of each."""
    worst: dict[str, Cost] = {}
    for query in queries["exact"]:
        # The first hit of each scope reads the catalogs.
        recall(conn, query, 0.7)
    for threshold, most in MOST_BLOCKS.items():
        for kind, asked_now in queries.items():
            for query in asked_now:
                cost = recall(conn, query, threshold)
                assert cost.scans == {}, (kind, query)
                assert cost.rows <= MOST_ROWS, (kind, query, threshold, cost)
                bound = MOST_EXACT_BLOCKS if kind == "exact" else most
                assert cost.blocks <= bound, (kind, query, threshold, cost)
                if kind not in worst or cost.blocks > worst[kind].blocks:
                    worst[kind] = cost
    return worst


def test_recall_is_bounded_before_analyze(filled: Filled, session: psycopg.Connection) -> None:
    """Right after loading, with no statistics at all."""
    assert_bounded(session, filled.queries)


def test_recall_is_bounded_after_ten_calls(filled: Filled, session: psycopg.Connection) -> None:
    """From the sixth call on PostgreSQL may use a generic plan."""
    for query in filled.queries["near"] + filled.queries["exact"]:
        session.execute(
            "SELECT * FROM mnemo.recall_plan(%s, %s, %s)", [query, AGENT, ORG], prepare=True
        )
    assert_bounded(session, filled.queries)


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan", "auto"])
def test_the_caller_plan_cache_mode_does_not_matter(
    filled: Filled, session: psycopg.Connection, mode: str
) -> None:
    """Whatever plan_cache_mode the session has."""
    session.execute(f"SET plan_cache_mode = {mode}")  # type: ignore[arg-type]
    assert_bounded(session, filled.queries)


def test_recall_is_bounded_after_analyze(filled: Filled, session: psycopg.Connection) -> None:
    """With statistics, in a session that was there before them and in a new one."""
    session.execute("ANALYZE")
    recall(session, "a first question after the statistics", 0.7)
    assert_bounded(session, filled.queries)
    with psycopg.connect(filled.dsn, autocommit=True) as conn:
        recall(conn, "a first question to warm up", 0.7)
        assert_bounded(conn, filled.queries)


def test_single_plans_and_lists_are_bounded(filled: Filled, session: psycopg.Connection) -> None:
    """get_plan, check_permission, get_memories, a page of list_plans at the start and far down."""
    page = rows(session, "list_plans", agent_id=AGENT, org_id=ORG, limit=1000)
    far = page[-1]["id"]
    calls = (
        ("mnemo.get_plan(%s, %s, %s)", (far, AGENT, ORG), 60),
        ("mnemo.check_permission(%s, 'read', %s, %s)", (far, AGENT, ORG), 60),
        ("mnemo.get_memories(ARRAY[%s]::uuid[], %s, %s)", (far, AGENT, ORG), 60),
        ("mnemo.list_plans(50, NULL, %s, %s)", (AGENT, ORG), 600),
        ("mnemo.list_plans(50, %s, %s, %s)", (far, AGENT, ORG), 600),
    )
    for call, arguments, most in calls:
        measure(session, call, *arguments)
        cost = measure(session, call, *arguments)
        # Of a small table every third row is no reason to take an index.
        assert cost.scans == {} or filled.count < 5_000, call
        assert cost.blocks <= most, (call, cost)


def test_writes_scan_nothing(filled: Filled, session: psycopg.Connection) -> None:
    """remember_plan, share, unshare and forget find their rows by index."""
    plan = row(
        session, "remember_plan", query="some new question", steps=[], chunk_ids=[],
        outcome_score=1, agent_id=AGENT, org_id=ORG, idempotency_key="k",
    )["id"]  # fmt: skip
    calls: tuple[tuple[str, tuple[object, ...]], ...] = (
        ("mnemo.remember_plan('another new question', '{}', '{}', 1, %s, 'public', %s)",
         (AGENT, ORG)),
        ("mnemo.remember_plan('another new question', '{}', '{}', 1, %s, 'public', %s,"
         " p_idempotency_key => 'k')", (AGENT, ORG)),
        ("mnemo.share(%s, '{ben}', 'read', NULL, %s, %s)", (plan, AGENT, ORG)),
        ("mnemo.unshare(%s, '{ben}', %s, %s)", (plan, AGENT, ORG)),
        ("mnemo.forget(ARRAY[%s]::uuid[], 'soft_delete', %s, %s)", (plan, AGENT, ORG)),
    )  # fmt: skip
    for call, arguments in calls:
        assert measure(session, call, *arguments).scans == {}, call
    row(session, "forget", ids=[plan], agent_id=AGENT, org_id=ORG)


# What others hold.


def of_other_agents(questions: Questions, count: int) -> list[dict[str, object]]:
    """Private and shared plans of 500 agents of the organisation, none granted to the caller."""
    return [
        {
            "query": questions.make(),
            "org_id": ORG,
            "agent_id": f"agent-{number % 500}",
            "scope": ("private", "shared")[number % 2],
        }
        for number in range(count)
    ]


def of_other_organisations(questions: Questions, count: int) -> list[dict[str, object]]:
    """Two plans in each of many organisations, an agent of the caller's name among them."""
    return [
        {
            "query": questions.make(),
            "org_id": f"org-{number // 2}",
            "agent_id": AGENT,
            "scope": ("private", "public")[number % 2],
        }
        for number in range(count)
    ]


def of_one_signature(questions: Questions, count: int) -> list[dict[str, object]]:
    """The same questions over and over, all invisible to the caller."""
    few = [str(plan["query"]) for plan in visible(Questions(7), 40)]
    return [
        {
            "query": few[number % len(few)],
            "org_id": ORG if number % 2 else "globex",
            "agent_id": f"agent-{number % 100}",
            "scope": "private" if number % 2 else "public",
        }
        for number in range(count)
    ]


def below_the_floor(conn: psycopg.Connection, queries: dict[str, list[str]]) -> list[Cost]:
    """Recalls at a threshold that the keys do not cover."""
    return [recall(conn, query, 0.5) for query in queries["near"]]


@pytest.mark.parametrize("others", [of_other_agents, of_other_organisations, of_one_signature])
def test_plans_of_others_do_not_matter(server: Server, template: str, others: object) -> None:
    """5,000 invisible plans beside 1,000 visible ones cost next to nothing, statistics or not."""
    plans = visible(Questions(7), 1_000)
    queries = asked(plans)
    with (
        database(server, template, "explain_others") as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        store(conn, plans)
        conn.execute("ANALYZE")
        recall(conn, "a first question to warm up", 0.7)
        alone = assert_bounded(conn, queries)
        alone_below = below_the_floor(conn, queries)
        store(conn, others(Questions(8), 5_000))  # type: ignore[operator]
        for statistics in ("SELECT", "ANALYZE"):
            conn.execute(statistics)  # type: ignore[arg-type]
            with psycopg.connect(dsn, autocommit=True) as fresh:
                recall(fresh, "a first question to warm up", 0.7)
                crowded = assert_bounded(fresh, queries)
                for kind, cost in crowded.items():
                    assert cost.rows <= alone[kind].rows * 1.2 + 10, (statistics, kind)
                for before, after in zip(alone_below, below_the_floor(fresh, queries), strict=True):
                    assert after.scans == {}
                    assert after.rows <= before.rows * 1.2 + 10, statistics


def test_many_plans_of_one_signature_are_one_look_up(server: Server, template: str) -> None:
    """5,000 visible plans of the very question: the best is read, the others are not."""
    with (
        database(server, template, "explain_one") as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        store(conn, [
            {"query": "how do I reset it", "org_id": ORG, "agent_id": f"agent-{number % 9}",
             "scope": ("public", "public", "global")[number % 3],
             "outcome_score": 0.5 + number % 50 / 100}
            for number in range(5_000)
        ])  # fmt: skip
        for statistics in ("SELECT", "ANALYZE"):
            conn.execute(statistics)  # type: ignore[arg-type]
            for guard in ("strict", "meaning", "off"):
                recall(conn, "how do I reset it", 0.7, guard)
                cost = recall(conn, "how do I reset it", 0.7, guard)
                assert cost.scans == {}
                assert cost.rows <= 12, (statistics, guard, cost)
                assert cost.blocks <= MOST_EXACT_BLOCKS, (statistics, guard, cost)


def test_a_template_does_not_drown_its_plans(server: Server, template: str) -> None:
    """5,000 questions that differ in a number, all similar enough: only the guard tells them apart.

    The plan that fits is read, the others are not; where none fits, a bounded part of them is.
    """
    asked_of = "list the open orders of vendor {}"
    with (
        database(server, template, "explain_template") as dsn,
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        store(conn, [
            {"query": asked_of.format(1000 + number), "org_id": ORG, "agent_id": AGENT,
             "scope": ("public", "private")[number % 2]}
            for number in range(5_000)
        ])  # fmt: skip
        for statistics in ("SELECT", "ANALYZE"):
            conn.execute(statistics)  # type: ignore[arg-type]
            recall(conn, "a first question to warm up", 0.7)
            for number in (1000, 1017, 5999):
                exact = recall(conn, asked_of.format(number), 0.7)
                assert exact.rows <= 12, (statistics, exact)
                near = recall(conn, asked_of.format(number) + " please", 0.6)
                assert near.rows <= 100, (statistics, near)
                assert near.blocks <= MOST_BLOCKS[0.6], (statistics, near)
            refused = recall(conn, asked_of.format(7777), 0.7)
            assert refused.scans == {}
            assert refused.rows <= 1_500, (statistics, refused)


def test_a_session_from_before_the_plans_is_as_good(server: Server, template: str) -> None:
    """What it has cached over empty tables serves full ones, with statistics and without."""
    plans = visible(Questions(7), 5_000)
    with (
        database(server, template, "explain_early") as dsn,
        psycopg.connect(dsn, autocommit=True) as early,
        psycopg.connect(dsn, autocommit=True) as loader,
    ):
        early.execute("VACUUM ANALYZE")
        for _ in range(10):
            recall(early, "is there anything at all", 0.7)
        store(loader, plans)
        for statistics in ("SELECT", "ANALYZE"):
            loader.execute(statistics)  # type: ignore[arg-type]
            recall(early, "a first question after that", 0.7)
            assert_bounded(early, asked(plans))
