"""Token shards, memory-mapped: what `sentitok.encode_files` wrote.

A data set is as large as the disk, not the memory: a document is a view of a
mapped file. Not a loader: batching, shuffling and tensors are the caller's.
Works as a map-style data set of `torch.utils.data.DataLoader` in any worker,
forked or spawned; torch is not needed.

>>> from sentitok.datasets import TokenDataset
>>> dataset = TokenDataset("shards")  # doctest: +SKIP
>>> dataset[0]  # doctest: +SKIP
memmap([464, 9274, 2646], dtype=uint16)
"""

import bisect
import hashlib
import json
import stat
import warnings
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from . import FormatError

__all__ = ["TokenDataset"]

_Ids = NDArray[np.unsignedinteger[Any]]

# The types of ids, little-endian.
_DTYPES = {"uint16": "<u2", "uint32": "<u4"}
# The largest manifest read; a shard takes about 400 bytes in it.
_MANIFEST_BYTES = 1 << 28
# Bytes before the ends in an index file, and ends looked at together.
_HEADER_BYTES = 128
_ENDS_AT_ONCE = 1 << 20


class _Shard(NamedTuple):
    """What a manifest says of a shard."""

    file: str
    index_file: str
    documents: int
    tokens: int
    sha256: str
    index_sha256: str | None


def _manifest(path: Path) -> dict[str, Any]:
    """Reads a manifest of this layout whose data set is complete.

    Raises:
        FormatError: if it is none.
    """
    _check_regular(path)
    with open(path, "rb") as file:
        data = file.read(_MANIFEST_BYTES + 1)
    if len(data) > _MANIFEST_BYTES:
        raise FormatError(f"{path}: larger than {_MANIFEST_BYTES} bytes, the most that a manifest has")
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not a manifest of token shards: {error}") from None
    if not isinstance(manifest, dict):
        raise FormatError(f"{path}: not a manifest of token shards, which is a JSON object")
    found = (manifest.get("schema"), manifest.get("version"))
    if found != ("sentitok.dataset", 1):
        raise FormatError(f"{path}: schema and version are {found}; this release reads sentitok.dataset 1")
    layout = manifest.get("layout")
    if layout != "sentitok":
        raise FormatError(f"{path}: layout {layout!r}; encode again with layout='sentitok' to read it here")
    if manifest.get("complete") is not True:
        raise FormatError(f"{path}: not all is written yet; run encode_files again, it goes on from here")
    dtype = manifest.get("dtype")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise FormatError(
            f"{path}: not a manifest of token shards: $.dtype is {dtype!r}, expected one of {', '.join(_DTYPES)}"
        )
    for name in ("documents", "tokens", "vocab_size"):
        _count(path, f"$.{name}", manifest.get(name))
    _text(path, "$.tokenizer_sha256", manifest.get("tokenizer_sha256"))
    return manifest


def _shards(path: Path, manifest: dict[str, Any]) -> list[_Shard]:
    """Reads what a manifest says of its shards.

    Raises:
        FormatError: if it cannot be, or does not add up.
    """
    shards = manifest.get("shards")
    if not isinstance(shards, list):
        raise FormatError(f"{path}: not a manifest of token shards: $.shards is no list")
    found = []
    documents = tokens = 0
    width = np.dtype(_DTYPES[manifest["dtype"]]).itemsize
    for number, shard in enumerate(shards):
        at = f"$.shards[{number}]"
        if not isinstance(shard, dict):
            raise FormatError(f"{path}: not a manifest of token shards: {at} is no object")
        hash_ = shard.get("index_sha256")
        one = _Shard(
            file=_file_name(path, f"{at}.file", shard.get("file")),
            index_file=_file_name(path, f"{at}.index", shard.get("index")),
            documents=_count(path, f"{at}.documents", shard.get("documents")),
            tokens=_count(path, f"{at}.tokens", shard.get("tokens")),
            sha256=_text(path, f"{at}.sha256", shard.get("sha256")),
            index_sha256=None if hash_ is None else _text(path, f"{at}.index_sha256", hash_),
        )
        if _count(path, f"{at}.first_document", shard.get("first_document")) != documents:
            raise FormatError(
                f"{path}: not a manifest of token shards: {at}.first_document is not {documents}"
            )
        if _count(path, f"{at}.bytes", shard.get("bytes")) != one.tokens * width:
            raise FormatError(
                f"{path}: not a manifest of token shards: {at}.bytes is not {one.tokens * width}, which its tokens take"
            )
        documents, tokens = documents + one.documents, tokens + one.tokens
        found.append(one)
    if (documents, tokens) != (manifest["documents"], manifest["tokens"]):
        raise FormatError(f"{path}: the shards do not hold as many documents and tokens as it says")
    return found


