"""`read_table`: any labelled file, recognised by folder, suffix and first lines.

Guesses are in the notes of the table; options override them. `training_table` also
leaves out empty lines.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sentitok import FormatError
from sentitok.bounded_lines import MAX_LINE

from ..errors import DataError
from .columns import (
    Cells,
    Columns,
    OpenTable,
    add_rows,
    are_labels,
    is_known,
    open_json_lines,
    open_parquet,
    open_separated,
    texts_of,
)  # fmt: skip
from .label_sets import asked_of, set_reader
from .opening import (
    NotUtf8Error,
    TextFile,
    decodes_better,
    encoding_of,
    encoding_of_files,
    foreign,
    hash_file,
    hash_hashes,
    not_in_encoding,
    open_text,
    plain_suffix,
    read_text,
)  # fmt: skip
from .row_buffer import Blank, Rows, Sample
from .separated import (
    SEPARATORS,
    quotes_throughout,
    recognised,
    separates,
    separator_of,
    sets_separator,
    shown,
)  # fmt: skip
from .table import Table, listed, set_cell

if TYPE_CHECKING:
    from .sst import Nodes

# How many lines decide the format of a file whose suffix does not.
_PEEKED = 50
# A word with letters beyond ASCII: it shows whether the encoding is right.
_BEYOND_ASCII = re.compile(r"\S{0,20}[^\s\x00-\x7f]\S{0,20}")


def recognise(path: Path, encoding: str = "utf-8", max_line_bytes: int | None = None) -> str:
    """Returns the name of a file's or folder's format.

    Raises:
        DataError: if it is not clear.
        FileNotFoundError: if there is none.
    """
    if path.is_dir():
        return _recognise_folder(path)
    if (found := _kind_of_file(path, encoding, max_line_bytes)) is not None:
        return found
    some_labels = any(_LABEL.search(line) for line in _first_lines(path, encoding, max_line_bytes))
    hint = (
        "fasttext, if lines without __label__ have no label"
        if some_labels
        else "lines, if it is a text a line"
    )
    raise DataError(f"{path}: the format is unclear; name it with --format ({hint}): {', '.join(FORMATS)}")


def _kind_of_file(path: Path, encoding: str, max_line_bytes: int | None) -> str | None:
    suffix = plain_suffix(path)
    for name, reader in READERS.items():
        if suffix in reader.suffixes:
            return name
    first = _first_lines(path, encoding, max_line_bytes)
    for name, reader in READERS.items():
        if reader.begins is not None and reader.begins(first, suffix):
            return name
    return None


def _is_separated(lines: list[str]) -> bool:
    """Whether a file without the suffix of CSV is one: by a known name, or a short cell in each line."""
    if lines and sets_separator(lines[0]):
        return True
    rows = [line for line in lines if line.strip()]
    for separator in SEPARATORS:
        if (
            rows
            and separator in rows[0]
            and any(is_known(one.strip('" ')) for one in rows[0].split(separator))
        ):
            return True
        counts = {row.count(separator) for row in rows}
        # Commas are in texts too.
        if separator != "," and len(rows) > 2 and len(counts) == 1 and counts != {0}:
            cells = [row.split(separator) for row in rows]
            return any(all(len(row[side].split()) <= 2 for row in cells) for side in (0, -1))
    return False


def _recognise_folder(path: Path) -> str:
    if (path / "pos").is_dir() and (path / "neg").is_dir():
        return "reviews"
    if sorted(plain_suffix(file) for file in path.iterdir() if plain_suffix(file) in (".pos", ".neg")):
        return "polarity"
    parts = [name for name in ("train", "test") if (path / name / "pos").is_dir()]
    if parts:
        raise DataError(f"{path}: give one part, as in {path / parts[0]}")
    raise DataError(
        f"{path}: a folder without pos/ and neg/, and without .pos and .neg files; if each folder in it is a "
        "class, give --format reviews"
    )


def _first_lines(path: Path, encoding: str, max_line_bytes: int | None) -> list[str]:
    lines: list[str] = []
    with open_text(path, encoding, max_line_bytes) as file:
        for line in file.lines():
            lines.append(line)
            if len(lines) == _PEEKED:
                break
    return lines


def read_table(
    path: str | Path,
    text_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    *,
    id_column: str | None = None,
    where: str | None = None,
    encoding: str | None = None,
    max_line_bytes: int | None = None,
    skip: int = 0,
    sample: bool = False,
    seed: int = 42,
    without: Collection[int] = frozenset(),
    clean: bool = False,
    unescape: bool = False,
    blank_labels: Blank = "error",
    drop_empty: bool = False,
    with_lines: bool = False,
    separator: str | None = None,
    header: bool | None = None,
    classes: bool = True,
    like: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    several: bool = False,
    label_separator: str | None = None,
    label_columns: Sequence[str] = (),
) -> Table:
    """Reads a file or folder.

    Args:
        path: the file; gz, xz, bz2 and zst are decompressed.
        text_column: of a file with named columns; guessed when only one can be meant.
        label_column: as `text_column`.
        group_column: rows with one value stay on one side of a split.
        format: one of `FORMATS`; recognised when not given.
        limit: the first so many rows.
        id_column: the rows' own ids.
        where: keep the rows whose column has a value, as in `split=train`.
        encoding: of the text; recognised when not given, for `polarity` Latin-1.
        max_line_bytes: the longest line or row, in bytes of UTF-8; 2^28 if not given.
        skip: rows left out at the beginning.
        sample: draw the `limit` over the whole file instead, each label with its share; rows keep their
            order.
        seed: of that draw.
        without: places of rows in the file, as in `Table.numbers`, that are left out.
        clean: write `<br />` as a space.
        unescape: undo the escapes of trees.
        blank_labels: a row without label is an error, is dropped, or is kept with label "".
        drop_empty: leave out rows whose text is empty or blank.
        with_lines: say on which line each row begins (`Table.lines`).
        separator: of CSV and TSV; recognised when not given.
        header: whether the first row of CSV or TSV names the columns; recognised when not given. Without
            names, columns are called by their numbers, from 1.
        like: how an earlier file was read, as a run remembers it (`read_as`): settings not named here are
            taken from there where this file fits it or leaves it open.
        keep: names of other columns to keep in `Table.kept`; `all` keeps every column, `*` each whose name
            no other column has.
        classes: labels name classes: they are trimmed and composed, and 1.0 is 1. Otherwise they are texts,
            and only columns that are named are read.
        several: a row may have several labels, or none: how they are written is recognised.
        label_separator: between the labels of a cell; `json` for lists, `none` where a cell is
            one label. With a separator rows have several labels.
        label_columns: columns of 0 and 1, one for each label, which rows may have several of.

    Raises:
        DataError: if the file is malformed.
        FileNotFoundError: if there is none.
    """
    path = Path(path)
    if limit is not None and limit < 1:
        raise DataError(f"limit {limit}: at least 1 row")
    if path.is_file() and not path.stat().st_size:
        raise DataError(f"{path}: the file is empty")
    before = dict(like or {})
    columns = {role: name for role, name in before.items() if role in ("text", "label", "group", "id")}
    n_columns = int(before["n_columns"]) if "n_columns" in before else None
    sets = asked_of(several, label_separator, label_columns, before) if classes else None
    if sets is not None and label_column is not None and label_columns:
        raise DataError(f"label column {label_column!r} and label columns: name one or the other")
    asked = Columns(
        text_column, label_column, group_column, id_column, _condition(where), columns, tuple(keep), classes,
        n_columns, sets, needs_labels=blank_labels != "keep",
    )  # fmt: skip
    wanted = Wanted(
        asked,
        separator=None if separator is None else separator_of(separator),
        header=header,
        max_line_bytes=max_line_bytes,
        unescape=unescape,
        # The columns of an earlier file may be in any file; its format is in one of the same suffix.
        like=before if before.get("suffix") == plain_suffix(path) and path.is_file() else {},
    )

    def read(encoding: str | None, otherwise: str | None = None) -> Table:
        drawn = Sample(limit, seed) if sample and limit is not None else None
        first = limit if drawn is None else None
        rows = Rows(
            path, limit=first, skip=skip, blank=blank_labels, sample=drawn, without=without, classes=classes,
            drop_empty=drop_empty, with_lines=with_lines,
            sets=None if sets is None else set_reader(sets, path),
        )  # fmt: skip
        with opened(Source(path, wanted, encoding, otherwise), format) as (kind, table):
            add_rows(table, asked, rows, clean=clean)
            sha256 = table.sha256()
        if table.note is not None or (format is None and kind != wanted.like.get("format")):
            rows.notes.insert(0, f"read as {kind}: {table.note or READERS[kind].about}")
        return rows.finish(sha256, kind)

    try:
        return read(encoding)
    except NotUtf8Error:
        if encoding is not None:
            raise
    found, unlike = _encoding(path, before.get("encoding"))
    table = read(None, found) if path.is_dir() else read(found)
    words = (match[0] for text in table.texts if (match := _BEYOND_ASCII.search(text)) is not None)
    shown = ", ".join(map(repr, islice(dict.fromkeys(islice(words, 20)), 3)))
    remedy = "--encoding latin-1, or another, if that is wrong"
    which = "files that are " if path.is_dir() else ""
    note = f"{which}not UTF-8, read as {found}{unlike}{shown and f': {shown}'} ({remedy})"
    return replace(table, notes=(note, *table.notes))


def _encoding(path: Path, usual: str | None) -> tuple[str, str]:
    """Returns the encoding of a file that is not UTF-8, and what to say if an earlier file had another."""
    try:
        if path.is_dir():
            return encoding_of_files(_Reviews.of(path).files.values()), ""
        found = encoding_of(path)
    except DataError:
        if usual is None:
            raise
        return usual, ""
    if usual is None or decodes_better(path, usual, found):
        return usual or found, ""
    return found, "" if found == usual else f", not as {usual}, as in training"


def read_as(table: Table, **options: Any) -> dict[str, str]:
    """Returns how a table was read, for `like`.

    Args:
        table: the table.
        options: `format`, `separator`, `header` and `encoding` as they were given; `None` where recognised.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if "header" in given:
        given["header"] = "yes" if given["header"] else "no"
    # Columns without names are positions, which mean nothing in a file with more or fewer columns.
    unnamed = list(table.names) == [str(place) for place in range(1, len(table.names) + 1)]
    if unnamed and table.columns:
        given["n_columns"] = str(len(table.names))
    if table.label_form is not None:
        given["label_form"] = table.label_form
    if table.label_columns:
        given["label_columns"] = json.dumps(table.label_columns, ensure_ascii=False)
    return {**table.columns, **given, "suffix": plain_suffix(table.source)}


