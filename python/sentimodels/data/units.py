"""`Units`: which rows one part must hold together, because they are of one group or copies of a text.

Copies are texts that are equal except for case, spacing and punctuation (`copy_key`), or nearly equal
(`minhash.py`). Being nearly equal is not transitive, so a chain of such texts may run through a whole
file, as through one made of templates. A chain that is longer than a part is taken apart again; what is
equal stays together. Groups are joined only by texts that are equal except for case and spacing, because
the phrases of two sentences may well be alike. Time is linear in the words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .folding import copy_key, fold
from .minhash import near_pairs, sketch
from .table import Table

__all__ = ["NEAR_AT_MOST", "Units"]

# Near duplicates of so many short texts are found in seconds; training should not wait longer.
NEAR_AT_MOST = 200_000
# A chain of so few rows is never taken apart, however small the parts are.
_SHORT = 10


@dataclass(frozen=True)
class Units:
    """The unit of each row.

    Attributes:
        of_row: a number for each row; rows of one unit have the same.
        copied: rows whose text another row of the unit repeats, nearly or quite.
        notes: what to say of texts that could not be kept together.
    """

    of_row: NDArray[np.int64]
    copied: NDArray[np.bool_]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(np.unique(self.of_row))

    def rows(self) -> list[list[int]]:
        """Returns the rows of each unit, in the order of the units' first rows."""
        units: dict[int, list[int]] = {}
        for row, unit in enumerate(self.of_row.tolist()):
            units.setdefault(unit, []).append(row)
        return list(units.values())

    def take(self, rows: Iterable[int]) -> "Units":
        """Returns the units of these rows."""
        chosen = np.fromiter(rows, dtype=np.int64)
        return replace(self, of_row=self.of_row[chosen], copied=self.copied[chosen])

    def most_of_a_label(self, labels: Sequence[str] | None) -> int:
        """Returns how many units the label has that is in most; without labels, how many there are."""
        label = np.zeros(len(self.of_row), dtype=np.int64) if labels is None else _first_like(labels)
        return int(_units_of_label(label, self.of_row).max())

    def halves(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which rows are in the first half: every other unit of those that begin with one label."""
        n_seen: dict[int, int] = {}
        of_unit: dict[int, bool] = {}
        for unit, label in zip(self.of_row.tolist(), labels.tolist(), strict=True):
            if unit not in of_unit:
                place = n_seen.get(label, 0)
                n_seen[label] = place + 1
                of_unit[unit] = (place + label) % 2 == 0
        return np.array([of_unit[unit] for unit in self.of_row.tolist()], dtype=np.bool_)

    @staticmethod
    def of_groups(n: int, groups: Sequence[str] | None) -> "Units":
        """Returns the groups as units; without groups each of the `n` rows."""
        of_row = np.arange(n) if groups is None else _first_like(groups)
        return Units(of_row, np.zeros(n, dtype=np.bool_))

    @staticmethod
    def of(table: Table, smallest: float, n_parts: int, groups: Sequence[str] | None = None) -> "Units":
        """Returns groups and copies as units.

        Args:
            table: the rows.
            smallest: share of the rows that the smallest part holds.
            n_parts: parts that each label should be in.
            groups: a group for each row, instead of the table's.
        """
        groups = table.groups if groups is None else groups
        longest = max(_SHORT, int(smallest * len(table)))
        if groups is not None:
            return _of_groups_and_texts(table, groups, longest)
        n, by_text = len(table), _first_like([copy_key(text) for text in table.texts])
        copied = np.bincount(by_text, minlength=n)[by_text] > 1
        if n > NEAR_AT_MOST:
            note = (
                f"nearly equal texts were not looked for, because there are more than {NEAR_AT_MOST:,} rows; "
                "equal ones are kept in one part"
            )
            return Units(by_text, copied, (note,))
        near = _near_edges(table, by_text)
        chains = _joined(by_text, near)
        long = _too_long(table, by_text, chains, longest, n_parts)
        of_row = np.where(long, by_text, chains + n)
        alike = np.zeros(n, dtype=np.bool_)
        # The first row of each text stands for all of them.
        alike[near[of_row[near[:, 0]] == of_row[near[:, 1]]].ravel()] = True
        note = (
            f"{int(long.sum()):,} of {n:,} rows hang together by nearly equal texts, too many for one part: "
            "only equal texts among them are kept together"
        )
        return Units(of_row, copied | alike[by_text], (note,) if long.any() else ())


def _of_groups_and_texts(table: Table, groups: Sequence[str], longest: int) -> Units:
    n, alone = len(table), Units.of_groups(len(table), groups)
    by_text = _first_like([fold(text) for text in table.texts])
    of_row = _joined(alone.of_row, _edges(by_text))
    tied = int(np.bincount(of_row).max())
    if tied > max(longest, int(np.bincount(alone.of_row).max())):
        note = (
            f"groups share so many texts that {tied:,} of {n:,} rows would be in one part: each group is "
            "kept together, but its texts may be in other parts too"
        )
        return replace(alone, notes=(note,))
    # Rows of a group that repeats a text within itself are together already.
    others = np.zeros(n, dtype=np.bool_)
    others[by_text[alone.of_row != alone.of_row[by_text]]] = True
    return Units(of_row, others[by_text])


def _first_like(values: Sequence[str]) -> NDArray[np.int64]:
    """Returns for each value the place of the first one that is equal."""
    first: dict[str, int] = {}
    return np.fromiter(
        (first.setdefault(value, place) for place, value in enumerate(values)), np.int64, len(values)
    )


def _edges(first: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([first, np.arange(len(first))], 1)


def _near_edges(table: Table, by_text: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns pairs of rows whose texts are nearly equal, `(n, 2)`; of equal texts the first row."""
    rows = np.unique(by_text)
    pairs = list(near_pairs(sketch([table.texts[row] for row in rows.tolist()])))
    return rows[np.array(pairs, dtype=np.int64).reshape(-1, 2)]


def _joined(units: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns larger units: those that an edge between their rows joins."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(units.max()) + 1 if len(units) else 0
    ends = units[edges]
    graph = coo_array((np.ones(len(ends), dtype=np.bool_), (ends[:, 0], ends[:, 1])), shape=(n, n))
    component: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return component[units]


def _too_long(
    table: Table, base: NDArray[np.int64], chains: NDArray[np.int64], longest: int, n_parts: int
) -> NDArray[np.bool_]:
    """Returns which rows are in a chain that no part can hold; all chains if they leave nothing to divide."""
    sizes, largest = np.bincount(chains), np.zeros(int(chains.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, chains, np.bincount(base)[base])
    long = (sizes > largest) & (sizes > longest)
    labels = np.zeros(len(base), dtype=np.int64) if table.labels is None else _first_like(table.labels)
    units = np.where(long[chains], base, chains + len(base))
    if _units_of_label(labels, units).max() < n_parts <= _units_of_label(labels, base).max():
        long = sizes > largest
    return long[chains]


def _units_of_label(label: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns for each label how many units it is in."""
    width = int(units.max()) + 1
    return np.bincount(np.unique(label * width + units) // width)
