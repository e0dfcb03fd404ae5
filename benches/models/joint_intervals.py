"""Intervals that join seeds and rows: another seed and other rows would both have given another score.

`metrics.py` has intervals of one run. `level` and the differences are of labels; `of_score` takes any other
score that drawn rows have. A replicate draws groups of rows with replacement, the same for all seeds and
both sides, and seeds with replacement, separately for each side. A few seeds spread less than
seeds do, and how much is itself uncertain: the spread between seeds is widened as Student's t widens it
(Efron and Tibshirani 1993, 5.3 and 12.5).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentimodels.errors import DataError

N_REPLICATES = 1000
_NORMAL = 1.959963984540054
# Weights of so many replicates at a time.
_CELLS_AT_ONCE = 8_000_000

# Scores `(replicates, n_seeds)` on rows that are drawn as often as weights `(replicates, n_groups)` say.
Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


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
    return of_score(_accuracies(right, rows), len(rows), seed=seed)


def difference(
    worse: NDArray[np.int64], better: NDArray[np.int64], rows: NDArray[np.int64], *, seed: int = 0
) -> Joint:
    """Returns by how much `better` is more accurate than `worse`, both as `level` takes them."""
    _check(worse, rows)
    _check(better, rows)
    sides = [(len(right), _accuracies(right, rows)) for right in (worse, better)]
    value = _accuracy(better, rows) - _accuracy(worse, rows)
    return _joint(value, _differences(sides, len(rows), seed), min(len(worse), len(better)))


def of_score(score: Score, n_rows: int, *, seed: int = 0) -> Joint:
    """Returns the mean of any score of several seeds.

    Args:
        score: from weights `(replicates, n_rows)`, how often each row is drawn, to the scores
            `(replicates, n_seeds)` that the seeds have on these rows.
        n_rows: how many rows there are.
        seed: of the draws.
    """
    if n_rows < 1:
        raise DataError("no rows to score")
    whole = score(np.ones((1, n_rows)))
    n_seeds = whole.shape[1]
    drawn = np.concatenate([_side(block, seeds) for block, seeds in _draws([(n_seeds, score)], n_rows, seed)])
    return _joint(float(whole.mean()), drawn, n_seeds)


def _check(right: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    if right.ndim != 2 or right.shape[1:] != rows.shape or not right.size:
        raise DataError(f"rows that are right {right.shape} for {len(rows)} groups")
    if (right > rows).any() or (right < 0).any():
        raise DataError("more rows of a group are right than it has")


def _accuracy(right: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    return float(right.sum() / (len(right) * rows.sum()))


def _accuracies(right: NDArray[np.int64], rows: NDArray[np.int64]) -> Score:
    def score(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = (weights @ right.T) / (weights @ rows)[:, None]
        return shares

    return score


def _draws(
    sides: list[tuple[int, Score]], n_groups: int, seed: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Yields, side after side, scores `(replicates, n_seeds)` on drawn rows, and drawn seeds."""
    rng = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, _CELLS_AT_ONCE // max(1, n_groups))
    for start in range(0, N_REPLICATES, at_once):
        n = min(at_once, N_REPLICATES - start)
        weights = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=n).astype(np.float64)
        for n_seeds, score in sides:
            yield score(weights), rng.integers(0, n_seeds, size=(n, n_seeds))


def _differences(sides: list[tuple[int, Score]], n_groups: int, seed: int) -> NDArray[np.float64]:
    """Returns by how much the second side is above the first, in each replicate."""
    pairs = _draws(sides, n_groups, seed)
    return np.concatenate(
        [
            _side(high_block, high_seeds) - _side(low_block, low_seeds)
            for (low_block, low_seeds), (high_block, high_seeds) in zip(pairs, pairs, strict=True)
        ]
    )


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
