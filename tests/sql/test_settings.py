"""mnemo.configure and mnemo.setting: every setting, its values, its overrides, what it does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.installs import install
from tests.support.server import Server

DEFAULTS = {
    "experience_memory": "off", "similarity_threshold": "0.7", "semantic_threshold": "0.74",
    "semantic_margin": "0.06", "minimum_threshold": "0.3",
    "success_threshold": "0.5", "guard": "strict", "default_agent_id": "default",
    "default_org_id": "default", "merge_plans": "on", "purge_after": "30 days",
    "retire_threshold": "0.05", "plan_ttl": "none", "max_plans_per_agent": "none",
    "max_plans_per_org": "none", "recall_log_ttl": "90 days",
}  # fmt: skip
OTHER = {
    "experience_memory": "on", "similarity_threshold": "0.8", "semantic_threshold": "0.9",
    "semantic_margin": "0", "minimum_threshold": "0.4",
    "success_threshold": "0.9", "guard": "off", "default_agent_id": "bot", "default_org_id": "acme",
    "merge_plans": "off", "purge_after": "never", "retire_threshold": "0.2", "plan_ttl": "7 days",
    "max_plans_per_agent": "100", "max_plans_per_org": "1000", "recall_log_ttl": "1 days",
}  # fmt: skip
OVERRIDABLE = [name for name in DEFAULTS if name != "default_org_id"]


def _set(conn: psycopg.Connection, name: str, new: str | None, org_id: str | None = None) -> str:
    found = value(conn, "configure", name=name, value=new, org_id=org_id)
    assert isinstance(found, str)
    return found


def _plan(conn: psycopg.Connection, **fields: Any) -> dict[str, Any]:
    return row(conn, "remember_plan", **{"query": "one two three four five six", "steps": ["a"],
                                         "chunk_ids": [], "outcome_score": 1} | fields)  # fmt: skip


# ---- values


def test_a_new_database_has_the_documented_defaults(server: Server) -> None:
    """Nothing is set by the installation: a missing row means the default."""
    dsn = server.create_database("test_settings_new")
    install(server, "test_settings_new", "psql")
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert {name: value(conn, "setting", name=name) for name in DEFAULTS} == DEFAULTS
        assert scalar(conn, "SELECT count(*) FROM mnemo.settings") == 0
    server.drop_database("test_settings_new")


def test_the_tests_know_every_setting(tx: psycopg.Connection) -> None:
    """By the error that lists them."""
    with refused("22023", "p_name") as seen:
        value(tx, "setting", name="no such setting")
    listed = seen.hint.replace(" or ", ", ").split(", ")
    assert sorted(listed) == sorted(DEFAULTS) == sorted(OTHER)


@pytest.mark.parametrize("name", DEFAULTS)
def test_set_and_reset(tx: psycopg.Connection, name: str) -> None:
    """configure answers with the value in force, as setting does; NULL goes back."""
    _set(tx, name, None)
    assert _set(tx, name, OTHER[name]) == OTHER[name]
    assert value(tx, "setting", name=name) == OTHER[name]
    assert _set(tx, name, OTHER[name]) == OTHER[name]
    assert scalar(tx, "SELECT count(*) FROM mnemo.settings WHERE name = %s", name) == 1
    for _ in range(2):
        assert _set(tx, name, None) == DEFAULTS[name]
        assert value(tx, "setting", name=name) == DEFAULTS[name]
    assert scalar(tx, "SELECT count(*) FROM mnemo.settings WHERE name = %s", name) == 0


@pytest.mark.parametrize("name", OVERRIDABLE)
def test_override_of_an_organisation(tx: psycopg.Connection, name: str) -> None:
    """It wins over the database's value, for that organisation alone, until it is reset."""
    _set(tx, name, None)
    assert _set(tx, name, OTHER[name], "acme") == OTHER[name]
    assert value(tx, "setting", name=name, org_id="acme") == OTHER[name]
    for others in (None, "default", "acme-corp", "Acme"):
        assert value(tx, "setting", name=name, org_id=others) == DEFAULTS[name]
    assert _set(tx, name, OTHER[name]) == OTHER[name]
    assert _set(tx, name, DEFAULTS[name], "acme") == DEFAULTS[name]
    assert value(tx, "setting", name=name, org_id="default") == OTHER[name]
    assert _set(tx, name, None, "acme") == OTHER[name]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("experience_memory", ["on", "off"]), ("guard", ["strict", "meaning", "off"]),
        ("similarity_threshold", ["0", "1", "0.5", "0.70", "1.0", "0.123456789012345"]),
        ("semantic_threshold", ["0", "1", "0.85"]), ("semantic_margin", ["0", "0.1", "1"]),
        ("minimum_threshold", ["0.1", "1", "0.000000000000001"]),
        ("success_threshold", ["0", "0.0", "1", "0.999999999999999"]),
        ("default_agent_id", ["a", "a" * 256, "team/bot:7@host.example_1-x"]),
        ("default_org_id", ["a", "A", "0", "a" * 256]),
    ],
)  # fmt: skip
def test_good_values(tx: psycopg.Connection, name: str, values: list[str]) -> None:
    for good in values:
        assert _set(tx, name, good) == good


