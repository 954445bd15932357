"""Grants and delegations against their definition, in random steps of several agents.

After each batch of steps every agent of two organisations with the same names asks for everything
by every way there is: what it sees and may do is what tests/reference/sharing.py says.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.reference.matching import jaccard
from tests.reference.sharing import PERMISSIONS, Delegation, Model, Record, Refused
from tests.support.calls import row, rows, scalar, value

ORGS = ("acme", "bravo")
AGENTS = ("ana", "ben", "cem", "dua", "eli")
TAGS = ("red", "blue", "green")
SCOPES = ("private", "private", "shared", "shared", "shared", "public", "global")
QUESTIONS = ("lemon", "melon", "grape")
ALWAYS = ("settle", "quarterly", "invoices", "quickly")
HOUR = "1 hour"


@dataclass
class Run:
    """The database and the model, step by step."""

    conn: psycopg.Connection[Any]
    dice: random.Random
    model: Model = field(default_factory=Model)
    ids: dict[int, UUID] = field(default_factory=dict)
    delegated: dict[int, UUID] = field(default_factory=dict)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def who(self) -> tuple[str, str]:
        return self.dice.choice((ORGS[0], ORGS[0], ORGS[1])), self.dice.choice(AGENTS)

    def some(self, most: int, org: str) -> list[int]:
        """Records, mostly of the organisation and lately written."""
        every = [n for n, r in self.model.records.items() if not r.gone or self.dice.random() < 0.1]
        own = [n for n in every if self.model.records[n].org == org]
        pool = own[-25:] if own and self.dice.random() < 0.9 else every or list(self.ids)
        return self.dice.sample(pool, min(len(pool), self.dice.randint(1, most)))

    def ttl(self) -> int | None:
        return self.dice.choice((None, None, 1, 2, 5))

    def call(self, function: str, expect: Any, **arguments: Any) -> list[dict[str, Any]]:
        """The call must do what the model does."""
        expected, got, found = "ok", "ok", []
        try:
            expect()
        except Refused as refused:
            expected = refused.sqlstate
        try:
            found = rows(self.conn, function, **arguments)
        except psycopg.Error as error:
            got = error.sqlstate or str(error)
        assert got == expected, (function, arguments)
        self.outcomes[function, got] += 1
        return found

    def remember(self) -> None:
        org, agent = self.who()
        number = len(self.ids)
        record = Record(
            number, org, agent, self.dice.choice(SCOPES),
            frozenset(self.dice.sample(TAGS, self.dice.randint(0, 2))),
            plan=self.dice.random() < 0.5, score=self.dice.choice((0.6, 0.8, 1.0)),
        )  # fmt: skip
        who = {"agent_id": agent, "org_id": org, "scope": record.scope, "tags": sorted(record.tags)}
        if record.plan:
            record.words = frozenset(
                (*ALWAYS[self.dice.randrange(2) :], self.dice.choice(QUESTIONS))
            )
            self.ids[number] = row(
                self.conn, "remember_plan", query=" ".join(sorted(record.words)), steps=["s"],
                chunk_ids=[], outcome_score=record.score, **who,
            )["id"]  # fmt: skip
        else:
            record.words = frozenset(self.dice.sample(("invoice", "paper", "stamp"), 2))
            text = " ".join(sorted(record.words))
            self.ids[number] = row(self.conn, "remember", content=text, **who)["id"]
        self.model.records[number] = record

    def share(self) -> None:
        org, agent = self.who()
        (number,) = self.some(1, org)
        to, rank, ttl = (
            self.dice.sample(AGENTS, self.dice.randint(1, 2)),
            self.dice.randint(1, 4),
            self.ttl(),
        )
        self.call(
            "share", lambda: self.model.share(number, org, agent, to, rank, ttl),
            id=self.ids[number], to_agents=to, permission=PERMISSIONS[rank - 1], ttl=hours(ttl),
            agent_id=agent, org_id=org,
        )  # fmt: skip

    def unshare(self) -> None:
        org, agent = self.who()
        (number,) = self.some(1, org)
        others = self.dice.sample(AGENTS, self.dice.randint(1, 3))
        self.call(
            "unshare", lambda: self.model.unshare(number, org, agent, others),
            id=self.ids[number], from_agents=others, agent_id=agent, org_id=org,
        )  # fmt: skip

    def forget(self) -> None:
        org, agent = self.who()
        (number,) = self.some(1, org)
        self.call(
            "forget", lambda: self.model.forget(number, org, agent), ids=[self.ids[number]],
            agent_id=agent, org_id=org,
        )  # fmt: skip

    def delegate(self) -> None:
        org, agent = self.who()
        holders = [c.links[-1] for c in self.model.chains if c.depth() and self.model.alive(c)]
        if holders and self.dice.random() < 0.5:
            last = self.dice.choice(holders)
            org, agent = last.org, last.receiver
        what = self.dice.choice(("ids", "ids", "tag", "tag", "all"))
        made = Delegation(
            len(self.model.delegations), org, agent,
            self.dice.choice([other for other in AGENTS if other != agent]),
            self.dice.randint(1, 4),
            frozenset(self.some(3, org)) if what == "ids" else None,
            self.dice.choice(TAGS) if what == "tag" else None,
            self.dice.choice((0, 0, 1, 1, 2, 3)), None,
        )  # fmt: skip
        ttl = self.ttl()
        made.ends = None if ttl is None else self.model.now + ttl
        # The store has limits; they have tests of their own.
        if sum(c.links[-1].receiver == made.receiver for c in self.model.chains) > 150:
            return
        found = self.call(
            "delegate", lambda: self.model.delegate(made), to_agent=made.receiver,
            permission=PERMISSIONS[made.permission - 1], tag=made.tag, max_depth=made.depth,
            ids=None if made.ids is None else [self.ids[n] for n in sorted(made.ids)],
            ttl=hours(ttl), agent_id=agent, org_id=org,
        )  # fmt: skip
        if found:
            self.delegated[made.number] = found[0]["delegate"]

    def revoke(self) -> None:
        active = [d for d in self.model.delegations.values() if not d.revoked]
        if not active:
            return
        passed = [d for c in self.model.chains for d in c.links[:-1] if not d.revoked]
        made = self.dice.choice(passed if passed and self.dice.random() < 0.5 else active)
        org, agent = made.org, made.giver
        if self.dice.random() < 0.3:
            org, agent = self.who()
        self.call(
            "revoke_delegation", lambda: self.model.revoke(made.number, org, agent),
            id=self.delegated[made.number], agent_id=agent, org_id=org,
        )  # fmt: skip

    def pass_time(self) -> None:
        """An hour: everything that has an end comes an hour nearer to it."""
        self.model.now += 1
        for table in ("acl", "delegation", "plan_signature"):
            self.conn.execute(
                f"UPDATE mnemo.{table} SET expires_at = expires_at - interval '{HOUR}'"
            )

    def step(self) -> None:
        dice = self.dice.choices(
            (self.remember, self.share, self.unshare, self.forget, self.delegate, self.revoke,
             self.pass_time),
            (18, 16, 8, 5, 22, 7, 3),
        )[0]  # fmt: skip
        if self.model.records or dice == self.remember:
            dice()

    # What every agent must find

    def compare(self) -> None:
        self.model.tidy()
        for org in ORGS:
            for agent in (*AGENTS, "nobody"):
                self.compare_agent(org, agent)

    def compare_agent(self, org: str, agent: str) -> None:
        who = {"agent_id": agent, "org_id": org}
        ranks = {n: self.model.rank(r, org, agent) for n, r in self.model.records.items()}
        seen = [n for n, rank in ranks.items() if rank > 0]
        numbers = {id: n for n, id in self.ids.items()}
        got = rows(self.conn, "get_memories", ids=list(self.ids.values()), **who)
        assert [numbers[g["id"]] for g in got] == seen, who
        held = self.conn.execute(
            "SELECT t.id, ARRAY(SELECT p.label FROM unnest(%s::text[]) AS p(label)"
            " WHERE mnemo.check_permission(t.id, p.label, %s, %s)) FROM unnest(%s::uuid[])"
            " AS t(id)",
            [list(PERMISSIONS), agent, org, [self.ids[n] for n in self.sample(ranks)]],
        ).fetchall()
        for id, permissions in held:
            assert permissions == list(PERMISSIONS[: ranks[numbers[id]]]), (who, numbers[id])
        self.compare_recall(who, numbers, [n for n in seen if not self.model.records[n].plan])
        self.compare_plans(who, numbers, [n for n in seen if self.model.records[n].plan])

    def sample(self, ranks: dict[int, int]) -> list[int]:
        return self.dice.sample(sorted(ranks), min(25, len(ranks)))

    def compare_recall(
        self, who: dict[str, str], numbers: dict[UUID, int], seen: list[int]
    ) -> None:
        def found(**arguments: Any) -> list[int]:
            return [numbers[r["id"]] for r in rows(self.conn, "recall", **arguments, **who)]

        newest = sorted(seen, reverse=True)
        assert found(query=None, strategy="exact", limit=1000) == newest, who
        assert found(query=None, strategy="recent", limit=3) == newest[:3], who
        word = self.dice.choice(("invoice", "paper", "stamp"))
        match = [n for n in newest if word in self.model.records[n].words]
        for strategy in ("lexical", "hybrid"):
            got = found(query=word, strategy=strategy, limit=1000)
            assert len(got) == len(set(got)), who
            assert set(got) == set(match if strategy == "lexical" else newest), (strategy, who)
        tag = self.dice.choice(TAGS)
        tagged = [n for n in match if tag in self.model.records[n].tags]
        got = found(query=word, strategy="lexical", limit=5, tags=[tag])
        assert len(got) == min(5, len(tagged)), who
        assert set(got) <= set(tagged), who

    def compare_plans(self, who: dict[str, str], numbers: dict[UUID, int], seen: list[int]) -> None:
        listed = rows(self.conn, "list_plans", limit=1000, **who)
        assert [numbers[r["id"]] for r in listed] == sorted(seen, reverse=True), who
        first = rows(self.conn, "list_plans", limit=2, **who)
        assert [numbers[r["id"]] for r in first] == sorted(seen, reverse=True)[:2], who
        asked = frozenset((*ALWAYS[self.dice.randrange(2) :], self.dice.choice(QUESTIONS)))
        query = " ".join(sorted(asked, reverse=True))

        def order(number: int) -> tuple[Any, ...]:
            record = self.model.records[number]
            return (jaccard(asked, record.words), record.scope != "global", record.score, number)

        for threshold in (0.3, 0.7, 1.0):
            best = sorted((n for n in seen if order(n)[0] >= threshold), key=order, reverse=True)
            guard = self.dice.choice(("off", "strict"))
            ask = {"query": query, "similarity_threshold": threshold, "guard": guard, **who}
            got = [numbers[r["id"]] for r in rows(self.conn, "recall_plans", limit=1000, **ask)]
            assert got == best, (threshold, guard, who)
            one = row(self.conn, "recall_plan", **ask)
            assert [numbers[one["id"]]] == best[:1] if one["hit"] else best == [], who
        explained = rows(self.conn, "explain_recall_plan", query=query, guard="off", **who)
        near = sorted((n for n in seen if order(n)[0] >= 0.3), key=order, reverse=True)
        assert [numbers[r["id"]] for r in explained if r["id"]][:20] == near[:20], who


def hours(ttl: int | None) -> str | None:
    return None if ttl is None else f"{ttl} hours"


def run(conn: psycopg.Connection[Any], seed: int, batches: int, steps: int) -> Run:
    """Random steps, with everything compared after each batch."""
    # The definition knows no merging: every plan is one of its own.
    conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
    running = Run(conn, random.Random(seed))
    for _ in range(batches):
        for _ in range(steps):
            running.step()
        running.compare()
    scalar(conn, "SELECT mnemo.seal()")
    return running


def test_what_agents_see_and_may_do_is_what_the_definition_says(
    db: psycopg.Connection[Any],
) -> None:
    """Each kind of step, done and refused, is among the steps; each delegation has its events."""
    running = run(db, seed=20261130, batches=8, steps=150)
    for outcome in (
        ("share", "ok"), ("share", "42501"), ("share", "MN001"), ("share", "22023"),
        ("unshare", "ok"), ("forget", "ok"), ("forget", "42501"), ("delegate", "ok"),
        ("delegate", "42501"), ("delegate", "MN001"), ("delegate", "22023"),
        ("revoke_delegation", "ok"), ("revoke_delegation", "MN001"),
    ):  # fmt: skip
        assert running.outcomes[outcome] >= 3, running.outcomes
    assert max(len(chain.links) for chain in running.model.chains) >= 2
    events = scalar(
        db,
        "SELECT count(*) FROM mnemo.event WHERE memory_id IS NULL AND event_type = 'memory_share'",
    )
    assert events == running.outcomes["delegate", "ok"]
    shown = {
        (agent, d["id"]): d["status"]
        for org in ORGS
        for agent in AGENTS
        for d in rows(db, "delegations", limit=1000, agent_id=agent, org_id=org)
    }
    for made in running.model.delegations.values():
        ended = "expired" if running.model.ended(made.ends) else "active"
        for agent in (made.giver, made.receiver):
            known = shown.pop((agent, running.delegated[made.number]))
            assert known == ("revoked" if made.revoked else ended)
    assert shown == {}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_steps(db: psycopg.Connection[Any], seed: int) -> None:
    running = run(db, seed=seed, batches=40, steps=100)
    assert value(db, "seal", limit=1_000_000) == 0
    for org in ORGS:
        for agent in AGENTS:
            verdict = row(db, "verify_chain", agent_id=agent, org_id=org)
            # Time was moved by hand, in grants too: only they may differ from their events.
            assert verdict["ok"] or verdict["reason"] == "grant_changed", verdict
    assert running.outcomes["delegate", "ok"] > 300
