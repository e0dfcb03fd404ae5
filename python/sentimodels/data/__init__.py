"""Data of `sentimodels`: files -> `Table` -> parts -> `Encoded` -> batches.

`read_table` reads any file that is recognised; `training_table` does the same and
leaves out empty lines. `split` divides a table, `Labels`
orders the classes, `encode_texts` turns texts into ids once, `batches` yields
them by length. `TrainingRecord` is what a run directory keeps of its data, so
that `evaluate` knows which rows were seen.
"""

from .encoded import Batch, Encoded, batches, encode_texts, padding_share, plan
from .leaks import LeakReport, leaks
from .readers import read_table, training_table
from .record import TrainingRecord
from .split import split
from .table import Labels, Table

__all__ = [
    "Batch",
    "Encoded",
    "Labels",
    "LeakReport",
    "Table",
    "TrainingRecord",
    "batches",
    "encode_texts",
    "leaks",
    "padding_share",
    "plan",
    "read_table",
    "split",
    "training_table",
]
