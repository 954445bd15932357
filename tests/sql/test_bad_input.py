"""Bad input of every public function: the error or the answer of the API, and nothing written.

One table, one row a case: the function, what is changed in a good call of it, what must come, and
for an error the parameter that DETAIL names. Ids stand in the table by name, see `ids`.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest

from mnemo_pg import statements
from tests.support.calls import contents, refused, row, rows, scalar, value
from tests.support.server import Server

NAN, INF = float("nan"), float("inf")
# Blank by the Unicode property White_Space: no-break, ideographic and line-separating ones too.
BLANKS = ("", " ", "\u00a0", "\u3000", "\t\r\n", " \u2003\u2028\u0085\u1680")
BAD_NAMES = (*BLANKS, "*", "a b", "a*", "é", "a\n", "a;b", "a%", "\u212a", "a\u200b", "a" * 257)
UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")


class Id(str):
    """The name of an id of `ids`."""


class Answer(NamedTuple):
    """What a call answers: the number of rows, and values of the first one."""

    count: int
    first: dict[str, Any]


class Case(NamedTuple):
    """A call and what must come: an SQLSTATE or an answer."""

    function: str
    changes: dict[str, Any]
    expected: str | Answer
    parameter: str | None = None

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(given)}" for name, given in self.changes.items())
        return f"{self.function}({shown})"


def _short(given: Any) -> str:
    if isinstance(given, list) and len(given) > 5:
        return f"[{len(given)} of {_short(given[0])}]"
    shown = ascii(given)
    return shown if len(shown) < 50 else f"{shown[:30]}..{len(shown)}"


NO_ROWS = Answer(0, {})
NULL = Answer(1, {"": None})
FALSE = Answer(1, {"": False})
SILENT = Answer(1, {"stored": False, "id": None, "status": "below_threshold"})
BLANK = Answer(1, {"hit": False, "id": None, "reason": "blank_query", "candidates_considered": 0})
EXPLAINED = Answer(1, {"id": None, "verdict": "blank_query"})

# A call of each function that is good.
GOOD: dict[str, dict[str, Any]] = {
    "version": {},
    "configure": {"name": "success_threshold", "value": "0.6"},
    "setting": {"name": "guard"},
    "grant_access": {"role": "pg_monitor", "level": "application"},
    "revoke_access": {"role": "pg_monitor"},
    "bind_role": {"role": "pg_monitor", "org_id": "acme"},
    "unbind_role": {"role": "pg_monitor", "org_id": "acme", "agent_id": "bot"},
    "signature_tokens": {"query": "x"},
    "guard_tokens": {"query": "x"},
    "jaccard": {"a": ["x"], "b": ["x"]},
    "canonical_predicate": {"text": "x"},
    "remember": {"content": "x"},
    "remember_many": {"records": '[{"content": "x"}]'},
    "update_memory": {"id": Id("own"), "changes": '{"content": "y"}'},
    "quarantined": {},
    "release": {"id": Id("held back")},
    "purge": {"id": Id("held back")},
    "set_poisoning_rule": {"name": "gold", "pattern": " gold ", "weight": 0.5},
    "remove_poisoning_rule": {"name": "gold"},
    "poisoning_rules": {},
    "get_memories": {"ids": [Id("own")]},
    "recall": {"query": "x"},
    "check_permission": {"id": Id("own"), "permission": "read"},
    "forget": {"ids": [Id("own")]},
    "share": {"id": Id("own"), "to_agents": ["bob"]},
    "unshare": {"id": Id("own"), "from_agents": ["bob"]},
    "remember_plan": {"query": "x", "steps": ["a"], "chunk_ids": ["c"], "outcome_score": 1},
    "remember_plans": {
        "plans": '[{"query": "x", "steps": [], "chunk_ids": [], "outcome_score": 1}]'
    },
    "remember_failure": {"query": "x", "steps": ["a"], "reason": "r"},
    "recall_failures": {"query": "x"},
    "list_failures": {},
    "duplicate_plans": {},
    "recall_plan": {"query": "x"},
    "recall_plans": {"query": "x"},
    "explain_recall_plan": {"query": "x"},
    "get_plan": {"id": Id("plan")},
    "list_plans": {},
    "export_records": {},
    "import_records": {"records": "[]"},
    "read_events": {},
    "history": {"id": Id("own")},
    "verify_chain": {},
    "export_chain": {},
    "chain_heads": {},
    "seal": {},
    "retain_events": {"before": "2020-01-01"},
    "touch": {"ids": [Id("own")]},
    "log_read": {"ids": [Id("own")]},
    "forget_where": {"criteria": '{"tags": ["none"]}'},
    "forget_subject": {"subject": "nobody"},
    "sweep": {},
    "delegate": {"to_agent": "bob"},
    "revoke_delegation": {"id": Id("delegation")},
    "delegations": {},
    "health": {},
    "stable_hash": {"text": "x"},
    "normalize_retrieval_plan": {"plan": '{"turn_id": 0, "generation": 0}'},
    "skip_retrieval_plan": {"transcript": "x", "turn_id": 0, "generation": 0},
    "retrieval_plan_cache_key": {"plan": '{"turn_id": 0, "generation": 0}'},
    "retrieval_plan_result_key": {"plan": '{"turn_id": 0, "generation": 0}', "limit": 5},
    "plan_retrieval": {"text": "x"},
    "retrieve": {"plan": '{"turn_id": 0, "generation": 0}'},
    "explain_retrieval": {"plan": '{"turn_id": 0, "generation": 0}'},
    "memory_map": {},
    "rebuild_signatures": {},
    "enable_vectors": {"model": "m", "dimensions": 3},
    "disable_vectors": {"model": "m"},
    "refresh_models": {},
    "invalidate_chunks": {"ids": ["c"]},
    "revalidate_plan": {"id": Id("plan")},
    "record_plan_outcome": {"id": Id("plan"), "success": True},
    "plan_outcomes": {"id": Id("plan")},
    "retire_plan": {"id": Id("plan")},
    "revive_plan": {"id": Id("plan")},
    "promote_plan": {"id": Id("plan"), "scope": "public"},
    "log_recall": {"recalls": "[]"},
    "watch_table": {"table": "chunk_table", "id_column": "id"},
    "unwatch_table": {"table": "chunk_table"},
    "watch_statements": {"table": "chunk_table", "id_column": "id"},
}


def _deep(levels: int) -> str:
    return "[" * levels + "1" + "]" * levels


def _words(count: int) -> str:
    """Different words of three letters."""
    letters = itertools.product("abcdefghijklmnopqrstuvwxyz012345", repeat=3)
    return " ".join("".join(word) for word in itertools.islice(letters, count))


def _names() -> Iterator[Case]:
    """Agents and organisations, of every function that takes them."""
    for function in GOOD:
        for parameter in sorted({"agent_id", "org_id"} & _parameters(function)):
            for bad in BAD_NAMES:
                yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")


EMBEDDED = (
    "remember", "recall", "remember_plan", "recall_plan", "recall_plans", "explain_recall_plan",
    "retrieve", "explain_retrieval", "retrieval_plan_result_key",
)  # fmt: skip
RECALLS = ("recall_plan", "recall_plans", "explain_recall_plan", "recall_failures")


def _parameters(function: str) -> set[str]:
    """Those of the wrapper's call: tests/client compares them with the database."""
    found = set(inspect.signature(getattr(statements, function)).parameters)
    # A batch of plans has its identity in the elements.
    return found - {"agent_id", "org_id"} if function == "remember_plans" else found


