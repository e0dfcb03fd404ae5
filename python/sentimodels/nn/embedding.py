"""From ids to vectors, `TokenEmbedding` and `NgramEmbedding` (with character n-grams), and positions.

N-grams of a batch's distinct tokens are inputs, made on the data side (`data/encoded.py`), so that each
token is composed once however often it occurs. A call changes nothing in the module. Padding is exactly zero,
and so is the row of the padding id, which represents a text without tokens and for a word without a row. With
`sparse` set by the trainer, gradients have one row for each id of a batch, so that the optimiser touches only
those; never that of a `tied` table, which a head reads whole.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from ..config import CharNgrams, Section
from ..errors import ConfigError
from ..text.vocabulary import Inputs

__all__ = [
    "EmbeddingConfig",
    "Learned",
    "Mixing",
    "NgramEmbedding",
    "PositionKind",
    "Sinusoidal",
    "StaticEmbedding",
    "TokenEmbedding",
    "alibi",
    "rotary_angles",
    "rotate",
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
        description="Number of hash buckets of the character n-grams; buckets that occur get a row.",
    )

    @property
    def ngram_range(self) -> tuple[int, int] | None:
        """Shortest and longest n-gram, or `None`."""
        return None if self.char_ngrams == (0, 0) else self.char_ngrams


class Mixing(nn.Module):
    """Turns ids into vectors; in a training pass with mixup, those of two rows into one.

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
                "tokens are composed of character n-grams here, and the inputs lack them: "
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


# Positions: none, sinusoidal, learned (added to embeddings); rotary, ALiBi (inside attention).
# Sinusoidal: Vaswani et al. 2017, 3.5. Rotary: Su et al. 2021, in the half-split form. ALiBi: Press et al.
# 2022; its two-way form takes the distance without its sign. All take positions as a tensor, (T,) for all
# texts or (B, T) for each, so that a text may continue where an earlier call ended or begin after padding.


PositionKind = Literal["none", "sinusoidal", "learned", "rotary", "alibi"]


class Sinusoidal(nn.Module):
    """Adds sines and cosines of falling frequency."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Adds positions to `x` (B, T, D)."""
        half = torch.arange(0, self.d_model, 2, device=x.device, dtype=torch.float32)
        frequency = torch.exp(-math.log(10_000.0) * half / self.d_model)
        angle = positions[..., None].to(torch.float32) * frequency
        table = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[..., : self.d_model]
        return x + table.to(x.dtype)


class Learned(nn.Module):
    """Adds a learned vector for each of the first `max_len` places."""

    def __init__(self, max_len: int, d_model: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=std)

    def forward(self, x: Tensor, positions: Tensor | int) -> Tensor:
        """Adds positions to `x` (B, T, D).

        Args:
            x: the embeddings.
            positions: (T,) or (B, T), or that of the first token if the rest follow.

        Raises:
            ValueError: if there are more places than were learned.
        """
        if isinstance(positions, int):
            self._check(positions + x.shape[1])
            return x + self.weight[positions : positions + x.shape[1]]
        if positions.device.type == "cpu" and not torch.compiler.is_compiling():
            self._check(int(positions.max()) + 1)
        return x + nn.functional.embedding(positions, self.weight)

    def _check(self, n_tokens: int) -> None:
        if n_tokens > len(self.weight):
            raise ValueError(
                f"{n_tokens} tokens, but positions are learned for {len(self.weight)}: "
                "raise model.max_len, or lower data.max_tokens"
            )


def rotary_angles(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines of the rotary angles, (T, K / 2) or (B, 1, T, K / 2)."""
    if torch.compiler.is_dynamo_compiling():
        cos, sin = _angles_once(positions, d_head, theta)
    else:
        cos, sin = _angles(positions, d_head, theta)
    return (cos[:, None], sin[:, None]) if positions.ndim == 2 else (cos, sin)  # heads turn alike


def _angles(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines (..., T, K / 2) of positions (..., T)."""
    pair = torch.arange(0, d_head, 2, device=positions.device, dtype=torch.float32)
    angle = positions[..., None].to(torch.float32) * theta ** (-pair / d_head)
    return angle.cos(), angle.sin()


# A compiler would work them out again for each number that is turned, in every layer; what an operator
# returns, it keeps. On an H200 that was a fifth of a step.
_angles_once = torch.library.custom_op("sentimodels::rotary_angles", _angles, mutates_args=())


@_angles_once.register_fake
def _(positions: Tensor, d_head: int, theta: float) -> tuple[Tensor, Tensor]:  # noqa: ARG001  # 2026-11-27: as above
    cos = positions.new_empty((*positions.shape, (d_head + 1) // 2), dtype=torch.float32)
    return cos, torch.empty_like(cos)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turns each pair (i, i + K/2) of `x` (B, H, T, K) by the angle of its place."""
    first, second = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def _slopes(n_heads: int) -> list[float]:
    """Returns the slope of each head: a geometric series, as in the paper for any number of heads."""
    power = 1 << (n_heads.bit_length() - 1)
    series = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2.0 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return (series + between)[:n_heads]


def alibi(queries: Tensor, keys: Tensor, n_heads: int) -> Tensor:
    """Returns the bias (B or 1, H, T, S) that falls with the distance of positions.

    Args:
        queries: positions (T,) or (B, T).
        keys: positions (S,) or (B, S).
        n_heads: H.
    """
    distance = (keys[..., None, :] - queries[..., :, None]).abs().to(torch.float32)  # (T, S) or (B, T, S)
    slopes = torch.tensor(_slopes(n_heads), device=keys.device)[:, None, None]
    return -slopes * (distance[:, None] if distance.ndim == 3 else distance[None, None])
