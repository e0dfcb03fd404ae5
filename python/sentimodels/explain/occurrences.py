"""Where the n-grams of a bag stand in a text: which words each one covers.

The vocabularies (`text/words.py`, `text/hashed_ngrams.py`) know only which n-grams there are; they
need no places, and finding them would slow training. Tests hold the n-grams found here equal to theirs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..data.normalization import is_character
from ..text.encoder import Encoder
from ..text.hashed_ngrams import HashedNgrams
from ..text.ngrams import ngrams
from ..text.words import _BEGIN, _CHARS, _END, WordNgrams

__all__ = ["Occurrence", "occurrences"]


@dataclass(frozen=True)
class Occurrence:
    """An n-gram at a place.

    Attributes:
        id: of the n-gram.
        text: what it reads: words, or characters with `…` where the word goes on.
        begin: number of its first word.
        end: number after its last word.
    """

    id: int
    text: str
    begin: int
    end: int


def occurrences(encoder: Encoder, text: str) -> tuple[list[Occurrence], int]:
    """Returns the n-grams of a prepared text that a bag knows, and how many words the bag reads in it."""
    if isinstance(encoder, WordNgrams):
        words = encoder.cutter.cut(text.lower() if encoder.config.lowercase else text)
        sequences = _of_words(encoder, words)
        known = encoder._ids
        kept = [Occurrence(known[one], _named(one), *place) for one, *place in sequences if one in known]
        return kept, len(words)
    assert isinstance(encoder, HashedNgrams)
    pieces = encoder._pieces([text])
    return list(_of_hashes(encoder, pieces)), len(pieces) - 2  # less the two ends


def _of_words(encoder: WordNgrams, words: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yields what `WordNgrams._found` yields, and the words it covers."""
    config, n = encoder.config, len(words)
    low, high = config.ngram_range
    if low == 1:
        yield from ((word, place, place + 1) for place, word in enumerate(words))
    if config.char_ngrams != (0, 0):
        for place, word in enumerate(words):
            for part in ngrams(word, *config.char_ngrams):
                yield _CHARS + part, place, place + 1
    before = int(config.ends)
    padded = [_BEGIN, *words, _END] if config.ends else words
    if len(padded) > 2 or not config.ends:
        for size in range(max(low, 2), high + 1):
            for place in range(len(padded) - size + 1):
                yield " ".join(padded[place : place + size]), *_inside(place - before, size, n)
    if config.char_run > high:
        for alone, run in groupby(enumerate(padded), lambda pair: is_character(pair[1])):
            chars = list(run) if alone else []
            for size in range(high + 1, config.char_run + 1):
                for first in range(len(chars) - size + 1):
                    spelled = " ".join(char for _, char in chars[first : first + size])
                    yield spelled, *_inside(chars[first][0] - before, size, n)


def _inside(begin: int, size: int, n_words: int) -> tuple[int, int]:
    """Returns the words of a window that may reach over an end of the text."""
    return max(begin, 0), min(begin + size, n_words)


def _of_hashes(encoder: HashedNgrams, pieces: list[str]) -> Iterator[Occurrence]:
    ids, _ = encoder._located(pieces)
    # In place of the text of each piece its own number, so that what is found says where.
    here, n_words = np.arange(len(ids)), len(pieces) - 2
    for place in np.flatnonzero(ids > 0).tolist():
        yield Occurrence(int(ids[place]), pieces[place], place - 1, place)
    for size, (places, buckets) in enumerate(encoder._sequences(ids, here), 2):
        for place, id in zip(places.tolist(), encoder._id_of_bucket[buckets].tolist(), strict=True):
            if id:
                begin, end = _inside(place - 1, size, n_words)
                yield Occurrence(id, " ".join(pieces[begin + 1 : end + 1]), begin, end)
    for places, unknown in encoder._unknown(pieces, ids, here):
        for place, id in zip(places.tolist(), unknown.tolist(), strict=True):
            if id:
                yield Occurrence(id, f"…{pieces[place]}…", place - 1, place)


def _named(ngram: str) -> str:
    """Returns what people read of an n-gram; the ends of a text are left out."""
    if ngram.startswith(_CHARS):
        inner = ngram.removeprefix(_CHARS)
        head, tail = "" if inner.startswith("<") else "…", "" if inner.endswith(">") else "…"
        return f"{head}{inner.removeprefix('<').removesuffix('>')}{tail}"
    return " ".join(word for word in ngram.split(" ") if word not in (_BEGIN, _END))
