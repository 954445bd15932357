"""How plans fare: what agents report of a replay, what ranks and retires by it, who may."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from mnemo_pg import Mnemo
from mnemo_pg.cli.plans import show_miss
from mnemo_pg.types import EventType, RecallReason, RetireStatus
from tests.reference.matching import Plan as Defined
from tests.reference.matching import Report, standing
from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.reuse import emptied

QUESTION = "where does the monthly report of the northern branch go"
OTHER = "the monthly report of the northern branch: where does it go"
HOME = "acme"
GOOD = 0.9


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the emptied database, where the same plan again is stored beside it."""
    with emptied(module_dsn) as conn:
        conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
        yield conn


def plan(conn: psycopg.Connection, query: str = QUESTION, **more: Any) -> UUID:
    """A plan of ana's that every agent of the organisation sees."""
    made = row(
        conn, "remember_plan",
        **{"query": query, "steps": ["s"], "chunk_ids": [], "outcome_score": GOOD,
           "agent_id": "ana", "org_id": HOME, "scope": "public"} | more,
    )  # fmt: skip
    assert made["stored"]
    found = made["id"]
    assert isinstance(found, UUID)
    return found


def report(
    conn: psycopg.Connection, id: UUID, success: bool, agent: str = "ana", **more: Any
) -> dict[str, Any]:
    """What record_plan_outcome answers."""
    return row(
        conn, "record_plan_outcome",
        **{"id": id, "success": success, "agent_id": agent, "org_id": HOME} | more,
    )  # fmt: skip


def recalled(
    conn: psycopg.Connection, agent: str = "zoe", org_id: str = HOME, query: str = QUESTION
) -> dict[str, Any]:
    return row(conn, "recall_plan", query=query, agent_id=agent, org_id=org_id)


def got(conn: psycopg.Connection, id: UUID, org_id: str = HOME) -> dict[str, Any]:
    return row(conn, "get_plan", id=id, agent_id="ana", org_id=org_id)


def events(conn: psycopg.Connection, id: UUID) -> list[tuple[str, str, dict[str, Any], Any]]:
    """Type, actor, changes and note of what happened to a plan after it was written."""
    return [
        (one["event_type"], one["actor_agent_id"], one["changes"], one["note"])
        for one in rows(conn, "history", id=id, agent_id="ana", org_id=HOME)[1:]
    ]


def assert_sound(conn: psycopg.Connection) -> None:
    """What is derived agrees with the reports, and no chain raises a false alarm."""
    checks = {one["name"]: (one["ok"], one["detail"]) for one in rows(conn, "health")}
    assert checks["outcomes"] == (True, "every plan stands as its reports say")
    assert checks["plan_signatures"][0], checks["plan_signatures"]
    value(conn, "seal")
    for head in rows(conn, "chain_heads"):
        assert row(conn, "verify_chain", org_id=head["org_id"], agent_id=head["agent_id"])["ok"]


# ---- what is counted


def test_reports_are_counted_and_the_latest_of_an_agent_stands(db: psycopg.Connection) -> None:
    """uses, successes and failures count every report; the standing one observation an agent."""
    made = plan(db)
    defined = Defined(made, HOME, (HOME, "ana"), "public", frozenset(), GOOD, None)  # type: ignore[arg-type]
    first = got(db, made)
    assert (first["uses"], first["last_success"], first["retired"]) == (0, None, False)
    assert first["standing"] == standing(defined, HOME)
    counts = {True: 0, False: 0}
    for agent, success, score in (
        ("ben", True, None), ("ben", False, 0.25), ("cem", True, 0.1 + 0.2), ("ana", True, 1),
        ("ben", True, 5e-324), ("ben", False, None), ("cem", True, 2 / 3),
    ):  # fmt: skip
        counts[success] += 1
        defined.reports.append(
            Report((HOME, agent), success, float(success) if score is None else score)
        )
        answer = report(db, made, success, agent, score=score)
        found = got(db, made)
        assert answer.items() <= found.items()
        assert (found["uses"], found["successes"], found["failures"]) == (
            sum(counts.values()), counts[True], counts[False],
        )  # fmt: skip
        assert found["last_success"] is success
        assert found["standing"] == standing(defined, HOME)
    listed = rows(db, "list_plans", agent_id="ben", org_id=HOME)[0]
    assert found.items() <= listed.items()
    viewed = db.execute(
        "SELECT uses, successes, failures, last_success, last_reported_at, standing, retired"
        " FROM mnemo.plan"
    ).fetchone()
    assert viewed == tuple(
        found[name]
        for name in ("uses", "successes", "failures", "last_success", "last_reported_at",
                     "standing", "retired")
    )  # fmt: skip
    assert_sound(db)


