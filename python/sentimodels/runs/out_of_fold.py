"""Out-of-fold answers: what the runs of a cross-validation answer to the rows that each leaves out.

Each run of `train --folds` keeps the probabilities of its fold in `out_of_fold.npz`, next to the places of
the rows in their file. It keeps no texts: `load` takes those from the file, which must be the same. Without
such a group, `of_bags` fits quick models.
"""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically

from ..config import DEFAULT_TASK
from ..data.record import TrainingRecord
from ..data.split import folds
from ..data.table import Table, listed
from ..errors import CheckpointError, DataError
from ..evaluation.answers import answers_of
from ..evaluation.comparison import FoldScores
from ..evaluation.predictions import Predictions
from .directory import finished, load_labels, read_json

__all__ = ["BAGS", "first_run", "fold_scores", "load", "load_mean", "of_bags", "save"]

FILE = "out_of_fold.npz"


def save(run: Path, table: Table, probs: NDArray[np.float32]) -> None:
    """Keeps the probabilities `(n, n_classes)` of a fold; of rows that are from no file, nothing.

    Args:
        run: the run directory.
        table: the rows of the fold.
        probs: the answers of the run to them.
    """
    if table.numbers is None:
        return
    data = io.BytesIO()
    np.savez(data, rows=np.array(table.numbers, np.int64), probs=probs)
    write_atomically(run / FILE, data.getvalue())


def first_run(folder: Path) -> Path:
    """Returns the first run of the group of `train --folds`.

    Raises:
        CheckpointError: if the folder is not such a group, or a run has not finished.
    """
    return folder / _runs(folder)[0]


def load(folder: Path, table: Table) -> tuple[Table, Predictions]:
    """Returns the rows of a table that some fold left out, and the answers to them.

    Args:
        folder: the group of `train --folds`.
        table: rows of the file that it was trained on.

    Raises:
        CheckpointError: if the folder is not such a group, a run has not finished, or a file is damaged.
        DataError: if the table is of another file, or no row of it was left out.
    """
    runs = _runs(folder)
    if table.numbers is None:
        raise DataError(
            f"{table.source}: rows from no file; the answers of {folder} are known by file and row"
        )
    labels = load_labels(folder / runs[0])
    if (table.label_form is not None) != labels.several:
        how = "several labels" if labels.several else "one label"
        raise DataError(f"{table.source}: {folder} was trained on {how} a text; read the file as it did")
    place_of = {number: place for place, number in enumerate(table.numbers)}
    probs = np.full((len(table), len(labels)), np.nan, np.float32)
    for name in runs:
        run = folder / name
        source = next((one for one in TrainingRecord.load(run).sources if one.role == "test"), None)
        if source is not None and source.sha256 != table.sha256:
            raise DataError(
                f"{table.source}: not the file that {folder} was trained on; give {source.source}, unchanged"
            )
        rows, answers = _read(run, len(labels))
        known = [(place_of[row], n) for n, row in enumerate(rows.tolist()) if row in place_of]
        for place, n in known:
            probs[place] = answers[n]
    left_out = np.flatnonzero(~np.isnan(probs[:, 0]))
    if not len(left_out):
        raise DataError(f"{table.source}: none of its {len(table):,} rows was left out by a fold of {folder}")
    answered = table.take(left_out)
    truth = labels.classes(answered)
    return answered, Predictions(
        labels, probs[left_out], truth, answered.texts, groups=answered.groups, ids=answered.ids,
        about={"source": str(table.source), "sha256": table.sha256, "run": str(folder)},
    )  # fmt: skip


def load_mean(folders: Sequence[Path], table: Table) -> tuple[Table, Predictions]:
    """Returns the rows that each group has left out, and the mean of the probabilities of all groups.

    Args:
        folders: groups of `train --folds` on the same file, such as those of several architectures.
        table: rows of that file.

    Raises:
        CheckpointError, DataError: as `load`; also if two groups have different labels, or share no row.
    """
    found = [load(folder, table) for folder in folders]
    first = found[0][1]
    for folder, (_, answers) in zip(folders, found, strict=True):
        if answers.labels != first.labels:
            raise DataError(
                f"{folder}: its labels are {listed(answers.labels.names)}, those of {folders[0]} "
                f"{listed(first.labels.names)}; give groups that were trained on the same rows"
            )
    numbers = [np.array(rows.numbers) for rows, _ in found]
    common = reduce(np.intersect1d, numbers)
    if not len(common):
        raise DataError(f"{table.source}: no row was left out by all of {', '.join(map(str, folders))}")
    places = [np.flatnonzero(np.isin(own, common)) for own in numbers]
    rows, answers = found[0][0].take(places[0]), first.take(places[0])
    # `load` keeps the order of the table, so rows are aligned.
    mean = np.mean([one.probs[own] for (_, one), own in zip(found, places, strict=True)], axis=0)
    return rows, replace(answers, probs=mean.astype(np.float32))


