"""`Stopper`: Ctrl-C or SIGTERM asks training to stop at a step's end; a second Ctrl-C insists.

Not for other commands, which stop at once. While nothing has asked yet whether to stop (data
is read, ids are made), both stop at once here too. Slurm, Docker and `timeout` send SIGTERM.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from sentitok.cli.process import complain
from sentitok.cli.signals import STOPPED

# What the shell gives for a process that Ctrl-C ended.
_INTERRUPTED = 130


class Stopper:
    """Called after each step: has the user, or the system, asked to stop?

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