def _condition(where: str | None) -> tuple[str, str] | None:
    if where is None:
        return None
    name, equals, value = where.partition("=")
    if not (name and equals):
        raise DataError(f"where {where!r}: expected COLUMN=VALUE, as in split=train")
    return name, value


def training_table(path: Any, *args: Any, **kwargs: Any) -> Table:
    """Reads a table to train, tune or stop on, without empty lines; the arguments are those of `read_table`.

    Raises:
        DataError: if the file is malformed.
    """
    table = read_table(path, *args, **kwargs)
    if not any(map(str.strip, table.texts)):
        column = f" in the column {table.columns['text']!r}; name another" if "text" in table.columns else ""
        raise DataError(f"{table.source}: every text is empty{column and f'{column}: --text-column'}")
    if table.format == "lines":
        # Answers line up with empty lines; there is nothing to learn from them.
        filled = [row for row, text in enumerate(table.texts) if text.strip()]
        table = table.take(filled) if len(filled) < len(table) else table
    return table


KAGGLE_HEADER = ("PhraseId", "SentenceId", "Phrase")
# Characters of the rows that are read at a time, or a little more.
_AT_ONCE = 1 << 18
# A label of fastText's files.
_LABEL = re.compile(r"(?<!\S)__label__(\S+)\s*")
# Folders that are parts of a data set, not classes.
_PARTS = ("train", "training", "test", "testing", "valid", "validation", "val", "dev")
# A line of these is blank, as in TSV: it is not a row.
_BLANKS = " \r"
# `123_7.txt` of the IMDB folder: the review's number and its rating.
_REVIEW = re.compile(r"(\d+)_(\d+)\.txt$")
# Bytes of UTF-8 that one text of several lines has, where no limit is given.
_MOST = 1 << 28


