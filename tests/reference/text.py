"""Signatures written a second time, in Python, to compare the database with.

Nothing here comes from sql/unicode.py: words are told by the general category, scripts by the
character names, lower case by `str.lower`. Needs Python 3.11, whose Unicode is 14.0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

assert unicodedata.unidata_version == "14.0.0", "the reference needs Python 3.11"

KANA_SIGNS = (
    "KATAKANA-HIRAGANA PROLONGED SOUND MARK",
    "HALFWIDTH KATAKANA-HIRAGANA PROLONGED SOUND MARK",
    "VERTICAL KANA REPEAT",
    "HALFWIDTH KATAKANA VOICED SOUND MARK",
    "HALFWIDTH KATAKANA SEMI-VOICED SOUND MARK",
)
HAN = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
    "HANGZHOU NUMERAL",
    "OLD CHINESE ITERATION MARK",
    "VIETNAMESE ALTERNATE READING MARK",
)
KANA = (
    "HIRAGANA LETTER",
    "HIRAGANA ITERATION MARK",
    "HIRAGANA VOICED ITERATION MARK",
    "HIRAGANA DIGRAPH",
    "HENTAIGANA LETTER",
    "KATAKANA LETTER",
    "KATAKANA ITERATION MARK",
    "KATAKANA VOICED ITERATION MARK",
    "KATAKANA DIGRAPH",
    "HALFWIDTH KATAKANA LETTER",
)
SOUTH_EAST = ("THAI", "LAO", "KHMER", "MYANMAR")


@cache
def kind(letter: str) -> str:
    """W for a letter or number, M for a combining mark, U for unassigned, else empty."""
    category = unicodedata.category(letter)
    if category.startswith("L") or category in ("Nd", "Nl", "No"):
        return "W"
    if category in ("Mn", "Mc"):
        return "M"
    return "U" if category == "Cn" else ""


@cache
def unspaced(letter: str) -> bool:
    """Whether a letter, number or mark is of a script written without spaces."""
    name = unicodedata.name(letter, "")
    return name.startswith(HAN + KANA + KANA_SIGNS) or name.split(" ")[0] in SOUTH_EAST


def hangul(letter: str) -> bool:
    """Whether a letter or mark is of script Hangul."""
    return "HANGUL" in unicodedata.name(letter, "").split(" ")[:2]


def white(letter: str) -> bool:
    """Whether a character has the property White_Space."""
    return letter in "\t\n\v\f\r\x85" or unicodedata.category(letter) in ("Zs", "Zl", "Zp")


def trim(text: str) -> str:
    """The text without White_Space at both ends."""
    return text.strip("".join(filter(white, text)) or " ")


def squeeze(text: str) -> str:
    """The trimmed text with each run of White_Space as one space."""
    spaced = "".join(" " if white(letter) else letter for letter in text)
    return " ".join(word for word in spaced.split(" ") if word)


def spans(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each with whether it is a token."""
    start, inside = 0, False
    for place, letter in enumerate(text):
        belongs = kind(letter) == "W" or (inside and kind(letter) == "M")
        if belongs != inside:
            if place > start:
                yield inside, text[start:place]
            start, inside = place, belongs
    if text[start:]:
        yield inside, text[start:]


def words(text: str) -> list[str]:
    """The tokens of a text, nothing dropped."""
    return [piece for token, piece in spans(text) if token]


def cut(token: str) -> Iterator[tuple[bool, str]]:
    """The runs of a token, each with whether it is of scripts without spaces."""
    start, inside = 0, False
    for place, letter in enumerate(token):
        belongs = unspaced(letter) or (inside and kind(letter) == "M")
        if belongs != inside:
            if place > start:
                yield inside, token[start:place]
            start, inside = place, belongs
    yield inside, token[start:]


def lower(text: str) -> str:
    """Lower case, a final sigma decided within each token."""
    return "".join(
        piece.lower() if token else "".join(letter.lower() for letter in piece)
        for token, piece in spans(text)
    )


def signature_tokens(query: str) -> list[str]:
    """The signature of a query, by the numbered steps of the specification."""
    if all(map(white, query)):
        return []
    text = "".join(" " if kind(letter) == "U" else letter for letter in query)
    text = unicodedata.normalize("NFC", text)
    found: set[str] = set()
    for token in words(text):
        for whole, run in cut(token):
            if whole:
                found.update(run[place : place + 2] for place in range(max(len(run) - 1, 1)))
            elif len(run) >= 3 or (len(run) == 2 and all(map(hangul, run))):
                found.add(run.lower())
    if not found:
        found = {token.lower() for token in words(text)}
    if not found:
        found = {lower(trim(text) or trim(query))}
    return sorted(found)


def jaccard(first: Iterable[str], second: Iterable[str]) -> float:
    """The size of what two sets share over the size of their union, 0 for nothing."""
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one | other else 0.0
