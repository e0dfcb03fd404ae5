"""`plan`: time, memory and sizes of a run, from a trial of a few steps; `senti ... --dry-run` prints it.

The trial goes the way of a run (`execute.py`): it reads the same data and takes the first steps with the same
settings, in a folder that is removed. So errors of a run show here too.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import islice, pairwise
from pathlib import Path
from statistics import fmean, median_low
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from ..config import RunConfig
from ..training.device import restored_torch
from ..training.distributed import check_alone
from ..training.history import Record
from ..training.optimizer import OPTIMIZERS
from ..training.trainer import counted
from .execute import Callbacks, Recipe, assemble, recipe_of
from .tables import Tables

__all__ = ["plan", "plan_sweep"]

# Steps that are tried, and more of them until a second has gone by. The first one allocates memory for the
# rest, so it is not timed; the median of the rest counts, as other programs delay some.
_STEPS, _SECONDS = 3, 1.0
# Rows that are tried by a model that is not trained by steps, at most.
_ROWS = 20_000
# Batches whose mean length is that of the run's.
_LOOKED_AT = 64
# Combinations of a sweep that are tried: each takes up to some seconds.
_PLANNED = 20


class _EnoughError(Exception):
    """Leaves the loop: the steps of the trial are taken."""


class _Clock:
    """Notes when each step of a trial ends, and after how many places of its batches."""

    def __init__(self) -> None:
        self.ends = [(time.perf_counter(), 0.0, 0)]

    def __call__(self, record: Record) -> None:
        """Takes a record of `metrics.jsonl`.

        Raises:
            _EnoughError: after the last step of the trial.
        """
        if "loss" not in record:  # an evaluation
            return
        places = record["tokens"] / max(1e-9, 1 - record["padding"])
        self.ends.append((time.perf_counter(), places, record["tokens"]))
        if len(self.ends) > _STEPS and self.ends[-1][0] - self.ends[0][0] >= _SECONDS:
            raise _EnoughError

    def measured(self) -> tuple[float, float, float]:
        """Returns the seconds that a place takes, and the mean of a step's places and of its tokens."""
        first = 1 if len(self.ends) > 2 else 0
        steps = list(pairwise(self.ends[first:]))
        each = [(now[0] - then[0]) / max(now[1] - then[1], 1e-9) for then, now in steps]
        (_, places, tokens), (_, all_places, all_tokens) = self.ends[first], self.ends[-1]
        n = len(steps)
        return median_low(each), (all_places - places) / n, (all_tokens - tokens) / n


