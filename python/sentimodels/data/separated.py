"""Reads CSV, TSV and other separated text: pandas parses blocks of whole rows.

A *skeleton* is a block in which every quoted cell is masked, so its line ends are ends of rows and its
separators stand between cells. It shows what pandas would hide: a quote that never closes, text behind a
closing quote, and rows with too few or too many cells. All three are errors with their place.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import DataError

__all__ = [
    "MASK",
    "Block",
    "Place",
    "Readable",
    "blocks",
    "check_counts",
    "is_quoted",
    "parsed",
    "rows_within_cells",
    "shown",
    "whole_rows",
]

# Characters read at a time; a block is cut behind its last whole row.
_CHARS = 1 << 20
MASK = "\x1a"
_CLOSED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_REMEDY = "write a quote that is text twice, inside a quoted cell"


class Readable(Protocol):
    """A text that is read in pieces."""

    def read(self, n: int, /) -> str:
        """Returns about so many characters; none at the end."""
        ...


@dataclass(frozen=True)
class Place:
    """Where in a file something stands: line and column (in characters) from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True)
class Block:
    """Whole rows of a file.

    Attributes:
        text: the rows.
        skeleton: of the same length, without quoted cells; every row ends in LF.
        line: the line of the file that the block begins on.
        separator: between cells.
        quoted: whether cells may be quoted.
    """

    text: str
    skeleton: str
    line: int
    separator: str
    quoted: bool

    @cached_property
    def rows(self) -> list[str]:
        """The skeletons of the rows, blank lines included."""
        rows = self.skeleton.split("\n")
        if not rows[-1]:
            rows.pop()
        return rows

    def blank(self, row: str) -> bool:
        """Whether a line holds nothing but blanks: it is no row."""
        return not row.strip(" \r" if self.separator == "\t" else " \t\r")

    def place(self, at: int) -> Place:
        """Returns the place of a character of the block."""
        before = _plain_ends(self.text[:at])
        return Place(self.line + before.count("\n"), at - (before.rfind("\n") + 1) + 1)

    def offset(self, row: int) -> int:
        """Returns where a row begins; blank lines are not counted."""
        at = 0
        for line in self.rows:
            if not self.blank(line):
                if row == 0:
                    return at
                row -= 1
            at += len(line) + 1
        return at

    def line_of(self, row: int) -> int:
        """Returns the line that a row begins on; blank lines are not counted."""
        return self.place(self.offset(row)).line

    def without_first_row(self) -> "Block":
        """Returns what follows the first row."""
        end = self.skeleton.find("\n", self.offset(0)) + 1 or len(self.skeleton)
        return Block(self.text[end:], self.skeleton[end:], self.place(end).line, self.separator, self.quoted)

    def cells(self) -> Iterator[list[str]]:
        """Yields the rows, parsed one by one: for the few that tell what a file is."""
        at = 0
        for line in self.rows:
            if not self.blank(line):
                yield [
                    cell[1:-1].replace('""', '"') if is_quoted(cell, mask) else cell
                    for cell, mask in self.written_cells(at, line)
                ]
            at += len(line) + 1

    def written_cells(self, at: int, line: str) -> Iterator[tuple[str, str]]:
        """Yields the cells of the row that begins at `at`, as the file writes them, with their masks."""
        for mask in line.removesuffix("\r").split(self.separator):
            yield self.text[at : at + len(mask)], mask
            at += len(mask) + 1


def is_quoted(cell: str, mask: str) -> bool:
    """Whether a cell is quoted, by what the file writes and its mask."""
    return cell.startswith('"') and mask.startswith(MASK)


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


def _skeleton(text: str, separator: str, quoted: bool) -> tuple[str, int | None]:
    """Returns the skeleton of a text, and where a quote opens that does not close a cell."""
    opened: int | None = None
    skeleton = text
    if quoted and '"' in text:
        ends = {separator, "\r", "\n"}
        skeleton, opened = _masked(text, ends) or _masked_by_cell(text, ends)
    # A row may end in CR LF; CR stays before LF, so that both texts are of one length.
    if "\r" in skeleton:
        skeleton = re.sub(r"\r(?!\n)", "\n", skeleton)
    return skeleton, opened


