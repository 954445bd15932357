"""What recall_plan must answer, defined by looking at every plan.

Written from the specification and independent of the SQL: no index, no keys, no bounds. Only the
facts of a plan, who may see it, one comparison of two sets, and one of what the guard has read out
of two queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from uuid import UUID

EVERYWHERE = "*"
LIVE_STATES = frozenset({"raw", "active", "pending", "consolidated"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What the guard has read out of a query: two digests, 0 for nothing, and the names."""

    meaning: int = 0
    values: int = 0
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent, the pair (organisation, agent), said of a replay."""

    agent: tuple[str, str]
    success: bool
    score: float


@dataclass(slots=True)
class Plan:
    """A remembered plan; `owner` is the pair (origin organisation, agent).

    `reports` since it was written or revived, in their order; `by_hand`: its owner retired it.
    """

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
    query: str = ""
    reading: Reading = Reading()
    vector: tuple[float, ...] | None = None
    steps: tuple[str, ...] = ()
    reports: list[Report] = field(default_factory=list)
    by_hand: bool = False
    # What it cites, and the moment when that was read or last found to be right.
    source: str = ""
    chunks: frozenset[str] = frozenset()
    moment: int = 0


# The moment of the last change of a chunk: by organisation, source and id. Moments only grow.
Changes = Mapping[tuple[str, str, str], int]


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
    """All plans that answer a query, best first, and how many plans could have.

    `refused`: those that only the guard keeps from it; `retired`: those that only their retirement
    does; `stale`: those that would be hits if their sources had not changed. `near`: all from some
    lower similarity on.
    """

    reason: str
    hits: Sequence[Hit]
    refused: Sequence[Hit]
    near: Sequence[Hit]
    eligible: int
    retired: Sequence[Hit] = ()
    stale: Sequence[Hit] = ()


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


def is_stale(plan: Plan, changes: Changes) -> bool:
    """Whether a chunk that the plan cites changed after it was read; chunks are of the organisation
    that wrote the plan."""
    origin, _ = plan.owner
    return any(changes.get((origin, plan.source, id), -1) > plan.moment for id in plan.chunks)


def agrees(
    guard: str,
    asked: Reading,
    asked_tokens: frozenset[str],
    stored: Reading,
    stored_tokens: frozenset[str],
) -> bool:
    """Whether small differences do not forbid a replay under the guard off, meaning or strict."""
    if guard == "off":
        return True
    if asked.meaning != stored.meaning:
        return False
    if guard == "meaning":
        return True
    return (
        asked.values == stored.values
        and asked.names <= stored_tokens
        and stored.names <= asked_tokens
    )


def observed(score: float) -> Decimal:
    """A score as it is summed up: its first 15 digits."""
    return Decimal(f"{score:.15g}").quantize(Decimal("1e-17"), ROUND_HALF_UP)


def wilson(total: Decimal, count: int) -> float:
    """The lower bound of the score interval for `count` observations with this sum, z = 1.96."""
    with localcontext() as context:
        context.prec = 60
        z, share = Decimal("1.96"), total / count
        spread = (share * (1 - share) / count + z * z / (4 * count * count)).sqrt()
        return float((share + z * z / (2 * count) - z * spread) / (1 + z * z / count))


def latest(plan: Plan, org_ids: set[str]) -> list[Report]:
    """The last report of each agent of these organisations."""
    return list({r.agent: r for r in plan.reports if r.agent[0] in org_ids}.values())


def standing(plan: Plan, org_id: str) -> float:
    """Where a plan stands for an organisation: the original outcome and one report an agent of the
    owner's organisation and of this one."""
    counted = latest(plan, {plan.owner[0], org_id})
    total = sum((observed(report.score) for report in counted), observed(plan.outcome_score))
    return wilson(total, 1 + len(counted))


def is_retired(plan: Plan, threshold: float) -> bool:
    """Whether a plan is replayed no more where this is `retire_threshold`."""
    if plan.by_hand:
        return True
    counted = latest(plan, {plan.owner[0]})
    run = 0
    for report in plan.reports:
        if report.agent == plan.owner:
            run = 0 if report.success else run + 1
    # One agent retires only what is its own; the owner's failures in a row count each.
    if run == 0 and sum(not report.success for report in counted) < 2:
        return False
    total = sum((observed(report.score) for report in counted), observed(plan.outcome_score))
    return wilson(total, 1 + len(counted) + max(run - 1, 0)) < threshold


