"""The command `senti` as it is typed, run in this process: torch takes seconds to import."""

import contextlib
import io
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.main import get_command

from sentimodels.cli import app


@dataclass
class Done:
    code: int
    out: str
    err: str


@cache
def _command(markup: str | None) -> Any:
    """Puts the command line together, which takes as long as a short command."""
    return get_command(app.build())


def senti(*args: str | Path, cwd: Path, stdin: str = "") -> Done:
    """Runs the command in this process: torch takes seconds to import."""
    out, err = io.StringIO(), io.StringIO()
    code: int | str | None = 0
    with ExitStack() as stack:
        stack.enter_context(contextlib.chdir(cwd))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")))
        try:
            _command(app._markup())([str(arg) for arg in args], prog_name="senti")
        except SystemExit as stop:
            code = stop.code
    return Done(int(code or 0), out.getvalue(), err.getvalue())
