"""`plan_shards`: divides files into shards, which `count`, `encode_files` and `Documents` read.

Each document is in exactly one shard, and the shards in order have the documents of the files in order. So
the counts of all shards add up to the counts of the files, wherever the shards were read. A shard is plain
data: it can be pickled, or written as JSON.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from . import parquet, remote
from ._sentitok import DocumentReader, cut_file
from .file_versions import check_version, file_versions
from .numbers import whole

__all__ = ["CorpusShard", "plan_shards"]

# The size on disk of a shard of Parquet files whose counts a checkpoint of training keeps together.
CHECKPOINT_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, repr=False)
class CorpusShard:
    """A part of files: the units that begin in a range of their bytes.

    A unit is a line of a text or JSON Lines file, a row of CSV or TSV, a row group of Parquet, or a whole
    file if it is compressed or of the format `text`.

    Attributes:
        paths: the files.
        start: the first byte of the range, counted over the files end to end as they are on disk.
        stop: the end of the range. A range that reaches the end of the files has all that is left of them.
        versions: the expected version of each file, as of `sentitok.file_versions.file_version`; a file that
            is another is an error. `None` checks nothing.
        is_aligned: whether units begin at both ends, as in the shards of `plan_shards`. Otherwise they are
            searched for, and the quotes of a CSV file are followed from its start.
    """

    paths: tuple[str, ...]
    start: int
    stop: int
    versions: tuple[tuple[int, str], ...] | None = None
    is_aligned: bool = False

    def __repr__(self) -> str:
        """Names the files without credentials of URLs."""
        names = tuple(map(remote.shown, self.paths))
        return f"CorpusShard({names!r}, {self.start}, {self.stop}, {self.versions!r}, {self.is_aligned})"


def plan_shards(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    shard_bytes: int,
    *,
    format: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[CorpusShard]:
    """Divides files into shards of about equal size.

    Small files are put together while they fit. A larger file is cut between units; one that cannot be cut is
    a shard alone. Only large files are opened, and only the quotes of CSV and TSV files are read up to the
    last cut. The shards depend on the files, the format and `shard_bytes`, and on nothing else.

    Args:
        paths: the files, folders, globs and URLs, in order.
        shard_bytes: the size of a shard on disk; its last unit may make it longer.
        format: the unit of documents; `None` goes by the names of the files.
        progress: called as `progress("plan", bytes, total)` while a file is read.

    Raises:
        FormatError: if a large file is not of its format.
        TrainError: if the format is unknown, or a file is a pipe.
        OSError: if a file cannot be read.
    """
    size_limit = whole("shard_bytes", shard_bytes, "1 or more, such as 268435456", least=1)
    names = remote.expand([paths] if isinstance(paths, str | os.PathLike) else paths)
    return [*_packed(names, size_limit, format, progress)]


def _packed(
    names: list[str], shard_bytes: int, format: str | None, progress: Callable[[str, int, int], None] | None
) -> Iterator[CorpusShard]:
    column = parquet.column_of(format)
    if column is None:
        # Refuses formats, folders and pipes.
        DocumentReader(CorpusShard(tuple(names), 0, 0), format=format)
    # Whole files that make a shard together, and their size.
    group: list[tuple[str, tuple[int, str]]] = []
    group_bytes = 0
    for name, version in zip(names, file_versions(names), strict=True):
        size = version[0]
        if group and group_bytes + size > shard_bytes:
            yield _of_files(group)
            group, group_bytes = [], 0
        if size <= shard_bytes:
            group.append((name, version))
            group_bytes += size
            continue
        if column is None:
            cuts = cut_file(remote.named(name), shard_bytes, format=format, progress=progress)
            if progress is not None:  # nothing is read after the last cut
                progress("plan", size, size)
        else:
            cuts = parquet.cut_file(remote.named(name), column, shard_bytes)
        check_version(name, version)
        for start, stop in zip(cuts, [*cuts[1:], size], strict=True):
            yield CorpusShard((name,), start, stop, (version,), True)
    if group:
        yield _of_files(group)


def _of_files(files: list[tuple[str, tuple[int, str]]]) -> CorpusShard:
    """The shard of whole files, given with their versions."""
    names, versions = zip(*files, strict=True)
    return CorpusShard(names, 0, sum(size for size, _ in versions), versions, True)
