"""`NextTokenHead`: logits of the token that follows each state, and their loss.

Tied (Press and Wolf 2017), it reads the table of the backbone's embedding, which is handed to
each call and so saved once, with the backbone; else it has a table of its own.
"""

import torch
from torch import Tensor, nn

from .backbone import Backbone
from .cross_entropy import chunked_cross_entropy, summed_cross_entropy

__all__ = ["NextTokenHead"]


class NextTokenHead(nn.Module):
    """Maps states (B, T, D) to logits (B, T, V).

    Args:
        backbone: what the states come from; its embedding is marked as tied, if it is to be.
        vocab_size: V.
        tied: whether the embedding's table is read. It must be as wide as a state.

    Raises:
        ValueError: if it cannot be tied.
    """

    def __init__(self, backbone: Backbone, vocab_size: int, *, tied: bool = True) -> None:
        super().__init__()
        self.weight: nn.Parameter | None = None
        if tied:
            table = backbone.token_table()
            if table.shape != (vocab_size, backbone.d_out):
                raise ValueError(
                    f"an embedding {tuple(table.shape)} cannot be tied to states of width {backbone.d_out} "
                    f"and a vocabulary of {vocab_size}: use tied=False"
                )
            backbone.tie()
        else:
            self.weight = nn.Parameter(torch.empty(vocab_size, backbone.d_out))
            nn.init.normal_(self.weight, std=0.02)

    def table(self, backbone: Backbone) -> Tensor:
        """Returns the table (V, D) that is read."""
        return backbone.token_table() if self.weight is None else self.weight

    def forward(self, states: Tensor, backbone: Backbone) -> Tensor:
        """Returns logits (..., V) of states (..., D)."""
        return nn.functional.linear(states, self.table(backbone))

    def loss(self, states: Tensor, targets: Tensor, backbone: Backbone, *, chunk: int = 1024) -> Tensor:
        """Returns the cross entropy (B, T) of each token's successor; see `chunked_cross_entropy`.

        Args:
            states: (B, T, D).
            targets: (B, T), the token that follows each, or `IGNORED`.
            backbone: what the states come from.
            chunk: tokens whose logits exist at once.
        """
        return chunked_cross_entropy(states, self.table(backbone), targets, chunk=chunk)

    def summed_loss(
        self,
        states: Tensor,
        targets: Tensor,
        backbone: Backbone,
        *,
        chunk: int | None = None,
        compiled: bool = False,
    ) -> Tensor:
        """Returns the sum of what `loss` returns, in less time; see `summed_cross_entropy`."""
        return summed_cross_entropy(states, self.table(backbone), targets, chunk=chunk, compiled=compiled)
