"""Tables with columns (CSV, TSV, JSON Lines, Parquet): how they are opened, and which column is the text.

A format is opened as an `OpenTable`, whose cells come in blocks, so that a corpus of any size is read in
bounded memory. A column is guessed only when nothing else could be meant, and the guess is a note of the
table.

CSV and TSV are parsed by pandas and Parquet by pyarrow. JSON Lines are parsed by `json`, because
`pandas.read_json` changes what it reads: 9007199254740993 in a column with a null ends in ...992, half a
character vanishes, and an error has no line.
"""

import json
import operator
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

from sentitok.parquet import damage

from ..errors import DataError
from .label_sets import SetsAsked, cells_of_columns, parts_of
from .opening import TextFile, hash_file
from .row_buffer import (
    CellError,
    Rows,
    as_label,
    as_list,
    as_text,
    as_texts,
    as_written,
    whole_cells,
    without_breaks,
)
from .separated import Block, Dialect, Place, columns_of, parsed, rows_within_cells
from .table import listed

# The first name of a list that a file has wins; a list's names are shown to the user.
_TEXT = ("text", "phrase", "sentence", "review", "tweet", "content", "comment", "body", "message")
_LABEL = (
    "label", "sentiment", "class", "category", "target", "polarity", "stars", "rating", "intent", "emotion",
)  # fmt: skip
# Of several labels a row.
_LABELS = ("labels", "tags", "genres", "topics", "categories", "emotions", "classes", "annotations")
_GROUP = ("sentenceid", "group", "group_id")
_ID = ("id", "phraseid", "textid", "review_id")
_USUAL = frozenset((*_TEXT, *_LABEL, *_GROUP, *_ID))
_KNOWN = _USUAL.union(_LABELS)
# A column without a name, by its number; pandas writes the second form.
_UNNAMED = re.compile(r"(column|Unnamed:) [0-9]+")
# Texts have so many words on average, at least; characters of scripts without spaces count as words.
_WORDS = 2.0
_PRINTED_BYTES = re.compile(r"b'.*'|b\".*\"", re.DOTALL)
_HAN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]")
# 2024-01-31, 31/1/2024 or 31.1.24, perhaps with a time.
_DATE = re.compile(
    r"\s*(?:[12]\d{3}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.])\d{1,2}\1(?:\d{4}|\d\d))(?:[ T,].*)?\s*$"
)
# Numbers, dates and times.
_NUMBER = re.compile(r"\s*[-+]?[0-9][-+0-9.,:/%eE ]*")
# A column of more values than this, nearly all of them different, does not hold labels. From fewer rows than
# this it is not clear what a column holds.
_FEW = 20
# Rows of Parquet at a time, and rows that a guess looks at.
_AT_ONCE, LOOKED_AT = 1 << 12, 200
# Values of a column that an error shows.
_SHOWN = 10


@dataclass(frozen=True)
class Cells:
    """Rows that follow one another in a file, column by column.

    Attributes:
        by_name: the cells of each column.
        line_of: returns the line of a row, counted from 0 within these; `None` where rows have no line.
        is_row: which of them are rows of the table; blank lines and repeated headers are not, and only
            counted, because lines are numbered by them.
        several_lines: of a column, the quoted cells that hold lines which may be rows, with their places.
    """

    by_name: Mapping[str, list[str]]
    line_of: Callable[[int], int] | None = None
    is_row: Sequence[bool] | None = None
    several_lines: Callable[[str], Iterator[tuple[Place, list[str]]]] | None = None


