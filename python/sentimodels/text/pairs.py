"""`Pairs`: both sides of parallel text as ids, and the plan that puts pairs of like length together.

One tokenizer reads both sides, so that names and numbers are the same tokens on both. A batch is so many
places, padding included. Pairs are sorted by target and source length, equal ones in an order that the epoch
draws, cut into batches, and the batches shuffled: every epoch has the same number of batches and next to no
padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer, train_bpe, train_unigram

from ..config import ParallelConfig
from ..errors import ConfigError
from .special_tokens import ENDS, known_end
from .vocabulary import as_saved

__all__ = ["Pairs", "Rows", "encode_rows", "end_of", "joint_tokenizer", "plan"]

# The token that ends a text if the tokenizer has none for it.
_ADDED = "</s>"


@dataclass(frozen=True)
class Rows:
    """Texts as ids, one after the other.

    Attributes:
        ids: of all texts.
        starts: (n,), where each begins.
        lengths: (n,), tokens of each.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[np.int64]:
        return self.ids[self.starts[row] : self.starts[row] + self.lengths[row]]

    def take(self, rows: NDArray[np.int64]) -> "Rows":
        """Returns these texts, in this order."""
        return Rows(self.ids, self.starts[rows], self.lengths[rows])

    def padded(self, rows: NDArray[np.int64], width: int, fill: int) -> NDArray[np.int64]:
        """Returns texts (B, `width`), `fill` after the end of each."""
        columns = np.arange(width)
        places = np.minimum(self.starts[rows][:, None] + columns, max(0, len(self.ids) - 1))
        there = columns < self.lengths[rows][:, None]
        return np.where(there, self.ids[places] if len(self.ids) else fill, fill)


@dataclass(frozen=True)
class Pairs:
    """Encoded pairs, row by row."""

    sources: Rows
    targets: Rows

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, rows: NDArray[np.int64]) -> "Pairs":
        """Returns these pairs, in this order."""
        return Pairs(self.sources.take(rows), self.targets.take(rows))


def joint_tokenizer(config: ParallelConfig, sources: Sequence[str], targets: Sequence[str]) -> Tokenizer:
    """Returns the tokenizer of a run: the one given, or one trained on both sides."""
    if config.tokenizer is not None:
        return as_saved(_with_end(Tokenizer.from_file(config.tokenizer), config.end))
    texts, size = [*sources, *targets], config.vocab_size
    end = config.end or _ADDED
    if config.tokenizer_model == "unigram":
        return as_saved(_with_end(train_unigram(texts=texts, vocab_size=size), end))
    return train_bpe(
        texts=texts, vocab_size=size, pre_tokenizer="gpt2-prefix-space", min_frequency=2, special_tokens=[end]
    )


def _with_end(tokenizer: Tokenizer, asked: str | None) -> Tokenizer:
    end = known_end(tokenizer, None, {}) if asked is None else asked
    if end is not None and tokenizer.token_to_id(end) is not None:
        return tokenizer
    return tokenizer.with_specials([asked or _ADDED])


def end_of(tokenizer: Tokenizer, asked: str | None = None) -> tuple[str, int]:
    """Returns the token that begins and ends a text, and its id: the one asked for, or the special one.

    Raises:
        ConfigError: if the tokenizer lacks such a token.
    """
    end = known_end(tokenizer, None, {}) if asked is None else asked
    id = None if end is None else tokenizer.token_to_id(end)
    if end is None or id is None:
        raise ConfigError(
            f"the tokenizer lacks a token to end a text ({asked or ', '.join(ENDS)}): set data.end"
        )
    return end, id


def encode_rows(tokenizer: Tokenizer, texts: Sequence[str]) -> Rows:
    """Returns texts as ids, without special tokens."""
    made = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ends = made.row_offsets.astype(np.int64)
    return Rows(made.ids.astype(np.int64), ends[:-1], np.diff(ends))


def plan(
    widths: NDArray[np.int64], max_places: int, *, seed: int | None = None, epoch: int = 0
) -> list[NDArray[np.int64]]:
    """Returns the rows of each batch of one epoch.

    Args:
        widths: (n, sides), places that each side of a row takes; each side is padded separately.
        max_places: places of a batch, padding included; a row that has more is a separate batch.
        seed: without it rows come longest first, for evaluation.
        epoch: counts from 0; another epoch, another order, but as many batches.
    """
    n_rows = len(widths)
    if not n_rows:
        return []
    rng = None if seed is None else np.random.Generator(np.random.PCG64([seed, epoch]))
    order = np.arange(n_rows) if rng is None else rng.permutation(n_rows)
    # The last side is the first to be sorted by; the sort is stable.
    order = order[np.lexsort(widths[order].T)][::-1]
    batches, start = [], 0
    longest = np.zeros(widths.shape[1], np.int64)
    for place, row in enumerate(order.tolist()):
        longer = np.maximum(longest, widths[row])
        if place > start and int(longer.sum()) * (place - start + 1) > max_places:
            batches.append(order[start:place])
            start, longer = place, widths[row]
        longest = longer
    batches.append(order[start:])
    if rng is not None:
        batches = [batches[place] for place in rng.permutation(len(batches))]
    return batches