def _labels() -> Iterator[Case]:
    """Labels: unknown ones, another case, blanks, spaces around, lists where one is due."""
    for function, parameter, good in (
        ("remember", "scope", "private"), ("remember", "memory_type", "working"),
        ("remember", "source_type", "agent"), ("remember", "kind", "routine"),
        ("remember", "status", "active"), ("remember", "temporal_scope", "persistent"),
        ("recall", "strategy", "recent"), ("recall", "scope", "public"),
        ("check_permission", "permission", "read"), ("share", "permission", "read"),
        ("forget", "strategy", "soft_delete"), ("remember_plan", "scope", "public"),
        ("remember_failure", "scope", "public"),
        ("remember_plans", "on_error", "skip"), ("import_records", "on_error", "skip"),
        ("grant_access", "level", "tenant"), ("forget_where", "strategy", "archive"),
        ("delegate", "permission", "read"), ("enable_vectors", "distance", "cosine"),
        *((function, "guard", good) for function in RECALLS for good in ("off", "strict")),
    ):  # fmt: skip
        for bad in (*BLANKS, "nonsense", good.upper(), good.title(), f" {good}", f"{good} ",
                    f"{good}\n", good[:-1], "*", "x" * 1000, f"{good},{good}"):  # fmt: skip
            yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
    for function, parameter, good in (
        ("recall", "types", "working"), ("recall", "source_types", "agent"),
        ("read_events", "types", "plan_write"),
    ):  # fmt: skip
        for bad_list in ([None], [good, None], ["nonsense"], [good, good.upper()], [""], [[good]],
                         [[good, good], [good, good]], [good] * 10_001):  # fmt: skip
            code = "54000" if len(bad_list) > 10_000 else "22023"
            yield Case(function, {parameter: bad_list}, code, f"p_{parameter}")
    for function in ("forget", "forget_where"):
        yield Case(function, {"strategy": None}, "22023", "p_strategy")
    yield Case("delegate", {"permission": None}, "22023", "p_permission")
    yield Case("enable_vectors", {"distance": None}, "22023", "p_distance")
    yield Case("recall", {"strategy": None}, "22023", "p_strategy")
    yield Case("share", {"permission": None}, "22023", "p_permission")
    yield Case("check_permission", {"permission": None}, "22023", "p_permission")
    yield Case("remember_plans", {"on_error": None}, "22023", "p_on_error")
    yield Case("import_records", {"on_error": None}, "22023", "p_on_error")
    yield Case("grant_access", {"level": None}, "22023", "p_level")
    # Strategies and guards that other versions know.
    yield Case("recall", {"strategy": "bm25"}, "22023", "p_strategy")


def _texts() -> Iterator[Case]:
    """Optional identifiers: blank, over 256 characters."""
    for function, parameters in (
        ("remember", "source_id thread_id created_by subject predicate location idempotency_key"),
        ("recall", "thread_id"), *((function, "context") for function in RECALLS),
        ("remember_plan", "context thread_id source_id idempotency_key"),
        ("remember_failure", "context thread_id source_id idempotency_key"),
    ):  # fmt: skip
        for parameter in parameters.split():
            for bad in BLANKS:
                yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
            # In a predicate only ASCII counts, and arguments are checked before limits.
            other = "x1" * 129 if parameter == "predicate" else "é" * 257
            for long in ("x" * 257, other, "x" * 1_000_000):
                yield Case(function, {parameter: long}, "54000", f"p_{parameter}")
    for bad in ("日本", "_", "-–—", "\u200b", "é"):
        yield Case("remember", {"predicate": bad}, "22023", "p_predicate")


def _lists() -> Iterator[Case]:
    """Lists of texts: NULL and blank elements, nesting, too many, too long."""
    for function, parameter in (
        ("remember", "tags"), ("remember", "entities"), ("remember", "aliases"),
        ("recall", "tags"), ("remember_plan", "tags"), ("remember_failure", "tags"),
    ):  # fmt: skip
        bad_lists: list[Any] = [[None], ["a", None, "b"], [["a"]], [["a", "b"], ["c", "d"]],
                                [[None]], *([blank] for blank in BLANKS), ["a", " "]]  # fmt: skip
        for bad in bad_lists:
            yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
        for long in (["x" * 257], ["a", "é" * 257], ["a"] * 101, [str(n) for n in range(100_000)]):
            yield Case(function, {parameter: long}, "54000", f"p_{parameter}")
        # The same with subscripts that do not begin at 1.
        for bad in ('[5:6]={a," "}', "[0:0]={NULL}", "[-3:-2]={a,NULL}", "[7:7]={\u3000}"):
            yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
        yield Case(function, {parameter: f"[5:5]={{{'x' * 257}}}"}, "54000", f"p_{parameter}")
    for reserved in (["__experience_plan__"], ["a", "__experience_plan__"]):
        yield Case("remember", {"tags": reserved}, "22023", "p_tags")
        yield Case("remember_plan", {"tags": reserved}, "22023", "p_tags")
    yield Case("recall", {"tags": ["__experience_plan__"]}, NO_ROWS)
    yield Case("recall", {"tags": []}, NO_ROWS)
    yield Case("recall", {"types": []}, NO_ROWS)
    yield Case("recall", {"source_types": []}, NO_ROWS)


def _numbers() -> Iterator[Case]:
    for function, parameter in (
        ("remember", "importance"), ("remember", "confidence"), ("recall", "min_importance"),
    ):  # fmt: skip
        for bad in (NAN, INF, -INF, -0.1, 1.1, -5e-324, 1.0000000000000002, 1e308):
            yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
    for function in RECALLS:
        for bad in (NAN, INF, -INF, 0, -1, 0.29999999, 1.0000000000000002, 2):
            changes = {"similarity_threshold": bad}
            yield Case(function, changes, "22023", "p_similarity_threshold")
    for function in ("recall", "recall_plans", "list_plans", "read_events", "delegations",
                     "recall_failures", "list_failures", "duplicate_plans"):  # fmt: skip
        for limit in (None, 0, -1, 1001, 2**63 - 1, -(2**63)):
            yield Case(function, {"limit": limit}, "22023", "p_limit")


def _times() -> Iterator[Case]:
    """Times to live that are none; times of facts that are none."""
    for function in ("remember", "share", "remember_plan", "remember_failure", "delegate"):
        for bad in ("0", "-1 microsecond", "-1 month", "1 month -30 days", "1 day -24 hours",
                    "1001 years", "12001 months", "400000 days"):  # fmt: skip
            yield Case(function, {"ttl": bad}, "22023", "p_ttl")
    for parameter in ("valid_from", "valid_to"):
        for bad in ("infinity", "-infinity", "294276-12-31 23:59:59+00", "10000-01-01 00:00+00",
                    "294247-01-10 04:00:54.775808+00"):  # fmt: skip
            yield Case("remember", {parameter: bad}, "22023", f"p_{parameter}")
    for begin, end in (("2020-01-02", "2020-01-01"), ("2020-01-01", "2020-01-01"),
                       (None, "2020-01-01"), ("9999-01-01", "2020-01-01")):  # fmt: skip
        yield Case("remember", {"valid_from": begin, "valid_to": end}, "22023", "p_valid_to")
    for parameter, moment in (("since", "infinity"), ("since", "294276-12-31"),
                              ("until", "-infinity"), ("until", "4713-01-01 BC"),
                              ("as_of", "-infinity")):  # fmt: skip
        yield Case("recall", {parameter: moment}, NO_ROWS)


def _ids() -> Iterator[Case]:
    """Ids that are none, or none of the caller's."""
    for function in ("get_memories", "forget", "touch", "log_read", "delegate"):
        for bad in (None, [], [None], [Id("own"), None], [[Id("own")]],
                    [[Id("own"), Id("plan")], [Id("own"), Id("plan")]]):  # fmt: skip
            if function != "delegate" or bad is not None:
                yield Case(function, {"ids": bad}, "22023", "p_ids")
        yield Case(function, {"ids": [Id("own")] * 10_001}, "54000", "p_ids")
    for function in ("check_permission", "share", "unshare", "get_plan"):
        yield Case(function, {"id": None}, "22023", "p_id")
    invisible = ("unknown", "foreign", "expired", "deleted", "invisible", "held back", "archived",
                 "foreign plan", "expired plan", "deleted plan", "invisible plan")  # fmt: skip
    for name in invisible:
        yield Case("get_memories", {"ids": [Id(name)]}, NO_ROWS)
        for function in ("forget", "touch", "log_read", "delegate"):
            yield Case(function, {"ids": [Id(name)]}, "MN001", "p_ids")
            yield Case(function, {"ids": [Id("own"), Id(name)]}, "MN001", "p_ids")
        yield Case("share", {"id": Id(name)}, "MN001", "p_id")
        yield Case("unshare", {"id": Id(name)}, "MN001", "p_id")
        yield Case("get_plan", {"id": Id(name)}, "MN001", "p_id")
        for permission in ("read", "share"):
            changes = {"id": Id(name), "permission": permission}
            yield Case("check_permission", changes, FALSE)
    yield Case("delegate", {"ids": [Id("public")]}, "42501", "p_ids")
    yield Case("delegate", {"ids": [Id("own"), Id("public plan")]}, "42501", "p_ids")
    for name in ("global", "own global", "global plan"):
        yield Case("delegate", {"ids": [Id(name)]}, "22023", "p_ids")
    for name in ("public", "global", "public plan", "global plan"):
        yield Case("forget", {"ids": [Id(name)]}, "42501", "p_ids")
        yield Case("share", {"id": Id(name)}, "42501", "p_id")
        yield Case("unshare", {"id": Id(name)}, "42501", "p_id")
        yield Case("check_permission", {"id": Id(name), "permission": "write"}, FALSE)
    yield Case("share", {"id": Id("own global")}, "22023", "p_id")
    yield Case("unshare", {"id": Id("own global")}, "22023", "p_id")
    yield Case("get_plan", {"id": Id("own")}, "MN001", "p_id")
    yield Case("list_plans", {"after": Id("unknown")}, NO_ROWS)
    yield Case("list_failures", {"after": Id("unknown")}, NO_ROWS)
    yield Case("duplicate_plans", {"after": Id("plan")}, "22023", "p_after_other")
    yield Case("duplicate_plans", {"after_other": Id("plan")}, "22023", "p_after")
    yield Case("get_memories", {"ids": [Id("own")], "org_id": "acme"}, NO_ROWS)
    yield Case("get_memories", {"ids": [Id("own")], "agent_id": "bob"}, NO_ROWS)


