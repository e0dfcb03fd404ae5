"""What suits an architecture on a task: defaults of a configuration, below a preset, a file and flags.

Not for the defaults of a section, which stand beside its keys (`config/`), nor for sizes, which are
presets (`models/`). An architecture that is not named here takes the sections' own.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["DEFAULTS", "Tree", "defaults"]

Tree = Mapping[str, Mapping[str, Any]]

# Models that learn in `fit` need no steps after it.
_FITTED: Tree = {"train": {"epochs": 0, "ema": 0.0}}
_RATE_OF_TRANSFORMERS: Tree = {"optim": {"lr": 1e-3}}
_TRANSFORMER: Tree = {**_RATE_OF_TRANSFORMERS, "task": {"mixup": 0.2}}

# A model that knows its language is moved a little, as in Devlin et al. 2019, 4.
_FINE_TUNED: Tree = {"optim": {"lr": 3e-5}, "train": {"ema": 0.0, "epochs": 3, "batch_size": 32}}

# By architecture and kind of task.
DEFAULTS: dict[tuple[str, str], Tree] = {
    ("tfidf", "classification"): _FITTED,
    ("nb", "classification"): _FITTED,
    ("bow", "classification"): _FITTED,
    ("cnn", "classification"): {"task": {"mixup": 0.2}},
    ("encoder", "classification"): _TRANSFORMER,
    ("bert", "classification"): _TRANSFORMER,
    ("gpt", "classification"): _TRANSFORMER,
    ("linear", "classification"): _TRANSFORMER,
    # Bags learn the teacher's likeliest labels in `fit`.
    ("tfidf", "distillation"): _FITTED,
    ("nb", "distillation"): _FITTED,
    ("bow", "distillation"): _FITTED,
    ("encoder", "distillation"): _RATE_OF_TRANSFORMERS,
    ("bert", "distillation"): _RATE_OF_TRANSFORMERS,
    ("gpt", "distillation"): _RATE_OF_TRANSFORMERS,
    ("linear", "distillation"): _RATE_OF_TRANSFORMERS,
}


def defaults(arch: str, task: str) -> Tree:
    """Returns the defaults of an architecture on a task, by section."""
    if arch.startswith("hf:"):
        return _FINE_TUNED
    return DEFAULTS.get((arch, task), {})
