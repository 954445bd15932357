"""A streaming replica answers every read and refuses every write with one clear error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from mnemo_pg import Mnemo, ReadOnlyError, RecallReason
from tests.support.calls import contents, row, rows, scalar, value, wait_until
from tests.support.every import drop_roles, prepare
from tests.support.installs import install
from tests.support.server import SETTINGS, SUPERUSER, Server

DATABASE = "replicated"
QUERY = "how do I reset my password"
NEARLY = "reset the password"
DEADLINE = 60


class Pair:
    """A primary and its replica, in one folder, each with a socket of its own."""

    def __init__(self) -> None:
        self.primary = Server()
        self.folder = self.primary.folder / "replica"
        self.data = self.folder / "data"
        try:
            self.primary.run(
                "pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync",
                "-d", self.primary.dsn(),
            )  # fmt: skip
            options = " ".join(f'-c "{setting}"' for setting in SETTINGS)
            self.primary.run(
                "pg_ctl", "-D", self.data, "-w", "-l", self.primary.folder / "replica.log",
                "-o", f"-k {self.folder} {options}", "start",
            )  # fmt: skip
        except BaseException:
            self.stop()
            raise

    def dsn(self, user: str = SUPERUSER) -> str:
        """The connection string of the replica."""
        return self.primary.dsn(DATABASE, host=str(self.folder), user=user)

    def catch_up(self) -> None:
        """Return once the replica has replayed what the primary has written so far."""
        with self.primary.connect() as conn:
            written = scalar(conn, "SELECT pg_current_wal_insert_lsn()::text")
        end = time.monotonic() + DEADLINE
        with psycopg.connect(self.dsn(), autocommit=True, dbname="postgres") as conn:
            while not scalar(conn, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written):
                assert time.monotonic() < end, f"the replica did not reach {written}"

    def stop(self) -> None:
        """Stop both and remove the folder."""
        if (self.data / "postmaster.pid").exists():
            self.primary.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        self.primary.stop()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A primary with mnemo_pg and its replica."""
    running = Pair()
    try:
        running.primary.create_database(DATABASE)
        install(running.primary, DATABASE, "psql")
        with running.primary.connect(DATABASE) as conn:
            conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
            # Plans of one question side by side.
            conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
            conn.execute("CREATE ROLE tenant_of_acme LOGIN")
            conn.execute("CREATE ROLE app LOGIN")
            conn.execute("SELECT mnemo.grant_access('tenant_of_acme', 'tenant')")
            conn.execute("SELECT mnemo.bind_role('tenant_of_acme', 'acme', 'ben')")
            conn.execute("SELECT mnemo.grant_access('app', 'application')")
        running.catch_up()
        yield running
    finally:
        running.stop()


@pytest.fixture
def primary(pair: Pair) -> Iterator[psycopg.Connection]:
    """A connection to the primary, its tables emptied but for settings and levels."""
    with pair.primary.connect(DATABASE) as conn:
        conn.execute("TRUNCATE mnemo.memory, mnemo.event CASCADE")
        yield conn


@pytest.fixture
def replica(pair: Pair) -> Iterator[psycopg.Connection]:
    """A connection to the replica."""
    with psycopg.connect(pair.dsn(), autocommit=True) as conn:
        yield conn


def remember(conn: psycopg.Connection, query: str = QUERY, /, **arguments: Any) -> UUID:
    """Remember a plan; its id."""
    answer = row(conn, "remember_plan", **{
        "query": query, "steps": ["a", "b"], "chunk_ids": ["c"], "outcome_score": 0.9,
        "org_id": "acme", "agent_id": "ana", **arguments,
    })  # fmt: skip
    found = answer["id"]
    assert isinstance(found, UUID)
    return found


