"""`Output`: where a command's words go, and in which of the three modes.

Results go to stdout, all else to stderr. Human mode prints text and, on a
terminal, a progress bar and colour; `--json` prints one object with a `schema`
field; `--quiet` prints only the path or the number. Nothing else in the package
prints.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..messages import with_names
from .process import complain, to_stdout

Progress = Callable[[str, int, int], None]

# The stages of the progress callback, in words.
_STAGES = {
    "count": "counting",
    "spill": "joining counts",
    "merge": "merging",
    "seed": "seeking pieces",
    "prune": "dropping pieces",
    "encode": "encoding",
    "plan": "planning shards",
    "predict": "predicting",
    "transplant": "writing weights",
    "verify": "verifying",
}
# Stages that count bytes; the rest count things.
_IN_BYTES = {"count", "encode", "plan", "transplant", "verify"}


def colour(stream: TextIO) -> bool:
    """Whether to write colour: `NO_COLOR`, then `FORCE_COLOR`, then the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Output:
    """One command's output.

    Args:
        schema: the name of the JSON object, as in `sentitok.count/1`.
        as_json: print one JSON object.
        quiet: print only the one value that matters.
    """

    def __init__(self, schema: str, *, as_json: bool, quiet: bool) -> None:
        self.schema = schema
        self.as_json = as_json
        self.quiet = quiet
        self.started = time.perf_counter()

    @property
    def human(self) -> bool:
        """Whether people read along."""
        return not (self.as_json or self.quiet)

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.started

    def note(self, text: str) -> None:
        """Says something by the way, on stderr."""
        if self.human:
            complain(text)

    def result(self, value: dict[str, Any], text: str, only: str) -> None:
        """Prints the result in the mode asked for.

        Args:
            value: the JSON object, without its schema.
            text: the text for people.
            only: what `--quiet` leaves.
        """
        with to_stdout():
            if self.as_json:
                print(with_names(json_line({"schema": self.schema, **value})))
            elif self.quiet:
                print(with_names(only))
            else:
                print(with_names(text))

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """Yields the callback that draws the bar; `None` where none is wanted."""
        terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        if not (self.human and terminal):
            yield None
            return
        with _bar() as callback:
            yield callback


def of_total(progress: Progress | None, total: int, before: int = 0) -> Progress | None:
    """Returns a callback that counts on from `before` to a total, which its callers do not know."""
    if progress is None:
        return None
    return lambda stage, done, _: progress(stage, before + done, total)


@contextmanager
def _bar() -> Iterator[Progress]:
    # rich is imported only where a bar is drawn: it would slow every start.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            show = bytes_text if stage in _IN_BYTES else number
            amount = f"{show(done)} / {show(total)}" if total else show(done)
            if stage not in tasks:
                tasks[stage] = bar.add_task(_STAGES.get(stage, stage), total=None, amount="")
            bar.update(tasks[stage], completed=done, total=total or None, amount=amount)

        yield update


def json_line(value: dict[str, Any]) -> str:
    """Writes an object on one line, characters that stdout has no bytes for as JSON escapes them."""
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(value)
    return line


def number(value: float) -> str:
    """Writes a number with a comma at each thousand."""
    return f"{value:,}"


def counted(n: int, noun: str) -> str:
    """Writes a number of things: `1 document`, `2,000 documents`."""
    return f"{number(n)} {noun if n == 1 else noun + 's'}"


def bytes_text(value: float) -> str:
    """Writes a number of bytes in the unit that suits it."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= factor:
            return f"{value / factor:.1f} {unit}"
    return counted(round(value), "byte")


def sized(path: str | Path) -> str:
    """Names a file or a folder with its size, as in `runs/first (3.6 MB)`; a pipe has no size."""
    there = Path(path)
    if not (there.is_file() or there.is_dir()):
        return f"{path}"
    files = [there] if there.is_file() else [one for one in there.rglob("*") if one.is_file()]
    return f"{path} ({bytes_text(sum(one.stat().st_size for one in files))})"


def peak_memory() -> int | None:
    """Returns the peak memory of this process in bytes, where the system reports it.

    On Linux not from `getrusage`, whose figure begins with that of the process that
    started this one.
    """
    peak = _from_status("VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_now() -> int | None:
    """Returns the memory of this process in bytes; the peak where the system reports only that."""
    memory = _from_status("VmRSS:")
    return peak_memory() if memory is None else memory


def _from_status(name: str) -> int | None:
    """Returns a number of bytes that Linux reports of this process."""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def lines(pairs: Sequence[tuple[str, str]]) -> str:
    """Lays out names and values in two columns."""
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in pairs)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lays out a table: the first column aligned to the left, all further ones to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    laid_out = []
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        laid_out.append("  ".join(cells).rstrip())
    return "\n".join(laid_out)
