"""`select`: which of many models to mix, chosen on dev by greedy forward selection.

Not for a mixture of given models (`runs/ensemble.py` fits their weights). Source: Caruana et al. 2004,
"Ensemble selection from libraries of models": begin with none, add the model with which the mean of
probabilities has the least log loss, with replacement, as long as that gains. A weight is the share of
times that a model was added. `crossed` says what the whole choice is worth, on rows that it did not see.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .calibration import fit_temperature, log_probs, with_temperature

__all__ = ["Selection", "crossed", "select"]

# A mixture of so many parts is fine enough, whatever the number of models.
_ADDED_AT_MOST = 50
# In nats; below it a gain is rounding.
_LEAST_GAIN = 1e-7


@dataclass(frozen=True)
class Selection:
    """Chosen models.

    Attributes:
        weights: share of each model, in the order given; most are 0.
        temperature: of the mixture, fitted on the same rows.
    """

    weights: tuple[float, ...]
    temperature: float

    @property
    def members(self) -> list[int]:
        """Places of the models with a weight."""
        return [place for place, weight in enumerate(self.weights) if weight]

    def mix(self, probs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Returns the mixture's `(n, n_classes)` probabilities; `probs` are those of all models."""
        chosen = [(self.weights[place], probs[place].astype(np.float64)) for place in self.members]
        mean = np.sum([weight * one for weight, one in chosen], axis=0)
        return with_temperature(mean, self.temperature).astype(np.float32)


def select(probs: Sequence[NDArray[np.float32]], truth: NDArray[np.int64]) -> Selection:
    """Chooses models, weights and temperature on rows of dev.

    Args:
        probs: each model's `(n, n_classes)` probabilities of the same rows.
        truth: `(n,)` class indices.

    Raises:
        DataError: if there is no model or no row.
    """
    if not probs or not len(truth):
        raise DataError("a mixture is chosen among models, on rows with labels")
    rows = np.arange(len(truth))
    # What each model gave the truth; equal models are told apart by their places, the first counts.
    given = np.stack([np.exp(log_probs(one)[rows, truth]) for one in probs])
    total, counts, best = np.zeros(len(truth)), np.zeros(len(probs)), np.inf
    for added in range(1, _ADDED_AT_MOST + 1):
        losses = -np.log((total + given) / added).mean(axis=1)
        place = int(losses.argmin())
        if losses[place] > best - _LEAST_GAIN:
            break
        best = float(losses[place])
        total += given[place]
        counts[place] += 1
    weights = tuple((counts / counts.sum()).tolist())
    plain = Selection(weights, 1.0)
    return Selection(weights, fit_temperature(log_probs(plain.mix(probs)), truth))


def crossed(
    probs: Sequence[NDArray[np.float32]], truth: NDArray[np.int64], first: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Returns probabilities of each half of dev from a mixture whose members the other half chose.

    Args:
        probs: as `select` takes them.
        truth: `(n,)` class indices.
        first: which rows are in the first half, as `Units.halves` says.
    """
    out = np.empty_like(probs[0])
    for half in (first, ~first):
        chosen = select([one[~half] for one in probs], truth[~half])
        out[half] = chosen.mix([one[half] for one in probs])
    return out
