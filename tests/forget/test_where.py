"""mnemo.forget_where and forget_subject: what is met, what is left alone, by whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import Mnemo
from tests.forget.conftest import STATUS, STRATEGIES, count, events, forgotten, memory, plan, stored
from tests.support.calls import contents, refused, row, rows, scalar


def _where(conn: psycopg.Connection, criteria: Any, **arguments: Any) -> dict[UUID, str]:
    return forgotten(conn, "forget_where", criteria=criteria, **arguments)


def _changed(conn: psycopg.Connection, record: UUID) -> bool:
    return len(events(conn, record)) > 0


# ---- criteria

CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "tag": ({"tags": ["b", "z"]}, {"tags": ["a", "b"]}, {"tags": ["a", "B", "bb"]}),
    "no tags": ({"tags": ["b"]}, {"tags": ["b"]}, {}),
    "type": ({"types": ["semantic", "working"]}, {"memory_type": "semantic"}, {}),
    "thread": ({"thread": "t 1"}, {"thread_id": "t 1"}, {"thread_id": "t  1"}),
    "source": ({"source": "s"}, {"source_id": "s"}, {"source_type": "human"}),
    "source type": ({"source_types": ["human"]}, {"source_type": "human"}, {"source_id": "human"}),
    "all must hold": (
        {"tags": ["b"], "thread": "t", "types": ["episodic"], "before": "2999-01-01"},
        {"tags": ["b"], "thread_id": "t"}, {"tags": ["b"], "thread_id": "u"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES)
def test_a_criterion_is_used(tx: psycopg.Connection, case: str, strategy: str) -> None:
    """It decides what goes, and nothing else does."""
    criteria, met, missed = CASES[case]
    goes, stays = memory(tx, **met), memory(tx, **missed)
    foreign = [memory(tx, agent_id="ben", **met), memory(tx, org_id="acme", **met)]
    before = [stored(tx, one) for one in (stays, *foreign)]
    assert _where(tx, criteria, strategy=strategy) == {goes: STATUS[strategy]}
    assert [stored(tx, one) for one in (stays, *foreign)] == before
    assert _where(tx, criteria, strategy=strategy) == {}


@pytest.mark.parametrize(
    "written", ["2020-01-01T00:00:00Z", "2020-01-01", "2020-01-01 05:30+05:30"]
)
def test_before_is_a_time_of_one_meaning(db: psycopg.Connection, written: str) -> None:
    """Whatever the session's zone; the time itself is not before it."""
    old, same = memory(db), memory(db)
    for record, moment in ((old, "2019-12-31 23:59:59.999999Z"), (same, "2020-01-01 00:00:00Z")):
        db.execute("DELETE FROM mnemo.event WHERE memory_id = %s", [record])
        db.execute("UPDATE mnemo.memory SET created_at = %s WHERE id = %s", [moment, record])
    db.execute(
        "UPDATE mnemo.memory AS m SET content_hash = mnemo._content_hash(m);"
        " INSERT INTO mnemo.event (org_id, id, agent_id, event_type, memory_org_id, memory_id,"
        " actor_org_id, actor_agent_id, happened_at, content_hash, changes) SELECT m.org_id,"
        " mnemo._new_id(), m.agent_id, 'memory_write', m.org_id, m.id, m.org_id, m.agent_id,"
        " now(), m.content_hash, mnemo._bound_state(m) FROM mnemo.memory AS m"
    )
    db.execute("SET TimeZone = 'Pacific/Kiritimati'; SET DateStyle = 'SQL, DMY'")
    assert _where(db, {"before": written}) == {old: "deleted"}


def test_plans_are_records(tx: psycopg.Connection) -> None:
    one, other = plan(tx, tags=["t"], thread_id="x"), plan(tx, "how to go")
    assert _where(tx, {"tags": ["t"], "types": ["procedural"], "thread": "x"}) == {one: "deleted"}
    assert _where(tx, {"tags": ["__experience_plan__"]}, strategy="redact") == {
        one: "redacted", other: "redacted",
    }  # fmt: skip


