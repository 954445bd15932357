"""Who finds what by a retrieval plan, what is refused, and what a plan must never show."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import contents, refused, row, rows, scalar
from tests.support.reuse import emptied

FACT = {
    "content": "Rhea's favourite restaurant is Fennelmark.", "kind": "relationship_preference",
    "subject": "rhea", "predicate": "venue_preference", "entities": ["rhea", "my wife"],
    "tags": ["restaurant", "dinner"],
}  # fmt: skip


def plan(*queries: str, **more: Any) -> dict[str, Any]:
    """A plan that asks for memory."""
    asked = list(queries) or ["which restaurant does my wife like"]
    return {"turn_id": 1, "generation": 0, "intent": "ambient", "lexical_queries": asked, **more}


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """The database of this file, empty."""
    with emptied(module_dsn) as conn:
        yield conn


def remember(conn: psycopg.Connection, /, **fields: Any) -> UUID:
    """The id of the fact with some fields changed."""
    made: UUID = row(conn, "remember", **{"agent_id": "ana", "org_id": "acme"} | FACT | fields)[
        "id"
    ]
    return made


def found(
    conn: psycopg.Connection, who: str = "ana", org: str = "acme", /, **more: Any
) -> list[UUID]:
    """The ids that the plan finds."""
    arguments = {"plan": plan(), "agent_id": who, "org_id": org} | more
    return [r["id"] for r in rows(conn, "retrieve", **arguments)]


def test_every_way_to_see_a_record(db: psycopg.Connection) -> None:
    """Own, granted, delegated, public, global: the same fact, the same score, nobody else's."""
    private = remember(db)
    assert found(db) == [private]
    assert found(db, "bob") == []
    mine = row(db, "retrieve", plan=plan(), agent_id="ana", org_id="acme")
    assert mine["rank"] == 1
    assert {k: mine[k] for k in ("content", "kind", "subject", "predicate", "entities")} == {
        k: FACT[k] for k in ("content", "kind", "subject", "predicate", "entities")
    }
    for scope in ("shared", "public", "global"):
        with db.transaction(force_rollback=True):
            rows(db, "forget", ids=[private], agent_id="ana", org_id="acme", strategy="hard_delete")
            made = remember(db, scope=scope)
            if scope == "shared":
                assert found(db, "bob") == []
                rows(db, "share", id=made, to_agents=["bob"], agent_id="ana", org_id="acme",
                     ttl=timedelta(hours=1))  # fmt: skip
            seen = row(db, "retrieve", plan=plan(), agent_id="bob", org_id="acme")
            assert seen["id"] == made
            assert found(db, "bob", "other") == ([made] if scope == "global" else [])
            if scope != "global":
                # Global records have statistics of their own.
                assert seen["score"] == pytest.approx(mine["score"], abs=1e-6)
            if scope == "shared":
                db.execute("UPDATE mnemo.acl SET expires_at = now() - interval '1 s'")
                assert found(db, "bob") == []
                rows(db, "unshare", id=made, from_agents=["bob"], agent_id="ana", org_id="acme")
                row(db, "delegate", to_agent="bob", permission="read", ids=[made], agent_id="ana",
                    org_id="acme")  # fmt: skip
                assert found(db, "bob") == [made]
                assert found(db, "cy") == []


def test_names_of_others_tell_nothing(db: psycopg.Connection) -> None:
    """Whom a name means is read from what the agent may read."""
    remember(db, agent_id="bob", content="x", entities=["rhea", "wife"])
    mine = remember(db, subject="rosa", entities=[], content="Rosa's favourite restaurant is Moor.")
    assert found(db) == [mine], "bob's wife is not ana's"
    before = rows(db, "explain_retrieval", plan=plan(), agent_id="ana", org_id="acme")
    rows(db, "forget", ids=[scalar(db, "SELECT id FROM mnemo.memory WHERE agent_id = 'bob'")],
         agent_id="bob", org_id="acme", strategy="hard_delete")  # fmt: skip
    after = rows(db, "explain_retrieval", plan=plan(), agent_id="ana", org_id="acme")
    for one, other in zip(before, after, strict=True):
        assert one["explanation"]["evidence"] == other["explanation"]["evidence"]
        assert one["explanation"]["rankings"] == other["explanation"]["rankings"]


