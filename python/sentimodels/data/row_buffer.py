"""`Rows`: the rows that one reader found in one file, before they become a `Table`.

Readers add rows; limits, labels, halves of characters and notes are handled here, for every format alike.
"""

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import compress
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

import numpy as np

from ..errors import DataError, NoRowsError
from .opening import whole_characters
from .table import Table, listed

__all__ = ["CellError", "Sample", "allot", "as_label", "as_list", "as_text", "as_texts", "as_written"]


class Sample:
    """Draws at most `limit` rows of a stream, each label with its share.

    Keeps a reservoir of up to `limit` rows for each label (Vitter 1985, algorithm R), because the shares are
    known only at the end of the file. Memory is at most `limit` rows for each label, however long the file.

    Args:
        limit: rows wanted.
        seed: of the draw.
    """

    def __init__(self, limit: int, seed: int) -> None:
        self.limit = limit
        self.counts: dict[str, int] = {}
        self._slots: dict[str, list[int]] = {}
        self._n_slots = 0
        self._random = Random(seed)

    def slot(self, label: str) -> int | None:
        """Returns where to keep the next row: a new slot, one to overwrite, or `None` for nowhere."""
        count = self.counts[label] = self.counts.get(label, 0) + 1
        slots = self._slots.setdefault(label, [])
        if count <= self.limit:
            slots.append(self._n_slots)
            self._n_slots += 1
            return slots[-1]
        place = self._random.randrange(count)
        return slots[place] if place < self.limit else None

    def chosen(self) -> list[int]:
        """Returns the slots of the sample."""
        shares = allot(self.counts, self.limit)
        return [
            slot for label, n in shares.items() for slot in self._random.sample(sorted(self._slots[label]), n)
        ]

    def note(self) -> str | None:
        """Returns what to say of the draw; `None` if all rows are in it."""
        total = sum(self.counts.values())
        if total <= self.limit:
            return None
        labelled = ", each label with its share" if len(self.counts) > 1 else ""
        note = f"limit: {self.limit:,} rows drawn from {total:,}{labelled}"
        missing = [label for label, n in allot(self.counts, self.limit).items() if n == 0]
        if missing:
            named = ", ".join(f"{label!r} ({self.counts[label]:,})" for label in missing[:5])
            note += f"; too few for {len(missing):,} of the {len(self.counts):,} labels: {named}" + (
                ", ..." if len(missing) > 5 else ""
            )
        return note


