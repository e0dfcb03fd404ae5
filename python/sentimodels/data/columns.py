"""Readers of files with named columns: CSV, TSV, JSON lines, Parquet; and the guess of columns.

Not for headerless files (`lines.py`). A column is guessed only when nothing else
could be meant, and the guess is a note of the table. Values become text as they
stand: no missing-value words, and 5, 5.0 and "5" are one label.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError
from .lines import without_breaks
from .opening import TextFile, hash_file
from .row_buffer import Rows, listed

# The first name of a list that a file has wins; a list's names are told to the user.
_TEXT = ("text", "phrase", "sentence", "review", "tweet", "content", "comment", "body", "message")
_LABEL = ("label", "sentiment", "class", "category", "target", "polarity", "stars", "rating")
_GROUP = ("sentenceid", "group", "group_id")
_ID = ("id", "phraseid", "textid", "review_id")


@dataclass(frozen=True)
class Columns:
    """What the user named, or `None` to guess; `where` keeps rows whose column has a value."""

    text: str | None = None
    label: str | None = None
    group: str | None = None
    id: str | None = None
    where: tuple[str, str] | None = None


@dataclass(frozen=True)
class _Chosen:
    text: str
    label: str | None
    group: str | None
    id: str | None


def choose(names: Sequence[str], asked: Columns, path: Path) -> tuple[_Chosen, list[str]]:
    """Returns the columns to read, and notes on those that were guessed.

    Raises:
        DataError: if a named column is missing, or the text column is not clear.
    """
    given = [asked.text, asked.label, asked.group, asked.id, asked.where[0] if asked.where else None]
    for name in given:
        if name is not None and name not in names:
            raise DataError(f"{path}: no column {name!r}; it has {listed(names)}")
    taken = {name for name in given if name is not None}
    text = asked.text or _guess(names, _TEXT, taken)
    if text is None:
        raise DataError(f"{path}: which column is the text? It has {listed(names)}; use --text-column")
    taken.add(text)
    label = asked.label or _guess(names, _LABEL, taken)
    group = asked.group or _guess(names, _GROUP, taken)
    # Of two columns one is the text, so the other can only be the label.
    if label is None and len(names) == 2 and group is None:
        rest = [name for name in names if name != text]
        label = rest[0] if len(rest) == 1 and rest[0].lower() not in _ID else None
    chosen = _Chosen(text, label, group, asked.id or _guess(names, _ID, taken))
    notes = []
    for what, column, named in (("text", text, asked.text), ("label", label, asked.label)):
        if named is None and column is not None:
            notes.append(f"{what} column: {column!r} (of {listed(names)})")
    if asked.group is None and group is not None:
        notes.append(f"group column: {group!r}")
    if label is None:
        notes.append(f"no label column among {listed(names)}")
    splits = [name for name in names if name.lower() == "split"]
    if splits and asked.where is None:
        notes.append(f"column {splits[0]!r} is not used; --where {splits[0]}=train keeps one part")
    return chosen, notes


def _guess(names: Sequence[str], known: tuple[str, ...], taken: set[str]) -> str | None:
    """The first known name that exactly one free column has."""
    for candidate in known:
        matches = [name for name in names if name.lower() == candidate and name not in taken]
        if len(matches) == 1:
            return matches[0]
        if matches:
            return None
    return None


class _Adder:
    """Turns records into rows."""

    def __init__(self, names: Sequence[str], asked: Columns, rows: Rows, *, clean: bool) -> None:
        self.chosen, notes = choose(names, asked, rows.path)
        self.where = asked.where
        self.rows = rows
        self.clean = clean
        rows.notes += notes

    def add(self, record: dict[str, Any], line: int | None) -> bool:
        if self.where is not None and as_text(record.get(self.where[0])) != self.where[1]:
            self.rows.pass_over()
            return True
        chosen = self.chosen
        text = as_text(record.get(chosen.text))
        group = None if chosen.group is None else as_text(record.get(chosen.group))
        return self.rows.add(
            without_breaks(text) if self.clean else text,
            None if chosen.label is None else as_text(record.get(chosen.label)).strip(),
            # A row without group is a group of its own.
            group if group != "" else f"row {self.rows.seen}",
            None if chosen.id is None else as_text(record.get(chosen.id)),
            line=line,
        )


def as_text(value: Any) -> str:
    """Returns a cell as text: 5.0 as "5", true as "true", nothing as ""."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def read_separated(file: TextFile, rows: Rows, asked: Columns, delimiter: str, *, clean: bool) -> None:
    """Reads a CSV or TSV file with a header; quoted fields may hold line ends.

    Raises:
        DataError: if a row has other columns than the header, or a quote is not closed.
    """
    records = file.separated(delimiter)
    _, header = next(records, (1, []))
    if len(set(header)) != len(header):
        raise DataError(f"{rows.path}: two columns share a name: {listed(header)}")
    adder = _Adder(header, asked, rows, clean=clean)
    for line, fields in records:
        if not fields:
            continue
        if len(fields) != len(header):
            raise DataError(f"{rows.path}: line {line}: {len(fields)} columns instead of {len(header)}")
        if not adder.add(dict(zip(header, fields, strict=True)), line):
            return


def read_json_lines(file: TextFile, rows: Rows, asked: Columns, *, clean: bool) -> None:
    """Reads one JSON object a line.

    Raises:
        DataError: if a line is not a JSON object, or lacks the text.
    """
    adder: _Adder | None = None
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        if adder is None and line.lstrip().startswith("["):
            made = f"jq -c '.[]' {rows.path.name}"
            raise DataError(f"{rows.path}: a JSON array; expected one object a line, as {made} writes")
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{rows.path}: line {number}: not valid JSON ({error})") from error
        if not isinstance(record, dict):
            raise DataError(f"{rows.path}: line {number}: expected an object, found {type(record).__name__}")
        adder = adder or _Adder(list(record), asked, rows, clean=clean)
        for name in (adder.chosen.text, adder.chosen.label):
            if name is not None and name not in record:
                raise DataError(f"{rows.path}: line {number}: no {name!r}; it has {listed(list(record))}")
        if not adder.add(record, number):
            return


def read_parquet(path: Path, rows: Rows, asked: Columns, *, clean: bool) -> str:
    """Reads a Parquet file by batches; returns the hash of the file.

    Raises:
        DataError: if pyarrow is missing or cannot read the file.
    """
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowInvalid
    except ImportError as error:
        raise DataError(f'{path}: Parquet needs pyarrow: pip install "sentitok[arrow]"') from error
    try:
        with pq.ParquetFile(path) as opened:
            adder = _Adder(list(opened.schema_arrow.names), asked, rows, clean=clean)
            needed = {adder.chosen.text, adder.chosen.label, adder.chosen.group, adder.chosen.id}
            if asked.where:
                needed.add(asked.where[0])
            columns = [name for name in opened.schema_arrow.names if name in needed]
            batches = opened.iter_batches(columns=columns)
            _add_all(adder, (record for batch in batches for record in batch.to_pylist()))
    except ArrowInvalid as error:
        raise DataError(f"{path}: {error}") from error
    return hash_file(path)


def _add_all(adder: _Adder, records: Iterable[dict[str, Any]]) -> None:
    for record in records:
        if not adder.add(record, None):
            return
