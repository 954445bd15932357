"""Rows of every table and the answers of every reading function, to compare databases by."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

# Roles are of the whole server, so both the source and the target of a restore have them.
APPLICATION, TENANT, ADMIN, STRANGER = (
    "install_app",
    "install_tenant",
    "install_admin",
    "install_no",
)
OWNER = "install_owner"
ROLES = (APPLICATION, TENANT, ADMIN, STRANGER, OWNER)

TABLES = (
    "acl", "chain_head", "chunk_state", "delegation", "event", "event_note", "idempotency",
    "memory", "plan_check", "plan_fare", "plan_identity", "plan_report", "plan_signature",
    "poisoning_rule", "recall_log", "role_binding", "role_level", "settings", "term_change",
    "term_frequency", "term_posting", "term_total", "term_vector", "vector_model",
)  # fmt: skip

QUESTION = "Which invoices of the spring quarter are still unpaid by large customers?"
REWORDED = "which invoices of the spring quarter are still unpaid by the large customers"

_PLAN = """SELECT id FROM mnemo.remember_plan(
    p_query => %(query)s, p_steps => %(steps)s, p_chunk_ids => %(chunks)s,
    p_outcome_score => %(score)s, p_agent_id => %(agent)s, p_scope => %(scope)s,
    p_org_id => %(org)s, p_details => %(details)s, p_context => %(context)s,
    p_ttl => %(ttl)s::interval, p_tags => %(tags)s, p_thread_id => %(thread)s,
    p_idempotency_key => %(key)s)"""

_MEMORY = """SELECT id FROM mnemo.remember(
    p_content => %(content)s, p_scope => %(scope)s, p_agent_id => %(agent)s, p_org_id => %(org)s,
    p_memory_type => %(type)s, p_importance => %(importance)s, p_tags => %(tags)s,
    p_metadata => %(metadata)s, p_source_type => 'human', p_thread_id => %(thread)s,
    p_ttl => %(ttl)s::interval, p_kind => %(kind)s, p_subject => %(subject)s,
    p_predicate => %(predicate)s, p_entities => %(entities)s, p_valid_from => %(valid_from)s,
    p_confidence => 0.75, p_location => %(location)s, p_idempotency_key => %(key)s)"""


def _plan(conn: psycopg.Connection[Any], query: str, **more: Any) -> str:
    values = {
        "query": query, "steps": ["look up", f"answer: {query}"], "chunks": ["c1", "c2"],
        "score": 0.9, "agent": "ann", "scope": "private", "org": "acme", "details": None,
        "context": None, "ttl": None, "tags": None, "thread": None, "key": None, **more,
    }  # fmt: skip
    row = conn.execute(_PLAN, values).fetchone()
    assert row is not None
    return str(row[0])


def _report(
    conn: psycopg.Connection[Any], plan: str, agent: str, success: bool, score: float | None
) -> None:
    conn.execute("SELECT * FROM mnemo.record_plan_outcome(%s::uuid, %s, %s, 'it said: \u00e9',"
                 " %s, 'acme')", [plan, success, score, agent])  # fmt: skip


def _memory(conn: psycopg.Connection[Any], content: str, **more: Any) -> str:
    values = {
        "content": content, "scope": "private", "agent": "ann", "org": "acme", "type": None,
        "importance": None, "tags": None, "metadata": None, "thread": None, "ttl": None,
        "kind": None, "subject": None, "predicate": None, "entities": None, "valid_from": None,
        "location": None, "key": None, **more,
    }  # fmt: skip
    row = conn.execute(_MEMORY, values).fetchone()
    assert row is not None
    return str(row[0])


def fill(dsn: str) -> None:
    """Write rows into every table: through the functions wherever a function writes that table."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        # Numbers, times and JSON must survive a dump whatever the session shows them as.
        conn.execute("SET TimeZone = 'Asia/Kolkata'")
        for name, value, org in (
            ("experience_memory", "on", None),
            ("similarity_threshold", "0.65", None),
            ("similarity_threshold", "0.8", "globex"),
            ("default_agent_id", "ann", "acme"),
        ):
            conn.execute("SELECT mnemo.configure(%s, %s, %s)", [name, value, org])
        for role, level in ((APPLICATION, "application"), (TENANT, "tenant"), (ADMIN, "admin")):
            conn.execute("SELECT mnemo.grant_access(%s, %s)", [role, level])
        conn.execute("SELECT mnemo.bind_role(%s, 'acme', 'bob')", [TENANT])
        conn.execute("SELECT mnemo.set_poisoning_rule('gold', ' buy (gold|silver) now ', 0.6,"
                     " ARRAY['agent', 'plan'])")  # fmt: skip
        conn.execute("SELECT mnemo.set_poisoning_rule('burst', p_enabled => false,"
                     " p_org_id => 'globex')")  # fmt: skip
        _fill_memories(conn)
        _fill_plans(conn)
        _fill_sources(conn)
        conn.execute("SELECT mnemo.delegate('bob', 'delete', p_tag => 'notes', p_max_depth => 1,"
                     " p_agent_id => 'ann', p_org_id => 'acme')")  # fmt: skip
        conn.execute("SELECT mnemo.delegate('dee', p_ttl => interval '20 years',"
                     " p_agent_id => 'bob', p_org_id => 'acme')")  # fmt: skip
        # Puts what was passed on behind it, where a dump finds it.
        conn.execute("UPDATE mnemo.delegation SET max_depth = 2 WHERE tag = 'notes'"
                     " AND head_id IS NULL")  # fmt: skip
        conn.execute(
            "INSERT INTO mnemo.event_note (org_id, event_id, salt, note)"
            " SELECT org_id, id, '\\x0001feff', E'a note\\twith tab, \\\\ and \u00e9'"
            "   FROM mnemo.event ORDER BY id LIMIT 1"
        )
        # The row alone, as most servers of the tests have no pgvector; tests/vectors has the rest.
        conn.execute(
            "INSERT INTO mnemo.vector_model (name, suffix, dimensions, distance, rules_version)"
            " VALUES ('a model', '00ff00ff00ff00ff', 3, 'cosine', 1)"
        )
        conn.execute("SELECT mnemo.seal()")
        conn.execute(
            "INSERT INTO mnemo.chain_head (org_id, agent_id, seq, hash, sealed_at)"
            " VALUES ('acme', 'nobody', 9007199254740993, '\\x00ff', now())"
        )


