"""The command demo: the loop of `mnemo_pg.demo`, told to a person or given as figures."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from mnemo_pg.cli import output
from mnemo_pg.cli.session import Dsn, Json, client, options
from mnemo_pg.demo import (
    ORG,
    Answer,
    Demo,
    Knowledge,
    OrdinaryRecall,
    Rules,
    Sharing,
    Stored,
    Timing,
)
from mnemo_pg.retrieval import AnswerSource


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("demo")(demo)


def demo(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Walk through the loop with realistic plans, in an organisation of its own.

    It may be run again: the plans are there then, and the answers are the same.
    """
    chosen = options(context, dsn, as_json)
    started = time.monotonic()
    tell = _Teller(silent=chosen.json)
    with client(chosen) as m:
        play = Demo(m)
        rules = play.turn_on()
        tell.turned_on(rules, play.plans)
        stored = _remember(play)
        tell.stored(stored)
        answers, recall_timing = play.ask()
        tell.answers(answers, rules)
        sharing = play.share()
        tell.sharing(sharing)
        ordinary = play.recall_memories()
        tell.ordinary(ordinary)
        knowledge = play.retrieve()
        tell.knowledge(knowledge)
    seconds = time.monotonic() - started
    tell.end(stored, recall_timing, seconds)
    if chosen.json:
        output.print_json(
            {
                "organisation": ORG,
                "rules": asdict(rules),
                "plans": stored.statuses,
                "questions": _counts(answers),
                "answers": [_answer(answer) for answer in answers],
                "sharing": asdict(sharing),
                "ordinary_recall": asdict(ordinary),
                "retrieval": asdict(knowledge),
                "milliseconds": {
                    "remember_plan": asdict(stored.timing),
                    "recall_plan": asdict(recall_timing),
                },
                "seconds": round(seconds, 3),
            }
        )


