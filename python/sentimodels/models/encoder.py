"""`encoder`: a transformer encoder (Vaswani et al. 2017) that reads both ways.

The plain choice: learned positions, LayerNorm, GELU; every other one by option. For
segments see `bert`; for RMSNorm and SwiGLU `gpt`.
"""

from torch import Tensor

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig
from ..nn.embedding import TokenEmbedding, token_embedding
from ..nn.transformer import Transformer, TransformerConfig
from ..text.vocabulary import Inputs

__all__ = ["Encoder", "EncoderConfig"]


class EncoderConfig(TransformerConfig, HeadConfig):
    """A transformer encoder."""


class Encoder(Backbone):
    """Embeddings and transformer."""

    embedding: TokenEmbedding

    def __init__(self, config: EncoderConfig, inputs: Inputs) -> None:
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
