"""`PackedSplit`: one part of a corpus as a stream of ids, and the rows that it is cut into; `TokenWriter`.

The stream is an end-of-document token, a document, an end, a document, ... and an end. Rows follow each
other; where a document begins shortly before a row would, the row begins with it, so that few documents
lose their beginning and at most an eighth of a row is read twice. Documents and rows are known by their
places, which lie in files as long as the corpus has rows; ids are read when a row is asked for. Which
document belongs to which part is for `corpus.py`.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.shards import Shard, type_of_ids, write_manifest
from sentitok.shuffle import FeistelPermutation, mixed

from ..config import LanguageConfig, TrainingPlan
from ..errors import DataError

__all__ = [
    "ArrayFile",
    "PackedSplit",
    "RowOrder",
    "SplitWriter",
    "TokenStream",
    "TokenWriter",
    "mapped",
    "training_plan",
]

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


class RowOrder:
    """Batches of row numbers.

    The processes of a run have different rows of the same order, so together they read what one process
    with a batch as large as all of theirs would.

    Args:
        config: of the run: rows of a batch, how long it is, the seed.
        n_rows: of the training part.
    """

    def __init__(self, config: LanguageConfig, n_rows: int) -> None:
        self.config, self.n_rows = config, n_rows

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch of one process, and the steps of the run."""
        return training_plan(self.config, self.n_rows, world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[list[int]]:
        """Yields the rows of each batch of an epoch for one process; see `Task.batches`."""
        order = FeistelPermutation(self.n_rows, self.config.train.seed, epoch)
        planned = self.plan(world)
        for place in range(position, planned.n_batches):
            first = (place * world + rank) * planned.batch_size
            yield order(np.arange(first, first + planned.batch_size)).tolist()

    def in_order(self, n_rows: int) -> Iterator[list[int]]:
        """Yields the numbers of `n_rows` rows, a batch at a time."""
        size = self.config.train.batch_size or 1
        for first in range(0, n_rows, size):
            yield list(range(first, min(first + size, n_rows)))


def held_out(first: int, stop: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Returns which of the documents `first` to `stop` are held out.

    It follows from a hash of the document's number and the seed, so the split needs no memory, and is
    the same in any order.

    Args:
        first: number of the first document.
        stop: the number after the last.
        share: of the documents that are, about.
        seed: another one, another split.
    """
    numbers = np.arange(first, stop, dtype=np.uint64)
    drawn = mixed(mixed(numbers) ^ mixed(np.array([seed], dtype=np.uint64)))
    mask: NDArray[np.bool_] = (drawn >> np.uint64(11)) < np.uint64(int(share * (1 << 53)))
    return mask


def training_plan(config: LanguageConfig, n_rows: int, world: int = 1) -> TrainingPlan:
    """Returns the batches of an epoch of one process, and the steps of the run.

    Rows that fill no batch are left out of an epoch; the next order leaves out different ones. A
    step never spans two epochs, so the batches of an epoch make whole steps where there are enough.

    Args:
        config: of the run.
        n_rows: of the training part.
        world: processes that train together.

    Raises:
        DataError: if there are fewer rows than processes.
    """
    if n_rows < world:
        raise DataError(
            f"the training part has {n_rows:,} rows of {config.data.context} tokens, fewer than the {world} "
            "processes: start fewer, give a longer corpus, or lower --context"
        )
    train = config.train
    size = max(1, min(train.batch_size or 1, n_rows // world))
    n_batches = max(1, n_rows // (size * world))
    if n_batches > train.accumulate:
        n_batches -= n_batches % train.accumulate
    together = min(train.accumulate, n_batches)
    budgets = []
    if train.max_steps is not None:
        budgets.append(train.max_steps)
    if train.epochs is not None:
        budgets.append(train.epochs * -(-n_batches // together))
    if train.tokens is not None:
        budgets.append(-(-train.tokens // (size * world * together * config.data.context)))
    return TrainingPlan(size, n_batches, max(1, min(budgets)))


_IDS, _ENDS = "shard-00000.bin", "shard-00000.idx.npy"


class TokenWriter:
    """Writes one shard.

    For corpora of texts, from which lines may have to be left out first. `sentitok.datasets.TokenDataset`
    reads the folder.

    Args:
        folder: the directory of the data set.
        tokenizer: of the ids.
        end: the id that ends each document.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, end: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.tokenizer, self.end = folder, tokenizer, end
        self.dtype = type_of_ids(tokenizer)
        self.tokens = 0
        self._hash = hashlib.sha256()
        self._file = (folder / _IDS).open("wb")
        self._ends = ArrayFile(folder / _ENDS)

    def add(self, ids: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Adds documents.

        Args:
            ids: of all, each document with its end.
            ends: where among them each ends.
        """
        data = ids.astype(self.dtype).tobytes()
        self._hash.update(data)
        self._file.write(data)
        self._ends.add(ends + self.tokens)
        self.tokens += len(ids)

    def close(self) -> None:
        """Writes the manifest: the data set is whole."""
        self._file.close()
        self._ends.close()
        with (self.folder / _ENDS).open("rb") as file:
            index = hashlib.file_digest(file, "sha256").hexdigest()
        shard = Shard(_IDS, _ENDS, self._ends.length, self.tokens, self._hash.hexdigest(), index)
        write_manifest(self.folder, self.tokenizer, self.end, [shard] if self.tokens else [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._ends.__exit__()


class ArrayFile:
    """Writes an array.

    For arrays as long as the documents or rows of a corpus: it is written piece by piece and read where it
    is needed. The file is numpy's .npy, whose header has room for a length that grows.

    Args:
        path: the file, which is whole once it is closed; a block that ends otherwise lets go of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0
        self._file = path.open("wb")
        self._write_header()

    def add(self, values: NDArray[np.int64]) -> None:
        """Adds numbers at the end."""
        self._file.write(np.ascontiguousarray(values, dtype="<i8").tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Ends the array: the file is whole."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        about = {"descr": "<i8", "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, about)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def mapped(path: Path) -> NDArray[np.int64]:
    """Maps an array that `ArrayFile` wrote.

    Raises:
        DataError: if it is not there, or damaged.
    """
    try:
        array: NDArray[np.int64] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: unreadable: {error}") from error
    return array
