"""`NextTokenHead`: logits of the token that follows each state, and their loss.

Tied (Press and Wolf 2017), it reads the table of the backbone's embedding, which is handed to
each call and so saved once, with the backbone; otherwise it has its own table.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .backbone import Backbone
from .cross_entropy import IGNORED, chunked_cross_entropy, summed_cross_entropy

__all__ = ["MaskedTokenHead", "NextSentenceHead", "NextTokenHead"]


class NextTokenHead(nn.Module):
    """Maps states (B, T, D) to logits (B, T, V).

    Args:
        backbone: gives the states; its embedding is marked as tied, if it is to be.
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
            backbone: gives the states.
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


class MaskedTokenHead(nn.Module):
    """Maps states (..., D) to logits (..., V), by the table of the backbone's embedding.

    As BERT's (Devlin et al. 2019). A masked token's state goes through a layer, GELU and a norm, then to
    the embedding's table and a bias of each word. The first state goes through a layer and tanh to two
    classes. Only the states that have a loss are read, so nothing is spent on the other 85 %.

    Args:
        backbone: gives the states; its embedding is marked as tied.
        vocab_size: V.
        eps: of the norm.
        std: standard deviation that the layer starts with.
    """

    def __init__(self, backbone: Backbone, vocab_size: int, *, eps: float = 1e-12, std: float = 0.02) -> None:
        super().__init__()
        width = backbone.token_table().shape[1]
        self.layer = nn.Linear(backbone.d_out, width)
        nn.init.normal_(self.layer.weight, std=std)
        nn.init.zeros_(self.layer.bias)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        backbone.tie()

    def _read(self, states: Tensor) -> Tensor:
        out: Tensor = self.norm(F.gelu(self.layer(states)))
        return out

    def forward(self, states: Tensor, backbone: Backbone) -> Tensor:
        """Returns logits (..., V)."""
        return F.linear(self._read(states), backbone.token_table(), self.bias)

    def loss(self, states: Tensor, targets: Tensor, backbone: Backbone, *, chunk: int = 1024) -> Tensor:
        """Returns the cross entropy (M,) of the M masked tokens.

        Args:
            states: (B, T, D).
            targets: (B, T), the word that was masked, `IGNORED` elsewhere.
            backbone: gives the states.
            chunk: tokens whose logits exist at once.
        """
        masked = targets != IGNORED
        read = self._read(states[masked])
        return chunked_cross_entropy(read, backbone.token_table(), targets[masked], self.bias, chunk=chunk)


class NextSentenceHead(nn.Module):
    """Maps the first state to two logits (B, 2): whether the second segment follows the first, or not.

    Args:
        d_in: D.
        std: standard deviation that the layers start with.
    """

    def __init__(self, d_in: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.pooler = nn.Linear(d_in, d_in)
        self.output = nn.Linear(d_in, 2)
        for layer in (self.pooler, self.output):
            nn.init.normal_(layer.weight, std=std)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Returns logits (B, 2) of states (B, T, D)."""
        logits: Tensor = self.output(torch.tanh(self.pooler(states[:, 0])))
        return logits
