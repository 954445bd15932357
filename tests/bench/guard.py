"""How well the guard tells look-alikes apart: pairs of questions, and CLINC150 by intent."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from psycopg import Connection

from mnemo_pg import ArgumentError, Mnemo
from tests.bench.load import BATCH
from tests.bench.workloads import clinc, data_folder

GUARDS = ("off", "meaning", "strict")
_ORG = "guard"


def evaluate(conn: Connection[Any], *, with_clinc: bool) -> dict[str, Any]:
    """The evaluation on an empty database; an empty report where there is no data."""
    mnemo = Mnemo(conn, org_id=_ORG)
    guards = [guard for guard in GUARDS if _is_known(mnemo, guard)]
    report: dict[str, Any] = {"guards": guards}
    pairs = data_folder() / "plan_pairs.jsonl"
    if pairs.is_file():
        lines = [json.loads(line) for line in pairs.read_text("utf-8").splitlines()]
        report["pairs"] = {guard: _pairs(conn, mnemo, lines, guard) for guard in guards}
    if with_clinc and (data_folder() / "clinc150.json").is_file():
        report["clinc"] = _clinc(mnemo, guards)
    return report


def _is_known(mnemo: Mnemo, guard: str) -> bool:
    try:
        mnemo.recall_plan("which guards are there", guard=guard)
    except ArgumentError:
        return False
    return True


def _pairs(
    conn: Connection[Any], mnemo: Mnemo, pairs: list[dict[str, str]], guard: str
) -> dict[str, Any]:
    """Each stored question alone, and the other asked: what was expected, by category."""
    categories: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"right": 0, "wrong": 0})
    right: defaultdict[str, list[bool]] = defaultdict(list)
    wrong = []
    for number, pair in enumerate(pairs):
        agent = f"pair-{number}"
        with conn.transaction(force_rollback=True):
            mnemo.remember_plan(pair["stored"], ["answer"], [], 1, agent_id=agent)
            match = mnemo.recall_plan(pair["asked"], agent_id=agent, guard=guard)
        is_right = match.hit == (pair["expect"] == "hit")
        categories[pair["category"]]["right" if is_right else "wrong"] += 1
        right[pair["expect"]].append(is_right)
        if not is_right:
            wrong.append({key: pair[key] for key in ("stored", "asked", "expect", "category")})
    return {
        "hit": sum(right["hit"]) / len(right["hit"]),
        "miss": sum(right["miss"]) / len(right["miss"]),
        "categories": dict(categories),
        "wrong": wrong,
    }


def _clinc(mnemo: Mnemo, guards: list[str]) -> dict[str, dict[str, float]]:
    """Training questions remembered, test questions asked at 0.7: hits, and how many of these
    have the same intent."""
    data = clinc()
    elements = [
        {"query": text, "steps": [intent], "chunk_ids": [], "outcome_score": 1, "scope": "public"}
        for text, intent in data["train"]
    ]
    for start in range(0, len(elements), BATCH):
        mnemo.remember_plans(elements[start : start + BATCH])
    report = {}
    for guard in guards:
        hits = right = 0
        for text, intent in data["test"]:
            match = mnemo.recall_plan(text, similarity_threshold=0.7, guard=guard)
            hits += match.hit
            right += match.hit and match.steps == (intent,)
        out_of_scope = sum(
            mnemo.recall_plan(text, similarity_threshold=0.7, guard=guard).hit
            for text, _ in data["oos_test"]
        )
        report[guard] = {
            "hits": hits / len(data["test"]),
            "precision": right / hits if hits else 1.0,
            "out_of_scope_hits": out_of_scope / len(data["oos_test"]),
        }
    return report
