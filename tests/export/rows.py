"""Rows of every table and sort for an export, with values at the edges of their types."""

from __future__ import annotations

import json
import random
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg

from tests.support.calls import row, rows, scalar

# Every plane, every direction, combining, unassigned, private, controls, what JSON must escape.
RANGES = (
    (0x01, 0x7F), (0x80, 0x2FF), (0x300, 0x36F), (0x590, 0x6FF), (0x900, 0xDFF), (0x1100, 0x11FF),
    (0x2000, 0x206F), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xE000, 0xF8FF), (0xFDD0, 0xFDEF),
    (0xFFF0, 0xFFFF), (0x10000, 0x100FF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF),
    (0xE0000, 0xE0FFF), (0x10FF00, 0x10FFFF),
)  # fmt: skip
FRACTIONS = (0.0, -0.0, 5e-324, 2.2250738585072014e-308, 0.1, 1 / 3, 0.9999999999999999, 1.0)
NUMBERS = ("-0", "0.0", "1.10", "1e-300", "1e308", "-1.7976931348623157e308", "5e-324", "1e400",
           "123456789012345678901234567890.123456789", "9007199254740993")  # fmt: skip
TIMES = ("0001-01-01 00:00:00+00", "1582-10-04 23:59:59.999999+00", "1969-12-31 23:59:59.999999+00",
         "1970-01-01 00:00:00.000001+00", "2026-03-29 01:00:00.5+00", "2038-01-19 03:14:08+00",
         "9999-12-31 23:59:59.999999+00", "4713-01-01 00:00:00+00 BC")  # fmt: skip


def text(dice: random.Random, longest: int = 40) -> str:
    """Characters from all over Unicode, with one that is not blank."""
    points = [dice.randint(*dice.choice(RANGES)) for _ in range(dice.randint(1, longest))]
    return "x" + "".join(map(chr, points))


def number(dice: random.Random) -> str:
    """A number as JSON spells it."""
    return dice.choice((*NUMBERS, str(dice.randint(-(2**70), 2**70)), repr(dice.random())))


def value(dice: random.Random, depth: int) -> str:
    """A JSON value, nested as deep as that, as text: Python would change its numbers."""
    if depth == 0 or dice.random() < 0.3:
        return dice.choice((number(dice), json.dumps(text(dice)), "true", "null", "[]", "{}", '""'))
    items = [value(dice, depth - 1) for _ in range(dice.randint(0, 3))]
    if dice.random() < 0.5:
        return f"[{', '.join(items)}]"
    return f"{{{', '.join(f'{json.dumps(text(dice))}: {item}' for item in items)}}}"


def metadata(dice: random.Random) -> str:
    """An object, now and then one at the limit of nesting."""
    if dice.random() < 0.1:
        return '{"a":' * 99 + number(dice) + "}" * 99
    return f'{{"a": {value(dice, 4)}, "n": {number(dice)}}}'


def sql(conn: psycopg.Connection[Any], statement: str, *given: Any) -> None:
    """Run a statement of a test."""
    conn.execute(cast(LiteralString, statement), given or None)


def fill(conn: psycopg.Connection[Any], dice: random.Random, number_of_records: int) -> None:
    """Records, plans, grants, delegations, events, notes, heads, keys, settings, roles' levels."""
    orgs, agents = ("default", "acme", "acme-corp"), ("default", "a", "b@c/d")
    # Functions refuse what only an upgrade or an operator could have left; so those come by UPDATE.
    records: list[tuple[str, UUID]] = []
    for index in range(number_of_records):
        moment = f"{dice.randint(1900, 2100)}-02-03 04:05:06.{dice.randint(1, 10**6 - 1)}"
        org, agent = dice.choice(orgs), dice.choice(agents)
        who = {
            "org_id": org,
            "agent_id": agent,
            "idempotency_key": text(dice) if index % 3 else None,
        }
        scope = dice.choice(("private", "shared", "public", "global"))
        if index % 3:
            made = row(
                conn, "remember", content=text(dice, 200), scope=scope, metadata=None,
                importance=dice.choice(FRACTIONS), confidence=dice.choice((None, *FRACTIONS)),
                tags=[text(dice) for _ in range(dice.randint(0, 3))], source_id=text(dice),
                entities=[text(dice) for _ in range(dice.randint(0, 2))], location=text(dice),
                subject=text(dice), predicate="likes " + text(dice), thread_id=text(dice),
                kind=dice.choice((None, "routine", "project")), aliases=[text(dice)],
                ttl=dice.choice((None, f"{index + 1} days")),
                valid_from=moment,
                temporal_scope=dice.choice(("persistent", "scheduled")),
                **who,
            )  # fmt: skip
        else:
            made = row(
                conn, "remember_plan", query=f"How do I reset {index % 7} {text(dice)}?",
                steps=[text(dice) for _ in range(3)], chunk_ids=[text(dice)],
                outcome_score=dice.choice((0.5, 0.75, 1.0, 2 / 3)), scope=scope,
                context=text(dice) if index % 2 else None, **who,
            )  # fmt: skip
        records.append(("*" if scope == "global" else org, made["id"]))
        if scope in ("private", "shared", "public"):
            rows(conn, "share", id=made["id"], to_agents=["x", "y"],
                 permission=dice.choice(("read", "write")),
                 agent_id=agent, org_id=org, ttl=None if index % 2 else "1 day")  # fmt: skip
    for index, (org, id) in enumerate(records):
        change(conn, dice, org, id, index)
    vectors(conn, dice, records)
    others(conn, dice, records)


