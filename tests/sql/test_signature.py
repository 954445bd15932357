"""Text: the specification's vectors, limits, and random text against the reference."""

from __future__ import annotations

import random
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from typing import Any

import psycopg
import pytest

from tests.reference import text as reference
from tests.support.calls import refused, scalar
from tests.support.installs import install
from tests.support.server import ROOT, Server

SEED = 14
RANDOM_STRINGS = 24_000
BATCH = 3_000

VECTORS: list[tuple[str, set[str]]] = [
    # The table of the specification.
    ("How do I Reset my PASSWORD?", {"how", "password", "reset"}),
    ("password reset — how to do it", {"how", "password", "reset"}),
    ("Naïve ΣΊΣΥΦΟΣ İstanbul Straße", {"naïve", "straße", "σίσυφος", "i\u0307stanbul"}),
    ("cafe\u0301 menu", {"caf\u00e9", "menu"}),
    ("foo_bar it's e-mail", {"bar", "foo", "mail"}),
    ("外币汇率换算", {"币汇", "外币", "换算", "汇率", "率换"}),
    ("iPhone手机", {"iphone", "手机"}),
    ("食べる", {"べる", "食べ"}),
    ("猫", {"猫"}),
    ("비밀번호 변경", {"변경", "비밀번호"}),
    ("C++?", {"c"}),
    ("🚀", {"🚀"}),
    # Blank.
    ("", set()),
    (" \t\n\v\f\r\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000", set()),
    # No token of three characters: the shorter ones. No token at all: the text.
    ("is it on", {"is", "it", "on"}),
    ("R vs Go", {"r", "vs", "go"}),
    ("?!", {"?!"}),
    ("  ? \u00a0 !\u3000", {"? \u00a0 !"}),
    ("👩\u200d💻", {"👩\u200d💻"}),
    ("_Ⓐ_", {"_ⓐ_"}),
    ("\u0301\u0302", {"\u0301\u0302"}),
    ("\u200b", {"\u200b"}),
    # Unassigned code points separate; alone they stand for themselves.
    ("alpha\uffffbravo", {"alpha", "bravo"}),
    ("🚀\ufdd0\ufdd0🚀", {"🚀  🚀"}),
    (" \uffff\ufdd1 ", {"\uffff\ufdd1"}),
    ("a\U00010efd\u0301bc", {"a", "bc"}),
    # Lengths are counted before lower case: a dotted capital I is one character.
    ("İb abc", {"abc"}),
    ("İbc", {"i\u0307bc"}),
    ("ISTANBUL ıstanbul", {"istanbul", "ıstanbul"}),
    # Two characters suffice when both are Hangul, tone marks and jamo included.
    ("비번 ab 비a 비1", {"비번"}),
    ("비\u302e abc", {"비\u302e", "abc"}),
    ("ㄱㄴ abc", {"ㄱㄴ", "abc"}),
    # LV, then U+11A7: a vowel, no final consonant.
    ("가\u11a7", {"가\u11a7"}),
    ("\u1100\u1161\u11a7\u11a8", {"가\u11a7\u11a8"}),
    ("\u1100\u1161\u11a8가", {"각가"}),
    # Marks belong to the token they follow, and to none at its start.
    ("हिन्दी भाषा", {"हिन्दी", "भाषा"}),
    ("\u0301abc", {"abc"}),
    ("ab\u0301\u0302\u20ddcd", {"ab\u0301\u0302"}),
    # Scripts without spaces: runs are cut out, marks and kana signs stay in them.
    ("ラーメン", {"ラー", "ーメ", "メン"}),
    ("時々ﾊﾟ", {"時々", "々ﾊ", "ﾊﾟ"}),
    ("葛\U000e0100城", {"葛\U000e0100", "\U000e0100城"}),
    ("ก่อน abc", {"ก่", "่อ", "อน", "abc"}),
    ("ab手c机de", {"手", "机"}),
    ("abc手机def", {"abc", "手机", "def"}),
    (" \u0e31 abc", {"abc"}),
    (" \u0e31\u0e39\u0e31", {"\u0e31\u0e39\u0e31"}),
    ("\U00016ff1\u0301\u0323", {"\U00016ff1\u0323\u0301"}),
    ("abc\u0e31def", {"abc", "\u0e31", "def"}),
    ("၁၂၃", {"၁၂", "၂၃"}),
    ("手 机", {"手", "机"}),
    ("手\u0301机", {"手\u0301", "\u0301机"}),
    # Final sigma is decided in the piece that is lower-cased.
    ("ΣΑΣ Σας", {"σας"}),
    ("ΑΒΣ手Β", {"αβς", "手"}),
    ("ΑΒΣ1Γ", {"αβς1γ"}),
    ("ΑΒΣ\u0301 ΑΒΣ\u0301Γ ΣΣΣ 1ΣΣ", {"αβς\u0301", "αβσ\u0301γ", "σσς", "1σς"}),
    ("ΣΧΣ ʰΣʰ ΑΣʰ", {"σχς", "ʰσʰ", "αςʰ"}),
    # Normal form C, not KC: full width stays full width.
    ("ＡＢＣ", {"ａｂｃ"}),
    ("\u212bngstr\u00f6m", {"\u00e5ngstr\u00f6m"}),
]

