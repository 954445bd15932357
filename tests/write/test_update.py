"""update_memory: what changes, what stays, what is refused, and versions against a model."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import contents, refused, row, rows, scalar
from tests.support.records import remember, remember_plan
from tests.write.conftest import HOSTILE, stored, update, whole

VERSION = {"version", "updated_at", "content_hash"}


def test_words_change_and_the_earlier_version_is_kept(db: psycopg.Connection) -> None:
    record = remember(db, "Ada likes aisles", subject="Ada", tags=["a"], agent_id="ana")
    before = stored(db, record)
    assert update(db, record, {"content": "Ada likes windows"}, agent_id="ana") == {
        "id": record, "version": 2, "status": "updated",
    }  # fmt: skip
    after = stored(db, record)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == VERSION | {"content", "created_at", "prev_version_id"}
    kept = stored(db, UUID(after["prev_version_id"]))
    differing = {name for name in kept if kept[name] != before[name]}
    assert differing == {
        "id", "nonce", "content_hash", "consolidation_state", "status", "updated_at",
    }  # fmt: skip
    assert (kept["consolidation_state"], kept["status"]) == ("archived", "superseded")
    found = rows(db, "recall", query="Ada likes aisles windows", agent_id="ana")
    assert [one["id"] for one in found] == [record]
    assert rows(db, "get_memories", ids=[kept["id"]], agent_id="ana") == []
    assert [one["id"] for one in rows(db, "recall", query="aisles", strategy="lexical",
                                      agent_id="ana")] == []  # fmt: skip
    whole(db)


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        ({"importance": 0.25}, {"importance"}),
        ({"status": "superseded", "valid_to": "2999-01-01T00:00:00Z"}, {"status", "valid_to"}),
        ({"ttl": "P1D"}, {"expires_at"}),
        ({"scope": "public"}, {"scope"}),
        ({"consolidation_state": "consolidated"}, {"consolidation_state"}),
    ],
)
def test_what_is_not_said_changes_in_place(
    db: psycopg.Connection, changes: dict[str, Any], columns: set[str]
) -> None:
    """The version grows, the words, their hash and their time stay."""
    record = remember(db, "x", agent_id="ana")
    before = stored(db, record)
    assert update(db, record, changes, agent_id="ana")["version"] == 2
    after = stored(db, record)
    assert {name for name in after if after[name] != before[name]} == columns | {
        "version", "updated_at",
    }  # fmt: skip
    assert scalar(db, "SELECT count(*) FROM mnemo.memory") == 1
    whole(db)


def test_nothing_is_written_where_nothing_differs(db: psycopg.Connection) -> None:
    record = remember(db, "x", subject="Ada  Lovelace", tags=["a"])
    before = contents(db)
    answer = update(db, record, {"content": "x", "subject": "ADA lovelace", "tags": ["a", "a"]})
    assert answer == {"id": record, "version": 1, "status": "unchanged"}
    assert contents(db) == before


def test_null_takes_away(db: psycopg.Connection) -> None:
    record = remember(db, "x", subject="Ada", location="Rome", confidence=0.5, ttl="1 day")
    update(db, record, {"subject": None, "location": None, "confidence": None, "ttl": None})
    after = stored(db, record)
    assert [after[name] for name in ("subject", "location", "confidence", "expires_at")] == [
        None, None, None, None,
    ]  # fmt: skip
    whole(db)


def test_grants_follow(db: psycopg.Connection) -> None:
    """By id, since the id stays: also in the term index."""
    record = remember(db, "first words", agent_id="ana")
    rows(db, "share", id=record, to_agents=["ben"], permission="write", agent_id="ana")
    assert update(db, record, {"content": "second words"}, agent_id="ben")["version"] == 2
    found = rows(db, "recall", query="second", strategy="lexical", agent_id="ben")
    assert [one["id"] for one in found] == [record]
    assert stored(db, record)["agent_id"] == "ana"
    actors = db.execute("SELECT actor_agent_id FROM mnemo.event ORDER BY id").fetchall()
    assert [actor for (actor,) in actors] == ["ana", "ana", "ben", "ben"]
    update(db, record, {"scope": "private"}, agent_id="ana")
    assert rows(db, "get_memories", ids=[record], agent_id="ben") == []
    assert scalar(db, "SELECT count(*) FROM mnemo.acl") == 0
    assert scalar(
        db, "SELECT changes ->> 'agents' FROM mnemo.event WHERE event_type = 'memory_unshare'"
    ) == '["ben"]'  # fmt: skip
    whole(db)


def test_plans_change_in_tags_ttl_and_scope_alone(db: psycopg.Connection) -> None:
    query = "how do I reset the badge of a visitor"
    plan = remember_plan(db, query, agent_id="ana")
    rows(db, "share", id=plan, to_agents=["ben"], agent_id="ana")
    update(db, plan, {"tags": ["badges"], "ttl": "P1D"}, agent_id="ana")
    assert stored(db, plan)["tags"] == ["__experience_plan__", "badges"]
    for agent in ("ana", "ben"):
        hit = row(db, "recall_plan", query=query, agent_id=agent)
        assert (hit["hit"], hit["id"]) == (True, plan)
    assert not row(db, "recall_plan", query=query, agent_id="cem")["hit"]
    update(db, plan, {"scope": "public"}, agent_id="ana")
    assert row(db, "recall_plan", query=query, agent_id="cem")["hit"]
    update(db, plan, {"scope": "private"}, agent_id="ana")
    assert not row(db, "recall_plan", query=query, agent_id="ben")["hit"]
    assert len(rows(db, "list_plans", agent_id="ana")) == 1
    before = contents(db)
    for changes in (
        {"content": "y"},
        {"importance": 0.1},
        {"metadata": {}},
        {"tags": [], "kind": "x"},
    ):
        with refused("22023", "p_changes"):
            update(db, plan, changes, agent_id="ana")
    assert contents(db) == before
    whole(db)


def test_a_change_is_screened(db: psycopg.Connection) -> None:
    """Else a record could be written harmless and poisoned afterwards."""
    record = remember(db, "harmless", agent_id="ana")
    assert update(db, record, {"content": HOSTILE}, agent_id="ana")["status"] == "quarantined"
    assert rows(db, "get_memories", ids=[record], agent_id="ana") == []
    with refused("MN001", "p_id"):
        update(db, record, {"content": "harmless again"}, agent_id="ana")
    row(db, "release", id=record)
    assert len(rows(db, "get_memories", ids=[record], agent_id="ana")) == 1
    whole(db)


BAD: list[tuple[Any, str]] = [
    (None, "22023"),
    ([], "22023"),
    ({}, "22023"),
    ({"colour": "red"}, "22023"),
    ({"agent_id": "ben"}, "22023"),
    ({"org_id": "acme"}, "22023"),
    ({"source_type": "human"}, "22023"),
    ({"quarantined": False}, "22023"),
    ({"version": 9}, "22023"),
    ({"content": None}, "22023"),
    ({"content": " \u3000"}, "22023"),
    ({"content": 5}, "22023"),
    ({"content": "y" * 1_048_577}, "54000"),
    ({"importance": 1.5}, "22023"),
    ({"importance": "0.5"}, "22023"),
    ({"importance": 1e400}, "22023"),
    ({"tags": "a"}, "22023"),
    ({"tags": [None]}, "22023"),
    ({"tags": ["__experience_plan__"]}, "22023"),
    ({"tags": [str(n) for n in range(101)]}, "54000"),
    ({"metadata": []}, "22023"),
    ({"metadata": {"experience_plan": {}}}, "22023"),
    ({"scope": "global"}, "22023"),
    ({"scope": "everyone"}, "22023"),
    ({"memory_type": "dream"}, "22023"),
    ({"consolidation_state": "forgotten"}, "22023"),
    ({"status": "gone"}, "22023"),
    ({"kind": "colour"}, "22023"),
    ({"temporal_scope": None}, "22023"),
    ({"confidence": -0.1}, "22023"),
    ({"ttl": "soon"}, "22023"),
    ({"ttl": "PT0S"}, "22023"),
    ({"ttl": 60}, "22023"),
    ({"valid_from": "2026-02-30T00:00:00Z"}, "22023"),
    ({"valid_from": "2026-02-03T00:00:00"}, "22023"),
    ({"valid_to": "yesterday"}, "22023"),
    ({"valid_to": "1999-01-01T00:00:00Z"}, "22023"),
    ({"predicate": "!!!"}, "22023"),
    ({"subject": "s" * 257}, "54000"),
]


def test_bad_changes_are_refused_and_change_nothing(db: psycopg.Connection) -> None:
    record = remember(db, "x", agent_id="ana")
    before = contents(db)
    for changes, code in BAD:
        given = changes if isinstance(changes, dict) else Jsonb(changes)
        with refused(code, "p_changes"):
            if changes == {"importance": 1e400}:
                given = Jsonb(None, dumps=lambda _: '{"importance": 1e400}')
            row(db, "update_memory", id=record, changes=given, agent_id="ana")
    with refused("22023", "p_id"):
        row(db, "update_memory", id=None, changes={"content": "y"}, agent_id="ana")
    with refused("22023", "p_expected_version"):
        update(db, record, {"content": "y"}, expected_version=0, agent_id="ana")
    assert contents(db) == before


def test_who_may_change(db: psycopg.Connection) -> None:
    mine = remember(db, "mine", agent_id="ana")
    public = remember(db, "public", scope="public", agent_id="ana")
    everywhere = remember(db, "global", scope="global", agent_id="ana")
    rows(db, "share", id=mine, to_agents=["ben"], permission="write", agent_id="ana")
    before = contents(db)
    for who in ({"agent_id": "cem"}, {"agent_id": "ana", "org_id": "acme"}):
        with refused("MN001", "p_id"):
            update(db, mine, {"content": "y"}, **who)
    with refused("MN001", "p_id"):
        update(db, uuid4(), {"content": "y"}, agent_id="ana")
    for record in (public, everywhere):
        with refused("42501", "p_id"):
            update(db, record, {"content": "y"}, agent_id="ben")
    with refused("42501", "p_id"):
        update(db, mine, {"scope": "public"}, agent_id="ben")
    with refused("22023", "p_changes"):
        update(db, everywhere, {"scope": "public"}, agent_id="ana")
    assert contents(db) == before
    update(db, everywhere, {"content": "better"}, agent_id="ana")
    assert stored(db, everywhere)["org_id"] == "*"
    whole(db)


def test_a_tenant_changes_its_own_and_nothing_global(db: psycopg.Connection) -> None:
    own = remember(db, "own", agent_id="ben", org_id="acme")
    everywhere = remember(db, "global", scope="global", agent_id="ben", org_id="acme")
    db.execute("DROP ROLE IF EXISTS write_tenant")
    db.execute("CREATE ROLE write_tenant")
    try:
        db.execute("SELECT mnemo.grant_access('write_tenant', 'tenant')")
        db.execute("SELECT mnemo.bind_role('write_tenant', 'acme', 'ben')")
        db.execute("SET ROLE write_tenant")
        assert update(db, own, {"content": "better"})["version"] == 2
        with refused("42501", "p_id"):
            update(db, everywhere, {"content": "y"})
        with refused("42501", "p_agent_id"):
            update(db, own, {"content": "y"}, agent_id="ana")
        for function in ("release", "purge"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                row(db, function, id=own)
    finally:
        db.execute("RESET ROLE")
        db.execute("DROP OWNED BY write_tenant; DROP ROLE write_tenant")


def test_another_version_is_a_conflict(db: psycopg.Connection) -> None:
    record = remember(db, "x")
    update(db, record, {"content": "y"}, expected_version=1)
    before = contents(db)
    with refused("MN002", "p_expected_version") as refusal:
        update(db, record, {"content": "z"}, expected_version=1)
    assert refusal.detail is not None
    assert refusal.detail["version"] == 2
    assert contents(db) == before


def test_random_changes_against_a_model(db: psycopg.Connection) -> None:
    """Versions, what each said, and who sees the newest, after hundreds of steps."""
    chooser = random.Random(7)
    words: dict[UUID, list[str]] = {}
    versions: dict[UUID, int] = {}
    for number in range(6):
        record = remember(db, f"start {number}", agent_id="ana")
        words[record], versions[record] = [f"start {number}"], 1
    changes: list[Callable[[], dict[str, Any]]] = [
        lambda: {"content": f"words {chooser.randint(1, 3)}"},
        lambda: {"importance": chooser.randint(0, 3) / 4},
        lambda: {"scope": chooser.choice(("private", "shared", "public"))},
        lambda: {"content": f"words {chooser.randint(1, 3)}", "status": "active"},
    ]
    for _ in range(150):
        record = chooser.choice(list(words))
        wanted = chooser.choice(changes)()
        expected = versions[record] + chooser.choice((0, 0, 0, 1))
        now = stored(db, record)
        if expected != versions[record]:
            with refused("MN002"):
                update(db, record, wanted, expected_version=expected, agent_id="ana")
            continue
        answer = update(db, record, wanted, expected_version=expected, agent_id="ana")
        if all(now[key] == new for key, new in wanted.items()):
            assert answer["status"] == "unchanged"
            continue
        versions[record] += 1
        assert (answer["version"], answer["status"]) == (versions[record], "updated")
        if wanted.get("content", now["content"]) != now["content"]:
            words[record].append(wanted["content"])
    for record, said in words.items():
        found, next_id = [], str(record)
        while next_id:
            one = stored(db, UUID(next_id))
            found.append(one["content"])
            next_id = one["prev_version_id"]
        assert found[::-1] == said
        assert stored(db, record)["version"] == versions[record]
    listed = {one["id"] for one in rows(db, "recall", query=None, strategy="recent", limit=100,
                                        agent_id="ana")}  # fmt: skip
    assert listed == set(words)
    whole(db)