@dataclass(frozen=True)
class Wanted:
    """How a file is to be read.

    Attributes:
        columns: that the user named.
        separator: between cells, if it was named.
        header: whether the first row names the columns, if that was said.
        max_line_bytes: the longest line or row, in bytes.
        unescape: undo the escapes of trees.
        like: how an earlier file of the same suffix was read (`read_as`), where this one leaves it open.
    """

    columns: Columns = field(default_factory=Columns)
    separator: str | None = None
    header: bool | None = None
    max_line_bytes: int | None = None
    unescape: bool = False
    like: Mapping[str, str] = field(default_factory=dict)

    @property
    def usual_header(self) -> bool | None:
        """Whether the first row of the earlier file named its columns, if that was said."""
        return self.like["header"] == "yes" if "header" in self.like else None


@dataclass(frozen=True)
class Source:
    """A file or folder that a reader opens.

    Attributes:
        path: the file or folder.
        wanted: how it is to be read.
        named: the encoding that was named, if any.
        otherwise: that of files of a folder that are not UTF-8.
    """

    path: Path
    wanted: Wanted
    named: str | None = None
    otherwise: str | None = None

    @property
    def encoding(self) -> str:
        """The encoding of the text."""
        return self.named or "utf-8"

    @property
    def longest(self) -> int | None:
        """The longest line or row, in bytes."""
        return self.wanted.max_line_bytes

    @contextmanager
    def stream(self) -> Iterator[IO[str]]:
        """Opens the text."""
        with open_text(self.path, self.encoding, self.longest) as file:
            yield file.stream()