def test_what_never_comes(db: psycopg.Connection) -> None:
    """Plans, and what is superseded, retracted, deleted, expired, quarantined or not valid now; of
    these explain_retrieval shows only what the agent may read."""
    now = datetime.now(UTC)
    good = remember(db)
    gone = {
        "superseded": remember(db, status="superseded"),
        "retracted": remember(db, status="retracted"),
        "not_yet_valid": remember(db, valid_from=now + timedelta(days=1)),
        "no_longer_valid": remember(
            db, valid_from=now - timedelta(days=2), valid_to=now - timedelta(days=1)
        ),
    }
    remember(db, agent_id="bob", status="superseded")
    forgotten, expired, held = remember(db), remember(db), remember(db)
    rows(db, "forget", ids=[forgotten], agent_id="ana", org_id="acme")
    db.execute("UPDATE mnemo.memory SET expires_at = now() WHERE id = %s", [expired])
    db.execute("UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [held])
    row(db, "remember_plan", query="which restaurant does my wife like", steps=["ask"],
        chunk_ids=[], outcome_score=1, agent_id="ana", org_id="acme")  # fmt: skip
    assert found(db) == [good]
    told = rows(db, "explain_retrieval", plan=plan(), agent_id="ana", org_id="acme")
    assert {r["verdict"]: r["id"] for r in told} == {"returned": good} | gone
    assert [r["rank"] for r in told] == list(range(1, len(told) + 1))
    other = rows(db, "explain_retrieval", plan=plan(kind_filter=["routine"]), agent_id="ana",
                 org_id="acme")  # fmt: skip
    assert {r["id"]: r["verdict"] for r in other} == {good: "kind_filter"} | {
        memory: verdict for verdict, memory in gone.items()
    }


def test_a_plan_that_needs_no_memory_touches_nothing(db: psycopg.Connection) -> None:
    """No rows, and no table is read."""
    remember(db)
    for asked in (
        plan(requires_memory=False),
        plan("the restaurant of my wife", intent="none"),
        {"turn_id": 1, "generation": 0, "intent": "ambient", "topics": ["restaurant"]},
    ):
        with db.transaction():
            db.execute("LOCK mnemo.term_posting, mnemo.memory IN ACCESS EXCLUSIVE MODE")
            with psycopg.connect(db.info.dsn, autocommit=True) as reader:
                reader.execute("SET lock_timeout = '5s'")
                for function in ("retrieve", "explain_retrieval"):
                    assert rows(reader, function, plan=asked, agent_id="ana", org_id="acme") == []


def test_reads_only(db: psycopg.Connection) -> None:
    """In a read-only transaction, and every table is the same afterwards."""
    remember(db)
    before = contents(db)
    with db.transaction():
        db.execute("SET TRANSACTION READ ONLY")
        assert len(found(db)) == 1
        assert rows(db, "explain_retrieval", plan=plan(), agent_id="ana", org_id="acme")
    assert contents(db) == before


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no plan": ({"plan": None}, "22023", "p_plan"),
    "wrong type": ({"plan": {"turn_id": "x", "generation": 0}}, "22023", "p_plan"),
    "unknown intent": ({"plan": plan(intent="guess")}, "22023", "p_plan"),
    "long query": ({"plan": plan("x" * 100_001)}, "54000", "p_plan"),
    "limit 0": ({"limit": 0}, "22023", "p_limit"),
    "limit NULL": ({"limit": None}, "22023", "p_limit"),
    "limit 1001": ({"limit": 1001}, "22023", "p_limit"),
    "temporal": ({"temporal": "maybe"}, "22023", "p_temporal"),
    "temporal NULL": ({"temporal": None}, "22023", "p_temporal"),
    "embedding": ({"embedding": "[1,2]"}, "55000", "p_embedding"),
    "model": ({"model": "m"}, "55000", "p_model"),
    "mode before arguments": ({"embedding": "[1]", "limit": 0}, "55000", "p_embedding"),
    "agent": ({"agent_id": "no name"}, "22023", "p_agent_id"),
    "agent first": ({"agent_id": "", "limit": 0}, "22023", "p_agent_id"),
    "organisation *": ({"org_id": "*"}, "22023", "p_org_id"),
}  # fmt: skip


def test_bad_arguments(db: psycopg.Connection) -> None:
    """Each has its code and names its parameter, for plans that need no memory too."""
    for name, (change, code, parameter) in BAD.items():
        for function in ("retrieve", "explain_retrieval"):
            for asked in (plan(), plan(requires_memory=False)):
                arguments = {"plan": asked, "agent_id": "ana", "org_id": "acme"} | change
                with refused(code, parameter):
                    rows(db, function, **arguments)
                    raise AssertionError(name)


