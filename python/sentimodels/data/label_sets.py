"""`LabelSets`: the labels of texts that have several of them, or none; and how files write such sets.

A set is written as cells with a separator (`joy|anger`), as lists of JSON or Python, as one column of 0 and 1
for each label, or as several `__label__` in a line of fastText. A `Table` holds it as a list of JSON
(`["anger", "joy"]`), whatever the file: the empty set is `[]`, a row whose labels are not known is "".
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .row_buffer import CellError, as_label, as_list, as_text
from .table import Labels, OrderedLabels, Table, as_sets, ordered, set_cell, unknown_label

__all__ = [
    "JSON",
    "ONE_LABEL",
    "LabelSets",
    "SetReader",
    "SetsAsked",
    "asked_of",
    "cells_of_columns",
    "labels_kind",
    "labels_saved",
    "refuse_sets",
    "separators_seen",
    "set_reader",
]

# Values of `--label-separator` that are not characters: lists, and cells that are one label each.
JSON, ONE_LABEL = "json", "none"
# Separators that tools write between labels, the least ambiguous first.
_SEPARATORS = ("|", ";", ",")
# Cells without anything: blank, and the null of MySQL.
_BLANK = ("", r"\N")
# Values of a column of one label.
_TRUTH = {"0": False, "1": True, "false": False, "true": True}
# Cells or labels that a message shows.
_SHOWN = 3

# From the cells of a file and the place of each to sets, how they were written, and notes.
SetReader = Callable[[list[str], Callable[[int], str]], tuple[list[str], str, list[str]]]


class LabelSets(Labels):
    """Label names of texts that have several or none, in their order; a class index is the place of a name.

    Args:
        names: the names.
        separator: between them in a cell; `JSON` for a list.
    """

    __slots__ = ("separator",)

    several = True

    def __init__(self, names: Sequence[str], separator: str = JSON) -> None:
        super().__init__(names)
        self.separator = separator

    @classmethod
    def of_sets(cls, cells: Iterable[str], separator: str = JSON) -> "LabelSets":
        """Returns the distinct labels of sets, as a `Table` holds them.

        Raises:
            DataError: if all sets are empty.
        """
        names = ordered(chain.from_iterable(as_sets(set(cells) - {""})))
        if not names:
            raise DataError("every row has the empty set of labels; train on rows that have some")
        return cls(names, separator)

    def encode(self, values: Iterable[str]) -> NDArray[np.int64]:
        """Returns which labels each set holds, `(n, n_labels)` of 0 and 1; -1 where labels are not known.

        Raises:
            DataError: if one holds an unknown label, naming the first.
        """
        given = list(values)
        if unknown := self._unknown(given):
            raise DataError(unknown_label(unknown, self))
        return self._encoded(given)

    def classes(self, table: Table) -> NDArray[np.int64]:
        """Returns which labels each row of a table has, `(n, n_labels)`; -1 where it is not known.

        Raises:
            DataError: if a label is unknown, with the place of the first such row.
        """
        values = _cells(table)
        if unknown := self._unknown(values):
            raise DataError(unknown_label(unknown, self, table))
        return self._encoded(values)

    def unknown(self, table: Table) -> dict[int, str]:
        """Returns the rows of a table with a label that is not one of these, and the first such label."""
        return self._unknown(_cells(table))

    def _unknown(self, values: list[str]) -> dict[int, str]:
        distinct = dict.fromkeys(values)
        wrong: dict[str, str] = {}
        for cell, names in zip(distinct, as_sets(distinct), strict=True):
            if lacking := [name for name in names if name not in self._index]:
                wrong[cell] = lacking[0]
        return {row: wrong[cell] for row, cell in enumerate(values) if cell in wrong}

    def _encoded(self, values: list[str]) -> NDArray[np.int64]:
        distinct = dict.fromkeys(values)
        known = {
            cell: [self._index[name] for name in names]
            for cell, names in zip(distinct, as_sets(distinct), strict=True)
        }
        found = np.zeros((len(values), len(self)), dtype=np.int64)
        for row, cell in enumerate(values):
            if cell:
                found[row, known[cell]] = 1
            else:
                found[row] = -1
        return found

    def value(self, answer: Any) -> str | list[str]:
        """Returns the names of the labels that an answer (n_labels,) of 0 and 1 holds."""
        return [name for name, there in zip(self.names, answer, strict=True) if there]

    def cell(self, answer: Any) -> str:
        """Returns a set as the training file writes it."""
        names = self.value(answer)
        return set_cell(names) if self.separator == JSON else self.separator.join(names)

    def shown(self, answer: Any) -> str:
        """Returns a set for people."""
        return ", ".join(self.value(answer)) or "no label"

    def counts(self, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns how many rows (n, n_labels) have each label."""
        counts: NDArray[np.int64] = (truth == 1).sum(axis=0)
        return counts

    def __repr__(self) -> str:
        return f"LabelSets({list(self.names)!r}, {self.separator!r})"