@dataclass(frozen=True)
class Reader:
    """One row of the table of readers.

    Attributes:
        about: a description of the format, as in `--format` and the notes of a table.
        open: opens a file or folder.
        suffixes: of files that are of this format whatever they hold.
        begins: whether a file is of this format, by its first lines and its suffix; asked in the order of the
            table, where no row has the suffix of the file.
        has_columns: whether rows have named columns.
        separated: whether cells are separated by a separator.
        of_folders: whether it reads a folder, whose files belong together.
        example: the files of an example by their paths, with a text that is "good fun" and one that is "so
            dull"; none where columns have names. Tests read it.
    """

    about: str
    open: Callable[[Source], AbstractContextManager[OpenTable]]
    suffixes: tuple[str, ...] = ()
    begins: Callable[[list[str], str], bool] | None = None
    has_columns: bool = False
    separated: bool = False
    of_folders: bool = False
    example: Mapping[str, str] = field(default_factory=dict)


def _of_text(read: Callable[[TextFile, Source], OpenTable]) -> Callable[[Source], Any]:
    """Makes a reader of an open text."""

    @contextmanager
    def opened(source: Source) -> Iterator[OpenTable]:
        with open_text(source.path, source.encoding, source.longest) as file:
            yield read(file, source)

    return opened


# A row of a format with fixed columns: its line, then its cells.
_Row = tuple[int | None, *tuple[str, ...]]


def _fixed(names: Sequence[str], rows: Iterator[_Row], sha256: Callable[[], str]) -> OpenTable:
    """Returns a table of fixed columns; rows before one that is an error can be read."""

    def cells(block: list[_Row]) -> Cells:
        lines, *columns = zip(*block, strict=True)
        line_of = None if lines[0] is None else lines.__getitem__
        return Cells({name: list(column) for name, column in zip(names, columns, strict=True)}, line_of)

    def blocks(*_: object) -> Iterator[Cells]:
        block: list[_Row] = []
        size = 0
        try:
            for row in rows:
                block.append(row)
                size += 1 + sum(map(len, row[1:]))
                if size >= _AT_ONCE:
                    yield cells(block)
                    block, size = [], 0
        except (DataError, FormatError, UnicodeError):
            if block:
                yield cells(block)
            raise
        if block:
            yield cells(block)

    return OpenTable(names, blocks, sha256, fixed=True)


def _phrases(file: TextFile, source: Source) -> OpenTable:
    """Opens the Kaggle phrases: four columns with labels, three without, no quoting."""
    lines = file.lines()
    header = tuple(next(lines, "").split("\t"))
    if header not in (KAGGLE_HEADER, (*KAGGLE_HEADER, "Sentiment")):
        raise DataError(f"{source.path}: line 1: expected {' '.join(KAGGLE_HEADER)} [Sentiment]")

    def rows() -> Iterator[_Row]:
        for number, line in enumerate(lines, 2):
            if line.strip(_BLANKS):
                yield number, *_fields(line, len(header), source.path, number)

    return _fixed(("id", "group", "text", "label")[: len(header)], rows(), file.sha256)


def _fields(line: str, n_columns: int, path: Path, number: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) != n_columns:
        columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
        raise DataError(f"{path}: line {number}: {columns} instead of {n_columns}")
    return fields


def _pairs_of(first_lines: list[str]) -> list[list[str]]:
    return [line.split("\t") for line in first_lines if line.strip(_BLANKS)]


def _label_side(first_lines: list[str]) -> int | None:
    """Returns the column of a headerless two-column file that holds labels; `None` if neither."""
    fields = _pairs_of(first_lines)
    if not fields or any(len(row) != 2 for row in fields):
        return None
    numbers = [all(re.fullmatch(r"-?\d{1,2}", row[side]) for row in fields) for side in (0, 1)]
    return numbers.index(True) if sum(numbers) == 1 else None


def _is_pairs(first_lines: list[str]) -> bool:
    """Whether the numbers of a headerless two-column file are labels, and not those of rows or columns."""
    side = _label_side(first_lines)
    fields = _pairs_of(first_lines)
    if side is None or fields[0] == ["0", "1"]:  # the names that pandas gives columns without one
        return False
    return are_labels([row[side] for row in fields])


