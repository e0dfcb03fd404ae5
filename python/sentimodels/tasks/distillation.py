"""`Distillation`: the answers of a teacher, and labels where there are any.

Batches and validation are those of classification. Sources: Hinton, Vinyals and Dean 2015 (probabilities at a
temperature T, their divergence times T squared, so that its gradients keep their size whatever T is); Tang et
al. 2019 and Ba and Caruana 2014 (squared differences of logits, from BERT to an LSTM).
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import (
    ClassificationConfig,
    DistillationConfig,
    MultilabelConfig,
    RunConfig,
    TrainConfig,
    TrainingPlan,
)
from ..data.encoded import Batch, Encoded
from ..evaluation.answers import Answers
from ..evaluation.one_label import ONE_LABEL
from ..evaluation.predictions import text_logits
from ..training.device import use_bfloat16
from ..training.trainer import Evaluation, NotFiniteError
from .classification import Classification, TaskRows, evaluation
from .multilabel import Multilabel

__all__ = ["DISTANCES", "Distillation", "apart", "of_rows"]

# The score that decides where validation texts have no labels; with labels it is that of classification.
MONITOR = "val_divergence"
# Below it the logarithm of a probability in float32 would be infinite.
_TINY = 1e-12


def divergence(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:
    """Returns T squared times KL(teacher || student) of both answers at the temperature T.

    Args:
        logits: (B, C) of the student.
        answers: (B, C) log-probabilities of the teacher.
        temperature: T.

    Returns:
        (B,) in nats.
    """
    teacher = (answers / temperature).log_softmax(-1)
    student = (logits / temperature).log_softmax(-1)
    return temperature**2 * (teacher.exp() * (teacher - student)).sum(-1)


# 2026-11-23: same signature as divergence
def squared(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:  # noqa: ARG001
    """Returns the mean squared difference (B,) of logits, each less its mean: a shift answers the same."""
    difference = (logits - logits.mean(-1, keepdim=True)) - (answers - answers.mean(-1, keepdim=True))
    return difference.square().mean(-1)


def divergence_of_each(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:
    """Returns `divergence` of answers whose labels are decided alone, summed over labels.

    `answers` are (B, C) the teacher's log odds.
    """
    teacher, student = answers / temperature, logits / temperature
    p = teacher.sigmoid()
    of_yes = p * (F.logsigmoid(teacher) - F.logsigmoid(student))
    of_no = (1 - p) * (F.logsigmoid(-teacher) - F.logsigmoid(-student))
    return temperature**2 * (of_yes + of_no).sum(-1)


# 2026-11-30: same signature as divergence
def squared_of_each(logits: Tensor, answers: Tensor, temperature: float) -> Tensor:  # noqa: ARG001
    """Returns the mean squared difference (B,) of log odds."""
    return (logits - answers).square().mean(-1)


Distance = Callable[[Tensor, Tensor, float], Tensor]
# By the name of `task.loss`: from logits, those of the teacher and the temperature to (B,); the second ones
# are of texts with several labels.
DISTANCES: dict[str, Distance] = {"kl": divergence, "logits": squared}
_OF_EACH: dict[str, Distance] = {"kl": divergence_of_each, "logits": squared_of_each}


def apart(
    logits: NDArray[np.float32], answers: NDArray[np.float32], kind: Answers = ONE_LABEL
) -> dict[str, float]:
    """Returns how far a student (logits) is from its teacher (probabilities), both `(n, n_classes)`.

    Returns:
        `divergence`, the mean KL(teacher || student) in nats, and `agreement`, the share of rows with the
        same answer.
    """
    away = (_OF_EACH if kind.several else DISTANCES)["kl"]
    teacher = torch.from_numpy(kind.log_odds(answers))
    distance = away(torch.from_numpy(logits).double(), teacher, 1.0).mean()
    own, other = kind.decide(kind.probabilities(logits)), kind.decide(answers)
    return {"divergence": float(distance), "agreement": float(kind.right(own, other).mean())}


class Distillation:
    """The task of answering as a teacher does; see `training.trainer.Task`.

    Args:
        config: `[task]`.
        train: `[train]`.
        texts: the training texts.
        labels: `(n,)` class of each training text, or `(n, n_classes)` of 0 and 1; -1 for a text without
            label.
        answers: `(n, n_classes)` probabilities that the teacher gives them.
        valid: the texts that decide which weights are best, or `None`.
        valid_labels: class of each of them, or `None` if some lack labels.
        valid_answers: the teacher's probabilities of them.
        on_answers: called with the logits of the validation texts, at each evaluation.
    """

    def __init__(
        self,
        config: DistillationConfig,
        train: TrainConfig,
        texts: Encoded,
        labels: NDArray[np.int64],
        answers: NDArray[np.float32],
        valid: Encoded | None = None,
        valid_labels: NDArray[np.int64] | None = None,
        valid_answers: NDArray[np.float32] | None = None,
        *,
        on_answers: Callable[[NDArray[np.float32]], None] | None = None,
    ) -> None:
        self.config, self.train, self.on_answers = config, train, on_answers
        self.valid, self.valid_labels, self.valid_answers = valid, valid_labels, valid_answers
        n_classes = answers.shape[1]
        self._plain = (
            Classification(ClassificationConfig(), train, texts, labels, n_classes=n_classes)
            if labels.ndim == 1
            else Multilabel(MultilabelConfig(), train, texts, labels, n_classes=n_classes)
        )
        self._kind = self._plain.answers
        self._text_of_row = torch.from_numpy(texts.text_of_row)
        self._answers = torch.from_numpy(answers).clamp(min=_TINY).log()
        if self._kind.several:
            self._answers = torch.from_numpy(self._kind.log_odds(answers)).float()
        self._distance = (_OF_EACH if self._kind.several else DISTANCES)[config.loss]

    def check(self, model: nn.Module) -> None:
        """Does nothing: any model can learn from a teacher."""

    def drawn(self) -> None:
        """Returns `None`: an epoch has every row."""

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return self._plain.plan(world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Batch]:
        """Yields this process's rows of each batch: every `world`-th of the batch of all."""
        return self._plain.batches(epoch, position, rank, world)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Returns the loss summed over the rows, and how many there are."""
        device = next(model.parameters()).device
        if not len(batch.labels):
            return torch.zeros((), device=device), 0
        logits = model(**batch.inputs(device)).float()
        answers = self._answers[self._text_of_row[batch.index]].to(device)
        labels = batch.labels.to(device)
        # A row without label learns from the teacher alone.
        if self._kind.several:
            known = (labels >= 0).all(-1)
            target = labels.clamp(min=0).to(logits.dtype)
            given = F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(-1)
        else:
            known = labels >= 0
            given = F.cross_entropy(logits, labels.clamp(min=0), reduction="none")
        weight = self.config.label_weight * known.to(logits.dtype)
        taught = self._distance(logits, answers, self.config.temperature)
        return ((1 - weight) * taught + weight * given).sum(), len(labels)

    def evaluate(self, model: nn.Module) -> Evaluation | None:
        """Scores the validation texts, if there are any: against labels, or else against the teacher."""
        if self.valid is None or self.valid_answers is None:
            return None
        device = next(model.parameters()).device
        logits = text_logits(model, self.valid, device=device, bfloat16=use_bfloat16(self.train, device))
        validation = self.evaluation(logits)
        if self.on_answers is not None:
            self.on_answers(logits)
        return validation

    def evaluation(self, logits: NDArray[np.float32]) -> Evaluation:
        """Scores answers to the validation texts.

        Raises:
            NotFiniteError: if one is not finite.
        """
        assert self.valid_answers is not None
        if not np.isfinite(logits).all():
            raise NotFiniteError("an answer to a validation text is not finite")
        away = apart(logits, self.valid_answers, self._kind)
        scores = {f"val_{name}": value for name, value in away.items()}
        if self.valid_labels is None:
            return Evaluation(scores, MONITOR, higher_is_better=False)
        validation = evaluation(logits, self.valid_labels, self._kind)
        return Evaluation({**validation.scores, **scores}, validation.monitor, validation.higher_is_better)


def of_rows(config: RunConfig, rows: TaskRows) -> Distillation:
    """Returns the task of a run."""
    assert isinstance(config.task, DistillationConfig)
    assert rows.answers is not None  # the recipe has asked the teacher
    return Distillation(
        config.task, config.train, rows.texts, rows.labels, rows.answers, rows.valid, rows.valid_labels,
        rows.valid_answers, on_answers=rows.on_answers,
    )  # fmt: skip
