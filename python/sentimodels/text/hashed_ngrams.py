"""`HashedNgrams`: texts as words, hashed word n-grams and character n-grams, for `bow`.

After fastText (Joulin et al. 2016; Bojanowski et al. 2017). It stands where other
architectures have a tokenizer. Ids: 0 is nothing; then the words of the training texts,
each with its character n-grams (`grams`); then one id for each hash bucket that a word or
character n-gram of the training texts fell into. At prediction an unknown word is its known
character n-grams, and an unknown n-gram is left out. All of it is arrays: a million words
take about a second. Not lossless.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckpointError
from .ngrams import NgramTable, hash_texts, ngram_table, ngrams
from .words import BagVocabulary, IdBatch, IdRow, WordCutter, reading, saved

__all__ = ["HashedNgrams"]

_FORMAT = "sentimodels.hashed-ngrams/1"
# Odd multiplier of the hash of a sequence of words (the 64-bit golden ratio).
_MIX = np.uint64(0x9E3779B97F4A7C15)


class _Known(dict[str, int]):
    """The id of each word; unknown ones are -1."""

    def __missing__(self, word: str) -> int:
        return -1


class HashedNgrams(BagVocabulary):
    """Words and hashed n-grams; it encodes texts as a tokenizer does.

    Args:
        words: the known words; the place of one, plus 1, is its id.
        buckets: the hash buckets that occur, rising; their ids follow those of the words.
        word_ngrams: longest n-gram of words.
        char_ngrams: shortest and longest n-gram of characters; (0, 0) for none.
        n_buckets: buckets to hash into.
        pattern: regular expression of a word; `None`: words by the rules of Unicode.
        lowercase: whether texts are lower-cased.
    """

    def __init__(
        self,
        words: Sequence[str],
        buckets: NDArray[np.uint32],
        *,
        word_ngrams: int,
        char_ngrams: tuple[int, int],
        n_buckets: int,
        pattern: str | None,
        lowercase: bool,
    ) -> None:
        self.words = list(words)
        self.buckets = buckets
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.n_buckets = n_buckets
        self.pattern = pattern
        self.lowercase = lowercase
        self.cutter = WordCutter(pattern)
        self._ids = _Known({word: place + 1 for place, word in enumerate(self.words)})
        self._ids["\n"] = 0
        self._hashes = hash_texts(["", *self.words])
        self._id_of_bucket = np.zeros(n_buckets, dtype=np.int32)
        self._id_of_bucket[buckets] = np.arange(len(buckets), dtype=np.int32) + len(self.words) + 1

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        *,
        word_ngrams: int,
        char_ngrams: tuple[int, int],
        n_buckets: int,
        min_count: int,
        pattern: str | None,
        lowercase: bool,
    ) -> Self:
        """Finds the words and buckets of the training texts."""
        make = partial(
            cls,
            word_ngrams=word_ngrams,
            char_ngrams=char_ngrams,
            n_buckets=n_buckets,
            pattern=pattern,
            lowercase=lowercase,
        )
        nothing = np.zeros(0, dtype=np.uint32)
        pieces = make([], nothing)._pieces(texts)
        seen = Counter(pieces)
        del seen["\n"]
        words = sorted(word for word, count in seen.items() if count >= min_count)
        reader = make(words, nothing)
        ids, text_of = reader._located(pieces)
        occurs = np.zeros(n_buckets, dtype=bool)
        for _, bucket in reader._sequences(ids, text_of):
            occurs[bucket] = True
        if char_ngrams != (0, 0):
            occurs[ngram_table(words, *char_ngrams, n_buckets).rows] = True
        return make(words, np.flatnonzero(occurs).astype(np.uint32))

    def _pieces(self, texts: Sequence[str]) -> list[str]:
        """Returns the words of all texts, a line end before the first and after each."""
        pieces = ["\n"]
        for text in texts:
            line = text.replace("\n", " ")
            pieces += self.cutter.cut(line.lower() if self.lowercase else line)
            pieces.append("\n")
        return pieces

    def _located(self, pieces: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the id of each piece (0: a border, -1: unknown), and the text that it is of or begins."""
        ids = np.fromiter(map(self._ids.__getitem__, pieces), dtype=np.int64, count=len(pieces))
        return ids, (ids == 0).cumsum() - 1

    def _sequences(
        self, ids: NDArray[np.int64], text_of: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Returns for 2, 3, ... pieces: which texts have such an n-gram of known ones, and its bucket.

        The borders of a text count as words at its ends: `<border> fine <border>` is a trigram.
        """
        out = []
        hashes = self._hashes[np.maximum(ids, 0)]
        value, known = hashes, ids >= 0
        for size in range(2, self.word_ngrams + 1):
            if len(ids) < size:
                break
            value = (value[:-1] ^ (value[:-1] >> np.uint64(29))) * _MIX + hashes[size - 1 :]
            # A border may stand first or last, and words between.
            inside = ids[1:-1] > 0 if size == 3 else ids[size - 2 : -1] > 0
            known = known[:-1] & (ids[size - 1 :] >= 0) & (inside if size > 2 else True)
            if size == 2:
                known = known & ((ids[:-1] > 0) | (ids[1:] > 0))
            mixed = value[known]
            # The high bits depend on all words; the low ones mostly on the last.
            bucket = ((mixed ^ (mixed >> np.uint64(32))) * _MIX >> np.uint64(20)) % np.uint64(self.n_buckets)
            out.append((text_of[: len(value)][known], bucket.astype(np.int64)))
        return out

    @property
    def vocab_size(self) -> int:
        """Ids run below this; 0 is nothing."""
        return 1 + len(self.words) + len(self.buckets)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the saved files."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def grams(self) -> NgramTable:
        """The ids of the character n-grams of each id; only words have any."""
        n_words = len(self.words)
        starts = np.zeros(self.vocab_size + 1, dtype=np.int64)
        if self.char_ngrams == (0, 0):
            return NgramTable(np.zeros(0, np.int64), starts)
        table = ngram_table(["", *self.words], *self.char_ngrams, self.n_buckets)
        starts[: n_words + 2] = table.starts
        starts[n_words + 2 :] = table.starts[-1]
        return NgramTable(self._id_of_bucket[table.rows].astype(np.int64), starts)

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> IdBatch:
        """Encodes many texts; `threads` is there for the tokenizer's signature."""
        if not len(texts):
            return IdBatch(np.zeros(0, np.uint32), np.zeros(1, np.int64))
        pieces = self._pieces(texts)
        ids, text_of = self._located(pieces)
        parts = [(text_of[ids > 0], ids[ids > 0])]
        for owners, bucket in self._sequences(ids, text_of):
            parts.append((owners, self._id_of_bucket[bucket].astype(np.int64)))
        parts += self._unknown(pieces, ids, text_of)
        owners = np.concatenate([part[0] for part in parts])
        feature_ids = np.concatenate([part[1] for part in parts])
        owners, feature_ids = owners[feature_ids > 0], feature_ids[feature_ids > 0]
        order = np.argsort(owners, kind="stable")
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=len(texts)), out=offsets[1:])
        return IdBatch(feature_ids[order].astype(np.uint32), offsets)

    def _unknown(
        self, pieces: list[str], ids: NDArray[np.int64], text_of: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Returns the known character n-grams of unknown words, with the texts they are of."""
        if self.char_ngrams == (0, 0) or not (ids < 0).any():
            return []
        places = np.flatnonzero(ids < 0)
        grams = [ngrams(pieces[place], *self.char_ngrams) for place in places.tolist()]
        owners = np.repeat(text_of[places], [len(item) for item in grams])
        bucket = hash_texts([gram for item in grams for gram in item]) % np.uint64(self.n_buckets)
        return [(owners, self._id_of_bucket[bucket].astype(np.int64))]

    def encode(self, text: str, *, max_tokens: int | None = None) -> IdRow:
        """Returns the ids of one text."""
        return IdRow(self.encode_batch([text]).ids[:max_tokens])

    def to_bytes(self) -> bytes:
        """Returns words and buckets as JSON."""
        tree = {
            "format": _FORMAT,
            "pattern": self.pattern,
            "lowercase": self.lowercase,
            "word_ngrams": self.word_ngrams,
            "char_ngrams": list(self.char_ngrams),
            "n_buckets": self.n_buckets,
            "words": self.words,
            "buckets": base64.b64encode(self.buckets.astype("<u4").tobytes()).decode(),
        }
        return json.dumps(tree, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads what `to_bytes` wrote.

        Raises:
            CheckpointError: if it is something else.
        """
        with reading("table of hashed words"):
            tree = saved(data, _FORMAT)
            buckets = np.frombuffer(base64.b64decode(tree["buckets"], validate=True), dtype="<u4")
            n_buckets = int(tree["n_buckets"])
            if not 0 < n_buckets <= 1 << 28 or (len(buckets) and int(buckets.max()) >= n_buckets):
                raise CheckpointError(f"words: buckets out of range for n_buckets {n_buckets}")
            low, high = tree["char_ngrams"]
            return cls(
                tree["words"],
                buckets.astype(np.uint32),
                word_ngrams=int(tree["word_ngrams"]),
                char_ngrams=(int(low), int(high)),
                n_buckets=n_buckets,
                pattern=tree["pattern"],
                lowercase=bool(tree["lowercase"]),
            )
