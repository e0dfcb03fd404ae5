"""The loss of distillation alone, against a slow one and its definition."""

import numpy as np
import pytest
import torch

from oracles.distillation import by_hand
from sentimodels.tasks.distillation import DISTANCES, apart


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 7.0])
def test_divergence_is_that_of_its_definition(temperature: float) -> None:
    drawn = np.random.default_rng(3)
    logits = drawn.normal(size=(6, 4)) * 3
    probs = drawn.dirichlet(np.ones(4), size=6)
    found = DISTANCES["kl"](torch.tensor(logits), torch.tensor(probs).log(), temperature)
    expected = [by_hand(a, b, temperature) for a, b in zip(logits.tolist(), probs.tolist(), strict=True)]
    assert found.tolist() == pytest.approx(expected)
    # The distance of equal answers is 0, for any number added to all logits.
    same = DISTANCES["kl"](torch.tensor(np.log(probs) + 5), torch.tensor(probs).log(), temperature)
    assert same.abs().max() < 1e-9


def test_logits_are_compared_but_for_a_shift() -> None:
    logits = torch.tensor([[1.0, 2.0, 6.0]], dtype=torch.float64)
    answers = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    # Less their means: (-2, -1, 3) and (-1, 0, 1), so squares of 1, 1 and 2.
    assert DISTANCES["logits"](logits, answers, 9.0).tolist() == pytest.approx([(1 + 1 + 4) / 3])
    assert DISTANCES["logits"](answers + 100, answers, 9.0).tolist() == pytest.approx([0.0])


def test_a_zero_probability_is_no_infinite_loss() -> None:
    probs = np.array([[0.0, 1.0]], np.float32)
    found = apart(np.array([[0.0, 50.0]], np.float32), probs)
    assert found["divergence"] == pytest.approx(0, abs=1e-9)
    assert found["agreement"] == 1
