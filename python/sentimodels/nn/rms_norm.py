"""`RMSNorm`: torch's, with a backward pass of its own where a CPU records gradients.

There torch makes it of several operations, each with a tensor of its own. Here their gradients are worked
out in place, in less time (Zhang and Sennrich 2019, eq. 4), and are the same bit by bit.
Elsewhere, and where a compiler joins such passes by itself, torch's is called. Not for gradients of
gradients, nor for Mamba, whose training came to other last bits with it.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.compiler import is_compiling

__all__ = ["RMSNorm"]


class _Scaled(torch.autograd.Function):
    """`x` (..., D) over its root mean square, times a weight (D,)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        inverse = x.pow(2).mean(-1, keepdim=True).add_(eps).rsqrt_()
        ctx.save_for_backward(x, weight, inverse)
        return (x * inverse).mul_(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, inverse = ctx.saved_tensors
        # A tensor of its own: the order of memory, and so of the sum, is torch's.
        room = slope * (x * inverse)
        by_weight = room.sum_to_size(weight.shape)
        by_scaled = slope * weight
        by_inverse = torch.mul(by_scaled, x, out=room).sum(-1, keepdim=True)
        by_mean = by_inverse.mul_(-0.5).mul_(inverse.pow(3)).div_(x.shape[-1])
        by_x = by_scaled.mul_(inverse).add_(torch.mul(x, by_mean.mul_(2), out=room))
        return by_x, by_weight, None


class RMSNorm(nn.RMSNorm):
    """As torch's, with a weight; see the module."""

    eps: float

    def forward(self, x: Tensor) -> Tensor:
        """Returns x (..., D) in proportion to its root mean square over the last axis."""
        if _recorded(x, self.weight) and not is_compiling():
            scaled: Tensor = _Scaled.apply(x, self.weight, self.eps)
            return scaled
        return super().forward(x)


def _recorded(x: Tensor, weight: Tensor) -> bool:
    """Whether a CPU records gradients of what both make, in a type that needs no wider one for sums."""
    made = x.device.type == "cpu" and x.dtype == weight.dtype and x.dtype in (torch.float32, torch.float64)
    return made and torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
