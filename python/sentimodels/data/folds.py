"""`folds`: divides a table into parts of equal size, for cross-validation.

Not for one division into train, valid and test (`split.py`). Rows of one group stay together; each
label, that of a group's longest text, is dealt to the folds in turn, so that all have its share. The
same table and seed give the same folds, whichever is asked for.
"""

import numpy as np

from ..errors import DataError
from .split import stratum_of, units_of
from .table import Table

__all__ = ["folds"]


def folds(table: Table, n: int, seed: int = 42) -> list[list[int]]:
    """Returns the rows of each fold, in the order of the table.

    Args:
        table: the rows.
        n: folds.
        seed: of the order in which groups are dealt.

    Raises:
        DataError: if there are fewer groups than folds.
    """
    units = units_of(table, table.groups)
    if len(units) < n:
        what = "groups" if table.groups is not None else "rows"
        raise DataError(f"{table.source}: {len(units)} {what} cannot make {n} folds")
    rng = np.random.Generator(np.random.PCG64([seed]))
    by_label: dict[str, list[list[int]]] = {}
    for place in rng.permutation(len(units)).tolist():
        by_label.setdefault(stratum_of(table, units[place]), []).append(units[place])
    dealt = [unit for label in sorted(by_label) for unit in by_label[label]]
    return [sorted(row for unit in dealt[fold::n] for row in unit) for fold in range(n)]