def test_without_reports_the_outcome_score_orders(db: psycopg.Connection) -> None:
    """Also scores that differ in the last digit only: the standing never turns them round."""
    scores = [0.5, 0.75, math.nextafter(0.75, 1), 0.8, math.nextafter(0.9, 0), 0.9, 1.0]
    made = {plan(db, outcome_score=score): score for score in scores}
    found = rows(db, "recall_plans", query=QUESTION, agent_id="zoe", org_id=HOME, limit=20)
    assert [made[one["id"]] for one in found] == sorted(scores, reverse=True)
    held = db.execute(
        "SELECT standing FROM mnemo.plan_signature ORDER BY outcome_score"
    ).fetchall()  # fmt: skip
    assert held == sorted(held)


def test_the_better_standing_ranks_before_the_score(db: psycopg.Connection) -> None:
    """For exact and for similar questions, in recall_plans and in the explanation."""
    poor, proud = plan(db, outcome_score=0.6), plan(db, OTHER, outcome_score=1)
    assert recalled(db)["id"] == proud
    report(db, poor, True, "ben")
    near = QUESTION + " exactly"
    for query in (QUESTION, QUESTION.upper(), near):
        assert recalled(db, query=query)["id"] == poor
        found = rows(db, "recall_plans", query=query, agent_id="zoe", org_id=HOME)
        assert [one["id"] for one in found] == [poor, proud]
        explained = rows(db, "explain_recall_plan", query=query, agent_id="zoe", org_id=HOME)
        assert [(one["id"], one["verdict"]) for one in explained] == [
            (poor, "replayed"), (proud, "outranked"),
        ]  # fmt: skip
    report(db, poor, False, "ben")
    assert recalled(db)["id"] == proud


def test_reports_are_listed_newest_first(db: psycopg.Connection) -> None:
    """A page at a time, notes for those whom they concern, and which of them count."""
    made = plan(db)
    for agent, success in (("ben", True), ("ben", False), ("cem", True)):
        report(db, made, success, agent, note=f"{agent} says {success}")

    def listed(agent: str, **more: Any) -> list[tuple[Any, ...]]:
        return [
            (one["rank"], one["agent_id"], one["success"], one["score"], one["note"], one["counts"])
            for one in rows(db, "plan_outcomes", id=made, agent_id=agent, org_id=HOME, **more)
        ]

    everything = [
        (1, "cem", True, 1.0, "cem says True", True),
        (2, "ben", False, 0.0, "ben says False", True),
        (3, "ben", True, 1.0, "ben says True", False),
    ]
    assert listed("ana") == everything
    with psycopg.connect(db.info.dsn, autocommit=True) as conn:
        conn.execute("DO $$ BEGIN IF to_regrole('outcome_app') IS NULL THEN"
                     " CREATE ROLE outcome_app; END IF; END $$")  # fmt: skip
        conn.execute("SELECT mnemo.grant_access('outcome_app', 'application')")
        conn.execute("SET ROLE outcome_app")
        seen = rows(conn, "plan_outcomes", id=made, agent_id="cem", org_id=HOME)
        assert [one["note"] for one in seen] == ["cem says True", None, None]
        conn.execute("RESET ROLE; DROP OWNED BY outcome_app; DROP ROLE outcome_app")
    first = rows(db, "plan_outcomes", id=made, limit=1, agent_id="ana", org_id=HOME)
    assert len(first) == 1
    rest = listed("ana", after=first[0]["id"])
    assert [one[1:] for one in rest] == [one[1:] for one in everything[1:]]
    assert [one[:3] for one in events(db, made)] == [
        ("plan_outcome", "ben", {"success": True, "score": 1}),
        ("plan_outcome", "ben", {"success": False, "score": 0}),
        ("plan_outcome", "cem", {"success": True, "score": 1}),
    ]
    assert [one[3] for one in events(db, made)] == [
        "ben says True", "ben says False", "cem says True",
    ]  # fmt: skip


