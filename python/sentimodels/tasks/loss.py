"""The loss of a batch as a sum over its rows, so that accumulation divides by real rows.

Cross entropy with label smoothing as torch spells it (the share is spread over all classes),
class weights, the focal factor alpha (1 - p)^gamma (Lin et al. 2017), and R-Drop's distance
between two passes (Liang et al. 2021). Smoothing, weights and focus are for training;
validation has none.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..config import ClassificationConfig

__all__ = ["distance", "mixed", "one_hot", "summed"]


def one_hot(labels: Tensor, n_classes: int) -> Tensor:
    """Returns the labels as probabilities (B, C)."""
    return F.one_hot(labels, n_classes).to(torch.float32)


def mixed(target: Tensor, order: Tensor, share: float) -> Tensor:
    """Mixes each target with that of another row."""
    return share * target + (1 - share) * target[order]


def summed(logits: Tensor, target: Tensor, config: ClassificationConfig, weights: Tensor | None) -> Tensor:
    """Returns the loss of the rows together.

    Args:
        logits: (B, C).
        target: (B, C) probabilities of the classes.
        config: smoothing and focus.
        weights: (C,) of the classes, or `None`.
    """
    n_classes = logits.shape[1]
    log_probs = logits.float().log_softmax(-1)
    if config.label_smoothing:
        target = target * (1 - config.label_smoothing) + config.label_smoothing / n_classes
    if config.focal_gamma:
        target = target * (1 - log_probs.exp()).clamp(min=0) ** config.focal_gamma
    if config.focal_alpha != 1:
        target = target * config.focal_alpha
    if weights is not None:
        target = target * weights
    return -(target * log_probs).sum()


def distance(first: Tensor, second: Tensor) -> Tensor:
    """Returns the symmetric Kullback-Leibler distance of two answers (B, C), summed over rows."""
    p, q = first.float().log_softmax(-1), second.float().log_softmax(-1)
    return ((p.exp() - q.exp()) * (p - q)).sum() / 2
