"""Probabilities that mean something: temperature, expected calibration error, Brier score.

One temperature divides the logits; it is fitted by log loss on data the weights were not fitted on, and
changes no answer. Rows made up from the model's own probabilities join those rows, and a temperature that
fits them little better than 1 is not used, so that a few rows do no harm (docs/lab/calibration.md).
Sources: Guo et al. 2017 (temperature; ECE with 15 bins of equal width), Platt 1999 (labels that are not
certain), Brier 1950 (sum over classes, 0 to 2).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

N_BINS = 15
# Below it a probability of 0 in float32 would make a log loss infinite.
TINY = 1e-12
_LOWEST, _HIGHEST = 0.05, 20.0
# Rows that join those a temperature is fitted on: so many whose labels are as the model says, which hold the
# temperature at 1, and so many of any label, because rows that chose a step flatter the model.
_AS_ANSWERED, _ANY_LABEL = 50.0, 2.0
# A temperature must lower the log loss of the real rows by so many nats in all; less may be chance.
_LEAST_GAIN = 0.5


def log_probs(probs: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the logarithms of probabilities, bounded below."""
    return np.log(np.maximum(np.asarray(probs, dtype=np.float64), TINY))


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the softmax over the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = shifted / shifted.sum(axis=-1, keepdims=True)
    return result


def with_temperature(probs: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """Returns probabilities as if their logits had been divided by a temperature.

    `with_temperature(p, 1 / t)` undoes `with_temperature(p, t)`.
    """
    return softmax(log_probs(probs) / temperature)


def fit_temperature(logits: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Returns the temperature, 0.05 to 20, with the least log loss on some rows and on made-up ones.

    The made-up rows have the logits of the real ones. Together they weigh as much as 52 rows: 50 have the
    labels that the model itself gives at temperature 1, and 2 have each label as often as any other. Few
    real rows therefore change little, and many have the last word. The temperature is 1 where that one lowers
    the log loss of the real rows by less than half a nat in all.

    Args:
        logits: `(n, n_classes)` logits or log-probabilities of data not trained on.
        labels: `(n,)` class indices.

    Raises:
        DataError: if there is no row.
    """
    from scipy.optimize import minimize_scalar

    scores = np.asarray(logits, dtype=np.float64)
    if len(scores) == 0:
        raise DataError("no rows to fit a temperature on")
    n, n_classes = scores.shape
    # How many rows of each label there are with the logits of each row.
    counts = (_AS_ANSWERED * softmax(scores) + _ANY_LABEL / n_classes) / n
    counts[np.arange(n), labels] += 1
    scores = scores - scores.max(axis=1, keepdims=True)
    total = counts.sum()

    def losses(log_temperature: float) -> NDArray[np.float64]:
        scaled = scores / np.exp(log_temperature)
        normaliser = np.log(np.exp(scaled).sum(axis=1))
        result: NDArray[np.float64] = normaliser[:, None] - scaled
        return result

    def loss(log_temperature: float) -> float:
        return float((counts * losses(log_temperature)).sum() / total)

    # In the inverse temperature the loss is convex, so it has one valley here too.
    minimum = minimize_scalar(
        loss, bounds=(np.log(_LOWEST), np.log(_HIGHEST)), method="bounded", options={"xatol": 1e-5}
    )
    gain = (losses(0.0) - losses(minimum.x))[np.arange(n), labels].sum()
    return float(np.exp(minimum.x)) if gain >= _LEAST_GAIN else 1.0


@dataclass(frozen=True)
class Bin:
    """One row of the reliability table: how sure the model was, how often it was right."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def bin_of(confidence: NDArray[Any], n_bins: int = N_BINS) -> NDArray[np.int64]:
    """Returns the bin of each confidence; bin i holds those above i / n up to (i + 1) / n."""
    place = np.ceil(np.asarray(confidence) * n_bins).astype(np.int64) - 1
    result: NDArray[np.int64] = np.clip(place, 0, n_bins - 1)
    return result


def reliability(probs: NDArray[Any], labels: NDArray[np.int64], n_bins: int = N_BINS) -> list[Bin]:
    """Returns the bins that have rows."""
    confidence = np.asarray(probs, dtype=np.float64).max(axis=1)
    return reliability_of(confidence, probs.argmax(axis=1) == labels, n_bins)


def reliability_of(
    confidence: NDArray[np.float64], right: NDArray[np.bool_], n_bins: int = N_BINS
) -> list[Bin]:
    """Returns the bins that have rows, of probabilities and whether each came true."""
    place = bin_of(confidence, n_bins)
    counts = np.bincount(place, minlength=n_bins)
    sure = np.bincount(place, weights=confidence, minlength=n_bins)
    hits = np.bincount(place, weights=right, minlength=n_bins)
    return [
        Bin(i / n_bins, (i + 1) / n_bins, int(counts[i]), sure[i] / counts[i], hits[i] / counts[i])
        for i in range(n_bins)
        if counts[i]
    ]


def ece(probs: NDArray[Any], labels: NDArray[np.int64], n_bins: int = N_BINS) -> float:
    """Returns the expected calibration error: the mean gap of the bins, by their rows."""
    return _mean_gap(reliability(probs, labels, n_bins))


def ece_of(confidence: NDArray[np.float64], right: NDArray[np.bool_], n_bins: int = N_BINS) -> float:
    """Returns the expected calibration error of probabilities and whether each came true."""
    return _mean_gap(reliability_of(confidence, right, n_bins))


def _mean_gap(bins: list[Bin]) -> float:
    total = sum(b.n for b in bins)
    return float(sum(b.n * abs(b.confidence - b.accuracy) for b in bins) / total)


def brier_rows(probs: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns each row's squared distance from the truth, summed over classes."""
    distance = np.array(probs, dtype=np.float64)
    distance[np.arange(len(labels)), labels] -= 1
    result: NDArray[np.float64] = (distance**2).sum(axis=1)
    return result


def brier(probs: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Returns the Brier score, 0 to 2."""
    return float(brier_rows(probs, labels).mean())
