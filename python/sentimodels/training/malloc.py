"""`Heap`: the memory that a step frees stays for the next one, and goes back to the system where it grows.

glibc hands large blocks back as soon as they are free, and the system clears each page of theirs when they
are asked for again: a step of a small language model did so with 150 MB. So while a model trains, what is
freed is kept. Batches of many shapes leave that memory full of holes: training a model that reads prompts
held 8 GB after an hour, of which 1 GB was in use. So it is trimmed once it has grown by half, and at the end.
The two steps that follow take up to a fifth longer; trimming after each step took a quarter of the time. With
another library, or where the environment sets glibc's limits, nothing is kept. Numbers do not depend on it.
"""

import ctypes
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Heap", "trim_heap"]

# How often it is looked at, and how many times what the step after a trim needed it may hold.
_SECONDS, _GROWTH = 5.0, 1.5
# `mallopt`: free memory at the top of the heap that is kept, and the size from which a block is mapped by
# itself, whose greatest value this is.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_ALL, _LARGEST = 2**31 - 1, 32 << 20
# What sets these limits from outside, and the variable of all settings of glibc.
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
_TUNABLES, _OF_MALLOC = "GLIBC_TUNABLES", "glibc.malloc."


class Heap:
    """The heap of this process while it trains, in a `with` statement.

    Afterwards the limits are those that glibc itself comes to once it has freed its largest blocks: its
    first ones, which follow what is freed, cannot be had back.

    Args:
        clock: the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock() + _SECONDS
        self._needed: int | None = None

    def __enter__(self) -> "Heap":
        _keep(_ALL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _keep(2 * _LARGEST)
        trim_heap()

    def after_step(self) -> None:
        """Trims the heap if it has grown."""
        if self._needed is None:
            self._needed = resident()
        if self._clock() < self._due:
            return
        self._due = self._clock() + _SECONDS
        if resident() > _GROWTH * self._needed:
            trim_heap()
            self._needed = None


def resident() -> int:
    """Returns the bytes of memory that this process holds; 0 where nobody tells, or no heap is to trim."""
    if _of_glibc("malloc_trim") is None:
        return 0
    try:
        pages = Path("/proc/self/statm").read_text("utf-8").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def trim_heap() -> None:
    """Gives back what is free."""
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _keep(size: int) -> None:
    """Keeps so many bytes that are free, but for blocks above 32 MiB."""
    set_limit = _of_glibc("mallopt")
    given = any(name in os.environ for name in _SETTINGS) or _OF_MALLOC in os.environ.get(_TUNABLES, "")
    if set_limit is not None and not given:
        set_limit(_MMAP_THRESHOLD, _LARGEST)
        set_limit(_TRIM_THRESHOLD, size)


@cache
def _of_glibc(name: str) -> Callable[..., Any] | None:
    """Returns a function of glibc; `None` where the C library is another."""
    if sys.platform != "linux":
        return None
    found: Callable[..., Any] | None = getattr(ctypes.CDLL(None), name, None)
    return found