def _agents() -> Iterator[Case]:
    for function, parameter in (("share", "to_agents"), ("unshare", "from_agents")):
        for bad in (None, [], [None], ["bob", None], [["bob"]], [["bob", "a"], ["b", "c"]],
                    *([name] for name in BAD_NAMES), ["bob", "a b"], "[0:1]={bob,a b}",
                    "[0:0]={NULL}"):  # fmt: skip
            yield Case(function, {parameter: bad}, "22023", f"p_{parameter}")
        yield Case(function, {parameter: ["bob"] * 10_001}, "54000", f"p_{parameter}")
    yield Case("share", {"to_agents": ["default"]}, "22023", "p_to_agents")
    yield Case("share", {"to_agents": ["bob", "default"]}, "22023", "p_to_agents")


def _contents() -> Iterator[Case]:
    """What is remembered: content, metadata, queries, plans."""
    for bad in (None, *BLANKS):
        yield Case("remember", {"content": bad}, "22023", "p_content")
        yield Case("remember_plan", {"query": bad}, "22023", "p_query")
        yield Case("remember_failure", {"query": bad}, "22023", "p_query")
        yield Case("remember_failure", {"reason": bad}, "22023", "p_reason")
    for long in ("x" * 1_048_577, "é" * 524_289, "x" * 5_000_000):
        yield Case("remember", {"content": long}, "54000", "p_content")
    for metadata in ("null", "1", '"x"', "[]", "[{}]", "true", '{"experience_plan": 1}',
                     '{"a": 1, "experience_plan": null}'):  # fmt: skip
        yield Case("remember", {"metadata": metadata}, "22023", "p_metadata")
    for metadata in (
        json.dumps({"a": "x" * 1_048_577}), json.dumps({"a": "é" * 524_289}, ensure_ascii=False),
        json.dumps(dict.fromkeys(map(str, range(90_000)))), '{"a": [' + "1e100000," * 11 + "1]}",
        f'{{"a": {_deep(100)}}}', f'{{"a": {_deep(1000)}}}', '{"a":' * 101 + "1" + "}" * 101,
        f'{{"a": {_deep(5000)}}}',
    ):  # fmt: skip
        yield Case("remember", {"metadata": metadata}, "54000", "p_metadata")
    for function in ("remember_plan", *RECALLS, "signature_tokens", "guard_tokens", "recall"):
        yield Case(function, {"query": "x" * 100_001}, "54000", "p_query")
        yield Case(function, {"query": "漢" * 100_001}, "54000", "p_query")
        if function not in ("recall", "guard_tokens"):
            yield Case(function, {"query": _words(20_001)}, "54000", "p_query")
            han = "".join(map(chr, range(0x4E00, 0x4E00 + 20_002)))
            yield Case(function, {"query": han}, "54000", "p_query")
    for embedding in ("[1,2]", "", "x", "[NaN]"):
        for function in EMBEDDED:
            yield Case(function, {"embedding": embedding}, "55000", "p_embedding")
            changes = {"embedding": embedding, "model": "m"}
            yield Case(function, changes, "55000", "p_embedding")
    for function in EMBEDDED:
        yield Case(function, {"model": "m"}, "55000", "p_model")
    for weights in ("{}", '{"recency": 1}', "null", "[]"):
        arguments = {"weights": weights, "strategy": "recent"}
        yield Case("recall", arguments, "22023", "p_weights")
    for weights in ("null", "[]", '{"recency": -1}', '{"tags": 1}'):
        yield Case("recall", {"weights": weights}, "22023", "p_weights")
    # Questions that are no question.
    for function, answer in zip(RECALLS, (BLANK, NO_ROWS, EXPLAINED, NO_ROWS), strict=True):
        yield Case(function, {"query": None}, "22023", "p_query")
        for blank in BLANKS:
            yield Case(function, {"query": blank}, answer)
    for query in (*BLANKS, None):
        yield Case("recall", {"query": query, "thread_id": "none"}, NO_ROWS)


def _failures() -> Iterator[Case]:
    """What remember_failure and duplicate_plans have of their own, and share with remember_plan."""
    for long in ("x" * 10_001, "é" * 10_001):
        yield Case("remember_failure", {"reason": long}, "54000", "p_reason")
    for parameter in ("steps", "chunk_ids"):
        for bad in ([None], ["a", None], [["a"]], [["a", "b"], ["c", "d"]], "[0:0]={NULL}"):
            yield Case("remember_failure", {parameter: bad}, "22023", f"p_{parameter}")
    yield Case("remember_failure", {"steps": None}, "22023", "p_steps")
    yield Case("remember_failure", {"steps": ["s"] * 1001}, "54000", "p_steps")
    yield Case("remember_failure", {"chunk_ids": ["c"] * 10_001}, "54000", "p_chunk_ids")
    yield Case("remember_failure", {"steps": ["s" * 1_048_577]}, "54000", "p_steps")
    for details in ("{}", "null", "[]", "[1, 2]"):
        yield Case("remember_failure", {"details": details}, "22023", "p_details")
    yield Case("remember_failure", {"idempotency_key": "key of a plan"}, "22023",
               "p_idempotency_key")  # fmt: skip
    for source in BLANKS[1:]:
        yield Case("remember_failure", {"chunk_source": source}, "22023", "p_chunk_source")
    yield Case("remember_failure", {"chunk_source": "x" * 257}, "54000", "p_chunk_source")
    for bad in ("infinity", "-infinity", "10000-01-01 00:00+00"):
        yield Case("remember_failure", {"read_at": bad}, "22023", "p_read_at")
    for bad in ("", "Refuse", "stale"):
        yield Case("recall_failures", {"stale": bad}, "22023", "p_stale")
    for bad in (NAN, INF, -INF, 0, 0.29999999, 1.0000000000000002):
        yield Case("duplicate_plans", {"threshold": bad}, "22023", "p_threshold")