def ageless(answer: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without how old a record was when they were asked for."""
    for line in answer:
        if isinstance(line.get("explanation"), dict):
            line["explanation"].pop("age_hours", None)
    return answer


ANA: dict[str, Any] = {"agent_id": "ana", "org_id": "acme"}
BEN: dict[str, Any] = {"agent_id": "ben", "org_id": "acme"}


def test_a_replica_answers_every_read_as_the_primary_does(
    pair: Pair, primary: psycopg.Connection, replica: psycopg.Connection
) -> None:
    """Row by row the same, for owner, grantee and stranger."""
    own = remember(primary)
    shared = remember(primary, "how do I change my password")
    rows(primary, "share", id=shared, to_agents=["ben"], **ANA)
    everyones = remember(primary, QUERY, scope="global", outcome_score=0.8)
    memory = row(primary, "remember", content="a memory", **ANA)["id"]
    pair.catch_up()
    assert scalar(replica, "SELECT pg_is_in_recovery()") is True
    calls: list[tuple[str, dict[str, Any]]] = [
        ("version", {}),
        ("setting", {"name": "similarity_threshold"}),
        ("setting", {"name": "experience_memory", "org_id": "acme"}),
        ("signature_tokens", {"query": QUERY}),
        ("canonical_predicate", {"text": "Works at"}),
    ]
    for who in (ANA, BEN, {"agent_id": "zoe", "org_id": "globex"}, {}):
        calls += [
            ("recall_plan", {"query": QUERY, **who}),
            ("recall_plan", {"query": NEARLY, "similarity_threshold": 0.5, **who}),
            ("recall_plan", {"query": NEARLY, "similarity_threshold": 0.3, **who}),
            ("recall_plan", {"query": "something else", **who}),
            ("recall_plan", {"query": " ", **who}),
            ("recall_plan", {"query": QUERY, "context": "other", **who}),
            ("recall_plans", {"query": QUERY, "similarity_threshold": 0.3, "limit": 10, **who}),
            ("recall", {"query": None, "strategy": "exact", **who}),
            ("get_memories", {"ids": [own, shared, everyones, memory], **who}),
            ("get_plan", {"id": everyones, **who}),
            ("list_plans", {**who}),
            ("list_plans", {"limit": 1, "after": everyones, **who}),
            ("check_permission", {"id": own, "permission": "share", **who}),
            ("check_permission", {"id": shared, "permission": "read", **who}),
        ]
    seen = 0
    for function, arguments in calls:
        expected = ageless(rows(primary, function, **arguments))
        seen += len(expected)
        assert ageless(rows(replica, function, **arguments)) == expected, (function, arguments)
    assert seen > 60
    assert row(replica, "recall_plan", query=QUERY, **ANA)["id"] == own
    assert row(replica, "recall_plan", query="change my password how", **BEN)["id"] == shared
    assert row(replica, "recall_plan", query=QUERY, **BEN)["id"] == everyones
    view = "SELECT * FROM mnemo.plan ORDER BY id"
    assert replica.execute(view).fetchall() == primary.execute(view).fetchall()


def test_what_changes_on_the_primary_changes_on_the_replica(
    pair: Pair, primary: psycopg.Connection, replica: psycopg.Connection
) -> None:
    """Also in a session whose statements were planned before."""
    answers = []

    def look() -> None:
        pair.catch_up()
        answers.append(tuple(
            row(replica, "recall_plan", query=QUERY, **who)["id"] for who in (ANA, BEN)
        ))  # fmt: skip

    look()
    plan = remember(primary)
    look()
    rows(primary, "share", id=plan, to_agents=["ben"], **ANA)
    look()
    primary.execute("UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [plan])
    look()
    primary.execute("UPDATE mnemo.memory SET quarantined = false WHERE id = %s", [plan])
    look()
    rows(primary, "unshare", id=plan, from_agents=["ben"], **ANA)
    look()
    rows(primary, "forget", ids=[plan], **ANA)
    look()
    none = (None, None)
    assert answers == [none, (plan, None), (plan, plan), none, (plan, plan), (plan, None), none]


def test_ends_come_without_a_write(
    pair: Pair, primary: psycopg.Connection, replica: psycopg.Connection
) -> None:
    """The replica's own clock ends plans and grants."""
    lasting = remember(primary)
    ending = remember(primary, outcome_score=1, ttl="2 seconds")
    pair.catch_up()
    end = scalar(replica, "SELECT expires_at FROM mnemo.memory WHERE id = %s", ending)
    wait_until(replica, end)
    assert row(replica, "recall_plan", query=QUERY, **ANA)["id"] == lasting


def test_levels_and_bindings_hold_on_the_replica(pair: Pair, primary: psycopg.Connection) -> None:
    """A tenant sees what it is bound to, an application names whom it likes."""
    plan = remember(primary, scope="public")
    pair.catch_up()
    with psycopg.connect(pair.dsn("tenant_of_acme"), autocommit=True) as tenant:
        assert row(tenant, "recall_plan", query=QUERY)["id"] == plan
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            row(tenant, "recall_plan", query=QUERY, org_id="globex")
    with psycopg.connect(pair.dsn("app"), autocommit=True) as application:
        assert row(application, "recall_plan", query=QUERY, **BEN)["id"] == plan
        assert row(application, "recall_plan", query=QUERY)["id"] is None


def test_the_wrapper_reads_from_a_replica(pair: Pair, primary: psycopg.Connection) -> None:
    """Mnemo needs nothing but a connection string."""
    plan = remember(primary)
    pair.catch_up()
    with Mnemo(pair.dsn(), agent_id="ana", org_id="acme") as client:
        match = client.recall_plan(QUERY)
        assert (match.hit, match.id, match.reason) == (True, plan, RecallReason.EXACT)
        assert [found.id for found in client.list_plans()] == [plan]


def test_every_function_of_the_catalog(
    pair: Pair, primary: psycopg.Connection, replica: psycopg.Connection
) -> None:
    """What only reads answers; what would change something is refused with 25006, the error of
    PostgreSQL itself."""
    calls = prepare(primary)
    pair.catch_up()
    answered, refused = set(), set()
    for call in calls:
        before = contents(primary)
        with primary.transaction(force_rollback=True):
            call.run(primary)
            writes = contents(primary) != before
        assert call.volatile or not writes, call.function
        try:
            call.run(replica)
        except psycopg.errors.ReadOnlySqlTransaction:
            # One that finds nothing to change may take a lock that a standby does not give.
            assert call.volatile, call.function
            refused.add(call.function)
        else:
            assert not writes, call.function
            answered.add(call.function)
    assert answered >= {"recall", "recall_plan", "recall_plans", "explain_recall_plan", "get_plan"}
    assert refused >= {"remember", "remember_plan", "remember_plans", "forget", "share", "unshare",
                       "configure", "grant_access", "revoke_access", "bind_role",
                       "unbind_role"}  # fmt: skip
    drop_roles(primary)
    # A plan that is not good enough is not written, so there is nothing to refuse.
    answer = row(replica, "remember_plan", query=QUERY, steps=[], chunk_ids=[], outcome_score=0.1)
    assert answer["status"] == "below_threshold"


def test_the_wrapper_says_where_to_write(pair: Pair, primary: psycopg.Connection) -> None:
    """One exception for every write, with the remedy."""
    plan = remember(primary)
    pair.catch_up()
    plan_of_a_batch = {"query": "x y z", "steps": [], "chunk_ids": [], "outcome_score": 1}
    with Mnemo(pair.dsn(), agent_id="ana", org_id="acme") as client:
        for write in (
            lambda: client.remember("a memory"),
            lambda: client.remember("a memory", idempotency_key="k"),
            lambda: client.remember_plan("x y z", [], [], 1),
            lambda: client.remember_plans([plan_of_a_batch], on_error="skip"),
            lambda: client.forget([plan]),
            lambda: client.share(plan, ["ben"]),
            lambda: client.configure("similarity_threshold", None),
        ):
            with pytest.raises(ReadOnlyError) as caught:
                write()
            assert (caught.value.sqlstate, caught.value.retryable) == ("25006", False)
            assert "primary" in str(caught.value.hint)
        assert client.recall_plan(QUERY).id == plan


def test_a_promoted_replica_takes_over(pair: Pair, primary: psycopg.Connection) -> None:
    """It has every plan and goes on writing. The last test: the pair is none afterwards."""
    plan = remember(primary)
    pair.catch_up()
    pair.primary.run("pg_ctl", "-D", pair.data, "-w", "promote")
    with psycopg.connect(pair.dsn(), autocommit=True) as conn:
        assert row(conn, "recall_plan", query=QUERY, **ANA)["id"] == plan
        new = remember(conn, "a question after the promotion")
        assert row(conn, "recall_plan", query="after the promotion question", **ANA)["id"] == new
        assert value(conn, "check_permission", id=plan, permission="share", **ANA) is True
        assert conn.execute(sql.SQL("SELECT count(*) FROM mnemo.plan")).fetchone() == (2,)
