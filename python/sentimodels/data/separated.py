"""Reads CSV, TSV and other separated text: pandas parses blocks of whole rows.

A *skeleton* is a block in which every quoted cell is masked, so its line ends are ends of rows and its
separators are between cells. It shows errors that pandas would hide: a quote that never closes, text behind a
closing quote, and rows with too few or too many cells. All three are errors with their place.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from ..errors import DataError
from .table import listed

__all__ = [
    "MASK",
    "SEPARATORS",
    "Block",
    "Dialect",
    "Place",
    "Readable",
    "blocks",
    "check_counts",
    "columns_of",
    "is_quoted",
    "parsed",
    "quotes_throughout",
    "recognised",
    "rows_within_cells",
    "separates",
    "separator_of",
    "sets_separator",
    "shown",
    "whole_rows",
]

# Characters read at a time; a block is cut behind its last whole row.
_CHARS = 1 << 20
MASK = "\x1a"
_CLOSED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
# CR that no LF follows; at the very end it is half of a CRLF that was cut off.
_LONE_CR = re.compile(r"\r(?!\n|\Z)")
_REMEDY = "write a quote that is text twice, inside a quoted cell"


class Readable(Protocol):
    """A text that is read in pieces."""

    def read(self, n: int, /) -> str:
        """Returns about so many characters; none at the end."""
        ...


@dataclass(frozen=True)
class Place:
    """A position in a file: line and column (in characters) from 1."""

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
        old_mac: CR alone ends a line, as in a file without LF; otherwise it is text.
    """

    text: str
    skeleton: str
    line: int
    separator: str
    quoted: bool
    old_mac: bool

    @cached_property
    def rows(self) -> list[str]:
        """The skeletons of the rows, blank lines included."""
        rows = self.skeleton.split("\n")
        if not rows[-1]:
            rows.pop()
        return rows

    def blank(self, row: str) -> bool:
        """Whether a line holds nothing but blanks: it is not a row."""
        return not row.strip(" \r" if self.separator == "\t" else " \t\r")

    def place(self, at: int) -> Place:
        """Returns the place of a character of the block."""
        before = self.with_plain_ends(self.text[:at])
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
        return self.lines[row]

    @cached_property
    def lines(self) -> list[int]:
        """The lines that the rows begin on; blank lines are not counted."""
        found, at, line = [], 0, self.line
        for row in self.rows:
            if not self.blank(row):
                found.append(line)
            end = at + len(row) + 1
            line += self.with_plain_ends(self.text[at:end]).count("\n")
            at = end
        return found

    def with_plain_ends(self, text: str) -> str:
        """Returns a part of the text, of the same length, whose lines end in LF."""
        if "\r" not in text:
            return text
        text = text.replace("\r\n", " \n")
        return text.replace("\r", "\n") if self.old_mac else text

    def has_cr_in_cells(self) -> bool:
        """Whether CR is text in a cell without quotes: pandas would end the row there."""
        if self.old_mac or not _may_hold_lone_cr(self.text):
            return False
        return any(self.skeleton[match.start()] != MASK for match in _LONE_CR.finditer(self.text))

    def is_row(self, header: str | None) -> list[bool] | None:
        """Returns which rows do not repeat the header; `None` if none repeats it.

        Args:
            header: as the file writes it. Joined files repeat it, perhaps after a byte-order mark.
        """
        if header is None or header not in self.text:
            return None
        written = (self.text[at : at + len(row)].removesuffix("\r") for at, row in _placed(self))
        found = [row.removeprefix("\ufeff") != header for row in written]
        return None if all(found) else found

    def without_first_row(self) -> "Block":
        """Returns the rows after the first."""
        end = self.skeleton.find("\n", self.offset(0)) + 1 or len(self.skeleton)
        return replace(self, text=self.text[end:], skeleton=self.skeleton[end:], line=self.place(end).line)

    def cells(self) -> Iterator[list[str]]:
        """Yields the rows, parsed one by one: for the few that decide the format of a file."""
        at = 0
        for line in self.rows:
            if self.blank(line):
                pass
            elif MASK in line:
                yield [
                    cell[1:-1].replace('""', '"') if is_quoted(cell, mask) else cell
                    for cell, mask in self.written_cells(at, line)
                ]
            else:
                yield self.text[at : at + len(line)].removesuffix("\r").split(self.separator)
            at += len(line) + 1

    def written_cells(self, at: int, line: str) -> Iterator[tuple[str, str]]:
        """Yields the cells of the row that begins at `at`, as the file writes them, with their masks."""
        for mask in line.removesuffix("\r").split(self.separator):
            yield self.text[at : at + len(mask)], mask
            at += len(mask) + 1


