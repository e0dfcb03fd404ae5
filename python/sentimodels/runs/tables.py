"""`Tables`: the training, validation and test texts of a run, checked before anything is trained.

Not for reading a file (`data/readers.py`) and not for ids (`text/encoder.py`). What the user
should know of them, such as guesses and leaks, is in `notes`.
"""

import errno
import os
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import DataConfig, RunConfig
from ..data.folding import fold
from ..data.folds import folds
from ..data.labels import Labels
from ..data.leaks import leaks
from ..data.readers import read_table, training_table
from ..data.row_buffer import Blank
from ..data.split import split
from ..data.table import Table
from ..errors import ConfigError, DataError
from .taught import Taught

__all__ = ["Tables", "check_files", "read_tables"]

# Near duplicates are found in seconds up to so many rows; training should not wait longer.
_NEAR_AT_MOST = 50_000
# Of fewer rows a tenth judges too coarsely: 1,000 rows know a difference to about 3 points.
_TEST_OF_ROWS = 10_000
_TEST_SHARE = 0.1


class Tables:
    """The tables of a run and what is to be said about them.

    Args:
        data: `[data]`.
        labels: those of a teacher, with whom rows need none of their own; otherwise each row has one.
    """

    # What a teacher answers to the rows; `None` where labels alone teach.
    taught: Taught | None = None

    def __init__(self, data: DataConfig, labels: Labels | None = None) -> None:
        if not data.train:
            raise ConfigError(
                "data.train: name the file of the training texts, as in senti train reviews.csv"
            )
        self.notes: list[str] = []
        self._blank: Blank = "error" if labels is None else "keep"
        whole = self._read(data, data.train, training_table, data.where, limit=data.limit, skip=data.skip)
        self.labels = Labels.from_values(whole.labelled()) if labels is None else labels
        if len(self.labels) < 2:
            raise DataError(
                f"{data.train}: every row has the label {self.labels[0]!r}; train on two labels or more"
            )
        n_rows = len(whole)
        self.valid: Table | None = None
        self.test: Table | None = None
        if data.fold is not None:
            whole, self.test = _without_fold(data, whole)
        elif data.test is not None or data.test_where is not None:
            self.test = self._read(data, data.test or data.train, read_table, data.test_where)
        elif share := _test_share(data, n_rows):
            whole, self.test = self._cut(whole, "test", share, data.split_seed)
        if data.valid is not None or data.valid_where is not None:
            self.valid = self._read(data, data.valid or data.train, training_table, data.valid_where)
        elif data.valid_share:
            # A share of all rows, whether test rows were cut off or not.
            # Cut down, as parts are rounded up: a tenth is a tenth.
            of_rest = int(1e12 * data.valid_share * n_rows / len(whole)) / 1e12
            whole, self.valid = self._cut(whole, "valid", of_rest, data.split_seed)
        self.train = whole
        if labels is not None:
            self._known(self.train)
            self.valid, self.test = self._all_or_none(self.valid), self._all_or_none(self.test)
        others = {name: t for name, t in (("valid", self.valid), ("test", self.test)) if t is not None}
        for name, table in others.items():
            self._known(table)
            if data.leaks == "drop":
                self._drop(table, name)
        leaked = [line for name, table in others.items() for line in _leaks(self.train, table, name)]
        if data.leaks == "fail" and any(_shares(self.train, table) for table in others.values()):
            raise DataError(
                f"{'; '.join(leaked)}. Keep equal texts on one side (senti data split --by hash), or drop "
                'them from training: --leaks drop, or data.leaks = "drop" in the configuration'
            )
        self.notes += leaked
        rare = [name for name, n in self.counts().items() if n == 1]
        if rare:
            self.notes.append(f"only one training row has the label {', '.join(map(repr, rare))}")

    def _cut(self, whole: Table, name: str, share: float, seed: int) -> tuple[Table, Table]:
        """Cuts a part off, whole groups; returns what is left, and the part."""
        if share >= 1:
            raise ConfigError(f"data.test_share and data.valid_share leave no row to train on; lower {name}")
        parts = split(whole, {"train": 1 - share, name: share}, seed)
        self.notes += [note for note in parts["train"].notes if note not in self.notes]
        return parts["train"], parts[name]

    @classmethod
    def of(
        cls,
        train: Table,
        valid: Table | None = None,
        test: Table | None = None,
        labels: Labels | None = None,
    ) -> "Tables":
        """Returns tables that are there already, as parts of a benchmark are; `labels` as for the class."""
        made = cls.__new__(cls)
        made.notes, made.train, made.valid, made.test = [], train, valid, test
        made._blank = "error" if labels is None else "keep"
        made.labels = Labels.from_values(train.labelled()) if labels is None else labels
        for table in (valid, test):
            if table is not None:
                made._known(table)
        return made

    def _drop(self, other: Table, name: str) -> None:
        """Leaves out training rows whose text is in another table."""
        texts = set(map(fold, other.texts))
        kept = [row for row, text in enumerate(self.train.texts) if fold(text) not in texts]
        dropped = len(self.train) - len(kept)
        if not dropped:
            return
        self.train = self.train.take(kept)
        are = "row with a text of {} is" if dropped == 1 else "rows with a text of {} are"
        self.notes.append(f"{dropped:,} training {are.format(name)} left out")
        if self._blank == "error" and set(self.train.labelled()) != set(self.labels.names):
            raise DataError(
                f"{self.train.source}: without the rows whose text is in {other.source}, a label has no row; "
                "give other files"
            )

    def _known(self, table: Table) -> None:
        """Refuses labels that are not in training, before anything is trained."""
        if table.labels is not None:
            try:
                self.classes(table)
            except DataError as error:
                raise DataError(f"{table.source}: {error}") from error

    def _all_or_none(self, table: Table | None) -> Table | None:
        """Returns a part that judges with a label in each row, or with none."""
        if table is None or table.labels is None or "" not in table.labels:
            return table
        self.notes.append(
            f"{table.source}: some rows that judge have no label, so the teacher's answers judge all of them"
        )
        return replace(table, labels=None)

    def classes(self, table: Table) -> NDArray[np.int64]:
        """Returns the class of each row, `(n,)`; with a teacher -1 where a row has no label.

        Raises:
            DataError: if a label is not one of the run's.
        """
        if self._blank == "error":
            return self.labels.encode(table.labelled())
        classes = np.full(len(table), -1, dtype=np.int64)
        if table.labels is not None:
            known = [row for row, label in enumerate(table.labels) if label != ""]
            classes[known] = self.labels.encode(table.labels[row] for row in known)
        return classes

    def to_fit(self) -> NDArray[np.int64]:
        """Returns the classes `(n,)` that a fit learns: those of the labels, or the teacher's likeliest."""
        if self.taught is None:
            return self.classes(self.train)
        likeliest: NDArray[np.int64] = self.taught.train.argmax(1).astype(np.int64)
        return likeliest

    def some(self, rows: Iterable[int]) -> "Tables":
        """Returns these training rows alone, with what a teacher answers to them."""
        chosen = list(rows)
        made = copy(self)
        made.train, made.valid, made.test = self.train.take(chosen), None, None
        if self.taught is not None:
            made.taught = replace(self.taught, train=self.taught.train[chosen], valid=None, test=None)
        return made

    def _read(
        self, data: DataConfig, path: str, reader: Callable[..., Table], where: str | None, **some: Any
    ) -> Table:
        columns = (data.text_column, data.label_column, data.group_column)
        # A text a line has no label, so rows that judge texts of lines may come in any format.
        format = None if data.format == "lines" and path != data.train else data.format
        table = reader(
            path, *columns, format, where=where, encoding=data.encoding,
            separator=data.separator, header=data.header,
            max_line_bytes=data.max_line_bytes, clean=data.clean, unescape=data.unescape,
            blank_labels=self._blank, **some,
        )  # fmt: skip
        self.notes += [note for note in table.notes if note not in self.notes]
        return table

    @property
    def judged_on_test(self) -> bool:
        """Whether there are labelled test rows: they chose nothing, so they judge."""
        return self.test is not None and self.test.labels is not None

    def counts(self) -> dict[str, int]:
        """Returns how many training rows each label has."""
        given = self.classes(self.train)
        counts = np.bincount(given[given >= 0], minlength=len(self.labels))
        return dict(zip(self.labels.names, counts.tolist(), strict=True))


