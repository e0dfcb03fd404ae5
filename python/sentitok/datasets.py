"""Token shards, memory-mapped: what `sentitok.encode_files` or `from_datatrove` wrote.

A data set is as large as the disk, not the memory: a document is a view of a
mapped file. To train with PyTorch, `windows` cuts the ids into rows of one length:
a map-style data set for `torch.utils.data.DataLoader` with any number of workers.
Only `windows` needs torch.

>>> from sentitok.datasets import TokenDataset
>>> dataset = TokenDataset("shards")  # doctest: +SKIP
>>> dataset[0]  # doctest: +SKIP
memmap([464, 9274, 2646], dtype=uint16)
>>> loader = DataLoader(dataset.windows(1024), batch_size=8, num_workers=2)  # doctest: +SKIP
"""

import bisect
import errno
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import FormatError
from .datatrove import from_datatrove
from .messages import shown
from .numbers import index
from .shards import Shard, check_regular, check_size, mapped_ends, read_manifest, read_shards

if TYPE_CHECKING:
    import torch

__all__ = ["TokenDataset", "TokenWindows", "from_datatrove"]

# What a window is: a row, or a row and its targets.
_Window = TypeVar("_Window")
_Ids = NDArray[np.unsignedinteger[Any]]


# What directories that are read as one must agree on.
_ALIKE = ("tokenizer_sha256", "separator", "dtype", "vocab_size")


