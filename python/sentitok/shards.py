"""The manifest of a directory of token shards: written, read and checked.

A directory is data from strangers, or damaged: whatever is in it, the answer is the written data or a
`FormatError` with the path.
"""

import errno
import glob
import hashlib
import json
import stat
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import remote
from ._sentitok import FormatError
from .atomic import write, writing
from .messages import shown
from .remote_shards import BlockCache, RemoteArray, RemoteEnds, RemotePath, remote_datasets

if TYPE_CHECKING:
    from ._sentitok import Tokenizer

__all__ = [
    "Packing",
    "Place",
    "Shard",
    "check_alike",
    "check_ends",
    "check_regular",
    "check_size",
    "files_of",
    "find_datasets",
    "is_dataset",
    "is_masked",
    "manifest_json",
    "mapped_ends",
    "open_ends",
    "open_ids",
    "open_masks",
    "open_rows",
    "packing_of",
    "place_of",
    "read_manifest",
    "read_shards",
    "type_of_ids",
    "write_ends",
    "write_manifest",
]

# The name of the format in a manifest.
_SCHEMA = "sentitok.dataset"
# The types of ids, little-endian.
_DTYPES = {"uint16": "<u2", "uint32": "<u4"}
_MANIFEST = "manifest.json"
_LAYOUTS = ("sentitok", "nanogpt", "megatron", "text")
# Fields that must be equal in directories that are read as one.
_ALIKE = ("tokenizer_sha256", "separator", "dtype", "vocab_size")
# Shards of the layouts, for a folder whose manifest is missing.
_SHARD_NAMES = ("*.bin", "*.idx.npy", "shard-*.txt")
# The largest manifest read; a shard takes about 400 bytes in it.
_MANIFEST_BYTES = 1 << 28
# Bytes before the ends in an index file, and ends looked at together.
_HEADER_BYTES = 128
_ENDS_AT_ONCE = 1 << 20
# The longest name of a file that a manifest may give, in bytes.
_NAME_BYTES = 255


# A file or folder.
Place = Path | RemotePath


class Shard(NamedTuple):
    """A manifest's entry on a shard; `mask_file` and `rows_file` are of chats (`encode_chats`)."""

    file: str
    index_file: str
    documents: int
    tokens: int
    sha256: str
    index_sha256: str | None
    mask_file: str | None = None
    mask_sha256: str | None = None
    rows: int = 0
    rows_file: str | None = None
    rows_sha256: str | None = None

    @property
    def files(self) -> list[str]:
        """The files of the shard."""
        return [name for name in (self.file, self.index_file, self.mask_file, self.rows_file) if name]


class Packing(NamedTuple):
    """A manifest's entry on packed rows.

    Attributes:
        length: ids of a row.
        pad_id: the id that readers fill rows with.
    """

    length: int
    pad_id: int


def type_of_ids(tokenizer: "Tokenizer") -> np.dtype[np.unsignedinteger[Any]]:
    """Returns the type that ids of a tokenizer have in shards."""
    return np.dtype(_DTYPES["uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32"])


def write_manifest(
    directory: Path, tokenizer: "Tokenizer", separator: int | None, shards: Sequence[Shard], **more: Any
) -> dict[str, Any]:
    """Writes the manifest of shards that are there: with it the data set is complete.

    Args:
        directory: where they are.
        tokenizer: of the ids.
        separator: the id that ends each document, or `None`.
        shards: each, in order.
        more: further fields.

    Returns:
        The manifest.
    """
    dtype = type_of_ids(tokenizer)
    entries: list[dict[str, Any]] = []
    documents = tokens = 0
    for shard in shards:
        entries.append({
            "file": shard.file, "index": shard.index_file, "first_document": documents,
            "documents": shard.documents, "tokens": shard.tokens, "bytes": shard.tokens * dtype.itemsize,
            "sha256": shard.sha256, "index_sha256": shard.index_sha256,
        })  # fmt: skip
        if shard.mask_file is not None:
            entries[-1] |= {"mask": shard.mask_file, "mask_sha256": shard.mask_sha256}
        if shard.rows_file is not None:
            more_of_rows = {
                "rows": shard.rows,
                "rows_index": shard.rows_file,
                "rows_sha256": shard.rows_sha256,
            }
            entries[-1] |= more_of_rows
        documents, tokens = documents + shard.documents, tokens + shard.tokens
    manifest = {
        "schema": _SCHEMA, "version": 1, "layout": "sentitok", "dtype": dtype.name,
        "vocab_size": tokenizer.vocab_size, "tokenizer_sha256": tokenizer.fingerprint,
        "separator": separator, **more, "complete": True, "documents": documents, "tokens": tokens,
        "shards": entries,
    }  # fmt: skip
    write(directory / _MANIFEST, json.dumps(manifest, indent=2).encode())
    return manifest


