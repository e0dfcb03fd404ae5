"""`Dialect`: how a separated file is written, recognised by its first rows, and in TSV by its quotes."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from ..errors import DataError
from .separated import MASK, Block, Readable, blocks, check_counts, is_quoted, shown, whole_rows

__all__ = ["SEPARATORS", "Dialect", "quotes_throughout", "recognised", "separator_of", "sets_separator"]

# What stands between cells, the likeliest first.
SEPARATORS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "blank": " "}
# What separates the cells of one column: a character that texts do not have.
_NONE = "\x1f"
# Rows that decide, and how much of the file they are looked for in.
_ROWS, _CHARS = 200, 1 << 18
_TELLING = 1000
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*")
_PADDING = re.compile(r";{2,}$")
# Excel's first line `sep=;` sets the separator, and is not a row.
_SET = re.compile(r'("?)sep=([\t -!#-~])\1 *(?=[\r\n]|$)', re.IGNORECASE)


class Text(Readable, Protocol):
    """A text that is read in pieces or line by line."""

    def readline(self) -> str:
        """Returns a line with its end; none at the end."""
        ...


# Opens the text again: what a file is takes more than one look.
Opener = Callable[[], AbstractContextManager[Text]]


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are written.

    Attributes:
        separator: between cells.
        quoted: whether cells may be quoted; otherwise a quote is text.
        header: whether the first row names the columns.
        names: of the columns.
        sure: quotes stand around cells for sure, as every cell of the first row is quoted, or in TSV.
        padding: what follows every row and belongs to no cell, such as `;;;;;;`.
        set_in_file: the first line is Excel's `sep=;`, which is not a row.
        rows: some of the rows, without the header.
        note: what was taken for what.
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

    def blocks(self, stream: Text, path: Path, limit: int) -> Iterator[Block]:
        """Yields blocks of whole rows, without the header and what follows every row.

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
) -> Dialect:
    """Recognises how a file is written.

    Args:
        opened: opens its text.
        path: for messages.
        tabs: the file is TSV: cells stand between tabs, and quotes are text unless they are used throughout.
        separator: between cells, where the user says so.
        header: whether the first row names the columns, where the user says so.
        limit: the longest row, in bytes.
        asked: columns that the user names.
        known: whether a name is that of a column, as `text` and `label` are.

    Raises:
        DataError: if the rows have different numbers of columns, or a quote does not close.
    """
    with opened() as stream:
        head = stream.read(_CHARS)
    ended = len(head) < _CHARS
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
        some = blocks(source, path, sep, quoted=quoted, limit=limit, chars=_CHARS)
        first: list[list[str]] = []
        all_quoted = False
        for block in some:
            if not first:
                all_quoted = _first_is_quoted(block)
            first += islice(block.cells(), _ROWS - len(first))
            if len(first) == _ROWS:
                break
    if not first:
        raise DataError(f"{path}: no rows")
    top, rest = first[0], first[1:]
    named = _is_header(top, rest, asked, known) if header is None else header
    names = _names(top, rest, path) if named else [str(place) for place in range(1, len(top) + 1)]
    rows = rest if named else first
    note = "one column" if len(names) == 1 and chosen is None else f"separated by {shown(sep)}"
    if setting is not None:
        line = repr(setting[0])
        note += f", as its first line {line} says" if is_set else f"; its first line {line} is not a row"
    if not named:
        note += ", no header" + (" (--header if the first row is one)" if header is None else "")
    if literal and any('"' in cell for row in first for cell in row):
        note += ", quotes around cells" if quoted else ", quotes are text"
    if padding:
        note += f", {padding!r} behind every row left out"
    return Dialect(
        sep, quoted, named, tabs or all_quoted, tuple(names), padding, setting is not None,
        tuple(map(tuple, rows)), note,
    )  # fmt: skip


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
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _padding(text: str, *, ended: bool) -> str:
    """Returns the `;;;` that every line ends in."""
    lines = [line for line in _lines(text)[: None if ended else -1] if line.strip()]
    ends = {match[0] if (match := _PADDING.search(line)) else "" for line in lines}
    return min(ends, key=len) if len(lines) > 1 and "" not in ends else ""


def _sniffed(text: str, known: Callable[[str], bool], *, ended: bool) -> str | None:
    """Returns the separator of CSV; `None` where the first row has none, and those below are no CSV."""
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
    """Whether the quotes of a file whose quotes are text by default stand around cells.

    They do where they are used as a program uses them: around all cells of a column, or around those alone
    that hold a separator, a quote or a line end. Where each line alone has all columns too, a quoted cell of
    several lines would swallow rows: there they do only if every cell of the file is quoted.
    """
    with opened() as stream:
        if not any('"' in some for some in iter(lambda: stream.read(_CHARS), "")):
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
        plain: set[int] = set()
        n_rows = 0
        for block in found:
            n_columns = n_columns or next((row.count(block.separator) for row in block.rows), 0) + 1
            check_counts(path, block, n_columns)
            for at, row in _placed(block):
                n_rows += 1
                # After so many rows it is known which columns have cells without quotes.
                if n_rows > _TELLING and MASK not in row and '"' not in row:
                    everywhere = False
                    continue
                for column, (cell, mask) in enumerate(block.written_cells(at, row)):
                    if is_quoted(cell, mask):
                        inner = cell[1:-1]
                        several = several or "\n" in inner or "\r" in inner
                        if inner and n_rows > 1 and not re.search(rf'[{block.separator}"\r\n]', inner):
                            needless.add(column)
                    elif cell:
                        everywhere = False
                        stray = stray or '"' in cell
                        if n_rows > 1 and cell != "NA" and not _NUMBER.fullmatch(cell):
                            plain.add(column)
        return cls(everywhere, several, not stray and not needless & plain, n_columns)


def _is_header(
    top: list[str], rest: list[list[str]], asked: Sequence[str], known: Callable[[str], bool]
) -> bool:
    """Whether the first row names the columns."""
    cells = [cell.strip() for cell in top]
    if any(name in cells for name in asked):
        return True
    columns = [[row[place].strip() for row in rest if place < len(row)] for place in range(len(top))]
    again = [bool(cell) and cell in column for cell, column in zip(cells, columns, strict=True)]
    if any(known(cell) and not seen for cell, seen in zip(cells, again, strict=True)):
        return True
    filled = [cell for cell in cells if cell]
    if any(again) or any(_NUMBER.fullmatch(cell) for cell in filled):
        return False
    if len(set(filled)) < len(filled):
        return False
    # A name is short; a text has words, or ends as a sentence does.
    return not any(len(cell) > 60 or len(cell.split()) > 4 or cell[-1] in ".!?。！？।" for cell in filled)


def _names(top: list[str], rest: list[list[str]], path: Path) -> list[str]:
    """Returns the names of the columns; one without a name is called by its number."""
    names = [cell.strip() for cell in top]
    # One such row may as well be a mistake.
    if len(rest) > 1 and all(len(row) == len(names) + 1 for row in rest):
        # A separator behind each row; or a first column of row names, as R writes it.
        names = [*names, ""] if all(not row[-1] for row in rest) else ["", *names]
    names = [name or f"column {place}" for place, name in enumerate(names, 1)]
    if len(set(names)) != len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path}: two columns share a name: {again!r}; rename one in the first line")
    return names