def allot(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """Returns how many rows of each label are in a sample.

    Each label has its share, rounded by largest remainder, and at least one row where the limit allows.
    """
    total = sum(counts.values())
    if total <= limit:
        return dict(counts)
    # Frequent labels first, so that rare ones are left out if there are more labels than rows wanted.
    order = sorted(counts, key=lambda label: (-counts[label], label))
    given = {label: int(place < limit) for place, label in enumerate(order)}
    left = limit - sum(given.values())
    rest = {label: counts[label] - given[label] for label in order}
    total = sum(rest.values())
    exact = {label: left * rest[label] / total for label in order}
    for label in order:
        given[label] += int(exact[label])
    remainders = sorted(order, key=lambda label: int(exact[label]) - exact[label])
    for label in remainders[: limit - sum(given.values())]:
        given[label] += 1
    return given


Blank = Literal["error", "drop", "keep"]
_T = TypeVar("_T")
# Rows without label that an error names.
_PLACES = 5
# `label_sets.SetReader`.
_Sets = Callable[[list[str], Callable[[int], str]], tuple[list[str], str, list[str]]]


@dataclass
class Rows:
    """Columns as they grow.

    Attributes:
        path: for messages.
        limit: the first so many rows are wanted, or `None` for all.
        skip: rows left out at the beginning.
        blank: the treatment of a row without label where other rows have one.
        sample: draws rows over the whole file, instead of a limit.
        without: places of rows that are left out as if they were not in the file.
        drop_empty: leave out rows whose text is empty or blank.
        with_lines: keep the line of each row.
        classes: labels name classes; otherwise they are texts, as the targets of a translation.
        to_drop: how the user leaves out rows without label.
        sets: reads the cells of rows with several labels; `None` where a cell is one label.
        label_columns: the columns that hold one label each.
        columns: names of the columns that are read, by role.
        names: names of all columns of the file.
        others: columns that are kept, by name.
        place: number of rows of the file so far, including rows that a condition left out.
        seen: rows so far that fulfil the condition.
    """

    path: Path
    limit: int | None = None
    skip: int = 0
    blank: Blank = "error"
    sample: Sample | None = None
    without: Collection[int] = frozenset()
    drop_empty: bool = False
    with_lines: bool = False
    classes: bool = True
    to_drop: str = "--unlabelled drop"
    sets: _Sets | None = None
    label_columns: tuple[str, ...] = ()
    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    others: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    place: int = 0
    seen: int = 0
    dropped: int = 0
    emptied: int = 0
    # Places of rows without label where that is an error: the first ones, and how many.
    unlabelled: list[str] = field(default_factory=list)
    n_unlabelled: int = 0
    halves: int = 0
    # Each label as the file writes it, with the label it is read as.
    _labels: dict[str, str] = field(default_factory=dict)

    def extend(
        self,
        texts: list[str],
        labels: list[str] | None = None,
        groups: list[str] | None = None,
        ids: list[str] | None = None,
        *,
        kept: Sequence[bool] | None = None,
        line_of: Callable[[int], int] | None = None,
        others: Mapping[str, list[str]] | None = None,
    ) -> bool:
        """Adds rows that follow one another in the file; false when no more are wanted.

        Args:
            texts: a text a row.
            labels: a label a row, as the file writes it.
            groups: a group a row; a row with a blank group forms a separate group.
            ids: an id a row.
            kept: which rows fulfil the condition; all if not given.
            line_of: returns the line of a row, counted from 0 within these; without it rows are counted.
            others: columns to keep, by name.
        """
        n = len(texts)
        begin = self.place
        self.place += n

        def place(row: int) -> str:
            return f"row {begin + row + 1}" if line_of is None else f"line {line_of(row)}"

        def named(cells: list[str], rows: Sequence[int]) -> list[str]:
            try:
                return self._named(cells)
            except CellError as error:
                column = f", column {self.columns['label']!r}" if "label" in self.columns else ""
                raise DataError(f"{self.path}: {place(rows[error.place])}{column}: {error}") from None

        chosen: Sequence[int] = range(n) if kept is None else list(compress(range(n), kept))
        if self.without:
            chosen = [row for row in chosen if begin + row not in self.without]
        before = self.seen
        self.seen += len(chosen)
        if before < self.skip:
            chosen = chosen[self.skip - before :]
        blank = set[str]()
        if labels is not None and self.sets is None:  # a set may be empty
            blank = {label for label in set(labels) if label.strip() in _NO_LABEL}
        if labels is not None and blank and self.blank == "drop":
            filled = [row for row in chosen if labels[row] not in blank]
            self.dropped += len(chosen) - len(filled)
            chosen = filled
        if self.drop_empty:
            filled = [row for row in chosen if texts[row].strip()]
            self.emptied += len(chosen) - len(filled)
            chosen = filled
        more = self.limit is None or len(self.texts) + len(chosen) < self.limit
        if self.limit is not None:
            chosen = chosen[: self.limit - len(self.texts)]
        if labels is not None and blank and self.blank == "error":
            empty = [row for row in chosen if labels[row] in blank]
            self.n_unlabelled += len(empty)
            self.unlabelled += map(place, empty[: max(0, _PLACES - len(self.unlabelled))])
            chosen = [row for row in chosen if labels[row] not in blank]
        slots: list[int] | None = None
        if self.sample is not None:
            strata = [""] * len(chosen)
            if labels is not None:  # of several labels, each set is a stratum
                strata = named([labels[row] for row in chosen], chosen)
            drawn = [self.sample.slot(label) for label in strata]
            chosen = [row for row, slot in zip(chosen, drawn, strict=True) if slot is not None]
            slots = [slot for slot in drawn if slot is not None]
        whole = len(chosen) == n
        if groups is not None and "" in groups:
            groups = [group or f"row {begin + row}" for row, group in enumerate(groups)]
        for column, values in (
            (self.texts, texts),
            (self.labels, labels),
            (self.groups, groups),
            (self.ids, ids),
        ):
            if values is not None:
                picked = values if whole else [values[row] for row in chosen]
                names_classes = column is self.labels and self.classes
                _put(column, named(picked, chosen) if names_classes else self._whole(picked), slots)
        for name, values in (others or {}).items():
            picked = values if whole else [values[row] for row in chosen]
            _put(self.others.setdefault(name, []), self._whole(picked), slots)
        if self.with_lines and line_of is not None:
            _put(self.lines, [line_of(row) for row in chosen], slots)
        _put(self.numbers, range(begin, begin + n) if whole else [begin + row for row in chosen], slots)
        return more

    def _named(self, written: list[str]) -> list[str]:
        """Returns the labels of cells; equal labels are one string.

        Raises:
            CellError: if a cell of classes holds a list, with its place.
        """
        if self.sets is not None:
            return self._whole(written)
        new = [cell for cell in dict.fromkeys(written) if cell not in self._labels]
        for cell in new if self.classes else ():
            if (value := as_list(cell)) is not None:
                error = _not_one_value(value)
                error.place = written.index(cell)
                raise error
        for cell in sorted(new):
            (whole,) = self._whole([cell])
            self._labels[cell] = as_label(whole)
        return [self._labels[cell] for cell in written]

    def _whole(self, cells: list[str]) -> list[str]:
        """Returns cells that UTF-8 can write."""
        whole, halves = whole_cells(cells)
        self.halves += halves
        return whole

    def finish(self, sha256: str, format: str) -> Table:
        """Returns the table.

        Raises:
            DataError: if there is no row, or rows without label are an error.
        """
        if self.n_unlabelled:
            n, places = self.n_unlabelled, ", ".join(self.unlabelled)
            more = ", ..." if n > len(self.unlabelled) else ""
            said = f"{places} has no label" if n == 1 else f"{_rows(n)} have no label ({places}{more})"
            them = "it" if n == 1 else "them"
            raise DataError(
                f"{self.path}: {said}; fill {them} in, or leave {them} out: {self.to_drop}{self._sets_hint()}"
            )
        if not self.texts:
            raise NoRowsError(
                f"{self.path}: no rows" + (f" after the first {self.skip}" if self.skip else "")
            )
        table = Table(
            texts=self.texts,
            labels=self.labels or None,
            groups=self.groups or None,
            ids=self.ids or None,
            source=self.path,
            sha256=sha256,
            format=format,
            numbers=self.numbers,
            lines=self.lines or None,
            columns=self.columns,
            names=self.names,
            kept=self.others,
        )
        notes = list(self.notes)
        if self.skip:
            skipped = min(self.skip, self.seen)
            notes.append(
                "the first row is left out" if skipped == 1 else f"the first {skipped} rows are left out"
            )
        if self.sample is not None:
            # The sample fills slots in any order; the table has the order of the file.
            table = table.take(sorted(self.sample.chosen(), key=self.numbers.__getitem__))
            if (drawn := self.sample.note()) is not None:
                notes.append(drawn)
        table, of_sets = self._as_sets(table)
        notes += of_sets
        if self.dropped:
            notes.append(f"{_rows(self.dropped)} without label left out")
        if self.emptied:
            notes.append(f"{_rows(self.emptied)} with an empty text left out")
        n_empty = table.texts.count("") + sum(map(str.isspace, table.texts))
        if n_empty:
            notes.append(f"{_rows(n_empty)} with an empty text" + ("" if format == "lines" else " kept"))
        if self.halves:
            cells = "1 cell holds" if self.halves == 1 else f"{self.halves:,} cells hold"
            notes.append(f"{cells} half a character (a lone surrogate), read as U+FFFD")
        notes += self._label_notes()
        return replace(table, notes=tuple(notes))

    def _sets_hint(self) -> str:
        """Returns what to say of blank labels next to cells that hold several; "" without such cells."""
        from .label_sets import separators_seen

        if not self.classes or not (seen := separators_seen(self.labels)):
            return ""
        return (
            f"; other labels hold {seen[0]!r}: where rows have several labels or none, train --task "
            f"multilabel, or read them with --label-separator '{seen[0]}'"
        )

    def _as_sets(self, table: Table) -> tuple[Table, list[str]]:
        """Reads the cells of rows with several labels; returns the table with sets, and notes.

        Raises:
            DataError: if a cell cannot be read, or a row has no cell where that is an error.
        """
        if self.sets is None or table.labels is None:
            return table, []
        numbers = table.numbers or range(len(table))
        labels, form, notes = self.sets(table.labels, lambda row: f"row {numbers[row] + 1}")
        table = replace(table, labels=labels, label_form=form, label_columns=self.label_columns)
        unknown = [row for row, label in enumerate(labels) if not label]
        if unknown and self.blank == "error":
            places = ", ".join(f"row {numbers[row] + 1}" for row in unknown[:_PLACES])
            raise DataError(
                f"{self.path}: {_rows(len(unknown))} without labels ({places}"
                f"{', ...' if len(unknown) > _PLACES else ''}); write [] for the empty set (of columns, a 0 "
                f"in each), or leave them out: {self.to_drop}"
            )
        if unknown and self.blank == "drop":
            self.dropped += len(unknown)
            table = table.take(row for row, label in enumerate(labels) if label)
        return table, notes

    def _label_notes(self) -> list[str]:
        """Says which spellings are one label, and which labels look alike."""
        spellings: dict[str, set[str]] = {}
        for written, label in self._labels.items():
            spellings.setdefault(label, set()).add(written.strip())
        notes = [
            f"labels {listed(sorted(written))} are one label, {label!r}"
            for label, written in spellings.items()
            if len(written) > 1
        ]
        alike: dict[str, list[str]] = {}
        for label in spellings:
            alike.setdefault(_appearance(label), []).append(label)
        return notes + [
            f"labels {listed(sorted(labels))} "
            + ("differ in case alone" if len(set(map(str.casefold, labels))) == 1 else "look alike")
            + f" and are {len(labels)} classes"
            for labels in alike.values()
            if len(labels) > 1
        ]


def _appearance(label: str) -> str:
    """Returns the common form of labels that look alike: no case, no width, no invisible characters."""
    plain = unicodedata.normalize("NFKC", label).casefold()
    return " ".join("".join(char for char in plain if unicodedata.category(char) != "Cf").split())


def _put(column: list[_T], values: Iterable[_T], slots: Sequence[int] | None) -> None:
    """Appends values, or writes each to its slot, which is a place of the column or the one after its end."""
    if slots is None:
        column += values
        return
    for slot, value in zip(slots, values, strict=True):
        column[slot : slot + 1] = [value]


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


# A decimal number with digits on both sides of the point. "01.5" and "1e3" may be codes.
_DECIMAL = re.compile(r"(-?)(0|[1-9][0-9]*)\.([0-9]+)")
# Cells of rows without a label: blank, and the null of MySQL.
_NO_LABEL = ("", r"\N")
_TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


class CellError(ValueError):
    """A value that is not one text; `place` is its index."""

    place = 0

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")


def as_text(value: Any) -> str:
    """Returns a value as text: 5.0 as "5", true as "true", nothing (null, NaN) as "".

    `docs/reference/labelled-files.md` shows the table.

    Raises:
        CellError: if it is a list or an object, or bytes that are not UTF-8.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (np.datetime64, np.timedelta64)):
        # As pyarrow and Python write it: 2020-01-01 00:00:00.
        kind = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        return "" if np.isnat(value) else str(value.astype(kind).item())
    if isinstance(value, (int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        # A number of 32 bits is written with the digits of 32 bits: 0.1, not 0.10000000149.
        return "" if np.isnan(value) else _decimal(np.format_float_positional(value, trim="-"))
    if isinstance(value, Decimal):
        return "" if value.is_nan() else _decimal(f"{value:f}")
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CellError(
                f"its bytes are not UTF-8 (byte {error.start})", "write the column as UTF-8 text"
            ) from None
    if isinstance(value, (list, tuple, set, frozenset, dict, np.ndarray)):
        raise _not_one_value(value)
    # pandas writes a missing value as NA or NaT, which equal nothing, themselves included.
    return "" if type(value).__name__ in ("NAType", "NaTType") else str(value)


def _not_one_value(value: Any) -> CellError:
    kind = "an object" if isinstance(value, dict) else "a list"
    return CellError(
        f"{kind}, not one value ({str(value)[:60]})",
        "a text has one class here: write one value a row, or name another column; where labels are lists, "
        "train --task multilabel, or read them with --label-separator json",
    )


def as_list(cell: str) -> Any:
    """Returns the list or object that a cell holds as text of JSON or Python; `None` if it holds neither.

    CSV has no lists, so tools write them so: `["joy", "anger"]`, `['joy']`, `{"choices": ["joy"]}`.
    """
    cell = cell.strip()
    if cell[:1] + cell[-1:] not in ("[]", "{}"):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns of unknown escapes.
                return read(cell)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def as_texts(values: Iterable[Any], *, lists: bool = False) -> list[str]:
    """Returns values as texts; lists as JSON, where they are allowed.

    Raises:
        CellError: as `as_text`, with the place of the value as `place`.
    """
    texts = list(values)
    kinds = set(map(type, texts))
    if kinds <= {str}:
        return texts
    if kinds == {int}:
        return list(map(str, texts))
    for place, value in enumerate(texts):
        if type(value) is not str:
            try:
                texts[place] = _list_text(value) if lists else as_text(value)
            except CellError as error:
                error.place = place
                raise
    return texts


def as_written(value: Any) -> str:
    """Returns any value as text: a list or an object as JSON, bytes that are not UTF-8 as Python writes them.

    For cells that are only carried along.
    """
    if type(value) is str:
        return value
    try:
        return as_text(value)
    except CellError:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return repr(bytes(value))
        value = value.tolist() if isinstance(value, np.ndarray) else value
        return json.dumps(value, ensure_ascii=False, default=str)


def _list_text(value: Any) -> str:
    """Returns a value as text, a list as JSON whose items are texts."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        return json.dumps([as_text(one) for one in value], ensure_ascii=False)
    return as_text(value)


def _decimal(digits: str) -> str:
    """Writes a decimal number without zeros behind its last digit."""
    if "." in digits:
        digits = digits.rstrip("0").removesuffix(".")
    return "0" if digits == "-0" else digits


def as_label(text: str) -> str:
    """Returns the label that a cell holds: trimmed and composed; 1.0 is 1, and True is true.

    >>> [as_label(text) for text in (" pos ", "1.0", "TRUE", "01", "N/A")]
    ['pos', '1', 'true', '01', 'N/A']
    """
    text = unicodedata.normalize("NFC", text.strip())
    if _DECIMAL.fullmatch(text):
        return _decimal(text)
    return _TRUTH.get(text, text)


def whole_cells(cells: list[str]) -> tuple[list[str], int]:
    """Returns cells that UTF-8 can write, and how many held half a character."""
    try:
        "\n".join(cells).encode()
    except UnicodeEncodeError:
        whole = [whole_characters(cell) for cell in cells]
        return whole, sum(cell != one for cell, one in zip(cells, whole, strict=True))
    return cells, 0


def without_breaks(text: str) -> str:
    """Returns the text with `<br />` as spaces."""
    return re.sub(r"(?:\s*<br\s*/?>\s*)+", " ", text)