def is_quoted(cell: str, mask: str) -> bool:
    """Whether a cell is quoted, by its spelling in the file and its mask."""
    return cell.startswith('"') and mask.startswith(MASK)


def _may_hold_lone_cr(text: str) -> bool:
    """Whether some CR is not part of CRLF; counting both is quicker than looking at each."""
    return "\r" in text and text.count("\r") != text.count("\r\n")


def _is_old_mac(text: str, *, quoted: bool) -> bool:
    """Whether lines end in CR alone: no LF is outside quotes."""
    return _LONE_CR.search(text) is not None and "\n" not in (_CLOSED.sub("", text) if quoted else text)


def _skeleton(text: str, separator: str, quoted: bool, old_mac: bool) -> tuple[str, int | None]:
    """Returns the skeleton of a text, and where a quote opens that does not close a cell."""
    opened: int | None = None
    if not old_mac and _may_hold_lone_cr(text):
        text = _LONE_CR.sub(" " if separator == "\t" else "\t", text)
    skeleton = text
    if quoted and '"' in text:
        ends = {separator, "\r", "\n"}
        skeleton, opened = _masked(text, ends) or _masked_by_cell(text, ends)
    # A row may end in CR LF; CR stays before LF, so that both texts are of one length.
    if old_mac:
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
    rest, open_quote, line, ended = "", False, 1, False
    old_mac: bool | None = None
    while not ended:
        parts, n_bytes, may_end = [rest], _n_bytes(rest), False
        while not (may_end or ended):
            # As much as is left over, so that a row of any length is looked at a few times only.
            some = stream.read(max(chars, len(rest)))
            parts.append(some)
            n_bytes += _n_bytes(some)
            ended = not some
            # A row of which a part is known does not end without one of these.
            may_end = not rest or ('"' in some if open_quote else "\n" in some or "\r" in some)
            if not may_end and n_bytes > limit:
                _refuse_length(path, Place(line, 1), limit)
        text = "".join(parts)
        if text.endswith("\r") and not ended:  # LF may follow
            more = stream.read(1)
            text, ended = text + more, not more
        if old_mac is None and re.search("[\r\n]", text):
            old_mac = _is_old_mac(text, quoted=quoted)
        block, open_quote = _whole_rows(
            text, path, separator, quoted=quoted, ended=ended, line=line, old_mac=old_mac
        )
        _check_length(path, block, limit)
        if block.text:
            yield block
            line += block.with_plain_ends(block.text).count("\n")
        rest = text[len(block.text) :]
        if len(rest) * 4 > limit and _n_bytes(rest) > limit:
            _refuse_length(path, Place(line, 1), limit)


def whole_rows(
    text: str,
    path: Path,
    separator: str,
    *,
    quoted: bool,
    ended: bool,
    line: int = 1,
    old_mac: bool | None = None,
) -> Block:
    """Returns the rows of a text up to its last whole one.

    Args:
        text: begins with a row.
        path: for messages.
        separator: between cells.
        quoted: whether cells may be quoted.
        ended: whether the file ends with the text.
        line: the line of the file that the text begins on.
        old_mac: CR alone ends a line; by the text if not given.

    Raises:
        DataError: if a quote does not close or has text behind it.
    """
    return _whole_rows(text, path, separator, quoted=quoted, ended=ended, line=line, old_mac=old_mac)[0]


def _whole_rows(
    text: str,
    path: Path,
    separator: str,
    *,
    quoted: bool,
    ended: bool,
    line: int,
    old_mac: bool | None,
) -> tuple[Block, bool]:
    """Returns the whole rows, and whether a quoted cell is open at the end of the text."""
    old_mac = _is_old_mac(text, quoted=quoted) if old_mac is None else old_mac
    skeleton, opened = _skeleton(text, separator, quoted, old_mac)
    end = len(text) if ended else skeleton.rfind("\n") + 1
    if opened is not None:
        if ended or _closes(text, opened):
            _refuse_quote(path, Block(text, skeleton, line, separator, quoted, old_mac), opened)
        end = skeleton.rfind("\n", 0, opened) + 1
    return Block(text[:end], skeleton[:end], line, separator, quoted, old_mac), opened is not None


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
        if len(row) * 4 > limit and _n_bytes(block.text[at : at + len(row)]) > limit:
            _refuse_length(path, block.place(at), limit)
        at += len(row) + 1


