"""`EngineOptions`, and the options in it: how a command spreads its work over processes or a cluster."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, UsageError, refuse, size
from .process import complain
from .signals import TerminatedError

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["Address", "EngineName", "EngineOptions", "OnError", "Workers", "check_engine", "opened"]

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Work on several parts of the input, or train several runs, at once: on processes of this "
        "machine, or on a cluster of ray or dask. The result is the same. All machines must see the files "
        "and the output under the same paths, or URLs.",
        rich_help_panel="Parallel work",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Address of a running cluster: auto or host:6379 of ray, tcp://host:8786 of dask. "
        "[default: start one here]",
        rich_help_panel="Parallel work",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="With --engine, how many parts or runs are worked on at once. [default: one for each processor "
        "or GPU, or what the cluster has]",
        rich_help_panel="Parallel work",
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        "--on-error",
        metavar="skip|stop",
        help="What to do when a part of the work, or a run, fails each time it is tried: skip it, finish the "
        "rest and say so; or stop.",
        rich_help_panel="Parallel work",
    ),
]


def check_engine(engine: str | None, address: str | None, on_error: str) -> None:
    """Finds wrong values of `--engine`, `--address` and `--on-error`.

    Raises:
        UsageError: naming one.
    """
    from sentitok.adapters import ENGINES

    if engine is not None and engine not in ENGINES:
        raise UsageError(f"--engine {engine}: it is processes, ray or dask")
    if on_error not in ("stop", "skip"):
        raise UsageError(f"--on-error {on_error}: it is stop or skip")
    if address is not None and engine == "processes":
        raise UsageError(
            "--address: processes run on this machine; take --engine ray or dask, or leave it out"
        )


@contextlib.contextmanager
def opened(
    engine: str, address: str | None = None, workers: int | None = None, *, gpus: int = 0
) -> "Iterator[Executor]":
    """Opens the executor of an engine that `check_engine` has seen; takes what `open_executor` does.

    Raises:
        AnswerIsNoError: if the library of the engine is not installed.
        ConnectionError: if no cluster answers.
    """
    from sentitok.adapters import open_executor

    name: Any = engine
    with contextlib.ExitStack() as stack:
        try:
            executor = stack.enter_context(open_executor(name, address, workers, gpus=gpus))
        except ModuleNotFoundError as error:
            raise AnswerIsNoError(f"--engine {engine}: {error}") from error
        yield executor


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where parts of the files are worked on; each field is an option (`grouped`)."""

    engine: EngineName = None
    address: Address = None
    workers: Workers = None
    on_error: OnError = "stop"
    shard_bytes: Annotated[
        str | None,
        typer.Option(
            "--shard-bytes",
            metavar="SIZE",
            help="With --engine, how much of the files one task reads, such as 256M. [default: 64M]",
            rich_help_panel="Parallel work",
        ),
    ] = None

    def check(self) -> None:
        """Finds wrong options before the work.

        Raises:
            UsageError: naming one.
        """
        if self.engine is None:
            refuse(
                "it goes with --engine: add --engine processes, ray or dask",
                *("address", "workers", "on_error", "shard_bytes"),
            )
        check_engine(self.engine, self.address, self.on_error)
        if self.address is not None:
            refuse(f"the cluster at {self.address} has its own workers; leave one of the two out", "workers")
        size(self.shard_bytes, "--shard-bytes")

    @contextlib.contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """Opens the executor; gives the arguments of a call that takes one, none without `--engine`.

        Raises:
            AnswerIsNoError: if the library of the engine is not installed.
            ConnectionError: if no cluster answers.
        """
        if self.engine is None:
            yield {}
            return
        with opened(self.engine, self.address, self.workers) as executor:
            try:
                yield {
                    "executor": executor,
                    "on_error": self.on_error,
                    "shard_bytes": size(self.shard_bytes, "--shard-bytes"),
                }
            except (KeyboardInterrupt, TerminatedError):
                complain("finished parts, if any, are kept; the same command continues")
                raise
