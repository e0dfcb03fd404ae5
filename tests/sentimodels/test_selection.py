"""Greedy choice of the models of a mixture."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sentimodels.errors import DataError
from sentimodels.runs.ensemble import crossed, select

N = 600


@pytest.fixture(scope="module")
def truth() -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(0, 3, N)


def model(truth: NDArray[np.int64], knows: NDArray[np.bool_], seed: int) -> NDArray[np.float32]:
    """Sure and right on the rows it knows, with only noise on the rest."""
    logits = np.random.default_rng(seed).normal(0, 0.3, (len(truth), 3))
    logits[np.flatnonzero(knows), truth[knows]] += 4
    exp = np.exp(logits)
    found: NDArray[np.float32] = (exp / exp.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def library(truth: NDArray[np.int64]) -> list[NDArray[np.float32]]:
    """Places 1 and 4 know a half each; the rest less, or the same half once more."""
    row = np.arange(len(truth))
    even, odd = row % 2 == 0, row % 2 == 1
    shares = [row % 7 == 0, even, row % 5 == 0, even & (row % 3 == 0), odd, odd & (row % 5 > 0)]
    return [model(truth, knows, seed) for seed, knows in enumerate(shares)]


def test_the_planted_pair_is_found(truth: NDArray[np.int64]) -> None:
    found = select(library(truth), truth)
    weights = np.array(found.weights)
    assert set(np.argsort(weights)[-2:]) == {1, 4}
    assert weights[[1, 4]].sum() > 0.85
    mixed = found.mix(library(truth)).argmax(1)
    alone = max((one.argmax(1) == truth).mean() for one in library(truth))
    assert (mixed == truth).mean() > alone + 0.2


def test_it_is_the_same_each_time_and_in_any_order(truth: NDArray[np.int64]) -> None:
    models = library(truth)
    assert select(models, truth) == select(models, truth)
    turned = select(models[::-1], truth)
    assert turned.weights[::-1] == select(models, truth).weights
    # Of equal models the first is taken.
    assert select([models[1], models[1]], truth).weights == (1.0, 0.0)


def test_one_that_is_best_stays_alone(truth: NDArray[np.int64]) -> None:
    everything = model(truth, np.ones(N, dtype=bool), 9)
    assert select([model(truth, np.zeros(N, dtype=bool), 8), everything], truth).members == [1]


def test_no_row_chooses_its_own_mixture(truth: NDArray[np.int64]) -> None:
    """Truth of one half changed: the answers to that half stay, those to the other do not."""
    models = library(truth)
    first = np.arange(N) % 2 == 0
    other = truth.copy()
    other[first] = (other[first] + 1) % 3
    before, after = crossed(models, truth, first), crossed(models, other, first)
    assert (before[first] == after[first]).all()
    assert (before[~first] != after[~first]).any()


def test_nothing_to_choose_from(truth: NDArray[np.int64]) -> None:
    with pytest.raises(DataError, match="chosen among models"):
        select([], truth)
