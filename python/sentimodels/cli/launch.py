"""Shared parts of the commands that train: settings, runs and trials, display, summary, and workers."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from sentitok.cli.engine import check_engine, opened
from sentitok.cli.output import bytes_text, counted, lines, number, peak_memory, table
from sentitok.cli.process import complain
from sentitok.cli.signals import STOPPED

from .command import Output, UsageError, typed
from .summary import said_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..config import RunConfig
    from ..runs.execute import Callbacks, Recipe
    from ..runs.group import Scheduling
    from ..runs.tables import Tables

__all__ = [
    "Stopper",
    "dry_run_of",
    "dry_run_of_sweep",
    "output_of_first",
    "refuse_windows_of_bags",
    "refuse_workers",
    "run",
    "say_stopped",
    "scheduled",
    "training_callbacks",
    "trees",
    "varying_defaults",
]


# Exit code of the shell for a process that Ctrl-C ended.
_INTERRUPTED = 130


class Stopper:
    """Asks a run to stop at the end of a step: on Ctrl-C, on a second one at once; on SIGTERM.

    Called after each step. Until the first call (data is read, ids are made) both signals stop at once.
    Slurm, Docker and `timeout` send SIGTERM.

    Attributes:
        code: the exit code of a command that stopped for it.
    """

    def __init__(self) -> None:
        self.code = _INTERRUPTED
        self._asked = False
        self._polled = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        """Whether to stop now."""
        self._polled = True
        return self._asked

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, before in self._before.items():
            signal.signal(signum, before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self._on_sigterm(frame)
        elif not self._polled or self._asked:
            raise KeyboardInterrupt
        else:
            self._asked = True
            complain("senti: stopping after this step; Ctrl-C again to stop at once")

    def _on_sigterm(self, frame: FrameType | None) -> None:
        if self._polled:  # asked twice, it still saves: who sends it waits, then kills
            if not self._asked:
                complain("senti: SIGTERM: stopping after this step")
            self._asked, self.code = True, STOPPED
            return
        before = self._before[signal.SIGTERM]
        if callable(before):
            before(signal.SIGTERM, frame)
        else:
            raise SystemExit(STOPPED)


class _Unheard(Output):
    """The display of all processes but the first: none."""

    def result(self, value: dict[str, Any], text: str, only: str) -> None:
        """Prints nothing."""


def output_of_first(schema: str, *, as_json: bool, quiet: bool) -> Output:
    """Returns the output of a command that `torchrun` may have started several times."""
    from ..training.distributed import is_first

    if is_first():
        return Output(schema, as_json=as_json, quiet=quiet)
    return _Unheard(schema, as_json=False, quiet=True)


def refuse_windows_of_bags(config: "RunConfig") -> None:
    """Refuses `--windows` for an architecture that was named and reads texts whole.

    Raises:
        UsageError: naming it.
    """
    from ..text.encoder import HasFeatures

    if config.data.long == "windows" and not config.estimates and isinstance(config.model, HasFeatures):
        raise UsageError(f"--windows: {config.arch} reads texts whole, however long; leave it out")


def trees(config: Path | None, assignments: list[str], flags: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the settings of the environment, the file, assignments and flags, rising in weight."""
    from ..runs.families import read_toml, set_value, with_files, with_local_copies

    if config is not None and config.is_dir():
        raise UsageError(f"--config {config}: a folder; name a file of it, such as {config / 'config.toml'}")
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        set_value(assigned, assignment)
    held_out = os.environ.get("SENTI_EXCLUDE")
    given = [
        *([{"data": {"exclude": held_out}}] if held_out else []),
        *([] if config is None else [with_files(read_toml(config), config.parent)]),
        assigned,
        flags,
    ]
    return list(map(with_local_copies, given))


