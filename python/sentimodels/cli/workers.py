"""Who runs the runs of a command that trains several: options that exclude each other, and the executor."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sentitok.cli.engine import check_engine, opened
from sentitok.cli.output import counted

from .command import Output, UsageError

if TYPE_CHECKING:
    from ..runs.group import Scheduling

__all__ = ["refuse_workers", "scheduled"]


def refuse_workers(engine: str | None, address: str | None, workers: int | None) -> None:
    """Refuses options that say who trains several runs, of a command that trains one.

    Raises:
        UsageError: naming the first.
    """
    given = {"--engine": engine, "--address": address, "--workers": workers}
    if named := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{named[0]} is for several runs: give --seeds N or --folds N too, or leave it out")


@contextmanager
def scheduled(
    output: Output,
    n_runs: int,
    device: str,
    *,
    engine: str | None,
    address: str | None,
    workers: int | None,
    on_error: str,
) -> "Iterator[Scheduling]":
    """Yields who runs the runs of a group, as `run_all` takes it; what was started here ends with the block.

    Args:
        output: of the command; says how many go at once.
        n_runs: how many there are.
        device: as `train.device` of the runs.
        engine: as `--engine`.
        address: as `--address`.
        workers: as `--workers`.
        on_error: as `--on-error`.

    Raises:
        UsageError: if the options exclude each other.
        AnswerIsNoError: if the library of the engine is not installed.
        ConnectionError: if there is no cluster at the address.
    """
    from ..runs.group import Scheduling

    check_engine(engine, address, on_error)
    failure: Any = on_error
    if engine is None:
        if address is not None or workers is not None:
            option = "--address" if address is not None else "--workers"
            raise UsageError(f"{option} needs --engine: processes, ray or dask")
        yield Scheduling(on_error=failure)
        return
    import torch

    from sentitok.adapters import workers_of

    on_gpus = device in ("auto", "cuda")
    with ExitStack() as stack:
        if address is not None:
            executor = stack.enter_context(opened(engine, address, gpus=on_gpus))
            n, threads = min(workers or n_runs, workers_of(executor) or n_runs, n_runs), None
            said = f"on the workers of {address}"
        else:
            n_gpus = torch.cuda.device_count() if on_gpus and torch.cuda.is_available() else 0
            cores = torch.get_num_threads()
            n = min(workers or n_gpus or cores, n_runs)
            threads = max(1, cores // n)
            executor = stack.enter_context(opened(engine, workers=n, gpus=n_gpus))
            said = f"{counted(threads, 'thread')} each" + (", one of the GPUs each" if n_gpus else "")
        output.note(f"{counted(n_runs, 'run')}, {n} at once, {said}")
        yield Scheduling(executor=executor, workers=n, threads=threads, on_error=failure)
