"""`Tables`: the training, validation and test texts of a run, checked before anything is trained.

What the user should know of them, such as guesses and leaks, is in `notes`. `EncodedTables` has the same
texts as ids, with their classes, and makes the task of them; the table of tasks is `TASKS` of
`config/task.py`.
"""

import errno
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..config import TASKS, DataConfig, RunConfig, TaskSection
from ..data.encoded import Cut, Encoded, said_windows
from ..data.exclusion import Exclusion
from ..data.label_sets import JSON, ONE_LABEL, LabelSets, refuse_sets
from ..data.leaks import leaks
from ..data.normalization import fold, stands_alone
from ..data.readers import read_as, read_table, training_table
from ..data.record import TrainingRecord
from ..data.row_buffer import Blank
from ..data.split import NEAR_AT_MOST as _NEAR_AT_MOST
from ..data.split import Units, count_of, divide, folds, labels_not_in_each
from ..data.table import Labels, OrderedLabels, Table, listed
from ..errors import CheckpointError, ConfigError, DataError
from ..evaluation.answers import answers_of
from ..tasks.classification import LabelTask, TaskRows, ordered_weights
from ..text.encoder import TextEncoder
from .families import CLASSIFIER
from .lineage import check_same_rows

__all__ = [
    "EncodedTables",
    "SoftLabels",
    "Tables",
    "check_files",
    "example_of",
    "read_tables",
    "settled_task",
    "shared_validation_rows",
    "task_of",
]

# Of fewer rows a tenth judges too coarsely: 1,000 rows know a difference to about 3 points.
_TEST_OF_ROWS = 10_000
_TEST_SHARE = 0.1
# Labels that a note names; of hundreds nobody reads more.
_LABELS = 3


@dataclass(frozen=True)
class SoftLabels:
    """The answers of a teacher, `(n, n_classes)` probabilities of the rows of each part.

    A student knows the training texts of its teacher through the answers, so its record names them too:
    scores on them would be as good as on the student's training texts.

    Attributes:
        train: of the training texts.
        valid: of the validation texts, or `None` without them.
        test: of the test texts, or `None` without them.
        records: the training data of the teacher, or of each run of an ensemble.
    """

    train: NDArray[np.float32]
    valid: NDArray[np.float32] | None
    test: NDArray[np.float32] | None
    records: tuple[TrainingRecord, ...]


