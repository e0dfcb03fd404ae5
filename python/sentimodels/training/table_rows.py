"""Reading and writing some rows of a table, by the quickest way there is.

Indexing with brackets is several times slower than `index_select`, and on a CPU numpy writes
rows twice as fast as torch. A step of training does both for thousands of rows.
"""

from torch import Tensor

__all__ = ["put", "take"]


def take(table: Tensor, rows: Tensor) -> Tensor:
    """Returns a copy of some rows."""
    return table.detach().index_select(0, rows)


def put(table: Tensor, rows: Tensor, values: Tensor) -> None:
    """Writes over some rows, all of them different."""
    if table.device.type == "cpu":
        table.detach().numpy()[rows.numpy()] = values.numpy()
    else:
        table.detach().index_copy_(0, rows, values)
