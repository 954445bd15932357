"""mnemo-pg retrieve and memory-map: what they show, their exit codes, that options arrive."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from mnemo_pg import Mnemo
from tests.cli.conftest import Done
from tests.support.reuse import emptied

Run = Callable[..., Done]
PLACE = "Rhea's favourite restaurant is Fennelmark."
DRINK = "Rhea drinks oat milk at breakfast."
TRIP = "The user went to Lisbon by train."
OLD_TRIP = "The user went to Lisbon by boat."


@pytest.fixture(scope="module")
def filled(module_dsn: str) -> str:
    """A database with four facts of agent ana; nothing is written after that."""
    with emptied(module_dsn), Mnemo(module_dsn, agent_id="ana") as m:
        m.remember(PLACE, kind="relationship_preference", subject="rhea", entities=["Rhea"],
                   predicate="venue_preference", aliases=["my wife"])  # fmt: skip
        m.remember(DRINK, kind="preference", subject="rhea", predicate="drink_preference")
        for content, year in ((OLD_TRIP, 2019), (TRIP, 2026)):
            m.remember(content, kind="episodic", subject="user", predicate="trip",
                       valid_from=datetime(year, 3, 5, tzinfo=UTC))  # fmt: skip
    return module_dsn


@pytest.fixture
def retrieve(cli: Run, filled: str) -> Run:
    """The command, as agent ana."""

    def run(*arguments: str, **env: str) -> Done:
        return cli("retrieve", *arguments, "--agent", "ana", "--dsn", filled, **env)

    return run


def contents(done: Done) -> list[Any]:
    """What was retrieved."""
    return [memory["content"] for memory in done.json]


def test_what_memory_knows(retrieve: Run) -> None:
    done = retrieve("where does my wife like to eat?")
    assert done.code == 0
    for part in (PLACE, "rhea", "venue_preference", "relationship_preference", "score"):
        assert part in done.out
    found = retrieve("where does my wife like to eat?", "--json")
    assert found.code == 0
    assert contents(found)[0] == PLACE
    assert found.json[0]["rank"] == 1
    assert found.json[0]["explanation"]["rankings"]


def test_what_memory_does_not_know(retrieve: Run, cli: Run, filled: str) -> None:
    done = retrieve("which zebra sleeps")
    assert (done.code, done.out.strip()) == (1, "nothing found")
    done = retrieve("which zebra sleeps", "--json")
    assert (done.code, done.json) == (1, [])
    done = retrieve("hello there")
    assert done.code == 1
    assert "nothing to look for" in done.out
    # Another agent has not heard of her.
    done = cli("retrieve", "where does my wife like to eat?", "--agent", "ben", "--dsn", filled)
    assert done.code == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--kind episodic", [TRIP, OLD_TRIP]),
        ("--kind episodic --limit 1", [TRIP]),
        ("--kind identity", []),
        ("--kind identity --kind episodic", [TRIP, OLD_TRIP]),
        ("--since 2026-01-01", [TRIP]),
        ("--until 2020-01-01T00:00+02:00", [OLD_TRIP]),
        ("--since 2019-03-05 --until 2026-03-05", [OLD_TRIP]),
        ("--since 2999-01-01", []),
        ("--until 2020-01-01 --temporal prefer", [OLD_TRIP, TRIP]),
        ("--org elsewhere", []),
    ],
)
def test_every_filter_arrives(retrieve: Run, options: str, expected: list[str]) -> None:
    done = retrieve("the trip to Lisbon", "--json", *options.split())
    assert contents(done) == expected
    assert done.code == (0 if expected else 1)


def test_hints_put_first_what_they_match(retrieve: Run) -> None:
    """And leave nothing out; who hints searches, whatever the text says."""
    plain = retrieve("the trip to Lisbon", "--json")
    hinted = retrieve("the trip to Lisbon", "--about", "my wife", "--attribute",
                      "Drink Preference", "--json")  # fmt: skip
    assert DRINK not in contents(plain)
    assert {DRINK, TRIP, OLD_TRIP} <= set(contents(hinted))
    only = retrieve("hm?", "--about", "rhea", "--attribute", "drink_preference", "--json")
    assert contents(only) == [DRINK]


def test_explain_shows_plan_parts_and_near_misses(retrieve: Run) -> None:
    done = retrieve("the trip to Lisbon", "--since", "2026-01-01", "--explain")
    assert done.code == 0
    for part in ("intent", "queries", "lisbon", "2026-01-01", "returned", "time_window", TRIP,
                 OLD_TRIP, "rank 1"):  # fmt: skip
        assert part in done.out
    found = retrieve("the trip to Lisbon", "--since", "2026-01-01", "--explain", "--json")
    verdicts = {one["content"]: one["verdict"] for one in found.json}
    assert verdicts[TRIP] == "returned"
    assert verdicts[OLD_TRIP] == "time_window"
    done = retrieve("which zebra sleeps", "--explain")
    assert done.code == 1
    assert "returned" not in done.out


def test_an_id_stays_in_one_piece(retrieve: Run) -> None:
    """Also in a narrow terminal: it is there to be copied."""
    ids = [one["id"] for one in retrieve("the trip to Lisbon", "--json").json]
    shown = retrieve("the trip to Lisbon", COLUMNS="50")
    assert len(ids) == 2
    assert all(id in shown.out for id in ids)
    assert max(map(len, shown.out.splitlines())) <= 50


def test_a_hint_of_which_nothing_is_left_says_so(retrieve: Run) -> None:
    done = retrieve("the trip to Lisbon", "--attribute", "住所", "--json")
    assert done.code == 0
    assert 'predicate_hint has no ASCII letter or digit and was dropped: "住所"' in done.err


def test_bad_options(retrieve: Run) -> None:
    assert retrieve("x", "--kind", "nonsense").code == 2
    assert retrieve("x", "--since", "yesterday").code == 2
    done = retrieve("x y", "--limit", "0")
    assert done.code == 2
    assert "limit must be from 1 to 1000" in done.err
    done = retrieve("x", "--since", "2026-01-02", "--until", "2026-01-01")
    assert done.code == 2
    assert "$.temporal.before" in done.err


def test_memory_map(cli: Run, filled: str) -> None:
    shown = cli("memory-map", "--agent", "ana", "--dsn", filled)
    assert shown.code == 0
    assert shown.out.splitlines() == [
        "about: rhea (2), user (2)",
        "attribute: trip (2), drink_preference (1), venue_preference (1)",
    ]
    short = cli("memory-map", "--limit", "1", "--agent", "ana", "--dsn", filled, "--json")
    assert short.json["memory_map"].startswith("about: rhea (2), and 1 more\n")
    empty = cli("memory-map", "--agent", "ben", "--dsn", filled)
    assert empty.code == 1
    assert "nothing is remembered" in empty.out
    assert cli("memory-map", "--agent", "ben", "--dsn", filled, "--json").json == {"memory_map": ""}
    assert cli("memory-map", "--limit", "0", "--dsn", filled).code == 2


def test_nothing_was_written(filled: str) -> None:
    with psycopg.connect(filled) as conn:
        assert conn.execute("SELECT count(*) FROM mnemo.memory").fetchall() == [(4,)]
