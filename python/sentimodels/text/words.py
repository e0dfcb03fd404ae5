"""Texts as bags of n-grams: `WordNgrams` for `tfidf` and `nb`, `HashedNgrams` for `bow`.

Both replace the tokenizer of other architectures, and are saved next to the weights as text. The n-grams of
`WordNgrams` and their choice are scikit-learn's (`CountVectorizer`): words by a pattern, the most frequent
n-grams kept; those of characters are fastText's (`ngrams.py`). `HashedNgrams` is after fastText (Joulin et
al. 2016; Bojanowski et al. 2017). Id 0 is not an n-gram. Not lossless, not for models that read order. O(n)
in the words of a text.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sentitok import PreTokenizer

from ..config import CharNgrams, NgramRange, Section
from ..data.normalization import ALONE, is_character
from ..errors import CheckpointError, ConfigError
from .ngrams import NgramTable, hash_texts, ngram_table, ngrams

__all__ = [
    "TOKEN_PATTERN",
    "WORD",
    "BagVocabulary",
    "HashedNgrams",
    "IdBatch",
    "IdRow",
    "NgramConfig",
    "WordCutter",
    "WordNgrams",
    "reading",
    "saved",
]

_FORMAT, _HASHED_FORMAT = "sentimodels.words/3", "sentimodels.hashed-ngrams/1"
TOKEN_PATTERN = (
    "Regular expression that matches a word. [default: words by the rules of Unicode; a character of "
    "Chinese, Japanese, Thai, Lao, Burmese or Khmer is a word]"
)
# Before n-grams of characters, and for the ends of a text: `normalize` leaves none of them in a text.
_CHARS, _BEGIN, _END = "\x01", "\x02", "\x03"


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
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise CheckpointError(f"no {what}: {error!r}") from error


class BagVocabulary:
    """Common parts of vocabularies of a bag of features: id 0 is none, and an unknown feature is left out."""

    in_order = False
    pad_id = 0
    special_ids = frozenset({0})
    token_texts = None
    unknown: tuple[str, ...] = ()

    def reader(self) -> Self:
        """Returns itself."""
        return self

    def windows(self, text: str, size: int, stride: int = 0) -> list[NDArray[np.uint32]]:
        """Refuses: a bag of n-grams has no windows."""
        raise ConfigError('data.long = "windows": a bag of n-grams reads a text whole; raise data.max_tokens')


class NgramConfig(Section):
    """Which n-grams a text is read as."""

    ngram_range: NgramRange = Field(default=(1, 2), description="Shortest and longest n-grams, in words.")
    char_ngrams: CharNgrams = Field(
        default=(0, 0), description="Shortest and longest n-grams of a word's characters; [0, 0] for none."
    )
    max_features: int = Field(
        default=1_000_000, ge=1, description="Maximum number of n-grams to keep, the most frequent ones."
    )
    min_df: int = Field(default=1, ge=1, description="Minimum number of texts that an n-gram must occur in.")
    max_df: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Maximum share of the texts that an n-gram may occur in, from 0 to 1.",
    )
    char_run: int = Field(
        default=3,
        ge=1,
        description="Longest n-gram of characters of scripts without spaces between words: Chinese, "
        "Japanese, Thai, ...",
    )
    token_pattern: str | None = Field(default=None, description=TOKEN_PATTERN)
    lowercase: bool = Field(default=True, description="Whether to lowercase the texts.")
    ends: bool = Field(
        default=False, description="Whether the beginning and the end of a text count as words in n-grams."
    )

    def features(self, texts: Sequence[str]) -> "WordNgrams":
        """Chooses the n-grams of the training texts."""
        return WordNgrams.fit(texts, NgramConfig(**self.model_dump(include=set(NgramConfig.model_fields))))


class WordNgrams(BagVocabulary):
    """A vocabulary of word n-grams; it encodes texts as a tokenizer does.

    Args:
        ngrams: the n-grams, words separated by one space; the place of one, plus 1, is its id.
        config: how texts are read.
    """

    def __init__(self, ngrams: Sequence[str], config: NgramConfig) -> None:
        self.ngrams = list(ngrams)
        self.config = config
        self.cutter = WordCutter(config.token_pattern)
        self._ids = {ngram: place + 1 for place, ngram in enumerate(self.ngrams)}

    @classmethod
    def fit(cls, texts: Sequence[str], config: NgramConfig) -> Self:
        """Chooses the n-grams of the texts: the most frequent by occurrences, ties by spelling."""
        reader = cls([], config)
        seen: Counter[str] = Counter()
        texts_with: Counter[str] = Counter()
        spelled: dict[str, list[str]] = {}
        for text in texts:
            occurrences = list(reader._found(text, spelled))
            seen.update(occurrences)
            texts_with.update(set(occurrences))
        most = config.max_df * len(texts)
        kept = [ngram for ngram in seen if config.min_df <= texts_with[ngram] <= most]
        kept = sorted(sorted(kept), key=lambda ngram: -seen[ngram])[: config.max_features]
        return cls(sorted(kept), config)

    def _found(self, text: str, spelled: dict[str, list[str]]) -> Iterator[str]:
        """The n-grams of a text; `spelled` keeps those of the characters of words seen before."""
        words = self.cutter.cut(text.lower() if self.config.lowercase else text)
        low, high = self.config.ngram_range
        if low == 1:
            yield from words
        if self.config.char_ngrams != (0, 0):
            for word in words:
                if word not in spelled:
                    spelled[word] = [_CHARS + part for part in ngrams(word, *self.config.char_ngrams)]
                yield from spelled[word]
        if self.config.ends:
            words = [_BEGIN, *words, _END]
        if len(words) > 2 or not self.config.ends:  # an empty text has no n-grams
            for size in range(max(low, 2), high + 1):
                yield from (" ".join(words[i : i + size]) for i in range(len(words) - size + 1))
        if self.config.char_run > high and not text.isascii():
            yield from self._runs(words, high)

    def _runs(self, words: Sequence[str], high: int) -> Iterator[str]:
        """N-grams longer than those of words, over runs of single-character words."""
        for alone, run in groupby(words, is_character):
            if alone:
                chars = list(run)
                for size in range(high + 1, self.config.char_run + 1):
                    yield from (" ".join(chars[i : i + size]) for i in range(len(chars) - size + 1))

    @property
    def lowercase(self) -> bool:
        """Whether texts are lower-cased."""
        return self.config.lowercase

    @property
    def vocab_size(self) -> int:
        """Ids run below this; 0 is not an n-gram."""
        return len(self.ngrams) + 1

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the saved files."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def encode(self, text: str, *, max_tokens: int | None = None) -> IdRow:
        """Returns the ids of the known n-grams of a text."""
        return IdRow(self._row(text, {})[:max_tokens])

    def _row(self, text: str, spelled: dict[str, list[str]]) -> NDArray[np.uint32]:
        known = self._ids
        ids = [known[ngram] for ngram in self._found(text, spelled) if ngram in known]
        return np.array(ids, dtype=np.uint32)

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> IdBatch:
        """Encodes many texts; `threads` is there for the tokenizer's signature."""
        spelled: dict[str, list[str]] = {}
        rows = [self._row(text, spelled) for text in texts]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return IdBatch(np.concatenate([*rows, np.zeros(0, np.uint32)]), offsets)

    def to_bytes(self) -> bytes:
        """Returns the vocabulary as JSON."""
        tree = {"format": _FORMAT, "config": self.config.plain(), "ngrams": self.ngrams}
        return json.dumps(tree, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads what `to_bytes` wrote.

        Raises:
            CheckpointError: if it is something else.
        """
        with reading("vocabulary of word n-grams"):
            tree = saved(data, _FORMAT)
            return cls(tree["ngrams"], NgramConfig.model_validate(tree["config"]))


_MARK = r"\p{M}\x{200C}\x{200D}"
_LETTER = rf"[\p{{L}}\p{{N}}_{_MARK}&&[^{ALONE}]]"
_HEBREW = r"[\x{5D0}-\x{5EA}\p{M}]"
_EMOJI = r"\p{Extended_Pictographic}\p{Emoji_Modifier}?[\p{M}\x{E0020}-\x{E007F}]*"
# The default, in the syntax of `PreTokenizer`. Inside a word may also be a middle dot (Catalan), and in
# Hebrew the sign of abbreviations, or the quote that is typed for it.
WORD = "|".join(
    (
        rf"[{ALONE}][{_MARK}]*",
        r"[0-9#*]\x{20E3}",  # keycaps
        r"\p{Regional_Indicator}\p{Regional_Indicator}",  # flags
        rf"{_EMOJI}(?:\x{{200D}}{_EMOJI})*",
        rf'{_HEBREW}+"{_HEBREW}+',
        rf"'?{_LETTER}+(?:['\x{{B7}}\x{{5F4}}]{_LETTER}+)*",
        rf"[^\s\p{{L}}\p{{N}}_{_MARK}][{_MARK}]*",
    )
)
_RULE = PreTokenizer(pattern=WORD)


class WordCutter:
    """Cuts texts into words.

    A word is letters, digits and underscores with all marks on them and the apostrophes inside or before
    (don't, n't, 's), or one emoji with its skin tone and all that is joined to it, or one other sign
    with its marks. After Unicode's word boundaries (UAX #29), with two differences: numbers are cut at
    commas and points, and scripts without spaces between words (`data/normalization.py`) are cut into
    characters, with their marks.

    Args:
        pattern: regular expression of a word, Python's; `None`: `WORD`.

    Raises:
        ConfigError: if the pattern is not valid.
    """

    def __init__(self, pattern: str | None) -> None:
        try:
            self._own = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"model.token_pattern {pattern!r} is not a valid pattern: {error}") from error

    def cut(self, text: str) -> list[str]:
        """Returns the words of a text."""
        if self._own is not None:
            words: list[str] = self._own.findall(text)
            return words
        return [piece for piece in _RULE.pieces(text) if not piece.isspace()]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns where the words that `cut` returns begin and end."""
        if self._own is not None:
            group = 1 if self._own.groups else 0
            return [match.span(group) for match in self._own.finditer(text)]
        return [(start, end) for start, end in _RULE.split(text) if not text[start:end].isspace()]


# Odd multiplier of the hash of a sequence of words (the 64-bit golden ratio).
_MIX = np.uint64(0x9E3779B97F4A7C15)


class _Known(dict[str, int]):
    """The id of each word; unknown ones are -1."""

    def __missing__(self, word: str) -> int:
        return -1


class HashedNgrams(BagVocabulary):
    """Texts as words, hashed word n-grams and character n-grams; it encodes texts as a tokenizer does.

    Ids: 0 is nothing; then the words of the training texts, each with its character n-grams (`grams`); then
    one id for each hash bucket that a word or character n-gram of the training texts fell into. At prediction
    an unknown word is its known character n-grams, and an unknown n-gram is left out. All of it is arrays: a
    million words take about a second.

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
            # A border may be first or last, and words between.
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
            "format": _HASHED_FORMAT,
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
            tree = saved(data, _HASHED_FORMAT)
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
