"""`split`: divides a table into parts, so that no group and no text is in two of them.

By group or by row, stratified on the label of each group's longest text, it is scikit-learn's
`train_test_split`; by group with shares 0.8 and 0.2 and seed 42 it gives the 6,823 and 1,706 sentences of
the Kaggle phrases. By hash it needs no seed and stays the same when rows are added. Texts with several labels
are stratified on all of them (`stratified`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .leaks import near_pairs, sketch
from .normalization import copy_key, fold, text_hash
from .table import Table, ordered

__all__ = [
    "NEAR_AT_MOST",
    "By",
    "Units",
    "count_of",
    "divide",
    "folds",
    "labels_not_in_each",
    "split",
    "stratified",
    "stratum_of",
]

# Near duplicates of so many short texts are found in seconds; training should not wait longer.
NEAR_AT_MOST = 200_000
# A chain of so few rows is never taken apart, however small the parts are.
_SHORT = 10


@dataclass(frozen=True)
class Units:
    """The unit of each row.

    Copies are texts that are equal except for case, spacing and punctuation (`copy_key`), or nearly
    equal (`leaks.py`). Being nearly equal is not transitive, so a chain of such texts may run through
    a whole file, as through one made of templates. A chain that is longer than a part is taken apart
    again; equal texts stay together. Groups are joined only by texts that are equal except for case
    and spacing, because the phrases of two sentences may well be alike. Time is linear in the words.

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
        """Returns which rows are in the first half: every other unit whose first row has one label.

        Of texts with several labels, `(n, n_labels)`, each half has its share of each.
        """
        if labels.ndim == 2:
            names, of_row = np.unique(self.of_row, return_inverse=True)
            there = np.zeros((len(names), labels.shape[1]), dtype=np.int64)
            np.maximum.at(there, of_row, labels)
            first: NDArray[np.bool_] = (stratified(there, (0.5, 0.5), 0) == 0)[of_row]
            return first
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
        # The first row of each text represents all of them.
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
    """Returns larger units: units with an edge between their rows are joined."""
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


_NOT_STRATIFIED = "too few rows to keep the shares of the labels in each part"

By = Literal["copies", "group", "hash", "row"]


def split(
    table: Table,
    shares: Mapping[str, float] | Sequence[float] = (0.8, 0.2),
    seed: int = 42,
    group: Sequence[str] | None = None,
    stratify: bool = True,
    by: By | None = None,
) -> dict[str, Table]:
    """Divides a table.

    Args:
        table: the rows.
        shares: of each part by name; two or three numbers are train, valid, test.
        seed: of the shuffle; by hash there is none.
        group: a group for each row, instead of the table's.
        stratify: keep the shares of the labels; not by hash.
        by: `copies` (the default) keeps rows of one group, and equal or nearly equal texts, together;
            `group` only groups; `hash` decides by the text without case; `row` takes each row alone.

    Raises:
        DataError: if a share is not above 0, a part would be empty, or groups are missing.
    """
    shares = _named(shares)
    groups = table.groups if group is None else list(group)
    if groups is not None and len(groups) != len(table):
        raise DataError(f"{len(table)} rows, but {len(groups)} groups")
    if by == "group" and groups is None:
        raise DataError(f"{table.source}: no groups; name their column with --group-column")
    notes: list[str] = []
    if by == "hash":
        parts = _by_hash(table, shares)
    else:
        parts, notes = divide(table, _units(table, shares, by, groups), shares, seed, stratify)
    for name, rows in parts.items():
        if not rows:
            raise DataError(
                f"{table.source}: {len(table)} rows leave none for {name}; give it a bigger share"
            )
    return {name: replace(table.take(rows), notes=(*table.notes, *notes)) for name, rows in parts.items()}


def divide(
    table: Table, units: Units, shares: Mapping[str, float], seed: int, stratify: bool = True
) -> tuple[dict[str, list[int]], list[str]]:
    """Returns the rows of each part, in the order of the table, and what to say of them.

    Args:
        table: the rows.
        units: which rows stay together.
        shares: of each part by name; they add up to 1.
        seed: of the shuffle.
        stratify: keep the shares of the labels.

    Raises:
        DataError: if there are fewer units than parts.
    """
    notes = list(units.notes)
    parts = _by_units(table, units, shares, seed, stratify, notes)
    if stratify and table.labels is not None:
        names = table.names_of_rows()
        counts = Counter(chain.from_iterable(names))
        for name, rows in parts.items():
            if missing := sorted(set(counts).difference(*(names[row] for row in rows))):
                notes.append(f"no row in {name} for the label {count_of(counts, missing)}")
    return parts, notes