def _n_bytes(text: str) -> int:
    """Returns the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _refuse_length(path: Path, place: Place, limit: int) -> NoReturn:
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
        # Ctrl-Z, which is the mask, may be text too.
        is_quote = cell >= 0 and block.text[at + cell] == '"'
        if is_quote and re.search(r"[\r\n]", block.text[at : at + len(row)]):
            several = at + cell
        filled = not block.blank(row)
        n_rows += filled
        if count != between and filled:
            if several is not None:
                hint = (
                    f"the quote at {block.place(several)} opens a cell of several lines: "
                    "close it where it should end"
                )
            elif count < between:
                hint = "write its missing cells, or delete the line"
            elif re.search(rf'{re.escape(block.separator)} +"', row):
                hint = f"take out the blank between {shown(block.separator)} and a quote"
            else:
                hint = f"quote cells that hold {shown(block.separator)}, or name another --separator"
            columns = "1 column" if count == 0 else f"{count + 1} columns"
            raise DataError(f"{path}: line {block.place(at).line}: {columns} instead of {n_columns}; {hint}")
        at += len(row) + 1
    return n_rows


def rows_within_cells(block: Block, n_columns: int, column: int) -> Iterator[tuple[Place, list[str]]]:
    """Yields the quoted cells of several lines in rows whose every line has all columns.

    Such a cell may be a quote that swallowed rows.

    Yields:
        The place of the quote, and the cell of each of the lines in a column.
    """
    if "\r" not in block.text and block.text.count("\n") == block.skeleton.count("\n"):
        return  # no cell holds a line end
    at = 0
    for row in block.rows:
        if (cell := row.find(MASK)) >= 0:
            lines = block.with_plain_ends(block.text[at : at + len(row)].rstrip("\r\n")).split("\n")
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
    if block.has_cr_in_cells():
        rows = list(block.cells())
        return {column: [row[column] for row in rows] for column in columns}
    frame: Any = pd.read_csv(
        # pandas takes a mark at the very beginning for that of the file; a blank line is not a row.
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


# Separators of cells, the likeliest first.
SEPARATORS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "blank": " "}
# Separator for the cells of one column: a character that texts do not have.
_NONE = "\x1f"
# Rows that decide, and how much of the file they are looked for in.
_ROWS, _HEAD = 200, 1 << 18
_TELLING = 1000
# Lines that a header is looked for in, below a title or comments.
_TITLES = 10
# A line below the names, as Markdown and SQL clients write it: `----`, `:---:`.
_RULE = re.compile(r"\s*:?[-=+]{2,}:?\s*")
# Rows that survey tools write below the names of the columns.
_OF_SURVEYS = re.compile(r'\s*(\{"ImportId".*|Open-Ended Response|Response)\s*')
# More numbers than this, none of them twice, are not labels.
_LABELS = 20
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*")
_PADDING = re.compile(r";{2,}$")
# Excel's first line `sep=;` sets the separator, and is not a row.
_SET = re.compile(r'("?)sep=([\t -!#-~])\1 *(?=[\r\n]|$)', re.IGNORECASE)


class Text(Readable, Protocol):
    """A text that is read in pieces or line by line."""

    def readline(self) -> str:
        """Returns a line with its end; none at the end."""
        ...


# Opens the text again: the format of a file is found in several passes.
Opener = Callable[[], AbstractContextManager[Text]]


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written.

    Attributes:
        separator: between cells.
        quoted: whether cells may be quoted; otherwise a quote is text.
        header: whether the first row names the columns.
        names: of the columns.
        sure: quotes surely surround cells, because every cell of the first row is quoted, or in TSV.
        padding: the string that follows every row and belongs to no cell, such as `;;;;;;`.
        set_in_file: the first line is Excel's `sep=;`, which is not a row.
        rows: some of the rows, without the header.
        note: a note on the guesses.
        doubtful: the first row was taken for names, none of which is known.
        header_line: the names of several columns as the file writes them, so that later rows with the same
            cells are not read as rows.
    """

    separator: str
    quoted: bool
    header: bool
    sure: bool
    names: tuple[str, ...]
    padding: str
    set_in_file: bool
    rows: tuple[tuple[str, ...], ...]
    note: str
    doubtful: bool
    header_line: str | None

    def blocks(self, stream: Text, path: Path, limit: int) -> Iterator[Block]:
        """Yields blocks of whole rows, without the header and the padding of every row.

        Args:
            stream: the text of the file.
            path: for messages.
            limit: the longest row, in bytes.

        Raises:
            DataError: if a quote is not closed, or a row is too long.
        """
        text = Blanked(stream) if self.set_in_file else stream
        source: Readable = Unpadded(text, self.padding) if self.padding else text
        header = self.header
        for block in blocks(source, path, self.separator, quoted=self.quoted, limit=limit):
            if header and all(map(block.blank, block.rows)):
                continue
            yield block.without_first_row() if header else block
            header = False


