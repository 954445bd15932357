"""The lookup keys of plans: whatever is similar enough shares a key, so that none is lost."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator

import psycopg
import pytest

from tests.support.server import Server

FLOOR = 0.6
SHORT = 32
LEXICON = [
    "".join(letters)
    for chooser in [random.Random(3)]
    for letters in [
        chooser.choices("abcdeghiéß", k=chooser.choice((3, 4, 4, 5, 5, 6, 9))) for _ in range(900)
    ]
]
LEXICON = sorted(set(LEXICON))

# What recall does with a query and a plan, for one audience.
HELPERS = """
CREATE FUNCTION plan_keys(p_signature text[]) RETURNS bigint[] IMMUTABLE
RETURN mnemo._plan_keys(mnemo._ordered_hashes(p_signature), 42);
CREATE FUNCTION probe_keys(p_signature text[], p_threshold double precision)
RETURNS bigint[] IMMUTABLE
BEGIN ATOMIC
SELECT array_agg(k.key # 42::bigint)
  FROM unnest(mnemo._probe_keys(mnemo._ordered_hashes(p_signature), p_threshold)) AS k(key);
END;
CREATE FUNCTION may_reach(p_query text[], p_plan text[], p_threshold double precision)
RETURNS boolean IMMUTABLE
RETURN mnemo._may_reach(
    mnemo._sketch(
        mnemo._ordered_hashes(p_plan), mnemo._sketch_bits(cardinality(p_plan))),
    cardinality(p_plan),
    mnemo._sketch(mnemo._ordered_hashes(p_query), mnemo._sketch_bits(1)),
    mnemo._sketch(mnemo._ordered_hashes(p_query), mnemo._sketch_bits(33)),
    cardinality(p_query),
    (p_threshold - 1e-9) / (1 + p_threshold - 1e-9)
);
"""

Pair = tuple[list[str], list[str], float]


@pytest.fixture(scope="module")
def conn(server: Server, template: str) -> Iterator[psycopg.Connection]:
    """A database for these tests, which only call pure functions."""
    name = "plan_keys"
    with psycopg.connect(server.create_database(name, template), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE pair (number bigint, a text[], b text[], threshold double precision)"
        )
        connection.execute(HELPERS)
        yield connection
    server.drop_database(name)


def load(conn: psycopg.Connection, pairs: Iterable[Pair]) -> int:
    """Put pairs of signatures with the threshold to find them at into the table `pair`."""
    conn.execute("TRUNCATE pair")
    count = 0
    with conn.cursor() as cursor, cursor.copy("COPY pair FROM STDIN") as copy:
        for count, pair in enumerate(pairs, start=1):
            copy.write_row((count, *pair))
    return count


def make_pair(chooser: random.Random, a: int, b: int, shared: int) -> tuple[list[str], list[str]]:
    """Two signatures of these sizes with so many tokens in common."""
    drawn = chooser.sample(LEXICON, a + b - shared)
    return sorted(drawn[:a]), sorted(drawn[a - shared :])


def every_shape(seed: int, most: int, least: float, below: float, copies: int) -> Iterator[Pair]:
    """For all sizes up to `most` and every overlap: pairs whose similarity is the threshold."""
    chooser = random.Random(seed)
    for a in range(1, most + 1):
        for b in range(1, most + 1):
            for shared in range(1, min(a, b) + 1):
                similarity = shared / (a + b - shared)
                if least <= similarity < below:
                    for _ in range(copies):
                        yield (*make_pair(chooser, a, b, shared), similarity)


def random_pairs(seed: int, count: int, least: float, most: int) -> Iterator[Pair]:
    """Pairs of any size and a threshold from `least` to their similarity, often the ends."""
    chooser = random.Random(seed)
    while count:
        a = chooser.randint(1, most)
        b = max(1, min(most, round(a * chooser.uniform(0.3, 1 / 0.3))))
        shared = chooser.randint(1, min(a, b))
        similarity = shared / (a + b - shared)
        if similarity < least:
            continue
        count -= 1
        threshold = chooser.choice((
            similarity, least, FLOOR if similarity >= FLOOR > least else similarity,
            max(least, math.nextafter(similarity, 0)), chooser.uniform(least, similarity),
        ))  # fmt: skip
        yield (*make_pair(chooser, a, b, shared), threshold)


def lost(conn: psycopg.Connection) -> list[tuple[object, ...]]:
    """The pairs in the table that share no key."""
    return conn.execute(
        "SELECT p.threshold, cardinality(p.a), cardinality(p.b), p.a, p.b FROM pair AS p"
        " WHERE NOT probe_keys(p.a, p.threshold) && plan_keys(p.b)"
        " ORDER BY p.number LIMIT 3"
    ).fetchall()


def test_token_keys_lose_no_pair_at_its_own_ratio(conn: psycopg.Connection) -> None:
    """All sizes up to 34 and every overlap from the floor on, the threshold the very ratio."""
    assert load(conn, every_shape(seed=1, most=34, least=FLOOR, below=2, copies=5)) > 8_000
    assert lost(conn) == []


def test_token_keys_lose_no_random_pair(conn: psycopg.Connection) -> None:
    """Sizes 1 to 60, thresholds between the floor, 0.6 itself included, and the similarity."""
    assert load(conn, random_pairs(seed=2, count=6_000, least=FLOOR, most=60)) == 6_000
    assert lost(conn) == []


def test_near_the_floor_both_kinds_of_keys_meet(conn: psycopg.Connection) -> None:
    """Three of five at 0.6, just above it and just below it, whatever the tokens."""
    chooser = random.Random(4)
    pairs = [
        (*make_pair(chooser, a, b, shared), threshold)
        for a, b, shared in ((3, 5, 3), (5, 3, 3), (4, 4, 3), (8, 8, 6), (12, 20, 12), (32, 32, 24))
        for threshold in (math.nextafter(FLOOR, 0), FLOOR, math.nextafter(FLOOR, 1))
        for _ in range(60)
        if shared / (a + b - shared) >= threshold
    ]
    assert load(conn, pairs) > 700
    assert lost(conn) == []


def test_below_the_floor_the_size_bucket_meets(conn: psycopg.Connection) -> None:
    """Thresholds from 0.3 to the floor: all sizes up to 20, and random ones up to 60."""
    assert load(conn, every_shape(seed=5, most=20, least=0.3, below=FLOOR, copies=2)) > 1_000
    assert lost(conn) == []
    load(conn, random_pairs(seed=6, count=1_500, least=0.3, most=60))
    assert lost(conn) == []


def test_long_signatures_meet_by_their_size_bucket(conn: psycopg.Connection) -> None:
    """From 33 tokens on, against each other and against short ones, at any threshold."""
    chooser = random.Random(7)
    pairs: list[Pair] = []
    for _ in range(600):
        b = chooser.choice((33, 34, 40, 48, 63, 64, 65, 127, 128, 129, 200, 256, 300))
        a = max(1, min(400, round(b * chooser.uniform(0.3, 3))))
        shared = chooser.randint(max(1, min(a, b) // 2), min(a, b))
        similarity = shared / (a + b - shared)
        if similarity >= 0.3:
            pairs.append((*make_pair(chooser, a, b, shared), similarity))
    assert load(conn, pairs) > 200
    assert lost(conn) == []


def test_parts_lose_no_pair(conn: psycopg.Connection) -> None:
    """From 33 to 127 tokens: every overlap of many sizes, the threshold the very ratio."""
    chooser = random.Random(21)
    pairs: list[Pair] = []
    for b in (33, 34, 38, 39, 45, 46, 53, 54, 63, 64, 76, 77, 90, 91, 107, 108, 126, 127):
        for a in sorted({max(1, round(b * ratio)) for ratio in (0.6, 0.7, 0.85, 1, 1.2, 1.4, 1.6)}):
            for shared in range(min(a, b), 0, -1):
                similarity = shared / (a + b - shared)
                if similarity < FLOOR:
                    break
                pairs += [(*make_pair(chooser, a, b, shared), similarity) for _ in "123"]
    assert load(conn, pairs) > 2_500
    assert lost(conn) == []
    load(conn, random_pairs(seed=22, count=2_500, least=FLOOR, most=160))
    assert lost(conn) == []


def test_parts_select(conn: psycopg.Connection) -> None:
    """Strangers of one size meet by an empty part or a common word at most now and then."""
    chooser = random.Random(23)
    load(
        conn, [(*make_pair(chooser, size, size, 0), 0.7) for size in range(33, 128) for _ in "123"]
    )
    row = conn.execute(
        "SELECT count(*) FROM pair AS p WHERE probe_keys(p.a, p.threshold) && plan_keys(p.b)"
    ).fetchone()
    assert row is not None
    assert row[0] < 30


def test_the_largest_signatures_meet(conn: psycopg.Connection) -> None:
    """Up to the limit of 20,000 tokens, at the least size that the threshold admits."""
    names = [f"token{number:05d}" for number in range(20_000)]
    pairs: list[Pair] = [
        (names[:a], names[:b], min(a, b) / max(a, b))
        for a, b in ((20_000, 20_000), (20_000, 6_800), (6_800, 20_000), (19_999, 14_000))
    ]
    load(conn, pairs)
    assert lost(conn) == []


def test_sketches_never_reject_what_reaches_the_threshold(conn: psycopg.Connection) -> None:
    """_may_reach is true for every pair whose similarity is at least the threshold."""
    pairs = [
        *every_shape(seed=8, most=20, least=0.3, below=2, copies=3),
        *random_pairs(seed=9, count=1_500, least=0.3, most=60),
        *random_pairs(seed=10, count=150, least=0.3, most=300),
    ]
    assert load(conn, pairs) > 5_000
    rejected = conn.execute(
        "SELECT p.threshold, p.a, p.b FROM pair AS p"
        " WHERE NOT may_reach(p.a, p.b, p.threshold) LIMIT 3"
    ).fetchall()
    assert rejected == []


def test_sketches_reject_most_of_what_does_not(conn: psycopg.Connection) -> None:
    """The test before scoring earns its cost: few strangers of one size pass at 0.7."""
    chooser = random.Random(11)
    load(conn, [(*make_pair(chooser, 8, 8, 2), 0.7) for _ in range(500)])
    row = conn.execute(
        "SELECT count(*) FROM pair AS p WHERE may_reach(p.a, p.b, p.threshold)"
    ).fetchone()
    assert row is not None
    assert row[0] < 25


def test_strangers_share_few_keys(conn: psycopg.Connection) -> None:
    """Token keys select: signatures with nothing in common share none of them."""
    chooser = random.Random(12)
    load(conn, [(*make_pair(chooser, size, size, 0), 0.7) for size in range(1, 33) for _ in "1234"])
    row = conn.execute(
        "SELECT count(*) FROM pair AS p WHERE probe_keys(p.a, p.threshold) && plan_keys(p.b)"
    ).fetchone()
    assert row == (0,)


def test_size_buckets_grow_with_the_size(conn: psycopg.Connection) -> None:
    """_signature_bucket never falls, from 1 to the limit of 20,000 tokens."""
    rows = conn.execute(
        "SELECT s, mnemo._signature_bucket(s) FROM generate_series(1, 20000) AS s ORDER BY s"
    ).fetchall()
    buckets = [bucket for _, bucket in rows]
    assert buckets == sorted(buckets)
    # A probe below the floor or above 32 tokens walks few of them.
    assert len(set(buckets)) < 200


def test_no_size_bucket_straddles_two_modes(conn: psycopg.Connection) -> None:
    """All sizes of a bucket use the same kind of keys: single tokens, pairs, or none."""
    rows = conn.execute(
        "SELECT mnemo._signature_bucket(s), min(s), max(s)"
        "  FROM generate_series(1, 20000) AS s GROUP BY 1"
    ).fetchall()
    straddling = [row for row in rows for edge in (2, SHORT) if row[1] <= edge < row[2]]
    assert straddling == []


def test_a_plan_has_few_keys(conn: psycopg.Connection) -> None:
    """Pairs of the prefix up to 32 tokens, half the size in parts up to 127, then none."""
    counts = dict(
        conn.execute(
            "SELECT s, cardinality(plan_keys(("
            "           SELECT array_agg('token' || i) FROM generate_series(1, s) AS i)))"
            "  FROM unnest(ARRAY[1, 2, 3, 8, 16, 32, 33, 127, 300, 20000]) AS s"
        ).fetchall()
    )
    assert counts[300] == counts[20_000] == 1
    assert counts[1] == 2
    assert counts[33] == 21
    assert counts[127] == 65
    assert max(counts.values()) <= 100


def test_keys_do_not_depend_on_the_order_of_the_array(conn: psycopg.Connection) -> None:
    """A signature is a set: the keys follow from its tokens."""
    chooser = random.Random(13)
    forward = sorted(chooser.sample(LEXICON, 12))
    row = conn.execute(
        "SELECT ARRAY(SELECT unnest(plan_keys(%(a)s)) ORDER BY 1)"
        "     = ARRAY(SELECT unnest(plan_keys(%(b)s)) ORDER BY 1)",
        {"a": forward, "b": forward[::-1]},
    ).fetchone()
    assert row == (True,)
