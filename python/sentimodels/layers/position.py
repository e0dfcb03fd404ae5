"""Positions: none, sinusoidal, learned (added to embeddings); rotary, ALiBi (inside attention).

Sinusoidal: Vaswani et al. 2017, 3.5. Rotary: Su et al. 2021, in the half-split form.
ALiBi: Press et al. 2022; its two-way form takes the distance without its sign.
Not for deciding which one a model uses (`transformer.py`).
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

    def forward(self, x: Tensor) -> Tensor:
        """Adds positions to `x` (B, T, D)."""
        half = torch.arange(0, self.d_model, 2, device=x.device, dtype=torch.float32)
        frequency = torch.exp(-math.log(10_000.0) * half / self.d_model)
        angle = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)[:, None] * frequency
        table = torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, : self.d_model]
        return x + table.to(x.dtype)


class Learned(nn.Module):
    """Adds a learned vector for each of the first `max_len` places."""

    def __init__(self, max_len: int, d_model: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        """Adds positions to `x` (B, T, D).

        Raises:
            ValueError: if there are more places than were learned.
        """
        n_tokens = x.shape[1]
        if n_tokens > len(self.weight):
            raise ValueError(
                f"{n_tokens} tokens, but positions are learned for {len(self.weight)}: "
                "raise model.max_len, or lower data.max_tokens"
            )
        return x + self.weight[:n_tokens]


def rotary_angles(n_tokens: int, d_head: int, theta: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines (T, K / 2) of the rotary angles."""
    pair = torch.arange(0, d_head, 2, device=device, dtype=torch.float32)
    angle = torch.arange(n_tokens, device=device, dtype=torch.float32)[:, None] * theta ** (-pair / d_head)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turns each pair (i, i + K/2) of `x` (B, H, T, K) by the angle of its place."""
    first, second = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def _slopes(n_heads: int) -> list[float]:
    """Returns the slope of each head: a geometric series, as in the paper for any number of heads."""
    power = 2 ** math.floor(math.log2(n_heads))
    series = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2.0 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return (series + between)[:n_heads]


def alibi(n_tokens: int, n_heads: int, device: torch.device) -> Tensor:
    """Returns the bias (1, H, T, T) that falls with distance."""
    place = torch.arange(n_tokens, device=device, dtype=torch.float32)
    distance = (place[:, None] - place).abs()
    return -torch.tensor(_slopes(n_heads), device=device)[None, :, None, None] * distance