def change(
    conn: psycopg.Connection[Any], dice: random.Random, org: str, id: UUID, index: int
) -> None:
    """States that records come into later, and hashes that go with them."""
    where = "WHERE org_id = %s AND id = %s"
    sql(
        conn,
        "UPDATE mnemo.memory SET metadata = metadata || %s::jsonb, access_count = %s,"
        f" last_accessed_at = %s, valid_to = %s, created_at = %s, created_by = %s {where}",
        metadata(dice), dice.choice((0, 1, 2**63 - 1)), dice.choice(TIMES),
        dice.choice((None, *TIMES)), dice.choice(TIMES), text(dice), org, id,
    )  # fmt: skip
    states: dict[int, str] = {
        0: "deleted_at = now(), consolidation_state = 'forgotten'",
        1: "quarantined = true, quarantine_reason = 'because ' || id",
        2: "version = 7, prev_version_id = id, status = 'superseded'",
        3: "consolidation_state = 'archived'",
    }
    if index % 9 in states:
        sql(conn, f"UPDATE mnemo.memory SET {states[index % 9]} {where}", org, id)
    sql(conn, "UPDATE mnemo.memory AS m SET content_hash = mnemo._content_hash(m)"
        " WHERE m.org_id = %s AND m.id = %s", org, id)  # fmt: skip
    if index % 9 == 4:
        sql(conn, "UPDATE mnemo.memory SET redacted_at = now(), deleted_at = now(), content = NULL,"
            " nonce = NULL, metadata = '{}', tags = tags[:0], source_id = NULL, thread_id = NULL,"
            " created_by = NULL, quarantine_reason = NULL, subject = NULL, predicate = NULL,"
            f" entities = '{{}}', aliases = '{{}}', location = NULL {where}", org, id)  # fmt: skip