class Unpadded:
    """A text whose lines end before their padding."""

    def __init__(self, stream: Text, padding: str) -> None:
        self._stream, self._padding = stream, padding

    def read(self, n: int) -> str:
        """Reads about so many characters, whole lines."""
        lines = []
        while n > 0 and (line := self._stream.readline()):
            end = line.rstrip("\r\n")
            lines.append(end.removesuffix(self._padding) + line[len(end) :])
            n -= len(line)
        return "".join(lines)


class Blanked:
    """A text whose first line is blank, so that the lines below keep their numbers."""

    def __init__(self, stream: Text) -> None:
        self._stream = stream
        line = stream.readline()
        self._end = line[len(line.rstrip("\r\n")) :]

    def read(self, n: int) -> str:
        """Reads about so many characters."""
        end, self._end = self._end, ""
        return end + self._stream.read(n)

    def readline(self) -> str:
        """Reads a line."""
        end, self._end = self._end, ""
        return end or self._stream.readline()


def separator_of(asked: str) -> str:
    """Reads `--separator`: one character, or `tab`, `comma`, `semicolon`, `pipe`.

    Raises:
        DataError: if it is neither.
    """
    separator = _NAMED.get(asked.lower(), asked)
    if len(separator) != 1 or separator in '"\r\n\x1a' or ord(separator) > 0x7F:
        raise DataError(
            f"separator {asked!r}: expected one character, such as ';' or '|', or the word tab "
            "(--separator tab)"
        )
    return separator


def recognised(
    opened: Opener,
    path: Path,
    *,
    tabs: bool,
    separator: str | None,
    header: bool | None,
    limit: int,
    asked: Sequence[str],
    known: Callable[[str], bool],
    usual_header: bool | None = None,
    usual_text: str | None = None,
) -> Dialect:
    """Recognises how a file is written.

    Args:
        opened: opens its text.
        path: for messages.
        tabs: the file is TSV: cells are separated by tabs, and quotes are text unless they are used
            throughout.
        separator: between cells, where the user says so.
        header: whether the first row names the columns, where the user says so.
        limit: the longest row, in bytes.
        asked: columns that the user names.
        known: whether a name is that of a column, as `text` and `label` are.
        usual_header: whether the first row of an earlier file named the columns, where the user said so: it
            decides where this file does not.
        usual_text: the name of the texts in that file.

    Raises:
        DataError: if the rows have different numbers of columns, or a quote does not close.
    """
    with opened() as stream:
        head = stream.read(_HEAD)
    ended = len(head) < _HEAD
    setting, is_set = _SET.match(head), False
    if setting is not None:
        opened, head = _below_first_line(opened), head[setting.end() :]
        if separator is None:
            separator, is_set = setting[2], True
            tabs = separator == "\t"
    padding = ""
    if tabs or separator is not None:
        chosen: str | None = "\t" if separator is None else separator
    else:
        padding = _padding(head, ended=ended)
        lines = "\n".join(line.removesuffix(padding) for line in _lines(head)) if padding else head
        chosen = _sniffed(lines, known, ended=ended)
    # One column, unless quotes say where its cells end: its lines are read as those of TSV.
    literal = tabs or chosen is None
    sep = chosen or _NONE
    quoted = not literal or quotes_throughout(opened, path, sep, limit, padding)
    with opened() as stream:
        source = Unpadded(stream, padding) if padding else stream
        some = blocks(source, path, sep, quoted=quoted, limit=limit, chars=_HEAD)
        first: list[list[str]] = []
        lines_of: list[int] = []
        behind_blanks: list[list[bool]] = []
        all_quoted, first_line = False, ""
        for block in some:
            if not first:
                all_quoted = _first_is_quoted(block)
                at, row = next(_placed(block), (0, ""))
                first_line = block.text[at : at + len(row)].removesuffix("\r")
            behind_blanks += islice(_behind_blanks(block), _ROWS - len(behind_blanks))
            first += islice(block.cells(), _ROWS - len(first))
            lines_of += block.lines
            if len(first) == _ROWS:
                break
    if not first:
        raise DataError(f"{path}: no rows")
    if "\0" in "".join(first[0]):
        raise DataError(
            f"{path}: its first row holds NUL bytes, so it is not text, or UTF-16 without its mark; for that "
            "give --encoding utf-16-le"
        )
    top, rest = first[0], first[1:]
    named = header
    unlike = ""
    if named is None:
        given = asked if usual_header is None or usual_text is None else [*asked, usual_text]
        named = _is_header(top, rest, given, known)
        cells = [cell.strip() for cell in top]
        if usual_header is False and named and not any(map(known, top)) and not set(given) & set(cells):
            named = False
        unlike = "" if usual_header in (None, named) else ", unlike the training file"
    if header is None:
        _refuse_title(first, path, known)
        _refuse_title_of_table(first, lines_of, path)
    if header is not False:
        _refuse_second_header(first, lines_of, path)
    if quoted:
        _refuse_blanks(rest if named else first, behind_blanks[named:], path, sep)
    names = _names(top, rest) if named else [str(place) for place in range(1, len(top) + 1)]
    doubtful = named and header is None and not any(map(known, top)) and not set(asked) & set(names)
    rows = rest if named else first
    note = "one column" if len(names) == 1 and chosen is None else f"separated by {shown(sep)}"
    if setting is not None:
        line = repr(setting[0])
        note += f", as its first line {line} says" if is_set else f"; its first line {line} is not a row"
    if not named:
        note += f", no header{unlike}"
        if header is None:
            note += f": the first row ({listed(top)}) is read as one (--header if it names the columns)"
    elif unlike:
        note += f", the first row names the columns{unlike} (--no-header if it does not)"
    if doubtful and not unlike:
        note += ", the first row names the columns (--no-header if it does not)"
    if literal and any('"' in cell for row in first for cell in row):
        note += ", quotes around cells" if quoted else ", quotes are text"
    if padding:
        note += f", {padding!r} behind every row left out"
    return Dialect(
        sep, quoted, named, tabs or all_quoted, tuple(names), padding, setting is not None,
        tuple(map(tuple, rows)), note, doubtful, first_line if named and len(names) > 1 else None,
    )  # fmt: skip


