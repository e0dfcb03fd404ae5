"""Intervals over seeds and rows together: they cover, and are wider than those over either alone."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sentimodels.errors import DataError

SPEC = spec_from_file_location(
    "joint_intervals", Path(__file__).resolve().parents[2] / "benches" / "models" / "joint_intervals.py"
)
assert SPEC is not None
assert SPEC.loader is not None
joint: Any = module_from_spec(SPEC)
SPEC.loader.exec_module(joint)
pytestmark = pytest.mark.slow  # a program of benches/, not of the package
GROUPS, SIZE = 150, 4


def drawn(rng: np.random.Generator, n_seeds: int, mean: float, of_seed: float) -> NDArray[np.int64]:
    """Answers of some seeds, each of which is better or worse than the mean by chance."""
    levels = np.clip(rng.normal(mean, of_seed, n_seeds), 0, 1)
    return rng.binomial(SIZE, levels[:, None], (n_seeds, GROUPS))


@pytest.mark.parametrize("of_seed", [0.0, 0.02, 0.06])
@pytest.mark.parametrize("n_seeds", [3, 5])
def test_the_interval_of_a_difference_covers(n_seeds: int, of_seed: float) -> None:
    """Of rows and seeds drawn again and again, it holds the true difference as often as it says."""
    rng = np.random.default_rng(n_seeds)
    rows = np.full(GROUPS, SIZE)
    hits = 0
    for trial in range(100):
        worse, better = drawn(rng, n_seeds, 0.6, of_seed), drawn(rng, n_seeds, 0.65, of_seed)
        found = joint.difference(worse, better, rows, seed=trial)
        hits += found.low <= 0.05 <= found.high
    assert hits >= 90


def test_rows_alone_do_not_cover_where_seeds_differ() -> None:
    """What the interval of one seed says of the mean over seeds is too narrow: hence the joint one."""
    rng = np.random.default_rng(0)
    rows = np.full(GROUPS, SIZE)
    alone = joined = 0
    for trial in range(100):
        answers = drawn(rng, 5, 0.6, 0.06)
        one, all_ = joint.level(answers[:1], rows, seed=trial), joint.level(answers, rows, seed=trial)
        alone += one.low <= 0.6 <= one.high
        joined += all_.low <= 0.6 <= all_.high
    assert alone < 70
    assert joined >= 90


def test_one_seed_is_said() -> None:
    rows = np.array([2, 1, 3])
    right = np.array([[1, 1, 2]])
    found = joint.level(right, rows)
    assert found.seeds == 1
    assert found.value == pytest.approx(4 / 6)
    assert joint.difference(right, right, rows).value == 0


@pytest.mark.parametrize("right", [[[3, 0]], [[-1, 0]], [[1]]])
def test_counts_that_cannot_be(right: list[list[int]]) -> None:
    with pytest.raises(DataError):
        joint.level(np.array(right), np.array([2, 2]))


def test_the_interval_of_any_score_covers() -> None:
    """Of measurements of texts, whose mean is 1: the seeds differ, the texts differ."""
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(100):
        values = 1 + rng.normal(0, 0.3, (3, 1)) + rng.normal(0, 2, 80) + rng.normal(0, 1, (3, 80))

        def mean(weights: NDArray[np.float64], values: NDArray[np.float64] = values) -> NDArray[np.float64]:
            means: NDArray[np.float64] = weights @ values.T / weights.sum(1, keepdims=True)
            return means

        found = joint.of_score(mean, 80, seed=trial)
        assert found.value == pytest.approx(values.mean())
        hits += found.low <= 1 <= found.high
    assert hits >= 90
    with pytest.raises(DataError, match="no rows"):
        joint.of_score(mean, 0)