class Tables:
    """The tables of a run, and notes on them.

    Args:
        data: `[data]`.
        labels: those of a teacher, with whom rows need no label; otherwise each row has one.
        several: whether rows may have several labels.
        ordinal: whether the labels are in an order: `data.label_order`, or that of numbers.
    """

    # A teacher's answers to the rows; `None` where labels alone teach.
    soft_labels: SoftLabels | None = None

    def __init__(
        self,
        data: DataConfig,
        labels: Labels | None = None,
        *,
        several: bool = False,
        ordinal: bool = False,
    ) -> None:
        self._several = several if labels is None else labels.several
        if not data.train:
            raise ConfigError(
                "data.train: name the file of the training texts, as in senti train reviews.csv"
            )
        self.notes: list[str] = []
        self._blank: Blank = "error" if labels is None else "keep"
        if data.fold is not None:
            _check_fold(data)
        exclusion = Exclusion.read(data.exclude)
        self.valid = self._chosen(data, data.valid, data.valid_where, training_table)
        if self.valid is not None:
            self.valid = self._trainable(self.valid, exclusion)
        self.test = self._chosen(data, data.test, data.test_where, read_table)
        held = self._held(data)
        whole = self._read(
            data, data.train, training_table, data.where, limit=data.limit, skip=data.skip, sample=True,
            seed=data.split_seed, without=held,
        )  # fmt: skip
        whole = self._trainable(whole, exclusion)
        if labels is not None:
            self.labels = labels
        elif ordinal:
            self.labels = OrderedLabels.of(whole.labelled(), data.label_order, whole.source)
        else:
            self.labels = self._labels_of(whole)
            _refuse_empty_columns(whole, self.labels)
        if len(self.labels) < 2 and not self.labels.several:
            raise DataError(_one_label(data, self.labels[0], len(held)))
        if not self.labels.several and data.label_separator != ONE_LABEL and labels is None:
            refuse_sets(self.labels, whole.source)
        drawn = [name for name, table in (("valid", self.valid), ("test", self.test)) if table is None]
        self.train = self._divided(data, whole)
        if data.drop_suspects is not None:
            self._drop_suspects(data.drop_suspects)
        if labels is not None:
            self._known(self.train)
            self.valid, self.test = self._all_or_none(self.valid), self._all_or_none(self.test)
        others = {name: t for name, t in (("valid", self.valid), ("test", self.test)) if t is not None}
        for name, table in others.items():
            self._known(table)
            if data.leaks == "drop":
                self._drop(table, name)
        leaked = [
            line
            for name, table in others.items()
            if name not in drawn or table.groups is not None
            for line in _leaks(self.train, table, name)
        ]
        if data.leaks == "fail" and any(_shares(self.train, table) for table in others.values()):
            raise DataError(
                f"{'; '.join(leaked)}. Keep equal texts on one side (senti data split), or drop "
                'them from training: --leaks drop, or data.leaks = "drop" in the configuration'
            )
        self.notes += leaked
        if labels is None:
            self.check_trainable()
        if self.labels.several:
            self._warn_of_labels(others)
        rare = [name for name, n in self.counts().items() if n == 1]
        if rare:
            which = "the label" if len(rare) == 1 else f"each of {len(rare):,} labels:"
            self.notes.append(f"only one training row has {which} {listed(rare, _LABELS)}")

    @staticmethod
    def _labels_of(table: Table) -> Labels:
        """Returns the labels that training rows have."""
        values = table.labelled()
        if table.label_form is None:
            return Labels.from_values(values)
        return LabelSets.of_sets(values, JSON if table.label_columns else table.label_form)

    def _warn_of_labels(self, others: Mapping[str, Table]) -> None:
        """Notes labels without a row in a part that judges, whose scores say nothing of them."""
        for name, table in others.items():
            if table.labels is None:
                continue
            counts = self.labels.counts(self.classes(table))
            lacking = [label for label, n in zip(self.labels, counts.tolist(), strict=True) if not n]
            if lacking:
                labels = "the label" if len(lacking) == 1 else f"{len(lacking):,} labels:"
                self.notes.append(
                    f"no row of {name} has {labels} {listed(lacking, _LABELS)}: its scores say nothing of "
                    f"{'it' if len(lacking) == 1 else 'them'}; add rows, or leave such labels out"
                )
        n = len(self.train)
        always = [label for label, count in self.counts().items() if count == n]
        if always:
            self.notes.append(
                f"every training row has the label {listed(always, _LABELS)}: nothing tells it apart"
            )

    def _chosen(
        self, data: DataConfig, path: str | None, where: str | None, reader: Callable[..., Table]
    ) -> Table | None:
        """Reads a part that the user chose: a file, rows of a file, or rows of the training file."""
        if path is None and where is None:
            return None
        return self._read(data, path or data.train, reader, where)

    def _trainable(self, table: Table, exclusion: Exclusion) -> Table:
        """Returns the rows that may be trained or stopped on."""
        table, notes = exclusion.trainable(table)
        self.notes += [note for note in notes if note not in self.notes]
        return table

    def _held(self, data: DataConfig) -> frozenset[int]:
        """Returns the places of the training file's rows that were chosen to validate or test on.

        Raises:
            DataError: if a row was chosen for two parts.
        """
        rows: dict[str, set[int]] = {}
        for name, table, path, where in (
            ("--valid-where", self.valid, data.valid, data.valid_where),
            ("--test-where", self.test, data.test, data.test_where),
        ):
            if table is not None and where is not None and _same_file(path or data.train, data.train):
                rows[name] = set(table.numbers or ())
        asked = {"--valid-where": data.valid_where, "--test-where": data.test_where, "--where": data.where}
        if data.where is not None and any(_may_overlap(data.where, asked[name]) for name in rows):
            notes = list(self.notes)
            rows["--where"] = set(self._read(data, data.train, training_table, data.where).numbers or ())
            self.notes = notes
        for one, other in combinations(rows, 2):
            if both := len(rows[one] & rows[other]):
                are = "row is" if both == 1 else "rows are"
                raise DataError(
                    f"{data.train}: {both:,} {are} chosen by {one} {asked[one]} and by {other} "
                    f"{asked[other]}; choose each row for one part"
                )
        return frozenset().union(*(rows[name] for name in rows if name != "--where"))

    def _divided(self, data: DataConfig, whole: Table) -> Table:
        """Cuts off the parts that were not given, so that they share no text with the rest."""
        n_rows = len(whole)
        test_share = 0.0
        if self.test is None and data.fold is None:
            test_share = _test_share(data, n_rows)
        valid_share = data.valid_share if self.valid is None else 0.0
        shares = [share for share in (test_share, valid_share) if share]
        if data.fold is not None and data.folds is not None:
            shares.append(1 / data.folds)
        if not shares:
            return whole
        units = Units.of(whole, min(shares), 1 + len(shares))
        self.notes += units.notes
        copies: dict[str, int] = {}
        if data.fold is not None and data.folds is not None:
            dealt = folds(whole, data.folds, data.split_seed, units)
            self.notes += labels_not_in_each(whole, dealt)
            self.test = whole.take(dealt[data.fold])
            copies["test"] = int(units.copied[dealt[data.fold]].sum())
            judging = set(dealt[data.fold])
            left = [row for row in range(n_rows) if row not in judging]
            whole, units = whole.take(left), units.take(left)
        elif test_share:
            whole, units, self.test = self._cut(whole, units, "test", test_share, data.split_seed, copies)
        if valid_share:
            # A share of all rows, with test rows or without; cut down, because parts are rounded up.
            of_rest = int(1e12 * valid_share * n_rows / len(whole)) / 1e12
            whole, units, self.valid = self._cut(whole, units, "valid", of_rest, data.split_seed, copies)
        copies["train"] = int(units.copied.sum())
        if any(copies.values()):
            said = ", ".join(f"{n:,} in {name}" for name, n in reversed(copies.items()))
            self.notes.append(f"rows kept in one part with equal or nearly equal texts: {said}")
        return whole

    def _cut(
        self, whole: Table, units: Units, name: str, share: float, seed: int, copies: dict[str, int]
    ) -> tuple[Table, Units, Table | None]:
        """Cuts a part off, whole units; returns the rest, its units, and the part, if any."""
        if share >= 1:
            raise ConfigError(f"data.test_share and data.valid_share leave no row to train on; lower {name}")
        # Of several labels, one unit may have labels that another lacks.
        if units.most_of_a_label(None if whole.label_form else whole.labels) < 2:
            counts = Counter(chain.from_iterable(whole.names_of_rows()))
            self.notes.append(
                f"no training row can be held out for {name}: rows of one group, or with one text, "
                f"stay together, which leaves one unit of each label: {count_of(counts, sorted(counts))}"
            )
            return whole, units, None
        shares = {"train": 1 - share, name: share}
        parts, notes = divide(whole, units, shares, seed)
        self.notes += [note for note in notes if note not in self.notes]
        rest = parts["train"]
        copies[name] = int(units.copied[parts[name]].sum())
        return whole.take(rest), units.take(rest), whole.take(parts[name])

    def check_trainable(self) -> None:
        """Refuses training rows of one label, or without one of the labels.

        Raises:
            DataError: naming the labels and how many rows they have.
        """
        if self._blank == "keep":  # a teacher answers for all labels
            return
        if len(self.labels) < 2 and not self.labels.several:
            raise DataError(
                f"{self.train.source}: every row has the label {self.labels[0]!r}; train on two labels or "
                "more"
            )
        missing = [label for label, n in self.counts().items() if n == 0]
        if not missing:
            return
        parts = [part for part in (self.valid, self.test) if part is not None and part.labels is not None]
        elsewhere = Counter(label for part in parts for label in chain.from_iterable(part.names_of_rows()))
        raise DataError(
            f"{self.train.source}: no training row has the label {count_of(elsewhere, missing)}: its rows "
            "are held out, because they are few, of one group or copies of one another; give more rows, a "
            "file of validation rows (--valid FILE), or hold none out (--valid-share 0)"
        )

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
        made.labels = cls._labels_of(train) if labels is None else labels
        made._several = made.labels.several
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

    def _drop_suspects(self, path: str) -> None:
        """Leaves out suspects of the training file, except test rows."""
        from .drop_suspects import read_suspects, without

        suspects, n = read_suspects(path), len(self.train)
        self.train = without(self.train, suspects, path)
        dropped = [f"{n - len(self.train):,} training"]
        if self.valid is not None and self.valid.sha256 == self.train.sha256:
            n = len(self.valid)
            self.valid = without(self.valid, suspects, path)
            dropped.append(f"{n - len(self.valid):,} validation")
        rows = "row is" if dropped == ["1 training"] else "rows are"
        self.notes.append(f"{' and '.join(dropped)} {rows} left out, of {len(suspects):,} suspects in {path}")

    def _known(self, table: Table) -> None:
        """Refuses labels that are not in training, before anything is trained."""
        if table.labels is not None:
            self.classes(table)

    def _all_or_none(self, table: Table | None) -> Table | None:
        """Returns a part that judges with a label in each row, or with none."""
        if table is None or table.labels is None or "" not in table.labels:
            return table
        self.notes.append(
            f"{table.source}: some rows that judge have no label, so the teacher's answers judge all of them"
        )
        return replace(table, labels=None)

    def classes(self, table: Table) -> NDArray[np.int64]:
        """Returns the class of each row, `(n,)`, or `(n, n_labels)` of 0 and 1 where rows have several.

        With a teacher it is -1 where a row has no label.

        Raises:
            DataError: if a label is not one of the run's.
        """
        if self._blank == "error":
            table.labelled()
        return self.labels.classes(table)

    def to_fit(self) -> NDArray[np.int64]:
        """Returns the classes that a fit learns: those of the labels, or the teacher's answers."""
        if self.soft_labels is None:
            return self.classes(self.train)
        return answers_of(self.labels).decide(self.soft_labels.train)

    def spread(self, n: int) -> list[int]:
        """Returns at most `n` training rows, each label with its share."""
        classes = self.classes(self.train)
        if classes.ndim == 2:  # by the first label of a row
            classes = np.where(classes.any(1), classes.argmax(1), len(self.labels))
        by_label = np.argsort(classes, kind="stable")
        places = np.linspace(0, len(by_label) - 1, min(n, len(by_label))).astype(int)
        rows: list[int] = np.sort(by_label[places]).tolist()
        return rows

    def some(self, rows: Iterable[int]) -> "Tables":
        """Returns these training rows alone, with what a teacher answers to them."""
        chosen = list(rows)
        made = copy(self)
        made.train, made.valid, made.test = self.train.take(chosen), None, None
        if self.soft_labels is not None:
            made.soft_labels = replace(
                self.soft_labels, train=self.soft_labels.train[chosen], valid=None, test=None
            )
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
            blank_labels="drop" if self._blank == "error" and data.unlabelled == "drop" else self._blank,
            drop_empty=data.empty == "drop", several=self._several, label_separator=data.label_separator,
            label_columns=data.label_columns or (), **some,
        )  # fmt: skip
        self.notes += [note for note in table.notes if note not in self.notes]
        return table

    def settled(self) -> dict[str, Any]:
        """Returns keys of `[data]` that were recognised and who reads the rows again must know."""
        columns, form = self.train.label_columns, self.train.label_form
        if columns:
            return {"label_columns": columns}
        return {} if form is None else {"label_separator": form}

    @property
    def judged_on_test(self) -> bool:
        """Whether there are labelled test rows: they chose nothing, so they judge."""
        return self.test is not None and self.test.labels is not None

    def record(self) -> TrainingRecord:
        """Returns the training data of a run of these rows, and the rows that judge it."""
        return TrainingRecord.of(self.train, valid=self.valid, test=self.test)

    def counts(self) -> dict[str, int]:
        """Returns how many training rows each label has."""
        counts = self.labels.counts(self.classes(self.train))
        return dict(zip(self.labels.names, counts.tolist(), strict=True))


