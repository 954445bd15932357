"""recall_plan and its kin against their definition, on random plans, callers and queries.

One database holds many small organisations. Their vocabularies are small, so that near-duplicates,
ties and exact ratios are everywhere; agents have the same names in each; global plans reach into
all; many queries carry something that the guard reads. The definition is
tests/reference/matching.py, which looks at every plan. What the guard reads out of a text is taken
as it is: here it matters what recall makes of it.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.reference.matching import (
    EVERYWHERE,
    LIVE_STATES,
    Answer,
    Grant,
    Plan,
    Reading,
    Report,
    is_retired,
    is_stale,
    recall,
    standing,
)
from tests.support.reuse import module_database
from tests.support.server import Server

SEED = 20260611
SETS = 100
# So many of them report on global plans of others.
REPORTING = 4
CASES = 10_000
# Of these also the whole order, and of these also the explanation.
LISTED = 3_000
EXPLAINED = 400
# Asked also with stale plans among the others.
INCLUDED = 1_000
AGENTS = ("ana", "ben", "cem", "dua")
CONTEXTS = (None, "tools-1", "tools-2")
UNKNOWN_CONTEXT = "tools-9"
GUARDS = ("strict", "meaning", "off")
# No tokens of a signature, but some of them of a guard.
NOISE = ("a", "is", "of", "I")
# Few, and the same in every organisation and source.
CHUNKS = tuple(f"c{number}" for number in range(30))
SOURCES = ("", "wiki")
GUARDED = ("17", "71", "no", "up", "v2", "C++", "§", "Al")
STEPS = tuple(round(0.3 + 0.05 * step, 2) for step in range(15))
RATIOS = tuple(
    Fraction(*pair)
    for pair in (
        (7, 10), (17, 50), (2, 3), (1, 3), (3, 5), (5, 8), (5, 7), (3, 4), (4, 5), (9, 10), (1, 2),
        (3, 10), (7, 20), (9, 13), (49, 50), (11, 29), (13, 17), (59, 60), (1, 1), (61, 100),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One question to recall_plan and recall_plans."""

    query: str
    tokens: frozenset[str]
    org_id: str
    agent_id: str
    threshold: float | None
    guard: str | None
    context: str | None
    limit: int


@dataclass
class World:
    """What has been written, as the test knows it, and what is asked."""

    plans: dict[UUID, Plan] = field(default_factory=dict)
    grants: dict[tuple[UUID, str], Grant] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    retire: dict[str, float] = field(default_factory=dict)
    guards: dict[str, str] = field(default_factory=dict)
    noises: dict[UUID, list[str]] = field(default_factory=dict)
    changes: dict[tuple[str, str, str], int] = field(default_factory=dict)
    moment: int = 0
    cases: list[Case] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    included: list[Answer] = field(default_factory=list)


def words(chooser: random.Random, count: int) -> list[str]:
    """Distinct lower-case words of 3 to 12 letters: many of one length, some beyond ASCII."""
    found: dict[str, None] = {}
    while len(found) < count:
        length = chooser.choice((3, 3, 4, 4, 4, 5, 5, 6, 7, 9, 12))
        found["".join(chooser.choices("abcdefghiklmnoprstuvwéßñжд", k=length))] = None
    return list(found)


def guarded(chooser: random.Random) -> list[str]:
    """Words that a guard reads and a signature does not; mostly none."""
    return chooser.sample(GUARDED, chooser.choice((0, 0, 0, 1, 1, 2)))


def phrase(chooser: random.Random, tokens: frozenset[str], noise: list[str]) -> str:
    """A query with exactly this signature: any order, case, separators and short words."""
    parts = [
        word.upper() if word.isascii() and chooser.random() < 0.1 else word
        for word in sorted(tokens)
    ]
    parts += chooser.sample(NOISE, chooser.randrange(3))
    parts += [chooser.choice(parts)] if chooser.random() < 0.2 else []
    chooser.shuffle(parts)
    parts += noise
    return chooser.choice((" ", ", ", " - ", "? ", "_", " / ", "\t")).join(parts)


