"""Muon: moves a matrix by its momentum with all singular values brought near 1 (Jordan et al. 2024).

The same as `torch.optim.Muon`, which multiplies in bfloat16 everywhere: CPUs without products of bfloat16
take many times as long for that as in float32. Here only a GPU that has them multiplies so. Not for
embeddings, heads, norms and biases (`optimizer.py`).
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

__all__ = ["Muon", "orthogonal"]

# An odd polynomial of degree five, and how often it is applied (Jordan et al. 2024): singular values of at
# least 0.002 of the norm end between 0.68 and 1.21.
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
_TIMES = 5
_LEAST_NORM = 1e-7
_MOMENTUM = 0.95


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov's momentum, for parameters of two dimensions with dense gradients.

    A matrix of more rows than columns moves further, by the root of their ratio.

    Args:
        params: matrices, or groups of them with `lr` and `weight_decay`.
        lr: the rate.
        weight_decay: what share of itself, times the rate, a matrix loses each step.
    """

    def __init__(self, params: Iterable[Any], lr: float, weight_decay: float = 0.1) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]  # 2026-11-28: no closure is ever given
        """Moves the matrices that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad, group["lr"], group["weight_decay"])

    def _move(self, parameter: Tensor, gradient: Tensor, rate: float, decay: float) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        mean = state["momentum_buffer"].lerp_(gradient, 1 - _MOMENTUM)
        direction = orthogonal(gradient.lerp(mean, _MOMENTUM), _precision(parameter.device))
        n_rows, n_columns = parameter.shape
        parameter.mul_(1 - rate * decay)
        parameter.add_(direction, alpha=-rate * max(1, n_rows / n_columns) ** 0.5)


def orthogonal(matrix: Tensor, precision: torch.dtype) -> Tensor:
    """Returns a matrix with the same singular vectors, and singular values near 1 where they are not near 0.

    By products alone (Newton-Schulz), so they are not 1: see `_POLYNOMIAL`.

    Args:
        matrix: of any shape of two dimensions; left as it is.
        precision: the type to multiply in, and of the result.
    """
    tall = matrix.size(0) > matrix.size(1)
    a, b, c = _POLYNOMIAL
    wide = matrix.to(precision, copy=True)
    if tall:
        wide = wide.T
    wide.div_(wide.norm().clamp(min=_LEAST_NORM))
    for _ in range(_TIMES):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if tall else wide


def _precision(device: torch.device) -> torch.dtype:
    """Returns the type in which matrices are multiplied: half the bytes where they are as fast or faster."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32