def _refuse_empty_columns(table: Table, labels: Labels) -> None:
    """Refuses columns of labels that no row has: nothing could be learned of them."""
    if empty := [name for name in table.label_columns if name not in labels.names]:
        rest = ",".join(name for name in table.label_columns if name in labels.names)
        raise DataError(
            f"{table.source}: no row has the label {listed(empty)}: only 0 in its column; leave it out: "
            f"--label-columns {shlex.quote(rest)}"
        )


def _check_fold(data: DataConfig) -> None:
    if data.test is not None or data.test_where is not None:
        raise ConfigError("data.folds: each fold is the test part of a run; leave out data.test")
    if data.test_share:
        raise ConfigError("data.folds: each fold is the test part of a run; leave out data.test_share")
    if data.folds is None:
        raise ConfigError(f"data.fold {data.fold}: needs data.folds, how many folds there are")
    if data.fold is None or data.fold >= data.folds:
        raise ConfigError(f"data.fold {data.fold}: there are {data.folds} folds, counted from 0")


def _one_label(data: DataConfig, label: str, n_held: int) -> str:
    """Returns what to say of rows that all have one label, and why that may be."""
    causes = []
    if data.where:
        causes.append(f"--where {data.where}")
    if data.skip:
        causes.append(f"--skip {data.skip}")
    if data.limit is not None:
        causes.append(f"--limit {data.limit}")
    if n_held:
        causes.append(f"without the {n_held:,} rows to validate and test on")
    with_ = f" ({', '.join(causes)})" if causes else ""
    return f"{data.train}: every row{with_} has the label {label!r}; train on two labels or more"


