"""`Classification`: one of several classes for each text.

The loop is `training/trainer.py`. Here are the loss, and the ways to get more out of labelled texts:
mixed rows (Guo et al. 2019), two dropout passes that must agree (R-Drop, Liang et al. 2021), weights of
classes, and classes drawn equally often.
"""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import (
    ClassificationConfig,
    MultilabelConfig,
    OrdinalConfig,
    RunConfig,
    TrainConfig,
    TrainingPlan,
)
from ..data.encoded import Batch, Encoded, batches
from ..data.opening import read_small
from ..data.row_buffer import as_label
from ..data.separated import SEPARATORS
from ..errors import ConfigError
from ..evaluation.answers import Answers
from ..evaluation.one_label import ONE_LABEL
from ..evaluation.predictions import text_logits
from ..nn.embedding import Mixing
from ..training.device import use_bfloat16
from ..training.trainer import Evaluation, NotFiniteError, Task

__all__ = [
    "LOSSES",
    "MONITOR",
    "Classification",
    "LabelTask",
    "TaskRows",
    "Weights",
    "balanced_weights",
    "class_weights",
    "distance",
    "mixed",
    "of_rows",
    "one_hot",
    "ordered_weights",
    "read_weights",
    "summed",
]

# The score that decides which weights are best.
MONITOR = "val_macro_f1"


