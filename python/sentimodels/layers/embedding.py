"""`TokenEmbedding`: from ids to vectors, with character n-grams and dropout of features and tokens.

Not for positions (`position.py`). Each distinct token of a batch is composed once, however
often it occurs: with n-grams that saves most of the work, and the gradient of the table has
one row per distinct token. With `sparse` set by the trainer these gradients are sparse, so
that the optimiser touches only rows that occurred. Padding becomes exactly zero. Ids beyond
the table are words that training did not have; `know` tells their spelling, and the n-grams
alone make their vectors.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from ..config import CharNgrams, Section
from ..errors import ConfigError
from ..text.inputs import Inputs
from ..text.ngrams import NgramTable, ngram_table

__all__ = [
    "EmbeddingConfig",
    "Mixing",
    "StaticEmbedding",
    "TokenEmbedding",
    "known",
    "start_vectors",
]


class EmbeddingConfig(Section):
    """How ids become vectors."""

    embedding_dropout: float = Field(
        default=0.5, ge=0, lt=1, description="Share of embedding features dropped."
    )
    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of tokens whose vector is dropped."
    )
    char_ngrams: CharNgrams = Field(
        default=(3, 5), description="Shortest and longest character n-grams added to tokens; [0, 0] for none."
    )
    char_buckets: int = Field(
        default=1 << 20,
        ge=1,
        description="Buckets that character n-grams are hashed into; those that occur get a row.",
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

    def own(self, mask: Tensor) -> Tensor:
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

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Embeds `input_ids` where `mask` is True; ids beyond the table are nothing."""
        x = look_up(self.vectors, input_ids) * self.own(mask)[..., None]
        return self.mixed(F.dropout(x, self.dropout, self.training))


class TokenEmbedding(Mixing):
    """Embeds ids (B, T) as vectors (B, T, D).

    Args:
        config: dropout and n-grams.
        inputs: vocabulary, token texts, vectors to start from.
        d_model: D.
        std: standard deviation the vectors start with.
    """

    grams: Tensor
    gram_starts: Tensor

    def __init__(self, config: EmbeddingConfig, inputs: Inputs, d_model: int, std: float) -> None:
        super().__init__()
        self.config = config
        self.sparse = False
        self.unknown: Sequence[str] = ()
        self.weight = nn.Parameter(torch.empty(inputs.vocab_size, d_model))
        nn.init.normal_(self.weight, std=std)
        if inputs.vectors is not None:
            _fill(self.weight.data, start_vectors(inputs.vectors, d_model))
        self.gram_weight: nn.Parameter | None = None
        if config.ngram_range is not None and inputs.token_texts is not None:
            table = ngram_table(inputs.token_texts, *config.ngram_range, config.char_buckets)
            # No token has other n-grams, so only the buckets that occur need a row.
            found, rows = np.unique(table.rows, return_inverse=True)
            self.gram_weight = nn.Parameter(torch.empty(max(1, len(found)), d_model))
            nn.init.normal_(self.gram_weight, std=std)
            # They follow from the vocabulary, so they are not saved with the weights.
            self._buckets = found
            self._table = NgramTable(rows.astype(np.int64), table.starts)
            self.register_buffer("grams", torch.from_numpy(self._table.rows), persistent=False)
            self.register_buffer("gram_starts", torch.from_numpy(table.starts), persistent=False)

    def know(self, words: Sequence[str]) -> None:
        """Takes the words of the ids beyond the table, in place of those it was told before."""
        if words == self.unknown:
            return
        self.unknown = words
        if self.gram_weight is None or self.config.ngram_range is None:
            return  # then they are nothing
        own = self._table
        new = ngram_table(words, *self.config.ngram_range, self.config.char_buckets)
        # An n-gram that no word of the training had has no row, and does not count.
        there = np.isin(new.rows, self._buckets)
        row = np.searchsorted(self._buckets, new.rows)
        ends = np.concatenate([[0], np.cumsum(there)])[new.starts]
        device = self.grams.device
        self.grams = torch.from_numpy(np.concatenate([own.rows, row[there]])).to(device)
        self.gram_starts = torch.from_numpy(np.concatenate([own.starts, own.starts[-1] + ends[1:]])).to(
            device
        )

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Embeds `input_ids` where `mask` is True."""
        distinct, place = torch.unique(input_ids, return_inverse=True)
        if self.unknown:
            vectors = look_up(self.weight, distinct, sparse=self.sparse)
        else:
            vectors = F.embedding(distinct, self.weight, sparse=self.sparse)
        if self.gram_weight is not None:
            vectors = vectors + self._from_ngrams(distinct, self.gram_weight)
        x = F.dropout(F.embedding(place, vectors), self.config.embedding_dropout, self.training)
        kept = self.own(mask)
        if self.training and self.config.word_dropout:
            kept = kept & (torch.rand(mask.shape, device=mask.device) >= self.config.word_dropout)
        return self.mixed(x * kept[..., None])

    def _from_ngrams(self, ids: Tensor, weight: Tensor) -> Tensor:
        """Returns the mean of the n-gram vectors of each id (U, D)."""
        begin = self.gram_starts[ids]
        count = self.gram_starts[ids + 1] - begin
        ends = count.cumsum(0)
        # Positions begin[0], begin[0] + 1, ..., begin[1], ...: the ids' runs one after the other.
        shift = torch.repeat_interleave(begin - (ends - count), count)
        flat = self.grams[torch.arange(len(shift), device=ids.device) + shift]
        return F.embedding_bag(flat, weight, ends - count, mode="mean", sparse=self.sparse)


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


def look_up(table: Tensor, ids: Tensor, *, sparse: bool = False) -> Tensor:
    """Returns rows of `table` (V, D); zeros for ids beyond it."""
    inside = ids < len(table)
    return F.embedding(ids * inside, table, sparse=sparse) * inside[..., None]


@contextmanager
def known(module: nn.Module, words: Sequence[str]) -> Iterator[None]:
    """Lets the embeddings of a module know some words for a while."""
    embeddings = [part for part in module.modules() if isinstance(part, TokenEmbedding)]
    before = [part.unknown for part in embeddings]
    for part in embeddings:
        part.know(words)
    try:
        yield
    finally:
        for part, words_before in zip(embeddings, before, strict=True):
            part.know(words_before)


def _fill(weight: Tensor, vectors: Tensor) -> None:
    """Writes vectors as they are over the rows they exist for; the other rows stay as drawn."""
    there = vectors.abs().sum(1) > 0
    weight[there] = vectors[there].to(weight)
