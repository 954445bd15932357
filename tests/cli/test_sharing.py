"""mnemo-pg share, unshare, delegate, delegations, revoke-delegation: what they do and say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemo_pg import Mnemo
from tests.cli.conftest import Done

Run = Callable[..., Done]


@pytest.fixture
def notes(dsn: str) -> list[str]:
    """A private note of ana and a shared one with a tag; their ids."""
    with Mnemo(dsn, agent_id="ana") as m:
        return [
            str(m.remember("the draft").id),
            str(m.remember("the plan", scope="shared", tags=["team"]).id),
        ]


def test_share_and_unshare(cli: Run, dsn: str, notes: list[str]) -> None:
    """Grants arrive with permission and end, are listed, and can be taken back."""
    done = cli("share", notes[0], "ben", "cem", "--permission", "write", "--ttl", "7d", "--agent",
               "ana", "--dsn", dsn)  # fmt: skip
    assert done.code == 0
    assert [line.split(" until ")[0] for line in done.out.splitlines()] == [
        "ben may write", "cem may write",
    ]  # fmt: skip
    with Mnemo(dsn, agent_id="cem") as m:
        assert m.check_permission(notes[0], "write")
    done = cli("unshare", notes[0], "cem", "dua", "--agent", "ana", "--dsn", dsn, "--json")
    assert done.code == 0
    assert done.json == [
        {"agent_id": "cem", "status": "removed"}, {"agent_id": "dua", "status": "absent"},
    ]  # fmt: skip
    assert cli("unshare", notes[0], "cem", "--agent", "ana", "--dsn", dsn).code == 1
    refused = cli("share", notes[0], "dua", "--agent", "ben", "--dsn", dsn)
    assert refused.code == 1
    assert "lacks permission share" in refused.err


def test_delegate_list_and_revoke(cli: Run, dsn: str, notes: list[str]) -> None:
    """A tag, and records by id; the ids that are printed are those to revoke by."""
    made = cli("delegate", "ben", "--tag", "team", "--permission", "delete", "--depth", "2",
               "--agent", "ana", "--dsn", dsn, "--json").json["id"]  # fmt: skip
    named = cli("delegate", "ben", notes[0], "--ttl", "2w", "--agent", "ana", "--dsn", dsn)
    assert named.out.startswith("delegated: ")
    with Mnemo(dsn, agent_id="ben") as m:
        assert [str(record.id) for record in m.get_memories(notes)] == notes
        assert m.check_permission(notes[1], "delete")
    shown = cli("delegations", "--agent", "ben", "--dsn", dsn)
    assert shown.code == 0
    assert [line.split()[:4] for line in shown.out.splitlines()[1:]] == [
        ["from", "ana", "read", "1"], ["from", "ana", "delete", "tag"],
    ]  # fmt: skip
    done = cli("revoke-delegation", made, "--agent", "ben", "--dsn", dsn)
    assert (done.code, done.out.strip()) == (0, "ended 1, those passed on included")
    assert cli("revoke-delegation", made, "--agent", "ana", "--dsn", dsn).code == 1
    listed = cli("delegations", "--agent", "ana", "--dsn", dsn, "--json").json
    assert [one["memory_ids"] for one in listed] == [[notes[0]]]
    every = cli("delegations", "--all", "--agent", "ana", "--dsn", dsn, "--json").json
    assert [one["status"] for one in every] == ["active", "revoked"]
    assert cli("delegations", "--agent", "dua", "--dsn", dsn).code == 1
    assert cli("revoke-delegation", made, "--agent", "dua", "--dsn", dsn).code == 1


def test_bad_arguments_name_the_parameter(cli: Run, dsn: str, notes: list[str]) -> None:
    who = ("--agent", "ana", "--dsn", dsn)
    for arguments, word in (
        (("delegate", "ana"), "p_to_agent"),
        (("delegate", "ben", notes[0], "--tag", "team"), "p_tag"),
        (("delegate", "ben", "--depth", "11"), "p_max_depth"),
        (("share", notes[0], "no agent"), "p_to_agents"),
    ):
        done = cli(*arguments, *who)
        assert done.code in (1, 2)
        assert word in done.err