def _without_fold(data: DataConfig, whole: Table) -> tuple[Table, Table]:
    """Returns the rows of all other folds, and those of the fold, which nothing is chosen by."""
    if data.test is not None or data.test_where is not None:
        raise ConfigError("data.folds: each fold is the test part of a run; leave out data.test")
    if data.test_share:
        raise ConfigError("data.folds: each fold is the test part of a run; leave out data.test_share")
    if data.folds is None and data.fold is not None:
        raise ConfigError(f"data.fold {data.fold}: needs data.folds, how many folds there are")
    if data.folds is None or data.fold is None or data.fold >= data.folds:
        raise ConfigError(f"data.fold {data.fold}: there are {data.folds} folds, counted from 0")
    rows = folds(whole, data.folds, data.split_seed)
    others = sorted(row for fold, some in enumerate(rows) if fold != data.fold for row in some)
    return whole.take(others), whole.take(rows[data.fold])


def _test_share(data: DataConfig, n_rows: int) -> float:
    """Returns the share of the training file that is held out to judge on."""
    if data.test_share is not None:
        return data.test_share
    given = data.valid is not None or data.valid_where is not None
    return _TEST_SHARE if n_rows >= _TEST_OF_ROWS and data.valid_share and not given else 0.0


def _shares(train: Table, other: Table) -> bool:
    """Whether a text of one table is in the other, but for case and spacing."""
    return not set(map(fold, train.texts)).isdisjoint(map(fold, other.texts))


def _leaks(train: Table, other: Table, name: str) -> list[str]:
    near = len(train) + len(other) <= _NEAR_AT_MOST
    said = leaks(train, other, near=near).lines(name)
    if not near:
        said.append(
            f"near duplicates of training texts in {name} were not looked for: there are more than "
            f"{_NEAR_AT_MOST:,} rows; senti data check looks for them"
        )
    return said


def check_files(config: RunConfig) -> None:
    """Refuses files that are not there, before anything else is said of a run.

    Raises:
        FileNotFoundError: naming the first.
    """
    data, start = config.data, config.train.init_from
    for path in (data.train, data.valid, data.test, data.tokenizer, data.vectors, start):
        if path and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def read_tables(config: RunConfig) -> Tables:
    """Reads the tables that a configuration names."""
    return Tables(config.data)
