"""`encoder`: a transformer encoder (Vaswani et al. 2017) that reads both ways.

The plain choice: learned positions, LayerNorm, GELU; every other one by option. For
segments see `bert`; for RMSNorm and SwiGLU `gpt`.
"""

from torch import Tensor, nn

from ..layers.embedding import TokenEmbedding
from ..layers.head import Head
from ..layers.transformer import Transformer, TransformerConfig
from ..text.inputs import Inputs

__all__ = ["Encoder", "EncoderConfig"]


class EncoderConfig(TransformerConfig):
    """A transformer encoder."""


class Encoder(nn.Module):
    """Embeddings, transformer, head."""

    def __init__(self, config: EncoderConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config, inputs, config.d_model, std=0.1)
        self.transformer = Transformer(config)
        self.head = Head(config, config.d_model, inputs.n_classes)

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Returns logits (B, C)."""
        logits: Tensor = self.head(*self.transformer(self.embedding(input_ids, mask), mask))
        return logits
