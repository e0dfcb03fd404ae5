"""`turned_heads`: rotary positions of a whole projection, with a backward pass of its own.

What `rotate` of `position.py` does for queries and keys, bit by bit, in about half the time where
gradients are recorded: both are turned at once, by loops as long as a token is wide, and their gradients are
turned back into the one tensor that the projection reads. Not for gradients of gradients, nor for what is
compiled: a compiler joins such passes by itself.
"""

from typing import Any

import torch
from torch import Tensor

__all__ = ["turned_heads"]


class _Turned(torch.autograd.Function):
    """Queries, keys and values of a projection."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, n_heads: int, n_shared: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        half = cos.shape[-1]
        n_turned = n_heads + n_shared
        cos = torch.cat((cos, cos), -1).to(x.dtype).repeat(*[1] * (cos.ndim - 1), n_turned)
        sin = torch.cat((-sin, sin), -1).to(x.dtype).repeat(*[1] * (sin.ndim - 1), n_turned)
        out = torch.empty(*x.shape[:-1], cos.shape[-1], dtype=x.dtype, device=x.device)
        _turn(x[..., : cos.shape[-1]], cos, sin, half, out)
        ctx.sizes = n_heads, n_shared, half
        ctx.save_for_backward(cos, sin)
        parts = (*out.tensor_split([2 * half * n_heads], -1), x[..., cos.shape[-1] :])
        q, k, v = (part.unflatten(-1, (-1, 2 * half)).transpose(1, 2) for part in parts)
        return q, k, v

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        n_heads, n_shared, half = ctx.sizes
        cos, sin = ctx.saved_tensors
        by_q, by_k, by_v = (slope.transpose(1, 2).flatten(2) for slope in slopes)
        width = cos.shape[-1]
        by_x = torch.empty(*by_q.shape[:2], width + 2 * half * n_shared, dtype=by_q.dtype, device=by_q.device)
        ends = (0, 2 * half * n_heads, width)
        for slope, start, end in zip((by_q, by_k), ends[:-1], ends[1:], strict=True):
            of = slice(start, end)
            _turn(slope, cos[..., of], -sin[..., of], half, by_x[..., of])  # back by the same angle
        by_x[..., width:].copy_(by_v)
        return by_x, None, None, None, None


def _turn(x: Tensor, cos: Tensor, sin: Tensor, half: int, out: Tensor) -> None:
    """Writes the heads of `x` (B, T, N K) turned to `out`; `sin` has the sign of each place."""
    pairs = x.unflatten(-1, (-1, 2, half))
    swapped = torch.cat((pairs[..., 1:, :], pairs[..., :1, :]), -2).flatten(-3)
    torch.mul(x, cos, out=out).add_(swapped.mul_(sin))


def turned_heads(
    x: Tensor, cos: Tensor, sin: Tensor, n_heads: int, n_shared: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns queries (B, H, T, K), keys and values (B, G, T, K), the first two turned by their places.

    Args:
        x: (B, T, (H + 2 G) K), the projection.
        cos: (T, K / 2) or (B, 1, T, K / 2), of `rotary_angles`.
        sin: the same.
        n_heads: H.
        n_shared: G.
    """
    if cos.ndim == 4:
        cos, sin = cos[:, 0], sin[:, 0]
    q, k, v = _Turned.apply(x, cos, sin, n_heads, n_shared)
    return q, k, v
