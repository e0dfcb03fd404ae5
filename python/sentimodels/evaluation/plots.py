"""Figures as files: curves, rates, confusion matrices, calibration, labels, lengths.

Not for numbers: every figure draws what a report, a file of predictions or a run's
`metrics.jsonl` already holds. matplotlib without a display; the suffix of the path
chooses PNG, SVG or PDF. Colours are those of Okabe and Ito 2008, told apart by all.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import writing

from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError
from .calibration import ece, reliability
from .metrics import confusion
from .predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Share of the past in the smoothed training loss, as the reports draw it.
SMOOTHING = 0.98
_AXES = {"step": "step", "epoch": "epoch", "seconds": "seconds", "tokens": "tokens"}

History = list[dict[str, Any]]


def read_history(run: Path) -> History:
    """Reads the `metrics.jsonl` of a run.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    path = run / "metrics.jsonl"
    try:
        lines = read_small(path).splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: no curves can be drawn ({error})") from error
    if not records or not all(isinstance(record, dict) for record in records):
        raise CheckpointError(f"{path}: no records of training")
    return records


def series(history: History, x: str, y: str) -> tuple[list[float], list[float]]:
    """Returns the points of the records that have both."""
    points = [(r[x], r[y]) for r in history if r.get(x) is not None and r.get(y) is not None]
    return [float(a) for a, _ in points], [float(b) for _, b in points]


def smooth(values: Sequence[float], share: float = SMOOTHING) -> list[float]:
    """Returns the running mean with exponential forgetting, corrected for its start."""
    smoothed = []
    total = weight = 0.0
    for value in values:
        total = share * total + (1 - share) * value
        weight = share * weight + (1 - share)
        smoothed.append(total / weight)
    return smoothed