def _same_file(one: str, other: str) -> bool:
    return one == other or (Path(one).exists() and Path(other).exists() and Path(one).samefile(other))


def _may_overlap(where: str, other: str | None) -> bool:
    """Whether a row can meet both conditions: not if one column should have two values."""
    column, _, value = where.partition("=")
    column_2, _, value_2 = (other or "").partition("=")
    return column != column_2 or value == value_2


def _test_share(data: DataConfig, n_rows: int) -> float:
    """Returns the share of the training file that is held out to judge on."""
    if data.test_share is not None:
        return data.test_share
    given = data.valid is not None or data.valid_where is not None
    return _TEST_SHARE if n_rows >= _TEST_OF_ROWS and data.valid_share and not given else 0.0


def _shares(train: Table, other: Table) -> bool:
    """Whether a text of one table is in the other, except for case and spacing."""
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
    held = (data.exclude, data.drop_suspects)
    for path in (data.train, data.valid, data.test, data.tokenizer, data.vectors, *held, start):
        if path and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def read_tables(config: RunConfig) -> Tables:
    """Reads the tables that a configuration names."""
    return Tables(config.data, several=reads_sets(config), ordinal=config.task.kind == "ordinal")


def reads_sets(config: RunConfig) -> bool:
    """Whether the rows of a run may have several labels: its task or how they are read says so."""
    named = config.data.label_separator not in (None, ONE_LABEL) or bool(config.data.label_columns)
    return named or config.task.kind == "multilabel"


