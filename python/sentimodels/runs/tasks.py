"""`task_of`: the task that a configuration of a classifier asks for, given the rows.

Tasks are in `tasks/`, their keys in `config/task.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..config import ClassificationConfig, RunConfig, TaskConfig
from ..data.encoded import Encoded
from ..tasks.class_weights import settled
from ..tasks.classification import Classification
from .tables import Tables

if TYPE_CHECKING:
    from ..tasks.distillation import Distillation

__all__ = ["CLASSIFIER_TASKS", "settled_task", "task_of"]


def settled_task(config: RunConfig, names: Sequence[str]) -> TaskConfig:
    """Returns `[task]` as it is saved: who loads it has no training texts to settle it by.

    Args:
        config: the run.
        names: of the labels, in their order.
    """
    if not isinstance(config.task, ClassificationConfig):
        return config.task
    return config.task.model_copy(update={"class_weights": settled(config.task.class_weights, names)})


@dataclass(frozen=True)
class Rows:
    """What a task is made of.

    Attributes:
        tables: the rows, with the answers of a teacher where there is one.
        texts: the training texts, encoded.
        labels: `(n,)` their classes; -1 where a text has none.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` where they have none.
        on_answers: called with the logits of the validation texts, at each evaluation.
    """

    tables: Tables
    texts: Encoded
    labels: NDArray[np.int64]
    valid: Encoded | None
    valid_labels: NDArray[np.int64] | None
    on_answers: Callable[[NDArray[np.float32]], None] | None


def _classification(config: Any, rows: Rows) -> Classification:
    return Classification(
        config.task, config.train, rows.texts, rows.labels, rows.valid, rows.valid_labels,
        n_classes=len(rows.tables.labels), on_answers=rows.on_answers,
    )  # fmt: skip


def _distillation(config: Any, rows: Rows) -> "Distillation":
    from ..tasks.distillation import Distillation

    taught = rows.tables.taught
    assert taught is not None  # the recipe has asked the teacher
    return Distillation(
        config.task, config.train, rows.texts, rows.labels, taught.train, rows.valid, rows.valid_labels,
        taught.valid, on_answers=rows.on_answers,
    )  # fmt: skip


# By `task.kind`: what makes the task of a run.
CLASSIFIER_TASKS: Mapping[str, Callable[[RunConfig, Rows], "Classification | Distillation"]] = {
    "classification": _classification,
    "distillation": _distillation,
}


def task_of(
    config: RunConfig,
    tables: Tables,
    texts: Encoded,
    labels: NDArray[np.int64],
    valid: Encoded | None,
    valid_labels: NDArray[np.int64] | None,
    on_answers: Callable[[NDArray[np.float32]], None] | None,
) -> "Classification | Distillation":
    """Returns the task of a run.

    Args:
        config: the run.
        tables: its rows, with the answers of a teacher where there is one.
        texts: the training texts, encoded.
        labels: `(n,)` their classes; -1 where a text has none.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` where they have none.
        on_answers: called with the logits of the validation texts, at each evaluation.
    """
    rows = Rows(tables, texts, labels, valid, valid_labels, on_answers)
    return CLASSIFIER_TASKS[config.task.kind](config, rows)
