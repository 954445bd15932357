"""The commands plans, tune, and stats with what recalls found."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemo_pg import Mnemo
from tests.cli.conftest import Done

Cli = Callable[..., Done]
NOBODY = "0197c2f0-0000-7000-8000-000000000001"
# Question, label, whether a plan is stored for it.
LOG = [
    ("how do I reset my password", "password", True),
    ("how do I reset my old password", "password", False),
    ("how do I reset my printer", "printer", False),
    ("where do I find the invoice of March", "invoice", True),
    ("where do I find the invoice of April", "other invoice", False),
    ("open the pod bay doors", "doors", False),
]


@pytest.fixture
def run(cli: Cli, dsn: str) -> Cli:
    """A command on a fresh database."""
    return lambda *arguments, **more: cli(*arguments, MNEMO_PG_DSN=dsn, **more)


@pytest.fixture
def plan(dsn: str) -> str:
    with Mnemo(dsn) as m:
        return str(m.remember_plan(LOG[0][0], ["open settings", "reset"], ["kb-17"], 0.9).id)


def test_the_life_of_a_plan(run: Cli, plan: str) -> None:
    listed = run("plans", "list")
    assert (listed.code, plan in listed.out, "no report" in listed.out) == (0, True, True)
    told = run("plans", "report", plan, "--failed", "--note", "wrong page")
    assert told.out.startswith("0 of 1 worked, standing 0.")
    assert run("plans", "report", plan, "--worked", "--json").json["successes"] == 1
    assert "wrong page" in run("plans", "outcomes", plan).out
    shown = run("plans", "show", plan).out
    assert all(text in shown for text in ("1 of 2 worked", "1. open settings", "kb-17"))
    assert run("plans", "retire", plan, "--note", "old").out == "retired\n"
    assert run("recall-plan", LOG[0][0]).out.startswith("miss (retired)")
    assert run("plans", "retire", plan).out == "unchanged\n"
    assert run("plans", "revive", plan).out == "revived\n"
    assert run("plans", "promote", plan, "--scope", "public").out == "promoted: public\n"
    assert run("recall-plan", LOG[0][0], "--agent", "other").code == 0
    said = run("plans", "invalidate", "kb-17", "kb-18", "--reason", "rewritten").out
    assert said == "plans that cite any of 2 chunks are stale\n"
    assert run("recall-plan", LOG[0][0]).out.startswith("miss (stale)")
    assert run("plans", "revalidate", plan, "--json").json["was_stale"] is True
    assert run("recall-plan", LOG[0][0]).code == 0
    events = [one["event_type"] for one in run("plans", "history", plan, "--json").json]
    assert events == [
        "plan_write", "plan_outcome", "plan_outcome", "plan_retired", "plan_revived",
        "plan_promoted", "plan_revalidated",
    ]  # fmt: skip


def test_lists_of_pairs_and_of_failures(run: Cli, dsn: str, plan: str) -> None:
    assert (run("plans", "duplicates").code, run("plans", "failures").out) == (1, "none\n")
    with Mnemo(dsn) as m:
        like = str(m.remember_plan(LOG[1][0], ["another way"], [], 0.9).id)
        m.remember_failure(LOG[2][0], ["kick it"], "it broke")
    pairs = run("plans", "duplicates", "--json").json
    assert [{one["id"], one["other_id"]} for one in pairs] == [{plan, like}]
    assert "kick it" not in run("plans", "failures").out
    assert "it broke" in run("plans", "failures").out


def test_wrong_usage(run: Cli, plan: str) -> None:
    assert run("plans", "show", NOBODY).code == 1
    assert run("plans", "show", "5").code == 2
    assert run("plans", "report", plan).code == 2
    assert run("plans", "report", plan, "--worked", "--score", "7").code == 2
    assert run("plans", "promote", plan, "--scope", "private").code == 2
    assert run("plans", "list", "--after", plan).code == 1


def test_stats_show_what_recalls_found(run: Cli, dsn: str, plan: str) -> None:
    with Mnemo(dsn, log_recalls=True) as m:
        for query, *_ in LOG[:3]:
            m.recall_plan(query)
        m.log_recall([{"reason": "guarded", "asked_at": "2020-01-01T00:00:00Z"}])
        m.invalidate_chunks(["kb-17"])
    found = run("stats", "--json").json
    (day,) = found["recalls"]
    assert (day["recalls"], day["hits"], day["none_similar"], day["guarded"]) == (3, 2, 1, 0)
    (best,) = found["most_valuable"]
    assert (best["id"], best["hits"], best["stale"]) == (plan, 2, True)
    assert [one["id"] for one in found["stale"]] == [plan]
    for since, days in (("9000d", 2), ("9999999d", 2), ("0s", 0)):
        assert len(run("stats", "--json", "--since", since).json["recalls"]) == days
    assert run("stats", "--since", "9" * 20 + "d").code == 2
    shown = run("stats").out
    assert all(text in shown for text in ("2 (67%)", "none similar 1", "##", "stale plans", plan))


def test_an_empty_store(run: Cli) -> None:
    assert run("stats").out == "nothing is stored\n"


@pytest.fixture
def stored(dsn: str) -> None:
    with Mnemo(dsn) as m:
        for query, _, kept in LOG:
            if kept:
                m.remember_plan(query, ["x"], [], 0.9)


def points(done: Done) -> dict[tuple[str, float], tuple[int, int, int]]:
    return {
        (one["guard"], one["threshold"]): (one["hits"], one["judged"], one["wrong"])
        for one in done.json["points"]
    }


@pytest.mark.usefixtures("stored")
def test_tune_counts_hits_and_disagreements(run: Cli) -> None:
    lines = [json.dumps({"query": query, "label": label}) for query, label, _ in LOG]
    done = run("tune", "-", "--json", "--precision", "1", input="\n".join(lines))
    assert done.code == 0
    found = points(done)
    assert len(found) == 3 * 15
    # password twice with itself and its like, invoice with itself and April, printer at 0.6.
    assert found["off", 0.3] == (5, 5, 2)
    assert found["off", 0.65] == (4, 4, 1)
    assert found["off", 0.7] == (3, 3, 0)
    assert found["off", 1.0] == (2, 2, 0)
    assert found["strict", 0.7] == (3, 3, 0)
    assert done.json["recommended"]["guard"] == "strict"
    assert done.json["now"] == {"similarity_threshold": "0.7", "guard": "strict"}
    table = run("tune", "-", "--precision", "1", input="\n".join(lines))
    assert "<- best" in table.out
    assert "mnemo.configure('similarity_threshold'" in table.out
    # What the log of one organisation says is not for all.
    table = run("tune", "-", "--precision", "1", "--org", "default", input="\n".join(lines))
    assert "mnemo.configure('guard', 'strict', 'default');" in table.out
    one = run("tune", "-", "--guard", "meaning", "--json", input="\n".join(lines)).json["points"]
    assert [point["guard"] for point in one] == ["meaning"] * 15
    nothing = run("tune", "-", "--json", "--precision", "1", input=lines[5])
    assert (nothing.code, nothing.json["recommended"]) == (1, None)


@pytest.mark.usefixtures("stored")
def test_tune_by_plans_and_without_a_word(run: Cli, dsn: str) -> None:
    with Mnemo(dsn) as m:
        right = m.recall_plan(LOG[3][0]).id
    rows = [f"{LOG[4][0]},{right}", f"{LOG[3][0]},{NOBODY}"]
    found = points(run("tune", "-", "--json", input="\n".join(["query,plan", *rows])))
    assert found["off", 0.65] == (2, 2, 1)
    lines = [json.dumps({"query": query}) for query, *_ in LOG]
    done = run("tune", "-", "--json", input="\n".join(lines))
    assert (done.code, done.json["recommended"]) == (0, None)
    assert points(done)["off", 0.65] == (4, 4, 1)
    assert points(done)["strict", 0.65][1] == 0


@pytest.mark.usefixtures("stored")
def test_tune_reports_bad_lines(run: Cli) -> None:
    lines = ['{"query": "open the doors"}', "", "{", "[1]", '{"query": " "}',
             '{"query": "x", "plan": "7"}', '{"query": "\\u0000"}', '{"label": "x"}']  # fmt: skip
    done = run("tune", "-", input="\n".join(lines))
    assert done.code == 1
    assert [line.split(":")[1] for line in done.err.splitlines()] == [
        f" line {number}" for number in range(3, 9)
    ]
    assert run("tune", "-", input="").code == 1
    assert run("tune", "-", input="word,other\nx,y").code == 1
    assert run("tune", "/nowhere").code == 1
    assert "is empty" in run("tune", "-", input="\n \n").err
    # Blank lines before the first, and a field that is too long for a line of CSV.
    done = run("tune", "-", input=f'\n\nquery,label\nx,y\n"{"a" * 140_000}",z\nz\n')
    assert done.code == 1
    assert done.err.startswith("mnemo-pg: line 5: not CSV")
    assert "2 questions" in done.out
    assert run("tune", "-", input='\n{"query": "x"}\n').code == 0


def test_tune_says_that_experience_memory_is_off(run: Cli, dsn: str) -> None:
    with Mnemo(dsn) as m:
        m.configure("experience_memory", "off")
    done = run("tune", "-", input='{"query": "x", "label": "y"}')
    assert (done.code, done.out) == (1, "")
    assert "experience memory is off" in done.err


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs matplotlib")
@pytest.mark.usefixtures("stored")
def test_tune_draws(run: Cli, tmp_path: Path) -> None:
    picture = tmp_path / "tune.png"
    log = tmp_path / "log.csv"
    log.write_text("query,label\n" + "\n".join(f"{query},{label}" for query, label, _ in LOG))
    assert run("tune", str(log), "--plot", str(picture)).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    for bad in ("nowhere/tune.png", "tune.nothing"):
        done = run("tune", str(log), "--plot", str(tmp_path / bad))
        assert done.code == 1
        assert done.err.startswith("mnemo-pg: cannot write")
