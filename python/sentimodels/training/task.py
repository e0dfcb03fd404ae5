"""`Task`: what a model is trained for, as `Trainer.fit` sees it.

Not for steps, states or rates: those are the trainer's. A task brings the batches of an epoch,
the loss of a batch and the score that decides which weights are best. It knows what its batches
hold; the trainer does not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..config import TrainingPlan

__all__ = ["Batch", "Counted", "Cuts", "Evaluation", "NotFiniteError", "Task", "Tells", "counted"]


class NotFiniteError(Exception):
    """What is not finite, and where; the trainer ends the run and keeps the best weights so far."""


class Batch(Protocol):
    """What a model is called with: `model(**batch.inputs())`."""

    def inputs(self) -> dict[str, Tensor]:
        """Returns the tensors of a batch by the name of the model's argument."""


@dataclass(frozen=True)
class Evaluation:
    """What a task says of the weights.

    Attributes:
        scores: by name, as lines of `metrics.jsonl` have them.
        monitor: name of the score that stopping follows.
        higher_is_better: whether a higher score is better, or a lower one.
    """

    scores: Mapping[str, float]
    monitor: str
    higher_is_better: bool

    def better_than(self, best: float | None) -> bool:
        """Whether this is a gain; equal scores are none, so the earliest weights stay."""
        if best is None:
            return True
        return self.value > best if self.higher_is_better else self.value < best

    @property
    def value(self) -> float:
        """The score that stopping follows."""
        return float(self.scores[self.monitor])


class Task(Protocol):
    """What a model is trained for."""

    def plan(self, world: int) -> TrainingPlan:
        """Returns how many batches an epoch has, and steps the run, on `world` processes."""

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Any]:
        """Yields the batches of an epoch for one process; see `Batch`.

        The same arguments give the same batches, so that a stopped run can go on. Every process
        gets as many; together, those at one place are a batch of `world` times the rows.

        Args:
            epoch: counts from 0.
            position: batches of this epoch that are done.
            rank: which process, from 0 to `world` - 1.
            world: how many there are.
        """

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        """Returns the loss of a batch as a sum, and how many terms (rows, tokens) it has.

        Losses are summed over the batches of a step and over processes, then divided by the sum of
        the counts: a token weighs the same wherever it stands. A count of 0 adds nothing.
        """

    def evaluate(self, model: nn.Module) -> Evaluation | None:
        """Scores a model; `None` where there is nothing to score it on, so the last weights stay.

        Raises:
            NotFiniteError: if an answer is not a finite number.
        """


@runtime_checkable
class Counted(Protocol):
    """A batch that counts its tokens itself, since they are more than its first tensor's."""

    def counted(self) -> tuple[int, int]:
        """Returns what `counted` returns."""


@runtime_checkable
class Cuts(Protocol):
    """A task whose batches go through the model in pieces; the step is that of the batch."""

    def pieces(self, batch: Any, device: torch.device) -> Iterator[Any]:
        """Yields the pieces of a batch, each a batch itself."""


@runtime_checkable
class Tells(Protocol):
    """A task that says more of its batches than their loss; not of several processes."""

    def told(self) -> dict[str, float]:
        """Returns scores of the last batch, by name, for the line of `metrics.jsonl` that follows it."""


def counted(batch: Batch) -> tuple[int, int]:
    """Returns how many places of a batch hold a token, and how many there are."""
    if isinstance(batch, Counted):
        return batch.counted()
    inputs = batch.inputs()
    mask = inputs.get("mask")
    if mask is not None:
        return int(mask.sum()), mask.numel()
    first = next(iter(inputs.values()))
    return first.numel(), first.numel()