def _figure(columns: int, width: float = 5.2, height: float = 4.0) -> tuple["Figure", list["Axes"]]:
    # The figure itself, without pyplot: nothing global, no display, no warning of open figures.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(1, columns, place + 1) for place in range(columns)]


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure.

    Raises:
        ConfigError: if the suffix names no format.
    """
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{path}: draws .png, .svg or .pdf")
    # Without a date the same data gives the same file.
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[path.suffix.lower()]
    with writing(path) as beside:
        figure.savefig(beside, dpi=144, format=path.suffix[1:].lower(), metadata=undated)


def curves(histories: Mapping[str, History], x: str = "step", y: str = "val_macro_f1") -> "Figure":
    """Draws training loss, validation loss and a validation score of several runs on one axis each.

    Raises:
        ConfigError: if no run has the score.
    """
    if x not in _AXES:
        raise ConfigError(f"axis {x!r}: one of {', '.join(_AXES)}")
    figure, (left, middle, right) = _figure(3)
    drawn = 0
    for place, (name, history) in enumerate(histories.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        steps, losses = series(history, x, "loss")
        left.plot(steps, smooth(losses), color=colour, label=name)
        for axes, key in ((middle, "val_loss"), (right, y)):
            at, values = series(history, x, key)
            drawn += len(values) if key == y else 0
            axes.plot(at, values, color=colour, marker="o", markersize=3, label=name)
    if not drawn:
        known = sorted({key for history in histories.values() for record in history for key in record})
        raise ConfigError(f"no run has {y!r}; they have {', '.join(known)}")
    for axes, title in ((left, "training loss, smoothed"), (middle, "validation loss"), (right, y)):
        _finish(axes, title, x, len(histories))
    return figure


def rates(histories: Mapping[str, History], x: str = "step") -> "Figure":
    """Draws the learning rates of several runs."""
    figure, (axes,) = _figure(1)
    for place, (name, history) in enumerate(histories.items()):
        at, values = series(history, x, "lr")
        axes.plot(at, values, color=_COLOURS[place % len(_COLOURS)], label=name)
    _finish(axes, "learning rate", x, len(histories))
    return figure


def _finish(axes: "Axes", title: str, x: str, n_names: int) -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.grid(alpha=0.3)
    if n_names > 1 and axes.has_data():
        axes.legend(fontsize="small")


def confusion_matrices(found: Mapping[str, Predictions]) -> "Figure":
    """Draws the confusion matrices of several runs side by side, shares of each true class."""
    figure, all_axes = _figure(len(found), width=4.4, height=4.2)
    for axes, (name, predictions) in zip(all_axes, found.items(), strict=True):
        matrix = confusion(predictions.labelled())
        _matrix(axes, matrix, list(predictions.labels))
        axes.set_title(name)
    return figure


def _matrix(axes: "Axes", matrix: NDArray[np.int64], labels: list[str]) -> None:
    support = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(support, 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    places = range(len(labels))
    axes.set_xticks(places, labels, rotation=45 if max(map(len, labels)) > 3 else 0)
    axes.set_yticks(places, labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    # Beyond some twenty classes the numbers would cover each other.
    for row in places if len(labels) <= 20 else ():
        for column in places:
            colour = "white" if shares[row, column] > 0.5 else "black"
            text = f"{shares[row, column]:.2f}\n{matrix[row, column]:,}"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize="x-small")


def calibration(found: Mapping[str, Predictions]) -> "Figure":
    """Draws how often answers of each confidence were right, for several runs."""
    figure, (axes,) = _figure(1)
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", linewidth=1)
    for place, (name, predictions) in enumerate(found.items()):
        known = predictions.labelled()
        bins = reliability(known.probs, known.truth)
        axes.plot(
            [one.confidence for one in bins],
            [one.accuracy for one in bins],
            color=_COLOURS[place % len(_COLOURS)],
            marker="o",
            markersize=4,
            label=f"{name} (ECE {ece(known.probs, known.truth):.3f})",
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_ylabel("share right")
    _finish(axes, "calibration", "confidence", 2)
    return figure


def label_histogram(counts: Mapping[str, Mapping[str, int]]) -> "Figure":
    """Draws the share of each label in several tables."""
    labels = list(dict.fromkeys(label for of_table in counts.values() for label in of_table))
    figure, (axes,) = _figure(1, width=max(5.2, 0.5 * len(labels) * len(counts)))
    width = 0.8 / len(counts)
    for place, (name, of_table) in enumerate(counts.items()):
        total = sum(of_table.values())
        shares = [of_table.get(label, 0) / max(1, total) for label in labels]
        at = np.arange(len(labels)) + (place - (len(counts) - 1) / 2) * width
        bars = axes.bar(at, shares, width, color=_COLOURS[place % len(_COLOURS)], label=name)
        axes.bar_label(bars, [f"{of_table.get(label, 0):,}" for label in labels], fontsize="x-small")
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel("share of rows")
    _finish(axes, "labels", "label", len(counts))
    return figure


def length_histogram(
    lengths: Mapping[str, Sequence[int] | NDArray[np.int64]], unit: str = "words", limit: int | None = None
) -> "Figure":
    """Draws the lengths of several tables; `limit` marks where texts are cut."""
    figure, (axes,) = _figure(1)
    values = {name: np.asarray(one) for name, one in lengths.items()}
    # The longest thousandth would squeeze all others into one bar.
    top = max(1, *(int(np.quantile(one, 0.999)) for one in values.values() if len(one)), limit or 0)
    edges = np.linspace(0, top + 1, min(50, top + 1) + 1)
    for place, (name, one) in enumerate(values.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        weights = np.full(len(one), 1 / max(1, len(one)))
        axes.hist(
            np.minimum(one, top), edges.tolist(), weights=weights, histtype="step", color=colour, label=name
        )
    if limit is not None:
        axes.axvline(limit, color="grey", linestyle="--", linewidth=1)
    axes.set_ylabel("share of texts")
    _finish(axes, "lengths (the last bar holds all longer)", unit, len(lengths))
    return figure
