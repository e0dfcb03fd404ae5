"""Muon: its orthogonal step against the singular value decomposition, its moves against torch's own."""

import pytest
import torch
from torch import nn

from sentimodels.config import OptimConfig
from sentimodels.training.muon import Muon, orthogonal
from sentimodels.training.optimizer import Optimizers


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


SHAPES = [(8, 8), (64, 16), (16, 64), (96, 32), (1, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix_is_made_orthogonal(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape)
    found = orthogonal(matrix).float()
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    own = torch.diagonal(left.T @ found @ right.T)
    # Its singular vectors stay; its singular values come near 1, unless they are next to nothing.
    assert torch.allclose(left @ torch.diag(own) @ right, found, atol=0.05)
    assert ((own > 0.5) & (own < 1.4)).logical_or(values < 0.02 * values.max()).all()
    assert torch.equal(matrix, matrix.clone())


@pytest.mark.parametrize("shape", SHAPES)
def test_moves_are_those_of_torch(shape: tuple[int, int]) -> None:
    ours, theirs = (nn.Parameter(torch.ones(shape)) for _ in range(2))
    moving = Muon([ours], lr=0.02, weight_decay=0.1)
    oracle = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1)
    for _ in range(4):
        gradient = torch.randn(shape)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        moving.step()
        oracle.step()
        assert torch.equal(ours, theirs)


def test_matrices_between_layers_take_it_and_the_rest_does_not() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "layer": nn.Linear(4, 4)})
            self.head = nn.Linear(4, 5)

    made = Optimizers(Model(), OptimConfig(name="muon"), sparse=())
    names = {
        kind: sorted(made.names[id(p)] for group in one.param_groups for p in group["params"])
        for kind, one in made.all.items()
    }
    assert names["muon"] == ["backbone.layer.weight"]
    assert "head.weight" in names["adamw"]
    assert "backbone.embedding.weight" in names["adamw"]
