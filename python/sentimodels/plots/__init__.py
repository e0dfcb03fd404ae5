"""Figures of runs, predictions and data: one row of `KINDS` for each kind, one file for each family.

Not for numbers: a figure draws what a report, a file of predictions or a run directory already holds.
How all figures look is `sentitok.figures.canvas`. To add a kind: a function `(given, asked) -> Figure`
in a file here, and a row; `senti plot` does the rest. This file imports nothing that is slow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AS_USUAL", "KINDS", "Asked", "Kind", "drawing", "save"]


@dataclass(frozen=True)
class Asked:
    """What a figure is asked to show.

    Attributes:
        axis: the horizontal axis, of those that the kind has; `None` for its first.
        score: the score of curves, a field of `metrics.jsonl`; `None` for those that suit the runs.
        on: what the figure is of, as its title says: files, and how many rows.
    """

    axis: str | None = None
    score: str | None = None
    on: str | None = None


AS_USUAL = Asked()


@dataclass(frozen=True)
class Kind:
    """One kind of figure.

    Attributes:
        about: what it shows.
        reads: what its sources are: the course of runs, what runs reached, predictions, tables of
            texts, or files of measurements.
        draw: module of this package, and the function in it.
        axes: what its horizontal axis may be; none where there is no choice.
    """

    about: str
    reads: Literal["course", "reached", "predictions", "labels", "lengths"]
    draw: str
    axes: tuple[str, ...] = ()


_COURSE = ("step", "epoch", "seconds", "tokens")

KINDS: dict[str, Kind] = {
    "curves": Kind(
        "losses and scores of runs as they were trained: macro-F1 of classifiers, perplexity and bits per "
        "byte of language models, BLEU of translation models, reward and divergence of aligned models",
        "course", "training:curves", _COURSE,
    ),
    "rates": Kind("learning rates of runs", "course", "training:rates", _COURSE),
    "accuracy": Kind(
        "accuracy of classifiers against their parameters or seconds of training", "reached",
        "reached:accuracy", ("parameters", "seconds"),
    ),
    "confusion": Kind(
        "confusion matrices side by side (needs --data or .npz files)",
        "predictions", "answers:confusion_matrices",
    ),
    "calibration": Kind(
        "how often answers of each confidence are right, and how many there are (needs --data or .npz files)",
        "predictions", "answers:calibration",
    ),
    "labels": Kind("shares of the labels of data files", "labels", "texts:label_histogram"),
    "lengths": Kind("lengths of the texts of data files, in words", "lengths", "texts:length_histogram"),
}  # fmt: skip


def drawing(kind: str) -> "Callable[[Mapping[str, Any], Asked], Figure]":
    """Returns what draws a kind."""
    module, _, name = KINDS[kind].draw.partition(":")
    draw: Callable[[Mapping[str, Any], Asked], Figure] = getattr(import_module(f".{module}", __name__), name)
    return draw


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure as PNG, SVG or PDF, whichever the suffix says.

    Raises:
        ConfigError: if it says none of them.
    """
    from sentitok.figures import canvas

    try:
        canvas.check(path)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    canvas.save(figure, path)
