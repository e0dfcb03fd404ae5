"""`table`: a batch of encodings as a `pyarrow.Table`, with the types that transformers' columns have.

Behind `EncodingBatch.to_table`, for functions of `datasets.map`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._sentitok import EncodingBatch

__all__ = ["table"]

_MOST = np.iinfo(np.int32).max


def table(batch: EncodingBatch, beside: Any, type_ids: bool) -> Any:
    """Returns the columns of `beside`, and behind them those of a batch.

    Args:
        batch: its rows are the rows of the table.
        beside: a table of Arrow, pandas or Polars, a mapping of columns, or None; columns of the same
            names give way.
        type_ids: whether there is a column `token_type_ids`.

    Raises:
        TypeError: for a `beside` that is neither.
        ValueError: for one with another number of rows.
        OverflowError: for more ids than lists of a column hold.
    """
    import pyarrow as pa

    if len(batch.ids) > _MOST:
        raise OverflowError(
            f"lists of a column hold {_MOST} ids, and this batch has {len(batch.ids)}; make tables of parts, "
            "as in batch[:1000].to_table(), or take to_arrow()"
        )
    ends = pa.array(batch.row_offsets.astype(np.int32))

    def lists(values: Any) -> Any:
        return pa.ListArray.from_arrays(ends, pa.array(values))

    columns = _columns(beside)
    for name, column in columns.items():
        if len(column) != len(batch):
            raise ValueError(
                f"beside has {len(column)} rows in {name!r}, and this batch {len(batch)}; of windows take "
                "the rows of source_rows first"
            )
    columns["input_ids"] = lists(batch.ids.view(np.int32))
    if type_ids:
        columns["token_type_ids"] = lists(batch.type_ids.astype(np.int8))
    columns["attention_mask"] = lists(np.ones(len(batch.ids), np.int8))
    return pa.table(columns)


def _columns(beside: Any) -> dict[str, Any]:
    if beside is None:
        return {}
    if hasattr(beside, "__arrow_c_stream__"):
        import pyarrow as pa

        given = pa.table(beside)
        return dict(zip(given.column_names, given.columns, strict=True))
    if isinstance(beside, Mapping):
        # A column in any format, a tensor too, is an array to NumPy.
        return {
            name: np.asarray(column) if hasattr(column, "__array__") else column
            for name, column in beside.items()
        }
    raise TypeError(
        f"beside is a {type(beside).__name__}; it is a table, or a mapping of columns, such as the rows "
        "that datasets.map gives"
    )
