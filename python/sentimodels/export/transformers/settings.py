"""What a layout fixes: settings that a model must have, and how activations are called.

Not for tensors (`tensors.py`).
"""

from collections.abc import Mapping
from typing import Any

from ...errors import CheckpointError, ConfigError
from ...runs.config import written

__all__ = ["ACTIVATIONS", "activation_of", "check_fixed", "check_theirs", "share_of", "size_of"]

# Ours: transformers' names, the first one for writing.
ACTIVATIONS = {
    "relu": ("relu",),
    "gelu": ("gelu",),
    "gelu-tanh": ("gelu_new", "gelu_pytorch_tanh"),
    "gelu-quick": ("quick_gelu",),
    "silu": ("silu", "swish"),
    "relu2": ("relu2",),
}


# No tensor has more rows or columns.
_MOST = (1 << 31) - 1


def size_of(given: Mapping[str, Any], name: str, default: int) -> int:
    """Returns a size of theirs.

    Raises:
        CheckpointError: if it is none.
    """
    value = given.get(name, default)
    if not isinstance(value, int) or not 1 <= value <= _MOST:
        raise CheckpointError(f"config.json: {name} {value!r}: expected a whole number from 1 to {_MOST:,}")
    return value


def share_of(given: Mapping[str, Any], name: str, default: float) -> float:
    """Returns a number of theirs from 0 to less than 1, such as the share that dropout drops.

    Raises:
        CheckpointError: if it is none.
    """
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise CheckpointError(f"config.json: {name} {value!r}: expected a number from 0 to less than 1")
    return float(value)


def activation_of(theirs: str) -> str:
    """Returns our name of an activation.

    Raises:
        ConfigError: if we do not have it.
    """
    for ours, names in ACTIVATIONS.items():
        if theirs in names:
            return ours
    known = ", ".join(name for names in ACTIVATIONS.values() for name in names)
    raise ConfigError(f"config.json: activation {theirs!r} is not known here; known are {known}")


def check_fixed(model: Any, fixed: Mapping[str, tuple[Any, ...]], layout: str) -> None:
    """Refuses a model that a layout has no place for.

    Args:
        model: the section `[model]`.
        fixed: values that each setting may have, the usual one first.
        layout: its name.

    Raises:
        ConfigError: naming each such setting, its value, and what to train with.
    """
    wrong = {
        name: getattr(model, name) for name, values in fixed.items() if getattr(model, name) not in values
    }
    if wrong:
        named = ", ".join(f"model.{name} {written(value)}" for name, value in wrong.items())
        has = "has" if len(wrong) == 1 else "have"
        options = " ".join(f"--set model.{name}={written(fixed[name][0])}" for name in wrong)
        raise ConfigError(f"{named} {has} no place in {layout}'s layout; train a new run with {options}")


def check_theirs(given: Mapping[str, Any], fixed: Mapping[str, Any], layout: str) -> None:
    """Refuses settings of theirs that our model does not have.

    Raises:
        ConfigError: naming the setting and its value.
    """
    for name, value in fixed.items():
        theirs = given.get(name, value)
        if theirs != value:
            raise ConfigError(f"config.json: {name} {theirs!r} of {layout} is not known here, only {value!r}")