def _masked(text: str, ends: set[str]) -> tuple[str, int | None] | None:
    """Masks the quoted cells of a text in which every quote opens or closes a cell, or is doubled in one.

    Such is nearly every file; of another text it returns `None`. Only the characters around quotes are looked
    at: a doubled quote closes a cell and opens it again.
    """
    codec, kind = ("ascii", np.uint8) if text.isascii() else ("utf-32-le", np.uint32)
    codes = np.frombuffer(text.encode(codec, "surrogatepass"), kind)
    quotes = np.flatnonzero(codes == ord('"'))
    opens, closes = quotes[::2], quotes[1::2]
    edges = np.array([ord(end) for end in ends], kind)
    framed = np.pad(codes, 1, constant_values=edges[0])  # where the text begins and ends, a cell does
    opened: int | None = None
    if len(opens) > len(closes):  # the end of the text cuts a cell
        opened, opens = int(opens[-1]), opens[:-1]
        if framed[opened] not in edges:
            return None
    edges = np.append(edges, np.array(ord('"'), kind))
    if not (np.isin(framed[opens], edges).all() and np.isin(framed[closes + 2], edges).all()):
        return None
    bounds = np.empty(2 * len(opens) + 2, np.int64)
    bounds[0], bounds[-1] = 0, len(codes)
    bounds[1:-1:2], bounds[2:-1:2] = opens, closes + 1
    inside = np.repeat((np.arange(len(bounds) - 1) & 1).astype(np.bool_), np.diff(bounds))
    return np.where(inside, kind(ord(MASK)), codes).tobytes().decode(codec, "surrogatepass"), opened


def _masked_by_cell(text: str, ends: set[str]) -> tuple[str, int | None]:
    opened: int | None = None
    pieces: list[str] = []
    done, at = 0, text.find('"')
    while at >= 0:
        if at and text[at - 1] not in ends:  # a quote within a cell is text
            at = text.find('"', at + 1)
            continue
        match = _CLOSED.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] not in ends):
            opened = at
            break
        pieces += (text[done:at], MASK * (match.end() - at))
        done = match.end()
        at = text.find('"', done)
    return "".join([*pieces, text[done:]]), opened


def blocks(
    stream: Readable, path: Path, separator: str, *, quoted: bool, limit: int, chars: int = _CHARS
) -> Iterator[Block]:
    """Yields the rows of a text in blocks.

    Args:
        stream: the text, its line ends as they are.
        path: for messages.
        separator: between cells.
        quoted: whether cells may be quoted, as in CSV; otherwise a quote is text.
        limit: the longest row, in bytes of UTF-8.
        chars: how many characters are read at a time.

    Raises:
        DataError: if a quote does not close or has text behind it, or a row is longer than `limit`.
    """
    rest, line, ended = "", 1, False
    while not ended:
        # As much as is left over, so that a row of any length is looked at a few times only.
        some = stream.read(max(chars, len(rest)))
        ended = not some
        text = rest + some
        if text.endswith("\r") and not ended:  # LF may follow
            more = stream.read(1)
            text, ended = text + more, not more
        block = whole_rows(text, path, separator, quoted=quoted, ended=ended, line=line)
        _check_length(path, block, limit)
        if block.text:
            yield block
            line += _plain_ends(block.text).count("\n")
        rest = text[len(block.text) :]
        if len(rest) * 4 > limit and len(rest.encode("utf-8", "replace")) > limit:
            _refuse_length(path, Place(line, 1), limit)


def whole_rows(text: str, path: Path, separator: str, *, quoted: bool, ended: bool, line: int = 1) -> Block:
    """Returns the rows of a text up to its last whole one.

    Args:
        text: begins with a row.
        path: for messages.
        separator: between cells.
        quoted: whether cells may be quoted.
        ended: whether the file ends with the text.
        line: the line of the file that the text begins on.

    Raises:
        DataError: if a quote does not close or has text behind it.
    """
    skeleton, opened = _skeleton(text, separator, quoted)
    end = len(text) if ended else skeleton.rfind("\n") + 1
    if opened is not None:
        if ended or _closes(text, opened):
            _refuse_quote(path, Block(text, skeleton, line, separator, quoted), opened)
        end = skeleton.rfind("\n", 0, opened) + 1
    return Block(text[:end], skeleton[:end], line, separator, quoted)


def _closes(text: str, at: int) -> bool:
    """Whether the quote at a place closes with text behind it."""
    match = _CLOSED.match(text, at)
    return match is not None and match.end() < len(text)


