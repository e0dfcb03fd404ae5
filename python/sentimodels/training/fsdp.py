"""`ShardedTrainer`: the same loop, where each process holds a part of the model (`train.parallel = "fsdp"`).

torch's `fully_shard` (FSDP2; Zhao et al. 2023) divides every parameter by its rows among the processes, and
with it its gradient, the optimizer's state and the average. A block's parameters are put together before
it computes, and its gradients are added and divided again after; embedding, last norm and head stay together
from the forward pass to the end of the backward pass, since losses read the table outside the model's own
call. `training/distributed.py` trains whole copies in each process.
"""

import math
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor

from ..config import LanguageConfig, TrainingPlan
from ..errors import CheckpointError, ConfigError, TrainingError
from .distributed import Distributed
from .history import Fit, Progress
from .optimizer import EMA
from .state import STATE, drop_shards, load_state, random_state, restore_random, save_state
from .trainer import Cuts, Evaluation, NotFiniteError, Task, Trainer, _Run

__all__ = [
    "Parts",
    "Sharded",
    "ShardedTrainer",
    "check_sharded",
    "go_on_drawing",
    "load_sharded",
    "save_sharded",
    "shared_again",
    "whole_weights",
]


def check_sharded(config: LanguageConfig, world: int) -> None:
    """Refuses settings that a divided model cannot have.

    Raises:
        ConfigError: naming the key, and what to type.
    """
    if world == 1:
        raise ConfigError(
            "train.parallel fsdp divides a model among processes, and there is one; type: torchrun "
            "--nproc-per-node 2 -m sentimodels pretrain ..., or leave out --parallel"
        )
    if not hasattr(FSDPModule, "set_reduce_scatter_unused_params"):
        raise ConfigError(
            f"train.parallel fsdp needs torch 2.13 or newer, and this is {torch.__version__}; type: pip "
            "install -U torch, or leave out --parallel"
        )
    if config.optim.sparse_embeddings:
        raise ConfigError(
            "optim.sparse_embeddings moves single rows of a table, which train.parallel fsdp divides among "
            "processes; type: --set optim.sparse_embeddings=false"
        )


@dataclass(frozen=True)
class Sharded(Distributed):
    """One process of a group in which each holds a part of the model; alone, it holds all."""

    def share_weights(self, module: nn.Module) -> None:
        """Does nothing: each part of a weight is in one process."""

    def sum_gradients(self, parameters: Iterable[nn.Parameter], sparse: Sequence[nn.Parameter]) -> None:
        """Does nothing: gradients were added in the backward pass."""

    def divide(self, module: nn.Module) -> None:
        """Divides the parameters of a module among the processes, in place."""
        if self.world == 1:
            return
        mesh = init_device_mesh(self.device.type, (self.world,))
        stacks = [part for part in module.modules() if hasattr(part, "recompute")]
        lists = [part for stack in stacks for part in stack.children() if isinstance(part, nn.ModuleList)]
        for part in [*(block for blocks in lists for block in blocks), module]:
            made = fully_shard(part, mesh=mesh)
            # Gradients are sums: the trainer divides them by the terms of all processes.
            made.set_gradient_divide_factor(1.0)
            made.set_force_sum_reduction_for_comms(True)
            # Of rows without a masked token the head has no gradient, and other processes wait for it.
            made.set_reduce_scatter_unused_params(True, recurse=False)


def whole_weights(module: nn.Module, processes: Distributed) -> dict[str, Tensor]:
    """Puts the weights of a divided module together, on the CPU of the first process; all must call it."""
    weights = {}
    for name, value in _tensors(module).items():
        together = value.full_tensor() if isinstance(value, DTensor) else value
        if processes.main:
            weights[name] = together.detach().cpu()
    return weights


