"""Scores of predictions: one number each, per label, by length; their intervals; and the worst errors.

The kind of the labels decides the scores (`answers.py`). Calibration is in `calibration.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.normalization import n_words
from ..errors import DataError
from .answers import Scores, Sums
from .one_label import is_ordinal, log_loss_rows
from .predictions import Predictions

__all__ = [
    "N_REPLICATES",
    "Replicates",
    "by_length",
    "check_same_rows",
    "confusion",
    "differences",
    "holm",
    "intervals",
    "is_ordinal",
    "log_loss_rows",
    "majority",
    "mcnemar",
    "per_class",
    "replicates",
    "scores",
    "worst",
]


def scores(predictions: Predictions) -> Scores:
    """Returns the scores of predictions whose labels are all known."""
    return predictions.answers.scores(predictions.labels, predictions.probs, predictions.truth)


def majority(predictions: Predictions) -> dict[str, Any]:
    """Returns the score of the constant answer that suits these rows best: the most frequent class."""
    kind = predictions.answers
    answers = kind.constant(predictions.truth, len(predictions.labels))
    return {"label": predictions.labels.shown(answers[0]), **kind.few_scores(predictions.truth, answers)}


def per_class(predictions: Predictions) -> list[dict[str, Any]]:
    """Returns precision, recall, F1, support and answers of each class."""
    return predictions.answers.per_label(predictions.labels, predictions.probs, predictions.truth)


def confusion(predictions: Predictions) -> NDArray[np.int64]:
    """Returns the confusion matrix: row truth, column answer.

    Raises:
        DataError: of texts with several labels, for which it is not defined.
    """
    from sklearn.metrics import confusion_matrix

    if not predictions.answers.divides:
        raise DataError(
            "a confusion matrix needs one label a text; of several labels, take the table of each label "
            "(senti evaluate) or the pairs of senti errors"
        )
    matrix = confusion_matrix(
        predictions.truth, predictions.predicted, labels=np.arange(len(predictions.labels))
    )
    return np.asarray(matrix, dtype=np.int64)


def by_length(predictions: Predictions) -> list[dict[str, Any]]:
    """Returns accuracy and macro-F1 by number of words: 0-1, 2-3, 4-7, 8-15 and so on.

    A character of a script without spaces counts as a word.
    """
    words = np.array([n_words(text) for text in predictions.texts], dtype=np.int64)
    slices: list[dict[str, Any]] = []
    low, high = 0, 1
    while low <= words.max(initial=0):
        inside = (words >= low) & (words <= high)
        if inside.any():
            scores = _slice(predictions, inside)
            slices.append({"words": f"{low}-{high}", **scores})
        low, high = high + 1, 2 * high + 1
    return slices


def _slice(predictions: Predictions, inside: NDArray[np.bool_]) -> dict[str, Any]:
    few = predictions.answers.few_scores(predictions.truth[inside], predictions.predicted[inside])
    return {"n": int(inside.sum()), **few}


def worst(predictions: Predictions, n: int = 20) -> list[dict[str, Any]]:
    """Returns the wrong answers whose true label got the lowest probability, the worst first."""
    kind, labels, truth, answers = (
        predictions.answers, predictions.labels, predictions.truth, predictions.predicted
    )  # fmt: skip
    loss = kind.loss_rows(predictions.probs, truth)
    wrong = np.flatnonzero(~kind.right(truth, answers))
    order = wrong[np.argsort(-loss[wrong], kind="stable")][:n]
    p_label, p_predicted = kind.p_of(predictions.probs, truth), kind.p_of(predictions.probs, answers)
    return [
        {
            "row": row,
            "id": predictions.ids[row] if predictions.ids is not None else None,
            "label": labels.value(truth[row]),
            "predicted": labels.value(answers[row]),
            "p_label": float(p_label[row]),
            "p_predicted": float(p_predicted[row]),
            "text": predictions.texts[row],
            "cut": predictions.cut is not None and bool(predictions.cut[row]),
        }
        for row in order.tolist()
    ]


N_REPLICATES = 1000
# Weights of so many replicates at a time: 64 MB for a million groups.
_CELLS_AT_ONCE = 8_000_000


def _sums(predictions: Predictions, groups: NDArray[np.int64], n_groups: int) -> Sums:
    return predictions.answers.sums(
        predictions.labels, predictions.probs, predictions.truth, groups, n_groups
    )


def _groups(predictions: Predictions) -> tuple[NDArray[np.int64], int]:
    if predictions.groups is None:
        return np.arange(len(predictions)), len(predictions)
    # Numbers in the order of first appearance: the draw must not depend on spelling.
    order: dict[str, int] = {}
    numbers = [order.setdefault(group, len(order)) for group in predictions.groups]
    return np.array(numbers, dtype=np.int64), len(order)


def _weights(n_groups: int, n_replicates: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yields how often each group is drawn, some replicates at a time."""
    rng = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, _CELLS_AT_ONCE // max(1, n_groups))
    for start in range(0, n_replicates, at_once):
        rows = min(at_once, n_replicates - start)
        drawn = rng.integers(0, n_groups, size=(rows, n_groups))
        drawn += np.arange(rows)[:, None] * n_groups
        counts = np.bincount(drawn.ravel(), minlength=rows * n_groups)
        yield counts.reshape(rows, n_groups).astype(np.float64)


