"""Figures of predictions: confusion matrices, how far a confidence can be believed, and thresholds.

Intervals of a bin are Wilson's; rows of one group count less than rows that are independent, as in
`evaluation/slices.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sentitok.figures.canvas import bar_style, column, grid, legend, line_style, plain, title

from ..evaluation.calibration import N_BINS, bin_of, ece_of, reliability_of
from ..evaluation.metrics import confusion
from ..evaluation.predictions import Predictions
from ..evaluation.slices import accuracy_interval
from ..evaluation.thresholds import Curve, curves
from . import AS_USUAL, Asked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["calibration", "confusion_matrices", "rows_of", "threshold_curves"]

# Beyond so many classes the numbers of a matrix would cover each other.
_NUMBERED = 20
# Beyond so many runs the lines of their intervals would cover each other.
_WITH_INTERVALS = 4
# Labels whose thresholds are drawn; nobody compares more axes.
_SHOWN = 12
# Points of a curve of thresholds; more cannot be told apart.
_POINTS = 400


def confusion_matrices(runs: Mapping[str, Predictions], asked: Asked = AS_USUAL) -> "Figure":
    """Draws the confusion matrices of several runs next to each other, shares of each true class."""
    longest = max(len(name) for one in runs.values() for name in one.labels.names)
    n_labels = max(len(one.labels) for one in runs.values())
    side = min(9.0, 2.2 + 0.55 * n_labels + 0.07 * min(longest, 20))
    figure, all_axes = grid(len(runs), width=max(3.8, side), height=max(3.8, side))
    for axes, (name, predictions) in zip(all_axes, runs.items(), strict=True):
        matrix = confusion(predictions.labelled())
        _matrix(axes, matrix, [plain(label) for label in predictions.labels.names])
        axes.set_title(plain(name), fontsize="medium")
    on = f" on {asked.on}" if asked.on else ""
    figure.suptitle(title(f"answers{on}: share of each true label, and rows"), fontsize="medium")
    return figure


def rows_of(runs: Mapping[str, Predictions]) -> str | None:
    """Returns the file that predictions are of, and its rows; `None` where they are not all of one."""
    sets = {(Path(str(one.about.get("source", ""))).name, len(one)) for one in runs.values()}
    if len(sets) != 1:
        return None
    ((name, rows),) = sets
    return f"{name}, {rows:,} rows" if name else f"{rows:,} rows"


def _matrix(axes: "Axes", matrix: NDArray[np.int64], labels: list[str]) -> None:
    support = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(support, 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    places = range(len(labels))
    turned = max(map(len, labels)) > 3
    axes.set_xticks(places, labels, rotation=45 if turned else 0, ha="right" if turned else "center")
    axes.set_yticks(places, labels)
    axes.set_xlabel("predicted label")
    axes.set_ylabel("true label")
    for row in places if len(labels) <= _NUMBERED else ():
        for place in places:
            colour = "white" if shares[row, place] > 0.5 else "black"
            text = f"{shares[row, place]:.2f}\n{matrix[row, place]:,}"
            axes.text(place, row, text, ha="center", va="center", color=colour, fontsize="small")


def calibration(runs: Mapping[str, Predictions], asked: Asked = AS_USUAL) -> "Figure":
    """Draws how often answers of each confidence are right, with intervals, and how many there are."""
    figure, (above, below) = column((3.6, 1.5))
    above.plot([0, 1], [0, 1], color="grey", linestyle="--", linewidth=1)
    lowest = 1.0
    for place, (name, predictions) in enumerate(runs.items()):
        known = predictions.labelled()
        sure, so, rows = known.answers.confidence(known.probs, known.truth)
        bins = reliability_of(sure, so)
        lowest = min([lowest, *(one.low for one in bins)])
        confidence = [one.confidence for one in bins]
        shares = np.array([one.accuracy for one in bins])
        label = plain(f"{name} (ECE {ece_of(sure, so):.3f})")
        style = {**line_style(place, len(bins)), "markevery": 1}
        if len(runs) <= _WITH_INTERVALS:
            ends = _ends(sure, so, rows, known.groups)
            style |= {"yerr": np.abs(ends.T - shares), "capsize": 2, "elinewidth": 0.8}
            above.errorbar(confidence, shares, label=label, **style)
        else:
            above.plot(confidence, shares, label=label, **style)
        _counts(below, [(one.low, one.high, one.n) for one in bins], place, len(runs))
    above.set_xlim(max(0.0, lowest - 0.02), 1.01)
    above.set_ylim(0, 1.02)
    above.set_ylabel("share of right answers")
    below.set_ylabel("answers")
    below.set_xlabel("confidence: probability of the answer")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    on = f" on {asked.on}" if asked.on else ""
    bars = ", with 95 % intervals" if len(runs) <= _WITH_INTERVALS else ""
    figure.suptitle(title(f"calibration{on}{bars}"), fontsize="medium")
    legend(figure, [above], least=1)
    return figure


def _ends(
    sure: NDArray[np.float64], so: NDArray[np.bool_], rows: NDArray[np.int64], groups: list[str] | None
) -> NDArray[np.float64]:
    """Returns the 95 % interval of the share of right answers of each bin that has rows.

    Args:
        sure: probabilities.
        so: whether each came true.
        rows: the row of each.
        groups: the group of each row, or `None`.
    """
    place = bin_of(sure)
    of_each = None
    if groups is not None:
        of_each = np.array(groups, dtype=object)[rows]
    elif len(np.unique(rows)) < len(rows):  # a row's labels are not independent
        of_each = rows.astype(str).astype(object)
    bins = [place == one for one in range(N_BINS)]
    intervals = [
        accuracy_interval(so[own], None if of_each is None else of_each[own]) for own in bins if own.any()
    ]
    return np.array(intervals)


def _counts(axes: "Axes", bins: list[tuple[float, float, int]], place: int, n_runs: int) -> None:
    """Draws how many rows each bin has: a bar for each run, with numbers for a single run."""
    width = 0.9 / N_BINS / n_runs
    at = [low + (high - low) / 2 + (place - (n_runs - 1) / 2) * width for low, high, _ in bins]
    counts = [n for _, _, n in bins]
    bars = axes.bar(at, counts, width, **bar_style(place))
    if n_runs == 1:
        axes.bar_label(bars, [f"{n:,}" for n in counts], fontsize=7)
        axes.margins(y=0.25)
    if max(counts) > 50 * min(counts):
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)


def threshold_curves(runs: Mapping[str, Predictions], asked: Asked = AS_USUAL) -> "Figure":
    """Draws precision, recall and share of answers from each probability on, and the chosen thresholds.

    One axis for each run, or for each label where texts have several. Chosen thresholds lie on the curves
    where they are a probability alone; where costs decide, next to them.
    """
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
        _draw_curve(axes, curve)
        axes.set_title(plain(name), fontsize="medium")
    on = f" on {asked.on}" if asked.on else ""
    rules = {one.thresholds.rule for one in runs.values() if one.thresholds is not None}
    chosen = f"\nchosen by {', '.join(map(plain, sorted(rules)))}" if rules else ""
    hidden = f"\n{n_hidden} labels with fewer thresholds are left out" if n_hidden else ""
    figure.suptitle(title(f"thresholds{on}") + chosen + hidden, fontsize="medium")
    legend(figure, all_axes, least=1)
    return figure


def _draw_curve(axes: "Axes", curve: Curve) -> None:
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
