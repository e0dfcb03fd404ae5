"""`task_of`: the task that a configuration asks for, given the rows; one branch for each kind.

Not for the tasks (`tasks/`), nor for their keys (`config/task.py`).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..config import ClassificationConfig, DistillationConfig, RunConfig, TaskConfig
from ..data.encoded import Encoded
from ..tasks.class_weights import settled
from ..tasks.classification import Classification
from ..tasks.distillation import Distillation
from .tables import Tables

__all__ = ["settled_task", "task_of"]


def settled_task(config: RunConfig, names: Sequence[str]) -> TaskConfig:
    """Returns `[task]` as it is saved: who loads it has no training texts to settle it by.

    Args:
        config: the run.
        names: of the labels, in their order.
    """
    if isinstance(config.task, DistillationConfig):
        return config.task
    return config.task.model_copy(update={"class_weights": settled(config.task.class_weights, names)})


def task_of(
    config: RunConfig,
    tables: Tables,
    texts: Encoded,
    labels: NDArray[np.int64],
    valid: Encoded | None,
    valid_labels: NDArray[np.int64] | None,
    on_answers: Callable[[NDArray[np.float32]], None] | None,
) -> Classification | Distillation:
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
    if isinstance(config.task, ClassificationConfig):
        return Classification(
            config.task, config.train, texts, labels, valid, valid_labels,
            n_classes=len(tables.labels), on_answers=on_answers,
        )  # fmt: skip
    taught = tables.taught
    assert taught is not None  # `check_taught` has seen to it
    return Distillation(
        config.task, config.train, texts, labels, taught.train, valid, valid_labels, taught.valid,
        on_answers=on_answers,
    )  # fmt: skip