def gathered(module: nn.Module, processes: Distributed, build: Callable[[], nn.Module]) -> nn.Module:
    """Returns a module with whole weights in the first process, and the divided module in the rest.

    Args:
        module: the divided module.
        processes: the processes that train.
        build: builds a module of the same shape.
    """
    if processes.world == 1:
        return module
    weights = whole_weights(module, processes)
    if not processes.main:
        return module
    whole = build().to(processes.device)
    whole.load_state_dict(weights, strict=False)  # tied weights have one name of several
    return whole


class ShardedTrainer(Trainer):
    """`Trainer` whose `fit` divides the module first, and leaves the best weights divided in it.

    Every process must call it. The arguments are those of `Trainer`, `distributed` a `Sharded`.
    """

    def fit(self, module: nn.Module, task: Task, *, folder: Path | None = None, resume: bool = False) -> Fit:
        """Trains; see `Trainer.fit`."""
        assert isinstance(self.distributed, Sharded)
        self.distributed.divide(module)
        together = _TogetherInPieces if isinstance(task, Cuts) else _Together
        run = _ShardedRun(self, module, together(task, self.distributed), folder)
        if resume and folder is not None:
            run.load(folder)
        try:
            return run.go()
        except NotFiniteError as error:
            raise run.ended_by(error) from None


class _Together:
    """A task whose every call is made by all processes: each needs the parts of all."""

    def __init__(self, task: Task, processes: Distributed) -> None:
        self.task, self.processes = task, processes

    def plan(self, world: int) -> TrainingPlan:
        return self.task.plan(world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Any]:
        return self.task.batches(epoch, position, rank, world)

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        loss, n = self.task.loss(model, batch)
        if not n and loss.requires_grad:  # the trainer leaves it out, but other processes wait in theirs
            loss.backward()
        return loss, n

    def evaluate(self, model: nn.Module) -> Evaluation:
        """Scores the model, in all processes; the first one's score is that of all."""
        evaluation, failed = Evaluation({"val_loss": math.nan}, "val_loss", higher_is_better=False), None
        try:
            evaluation = self.task.evaluate(model) or evaluation
        except NotFiniteError as error:
            failed = error
        _reshard(model)
        (value,) = self.processes.share(evaluation.value)
        if not math.isfinite(value):
            raise failed or NotFiniteError("the first process has a score that is not finite")
        return replace(evaluation, scores={**evaluation.scores, evaluation.monitor: value})


class _TogetherInPieces(_Together):
    """The same of a task whose batches go through the model in pieces, as many in each process."""

    def pieces(self, batch: Any, device: torch.device) -> Iterator[Any]:
        assert isinstance(self.task, Cuts)
        return self.task.pieces(batch, device)


def go_on_drawing(random: Mapping[str, Tensor], processes: Distributed, seed: int) -> None:
    """Puts the generators of this process back; one that did not save starts with new ones."""
    if processes.rank and f"cpu@{processes.rank}" not in random:
        torch.manual_seed(seed + processes.rank)
    else:
        restore_random(processes.own(random))


class _ShardedRun(_Run):
    """One call of `fit` of which each process keeps its part: weights, average, best weights, state."""

    def __init__(self, trainer: Trainer, module: nn.Module, task: Task, folder: Path | None) -> None:
        super().__init__(trainer, module, task, folder)
        self.ema = EMA(module, self.config.ema, set()) if self.config.ema else None

    def load(self, folder: Path) -> None:
        """Goes back to a saved state, that of as many processes or of another number."""
        parts, random, progress = load_sharded(folder, dict(self.module.named_parameters()))
        self.progress = self.history.progress = Progress(**progress)
        if not self.all.main:  # the saved counts are those of all processes
            self.progress.tokens = self.progress.places = 0
        own = _tensors(self.module)
        with torch.no_grad():
            for name, value in parts["weights"].items():
                own[name].copy_(value)
        self.optimizers.load(parts.get("optimizers", {}))
        if self.ema is not None:
            self.ema.load(parts["ema"])
        self.best = parts.get("best", {})
        go_on_drawing(random, self.all, self.config.seed)
        self.history.rewind()

    def save(self) -> None:
        """Saves the state, each process its part, if there is a place for it."""
        if self.folder is None:
            return
        progress = asdict(self.progress)
        progress["tokens"], progress["places"] = self.history.counts()
        parts: Parts = {
            "weights": _tensors(self.module), "optimizers": self.optimizers.tensors(), "best": self.best,
        }  # fmt: skip
        if self.ema is not None:
            parts["ema"] = self.ema.tensors()
        rows = self.plan.batch_size * self.all.world
        save_sharded(self.folder, self.all, parts, self.all.gather(random_state()), progress, rows)

    def ended_by(self, error: NotFiniteError) -> TrainingError:
        made = super().ended_by(error)
        if self.folder is not None and self.all.main and not (self.folder / STATE).is_file():
            drop_shards(self.folder)
        return made

    def _evaluate(self) -> None:
        if not self.all.main:  # the first process is in its own call of this
            self._settle()
            self._scores()
        super()._evaluate()

    def _averaged(self) -> AbstractContextManager[None]:
        return nullcontext() if self.ema is None else _in_place(self.ema)


