"""`gpt`: a transformer of the decoder's make: RMSNorm, SwiGLU, no biases.

As a classifier it is two-way, since it may read the whole text at once; as a language model it is `causal`,
which `senti pretrain` sets. Norms, activation, order and positions by option (LayerNorm, ReLU², GELU, SiLU,
pre-norm, rotary). Post-norm and learned positions, as in the first GPT (Radford et al. 2018), are what does
best from scratch on short texts; deeper stacks and long texts want `norm_order = "pre"` and `positions =
"rotary"`.
"""

from typing import Literal

from pydantic import Field

from ..nn.class_head import HeadConfig
from ..nn.embedding import PositionKind
from ..nn.transformer import Activation, TransformerBackbone, TransformerConfig

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


class Gpt(TransformerBackbone):
    """Embeddings and transformer."""