def _cells(table: Table) -> list[str]:
    """Returns the labels of each row as a list of JSON, also of a file with one label a row."""
    if table.labels is None:
        return [""] * len(table)
    if table.label_form is not None:
        return table.labels
    return [set_cell([label]) if label else "" for label in table.labels]


def labels_kind(saved: Mapping[str, Any]) -> Labels:
    """Returns the labels that `labels_saved` has written."""
    if saved.get("ordered"):
        return OrderedLabels(saved["labels"])
    separator = saved.get("separator")
    return Labels(saved["labels"]) if separator is None else LabelSets(saved["labels"], separator)


def labels_saved(labels: Labels) -> dict[str, Any]:
    """Returns labels as JSON values: names, and the separator of several labels, or an order."""
    saved: dict[str, Any] = {"labels": list(labels.names)}
    if isinstance(labels, LabelSets):
        saved["separator"] = labels.separator
    return saved | ({"ordered": True} if labels.ordered else {})


@dataclass(frozen=True)
class SetsAsked:
    """How rows of several labels are read.

    Attributes:
        separator: between the labels of a cell, `JSON` for lists; `None` to recognise it.
        columns: a column of 0 and 1 for each label.
        usual: how the file was written that a model was trained on.
        usual_columns: its columns, which are read where a file has them all.
    """

    separator: str | None = None
    columns: tuple[str, ...] = ()
    usual: str | None = None
    usual_columns: tuple[str, ...] = ()


def asked_of(
    several: bool, separator: str | None, columns: Sequence[str], like: Mapping[str, str]
) -> SetsAsked | None:
    """Returns how to read label sets, from the options and how an earlier file was read; `None` of one label.

    Raises:
        DataError: if both a separator and columns are named, or a separator cannot be one.
    """
    if separator is not None and columns:
        raise DataError(
            f"label separator {separator!r} and label columns {', '.join(columns)}: labels are in one column "
            "or in a column each; leave one out"
        )
    named = separator in (None, JSON, ONE_LABEL, "\t", " ")
    if not named and (not str(separator).strip() or str(separator).isalnum()):
        raise DataError(
            f"label separator {separator!r}: expected a character between labels, such as '|', json for "
            "lists, or none where a cell is one label"
        )
    if len(set(columns)) < len(columns):
        raise DataError(f"label columns {', '.join(columns)}: one is named twice")
    if separator == ONE_LABEL:
        return None
    if not (several or separator or columns or "label_form" in like):
        return None
    before = tuple(json.loads(like["label_columns"])) if "label_columns" in like else ()
    return SetsAsked(separator, tuple(columns), like.get("label_form"), before)


def parts_of(cell: str) -> list[str]:
    """Returns the possible labels in a cell of a sample, to distinguish labels from other columns."""
    value = as_list(cell)
    if isinstance(value, list):
        return [str(one) for one in value]
    separator = next((one for one in _SEPARATORS if one in cell), None)
    return [cell] if separator is None else cell.split(separator)


def separators_seen(values: Iterable[str]) -> list[str]:
    """Returns separators that some values hold between parts, each of which another value has too.

    `joy|anger` next to `joy` and `anger|fear` is two labels. Of `Sports|Football` and `Sports|Tennis` no
    value is seen apart, and 1,5 next to 1 and 5 may be a number.
    """
    distinct, seen = set(values), []
    for separator in _SEPARATORS:
        parts = {value: {part.strip() for part in value.split(separator)} for value in distinct}
        joined = [value for value, some in parts.items() if separator in value and len(some) > 1]
        if not joined or _decimals(joined, separator):
            continue
        in_values: dict[str, int] = {}
        for part in chain.from_iterable(parts.values()):
            in_values[part] = in_values.get(part, 0) + 1
        if any(all(part and in_values[part] > 1 for part in parts[value]) for value in joined):
            seen.append(separator)
    return seen


def _decimals(values: Sequence[str], separator: str) -> bool:
    """Whether values are numbers with a decimal comma, such as 1,5 and 2,5."""
    ends = {value.rpartition(separator)[2].strip() for value in values}
    numbers = all(value.replace(separator, "", 1).strip().isdecimal() for value in values)
    return separator == "," and numbers and ends <= {"0", "00", "5", "50", "25", "75"}


def refuse_sets(labels: Iterable[str], source: Path) -> None:
    """Refuses labels of a task of one label that look like several with a separator.

    Raises:
        DataError: naming both ways to read them.
    """
    distinct = dict.fromkeys(labels)
    seen = separators_seen(distinct)
    if not seen:
        return
    example = next(label for label in distinct if separators_seen([label, *label.split(seen[0])]))
    raise DataError(
        f"{source}: the label {example!r} holds {seen[0]!r} between other labels; to train on several labels "
        f"a text: --task multilabel --label-separator '{seen[0]}'; if it is one label: --label-separator none"
    )


