"""After redaction and removal: no word of it anywhere, and no hash that would confirm a guess.

What is searched is found in the catalog, so that a new table or column is searched too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.forget.conftest import ERASING, count, forgotten, memory, plan, verified
from tests.support.calls import row, rows, scalar
from tests.support.server import Server

# Each stands in another column; no part of anything else.
WORDS = {
    "content": "quexolaran", "tag": "quexotagir", "metadata": "quexometal", "key": "quexokeyed",
    "source": "quexosourc", "thread": "quexothred", "creator": "quexocreat",
    "subject": "quexosubje", "predicate": "quexopredi", "entity": "quexoentit",
    "alias": "quexoalias", "location": "quexolocat", "idempotency": "quexoidemp",
    "note": "quexonoted", "query": "quexoquery", "step": "quexosteps", "chunk": "quexochunk",
    "detail": "quexodetai", "context": "quexoconte", "reason": "quexoreaso",
}  # fmt: skip
GUESSES = [*WORDS.values(), f"{WORDS['content']} {WORDS['note']}", f"{WORDS['query']} pay how to"]


def _fill(conn: psycopg.Connection) -> list[Any]:
    """Records whose words stand in every column that a caller fills, shared, read, indexed."""
    w = WORDS
    record = memory(
        conn, f"{w['content']} and so on", tags=[w["tag"], "subject:zoe"], subject=w["subject"],
        metadata={w["key"]: [w["metadata"]]}, source_id=w["source"], thread_id=w["thread"],
        created_by=w["creator"], predicate=w["predicate"], entities=[w["entity"], "zoe"],
        aliases=[w["alias"]], location=w["location"], idempotency_key=w["idempotency"],
        kind="preference", scope="shared",
    )  # fmt: skip
    made = plan(
        conn, f"how to pay {w['query']}", tags=[w["tag"], "subject:zoe"], steps=[w["step"]],
        chunk_ids=[w["chunk"]], context=w["context"], thread_id=w["thread"], source_id=w["source"],
        idempotency_key=w["idempotency"] + "2", details=psycopg.types.json.Jsonb([w["detail"]]),
    )  # fmt: skip
    for one in (record, made):
        rows(conn, "share", id=one, to_agents=["ben"], agent_id="ana")
        rows(conn, "log_read", ids=[one], query=f"asked of {w['note']}", agent_id="ben")
    rows(conn, "record_plan_outcome", id=made, success=False, note=f"it said {w['note']}",
         agent_id="ben")  # fmt: skip
    with conn.transaction():
        conn.execute("CREATE TEMP TABLE b ON COMMIT DROP AS SELECT m AS was FROM mnemo.memory AS m"
                     " WHERE m.id = %s", [record])  # fmt: skip
        conn.execute("UPDATE mnemo.memory SET quarantined = true, quarantine_reason = %s"
                     " WHERE id = %s", [w["reason"], record])  # fmt: skip
        conn.execute("SELECT mnemo._write_event(m, 'memory_quarantined', 'default', 'ana',"
                     " mnemo._bound_changes(b.was, m)) FROM mnemo.memory AS m, b WHERE m.id = %s",
                     [record])  # fmt: skip
    return [record, made]


def _needles(conn: psycopg.Connection) -> dict[str, list[str]]:
    """The words, and what unsalted functions of the store make of them, as text and as hex."""
    hashes: list[str] = []
    for guess in GUESSES:
        number = scalar(conn, "SELECT mnemo._hash64(%s)", guess)
        hashes += [str(number), str(scalar(conn, "SELECT mnemo._hash64('context ' || %s)", guess)),
                   hashlib.sha256(guess.encode()).hexdigest()]  # fmt: skip
    return {"words": list(WORDS.values()), "hashes": hashes}


def _columns(conn: psycopg.Connection) -> Iterator[tuple[str, str]]:
    yield from conn.execute(
        "SELECT c.oid::regclass::text, quote_ident(a.attname) FROM pg_class AS c"
        "  JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'p', 'm')"
        "   AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2"
    ).fetchall()


def _found(conn: psycopg.Connection, needles: list[str]) -> set[tuple[str, str]]:
    """The columns of every table in which one of the needles stands, as text or as bytes."""
    conn.execute("SET bytea_output = 'hex'")
    found = set()
    for table, column in _columns(conn):
        # Bytes are searched for the words' own bytes too.
        query = (
            f"SELECT EXISTS (SELECT FROM {table} AS t, unnest(%s::text[]) AS n(needle)"
            f" WHERE strpos(lower(t.{column}::text), n.needle) > 0"
            f" OR strpos(lower(t.{column}::text), encode(n.needle::bytea, 'hex')) > 0)"
        )
        if scalar(conn, query, needles):
            found.add((table, column))
    return found


def _in_statistics(conn: psycopg.Connection, needles: list[str]) -> set[tuple[str, str]]:
    """The columns whose planner statistics, extended ones and those of indexes too, hold one."""
    values = " || ' ' || ".join(f"coalesce(s.stavalues{n}::text, '')" for n in range(1, 6))
    return set(
        conn.execute(
            f"SELECT s.starelid::regclass::text, a.attname FROM pg_statistic AS s"
            f" JOIN pg_attribute AS a ON a.attrelid = s.starelid AND a.attnum = s.staattnum,"
            f" unnest(%s::text[]) AS n(needle) WHERE strpos(lower({values}), n.needle) > 0",
            [needles],
        ).fetchall()
    ) | set(
        conn.execute(
            "SELECT 'pg_statistic_ext_data', d.stxoid::text FROM pg_statistic_ext_data AS d,"
            " unnest(%s::text[]) AS n(needle) WHERE strpos(lower(d::text), n.needle) > 0",
            [needles],
        ).fetchall()
    )


HOW: dict[str, Callable[[psycopg.Connection, list[Any]], object]] = {
    "redact": lambda conn, ids: forgotten(conn, ids=ids, strategy="redact"),
    "hard_delete": lambda conn, ids: forgotten(conn, ids=ids, strategy="hard_delete"),
    "soft first": lambda conn, ids: [
        forgotten(conn, ids=ids[1:]), forgotten(conn, ids=ids, strategy="redact")],
    "where": lambda conn, ids: forgotten(
        conn, "forget_where", criteria={"tags": [WORDS["tag"]]}, strategy="redact"),
    "subject": lambda conn, ids: rows(conn, "forget_subject", subject="Zoe"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_no_word_is_left_in_any_table(db: psycopg.Connection, how: str) -> None:
    """Nor in what the planner keeps: analysed before and not since."""
    # Others' records, so that columns have values worth a statistic.
    for n in range(30):
        memory(db, f"other {n}", tags=[f"t{n % 3}"], thread_id=f"th{n}", agent_id="dua",
               idempotency_key=f"k{n}", subject=f"s{n}")  # fmt: skip
        plan(db, f"how to go there {n}", context=f"c{n % 2}", agent_id="dua", steps=[f"s{n}"])
    ids = _fill(db)
    db.execute("ANALYZE")
    needles = _needles(db)
    # The search finds each word, or it would prove nothing.
    for name, word in WORDS.items():
        assert _found(db, [word]), name
    found_hashes = _found(db, needles["hashes"])
    assert {table for table, _ in found_hashes} >= {"mnemo.term_vector"}
    HOW[how](db, ids)
    assert _found(db, needles["words"]) == set()
    assert _found(db, needles["hashes"]) == set()
    assert _in_statistics(db, needles["words"]) == set()
    assert _in_statistics(db, needles["hashes"]) == set()
    for agent in ("ana", "ben"):
        for word in WORDS.values():
            assert rows(db, "recall", query=word, agent_id=agent) == []


def test_statistics_of_words_are_off(db: psycopg.Connection) -> None:
    """A column of text or bytes of unknown content, and what is made of them, has none at all."""
    kept = {
        # Names of agents, organisations and roles, labels, ids, salted or bound hashes, settings.
        "acl": {"org_id", "agent_id", "permission", "granted_by"},
        "chain_head": {"org_id", "agent_id", "hash", "anchor_hash"},
        "chunk_state": {"org_id"},
        "delegation": {"org_id", "from_agent_id", "to_agent_id", "permission", "memory_ids",
                       "root_agent_id"},
        "event": {"org_id", "agent_id", "event_type", "memory_org_id", "actor_org_id",
                  "actor_agent_id", "content_hash", "changes", "note_hash", "prev_hash", "hash"},
        "event_note": {"org_id"},
        "idempotency": {"org_id", "agent_id", "memory_org_id"},
        "memory": {"org_id", "origin_org_id", "agent_id", "scope", "memory_type", "source_type",
                   "consolidation_state", "kind", "status", "temporal_scope", "content_hash"},
        "plan_check": {"org_id", "memory_versions"},
        "plan_fare": {"org_id", "reporter_org_id"},
        "plan_identity": {"org_id"},
        "plan_report": {"org_id", "reporter_org_id", "reporter_agent_id"},
        "plan_signature": {"org_id", "grantee_agent_id"},
        "recall_log": {"org_id", "agent_id", "reason"},
        "role_binding": {"org_id", "role_name", "agent_id"},
        "role_level": {"role_name", "level"},
        "settings": {"org_id", "name", "value"},
        "term_change": {"org_id"}, "term_frequency": {"org_id"}, "term_posting": {"org_id"},
        "term_total": {"org_id"}, "term_vector": {"org_id"},
    }  # fmt: skip
    on = db.execute(
        "SELECT c.relname, a.attname FROM pg_class AS c"
        "  JOIN pg_attribute AS a ON a.attrelid = c.oid"
        "  JOIN pg_type AS t ON t.oid = a.atttypid"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0"
        "   AND NOT a.attisdropped AND coalesce(a.attstattarget, -1) <> 0"
        "   AND (t.typcategory IN ('S', 'A', 'V') OR t.typname IN ('bytea', 'jsonb', 'bit'))"
    ).fetchall()
    # Administrators write these, about no record.
    on = [one for one in on if one[0] not in ("poisoning_rule", "vector_model")]
    unknown = {(table, column) for table, column in on if column not in kept.get(table, set())}
    assert unknown == set()
    expressions = db.execute(
        "SELECT c.relname, a.attname FROM pg_class AS c"
        "  JOIN pg_attribute AS a ON a.attrelid = c.oid"
        "  JOIN pg_index AS i ON i.indexrelid = c.oid AND i.indexprs IS NOT NULL"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND i.indkey[a.attnum - 1] = 0"
        "   AND a.atttypid <> 'timestamptz'::regtype"
        "   AND coalesce(a.attstattarget, -1) <> 0"
    ).fetchall()
    assert expressions == []


@pytest.mark.parametrize("strategy", ERASING)
def test_hashes_confirm_no_guess(db: psycopg.Connection, strategy: str) -> None:
    """With the nonce one could hash a guess and compare; nobody has it any more."""
    record = memory(db, "yes")
    db.execute("CREATE TEMP TABLE kept AS SELECT m AS was FROM mnemo.memory AS m")
    nonce = scalar(db, "SELECT nonce FROM mnemo.memory")
    content_hash = scalar(db, "SELECT content_hash FROM mnemo.memory")
    assert scalar(db, "SELECT mnemo._content_hash(k.was) FROM kept AS k") == content_hash
    db.execute("ANALYZE mnemo.memory")
    forgotten(db, ids=[record], strategy=strategy)
    assert _found(db, [nonce.hex()]) == set()
    assert _in_statistics(db, [nonce.hex()]) == set()
    db.execute("UPDATE kept SET was.nonce = ''")
    assert scalar(db, "SELECT mnemo._content_hash(k.was) FROM kept AS k") != content_hash
    db.execute("DROP TABLE kept")


def test_nothing_is_left_in_the_files_after_a_rewrite(
    server: Server, db: psycopg.Connection, module_dsn: str
) -> None:
    """VACUUM FULL writes tables anew: the bytes that deletion leaves in pages go with the old."""

    def files() -> list[str]:
        db.execute("CHECKPOINT")
        number = scalar(db, "SELECT oid FROM pg_database WHERE datname = current_database()")
        content = [path.read_bytes() for path in (server.data / "base" / str(number)).iterdir()]
        return [word for word in WORDS.values() if any(word.encode() in one for one in content)]

    ids = _fill(db)
    assert len(files()) > 15
    forgotten(db, ids=ids, strategy="redact")
    for table in {table for table, _ in _columns(db)}:
        db.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(
            sql.Identifier(*table.split("."))))  # fmt: skip
    assert files() == []
    verified(db)


def test_an_export_holds_no_word_of_it(db: psycopg.Connection) -> None:
    """And verifies where it is brought in."""
    ids = _fill(db)
    forgotten(db, ids=ids, strategy="redact")
    lines = [one["record"] for one in rows(db, "export_records")]
    assert not any(word in line.lower() for word in WORDS.values() for line in lines)
    records = "[" + ",".join(lines) + "]"
    db.execute("TRUNCATE mnemo.memory, mnemo.event, mnemo.chain_head, mnemo.settings CASCADE")
    statuses = {one["status"] for one in rows(db, "import_records", records=records)}
    assert statuses <= {"header", "imported"}
    assert count(db, "memory") == 2
    verified(db)
    assert row(db, "verify_chain", agent_id="ana")["records"] == 2
