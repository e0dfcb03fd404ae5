"""What a layout fixes: settings that a model must have, and how activations are called.

Not for tensors (`tensors.py`).
"""

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError

__all__ = ["activation_of", "check_fixed", "check_theirs", "named_activation"]

# Ours: transformers' names, the first one for writing.
_ACTIVATIONS = {
    "relu": ("relu",),
    "gelu": ("gelu",),
    "gelu-tanh": ("gelu_new", "gelu_pytorch_tanh"),
    "gelu-quick": ("quick_gelu",),
    "silu": ("silu", "swish"),
    "relu2": ("relu2",),
}


def named_activation(ours: str, layout: str) -> str:
    """Returns transformers' name of an activation.

    Raises:
        ConfigError: if it has none in this layout.
    """
    if ours not in _ACTIVATIONS:
        raise ConfigError(f"model.activation {ours!r}: {layout} has {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[ours][0]


def activation_of(theirs: str) -> str:
    """Returns our name of an activation.

    Raises:
        ConfigError: if we do not have it.
    """
    for ours, names in _ACTIVATIONS.items():
        if theirs in names:
            return ours
    known = ", ".join(name for names in _ACTIVATIONS.values() for name in names)
    raise ConfigError(f"config.json: activation {theirs!r} is not known here; known are {known}")


def check_fixed(model: Any, fixed: Mapping[str, tuple[Any, ...]], layout: str) -> None:
    """Refuses a model that a layout has no place for.

    Args:
        model: the section `[model]`.
        fixed: values that each setting may have, the usual one first.
        layout: its name.

    Raises:
        ConfigError: naming the setting, its value, and the one to train with.
    """
    for name, values in fixed.items():
        value = getattr(model, name)
        if value not in values:
            raise ConfigError(
                f"model.{name} {value!r} has no place in {layout}'s layout; "
                f"train with --set model.{name}={values[0]!r}"
            )


def check_theirs(given: Mapping[str, Any], fixed: Mapping[str, Any], layout: str) -> None:
    """Refuses settings of theirs that our model does not have.

    Raises:
        ConfigError: naming the setting and its value.
    """
    for name, value in fixed.items():
        theirs = given.get(name, value)
        if theirs != value:
            raise ConfigError(f"config.json: {name} {theirs!r} of {layout} is not known here, only {value!r}")
