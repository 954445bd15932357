"""The commands seal, verify, history and retain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import Done
from tests.support.calls import row, rows

Cli = Callable[..., Done]

RECOMPUTE = """
    WITH RECURSIVE c AS (
        SELECT 0::bigint AS seq, NULL::uuid AS id, NULL::bytea AS prev_hash,
               mnemo._first_prev_hash() AS hash
        UNION ALL
        SELECT e.seq, e.id, c.hash, mnemo._link_hash(c.hash, e.seq, mnemo._event_body(e))
          FROM c JOIN mnemo.event AS e ON e.seq = c.seq + 1 AND e.org_id = %s AND e.agent_id = %s
    ), u AS (
        UPDATE mnemo.event AS e SET prev_hash = c.prev_hash, hash = c.hash FROM c WHERE e.id = c.id
    )
    UPDATE mnemo.chain_head AS h SET hash = c.hash FROM c
     WHERE h.seq = c.seq AND h.org_id = %s AND h.agent_id = %s
"""


@pytest.fixture
def run(cli: Cli, dsn: str) -> Cli:
    """A command on a database with three chains."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        for agent, org in (("ana", "default"), ("ben", "default"), ("ana", "acme")):
            for number in range(3):
                row(conn, "remember", content=f"m{number}", agent_id=agent, org_id=org)

    def command(*arguments: str | Path) -> Done:
        return cli(*map(str, arguments), MNEMO_PG_DSN=dsn)

    return command


def test_seal_and_verify(run: Cli, dsn: str) -> None:
    assert [one["unsealed"] for one in run("verify", "--json").json] == [3, 3, 3]
    assert run("seal").out == "every event is sealed\n"
    assert run("seal", "--json").json == {"left": 0}
    done = run("verify")
    assert done.code == 0
    assert done.out.count(" ok ") == 3
    assert [(one["org_id"], one["agent_id"], one["ok"], one["checked"])
            for one in run("verify", "--json").json] == [
        ("acme", "ana", True, 3), ("default", "ana", True, 3), ("default", "ben", True, 3),
    ]  # fmt: skip
    assert [one["org_id"] for one in run("verify", "--org", "acme", "--json").json] == ["acme"]
    with psycopg.connect(dsn) as conn:
        conn.execute("UPDATE mnemo.memory SET content = 'x' WHERE agent_id = 'ben'")
    done = run("verify")
    assert done.code == 1
    assert done.out.count("BROKEN: content_changed") == 1
    assert run("verify", "--agent", "ana").code == 0
    assert run("verify", "--agent", "ben").code == 1


def test_what_another_session_seals_is_left_to_it(run: Cli, dsn: str) -> None:
    with psycopg.connect(dsn) as other:
        other.execute("SELECT mnemo._seal_chain('default', 'ana', NULL)")
        done = run("seal")
        assert (done.code, done.out) == (1, "3 events are left\n")


def test_heads_kept_outside_find_a_new_beginning(run: Cli, dsn: str, tmp_path: Path) -> None:
    """Everything deleted and written anew verifies by itself, and not against the old heads."""
    run("seal")
    kept = tmp_path / "heads.json"
    kept.write_text(run("verify", "--json").out, "utf-8")
    assert run("verify", "--heads", kept).code == 0
    head = run("verify", "--agent", "ben", "--json").json[0]["head"]
    assert run("verify", "--agent", "ben", "--head", head).code == 0
    assert run("verify", "--agent", "ana", "--head", head).code == 1
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("TRUNCATE mnemo.memory, mnemo.event, mnemo.chain_head CASCADE")
        for number in range(3):
            row(conn, "remember", content=f"m{number}", agent_id="ana")
    run("seal")
    assert run("verify").code == 0
    done = run("verify", "--heads", kept, "--json")
    assert done.code == 1
    assert [(one["org_id"], one["agent_id"], one["reason"]) for one in done.json] == [
        ("acme", "ana", "head_unknown"), ("default", "ana", "head_unknown"),
        ("default", "ben", "head_unknown"),
    ]  # fmt: skip


