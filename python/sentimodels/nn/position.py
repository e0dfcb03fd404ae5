"""Positions: none, sinusoidal, learned (added to embeddings); rotary, ALiBi (inside attention).

Sinusoidal: Vaswani et al. 2017, 3.5. Rotary: Su et al. 2021, in the half-split form.
ALiBi: Press et al. 2022; its two-way form takes the distance without its sign.
All take positions as a tensor, (T,) for all texts or (B, T) for each, so that a text may go
on where an earlier call ended or begin after padding. Not for deciding which one a model uses
(`transformer.py`).
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

__all__ = ["Learned", "PositionKind", "Sinusoidal", "alibi", "rotary_angles", "rotate"]

PositionKind = Literal["none", "sinusoidal", "learned", "rotary", "alibi"]


class Sinusoidal(nn.Module):
    """Adds sines and cosines of falling frequency."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Adds positions to `x` (B, T, D)."""
        half = torch.arange(0, self.d_model, 2, device=x.device, dtype=torch.float32)
        frequency = torch.exp(-math.log(10_000.0) * half / self.d_model)
        angle = positions[..., None].to(torch.float32) * frequency
        table = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[..., : self.d_model]
        return x + table.to(x.dtype)


class Learned(nn.Module):
    """Adds a learned vector for each of the first `max_len` places."""

    def __init__(self, max_len: int, d_model: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=std)

    def forward(self, x: Tensor, positions: Tensor | int) -> Tensor:
        """Adds positions to `x` (B, T, D).

        Args:
            x: the embeddings.
            positions: (T,) or (B, T), or that of the first token where the others follow.

        Raises:
            ValueError: if there are more places than were learned.
        """
        if isinstance(positions, int):
            self._check(positions + x.shape[1])
            return x + self.weight[positions : positions + x.shape[1]]
        if positions.device.type == "cpu" and not torch.compiler.is_compiling():
            self._check(int(positions.max()) + 1)
        return x + nn.functional.embedding(positions, self.weight)

    def _check(self, n_tokens: int) -> None:
        if n_tokens > len(self.weight):
            raise ValueError(
                f"{n_tokens} tokens, but positions are learned for {len(self.weight)}: "
                "raise model.max_len, or lower data.max_tokens"
            )


def rotary_angles(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines of the rotary angles, (T, K / 2) or (B, 1, T, K / 2)."""
    if torch.compiler.is_dynamo_compiling():
        cos, sin = _angles_once(positions, d_head, theta)
    else:
        cos, sin = _angles(positions, d_head, theta)
    return (cos[:, None], sin[:, None]) if positions.ndim == 2 else (cos, sin)  # heads turn alike


def _angles(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines (..., T, K / 2) of positions (..., T)."""
    pair = torch.arange(0, d_head, 2, device=positions.device, dtype=torch.float32)
    angle = positions[..., None].to(torch.float32) * theta ** (-pair / d_head)
    return angle.cos(), angle.sin()


# A compiler would work them out again for each number that is turned, in every layer; what an operator
# returns, it keeps. On an H200 that was a fifth of a step.
_angles_once = torch.library.custom_op("sentimodels::rotary_angles", _angles, mutates_args=())


@_angles_once.register_fake
def _(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:  # noqa: ARG001  # 2026-11-27: as above
    cos = positions.new_empty((*positions.shape, (d_head + 1) // 2), dtype=torch.float32)
    return cos, torch.empty_like(cos)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turns each pair (i, i + K/2) of `x` (B, H, T, K) by the angle of its place."""
    first, second = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def _slopes(n_heads: int) -> list[float]:
    """Returns the slope of each head: a geometric series, as in the paper for any number of heads."""
    power = 1 << (n_heads.bit_length() - 1)
    series = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2.0 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return (series + between)[:n_heads]


def alibi(queries: Tensor, keys: Tensor, n_heads: int) -> Tensor:
    """Returns the bias (B or 1, H, T, S) that falls with the distance of positions.

    Args:
        queries: positions (T,) or (B, T).
        keys: positions (S,) or (B, S).
        n_heads: H.
    """
    distance = (keys[..., None, :] - queries[..., :, None]).abs().to(torch.float32)  # (T, S) or (B, T, S)
    slopes = torch.tensor(_slopes(n_heads), device=keys.device)[:, None, None]
    return -slopes * (distance[:, None] if distance.ndim == 3 else distance[None, None])
