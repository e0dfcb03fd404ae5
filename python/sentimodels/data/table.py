"""`Table`: labelled texts as every reader returns them, and nothing about models.

A table never changes; `take` gives a new one. `notes` hold what the reader decided for the user, such as a
guessed column: commands print them.
"""

import csv
import io
import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

_T = TypeVar("_T")


@dataclass(frozen=True)
class Table:
    """Texts with labels, groups and ids, row by row.

    Attributes:
        texts: the texts, unchanged.
        labels: the label names, or `None` if the file has no labels; of texts with several labels, a list of
            JSON each (`label_sets.py`).
        groups: rows of one group (a sentence, a user) must not be split, or `None`.
        ids: the rows' own ids, as a submission names them, or `None`.
        source: the file or folder it was read from.
        sha256: hash of the file's bytes after decompression (of all files of a folder).
        format: the name of the reader, such as `phrases` or `csv`.
        notes: guesses and oddities, one sentence each.
        numbers: the place of each row in its file, counted from 0 over all rows there, or `None`
            for rows that are from no file.
        lines: the line that each row begins on, counted from 1, where that was asked for.
        columns: the names of the columns that were read, by role (`text`, `label`, `group`, `id`).
        names: the names of all columns of the file, for messages.
        kept: other columns that were asked for, by name.
        label_form: of texts with several labels, the separator between them in the file, or `json`; else
            `None`.
        label_columns: the columns that hold one label each, if that is how the file is written.
    """

    texts: list[str]
    labels: list[str] | None
    groups: list[str] | None
    ids: list[str] | None
    source: Path
    sha256: str
    format: str = "memory"
    notes: tuple[str, ...] = ()
    numbers: list[int] | None = None
    lines: list[int] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    kept: Mapping[str, list[str]] = field(default_factory=dict)
    label_form: str | None = None
    label_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "groups", "ids", "numbers", "lines"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.texts):
                raise DataError(f"{self.source}: {len(self.texts)} texts, but {len(column)} {name}")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Iterable[int]) -> "Table":
        """Returns the table of these rows, in this order."""
        chosen = [int(row) for row in rows]
        return replace(
            self,
            texts=_pick(self.texts, chosen),
            labels=None if self.labels is None else _pick(self.labels, chosen),
            groups=None if self.groups is None else _pick(self.groups, chosen),
            ids=None if self.ids is None else _pick(self.ids, chosen),
            numbers=None if self.numbers is None else _pick(self.numbers, chosen),
            lines=None if self.lines is None else _pick(self.lines, chosen),
            kept={name: _pick(column, chosen) for name, column in self.kept.items()},
        )

    def labelled(self) -> list[str]:
        """Returns the labels.

        Raises:
            DataError: if there are none.
        """
        if self.labels is None:
            among = f" (it has {listed(self.names)})" if self.names else ""
            # Notes are not shown where a command ends with an error.
            whys = ("label column is not ", "columns ")
            why = "".join(f"; the {note}" for note in self.notes if note.startswith(whys))
            raise DataError(f"{self.source}: no labels; name their column with --label-column{among}{why}")
        return self.labels

    def names_of_rows(self) -> list[list[str]]:
        """Returns the labels of each row: one, several or none."""
        if self.label_form is not None:
            return as_sets(self.labels or ())
        return [[label] for label in self.labels or ()]

    @staticmethod
    def of(
        texts: Sequence[str],
        labels: Sequence[str] | Sequence[Sequence[str]] | None = None,
        groups: Sequence[str] | None = None,
        source: str = "<memory>",
    ) -> "Table":
        """Makes a table of texts at hand; its hash is that of texts and labels.

        Labels are one name a text, or several: a list of names each.
        """
        from .opening import hash_rows

        several = labels is not None and any(not isinstance(one, str) for one in labels)
        cells = None if labels is None else [one if isinstance(one, str) else set_cell(one) for one in labels]
        table = Table(
            texts=list(texts),
            labels=cells,
            groups=None if groups is None else list(groups),
            ids=None,
            source=Path(source),
            sha256="",
            label_form="json" if several else None,
        )
        return replace(table, sha256=hash_rows(table.texts, table.labels))


def as_option(names: Iterable[str]) -> str:
    """Writes names as an option takes them, to be pasted into a shell: with commas between.

    A name that holds a comma or a quote is quoted as in CSV.
    """
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(names)
    return shlex.quote(row.getvalue())


# Names that a message lists, and characters of each.
_NAMES, _NAME = 20, 60
# Labels unknown to a run that a note counts.
_UNKNOWN = 5


