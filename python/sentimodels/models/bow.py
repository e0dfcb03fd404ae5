"""`bow`: a bag of words, hashed word n-grams and, by option, character n-grams, in seconds.

After fastText (Joulin et al. 2016), with three changes: a text's vectors are added and divided by their
length instead of their number, steps are row-wise Adagrad over small batches, and the weights kept are the
mean of those of the last two thirds of the steps. `fit` trains it with sparse products that touch only rows a
batch has met; the module itself learns by gradients like any other.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from ..config import CharNgrams, Section
from ..nn.bag import LinearBag, bag
from ..nn.ordinal import CutPoints, cumulative_loss
from ..text.vocabulary import Inputs
from ..text.words import TOKEN_PATTERN, HashedNgrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..data.encoded import Encoded

__all__ = ["Bow", "BowConfig"]


class BowConfig(Section):
    """A bag of n-grams."""

    d_model: int = Field(default=10, ge=1, description="Width of the embeddings.")
    word_ngrams: int = Field(
        default=3,
        ge=1,
        le=10,
        description="Longest n-gram, in words; the beginning and the end of a text count as words.",
    )
    ngram_weight: float = Field(
        default=0.5, gt=0, description="Weight of an n-gram of words; a single word weighs 1."
    )
    char_ngrams: CharNgrams = Field(
        default=(4, 6), description="Shortest and longest n-grams of a word's characters; [0, 0] for none."
    )
    buckets: int = Field(
        default=1 << 22, ge=1, le=1 << 28, description="Number of hash buckets of the n-grams."
    )
    min_count: int = Field(
        default=1, ge=1, description="Minimum number of occurrences that a word must have."
    )
    token_pattern: str | None = Field(default=None, description=TOKEN_PATTERN)
    lowercase: bool = Field(default=True, description="Whether to lowercase the texts.")
    fit_epochs: int = Field(
        default=2, ge=1, description="Number of passes over the training rows when the model is fitted."
    )
    fit_batch: int = Field(
        default=192,
        ge=1,
        description="Number of texts in a step when the model is fitted, at most a hundredth of all texts.",
    )
    fit_lr: float = Field(default=1.0, gt=0, description="Learning rate when the model is fitted.")

    def features(self, texts: "Sequence[str]") -> HashedNgrams:
        """Finds words and n-grams of the training texts."""
        return HashedNgrams.fit(
            texts,
            word_ngrams=self.word_ngrams,
            char_ngrams=self.char_ngrams,
            n_buckets=self.buckets,
            min_count=self.min_count,
            pattern=self.token_pattern,
            lowercase=self.lowercase,
        )


class Bow(nn.Module):
    """Logits of a bag of ids; an id's vector is its own and the scaled sum of its n-grams'."""

    grams: Tensor
    gram_starts: Tensor
    scale: Tensor

    def __init__(self, config: BowConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.vocab_size = inputs.vocab_size
        starts = np.zeros(inputs.vocab_size + 1, np.int64)
        rows = np.zeros(0, np.int64)
        if inputs.grams is not None:
            rows, starts = inputs.grams.rows, inputs.grams.starts
        self.n_words = inputs.vocab_size if inputs.n_words is None else inputs.n_words
        scale = torch.ones(inputs.vocab_size)
        scale[self.n_words :] = config.ngram_weight
        # They follow from vocabulary and configuration, so they are not saved with the weights.
        self.register_buffer("grams", torch.from_numpy(rows), persistent=False)
        self.register_buffer("gram_starts", torch.from_numpy(starts), persistent=False)
        self.register_buffer("scale", scale, persistent=False)
        # An id that no text had must not speak, so all vectors start at zero.
        self.weight = nn.Parameter(torch.zeros(inputs.vocab_size, config.d_model))
        self.head = nn.Linear(config.d_model, inputs.n_scores)
        self.cut_points = CutPoints(inputs.n_classes) if inputs.ordered else None
        nn.init.normal_(self.head.weight, std=0.3)
        nn.init.zeros_(self.head.bias)

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C)."""
        bags = bag(input_ids, mask, self.vocab_size)
        distinct, place = torch.unique(bags.feature, return_inverse=True)
        begin = self.gram_starts[distinct]
        count = self.gram_starts[distinct + 1] - begin
        ends = count.cumsum(0)
        shift = torch.repeat_interleave(begin - (ends - count), count)
        flat = self.grams[torch.arange(len(shift), device=begin.device) + shift]
        sums = F.embedding_bag(flat, self.weight, ends - count, mode="sum")
        vectors = self.weight[distinct] + sums / count.clamp(min=1).sqrt()[:, None]
        scale = self.scale[bags.feature]
        times = bags.count.to(vectors.dtype)
        length = bags.sum(times * scale.square()).sqrt()
        total = bags.sum(vectors[place] * (times * scale)[:, None])
        logits: Tensor = self.head(total / length.clamp(min=1e-6)[:, None])
        return logits if self.cut_points is None else self.cut_points(logits)

    def linear(self) -> LinearBag:
        """Returns its trained weights: for each id the sum of its vector and of its n-grams' vectors."""
        count = self.gram_starts.diff()
        sums = F.embedding_bag(self.grams, self.weight.data, self.gram_starts[:-1], mode="sum")
        vectors = self.weight.data + sums / count.clamp(min=1).sqrt()[:, None]
        table = vectors @ self.head.weight.data.T
        cuts = None if self.cut_points is None else self.cut_points.cuts()
        return LinearBag(table, self.scale, self.head.bias.data, "count", "weighted", cuts)

    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:
        """Learns from the training texts, in about a second an epoch of a hundred thousand phrases."""
        config = self.config
        if labels.ndim == 2:  # each label begins as likely as it is, so that few steps go to the rest
            share = labels.mean(0).clip(1e-4, 1 - 1e-4)
            self.head.bias.data.copy_(torch.from_numpy(np.log(share / (1 - share))))
        learner = _Learner(self, self.n_words)
        all_ids = encoded.ids.astype(np.intp)
        rng = np.random.Generator(np.random.PCG64([seed]))
        n_rows = len(encoded)
        labels = labels[encoded.text_of_row]
        # A small table still gives a hundred steps an epoch.
        size = max(1, min(config.fit_batch, n_rows // 100))
        total = config.fit_epochs * -(-n_rows // size)
        every = max(1, total // _SNAPSHOTS)
        step = 0
        for _ in range(config.fit_epochs):
            order = rng.permutation(n_rows)
            for start in range(0, n_rows, size):
                rows = order[start : start + size]
                learner.step(*_gather(all_ids, encoded.row_offsets, rows), labels[rows], config.fit_lr)
                step += 1
                if 3 * step > total and step % every == 0:
                    learner.remember()
        learner.finish()


# Weights summed into the mean, of which those of the first third of the steps are left out.
_SNAPSHOTS = 36
# Character n-grams move once in so many steps as this goes into the number of words.
_WORDS_A_STEP = 1000
# The initial value of Adagrad's sums.
_TINY = 1e-8


def _gather(
    ids: "NDArray[np.intp]", offsets: "NDArray[np.int64]", rows: "NDArray[np.int64]"
) -> "tuple[NDArray[np.intp], NDArray[np.int64]]":
    """Returns the ids of some rows, one after the other, and where each begins."""
    begin = offsets.take(rows)
    length = offsets.take(rows + 1) - begin
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(length, out=starts[1:])
    return ids.take(np.repeat(begin - starts[:-1], length) + np.arange(starts[-1])), starts


class _Learner:
    """The weights as arrays, shared with the module, and the squares that Adagrad has seen.

    The sums of words' character n-grams are held for all words at once and computed again every few
    steps: composing the words of each batch would be most of the work. Until then the gradients
    of the n-grams add up.
    """

    def __init__(self, module: Bow, n_words: int) -> None:
        self.weights = [
            module.weight.data.numpy(),
            module.head.weight.data.numpy(),
            (module.head.bias if module.cut_points is None else module.cut_points.raw).data.numpy(),
        ]
        self.ordered = module.cut_points is not None
        self.table, self.out, self.bias = self.weights
        self.scale = module.scale.numpy().copy()
        self.scale[0] = 0  # id 0 is nothing
        self.seen = np.full(len(self.table), _TINY, np.float32)
        self.out_seen = np.full_like(self.out, _TINY)
        self.bias_seen = np.full_like(self.bias, _TINY)
        self.sums = [np.zeros_like(weight) for weight in self.weights]
        self.n_sums = self.n_steps = 0
        self.grams, self.composition = _composition(module, n_words)
        self.composed = np.zeros((n_words, self.table.shape[1]), np.float32)
        self.pending = np.zeros_like(self.composed)
        self.every = max(1, n_words // _WORDS_A_STEP)

    def step(
        self, ids: "NDArray[Any]", starts: "NDArray[np.int64]", labels: "NDArray[np.int64]", rate: float
    ) -> None:
        """Takes one step down the gradient of the summed cross entropy."""
        from scipy.sparse import csr_matrix

        n_texts = len(labels)
        rows, place = np.unique(ids, return_inverse=True)
        scale = self.scale.take(ids)
        squares = np.zeros(len(ids) + 1)
        np.cumsum(scale * scale, out=squares[1:])
        length = np.sqrt(np.maximum(squares[starts[1:]] - squares[starts[:-1]], 1e-12)).astype(np.float32)
        scale /= np.repeat(length, np.diff(starts))
        texts = csr_matrix((scale, place, starts), shape=(n_texts, len(rows)))
        # `take` is several times as fast as an index of rows.
        vectors = self.table.take(rows, 0)
        words = rows[: np.searchsorted(rows, len(self.composed))]
        whole = vectors.copy()
        if self.composition is not None:
            whole[: len(words)] += self.composed.take(words, 0)
        hidden = texts @ whole  # (B, D)
        logits = hidden @ self.out.T
        if not self.ordered:
            logits += self.bias
        by_bias = None
        if self.ordered:  # one score, cut into classes; its bias is in the cut points
            _, by_score, by_bias = cumulative_loss(logits[:, 0], self.bias, labels)
            error = by_score[:, None].astype(logits.dtype)
        elif labels.ndim == 2:  # each label is decided alone
            error = 0.5 * (1 + np.tanh(0.5 * logits)) - labels.astype(logits.dtype)
        else:
            error = np.exp(logits - logits.max(1, keepdims=True))
            error /= error.sum(1, keepdims=True)
            error.ravel()[np.arange(0, error.size, error.shape[1]) + labels] -= 1
        gradient = texts.T @ (error @ self.out)  # (U, D)
        self._move(rows, vectors, gradient, rate)
        # Weights that every text moves go a tenth as fast as weights that few move.
        for weight, squared, slope in (
            (self.out, self.out_seen, error.T @ hidden),
            (self.bias, self.bias_seen, error.sum(0) if by_bias is None else by_bias),
        ):
            squared += slope * slope
            weight -= 0.1 * rate * slope / np.sqrt(squared)
        self.n_steps += 1
        if self.composition is not None:
            self.pending[words] += gradient[: len(words)]
            if self.n_steps % self.every == 0:
                self._move(
                    self.grams, self.table.take(self.grams, 0), self.composition.T @ self.pending, rate
                )
                self.composed = self.composition @ self.table.take(self.grams, 0)
                self.pending[:] = 0

    def _move(
        self, rows: "NDArray[Any]", vectors: "NDArray[Any]", slope: "NDArray[Any]", rate: float
    ) -> None:
        """Moves rows of the table by row-wise Adagrad."""
        seen = self.seen.take(rows) + np.einsum("rd,rd->r", slope, slope) / slope.shape[1]
        self.seen[rows] = seen
        self.table[rows] = vectors - (rate / np.sqrt(seen))[:, None] * slope

    def remember(self) -> None:
        """Adds the weights to their sum."""
        for total, weight in zip(self.sums, self.weights, strict=True):
            total += weight
        self.n_sums += 1

    def finish(self) -> None:
        """Puts the mean of the remembered weights in their place."""
        for total, weight in zip(self.sums, self.weights, strict=True):
            np.divide(total, self.n_sums, out=weight)
        self.table[0] = 0


def _composition(module: Bow, n_words: int) -> "tuple[NDArray[np.int64], Any]":
    """Returns the rows of all character n-grams, and the sparse matrix that adds them up for each word."""
    from scipy.sparse import csr_matrix

    rows, local = np.unique(module.grams.numpy(), return_inverse=True)
    if not len(rows):
        return rows, None
    starts = module.gram_starts.numpy()[: n_words + 1]
    count = np.diff(starts)
    weight = np.repeat(1 / np.sqrt(np.maximum(count, 1)), count).astype(np.float32)
    return rows, csr_matrix((weight, local, starts), shape=(n_words, len(rows)))
