"""Near duplicates: texts that share most of their word triples, by MinHash.

Texts under five words are compared by triples of characters, those under 20
characters not at all: there one word more is another text. Not for equal texts
(`folding.py`). Source: Broder 1997, banding after Leskovec et al.,
"Mining of Massive Datasets", ch. 3. Every pair found is checked by the Jaccard
index of its shingles, so there are no false ones; of pairs at the threshold about
one in 10^4 is missed. Time grows with the words, not with the pairs: a crowded
bucket links each text to two others only.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .folding import fold

THRESHOLD = 0.8
_HASHES = 64
_BANDS = 16
_MIN_WORDS = 5
_MIN_CHARACTERS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sketches:
    """The shingles of each text and their minima.

    Attributes:
        shingles: hashes of all texts' shingles, flat; uint64.
        offsets: where each text's begin; int64, n + 1.
        bands: `(n, 16)` keys; texts alike share one. Meaningless where there are no shingles.
    """

    shingles: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    bands: NDArray[np.uint64]

    def of(self, text: int) -> NDArray[np.uint64]:
        """The shingles of one text."""
        return self.shingles[self.offsets[text] : self.offsets[text + 1]]

    def any(self) -> NDArray[np.bool_]:
        """Which texts have shingles."""
        return np.diff(self.offsets) > 0


def _words(text: str) -> list[str]:
    """Words, or overlapping character triples where there are few words."""
    folded = fold(text)
    words = folded.split()
    if len(words) >= _MIN_WORDS:
        return words
    if len(folded) < _MIN_CHARACTERS:
        return []
    return [folded[start : start + 3] for start in range(len(folded) - 2)]


def sketch(texts: Sequence[str]) -> Sketches:
    """Computes the sketches of texts."""
    known: dict[str, int] = {}
    flat: list[int] = []
    lengths = np.zeros(len(texts), dtype=np.int64)
    for number, text in enumerate(texts):
        words = _words(text)
        lengths[number] = max(0, len(words) - 2)
        for word in words:
            if word not in known:
                known[word] = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            flat.append(known[word])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    shingles = _triples(np.array(flat, dtype=np.uint64), lengths)
    return Sketches(shingles, offsets, _bands(shingles, offsets))


def _triples(words: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hashes each three words in a row that stand in one text."""
    if lengths.sum() == 0:
        return np.zeros(0, np.uint64)
    n_words = np.where(lengths > 0, lengths + 2, 0)
    ends = np.cumsum(n_words)
    starts = np.repeat(ends - n_words, lengths)
    first_of_text = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(first_of_text, lengths)
    places = starts + within
    mixed = words[places] * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ words[places + 1]) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ words[places + 2]) * _MIX
    result: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(32))
    return result


def _bands(shingles: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    n_texts = len(offsets) - 1
    keys = np.zeros((n_texts, _BANDS), dtype=np.uint64)
    filled = np.flatnonzero(np.diff(offsets) > 0)
    if len(filled) == 0:
        return keys
    rng = np.random.Generator(np.random.PCG64(20261121))
    factors = rng.integers(1, 1 << 63, size=_HASHES, dtype=np.uint64) | np.uint64(1)
    rows_a_band = _HASHES // _BANDS
    for number in range(_HASHES):
        hashed = shingles * factors[number]
        hashed ^= hashed >> np.uint64(32)
        minima = np.minimum.reduceat(hashed, offsets[filled])
        band = number // rows_a_band
        keys[filled, band] = (keys[filled, band] ^ minima) * _MIX
    return keys


def jaccard(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Returns the share of shingles that both have."""
    common = len(np.intersect1d(a, b))
    both = len(np.unique(a)) + len(np.unique(b)) - common
    return common / both if both else 0.0


def near_pairs(
    sketches: Sketches, groups: Sequence[str] | None = None, threshold: float = THRESHOLD
) -> Iterator[tuple[int, int]]:
    """Yields pairs (earlier, later) of texts that are alike; not both of one group."""
    filled = np.flatnonzero(sketches.any())
    done: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        keys = sketches.bands[filled, band]
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
        first: dict[int, int] = {}
        for place in same.tolist():
            later, before = int(filled[order[place]]), int(filled[order[place - 1]])
            first.setdefault(int(keys[order[place]]), before)
            for earlier in {before, first[int(keys[order[place]])]}:
                pair = (earlier, later)
                if pair in done or (groups is not None and groups[earlier] == groups[later]):
                    continue
                done.add(pair)
                if jaccard(sketches.of(earlier), sketches.of(later)) >= threshold:
                    yield pair


def nearest(known: Sketches, asked: Sketches, threshold: float = THRESHOLD) -> dict[int, int]:
    """Returns for each asked text that has one a known text that is like it."""
    matches: dict[int, int] = {}
    filled_known = np.flatnonzero(known.any())
    filled = np.flatnonzero(asked.any())
    if len(filled_known) == 0 or len(filled) == 0:
        return matches
    tried: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        keys = known.bands[filled_known, band]
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        wanted = asked.bands[filled, band]
        places = np.searchsorted(ordered, wanted)
        inside = np.minimum(places, len(ordered) - 1)
        for row in np.flatnonzero(ordered[inside] == wanted).tolist():
            text = int(filled[row])
            pair = (int(filled_known[order[places[row]]]), text)
            if text in matches or pair in tried:
                continue
            tried.add(pair)
            if jaccard(known.of(pair[0]), asked.of(text)) >= threshold:
                matches[text] = pair[0]
    return matches