def listed(names: Sequence[str], most: int = _NAMES) -> str:
    """Writes names for a message: the first ones, the beginning of long ones."""
    shown = [repr(name if len(name) <= _NAME else f"{name[:_NAME]}...") for name in names[:most]]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def _pick(column: list[_T], rows: list[int]) -> list[_T]:
    return [column[row] for row in rows]


class Labels:
    """Label names in their order; the place of a name is its class index.

    The order is that of the names; when all are numbers it is that of the numbers, so "2" comes before
    "10" and an ordinal scale keeps its order. The order never depends on which row came first.

    >>> Labels.from_values(["10", "2", "2"]).names
    ('2', '10')
    """

    __slots__ = ("_index", "names")

    # Whether a text may have several of them, or none (`label_sets.LabelSets`).
    several = False
    # Whether their order means something (`OrderedLabels`).
    ordered = False

    def __init__(self, names: Sequence[str]) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self._index = {name: index for index, name in enumerate(self.names)}
        if len(self._index) != len(self.names):
            raise DataError(f"label names repeat: {', '.join(self.names)}")
        if not self.names:
            raise DataError("no labels: a classifier needs at least one class")

    @classmethod
    def from_values(cls, values: Iterable[str]) -> "Labels":
        """Returns the distinct values in their order."""
        return cls(ordered(values))

    def index(self, name: str) -> int:
        """Returns the class index of a name.

        Raises:
            DataError: if no class has this name.
        """
        index = self._index.get(name)
        if index is None:
            raise DataError(f"unknown label {name!r}; the model knows {listed(self.names)}")
        return index

    def encode(self, values: Iterable[str]) -> NDArray[np.int64]:
        """Returns the class index of each value.

        Raises:
            DataError: if a value is not a label, naming the first and how many there are.
        """
        given = list(values)
        unknown = [(row, value) for row, value in enumerate(given) if value not in self._index]
        if unknown:
            row, value = unknown[0]
            raise DataError(
                f"unknown label {value!r} at row {row + 1} ({len(unknown)} such rows); "
                f"the labels are {listed(self.names)}"
            )
        return np.fromiter((self._index[value] for value in given), dtype=np.int64, count=len(given))

    def classes(self, table: Table) -> NDArray[np.int64]:
        """Returns the class index of each row of a table, (n,); -1 where it has no label.

        Raises:
            DataError: if a label is unknown, with the place of the first such row.
        """
        if unknown := self.unknown(table):
            raise DataError(unknown_label(unknown, self, table))
        found = np.full(len(table), -1, dtype=np.int64)
        for row, label in enumerate(table.labels or ()):
            if label:
                found[row] = self._index[label]
        return found

    def unknown(self, table: Table) -> dict[int, str]:
        """Returns the rows of a table with a label that is not one of these, and that label."""
        return {
            row: label for row, label in enumerate(table.labels or ()) if label and label not in self._index
        }

    def decode(self, indices: Iterable[int]) -> list[str]:
        """Returns the name of each class index."""
        return [self.names[index] for index in indices]

    def value(self, answer: Any) -> str | list[str]:
        """Returns an answer as a value of Python and JSON: the name of a class index."""
        return self.names[int(answer)]

    def cell(self, answer: Any) -> str:
        """Returns an answer as a file writes it."""
        return self.names[int(answer)]

    def shown(self, answer: Any) -> str:
        """Returns an answer for people."""
        return self.names[int(answer)]

    def counts(self, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns how many rows (n,) have each label; -1 is none."""
        return np.bincount(truth[truth >= 0], minlength=len(self))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, index: int) -> str:
        return self.names[index]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and (self.names, self.several) == (other.names, other.several)

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Labels({list(self.names)!r})"


class OrderedLabels(Labels):
    """Label names whose order means something, such as stars: the lowest first."""

    __slots__ = ()

    ordered = True

    @classmethod
    def of(cls, values: Iterable[str], order: Sequence[str] | None, source: Path) -> "OrderedLabels":
        """Returns the distinct values in an order: the one that is given, or that of numbers.

        Raises:
            DataError: if no order is given and the values are not numbers, or the order is of other labels.
        """
        found = ordered(values)
        if order is None:
            return cls(_by_value(found, source))
        lacking = [name for name in found if name not in order]
        unknown = [name for name in order if name not in found]
        if lacking:
            raise DataError(
                f"{source}: the label {lacking[0]!r} is not in the order {listed(order)}; name all labels, "
                f"the lowest first: --label-order {as_option([*order, *lacking])}"
            )
        if unknown:
            raise DataError(
                f"{source}: no row has the label {unknown[0]!r} of the order {listed(order)}; the labels "
                f"are {listed(found)}: leave it out of --label-order, or add rows"
            )
        return cls(order)

    def __repr__(self) -> str:
        return f"OrderedLabels({list(self.names)!r})"


def _by_value(names: Sequence[str], source: Path) -> list[str]:
    """Returns distinct numbers in their order.

    Raises:
        DataError: if one is not a number, or two are the same number.
    """
    other = next((name for name in names if _order(name)[0]), None)
    if other is not None:
        raise DataError(
            f"{source}: the label {other!r} is not a number, so the order of the labels is not known; name "
            f"them, the lowest first: --label-order {as_option(names[:_NAMES])} (in your order)"
        )
    for low, high in pairwise(names):
        if float(low) == float(high):
            raise DataError(
                f"{source}: the labels {low!r} and {high!r} are the same number; write one of them in all "
                "rows"
            )
    return list(names)


def unknown_label(
    unknown: Mapping[int, str], labels: Labels, table: Table | None = None, option: str = ""
) -> str:
    """Says where the first label is that a model does not know, and what to do.

    Args:
        unknown: rows with such a label, as `Labels.unknown` returns them.
        labels: those of the model.
        table: where the rows are from.
        option: the option that leaves such rows out, where a command has one.
    """
    row, label = next(iter(unknown.items()))
    where = f"row {row + 1}" if table is None else f"{table.source}: {place_of(table, row)}"
    alike = "1 such row" if len(unknown) == 1 else f"{len(unknown):,} such rows"
    return (
        f"{where}: unknown label {label!r} ({alike}); the labels are {listed(labels.names)}: write one of "
        f"them, or leave such rows out{option and f': {option}'}"
    )


def with_known_labels(table: Table, labels: Labels) -> Table:
    """Returns the rows whose labels a model knows, with a note on the others.

    Raises:
        DataError: if there is none.
    """
    unknown = labels.unknown(table)
    if not unknown:
        return table
    rows = "1 row" if len(unknown) == 1 else f"{len(unknown):,} rows"
    counts = Counter(unknown.values())
    said = ", ".join(f"{label!r} ({n:,})" for label, n in counts.most_common(_UNKNOWN))
    said += f" and {len(counts) - _UNKNOWN:,} more" if len(counts) > _UNKNOWN else ""
    if len(unknown) == len(table):
        raise DataError(
            f"{table.source}: no row has a label that the run knows: they have {said}; the labels of the run "
            f"are {listed(labels.names)}"
        )
    known = table.take(row for row in range(len(table)) if row not in unknown)
    note = f"{rows} left out, with labels that the run does not know: {said}"
    return replace(known, notes=(*table.notes, note))


def place_of(table: Table, row: int) -> str:
    """Returns where a row is in its file, for a message."""
    if table.lines is not None:
        return f"line {table.lines[row]}"
    return f"row {row + 1 if table.numbers is None else table.numbers[row] + 1}"


def ordered(names: Iterable[str]) -> list[str]:
    """Returns the distinct names in the order of `Labels`."""
    return sorted(set(names), key=_order)


def set_cell(names: Iterable[str]) -> str:
    """Returns a set of labels as in `Table.labels`: a list of JSON, in the order of labels."""
    return json.dumps(ordered(names), ensure_ascii=False)


def as_sets(cells: Iterable[str]) -> list[list[str]]:
    """Returns the names in each cell of `Table.labels` of texts with several labels; "" has no label."""
    return [json.loads(cell) if cell else [] for cell in cells]


def _order(name: str) -> tuple[int, float, str]:
    """Numbers by value, before all other names by spelling."""
    try:
        value = float(name)
    except ValueError:
        return (1, 0.0, name)
    return (0, value, name) if math.isfinite(value) else (1, 0.0, name)


def sentences(table: Table) -> list[str]:
    """Returns the longest text of each group, in the order of the groups; of equals the first.

    A table of phrases names the sentence of each by its group, and the longest phrase is the sentence itself.
    A group of only blank texts has no sentence.

    Raises:
        DataError: if the table has no groups.
    """
    if table.groups is None:
        raise DataError(
            f"{table.source}: no column says which sentence a phrase is of; name it: --group-column NAME"
        )
    longest: dict[str, str] = {}
    for text, group in zip(table.texts, table.groups, strict=True):
        if text.strip() and len(text) > len(longest.get(group, "")):
            longest[group] = text
    return list(longest.values())