# ---- who may


def test_whoever_may_read_may_report(db: psycopg.Connection) -> None:
    """By scope and by grant; whatever cannot be read, or is no plan, is not there."""
    private = plan(db, scope="private")
    memory = row(db, "remember", content="no plan", scope="public", agent_id="ana", org_id=HOME)
    before = contents(db)
    for id, agent, org_id in (
        (private, "ben", HOME), (private, "ana", "globex"), (uuid4(), "ana", HOME),
        (memory["id"], "ana", HOME),
    ):  # fmt: skip
        for function, more in (
            ("record_plan_outcome", {"success": True}), ("plan_outcomes", {}), ("retire_plan", {}),
            ("revive_plan", {}), ("promote_plan", {"scope": "public"}),
        ):  # fmt: skip
            with refused("MN001", "p_id"):
                rows(db, function, id=id, agent_id=agent, org_id=org_id, **more)
    assert contents(db) == before
    rows(db, "share", id=private, to_agents=["ben"], agent_id="ana", org_id=HOME)
    assert report(db, private, False, "ben")["failures"] == 1
    with refused("42501", "p_id"):
        row(db, "retire_plan", id=private, agent_id="ben", org_id=HOME)
    rows(db, "share", id=private, to_agents=["ben"], permission="write", agent_id="ana",
         org_id=HOME)  # fmt: skip
    assert row(db, "retire_plan", id=private, agent_id="ben", org_id=HOME)["status"] == "retired"
    with refused("42501", "p_id"):
        row(db, "promote_plan", id=private, scope="public", agent_id="ben", org_id=HOME)


@pytest.mark.parametrize(
    ("parameter", "bad", "state"),
    [
        ("id", None, "22023"), ("success", None, "22023"), ("score", -0.01, "22023"),
        ("score", 1.01, "22023"), ("score", math.nan, "22023"), ("score", math.inf, "22023"),
        ("note", " ", "22023"), ("note", "x" * 10_001, "54000"),
    ],
)  # fmt: skip
def test_bad_reports(db: psycopg.Connection, parameter: str, bad: Any, state: str) -> None:
    made = plan(db)
    before = contents(db)
    with refused(state, f"p_{parameter}"):
        report(db, **{"id": made, "success": True, parameter: bad})
    assert contents(db) == before


# ---- retirement


@pytest.mark.parametrize(
    ("score", "reporters", "retired"),
    [
        # One failure retires no good plan, three retire any; of the owner, those in a row count.
        (GOOD, "a", False), (GOOD, "aa", False), (GOOD, "aaa", True), (1, "aaa", True),
        (0.71, "a", False), (0.7, "a", True),
        # One agent alone retires nothing of another's, however often it fails.
        (0.5, "bbbbbb", False), (GOOD, "bc", False), (GOOD, "bcd", True), (0.8, "bc", True),
        # A success in between begins anew, and successes outweigh failures.
        (GOOD, "aaAa", False), (GOOD, "BCbd", False),
    ],
)  # fmt: skip
def test_failures_retire(
    db: psycopg.Connection, score: float, reporters: str, retired: bool
) -> None:
    """a is the owner, capitals report success; the default of retire_threshold."""
    made = plan(db, outcome_score=score)
    for name in reporters:
        names = {"a": "ana", "b": "ben", "c": "cem", "d": "dua"}
        answer = report(db, made, name.isupper(), names[name.lower()])
    assert answer["retired"] is got(db, made)["retired"] is retired
    assert recalled(db)["hit"] is not retired
    assert scalar(db, "SELECT retired FROM mnemo.plan") is retired
    assert [one[0] for one in events(db, made)].count("plan_retired") == int(retired)
    assert_sound(db)


