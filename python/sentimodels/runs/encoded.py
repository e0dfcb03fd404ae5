"""`EncodedTables`: the texts of a run's tables as ids, with their classes; and the task of them.

Tasks are in `tasks/`; their table is `TASKS` of `config/task.py`.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..config import TASKS, RunConfig, TaskSection
from ..data.encoded import Cut, Encoded, said_windows
from ..data.readers import read_as
from ..data.table import Table
from ..tasks.classification import LabelTask, TaskRows, ordered_weights
from ..text.encoder import TextEncoder
from .tables import Tables, example_of

__all__ = ["EncodedTables", "settled_task", "task_of"]

# Settings of how a file was read.
_READING = ("format", "separator", "header", "encoding")


class EncodedTables:
    """The texts of training and validation as ids; those of the test rows when they judge.

    Args:
        config: the run.
        tables: its rows.
        encoder: makes ids.
        warn: called with notes for the user on texts that are cut.

    Attributes:
        encoder: makes ids.
        train: the training texts.
        labels: their classes, as `Tables.classes` gives them; -1 for a text without label.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` without labels.
        seconds: that encoding took.
    """

    def __init__(
        self, config: RunConfig, tables: Tables, encoder: TextEncoder, warn: Callable[[str], None]
    ) -> None:
        began = time.perf_counter()
        self.config, self.tables, self.encoder, self._warn = config, tables, encoder, warn
        self.train = self._encode("training", tables.train)
        self.labels = tables.classes(tables.train)
        self.valid: Encoded | None = None
        self.valid_labels: NDArray[np.int64] | None = None
        if tables.valid is not None:
            self.valid = self._encode("validation", tables.valid)
            if tables.soft_labels is None or tables.valid.labels is not None:
                self.valid_labels = tables.classes(tables.valid)
        self.seconds = time.perf_counter() - began

    def test(self) -> Encoded:
        """Returns the test texts, which there must be."""
        assert self.tables.test is not None
        return self._encode("test", self.tables.test)

    def _encode(self, part: str, table: Table) -> Encoded:
        """Returns the texts of a part as ids, and warns of texts that are cut."""
        encoded, data = self.encoder.encode(table.texts), self.config.data
        cut = Cut.of(encoded.unread)
        if cut.n_cut:
            hint = 'data.long = "windows" (--windows) reads all of them'
            self._warn(f"{cut.said(data.max_tokens, f'{part} texts')}; {hint}")
        elif encoded.n_cut:
            self._warn(said_windows(encoded.n_cut, encoded.n_texts, data.max_tokens, f"{part} texts"))
        return encoded

    def task(self, on_answers: Callable[[NDArray[np.float32]], None] | None) -> LabelTask:
        """Returns the task of these rows; `on_answers` as for `task_of`."""
        return task_of(
            self.config, self.tables, self.train, self.labels, self.valid, self.valid_labels, on_answers
        )

    def n_cut(self) -> dict[str, int]:
        """Returns how many texts of each part are longer than the run reads."""
        n_cut = 0 if self.valid is None else int(self.valid.cut.sum())
        return {"train": int(self.train.cut.sum()), "valid": n_cut}

    def planned(self) -> dict[str, Any]:
        """Returns rows, labels and tokens."""
        tables = self.tables
        return {
            "train_rows": len(tables.train),
            "valid_rows": 0 if tables.valid is None else len(tables.valid),
            "labels": ", ".join(f"{name} {count:,}" for name, count in tables.counts().items()),
            "vocabulary": self.encoder.vocab_size,
            "tokens": int(self.train.lengths.sum()),
            "texts_cut": self.train.n_cut,
        }

    def facts(self, drawn: NDArray[np.float64] | None) -> dict[str, Any]:
        """Returns what `run.json` says of the rows.

        Args:
            drawn: rows of each label that an epoch draws, where it is not every row.
        """
        tables, config = self.tables, self.config
        parts = {"train": tables.train, "valid": tables.valid, "test": tables.test}
        about: dict[str, Any] = {"labels": tables.counts()}
        if tables.labels.several:
            about["several"] = True
        if tables.labels.ordered:
            about["ordered"] = True
        if drawn is not None:
            about["drawn"] = dict(zip(tables.labels.names, np.rint(drawn).astype(int).tolist(), strict=True))
        for key, known in (("estimates", config.estimates), ("accuracies", config.accuracies)):
            if known:  # what arch auto compared
                about[key] = dict(known)
        return {
            **about,
            "rows": {part: 0 if table is None else len(table) for part, table in parts.items()},
            "cut": self.n_cut(),
            "example": example_of(tables.train.texts),
            "read_as": read_as(tables.train, **{key: getattr(config.data, key) for key in _READING}),
        }


def settled_task(config: RunConfig, names: Sequence[str]) -> TaskSection:
    """Returns `[task]` as it is saved: the loader has no training texts to settle it by.

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
        labels: their classes, as `Tables.classes` gives them; -1 for a text without label.
        valid: the validation texts, or `None`.
        valid_labels: their classes, or `None` without labels.
        on_answers: called with the logits of the validation texts, at each evaluation.
    """
    answers = tables.soft_labels
    rows = TaskRows(
        texts, labels, len(tables.labels), valid, valid_labels, None if answers is None else answers.train,
        None if answers is None else answers.valid, on_answers,
    )  # fmt: skip
    return cast("LabelTask", TASKS[config.task.kind].make(config, rows))