LOCALES = {
    "C": "TEMPLATE template0 LOCALE 'C'",
    "C.UTF-8": "TEMPLATE template0 LOCALE 'C.UTF-8'",
    "ICU und": "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C.UTF-8'",
    "ICU tr": "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C.UTF-8'",
    "builtin C": "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C' LOCALE 'C'",
    "builtin C.UTF-8": (
        "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C.UTF-8'"
    ),
    "builtin PG_UNICODE_FAST": (
        "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST' LOCALE 'C'"
    ),
}
NEWEST = {"builtin C": 170000, "builtin C.UTF-8": 170000, "builtin PG_UNICODE_FAST": 180000}

# First words of the names of letters and marks; each is a pool to make words from.
SCRIPTS = (
    "LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "DEVANAGARI",
    "BENGALI", "TAMIL", "TIBETAN", "ETHIOPIC", "CHEROKEE", "GLAGOLITIC", "COPTIC", "MONGOLIAN",
    "DESERET", "ADLAM", "FULLWIDTH", "MATHEMATICAL", "ROMAN", "MODIFIER", "CIRCLED", "COMBINING",
    "THAI", "LAO", "KHMER", "MYANMAR", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HENTAIGANA",
    "HANGZHOU", "VERTICAL",
)  # fmt: skip
# Code points that later versions of Unicode assign, letters with case and marks among them.
LATER = (
    *(0x0CF3, 0x0ECE, 0x1C89, 0x1C8A, 0xA7CB, 0xA7CC, 0xA7CD, 0xA7DA, 0xA7DB, 0xA7DC),
    *(0x10EFD, 0x10EFE, 0x10EFF, 0x16D40, 0x1E6C0),
    *range(0x105C0, 0x105F4),
    *range(0x10D40, 0x10D90),
    *range(0x11F00, 0x11F5A),
    *range(0x1E4D0, 0x1E4FA),
    *range(0x31350, 0x31360),
)
SEPARATORS = " " * 12 + "\t\n\u00a0\u2003\u3000\u200b\u200d_-.,;:?!'’·\"()/+#@&%$€©°\u20dd\u0488"


@cache
def pools() -> dict[str, list[str]]:
    """Characters to draw from, by kind."""
    made: dict[str, list[str]] = {name: [] for name in SCRIPTS}
    for code in range(1, 0x110000):
        letter = chr(code)
        if reference.kind(letter) in ("W", "M"):
            first = unicodedata.name(letter, "").split(" ")[0]
            if first in made:
                made[first].append(letter)
    marks = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    digraphs = [chr(code) for code in range(0x110000) if unicodedata.decomposition(chr(code))]
    return made | {
        "any": [chr(code) for code in range(1, 0x110000, 7) if not 0xD800 <= code < 0xE000],
        "supplement": [chr(code) for code in range(0x10000, 0x20000)],
        "later": list(map(chr, LATER)),
        "private": [chr(0xE000), chr(0xF8FF), chr(0xF0000), chr(0x10FFFD)],
        "noncharacter": [chr(0xFDD0), chr(0xFFFE), chr(0xFFFF), chr(0x1FFFE), chr(0x10FFFF)],
        "mark": marks,
        "decomposed": digraphs,
        "sigma": list("ΣΣΣΣσςΑαΒβ1ʰ\u0301\u0345\u0300ªⅠ'·.-\u00ad\u4e00々"),
        "turkish": list("İIıiĞğ\u0307ŞşbcÇ"),
        "syllable": [chr(code) for code in range(0xAC00, 0xD7A4, 5)],
        "open syllable": [chr(code) for code in range(0xAC00, 0xD7A4, 28)] + ["\u11a7", "\u11a8"],
        "jamo": [chr(code) for code in (*range(0x1100, 0x1200), 0x302E, 0x302F, 0x3131, 0xFFA1)],
        "leading": ["\u1100", "\u1112", "\u1161", "\u1175", "\u11a7", "\u11a8", "\u11c2", "\u11c3"],
        "han": [chr(code) for code in range(0x4E00, 0xA000, 11)]
        + list("々〇〻ーｰ〱\U000e0100\ufe00"),
        "kana": list("かがハバパ゛゜\u3099\u309aーｰゝヽﾊﾞﾟ〱"),
        "ascii": [chr(code) for code in range(1, 128)],
        "word": list("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789"),
        "emoji": list("🚀👩💻🏽\u200d\ufe0f🇩🇪❤⌚"),
    }