def test_a_retired_plan_is_named_and_passed_over(db: psycopg.Connection) -> None:
    """Reason retired where it would have been the hit; a worse plan is a hit; it stays listed."""
    made = plan(db)
    row(db, "retire_plan", id=made, agent_id="ana", org_id=HOME)
    for query in (QUESTION, QUESTION + " exactly"):
        for guard in ("strict", "meaning", "off"):
            answer = row(db, "recall_plan", query=query, agent_id="zoe", org_id=HOME, guard=guard)
            assert (answer["hit"], answer["id"], answer["reason"]) == (False, None, "retired")
            assert answer["near_miss"]["id"] == str(made)
            assert answer["near_miss"]["differences"] == []
            assert answer["candidates_considered"] == 1
        assert rows(db, "recall_plans", query=query, agent_id="zoe", org_id=HOME) == []
        explained = row(db, "explain_recall_plan", query=query, agent_id="zoe", org_id=HOME)
        assert (explained["id"], explained["verdict"]) == (made, "retired")
    assert recalled(db, query=QUESTION + " in 2024")["reason"] == "none_similar"
    assert [one["id"] for one in rows(db, "list_plans", agent_id="zoe", org_id=HOME)] == [made]
    worse = plan(db, OTHER + " exactly", outcome_score=0.5)
    answer = recalled(db)
    assert (answer["id"], answer["reason"]) == (worse, "similar")


def test_the_threshold_of_the_organisation_that_asks_holds(db: psycopg.Connection) -> None:
    """On a global plan as well; 0 leaves it to hands."""
    made = plan(db, scope="global")
    report(db, made, False)
    assert [recalled(db, org_id=org)["hit"] for org in (HOME, "globex")] == [True, True]
    value(db, "configure", name="retire_threshold", value="0.1", org_id="globex")
    assert [recalled(db, org_id=org)["hit"] for org in (HOME, "globex")] == [True, False]
    assert [got(db, made, org)["retired"] for org in (HOME, "globex")] == [False, True]
    value(db, "configure", name="retire_threshold", value="0", org_id="globex")
    assert recalled(db, org_id="globex")["hit"]
    row(db, "retire_plan", id=made, agent_id="ana", org_id=HOME)
    assert recalled(db, org_id="globex")["reason"] == "retired"


def test_a_revived_plan_begins_anew(db: psycopg.Connection) -> None:
    """By hand and after reports; older reports stay in the counts and retire it no more."""
    made = plan(db)
    fresh = got(db, made)["standing"]
    for agent in ("ben", "cem", "dua"):
        report(db, made, False, agent)
    assert row(db, "retire_plan", id=made, note="it fails", agent_id="ana", org_id=HOME) == {
        "id": made, "status": "retired",
    }  # fmt: skip
    assert row(db, "retire_plan", id=made, agent_id="ana", org_id=HOME)["status"] == "unchanged"
    assert row(db, "revive_plan", id=made, note="mended", agent_id="ana", org_id=HOME) == {
        "id": made, "status": "revived",
    }  # fmt: skip
    assert row(db, "revive_plan", id=made, agent_id="ana", org_id=HOME)["status"] == "unchanged"
    found = got(db, made)
    assert (found["uses"], found["failures"]) == (3, 3)
    assert (found["standing"], found["retired"]) == (fresh, False)
    assert recalled(db)["id"] == made
    # As if nobody had reported before.
    assert not report(db, made, False, "ben")["retired"]
    assert not report(db, made, False, "cem")["retired"]
    assert report(db, made, False, "dua")["retired"]
    kinds = [one[0] for one in events(db, made)]
    assert kinds == [
        *["plan_outcome"] * 3, "plan_retired", "plan_retired", "plan_revived",
        *["plan_outcome"] * 3, "plan_retired",
    ]  # fmt: skip
    assert [one[3] for one in events(db, made)][4:6] == ["it fails", "mended"]
    assert_sound(db)