def cells_of_columns(columns: Mapping[str, list[str]], place: Callable[[int], str], path: Path) -> list[str]:
    """Returns the sets that columns of 0 and 1 hold; "" where all cells of a row are blank.

    Raises:
        DataError: if a cell is neither, naming its place.
    """
    names = list(columns)
    labels = [as_label(name) for name in names]
    sets = []
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        if all(cell.strip() in _BLANK for cell in cells):
            sets.append("")
            continue
        there = [_TRUTH.get(as_label(cell)) for cell in cells]
        if None in there:
            at = there.index(None)
            raise DataError(
                f"{path}: {place(row)}, column {names[at]!r}: {cells[at]!r}: expected 0 or 1 (or true, "
                "false) in a column of one label"
            )
        sets.append(set_cell([label for label, one in zip(labels, there, strict=True) if one]))
    return sets


def set_reader(asked: SetsAsked, path: Path) -> SetReader:
    """Returns a function that reads the cells of a file as sets."""

    def read(cells: list[str], place: Callable[[int], str]) -> tuple[list[str], str, list[str]]:
        distinct = list(dict.fromkeys(cell for cell in cells if cell.strip() not in _BLANK))
        form, how = _form_of(distinct, asked, path, lambda cell: place(cells.index(cell)))
        known: dict[str, str] = {}
        for cell in distinct:
            try:
                known[cell] = set_cell(_parts(cell, form, asked.separator))
            except CellError as error:
                raise DataError(f"{path}: {place(cells.index(cell))}: {error}") from None
        # A list has its own empty set; between separators nothing else can be one.
        empty = "" if form == JSON else "[]"
        sets = [known.get(cell, empty) for cell in cells]
        return sets, form, _notes(sets, cells, form, how)

    return read


def _form_of(
    distinct: Sequence[str], asked: SetsAsked, path: Path, place: Callable[[str], str]
) -> tuple[str, str]:
    """Returns how the cells are written, and how that is said."""
    lists = [cell for cell in distinct if isinstance(as_list(cell), list)]
    wanted = asked.separator
    if wanted not in (None, JSON) and not (lists and len(lists) == len(distinct)):
        return str(wanted), f"separated by {wanted!r}"
    if (lists and len(lists) < len(distinct)) or (wanted == JSON and not lists and distinct):
        other = next(cell for cell in distinct if not isinstance(as_list(cell), list))
        raise DataError(
            f'{path}: {place(other)}: {other[:60]!r} is not a list, as other labels are; write ["joy"], or '
            "name the separator of labels: --label-separator CHAR"
        )
    if lists or wanted == JSON:
        return JSON, "written as lists"
    if asked.usual not in (None, JSON):
        return str(asked.usual), f"separated by {asked.usual!r}"
    seen = separators_seen(distinct)
    if not seen:  # such as one pair of labels, of which neither is seen alone
        seen = [one for one in _SEPARATORS if any(one in cell for cell in distinct)]
    if len(seen) > 1:
        raise DataError(
            f"{path}: labels may be separated by {' or by '.join(map(repr, seen))}; name it: "
            "--label-separator CHAR"
        )
    return (seen[0], f"separated by {seen[0]!r}") if seen else (_SEPARATORS[0], "one in each cell")


def _parts(cell: str, form: str, asked: str | None) -> list[str]:
    """Returns the labels of a cell.

    Raises:
        CellError: if one is empty, is not one value, or holds the separator.
    """
    value = as_list(cell)
    if form == JSON or isinstance(value, list):
        if not isinstance(value, list):
            raise CellError(f"{cell[:60]!r}", 'expected a list of labels, as in ["joy", "anger"]')
        names = [as_label(as_text(one)) for one in value]
        held = None if asked in (None, JSON) else next((name for name in names if str(asked) in name), None)
        if held is not None:
            raise CellError(
                f"the label {held!r} holds the separator {asked!r}",
                "leave out --label-separator, as labels are lists here, or rename the label",
            )
    else:
        names = [as_label(part) for part in cell.split(form)]
    if "" in names:
        raise CellError(
            f"{cell[:60]!r} has an empty label" + ("" if form == JSON else f" next to {form!r}"),
            'write each label once; if the separator is part of a label, write lists: ["joy", "anger"]',
        )
    return names


def _notes(sets: Sequence[str], cells: Sequence[str], form: str, how: str) -> list[str]:
    """Returns what to say of the sets: how they are written, how many labels a row has, which are empty."""
    found = as_sets(sets)
    n_labels, n_rows = len(set(chain.from_iterable(found))), len(sets)
    mean = sum(map(len, found)) / max(1, n_rows)
    notes = [f"several labels a row, {how}: {n_labels:,} labels, {mean:.2f} a row"]
    n_blank = sum(cell.strip() in _BLANK for cell in cells) if form != JSON else 0
    n_empty = sets.count("[]")
    if n_empty:
        rows = "1 row has" if n_empty == 1 else f"{n_empty:,} rows have"
        why = " (their cell is blank)" if n_blank == n_empty else ""
        notes.append(f"{rows} no label: the empty set{why}")
    return notes