@contextmanager
def _in_place(ema: EMA) -> Iterator[None]:
    """Puts the average in the parameters' own memory for a while: `fully_shard` reads from there."""
    own = {name: value.detach().clone() for name, value in ema.parameters.items()}
    try:
        _copy(ema.values, ema.parameters)
        yield
    finally:
        _copy(own, ema.parameters)


@torch.no_grad()
def _copy(values: dict[str, Tensor], parameters: dict[str, nn.Parameter]) -> None:
    for name, parameter in parameters.items():
        parameter.copy_(values[name])


def _reshard(module: nn.Module) -> None:
    """Divides a module again that a forward pass without a backward one has left whole."""
    if isinstance(module, FSDPModule):
        module.reshard()


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    """Returns parameters and saved buffers, one that has several names (tied weights) under the first."""
    saved = module.state_dict().keys()
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: value for name, value in named if name in saved}


Parts = dict[str, Mapping[str, Tensor]]
_SHARDS, _ROWS = "shards", "rows"


def save_sharded(
    folder: Path,
    processes: Distributed,
    parts: Parts,
    random: Mapping[str, Tensor],
    progress: Mapping[str, Any],
    rows: int,
) -> None:
    """Writes a state; every process calls it, with the tensors that it holds parts of.

    The state of an unfinished run whose parts lie in several processes, as a distributed checkpoint.

        state.safetensors   random numbers, progress of the loop, and which folder has the rest; written last
        state-STEP/         weights, optimizer, average and best weights, by `torch.distributed.checkpoint`

    Each process writes the parts that it holds, as safetensors whose headers say where in the whole tensor
    they belong; nothing is pickled. Read by any number of processes, a tensor is divided as they divide it.
    The folder must be one that all processes see.

    Args:
        folder: the run directory.
        processes: the processes that save.
        parts: tensors by part and name.
        random: states of the generators of all processes.
        progress: the position of the loop.
        rows: of a batch, of all processes together.

    Raises:
        CheckpointError: if a process cannot write its part.
    """
    shards = folder / f"state-{progress['step']}"
    if processes.main:
        shutil.rmtree(shards, ignore_errors=True)  # of a process that was ended while it wrote
        shards.mkdir(parents=True)
    processes.share(0.0)  # nobody writes before the folder is there
    tensors = {
        f"{part}:{name}": value.detach() for part, values in parts.items() for name, value in values.items()
    }
    writer = HuggingFaceStorageWriter(str(shards), save_distributed=True)
    try:
        with _alone_or_not():
            save(tensors, storage_writer=writer, no_dist=processes.world == 1)
    except (SafetensorError, OSError, CheckpointException) as error:  # a full disk, for one
        if processes.main:
            shutil.rmtree(shards, ignore_errors=True)
        raise CheckpointError(f"{shards}: the state cannot be written: {_reasons(error)}") from error
    if processes.main:
        save_state(folder / STATE, {"random": random}, {**progress, _SHARDS: shards.name, _ROWS: rows})
        drop_shards(folder, but=shards.name)


