"""`ThreadPool`: how many threads, as SentencePiece's calls take it; the threads are sentitok's own."""

import os

from ...messages import shown
from ...numbers import index

__all__ = ["ThreadPool", "n_threads"]

_MOST = 1024


class ThreadPool:
    """A number of threads.

    Args:
        num_threads: how many; -1 for one a core.
    """

    def __init__(self, num_threads: int) -> None:
        self._n = n_threads(num_threads, None, -1) or min(os.cpu_count() or 1, _MOST)

    def num_threads(self) -> int:
        """Returns how many there are."""
        return self._n


def n_threads(num_threads: int | None, pool: ThreadPool | None, default: int) -> int | None:
    """Returns how many threads a call asks for; `None` for one a core.

    Raises:
        TypeError: if it is neither a number nor a pool.
    """
    if pool is not None:
        if not isinstance(pool, ThreadPool):
            raise TypeError(f"thread_pool is {shown(pool)}; it is a ThreadPool")
        return pool.num_threads()
    asked = default if num_threads is None else num_threads
    number = index("num_threads", asked, "1 or more, or -1 for one a core")
    return None if number < 0 else max(1, min(number, _MOST))
