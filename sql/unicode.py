"""Write the Unicode tables of the text functions, the three files sql/parts/10?_unicode_*.sql.

    python sql/unicode.py            writes the files
    python sql/unicode.py --check    compares them with what would be written, exit code 1 if stale

Signatures must be the same on every server, and the tables of PostgreSQL, ICU and the C library
change with their versions. So the tables are made once, from Unicode 14.0, and travel as SQL.
Python 3.11 carries Unicode 14.0 in `unicodedata` and in the methods of `str`; any other version is
refused.

Where each table comes from:

* letters, numbers, marks, unassigned code points: the general category;
* what normalisation cannot change: combining class 0, its own normal form, and not the second half
  of a composition (as Hangul vowels and final consonants are);
* lower case, and which letters are cased (for the final sigma): `str.lower`, `islower`, `isupper`
  and category Lt. Of letters and marks the case-ignorable ones are exactly categories Mn and Lm;
* scripts, which `unicodedata` does not have: Hangul, Han, Hiragana, Katakana, Thai, Lao, Khmer and
  Myanmar are told by the beginnings of the character names, with the exceptions of NAMELESS_HAN.
  Compared code point by code point with the property Script of Unicode 14.0 (as perl 5.36 has
  it): over letters, numbers and marks the two agree, apart from EXTRA_UNSPACED, which is of script
  Common there and is added on purpose (kana signs that repeat, lengthen or voice a syllable).

Where that makes them fewer, ranges run across unassigned code points: a text has had those
replaced by spaces before these classes see it. The tables of the final sigma and of what is
unassigned are exact, because they are also applied to raw text.

The literals are E'' ones: a session or an installer with standard_conforming_strings off reads
them the same.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

UNICODE_VERSION = "14.0.0"
PARTS = Path(__file__).resolve().parent / "parts"
WIDTH = 154
LAST = 0x10FFFF
ASSURANCE = "Never NULL. Raises nothing. Source: Unicode 14.0."

HANGUL_TONES = {0x302E, 0x302F}
UNSPACED_NAMES = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "HIRAGANA ",
    "HENTAIGANA ",
    "KATAKANA ",
    "HALFWIDTH KATAKANA ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
# Han without a telling name: iteration marks, the zero, Suzhou numerals, Vietnamese reading marks.
NAMELESS_HAN = {
    0x3005,
    0x3007,
    *range(0x3021, 0x302A),
    *range(0x3038, 0x303C),
    0x16FE3,
    0x16FF0,
    0x16FF1,
}
# Script Common: prolonged sound marks, kana repeat marks, the half-width voicing marks.
EXTRA_UNSPACED = {0x30FC, 0xFF70, *range(0x3031, 0x3036), 0xFF9E, 0xFF9F}

# Where upper-case letters are, by alphabet: a text needs the tables of one or two.
ALPHABETS = (
    (0x00C0, 0x00DE),
    (0x0100, 0x017F),
    (0x0180, 0x024F),
    (0x0370, 0x03FF),
    (0x0400, 0x045F),
    (0x0460, 0x052F),
    (0x0531, 0x10CD),
    (0x13A0, 0x1CBF),
    (0x1E00, 0x1EFF),
    (0x1F00, 0x1FFF),
    (0x2126, 0x2CFF),
    (0xA640, 0xA7FF),
    (0xFF21, 0xFF3A),
    (0x10400, 0x1E921),
)

CATEGORY = [unicodedata.category(chr(code)) for code in range(LAST + 1)]
NAME = [unicodedata.name(chr(code), "") for code in range(LAST + 1)]


def pick(test: Callable[[int], bool]) -> set[int]:
    """The code points that pass the test; surrogates are none."""
    return {code for code in range(1, LAST + 1) if CATEGORY[code] != "Cs" and test(code)}


def ranges(codes: set[int], *, bridge: bool) -> Iterator[tuple[int, int]]:
    """Ranges that cover the code points; with bridge also across unassigned ones in between."""
    first = last = None
    for code in sorted(codes):
        if first is None or last is None:
            first = code
        elif code > last + 1 and not (
            bridge and all(CATEGORY[gap] == "Cn" for gap in range(last + 1, code))
        ):
            yield first, last
            first = code
        last = code
    if first is not None and last is not None:
        yield first, last


def seconds() -> set[int]:
    """Code points that a composition can absorb into the one before them."""
    found = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    for code in pick(lambda code: bool(unicodedata.decomposition(chr(code)))):
        parts = unicodedata.decomposition(chr(code)).split()
        canonical = len(parts) == 2 and not parts[0].startswith("<")
        if canonical and unicodedata.normalize("NFC", chr(code)) == chr(code):
            found.add(int(parts[1], 16))
    return found


def escape(code: int) -> str:
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def class_items(codes: set[int], *, bridge: bool, slash: str) -> list[str]:
    """The inside of a bracket expression, a text per range; slash stands for a backslash."""
    texts = []
    for first, last in ranges(codes, bridge=bridge):
        joint = "" if first == last else "-" if last > first + 1 else ""
        text = escape(first) + (joint + escape(last) if first != last else "")
        texts.append(text.replace("\\", slash))
    return texts


def literal(before: str, items: Iterable[str], after: str, *, indent: int) -> list[str]:
    """An E'' literal over as many lines as it needs, with text before and after it."""
    lines = [f"{' ' * indent}{before}E'"]
    for item in items:
        if len(lines[-1]) + len(item) > WIDTH:
            lines[-1] += "'"
            lines.append(f"{' ' * (indent + 4)}'")
        lines[-1] += item
    lines[-1] += "'" + after
    return lines


def comment(signature: str, text: str) -> list[str]:
    """A COMMENT ON whose text is wrapped by continued literals."""
    lines = textwrap.wrap(text, WIDTH - 8, break_on_hyphens=False)
    quoted = [f"    '{line} '" for line in lines[:-1]] + [f"    '{lines[-1]}';"]
    return [f"COMMENT ON FUNCTION {signature} IS", *quoted, ""]


def table_function(name: str, codes: set[int], text: str, *, bridge: bool = True) -> list[str]:
    """A function that returns the inside of a bracket expression, in escapes of that language."""
    return [
        f"CREATE FUNCTION mnemo.{name}()",
        "RETURNS text",
        "LANGUAGE sql IMMUTABLE PARALLEL SAFE",
        *literal("RETURN ", class_items(codes, bridge=bridge, slash="\\\\"), ";", indent=0),
        *comment(f"mnemo.{name}()", f"Inside of a bracket expression: {text} {ASSURANCE}"),
    ]


def ordering_function() -> list[str]:
    """Combining classes as rows of first, last, class; what decomposes into marks is left out."""
    by_class: dict[int, set[int]] = {}
    for code in pick(lambda code: unicodedata.combining(chr(code)) > 0):
        if len(unicodedata.normalize("NFD", chr(code))) == 1:
            by_class.setdefault(unicodedata.combining(chr(code)), set()).add(code)
    rows = sorted(
        (first, last, number)
        for number, codes in by_class.items()
        for first, last in ranges(codes, bridge=False)
    )
    lines = ["RETURN '{"]
    for position, row in enumerate(rows):
        item = "{" + ",".join(map(str, row)) + ("}" if position == len(rows) - 1 else "},")
        if len(lines[-1]) + len(item) > WIDTH:
            lines[-1] += "'"
            lines.append("    '")
        lines[-1] += item
    lines[-1] += "}'::integer[];"
    return [
        "CREATE FUNCTION mnemo._unicode_combining_classes()",
        "RETURNS integer[]",
        "LANGUAGE sql IMMUTABLE PARALLEL SAFE",
        *lines,
        *comment(
            "mnemo._unicode_combining_classes()",
            "Rows of first code point, last code point, canonical combining class, for the classes "
            f"above 0. {ASSURANCE}",
        ),
    ]


def word_part() -> list[str]:
    letter_or_number = ("Nd", "Nl", "No")
    hangul = pick(
        lambda code: (
            CATEGORY[code][0] == "L" and NAME[code].startswith(("HANGUL ", "HALFWIDTH HANGUL "))
        )
    )
    word = pick(lambda code: CATEGORY[code][0] == "L" or CATEGORY[code] in letter_or_number)
    mark = pick(lambda code: CATEGORY[code] in ("Mn", "Mc"))
    unspaced = {code for code in word | mark if NAME[code].startswith(UNSPACED_NAMES)}
    unspaced |= NAMELESS_HAN | EXTRA_UNSPACED
    ignorable = pick(lambda code: CATEGORY[code] in ("Mn", "Lm"))
    cased = {code for code in word if chr(code).islower() or chr(code).isupper()}
    cased |= pick(lambda code: CATEGORY[code] == "Lt")
    return [
        *table_function(
            "_unicode_word",
            word - hangul,
            "letters and numbers (L*, Nd, Nl, No) but Hangul, across unassigned code points.",
        ),
        *table_function(
            "_unicode_hangul",
            hangul,
            "letters of script Hangul, across unassigned code points.",
        ),
        *table_function(
            "_unicode_mark",
            mark - HANGUL_TONES,
            "combining marks (Mn, Mc) but the two Hangul tone marks, across unassigned ones.",
        ),
        *table_function(
            "_unicode_unspaced",
            unspaced,
            "letters, numbers and marks of scripts written without spaces (Han, Hiragana, "
            "Katakana, Thai, Lao, Khmer, Myanmar), and kana signs that repeat, lengthen or voice.",
        ),
        *table_function(
            "_unicode_cased",
            cased - ignorable,
            "cased letters and numbers that are not case-ignorable.",
            bridge=False,
        ),
        *table_function(
            "_unicode_case_ignorable",
            ignorable,
            "the case-ignorable letters and marks (Lm, Mn).",
            bridge=False,
        ),
    ]


def normal_part() -> list[str]:
    combining = pick(lambda code: unicodedata.combining(chr(code)) > 0)
    reordered = combining | pick(
        lambda code: unicodedata.combining(unicodedata.normalize("NFD", chr(code))[0]) > 0
    )
    unassigned = pick(lambda code: CATEGORY[code] == "Cn")
    changed = pick(lambda code: unicodedata.normalize("NFC", chr(code)) != chr(code))
    surrogates = set(range(0xD800, 0xE000))
    stable = set(range(1, LAST + 1)) - combining - changed - seconds() - unassigned - surrogates
    common = {
        code
        for first, last in ranges(stable, bridge=False)
        if last - first >= (24 if last <= 0xFFFF else 300)
        for code in range(first, last + 1)
    }
    return [
        *table_function(
            "_unicode_stable",
            common,
            "code points that NFC leaves as they are whatever stands beside them; not all, but the "
            "long ranges, so that the class stays small.",
            bridge=False,
        ),
        *table_function(
            "_unicode_unassigned",
            unassigned,
            "code points without a character, noncharacters among them.",
            bridge=False,
        ),
        *table_function(
            "_unicode_reordered", reordered, "code points that canonical ordering may move."
        ),
        *ordering_function(),
    ]


def case_step(codes: list[int]) -> list[str]:
    """Map the upper-case letters of one alphabet, when the text has something of its range."""
    lower = [chr(code).lower() for code in codes]
    return [
        f"    IF v_text ~ E'[{escape(codes[0])}-{escape(codes[-1])}]' THEN",
        "        v_text := translate(v_text,",
        *literal("", (escape(code) for code in codes), ",", indent=12),
        *literal("", (escape(ord(letter)) for letter in lower), ");", indent=12),
        "    END IF;",
    ]


def lower_part() -> list[str]:
    upper = pick(lambda code: code > 0x7F and code != 0x130 and chr(code).lower() != chr(code))
    for code in upper:
        letter = chr(code).lower()
        if len(letter) != 1 or letter.lower() != letter:
            raise SystemExit(f"U+{code:04X} needs a rule of its own")
    groups = {
        bounds: sorted(code for code in upper if bounds[0] <= code <= bounds[1])
        for bounds in ALPHABETS
    }
    if sum(map(len, groups.values())) != len(upper):
        raise SystemExit("ALPHABETS must hold each letter once")
    name = "mnemo._lower_wide"
    lines = [
        *table_function(
            "_unicode_upper",
            upper,
            "letters and signs above ASCII that have a lower case of one code point.",
            bridge=False,
        ),
        f"CREATE FUNCTION {name}(p_text text)",
        "RETURNS text",
        "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE",
        "SET search_path = pg_catalog, mnemo, pg_temp",
        "AS $fn$",
        "DECLARE",
        "    -- Collation C: a collation of the caller must not decide what a pattern matches.",
        '    v_whole text COLLATE "C" := lower(p_text COLLATE "C");',
        '    v_upper text COLLATE "C";',
        '    v_text text COLLATE "C";',
        "BEGIN",
        "    -- U+03A3 is final after a cased letter when none follows; marks do not count.",
        "    IF strpos(v_whole, E'\\u03A3') > 0 THEN",
        "        v_whole := regexp_replace(v_whole,",
        "            '([' || mnemo._unicode_cased() || '][' || mnemo._unicode_case_ignorable()",
        "            || E']*)\\u03A3([' || mnemo._unicode_case_ignorable() || ']*)($|[^'",
        "            || mnemo._unicode_cased() || mnemo._unicode_case_ignorable() || '])',",
        "            E'\\\\1\\u03C2\\\\2\\\\3', 'g');",
        "    END IF;",
        "    IF strpos(v_whole, E'\\u0130') > 0 THEN",
        "        v_whole := replace(v_whole, E'\\u0130', E'i\\u0307');",
        "    END IF;",
        "    v_upper := regexp_replace(v_whole, '[^' || mnemo._unicode_upper() || ']+', '', 'g');",
        "    IF v_upper = '' THEN",
        "        RETURN v_whole;",
        "    END IF;",
        "    -- translate() costs text times table. So the tables are applied to the upper-case",
        "    -- letters alone, each once, and the text gets only the pairs that it needs.",
        "    IF octet_length(v_upper) > 64 THEN",
        "        v_upper := (",
        "            SELECT string_agg(DISTINCT u.letter, '')",
        "              FROM unnest(string_to_array(v_upper, NULL)) AS u(letter)",
        "        );",
        "    END IF;",
        "    v_text := v_upper;",
    ]
    for bounds in ALPHABETS:
        lines += case_step(groups[bounds])
    return [
        *lines,
        "    IF octet_length(v_upper) < 500 THEN",
        "        RETURN translate(v_whole, v_upper, v_text);",
        "    END IF;",
        "    RETURN (",
        "        SELECT string_agg(coalesce(m.lower, t.letter), '' ORDER BY t.place)",
        "          FROM unnest(string_to_array(v_whole, NULL)) WITH ORDINALITY AS t(letter, place)",
        "          LEFT JOIN unnest(string_to_array(v_upper, NULL), string_to_array(v_text, NULL))",
        "            AS m(upper, lower) ON m.upper = t.letter",
        "    );",
        "END",
        "$fn$;",
        *comment(
            f"{name}(text)",
            "Lower case by the full mapping of Unicode 14.0, for text that is not ASCII; a final "
            "sigma is decided within each run of letters, numbers and marks. NULL gives NULL. "
            "Raises nothing. Source: Unicode 14.0.",
        ),
    ]


def render() -> dict[Path, str]:
    """The files by their paths."""
    heading = [
        "-- Generated by sql/unicode.py from Unicode 14.0: change the generator, not this file.",
        "",
    ]
    files = {}
    for file_name, lines in (
        ("100_unicode_words.sql", word_part()),
        ("101_unicode_normal.sql", normal_part()),
        ("102_unicode_lower.sql", lower_part()),
    ):
        text = "\n".join(heading + lines).rstrip("\n") + "\n"
        longest = max(map(len, text.splitlines()))
        if not text.isascii() or longest > 160 or text.count("\n") > 300:
            raise SystemExit(f"{file_name}: {longest} columns, {text.count(chr(10))} lines")
        files[PARTS / file_name] = text
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the Unicode tables of the text functions.")
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    if unicodedata.unidata_version != UNICODE_VERSION:
        found = unicodedata.unidata_version
        print(
            f"needs Unicode {UNICODE_VERSION} (Python 3.11), this Python has {found}",
            file=sys.stderr,
        )
        return 2
    stale = 0
    for path, text in render().items():
        current = path.read_bytes() if path.exists() else b""
        if check and current != text.encode("ascii"):
            print(f"{path.name} is not what sql/unicode.py writes: run it", file=sys.stderr)
            stale = 1
        elif not check:
            path.write_bytes(text.encode("ascii"))
    return stale


if __name__ == "__main__":
    sys.exit(main())
