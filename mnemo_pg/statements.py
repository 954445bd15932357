"""The text of every call: one builder a public SQL function, and no other SQL in the wrapper.

A builder checks and converts its arguments (`_wire`) and returns a `Statement`: constant SQL in
named notation, the parameters, and the shape of the answer. Building does no input or output, so a
statement also runs on anything else that takes psycopg's placeholders and gives rows by name.
Names, order and defaults are those of the SQL function without `p_`; None is SQL's NULL. The
clients' methods take their signatures and docstrings from here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from types import UnionType
from typing import Any, Generic, LiteralString, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemo_pg import _wire
from mnemo_pg.errors import ArgumentError
from mnemo_pg.retrieval import RetrievalPlan, plan_json
from mnemo_pg.types import (
    BatchResult,
    ChainHead,
    ChainLine,
    ChainVerification,
    Delegation,
    DuplicatePlans,
    Erased,
    Event,
    EventType,
    ExportedRecord,
    Failure,
    FailureMatch,
    ForgetStrategy,
    Forgotten,
    Grant,
    Guard,
    GuardToken,
    HealthCheck,
    ImportedRecord,
    InvalidatedChunks,
    Judged,
    Kind,
    Level,
    LoggedRead,
    Memory,
    MemoryStatus,
    MemoryType,
    NewMemory,
    NewPlan,
    OnError,
    Permission,
    Plan,
    PlanExplanation,
    PlanFare,
    PlanMatch,
    PlanReport,
    PoisoningRule,
    PromotedPlan,
    QuarantinedRecord,
    RecalledMemory,
    RecallStrategy,
    Remembered,
    RememberedPlan,
    RetainedChain,
    RetiredPlan,
    RetrievalExplanation,
    RetrievalTemporal,
    RetrievedMemory,
    RevalidatedPlan,
    Revocation,
    Scope,
    SourceType,
    StaleMode,
    Swept,
    TemporalScope,
    Touched,
    Updated,
    VectorDistance,
    WatchStatement,
)

T = TypeVar("T")
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Statement(Generic[T]):
    """One call: the text, its parameters by name, and what makes the rows into the answer."""

    sql: LiteralString
    params: Mapping[str, Any]
    shape: Callable[[Rows], T]


# A parameter's name decides how it travels: the same name has the same type in every function.
_NAMES: dict[Callable[[str, object], Any], str] = {
    _wire.text: "agent_id chunk_source content context created_by distance guard id_column"
    " idempotency_key kind last level location memory_type model name note on_error org_id pattern"
    " permission predicate query reason role scope source source_id source_type stale status"
    " strategy subject tag temporal temporal_scope text thread_id to_agent transcript value"
    " version_column org_column",
    _wire.table: "table",
    _wire.texts: "a aliases applies_to b chunk_ids entities from_agents source_types steps tags"
    " to_agents types",
    _wire.uuid: "after id memory_id after_other",
    _wire.uuids: "ids",
    _wire.number: "confidence importance min_importance outcome_score score similarity_threshold"
    " threshold weight",
    _wire.integer: "after_seq dimensions expected_version generation limit max_depth turn_id",
    _wire.binary: "expected_head",
    _wire.boolean: "enabled roles success tags_all",
    _wire.moment: "as_of before now read_at since until valid_from valid_to",
    _wire.interval: "ttl",
    _wire.vector: "embedding",
    _wire.json_object: "changes metadata weights",
    _wire.criteria: "criteria",
    _wire.json_list: "details plans",
    _wire.json_lines: "records",
    _wire.recalls: "recalls",
    plan_json: "plan",
}
CONVERTERS = {name: convert for convert, names in _NAMES.items() for name in names.split()}


def _params(arguments: Mapping[str, object]) -> dict[str, Any]:
    """A builder's arguments as it got them (its `locals()`), under SQL's names and converted."""
    return {
        f"p_{name}": None if value is None else CONVERTERS[name](name, value)
        for name, value in arguments.items()
    }


def _label(labels: Mapping[str, StrEnum], value: str | None) -> str | None:
    return None if value is None else labels.get(value, value)


def _utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _tuple(value: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


def _readers(record: type[object]) -> list[tuple[str, Callable[[Any], Any]]]:
    """What to do to which column, by the types of the record's fields."""
    found: list[tuple[str, Callable[[Any], Any]]] = []
    for name, hint in get_type_hints(record).items():
        for kind in get_args(hint) if get_origin(hint) is UnionType else (hint,):
            if get_origin(kind) is tuple:
                found.append((name, _tuple))
            elif kind is datetime:
                found.append((name, _utc))
            elif isinstance(kind, type) and issubclass(kind, StrEnum):
                found.append((name, partial(_label, {label.value: label for label in kind})))
    return found


def _many(record: type[T]) -> Callable[[Rows], list[T]]:
    readers = _readers(record)

    def shape(rows: Rows) -> list[T]:
        answer = []
        for row in rows:
            values = dict(row)
            for name, read in readers:
                values[name] = read(values[name])
            answer.append(record(**values))
        return answer

    return shape


def _one(record: type[T]) -> Callable[[Rows], T]:
    many = _many(record)
    return lambda rows: many(rows)[0]


def _value(rows: Rows) -> Any:
    return rows[0]["value"]


def _texts(rows: Rows) -> tuple[str, ...]:
    return _tuple(_value(rows))


def _nothing(rows: Rows) -> None:
    return None


def _retrieval_plan(rows: Rows) -> RetrievalPlan:
    return RetrievalPlan.from_jsonb(_value(rows))


_remembered = _one(Remembered)
_memories = _many(Memory)
_recalled = _many(RecalledMemory)
_retrieved = _many(RetrievedMemory)
_retrieval_explanations = _many(RetrievalExplanation)
_forgotten = _many(Forgotten)
_erased = _many(Erased)
_swept = _many(Swept)
_touched = _many(Touched)
_logged = _many(LoggedRead)
_grants = _many(Grant)
_revocations = _many(Revocation)
_delegations = _many(Delegation)
_remembered_plan = _one(RememberedPlan)
_batch = _many(BatchResult)
_updated = _one(Updated)
_quarantined = _many(QuarantinedRecord)
_judged = _one(Judged)
_rules = _many(PoisoningRule)
_match = _one(PlanMatch)
_failures = _many(FailureMatch)
_duplicates = _many(DuplicatePlans)
_failure_list = _many(Failure)
_matches = _many(PlanMatch)
_explanations = _many(PlanExplanation)
_guard_tokens = _many(GuardToken)
_plan = _one(Plan)
_plans = _many(Plan)
_fare = _one(PlanFare)
_reports = _many(PlanReport)
_retired = _one(RetiredPlan)
_promoted = _one(PromotedPlan)
_invalidated = _one(InvalidatedChunks)
_revalidated = _one(RevalidatedPlan)
_watch_statements = _many(WatchStatement)
_exported = _many(ExportedRecord)
_imported = _many(ImportedRecord)
_events = _many(Event)
_verified = _one(ChainVerification)
_heads = _many(ChainHead)
_checks = _many(HealthCheck)
_retained = _many(RetainedChain)
_chain_lines = _many(ChainLine)

SNAPSHOT: LiteralString = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""The first statement of a transaction that sees one state of the database."""

BEGIN: LiteralString = "SELECT"
"""The least statement, for drivers that begin a transaction at the first one."""

BACKEND: LiteralString = "SELECT pg_catalog.pg_backend_pid()"
"""The server process that does the work: a pooler announces another one."""


def method_signature(build: Callable[..., Any]) -> inspect.Signature:
    """The signature of the method made from a builder: `self` in front, the answer's type."""
    signature = inspect.signature(build)
    answer = str(signature.return_annotation).removeprefix("Statement[").removesuffix("]")
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return signature.replace(
        parameters=[me, *signature.parameters.values()], return_annotation=answer
    )


# Administration


def version() -> Statement[str]:
    """The version of mnemo_pg that is installed in the database."""
    return Statement("SELECT mnemo.version() AS value", {}, _value)