def random_strings(seed: int, number: int) -> Iterator[str]:
    """Texts of words that are made of one pool, a few, or one after the other."""
    chance = random.Random(seed)
    names = sorted(pools())
    for _ in range(number):
        chosen = chance.sample(names, chance.choice((1, 1, 2, 3)))
        pieces: list[str] = []
        for _ in range(chance.randint(1, 8)):
            if chance.random() < 0.7:
                pool = pools()[chance.choice(chosen)]
                pieces.append("".join(chance.choices(pool, k=chance.choice((1, 2, 2, 3, 4, 7)))))
            else:
                length = chance.choice((1, 2, 3, 6))
                pieces.append(
                    "".join(chance.choice(pools()[chance.choice(chosen)]) for _ in range(length))
                )
            if chance.random() < 0.6:
                pieces.append(chance.choice(SEPARATORS))
        text = "".join(pieces)
        form = chance.choice(("", "", "", "NFC", "NFD"))
        yield unicodedata.normalize(form, text) if form else text  # type: ignore[arg-type]


@cache
def sample() -> tuple[str, ...]:
    """The random strings of these tests."""
    return tuple(random_strings(SEED, RANDOM_STRINGS))


# Of the large uniform blocks every_code_point takes few: unified ideographs, syllables, private
# use, Egyptian and Anatolian signs, Tangut, what is beyond the first ideographs of plane 2.
UNIFORM = (
    range(0x3500, 0x9F00),
    range(0xAC80, 0xD700),
    range(0xE080, 0xF880),
    range(0x13480, 0x16800),
    range(0x17080, 0x1AF80),
    range(0x20080, 0xE0000),
    range(0xE0200, 0x110000),
)


def every_code_point(frame: str, step: int = 2_000) -> Iterator[str]:
    """Code points in the frame, `step` of them a text."""
    codes = [
        code
        for code in range(1, 0x110000)
        if unicodedata.category(chr(code)) != "Cs"
        and (code % 97 == 0 or code & 0xFFFE == 0xFFFE or not any(code in r for r in UNIFORM))
    ]
    for start in range(0, len(codes), step):
        yield " ".join(frame.format(chr(code)) for code in codes[start : start + step])


def compare(
    conn: psycopg.Connection,
    function: str,
    expected: Callable[[str], Any],
    texts: Sequence[str],
    batch: int = BATCH,
) -> None:
    """The function of the database and the one in Python must agree on all texts."""
    for start in range(0, len(texts), batch):
        some = list(texts[start : start + batch])
        answers = conn.execute(
            f"SELECT mnemo.{function}(t.text) FROM unnest(%s::text[]) WITH ORDINALITY"
            " AS t(text, place) ORDER BY t.place",  # type: ignore[arg-type]
            [some],
        ).fetchall()
        assert len(answers) == len(some)
        for text, (answer,) in zip(some, answers, strict=True):
            wanted = expected(text)
            assert answer == wanted, f"{text!a}: {answer!a}, expected {wanted!a}"


