"""mnemo-pg recall: what it shows, its exit codes, and that every option arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mnemo_pg import Mnemo
from tests.cli.conftest import Done

Run = Callable[..., Done]


@pytest.fixture
def filled(dsn: str) -> str:
    """A database with three memories of agent ana, and one that bob shows everybody."""
    with Mnemo(dsn, agent_id="ana") as m:
        m.remember("Rhea likes quiet restaurants", subject="Rhea", tags=["food", "place"])
        m.remember("The order PO-2024-0012 came", importance=0.9, thread_id="t1",
                   source_type="human")  # fmt: skip
        m.remember("Rhea rides a bike", memory_type="semantic", tags=["food"])
    with Mnemo(dsn, agent_id="bob") as m:
        m.remember("The order PO-2024-0013 waits", scope="public")
    return dsn


def contents(done: Done) -> list[Any]:
    """What was recalled."""
    return [memory["content"] for memory in done.json]


def test_words_are_found(cli: Run, filled: str) -> None:
    done = cli("recall", "restaurant for rhea", "--agent", "ana", "--dsn", filled, "--limit", "1")
    assert done.code == 0
    assert "Rhea likes quiet restaurants" in done.out
    assert "ana, private" in done.out
    found = cli("recall", "po-2024-0013", "--strategy", "lexical", "--agent", "ana", "--dsn",
                filled, "--json")  # fmt: skip
    assert contents(found) == ["The order PO-2024-0013 waits", "The order PO-2024-0012 came"]
    assert found.json[0]["rank"] == 1


def test_ids_stay_whole_where_there_is_room(cli: Run, filled: str) -> None:
    """They are there to be copied."""
    (found,) = cli("recall", "bike", "--agent", "ana", "--dsn", filled, "--limit", "1",
                   "--json").json  # fmt: skip
    for width in ("100", "120"):
        shown = cli("recall", "bike", "--agent", "ana", "--dsn", filled, COLUMNS=width)
        assert found["id"] in shown.out


def test_nothing_found(cli: Run, filled: str) -> None:
    done = cli("recall", "zebra", "--strategy", "lexical", "--agent", "ana", "--dsn", filled)
    assert (done.code, done.out.strip()) == (1, "nothing found")
    done = cli("recall", "zebra", "--strategy", "lexical", "--dsn", filled, "--json")
    assert (done.code, done.json) == (1, [])


def test_without_words_the_newest_come_first(cli: Run, filled: str) -> None:
    found = cli("recall", "--agent", "ana", "--dsn", filled, "--json")
    assert contents(found)[:2] == ["The order PO-2024-0013 waits", "Rhea rides a bike"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--type semantic", ["Rhea rides a bike"]),
        ("--scope public", ["The order PO-2024-0013 waits"]),
        ("--tag place", ["Rhea likes quiet restaurants"]),
        ("--tag food --tag place --all-tags", ["Rhea likes quiet restaurants"]),
        ("--min-importance 0.8", ["The order PO-2024-0012 came"]),
        ("--thread t1", ["The order PO-2024-0012 came"]),
        ("--source human", ["The order PO-2024-0012 came"]),
        ("--since 2999-01-01", []),
        ("--until 2000-01-01T00:00+02:00", []),
        ("--as-of 2000-01-01", []),
        ("--org elsewhere", []),
    ],
)
def test_every_filter_arrives(cli: Run, filled: str, options: str, expected: list[str]) -> None:
    done = cli("recall", "--strategy", "exact", "--agent", "ana", "--dsn", filled, "--json",
               *options.split())  # fmt: skip
    assert contents(done) == expected
    assert done.code == (0 if expected else 1)


def test_explain_shows_the_parts(cli: Run, filled: str) -> None:
    who = ("--agent", "ana", "--dsn", filled, "--explain", "--limit", "1")
    lexical = cli("recall", "rhea bike", "--strategy", "lexical", *who)
    assert "because" in lexical.out
    assert "bike 1." in lexical.out
    hybrid = cli("recall", "rhea bike", "--weight", "recency=0.5", *who)
    assert "lexical rank 1, 0.01639: bike" in hybrid.out
    assert "recency rank 2" in hybrid.out
    assert "hours old" in cli("recall", "--strategy", "recent", *who).out


def test_weights_arrive(cli: Run, filled: str) -> None:
    done = cli("recall", "restaurant", "--weight", "lexical=0", "--weight", "recency=2", "--agent",
               "ana", "--dsn", filled, "--json")  # fmt: skip
    lanes = [memory["explanation"]["lanes"] for memory in done.json]
    assert all(set(lane) == {"recency"} and lane["recency"]["weight"] == 2 for lane in lanes)


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        (("--since", "yesterday"), 2, "no time"), (("--weight", "lexical"), 2, "no weight"),
        (("--strategy", "semantic"), 2, "semantic"), (("--limit", "0"), 2, "p_limit"),
        (("--weight", "tags=1"), 2, "unknown lane"),
        (("--strategy", "lexical"), 2, "p_query must not be NULL or blank"),
    ],
)  # fmt: skip
def test_bad_usage(cli: Run, filled: str, options: tuple[str, ...], code: int, part: str) -> None:
    done = cli("recall", "--dsn", filled, *options)
    assert done.code == code, done.err
    assert part in " ".join(done.err.split())
