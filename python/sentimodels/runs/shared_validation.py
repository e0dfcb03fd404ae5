"""`common_rows`: the validation rows that several runs share, and their test rows.

Not for a file that is named (`data/readers.py`). What is chosen among runs is chosen on rows that none
was trained on; rows that were held out from all of them alike are such rows.
"""

from collections.abc import Sequence
from pathlib import Path

from ..data.record import TrainingRecord
from ..data.table import Table
from ..errors import CheckpointError, ConfigError
from .families import CLASSIFIER
from .lineage import check_same_rows
from .tables import read_tables

__all__ = ["common_rows"]


def common_rows(runs: Sequence[Path]) -> tuple[Table, Table | None]:
    """Reads the validation rows of runs and, where all have the same, their test rows.

    Args:
        runs: run directories.

    Raises:
        ConfigError: if the runs have no validation rows, or different ones.
        CheckpointError: if one is no classifier, their data has changed since, or a record is unreadable.
    """
    configs = [CLASSIFIER.load(run) for run in runs]  # of a language model this says what it is
    records = [TrainingRecord.load(run) for run in runs]
    same = {role: len({record.identity(role) for record in records}) == 1 for role in ("valid", "test")}
    if not same["valid"] or records[0].identity("valid") is None:
        said = "different validation rows" if not same["valid"] else "no validation rows"
        raise ConfigError(f"the runs have {said}; name a file of rows to choose on: --dev FILE")
    tables = read_tables(configs[0])
    now = tables.record()
    check_same_rows(runs[0], now)
    if tables.valid is None or now.identity("valid") != records[0].identity("valid"):
        raise CheckpointError(f"{runs[0]}: its validation rows have changed since; name a file: --dev FILE")
    return tables.valid, tables.test if same["test"] and tables.judged_on_test else None
