"""mnemo-pg forget and sweep."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.cli.conftest import Done
from tests.support.calls import row

Cli = Callable[..., Done]


@pytest.fixture
def run(cli: Cli, dsn: str) -> Cli:
    """A command on the database of `dsn`."""
    return lambda *arguments: cli(*map(str, arguments), MNEMO_PG_DSN=dsn)


@pytest.fixture
def records(dsn: str) -> list[UUID]:
    """Four records of ana: two with tag t, one of zoe, a plan."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        made = [
            row(conn, "remember", content=f"m{number}", agent_id="ana", **more)["id"]
            for number, more in enumerate(({"tags": ["t"]}, {"tags": ["t"]}, {"subject": "Zoe"}))
        ]
        made.append(row(conn, "remember_plan", query="how to pay", steps=["a"], chunk_ids=[],
                        outcome_score=1, agent_id="ana", tags=["subject:zoe"])["id"])  # fmt: skip
    return made


def _left(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "SELECT count(*) FROM mnemo.memory WHERE deleted_at IS NULL"
        ).fetchone()
    assert found is not None
    return int(found[0])


def test_forget_by_id(run: Cli, dsn: str, records: list[UUID]) -> None:
    assert run("forget", records[0], "--agent", "ana").out == "1 deleted\n"
    done = run("forget", records[1], records[3], "--agent", "ana", "--strategy", "redact", "-y",
               "--json")  # fmt: skip
    assert done.json["forgotten"] == 2
    assert done.json["status"] == "redacted"
    assert done.json["ids"] == sorted(map(str, (records[1], records[3])))
    assert _left(dsn) == 1
    for unknown in (uuid4(), records[0]):
        done = run("forget", unknown, "--agent", "ana")
        assert (done.code, _left(dsn)) == (1, 1)
        assert str(unknown) in done.err


def test_forget_by_criteria(run: Cli, dsn: str, records: list[UUID]) -> None:
    """All of them must be met; none met is no failure."""
    done = run("forget", "--tag", "t", "--type", "semantic", "--agent", "ana")
    assert (done.code, done.out) == (0, "0 forgotten\n")
    done = run("forget", "--tag", "t", "--before", "2999-01-01", "--agent", "ana", "--json")
    assert sorted(done.json["ids"]) == sorted(map(str, records[:2]))
    assert _left(dsn) == 2


def test_forget_a_data_subject(run: Cli, dsn: str, records: list[UUID]) -> None:
    done = run("forget", "--subject", "ZOE", "--yes", "--json")
    assert (done.json["memories"], done.json["plans"]) == (1, 1)
    assert _left(dsn) == len(records) - 2
    assert "memories" in run("forget", "--subject", "ZOE", "--yes").out


def test_what_cannot_be_brought_back_is_confirmed(run: Cli, dsn: str, records: list[UUID]) -> None:
    """Without a terminal by --yes."""
    for arguments in (
        (records[0], "--strategy", "redact"), (records[0], "--strategy", "hard_delete"),
        ("--tag", "t", "--strategy", "redact"), ("--subject", "zoe"),
    ):  # fmt: skip
        done = run("forget", *arguments, "--agent", "ana")
        assert (done.code, done.out) == (2, "")
        assert "--yes" in done.err
    assert _left(dsn) == 4


def test_forget_wants_one_way_to_say_what(run: Cli, dsn: str, records: list[UUID]) -> None:
    for arguments in ((), (records[0], "--tag", "t"), ("--tag", "t", "--subject", "z"),
                      ("--subject", "z", "--strategy", "archive"), ("--tag", " ")):  # fmt: skip
        done = run("forget", *arguments, "--agent", "ana", "--yes")
        assert done.code == 2, arguments
        assert len(done.err.splitlines()) == 1
    assert _left(dsn) == 4


def test_sweep(run: Cli, dsn: str, records: list[UUID]) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(3):
            row(conn, "remember", content="x", agent_id="ana", ttl="1 microsecond")
    done = run("sweep", "--json")
    assert (done.code, done.json["expired"], done.json["more"]) == (0, 3, False)
    assert _left(dsn) == len(records)
    done = run("sweep")
    assert done.code == 0
    assert "expired" in done.out


def test_a_sweep_leaves_what_others_have(run: Cli, dsn: str, records: list[UUID]) -> None:
    """And says so."""
    with psycopg.connect(dsn) as conn:
        conn.execute("SELECT FROM mnemo.chain_head FOR UPDATE")
        assert run("seal").code == 0
        with psycopg.connect(dsn) as other:
            row(other, "remember", content="y", agent_id="ana")
            other.commit()
            conn.execute("SELECT FROM mnemo.chain_head FOR UPDATE")
            done = run("sweep", "--json")
            assert (done.code, done.json["more"]) == (1, True)
    assert run("sweep").code == 0
    assert records
