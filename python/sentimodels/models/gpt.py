"""`gpt`: a transformer of the decoder's make: RMSNorm, SwiGLU, no biases.

Two-way by default, since a classifier may read the whole text at once; `causal` makes it the
language model's reading order. Norms, activation, order and positions by option (LayerNorm,
ReLU², GELU, SiLU, pre-norm, rotary). Post-norm and learned positions, as in the first GPT
(Radford et al. 2018), are what does best from scratch on short texts; deeper stacks and long
texts want `norm_order = "pre"` and `positions = "rotary"`. Not for generation.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from ..layers.embedding import TokenEmbedding
from ..layers.head import Head
from ..layers.position import PositionKind
from ..layers.transformer import Activation, Transformer, TransformerConfig
from ..text.inputs import Inputs

__all__ = ["Gpt", "GptConfig"]


class GptConfig(TransformerConfig):
    """A decoder-style transformer."""

    norm: Literal["layer", "rms", "none"] = Field(default="rms", description="layer, rms or none.")
    activation: Activation = Field(
        default="swiglu",
        description="relu, gelu, gelu-quick, silu, relu2 or swiglu, in the feed-forward part.",
    )
    positions: PositionKind = Field(
        default="learned", description="none, sinusoidal, learned, rotary or alibi."
    )
    biases: bool = Field(default=False, description="Whether linear maps have biases.")


class Gpt(nn.Module):
    """Embeddings, transformer, head."""

    def __init__(self, config: GptConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config, inputs, config.d_model, std=0.1)
        self.transformer = Transformer(config)
        self.head = Head(config, config.d_model, inputs.n_classes)

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Returns logits (B, C)."""
        logits: Tensor = self.head(*self.transformer(self.embedding(input_ids, mask), mask))
        return logits