def plan(recipe: Recipe[Any], on_warning: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Tries a run: trains some steps of it, and returns time, memory and sizes.

    Args:
        recipe: the run.
        on_warning: called with notes for the user, one sentence each.

    Returns:
        What the run is made of; `parameters`; `steps`, where they are known; `tokens_per_second`, or
        `rows_per_second` of a model that is not trained by steps; `seconds` of all steps on the clock,
        without validation; `fits`, whether memory suffices. `memory_bytes` is the peak of the GPU that
        trains; of a model that is too large to be tried, what its weights, gradients and moments take.

    Raises:
        SentiError: if a file or a setting does not allow the run.
    """
    check_alone("--dry-run")
    clock = _Clock()
    recipe.callbacks = Callbacks(clock, on_warning or Callbacks().on_warning)
    recipe.rehearsed = _STEPS
    train = recipe.config.train.model_copy(update={"log_every": 1, "track": "none"})
    recipe.config = recipe.config.model_copy(update={"train": train})
    recipe.check()
    with TemporaryDirectory(prefix="senti-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        recipe.out = Path(folder) / "run"
        stack.enter_context(restored_torch())
        recipe.processes = recipe.join()
        stack.callback(recipe.processes.end)
        if (shape := recipe.shape()) is not None and (refused := _too_large(recipe, shape)):
            return refused
        planned: dict[str, Any] = {}
        try:
            assemble(recipe)
            recipe.init_weights()
            planned |= _about(recipe, recipe.module)
            planned |= _fitted(recipe) or _stepped(recipe, clock)
        except (MemoryError, RuntimeError) as error:
            if not _of_memory(error):
                raise
            return planned | {"fits": False}
        return planned | _peak(recipe) | {"fits": True}


def _about(recipe: Recipe[Any], module: torch.nn.Module) -> dict[str, Any]:
    """Returns the size, data and settings of a run."""
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return {"arch": recipe.arch, **recipe.planned(), "parameters": parameters}


def _fitted(recipe: Recipe[Any]) -> dict[str, Any]:
    """Fits some rows, where a model is not trained by steps, and draws the time out to all."""
    began = time.perf_counter()
    tried, n_rows = recipe.fit_some(_ROWS)
    if not tried:
        return {}
    taken = max(time.perf_counter() - began, 1e-9)
    return {
        "steps": 0,
        "rows_per_second": round(tried / taken, 1),
        "seconds": round(taken * n_rows / tried, 3),
    }


def _stepped(recipe: Recipe[Any], clock: _Clock) -> dict[str, Any]:
    """Takes steps, and draws their time out to all."""
    with suppress(_EnoughError):
        recipe.trainer().fit(recipe.module, recipe.task)
    a_place, places, tokens = clock.measured()
    found: dict[str, Any] = {}
    steps = recipe.steps()
    if steps is not None:
        found["steps"] = steps
    found["tokens_per_second"] = round(tokens / max(a_place * places, 1e-9), 1)
    if steps is not None:
        found["seconds"] = round(steps * a_place * (_usual_places(recipe) or places), 3)
    return found


def _usual_places(recipe: Recipe[Any]) -> float | None:
    """Returns the mean places of a step's batches; `None` where batches are drawn in training."""
    batches = getattr(recipe.task, "batches", None)
    if batches is None:
        return None
    looked_at = [counted(batch)[1] for batch in islice(batches(0, 0, 0, 1), _LOOKED_AT)]
    accumulate = min(recipe.config.train.accumulate, recipe.task.plan(1).n_batches)
    return fmean(looked_at) * float(accumulate)


def _too_large(recipe: Recipe[Any], shape: torch.nn.Module) -> dict[str, Any]:
    """Returns the facts of a model that this machine cannot hold; nothing where it can."""
    n_bytes = sum(value.numel() * value.element_size() for value in shape.parameters())
    needed = n_bytes * (2 + OPTIMIZERS[recipe.config.optim.name].moments)
    if needed <= _memory(recipe.processes.device):
        return {}
    return {**_about(recipe, shape), "memory_bytes": needed, "fits": False}


def _memory(device: torch.device) -> float:
    """Returns the bytes of memory of a device, where it says."""
    if device.type == "cuda":
        return float(torch.cuda.get_device_properties(device).total_memory)
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return float("inf")


def _peak(recipe: Recipe[Any]) -> dict[str, Any]:
    """Returns the peak of the memory of the GPU that trains."""
    device = recipe.processes.device
    return {"memory_bytes": torch.cuda.max_memory_allocated(device)} if device.type == "cuda" else {}


def _of_memory(error: Exception) -> bool:
    """Whether an error says that memory is exhausted; on a CPU torch has no type for it."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "not enough memory" in str(error)


def plan_sweep(
    choices: Sequence[tuple[Mapping[str, Any], RunConfig]], tables: Tables, budget: float | None = None
) -> dict[str, Any]:
    """Tries the runs of a sweep; of many, some that are spread over the grid.

    Args:
        choices: the settings of each run, and its configuration, as `sweep.configs_of` returns them.
        tables: the rows.
        budget: seconds after which no further run begins.

    Returns:
        `runs`, how many combinations there are; `combinations`, of each tried one the values and the
        plan; `seconds` of all runs, by the mean of the tried; `within_budget`, about how many runs that is,
        `None` without one; `fits`, whether memory suffices for each.

    Raises:
        SentiError: if a file or a setting does not allow a run.
    """
    chosen = np.linspace(0, len(choices) - 1, min(len(choices), _PLANNED)).round().astype(int).tolist()
    planned = [
        {"values": values, **plan(recipe_of(config, tables=tables))}
        for values, config in (choices[place] for place in chosen)
    ]
    mean = fmean([one.get("seconds", 0.0) for one in planned])
    return {
        "runs": len(choices),
        "combinations": planned,
        "seconds": round(mean * len(choices), 3),
        "budget": budget,
        "within_budget": None if budget is None else min(len(choices), int(budget / max(mean, 1e-9))),
        "fits": all(one["fits"] for one in planned),
    }