@dataclass(frozen=True)
class Style:
    """How the signatures of one organisation are made."""

    vocabulary: list[str]
    weights: list[float]
    sizes: tuple[int, ...]

    def draw(self, chooser: random.Random, size: int, avoid: frozenset[str]) -> frozenset[str]:
        """Up to `size` tokens by weight, none of `avoid`."""
        free = [word for word in self.vocabulary if word not in avoid]
        # Each word waits a time drawn for its weight; the first ones are taken.
        waits = {
            word: chooser.expovariate(weight)
            for word, weight in zip(self.vocabulary, self.weights, strict=True)
        }
        return frozenset(sorted(free, key=waits.__getitem__)[:size])

    def edit(self, chooser: random.Random, tokens: frozenset[str]) -> frozenset[str]:
        """The tokens with a few taken out and a few put in."""
        most = max(1, len(tokens) // 4)
        kept = chooser.sample(sorted(tokens), max(1, len(tokens) - chooser.randint(0, most)))
        return frozenset(kept) | self.draw(chooser, chooser.randint(0, most), tokens)


def make_style(chooser: random.Random, lexicon: list[str], number: int) -> Style:
    """The style of an organisation, by its number."""
    sizes, least = (
        (tuple(range(1, 7)), 8),
        (tuple(range(3, 13)), 20),
        (tuple(range(5, 34)), 60),
        (tuple(range(1, 61)), 100),
        ((30, 31, 32, 33, 34, 48, 60, 63, 64, 65, 68), 100),
        ((150, 200, 200, 256, 300, 300, 40, 12), 400) if number % 12 == 5 else ((3, 5, 10, 20), 30),
    )[number % 6]
    vocabulary = lexicon[: least + chooser.randint(0, least // 2)]
    skewed = number // 6 % 2 == 0
    weights = [1 / (rank + 1) if skewed else 1.0 for rank in range(len(vocabulary))]
    return Style(vocabulary, weights, sizes)


def write_set(
    conn: psycopg.Connection, world: World, chooser: random.Random, style: Style, org_id: str
) -> None:
    """Remember, share, unshare, forget, hold back and expire plans of one organisation."""
    mine: list[Plan] = []
    sources = random.Random(f"{SEED} {org_id}")
    for _ in range(chooser.randint(2, 4)):
        elements = []
        noises: list[list[str]] = []
        batch: list[tuple[frozenset[str], str | None]] = []
        for _ in range(chooser.randint(6, 18)):
            known = [plan.tokens for plan in mine] + [tokens for tokens, _ in batch]
            if known and chooser.random() < 0.6:
                base = chooser.choice(known)
                tokens = base if chooser.random() < 0.4 else style.edit(chooser, base)
            else:
                tokens = style.draw(chooser, chooser.choice(style.sizes), frozenset())
            ttl = chooser.choice((None, None, None, "1 hour", "P1D", "00:00:00.000001"))
            batch.append((tokens, ttl))
            noises.append(guarded(chooser))
            elements.append({
                "query": phrase(chooser, tokens, noises[-1]),
                "steps": [f"{org_id} {len(mine) + len(batch)}"],
                "chunk_ids": sources.sample(CHUNKS, sources.choice((0, 0, 1, 4))),
                "chunk_source": sources.choice(SOURCES),
                "outcome_score": chooser.choice((0.5, 0.75, 0.9, 1, 7)),
                "agent_id": chooser.choice(AGENTS),
                "org_id": org_id,
                "scope": chooser.choices(
                    ("private", "shared", "public", "global"), (7, 5, 6, 2))[0],
                "context": chooser.choices(CONTEXTS, (6, 2, 1))[0],
                "ttl": ttl,
            })  # fmt: skip
        ids = [
            row[0]
            for row in conn.execute(
                "SELECT r.id FROM mnemo.remember_plans(%s::jsonb) AS r ORDER BY r.position",
                [json.dumps(elements)],
            )
        ]
        rows = conn.execute(
            "SELECT t.id, m.created_at FROM unnest(%s) WITH ORDINALITY AS t(id, place)"
            " JOIN mnemo.memory AS m ON m.id = t.id ORDER BY t.place",
            [ids],
        ).fetchall()
        for (plan_id, created_at), (tokens, ttl), element in zip(
            rows, batch, elements, strict=True
        ):
            mine.append(Plan(
                id=plan_id,
                org_id=EVERYWHERE if element["scope"] == "global" else org_id,
                owner=(org_id, element["agent_id"]),
                scope=element["scope"],
                tokens=tokens,
                outcome_score=min(element["outcome_score"], 1),
                created_at=created_at,
                expires_at=created_at + LENGTHS[ttl] if ttl else None,
                context=element["context"],
                query=element["query"],
                source=element["chunk_source"],
                chunks=frozenset(element["chunk_ids"]),
                moment=world.moment,
            ))  # fmt: skip
        change_chunks(conn, world, sources, mine, org_id)
        world.noises.update(zip(ids, noises, strict=True))
    world.plans.update({plan.id: plan for plan in mine})
    report_some(conn, chooser, mine)
    share_some(conn, world, chooser, mine)
    end_some(conn, chooser, mine)


def change_chunks(
    conn: psycopg.Connection, world: World, sources: random.Random, mine: list[Plan], org_id: str
) -> None:
    """Report some chunks of one source; find some plans to be right all the same."""
    world.moment += 1
    source, ids = sources.choice(SOURCES), sources.sample(CHUNKS, 2)
    conn.execute(
        "SELECT FROM mnemo.invalidate_chunks(%s, %s, p_org_id => %s)", [ids, source, org_id]
    )
    for id in ids:
        world.changes[org_id, source, id] = world.moment
    for plan in mine:
        lasting = plan.expires_at is None or plan.expires_at > plan.created_at + timedelta(
            seconds=1
        )
        if lasting and sources.random() < 0.05:
            found = conn.execute(
                "SELECT was_stale FROM mnemo.revalidate_plan(%s, %s, %s)",
                [plan.id, plan.owner[1], org_id],
            ).fetchone()
            assert found == (is_stale(plan, world.changes),)
            plan.moment = world.moment


LENGTHS = {
    "1 hour": timedelta(hours=1),
    "P1D": timedelta(days=1),
    "00:00:00.000001": timedelta(microseconds=1),
}


def report_some(conn: psycopg.Connection, chooser: random.Random, mine: list[Plan]) -> None:
    """Outcomes of every kind, of owners and of others, of other organisations on global plans; some
    plans are retired by hand, some revived."""

    def judge(plan: Plan, function: str) -> None:
        conn.execute(
            f"SELECT FROM mnemo.{function}(%s, p_agent_id => %s, p_org_id => %s)",  # type: ignore[arg-type]
            [plan.id, plan.owner[1], plan.owner[0]],
        )

    for plan in mine:
        lasting = (
            plan.expires_at is None or plan.expires_at > plan.created_at + LENGTHS["1 hour"] / 2
        )
        if not lasting or chooser.random() < 0.5:
            continue
        fails = chooser.choice((0.1, 0.5, 0.95))
        for _ in range(chooser.randint(1, 6)):
            org_id, agent = plan.owner
            if plan.scope == "global":
                org_id = chooser.choice((org_id, f"org-{chooser.randrange(REPORTING)}"))
            if plan.scope in ("public", "global"):
                agent = chooser.choice(AGENTS)
            success = chooser.random() > fails
            score = chooser.choice((None, None, 0.25, 0.1 + 0.2))
            conn.execute(
                "SELECT FROM mnemo.record_plan_outcome(%s, %s, %s, NULL, %s, %s)",
                [plan.id, success, score, agent, org_id],
            )
            plan.reports.append(
                Report((org_id, agent), success, float(success) if score is None else score)
            )
        if chooser.random() < 0.06:
            judge(plan, "retire_plan")
            plan.by_hand = True
        if is_retired(plan, 0.05) and chooser.random() < 0.2:
            judge(plan, "revive_plan")
            plan.by_hand = False
            plan.reports.clear()


def share_some(
    conn: psycopg.Connection, world: World, chooser: random.Random, mine: list[Plan]
) -> None:
    """Grants of every kind: with an end, over again, taken back, on plans of every scope."""
    moment = timedelta(microseconds=1)
    for plan in mine:
        lasting = plan.expires_at is None or plan.expires_at > plan.created_at + moment
        if plan.scope == "global" or not lasting or chooser.random() > 0.55:
            continue
        others = [agent for agent in AGENTS if agent != plan.owner[1]]
        for _ in range(chooser.choice((1, 1, 2, 3))):
            agents = chooser.sample(others, chooser.randint(1, 2))
            if chooser.random() < 0.25:
                conn.execute(
                    "SELECT FROM mnemo.unshare(%s, %s, %s, %s)",
                    [plan.id, agents, plan.owner[1], plan.owner[0]],
                )
                for agent in agents:
                    world.grants.pop((plan.id, agent), None)
                continue
            ttl = chooser.choice((None, timedelta(hours=1), moment))
            permission = chooser.choice(("read", "write", "delete", "share"))
            for agent, expires_at in conn.execute(
                "SELECT s.agent_id, s.expires_at FROM mnemo.share(%s, %s, %s, %s, %s, %s) AS s",
                [plan.id, agents, permission, ttl, plan.owner[1], plan.owner[0]],
            ).fetchall():
                world.grants[plan.id, agent] = Grant(expires_at)
            if plan.scope == "private":
                plan.scope = "shared"


def end_some(conn: psycopg.Connection, chooser: random.Random, mine: list[Plan]) -> None:
    """Forget some plans; change others as rules, sweeps and administrators do."""

    def change(plan: Plan, column: str, value: object) -> None:
        conn.execute(
            f"UPDATE mnemo.memory SET {column} = %s WHERE org_id = %s AND id = %s",
            [value, plan.org_id, plan.id],
        )

    for plan in mine:
        if plan.expires_at is not None and plan.expires_at < plan.created_at + timedelta(seconds=1):
            continue
        fate = chooser.random()
        if fate < 0.06:
            conn.execute(
                "SELECT FROM mnemo.forget(ARRAY[%s]::uuid[], 'soft_delete', %s, %s)",
                [plan.id, plan.owner[1], plan.owner[0]],
            )
            plan.deleted = True
        elif fate < 0.10:
            plan.quarantined = True
            change(plan, "quarantined", True)
        elif fate < 0.11:
            change(plan, "quarantined", True)
            change(plan, "quarantined", False)
        elif fate < 0.18:
            plan.state = chooser.choice((*sorted(LIVE_STATES), "archived", "forgotten"))
            change(plan, "consolidation_state", plan.state)
        elif fate < 0.22:
            plan.expires_at = plan.created_at
            change(plan, "expires_at", plan.expires_at)
        elif fate < 0.24:
            conn.execute(
                "DELETE FROM mnemo.memory WHERE org_id = %s AND id = %s", [plan.org_id, plan.id]
            )
            plan.deleted = True


def at_ratio(
    chooser: random.Random, style: Style, tokens: frozenset[str], ratio: Fraction
) -> frozenset[str] | None:
    """A query of exactly this similarity to the tokens, where there is one."""
    room = len(set(style.vocabulary) - tokens)
    choices = [
        (shared, union - len(tokens))
        for shared in range(ratio.numerator, len(tokens) + 1, ratio.numerator)
        for union in [shared // ratio.numerator * ratio.denominator]
        if 0 <= union - len(tokens) <= room
    ]
    if not choices:
        return None
    shared, more = chooser.choice(choices)
    return frozenset(chooser.sample(sorted(tokens), shared)) | style.draw(chooser, more, tokens)


def make_case(
    chooser: random.Random, world: World, styles: dict[str, Style], own: dict[str, list[Plan]]
) -> Case:
    """A question near some plan that somebody could see, or near none."""
    org_id = chooser.choice([*styles, "nowhere"] if chooser.random() < 0.1 else list(styles))
    style = styles.get(org_id, styles["org-1"])
    plan = chooser.choice(own[org_id if org_id in own and chooser.random() < 0.9 else EVERYWHERE])
    if plan.org_id == EVERYWHERE and chooser.random() < 0.8:
        org_id = f"org-{chooser.randrange(REPORTING)}"
    kind = chooser.random()
    threshold: float | None = chooser.choice(STEPS)
    tokens: frozenset[str] | None = None
    if kind < 0.4:
        ratio = chooser.choice(RATIOS)
        threshold = float(ratio)
        tokens = at_ratio(chooser, style, plan.tokens, ratio)
        nudge = chooser.random()
        if nudge < 0.1 and ratio < 1:
            threshold = math.nextafter(threshold, 2)
        elif nudge < 0.2 and threshold > 0.3:
            threshold = math.nextafter(threshold, 0)
    elif kind < 0.55:
        tokens = plan.tokens
    elif kind < 0.65:
        tokens = style.draw(chooser, chooser.choice(style.sizes), frozenset())
        threshold = None if chooser.random() < 0.3 else threshold
    if tokens is None:
        tokens = style.edit(chooser, plan.tokens)
    return Case(
        query=phrase(
            chooser, tokens, world.noises[plan.id] if chooser.random() < 0.6 else guarded(chooser)
        ),
        tokens=tokens,
        org_id=org_id,
        agent_id=chooser.choice((plan.owner[1], *AGENTS, *AGENTS, "zoe")),
        threshold=threshold,
        guard=chooser.choice((None, *GUARDS, "off")),
        context=(
            plan.context if chooser.random() < 0.8 else chooser.choice((*CONTEXTS, UNKNOWN_CONTEXT))
        ),
        limit=chooser.choice((1, 2, 3, 5, 20, 1000)),
    )


Made = tuple[World, str]


def ask(dsn: str, function: str, columns: str, count: int, more: str = "") -> list[tuple[Any, ...]]:
    """The number of each question before `count` with what the function answers, in order."""

    def part(number: int) -> list[tuple[Any, ...]]:
        with psycopg.connect(dsn, autocommit=True) as conn:
            return conn.execute(
                f"SELECT q.number, {columns}"  # type: ignore[arg-type]
                f"  FROM question AS q CROSS JOIN LATERAL mnemo.{function}("
                "       p_query => q.query, p_agent_id => q.agent_id, p_org_id => q.org_id,"
                "       p_similarity_threshold => q.threshold, p_guard => q.guard,"
                f"       p_context => q.context{more}) AS r"
                " WHERE q.number %% 2 = %s AND q.number < %s",
                [number, count],
            ).fetchall()

    with ThreadPoolExecutor(2) as pool:
        return [row for rows in pool.map(part, (0, 1)) for row in rows]


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[Made]:
    """The plans in a database of their own, and the questions in its table `question`."""
    with module_database(server, template, "brute_force") as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            made = build(conn)
        yield made, dsn


def build(conn: psycopg.Connection) -> World:
    """Write the plans, ask the definition."""
    chooser = random.Random(SEED)
    world = World()
    # The same plan again is merged elsewhere; here every one is to be compared.
    conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
    lexicon = words(chooser, 600)
    styles: dict[str, Style] = {}
    for number in range(SETS):
        org_id = f"org-{number}"
        styles[org_id] = make_style(chooser, lexicon, number)
        write_set(conn, world, chooser, styles[org_id], org_id)
        if number % 9 == 4:
            world.thresholds[org_id] = chooser.choice((0.35, 0.6, 0.85))
            configure(conn, "similarity_threshold", str(world.thresholds[org_id]), org_id)
        if number % 7 == 3:
            world.retire[org_id] = chooser.choice((0.0, 0.08, 0.3))
            configure(conn, "retire_threshold", str(world.retire[org_id]), org_id)
        if number % 5 == 2:
            world.guards[org_id] = chooser.choice(GUARDS)
            configure(conn, "guard", world.guards[org_id], org_id)
    own: dict[str, list[Plan]] = {org_id: [] for org_id in (*styles, EVERYWHERE)}
    for plan in world.plans.values():
        own[plan.org_id].append(plan)
    world.cases = [make_case(chooser, world, styles, own) for _ in range(CASES)]
    written = list(world.plans.values())
    for plan, reading in zip(written, read(conn, [plan.query for plan in written]), strict=True):
        plan.reading = reading
    readings = read(
        conn, ["" if case.guard == "off" else case.query for case in world.cases]
    )  # fmt: skip
    row = conn.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    world.answers = [
        definition(world, own, case, reading, row[0])
        for case, reading in zip(world.cases, readings, strict=True)
    ]
    world.included = [
        definition(world, own, case, reading, row[0], "include")
        for case, reading in zip(world.cases[:INCLUDED], readings, strict=False)
    ]

    conn.execute(
        "CREATE TABLE question (number bigint, query text, org_id text, agent_id text,"
        " threshold double precision, guard text, context text, most bigint)"
    )
    with conn.cursor() as cursor, cursor.copy("COPY question FROM STDIN") as copy:
        for number, case in enumerate(world.cases):
            copy.write_row((
                number, case.query, case.org_id, case.agent_id, case.threshold, case.guard,
                case.context, case.limit,
            ))  # fmt: skip
    return world


def configure(conn: psycopg.Connection, name: str, value: str, org_id: str) -> None:
    """An override for an organisation."""
    conn.execute("SELECT mnemo.configure(%s, %s, %s)", [name, value, org_id])


def read(conn: psycopg.Connection, queries: list[str]) -> list[Reading]:
    """What the guard reads out of queries."""
    return [
        Reading(meaning, values, frozenset(names))
        for meaning, values, names in conn.execute(
            "SELECT g.meaning, g.vals, g.names"
            "  FROM unnest(%s::text[]) WITH ORDINALITY AS t(query, place)"
            " CROSS JOIN LATERAL mnemo._guard(t.query) AS g ORDER BY t.place",
            [queries],
        )
    ]


def threshold_of(world: World, case: Case) -> float:
    """The threshold that holds for a question."""
    return world.thresholds.get(case.org_id, 0.7) if case.threshold is None else case.threshold


def definition(
    world: World,
    own: dict[str, list[Plan]],
    case: Case,
    reading: Reading,
    now: datetime,
    stale: str = "refuse",
) -> Answer:
    """The answer by the definition; plans of other organisations are never visible."""
    return recall(
        [*own.get(case.org_id, []), *own[EVERYWHERE]], world.grants, case.tokens,
        org_id=case.org_id, agent_id=case.agent_id, threshold=threshold_of(world, case),
        context=case.context, now=now, guard=case.guard or world.guards.get(case.org_id, "strict"),
        reading=reading, retire=world.retire.get(case.org_id, 0.05), changes=world.changes,
        stale=stale,
    )  # fmt: skip


def test_questions_cover_what_they_should(world: Made) -> None:
    """The random cases reach hits and misses of every kind, often enough to prove something."""
    made, _ = world
    seen: Counter[str] = Counter()
    for case, answer in zip(made.cases, made.answers, strict=True):
        seen[answer.reason] += 1
        seen["nothing visible"] += answer.eligible == 0
        seen["refused and hit"] += bool(answer.refused and answer.hits)
        seen["retired and hit"] += bool(answer.retired and answer.hits)
        seen["stale and hit"] += bool(answer.stale and answer.hits)
        seen["stale and better"] += bool(
            answer.stale and answer.hits and answer.stale[0].similarity > answer.hits[0].similarity
        )
        if not answer.hits:
            continue
        best = made.plans[answer.hits[0].id]
        similarity = answer.hits[0].similarity
        seen[best.scope] += 1
        seen["by grant"] += best.scope == "shared" and best.owner[1] != case.agent_id
        seen["several"] += len(answer.hits) > 1
        seen["tie"] += len(answer.hits) > 1 and similarity == answer.hits[1].similarity
        if len(answer.hits) > 1 and similarity == answer.hits[1].similarity:
            second = made.plans[answer.hits[1].id]
            seen["by reports"] += second.outcome_score > best.outcome_score
            seen["by own reports"] += (best.org_id, second.org_id) == (EVERYWHERE, EVERYWHERE) and (
                standing(best, best.owner[0]) < standing(second, second.owner[0])
            )
        seen["at the threshold"] += similarity == case.threshold and similarity < 1
        seen["long"] += len(best.tokens) > 32 and similarity < 1
        seen["below the floor"] += similarity < 0.6
    wanted = {
        "exact": 750, "similar": 1400, "none_similar": 1000, "guarded": 500, "stale": 60,
        "stale and hit": 150, "stale and better": 50,
        "refused and hit": 400, "nothing visible": 100, "retired": 80, "retired and hit": 100,
        "by reports": 50, "by own reports": 1,
        "private": 150, "shared": 500, "public": 500, "global": 500, "by grant": 100,
        "several": 1000, "tie": 300, "at the threshold": 300, "long": 300, "below the floor": 300,
    }  # fmt: skip
    assert len(made.cases) >= 10_000
    assert {name: seen[name] for name in wanted if seen[name] < wanted[name]} == {}


@pytest.fixture(scope="module")
def recalled(world: Made) -> list[tuple[Any, ...]]:
    """What recall_plan answers, one row a question."""
    _, dsn = world
    rows = ask(
        dsn, "recall_plan",
        "r.candidates_considered, r.hit, r.id, r.similarity, r.reason, r.owner_agent_id, r.scope,"
        " r.outcome_score, r.steps IS NOT NULL, r.near_miss ->> 'id',"
        " (r.near_miss ->> 'similarity')::double precision, r.stale",
        CASES,
    )  # fmt: skip
    return [row[1:] for row in sorted(rows)]


def test_recall_plan_is_the_best_by_definition(
    world: Made, recalled: list[tuple[Any, ...]]
) -> None:
    """Id, similarity, reason and near miss are those of a look at every plan."""
    made, _ = world
    wrong = []
    for number, (case, answer, row) in enumerate(
        zip(made.cases, made.answers, recalled, strict=True)
    ):
        expected: tuple[object, ...] = (
            False, None, None, answer.reason, None, None, None, False, None, None, False,
        )  # fmt: skip
        if answer.reason in ("guarded", "stale", "retired"):
            near = (answer.stale or answer.retired or answer.refused)[0]
            expected = (*expected[:-3], str(near.id), near.similarity, answer.reason == "stale")
        if answer.hits:
            plan = made.plans[answer.hits[0].id]
            expected = (
                True, plan.id, answer.hits[0].similarity, answer.reason, plan.owner[1],
                plan.scope, plan.outcome_score, True, None, None, False,
            )  # fmt: skip
        if row[1:] != expected:
            wrong.append((number, case, expected, row))
    assert wrong[:3] == []


def test_recall_plan_counts_only_what_the_caller_sees(
    world: Made, recalled: list[tuple[Any, ...]]
) -> None:
    """candidates_considered: 1 for an exact hit, at least the hit, never an invisible plan."""
    made, _ = world
    wrong = [
        (number, case, answer.reason, considered, answer.eligible)
        for number, (case, answer, (considered, *_)) in enumerate(
            zip(made.cases, made.answers, recalled, strict=True)
        )
        if not (
            considered == 1
            if answer.reason == "exact"
            else bool(answer.hits) <= considered <= answer.eligible
        )
    ]
    assert wrong[:3] == []


def test_recall_plans_is_the_whole_order(world: Made) -> None:
    """recall_plans returns the best in the order of the definition, cut at its limit."""
    made, dsn = world
    got: list[list[tuple[Any, ...]]] = [[] for _ in range(LISTED)]
    for number, *rest in sorted(ask(
        dsn, "recall_plans", "r.rank, r.id, r.similarity, r.reason, r.candidates_considered, r.hit",
        LISTED, ", p_limit => q.most",
    )):  # fmt: skip
        got[number].append(tuple(rest))
    wrong = []
    for number, found in enumerate(got):
        case, answer = made.cases[number], made.answers[number]
        expected = [
            (rank, hit.id, hit.similarity, "exact" if hit.similarity == 1 else "similar")
            for rank, hit in enumerate(answer.hits[: case.limit], start=1)
        ]
        considered = {row[4] for row in found}
        counted = all(len(expected) <= count <= answer.eligible for count in considered)
        if [row[:4] for row in found] != expected or len(considered) > 1 or not counted:
            wrong.append((number, case, answer.eligible, expected[:5], found[:5]))
    assert wrong[:3] == []


def test_stale_plans_can_win_like_others(world: Made) -> None:
    """With p_stale include, and each hit says whether it is one."""
    made, dsn = world
    got: list[list[tuple[Any, ...]]] = [[] for _ in range(INCLUDED)]
    for number, *rest in sorted(ask(
        dsn, "recall_plans", "r.rank, r.id, r.stale", INCLUDED,
        ", p_limit => q.most, p_stale => 'include'",
    )):  # fmt: skip
        got[number].append(tuple(rest))
    wrong, seen = [], 0
    for case, answer, found in zip(made.cases, made.included, got, strict=False):
        expected = [
            (rank, hit.id, is_stale(made.plans[hit.id], made.changes))
            for rank, hit in enumerate(answer.hits[: case.limit], start=1)
        ]
        seen += any(stale for *_, stale in expected)
        if found != expected:
            wrong.append((case, expected[:5], found[:5]))
    assert wrong[:3] == []
    assert seen > 20
    first = ask(dsn, "recall_plan", "r.id, r.stale", INCLUDED, ", p_stale => 'include'")
    assert [(row[1], row[2]) for row in sorted(first)] == [
        found[0][1:] if found else (None, False) for found in got
    ]


def test_explain_recall_plan_is_the_definition_spelled_out(world: Made) -> None:
    """The nearest visible plans in their order, each with the verdict that recall has come to."""
    made, dsn = world
    got: dict[int, list[tuple[Any, ...]]] = {number: [] for number in range(EXPLAINED)}
    for number, *rest in sorted(ask(
        dsn, "explain_recall_plan",
        "r.rank, r.id, r.similarity, r.verdict, cardinality(r.guard_differences)", EXPLAINED,
    )):  # fmt: skip
        got[number].append(tuple(rest))
    wrong = []
    for number, found in got.items():
        case, answer = made.cases[number], made.answers[number]
        hits = [hit.id for hit in answer.hits]
        retired = [hit.id for hit in answer.retired]
        stale = [hit.id for hit in answer.stale]
        expected: list[tuple[object, ...]] = []
        for rank, near in enumerate(answer.near[:20], start=1):
            if near.similarity < threshold_of(made, case):
                verdict = "below_threshold"
            elif near.id in retired:
                verdict = "retired"
            elif near.id in stale:
                verdict = "stale"
            elif near.id in hits:
                verdict = "replayed" if near.id == hits[0] else "outranked"
            else:
                verdict = "guarded"
            expected.append((rank, near.id, near.similarity, verdict))
        if not answer.near:
            expected = [(None, None, None, "none_similar")]
        explained = all(
            (verdict != "guarded" or differences > 0)
            and (verdict not in ("replayed", "outranked", "stale") or differences == 0)
            for *_, verdict, differences in found
        )
        if [row[:4] for row in found] != expected or not explained:
            wrong.append((number, case, expected[:5], found[:5]))
    assert wrong[:3] == []
