"""Intervals over seeds and rows together: they cover, and are wider than those over either alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sentimodels.errors import DataError
from sentimodels.evaluation.joint_intervals import (
    difference,
    level,
    macro_f1_difference,
    of_score,
    seed_noise,
)

GROUPS, SIZE = 150, 4


def drawn(rng: np.random.Generator, n_seeds: int, mean: float, of_seed: float) -> NDArray[np.int64]:
    """Answers of some seeds, each of which is better or worse than the mean by chance."""
    levels = np.clip(rng.normal(mean, of_seed, n_seeds), 0, 1)
    return rng.binomial(SIZE, levels[:, None], (n_seeds, GROUPS))


@pytest.mark.parametrize("of_seed", [0.0, 0.02, 0.06])
@pytest.mark.parametrize("n_seeds", [3, 5])
def test_the_interval_of_a_difference_covers(n_seeds: int, of_seed: float) -> None:
    """Of rows and seeds drawn anew again and again, it holds the true difference as often as it says."""
    rng = np.random.default_rng(n_seeds)
    rows = np.full(GROUPS, SIZE)
    hits = 0
    for trial in range(100):
        worse, better = drawn(rng, n_seeds, 0.6, of_seed), drawn(rng, n_seeds, 0.65, of_seed)
        found = difference(worse, better, rows, seed=trial)
        hits += found.low <= 0.05 <= found.high
    assert hits >= 90


def test_rows_alone_do_not_cover_where_seeds_differ() -> None:
    """What the interval of one seed says of the mean over seeds is too narrow: hence the joint one."""
    rng = np.random.default_rng(0)
    rows = np.full(GROUPS, SIZE)
    alone = joined = 0
    for trial in range(100):
        answers = drawn(rng, 5, 0.6, 0.06)
        one, all_ = level(answers[:1], rows, seed=trial), level(answers, rows, seed=trial)
        alone += one.low <= 0.6 <= one.high
        joined += all_.low <= 0.6 <= all_.high
    assert alone < 70
    assert joined >= 90


def test_one_seed_is_said() -> None:
    rows = np.array([2, 1, 3])
    right = np.array([[1, 1, 2]])
    found = level(right, rows)
    assert found.seeds == 1
    assert found.value == pytest.approx(4 / 6)
    assert difference(right, right, rows).value == 0


def test_the_noise_of_a_seed_is_that_of_the_noisiest_side() -> None:
    rows = np.array([10, 10])
    still, moving = np.array([[5, 5], [5, 5]]), np.array([[4, 4], [6, 6]])
    assert seed_noise((still, rows)) == 0
    assert seed_noise((still, rows), (moving, rows)) == pytest.approx(np.std([0.4, 0.6], ddof=1))
    assert seed_noise((moving[:1], rows)) == 0


@pytest.mark.parametrize("right", [[[3, 0]], [[-1, 0]], [[1]]])
def test_counts_that_cannot_be(right: list[list[int]]) -> None:
    with pytest.raises(DataError):
        level(np.array(right), np.array([2, 2]))


def tables(rng: np.random.Generator, n_seeds: int, right: float) -> NDArray[np.int64]:
    """Rows by group, true and given label, of three classes that are not equally frequent."""
    counts = np.zeros((n_seeds, GROUPS, 3, 3), np.int64)
    for seed in range(n_seeds):
        true = rng.choice(3, (GROUPS, SIZE), p=[0.6, 0.3, 0.1])
        given = np.where(rng.random((GROUPS, SIZE)) < right, true, rng.integers(0, 3, (GROUPS, SIZE)))
        for group in range(GROUPS):
            np.add.at(counts[seed, group], (true[group], given[group]), 1)
    return counts


def test_macro_f1_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(3)
    worse, better = tables(rng, 2, 0.5), tables(rng, 3, 0.7)
    means = []
    for side in (worse, better):
        scores = []
        for counts in side.sum(1):
            true, given = np.repeat(np.indices((3, 3)).reshape(2, 9), counts.ravel(), axis=1)
            scores.append(f1_score(true, given, average="macro"))
        means.append(np.mean(scores))
    found = macro_f1_difference(worse, better)
    assert found.value == pytest.approx(means[1] - means[0])
    assert found.low < found.value < found.high
    assert found.seeds == 2
    assert macro_f1_difference(worse, worse).value == 0


def test_the_interval_of_macro_f1_covers() -> None:
    """Two sides that are as good: of twenty intervals about one leaves out zero."""
    rng = np.random.default_rng(4)
    hits = 0
    for trial in range(40):
        found = macro_f1_difference(tables(rng, 3, 0.6), tables(rng, 3, 0.6), seed=trial)
        hits += found.low <= 0 <= found.high
    assert hits >= 35


def test_the_interval_of_any_score_covers() -> None:
    """Of measurements of texts, whose mean is 1: the seeds differ, the texts differ."""
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(100):
        values = 1 + rng.normal(0, 0.3, (3, 1)) + rng.normal(0, 2, 80) + rng.normal(0, 1, (3, 80))

        def mean(weights: NDArray[np.float64], values: NDArray[np.float64] = values) -> NDArray[np.float64]:
            means: NDArray[np.float64] = weights @ values.T / weights.sum(1, keepdims=True)
            return means

        found = of_score(mean, 80, seed=trial)
        assert found.value == pytest.approx(values.mean())
        hits += found.low <= 1 <= found.high
    assert hits >= 90
    with pytest.raises(DataError, match="no rows"):
        of_score(mean, 0)


def test_tables_of_other_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="by true and given label"):
        macro_f1_difference(np.ones((1, 2, 3, 3), np.int64), np.ones((1, 3, 3, 3), np.int64))
