"""`stratified`: units with several labels dealt to parts, so that each part has its share of each label.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the label with the fewest units left is
dealt first, each unit to the part that lacks most of that label, then to the one that lacks most units.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["stratified"]


def stratified(labels: NDArray[np.int64], shares: Sequence[float], seed: int) -> NDArray[np.int64]:
    """Returns the part (n,) of each unit.

    Args:
        labels: `(n, n_labels)` of 0 and 1, which labels each unit has.
        shares: of each part; they add up to 1.
        seed: of the order of units, and of ties.
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
