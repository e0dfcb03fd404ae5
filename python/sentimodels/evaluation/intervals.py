"""Bootstrap intervals and paired tests, by group.

Not for the scores themselves (`metrics.py`). Rows of one group (the phrases of a
sentence) are drawn together, since they are not independent; without groups each row
is its own. Every score here is a function of sums over rows, so a replicate is one
weighted sum of group sums: a thousand replicates of 66,000 rows take seconds.
Sources: Efron and Tibshirani 1993 (percentile interval), Koehn 2004 (paired
bootstrap), McNemar 1947 in its exact form, Holm 1979.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .calibration import N_BINS, bin_of, brier_rows
from .metrics import is_ordinal, log_loss_rows
from .predictions import Predictions

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
