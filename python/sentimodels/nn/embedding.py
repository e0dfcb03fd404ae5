"""From ids to vectors: `TokenEmbedding`, a row for each id, and `NgramEmbedding`, with character n-grams.

Not for positions (`position.py`), and not for finding n-grams: those of a batch's distinct
tokens are inputs, made on the data side (`data/encoded.py`), so that each token is composed
once however often it occurs. A call changes nothing in the module. Padding is exactly zero,
and so is the row of the padding id, which stands for a text without tokens and for a word
without a row. With `sparse` set by the trainer, gradients have one row for each id of a batch,
so that the optimiser touches only those; never that of a `tied` table, which a head reads whole.
"""

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from ..config import CharNgrams, Section
from ..errors import ConfigError
from ..text.vocabulary import Inputs

__all__ = [
    "EmbeddingConfig",
    "Mixing",
    "NgramEmbedding",
    "StaticEmbedding",
    "TokenEmbedding",
    "start_vectors",
    "token_embedding",
]


class EmbeddingConfig(Section):
    """How ids become vectors."""

    embedding_dropout: float = Field(
        default=0.5, ge=0, lt=1, description="Dropout of the embedding features, from 0 to 1."
    )
    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of tokens whose whole embedding is dropped, from 0 to 1."
    )
    char_ngrams: CharNgrams = Field(
        default=(3, 5),
        description="Shortest and longest n-grams of characters added to token embeddings; [0, 0] for none.",
    )
    char_buckets: int = Field(
        default=1 << 20,
        ge=1,
        description="Number of hash buckets of the character n-grams; those that occur get a row.",
    )

    @property
    def ngram_range(self) -> tuple[int, int] | None:
        """Shortest and longest n-gram, or `None`."""
        return None if self.char_ngrams == (0, 0) else self.char_ngrams


class Mixing(nn.Module):
    """What turns ids into vectors; in a training pass with mixup, those of two rows into one.

    Attributes:
        mix: for one training pass: an order of the rows, a share, and the rows' own mask.
    """

    mix: tuple[Tensor, float, Tensor] | None = None

    def own(self, mask: Tensor | None) -> Tensor | None:
        """Returns the mask of the rows before any mixing."""
        return mask if self.mix is None else self.mix[2]

    def mixed(self, x: Tensor) -> Tensor:
        """Returns `x` (B, T, D), each row mixed with its partner if so asked."""
        if self.mix is None:
            return x
        order, share, _ = self.mix
        return share * x + (1 - share) * x[order]


class StaticEmbedding(Mixing):
    """Vectors (V, D) that are given and stay; dropout of features as in `TokenEmbedding`."""

    vectors: Tensor

    def __init__(self, vectors: Tensor, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.register_buffer("vectors", vectors)

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Embeds `input_ids` where `mask` is True."""
        x = F.embedding(input_ids, self.vectors)
        mask = self.own(mask)
        if mask is not None:
            x = x * mask[..., None]
        return self.mixed(F.dropout(x, self.dropout, self.training))


class TokenEmbedding(Mixing):
    """Embeds ids (B, T) as vectors (B, T, D), by a row for each.

    Args:
        config: dropout.
        inputs: vocabulary, padding id, vectors to start from.
        d_model: D.
        std: standard deviation the vectors start with.

    Attributes:
        sparse: whether gradients are sparse.
        tied: whether a head reads the table whole, so that its gradient is dense.
    """

    def __init__(self, config: EmbeddingConfig, inputs: Inputs, d_model: int, std: float) -> None:
        super().__init__()
        self.config = config
        self.sparse = self.tied = False
        self.pad_id = inputs.pad_id
        self.weight = nn.Parameter(torch.empty(inputs.vocab_size, d_model))
        nn.init.normal_(self.weight, std=std)
        if inputs.vectors is not None:
            _fill(self.weight.data, start_vectors(inputs.vectors, d_model))
        if self.pad_id is not None:
            self.weight.data[self.pad_id] = 0

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Embeds `input_ids` where `mask` is True; without one, everywhere."""
        return self._finished(self._rows(input_ids), mask)

    def _rows(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight, padding_idx=self.pad_id, sparse=self.sparse and not self.tied)

    def _finished(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Drops features and tokens, and sets padding to zero."""
        x = F.dropout(x, self.config.embedding_dropout, self.training)
        kept = self.own(mask)
        if self.training and self.config.word_dropout:
            drawn = torch.rand(x.shape[:2], device=x.device) >= self.config.word_dropout
            kept = drawn if kept is None else kept & drawn
        return self.mixed(x if kept is None else x * kept[..., None])


class NgramEmbedding(TokenEmbedding):
    """Embeds ids (B, T) as vectors (B, T, D): a token's own row and the mean of its n-grams' rows.

    Args:
        config: dropout.
        inputs: vocabulary, rows of the n-grams' table.
        d_model: D.
        std: standard deviation the vectors start with.
    """

    def __init__(self, config: EmbeddingConfig, inputs: Inputs, d_model: int, std: float) -> None:
        super().__init__(config, inputs, d_model, std)
        self.gram_weight = nn.Parameter(torch.empty(inputs.n_ngrams, d_model))
        nn.init.normal_(self.gram_weight, std=std)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        *,
        distinct_ids: Tensor | None = None,
        distinct_index: Tensor | None = None,
        ngram_ids: Tensor | None = None,
        ngram_offsets: Tensor | None = None,
    ) -> Tensor:
        """Embeds the tokens where `mask` is True; without one, everywhere.

        Args:
            input_ids: (B, T), only to agree with `TokenEmbedding`: `distinct_ids[distinct_index]`.
            mask: (B, T), True at real tokens.
            distinct_ids: (U,), each id of the batch once; a word without a row has the padding id.
            distinct_index: (B, T), where in `distinct_ids` each token is.
            ngram_ids: (G,), rows of the n-grams of each distinct token, one token after the other.
            ngram_offsets: (U,), where those of each begin.

        Raises:
            ValueError: if the n-grams are missing.
        """
        if distinct_ids is None or distinct_index is None or ngram_ids is None or ngram_offsets is None:
            raise ValueError(
                "tokens are composed of character n-grams here, and the inputs have none: "
                "take them from Batch.inputs(), or set model.char_ngrams = [0, 0]"
            )
        del input_ids
        means = F.embedding_bag(ngram_ids, self.gram_weight, ngram_offsets, mode="mean", sparse=self.sparse)
        vectors = self._rows(distinct_ids) + means
        return self._finished(F.embedding(distinct_index, vectors), mask)


def token_embedding(config: EmbeddingConfig, inputs: Inputs, d_model: int, std: float) -> TokenEmbedding:
    """Returns the embedding that the inputs call for: with n-grams where tokens have some."""
    kind = NgramEmbedding if inputs.n_ngrams else TokenEmbedding
    return kind(config, inputs, d_model, std)


def start_vectors(vectors: Tensor, d_model: int) -> Tensor:
    """Returns the vectors, which must be as wide as the embedding they are for.

    Raises:
        ConfigError: naming both widths.
    """
    width = vectors.shape[1]
    if width != d_model:
        raise ConfigError(
            f"model.d_model {d_model}: the vectors of data.vectors have {width} numbers; "
            f"set model.d_model = {width}, or give vectors of {d_model}"
        )
    return vectors


def _fill(weight: Tensor, vectors: Tensor) -> None:
    """Writes vectors as they are over the rows they exist for; the other rows stay as drawn."""
    there = vectors.abs().sum(1) > 0
    weight[there] = vectors[there].to(weight)
