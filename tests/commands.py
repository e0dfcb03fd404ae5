"""The commands: as separate processes (`start`), or in this one where that is enough (`run`)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sentitok

# Where the package under test lies, whatever else is installed.
PACKAGES = Path(sentitok.__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """Returns an environment without the user's wishes for colour."""
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return {**clean, "PYTHONPATH": str(PACKAGES), "PYTHONIOENCODING": "utf-8", **more}


def start(line: str, *, program: str = "sentitok", **options: Any) -> subprocess.Popen[bytes]:
    """Starts a command line; its streams are pipes unless the options say otherwise.

    `senti` is forked where PyTorch has been imported; the time of imports is tested elsewhere.
    """
    module = {"sentitok": "sentitok.cli", "senti": "sentimodels.cli"}[program]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    given = {"env": environment(), **pipes, **options}
    if program == "senti" and os.name == "posix":
        from torch_processes import Forked

        return Forked([program, *line.split()], **given)
    return subprocess.Popen([sys.executable, "-m", module, *line.split()], **given)


def _inside(program: str, words: list[str], cwd: Path, stdin: bytes) -> Any:
    if program == "sentitok":
        from cli_runs import run_inside

        return run_inside(*words, cwd=cwd, stdin=stdin)
    from senti_in_process import senti

    return senti(*words, cwd=cwd)


def run(
    line: str,
    *,
    program: str = "sentitok",
    seconds: float = 180,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    **options: Any,
) -> tuple[int, str, str]:
    """Runs a command line; returns its code, stdout and stderr.

    In this process, which saves what a new one imports, unless it is given an environment, or is `senti` and
    given bytes.
    """
    if not options and (stdin is None or program == "sentitok"):
        done = _inside(program, line.split(), cwd or Path.cwd(), stdin or b"")
        return done.code, done.out, done.err
    options["cwd"] = cwd
    if stdin is not None:
        options["stdin"] = subprocess.PIPE
    with start(line, program=program, **options) as process:
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, (out or b"").decode(), (err or b"").decode()