def columns_of(rows: Sequence[Sequence[str]], n_columns: int) -> list[Sequence[str]]:
    """Returns the cells of the first columns; of a short row, as many as there are."""
    if rows and all(len(row) >= n_columns for row in rows):
        return list(islice(zip(*rows, strict=False), n_columns))
    return [[row[at] for row in rows if at < len(row)] for at in range(n_columns)]


def separates(opened: Opener, usual: str, *, tabs: bool, known: Callable[[str], bool]) -> bool:
    """Whether the separator of an earlier file is that of this one too.

    It is if the first row contains it and every row of a sample has the same number of cells, or if no
    separator that is recognised gives that.

    Args:
        opened: opens the text.
        usual: the separator of the earlier file.
        tabs: whether this file is TSV.
        known: whether a name is that of a column.
    """
    with opened() as stream:
        head = stream.read(_HEAD)
    ended = len(head) < _HEAD
    if (setting := _SET.match(head)) is not None:
        return setting[2] == usual
    padding = _padding(head, ended=ended)
    lines = "\n".join(line.removesuffix(padding) for line in _lines(head)) if padding else head
    found = "\t" if tabs else _sniffed(lines, known, ended=ended)

    def counts(separator: str) -> list[int]:
        rows = _sample(lines, separator, ended=ended)
        if not rows:  # quotes that do not close may be text
            block = whole_rows(lines, Path(), separator, quoted=False, ended=ended)
            rows = list(islice(block.cells(), _ROWS))
        return [len(row) for row in rows]

    def fits(separator: str) -> bool:
        first, *rest = counts(separator) or [0]
        return first > 1 and set(rest) in (set(), {first}, {first + 1})

    if found in (None, usual):
        return found == usual or counts(usual)[:1] > [1]
    return fits(usual) or (counts(usual)[:1] > [1] and not fits(found))


def sets_separator(line: str) -> bool:
    """Whether the first line of a file is Excel's `sep=;`."""
    return _SET.fullmatch(line) is not None


def _below_first_line(opened: Opener) -> Opener:
    @contextmanager
    def below() -> Iterator[Text]:
        with opened() as stream:
            yield Blanked(stream)

    return below


