"""Executors of engines: what starts or joins one, for `sentitok.count`, `encode_files` and `evaluate`.

An adapter schedules and holds no logic: the work is in `shard_tasks`, the driver in `distributed`. The
library of an engine is imported when the engine is asked for.
"""

import os
import socket
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Literal

from ..messages import shown
from .processes import ProcessExecutor

__all__ = ["ENGINES", "open_executor", "workers_of"]

Engine = Literal["processes", "ray", "dask"]
ENGINES = ("processes", "ray", "dask")

# Seconds in which a cluster must answer.
_CONNECT_S = 10.0


@contextmanager
def open_executor(
    engine: Engine, address: str | None = None, workers: int | None = None, *, gpus: int = 0
) -> Iterator[Executor]:
    """Opens an executor of an engine; at the end what was started here is stopped.

    >>> import sentitok
    >>> from sentitok.adapters import open_executor
    >>> with open_executor("processes", workers=2) as executor:  # doctest: +SKIP
    ...     sentitok.count("corpus.txt", out="all.counts", executor=executor)

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


def _ray(address: str | None, n_workers: int, gpus: int) -> Executor:
    try:
        from .ray import RayExecutor
    except ModuleNotFoundError as error:
        raise _missing("ray", error) from error
    if address is not None:
        _check_reachable(address)
    return RayExecutor(address, n_workers, gpus)


@contextmanager
def _dask(address: str | None, n_workers: int) -> Iterator[Any]:
    """Gives the client of a cluster."""
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise _missing("dask", error) from error
    if address is None:
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        )
        with cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address} ({error}); check it, or start one: dask scheduler"
        ) from error
    with client:
        yield client


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
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address} ({error}); check it, or start a cluster: ray start --head"
        ) from error
