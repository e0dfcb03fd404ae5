"""`Seq2SeqModel`: an encoder reads a source, a decoder writes a target (Vaswani et al. 2017).

Built of `nn/`: the encoder is a two-way transformer, the decoder a causal one whose blocks look at the
encoder's states as well. One table of vectors serves source, target and output (Press and Wolf 2017), or two,
or three. Sources are padded on the right and masked; targets are padded on the right, where no real token
looks, and need no mask.
"""

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from ..config import Section
from ..nn.backbone import Cache
from ..nn.embedding import EmbeddingConfig, TokenEmbedding
from ..nn.transformer import Activation, DecoderBlock, Transformer, TransformerConfig, memory_mask, norm_layer
from ..text.vocabulary import Inputs

__all__ = ["Seq2SeqModel", "Seq2SeqModelConfig"]


class Seq2SeqModelConfig(Section):
    """An encoder and a decoder."""

    d_model: int = Field(default=256, ge=1, description="Width of the hidden states.")
    n_layers: int = Field(default=3, ge=1, description="Number of transformer blocks in the encoder.")
    n_decoder_layers: int = Field(default=3, ge=1, description="Number of transformer blocks in the decoder.")
    n_heads: int = Field(default=4, ge=1, description="Number of attention heads; must divide d_model.")
    d_ff: int | None = Field(
        default=None,
        ge=1,
        description="Inner width of the feed-forward layers. [default: 4 d_model; 8/3 d_model with swiglu]",
    )
    norm: Literal["layer", "rms", "none"] = Field(
        default="layer", description="Normalization: layer (LayerNorm), rms (RMSNorm) or none."
    )
    norm_order: Literal["pre", "post"] = Field(
        default="pre",
        description="Place of the normalization: pre (before each sub-layer) or post (after it).",
    )
    norm_eps: float = Field(default=1e-5, gt=0, description="Epsilon added to the variance in normalization.")
    embedding_norm: bool = Field(
        default=False,
        description="Whether to normalize the sum of token and position embeddings, as BART does.",
    )
    activation: Activation = Field(
        default="relu",
        description="Activation of the feed-forward layers: relu, gelu, gelu-tanh, gelu-quick, silu, relu2 "
        "or swiglu.",
    )
    positions: Literal["none", "sinusoidal", "learned", "rotary"] = Field(
        default="sinusoidal", description="Position encoding: none, sinusoidal, learned or rotary."
    )
    rope_theta: float = Field(
        default=10_000.0, gt=0, description="Base of the rotary angles, with rotary positions."
    )
    max_len: int = Field(
        default=512,
        ge=1,
        description="Number of learned positions; with learned positions longer texts are refused.",
    )
    biases: bool = Field(default=True, description="Whether linear layers have biases.")
    tied: Literal["all", "output", "none"] = Field(
        default="all",
        description="Which of the source, target and output embeddings share one matrix: all, output (target "
        "and output) or none.",
    )
    scale_embeddings: bool = Field(
        default=True, description="Whether to multiply token embeddings by the square root of d_model."
    )
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Dropout of each sub-layer's output, from 0 to 1."
    )
    attention_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Dropout of the attention weights, from 0 to 1."
    )

    @model_validator(mode="after")
    def _possible(self) -> "Seq2SeqModelConfig":
        self.stack(causal=False)  # which checks heads and rotary positions
        return self

    def stack(self, *, causal: bool) -> TransformerConfig:
        """Returns the configuration of the decoder, if causal, or the encoder."""
        return TransformerConfig(
            d_model=self.d_model,
            n_layers=self.n_decoder_layers if causal else self.n_layers,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            norm=self.norm,
            norm_order=self.norm_order,
            norm_eps=self.norm_eps,
            activation=self.activation,
            positions=self.positions,
            rope_theta=self.rope_theta,
            max_len=self.max_len,
            biases=self.biases,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            causal=causal,
            char_ngrams=(0, 0),
        )


class Seq2SeqModel(nn.Module):
    """Encoder, decoder and the table that states are compared with.

    Args:
        config: every choice.
        inputs: vocabulary and padding id.

    Attributes:
        n_places: places that positions are learned for; `None`: no limit.
    """

    def __init__(self, config: Seq2SeqModelConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config, self.vocab_size = config, inputs.vocab_size
        self.n_places = config.max_len if config.positions == "learned" else None
        plain = EmbeddingConfig(embedding_dropout=0.0, char_ngrams=(0, 0))
        std = config.d_model**-0.5
        self.scale = config.d_model**0.5 if config.scale_embeddings else 1.0
        self.embedding = TokenEmbedding(plain, inputs, config.d_model, std)
        self.target_embedding: TokenEmbedding | None = None
        if config.tied != "all":
            self.target_embedding = TokenEmbedding(plain, inputs, config.d_model, std)
        self.head: nn.Linear | None = None
        if config.tied == "none":
            self.head = nn.Linear(config.d_model, inputs.vocab_size, bias=False)
            nn.init.normal_(self.head.weight, std=std)
        else:
            (self.target_embedding or self.embedding).tied = True
        reading, writing = config.stack(causal=False), config.stack(causal=True)
        self.encoder = Transformer(reading, entry=self._entry(reading))
        self.decoder = Transformer(writing, entry=self._entry(writing), block=DecoderBlock)

    def _entry(self, config: TransformerConfig) -> nn.Module:
        """Returns the layers that embeddings go through once positions are added."""
        norm = [norm_layer(config)] if self.config.embedding_norm else []
        return nn.Sequential(*norm, nn.Dropout(config.dropout))

    def forward(self, input_ids: Tensor, target_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns the decoder's states (B, T, D), each of which predicts the token that follows.

        Args:
            input_ids: (B, S), the source.
            target_ids: (B, T), the target from its start marker on.
            mask: (B, S), True at real tokens of the source; `None`: all are.
        """
        return self.decode(target_ids, self.encode(input_ids, mask), mask)

    def encode(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns the states (B, S, D) of a source."""
        states: Tensor = self.encoder(self.embedding(input_ids) * self.scale, mask)
        return states

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Returns states (B, T, D) of the tokens of a target.

        Args:
            target_ids: (B, T); with a cache the ids after the ones it holds.
            memory: (B, S, D), what `encode` returned; `None` where a cache has read it.
            mask: (B, S), True at real tokens of the source.
            cache: from `new_cache`.
        """
        embedding = self.target_embedding or self.embedding
        x = embedding(target_ids) * self.scale
        states: Tensor = self.decoder(x, cache=cache, memory=memory, memory_mask=memory_mask(mask))
        return states

    def new_cache(self) -> Cache:
        """Returns an empty cache for one batch of sources."""
        return Cache.of(self.config.n_decoder_layers)

    def table(self) -> Tensor:
        """Returns the table (V, D) that states are compared with."""
        if self.head is not None:
            return self.head.weight
        return (self.target_embedding or self.embedding).weight

    def logits(self, states: Tensor) -> Tensor:
        """Returns logits (..., V) of states (..., D)."""
        return torch.nn.functional.linear(states, self.table())
