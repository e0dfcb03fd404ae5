"""`ValueHead`: the return expected from each token on, for policy gradients (Schulman et al. 2017)."""

import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["ValueHead"]


class ValueHead(nn.Module):
    """Maps states (B, T, D) to values (B, T).

    It starts at zero, so that the first advantages are the rewards themselves.

    Args:
        d_in: D.
        dropout: share of features dropped.
    """

    def __init__(self, d_in: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.output = nn.Linear(d_in, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Returns values (B, T)."""
        values: Tensor = self.output(F.dropout(states, self.dropout, self.training)).squeeze(-1)
        return values
