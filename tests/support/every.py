"""A call of every public function, found in the catalog, with arguments by the names of parameters.

A new function is called by itself where its parameters have known names; where they have not, the
error names what to add to `VALUES`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.support.calls import row, rows, scalar

QUESTION = "how do I reset my password"
APPLICATION, TENANT = "every_app", "every_tenant"
AGENT = "ana"
_PLAN = {"query": QUESTION, "steps": ["a", "b"], "chunk_ids": ["c"], "outcome_score": 0.9}

# By parameter, or by function and parameter where a name alone does not tell.
VALUES: dict[str, Any] = {
    "a": ["reset", "password"],
    "b": ["password"],
    "id_column": "id",
    "invalidate_chunks.ids": ["no plan's"],
    "table": "public.every_chunks",
    "bind_role.agent_id": "cem",
    "changes": Jsonb({"tags": ["changed"]}),
    "dimensions": 3,
    "disable_vectors.model": "to go",
    "enable_vectors.model": "to stay",
    "chunk_ids": ["c"],
    "content": "a memory of every function",
    "criteria": Jsonb({"tags": ["every"]}),
    "from_agents": ["ben"],
    "generation": 0,
    "name": "similarity_threshold",
    "outcome_score": 0.9,
    "permission": "read",
    "plan": Jsonb({"turn_id": 1, "generation": 0, "lexical_queries": ["reset password"]}),
    "plans": Jsonb([_PLAN, {**_PLAN, "query": "how do I change my name"}]),
    "query": QUESTION,
    "reason": "it went wrong",
    "recalls": Jsonb([{"reason": "exact", "similarity": 1}]),
    "remember_many.records": Jsonb([{"content": "a memory of many"}, {"content": "another"}]),
    "remove_poisoning_rule.name": "silver",
    "retrieval_plan_result_key.limit": 5,
    "set_poisoning_rule.name": "gold",
    "set_poisoning_rule.pattern": " buy gold ",
    "set_poisoning_rule.weight": 0.6,
    "promote_plan.scope": "public",
    "steps": ["a"],
    "success": True,
    "subject": "every subject",
    "text": "Works at",
    "to_agent": "cem",
    "to_agents": ["cem"],
    "transcript": QUESTION,
    "turn_id": 1,
    "unbind_role.agent_id": "ben",
    "value": "0.75",
}
# Optional parameters without which a call does nothing, or something else.
GIVEN = {"value", "bind_role.agent_id", "unbind_role.agent_id"}


@dataclass(frozen=True)
class Call:
    """A public function and what to call it with."""

    function: str
    volatile: bool
    arguments: dict[str, Any]
    void: bool

    def run(self, conn: psycopg.Connection) -> list[dict[str, Any]]:
        """Call it; in a savepoint when inside a transaction."""
        return rows(conn, self.function, **self.arguments)


def prepare(
    conn: psycopg.Connection,
    agent: str = AGENT,
    application: str = APPLICATION,
    tenant: str = TENANT,
) -> list[Call]:
    """Fill the store with something to read and to change; a call of every public function, by this
    agent of acme. The roles are made where they are missing."""
    who = {"agent_id": agent, "org_id": "acme"}
    for role in (application, tenant):
        if not scalar(conn, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role):
            conn.execute(f'CREATE ROLE "{role}" LOGIN')
    conn.execute("SELECT mnemo.configure('experience_memory', 'on')")
    conn.execute("SELECT mnemo.configure('similarity_threshold', '0.8')")
    conn.execute("SELECT mnemo.grant_access(%s, 'application')", [application])
    conn.execute("SELECT mnemo.grant_access(%s, 'tenant')", [tenant])
    conn.execute("SELECT mnemo.bind_role(%s, 'acme', 'ben')", [tenant])
    row(conn, "remember", content="another memory", ttl="1 year", tags=["every"],
        subject="every subject", **who)  # fmt: skip
    plan = row(conn, "remember_plan", **_PLAN, **who)["id"]
    rows(conn, "share", id=plan, to_agents=["ben"], **who)
    delegation = row(conn, "delegate", to_agent="ben", **who)["delegate"]
    conn.execute("SELECT mnemo.set_poisoning_rule('silver', ' buy silver ', 0.6)")
    conn.execute("CREATE TABLE IF NOT EXISTS public.every_chunks (id text PRIMARY KEY)")
    _VECTORS.clear()
    if scalar(conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        for model in ("to go", "to stay"):
            conn.execute("SELECT mnemo.enable_vectors(%s, 3)", [model])
    else:
        _VECTORS.update(("enable_vectors", "disable_vectors"))
    held = [row(conn, "remember", content=f"buy silver {n}", **who)["id"] for n in range(2)]
    conn.execute("SELECT mnemo.configure('guard', 'off')")
    exported = [json.loads(line["record"]) for line in rows(conn, "export_records")]
    # So that an import has something to write.
    conn.execute("SELECT mnemo.configure('guard', NULL)")
    values = {
        **VALUES,
        "before": scalar(conn, "SELECT now()"),
        "records": Jsonb(exported),
        "id": plan,
        "ids": [plan],
        "purge.id": held[0],
        "release.id": held[1],
        "revoke_delegation.id": delegation,
        "role": tenant,
        "grant_access.role": application,
        "grant_access.level": "admin",
    }
    found = conn.execute(_FUNCTIONS).fetchall()
    return [_call(values, who, *each) for each in found if each[0] not in _VECTORS]


def drop_roles(conn: psycopg.Connection) -> None:
    """Take the roles away that `prepare` made; of this database all that they hold."""
    for role in (APPLICATION, TENANT):
        conn.execute(f'DROP OWNED BY "{role}"')
        conn.execute(f'DROP ROLE "{role}"')


_FUNCTIONS = """
    SELECT p.proname, p.provolatile = 'v', p.prorettype = 'void'::regtype,
           coalesce(p.proargnames[1 : p.pronargs], '{}'), p.pronargs - p.pronargdefaults
      FROM pg_proc AS p
     WHERE p.pronamespace = 'mnemo'::regnamespace AND left(p.proname, 1) <> '_'
     ORDER BY p.proname
"""


def _call(
    values: dict[str, Any],
    who: dict[str, Any],
    function: str,
    volatile: bool,
    void: bool,
    names: list[str],
    required: int,
) -> Call:
    arguments: dict[str, Any] = {}
    for number, parameter in enumerate(names):
        name = parameter.removeprefix("p_")
        own = f"{function}.{name}"
        if own in values or ((number < required or name in GIVEN) and name in values):
            arguments[name] = values.get(own, values.get(name))
        elif name in who and function not in _ABOUT:
            arguments[name] = who[name]
        else:
            assert number >= required, f"{own}: say in VALUES what to call it with"
    return Call(function, volatile, arguments, void)


# Functions that a server without pgvector cannot run.
_VECTORS: set[str] = set()
# Whose agent_id and org_id say what it is about.
_ABOUT = {"configure", "setting", "set_poisoning_rule", "remove_poisoning_rule"}
