"""`linear`: a transformer of the decoder's make whose attention is linear in the length of a text.

Queries and keys pass through elu + 1 and meet in a sum that grows token by token, so a causal one writes with
a state of one size (Katharopoulos et al. 2020). Two-way by default, as the other classifiers.
"""

from typing import Literal

from pydantic import Field

from ..nn.class_head import HeadConfig
from ..nn.transformer import Activation, AttentionKind, TransformerBackbone, TransformerConfig

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


class Linear(TransformerBackbone):
    """Embeddings and transformer."""
