"""`WordNgrams`: texts as n-grams of words from a vocabulary, for `tfidf` and `nb`.

It stands where other architectures have a tokenizer, and is saved beside the weights as
text. The n-grams and their choice are scikit-learn's (`CountVectorizer`): words by a
pattern, the most frequent n-grams kept. Id 0 is no n-gram. Not lossless, not for models
that read order. O(n) in the words of a text.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import CheckpointError, ConfigError

__all__ = ["IdBatch", "IdRow", "WordNgrams", "reading", "saved"]

_FORMAT = "sentimodels.words/1"
# Stand for the ends of a text; no pattern for words matches them.
_BEGIN, _END = "\x02", "\x03"


@dataclass(frozen=True)
class IdRow:
    """The ids of one text."""

    ids: NDArray[np.uint32]


@dataclass(frozen=True)
class IdBatch:
    """The ids of many texts: those of text i are `ids[row_offsets[i] : row_offsets[i + 1]]`."""

    ids: NDArray[np.uint32]
    row_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.uint32]:
        return self.ids[self.row_offsets[row] : self.row_offsets[row + 1]]


def saved(data: bytes, format: str) -> dict[str, Any]:
    """Reads the JSON of a run's encoder, and checks that it is of a format."""
    tree: dict[str, Any] = json.loads(data.decode("utf-8", "surrogatepass"))
    if tree["format"] != format:
        raise CheckpointError(f"words: format {tree['format']!r}, expected {format!r}")
    return tree


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns what goes wrong in reading a file into a `CheckpointError` that says what it should be."""
    try:
        yield
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"no {what}: {error!r}") from error


class WordNgrams:
    """A vocabulary of word n-grams; it encodes texts as a tokenizer does.

    Args:
        ngrams: the n-grams, words separated by one space; the place of one, plus 1, is its id.
        ngram_range: shortest and longest, in words.
        pattern: regular expression of a word.
        lowercase: whether texts are lower-cased.
        ends: whether the ends of a text count as words in its n-grams of two words and more.
    """

    def __init__(
        self,
        ngrams: Sequence[str],
        ngram_range: tuple[int, int],
        pattern: str,
        lowercase: bool,
        ends: bool = False,
    ) -> None:
        self.ngrams = list(ngrams)
        self.ngram_range = ngram_range
        self.pattern = pattern
        self.lowercase = lowercase
        self.ends = ends
        self._word = _compiled(pattern)
        self._ids = {ngram: place + 1 for place, ngram in enumerate(self.ngrams)}

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        *,
        ngram_range: tuple[int, int],
        max_features: int,
        min_df: int,
        max_df: float,
        pattern: str,
        lowercase: bool,
        ends: bool = False,
    ) -> Self:
        """Chooses the n-grams of the texts.

        Args:
            texts: the training texts.
            ngram_range: shortest and longest n-gram, in words.
            max_features: the most frequent ones kept, by occurrences; ties by spelling.
            min_df: texts an n-gram must occur in.
            max_df: the largest share of texts it may occur in.
            pattern: regular expression of a word.
            lowercase: whether to lower-case first.
            ends: whether the ends of a text count as words.
        """
        reader = cls([], ngram_range, pattern, lowercase, ends)
        seen: Counter[str] = Counter()
        texts_with: Counter[str] = Counter()
        for text in texts:
            found = list(reader._found(text))
            seen.update(found)
            texts_with.update(set(found))
        most = max_df * len(texts)
        kept = [ngram for ngram in seen if min_df <= texts_with[ngram] <= most]
        kept = sorted(sorted(kept), key=lambda ngram: -seen[ngram])[:max_features]
        return cls(sorted(kept), ngram_range, pattern, lowercase, ends)

    def _found(self, text: str) -> Iterator[str]:
        words = self._word.findall(text.lower() if self.lowercase else text)
        low, high = self.ngram_range
        if low == 1:
            yield from words
        if self.ends:
            words = [_BEGIN, *words, _END]
        for size in range(max(low, 2), high + 1):
            if len(words) > 2 or not self.ends:  # an empty text has no n-grams
                yield from (" ".join(words[i : i + size]) for i in range(len(words) - size + 1))

    @property
    def vocab_size(self) -> int:
        """Ids run below this; 0 is no n-gram."""
        return len(self.ngrams) + 1

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what is saved."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def encode(self, text: str, *, max_tokens: int | None = None) -> IdRow:
        """Returns the ids of the known n-grams of a text."""
        known = self._ids
        ids = [known[ngram] for ngram in self._found(text) if ngram in known]
        return IdRow(np.array(ids[:max_tokens], dtype=np.uint32))

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> IdBatch:
        """Encodes many texts; `threads` is there for the tokenizer's signature."""
        rows = [self.encode(text).ids for text in texts]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return IdBatch(np.concatenate([*rows, np.zeros(0, np.uint32)]), offsets)

    def windows(self, text: str, size: int, stride: int = 0) -> IdBatch:
        """Refuses: a bag of n-grams has no windows."""
        raise ConfigError('data.long = "windows": a bag of n-grams reads a text whole; raise data.max_tokens')

    def to_bytes(self) -> bytes:
        """Returns the vocabulary as JSON."""
        tree = {
            "format": _FORMAT,
            "pattern": self.pattern,
            "lowercase": self.lowercase,
            "ends": self.ends,
            "ngram_range": list(self.ngram_range),
            "ngrams": self.ngrams,
        }
        return json.dumps(tree, ensure_ascii=False, indent=0).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads what `to_bytes` wrote.

        Raises:
            CheckpointError: if it is something else.
        """
        with reading("vocabulary of word n-grams"):
            tree = saved(data, _FORMAT)
            low, high = tree["ngram_range"]
            lowercase, ends = bool(tree["lowercase"]), bool(tree["ends"])
            return cls(tree["ngrams"], (int(low), int(high)), tree["pattern"], lowercase, ends)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"model.token_pattern {pattern!r} is no regular expression: {error}") from error
