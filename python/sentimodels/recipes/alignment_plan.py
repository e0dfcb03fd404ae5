"""`plan`: what `align` would do, and about what it would take, without a run.

Not for training. The base and the data are read as a run reads them, two steps are taken, and the time of
the second is drawn out to all.
"""

import time
from typing import Any

import torch

from ..alignment.methods import METHODS
from ..config import AlignConfig
from ..runs.execute import Callbacks
from ..runs.memory_estimate import state_bytes
from ..training.device import set_torch
from .alignment import AlignmentRecipe

__all__ = ["plan"]

# Steps that are tried; the first prepares what the others use.
_STEPS = 2


def plan(config: AlignConfig) -> dict[str, Any]:
    """Returns what `align` would do: rows, parameters, steps; about how long, in how much memory.

    `seconds` are of the clock, without the answers that judge. `memory_bytes` come to what the program
    itself takes.

    Raises:
        SentiError: if a file or a setting does not allow it.
    """
    recipe = AlignmentRecipe(config)
    recipe.check()
    set_torch(config.train)
    torch.manual_seed(config.train.seed)
    recipe.callbacks = Callbacks()
    recipe.build()
    setup = recipe.setup
    method = METHODS[config.task.kind](setup)
    steps, kept = method.steps(), method.kept()
    train = config.train.model_copy(update={"max_steps": _STEPS, "epochs": None, "log_every": 1})
    ends: list[float] = []
    before = method.try_out(train, lambda _: ends.append(time.perf_counter()))
    return {
        "method": config.task.kind,
        "parameters": sum(parameter.numel() for parameter in setup.policy.parameters()),
        "train_rows": len(method.tables["train"]),
        "judge_rows": len(method.tables["judge"]),
        "batch_size": config.train.batch_size,
        "steps": steps,
        "seconds": round(before + steps * (ends[-1] - ends[-2]), 1),
        # The reference has the place of the best weights of other runs.
        "memory_bytes": state_bytes(setup.policy, config.optim, config.train) + kept,
    }
