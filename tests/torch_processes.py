"""Pairs of processes as `torchrun` starts them, but with PyTorch in place, which takes seconds to import.

They are forked from one process that has imported it and does nothing else. `torchrun` itself is not
tested so, nor the order of imports: test_torchrun.py and test_distributed.py start what is typed.
"""

import os
import socket
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

__all__ = ["SENTI", "Pair", "run_pair"]

# What a run imports, for the most part.
_IMPORTED = ["sentimodels.cli.app", "sentimodels.runs.train", "torch.distributed.checkpoint", "torch._dynamo"]
# The command, for `run_pair`.
SENTI = "from sentimodels.cli import main\nmain()"


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


def run_pair(code: str, *args: str, cwd: Path, seconds: float = 170) -> Pair:
    """Runs Python in two processes of one group, and ends them after so many seconds."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)  # nothing where it runs already
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
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
