"""`Classification`: one of several classes for each text.

The loop is `training/trainer.py`. Here are the loss, and the ways to get more out of labelled texts:
mixed rows (Guo et al. 2019), two dropout passes that must agree (R-Drop, Liang et al. 2021), weights of
classes, and classes drawn equally often.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import ClassificationConfig, RunConfig, TrainConfig, TrainingPlan
from ..data.encoded import Batch, Encoded, batches
from ..errors import ConfigError
from ..inference import text_logits
from ..nn.embedding import Mixing
from ..training.device import use_bfloat16
from ..training.task import Evaluation, NotFiniteError, Task
from .class_weights import balanced, numbers

__all__ = [
    "LOSSES", "MONITOR", "Classification", "LabelTask", "TaskRows", "distance", "mixed", "of_rows", "one_hot",
    "summed", "validation_scores",
]  # fmt: skip

# The score that decides which weights are best.
MONITOR = "val_macro_f1"


@dataclass(frozen=True)
class TaskRows:
    """What the task of a classifier is made of.

    Attributes:
        texts: the training texts, encoded.
        labels: `(n,)` their classes; -1 where a text has none.
        n_classes: classes.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` where they have none.
        answers: `(n, n_classes)` probabilities that a teacher gives the training texts, where there is one.
        valid_answers: those of the validation texts.
        on_answers: called with the logits of the validation texts, at each evaluation.
    """

    texts: Encoded
    labels: NDArray[np.int64]
    n_classes: int
    valid: Encoded | None = None
    valid_labels: NDArray[np.int64] | None = None
    answers: NDArray[np.float32] | None = None
    valid_answers: NDArray[np.float32] | None = None
    on_answers: Callable[[NDArray[np.float32]], None] | None = None


class LabelTask(Task, Protocol):
    """What a task of `config.TASKS` has beyond `training.task.Task`."""

    def check(self, model: nn.Module) -> None:
        """Refuses a model that the settings do not suit."""

    def drawn(self) -> NDArray[np.float64] | None:
        """Returns how many rows of each class an epoch has on average; `None` where it has every row."""

    def evaluation(self, logits: NDArray[np.float32]) -> Evaluation:
        """Scores answers to the validation texts."""


class Classification:
    """The task of telling classes apart; see `training.task.Task`.

    Args:
        config: `[task]`.
        train: `[train]`.
        texts: the training texts.
        labels: class of each training text.
        valid: the texts that decide which weights are best, or `None`.
        valid_labels: class of each of them.
        n_classes: classes.
        on_answers: called with the logits of the validation texts, at each evaluation.

    Raises:
        ConfigError: if there are not as many class weights as classes.
    """

    def __init__(
        self,
        config: ClassificationConfig,
        train: TrainConfig,
        texts: Encoded,
        labels: NDArray[np.int64],
        valid: Encoded | None = None,
        valid_labels: NDArray[np.int64] | None = None,
        *,
        n_classes: int,
        on_answers: Callable[[NDArray[np.float32]], None] | None = None,
    ) -> None:
        self.on_answers = on_answers
        self.config, self.train, self.n_classes = config, train, n_classes
        self.texts, self.labels, self.valid, self.valid_labels = texts, labels, valid, valid_labels
        weights = numbers(config.class_weights, labels, n_classes)
        self._class_weights = None if weights is None else torch.tensor(weights, dtype=torch.float32)
        self._row_weights: NDArray[np.float64] | None = None
        if config.sampler == "balanced":
            self._row_weights = balanced(labels, n_classes)[labels][texts.text_of_row]
        self._prepared: nn.Module | None = None
        self._mixing: list[Mixing] = []

    def check(self, model: nn.Module) -> None:
        """Refuses a model that the settings do not suit.

        Raises:
            ConfigError: naming the key.
        """
        if self.config.mixup and not any(isinstance(part, Mixing) for part in model.modules()):
            raise ConfigError("task.mixup mixes token embeddings, and this architecture has none")

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return self.train.plan(len(self.texts), world)

    def drawn(self) -> NDArray[np.float64] | None:
        """Returns how many rows of each class an epoch has on average; `None` where it has every row."""
        if self._row_weights is None:
            return None
        labels = self.labels[self.texts.text_of_row]
        share = np.bincount(labels, self._row_weights, self.n_classes) / self._row_weights.sum()
        rows: NDArray[np.float64] = share * len(labels)
        return rows

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Batch]:
        """Yields this process's rows of each batch: every `world`-th of the batch of all."""
        whole_batches = batches(
            self.texts,
            self.labels,
            batch_size=self.plan(world).batch_size * world,
            shuffle_seed=self.train.seed,
            epoch=epoch,
            position=position,
            weights=self._row_weights,
            multiple_of=8 if self.train.compile else 1,
        )
        return whole_batches if world == 1 else (_part(batch, rank, world) for batch in whole_batches)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Returns the loss summed over the rows, and how many there are."""
        self._prepare(model)
        device = next(model.parameters()).device
        if not len(batch.labels):
            return torch.zeros((), device=device), 0
        inputs = batch.inputs(device)
        target = one_hot(batch.labels.to(device), self.n_classes)
        if self.config.mixup:
            target = self._mix(inputs, batch.mask.to(device), target)
        try:
            logits = model(**inputs)
            again = model(**inputs) if self.config.r_drop else None
        finally:
            for part in self._mixing:
                part.mix = None
        weights = None if self._class_weights is None else self._class_weights.to(device)
        loss = summed(logits, target, self.config, weights)
        if again is not None:
            loss = (loss + summed(again, target, self.config, weights)) / 2
            loss = loss + self.config.r_drop * distance(logits, again)
        return loss, len(batch.labels)

    def _prepare(self, model: nn.Module) -> None:
        """Finds the parts that mix rows."""
        if model is self._prepared:
            return
        self.check(model)
        self._mixing = [part for part in model.modules() if isinstance(part, Mixing)]
        self._prepared = model

    def _mix(self, inputs: dict[str, Tensor], mask: Tensor, target: Tensor) -> Tensor:
        """Has the model mix each row with another; returns the targets mixed alike."""
        alpha = torch.tensor(self.config.mixup)
        share = float(torch.distributions.Beta(alpha, alpha).sample())
        order = torch.randperm(len(mask)).to(mask.device)
        for part in self._mixing:
            part.mix = (order, share, mask)
        inputs["mask"] = mask | mask[order]
        return mixed(target, order, share)

    def evaluate(self, model: nn.Module) -> Evaluation | None:
        """Scores the validation texts, if there are any."""
        if self.valid is None or self.valid_labels is None:
            return None
        device = next(model.parameters()).device
        bfloat16 = use_bfloat16(self.train, device)
        logits = text_logits(model, self.valid, device=device, bfloat16=bfloat16)
        validation = self.evaluation(logits)
        if self.on_answers is not None:
            self.on_answers(logits)
        return validation

    def evaluation(self, logits: NDArray[np.float32]) -> Evaluation:
        """Scores answers to the validation texts.

        Raises:
            NotFiniteError: if one is not finite.
        """
        assert self.valid_labels is not None
        return evaluation(logits, self.valid_labels)


def of_rows(config: RunConfig, rows: TaskRows) -> Classification:
    """Returns the task of a run."""
    assert isinstance(config.task, ClassificationConfig)
    return Classification(
        config.task, config.train, rows.texts, rows.labels, rows.valid, rows.valid_labels,
        n_classes=rows.n_classes, on_answers=rows.on_answers,
    )  # fmt: skip


def evaluation(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> Evaluation:
    """Scores answers to validation texts.

    Raises:
        NotFiniteError: if one is not finite.
    """
    if not np.isfinite(logits).all():
        raise NotFiniteError("an answer to a validation text is not finite")
    scores: Mapping[str, float] = validation_scores(logits, labels)
    return Evaluation(scores, MONITOR, higher_is_better=True)


def _part(batch: Batch, rank: int, world: int) -> Batch:
    """Returns the rows of one process, as wide as the whole."""
    own = slice(rank, None, world)
    # Each id of the batch of all is composed once for all rows.
    ngrams = {name: value[own] if name == "distinct_index" else value for name, value in batch.ngrams.items()}
    return replace(
        batch,
        input_ids=batch.input_ids[own],
        mask=batch.mask[own],
        labels=batch.labels[own],
        index=batch.index[own],
        ngrams=ngrams,
    )


def one_hot(labels: Tensor, n_classes: int) -> Tensor:
    """Returns the labels as probabilities (B, C)."""
    return F.one_hot(labels, n_classes).to(torch.float32)


def mixed(target: Tensor, order: Tensor, share: float) -> Tensor:
    """Mixes each target with that of another row."""
    return share * target + (1 - share) * target[order]


def summed(logits: Tensor, target: Tensor, config: ClassificationConfig, weights: Tensor | None) -> Tensor:
    """Returns the loss of the rows together, so that accumulation divides by real rows.

    Smoothing, as torch spells it (the share is spread over all classes), and weights are for training;
    validation has none.

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
    if weights is not None:
        target = target * weights
    name = "focal" if config.focal_gamma and config.loss == "cross-entropy" else config.loss
    return LOSSES[name](log_probs, target, config)


def _cross_entropy(log_probs: Tensor, target: Tensor, config: ClassificationConfig) -> Tensor:
    return -(target * config.focal_alpha * log_probs).sum()


def _focal(log_probs: Tensor, target: Tensor, config: ClassificationConfig) -> Tensor:
    """The factor alpha (1 - p)^gamma on each class (Lin et al. 2017, whose gamma is the default)."""
    focus = (1 - log_probs.exp()).clamp(min=0) ** (config.focal_gamma or 2.0)
    return -(target * focus * config.focal_alpha * log_probs).sum()


# By `task.loss`: from log-probabilities (B, C) and targets (B, C), with smoothing and weights, to the sum
# over the rows.
LOSSES: dict[str, Callable[[Tensor, Tensor, ClassificationConfig], Tensor]] = {
    "cross-entropy": _cross_entropy,
    "focal": _focal,
}


def distance(first: Tensor, second: Tensor) -> Tensor:
    """Returns the symmetric Kullback-Leibler distance of two answers (B, C), summed over rows."""
    p, q = first.float().log_softmax(-1), second.float().log_softmax(-1)
    return ((p.exp() - q.exp()) * (p - q)).sum() / 2


def validation_scores(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Returns what a line of `metrics.jsonl` says of the validation texts."""
    from sklearn.metrics import f1_score

    answers = logits.argmax(1)
    log_probs = torch.from_numpy(logits).double().log_softmax(-1).numpy()
    return {
        "val_loss": float(-log_probs[np.arange(len(labels)), labels].mean()),
        "val_accuracy": float((answers == labels).mean()),
        "val_macro_f1": float(f1_score(labels, answers, average="macro", zero_division=0)),
    }
