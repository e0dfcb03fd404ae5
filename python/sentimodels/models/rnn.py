"""`rnn`, `gru`, `lstm`: recurrent networks, one- or two-way, in layers.

The cells are torch's; what differs between the three rows of the table is the cell.
Reading both ways, pooling over all states and gradient clipping are what makes them good.
"""

from pydantic import Field, model_validator
from torch import Tensor

from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig
from ..nn.embedding import EmbeddingConfig, TokenEmbedding, token_embedding
from ..nn.recurrent import CellKind, Recurrent
from ..text.vocabulary import Inputs

__all__ = ["GruConfig", "LstmConfig", "RecurrentNetwork", "RnnConfig"]


class RnnConfig(EmbeddingConfig, HeadConfig):
    """A recurrent network over tokens."""

    d_model: int = Field(default=160, ge=1, description="Width of the embeddings.")
    d_hidden: int = Field(
        default=320,
        ge=2,
        description="Width of a layer's hidden states; if bidirectional, half of it for each direction.",
    )
    n_layers: int = Field(default=1, ge=1, description="Number of layers.")
    bidirectional: bool = Field(default=True, description="Whether to read texts in both directions.")
    dropout: float = Field(
        default=0.3, ge=0, lt=1, description="Dropout of the features between layers, from 0 to 1."
    )

    @model_validator(mode="after")
    def _possible(self) -> "RnnConfig":
        if self.bidirectional and self.d_hidden % 2:
            raise ValueError(f"d_hidden {self.d_hidden} must be even to be shared by two directions")
        if self.pooling == "cls":
            raise ValueError("pooling cls needs attention; a recurrent network has last and mean-max")
        return self

    @property
    def cell(self) -> CellKind:
        """The recurrent cell."""
        return "rnn"


class GruConfig(RnnConfig):
    """A gated recurrent unit over tokens."""

    @property
    def cell(self) -> CellKind:
        """The recurrent cell."""
        return "gru"


class LstmConfig(RnnConfig):
    """A long short-term memory over tokens."""

    @property
    def cell(self) -> CellKind:
        """The recurrent cell."""
        return "lstm"


class RecurrentNetwork(Backbone):
    """Embeddings and recurrent layers."""

    embedding: TokenEmbedding
    has_positions = pads_left = False

    def __init__(self, config: RnnConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.embedding = token_embedding(config, inputs, config.d_model, std=0.1)
        self.recurrent = Recurrent(
            config.cell,
            config.d_model,
            config.d_hidden,
            config.n_layers,
            config.bidirectional,
            config.dropout,
        )
        self.d_out, self.backward_width = self.recurrent.d_out, self.recurrent.backward_width
        self.causal, self.n_cached = not config.bidirectional, config.n_layers

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D); the order of tokens is their position."""
        self._no(segments=segments, positions=positions)
        if cache is not None:
            cache.advance(input_ids.shape[1])
        x = self.embedding(input_ids, mask, **ngrams)
        states: Tensor = self.recurrent(x, mask, cache.entries if cache is not None else None)
        return states
