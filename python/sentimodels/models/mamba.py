"""`mamba`: a stack of selective state-space mixers (Gu and Dao 2023; Dao and Gu 2024).

Reads left to right; two-way by default, with a mixer for each direction whose outputs are
added (Zhu et al. 2024), each half as wide so that the parameters stay the same. At short
lengths attention is faster: its cost in T is quadratic but its constant small.
"""

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from ..nn.backbone import Backbone, Cache, Entry, through
from ..nn.class_head import HeadConfig
from ..nn.embedding import EmbeddingConfig, TokenEmbedding, token_embedding
from ..nn.recurrent import reversal, turn
from ..nn.ssm import SelectiveMixer
from ..text.vocabulary import Inputs

__all__ = ["Mamba", "MambaConfig"]


class MambaConfig(EmbeddingConfig, HeadConfig):
    """A state-space model over tokens."""

    d_model: int = Field(default=128, ge=1, description="Width of the hidden states.")
    n_layers: int = Field(default=2, ge=1, description="Number of layers.")
    d_state: int = Field(default=16, ge=1, description="Size of the hidden state of each feature.")
    d_conv: int = Field(default=4, ge=1, description="Width of the short convolution, in tokens.")
    expand: float = Field(
        default=2.0,
        gt=0,
        description="Inner width as a multiple of d_model; if bidirectional, half of it for each direction.",
    )
    d_head: int = Field(default=32, ge=1, description="Number of features that share one decay, a head.")
    bidirectional: bool = Field(default=True, description="Whether to read texts in both directions.")
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Dropout of each layer's output, from 0 to 1."
    )

    @model_validator(mode="after")
    def _possible(self) -> "MambaConfig":
        if self.expand * self.d_model / (1 + self.bidirectional) < self.d_head:
            raise ValueError(
                f"d_head {self.d_head} is wider than a direction: expand {self.expand:g} x "
                f"d_model {self.d_model}" + (" / 2" if self.bidirectional else "")
            )
        if self.pooling == "cls":
            raise ValueError("pooling cls needs attention; a state-space model has last and mean-max")
        return self


class MambaLayer(nn.Module):
    """Norm, a mixer for each direction, and a way around."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.norm = nn.RMSNorm(config.d_model, eps=1e-5)
        n_ways = 1 + config.bidirectional
        self.mixers = nn.ModuleList(
            SelectiveMixer(
                config.d_model, config.d_state, config.d_conv, config.expand / n_ways, config.d_head
            )
            for _ in range(n_ways)
        )

    def forward(self, x: Tensor, mask: Tensor | None, places: Tensor | None, entry: Entry | None) -> Tensor:
        """Mixes `x` (B, T, D); `places` turn each text round, where it is read both ways."""
        states = self.norm(x)
        out = self.mixers[0](states, mask, entry)
        if places is not None:
            out = out + turn(self.mixers[1](turn(states, places), mask), places)
        return x + F.dropout(out, self.dropout, self.training)


class Mamba(Backbone):
    """Embeddings and layers.

    Attributes:
        recompute: whether layers compute their states again in the backward pass.
    """

    recompute = False

    embedding: TokenEmbedding
    has_positions = False

    def __init__(self, config: MambaConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.d_out, self.causal, self.n_cached = config.d_model, not config.bidirectional, config.n_layers
        self.embedding = token_embedding(config, inputs, config.d_model, std=0.1)
        self.layers = nn.ModuleList(MambaLayer(config) for _ in range(config.n_layers))
        self.norm = nn.RMSNorm(config.d_model, eps=1e-5)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D); the order of tokens is their position."""
        self._no(segments=segments, positions=positions)
        x = self.embedding(input_ids, mask, **ngrams)
        places = None
        if self.config.bidirectional:
            places = reversal(torch.ones_like(input_ids, dtype=torch.bool) if mask is None else mask)
        if cache is not None:
            cache.advance(x.shape[1])
        for number, layer in enumerate(self.layers):
            entry = cache.entries[number] if cache is not None else None
            x = through(layer, x, mask, places, entry, recompute=self.recompute)
        states: Tensor = self.norm(x)
        return states
