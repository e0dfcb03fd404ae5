"""Character n-grams of a token's text, hashed into a table of rows.

After Bojanowski et al. 2017: the text is put between `<` and `>`, and every substring of
`lowest` to `highest` characters is hashed (FNV-1a of its UTF-8). The table of n-grams is
made once for a vocabulary, so an n-gram costs no hashing while training. Hashes are the
same on every machine and in every run; rows may be shared by several n-grams.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NgramIndex", "NgramTable", "hash_text", "ngram_table", "ngrams"]

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_WORD = (1 << 64) - 1
# Texts are hashed together up to this many bytes; longer ones would widen the matrix.
_WIDE = 32


@dataclass(frozen=True)
class NgramTable:
    """The rows of each token: those of token i are `rows[starts[i] : starts[i + 1]]`."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]


def ngrams(text: str, lowest: int, highest: int) -> list[str]:
    """Returns the n-grams of `<text>`, without `<text>` itself."""
    bounded = f"<{text}>"
    n = len(bounded)
    return [
        bounded[start : start + size]
        for size in range(lowest, min(highest, n - 1) + 1)
        for start in range(n - size + 1)
    ]


def hash_text(text: str) -> int:
    """Returns the 64-bit FNV-1a hash of a text's UTF-8."""
    value = _OFFSET
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * _PRIME) & _WORD
    return value


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Hashes many texts at once, as `hash_text` does one by one."""
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    length = np.array([len(item) for item in data], dtype=np.int64)
    out = np.full(len(data), _OFFSET, dtype=np.uint64)
    short = np.flatnonzero(length <= _WIDE)
    width = int(length[short].max()) if len(short) else 0
    if width:
        block = b"".join(data[i].ljust(width, b"\0") for i in short)
        matrix = np.frombuffer(block, dtype=np.uint8).reshape(len(short), width)
        value = out[short]
        for column in range(width):
            step = (value ^ matrix[:, column]) * np.uint64(_PRIME)
            value = np.where(column < length[short], step, value)
        out[short] = value
    for i in np.flatnonzero(length > _WIDE):
        value_of_one = _OFFSET
        for byte in data[i]:
            value_of_one = ((value_of_one ^ byte) * _PRIME) & _WORD
        out[i] = value_of_one
    return out


def ngram_table(texts: Sequence[str], lowest: int, highest: int, buckets: int) -> NgramTable:
    """Builds the table for the tokens' texts.

    Args:
        texts: one for each token; an empty one (a special token) has no n-grams.
        lowest: the shortest n-grams, in characters, bounds included.
        highest: the longest n-grams.
        buckets: rows to hash into.
    """
    grams = [ngrams(text, lowest, highest) if text else [] for text in texts]
    starts = np.zeros(len(grams) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in grams], out=starts[1:])
    hashes = hash_texts([gram for item in grams for gram in item])
    return NgramTable((hashes % np.uint64(buckets)).astype(np.int64), starts)


@dataclass(frozen=True)
class NgramIndex:
    """The n-grams that a vocabulary has: a row for each bucket that occurs, and the rows of each token.

    Attributes:
        char_ngrams: the shortest and the longest.
        n_buckets: buckets that n-grams are hashed into.
        buckets: the ones that occur, rising; a bucket's position is its row.
        table: the rows of each token.
    """

    char_ngrams: tuple[int, int]
    n_buckets: int
    buckets: NDArray[np.int64]
    table: NgramTable

    @classmethod
    def of(cls, token_texts: Sequence[str], char_ngrams: tuple[int, int], n_buckets: int) -> "NgramIndex":
        """Builds the index of the tokens' texts; buckets that no token has need no row."""
        table = ngram_table(token_texts, *char_ngrams, n_buckets)
        buckets, rows = np.unique(table.rows, return_inverse=True)
        return cls(char_ngrams, n_buckets, buckets, NgramTable(rows.astype(np.int64), table.starts))

    @property
    def n_rows(self) -> int:
        """Rows of the table of n-grams, at least one."""
        return max(1, len(self.buckets))

    def extended(self, words: Sequence[str]) -> NgramTable:
        """Returns the table with words after the tokens; n-grams that have no row do not count."""
        if not words:
            return self.table
        new = ngram_table(words, *self.char_ngrams, self.n_buckets)
        there = np.isin(new.rows, self.buckets)
        row = np.searchsorted(self.buckets, new.rows)
        ends = np.concatenate([[0], np.cumsum(there)])[new.starts]
        starts = self.table.starts
        return NgramTable(
            np.concatenate([self.table.rows, row[there]]), np.concatenate([starts, starts[-1] + ends[1:]])
        )
