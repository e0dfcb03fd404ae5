"""A group: a folder with several runs that belong together, as those of several seeds or folds.

Seeds and folds are here, combinations of settings in `sweep.py`. `group.json` holds the
configuration of each, and what its computing took, so that a stopped group can resume: runs that have
finished stay, stopped runs are resumed, the rest begin. The runs go one after the other in this
process, or several at once on the workers of an executor; `run_task.py` is what a worker does.
"""

import json
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from sentitok import adapters
from sentitok.atomic import write as write_atomically

from ..config import RunConfig
from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError, SentiError, TrainingError
from ..training.distributed import check_alone
from .directory import absolutize_paths, begun, finished, read_json, refuse_begun
from .execute import Callbacks
from .families import resolve
from .judging import with_baseline
from .run_task import Driver, Outcome, RunSpec, parts_of, read_rows, run_task, sources_of, train_or_resume
from .tables import Tables, check_files, read_tables

__all__ = [
    "Done",
    "Group",
    "OnFailure",
    "Scheduling",
    "about_folds",
    "about_seeds",
    "begin",
    "is_group",
    "load",
    "n_left",
    "read_group",
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
        kind: the difference between the runs: `seeds`, `folds` or `sweep`.
        runs: the configuration of each run, by the name of its folder.
        data: hashes of the files.
        values: the settings of each run of a sweep.
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
    """The progress of a group: `run.json` of each run that ended, and whether some are to come.

    Attributes:
        group: the group, with its spent time.
        runs: by name, in the order of the group.
        stopped: whether somebody stopped it.
        failed: why runs failed, by name.
        error: the first failure that is not a result of a sweep, or `None`.
    """

    group: Group
    runs: dict[str, dict[str, Any]]
    stopped: bool
    failed: Mapping[str, str] = field(default_factory=dict)
    error: Exception | None = None


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
    hashes = {name: table.sha256 for name, table in parts_of(tables).items()}
    group = Group(kind, trees, hashes, values or {}, budget)
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
    """Reads a group that is to be resumed.

    Raises:
        CheckpointError: if it is none, or all its runs have finished.
    """
    group = read_group(folder)
    if all(finished(folder / name) for name in group.runs):
        raise CheckpointError(f"{folder}: all its {group.kind} have finished; nothing to resume")
    return group


def read_group(folder: Path) -> Group:
    """Reads a group, finished or not.

    Raises:
        CheckpointError: if it is none.
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
    return group


def n_left(group: Group, folder: Path) -> int:
    """Returns how many runs have not finished."""
    return sum(not finished(folder / name) for name in group.runs)


OnFailure = Literal["skip", "stop"]


class Scheduling(TypedDict, total=False):
    """Who runs the runs of a group, and what a failure does; by default this process, one after the other.

    Attributes:
        executor: runs them: a pool of processes, `client.get_executor()` of Dask, and their like. Its workers
            see the files under the same paths as this process.
        workers: how many runs go at once; without it, as many as the executor takes.
        threads: of PyTorch in each run whose configuration names none; without it, those of a worker.
        on_error: `skip` (the default) finishes the other runs, `stop` does not. Either way a run is tried
            once more if it fails for another reason than settings, data or its training: a worker that was
            killed, for one.
    """

    executor: Executor | None
    workers: int | None
    threads: int | None
    on_error: OnFailure


def run_all(
    group: Group,
    folder: Path,
    tables: Tables | None = None,
    callbacks: Callbacks | None = None,
    *,
    baseline: bool | None = None,
    **scheduling: Unpack[Scheduling],
) -> Done:
    """Runs the unfinished runs, in order, while the budget has room.

    Args:
        group: the group.
        folder: its folder, with a run directory for each.
        tables: the rows of all of them, where they are read already.
        callbacks: called during the runs; of the first one only, `on_warning`. With an executor,
            `on_record` gets a record of each run that has ended: `run`, its name, `runs`, how many have
            ended of `total_runs`, `running`, `seconds`, `seconds_left`, and `failed`, why.
        baseline: False for none, whatever the configurations say.
        scheduling: see `Scheduling`.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it, and no run has finished.
    """
    check_alone("a group of runs")
    return _Schedule(group, folder, tables, callbacks or Callbacks(), baseline, scheduling).go()


# Seconds between two looks at what somebody has asked for.
_LOOK = 0.2
# How often a run is tried.
_TRIES = 2


class _Schedule:
    """One call of `run_all`, with all that changes in it."""

    def __init__(
        self, group: Group, folder: Path, tables: Tables | None, callbacks: Callbacks, baseline: bool | None,
        scheduling: Scheduling,
    ) -> None:  # fmt: skip
        self.group, self.folder, self.tables, self.callbacks = group, folder, tables, callbacks
        self.baseline = False if baseline is False else None
        self.executor = scheduling.get("executor")
        self.most = 1 if self.executor is None else scheduling.get("workers") or len(group.runs)
        self.threads = scheduling.get("threads")
        self.stops = scheduling.get("on_error", "skip") == "stop"
        if group.budget is not None and self.executor is not None and not scheduling.get("workers"):
            raise ConfigError("a budget needs to know how many runs go at once; give workers")
        self.waiting = deque(name for name in group.runs if not finished(folder / name))
        self.first = next(iter(self.waiting), None)
        self.tries: Counter[str] = Counter()
        self.running: dict[Future[Outcome], str] = {}
        self.results = {
            name: read_json(folder / name / "run.json") for name in group.runs if name not in self.waiting
        }
        self.failed: dict[str, str] = {}
        self.error: Exception | None = None
        self.stopped = False
        self.began, self.ended = time.monotonic(), 0

    def go(self) -> Done:
        """Runs the runs that are left."""
        self.driver = Driver.of(self.folder)
        try:
            while self.running or self._submit():
                for future in adapters.finished(self.running, _LOOK):
                    self._take(self.running.pop(future), future)
                if self.executor is not None and not self.stopped and self.callbacks.should_stop():
                    self._stop()
        finally:
            for future in self.running:
                future.cancel()
            self.driver.end()
        if self.error is not None and (self.stops or not self.results):
            raise self.error
        if self.failed and not self.results:
            raise TrainingError(f"all runs failed; the last: {list(self.failed.values())[-1]}")
        results = {name: self.results[name] for name in self.group.runs if name in self.results}
        return Done(self.group, results, self.stopped, self.failed, self.error)

    def _submit(self) -> bool:
        """Hands out as many runs as may go at once; returns whether any goes."""
        while self.waiting and not self.stopped and len(self.running) < self.most and self._has_room():
            name = self.waiting.popleft()
            self.tries[name] += 1
            self.running[self._start(name)] = name
        return bool(self.running)

    def _start(self, name: str) -> "Future[Outcome]":
        run = self.folder / name
        spec = RunSpec(self.group.runs[name], self.group.data, baseline=self.baseline)
        if self.executor is not None:
            spec = replace(spec, sources=sources_of(self.tables), threads=self.threads, driver=self.driver)
        callbacks = self.callbacks
        if name != self.first:
            callbacks = replace(callbacks, on_warning=Callbacks().on_warning)
        future: Future[Outcome] = Future()
        try:
            if self.executor is not None:
                return self.executor.submit(run_task, str(run.absolute()), spec)
            config = resolve(spec.tree)
            tables = self.tables if config.data.fold is None else None
            tables = tables or read_rows(run, config, spec)
            if config.data.fold is None:
                self.tables = tables
            future.set_result(train_or_resume(run, spec, callbacks, tables))
        except Exception as error:
            future.set_exception(error)
        return future

    def _has_room(self) -> bool:
        """Whether another run, as long as those before it, fits the budget; the first always begins."""
        if self.group.budget is None:
            return True
        spent = self.group.spent.values()
        if not spent:
            return not self.running
        mean = sum(spent) / len(spent)
        return sum(spent) + mean * (len(self.running) + 1) <= self.group.budget

    def _take(self, name: str, future: "Future[Outcome]") -> None:
        """Notes what became of a run."""
        try:
            outcome = future.result()
        except CancelledError:
            return
        except Exception as error:
            self._fail(name, error)
            return
        if outcome.about is not None and not adapters.is_visible(self.folder / name / "run.json"):
            said = "a worker has trained it, and it is not here; give --out a folder that all machines share"
            self._fail(name, CheckpointError(f"{self.folder / name}: {said}"))
            return
        if self.executor is not None and name == self.first:
            for warning in outcome.warnings:
                self.callbacks.on_warning(warning)
        spent = self.group.spent.get(name, 0.0) + outcome.seconds
        self.group = replace(self.group, spent={**self.group.spent, name: round(spent, 3)})
        self.group.write(self.folder)
        if outcome.about is not None:
            self.results[name] = outcome.about
        if outcome.failed is not None:
            self.failed[name] = outcome.failed
            if self.group.kind != "sweep":  # of which other settings may do
                self._keep(TrainingError(f"{self.folder / name}: {outcome.failed}"))
        if outcome.stopped:
            self._stop()
        else:
            self._report(name, outcome.failed)

    def _fail(self, name: str, error: Exception) -> None:
        """Tries a run once more, or notes why it failed."""
        run, said = self.folder / name, str(error) or type(error).__name__
        refused = isinstance(error, SentiError)
        if self.tries[name] < _TRIES and not self.stopped and not refused:
            self.callbacks.on_warning(f"{run} failed and is tried once more: {said}")
            self.waiting.appendleft(name)
            return
        self.failed[name] = said
        if refused and str(self.folder) not in said:
            error = type(error)(f"{run}: {said}")
        self._keep(error)
        self._report(name, said)

    def _keep(self, error: Exception) -> None:
        """Keeps the first error for the end."""
        self.error = self.error or error
        if self.stops:
            self._stop()

    def _stop(self) -> None:
        """Hands out nothing more, and lets the runs that go end after their step."""
        self.stopped = True
        self.driver.end()

    def _report(self, name: str, failed: str | None) -> None:
        self.ended += 1
        if self.executor is not None:
            n_ended, seconds = len(self.results.keys() | self.failed.keys()), time.monotonic() - self.began
            record = {
                "run": name,
                "runs": n_ended,
                "total_runs": len(self.group.runs),
                "running": len(self.running),
                "seconds": seconds,
                "seconds_left": seconds / self.ended * (len(self.group.runs) - n_ended),
            }
            self.callbacks.on_record(record if failed is None else {**record, "failed": failed})


def train_seeds(
    config: RunConfig,
    n: int,
    folder: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
    **scheduling: Unpack[Scheduling],
) -> Done:
    """Trains a run for each of `n` seeds from that of the configuration on.

    Args:
        config: the run; its seed is the first.
        n: seeds.
        folder: gets a run directory `seed-N` for each.
        callbacks: called during the runs.
        tables: the rows, if they are read already.
        baseline: whether to train TF-IDF with the first; without it as the configuration says.
        scheduling: who runs them; see `Scheduling`.

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
    return run_all(begin("seeds", runs, folder, tables), folder, tables, callbacks, **scheduling)


def about_seeds(done: Done) -> dict[str, Any]:
    """Returns the scores of several seeds.

    Returns:
        `seeds`, what each run's `run.json` holds; `spread`, mean and interval of each score on the
        rows that judge; `failed`, why runs failed, by name; `stopped`, whether some are still to come.
    """
    runs = list(done.runs.values())
    judged = [one[one["judged"]] for one in runs if "judged" in one]
    return {"seeds": runs, "spread": spread(judged), "failed": dict(done.failed), "stopped": done.stopped}


def spread(scores: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns mean, standard deviation and half the 95 % interval (Student's t) over seeds."""
    from scipy.stats import t

    out = {}
    for name in ("accuracy", "macro_f1", "micro_f1", "mae", "quadratic_kappa", "log_loss", "ece"):
        values = np.array([one[name] for one in scores if one.get(name) is not None], dtype=np.float64)
        if len(values):
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            factor = float(t.ppf(0.975, len(values) - 1)) if len(values) > 1 else 0.0
            half = factor * deviation / len(values) ** 0.5
            out[name] = {"mean": float(values.mean()), "deviation": deviation, "interval": half}
    return out


def train_folds(
    config: RunConfig,
    folder: Path,
    callbacks: Callbacks | None = None,
    **scheduling: Unpack[Scheduling],
) -> Done:
    """Trains a run for each of `data.folds` folds.

    A fold is its run's test part: it is not looked at while training, which stops on a share of the
    other rows. Runs share most of their training rows, so the interval over folds is a little too narrow
    (Bengio and Grandvalet 2004).

    Args:
        config: the run.
        folder: gets a run directory `fold-N` for each.
        callbacks: called during the runs.
        scheduling: who runs them; see `Scheduling`.

    Returns:
        The runs; `about_folds` says what they reach.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    refuse(folder)
    runs = runs_of_folds(config)
    first = read_tables(runs["fold-0"])
    return run_all(begin("folds", runs, folder, first), folder, callbacks=callbacks, **scheduling)


def runs_of_folds(config: RunConfig) -> dict[str, RunConfig]:
    """Returns the run of each fold, by its name."""
    # A baseline is cross-validated separately: --arch tfidf --folds.
    train = config.train.model_copy(update={"baseline": False})
    return {
        f"fold-{fold}": config.model_copy(
            update={"data": config.data.model_copy(update={"fold": fold}), "train": train}
        )
        for fold in range(config.data.folds or 0)
    }


def about_folds(done: Done) -> dict[str, Any]:
    """Returns the scores of the folds.

    Returns:
        `folds`, what each run's `run.json` holds; `names`, those of the runs; `spread`, mean and interval
        over the folds of each score on the rows left out; `failed`, why runs failed, by name; `stopped`,
        whether some are still to come.
    """
    runs = list(done.runs.values())
    return {
        "folds": runs, "names": list(done.runs), "spread": spread([one["test"] for one in runs]),
        "failed": dict(done.failed), "stopped": done.stopped,
    }  # fmt: skip
