"""Executors of engines: what starts or joins one, for `sentitok.count`, `encode_files` and `evaluate`.

An adapter schedules and holds no logic: the work is in `shard_tasks`, the driver in `distributed`. The
library of an engine is imported when the engine is asked for. `finished` and `is_visible` are for all
drivers: that one, and the one of runs of models.
"""

import logging
import os
import socket
import time
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, Protocol

from ..messages import shown
from .processes import ProcessExecutor

__all__ = ["ENGINES", "finished", "is_visible", "open_executor", "workers_of"]

Engine = Literal["processes", "ray", "dask"]
ENGINES = ("processes", "ray", "dask")

# Seconds in which a cluster must answer.
_CONNECT_S = 10.0
# Seconds after which a written file must be there for the driver; network file systems cache names.
_VISIBLE_S = 10.0
# Seconds between two looks at what cannot be waited for.
_LOOK_S = 0.1


class _Found(Protocol):
    """A path, here or in a store."""

    def exists(self) -> bool:
        """Whether it is there."""


@contextmanager
def open_executor(
    engine: Engine, address: str | None = None, workers: int | None = None, *, gpus: int = 0
) -> Iterator[Executor]:
    """Opens an executor of an engine; stops at the end the workers that it started.

    >>> import sentitok
    >>> from sentitok.adapters import open_executor
    >>> if __name__ == "__main__":  # doctest: +SKIP
    ...     with open_executor("processes", workers=2) as executor:
    ...         sentitok.count("corpus.txt", out="all.counts", executor=executor)

    Processes and Dask import the script that opens them, hence its first line.

    Args:
        engine: `"processes"` of this machine, `"ray"` or `"dask"`.
        address: of a running cluster: `"10.0.0.1:6379"`, `"auto"` or `"ray://10.0.0.1:10001"` of Ray, and
            `"tcp://10.0.0.1:8786"` of Dask; without it workers are started on this machine.
        workers: how many workers are started; one for each processor if not given.
        gpus: of this machine, for tasks that use one: each process sees one of them, each task of Ray takes
            one, also of a cluster that has some. The package dask-cuda starts workers of Dask for GPUs.

    Raises:
        ConnectionError: if nothing answers at the address.
        ModuleNotFoundError: if the library of the engine is not installed.
        ValueError: for an unknown engine, fewer workers than one, or an address with `workers` or with
            processes.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={shown(engine)}: it is one of {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={shown(workers)}: it is 1 or more")
    if address is not None and engine == "processes":
        raise ValueError(
            f"address={shown(address)}: processes run on this machine; take the engine ray or dask"
        )
    if address is not None and workers is not None:
        raise ValueError(f"workers={workers}: the cluster at {address} has its own; leave one of the two out")
    n_workers = workers or _n_processors()
    if engine == "dask":
        with _dask(address, n_workers) as client:
            yield client.get_executor()
        return
    executor = ProcessExecutor(n_workers, gpus) if engine == "processes" else _ray(address, n_workers, gpus)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def workers_of(executor: Any, *, threads: bool = False) -> int | None:
    """Returns how many processes an executor has, or `None` where it does not say.

    Args:
        executor: of any engine.
        threads: count those of each worker, where it has several.
    """
    n_workers: int | None = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    if n_workers is None and (client := getattr(executor, "_client", None)) is not None:
        n_threads = client.nthreads()  # of Dask
        n_workers = sum(n_threads.values()) if threads else len(n_threads)
    return n_workers


def finished(futures: Collection[Any], seconds: float) -> list[Any]:
    """Returns the futures that are done, in their order: once one is, or none after some seconds.

    Args:
        futures: of `concurrent.futures`, or of submitit, whose futures have no more than `done`.
        seconds: how long to wait.
    """
    if all(isinstance(future, Future) for future in futures):
        done = wait(futures, seconds, FIRST_COMPLETED).done
        return [future for future in futures if future in done]
    until = time.monotonic() + seconds
    while not (ended := [future for future in futures if future.done()]) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return ended


def is_visible(file: _Found) -> bool:
    """Whether a file that a worker has written is there, if not at once."""
    until = time.monotonic() + _VISIBLE_S
    while not file.exists():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_S)
    return True


def _ray(address: str | None, n_workers: int, gpus: int) -> Executor:
    try:
        from .ray import RayExecutor
    except ModuleNotFoundError as error:
        raise _missing("ray", error) from error
    if address is not None:
        _check_reachable(address)
    try:
        return RayExecutor(address, n_workers, gpus)
    except ConnectionError as error:
        raise ConnectionError(
            f"no Ray cluster is found at {address}; start one on its first machine: ray start --head, or "
            "give the address of one: HOST:6379"
        ) from error


@contextmanager
def _dask(address: str | None, n_workers: int) -> Iterator[Any]:
    """Gives the client of a cluster."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise _missing("dask", error) from error
    # Dask logs a traceback for each task that fails after it was cancelled.
    logger = logging.getLogger("tornado.application")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        stack.callback(logger.setLevel, level)
        if address is None:
            stack.enter_context(dask.config.set(_quiet(dask.config)))
            address = stack.enter_context(
                LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    # Dask would kill a worker that uses more than its share of the memory, and look ten
                    # times a second. Tasks hold nothing for Dask, and one may need more than another.
                    memory_limit=0,
                    dashboard_address=None,
                    # Its server of HTTP is there all the same; at the usual port there may be another.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    silence_logs="CRITICAL",
                )
            )
        try:
            client = Client(address, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {address} ({error}); check it, or start one: dask scheduler"
            ) from error
        yield stack.enter_context(client)


def _quiet(config: Any) -> dict[str, Any]:
    """Settings of Dask with which it takes 1 % of a processor beside two workers, of 7 % by default."""
    environment = "distributed.nanny.pre-spawn-environ"
    return {
        # By default workers look 100 times a second what they do, all 50 times whether they are free, and
        # twice a second how busy the machine is.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "5s",
        # With it glibc gives each block above 128 kB back to the system: encoding took 3 % more.
        environment: {
            name: value for name, value in config.get(environment).items() if name != "MALLOC_TRIM_THRESHOLD_"
        },
    }


def _n_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _missing(engine: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f'the engine {engine} needs the library {error.name}; install it: pip install "sentitok[{engine}]"',
        name=error.name,
    )


def _check_reachable(address: str) -> None:
    """Finds out within seconds whether a cluster of Ray answers; Ray itself asks for two minutes, then exits.

    Raises:
        ConnectionError: if it does not.
    """
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise ConnectionError(
            f"no Ray cluster is at {address}; its address is auto, HOST:6379 or ray://HOST:10001"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address} ({error}); check it, or start a cluster: ray start --head"
        ) from error