def _remember(play: Demo) -> Stored:
    console = output.stderr()
    columns = (TextColumn("remember"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("remember", total=play.plans)
        return play.remember(lambda: bar.advance(task))


def _counts(answers: list[Answer]) -> dict[str, int]:
    sure = [answer for answer in answers if not answer.needs_guard]
    alike = [answer for answer in answers if answer.needs_guard]
    return {
        "hits_expected": sum(answer.expect == "hit" for answer in sure),
        "hits_right": sum(answer.expect == "hit" and answer.right for answer in sure),
        "misses_expected": sum(answer.expect == "miss" for answer in sure),
        "misses_right": sum(answer.expect == "miss" and answer.right for answer in sure),
        "look_alikes": len(alike),
        "look_alikes_right": sum(answer.right for answer in alike),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    match = answer.match
    return {
        "query": answer.query,
        "agent_id": answer.agent_id,
        "expect": answer.expect,
        "expect_plan": answer.source_id,
        "why": answer.reason,
        "needs_guard": answer.needs_guard,
        "hit": match.hit,
        "plan": answer.plan,
        "similarity": match.similarity,
        "reason": match.reason,
        "candidates_considered": match.candidates_considered,
        "refused": _refused(answer),
        "right": answer.right,
    }


def _refused(answer: Answer) -> dict[str, Any] | None:
    if answer.refused is None:
        return None
    return {
        "query": answer.refused.query,
        "similarity": answer.refused.similarity,
        "differences": answer.refused.guard_differences,
    }


class _Teller:
    """Tells the demo to a person; says nothing when the figures go out as JSON."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent

    def _head(self, number: int, title: str, text: str) -> None:
        output.stdout().print()
        output.say(f"{number}. {title}", style="bold")
        output.say(text)

    def turned_on(self, rules: Rules, plans: int) -> None:
        if self._silent:
            return
        output.say(
            "An agent that answered a question well remembers its plan: the question, the steps,"
            " what it read, how well it went. When a similar question comes, the plan is recalled"
            " and replayed."
        )
        self._head(
            1,
            "Turn experience memory on",
            f"SELECT mnemo.configure('experience_memory', 'on', '{ORG}'); a recall needs a"
            f" similarity of {rules.similarity_threshold}, a plan to be kept a score of"
            f" {rules.success_threshold}, the guard is {rules.guard}.",
        )
        self._head(
            2, "Remember", f"{plans} plans of the agents of organisation {ORG}, one call each."
        )

    def stored(self, stored: Stored) -> None:
        if self._silent:
            return
        words = {
            "stored": "kept",
            "repeated": "kept already, by an earlier run",
            "below_threshold": "not kept: the outcome was below the success threshold",
            "quarantined": "held back by the rules against poisoning",
        }
        for status, count in sorted(stored.statuses.items(), key=lambda item: -item[1]):
            output.say(f"  {count:4} {words.get(status, status)}")

    def answers(self, answers: list[Answer], rules: Rules) -> None:
        if self._silent:
            return
        sure = [answer for answer in answers if not answer.needs_guard]
        hits = [answer for answer in sure if answer.match.hit]
        misses = [answer for answer in sure if not answer.match.hit]
        self._head(
            3,
            "Recall for new wordings",
            "The similarity is that of the word sets. The best plan that the asking agent may see:",
        )
        for answer in hits:
            _print_hit(answer)
        self._head(
            4,
            "Misses",
            "Nothing similar, nothing visible, or nothing that had worked. Not guessed.",
        )
        made = output.table("asked", "by", "why", "reason")
        for answer in misses:
            output.row(made, answer.query, answer.agent_id, answer.reason, answer.match.reason)
        output.stdout().print(made)
        alike = [answer for answer in answers if answer.needs_guard]
        text = "Questions that share their words with a plan and mean something else."
        if rules.guard == "off":
            text += " The guard is off here, so words decide: some get a plan that is not theirs."
        else:
            text += " The guard refuses that plan, however similar it is, and says what differs."
        self._head(5, "Look-alikes", text)
        for answer in alike:
            _print_look_alike(answer)
        counts = _counts(answers)
        output.say(
            f"hits {counts['hits_right']} of {counts['hits_expected']},"
            f" misses {counts['misses_right']} of {counts['misses_expected']},"
            f" look-alikes {counts['look_alikes_right']} of {counts['look_alikes']} right"
        )

    def sharing(self, sharing: Sharing) -> None:
        if self._silent:
            return
        self._head(6, "Who sees what", f'A private plan of {sharing.owner}: "{sharing.query}"')

        def seen(hit: bool) -> str:
            return "hit" if hit else "miss"

        colleague = sharing.colleague
        made = output.table("", "answer")
        output.row(made, f"asked by {sharing.owner}, its owner", seen(sharing.owner_hits))
        output.row(made, f"asked by {colleague}", seen(sharing.colleague_hits))
        output.row(made, f"shared with {colleague}", seen(sharing.after_sharing))
        output.row(made, "taken back", seen(sharing.after_taking_back))
        output.stdout().print(made)

    def ordinary(self, ordinary: OrdinaryRecall) -> None:
        if self._silent:
            return
        self._head(
            7,
            "Ordinary recall",
            f"{len(ordinary.contents)} memory found, {ordinary.plans_among_them} plans among them:"
            " plans never appear there.",
        )
        for content in ordinary.contents:
            output.say(f"  {content}")

    def knowledge(self, knowledge: Knowledge) -> None:
        if self._silent:
            return
        self._head(
            8,
            "A plan, or what memory knows",
            f"recall_or_retrieve by {knowledge.agent_id}: where no plan fits, a retrieval plan is"
            " made of the question, and the facts that answer it are ranked.",
        )
        for loop in knowledge.loops:
            output.say(loop.query, style="bold")
            if loop.source == AnswerSource.PLAN:
                output.say(f"     replay: {' > '.join(loop.steps[:3])}")
                continue
            looked = ", ".join((*loop.names, *loop.topics))
            output.say(f"     no plan; looked for {looked or 'nothing'}")
            for fact in loop.facts:
                output.say(f"     fact: {fact}")
            if not loop.facts:
                output.say("     memory does not know: no guess, nothing is returned")
        output.say("What a language model is shown first (mnemo-pg memory-map):")
        for line in knowledge.memory_map:
            output.say(f"     {line}")

    def end(self, stored: Stored, recall: Timing, seconds: float) -> None:
        if self._silent:
            return
        remember = "remember_plan"
        if stored.statuses.get("repeated"):
            remember += " (repeated, nothing is written)"
        self._head(9, "Time of a call, with the round trip", f"All in {seconds:.1f} s.")
        made = output.table("", "calls", "p50 ms", "p95 ms")
        for name, timing in ((remember, stored.timing), ("recall_plan", recall)):
            output.row(made, name, timing.calls, f"{timing.p50:.2f}", f"{timing.p95:.2f}")
        output.stdout().print(made)
        output.stdout().print()
        output.say("Try next:", style="bold")
        who = f"--org {ORG} --agent helpdesk-1"
        for rest in (
            f'recall-plan "employee portal: password reset, how do I do that?" {who}',
            'remember-plan "your question" --step "what you did" --score 0.9',
            f'retrieve "the head of reception: call or write?" --explain {who}',
            "psql",
        ):
            output.say(f"  {program()} {rest}")


def program() -> str:
    """What to type for this program: its path where no search path leads to it, as in a virtual
    environment that is not activated."""
    beside = Path(sys.executable).with_name("mnemo-pg")
    if shutil.which("mnemo-pg") is not None or not beside.exists():
        return "mnemo-pg"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def _print_look_alike(answer: Answer) -> None:
    match = answer.match
    verdict = "" if answer.right else f" (meant: {answer.source_id or 'a miss'})"
    output.say(f"{answer.query}  [{answer.reason}]", style="bold")
    if refused := answer.refused:
        differences = "; ".join(refused.guard_differences)
        output.say(f'     refused {refused.similarity:.2f} "{refused.query}": {differences}')
    if match.hit:
        output.say(f'     plan {answer.plan}{verdict} {match.similarity:.2f} "{match.query}"')
    else:
        output.say(f"     miss ({match.reason}){verdict}")


def _print_hit(answer: Answer) -> None:
    match = answer.match
    verdict = "" if answer.right else f" (meant: {answer.source_id or 'a miss'})"
    steps = " > ".join(match.steps[:3])
    more = f" > {len(match.steps) - 3} more" if len(match.steps) > 3 else ""
    output.say(f"{match.similarity:.2f} {answer.query}  [{answer.reason}]", style="bold")
    output.say(f'     plan {answer.plan}{verdict} "{match.query}": {steps}{more}')
