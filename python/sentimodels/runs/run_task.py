"""`run_task`: from settings and a directory to one finished run; what a worker of `group.run_all` does.

A worker is this process, another one, or a machine that sees the files of the driver under the same paths. A
task that is called again continues what the last call left, so a worker may be killed at any moment. What a
worker writes is what a run of this process would write.

`Driver` is how a worker notices that nobody waits for it: after Ctrl-C, or once another driver has taken over
from one that was killed.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import torch

import sentitok
from sentitok.adapters.processes import follow_parent
from sentitok.atomic import write as write_atomically

from ..config import RunConfig
from ..data import Table
from ..errors import CheckpointError, ConfigError, TrainingError
from ..training.device import restored_torch
from .directory import begun, finished, read_json
from .execute import Callbacks, resume, train
from .families import resolve
from .judging import with_baseline
from .tables import Tables, read_tables

__all__ = [
    "Driver",
    "Outcome",
    "RunSpec",
    "parts_of",
    "read_rows",
    "run_task",
    "sources_of",
    "train_or_resume",
]

# Seconds between two looks at a file that another machine may write.
_LOOK = 0.5
# Seeds, threads and determinism are those of a process: one run at a time.
_ONE_RUN = threading.Lock()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        about: its `run.json`; `None` where no weights are left, or another worker has the run.
        seconds: of CPU that it took.
        failed: why its training failed; with the same settings it would again.
        warnings: notes for the user on it.
    """

    about: dict[str, Any] | None
    seconds: float
    failed: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def stopped(self) -> bool:
        """Whether steps are left, because somebody asked for an end."""
        if self.about is None:
            return self.failed is None
        return bool(self.about["fit"]["stop"] == "stopped")


@dataclass(frozen=True)
class Driver:
    """The process that hands out the runs of a group, as its workers see it.

    Attributes:
        file: holds the name of the driver that the workers work for.
        name: that of this driver.
    """

    file: Path
    name: str

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Takes over a group; workers of an earlier driver end after their step."""
        driver = cls(folder.absolute() / ".driver", secrets.token_hex(8))
        write_atomically(driver.file, driver.name.encode())
        return driver

    def end(self) -> None:
        """Lets the workers that still run end after their step."""
        if self.waits():
            self.file.unlink(missing_ok=True)

    def waits(self) -> bool:
        """Whether this driver still waits for results."""
        try:
            return self.file.read_text("utf-8") == self.name
        except FileNotFoundError:
            return False


@dataclass(frozen=True)
class RunSpec:
    """The arguments that a worker needs for a run, in addition to its directory.

    Attributes:
        tree: the configuration.
        hashes: of the files of its rows, by part.
        sources: the names of these files as they were typed, for the record of the run.
        baseline: whether to train TF-IDF too; `None`: as the configuration says.
        threads: of PyTorch, where the configuration names none; `None`: those of the worker.
        driver: who waits for the result.
        version: of the package that wrote this.
    """

    tree: Mapping[str, Any]
    hashes: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)
    baseline: bool | None = None
    threads: int | None = None
    driver: Driver | None = None
    version: str = sentitok.__version__


def run_task(folder: str, spec: RunSpec) -> Outcome:
    """Trains a run in another process than the driver's, or resumes it; a finished one is read.

    Args:
        folder: the run directory.
        spec: the run.

    Raises:
        SentiError: if a file or a setting does not allow it.
    """
    if spec.version != sentitok.__version__:
        raise ConfigError(
            f"sentitok {sentitok.__version__} is on a worker and {spec.version} on the driver; install one "
            "version on all machines"
        )
    follow_parent()
    run, warnings = Path(folder), list[str]()
    stopped = _at_times(lambda: spec.driver is not None and not spec.driver.waits())
    callbacks = Callbacks(on_warning=warnings.append, should_stop=stopped)
    with _ONE_RUN, restored_torch():
        if stopped():
            return Outcome(None, 0.0)
        if spec.threads is not None:
            torch.set_num_threads(spec.threads)
        outcome = train_or_resume(run, spec, callbacks)
    return replace(outcome, warnings=tuple(warnings))


def train_or_resume(run: Path, spec: RunSpec, callbacks: Callbacks, tables: Tables | None = None) -> Outcome:
    """Trains a run in this process, or resumes it; waits while another process trains it.

    Args:
        run: its directory.
        spec: the run.
        callbacks: called meanwhile.
        tables: its rows, if they are read already.

    Raises:
        SentiError: if a file or a setting does not allow it.
    """
    with _locked(run.with_name(f".{run.name}.lock"), callbacks.should_stop) as ours:
        return _run(run, spec, callbacks, tables) if ours else Outcome(None, 0.0)


def _run(run: Path, spec: RunSpec, callbacks: Callbacks, tables: Tables | None) -> Outcome:
    if finished(run):  # by a worker whose answer was lost
        return Outcome(read_json(run / "run.json"), 0.0)
    config = with_baseline(resolve(spec.tree), spec.baseline)
    tables = tables or read_rows(run, config, spec)
    began = time.process_time()
    failed = None
    try:
        if begun(run):
            about: dict[str, Any] | None = resume(run, callbacks, tables=tables, baseline=spec.baseline)
        else:
            about = train(config, run, callbacks, tables=tables)
    except TrainingError as error:
        failed = str(error)
        about = (
            read_json(run / "run.json") if finished(run) else None
        )  # with the best weights before it failed
    return Outcome(about, time.process_time() - began, failed)


def read_rows(run: Path, config: RunConfig, spec: RunSpec) -> Tables:
    """Reads the rows of a run.

    Raises:
        CheckpointError: if a file has changed since the group began.
    """
    tables = read_tables(config)
    # A part that is drawn may be empty in one run of a group, and is of the training file.
    for part, table in parts_of(tables).items():
        if spec.hashes.get(part, table.sha256) != table.sha256:
            raise CheckpointError(
                f"{run.parent}: its data {table.source} has changed; put the file back, or start a new one"
            )
        if part in spec.sources:
            setattr(tables, part, replace(table, source=Path(spec.sources[part])))
    return tables


def parts_of(tables: Tables) -> dict[str, Table]:
    """Returns the tables that there are, by part."""
    named = {"train": tables.train, "valid": tables.valid, "test": tables.test}
    return {name: table for name, table in named.items() if table is not None}


def sources_of(tables: Tables | None) -> dict[str, str]:
    """Returns the names of the files of tables, by part."""
    return {} if tables is None else {part: str(table.source) for part, table in parts_of(tables).items()}


def _at_times(ask: Callable[[], bool]) -> Callable[[], bool]:
    """Returns a function that asks at most every half second, and answers at each call."""
    answer, asked = False, -_LOOK

    def answered() -> bool:
        nonlocal answer, asked
        if (now := time.monotonic()) - asked >= _LOOK:
            answer, asked = ask(), now
        return answer

    return answered


@contextmanager
def _locked(path: Path, stopped: Callable[[], bool]) -> Iterator[bool]:
    """Waits until nobody else has a lock, as a worker of a killed driver until its step ends.

    The system frees the lock of a process that is killed.

    Yields:
        Whether it was taken; False once `stopped` is true.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                break
        except (BlockingIOError, FileNotFoundError):  # the last holder removes it
            pass
        except OSError:  # a file system without locks
            break
        os.close(file)
        if stopped():
            yield False
            return
        time.sleep(_LOOK / 10)
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(file)