BAD_NUMBERS = ["", " ", "-0.1", "1.1", "1.00001", "2", "NaN", "inf", "Infinity", "-1", "0,7", ".7",
               "0.", "1e-1", "0x1", "0_1", " 0.7", "0.7 ", "0.7\n", "+0.7", "٠.٧", "0.7%", "half",
               "00.7", "\u3000", "0." + "1" * 1000]  # fmt: skip
BAD_NAMES = ["", " ", "*", "a b", "a%", "é", "a\n", "a*", "a'b", "a" * 257, "\u3000", "\u00a0"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("experience_memory", ["", " ", "ON", "On", "true", "1", "yes", "on ", "\u3000", "o"]),
        ("guard", ["", "OFF", "Strict", "none", "off ", "\u00a0", "0", "strict,off"]),
        ("similarity_threshold", BAD_NUMBERS), ("success_threshold", BAD_NUMBERS),
        ("semantic_threshold", BAD_NUMBERS), ("semantic_margin", BAD_NUMBERS),
        ("minimum_threshold", [*BAD_NUMBERS, "0", "0.0", "0.000000000000000"]),
        ("default_agent_id", BAD_NAMES), ("default_org_id", BAD_NAMES),
    ],
)  # fmt: skip
def test_bad_values(tx: psycopg.Connection, name: str, values: list[str]) -> None:
    before = contents(tx)
    for bad in values:
        for org_id in (None, "acme") if name in OVERRIDABLE else (None,):
            with refused("22023", "p_value"):
                _set(tx, name, bad, org_id)
    assert contents(tx) == before


def test_the_default_organisation_has_no_override(tx: psycopg.Connection) -> None:
    for new in ("x", None):
        with refused("22023", "p_org_id"):
            _set(tx, "default_org_id", new, "acme")


def test_a_change_is_part_of_its_transaction(dsn: str, db: psycopg.Connection) -> None:
    with psycopg.connect(dsn) as other:
        _set(other, "success_threshold", "0.9")
        assert value(other, "setting", name="success_threshold") == "0.9"
        assert value(db, "setting", name="success_threshold") == "0.5"
        other.rollback()
        _set(other, "success_threshold", "0.8")
        other.commit()
    assert value(db, "setting", name="success_threshold") == "0.8"


# ---- what they do


def test_experience_memory(tx: psycopg.Connection) -> None:
    """Off: remembering is an error with the remedy, recalling a miss; on per organisation."""
    plan = _plan(tx)
    _set(tx, "experience_memory", None)
    with refused("55000") as seen:
        _plan(tx)
    assert "mnemo.configure('experience_memory', 'on')" in seen.hint
    with refused("55000"):
        rows(tx, "remember_plans", plans='[{"query": "x", "steps": [], "chunk_ids": [],'
                                         ' "outcome_score": 1}]')  # fmt: skip
    for arguments in ({"query": "one two three four five six"}, {"query": None}, {"query": " "},
                      {"query": "x", "similarity_threshold": 7}, {"query": "x", "guard": "?"},
                      {"query": "x", "context": ""}, {"query": "x" * 100_001},
                      {"query": "x", "agent_id": ""}):  # fmt: skip
        found = row(tx, "recall_plan", **arguments)
        assert (found["hit"], found["id"], found["reason"]) == (False, None, "disabled")
        assert found["candidates_considered"] == 0
        assert rows(tx, "recall_plans", **arguments) == []
    # The tables are still there to be looked at.
    assert [p["id"] for p in rows(tx, "list_plans")] == [plan["id"]]
    assert row(tx, "get_plan", id=plan["id"])["query"] == "one two three four five six"
    _set(tx, "experience_memory", "on", "acme")
    assert _plan(tx, org_id="acme")["stored"]
    with refused("55000"):
        _plan(tx, org_id="acme-corp")
    _set(tx, "experience_memory", "on")
    _set(tx, "experience_memory", "off", "acme")
    assert row(tx, "recall_plan", query="one two three four five six")["id"] == plan["id"]
    with refused("55000"):
        _plan(tx, org_id="acme")


