"""Muon: bit for bit torch's in bfloat16, and in float32 what the singular values say."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sentimodels.training import optimizer
from sentimodels.training.optimizer import Muon, orthogonal

SHAPES = [(8, 8), (24, 8), (8, 24), (1, 5), (5, 1), (1, 1), (64, 33)]


def matrix(shape: tuple[int, int], seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_singular_values(given: Tensor) -> Tensor:
    """The slow oracle: the polynomial of the paper, on the singular values themselves."""
    left, values, right = torch.linalg.svd(given.double(), full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    made: Tensor = left @ values.diag() @ right
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_directions_are_those_of_the_singular_values(shape: tuple[int, int]) -> None:
    given = matrix(shape, 1)
    before = given.clone()
    found = orthogonal(given, torch.float32)
    assert torch.equal(given, before)
    torch.testing.assert_close(found.double(), by_singular_values(given), atol=2e-5, rtol=0)
    if min(shape) > 1:
        values = torch.linalg.svdvals(found)
        assert values.min() > 0.68
        assert values.max() < 1.21


def test_dependent_rows_stay_so() -> None:
    """Singular values of 0: rounding must not grow into further directions."""
    given = matrix((16, 2), 1) @ matrix((2, 32), 2)
    values = torch.linalg.svdvals(orthogonal(given, torch.float32))
    assert values[1] > 0.5
    assert values[2] < 1e-3


def steps(optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter]) -> list[Tensor]:
    """Moves parameters three times by the same gradients."""
    for number in range(3):
        for index, parameter in enumerate(parameters):
            parameter.grad = matrix((parameter.size(0), parameter.size(1)), 100 * number + index)
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


def groups(parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [
        {"params": parameters[:3], "lr": 0.02, "weight_decay": 0.1},
        {"params": parameters[3:], "lr": 0.1, "weight_decay": 0.0},
    ]


@pytest.mark.parametrize(("precision", "near"), [(torch.bfloat16, 0.0), (torch.float32, 0.05)])
def test_torch_moves_matrices_the_same_way(
    precision: torch.dtype, near: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizer, "_precision", lambda _: precision)
    ours, theirs = ([nn.Parameter(matrix(shape, 9)) for shape in SHAPES] for _ in range(2))
    found = steps(Muon(groups(ours), lr=0.02), ours)
    wanted = steps(torch.optim.Muon(groups(theirs), lr=0.02), theirs)
    start = [matrix(shape, 9) for shape in SHAPES]
    for one, other, first in zip(found, wanted, start, strict=True):
        assert (one - other).norm() <= near * (other - first).norm()
        assert not torch.equal(one, first)


def test_what_has_no_gradient_stays() -> None:
    moved, left = nn.Parameter(matrix((4, 4), 1)), nn.Parameter(matrix((4, 4), 2))
    before = left.detach().clone()
    moved.grad = torch.zeros(4, 4)
    Muon([moved, left], lr=0.5, weight_decay=0.1).step()
    assert torch.equal(left, before)
    assert torch.equal(moved, matrix((4, 4), 1) * (1 - 0.5 * 0.1))


@pytest.mark.parametrize(
    ("device", "has", "wanted"),
    [
        ("cpu", True, torch.float32),
        ("mps", True, torch.float32),
        ("cuda", True, torch.bfloat16),
        ("cuda", False, torch.float32),
    ],
)
def test_bfloat16_where_a_gpu_multiplies_it(
    device: str, has: bool, wanted: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has)
    assert optimizer._precision(torch.device(device)) == wanted