@dataclass(frozen=True)
class Replicates:
    """Scores of predictions, and of bootstrap replicates of them.

    Attributes:
        points: the score of all rows, by name.
        drawn: (n_replicates,) the score of each replicate, by name; the n-th of two runs has the same rows.
    """

    points: dict[str, float]
    drawn: dict[str, NDArray[np.float64]]

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Returns the 95 % interval of each score."""
        return {name: _ends(values) for name, values in self.drawn.items()}


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def replicates(predictions: Predictions, *, n_replicates: int = N_REPLICATES, seed: int = 0) -> Replicates:
    """Returns the scores of bootstrap replicates, which draw whole groups if there are any."""
    groups, n_groups = _groups(predictions)
    sums = _sums(predictions, groups, n_groups)
    points = sums.scores(sums.values.sum(axis=0, keepdims=True))
    totals = [weights @ sums.values for weights in _weights(n_groups, n_replicates, seed)]
    return Replicates(
        {name: float(one[0]) for name, one in points.items()}, sums.scores(np.concatenate(totals))
    )


def intervals(
    predictions: Predictions, *, n_replicates: int = N_REPLICATES, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Returns the 95 % bootstrap interval of each score."""
    return replicates(predictions, n_replicates=n_replicates, seed=seed).intervals()


def mcnemar(right_a: NDArray[np.bool_], right_b: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Returns rows that only A, only B has right, and the exact two-sided p-value."""
    from scipy.stats import binomtest

    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    if only_a + only_b == 0:
        return 0, 0, 1.0
    return only_a, only_b, float(binomtest(only_a, only_a + only_b).pvalue)


def differences(a: Predictions, b: Predictions, of_a: Replicates, of_b: Replicates) -> dict[str, Any]:
    """Compares two models on the same rows (`check_same_rows`): B less A.

    Args:
        a: the answers of one.
        b: those of the other.
        of_a: replicates of A.
        of_b: replicates of B, by the same seed.

    Returns:
        For each score the difference, its 95 % interval and a two-sided bootstrap
        p-value; and McNemar's test, which takes rows as independent.
    """
    compared: dict[str, Any] = {}
    for name in of_a.points:
        found = of_b.drawn[name] - of_a.drawn[name]
        below, above = int((found <= 0).sum()), int((found >= 0).sum())
        compared[name] = {
            "difference": of_b.points[name] - of_a.points[name],
            "interval": list(_ends(found)),
            # One more on each side: a p-value of 0 cannot be had from a finite draw.
            "p": min(1.0, 2 * (min(below, above) + 1) / (len(found) + 1)),
        }
    only_a, only_b, p = mcnemar(a.right, b.right)
    compared["mcnemar"] = {"only_a_right": only_a, "only_b_right": only_b, "p": p}
    return compared


def check_same_rows(a: Predictions, b: Predictions) -> None:
    """Refuses predictions that are not of the same rows with the same truth.

    Raises:
        DataError: naming the first difference.
    """
    if a.labels != b.labels:
        raise DataError(f"labels differ: {', '.join(a.labels)} and {', '.join(b.labels)}")
    if len(a) != len(b):
        raise DataError(f"{len(a)} rows and {len(b)} rows; compare runs on the same file")
    for row, (one, other) in enumerate(zip(a.texts, b.texts, strict=True)):
        if one != other or not np.array_equal(a.truth[row], b.truth[row]):
            raise DataError(f"row {row + 1} differs; compare runs on the same file")


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for their number, by Holm's steps."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected
