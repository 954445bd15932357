"""What the wrapper's calls return, and the labels that they take.

Records are frozen dataclasses, one field a result column. Ids are `uuid.UUID`, timestamps aware and
in UTC, arrays tuples (an SQL NULL is the empty tuple), jsonb what `json` makes of it.

Labels are members of the enums below, which are strings: `"public"` and `Scope.PUBLIC` mean the
same wherever a label goes in. A label in a result that this version does not know (the database may
be newer) stays a plain `str`, which is why result fields are typed `Scope | str`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID


class Scope(StrEnum):
    """Who may see a record: its owner, those it is shared with, the organisation, everyone."""

    PRIVATE = "private"
    SHARED = "shared"
    PUBLIC = "public"
    GLOBAL = "global"


class MemoryType(StrEnum):
    """The sort of memory; working memory expires after an hour unless told otherwise."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    WORKING = "working"


class SourceType(StrEnum):
    """Where a record came from; `human` and `user_input` are explicit sources."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"
    USER_INPUT = "user_input"
    TOOL_OUTPUT = "tool_output"
    MODEL_RESPONSE = "model_response"
    RETRIEVAL = "retrieval"
    CONSOLIDATION = "consolidation"
    IMPORT = "import"


class Permission(StrEnum):
    """What a grant allows, from least to most; each covers those before it."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    SHARE = "share"


class ConsolidationState(StrEnum):
    """The state of a record; only the first four are live."""

    RAW = "raw"
    ACTIVE = "active"
    PENDING = "pending"
    CONSOLIDATED = "consolidated"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


class Kind(StrEnum):
    """What a memory is about, for retrieval plans."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    LOCATION_PREFERENCE = "location_preference"
    RELATIONSHIP = "relationship"
    RELATIONSHIP_PREFERENCE = "relationship_preference"
    ROUTINE = "routine"
    COMMITMENT = "commitment"
    PROJECT = "project"
    EPISODIC = "episodic"
    COMMUNICATION_STYLE = "communication_style"
    STAGED_PATTERN = "staged_pattern"


class MemoryStatus(StrEnum):
    """Whether what a memory says still holds; only active memories are retrieved."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


class TemporalScope(StrEnum):
    """How a memory relates to time."""

    PERSISTENT = "persistent"
    RECENT_HISTORY = "recent_history"
    SCHEDULED = "scheduled"


class Level(StrEnum):
    """What a database role may do; see `grant_access`."""

    APPLICATION = "application"
    TENANT = "tenant"
    ADMIN = "admin"


class RecallStrategy(StrEnum):
    """How `recall` finds and orders memories."""

    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"
    EXACT = "exact"
    RECENT = "recent"


class VectorDistance(StrEnum):
    """How far apart two embeddings of a model are."""

    COSINE = "cosine"
    L2 = "l2"
    INNER_PRODUCT = "inner_product"


class ForgetStrategy(StrEnum):
    """What `forget` does to a record: hide it, remove it with a tombstone left in the log, put it
    away, or erase its text and keep its hash."""

    SOFT_DELETE = "soft_delete"
    HARD_DELETE = "hard_delete"
    ARCHIVE = "archive"
    REDACT = "redact"


class ForgetStatus(StrEnum):
    """What a record is after `forget`, by the strategy in the same order."""

    DELETED = "deleted"
    REMOVED = "removed"
    ARCHIVED = "archived"
    REDACTED = "redacted"


class ErasedKind(StrEnum):
    """What `forget_subject` erased: records that it redacted, and rows that went with them."""

    MEMORIES = "memories"
    PLANS = "plans"
    GRANTS = "grants"
    NOTES = "notes"
    TERMS = "terms"
    SIGNATURES = "signatures"
    IDEMPOTENCY_KEYS = "idempotency_keys"
    DELEGATIONS = "delegations"