def test_ordinary_memory_does_not_need_the_mode(tx: psycopg.Connection) -> None:
    _set(tx, "experience_memory", "off")
    made = row(tx, "remember", content="x")
    assert [r["id"] for r in rows(tx, "recall", query=None)] == [made["id"]]


def test_similarity_threshold(tx: psycopg.Connection) -> None:
    """The threshold of a recall that names none; 3 of 6 words are 0.5 exactly."""
    _set(tx, "guard", "off")
    plan = _plan(tx)
    query = "one two three"
    assert row(tx, "recall_plan", query=query)["reason"] == "none_similar"
    for threshold, hit in (("0.5", True), ("0.500000000000001", False), ("0.4", True)):
        _set(tx, "similarity_threshold", threshold)
        found = row(tx, "recall_plan", query=query)
        assert found["hit"] == hit, threshold
        assert found["similarity"] == (0.5 if hit else None)
        assert not row(tx, "recall_plan", query=query, similarity_threshold=0.6)["hit"]
    _set(tx, "similarity_threshold", None)
    assert row(tx, "recall_plan", query=query, similarity_threshold=0.5)["id"] == plan["id"]
    _set(tx, "similarity_threshold", "0.5", "acme")
    assert not row(tx, "recall_plan", query=query)["hit"]
    _plan(tx, org_id="acme")
    assert row(tx, "recall_plan", query=query, org_id="acme")["hit"]


def test_minimum_threshold(tx: psycopg.Connection) -> None:
    """The least threshold that a call may name."""
    for minimum, asked, allowed in (
        (None, 0.3, True), (None, 0.29999, False), ("0.1", 0.1, True), ("0.1", 0.0999, False),
        ("1", 1, True), ("1", 0.99999, False), ("0.5", 0.5, True),
    ):  # fmt: skip
        _set(tx, "minimum_threshold", minimum)
        if allowed:
            row(tx, "recall_plan", query="x", similarity_threshold=asked)
        else:
            with refused("22023", "p_similarity_threshold"):
                row(tx, "recall_plan", query="x", similarity_threshold=asked)
    _set(tx, "minimum_threshold", "0.9", "acme")
    with refused("22023", "p_similarity_threshold"):
        row(tx, "recall_plan", query="x", similarity_threshold=0.8, org_id="acme")
    row(tx, "recall_plan", query="x", similarity_threshold=0.8)


def test_no_settings_make_a_recall_with_defaults_an_error(tx: psycopg.Connection) -> None:
    """Whatever order they are set and reset in, for the database or an organisation."""
    _plan(tx, org_id="acme")
    for changes in (
        [("similarity_threshold", "0.2", None)], [("minimum_threshold", "0.9", None)],
        [("similarity_threshold", "0.35", "acme"), ("minimum_threshold", "0.5", None)],
        [("similarity_threshold", "0.95", None), ("minimum_threshold", "0.8", "acme"),
         ("similarity_threshold", None, None)],
        [("minimum_threshold", "0.1", "acme"), ("similarity_threshold", "0.2", "acme"),
         ("minimum_threshold", None, "acme")],
        [("similarity_threshold", "0", None)],
    ):  # fmt: skip
        with tx.transaction(force_rollback=True):
            for change in changes:
                try:
                    _set(tx, *change)
                except psycopg.Error as error:  # a configure that refuses keeps the promise too
                    if error.sqlstate != "22023":
                        raise
            for org_id in (None, "acme"):
                row(tx, "recall_plan", query="nothing like it", org_id=org_id)
            assert row(tx, "recall_plan", query="one two three four five six",
                       org_id="acme")["hit"]  # fmt: skip


@pytest.mark.parametrize(
    ("threshold", "score", "stored"),
    [
        (None, 0.5, True), (None, 0.49999999, False), ("0.9", 0.9, True), ("0.9", 0.89, False),
        ("0", 0, True), ("0", -0.0, True), ("0", -5e-324, False), ("1", 1, True),
        ("1", 0.999999, False), ("1", float("inf"), True), ("0", float("nan"), False),
        ("0", float("-inf"), False), ("0.1", 0.1, True),
    ],
)  # fmt: skip
def test_success_threshold(
    tx: psycopg.Connection, threshold: str | None, score: float, stored: bool
) -> None:
    _set(tx, "success_threshold", threshold)
    before = contents(tx)
    answer = _plan(tx, outcome_score=score)
    assert answer["stored"] == stored
    assert answer["status"] == ("stored" if stored else "below_threshold")
    assert (answer["id"] is None) != stored
    assert answer["signature"] == "five four one six three two"
    assert (contents(tx) == before) != stored
    _set(tx, "success_threshold", None)
    _set(tx, "success_threshold", threshold, "acme")
    assert _plan(tx, outcome_score=score, org_id="acme")["stored"] == stored


