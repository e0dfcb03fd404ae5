"""Writes tables as files that `read_table` reads back equal (CSV, TSV or JSON lines), and texts as they come.

Columns are text, label, group, id, those that the table has. A file appears whole
(`sentitok.atomic`).
"""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path

from sentitok.atomic import write as write_atomically
from sentitok.atomic import writing

from ..errors import DataError
from .table import Table

__all__ = ["write_atomically", "write_table", "write_texts"]


def _columns(table: Table) -> dict[str, list[str]]:
    columns = {"text": table.texts, "label": table.labels, "group": table.groups, "id": table.ids}
    return {name: column for name, column in columns.items() if column is not None}


def write_table(table: Table, path: Path) -> None:
    """Writes a table in the format of the suffix.

    Raises:
        DataError: if the suffix is none of .csv, .tsv, .jsonl.
    """
    columns = _columns(table)
    text = io.StringIO()
    if path.suffix in (".csv", ".tsv"):
        # The writer sees no need to quote a lone CR, which the reader takes for a line's end.
        carriage_return = any("\r" in cell for column in columns.values() for cell in column)
        writer = csv.writer(
            text,
            delimiter="," if path.suffix == ".csv" else "\t",
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if carriage_return else csv.QUOTE_MINIMAL,
        )
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    elif path.suffix == ".jsonl":
        for row in zip(*columns.values(), strict=True):
            text.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")
    else:
        raise DataError(f"{path}: writes .csv, .tsv or .jsonl")
    write_atomically(path, text.getvalue().encode("utf-8", "surrogatepass"))


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Writes texts one after another, each as it comes: they need not fit in memory together.

    Raises:
        OSError: naming the file; one that cannot be written is found before the first text is asked for. An
            error of the texts that names no file, such as of a pipe, names this one too.
    """
    with writing(path) as beside, open(beside, "wb") as file:
        for text in texts:
            file.write(text.encode("utf-8", "surrogatepass"))
