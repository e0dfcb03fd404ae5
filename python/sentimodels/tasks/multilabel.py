"""`Multilabel`: several labels for each text, or none; each label is decided alone, by a sigmoid.

Batches, mixed rows and validation are those of classification. The loss of a row is the binary cross entropy
summed over its labels, or the focal loss of Lin et al. 2017: a label learns as fast as it would alone.
"""

from collections.abc import Callable

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from ..config import MultilabelConfig, RunConfig
from ..evaluation.several_labels import SEVERAL_LABELS
from .classification import Classification, TaskRows, class_weights

__all__ = ["LOSSES", "Multilabel", "of_rows"]


def _binary_cross_entropy(yes: Tensor, no: Tensor, target: Tensor, config: MultilabelConfig) -> Tensor:
    return -(target * yes + (1 - target) * no) * config.focal_alpha


def _focal(yes: Tensor, no: Tensor, target: Tensor, config: MultilabelConfig) -> Tensor:
    """The factor alpha (1 - p)^gamma on what each label should be (Lin et al. 2017)."""
    gamma = config.focal_gamma or 2.0
    of_yes = (1 - yes.exp()).clamp(min=0) ** gamma * yes
    of_no = (1 - no.exp()).clamp(min=0) ** gamma * no
    return -(target * of_yes + (1 - target) * of_no) * config.focal_alpha


# By `task.loss`: from log-probabilities (B, C) that a label is there and that it is not, and targets (B, C),
# to the loss of each.
LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor, MultilabelConfig], Tensor]] = {
    "binary-cross-entropy": _binary_cross_entropy,
    "focal": _focal,
}


class Multilabel(Classification):
    """The task of finding the labels of a text; the arguments are those of `Classification`.

    `labels` and `valid_labels` are `(n, n_classes)` of 0 and 1.
    """

    config: MultilabelConfig
    answers = SEVERAL_LABELS

    def drawn(self) -> None:
        """Returns `None`: an epoch has every row."""

    def _weights_of_labels(self) -> NDArray[np.float64] | None:
        if self.config.class_weights == "balanced":
            with_label = self.labels.sum(axis=0)
            weights: NDArray[np.float64] = (len(self.labels) - with_label) / np.maximum(with_label, 1)
            return np.maximum(weights, 1e-6)
        return class_weights(self.config.class_weights, self.labels, self.n_classes)

    def _target(self, labels: Tensor) -> Tensor:
        return labels.float()

    def _summed(self, logits: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        """Returns the loss of the rows together, so that accumulation divides by real rows."""
        logits, config = logits.float(), self.config
        yes, no = F.logsigmoid(logits), F.logsigmoid(-logits)
        # Weights are of rows that have the label, smoothed or not.
        weight = 1 if weights is None else 1 + target * (weights - 1)
        if config.label_smoothing:
            target = target * (1 - config.label_smoothing) + config.label_smoothing / 2
        name = "focal" if config.focal_gamma else config.loss
        return (weight * LOSSES[name](yes, no, target, config)).sum()

    def _distance(self, first: Tensor, second: Tensor) -> Tensor:
        """Returns the symmetric Kullback-Leibler distance of two answers, summed over rows and labels."""
        first, second = first.float(), second.float()
        return ((first.sigmoid() - second.sigmoid()) * (first - second)).sum() / 2


def of_rows(config: RunConfig, rows: TaskRows) -> Multilabel:
    """Returns the task of a run."""
    assert isinstance(config.task, MultilabelConfig)
    return Multilabel(
        config.task, config.train, rows.texts, rows.labels, rows.valid, rows.valid_labels,
        n_classes=rows.n_classes, on_answers=rows.on_answers,
    )  # fmt: skip
