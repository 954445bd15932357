"""The plot: latency against the number of plans, both logarithmic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bench.targets import figure


def draw(runs: list[dict[str, Any]], path: Path) -> bool:
    """A panel a kind of question with every way's p50, and p99 of recall; False: no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot

    runs = sorted((run for run in runs if "thresholds" in run), key=lambda run: run["plans"])
    kinds = [kind for kind in ("exact", "near", "miss") if any(figure(r, "lookup", kind, "p50")
             for r in runs)]  # fmt: skip
    if not kinds:
        return False
    ways = list(dict.fromkeys(entry["way"] for run in runs for entry in run["latency"]))
    figure_, panels = pyplot.subplots(
        1, len(kinds), figsize=(5 * len(kinds), 5), sharey=True, squeeze=False
    )
    for panel, kind in zip(panels[0], kinds, strict=True):
        for number, way in enumerate(ways):
            for name, style in (("p50", "-"), ("p99", ":")):
                points = [(run["plans"], value) for run in runs
                          if (value := figure(run, way, kind, name)) is not None]  # fmt: skip
                if not points or (name == "p99" and way not in ("prepared", "lookup")):
                    continue
                panel.plot(
                    *zip(*points, strict=True), style, marker="o", markersize=3,
                    color=f"C{number}", label=way if name == "p50" else f"{way}, p99",
                )  # fmt: skip
        panel.set(xscale="log", yscale="log", title=kind, xlabel="plans")
        sizes = [run["plans"] for run in runs]
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.set_xticks([], minor=True)
        panel.grid(True, which="both", alpha=0.2)
    panels[0][0].set_ylabel("milliseconds a call, p50")
    panels[0][-1].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.02, 1))
    figure_.suptitle(f"{runs[0]['workload']}: latency against the number of plans")
    # Without the name of the program that drew it, and its address.
    figure_.savefig(path, dpi=120, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure_)
    return True
