"""Pooling: one vector for a text out of the states of its tokens.

All kinds read real tokens only, and give zeros for a text that has none. `cls` is the
first place, where the model has put a learned vector (`prepend`). For the half of a
state that reads from right to left, the last state is the one at the first token.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Pooling", "PoolingKind", "prepend"]

PoolingKind = Literal["first", "last", "mean", "max", "mean-max", "attention", "cls"]


class Pooling(nn.Module):
    """Pools states (B, T, D) to (B, `d_out`).

    Args:
        kind: which pooling.
        d_in: D.
        backward: how many of the D features, the last ones, read from right to left.
    """

    def __init__(self, kind: PoolingKind, d_in: int, backward: int = 0) -> None:
        super().__init__()
        self.kind = kind
        self.forward_width = d_in - backward
        self.d_out = 2 * d_in if kind == "mean-max" else d_in
        if kind == "attention":
            self.score = nn.Linear(d_in, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Pools `states` (B, T, D) where `mask` (B, T) is True."""
        match self.kind:
            case "first" | "cls":
                first: Tensor = states[:, 0] * mask[:, :1]
                return first
            case "last":
                return self._last(states, mask)
            case "mean":
                return _mean(states, mask)
            case "max":
                return _max(states, mask)
            case "mean-max":
                return torch.cat((_mean(states, mask), _max(states, mask)), -1)
            case "attention":
                score: Tensor = self.score(states).squeeze(-1)
                score = score.masked_fill(~mask, torch.finfo(score.dtype).min)
                weight = score.softmax(-1) * mask  # all padded: zeros, not an average of padding
                return (weight[:, None, :] @ states).squeeze(1)

    def _last(self, states: Tensor, mask: Tensor) -> Tensor:
        # The last real place, on whichever side padding lies.
        end = (mask * torch.arange(mask.shape[1], device=mask.device)).amax(1)
        last = states[torch.arange(len(states), device=states.device), end]
        width = self.forward_width
        return torch.cat((last[:, :width], states[:, 0, width:]), -1) * mask.any(1, keepdim=True)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    # As a matrix product: no copy of the states with the padding set to zero.
    weight = mask / mask.sum(1, keepdim=True).clamp(min=1)
    return (weight[:, None, :].to(states.dtype) @ states).squeeze(1)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    hidden = states.masked_fill(~mask[..., None], torch.finfo(states.dtype).min)
    return hidden.amax(1) * mask[:, :1]


def prepend(vector: Tensor, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Puts `vector` (D) before each text of `x` (B, T, D), and widens the mask."""
    first = vector.expand(len(x), 1, -1).to(x.dtype)
    return torch.cat((first, x), 1), None if mask is None else F.pad(mask, (1, 0), value=True)
