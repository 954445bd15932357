"""How well the guard tells questions apart: pairs with their expected outcome, and CLINC150.

The guard is the database's; the reading of pairs and the plain similarity are done here, because
the figures with and without a guard must rest on the same candidates.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psycopg

ROOT = Path(__file__).resolve().parents[2]
OWN_PAIRS = Path(__file__).with_name("guard_pairs.jsonl")
GUARDS = ("meaning", "strict")


def data_folder() -> Path | None:
    """The folder of third-party data, or None where it is absent."""
    folder = Path(os.environ.get("MNEMO_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


class Pair(NamedTuple):
    """Two queries, and whether the plan of the stored one may answer the asked one."""

    category: str
    stored: str
    asked: str
    expect: str


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file with one JSON object a line."""
    lines = path.read_text("utf-8").splitlines()
    return [Pair(*(json.loads(line)[name] for name in Pair._fields)) for line in lines if line]


class Read(NamedTuple):
    """What the database makes of a query."""

    meaning: int
    values: int
    names: frozenset[str]
    tokens: frozenset[str]


def read_queries(conn: psycopg.Connection, queries: Iterable[str]) -> dict[str, Read]:
    """The guard and the signature of each query."""
    rows = conn.execute(
        "SELECT q.query, g.meaning, g.vals, g.names, mnemo._signature_tokens(q.query)"
        "  FROM unnest(%s::text[]) AS q(query) CROSS JOIN LATERAL mnemo._guard(q.query) AS g",
        [list(dict.fromkeys(queries))],
    )
    return {
        query: Read(meaning, values, frozenset(names), frozenset(tokens))
        for query, meaning, values, names, tokens in rows
    }


def agree(one: Read, other: Read, guard: str) -> bool:
    """Whether two queries agree under a guard."""
    return guard == "off" or (
        one.meaning == other.meaning
        and (
            guard == "meaning"
            or (
                one.values == other.values
                and one.names <= other.tokens
                and other.names <= one.tokens
            )
        )
    )


def jaccard(one: Read, other: Read) -> float:
    """Similarity of the signatures."""
    union = len(one.tokens | other.tokens)
    return len(one.tokens & other.tokens) / union if union else 0.0


@dataclass(frozen=True)
class Verdict:
    """A pair and what came out."""

    pair: Pair
    similarity: float
    outcome: str

    @property
    def right(self) -> bool:
        """The outcome is the expected one."""
        return self.outcome == self.pair.expect


def judge_pairs(
    conn: psycopg.Connection, pairs: Sequence[Pair], guard: str = "strict", threshold: float = 0.7
) -> list[Verdict]:
    """The outcome of every pair."""
    reads = read_queries(conn, (query for pair in pairs for query in (pair.stored, pair.asked)))
    verdicts = []
    for pair in pairs:
        one, other = reads[pair.stored], reads[pair.asked]
        similarity = jaccard(one, other)
        hit = similarity >= threshold and agree(one, other, guard)
        verdicts.append(Verdict(pair, similarity, "hit" if hit else "miss"))
    return verdicts


def by_category(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], tuple[int, int]]:
    """For each category and expectation: how many are right, and how many there are."""
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        key = (verdict.pair.category, verdict.pair.expect)
        total[key] += 1
        right[key] += verdict.right
    return {key: (right[key], total[key]) for key in sorted(total)}


def share_right(verdicts: Iterable[Verdict], expect: str) -> float:
    """The share of the pairs with this expectation that came out right."""
    chosen = [verdict.right for verdict in verdicts if verdict.pair.expect == expect]
    return sum(chosen) / len(chosen)


def _plain_tokens(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return frozenset(word for word in words if len(word) > 2) or frozenset(words)


class Candidate(NamedTuple):
    """A remembered request similar enough to one that is asked."""

    similarity: float
    position: int


def candidates(
    remembered: Sequence[str], asked: Sequence[str], threshold: float = 0.7
) -> list[list[Candidate]]:
    """For each request that is asked the similar remembered ones, best first."""
    sets = [_plain_tokens(text) for text in remembered]
    holders: dict[str, list[int]] = defaultdict(list)
    for position, tokens in enumerate(sets):
        for token in tokens:
            holders[token].append(position)
    found = []
    for text in asked:
        tokens = _plain_tokens(text)
        # A similar set lacks at most a share of these tokens, so the rarest of them lead to it.
        rarest = sorted(tokens, key=lambda token: len(holders.get(token, ())))
        prefix = rarest[: len(rarest) - _ceiling(threshold * len(rarest)) + 1]
        near = {position for token in prefix for position in holders.get(token, ())}
        scored = (Candidate(len(tokens & sets[p]) / len(tokens | sets[p]), p) for p in near)
        found.append(
            sorted((c for c in scored if c.similarity >= threshold), key=lambda c: (-c[0], c[1]))
        )
    return found


def _ceiling(value: float) -> int:
    return -int(-(value - 1e-9) // 1)


@dataclass(frozen=True)
class Figures:
    """How one guard fares on CLINC150."""

    guard: str
    asked: int
    hits: int
    right: int
    out_of_scope: int
    out_of_scope_hits: int

    @property
    def precision(self) -> float:
        """The share of the hits with the intent that was asked for."""
        return self.right / self.hits


def clinc_figures(
    conn: psycopg.Connection, folder: Path, guards: Sequence[str] = ("off", *GUARDS)
) -> list[Figures]:
    """Train is remembered, test asked; the best candidate that agrees answers."""
    data = json.loads((folder / "clinc150.json").read_text("utf-8"))
    train, test, outside = data["train"], data["test"], data["oos_test"]
    remembered = [text for text, _ in train]
    asked = [text for text, _ in (*test, *outside)]
    near = candidates(remembered, asked)
    needed = {text for text, found in zip(asked, near, strict=True) if found}
    needed |= {remembered[c.position] for found in near for c in found}
    reads = read_queries(conn, needed)
    figures = []
    for guard in guards:
        hits = right = outside_hits = 0
        for number, (text, found) in enumerate(zip(asked, near, strict=True)):
            best = next(
                (c for c in found if agree(reads[text], reads[remembered[c.position]], guard)), None
            )
            if best is None:
                continue
            if number >= len(test):
                outside_hits += 1
            else:
                hits += 1
                right += train[best.position][1] == test[number][1]
        figures.append(Figures(guard, len(test), hits, right, len(outside), outside_hits))
    return figures
