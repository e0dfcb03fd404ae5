"""Lines and rows of text files, none of them without an end.

Not for what a row means. `csv` takes a quote that never closes for a field that goes
on to the end of the file, and a line may be as long as the file, or have no end at
all: here the one is an error that says where the quote opens, the other one that
names the limit.
"""

import csv
from collections.abc import Iterator
from typing import IO

from ._sentitok import FormatError

__all__ = ["MAX_LINE", "lines", "separated"]

# The longest line or row in bytes of UTF-8 when no limit is named.
MAX_LINE = 1 << 28
# The most that csv takes on every system, in characters.
_CSV_FIELD = 2**31 - 1
_REMEDY = "divide it, check the format, or raise max_line_bytes (--max-line-bytes)"


def lines(file: IO[str], name: str, limit: int = MAX_LINE) -> Iterator[str]:
    """Yields lines as the file ends them, with their ends.

    Args:
        file: the text.
        name: of the file, for messages.
        limit: the longest line, in bytes of UTF-8.

    Raises:
        FormatError: naming the first line that is longer than `limit`.
    """
    number = 1
    while line := file.readline(limit + 1):
        if len(line) * 4 > limit and _n_bytes(line, limit) > limit:
            raise FormatError(f"{name}, line {number}: {_too_long('line', limit)}")
        yield line
        number += 1


def _n_bytes(line: str, limit: int) -> int:
    """Returns how long a line is in UTF-8; only about where it is far below the limit."""
    # A character takes four bytes at most.
    return len(line) if len(line) * 4 <= limit or len(line) > limit else len(line.encode("utf-8", "replace"))


def _too_long(what: str, limit: int) -> str:
    return f"the {what} is longer than {limit} bytes, the most that is held at once; {_REMEDY}"


def separated(
    file: IO[str],
    name: str,
    delimiter: str,
    *,
    strict: bool = False,
    limit: int = MAX_LINE,
) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows of a table, each with the line it begins on.

    Args:
        file: opened with `newline=""`.
        name: of the file, for messages.
        delimiter: a comma or a tab.
        strict: refuse characters between the quote that ends a field and the delimiter.
        limit: the longest row, in bytes of UTF-8.

    Raises:
        FormatError: if a quote is never closed, or only some lines below with text behind
            it, or a row is longer than `limit`.
    """
    # The lines of the row that is being read: if the file ends in it, they tell where.
    held: list[str] = []
    ended = False
    number = 1

    def given() -> Iterator[str]:
        nonlocal ended
        n_bytes = 0
        for line in lines(file, name, limit):
            size = _n_bytes(line, limit)
            n_bytes = size if not held else n_bytes + size
            if n_bytes > limit:
                raise FormatError(f"{name}, line {number}: {_too_long('row', limit)}")
            held.append(line)
            yield line
        ended = True

    before = csv.field_size_limit()
    csv.field_size_limit(max(before, _CSV_FIELD))
    reader = csv.reader(given(), delimiter=delimiter, strict=strict)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            _refuse_open_quote(held, delimiter, name, number, ended)
            raise FormatError(f"{name}, line {reader.line_num}: {error}") from None
        _refuse_open_quote(held, delimiter, name, number, ended)
        if len(held) > 1:
            _refuse_stray_quote(held, delimiter, name, number)
        yield number, row
        held.clear()
        number = reader.line_num + 1


def _refuse_stray_quote(held: list[str], delimiter: str, name: str, number: int) -> None:
    """Refuses a row of several lines in which text stands behind a closing quote."""
    try:
        list(csv.reader(held, delimiter=delimiter, strict=True))
    except csv.Error:
        raise FormatError(
            f"{name}, line {number}: a quote in this row closes some lines below with text behind it; "
            "close it on its line, or write a quote that is text twice in a quoted field"
        ) from None


def _refuse_open_quote(held: list[str], delimiter: str, name: str, number: int, ended: bool) -> None:
    """Refuses a row that only the end of the file ended."""
    if not ended:
        return
    opened = _open_quote("".join(held), delimiter)
    if opened is not None:
        for line in held:
            if opened < len(line):
                break
            number, opened = number + 1, opened - len(line)
        raise FormatError(
            f"{name}, line {number}: the quote that opens here is never closed; "
            "close it, or write a quote that is text twice in a quoted field"
        )


def _open_quote(row: str, delimiter: str) -> int | None:
    """Where in a row the quote stands that it leaves open."""
    at = 0
    while at < len(row):
        if row[at] == '"':
            # A quoted field: to the quote that is not one of two.
            opened, at = at, at + 1
            while True:
                end = row.find('"', at)
                if end < 0:
                    return opened
                at = end + 1
                if row[at : at + 1] != '"':
                    break
                at += 1
        places = [place for place in (row.find(c, at) for c in (delimiter, "\n", "\r")) if place >= 0]
        if not places:
            return None
        at = min(places) + 1
    return None
