"""The state of an unfinished run, in one safetensors file, written under another name first.

Weights, optimisers, average, best weights, random numbers, and the position of the loop: with it
a run continues as if it had not been stopped, bit for bit on a CPU. No pickle: values that are
not tensors are JSON in the file's metadata.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sentitok.atomic import writing

from ..errors import CheckpointError

__all__ = [
    "STATE",
    "drop_shards",
    "load_state",
    "load_weights",
    "random_state",
    "restore_random",
    "save_state",
    "weights_of",
]

# The state of an unfinished run in its directory.
STATE = "state.safetensors"
_FORMAT = "sentimodels.state/1"


def save_state(path: Path, parts: Mapping[str, Mapping[str, Tensor]], progress: Mapping[str, Any]) -> None:
    """Writes tensors by part and name, and plain values."""
    tensors = {
        f"{part}:{name}": value.detach().cpu().contiguous()
        for part, values in parts.items()
        for name, value in values.items()
    }
    metadata = {"format": _FORMAT, "progress": json.dumps(progress)}
    try:
        with writing(path) as temporary:
            save_file(tensors, temporary, metadata=metadata)
    except SafetensorError as error:  # a full disk, for one
        raise CheckpointError(f"{path}: the state cannot be written: {error}") from error


def load_state(path: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Reads what `save_state` wrote.

    Raises:
        CheckpointError: if there is none, or it is something else.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no state to resume from; the run has finished or never began")
    parts: dict[str, dict[str, Tensor]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("format") != _FORMAT:
                raise CheckpointError(f"{path}: format {about.get('format')!r}, expected {_FORMAT!r}")
            for key in file.keys():  # noqa: SIM118  # 2026-11-23: a file of safetensors, not a dict
                part, _, name = key.partition(":")
                parts.setdefault(part, {})[name] = file.get_tensor(key)
            progress: dict[str, Any] = json.loads(about["progress"])
    except (SafetensorError, OSError, KeyError, RecursionError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: unreadable state: {error}") from error
    return parts, progress


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Returns the state of a module, a tensor that has several names (tied weights) under the first."""
    seen: set[tuple[int, torch.Size]] = set()
    out = {}
    for name, value in module.state_dict().items():
        place = (value.data_ptr(), value.shape)
        if not value.numel() or place not in seen:
            out[name] = value
        seen.add(place)
    return out


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Takes over what `weights_of` returned.

    Raises:
        CheckpointError: if the module has other names.
    """
    wrong = weights.keys() ^ weights_of(module).keys()
    if wrong:
        raise CheckpointError(f"the state is of another model: {', '.join(sorted(wrong)[:3])}")
    module.load_state_dict(dict(weights), strict=False)


def random_state() -> dict[str, Tensor]:
    """Returns the states of torch's generators."""
    out = {"cpu": torch.get_rng_state()}
    for i in range(torch.cuda.device_count()):
        out[f"cuda{i}"] = torch.cuda.get_rng_state(i)
    return out


def restore_random(states: Mapping[str, Tensor]) -> None:
    """Puts torch's generators back; a GPU whose state was not saved keeps its own."""
    torch.set_rng_state(states["cpu"])
    for i in range(torch.cuda.device_count()):
        if (state := states.get(f"cuda{i}")) is not None:
            torch.cuda.set_rng_state(state, i)


def drop_shards(folder: Path, but: str | None = None) -> None:
    """Removes what processes have written of states, each its part; `but` the folder of one state."""
    for shards in folder.glob("state-*"):
        if shards.name != but and shards.is_dir() and shards.name.removeprefix("state-").isdigit():
            shutil.rmtree(shards)
