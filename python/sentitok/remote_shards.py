"""Token shards in object stores and on web servers: `RemotePath`, `RemoteArray`.

Arrays are read by ranges, a block at a time, and the blocks used last are kept; so memory is bounded, however
large the shards are. A file whose size is not that of the manifest, or that changes while it is read, is an
error.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import remote
from ._sentitok import FormatError
from .remote.copies import names_in
from .remote.inputs import blocks

__all__ = ["BlockCache", "RemoteArray", "RemoteEnds", "RemotePath", "remote_datasets"]

_BLOCK_BYTES = 1 << 20
# Blocks kept for a data set.
_CACHED_BLOCKS = 128


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A file or folder behind a URL; as text it has no credentials, as `os.fspath` gives it, it has."""

    url: str

    def __fspath__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(remote.join(self.url, name))

    def __str__(self) -> str:
        return remote.shown(self.url)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.url.partition("?")[0].rstrip("/").rpartition("/")[2]

    def with_name(self, name: str) -> "RemotePath":
        """Returns a path next to this one."""
        return RemotePath(f"{self.url.rstrip('/').rpartition('/')[0]}/{name}")

    def exists(self) -> bool:
        """Whether there is a file or a folder of this name.

        Raises:
            OSError: if the store cannot be asked.
        """
        return remote.exists(self.url)

    def write_bytes(self, data: bytes) -> None:
        """Writes a file, whole or not at all.

        Raises:
            OSError: if the store does not take it.
        """
        remote.write_bytes(self.url, data)

    def replace(self, target: "RemotePath") -> None:
        """Moves a file to another place of the same store.

        Raises:
            OSError: if it is not there, or the store does not move it.
        """
        remote.move(self.url, target.url)

    def remove(self, *, is_folder: bool = False) -> None:
        """Removes a file, or a folder with all that is in it, if it is there.

        Raises:
            OSError: if the store does not remove it.
        """
        remote.remove(self.url, is_folder=is_folder)

    def files(self) -> dict[str, int]:
        """Returns the sizes of all files in a folder, at any depth, by their path from there.

        Raises:
            OSError: if the store cannot be listed.
        """
        return names_in(self.url.rstrip("/")) or {}

    def size(self) -> int:
        """Returns the size of a file in bytes.

        Raises:
            OSError: if it is not there, cannot be read, or the server does not send its size.
        """
        return _known(remote.Input(self.url, first_bytes=1), self)

    def blocks(self) -> Iterator[bytes]:
        """Returns all bytes of a file, in large blocks, the next of which is fetched meanwhile.

        Raises:
            OSError: if it is not there, cannot be read, or changes.
        """
        return blocks(remote.Input(self.url))

    def read_bytes(self, most: int) -> bytes:
        """Returns the bytes of a file, at most one more than `most`.

        Raises:
            OSError: as `blocks`.
        """
        data = bytearray()
        for block in self.blocks():
            data += block
            if len(data) > most:
                break
        return bytes(data[: most + 1])

    def names(self) -> list[str]:
        """Returns the names of the files in a folder, sorted; none where a web server does not list them."""
        try:
            files = remote.expand([self.url.rstrip("/") + "/"])
        except OSError:
            return []
        start = len(self.url.rstrip("/")) + 1
        return sorted(name for one in files if (name := one[start:]) and "/" not in name)


def _known(file: remote.Input, path: RemotePath) -> int:
    if file.size is None:
        raise FormatError(
            f"{path}: the server does not send its size; copy the folder here and name the copy"
        )
    return file.size


def remote_datasets(url: str, manifest: str) -> list[RemotePath]:
    """Returns the data sets that a URL names: a folder, a folder of folders at any depth, or a glob.

    Args:
        url: the URL.
        manifest: the file that a data set has.

    Raises:
        OSError: if the store cannot be read, or a glob matches nothing.
    """
    folder = RemotePath(url.rstrip("/"))
    has_glob = any(char in url for char in "*[")
    if not has_glob and remote.exists((folder / manifest).url):
        return [folder]
    try:
        files = set(remote.expand([folder.url if has_glob else f"{folder.url}/"]))
    except FileNotFoundError:
        if has_glob:
            raise
        return [folder]  # reading its manifest reports the error
    found: list[RemotePath] = []
    for one in sorted({one.rpartition("/")[0] for one in files}, key=lambda one: one.split("/")):
        is_inside = found and one.startswith(f"{found[-1].url}/")
        if not (is_inside and (found[-1] / manifest).url in files):
            found.append(RemotePath(one))
    return found