class SweepTask(StrEnum):
    """What a sweep does, one after the other."""

    EXPIRED = "expired"
    EVICTED = "evicted"
    PURGED = "purged"
    GRANTS = "grants"
    DELEGATIONS = "delegations"
    IDEMPOTENCY_KEYS = "idempotency_keys"
    TERMS = "terms"
    OUTCOMES = "outcomes"
    RECALL_LOG = "recall_log"
    CHUNKS = "chunks"
    EVENTS = "events"


class DelegationStatus(StrEnum):
    """Whether a delegation holds, has ended by itself, or was taken back."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class DelegationDirection(StrEnum):
    """Whether the acting agent gave a delegation or received it."""

    GIVEN = "given"
    RECEIVED = "received"


class TouchStatus(StrEnum):
    """Whether `touch` counted a use, or passed over a record that was just being changed."""

    TOUCHED = "touched"
    BUSY = "busy"


class RetireStatus(StrEnum):
    """What `retire_plan` and `revive_plan` made of a plan; `unchanged`: it was that before."""

    RETIRED = "retired"
    REVIVED = "revived"
    UNCHANGED = "unchanged"


class PromoteStatus(StrEnum):
    """Whether `promote_plan` widened the scope of a plan, or the plan had it."""

    PROMOTED = "promoted"
    UNCHANGED = "unchanged"


class Guard(StrEnum):
    """Which small differences between two queries forbid a replay: those of both classes of
    `GuardClass`, those of meaning, none."""

    STRICT = "strict"
    MEANING = "meaning"
    OFF = "off"


class GuardClass(StrEnum):
    """What a token of the guard is: negation, opposites and order, or numbers, names, identifiers,
    units, times, short words."""

    MEANING = "meaning"
    VALUES = "values"


class StaleMode(StrEnum):
    """Whether recall passes plans over that cite a chunk that changed, or lets them win."""

    REFUSE = "refuse"
    INCLUDE = "include"


class RecallReason(StrEnum):
    """Why `recall_plan` answered as it did: the first three are hits, the others misses."""

    EXACT = "exact"
    SIMILAR = "similar"
    SEMANTIC = "semantic"
    NONE_SIMILAR = "none_similar"
    GUARDED = "guarded"
    STALE = "stale"
    RETIRED = "retired"
    AMBIGUOUS = "ambiguous"
    DISABLED = "disabled"
    BLANK_QUERY = "blank_query"


class ExplanationVerdict(StrEnum):
    """What `recall_plan` makes of a plan, in `explain_recall_plan`; the last three say of the whole
    call that there was no plan to look at."""

    REPLAYED = "replayed"
    OUTRANKED = "outranked"
    GUARDED = "guarded"
    STALE = "stale"
    RETIRED = "retired"
    AMBIGUOUS = "ambiguous"
    BELOW_THRESHOLD = "below_threshold"
    NONE_SIMILAR = "none_similar"
    DISABLED = "disabled"
    BLANK_QUERY = "blank_query"


class EventType(StrEnum):
    """What happened to a record, in the log of changes."""

    MEMORY_WRITE = "memory_write"
    MEMORY_UPDATE = "memory_update"
    MEMORY_READ = "memory_read"
    MEMORY_DELETE = "memory_delete"
    MEMORY_SHARE = "memory_share"
    MEMORY_UNSHARE = "memory_unshare"
    MEMORY_EXPIRED = "memory_expired"
    MEMORY_REDACT = "memory_redact"
    MEMORY_QUARANTINED = "memory_quarantined"
    MEMORY_RELEASED = "memory_released"
    PLAN_WRITE = "plan_write"
    PLAN_MERGED = "plan_merged"
    PLAN_REPLAY = "plan_replay"
    PLAN_OUTCOME = "plan_outcome"
    PLAN_STALE = "plan_stale"
    PLAN_REVALIDATED = "plan_revalidated"
    PLAN_RETIRED = "plan_retired"
    PLAN_REVIVED = "plan_revived"
    PLAN_PROMOTED = "plan_promoted"
    PLAN_EVICTED = "plan_evicted"
    CHECKPOINT = "checkpoint"


class ChainReason(StrEnum):
    """What `verify_chain` finds to be wrong."""

    EVENT_MISSING = "event_missing"
    EVENT_EXTRA = "event_extra"
    LINK_BROKEN = "link_broken"
    EVENT_CHANGED = "event_changed"
    TAIL_MISSING = "tail_missing"
    HEAD_CHANGED = "head_changed"
    ANCHOR_CHANGED = "anchor_changed"
    HEAD_UNKNOWN = "head_unknown"
    RECORD_MISSING = "record_missing"
    RECORD_WITHOUT_EVENT = "record_without_event"
    RECORD_AFTER_DELETION = "record_after_deletion"
    HASH_CHANGED = "hash_changed"
    CONTENT_CHANGED = "content_changed"
    COLUMN_CHANGED = "column_changed"
    GRANT_WITHOUT_EVENT = "grant_without_event"
    GRANT_MISSING = "grant_missing"
    GRANT_CHANGED = "grant_changed"
    NOTE_CHANGED = "note_changed"


class RetentionStatus(StrEnum):
    """What `retain_events` did to a chain; a `broken` one is left alone."""

    REMOVED = "removed"
    BROKEN = "broken"


class PlanStatus(StrEnum):
    """What became of a record that was handed in; `failed` occurs in batches only."""

    STORED = "stored"
    BELOW_THRESHOLD = "below_threshold"
    QUARANTINED = "quarantined"
    REPEATED = "repeated"
    MERGED = "merged"
    FAILED = "failed"


class UpdateStatus(StrEnum):
    """What `update_memory` did; `unchanged`: nothing would have differed, nothing was written."""

    UPDATED = "updated"
    UNCHANGED = "unchanged"
    QUARANTINED = "quarantined"


class QuarantineStatus(StrEnum):
    """What became of a record that was held back."""

    RELEASED = "released"
    PURGED = "purged"


class RuleOrigin(StrEnum):
    """Where a rule against poisoning is from: built in, or set by an administrator."""

    BUILTIN = "builtin"
    DATABASE = "database"
    ORGANISATION = "organisation"


class RetrievalIntent(StrEnum):
    """What the user appears to want of memory in a turn; all but `none` need it."""

    NONE = "none"
    EXPLICIT_RECALL = "explicit_recall"
    PERSONAL_RECOMMENDATION = "personal_recommendation"
    PRIOR_EVENT_REFERENCE = "prior_event_reference"
    RELATIONSHIP_REFERENCE = "relationship_reference"
    COMPARISON = "comparison"
    AMBIENT = "ambient"


class RetrievalTemporal(StrEnum):
    """What the time window of a retrieval plan does: put what lies in it first, or keep the rest
    out."""

    PREFER = "prefer"
    FILTER = "filter"


class RetrievalVerdict(StrEnum):
    """What became of a record that a retrieval plan reached, as `explain_retrieval` tells."""

    RETURNED = "returned"
    LIMIT = "limit"
    PER_PREDICATE = "per_predicate"
    BUDGET = "budget"
    WEAK_EVIDENCE = "weak_evidence"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    NOT_YET_VALID = "not_yet_valid"
    NO_LONGER_VALID = "no_longer_valid"
    KIND_FILTER = "kind_filter"
    TIME_WINDOW = "time_window"


class OnError(StrEnum):
    """What a batch does with a bad element: refuse all of it, or store the others."""

    ABORT = "abort"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The answer of `remember`.

    `status` is `stored`, `repeated` (the idempotency key was used before: this is the first answer)
    or `quarantined` (kept, but invisible to every recall until an administrator releases it).
    `content_hash` is SHA-256 over all that identifies the record.
    """

    id: UUID
    content_hash: bytes
    status: PlanStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A whole record, as `get_memories` returns it.

    `position` counts the wanted ids from 1. The owner is the pair (`origin_org_id`,
    `owner_agent_id`); `org_id` is `*` for global records. `importance` and `confidence` lie in
    [0, 1]. None means not given, for `expires_at` never, for `valid_to` still valid.
    """

    position: int
    id: UUID
    org_id: str
    origin_org_id: str
    owner_agent_id: str
    content: str
    memory_type: MemoryType | str
    scope: Scope | str
    importance: float
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    source_type: SourceType | str
    source_id: str | None
    thread_id: str | None
    created_by: str | None
    consolidation_state: ConsolidationState | str
    kind: Kind | str | None
    subject: str | None
    predicate: str | None
    entities: tuple[str, ...]
    aliases: tuple[str, ...]
    location: str | None
    confidence: float | None
    status: MemoryStatus | str
    valid_from: datetime | None
    valid_to: datetime | None
    temporal_scope: TemporalScope | str
    version: int
    prev_version_id: UUID | None
    access_count: int
    last_accessed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    content_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """One hit of `recall`; `rank` counts from 1, a higher `score` is better, `explanation` says
    what the score is made of."""

    rank: int
    id: UUID
    content: str
    owner_agent_id: str
    memory_type: MemoryType | str
    scope: Scope | str
    importance: float
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    score: float | None
    created_at: datetime
    explanation: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedMemory:
    """One fact that `retrieve` found; `rank` counts from 1, a higher `score` is better.

    `explanation` has the parts of the score: `rankings` (rank and contribution in each), `fused`
    (their sum), `boosts` (its factors), and what else says why.
    """

    rank: int
    id: UUID
    content: str
    kind: Kind | str | None
    subject: str | None
    predicate: str | None
    entities: tuple[str, ...]
    valid_from: datetime | None
    score: float
    explanation: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalExplanation:
    """A fact that `retrieve` returned or nearly did, and what became of it (`verdict`).

    `score` is None for what was not ranked, because it does not hold or was kept out.
    """

    rank: int
    id: UUID
    content: str
    kind: Kind | str | None
    subject: str | None
    predicate: str | None
    entities: tuple[str, ...]
    valid_from: datetime | None
    score: float | None
    explanation: dict[str, Any]
    verdict: RetrievalVerdict | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """One record that was forgotten, and what became of it."""

    id: UUID
    status: ForgetStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows of one kind `forget_subject` erased; `rank` counts from 1."""

    rank: int
    kind: ErasedKind | str
    erased: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many rows a sweep took for one task, and whether there is `more`; `rank` from 1."""

    rank: int
    task: SweepTask | str
    done: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A permission that one agent handed to another.

    On the records `memory_ids` or those with `tag`; with neither on all. `passes_on`: how many
    delegations of others it passes on; `passed_on`: in how many later ones it is passed on itself.
    """

    rank: int
    id: UUID
    direction: DelegationDirection | str
    status: DelegationStatus | str
    from_agent_id: str
    to_agent_id: str
    permission: Permission | str
    memory_ids: tuple[UUID, ...]
    tag: str | None
    max_depth: int
    passes_on: int
    passed_on: int
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Whether `touch` counted a use of this record."""

    id: UUID
    status: TouchStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRead:
    """A record whose reading `log_read` has logged, and the event of it."""

    id: UUID
    event_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What `share` granted to one agent; `expires_at` None means until it is taken back."""

    agent_id: str
    permission: Permission | str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """What `unshare` did for one agent: `removed`, or `absent` when there was no grant."""

    agent_id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedPlan:
    """The answer of `remember_plan`.

    `id` is None when nothing was stored (`status` `below_threshold`); `signature` is the query's
    tokens joined by spaces in any case.
    """

    id: UUID | None
    signature: str
    stored: bool
    status: PlanStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What became of one element of a batch.

    `position` counts from 1. `error` is None unless `status` is `failed`; then it is the SQLSTATE,
    a colon and the message.
    """

    position: int
    id: UUID | None
    stored: bool
    status: PlanStatus | str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMatch:
    """The answer of `recall_plan`: true in a condition when it is a hit.

    On a miss `id` to `created_at` are None or empty, and `reason` says why. With reason `guarded`
    `near_miss` describes a plan that the guard refused: `id`, `query`, `similarity`, and
    `differences`, a list of texts such as "asked has off, stored has on"; with reason `stale` the
    plan that would have been the hit, with up to ten of its chunks in `changed_chunks`; with reason
    `ambiguous` the nearest plan, and in `rival` one with other steps that is about as near; else it
    is None. `stale` says that the plan, or the near miss, cites a chunk that changed.
    `warnings` says, on hits and misses, what not to do: up to three failures, mappings with `id`,
    `query`, `steps`, `reason`, `similarity` and `created_at`; None for none, and in all but the
    first of `recall_plans`.
    `similarity` is the Jaccard similarity of the two token sets, in [0, 1]; with reason `semantic`
    it is the cosine of the two embeddings.
    `candidates_considered` counts the visible plans that were scored. `rank` is given by
    `recall_plans` only.
    """

    hit: bool
    id: UUID | None
    query: str | None
    steps: tuple[str, ...]
    details: list[Any] | None
    chunk_ids: tuple[str, ...]
    outcome_score: float | None
    similarity: float | None
    owner_agent_id: str | None
    scope: Scope | str | None
    created_at: datetime | None
    candidates_considered: int
    reason: RecallReason | str
    near_miss: dict[str, Any] | None
    stale: bool
    warnings: list[Any] | None
    rank: int | None = None

    def __bool__(self) -> bool:
        """Whether a plan was found."""
        return self.hit


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatePlans:
    """Two plans of one agent that are like each other; `other_id` is the older one.

    `guard_differences` says in words what the guard holds against taking one for the other; it is
    empty where nothing does.
    """

    rank: int
    id: UUID
    query: str
    outcome_score: float
    other_id: UUID
    other_query: str
    other_outcome_score: float
    similarity: float
    context: str | None
    guard_differences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What not to do, as `list_failures` returns it: steps that failed, and why (`reason`)."""

    rank: int
    id: UUID
    org_id: str
    origin_org_id: str
    owner_agent_id: str
    scope: Scope | str
    query: str
    steps: tuple[str, ...]
    details: list[Any] | None
    chunk_ids: tuple[str, ...]
    reason: str
    context: str | None
    tags: tuple[str, ...]
    thread_id: str | None
    source_id: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMatch:
    """What not to do: steps that failed for a question like the one asked, and why (`reason`).

    `rank` counts from 1, the nearest first; `similarity` is the Jaccard similarity of the two token
    sets; `stale` says that a chunk which it cites changed since.
    """

    rank: int
    id: UUID
    query: str
    steps: tuple[str, ...]
    details: list[Any] | None
    chunk_ids: tuple[str, ...]
    reason: str
    similarity: float
    owner_agent_id: str
    scope: Scope | str
    created_at: datetime
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExplanation:
    """One plan as `explain_recall_plan` looked at it, best first; `rank` counts from 1.

    `shared_tokens`, `only_asked` and `only_stored` compare the two token sets, `guard_differences`
    says in words what the guard holds against the plan, `state` is its consolidation state,
    `threshold` the similarity that the call demanded, `cosine` that of the two embeddings where
    words found no plan and embeddings were compared, else None. Without any candidate there is one
    row with `rank` to `state` None or empty, whose `verdict` is `none_similar`, `disabled` or
    `blank_query`.
    """

    rank: int | None
    id: UUID | None
    query: str | None
    similarity: float | None
    outcome_score: float | None
    shared_tokens: tuple[str, ...]
    only_asked: tuple[str, ...]
    only_stored: tuple[str, ...]
    guard_differences: tuple[str, ...]
    state: ConsolidationState | str | None
    threshold: float | None
    verdict: ExplanationVerdict | str
    cosine: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidatedChunks:
    """The answer of `invalidate_chunks`: how many different chunks of the source were named."""

    source: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RevalidatedPlan:
    """The answer of `revalidate_plan`; nothing was written where the plan was not stale."""

    id: UUID
    was_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStatement:
    """A statement that watches a table, or ends that; `rank` counts from 1."""

    rank: int
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardToken:
    """One thing that the guard reads out of a query; `position` counts from 1 in a fixed order.

    `guard_class` is the column `class`, a word that Python keeps for itself.
    """

    position: int
    token: str
    guard_class: GuardClass | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A stored plan, as `get_plan` and `list_plans` return it (`rank` by `list_plans` only).

    `details` is None or has one JSON value a step. `expires_at` None means never. `uses`,
    `successes` and `failures` count the reports of `record_plan_outcome`, `last_success` and
    `last_reported_at` are of the latest (None without any); `standing` ranks plans of equal
    similarity, and a `retired` plan is not recalled.
    """

    id: UUID
    org_id: str
    origin_org_id: str
    owner_agent_id: str
    scope: Scope | str
    query: str
    signature_tokens: tuple[str, ...]
    steps: tuple[str, ...]
    details: list[Any] | None
    chunk_ids: tuple[str, ...]
    outcome_score: float
    context: str | None
    tags: tuple[str, ...]
    thread_id: str | None
    source_id: str | None
    consolidation_state: ConsolidationState | str
    version: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    uses: int
    successes: int
    failures: int
    last_success: bool | None
    last_reported_at: datetime | None
    standing: float
    retired: bool
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFare:
    """How a plan fares after a report, as the caller's organisation counts it; see `Plan`."""

    id: UUID
    uses: int
    successes: int
    failures: int
    standing: float
    retired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """One report about a plan; `rank` from 1, the newest first.

    `counts`: it is the latest of its agent since the plan was revived, one of those that make the
    standing. `note` is for the plan's owner, the reporter and administrators.
    """

    rank: int
    id: UUID
    agent_id: str
    success: bool
    score: float
    note: str | None
    counts: bool
    reported_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredPlan:
    """What `retire_plan` or `revive_plan` made of a plan."""

    id: UUID
    status: RetireStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedPlan:
    """The scope of a plan after `promote_plan`."""

    id: UUID
    scope: Scope | str
    status: PromoteStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlan:
    """One element for `remember_plans`: the parameters of `remember_plan` under the same names."""

    query: str
    steps: Sequence[str]
    chunk_ids: Sequence[str]
    outcome_score: float
    agent_id: str | None = None
    scope: Scope | str | None = None
    org_id: str | None = None
    details: Sequence[Any] | None = None
    context: str | None = None
    ttl: timedelta | None = None
    thread_id: str | None = None
    source_id: str | None = None
    tags: Sequence[str] | None = None
    embedding: Sequence[float] | None = None
    model: str | None = None
    idempotency_key: str | None = None
    chunk_source: str | None = None
    read_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """One element for `remember_many`: the parameters of `remember` under the same names."""

    content: str
    scope: Scope | str | None = None
    memory_type: MemoryType | str | None = None
    importance: float | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    source_type: SourceType | str | None = None
    source_id: str | None = None
    thread_id: str | None = None
    created_by: str | None = None
    ttl: timedelta | None = None
    kind: Kind | str | None = None
    subject: str | None = None
    predicate: str | None = None
    entities: Sequence[str] | None = None
    aliases: Sequence[str] | None = None
    location: str | None = None
    confidence: float | None = None
    status: MemoryStatus | str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    temporal_scope: TemporalScope | str | None = None
    embedding: Sequence[float] | None = None
    model: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """The answer of `update_memory`: `version` is what the record has now."""

    id: UUID
    version: int
    status: UpdateStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRecord:
    """A record that a rule against poisoning holds back; `rank` counts from 1, newest first.

    `reason` names the rules that it hit, with their weights. `content` and `metadata` are None
    unless an administrator asks.
    """

    rank: int
    id: UUID
    org_id: str
    origin_org_id: str
    owner_agent_id: str
    memory_type: MemoryType | str
    scope: Scope | str
    source_type: SourceType | str
    is_plan: bool
    reason: str
    content: str | None
    metadata: dict[str, Any] | None
    version: int
    created_at: datetime
    expires_at: datetime | None
    content_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What `release` or `purge` did to a record that was held back."""

    id: UUID
    status: QuarantineStatus | str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisoningRule:
    """A rule against poisoning: what a hit adds to the sum that holds a record back from 0.5 on.

    `rank` counts from 1, by name. `pattern` None: the rule counts, and reads no words.
    `applies_to`: source types, and `plan` for plans; empty for all.
    """

    rank: int
    name: str
    pattern: str | None
    weight: float
    applies_to: tuple[str, ...]
    enabled: bool
    origin: RuleOrigin | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRecord:
    """One line of an export; `rank` counts from 1 in its page."""

    rank: int
    record: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecord:
    """What became of one line of an export; `position` counts from 1.

    `record` names its table and key. `status` is `imported`, `present` (the same is there, nothing
    was written), `header` or `failed`; then `error` is the SQLSTATE, a colon and the message.
    """

    position: int
    record: str
    status: str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVerification:
    """What `verify_chain` found: `ok`, or the first event or record that is wrong.

    `checked` sealed events and `records` hold; `unsealed` events are not protected yet. `reason`
    says what is wrong with `first_bad_id` (None where something is gone), `detail` what differs.
    `head` is the hash of the last sealed event, to keep outside, None before the first sealing;
    `head_seq` and `anchor_seq` are its place and that of the last event that retention removed.
    """

    ok: bool
    checked: int
    unsealed: int
    first_bad_id: UUID | None
    reason: ChainReason | str | None
    head: bytes | None
    detail: str | None
    head_seq: int
    anchor_seq: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """One check of `health`: whether all is well, and what there is to say or to do about it."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """One chain of events: the place and hash of the last sealed one, and how many are not sealed.

    `head` and `sealed_at` are None before the first sealing; `anchor_seq` is the place of the last
    event that retention removed, 0 for none.
    """

    org_id: str
    agent_id: str
    head_seq: int
    head: bytes | None
    anchor_seq: int
    sealed_at: datetime | None
    unsealed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedChain:
    """What `retain_events` did to one chain.

    `removed` events went, up to the anchor (`anchor_seq`, `anchor_hash`), and `carried` records
    were carried over into new events. Of a `broken` chain nothing is removed, and `first_bad_id`
    and `reason` say why.
    """

    org_id: str
    agent_id: str
    status: RetentionStatus | str
    removed: int
    carried: int
    anchor_seq: int
    anchor_hash: bytes | None
    first_bad_id: UUID | None
    reason: ChainReason | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLine:
    """A line of JSON of an exported chain; `seq` is the place to go on after."""

    seq: int
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change, as the log has it; `rank` counts from 1: newest first from `read_events`, oldest
    first from `history`.

    The owner of the record is (`org_id`, `agent_id`), the record (`memory_org_id`, `memory_id`),
    and who acted (`actor_org_id`, `actor_agent_id`). `content_hash` is the record's at that time,
    `changes` holds the columns that were set: labels, numbers, times in microseconds since 1970.
    `note` is None where none was given or where it was erased, `seq` and `hash` until the event is
    sealed.
    """

    rank: int
    id: UUID
    org_id: str
    agent_id: str
    event_type: EventType | str
    memory_org_id: str
    memory_id: UUID | None
    actor_org_id: str
    actor_agent_id: str
    happened_at: datetime
    content_hash: bytes | None
    changes: dict[str, Any]
    note: str | None
    seq: int | None
    hash: bytes | None
