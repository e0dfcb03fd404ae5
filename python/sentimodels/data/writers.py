"""Writes tables as files that `read_table` reads back equal (CSV, TSV or JSON lines), and texts as they come.

Columns are text, label, group and id, as far as the table has them, or the given columns. A file appears
whole (`sentitok.atomic`).
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sentitok.atomic import write as write_atomically
from sentitok.atomic import writing

from ..errors import DataError
from .opening import whole_characters
from .table import Table

__all__ = ["separated_rows", "write_table", "write_texts"]

# Characters that a cell of TSV may not hold without quotes around it.
_SPECIAL_OF_CSV = re.compile(r"[\r\n]")
_SPECIAL = re.compile(r'["\t\r\n]')


def _columns(table: Table) -> dict[str, list[str]]:
    columns = {"text": table.texts, "label": table.labels, "group": table.groups, "id": table.ids}
    return {name: column for name, column in columns.items() if column is not None}


def write_table(
    table: Table, path: Path, columns: Mapping[str, list[str]] | None = None, *, header: bool = True
) -> None:
    """Writes a table in the format of the suffix.

    Args:
        table: the rows.
        path: of the file.
        columns: to write instead of text, label, group and id, by name.
        header: whether the first row of CSV or TSV names the columns.

    Raises:
        DataError: if the suffix is none of .csv, .tsv, .jsonl.
    """
    columns = columns or _columns(table)
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix in (".csv", ".tsv"):
        text = separated_rows([list(columns), *rows] if header else rows, path.suffix)
    elif path.suffix == ".jsonl":
        text = "".join(
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows
        )
    else:
        raise DataError(f"{path}: writes .csv, .tsv or .jsonl")
    write_atomically(path, whole_characters(text).encode())


def separated_rows(rows: Iterable[Sequence[str]], suffix: str, *, quoted: bool | None = None) -> str:
    """Writes rows as CSV (`.csv`) or TSV (`.tsv`), so that they are read back equal.

    Args:
        rows: the header and the rows after it, or some of them.
        suffix: of the file.
        quoted: whether each cell is in quotes; otherwise the cells of CSV that need them. All cells are where
            one of TSV needs it, because quotes around some cells alone may be text there, and where one of
            CSV has several lines, because such a cell among unquoted ones may be a quote that swallowed rows.
    """
    rows = list(rows)
    text = io.StringIO()
    separator = "," if suffix == ".csv" else "\t"
    if quoted is None:
        special = _SPECIAL_OF_CSV if suffix == ".csv" else _SPECIAL
        quoted = any(not "".join(row).strip() or any(map(special.search, row)) for row in rows)
    plain = csv.writer(text, delimiter=separator, lineterminator="\n")
    every = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # `csv` leaves a lone CR bare, which ends a line, and a row of blanks, which is none to readers.
        bare = any("\r" in cell for cell in row) or not "".join(row).strip()
        (every if quoted or bare else plain).writerow(row)
    return text.getvalue()


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Writes texts one after another, each as it comes: they need not fit in memory together.

    Raises:
        OSError: naming the file; one that cannot be written is found before the first text is asked for. An
            error of the texts that names no file, such as of a pipe, names this one too.
    """
    with writing(path) as temporary, open(temporary, "wb") as file:
        for text in texts:
            file.write(whole_characters(text).encode())
