"""The demo: its data, its answers, and that it may be run again."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from mnemo_pg import Mnemo, demo
from mnemo_pg.cli.demo import program
from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_the_data_are_plans_that_remember_plan_takes() -> None:
    plans = demo.data("plans.jsonl")
    assert 300 <= len(plans) <= 450
    keys = [plan["source_id"] for plan in plans]
    assert len(set(keys)) == len(keys)
    for plan in plans:
        assert 3 <= len(plan["steps"]) <= 6, plan["source_id"]
        assert 1 <= len(plan["chunk_ids"]) <= 5, plan["source_id"]
        assert plan["scope"] in ("private", "public")
    domains = Counter(plan["tags"][0] for plan in plans)
    assert len(domains) >= 8
    assert len({plan["outcome_score"] for plan in plans}) > 30
    assert len({plan["query"] for plan in plans}) < len(plans)  # Some are asked twice.
    questions = demo.data("questions.jsonl")
    assert {question["source_id"] for question in questions} - {None} <= set(keys)
    assert {question["agent_id"] for question in questions} <= {plan["agent_id"] for plan in plans}


def test_twice_gives_the_same_answers(cli: Run, dsn: str, db: psycopg.Connection) -> None:
    first = cli("demo", "--dsn", dsn, "--json")
    second = cli("demo", "--dsn", dsn, "--json")
    assert (first.code, second.code, first.err, second.err) == (0, 0, "", "")
    assert first.json["answers"] == second.json["answers"]
    assert first.json["sharing"] == second.json["sharing"]
    assert first.json["ordinary_recall"] == second.json["ordinary_recall"]
    assert first.json["retrieval"] == second.json["retrieval"]
    kept = first.json["plans"]["stored"]
    assert second.json["plans"]["repeated"] == kept
    assert first.json["plans"]["below_threshold"] == second.json["plans"]["below_threshold"] > 0
    row = db.execute("SELECT count(*), min(org_id), max(org_id) FROM mnemo.plan").fetchone()
    assert row == (kept, "demo", "demo")


def test_every_question_gets_the_answer_that_it_should(cli: Run, dsn: str) -> None:
    figures = cli("demo", "--dsn", dsn, "--json").json
    assert figures["rules"]["guard"] == "strict"
    assert [a for a in figures["answers"] if not a["right"]] == []
    counts = figures["questions"]
    assert counts["hits_expected"] >= 50
    assert counts["misses_expected"] >= 10
    assert counts["look_alikes"] == counts["look_alikes_right"] == 11
    for answer in figures["answers"]:
        if answer["needs_guard"]:
            assert answer["refused"]["similarity"] >= 0.7
            assert answer["refused"]["differences"], answer["query"]
            assert answer["hit"] or answer["reason"] == "guarded", answer["query"]
        else:
            assert answer["refused"] is None
    sharing = figures["sharing"]
    assert sharing["owner_hits"] and sharing["after_sharing"]  # noqa: PT018
    assert not sharing["colleague_hits"]
    assert not sharing["after_taking_back"]
    assert sharing["colleague_considered"] == 0
    assert len(figures["ordinary_recall"]["contents"]) == 1
    assert figures["ordinary_recall"]["plans_among_them"] == 0
    loops = figures["retrieval"]["loops"]
    assert [loop["source"] for loop in loops] == ["plan", "memories", "memories", "nothing"]
    assert loops[0]["steps"]
    assert loops[1]["names"] == ["marta"]
    assert loops[1]["facts"] == ["Marta Lindqvist wants to be called, and reads no mail."]
    assert loops[2]["facts"][0] == "Jonas Weber keeps the spare laptops in room 2.14."
    assert loops[3]["facts"] == []
    assert figures["retrieval"]["memory_map"][0] == "about: jonas (2), marta (2)"
    for timing in figures["milliseconds"].values():
        assert 0 < timing["p50"] <= timing["p95"]


def test_it_touches_its_own_organisation_only(cli: Run, empty_dsn: str) -> None:
    cli("init", "--dsn", empty_dsn)
    with Mnemo(empty_dsn) as m:
        memory = m.remember("mine").id
        assert cli("demo", "--dsn", empty_dsn).code == 0
        assert m.setting("experience_memory") == "off"
        assert m.list_plans() == []
        assert [found.id for found in m.recall(None)] == [memory]


def test_it_takes_up_what_an_interrupted_run_left(cli: Run, dsn: str) -> None:
    figures = cli("demo", "--dsn", dsn, "--json").json
    with Mnemo(dsn, agent_id=figures["sharing"]["owner"], org_id="demo") as m:
        plan = m.recall_plan(figures["sharing"]["query"])
        assert plan.id is not None
        m.share(plan.id, [figures["sharing"]["colleague"]])
    again = cli("demo", "--dsn", dsn, "--json").json
    assert again["sharing"] == figures["sharing"]


def test_a_person_sees_the_loop(cli: Run, dsn: str) -> None:
    shown = cli("demo", "--dsn", dsn)
    assert shown.code == 0
    for part in ("kept", "below the success threshold", "Misses", "Look-alikes", "Who sees what",
                 "Ordinary recall", "A plan, or what memory knows", "replay: ",
                 "memory does not know", "about: jonas (2)", "p50", "Try next:",
                 "look-alikes 11 of 11 right",
                 'refused 0.86 "Turn on dark mode in the ticketing tool": asked has off, stored'
                 " has on"):  # fmt: skip
        assert part in shown.out
    typed = [shlex.split(line) for line in shown.out.partition("Try next:")[2].splitlines() if line]
    assert [Path(line[0]).name for line in typed] == ["mnemo-pg"] * 4
    commands = [line[1:] for line in typed]
    retrieve = commands[2]
    assert cli(*retrieve, "--dsn", dsn).code == 0
    recall = "employee portal: password reset, how do I do that?"
    assert recall in commands[0]
    assert cli("recall-plan", recall, "--org", "demo", "--agent", "helpdesk-1",
               "--dsn", dsn).code == 0  # fmt: skip


def test_what_to_type_next_can_be_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where the virtual environment is not activated, as after make demo."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    command = programs / "mnemo-pg"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", str(programs))
    assert program() == "mnemo-pg"
    monkeypatch.setenv("PATH", "/nonexistent")
    assert program() == str(command)
    monkeypatch.chdir(tmp_path)
    assert program() == ".venv/bin/mnemo-pg"


def test_the_data_file_can_be_imported_as_it_is(cli: Run, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "plans.jsonl"
    file.write_text("".join(json.dumps(plan) + "\n" for plan in demo.data("plans.jsonl")))
    done = cli("import", str(file), "--dsn", dsn, "--json")
    assert done.code == 0
    assert done.json["failed"] == 0


@pytest.mark.parametrize(("values", "p50", "p95"), [([0.001], 1, 1), ([0.003, 0.001, 0.002], 2, 3)])
def test_percentiles(values: list[float], p50: float, p95: float) -> None:
    timing = demo.percentiles(values)
    assert (timing.calls, timing.p50, timing.p95) == (len(values), p50, p95)
