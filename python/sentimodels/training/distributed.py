"""`Distributed`: rank and number of processes, the device, and the exchange of values between processes.

Batches, gradients, the average of the weights, logging and writing ask here; a process alone gets back what
it gave, at no cost. Gradients are added over processes; the trainer divides them by the terms of all. torch's
`DistributedDataParallel` is not used: it takes means over processes, however few terms one has, needs each
loss to go through its own `forward`, and cannot add sparse gradients with NCCL.
"""

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..errors import ConfigError, DataError
from .device import device_of

__all__ = ["Distributed", "check_alone", "is_first", "launch_name", "n_processes", "n_restarts", "world_of"]

# Others wait while the first process evaluates.
_PATIENCE = timedelta(hours=2)


@dataclass(frozen=True)
class Distributed:
    """One process of the group that trains a model together.

    Attributes:
        device: where this process computes.
        rank: which it is, from 0.
        world: how many there are.
        joined: whether the caller had joined the group before, and so leaves it too.
    """

    device: torch.device
    rank: int = 0
    world: int = 1
    joined: bool = False

    @classmethod
    def start(cls, device: str) -> Self:
        """Joins the processes that `torchrun` has started; without it, this one is alone.

        A process group that is there already, as Ray Train makes one, is used.

        Args:
            device: as `train.device`; `cuda` and `auto` are the GPU of `LOCAL_RANK`.

        Raises:
            ConfigError: if the device is not there, or the environment is incomplete.
        """
        joined = dist.is_available() and dist.is_initialized()
        world = dist.get_world_size() if joined else int(os.environ.get("WORLD_SIZE", "1"))
        if world == 1:
            return cls(device_of(device))
        if device == "cuda" or (device == "auto" and torch.cuda.is_available()):
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        own_device = device_of(device)
        if own_device.type == "cuda":
            torch.cuda.set_device(own_device)
        if not joined:
            # Its functions take the group that exists when it is imported as a default argument, and the
            # first optimizer imports it. Imported now, it keeps no group alive after `end`, whose threads
            # may abort the process as Python exits.
            import_module("torch.distributed.nn.functional")
            try:
                dist.init_process_group(
                    "nccl" if own_device.type == "cuda" else "gloo", timeout=_PATIENCE, **_meeting()
                )
            except ValueError as error:
                raise ConfigError(f"WORLD_SIZE={world}: {error}; start it with torchrun") from error
        return cls(own_device, dist.get_rank(), dist.get_world_size(), joined)

    def end(self) -> None:
        """Leaves the other processes, unless the caller had joined them."""
        if self.world > 1 and not self.joined and dist.is_initialized():
            dist.destroy_process_group()

    @property
    def main(self) -> bool:
        """Whether this process writes, evaluates and logs."""
        return self.rank == 0

    @contextmanager
    def first(self) -> Iterator[bool]:
        """A block in which the first process works while the rest wait; where it fails, all end.

        Yields:
            Whether this is the first process.

        Raises:
            DataError: in the remaining processes, if the first one failed.
        """
        done = False
        try:
            yield self.main
            done = True
        finally:
            (all_well,) = self.share(float(done))
        if not all_well:
            raise DataError("the first process could not prepare the run")

    def sum(self, values: Tensor) -> Tensor:
        """Adds tensors of one shape over all processes, in place."""
        if self.world > 1:
            dist.all_reduce(values)
        return values

    def sum_of(self, *values: float) -> list[float]:
        """Adds numbers over all processes."""
        if self.world == 1:
            return list(values)
        return self.sum(torch.tensor(values, dtype=torch.float64, device=self.device)).tolist()

    def any(self, flag: bool) -> bool:
        """Whether one of the processes says so."""
        return self.sum_of(float(flag))[0] > 0

    def share(self, *values: float) -> list[float]:
        """Returns the numbers of the first process to all."""
        if self.world == 1:
            return list(values)
        sent = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(sent, 0)
        return sent.tolist()

    @torch.no_grad()
    def share_weights(self, module: nn.Module) -> None:
        """Gives every process the weights of the first."""
        if self.world > 1:
            for value in module.state_dict().values():
                dist.broadcast(value, 0)

    def gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the tensors of all processes, `name` of the first and `name@rank` of the rest.

        They must have the same names and shapes everywhere.
        """
        out = dict(tensors)
        if self.world > 1:
            for name, value in tensors.items():
                own = value.to(self.device)
                parts = [torch.empty_like(own) for _ in range(self.world)]
                dist.all_gather(parts, own)
                at = value.device
                out |= {f"{name}@{rank}": part.to(at) for rank, part in enumerate(parts)}
                out[name] = out.pop(f"{name}@0")
        return out

    def own(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns this process's tensors from the ones that `gather` collected."""
        names = [name for name in tensors if "@" not in name]
        return {name: tensors.get(f"{name}@{self.rank}", tensors[name]) for name in names}

    @torch.no_grad()
    def sum_gradients(self, parameters: Iterable[nn.Parameter], sparse: Sequence[nn.Parameter]) -> None:
        """Adds gradients over all processes.

        Args:
            parameters: of the model, in the same order everywhere.
            sparse: those among them whose gradients are sparse.
        """
        if self.world == 1:
            return
        rows = {id(parameter) for parameter in sparse}
        dense = [p for p in parameters if id(p) not in rows]
        # A parameter may have a gradient on some processes only; then it has one on all.
        there = self.sum(torch.tensor([float(p.grad is not None) for p in dense], device=self.device))
        moved = [p for p, n in zip(dense, there.tolist(), strict=True) if n]
        for parameter in moved:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        if moved:
            gradients = [p.grad for p in moved if p.grad is not None]
            whole = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
            parts = whole.split([gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))
        for parameter in sparse:
            self._sum_rows(parameter)

    def _sum_rows(self, parameter: nn.Parameter) -> None:
        """Adds a gradient that has some rows only: the rows of all, padded to the most."""
        gradient = parameter.grad
        if gradient is None:
            indices = torch.empty(0, dtype=torch.int64, device=self.device)
            values = parameter.new_empty(0, *parameter.shape[1:])
        else:
            gradient = gradient.coalesce()
            indices, values = gradient.indices()[0], gradient.values()
        counts = torch.zeros(self.world, dtype=torch.int64, device=self.device)
        counts[self.rank] = len(indices)
        lengths: list[int] = self.sum(counts).tolist()
        most = max(lengths)
        if not most:
            return
        of_indices, of_values = indices.new_zeros(most), values.new_zeros(most, *values.shape[1:])
        of_indices[: len(indices)], of_values[: len(indices)] = indices, values
        all_indices = [torch.empty_like(of_indices) for _ in lengths]
        all_values = [torch.empty_like(of_values) for _ in lengths]
        dist.all_gather(all_indices, of_indices)
        dist.all_gather(all_values, of_values)
        parameter.grad = torch.sparse_coo_tensor(
            torch.cat([part[:n] for part, n in zip(all_indices, lengths, strict=True)])[None],
            torch.cat([part[:n] for part, n in zip(all_values, lengths, strict=True)]),
            parameter.shape,
            check_invariants=False,
        ).coalesce()


