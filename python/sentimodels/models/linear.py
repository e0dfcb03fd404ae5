"""`linear`: a transformer of the decoder's make whose attention is linear in the length of a text.

Queries and keys pass through elu + 1 and meet in a sum that grows token by token, so a causal one writes with
a state of one size (Katharopoulos et al. 2020). Two-way by default, as the other classifiers. Not for the
other kinds of attention, which `gpt` and `encoder` have as `model.attention`.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig
from ..nn.embedding import TokenEmbedding, token_embedding
from ..nn.transformer import Activation, AttentionKind, Transformer, TransformerConfig
from ..text.vocabulary import Inputs

__all__ = ["Linear", "LinearConfig"]


class LinearConfig(TransformerConfig, HeadConfig):
    """A decoder-style transformer with linear attention."""

    attention: AttentionKind = Field(
        default="linear-elu",
        description="Kind of attention: linear-elu, linear-softmax, softmax, plain (its test oracle) or "
        "nystrom.",
    )
    norm: Literal["layer", "rms", "none"] = Field(
        default="rms", description="Normalization: layer (LayerNorm), rms (RMSNorm) or none."
    )
    activation: Activation = Field(
        default="swiglu",
        description="Activation of the feed-forward layers: relu, gelu, gelu-tanh, gelu-quick, silu, relu2 "
        "or swiglu.",
    )
    biases: bool = Field(default=False, description="Whether linear layers have biases.")


class Linear(Backbone):
    """Embeddings and transformer."""

    embedding: TokenEmbedding

    def __init__(self, config: LinearConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.d_out, self.causal, self.n_cached = config.d_model, config.causal, config.n_layers
        self.n_prefix = int(config.pooling == "cls")
        self.embedding = token_embedding(config, inputs, config.d_model, std=0.1)
        self.transformer = Transformer(config, prefix=bool(self.n_prefix))

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D), with pooling `cls` (B, 1 + T, D)."""
        self._no(segments=segments)
        x = self.embedding(input_ids, mask, **ngrams)
        states: Tensor = self.transformer(x, mask, positions, cache)
        return states