@pytest.fixture(scope="module")
def plain(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """One database for the tests of this module: nothing here writes."""
    server.create_database("signature", template)
    with server.connect("signature") as conn:
        yield conn
    server.drop_database("signature")


@pytest.fixture(scope="module", params=LOCALES)
def located(server: Server, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A database of each locale provider that the server has."""
    locale = request.param
    if server.version_num < NEWEST.get(locale, 0):
        pytest.skip(f"PostgreSQL {server.version_num // 10000} has no {locale}")
    try:
        server.create_database("located", options=LOCALES[locale])
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this server is built without ICU")
    install(server, "located", "psql")
    with server.connect("located") as conn:
        yield conn
    server.drop_database("located")


@pytest.mark.parametrize(("text", "tokens"), VECTORS, ids=[ascii(text) for text, _ in VECTORS])
def test_vectors(plain: psycopg.Connection, text: str, tokens: set[str]) -> None:
    assert scalar(plain, "SELECT mnemo.signature_tokens(%s)", text) == sorted(tokens)
    assert reference.signature_tokens(text) == sorted(tokens)


def test_vectors_in_every_locale(located: psycopg.Connection) -> None:
    wanted = {text: sorted(tokens) for text, tokens in VECTORS}
    compare(located, "signature_tokens", wanted.__getitem__, list(wanted))


def test_random_text_in_every_locale(located: psycopg.Connection) -> None:
    compare(located, "signature_tokens", cache(reference.signature_tokens), sample())


def test_every_code_point_in_every_locale(located: psycopg.Connection) -> None:
    texts = list(every_code_point("ab{}cd"))
    compare(located, "signature_tokens", reference.signature_tokens, texts, batch=50)


def test_code_points_at_the_ends_of_words(plain: psycopg.Connection) -> None:
    for frame in ("{}cd", "ab{}", "手{}", "{}手", "가{}"):
        texts = list(every_code_point(frame))
        compare(plain, "signature_tokens", reference.signature_tokens, texts, batch=50)


def test_internal_function_agrees(plain: psycopg.Connection) -> None:
    """The common case of short ASCII text follows the general rules."""
    ascii_texts = [text for text in sample() if text.isascii()]
    assert len(ascii_texts) > 200
    for function in ("_signature_tokens", "_signature_tokens_wide"):
        compare(plain, function, reference.signature_tokens, ascii_texts)


def test_lower_in_every_locale(located: psycopg.Connection) -> None:
    compare(located, "_lower", reference.lower, [*sample()[::3], *every_code_point("{}")])
    compare(located, "_lower", reference.lower, list(every_code_point("ΑΣ{}Σ")))


def test_white_space_in_every_locale(located: psycopg.Connection) -> None:
    chance = random.Random(SEED)
    blanks = [letter for letter in map(chr, range(1, 0x3001)) if reference.white(letter)]
    assert len(blanks) == 25
    pool = [*blanks, *blanks, " ", "a", "é", "手", "\u200b", "\u180e", "\ufeff", "\x1c", "\x1f"]
    texts = ["".join(chance.choices(pool, k=chance.randint(0, 9))) for _ in range(3_000)]
    texts += [*blanks, "", *sample()[::20]]
    compare(located, "_trim", reference.trim, texts)
    compare(located, "_squeeze", reference.squeeze, texts)
    compare(located, "_is_blank", lambda text: not reference.trim(text), texts)


@pytest.mark.parametrize(
    "function",
    ["_trim", "_is_blank", "_squeeze", "_lower", "_pin", "_canonical_predicate",
     "canonical_predicate", "signature_tokens", "_signature_tokens"],
)  # fmt: skip
def test_null_gives_null(plain: psycopg.Connection, function: str) -> None:
    assert scalar(plain, f"SELECT mnemo.{function}(NULL)") is None


def test_normal_form(plain: psycopg.Connection) -> None:
    """All assigned sequences normalise as in Unicode 14.0, whatever the server does by itself."""

    def pinned(text: str) -> str:
        spaced = "".join(" " if reference.kind(letter) == "U" else letter for letter in text)
        return unicodedata.normalize("NFC", spaced)

    compare(plain, "_pin", pinned, sample()[::2])
    syllables = [chr(code) for code in range(0xAC00, 0xAC00 + 28 * 12, 28)]
    jamo = [chr(code) for code in range(0x1100, 0x1200)]
    compare(plain, "_pin", pinned, [one + other for one in syllables for other in jamo])
    chance = random.Random(SEED)
    marks = [*pools()["mark"], "\u0344", "\u0f73", "\u0f75", "\u0f81", "\u0340", "\u0343"]
    long_runs = [
        "".join(["a", *chance.choices(marks, k=chance.randint(60, 400)), "é"]) for _ in range(100)
    ]
    compare(plain, "_pin", pinned, long_runs)


def test_composed_and_decomposed_agree(plain: psycopg.Connection) -> None:
    texts = sample()[::4]
    tokens = [
        [
            answer
            for (answer,) in plain.execute(
                "SELECT mnemo.signature_tokens(t) FROM unnest(%s::text[]) WITH ORDINALITY"
                " AS u(t, place) ORDER BY u.place",
                [[unicodedata.normalize(form, text) for text in texts]],
            )
        ]
        for form in ("NFC", "NFD")
    ]
    # A text without a token stands for itself, noncharacters and all, and is not normalised then.
    wordy = [bool(reference.words(text)) for text in texts]
    for one, other, words in zip(*tokens, wordy, strict=True):
        assert one == other or not words


def test_settings_of_the_session(plain: psycopg.Connection, server: Server) -> None:
    """Neither the session's settings nor a hostile path change an answer."""
    with server.connect("signature") as conn:
        conn.execute("SET standard_conforming_strings = off")
        conn.execute("SET escape_string_warning = off")
        conn.execute("SET search_path = pg_temp")
        conn.execute("SET DateStyle = 'German'")
        compare(conn, "signature_tokens", reference.signature_tokens, sample()[::10])
        compare(conn, "_lower", reference.lower, sample()[::10])
        compare(conn, "_squeeze", reference.squeeze, sample()[::10])


def test_collation_of_the_caller(server: Server, plain: psycopg.Connection) -> None:
    """A column's collation, even one that takes different strings for equal, has no effect."""
    with plain.transaction(force_rollback=True):
        try:
            plain.execute(
                "CREATE COLLATION public.loose"
                " (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
            )
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server is built without ICU")
        texts = [*sample()[::20], *(text for text, _ in VECTORS)]
        for function, expected in (
            ("signature_tokens", reference.signature_tokens),
            ("_signature_tokens", reference.signature_tokens),
            ("_lower", reference.lower),
            ("_squeeze", reference.squeeze),
        ):
            answers = plain.execute(
                f"SELECT t, mnemo.{function}(t COLLATE public.loose)"
                " FROM unnest(%s::text[]) AS u(t)",
                [texts],
            )
            for text, answer in answers:
                assert answer == expected(text), ascii(text)
        assert scalar(
            plain,
            "SELECT mnemo.jaccard(ARRAY['a' COLLATE public.loose, 'A'], ARRAY['A', 'b'])",
        ) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "é" * 100_000,
        "手" * 100_000,
        " ".join(f"{number:04x}" for number in range(20_000)),
        " ".join(f"é{number:03x}" for number in range(4096)) + " " + "ab " * 26_000,
        "".join(chr(0x4E00 + number % 20_000) for number in range(20_001)),
        "a" + "\u0345" * 50_000 + "\u0334" * 49_999,
        "é" + "\u0334\u0301" * 49_999,
        "ΑΣ" * 50_000,
        "ΑΣ " * 33_000,
        "Α" + "\u0301" * 99_000 + "Σ",
        "ΣŁЖԱႠḂἈⰀＡ𐐀" * 10_000,
        "".join(chr(code) for code in range(0x110000) if chr(code).isupper()) * 50,
        "? " * 50_000,
        "\ufdd0" * 100_000,
        "\u1100\u1161\u11a7" * 33_000,
    ],
    ids=lambda text: f"{text[:6]!a}-{len(text)}",
)
def test_long_text(plain: psycopg.Connection, text: str) -> None:
    with plain.transaction():
        plain.execute("SET LOCAL statement_timeout = '10s'")
        tokens = scalar(plain, "SELECT mnemo.signature_tokens(%s)", text)
    if "\u0334" in text:
        # unicodedata needs quadratic time for these.
        text = "".join(
            sorted(text, key=unicodedata.combining) if "\u0345" in text else
            ["é", *"\u0334" * 49_999, *"\u0301" * 49_999]
        )  # fmt: skip
    assert tokens == reference.signature_tokens(text)


