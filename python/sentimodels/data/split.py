"""`split`: divides a table into parts without letting a group or a text stand on two sides.

Not for the files that come with a split. By group, stratified on the label of each
group's longest text, it is scikit-learn's `train_test_split`; with shares 0.8 and
0.2 and seed 42 it gives the 6,823 and 1,706 sentences of the Kaggle phrases that the
reports used. By hash it needs no seed and stays the same when rows are added.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ..errors import DataError
from .folding import fold, text_hash
from .table import Table

_NOT_STRATIFIED = "too few rows to keep the shares of the labels in each part"

By = Literal["group", "hash", "row"]


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
        by: `group` keeps rows of one group together (the default where there are
            groups); `hash` decides by the text without case; `row` takes each row alone.

    Raises:
        DataError: if a share is not above 0, a part would be empty, or groups are missing.
    """
    named = _named(shares)
    groups = table.groups if group is None else list(group)
    if groups is not None and len(groups) != len(table):
        raise DataError(f"{len(table)} rows, but {len(groups)} groups")
    if by is None:
        by = "row" if groups is None else "group"
    if by == "group" and groups is None:
        raise DataError(f"{table.source}: no groups; name their column with --group-column")
    notes: list[str] = []
    if by == "hash":
        parts = _by_hash(table, named)
    else:
        units = units_of(table, groups if by == "group" else None)
        parts = _by_units(table, units, named, seed, stratify, notes)
    result = {}
    for name, rows in parts.items():
        if not rows:
            raise DataError(
                f"{table.source}: {len(table)} rows leave none for {name}; give it a bigger share"
            )
        result[name] = replace(table.take(rows), notes=(*table.notes, *notes))
    return result


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


def units_of(table: Table, groups: Sequence[str] | None) -> list[list[int]]:
    """Returns the rows of each unit that must stay together, in the order of the units' first rows."""
    if groups is None:
        return [[row] for row in range(len(table))]
    units: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        units.setdefault(group, []).append(row)
    return list(units.values())


def stratum_of(table: Table, unit: list[int]) -> str:
    """Returns the label of a unit's longest text; "" where there are no labels."""
    return "" if table.labels is None else table.labels[max(unit, key=lambda row: len(table.texts[row]))]


def _by_units(
    table: Table,
    units: list[list[int]],
    shares: dict[str, float],
    seed: int,
    stratify: bool,
    notes: list[str],
) -> dict[str, list[int]]:
    names = list(shares)
    strata: list[str] | None = None
    kept: list[int] = []
    chosen = list(range(len(units)))
    if stratify and table.labels is not None:
        strata = [stratum_of(table, rows) for rows in units]
        kept = _too_few(strata, len(names), notes, names[0])
        aside = set(kept)
        chosen = [unit for unit in chosen if unit not in aside]
        if len(kept) > len(chosen):  # labels that hardly repeat cannot be kept in shares
            notes[:] = [_NOT_STRATIFIED]
            strata, kept, chosen = None, [], list(range(len(units)))
    parts: dict[str, list[int]] = {}
    rest, left = chosen, 1.0
    # Each part but the first is cut off the rest, the last one first.
    for name in names[:0:-1]:
        share = shares[name] / left
        of = None if strata is None else [strata[unit] for unit in rest]
        rest, part = _cut(rest, share, seed, of, notes, f"{table.source}: {dict(shares)}")
        parts[name] = part
        left -= shares[name]
    parts[names[0]] = rest + kept
    # Rows keep the order of the file.
    return {name: sorted(row for unit in parts[name] for row in units[unit]) for name in names}


def _cut(
    units: list[int], share: float, seed: int, strata: list[str] | None, notes: list[str], where: str
) -> tuple[list[int], list[int]]:
    """Cuts a share off, stratified where there are enough units for it."""
    from sklearn.model_selection import train_test_split

    try:
        rest, part = train_test_split(units, test_size=share, random_state=seed, stratify=strata)
    except ValueError as error:
        if strata is None:
            raise DataError(
                f"{where}: {len(units)} units cannot be split: a part would have no row; give more rows, or "
                "another share"
            ) from error
        if _NOT_STRATIFIED not in notes:
            notes.append(_NOT_STRATIFIED)
        return _cut(units, share, seed, None, notes, where)
    return rest, part


def _too_few(strata: list[str], n_parts: int, notes: list[str], first: str) -> list[int]:
    """Units of labels too rare to be in every part: they stay in the first."""
    counts = Counter(strata)
    rare = {label for label, count in counts.items() if count < n_parts}
    if rare:
        names = ", ".join(f"{label!r} ({counts[label]})" for label in sorted(rare))
        notes.append(f"too rare to split, so in {first} alone: {names}")
    return [unit for unit, label in enumerate(strata) if label in rare]
