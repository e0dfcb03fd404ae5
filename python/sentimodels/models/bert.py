"""`bert`: an encoder as in Devlin et al. 2019: segments, post-norm, exact GELU, init 0.02.

Token, segment and position embeddings are summed, normalised and dropped out. Pooling
`cls` reads a learned first token, for tokenizers that have no [CLS]. The head that guesses masked
tokens is `nn/token_heads.py`.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig
from ..nn.embedding import TokenEmbedding, token_embedding
from ..nn.transformer import Transformer, TransformerConfig
from ..text.vocabulary import Inputs

__all__ = ["Bert", "BertConfig"]


class BertConfig(TransformerConfig, HeadConfig):
    """An encoder with segments."""

    norm_order: Literal["pre", "post"] = Field(
        default="post",
        description="Place of the normalization: pre (before each sub-layer) or post (after it).",
    )
    norm_eps: float = Field(
        default=1e-12, gt=0, description="Epsilon added to the variance in normalization."
    )
    n_segments: int = Field(default=2, ge=1, description="Number of kinds of segments.")
    init_std: float = Field(default=0.02, gt=0, description="Standard deviation of the initial weights.")


class Bert(Backbone):
    """Token, segment and position embeddings, and transformer."""

    embedding: TokenEmbedding

    def __init__(self, config: BertConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.d_out, self.causal, self.n_cached = config.d_model, config.causal, config.n_layers
        self.n_prefix = int(config.pooling == "cls")
        self.embedding = token_embedding(config, inputs, config.d_model, std=config.init_std)
        self.segments = nn.Embedding(config.n_segments, config.d_model)
        nn.init.normal_(self.segments.weight, std=config.init_std)
        entry = nn.Sequential(nn.LayerNorm(config.d_model, eps=config.norm_eps), nn.Dropout(config.dropout))
        self.transformer = Transformer(config, std=config.init_std, entry=entry, prefix=bool(self.n_prefix))

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D), with pooling `cls` (B, 1 + T, D); without segments all are the first."""
        x = self.embedding(input_ids, mask, **ngrams)
        x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        states: Tensor = self.transformer(x, mask, positions, cache)
        return states
