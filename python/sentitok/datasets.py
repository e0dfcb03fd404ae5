"""Token shards, memory-mapped: what `sentitok.encode_files` or `from_datatrove` wrote.

A data set is as large as the disk, not the memory: a document is a view of a
mapped file. To train, `windows` cuts the ids into rows of one length, and `shuffled`
gives them in batches, in a random order that takes no memory. Both are map-style data
sets for `torch.utils.data.DataLoader` with any number of workers; only single rows of
`windows` are tensors, and need torch.

>>> from sentitok.datasets import TokenDataset
>>> dataset = TokenDataset("shards")  # doctest: +SKIP
>>> dataset[0]  # doctest: +SKIP
memmap([464, 9274, 2646], dtype=uint16)
>>> batches = dataset.windows(1024).shuffled(8, seed=1)  # doctest: +SKIP
>>> loader = DataLoader(batches, batch_size=None, num_workers=2)  # doctest: +SKIP
"""

import bisect
import copy
import errno
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import FormatError
from .datatrove import from_datatrove
from .messages import shown
from .numbers import index, whole
from .remote_shards import BlockCache, RemoteArray, RemoteEnds
from .shards import (
    Place,
    Shard,
    check_alike,
    find_datasets,
    is_masked,
    open_ends,
    open_ids,
    open_masks,
    open_rows,
    packing_of,
    read_manifest,
    read_shards,
)
from .shuffle import BlockPermutation, FeistelPermutation
from .verify import sha256_of

if TYPE_CHECKING:
    import torch

__all__ = ["PackedBatch", "PackedRows", "TokenBatches", "TokenDataset", "TokenWindows", "from_datatrove"]

# A window is a row, or a row and its targets; and the type of several.
_Window = TypeVar("_Window")
_Batch = TypeVar("_Batch")
_BatchOf = TypeVar("_BatchOf", covariant=True)
_Ids = NDArray[np.unsignedinteger[Any]]
_Rows = NDArray[np.int64]
# Ends of documents read together.
_ENDS_AT_ONCE = 1 << 12


class _Source(Protocol[_BatchOf]):
    """Sources that batches are drawn from."""

    def __len__(self) -> int: ...

    def take(self, numbers: _Rows, /) -> _BatchOf:
        """Returns rows by their numbers."""


class Shuffled:
    """Documents or rows that are read in random order."""

    def shuffled(
        self: _Source[_Batch],
        batch_size: int,
        *,
        seed: int = 0,
        epochs: int = 1,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        block_rows: int | None = None,
    ) -> "TokenBatches[_Batch]":
        """Returns the rows, or documents, in random order, in batches.

        Batch `step` follows from the arguments and the step alone, and is read when it is asked for. So
        memory does not grow with the rows, `batches[step:]` resumes where a run stopped, and a loader gives
        the same batches with any number of workers:
        `DataLoader(batches, batch_size=None, num_workers=4)`. Arrays become tensors there.

        Each epoch has every row once, over all ranks. Ranks have equally many steps, and the rows of all of
        them in a step of an epoch are those of one process with `batch_size * world_size`. The last step of
        an epoch may have fewer rows, divided among the ranks as equally as possible. If fewer rows than ranks
        remain, or with `drop_last`, they are in no step: `left_out` says how many, and another epoch leaves
        out other ones.

        Args:
            batch_size: rows of a step on one rank.
            seed: another seed, another order; so has each epoch.
            epochs: how often the rows are gone through.
            rank: number of this process, from 0.
            world_size: processes that read together.
            drop_last: leave out what would be a step of fewer rows.
            block_rows: for data that is slow to reach, such as object stores: blocks of so many
                neighbouring rows are put in random order, and the rows of 64 blocks are mixed, which must
                fit into memory. Without it any row may follow any other.

        Raises:
            ValueError: if a number is out of bounds, or there are too few rows for a step.
        """
        return TokenBatches(
            self, batch_size, seed=seed, epochs=epochs, rank=rank, world_size=world_size,
            drop_last=drop_last, block_rows=block_rows,
        )  # fmt: skip


