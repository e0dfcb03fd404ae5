"""`Stopper`: the first Ctrl-C asks training to stop at a step's end; the second one insists.

Not for other commands, which stop at once. While nothing has asked yet whether to stop (data
is read, ids are made), Ctrl-C stops at once here too.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from sentitok.cli.process import complain


class Stopper:
    """Called after each step: has the user asked to stop?"""

    def __init__(self) -> None:
        self._asked = False
        self._polled = False
        self._before: Any = None

    def __call__(self) -> bool:
        """Whether to stop now."""
        self._polled = True
        return self._asked

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        if not self._polled or self._asked:
            raise KeyboardInterrupt
        self._asked = True
        complain("senti: stopping after this step; Ctrl-C again to stop at once")
