"""How fast retrieval is: `python -m tests.bench.retrieval_speed`.

Owners with 250 to 100,000 records of their own beside a thousand others in one table. For each of
them `retrieve` with plans that `plan_retrieval` made of questions beforehand (three queries where
the question names somebody), with right hints, and with questions that nothing answers; the
planner itself; `memory_map`; and a look-up by primary key. All ways take turns on one server. What
the others cost shows the owner with 4,000 records, measured before and after they came.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from tests.bench.measure import (
    Times,
    Way,
    ask_all,
    by_kind,
    percentile,
    rounds,
    server_cpu,
    summaries,
)
from tests.bench.store import Store, default_folder
from tests.bench.workloads import Question
from tests.support.calls import scalar

ORG = "bench"
SIZES = "250,1000,4000,16000,100000"
BATCH = 2_000
TARGET = 10.0
MAP_TOKENS, MAP_MILLISECONDS, MAP_SIZE = 300, 20.0, 16_000
FACTS = (
    # attribute, kind, tags, statement, question
    ("beverage_preference", "preference", ("coffee", "drink", "order"),
     "{Name} drinks {thing}.", "what does {Name} like to drink"),
    ("food_allergy", "identity", ("allergy", "allergic", "food"),
     "{Name} is allergic to {thing}.", "what must I keep out of the meal for {Name}"),
    ("venue_preference", "preference", ("restaurant", "dinner", "favourite"),
     "{Name}'s favourite restaurant is {Thing}.", "where does {Name} like to eat"),
    ("gift_idea", "preference", ("gift", "present", "birthday"),
     "{Name} has been wanting {thing}.", "what would be a present for {Name}"),
    ("birthday", "relationship", ("birthday", "date"),
     "{Name}'s birthday is in {thing}.", "when is the birthday of {Name}"),
    ("social_relation", "relationship", ("people", "relationship"),
     "{Name} is the user's {thing}.", "who is {Name}"),
    ("possession", "preference", ("owns", "possession", "device"),
     "{Name}'s camera is a {Thing}.", "which camera does {Name} own"),
    ("errand", "commitment", ("errand", "promise", "todo"),
     "{Name} agreed to collect the {thing} before May.", "what does {Name} have to collect"),
)  # fmt: skip
UNKNOWN = ("the blood type of the user", "my passport number", "what is the mortgage rate")


class Lives:
    """Records of everyday life and questions about them, by a seed."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        self.syllables = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]

    def name(self) -> str:
        """A name that hardly comes twice."""
        return "".join(self.chooser.choices(self.syllables, k=self.chooser.choice((3, 4))))

    def records(self, number: int) -> tuple[list[dict[str, Any]], list[str]]:
        """Facts about the user, one in two, and about people, twelve each; and the people."""
        people = [self.name() for _ in range(max(number // 24, 1))]
        found = []
        for _ in range(number):
            subject = "user" if self.chooser.random() < 0.5 else self.chooser.choice(people)
            attribute, kind, tags, statement, _ = self.chooser.choice(FACTS)
            thing, other = self.name(), self.name()
            shown = "The user" if subject == "user" else subject.capitalize()
            found.append({
                "content": statement.format(Name=shown, thing=thing, Thing=thing.capitalize()),
                "kind": kind, "subject": subject, "predicate": attribute, "tags": list(tags),
                "entities": [subject], "aliases": [f"{other} of {shown}"], "confidence": 0.9,
                "source_type": "user_input",
            })  # fmt: skip
        return found, people

    def questions(self, people: Sequence[str], number: int) -> list[tuple[str, str, str, str]]:
        """Kind, text, and the hints of as many questions of each kind."""
        found = []
        for kind in ("plan", "first person", "hints"):
            for _ in range(number):
                attribute, _, _, _, question = self.chooser.choice(FACTS)
                who = "user" if kind == "first person" else self.chooser.choice(people)
                shown = "the user" if who == "user" else who.capitalize()
                found.append((kind, question.format(Name=shown), who, attribute))
        found += [("unknown", self.chooser.choice(UNKNOWN), "", "") for _ in range(number)]
        return found


def load(conn: psycopg.Connection[Any], agent: str, records: list[dict[str, Any]]) -> None:
    """Remember them as the agent's own."""
    for start in range(0, len(records), BATCH):
        conn.execute(
            "SELECT count(*) FROM mnemo.remember_many(%s, p_agent_id => %s, p_org_id => %s)",
            [Jsonb(records[start : start + BATCH]), agent, ORG],
        )


class Retrieve:
    """The public function, with the plans that the questions carry."""

    def __init__(self, conn: psycopg.Connection[Any], agent: str) -> None:
        self.name, self.conn, self.agent = "retrieve", conn, agent
        self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        """One call."""
        return bool(
            self.conn.execute(
                "SELECT * FROM mnemo.retrieve(%s::jsonb, %s, %s)",
                (question.text, self.agent, ORG), prepare=True,
            ).fetchall()
        )  # fmt: skip


class Planner:
    """plan_retrieval of the same questions."""

    def __init__(
        self, conn: psycopg.Connection[Any], agent: str, texts: dict[str, str]
    ) -> None:  # fmt: skip
        self.name, self.conn, self.agent, self.texts = "plan_retrieval", conn, agent, texts
        self.backend = conn.info.backend_pid

    def ask(self, question: Question) -> bool:
        """One call."""
        return bool(
            self.conn.execute(
                "SELECT mnemo.plan_retrieval(%s, %s, %s)",
                (self.texts[question.text], self.agent, ORG), prepare=True,
            ).fetchall()
        )  # fmt: skip


class Lookup:
    """A row of memory by its key: the floor."""

    def __init__(self, conn: psycopg.Connection[Any], agent: str) -> None:
        self.name, self.conn, self.backend = "lookup", conn, conn.info.backend_pid
        self.ids = [
            id for (id,) in conn.execute(
                "SELECT m.id FROM mnemo.memory AS m WHERE m.org_id = %s AND m.agent_id = %s"
                " LIMIT 500", [ORG, agent],
            ).fetchall()
        ]  # fmt: skip
        self.asked = 0

    def ask(self, question: Question) -> bool:
        """One row, a different one each time."""
        self.asked += 1
        return bool(
            self.conn.execute(
                "SELECT * FROM mnemo.memory AS m WHERE m.org_id = %s AND m.id = %s",
                (ORG, self.ids[self.asked * 7 % len(self.ids)]), prepare=True,
            ).fetchall()
        )  # fmt: skip


def plans(
    conn: psycopg.Connection[Any], agent: str, asked: Sequence[tuple[str, str, str, str]]
) -> tuple[list[Question], dict[str, str]]:
    """A question whose text is its plan, for each; and which text a plan was made of."""
    found, texts = [], {}
    for kind, text, about, attribute in asked:
        plan = scalar(conn, "SELECT mnemo.plan_retrieval(%s, %s, %s)", text, agent, ORG)
        if kind == "unknown":
            plan |= {"requires_memory": True, "intent": "ambient", "lexical_queries": [text]}
        if kind == "hints":
            plan |= {"subject_hint": about, "predicate_hint": attribute}
        shown = json.dumps(plan)
        texts[shown] = text
        found.append(Question(kind, shown, ORG, agent, None))
    return found, texts


def memory_map(conn: psycopg.Connection[Any], agent: str) -> dict[str, Any]:
    """Its length and time."""
    spent, busy = [], []
    for _ in range(20):
        begun, before = time.perf_counter(), server_cpu(conn.info.backend_pid)
        text = scalar(conn, "SELECT mnemo.memory_map(p_agent_id => %s, p_org_id => %s)", agent, ORG)
        spent.append((time.perf_counter() - begun) * 1000)
        busy.append(server_cpu(conn.info.backend_pid) - before)
    return {
        "tokens": -(-len(text) // 4),
        "p50": round(percentile(spent, 50), 2), "cpu_p50": round(percentile(busy, 50), 2),
    }  # fmt: skip


def figures(
    store: Store, database: str, agent: str, asked: Sequence[tuple[str, str, str, str]]
) -> dict[str, Any]:
    """Everything about one owner."""
    with store.connect(database) as ours, store.connect(database) as theirs:
        questions, texts = plans(ours, agent, asked)
        ways: list[Way] = [
            Retrieve(ours, agent),
            Planner(ours, agent, texts),
            Lookup(theirs, agent),
        ]
        for way in ways:
            ask_all(way, questions[:20], 5.0, Times())
        found = summaries(rounds(ways, by_kind(questions), count=4, seconds=20.0))
        return {"ways": found, "map": memory_map(ours, agent)}


def measure(
    store: Store, sizes: Sequence[int], others: int, each: int, number: int
) -> Iterator[Any]:
    """Load the owners, measure one alone, load the others, measure all."""
    database = store.scratch("retrieval")
    lives = Lives(1)
    asked = {}
    middle = sizes[len(sizes) // 2]
    with store.connect(database) as conn:
        for size in sizes:
            records, people = lives.records(size)
            load(conn, f"owner-{size}", records)
            asked[size] = lives.questions(people, number)
            if size == middle:
                conn.execute("SELECT mnemo._compact_terms(%s)", [ORG])
                conn.execute("VACUUM ANALYZE")
                yield {"owner": middle, "others": False,
                       **figures(store, database, f"owner-{middle}", asked[middle])}  # fmt: skip
        for other in range(others):
            load(conn, f"other-{other}", lives.records(each)[0])
        conn.execute("SELECT mnemo._compact_terms(%s)", [ORG])
        conn.execute("VACUUM ANALYZE")
    for size in sizes:
        yield {"owner": size, "others": True,
               **figures(store, database, f"owner-{size}", asked[size])}  # fmt: skip


def show(console: Console, found: Sequence[dict[str, Any]], others: int) -> None:
    """The table."""
    table = Table(title=f"milliseconds, beside {others:,} other owners; times the look-up's p50")
    heads = ("records", "others", "way", "plan", "hits", "p50", "p99", "CPU p50", "times, p50",
             "times, CPU")  # fmt: skip
    for place, column in enumerate(heads):
        table.add_column(column, justify="left" if place in (1, 2, 3) else "right")
    for run in found:
        rows = {(row["way"], row["kind"]): row for row in run["ways"]}
        for (way, kind), row in rows.items():
            if way == "lookup" or not row["count"]:
                continue
            floor = rows["lookup", kind]
            table.add_row(
                f"{run['owner']:,}", "yes" if run["others"] else "no", way, kind,
                f"{row['hits']}/{row['count']}", f"{row['p50']:.2f}", f"{row['p99']:.2f}",
                f"{row['cpu_p50']:.2f}", f"{row['p50'] / floor['p50']:.1f}",
                f"{row['cpu_p50'] / floor['cpu_p50']:.1f}" if floor["cpu_p50"] else "-",
            )  # fmt: skip
    console.print(table)
    for run in found:
        console.print(
            f"memory_map, {run['owner']:,} records: {run['map']['tokens']} tokens,"
            f" p50 {run['map']['p50']} ms, CPU {run['map']['cpu_p50']}"
        )


def main(given: list[str] | None = None) -> int:
    """Measure and print; 1 when memory_map is longer or slower than it may be."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.retrieval_speed", description=__doc__
    )
    parser.add_argument("--sizes", default=SIZES, help="records of the owners, by commas")
    parser.add_argument("--others", type=int, default=1000, help="other owners")
    parser.add_argument("--each", type=int, default=50, help="records of each of them")
    parser.add_argument("--questions", type=int, default=120, help="of each kind")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of the server")
    arguments = parser.parse_args(given)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    sizes = [int(size) for size in arguments.sizes.split(",")]
    store = Store(arguments.data, "128MB")
    with store.running():
        found = list(
            measure(store, sizes, arguments.others, arguments.each, arguments.questions)
        )  # fmt: skip
    show(console, found, arguments.others)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    maps = [run["map"] for run in found if run["owner"] <= MAP_SIZE]
    return int(any(m["tokens"] > MAP_TOKENS or m["cpu_p50"] > MAP_MILLISECONDS for m in maps))


if __name__ == "__main__":
    sys.exit(main())
