"""The command `senti`: classifiers on top of sentitok, one file per group of commands.

Not for work: each command is one or two calls into the library, and a page of
output. Nothing is imported here but what answers signals (`signals.py`): all else
comes after.
"""

import contextlib
import gc
import os
import sys

from sentitok.cli.signals import listen

__all__ = ["main"]


# New objects after which Python looks for garbage; its own 700 look hundreds of times while torch, which
# makes none, is imported.
_COLLECT_AFTER = 50_000


def main() -> None:
    """Runs `senti`."""
    listen("senti")
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    from sentitok.cli.process import run

    try:
        run(_main, "senti")
    except SystemExit as end:
        if os.environ.get("WORLD_SIZE", "1") != "1":
            _leave(end.code)
        raise
    finally:
        # Nor are the objects of its modules looked through when Python is taken down. Triton's must be:
        # what is left of them is counted at the end, and called leaked in thirty lines.
        if "triton" not in sys.modules:
            gc.freeze()


def _leave(code: object) -> None:
    """Ends one of several processes at once.

    Threads of torch's communication outlive the group of processes, and now and then abort a process
    that ends before the others while Python is taken down: all is written by then.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _main() -> None:
    from .app import start

    start()