def write_ends(path: Path, ends: Sequence[int] | NDArray[Any]) -> str:
    """Writes the ends of documents, or of rows, as a file of numpy; returns its SHA-256."""
    digest = hashlib.sha256()
    with writing(path) as temporary, open(temporary, "wb") as file:
        for data in (_header(len(ends)), *_ends_as_bytes(ends)):
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


def _ends_as_bytes(ends: Sequence[int] | NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(ends), _ENDS_AT_ONCE):
        yield np.asarray(ends[start : start + _ENDS_AT_ONCE]).astype("<i8").tobytes()


def is_dataset(directory: Path) -> bool:
    """Whether `encode_files` wrote, or began to write, a directory; one with a damaged manifest may be one.

    A text may be called `manifest.json` as well: JSON of something else is not a manifest.
    """
    path = directory / _MANIFEST
    if not path.is_file():
        return False
    try:
        value = manifest_json(path)
    except FormatError:
        return True
    return isinstance(value, dict) and value.get("schema") == _SCHEMA


def place_of(path: str | PathLike[str]) -> Place:
    """Returns a path or URL as what reads it."""
    name = remote.local_name(path)
    return RemotePath(name) if remote.is_url(name) else Path(name)


def find_datasets(paths: Iterable[str | PathLike[str]]) -> list[Place]:
    """Returns the folders of token shards that paths name, in order.

    A folder that has no manifest but folders means the data sets in them, at any depth, and a glob for
    what it matches: both sorted by name. A folder of neither is returned as it is; reading its manifest
    reports the error. So a part that was never finished is an error, not left out. URLs are of folders in
    stores; a web server must list its folders where a folder of folders is given.

    Raises:
        FileNotFoundError: if a glob matches no folder.
        OSError: if a store cannot be read.
    """
    found: list[Place] = []
    for given in paths:
        name = remote.local_name(given)
        if remote.is_url(name):
            found += remote_datasets(name, _MANIFEST)
            continue
        path = Path(name)
        if path.exists() or not glob.has_magic(fspath(path)):
            found += _nested(path)
            continue
        # 2026-11-30: a pattern may be absolute, which Path.glob refuses
        matches = sorted(Path(name) for name in glob.glob(fspath(path), recursive=True))  # noqa: PTH207
        folders = [one for one in matches if one.is_dir()]
        if not folders:
            raise FileNotFoundError(errno.ENOENT, "no folder matches this glob", str(path))
        found += [dataset for folder in folders for dataset in _nested(folder)]
    return found


def _nested(folder: Path) -> Iterator[Path]:
    inside = []
    if folder.is_dir() and not (folder / _MANIFEST).exists():
        inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    if not inside or any(any(folder.glob(name)) for name in _SHARD_NAMES):
        yield folder
        return
    for one in inside:
        yield from _nested(one)


def manifest_json(path: Place) -> Any:
    """Reads a manifest.

    Raises:
        FormatError: if it is not JSON, or longer than any.
    """
    if isinstance(path, RemotePath):
        data = path.read_bytes(_MANIFEST_BYTES)
    else:
        check_regular(path)
        with open(path, "rb") as file:
            data = file.read(_MANIFEST_BYTES + 1)
    if len(data) > _MANIFEST_BYTES:
        raise FormatError(f"{path}: larger than {_MANIFEST_BYTES} bytes, the most that a manifest has")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _no_manifest(path, f"{error}") from None


