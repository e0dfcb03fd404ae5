"""`Command`: the base of every subcommand of `senti`: exit codes and error lines.

Exit codes are those of `sentitok`: 0 done; 1 the answer is negative, or the work failed; 2 wrong call,
file or configuration; 130 Ctrl-C.
"""

import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.command import (
    AnswerIsNoError,
    AsJson,
    Group,
    Quiet,
    Traceback,
    UsageError,
    examples,
    on_terminal,
    size,
)
from sentitok.cli.command import Command as _Command
from sentitok.cli.existing import Force, Write, announce, check_file, put, put_file
from sentitok.cli.output import Output

__all__ = [
    "AnswerIsNoError",
    "AsJson",
    "Command",
    "Force",
    "Group",
    "JsonLines",
    "Output",
    "Quiet",
    "Traceback",
    "UsageError",
    "Write",
    "add",
    "announce",
    "check_file",
    "examples",
    "on_terminal",
    "put",
    "put_file",
    "refuse_input",
    "size",
    "typed",
]


# As `AsJson`, of commands that answer for each text; into a file they write the same.
JsonLines = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object per line, one for each text.", rich_help_panel="Output"
    ),
]


def typed(*words: object) -> str:
    """Returns a command as a shell takes it: words with blanks or quotes are quoted."""
    return shlex.join(map(str, words))


# Packages of the extra that only some commands import; `predict` works without them.
_OF_THE_EXTRA = ("matplotlib", "scipy", "sklearn", "tomlkit")


def refuse_input(out: Path | None, inputs: Iterable[str | Path]) -> None:
    """Refuses to write to a file that is read, by whatever name: its content could be lost.

    Raises:
        UsageError: naming both.
    """
    if out is None:
        return
    for one in inputs:
        with suppress(OSError):  # one of them is not there
            if out.samefile(one):
                same = "the file" if str(one) == str(out) else f"the same file as {one}, the one"
                raise UsageError(f"{out}: {same} that is read; name another file to write")


class Command(_Command):
    """A subcommand of `senti`: see the head of this file."""

    program = "senti"

    def code(self, error: Exception) -> int:
        """Returns the exit code of an error."""
        from ..errors import ExportError, SentiError, TrainingError

        if isinstance(error, TrainingError | ExportError):  # it ran, and the work failed
            return 1
        return 2 if isinstance(error, SentiError) else super().code(error)

    def line(self, error: Exception) -> str:
        """Returns an error as one line."""
        from ..errors import SentiError

        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in _OF_THE_EXTRA:
            return f'it needs {error.name}; install the extra: pip install "sentitok[models]"'
        return str(error) if isinstance(error, SentiError) and str(error) else super().line(error)


def add(
    app: typer.Typer, name: str, function: Callable[..., Any], *lines: str, runs_alone: bool = False
) -> None:
    """Adds a command.

    Args:
        app: `senti`, or a group of its commands.
        name: of the command.
        function: the function that runs.
        lines: examples for its help.
        runs_alone: whether it runs without arguments; else it shows its help then.
    """
    app.command(name, cls=Command, no_args_is_help=not runs_alone, epilog=examples(*lines))(function)