def test_an_owner_without_a_chain_is_not_overlooked(run: Cli, dsn: str) -> None:
    run("seal")
    with psycopg.connect(dsn) as conn:
        for table in ("event", "chain_head"):
            conn.execute(f"DELETE FROM mnemo.{table} WHERE agent_id = 'ben'")
    done = run("verify")
    assert done.code == 1
    assert "BROKEN: record_without_event" in done.out


def test_an_export_is_verified_offline(run: Cli, cli: Cli, tmp_path: Path) -> None:
    run("seal")
    path = tmp_path / "chains.jsonl"
    assert run("verify", "--export", path).code == 0
    done = cli("verify", "--offline", str(path))
    assert done.code == 0
    assert done.out.count(" 3 events hold; head ") == 3
    head = cli("verify", "--offline", str(path), "--json").json[0]["head"]
    assert cli("verify", "--offline", str(path), "--head", head).code == 0
    assert cli("verify", "--offline", str(path), "--head", "00" * 32).code == 1
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(lines[:-1]), "utf-8")
    done = cli("verify", "--offline", str(path), "--json")
    assert (done.code, done.json[-1]["reason"]) == (1, "tail_missing")


def test_history(run: Cli, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        record = row(conn, "remember", content="x", importance=0.25, agent_id="ana")["id"]
        rows(conn, "share", id=record, to_agents=["ben"], agent_id="ana")
    done = run("history", record, "--agent", "ana")
    assert "memory_write" in done.out
    assert "importance 0.25" in done.out
    found = run("history", record, "--agent", "ben", "--json").json
    assert [one["event_type"] for one in found] == ["memory_write", "memory_share"]
    done = run("history", record, "--agent", "cem")
    assert done.code == 1
    assert "no such record" in done.err


def test_retain(run: Cli, dsn: str) -> None:
    run("seal")
    done = run("retain", "--older-than", "1d")
    assert (done.code, done.out) == (0, "0 events removed, 0 records carried over\n")
    with psycopg.connect(dsn) as conn:
        conn.execute("UPDATE mnemo.event SET happened_at = '2020-01-01' WHERE agent_id = 'ben'")
    done = run("retain", "--older-than", "1d")
    assert done.code == 1
    assert done.out.endswith("default/ben is BROKEN and left as it is: event_changed\n")
    (broken,) = run("retain", "--older-than", "1d", "--json").json["broken"]
    assert broken["agent_id"] == "ben"
    assert run("retain", "--older-than", "1d", "--org", "acme").code == 0


def test_retain_removes_in_batches(run: Cli, dsn: str) -> None:
    run("seal")
    with psycopg.connect(dsn, autocommit=True) as conn:
        # As if the clock had been wrong: events of the past cannot be made by the functions.
        conn.execute("UPDATE mnemo.event SET happened_at = '2020-01-01'")
        for agent, org in (("ana", "default"), ("ben", "default"), ("ana", "acme")):
            conn.execute(RECOMPUTE, (org, agent, org, agent))
    assert run("verify").code == 0
    assert run("retain", "--older-than", "52w", "--json").json == {
        "removed": 9, "carried": 9, "broken": [],
    }  # fmt: skip
    done = run("verify", "--json")
    assert [(one["ok"], one["anchor_seq"]) for one in done.json] == [(True, 3)] * 3


def test_wrong_usage(run: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}", "utf-8")
    for arguments, said in (
        (("--head", "00" * 32), "name it with --agent"),
        (("--agent", "ana", "--head", "xyz"), "hexadecimal"),
        (("--agent", "ana", "--head", "00"), "32 bytes"),
        (("--heads", tmp_path / "none"), "cannot read"),
        (("--heads", broken), "holds no heads"),
        (("--offline", tmp_path / "none"), "cannot read"),
    ):
        done = run("verify", *arguments)
        assert done.code == 2, arguments
        assert said in done.err
    assert run("verify", "--export", tmp_path / "no" / "file").code == 1
    assert json.loads(run("verify", "--json").out)
