"""`Rows`: what one reader found in one file, before it becomes a `Table`.

Readers add rows; limits, labels, halves of characters and notes are handled here, for every format alike.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Literal, TypeVar

from ..errors import DataError
from .cells import as_label
from .opening import whole_characters
from .sample import Sample
from .table import Table

Blank = Literal["error", "drop", "keep"]
_T = TypeVar("_T")
# Rows without label that an error names.
_PLACES = 5


@dataclass
class Rows:
    """Columns as they grow.

    Attributes:
        path: for messages.
        limit: the first so many rows are wanted, or `None` for all.
        skip: rows left out at the beginning.
        blank: what becomes of a row without label where other rows have one.
        sample: what draws rows over the whole file, instead of a limit.
        without: places of rows that are left out as if they were not in the file.
        drop_empty: leave out rows whose text is empty or blank.
        with_lines: keep the line of each row.
        classes: labels name classes; otherwise they are texts, as the targets of a translation.
        columns: names of the columns that are read, by role.
        others: columns that are kept, by name.
        place: rows of the file so far, those that a condition left out included.
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
    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
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
    # Each label as the file writes it, with what it is read as.
    _labels: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        text: str,
        label: str | None = None,
        group: str | None = None,
        id: str | None = None,
        *,
        line: int | None = None,
    ) -> bool:
        """Adds a row; false when no more are wanted."""
        return self.extend(
            [text],
            None if label is None else [label],
            None if group is None else [group],
            None if id is None else [id],
            line_of=None if line is None else lambda _: line,
        )

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
            groups: a group a row; one that is blank is a group of its own.
            ids: an id a row.
            kept: which rows fulfil the condition; all if not given.
            line_of: returns the line of a row, counted from 0 within these; without it rows are counted.
            others: columns to keep, by name.
        """
        n = len(texts)
        begin = self.place
        self.place += n
        chosen: Sequence[int] = range(n) if kept is None else list(compress(range(n), kept))
        if self.without:
            chosen = [row for row in chosen if begin + row not in self.without]
        before = self.seen
        self.seen += len(chosen)
        if before < self.skip:
            chosen = chosen[self.skip - before :]
        blank = set() if labels is None else {label for label in set(labels) if not label.strip()}
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
            self.unlabelled += [
                f"row {begin + row + 1}" if line_of is None else f"line {line_of(row)}"
                for row in empty[: max(0, _PLACES - len(self.unlabelled))]
            ]
            chosen = [row for row in chosen if labels[row] not in blank]
        slots: list[int] | None = None
        if self.sample is not None:
            strata = [""] * len(chosen) if labels is None else self._named([labels[row] for row in chosen])
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
                named = column is self.labels and self.classes
                _put(column, self._named(picked) if named else self._whole(picked), slots)
        for name, values in (others or {}).items():
            picked = values if whole else [values[row] for row in chosen]
            _put(self.others.setdefault(name, []), self._whole(picked), slots)
        if self.with_lines and line_of is not None:
            _put(self.lines, [line_of(row) for row in chosen], slots)
        _put(self.numbers, range(begin, begin + n) if whole else [begin + row for row in chosen], slots)
        return more

    def _named(self, written: list[str]) -> list[str]:
        """Returns the labels of cells; equal labels are one string."""
        for cell in sorted(set(written) - self._labels.keys()):
            (whole,) = self._whole([cell])
            self._labels[cell] = as_label(whole)
        return [self._labels[cell] for cell in written]

    def _whole(self, cells: list[str]) -> list[str]:
        """Returns cells that UTF-8 can write."""
        try:
            "\n".join(cells).encode()
        except UnicodeEncodeError:
            whole = [whole_characters(cell) for cell in cells]
            self.halves += sum(cell != one for cell, one in zip(cells, whole, strict=True))
            return whole
        return cells

    def pass_over(self) -> None:
        """Counts a row that is none for the table."""
        self.place += 1

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
            raise DataError(f"{self.path}: {said}; fill {them} in, or leave {them} out: --unlabelled drop")
        if not self.texts:
            raise DataError(f"{self.path}: no rows" + (f" after the first {self.skip}" if self.skip else ""))
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

    def _label_notes(self) -> list[str]:
        """Says which spellings are one label, and which labels differ in case alone."""
        spellings: dict[str, set[str]] = {}
        for written, label in self._labels.items():
            spellings.setdefault(label, set()).add(written.strip())
        notes = [
            f"labels {listed(sorted(written))} are one label, {label!r}"
            for label, written in spellings.items()
            if len(written) > 1
        ]
        cases: dict[str, list[str]] = {}
        for label in spellings:
            cases.setdefault(label.casefold(), []).append(label)
        return notes + [
            f"labels {listed(sorted(labels))} differ in case alone and are {len(labels)} classes"
            for labels in cases.values()
            if len(labels) > 1
        ]


def _put(column: list[_T], values: Iterable[_T], slots: Sequence[int] | None) -> None:
    """Appends values, or writes each to its slot, which is a place of the column or the one after its end."""
    if slots is None:
        column += values
        return
    for slot, value in zip(slots, values, strict=True):
        column[slot : slot + 1] = [value]


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def listed(names: Sequence[str]) -> str:
    """Writes names for a message."""
    return ", ".join(repr(name) for name in names)