def _first_is_quoted(block: Block) -> bool:
    at, row = next(_placed(block), (0, ""))
    return all(is_quoted(cell, mask) for cell, mask in block.written_cells(at, row))


def _lines(text: str) -> list[str]:
    old_mac = _is_old_mac(text, quoted=True)
    text = text.replace("\r\n", "\n")
    return (text.replace("\r", "\n") if old_mac else text).split("\n")


def _padding(text: str, *, ended: bool) -> str:
    """Returns the `;;;` that every line ends in."""
    lines = [line for line in _lines(text)[: None if ended else -1] if line.strip()]
    ends = {match[0] if (match := _PADDING.search(line)) else "" for line in lines}
    return min(ends, key=len) if len(lines) > 1 and "" not in ends else ""


def _sniffed(text: str, known: Callable[[str], bool], *, ended: bool) -> str | None:
    """Returns the separator of CSV; `None` if the first row lacks one, and the rows below are not CSV."""
    found: list[tuple[bool, bool, int, int, str]] = []
    for place, separator in enumerate(SEPARATORS):
        rows = _sample(text, separator, ended=ended)
        line = next((line for line in _lines(text) if line.strip()), "")
        # Quotes that do not close are reported where the file is read.
        top = rows[0] if rows else line.split(separator)
        if len(top) > 1:
            # Rows of R have a name more than the header; some have a separator at their end.
            even = bool(rows) and {len(row) for row in rows[1:]} in (set(), {len(top)}, {len(top) + 1})
            found.append((even, any(map(known, top)), len(top), -place, separator))
    if found:
        return max(found)[-1]
    rows = _sample(text, ",", ended=ended)
    return "," if '"' in text and rows and all(len(row) == 1 for row in rows) else None


def _sample(text: str, separator: str, *, ended: bool) -> list[list[str]]:
    """Returns the first rows; none where quotes do not close."""
    try:
        block = whole_rows(text, Path(), separator, quoted=True, ended=ended)
    except DataError:
        return []
    return list(islice(block.cells(), _ROWS))


def quotes_throughout(opened: Opener, path: Path, separator: str, limit: int, padding: str = "") -> bool:
    """Whether the quotes of a file whose quotes are text by default surround cells.

    They do where they are used as a program uses them: around all cells of a column, or around only the cells
    that hold a separator, a quote or a line end, or a comma, as Excel writes text with tabs. Where each line
    alone has all columns too, a quoted cell of several lines would swallow rows: there they do only if every
    cell of the file is quoted.
    """
    if not _has_quote(opened, path, limit):
        return False
    lines_fit = True
    between: int | None = None
    with opened() as stream:
        source = Unpadded(stream, padding) if padding else stream
        for block in blocks(source, path, separator, quoted=False, limit=limit):
            counts = [row.count(separator) for row in block.rows if not block.blank(row)]
            between = next(iter(counts), 0) if between is None else between
            lines_fit = lines_fit and counts.count(between) == len(counts)
    try:
        with opened() as stream:
            source = Unpadded(stream, padding) if padding else stream
            found = blocks(source, path, separator, quoted=True, limit=limit)
            use = _Quotes.of(path, found)
    except DataError:
        # The error of the quotes says more, where lines do not fit either and a cell has several.
        return not lines_fit and _opens_several(opened, path, separator, limit)
    if use.everywhere:
        return True
    if lines_fit and use.several_lines and use.n_columns > 1:
        return False
    return use.as_programs or not lines_fit


def _has_quote(opened: Opener, path: Path, limit: int) -> bool:
    """Whether a text holds a quote; a line that is too long is refused, as the next quote may be far away."""
    n_chars, line = 0, 1
    with opened() as stream:
        while some := stream.read(_HEAD):
            if '"' in some:
                return True
            end = max(some.rfind("\n"), some.rfind("\r")) + 1
            n_chars = len(some) - end + (0 if end else n_chars)
            line += some.count("\n") or some.count("\r")
            if n_chars > limit:
                _refuse_length(path, Place(line, 1), limit)
    return False


def _opens_several(opened: Opener, path: Path, separator: str, limit: int) -> bool:
    with opened() as stream:
        try:
            for block in blocks(stream, path, separator, quoted=True, limit=limit):
                if any(
                    is_quoted(cell, mask) and re.search(r"[\r\n]", cell)
                    for at, row in _placed(block)
                    for cell, mask in block.written_cells(at, row)
                ):
                    return True
        except DataError:
            return False
    return False


