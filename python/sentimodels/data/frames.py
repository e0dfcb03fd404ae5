"""DataFrames of pandas as tables of texts, and answers as DataFrames."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from .columns import LOOKED_AT, Cells, Columns, OpenTable, add_rows
from .label_sets import SetsAsked, asked_of, set_reader
from .opening import hash_rows
from .row_buffer import CellError, Rows, as_texts
from .table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["table_of_frame", "texts_of_frame"]

_SOURCE = Path("<DataFrame>")


def table_of_frame(
    frame: "pd.DataFrame",
    text_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    *,
    several: bool = False,
    label_separator: str | None = None,
    label_columns: Sequence[str] = (),
) -> Table:
    """Returns the rows of a DataFrame as those of a file with the same cells would be.

    Args:
        frame: the rows; its columns are named as those of a file are.
        text_column: guessed when only one can be meant.
        label_column: as `text_column`.
        group_column: rows with one value stay on one side of a split.
        several: a row may have several labels, or none; a cell may be a list.
        label_separator: as `read_table`, as `label_columns`.
        label_columns: columns of 0 and 1, one for each label.

    Raises:
        DataError: if a column is missing or unclear, a cell is not one text, or a row has no label.
        TypeError: if it is not a DataFrame.
    """
    sets = asked_of(several, label_separator, label_columns, {})
    read_sets = None if sets is None else set_reader(sets, _SOURCE)
    rows = Rows(_SOURCE, to_drop="frame.dropna()", sets=read_sets)
    asked = Columns(text_column, label_column, group_column, sets=sets)
    add_rows(_open(frame, lists=sets is not None), asked, rows)
    table = rows.finish("", "memory")
    return replace(table, sha256=hash_rows(table.texts, table.labels))


def texts_of_frame(frame: "pd.DataFrame | pd.Series[Any]", text_column: str | None = None) -> list[str]:
    """Returns the texts of a Series, or of a column of a DataFrame; a missing one is empty.

    Raises:
        DataError: if the column is missing or unclear, or a cell is not one text.
        TypeError: if it is neither.
    """
    import pandas as pd

    if isinstance(frame, pd.Series):
        return _texts(frame, str(frame.name))
    # Labels are not looked at, and may be lists.
    rows = Rows(_SOURCE, blank="keep", sets=set_reader(SetsAsked(), _SOURCE))
    add_rows(_open(frame, lists=True), Columns(text_column), rows)
    return rows.texts


def _open(frame: "pd.DataFrame", *, lists: bool = False) -> OpenTable:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"expected a DataFrame of pandas, not {type(frame).__name__}; write pd.DataFrame(...)"
        )
    names = [str(name) for name in frame.columns]

    def cells(name: str, n: int | None = None, *, lists: bool = lists) -> list[str]:
        return _texts(frame.iloc[:n, names.index(name)], name, lists=lists)

    def looked_at(name: str) -> list[str]:
        try:
            return cells(name, LOOKED_AT)
        except DataError:  # of a column that may not be read at all
            return []

    def blocks(needed: Sequence[str], required: Collection[str], _: Collection[str]) -> Iterator[Cells]:
        # A text is never a list.
        yield Cells({name: cells(name, lists=lists and name not in required) for name in needed})

    return OpenTable(names, blocks, lambda: "", {name: looked_at(name) for name in names})


def _texts(column: "pd.Series[Any]", name: str, *, lists: bool = False) -> list[str]:
    # As an array: its numbers of 32 bits are such, where a list would have them in 64.
    values: Sequence[Any] = list(column.to_numpy())
    try:
        return as_texts(values, lists=lists)
    except CellError as error:
        raise DataError(f"{_SOURCE}: row {error.place + 1}, column {name!r}: {error}") from None