def _units(table: Table, shares: Mapping[str, float], by: By | None, groups: Sequence[str] | None) -> Units:
    if by == "row":
        return Units.of_groups(len(table), None)
    if by == "group":
        return Units.of_groups(len(table), groups)
    return Units.of(table, min(shares.values()), len(shares), groups)


def _named(shares: Mapping[str, float] | Sequence[float]) -> dict[str, float]:
    if not isinstance(shares, Mapping):
        if not 2 <= len(shares) <= 3:
            raise DataError(f"{len(shares)} shares: two (train, valid) or three (train, valid, test)")
        shares = dict(zip(("train", "valid", "test"), shares, strict=False))
    total = sum(shares.values())
    if len(shares) < 2 or any(not share > 0 for share in shares.values()):
        raise DataError(f"shares {dict(shares)}: at least two, each above 0")
    if abs(total - 1) > 1e-6:
        raise DataError(f"shares {dict(shares)} add up to {total:g}, not 1")
    return dict(shares)


def _by_hash(table: Table, shares: dict[str, float]) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {name: [] for name in shares}
    names = list(shares)
    for row, text in enumerate(table.texts):
        place = text_hash(fold(text)) / 2**64
        part = 0
        while part < len(names) - 1 and place >= shares[names[part]]:
            place -= shares[names[part]]
            part += 1
        parts[names[part]].append(row)
    return parts


def stratum_of(table: Table, unit: list[int]) -> str:
    """Returns the label of a unit's longest text; "" where there are no labels."""
    return "" if table.labels is None else table.labels[max(unit, key=lambda row: len(table.texts[row]))]


def count_of(counts: Mapping[str, int], labels: Sequence[str], most: int = 5) -> str:
    """Writes labels with their rows, as `'pos' (3 rows), 'neg' (1 row)`."""
    said = [f"{label!r} ({counts[label]:,} row{'s' * (counts[label] != 1)})" for label in labels[:most]]
    return ", ".join(said) + (f" and {len(labels) - most:,} more" if len(labels) > most else "")


def _by_units(
    table: Table, units: Units, shares: Mapping[str, float], seed: int, stratify: bool, notes: list[str]
) -> dict[str, list[int]]:
    names, rows = list(shares), units.rows()
    if len(rows) < len(names):
        raise DataError(
            f"{table.source}: {len(table)} rows make {len(rows)} units of groups and copies, which cannot be "
            f"split into {len(names)} parts; give more rows, or files for the other parts"
        )
    if stratify and table.label_form is not None:
        return _by_sets(table, units, shares, seed)
    strata = [stratum_of(table, unit) for unit in rows] if stratify and table.labels is not None else None
    kept = [] if strata is None else _too_few(strata, len(names))
    kept += _too_large(rows, strata, min(shares.values()) * len(table), len(names), kept, units)
    if strata is not None and len(kept) > len(rows) - len(kept):
        # Labels that hardly repeat cannot be kept in shares; one unit of each trains, if units remain.
        notes.append(_NOT_STRATIFIED)
        kept = sorted({label: place for place, label in reversed(list(enumerate(strata)))}.values())
        kept = kept if len(rows) - len(kept) >= len(names) - 1 else []
        strata = None
    aside = set(kept)
    rest, left = [unit for unit in range(len(rows)) if unit not in aside], 1.0
    parts: dict[str, list[int]] = {}
    # Each part but the first is cut off the rest, the last one first.
    for place, name in reversed(list(enumerate(names))[1:]):
        needed = place - 1 + (not kept)  # units for the parts that are still to be cut, and for the first
        rest, parts[name] = _cut(rest, shares[name] / left, seed, strata, needed, notes)
        left -= shares[name]
    parts = {names[0]: rest + kept, **{name: parts[name] for name in names[1:]}}
    if stratify and table.labels is not None:
        _give_back(table.labels, rows, parts)
    # Rows keep the order of the file.
    return {name: sorted(row for unit in parts[name] for row in rows[unit]) for name in names}