def _placed(block: Block) -> Iterator[tuple[int, str]]:
    at = 0
    for row in block.rows:
        if not block.blank(row):
            yield at, row
        at += len(row) + 1


@dataclass(frozen=True)
class _Quotes:
    """How quotes are used: around every cell, around cells of several lines, as programs use them."""

    everywhere: bool
    several_lines: bool
    as_programs: bool
    n_columns: int

    @classmethod
    def of(cls, path: Path, found: Iterator[Block]) -> "_Quotes":
        everywhere, several, stray, n_columns = True, False, False, 0
        needless: set[int] = set()
        for_a_comma: set[int] = set()
        plain: set[int] = set()
        plain_comma = False
        n_rows = 0
        for block in found:
            n_columns = n_columns or next((row.count(block.separator) for row in block.rows), 0) + 1
            check_counts(path, block, n_columns)
            for at, row in _placed(block):
                n_rows += 1
                # After so many rows it is known which columns have cells without quotes.
                if n_rows > _TELLING and MASK not in row and '"' not in row:
                    everywhere = False
                    plain_comma = plain_comma or "," in row
                    continue
                for column, (cell, mask) in enumerate(block.written_cells(at, row)):
                    if is_quoted(cell, mask):
                        inner = cell[1:-1]
                        several = several or "\n" in inner or "\r" in inner
                        if inner and n_rows > 1 and not re.search(rf'[{block.separator}"\r\n]', inner):
                            (for_a_comma if "," in inner else needless).add(column)
                    elif cell:
                        everywhere = False
                        stray = stray or '"' in cell
                        plain_comma = plain_comma or "," in cell
                        if n_rows > 1 and cell != "NA" and not _NUMBER.fullmatch(cell):
                            plain.add(column)
        if plain_comma:
            needless |= for_a_comma
        return cls(everywhere, several, not stray and not needless & plain, n_columns)


def _is_header(
    top: list[str], rest: list[list[str]], asked: Sequence[str], known: Callable[[str], bool]
) -> bool:
    """Whether the first row names the columns."""
    cells = [cell.strip() for cell in top]
    if any(name in cells for name in asked):
        return True
    if len(cells) > 1 and any(map(known, cells)):  # joined files have their header again
        rest = [row for row in rest if [cell.removeprefix("\ufeff").strip() for cell in row] != cells]
    columns = columns_of([list(map(str.strip, row)) for row in rest], len(top))
    again = [bool(cell) and cell in column for cell, column in zip(cells, columns, strict=True)]
    if any(known(cell) and not seen for cell, seen in zip(cells, again, strict=True)):
        return True
    # The names that pandas gives columns without one, perhaps after its row numbers.
    numbers = cells if cells[0] else cells[1:]
    if len(cells) > 1 and numbers == [str(place) for place in range(len(numbers))]:
        return not cells[0] or any(map(_are_words, columns))
    if not any(again) and any(map(_is_question, cells, columns)):
        return True
    filled = [cell for cell in cells if cell]
    if any(again) or any(_NUMBER.fullmatch(cell) or cell.startswith("__label__") for cell in filled):
        return False
    if len(set(filled)) < len(filled):
        return False
    # A name is short; a text has words, or ends as a sentence does.
    return not any(len(cell) > 60 or len(cell.split()) > 4 or cell[-1] in ".!?。！？।" for cell in filled)


def _are_words(cells: Sequence[str]) -> bool:
    """Whether every cell holds letters, so that a number above them is not one of their kind."""
    return bool(cells) and all(any(map(str.isalpha, cell)) for cell in cells)


def _is_question(name: str, cells: Sequence[str]) -> bool:
    """Whether a cell is the question that its column answers: it is longer than answers that repeat."""
    answers, n_words = set(cells), len(name.split())
    repeat = len(answers) > 1 and len(cells) >= 3 * len(answers)
    return repeat and n_words > 2 and all(len(answer.split()) < n_words for answer in answers)


def _names(top: list[str], rest: list[list[str]]) -> list[str]:
    """Returns the names of the columns; one without a name is called by its number."""
    names = [cell.strip() for cell in top]
    # One such row may as well be a mistake.
    if len(rest) > 1 and all(len(row) == len(names) + 1 for row in rest):
        numbers = [row[0].strip() for row in rest]
        if all(not row[-1] for row in rest):  # a separator behind each row
            names = [*names, ""]
        elif _are_row_numbers(numbers):
            names = ["", *names]
    return [name or f"column {place}" for place, name in enumerate(names, 1)]


