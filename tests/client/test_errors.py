"""Database errors become exceptions by SQLSTATE; all others pass unchanged."""

from __future__ import annotations

import json
import pickle
from typing import Any
from uuid import uuid4

import psycopg
import psycopg_pool
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Literal

from mnemo_pg import (
    AccessError,
    ArgumentError,
    LimitError,
    Mnemo,
    MnemoError,
    NotFoundError,
    NotInstalledError,
    StateError,
    UnavailableError,
    errors,
)
from tests.client.conftest import Side

Db = psycopg.Connection[Any]


def raise_in_database(db: Db, code: str, detail: str | None, message: str = "m") -> None:
    using = SQL("MESSAGE = {}, ERRCODE = {}, HINT = 'h'").format(Literal(message), Literal(code))
    if detail is not None:
        using += SQL(", DETAIL = {}").format(Literal(detail))
    with errors.translate():
        db.execute(SQL("DO $$ BEGIN RAISE EXCEPTION USING {}; END $$").format(using))


def test_the_table_of_codes() -> None:
    assert {code: kind.__name__ for code, kind in errors.CODES.items()} == {
        "42501": "AccessError",
        "55000": "StateError",
        "22023": "ArgumentError",
        "54000": "LimitError",
        "MN001": "NotFoundError",
        "MN002": "VersionConflictError",
        "0A000": "UnsupportedError",
    }


@pytest.mark.parametrize("code", errors.CODES)
def test_each_code(code: str, db: Db) -> None:
    detail = {"parameter": "p_ids", "ids": ["a"]}
    with pytest.raises(MnemoError) as caught:
        raise_in_database(db, code, json.dumps(detail))
    error = caught.value
    assert type(error) is errors.CODES[code]
    assert (error.sqlstate, error.message, str(error), error.hint) == (code, "m", "m", "h")
    assert error.parameter == "ids"
    assert error.detail == detail
    assert isinstance(error.__cause__, psycopg.Error)
    assert error.__cause__.sqlstate == code
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("detail", [None, "", "plain words", "[1]", '"p_x"', "{", "null"])
def test_details_that_are_no_object(detail: str | None, db: Db) -> None:
    with pytest.raises(ArgumentError) as caught:
        raise_in_database(db, "22023", detail)
    assert (caught.value.detail, caught.value.parameter) == ({}, None)


@pytest.mark.parametrize("code", ["23514", "25P02", "P0001", "MN099", "3F000", "42P01"])
def test_other_errors_pass_unchanged(code: str, db: Db) -> None:
    with pytest.raises(psycopg.Error) as caught:
        raise_in_database(db, code, '{"parameter": "p_x"}')
    assert caught.value.sqlstate == code
    with pytest.raises(ZeroDivisionError), errors.translate():
        raise ZeroDivisionError


@pytest.mark.parametrize("code", errors.SERVER_CODES)
def test_what_may_happen_to_any_call(code: str, db: Db) -> None:
    """The server gives no remedy with these: the exception has one, and says whether to retry."""
    with pytest.raises(MnemoError) as caught, errors.translate():
        db.execute(SQL("DO $$ BEGIN RAISE 'm' USING ERRCODE = {}; END $$").format(Literal(code)))
    error = caught.value
    assert type(error) is errors.SERVER_CODES[code]
    assert (error.sqlstate, error.message) == (code, "m")
    assert error.hint
    final = {"57014", "25006", "26000", "42P05"}
    assert error.retryable == (code not in final)
    assert isinstance(error.__cause__, psycopg.Error)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), vars(copy)) == (type(error), vars(error))


def test_what_the_driver_alone_notices(dsn: str) -> None:
    """No SQLSTATE, since the server said nothing; a closed pool is the caller's own doing."""
    for lost in (psycopg.OperationalError("gone"), psycopg_pool.PoolTimeout("none free")):
        with pytest.raises(UnavailableError) as caught, errors.translate():
            raise lost
        assert (caught.value.sqlstate, str(caught.value)) == (None, str(lost))
        assert caught.value.retryable
        assert caught.value.connection_lost
    with pytest.raises(psycopg_pool.PoolClosed), errors.translate():
        raise psycopg_pool.PoolClosed("closed")
    with pytest.raises(UnavailableError), Mnemo(make_conninfo(dsn, dbname="no such database")):
        pass
    with pytest.raises(UnavailableError) as full, errors.translate():
        raise psycopg.errors.DiskFull("full")
    assert not full.value.connection_lost


