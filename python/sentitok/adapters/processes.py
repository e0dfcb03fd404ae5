"""`ProcessExecutor`: processes of this machine, each of which is replaced when it dies.

In a `ProcessPoolExecutor` one process that dies (killed for its memory, say) fails all tasks and every later
one. Here each process is a separate pool, so only its task fails.
"""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import cycle, islice
from multiprocessing import connection, get_context, parent_process
from queue import SimpleQueue
from typing import Any

__all__ = ["ProcessExecutor", "begin", "follow_parent"]


class ProcessExecutor(Executor):
    """An executor of spawned processes.

    Args:
        workers: how many.
        gpus: of this machine; each process sees one of them. With 0 all see what this process does.

    Attributes:
        num_workers: how many.
    """

    def __init__(self, workers: int, gpus: int = 0) -> None:
        self.num_workers = workers
        self._threads = ThreadPoolExecutor(workers)
        self._pools: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[:gpus]
        names = [name for name in names if name] or [str(number) for number in range(gpus)] or [""]
        self._all = {_pool(gpu): gpu for gpu in islice(cycle(names), workers)}
        for pool in self._all:
            self._pools.put(pool)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs a function in one of the processes.

        Raises:
            RuntimeError: after `shutdown`.
        """
        return self._threads.submit(self._run, fn, args, kwargs)

    def _run(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        pool = self._pools.get()
        try:
            return pool.submit(fn, *args, **kwargs).result()
        except BrokenExecutor:
            pool.shutdown(wait=False)
            gpu = self._all.pop(pool)
            pool = _pool(gpu)
            self._all[pool] = gpu
            raise
        finally:
            self._pools.put(pool)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes: after their tasks, or with `cancel_futures` at once."""
        self._threads.shutdown(wait=not cancel_futures and wait, cancel_futures=cancel_futures)
        for pool in [*self._all]:
            processes = [*(pool._processes or {}).values()]
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes if cancel_futures else ():
                process.terminate()


def _pool(gpu: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=begin, initargs=(gpu,))


def begin(gpu: str = "") -> None:
    """Prepares a process of a pool: it sees one GPU, if it is named, and follows its parent."""
    if gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    follow_parent()


_WATCH = "sentitok-parent"


def follow_parent() -> None:
    """In a process that another one started: leaves Ctrl-C to that one, and ends when it is gone.

    It may be called again. In a thread other than the first, as in a worker of Dask, it does nothing.
    """
    parent = parent_process()
    if parent is None or threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    if not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=watch, name=_WATCH, daemon=True).start()