def _count(path: Path, at: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise FormatError(
            f"{path}: not a manifest of token shards: {at} is {_shown(value)}, expected a whole number of at least 0"
        )
    return value


def _text(path: Path, at: str, value: object) -> str:
    if not isinstance(value, str):
        raise FormatError(
            f"{path}: not a manifest of token shards: {at} is {_shown(value)}, expected a string"
        )
    return value


def _file_name(path: Path, at: str, value: object) -> str:
    """A name in the same directory: a manifest must not name files elsewhere."""
    name = _text(path, at, value)
    if name in ("", ".", "..") or any(char in "/\\" or not char.isprintable() for char in name):
        raise FormatError(
            f"{path}: not a manifest of token shards: {at} is {_shown(name)}, which is no name of a file beside it"
        )
    return name


def _shown(value: object) -> str:
    """Writes what was found, not the whole of it."""
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "a number of very many digits"
    return text if len(text) <= 60 else f"{text[:60]}..."


def _check_regular(path: Path) -> None:
    """Refuses a pipe or a device, which may have no end."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a name that no file can have
        raise FormatError(f"{path}: {error}") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FormatError(f"{path}: a pipe or a device, expected a file")


def _check_size(path: Path, expected: int) -> None:
    _check_regular(path)
    found = path.stat().st_size
    if found != expected:
        raise FormatError(f"{path}: {found} bytes, where the manifest says {expected}")


def _ends(path: Path, documents: int, tokens: int) -> NDArray[np.int64]:
    """Maps the ends of documents, after a look at all of them.

    The file is numpy's, with the one header that `encode_files` writes: it is
    compared, not parsed.

    Raises:
        FormatError: if it is another file, or the ends are not in order.
    """
    _check_size(path, _HEADER_BYTES + 8 * documents)
    written = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({documents},), }}"
    header = b"\x93NUMPY\x01\x00\x76\x00" + written.encode().ljust(_HEADER_BYTES - 11) + b"\n"
    with open(path, "rb") as file:
        if file.read(_HEADER_BYTES) != header:
            raise FormatError(f"{path}: its header is not that of {documents} ends; it was changed")
    if not documents:
        if tokens:
            raise FormatError(f"{path}: no document ends, where the manifest says {tokens} tokens")
        return np.empty(0, np.int64)
    ends: NDArray[np.int64] = np.memmap(path, "<i8", "r", offset=_HEADER_BYTES)
    before = 0
    for start in range(0, documents, _ENDS_AT_ONCE):
        part = ends[start : start + _ENDS_AT_ONCE]
        if part[0] < before or np.any(part[1:] < part[:-1]):
            wrong = start + int(np.argmax(np.diff(part, prepend=before) < 0))
            raise FormatError(f"{path}: document {wrong} ends before the one in front of it; it was changed")
        before = int(part[-1])
    if before != tokens:
        raise FormatError(f"{path}: the last document ends at {before}, where the shard has {tokens} tokens")
    return ends


class TokenDataset(Sequence["NDArray[np.unsignedinteger[Any]]"]):
    """The documents of a directory of token shards, as arrays of ids.

    Attributes:
        directory: where the shards are.
        manifest: what `encode_files` wrote beside them.
        dtype: the type of an id, uint16 or uint32.
        tokens: ids in all, separators included.
        vocab_size: one more than the greatest id there can be.
        tokenizer_sha256: fingerprint of the tokenizer that made the ids.
    """

    def __init__(self, directory: str | PathLike[str]) -> None:
        """Opens the shards; nothing is read yet but the manifest and the document ends.

        Raises:
            FileNotFoundError: if the directory, its manifest or a shard is not there.
            FormatError: if they are not what the manifest says, or not all written yet.
        """
        self.directory = Path(directory)
        path = self.directory / "manifest.json"
        self.manifest = _manifest(path)
        shards = _shards(path, self.manifest)
        self.dtype = np.dtype(_DTYPES[self.manifest["dtype"]])
        self.tokens: int = self.manifest["tokens"]
        self.vocab_size: int = self.manifest["vocab_size"]
        self.tokenizer_sha256: str = self.manifest["tokenizer_sha256"]
        self._shards = shards
        self._ids: list[_Ids] = []
        self._ends: list[NDArray[np.int64]] = []
        # Documents and ids before each shard.
        self._first_document = [0]
        self._first_token = [0]
        for shard in shards:
            self._open(shard)

    def _open(self, shard: "_Shard") -> None:
        file, index = self.directory / shard.file, self.directory / shard.index_file
        n_bytes = shard.tokens * self.dtype.itemsize
        _check_size(file, n_bytes)
        # An empty file cannot be mapped.
        ids = np.memmap(file, self.dtype, "r") if n_bytes else np.empty(0, self.dtype)
        self._ids.append(ids)
        self._ends.append(_ends(index, shard.documents, shard.tokens))
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
        number = document + len(self) if document < 0 else document
        if not 0 <= number < len(self):
            raise IndexError(f"document {document} of a data set of {len(self)}")
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
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"ids {start} to {stop} of a data set of {self.tokens}")
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

    def verify(self) -> None:
        """Reads every file of every shard and compares its SHA-256 with the manifest.

        Manifests of older releases have none of the index files: a warning names what
        was not covered. Order and bounds of the ends are checked when a data set opens.

        Raises:
            FormatError: naming the first file that differs.
        """
        uncovered = []
        for shard in self._shards:
            for name, expected in ((shard.file, shard.sha256), (shard.index_file, shard.index_sha256)):
                path = self.directory / name
                if expected is None:
                    uncovered.append(path)
                    continue
                _check_regular(path)
                with open(path, "rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
                if found != expected:
                    raise FormatError(f"{path}: SHA-256 {found}, not {expected}")
        if uncovered:
            more = f" and {len(uncovered) - 1} more" if len(uncovered) > 1 else ""
            warnings.warn(
                f"{uncovered[0]}{more}: not covered, as the manifest has no SHA-256 of it; "
                "encode again with resume=False (--restart) to have one",
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[type["TokenDataset"], tuple[str]]:
        """Pickled by its path: a worker maps the files itself."""
        return (type(self), (str(self.directory),))

    def __repr__(self) -> str:
        return f"TokenDataset({str(self.directory)!r}: {len(self)} documents, {self.tokens} tokens)"