def test_limits(plain: psycopg.Connection) -> None:
    with refused("54000", "p_query") as refusal:
        scalar(plain, "SELECT mnemo.signature_tokens(%s)", "ab " * 33_333 + "ab")
    assert "100000" in refusal.message
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    words = ["".join(letters) for letters in islice(product(digits, repeat=3), 20_001)]
    assert len(scalar(plain, "SELECT mnemo.signature_tokens(%s)", " ".join(words[1:]))) == 20_000
    with refused("54000", "p_query") as refusal:
        scalar(plain, "SELECT mnemo.signature_tokens(%s)", " ".join(words))
    assert "20001" in refusal.message


def test_is_usable_in_an_index(plain: psycopg.Connection) -> None:
    found = plain.execute(
        "SELECT p.proname, p.provolatile, p.proparallel, p.prosecdef, p.proconfig FROM pg_proc AS p"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND p.proname = ANY (%s) ORDER BY 1",
        [["signature_tokens", "jaccard", "canonical_predicate"]],
    ).fetchall()
    path = ["search_path=pg_catalog, mnemo, pg_temp"]
    names = ("canonical_predicate", "jaccard", "signature_tokens")
    assert found == [(name, "i", "s", True, path) for name in names]
    assert scalar(plain, "SELECT mnemo._signature_version()") == 1


