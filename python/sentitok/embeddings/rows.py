"""`new_rows`: the rows of a table for a new vocabulary, block by block.

Copied rows are the same bits. New rows are computed in float64 and rounded once, in an order that does not
depend on the size of blocks, so that the same call writes the same bytes.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .methods import AVERAGE, COMPOSED, COPIED, RANDOM, UNUSED, Plan
from .tensor_files import decoded, encoded

__all__ = ["new_rows"]

_BLOCK_NUMBERS = 1 << 20


def new_rows(bits: NDArray[Any], dtype: str, plan: Plan) -> Iterator[bytes]:
    """Yields the bytes of a table of a row per new token.

    Args:
        bits: (V, ...) the old table as it is in its file.
        dtype: its type, one of `FLOATS`.
        plan: the sources of each new row.
    """
    table = bits.reshape(len(bits), -1)
    average, deviation = _moments(table, dtype, plan.used)
    is_used = np.zeros(len(table), bool)
    is_used[plan.used] = True
    unused = _moments(table, dtype, np.flatnonzero(~is_used))[0] if not is_used.all() else average
    step = max(1, _BLOCK_NUMBERS // max(1, table.shape[1]))
    for begin in range(0, len(plan.kinds), step):
        rows = np.arange(begin, min(begin + step, len(plan.kinds)))
        kinds = plan.kinds[rows]
        out = np.empty((len(rows), table.shape[1]), table.dtype)
        copied = kinds == COPIED
        out[copied] = table[plan.sources[plan.starts[rows[copied]]]]
        out[kinds == AVERAGE] = encoded(average, dtype)
        out[kinds == UNUSED] = encoded(unused, dtype)
        for at in np.flatnonzero(kinds == RANDOM).tolist():
            drawn = np.random.default_rng([plan.seed, begin + at]).standard_normal(table.shape[1])
            out[at] = encoded(average + deviation * drawn, dtype)
        composed = np.flatnonzero(kinds == COMPOSED)
        lengths = plan.starts[rows + 1] - plan.starts[rows]
        for length in np.unique(lengths[composed]).tolist():
            of_length = composed[lengths[composed] == length]
            out[of_length] = encoded(_mixed(table, dtype, plan, rows[of_length], length), dtype)
        yield out.tobytes()


def _mixed(
    table: NDArray[Any], dtype: str, plan: Plan, rows: NDArray[np.int64], length: int
) -> NDArray[np.float64]:
    """Returns rows that are weighted means of as many old rows each."""
    mixed = np.zeros((len(rows), table.shape[1]))
    for place in range(length):
        at = plan.starts[rows] + place
        mixed += plan.weights[at, None] * decoded(table[plan.sources[at]], dtype)
    return mixed


def _moments(
    table: NDArray[Any], dtype: str, ids: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns mean and standard deviation of each column over some rows."""
    total = np.zeros(table.shape[1])
    squares = np.zeros(table.shape[1])
    step = max(1, _BLOCK_NUMBERS // max(1, table.shape[1]))
    for begin in range(0, len(ids), step):
        total += decoded(table[ids[begin : begin + step]], dtype).sum(axis=0)
    mean = total / max(1, len(ids))
    for begin in range(0, len(ids), step):
        squares += ((decoded(table[ids[begin : begin + step]], dtype) - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(squares / max(1, len(ids)))