def read_manifest(path: Place, *, any_layout: bool = False) -> dict[str, Any]:
    """Reads a manifest of a complete data set, by default of the layout `sentitok` alone.

    Raises:
        FormatError: if it is none.
    """
    manifest = manifest_json(path)
    if not isinstance(manifest, dict):
        raise _no_manifest(path, "it is not a JSON object")
    schema = (manifest.get("schema"), manifest.get("version"))
    if schema != (_SCHEMA, 1):
        raise FormatError(f"{path}: schema and version are {shown(schema)}; this release reads {_SCHEMA} 1")
    layout = manifest.get("layout")
    if layout != "sentitok" and not any_layout:
        raise FormatError(
            f"{path}: layout {shown(layout)}; to read it here, encode again with layout='sentitok'"
        )
    if manifest.get("complete") is not True:
        raise FormatError(f"{path}: not all is written yet; run encode_files again, it resumes from here")
    dtype = manifest.get("dtype")
    if layout not in _LAYOUTS:
        raise _no_manifest(path, f"$.layout is {shown(layout)}, expected one of {', '.join(_LAYOUTS)}")
    if layout == "sentitok" and (not isinstance(dtype, str) or dtype not in _DTYPES):
        raise _no_manifest(path, f"$.dtype is {shown(dtype)}, expected one of {', '.join(_DTYPES)}")
    for name in ("documents", "tokens", "vocab_size"):
        _count(path, f"$.{name}", manifest.get(name))
    _text(path, "$.tokenizer_sha256", manifest.get("tokenizer_sha256"))
    return manifest


def read_shards(path: Place, manifest: dict[str, Any]) -> list[Shard]:
    """Reads the manifest's entries on its shards.

    Raises:
        FormatError: if it cannot be, or does not add up.
    """
    shards = manifest.get("shards")
    if not isinstance(shards, list):
        raise _no_manifest(path, "$.shards is not a list")
    checked = []
    documents = tokens = 0
    packing = packing_of(path, manifest)
    width = np.dtype(_DTYPES[manifest["dtype"]]).itemsize
    for number, shard in enumerate(shards):
        at = f"$.shards[{number}]"
        if not isinstance(shard, dict):
            raise _no_manifest(path, f"{at} is not an object")
        hash_ = shard.get("index_sha256")
        one = Shard(
            file=_file_name(path, f"{at}.file", shard.get("file")),
            index_file=_file_name(path, f"{at}.index", shard.get("index")),
            documents=_count(path, f"{at}.documents", shard.get("documents")),
            tokens=_count(path, f"{at}.tokens", shard.get("tokens")),
            sha256=_text(path, f"{at}.sha256", shard.get("sha256")),
            index_sha256=None if hash_ is None else _text(path, f"{at}.index_sha256", hash_),
        )
        if shard.get("mask") is not None:
            one = one._replace(
                mask_file=_file_name(path, f"{at}.mask", shard["mask"]),
                mask_sha256=_text(path, f"{at}.mask_sha256", shard.get("mask_sha256")),
            )
        if shard.get("rows_index") is not None:
            one = one._replace(
                rows=_count(path, f"{at}.rows", shard.get("rows")),
                rows_file=_file_name(path, f"{at}.rows_index", shard["rows_index"]),
                rows_sha256=_text(path, f"{at}.rows_sha256", shard.get("rows_sha256")),
            )
        if (one.mask_file is None) == is_masked(manifest):
            raise _no_manifest(path, f"{at} has {'no' if is_masked(manifest) else 'a'} mask, unlike $.chats")
        if (one.rows_file is None) == (packing is not None):
            raise _no_manifest(path, f"{at} has {'no' if packing else ''} rows, unlike $.pack")
        if _count(path, f"{at}.first_document", shard.get("first_document")) != documents:
            raise _no_manifest(path, f"{at}.first_document is not {documents}")
        if _count(path, f"{at}.bytes", shard.get("bytes")) != one.tokens * width:
            raise _no_manifest(path, f"{at}.bytes is not {one.tokens * width}, which its tokens take")
        documents, tokens = documents + one.documents, tokens + one.tokens
        checked.append(one)
    if (documents, tokens) != (manifest["documents"], manifest["tokens"]):
        raise FormatError(f"{path}: the shards do not hold as many documents and tokens as it says")
    return checked


