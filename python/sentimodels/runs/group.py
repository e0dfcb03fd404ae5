"""A group: a folder with several runs that belong together, as those of several seeds or folds.

Seeds and folds are here, combinations of settings in `sweep.py`. `group.json` holds the
configuration of each, and what its computing took, so that a stopped group can go on: runs that have
finished stay, the one that was stopped is resumed, the others begin.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from sentitok.atomic import write as write_atomically

from ..config import RunConfig
from ..data import Table
from ..data.opening import read_small
from ..errors import CheckpointError, TrainingError
from ..training.distributed import check_alone
from .directory import absolutize_paths, begun, finished, refuse_begun
from .execute import Callbacks, resume, train
from .families import resolve
from .judging import with_baseline
from .tables import Tables, check_files, read_tables

__all__ = [
    "Done",
    "Group",
    "about_folds",
    "about_seeds",
    "begin",
    "is_group",
    "load",
    "run_all",
    "runs_of_folds",
    "set_aside",
    "spread",
    "train_folds",
    "train_seeds",
]

FILE = "group.json"
_FORMAT = "sentimodels.group/1"


@dataclass(frozen=True)
class Group:
    """What `group.json` holds.

    Attributes:
        kind: what the runs differ in: `seeds`, `folds` or `sweep`.
        runs: the configuration of each run, by the name of its folder.
        data: hashes of the files.
        values: what each run of a sweep sets.
        budget: seconds of CPU after which no further run begins, or `None`.
        spent: seconds of CPU that each run took so far.
    """

    kind: str
    runs: Mapping[str, Mapping[str, Any]]
    data: Mapping[str, str]
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    budget: float | None = None
    spent: Mapping[str, float] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes the file."""
        text = json.dumps({"format": _FORMAT, **asdict(self)}, ensure_ascii=False, indent=2)
        write_atomically(folder / FILE, (text + "\n").encode())


@dataclass(frozen=True)
class Done:
    """What a group has done: `run.json` of each run that ended, and whether some are to come.

    Attributes:
        group: the group, with what was spent.
        runs: by name, in the order of the group.
        stopped: whether somebody stopped it.
        failed: why runs of a sweep failed, by name; the others go on.
    """

    group: Group
    runs: dict[str, dict[str, Any]]
    stopped: bool
    failed: Mapping[str, str] = field(default_factory=dict)


def is_group(folder: Path) -> bool:
    """Whether the folder holds a group."""
    return (folder / FILE).is_file()


def begin(
    kind: str,
    runs: Mapping[str, RunConfig],
    folder: Path,
    tables: Tables,
    *,
    values: Mapping[str, Mapping[str, Any]] | None = None,
    budget: float | None = None,
) -> Group:
    """Writes a group that is to be run.

    Raises:
        CheckpointError: if the folder holds runs already.
    """
    check_alone("a group of runs")
    refuse(folder)
    trees = {name: absolutize_paths(config).tree() for name, config in runs.items()}
    group = Group(kind, trees, _hashes(tables), values or {}, budget)
    folder.mkdir(parents=True, exist_ok=True)
    group.write(folder)
    return group


def refuse(folder: Path) -> None:
    """Raises if the folder holds a run or a group.

    Raises:
        CheckpointError: naming it.
    """
    refuse_begun(folder)
    if is_group(folder):
        raise CheckpointError(
            f"{folder}: holds a group of runs already; give another --out, --force, or --resume {folder}"
        )


@contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """Renames a folder that holds a run or a group to `FOLDER.1`, or the next free number.

    If the body ends before another run has begun there, the folder gets its name back.

    Raises:
        CheckpointError: if the folder cannot be renamed.
    """
    if not (begun(folder) or is_group(folder)):
        yield
        return
    try:
        aside = next(path for n in count(1) if not (path := folder.with_name(f"{folder.name}.{n}")).exists())
        folder.rename(aside)
    except (OSError, ValueError) as error:  # such as `.`, or a folder of someone else
        raise CheckpointError(
            f"{folder}: cannot be renamed, so --force cannot keep it; give another --out"
        ) from error
    try:
        yield
    finally:
        if not folder.exists():
            aside.rename(folder)


def load(folder: Path) -> Group:
    """Reads a group that is to go on.

    Raises:
        CheckpointError: if it is none, or all its runs have finished.
    """
    path = folder / FILE
    try:
        value = json.loads(read_small(path))
        if value.pop("format") != _FORMAT:
            raise CheckpointError(f"{path}: written by another version; expected {_FORMAT}")
        group = Group(**value)
        for tree in group.runs.values():
            resolve(tree)
    except CheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: not a group of runs ({error})") from error
    if all(finished(folder / name) for name in group.runs):
        raise CheckpointError(f"{folder}: all its {group.kind} have finished; nothing to resume")
    return group