def test_jaccard_vectors(plain: psycopg.Connection) -> None:
    def similarity(one: str, other: str) -> float:
        return scalar(
            plain,
            "SELECT mnemo.jaccard(mnemo.signature_tokens(%s), mnemo.signature_tokens(%s))",
            one,
            other,
        )

    assert similarity("alpha bravo charlie", "alpha bravo charlie") == 1
    assert similarity("alpha bravo charlie", "charlie BRAVO, alpha!") == 1
    assert similarity("alpha bravo charlie", "xray yankee zulu") == 0
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    for size in range(len(words)):
        some = "".join(f"{word} " for word in ["three", *words][:size])
        assert similarity(" ".join(words), some) == len(set(some.split())) / 10
    assert scalar(plain, "SELECT mnemo.jaccard('{}', '{}')") == 0
    assert scalar(plain, "SELECT mnemo.jaccard('{a}', '{}')") == 0
    assert scalar(plain, "SELECT mnemo.jaccard('{a,a,b}', '{b,b,a}')") == 1
    assert scalar(plain, "SELECT mnemo.jaccard('{a,\"\"}', '{\"\"}')") == 0.5
    assert scalar(plain, "SELECT mnemo.jaccard(%s, %s)", list("abcdefg"), list("abcdefghij")) == 0.7
    assert scalar(plain, "SELECT mnemo.jaccard(NULL, '{a}')") is None
    assert scalar(plain, "SELECT mnemo.jaccard('{a}', NULL)") is None
    assert scalar(plain, "SELECT mnemo._jaccard(NULL, '{a}')") is None


def test_jaccard_random(plain: psycopg.Connection) -> None:
    chance = random.Random(SEED)
    alphabet = ["a", "b", "A", "ä", "a\u0308", "ß", "ss", "", " ", "手", "x" * 3_000, "ı", "İ"]
    alphabet += [f"w{number}" for number in range(8)]
    pairs = [
        (chance.choices(alphabet, k=chance.randint(0, 9)), chance.choices(alphabet, k=size))
        for size in range(12)
        for _ in range(200)
    ]
    for one, other in pairs:
        for function in ("jaccard", "_jaccard"):
            found = scalar(plain, f"SELECT mnemo.{function}(%s::text[], %s::text[])", one, other)
            assert found == reference.jaccard(one, other), (one, other)


@pytest.mark.parametrize(
    ("one", "other", "parameter"),
    [
        ("{NULL}", "{a}", "p_a"),
        ("{a}", "{b,NULL,c}", "p_b"),
        ("{{a,b},{c,d}}", "{a}", "p_a"),
        ("{a}", "{{a},{NULL}}", "p_b"),
    ],
)
def test_jaccard_refuses(plain: psycopg.Connection, one: str, other: str, parameter: str) -> None:
    with refused("22023", parameter) as refusal:
        scalar(plain, "SELECT mnemo.jaccard(%s, %s)", one, other)
    assert parameter in refusal.message


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" dietary--identity ", "dietary_identity"),
        ("Lives In", "lives_in"),
        ("__a__B__", "a_b"),
        ("naïve İD 手 x2", "na_ve_d_x2"),
        ("?!", ""),
        ("", ""),
    ],
)
def test_canonical_predicate(plain: psycopg.Connection, text: str, canonical: str) -> None:
    assert scalar(plain, "SELECT mnemo.canonical_predicate(%s)", text) == canonical


def test_generated_tables_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "sql" / "unicode.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
