"""What training is said to need of memory, against what can be counted by hand."""

import pytest
import torch
from torch import nn

from sentimodels.config import OptimConfig, TrainConfig
from sentimodels.runs.memory_estimate import kept_bytes, state_bytes


@pytest.mark.parametrize(
    ("name", "ema", "copies"),
    [
        ("adamw", 0.9, 6),  # weights, gradients, two moments, the average, the best
        ("adamw", 0.0, 5),
        ("sgd", 0.0, 4),
        ("muon", 0.0, 4),
    ],
)
def test_state(name: str, ema: float, copies: int) -> None:
    module = nn.Linear(10, 3)
    optim = OptimConfig.model_validate({"name": name})
    train = TrainConfig.model_validate({"ema": ema})
    assert state_bytes(module, optim, train) == copies * 4 * (10 * 3 + 3)


def test_what_is_kept_for_the_way_back() -> None:
    """A linear layer keeps its input, a sigmoid its output; weights, and what is kept twice, count once."""
    first, second = nn.Linear(10, 7), nn.Linear(7, 7)
    module = nn.Sequential(first, nn.Sigmoid(), second)
    rows = torch.randn(5, 10, requires_grad=True)
    assert kept_bytes(module, lambda: module(rows).sum(), bfloat16=False) == 4 * 5 * (10 + 7)
    with torch.no_grad():
        assert kept_bytes(module, lambda: module(rows).sum(), bfloat16=False) == 0


def test_what_is_kept_in_bfloat16() -> None:
    """Half of each, and a copy of the weights."""
    module = nn.Linear(10, 7)
    rows = torch.randn(5, 10, requires_grad=True)
    assert kept_bytes(module, lambda: module(rows).sum(), bfloat16=True) == 2 * (5 * 10 + 10 * 7)


def test_sparse_tensors_are_passed_over() -> None:
    table = nn.Embedding(9, 4, sparse=True)
    assert kept_bytes(table, lambda: table(torch.tensor([[1, 2]])).sum(), bfloat16=False) == 2 * 8
