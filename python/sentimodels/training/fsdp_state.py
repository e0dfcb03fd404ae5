"""The state of an unfinished run whose parts lie in several processes, as a distributed checkpoint.

    state.safetensors   random numbers, where the loop stands, and which folder has the rest; written last
    state-STEP/         weights, optimizer, average and best weights, by `torch.distributed.checkpoint`

Each process writes the parts that it holds, as safetensors whose headers say where in the whole tensor they
belong; nothing is pickled. Read by any number of processes, a tensor is divided as they divide it. The
folder must be one that all processes see. Not for a state in one file (`training/state.py`).
"""

import math
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

from ..errors import CheckpointError
from .distributed import Distributed
from .state import STATE, drop_shards, load_state, save_state

__all__ = ["Parts", "load_sharded", "rows_of_state", "save_sharded"]

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

    Args:
        folder: the run directory.
        processes: those that save.
        parts: tensors by part and name.
        random: states of the generators of all processes.
        progress: where the loop stands.
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
        Tensors by part and name, states of generators, and where the loop stands.

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


def rows_of_state(folder: Path) -> int:
    """Returns the rows of a batch, of all processes together, of the run whose state this is.

    Raises:
        CheckpointError: if there is no state.
    """
    return int(load_state(folder / STATE)[1][_ROWS])


def _reasons(error: BaseException) -> str:
    """Returns what an error says, without the tracebacks that torch puts into it."""
    if not isinstance(error, CheckpointException):
        return str(error).strip()
    each = {rank: str(failure) or type(failure).__name__ for rank, (failure, _) in error.failures.items()}
    return "; ".join(f"process {rank}: {said}" for rank, said in each.items())


@contextmanager
def _alone_or_not() -> Iterator[None]:
    """A block in which torch does not warn that a process is alone, as 2.15 does even if told so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        yield


def _whole(
    metadata: Metadata, shards: Path, parameters: Mapping[str, nn.Parameter]
) -> dict[str, TensorStorageMetadata]:
    """Returns what is saved, once it is known that it is this model's, and no part of it is missing."""
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