def _fill_memories(conn: psycopg.Connection[Any]) -> None:
    shared = _memory(conn, "Ann's notes for Bob", scope="shared", tags=["notes", "\u00fcbung"])
    _memory(conn, "Only Ann\tknows\\this \U0001f680", metadata='{"a": [1, 0.1, null, "\\u00e9"]}')
    _memory(conn, "Everyone at Acme", scope="public", type="semantic", importance=0.1 + 0.2,
            thread="t1", kind="project", subject="Acme  Office", predicate="is in",
            entities=["Acme", "Berlin"], location="Berlin",
            valid_from="1999-12-31 23:59:59.999999+00")  # fmt: skip
    _memory(conn, "Everyone anywhere", scope="global", agent="gil", org="globex")
    # Counts of words, and changes that are not yet among them.
    conn.execute("SELECT mnemo._compact_terms('acme')")
    _memory(conn, "Bob's own", agent="bob", ttl="10 years", key="once")
    gone = _memory(conn, "Forgotten")
    conn.execute("SELECT * FROM mnemo.forget(ARRAY[%s::uuid], p_agent_id => 'ann',"
                 " p_org_id => 'acme')", [gone])  # fmt: skip
    conn.execute("SELECT * FROM mnemo.share(%s::uuid, ARRAY['bob', 'cyd'], 'write', interval"
                 " '20 years', p_agent_id => 'ann', p_org_id => 'acme')", [shared])  # fmt: skip


