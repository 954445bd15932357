"""Who may do what with which record: grants and delegations, by definition and slowly.

Times are whole numbers of a clock that the caller moves. A right that ends at 5 no longer counts
at 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

PERMISSIONS = ("read", "write", "delete", "share")


class Refused(Exception):
    """The SQLSTATE of a call that the store refuses."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@dataclass(slots=True)
class Record:
    """A memory or a plan."""

    number: int
    org: str
    owner: str
    scope: str
    tags: frozenset[str]
    plan: bool = False
    words: frozenset[str] = frozenset()
    score: float = 0.0
    gone: bool = False


@dataclass(slots=True)
class Grant:
    """What a record's list says of one agent."""

    permission: int
    ends: int | None


@dataclass(slots=True)
class Delegation:
    """One call of delegate."""

    number: int
    org: str
    giver: str
    receiver: str
    permission: int
    ids: frozenset[int] | None
    tag: str | None
    depth: int
    ends: int | None
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Delegations of which each passes the one before on; ids: those that its last one may name."""

    links: tuple[Delegation, ...]
    ids: frozenset[int] | None

    def depth(self) -> int:
        """How many times it may be passed on further."""
        return min(link.depth - after for after, link in enumerate(reversed(self.links)))

    def permission(self) -> int:
        return min(link.permission for link in self.links)


@dataclass
class Model:
    """Everything that was written."""

    now: int = 0
    records: dict[int, Record] = field(default_factory=dict)
    grants: dict[tuple[int, str], Grant] = field(default_factory=dict)
    delegations: dict[int, Delegation] = field(default_factory=dict)
    chains: list[Chain] = field(default_factory=list)

    def ended(self, ends: int | None) -> bool:
        return ends is not None and ends <= self.now

    def granted(self, record: Record, agent: str) -> int:
        """The rank of a grant that counts, 0 for none."""
        grant = self.grants.get((record.number, agent))
        return 0 if grant is None or self.ended(grant.ends) else grant.permission

    def alive(self, chain: Chain) -> bool:
        return not any(link.revoked or self.ended(link.ends) for link in chain.links)

    def covers(self, chain: Chain, record: Record) -> bool:
        """Whether the agent that began the chain could give the record now, and gave it."""
        root = chain.links[0].giver
        return (
            chain.links[0].org == record.org
            and record.scope in ("shared", "public")
            and (record.owner == root or self.granted(record, root) == len(PERMISSIONS))
            and (chain.ids is None or record.number in chain.ids)
            and all(
                (link.ids is None or record.number in link.ids)
                and (link.tag is None or link.tag in record.tags)
                for link in chain.links
            )
        )

    def ways(self, record: Record, agent: str) -> Iterator[Chain]:
        """The chains by which the agent of the record's organisation holds something on it."""
        for chain in self.chains:
            last = chain.links[-1]
            if (last.receiver, last.org) == (agent, record.org) and self.alive(chain):
                yield from [chain] * self.covers(chain, record)

    def rank(self, record: Record, org: str, agent: str) -> int:
        """The highest permission, from 1 for read to 4; 0 for a record that it cannot see."""
        home = record.org if record.scope != "global" else None
        if record.gone:
            return 0
        if home is None:
            return 4 if (record.org, record.owner) == (org, agent) else 1
        if home != org:
            return 0
        if record.owner == agent:
            return 4
        if record.scope == "private":
            return 0
        held = max((c.permission() for c in self.ways(record, agent)), default=0)
        return max(held, self.granted(record, agent), 1 if record.scope == "public" else 0)

    def require(self, numbers: list[int], org: str, agent: str, permission: int) -> None:
        ranks = [self.rank(self.records[number], org, agent) for number in numbers]
        if 0 in ranks:
            raise Refused("MN001")
        if min(ranks) < permission:
            raise Refused("42501")

    def share(
        self, number: int, org: str, agent: str, to: list[str], permission: int, ttl: int | None
    ) -> None:
        self.require([number], org, agent, 4)
        record = self.records[number]
        if record.scope == "global" or record.owner in to or agent in to:
            raise Refused("22023")
        ends = [self.now + ttl] if ttl is not None else []
        if record.owner != agent:
            rights: list[int | None] = []
            if self.granted(record, agent) == 4:
                rights.append(self.grants[number, agent].ends)
            for chain in self.ways(record, agent):
                if chain.permission() == 4:
                    limits = [link.ends for link in chain.links if link.ends is not None]
                    root = chain.links[0].giver
                    if root != record.owner:
                        end = self.grants[number, root].ends
                        limits += [end] if end is not None else []
                    rights.append(min(limits, default=None))
            if None not in rights:
                ends.append(max(right for right in rights if right is not None))
        if record.scope == "private":
            record.scope = "shared"
        for other in to:
            self.grants[number, other] = Grant(permission, min(ends, default=None))

    def unshare(self, number: int, org: str, agent: str, others: list[str]) -> None:
        self.require([number], org, agent, 4)
        if self.records[number].scope == "global":
            raise Refused("22023")
        for other in others:
            self.grants.pop((number, other), None)

    def forget(self, number: int, org: str, agent: str) -> None:
        self.require([number], org, agent, 3)
        self.records[number].gone = True

    def delegate(self, made: Delegation) -> None:
        org, agent = made.org, made.giver
        if made.ids is not None:
            self.require(sorted(made.ids), org, agent, 1)
            named = [self.records[number] for number in sorted(made.ids)]
            if any(record.scope == "global" for record in named):
                raise Refused("22023")
            for record in named:
                if (
                    record.owner != agent
                    and self.granted(record, agent) < 4
                    and not any(
                        chain.depth() >= 1 and chain.permission() >= made.permission
                        for chain in self.ways(record, agent)
                    )
                ):
                    raise Refused("42501")
        self.delegations[made.number] = made
        passed = [
            (chain, [r.number for r in self.records.values() if r.number in (made.ids or ())
                     and not r.gone and self.covers(chain, r)])
            for chain in self.chains
            if chain.links[-1].receiver == agent and chain.links[-1].org == org
            and self.alive(chain) and chain.depth() >= 1
        ]  # fmt: skip
        self.chains.append(Chain((made,), made.ids))
        for chain, numbers in passed:
            if made.ids is None or numbers:
                ids = chain.ids if made.ids is None else frozenset(numbers)
                self.chains.append(Chain((*chain.links, made), ids))
        for number in made.ids or ():
            if self.records[number].scope == "private":
                self.records[number].scope = "shared"

    def revoke(self, number: int, org: str, agent: str) -> None:
        made = self.delegations[number]
        if made.org != org or agent not in (made.giver, made.receiver):
            raise Refused("MN001")
        made.revoked = True

    def tidy(self) -> None:
        """Drop the chains that have ended: nothing brings them back."""
        self.chains = [chain for chain in self.chains if self.alive(chain)]