def _pairs(file: TextFile, source: Source) -> OpenTable:
    """Opens `sentence TAB label` (or the other way round) without header."""
    side = _label_side(_first_lines(source.path, source.encoding, source.longest))
    if side is None:
        raise DataError(f"{source.path}: expected two columns, one of them whole numbers")

    def rows() -> Iterator[_Row]:
        for number, line in enumerate(file.lines(), 1):
            if line.strip(_BLANKS):
                yield number, *_fields(line, 2, source.path, number)

    return _fixed(("text", "label") if side else ("label", "text"), rows(), file.sha256)


def _is_fasttext(first_lines: list[str]) -> bool:
    """Whether every line has a label as fastText writes it."""
    return bool(first_lines) and all(_LABEL.search(line) for line in first_lines if line.strip())


def _fasttext(file: TextFile, source: Source) -> OpenTable:
    """Opens `__label__NAME text`, the label at any place of the line; empty lines are passed over."""
    several = source.wanted.columns.sets is not None

    def rows() -> Iterator[_Row]:
        for number, line in enumerate(file.lines(), 1):
            matches = list(_LABEL.finditer(line))
            text = _LABEL.sub("", line).strip()
            if several:
                names = [one[1] for one in matches]
                yield number, text, set_cell(names) if text or names else ""
                continue
            if len(matches) > 1:
                shown = ", ".join(one[1] for one in matches[:5])
                raise DataError(
                    f"{source.path}: line {number}: {len(matches)} labels ({shown}); a text has one class "
                    "here: keep one label a line, or train on all of them: --task multilabel (to read them "
                    "only: --label-separator json)"
                )
            yield number, text, matches[0][1] if matches else ""

    table = _fixed(("text", "label"), rows(), file.sha256)

    def blocks(*_: object) -> Iterator[Cells]:
        for block in table.blocks((), (), ()):
            filled = [text or label for text, label in zip(*block.by_name.values(), strict=True)]
            yield replace(block, is_row=list(map(bool, filled)))

    return replace(table, blocks=blocks)


def _plain(file: TextFile, _: Source) -> OpenTable:
    """Opens texts, one a line. An empty line is a row too, so that answers line up with the lines."""

    def blocks(*_: object) -> Iterator[Cells]:
        for lines in file.line_blocks():
            yield Cells({"text": lines})

    return OpenTable(("text",), blocks, file.sha256, fixed=True)


def _paragraphs(file: TextFile, source: Source) -> OpenTable:
    """Opens texts that a blank line ends."""
    most = _MOST if source.longest is None else source.longest

    def rows() -> Iterator[_Row]:
        block: list[str] = []
        size = 0
        for number, line in enumerate(file.lines(), 1):
            if line.strip():
                block.append(line)
                size += _n_bytes(line) + 1
                if size > most:
                    raise DataError(
                        f"{source.path}: line {number}: a paragraph of more than {most} bytes, the most that "
                        "one text has; take --format lines, or raise --max-line-bytes"
                    )
            elif block:
                yield number - len(block), "\n".join(block)
                block, size = [], 0
        if block:
            yield number - len(block) + 1, "\n".join(block)

    return _fixed(("text",), rows(), file.sha256)


def _whole(file: TextFile, source: Source) -> OpenTable:
    """Opens a file that is one text."""
    most = _MOST if source.longest is None else source.longest

    def rows() -> Iterator[_Row]:
        text = file.stream().read(most + 1)
        if _n_bytes(text) > most:
            raise DataError(
                f"{source.path}: longer than {most} bytes, the most that one text has; take --format "
                "paragraphs, or raise --max-line-bytes"
            )
        yield 1, text

    return _fixed(("text",), rows(), file.sha256)


def _n_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@contextmanager
def _polarity(source: Source) -> Iterator[OpenTable]:
    """Opens `NAME.pos` and `NAME.neg` of a folder, or the one file given."""
    path = source.path
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    sides = {plain_suffix(file)[1:]: file for file in files if plain_suffix(file) in (".pos", ".neg")}
    n_files = sum(plain_suffix(file) in (".pos", ".neg") for file in files)
    if path.is_dir() and (sorted(sides) != ["neg", "pos"] or n_files > 2):
        raise DataError(f"{path}: expected one file ending in .pos and one in .neg")
    hashes: dict[str, str] = {}

    def rows() -> Iterator[_Row]:
        for side, file in sides.items():
            with open_text(file, source.named or "latin-1", source.longest) as opened:
                blanks: list[_Row] = []
                for number, line in enumerate(opened.lines(), 1):
                    # Every line of the release ends in a space.
                    row = (None, line.removesuffix(" "), side, f"{side}/{number}")
                    if not line.strip(_BLANKS):
                        blanks.append(row)
                        continue
                    # Blank lines at the end are not texts.
                    yield from blanks
                    yield row
                    blanks = []
                hashes[side] = opened.sha256()

    table = _fixed(("text", "label", "id"), rows(), lambda: _hash_of_files(sides, hashes))
    others = [file.name for file in files if file not in sides.values()]
    yield replace(table, note=f"{READERS['polarity'].about}; not read: {listed(others)}") if others else table