# ---- organisations


def test_other_organisations_rank_global_plans_for_themselves(db: psycopg.Connection) -> None:
    """Their reports change no other organisation's order, and retire nothing."""
    first, second = (plan(db, query, scope="global") for query in (QUESTION, OTHER))
    assert [recalled(db, org_id=org)["id"] for org in (HOME, "globex")] == [second] * 2
    for query in (QUESTION, QUESTION + " exactly"):
        report(db, first, True, "zoe", org_id="globex")
        found = {
            org: [one["id"] for one in rows(
                db, "recall_plans", query=query, agent_id="zoe", org_id=org, limit=2)]
            for org in (HOME, "globex", "initech")
        }  # fmt: skip
        assert found == {
            HOME: [second, first], "globex": [first, second], "initech": [second, first],
        }  # fmt: skip
        assert recalled(db, org_id="globex", query=query)["id"] == first
    for number in range(5):
        report(db, second, False, f"agent-{number}", org_id="globex")
    assert not got(db, second, "globex")["retired"]
    assert (got(db, second)["uses"], got(db, second, "globex")["uses"]) == (0, 5)
    # Reports of the owner's organisation count for everybody, with those that each has itself.
    report(db, second, True, "ben")
    assert (got(db, second)["uses"], got(db, second, "globex")["uses"]) == (1, 6)
    assert got(db, second)["standing"] > got(db, first)["standing"]
    assert recalled(db, org_id="globex")["id"] == first
    assert recalled(db, org_id="initech")["id"] == second
    assert_sound(db)


def test_nobody_reads_what_other_organisations_reported(db: psycopg.Connection) -> None:
    """Neither reports nor notes nor events, the owner's events apart."""
    made = plan(db, scope="global")
    report(db, made, True, "zoe", org_id="globex", note="ours alone")
    report(db, made, True, "ben", note="home")
    assert [
        [one["agent_id"] for one in rows(db, "plan_outcomes", id=made, agent_id="ana", org_id=org)]
        for org in (HOME, "globex", "initech")
    ] == [["ben"], ["zoe"], []]
    assert scalar(db, "SELECT array_agg(note) FROM mnemo.event_note") == ["home"]
    with psycopg.connect(db.info.dsn, autocommit=True) as conn:
        conn.execute("CREATE ROLE outcome_app")
        conn.execute("SELECT mnemo.grant_access('outcome_app', 'application')")
        conn.execute("SET ROLE outcome_app")
        for org, actors in (("globex", ["zoe"]), ("initech", [])):
            told = rows(conn, "history", id=made, agent_id="x", org_id=org)
            assert [
                one["actor_agent_id"] for one in told if one["event_type"] == "plan_outcome"
            ] == actors
        conn.execute("RESET ROLE; DROP OWNED BY outcome_app; DROP ROLE outcome_app")


# ---- what follows


def test_grants_show_the_standing_too(db: psycopg.Connection) -> None:
    """A grant made after a report, and one made before it."""
    shared, rival = plan(db, scope="shared"), plan(db, OTHER, outcome_score=1)
    rows(db, "share", id=shared, to_agents=["cem"], agent_id="ana", org_id=HOME)
    report(db, shared, True, "cem")
    report(db, shared, True, "ana")
    rows(db, "share", id=shared, to_agents=["dua"], agent_id="ana", org_id=HOME)
    assert [recalled(db, agent)["id"] for agent in ("cem", "dua", "eve")] == [shared, shared, rival]
    row(db, "retire_plan", id=shared, agent_id="ana", org_id=HOME)
    assert {recalled(db, agent)["id"] for agent in ("cem", "dua", "ana")} == {rival}
    assert_sound(db)