def _meeting() -> dict[str, Any]:
    """Returns where processes that torchrun has restarted find each other, for `init_process_group`.

    torchrun keeps one store for all its starts, which still holds the addresses of the processes that have
    ended; so each start uses separate names there.
    """
    if not n_restarts():
        return {}
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, rank, world = next(rendezvous("env://", timeout=_PATIENCE))
    return {"store": PrefixStore(f"start-{n_restarts()}", store), "rank": rank, "world_size": world}


def world_of(gathered: Mapping[str, Tensor]) -> int:
    """Returns of how many processes `Distributed.gather` put tensors together."""
    return 1 + max((int(name.partition("@")[2]) for name in gathered if "@" in name), default=0)


def n_processes() -> int:
    """Returns how many processes train together; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the process that evaluates, writes and prints."""
    return n_processes() == 1 or os.environ.get("RANK", "0") == "0"


def n_restarts() -> int:
    """Returns how often `torchrun --max-restarts` has started these processes again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def launch_name() -> str | None:
    """Returns the name of the call of `torchrun`, the same after a restart; `None` without torchrun."""
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    if name == "none":  # with `--rdzv-backend static`: its process, which starts these
        return f"{platform.node()}-{os.getppid()}"
    return name


def check_alone(what: str, remedy: str = "start it without torchrun") -> None:
    """Refuses work that several processes cannot share.

    Raises:
        ConfigError: if there are several.
    """
    if n_processes() > 1:
        raise ConfigError(f"WORLD_SIZE={n_processes()}: {what} needs one process; {remedy}")
