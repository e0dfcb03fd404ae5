"""The state of an unfinished run, in one safetensors file, written under another name first.

Weights, optimisers, average, best weights, random numbers, and where the loop stands: with it
a run goes on as if it had not been stopped, bit by bit on a CPU. No pickle: numbers that are
no tensors are JSON in the file's metadata.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentitok.atomic import writing

from ..errors import CheckpointError

__all__ = ["load_state", "random_state", "restore_random", "save_state"]

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
        with writing(path) as beside:
            save_file(tensors, beside, metadata=metadata)
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
            for key in file.keys():  # noqa: SIM118  # not a dict
                part, _, name = key.partition(":")
                parts.setdefault(part, {})[name] = file.get_tensor(key)
            progress: dict[str, Any] = json.loads(about["progress"])
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: unreadable state: {error}") from error
    return parts, progress


def random_state() -> dict[str, Tensor]:
    """Returns the states of torch's generators."""
    out = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        out |= {f"cuda{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return out


def restore_random(states: Mapping[str, Tensor]) -> None:
    """Puts torch's generators back."""
    torch.set_rng_state(states["cpu"])
    on_cuda = [states[key] for key in sorted(states) if key.startswith("cuda")]
    if on_cuda and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(on_cuda)
