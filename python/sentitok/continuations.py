"""`Continuations`: ways in which the ids of a text may continue, as tiktoken's `encode_with_unstable`.

Slow, by its definition: the vocabulary is searched at each place of the text's last piece.

Source: openai/tiktoken 0.14, `src/lib.rs` (`_encode_unstable_native`).
"""

import base64
from bisect import bisect_left
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate, takewhile

import numpy as np
import numpy.typing as npt

from ._sentitok import Tokenizer

__all__ = ["Continuations"]

# The blanks at which a split may yet go away: bytes of tokens that do not end for certain.
_BLANKS = frozenset(b" \n\t")


class Continuations:
    """Possible continuations of a text.

    Args:
        tokenizer: byte-level, ordered by ranks.
        ranks: its tokens but the special ones, with their ids.
    """

    def __init__(self, tokenizer: Tokenizer, ranks: dict[bytes, int]) -> None:
        self.tokenizer = tokenizer
        self.ranks = ranks
        self.tokens = sorted(ranks)

    def after(self, ids: list[int], n_last: int) -> tuple[list[int], list[list[int]]]:
        """Returns the ids that stay whatever follows, and possible replacements of the remaining ids.

        Args:
            ids: those of a text that ends in no special token.
            n_last: how many of them are its last piece's, at least one.
        """
        n_last = self._with_blanks_before(ids, n_last)
        stable, rest = ids[:-n_last], b"".join(self._bytes(id) for id in ids[-n_last:])
        ways = self._across(rest)
        ways.update((self.ranks[token],) for token in self._beginning_with(rest))
        # Where white space ends the text a split may yet appear before its last character.
        before = _without_last_blank(rest)
        if before and len(before) < len(rest):
            ways.add((*self.single_piece(before), *self.single_piece(rest[len(before) :])))
        return stable, [list(way) for way in sorted(ways)]

    def with_bytes(self, ids: list[int], n_last: int, rest: bytes) -> list[int]:
        """Returns the ids of a text and of bytes behind it that are none: its last piece continues with them.

        Args:
            ids: those of the text.
            n_last: how many of them are its last piece's.
            rest: the bytes.
        """
        if not n_last:
            return self.single_piece(rest)
        n_last = self._with_blanks_before(ids, n_last)
        return ids[:-n_last] + self.single_piece(b"".join(map(self._bytes, ids[-n_last:])) + rest)

    def single_piece(self, piece: bytes) -> list[int]:
        """Returns the ids of bytes that are not split."""
        if _is_utf8(piece):
            ids: list[int] = self._unsplit.encode(piece).ids.tolist()
            return ids
        id = self.ranks.get(piece)
        return self._merged(piece) if id is None else [id]

    @cached_property
    def _unsplit(self) -> Tokenizer:
        """The same ranks, and texts that stay whole."""
        lines = (base64.b64encode(token) + b" %d\n" % id for token, id in self.ranks.items())
        return Tokenizer.from_tiktoken(b"".join(lines), "bytes")

    @cached_property
    def _lengths(self) -> npt.NDArray[np.int64]:
        """The number of bytes of each id."""
        lengths = np.zeros(self.tokenizer.vocab_size, np.int64)
        for token, id in self.ranks.items():
            lengths[id] = len(token)
        return lengths

    def _bytes(self, id: int) -> bytes:
        return self.tokenizer.id_to_bytes(id) or b""

    def _merged(self, data: bytes) -> list[int]:
        """Returns the ids of bytes that are not text, merged by rank."""
        n = len(data)
        # By where a part begins: where it ends (0 once it is taken), and where the one before begins.
        ends, before = list(range(1, n + 1)), list(range(-1, n - 1))

        def pair(place: int) -> tuple[int, int, int] | None:
            if place < 0 or ends[place] == n:
                return None
            end = ends[ends[place]]
            rank = self.ranks.get(data[place:end])
            return None if rank is None else (rank, place, end)

        heap = [merge for place in range(n) if (merge := pair(place))]
        heapify(heap)
        while heap:
            _, place, end = heappop(heap)
            middle = ends[place]
            if middle in (0, n) or ends[middle] != end:
                continue  # one of the two has changed since
            ends[place], ends[middle] = end, 0
            if end < n:
                before[end] = place
            for merge in (pair(place), pair(before[place])):
                if merge:
                    heappush(heap, merge)
        return [self.ranks[data[place:end]] for place, end in enumerate(ends) if end]

    def _with_blanks_before(self, ids: list[int], n_last: int) -> int:
        """Takes along the tokens before that are white space like the first of the last piece."""

        def is_blank(id: int) -> bool:
            token = self._bytes(id)
            return token in self.ranks and _BLANKS.issuperset(token)

        if is_blank(ids[-n_last]):
            while n_last < len(ids) and is_blank(ids[-n_last - 1]):
                n_last += 1
        return n_last

    def _beginning_with(self, start: bytes) -> list[bytes]:
        first = bisect_left(self.tokens, start)
        last = first
        while last < len(self.tokens) and self.tokens[last].startswith(start):
            last += 1
        return self.tokens[first:last]

    def _across(self, rest: bytes) -> set[tuple[int, ...]]:
        """The ways in which a token lies across the end of `rest`: encodings of texts with such a token."""
        texts: list[bytes] = []
        parts: list[bytes] = []
        for place in range(1, len(rest)):
            for token in self._beginning_with(rest[place:]):
                whole = rest[:place] + token
                (texts if _is_utf8(whole) else parts).append(whole)
        ways = {self._reaching(self._merged(whole), len(rest)) for whole in parts}
        if texts:
            batch = self.tokenizer.encode_batch(texts)
            lengths = self._lengths[batch.ids]
            before = np.cumsum(lengths) - lengths
            starts, ends = batch.row_offsets[:-1], batch.row_offsets[1:]
            begins = before - np.repeat(before[starts], ends - starts) < len(rest)
            counts = np.add.reduceat(begins, starts)
            ids = batch.ids.tolist()
            rows = zip(starts.tolist(), counts.tolist(), strict=True)
            ways |= {tuple(ids[start : start + count]) for start, count in rows}
        return ways

    def _reaching(self, ids: list[int], n_bytes: int) -> tuple[int, ...]:
        """The first ids, which are so many bytes or more."""
        ends = accumulate(len(self._bytes(id)) for id in ids)
        n = sum(1 for _ in takewhile(lambda end: end < n_bytes, ends))
        return tuple(ids[: n + 1])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _without_last_blank(data: bytes) -> bytes:
    """The bytes before the last character if that is white space; else all of them."""
    start = len(data) - 1
    while start > 0 and 0x80 <= data[start] < 0xC0 and len(data) - start < 4:
        start -= 1
    try:
        last = data[start:].decode("utf-8")
    except UnicodeDecodeError:
        return data
    return data[:start] if last.isspace() and last not in "\x1c\x1d\x1e\x1f" else data
