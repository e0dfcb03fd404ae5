"""Duplicates inside a table, and leaks from a training table into another.

Three degrees: letter for letter; folded (`fold`: without
case, spacing, form and invisible characters); near (most word triples shared). Groups, such as the phrases of
one sentence, may repeat themselves: near duplicates count between groups only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .minhash import near_pairs, nearest, sketch
from .normalization import fold
from .table import Table

_EXAMPLES = 5


@dataclass(frozen=True)
class Example:
    """Two rows that are the same or alike."""

    kind: str
    row: int
    other_row: int
    text: str
    other_text: str
    label: str | None = None
    other_label: str | None = None


@dataclass(frozen=True)
class LeakReport:
    """How much of a table was in the training table.

    Attributes:
        n: rows of the table.
        exact: rows whose text is a training text letter for letter.
        folded: rows that are one without case and spacing (those of `exact` among them).
        near: further rows that share most word triples with one; -1 if not looked for.
        conflicts: rows of `folded` whose label no such training row has.
        shared_groups: groups that both have.
        seen: which rows `folded` counts.
        examples: a few of each kind.
    """

    n: int
    exact: int
    folded: int
    near: int
    conflicts: int
    shared_groups: int
    seen: NDArray[np.bool_]
    examples: tuple[Example, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing leaked."""
        return self.folded == 0 and self.near <= 0 and self.shared_groups == 0

    def lines(self, name: str = "the other file") -> list[str]:
        """Returns what to tell the user, one sentence each; none if all is clean."""
        if self.clean:
            return []
        share = f"{100 * self.folded / self.n:.1f} %"
        are = "is a training text" if self.folded == 1 else "are training texts"
        said = f"{self.folded:,} of the {self.n:,} rows of {name} ({share}) {are}"
        rest = ", the rest but for case and spacing" if self.exact < self.folded else ""
        sentences = [f"{said}; {self.exact:,} letter for letter{rest}"] if self.folded else []
        if self.near > 0:
            alike = (
                "row of {} is nearly a training text"
                if self.near == 1
                else "rows of {} are nearly training texts"
            )
            sentences.append(f"{self.near:,} {alike.format(name)}")
        if self.conflicts:
            have = "has" if self.conflicts == 1 else "have"
            sentences.append(f"{self.conflicts:,} of them {have} another label than in training")
        if self.shared_groups:
            groups = "group is" if self.shared_groups == 1 else "groups are"
            sentences.append(f"{self.shared_groups:,} {groups} in both")
        return sentences


def leaks(train: Table, other: Table, *, near: bool = False) -> LeakReport:
    """Finds rows of a table that are training texts.

    Args:
        train: what is trained on.
        other: what is validated or tested on.
        near: look for near duplicates too, which takes seconds.
    """
    exact = set(train.texts)
    first: dict[str, int] = {}
    labels: dict[str, set[str]] = {}
    for row, text in enumerate(train.texts):
        folded = fold(text)
        first.setdefault(folded, row)
        if train.labels is not None:
            labels.setdefault(folded, set()).add(train.labels[row])
    keys = [fold(text) for text in other.texts]
    seen = np.fromiter((key in first for key in keys), dtype=np.bool_, count=len(keys))
    examples = [_example("folded", train, other, first[keys[row]], row) for row in _some(seen)]
    conflicting = [
        row
        for row in np.flatnonzero(seen).tolist()
        if other.labels is not None and labels.get(keys[row]) and other.labels[row] not in labels[keys[row]]
    ]
    examples += [_example("conflict", train, other, first[keys[row]], row) for row in conflicting[:_EXAMPLES]]
    n_near = -1
    if near:
        alike = nearest(sketch(train.texts), sketch(other.texts))
        alike = {row: source for row, source in alike.items() if not seen[row]}
        n_near = len(alike)
        examples += [_example("near", train, other, alike[row], row) for row in sorted(alike)[:_EXAMPLES]]
    return LeakReport(
        n=len(other),
        exact=sum(text in exact for text in other.texts),
        folded=int(seen.sum()),
        near=n_near,
        conflicts=len(conflicting),
        shared_groups=_shared_groups(train, other),
        seen=seen,
        examples=tuple(examples),
    )


def _shared_groups(train: Table, other: Table) -> int:
    # Two files may both number their sentences from 1: only parts of one file share groups.
    if train.groups is None or other.groups is None or train.sha256 != other.sha256:
        return 0
    return len(set(train.groups) & set(other.groups))


def _some(chosen: NDArray[np.bool_]) -> list[int]:
    rows: list[int] = np.flatnonzero(chosen)[:_EXAMPLES].tolist()
    return rows


def _example(kind: str, a: Table, b: Table, row_a: int, row_b: int) -> Example:
    return Example(
        kind,
        row_b,
        row_a,
        b.texts[row_b],
        a.texts[row_a],
        b.labels[row_b] if b.labels is not None else None,
        a.labels[row_a] if a.labels is not None else None,
    )


@dataclass
class DuplicateReport:
    """Rows of one table that repeat others.

    Attributes:
        n: rows.
        exact: rows that repeat an earlier one letter for letter.
        folded: rows that repeat an earlier one except for case and spacing (`exact` among them).
        near: further rows that share most word triples with an earlier one of another group.
        conflicts: texts (folded) that stand with more than one label.
        conflict_rows: rows of those texts.
        empty: rows without text.
        examples: a few of each kind.
    """

    n: int
    exact: int = 0
    folded: int = 0
    near: int = 0
    conflicts: int = 0
    conflict_rows: int = 0
    empty: int = 0
    examples: list[Example] = field(default_factory=list)


def duplicates(table: Table, *, near: bool = True) -> DuplicateReport:
    """Finds rows that repeat others, and texts with two labels."""
    report = DuplicateReport(len(table), empty=sum(not text.strip() for text in table.texts))
    seen: dict[str, int] = {}
    first: dict[str, int] = {}
    rows_of: dict[str, list[int]] = {}
    repeated = np.zeros(len(table), dtype=np.bool_)
    for row, text in enumerate(table.texts):
        key = fold(text)
        if text in seen:
            report.exact += 1
        seen.setdefault(text, row)
        if key in first:
            repeated[row] = True
            report.folded += 1
            if report.folded <= _EXAMPLES:
                report.examples.append(_example("folded", table, table, first[key], row))
        first.setdefault(key, row)
        rows_of.setdefault(key, []).append(row)
    if table.labels is not None:
        _count_conflicts(table, table.labels, rows_of, report)
    if near:
        _count_near(table, repeated, report)
    return report


def _count_conflicts(
    table: Table, labels: Sequence[str], rows_of: dict[str, list[int]], report: DuplicateReport
) -> None:
    for rows in rows_of.values():
        other = next((row for row in rows if labels[row] != labels[rows[0]]), None)
        if other is None:
            continue
        report.conflicts += 1
        report.conflict_rows += len(rows)
        if report.conflicts <= _EXAMPLES:
            report.examples.append(_example("conflict", table, table, rows[0], other))


def _count_near(table: Table, repeated: NDArray[np.bool_], report: DuplicateReport) -> None:
    alike: dict[int, int] = {}
    for earlier, later in near_pairs(sketch(table.texts), table.groups):
        if not repeated[later]:
            alike.setdefault(later, earlier)
    report.near = len(alike)
    for later in sorted(alike)[:_EXAMPLES]:
        report.examples.append(_example("near", table, table, alike[later], later))
