"""The benchmarks of retrieval run, and say what is so."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, cast

import psycopg
from rich.console import Console

from tests.bench import plot_loop, retrieval_quality, retrieval_speed
from tests.bench.store import Store
from tests.support.server import Server


class Scratch:
    """What the benchmark needs of its store, on the server of the tests."""

    def __init__(self, server: Server, template: str) -> None:
        self.server, self.template = server, template

    def scratch(self, name: str) -> str:
        """A database with mnemo_pg."""
        self.server.create_database(name, self.template)
        return name

    def connect(self, database: str) -> psycopg.Connection[Any]:
        """As superuser."""
        return self.server.connect(database)


def test_speed_runs(server: Server, template: str) -> None:
    """Every owner is measured, finds what it asks for, and nothing where nothing is."""
    store = cast(Store, Scratch(server, template))
    found = list(retrieval_speed.measure(store, [30, 60], others=3, each=5, number=6))
    server.drop_database("retrieval")
    assert [(run["owner"], run["others"]) for run in found] == [
        (60, False), (30, True), (60, True)
    ]  # fmt: skip
    for run in found:
        rows = {(row["way"], row["kind"]): row for row in run["ways"]}
        assert rows["retrieve", "unknown"]["hits"] == 0
        assert rows["retrieve", "hints"]["hits"] > 0
        assert rows["lookup", "plan"]["hits"] == rows["lookup", "plan"]["count"] == 6
        assert 0 < run["map"]["tokens"] <= retrieval_speed.MAP_TOKENS
    console = Console(record=True, width=140, file=io.StringIO())
    retrieval_speed.show(console, found, 3)
    assert "plan_retrieval" in console.export_text()


def test_wrong_hints_are_wrong() -> None:
    """Of each question the hints of all other facts come in turn, never its own."""
    questions = [
        {"probe": name, "about": "user", "attribute": name} for name in ("a", "b", "c")
    ]  # fmt: skip
    for question in questions:
        given = {retrieval_quality.others_hints(questions, question, n)["probe"] for n in range(4)}
        assert given == {"a", "b", "c"} - {question["probe"]}


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    """A PNG, where matplotlib is installed."""
    path = tmp_path / "loop.png"
    assert plot_loop.draw(path) == path.is_file()