def _sources() -> Iterator[Case]:
    """Chunks that changed, tables that are watched, plans that are stale by them."""
    for bad in (None, [None], ["c", None], [["c"]], *([blank] for blank in BLANKS), "[0:0]={NULL}"):
        yield Case("invalidate_chunks", {"ids": bad}, "22023", "p_ids")
    yield Case("invalidate_chunks", {"ids": ["c"] * 10_001}, "54000", "p_ids")
    yield Case("invalidate_chunks", {"reason": "é" * 10_001}, "54000", "p_reason")
    for blank in BLANKS:
        yield Case("invalidate_chunks", {"reason": blank}, "22023", "p_reason")
    for function, parameter in (
        ("invalidate_chunks", "source"), ("watch_table", "source"), ("watch_statements", "source"),
        ("remember_plan", "chunk_source"),
    ):  # fmt: skip
        for blank in BLANKS[1:]:
            yield Case(function, {parameter: blank}, "22023", f"p_{parameter}")
        yield Case(function, {parameter: "é" * 257}, "54000", f"p_{parameter}")
    for function in RECALLS:
        for bad in (*BLANKS, "Refuse", "include ", "exclude", "x" * 1000):
            yield Case(function, {"stale": bad}, "22023", "p_stale")
    for moment in ("infinity", "-infinity", "10000-01-01 00:00+00", "294276-12-31 23:59:59+00"):
        yield Case("remember_plan", {"read_at": moment}, "22023", "p_read_at")
    yield Case("revalidate_plan", {"id": None}, "22023", "p_id")
    for name in ("unknown", "own", "foreign plan", "expired plan", "deleted plan",
                 "invisible plan"):  # fmt: skip
        yield Case("revalidate_plan", {"id": Id(name)}, "MN001", "p_id")
    for name in ("public plan", "global plan"):
        yield Case("revalidate_plan", {"id": Id(name)}, "42501", "p_id")
    for function in ("watch_table", "watch_statements"):
        for table in (None, "mnemo.memory", "mnemo.plan", "pg_stat_activity", "chunk_table_pkey"):
            yield Case(function, {"table": table}, "22023", "p_table")
        for column in (*BLANKS, "ID", '"id"', "ctid", "nothing", "x" * 1000):
            yield Case(function, {"id_column": column}, "22023", "p_id_column")
            yield Case(function, {"version_column": column}, "22023", "p_version_column")
            yield Case(function, {"org_column": column}, "22023", "p_org_column")
    yield Case("watch_table", {"id_column": None}, "22023", "p_id_column")
    yield Case("unwatch_table", {"table": None}, "22023", "p_table")


def _fares() -> Iterator[Case]:
    """How plans fare: reports, retirement, wider scopes, recalls that were logged."""
    for function in (
        "record_plan_outcome", "plan_outcomes", "retire_plan", "revive_plan", "promote_plan",
    ):  # fmt: skip
        yield Case(function, {"id": None}, "22023", "p_id")
        for name in ("unknown", "own", "foreign plan", "expired plan", "deleted plan",
                     "invisible plan"):  # fmt: skip
            yield Case(function, {"id": Id(name)}, "MN001", "p_id")
    for function in ("record_plan_outcome", "retire_plan", "revive_plan"):
        for blank in BLANKS:
            yield Case(function, {"note": blank}, "22023", "p_note")
    yield Case("record_plan_outcome", {"success": None}, "22023", "p_success")
    for score in (NAN, INF, -INF, -0.001, 1.001):
        yield Case("record_plan_outcome", {"score": score}, "22023", "p_score")
    for limit in (None, 0, -1, 1001, 2**63 - 1):
        yield Case("plan_outcomes", {"limit": limit}, "22023", "p_limit")
    yield Case("plan_outcomes", {"after": Id("unknown")}, NO_ROWS)
    for scope in (None, *BLANKS, "Public", "private", "global"):
        yield Case("promote_plan", {"scope": scope}, "22023", "p_scope")
    for recalls in (None, "{}", '"x"', "[1]", "[null]", "[{}]", '[{"reason": "hit"}]'):
        yield Case("log_recall", {"recalls": recalls}, "22023", "p_recalls")


def _plans() -> Iterator[Case]:
    for parameter in ("steps", "chunk_ids"):
        for bad in (None, [None], ["a", None], [["a"]], [["a", "b"], ["c", "d"]], "[0:0]={NULL}"):
            yield Case("remember_plan", {parameter: bad}, "22023", f"p_{parameter}")
    yield Case("remember_plan", {"steps": ["s"] * 1001}, "54000", "p_steps")
    yield Case("remember_plan", {"chunk_ids": ["c"] * 10_001}, "54000", "p_chunk_ids")
    for large in ({"steps": ["s" * 1_048_577]}, {"chunk_ids": ["c" * 200] * 10_000},
                  {"steps": ["é" * 600] * 1000},
                  {"details": json.dumps(["d" * 1_048_577])}):  # fmt: skip
        yield Case("remember_plan", large, "54000", "p_steps")
    yield Case("remember_plan", {"outcome_score": None}, "22023", "p_outcome_score")
    for score in (NAN, -INF, -1, 0, 0.49999, -0.0, 5e-324):
        yield Case("remember_plan", {"outcome_score": score}, SILENT)
        # Arguments are checked before the score.
        changes = {"outcome_score": score, "steps": [None]}
        yield Case("remember_plan", changes, "22023", "p_steps")
    for details in ("{}", "null", "1", '"x"', "[]", "[1, 2]", "[[1], [2]]"):
        yield Case("remember_plan", {"details": details}, "22023", "p_details")
    for details in (_deep(101), _deep(1000), _deep(5000)):
        yield Case("remember_plan", {"details": details}, "54000", "p_details")
    yield Case("remember_plan", {"idempotency_key": "key of a memory"}, "22023",
               "p_idempotency_key")  # fmt: skip
    yield Case("remember", {"idempotency_key": "key of a plan"}, "22023", "p_idempotency_key")


def _batches() -> Iterator[Case]:
    """remember_plans: what is no batch, then each element fault in the middle of good ones."""
    for plans in (None, "null", "{}", "1", '"x"', "true"):
        yield Case("remember_plans", {"plans": plans}, "22023", "p_plans")
    good = {"query": "x", "steps": [], "chunk_ids": [], "outcome_score": 1}
    many = json.dumps([good] * 10_001)
    yield Case("remember_plans", {"plans": many}, "54000", "p_plans")
    yield Case("remember_plans", {"plans": "[]"}, NO_ROWS)
    for element, code, parameter in ELEMENTS:
        text = f"[{json.dumps(good)}, {element}, {json.dumps(good)}]"
        yield Case("remember_plans", {"plans": text}, code, parameter)


def _element(**changes: Any) -> str:
    element = {"query": "x", "steps": ["a"], "chunk_ids": [], "outcome_score": 1} | changes
    return json.dumps({name: given for name, given in element.items() if given is not ...})


# Elements of remember_plans that are no plan.
ELEMENTS: list[tuple[str, str, str]] = [
    *((text, "22023", "p_plans") for text in ("null", "1", '"x"', "[]", "true")),
    ("{}", "22023", "p_query"), (_element(colour="red"), "22023", "p_plans"),
    (_element(p_query="x"), "22023", "p_plans"), (_element(Query="x"), "22023", "p_plans"),
    (_element(query=...), "22023", "p_query"), (_element(query=None), "22023", "p_query"),
    (_element(query="\u3000"), "22023", "p_query"), (_element(query=5), "22023", "p_query"),
    (_element(query=["x"]), "22023", "p_query"), (_element(query={}), "22023", "p_query"),
    (_element(query="x" * 100_001), "54000", "p_query"),
    (_element(query=_words(20_001)), "54000", "p_query"),
    *((_element(**{name: bad}), "22023", f"p_{name}")
      for name in ("steps", "chunk_ids")
      for bad in (..., None, "a", {}, 1, [None], ["a", None], [1], ["a", 1], [["a"]], [[]],
                  ["a", ["b"]], [["a"], ["b", "c"]], [{}], [True], ["a", {"b": "c"}])),
    *((_element(tags=bad), "22023", "p_tags")
      for bad in ("a", {}, [None], [1], [["a"]], [[]], [""], ["__experience_plan__"])),
    (_element(tags=["x"] * 101), "54000", "p_tags"),
    (_element(tags=["x" * 257]), "54000", "p_tags"),
    (_element(steps=["s"] * 1001), "54000", "p_steps"),
    (_element(chunk_ids=["c"] * 10_001), "54000", "p_chunk_ids"),
    *((_element(outcome_score=bad), "22023", "p_outcome_score")
      for bad in (..., None, "1", "NaN", True, [1], {}, 10**400)),
    (_element().replace('"outcome_score": 1', '"outcome_score": 1e-400'), "22023",
     "p_outcome_score"),
    (_element().replace('"outcome_score": 1', '"outcome_score": -1e309'), "22023",
     "p_outcome_score"),
    *((_element(**{name: bad}), "22023", f"p_{name}")
      for name in ("agent_id", "org_id") for bad in ("", " ", "*", "a b", 5, ["a"], "a" * 257)),
    *((_element(scope=bad), "22023", "p_scope")
      for bad in ("", "Public", "public ", 1, ["public"])),
    *((_element(details=bad), "22023", "p_details") for bad in ({}, 1, "x", [], [1, 2])),
    *((_element(details=json.loads(_deep(levels))), "54000", "p_details") for levels in (101, 900)),
    *((_element(ttl=bad), "22023", "p_ttl")
      for bad in (0, 5, "", " ", "0", "0 days", "-1 day", "1 day 1 day", "1 hour 12:00:00", "P",
                  "PT", "1 day ago", "infinity", "1001 years", "P1001Y", "999999 years", "5", "x",
                  ["1 day"], "1 fortnight", "1 day 2 weeks", "1 second 00:00:01", "P1D1D", "P-1D",
                  "PT1S1S", "1.5 days", "999999999999 days", "1e3 days", "25:61:00", "1  day",
                  "1 minute 1 minute", "1 day -1 day",
                  "999999 hours 999999 minutes 999999 seconds 1 year")),
    *((_element(**{name: bad}), code, f"p_{name}")
      for name in ("context", "thread_id", "source_id", "idempotency_key")
      for bad, code in (("", "22023"), ("\u00a0", "22023"), (5, "22023"), ("x" * 257, "54000"))),
    *((_element(chunk_source=bad), code, "p_chunk_source")
      for bad, code in (("\u00a0", "22023"), (5, "22023"), (["x"], "22023"), ("x" * 257, "54000"))),
    *((_element(read_at=bad), "22023", "p_read_at")
      for bad in ("", "now", "infinity", 5, "2026-01-31", "2026-01-31 10:00", "2026-02-30T00:00Z",
                  ["2026-01-31T10:00Z"])),
    (_element(embedding="[1]"), "55000", "p_embedding"), (_element(model="m"), "55000", "p_model"),
    (_element(embedding={"x": 1}), "22023", "p_embedding"),
    (_element(idempotency_key="key of a memory"), "22023", "p_idempotency_key"),
]  # fmt: skip