def configure(name: str, value: str | None, *, org_id: str | None = None) -> Statement[str | None]:
    """Set a setting for the database, or for one organisation, and return what now holds.

    `value` None goes back to the default. Needs level admin. `ArgumentError` for an unknown name
    or a value out of range.

        m.configure("experience_memory", "on")
    """
    return Statement(
        "SELECT mnemo.configure(p_name => %(p_name)s, p_value => %(p_value)s,"
        " p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def setting(name: str, *, org_id: str | None = None) -> Statement[str | None]:
    """What holds for the organisation: its own value of a setting, the database's, the default."""
    return Statement(
        "SELECT mnemo.setting(p_name => %(p_name)s, p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def grant_access(role: str, level: Level | str) -> Statement[None]:
    """Let a database role use mnemo_pg: `application` may name any agent and organisation, `tenant`
    only what `bind_role` bound it to, `admin` may administer. Needs level admin."""
    return Statement(
        "SELECT mnemo.grant_access(p_role => %(p_role)s, p_level => %(p_level)s) AS value",
        _params(locals()),
        _nothing,
    )


def revoke_access(role: str) -> Statement[None]:
    """Take back what `grant_access` gave. Needs level admin."""
    return Statement(
        "SELECT mnemo.revoke_access(p_role => %(p_role)s) AS value", _params(locals()), _nothing
    )


def bind_role(role: str, org_id: str, *, agent_id: str | None = None) -> Statement[None]:
    """Bind a tenant's role to an organisation and an agent; `agent_id` None: any agent of it.

    The client's own `agent_id` and `org_id` play no part here. Needs level admin.
    """
    return Statement(
        "SELECT mnemo.bind_role(p_role => %(p_role)s, p_org_id => %(p_org_id)s,"
        " p_agent_id => %(p_agent_id)s) AS value",
        _params(locals()),
        _nothing,
    )


def unbind_role(role: str, org_id: str, *, agent_id: str | None = None) -> Statement[None]:
    """Take back exactly the binding that `bind_role` made with the same arguments."""
    return Statement(
        "SELECT mnemo.unbind_role(p_role => %(p_role)s, p_org_id => %(p_org_id)s,"
        " p_agent_id => %(p_agent_id)s) AS value",
        _params(locals()),
        _nothing,
    )


def export_records(
    *,
    org_id: str | None = None,
    last: str | None = None,
    limit: int = 1000,
    roles: bool = False,
) -> Statement[list[ExportedRecord]]:
    """A page of an export: lines of JSON with everything that is stored, to be kept as they are.

    `org_id` None exports all organisations; the client's own plays no part here. `last` is the last
    `record` of the page before; no row at all means that the export is complete. `roles` adds the
    levels and bindings of roles. `mnemo_pg.transfer.export_lines` pages in one transaction, which
    makes the lines one state of the database. Needs level admin.
    """
    return Statement(
        "SELECT rank, record FROM mnemo.export_records(p_org_id => %(p_org_id)s,"
        " p_last => %(p_last)s, p_limit => %(p_limit)s, p_roles => %(p_roles)s) ORDER BY rank",
        _params(locals()),
        _exported,
    )


def import_records(
    records: Iterable[str], *, on_error: OnError | str = OnError.ABORT
) -> Statement[list[ImportedRecord]]:
    """Write lines of an export as they are: ids, hashes and times kept. Up to 10,000 in one call.

    What is there already is left alone (status `present`). A line that was changed, whose
    content hash is wrong, or that differs from what is there, fails the call with `ArgumentError`;
    with `skip` it is reported in its result and the others are written. Needs level admin. Plans
    and memories of your own are stored with `remember_plans` and `remember`.
    """
    return Statement(
        "SELECT position, record, status, error FROM mnemo.import_records("
        "p_records => %(p_records)s, p_on_error => %(p_on_error)s) ORDER BY position",
        _params(locals()),
        _imported,
    )


def read_events(
    *,
    types: Iterable[EventType | str] | None = None,
    memory_id: UUID | str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 100,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Event]]:
    """The log of changes of one organisation, newest first, with its notes.

    Filters hold together, and None is no filter: `types` any of these, `memory_id` the record,
    `since` (inclusive) and `until` (exclusive) when it happened, `agent_id` the owner. `org_id` is
    the owners' organisation, None the setting `default_org_id`; the client's own plays no part.
    `after` is the last id of the page before. Needs level admin.
    """
    return Statement(
        "SELECT rank, id, org_id, agent_id, event_type, memory_org_id, memory_id, actor_org_id,"
        " actor_agent_id, happened_at, content_hash, changes, note, seq, hash"
        " FROM mnemo.read_events(p_types => %(p_types)s, p_memory_id => %(p_memory_id)s,"
        " p_since => %(p_since)s, p_until => %(p_until)s, p_limit => %(p_limit)s,"
        " p_after => %(p_after)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)"
        " ORDER BY rank",
        _params(locals()),
        _events,
    )


def health() -> Statement[list[HealthCheck]]:
    """Whether the installation is as it should be, one check each. Needs level admin.

    Reads every record and changes nothing.
    """
    return Statement("SELECT name, ok, detail FROM mnemo.health()", {}, _checks)


def rebuild_signatures(*, limit: int = 1000) -> Statement[int]:
    """Derive anew what `recall_plan` matches on, where it is faulty; how many plans are left.

    At most `limit` plans in a call: call it until nothing is left. Needs level admin.
    """
    return Statement(
        "SELECT mnemo.rebuild_signatures(p_limit => %(p_limit)s) AS value",
        _params(locals()),
        _value,
    )


def enable_vectors(
    model: str, dimensions: int, *, distance: VectorDistance | str = VectorDistance.COSINE
) -> Statement[None]:
    """Let memories have embeddings of a model, found by strategy `semantic` of `recall`.

    Several models can be enabled. The same call again changes nothing; with other dimensions or
    another distance it is an `ArgumentError`. Needs level admin, and pgvector in the database
    (`UnsupportedError` otherwise).

        m.enable_vectors("all-minilm-l6-v2", 384)
    """
    return Statement(
        "SELECT mnemo.enable_vectors(p_model => %(p_model)s, p_dimensions => %(p_dimensions)s,"
        " p_distance => %(p_distance)s) AS value",
        _params(locals()),
        _nothing,
    )


def disable_vectors(model: str) -> Statement[int]:
    """Drop a model with all its vectors, and return how many there were; memories stay.

    `StateError` for a model that is not enabled. Needs level admin.
    """
    return Statement(
        "SELECT mnemo.disable_vectors(p_model => %(p_model)s) AS value", _params(locals()), _value
    )


def refresh_models() -> Statement[int]:
    """Make the functions of every enabled model anew after an update; how many models there are.

    What is missing of a model's index comes back too. Needs level admin.
    """
    return Statement("SELECT mnemo.refresh_models() AS value", {}, _value)


def seal(*, limit: int = 10000) -> Statement[int]:
    """Link committed events into their chains, at most `limit`; how many are left.

    Waits for nobody: a chain that another session is sealing is left to that one. Needs level
    admin, and a transaction of level READ COMMITTED (`StateError` otherwise).
    """
    return Statement(
        "SELECT mnemo.seal(p_limit => %(p_limit)s) AS value", _params(locals()), _value
    )


def sweep(*, limit: int = 1000, now: datetime | None = None) -> Statement[list[Swept]]:
    """Do the housekeeping: expire, purge, take ended grants away, fold statistics in, seal.

    At most `limit` rows of each task in a call: call it until nothing says `more`, or nothing was
    done. Waits for nobody. `now`: the time to go by. Needs level admin, and a transaction of level
    READ COMMITTED (`StateError` otherwise).
    """
    return Statement(
        "SELECT rank, task, done, more FROM mnemo.sweep(p_limit => %(p_limit)s, p_now => %(p_now)s)"
        " ORDER BY rank",
        _params(locals()),
        _swept,
    )


def chain_heads(*, org_id: str | None = None) -> Statement[list[ChainHead]]:
    """Every chain of one organisation, or of all: heads to keep outside. Needs level admin."""
    return Statement(
        "SELECT org_id, agent_id, head_seq, head, anchor_seq, sealed_at, unsealed"
        " FROM mnemo.chain_heads(p_org_id => %(p_org_id)s)",
        _params(locals()),
        _heads,
    )


def retain_events(
    before: datetime, *, limit: int = 10000, org_id: str | None = None
) -> Statement[list[RetainedChain]]:
    """Remove sealed events that happened before a time, of one organisation or of all.

    At most `limit` in a call: call it until no chain of status `removed` comes back. What the
    events said about records that are still there is carried over, so that `verify_chain` works
    on. Needs level admin, and a transaction of level READ COMMITTED (`StateError` otherwise).
    """
    return Statement(
        "SELECT org_id, agent_id, status, removed, carried, anchor_seq, anchor_hash, first_bad_id,"
        " reason FROM mnemo.retain_events(p_before => %(p_before)s, p_limit => %(p_limit)s,"
        " p_org_id => %(p_org_id)s)",
        _params(locals()),
        _retained,
    )


def set_poisoning_rule(
    name: str,
    *,
    pattern: str | None = None,
    weight: float | None = None,
    applies_to: Iterable[SourceType | str] | None = None,
    enabled: bool = True,
    org_id: str | None = None,
) -> Statement[None]:
    """Add a rule against poisoning, or change one, for the database or one organisation.

    The name of a built-in rule changes that; what is None stays built in. `pattern` is a regular
    expression for the text in lower case, once as words between single spaces, once as it stands.
    `weight` is what a hit adds: records are held back from 0.5 on. `applies_to`: source types, and
    `plan`. Needs level admin.

        m.set_poisoning_rule("gold", pattern=" buy (gold|silver) now ", weight=0.6)
    """
    return Statement(
        "SELECT mnemo.set_poisoning_rule(p_name => %(p_name)s, p_pattern => %(p_pattern)s,"
        " p_weight => %(p_weight)s, p_applies_to => %(p_applies_to)s, p_enabled => %(p_enabled)s,"
        " p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _nothing,
    )


def remove_poisoning_rule(name: str, *, org_id: str | None = None) -> Statement[bool]:
    """Take back what `set_poisoning_rule` set; whether there was something. Needs level admin."""
    return Statement(
        "SELECT mnemo.remove_poisoning_rule(p_name => %(p_name)s, p_org_id => %(p_org_id)s)"
        " AS value",
        _params(locals()),
        _value,
    )


def poisoning_rules(*, org_id: str | None = None) -> Statement[list[PoisoningRule]]:
    """The rules against poisoning of the database, or of one organisation. Needs level admin."""
    return Statement(
        "SELECT rank, name, pattern, weight, applies_to, enabled, origin"
        " FROM mnemo.poisoning_rules(p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _rules,
    )


# Pure


def signature_tokens(query: str) -> Statement[tuple[str, ...]]:
    """The token set that similarity compares, sorted by code point.

    `How do I Reset my PASSWORD?` gives `how`, `password`, `reset`. `ArgumentError` for None.
    """
    return Statement(
        "SELECT mnemo.signature_tokens(p_query => %(p_query)s) AS value",
        _params(locals()),
        _texts,
    )


def guard_tokens(query: str | None) -> Statement[list[GuardToken]]:
    """What the guard reads out of a query, by which it tells look-alikes apart; often nothing.

    `do not pay invoice 17` gives `not` of class `meaning` and `17` of class `values`.
    `LimitError` above 100,000 characters.
    """
    return Statement(
        "SELECT position, token, class AS guard_class"
        " FROM mnemo.guard_tokens(p_query => %(p_query)s) ORDER BY position",
        _params(locals()),
        _guard_tokens,
    )


def jaccard(a: Iterable[str], b: Iterable[str]) -> Statement[float]:
    """The size of the intersection over that of the union, in [0, 1]; 0 when both are empty."""
    return Statement(
        "SELECT mnemo.jaccard(p_a => %(p_a)s, p_b => %(p_b)s) AS value",
        _params(locals()),
        _value,
    )


def canonical_predicate(text: str) -> Statement[str]:
    """A predicate as memories store it: ` dietary--identity ` becomes `dietary_identity`."""
    return Statement(
        "SELECT mnemo.canonical_predicate(p_text => %(p_text)s) AS value",
        _params(locals()),
        _value,
    )


def stable_hash(text: str) -> Statement[str]:
    """The 64-bit FNV-1a hash of a text, 16 hexadecimal digits: the same everywhere, and no
    protection against somebody who looks for two texts with one hash."""
    return Statement(
        "SELECT mnemo.stable_hash(p_text => %(p_text)s) AS value", _params(locals()), _value
    )


def normalize_retrieval_plan(plan: RetrievalPlan | Mapping[str, Any]) -> Statement[RetrievalPlan]:
    """A plan checked and in normal form, from a plan or from JSON such as a language model writes.

    Blanks, duplicates and what is over a cap are dropped; fields that no plan has are dropped and
    named in `warnings`. `ArgumentError` for a wrong type, with the JSON path in its `detail`.

        m.normalize_plan({"turn_id": 3, "generation": 0, "lexical_queries": ["quiet restaurant"]})
    """
    return Statement(
        "SELECT mnemo.normalize_retrieval_plan(p_plan => %(p_plan)s) AS value",
        _params(locals()),
        _retrieval_plan,
    )


def skip_retrieval_plan(transcript: str, turn_id: int, generation: int) -> Statement[RetrievalPlan]:
    """The plan of a turn that needs no memory."""
    return Statement(
        "SELECT mnemo.skip_retrieval_plan(p_transcript => %(p_transcript)s,"
        " p_turn_id => %(p_turn_id)s, p_generation => %(p_generation)s) AS value",
        _params(locals()),
        _retrieval_plan,
    )


def retrieval_plan_cache_key(plan: RetrievalPlan | Mapping[str, Any]) -> Statement[str]:
    """A short key of the queries, entities and scopes of a plan, whatever their order.

    Two plans with one key may have different results: see `result_key`.
    """
    return Statement(
        "SELECT mnemo.retrieval_plan_cache_key(p_plan => %(p_plan)s) AS value",
        _params(locals()),
        _value,
    )


def retrieval_plan_result_key(
    plan: RetrievalPlan | Mapping[str, Any],
    limit: int,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    temporal: RetrievalTemporal | str = RetrievalTemporal.PREFER,
    embedding: Sequence[float] | None = None,
    model: str | None = None,
) -> Statement[str]:
    """A key of all that the result of `retrieve` with these arguments depends on.

    Equal keys, equal results, as long as memory and what the agent may see are the same: a cache is
    yours to keep and to end.
    """
    return Statement(
        "SELECT mnemo.retrieval_plan_result_key(p_plan => %(p_plan)s, p_limit => %(p_limit)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s, p_temporal => %(p_temporal)s,"
        " p_embedding => %(p_embedding)s, p_model => %(p_model)s) AS value",
        _params(locals()),
        _value,
    )


# Memory


def remember(
    content: str,
    *,
    scope: Scope | str | None = None,
    memory_type: MemoryType | str | None = None,
    importance: float | None = None,
    tags: Iterable[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    source_type: SourceType | str | None = None,
    source_id: str | None = None,
    thread_id: str | None = None,
    created_by: str | None = None,
    ttl: timedelta | None = None,
    kind: Kind | str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
    entities: Iterable[str] | None = None,
    aliases: Iterable[str] | None = None,
    location: str | None = None,
    confidence: float | None = None,
    status: MemoryStatus | str | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    temporal_scope: TemporalScope | str | None = None,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[Remembered]:
    """Store a memory; only `content` is required.

    None means the default: scope private, type episodic, importance 0.5, source agent. `importance`
    and `confidence` lie in [0, 1]. After `ttl` the memory is gone; None keeps it (working memory:
    an hour). `embedding` needs `model`. The same `idempotency_key` again from the same owner writes
    nothing and returns the first answer with status `repeated`. `ArgumentError` for a bad value or
    the reserved tag or key of plans, `LimitError` for over 1 MB, `AccessError` for a tenant that
    writes scope global, `StateError` for an embedding that is not enabled.

        m.remember("Ada prefers window seats", tags=["travel"], scope="public")
    """
    return Statement(
        "SELECT id, content_hash, status FROM mnemo.remember(p_content => %(p_content)s,"
        " p_scope => %(p_scope)s, p_memory_type => %(p_memory_type)s,"
        " p_importance => %(p_importance)s, p_tags => %(p_tags)s, p_metadata => %(p_metadata)s,"
        " p_source_type => %(p_source_type)s, p_source_id => %(p_source_id)s,"
        " p_thread_id => %(p_thread_id)s, p_created_by => %(p_created_by)s, p_ttl => %(p_ttl)s,"
        " p_kind => %(p_kind)s, p_subject => %(p_subject)s, p_predicate => %(p_predicate)s,"
        " p_entities => %(p_entities)s, p_aliases => %(p_aliases)s, p_location => %(p_location)s,"
        " p_confidence => %(p_confidence)s, p_status => %(p_status)s,"
        " p_valid_from => %(p_valid_from)s, p_valid_to => %(p_valid_to)s,"
        " p_temporal_scope => %(p_temporal_scope)s, p_embedding => %(p_embedding)s,"
        " p_model => %(p_model)s, p_idempotency_key => %(p_idempotency_key)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _remembered,
    )


def _converted(path: str, given: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """Arguments as JSON, the values of these keys converted as those of the parameters are."""
    values = dict(given)
    for key, value in values.items():
        convert = CONVERTERS[key] if key in keys else _wire.plain
        # A str is the text form of anything but a list: JSON has no intervals, for one.
        if value is not None and (convert is _wire.texts or not isinstance(value, str)):
            value = convert(f"{path}.{key}", value)
            if isinstance(value, datetime):
                value = value.astimezone(UTC).isoformat()
            values[key] = value.obj if isinstance(value, Jsonb) else value
    return _wire.plain(path, values)  # type: ignore[no-any-return]


def _elements(
    name: str,
    given: Iterable[object],
    kind: type[NewPlan] | type[NewMemory],
    on_error: OnError | str,
    who: Mapping[str, str | None],
) -> tuple[Jsonb, Callable[[Rows], list[BatchResult]]]:
    """The elements of a batch as JSON, and what makes its rows into the answer.

    `who` holds for elements that name none.
    """
    keys = frozenset(field.name for field in fields(kind))
    elements: list[dict[str, Any] | None] = []
    refused: dict[int, str] = {}
    for index, element in enumerate(given):
        path = f"{name}[{index}]"
        try:
            if isinstance(element, kind):
                pairs = ((key, getattr(element, key)) for key in keys)
                values = {key: value for key, value in pairs if value is not None}
            elif isinstance(element, Mapping):
                values = dict(element)
            else:
                raise TypeError(
                    f"{path} must be a mapping or a {kind.__name__}, not {type(element).__name__}"
                )
            values |= {key: one for key, one in who.items() if one and values.get(key) is None}
            elements.append(_converted(path, values, keys))
        except (ArgumentError, TypeError) as error:
            if on_error != OnError.SKIP:
                raise
            # A null keeps the place: the database reports it as failed, and we say why.
            elements.append(None)
            refused[index + 1] = f"{ArgumentError.sqlstate}: {error}"

    def shape(rows: Rows) -> list[BatchResult]:
        said = [refused.get(row["position"], row["error"]) for row in rows]
        return _batch([{**row, "error": error} for row, error in zip(rows, said, strict=True)])

    return Jsonb(elements, dumps=_wire.dumps), shape


def remember_many(
    records: Iterable[Mapping[str, Any] | NewMemory],
    *,
    on_error: OnError | str = OnError.ABORT,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[BatchResult]]:
    """Store many memories of one agent in one call: mappings or `NewMemory`s with the parameters
    of `remember`.

    With `abort` a bad element fails the call and nothing is stored; with `skip` it is reported in
    its result (status `failed`, the error as text) and the others are stored. Errors give the
    element as `records[2].tags[0]`, counted from 0; `BatchResult.position` counts from 1. At most
    10,000 elements.

        m.remember_many([{"content": "Ada likes tea"}, NewMemory(content="Bob likes coffee")])
    """
    elements, shape = _elements("records", records, NewMemory, on_error, {})
    who = _params({"on_error": on_error, "agent_id": agent_id, "org_id": org_id})
    return Statement(
        "SELECT position, id, stored, status, error FROM mnemo.remember_many("
        "p_records => %(p_records)s, p_on_error => %(p_on_error)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY position",
        {"p_records": elements, **who},
        shape,
    )


_CHANGE_KEYS = frozenset(field.name for field in fields(NewMemory))


def update_memory(
    id: UUID | str,
    changes: Mapping[str, Any],
    *,
    expected_version: int | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[Updated]:
    """Change a record: `changes` names the new values, by the names of `remember`'s parameters.

    A value of None takes away what may be missing, such as `subject`, or `ttl` for a record that
    no longer expires. Owner, source and id stay; of a plan only tags, ttl and scope can be changed.
    Where words change, the record as it was is kept, archived, as `prev_version_id`.
    `expected_version` changes the record only while it has that version (`VersionConflictError`
    otherwise). Needs permission write, for a scope share: `NotFoundError`, `AccessError`.

        found = m.get_memories([id])[0]
        m.update_memory(id, {"content": "Ada likes aisle seats"}, expected_version=found.version)
    """
    if not isinstance(changes, Mapping):
        raise TypeError(f"changes must be a mapping, not {type(changes).__name__}")
    given = Jsonb(_converted("changes", changes, _CHANGE_KEYS), dumps=_wire.dumps)
    return Statement(
        "SELECT id, version, status FROM mnemo.update_memory(p_id => %(p_id)s,"
        " p_changes => %(p_changes)s, p_expected_version => %(p_expected_version)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        {
            **_params({"id": id, "expected_version": expected_version}),
            **_params({"agent_id": agent_id, "org_id": org_id}),
            "p_changes": given,
        },
        _updated,
    )


def quarantined(
    *,
    limit: int = 100,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[QuarantinedRecord]]:
    """The records that the rules against poisoning hold back, newest first.

    Those of the acting agent, without what they say; for administrators who name no agent those of
    the whole organisation, with it. `after` is the last id of the page before.
    """
    return Statement(
        "SELECT rank, id, org_id, origin_org_id, owner_agent_id, memory_type, scope, source_type,"
        " is_plan, reason, content, metadata, version, created_at, expires_at, content_hash"
        " FROM mnemo.quarantined(p_limit => %(p_limit)s, p_after => %(p_after)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _quarantined,
    )


def release(
    id: UUID | str,
    *,
    note: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[Judged]:
    """Let a record that is held back into recall. Needs level admin.

    `note` says why, beside the event; `agent_id` names who acts in it. `NotFoundError` when the
    record is not in quarantine.
    """
    return Statement(
        "SELECT id, status FROM mnemo.release(p_id => %(p_id)s, p_note => %(p_note)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _judged,
    )


def purge(
    id: UUID | str,
    *,
    note: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[Judged]:
    """Delete a record that is held back for good; its events stay. Needs level admin.

    `note` says why, beside the event; `agent_id` names who acts in it. `NotFoundError` when the
    record is not in quarantine.
    """
    return Statement(
        "SELECT id, status FROM mnemo.purge(p_id => %(p_id)s, p_note => %(p_note)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _judged,
    )


def get_memories(
    ids: Iterable[UUID | str], *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[list[Memory]]:
    """The records of these ids, plans included, each once and in the order of the ids.

    Ids that are unknown, gone or not visible to the agent give no record; `position` tells which
    did. `ArgumentError` for no ids at all, `LimitError` for over 10,000.
    """
    return Statement(
        "SELECT position, id, org_id, origin_org_id, owner_agent_id, content, memory_type, scope,"
        " importance, tags, metadata, source_type, source_id, thread_id, created_by,"
        " consolidation_state, kind, subject, predicate, entities, aliases, location, confidence,"
        " status, valid_from, valid_to, temporal_scope, version, prev_version_id, access_count,"
        " last_accessed_at, created_at, updated_at, expires_at, content_hash"
        " FROM mnemo.get_memories(p_ids => %(p_ids)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s) ORDER BY position",
        _params(locals()),
        _memories,
    )


def recall(
    query: str | None,
    *,
    limit: int = 10,
    strategy: RecallStrategy | str = RecallStrategy.HYBRID,
    types: Iterable[MemoryType | str] | None = None,
    scope: Scope | str | None = None,
    tags: Iterable[str] | None = None,
    tags_all: bool | None = None,
    min_importance: float | None = None,
    thread_id: str | None = None,
    source_types: Iterable[SourceType | str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
    weights: Mapping[str, Any] | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[RecalledMemory]]:
    """The best visible memories, in order; never a plan.

    Strategies: `lexical` ranks by the words of `query`, `recent` scores by age (half-life 168
    hours), `exact` scores 1 whatever passes the filters, `hybrid` fuses the ranks of the lanes
    lexical and recency, with `weights` such as {"lexical": 1, "recency": 0.1}. Only `lexical` needs
    a query; the others take None. Filters hold together, and None is no filter: `tags` asks for one
    of them, with `tags_all` for each; created from `since` on, before `until`, not after `as_of`;
    `min_importance` lies in [0, 1]. `limit` lies in 1 to 1000. `explanation` has the parts of each
    score.

        m.recall("where do we eat", tags=["travel"], since=datetime(2026, 1, 1, tzinfo=UTC))
    """
    return Statement(
        "SELECT rank, id, content, owner_agent_id, memory_type, scope, importance, tags, metadata,"
        " score, created_at, explanation FROM mnemo.recall(p_query => %(p_query)s,"
        " p_limit => %(p_limit)s, p_strategy => %(p_strategy)s, p_types => %(p_types)s,"
        " p_scope => %(p_scope)s, p_tags => %(p_tags)s, p_tags_all => %(p_tags_all)s,"
        " p_min_importance => %(p_min_importance)s, p_thread_id => %(p_thread_id)s,"
        " p_source_types => %(p_source_types)s, p_since => %(p_since)s, p_until => %(p_until)s,"
        " p_as_of => %(p_as_of)s, p_embedding => %(p_embedding)s, p_model => %(p_model)s,"
        " p_weights => %(p_weights)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)"
        " ORDER BY rank",
        _params(locals()),
        _recalled,
    )


def forget(
    ids: Iterable[UUID | str],
    *,
    strategy: ForgetStrategy | str = ForgetStrategy.SOFT_DELETE,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Forgotten]]:
    """Forget these records, plans included: all of them or, on any error, none.

    `NotFoundError` for an id that the agent does not see, `AccessError` for one that it sees and
    may not delete; both name the ids in `detail`.
    """
    return Statement(
        "SELECT id, status FROM mnemo.forget(p_ids => %(p_ids)s, p_strategy => %(p_strategy)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _forgotten,
    )


def forget_where(
    criteria: Mapping[str, Any],
    *,
    strategy: ForgetStrategy | str = ForgetStrategy.SOFT_DELETE,
    agent_id: str | None = None,
    org_id: str | None = None,
    limit: int | None = None,
) -> Statement[list[Forgotten]]:
    """Forget all records that meet every criterion and that the agent may delete; by id.

    `criteria`: at least one of `tags` (any of them), `types`, `thread`, `source`, `source_types`,
    `before` (a datetime, or a text in ISO 8601). `limit`: at most so many that meet them, call
    again until nothing comes; None: all of them, in one transaction.

        m.forget_where({"tags": ["trial"], "before": last_month}, strategy="hard_delete")
    """
    return Statement(
        "SELECT id, status FROM mnemo.forget_where(p_criteria => %(p_criteria)s,"
        " p_strategy => %(p_strategy)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s,"
        " p_limit => %(p_limit)s)",
        _params(locals()),
        _forgotten,
    )


def forget_subject(
    subject: str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[list[Erased]]:
    """Redact all that names a data subject: as subject, in entities, by a tag `subject:name`.

    In the whole organisation; for a role of level tenant, what the agent may delete. How many rows
    went, one row a kind.
    """
    return Statement(
        "SELECT rank, kind, erased FROM mnemo.forget_subject(p_subject => %(p_subject)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _erased,
    )


def touch(
    ids: Iterable[UUID | str], *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[list[Touched]]:
    """Count a use of these records; never waits for those that are just being changed.

    `NotFoundError` for an id that the agent does not see; then none is counted.
    """
    return Statement(
        "SELECT id, status FROM mnemo.touch(p_ids => %(p_ids)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s)",
        _params(locals()),
        _touched,
    )


def log_read(
    ids: Iterable[UUID | str],
    *,
    query: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[LoggedRead]]:
    """Log that the agent has read these records, an event each; `query` is kept as its note.

    `NotFoundError` for an id that the agent does not see; then none is logged.
    """
    return Statement(
        "SELECT id, event_id FROM mnemo.log_read(p_ids => %(p_ids)s, p_query => %(p_query)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _logged,
    )


def share(
    id: UUID | str,
    to_agents: Iterable[str],
    *,
    permission: Permission | str = Permission.READ,
    ttl: timedelta | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Grant]]:
    """Give agents of the same organisation a permission on a record; a private one becomes shared.

    It takes the place of the grant that each had, and ends after `ttl`; None: when it is taken
    back. `AccessError` when the acting agent may not share the record or holds less than it would
    give, `NotFoundError` when it does not see it.
    """
    return Statement(
        "SELECT agent_id, permission, expires_at FROM mnemo.share(p_id => %(p_id)s,"
        " p_to_agents => %(p_to_agents)s, p_permission => %(p_permission)s, p_ttl => %(p_ttl)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _grants,
    )


def unshare(
    id: UUID | str,
    from_agents: Iterable[str],
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Revocation]]:
    """Take grants back; the record keeps its scope. Errors as `share`."""
    return Statement(
        "SELECT agent_id, status FROM mnemo.unshare(p_id => %(p_id)s,"
        " p_from_agents => %(p_from_agents)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s)",
        _params(locals()),
        _revocations,
    )


def delegate(
    to_agent: str,
    *,
    permission: Permission | str = Permission.READ,
    ids: Iterable[UUID | str] | None = None,
    tag: str | None = None,
    max_depth: int = 0,
    ttl: timedelta | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[UUID]:
    """Hand a permission to an agent of the same organisation; the id for `revoke_delegation`.

    On the records `ids`, which become shared, on all with `tag`, or on all: always those shared and
    public ones that the acting agent owns or may share, later ones too. `max_depth`: how many times
    it may be passed on. Ends after `ttl`; None: when it is revoked. `AccessError` for a record that
    the agent may not give, `NotFoundError` for one that it does not see, `LimitError` when the
    other agent holds too many.
    """
    return Statement(
        "SELECT mnemo.delegate(p_to_agent => %(p_to_agent)s, p_permission => %(p_permission)s,"
        " p_ids => %(p_ids)s, p_tag => %(p_tag)s, p_max_depth => %(p_max_depth)s,"
        " p_ttl => %(p_ttl)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def revoke_delegation(
    id: UUID | str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[int]:
    """End a delegation that the agent gave or holds, with all that was passed on from it.

    How many delegations lost something; 0 when it had been revoked before.
    """
    return Statement(
        "SELECT mnemo.revoke_delegation(p_id => %(p_id)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def delegations(
    *,
    limit: int = 50,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Delegation]]:
    """What the agent delegated and what was delegated to it, newest first.

    `after` is the last id of the page before.
    """
    return Statement(
        "SELECT rank, id, direction, status, from_agent_id, to_agent_id, permission, memory_ids,"
        " tag, max_depth, passes_on, passed_on, created_at, expires_at, revoked_at"
        " FROM mnemo.delegations(p_limit => %(p_limit)s, p_after => %(p_after)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _delegations,
    )


def check_permission(
    id: UUID | str,
    permission: Permission | str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[bool]:
    """Whether the agent has the permission on the record; False for one that it does not see."""
    return Statement(
        "SELECT mnemo.check_permission(p_id => %(p_id)s, p_permission => %(p_permission)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def history(
    id: UUID | str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[list[Event]]:
    """The events of a record and of the versions that it replaced, oldest first.

    For the owner also after it is deleted, for others while they can read it; notes for the owner
    and administrators. `NotFoundError` for an unknown or invisible record.
    """
    return Statement(
        "SELECT rank, id, org_id, agent_id, event_type, memory_org_id, memory_id, actor_org_id,"
        " actor_agent_id, happened_at, content_hash, changes, note, seq, hash"
        " FROM mnemo.history(p_id => %(p_id)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _events,
    )


def verify_chain(
    *,
    expected_head: bytes | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[ChainVerification]:
    """Verify the agent's chain of events, and every record that it owns.

    `expected_head`: a head kept outside, which must be in the chain: 32 bytes. Reads everything of
    the agent.

        before = m.verify_chain().head
        assert m.verify_chain(expected_head=before).ok
    """
    return Statement(
        "SELECT ok, checked, unsealed, first_bad_id, reason, head, detail, head_seq, anchor_seq,"
        " records FROM mnemo.verify_chain(p_expected_head => %(p_expected_head)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _verified,
    )


def export_chain(
    *,
    after_seq: int | None = None,
    limit: int = 1000,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[ChainLine]]:
    """The agent's sealed events as lines of JSON, for `python -m mnemo_pg.verify`.

    With `after_seq` None the first line names the chain, its anchor and its head; go on with the
    `seq` of the last line until nothing comes. `limit` lies in 1 to 10,000.
    """
    return Statement(
        "SELECT seq, line FROM mnemo.export_chain(p_after_seq => %(p_after_seq)s,"
        " p_limit => %(p_limit)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _chain_lines,
    )


# Plans


def remember_plan(
    query: str,
    steps: Iterable[str],
    chunk_ids: Iterable[str],
    outcome_score: float,
    *,
    agent_id: str | None = None,
    scope: Scope | str = Scope.PRIVATE,
    org_id: str | None = None,
    details: Sequence[Any] | None = None,
    context: str | None = None,
    ttl: timedelta | None = None,
    thread_id: str | None = None,
    source_id: str | None = None,
    tags: Iterable[str] | None = None,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
    idempotency_key: str | None = None,
    chunk_source: str | None = None,
    read_at: datetime | None = None,
) -> Statement[RememberedPlan]:
    """Store a plan that worked: the query, its steps, the chunks that led to the answer, a score.

    `outcome_score` lies in [0, 1], more is taken as 1; below the success threshold, or NaN, nothing
    is stored and the status is `below_threshold`. `details` has one JSON value a step. `context`
    names what the plan depends on, such as a tool set; it is compared exactly at recall. After
    `ttl` the plan is gone; None keeps it. `chunk_source` says where the chunk ids come from, and
    `read_at` when they were read: a chunk of that source that changes later makes the plan stale,
    see `invalidate_chunks` and `watch_table`. The same plan again is merged into the one that is
    there, status `merged`: its id, the better outcome's steps. `StateError` while experience memory
    is off, `AccessError` for a tenant that writes scope global.

        m.remember_plan("How do I reset my password?", ["open settings", "reset"], ["kb-17"], 0.92)
    """
    return Statement(
        "SELECT id, signature, stored, status FROM mnemo.remember_plan(p_query => %(p_query)s,"
        " p_steps => %(p_steps)s, p_chunk_ids => %(p_chunk_ids)s,"
        " p_outcome_score => %(p_outcome_score)s, p_agent_id => %(p_agent_id)s,"
        " p_scope => %(p_scope)s, p_org_id => %(p_org_id)s, p_details => %(p_details)s,"
        " p_context => %(p_context)s, p_ttl => %(p_ttl)s, p_thread_id => %(p_thread_id)s,"
        " p_source_id => %(p_source_id)s, p_tags => %(p_tags)s, p_embedding => %(p_embedding)s,"
        " p_model => %(p_model)s, p_idempotency_key => %(p_idempotency_key)s,"
        " p_chunk_source => %(p_chunk_source)s, p_read_at => %(p_read_at)s)",
        _params(locals()),
        _remembered_plan,
    )


def remember_plans(
    plans: Iterable[Mapping[str, Any] | NewPlan],
    *,
    on_error: OnError | str = OnError.ABORT,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[BatchResult]]:
    """Store many plans in one call: mappings or `NewPlan`s with the parameters of `remember_plan`.

    With `abort` a bad element fails the call and nothing is stored; with `skip` it is reported in
    its result (status `failed`, the error as text) and the others are stored. `agent_id` and
    `org_id` hold for elements that name none. Errors give the element as `plans[2].steps[0]`,
    counted from 0; `BatchResult.position` counts from 1. At most 10,000 elements.
    """
    who = {"agent_id": agent_id, "org_id": org_id}
    elements, shape = _elements("plans", plans, NewPlan, on_error, who)
    return Statement(
        "SELECT position, id, stored, status, error"
        " FROM mnemo.remember_plans(p_plans => %(p_plans)s, p_on_error => %(p_on_error)s)"
        " ORDER BY position",
        {"p_plans": elements, **_params({"on_error": on_error})},
        shape,
    )


def recall_plan(
    query: str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    similarity_threshold: float | None = None,
    guard: Guard | str | None = None,
    context: str | None = None,
    stale: StaleMode | str = StaleMode.REFUSE,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
) -> Statement[PlanMatch]:
    """The best visible plan for a query, or a miss with its reason; reads only.

    `similarity_threshold` is the least Jaccard similarity, from `minimum_threshold` to 1, and
    `guard` what may not differ: `strict` meaning and values, `meaning` the first, `off` nothing;
    None means the settings. `context` must equal the plan's own, None only None. A plan that cites
    a chunk that changed is stale: `refuse` passes it over, `include` lets it win, flagged `stale`.
    Where words find no plan and `embedding` is given, made by `model` (None: the only one) of the
    query, the nearest plan is a hit from the setting `semantic_threshold` on, under the same guard;
    its reason is `semantic`. `warnings` says what not to do, see `remember_failure`. While
    experience memory is off the answer is a miss with reason `disabled`. `ArgumentError` for a bad
    value, `StateError` for an embedding that is not enabled.

        plan = m.recall_plan("turn off dark mode")
        if plan:
            replay(plan.steps, plan.chunk_ids)
        elif plan.near_miss:
            adapt(plan.near_miss["id"], plan.near_miss["differences"])
    """
    return Statement(
        "SELECT hit, id, query, steps, details, chunk_ids, outcome_score, similarity,"
        " owner_agent_id, scope, created_at, candidates_considered, reason, near_miss, stale,"
        " warnings FROM mnemo.recall_plan(p_query => %(p_query)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s, p_similarity_threshold => %(p_similarity_threshold)s,"
        " p_guard => %(p_guard)s, p_context => %(p_context)s, p_stale => %(p_stale)s,"
        " p_embedding => %(p_embedding)s, p_model => %(p_model)s)",
        _params(locals()),
        _match,
    )


def recall_plans(
    query: str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    similarity_threshold: float | None = None,
    guard: Guard | str | None = None,
    context: str | None = None,
    limit: int = 5,
    stale: StaleMode | str = StaleMode.REFUSE,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
) -> Statement[list[PlanMatch]]:
    """The best visible plans by the rules of `recall_plan`, best first; empty on a miss."""
    return Statement(
        "SELECT hit, id, query, steps, details, chunk_ids, outcome_score, similarity,"
        " owner_agent_id, scope, created_at, candidates_considered, reason, near_miss, rank,"
        " stale, warnings FROM mnemo.recall_plans(p_query => %(p_query)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s,"
        " p_similarity_threshold => %(p_similarity_threshold)s,"
        " p_guard => %(p_guard)s, p_context => %(p_context)s, p_limit => %(p_limit)s,"
        " p_stale => %(p_stale)s, p_embedding => %(p_embedding)s, p_model => %(p_model)s)"
        " ORDER BY rank",
        _params(locals()),
        _matches,
    )


def duplicate_plans(
    *,
    threshold: float | None = None,
    limit: int = 100,
    after: UUID | str | None = None,
    after_other: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[DuplicatePlans]]:
    """Pairs of the agent's own plans that are like each other, newest first.

    `threshold` is the least similarity, None the setting. `after` and `after_other` are `id` and
    `other_id` of the last pair of the page before.
    """
    return Statement(
        "SELECT rank, id, query, outcome_score, other_id, other_query, other_outcome_score,"
        " similarity, context, guard_differences"
        " FROM mnemo.duplicate_plans(p_threshold => %(p_threshold)s, p_limit => %(p_limit)s,"
        " p_after => %(p_after)s, p_after_other => %(p_after_other)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _duplicates,
    )


def remember_failure(
    query: str,
    steps: Iterable[str],
    reason: str,
    *,
    agent_id: str | None = None,
    scope: Scope | str = Scope.PRIVATE,
    org_id: str | None = None,
    chunk_ids: Iterable[str] | None = None,
    context: str | None = None,
    ttl: timedelta | None = None,
    details: Sequence[Any] | None = None,
    thread_id: str | None = None,
    source_id: str | None = None,
    tags: Iterable[str] | None = None,
    idempotency_key: str | None = None,
    chunk_source: str | None = None,
    read_at: datetime | None = None,
) -> Statement[RememberedPlan]:
    """Store what not to do: the query, the steps that failed, and why they did.

    It is matched as plans are, comes with `recall_plan` as a warning and from `recall_failures`,
    and is never replayed. The other arguments are those of `remember_plan`; the same steps again
    for the same question are one record with the newer reason, status `merged`. `StateError` while
    experience memory is off, `AccessError` for a tenant that writes scope global.

        m.remember_failure("How do I reset my password?", ["open settings"], "the page is gone")
    """
    return Statement(
        "SELECT id, signature, stored, status FROM mnemo.remember_failure(p_query => %(p_query)s,"
        " p_steps => %(p_steps)s, p_reason => %(p_reason)s, p_agent_id => %(p_agent_id)s,"
        " p_scope => %(p_scope)s, p_org_id => %(p_org_id)s, p_chunk_ids => %(p_chunk_ids)s,"
        " p_context => %(p_context)s, p_ttl => %(p_ttl)s, p_details => %(p_details)s,"
        " p_thread_id => %(p_thread_id)s, p_source_id => %(p_source_id)s, p_tags => %(p_tags)s,"
        " p_idempotency_key => %(p_idempotency_key)s, p_chunk_source => %(p_chunk_source)s,"
        " p_read_at => %(p_read_at)s)",
        _params(locals()),
        _remembered_plan,
    )


def recall_failures(
    query: str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    similarity_threshold: float | None = None,
    guard: Guard | str | None = None,
    context: str | None = None,
    limit: int = 5,
    stale: StaleMode | str = StaleMode.REFUSE,
) -> Statement[list[FailureMatch]]:
    """What not to do for a query, by the rules of `recall_plans`, the nearest first; or nothing."""
    return Statement(
        "SELECT rank, id, query, steps, details, chunk_ids, reason, similarity, owner_agent_id,"
        " scope, created_at, stale FROM mnemo.recall_failures(p_query => %(p_query)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s,"
        " p_similarity_threshold => %(p_similarity_threshold)s, p_guard => %(p_guard)s,"
        " p_context => %(p_context)s, p_limit => %(p_limit)s, p_stale => %(p_stale)s)"
        " ORDER BY rank",
        _params(locals()),
        _failures,
    )


def list_failures(
    *,
    limit: int = 50,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Failure]]:
    """What not to do, newest first, as far as the agent may read it; `after` the last one's id."""
    return Statement(
        "SELECT rank, id, org_id, origin_org_id, owner_agent_id, scope, query, steps, details,"
        " chunk_ids, reason, context, tags, thread_id, source_id, version, created_at, updated_at,"
        " expires_at FROM mnemo.list_failures(p_limit => %(p_limit)s, p_after => %(p_after)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _failure_list,
    )


def explain_recall_plan(
    query: str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    similarity_threshold: float | None = None,
    guard: Guard | str | None = None,
    context: str | None = None,
    stale: StaleMode | str = StaleMode.REFUSE,
    embedding: Iterable[float] | None = None,
    model: str | None = None,
) -> Statement[list[PlanExplanation]]:
    """Why `recall_plan` answers as it does: up to 20 visible plans, the most similar first, each
    with its verdict; also those down to `minimum_threshold`, and first those that the embedding
    finds where words find none. Never empty; reads only."""
    return Statement(
        "SELECT rank, id, query, similarity, outcome_score, shared_tokens, only_asked,"
        " only_stored, guard_differences, state, threshold, verdict, cosine"
        " FROM mnemo.explain_recall_plan(p_query => %(p_query)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s, p_similarity_threshold => %(p_similarity_threshold)s,"
        " p_guard => %(p_guard)s, p_context => %(p_context)s, p_stale => %(p_stale)s,"
        " p_embedding => %(p_embedding)s, p_model => %(p_model)s) ORDER BY rank",
        _params(locals()),
        _explanations,
    )


def invalidate_chunks(
    ids: Iterable[str],
    *,
    source: str = "",
    reason: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[InvalidatedChunks]:
    """Say that chunks changed or went: plans that cite one of them are stale from now on.

    `source` is the `chunk_source` of the plans. At most 10,000 ids; `reason` is kept with the one
    event of the call. `AccessError` for a tenant that is bound to single agents.

        m.invalidate_chunks(["kb-17"], reason="the article was rewritten")
    """
    return Statement(
        "SELECT source, chunks FROM mnemo.invalidate_chunks(p_ids => %(p_ids)s,"
        " p_source => %(p_source)s, p_reason => %(p_reason)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s)",
        _params({"source": source, "reason": reason, "agent_id": agent_id, "org_id": org_id})
        # Elsewhere ids are those of records.
        | {"p_ids": CONVERTERS["chunk_ids"]("ids", ids)},
        _invalidated,
    )


def revalidate_plan(
    id: UUID | str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[RevalidatedPlan]:
    """Say that a plan is right although chunks that it cites changed; needs permission `write`."""
    return Statement(
        "SELECT id, was_stale FROM mnemo.revalidate_plan(p_id => %(p_id)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _revalidated,
    )


def watch_table(
    table: str,
    id_column: str,
    *,
    version_column: str | None = None,
    source: str = "",
    agent_id: str | None = None,
    org_id: str | None = None,
    org_column: str | None = None,
) -> Statement[int]:
    """Watch a table of your own that holds chunks; the number of tables, partitions included.

    From now on UPDATE and DELETE there make the plans stale that cite the rows, in the same
    transaction.

    `table` is its name as in SQL, with its schema, quoted where needed; the names of columns are
    plain. With `version_column` an update counts only if it changes that or the id. To be called by
    the owner of the table. `org_column`: which column names the organisation, where the table
    holds the chunks of many.

        m.watch_table("public.articles", "id", version_column="revision", source="articles")
    """
    return Statement(
        "SELECT mnemo.watch_table(p_table => %(p_table)s::regclass,"
        " p_id_column => %(p_id_column)s, p_version_column => %(p_version_column)s,"
        " p_source => %(p_source)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s,"
        " p_org_column => %(p_org_column)s) AS value",
        _params(locals()),
        _value,
    )


def unwatch_table(
    table: str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[int]:
    """End what `watch_table` began; what is stale stays so. Returns the number of triggers."""
    return Statement(
        "SELECT mnemo.unwatch_table(p_table => %(p_table)s::regclass,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def watch_statements(
    table: str,
    *,
    id_column: str | None = None,
    version_column: str | None = None,
    source: str = "",
    agent_id: str | None = None,
    org_id: str | None = None,
    org_column: str | None = None,
) -> Statement[list[WatchStatement]]:
    """What `watch_table` would run, or without `id_column` `unwatch_table`; for a migration."""
    return Statement(
        "SELECT rank, statement FROM mnemo.watch_statements(p_table => %(p_table)s::regclass,"
        " p_id_column => %(p_id_column)s, p_version_column => %(p_version_column)s,"
        " p_source => %(p_source)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s,"
        " p_org_column => %(p_org_column)s)"
        " ORDER BY rank",
        _params(locals()),
        _watch_statements,
    )


def get_plan(
    id: UUID | str, *, agent_id: str | None = None, org_id: str | None = None
) -> Statement[Plan]:
    """One stored plan. `NotFoundError` unless it is live and visible to the agent."""
    return Statement(
        "SELECT id, org_id, origin_org_id, owner_agent_id, scope, query, signature_tokens, steps,"
        " details, chunk_ids, outcome_score, context, tags, thread_id, source_id,"
        " consolidation_state, version, created_at, updated_at, expires_at, uses, successes,"
        " failures, last_success, last_reported_at, standing, retired"
        " FROM mnemo.get_plan(p_id => %(p_id)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s)",
        _params(locals()),
        _plan,
    )


def list_plans(
    *,
    limit: int = 50,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[Plan]]:
    """The plans that the agent sees, newest first; `after` is the last id of the page before."""
    return Statement(
        "SELECT id, org_id, origin_org_id, owner_agent_id, scope, query, signature_tokens, steps,"
        " details, chunk_ids, outcome_score, context, tags, thread_id, source_id,"
        " consolidation_state, version, created_at, updated_at, expires_at, uses, successes,"
        " failures, last_success, last_reported_at, standing, retired, rank"
        " FROM mnemo.list_plans(p_limit => %(p_limit)s, p_after => %(p_after)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s) ORDER BY rank",
        _params(locals()),
        _plans,
    )


def record_plan_outcome(
    id: UUID | str,
    success: bool,
    *,
    score: float | None = None,
    note: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[PlanFare]:
    """Report how the replay of a plan went: whether it worked, how well (0 to 1), and a note.

    Never waits for others that report on the same plan. `NotFoundError` unless the agent may read
    the plan.
    """
    return Statement(
        "SELECT id, uses, successes, failures, standing, retired"
        " FROM mnemo.record_plan_outcome(p_id => %(p_id)s, p_success => %(p_success)s,"
        " p_score => %(p_score)s, p_note => %(p_note)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s)",
        _params(locals()),
        _fare,
    )


def plan_outcomes(
    id: UUID | str,
    *,
    limit: int = 50,
    after: UUID | str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[list[PlanReport]]:
    """What agents of the organisation reported about a plan, newest first; `after` is the last id
    of the page before."""
    return Statement(
        "SELECT rank, id, agent_id, success, score, note, counts, reported_at"
        " FROM mnemo.plan_outcomes(p_id => %(p_id)s, p_limit => %(p_limit)s,"
        " p_after => %(p_after)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)"
        " ORDER BY rank",
        _params(locals()),
        _reports,
    )


def log_recall(
    recalls: Iterable[Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[int]:
    """Log recalls that were made, for the views `recall_stats` and `plan_value`; how many.

    Mappings with `reason`, and where known `plan_id`, `similarity`, `asked_at` and `duration_ms`
    (milliseconds that the caller waited). What was asked is not kept. At most 10,000.

        m.log_recall([{"reason": found.reason, "plan_id": found.id}])
    """
    return Statement(
        "SELECT mnemo.log_recall(p_recalls => %(p_recalls)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )


def retire_plan(
    id: UUID | str,
    *,
    note: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[RetiredPlan]:
    """Have a plan recalled no more, until `revive_plan`; it is still listed. Needs `write`."""
    return Statement(
        "SELECT id, status FROM mnemo.retire_plan(p_id => %(p_id)s, p_note => %(p_note)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _retired,
    )


def revive_plan(
    id: UUID | str,
    *,
    note: str | None = None,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[RetiredPlan]:
    """Bring back a plan that was retired, by hand or by reports; its standing begins anew with the
    original outcome score. Needs `write`."""
    return Statement(
        "SELECT id, status FROM mnemo.revive_plan(p_id => %(p_id)s, p_note => %(p_note)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _retired,
    )


def promote_plan(
    id: UUID | str,
    scope: Scope | str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
) -> Statement[PromotedPlan]:
    """Widen who may replay a plan, to `shared` or `public`; where it came from is kept in its
    metadata. Needs `share`."""
    return Statement(
        "SELECT id, scope, status FROM mnemo.promote_plan(p_id => %(p_id)s,"
        " p_scope => %(p_scope)s, p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s)",
        _params(locals()),
        _promoted,
    )


# Retrieval


def plan_retrieval(
    text: str,
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    turn_id: int = 0,
    generation: int = 0,
    now: datetime | None = None,
) -> Statement[RetrievalPlan]:
    """What a text wants from the memory that the agent may read: a plan made by rules, no model.

    Names that memory knows, topics, intent, words of time; `now` is the time that these are
    relative to. A text that wants nothing of memory gives a plan that searches nothing.

        plan = m.plan_retrieval("what did I say about the Berlin office last week?")
    """
    return Statement(
        "SELECT mnemo.plan_retrieval(p_text => %(p_text)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s, p_turn_id => %(p_turn_id)s,"
        " p_generation => %(p_generation)s, p_now => %(p_now)s) AS value",
        _params(locals()),
        _retrieval_plan,
    )


def retrieve(
    plan: RetrievalPlan | Mapping[str, Any],
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    limit: int = 5,
    temporal: RetrievalTemporal | str = RetrievalTemporal.PREFER,
    embedding: Sequence[float] | None = None,
    model: str | None = None,
) -> Statement[list[RetrievedMemory]]:
    """The facts that a plan finds among what the agent may read, best first; never plans.

    Nothing where memory has no answer. `temporal` says whether the plan's window of time puts
    something first or keeps the rest out. `embedding` is that of the question, of `model`.

        m.retrieve(RetrievalPlan.search("quiet restaurant", subject_hint="rhea"))
    """
    return Statement(
        "SELECT rank, id, content, kind, subject, predicate, entities, valid_from, score,"
        " explanation FROM mnemo.retrieve(p_plan => %(p_plan)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s, p_limit => %(p_limit)s, p_temporal => %(p_temporal)s,"
        " p_embedding => %(p_embedding)s, p_model => %(p_model)s) ORDER BY rank",
        _params(locals()),
        _retrieved,
    )


def explain_retrieval(
    plan: RetrievalPlan | Mapping[str, Any],
    *,
    agent_id: str | None = None,
    org_id: str | None = None,
    limit: int = 5,
    temporal: RetrievalTemporal | str = RetrievalTemporal.PREFER,
    embedding: Sequence[float] | None = None,
    model: str | None = None,
) -> Statement[list[RetrievalExplanation]]:
    """Why `retrieve` answers as it does: what it returns, what came near, and why that fell."""
    return Statement(
        "SELECT rank, id, content, kind, subject, predicate, entities, valid_from, score,"
        " explanation, verdict FROM mnemo.explain_retrieval(p_plan => %(p_plan)s,"
        " p_agent_id => %(p_agent_id)s, p_org_id => %(p_org_id)s, p_limit => %(p_limit)s,"
        " p_temporal => %(p_temporal)s, p_embedding => %(p_embedding)s,"
        " p_model => %(p_model)s) ORDER BY rank",
        _params(locals()),
        _retrieval_explanations,
    )


def memory_map(
    *, limit: int = 40, agent_id: str | None = None, org_id: str | None = None
) -> Statement[str]:
    """What memory is about, in two lines for a language model: whom and which attributes, most
    frequent first, at most `limit` of each; empty for an empty memory."""
    return Statement(
        "SELECT mnemo.memory_map(p_limit => %(p_limit)s, p_agent_id => %(p_agent_id)s,"
        " p_org_id => %(p_org_id)s) AS value",
        _params(locals()),
        _value,
    )
