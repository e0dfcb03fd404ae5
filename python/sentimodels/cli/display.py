"""The course of `senti train`: a live bar on a terminal, log lines with the time left elsewhere.

Not for the summary (`summary.py`). Times are never cut: where a terminal is narrow the bar
gives way. Scores of evaluations have a line each, above the bar. In a log, lines in between come
every few seconds at most, the first one at once.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sentitok.cli.output import number
from sentitok.cli.process import complain

from .command import Output
from .summary import said_of

if TYPE_CHECKING:
    from rich.console import Console

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
        if "monitor" in record:
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
    seconds = round(record["seconds"] * (record["total_steps"] - step) / step)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


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
            if "loss" in record:
                last = _loss(record)
            if "monitor" in record:
                bar.console.print(_scores(record), highlight=False)
            bar.update(
                task, completed=record["step"], total=record["total_steps"],
                at=f"step {record['step']}/{record['total_steps']}", loss=f"{last} {_speed(record)}".strip(),
            )  # fmt: skip

        yield draw
