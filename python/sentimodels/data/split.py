"""`split`: divides a table into parts, so that no group and no text is in two of them.

By group or by row, stratified on the label of each group's longest text, it is scikit-learn's
`train_test_split`; by group with shares 0.8 and 0.2 and seed 42 it gives the 6,823 and 1,706 sentences of
the Kaggle phrases. By hash it needs no seed and stays the same when rows are added.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import DataError
from .folding import fold, text_hash
from .table import Table
from .units import Units

__all__ = ["By", "count_of", "divide", "split", "stratum_of"]

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
        counts = Counter(table.labels)
        for name, rows in parts.items():
            if missing := sorted(set(counts).difference(table.labels[row] for row in rows)):
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
    strata = [stratum_of(table, unit) for unit in rows] if stratify and table.labels is not None else None
    kept = [] if strata is None else _too_few(strata, len(names))
    kept += _too_large(rows, strata, min(shares.values()) * len(table), len(names), kept, units)
    if strata is not None and len(kept) > len(rows) - len(kept):
        # Labels that hardly repeat cannot be kept in shares; one unit of each trains, if that leaves others.
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
    """Units of copies with more rows than a part: they stay in the first, where others can be divided."""
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