@pytest.mark.parametrize(
    ("stored", "asked", "refused_by"),
    [
        ("How to turn on dark mode?", "How to turn off dark mode?", ("strict", "meaning")),
        ("invoices of vendor 17", "invoices of vendor 71", ("strict",)),
        ("reset the work password", "Work password: the reset", ()),
    ],
)
def test_guard(
    tx: psycopg.Connection, stored: str, asked: str, refused_by: tuple[str, ...]
) -> None:
    """The setting stands in where a call names no guard; strict is the default."""
    plan = _plan(tx, query=stored)
    for guard in (None, "strict", "meaning", "off"):
        _set(tx, "guard", guard)
        hit = (guard or "strict") not in refused_by
        found = row(tx, "recall_plan", query=asked)
        assert found["id"] == (plan["id"] if hit else None), guard
        assert (found["reason"] == "guarded") != hit
        for named in ("strict", "meaning", "off"):
            found = row(tx, "recall_plan", query=asked, guard=named)
            assert found["hit"] == (named not in refused_by), (guard, named)
    _set(tx, "guard", None)
    _set(tx, "guard", "off", "acme")
    _plan(tx, query=stored, org_id="acme")
    assert row(tx, "recall_plan", query=asked, org_id="acme")["hit"]
    with refused("22023", "p_guard"):
        row(tx, "recall_plan", query="x", guard="Off")


def test_default_agent(tx: psycopg.Connection) -> None:
    """On writes and on reads; an organisation may have its own."""
    _set(tx, "default_agent_id", "bot")
    _set(tx, "default_agent_id", "acme-bot", "acme")
    mine, theirs = row(tx, "remember", content="x"), row(tx, "remember", content="y", org_id="acme")
    for made, agent_id, org_id in ((mine, "bot", None), (theirs, "acme-bot", "acme")):
        (found,) = rows(tx, "recall", query=None, org_id=org_id)
        assert (found["id"], found["owner_agent_id"]) == (made["id"], agent_id)
        named = rows(tx, "recall", query=None, org_id=org_id, agent_id=agent_id)
        assert [r["id"] for r in named] == [made["id"]]
        assert rows(tx, "recall", query=None, org_id=org_id, agent_id="default") == []
    assert _plan(tx)["stored"]
    assert rows(tx, "list_plans")[0]["owner_agent_id"] == "bot"
    _set(tx, "default_agent_id", None)
    assert rows(tx, "recall", query=None) == []


def test_default_organisation(tx: psycopg.Connection) -> None:
    """On writes and on reads: nobody who names none reads across organisations."""
    first = row(tx, "remember", content="x", scope="public")
    _set(tx, "default_org_id", "acme")
    assert rows(tx, "recall", query=None) == []
    second = row(tx, "remember", content="y", scope="public")
    plan = _plan(tx)
    assert [r["id"] for r in rows(tx, "recall", query=None)] == [second["id"]]
    assert rows(tx, "recall", query=None, org_id="acme")[0]["id"] == second["id"]
    assert row(tx, "get_plan", id=plan["id"])["origin_org_id"] == "acme"
    _set(tx, "default_org_id", None)
    assert [r["id"] for r in rows(tx, "recall", query=None)] == [first["id"]]
    assert not row(tx, "recall_plan", query="one two three four five six")["hit"]


def test_the_default_agent_of_the_default_organisation(tx: psycopg.Connection) -> None:
    """The organisation is settled first, then its own default agent."""
    _set(tx, "default_org_id", "acme")
    _set(tx, "default_agent_id", "bot")
    _set(tx, "default_agent_id", "acme-bot", "acme")
    made = row(tx, "remember", content="x", ttl=timedelta(days=1))
    record = row(tx, "get_memories", ids=[made["id"]])
    assert (record["origin_org_id"], record["owner_agent_id"]) == ("acme", "acme-bot")


def test_settings_of_the_store_do_not_touch_records(tx: psycopg.Connection) -> None:
    """Changing a threshold later leaves what is stored."""
    plan = _plan(tx, outcome_score=0.6)
    assert isinstance(plan["id"], UUID)
    _set(tx, "success_threshold", "0.9")
    assert row(tx, "recall_plan", query="one two three four five six")["id"] == plan["id"]
