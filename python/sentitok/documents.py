"""Reads documents one by one in Python: for samples, comparisons and benches.

Not for training, counting or encoding files, which read in Rust, in blocks and
in parallel. The formats mean the same as there: `lines` (each with its end),
`text` (the whole file), `jsonl:FIELD`, `csv:COLUMN`, `tsv:COLUMN`. Invalid UTF-8
is replaced.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TextIO, cast

from ._sentitok import FormatError

__all__ = ["documents"]

_MAGIC = (
    (b"\x1f\x8b", gzip.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"BZh", bz2.open),
)
_ZSTD = b"\x28\xb5\x2f\xfd"
# The most that csv takes on every system, in characters.
_CSV_FIELD = 2**31 - 1


def _open(path: str | os.PathLike[str]) -> TextIO:
    with open(path, "rb") as file:
        head = file.read(6)
    opener: Callable[..., object] = open
    if head.startswith(_ZSTD):
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise FormatError(
                f"{os.fspath(path)}: Python reads zstd from version 3.14 on; unpack the file first"
            ) from None
        opener = zstd.open
    for magic, found in _MAGIC:
        if head.startswith(magic):
            opener = found
    binary = cast(IO[bytes], opener(path, "rb"))
    # newline="" keeps line ends as they are; utf-8-sig drops a byte order mark.
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace", newline="")


def _lines(file: TextIO) -> Iterator[str]:
    # With newline="" Python would also end a line at a lone carriage return.
    held = ""
    for part in file:
        held += part
        if held.endswith("\n"):
            yield held
            held = ""
    if held:
        yield held


def _fields(rows: Iterator[dict[str, object]], field: str, path: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        if None in row:  # where `csv` puts what no column is left for
            raise FormatError(
                f"{path}: record {number} is longer than the header; quote fields with separators"
            )
        value = row.get(field)
        if not isinstance(value, str):
            raise FormatError(f"{path}: record {number} has no text in {field!r}; it has {', '.join(row)}")
        yield value


def _format_of(path: str) -> str:
    name = path.lower()
    for suffix in (".gz", ".xz", ".bz2", ".zst"):
        name = name.removesuffix(suffix)
    if name.endswith((".csv", ".tsv")):
        return name[-3:]
    return "jsonl:text" if name.endswith((".jsonl", ".ndjson")) else "lines"


def documents(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> Iterator[str]:
    """Yields the documents of files, in order.

    Args:
        paths: the files; gz, xz and bz2 are unpacked.
        format: `lines`, `text`, `jsonl:FIELD`, `csv:COLUMN` or `tsv:COLUMN`;
            `None` goes by the file's name.

    Raises:
        FormatError: if the format is unknown, a record lacks the field, or
            compressed data are damaged.
        OSError: if a file cannot be read.
    """
    for path in paths:
        name = os.fspath(path)
        with _open(path) as file:
            found = _read(file, name, format or _format_of(name))
            while True:
                try:
                    document = next(found)
                except StopIteration:
                    break
                except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
                    raise FormatError(
                        f"{name}: damaged or truncated compressed data ({error}); get the file again"
                    ) from None
                yield document


def _read(file: TextIO, name: str, format: str) -> Iterator[str]:
    kind, _, field = format.partition(":")
    if kind == "lines":
        yield from _lines(file)
    elif kind == "text":
        yield file.read()
    elif kind == "jsonl":
        yield from _fields(_json_lines(file, name), field or "text", name)
    elif kind in ("csv", "tsv"):
        if not field:
            raise FormatError(f"{name}: which column? Give the format as {kind}:COLUMN")
        # A text may be longer than the 128 KiB that csv allows a field.
        csv.field_size_limit(max(csv.field_size_limit(), _CSV_FIELD))
        reader = csv.DictReader(file, delimiter="," if kind == "csv" else "\t")
        yield from _fields(cast(Iterator[dict[str, object]], reader), field, name)
    else:
        raise FormatError(f"format {kind!r} is unknown: lines, text, jsonl:FIELD, csv:COLUMN or tsv:COLUMN")


def _json_lines(file: TextIO, name: str) -> Iterator[dict[str, object]]:
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{name}, line {number}: {error}") from None
        if not isinstance(row, dict):
            raise FormatError(f"{name}, line {number}: expected a JSON object")
        yield row
