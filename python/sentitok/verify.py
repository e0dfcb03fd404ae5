"""`verify`: checks that the files of a data set, a counts file or a tokenizer are undamaged.

A data set is read as a whole: its manifest, the sizes and ends of its shards, and the SHA-256 of every file.
All that is wrong is found, in the order of the manifest, each with its file and what to do.
"""

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ._sentitok import FormatError, merge_counts
from .atomic import PREFIX
from .messages import shown
from .numbers import whole
from .remote_shards import BlockCache, RemotePath
from .shards import (
    Place,
    check_ends,
    check_regular,
    files_of,
    open_ends,
    open_rows,
    place_of,
    read_manifest,
    read_shards,
)

if TYPE_CHECKING:
    from ._sentitok import Tokenizer

__all__ = ["Verified", "verify", "verify_counts"]

Progress = Callable[[str, int, int], object]

_CHUNK = 1 << 20
_REMEDY = "copy it again from where it is whole, or encode again with resume=False"


@dataclass(slots=True)
class Verified:
    """The result of a check.

    Attributes:
        path: the file or folder.
        kind: `token shards`, `counts` or `tokenizer`.
        totals: documents, tokens, files and bytes of a data set; the totals of a counts file.
        problems: each with its file and a remedy; none, if all is as it was written.
        uncovered: files that the manifest has no SHA-256 of, as those of old releases.
        leftovers: files that writers left that were killed, or that are being written.
        others: further files, which the manifest does not name.
    """

    path: Place
    kind: str
    totals: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def verify(
    directory: str | os.PathLike[str],
    *,
    tokenizer: "Tokenizer | None" = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Reads every file of a directory of token shards, in any layout, and compares it with the manifest.

    Args:
        directory: what `encode_files` wrote, here or in a store (a URL).
        tokenizer: the expected tokenizer of the ids, if that is to be checked.
        threads: files read at a time; as many as there are cores if not given. The result is the same.
        progress: called with the stage `verify`, and bytes read and in all.

    Raises:
        FileNotFoundError: if there is no such directory.
        OSError: if it cannot be read.
    """
    n_threads = (os.cpu_count() or 1) if threads is None else whole("threads", threads, "at least 1", 1)
    place = place_of(directory)
    if isinstance(place, Path):
        os.scandir(place).close()
    found = Verified(place, "token shards")
    path = place / "manifest.json"
    try:
        manifest = read_manifest(path, any_layout=True)
        files = files_of(path, manifest)
    except FileNotFoundError:
        found.problems.append(
            f"{path}: no such file: the data set is not finished, or was not copied whole; {_REMEDY}"
        )
        return found
    except (FormatError, IsADirectoryError) as error:
        found.problems.append(str(error))
        return found
    if tokenizer is not None and manifest["tokenizer_sha256"] != tokenizer.fingerprint:
        found.problems.append(
            f"{path}: the ids are of the tokenizer {shown(manifest['tokenizer_sha256'])}, not of "
            f"{tokenizer.fingerprint}; name the tokenizer that encoded it, or encode again"
        )
    named = {path.name, *(name for name, _, _ in files)}
    for name in _names(place):
        if name not in named:
            (found.leftovers if name.startswith(PREFIX) else found.others).append(name)
    found.uncovered = [name for name, _, hash_ in files if hash_ is None]
    wrong = _Reader(place, files, progress).problems(n_threads)
    if manifest["layout"] == "sentitok":
        for shard in read_shards(path, manifest):
            for ends_file, opened in ((shard.index_file, open_ends), (shard.rows_file, open_rows)):
                if ends_file is None or {shard.file, ends_file} & wrong.keys():
                    continue
                try:
                    check_ends(place / ends_file, opened(place / ends_file, shard, BlockCache()))
                except (FormatError, OSError) as error:
                    wrong[ends_file] = f"{error}; {_REMEDY}"
    found.problems += [wrong[name] for name in dict.fromkeys(name for name, _, _ in files) if name in wrong]
    sizes = [_size(place / name) for name in sorted(named - wrong.keys())]
    found.totals = {
        "documents": int(manifest["documents"]), "tokens": int(manifest["tokens"]),
        "files": len(named), "bytes": sum(sizes),
    }  # fmt: skip
    return found


def verify_counts(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Verified:
    """Reads a counts file to its end in constant memory: the order of pieces, and that none is missing.

    It is merged into a temporary file as large as itself, in the folder of `TMPDIR`.

    Raises:
        OSError: if it cannot be read, or there is no room for the temporary file.
    """
    path = Path(path)
    found = Verified(path, "counts")
    with tempfile.TemporaryDirectory(prefix="sentitok-verify-") as folder:
        try:
            found.totals = merge_counts([path], Path(folder) / "merged.counts", progress=progress)
        except FormatError as error:
            found.problems.append(f"{error}; count again, or copy it again from where it is whole")
    return found


def sha256_of(path: Place, progress: Callable[[int], object] | None = None) -> str:
    """Returns the SHA-256 of a file, here or in a store.

    Args:
        path: the file.
        progress: called with the bytes of each part that was read.

    Raises:
        FormatError: if it is a pipe or a device.
        OSError: if it cannot be read.
    """
    hash_ = hashlib.sha256()
    for data in _blocks(path):
        hash_.update(data)
        if progress is not None:
            progress(len(data))
    return hash_.hexdigest()


def _blocks(path: Place) -> Iterator[bytes]:
    if isinstance(path, RemotePath):
        yield from path.blocks()
        return
    check_regular(path)
    with open(path, "rb", buffering=0) as file:
        while data := file.read(_CHUNK):
            yield data


def _size(path: Place) -> int:
    if isinstance(path, RemotePath):
        return path.size()
    check_regular(path)
    return path.stat().st_size


def _names(directory: Place) -> list[str]:
    if isinstance(directory, RemotePath):
        return directory.names()
    return sorted(os.listdir(directory))  # noqa: PTH208  # 2026-11-30: names are wanted


class _Reader:
    """Reads files, several at a time, and compares sizes and hashes."""

    def __init__(
        self, directory: Place, files: list[tuple[str, int | None, str | None]], progress: Progress | None
    ) -> None:
        self.directory, self.files, self.progress = directory, files, progress
        self._done = self._total = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def problems(self, threads: int) -> dict[str, str]:
        """Returns the problems, by file."""
        wrong: dict[str, str] = {}
        whole_files = []
        for name, n_bytes, hash_ in self.files:
            path = self.directory / name
            try:
                size = _size(path)
            except FileNotFoundError:
                wrong[name] = f"{path}: no such file, though the manifest names it; {_REMEDY}"
                continue
            except (FormatError, OSError) as error:
                wrong[name] = f"{error}; {_REMEDY}"
                continue
            if n_bytes not in (None, size):
                wrong[name] = f"{path}: {size} bytes, where the manifest says {n_bytes}; {_REMEDY}"
            elif hash_ is not None:
                whole_files.append((path, hash_))
                self._total += size
        with ThreadPoolExecutor(threads, thread_name_prefix="verify") as pool:
            try:
                for (path, expected), found in zip(
                    whole_files, pool.map(self._sha256, [path for path, _ in whole_files]), strict=True
                ):
                    if isinstance(found, OSError):
                        wrong[path.name] = f"{path}: {found.strerror or found}; {_REMEDY}"
                    elif found != expected:
                        wrong[path.name] = f"{path}: SHA-256 {found}, not {shown(expected)}; {_REMEDY}"
            finally:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
        return wrong

    def _sha256(self, path: Place) -> str | OSError:
        if self._stopped.is_set():
            return ""
        try:
            return sha256_of(path, self._read)
        except OSError as error:
            return error

    def _read(self, n_bytes: int) -> None:
        if self._stopped.is_set():
            raise InterruptedError
        with self._lock:
            self._done += n_bytes
            if self.progress is not None:
                self.progress("verify", self._done, self._total)
