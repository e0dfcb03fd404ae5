"""`Rows`: what one reader found in one file, before it becomes a `Table`.

Not for callers of the package. Readers append rows; limits, blank labels and
notes on empty texts are handled in one place, `Rows.add` and `Rows.finish`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..errors import DataError
from .table import Table

Blank = Literal["error", "drop", "keep"]

# How tables write that there is no label, whatever the case. "NA" and "none" may be labels.
_MISSING = frozenset(("", "nan", "n/a", "#n/a", "<na>"))


@dataclass
class Rows:
    """Columns as they grow.

    Attributes:
        path: for messages.
        limit: rows wanted, or `None` for all.
        skip: rows left out at the beginning.
        blank: what becomes of a row without label where other rows have one.
        place: rows of the file so far, those that a condition left out included.
    """

    path: Path
    limit: int | None = None
    skip: int = 0
    blank: Blank = "error"
    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    place: int = 0
    seen: int = 0
    dropped: int = 0

    def add(
        self,
        text: str,
        label: str | None = None,
        group: str | None = None,
        id: str | None = None,
        *,
        line: int | None = None,
    ) -> bool:
        """Adds a row; false when no more are wanted.

        Raises:
            DataError: if the label is blank and that is an error.
        """
        number = self.place
        self.place += 1
        self.seen += 1
        if self.seen <= self.skip:
            return True
        if label is not None and label.lower() in _MISSING and self.blank != "keep":
            if self.blank == "error":
                place = f"line {line}" if line is not None else f"row {self.seen}"
                written = f" ({label!r})" if label else ""
                raise DataError(f"{self.path}: {place} has no label{written}; fill it in or drop the row")
            self.dropped += 1
            return True
        self.texts.append(text)
        self.numbers.append(number)
        for column, value in ((self.labels, label), (self.groups, group), (self.ids, id)):
            if value is not None:
                column.append(value)
        return self.limit is None or len(self.texts) < self.limit

    def pass_over(self) -> None:
        """Counts a row that a condition leaves out."""
        self.place += 1

    def finish(self, sha256: str, format: str) -> Table:
        """Returns the table.

        Raises:
            DataError: if there is no row.
        """
        if not self.texts:
            raise DataError(f"{self.path}: no rows" + (f" after the first {self.skip}" if self.skip else ""))
        notes = list(self.notes)
        if self.skip:
            skipped = min(self.skip, self.seen)
            notes.append(
                "the first row is left out" if skipped == 1 else f"the first {skipped} rows are left out"
            )
        if self.dropped:
            notes.append(f"{_rows(self.dropped)} without label left out")
        n_empty = sum(not text.strip() for text in self.texts)
        if n_empty:
            notes.append(f"{_rows(n_empty)} with an empty text kept")
        return Table(
            texts=self.texts,
            labels=self.labels or None,
            groups=self.groups or None,
            ids=self.ids or None,
            source=self.path,
            sha256=sha256,
            format=format,
            notes=tuple(notes),
            numbers=self.numbers,
        )


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def listed(names: Sequence[str]) -> str:
    """Writes names for an error message."""
    return ", ".join(repr(name) for name in names)