# Their mean found more wrong labels than each alone or means with `tfidf` (docs/how-to/wrong-labels.md).
BAGS = ("nb", "bow")
# With more labels `bow` answers alone: time and memory of `nb` grow with labels times n-grams.
_MANY_LABELS = 50
_FOLDS = 5


def of_bags(table: Table) -> tuple[Table, Predictions]:
    """Returns the rows of a table that some fold leaves out, and the mean answer of `BAGS` to them.

    `Predictions.about` names the architectures in `run`.

    A group of `train --folds` holds out rows to validate on; here all rows outside a fold are learned from.
    The temperature of each architecture is fitted on all its answers.

    Args:
        table: labelled rows.

    Raises:
        DataError: if the rows have one label, or are fewer than the folds.
    """
    from ..models import architecture
    from .auto import Texts
    from .families import resolve
    from .judging import bag_logits
    from .tables import Tables

    tables = Tables.of(table)
    tables.check_trainable()
    labels, truth = tables.labels, tables.classes(table)
    kind, spaced = answers_of(labels), Texts.of(table).spaced
    parts = folds(table, _FOLDS, seed=0)
    left_out = np.sort(np.concatenate(parts)).astype(np.int64)
    given = {"task": {"kind": "multilabel" if labels.several else DEFAULT_TASK}}
    bags, found = BAGS if len(labels) <= _MANY_LABELS else BAGS[1:], []
    for arch in bags:
        config = resolve({} if spaced else architecture(arch).unspaced, given, {"arch": arch})
        logits = np.zeros((len(table), len(labels)), np.float32)
        for held in parts:
            out = set(held)
            rest = tables.some(row for row in range(len(table)) if row not in out)
            logits[held] = bag_logits(config, rest, [table.texts[row] for row in held])
        logits = logits[left_out]
        found.append(kind.probabilities(logits, kind.fit_temperature(logits, truth[left_out])))
    answered = table.take(left_out)
    return answered, Predictions(
        labels, np.mean(found, 0).astype(np.float32), truth[left_out], answered.texts,
        groups=answered.groups, ids=answered.ids,
        about={"source": str(table.source), "sha256": table.sha256, "run": " and ".join(bags)},
    )  # fmt: skip


def fold_scores(folder: Path) -> FoldScores:
    """Returns the scores of each run of a group on the rows that it leaves out.

    Args:
        folder: the group of `train --folds`.

    Raises:
        CheckpointError: if the folder is not such a group, a run has not finished, or a file is damaged.
    """
    runs = [folder / name for name in _runs(folder)]
    about = [read_json(run / "run.json") for run in runs]
    kind = answers_of(load_labels(runs[0]))
    # A score may be missing in a fold, as AUROC is where a label does not occur.
    names = [key for key in kind.score_names if all(one["test"].get(key) is not None for one in about)]
    return FoldScores(
        rows=[TrainingRecord.load(run).identity("test") for run in runs],
        n_train=[one["rows"]["train"] for one in about],
        n_test=[one["rows"]["test"] for one in about],
        scores={key: [one["test"][key] for one in about] for key in names},
        names=kind.score_names,
    )


def _runs(folder: Path) -> list[str]:
    """Returns the names of the runs of a group."""
    from .group import is_group, read_group  # a single run needs nothing of groups

    if not is_group(folder) or (group := read_group(folder)).kind != "folds":
        raise CheckpointError(f"{folder}: not a cross-validation; senti train DATA --folds 5 writes one")
    if waiting := [name for name in group.runs if not finished(folder / name)]:
        raise CheckpointError(
            f"{folder}: {waiting[0]} has not finished; senti train --resume {folder} finishes it"
        )
    return list(group.runs)


def _read(run: Path, n_labels: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Reads the file of a run."""
    path = run / FILE
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            rows, probs = arrays["rows"].astype(np.int64), arrays["probs"].astype(np.float32)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{run}: no {FILE}: it was trained by an earlier version, or on rows of no file; train it again"
        ) from error
    except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: unreadable: {error}") from error
    if probs.shape != (len(rows), n_labels):
        raise CheckpointError(
            f"{path}: {probs.shape} probabilities for {len(rows)} rows and {n_labels} labels"
        )
    return rows, probs
