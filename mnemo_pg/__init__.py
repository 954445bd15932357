"""mnemo_pg: an agent's memory inside PostgreSQL, through typed calls.

`Mnemo` and `AsyncMnemo` call the SQL functions of schema `mnemo` under the same names; `types` has
what they return and the labels that they take, `errors` what they raise.

    from mnemo_pg import Mnemo

    with Mnemo("postgresql:///app", agent_id="support") as m:
        m.remember_plan("How do I reset my password?", ["open settings"], ["kb-17"], 0.92)
        plan = m.recall_plan("password reset: how do I do it")
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemo_pg.aclient import AsyncMnemo
    from mnemo_pg.areplay import AsyncReplay
    from mnemo_pg.client import Mnemo
    from mnemo_pg.errors import (
        AccessError,
        ArgumentError,
        ConflictError,
        LimitError,
        MnemoError,
        NotFoundError,
        NotInstalledError,
        ReadOnlyError,
        StateError,
        TimedOutError,
        UnavailableError,
        UnsupportedError,
        VersionConflictError,
    )
    from mnemo_pg.replay import Replay
    from mnemo_pg.retrieval import (
        AnswerSource,
        MemoryAnswer,
        RetrievalEntity,
        RetrievalPlan,
        TemporalWindow,
    )
    from mnemo_pg.types import (
        BatchResult,
        ChainHead,
        ChainLine,
        ChainReason,
        ChainVerification,
        ConsolidationState,
        Delegation,
        DelegationDirection,
        DelegationStatus,
        DuplicatePlans,
        Erased,
        ErasedKind,
        Event,
        EventType,
        ExplanationVerdict,
        ExportedRecord,
        Failure,
        FailureMatch,
        ForgetStatus,
        ForgetStrategy,
        Forgotten,
        Grant,
        Guard,
        GuardClass,
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
        PlanStatus,
        PoisoningRule,
        PromotedPlan,
        PromoteStatus,
        QuarantinedRecord,
        QuarantineStatus,
        RecalledMemory,
        RecallReason,
        RecallStrategy,
        Remembered,
        RememberedPlan,
        RetainedChain,
        RetentionStatus,
        RetiredPlan,
        RetireStatus,
        RetrievalExplanation,
        RetrievalIntent,
        RetrievalTemporal,
        RetrievalVerdict,
        RetrievedMemory,
        RevalidatedPlan,
        Revocation,
        RuleOrigin,
        Scope,
        SourceType,
        StaleMode,
        SweepTask,
        Swept,
        TemporalScope,
        Touched,
        TouchStatus,
        Updated,
        UpdateStatus,
        VectorDistance,
        WatchStatement,
    )

__all__ = [
    "AccessError",
    "AnswerSource",
    "ArgumentError",
    "AsyncMnemo",
    "AsyncReplay",
    "BatchResult",
    "ChainHead",
    "ChainLine",
    "ChainReason",
    "ChainVerification",
    "ConflictError",
    "ConsolidationState",
    "Delegation",
    "DelegationDirection",
    "DelegationStatus",
    "DuplicatePlans",
    "Erased",
    "ErasedKind",
    "Event",
    "EventType",
    "ExplanationVerdict",
    "ExportedRecord",
    "Failure",
    "FailureMatch",
    "ForgetStatus",
    "ForgetStrategy",
    "Forgotten",
    "Grant",
    "Guard",
    "GuardClass",
    "GuardToken",
    "HealthCheck",
    "ImportedRecord",
    "InvalidatedChunks",
    "Judged",
    "Kind",
    "Level",
    "LimitError",
    "LoggedRead",
    "Memory",
    "MemoryAnswer",
    "MemoryStatus",
    "MemoryType",
    "Mnemo",
    "MnemoError",
    "NewMemory",
    "NewPlan",
    "NotFoundError",
    "NotInstalledError",
    "OnError",
    "Permission",
    "Plan",
    "PlanExplanation",
    "PlanFare",
    "PlanMatch",
    "PlanReport",
    "PlanStatus",
    "PoisoningRule",
    "PromoteStatus",
    "PromotedPlan",
    "QuarantineStatus",
    "QuarantinedRecord",
    "ReadOnlyError",
    "RecallReason",
    "RecallStrategy",
    "RecalledMemory",
    "Remembered",
    "RememberedPlan",
    "Replay",
    "RetainedChain",
    "RetentionStatus",
    "RetireStatus",
    "RetiredPlan",
    "RetrievalEntity",
    "RetrievalExplanation",
    "RetrievalIntent",
    "RetrievalPlan",
    "RetrievalTemporal",
    "RetrievalVerdict",
    "RetrievedMemory",
    "RevalidatedPlan",
    "Revocation",
    "RuleOrigin",
    "Scope",
    "SourceType",
    "StaleMode",
    "StateError",
    "SweepTask",
    "Swept",
    "TemporalScope",
    "TemporalWindow",
    "TimedOutError",
    "TouchStatus",
    "Touched",
    "UnavailableError",
    "UnsupportedError",
    "UpdateStatus",
    "Updated",
    "VectorDistance",
    "VersionConflictError",
    "WatchStatement",
]

_MODULES = (
    "errors", "types", "retrieval", "statements", "client", "aclient", "replay", "areplay",
)  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name when it is asked for: loading the driver takes pytest's plugin too long."""
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for module in _MODULES:
                found = import_module(f"{__name__}.{module}")
                if hasattr(found, name):
                    globals()[name] = getattr(found, name)
                    return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """What there is, imported or not."""
        return sorted({*globals(), *__all__, *_MODULES})
