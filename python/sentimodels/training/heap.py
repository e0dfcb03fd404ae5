"""`Heap`: gives memory that was freed back to the system, where the C library keeps it.

Batches of many shapes leave the heap of glibc full of holes: training a model that reads prompts held 8 GB
after an hour, of which 1 GB was in use. Trimming after each of its steps took a quarter of the time;
after every twenty, which take some twenty seconds, nothing that was seen. With another library nothing
is done. Numbers do not depend on it.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from functools import cache

__all__ = ["Heap", "trim_heap"]

_SECONDS = 15.0


class Heap:
    """The heap of this process while it trains.

    Args:
        clock: the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock() + _SECONDS

    def after_step(self) -> None:
        """Trims the heap if it is time."""
        if self._clock() >= self._due:
            trim_heap()
            self._due = self._clock() + _SECONDS


def trim_heap() -> None:
    """Gives back what is free."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Returns glibc's `malloc_trim`; `None` where the C library is another."""
    if sys.platform != "linux":
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
