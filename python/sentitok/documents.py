"""Documents one by one: for measures, comparisons and samples in Python.

The reading is the extension's, so the formats, limits and messages are those of training: `lines` (each with
its end), `text` (the whole file), `jsonl:FIELD`, `csv:COLUMN`, `tsv:COLUMN`, `parquet:COLUMN`; `-` is stdin.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from . import parquet, remote
from ._sentitok import DocumentBatch, DocumentReader
from .corpus_shards import CorpusShard
from .opening import without_suffix

__all__ = ["Documents", "check_format", "n_bytes"]


def check_format(format: str | None) -> None:
    """Refuses names that are not a format of documents.

    Raises:
        TrainError: if the format is unknown, or names no column.
    """
    if parquet.column_of(format) is None:
        DocumentReader([], format=format)


def n_bytes(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> int:
    """Returns the bytes of the documents of files; 0 where that is known only by reading them.

    Raises:
        OSError: if a file cannot be read.
    """
    total, is_known = 0, True
    for name in remote.expand(paths):
        if name == "-":
            is_known = False
            continue
        if remote.is_url(name):
            size = remote.size(name)
            total += size or 0
            is_known = is_known and bool(size) and without_suffix(name) == name and _is_all_text(name, format)
            continue
        total += Path(name).stat().st_size
        is_plain = Path(name).is_file() and without_suffix(name) == name
        is_known = is_known and is_plain and _is_all_text(name, format)
    return total if is_known else 0


def _is_all_text(name: str, format: str | None) -> bool:
    if format is not None:
        return format in ("lines", "text")
    return not name.lower().endswith((".jsonl", ".ndjson"))


class Documents(Iterator[str]):
    """Documents of files, in order.

    Attributes:
        paths: the files.
        reading: how they are read: arguments of `Documents` by name.
    """

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]] | CorpusShard,
        format: str | None = None,
        *,
        max_line_bytes: int | None = None,
        invalid_utf8: Literal["error", "replace"] = "replace",
    ) -> None:
        """Looks at the files; they are read when documents are asked for.

        Args:
            paths: the files, folders, globs and URLs, or a part of files; gz, xz, bz2 and zst are unpacked,
                `-` is stdin.
            format: the unit of documents; `None` goes by the file's name.
            max_line_bytes: the longest line or row; 2^28 if not given.
            invalid_utf8: whether bytes that are not UTF-8 are an error, or become U+FFFD.

        Raises:
            TrainError: if the format is unknown, or names no column.
            OSError: if a file cannot be read.
        """
        self.paths = [*paths.paths] if isinstance(paths, CorpusShard) else remote.expand(paths)
        source = paths if isinstance(paths, CorpusShard) else [remote.named(path) for path in self.paths]
        column = parquet.column_of(format)
        self._replaced = 0
        self.reading: dict[str, Any] = {
            "format": format,
            "max_line_bytes": max_line_bytes,
            "invalid_utf8": invalid_utf8,
        }
        self._reader: DocumentReader | None = None
        if column is None:
            self._reader = DocumentReader(
                source, format=format, invalid_utf8=invalid_utf8, max_line_bytes=max_line_bytes
            )
            self._batches: Iterator[DocumentBatch | list[str]] = self._reader
        else:
            self._batches = self._of_parquet(source, column, invalid_utf8)
        # The rest of the batch that documents are taken from.
        self._rest: Iterator[str] = iter(())

    def __next__(self) -> str:
        """The next document.

        Raises:
            FormatError: if a record lacks the field, a line is too long, a quote is never closed,
                compressed data are damaged, or a file is not text.
            OSError: if a file cannot be read.
        """
        while True:
            for text in self._rest:
                return text
            self._rest = iter(next(self._batches))

    def batches(self) -> Iterator[DocumentBatch | list[str]]:
        """Yields the documents that were not given yet, many at a time.

        No object is made of those of a `DocumentBatch`, which the extension takes as texts.

        Raises:
            FormatError, OSError: as `__next__`.
        """
        if rest := list(self._rest):
            yield rest
        yield from self._batches

    @property
    def replaced(self) -> int:
        """Invalid parts of UTF-8 that became U+FFFD, so far."""
        return self._replaced + (0 if self._reader is None else self._reader.replaced)

    def add_replaced(self, replaced: int) -> None:
        """Counts invalid parts of UTF-8 that workers replaced in these documents."""
        self._replaced += replaced

    def _of_parquet(
        self,
        source: list[str] | CorpusShard,
        column: str,
        invalid_utf8: str,
    ) -> Iterator[list[str]]:
        if isinstance(source, CorpusShard):
            byte_range = (source.start, source.stop)
            chunks = parquet.chunks(source.paths, column, None, invalid_utf8, byte_range, source.versions)
        else:
            chunks = parquet.chunks(source, column, None, invalid_utf8)
        for chunk in chunks:
            yield [self._text(data) for data in chunk.to_pylist()]

    def _text(self, data: bytes) -> str:
        text = data.decode("utf-8", "replace")
        if "\ufffd" in text:
            self._replaced += text.count("\ufffd") - data.count("\ufffd".encode())
        return text
