"""Each enum has the labels of the database's set, in its order."""

from __future__ import annotations

import inspect
import re
from enum import StrEnum
from typing import Any

import psycopg
import pytest

from mnemo_pg import types

SETS: dict[str, type[StrEnum]] = {
    "scope": types.Scope,
    "memory_type": types.MemoryType,
    "source_type": types.SourceType,
    "permission": types.Permission,
    "recall_strategy": types.RecallStrategy,
    "vector_distance": types.VectorDistance,
    "guard": types.Guard,
    "guard_class": types.GuardClass,
    "recall_reason": types.RecallReason,
    "stale_mode": types.StaleMode,
    "verdict": types.ExplanationVerdict,
    "plan_status": types.PlanStatus,
    "level": types.Level,
    "consolidation_state": types.ConsolidationState,
    "kind": types.Kind,
    "memory_status": types.MemoryStatus,
    "temporal_scope": types.TemporalScope,
    "on_error": types.OnError,
    "update_status": types.UpdateStatus,
    "quarantine_status": types.QuarantineStatus,
    "rule_origin": types.RuleOrigin,
    "forget_strategy": types.ForgetStrategy,
    "forget_status": types.ForgetStatus,
    "erased_kind": types.ErasedKind,
    "sweep_task": types.SweepTask,
    "delegation_status": types.DelegationStatus,
    "delegation_direction": types.DelegationDirection,
    "touch_status": types.TouchStatus,
    "retire_status": types.RetireStatus,
    "promote_status": types.PromoteStatus,
    "event_type": types.EventType,
    "chain_reason": types.ChainReason,
    "retention_status": types.RetentionStatus,
    "retrieval_intent": types.RetrievalIntent,
    "retrieval_temporal": types.RetrievalTemporal,
    "retrieval_verdict": types.RetrievalVerdict,
}


def test_every_enum_has_a_set() -> None:
    enums = {
        kind
        for kind in vars(types).values()
        if inspect.isclass(kind) and issubclass(kind, StrEnum) and kind is not StrEnum
    }
    assert set(SETS.values()) == enums


def test_every_set_has_an_enum(db: psycopg.Connection[Any]) -> None:
    """Whatever set `_labels` knows."""
    row = db.execute(
        "SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p"
        " WHERE p.pronamespace = 'mnemo'::regnamespace AND p.proname = '_labels'"
    ).fetchone()
    assert row is not None
    assert set(re.findall(r"WHEN '(\w+)'(?:::text)? THEN", row[0])) == set(SETS)


@pytest.mark.parametrize("name", SETS)
def test_labels(name: str, db: psycopg.Connection[Any]) -> None:
    row = db.execute("SELECT mnemo._labels(%s)", [name]).fetchone()
    assert row is not None
    assert [label.value for label in SETS[name]] == row[0]
    assert [label.name for label in SETS[name]] == [label.upper() for label in row[0]]