class TokenDataset(Sequence["NDArray[np.unsignedinteger[Any]]"], Shuffled):
    """The documents of one directory of token shards, or of several, as arrays of ids.

    Several are read as one: directories in the order they are given, or a parent directory, or a glob such as
    `"tokens/part-*"`, whose data sets are sorted by name. They need the same tokenizer and separator.

    Chats (`sentitok.encode_chats`) have masks of what the assistant wrote (`mask`), and rows that they were
    packed into (`packed`).

    Directories may be URLs (`s3://`, `gs://`, `hf://`, `https://`, ...; `pip install "sentitok[remote]"`).
    Shards are then read by ranges of 1 MB, of which the last 128 are kept: give `shuffled` as `block_rows`
    the rows that 1 MB holds. A shard is checked when it is first read; one that changes while it is read is
    an error.

    Attributes:
        directory: where the shards are, a `Path`, or a `RemotePath` of a URL; of several the first.
        directories: all of them.
        manifest: the file that `encode_files` wrote next to the shards of the first.
        manifests: the same of all.
        dtype: the type of an id, uint16 or uint32.
        tokens: ids in all, separators included.
        vocab_size: one more than the greatest id there can be.
        tokenizer_sha256: fingerprint of the tokenizer that made the ids.
        is_masked: whether it says which ids the assistant wrote.
    """

    def __init__(
        self, directory: str | PathLike[str] | Sequence[str | PathLike[str]], *more: str | PathLike[str]
    ) -> None:
        """Opens the shards; nothing is read yet but the manifests and the document ends.

        Args:
            directory: what `encode_files` wrote, a directory of such directories, a glob, or a list of
                these.
            more: further directories; their documents follow in this order.

        Raises:
            ValueError: if the list is empty.
            FileNotFoundError: if a directory, its manifest or a shard is not there.
            FormatError: if they are not what the manifest says, not all written yet, or of other
                tokenizers.
        """
        if not isinstance(directory, str | PathLike | Iterable):
            raise TypeError(f"directory is {shown(directory)}; it is a path, or a list of paths")
        first = [directory] if isinstance(directory, str | PathLike) else list(directory)
        self.directories = tuple(find_datasets([*first, *more]))
        if not self.directories:
            raise ValueError("directory is an empty list; name at least one directory of token shards")
        self.directory = self.directories[0]
        self.manifests = tuple(read_manifest(one / "manifest.json") for one in self.directories)
        self.manifest = self.manifests[0]
        check_alike(list(zip(self.directories, self.manifests, strict=True)))
        self.dtype = np.dtype(str(self.manifest["dtype"])).newbyteorder("<")
        self.tokens: int = sum(manifest["tokens"] for manifest in self.manifests)
        self.vocab_size: int = self.manifest["vocab_size"]
        self.is_masked = all(map(is_masked, self.manifests))
        self.tokenizer_sha256: str = self.manifest["tokenizer_sha256"]
        self._shards: list[tuple[Place, Shard]] = []
        self._cache = BlockCache()
        self._ids: list[_Ids | RemoteArray] = []
        self._ends: list[NDArray[np.int64] | RemoteEnds] = []
        self._masks: list[NDArray[np.uint8] | RemoteArray | None] = []
        self._rows: list[NDArray[np.int64] | RemoteEnds | None] = []
        # Documents and ids before each shard.
        self._first_document = [0]
        self._first_token = [0]
        for one, manifest in zip(self.directories, self.manifests, strict=True):
            for shard in read_shards(one / "manifest.json", manifest):
                self._open(one, shard)

    def _open(self, directory: Place, shard: Shard) -> None:
        file, index = directory / shard.file, directory / shard.index_file
        for path in (directory / name for name in shard.files):
            if isinstance(path, Path) and not path.exists():
                said = "no such file, though the manifest names it; copy it there, or encode again"
                raise FileNotFoundError(errno.ENOENT, said, str(path))
        self._shards.append((directory, shard))
        self._ids.append(open_ids(file, shard, self.dtype, self._cache))
        self._ends.append(open_ends(index, shard, self._cache))
        mask, rows = shard.mask_file, shard.rows_file
        self._masks.append(None if mask is None else open_masks(directory / mask, shard, self._cache))
        self._rows.append(None if rows is None else open_rows(directory / rows, shard, self._cache))
        self._first_document.append(self._first_document[-1] + shard.documents)
        self._first_token.append(self._first_token[-1] + shard.tokens)

    def __len__(self) -> int:
        """The number of documents."""
        return self._first_document[-1]

    @overload
    def __getitem__(self, document: int) -> _Ids: ...
    @overload
    def __getitem__(self, document: slice) -> "list[_Ids]": ...
    def __getitem__(self, document: int | slice) -> "_Ids | list[_Ids]":
        """The ids of a document, a read-only view; of a slice, a list of them."""
        if isinstance(document, slice):
            return [self[number] for number in range(*document.indices(len(self)))]
        shard, start, end = self._place(document)
        return self._ids[shard][start:end]

    def _place(self, document: int) -> tuple[int, int, int]:
        """The shard of a document, and its place there."""
        document = index("document", document, "the number of one, from 0, or a slice")
        number = document + len(self) if document < 0 else document
        if not 0 <= number < len(self):
            raise IndexError(f"document {shown(document)} of a data set of {len(self)}")
        shard = bisect.bisect_right(self._first_document, number) - 1
        row = number - self._first_document[shard]
        start, end = [0, *self._ends[shard][max(row - 1, 0) : row + 1].tolist()][-2:]
        return shard, start, end

    def __iter__(self) -> "Iterator[_Ids]":
        """The documents in order."""
        for ids, ends in zip(self._ids, self._ends, strict=True):
            start = 0
            for first in range(0, len(ends), _ENDS_AT_ONCE):
                for end in ends[first : first + _ENDS_AT_ONCE].tolist():
                    yield ids[start:end]
                    start = end

    def stream(self, start: int, stop: int) -> _Ids:
        """Ids `start` to `stop` of all documents end to end, for training on blocks.

        Args:
            start: the number of the first id, from 0.
            stop: the number after the last, at most `tokens`.

        Returns:
            An array of `(stop - start,)`: a read-only view, or a copy where the
            ids lie in two shards.

        Raises:
            IndexError: if there are no such ids.
        """
        start, stop = _range(start, stop, "id")
        return self._stream(self._ids, self.dtype, start, stop)

    def stream_mask(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Whether the assistant wrote ids `start` to `stop` of all documents end to end.

        Args:
            start: the number of the first id, from 0.
            stop: the number after the last, at most `tokens`.

        Returns:
            An array of `(stop - start,)`.

        Raises:
            IndexError: if there are no such ids.
            ValueError: if the data set was encoded without a mask.
        """
        start, stop = _range(start, stop, "id")
        if not self.is_masked:
            masked = zip(self.directories, map(is_masked, self.manifests), strict=True)
            raise ValueError(
                f"{next(one for one, is_there in masked if not is_there)} has no mask; encode its chats with "
                "mask='assistant'"
            )
        return self._stream(self._masks, np.dtype(np.uint8), start, stop).astype(np.bool_)

    def _stream(self, shards: Sequence[Any], dtype: np.dtype[Any], start: int, stop: int) -> NDArray[Any]:
        """Places `start` to `stop` of arrays that are as long as the ids of each shard."""
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"ids {shown(start)} to {shown(stop)} of a data set of {self.tokens}")
        parts: list[NDArray[Any]] = []
        shard = max(bisect.bisect_right(self._first_token, start) - 1, 0)
        while start < stop:
            first = self._first_token[shard]
            end = min(stop, self._first_token[shard + 1])
            parts.append(shards[shard][start - first : end - first])
            start, shard = end, shard + 1
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    def mask(self, document: int) -> NDArray[np.bool_]:
        """Whether the assistant wrote each id of a document, an array as long as `dataset[document]`.

        Raises:
            IndexError: if there is no such document.
            ValueError: as `stream_mask`.
        """
        shard, start, end = self._place(document)
        first = self._first_token[shard]
        return self.stream_mask(first + start, first + end)

    def packed(self) -> "PackedRows":
        """Returns the rows that chats were packed into (`sentitok encode --chat DIR --pack N`).

        Raises:
            ValueError: if a directory was encoded without rows, or with rows of another length.
        """
        return PackedRows(self)

    @overload
    def windows(
        self, length: int, *, stride: int | None = None, targets: Literal[False] = False
    ) -> "TokenWindows[torch.Tensor, _Rows]": ...
    @overload
    def windows(
        self, length: int, *, stride: int | None = None, targets: Literal[True]
    ) -> "TokenWindows[tuple[torch.Tensor, torch.Tensor], tuple[_Rows, _Rows]]": ...
    def windows(
        self, length: int, *, stride: int | None = None, targets: bool = False
    ) -> "TokenWindows[Any, Any]":
        """Cuts the ids of all documents, end to end, into rows of one length for training.

        The rows are a map-style data set of int64 tensors: `torch.utils.data.DataLoader` takes it with
        any number of workers, forked or spawned. `TokenWindows.shuffled` gives them in random order, in
        batches. A row may span documents and shards. Ids behind the last whole row are in none.

        Args:
            length: ids of a row.
            stride: ids from the beginning of a row to that of the next; `length` if not given, so that
                rows do not overlap.
            targets: give pairs of a row and its targets, the ids one place further on.

        Raises:
            ValueError: if `length` or `stride` is less than 1.
        """
        return TokenWindows(self, length, length if stride is None else stride, targets=targets)

    def take(self, documents: ArrayLike) -> list[_Rows]:
        """Returns documents by their numbers, each an array of int64 that is not shared.

        Raises:
            TypeError: if they are not whole numbers.
            IndexError: if there is no such document.
        """
        return [self[number].astype(np.int64) for number in _numbers(documents, len(self), "document")]

    def ends(self, start: int, stop: int) -> NDArray[np.int64]:
        """Where documents end in the stream of all ids.

        Args:
            start: the number of the first document, from 0.
            stop: the number after the last, at most `len(dataset)`.

        Returns:
            An array of `(stop - start,)`: the number of the id after the last one of each.

        Raises:
            IndexError: if there are no such documents.
        """
        start, stop = _range(start, stop, "document")
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"documents {shown(start)} to {shown(stop)} of a data set of {len(self)}")
        parts = []
        shard = max(bisect.bisect_right(self._first_document, start) - 1, 0)
        while start < stop:
            first = self._first_document[shard]
            last = min(stop, self._first_document[shard + 1])
            parts.append(self._ends[shard][start - first : last - first] + self._first_token[shard])
            start, shard = last, shard + 1
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def document_at(self, token: int) -> int:
        """The number of the document that an id of the stream belongs to.

        Raises:
            IndexError: if there is no such id.
        """
        token = index("token", token, "the number of an id of the stream, from 0")
        if not 0 <= token < self.tokens:
            raise IndexError(f"id {shown(token)} of a data set of {self.tokens}")
        shard = bisect.bisect_right(self._first_token, token) - 1
        row = bisect.bisect_right(self._ends[shard], token - self._first_token[shard])
        return self._first_document[shard] + row

    def verify(self) -> None:
        """Reads every file of every shard and compares its SHA-256 with the manifest.

        Manifests of older releases lack hashes of the index files: a warning names the files that
        were not covered. Order and bounds of the ends are checked when a data set opens.

        Raises:
            FormatError: naming the first file that differs.
        """
        uncovered = []
        for directory, shard in self._shards:
            hashes = (shard.sha256, shard.index_sha256, shard.mask_sha256, shard.rows_sha256)
            names = (shard.file, shard.index_file, shard.mask_file, shard.rows_file)
            for name, expected in zip(names, hashes, strict=True):
                if name is None:
                    continue
                path = directory / name
                if expected is None:
                    uncovered.append(path)
                    continue
                if (digest := sha256_of(path)) != expected:
                    raise FormatError(f"{path}: SHA-256 {digest}, not {shown(expected)}")
        if uncovered:
            more = f" and {len(uncovered) - 1} more" if len(uncovered) > 1 else ""
            warnings.warn(
                f"{uncovered[0]}{more}: not covered, as the manifest has no SHA-256 of it; "
                "encode again with resume=False to have one",
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[type["TokenDataset"], tuple[str, ...]]:
        """Pickled by its paths: a worker maps the files itself."""
        return (type(self), tuple(map(os.fspath, self.directories)))

    def __repr__(self) -> str:
        names = ", ".join(repr(str(one)) for one in self.directories)
        return f"TokenDataset({names}: {len(self)} documents, {self.tokens} tokens)"


class TokenWindows(Sequence[_Window], Shuffled, Generic[_Window, _Batch]):
    """Rows of one length, cut from the ids of a `TokenDataset`; made by `TokenDataset.windows`.

    Attributes:
        dataset: where the ids come from.
        length: ids of a row.
        stride: ids from the beginning of a row to that of the next.
        targets: whether a row comes with its targets.
    """

    def __init__(self, dataset: TokenDataset, length: int, stride: int, *, targets: bool = False) -> None:
        self.dataset = dataset
        self.length = index("length", length, "how many ids a row has")
        self.stride = index("stride", stride, "how many ids lie between the beginnings of two rows")
        self.targets = bool(targets)
        for name, value in (("length", self.length), ("stride", self.stride)):
            if value < 1:
                raise ValueError(f"{name} is {shown(value)}; it is at least 1")

    def __len__(self) -> int:
        """The number of rows."""
        return max(0, (self.dataset.tokens - self.length - self.targets) // self.stride + 1)

    @overload
    def __getitem__(self, row: int) -> _Window: ...
    @overload
    def __getitem__(self, row: slice) -> list[_Window]: ...
    def __getitem__(self, row: int | slice) -> Any:
        """The ids of a row, or the row and its targets; of a slice, a list of them.

        Raises:
            ImportError: if torch is missing; `take` and `shuffled` give arrays, and do not need it.
        """
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                "rows of windows are tensors and need torch; install it, or use TokenWindows.take or "
                "TokenWindows.shuffled, which give numpy arrays"
            ) from error

        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        row = index("row", row, "the number of one, from 0, or a slice")
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"row {shown(row)} of {len(self)} windows")
        start = number * self.stride
        ids = torch.from_numpy(
            self.dataset.stream(start, start + self.length + self.targets).astype(np.int64)
        )
        # Two copies, because a loader in a worker would share the storage of two views.
        return (ids[:-1].clone(), ids[1:].clone()) if self.targets else ids

    def take(self, rows: ArrayLike) -> _Batch:
        """Returns rows by their numbers.

        Returns:
            An int64 array of `(len(rows), length)`; with `targets` a pair, the second being the targets.

        Raises:
            TypeError: if they are not whole numbers.
            IndexError: if there is no such row.
        """
        numbers = _numbers(rows, len(self), "row")
        n_ids = self.length + self.targets
        ids = np.empty((len(numbers), n_ids), np.int64)
        for place, number in enumerate(numbers):
            ids[place] = self.dataset.stream(number * self.stride, number * self.stride + n_ids)
        batch: Any = (ids[:, :-1].copy(), ids[:, 1:].copy()) if self.targets else ids
        return batch  # type: ignore[no-any-return]  # 2026-11-30: which of the two the type of the windows says

    def __repr__(self) -> str:
        targets = ", targets=True" if self.targets else ""
        return f"TokenWindows({len(self)} rows of {self.length} ids, stride={self.stride}{targets})"


class PackedBatch(NamedTuple):
    """Rows of packed chats; `DataLoader` makes tensors of the arrays.

    Attributes:
        ids: int64 of `(rows, length)`.
        mask: whether the assistant wrote each id, bool of `(rows, length)`; without a mask on disk, whether
            it is an id of a chat. False where a row is filled up.
        positions: int64 of `(rows, length)`: the place of each id in its document, from 0, and of what a row
            is filled up with.
        boundaries: int32: where documents begin and end in the rows end to end, from 0 to `rows * length`.
            What a row is filled up with is a document too. FlashAttention calls it `cu_seqlens`.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.bool_]
    positions: NDArray[np.int64]
    boundaries: NDArray[np.int32]


