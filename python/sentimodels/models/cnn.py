"""`cnn`: TextCNN (Kim 2014): convolutions over tokens, pooled over the text.

Channels: `tuned` embeddings that learn, `static` ones read from a vectors file that stay as they are, or
`both`. Every window starts at a real token and sees zeros past the end, so padding changes nothing.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field, field_validator
from torch import Tensor, nn

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig, PoolingKind
from ..nn.embedding import (
    EmbeddingConfig,
    StaticEmbedding,
    TokenEmbedding,
    start_vectors,
    token_embedding,
)
from ..text.vocabulary import Inputs

__all__ = ["Cnn", "CnnConfig"]


class CnnConfig(EmbeddingConfig, HeadConfig):
    """A convolutional network over tokens."""

    d_model: int = Field(default=128, ge=1, description="Width of the embeddings.")
    kernels: tuple[int, ...] = Field(
        default=(2, 3, 4, 5), min_length=1, description="Widths of the convolution windows, in tokens."
    )
    filters: int = Field(default=100, ge=1, description="Number of filters of each window width.")
    channels: Literal["tuned", "static", "both"] = Field(
        default="tuned",
        description="Embeddings to read: tuned (trained), static (vectors from data.vectors) or both.",
    )
    pooling: PoolingKind = Field(
        default="max", description="Pooling of token states: first, last, mean, max, mean-max or attention."
    )

    @field_validator("kernels")
    @classmethod
    def _positive(cls, kernels: tuple[int, ...]) -> tuple[int, ...]:
        if min(kernels) < 1:
            raise ValueError(f"kernels {list(kernels)}: a window has at least 1 token")
        return kernels

    @field_validator("pooling")
    @classmethod
    def _known(cls, pooling: PoolingKind) -> PoolingKind:
        if pooling == "cls":
            raise ValueError(
                "pooling cls needs attention: a window at the first token sees little of the text"
            )
        return pooling


class Cnn(Backbone):
    """Embeddings, and one convolution for each width."""

    def __init__(self, config: CnnConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.embedding: TokenEmbedding | None = None
        self.static: StaticEmbedding | None = None
        n_channels = 0
        if config.channels in ("tuned", "both"):
            self.embedding = token_embedding(config, inputs, config.d_model, std=0.1)
            n_channels += 1
        if config.channels in ("static", "both"):
            # Without vectors (a model about to be loaded) its place is kept.
            given = inputs.vectors
            empty = torch.zeros(inputs.vocab_size, config.d_model)
            vectors = empty if given is None else start_vectors(given, config.d_model).clone()
            self.static = StaticEmbedding(vectors, config.embedding_dropout)
            n_channels += 1
        width = n_channels * config.d_model
        self.convolutions = nn.ModuleList(nn.Conv1d(width, config.filters, size) for size in config.kernels)
        for name, parameter in self.convolutions.named_parameters():
            (nn.init.xavier_uniform_ if name.endswith("weight") else nn.init.zeros_)(parameter)
        self.d_out = config.filters * len(config.kernels)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D)."""
        self._no(segments=segments, positions=positions, cache=cache)
        channels = []
        if self.embedding is not None:
            channels.append(self.embedding(input_ids, mask, **ngrams))
        if self.static is not None:
            channels.append(self.static(input_ids, mask))
        x = torch.cat(channels, -1).transpose(1, 2)  # (B, D, T)
        feature_maps = [
            F.relu(convolution(F.pad(x, (0, size - 1))))  # one window for each token
            for size, convolution in zip(self.config.kernels, self.convolutions, strict=True)
        ]
        return torch.cat(feature_maps, 1).transpose(1, 2)
