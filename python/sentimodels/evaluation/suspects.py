"""Suspects: rows whose label the out-of-fold answers contradict.

Confident learning (Northcutt, Jiang and Chuang 2021, "Confident Learning: Estimating Uncertainty in Dataset
Labels"): the threshold of a label is the mean probability that rows with this label give it. A row belongs to
the likeliest label that reaches its threshold; if that is not the label of the row, the row is a suspect. Of
several labels a text, each is judged alone, as yes or no.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .predictions import Predictions

__all__ = ["Suspect", "ranked", "suspects"]


@dataclass(frozen=True)
class Suspect:
    """A row whose label is probably wrong.

    Attributes:
        row: its place in the predictions.
        label: the label, or labels, that it has.
        likelier: the label that the answers give instead.
        p_label: probability of the label; of several, of the decision that is contradicted most.
        p_likelier: probability of the likelier one.
    """

    row: int
    label: str | list[str]
    likelier: str | list[str]
    p_label: float
    p_likelier: float


@dataclass(frozen=True)
class Ranking:
    """All rows, the most suspicious first.

    Attributes:
        order: `(n,)` rows.
        contradicted: `(n,)` whether a row is a suspect.
        likelier: the likeliest other answer of each row, as `Predictions.truth` has answers.
        p_label: `(n,)` probability of the row's label.
        p_likelier: `(n,)` probability of the likelier answer.
    """

    order: NDArray[np.int64]
    contradicted: NDArray[np.bool_]
    likelier: NDArray[np.int64]
    p_label: NDArray[np.float64]
    p_likelier: NDArray[np.float64]


def suspects(predictions: Predictions) -> list[Suspect]:
    """Returns the rows whose label the answers contradict, the most suspicious first.

    Args:
        predictions: answers to rows that their model was not trained on; every label is known.
    """
    found, labels = ranked(predictions), predictions.labels
    return [
        Suspect(
            row, labels.value(predictions.truth[row]), labels.value(found.likelier[row]),
            float(found.p_label[row]), float(found.p_likelier[row]),
        )
        for row in found.order.tolist() if found.contradicted[row]
    ]  # fmt: skip


def ranked(predictions: Predictions) -> Ranking:
    """Ranks all rows: suspects first, then by how many times likelier another label is.

    The difference of both probabilities would rank low what many similar labels share: of 20 labels, one with
    0.002 is contradicted more by one with 0.2 than one with 0.3 by one with 0.6.
    """
    probs, truth = predictions.probs.astype(np.float64), predictions.truth
    if truth.ndim == 1:
        contradicted, likelier, p_label, p_likelier = _one_label(probs, truth)
    else:
        contradicted, likelier, p_label, p_likelier = _several(probs, truth)
    times = p_label / np.maximum(p_likelier, np.finfo(np.float64).tiny)
    order = np.lexsort((-p_likelier, times, ~contradicted))
    return Ranking(order, contradicted, likelier, p_label, p_likelier)


_Found = tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def _one_label(probs: NDArray[np.float64], truth: NDArray[np.int64]) -> _Found:
    """Returns which rows are contradicted, the likelier class, and the probabilities of both."""
    rows, n_labels = np.arange(len(truth)), probs.shape[1]
    # A label that no row has is never the likelier one.
    least = np.array([probs[truth == k, k].mean() if (truth == k).any() else np.inf for k in range(n_labels)])
    confident = np.where(probs >= least, probs, -1.0)
    contradicted = (confident.max(1) >= 0) & (confident.argmax(1) != truth)
    others = probs.copy()
    others[rows, truth] = -1.0
    likelier = np.where(contradicted, confident.argmax(1), others.argmax(1))
    return contradicted, likelier, probs[rows, truth], probs[rows, likelier]


def _several(probs: NDArray[np.float64], truth: NDArray[np.int64]) -> _Found:
    """Returns the same for sets of labels; the probabilities are those of the worst decision of a row."""
    found = [
        _one_label(np.stack([1 - probs[:, k], probs[:, k]], 1), truth[:, k]) for k in range(truth.shape[1])
    ]
    contradicted = np.stack([one[0] for one in found], 1)
    p_label, p_likelier = np.stack([one[2] for one in found], 1), np.stack([one[3] for one in found], 1)
    gap = p_label - p_likelier + np.where(contradicted, 0.0, 2.0)  # contradicted ones first
    rows, worst = np.arange(len(truth)), gap.argmin(1)
    flipped = np.where(contradicted, 1 - truth, truth)
    return np.asarray(contradicted.any(1), np.bool_), flipped, p_label[rows, worst], p_likelier[rows, worst]