def test_what_the_agent_may_delete_and_no_more(db: psycopg.Connection) -> None:
    """Its own, global ones too, and what a grant that still holds allows; the rest is no error."""
    mine = [memory(db, tags=["t"], scope=s) for s in ("private", "shared", "public", "global")]
    granted = []
    for scope in ("shared", "public"):
        for permission in (None, "read", "write", "delete", "share"):
            record = memory(db, agent_id="ben", tags=["t"], scope=scope)
            if permission is not None:
                rows(db, "share", id=record, to_agents=["ana"], permission=permission,
                     agent_id="ben")  # fmt: skip
            if permission in ("delete", "share"):
                granted.append(record)
    ended = memory(db, agent_id="ben", tags=["t"], scope="shared")
    rows(db, "share", id=ended, to_agents=["ana"], permission="share", ttl="1 microsecond",
         agent_id="ben")  # fmt: skip
    memory(db, agent_id="cem", tags=["t"], scope="global", org_id="acme")
    assert set(_where(db, {"tags": ["t"]}, strategy="redact")) == {*mine, *granted}
    assert {one[0][1] for one in (events(db, r)[-1:] for r in granted)} == {"ana"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_hidden_ones_go_where_text_is_erased(tx: psycopg.Connection, strategy: str) -> None:
    live, deleted, archived, expired, redacted = (
        memory(tx, memory_type="semantic") for _ in "12345"
    )
    memory(tx, memory_type="episodic")
    forgotten(tx, ids=[deleted])
    forgotten(tx, ids=[archived], strategy="archive")
    forgotten(tx, ids=[redacted], strategy="redact")
    forgotten(tx, ids=[expired], strategy="archive")
    found = _where(tx, {"types": ["semantic"]}, strategy=strategy)
    assert set(found) == {
        "redact": {live, deleted, archived, expired},
        "hard_delete": {live, deleted, archived, expired, redacted},
    }.get(strategy, {live})


def test_a_limit_bounds_a_call(tx: psycopg.Connection) -> None:
    """And calls go on until nothing is left, each with others."""
    records = {memory(tx, tags=["t"]) for _ in range(7)}
    found: set[UUID] = set()
    sizes = []
    while batch := _where(tx, {"tags": ["t"]}, strategy="redact", limit=3):
        assert not found & set(batch)
        found |= set(batch)
        sizes.append(len(batch))
    assert (sizes, found) == ([3, 3, 1], records)


BAD: list[Any] = [
    None, {}, [], "tags", 1, {"tag": ["a"]}, {"tags": ["a"], "limit": 1}, {"tags": []},
    {"tags": "a"}, {"tags": None}, {"tags": [None]}, {"tags": [1]}, {"tags": [" "]},
    {"tags": [["a"]]}, {"types": ["Semantic"]}, {"types": "semantic"}, {"thread": None},
    {"thread": ""}, {"thread": "\u3000"}, {"thread": 1}, {"source": ["s"]}, {"before": 1},
    {"before": "yesterday"}, {"before": "now"}, {"before": "infinity"}, {"before": "2026-02-30"},
    {"before": "2026-01-01 10:00"}, {"before": "01/02/2026"}, {"source_types": ["x"]},
    {"before": "2026-01-01T25:00:00Z"}, {"before": "2026-01-01T00:00:00+99"}, {"": "x"},
]  # fmt: skip


@pytest.mark.parametrize("criteria", BAD, ids=str)
def test_bad_criteria_change_nothing(tx: psycopg.Connection, criteria: Any) -> None:
    memory(tx, tags=["a"])
    before = contents(tx)
    value = None if criteria is None else psycopg.types.json.Jsonb(criteria)
    with refused("22023", "p_criteria"):
        rows(tx, "forget_where", criteria=value, agent_id="ana")
    assert contents(tx) == before


@pytest.mark.parametrize(
    ("arguments", "parameter", "code"),
    [
        ({"criteria": {"tags": ["x"] * 101}}, "p_criteria", "54000"),
        ({"criteria": {"tags": ["x" * 257]}}, "p_criteria", "54000"),
        ({"criteria": {"source": "x" * 257}}, "p_criteria", "54000"),
        ({"strategy": "purge"}, "p_strategy", "22023"),
        ({"strategy": None}, "p_strategy", "22023"),
        ({"limit": 0}, "p_limit", "22023"),
        ({"limit": -1}, "p_limit", "22023"),
        ({"limit": 1_000_001}, "p_limit", "22023"),
        ({"org_id": "*"}, "p_org_id", "22023"),
        # The first problem is named, limits after all others.
        ({"criteria": {"tags": ["x" * 257], "thread": " "}}, "p_criteria", "22023"),
    ],
)
def test_other_bad_arguments(
    tx: psycopg.Connection, arguments: dict[str, Any], parameter: str, code: str
) -> None:
    memory(tx, tags=["x"])
    before = contents(tx)
    with refused(code, parameter):
        _where(tx, **{"criteria": {"tags": ["x"]}} | arguments)
    assert contents(tx) == before


def test_the_client_takes_datetimes_and_tuples(db: psycopg.Connection) -> None:
    record = memory(db, tags=["t"])
    m = Mnemo(db, agent_id="ana")
    assert m.forget_where({"before": datetime(2020, 1, 1, tzinfo=UTC)}) == []
    with pytest.raises(Exception, match="no time zone"):
        m.forget_where({"before": datetime(2020, 1, 1)})
    found = m.forget_where({"before": datetime(2999, 1, 1, tzinfo=UTC), "tags": ("t",)})
    assert [(one.id, one.status) for one in found] == [(record, "deleted")]


# ---- data subjects


def _erased(conn: psycopg.Connection, subject: str, **who: Any) -> dict[str, int]:
    found = rows(conn, "forget_subject", subject=subject, **who)
    assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
    return {one["kind"]: one["erased"] for one in found if one["erased"]}


def test_a_data_subject_is_erased_everywhere(tx: psycopg.Connection) -> None:
    """Whoever owns it, of whatever scope and state; records that only mention it in words stay."""
    named = [
        memory(tx, "a", subject="Zoe  Lund", scope="private"),
        memory(tx, "b", entities=["Bob", "ZOE LUND"], agent_id="ben", scope="public"),
        memory(tx, "c", tags=["subject:Zoe Lund"], agent_id="cem", scope="global"),
        memory(tx, "d", subject="zoe lund", idempotency_key="zoe"),
    ]
    plans = [plan(tx, tags=["subject:zoe lund"]), plan(tx, tags=["subject:zoe lund"], agent_id="b")]
    rows(tx, "share", id=named[0], to_agents=["ben", "cem"], agent_id="ana")
    rows(tx, "share", id=plans[0], to_agents=["ben"], agent_id="ana")
    rows(tx, "log_read", ids=named[:1], query="who is Zoe", agent_id="ben")
    forgotten(tx, ids=[named[3]], strategy="archive")
    others = [
        memory(tx, "Zoe Lund likes tea"), memory(tx, subject="zoe"), memory(tx, tags=["zoe lund"]),
        memory(tx, tags=["subject:zoe lund jr"]), memory(tx, aliases=["Zoe Lund"]),
        memory(tx, subject="Zoe Lund", org_id="acme"),
    ]  # fmt: skip
    before = [stored(tx, one) for one in others]
    assert _erased(tx, " zoe\u00a0LUND ") == {
        "memories": 4, "plans": 2, "grants": 3, "notes": 1, "terms": 3, "signatures": 3,
        "idempotency_keys": 1,
    }  # fmt: skip
    for record in named + plans:
        after = stored(tx, record)
        assert after is not None
        assert after["content"] is None
    assert [stored(tx, one) for one in others] == before
    assert _erased(tx, "Zoe Lund") == {}


def test_delegations_of_the_tag_go_too(tx: psycopg.Connection) -> None:
    """With what was passed on from them and the notes that hold the tag; others stay."""
    for agent, to, tag in (("ana", "cem", "subject:Zoe"), ("ben", "cem", "subject:zoe"),
                           ("ana", "cem", "zoe"), ("cem", "dua", "x")):  # fmt: skip
        rows(tx, "delegate", to_agent=to, tag=tag, agent_id=agent, max_depth=1)
    notes = count(tx, "event_note")
    assert _erased(tx, "ZOE") == {"delegations": 2, "notes": 2}
    assert count(tx, "event_note") == notes - 2
    left = tx.execute("SELECT tag, tags FROM mnemo.delegation ORDER BY id").fetchall()
    assert left == [("zoe", ["zoe"]), ("x", ["x"]), ("x", ["zoe", "x"])]
    last = tx.execute("SELECT event_type FROM mnemo.event ORDER BY id DESC LIMIT 2").fetchall()
    assert last == [("memory_unshare",)] * 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_a_delegation_allows(tx: psycopg.Connection, strategy: str) -> None:
    """Delete on the records that it covers, plans too; with write nothing goes."""
    mine = [make(tx, tags=["t"], scope=s) for s in ("shared", "public") for make in (memory, plan)]
    memory(tx, tags=["t"])
    memory(tx, tags=["u"], scope="shared")
    kept = memory(tx, agent_id="cem", tags=["t", "s"], scope="shared")
    rows(tx, "share", id=kept, to_agents=["ana"], permission="share", agent_id="cem")
    rows(tx, "delegate", to_agent="ben", permission="write", tag="t", agent_id="ana")
    before = contents(tx)
    assert _where(tx, {"tags": ["t"]}, agent="ben", strategy=strategy) == {}
    assert contents(tx) == before
    rows(tx, "delegate", to_agent="ben", permission="delete", tag="t", agent_id="ana")
    answer = _where(tx, {"tags": ["t", "u"]}, agent="ben", strategy=strategy)
    assert answer == dict.fromkeys([*mine, kept], STATUS[strategy])


def test_a_tenant_erases_what_it_may_delete(db: psycopg.Connection, module_dsn: str) -> None:
    """An agent's own and what was granted to it; no record of others, no global one."""
    mine = memory(db, subject="zoe", scope="public")
    memory(db, subject="zoe", scope="global")
    granted = memory(db, subject="zoe", agent_id="ben")
    rows(db, "share", id=granted, to_agents=["ana"], permission="delete", agent_id="ben")
    foreign = memory(db, subject="zoe", agent_id="ben", scope="public")
    db.execute("CREATE ROLE forget_tenant LOGIN")
    try:
        db.execute("SELECT mnemo.grant_access('forget_tenant', 'tenant')")
        db.execute("SELECT mnemo.bind_role('forget_tenant', 'default', 'ana')")
        with psycopg.connect(module_dsn, user="forget_tenant", autocommit=True) as tenant:
            assert _erased(tenant, "Zoe")["memories"] == 2
            with refused("42501"):
                rows(tenant, "forget_subject", subject="zoe", agent_id="ben")
        gone = db.execute("SELECT id FROM mnemo.memory WHERE redacted_at IS NOT NULL").fetchall()
        assert {one for (one,) in gone} == {mine, granted}
        assert _changed(db, granted)
        assert not _changed(db, foreign)
    finally:
        db.execute("DROP OWNED BY forget_tenant; DROP ROLE forget_tenant")


@pytest.mark.parametrize(
    ("subject", "code"),
    [(None, "22023"), ("", "22023"), (" \u3000", "22023"), ("x" * 257, "54000")],
)
def test_bad_subjects_change_nothing(
    tx: psycopg.Connection, subject: str | None, code: str
) -> None:
    memory(tx, subject="x")
    before = contents(tx)
    with refused(code, "p_subject"):
        rows(tx, "forget_subject", subject=subject)
    assert contents(tx) == before


def test_the_answer_names_every_kind(tx: psycopg.Connection) -> None:
    found = rows(tx, "forget_subject", subject="nobody")
    assert [one["kind"] for one in found] == scalar(tx, "SELECT mnemo._labels('erased_kind')")
    assert {one["erased"] for one in found} == {0}
    assert count(tx, "event") == 0
    assert row(tx, "remember", content="x", agent_id="ana")["status"] == "stored"