@dataclass(frozen=True)
class OpenTable:
    """A file whose rows are about to be read.

    Attributes:
        names: of its columns.
        blocks: reads some columns; each row must have a value in the columns that are named second, and those
            named third may hold any value, such as an object, which is written as JSON.
        sha256: reads to the end; returns the hash of the file's bytes after decompression.
        sample: some cells of each column.
        note: how the file is written, where that was recognised.
        doubtful: the first row was taken for the names, but may be a row.
        header: the first row names the columns.
        fixed: the format has exactly these columns, by their roles: `text`, `label`, `group`, `id`.
    """

    names: Sequence[str]
    blocks: Callable[[Sequence[str], Collection[str], Collection[str]], Iterator[Cells]]
    sha256: Callable[[], str]
    sample: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str | None = None
    doubtful: bool = False
    header: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class Columns:
    """The columns that the user named, or `None` to guess.

    Attributes:
        text: the column of texts.
        label: that of labels.
        group: that of groups.
        id: that of ids.
        where: keep rows whose column has a value.
        like: columns by role that an earlier file had; each that this file has too is taken.
        n_like: how many columns the earlier file had, if they had no names: the columns of `like` are then
            positions, which are taken only where they fit.
        keep: other columns to keep; `all` keeps every column, `*` each whose name no other column has.
        guess: look for columns that are not named. Otherwise the text must be.
        sets: how several labels a row are written; `None` of one label.
        needs_labels: say so where no column holds labels.
    """

    text: str | None = None
    label: str | None = None
    group: str | None = None
    id: str | None = None
    where: tuple[str, str] | None = None
    like: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    guess: bool = True
    n_like: int | None = None
    sets: SetsAsked | None = None
    needs_labels: bool = True

    @property
    def named(self) -> list[str]:
        """The names that the user gave."""
        every = (self.text, self.label, self.group, self.id, self.where[0] if self.where else None)
        columns = () if self.sets is None else self.sets.columns
        kept = (name for name in self.keep if name not in ("all", "*"))
        return [*(name for name in every if name is not None), *columns, *kept]

    def kept(self, names: Sequence[str]) -> list[str]:
        """Returns the columns of a file that are kept."""
        if "all" in self.keep:
            return list(names)
        n = Counter(names) if "*" in self.keep else {}
        return [name for name in names if name in self.keep or n.get(name) == 1]

    def label_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the columns of a file that hold one label each: named ones, or those with usual names."""
        if self.sets is None:
            return ()
        usual = self.sets.usual_columns if self.label is None and self.sets.separator is None else ()
        return self.sets.columns or (usual if set(usual) <= set(names) else ())

    def misfit(self, names: Sequence[str], sample: Mapping[str, Sequence[str]]) -> str | None:
        """Returns why the positions of an earlier file without names are not those of this one; else `None`.

        Args:
            names: the columns of this file.
            sample: some of their cells.
        """
        text = self.like.get("text", "")
        if not text.isdecimal() or not set(self.like.values()) & set(names):
            return None
        if self.n_like not in (None, len(names)):
            return f"this file has {len(names)} column{'s'[: len(names) > 1]}, not {self.n_like}"
        return None if _n_words(sample.get(text, ())) >= _WORDS else "it holds single words or numbers"

    def as_before(self, names: Sequence[str]) -> "Columns":
        """Returns the columns with those of an earlier file where none is named and this file has them."""
        other = replace(self, keep=()).named  # a column may be kept and have a role

        def known(role: str, given: str | None) -> str | None:
            name = self.like.get(role)
            return name if given is None and name in names and name not in other else given

        return replace(
            self,
            text=known("text", self.text),
            label=known("label", self.label),
            group=known("group", self.group),
            id=known("id", self.id),
        )


@dataclass(frozen=True)
class _Chosen:
    text: str
    label: str | None = None
    group: str | None = None
    id: str | None = None


def is_known(name: str) -> bool:
    """Whether a column of this name is one that is looked for."""
    return name.strip().lower() in _USUAL


def choose(table: OpenTable, asked: Columns, path: Path) -> tuple[_Chosen, list[str]]:
    """Returns the columns to read, and notes on the guessed ones.

    Args:
        table: the open file.
        asked: the columns that the user named.
        path: for messages.

    Raises:
        DataError: if a named column is missing, two columns share its name, or the text column is not clear.
    """
    names, sample = table.names, table.sample
    for name in asked.named:
        if name not in names:
            # Columns are called by numbers only without a header, as they are where one was recognised.
            numbered = table.header and name.isdecimal() and 1 <= int(name) <= len(names)
            hint = "; if its first row is not a header, give --no-header" if numbered else ""
            raise DataError(f"{path}: no column {name!r}; it has {listed(names)}{hint}")
    # Other columns may share a name: nothing reads them.
    for name, n in Counter(names).items():
        if n > 1 and (name in asked.named or is_known(name) or "all" in asked.keep):
            raise DataError(f"{path}: two columns share a name: {name!r}; rename one")
    if asked.text is not None and not asked.guess:
        return _Chosen(asked.text, asked.label, asked.group, asked.id), []
    notes = []
    why = asked.misfit(names, sample)
    if why is None:
        asked = asked.as_before(names)
    elif asked.text is None:
        notes.append(f"column {asked.like['text']!r} is not taken for the text, as in training: {why}")
    of_labels = asked.label_columns(names)
    taken = {
        name for name in (asked.text, asked.label, asked.group, asked.id, *of_labels) if name is not None
    }
    usual: tuple[str, ...] = _LABEL if asked.sets is None else (*_LABELS, *_LABEL)
    if asked.where is not None:
        taken.add(asked.where[0])
    # Columns without a name and without a cell come from separators behind the rows.
    filled = [
        name for name in names if not _UNNAMED.fullmatch(name) or any(map(str.strip, sample.get(name, ())))
    ]
    # Of a million columns few are looked at closely.
    candidates = [name for name in names if name.lower() in _KNOWN]
    text, unlike_texts = asked.text, set[str]()
    if text is None:
        unlike_texts = {
            name for name in candidates if name.lower() in _TEXT and not _are_texts(sample.get(name, ()))
        }
        text = _guess(candidates, _TEXT, taken | unlike_texts)
        text = text or _wordiest(filled, taken | unlike_texts, sample)
    if text is None:
        hint = f"; most cells of {listed(sorted(unlike_texts))} are blank or numbers" if unlike_texts else ""
        other = " or, if its first row names no columns, --no-header" if table.doubtful else ""
        raise DataError(
            f"{path}: which column is the text? It has {listed(names)}{hint}; use --text-column{other}"
        )
    taken.add(text)
    # Rows may be chosen by their label.
    label, unlike_labels = asked.label, set[str]()
    if label is None:
        # Lists have their own error.
        unlike_labels = {
            name
            for name in candidates
            if name.lower() in usual
            and not are_labels(cells := sample.get(name, ()))
            and all(as_list(cell) is None for cell in cells)
            and not (asked.sets and are_labels([part for cell in cells for part in parts_of(cell)]))
        }
        label = (
            None if of_labels else _guess(candidates, usual, {text, asked.group, asked.id} | unlike_labels)
        )
    group = asked.group or _guess(candidates, _GROUP, taken)
    # Of two columns one is the text, so the other can only be the label.
    if label is None and group is None and not of_labels:
        unlike = unlike_texts | unlike_labels
        rest = [name for name in filled if name not in {text, *unlike} and not _UNNAMED.fullmatch(name)]
        if len(rest) == 1 and rest[0].lower() not in _ID and rest[0] not in taken and len(names) > 1:
            if are_labels(sample.get(rest[0], ())):
                label = rest[0]
            else:
                unlike_labels.add(rest[0])
    if label is None and not of_labels:
        label = _few_values(filled, taken, sample)
    # Of many classes a small part of the rows has most only once, so a name says more than its cells.
    named = _guess(candidates, usual, {text, asked.group, asked.id})
    if label is None and not of_labels and named is not None and _are_texts(sample.get(named, ())):
        label = named
        unlike_labels.discard(named)
    chosen = _Chosen(text, label, group, asked.id or _guess(candidates, _ID, taken))
    for what, column, named in (("text", text, asked.text), ("label", label, asked.label)):
        if named is None and column is not None:
            notes.append(f"{what} column: {column!r} (of {listed(filled)})")
    if asked.group is None and group is not None:
        notes.append(f"group column: {group!r}")
    texts = [cell for cell in sample.get(text, ()) if cell.strip()]
    if texts and all(map(_PRINTED_BYTES.fullmatch, texts)):
        notes.append(f"texts are bytes as Python prints them ({texts[0][:40]}); decode them first")
    elif texts and all(as_list(cell) is not None for cell in texts):
        notes.append(f"texts are lists or objects ({texts[0][:40]}); write only the text of each")
    if of_labels:
        notes.append(f"label columns: {listed(of_labels)}")
    elif label is None and asked.needs_labels:
        notes.append(f"no label column among {listed(filled)}")
        yes_no = [name for name in filled if name != text and _are_yes_or_no(sample.get(name, ()))]
        if len(yes_no) > 1:
            named_so = shlex.quote(",".join(yes_no))
            notes.append(
                f"columns {listed(yes_no)} hold 0 and 1; if each is a label: --label-columns {named_so}"
            )
    for what, found, known, unlike, why in (
        ("text", text, _TEXT, unlike_texts, "most of its cells are blank or numbers"),
        ("label", label, usual, unlike_labels, "its values are dates, or nearly all different"),
    ):
        by_name = _guess(candidates, known, {asked.group, asked.id})
        notes += [
            f"{what} column is not {name!r}, as {why} (--{what}-column {shlex.quote(name)}, if it is)"
            for name in sorted(unlike)
            if found is None or name == by_name
        ]
    spilled = [name for name in filled if _UNNAMED.fullmatch(name) and _has_letters(sample.get(name, ()))]
    if spilled and not {text, label} & set(spilled):
        notes.append(f"cells in columns without a name are not read ({listed(spilled)})")
    return chosen, notes


def _guess(names: Sequence[str], known: tuple[str, ...], taken: Collection[str | None]) -> str | None:
    """The first known name that exactly one free column has."""
    candidates: dict[str, list[str]] = {candidate: [] for candidate in known}
    for name in names:
        if name.lower() in candidates and name not in taken:
            candidates[name.lower()].append(name)
    matches = next((found for found in candidates.values() if found), [])
    return matches[0] if len(matches) == 1 else None


def _wordiest(names: Sequence[str], taken: set[str], sample: Mapping[str, Sequence[str]]) -> str | None:
    """The column of words: the only one, or the one with most of them by far."""
    free = [name for name in names if name not in taken]
    labels = {name for name in free if name.lower() in {*_LABEL, *_GROUP, *_ID}}
    free = [name for name in free if name not in labels]
    if len(free) == 1 and (len(names) == 1 or labels | taken) and _has_letters(sample.get(free[0], ())):
        return free[0]
    lettered = [name for name in free if _has_letters(sample.get(name, ()))]
    if len(names) == 2 and len(lettered) == 1:  # numbers next to words
        return lettered[0]
    words = sorted(((_n_words(sample.get(name, ())), name) for name in free), reverse=True)
    if not words or words[0][0] < _WORDS:
        return None
    if len(words) > 1 and words[1][0] * 1.5 > words[0][0]:
        return None
    return words[0][1]


def _are_texts(cells: Sequence[str]) -> bool:
    """Whether at least half of the cells are neither blank nor numbers, or there are too few to decide."""
    n_texts = sum(bool(cell.strip()) and _NUMBER.fullmatch(cell) is None for cell in cells)
    return len(cells) < _FEW or n_texts * 2 >= len(cells)


def _are_yes_or_no(cells: Sequence[str]) -> bool:
    """Whether cells are 0 and 1, and both occur."""
    return {cell.strip() for cell in cells} - {""} == {"0", "1"}


def are_labels(cells: Sequence[str]) -> bool:
    """Whether values repeat as those of labels do, and are not dates.

    There are at most 20 of them, or at most three in four rows.
    """
    filled = [cell for cell in cells if cell.strip()]
    values = set(filled)
    repeat = len(values) <= _FEW or len(values) * 4 <= len(filled) * 3
    return repeat and (not values or not all(map(_DATE.match, values)))


def _has_letters(cells: Sequence[str]) -> bool:
    return any(any(map(str.isalpha, cell)) for cell in cells)


def _n_words(cells: Sequence[str]) -> float:
    filled = [cell for cell in cells if cell.strip()]
    words = sum(max(len(cell.split()), len(_HAN.findall(cell))) for cell in filled if _has_letters([cell]))
    return words / len(filled) if filled else 0.0


def _few_values(names: Sequence[str], taken: set[str], sample: Mapping[str, Sequence[str]]) -> str | None:
    """The one column of few values whose name holds that of a label, such as `airline_sentiment`."""

    def matches(name: str) -> bool:
        cells = sample.get(name, ())
        filled = [cell for cell in cells if cell.strip()]
        return (
            name not in taken
            and bool(set(re.findall("[a-z]+", name.lower())) & set(_LABEL))
            # Not `airline_sentiment_gold`, which a few rows have.
            and len(filled) * 2 > len(cells)
            and len(set(filled)) <= 20
            and not any(re.fullmatch(r"[0-9]*\.[0-9]*[1-9][0-9]*", cell) for cell in filled)
        )

    matching = [name for name in names if matches(name)]
    # `sentiment_label` rather than `sentiment_id`.
    if len(matching) > 1:
        matching = [name for name in matching if re.findall("[a-z]+", name.lower())[-1] in _LABEL]
    return matching[0] if len(matching) == 1 else None


def add_rows(table: OpenTable, asked: Columns, rows: Rows, *, clean: bool = False) -> None:
    """Adds the rows of a table, until no more are wanted.

    Args:
        table: the open file.
        asked: the columns that the user named.
        rows: where they go.
        clean: write `<br />` as a space in texts.

    Raises:
        DataError: if a column is missing or unclear, or a cell is malformed.
    """
    of_labels = () if table.fixed else asked.label_columns(table.names)
    if table.fixed:
        if asked.sets is not None and asked.sets.columns:
            raise DataError(
                f"{rows.path}: label columns {listed(asked.sets.columns)}: the file has no columns with names"
            )
        chosen, kept = _Chosen(**{name: name for name in table.names}), []
    else:
        chosen, notes = choose(table, asked, rows.path)
        rows.notes += notes
        splits = [name for name in table.names if name.lower() == "split"]
        if splits and asked.where is None and not rows.without:
            rows.notes.append(f"column {splits[0]!r} is not used; --where {splits[0]}=train keeps one part")
        rows.columns = {role: name for role, name in vars(chosen).items() if name is not None}
        rows.names = table.names
        kept = asked.kept(table.names)
        rows.label_columns = of_labels
    roles, where = (chosen.label, chosen.group, chosen.id), asked.where
    every = [chosen.text, *roles, where and where[0], *kept, *of_labels]
    needed = [name for name in dict.fromkeys(every) if name is not None]
    swallowed: list[tuple[Place, list[str]]] = []
    # A row without label is counted with those whose label is empty.
    required = {chosen.text}
    if not asked.guess:
        required |= {name for name in (chosen.label, *kept) if name is not None}
    if rows.drop_empty:
        required -= {chosen.text}
    found: set[str] = set()
    headers: list[int] = []
    # A column without a role may hold anything: it is only carried along, unless only named columns are read.
    plain = {*kept} - {chosen.text, *roles, where and where[0], *of_labels} if asked.guess else set()
    for block in table.blocks(needed, required, plain):
        cells = block.by_name
        if chosen.label is not None and block.several_lines is not None:
            swallowed += block.several_lines(chosen.label)
        wanted = block.is_row
        if wanted is not None and block.line_of is not None and not table.fixed:
            headers += [block.line_of(row) for row, kept in enumerate(wanted) if not kept]
        if where is not None:
            value = as_label(where[1])
            fits = [as_label(cell) == value for cell in cells[where[0]]]
            wanted = fits if wanted is None else list(map(operator.and_, fits, wanted))
            if not rows.seen and len(found) <= _SHOWN:
                found |= set(cells[where[0]])
        texts = cells[chosen.text]
        columns = [None if name is None else cells[name] for name in roles]
        if of_labels:
            line_of, begin = block.line_of, rows.place

            def place(row: int, line_of: Any = line_of, begin: int = begin) -> str:
                return f"row {begin + row + 1}" if line_of is None else f"line {line_of(row)}"

            columns[0] = cells_of_columns({name: cells[name] for name in of_labels}, place, rows.path)
        more = rows.extend(
            [without_breaks(text) for text in texts] if clean else texts,
            *columns,
            kept=wanted,
            line_of=block.line_of,
            others={name: cells[name] for name in kept},
        )
        if not more:
            break
    if where is not None and rows.place and not rows.seen:
        values = listed(sorted(found)[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        raise DataError(f"{rows.path}: no row has {where[1]!r} in the column {where[0]!r}; it has {values}")
    if headers:
        lines = ", ".join(map(str, headers[:_SHOWN])) + (", ..." if len(headers) > _SHOWN else "")
        rows.notes.append(f"rows that repeat the header are left out (line {lines})")
    _refuse_swallowed(rows, swallowed)


def texts_of(table: OpenTable, asked: Columns, path: Path) -> tuple[Iterator[str], list[str]]:
    """Returns the texts of a table, read in memory that does not grow with it, and notes on guesses.

    Raises:
        DataError: if the column is missing or unclear, or a cell is not one text.
    """
    name, notes = "text", []
    if not table.fixed and (asked.text is not None or name not in table.names):
        chosen, _ = choose(table, asked, path)
        name = chosen.text
        if asked.text is None:
            notes.append(f"text column: {name!r} (of {listed(table.names)})")

    def texts() -> Iterator[str]:
        for block in table.blocks([name], [name], ()):
            whole, _ = whole_cells(block.by_name[name])
            yield from whole if block.is_row is None else compress(whole, block.is_row)

    return texts(), notes


def open_separated(file: TextFile, dialect: Dialect) -> OpenTable:
    """Opens a CSV or TSV file; a row with other columns than the first, or an open quote, is an error."""
    path, names = file.path, dialect.names

    def blocks(needed: Sequence[str], *_: Collection[str]) -> Iterator[Cells]:
        places = {name: names.index(name) for name in needed}
        for block in dialect.blocks(file.stream(), path, file.longest):
            columns = parsed(path, block, len(names), sorted(set(places.values())))

            def several_lines(name: str, block: Block = block) -> Iterator[tuple[Place, list[str]]]:
                return rows_within_cells(block, len(names), places[name])

            yield Cells(
                {name: columns[at] for name, at in places.items()},
                block.line_of,
                block.is_row(dialect.header_line),
                several_lines if dialect.quoted and not dialect.sure else None,
            )

    sample = dict(zip(names, columns_of(dialect.rows, len(names)), strict=True))
    return OpenTable(names, blocks, file.sha256, sample, dialect.note, dialect.doubtful, dialect.header)


def _refuse_swallowed(rows: Rows, found: list[tuple[Place, list[str]]]) -> None:
    """Refuses a quoted cell of several lines, each of which ends in a label as a row does."""
    counts = Counter(rows.labels)
    for place, cells in found:
        if all(counts[as_label(cell)] > len(found) for cell in cells):
            raise DataError(
                f"{rows.path}: {place}: the quote that opens here holds {len(cells)} lines that are rows by "
                "their labels; write a quote that is text twice, inside a quoted cell"
            )


def open_json_lines(file: TextFile, *, lists: bool = False) -> OpenTable:
    """Opens a file of one JSON object a line; anything else, or a row without its text, is an error.

    With `lists` a cell may be a list, of several labels.
    """
    path = file.path
    read = _records(file, path)
    first = list(islice(read, 1))
    if not first:
        return OpenTable(("text",), lambda *_: iter(()), file.sha256, fixed=True)
    looked_at = first[0][1][:LOOKED_AT]
    names = list(dict.fromkeys(chain.from_iterable(looked_at)))
    sample = {name: [_shown(record.get(name), lists) for record in looked_at] for name in names}

    def blocks(needed: Sequence[str], required: Collection[str], plain: Collection[str]) -> Iterator[Cells]:
        for numbers, records in chain(first, read):
            cells = {}
            for name in needed:
                if name in required:
                    values = _present(records, name, path, numbers)
                else:
                    values = [record.get(name) for record in records]
                if name in plain:
                    cells[name] = list(map(as_written, values))
                    continue
                cells[name] = _cells(values, name, path, numbers, lists=lists and name not in required)
            yield Cells(cells, numbers.__getitem__)

    return OpenTable(names, blocks, file.sha256, sample)


def _present(records: list[dict[str, Any]], name: str, path: Path, numbers: list[int]) -> list[Any]:
    """Returns a value of each record; raises if one lacks it."""
    try:
        return [record[name] for record in records]
    except KeyError:
        number, record = next(one for one in zip(numbers, records, strict=True) if name not in one[1])
        raise DataError(
            f"{path}: line {number}: no {name!r}; it has {listed(list(record))}; for a row without one write "
            f'"{name}": ""'
        ) from None


def _records(file: TextFile, path: Path) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Yields objects with the lines that they are on, some at a time."""
    decode = json.JSONDecoder().raw_decode
    begin = 1
    for lines in file.line_blocks():
        numbers: list[int] = []
        records: list[dict[str, Any]] = []
        for number, line in enumerate(lines, begin):
            try:
                record, end = decode(line)
            except (ValueError, RecursionError):
                end = -1
            if end != len(line) or type(record) is not dict:  # blanks around it, or an error
                if not line.strip():
                    continue
                record = _object(line, path, number, first=begin == 1 and not records)
            numbers.append(number)
            records.append(record)
        begin += len(lines)
        if records:
            yield numbers, records


