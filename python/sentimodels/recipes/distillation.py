"""`DistillationRecipe`: a student of any architecture that learns the answers of a run or an ensemble.

It is trained as a classifier is, on the teacher's own training texts or on others, with or without labels;
the teacher is asked once, before training, for its probabilities of all texts. Evaluation data stays out on
both sides: rows that chose or judged the teacher are not learned from, and rows that the teacher learned from
do not judge the student.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import DistillationConfig, RunConfig
from ..data.encoded import said_cut
from ..data.record import TrainingRecord
from ..data.table import Labels, Table
from ..errors import CheckpointError, ConfigError, DataError
from ..evaluation.metrics import scores
from ..evaluation.predictions import Predictions, Predictor, answer
from ..predictor import load_predictor
from ..runs.ensemble import members_of, predictor_hash, read_ensemble
from ..runs.families import CLASSIFIER, check_there, merge, resolve
from ..runs.report import records_of
from ..runs.start import as_base
from ..runs.tables import Tables, Taught
from ..tasks.distillation import apart
from ..training.distributed import check_alone
from .classification import ClassificationRecipe

__all__ = ["DistillationRecipe", "resolve_distillation", "taught_tables"]

# The student where none is named: small, quick on a CPU, and of another kind than most teachers.
DEFAULT_ARCH = "lstm"
# Keys of `[data]` that say which rows are read, and how; the others are the student's own.
_READING = (
    "train", "valid", "test", "format", "text_column", "label_column", "group_column", "where", "valid_where",
    "separator", "header",
    "test_where", "encoding", "max_line_bytes", "limit", "skip", "clean", "unescape", "valid_share",
    "test_share", "folds", "fold", "leaks", "split_seed",
)  # fmt: skip
# Texts that the teacher is asked about at a time.
_AT_ONCE = 16_384


def resolve_distillation(*trees: Mapping[str, Any]) -> RunConfig:
    """Merges trees, the last one winning, over the defaults and what the teacher was trained on.

    Without `data.train` the student reads the rows that the teacher read, cut into the same parts.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
        CheckpointError: if the teacher is no classifier.
    """
    given = merge(trees)
    teacher = given.get("task", {}).get("teacher")
    if not teacher:
        raise ConfigError("name the teacher, a run or an ensemble: senti distill TEACHER")
    ground = {
        "task": {"kind": "distillation"}, "data": _read_as(Path(teacher), given.get("data", {}).get("train"))
    }  # fmt: skip
    merged = as_base(ground, *trees)
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
        """Returns the rows, with what the teacher answers to them."""
        return taught_tables(self.config, self._read, None if self.resumed else self.warn)

    def record(self) -> TrainingRecord:
        """Returns what the run learns from, that of its teacher included."""
        assert self.tables.taught is not None
        return super().record().taught_by(self.tables.taught.records)

    def part_scores(
        self, part: str, table: Table, logits: NDArray[np.float32], temperature: float
    ) -> dict[str, Any]:
        """Returns the scores of a part, and how far the student is from its teacher there."""
        found = super().part_scores(part, table, logits, temperature)
        answers: NDArray[np.float32] | None = getattr(self.tables.taught, part)
        if answers is not None:
            cooled = logits / np.float32(temperature)
            found["distilled"] = compared(self.tables.labels, part, table, cooled, answers)
        return found


def taught_tables(config: RunConfig, tables: Tables | None, say: Callable[[str], None] | None) -> Tables:
    """Returns the rows of a distillation, with what the teacher answers to them.

    Args:
        config: the run.
        tables: the rows, if they are read already.
        say: called with what takes time.

    Raises:
        ConfigError: if the labels are not the teacher's.
        DataError: if rows that judge were learned from, or none is left to learn from.
    """
    assert isinstance(config.task, DistillationConfig)
    path = Path(config.task.teacher)
    teacher = load_predictor(path, config.train.device)
    if tables is None:
        tables = Tables(config.data, teacher.labels)
    elif tables.labels != teacher.labels:
        raise ConfigError(
            f"{path}: the teacher's labels are {', '.join(teacher.labels)}, those of the rows "
            f"{', '.join(tables.labels)}; they must be the same"
        )
    records = records_of(path)
    _leave_out_judges(tables, path, records)
    for name, table in (("validation", tables.valid), ("test", tables.test)):
        if table is not None:
            tables.notes += _of_teacher(name, table, records)
    parts = [one for one in (tables.train, tables.valid, tables.test) if one is not None]
    if say is not None:
        say(f"asking the teacher, {path}, about {sum(map(len, parts)):,} texts")
    tables.taught = Taught(
        _answers(teacher, tables.train, "training", say),
        None if tables.valid is None else _answers(teacher, tables.valid, "validation", say),
        None if tables.test is None else _answers(teacher, tables.test, "test", say),
        tuple(records),
    )
    return tables


def _answers(
    teacher: Predictor, table: Table, part: str, say: Callable[[str], None] | None
) -> NDArray[np.float32]:
    """Returns the teacher's probabilities, `(n, n_classes)`."""
    found = [
        answer(teacher, table.texts[start : start + _AT_ONCE]) for start in range(0, len(table), _AT_ONCE)
    ]
    cut = np.concatenate([some for _, some in found])
    if say is not None and (n_cut := int(cut.sum())):
        most = getattr(teacher, "max_tokens", None)
        say(f"{said_cut(n_cut, len(cut), most, f'{part} texts')} for the teacher")
    return np.concatenate([np.asarray(probs, np.float32) for probs, _ in found])


def _leave_out_judges(tables: Tables, teacher: Path, records: Sequence[TrainingRecord]) -> None:
    """Leaves out training rows that chose or judged the teacher.

    Raises:
        DataError: if these are all, or the file fitted an ensemble.
    """
    rows = tables.train
    # Of a file that a run was trained on as well, the ensemble does not say which rows fitted it.
    own = any(source.sha256 == rows.sha256 for record in records for source in record.sources)
    fitted = members_of(teacher) is not None and read_ensemble(teacher).get("dev_sha256") == rows.sha256
    if fitted and not own:
        raise DataError(
            f"{rows.source}: its rows fitted the weights of {teacher}; give other texts to learn from"
        )
    judged = np.zeros(len(rows), dtype=np.bool_)
    for record in records:
        for role in ("valid", "test"):
            judged |= record.shared(role, rows)
    if not judged.any():
        return
    if judged.all():
        raise DataError(f"{rows.source}: all its rows judged the teacher; give other texts to learn from")
    tables.train = rows.take(np.flatnonzero(~judged))
    tables.notes.append(f"{int(judged.sum()):,} rows of {rows.source} that judged the teacher are left out")


def _of_teacher(name: str, table: Table, records: Sequence[TrainingRecord]) -> list[str]:
    """Returns what is to be said of texts that the teacher was trained on, among those that judge.

    Raises:
        DataError: if they are the very rows.
    """
    nothing = np.zeros(len(table), dtype=np.bool_)
    learned = np.logical_or.reduce([nothing, *(record.learned_from(table) for record in records)])
    if learned.any():
        raise DataError(
            f"{table.source}: the teacher was trained on {int(learned.sum()):,} of the {len(table):,} {name} "
            "rows, so scores there would be too good; give rows that it has not seen (--valid, --test)"
        )
    seen = int(np.logical_or.reduce([nothing, *(record.seen(table) for record in records)]).sum())
    if not seen:
        return []
    return [f"{seen:,} of the {len(table):,} {name} rows have a text that the teacher was trained on"]


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