@contextmanager
def training_callbacks(
    output: Output, stopper: Stopper, replaces: Path | None = None
) -> "Iterator[Callbacks]":
    """Yields the callbacks of a run: the display, notes, and the test for Ctrl-C.

    Args:
        output: of the command.
        stopper: notices Ctrl-C.
        replaces: a folder whose run is renamed, so that another can begin there.
    """
    from ..runs.execute import Callbacks
    from ..training.distributed import is_first

    aside: AbstractContextManager[None] = nullcontext()
    if replaces is not None and is_first():
        from ..runs.group import set_aside

        aside = set_aside(replaces)
    with stopper, display(output) as on_record, aside:
        yield Callbacks(on_record, output.note, stopper)


def run(
    output: Output,
    command: str,
    folder: Path,
    config: Any,
    page: Callable[[dict[str, Any], Path], str],
    *,
    force: bool = False,
    dry_run: bool = False,
    more: Callable[[Path], dict[str, Any]] = lambda _: {},
    **given: Any,
) -> None:
    """Trains a run, resumes one or tries one, and prints its summary.

    Args:
        output: of the command.
        command: its name, such as `translate train`.
        folder: the run directory.
        config: the run, or `None` to resume the one in the folder.
        page: writes the summary, of what the command prints as JSON and the folder.
        force: whether a run in the folder is renamed.
        dry_run: whether to take some steps only, and report time and memory.
        more: returns further values to print besides `run.json`, given the folder.
        given: further arguments of `runs.execute.train`.
    """
    from ..runs.directory import restarted
    from ..runs.execute import recipe_of, resume, train
    from ..runs.families import check_command

    if dry_run:
        dry_run_of(output, recipe_of(config))
        return

    stopper = Stopper()
    with training_callbacks(
        output, stopper, folder if force and not restarted(folder) else None
    ) as callbacks:
        if config is None:
            check_command(folder, command)
            about = resume(folder, callbacks, **given)
        else:
            about = train(config, folder, callbacks, **given)
    about = {"run": str(folder), **about, **more(folder)}
    output.result(about, page(about, folder) if output.human else "", str(folder))
    say_stopped(about["fit"]["stop"] == "stopped", folder, stopper, command)


def say_stopped(stopped: bool, folder: Path, stopper: Stopper, command: str = "train") -> None:
    """Ends a command that was stopped, with what to type to resume."""
    if stopped:
        complain(f"senti: stopped; resume with senti {command} {typed('--resume', folder)}")
        raise typer.Exit(stopper.code)


def varying_defaults(of_task: str) -> dict[str, str]:
    """Returns the help's text on defaults that depend on the architecture, by key."""
    from ..models import ARCHITECTURES

    return {
        f"{section}.{name}": "depends on --arch"
        for row in ARCHITECTURES.values()
        for section, values in row.settings(of_task).items()
        for name in values
    }


Draw = Callable[[dict[str, Any]], None]

# Seconds between two lines of a log, at least.
_QUIET = 10.0


@contextmanager
def display(output: Output) -> Iterator[Draw]:
    """Yields a callback that shows how training goes; it does nothing where nobody looks."""
    if not output.human:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield logged(complain)
        return
    from rich.console import Console

    with drawn(Console(stderr=True)) as draw:
        yield draw