def is_masked(manifest: dict[str, Any]) -> bool:
    """Whether a data set says which ids the assistant wrote."""
    chats = manifest.get("chats")
    return isinstance(chats, dict) and chats.get("mask") is not None


def packing_of(path: Place, manifest: dict[str, Any]) -> Packing | None:
    """Reads the manifest's entry on packed rows; `None` where documents are not packed.

    Raises:
        FormatError: if it cannot be read.
    """
    pack = manifest.get("pack")
    if pack is None:
        return None
    if not isinstance(pack, dict):
        raise _no_manifest(path, f"$.pack is {shown(pack)}, expected an object")
    length, pad_id = (_count(path, f"$.pack.{name}", pack.get(name)) for name in ("length", "pad_id"))
    if not 0 < length < 1 << 31:
        raise _no_manifest(path, f"$.pack.length is {length}, expected a whole number from 1 to 2^31 - 1")
    return Packing(length, pad_id)


def check_alike(manifests: Sequence[tuple[Place, dict[str, Any]]]) -> None:
    """Refuses data sets that cannot be read as one.

    Args:
        manifests: each with its directory; each is compared with the first.

    Raises:
        FormatError: naming the directory that differs, and how.
    """
    first, manifest = manifests[0]
    for one, other in manifests[1:]:
        for key in _ALIKE:
            if other.get(key) != manifest.get(key):
                raise FormatError(
                    f"{one}: {key} is {shown(other.get(key))}, that of {first} is "
                    f"{shown(manifest.get(key))}; encode both with one tokenizer and one separator"
                )


def files_of(path: Place, manifest: dict[str, Any]) -> list[tuple[str, int | None, str | None]]:
    """Returns the files that a manifest of any layout names: name, size and SHA-256, where it has them.

    Raises:
        FormatError: if it cannot be read, or does not add up.
    """
    if manifest["layout"] == "sentitok":
        read_shards(path, manifest)
    files: list[tuple[str, int | None, str | None]] = []
    shards = manifest.get("shards")
    if not isinstance(shards, list) or not all(isinstance(shard, dict) for shard in shards):
        raise _no_manifest(path, "$.shards is not a list of objects")
    for number, shard in enumerate(shards):
        at = f"$.shards[{number}]"
        name = _file_name(path, f"{at}.file", shard.get("file"))
        n_bytes = _count(path, f"{at}.bytes", shard.get("bytes"))
        files.append((name, n_bytes, _text(path, f"{at}.sha256", shard.get("sha256"))))
        if shard.get("index") is not None:
            hash_ = shard.get("index_sha256")
            name = _file_name(path, f"{at}.index", shard["index"])
            files.append((name, None, None if hash_ is None else _text(path, f"{at}.index_sha256", hash_)))
        for key, size in (("mask", shard.get("tokens")), ("rows_index", None)):
            if shard.get(key) is not None:
                hash_ = shard.get(f"{key.removesuffix('_index')}_sha256")
                name = _file_name(path, f"{at}.{key}", shard[key])
                files.append((name, size, _text(path, f"{at}.{key}_sha256", hash_)))
    return files


def _no_manifest(path: Place, reason: str) -> FormatError:
    return FormatError(f"{path}: not a manifest of token shards: {reason}")


