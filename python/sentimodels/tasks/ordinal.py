"""`Ordinal`: one of labels in an order for each text, such as stars.

The model gives one score, cut into classes (`nn/ordinal.py`), so its logits are log-probabilities. The loss
of a row is minus the log-probability of its label (proportional odds, McCullagh 1980), or the sum of the
binary cross entropies of all cuts (CORAL, Cao, Mirjalili and Raschka 2020). The rest is that of
classification.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ..config import OrdinalConfig, RunConfig
from ..evaluation.one_label import ORDERED_LABELS
from .classification import Classification, TaskRows

__all__ = ["LOSSES", "Ordinal", "of_rows"]


def _likelihood(log_probs: Tensor, target: Tensor) -> Tensor:
    return -(target * log_probs).sum()


def _coral(log_probs: Tensor, target: Tensor) -> Tensor:
    """Binary cross entropy of each cut: whether the label is at most k, or above."""
    at_most = torch.logcumsumexp(log_probs, -1)[:, :-1]
    above = torch.logcumsumexp(log_probs.flip(-1), -1).flip(-1)[:, 1:]
    # With weights of classes the parts of a target do not sum up to 1.
    of_low = target.cumsum(-1)[:, :-1]
    of_high = target.sum(-1, keepdim=True) - of_low
    return -(of_low * at_most + of_high * above).sum()


# By `task.loss`: from log-probabilities (B, C) and targets (B, C) with weights, to the sum over the rows.
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"likelihood": _likelihood, "coral": _coral}


class Ordinal(Classification):
    """Classification into ordered classes; the arguments are those of `Classification`."""

    config: OrdinalConfig
    answers = ORDERED_LABELS

    def _summed(self, logits: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        """Returns the loss of the rows together, so that accumulation divides by real rows."""
        log_probs = logits.float().log_softmax(-1)
        return LOSSES[self.config.loss](log_probs, target if weights is None else target * weights)


def of_rows(config: RunConfig, rows: TaskRows) -> Ordinal:
    """Returns the task of a run."""
    assert isinstance(config.task, OrdinalConfig)
    return Ordinal(
        config.task, config.train, rows.texts, rows.labels, rows.valid, rows.valid_labels,
        n_classes=rows.n_classes, on_answers=rows.on_answers,
    )  # fmt: skip