def order(
    plan: Plan, similarity: float, org_id: str
) -> tuple[float, bool, float, float, datetime, bytes]:
    """The sort key of an answer for an organisation; the greatest is best."""
    return (
        similarity,
        plan.org_id != EVERYWHERE,
        standing(plan, org_id),
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
    guard: str = "off",
    reading: Reading = Reading(),
    near: float = 0.3,
    retire: float = 0.05,
    changes: Changes | None = None,
    stale: str = "refuse",
) -> Answer:
    """Everything that `recall_plans` would return without a limit; `recall_plan` is its first."""
    eligible = [
        plan
        for plan in plans
        if plan.context == context
        and is_live(plan, now)
        and is_visible(plan, org_id, agent_id, grants, now)
    ]
    ranked = sorted(
        (
            (plan, similarity)
            for plan in eligible
            for similarity in [jaccard(tokens, plan.tokens)]
            if similarity >= min(near, threshold)
        ),
        key=lambda pair: order(*pair, org_id),
        reverse=True,
    )
    hits: list[Hit] = []
    refused: list[Hit] = []
    retired: list[Hit] = []
    passed: list[Hit] = []
    for plan, similarity in ranked:
        if similarity >= threshold:
            hit = Hit(plan.id, similarity)
            fits = agrees(guard, reading, tokens, plan.reading, plan.tokens)
            if is_retired(plan, retire):
                retired += [hit] * fits
            elif not fits:
                refused.append(hit)
            else:
                old = stale == "refuse" and is_stale(plan, changes or {})
                (passed if old else hits).append(hit)
    if hits:
        reason = "exact" if hits[0].similarity == 1 else "similar"
    else:
        found = {"stale": passed, "retired": retired, "guarded": refused}
        reason = next((name for name, plans in found.items() if plans), "none_similar")
    return Answer(
        reason, hits, refused, [Hit(plan.id, similarity) for plan, similarity in ranked],
        len(eligible), retired, passed,
    )  # fmt: skip


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """To nine decimals, as mnemo_pg gives it."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return round(dot / (math.hypot(*a) * math.hypot(*b)), 9)


def semantic(
    plans: Iterable[Plan],
    grants: Grants,
    tokens: frozenset[str],
    vector: Sequence[float],
    *,
    org_id: str,
    agent_id: str,
    threshold: float,
    margin: float,
    context: str | None,
    now: datetime,
    guard: str = "off",
    reading: Reading = Reading(),
) -> Answer:
    """What `recall_plans` returns for an embedding where `recall` has no hit: the same plans under
    the same guard, by the cosine of their vectors. Nothing (`refused` being the best and its rival)
    where a plan for other words and with other steps is not `margin` farther than the best."""
    ranked = sorted(
        (
            (plan, similarity)
            for plan in plans
            if plan.vector is not None
            and plan.context == context
            and is_live(plan, now)
            and is_visible(plan, org_id, agent_id, grants, now)
            for similarity in [cosine(vector, plan.vector)]
        ),
        key=lambda pair: order(*pair, org_id),
        reverse=True,
    )
    fit = [pair for pair in ranked if agrees(guard, reading, tokens, pair[0].reading,
                                             pair[0].tokens)]  # fmt: skip
    hits = [Hit(plan.id, similarity) for plan, similarity in fit if similarity >= threshold]
    refused = [
        Hit(plan.id, similarity)
        for plan, similarity in ranked
        if (plan, similarity) not in fit and similarity >= threshold
    ]
    reason = "semantic" if hits else "guarded" if refused else "none_similar"
    if hits:
        best, nearest = fit[0]
        rivals = [
            Hit(plan.id, similarity)
            for plan, similarity in fit
            if similarity > nearest - margin
            and plan.steps != best.steps
            and plan.tokens != best.tokens
        ]
        if rivals:
            reason, hits, refused = "ambiguous", [], [hits[0], rivals[0]]
    near = [Hit(plan.id, similarity) for plan, similarity in ranked]
    return Answer(reason, hits, refused, near, len(ranked))
