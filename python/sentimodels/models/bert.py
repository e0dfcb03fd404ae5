"""`bert`: an encoder as in Devlin et al. 2019: segments, post-norm, exact GELU, init 0.02.

Token, segment and position embeddings are summed, normalised and dropped out. Pooling
`cls` reads a learned first token, for tokenizers that have no [CLS]. Not for pre-training:
the masked-language-model head belongs to `lm`.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from ..layers.embedding import TokenEmbedding
from ..layers.head import Head
from ..layers.transformer import Transformer, TransformerConfig
from ..text.inputs import Inputs

__all__ = ["Bert", "BertConfig"]


class BertConfig(TransformerConfig):
    """An encoder with segments."""

    norm_order: Literal["pre", "post"] = Field(
        default="post", description="Norm before or after the sub-layer."
    )
    norm_eps: float = Field(default=1e-12, gt=0, description="Added to the variance.")
    n_segments: int = Field(default=2, ge=1, description="Kinds of segment.")
    init_std: float = Field(default=0.02, gt=0, description="Standard deviation that weights start with.")


class Bert(nn.Module):
    """Token, segment and position embeddings, transformer, head."""

    def __init__(self, config: BertConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config, inputs, config.d_model, std=config.init_std)
        self.segments = nn.Embedding(config.n_segments, config.d_model)
        nn.init.normal_(self.segments.weight, std=config.init_std)
        entry = nn.Sequential(nn.LayerNorm(config.d_model, eps=config.norm_eps), nn.Dropout(config.dropout))
        self.transformer = Transformer(config, std=config.init_std, entry=entry)
        self.head = Head(config, config.d_model, inputs.n_classes)

    def forward(self, input_ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        """Returns logits (B, C).

        Args:
            input_ids: (B, T).
            mask: (B, T), True at real tokens.
            segments: (B, T), which segment a token is of; without it all are of the first.
        """
        x = self.embedding(input_ids, mask)
        x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        logits: Tensor = self.head(*self.transformer(x, mask))
        return logits
