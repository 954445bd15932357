"""How well the rules against poisoning tell hostile texts from benign ones.

`poisoning_texts.jsonl` was written for this: benign texts that share words with attacks among them,
and hostile ones in several tones, languages and disguises. As a program it prints every mistake:
`python -m tests.reference.poisoning_eval postgresql:///...`, on a database with mnemo_pg.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

TEXTS = Path(__file__).with_name("poisoning_texts.jsonl")
# A record with nothing but the text; of a plan the text is the only step.
_QUERY = """
SELECT (mnemo._screen(r)).quarantine_reason
  FROM jsonb_populate_record(
    mnemo._new_record('private', 'o', 'a', NULL), %(record)s) AS r
"""


@dataclass(frozen=True)
class Verdict:
    """One text, and which rules held it back; None for none."""

    label: str
    source: str
    text: str
    reason: str | None

    @property
    def right(self) -> bool:
        """Whether a hostile text was held back, or a benign one was not."""
        return (self.label == "hostile") == (self.reason is not None)


def verdicts(conn: psycopg.Connection[Any]) -> list[Verdict]:
    """What the rules say about every text."""
    found = []
    for line in TEXTS.read_text("utf-8").splitlines():
        given = json.loads(line)
        record: dict[str, Any] = {"content": given["text"], "source_type": given["source"]}
        if given["source"] == "plan":
            record = {
                "content": "how do I do it", "source_type": "system",
                "tags": ["__experience_plan__"],
                "metadata": {"experience_plan": {"steps": [given["text"]]}},
            }  # fmt: skip
        row = conn.execute(_QUERY, {"record": json.dumps(record)}).fetchone()
        assert row is not None
        found.append(Verdict(**given, reason=row[0]))
    return found


def precision_and_recall(found: list[Verdict]) -> tuple[float, float]:
    """How many of those held back are hostile, and how many of the hostile are held back."""
    held = [one for one in found if one.reason is not None]
    hostile = [one for one in found if one.label == "hostile"]
    right = sum(one.right for one in held)
    return right / len(held), right / len(hostile)


if __name__ == "__main__":
    with psycopg.connect(sys.argv[1]) as connection:
        answers = verdicts(connection)
    for answer in answers:
        if not answer.right:
            print(f"{answer.label:8} {answer.source:14} {answer.reason} | {answer.text!r}")
    precision, recall = precision_and_recall(answers)
    print(f"{len(answers)} texts: precision {precision:.3f}, recall {recall:.3f}")
