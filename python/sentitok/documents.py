"""Reads documents one by one in Python: for samples, comparisons and benches.

Not for training, counting or encoding files, which read in Rust, in blocks and
in parallel. The formats mean the same as there: `lines` (each with its end),
`text` (the whole file), `jsonl:FIELD`, `csv:COLUMN`, `tsv:COLUMN`. Invalid UTF-8
is replaced.
"""

import io
import json
import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from ._sentitok import FormatError
from .messages import shown, told
from .opening import is_damage, unpacked, without_suffix
from .rows import MAX_LINE, lines, separated, whole

__all__ = ["check_format", "documents", "n_bytes"]


def check_format(format: str | None) -> None:
    """Refuses what is no format of documents.

    Raises:
        FormatError: if the format is unknown, or names no column.
    """
    kind, _, field = (format or "lines").partition(":")
    if kind not in ("lines", "text", "jsonl", "csv", "tsv"):
        raise FormatError(
            f"format {shown(kind)} is unknown: lines, text, jsonl:FIELD, csv:COLUMN or tsv:COLUMN"
        )
    if kind in ("csv", "tsv") and not field:
        raise FormatError(f"which column? Give the format as {kind}:COLUMN")


def n_bytes(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> int:
    """Returns the bytes of the documents of files; 0 where that is known only by reading them.

    Raises:
        OSError: if a file cannot be read.
    """
    total, is_known = 0, True
    for path in paths:
        name = os.fspath(path)
        total += Path(name).stat().st_size
        kind = (format or _format_of(name)).partition(":")[0]
        is_plain = Path(name).is_file() and without_suffix(name) == name
        is_known = is_known and is_plain and kind in ("lines", "text")
    return total if is_known else 0


def _open(path: str | os.PathLike[str], newline: str) -> TextIO:
    file = open(path, "rb")  # noqa: SIM115  (it lives as long as what is returned)
    try:
        # utf-8-sig drops a byte order mark.
        return io.TextIOWrapper(
            unpacked(file, os.fspath(path)), encoding="utf-8-sig", errors="replace", newline=newline
        )
    except BaseException:
        file.close()
        raise


def _field(row: dict[str, object], field: str, path: str, number: int) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        raise FormatError(
            f"{path}: record {number} has no text in {shown(field)}; it has {told(', '.join(row))}"
        )
    return value


def _columns(file: TextIO, path: str, delimiter: str, column: str, limit: int) -> Iterator[str]:
    rows = (row for _, row in separated(file, path, delimiter, limit=limit) if row)
    header = next(rows, [])
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise FormatError(
                f"{path}: record {number} is longer than the header; quote fields with separators"
            )
        yield _field(dict(zip(header, row, strict=False)), column, path, number)


def _format_of(path: str) -> str:
    name = without_suffix(path.lower())
    if name.endswith((".csv", ".tsv")):
        return name[-3:]
    return "jsonl:text" if name.endswith((".jsonl", ".ndjson")) else "lines"


def documents(
    paths: Iterable[str | os.PathLike[str]],
    format: str | None = None,
    *,
    max_line_bytes: int | None = None,
) -> Iterator[str]:
    """Yields the documents of files, in order.

    Args:
        paths: the files; gz, xz, bz2 and zst are unpacked.
        format: `lines`, `text`, `jsonl:FIELD`, `csv:COLUMN` or `tsv:COLUMN`;
            `None` goes by the file's name.
        max_line_bytes: the longest line or row, here in characters; 2^28 if not given.

    Raises:
        FormatError: if the format is unknown, a record lacks the field, a line is
            too long, a quote is never closed, or compressed data are damaged.
        OSError: if a file cannot be read.
    """
    for path in paths:
        name = os.fspath(path)
        kind = format or _format_of(name)
        limit = MAX_LINE if max_line_bytes is None else max_line_bytes
        # `csv` finds the line ends itself; elsewhere LF alone ends a line, as in the extension.
        with _open(path, "" if kind.startswith(("csv", "tsv")) else "\n") as file:
            found = _read(file, name, kind, limit)
            while True:
                try:
                    document = next(found)
                except StopIteration:
                    break
                except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                    if not is_damage(error):
                        raise
                    raise FormatError(
                        f"{name}: damaged or truncated compressed data ({error}); get the file again"
                    ) from None
                yield document


def _read(file: TextIO, name: str, format: str, limit: int) -> Iterator[str]:
    kind, _, field = format.partition(":")
    if kind == "lines":
        yield from lines(file, name, limit)
    elif kind == "text":
        # What lies on the disk is as large as it looks; what is unpacked or piped is not.
        yield whole(file, name, max(limit, Path(name).stat().st_size))
    elif kind == "jsonl":
        for number, row in enumerate(_json_lines(file, name, limit), 1):
            yield row if isinstance(row, str) else _field(row, field or "text", name, number)
    elif kind in ("csv", "tsv") and not field:
        raise FormatError(f"{name}: which column? Give the format as {kind}:COLUMN")
    elif kind in ("csv", "tsv"):
        yield from _columns(file, name, "," if kind == "csv" else "\t", field, limit)
    else:
        check_format(format)


def _json_lines(file: TextIO, name: str, limit: int) -> Iterator[dict[str, object] | str]:
    for number, line in enumerate(lines(file, name, limit), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{name}, line {number}: {error}") from None
        if not isinstance(row, (dict, str)):
            raise FormatError(f"{name}, line {number}: expected a JSON object or a string")
        yield row