def _administration() -> Iterator[Case]:
    for function in ("grant_access", "bind_role", "revoke_access", "unbind_role"):
        for role in (None, *BLANKS, "no such role", "PG_MONITOR", "pg_monitor ", "public",
                     '"pg_monitor"', "x" * 1000):  # fmt: skip
            yield Case(function, {"role": role}, "22023", "p_role")
    yield Case("grant_access", {"role": "postgres"}, "22023", "p_role")
    yield Case("bind_role", {"org_id": None}, "22023", "p_org_id")
    yield Case("unbind_role", {"org_id": None}, "22023", "p_org_id")
    for changes in ({"org_id": "acme-corp"}, {"agent_id": "Bot"}, {"agent_id": None}):
        yield Case("unbind_role", changes, "22023", "p_role")
    for function in ("configure", "setting"):
        for name in (None, *BLANKS, "no such setting", "GUARD", "guard ", "*", "x" * 1000):
            yield Case(function, {"name": name}, "22023", "p_name")
    for name, bad in (("success_threshold", "NaN"), ("success_threshold", "2"), ("guard", "OFF"),
                      ("experience_memory", "yes"), ("default_agent_id", ""),
                      ("default_org_id", "*"), ("minimum_threshold", "0")):  # fmt: skip
        yield Case("configure", {"name": name, "value": bad}, "22023", "p_value")
    yield Case("configure", {"name": "default_org_id", "org_id": "acme"}, "22023", "p_org_id")
    yield Case("configure", {"name": "guard", "value": None}, Answer(1, {"": "strict"}))


def _pure() -> Iterator[Case]:
    for parameter in ("a", "b"):
        yield Case("jaccard", {parameter: None}, NULL)
        for bad in ([None], ["a", None], [["a"]], [["a", "b"], ["c", "d"]], [[None]]):
            yield Case("jaccard", {parameter: bad}, "22023", f"p_{parameter}")
        yield Case("jaccard", {parameter: []}, Answer(1, {"": 0}))
    yield Case("jaccard", {"a": [], "b": []}, Answer(1, {"": 0}))
    yield Case("signature_tokens", {"query": None}, NULL)
    yield Case("guard_tokens", {"query": None}, NO_ROWS)
    yield Case("canonical_predicate", {"text": None}, NULL)
    for blank in BLANKS:
        yield Case("signature_tokens", {"query": blank}, Answer(1, {"": []}))
        yield Case("guard_tokens", {"query": blank}, NO_ROWS)
        yield Case("canonical_predicate", {"text": blank}, Answer(1, {"": ""}))


LINE = '{"table": "memory", "row": {"id": "x"}, "sum": "0"}'


def _transfers() -> Iterator[Case]:
    """Export, import, the reader of events."""
    for bad in ("", " ", "null", "1", "{}", "[]", '{"table": "memory"}', LINE, "x" * 1000,
                '{"table": "export"}', '{"table": 1, "row": 1, "sum": 1}', "1e999999"):  # fmt: skip
        yield Case("export_records", {"last": bad}, "22023", "p_last")
    for limit in (None, 0, -1, 10_001, 2**63 - 1):
        yield Case("export_records", {"limit": limit}, "22023", "p_limit")
    yield Case("export_records", {"roles": None}, "22023", "p_roles")
    for records in (None, "null", "{}", "1", '"x"', "true"):
        yield Case("import_records", {"records": records}, "22023", "p_records")
    yield Case("import_records", {"records": json.dumps([1] * 10_001)}, "54000", "p_records")
    for line in (
        "1", "null", "[]", '"x"', "{}", LINE, LINE.replace("memory", "plan_signature"),
        LINE.replace("memory", "pg_class"), LINE.replace("memory", "x" * 300),
        LINE.replace("memory", 'a\\"; DROP'), LINE.replace('"memory"', "null"),
        LINE.replace('"0"', "0"), '{"table": "export", "row": {"format": 2}, "sum": "0"}',
        '{"table": "export", "row": {}, "sum": "0"}', '{"table": "end", "row": {}, "sum": "0"}',
    ):  # fmt: skip
        yield Case("import_records", {"records": f"[{line}]"}, "22023", "p_records")
    for moment in ("since", "until"):
        changes = {"since": "2020-01-02", "until": "2020-01-02", moment: "2020-01-02"}
        yield Case("read_events", changes, "22023", "p_until")
    yield Case("read_events", {"since": "infinity"}, NO_ROWS)
    yield Case("read_events", {"until": "-infinity"}, NO_ROWS)
    yield Case("read_events", {"types": []}, NO_ROWS)
    yield Case("read_events", {"memory_id": Id("unknown")}, NO_ROWS)
    yield Case("read_events", {"after": "00000000-0000-0000-0000-000000000000"}, NO_ROWS)


def _chains() -> Iterator[Case]:
    """The chain of events: sealing, verifying, exporting, retention, history."""
    for function in ("seal", "retain_events"):
        for limit in (None, 0, -1, 1_000_001, 2**63 - 1, -(2**63)):
            yield Case(function, {"limit": limit}, "22023", "p_limit")
    for limit in (None, 0, -1, 10_001, 2**63 - 1):
        yield Case("export_chain", {"limit": limit}, "22023", "p_limit")
    for after in (-1, -(2**63)):
        yield Case("export_chain", {"after_seq": after}, "22023", "p_after_seq")
    yield Case("export_chain", {"after_seq": 2**63 - 1}, NO_ROWS)
    for head in (b"", b"x", bytes(31), bytes(33), bytes(100_000)):
        yield Case("verify_chain", {"expected_head": head}, "22023", "p_expected_head")
    yield Case("verify_chain", {"expected_head": b"x" * 32}, Answer(1, {"ok": False}))
    for before in (None, "infinity", "9999-01-01"):
        yield Case("retain_events", {"before": before}, "22023", "p_before")
    yield Case("retain_events", {"before": "-infinity"}, NO_ROWS)
    for function in ("retain_events", "chain_heads"):
        yield Case(
            function,
            {"org_id": "default ", "before": "2020-01-01"}
            if function == "retain_events"
            else {"org_id": "*"},
            "22023",
            "p_org_id",
        )
    yield Case("chain_heads", {"org_id": "none"}, NO_ROWS)
    yield Case("history", {"id": None}, "22023", "p_id")
    for name in ("unknown", "foreign", "invisible", "foreign plan", "invisible plan"):
        yield Case("history", {"id": Id(name)}, "MN001", "p_id")
    yield Case("history", {"id": Id("own"), "agent_id": "bob"}, "MN001", "p_id")
    yield Case("history", {"id": Id("own"), "org_id": "acme"}, "MN001", "p_id")


