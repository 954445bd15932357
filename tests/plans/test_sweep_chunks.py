"""What a sweep does with reports of changed chunks: old ones leave one row for their source."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from tests.plans.test_sources import WHO, changed, found, plan
from tests.support.calls import row, rows, scalar
from tests.support.reuse import emptied

State = dict[tuple[str, str], int]


@pytest.fixture
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    with emptied(module_dsn) as conn:
        yield conn


def swept(db: psycopg.Connection, limit: int = 1000) -> int:
    """How many rows a sweep folds."""
    (done,) = [one["done"] for one in rows(db, "sweep", limit=limit) if one["task"] == "chunks"]
    return int(done)


def age(db: psycopg.Connection, days: int, *chunks: str) -> None:
    """Let what was reported be so many days older."""
    db.execute(
        "UPDATE mnemo.chunk_state SET changed_at = changed_at - make_interval(days => %s)"
        " WHERE chunk_id = ANY (%s)",
        [days, list(chunks)],
    )


def state(db: psycopg.Connection, org: str = "acme") -> State:
    """The age in days by source and chunk."""
    return {
        (source, chunk): days
        for source, chunk, days in db.execute(
            "SELECT source, chunk_id, extract(day FROM clock_timestamp() - changed_at)::integer"
            " FROM mnemo.chunk_state WHERE org_id = %s",
            [org],
        )
    }


def grown_old(db: psycopg.Connection, id: UUID, days: int) -> None:
    """Let a plan have been written so many days ago."""
    old = "encode(substring(decode(lpad(to_hex((extract(epoch FROM now()"
    old += " - make_interval(days => %s)) * 1000)::bigint), 12, '0'), 'hex') FROM 1), 'hex')"
    old = f"({old} || right(replace(%s::text, '-', ''), 20))::uuid"
    with db.transaction():
        db.execute("SET LOCAL session_replication_role = replica")
        for table, column in (("memory", "id"), ("plan_signature", "plan_id")):
            db.execute(
                f"UPDATE mnemo.{table} SET {column} = {old} WHERE {column} = %s", [days, id, id]
            )


def test_what_no_plan_is_older_than_is_folded(db: psycopg.Connection) -> None:
    """For each source and organisation; what plans there are answer as before."""
    changed(db, "c1", "c2", "c3", "c4")
    changed(db, "c1", "c2", source="wiki")
    changed(db, "c1", org_id="globex", agent_id="gil")
    fresh = plan(db, "c1", "c3")
    stale = plan(db, "c4", query="where is the printer")
    changed(db, "c4")
    age(db, 50, "c1", "c2")
    age(db, 40, "c3")
    assert swept(db) == 6
    assert state(db) == {("", ""): 40, ("", "c4"): 0, ("wiki", ""): 50}
    assert state(db, "globex") == {("", ""): 50}
    assert found(db) == (fresh, "exact", False)
    assert found(db, "where is the printer")[1] == "stale"
    assert found(db, "where is the printer", stale="include") == (stale, "exact", True)
    # Again, with more: the row of the source has the latest.
    changed(db, "c5")
    age(db, 35, "c5")
    assert swept(db) == 1
    assert state(db) == {("", ""): 35, ("", "c4"): 0, ("wiki", ""): 50}
    assert swept(db) == 0
    changed(db, "c1")
    assert found(db)[1] == "stale"


def test_a_plan_that_comes_late_is_stale_and_not_taken_for_fresh(db: psycopg.Connection) -> None:
    """It was made from chunks of which nobody knows any more whether they changed since."""
    changed(db, "c1", "c2", "c3")
    age(db, 50, "c1", "c2", "c3")
    assert swept(db) == 3
    for days, reason in ((51, "stale"), (49, "exact")):
        read_at = scalar(db, "SELECT now() - make_interval(days => %s)", days)
        plan(db, "c2", query=f"where is the printer {days}", read_at=read_at)
        assert found(db, f"where is the printer {days}")[1] == reason


def test_what_a_plan_is_older_than_stays(db: psycopg.Connection) -> None:
    """Of whatever source: global ones, other agents' and failures count, deleted ones do not."""
    more = [{}, {"scope": "global"}, {"agent_id": "zoe"}]
    made = [plan(db, "c9", query=f"question {number}", **each) for number, each in enumerate(more)]
    made.append(
        row(db, "remember_failure", query="question", steps=["x"], reason="no", **WHO)["id"]
    )
    for number, id in enumerate(made):
        grown_old(db, id, 40 + number)
    olds = [id for (id,) in db.execute("SELECT id FROM mnemo.memory ORDER BY id")]
    changed(db, "c1", source="wiki")
    for days in range(43, 39, -1):
        # Thirty days older than the oldest plan, and not quite.
        age(db, days + 29, "c1")
        assert swept(db) == 0
        age(db, 2, "c1")
        with db.transaction(force_rollback=True):
            assert swept(db) == 1
        age(db, -days - 31, "c1")
        db.execute("UPDATE mnemo.memory SET deleted_at = now() WHERE id = %s", [olds.pop(0)])


def test_nobody_is_waited_for(db: psycopg.Connection, module_dsn: str) -> None:
    changed(db, "c1", "c2")
    changed(db, "c1", source="wiki")
    age(db, 50, "c1", "c2")
    with psycopg.connect(module_dsn) as other:
        other.execute("SET lock_timeout = '5s'")
        # One chunk is just reported again.
        changed(other, "c1")
        assert swept(db) == 2
        assert state(db) == {("", "c1"): 50, ("", ""): 50, ("wiki", ""): 50}
        other.commit()
        assert swept(db) == 0
        # The whole source is, for the first time.
        changed(db, "c3", source="files")
        age(db, 50, "c3")
        other.execute(
            "INSERT INTO mnemo.chunk_state VALUES ('acme', 'files', '', 1, clock_timestamp())"
        )
        assert swept(db) == 0
        other.commit()
    assert swept(db) == 1
    assert state(db)["files", ""] == 0


def test_a_sweep_looks_at_a_stretch(db: psycopg.Connection) -> None:
    db.execute(
        "INSERT INTO mnemo.chunk_state SELECT 'acme', 'many', n::text, 1, now() - interval '1 year'"
        " FROM generate_series(1, 3000) AS n"
    )
    first = swept(db, 100)
    assert 0 < first <= 100
    assert state(db)["many", ""] == pytest.approx(365, abs=1)
    assert swept(db, 10000) == 3000 - first
    assert len(state(db)) == 1
