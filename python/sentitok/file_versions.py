"""`file_versions` and `check_version`: whether a file is what it was when its shards were planned.

A file is taken as unchanged if its size and time of modification are. Readers of shards and their planner
share this, and the extension does the same (`rust/corpus/byte_range.rs`).
"""

import os
from collections.abc import Sequence
from pathlib import Path

from . import remote
from ._sentitok import FormatError

__all__ = ["check_version", "file_version", "file_versions"]


def file_version(path: str | os.PathLike[str]) -> tuple[int, str]:
    """Returns the size of a file and a mark that changes with its content.

    The mark is the time of modification in nanoseconds; of a URL what its store says, such as an ETag.

    Raises:
        ModuleNotFoundError: if a package is missing that a URL needs.
        OSError: if the file cannot be read.
    """
    if remote.is_url(path):
        return remote.version(path)
    found = Path(path).stat()
    return found.st_size, str(found.st_mtime_ns)


def file_versions(paths: Sequence[str]) -> list[tuple[int, str]]:
    """Returns the version of each file, as `file_version` does; stores are asked for several at a time.

    Raises:
        ModuleNotFoundError, OSError: as `file_version`.
    """
    if any(map(remote.is_url, paths)):
        return remote.at_once(file_version, paths)
    return [*map(file_version, paths)]


def check_version(path: str | os.PathLike[str], version: tuple[int, str]) -> None:
    """Refuses a file that is not what it was.

    Args:
        path: the file.
        version: what `file_version` returned for it.

    Raises:
        FormatError: if the size or the time of modification is another.
        OSError: if the file cannot be read.
    """
    found = file_version(path)
    if found == version:
        return
    same_size = found[0] == version[0]
    how = "it was modified" if same_size else f"it had {version[0]} bytes and has {found[0]}"
    raise FormatError(
        f"{remote.shown(path)}: the file has changed since shards were planned: {how}; plan the shards again"
    )