def _fill_plans(conn: psycopg.Connection[Any]) -> None:
    plan = _plan(
        conn, QUESTION, details='[{"tool": "sql"}, null]', tags=["finance"], thread="t1", key="k"
    )
    _plan(conn, QUESTION, agent="bob", score=0.7, context="model-2", ttl="10 years")
    _report(conn, plan, "ann", False, 0.1 + 0.2)
    _report(conn, plan, "ann", True, None)
    shared = _plan(conn, "How do I reset the badge of a visitor?", scope="shared", score=1)
    conn.execute("SELECT * FROM mnemo.share(%s::uuid, ARRAY['bob'], p_agent_id => 'ann',"
                 " p_org_id => 'acme')", [shared])  # fmt: skip
    _plan(conn, "What is the wifi password of the Stra\u00dfe office?", scope="public", agent="cyd")
    _plan(conn, "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u6771\u4eac caf\u00e9", scope="public")
    _plan(conn, "When do the office doors open on public holidays?", scope="global", org="globex",
          agent="gil", score=1 / 3)  # fmt: skip
    everywhere = _plan(conn, "Who repairs a broken window?", scope="global", org="globex",
                       agent="gil")  # fmt: skip
    _report(conn, everywhere, "bob", False, None)
    gone = _plan(conn, "Which plan was forgotten again?", scope="public")
    conn.execute("SELECT * FROM mnemo.forget(ARRAY[%s::uuid], p_agent_id => 'ann',"
                 " p_org_id => 'acme')", [gone])  # fmt: skip
    conn.execute(
        "SELECT * FROM mnemo.remember_plans(%s)",
        ['[{"query": "How many seats does the blue meeting room have?", "steps": ["ask"],'
         ' "chunk_ids": [], "outcome_score": 0.8, "agent_id": "bob", "org_id": "acme"},'
         ' {"query": "Too poor to be kept", "steps": [], "chunk_ids": [], "outcome_score": 0.1,'
         ' "agent_id": "bob", "org_id": "acme"}]'],
    )  # fmt: skip


def _fill_sources(conn: psycopg.Connection[Any]) -> None:
    """Chunks that changed, plans that are stale by them, one of them found to be right again."""
    for chunk in ("a1", "it's \u00e9"):
        plan = conn.execute(
            "SELECT id FROM mnemo.remember_plan(%s, '{read}', ARRAY[%s], 0.9, 'ann', 'public',"
            " 'acme', p_chunk_source => 'it''s a wiki')", [f"Who wrote the article {chunk}?", chunk]
        ).fetchone()  # fmt: skip
        conn.execute("SELECT mnemo.invalidate_chunks(ARRAY[%s], 'it''s a wiki',"
                     " p_agent_id => 'ann', p_org_id => 'acme')", [chunk])  # fmt: skip
    conn.execute("SELECT mnemo.revalidate_plan(%s, 'ann', 'acme')", plan)
    conn.execute("SELECT mnemo.log_recall('[{\"reason\": \"stale\"}]', 'ann', 'acme')")


