"""Scores of predictions: one number each, per class, by length; their intervals; and the worst errors.

Calibration is in `calibration.py`. Where scikit-learn has a score it is used. Macro-F1 is over the classes
that occur in truth or answers; quadratic kappa is given where labels are numbers, AUROC (one against the
rest, mean over classes) where every class of the model occurs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.normalization import n_words
from ..data.table import Labels
from ..errors import DataError
from .calibration import N_BINS, bin_of, brier, brier_rows, ece, log_probs
from .predictions import Predictions

Scores = dict[str, float | None]


def is_ordinal(labels: Labels) -> bool:
    """Whether the labels are numbers, so that a distance between them means something."""

    def number(name: str) -> bool:
        try:
            return math.isfinite(float(name))
        except ValueError:
            return False

    return len(labels) > 1 and all(map(number, labels))


def log_loss_rows(probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns each row's log loss."""
    result: NDArray[np.float64] = -log_probs(probs)[np.arange(len(truth)), truth]
    return result


def scores(predictions: Predictions) -> Scores:
    """Returns the scores of predictions whose labels are all known."""
    from sklearn import metrics as sk

    truth, answers = predictions.truth, predictions.predicted
    # One class on both sides: agreement by chance is certain, so kappa and MCC say nothing.
    several = len(np.union1d(truth, answers)) > 1
    ordinal = several and is_ordinal(predictions.labels)
    return {
        "accuracy": float(sk.accuracy_score(truth, answers)),
        "macro_f1": float(sk.f1_score(truth, answers, average="macro", zero_division=0.0)),
        "weighted_f1": float(sk.f1_score(truth, answers, average="weighted", zero_division=0.0)),
        "quadratic_kappa": _kappa(truth, answers, len(predictions.labels)) if ordinal else None,
        "mcc": float(sk.matthews_corrcoef(truth, answers)) if several else None,
        "log_loss": float(log_loss_rows(predictions.probs, truth).mean()),
        "ece": ece(predictions.probs, truth),
        "brier": brier(predictions.probs, truth),
        "auroc": _auroc(predictions),
    }


