"""A spot check: the same answers as a scan over every plan, made from the payloads."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection

from mnemo_pg import Mnemo
from tests.bench.ways import THRESHOLD, Prepared
from tests.bench.workloads import Question

# No index, no keys, no bounds: who may see a plan, two sets, the order of the specification.
SCAN: LiteralString = """
    SELECT p.id, s.shared::double precision
               / (cardinality(p.tokens) + cardinality(%(tokens)s::text[]) - s.shared) AS similarity
      FROM bench.plan AS p
      CROSS JOIN LATERAL (
        SELECT count(*) AS shared
          FROM unnest(p.tokens) AS t(token)
         WHERE t.token = ANY (%(tokens)s::text[])
      ) AS s
     WHERE p.scope = 'global'
        OR p.org_id = %(org_id)s
           AND (p.scope = 'public' OR p.agent_id = %(agent_id)s
                OR p.scope = 'shared' AND EXISTS (
                    SELECT FROM mnemo.acl AS a
                     WHERE a.org_id = p.org_id AND a.memory_id = p.id
                       AND a.agent_id = %(agent_id)s))
     ORDER BY similarity DESC, p.org_id = '*', p.outcome_score DESC, p.created_at DESC, p.id DESC
     LIMIT 1
"""


def check_answers(
    conn: Connection[Any], questions: Sequence[Question], *, count: int, seconds: float
) -> dict[str, Any]:
    """Compare up to `count` answers, for so many seconds at most. Without the guard.

    Returns how many were checked, how many were hits, and the questions that differ.
    """
    mnemo, recall = Mnemo(conn), Prepared(conn, "off")
    end = time.perf_counter() + seconds
    checked = hits = 0
    differing: list[dict[str, Any]] = []
    # In a random order, so that every kind has its share of the time.
    for question in random.Random(0).sample(list(questions), min(count, len(questions))):
        hit, plan_id, *_, similarity = recall.row(question)[:8]
        values = {
            "tokens": list(mnemo.signature_tokens(question.text)),
            "org_id": question.org_id,
            "agent_id": question.agent_id,
        }
        # Planned for these values, with a hash of the tokens.
        found = conn.execute(SCAN, values, prepare=False).fetchone()
        expected = found if found is not None and found[1] >= THRESHOLD else (None, None)
        checked += 1
        hits += hit
        if (plan_id, similarity) != expected:
            differing.append({
                "question": question.text, "agent_id": question.agent_id,
                "org_id": question.org_id, "recalled": [str(plan_id), similarity],
                "scanned": [str(expected[0]), expected[1]],
            })  # fmt: skip
        if time.perf_counter() > end:
            break
    return {"checked": checked, "hits": hits, "differing": differing}
