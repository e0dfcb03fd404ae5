"""`CutPoints`: one score of a text, and ordered cut points on it, as log-probabilities of ordered classes.

The proportional odds model (McCullagh 1980): a text is at most of class k with probability
`sigmoid(cut_k - score)`, so one score moves all classes. CORAL (Cao, Mirjalili and Raschka 2020) is a network
with this head. The cuts are ordered for any weights: the first one, then gaps, each the softplus of a number.
`cumulative_loss` is the same model in numpy, with its slopes, for what learns by a fit.
"""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

__all__ = ["CutPoints", "cumulative_loss", "cuts_of", "log_probs_of_cuts", "start"]

# Gaps are at least this wide, so that each class has a probability.
_LEAST_GAP = 1e-6


class CutPoints(nn.Module):
    """Log-probabilities of ordered classes (B, C) from scores (B, 1).

    Args:
        n_classes: C, 2 or more.
    """

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.from_numpy(start(n_classes)).float())

    def cuts(self) -> Tensor:
        """Returns the cut points (C - 1,), rising."""
        gaps = F.softplus(self.raw[1:]).clamp(min=_LEAST_GAP)
        return self.raw[0] + torch.cat((torch.zeros_like(self.raw[:1]), gaps.cumsum(0)))

    def forward(self, scores: Tensor) -> Tensor:
        """Returns log-probabilities (B, C) of scores (B, 1)."""
        return log_probs_of_cuts(scores, self.cuts())


def log_probs_of_cuts(scores: Tensor, cuts: Tensor) -> Tensor:
    """Returns log-probabilities (B, C) of scores (B, 1) and rising cut points (C - 1,)."""
    at = cuts.float() - scores.float()  # log odds that the class is at most k
    at_most, above = F.logsigmoid(at), F.logsigmoid(-at)
    # sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a)), which never cancels.
    between = torch.log(-torch.expm1(-(cuts[1:] - cuts[:-1]).float()))
    return torch.cat((at_most[:, :1], at_most[:, 1:] + above[:, :-1] + between, above[:, -1:]), 1)


def start(n_classes: int) -> NDArray[np.float64]:
    """Returns the numbers that make cut points between equally likely classes."""
    share = np.arange(1, n_classes) / n_classes
    cuts = np.log(share) - np.log1p(-share)
    gaps: NDArray[np.float64] = np.log(np.expm1(np.diff(cuts)))
    return np.concatenate([cuts[:1], gaps])


def cuts_of(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the cut points (C - 1,) of the numbers that make them."""
    gaps = np.maximum(np.logaddexp(0, raw[1:]), _LEAST_GAP)
    cuts: NDArray[np.float64] = raw[0] + np.concatenate([[0.0], gaps.cumsum()])
    return cuts


def cumulative_loss(
    scores: NDArray[np.float64], raw: NDArray[np.float64], labels: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Returns the negative log-likelihood of the rows together, and its slopes.

    Args:
        scores: (n,).
        raw: (C - 1,) the numbers that make the cut points.
        labels: (n,) classes.

    Returns:
        The loss, its slope by each score (n,), and by each number of the cut points (C - 1,).
    """
    cuts = cuts_of(raw)
    n_cuts = len(cuts)
    # Beyond the last cut all is certain; a bound that is not there has no slope.
    upper = np.append(cuts, np.inf)[labels] - scores
    lower = np.append(-np.inf, cuts)[labels] - scores
    gap = np.append(np.append(np.inf, np.diff(cuts)), np.inf)[labels]
    with np.errstate(over="ignore"):
        odds_between = 1 / np.expm1(gap)  # 0 where a bound is missing
        loss = np.logaddexp(0, -upper) + np.logaddexp(0, lower) - np.log(-np.expm1(-gap))
        of_upper, of_lower = 1 / (1 + np.exp(-upper)), 1 / (1 + np.exp(-lower))
    by_cut = np.zeros(n_cuts)
    has_upper, has_lower = labels < n_cuts, labels > 0
    np.add.at(by_cut, labels[has_upper], -(1 - of_upper + odds_between)[has_upper])
    np.add.at(by_cut, labels[has_lower] - 1, (of_lower + odds_between)[has_lower])
    after = by_cut[::-1].cumsum()[::-1]  # a number moves its own cut and all after it
    by_raw = np.concatenate([after[:1], after[1:] / (1 + np.exp(-raw[1:]))])
    return float(loss.sum()), 1 - of_upper - of_lower, by_raw