def load_sharded(
    folder: Path, parameters: Mapping[str, nn.Parameter]
) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor], dict[str, Any]]:
    """Reads a state; every process calls it, and gets its parts.

    Args:
        folder: the run directory.
        parameters: by name; tensors that belong to one, of its shape, are divided as it is.

    Returns:
        Tensors by part and name, states of generators, and the position of the loop.

    Raises:
        CheckpointError: if there is no state, one of another model, or one that is not whole.
    """
    stored, progress = load_state(folder / STATE)
    shards = folder / str(progress.pop(_SHARDS, ""))
    del progress[_ROWS]
    try:
        reader = HuggingFaceStorageReader(str(shards))
        saved = _whole(reader.read_metadata(), shards, parameters)
        tensors = {key: _room(key, about, parameters) for key, about in saved.items()}
        with _alone_or_not():
            load(tensors, storage_reader=reader, no_dist=not dist.is_initialized())
    except (SafetensorError, OSError, ValueError, KeyError, CheckpointException) as error:
        raise CheckpointError(f"{shards}: unreadable state: {_reasons(error)}") from error
    parts: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        part, _, name = key.partition(":")
        parts.setdefault(part, {})[name] = value
    return parts, stored["random"], progress


def shared_again(config: LanguageConfig, out: Path, world: int) -> LanguageConfig:
    """Gives each process so many rows that all together have those of the run's batches.

    Raises:
        CheckpointError: if the rows cannot be shared evenly.
    """
    if not (out / STATE).is_file():
        return config
    rows = int(load_state(out / STATE)[1][_ROWS])
    if rows % world:
        fewer = max(n for n in range(1, world) if rows % n == 0)
        raise CheckpointError(
            f"{out}: {world} processes cannot share its batches of {rows} rows evenly; type: torchrun "
            f"--nproc-per-node {fewer} -m sentimodels pretrain --resume {out}"
        )
    train = config.train.model_copy(update={"batch_size": rows // world})
    return config.model_copy(update={"train": train})


def _reasons(error: BaseException) -> str:
    """Returns the message of an error, without the tracebacks that torch puts into it."""
    if not isinstance(error, CheckpointException):
        return str(error).strip()
    each = {rank: str(failure) or type(failure).__name__ for rank, (failure, _) in error.failures.items()}
    return "; ".join(f"process {rank}: {said}" for rank, said in each.items())


@contextmanager
def _alone_or_not() -> Iterator[None]:
    """A block in which torch does not warn that a process is alone, as 2.15 does even where it is meant."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        yield


def _whole(
    metadata: Metadata, shards: Path, parameters: Mapping[str, nn.Parameter]
) -> dict[str, TensorStorageMetadata]:
    """Returns the saved tensors, after checking that they are this model's and complete."""
    saved = {
        key: about
        for key, about in metadata.state_dict_metadata.items()
        if isinstance(about, TensorStorageMetadata)
    }
    for name, parameter in parameters.items():
        about = saved.get(f"weights:{name}")
        there = 0 if about is None else sum(math.prod(chunk.sizes) for chunk in about.chunks)
        if there != parameter.numel() or about is None or about.size != parameter.shape:
            raise CheckpointError(
                f"{shards}: {there:,} of the {parameter.numel():,} numbers of {name}; the state is of "
                "another model, or the file of a process is missing: copy all of them to a folder that every "
                "process sees"
            )
    return saved


def _room(key: str, about: TensorStorageMetadata, parameters: Mapping[str, nn.Parameter]) -> Tensor:
    """Returns an empty tensor to read into, divided as the parameter that it belongs to."""
    name = key.partition(":")[2]
    parameter = parameters.get(name.split("/")[1] if "/" in name else name)
    dtype = about.properties.dtype
    if parameter is not None and parameter.shape == about.size:
        return torch.empty_like(parameter, dtype=dtype, requires_grad=False)
    return torch.empty(about.size, dtype=dtype)