class PackedRows(Sequence[PackedBatch], Shuffled):
    """Rows of packed chats; made by `TokenDataset.packed`.

    `rows[number]` is one row, whose arrays have one dimension. `DataLoader(rows.shuffled(8),
    batch_size=None)` gives batches of tensors.

    Attributes:
        dataset: where the ids come from.
        length: ids of a row.
        pad_id: fills up a row.
    """

    def __init__(self, dataset: TokenDataset) -> None:
        packings = [
            packing_of(one / "manifest.json", manifest)
            for one, manifest in zip(dataset.directories, dataset.manifests, strict=True)
        ]
        for one, packing in zip(dataset.directories, packings, strict=True):
            if packing is None or packing != packings[0]:
                said = "no packed rows" if packing is None else f"{packing}, unlike {dataset.directory}"
                raise ValueError(f"{one} has {said}; encode all chats with the same pack=N")
        masked = [is_masked(manifest) for manifest in dataset.manifests]
        if len({*masked}) > 1:
            raise ValueError(
                f"{dataset.directories[masked.index(True)]} has a mask and "
                f"{dataset.directories[masked.index(False)]} does not; encode both with mask='assistant', or "
                "neither"
            )
        # One, as each is the first one and not `None`.
        self.length, self.pad_id = next(packing for packing in packings if packing is not None)
        self.dataset = dataset
        self._ends = [rows for rows in dataset._rows if rows is not None]
        # Rows before each shard.
        self._first_rows = [0, *accumulate(map(len, self._ends))]

    def __len__(self) -> int:
        """The number of rows."""
        return self._first_rows[-1]

    def documents(self, row: int) -> range:
        """The numbers of the documents of a row.

        Raises:
            IndexError: if there is no such row.
        """
        row = index("row", row, "the number of one, from 0")
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"row {shown(row)} of {len(self)} packed rows")
        shard = bisect.bisect_right(self._first_rows, number) - 1
        place = number - self._first_rows[shard]
        start, stop = [0, *self._ends[shard][max(place - 1, 0) : place + 1].tolist()][-2:]
        first = self.dataset._first_document[shard]
        return range(first + start, first + stop)

    @overload
    def __getitem__(self, row: int) -> PackedBatch: ...
    @overload
    def __getitem__(self, row: slice) -> list[PackedBatch]: ...
    def __getitem__(self, row: int | slice) -> PackedBatch | list[PackedBatch]:
        """One row; of a slice, a list of rows."""
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        batch = self._batch([self.documents(row)])
        return PackedBatch(batch.ids[0], batch.mask[0], batch.positions[0], batch.boundaries)

    def take(self, rows: ArrayLike) -> PackedBatch:
        """Returns rows by their numbers.

        Raises:
            TypeError: if they are not whole numbers.
            IndexError: if there is no such row.
        """
        return self._batch([self.documents(number) for number in _numbers(rows, len(self), "row")])

    def _batch(self, rows: list[range]) -> PackedBatch:
        shape = (len(rows), self.length)
        ids = np.full(shape, self.pad_id, np.int64)
        mask = np.zeros(shape, np.bool_)
        positions = np.empty(shape, np.int64)
        boundaries: list[int] = [0]
        for row, documents in enumerate(rows):
            before = int(self.dataset.ends(documents.start - 1, documents.start)[0]) if documents.start else 0
            ends = self.dataset.ends(documents.start, documents.stop) - before
            n_ids = int(ends[-1]) if len(ends) else 0
            if n_ids > self.length:
                raise FormatError(
                    f"{self.dataset.directory}: a row has {n_ids} ids, where the manifest says {self.length} "
                    "at most; encode again with resume=False"
                )
            ids[row, :n_ids] = self.dataset.stream(before, before + n_ids)
            mask[row, :n_ids] = (
                self.dataset.stream_mask(before, before + n_ids) if self.dataset.is_masked else True
            )
            bounds = [*ends.tolist(), *([self.length] if n_ids < self.length else [])]
            starts = np.array([0, *bounds[:-1]])
            positions[row] = np.arange(self.length) - np.repeat(starts, np.diff([0, *bounds]))
            boundaries += [row * self.length + bound for bound in bounds]
        return PackedBatch(ids, mask, positions, np.array(boundaries, np.int32))

    def __repr__(self) -> str:
        return f"PackedRows({len(self)} rows of {self.length} ids)"