def _are_row_numbers(cells: list[str]) -> bool:
    """Whether the first column of a table without a name for it holds numbers of rows, as R writes them.

    Otherwise a text has a separator in it. Numbers that are labels repeat, unless the rows are few.
    """
    if len(set(cells)) < len(cells) or not all(map(str.isdecimal, cells)):
        return False
    return len(cells) > _LABELS or cells == sorted(cells, key=int)


def _refuse_title(rows: list[list[str]], path: Path, known: Callable[[str], bool]) -> None:
    """Refuses a header with a title or a comment above it: the rows would be read as texts of one column."""
    if any(map(known, rows[0])):
        return
    for row in rows[1:_TITLES]:
        cells = [row] if len(row) > 1 else [row[0].split(separator) for separator in SEPARATORS]
        for names in cells:
            if sum(map(known, names)) > 1:
                header = ", ".join(name.strip() for name in names)
                raise DataError(
                    f"{path}: the names of the columns ({header}) are not in its first line; delete the "
                    "lines above them, or give --no-header"
                )


def _refuse_title_of_table(rows: list[list[str]], lines: list[int], path: Path) -> None:
    """Refuses a title above names that are not known, where the rows below are a table for sure."""
    top, rest = rows[0], rows[1:]
    if len(top) > 1:
        if top[0].strip() and not any(map(str.strip, top[1:])) and len(rest) > 1 and all(map(all, rest)):
            raise DataError(
                f"{path}: line {lines[0]} names one of {len(top)} columns ({top[0].strip()!r}); delete it if "
                "it is a title, name the other columns, or give --no-header"
            )
        return
    for separator in SEPARATORS:
        start = next((place for place, row in enumerate(rows) if separator in row[0]), 0)
        if not 0 < start < _TITLES:
            continue
        below = _sample("\n".join(row[0] for row in rows[start:]) + "\n", separator, ended=False)
        widths = set(map(len, below))
        # Texts may hold a separator each, but labels repeat.
        sides = [[row[side] for row in below[1:]] for side in (0, -1)] if len(widths) == 1 else []
        if any(len(side) >= 5 and 1 < len(set(side)) <= len(side) // 2 for side in sides):
            raise DataError(
                f"{path}: line {lines[0]} has one column, and each line from {lines[start]} on has "
                f"{widths.pop()}, separated by {shown(separator)}; delete the lines above if they are a "
                "title, or give --no-header if each line is a text"
            )


def _refuse_second_header(rows: list[list[str]], lines: list[int], path: Path) -> None:
    """Refuses a rule, or names of another kind, below the names of the columns."""
    top = rows[0]
    if len(top) < 2:
        return
    found: tuple[int, list[str]] | None = None
    for row, line in zip(rows[1:3], lines[1:3], strict=False):
        filled = [cell for cell in row if cell.strip()]
        same = row != top and len(row) == len(top) and all(map(_same_name, row, top))
        other = bool(filled) and any(all(map(kind.fullmatch, filled)) for kind in (_RULE, _OF_SURVEYS))
        if same or other:
            found = line, row
    if found is not None:
        line, row = found
        which = f"lines {lines[1]} to {line}" if line > lines[1] else f"line {line}"
        raise DataError(
            f"{path}: line {line} ({listed(row)}) belongs to the names of the columns and is not a row; "
            f"delete {which}"
        )


def _same_name(one: str, two: str) -> bool:
    return one.strip().casefold() == two.strip().casefold()


def _behind_blanks(block: Block) -> Iterator[list[bool]]:
    """Yields for each row which cells the file writes as a blank and quotes."""
    for at, row in _placed(block):
        if '"' not in block.text[at : at + len(row)]:
            yield [False] * (row.count(block.separator) + 1)
            continue
        yield [
            cell.startswith(" ") and re.fullmatch(r' +".*"', cell, re.DOTALL) is not None
            for cell, _ in block.written_cells(at, row)
        ]


def _refuse_blanks(
    rows: list[list[str]], behind_blanks: list[list[bool]], path: Path, separator: str
) -> None:
    """Refuses a column whose quotes follow a blank in the file: they would be part of the cells."""
    if not any(map(any, behind_blanks)):
        return
    for place in range(len(rows[0]) if rows else 0):
        if all(row[place] for row in behind_blanks if place < len(row)):
            raise DataError(
                f"{path}: column {place + 1}: there is a blank between {shown(separator)} and each quote; "
                f"delete it, so that {rows[0][place]!r} is a quoted cell"
            )
