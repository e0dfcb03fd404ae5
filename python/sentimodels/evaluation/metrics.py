"""Scores of predictions: one number each, per class, by length; and the worst errors.

Not for intervals (`intervals.py`) nor calibration (`calibration.py`). Where
scikit-learn has a score it is used. Macro-F1 is over the classes that occur in truth
or answers; quadratic kappa is given where labels are numbers, AUROC (one against the
rest, mean over classes) where every class of the model occurs.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.normalization import n_words
from ..data.table import Labels
from .calibration import brier, ece, log_probs
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
