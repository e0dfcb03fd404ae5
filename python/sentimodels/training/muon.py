"""Muon: momentum whose matrix is made orthogonal before it moves the weights (Jordan et al. 2024).

Five Newton-Schulz steps, X <- aX + (b XX' + c (XX')²) X, with coefficients that bring every singular
value near 1 soonest; in bfloat16, which is enough for that. Nesterov's form of momentum, decay apart
from the gradient (Loshchilov and Hutter 2019), and a rate that grows with the root of how much taller
than wide a matrix is. For matrices between layers; tables, heads, norms and biases take AdamW. Not for
which parameter is which (`optimizer.py`).
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

__all__ = ["Muon", "orthogonal"]

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_EPS = 1e-7


def orthogonal(matrix: Tensor) -> Tensor:
    """Returns the matrix (M, N), in bfloat16, with its singular values near 1: within 0.3 and 1.3 or so."""
    a, b, c = _COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(torch.bfloat16, copy=True)
    x = x.T if tall else x  # the smaller product
    x.div_(x.norm().clamp(min=_EPS))
    for _ in range(_STEPS):
        square = x @ x.T
        polynomial = torch.addmm(square, square, square, beta=b, alpha=c)
        x = torch.addmm(x, polynomial, x, beta=a)
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Moves matrices along their orthogonal momentum.

    Args:
        params: matrices, or groups of them.
        lr: rate.
        weight_decay: of each step, times the rate.
        momentum: share of the average that stays at each step.
    """

    def __init__(
        self, params: Iterable[Any], lr: float, weight_decay: float = 0.0, momentum: float = 0.95
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]
        """Moves the matrices that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(gradient)
                average = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
                move = orthogonal(gradient.lerp(average, group["momentum"]))
                rows, columns = parameter.shape
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(move, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)
