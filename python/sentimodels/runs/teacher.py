"""The rows of a distillation, with what the teacher answers to them; evaluation data stays out on both sides.

Rows that chose or judged the teacher are not learned from, and rows that the teacher learned from do not
judge the student.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..config import RunConfig
from ..data.encoded import Cut
from ..data.record import TrainingRecord
from ..data.table import Table
from ..errors import ConfigError, DataError
from ..evaluation.predictions import Predictor, answer
from .ensemble import members_of, read_ensemble
from .report import records_of
from .tables import SoftLabels, Tables

__all__ = ["taught_tables"]

# Texts that the teacher is asked about at a time.
_AT_ONCE = 16_384


def taught_tables(
    config: RunConfig,
    path: Path,
    teacher: Predictor,
    tables: Tables | None,
    say: Callable[[str], None] | None,
) -> Tables:
    """Returns the rows of a distillation, with what the teacher answers to them.

    Args:
        config: the run.
        path: the folder of the teacher.
        teacher: loaded from it.
        tables: the rows, if they are read already.
        say: called with what takes time.

    Raises:
        ConfigError: if the labels are not the teacher's.
        DataError: if rows that judge were learned from, or none is left to learn from.
    """
    if tables is None:
        tables = Tables(config.data, teacher.labels)  # which says whether rows have several labels
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
    tables.soft_labels = SoftLabels(
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
    cut = Cut.of(np.concatenate([some for _, some in found]))
    if say is not None and cut.n_cut:
        most = getattr(teacher, "max_tokens", None)
        say(f"{cut.said(most, f'{part} texts')} by the teacher")
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
            f"{rows.source}: the weights of {teacher} were chosen on its rows; give other texts to learn from"
        )
    judged = np.zeros(len(rows), dtype=np.bool_)
    for record in records:
        for role in ("valid", "test"):
            judged |= record.shared(role, rows)
    if not judged.any():
        return
    if judged.all():
        raise DataError(
            f"{rows.source}: the teacher was evaluated on all its rows; give other texts to learn from"
        )
    tables.train = rows.take(np.flatnonzero(~judged))
    tables.notes.append(
        f"{int(judged.sum()):,} rows of {rows.source} on which the teacher was evaluated are left out"
    )


def _of_teacher(name: str, table: Table, records: Sequence[TrainingRecord]) -> list[str]:
    """Returns the warnings about texts that the teacher was trained on, among the rows that judge.

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
