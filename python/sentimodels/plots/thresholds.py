"""The figure of thresholds: precision, recall and share of answers from each probability on.

One axis for each run, or for each label where texts have several. The thresholds that a run answers by are
drawn as points, which lie on the curves where they are a probability alone; where costs decide, next to them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sentitok.figures.canvas import grid, legend, line_style, plain, title

from ..evaluation.predictions import Predictions
from ..evaluation.thresholds import Curve, curves
from . import AS_USUAL, Asked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["threshold_curves"]

# Labels that are drawn; nobody compares more axes.
_SHOWN = 12
# Points of a curve; more cannot be told apart.
_POINTS = 400


def threshold_curves(runs: Mapping[str, Predictions], asked: Asked = AS_USUAL) -> "Figure":
    """Draws the scores of each threshold, and the point that was chosen."""
    parts: list[tuple[str, Curve]] = []
    n_hidden = 0
    for name, predictions in runs.items():
        known = predictions.labelled()
        found = curves(known.labels, known.probs, known.truth, known.thresholds)
        most = (
            sorted(found, key=lambda label: -len(found[label].least))[:_SHOWN]
            if len(found) > _SHOWN
            else found
        )
        n_hidden += len(found) - len(most)
        for label, curve in found.items():
            if label in most:
                parts.append((", ".join(filter(None, (name if len(runs) > 1 else "", label))) or name, curve))
    figure, all_axes = grid(len(parts), width=5.2)
    for axes, (name, curve) in zip(all_axes, parts, strict=True):
        _draw(axes, curve)
        axes.set_title(plain(name), fontsize="medium")
    on = f" on {asked.on}" if asked.on else ""
    rules = {one.thresholds.rule for one in runs.values() if one.thresholds is not None}
    chosen = f"\nchosen by {', '.join(map(plain, sorted(rules)))}" if rules else ""
    hidden = f"\n{n_hidden} labels with fewer thresholds are left out" if n_hidden else ""
    figure.suptitle(title(f"thresholds{on}") + chosen + hidden, fontsize="medium")
    legend(figure, all_axes, least=1)
    return figure


def _draw(axes: "Axes", curve: Curve) -> None:
    """Draws three lines, and the point on or next to each."""
    kept = np.unique(np.linspace(0, len(curve.least) - 1, min(len(curve.least), _POINTS)).astype(np.int64))
    sides: dict[str, NDArray[np.float64]] = {
        "precision": curve.precision, "recall": curve.recall, "answered": curve.answered,
    }  # fmt: skip
    at, *values = curve.chosen if curve.chosen is not None else (None,)
    if at is not None and at <= 1:
        axes.axvline(at, color="grey", linestyle="--", linewidth=1)
    heights = dict(zip(("answered", "precision", "recall"), values, strict=False))
    for place, (name, line) in enumerate(sides.items()):
        style = line_style(place)
        axes.plot(curve.least[kept], line[kept], label=name, **style)
        if at is not None:
            axes.plot([min(at, 1.0)], [heights[name]], color=style["color"], marker="o", markersize=6,
                      linestyle="none", label="chosen" if place == 0 else "_", clip_on=False)  # fmt: skip
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("threshold: least probability of an answer")
    axes.set_ylabel("share")
    axes.grid(alpha=0.3)