def rows(dsn: str) -> dict[str, list[str]]:
    """Every row of every table of the schema as text, in one order and one form."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 1;"
            " SET bytea_output = 'hex'; SET client_encoding = 'UTF8'"
        )
        names = [
            row[0]
            for row in conn.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r'"
                " AND relnamespace = 'mnemo'::regnamespace ORDER BY relname"
            )
        ]
        assert tuple(names) == TABLES
        found = {}
        for name in names:
            query = sql.SQL("SELECT t::text FROM mnemo.{} AS t").format(sql.Identifier(name))
            found[name] = sorted(row[0] for row in conn.execute(query))
        return found


_RECALL = "SELECT * FROM mnemo.recall_plan(%(q)s, p_agent_id => {agent}, p_org_id => {org}{more})"
_LISTED = (
    "SELECT rank, id, content, owner_agent_id, memory_type, scope, importance, tags, metadata,"
    " created_at FROM mnemo.recall(NULL, 100, {more}p_agent_id => {agent}, p_org_id => {org})"
)

# (roles, statement); %(q)s stands for every one of QUERIES, %(first)s for the first.
_ANYONE = (APPLICATION, ADMIN)
_PLANS = _RECALL.format(agent="NULL", org="'acme'", more="")
CALLS: tuple[tuple[tuple[str, ...], str], ...] = (
    (_ANYONE, _PLANS),
    ((APPLICATION,), _RECALL.format(agent="'bob'", org="'acme'", more="")),
    ((APPLICATION,), _RECALL.format(agent="'ann'", org="'globex'", more="")),
    ((TENANT,), _RECALL.format(agent="NULL", org="NULL", more="")),
    *(
        (roles, _RECALL.format(agent=agent, org=org, more=more).replace("%(q)s", "%(first)s"))
        for roles, agent, org, more in (
            ((APPLICATION, STRANGER), "NULL", "NULL", ""),
            ((APPLICATION,), "'bob'", "'acme'", ", p_context => 'model-2'"),
            ((APPLICATION,), "'ann'", "'acme'", ", p_similarity_threshold => 1"),
            ((TENANT,), "'bob'", "'acme'", ""),
            ((TENANT,), "'ann'", "'acme'", ""),
            ((TENANT,), "'bob'", "'globex'", ""),
        )
    ),
    *(
        ((*_ANYONE, TENANT), _LISTED.format(agent=agent, org=org, more=more))
        for agent, org in (("'bob'", "'acme'"), ("'ann'", "'acme'"), ("'gil'", "'globex'"))
        for more in ("", "p_strategy => 'exact', p_tags => ARRAY['notes'], ")
    ),
    ((*_ANYONE, TENANT), "SELECT * FROM mnemo.list_plans(p_agent_id => 'bob', p_org_id => 'acme')"),
    ((*_ANYONE, TENANT), "SELECT * FROM mnemo.get_memories(%(ids)s, 'bob', 'acme')"),
    (_ANYONE, "SELECT * FROM mnemo.get_memories(%(ids)s, 'ann', 'acme')"),
    (_ANYONE, "SELECT * FROM mnemo.verify_chain(p_agent_id => 'gil', p_org_id => 'globex')"),
    (_ANYONE, "SELECT i, mnemo.check_permission(i, 'write', 'bob', 'acme')"
              " FROM unnest(%(ids)s) AS i"),
    ((*_ANYONE, TENANT, STRANGER), "SELECT mnemo.setting('similarity_threshold')"),
    (_ANYONE, "SELECT mnemo.setting('similarity_threshold', 'globex')"),
    ((*_ANYONE, TENANT), "SELECT mnemo.configure('guard', NULL)"),
    ((ADMIN, APPLICATION), "SELECT * FROM mnemo.plan ORDER BY org_id, id"),
    ((*_ANYONE, TENANT), "SELECT count(*) FROM mnemo.memory"),
    ((*_ANYONE, TENANT, STRANGER), "SELECT mnemo.version()"),
)  # fmt: skip

QUERIES = (
    QUESTION,
    REWORDED,
    "how can I reset the badge of a visitor?",
    "WHAT IS THE WIFI PASSWORD OF THE STRASSE OFFICE",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u6771\u4eac cafe\u0301",
    "when do the office doors open on public holidays",
    "Which plan was forgotten again?",
    "How many seats does the blue meeting room have?",
    " ",
)


def answers(dsn: str) -> dict[tuple[str, str, str], Any]:
    """What each role gets from each call; an error is the answer of its SQLSTATE.

    In read-only transactions, so that the answers cannot change each other.
    """
    ids = [row[0] for row in _rows(dsn, "SELECT id FROM mnemo.memory ORDER BY id")]
    found: dict[tuple[str, str, str], Any] = {}
    for role in ROLES[:4]:
        with psycopg.connect(dsn, user=role, autocommit=True) as conn:
            conn.execute("SET default_transaction_read_only = on; SET client_encoding = 'UTF8'")
            conn.prepare_threshold = 2
            for roles, statement in CALLS:
                if role not in roles:
                    continue
                for query in QUERIES if "%(q)s" in statement else ("",):
                    found[role, statement, query] = _answer(conn, statement, query, ids)
    return found


def _rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def _answer(conn: psycopg.Connection[Any], statement: str, query: str, ids: list[Any]) -> Any:
    try:
        # In binary: what the session's settings make of numbers and times is not the answer.
        found = conn.execute(statement, {"q": query, "first": QUESTION, "ids": ids}, binary=True)
        return found.fetchall()
    except psycopg.Error as error:
        return error.sqlstate


def write_and_recall(dsn: str) -> None:
    """Writing works: a new plan and a new memory of an application are found again."""
    with psycopg.connect(dsn, user=APPLICATION, autocommit=True) as conn:
        query = "Where is the spare key of the archive cellar kept?"
        new = _plan(conn, query, agent="dee")
        found = conn.execute(
            _RECALL.format(agent="'dee'", org="'acme'", more=""), {"q": query}, binary=True
        )
        row = found.fetchone()
        assert row is not None
        assert (row[0], str(row[1])) == (True, new)
        memory = _memory(conn, "the spare key", agent="dee", scope="shared")
        conn.execute("SELECT * FROM mnemo.share(%s::uuid, ARRAY['eve'], p_agent_id => 'dee',"
                     " p_org_id => 'acme')", [memory])  # fmt: skip
        listed = conn.execute(
            _LISTED.format(agent="'eve'", org="'acme'", more=""), binary=True
        ).fetchall()
        assert memory in {str(row[1]) for row in listed}