class BlockCache:
    """The blocks of files that were used last; one for a data set."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._files: dict[str, remote.Input] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def read(self, path: RemotePath, n_bytes: int, start: int, stop: int) -> bytes:
        """Returns bytes `start` to `stop` of a file.

        Args:
            path: the file.
            n_bytes: the size that it must have.
            start: the first byte.
            stop: the byte after the last, at most `n_bytes`.

        Raises:
            FormatError: if it has another size, or cannot be read by ranges.
            OSError: if it is not there, cannot be read, or changed.
        """
        if self._pid != os.getpid():  # connections do not outlive a fork
            self._begin()
        with self._lock:
            first, last = start // _BLOCK_BYTES, (stop - 1) // _BLOCK_BYTES
            parts = [self._block(path, n_bytes, number) for number in range(first, last + 1)]
        parts[-1] = parts[-1][: stop - last * _BLOCK_BYTES]
        parts[0] = parts[0][start - first * _BLOCK_BYTES :]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _block(self, path: RemotePath, n_bytes: int, number: int) -> bytes:
        key = (path.url, number)
        block = self._blocks.get(key)
        if block is not None:
            self._blocks.move_to_end(key)
            return block
        file = self._files.get(path.url)
        if file is None:
            file = remote.Input(path.url, first_bytes=_BLOCK_BYTES, read_ahead=False)
            if (size := _known(file, path)) != n_bytes:
                raise FormatError(f"{path}: {size} bytes, where the manifest says {n_bytes}")
            if not file.has_ranges:
                raise FormatError(
                    f"{path}: the server sends whole files only; copy the folder here and name the copy"
                )
            self._files[path.url] = file
        length = min(_BLOCK_BYTES, n_bytes - number * _BLOCK_BYTES)
        block = file.read_at(number * _BLOCK_BYTES, length) or b""
        if len(block) != length:
            raise FormatError(f"{path}: it ends before {n_bytes} bytes, which the manifest says it has")
        self._blocks[key] = block
        if len(self._blocks) > _CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return block


class RemoteArray:
    """An array in a file of a store; a slice of it is read when it is asked for.

    Args:
        cache: where blocks are kept.
        path: the file.
        dtype: of the numbers.
        length: how many there are.
        header: bytes that the file begins with.
    """

    def __init__(
        self, cache: BlockCache, path: RemotePath, dtype: np.dtype[Any], length: int, header: bytes = b""
    ) -> None:
        self.cache, self.path, self.dtype, self.header = cache, path, dtype, header
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> NDArray[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if not isinstance(place, slice):
            return self[place : place + 1][0]
        start, stop, _ = place.indices(self._length)
        if stop <= start:
            return np.empty(0, self.dtype)
        width, before = self.dtype.itemsize, len(self.header)
        return np.frombuffer(self.bytes(before + start * width, before + stop * width), self.dtype)

    def bytes(self, start: int, stop: int) -> bytes:
        """Returns bytes of the file.

        Raises:
            FormatError, OSError: as `BlockCache.read`.
        """
        n_bytes = len(self.header) + self._length * self.dtype.itemsize
        return self.cache.read(self.path, n_bytes, start, stop)


class RemoteEnds(RemoteArray):
    """The ends of the documents of a shard, checked as they are read.

    Args:
        cache: where blocks are kept.
        path: the file.
        length: how many documents there are.
        header: bytes that the file begins with.
        tokens: where the last document ends.
    """

    def __init__(self, cache: BlockCache, path: RemotePath, length: int, header: bytes, tokens: int) -> None:
        super().__init__(cache, path, np.dtype("<i8"), length, header)
        self.tokens = tokens
        self._is_checked = False

    def __getitem__(self, place: int | slice) -> Any:
        if not self._is_checked:
            self._check()
        if not isinstance(place, slice):
            return super().__getitem__(place)
        ends = super().__getitem__(place)
        if len(ends) and (ends[0] < 0 or ends[-1] > self.tokens or np.any(ends[1:] < ends[:-1])):
            raise FormatError(f"{self.path}: its ends are not in order or out of bounds; it was changed")
        return ends

    def _check(self) -> None:
        if self.bytes(0, len(self.header)) != self.header:
            raise FormatError(f"{self.path}: its header is not that of {len(self)} ends; it was changed")
        last = int(super().__getitem__(slice(len(self) - 1, None))[0]) if len(self) else 0
        if last != self.tokens:
            raise FormatError(
                f"{self.path}: the last document ends at {last}, where the shard has {self.tokens} tokens"
            )
        self._is_checked = True
