"""`--drop-suspects FILE`: training without the rows of `senti data suspects`, and what that changes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..config import RunConfig
from ..data.normalization import fold
from ..data.readers import read_table
from ..data.table import Table
from ..errors import DataError, NoRowsError
from ..evaluation.metrics import scores
from ..evaluation.predictions import Predictor, predict

__all__ = ["effect", "read_suspects", "without"]


def read_suspects(path: str) -> dict[int, str]:
    """Reads the file of `senti data suspects -o`: the text of each row, by its place in the data from 0.

    Raises:
        DataError: if a row is not a number from 1.
    """
    try:
        table = read_table(path, "text", "row")
    except NoRowsError:  # the search found no suspects
        return {}
    found = {}
    for text, row in zip(table.texts, table.labelled(), strict=True):
        if not row.isdecimal() or int(row) < 1:
            raise DataError(
                f"{path}: row {row!r} is not a number from 1; give a file of senti data suspects -o"
            )
        found[int(row) - 1] = text
    return found


def without(table: Table, suspects: Mapping[int, str], path: str) -> Table:
    """Returns the rows of a table that are not suspects.

    Args:
        table: rows of the file that was searched.
        suspects: the text of each suspect, by its place in that file.
        path: where the suspects are from.

    Raises:
        DataError: if a suspect has another text here, or no row is left.
    """
    numbers = range(len(table)) if table.numbers is None else table.numbers
    kept = []
    for place, (number, text) in enumerate(zip(numbers, table.texts, strict=True)):
        if number not in suspects:
            kept.append(place)
        elif fold(suspects[number]) != fold(text):
            raise DataError(
                f"{path}: row {number + 1} has another text in {table.source}; write the file "
                "again, from this data and with the same options: senti data suspects"
            )
    if not kept:
        raise DataError(f"{path}: every row of a part of {table.source} is a suspect, so none is left")
    return table.take(kept)


def effect(config: RunConfig, run: Path, load: Callable[[Path], Predictor]) -> dict[str, Any] | None:
    """Trains on all rows too, and scores both runs on the test rows that are not suspects.

    Args:
        config: of the run that leaves out suspects.
        run: its directory.
        load: loads a run.

    Returns:
        `rows`, test rows that are scored; `without` and `all`, the scores of both; `gain` in accuracy with
        half its 95 % interval. `None` where no test rows judge.
    """
    from .execute import train
    from .judging import gain
    from .tables import read_tables

    path = config.data.drop_suspects
    assert path is not None
    data = config.data.model_copy(update={"drop_suspects": None})
    everything = config.model_copy(update={"data": data})
    tables = read_tables(everything)
    if tables.test is None or not tables.judged_on_test:
        return None
    clean = tables.test
    if clean.sha256 == tables.train.sha256:
        clean = without(clean, read_suspects(path), path)
    with TemporaryDirectory() as folder:
        train(everything, Path(folder) / "run", tables=tables, baseline=False)
        of_all = predict(load(Path(folder) / "run"), clean)
    own = predict(load(run), clean)
    kind, names = own.answers, own.answers.table
    right, before = (kind.credit(one.truth, one.predicted) for one in (own, of_all))
    return {
        "rows": len(clean),
        "without": {name: scores(own)[name] for name in names},
        "all": {name: scores(of_all)[name] for name in names},
        **gain(right, before, clean.groups),
    }