@dataclass(frozen=True)
class TaskRows:
    """The parts of a classifier's task.

    Attributes:
        texts: the training texts, encoded.
        labels: `(n,)` their classes, or `(n, n_classes)` of 0 and 1 where they have several labels; -1 where
            the labels of a text are not known.
        n_classes: classes.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` without labels.
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
    """The methods of a task of `config.TASKS` beyond `training.trainer.Task`."""

    def check(self, model: nn.Module) -> None:
        """Refuses a model that the settings do not suit."""

    def drawn(self) -> NDArray[np.float64] | None:
        """Returns how many rows of each class an epoch has on average; `None` where it has every row."""

    def evaluation(self, logits: NDArray[np.float32]) -> Evaluation:
        """Scores answers to the validation texts."""


class Classification:
    """The task of telling classes apart; see `training.trainer.Task`.

    `tasks/multilabel.py` replaces what concerns one label a text: targets, loss, distance, weights, scores;
    `tasks/ordinal.py` loss and scores.

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

    # How answers are decided and scored.
    answers: Answers = ONE_LABEL

    def __init__(
        self,
        config: ClassificationConfig | MultilabelConfig | OrdinalConfig,
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
        weights = self._weights_of_labels()
        self._class_weights = None if weights is None else torch.tensor(weights, dtype=torch.float32)
        self._row_weights: NDArray[np.float64] | None = None
        if getattr(config, "sampler", "shuffle") == "balanced":
            self._row_weights = balanced_weights(labels, n_classes)[labels][texts.text_of_row]
        self._prepared: nn.Module | None = None
        self._mixing: list[Mixing] = []

    def check(self, model: nn.Module) -> None:
        """Refuses a model that the settings do not suit.

        Raises:
            ConfigError: naming the key.
        """
        if self.config.mixup and not any(isinstance(part, Mixing) for part in model.modules()):
            raise ConfigError("task.mixup mixes token embeddings, which this architecture does not have")

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
        target = self._target(batch.labels.to(device))
        if self.config.mixup:
            target = self._mix(inputs, batch.mask.to(device), target)
        try:
            logits = model(**inputs)
            again = model(**inputs) if self.config.r_drop else None
        finally:
            for part in self._mixing:
                part.mix = None
        weights = None if self._class_weights is None else self._class_weights.to(device)
        loss = self._summed(logits, target, weights)
        if again is not None:
            loss = (loss + self._summed(again, target, weights)) / 2
            loss = loss + self.config.r_drop * self._distance(logits, again)
        return loss, len(batch.labels)

    def _weights_of_labels(self) -> NDArray[np.float64] | None:
        """Returns the weight of each label in the loss; `None` where all are 1."""
        return class_weights(self.config.class_weights, self.labels, self.n_classes)

    def _target(self, labels: Tensor) -> Tensor:
        """Returns the labels of a batch as probabilities (B, C)."""
        return one_hot(labels, self.n_classes)

    def _summed(self, logits: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        """Returns the loss of the rows together."""
        assert isinstance(self.config, ClassificationConfig)
        return summed(logits, target, self.config, weights)

    def _distance(self, first: Tensor, second: Tensor) -> Tensor:
        """Returns how far two answers (B, C) are apart, summed over rows."""
        return distance(first, second)

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
        return evaluation(logits, self.valid_labels, self.answers)


def of_rows(config: RunConfig, rows: TaskRows) -> Classification:
    """Returns the task of a run."""
    assert isinstance(config.task, ClassificationConfig)
    return Classification(
        config.task, config.train, rows.texts, rows.labels, rows.valid, rows.valid_labels,
        n_classes=rows.n_classes, on_answers=rows.on_answers,
    )  # fmt: skip


def evaluation(
    logits: NDArray[np.float32], labels: NDArray[np.int64], answers: Answers = ONE_LABEL
) -> Evaluation:
    """Scores answers to validation texts.

    Raises:
        NotFiniteError: if one is not finite.
    """
    if not np.isfinite(logits).all():
        raise NotFiniteError("an answer to a validation text is not finite")
    return Evaluation(answers.validation(logits, labels), MONITOR, higher_is_better=True)


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
    validation uses neither.

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


# Class weights: a word, numbers in the order of the labels, or a number for each name. `read_weights` reads
# what people type, `ordered_weights` turns names into the order of the labels, `class_weights` is what the
# loss and the sampler take.


Weights = str | tuple[float, ...] | dict[str, float]

_SHAPES = (
    "none, balanced, numbers as 1,2 in the order of the labels, or a file of them: "
    "JSON, TOML, or CSV with the lines label,weight"
)


def read_weights(text: str) -> Weights:
    """Reads weights as typed: `none`, `balanced`, `1,2`, or the name of a file.

    Raises:
        ConfigError: if it is none of these.
    """
    if text in ("none", "balanced"):
        return text
    weights = _numbers_in(text)
    if weights is not None:
        return weights
    path = Path(text)
    if not path.is_file():
        raise ConfigError(f"class weights {text!r}: expected {_SHAPES}")
    return _weights_of_file(path)


def _numbers_in(text: str) -> tuple[float, ...] | None:
    try:
        return tuple(float(part) for part in text.strip().strip("[]()").split(","))
    except ValueError:
        return None


def _weights_of_file(path: Path) -> Weights:
    """Reads a list or names with weights."""
    try:
        text = read_small(path)
        if path.suffix == ".json":
            value = json.loads(text)
        elif path.suffix == ".toml":
            value = tomllib.loads(text)
            value = value.get("class_weights", value)
        else:
            separator = next((one for one in SEPARATORS if one in text.partition("\n")[0]), ",")
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
            if any(len(row) != 2 for row in rows):
                wrong = next(row for row in rows if len(row) != 2)
                raise ValueError(f"{separator.join(wrong)!r} is not a label and its weight")
            # A header is a line whose second field is not a number.
            value = {name: float(weight) for name, weight in rows[_n_headers(rows) :]}
        if isinstance(value, Mapping):
            return {as_label(str(name)): float(weight) for name, weight in value.items()}
        return tuple(float(weight) for weight in value)
    except (ValueError, TypeError) as error:  # of JSON, TOML and UTF-8 too
        raise ConfigError(f"{path}: no class weights ({error}); expected {_SHAPES}") from error


def _n_headers(rows: Sequence[Sequence[str]]) -> int:
    return int(bool(rows) and len(rows[0]) == 2 and _numbers_in(rows[0][1]) is None)


def ordered_weights(weights: Weights, names: Sequence[str]) -> str | tuple[float, ...]:
    """Returns weights in the order of the labels.

    Raises:
        ConfigError: if a label lacks a weight, a name is not a label, or their number differs.
    """
    if isinstance(weights, str):
        return weights
    known = ", ".join(map(repr, names))
    if isinstance(weights, dict):
        unknown = [name for name in weights if name not in names]
        without = [name for name in names if name not in weights]
        if unknown:
            raise ConfigError(f"task.class_weights: {unknown[0]!r} is not a label; the labels are {known}")
        if without:
            raise ConfigError(f"task.class_weights: no weight for the label {without[0]!r}")
        return tuple(weights[name] for name in names)
    if len(weights) != len(names):
        raise ConfigError(f"task.class_weights: {len(weights)} weights for {len(names)} classes: {known}")
    return weights


def balanced_weights(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Returns weights with which every class that occurs counts the same."""
    count = np.bincount(labels, minlength=n_classes)
    weights: NDArray[np.float64] = len(labels) / (np.maximum(count, 1) * max(1, (count > 0).sum()))
    return weights


def class_weights(weights: Weights, labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64] | None:
    """Returns the weight of each class, or `None` where all are 1.

    Raises:
        ConfigError: if there are not as many as classes.
    """
    if isinstance(weights, str):
        return None if weights == "none" else balanced_weights(labels, n_classes)
    if isinstance(weights, dict):
        raise ConfigError("task.class_weights: names need the labels of the data; give numbers here")
    if len(weights) != n_classes:
        raise ConfigError(f"task.class_weights: {len(weights)} weights for {n_classes} classes")
    return np.array(weights, dtype=np.float64)
