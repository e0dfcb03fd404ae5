"""The training data of a run's base.

A run that starts from the weights of another keeps the record of that run in its own, and so on from run to
run. `record_of` reads it of a run of any kind. Of the corpus of a language model only the files are known,
not the texts. The weights themselves are read by `start.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data.record import ENCODED, JSON_NAME, TEXTS_NAME, Source, TrainingRecord
from ..data.table import Table
from ..errors import CheckpointError, DataError
from .directory import read_json

__all__ = ["BASE", "check_same_rows", "check_unlearned", "own_sources", "record_of", "sources_of_start"]

# Options that name rows that judge, by the role of the rows.
_OPTIONS = {"validation": "--valid", "test": "--test"}

# The role of files that the base of a language model learned from, in its `training_data.json`.
BASE = "base"
# The role of files which judged a language model's alignment; all other roles were learned from.
_JUDGE = "judge"


def record_of(start: Path | str | None) -> TrainingRecord:
    """Returns the training data of a run, or of the run that a file of weights lies in.

    Empty without a base, or where the weights have no record.

    Raises:
        CheckpointError: if the record is damaged.
    """
    path = None if start is None else Path(start)
    folder = path if path is None or path.is_dir() else path.parent
    if folder is None or not (folder / JSON_NAME).is_file():
        return TrainingRecord.of_files(())
    if (folder / TEXTS_NAME).is_file():
        return TrainingRecord.load(folder)
    try:
        return TrainingRecord.of_files(map(_of_corpus, read_json(folder / JSON_NAME).get("sources", [])))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / JSON_NAME}: unreadable: {error!r}") from error


def _of_corpus(one: Mapping[str, Any]) -> Source:
    role = _JUDGE if one.get("role") == _JUDGE else "train"
    return Source(role, str(one["source"]), str(one["sha256"]), int(one["documents"]), "corpus")


def check_same_rows(run: Path, now: TrainingRecord) -> None:
    """Refuses rows that are not those a run began with.

    Raises:
        CheckpointError: naming the file.
    """
    then = {(source.sha256, source.rows) for source in TrainingRecord.load(run).sources}
    for source in now.sources:
        if (source.sha256, source.rows) not in then:
            raise CheckpointError(
                f"{source.source}: has changed since the run began, or is split differently; start a new one"
            )


def sources_of_start(start: Path | str | None) -> list[dict[str, Any]]:
    """Returns the training data of a run, as sources of a language model that starts from it."""
    return [
        {"role": BASE, "source": one.source, "sha256": one.sha256, "documents": one.rows}
        for one in record_of(start).learned
    ]


def own_sources(sources: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the data that a run itself has read, without that of its base or the sources of its shards."""
    return [one for one in sources if one.get("role") not in (BASE, ENCODED)]


def check_unlearned(
    start: str | None, base: TrainingRecord, train: Table, **judging: Table | None
) -> list[str]:
    """Returns the warnings about rows that judge a run, where its base has learned from some.

    Args:
        start: the base, as a message names it.
        base: its record.
        train: the training rows of the run.
        judging: rows that judge it, by what they are called.

    Raises:
        DataError: if they are the very rows.
    """
    return [
        note
        for part, table in judging.items()
        if table is not None
        for note in _said_of(start, base, train, part, table)
    ]


def _said_of(start: str | None, base: TrainingRecord, train: Table, part: str, table: Table) -> Iterator[str]:
    by_row, by_file = (
        np.logical_or.reduce([np.zeros(len(table), np.bool_), *(base.shared(role, table) for role in roles)])
        for roles in (
            [one.role for one in base.learned if one.role in base.rows],
            [one.role for one in base.learned if one.role not in base.rows],
        )
    )
    # Of a corpus only the file is known. Where that is divided here, other rows of it cannot be named.
    divided = table.sha256 == train.sha256
    if n := int((by_row if divided else by_row | by_file).sum()):
        raise DataError(
            f"{table.source}: {start}, which the run starts from, was trained on {n:,} of the {len(table):,} "
            f"{part} rows, so scores there would be too good; give rows that it has not seen "
            f"({_OPTIONS[part]}), or another run (--init)"
        )
    if by_file.any():
        yield (
            f"{start} was trained on {table.source}, from which the {part} rows are taken, so scores there "
            f"may be too good; take rows of another file ({_OPTIONS[part]})"
        )
    elif n := int(base.seen(table).sum()):
        have = "has" if n == 1 else "have"
        yield f"{n:,} of the {len(table):,} {part} rows {have} a text that {start} was trained on"