def _writing() -> Iterator[Case]:
    """Batches, changes and rules against poisoning; tests/write goes into what they hold."""
    for bad in (None, "null", "5", "{}", '"x"'):
        yield Case("remember_many", {"records": bad}, "22023", "p_records")
    yield Case("remember_many", {"records": json.dumps([{}] * 10_001)}, "54000", "p_records")
    for label in (None, *BLANKS, "nonsense", "SKIP"):
        yield Case("remember_many", {"on_error": label}, "22023", "p_on_error")
    for bad in (None, "null", "5", "[]", "{}", '{"nonsense": 1}', '{"content": null}'):
        yield Case("update_memory", {"changes": bad}, "22023", "p_changes")
    for version in (0, -1, -(2**63)):
        yield Case("update_memory", {"expected_version": version}, "22023", "p_expected_version")
    for version in (2, 2**63 - 1):
        yield Case("update_memory", {"expected_version": version}, "MN002", "p_expected_version")
    for function in ("update_memory", "release", "purge"):
        yield Case(function, {"id": None}, "22023", "p_id")
        for name in ("unknown", "foreign", "deleted", "deleted plan"):
            yield Case(function, {"id": Id(name)}, "MN001", "p_id")
    for name in ("expired", "archived", "held back", "invisible", "invisible plan"):
        yield Case("update_memory", {"id": Id(name)}, "MN001", "p_id")
    for name in ("public", "global"):
        yield Case("update_memory", {"id": Id(name)}, "42501", "p_id")
    for function in ("release", "purge"):
        yield Case(function, {"id": Id("own")}, "MN001", "p_id")
        for blank in BLANKS:
            yield Case(function, {"note": blank}, "22023", "p_note")
        yield Case(function, {"note": "n" * 10_001}, "54000", "p_note")
    for limit in (None, 0, -1, 1001):
        yield Case("quarantined", {"limit": limit}, "22023", "p_limit")
    yield Case("quarantined", {"after": "00000000-0000-0000-0000-000000000000"}, NO_ROWS)
    for function in ("set_poisoning_rule", "remove_poisoning_rule"):
        for name in (None, *BLANKS, "Gold", "g-1", "1g", "g" * 64):
            yield Case(function, {"name": name}, "22023", "p_name")
    for pattern in (None, *BLANKS, "(", "x*", "Gold", "(a)\\1", "(?=a)b", "a{51}"):
        yield Case("set_poisoning_rule", {"pattern": pattern}, "22023", "p_pattern")
    yield Case("set_poisoning_rule", {"pattern": "x" * 1001}, "54000", "p_pattern")
    for weight in (None, NAN, INF, -0.1, 1.1):
        yield Case("set_poisoning_rule", {"weight": weight}, "22023", "p_weight")
    for sources in ([], [None], ["nonsense"], [["agent"]], ["agent", "PLAN"]):
        yield Case("set_poisoning_rule", {"applies_to": sources}, "22023", "p_applies_to")
    yield Case("set_poisoning_rule", {"enabled": None}, "22023", "p_enabled")


CRITERIA = (
    None, "null", "1", "[]", "{}", '{"nonsense": 1}', '{"Tags": ["a"]}', '{"ids": []}',
    *(f'{{"{key}": {bad}}}' for key in ("tags", "types", "source_types")
      for bad in ("null", '"a"', "[]", "[1]", "[null]", "[[]]", '[""]', '["a", " "]', "{}")),
    '{"types": ["nonsense"]}', '{"source_types": ["Agent"]}', '{"tags": ["a"], "types": ["x"]}',
    *(f'{{"{key}": {bad}}}' for key in ("thread", "source", "before")
      for bad in ("null", "1", '""', '" "', "[]", '["a"]')),
    *(f'{{"before": "{bad}"}}' for bad in ("now", "infinity", "2020-13-01", "2020-01-01T25:00Z",
                                           "2020-01-01 12:00", "1.1.2020", "20200101")),
)  # fmt: skip


def _forgetting() -> Iterator[Case]:
    """By criteria and by person, the sweep, what was read."""
    for criteria in CRITERIA:
        yield Case("forget_where", {"criteria": criteria}, "22023", "p_criteria")
    for long in ({"tags": ["a"] * 101}, {"tags": ["a" * 257]}, {"thread": "a" * 257}):
        yield Case("forget_where", {"criteria": json.dumps(long)}, "54000", "p_criteria")
    for limit in (0, -1, 1_000_001, -(2**63)):
        yield Case("forget_where", {"limit": limit}, "22023", "p_limit")
    for subject in (None, *BLANKS):
        yield Case("forget_subject", {"subject": subject}, "22023", "p_subject")
    for subject in ("x" * 257, "é" * 257, "x" * 1_000_000):
        yield Case("forget_subject", {"subject": subject}, "54000", "p_subject")
    for subject in ("%", "*", "own", "g", "'; DROP"):
        yield Case("forget_subject", {"subject": subject}, Answer(8, {"erased": 0}))
    for limit in (None, 0, -1, 10_001, 2**63 - 1):
        yield Case("sweep", {"limit": limit}, "22023", "p_limit")
    for moment in ("infinity", "-infinity"):
        yield Case("sweep", {"now": moment}, "22023", "p_now")
    for query in BLANKS:
        yield Case("log_read", {"query": query}, "22023", "p_query")
    yield Case("log_read", {"query": "x" * 100_001}, "54000", "p_query")


def _delegations() -> Iterator[Case]:
    for agent in (None, *BAD_NAMES, "default"):
        yield Case("delegate", {"to_agent": agent}, "22023", "p_to_agent")
    for tag in BLANKS:
        yield Case("delegate", {"tag": tag}, "22023", "p_tag")
    yield Case("delegate", {"tag": "x" * 257}, "54000", "p_tag")
    yield Case("delegate", {"tag": "a", "ids": [Id("own")]}, "22023", "p_tag")
    yield Case("delegate", {"ids": [Id("own")] * 1001}, "54000", "p_ids")
    for depth in (None, -1, 11, 2**63 - 1):
        yield Case("delegate", {"max_depth": depth}, "22023", "p_max_depth")
    yield Case("revoke_delegation", {"id": None}, "22023", "p_id")
    for name in ("unknown", "own", "foreign delegation", "delegation of others"):
        yield Case("revoke_delegation", {"id": Id(name)}, "MN001", "p_id")
    for who in ({"agent_id": "carol"}, {"org_id": "acme"}):
        yield Case("revoke_delegation", who, "MN001", "p_id")
    yield Case("delegations", {"after": "00000000-0000-0000-0000-000000000000"}, NO_ROWS)
    yield Case("delegations", {"agent_id": "carol"}, NO_ROWS)


def _planning() -> Iterator[Case]:
    """Texts to plan the retrieval of, and maps of memory."""
    yield Case("plan_retrieval", {"text": None}, "22023", "p_text")
    yield Case("plan_retrieval", {"text": "x" * 100_001}, "54000", "p_text")
    for parameter in ("turn_id", "generation"):
        for bad in (None, -1, -(2**63)):
            yield Case("plan_retrieval", {parameter: bad}, "22023", f"p_{parameter}")
    for moment in ("infinity", "-infinity", "10000-01-01 00:00+00"):
        yield Case("plan_retrieval", {"now": moment}, "22023", "p_now")
    for function in ("retrieve", "explain_retrieval", "retrieval_plan_result_key"):
        for temporal in (None, *BLANKS, "Filter", "ignore"):
            yield Case(function, {"temporal": temporal}, "22023", "p_temporal")
    for function in ("memory_map", "retrieve", "explain_retrieval", "retrieval_plan_result_key"):
        for limit in (None, 0, -1, 1001, 2**63 - 1, -(2**63)):
            yield Case(function, {"limit": limit}, "22023", "p_limit")
    for function in (
        "normalize_retrieval_plan", "retrieval_plan_cache_key", "retrieval_plan_result_key",
        "retrieve", "explain_retrieval",
    ):  # fmt: skip
        for plan in (None, "null", "[]", "1", "{}", '{"turn_id": 0}', '{"generation": 0}',
                     '{"turn_id": -1, "generation": 0}', '{"turn_id": 0, "generation": 1.5}',
                     '{"turn_id": 0, "generation": 0, "topics": "x"}',
                     '{"turn_id": 0, "generation": 0, "intent": "x"}'):  # fmt: skip
            yield Case(function, {"plan": plan}, "22023", "p_plan")
    for parameter in ("turn_id", "generation"):
        for bad in (None, -1, -(2**63)):
            yield Case("skip_retrieval_plan", {parameter: bad}, "22023", f"p_{parameter}")
    yield Case("skip_retrieval_plan", {"transcript": "x" * 10}, Answer(1, {}))
    yield Case("stable_hash", {"text": None}, NULL)


