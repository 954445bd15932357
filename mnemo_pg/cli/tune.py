"""The command tune: which threshold suits a log of questions."""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple
from uuid import UUID

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.load import opened, progress, reporter
from mnemo_pg.cli.plans import Agent, Context, Org
from mnemo_pg.cli.session import MISS_OR_FAILURE, CommandError, Dsn, Json, client, options
from mnemo_pg.client import Mnemo
from mnemo_pg.importer import LineError
from mnemo_pg.types import Guard, PlanMatch, RecallReason

_MOST = 100_000
_STEPS = tuple(step / 20 for step in range(6, 21))
_WIDTH = 18


class Asked(NamedTuple):
    """A question of the log, and what is known of its answer."""

    line: int
    query: str
    label: str | None
    plan: UUID | None


@dataclass(slots=True)
class Found:
    """The best plan for a question with one guard, whatever its similarity; and what it says."""

    similarity: float
    agrees: bool | None


class Point(NamedTuple):
    """What a threshold with a guard would have done to the log."""

    guard: str
    threshold: float
    hits: int
    judged: int
    wrong: int

    @property
    def precision(self) -> float | None:
        """The share of the hits that could be judged and were right."""
        return None if not self.judged else 1 - self.wrong / self.judged


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("tune")(tune)


def tune(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines or CSV; - for input.")],
    precision: Annotated[
        float, typer.Option("--precision", min=0, max=1, help="Share of hits that must be right.")
    ] = 0.95,
    guard: Annotated[
        list[Guard] | None, typer.Option("--guard", help="Only this guard; repeat it.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="PNG", help="Draw it too (matplotlib).")
    ] = None,
    plan_context: Context = None,
    agent: Agent = None,
    org: Org = None,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Show what each threshold and guard would do to a log of your questions. Changes nothing.

    A line has `query` and, where known, `plan` (the id of the plan that answers it) or `label`
    (what it is about; questions of the same label may share a plan). A hit disagrees where the plan
    is another, or where its own question has another label in the log. Without either, hits that
    guard strict refuses disagree, and nothing is recommended. Exit code 1 when lines could not be
    read or no threshold suffices.
    """
    chosen = options(context, dsn, as_json)
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib: pip install matplotlib")
    if plot is not None and not plot.parent.is_dir():
        raise CommandError(f"cannot write {plot}: {plot.parent} is no folder")
    bad = 0

    def report(error: LineError) -> None:
        nonlocal bad
        bad += 1
        reporter(chosen)(error)

    with opened(file) as (source, _size):
        asked = list(read(source, report))
    if not asked:
        raise CommandError("no line has a question: a line is an object with the key query")
    # Whether the log says of any question what answers it.
    known = any(one.label is not None or one.plan is not None for one in asked)
    with (
        client(chosen, agent_id=agent, org_id=org) as m,
        progress("recall", len(asked), counted=True) as advance,
    ):
        found = recalled(m, asked, known, guard or list(Guard), plan_context, advance)
        now = {"similarity_threshold": m.setting("similarity_threshold", org_id=org),
               "guard": m.setting("guard", org_id=org)}  # fmt: skip
    points = sweep(found)
    best = recommended(points, precision) if known else None
    if chosen.json:
        output.print_json(
            {
                "questions": len(asked),
                "bad_lines": bad,
                "now": now,
                "points": [{**one._asdict(), "precision": one.precision} for one in points],
                "recommended": None if best is None else best._asdict(),
            }
        )
    else:
        _show(len(asked), known, points, best, precision, now, org)
    if plot is not None:
        draw(points, len(asked), plot)
    if bad or (known and best is None):
        raise typer.Exit(MISS_OR_FAILURE)


def read(source: IO[bytes], report: Callable[[LineError], None]) -> Iterator[Asked]:
    """The questions of a log, at most 100,000; bad lines are reported and left out."""
    for count, (number, given) in enumerate(_objects(source)):
        if count == _MOST:
            raise CommandError(f"over {_MOST:,} questions: take a sample")
        try:
            yield _asked(number, given)
        except ValueError as error:
            report(LineError(number, str(error)))


def _objects(source: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """Each line that is not blank, with its number, as an object or the error in its place."""
    lines = io.TextIOWrapper(source, encoding="utf-8-sig", errors="replace", newline="")
    heading, first = next(
        ((number, line) for number, line in enumerate(lines, start=1) if line.strip()), (0, "")
    )
    if not first:
        raise CommandError("the file is empty: a line is an object with the key query")
    if first.lstrip().startswith("{"):
        for number, line in enumerate(itertools.chain([first], lines), start=heading):
            if line.strip():
                yield number, _parsed(line)
        return
    names = next(csv.reader([first]), [])
    if "query" not in names:
        raise CommandError("the first line is no JSON object and names no column query")
    rows = csv.DictReader(lines, fieldnames=names)
    while True:
        try:
            row: Any = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            row = ValueError(f"not CSV: {error}")
        yield heading + rows.reader.line_num, row


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return ValueError(f"not JSON: {error}")


def _asked(number: int, given: Any) -> Asked:
    if isinstance(given, ValueError):
        raise given
    if not isinstance(given, dict):
        raise ValueError(f"must be a JSON object, not {type(given).__name__}")
    query, label, plan = (given.get(key) or None for key in ("query", "label", "plan"))
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query must be a text that is not blank")
    if "\x00" in query:
        raise ValueError("query holds U+0000, which PostgreSQL cannot store")
    if len(query) > 100_000:
        raise ValueError("query is longer than 100,000 characters")
    if plan is not None:
        try:
            plan = UUID(str(plan))
        except ValueError:
            raise ValueError(f"plan must be the id of a plan, not {plan!r}") from None
    return Asked(number, query, None if label is None else str(label), plan)


def recalled(
    m: Mnemo,
    asked: list[Asked],
    known: bool,
    guards: list[Guard],
    context: str | None,
    advance: Callable[[int], None],
) -> dict[str, list[Found | None]]:
    """For each guard the best plan of each question, from the least threshold allowed on."""
    least = float(m.setting("minimum_threshold", org_id=m.org_id) or 1)
    labels: dict[str, str | None] = {}
    for one in asked:
        if one.label is not None:
            # Two labels for one text say nothing about it.
            same = labels.setdefault(one.query, one.label) == one.label
            labels[one.query] = one.label if same else None
    if m.recall_plan(asked[0].query).reason is RecallReason.DISABLED:
        raise CommandError(
            "experience memory is off, so nothing is recalled;"
            " SELECT mnemo.configure('experience_memory', 'on')"
        )
    found: dict[str, list[Found | None]] = {guard.value: [] for guard in guards}
    for one in asked:
        best = {
            guard: m.recall_plan(
                one.query, similarity_threshold=least, guard=guard, context=context
            )
            for guard in dict.fromkeys([*guards, *([] if known else [Guard.STRICT])])
        }
        for guard in guards:
            match = best[guard]
            if not match.hit:
                found[guard.value].append(None)
                continue
            # Without a word from the log the strict guard is what the others are measured by.
            if known:
                agrees = _agrees(one, match, labels)
            else:
                agrees = None if guard is Guard.STRICT else match.id == best[Guard.STRICT].id
            found[guard.value].append(Found(match.similarity or 0.0, agrees))
        advance(1)
    return found


def _agrees(asked: Asked, match: PlanMatch, labels: dict[str, str | None]) -> bool | None:
    """Whether the plan answers the question by what the log says; None where it says nothing."""
    if asked.plan is not None:
        return match.id == asked.plan
    about = labels.get(match.query or "")
    return None if asked.label is None or about is None else about == asked.label


def sweep(found: dict[str, list[Found | None]]) -> list[Point]:
    """What each threshold of each guard does."""
    points = []
    for guard, answers in found.items():
        for threshold in _STEPS:
            hits = [one for one in answers if one is not None and one.similarity >= threshold]
            judged = [one.agrees for one in hits if one.agrees is not None]
            points.append(Point(guard, threshold, len(hits), len(judged), judged.count(False)))
    return points


def recommended(points: list[Point], precision: float) -> Point | None:
    """The point with most hits of those that are right often enough; the stricter one of equals."""
    order = list(Guard)
    enough = [one for one in points if one.precision is not None and one.precision >= precision]
    return max(
        enough,
        key=lambda one: (one.hits, one.precision, one.threshold, -order.index(Guard(one.guard))),
        default=None,
    )


def _show(
    total: int,
    known: bool,
    points: list[Point],
    best: Point | None,
    precision: float,
    now: dict[str, str | None],
    org: str | None,
) -> None:
    table = output.table("guard", "threshold", "hits", "", "disagree", "precision", "")
    for one in points:
        if one.threshold * 20 % 2 and one is not best:
            continue
        wrong = round(_WIDTH * one.wrong / total)
        bar = "#" * (round(_WIDTH * one.hits / total) - wrong) + "x" * wrong
        share = "" if one.precision is None else f"{one.precision:.1%}"
        hits = f"{one.hits:,} ({one.hits / total:.1%})"
        mark = "<- best" if one is best else ""
        output.row(table, one.guard, f"{one.threshold:g}", hits, bar, f"{one.wrong:,}", share, mark)
    output.stdout().print(table)
    output.say(f"{total:,} questions; # hits, x hits that disagree")
    output.say(f"now: similarity_threshold {now['similarity_threshold']}, guard {now['guard']}")
    if not known:
        output.say("no label and no plan in the log: hits that guard strict refuses count as wrong,"
                   " and no threshold can be recommended")  # fmt: skip
        return
    if best is None:
        output.say(f"no threshold has a precision of {precision:.0%}: look at the hits, or add"
                   " labels")  # fmt: skip
        return
    output.say(
        f"most hits of those with a precision of {precision:.0%} or more: guard {best.guard},"
        f" threshold {best.threshold:g}"
    )
    whose = "" if org is None else f", '{org}'"
    output.say(f"  SELECT mnemo.configure('similarity_threshold', '{best.threshold:g}'{whose});")
    output.say(f"  SELECT mnemo.configure('guard', '{best.guard}'{whose});")


def draw(points: list[Point], total: int, file: Path) -> None:
    """Hits and disagreements by threshold, a line for each guard."""
    import matplotlib  # type: ignore[import-not-found,unused-ignore]

    matplotlib.use("Agg")
    from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for guard in Guard:
        of = [one for one in points if one.guard == guard.value]
        at = [one.threshold for one in of]
        (line,) = axes.plot(at, [one.hits / total for one in of], label=f"hits, {guard.value}")
        axes.plot(at, [one.wrong / total for one in of], "--", color=line.get_color())
    axes.set_xlabel("threshold")
    axes.set_ylabel("share of the questions (dashed: hits that disagree)")
    axes.legend()
    try:
        figure.savefig(file, dpi=120, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot write {file}: {error}") from error
    finally:
        pyplot.close(figure)
