"""The command `senti` as it is typed, run in this process: torch takes seconds to import."""

import contextlib
import io
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from sentimodels.cli.app import build


@dataclass
class Done:
    code: int
    out: str
    err: str


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
            build()([str(arg) for arg in args], prog_name="senti")
        except SystemExit as stop:
            code = stop.code
    return Done(int(code or 0), out.getvalue(), err.getvalue())
