"""Executing a retrieval plan written a second time, in Python, to compare the database with.

Words of questions, folded names and the terms of records come from the database, which other tests
compare; what is made of them is written here: whom a plan means, which lists are read, what is
scored, admitted, ranked, fused and kept.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

LIVE = ("raw", "active", "pending", "consolidated")
RULES = (
    "list_cap", "candidates", "k", "semantic_weight", "semantic_evidence", "least_evidence",
    "least_of_kind", "relative_evidence", "content_evidence", "person_alone", "other_evidence",
    "other_factor", "own_factor", "weak_factor", "about_factor", "least_of_general",
)  # fmt: skip
AGAIN, PARTNER, ENTITY, PREDICATE, HINT, OWN, MINE = 4000, 9000, 10000, 20000, 30000, 40000, 40001
RANKINGS = {
    1: "query_1", 2: "query_2", 3: "query_3", 4: "topics", 5: "entities", 6: "predicates",
    7: "seeded", 8: "semantic", 9: "scopes", 10: "time", 11: "query_1_hinted",
    12: "query_2_hinted", 13: "query_3_hinted", 15: "entities_hinted", 18: "semantic_hinted",
}  # fmt: skip


def hash64(text: str) -> int:
    """The number that stands for a term."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def signed(number: int) -> int:
    """The lowest 64 bits as a signed number."""
    number &= 2**64 - 1
    return number - 2**64 if number >= 2**63 else number


def own_term(about: int, word: int) -> int:
    """The term of what a subject has of a word."""
    return signed((about << 17 | (about >> 47) & 131071) ^ word)


def rounded(score: float) -> float:
    """To nine decimals."""
    return round(score * 1e9) / 1e9


@dataclass
class Answer:
    """A record that was scored."""

    record: dict[str, Any]
    score: float | None
    best: float
    rankings: dict[str, tuple[int, float]]
    admitted: bool
    verdict: str = ""


@dataclass
class Store:
    """The rows of a database, read once."""

    conn: psycopg.Connection
    records: list[dict[str, Any]] = field(default_factory=list)
    cache: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with self.conn.cursor(row_factory=dict_row) as cursor:
            self.records = cursor.execute(
                "SELECT m.*, v.terms, v.weights, v.length FROM mnemo.memory AS m"
                " JOIN mnemo.term_vector AS v ON v.org_id = m.org_id AND v.memory_id = m.id"
            ).fetchall()
            self.grants = cursor.execute("SELECT * FROM mnemo.acl").fetchall()
        numbers = self.sql("mnemo._retrieval_rules()::text")
        self.rules = dict(zip(RULES, map(float, numbers.strip("()").split(",")), strict=True))
        self.strengths = self.sql("mnemo._word_strengths()")
        self.partners = self.sql("mnemo._partner_names()")
        self.relations = set(self.sql("mnemo._relation_words()"))
        self.statistics: dict[str, tuple[Counter[int], int, float]] = {}
        for record in self.records:
            record["of"] = dict(zip(record["terms"], record["weights"], strict=True))
        for org in {r["org_id"] for r in self.records}:
            mine = [r for r in self.records if r["org_id"] == org]
            length = sum(r["length"] for r in mine)
            self.statistics[org] = (
                Counter(t for r in mine for t in r["of"]),
                len(mine),
                length / len(mine) if length else 10.0,
            )

    def sql(self, expression: str, *arguments: Any) -> Any:
        """The value of an expression, remembered."""
        key = (expression, repr(arguments))
        if key not in self.cache:
            self.cache[key] = self.conn.execute(  # type: ignore[call-overload]
                f"SELECT {expression}", arguments or None
            ).fetchone()[0]
        return self.cache[key]

    def fold(self, text: str | None) -> str | None:
        """A name for comparing."""
        return self.sql("mnemo._fold_name(%s)", text)  # type: ignore[no-any-return]

    def terms(self, text: str) -> list[str]:
        """The words of a text."""
        return self.sql("mnemo._terms(%s)", text)  # type: ignore[no-any-return]

    def question(self, text: str) -> list[dict[str, Any]]:
        """The words of a question and what answers each."""
        found = self.sql(
            "coalesce((SELECT jsonb_agg(to_jsonb(t) || jsonb_build_object('term', t.term::text))"
            " FROM mnemo._question_terms(%s) AS t), '[]')", text,
        )  # fmt: skip
        return [row | {"term": int(row["term"])} for row in found]


