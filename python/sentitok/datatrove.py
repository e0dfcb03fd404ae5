"""`from_datatrove`: converts the output of datatrove's `DocumentTokenizer` to a directory of token shards.

Source: the files of datatrove 0.10. `NAME.ds` has the ids, little-endian, of two or four bytes;
`NAME.ds.index` where each document ends, as u64 in ids. Of `NAME.ds.metadata` only the name of the tokenizer
is used, in messages; `NAME.ds.loss` is not read.
"""

import errno
import hashlib
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import FormatError, Tokenizer, remote
from .atomic import writing
from .messages import shown
from .shards import Shard, check_regular, type_of_ids, write_ends, write_manifest

__all__ = ["from_datatrove"]

# Ids, or ends of documents, in memory at a time.
_AT_ONCE = 1 << 20
_METADATA_BYTES = 1 << 12

_Ids = NDArray[np.unsignedinteger[Any]]


class _Tokenized(NamedTuple):
    """A `.ds` file: its ids and the ends of its documents, both mapped."""

    path: Path
    ids: _Ids
    ends: NDArray[np.uint64]


def from_datatrove(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    out_dir: str | PathLike[str],
    tokenizer: Tokenizer,
) -> dict[str, Any]:
    """Writes the documents of datatrove's `.ds` files as token shards, a shard for each file.

    Memory does not grow with the files. The special token that every document ends with, which
    datatrove can add, becomes the data set's separator.

    Args:
        source: a `.ds` file, several, or a folder of them, read in the order of their names.
        out_dir: the directory to write.
        tokenizer: the one that datatrove used.

    Returns:
        The manifest.

    Raises:
        FileExistsError: if `out_dir` holds token shards already.
        FileNotFoundError: if there is no such file, or its index is missing.
        FormatError: if a file and its index do not fit together, or an id is none of the tokenizer's.
    """
    if remote.is_url(out_dir):
        with remote.written(out_dir) as folder:
            return from_datatrove(source, folder, tokenizer)
    out = Path(remote.local_name(out_dir))
    if (out / "manifest.json").exists():
        raise FileExistsError(errno.EEXIST, "holds token shards already; give another directory", str(out))
    opened = [_open(path) for path in _files(source)]
    filled = [one for one in opened if len(one.ends)]
    shards = [_shard(one, out, number, tokenizer) for number, one in enumerate(filled)]
    last = _last(filled)
    # A text of one document ends with some id as well: only a special token separates documents.
    special = {token.id for token in tokenizer.added_tokens if token.special}
    sources = [{"name": str(one.path), "bytes": one.path.stat().st_size} for one in opened]
    return write_manifest(out, tokenizer, last if last in special else None, shards, sources=sources)


def _files(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """Returns the `.ds` files that are meant."""
    named = [source] if isinstance(source, str | PathLike) else list(source)
    files: list[Path] = []
    for path in map(remote.local_path, named):
        found = sorted(path.glob("*.ds")) if path.is_dir() else [path]
        if not found:
            said = "no .ds file in it; datatrove's DocumentTokenizer writes them"
            raise FileNotFoundError(errno.ENOENT, said, str(path))
        files += found
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no .ds file was named")
    return files


def _open(path: Path) -> _Tokenized:
    """Maps a file and its index, and checks that they fit together."""
    index = path.with_name(f"{path.name}.index")
    for file, remedy in ((path, ""), (index, "; datatrove writes it next to the ids (save_index=True)")):
        if not file.exists():
            raise FileNotFoundError(errno.ENOENT, f"no such file{remedy}", str(file))
        check_regular(file)
    n_bytes, n_index = path.stat().st_size, index.stat().st_size
    if n_index % 8:
        raise FormatError(f"{index}: {n_index} bytes, expected 8 for each document")
    if not n_index:
        if n_bytes:
            raise FormatError(f"{index}: no documents, though {path.name} has {n_bytes} bytes")
        return _Tokenized(path, np.empty(0, "<u2"), np.empty(0, "<u8"))
    ends: NDArray[np.uint64] = np.memmap(index, "<u8", "r")
    before = 0
    for part in _blocks(ends):
        if int(part[0]) < before or np.any(part[1:] < part[:-1]):
            raise FormatError(f"{index}: a document ends before the one in front of it")
        before = int(part[-1])
    widths = [width for width in (2, 4) if before * width == n_bytes]
    if not widths:
        raise FormatError(
            f"{path}: {n_bytes} bytes, where {index.name} says {before} ids of two bytes or of four"
        )
    dtype = np.dtype(f"<u{widths[0]}")
    ids = np.memmap(path, dtype, "r") if n_bytes else np.empty(0, dtype)
    return _Tokenized(path, ids, ends)


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for start in range(0, len(array), _AT_ONCE):
        yield array[start : start + _AT_ONCE]


def _shard(one: _Tokenized, out: Path, number: int, tokenizer: Tokenizer) -> Shard:
    """Writes a shard; returns what the manifest says of it."""
    name, index = f"shard-{number:05}.bin", f"shard-{number:05}.idx.npy"
    dtype, digest = type_of_ids(tokenizer), hashlib.sha256()
    with writing(out / name) as temporary, open(temporary, "wb") as file:
        for part in _blocks(one.ids):
            if int(part.max()) >= tokenizer.vocab_size:
                raise FormatError(_no_such_id(one.path, int(part.max()), tokenizer.vocab_size))
            data = part.astype(dtype).tobytes()
            digest.update(data)
            file.write(data)
    index_digest = write_ends(out / index, one.ends)
    return Shard(name, index, len(one.ends), len(one.ids), digest.hexdigest(), index_digest)


def _no_such_id(path: Path, id_: int, vocab_size: int) -> str:
    """Explains an id that is too large."""
    try:
        with open(f"{path}.metadata", "rb") as file:
            first = file.read(_METADATA_BYTES).decode("utf-8", "replace").splitlines()[0]
        used = f", {shown(first.rpartition('|')[0] or first)} by its metadata"
    except (OSError, IndexError):
        used = ""
    return (
        f"{path}: id {id_}, where the tokenizer has ids below {vocab_size}; "
        f"give the tokenizer that datatrove used{used}"
    )


def _last(filled: Sequence[_Tokenized]) -> int | None:
    """Returns the id that every document ends with, `None` where there is no such id."""
    found: set[int] = set()
    for one in filled:
        before = np.zeros(1, np.uint64)
        for part in _blocks(one.ends):
            if np.any(part == np.concatenate((before, part[:-1]))):
                return None  # an empty document
            found.update(np.unique(one.ids[part.astype(np.int64) - 1]).tolist())
            before = part[-1:]
            if len(found) > 1:
                return None
    return next(iter(found), None)