def _count(path: Place, at: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise _no_manifest(path, f"{at} is {shown(value)}, expected a whole number of at least 0")
    return value


def _text(path: Place, at: str, value: object) -> str:
    if not isinstance(value, str):
        raise _no_manifest(path, f"{at} is {shown(value)}, expected a string")
    return value


def _file_name(path: Place, at: str, value: object) -> str:
    """A name in the same directory: a manifest must not name files elsewhere."""
    name = _text(path, at, value)
    is_long = len(name.encode("utf-8", "surrogatepass")) > _NAME_BYTES
    if is_long or name in ("", ".", "..") or any(char in "/\\" or not char.isprintable() for char in name):
        raise _no_manifest(path, f"{at} is {shown(name)}, which is not a name of a file next to it")
    return name


def check_regular(path: Path) -> None:
    """Refuses a pipe or a device, which may have no end.

    Raises:
        FormatError: naming it.
    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a name that no file can have
        raise FormatError(f"{path}: {error}") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FormatError(f"{path}: a pipe or a device, expected a file")


def check_size(path: Path, expected: int) -> None:
    """Refuses a file of another size.

    Raises:
        FormatError: naming it.
    """
    check_regular(path)
    size = path.stat().st_size
    if size != expected:
        raise FormatError(f"{path}: {size} bytes, where the manifest says {expected}")


def open_ids(
    path: Place, shard: Shard, dtype: np.dtype[Any], cache: BlockCache
) -> "NDArray[Any] | RemoteArray":
    """Opens the ids of a shard: mapped, or read by ranges from a store.

    Raises:
        FormatError: if it has another size; a file in a store is looked at when it is first read.
    """
    if isinstance(path, RemotePath):
        return RemoteArray(cache, path, dtype, shard.tokens)
    check_size(path, shard.tokens * dtype.itemsize)
    # An empty file cannot be mapped.
    return np.memmap(path, dtype, "r") if shard.tokens else np.empty(0, dtype)


def open_ends(path: Place, shard: Shard, cache: BlockCache) -> "NDArray[np.int64] | RemoteEnds":
    """Opens the ends of the documents of a shard, all of which are checked; in a store when they are read.

    Raises:
        FormatError: if it is another file, or the ends are not in order.
    """
    if isinstance(path, RemotePath):
        return RemoteEnds(cache, path, shard.documents, _header(shard.documents), shard.tokens)
    return mapped_ends(path, shard.documents, shard.tokens)


def open_masks(path: Place, shard: Shard, cache: BlockCache) -> "NDArray[Any] | RemoteArray":
    """Opens the masks of a shard as `open_ids` does its ids, a byte for each.

    Raises:
        FormatError: as `open_ids`.
    """
    return open_ids(path, shard, np.dtype(np.uint8), cache)


def open_rows(path: Place, shard: Shard, cache: BlockCache) -> "NDArray[np.int64] | RemoteEnds":
    """Opens the ends of the packed rows of a shard, counted in documents.

    Raises:
        FormatError: as `open_ends`.
    """
    return open_ends(path, shard._replace(documents=shard.rows, tokens=shard.documents), cache)


def check_ends(path: Place, ends: "NDArray[np.int64] | RemoteEnds") -> None:
    """Reads ends that `open_ends` or `open_rows` opened; those of a file here were looked at.

    Raises:
        FormatError: if they are not in order.
        OSError: if they cannot be read.
    """
    last = 0
    if isinstance(ends, RemoteEnds):
        for start in range(0, len(ends), _ENDS_AT_ONCE):
            part = ends[start : start + _ENDS_AT_ONCE]
            if part[0] < last:
                raise FormatError(
                    f"{path}: document {start} ends before the one in front of it; it was changed"
                )
            last = int(part[-1])


def _header(documents: int) -> bytes:
    written = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({documents},), }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + written.encode().ljust(_HEADER_BYTES - 11) + b"\n"


def mapped_ends(path: Path, documents: int, tokens: int) -> NDArray[np.int64]:
    """Maps the ends of documents, and checks all of them.

    The file is numpy's, with the one header that `encode_files` writes: it is
    compared, not parsed.

    Raises:
        FormatError: if it is another file, or the ends are not in order.
    """
    check_size(path, _HEADER_BYTES + 8 * documents)
    with open(path, "rb") as file:
        if file.read(_HEADER_BYTES) != _header(documents):
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