class Plan:
    """One plan of one agent at one time."""

    def __init__(
        self, store: Store, plan: Mapping[str, Any], org: str, agent: str, now: datetime,
        limit: int = 5, hard: bool = False,
    ) -> None:  # fmt: skip
        self.store, self.plan, self.org, self.agent = store, plan, org, agent
        self.now, self.limit, self.hard = now, limit, hard
        self.rules = store.rules
        self.cap = max(int(self.rules["list_cap"]), 2 * limit)
        self.most = max(int(self.rules["candidates"]), 2 * limit)
        self.frequency, self.number, self.average = store.statistics.get(org, (Counter(), 0, 10.0))
        window = plan["temporal"] or {}
        self.after, self.before = (
            datetime.fromisoformat(window[end]) if window.get(end) else None
            for end in ("after", "before")
        )
        self.lists = {place: self._list(place) for place in (1, 2, 3, 4)}

    # What is there

    def _list(self, place: int) -> list[dict[str, Any]]:
        """What the lists of an audience hold, whether the agent may read it now or not."""
        granted = {g["memory_id"] for g in self.store.grants
                   if (g["org_id"], g["agent_id"]) == (self.org, self.agent)}  # fmt: skip
        holds = {
            1: lambda r: r["org_id"] == self.org and r["agent_id"] == self.agent
            and r["scope"] != "public",
            2: lambda r: r["org_id"] == self.org and r["scope"] == "public",
            3: lambda r: r["org_id"] == self.org and r["scope"] == "shared"
            and r["id"] in granted and r["agent_id"] != self.agent,
            4: lambda r: r["org_id"] == "*",
        }[place]  # fmt: skip
        return [r for r in self.store.records if holds(r)]

    def readable(self, place: int, r: Mapping[str, Any]) -> bool:
        """Whether the agent may read a record of a list."""
        return (
            r["deleted_at"] is None
            and not r["quarantined"]
            and r["consolidation_state"] in LIVE
            and (r["expires_at"] is None or r["expires_at"] > self.now)
            and (place != 3 or any(
                g["memory_id"] == r["id"] and g["agent_id"] == self.agent
                and (g["expires_at"] is None or g["expires_at"] > self.now)
                for g in self.store.grants
            ))
        )  # fmt: skip

    def unfit(self, r: Mapping[str, Any]) -> str | None:
        """Why a record can be no answer."""
        if r["status"] != "active":
            return str(r["status"])
        if r["valid_from"] > self.now:
            return "not_yet_valid"
        if r["valid_to"] is not None and r["valid_to"] <= self.now:
            return "no_longer_valid"
        if self.plan["kind_filter"] and r["kind"] not in self.plan["kind_filter"]:
            return "kind_filter"
        if self.hard and not self.within(r):
            return "time_window"
        return None

    def within(self, r: Mapping[str, Any]) -> bool:
        """Whether a record lies in the window."""
        return not (
            (self.after is not None and r["valid_from"] < self.after)
            or (self.before is not None and r["valid_from"] >= self.before)
        )

    # What is asked

    def known(self, name: str) -> str | None:
        """The one subject that a name means."""
        term = hash64(f"name {name}")
        heads = []
        for place, records in self.lists.items():
            having = sorted(
                (r for r in records if term in r["of"]),
                key=lambda r: (r["of"][term], -r["length"], r["id"].int), reverse=True,
            )[:16]  # fmt: skip
            heads += [(place, r) for r in having]
        if any(r["of"][term] >= 30 for _, r in heads):
            return name
        subjects = {r["subject"] for place, r in heads
                    if self.readable(place, r) and r["subject"] is not None}  # fmt: skip
        return self.store.fold(subjects.pop()) if len(subjects) == 1 else None

    def phrases(self, texts: Iterable[str]) -> set[str]:
        """What may be a name."""
        found = set()
        for text in texts:
            words = self.store.sql("mnemo._fold_phrase(%s)", text).split(" ")
            for start in range(len(words)):
                # Whose wife somebody else's wife is is no question about one's own.
                before = words[max(start - 2, 0) : start]
                if (
                    len(before) == 2 and before[1] == "s" and words[start] in self.store.relations
                    and self.store.strengths.get(before[0]) != "-1"
                ):  # fmt: skip
                    continue
                for end in range(start + 1, min(start + 3, len(words)) + 1):
                    run = words[start:end]
                    strengths = [
                        self.store.strengths.get(run[0]),
                        self.store.strengths.get(run[-1]),
                    ]
                    if "-1" not in strengths and (len(run) > 1 or strengths[0] is None):
                        found.add(" ".join(run))
        return found

    def ask(self) -> None:
        """Slots, the terms that answer them, the rankings that add them up, the lists to read."""
        plan, store, rules = self.plan, self.store, self.rules
        texts = dict(enumerate(plan["lexical_queries"], 1))
        queries = list(texts.values())
        if plan["topics"]:
            texts[4] = " ".join(plan["topics"])
        words = {n: set(store.terms(text)) for n, text in texts.items()}
        meant = {n: store.sql("mnemo._meant_by(%s)", store.terms(t)) for n, t in texts.items()}
        spoken = {meant[n] for n in texts if n <= 3}
        forms = [[store.fold(e["surface"]), store.fold(e["canonical"])] for e in plan["entities"]]
        entities = {name for pair in forms for name in pair if name}
        partners = store.partners if "partner" in spoken else []
        names = self.phrases(queries) | entities
        known = {n: s for n in names | set(partners) if (s := self.known(n))}
        said = {n: s for n, s in known.items() if n in names and s != "user"}
        naming = {
            n: s for n, s in said.items()
            if not any(o != n and f" {n} " in f" {o} " for o in said)
        }  # fmt: skip
        partner = next((known[n] for n in partners
                        if known.get(n, "user") != "user" and not said), None)  # fmt: skip
        self.subjects, self.meant, self.of_user = set(naming.values()), True, False
        if partner:
            self.subjects = {partner}
        first = bool({"user"} & (spoken | entities))
        other = {s for n, s in known.items() if n in names | set(partners)} - {"user"}
        if not said and not other and (first or not partners):
            self.subjects, self.meant, self.of_user = {"user"}, first, True
        self.meant = self.meant and bool(self.subjects)
        hint = store.fold(plan["subject_hint"])
        self.hint = (self.known(hint) or hint) if hint else None
        self.predicate = plan["predicate_hint"]
        self.pair = self.hint is not None and self.predicate is not None

        slots: dict[int, dict[str, Any]] = {}
        answers: list[
            tuple[int, int, float, float, bool]
        ] = []  # term, slot, factor, evidence, read
        questions = store.question(" ".join(texts.values()))
        for row in questions:
            slot = slots.setdefault(
                row["place"], {"word": row["word"], "strength": row["strength"], "person": None}
            )
            slot["strength"] = max(slot["strength"], row["strength"])
        for slot in slots.values():
            over = [s for n, s in naming.items() if slot["word"] in n.split(" ")]
            slot["person"] = max(over) if over else None
        # A known name asks once.
        slots = {p: s for p, s in slots.items() if p < AGAIN or s["person"] is None}
        self.general = "general" in spoken and not self.meant
        self.uses: dict[int, dict[int, tuple[float, bool]]] = defaultdict(dict)
        for n in texts:
            inside = {p: s for p, s in slots.items() if s["word"] in words[n]}
            strong = any(s["strength"] == 2 or s["person"] for s in inside.values())
            for place, slot in inside.items():
                asks = bool(
                    slot["strength"] == 2 or slot["person"]
                    or (slot["strength"] == 1 and meant[n] != "partner" and not strong)
                )  # fmt: skip
                self.uses[n][place] = (1.0 if asks else rules["weak_factor"], asks)
            if meant[n] == "partner" and partner:
                self.uses[n][PARTNER] = (1.0, True)
        for place in range(1, len(plan["entities"]) + 1):
            self.uses[5][ENTITY + place] = (1.0, False)
        for place in range(1, len(plan["predicates"]) + 1):
            self.uses[6][PREDICATE + place] = (1.0, False)
        asking = {p for n in texts for p, (_, asks) in self.uses[n].items() if asks}
        for row in questions:
            answers.append((row["term"], row["place"], row["factor"], row["evidence"],
                            row["place"] in asking))  # fmt: skip
        persons = {p: s["person"] for p, s in slots.items() if s["person"]}
        if partner:
            persons[PARTNER] = partner
        self.persons = set(persons)
        for place, subject in persons.items():
            about = rules["about_factor"]
            answers.append((hash64(f"about {subject}"), place, about, 1, True))
            answers.append((hash64(f"name {subject}"), place, 0.5 * about, 0.9, True))
        for place, pair in enumerate(forms, 1):
            for name in {n for n in pair if n} | {naming[n] for n in pair if n in naming}:
                answers.append((hash64(f"name {name}"), ENTITY + place, 1, 0, True))
        for place, predicate in enumerate(plan["predicates"], 1):
            answers.append((hash64(f"attribute {predicate}"), PREDICATE + place, 1, 0, True))
        if self.pair:
            answers.append((hash64(f"pair {self.predicate} {self.hint}"), HINT, 1, 0, True))
        elif self.hint is not None:
            answers.append((hash64(f"about {self.hint}"), HINT, 1, 0, True))
        elif self.predicate is not None:
            answers.append((hash64(f"attribute {self.predicate}"), HINT, 1, 0, True))
        own = [hash64(f"about {s}") for s in self.subjects]
        answers += [(term, OWN, 1, 0, False) for term in own]
        if naming and "user" in spoken:
            answers.append((hash64("about user"), MINE, 1, 0, False))
        sought = {n: {p for p, (_, asks) in self.uses[n].items() if asks} for n in texts if n <= 3}
        self.admits = {n for n, s in sought.items()
                       if s and not any(s < o for o in sought.values())}  # fmt: skip
        self.answers = [
            (t, p, self.idf(t) * f, e, read and (self.frequency[t] > 0 or bool(self.lists[4])))
            for t, p, f, e, read in answers
        ]  # fmt: skip
        self.reads: dict[int, tuple[float, int]] = {}
        for term, place, score, _, read in self.answers:
            if read:
                factor = 1.0
                if self.subjects and place < PARTNER:
                    factor = rules["own_factor"] if term in own else rules["other_factor"]
                self._read(term, score * factor, place)
                for about in own if place < PARTNER else ():
                    self._read(own_term(about, term), score * rules["own_factor"], place)

    def _read(self, term: int, score: float, slot: int) -> None:
        if term not in self.reads or (-score, slot) < (-self.reads[term][0], self.reads[term][1]):
            self.reads[term] = (score, slot)

    def idf(self, term: int) -> float:
        """How rare a term is."""
        n = self.frequency[term]
        return math.log(1 + (self.number - n + 0.5) / (n + 0.5))

    def part(self, score: float, weight: int, length: int) -> float:
        """What a term contributes."""
        return score * 2.2 * weight / (weight + 3 + 9 * length / self.average)

    # What is found

    def candidates(self, wanted: Any) -> list[dict[str, Any]]:
        """The records that reach farthest, of those that are wanted."""
        reached = []
        for place, records in self.lists.items():
            best: dict[tuple[UUID, int], float] = {}
            tails: dict[int, float] = defaultdict(float)
            heads = []
            for term, (score, slot) in self.reads.items():
                head = sorted(
                    (r for r in records if term in r["of"]),
                    key=lambda r: (r["of"][term], -r["length"], r["id"].int), reverse=True,
                )[: self.cap]  # fmt: skip
                parts = [self.part(score, r["of"][term], r["length"]) for r in head]
                if len(head) == self.cap:
                    tails[slot] = max(tails[slot], parts[-1])
                heads.append((slot, head, parts))
            for slot, head, parts in heads:
                for r, part in zip(head, parts, strict=True):
                    key = (r["id"], slot)
                    best[key] = max(best.get(key, 0.0), max(part - tails[slot], 0.0))
            reach: dict[UUID, float] = defaultdict(float)
            for (memory, _), part in best.items():
                reach[memory] += part
            by_id = {r["id"]: r for r in records}
            reached += [(rounded(s), memory.int, place, by_id[memory])
                        for memory, s in reach.items()]  # fmt: skip
        reached.sort(key=lambda x: (x[0], x[1]), reverse=True)
        fit = [r for _, _, place, r in reached if self.readable(place, r) and wanted(r)]
        return fit[: self.most]

    def run(self) -> list[Answer]:
        """Every record that was scored, in order: the admitted ones by their scores."""
        if not self.plan["requires_memory"]:
            return []
        self.ask()
        found = self.candidates(lambda r: self.unfit(r) is None)
        return self.judge(found + self.timely({r["id"] for r in found}))

    def timely(self, found: Collection[UUID]) -> list[dict[str, Any]]:
        """The newest of the agent's own records in the window, where nothing else is asked for."""
        if self.admits or self.after is None:
            return []
        own = [
            r for r in self.store.records
            if (r["org_id"], r["agent_id"]) == (self.org, self.agent) and r["id"] not in found
            and r["created_at"] >= self.after and self.within(r)
            and self.readable(1, r) and self.unfit(r) is None
        ]  # fmt: skip
        own.sort(key=lambda r: (r["created_at"], r["id"].int), reverse=True)
        return own[: self.most]

    def judge(self, candidates: list[dict[str, Any]]) -> list[Answer]:
        """Score, admit, rank and fuse."""
        rules = self.rules
        raw: dict[UUID, dict[int, float]] = {}
        evidence: dict[UUID, dict[int, float]] = {}
        hinted: dict[UUID, bool] = {}
        for r in candidates:
            slots: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
            for term, place, score, proof, _ in self.answers:
                if term in r["of"]:
                    weight = r["of"][term]
                    slots[place].append((self.part(score, weight, r["length"]), proof, weight))
            hits = {}
            for place, found in slots.items():
                content = max(w for _, _, w in found) < 15
                hits[place] = (
                    max(s for s, _, _ in found),
                    max(e for _, e, _ in found) * (rules["content_evidence"] if content else 1),
                )
            own, hinted[r["id"]] = OWN in hits, HINT in hits
            named = any(p in self.persons and e > 0 for p, (_, e) in hits.items())
            nobodys = self.of_user and r["subject"] is None and not r["entities"]
            raw[r["id"]], evidence[r["id"]] = {}, {}
            for n, uses in self.uses.items():
                shared = [p for p in uses if p in hits]
                if not shared:
                    continue
                score = sum(hits[p][0] * uses[p][0] for p in shared)
                if n <= 4 and self.subjects:
                    if named and MINE in hits:
                        score *= rules["own_factor"] ** 2
                    elif own:
                        score *= rules["own_factor"]
                    elif not named and not nobodys:
                        score *= rules["other_factor"]
                asked = [p for p, (_, asks) in uses.items() if asks]
                proof = sum(hits[p][1] for p in shared if uses[p][1]) / max(len(asked), 1)
                beyond = any(p not in self.persons for p in asked)
                more = any(uses[p][1] and p not in self.persons and hits[p][1] > 0 for p in shared)
                if beyond and not more:
                    proof *= rules["person_alone"]
                if self.meant and not own and not named and not nobodys:
                    proof *= rules["other_evidence"]
                raw[r["id"]][n], evidence[r["id"]][n] = rounded(score), rounded(proof)
        least = rules[
            "least_of_kind"
            if self.plan["kind_filter"]
            else "least_of_general"
            if self.general
            else "least_evidence"
        ]
        top = {n: max((e.get(n, 0.0) for e in evidence.values()), default=0.0) for n in self.uses}
        admitted = {
            r["id"]: any(
                e >= least and e >= rules["relative_evidence"] * top[n]
                for n, e in evidence[r["id"]].items() if n in self.admits
            )
            or (self.pair and hinted[r["id"]])
            or (not self.admits and 5 in raw[r["id"]])
            for r in candidates
        }  # fmt: skip
        lists: dict[int, list[tuple[float, int, UUID]]] = defaultdict(list)
        words = {i: sum(s for n, s in scores.items() if n <= 3) for i, scores in raw.items()}
        best = {i: max((s for n, s in x.items() if n <= 3), default=0.0) for i, x in raw.items()}
        for r in candidates:
            i = r["id"]
            if not admitted[i]:
                continue
            for n, score in raw[i].items():
                if score > 0 and (n > 3 or self.admits):
                    lists[n].append((score, i.int, i))
                    if hinted[i] and (n <= 3 or n == 5):
                        lists[10 + n].append((score, i.int, i))
            if hinted[i] and self.predicate is not None:
                lists[7].append((words[i], i.int, i))
            if r["kind"] in self.plan["scopes"]:
                lists[9].append((words[i], i.int, i))
            if (self.after or self.before) and self.within(r):
                lists[10].append((words[i], i.int, i))
        ranks: dict[UUID, dict[str, tuple[int, float]]] = defaultdict(dict)
        for n in sorted(lists):
            for rank, (_, _, i) in enumerate(sorted(lists[n], reverse=True), 1):
                ranks[i][RANKINGS[n]] = (rank, 1 / (rules["k"] + rank))
        answers = []
        for r in candidates:
            i = r["id"]
            score = None
            if ranks[i]:
                score = rounded(sum(part for _, part in ranks[i].values()) * self.boost(r))
            answers.append(Answer(r, score, best[i], ranks[i], admitted[i]))
        answers.sort(key=lambda a: (a.admitted, a.score or 0, a.best, a.record["id"].int),
                     reverse=True)  # fmt: skip
        self.assemble(answers)
        return answers

    def boost(self, r: Mapping[str, Any]) -> float:
        """What multiplies the score."""
        boost = 1.1 if r["source_type"] in ("human", "user_input") else 1.0
        if r["confidence"] is not None:
            boost *= 0.7 + 0.6 * r["confidence"]
            boost *= 0.7 if r["confidence"] < 0.5 else 1
        if r["kind"] == "episodic":
            days = (self.now - r["valid_from"]).total_seconds() / 86400
            boost *= 0.5 + 0.5 * math.exp(-min(max(days, 0), 7000) / 14)
        return float(boost)

    def assemble(self, answers: list[Answer]) -> None:
        """What becomes of each."""
        each = 5 if self.plan["intent"] == "explicit_recall" else 2
        budget = max(500, 100 * self.limit)
        kept: list[Any] = []
        for answer in answers:
            r = answer.record
            tokens = -(-len(r["content"]) // 4)
            if not answer.admitted:
                answer.verdict = "weak_evidence"
            elif len(kept) == self.limit:
                answer.verdict = "limit"
            elif r["predicate"] is not None and kept.count(r["predicate"]) >= each:
                answer.verdict = "per_predicate"
            elif tokens > budget:
                answer.verdict = "budget"
            else:
                answer.verdict = "returned"
                kept.append(r["predicate"])
                budget -= tokens