def logged(write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Draw:
    """Returns the callback that writes lines: loss, speed and the time left; scores at each evaluation."""
    written: float | None = None

    def draw(record: dict[str, Any]) -> None:
        nonlocal written
        now = clock()
        if "runs" in record:
            write(_ended(record))
        elif "monitor" in record:
            write(_scores(record))
        elif written is None or now - written >= _QUIET:
            at = f"step {number(record['step'])}/{number(record['total_steps'])}"
            write(f"{at}: {_loss(record)} {_speed(record)}, {_left(record)} left")
            written = now

    return draw


def _loss(record: dict[str, Any]) -> str:
    if "reward_mean" in record:  # of answers that were drawn; never without the divergence
        return f"reward {record['reward_mean']:.3f} kl {record['kl']:.2f} lr {record['lr']:.1e}"
    return f"loss {record['loss']:.4f} lr {record['lr']:.1e}"


def _speed(record: dict[str, Any]) -> str:
    return f"{number(round(record['tokens'] / max(record['seconds'], 1e-9)))} tok/s"


def _left(record: dict[str, Any]) -> str:
    """Returns the time that the steps to come take at the speed so far; early stopping makes it less."""
    step = max(record["step"], 1)
    return _clock(record["seconds"] * (record["total_steps"] - step) / step)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _ended(record: dict[str, Any]) -> str:
    """Writes that a run of several at once has ended."""
    end = f"failed: {record['failed']}" if "failed" in record else "has finished"
    left = f", {_clock(record['seconds_left'])} left" if record["runs"] < record["total_runs"] else ""
    return f"{record['runs']}/{record['total_runs']}: {record['run']} {end}{left}"


def _scores(record: dict[str, Any]) -> str:
    """Writes the scores of an evaluation."""
    names = [name for name in record if name.startswith("val_")]
    said = ", ".join(f"{said_of(name).removeprefix('validation ')} {record[name]:.4f}" for name in names)
    return f"step {number(record['step'])}: validation {said}"


@contextmanager
def drawn(console: "Console") -> Iterator[Draw]:
    """Yields the callback that draws on a console."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.fields[at]}"),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=4)),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
        TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=7)),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("train", total=None, at="preparing", loss="")
        last = ""

        def draw(record: dict[str, Any]) -> None:
            nonlocal last
            if "runs" in record:
                bar.console.print(_ended(record), highlight=False)
                bar.update(task, completed=record["runs"], total=record["total_runs"], at="runs")
                return
            if "loss" in record:
                last = _loss(record)
            if "monitor" in record:
                bar.console.print(_scores(record), highlight=False)
            bar.update(
                task, completed=record["step"], total=record["total_steps"],
                at=f"step {record['step']}/{record['total_steps']}", loss=f"{last} {_speed(record)}".strip(),
            )  # fmt: skip

        yield draw


# Names of some values of a plan in the output.
_NAMES = {
    "seconds": "time", "memory_bytes": "peak memory", "tokens_per_second": "tokens/s",
    "rows_per_second": "rows/s",
}  # fmt: skip
_NEXT = ("next", "the same command without --dry-run")


def dry_run_of(output: Output, recipe: "Recipe[Any]", runs: int = 1) -> None:
    """Tries a run and prints its plan; of several that differ little, one is tried for all.

    Raises:
        Exit: with 1, if the model does not fit into memory.
    """
    from ..runs.plan import plan

    planned = plan(recipe, output.note)
    if runs > 1:
        planned = {"runs": runs, **planned}
        if "seconds" in planned:
            planned["seconds"] = round(planned["seconds"] * runs, 3)
    planned.setdefault("memory_bytes", peak_memory() or 0)
    fits = planned["fits"]
    shown = {key: value for key, value in planned.items() if key != "fits"}
    pairs = [(_NAMES.get(key, key.replace("_", " ")), _said(key, value)) for key, value in shown.items()]
    if not fits:
        output.note(
            f"does not fit: {bytes_text(planned['memory_bytes'])} and more are needed; take a smaller model "
            "(--preset) or batch (--batch-size), or a device with more memory"
        )
    output.result(planned, lines([*pairs, *([_NEXT] if fits else [])]), str(planned.get("parameters", "")))
    if not fits:
        raise typer.Exit(1)


def dry_run_of_sweep(
    output: Output, choices: "list[tuple[dict[str, Any], RunConfig]]", tables: "Tables", budget: float | None
) -> None:
    """Tries the runs of a sweep: prints a line for each combination, and the totals.

    Raises:
        Exit: with 1, if a model does not fit into memory.
    """
    from ..runs.plan import plan_sweep

    planned = plan_sweep(choices, tables, budget)
    planned["memory_bytes"] = max(
        peak_memory() or 0, *(one.get("memory_bytes", 0) for one in planned["combinations"])
    )
    some = planned["combinations"]
    keys = list(some[0]["values"])
    text = table(
        [*keys, "parameters", "steps", "seconds"],
        [
            [
                *one["values"].values(),
                *(number(one[key]) if key in one else "-" for key in ("parameters", "steps")),
                f"{one['seconds']:.1f}" if one["fits"] else "does not fit",
            ]
            for one in some
        ],
    )
    if len(some) < planned["runs"]:
        text += f"\n{counted(len(some), 'combination')} of {number(planned['runs'])}, spread over the grid"
    pairs = [
        ("train rows", number(some[0]["train_rows"])), ("valid rows", number(some[0]["valid_rows"])),
        ("runs", number(planned["runs"])), ("time", _said("seconds", planned["seconds"])),
        ("peak memory", _said("memory_bytes", planned["memory_bytes"])),
    ]  # fmt: skip
    if planned["budget"] is not None:
        pairs.append(
            ("budget", f"{_time(planned['budget'])}, about {counted(planned['within_budget'], 'run')}")
        )
    pairs.append(_NEXT)
    output.result(planned, f"{text}\n\n{lines(pairs)}", str(planned["runs"]))
    if not planned["fits"]:
        raise typer.Exit(1)


def _said(key: str, value: object) -> str:
    """Writes a value for people."""
    if key == "memory_bytes" and isinstance(value, int):
        return bytes_text(value)
    if key == "seconds" and isinstance(value, (int, float)):
        return f"about {_time(value)}"
    return number(value) if isinstance(value, (int, float)) else str(value)


def _time(seconds: float) -> str:
    """Writes seconds in the unit that suits them."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s"


def refuse_workers(engine: str | None, address: str | None, workers: int | None) -> None:
    """Refuses options that say who trains several runs, of a command that trains one.

    Raises:
        UsageError: naming the first.
    """
    given = {"--engine": engine, "--address": address, "--workers": workers}
    if named := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{named[0]} is for several runs: give --seeds N or --folds N too, or leave it out")


@contextmanager
def scheduled(
    output: Output,
    n_runs: int,
    device: str,
    *,
    engine: str | None,
    address: str | None,
    workers: int | None,
    on_error: str,
) -> "Iterator[Scheduling]":
    """Yields the scheduling of a group's runs, as `run_all` takes it; its workers end with the block.

    Args:
        output: of the command; says how many go at once.
        n_runs: how many there are.
        device: as `train.device` of the runs.
        engine: as `--engine`.
        address: as `--address`.
        workers: as `--workers`.
        on_error: as `--on-error`.

    Raises:
        UsageError: if the options exclude each other.
        AnswerIsNoError: if the library of the engine is not installed.
        ConnectionError: if there is no cluster at the address.
    """
    from ..runs.group import Scheduling

    check_engine(engine, address, on_error)
    failure: Any = on_error
    if engine is None:
        if address is not None or workers is not None:
            option = "--address" if address is not None else "--workers"
            raise UsageError(f"{option} needs --engine: processes, ray or dask")
        yield Scheduling(on_error=failure)
        return
    import torch

    from sentitok.adapters import workers_of

    on_gpus = device in ("auto", "cuda")
    with ExitStack() as stack:
        if address is not None:
            executor = stack.enter_context(opened(engine, address, gpus=on_gpus))
            n, threads = min(workers or n_runs, workers_of(executor) or n_runs, n_runs), None
            said = f"on the workers of {address}"
        else:
            n_gpus = torch.cuda.device_count() if on_gpus and torch.cuda.is_available() else 0
            cores = torch.get_num_threads()
            n = min(workers or n_gpus or cores, n_runs)
            threads = max(1, cores // n)
            executor = stack.enter_context(opened(engine, workers=n, gpus=n_gpus))
            said = f"{counted(threads, 'thread')} each" + (", one of the GPUs each" if n_gpus else "")
        output.note(f"{counted(n_runs, 'run')}, {n} at once, {said}")
        yield Scheduling(executor=executor, workers=n, threads=threads, on_error=failure)