def _kappa(truth: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> float:
    from sklearn.metrics import cohen_kappa_score

    kappa = cohen_kappa_score(truth, answers, labels=np.arange(n_classes), weights="quadratic")
    return float(kappa)


def _auroc(predictions: Predictions) -> float | None:
    from sklearn.metrics import roc_auc_score

    n_classes = len(predictions.labels)
    if n_classes < 2 or len(np.unique(predictions.truth)) < n_classes:
        return None
    if n_classes == 2:
        return float(roc_auc_score(predictions.truth, predictions.probs[:, 1]))
    probs = predictions.probs.astype(np.float64)
    probs /= probs.sum(axis=1, keepdims=True)
    return float(roc_auc_score(predictions.truth, probs, multi_class="ovr", average="macro"))


def majority(predictions: Predictions) -> dict[str, Any]:
    """Returns what always answering the most frequent class of these rows would score."""
    from sklearn.metrics import f1_score

    counts = np.bincount(predictions.truth, minlength=len(predictions.labels))
    best = int(counts.argmax())
    answers = np.full(len(predictions), best)
    return {
        "label": predictions.labels[best],
        "accuracy": float(counts[best] / counts.sum()),
        "macro_f1": float(f1_score(predictions.truth, answers, average="macro", zero_division=0.0)),
    }


def per_class(predictions: Predictions) -> list[dict[str, Any]]:
    """Returns precision, recall, F1, support and answers of each class."""
    from sklearn.metrics import precision_recall_fscore_support

    order = np.arange(len(predictions.labels))
    columns = precision_recall_fscore_support(
        predictions.truth, predictions.predicted, labels=order, zero_division=0.0
    )
    answered = np.bincount(predictions.predicted, minlength=len(order))
    return [
        {
            "label": predictions.labels[i],
            "precision": float(columns[0][i]),
            "recall": float(columns[1][i]),
            "f1": float(columns[2][i]),
            "support": int(columns[3][i]),
            "predicted": int(answered[i]),
        }
        for i in order.tolist()
    ]


def confusion(predictions: Predictions) -> NDArray[np.int64]:
    """Returns the confusion matrix: row truth, column answer."""
    from sklearn.metrics import confusion_matrix

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
    from sklearn.metrics import f1_score

    truth, answers = predictions.truth[inside], predictions.predicted[inside]
    return {
        "n": int(inside.sum()),
        "accuracy": float((truth == answers).mean()),
        "macro_f1": float(f1_score(truth, answers, average="macro", zero_division=0.0)),
    }


def worst(predictions: Predictions, n: int = 20) -> list[dict[str, Any]]:
    """Returns the wrong answers whose true label got the lowest probability, the worst first."""
    loss = log_loss_rows(predictions.probs, predictions.truth)
    wrong = np.flatnonzero(predictions.predicted != predictions.truth)
    order = wrong[np.argsort(-loss[wrong], kind="stable")][:n]
    return [
        {
            "row": row,
            "id": predictions.ids[row] if predictions.ids is not None else None,
            "label": predictions.labels[predictions.truth[row]],
            "predicted": predictions.labels[predictions.predicted[row]],
            "p_label": float(predictions.probs[row, predictions.truth[row]]),
            "p_predicted": float(predictions.probs[row].max()),
            "text": predictions.texts[row],
            "cut": predictions.cut is not None and bool(predictions.cut[row]),
        }
        for row in order.tolist()
    ]


N_REPLICATES = 1000
# Weights of so many replicates at a time: 64 MB for a million groups.
_CELLS_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class _Sums:
    """Sums over the rows of each group, `(n_groups, n_sums)`, and how to read them."""

    values: NDArray[np.float64]
    n_classes: int
    ordinal: bool

    def scores(self, totals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Returns the scores of each row of totals `(n_replicates, n_sums)`."""
        n_cells = self.n_classes**2
        matrix = totals[:, :n_cells].reshape(-1, self.n_classes, self.n_classes)
        n = matrix.sum(axis=(1, 2))
        loss, squared = totals[:, n_cells] / n, totals[:, n_cells + 1] / n
        gaps = totals[:, n_cells + 2 :].reshape(-1, 2, N_BINS)
        scores = {
            "accuracy": np.trace(matrix, axis1=1, axis2=2) / n,
            "macro_f1": _macro_f1(matrix),
            "log_loss": loss,
            "brier": squared,
            "ece": np.abs(gaps[:, 0] - gaps[:, 1]).sum(axis=1) / n,
        }
        if self.ordinal:
            scores["quadratic_kappa"] = _quadratic_kappa(matrix)
        return scores


def _macro_f1(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    hits = np.diagonal(matrix, axis1=1, axis2=2)
    either = matrix.sum(axis=1) + matrix.sum(axis=2)
    f1 = np.divide(2 * hits, either, out=np.zeros_like(either), where=either > 0)
    result: NDArray[np.float64] = f1.sum(axis=1) / (either > 0).sum(axis=1)
    return result


def _quadratic_kappa(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    place = np.arange(matrix.shape[1])
    distance = (place[:, None] - place) ** 2.0
    observed = (matrix * distance).sum(axis=(1, 2))
    by_chance = np.einsum("ri,rj,ij->r", matrix.sum(axis=2), matrix.sum(axis=1), distance)
    by_chance /= matrix.sum(axis=(1, 2))
    ratio = np.divide(observed, by_chance, out=np.zeros_like(observed), where=by_chance > 0)
    result: NDArray[np.float64] = 1 - ratio
    return result


def _sums(predictions: Predictions, groups: NDArray[np.int64], n_groups: int) -> _Sums:
    n_classes = len(predictions.labels)
    truth, answers = predictions.truth, predictions.predicted
    n_cells = n_classes**2
    values = np.zeros((n_groups, n_cells + 2 + 2 * N_BINS))
    np.add.at(values, (groups, truth * n_classes + answers), 1)
    np.add.at(values[:, n_cells], groups, log_loss_rows(predictions.probs, truth))
    np.add.at(values[:, n_cells + 1], groups, brier_rows(predictions.probs, truth))
    confidence = predictions.probs.max(axis=1).astype(np.float64)
    place = bin_of(confidence)
    np.add.at(values, (groups, n_cells + 2 + place), confidence)
    np.add.at(values, (groups, n_cells + 2 + N_BINS + place), answers == truth)
    return _Sums(values, n_classes, is_ordinal(predictions.labels))


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


def _replicates(
    sums: Sequence[_Sums], n_groups: int, n_replicates: int, seed: int
) -> list[dict[str, NDArray[np.float64]]]:
    """Scores of each replicate, the same draws for all."""
    totals: list[list[NDArray[np.float64]]] = [[] for _ in sums]
    for weights in _weights(n_groups, n_replicates, seed):
        for kept, one in zip(totals, sums, strict=True):
            kept.append(weights @ one.values)
    return [one.scores(np.concatenate(kept)) for kept, one in zip(totals, sums, strict=True)]


def intervals(
    predictions: Predictions, *, n_replicates: int = N_REPLICATES, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Returns the 95 % bootstrap interval of each score."""
    groups, n_groups = _groups(predictions)
    replicates = _replicates([_sums(predictions, groups, n_groups)], n_groups, n_replicates, seed)[0]
    return {
        name: (float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975)))
        for name, values in replicates.items()
    }


def mcnemar(right_a: NDArray[np.bool_], right_b: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Returns rows that only A, only B has right, and the exact two-sided p-value."""
    from scipy.stats import binomtest

    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    if only_a + only_b == 0:
        return 0, 0, 1.0
    return only_a, only_b, float(binomtest(only_a, only_a + only_b).pvalue)


def paired(
    a: Predictions, b: Predictions, *, n_replicates: int = N_REPLICATES, seed: int = 0
) -> dict[str, Any]:
    """Compares two models on the same rows: B less A.

    Returns:
        For each score the difference, its 95 % interval and a two-sided bootstrap
        p-value; and McNemar's test, which takes rows as independent.

    Raises:
        DataError: if the rows are not the same.
    """
    check_same_rows(a, b)
    groups, n_groups = _groups(a)
    sums = [_sums(a, groups, n_groups), _sums(b, groups, n_groups)]
    points = [one.scores(one.values.sum(axis=0, keepdims=True)) for one in sums]
    drawn = _replicates(sums, n_groups, n_replicates, seed)
    compared: dict[str, Any] = {}
    for name in points[0]:
        differences = drawn[1][name] - drawn[0][name]
        below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
        compared[name] = {
            "difference": float(points[1][name][0] - points[0][name][0]),
            "interval": [float(np.quantile(differences, 0.025)), float(np.quantile(differences, 0.975))],
            # One more on each side: a p-value of 0 cannot be had from a finite draw.
            "p": min(1.0, 2 * (min(below, above) + 1) / (n_replicates + 1)),
        }
    only_a, only_b, p = mcnemar(a.predicted == a.truth, b.predicted == b.truth)
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
        if one != other or a.truth[row] != b.truth[row]:
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
