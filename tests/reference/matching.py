"""What recall_plan must answer, defined by looking at every plan.

Written from the specification and independent of the SQL: no index, no keys, no bounds. Only the
facts of a plan, who may see it, and one comparison of two sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

EVERYWHERE = "*"
LIVE_STATES = frozenset({"raw", "active", "pending", "consolidated"})


@dataclass(slots=True)
class Plan:
    """A remembered plan; `owner` is the pair (origin organisation, agent)."""

    id: UUID
    org_id: str
    owner: tuple[str, str]
    scope: str
    tokens: frozenset[str]
    outcome_score: float
    created_at: datetime
    expires_at: datetime | None = None
    deleted: bool = False
    quarantined: bool = False
    state: str = "raw"
    context: str | None = None


@dataclass(slots=True)
class Grant:
    """What `share` gave: on one plan, to one agent of the plan's organisation."""

    expires_at: datetime | None = None


# Grants by (plan, agent); an agent holds at most one on a plan.
Grants = Mapping[tuple[UUID, str], Grant]


@dataclass(frozen=True, slots=True)
class Hit:
    """One plan of an answer."""

    id: UUID
    similarity: float


@dataclass(frozen=True, slots=True)
class Answer:
    """All plans that answer a query, best first, and how many plans could have."""

    reason: str
    hits: Sequence[Hit]
    eligible: int


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of common tokens: the double nearest to the ratio, so 7 of 10 is 0.7."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def has_ended(expires_at: datetime | None, now: datetime) -> bool:
    """Whether something with this end no longer counts at `now`; None never ends."""
    return expires_at is not None and expires_at <= now


def is_live(plan: Plan, now: datetime) -> bool:
    """Whether a plan counts at all."""
    return (
        not plan.deleted
        and not plan.quarantined
        and plan.state in LIVE_STATES
        and not has_ended(plan.expires_at, now)
    )


def is_visible(plan: Plan, org_id: str, agent_id: str, grants: Grants, now: datetime) -> bool:
    """Whether the agent of the organisation may read the plan."""
    if plan.scope == "global":
        return True
    if plan.org_id != org_id:
        return False
    if plan.owner == (org_id, agent_id) or plan.scope == "public":
        return True
    grant = grants.get((plan.id, agent_id))
    return plan.scope == "shared" and grant is not None and not has_ended(grant.expires_at, now)


def order(plan: Plan, similarity: float) -> tuple[float, bool, float, datetime, bytes]:
    """The sort key of an answer; the greatest is best."""
    return (
        similarity,
        plan.org_id != EVERYWHERE,
        plan.outcome_score,
        plan.created_at,
        plan.id.bytes,
    )


def recall(
    plans: Iterable[Plan],
    grants: Grants,
    tokens: frozenset[str],
    *,
    org_id: str,
    agent_id: str,
    threshold: float,
    context: str | None,
    now: datetime,
) -> Answer:
    """Everything that `recall_plans` would return without a limit; `recall_plan` is its first."""
    eligible = [
        plan
        for plan in plans
        if plan.context == context
        and is_live(plan, now)
        and is_visible(plan, org_id, agent_id, grants, now)
    ]
    scored = [(plan, jaccard(tokens, plan.tokens)) for plan in eligible]
    best = sorted(
        ((plan, similarity) for plan, similarity in scored if similarity >= threshold),
        key=lambda pair: order(*pair),
        reverse=True,
    )
    reason = "none_similar" if not best else "exact" if best[0][1] == 1 else "similar"
    return Answer(reason, [Hit(plan.id, similarity) for plan, similarity in best], len(eligible))
