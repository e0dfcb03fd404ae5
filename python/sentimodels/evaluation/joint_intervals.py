"""Intervals that join seeds and rows: another seed and other rows would both have given another score.

Not for one run (`intervals.py`), nor for scores other than accuracy. A replicate draws groups of rows
with replacement, the same for all seeds and both sides, and seeds with replacement, those of each
side by themselves. A few seeds spread less than seeds do, and how much is itself uncertain: the
spread between seeds is widened as Student's t widens it (Efron and Tibshirani 1993, 5.3 and 12.5).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

__all__ = ["Joint", "difference", "level", "seed_noise"]

N_REPLICATES = 1000
_NORMAL = 1.959963984540054
# Weights of so many replicates at a time.
_CELLS_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class Joint:
    """An estimate with its 95 % interval.

    Attributes:
        value: the estimate, over all rows and seeds.
        low: the lower end.
        high: the upper end.
        seeds: the fewest seeds of a side. One seed says nothing of seeds, and the interval is over
            rows alone.
    """

    value: float
    low: float
    high: float
    seeds: int


def level(right: NDArray[np.int64], rows: NDArray[np.int64], *, seed: int = 0) -> Joint:
    """Returns the mean accuracy of several seeds.

    Args:
        right: `(n_seeds, n_groups)` rows of each group that each seed has right.
        rows: `(n_groups,)` rows of each group.
        seed: of the draws.
    """
    _check(right, rows)
    drawn = np.concatenate([_side(block, seeds) for block, seeds in _draws([right], rows, seed)])
    return _joint(_accuracy(right, rows), drawn, len(right))


def difference(
    worse: NDArray[np.int64], better: NDArray[np.int64], rows: NDArray[np.int64], *, seed: int = 0
) -> Joint:
    """Returns by how much `better` is more accurate than `worse`, both as `level` takes them."""
    _check(worse, rows)
    _check(better, rows)
    drawn = []
    pairs = _draws([worse, better], rows, seed)
    for (low_block, low_seeds), (high_block, high_seeds) in zip(pairs, pairs, strict=True):
        drawn.append(_side(high_block, high_seeds) - _side(low_block, low_seeds))
    value = _accuracy(better, rows) - _accuracy(worse, rows)
    return _joint(value, np.concatenate(drawn), min(len(worse), len(better)))


def seed_noise(*sides: tuple[NDArray[np.int64], NDArray[np.int64]]) -> float:
    """Returns the largest standard deviation of one seed's accuracy among several `(right, rows)`.

    0 where nothing is drawn, as in a regression; sides of one seed have none to tell.
    """
    deviations = [(right.sum(axis=1) / rows.sum()).std(ddof=1) for right, rows in sides if len(right) > 1]
    return float(max(deviations, default=0.0))


def _check(right: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    if right.ndim != 2 or right.shape[1:] != rows.shape or not right.size:
        raise DataError(f"rows that are right {right.shape} for {len(rows)} groups")
    if (right > rows).any() or (right < 0).any():
        raise DataError("more rows of a group are right than it has")


def _accuracy(right: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    return float(right.sum() / (len(right) * rows.sum()))


def _draws(
    sides: list[NDArray[np.int64]], rows: NDArray[np.int64], seed: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Yields, side after side, accuracies `(replicates, n_seeds)` on drawn rows, and drawn seeds."""
    rng = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, _CELLS_AT_ONCE // max(1, len(rows)))
    for start in range(0, N_REPLICATES, at_once):
        n = min(at_once, N_REPLICATES - start)
        weights = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=n).astype(np.float64)
        total = weights @ rows
        for right in sides:
            yield (weights @ right.T) / total[:, None], rng.integers(0, len(right), size=(n, len(right)))


def _side(accuracies: NDArray[np.float64], seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns each replicate's mean over its drawn seeds, their spread widened."""
    n_seeds = accuracies.shape[1]
    mean: NDArray[np.float64] = accuracies.mean(axis=1)
    if n_seeds == 1:
        return mean
    from scipy.stats import t

    widened = (n_seeds / (n_seeds - 1)) ** 0.5 * float(t.ppf(0.975, n_seeds - 1)) / _NORMAL
    means: NDArray[np.float64] = mean + widened * (_drawn_mean(accuracies, seeds) - mean)
    return means


def _drawn_mean(accuracies: NDArray[np.float64], seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.take_along_axis(accuracies, seeds, axis=1).mean(axis=1)
    return mean


def _joint(value: float, drawn: NDArray[np.float64], seeds: int) -> Joint:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Joint(value, float(low), float(high), seeds)