def _by_sets(table: Table, units: Units, shares: Mapping[str, float], seed: int) -> dict[str, list[int]]:
    """Deals units with several labels to parts; each part has one at least."""
    names, rows = list(shares), units.rows()
    part = stratified(_labels_of_units(table, rows), list(shares.values()), seed)
    # Copies with more rows than a part has stay in the first.
    most = max(1.0, min(shares.values()) * len(table))
    large = np.array([len(unit) > most and bool(units.copied[unit].any()) for unit in rows])
    part[large] = 0
    for place in range(len(names)):
        if not (part == place).any():
            fullest = int(np.bincount(part, minlength=len(names)).argmax())
            part[np.flatnonzero(part == fullest)[-1]] = place
    return {
        name: sorted(row for unit in np.flatnonzero(part == place).tolist() for row in rows[unit])
        for place, name in enumerate(names)
    }


def _labels_of_units(table: Table, rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Returns which labels the rows of each unit have, `(n_units, n_labels)`."""
    of_rows = table.names_of_rows()
    place = {name: at for at, name in enumerate(ordered(chain.from_iterable(of_rows)))}
    there = np.zeros((len(rows), len(place)), dtype=np.int64)
    for unit, some in enumerate(rows):
        there[unit, [place[name] for row in some for name in of_rows[row]]] = 1
    return there


def _cut(
    units: list[int], share: float, seed: int, strata: list[str] | None, needed: int, notes: list[str]
) -> tuple[list[int], list[int]]:
    """Cuts a share off, stratified where there are enough units for it; leaves `needed` units at least."""
    from sklearn.model_selection import train_test_split

    of = None if strata is None else [strata[unit] for unit in units]
    try:
        rest, part = train_test_split(units, test_size=share, random_state=seed, stratify=of)
        if len(rest) >= needed:
            return rest, part
    except ValueError:  # fewer units are wanted than there are labels, or there are too few for the share
        if strata is not None and _NOT_STRATIFIED not in notes:
            notes.append(_NOT_STRATIFIED)
    n = min(max(1, round(share * len(units))), len(units) - needed)
    order = np.random.Generator(np.random.PCG64([seed])).permutation(len(units)).tolist()
    return [units[place] for place in order[n:]], [units[place] for place in order[:n]]


def _too_few(strata: list[str], n_parts: int) -> list[int]:
    """Units of labels too rare to be in every part: they stay in the first."""
    counts = Counter(strata)
    return [unit for unit, label in enumerate(strata) if counts[label] < n_parts]


def _too_large(
    rows: list[list[int]],
    strata: list[str] | None,
    most: float,
    n_parts: int,
    kept: list[int],
    units: Units,
) -> list[int]:
    """Units of copies with more rows than a part: they stay in the first, if other units can be divided."""
    aside = set(kept)
    large = [
        unit
        for unit, of_unit in enumerate(rows)
        if len(of_unit) > max(1, most) and unit not in aside and units.copied[of_unit].any()
    ]
    label_of = ["" for _ in rows] if strata is None else strata
    small = Counter(label for unit, label in enumerate(label_of) if unit not in aside.union(large))
    return [unit for unit in large if small[label_of[unit]] >= n_parts]


def _give_back(of_row: list[str], units: list[list[int]], parts: dict[str, list[int]]) -> None:
    """Moves units until the first part has each label that is in as many units as there are parts."""
    first, *others = parts
    labels = [{of_row[row] for row in unit} for unit in units]
    counts = Counter(label for of_unit in labels for label in of_unit)
    there = {label for unit in parts[first] for label in labels[unit]}
    for label in sorted(label for label, n in counts.items() if n >= len(parts)):
        if label in there:
            continue
        # The smallest such unit, of the part that has most of them.
        having = {name: [unit for unit in parts[name] if label in labels[unit]] for name in others}
        name = max(others, key=lambda one: len(having[one]))
        unit = min(having[name], key=lambda one: len(units[one]))
        if len(parts[name]) > 1:
            parts[name].remove(unit)
            parts[first].append(unit)
            there |= labels[unit]


def folds(table: Table, n: int, seed: int = 42, units: Units | None = None) -> list[list[int]]:
    """Returns the rows of each fold, in the order of the table.

    Rows of one group and copies of a text stay together (`Units`); each label, that of a unit's longest
    text, is dealt to the folds in turn, so that all have its share. The same table and seed give the
    same folds, for every fold that is asked for.

    Each run must train on each label, so where all units of a label are in one fold, one of them is in none.

    Args:
        table: the rows.
        n: folds.
        seed: of the order in which units are dealt.
        units: rows that stay together; groups and copies, if not given.

    Raises:
        DataError: if there are fewer units than folds.
    """
    units = Units.of(table, 1 / n, 2) if units is None else units
    rows = units.rows()
    if len(rows) < n:
        what = "groups" if table.groups is not None else "rows"
        if table.groups is None and len(rows) < len(table):
            what = "different texts"
        raise DataError(f"{table.source}: {len(rows)} {what} cannot make {n} folds")
    rng = np.random.Generator(np.random.PCG64([seed]))
    by_label: dict[str, list[list[int]]] = {}
    for place in rng.permutation(len(rows)).tolist():
        by_label.setdefault(stratum_of(table, rows[place]), []).append(rows[place])
    dealt = [unit for label in sorted(by_label) for unit in by_label[label]]
    parts = [dealt[fold::n] for fold in range(n)]
    if table.label_form is not None:
        part = stratified(_labels_of_units(table, rows), [1 / n] * n, seed)
        parts = [[rows[unit] for unit in np.flatnonzero(part == fold).tolist()] for fold in range(n)]
    if table.labels is not None:
        _keep_labels(table.names_of_rows(), parts)
        if not all(parts):
            counts = Counter(chain.from_iterable(table.names_of_rows()))
            raise DataError(
                f"{table.source}: {len(rows)} groups or different texts are too few for {n} folds, as each "
                f"run trains on each label: {count_of(counts, sorted(counts))}"
            )
    return [sorted(row for unit in part for row in unit) for part in parts]


def labels_not_in_each(table: Table, dealt: list[list[int]]) -> list[str]:
    """Returns what to say of labels that are not in each fold."""
    if table.labels is None:
        return []
    names = table.names_of_rows()
    counts, n_folds = Counter(chain.from_iterable(names)), Counter[str]()
    for rows in dealt:
        n_folds.update(set(chain.from_iterable(names[row] for row in rows)))
    notes = []
    if alone := sorted(label for label in counts if not n_folds[label]):
        notes.append(f"too few to test on, so trained on in each run: the label {count_of(counts, alone)}")
    if few := sorted(label for label, n in n_folds.items() if n < len(dealt)):
        notes.append(f"not in each of the {len(dealt)} folds: the label {count_of(counts, few)}")
    return notes


def _keep_labels(labels: list[list[str]], parts: list[list[list[int]]]) -> None:
    """Takes a unit out of each part that has all units of a label; `labels` are those of each row."""
    having: dict[str, set[int]] = {}
    for place, part in enumerate(parts):
        for row in (row for unit in part for row in unit):
            for label in labels[row]:
                having.setdefault(label, set()).add(place)
    kept: set[str] = set()
    for label in sorted(label for label, places in having.items() if len(places) == 1):
        if label in kept:
            continue
        (place,) = having[label]
        unit = next(unit for unit in parts[place] if any(label in labels[row] for row in unit))
        parts[place].remove(unit)
        kept |= set(chain.from_iterable(labels[row] for row in unit))


def stratified(labels: NDArray[np.int64], shares: Sequence[float], seed: int) -> NDArray[np.int64]:
    """Deals units with several labels to parts, so that each part has its share of each label.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the label with the fewest units left is
    dealt first, each unit to the part that lacks most of that label, then to the one that lacks most units.

    Args:
        labels: `(n, n_labels)` of 0 and 1, which labels each unit has.
        shares: of each part; they add up to 1.
        seed: of the order of units, and of ties.

    Returns:
        The part (n,) of each unit.
    """
    rng = np.random.Generator(np.random.PCG64([seed]))
    there = np.asarray(labels, dtype=np.bool_)
    n, n_labels = there.shape
    wanted = np.asarray(shares, dtype=np.float64)
    lacks = wanted * n  # units, by part
    lacks_of = np.outer(there.sum(axis=0), wanted)  # units, by label and part
    part, order = np.full(n, -1, dtype=np.int64), rng.permutation(n)
    left = there.sum(axis=0).astype(np.int64)
    # Ties go to a part that is drawn once for each unit.
    ties = rng.random((n, len(wanted))) * 1e-9

    def deal(unit: int, lack: NDArray[np.float64]) -> None:
        most = np.flatnonzero(lack >= lack.max() - 1e-12)
        chosen = int(most[(lacks[most] + ties[unit, most]).argmax()])
        part[unit] = chosen
        lacks[chosen] -= 1
        lacks_of[there[unit], chosen] -= 1
        left[there[unit]] -= 1

    by_label = [order[there[order, label]] for label in range(n_labels)]
    while (left > 0).any():
        rarest = int(np.where(left > 0, left, n + 1).argmin())
        for unit in by_label[rarest].tolist():
            if part[unit] < 0:
                deal(unit, lacks_of[rarest])
    for unit in order.tolist():  # those without a label
        if part[unit] < 0:
            deal(unit, lacks)
    return part