def _object(line: str, path: Path, number: int, *, first: bool) -> dict[str, Any]:
    if first and line.lstrip().startswith("["):
        made = f"jq -c '.[]' {path.name}"
        raise DataError(f"{path}: a JSON array; expected one object a line, as {made} writes")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        if first and line.strip() in ("{", "["):
            made = f"jq -c . {path.name}"
            raise DataError(
                f"{path}: JSON on several lines; expected one object a line, as {made} writes"
            ) from error
        raise DataError(
            f"{path}: line {number}: not valid JSON ({error}); expected one object a line"
        ) from error
    if not isinstance(record, dict):
        raise DataError(f"{path}: line {number}: expected an object, found {type(record).__name__}")
    return record


def _shown(value: Any, lists: bool = False) -> str:
    try:
        return as_texts([value], lists=lists)[0]
    except CellError:
        return ""


def _cells(
    values: list[Any], name: str, path: Path, numbers: Sequence[int], unit: str = "line", *,
    lists: bool = False,
) -> list[str]:  # fmt: skip
    try:
        return as_texts(values, lists=lists)
    except CellError as error:
        raise DataError(f"{path}: {unit} {numbers[error.place]}, column {name!r}: {error}") from None


@contextmanager
def open_parquet(path: Path, *, lists: bool = False) -> Iterator[OpenTable]:
    """Opens a Parquet file, which is read by batches; with `lists` a cell may be a list, of several labels.

    Raises:
        DataError: if pyarrow is missing or cannot read the file, or a cell is not one text.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(f'{path}: Parquet needs pyarrow: pip install "sentitok[arrow]"') from error
    with path.open("rb"):  # the error of a file that is not there is that of any other
        pass
    try:
        with pq.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            first = next(file.iter_batches(batch_size=LOOKED_AT), None)
            columns = () if first is None else first.columns
            sample = {name: _sampled(one, lists) for name, one in zip(names, columns, strict=bool(columns))}

            def blocks(
                needed: Sequence[str], required: Collection[str], plain: Collection[str]
            ) -> Iterator[Cells]:
                begin = 1
                for batch in file.iter_batches(batch_size=_AT_ONCE, columns=list(needed)):
                    numbers = range(begin, begin + batch.num_rows)
                    cells = {}
                    for name in needed:
                        values = _values(batch.column(name), name, path, begin, plain=name in plain)
                        cells[name] = (
                            list(map(as_written, values))
                            if name in plain
                            else _cells(
                                values, name, path, numbers, "row", lists=lists and name not in required
                            )
                        )
                    yield Cells(cells)
                    begin += batch.num_rows

            yield OpenTable(names, blocks, lambda: hash_file(path), sample)
    except damage(OSError) as error:
        raise DataError(
            f"{path}: broken, or not Parquet ({error}); write it again, or name its --format"
        ) from error


def _values(column: Any, name: str, path: Path, begin: int, *, plain: bool = False) -> list[Any]:
    """Returns the values of a column of Arrow, numbers of 32 bits as such.

    Raises:
        DataError: if a text is not UTF-8; of a `plain` column all are returned as bytes then.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_floating(kind):
        return list(column.to_numpy(zero_copy_only=False))
    try:
        values: list[Any] = column.to_pylist()
        return values
    except UnicodeDecodeError:
        raw = column.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        values = raw.to_pylist()
        if plain:
            return values
        for row, value in enumerate(values):
            try:
                as_text(value)
            except CellError as error:
                raise DataError(f"{path}: row {begin + row}, column {name!r}: {error}") from None
        raise


def _sampled(column: Any, lists: bool) -> list[str]:
    try:
        return [_shown(value, lists) for value in _values(column, "", Path(), 1)]
    except DataError:
        return []
