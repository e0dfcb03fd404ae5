"""`TokenProbs`: the probability of each token that is written, and the likeliest ones in its place.

Not for taking tokens (`sampling.py`): probabilities are the model's own, before temperature and
penalties, so that a text shows what the model expected and not how it was asked to draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Step", "TokenProbs"]


@dataclass(frozen=True)
class Step:
    """A token that was taken.

    Attributes:
        row: the number of its prompt.
        id: the token.
        p: its probability.
        likely: the likeliest tokens of that place with theirs, likeliest first.
    """

    row: int
    id: int
    p: float
    likely: tuple[tuple[int, float], ...]


class TokenProbs:
    """Keeps the steps of a text that is being written, for `LanguageModel.pieces(watch=...)`.

    Args:
        n: how many of the likeliest tokens to keep of each step.
    """

    def __init__(self, n: int = 5) -> None:
        self._n = n
        self._steps: list[Step] = []

    def __call__(self, rows: Sequence[int], logits: Tensor, taken: Sequence[int]) -> None:
        """Takes in one step: logits (B, V) of the rows, and the token of each."""
        shares = torch.softmax(logits.double(), dim=-1)
        best, ids = shares.topk(min(self._n, shares.shape[-1]), dim=-1)
        for place, (row, id) in enumerate(zip(rows, taken, strict=True)):
            likely = zip(ids[place].tolist(), best[place].tolist(), strict=True)
            self._steps.append(Step(row, id, float(shares[place, id]), tuple(likely)))

    def take(self) -> list[Step]:
        """Returns the steps since the last call."""
        steps, self._steps = self._steps, []
        return steps
