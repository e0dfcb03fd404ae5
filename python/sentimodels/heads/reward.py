"""`RewardHead`: one number for a text, learnt from pairs of which one is preferred (Ouyang et al. 2022)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers.pooling import Pooling, PoolingKind

__all__ = ["RewardHead"]


class RewardHead(nn.Module):
    """Maps states (B, T, D) to rewards (B,).

    Args:
        d_in: D.
        pooling: which states are read; of a causal backbone the last has seen the whole text.
        backward: how many of the D features, the last ones, read from right to left.
    """

    def __init__(self, d_in: int, *, pooling: PoolingKind = "last", backward: int = 0) -> None:
        super().__init__()
        self.pooling = Pooling(pooling, d_in, backward)
        self.output = nn.Linear(self.pooling.d_out, 1)
        nn.init.normal_(self.output.weight, std=self.pooling.d_out**-0.5)
        nn.init.zeros_(self.output.bias)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns rewards (B,) of states where `mask` (B, T) is True; without one, of all."""
        if mask is None:
            mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        rewards: Tensor = self.output(self.pooling(states, mask)).squeeze(-1)
        return rewards

    @staticmethod
    def loss(preferred: Tensor, other: Tensor) -> Tensor:
        """Returns the loss (B,) of pairs: -log sigmoid of the difference of their rewards."""
        return -F.logsigmoid(preferred - other)
