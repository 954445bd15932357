"""The picture of docs/retrieval.md: `python -m tests.bench.plot_loop`, which needs matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.server import ROOT

PAGE = ROOT / "docs" / "retrieval.png"
STEPS = {
    # name: (x, y, width, text, colour)
    "turn": (0.2, 3.1, 1.7, "a turn of the\nconversation", "#eeeeee"),
    "recall": (2.5, 3.1, 2.3, "recall a plan\nrecall_plan", "#cfe3f6"),
    "replay": (6.0, 4.5, 2.7, "hit: replay\nits steps and chunks", "#d5ecd0"),
    "plan": (6.0, 3.1, 2.7, "miss: plan anew\nplan_retrieval", "#fbe3c4"),
    "retrieve": (6.0, 1.6, 2.7, "search memory\nretrieve", "#fbe3c4"),
    "answer": (9.7, 3.1, 1.6, "answer", "#eeeeee"),
    "remember": (9.4, 1.0, 2.2, "worked: remember\nremember_plan", "#cfe3f6"),
    "report": (9.4, 4.9, 2.2, "later: report\nrecord_plan_outcome", "#cfe3f6"),
    "memory": (2.5, 0.6, 2.3, "PostgreSQL\nplans and memories", "#e6dcf2"),
}
ARROWS = (
    # from, its side, to, its side, bend
    ("turn", "right", "recall", "left", 0), ("recall", "right", "replay", "left", 0),
    ("recall", "right", "plan", "left", 0), ("plan", "below", "retrieve", "above", 0),
    ("retrieve", "right", "answer", "left", 0), ("replay", "right", "answer", "left", 0),
    ("answer", "below", "remember", "above", 0), ("answer", "above", "report", "below", 0),
    ("remember", "below", "memory", "below", -0.18), ("report", "above", "recall", "above", 0.25),
    ("memory", "above", "recall", "below", 0), ("memory", "right", "retrieve", "left", 0),
)  # fmt: skip
HEIGHT = 0.9


def draw(path: Path) -> bool:
    """Draw the loop into a PNG; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    figure, panel = pyplot.subplots(figsize=(12, 6.4))
    sides = {}
    for name, (x, y, width, text, colour) in STEPS.items():
        panel.add_patch(
            FancyBboxPatch((x, y), width, HEIGHT, boxstyle="round,pad=0.06,rounding_size=0.12",
                           facecolor=colour, edgecolor="#444444")
        )  # fmt: skip
        head, _, call = text.partition("\n")
        middle = x + width / 2
        panel.text(middle, y + HEIGHT * (0.66 if call else 0.5), head,
                   ha="center", va="center", fontsize=11)  # fmt: skip
        code = "_" in call or call == "retrieve"
        panel.text(middle, y + HEIGHT * 0.3, call, ha="center", va="center",
                   fontsize=10 if code else 11, family="monospace" if code else None)  # fmt: skip
        sides[name] = {
            "left": (x - 0.06, y + HEIGHT / 2), "right": (x + width + 0.06, y + HEIGHT / 2),
            "above": (middle, y + HEIGHT + 0.06), "below": (middle, y - 0.06),
        }  # fmt: skip
    for start, leaves, end, enters, bend in ARROWS:
        panel.add_patch(
            FancyArrowPatch(
                sides[start][leaves], sides[end][enters], arrowstyle="-|>", mutation_scale=16,
                connectionstyle=f"arc3,rad={bend}", color="#444444", linewidth=1.3,
            )
        )  # fmt: skip
    panel.set(xlim=(0, 11.9), ylim=(-0.5, 6.4), aspect="equal")
    panel.axis("off")
    # Without the name of the program that drew it, and its address.
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)
    return True


if __name__ == "__main__":
    sys.exit(not draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE))
