"""`ClassHead`: logits of classes for a text. Pooling, dropout, then a linear map or a small network.

Not for losses. `HeadConfig` holds the fields of every architecture that classifies by states.
"""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from ..config import Section
from .pooling import Pooling, PoolingKind

__all__ = ["ClassHead", "HeadConfig"]


class HeadConfig(Section):
    """How states become logits."""

    pooling: PoolingKind = Field(
        default="mean-max",
        description="Pooling of token states: first, last, mean, max, mean-max, attention or cls (a learned "
        "first token).",
    )
    head: Literal["linear", "mlp"] = Field(
        default="linear",
        description="Classification head: linear or mlp (one hidden layer as wide as the pooled vector, "
        "SiLU).",
    )
    head_dropout: float = Field(
        default=0.3, ge=0, lt=1, description="Dropout of the pooled features, from 0 to 1."
    )

    @model_validator(mode="after")
    def _sees_the_text(self) -> Self:
        if getattr(self, "causal", False) and self.pooling in ("first", "cls"):
            raise ValueError(f"pooling {self.pooling!r} of a causal model sees one token: use last or mean")
        return self


class ClassHead(nn.Module):
    """Pools states (B, T, D) and maps them to logits (B, C).

    Args:
        config: pooling, depth, dropout.
        d_in: D.
        n_classes: C.
        backward: how many of the D features, the last ones, read from right to left.
    """

    def __init__(self, config: HeadConfig, d_in: int, n_classes: int, backward: int = 0) -> None:
        super().__init__()
        self.pooling = Pooling(config.pooling, d_in, backward)
        width = self.pooling.d_out
        last = nn.Linear(width, n_classes)
        nn.init.normal_(last.weight, std=0.02)
        nn.init.zeros_(last.bias)
        hidden = [nn.Linear(width, width), nn.SiLU()] if config.head == "mlp" else []
        self.network = nn.Sequential(nn.Dropout(config.head_dropout), *hidden, last)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C) of states where `mask` (B, T) is True; without one, of all."""
        if mask is None:
            mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        logits: Tensor = self.network(self.pooling(states, mask))
        return logits
