"""`DistillationRecipe`: a student of any architecture that learns the answers of a run or an ensemble.

It is trained as a classifier is, on the teacher's training texts or on different ones, with or without
labels; the teacher is asked once, before training, for its probabilities of all texts (`runs/teacher.py`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import DistillationConfig, RunConfig
from ..data.record import TrainingRecord
from ..errors import CheckpointError, ConfigError
from ..predictor import load_predictor
from ..runs.ensemble import members_of, predictor_hash
from ..runs.families import CLASSIFIER, check_there, merge, resolve
from ..runs.init_weights import inherit_config
from ..runs.tables import Tables
from ..runs.teacher import taught_tables
from ..training.distributed import check_alone
from .classification import ClassificationRecipe

__all__ = ["DistillationRecipe", "resolve_distillation"]

# The student where none is named: small, quick on a CPU, and of another kind than most teachers.
DEFAULT_ARCH = "lstm"
# Keys of `[data]` that say which rows are read, and how; the student sets the rest itself.
_READING = (
    "train", "valid", "test", "format", "text_column", "label_column", "label_separator", "label_columns",
    "group_column", "where", "valid_where", "separator", "header",
    "test_where", "encoding", "max_line_bytes", "limit", "skip", "clean", "unescape", "valid_share",
    "test_share", "folds", "fold", "leaks", "split_seed",
)  # fmt: skip


def resolve_distillation(*trees: Mapping[str, Any]) -> RunConfig:
    """Merges trees, the last one winning, over the defaults and what the teacher was trained on.

    Without `data.train` the student reads the rows that the teacher read, cut into the same parts.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
        CheckpointError: if the teacher is not a classifier.
    """
    given = merge(trees)
    teacher = given.get("task", {}).get("teacher")
    if not teacher:
        raise ConfigError("name the teacher, a run or an ensemble: senti distill TEACHER")
    ground = {
        "task": {"kind": "distillation"}, "data": _read_as(Path(teacher), given.get("data", {}).get("train"))
    }  # fmt: skip
    merged = inherit_config(ground, *trees)
    if merge(merged).get("arch") is None:
        merged = [{"arch": DEFAULT_ARCH}, *merged]
    config = resolve(*merged)
    if not isinstance(config.task, DistillationConfig):
        raise ConfigError(f"task.kind {config.task.kind!r}: senti distill trains distillation; leave it out")
    return config


def _read_as(teacher: Path, train: str | None) -> Mapping[str, Any]:
    """Returns how the teacher's rows were read; nothing where other texts are named."""
    check_there(teacher)
    found = []
    for run in members_of(teacher) or [teacher]:
        data = CLASSIFIER.load(run).data.plain()
        found.append({key: data[key] for key in _READING if key in data})
    if train is not None and any(Path(train).resolve() != Path(one["train"]).resolve() for one in found):
        return {}
    if any(one != found[0] for one in found):
        raise ConfigError(
            f"{teacher}: its runs were trained on different rows; name the texts to learn from: --data FILE"
        )
    return found[0]


class DistillationRecipe(ClassificationRecipe):
    """See the module; the arguments are those of `ClassificationRecipe`."""

    def check(self) -> None:
        """Refuses settings that cannot be, and a teacher that has changed."""
        check_alone("senti distill")
        config = self.config
        assert isinstance(config.task, DistillationConfig)
        if not config.task.teacher:
            raise ConfigError("name the teacher, a run or an ensemble: senti distill TEACHER")
        if config.train.refit:
            raise ConfigError("train.refit: a student is trained once; leave it out")
        if config.data.folds is not None and config.data.fold is None:
            raise ConfigError("data.folds: the teacher knows every fold but one; leave it out")
        super().check()
        teacher = Path(config.task.teacher).absolute()
        check_there(teacher)
        found = {"teacher": str(teacher), "teacher_sha256": predictor_hash(teacher)}
        if self.resumed and found["teacher_sha256"] != config.task.teacher_sha256:
            raise CheckpointError(f"{teacher}: has changed since the distillation began; start a new one")
        self.config = config.model_copy(update={"task": config.task.model_copy(update=found)})

    def read_rows(self) -> Tables:
        """Returns the rows, with the teacher's answers to them."""
        assert isinstance(self.config.task, DistillationConfig)
        path = Path(self.config.task.teacher)
        teacher = load_predictor(path, self.config.train.device)
        return taught_tables(self.config, path, teacher, self._read, None if self.resumed else self.warn)

    def record(self) -> TrainingRecord:
        """Returns the training data of the run, that of its teacher included."""
        assert self.tables.soft_labels is not None
        return super().record().taught_by(self.tables.soft_labels.records)