@dataclass(frozen=True)
class _Reviews:
    """The files of a folder whose folders are classes.

    Attributes:
        files: by their path within the folder, class by class.
        others: names of files that are not read.
    """

    files: Mapping[str, Path]
    others: Sequence[str]

    @classmethod
    def of(cls, path: Path) -> "_Reviews":
        """Looks into a folder.

        Raises:
            DataError: if it holds no classes.
        """
        entries = sorted(path.iterdir())
        folders = [one for one in entries if one.is_dir() and not one.name.startswith(".")]
        others = [one.name for one in entries if one not in folders]
        parts = [one for one in folders if one.name.lower() in _PARTS]
        if parts:
            raise DataError(f"{path}: {parts[0].name!r} is a part, not a class; give one part: {parts[0]}")
        files: dict[str, Path] = {}
        for folder in folders:
            # IMDB keeps reviews without labels next to pos and neg.
            if folder.name == "unsup" and len(folders) > 2:
                others.append("unsup/ (no labels)")
                continue
            n_before = len(files)
            for parent, inner, names in os.walk(folder):
                inner.sort()
                where = Path(parent)
                unread = [name for name in (*inner, *names) if name.startswith(".")]
                unread += [name for name in inner if (where / name).is_symlink()]
                others += [(where / name).relative_to(path).as_posix() for name in dict.fromkeys(unread)]
                inner[:] = [name for name in inner if name not in unread]
                found = sorted((where / name for name in names if name not in unread), key=_by_number)
                files |= {file.relative_to(path).as_posix(): file for file in found}
            if len(files) == n_before:
                others.append(f"{folder.name}/ (no files)")
        if not files:
            raise DataError(f"{path}: no folders of texts; give the one that holds those of the classes")
        return cls(files, others)

    def ids(self) -> list[str]:
        """Returns the ids of the texts: class and number or name; the whole path where two would be equal."""
        short = []
        for name, file in self.files.items():
            match = _REVIEW.search(file.name)
            short.append(f"{name.removesuffix(file.name)}{match[1] if match else file.stem}")
        counts = Counter(short)
        return [one if counts[one] == 1 else name for one, name in zip(short, self.files, strict=True)]


@contextmanager
def _reviews(source: Source) -> Iterator[OpenTable]:
    """Opens the files of the folders in a folder, one text each, such as `pos/ID_RATING.txt` of IMDB."""
    found = _Reviews.of(source.path)
    hashes: dict[str, str] = {}

    def rows() -> Iterator[_Row]:
        for (name, file), id_ in zip(found.files.items(), found.ids(), strict=True):
            text, hashes[name] = read_text(file, source.named, source.otherwise, source.longest)
            yield None, text, name.partition("/")[0], id_

    table = _fixed(("text", "label", "id"), rows(), lambda: _hash_of_files(found.files, hashes))
    classes = listed(list(dict.fromkeys(name.partition("/")[0] for name in found.files)))
    unread = f"; not read: {listed(found.others)}" if found.others else ""
    yield replace(table, note=f"a folder of folders, the classes {classes}{unread}")


def _by_number(file: Path) -> tuple[int, str]:
    match = _REVIEW.search(file.name)
    return int(match[1]) if match else -1, file.name


def _hash_of_files(files: Mapping[str, Path], known: Mapping[str, str]) -> str:
    """Returns the hash of all files; the hashes of files that were read to their end are known."""
    return hash_hashes((name, known.get(name) or hash_file(file)) for name, file in files.items())


def _trees(nodes: "Nodes", *, binary: bool = False) -> Callable[[Source], Any]:
    def read(file: TextFile, source: Source) -> OpenTable:
        from .sst import read_trees

        rows = read_trees(file, nodes=nodes, binary=binary, undo_escapes=source.wanted.unescape)
        return _fixed(("text", "label", "group"), rows, file.sha256)

    return _of_text(read)


def _separated(*, tabs: bool) -> Callable[[Source], Any]:
    def read(file: TextFile, source: Source) -> OpenTable:
        dialect = recognised(
            source.stream,
            source.path,
            tabs=tabs,
            separator=source.wanted.separator,
            header=source.wanted.header,
            limit=MAX_LINE if source.longest is None else source.longest,
            asked=source.wanted.columns.named,
            known=is_known,
            usual_header=source.wanted.usual_header,
            usual_text=source.wanted.like.get("text"),
        )
        return open_separated(file, dialect)

    return _of_text(read)


