"""What a memory and a plan take on disk, by table and index: `python -m tests.bench.sizes`."""

from __future__ import annotations

import argparse
import random
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.support.installs import install
from tests.support.server import Server

WORDS = """
    account invoice password reset email customer order ship refund policy contract meeting project
    deadline budget travel flight hotel window seat prefers likes works lives in with the for and of
    to about from report quarterly sales team manager engineer design review ticket bug release
    version server database table index query plan memory agent user
"""
SIZES = """
    SELECT c.relname, pg_relation_size(c.oid)
                      + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0)
      FROM pg_class AS c
     WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'i')
"""


def sizes(conn: psycopg.Connection[Any]) -> dict[str, int]:
    """Bytes by table and index, TOAST with its table."""
    conn.execute("VACUUM ANALYZE")
    return dict(conn.execute(SIZES).fetchall())


def main() -> int:
    """Write memories, then plans, and see what grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sizes", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    count = parser.parse_args().count
    dice = random.Random(1)

    def words(number: int) -> str:
        return " ".join(dice.choices(WORDS.split(), k=number))

    with Server() as server:
        server.create_database("sizes")
        install(server, "sizes", "psql")
        with server.connect("sizes") as conn:
            conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
            empty = sizes(conn)
            for number in range(count):
                conn.execute(
                    "SELECT mnemo.remember(%s, p_tags => %s, p_subject => %s, p_metadata => %s,"
                    " p_agent_id => %s)",
                    (words(20), [words(1), words(1)], words(2), Jsonb({"k": words(3)}),
                     f"a{number % 100}"),
                )  # fmt: skip
            memories = sizes(conn)
            for number in range(count):
                conn.execute(
                    "SELECT mnemo.remember_plan(%s, %s, %s, 0.9, p_agent_id => %s)",
                    (f"how do i {words(7)} {number}", [words(6) for _ in range(4)],
                     [f"kb-{dice.randrange(10**5)}" for _ in range(4)], f"a{number % 100}"),
                )  # fmt: skip
            plans = sizes(conn)
    print("| table or index | memory | plan |\n|---|---|---|")
    totals = [0.0, 0.0]
    for name in sorted(plans, key=lambda name: empty[name] - plans[name]):
        grown = (memories[name] - empty[name]) / count, (plans[name] - memories[name]) / count
        totals = [total + one for total, one in zip(totals, grown, strict=True)]
        if max(grown) >= 10:
            print(f"| `{name}` | {grown[0]:.0f} | {grown[1]:.0f} |")
    print(f"| all | {totals[0]:,.0f} | {totals[1]:,.0f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
