"""Duplicates inside a table, and leaks from a training table into another; near ones by MinHash.

Three degrees: letter for letter; folded (`fold`: without
case, spacing, form and invisible characters); near (most word triples shared). Groups, such as the phrases of
one sentence, may repeat themselves: near duplicates count between groups only.
"""

import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .normalization import fold
from .table import Table

_EXAMPLES = 5


@dataclass(frozen=True)
class Example:
    """Two rows that are the same or alike."""

    kind: str
    row: int
    other_row: int
    text: str
    other_text: str
    label: str | None = None
    other_label: str | None = None


@dataclass(frozen=True)
class LeakReport:
    """How much of a table was in the training table.

    Attributes:
        n: rows of the table.
        exact: rows whose text is a training text letter for letter.
        folded: rows that are one without case and spacing (those of `exact` among them).
        near: further rows that share most word triples with one; -1 if not looked for.
        conflicts: rows of `folded` whose label no such training row has.
        shared_groups: groups that both have.
        seen: which rows `folded` counts.
        examples: a few of each kind.
    """

    n: int
    exact: int
    folded: int
    near: int
    conflicts: int
    shared_groups: int
    seen: NDArray[np.bool_]
    examples: tuple[Example, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing leaked."""
        return self.folded == 0 and self.near <= 0 and self.shared_groups == 0

    def lines(self, name: str = "the other file") -> list[str]:
        """Returns notes for the user, one sentence each; none if all is clean."""
        if self.clean:
            return []
        share = f"{100 * self.folded / self.n:.1f} %"
        are = "is a training text" if self.folded == 1 else "are training texts"
        said = f"{self.folded:,} of the {self.n:,} rows of {name} ({share}) {are}"
        rest = ", the rest except for case and spacing" if self.exact < self.folded else ""
        sentences = [f"{said}; {self.exact:,} letter for letter{rest}"] if self.folded else []
        if self.near > 0:
            alike = (
                "row of {} is nearly a training text"
                if self.near == 1
                else "rows of {} are nearly training texts"
            )
            sentences.append(f"{self.near:,} {alike.format(name)}")
        if self.conflicts:
            have = "has" if self.conflicts == 1 else "have"
            sentences.append(f"{self.conflicts:,} of them {have} another label than in training")
        if self.shared_groups:
            groups = "group is" if self.shared_groups == 1 else "groups are"
            sentences.append(f"{self.shared_groups:,} {groups} in both")
        return sentences


def leaks(train: Table, other: Table, *, near: bool = False) -> LeakReport:
    """Finds rows of a table that are training texts.

    Args:
        train: training rows.
        other: validation or test rows.
        near: look for near duplicates too, which takes seconds.
    """
    exact = set(train.texts)
    first: dict[str, int] = {}
    labels: dict[str, set[str]] = {}
    for row, text in enumerate(train.texts):
        folded = fold(text)
        first.setdefault(folded, row)
        if train.labels is not None:
            labels.setdefault(folded, set()).add(train.labels[row])
    keys = [fold(text) for text in other.texts]
    seen = np.fromiter((key in first for key in keys), dtype=np.bool_, count=len(keys))
    examples = [_example("folded", train, other, first[keys[row]], row) for row in _some(seen)]
    conflicting = [
        row
        for row in np.flatnonzero(seen).tolist()
        if other.labels is not None and labels.get(keys[row]) and other.labels[row] not in labels[keys[row]]
    ]
    examples += [_example("conflict", train, other, first[keys[row]], row) for row in conflicting[:_EXAMPLES]]
    n_near = -1
    if near:
        alike = nearest(sketch(train.texts), sketch(other.texts))
        alike = {row: source for row, source in alike.items() if not seen[row]}
        n_near = len(alike)
        examples += [_example("near", train, other, alike[row], row) for row in sorted(alike)[:_EXAMPLES]]
    return LeakReport(
        n=len(other),
        exact=sum(text in exact for text in other.texts),
        folded=int(seen.sum()),
        near=n_near,
        conflicts=len(conflicting),
        shared_groups=_shared_groups(train, other),
        seen=seen,
        examples=tuple(examples),
    )


def _shared_groups(train: Table, other: Table) -> int:
    # Two files may both number their sentences from 1: only parts of one file share groups.
    if train.groups is None or other.groups is None or train.sha256 != other.sha256:
        return 0
    return len(set(train.groups) & set(other.groups))


def _some(chosen: NDArray[np.bool_]) -> list[int]:
    rows: list[int] = np.flatnonzero(chosen)[:_EXAMPLES].tolist()
    return rows


def _example(kind: str, a: Table, b: Table, row_a: int, row_b: int) -> Example:
    return Example(
        kind,
        row_b,
        row_a,
        b.texts[row_b],
        a.texts[row_a],
        b.labels[row_b] if b.labels is not None else None,
        a.labels[row_a] if a.labels is not None else None,
    )


@dataclass
class DuplicateReport:
    """Repeated rows of one table.

    Attributes:
        n: rows.
        exact: rows that repeat an earlier one letter for letter.
        folded: rows that repeat an earlier one except for case and spacing (`exact` among them).
        near: further rows that share most word triples with an earlier one of another group.
        conflicts: texts (folded) that occur with more than one label.
        conflict_rows: rows of those texts.
        empty: rows without text.
        examples: a few of each kind.
    """

    n: int
    exact: int = 0
    folded: int = 0
    near: int = 0
    conflicts: int = 0
    conflict_rows: int = 0
    empty: int = 0
    examples: list[Example] = field(default_factory=list)


def duplicates(table: Table, *, near: bool = True) -> DuplicateReport:
    """Finds repeated rows, and texts with two labels."""
    report = DuplicateReport(len(table), empty=sum(not text.strip() for text in table.texts))
    seen: dict[str, int] = {}
    first: dict[str, int] = {}
    rows_of: dict[str, list[int]] = {}
    repeated = np.zeros(len(table), dtype=np.bool_)
    for row, text in enumerate(table.texts):
        key = fold(text)
        if text in seen:
            report.exact += 1
        seen.setdefault(text, row)
        if key in first:
            repeated[row] = True
            report.folded += 1
            if report.folded <= _EXAMPLES:
                report.examples.append(_example("folded", table, table, first[key], row))
        first.setdefault(key, row)
        rows_of.setdefault(key, []).append(row)
    if table.labels is not None:
        _count_conflicts(table, table.labels, rows_of, report)
    if near:
        _count_near(table, repeated, report)
    return report


def _count_conflicts(
    table: Table, labels: Sequence[str], rows_of: dict[str, list[int]], report: DuplicateReport
) -> None:
    for rows in rows_of.values():
        other = next((row for row in rows if labels[row] != labels[rows[0]]), None)
        if other is None:
            continue
        report.conflicts += 1
        report.conflict_rows += len(rows)
        if report.conflicts <= _EXAMPLES:
            report.examples.append(_example("conflict", table, table, rows[0], other))


def disagreements(table: Table) -> list[Example]:
    """Returns rows that are the same as an earlier row, or nearly, with another label.

    A text that many rows have is compared with the first of them.
    """
    labels, found = table.labelled(), list[Example]()
    first: dict[str, int] = {}
    keys = [fold(text) for text in table.texts]
    for row, key in enumerate(keys):
        if labels[first.setdefault(key, row)] != labels[row] and key:
            found.append(_example("folded", table, table, first[key], row))
    near = {
        frozenset((first[keys[earlier]], first[keys[later]])): (earlier, later)
        for earlier, later in sorted(near_pairs(sketch(table.texts), table.groups), reverse=True)
        if keys[earlier] != keys[later] and labels[earlier] != labels[later]
    }
    return found + [_example("near", table, table, *pair) for pair in sorted(near.values())]


def _count_near(table: Table, repeated: NDArray[np.bool_], report: DuplicateReport) -> None:
    alike: dict[int, int] = {}
    for earlier, later in near_pairs(sketch(table.texts), table.groups):
        if not repeated[later]:
            alike.setdefault(later, earlier)
    report.near = len(alike)
    for later in sorted(alike)[:_EXAMPLES]:
        report.examples.append(_example("near", table, table, alike[later], later))


# Near duplicates: texts that share most of their word triples, by MinHash.
# Texts under five words are compared by triples of characters, those under 20 characters not at all: there
# one word more is another text. Source: Broder 1997, banding after Leskovec et al., "Mining of Massive
# Datasets", ch. 3. Every pair found is checked by the Jaccard index of its shingles, so there are no false
# ones; of pairs at the threshold about one in 10^4 is missed. Time grows with the words, not with the
# pairs: a crowded bucket links each text to only two more. datasketch 2.0 is not used: it found the same
# pairs of 12,000 tweets in 12 times the time, because it hashes text by text.

THRESHOLD = 0.8
_HASHES = 64
_BANDS = 16
_MIN_WORDS = 5
_MIN_CHARACTERS = 20
# Shingles that are hashed, and pairs that are compared, at a time.
_BLOCK, _PAIR_BITS = 1 << 14, 14
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


class _Numbers(dict[str, int]):
    """The hash of each word, computed once."""

    def __missing__(self, word: str) -> int:
        self[word] = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        return self[word]


def sketch(texts: Sequence[str]) -> Sketches:
    """Computes the sketches of texts."""
    numbers, flat = _Numbers(), array("Q")
    lengths = np.zeros(len(texts), dtype=np.int64)
    for number, text in enumerate(texts):
        words = _words(text)
        lengths[number] = max(0, len(words) - 2)
        flat.extend(map(numbers.__getitem__, words))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    shingles = _triples(np.frombuffer(flat, dtype=np.uint64), lengths)
    return Sketches(shingles, offsets, _bands(shingles, offsets))


def _triples(words: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hashes each three words in a row of a text."""
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
    keys = np.zeros((len(offsets) - 1, _BANDS), dtype=np.uint64)
    filled = np.flatnonzero(np.diff(offsets) > 0)
    if len(filled) == 0:
        return keys
    rng = np.random.Generator(np.random.PCG64(20261121))
    factors = rng.integers(1, 1 << 63, size=_HASHES, dtype=np.uint64) | np.uint64(1)
    rows_a_band = _HASHES // _BANDS
    # Blocks of texts stay in the cache while they are hashed 64 times.
    cuts = np.flatnonzero(np.diff(offsets[filled] // _BLOCK)) + 1
    for texts in np.split(filled, cuts):
        start, end = offsets[texts[0]], offsets[texts[-1] + 1]
        block, starts = shingles[start:end], offsets[texts] - start
        made = np.zeros((_BANDS, len(texts)), dtype=np.uint64)
        for number in range(_HASHES):
            hashed = block * factors[number]
            hashed ^= hashed >> np.uint64(32)
            band = number // rows_a_band
            made[band] = (made[band] ^ np.minimum.reduceat(hashed, starts)) * _MIX
        keys[texts] = made.T
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
    pairs = _candidates(sketches)
    if groups is not None:
        numbers: dict[str, int] = {}
        group = np.array([numbers.setdefault(name, len(numbers)) for name in groups], dtype=np.int64)
        pairs = pairs[group[pairs[:, 0]] != group[pairs[:, 1]]]
    for start in range(0, len(pairs), 1 << _PAIR_BITS):
        block = pairs[start : start + (1 << _PAIR_BITS)]
        alike = block[_jaccards(sketches, block) >= threshold]
        yield from map(tuple, alike.tolist())


def _candidates(sketches: Sketches) -> NDArray[np.int64]:
    """Returns pairs of texts that share a band, `(n, 2)`: each with the one before it and with the first."""
    filled = np.flatnonzero(sketches.any())
    found = [np.zeros((0, 2), dtype=np.int64)]
    for band in range(_BANDS):
        keys = sketches.bands[filled, band]
        order = np.argsort(keys, kind="stable")
        ordered, texts = keys[order], filled[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        first = np.searchsorted(ordered, ordered[same])
        found += [np.stack([texts[same - 1], texts[same]], 1), np.stack([texts[first], texts[same]], 1)]
    n = len(sketches.bands)
    keys = _distinct(np.concatenate([pairs[:, 0] * n + pairs[:, 1] for pairs in found]).astype(np.uint64))
    return np.stack(np.divmod(keys.astype(np.int64), n), 1)


def _jaccards(sketches: Sketches, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the Jaccard index of the shingles of each pair."""
    sides = []
    for side in (0, 1):
        starts = sketches.offsets[pairs[:, side]]
        lengths = sketches.offsets[pairs[:, side] + 1] - starts
        pair = np.repeat(np.arange(len(pairs)), lengths)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        # The pair and 50 bits of the shingle in one number, because numbers sort fast.
        shingle = sketches.shingles[starts[pair] + within] >> np.uint64(_PAIR_BITS)
        sides.append(_distinct((pair.astype(np.uint64) << np.uint64(64 - _PAIR_BITS)) | shingle))
    both = np.concatenate(sides)
    n_both, n_union = (
        np.bincount((keys >> np.uint64(64 - _PAIR_BITS)).astype(np.int64), minlength=len(pairs))
        for keys in (both, _distinct(both))
    )
    index: NDArray[np.float64] = (n_both - n_union) / n_union
    return index


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    ordered = np.sort(keys)
    if len(ordered) == 0:
        return ordered
    distinct: NDArray[np.uint64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    return distinct


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