class TokenDataset(Sequence["NDArray[np.unsignedinteger[Any]]"]):
    """The documents of one directory of token shards, or of several, as arrays of ids.

    Attributes:
        directory: where the shards are; of several the first.
        directories: all of them.
        manifest: what `encode_files` wrote beside the shards of the first.
        manifests: the same of all.
        dtype: the type of an id, uint16 or uint32.
        tokens: ids in all, separators included.
        vocab_size: one more than the greatest id there can be.
        tokenizer_sha256: fingerprint of the tokenizer that made the ids.
    """

    def __init__(
        self, directory: str | PathLike[str] | Sequence[str | PathLike[str]], *more: str | PathLike[str]
    ) -> None:
        """Opens the shards; nothing is read yet but the manifests and the document ends.

        Args:
            directory: what `encode_files` wrote, or a list of such directories.
            more: further directories, made with the same tokenizer; their documents follow in this
                order.

        Raises:
            ValueError: if the list is empty.
            FileNotFoundError: if a directory, its manifest or a shard is not there.
            FormatError: if they are not what the manifest says, not all written yet, or of other
                tokenizers.
        """
        if not isinstance(directory, str | PathLike | Iterable):
            raise TypeError(f"directory is {shown(directory)}; it is a path, or a list of paths")
        first = [directory] if isinstance(directory, str | PathLike) else list(directory)
        self.directories = tuple(map(Path, [*first, *more]))
        if not self.directories:
            raise ValueError("directory is an empty list; name at least one directory of token shards")
        self.directory = self.directories[0]
        self.manifests = tuple(read_manifest(one / "manifest.json") for one in self.directories)
        self.manifest = self.manifests[0]
        for one, manifest in zip(self.directories, self.manifests, strict=True):
            for key in _ALIKE:
                if manifest.get(key) != self.manifest.get(key):
                    raise FormatError(
                        f"{one}: {key} is {shown(manifest.get(key))}, that of {self.directory} is "
                        f"{shown(self.manifest.get(key))}; encode both with one tokenizer and one separator"
                    )
        self.dtype = np.dtype(str(self.manifest["dtype"])).newbyteorder("<")
        self.tokens: int = sum(manifest["tokens"] for manifest in self.manifests)
        self.vocab_size: int = self.manifest["vocab_size"]
        self.tokenizer_sha256: str = self.manifest["tokenizer_sha256"]
        self._shards: list[tuple[Path, Shard]] = []
        self._ids: list[_Ids] = []
        self._ends: list[NDArray[np.int64]] = []
        # Documents and ids before each shard.
        self._first_document = [0]
        self._first_token = [0]
        for one, manifest in zip(self.directories, self.manifests, strict=True):
            for shard in read_shards(one / "manifest.json", manifest):
                self._open(one, shard)

    def _open(self, directory: Path, shard: Shard) -> None:
        file, index = directory / shard.file, directory / shard.index_file
        n_bytes = shard.tokens * self.dtype.itemsize
        for path in (file, index):
            if not path.exists():
                said = "no such file, though the manifest beside it names it; copy it there, or encode again"
                raise FileNotFoundError(errno.ENOENT, said, str(path))
        check_size(file, n_bytes)
        # An empty file cannot be mapped.
        ids = np.memmap(file, self.dtype, "r") if n_bytes else np.empty(0, self.dtype)
        self._shards.append((directory, shard))
        self._ids.append(ids)
        self._ends.append(mapped_ends(index, shard.documents, shard.tokens))
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
        document = index("document", document, "the number of one, from 0, or a slice")
        number = document + len(self) if document < 0 else document
        if not 0 <= number < len(self):
            raise IndexError(f"document {shown(document)} of a data set of {len(self)}")
        shard = bisect.bisect_right(self._first_document, number) - 1
        row = number - self._first_document[shard]
        ends = self._ends[shard]
        start = int(ends[row - 1]) if row else 0
        return self._ids[shard][start : int(ends[row])]

    def __iter__(self) -> "Iterator[_Ids]":
        """The documents in order."""
        for ids, ends in zip(self._ids, self._ends, strict=True):
            start = 0
            for end in ends:
                yield ids[start : int(end)]
                start = int(end)

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
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"ids {shown(start)} to {shown(stop)} of a data set of {self.tokens}")
        parts = []
        shard = max(bisect.bisect_right(self._first_token, start) - 1, 0)
        while start < stop:
            first = self._first_token[shard]
            end = min(stop, self._first_token[shard + 1])
            parts.append(self._ids[shard][start - first : end - first])
            start, shard = end, shard + 1
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, self.dtype)

    @overload
    def windows(
        self, length: int, *, stride: int | None = None, targets: Literal[False] = False
    ) -> "TokenWindows[torch.Tensor]": ...
    @overload
    def windows(
        self, length: int, *, stride: int | None = None, targets: Literal[True]
    ) -> "TokenWindows[tuple[torch.Tensor, torch.Tensor]]": ...
    def windows(
        self, length: int, *, stride: int | None = None, targets: bool = False
    ) -> "TokenWindows[Any]":
        """Cuts the ids of all documents, end to end, into rows of one length for training.

        The rows are a map-style data set of int64 tensors: `torch.utils.data.DataLoader` takes it with
        any number of workers, forked or spawned. A row may span documents and shards. Ids behind the last
        whole row are in none.

        Args:
            length: ids of a row.
            stride: ids from the beginning of a row to that of the next; `length` if not given, so that
                rows do not overlap.
            targets: give pairs of a row and its targets, the ids one place further on.

        Raises:
            ImportError: if torch is missing.
            ValueError: if `length` or `stride` is less than 1.
        """
        return TokenWindows(self, length, length if stride is None else stride, targets=targets)

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
        row = int(np.searchsorted(self._ends[shard], token - self._first_token[shard], "right"))
        return self._first_document[shard] + row

    def verify(self) -> None:
        """Reads every file of every shard and compares its SHA-256 with the manifest.

        Manifests of older releases have none of the index files: a warning names what
        was not covered. Order and bounds of the ends are checked when a data set opens.

        Raises:
            FormatError: naming the first file that differs.
        """
        uncovered = []
        for directory, shard in self._shards:
            for name, expected in ((shard.file, shard.sha256), (shard.index_file, shard.index_sha256)):
                path = directory / name
                if expected is None:
                    uncovered.append(path)
                    continue
                check_regular(path)
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                if digest != expected:
                    raise FormatError(f"{path}: SHA-256 {digest}, not {shown(expected)}")
        if uncovered:
            more = f" and {len(uncovered) - 1} more" if len(uncovered) > 1 else ""
            warnings.warn(
                f"{uncovered[0]}{more}: not covered, as the manifest has no SHA-256 of it; "
                "encode again with resume=False (--force) to have one",
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[type["TokenDataset"], tuple[str, ...]]:
        """Pickled by its paths: a worker maps the files itself."""
        return (type(self), tuple(map(str, self.directories)))

    def __repr__(self) -> str:
        names = ", ".join(repr(str(one)) for one in self.directories)
        return f"TokenDataset({names}: {len(self)} documents, {self.tokens} tokens)"


class TokenWindows(Sequence[_Window]):
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
        try:
            import torch  # noqa: F401  # 2026-11-29: found missing here, not in a worker
        except ImportError as error:
            raise ImportError(
                "windows gives tensors and needs torch; install it, or use TokenDataset.stream, which gives "
                "numpy arrays"
            ) from error

    def __len__(self) -> int:
        """The number of rows."""
        return max(0, (self.dataset.tokens - self.length - self.targets) // self.stride + 1)

    @overload
    def __getitem__(self, row: int) -> _Window: ...
    @overload
    def __getitem__(self, row: slice) -> list[_Window]: ...
    def __getitem__(self, row: int | slice) -> Any:
        """The ids of a row, or the row and its targets; of a slice, a list of them."""
        import torch

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

    def __repr__(self) -> str:
        targets = ", targets=True" if self.targets else ""
        return f"TokenWindows({len(self)} rows of {self.length} ids, stride={self.stride}{targets})"


def _range(start: int, stop: int, kind: str) -> tuple[int, int]:
    what = f"the number of {'an' if kind == 'id' else 'a'} {kind}, from 0"
    return index("start", start, what), index("stop", stop, what)
