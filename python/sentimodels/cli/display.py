"""The live line of `senti train`: how far, how well, how long still; on a terminal only.

Not for the summary (`summary.py`). Times are never cut: where a terminal is narrow the bar
gives way. Scores of evaluations are printed above it, a line each.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sentitok.cli.output import number

from .command import Output

if TYPE_CHECKING:
    from rich.console import Console

Draw = Callable[[dict[str, Any]], None]


@contextmanager
def display(output: Output) -> Iterator[Draw | None]:
    """Yields a callback that draws the course of training; `None` where nobody looks."""
    if not (output.human and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console

    with drawn(Console(stderr=True)) as draw:
        yield draw


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
        last: dict[str, str] = {}

        def draw(record: dict[str, Any]) -> None:
            step = record["step"]
            if "loss" in record:
                last["loss"] = f"loss {record['loss']:.4f} lr {record['lr']:.1e}"
            if "val_accuracy" in record:
                scores = f"accuracy {record['val_accuracy']:.4f} F1 {record['val_macro_f1']:.4f}"
                bar.console.print(
                    f"step {number(step)}: valid loss {record['val_loss']:.4f} {scores}", highlight=False
                )
            speed = number(round(record["tokens"] / max(record["seconds"], 1e-9)))
            bar.update(
                task, completed=step, total=record["total_steps"], at=f"step {step}/{record['total_steps']}",
                loss=f"{last.get('loss', '')} {speed} tok/s".strip(),
            )  # fmt: skip

        yield draw