def _refuse_quote(path: Path, block: Block, at: int) -> None:
    match = _CLOSED.match(block.text, at)
    if match is None:
        raise DataError(f"{path}: {block.place(at)}: the quote that opens here is never closed; {_REMEDY}")
    raise DataError(
        f"{path}: {block.place(at)}: the quote that opens here closes at {block.place(match.end() - 1)} "
        f"with text behind it; {_REMEDY}"
    )


def _check_length(path: Path, block: Block, limit: int) -> None:
    # A character takes four bytes at most.
    if len(block.text) * 4 <= limit or max(map(len, block.rows), default=0) * 4 <= limit:
        return
    at = 0
    for row in block.rows:
        if len(row) * 4 > limit and len(block.text[at : at + len(row)].encode("utf-8", "replace")) > limit:
            _refuse_length(path, block.place(at), limit)
        at += len(row) + 1


def _refuse_length(path: Path, place: Place, limit: int) -> None:
    raise DataError(
        f"{path}: line {place.line}: the row is longer than {limit} bytes; "
        "divide it, check its quotes, or raise --max-line-bytes"
    )


def check_counts(path: Path, block: Block, n_columns: int) -> int:
    """Refuses a row with other columns than the file has; returns how many rows there are.

    Raises:
        DataError: naming the first such row.
    """
    between = n_columns - 1
    counts = [row.count(block.separator) for row in block.rows]
    if between and counts.count(between) == len(counts):
        return len(counts)
    at = 0
    n_rows = 0
    several: int | None = None
    for row, count in zip(block.rows, counts, strict=True):
        cell = row.find(MASK)
        if cell >= 0 and re.search(r"[\r\n]", block.text[at : at + len(row)]):
            several = at + cell
        filled = not block.blank(row)
        n_rows += filled
        if count != between and filled:
            hint = (
                f"quote cells that hold {shown(block.separator)}, or name another --separator"
                if several is None
                else f"the quote at {block.place(several)} opens a cell of several lines: "
                "close it where it should end"
            )
            columns = "1 column" if count == 0 else f"{count + 1} columns"
            raise DataError(f"{path}: line {block.place(at).line}: {columns} instead of {n_columns}; {hint}")
        at += len(row) + 1
    return n_rows


def rows_within_cells(block: Block, n_columns: int, column: int) -> Iterator[tuple[Place, list[str]]]:
    """Yields the quoted cells of several lines in rows whose every line has all columns.

    Such a cell may be a quote that swallowed rows.

    Yields:
        The place of the quote, and what each of the lines has in a column.
    """
    if "\r" not in block.text and block.text.count("\n") == block.skeleton.count("\n"):
        return  # no cell holds a line end
    at = 0
    for row in block.rows:
        if (cell := row.find(MASK)) >= 0:
            lines = _plain_ends(block.text[at : at + len(row)].rstrip("\r\n")).split("\n")
            if len(lines) > 1 and all(line.count(block.separator) == n_columns - 1 for line in lines):
                yield block.place(at + cell), [line.split(block.separator)[column] for line in lines]
        at += len(row) + 1


def shown(separator: str) -> str:
    """Writes a separator for a message."""
    return {"\t": "tab", " ": "blank"}.get(separator, f"'{separator}'")


def parsed(path: Path, block: Block, n_columns: int, columns: list[int]) -> dict[int, list[str]]:
    """Returns columns of a block, cell by cell as text; no word is a missing value.

    Raises:
        DataError: if a row has other columns than the file has.
    """
    import pandas as pd

    n_rows = check_counts(path, block, n_columns)
    if not n_rows:
        return {column: [] for column in columns}
    frame: Any = pd.read_csv(
        # pandas takes a mark at the very beginning for that of the file; a blank line is no row.
        io.StringIO("\n" + block.text if block.text.startswith("\ufeff") else block.text),
        sep=block.separator,
        header=None,
        names=range(n_columns),
        usecols=columns,
        index_col=False,
        # Python's strings: those of Arrow take longer to read and to hand out again.
        dtype=object,
        keep_default_na=False,
        na_filter=False,
        quoting=csv.QUOTE_MINIMAL if block.quoted else csv.QUOTE_NONE,
        engine="c",
    )
    if len(frame) != n_rows:
        raise DataError(
            f"{path}: line {block.line}: pandas reads {len(frame)} rows where {n_rows} are; "
            "write the file again as CSV with quoted cells"
        )
    return {column: frame[column].tolist() for column in columns}
