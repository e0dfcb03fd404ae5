"""`chunks`: a column of Parquet files as Arrow arrays, row group by row group.

The extension reads Parquet through this, and so does `documents.py`. pyarrow does the reading; it is imported
when it is needed. Memory is that of a batch of rows and of a page of the column, whatever the file's size.
"""

import errno
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from . import remote
from ._sentitok import FormatError, TrainError
from .file_versions import check_version
from .messages import shortened, shown

__all__ = ["chunks", "column_of", "cut_file", "damage"]

# Rows decoded at a time, and about how many bytes of text.
_ROWS = 1 << 14
_BYTES = 1 << 22
# Bytes of a file that are read at a time.
_BUFFER = 1 << 20


def column_of(format: str | None) -> str | None:
    """Returns the column of Parquet that a format names; `None` if it names another format."""
    kind, _, column = (format or "").partition(":")
    return column if kind == "parquet" and column else None


def chunks(
    paths: Iterable[str | os.PathLike[str]],
    column: str,
    shard: tuple[int, int] | None = None,
    invalid_utf8: str = "error",
    byte_range: tuple[int, int] | None = None,
    versions: Sequence[tuple[int, str]] | None = None,
) -> Iterator[Any]:
    """Yields the rows of a column as `pyarrow.LargeBinaryArray`, in order.

    All files are looked at before the first row is given.

    Args:
        paths: the files; folders, globs and URLs too.
        column: its name; strings, binary, or categories of these.
        shard: `(index, count)`: the row groups that begin in this part of the files' bytes.
        invalid_utf8: with `"error"`, bytes that are not UTF-8 are an error.
        byte_range: the row groups that begin in these bytes, counted over the files end to end.
        versions: the expected version of each file, as of `sentitok.file_versions.file_version`; a file that
            is another is an error.

    Raises:
        FormatError: if a file is not Parquet, lacks the column, holds null or something else than
            text there, or invalid UTF-8, or is another version.
        ModuleNotFoundError: without pyarrow.
        OSError: if a file cannot be read.
        TrainError: if a shard and a range are both given.
    """
    if shard is not None and byte_range is not None:
        raise TrainError("shard = given: the files are part of a corpus already; give one of both")
    # The files of a range are as they were planned, without folders and globs.
    files = remote.expand(paths) if byte_range is None else paths
    names = [remote.named(path) for path in files]
    for place, name in enumerate(names):
        if versions:
            check_version(name, versions[place])
        _check(name, column)
    sizes = [size for size, _ in versions] if versions else [_size(name) for name in names]
    total, before = sum(sizes), 0
    index, count = shard or (0, 1)
    start, stop = byte_range or (total * index // count, total * (index + 1) // count)
    for place, (name, size) in enumerate(zip(names, sizes, strict=True)):
        # Both ends as offsets in the file. A file without bytes in the range is not opened.
        if start < before + size and before < stop:
            yield from _rows(name, column, range(start - before, stop - before), invalid_utf8)
            if versions:
                check_version(name, versions[place])
        before += size


def _size(name: str) -> int:
    return remote.size(name) or 0 if remote.is_url(name) else Path(name).stat().st_size


def cut_file(path: str, column: str, part_bytes: int) -> list[int]:
    """Returns where the parts of a file begin, from 0: at row groups, about `part_bytes` apart.

    Raises:
        FormatError, ModuleNotFoundError, OSError: as `chunks`.
    """
    _check(path, column)
    size = _size(path)
    n_parts = -(-size // part_bytes)
    with _open(path) as file:
        begins = [
            begin
            for begin, group in zip(_begins(_column_chunks(file, path, column)), _groups(file), strict=True)
            if group.num_rows
        ]
    cuts = [0]
    for part in range(1, n_parts):
        at = size * part // n_parts
        cut = next((begin for begin in begins[1:] if begin >= at), size)
        if cuts[-1] < cut < size:
            cuts.append(cut)
    return cuts


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Parquet needs pyarrow; install it: pip install "sentitok[arrow]"'
        ) from error
    return pyarrow, pyarrow.parquet


def damage(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Returns what pyarrow raises for a damaged file, besides `OSError`; names in it may be no UTF-8."""
    arrow, _ = _pyarrow()
    return arrow.ArrowInvalid, arrow.ArrowNotImplementedError, arrow.ArrowTypeError, UnicodeDecodeError, *more


def _open(name: str) -> Any:
    _, parquet = _pyarrow()
    if remote.is_url(name):
        source: Any = remote.InputStream(name)
        try:
            return parquet.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
        except damage() as error:
            raise FormatError(f"{name}: no Parquet file, or a damaged one ({_reason(error)})") from None
    if Path(name).is_dir():
        reason = "is a directory; name the files in it, such as DIR/*.parquet"
        raise IsADirectoryError(errno.EISDIR, reason, name)
    if name == "-" or (Path(name).exists() and not Path(name).is_file()):
        raise FormatError(f"{name}: Parquet is read from its end, so it must be a file; write it to one")
    # Python's own error of a file that is missing or may not be read.
    with open(name, "rb"):
        pass
    try:
        # Not buffered ahead, which would hold the column of a whole row group.
        return parquet.ParquetFile(name, buffer_size=_BUFFER, pre_buffer=False)
    except damage() as error:
        raise FormatError(f"{name}: no Parquet file, or a damaged one ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    """The message of pyarrow, on one line."""
    return shortened(" ".join(str(error).split()))


def _check(name: str, column: str) -> None:
    arrow, _ = _pyarrow()
    with _open(name) as file:
        try:
            schema = file.schema_arrow
        except damage() as error:
            raise _damaged(name, error) from None
    if schema.names.count(column) != 1:
        names = ", ".join(map(repr, schema.names))
        what = f"no column {shown(column)}" if column not in schema.names else f"two columns {shown(column)}"
        raise FormatError(f"{name}: {what}; the columns are {shortened(names)}")
    kind = schema.field(column).type
    inner = kind.value_type if arrow.types.is_dictionary(kind) else kind
    kinds = arrow.types
    is_text = (
        kinds.is_string(inner) or kinds.is_large_string(inner)
        or kinds.is_binary(inner) or kinds.is_large_binary(inner)
        or kinds.is_fixed_size_binary(inner) or kinds.is_string_view(inner) or kinds.is_binary_view(inner)
    )  # fmt: skip
    if not is_text:
        raise FormatError(f"{name}: column {shown(column)} is of {kind}; a column of text is one of strings")


def _rows(name: str, column: str, part: range, invalid_utf8: str) -> Iterator[Any]:
    """The rows of the row groups that begin in these bytes of a file."""
    arrow, _ = _pyarrow()
    with _open(name) as file:
        row = 0
        found = _column_chunks(file, name, column)
        for group, (begin, row_group) in enumerate(zip(_begins(found), _groups(file), strict=True)):
            if row_group.num_rows and begin in part:
                number = row
                rows = min(_ROWS, max(1, _BYTES * row_group.num_rows // max(1, found[group][1])))
                for batch in _batches(file, name, group, column, rows):
                    array = batch.column(0)
                    if arrow.types.is_dictionary(array.type):
                        array = array.dictionary_decode()
                    array = array.cast(arrow.large_binary())
                    _refuse_null(array, name, column, number)
                    if invalid_utf8 == "error":
                        _refuse_invalid(array, name, column, number)
                    yield array
                    number += len(array)
            row += row_group.num_rows


def _groups(file: Any) -> list[Any]:
    return [file.metadata.row_group(group) for group in range(file.num_row_groups)]


def _begins(found: list[tuple[int, int]]) -> list[int]:
    """Where each row group begins; in order, so that parts of the file are in order, too."""
    return [*accumulate((begin for begin, _ in found), max)]


def _column_chunks(file: Any, name: str, column: str) -> list[tuple[int, int]]:
    """Where a column begins in each row group, and how many bytes it has there.

    pyarrow 26 ends the process if it is asked for the place of a column whose statistics are damaged. A
    reader with the same metadata raises an error, so one is made first. It gets a file that cannot be read,
    because it needs no byte of it.
    """
    _, parquet = _pyarrow()
    schema = file.schema
    leaf = next(at for at in range(len(schema)) if schema.column(at).path == column)
    found = []
    with parquet.ParquetFile(_Unreadable(), metadata=file.metadata, pre_buffer=False) as reader:
        for group, about in enumerate(_groups(file)):
            try:
                next(reader.iter_batches(1, row_groups=[group], columns=[column]), None)
            except _ReadError:
                pass
            except damage(OSError) as error:
                raise _damaged(name, error) from None
            chunk = about.column(leaf)
            places = [
                place
                for place in (chunk.dictionary_page_offset, chunk.data_page_offset)
                if place is not None and place > 0
            ]
            found.append((min(places, default=0), chunk.total_uncompressed_size))
    return found


class _ReadError(Exception):
    pass


class _Unreadable(io.RawIOBase):
    """A file of any size whose bytes cannot be read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, _: int = 0, /) -> int:
        return offset

    def tell(self) -> int:
        return 1 << 62

    def read(self, _: int = -1, /) -> bytes:
        raise _ReadError


def _batches(file: Any, name: str, group: int, column: str, rows: int) -> Iterator[Any]:
    batches: Iterator[Any] | None = None
    while True:
        try:
            if batches is None:
                batches = file.iter_batches(rows, row_groups=[group], columns=[column])
            batch = next(batches, None)
        except damage(OSError) as error:
            if getattr(error, "filename", None) is not None:  # of the store, not of pyarrow
                raise
            raise _damaged(name, error) from None
        if batch is None:
            return
        yield batch


def _damaged(name: str, error: Exception) -> FormatError:
    return FormatError(f"{name}: damaged Parquet ({_reason(error)}); get the file again")


def _refuse_null(array: Any, name: str, column: str, before: int) -> None:
    if array.null_count:
        row = before + array.is_null().index(True).as_py() + 1
        raise FormatError(
            f"{name}: row {row} of column {shown(column)} is null, not a text; "
            "drop or fill missing values first"
        )


def _refuse_invalid(array: Any, name: str, column: str, before: int) -> None:
    arrow, _ = _pyarrow()
    try:
        array.cast(arrow.large_string())
    except arrow.ArrowInvalid:
        for number, data in enumerate(array.to_pylist(), before + 1):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise FormatError(
                    f"{name}: row {number} of column {shown(column)}: invalid UTF-8 at byte {error.start}; "
                    "pass invalid_utf8='replace' or 'bytes' to continue"
                ) from None
        raise