def test_derived_data_can_be_made_anew(db: psycopg.Connection) -> None:
    """health finds what differs from the reports, rebuild_signatures mends it."""
    made = [plan(db), plan(db, OTHER, scope="global")]
    for agent in ("ben", "cem", "dua"):
        report(db, made[0], False, agent)
        report(db, made[1], True, agent, org_id="globex")
    held = {
        table: db.execute(f"SELECT * FROM mnemo.{table} ORDER BY org_id, plan_id").fetchall()  # type: ignore[arg-type]
        for table in ("plan_signature", "plan_fare", "plan_report")
    }
    for damage in (
        "DELETE FROM mnemo.plan_fare",
        "UPDATE mnemo.plan_fare SET uses = uses + 1 WHERE org_id = '*'",
        "UPDATE mnemo.plan_signature SET standing = 0.5, endurance = 0.5",
        "DELETE FROM mnemo.plan_signature",
    ):
        db.execute(damage)  # type: ignore[arg-type]
        faulty = {one["name"] for one in rows(db, "health") if not one["ok"]} - {"owner"}
        assert faulty
        assert faulty <= {"outcomes", "plan_signatures"}
        assert value(db, "rebuild_signatures") == 0
        assert_sound(db)
        for table, before in held.items():
            assert (
                db.execute(f"SELECT * FROM mnemo.{table} ORDER BY org_id, plan_id").fetchall()  # type: ignore[arg-type]
                == before
            ), (damage, table)


@pytest.mark.parametrize("strategy", ["redact", "hard_delete"])
def test_reports_go_with_the_plan(db: psycopg.Connection, strategy: str) -> None:
    """Reports, summaries and notes; the events stay without words."""
    made, kept = plan(db), plan(db, "another question about something else")
    for id in (made, kept):
        report(db, id, False, "ben", note="a secret")
    rows(db, "forget", ids=[made], strategy=strategy, agent_id="ana", org_id=HOME)
    for table in ("plan_report", "plan_fare"):
        assert db.execute(f"SELECT plan_id FROM mnemo.{table}").fetchall() == [(kept,)]  # type: ignore[arg-type]
    assert scalar(db, "SELECT count(*) FROM mnemo.event_note") == 1
    assert_sound(db)


def test_the_same_plan_again_counts_as_a_success_of_its_owner(db: psycopg.Connection) -> None:
    """Merged plans count the outcome; into a retired one nothing is merged."""
    db.execute("SELECT mnemo.configure('merge_plans', 'on')")
    made = plan(db)
    report(db, made, False)
    assert plan(db, outcome_score=0.8) == made
    found = got(db, made)
    assert (found["uses"], found["successes"], found["last_success"]) == (2, 1, True)
    row(db, "retire_plan", id=made, agent_id="ana", org_id=HOME)
    again = plan(db, outcome_score=0.6)
    assert again != made
    assert recalled(db)["id"] == again
    assert plan(db, outcome_score=0.7) == again
    assert_sound(db)


def test_the_client_has_them(db: psycopg.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """Types and labels arrive as such, and the command line names a retired plan."""
    made = plan(db)
    with Mnemo(db.info.dsn, agent_id="ben", org_id=HOME) as m:
        fare = m.record_plan_outcome(made, False, score=0.25, note="half")
        assert (fare.uses, fare.failures, fare.retired) == (1, 1, False)
        (told,) = m.plan_outcomes(made)
        assert (told.agent_id, told.score, told.note, told.counts) == ("ben", 0.25, "half", True)
        assert m.get_plan(made).last_reported_at == told.reported_at
    with Mnemo(db.info.dsn, agent_id="ana", org_id=HOME) as m:
        assert m.retire_plan(made).status is RetireStatus.RETIRED
        missed = m.recall_plan(QUESTION)
        assert missed.reason is RecallReason.RETIRED
        show_miss(missed)
        assert f"is retired; plan {made}" in " ".join(capsys.readouterr().out.split())
        assert m.revive_plan(made).status is RetireStatus.REVIVED
        assert EventType.PLAN_REVIVED in [one.event_type for one in m.history(made)]
