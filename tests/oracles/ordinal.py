"""Ordered labels by their definitions: one row, one class and one pair at a time."""

import math
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["loss_of_coral", "loss_of_likelihood", "mean_absolute_error", "probabilities", "quadratic_kappa"]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def probabilities(score: float, cuts: Sequence[float]) -> list[float]:
    """Returns the probability of each class: of being at most it, less of being at most the one below."""
    at_most = [0.0, *(_sigmoid(cut - score) for cut in cuts), 1.0]
    return [high - low for low, high in pairwise(at_most)]


def loss_of_likelihood(scores: Sequence[float], cuts: Sequence[float], labels: Sequence[int]) -> float:
    """Returns minus the log-likelihood of the rows (McCullagh 1980)."""
    return -sum(
        math.log(probabilities(score, cuts)[label]) for score, label in zip(scores, labels, strict=True)
    )


def loss_of_coral(scores: Sequence[float], cuts: Sequence[float], labels: Sequence[int]) -> float:
    """Returns the binary cross entropies of all cuts (Cao, Mirjalili and Raschka 2020, equation 4)."""
    loss = 0.0
    for score, label in zip(scores, labels, strict=True):
        for place, cut in enumerate(cuts):
            above = _sigmoid(score - cut)
            loss -= math.log(above) if label > place else math.log(1 - above)
    return loss


def mean_absolute_error(truth: Sequence[int], answers: Sequence[int]) -> float:
    """Returns by how many steps answers are off on average."""
    return sum(abs(one - other) for one, other in zip(truth, answers, strict=True)) / len(truth)


def quadratic_kappa(truth: Sequence[int], answers: Sequence[int]) -> float:
    """Returns 1 less squared errors over those of answers dealt to rows at random (Cohen 1968)."""
    observed = sum((one - other) ** 2 for one, other in zip(truth, answers, strict=True)) / len(truth)
    by_chance = sum((one - other) ** 2 for one in truth for other in answers) / len(truth) ** 2
    return 1 - observed / by_chance if by_chance else 1.0
