"""`task_of`: the task that a configuration of a classifier asks for, given the rows.

Tasks are in `tasks/`; their table is `TASKS` of `config/task.py`.
"""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..config import TASKS, RunConfig, TaskSection
from ..data.encoded import Encoded
from ..tasks.classification import LabelTask, TaskRows, ordered_weights
from .tables import Tables

__all__ = ["settled_task", "task_of"]


def settled_task(config: RunConfig, names: Sequence[str]) -> TaskSection:
    """Returns `[task]` as it is saved: who loads it has no training texts to settle it by.

    Args:
        config: the run.
        names: of the labels, in their order.
    """
    weights = getattr(config.task, "class_weights", None)
    if weights is None:
        return config.task
    return config.task.model_copy(update={"class_weights": ordered_weights(weights, names)})


def task_of(
    config: RunConfig,
    tables: Tables,
    texts: Encoded,
    labels: NDArray[np.int64],
    valid: Encoded | None,
    valid_labels: NDArray[np.int64] | None,
    on_answers: Callable[[NDArray[np.float32]], None] | None,
) -> LabelTask:
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
    taught = tables.taught
    rows = TaskRows(
        texts, labels, len(tables.labels), valid, valid_labels, None if taught is None else taught.train,
        None if taught is None else taught.valid, on_answers,
    )  # fmt: skip
    return cast("LabelTask", TASKS[config.task.kind].make(config, rows))
