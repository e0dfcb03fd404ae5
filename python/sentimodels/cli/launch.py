"""What the commands that train share: settings, what a run calls while it goes, the run, and its summary."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from sentitok.cli.process import complain
from sentitok.cli.signals import STOPPED

from .command import Output, UsageError
from .display import display

if TYPE_CHECKING:
    from ..runs.execute import Callbacks

__all__ = ["Stopper", "output_of_first", "run", "say_stopped", "trees", "varying_defaults", "watched"]


# What the shell gives for a process that Ctrl-C ended.
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
        for number, before in self._before.items():
            signal.signal(number, before)

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
    """What the processes beside the first print: nothing."""

    def result(self, value: dict[str, Any], text: str, only: str) -> None:
        """Prints nothing."""


def output_of_first(schema: str, *, as_json: bool, quiet: bool) -> Output:
    """Returns the output of a command that `torchrun` may have started several times."""
    from ..runs.processes import is_first

    if is_first():
        return Output(schema, as_json=as_json, quiet=quiet)
    return _Unheard(schema, as_json=False, quiet=True)


def trees(config: Path | None, assignments: list[str], flags: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what the environment, the file, assignments and flags say, rising in weight."""
    from ..runs.families import read_toml, set_value, with_files

    if config is not None and config.is_dir():
        raise UsageError(f"--config {config}: a folder; name a file of it, such as {config / 'config.toml'}")
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        set_value(assigned, assignment)
    held_out = os.environ.get("SENTI_EXCLUDE")
    return [
        *([{"data": {"exclude": held_out}}] if held_out else []),
        *([] if config is None else [with_files(read_toml(config), config.parent)]),
        assigned,
        flags,
    ]


@contextmanager
def watched(output: Output, stopper: Stopper, replaces: Path | None = None) -> "Iterator[Callbacks]":
    """Yields what a run calls while it goes: the display, notes, and the test for Ctrl-C.

    Args:
        output: of the command.
        stopper: notices Ctrl-C.
        replaces: a folder whose run is renamed, so that another can begin there.
    """
    from ..runs.execute import Callbacks
    from ..runs.processes import is_first

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
    more: Callable[[Path], dict[str, Any]] = lambda _: {},
    **given: Any,
) -> None:
    """Trains a run, or resumes one, and prints its summary.

    Args:
        output: of the command.
        command: its name, such as `translate train`.
        folder: the run directory.
        config: the run, or `None` to resume the one in the folder.
        page: writes the summary, of what the command prints as JSON and the folder.
        force: whether a run in the folder is renamed.
        more: returns what is printed besides `run.json`, of the folder.
        given: further arguments of `runs.train.train`.
    """
    from ..runs.execute import resume, train
    from ..runs.families import check_command

    stopper = Stopper()
    with watched(output, stopper, folder if force else None) as callbacks:
        if config is None:
            check_command(folder, command)
            about = resume(folder, callbacks, **given)
        else:
            about = train(config, folder, callbacks, **given)
    about = {"run": str(folder), **about, **more(folder)}
    output.result(about, page(about, folder) if output.human else "", str(folder))
    say_stopped(about["fit"]["stop"] == "stopped", folder, stopper, command)


def say_stopped(stopped: bool, folder: Path, stopper: Stopper, command: str = "train") -> None:
    """Ends a command that was stopped, with what to type to go on."""
    if stopped:
        print(f"senti: stopped; resume with senti {command} --resume {folder}", file=sys.stderr)
        raise typer.Exit(stopper.code)


def varying_defaults(of_task: str) -> dict[str, str]:
    """Returns what help says of the defaults that hang on the architecture, by key."""
    from ..models import ARCHITECTURES

    return {
        f"{section}.{name}": "depends on --arch"
        for row in ARCHITECTURES.values()
        for section, values in row.settings(of_task).items()
        for name in values
    }
