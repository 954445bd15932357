"""The normal form of a retrieval plan, word by word from its description: an independent oracle.

For plans that are right, in texts that Python lower-cases and composes as signatures do.
"""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import UTC, datetime
from typing import Any

NO_TEXT = "cbf29ce484222325"


def stable_hash(text: str) -> str:
    """FNV-1a of 64 bits."""
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return f"{found:016x}"


def caseless(text: str) -> str:
    """What two texts share that differ in case or composition alone."""
    return unicodedata.normalize("NFC", text).lower()


def canonical_predicate(text: str) -> str:
    """ASCII letters and digits in lower case, anything else one underscore."""
    kept = "".join(c.lower() if c.isascii() and c.isalnum() else " " for c in text)
    return "_".join(kept.split())


def texts(given: list[str], most: int) -> list[str]:
    """Blanks and duplicates dropped, the first ones kept."""
    kept: dict[str, str] = {}
    for text in given:
        if text.strip():
            kept.setdefault(caseless(text), text)
    return list(kept.values())[:most]


def entities(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with a surface."""
    kept: dict[tuple[str, str | None], dict[str, Any]] = {}
    for each in given:
        surface, canonical = each["surface"], each.get("canonical")
        canonical = canonical if canonical and canonical.strip() else None
        if surface.strip():
            key = caseless(surface), canonical and caseless(canonical)
            kept.setdefault(key, {"surface": surface, "canonical": canonical})
    return list(kept.values())[:5]


def moment(text: str | None) -> str | None:
    """In UTC."""
    if text is None:
        return None
    return datetime.fromisoformat(text).astimezone(UTC).isoformat().replace("+00:00", "Z")


def window(given: dict[str, Any]) -> dict[str, Any] | None:
    """The window of time, None for an empty one."""
    found = {
        "after": moment(given.get("after")),
        "before": moment(given.get("before")),
        "label": (given.get("label") or "").strip() or None,
    }
    return found if any(found.values()) else None


def normal(plan: dict[str, Any]) -> dict[str, Any]:
    """The normal form of a right plan, without its warnings."""
    given = {name: value for name, value in plan.items() if value is not None}
    queries = texts([" ".join(q.split()[:16]) for q in given.get("lexical_queries", [])], 3)
    found_entities = entities(given.get("entities", []))
    searches = bool(queries or found_entities)
    intent = given.get("intent", "none") if searches else "none"
    turn, generation = int(given["turn_id"]), int(given["generation"])
    transcript = given.get("source_transcript_hash", "").strip() or NO_TEXT
    digest = hashlib.sha256(f"{turn}:{generation}:{transcript}".encode()).hexdigest()
    return {
        "plan_id": given.get("plan_id", "").strip() or f"pln_{digest[:12]}",
        "turn_id": turn,
        "generation": generation,
        "requires_memory": searches and given.get("requires_memory", intent != "none"),
        "confidence": min(max(given.get("confidence", 1), 0), 1),
        "intent": intent,
        "entities": found_entities,
        "topics": texts([topic.strip() for topic in given.get("topics", [])], 8),
        "predicates": texts([canonical_predicate(p) for p in given.get("predicates", [])], 5),
        "lexical_queries": queries,
        "scopes": texts(given.get("scopes", []), 5),
        "kind_filter": texts(given.get("kind_filter", []), 11),
        "subject_hint": given.get("subject_hint", "").strip() or None,
        "predicate_hint": canonical_predicate(given.get("predicate_hint", "")) or None,
        "temporal": window(given.get("temporal", {})),
        "source_transcript_hash": transcript,
    }