def test_levels(db: psycopg.Connection) -> None:
    """A tenant is who it is bound to; without a level nobody retrieves."""
    private, other = remember(db), remember(db, agent_id="ben")
    for name in ("retrieval_tenant", "retrieval_nobody", "retrieval_lost"):
        db.execute(f"DROP ROLE IF EXISTS {name}")  # type: ignore[arg-type]
        db.execute(f"CREATE ROLE {name}")  # type: ignore[arg-type]
    try:
        db.execute("SELECT mnemo.grant_access('retrieval_tenant', 'tenant')")
        db.execute("SELECT mnemo.bind_role('retrieval_tenant', 'acme', 'ana')")
        db.execute("SELECT mnemo.grant_access('retrieval_lost', 'tenant')")
        db.execute("SET ROLE retrieval_tenant")
        assert [r["id"] for r in rows(db, "retrieve", plan=plan())] == [private]
        for who in ({"agent_id": "ben"}, {"org_id": "other"}, {"agent_id": "ben", "limit": 0}):
            for function in ("retrieve", "explain_retrieval"):
                with refused("42501"):
                    rows(db, function, plan=plan(), **who)
        db.execute("SET ROLE retrieval_lost")
        with refused("42501"):
            rows(db, "retrieve", plan={"turn_id": "x"})
        db.execute("SET ROLE retrieval_nobody")
        for function in ("retrieve", "explain_retrieval"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                rows(db, function, plan=plan())
    finally:
        db.execute("RESET ROLE")
        for name in ("retrieval_tenant", "retrieval_nobody", "retrieval_lost"):
            db.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")  # type: ignore[arg-type]
    assert found(db, "ben") == [other]


def test_records_without_facets_are_found(db: psycopg.Connection) -> None:
    """What was remembered with nothing but its content, by words and by names in them."""
    made = row(db, "remember", content="Rhea loves the restaurant Fennelmark", agent_id="ana",
               org_id="acme")["id"]  # fmt: skip
    for asked in ("rhea restaurant", "which restaurants does Rhea love", "dinner with Rhea"):
        assert found(db, plan=plan(asked)) == [made], asked
    assert found(db, plan=plan("Fennelmark", entities=[{"surface": "Rhea"}])) == [made]
    assert found(db, plan=plan("the user's blood type")) == []


def test_caps(db: psycopg.Connection) -> None:
    """Facts, facts of a predicate, tokens; what fell is told, and the rest still comes."""
    made = [remember(db, content=f"Rhea's favourite restaurant is number {n}") for n in range(4)]
    long = remember(db, predicate="other", content="restaurant of Rhea my wife likes" + " z" * 1000)
    third = remember(db, predicate="third", content="the restaurant that Rhea my wife likes too")
    told = rows(db, "explain_retrieval", plan=plan(), agent_id="ana", org_id="acme")
    verdicts = {r["id"]: r["verdict"] for r in told}
    assert sorted(verdicts[i] for i in made) == ["per_predicate"] * 2 + ["returned"] * 2
    assert (verdicts[long], verdicts[third]) == ("budget", "returned")
    assert found(db) == [r["id"] for r in told if r["verdict"] == "returned"]
    assert len(found(db, plan=plan(intent="explicit_recall"))) == 5
    assert len(found(db, limit=1)) == 1
    assert verdicts[long] == "budget"
    assert long in found(db, limit=30), "100 tokens for each fact, if that is more"


def test_a_plan_that_names_somebody_and_asks_for_nothing(db: psycopg.Connection) -> None:
    """All about whom it names; those of its time first, even where lists of words do not lead."""
    now = datetime.now(UTC)
    mine = [
        remember(db, content=f"The user has fact {n}", subject="user", predicate=f"p{n}", tags=[],
                 entities=[], kind="identity", valid_from=now - timedelta(days=9))
        for n in range(60)
    ]  # fmt: skip
    about = found(db, plan={"turn_id": 0, "generation": 0, "intent": "explicit_recall",
                            "entities": [{"surface": "me", "canonical": "user"}],
                            "lexical_queries": ["user"]})  # fmt: skip
    assert len(about) == 5
    assert set(about) < set(mine)
    late = remember(
        db, content="The user planted one very long row of trees along the river", subject="user",
        predicate="event", entities=[], kind="identity", valid_from=now - timedelta(hours=20),
    )  # fmt: skip
    db.execute(
        "UPDATE mnemo.memory SET created_at = now() - interval '1 day' WHERE id = %s", [late]
    )
    asked = {
        "turn_id": 0, "generation": 0, "intent": "prior_event_reference",
        "entities": [{"surface": "I", "canonical": "user"}], "lexical_queries": ["user"],
        "temporal": {"after": (now - timedelta(days=2)).isoformat(), "before": now.isoformat()},
    }  # fmt: skip
    assert found(db, plan=asked)[0] == late
    assert found(db, plan=asked, temporal="filter") == [late]
