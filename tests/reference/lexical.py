"""Recall by words written a second time, in Python, to compare the database with.

Terms are made letter by letter, every record is scored, nothing is left unread.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.text import cut, kind, lower, unspaced, words

K1, B = 1.2, 0.75
JOINTS = "_./:@#-"
FIELDS = {
    "content": 1.0, "subject": 3.0, "entities": 3.0, "aliases": 2.5, "predicate": 2.2,
    "tags": 2.0, "location": 1.5,
}  # fmt: skip
PLURALS = (
    (r"^([a-z]{2,})ies?$", r"\1y"),
    (r"^([a-z]{2,}o)es?$", r"\1"),
    (r"^([a-z]+(?:ss|sh|ch|us|x|z))es?$", r"\1"),
    (r"^([a-z]{2,}[a-z])(?<![sui])s$", r"\1"),
)


def singular(word: str) -> str:
    """An English word without the ending that tells its plural."""
    for ending, instead in PLURALS:
        word = re.sub(ending, instead, word)
    return word


def plain(letter: str) -> str:
    """A Latin letter without its accent."""
    if not 0xE0 <= ord(letter) <= 0x17E:
        return letter
    base = unicodedata.normalize("NFD", letter)[0]
    return base if base.isascii() else letter


def folded(text: str) -> str:
    """A text in lower case, normalised, without accents."""
    text = "".join(" " if kind(letter) == "U" else letter for letter in text)
    return "".join(map(plain, lower(unicodedata.normalize("NFC", text))))


def identifiers(text: str) -> list[str]:
    """What stands together in a folded text and is more than a word."""
    pieces = "".join(c if kind(c) in ("W", "M") or c in JOINTS else " " for c in text).split(" ")
    names = [piece.strip(JOINTS) for piece in pieces if 3 <= len(piece) <= 256]
    return [
        name
        for name in names
        if set(name) & set(JOINTS) and re.search("[0-9_.@]", name) and not any(map(unspaced, name))
    ]


def terms(text: str | None) -> Counter[str]:
    """How often each term stands in a text, stop words included."""
    found: Counter[str] = Counter()
    if text is None:
        return found
    text = folded(text)
    for token in words(text):
        for whole, run in cut(token):
            if whole:
                found.update(run[at : at + 2] for at in range(max(len(run) - 1, 1)))
            elif run:
                found[singular(run)] += 1
    found.update(identifiers(text))
    return found


@dataclass(frozen=True)
class Words:
    """The lists of words that the rules know."""

    stop: Collection[str]
    weak: Collection[str]


@dataclass(frozen=True)
class Document:
    """A record's terms: weighted frequencies, and its length in words."""

    weights: Mapping[str, float]
    length: int


def document(record: Mapping[str, Any], lists: Words) -> Document:
    """The terms of a record, fields weighted."""
    weights: dict[str, float] = {}
    length = 0
    for field, weight in FIELDS.items():
        value = record[field]
        text = " ".join(value) if isinstance(value, list) else value
        for term, count in terms(text).items():
            if term not in lists.stop:
                weights[term] = weights.get(term, 0.0) + weight * count
                length += count
    return Document(weights, length)


class Index:
    """The statistics of one organisation and the scores by them."""

    def __init__(self, documents: Iterable[Document], lists: Words) -> None:
        documents = list(documents)
        self.lists = lists
        self.number = len(documents)
        self.frequency = Counter(term for found in documents for term in found.weights)
        length = sum(found.length for found in documents)
        self.average = length / self.number if length else 10.0

    def asked(self, query: str) -> list[str]:
        """The terms of a query."""
        return sorted(set(terms(query)) - set(self.lists.stop))

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term."""
        n = self.frequency[term]
        return math.log(1 + (self.number - n + 0.5) / (n + 0.5))

    def parts(self, asked: Sequence[str], found: Document) -> dict[str, float]:
        """What each term contributes to the score of a document; empty if none admits it."""
        if not any(t in found.weights and t not in self.lists.weak for t in asked):
            return {}
        norm = K1 * (1 - B + B * found.length / self.average)
        return {
            term: self.idf(term) * tf * (K1 + 1) / (tf + norm)
            for term in asked
            for tf in [found.weights.get(term)]
            if tf is not None
        }