# Texts that are looked at, and texts that must share the words.
_TEXTS, _SHARED = 2_000, 3
_LONGEST = 40


def example_of(texts: Sequence[str]) -> str:
    """Returns up to three words, or four characters of a script without spaces, that texts have in common.

    They are the commonest run of words among the training texts, so that no text of one person is shown
    in a summary or in a card.
    """
    rows = np.linspace(0, len(texts) - 1, min(len(texts), _TEXTS)).astype(int)
    some = [texts[row] for row in rows]
    for size in (3, 2, 1):
        counts: Counter[str] = Counter()
        for text in some:
            counts.update(_runs(text, size))
        if counts:
            n, example = max((n, run) for run, n in counts.items())
            if n >= _SHARED or size == 1:
                return example
    return "great fun"


def _runs(text: str, size: int) -> set[str]:
    """Returns the runs of so many words of a text, which a shell takes between double quotes."""
    if stands_alone(text):
        words, joined = [char for char in text if not char.isspace()], ""
        size += 1
    else:
        words, joined = text.split(), " "
    runs = (joined.join(words[i : i + size]) for i in range(len(words) - size + 1))
    return {run for run in runs if len(run) <= _LONGEST and run.replace(" ", "").isalnum()}


def shared_validation_rows(runs: Sequence[Path]) -> tuple[Table, Table | None]:
    """Reads the validation rows of runs and, where all have the same, their test rows.

    Args:
        runs: run directories.

    Raises:
        ConfigError: if the runs have no validation rows, or different ones.
        CheckpointError: if one is not a classifier, their data has changed since, or a record is unreadable.
    """
    configs = [CLASSIFIER.load(run) for run in runs]  # of a language model this says what it is
    records = [TrainingRecord.load(run) for run in runs]
    same = {role: len({record.identity(role) for record in records}) == 1 for role in ("valid", "test")}
    if not same["valid"] or records[0].identity("valid") is None:
        said = "different validation rows" if not same["valid"] else "no validation rows"
        raise ConfigError(f"the runs have {said}; name a file of rows to choose on: --dev FILE")
    tables = read_tables(configs[0])
    now = tables.record()
    check_same_rows(runs[0], now)
    if tables.valid is None or now.identity("valid") != records[0].identity("valid"):
        raise CheckpointError(f"{runs[0]}: its validation rows have changed since; name a file: --dev FILE")
    return tables.valid, tables.test if same["test"] and tables.judged_on_test else None


# Settings of how a file was read.
_READ_AS = ("format", "separator", "header", "encoding")


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
            "read_as": read_as(tables.train, **{key: getattr(config.data, key) for key in _READ_AS}),
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
