"""mnemo_pg: an agent's memory inside PostgreSQL, through typed calls.

`Mnemo` and `AsyncMnemo` call the SQL functions of schema `mnemo` under the same names; `types` has
what they return and the labels that they take, `errors` what they raise.

    from mnemo_pg import Mnemo

    with Mnemo("postgresql:///app", agent_id="support") as m:
        m.remember_plan("How do I reset my password?", ["open settings"], ["kb-17"], 0.92)
        plan = m.recall_plan("password reset: how do I do it")
"""

from mnemo_pg.aclient import AsyncMnemo
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
from mnemo_pg.types import (
    BatchResult,
    ConsolidationState,
    ExplanationVerdict,
    ForgetStrategy,
    Forgotten,
    Grant,
    Guard,
    GuardClass,
    GuardToken,
    Kind,
    Level,
    Memory,
    MemoryStatus,
    MemoryType,
    NewPlan,
    OnError,
    Permission,
    Plan,
    PlanExplanation,
    PlanMatch,
    PlanStatus,
    RecalledMemory,
    RecallReason,
    RecallStrategy,
    Remembered,
    RememberedPlan,
    Revocation,
    Scope,
    SourceType,
    TemporalScope,
)

__all__ = [
    "AccessError",
    "ArgumentError",
    "AsyncMnemo",
    "BatchResult",
    "ConflictError",
    "ConsolidationState",
    "ExplanationVerdict",
    "ForgetStrategy",
    "Forgotten",
    "Grant",
    "Guard",
    "GuardClass",
    "GuardToken",
    "Kind",
    "Level",
    "LimitError",
    "Memory",
    "MemoryStatus",
    "MemoryType",
    "Mnemo",
    "MnemoError",
    "NewPlan",
    "NotFoundError",
    "NotInstalledError",
    "OnError",
    "Permission",
    "Plan",
    "PlanExplanation",
    "PlanMatch",
    "PlanStatus",
    "ReadOnlyError",
    "RecallReason",
    "RecallStrategy",
    "RecalledMemory",
    "Remembered",
    "RememberedPlan",
    "Revocation",
    "Scope",
    "SourceType",
    "StateError",
    "TemporalScope",
    "TimedOutError",
    "UnavailableError",
    "UnsupportedError",
    "VersionConflictError",
]
