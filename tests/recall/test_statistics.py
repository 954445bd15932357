"""The statistics of the term index equal a recount, in every snapshot and whoever writes."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping

import psycopg

from tests.recall.world import AGENTS, sentence
from tests.support.calls import refused, row, rows, scalar, value

FREQUENCIES = """
SELECT s.org_id, s.term, sum(s.records)
  FROM (
    SELECT f.org_id, f.term, f.records FROM mnemo.term_frequency AS f
    UNION ALL
    SELECT c.org_id, u.term, u.count FROM mnemo.term_change AS c,
           unnest(c.terms, c.counts) AS u(term, count)
  ) AS s
 GROUP BY 1, 2 HAVING sum(s.records) <> 0
"""
TOTALS = """
SELECT s.org_id, sum(s.records), sum(s.length)
  FROM (
    SELECT t.org_id, t.records, t.length FROM mnemo.term_total AS t
    UNION ALL
    SELECT c.org_id, c.records, c.length FROM mnemo.term_change AS c
  ) AS s
 GROUP BY 1 HAVING sum(s.records) <> 0
"""


def differences(conn: psycopg.Connection) -> list[tuple[object, ...]]:
    """Where statistics and term vectors disagree, in one snapshot."""
    return conn.execute(
        f"""
        SELECT * FROM (
            ({FREQUENCIES}) EXCEPT ALL
            SELECT v.org_id, u.term, count(*)::numeric FROM mnemo.term_vector AS v,
                   unnest(v.terms) AS u(term) GROUP BY 1, 2
        ) AS more
        UNION ALL
        SELECT * FROM (
            ({TOTALS}) EXCEPT ALL
            SELECT v.org_id, count(*)::numeric, sum(v.length)::numeric FROM mnemo.term_vector AS v
             GROUP BY 1
        ) AS total(org_id, records, length)
        UNION ALL
        SELECT * FROM (
            SELECT v.org_id, u.term, count(*)::numeric FROM mnemo.term_vector AS v,
                   unnest(v.terms) AS u(term) GROUP BY 1, 2
            EXCEPT ALL ({FREQUENCIES})
        ) AS less
        """  # type: ignore[arg-type]
    ).fetchall()


def postings_out_of_step(conn: psycopg.Connection) -> list[tuple[object, ...]]:
    """Postings that no record and grant account for, and those that are missing."""
    return conn.execute(
        """
        WITH expected AS (
            SELECT v.org_id, a.audience # u.term AS key, u.weight, -v.length AS shortness,
                   v.memory_id
              FROM mnemo.term_vector AS v
              JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.memory_id
              CROSS JOIN LATERAL (
                SELECT CASE m.scope
                       WHEN 'global' THEN mnemo._audience('global', NULL, NULL, NULL)
                       WHEN 'public' THEN mnemo._audience('public', m.org_id, NULL, NULL)
                       ELSE mnemo._audience('owner', m.org_id, m.agent_id, NULL) END AS audience
                UNION
                SELECT mnemo._audience('grantee', g.org_id, g.agent_id, NULL) FROM mnemo.acl AS g
                 WHERE g.org_id = m.org_id AND g.memory_id = m.id AND m.scope = 'shared'
              ) AS a
              CROSS JOIN LATERAL unnest(v.terms, v.weights) AS u(term, weight)
        )
        (SELECT * FROM expected EXCEPT ALL SELECT * FROM mnemo.term_posting)
        UNION ALL
        (SELECT * FROM mnemo.term_posting EXCEPT ALL SELECT * FROM expected)
        """
    ).fetchall()


def test_after_every_kind_of_write(db: psycopg.Connection) -> None:
    """Hundreds of random writes, some rolled back; folding in changes nothing."""
    r = random.Random(5)
    known: list[Mapping[str, object]] = []
    for step in range(400):
        agent, org = r.choice(AGENTS), r.choice(("acme", "beta"))
        try:
            with db.transaction():
                action = r.random()
                if action < 0.6 or not known:
                    scope = r.choice(("private", "shared", "public", "global"))
                    made = row(db, "remember", content=sentence(r), agent_id=agent, org_id=org,
                               scope=scope)  # fmt: skip
                    who = {"id": made["id"], "agent_id": agent, "org_id": org}
                    if r.random() < 0.2:
                        raise InterruptedError
                    known.append(who)
                elif action < 0.75:
                    who = r.choice(known)
                    rows(db, "share", to_agents=["carol", "dan"], **who)
                elif action < 0.85:
                    who = r.choice(known)
                    rows(db, "unshare", from_agents=["dan"], **who)
                else:
                    who = known.pop(r.randrange(len(known)))
                    rows(db, "forget", ids=[who["id"]], agent_id=who["agent_id"],
                         org_id=who["org_id"])  # fmt: skip
        except (InterruptedError, psycopg.Error):
            pass
        if step % 100 == 99:
            assert differences(db) == []
            assert postings_out_of_step(db) == []
    assert scalar(db, "SELECT count(*) FROM mnemo.term_change WHERE org_id = 'acme'") < 64
    for org in ("acme", "beta", "*"):
        value(db, "_compact_terms", org_id=org)
    assert scalar(db, "SELECT count(*) FROM mnemo.term_change") == 0
    assert differences(db) == []
    with refused("MN001"):
        rows(db, "forget", ids=["00000000-0000-7000-8000-000000000000"])


def test_right_while_many_write(dsn: str, db: psycopg.Connection) -> None:
    """Eight writers on four agents, none waiting for another: every snapshot adds up."""
    errors: list[BaseException] = []
    done = threading.Event()

    def write(seed: int) -> None:
        r = random.Random(seed)
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                mine = []
                for _ in range(60):
                    agent = AGENTS[seed % 4]
                    mine.append(row(conn, "remember", content=sentence(r), agent_id=agent)["id"])
                    if len(mine) > 5 and r.random() < 0.3:
                        gone = [mine.pop(0), mine.pop()]
                        rows(conn, "forget", ids=gone, agent_id=agent)
        except BaseException as error:
            errors.append(error)

    def watch() -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                while not done.is_set():
                    assert differences(conn) == []
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(8)]
    watcher = threading.Thread(target=watch)
    watcher.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    watcher.join()
    assert errors == []
    assert differences(db) == []
    assert postings_out_of_step(db) == []


def test_a_long_transaction_blocks_no_writer(dsn: str, db: psycopg.Connection) -> None:
    """It holds what it folded in; others go on, and are right before and after it ends."""
    for _ in range(5):
        row(db, "remember", content="coffee tea")
    with psycopg.connect(dsn) as long:
        assert value(long, "_compact_terms", org_id="default") == 5
        row(long, "remember", content="coffee and more")
        db.execute("SET statement_timeout = '20s'")
        for _ in range(80):
            row(db, "remember", content="coffee tea")
        assert value(db, "_compact_terms", org_id="default") == 0
        assert differences(db) == []
        assert differences(long) == []
        long.commit()
    assert differences(db) == []
    assert value(db, "_compact_terms", org_id="default") > 0
    assert differences(db) == []


def test_an_older_snapshot_still_adds_up(dsn: str, db: psycopg.Connection) -> None:
    """A repeatable read has the same scores while others write and fold in; it may write too."""
    for n in range(10):
        row(db, "remember", content=f"coffee number{n}")
    with psycopg.connect(dsn) as old:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        first = rows(old, "recall", query="coffee", strategy="lexical")
        for n in range(100):
            row(db, "remember", content=f"coffee again {n}")
        value(db, "_compact_terms", org_id="default")
        assert rows(old, "recall", query="coffee", strategy="lexical") == first
        row(old, "remember", content="coffee from the past")
        assert value(old, "_compact_terms", org_id="default") == 0
        old.commit()
    assert differences(db) == []