def vectors(
    conn: psycopg.Connection[Any], dice: random.Random, records: list[tuple[str, UUID]]
) -> None:
    """Embeddings of two models, at the edges of single precision; none without pgvector."""
    if not scalar(conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        return
    sql(conn, "CREATE SCHEMA types; CREATE EXTENSION vector SCHEMA types")
    models = (("of three", 3, "l2"), ("\u00fcbung", 2500, "cosine"))
    for name, dimensions, distance in models:
        rows(conn, "enable_vectors", model=name, dimensions=dimensions, distance=distance)
    for org, id in records:
        for name, dimensions, _ in models:
            if dice.random() < 0.5:
                numbers = [dice.choice((-1.5, 1e-30, 1 / 3, 65504.0, 1.1754944e-38))
                           for _ in range(dimensions - 1)]  # fmt: skip
                sql(conn, "SELECT mnemo._store_embedding(%s, %s, m.org_id, m.id,"
                    " m.tags @> ARRAY['__experience_plan__']) FROM mnemo.memory AS m"
                    " WHERE m.org_id = %s AND m.id = %s",
                    str([1.0, *numbers]), name, org, id)  # fmt: skip
    sql(conn, "UPDATE mnemo.vector_model SET created_at = %s WHERE name = 'of three'", TIMES[3])


def others(
    conn: psycopg.Connection[Any], dice: random.Random, records: list[tuple[str, UUID]]
) -> None:
    """The tables that no call above fills."""
    # Terms are as the words of a deletion and of changed records make them.
    sql(conn, "SELECT mnemo._unindex_terms(m.org_id, ARRAY[m.id]) FROM mnemo.memory AS m"
        " WHERE m.deleted_at IS NOT NULL")  # fmt: skip
    sql(conn, "DELETE FROM mnemo.plan_signature AS s WHERE EXISTS (SELECT FROM mnemo.memory AS m"
        " WHERE m.org_id = s.org_id AND m.id = s.plan_id AND (m.deleted_at IS NOT NULL"
        " OR m.quarantined OR m.consolidation_state = 'archived'))")  # fmt: skip
    sql(conn, "UPDATE mnemo.plan_signature AS s SET created_at = m.created_at"
        " FROM mnemo.memory AS m WHERE m.org_id = s.org_id AND m.id = s.plan_id")  # fmt: skip
    sql(conn, "DELETE FROM mnemo.plan_identity")
    sql(conn, "SELECT mnemo._join_identities(ARRAY(SELECT m FROM mnemo.memory AS m"
        " WHERE m.tags @> ARRAY['__experience_plan__'] AND m.deleted_at IS NULL))")  # fmt: skip
    for name, pattern, weight, sources, enabled, org in (
        ("gold", " gold \u00fc ", 0.1 + 0.2, ["agent", "plan"], True, None),
        ("gold", " silver ", 1, ["import"], False, "acme"),
        ("burst", None, None, None, False, "acme"),
    ):  # fmt: skip
        rows(conn, "set_poisoning_rule", name=name, pattern=pattern, weight=weight,
             applies_to=sources, enabled=enabled, org_id=org)  # fmt: skip
    for index in range(9):
        sql(
            conn,
            "INSERT INTO mnemo.delegation SELECT g.org, mnemo._new_id(), g.one, g.other,"
            " g.permission, %s, g.tag, (SELECT max(d.id::text)::uuid FROM mnemo.delegation AS d"
            " WHERE d.org_id = g.org), %s, %s, %s, %s, (SELECT min(d.id::text)::uuid"
            " FROM mnemo.delegation AS d WHERE d.org_id = g.org), g.one, ARRAY[g.tag, 'also']"
            " FROM (VALUES ('acme', 'a', 'b', 'read', %s::text), ('default', 'b', 'a', 'share',"
            " NULL)) AS g(org, one, other, permission, tag)",
            [id for _, id in records[index : index + 2]] if index % 2 else None,
            index, dice.choice(TIMES), dice.choice((None, *TIMES)), dice.choice((None, *TIMES)),
            None if index % 2 else text(dice),
        )  # fmt: skip
    sql(conn, "INSERT INTO mnemo.event_note SELECT e.org_id, e.id, sha256(e.id::text::bytea), %s"
        " || e.id FROM mnemo.event AS e WHERE e.id::text ~ '[0-4]$'", text(dice, 300))  # fmt: skip
    sql(conn, "UPDATE mnemo.event SET note_hash = sha256(id::text::bytea), changes = changes || %s",
        f'{{"n": {number(dice)}}}')  # fmt: skip
    for org in ("acme", "default"):
        sql(conn, "INSERT INTO mnemo.chunk_state SELECT %s, g.source, g.id, g.n,"
            " g.moment::timestamptz FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[])"
            " AS g(source, id, n, moment)",
            org, ["", *(text(dice) for _ in TIMES[1:])], [text(dice) for _ in TIMES],
            [2**63 - 1, *range(1, len(TIMES))], list(TIMES))  # fmt: skip
    sql(conn, "INSERT INTO mnemo.plan_check SELECT s.org_id, s.plan_id, s.created_at,"
        " CASE WHEN s.size > 2 THEN ARRAY[NULL, s.size, 0]::bigint[] END"
        " FROM mnemo.plan_signature AS s WHERE s.grantee_agent_id IS NULL")  # fmt: skip
    sql(conn, "INSERT INTO mnemo.recall_log SELECT o.org, mnemo._new_id(), r.agent, r.moment,"
        " r.reason, mnemo._new_id(), r.one, r.other FROM (VALUES ('acme'), ('default')) AS o(org),"
        " (VALUES ('exact', 'x', 0.1::float8 + 0.2, 5e-324, %s::timestamptz),"
        " ('stale', 'y', 1, 0, %s)) AS r(reason, agent, one, other, moment)",
        *TIMES[:2])  # fmt: skip
    sql(conn, "INSERT INTO mnemo.plan_report SELECT m.org_id, m.id, mnemo._new_id(),"
        " m.origin_org_id, r.agent, r.success, r.score, r.moment, r.counts, true"
        " FROM mnemo.memory AS m CROSS JOIN (VALUES ('x', true, 1.0, %s::timestamptz, false),"
        " ('x', false, 5e-324, %s, true), ('y', true, 0.1 + 0.2, %s, true))"
        " AS r(agent, success, score, moment, counts)"
        " WHERE m.tags @> ARRAY['__experience_plan__'] AND m.redacted_at IS NULL",
        *TIMES[:3])  # fmt: skip
    sql(conn, "SELECT mnemo._refold_plan(m.org_id, m.id) FROM mnemo.memory AS m"
        " WHERE m.tags @> ARRAY['__experience_plan__']")  # fmt: skip
    if not scalar(conn, "SELECT count(*) FROM mnemo.chain_head"):
        sql(conn, "UPDATE mnemo.event AS e SET seq = s.n, prev_hash = sha256(s.n::text::bytea),"
            " hash = sha256((s.n + 1)::text::bytea) FROM (SELECT org_id, id, row_number() OVER"
            " (PARTITION BY org_id, agent_id ORDER BY id) AS n FROM mnemo.event) AS s"
            " WHERE s.org_id = e.org_id AND s.id = e.id AND e.agent_id <> 'a'")  # fmt: skip
        sql(conn, "INSERT INTO mnemo.chain_head (org_id, agent_id, seq, hash, anchor_seq,"
            " anchor_hash, sealed_at) SELECT DISTINCT ON (org_id, agent_id) org_id, agent_id, seq,"
            " hash, 1, prev_hash, happened_at FROM mnemo.event WHERE seq IS NOT NULL"
            " ORDER BY org_id, agent_id, seq DESC")  # fmt: skip
    for name, given, org in (("guard", "meaning", "acme"), ("success_threshold", "0.5", None)):
        rows(conn, "configure", name=name, value=given, org_id=org)
