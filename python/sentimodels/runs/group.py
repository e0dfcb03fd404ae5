"""A group: a folder with several runs that belong together, as those of several seeds or folds.

Not for what the runs differ in (`seeds.py`, `folds.py`, `sweep.py`). `group.json` holds the
configuration of each, and what its computing took, so that a stopped group can go on: runs that have
finished stay, the one that was stopped is resumed, the others begin.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..data.opening import read_small
from ..data.writers import write_atomically
from ..errors import CheckpointError, TrainingError
from .baselines import with_baseline
from .directory import absolutize_paths, begun, finished, refuse_begun
from .execute import Callbacks
from .families import resolve
from .processes import check_alone
from .tables import Tables, read_tables
from .train import resume, train

__all__ = ["Done", "Group", "begin", "is_group", "load", "run_all"]

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
            f"{folder}: holds a group of runs already; give another --out, or --resume {folder}"
        )


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
        if _hashes(rows) != group.data:
            raise CheckpointError(f"{folder}: its data has changed since it was begun; start a new one")
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
    named = {"train": tables.train, "valid": tables.valid, "test": tables.test}
    return {name: table.sha256 for name, table in named.items() if table is not None}
