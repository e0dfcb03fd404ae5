"""Figures of runs, predictions and data: one row of `KINDS` for each kind, one file for each family.

How all figures look is `sentitok.figures.canvas`. To add a kind: a function `(given, asked) -> Figure` in a
file here, and a row; `senti plot` does the rest. This file imports nothing that is slow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AS_USUAL", "KINDS", "Asked", "Kind", "check", "drawing", "said", "save"]


@dataclass(frozen=True)
class Asked:
    """The options of a figure.

    Attributes:
        axis: the horizontal axis, one that the kind has; `None` for its first.
        score: the score of curves, a field of `metrics.jsonl`; `None` for the usual ones of the runs.
        on: the source of the figure for its title: files, and how many rows.
    """

    axis: str | None = None
    score: str | None = None
    on: str | None = None


AS_USUAL = Asked()


@dataclass(frozen=True)
class Kind:
    """One kind of figure.

    Attributes:
        about: a description.
        reads: what its sources are: the course of runs, what runs reached, predictions, tables of
            texts, or files of measurements.
        draw: module of this package, and the function in it.
        axes: the possible horizontal axes; none where there is no choice.
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
        "course", "runs:curves", _COURSE,
    ),
    "rates": Kind("learning rates of runs", "course", "runs:rates", _COURSE),
    "accuracy": Kind(
        "accuracy of classifiers against their parameters or seconds of training", "reached",
        "runs:accuracy", ("parameters", "seconds"),
    ),
    "confusion": Kind(
        "confusion matrices in one figure (needs --data or .npz files)",
        "predictions", "answers:confusion_matrices",
    ),
    "calibration": Kind(
        "how often answers of each confidence are right, and how many there are (needs --data or .npz files)",
        "predictions", "answers:calibration",
    ),
    "thresholds": Kind(
        "precision, recall and share of answers from each probability on, with the thresholds of the run "
        "(needs --data or .npz files)",
        "predictions", "answers:threshold_curves",
    ),
    "labels": Kind("shares of the labels of data files", "labels", "texts:label_histogram"),
    "lengths": Kind("lengths of the texts of data files, in words", "lengths", "texts:length_histogram"),
}  # fmt: skip


def drawing(kind: str) -> "Callable[[Mapping[str, Any], Asked], Figure]":
    """Returns the function that draws a kind."""
    module, _, name = KINDS[kind].draw.partition(":")
    draw: Callable[[Mapping[str, Any], Asked], Figure] = getattr(import_module(f".{module}", __name__), name)
    return draw


def check(path: Path) -> None:
    """Refuses a file that a figure cannot be written to.

    Raises:
        ConfigError: if its suffix is none of PNG, SVG and PDF.
    """
    from sentitok.figures import canvas

    try:
        canvas.check(path)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure as PNG, SVG or PDF, according to the suffix.

    Raises:
        ConfigError: if it says none of them.
    """
    from sentitok.figures import canvas

    check(path)
    canvas.save(figure, path)


_NAMES = {
    "step": "steps",
    "epoch": "epochs",
    "seconds": "seconds of training",
    "tokens": "tokens trained on",
    "parameters": "parameters",
    "loss": "loss in training",
    "lr": "learning rate",
    "grad_norm": "norm of the gradient",
    "tokens_per_second": "tokens per second",
    "mfu": "share of the peak that is used (MFU)",
    "val_loss": "log loss on validation (nats)",
    "val_masked_loss": "log loss of masked tokens on validation (nats)",
    "val_next_sentence": "accuracy of the next sentence on validation",
    "val_perplexity": "perplexity on validation",
    "val_bits_per_byte": "bits per byte on validation",
    "val_bleu": "BLEU on validation",
    "val_accuracy": "accuracy on validation",
    "val_macro_f1": "macro-F1 on validation",
    "val_divergence": "KL to the teacher on validation (nats)",
    "val_agreement": "agreement with the teacher on validation",
    "accuracy": "chosen answer preferred (share)",
    "margin": "margin of implicit rewards",
    "reward_mean": "mean reward",
    "reward_median": "median reward",
    "reward_std": "standard deviation of the reward",
    "kl": "KL to the base (nats an answer)",
    "kl_sampled": "KL to the base, of samples (nats an answer)",
    "kl_coefficient": "weight of the KL penalty",
    "entropy": "entropy (nats a token)",
    "distinct_1": "distinct words (share)",
    "distinct_2": "distinct pairs of words (share)",
    "length": "tokens of an answer",
    "policy_loss": "loss of the policy",
    "value_loss": "loss of the value",
    "clip_share": "share of clipped ratios",
}


def said(field: str) -> str:
    """Returns the common name of a field; of one that has no row here its words."""
    return _NAMES.get(field, field.replace("val_", "validation ", 1).replace("_", " "))
