"""health says what is wrong, rebuild_signatures mends it, the views count."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.calls import row, rows, value

WHO = {"agent_id": "ana", "org_id": "acme"}


def checks(conn: psycopg.Connection) -> dict[str, tuple[bool, str]]:
    """The rows of health by name."""
    return {found["name"]: (found["ok"], found["detail"]) for found in rows(conn, "health")}


def plan(conn: psycopg.Connection, query: str, **more: object) -> object:
    """The id of a new plan."""
    arguments = {"steps": ["s"], "chunk_ids": [], "outcome_score": 0.9, **WHO, **more}
    return row(conn, "remember_plan", query=query, **arguments)["id"]


def found(conn: psycopg.Connection, query: str, **who: object) -> object:
    """The plan that is replayed."""
    return row(conn, "recall_plan", query=query, **{**WHO, **who})["id"]


def test_every_check_is_there_once(db: psycopg.Connection) -> None:
    assert [found["name"] for found in rows(db, "health")] == [
        "owner", "tenants", "roles", "public", "plan_signatures", "outcomes", "terms", "seal",
        "sweep", "models", "indexes",
    ]  # fmt: skip


def test_a_sound_database_has_nothing_to_say_but_of_its_owner(db: psycopg.Connection) -> None:
    plan(db, "where is the report")
    row(db, "remember", content="the report is on the shelf", **WHO)
    assert {name for name, (ok, _) in checks(db).items() if not ok} <= {"owner"}


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM mnemo.plan_signature WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET signature = '{other}', size = 1 WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET signature_version = 0 WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET guard_version = 0 WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET audience = 1 WHERE plan_id = %s"
        " AND grantee_agent_id IS NULL",
        "UPDATE mnemo.plan_signature SET outcome_score = 0.1 WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET context = 'x' WHERE plan_id = %s",
        "UPDATE mnemo.plan_signature SET expires_at = now() WHERE plan_id = %s",
    ],
)
def test_damaged_signatures_are_found_and_rebuilt(db: psycopg.Connection, damage: str) -> None:
    """The plan is found again afterwards, by its owner and by whom it is shared with."""
    query = "where is the report of the northern branch"
    shared = plan(db, query, scope="shared")
    row(db, "share", id=shared, to_agents=["ben"], **WHO)
    plan(db, "another plan that nothing happens to")
    before = db.execute("SELECT * FROM mnemo.plan_signature ORDER BY plan_id, audience").fetchall()
    db.execute(damage, [shared])  # type: ignore[arg-type]
    ok, detail = checks(db)["plan_signatures"]
    assert not ok
    assert detail.startswith("1 plans")
    assert value(db, "rebuild_signatures") == 0
    assert checks(db)["plan_signatures"][0]
    after = db.execute("SELECT * FROM mnemo.plan_signature ORDER BY plan_id, audience").fetchall()
    assert after == before
    assert found(db, query) == shared
    assert found(db, query, agent_id="ben") == shared


def test_rows_of_dead_plans_are_removed(db: psycopg.Connection) -> None:
    dead = plan(db, "a plan that ends badly")
    db.execute("UPDATE mnemo.memory SET quarantined = true WHERE id = %s", [dead])
    assert not checks(db)["plan_signatures"][0]
    assert value(db, "rebuild_signatures") == 0
    assert db.execute("SELECT count(*) FROM mnemo.plan_signature").fetchone() == (0,)


def test_a_limit_leaves_the_rest(db: psycopg.Connection) -> None:
    for number in range(5):
        plan(db, f"what comes after number {number}")
    db.execute("DELETE FROM mnemo.plan_signature")
    assert [value(db, "rebuild_signatures", limit=2) for _ in range(3)] == [3, 1, 0]


@pytest.mark.parametrize("limit", [None, 0, -1, 100_001])
def test_bad_limits(db: psycopg.Connection, limit: int | None) -> None:
    with pytest.raises(psycopg.Error) as caught:
        value(db, "rebuild_signatures", limit=limit)
    assert caught.value.sqlstate == "22023"


def test_missing_terms_are_found(db: psycopg.Connection) -> None:
    row(db, "remember", content="the report is on the shelf", **WHO)
    db.execute("DELETE FROM mnemo.term_vector")
    assert checks(db)["terms"] == (False, "1 memories are missing in the term index")


def test_levels_of_roles_that_are_gone_are_named(db: psycopg.Connection) -> None:
    db.execute(
        "INSERT INTO mnemo.role_level (role_name, level) VALUES ('gone for good', 'application')"
    )
    assert checks(db)["roles"] == (False, "no such role: gone for good")


def test_what_is_open_to_everybody_is_counted(db: psycopg.Connection) -> None:
    db.execute("GRANT EXECUTE ON FUNCTION mnemo.version() TO PUBLIC")
    ok, detail = checks(db)["public"]
    assert not ok
    assert "1 functions" in detail


def test_what_waits_for_long_is_named(db: psycopg.Connection) -> None:
    late = row(db, "remember", content="soon gone", **WHO)["id"]
    db.execute("UPDATE mnemo.event SET happened_at = now() - interval '2 days'")
    db.execute(
        "UPDATE mnemo.memory SET expires_at = now() - interval '2 days' WHERE id = %s", [late]
    )
    found_now = checks(db)
    assert not found_now["seal"][0]
    assert not found_now["sweep"][0]


def test_an_invalid_index_is_named(db: psycopg.Connection) -> None:
    db.execute(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'mnemo.plan_signature_keys_idx'::regclass"
    )
    assert checks(db)["indexes"] == (False, "not valid: plan_signature_keys_idx")


def test_the_views_count_what_is_there(db: psycopg.Connection) -> None:
    plan(db, "where is the report")
    plan(db, "a plan for everybody", scope="global")
    memory = row(db, "remember", content="the report is on the shelf", scope="shared", **WHO)["id"]
    row(db, "share", id=memory, to_agents=["ben"], **WHO)
    gone = row(db, "remember", content="gone", **WHO)["id"]
    row(db, "forget", ids=[gone], **WHO)
    row(db, "remember", content="of somebody else", agent_id="ben", org_id="acme")
    assert db.execute(
        "SELECT org_id, agents, memories, plans, deleted, grants, events, unsealed_events"
        " FROM mnemo.stats ORDER BY org_id"
    ).fetchall() == [("*", 1, 0, 1, 0, 0, 0, 0), ("acme", 2, 2, 1, 1, 1, 7, 7)]
    assert db.execute(
        "SELECT org_id, origin_org_id, agent_id, memories, plans, deleted FROM mnemo.agent_stats"
        " ORDER BY org_id, agent_id"
    ).fetchall() == [
        ("*", "acme", "ana", 0, 1, 0), ("acme", "acme", "ana", 1, 1, 1),
        ("acme", "acme", "ben", 1, 0, 0),
    ]  # fmt: skip
    db.execute("CREATE ROLE stats_admin")
    try:
        db.execute("SELECT mnemo.grant_access('stats_admin', 'admin'); SET ROLE stats_admin")
        assert db.execute("SELECT count(*) FROM mnemo.stats").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM mnemo.agent_stats").fetchone() == (3,)
    finally:
        db.execute("RESET ROLE; DROP OWNED BY stats_admin; DROP ROLE stats_admin")


def test_the_views_call_alive_what_the_functions_do(db: psycopg.Connection) -> None:
    """In every state, held back, deleted and expired or not: the view writes the rule out."""
    row(db, "remember", content="a record of every kind", **WHO)
    plan(db, "a plan of every kind")
    states = db.execute("SELECT unnest(mnemo._labels('consolidation_state'))").fetchall()
    for (state,) in states:
        for quarantined in (False, True):
            for deleted in ("NULL", "now()"):
                for expires in ("NULL", "now() - interval '1 s'", "now() + interval '1 h'"):
                    db.execute(
                        "UPDATE mnemo.memory SET consolidation_state = %s, quarantined = %s,"  # type: ignore[arg-type]
                        f" deleted_at = {deleted}, expires_at = {expires}",
                        [state, quarantined],
                    )
                    alive = db.execute(
                        "SELECT m.tags @> ARRAY['__experience_plan__'], mnemo._is_live(m, now())"
                        "  FROM mnemo.memory AS m"
                    ).fetchall()
                    seen = db.execute("SELECT memories, plans FROM mnemo.agent_stats").fetchone()
                    assert seen == tuple(
                        sum(live for is_plan, live in alive if is_plan == kind)
                        for kind in (False, True)
                    )