def test_what_the_caller_raises_inside_a_transaction_stays_as_it_is(dsn: str) -> None:
    """Errors of another connection are not ours to explain."""
    own = psycopg.errors.InsufficientPrivilege("of another table")

    def work() -> None:
        with Mnemo(dsn) as m, m.transaction() as tx:
            tx.remember("rolled back")
            raise own

    with pytest.raises(psycopg.Error) as caught:
        work()
    assert caught.value is own


async def test_a_bad_argument_names_itself(side: Side) -> None:
    m = side.client(side.dsn)
    for threshold in (float("nan"), 1.5, 0.1):
        with pytest.raises(ArgumentError) as caught:
            await m.recall_plan("q", similarity_threshold=threshold)
        assert caught.value.parameter == "similarity_threshold"
        assert caught.value.detail["parameter"] == "p_similarity_threshold"
        assert caught.value.hint
        assert isinstance(caught.value.__cause__, psycopg.errors.InvalidParameterValue)
    for call, parameter in (
        (m.remember("x", scope="nonsense"), "scope"),
        (m.remember("x", tags=["a", None]), "tags"),
        (m.remember("x", importance=float("inf")), "importance"),
        (m.remember_plan("q", [], [], None), "outcome_score"),
        (m.recall("x", strategy="psychic"), "strategy"),
        (m.recall_plan("q", org_id="*"), "org_id"),
        (m.share(uuid4(), ["bob"], permission="own"), "permission"),
    ):
        with pytest.raises(ArgumentError) as caught:
            await call
        assert caught.value.parameter == parameter
        assert f"p_{parameter}" in str(caught.value)


async def test_the_errors_of_calls(side: Side) -> None:
    m = side.client(side.dsn)
    missing = uuid4()
    with pytest.raises(NotFoundError) as not_found:
        await m.get_plan(missing)
    assert not_found.value.detail["ids"] == [str(missing)]
    with pytest.raises(LimitError):
        await m.remember_plan("long " * 20_001, [], [], 1)
    memory = await m.remember("x", scope="public")
    with pytest.raises(AccessError):
        await m.forget([memory.id], agent_id="somebody_else")
    await m.configure("experience_memory", "off")
    with pytest.raises(StateError) as off:
        await m.remember_plan("q", [], [], 1)
    assert "mnemo.configure('experience_memory', 'on')" in str(off.value.hint)
    assert (await m.recall_plan("q")).reason == "disabled"


async def test_a_role_without_access(side: Side, db: Db) -> None:
    role = f"client_test_{uuid4().hex}"
    db.execute(f"CREATE ROLE {role}")
    try:
        connection = await side.connect(options=f"-c role={role}", autocommit=True)
        m = side.client(connection)
        with pytest.raises(AccessError) as caught:  # PostgreSQL's own refusal
            await m.recall("x")
        assert "grant_access" in str(caught.value.hint)
    finally:
        db.execute(f"DROP ROLE {role}")


async def test_a_database_without_mnemo(side: Side) -> None:
    m = side.client(make_conninfo(side.dsn, dbname="postgres"))
    for call in (m.version(), m.recall_plan("q"), m.remember("x"), m.jaccard([], [])):
        with pytest.raises(NotInstalledError) as caught:
            await call
        assert "not installed" in str(caught.value)
        assert "mnemo-pg init" in str(caught.value.hint)
        assert "CREATE EXTENSION mnemo_pg" in str(caught.value.hint)


def test_a_function_that_an_old_installation_lacks(db: Db) -> None:
    db.execute("ALTER FUNCTION mnemo.list_plans RENAME TO renamed")
    with pytest.raises(NotInstalledError, match="too old"):
        Mnemo(db).list_plans()


def test_a_missing_function_of_somebody_else(db: Db) -> None:
    with pytest.raises(psycopg.errors.UndefinedFunction), errors.translate():
        db.execute("SELECT no_such_function(1)")
