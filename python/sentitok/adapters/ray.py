"""`RayExecutor`: the tasks of a Ray cluster as a `concurrent.futures.Executor`."""

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import ray

__all__ = ["RayExecutor"]

# Bytes of shared memory that a cluster started here takes: results of tasks are files.
_OBJECT_STORE_BYTES = 200 << 20


class RayExecutor(Executor):
    """An executor of Ray tasks, each of one processor; Ray tries a task again whose worker dies."""

    def __init__(self, address: str | None = None, workers: int | None = None, gpus: int = 0) -> None:
        """Joins a cluster, or starts one on this machine; one that this process has joined is used.

        Args:
            address: of the cluster: `"auto"`, `"host:6379"` or `"ray://host:10001"`.
            workers: processors of a cluster that is started.
            gpus: of a cluster that is started. Unless 0, each task takes a GPU, where the cluster has any.

        Raises:
            ConnectionError: if there is no cluster.
        """
        self._refs: dict[Future[Any], Any] = {}
        self._started = not ray.is_initialized()
        on_sigterm = signal.getsignal(signal.SIGTERM)
        if self._started and address is not None:
            ray.init(address, log_to_driver=False)
        elif self._started:
            ray.init(
                num_cpus=workers,
                num_gpus=gpus or None,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        # Ray replaces the program's handler.
        if callable(on_sigterm) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, on_sigterm)
        self._gpus = 1 if gpus and ray.cluster_resources().get("GPU", 0) else 0
        self._call = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=3)(_call)

    @property
    def num_workers(self) -> int:
        """The processors of the cluster, or its GPUs where each task takes one."""
        return int(ray.cluster_resources().get("GPU" if self._gpus else "CPU", 0)) or 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs a function as a task; an error of it is given as it was raised."""
        ref = self._call.remote(fn, args, kwargs)
        future: Future[Any] = Future()
        self._refs[future] = ref

        def finish(done: Future[Any]) -> None:
            self._refs.pop(future, None)
            if not future.set_running_or_notify_cancel():
                return
            if (error := done.exception()) is None:
                future.set_result(done.result())
            else:
                future.set_exception(getattr(error, "cause", None) or error)

        future.add_done_callback(self._cancel)
        ref.future().add_done_callback(finish)
        return future

    def _cancel(self, future: Future[Any]) -> None:
        if future.cancelled() and (ref := self._refs.pop(future, None)) is not None:
            ray.cancel(ref, force=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the tasks, and the connection or the cluster that was opened here."""
        for future in [*self._refs]:
            if cancel_futures:
                future.cancel()
            elif wait:
                future.exception()
        if self._started:
            ray.shutdown()


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls anything that can be called; Ray itself takes functions of Python alone."""
    return fn(*args, **kwargs)
