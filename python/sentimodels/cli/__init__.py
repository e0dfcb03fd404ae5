"""The command `senti`: classifiers on top of sentitok, one file per group of commands.

Nothing is imported here but what answers signals (`signals.py`): all else comes after.
"""

import atexit
import contextlib
import gc
import os
import sys

from sentitok.cli.signals import listen

__all__ = ["main"]


# New objects after which Python looks for garbage; its own 700 look hundreds of times while torch, which
# makes none, is imported. `senti predict` takes 1.56 s at 700 (median of 11), 1.42 at 50,000, 1.35 at
# 400,000, and no less without looking at all.
_COLLECT_AFTER = 400_000


def main() -> None:
    """Runs `senti`, and ends the process."""
    listen("senti")
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    end = _End()
    atexit.register(end)
    from sentitok.cli.process import run

    try:
        run(_main, "senti")
    except SystemExit as exit:
        end.code = exit.code
        raise


class _End:
    """Ends the process once all that was registered after it has tidied up (Python goes from last to first).

    Taking Python down would look through the objects of torch's modules one by one, for an eighth of a
    second; threads of torch's communication, which outlive a group of processes, now and then abort one
    meanwhile; and the remaining objects of triton are reported as leaks in thirty lines.
    """

    code: object = 1

    def __call__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(self.code if isinstance(self.code, int) else 0 if self.code is None else 1)


def _main() -> None:
    from .app import start

    start()