def _upkeep() -> Iterator[Case]:
    for limit in (None, 0, -1, 100_001, 2**63 - 1):
        yield Case("rebuild_signatures", {"limit": limit}, "22023", "p_limit")
    for function in ("enable_vectors", "disable_vectors"):
        for model in (None, *BLANKS):
            yield Case(function, {"model": model}, "22023", "p_model")
        for model in ("m" * 257, "é" * 257):
            yield Case(function, {"model": model}, "54000", "p_model")
    for model in ("nobody's", "m' OR true --", "M"):
        yield Case("disable_vectors", {"model": model}, "55000", "p_model")
    for dimensions in (None, 0, -1, 16_001, 2**63 - 1):
        yield Case("enable_vectors", {"dimensions": dimensions}, "22023", "p_dimensions")


CASES: list[Case] = [
    *_planning(),
    *_names(), *_labels(), *_texts(), *_lists(), *_numbers(), *_times(), *_ids(), *_agents(),
    *_sources(), *_fares(), *_contents(), *_plans(), *_failures(), *_batches(),
    *_administration(), *_pure(),
    *_transfers(),
    *_chains(), *_writing(), *_forgetting(), *_delegations(), *_upkeep(),
]  # fmt: skip


# ---- the database that the calls are made against


class World(NamedTuple):
    """A database with records of every fate, their ids by name, and what its tables hold."""

    conn: psycopg.Connection
    ids: dict[str, UUID]
    held: dict[str, tuple[int, str]]

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """After the block no table has another row than before it."""
        before = dict(self.held)
        try:
            yield
        finally:
            # One call that writes is one failure, not one of every case after it.
            self.held.update(contents(self.conn))
        assert self.held == before


