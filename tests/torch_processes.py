"""Processes of `senti`, and pairs as of `torchrun`, with PyTorch in place: to import it takes seconds.

They are forked from one process that has imported it and does nothing else. The time of imports and
`torchrun` itself are not tested so: test_senti.py, test_torchrun.py and test_distributed.py start the
typed commands.
"""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

__all__ = ["SENTI", "Forked", "Pair", "run_pair"]

# What a run imports, for the most part: a process of its own would take a second for sklearn alone.
_IMPORTED = [
    "sentimodels.cli.app",
    "sentimodels.runs.execute",
    "sklearn.metrics",
    "torch.distributed.checkpoint",
    "torch._dynamo",
]
# The command.
SENTI = "from sentimodels.cli import main\nmain()"


def _context() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)  # nothing where it runs already
    return context


@dataclass
class Pair:
    """The codes of two processes, and what each wrote."""

    codes: list[int | None]
    outs: list[str]


def _work(code: str, args: tuple[str, ...], environment: dict[str, str], cwd: Path, written: Path) -> None:
    with written.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = ["senti", *args]
    try:
        exec(compile(code, "<pair>", "exec"), {"__name__": "__main__"})
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _free_port() -> int:
    """Returns a port that is free, and stays so until it is bound.

    The system assigns higher ports to programs that ask for any; other test processes begin elsewhere.
    """
    for port in range(10_000 + os.getpid() * 20 % 20_000, 32_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def run_pair(code: str, *args: str, cwd: Path, seconds: float = 170) -> Pair:
    """Runs Python in two processes of one group, and ends them after so many seconds."""
    context = _context()
    port = _free_port()
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    written = [cwd / f".process-{rank}" for rank in range(2)]
    started = []
    for rank, file in enumerate(written):
        environment = {**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        process = context.Process(target=_work, args=(code, args, environment, cwd, file))
        process.start()
        started.append(process)
    for process in started:
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
    outs = [file.read_text("utf-8") for file in written]
    for file in written:
        file.unlink()
    return Pair([process.exitcode for process in started], outs)


def _command(words: list[str], environment: dict[str, str], cwd: Path, streams: list[Connection]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", closefd=False)
    sys.argv = words
    exec(SENTI, {"__name__": "__main__"})


class Forked(subprocess.Popen[bytes]):
    """`senti` in a forked process; all else is as of `Popen`, whose child this one is not."""

    def _execute_child(self, args: Any, *options: Any) -> None:
        cwd, env = options[4:6]
        pipes = options[9:15]
        with ExitStack() as stack:
            # Only a connection is passed on to the process.
            streams = [stack.enter_context(Connection(os.dup(fd))) for fd in pipes[0::2][:1] + pipes[3::2]]
            self._process = _context().Process(
                target=_command, args=(args, dict(env or os.environ), cwd or Path.cwd(), streams)
            )
            self._process.start()
        self.pid = self._process.pid or 0
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # 2026-11: of Popen itself

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if (code := self._process.exitcode) is not None:
            self.returncode = code
        return code

    def _wait(self, timeout: float | None) -> int:
        self._process.join(timeout)
        if (code := self._internal_poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code
