"""`Taught`: what a teacher answers to the texts of a run, and where its own training texts are kept in mind.

Not for asking the teacher (`recipes/distillation.py`) nor for the loss (`tasks/distillation.py`). A
student knows of its teacher's training texts through the teacher, so its record names them too: scores
on them would be as good as scores on its own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import DistillationConfig, RunConfig
from ..data.record import TrainingRecord
from ..data.table import Labels, Table
from ..errors import ConfigError
from ..evaluation.metrics import scores
from ..evaluation.predictions import Predictions
from ..tasks.distillation import apart

__all__ = ["Taught", "check_taught", "compared"]


@dataclass(frozen=True)
class Taught:
    """The answers of a teacher, `(n, n_classes)` probabilities of the rows of each part.

    Attributes:
        train: of the training texts.
        valid: of the validation texts, or `None` without them.
        test: of the test texts, or `None` without them.
        records: what the teacher, or each run of an ensemble, was trained on.
    """

    train: NDArray[np.float32]
    valid: NDArray[np.float32] | None
    test: NDArray[np.float32] | None
    records: tuple[TrainingRecord, ...]


def check_taught(config: RunConfig, taught: Taught | None) -> None:
    """Refuses a distillation without the answers of its teacher.

    Raises:
        ConfigError: saying which command has them.
    """
    if isinstance(config.task, DistillationConfig) and taught is None:
        teacher = config.task.teacher or "TEACHER"
        raise ConfigError(
            f"task.kind distillation: senti distill {teacher} trains such a run; with --resume DIR it goes on"
        )


def compared(
    labels: Labels, part: str, table: Table, logits: NDArray[np.float32], answers: NDArray[np.float32]
) -> dict[str, Any]:
    """Returns how far a student is from its teacher on a part, and the teacher's scores there.

    Args:
        labels: those of the run.
        part: what the part is called in `run.json`.
        table: its rows, all with a label or none.
        logits: the student's, its temperature in them, `(n, n_classes)`.
        answers: the teacher's probabilities, `(n, n_classes)`.
    """
    about: dict[str, Any] = {"part": part, "rows": len(table), **apart(logits, answers)}
    if table.labels is not None:
        truth = labels.encode(table.labels)
        known = scores(Predictions(labels, answers, truth, table.texts, groups=table.groups))
        about["teacher"] = {key: known[key] for key in ("accuracy", "macro_f1", "log_loss", "ece")}
    return about