def _has_tabs(lines: list[str], suffix: str) -> bool:
    return bool(lines and "\t" in lines[0]) or suffix in (".tsv", ".tab")


# By the names of `--format`. To add a row, write a function that makes an `OpenTable`: `_of_text` opens the
# file for it, `_fixed` makes the table of rows with fixed columns.
READERS: dict[str, Reader] = {
    "phrases": Reader(
        "Kaggle movie-review phrases (PhraseId, SentenceId, Phrase, Sentiment; no quoting)",
        _of_text(_phrases),
        begins=lambda lines, _: bool(lines) and tuple(lines[0].split("\t"))[:3] == KAGGLE_HEADER,
        example={"a.tsv": "PhraseId\tSentenceId\tPhrase\tSentiment\n1\t1\tgood fun\t3\n2\t2\tso dull\t1\n"},
    ),
    "sst": Reader(
        "Stanford trees, one row a sentence",
        _trees("roots"),
        begins=lambda lines, _: bool(lines) and lines[0].startswith("(") and lines[0].endswith(")"),
        example={"a.txt": "(3 (3 good) (2 fun))\n(1 (2 so) (1 dull))\n"},
    ),
    "sst-phrases": Reader(
        "Stanford trees, one row a phrase", _trees("phrases"), example={"a.txt": "(3 good)\n(1 dull)\n"}
    ),
    "sst-binary": Reader(
        "Stanford trees, one row a sentence, labels 0 and 1, neutral left out",
        _trees("roots", binary=True),
        example={"a.txt": "(3 (3 good) (2 fun))\n(1 (2 so) (1 dull))\n"},
    ),
    "fasttext": Reader(
        "__label__NAME text, one a line, as fastText",
        _of_text(_fasttext),
        begins=lambda lines, _: _is_fasttext(lines),
        example={"a.txt": "__label__pos good fun\n\n__label__neg so dull\n"},
    ),
    "pairs": Reader(
        "sentence TAB label without header, as SST-2",
        _of_text(_pairs),
        begins=lambda lines, _: _is_pairs(lines),
        example={"a.tsv": "good fun\t1\nso dull\t0\n"},
    ),
    "polarity": Reader(
        "a folder with NAME.pos and NAME.neg, or one of the two; Latin-1",
        _polarity,
        (".pos", ".neg"),
        of_folders=True,
        example={"a/x.neg": "so dull \n", "a/x.pos": "good fun \n"},
    ),
    "reviews": Reader(
        "a folder with a folder for each class, such as pos/ and neg/, one file a text, as IMDB",
        _reviews,
        of_folders=True,
        example={"a/neg/0_1.txt": "so dull", "a/pos/0_9.txt": "good fun"},
    ),
    "csv": Reader(
        "cells between commas, semicolons, tabs or bars, quoted where they need it",
        _separated(tabs=False),
        (".csv",),
        begins=lambda lines, suffix: not _has_tabs(lines, suffix) and _is_separated(lines),
        has_columns=True,
        separated=True,
    ),
    "tsv": Reader(
        "cells between tabs; quotes are text unless the file uses them throughout",
        _separated(tabs=True),
        begins=_has_tabs,
        has_columns=True,
        separated=True,
    ),
    "jsonl": Reader(
        "one JSON object a line",
        _of_text(lambda file, source: open_json_lines(file, lists=source.wanted.columns.sets is not None)),
        (".jsonl", ".ndjson", ".json"),
        has_columns=True,
    ),
    "parquet": Reader(
        "Parquet (needs pyarrow)",
        lambda source: open_parquet(source.path, lists=source.wanted.columns.sets is not None),
        (".parquet", ".pq"),
        has_columns=True,
    ),
    "lines": Reader(
        "texts without labels, one a line; only where --format says so",
        _of_text(_plain),
        example={"a.txt": "good fun\nso dull\n"},
    ),
    "paragraphs": Reader(
        "texts without labels, ended by blank lines; only where --format says so",
        _of_text(_paragraphs),
        example={"a.txt": "good\nfun\n\nso dull\n"},
    ),
    "text": Reader(
        "the whole file as one text without label; only where --format says so",
        _of_text(_whole),
        example={"a.txt": "good fun\n\nso dull\n"},
    ),
}
FORMATS = {name: reader.about for name, reader in READERS.items()}