def run_all(
    group: Group,
    folder: Path,
    tables: Tables | None = None,
    callbacks: Callbacks | None = None,
    *,
    baseline: bool | None = None,
) -> Done:
    """Runs what has not finished, in order, while the budget has room.

    Args:
        group: the group.
        folder: its folder, with a run directory for each.
        tables: the rows of all of them, where they are read already.
        callbacks: what is called while the runs go; of the first one only, `on_warning`.
        baseline: False for none, whatever the configurations say.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_alone("a group of runs")
    callbacks = callbacks or Callbacks()
    results: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for name, tree in group.runs.items():
        run = folder / name
        if finished(run):
            results[name] = json.loads(read_small(run / "run.json"))
            continue
        if not _has_room(group):
            continue
        config = with_baseline(resolve(tree), False if baseline is False else None)
        rows = tables if tables is not None and config.data.fold is None else read_tables(config)
        # A part that is drawn may be empty in one run of a group, and is of the training file.
        for part, table in _tables(rows).items():
            if group.data.get(part, table.sha256) != table.sha256:
                raise CheckpointError(
                    f"{folder}: its data {table.source} has changed; put the file back, or start a new one"
                )
        tables = tables or (rows if config.data.fold is None else None)
        said, callbacks = callbacks, replace(callbacks, on_warning=Callbacks().on_warning)
        began = time.process_time()
        try:
            if begun(run):
                results[name] = resume(run, said, baseline=config.train.baseline)
            else:
                results[name] = train(config, run, said, tables=rows)
        except TrainingError as error:
            if group.kind != "sweep":
                raise
            failed[name] = str(error)  # other settings may do
            if finished(run):  # with the best weights before it failed
                results[name] = json.loads(read_small(run / "run.json"))
        took = group.spent.get(name, 0.0) + time.process_time() - began
        group = replace(group, spent={**group.spent, name: round(took, 3)})
        group.write(folder)
        if name in results and results[name]["fit"]["stop"] == "stopped":
            return Done(group, results, stopped=True, failed=failed)
    if failed and not results:
        raise TrainingError(f"all runs failed; the last: {list(failed.values())[-1]}")
    return Done(group, results, stopped=False, failed=failed)


def _has_room(group: Group) -> bool:
    """Whether another run, as long as those before it, fits the budget; the first always begins."""
    if group.budget is None or not group.spent:
        return True
    spent = sum(group.spent.values())
    return spent + spent / len(group.spent) <= group.budget


def _hashes(tables: Tables) -> dict[str, str]:
    return {name: table.sha256 for name, table in _tables(tables).items()}


def _tables(tables: Tables) -> dict[str, Table]:
    named = {"train": tables.train, "valid": tables.valid, "test": tables.test}
    return {name: table for name, table in named.items() if table is not None}


def train_seeds(
    config: RunConfig,
    n: int,
    folder: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> Done:
    """Trains a run for each of `n` seeds from that of the configuration on.

    Args:
        config: the run; its seed is the first.
        n: seeds.
        folder: gets a run directory `seed-N` for each.
        callbacks: what is called while the runs go.
        tables: the rows, if they are read already.
        baseline: whether to train TF-IDF with the first; without it as the configuration says.

    Returns:
        The runs; `about_seeds` says what they reach.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    refuse(folder)
    config = with_baseline(config, baseline)
    runs = {}
    for place in range(n):
        update = {"seed": config.train.seed + place, "baseline": config.train.baseline and place == 0}
        train = config.train.model_copy(update=update)
        runs[f"seed-{train.seed}"] = config.model_copy(update={"train": train})
    tables = tables or read_tables(config)
    return run_all(begin("seeds", runs, folder, tables), folder, tables, callbacks)


def about_seeds(done: Done) -> dict[str, Any]:
    """Returns what several seeds reach.

    Returns:
        `seeds`, what each run's `run.json` holds; `spread`, mean and interval of each score on the
        rows that judge;
        `stopped`, whether some are still to come.
    """
    runs = list(done.runs.values())
    judged = [one[one["judged"]] for one in runs if "judged" in one]
    return {"seeds": runs, "spread": spread(judged), "stopped": done.stopped}


def spread(scores: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns mean, standard deviation and half the 95 % interval (Student's t) over seeds."""
    from scipy.stats import t

    out = {}
    for name in ("accuracy", "macro_f1", "log_loss", "ece"):
        values = np.array([one[name] for one in scores if one.get(name) is not None], dtype=np.float64)
        if len(values):
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            factor = float(t.ppf(0.975, len(values) - 1)) if len(values) > 1 else 0.0
            half = factor * deviation / len(values) ** 0.5
            out[name] = {"mean": float(values.mean()), "deviation": deviation, "interval": half}
    return out


def train_folds(config: RunConfig, folder: Path, callbacks: Callbacks | None = None) -> Done:
    """Trains a run for each of `data.folds` folds.

    A fold is its run's test part: it is not looked at while training, which stops on a share of the
    other rows. Runs share most of their training rows, so the interval over folds is a little too narrow
    (Bengio and Grandvalet 2004).

    Args:
        config: the run.
        folder: gets a run directory `fold-N` for each.
        callbacks: what is called while the runs go.

    Returns:
        The runs; `about_folds` says what they reach.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    refuse(folder)
    runs = runs_of_folds(config)
    first = Tables(runs["fold-0"].data)
    return run_all(begin("folds", runs, folder, first), folder, callbacks=callbacks)


def runs_of_folds(config: RunConfig) -> dict[str, RunConfig]:
    """Returns the run of each fold, by its name."""
    # A baseline has folds of its own: --arch tfidf --folds.
    train = config.train.model_copy(update={"baseline": False})
    return {
        f"fold-{fold}": config.model_copy(
            update={"data": config.data.model_copy(update={"fold": fold}), "train": train}
        )
        for fold in range(config.data.folds or 0)
    }


def about_folds(done: Done) -> dict[str, Any]:
    """Returns what the folds reach.

    Returns:
        `folds`, what each run's `run.json` holds; `spread`, mean and interval over the folds of
        each score on the rows left out; `stopped`, whether some are still to come.
    """
    runs = list(done.runs.values())
    return {"folds": runs, "spread": spread([one["test"] for one in runs]), "stopped": done.stopped}
