"""`gpt`: a transformer of the decoder's make: RMSNorm, SwiGLU, no biases.

Two-way by default, since a classifier may read the whole text at once; `causal` makes it the
language model's reading order. Norms, activation, order and positions by option (LayerNorm,
ReLU², GELU, SiLU, pre-norm, rotary). Post-norm and learned positions, as in the first GPT
(Radford et al. 2018), are what does best from scratch on short texts; deeper stacks and long
texts want `norm_order = "pre"` and `positions = "rotary"`. Not for generation.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig
from ..nn.embedding import TokenEmbedding, token_embedding
from ..nn.position import PositionKind
from ..nn.transformer import Activation, Transformer, TransformerConfig
from ..text.vocabulary import Inputs

__all__ = ["Gpt", "GptConfig"]


class GptConfig(TransformerConfig, HeadConfig):
    """A decoder-style transformer."""

    norm: Literal["layer", "rms", "none"] = Field(
        default="rms", description="Normalization: layer (LayerNorm), rms (RMSNorm) or none."
    )
    activation: Activation = Field(
        default="swiglu",
        description="Activation of the feed-forward layers: relu, gelu, gelu-tanh, gelu-quick, silu, relu2 "
        "or swiglu.",
    )
    positions: PositionKind = Field(
        default="learned", description="Position encoding: none, sinusoidal, learned, rotary or alibi."
    )
    biases: bool = Field(default=False, description="Whether linear layers have biases.")


class Gpt(Backbone):
    """Embeddings and transformer."""

    embedding: TokenEmbedding

    def __init__(self, config: GptConfig, inputs: Inputs) -> None:
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
