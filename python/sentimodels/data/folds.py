"""`folds`: divides a table into parts of equal size, for cross-validation.

Rows of one group and copies of a text stay together (`units.py`); each label, that of a unit's longest
text, is dealt to the folds in turn, so that all have its share. The same table and seed give the same
folds, whichever is asked for.
"""

from collections import Counter

import numpy as np

from ..errors import DataError
from .split import count_of, stratum_of
from .table import Table
from .units import Units

__all__ = ["folds", "labels_not_in_each"]


def folds(table: Table, n: int, seed: int = 42, units: Units | None = None) -> list[list[int]]:
    """Returns the rows of each fold, in the order of the table.

    Each run must train on each label, so where all units of a label are in one fold, one of them is in none.

    Args:
        table: the rows.
        n: folds.
        seed: of the order in which units are dealt.
        units: what stays together; groups and copies, if not given.

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
    if table.labels is not None:
        _keep_labels(table.labels, parts)
        if not all(parts):
            counts = Counter(table.labels)
            raise DataError(
                f"{table.source}: {len(rows)} groups or different texts are too few for {n} folds, as each "
                f"run trains on each label: {count_of(counts, sorted(counts))}"
            )
    return [sorted(row for unit in part for row in unit) for part in parts]


def labels_not_in_each(table: Table, dealt: list[list[int]]) -> list[str]:
    """Returns what to say of labels that are not in each fold."""
    if table.labels is None:
        return []
    counts, n_folds = Counter(table.labels), Counter[str]()
    for rows in dealt:
        n_folds.update({table.labels[row] for row in rows})
    notes = []
    if alone := sorted(label for label in counts if not n_folds[label]):
        notes.append(f"too few to test on, so trained on in each run: the label {count_of(counts, alone)}")
    if few := sorted(label for label, n in n_folds.items() if n < len(dealt)):
        notes.append(f"not in each of the {len(dealt)} folds: the label {count_of(counts, few)}")
    return notes


def _keep_labels(labels: list[str], parts: list[list[list[int]]]) -> None:
    """Takes a unit out of each part that has all units of a label."""
    having: dict[str, set[int]] = {}
    for place, part in enumerate(parts):
        for row in (row for unit in part for row in unit):
            having.setdefault(labels[row], set()).add(place)
    kept: set[str] = set()
    for label in sorted(label for label, places in having.items() if len(places) == 1):
        if label in kept:
            continue
        (place,) = having[label]
        unit = next(unit for unit in parts[place] if any(labels[row] == label for row in unit))
        parts[place].remove(unit)
        kept |= {labels[row] for row in unit}