class TokenBatches(Sequence[_Batch]):
    """Batches in random order; made by `shuffled` of `TokenDataset`, `TokenWindows` and `PackedRows`.

    `batches[step]` is a batch, `batches[step:]` are those from a step on, which nothing is read for.

    Attributes:
        source: the windows or the data set.
        batch_size: rows of a step on one rank.
        steps_per_epoch: steps of an epoch on each rank.
        left_out: rows of an epoch that no step of any rank has; another epoch leaves out other ones.
    """

    def __init__(
        self,
        source: _Source[_Batch],
        batch_size: int,
        *,
        seed: int = 0,
        epochs: int = 1,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        block_rows: int | None = None,
    ) -> None:
        self.source = source
        self.batch_size = whole("batch_size", batch_size, "at least 1", 1)
        self.seed = whole("seed", seed)
        self.world_size = whole("world_size", world_size, "at least 1", 1)
        self.rank = whole("rank", rank, f"0 to {self.world_size - 1}, less than world_size")
        if self.rank >= self.world_size:
            raise ValueError(f"rank={shown(self.rank)}: it is less than world_size, {self.world_size}")
        self.block_rows = None if block_rows is None else whole("block_rows", block_rows, "at least 1", 1)
        together = self.batch_size * self.world_size
        self.steps_per_epoch, rest = divmod(len(source), together)
        if rest >= self.world_size and not drop_last:
            self.steps_per_epoch, rest = self.steps_per_epoch + 1, 0
        self.left_out = rest
        if not self.steps_per_epoch:
            needed = together if drop_last else self.world_size
            raise ValueError(
                f"{source!r} has fewer than {needed} rows, which a step needs (batch_size={self.batch_size}, "
                f"world_size={self.world_size}, drop_last={bool(drop_last)})"
            )
        n_steps = whole("epochs", epochs, "at least 1", 1) * self.steps_per_epoch
        if n_steps > sys.maxsize:
            raise ValueError(f"epochs={shown(epochs)}: {n_steps:,} steps are more than a sequence has")
        self._steps = range(n_steps)

    def __len__(self) -> int:
        """The number of steps."""
        return len(self._steps)

    def numbers(self, step: int) -> _Rows:
        """The numbers of the rows, or documents, of a step on this rank.

        Raises:
            IndexError: if there is no such step.
        """
        step = index("step", step, "the number of one, from 0, or a slice")
        if not -len(self) <= step < len(self):
            raise IndexError(f"step {shown(step)} of {len(self)}")
        epoch, place = divmod(self._steps[step], self.steps_per_epoch)
        n_rows, together = len(self.source), self.batch_size * self.world_size
        first = place * together
        n_here = min(together, n_rows - first)
        start, stop = (first + n_here * part // self.world_size for part in (self.rank, self.rank + 1))
        order = (
            FeistelPermutation(n_rows, self.seed, epoch)
            if self.block_rows is None
            else BlockPermutation(n_rows, self.block_rows, self.seed, epoch)
        )
        return order(np.arange(start, stop))

    @overload
    def __getitem__(self, step: int) -> _Batch: ...
    @overload
    def __getitem__(self, step: slice) -> Self: ...
    def __getitem__(self, step: int | slice) -> _Batch | Self:
        """The batch of a step; of a slice, the steps of it."""
        if isinstance(step, slice):
            some = copy.copy(self)
            some._steps = self._steps[step]
            return some
        return self.source.take(self.numbers(step))

    def __repr__(self) -> str:
        left_out = f", {self.left_out} left out of each epoch" if self.left_out else ""
        of_rank = f" of rank {self.rank} of {self.world_size}" if self.world_size > 1 else ""
        return f"TokenBatches({self.source!r}: {len(self)} steps of {self.batch_size}{of_rank}{left_out})"


def _numbers(given: ArrayLike, n: int, kind: str) -> list[int]:
    """Returns numbers of rows or documents, each checked."""
    numbers = np.asarray(given)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise TypeError(f"{kind}s are {shown(given)}; they are whole numbers in a list or array")
    found: list[int] = numbers.tolist()
    for number in found:
        if not 0 <= number < n:
            raise IndexError(f"{kind} {shown(number)} of {n}; take counts from 0, and not from the end")
    return found


def _range(start: int, stop: int, kind: str) -> tuple[int, int]:
    what = f"the number of {'an' if kind == 'id' else 'a'} {kind}, from 0"
    return index("start", start, what), index("stop", stop, what)