@contextmanager
def opened(source: Source, format: str | None) -> Iterator[tuple[str, OpenTable]]:
    """Opens a file or folder by the reader that is named, or recognised; yields the format too.

    Raises:
        DataError: if the format is unclear, or lacks something that was requested.
        FileNotFoundError: if there is none.
    """
    path, wanted = source.path, source.wanted
    if format is not None and format not in FORMATS:
        raise DataError(f"format {format!r}: one of {', '.join(FORMATS)}")
    kind = format
    if kind is None and wanted.separator is not None:
        kind = "tsv" if wanted.separator == "\t" else "csv"
    usual = format or wanted.like.get("format")
    if path.is_file() and (usual is None or READERS[usual].has_columns):
        what, remedy = foreign(path) or (None, None)
        if what == "Parquet" and format in (None, "parquet"):
            kind = "parquet"
        elif what is not None:
            raise DataError(f"{path}: {what}, not a table of texts; {remedy}")
    kind = kind or _as_before(source) or recognise(path, source.encoding, source.longest)
    unlike = ""
    if READERS[kind].separated and wanted.separator is None and "separator" in wanted.like:
        separator = separator_of(wanted.like["separator"])
        if separates(source.stream, separator, tabs=kind == "tsv", known=is_known):
            source = replace(source, wanted=replace(wanted, separator=separator))
            if format is None:
                kind = "tsv" if separator == "\t" else "csv"
        else:
            unlike = f", not by {shown(separator)}, as in training"
    limit = MAX_LINE if source.longest is None else source.longest
    if kind == "pairs" and format is None and quotes_throughout(source.stream, path, "\t", limit):
        kind = "tsv"
    reader, names = READERS[kind], wanted.columns.named
    if names and not reader.has_columns:
        raise DataError(f"{path}: format {kind!r} has fixed columns, not {listed(names)}")
    if not reader.separated and (wanted.separator is not None or wanted.header is not None):
        option = "--separator" if wanted.separator is not None else "--header and --no-header"
        raise DataError(f"{path}: format {kind!r} is not CSV or TSV, so {option} cannot be used")
    with reader.open(source) as table:
        yield kind, replace(table, note=table.note + unlike) if table.note and unlike else table


def _as_before(source: Source) -> str | None:
    """Returns the format by that of an earlier file; `None` where it does not decide.

    It decides where this file is of the same kind, or where its own is unclear.
    """
    like = source.wanted.like
    if not like:
        return None
    usual, separator = like.get("format"), like.get("separator")
    found = _kind_of_file(source.path, source.encoding, source.longest)
    if found is None and usual is None and separator is not None:
        first = next(iter(_first_lines(source.path, source.encoding, source.longest)), "")
        return "csv" if separator_of(separator) in first else None
    # Every tree file is recognised as one row a sentence.
    same = usual is not None and (found is None or (found == "sst" and usual.startswith("sst-")))
    return usual if same else found


@dataclass(frozen=True)
class Texts:
    """The texts of an open file.

    Attributes:
        texts: one after the other, once.
        sha256: reads to the end; returns the hash of the file's bytes after decompression.
        notes: guesses that were made.
    """

    texts: Iterator[str]
    sha256: Callable[[], str]
    notes: list[str]


@contextmanager
def open_texts(
    path: Path,
    text_column: str | None = None,
    format: str | None = None,
    *,
    encoding: str | None = None,
    max_line_bytes: int | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> Iterator[Texts]:
    """Opens the texts of a file alone, which are read in memory that does not grow with the file.

    Args:
        path: the file; gz, xz, bz2 and zst are decompressed.
        text_column: of a file with named columns; `text` where there is one, else guessed.
        format: one of `FORMATS`; recognised when not given.
        encoding: of the text; UTF-8 when not given.
        max_line_bytes: the longest line or row, in bytes of UTF-8; 2^28 if not given.
        separator: of CSV and TSV; recognised when not given.
        header: whether the first row of CSV or TSV names the columns; recognised when not given.

    Raises:
        DataError: if the file is malformed.
        FileNotFoundError: if there is none.
    """
    asked = Columns(text_column)
    wanted = Wanted(asked, None if separator is None else separator_of(separator), header, max_line_bytes)
    try:
        with opened(Source(path, wanted, encoding), format) as (_, table):
            texts, notes = texts_of(table, asked, path)
            yield Texts(texts, table.sha256, notes)
    except NotUtf8Error as error:
        if encoding is not None:
            raise
        if path.is_dir():
            raise
        found = encoding_of(path)
        where = not_in_encoding(path, "utf-8")
        raise DataError(f"{where}; it seems to be {found}: give --encoding {found}") from error
