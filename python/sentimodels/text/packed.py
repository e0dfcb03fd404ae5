"""`PackedSplit`: one part of a corpus as a stream of ids, and the rows that the stream is cut into.

The stream is an end-of-document token, a document, an end, a document, ... and an end. Rows follow each
other; where a document begins shortly before a row would, the row begins with it, so that few documents
lose their beginning and at most an eighth of a row is read twice. Documents and rows are known by their
places, which lie in files as long as the corpus has rows; ids are read when a row is asked for. Not for
which document belongs to which part (`validation_split.py`).
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .array_file import ArrayFile, mapped

__all__ = ["PackedSplit", "SplitWriter", "TokenStream"]

_Ids = NDArray[np.int64]
# A row is moved back by at most this part of it.
_SLACK = 8


class TokenStream(Protocol):
    """The ids of a corpus, as `sentitok.datasets.TokenDataset` has them."""

    def stream(self, start: int, stop: int) -> NDArray[np.unsignedinteger[Any]]:
        """Returns ids `start` to `stop` of all documents end to end."""


class SplitWriter:
    """Finds the rows of a part, while the ends of its documents go by.

    Args:
        folder: where the index is written.
        name: of the part.
        stride: new tokens of a row.
    """

    def __init__(self, folder: Path, name: str, stride: int) -> None:
        self.folder, self.stride = folder, stride
        self.total = 0  # tokens so far
        self.n_documents = 0
        self._open_files = ExitStack()
        self._spans = self._open_files.enter_context(ArrayFile(folder / f"{name}-spans.npy"))
        self._rows = self._open_files.enter_context(ArrayFile(folder / f"{name}-rows.npy"))
        self._open: list[int] = []  # of the last span: where in the corpus and here it begins, where it ends
        self._next = 0  # where the next row begins
        self._near = np.empty(0, np.int64)  # documents that it could begin with

    def add(self, starts: _Ids, ends: _Ids) -> None:
        """Adds the next documents.

        Args:
            starts: where in the corpus each begins.
            ends: where it ends, its end-of-document token included.
        """
        if not len(starts):
            return
        lengths = ends - starts
        places = self.total + np.cumsum(lengths) - lengths
        self._add_spans(starts, ends, places)
        self.total += int(lengths.sum())
        self.n_documents += len(starts)
        near = np.concatenate((self._near, places))
        rows = []
        while self._next + self.stride < self.total:
            rows.append(self._next)
            aim = self._next + self.stride
            nearest = int(np.searchsorted(near, aim, "right")) - 1
            moved = nearest >= 0 and near[nearest] > aim - self.stride // _SLACK
            self._next = int(near[nearest]) if moved else aim
        self._rows.add(np.array(rows, np.int64))
        self._near = near[near > self._next + self.stride - self.stride // _SLACK]

    def _add_spans(self, starts: _Ids, ends: _Ids, places: _Ids) -> None:
        """Joins documents that follow each other in the corpus."""
        if self._open and self._open[2] == starts[0]:
            begin = [self._open[0]]
            begin_here = [self._open[1]]
        else:
            self._close_span()
            begin, begin_here = [int(starts[0])], [int(places[0])]
        breaks = np.flatnonzero(starts[1:] != ends[:-1])
        firsts = np.concatenate((np.array(begin, np.int64), starts[breaks + 1]))
        here = np.concatenate((np.array(begin_here, np.int64), places[breaks + 1]))
        self._spans.add(np.stack((firsts[:-1], here[:-1]), 1).ravel())
        self._open = [int(firsts[-1]), int(here[-1]), int(ends[-1])]

    def _close_span(self) -> None:
        if self._open:
            self._spans.add(np.array(self._open[:2], np.int64))
            self._open = []

    def close(self) -> None:
        """Ends the part: its last row ends with it."""
        self._close_span()
        if self.total:
            self._rows.add(np.array([max(0, min(self._next, self.total - self.stride))], np.int64))
        self._spans.close()
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open_files.close()


class PackedSplit:
    """The rows of a part.

    Args:
        dataset: the ids.
        folder: where the index lies.
        name: of the part.
        stride: new tokens of a row.
        total: tokens of the part.
        end: the end-of-document token, which the stream begins with.

    Attributes:
        n_rows: how many rows there are.
    """

    def __init__(
        self, dataset: TokenStream, folder: Path, name: str, *, stride: int, total: int, end: int
    ) -> None:
        self.dataset, self.stride, self.total, self.end = dataset, stride, total, end
        spans = mapped(folder / f"{name}-spans.npy")
        self._first, self._place = spans[::2], spans[1::2]
        self._rows = mapped(folder / f"{name}-rows.npy")
        self.n_rows = len(self._rows)

    def start(self, row: int) -> int:
        """Returns the place in the stream where a row begins."""
        return int(self._rows[row])

    def n_seen(self, row: int) -> int:
        """Returns how many of the new tokens of a row the rows before it have had."""
        if not row:
            return 0
        return max(0, self.start(row - 1) + self.stride - self.start(row))

    def read(self, start: int, length: int) -> _Ids:
        """Returns ids of the stream, fewer where it ends.

        Args:
            start: place of the first one; at 0 there is the end-of-document token before all.
            length: how many.
        """
        stop = min(start + length, self.total + 1)
        pieces = [np.array([self.end], np.int64)] if start == 0 and stop > 0 else []
        place, last = max(start - 1, 0), stop - 1
        span = int(np.searchsorted(self._place, place, "right")) - 1
        while place < last:
            here = int(self._place[span])
            until = int(self._place[span + 1]) if span + 1 < len(self._place) else self.total
            until = min(until, last)
            first = int(self._first[span]) - here
            pieces.append(self.dataset.stream(first + place, first + until).astype(np.int64))
            place, span = until, span + 1
        return np.concatenate(pieces) if pieces else np.empty(0, np.int64)

    def corpus_place(self, place: int) -> int:
        """Returns where in the corpus the token at a place of the stream lies."""
        at = max(place - 1, 0)
        span = int(np.searchsorted(self._place, at, "right")) - 1
        return int(self._first[span]) + at - int(self._place[span])