@pytest.fixture(scope="module")
def world(server: Server, template: str) -> Iterator[World]:
    """Nothing may be added to it by a case."""
    dsn = server.create_database("test_bad_input", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE chunk_table (id text PRIMARY KEY)")
        ids = {"unknown": UNKNOWN}
        kinds: dict[str, dict[str, Any]] = {
            "own": {}, "foreign": {"org_id": "acme"}, "expired": {"ttl": "1 microsecond"},
            "deleted": {}, "invisible": {"agent_id": "alice"},
            "public": {"agent_id": "alice", "scope": "public"},
            "global": {"agent_id": "alice", "scope": "global"},
        }  # fmt: skip
        for name, fields in kinds.items():
            ids[name] = row(conn, "remember", content=name, **fields)["id"]
            plan = "plan" if name == "own" else f"{name} plan"
            ids[plan] = row(conn, "remember_plan", query=f"the {plan}", steps=["a"], chunk_ids=[],
                            outcome_score=1, **fields)["id"]  # fmt: skip
        for name in ("held back", "archived"):
            ids[name] = row(conn, "remember", content=name)["id"]
        ids["own global"] = row(conn, "remember", content="g", scope="global")["id"]
        rows(conn, "forget", ids=[ids["deleted"], ids["deleted plan"]])
        conn.execute(
            "UPDATE mnemo.memory SET quarantined = true WHERE id = %s", (ids["held back"],)
        )
        conn.execute(
            "UPDATE mnemo.memory SET consolidation_state = 'archived' WHERE id = %s",
            (ids["archived"],),
        )
        row(conn, "remember", content="k", idempotency_key="key of a memory")
        row(conn, "remember_plan", query="k", steps=[], chunk_ids=[], outcome_score=1,
            idempotency_key="key of a plan")  # fmt: skip
        for name, who in (
            ("delegation", {}), ("foreign delegation", {"org_id": "acme"}),
            ("delegation of others", {"agent_id": "alice"}),
        ):  # fmt: skip
            ids[name] = value(conn, "delegate", to_agent="bob", **who)
        value(conn, "bind_role", role="pg_monitor", org_id="acme", agent_id="bot")
        yield World(conn, ids, contents(conn))
    server.drop_database("test_bad_input")


def _resolved(given: Any, ids: dict[str, UUID]) -> Any:
    if isinstance(given, Id):
        return ids[given]
    if isinstance(given, list):
        return [_resolved(item, ids) for item in given]
    return given


def _arguments(case: Case, ids: dict[str, UUID]) -> dict[str, Any]:
    return {
        name: _resolved(given, ids) for name, given in (GOOD[case.function] | case.changes).items()
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input(world: World, case: Case) -> None:
    arguments = _arguments(case, world.ids)
    with world.untouched():
        if isinstance(case.expected, Answer):
            found = rows(world.conn, case.function, **arguments)
            assert len(found) == case.expected.count
            for name, expected in case.expected.first.items():
                shown = found[0][name] if name else next(iter(found[0].values()))
                assert shown == expected
            return
        with refused(case.expected, case.parameter) as seen:
            rows(world.conn, case.function, **arguments)
    assert case.parameter is not None
    named = case.parameter.removeprefix("p_")
    if case.expected in ("22023", "54000", "55000"):
        # A batch names the keys of its elements; a value of a setting is named by the setting.
        others = {
            "value": str(arguments.get("name")),
            "plans": "element 2: ",
            "recalls": "element 1: ",
            "records": "element 1: ",
        }
        assert named in seen.message or others.get(named, named) in seen.message, seen.message
    assert len(seen.message) < 1000


# ---- that the table is complete, and that its calls are good but for the change


def test_every_parameter_of_every_public_function_has_a_case(world: World) -> None:
    public = world.conn.execute(
        "SELECT p.proname, p.proargnames[1:p.pronargs] FROM pg_proc AS p"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND left(p.proname, 1) <> '_'"
    ).fetchall()
    assert sorted(name for name, _ in public) == sorted(GOOD)
    # A boolean has no bad value, and NULL is one of three.
    harmless = {("recall", "tags_all")}
    missing = {
        (function, parameter.removeprefix("p_"))
        for function, parameters in public
        for parameter in parameters or ()
    } - harmless
    for case in CASES:
        missing -= {(case.function, parameter) for parameter in case.changes}
    assert missing == set()


@pytest.mark.parametrize("function", GOOD)
def test_the_unchanged_call_is_good(world: World, function: str) -> None:
    arguments = _arguments(Case(function, {}, ""), world.ids)
    with world.conn.transaction(force_rollback=True):
        if function in ("enable_vectors", "disable_vectors"):
            if not scalar(world.conn, _PGVECTOR):
                pytest.skip("this server has no pgvector")
            world.conn.execute("CREATE EXTENSION vector")
        if function == "disable_vectors":
            rows(world.conn, "enable_vectors", **GOOD["enable_vectors"])
        rows(world.conn, function, **arguments)


_PGVECTOR = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"


@pytest.mark.parametrize(
    ("function", "changes"),
    [
        ("remember", {"metadata": f'{{"a": {_deep(99)}}}'}),
        ("remember", {"metadata": '{"a":' * 100 + "1" + "}" * 100}),
        ("remember_plan", {"details": _deep(100)}), ("remember_plan", {"steps": ["s"] * 1000}),
        ("remember_plan", {"chunk_ids": ["c"] * 10_000}), ("remember_plan", {"steps": []}),
        ("remember_plan", {"query": "x" * 100_000}), ("remember_plan", {"query": _words(20_000)}),
        ("remember_plan", {"outcome_score": INF}), ("remember_plan", {"steps": ["", " "]}),
        ("recall_plan", {"query": "x" * 100_000}), ("recall_plan", {"query": _words(20_000)}),
        ("recall_plan", {"similarity_threshold": 0.3}),
        ("recall_plan", {"similarity_threshold": 1}),
        ("recall", {"limit": 1000}), ("recall", {"tags": ["x" * 256] * 100}),
        ("share", {"to_agents": [f"a{n}" for n in range(10_000)]}),
        ("share", {"ttl": "1000 years"}),
        ("remember", {"ttl": "1 microsecond"}), ("remember", {"ttl": "1000 years"}),
        ("remember", {"valid_from": "4714-11-24 00:00+00 BC"}),
        ("remember", {"valid_to": "9999-12-31 23:59:59.999999+00"}),
        ("remember", {"tags": ["__EXPERIENCE_PLAN__", " __experience_plan__"]}),
        ("remember", {"metadata": '{"a": {"experience_plan": 1}}'}), ("remember", {"tags": []}),
        ("get_memories", {"ids": [Id("own")] * 10_000}), ("list_plans", {"limit": 1000}),
        ("touch", {"ids": [Id("own")] * 10_000}), ("log_read", {"query": "x" * 100_000}),
        ("delegate", {"ids": [Id("own")] * 1000, "max_depth": 10}), ("sweep", {"limit": 10_000}),
        ("forget_where", {"criteria": '{"before": "2020-02-29"}', "limit": 1_000_000}),
    ],
    ids=str,
)  # fmt: skip
def test_the_bounds_themselves_are_good(
    world: World, function: str, changes: dict[str, Any]
) -> None:
    arguments = _arguments(Case(function, changes, ""), world.ids)
    with world.conn.transaction(force_rollback=True):
        rows(world.conn, function, **arguments)


def test_an_infinite_interval_is_refused(world: World) -> None:
    """PostgreSQL 17 has one; before it the literal itself is an error of the server."""
    if world.conn.info.server_version < 170000:
        pytest.skip("this server has no infinite interval")
    for function in ("remember", "share", "remember_plan"):
        for bad in ("infinity", "-infinity"):
            with refused("22023", "p_ttl"):
                rows(
                    world.conn, function, **_arguments(Case(function, {"ttl": bad}, ""), world.ids)
                )


# ---- batches that go on


def test_a_bad_element_never_loses_the_others(world: World) -> None:
    """With skip, every element gets its row: the bad one its error, the good ones their ids."""
    good = {"steps": [], "chunk_ids": [], "outcome_score": 1}
    for element, code, parameter in ELEMENTS:
        plans = [json.dumps(good | {"query": "first"}), element,
                 json.dumps(good | {"query": "last"})]  # fmt: skip
        with world.conn.transaction(force_rollback=True):
            found = rows(world.conn, "remember_plans", plans=f"[{', '.join(plans)}]",
                         on_error="skip")  # fmt: skip
            assert [r["position"] for r in found] == [1, 2, 3]
            assert [r["stored"] for r in found] == [True, False, True], element[:200]
            assert [r["status"] for r in found] == ["stored", "failed", "stored"]
            assert found[1]["id"] is None
            assert found[1]["error"].startswith(f"{code}: "), element[:200]
            assert parameter.removeprefix("p_") in found[1]["error"] or parameter == "p_plans"
            assert (found[0]["error"], found[2]["error"]) == (None, None)
            for place, query in ((0, "first"), (2, "last")):
                assert row(world.conn, "get_plan", id=found[place]["id"])["query"] == query


def test_an_aborted_batch_names_its_first_bad_element(world: World) -> None:
    """By position, whatever order the elements are worked on; nothing of it is stored."""
    elements = [
        _element(idempotency_key="z"), _element(steps=None, idempotency_key="y"), _element(),
        _element(query=None, idempotency_key="a"), _element(scope="x"),
    ]  # fmt: skip
    for place in (2, 4, 5):
        with world.untouched(), refused("22023") as seen:
            rows(world.conn, "remember_plans", plans=f"[{', '.join(elements)}]")
        assert seen.detail is not None
        assert seen.detail["position"] == place
        assert f"element {place}" in seen.message
        elements[place - 1] = _element()


# ---- the order of checks: access, mode, arguments, limits, then the operation


@pytest.mark.parametrize(
    ("function", "changes", "expected"),
    [
        # mode before arguments
        ("remember_plan", {"query": None, "steps": None, "org_id": "off"}, "55000"),
        ("remember_plan", {"query": "x" * 100_001, "org_id": "off"}, "55000"),
        ("remember_plan", {"scope": "nonsense", "org_id": "off"}, "55000"),
        ("remember_plan", {"agent_id": "", "org_id": "off"}, "55000"),
        # arguments before limits
        ("remember", {"content": "x" * 1_048_577, "kind": "nonsense"}, "22023"),
        ("remember", {"tags": ["x"] * 101, "importance": NAN}, "22023"),
        ("remember", {"tags": ["x"] * 101, "metadata": "[]"}, "22023"),
        ("remember", {"subject": "x" * 257, "location": " "}, "22023"),
        ("remember", {"idempotency_key": "x" * 257, "content": None}, "22023"),
        ("remember_plan", {"query": "x" * 100_001, "steps": None}, "22023"),
        ("remember_plan", {"steps": ["s"] * 1001, "scope": "nonsense"}, "22023"),
        ("remember_plan", {"steps": ["s"] * 1001, "details": "{}"}, "22023"),
        ("recall_plan", {"query": "x" * 100_001, "similarity_threshold": NAN}, "22023"),
        ("recall_plans", {"query": _words(20_001), "limit": 0}, "22023"),
        ("recall", {"query": "x" * 100_001, "strategy": "nonsense"}, "22023"),
        ("recall", {"tags": ["x"] * 101, "min_importance": NAN}, "22023"),
        ("forget", {"ids": [UNKNOWN] * 10_001, "strategy": "nonsense"}, "22023"),
        ("share", {"to_agents": ["b"] * 10_001, "permission": "nonsense"}, "22023"),
        ("remember_plans", {"plans": json.dumps([1] * 10_001), "on_error": "nonsense"}, "22023"),
        # limits and arguments before the operation
        ("forget", {"ids": [UNKNOWN], "strategy": "nonsense"}, "22023"),
        ("forget", {"ids": [UNKNOWN] * 10_001}, "54000"),
        ("share", {"id": UNKNOWN, "permission": "nonsense"}, "22023"),
        ("share", {"id": UNKNOWN, "to_agents": ["b"] * 10_001}, "54000"),
        ("unshare", {"id": UNKNOWN, "from_agents": []}, "22023"),
    ],
    ids=lambda given: str(given)[:60],
)  # fmt: skip
def test_order_of_checks(
    world: World, function: str, changes: dict[str, Any], expected: str
) -> None:
    with world.conn.transaction(force_rollback=True):
        value(world.conn, "configure", name="experience_memory", value="off", org_id="off")
        arguments = _arguments(Case(function, changes, ""), world.ids)
        with refused(expected):
            rows(world.conn, function, **arguments)


def test_a_forged_payload_is_never_written(world: World) -> None:
    """The table itself refuses a record whose tag, key, type and source are out of step."""
    payload = scalar(
        world.conn, "SELECT metadata FROM mnemo.memory WHERE id = %s", world.ids["plan"]
    )
    broken: list[Any] = [
        {"experience_plan": payload["experience_plan"] | {"signature_tokens": [["a"]]}},
        {"experience_plan": payload["experience_plan"] | {"signature_tokens": []}},
        {"experience_plan": payload["experience_plan"] | {"steps": ["a", ["b"]]}},
        {"experience_plan": payload["experience_plan"] | {"chunk_ids": [1]}},
        {"experience_plan": payload["experience_plan"] | {"outcome_score": "1"}},
        {"experience_plan": None}, {"experience_plan": []}, {},
    ]  # fmt: skip
    for metadata in broken:
        with pytest.raises(psycopg.errors.CheckViolation):
            world.conn.execute(
                "UPDATE mnemo.memory SET metadata = %s WHERE id = %s",
                (json.dumps(metadata), world.ids["plan"]),
            )
    for change in ("tags = '{}'", "memory_type = 'episodic'", "source_type = 'agent'"):
        with pytest.raises(psycopg.errors.CheckViolation):
            world.conn.execute(
                f"UPDATE mnemo.memory SET {change} WHERE id = %s",  # type: ignore[arg-type]
                (world.ids["plan"],),
            )
    for change in ("tags = '{__experience_plan__}'", """metadata = '{"experience_plan": {}}'"""):
        with pytest.raises(psycopg.errors.CheckViolation):
            world.conn.execute(
                f"UPDATE mnemo.memory SET {change} WHERE id = %s",  # type: ignore[arg-type]
                (world.ids["own"],),
            )
