"""The head: from states to logits. Pooling, dropout, then a linear map or a small network.

Not for losses. `HeadConfig` holds the fields that every architecture with states shares.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from ..config import Section
from .pooling import Pooling, PoolingKind

__all__ = ["Head", "HeadConfig"]


class HeadConfig(Section):
    """How states become logits."""

    pooling: PoolingKind = Field(
        default="mean-max",
        description="first, last, mean, max, mean-max, attention or cls (a learned first token).",
    )
    head: Literal["linear", "mlp"] = Field(
        default="linear", description="linear, or mlp: one hidden layer as wide as the pooled vector, SiLU."
    )
    head_dropout: float = Field(default=0.3, ge=0, lt=1, description="Share of pooled features dropped.")


class Head(nn.Module):
    """Pools states (B, T, D) and maps them to logits (B, C)."""

    def __init__(self, config: HeadConfig, d_in: int, n_classes: int, backward: int = 0) -> None:
        super().__init__()
        self.pooling = Pooling(config.pooling, d_in, backward)
        width = self.pooling.d_out
        last = nn.Linear(width, n_classes)
        nn.init.normal_(last.weight, std=0.02)
        nn.init.zeros_(last.bias)
        hidden = [nn.Linear(width, width), nn.SiLU()] if config.head == "mlp" else []
        self.network = nn.Sequential(nn.Dropout(config.head_dropout), *hidden, last)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Returns logits (B, C)."""
        logits: Tensor = self.network(self.pooling(states, mask))
        return logits
